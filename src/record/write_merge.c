/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/array.h"
#include "record/code.h"
#include "record/writer.h"

/*
 * A period that is over has its parts, one a second with all series in it, made into chunks, one a
 * series. That is done series by series, so that a commit never waits for more than one of them, and
 * written in one transaction.
 */

enum { ZSTD_LEVEL = 3 };

/* ---- One series ---- */

static int decode_all(struct wtl_merge *merge, size_t series)
{
	const struct wtl_buf *blocks = &merge->gather.blocks[series];
	const uint8_t *at = (const uint8_t *)blocks->data, *end = at + blocks->len;
	size_t n = 0, n_all = (size_t)merge->gather.counts[series];

	if (wtl_array_reserve(&merge->values, &merge->values_room, n_all,
			      sizeof(merge->values[0])) < 0)
		return SQLITE_NOMEM;
	while (at < end) {
		uint64_t len;
		int64_t count;

		wtl_varint_get(&at, end, &len);
		count = wtl_code_count(at, (size_t)len);
		/* They are our own, from memory. */
		if (count < 0 ||
		    wtl_code_get(at, (size_t)len, merge->values + n, (size_t)count) < 0)
			return SQLITE_INTERNAL;
		n += (size_t)count;
		at += len;
	}
	return SQLITE_OK;
}

/* The block as it is kept, at the end of merge->data. What the chunk has there already gives way only to
 * what is smaller than less_than. */
static int pack(struct wtl_merge *merge, struct wtl_row_chunk *chunk, size_t less_than)
{
	struct wtl_buf *data = &merge->data;
	const struct wtl_buf *block = &merge->block;
	size_t bound = ZSTD_compressBound(block->len), len;
	size_t kept = data->len - chunk->data.len;
	char *to;
	bool is_packed;

	if (wtl_buf_reserve(data, bound) < 0)
		return SQLITE_NOMEM;
	to = data->data + data->len;
	len = ZSTD_compressCCtx(merge->zstd, to, bound, block->data, block->len, ZSTD_LEVEL);
	is_packed = !ZSTD_isError(len) && len < block->len;
	if (!is_packed)
		len = block->len;
	if (len >= less_than)
		return SQLITE_OK;
	memmove(data->data + kept, is_packed ? to : block->data, len);
	data->len = kept + len;
	chunk->size = (uint32_t)block->len;
	chunk->packed = is_packed ? WTL_PACKED_ZSTD : WTL_PACKED_NOT;
	chunk->data.len = len;
	return SQLITE_OK;
}

/* The only block of a period that was written at once; false: it has several, or none. */
static bool only_block(const struct wtl_merge *merge, size_t series, const uint8_t **ret_block,
		       size_t *ret_len)
{
	const struct wtl_buf *blocks = &merge->gather.blocks[series];
	const uint8_t *at = (const uint8_t *)blocks->data, *end = at + blocks->len;
	uint64_t len;

	if (blocks->len == 0 || wtl_varint_get(&at, end, &len) < 0 || len != (uint64_t)(end - at))
		return false;
	*ret_block = at;
	*ret_len = (size_t)len;
	return true;
}

/* As tokens, or as planes where that is hardly larger: those are read faster. */
static int encode(struct wtl_merge *merge, size_t series, struct wtl_row_chunk *chunk)
{
	const uint8_t *block;
	size_t len;
	bool is_only = only_block(merge, series, &block, &len);
	int rc;

	wtl_buf_clear(&merge->block);
	rc = is_only ? wtl_code_put_planes_as(&merge->block, block, len, merge->values, chunk->n)
		     : wtl_code_put_planes(&merge->block, merge->values, chunk->n);
	if (rc < 0)
		return SQLITE_NOMEM;
	rc = pack(merge, chunk, SIZE_MAX);
	wtl_buf_clear(&merge->block);
	if (rc == SQLITE_OK && (is_only ? wtl_buf_add(&merge->block, block, len)
					: wtl_code_put(&merge->block, merge->values, chunk->n)) < 0)
		return SQLITE_NOMEM;
	return rc ? rc : pack(merge, chunk, chunk->data.len - chunk->data.len / 8);
}

static int merge_series(struct wtl_merge *merge, size_t series)
{
	struct wtl_row_chunk *chunk;
	int rc = decode_all(merge, series);

	if (rc)
		return rc;
	if (wtl_array_reserve(&merge->chunks, &merge->chunks_room, merge->n_chunks + 1,
			      sizeof(merge->chunks[0])) < 0)
		return SQLITE_NOMEM;
	chunk = &merge->chunks[merge->n_chunks++];
	*chunk = (struct wtl_row_chunk){
		.id = merge->gather.period.id * WTL_STORE_SERIES_MAX + (int64_t)series,
		.n = (uint32_t)merge->gather.counts[series],
	};
	return encode(merge, series, chunk);
}

/* ---- All of them ---- */

static int write_chunks(struct wtl_store_writer *writer, void *context)
{
	struct wtl_file *file = &writer->file;
	struct wtl_merge *merge = context;
	struct wtl_row_period *period = &merge->gather.period;
	const char *at = merge->data.data;
	int rc;

	/* Nobody needs it any more: for want of room, a ring has dropped the period. */
	if (!merge->is_active)
		return SQLITE_OK;
	rc = wtl_file_begin(file);
	/* What they leave is taken at once. */
	if (rc == SQLITE_OK)
		rc = wtl_file_run_with(file, "DELETE FROM part WHERE id >= ? AND id < ?",
				       period->id * WTL_PARTS_MAX,
				       (period->id + 1) * WTL_PARTS_MAX);
	for (size_t i = 0; rc == SQLITE_OK && i < merge->n_chunks; i++) {
		merge->chunks[i].data.data = at;
		at += merge->chunks[i].data.len;
		rc = wtl_file_put(file, &wtl_table_chunk, &merge->chunks[i]);
	}
	wtl_buf_clear(&merge->block);
	if (rc == SQLITE_OK &&
	    wtl_code_put(&merge->block, merge->gather.counts, merge->gather.n) < 0)
		rc = SQLITE_NOMEM;
	period->parts = 0;
	period->counts = (struct wtl_bytes){merge->block.data, merge->block.len};
	if (rc == SQLITE_OK)
		rc = wtl_file_put(file, &wtl_table_period, period);
	return wtl_file_commit(file, rc);
}

int wtl_merge_begin(struct wtl_store_writer *writer)
{
	struct wtl_merge *merge = &writer->merge;
	int rc = SQLITE_OK;

	/* The one before is still being made where periods are very short. */
	while (rc == SQLITE_OK && merge->is_active)
		rc = wtl_merge_step(writer);
	if (rc)
		return rc;
	if (!merge->zstd)
		merge->zstd = ZSTD_createCCtx();
	if (!merge->zstd)
		return SQLITE_NOMEM;
	merge->gather = writer->gather;
	writer->gather = (struct wtl_gather){0};
	merge->is_active = merge->gather.period.parts > 0;
	return SQLITE_OK;
}

/* For the next period. */
static void clear(struct wtl_merge *merge)
{
	wtl_gather_done(&merge->gather);
	wtl_buf_clear(&merge->data);
	wtl_buf_clear(&merge->block);
	merge->n_chunks = merge->next = 0;
	merge->is_active = false;
}

int wtl_merge_step(struct wtl_store_writer *writer)
{
	struct wtl_merge *merge = &writer->merge;
	int rc;

	while (merge->next < merge->gather.n && merge->gather.counts[merge->next] == 0)
		merge->next++;
	if (merge->next < merge->gather.n)
		return merge_series(merge, merge->next++);
	rc = wtl_ring_write(writer, write_chunks, merge);
	/* Memory that is needed once a minute is not kept. */
	if (writer->options.keeps_memory)
		clear(merge);
	else
		wtl_merge_done(merge);
	return rc;
}

void wtl_merge_done(struct wtl_merge *merge)
{
	wtl_gather_done(&merge->gather);
	free(merge->chunks);
	free(merge->values);
	wtl_buf_done(&merge->data);
	wtl_buf_done(&merge->block);
	ZSTD_freeCCtx(merge->zstd);
	*merge = (struct wtl_merge){.data = merge->data, .block = merge->block};
}
