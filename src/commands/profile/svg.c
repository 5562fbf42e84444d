/* SPDX-License-Identifier: MIT */
/* A static flame graph, for pages and papers: widths are energy, or CPU time if no energy is known. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/text.h"
#include "commands/profile/format.h"
#include "document/format.h"

/* Pixels. */
enum { WIDTH = 1200, MARGIN = 10, ROW = 18, HEAD = 52, LETTER = 7 };
#define LEAST 0.3

struct svg {
	struct wtl_buf *buf;
	const struct wtl_stacks *stacks;
	size_t metric;
	double *lefts; /* where each node's next child begins */
	double per_pixel;
};

static uint64_t all_of(const struct svg *svg, uint32_t node)
{
	return svg->stacks->all[node * svg->stacks->n_metrics + svg->metric];
}

static void put_number(struct svg *svg, const char *name, double value)
{
	wtl_buf_printf(svg->buf, " %s=\"", name);
	wtl_format_double(svg->buf, value, 2);
	wtl_buf_putc(svg->buf, '"');
}

static void put_value(struct svg *svg, uint64_t value)
{
	double factor, whole = (double)all_of(svg, 0);

	wtl_buf_putc(svg->buf, ' ');
	wtl_profile_value(svg->buf, svg->stacks, svg->metric, value);
	wtl_buf_printf(svg->buf, " %s, ",
		       wtl_stacks_unit_symbol(svg->stacks->metrics[svg->metric].unit, &factor));
	wtl_format_double(svg->buf, whole > 0.0 ? 100.0 * (double)value / whole : 0.0, 1);
	wtl_buf_puts(svg->buf, " %");
}

/* As many whole characters of a name as fit. */
static void put_name(struct svg *svg, const char *name, double room)
{
	size_t letters = room > 3 * LETTER ? (size_t)(room / LETTER) : 0, n = 0;
	const char *at = name;
	char cut[WIDTH];

	for (; *at && n < letters; n++)
		at = wtl_text_next(at);
	if (*at && n > 1) { /* the last one is replaced by an ellipsis */
		for (n = 0, at = name; n + 1 < letters; n++)
			at = wtl_text_next(at);
		wtl_text_copy(cut,
			      (size_t)(at - name) + 1 < sizeof(cut) ? (size_t)(at - name) + 1
								    : sizeof(cut),
			      name);
		wtl_format_xml(svg->buf, cut);
		wtl_buf_puts(svg->buf, "\xe2\x80\xa6");
	} else if (n > 0) {
		wtl_format_xml(svg->buf, name);
	}
}

static void put_color(struct svg *svg, const char *name)
{
	uint32_t sum = wtl_hash_text(name);

	if (name[0] == '[')
		wtl_buf_printf(svg->buf, " fill=\"hsl(210,8%%,%u%%)\"", 70 + sum % 12);
	else
		wtl_buf_printf(svg->buf, " fill=\"hsl(%u,%u%%,%u%%)\"", 12 + sum % 42,
			       75 + (sum >> 8) % 20, 66 + (sum >> 16) % 12);
}

static void put_box(struct svg *svg, const char *name, uint32_t node, double left, double width,
		    unsigned depth)
{
	wtl_buf_puts(svg->buf, "<g><title>");
	wtl_format_xml(svg->buf, name);
	put_value(svg, all_of(svg, node));
	wtl_buf_puts(svg->buf, "</title><rect");
	put_number(svg, "x", left);
	put_number(svg, "y", HEAD + (double)depth * ROW);
	put_number(svg, "width", width > 0.8 ? width - 0.5 : width);
	put_number(svg, "height", ROW - 1);
	if (node > 0)
		put_color(svg, name);
	else
		wtl_buf_puts(svg->buf, " fill=\"#d8dde2\"");
	wtl_buf_puts(svg->buf, "/>");
	if (width > 4 * LETTER) {
		wtl_buf_puts(svg->buf, "<text");
		put_number(svg, "x", left + 3);
		put_number(svg, "y", HEAD + (double)depth * ROW + ROW - 5);
		wtl_buf_putc(svg->buf, '>');
		put_name(svg, name, width - 6);
		wtl_buf_puts(svg->buf, "</text>");
	}
	wtl_buf_puts(svg->buf, "</g>\n");
}

static unsigned depth_of(const struct wtl_stacks *stacks, uint32_t node)
{
	unsigned depth = 0;

	for (; node; node = stacks->tree.nodes[node].parent)
		depth++;
	return depth;
}

static bool is_drawn(const struct svg *svg, uint32_t node)
{
	return (double)all_of(svg, node) / svg->per_pixel >= LEAST;
}

/* Parents come before their children: each child takes the next piece of its parent's width. */
static void put_boxes(struct svg *svg)
{
	const struct wtl_stacks *stacks = svg->stacks;

	svg->lefts[0] = MARGIN;
	put_box(svg, "all", 0, MARGIN, WIDTH - 2 * MARGIN, 0);
	for (uint32_t i = 1; i < stacks->tree.n_nodes; i++) {
		uint32_t parent = stacks->tree.nodes[i].parent;
		double width = (double)all_of(svg, i) / svg->per_pixel;

		svg->lefts[i] = svg->lefts[parent];
		svg->lefts[parent] += width;
		if (is_drawn(svg, i))
			put_box(svg, stacks->functions[wtl_stacks_function(stacks, i)].name, i,
				svg->lefts[i], width, depth_of(stacks, i));
	}
}

static void put_head(struct svg *svg)
{
	struct wtl_buf command;
	bool is_energy = svg->metric == WTL_METRIC_ENERGY;
	unsigned rows = 1;

	for (uint32_t i = 1; i < svg->stacks->tree.n_nodes; i++)
		if (is_drawn(svg, i) && depth_of(svg->stacks, i) + 1 > rows)
			rows = depth_of(svg->stacks, i) + 1;
	wtl_buf_printf(
		svg->buf,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" width=\"%d\" "
		"height=\"%u\" font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		"<text x=\"%d\" y=\"20\" font-size=\"15\" font-weight=\"bold\">",
		WIDTH, HEAD + rows * ROW + MARGIN, WIDTH, HEAD + rows * ROW + MARGIN, MARGIN);
	wtl_buf_init(&command, 1 << 20);
	wtl_profile_command_line(&command, svg->stacks->profile);
	put_name(svg, wtl_buf_str(&command), WIDTH - 2 * MARGIN);
	wtl_buf_done(&command);
	wtl_buf_printf(svg->buf,
		       "</text>\n<text x=\"%d\" y=\"40\" fill=\"#545b64\">%s%s%s:", MARGIN,
		       svg->stacks->metrics[svg->metric].title, is_energy ? " " : "",
		       is_energy ? wtl_profile_kind(svg->stacks->profile) : "");
	put_value(svg, all_of(svg, 0));
	wtl_buf_puts(svg->buf, "</text>\n");
}

static int write_svg(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	struct svg svg = {.buf = buf, .stacks = stacks, .metric = stacks->main};

	svg.lefts = calloc(stacks->tree.n_nodes, sizeof(*svg.lefts));
	if (!svg.lefts)
		return -ENOMEM;
	svg.per_pixel = all_of(&svg, 0) ? (double)all_of(&svg, 0) / (WIDTH - 2 * MARGIN) : 1.0;
	put_head(&svg);
	put_boxes(&svg);
	wtl_buf_puts(buf, "</svg>\n");
	free(svg.lefts);
	return buf->error;
}

const struct wtl_profile_format wtl_profile_format_svg = {
	.name = "svg", .suffixes = ".svg", .write = write_svg};
