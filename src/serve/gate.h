/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_GATE_H
#define WTL_SERVE_GATE_H

#include <stdbool.h>
#include <stdint.h>

struct wtl_err;
struct wtl_gate;

/*
 * Who may ask: TLS, clients' certificates and users, as a web configuration (web_config.h) says. Used by one thread.
 * GnuTLS and libcrypt are loaded for it.
 */

/* Reads the file and those that it names. 0, or negative with the reason. */
int wtl_gate_open(const char *path, struct wtl_gate **ret_gate, struct wtl_err *err);
void wtl_gate_close(struct wtl_gate *gate); /* NULL is fine */

/* For the HTTP library: all as text. NULL where there is no TLS, or no certificate of clients is looked at. */
char *wtl_gate_certificate(struct wtl_gate *gate);
char *wtl_gate_key(struct wtl_gate *gate);
char *wtl_gate_client_ca(struct wtl_gate *gate);
char *wtl_gate_priorities(struct wtl_gate *gate);

/* Whether nobody gets in unknown, or listens in. */
bool wtl_gate_is_closed(const struct wtl_gate *gate);

/*
 * 0: the request may be answered; 401: user and password are wrong, or not there; 403: so is the client's certificate;
 * 429: too many wrong ones were tried just now. session is GnuTLS' (NULL: there is none); user and password may be NULL.
 * What was tried before costs nothing; anything new, a user who is not there too, costs a hash, of which there are a few
 * a second at most.
 */
unsigned wtl_gate_admit(struct wtl_gate *gate, void *session, const char *user,
			const char *password, int64_t now_ns);

#endif
