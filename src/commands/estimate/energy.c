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

/* Numbers apply to all layers, anything else is a file's name. */
static int apply_rates(struct wtl_app *app, const struct wtl_estimate_options *options,
		       struct wtl_network *network, struct wtl_estimate_sweep *sweep)
{
	struct wtl_err err = {.code = 0};
	struct wtl_buf text;
	int rc = options->rates ? wtl_sweep_read_rates(options->rates, sweep) : 0;

	if (rc == -ERANGE)
		return -wtl_complain(app, "--rates %s: spikes per neuron and step, from 0",
				     options->rates);
	if (rc == 0)
		return 0;
	rc = wtl_estimate_read_file(app, options->rates, &text);
	if (rc == 0) {
		rc = wtl_rates_apply(network, wtl_buf_str(&text), text.len, options->rates, &err);
		if (rc < 0)
			wtl_complain_err(app, &err);
	}
	wtl_buf_done(&text);
	return rc;
}

/* If a text network gives no rate for its input, that is numbers, not spikes. Layers of an ONNX file have it set. */
static void find_input(struct wtl_network *network)
{
	for (size_t i = 0; i < network->n; i++) {
		struct wtl_layer *layer = &network->layers[i];
		if (isnan(layer->rate_in))
			layer->input_analog = true;
		if (layer->macs > 0)
			return;
	}
}

/* A missing price is kept with its reason. 0, or -ENOMEM. */
static int price(const struct wtl_network *network, const struct wtl_price_choice *choice,
		 bool is_spiking, struct wtl_estimate_run *run)
{
	struct wtl_price_choice own = *choice;

	own.is_spiking = is_spiking;
	run->is_wanted = true;
	int rc = wtl_price_network(network, &own, &run->price, &run->refusal);
	run->has_price = rc == 0;
	return rc == -ENOMEM ? rc : 0;
}

/* The fair ordinary network beside a spiking one: activations with no more information than the spikes. */
static int price_quantized(const struct wtl_network *network, const struct wtl_price_choice *choice,
			   struct wtl_estimate_device *to)
{
	struct wtl_price_choice own = *choice;
	struct wtl_price price;

	own.precision = WTL_INT8;
	own.activation_bits = wtl_price_bits_of_steps(
		choice->steps ? choice->steps : (unsigned int)fmin((double)network->steps, 1e9));
	if (own.activation_bits > 8 || network->is_sequence)
		return 0;
	int rc = wtl_price_network(network, &own, &price, NULL);
	if (rc < 0)
		return rc == -ENOMEM ? rc : 0;
	to->has_quantized = true;
	to->bits = own.activation_bits;
	to->quantized = price.total;
	wtl_price_done(&price);
	return 0;
}

/* Compares a spiking network with the ordinary one. */
static int compare(const struct wtl_network *network, const struct wtl_price_choice *choice,
		   struct wtl_estimate_device *to)
{
	int rc = price_quantized(network, choice, to);

	to->layers = calloc(network->n + 1, sizeof(*to->layers));
	if (rc < 0 || !to->layers)
		return -ENOMEM;
	rc = wtl_price_break_even(network, choice, choice, to->layers, &to->whole, NULL);
	to->has_break_even = rc == 0;
	return rc == -ENOMEM ? rc : 0;
}

static int price_device(struct wtl_app *app, const struct wtl_estimate_options *options,
			struct wtl_estimate_energy *energy, struct wtl_estimate_device *to)
{
	struct wtl_price_choice choice = energy->choice;
	int rc = 0;

	choice.device = to->device;
	if (options->as != WTL_ESTIMATE_SPIKING)
		rc = price(energy->network, &choice, false, &to->ordinary);
	if (rc == 0 && options->as != WTL_ESTIMATE_ORDINARY)
		rc = price(energy->network, &choice, true, &to->spiking);
	if (rc == 0 && options->as == WTL_ESTIMATE_BOTH)
		rc = compare(energy->network, &choice, to);
	if (rc < 0) {
		wtl_complain(app, "no memory");
		return rc;
	}
	if (!to->spiking.has_price || !wtl_sweep_has_several(energy->sweep))
		return 0;
	rc = wtl_sweep_price(energy->sweep, energy->network, &choice, &to->points,
			     &to->spiking.refusal);
	if (rc < 0)
		wtl_complain_err(app, &to->spiking.refusal);
	return rc;
}

/* Fails with the reason if no device has a total. */
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
			const struct wtl_devices *devices, struct wtl_estimate_sweep *sweep,
			struct wtl_network *network, const char *path,
			struct wtl_estimate_energy *ret)
{
	*ret = (struct wtl_estimate_energy){
		.path = path, .network = network, .choice = options->choice, .sweep = sweep};
	find_input(network);
	int rc = apply_rates(app, options, network, sweep);

	if (rc < 0)
		return rc;
	ret->choice.steps = sweep->n_steps   ? sweep->steps[0]
			    : network->steps ? 0
					     : WTL_ESTIMATE_STEPS;
	ret->choice.rate = sweep->n_rates ? sweep->rates[0] : (double)NAN;
	ret->choice.is_one_of_several = wtl_sweep_has_several(sweep);
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
		free(energy->devices[i].points);
	}
	free(energy->devices);
	*energy = (struct wtl_estimate_energy){0};
}
