/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_PACKET_H
#define WTL_BASE_PACKET_H

#include <stddef.h>

/* The client's side of a Unix socket of packets (SOCK_SEQPACKET): a message a packet, an answer each. */

/* A connection, or a negative errno: -ENOENT and -ECONNREFUSED where nobody listens. Waits only where too many are
 * waiting already, at most so long. */
int wtl_packet_connect(const char *path, int timeout_ms);

/* The same as if the directory `root` (a descriptor; negative: none) were "/": see base/below.h. */
int wtl_packet_connect_below(int root, const char *path, int timeout_ms);

/*
 * Sends a message and waits for its answer, at most so long (negative: for ever). The answer, ended by
 * a NUL; its length, or a negative errno: -ETIMEDOUT, -ECONNRESET where the other side ended first. After an
 * error, an answer may still come: the connection is of no more use.
 */
int wtl_packet_ask(int fd, const char *message, char *answer, size_t size, int timeout_ms);

#endif
