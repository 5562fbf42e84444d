/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_HOST_H
#define WTL_SERVE_HOST_H

#include <stdbool.h>

/*
 * Whether a request's header Host names this server: an IP address, "localhost" or one of the names
 * (ended by NULL, may be NULL), with or without a port. A browser that uses another name was sent by
 * somebody else's page (DNS rebinding). A request without the header (NULL) does not come from a browser.
 */
bool wtl_host_is_known(const char *host, const char *const *names);

#endif
