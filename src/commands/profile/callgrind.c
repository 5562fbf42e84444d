/* SPDX-License-Identifier: MIT */
/* Callgrind's format, for KCachegrind and callgrind_annotate: several costs, by function and by line. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "commands/profile/edges.h"
#include "commands/profile/format.h"

enum { NS_PER_US = 1000 };

/* Energy comes first: that is what tools sort by, and the only one that gprof2dot reads. */
static size_t metric_at(size_t i)
{
	static const size_t order[WTL_METRIC_DOMAINS] = {WTL_METRIC_ENERGY, WTL_METRIC_CPU,
							 WTL_METRIC_SAMPLES, WTL_METRIC_CO2E};

	return i < WTL_METRIC_DOMAINS ? order[i] : i;
}

/* Whole numbers of readable size: microseconds, microjoules, micrograms. */
static uint64_t cost_at(const struct wtl_stacks *stacks, size_t i, const uint64_t *values)
{
	size_t metric = metric_at(i);

	return stacks->metrics[metric].unit == WTL_STACKS_NS ? values[metric] / NS_PER_US
							     : values[metric];
}

static void put_values(struct wtl_buf *buf, const struct wtl_stacks *stacks, const uint64_t *values)
{
	for (size_t i = 0; i < stacks->n_metrics; i++)
		if (wtl_stacks_is_known(stacks, metric_at(i)))
			wtl_buf_printf(buf, " %" PRIu64, cost_at(stacks, i, values));
	wtl_buf_putc(buf, '\n');
}

static void put_costs(struct wtl_buf *buf, const struct wtl_stacks *stacks, uint32_t line,
		      const uint64_t *values)
{
	wtl_buf_printf(buf, "%" PRIu32, line);
	put_values(buf, stacks, values);
}

/* A blank would end the name of an event. */
static void put_events(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	static const char *const units[WTL_STACKS_UNITS] = {"", "_us", "_uJ", "_ug", "_bytes"};

	wtl_buf_puts(buf, "events:");
	for (size_t i = 0; i < stacks->n_metrics; i++) {
		const struct wtl_stacks_metric *metric = &stacks->metrics[metric_at(i)];

		if (!wtl_stacks_is_known(stacks, metric_at(i)))
			continue;
		wtl_buf_putc(buf, ' ');
		for (const char *at = metric->name; *at; at++)
			wtl_buf_putc(buf, *at == ' ' || *at == '-' ? '_' : *at);
		wtl_buf_puts(buf, units[metric->unit]);
	}
	wtl_buf_putc(buf, '\n');
}

/*
 * Readers print lines of a file, so it is none that is a program. A script is its own object: there is no empty one.
 * prefix: "c" for who is called.
 */
static void put_name(struct wtl_buf *buf, const struct wtl_stacks *stacks, const char *prefix,
		     const char *file, uint32_t function)
{
	const struct wtl_stacks_function *called = &stacks->functions[function];
	const char *source = called->file == called->object ? "" : called->file;
	const char *object = called->object[0] ? called->object : source;

	wtl_buf_printf(buf, "%sob=%s\n%s=%s\n%sfn=(%" PRIu32 ") %s\n", prefix,
		       object[0] ? object : "???", file, source[0] ? source : "???", prefix,
		       function + 1, called->label);
}

/* The own costs of each frame, which is a line of a function. */
static uint64_t *sum_lines(const struct wtl_stacks *stacks)
{
	uint64_t *sums = calloc((stacks->tree.n_frames + 1) * stacks->n_metrics, sizeof(*sums));

	for (size_t i = 1; sums && i < stacks->tree.n_nodes; i++)
		for (size_t k = 0; k < stacks->n_metrics; k++)
			sums[stacks->tree.nodes[i].frame * stacks->n_metrics + k] +=
				stacks->own[i * stacks->n_metrics + k];
	return sums;
}

struct line {
	uint32_t function, line, frame;
};

static int by_function(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static void put_functions(struct wtl_buf *buf, const struct wtl_stacks *stacks,
			  const struct line *lines, const uint64_t *sums,
			  const struct wtl_edges *edges)
{
	size_t edge = 0;

	for (size_t i = 0; i < stacks->tree.n_frames;) {
		uint32_t function = lines[i].function;

		wtl_buf_putc(buf, '\n');
		put_name(buf, stacks, "", "fl", function);
		for (; i < stacks->tree.n_frames && lines[i].function == function; i++)
			put_costs(buf, stacks, lines[i].line,
				  &sums[lines[i].frame * stacks->n_metrics]);
		for (; edge < edges->n && edges->list[edge].caller == function; edge++) {
			const struct wtl_edge *call = &edges->list[edge];

			put_name(buf, stacks, "c", "cfi", call->callee);
			wtl_buf_printf(buf, "calls=%" PRIu64 " %" PRIu32 "\n",
				       call->all[WTL_METRIC_SAMPLES] ? call->all[WTL_METRIC_SAMPLES]
								     : 1,
				       stacks->functions[call->callee].line);
			put_costs(buf, stacks, call->line, call->all);
		}
	}
}

static int write_callgrind(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	struct line *lines = calloc(stacks->tree.n_frames + 1, sizeof(*lines));
	uint64_t *sums = sum_lines(stacks);
	struct wtl_edges edges;
	int rc = wtl_edges_make(&edges, stacks, true);

	wtl_buf_puts(buf,
		     "# callgrind format\nversion: 1\ncreator: wattle " WATTLE_VERSION "\ncmd: ");
	wtl_profile_command_line(buf, stacks->profile);
	wtl_buf_puts(buf, "\npositions: line\n");
	put_events(buf, stacks);
	for (uint32_t i = 0; lines && i < stacks->tree.n_frames; i++)
		lines[i] = (struct line){stacks->tree.frames[i].name,
					 (uint32_t)stacks->tree.frames[i].address, i};
	if (lines && sums && rc == 0) {
		qsort(lines, stacks->tree.n_frames, sizeof(*lines), by_function);
		put_functions(buf, stacks, lines, sums, &edges);
		wtl_buf_puts(buf, "\ntotals:");
		put_values(buf, stacks, stacks->all);
	} else if (!buf->error) {
		buf->error = rc < 0 ? rc : -ENOMEM;
	}
	free(lines);
	free(sums);
	wtl_edges_done(&edges);
	return buf->error;
}

const struct wtl_profile_format wtl_profile_format_callgrind = {.name = "callgrind",
								.suffixes = ".callgrind",
								.beginning = "callgrind.out",
								.has_lines = true,
								.write = write_callgrind};
