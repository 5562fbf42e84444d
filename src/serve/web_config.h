/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_WEB_CONFIG_H
#define WTL_SERVE_WEB_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

struct wtl_err;

/*
 * A file that controls access, in the format of Prometheus' exporters (web.config.file):
 * tls_server_config and basic_auth_users. docs/serve.md lists the known keys; any other
 * is an error, which names the line. The YAML is read by libyaml, which is loaded for it.
 */

enum { WTL_WEB_CONFIG_MAX = 64 << 10, WTL_WEB_USERS_MAX = 256, WTL_WEB_COST_MAX = 12 };

/* Whether clients need a certificate. */
enum wtl_client_auth {
	WTL_CLIENT_NONE,	    /* none is requested */
	WTL_CLIENT_VERIFY_IF_GIVEN, /* if there is one, it must be valid */
	WTL_CLIENT_REQUIRE,	    /* there must be a valid one */
};

struct wtl_web_user {
	char *name, *hash; /* bcrypt: "$2y$10$…" */
};

struct wtl_web_config {
	bool has_tls;
	char *cert_file, *key_file,
		*client_ca_file; /* paths as this process opens them; the last may be NULL */
	enum wtl_client_auth client_auth;
	unsigned min_version; /* of TLS: 10 to 13 for 1.0 to 1.3 */
	struct wtl_web_user *users;
	size_t n_users, room_users;
};

/* Parses a file's text; path is for messages, and the base of relative
 * paths in it. 0 or negative with the reason; done() in any case. */
int wtl_web_config_parse(const char *text, size_t len, const char *path,
			 struct wtl_web_config *ret_config, struct wtl_err *err);
int wtl_web_config_read(const char *path, struct wtl_web_config *ret_config, struct wtl_err *err);
void wtl_web_config_done(struct wtl_web_config *config);

#endif
