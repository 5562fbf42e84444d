/* SPDX-License-Identifier: MIT */
#include "commands/estimate/energy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/infile.h"
#include "base/num.h"
#include "cli/complain.h"
#include "neural/net_text.h"

enum { FILE_MAX = 16 << 20 };

const char *const wtl_estimate_as_words[] = {"both", "ann", "snn", NULL};
/* By the numbers of the enums. */
const char *const wtl_estimate_precisions[] = {"own",  "fp64",	"fp32",	  "fp16",  "bf16",
					       "fp8",  "int64", "int32",  "int16", "int8",
					       "int4", "int2",	"binary", NULL};
const char *const wtl_estimate_neurons[] = {"none", "if", "lif", "alif", "tc-lif", NULL};

int wtl_estimate_read_file(struct wtl_app *app, const char *path, struct wtl_buf *text)
{
	wtl_buf_init(text, FILE_MAX);
	int rc = wtl_infile_read(path, text);

	if (rc == -EFBIG)
		wtl_complain(app, "'%s' is larger than %d MiB", path, FILE_MAX >> 20);
	else if (rc < 0)
		wtl_complain(app, "cannot read '%s': %s", path, wtl_err_text(rc));
	return rc;
}

int wtl_estimate_load_devices(struct wtl_app *app, const struct wtl_estimate_options *options,
			      struct wtl_devices *devices)
{
	struct wtl_err err = {.code = 0};
	int rc = wtl_devices_builtin(devices, &err);

	for (size_t i = 0; rc == 0 && i < options->device_files.n; i++) {
		const char *path = options->device_files.words[i];
		struct wtl_buf text;
		rc = wtl_estimate_read_file(app, path, &text);
		if (rc == 0)
			rc = wtl_devices_parse(devices, wtl_buf_str(&text), text.len, path, &err);
		wtl_buf_done(&text);
	}
	if (err.code)
		wtl_complain_err(app, &err);
	return rc;
}

/* A number is for all layers, anything else is a file. */
static int apply_rates(struct wtl_app *app, const struct wtl_estimate_options *options,
		       struct wtl_network *network, struct wtl_price_choice *choice)
{
	struct wtl_err err = {.code = 0};
	struct wtl_buf text;

	choice->rate = (double)NAN;
	if (!options->rates)
		return 0;
	if (wtl_num_double(options->rates, strlen(options->rates), &choice->rate) == 0) {
		if (choice->rate >= 0 && choice->rate <= 1e6)
			return 0;
		return -wtl_complain(app, "--rates %s: spikes per neuron and step, from 0",
				     options->rates);
	}
	int rc = wtl_estimate_read_file(app, options->rates, &text);
	if (rc == 0) {
		rc = wtl_rates_apply(network, wtl_buf_str(&text), text.len, options->rates, &err);
		if (rc < 0)
			wtl_complain_err(app, &err);
	}
	wtl_buf_done(&text);
	return rc;
}

/* Where nobody tells, the network's input is numbers, not spikes. */
static void find_input(struct wtl_network *network)
{
	for (size_t i = 0; i < network->n; i++) {
		struct wtl_layer *layer = &network->layers[i];
		if (layer->input_analog)
			return;
		if (layer->macs == 0)
			continue;
		layer->input_analog = isnan(layer->rate_in);
		return;
	}
}

static void choose(const struct wtl_estimate_options *options, const struct wtl_network *network,
		   struct wtl_price_choice *choice)
{
	choice->memory = options->memory;
	choice->sram = options->sram;
	choice->rules = options->rules;
	choice->precision = options->precision;
	choice->neuron = options->neuron;
	choice->reuse = options->reuse ? options->reuse : 1;
	choice->hops = options->hops ? options->hops : 1;
	choice->input_is_constant = options->has_constant_input;
	choice->steps = options->steps ? options->steps : network->steps ? 0 : WTL_ESTIMATE_STEPS;
}

static void price(const struct wtl_network *network, const struct wtl_price_choice *choice,
		  bool is_spiking, struct wtl_estimate_run *run)
{
	struct wtl_price_choice own = *choice;

	own.is_spiking = is_spiking;
	run->is_wanted = true;
	run->has_price = wtl_price_network(network, &own, &run->price, &run->refusal) == 0;
}

/* The fair ordinary network beside a spiking one: activations that tell no more than the spikes. */
static void price_quantized(const struct wtl_network *network,
			    const struct wtl_price_choice *choice, struct wtl_estimate_device *to)
{
	struct wtl_price_choice own = *choice;
	struct wtl_price price;

	own.precision = WTL_INT8;
	own.activation_bits = wtl_price_bits_of_steps(
		choice->steps ? choice->steps : (unsigned int)fmin((double)network->steps, 1e9));
	if (own.activation_bits > 8 || network->is_sequence ||
	    wtl_price_network(network, &own, &price, NULL) < 0)
		return;
	to->has_quantized = true;
	to->bits = own.activation_bits;
	to->quantized = price.total;
	wtl_price_done(&price);
}

static int price_device(struct wtl_app *app, const struct wtl_estimate_options *options,
			struct wtl_estimate_energy *energy, struct wtl_estimate_device *to)
{
	struct wtl_price_choice choice = energy->choice;

	choice.device = to->device;
	if (options->as != WTL_ESTIMATE_SPIKING)
		price(energy->network, &choice, false, &to->ordinary);
	if (options->as != WTL_ESTIMATE_ORDINARY)
		price(energy->network, &choice, true, &to->spiking);
	if (options->as != WTL_ESTIMATE_BOTH)
		return 0;
	price_quantized(energy->network, &choice, to);
	to->layers = calloc(energy->network->n + 1, sizeof(*to->layers));
	if (!to->layers) {
		wtl_complain(app, "no memory");
		return -ENOMEM;
	}
	to->has_break_even = wtl_price_break_even(energy->network, &choice, &choice, to->layers,
						  &to->whole, NULL) == 0;
	return 0;
}

/* With no total at all there is nothing to tell but why. */
static int check_totals(struct wtl_app *app, const struct wtl_estimate_energy *energy)
{
	const struct wtl_err *refusal = NULL;

	for (size_t i = 0; i < energy->n; i++) {
		const struct wtl_estimate_device *device = &energy->devices[i];
		if (device->ordinary.has_price || device->spiking.has_price)
			return 0;
		refusal = device->spiking.is_wanted ? &device->spiking.refusal
						    : &device->ordinary.refusal;
	}
	if (refusal)
		wtl_complain_err(app, refusal);
	return -ENODATA;
}

int wtl_estimate_energy(struct wtl_app *app, const struct wtl_estimate_options *options,
			const struct wtl_devices *devices, struct wtl_network *network,
			const char *path, struct wtl_estimate_energy *ret)
{
	*ret = (struct wtl_estimate_energy){.path = path, .network = network};
	find_input(network);
	int rc = apply_rates(app, options, network, &ret->choice);

	if (rc < 0)
		return rc;
	choose(options, network, &ret->choice);
	ret->devices = calloc(options->devices.n + 1, sizeof(*ret->devices));
	if (!ret->devices) {
		wtl_complain(app, "no memory");
		return -ENOMEM;
	}
	for (size_t i = 0; rc == 0 && i < options->devices.n; i++) {
		struct wtl_estimate_device *to = &ret->devices[ret->n++];
		to->device = wtl_devices_find(devices, options->devices.words[i]);
		if (!to->device)
			return -wtl_complain(app, "there is no device '%s' (--list-devices)",
					     options->devices.words[i]);
		rc = price_device(app, options, ret, to);
	}
	return rc < 0 ? rc : check_totals(app, ret);
}

void wtl_estimate_energy_done(struct wtl_estimate_energy *energy)
{
	for (size_t i = 0; i < energy->n; i++) {
		wtl_price_done(&energy->devices[i].ordinary.price);
		wtl_price_done(&energy->devices[i].spiking.price);
		free(energy->devices[i].layers);
	}
	free(energy->devices);
	*energy = (struct wtl_estimate_energy){0};
}
