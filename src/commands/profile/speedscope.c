/* SPDX-License-Identifier: MIT */
/* speedscope's JSON: one profile per cost, all with the same frames. (It has no unit of energy: the profiles' names
 * have it.) */
#include <inttypes.h>

#include "base/buf.h"
#include "commands/profile/format.h"

static void put_frames(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	wtl_buf_puts(buf, "\"shared\":{\"frames\":[");
	for (size_t i = 0; i < stacks->tree.n_names; i++) {
		const struct wtl_stacks_function *function = &stacks->functions[i];

		wtl_buf_puts(buf, i ? ",\n{" : "\n{");
		wtl_profile_json_text(buf, "name", function->label);
		if (function->file[0])
			wtl_profile_json_text(buf, "file", function->file);
		if (function->line > 0)
			wtl_buf_printf(buf, ",\"line\":%" PRIu32, function->line);
		wtl_buf_putc(buf, '}');
	}
	wtl_buf_puts(buf, "]},\n");
}

static void put_frame(struct wtl_buf *buf, const struct wtl_stacks *stacks, uint32_t node)
{
	wtl_buf_printf(buf, "%" PRIu32, wtl_stacks_function(stacks, node));
}

/* Weights are decimals in the unit for people, such as joules. */
static void put_profile(struct wtl_buf *buf, const struct wtl_stacks *stacks, size_t metric)
{
	const struct wtl_stacks_metric *what = &stacks->metrics[metric];
	const char *unit = what->unit == WTL_STACKS_NS	    ? "seconds"
			   : what->unit == WTL_STACKS_BYTES ? "bytes"
							    : "none";
	bool is_first = true;
	double factor;
	struct wtl_buf name;

	wtl_buf_init(&name, 1 << 10);
	wtl_buf_printf(&name, "%s [%s]", what->title, wtl_stacks_unit_symbol(what->unit, &factor));
	wtl_buf_puts(buf, "{\"type\":\"sampled\"");
	wtl_profile_json_text(buf, "name", wtl_buf_str(&name));
	wtl_buf_done(&name);
	wtl_profile_json_text(buf, "unit", unit);
	wtl_buf_puts(buf, ",\"startValue\":0,\"endValue\":");
	wtl_profile_value(buf, stacks, metric, stacks->all[metric]);
	wtl_buf_puts(buf, ",\"samples\":[");
	for (uint32_t i = 1; i < stacks->tree.n_nodes; i++)
		if (stacks->own[i * stacks->n_metrics + metric]) {
			wtl_buf_puts(buf, is_first ? "\n[" : ",\n[");
			wtl_profile_stack(buf, stacks, i, ',', put_frame);
			wtl_buf_putc(buf, ']');
			is_first = false;
		}
	wtl_buf_puts(buf, "],\"weights\":[");
	is_first = true;
	for (uint32_t i = 1; i < stacks->tree.n_nodes; i++)
		if (stacks->own[i * stacks->n_metrics + metric]) {
			wtl_buf_puts(buf, is_first ? "" : ",");
			wtl_profile_value(buf, stacks, metric,
					  stacks->own[i * stacks->n_metrics + metric]);
			is_first = false;
		}
	wtl_buf_puts(buf, "]}");
}

static int write_speedscope(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	wtl_buf_puts(buf, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\"");
	wtl_profile_json_text(buf, "exporter", "wattle " WATTLE_VERSION);
	wtl_profile_json_command(buf, "name", "", stacks->profile);
	wtl_buf_printf(buf, ",\"activeProfileIndex\":%d,\n", (int)stacks->main - WTL_METRIC_CPU);
	put_frames(buf, stacks);
	wtl_buf_puts(buf, "\"profiles\":[\n");
	for (size_t i = WTL_METRIC_CPU; i < stacks->n_metrics; i++) {
		if (!wtl_stacks_is_known(stacks, i))
			continue;
		wtl_buf_puts(buf, i > WTL_METRIC_CPU ? ",\n" : "");
		put_profile(buf, stacks, i);
	}
	wtl_buf_puts(buf, "]}\n");
	return buf->error;
}

const struct wtl_profile_format wtl_profile_format_speedscope = {
	.name = "speedscope", .suffixes = ".speedscope.json", .write = write_speedscope};
