/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_ACCEPT_H
#define WTL_SERVE_ACCEPT_H

/*
 * How much a request wants something, by its header Accept or Accept-Encoding (RFC 9110, 12.4.2): from 0, it is
 * not named or not wanted, to 1000. An item with another version counts as something else; version NULL: any.
 */
unsigned wtl_accept_quality(const char *header, const char *what, const char *version);

#endif
