/* SPDX-License-Identifier: MIT */
#include "commands/estimate/estimate.h"

#include <errno.h>

#include "base/err.h"
#include "base/io.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/mapped.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/rights.h"
#include "cli/sink.h"
#include "commands/estimate/host.h"
#include "commands/estimate/measure.h"
#include "commands/estimate/price.h"
#include "commands/estimate/tell.h"

struct settings {
	struct wtl_option_list dims, inputs;
	const char *path;
	struct wtl_estimate_options prices;
	bool wants_host, wants_measure;
	const char *python;
	unsigned repeat; /* 0: not given */
};

#define PRICES(field) WTL_OWN(struct settings, prices.field)
#define CHOICE(field) WTL_OWN(struct settings, prices.choice.field)

static int set_path(struct wtl_app *app, const struct wtl_option *option, const char *text);
static int set_steps(struct wtl_app *app, const struct wtl_option *option, const char *text);

/* The built-in ones. */
static void offer_devices(const struct wtl_option *option, struct wtl_buf *words)
{
	struct wtl_devices devices = {.n = 0};

	(void)option;
	wtl_devices_builtin(&devices, NULL);
	for (size_t i = 0; i < devices.n; i++)
		wtl_buf_printf(words, " %s", devices.devices[i].name);
	wtl_buf_puts(words, " host");
	wtl_devices_done(&devices);
}

static const struct wtl_option options[] = {
	{"dim", 0, "NAME=SIZE",
	 "A size that the model leaves open, such as batch=8; may be given several times",
	 WTL_OPTION_LIST, WTL_OWN(struct settings, dims), .takes = "sizes"},
	{"input", 0, "NAME=SIZES",
	 "The shape of one of its inputs, such as data=1x3x224x224; may be given several times",
	 WTL_OPTION_LIST, WTL_OWN(struct settings, inputs), .takes = "inputs"},
	{"device", 0, "NAME", "Estimate joules on that hardware; may be given several times",
	 WTL_OPTION_LIST, PRICES(devices), .offer = offer_devices, .takes = "devices"},
	{"devices", 0, "FILE",
	 "Hardware of your own beside what is built in; may be given several times",
	 WTL_OPTION_LIST, PRICES(device_files), .takes = "files"},
	{"list-devices", 0, NULL, "List the hardware; -v with all prices and their sources",
	 WTL_OPTION_FLAG, PRICES(lists_devices)},
	{"as", 0, "KIND", "As an ordinary network (ann), as a spiking one (snn), or both",
	 WTL_OPTION_WORD, PRICES(as), .words = wtl_estimate_as_words},
	{"steps", 0, "N,...",
	 "Time steps of a spiking network (the network's own, or 4); several: a row each",
	 WTL_OPTION_OWN, PRICES(sweep), .takes = "numbers from 1 to 1000000000 such as 4 or 2,4,8",
	 .set = set_steps},
	{"rates", 0, "FILE|RATE|FROM..TO",
	 "Spikes per neuron and time step: of each layer in a file, or numbers for all such as 0.1, "
	 "0.1,0.2 or 0.01..0.5; several: a row each",
	 WTL_OPTION_PATH, PRICES(rates), .what = "rates"},
	{"neuron", 0, "KIND", "Neurons of layers that do not tell theirs (lif)", WTL_OPTION_WORD,
	 CHOICE(neuron), .words = wtl_estimate_neurons},
	{"constant-input", 0, NULL, "The first layer's input does not change from step to step",
	 WTL_OPTION_FLAG, CHOICE(input_is_constant)},
	{"memory", 0, "PLACE",
	 "Where weights lie: local (on the chip), dram-once, dram-per-use; or none, to leave it out",
	 WTL_OPTION_WORD, CHOICE(memory), .words = wtl_memory_places},
	{"sram", 0, "MODEL", "Memory on the chip: horowitz, lemaire-2022 or packed64",
	 WTL_OPTION_WORD, CHOICE(sram), .words = wtl_sram_models},
	{"rules", 0, "RULES", "What is counted: by own rules, or by those of lemaire-2022",
	 WTL_OPTION_WORD, CHOICE(rules), .words = wtl_price_rules},
	{"precision", 0, "NAME",
	 "Price all numbers as that, such as fp32 or int8, not as the network's own",
	 WTL_OPTION_WORD, CHOICE(precision), .words = wtl_precision_names},
	{"reuse", 0, "N", "MACs of an ordinary network that a weight serves once it is read (1)",
	 WTL_OPTION_NUMBER, CHOICE(reuse), .least = 1, .most = 1000000000},
	{"hops", 0, "N", "Tiles that a spike goes (1)", WTL_OPTION_NUMBER, CHOICE(hops), .least = 1,
	 .most = 1000000},
	{"paper", 0, "NAME", "Derive a paper's figures from their inputs; list: which there are",
	 WTL_OPTION_PATH, PRICES(paper), .what = "a paper"},
	{"lint", 0, "FILE", "Look for known mistakes in a table of energies (CSV)", WTL_OPTION_PATH,
	 PRICES(lint), .what = "a table"},
	{"host", 0, NULL,
	 "Measure by short kernels what this machine takes for a FLOP and a byte; with a MODEL, estimate that on this machine",
	 WTL_OPTION_FLAG, WTL_OWN(struct settings, wants_host)},
	{"measure", 0, NULL,
	 "Run the model by ONNX Runtime (Python) under wattle's meter, beside its estimate",
	 WTL_OPTION_FLAG, WTL_OWN(struct settings, wants_measure)},
	{"python", 0, "PATH", "The Python that has ONNX Runtime (python3)", WTL_OPTION_PATH,
	 WTL_OWN(struct settings, python), .what = "a program"},
	{"repeat", 'r', "N", "Repetitions of --host and --measure (5)", WTL_OPTION_NUMBER,
	 WTL_OWN(struct settings, repeat), .least = 1, .most = WTL_RUNS_MAX},
	{0},
};

static const struct wtl_option *const shared[] = {
	wtl_options_idle_first, wtl_options_idle_file, wtl_options_interval,
	wtl_options_format_all, wtl_options_output,    wtl_options_terminal,
	wtl_options_machine,	wtl_options_general,   NULL,
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

static int set_steps(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	struct settings *settings = app->own;

	(void)option;
	return wtl_sweep_read_steps(text, &settings->prices.sweep);
}

static int write_result(struct wtl_app *app, struct wtl_estimate *estimate)
{
	static const struct wtl_thing thing = {
		.build = wtl_estimate_document, .text = wtl_estimate_text, .is_page = true};
	int rc = wtl_estimate_totals(&estimate->model->network, &estimate->totals);

	if (rc < 0) {
		wtl_complain(app, "%s: %s", estimate->path,
			     rc == -ENOMEM ? "no memory" : "its sums do not fit into 64 bits");
		return WTL_EXIT_FAILED;
	}
	return wtl_estimate_tell(app, &thing, estimate);
}

struct reading {
	const char *path;
	const struct wtl_onnx_options *options;
	struct wtl_onnx_model *model;
	struct wtl_err err;
	int rc;
};

static void read_onnx(void *context)
{
	struct reading *reading = context;

	reading->rc = wtl_onnx_read(reading->path, reading->options, reading->model, &reading->err);
}

/* A network as text, or an ONNX file. 0, or negative after a complaint. */
static int read_model(struct wtl_app *app, const struct settings *settings,
		      struct wtl_onnx_model *ret)
{
	const struct wtl_onnx_options given = {.dims = settings->dims.words,
					       .n_dims = settings->dims.n,
					       .inputs = settings->inputs.words,
					       .n_inputs = settings->inputs.n};
	struct reading reading = {.path = settings->path, .options = &given, .model = ret};
	int rc = wtl_estimate_read_text(app, settings->path, &ret->network);

	if (rc > 0)
		ret->network.coverage.n_nodes = ret->network.coverage.n_counted = ret->network.n;
	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = wtl_mapped_guard(read_onnx, &reading);
	if (rc < 0)
		wtl_complain(
			app,
			"%s: another program has truncated it while it was read, or its disk failed",
			settings->path);
	else if (reading.rc < 0)
		wtl_complain_err(app, &reading.err);
	return rc < 0 ? rc : reading.rc;
}

static int check_measuring(struct wtl_app *app, const struct settings *settings)
{
	static const char *const of_measuring[] = {"--idle-first", "--interval", "--repeat",
						   "--tape-record", NULL};
	const char *used = wtl_option_first_used(app, of_measuring);

	if (app->settings.tape)
		return wtl_complain(app, "a tape replays what was: kernels and models run now");
	if (settings->python && !settings->wants_measure)
		return wtl_complain(app, "--python is what --measure runs the model by");
	if (used && !settings->wants_measure && !settings->wants_host)
		return wtl_complain(app, "%s is for what is measured: --host or --measure", used);
	if (settings->wants_measure && settings->prices.devices.n > 0)
		return wtl_complain(app, "--measure is of this machine: leave out --device");
	return 0;
}

static int check(struct wtl_app *app, const struct settings *settings)
{
	if (!settings->path) {
		wtl_complain(app, "which model? As in: wattle estimate model.onnx");
		return WTL_EXIT_USAGE;
	}
	if (wtl_option_check_output(app, settings->path) ||
	    wtl_estimate_check_options(app, &settings->prices) ||
	    (wtl_estimate_wants_host(&settings->prices) &&
	     wtl_estimate_check_host(app, &settings->prices)))
		return WTL_EXIT_USAGE;
	return wtl_sink_check(app) < 0 ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
}

static int measure_host(struct wtl_app *app, const struct settings *settings)
{
	struct wtl_estimate_host host;
	int code = wtl_sink_check(app) < 0
			   ? WTL_EXIT_FAILED
			   : wtl_estimate_measure_host(app, settings->repeat, &host);

	return code ? code : wtl_estimate_tell(app, &wtl_estimate_host_thing, &host);
}

static int tell_model(struct wtl_app *app, const struct settings *settings,
		      struct wtl_onnx_model *model)
{
	struct wtl_estimate estimate = {.path = settings->path, .model = model};
	const struct wtl_measure_options how = {.dims = &settings->dims,
						.inputs = &settings->inputs,
						.python = settings->python,
						.repeat = settings->repeat};

	if (settings->wants_measure && model->opset == 0) {
		wtl_complain(app, "%s is no ONNX file: --measure has ONNX Runtime run one",
			     settings->path);
		return WTL_EXIT_FAILED;
	}
	if (settings->wants_measure)
		return wtl_estimate_measure(app, &how, &settings->prices, &model->network,
					    settings->path);
	if (wtl_estimate_wants_host(&settings->prices))
		return wtl_estimate_tell_roofline(app, &settings->prices, &model->network,
						  settings->path);
	if (settings->prices.devices.n > 0)
		return wtl_estimate_prices(app, &settings->prices, &model->network, settings->path);
	return write_result(app, &estimate);
}

static int run_model(struct wtl_app *app, const struct settings *settings)
{
	struct wtl_onnx_model model = {0};
	int code = check(app, settings);

	if (code != WTL_EXIT_DONE)
		return code;
	code = read_model(app, settings, &model) < 0 ? WTL_EXIT_FAILED
						     : tell_model(app, settings, &model);
	wtl_onnx_done(&model);
	return code;
}

static int run(struct wtl_app *app)
{
	struct settings *settings = app->own;
	bool measures_host = settings->wants_host && !settings->path;
	int code;

	if (!measures_host && !settings->wants_measure)
		wtl_rights_drop();
	if (check_measuring(app, settings))
		return WTL_EXIT_USAGE;
	code = wtl_estimate_beside(app, &settings->prices);
	if (code >= 0)
		return code;
	if (measures_host)
		return measure_host(app, settings);
	if (settings->wants_host && !wtl_estimate_wants_host(&settings->prices) &&
	    settings->prices.devices.n < WTL_OPTION_LIST_MAX)
		settings->prices.devices.words[settings->prices.devices.n++] = WTL_ESTIMATE_HOST;
	return run_model(app, settings);
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
		"also be a text file that says what ONNX cannot: spiking neurons, their rates.\n\n"
		"This machine is the device 'host'. --host measures first, by short kernels, what it takes "
		"for a FLOP and a byte, and keeps it; leave the machine alone meanwhile. --measure runs the "
		"model, and prints estimate over measured. Where nothing measures energy, that is said.",
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
		    "wattle estimate --host\n"
		    "wattle estimate --device host resnet50.onnx\n"
		    "    measure this machine, then estimate seconds and joules on it\n\n"
		    "wattle estimate --measure --dim batch=1 model.onnx\n"
		    "    run it by ONNX Runtime, and compare with the estimate\n\n"
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
	.measures = true,
	.usage_exit = WTL_EXIT_USAGE,
	.run = run,
};
