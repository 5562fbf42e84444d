/* SPDX-License-Identifier: MIT */
/*
 * cProfile's file format (a marshalled dict), for SnakeViz, gprof2dot and Python's pstats. It has one cost, which
 * readers take for seconds: joules in the file itself, CPU seconds in the one beside it. All stacks are below one
 * function, whose name says what is counted: SnakeViz drops functions without caller and callee.
 */
#include <string.h>

#include "base/buf.h"
#include "commands/profile/edges.h"
#include "commands/profile/format.h"

/* ---- marshal (version 2, which every Python reads) ---- */

static void put_u32(struct wtl_buf *buf, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		wtl_buf_putc(buf, (char)(value >> 8 * i));
}

static void put_int(struct wtl_buf *buf, uint64_t value)
{
	wtl_buf_putc(buf, 'i');
	put_u32(buf, value < INT32_MAX ? (uint32_t)value : INT32_MAX);
}

static void put_float(struct wtl_buf *buf, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	wtl_buf_putc(buf, 'g');
	put_u32(buf, (uint32_t)bits);
	put_u32(buf, (uint32_t)(bits >> 32));
}

static void put_text(struct wtl_buf *buf, const char *text)
{
	wtl_buf_putc(buf, 'u');
	put_u32(buf, (uint32_t)strlen(text));
	wtl_buf_puts(buf, text);
}

static void put_tuple(struct wtl_buf *buf, uint32_t n)
{
	wtl_buf_putc(buf, '(');
	put_u32(buf, n);
}

/* ---- The statistics ---- */

struct pstats {
	struct wtl_buf *buf;
	const struct wtl_stacks *stacks;
	struct wtl_edges edges;
	size_t metric, next; /* next: the next edge, by callee */
	const char *title;
};

static double value_of(const struct pstats *pstats, uint64_t value)
{
	double factor;

	wtl_stacks_unit_symbol(pstats->stacks->metrics[pstats->metric].unit, &factor);
	return (double)value / factor;
}

static void put_key(struct pstats *pstats, uint32_t function)
{
	const struct wtl_stacks_function *called = &pstats->stacks->functions[function];

	put_tuple(pstats->buf, 3);
	put_text(pstats->buf, function == WTL_EDGE_ROOT ? "~"
			      : called->file[0]		? called->file
							: "~");
	put_int(pstats->buf, function == WTL_EDGE_ROOT ? 0 : called->line);
	put_text(pstats->buf, function == WTL_EDGE_ROOT ? pstats->title : called->label);
}

/* {caller: (calls, primitive calls, own, all)}; samples stand for calls. */
static void put_callers(struct pstats *pstats, uint32_t function)
{
	const struct wtl_edges *edges = &pstats->edges;

	wtl_buf_putc(pstats->buf, '{');
	while (pstats->next < edges->n && edges->list[pstats->next].callee == function) {
		const struct wtl_edge *edge = &edges->list[pstats->next++];

		put_key(pstats, edge->caller);
		put_tuple(pstats->buf, 4);
		put_int(pstats->buf, edge->all[WTL_METRIC_SAMPLES]);
		put_int(pstats->buf, edge->all[WTL_METRIC_SAMPLES]);
		put_float(pstats->buf, value_of(pstats, edge->own[pstats->metric]));
		put_float(pstats->buf, value_of(pstats, edge->all[pstats->metric]));
	}
	wtl_buf_putc(pstats->buf, '0');
}

static void put_function(struct pstats *pstats, uint32_t function)
{
	const struct wtl_stacks *stacks = pstats->stacks;
	size_t at = function * stacks->n_metrics;
	bool is_root = function == WTL_EDGE_ROOT;
	const uint64_t *all = is_root ? stacks->all : &stacks->functions_all[at];

	put_key(pstats, function);
	put_tuple(pstats->buf, 5);
	put_int(pstats->buf, all[WTL_METRIC_SAMPLES]);
	put_int(pstats->buf, all[WTL_METRIC_SAMPLES]);
	put_float(pstats->buf,
		  is_root ? 0.0 : value_of(pstats, stacks->functions_own[at + pstats->metric]));
	put_float(pstats->buf, value_of(pstats, all[pstats->metric]));
	put_callers(pstats, function);
}

static int put_stats(struct wtl_buf *buf, const struct wtl_stacks *stacks, size_t metric,
		     const char *title)
{
	struct pstats pstats = {.buf = buf, .stacks = stacks, .metric = metric, .title = title};
	int rc = wtl_edges_make(&pstats.edges, stacks, false);

	wtl_buf_putc(buf, '{');
	for (uint32_t i = 0; rc == 0 && i < stacks->tree.n_names; i++)
		put_function(&pstats, i);
	if (rc == 0)
		put_function(&pstats, WTL_EDGE_ROOT);
	wtl_buf_putc(buf, '0');
	wtl_edges_done(&pstats.edges);
	return rc < 0 ? rc : buf->error;
}

static int write_time(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	return put_stats(buf, stacks, WTL_METRIC_CPU, "TOTAL (values are CPU seconds)");
}

static int write_energy(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	return stacks->main == WTL_METRIC_ENERGY
		       ? put_stats(buf, stacks, WTL_METRIC_ENERGY, "TOTAL (values are joules)")
		       : write_time(buf, stacks);
}

const struct wtl_profile_format wtl_profile_format_pstats = {.name = "pstats",
							     .suffixes = ".pstats .prof",
							     .write = write_energy,
							     .write_beside = write_time};
