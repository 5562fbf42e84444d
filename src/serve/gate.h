/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_GATE_H
#define WTL_SERVE_GATE_H

#include <stdbool.h>
#include <stdint.h>

struct wtl_err;
struct wtl_gate;

/* Access control: TLS, clients' certificates and users, by a web configuration
 * (web_config.h). Used by one thread. GnuTLS and libcrypt are loaded for it. */

/* Reads the file and those that it names. 0, or negative with the reason. */
int wtl_gate_open(const char *path, struct wtl_gate **ret_gate, struct wtl_err *err);
void wtl_gate_close(struct wtl_gate *gate); /* NULL is fine */

/* For the HTTP library, as text. NULL: there is no TLS, or clients' certificates are not checked. */
char *wtl_gate_certificate(struct wtl_gate *gate);
char *wtl_gate_key(struct wtl_gate *gate);
char *wtl_gate_client_ca(struct wtl_gate *gate);
char *wtl_gate_priorities(struct wtl_gate *gate);

/* Is there TLS, and must every client identify itself? */
bool wtl_gate_is_closed(const struct wtl_gate *gate);

/*
 * 0: the request may be answered; 401: user and password are wrong or missing; 403: the
 * client's certificate is; 429: too many wrong ones were tried just now. session is GnuTLS'
 * (NULL: there is none); user and password may be NULL. Repeated tries cost nothing. Any new
 * one, also of an unknown user, costs a hash, of which there are a few a second at most.
 */
unsigned wtl_gate_admit(struct wtl_gate *gate, void *session, const char *user,
			const char *password, int64_t now_ns);

#endif
