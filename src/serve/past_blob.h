/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_PAST_BLOB_H
#define WTL_SERVE_PAST_BLOB_H

#include <stddef.h>

struct wtl_buf;
struct wtl_past;

/*
 * What an agent keeps of the last day as bytes, for an exporter that starts
 * (like live_blob.h: of the same release, on the same machine). The reader
 * trusts nothing: sizes must match its own, texts end, and times be valid.
 */

enum { WTL_PAST_BLOB_MAX = 16 << 20 };

/* Appends; buf->error says whether all went in. */
void wtl_past_blob_write(struct wtl_past *past, struct wtl_buf *buf);
/* 0 with a past, for wtl_past_done(); -ENOMEM; -EPROTO: it is none,
 * or an invalid one; -EPROTONOSUPPORT: it is another release's. */
int wtl_past_blob_read(const void *bytes, size_t len, struct wtl_past *ret_past);

#endif
