/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_CONNECTIONS_H
#define WTL_SERVE_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The connections of a server. Before no more fit, an idle one is closed: the oldest
 * one of the address that has most of those. So a client that opens thousands and sends
 * nothing shuts nobody out. Used by one thread, which closes what was shut down here.
 */

enum { WTL_CONNECTIONS_MAX = 128, WTL_CONNECTIONS_CROWDED = 96 };

struct wtl_connection {
	int fd; /* negative: the place is free */
	unsigned char address[16];
	int64_t since_ns;	    /* of its start, of the request's, or of an answer's end */
	bool is_asking, is_lasting; /* a request is being answered; that answer has no end */
	bool is_closing;	    /* it was shut down */
};

struct wtl_connections {
	struct wtl_connection list[WTL_CONNECTIONS_MAX];
	size_t n;
};

void wtl_connections_init(struct wtl_connections *connections);
/* Adds a connection; NULL: there is no room, and it is not followed. */
struct wtl_connection *wtl_connections_add(struct wtl_connections *connections, int fd,
					   const unsigned char address[16], int64_t now_ns);
void wtl_connections_remove(struct wtl_connections *connections, struct wtl_connection *connection);
/* Shuts down an idle one if they are many, and all that took too long to ask, or to take an answer. How many. */
size_t wtl_connections_make_room(struct wtl_connections *connections, int64_t now_ns);

#endif
