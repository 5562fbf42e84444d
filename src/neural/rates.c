/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "neural/layer_names.h"
#include "neural/lines.h"
#include "neural/net_text.h"
#include "neural/price.h"

static bool takes_rate(const struct wtl_layer *layer)
{
	return layer->macs > 0 && !(layer->neuron == WTL_NEURON_READOUT);
}

static int read_input(struct wtl_lines *lines, struct wtl_network *network)
{
	double rate;

	if (lines->n != 2)
		return wtl_lines_fail(lines, "a rate of the input is one number");
	int rc = wtl_lines_number(lines, lines->words[1], "a rate", 0, 1e6, &rate);
	for (size_t i = 0; rc == 0 && i < network->n; i++) {
		struct wtl_layer *layer = &network->layers[i];
		layer->rate_in = rate;
		layer->input_analog = false;
		if (layer->macs > 0)
			break;
	}
	return rc;
}

/* "NAME RATE", "NAME RATE in RATE" */
static int read_layer(struct wtl_lines *lines, const struct wtl_layer_names *names)
{
	struct wtl_layer *layer = wtl_layer_names_find(names, lines->words[0]);

	if (!layer)
		return wtl_lines_fail(lines, "the network has no layer '%.80s' with MACs",
				      lines->words[0]);
	if (!isnan(layer->rate_out))
		return wtl_lines_fail(lines, "the layer '%.80s' comes twice", lines->words[0]);
	bool has_in = lines->n == 4 && strcmp(lines->words[2], "in") == 0;
	if (lines->n != 2 && !has_in)
		return wtl_lines_fail(lines, "a line is LAYER RATE, or LAYER RATE in RATE");
	int rc = wtl_lines_number(lines, lines->words[1], "a rate", 0, 1e6, &layer->rate_out);
	if (rc == 0 && has_in) {
		rc = wtl_lines_number(lines, lines->words[3], "a rate", 0, 1e6, &layer->rate_in);
		layer->input_analog = false;
	}
	return rc;
}

static int check(struct wtl_network *network, const char *file, struct wtl_err *err)
{
	double before = (double)NAN;

	for (size_t i = 0; i < network->n; i++) {
		struct wtl_layer *layer = &network->layers[i];
		if (isnan(layer->rate_in))
			layer->rate_in = before;
		if (layer->macs == 0)
			continue;
		before = layer->rate_out;
		if (takes_rate(layer) && isnan(layer->rate_out))
			return wtl_err_set(err, WTL_EFORMAT, "estimate", file,
					   "it has no rate for the layer '%.80s'", layer->name);
	}
	return 0;
}

int wtl_rates_apply(struct wtl_network *network, const char *text, size_t len, const char *file,
		    struct wtl_err *err)
{
	struct wtl_layer_names names = {.network = network};
	struct wtl_lines lines;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < network->n; i++) {
		network->layers[i].rate_in = network->layers[i].rate_out = (double)NAN;
		if (network->layers[i].macs > 0)
			rc = wtl_layer_names_add(&names, i);
	}
	wtl_lines_init(&lines, text, len, file, err);
	while (rc >= 0 && (rc = wtl_lines_next(&lines)) > 0)
		rc = strcmp(lines.words[0], "input") == 0 ? read_input(&lines, network)
							  : read_layer(&lines, &names);
	wtl_layer_names_done(&names);
	if (rc == -ENOMEM)
		return wtl_err_set(err, ENOMEM, "estimate", file, "no memory for its rates");
	return rc < 0 ? rc : check(network, file, err);
}
