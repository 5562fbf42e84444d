/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "neural/onnx.h"

/* Any bytes as an ONNX file: they are counted, or refused with a line that says why. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

static void check_model(const struct wtl_onnx_model *model)
{
	const struct wtl_coverage *coverage = &model->network.coverage;
	size_t n_uncounted = 0;

	check(model->network.macs_min <= model->network.macs_max);
	check(model->network.name != NULL);
	for (size_t i = 0; i < model->network.n; i++) {
		const struct wtl_layer *layer = &model->network.layers[i];

		check(layer->name && layer->op);
		check(layer->recurrent_macs <= layer->macs);
		check(layer->kernel >= 1 && layer->groups >= 1);
	}
	for (size_t i = 0; i < coverage->n; i++)
		n_uncounted += coverage->uncounted[i].n;
	check(coverage->n_counted + n_uncounted == coverage->n_nodes);
}

static void read_model(const uint8_t *data, size_t size, const struct wtl_onnx_options *options)
{
	struct wtl_err err = {.code = 0};
	struct wtl_onnx_model model;
	int rc = wtl_onnx_read_memory(data, size, options, &model, &err);

	if (rc < 0) {
		check(err.text[0] != '\0');
		return;
	}
	check_model(&model);
	wtl_onnx_done(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const dims[] = {"N=3", "batch=2"}, *const inputs[] = {"x=1x3x8x8"};
	static const struct wtl_onnx_options given[] = {{.dims = dims, .n_dims = 1},
							{.dims = dims, .n_dims = 2},
							{.inputs = inputs, .n_inputs = 1}};

	read_model(data, size, NULL);
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		read_model(data, size, &given[i]);
	return 0;
}
