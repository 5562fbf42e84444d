/* SPDX-License-Identifier: MIT */
#include "serve/gzip.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <zlib.h>

#include "base/buf.h"
#include "base/symbol.h"

/* Metrics are a tenth of their size at any level; the lowest one takes the least time. */
enum { LEVEL = 1, GZIP_BITS = 15 + 16, MEMORY = 8 };

struct wtl_gzip {
	__typeof__(&deflateInit2_) init;
	__typeof__(&deflate) pack;
	__typeof__(&deflateEnd) end;
	__typeof__(&deflateBound) bound;
};

struct wtl_gzip *wtl_gzip_new(void)
{
	void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
	struct wtl_gzip *gzip = library ? calloc(1, sizeof(*gzip)) : NULL;

	if (gzip && wtl_symbol_find(library, "deflateInit2_", &gzip->init) &&
	    wtl_symbol_find(library, "deflate", &gzip->pack) &&
	    wtl_symbol_find(library, "deflateEnd", &gzip->end) &&
	    wtl_symbol_find(library, "deflateBound", &gzip->bound))
		return gzip;
	free(gzip);
	return NULL;
}

void wtl_gzip_free(struct wtl_gzip *gzip)
{
	free(gzip);
}

int wtl_gzip_pack(struct wtl_gzip *gzip, const struct wtl_buf *from, struct wtl_buf *to)
{
	z_stream stream = {.next_in = (unsigned char *)from->data, .avail_in = (uInt)from->len};
	int rc;

	if (gzip->init(&stream, LEVEL, Z_DEFLATED, GZIP_BITS, MEMORY, Z_DEFAULT_STRATEGY,
		       ZLIB_VERSION, (int)sizeof(stream)) != Z_OK)
		return -ENOMEM;
	rc = wtl_buf_reserve(to, gzip->bound(&stream, stream.avail_in));
	if (rc == 0) {
		stream.next_out = (unsigned char *)to->data + to->len;
		stream.avail_out = (uInt)(to->size - to->len - 1);
		rc = gzip->pack(&stream, Z_FINISH) == Z_STREAM_END ? 0 : -EIO;
		to->len += stream.total_out;
	}
	gzip->end(&stream);
	return rc;
}
