/* SPDX-License-Identifier: MIT */
#include "commands/estimate/roofline.h"

#include <errno.h>
#include <string.h>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/options.h"
#include "commands/estimate/host.h"
#include "commands/estimate/tell.h"
#include "draw/plot.h"
#include "text/layout.h"
#include "text/report_text.h"

/* One row per layer (docs/estimate-host.md). */
static const struct wtl_doc_table table = {
	"layers", "0:device 1:layer,op,macs,priced_as,cache_bytes,dram_bytes,compute_s,memory_s,"
		  "duration_low_s,duration_s,duration_high_s,energy_low_j,energy_j,energy_high_j"};

static const char *const seconds_keys[] = {"duration_low_s", "duration_s", "duration_high_s"};
static const char *const joules_keys[] = {"energy_low_j", "energy_j", "energy_high_j"};

static void put_bounds(struct wtl_node *to, const char *const keys[], const double of[])
{
	for (int i = 0; i < WTL_BOUNDS; i++)
		wtl_estimate_put_number(to, keys[i], of[i]);
}

static const struct wtl_node *put_layer(struct wtl_node *to, const struct wtl_layer *layer,
					const struct wtl_roofline_layer *of, bool has_energy)
{
	struct wtl_node *object = wtl_doc_object(to, NULL);

	wtl_doc_text(object, "layer", layer->name);
	wtl_doc_text(object, "op", layer->op);
	wtl_doc_count(object, "macs", layer->macs);
	wtl_doc_text(object, "priced_as", wtl_precision_names[of->priced]);
	wtl_estimate_put_number(object, "cache_bytes", of->cache_bytes);
	wtl_estimate_put_number(object, "dram_bytes", of->dram_bytes);
	wtl_estimate_put_number(object, "compute_s", of->compute_s[WTL_NOMINAL]);
	wtl_estimate_put_number(object, "memory_s", of->memory_s[WTL_NOMINAL]);
	put_bounds(object, seconds_keys, of->seconds);
	if (has_energy)
		put_bounds(object, joules_keys, of->joules);
	return object;
}

static void document(struct wtl_doc *doc, const void *what)
{
	const struct wtl_estimate_roofline *of = what;
	const struct wtl_roofline *roofline = &of->roofline;
	struct wtl_node *aside = wtl_doc_aside(doc);

	doc->table = &table;
	wtl_doc_schema(doc->root, "wattle.estimate-roofline/1");
	wtl_doc_text(doc->root, "file", of->path);
	wtl_doc_known(doc->root, "name", of->network->name);
	wtl_doc_flag(doc->root, "is_estimate", true);
	wtl_doc_text(doc->root, "device", of->device->name);
	wtl_doc_text(aside, "device", of->device->name);
	wtl_doc_text(doc->root, "grade", wtl_grade_name(of->device->grade));
	wtl_doc_text(doc->root, "source", of->device->source);
	put_bounds(doc->root, seconds_keys, roofline->seconds);
	if (roofline->has_energy) {
		put_bounds(doc->root, joules_keys, roofline->joules);
		wtl_estimate_put_number(doc->root, "compute_j", roofline->compute_j[WTL_NOMINAL]);
		wtl_estimate_put_number(doc->root, "memory_j", roofline->memory_j[WTL_NOMINAL]);
		wtl_estimate_put_number(doc->root, "idle_j", roofline->idle_j[WTL_NOMINAL]);
	} else {
		wtl_doc_text(doc->root, "reason", roofline->reason);
	}
	wtl_estimate_put_lines(doc->root, "assumptions", wtl_buf_str(&roofline->assumptions));
	struct wtl_node *layers = wtl_doc_list(doc->root, "layers");
	for (size_t i = 0; i < of->network->n; i++) {
		const struct wtl_node *const scopes[] = {
			aside, put_layer(layers, &of->network->layers[i], &roofline->layers[i],
					 roofline->has_energy)};
		wtl_doc_add_row(doc, scopes, 2);
	}
}

/* ---- For people ---- */

static void add_si(struct wtl_grid *grid, double value, const char *unit)
{
	if (value > 0)
		wtl_estimate_put_si(&grid->rows, value, unit, grid->style);
	wtl_grid_next(grid);
}

static void text_layers(const struct wtl_report_text *text, const struct wtl_estimate_roofline *of)
{
	static const char *const head[] = {"LAYER", "COMPUTE", "MEMORY", "TIME", "ENERGY", NULL};
	const struct wtl_roofline *roofline = &of->roofline;
	double others_s = 0, others_j = 0;
	size_t n_others = 0;
	struct wtl_grid grid;

	wtl_grid_init(&grid, "crrrr", text->style);
	wtl_grid_row(&grid, WTL_TONE_FAINT, head);
	for (size_t i = 0; i < of->network->n; i++) {
		const struct wtl_roofline_layer *layer = &roofline->layers[i];
		if (of->network->layers[i].macs == 0 && !text->style->verbose) {
			n_others++;
			others_s += layer->seconds[WTL_NOMINAL];
			others_j += layer->joules[WTL_NOMINAL];
			continue;
		}
		wtl_grid_begin(&grid, WTL_TONE_PLAIN);
		wtl_grid_text(&grid, of->network->layers[i].name);
		add_si(&grid, layer->compute_s[WTL_NOMINAL], "s");
		add_si(&grid, layer->memory_s[WTL_NOMINAL], "s");
		add_si(&grid, layer->seconds[WTL_NOMINAL], "s");
		if (roofline->has_energy)
			add_si(&grid, layer->joules[WTL_NOMINAL], "J");
	}
	if (n_others) {
		wtl_grid_begin(&grid, WTL_TONE_PLAIN);
		wtl_buf_printf(&grid.rows, "%zu without MACs (-v)", n_others);
		wtl_grid_next(&grid);
		wtl_grid_next(&grid);
		wtl_grid_next(&grid);
		add_si(&grid, others_s, "s");
		if (roofline->has_energy)
			add_si(&grid, others_j, "J");
	}
	wtl_grid_render(&grid, text->buf);
}

static void put_bounds_text(const struct wtl_report_text *text, const double of[], const char *unit)
{
	wtl_estimate_put_si(text->buf, of[WTL_NOMINAL], unit, text->style);
	wtl_buf_puts(text->buf, " (");
	wtl_estimate_put_si(text->buf, of[WTL_LOW], unit, text->style);
	wtl_buf_puts(text->buf, " to ");
	wtl_estimate_put_si(text->buf, of[WTL_HIGH], unit, text->style);
	wtl_buf_puts(text->buf, ")");
}

static void put_energy(const struct wtl_report_text *text, const struct wtl_roofline *roofline)
{
	size_t start = wtl_report_text_begin_line(text, "energy");

	if (!roofline->has_energy) {
		wtl_report_text_put(text, "not known: %s", roofline->reason);
	} else {
		put_bounds_text(text, roofline->joules, "J");
		wtl_buf_puts(text->buf, "; compute ");
		wtl_estimate_put_si(text->buf, roofline->compute_j[WTL_NOMINAL], "J", text->style);
		wtl_buf_puts(text->buf, ", memory ");
		wtl_estimate_put_si(text->buf, roofline->memory_j[WTL_NOMINAL], "J", text->style);
		wtl_buf_puts(text->buf, ", at rest ");
		wtl_estimate_put_si(text->buf, roofline->idle_j[WTL_NOMINAL], "J", text->style);
	}
	wtl_report_text_end_line(text, start);
}

static int text(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style)
{
	const struct wtl_estimate_roofline *of = what;
	const struct wtl_report_text text = {.buf = buf, .style = style};
	size_t start = buf->len;

	wtl_report_text_put(&text, "wattle estimate, not measured, on this machine: %s", of->path);
	wtl_report_text_end_title(&text, start);
	text_layers(&text, of);
	wtl_buf_putc(buf, '\n');
	start = wtl_report_text_begin_line(&text, "time");
	put_bounds_text(&text, of->roofline.seconds, "s");
	wtl_buf_puts(buf, " an inference");
	wtl_report_text_end_line(&text, start);
	put_energy(&text, &of->roofline);
	start = wtl_report_text_begin_remarks(&text);
	if (of->device->grade == WTL_GRADE_MODELLED)
		wtl_report_text_remark(
			&text, WTL_TEXT_MODEL,
			"no sensor measures energy here: joules are by wattle's model of "
			"power");
	wtl_estimate_put_remarks(&text, wtl_buf_str(&of->roofline.assumptions), "");
	wtl_report_text_end_remarks(&text, start);
	return buf->error;
}

static const struct wtl_thing thing = {.build = document, .text = text, .is_page = true};

/* ---- ---- */

bool wtl_estimate_wants_host(const struct wtl_estimate_options *options)
{
	for (size_t i = 0; i < options->devices.n; i++)
		if (strcmp(options->devices.words[i], WTL_ESTIMATE_HOST) == 0)
			return true;
	return false;
}

int wtl_estimate_check_host(struct wtl_app *app, const struct wtl_estimate_options *options)
{
	static const char *const of_others[] = {
		"--as",	    "--steps", "--rates", "--memory",	      "--sram", "--rules",
		"--neuron", "--reuse", "--hops",  "--constant-input", NULL};
	const char *used = wtl_option_first_used(app, of_others);
	enum wtl_plot_format format;

	if (options->devices.n > 1)
		return wtl_complain(app, "this machine ('host') is estimated alone: its times are "
					 "measured, other devices have prices");
	if (used)
		return wtl_complain(app, "%s is about devices with prices, not about this machine",
				    used);
	if (wtl_plot_is_picture(app->settings.output_path, &format))
		return wtl_complain(app, "there is no picture of this machine's estimate");
	return 0;
}

int wtl_estimate_roofline(struct wtl_app *app, const struct wtl_estimate_options *options,
			  const struct wtl_network *network, const char *path,
			  const struct wtl_devices *devices, struct wtl_estimate_roofline *ret)
{
	struct wtl_err err = {.code = 0};

	*ret = (struct wtl_estimate_roofline){.path = path, .network = network};
	ret->device = wtl_devices_find(devices, WTL_ESTIMATE_HOST);
	if (!ret->device) {
		wtl_complain(app, "nothing is known of this machine yet: wattle estimate --host "
				  "measures it");
		return -ENODATA;
	}
	int rc = wtl_roofline_of(network, ret->device, options->choice.precision, &ret->roofline,
				 &err);
	if (rc < 0)
		wtl_complain_err(app, &err);
	return rc;
}

int wtl_estimate_tell_roofline(struct wtl_app *app, const struct wtl_estimate_options *options,
			       const struct wtl_network *network, const char *path)
{
	struct wtl_estimate_roofline of;
	struct wtl_devices devices = {0};
	int code = WTL_EXIT_FAILED;

	if (wtl_estimate_load_host(app, &devices) >= 0 &&
	    wtl_estimate_load_devices(app, options, &devices) == 0 &&
	    wtl_estimate_roofline(app, options, network, path, &devices, &of) == 0) {
		code = wtl_estimate_tell(app, &thing, &of);
		wtl_roofline_done(&of.roofline);
	}
	wtl_devices_done(&devices);
	return code;
}
