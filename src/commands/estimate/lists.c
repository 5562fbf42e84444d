/* SPDX-License-Identifier: MIT */
#include "commands/estimate/lists.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "commands/estimate/tell.h"
#include "text/layout.h"
#include "text/report_text.h"

/* ---- Devices ---- */

static const struct wtl_doc_table devices_table = {
	"devices", "0:device,scope,node_nm,voltage_v 1:constant,value,low,high,unit,grade,source"};

static void put_constant(struct wtl_node *to, const struct wtl_constant *constant)
{
	double scale = constant->scale > 0 ? constant->scale : 1;

	wtl_doc_text(to, "constant", constant->name);
	wtl_estimate_put_number(to, "value", constant->nominal / scale);
	if (constant->high > constant->low) {
		wtl_estimate_put_number(to, "low", constant->low / scale);
		wtl_estimate_put_number(to, "high", constant->high / scale);
	}
	wtl_doc_known(to, "unit", constant->unit);
	wtl_doc_text(to, "grade", wtl_grade_name(constant->grade));
	wtl_doc_text(to, "source", constant->source);
}

static void devices_document(struct wtl_doc *doc, const void *what)
{
	const struct wtl_devices *devices = what;
	struct wtl_node *list;

	doc->table = &devices_table;
	wtl_doc_schema(doc->root, "wattle.estimate-devices/1");
	list = wtl_doc_list(doc->root, "devices");
	for (size_t i = 0; i < devices->n; i++) {
		const struct wtl_device *device = &devices->devices[i];
		struct wtl_node *object = wtl_doc_object(list, NULL);
		wtl_doc_text(object, "device", device->name);
		wtl_doc_known(object, "title", device->title);
		wtl_doc_text(object, "scope", device->is_all_in ? "all-in" : "per-term");
		wtl_doc_text(object, "grade", wtl_grade_name(device->grade));
		wtl_estimate_put_number(object, "node_nm", device->node_nm);
		wtl_estimate_put_number(object, "voltage_v", device->voltage_v);
		wtl_doc_text(object, "source", device->source);
		wtl_doc_known(object, "note", device->note);
		struct wtl_node *constants = wtl_doc_list(object, "constants");
		for (size_t k = 0; k < device->n; k++) {
			struct wtl_node *one = wtl_doc_object(constants, NULL);
			put_constant(one, &device->constants[k]);
			wtl_doc_add_row(doc, (const struct wtl_node *const[]){object, one}, 2);
		}
	}
}

/* The constants of a device, a line each. */
static void text_constants(struct wtl_grid *grid, const struct wtl_device *device)
{
	for (size_t i = 0; i < device->n; i++) {
		const struct wtl_constant *c = &device->constants[i];
		wtl_grid_begin(grid, WTL_TONE_PLAIN);
		wtl_buf_puts(&grid->rows, "  ");
		wtl_grid_text(grid, c->name);
		wtl_grid_text(grid, wtl_grade_name(c->grade));
		wtl_grid_next(grid);
		wtl_grid_run_on(grid);
		if (isfinite(c->nominal))
			wtl_buf_printf(&grid->rows, "%.4g %s", c->nominal / c->scale, c->unit);
		if (c->high > c->low)
			wtl_buf_printf(&grid->rows, " (%.4g to %.4g)", c->low / c->scale,
				       c->high / c->scale);
		wtl_grid_next(grid);
	}
}

static int devices_text(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style)
{
	static const char *const head[] = {"DEVICE", "GRADE", "SCOPE", "WHAT", NULL};
	const struct wtl_devices *devices = what;
	struct wtl_grid grid;

	wtl_grid_init(&grid, "llll", style);
	wtl_grid_row(&grid, WTL_TONE_FAINT, head);
	for (size_t i = 0; i < devices->n; i++) {
		const struct wtl_device *device = &devices->devices[i];
		wtl_grid_begin(&grid, WTL_TONE_STRONG);
		wtl_grid_text(&grid, device->name);
		wtl_grid_text(&grid, wtl_grade_name(device->grade));
		wtl_grid_text(&grid, device->is_all_in ? "all-in" : "per-term");
		wtl_grid_run_on(&grid);
		wtl_layout_text(&grid.rows, device->title, style);
		if (style->verbose) {
			wtl_buf_puts(&grid.rows, "; ");
			wtl_layout_text(&grid.rows, device->source, style);
		}
		wtl_grid_next(&grid);
		if (style->verbose)
			text_constants(&grid, device);
	}
	return wtl_grid_render(&grid, buf);
}

const struct wtl_thing wtl_estimate_devices_thing = {.build = devices_document,
						     .text = devices_text};

/* ---- Papers ---- */

static const struct wtl_doc_table papers_table = {"papers", "0:paper,title,source"};
static const struct wtl_doc_table paper_table = {
	"rows", "0:kind,text,derived,printed,expected,unit,tolerance,agrees,formula"};

static const char *const line_kinds[] = {"row", "anchor", "missing", "note"};

static void put_head(struct wtl_node *to, const struct wtl_paper *paper)
{
	wtl_doc_text(to, "paper", paper->name);
	wtl_doc_known(to, "title", paper->title);
	wtl_doc_known(to, "source", paper->source);
}

static void papers_document(struct wtl_doc *doc, const void *what)
{
	const struct wtl_papers *papers = what;

	doc->table = &papers_table;
	wtl_doc_schema(doc->root, "wattle.estimate-papers/1");
	struct wtl_node *list = wtl_doc_list(doc->root, "papers");
	for (size_t i = 0; i < papers->n; i++) {
		struct wtl_node *object = wtl_doc_object(list, NULL);
		put_head(object, &papers->papers[i]);
		wtl_doc_add_row(doc, (const struct wtl_node *const[]){object}, 1);
	}
}

static int papers_text(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style)
{
	const struct wtl_papers *papers = what;
	struct wtl_grid grid;

	wtl_grid_init(&grid, "ll", style);
	wtl_grid_row(&grid, WTL_TONE_FAINT, (const char *const[]){"PAPER", "WHAT", NULL});
	for (size_t i = 0; i < papers->n; i++) {
		wtl_grid_begin(&grid, WTL_TONE_PLAIN);
		wtl_grid_text(&grid, papers->papers[i].name);
		wtl_grid_run_on(&grid);
		wtl_grid_text(&grid, papers->papers[i].title);
	}
	return wtl_grid_render(&grid, buf);
}

const struct wtl_thing wtl_estimate_papers_thing = {.build = papers_document, .text = papers_text};

static void paper_document(struct wtl_doc *doc, const void *what)
{
	const struct wtl_paper *paper = what;

	doc->table = &paper_table;
	wtl_doc_schema(doc->root, "wattle.estimate-paper/1");
	put_head(doc->root, paper);
	struct wtl_node *list = wtl_doc_list(doc->root, "rows");
	for (size_t i = 0; i < paper->n; i++) {
		const struct wtl_paper_line *line = &paper->lines[i];
		struct wtl_node *object = wtl_doc_object(list, NULL);
		wtl_doc_text(object, "kind", line_kinds[line->kind]);
		wtl_doc_text(object, "text", line->text);
		if (line->kind == WTL_PAPER_ROW) {
			wtl_estimate_put_number(object, "derived", line->derived);
			wtl_doc_text(object, line->is_printed ? "printed" : "expected",
				     line->digits);
			wtl_doc_known(object, "unit", line->unit);
			wtl_estimate_put_number(object, "tolerance", line->tolerance);
			wtl_doc_flag(object, "agrees", line->agrees);
			wtl_doc_text(object, "formula", line->formula);
		}
		wtl_doc_add_row(doc, (const struct wtl_node *const[]){object}, 1);
	}
}

static void text_row(struct wtl_grid *grid, const struct wtl_paper_line *line)
{
	wtl_grid_begin(grid, line->agrees ? WTL_TONE_PLAIN : WTL_TONE_WARN);
	wtl_grid_text(grid, line->text);
	wtl_buf_printf(&grid->rows, "%.7g", line->derived);
	wtl_grid_next(grid);
	wtl_grid_text(grid, line->is_printed ? line->digits : "");
	wtl_grid_text(grid, line->is_printed ? "" : line->digits);
	wtl_grid_text(grid, line->unit);
	wtl_grid_cell(grid, line->agrees ? "agrees" : "DIFFERS");
}

static void text_rows(const struct wtl_report_text *text, const struct wtl_paper *paper)
{
	static const char *const head[] = {"ROW", "DERIVED", "PRINTED", "EXPECTED", "IN", "", NULL};
	struct wtl_grid grid;
	size_t n = 0;

	for (size_t i = 0; i < paper->n; i++) {
		if (paper->lines[i].kind != WTL_PAPER_ROW)
			continue;
		if (n++ == 0) {
			wtl_grid_init(&grid, "crrrll", text->style);
			wtl_grid_row(&grid, WTL_TONE_FAINT, head);
		}
		text_row(&grid, &paper->lines[i]);
	}
	if (n > 0)
		wtl_grid_render(&grid, text->buf);
}

static int paper_text(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style)
{
	static const char *const labels[] = {"", "measured: ", "not derived: ", ""};
	const struct wtl_paper *paper = what;
	const struct wtl_report_text text = {.buf = buf, .style = style};
	size_t start = buf->len;

	wtl_report_text_put(&text, "%s", paper->title[0] ? paper->title : paper->name);
	wtl_report_text_end_title(&text, start);
	text_rows(&text, paper);
	start = wtl_report_text_begin_remarks(&text);
	for (size_t i = 0; i < paper->n; i++)
		if (paper->lines[i].kind != WTL_PAPER_ROW)
			wtl_report_text_remark(
				&text,
				paper->lines[i].kind == WTL_PAPER_MISSING ? WTL_TEXT_DOUBT
									  : WTL_TEXT_NOTE,
				"%w%s", labels[paper->lines[i].kind], paper->lines[i].text);
	wtl_report_text_remark(&text, WTL_TEXT_NOTE, "source: %s", paper->source);
	wtl_report_text_end_remarks(&text, start);
	return buf->error;
}

const struct wtl_thing wtl_estimate_paper_thing = {
	.build = paper_document, .text = paper_text, .is_page = true};

/* ---- Lint ---- */

static const struct wtl_doc_table lint_table = {"findings", "0:line,row,rule,text"};

static void lint_document(struct wtl_doc *doc, const void *what)
{
	const struct wtl_estimate_lint *found = what;

	doc->table = &lint_table;
	wtl_doc_schema(doc->root, "wattle.estimate-lint/1");
	wtl_doc_text(doc->root, "file", found->path);
	wtl_doc_count(doc->root, "rows", found->lint.n_rows);
	if (found->lint.n_more > 0)
		wtl_doc_count(doc->root, "more_findings", found->lint.n_more);
	struct wtl_node *list = wtl_doc_list(doc->root, "findings");
	for (size_t i = 0; i < found->lint.n; i++) {
		const struct wtl_lint_finding *finding = &found->lint.findings[i];
		struct wtl_node *object = wtl_doc_object(list, NULL);
		wtl_doc_count(object, "line", finding->line);
		wtl_doc_text(object, "row", finding->row);
		wtl_doc_text(object, "rule", finding->rule);
		wtl_doc_text(object, "text", finding->text);
		wtl_doc_add_row(doc, (const struct wtl_node *const[]){object}, 1);
	}
}

static int lint_text(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style)
{
	const struct wtl_estimate_lint *found = what;

	for (size_t i = 0; i < found->lint.n; i++) {
		const struct wtl_lint_finding *finding = &found->lint.findings[i];
		wtl_layout_text(buf, found->path, style);
		wtl_buf_printf(buf, ":%u: ", finding->line);
		wtl_layout_text(buf, finding->row, style);
		wtl_buf_printf(buf, ": %s: ", finding->rule);
		wtl_layout_text(buf, finding->text, style);
		wtl_buf_putc(buf, '\n');
	}
	if (found->lint.n_more > 0)
		wtl_buf_printf(buf, "%zu more findings\n", found->lint.n_more);
	if (found->lint.n == 0)
		wtl_buf_printf(buf, "%zu rows, no known mistake\n", found->lint.n_rows);
	return buf->error;
}

const struct wtl_thing wtl_estimate_lint_thing = {.build = lint_document, .text = lint_text};
