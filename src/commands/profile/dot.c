/* SPDX-License-Identifier: MIT */
/* The call graph for Graphviz: functions by their energy (or CPU time), and what goes along each call. */
#include "base/buf.h"
#include "commands/profile/edges.h"
#include "commands/profile/format.h"
#include "document/format.h"

/* Functions and calls with a smaller share are not drawn. */
#define LEAST 0.005

static double share_of(const struct wtl_stacks *stacks, const uint64_t *values)
{
	uint64_t all = stacks->all[stacks->main];

	return all > 0 ? (double)values[stacks->main] / (double)all : 0.0;
}

static void put_escaped(struct wtl_buf *buf, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			wtl_buf_putc(buf, '\\');
		wtl_buf_putc(buf, *text);
	}
}

static void put_double(struct wtl_buf *buf, double value, unsigned decimals)
{
	wtl_format_double(buf, value, decimals);
}

static void put_value(struct wtl_buf *buf, const struct wtl_stacks *stacks, const uint64_t *values)
{
	double factor;
	const char *symbol = wtl_stacks_unit_symbol(stacks->metrics[stacks->main].unit, &factor);

	put_double(buf, (double)values[stacks->main] / factor, 3);
	wtl_buf_printf(buf, " %s (", symbol);
	put_double(buf, 100.0 * share_of(stacks, values), 1);
	wtl_buf_puts(buf, " %)");
}

/* Colors go from white to dark red by the function's own share, and leave the text readable. */
static void put_node(struct wtl_buf *buf, const struct wtl_stacks *stacks, uint32_t function)
{
	const uint64_t *all = &stacks->functions_all[function * stacks->n_metrics];
	const uint64_t *own = &stacks->functions_own[function * stacks->n_metrics];
	double share = share_of(stacks, own);

	wtl_buf_printf(buf, "\tn%u [label=\"", function);
	put_escaped(buf, stacks->functions[function].name);
	wtl_buf_puts(buf, "\\n");
	put_value(buf, stacks, all);
	wtl_buf_puts(buf, "\\nitself ");
	put_value(buf, stacks, own);
	wtl_buf_puts(buf, "\", fillcolor=\"0.03 ");
	put_double(buf, 0.08 + 0.75 * share, 3);
	wtl_buf_puts(buf, " 0.97\"];\n");
}

static void put_edge(struct wtl_buf *buf, const struct wtl_stacks *stacks,
		     const struct wtl_edge *edge)
{
	double share = share_of(stacks, edge->all);

	wtl_buf_printf(buf, "\tn%u -> n%u [label=\"", edge->caller, edge->callee);
	put_value(buf, stacks, edge->all);
	wtl_buf_puts(buf, "\", penwidth=");
	put_double(buf, 0.5 + 5.0 * share, 2);
	wtl_buf_puts(buf, "];\n");
}

static int write_dot(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	size_t n = stacks->n_metrics;
	struct wtl_edges edges;
	int rc = wtl_edges_make(&edges, stacks, true);

	wtl_buf_puts(buf, "digraph profile {\n\tlabel=\"");
	{
		struct wtl_buf command;

		wtl_buf_init(&command, 1 << 20);
		wtl_profile_command_line(&command, stacks->profile);
		put_escaped(buf, wtl_buf_str(&command));
		wtl_buf_done(&command);
	}
	wtl_buf_puts(buf, "\\n");
	put_value(buf, stacks, stacks->all);
	wtl_buf_printf(buf, "\\nfunctions and calls of less than %g %% are not drawn",
		       100.0 * LEAST);
	wtl_buf_puts(buf, "\";\n\tnode [shape=box, style=filled, fontname=\"sans-serif\"];\n"
			  "\tedge [fontname=\"sans-serif\", fontsize=10];\n");
	for (uint32_t i = 0; i < stacks->tree.n_names; i++)
		if (share_of(stacks, &stacks->functions_all[i * n]) >= LEAST)
			put_node(buf, stacks, i);
	for (size_t i = 0; rc == 0 && i < edges.n; i++)
		if (edges.list[i].caller != WTL_EDGE_ROOT &&
		    share_of(stacks, edges.list[i].all) >= LEAST)
			put_edge(buf, stacks, &edges.list[i]);
	wtl_buf_puts(buf, "}\n");
	wtl_edges_done(&edges);
	return rc < 0 ? rc : buf->error;
}

const struct wtl_profile_format wtl_profile_format_dot = {
	.name = "dot", .suffixes = ".dot .gv", .write = write_dot};
