/* SPDX-License-Identifier: MIT */
/* What is collected for a commit, and for a period. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "record/code.h"
#include "record/writer.h"

enum { ROOM_MIN = 16, ROWS_KEPT = 65536 };

/* ---- Stretches ---- */

size_t wtl_writer_room(const struct wtl_store_writer *writer)
{
	size_t room = writer->options.values_per_commit;

	return room < ROOM_MIN ? ROOM_MIN : room;
}

void wtl_stretch_clear(struct wtl_stretch *stretch, size_t room)
{
	for (size_t i = 0; i < stretch->n_runs; i++) {
		struct wtl_value_run *run = &stretch->runs[i];

		run->n = 0;
		if (run->room > 4 * room &&
		    wtl_array_resize(&run->values, room, sizeof(*run->values)) == 0)
			run->room = room;
	}
	if (stretch->rows.size > ROWS_KEPT)
		wtl_buf_done(&stretch->rows);
	wtl_buf_clear(&stretch->rows);
	stretch->n_rows = 0;
	stretch->grown_bytes = 0;
	stretch->is_lost = stretch->ends_period = false;
}

void wtl_stretch_done(struct wtl_stretch *stretch)
{
	for (size_t i = 0; i < stretch->n_runs; i++)
		free(stretch->runs[i].values);
	free(stretch->runs);
	wtl_buf_done(&stretch->rows);
}

/* ---- Blocks by series ---- */

int wtl_gather_add(struct wtl_gather *gather, uint32_t series, const struct wtl_buf *block,
		   size_t n_values)
{
	if (wtl_array_reserve(&gather->blocks, &gather->blocks_room, series + 1u,
			      sizeof(gather->blocks[0])) < 0 ||
	    wtl_array_reserve(&gather->counts, &gather->counts_room, series + 1u,
			      sizeof(gather->counts[0])) < 0)
		return -ENOMEM;
	for (; gather->n <= series; gather->n++) {
		wtl_buf_init(&gather->blocks[gather->n], SIZE_MAX);
		gather->counts[gather->n] = 0;
	}
	gather->counts[series] += (int64_t)n_values;
	wtl_varint_put(&gather->blocks[series], block->len);
	return wtl_buf_add(&gather->blocks[series], block->data, block->len);
}

void wtl_gather_done(struct wtl_gather *gather)
{
	for (size_t i = 0; i < gather->n; i++)
		wtl_buf_done(&gather->blocks[i]);
	free(gather->blocks);
	free(gather->counts);
	*gather = (struct wtl_gather){0};
}
