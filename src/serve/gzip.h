/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_GZIP_H
#define WTL_SERVE_GZIP_H

struct wtl_buf;
struct wtl_gzip;

/* zlib, loaded when a server starts. NULL: it is missing, and nothing is compressed. */
struct wtl_gzip *wtl_gzip_new(void);
void wtl_gzip_free(struct wtl_gzip *gzip); /* NULL is fine */
/* Compresses `from` into `to`. 0 or a negative errno. One thread at a time. */
int wtl_gzip_pack(struct wtl_gzip *gzip, const struct wtl_buf *from, struct wtl_buf *to);

#endif
