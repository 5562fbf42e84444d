/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/array.h"
#include "base/thread.h"
#include "record/code.h"
#include "record/writer.h"

/*
 * A period that is over has its parts, one a second with all series in it, made into chunks, one a
 * series. That is done series by series, so that a commit never waits for more than one of them, and
 * written in one transaction. A period of one commit has chunks at once.
 */

enum { ZSTD_LEVEL = 3, ZSTD_LEVEL_IN_HASTE = 1 };

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
		size_t count;

		/* They are our own, from memory. */
		wtl_varint_get(&at, end, &len);
		count = (size_t)wtl_code_count(at, (size_t)len);
		if (wtl_code_get(at, (size_t)len, merge->values + n, count) < 0)
			return SQLITE_INTERNAL;
		n += count;
		at += len;
	}
	return SQLITE_OK;
}

/* The block as it is kept, at the end of packer->data. What the chunk has there already gives way only to
 * what is smaller than less_than. */
static int pack(struct wtl_packer *packer, struct wtl_row_chunk *chunk, size_t less_than)
{
	struct wtl_buf *data = &packer->data;
	const struct wtl_buf *block = &packer->block;
	size_t bound = ZSTD_compressBound(block->len), len;
	size_t kept = data->len - chunk->data.len;
	char *to;
	bool is_packed;

	if (wtl_buf_reserve(data, bound) < 0)
		return SQLITE_NOMEM;
	to = data->data + data->len;
	len = ZSTD_compressCCtx(packer->zstd, to, bound, block->data, block->len, packer->level);
	is_packed = len < block->len; /* zstd's errors are larger than any size */
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

/* The block as it is. */
static int keep(struct wtl_packer *packer, struct wtl_row_chunk *chunk)
{
	chunk->size = (uint32_t)packer->block.len;
	chunk->packed = WTL_PACKED_NOT;
	chunk->data.len = packer->block.len;
	return wtl_buf_add(&packer->data, packer->block.data, packer->block.len) < 0 ? SQLITE_NOMEM
										     : SQLITE_OK;
}

/*
 * Would tokens be smaller? Values whose planes cannot be compressed to a quarter of either are
 * noise, of which tokens are no smaller. And tokens cannot be compressed to nothing either.
 */
static bool may_be_smaller(const struct wtl_row_chunk *planes, const struct wtl_code_plan *plan,
			   size_t less_than)
{
	enum { MOST_PACKED = 128 };

	return plan->len < less_than ||
	       (planes->data.len < planes->size / 4 && planes->data.len < plan->len / 4 &&
		plan->len / MOST_PACKED < less_than);
}

/* As tokens, or as planes where that is hardly larger: those are read faster. */
static int encode(struct wtl_packer *packer, int64_t period, size_t series, const int64_t values[],
		  size_t n)
{
	struct wtl_row_chunk *chunk;
	struct wtl_code_plan plan;
	size_t less_than;
	int rc;

	if (wtl_array_reserve(&packer->chunks, &packer->chunks_room, packer->n_chunks + 1,
			      sizeof(packer->chunks[0])) < 0 ||
	    wtl_code_plan(values, n, &plan) < 0)
		return SQLITE_NOMEM;
	chunk = &packer->chunks[packer->n_chunks++];
	*chunk = (struct wtl_row_chunk){
		.id = period * WTL_STORE_SERIES_MAX + (int64_t)series,
		.n = (uint32_t)n,
	};
	wtl_buf_clear(&packer->block);
	if (wtl_code_put_planes_by(&packer->block, &plan, values, n) < 0)
		return SQLITE_NOMEM;
	if (plan.is_flat)
		return keep(packer, chunk);
	rc = pack(packer, chunk, SIZE_MAX);
	less_than = chunk->data.len - chunk->data.len / 8;
	if (rc || !may_be_smaller(chunk, &plan, less_than))
		return rc;
	wtl_buf_clear(&packer->block);
	if (wtl_code_put_by(&packer->block, &plan, values, n) < 0)
		return SQLITE_NOMEM;
	return pack(packer, chunk, less_than);
}

static int merge_series(struct wtl_merge *merge, size_t series)
{
	int rc = decode_all(merge, series);

	if (rc)
		return rc;
	return encode(&merge->packers[0], merge->gather.period.id, series, merge->values,
		      (size_t)merge->gather.counts[series]);
}

/* ---- All of them ---- */

static int put_packed(struct wtl_file *file, struct wtl_packer *packer)
{
	const char *at = packer->data.data;
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < packer->n_chunks; i++) {
		packer->chunks[i].data.data = at;
		at += packer->chunks[i].data.len;
		rc = wtl_file_put(file, &wtl_table_chunk, &packer->chunks[i]);
	}
	return rc;
}

/* All chunks, and how many values of each series they have. */
static int put_chunks(struct wtl_file *file, struct wtl_merge *merge, const int64_t counts[],
		      size_t n)
{
	struct wtl_row_period *period = &merge->gather.period;
	struct wtl_buf *block = &merge->packers[0].block;
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < WTL_PACKERS; i++)
		rc = put_packed(file, &merge->packers[i]);
	wtl_buf_clear(block);
	if (rc == SQLITE_OK && wtl_code_put(block, counts, n) < 0)
		rc = SQLITE_NOMEM;
	period->parts = 0;
	period->counts = (struct wtl_bytes){block->data, block->len};
	return rc ? rc : wtl_file_put(file, &wtl_table_period, period);
}

static int write_chunks(struct wtl_store_writer *writer, void *context)
{
	struct wtl_file *file = &writer->file;
	struct wtl_merge *merge = context;
	int64_t id = merge->gather.period.id;
	int rc;

	/* Nobody needs it any more: for want of room, a ring has dropped the period. */
	if (!merge->is_active)
		return SQLITE_OK;
	rc = wtl_file_begin(file);
	/* What they leave is taken at once. */
	if (rc == SQLITE_OK)
		rc = wtl_file_run_with(file, "DELETE FROM part WHERE id >= ? AND id < ?",
				       id * WTL_PARTS_MAX, (id + 1) * WTL_PARTS_MAX);
	if (rc == SQLITE_OK)
		rc = put_chunks(file, merge, merge->gather.counts, merge->gather.n);
	return wtl_file_commit(file, rc);
}

static bool has_zstd(struct wtl_packer *packer, const struct wtl_store_options *options)
{
	packer->level = options->in_haste ? ZSTD_LEVEL_IN_HASTE : ZSTD_LEVEL;
	if (!packer->zstd)
		packer->zstd = ZSTD_createCCtx();
	return packer->zstd != NULL;
}

/* The one before is still being made where periods are very short. */
static int make_ready(struct wtl_store_writer *writer)
{
	struct wtl_merge *merge = &writer->merge;
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK && merge->is_active)
		rc = wtl_merge_step(writer);
	return rc == SQLITE_OK && !has_zstd(&merge->packers[0], &writer->options) ? SQLITE_NOMEM
										  : rc;
}

int wtl_merge_begin(struct wtl_store_writer *writer)
{
	struct wtl_merge *merge = &writer->merge;
	int rc = make_ready(writer);

	if (rc)
		return rc;
	merge->gather = writer->gather;
	writer->gather = (struct wtl_gather){0};
	merge->is_active = merge->gather.period.parts > 0;
	return SQLITE_OK;
}

/* For the next period; memory that is needed once a minute is not kept. */
static void clear(struct wtl_store_writer *writer)
{
	struct wtl_merge *merge = &writer->merge;

	if (!writer->options.in_haste) {
		wtl_merge_done(merge);
		return;
	}
	wtl_gather_done(&merge->gather);
	for (size_t i = 0; i < WTL_PACKERS; i++) {
		wtl_buf_clear(&merge->packers[i].data);
		merge->packers[i].n_chunks = 0;
	}
	merge->next = 0;
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
	clear(writer);
	return rc;
}

/* ---- A period of one commit ---- */

/* Some of the series. */
struct share {
	struct wtl_packer *packer;
	const struct wtl_stretch *stretch;
	int64_t period;
	size_t begin, end;
	int rc;
};

static void *pack_share(void *context)
{
	struct share *share = context;

	for (size_t i = share->begin; share->rc == SQLITE_OK && i < share->end; i++) {
		const struct wtl_value_run *run = &share->stretch->runs[i];

		if (run->n > 0)
			share->rc = encode(share->packer, share->period, i, run->values, run->n);
	}
	return NULL;
}

/* The first series that have half of all values; all of them where those are few. */
static size_t first_half(const struct wtl_stretch *stretch, size_t n_values)
{
	enum { MANY = 1 << 16 };
	size_t n = 0, i = 0;

	while (i < stretch->n_runs && (n_values < MANY || n < n_values / 2))
		n += stretch->runs[i++].n;
	return i;
}

int wtl_merge_whole(struct wtl_store_writer *writer, const struct wtl_stretch *stretch)
{
	struct wtl_merge *merge = &writer->merge;
	struct share first = {.packer = &merge->packers[0], .stretch = stretch}, second;
	size_t n_values = 0;
	pthread_t other;
	bool has_other;
	int rc = make_ready(writer);

	if (rc == SQLITE_OK && wtl_array_reserve(&merge->values, &merge->values_room,
						 stretch->n_runs, sizeof(merge->values[0])) < 0)
		rc = SQLITE_NOMEM;
	if (rc)
		return rc;
	merge->gather.period = writer->gather.period;
	merge->gather.period.end_mono_ns = stretch->end_mono_ns;
	merge->gather.period.end_utc_ns = stretch->end_utc_ns;
	for (size_t i = 0; i < stretch->n_runs; i++)
		n_values += (size_t)(merge->values[i] = (int64_t)stretch->runs[i].n);
	first.period = merge->gather.period.id;
	first.end = first_half(stretch, n_values);
	second = (struct share){first.packer, stretch, first.period, first.end, stretch->n_runs, 0};
	/* Where there can be no thread, everything is done here. */
	has_other = second.begin < second.end && has_zstd(&merge->packers[1], &writer->options);
	if (has_other) {
		second.packer = &merge->packers[1];
		has_other = wtl_thread_start(&other, pack_share, &second) == 0;
	}
	pack_share(&first);
	if (has_other)
		pthread_join(other, NULL);
	else
		pack_share(&second);
	return first.rc ? first.rc : second.rc;
}

int wtl_merge_whole_put(struct wtl_store_writer *writer, const struct wtl_stretch *stretch)
{
	return put_chunks(&writer->file, &writer->merge, writer->merge.values, stretch->n_runs);
}

void wtl_merge_whole_end(struct wtl_store_writer *writer)
{
	writer->gather.period = (struct wtl_row_period){0};
	clear(writer);
}

void wtl_merge_init(struct wtl_merge *merge)
{
	*merge = (struct wtl_merge){.is_active = false};
	for (size_t i = 0; i < WTL_PACKERS; i++) {
		wtl_buf_init(&merge->packers[i].data, WTL_CODE_BYTES_MAX);
		wtl_buf_init(&merge->packers[i].block, WTL_CODE_BYTES_MAX);
	}
}

void wtl_merge_done(struct wtl_merge *merge)
{
	wtl_gather_done(&merge->gather);
	free(merge->values);
	for (size_t i = 0; i < WTL_PACKERS; i++) {
		free(merge->packers[i].chunks);
		wtl_buf_done(&merge->packers[i].data);
		wtl_buf_done(&merge->packers[i].block);
		ZSTD_freeCCtx(merge->packers[i].zstd);
	}
	wtl_merge_init(merge);
}
