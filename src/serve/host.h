/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_HOST_H
#define WTL_SERVE_HOST_H

#include <stdbool.h>

/*
 * Whether a request's header Host names this server: an IP address, "localhost" or one of the names (ended by NULL, may be
 * NULL), with or without a port. Whoever reaches it by another name was sent by somebody else's page (DNS rebinding). A
 * request without the header (NULL) is no browser's.
 */
bool wtl_host_is_known(const char *host, const char *const *names);

#endif
