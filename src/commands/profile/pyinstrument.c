/* SPDX-License-Identifier: MIT */
/* A pyinstrument session, for `pyinstrument --load`: stacks from the root on, with joules in place of seconds. */
#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "commands/profile/format.h"
#include "document/format.h"
#include "energy/units.h"

/* "name NUL file NUL line", as one JSON string. */
static void put_frame(struct wtl_buf *buf, const struct wtl_stacks *stacks, uint32_t node)
{
	const struct wtl_stacks_function *function =
		&stacks->functions[wtl_stacks_function(stacks, node)];

	wtl_buf_putc(buf, '"');
	wtl_json_inner(buf, function->label);
	wtl_buf_puts(buf, "\\u0000");
	wtl_json_inner(buf, function->file[0] ? function->file : "native");
	wtl_buf_printf(buf, "\\u0000%" PRIu32 "\"", function->line);
}

static void put_head(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	const struct wtl_profile *profile = stacks->profile;
	char what[80] = "";

	if (stacks->main == WTL_METRIC_ENERGY)
		snprintf(what, sizeof(what), "joules %s, not seconds: ", wtl_profile_kind(profile));

	wtl_buf_puts(buf, "{\"start_time\":");
	wtl_format_fixed(buf, (uint64_t)profile->window->begin_utc_ns / 1000, 6);
	wtl_buf_puts(buf, ",\"duration\":");
	wtl_profile_value(buf, stacks, stacks->main, stacks->all[stacks->main]);
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
	wtl_profile_json_command(buf, "target_description", what, profile);
	wtl_profile_json_command(buf, "program", what, profile);
}

static int write_pyinstrument(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	bool is_first = true;

	put_head(buf, stacks);
	wtl_buf_puts(buf, ",\"frame_records\":[");
	for (uint32_t i = 1; i < stacks->tree.n_nodes; i++) {
		uint64_t value = stacks->own[i * stacks->n_metrics + stacks->main];

		if (value == 0)
			continue;
		wtl_buf_puts(buf, is_first ? "\n[[" : ",\n[[");
		wtl_profile_stack(buf, stacks, i, ',', put_frame);
		wtl_buf_puts(buf, "],");
		wtl_profile_value(buf, stacks, stacks->main, value);
		wtl_buf_putc(buf, ']');
		is_first = false;
	}
	wtl_buf_puts(buf, "]}\n");
	return buf->error;
}

const struct wtl_profile_format wtl_profile_format_pyinstrument = {
	.name = "pyinstrument", .suffixes = ".pyisession", .write = write_pyinstrument};
