/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_LIVE_BLOB_H
#define WTL_SERVE_LIVE_BLOB_H

#include <stddef.h>

struct wtl_buf;
struct wtl_live;

/*
 * A snapshot as bytes, for another process of the same release on the same machine: its structs are copied
 * as they are in memory, after a header with the sizes of all parts. The reader trusts nothing: sizes must
 * match its own, counts be within bounds, texts end, enums and bools be valid, and everything must add up.
 */

enum { WTL_LIVE_BLOB_MAX = 64 << 20 };

/* Appends; buf->error says whether all went in. */
void wtl_live_blob_write(const struct wtl_live *live, struct wtl_buf *buf);
/* Fills a draft of a board. 0, -ENOMEM; -EPROTO: it is no such snapshot, or an invalid one;
 * -EPROTONOSUPPORT: it is another release's. Unless 0, the draft must not be published. */
int wtl_live_blob_read(const void *bytes, size_t len, struct wtl_live *live);

#endif
