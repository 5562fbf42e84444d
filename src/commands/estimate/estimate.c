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

enum { OUTPUT_MAX = 32 << 20 };

struct settings {
	struct wtl_option_list dims, inputs;
	const char *path;
};

static int set_path(struct wtl_app *app, const struct wtl_option *option, const char *text);

static const struct wtl_option options[] = {
	{"dim", 0, "NAME=SIZE",
	 "A size that the model leaves open, such as batch=8; may be given several times",
	 WTL_OPTION_LIST, WTL_OWN(struct settings, dims), .takes = "sizes"},
	{"input", 0, "NAME=SIZES",
	 "The shape of one of its inputs, such as data=1x3x224x224; may be given several times",
	 WTL_OPTION_LIST, WTL_OWN(struct settings, inputs), .takes = "inputs"},
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

static int run(struct wtl_app *app)
{
	const struct settings *settings = app->own;
	const struct wtl_onnx_options given = {.dims = settings->dims.words,
					       .n_dims = settings->dims.n,
					       .inputs = settings->inputs.words,
					       .n_inputs = settings->inputs.n};
	struct wtl_err err = {.code = 0};
	struct wtl_onnx_model model = {0};
	struct wtl_estimate estimate = {.path = settings->path, .model = &model};
	int rc;

	if (!settings->path) {
		wtl_complain(app, "which model? As in: wattle estimate model.onnx");
		return WTL_EXIT_USAGE;
	}
	if (wtl_option_check_output(app, settings->path))
		return WTL_EXIT_USAGE;
	if (wtl_sink_check(app) < 0)
		return WTL_EXIT_FAILED;
	rc = wtl_onnx_read(settings->path, &given, &model, &err);
	if (rc < 0)
		wtl_complain_err(app, &err);
	else
		rc = write_result(app, &estimate);
	wtl_onnx_done(&model);
	return rc < 0 ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
}

const struct wtl_command wtl_command_estimate = {
	.name = "estimate",
	.summary = "Count what a neural network computes, from its ONNX file",
	.synopsis = "[OPTION...] MODEL",
	.description =
		"Tells how many multiplications with an addition (MACs), other operations and parameters "
		"the network has, and how many bytes it reads and writes in one inference, per layer and "
		"in all. The file is only looked at: nothing runs, and weights are not read.\n\n"
		"Sizes that the model leaves open, such as its batch, are asked for by name and given by "
		"--dim or --input. Of an If both sides are counted, and the total is a range where they "
		"differ. What could not be counted is listed by name: nothing is left out silently.",
	.examples = "wattle estimate resnet50.onnx\n"
		    "    its layers, and what they come to\n\n"
		    "wattle estimate --dim batch=8 --dim sequence=128 bert.onnx\n"
		    "    with sizes that the model leaves open\n\n"
		    "wattle estimate -f csv -o layers.csv model.onnx\n"
		    "    a row a layer",
	.exit_status =
		"0\tthe network was counted\n"
		"1\tthe file cannot be read, is no model, or leaves a size open that was not given\n"
		"2\tthe options were wrong",
	.options = options,
	.shared = shared,
	.settings_size = sizeof(struct settings),
	.word = &word,
	.usage_exit = WTL_EXIT_USAGE,
	.run = run,
};
