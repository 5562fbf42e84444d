/* SPDX-License-Identifier: MIT */
/* Folded stacks for flamegraph.pl, inferno and speedscope: "main;work 4711", in microjoules, or in nanoseconds of
 * CPU time. */
#include <inttypes.h>

#include "base/buf.h"
#include "commands/profile/format.h"

/* Replaces ';' in names, which separates frames. */
static void put_name(struct wtl_buf *buf, const struct wtl_stacks *stacks, uint32_t node)
{
	const char *name = stacks->functions[wtl_stacks_function(stacks, node)].name;

	for (; *name; name++)
		wtl_buf_putc(buf, *name == ';' ? ':' : *name);
}

static int write_folded(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	for (uint32_t i = 1; i < stacks->tree.n_nodes; i++) {
		uint64_t value = stacks->own[i * stacks->n_metrics + stacks->main];

		if (value == 0)
			continue;
		wtl_profile_stack(buf, stacks, i, ';', put_name);
		wtl_buf_printf(buf, " %" PRIu64 "\n", value);
	}
	return buf->error;
}

const struct wtl_profile_format wtl_profile_format_folded = {
	.name = "folded", .suffixes = ".folded", .write = write_folded};
