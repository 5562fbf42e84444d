/* SPDX-License-Identifier: MIT */
#include "commands/estimate/estimate.h"

#include <errno.h>

#include "base/err.h"
#include "base/io.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/sink.h"
#include "commands/estimate/price.h"

enum { OUTPUT_MAX = 32 << 20 };

struct settings {
	struct wtl_option_list dims, inputs;
	const char *path;
	struct wtl_estimate_options prices;
};

#define PRICES(field) WTL_OWN(struct settings, prices.field)

static int set_path(struct wtl_app *app, const struct wtl_option *option, const char *text);

static const struct wtl_option options[] = {
	{"dim", 0, "NAME=SIZE",
	 "A size that the model leaves open, such as batch=8; may be given several times",
	 WTL_OPTION_LIST, WTL_OWN(struct settings, dims), .takes = "sizes"},
	{"input", 0, "NAME=SIZES",
	 "The shape of one of its inputs, such as data=1x3x224x224; may be given several times",
	 WTL_OPTION_LIST, WTL_OWN(struct settings, inputs), .takes = "inputs"},
	{"device", 0, "NAME", "Estimate joules on that hardware; may be given several times",
	 WTL_OPTION_LIST, PRICES(devices), .takes = "devices"},
	{"devices", 0, "FILE",
	 "Hardware of your own beside what is built in; may be given several times",
	 WTL_OPTION_LIST, PRICES(device_files), .takes = "files"},
	{"list-devices", 0, NULL, "List the hardware; -v with all prices and their sources",
	 WTL_OPTION_FLAG, PRICES(lists_devices)},
	{"as", 0, "KIND", "As an ordinary network (ann), as a spiking one (snn), or both",
	 WTL_OPTION_WORD, PRICES(as), .words = wtl_estimate_as_words},
	{"steps", 0, "N", "Time steps of a spiking network (the network's own, or 4)",
	 WTL_OPTION_NUMBER, PRICES(steps), .least = 1, .most = 1000000000},
	{"rates", 0, "FILE|RATE",
	 "Spikes per neuron and time step: of each layer in a file, or one number for all",
	 WTL_OPTION_PATH, PRICES(rates), .what = "rates"},
	{"neuron", 0, "KIND", "Neurons of layers that do not tell theirs (lif)", WTL_OPTION_WORD,
	 PRICES(neuron), .words = wtl_estimate_neurons},
	{"constant-input", 0, NULL, "The first layer's input does not change from step to step",
	 WTL_OPTION_FLAG, PRICES(has_constant_input)},
	{"memory", 0, "PLACE",
	 "Where weights lie: local (on the chip), dram-once, dram-per-use; or none, to leave it out",
	 WTL_OPTION_WORD, PRICES(memory), .words = wtl_memory_places},
	{"sram", 0, "MODEL", "Memory on the chip: horowitz, lemaire-2022 or packed64",
	 WTL_OPTION_WORD, PRICES(sram), .words = wtl_sram_models},
	{"rules", 0, "RULES", "What is counted: by own rules, or by those of lemaire-2022",
	 WTL_OPTION_WORD, PRICES(rules), .words = wtl_price_rules},
	{"precision", 0, "NAME",
	 "Price all numbers as that, such as fp32 or int8, not as the network's own",
	 WTL_OPTION_WORD, PRICES(precision), .words = wtl_estimate_precisions},
	{"reuse", 0, "N", "MACs of an ordinary network that a weight serves once it is read (1)",
	 WTL_OPTION_NUMBER, PRICES(reuse), .least = 1, .most = 1000000000},
	{"hops", 0, "N", "Tiles that a spike goes (1)", WTL_OPTION_NUMBER, PRICES(hops), .least = 1,
	 .most = 1000000},
	{"paper", 0, "NAME", "Derive a paper's figures from their inputs; list: which there are",
	 WTL_OPTION_PATH, PRICES(paper), .what = "a paper"},
	{"lint", 0, "FILE", "Look for known mistakes in a table of energies (CSV)", WTL_OPTION_PATH,
	 PRICES(lint), .what = "a table"},
	{0},
};

static const struct wtl_option *const shared[] = {
	wtl_options_format_all, wtl_options_output,  wtl_options_terminal,
	wtl_options_mode,	wtl_options_general, NULL,
};

static const struct wtl_option word = {"MODEL", .kind = WTL_OPTION_OWN, .set = set_path};

static int set_path(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	struct settings *settings = app->own;

	(void)option;
	if (settings->path)
		return -EINVAL;
	settings->path = text;
	return 0;
}

static int check_totals(const void *what)
{
	const struct wtl_estimate *estimate = what;
	struct wtl_estimate_totals totals;

	return wtl_estimate_totals(&estimate->model->network, &totals) < 0 ? -EOVERFLOW : 0;
}

static int write_result(struct wtl_app *app, const struct wtl_estimate *estimate)
{
	static const struct wtl_thing thing = {
		.build = wtl_estimate_document, .text = wtl_estimate_text, .is_page = true};
	const struct wtl_result result = {.thing = &thing, .what = estimate, .max = OUTPUT_MAX};
	struct wtl_err err = {.code = 0};
	struct wtl_io *io;
	int rc;

	if (check_totals(estimate) < 0) {
		wtl_complain(app, "%s: its sums do not fit into 64 bits", estimate->path);
		return -EOVERFLOW;
	}
	rc = wtl_io_real_new(NULL, &io, &err);
	if (rc < 0) {
		wtl_complain_err(app, &err);
		return rc;
	}
	io->file_mode = app->settings.file_mode;
	rc = wtl_sink_write(app, io, &result);
	wtl_io_free(io);
	return rc;
}

/* A network as text, or an ONNX file. 0, or negative after a complaint. */
static int read_model(struct wtl_app *app, const struct settings *settings,
		      struct wtl_onnx_model *ret)
{
	const struct wtl_onnx_options given = {.dims = settings->dims.words,
					       .n_dims = settings->dims.n,
					       .inputs = settings->inputs.words,
					       .n_inputs = settings->inputs.n};
	struct wtl_err err = {.code = 0};
	int rc = wtl_estimate_read_text(app, settings->path, &ret->network);

	if (rc > 0)
		ret->n_nodes = ret->n_counted = ret->network.n;
	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = wtl_onnx_read(settings->path, &given, ret, &err);
	if (rc < 0)
		wtl_complain_err(app, &err);
	return rc;
}

static int check(struct wtl_app *app, const struct settings *settings)
{
	if (!settings->path) {
		wtl_complain(app, "which model? As in: wattle estimate model.onnx");
		return WTL_EXIT_USAGE;
	}
	if (wtl_option_check_output(app, settings->path) ||
	    wtl_estimate_check_options(app, &settings->prices))
		return WTL_EXIT_USAGE;
	return wtl_sink_check(app) < 0 ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
}

static int run(struct wtl_app *app)
{
	const struct settings *settings = app->own;
	struct wtl_onnx_model model = {0};
	struct wtl_estimate estimate = {.path = settings->path, .model = &model};
	int code = wtl_estimate_beside(app, &settings->prices);

	if (code >= 0)
		return code;
	code = check(app, settings);
	if (code != WTL_EXIT_DONE)
		return code;
	if (read_model(app, settings, &model) < 0)
		code = WTL_EXIT_FAILED;
	else if (settings->prices.devices.n > 0)
		code = wtl_estimate_prices(app, &settings->prices, &model.network, settings->path);
	else
		code = write_result(app, &estimate) < 0 ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
	wtl_onnx_done(&model);
	return code;
}

const struct wtl_command wtl_command_estimate = {
	.name = "estimate",
	.summary = "Count what a neural network computes, and estimate its energy",
	.synopsis = "[OPTION...] MODEL",
	.description =
		"Tells how many multiplications with an addition (MACs), other operations and parameters "
		"the network has, and how many bytes it reads and writes in one inference, per layer and "
		"in all. The file is only looked at: nothing runs, and weights are not read.\n\n"
		"Sizes that the model leaves open, such as its batch, are asked for by name and given by "
		"--dim or --input. Of an If both sides are counted, and the total is a range where they "
		"differ. What could not be counted is listed by name: nothing is left out silently.\n\n"
		"With --device, the counts are multiplied with the prices of that hardware, as an ordinary "
		"and as a spiking network: joules of each layer, from the lowest to the highest that the "
		"prices allow, and every assumption. That is an estimate: nothing is measured. A MODEL may "
		"also be a text file that says what ONNX cannot: spiking neurons, their rates.",
	.examples = "wattle estimate resnet50.onnx\n"
		    "    its layers, and what they come to\n\n"
		    "wattle estimate --dim batch=8 --dim sequence=128 bert.onnx\n"
		    "    with sizes that the model leaves open\n\n"
		    "wattle estimate -f csv -o layers.csv model.onnx\n"
		    "    a row a layer\n\n"
		    "wattle estimate --device horowitz-45nm --steps 4 --rates 0.1 model.onnx\n"
		    "    joules as an ordinary and as a spiking network\n\n"
		    "wattle estimate --device horowitz-45nm -o rates.svg model.onnx\n"
		    "    energy over the spike rate, and where the two meet\n\n"
		    "wattle estimate --paper tc-lif\n"
		    "    a paper's figures, derived again from their inputs",
	.exit_status =
		"0\tthe network was counted\n"
		"1\tthe file cannot be read, is no model, or leaves a size open that was not given; no device has "
		"a total; a paper's figure differs; a table has a known mistake\n"
		"2\tthe options were wrong",
	.options = options,
	.shared = shared,
	.settings_size = sizeof(struct settings),
	.word = &word,
	.usage_exit = WTL_EXIT_USAGE,
	.run = run,
};
