/* SPDX-License-Identifier: MIT */
/* A session of pyinstrument, for `pyinstrument --load`: stacks from the root on, with joules where it has seconds. */
#include <inttypes.h>

#include "base/buf.h"
#include "commands/profile/format.h"
#include "document/format.h"
#include "energy/units.h"

/* "name NUL file NUL line", as one text of JSON. */
static void put_frame(struct wtl_buf *buf, const struct wtl_stacks_function *function,
		      struct wtl_buf *room)
{
	wtl_buf_clear(room);
	wtl_json_text(room, function->label);
	if (room->len > 0)
		room->len--; /* the quotes between the parts */
	wtl_buf_add(buf, wtl_buf_str(room), room->len);
	wtl_buf_puts(buf, "\\u0000");
	wtl_buf_clear(room);
	wtl_json_text(room, function->file[0] ? function->file : "native");
	if (room->len > 1)
		wtl_buf_add(buf, wtl_buf_str(room) + 1, room->len - 2);
	wtl_buf_printf(buf, "\\u0000%" PRIu32 "\"", function->line);
}

static void put_stack(struct wtl_buf *buf, const struct wtl_stacks *stacks, uint32_t node,
		      struct wtl_buf *room)
{
	uint32_t parent = stacks->tree.nodes[node].parent;

	if (parent) {
		put_stack(buf, stacks, parent, room);
		wtl_buf_putc(buf, ',');
	}
	put_frame(buf, &stacks->functions[wtl_stacks_function(stacks, node)], room);
}

static void put_head(struct wtl_buf *buf, const struct wtl_stacks *stacks, struct wtl_buf *room)
{
	const struct wtl_profile *profile = stacks->profile;

	wtl_buf_puts(buf, "{\"start_time\":");
	wtl_format_fixed(buf, (uint64_t)profile->window->begin_utc_ns / 1000, 6);
	wtl_buf_puts(buf, ",\"duration\":");
	wtl_format_fixed(buf, stacks->all[WTL_METRIC_ENERGY], 6);
	wtl_buf_puts(buf, ",\"min_interval\":");
	wtl_format_double(buf, 1.0 / profile->hz, 9);
	wtl_buf_puts(buf, ",\"max_interval\":");
	wtl_format_double(buf, 1.0 / profile->hz, 9);
	wtl_buf_printf(buf,
		       ",\"sample_count\":%" PRIu64
		       ",\"start_call_stack\":[\"wattle\\u0000\\u00000\"],\"cpu_time\":",
		       stacks->all[WTL_METRIC_SAMPLES]);
	wtl_format_fixed(buf, stacks->all[WTL_METRIC_CPU], 9);
	wtl_buf_puts(buf, ",\"sys_path\":[],\"sys_prefixes\":[]");
	wtl_buf_puts(room, "joules above idle, not seconds: ");
	wtl_profile_command_line(room, profile);
	wtl_profile_json_text(buf, "target_description", wtl_buf_str(room));
	wtl_profile_json_text(buf, "program", wtl_buf_str(room));
}

static int write_pyinstrument(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	struct wtl_buf room;
	bool is_first = true;

	wtl_buf_init(&room, 1 << 20);
	put_head(buf, stacks, &room);
	wtl_buf_puts(buf, ",\"frame_records\":[");
	for (uint32_t i = 1; i < stacks->tree.n_nodes; i++) {
		uint64_t uj = stacks->own[i * stacks->n_metrics + WTL_METRIC_ENERGY];

		if (uj == 0)
			continue;
		wtl_buf_puts(buf, is_first ? "\n[[" : ",\n[[");
		put_stack(buf, stacks, i, &room);
		wtl_buf_puts(buf, "],");
		wtl_format_fixed(buf, uj, 6);
		wtl_buf_putc(buf, ']');
		is_first = false;
	}
	wtl_buf_puts(buf, "]}\n");
	if (room.error && !buf->error)
		buf->error = room.error;
	wtl_buf_done(&room);
	return buf->error;
}

const struct wtl_profile_format wtl_profile_format_pyinstrument = {
	.name = "pyinstrument", .suffixes = ".pyisession", .write = write_pyinstrument};
