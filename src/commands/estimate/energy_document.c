/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "commands/estimate/energy.h"

/* A row a layer, device and kind of network (docs/estimate-energy.md). */
static const struct wtl_doc_table table = {
	"layers",
	"0:device,as 1:layer,op,macs,acs,synops,updates,spikes,compute_low_j,compute_j,compute_high_j,"
	"memory_low_j,memory_j,memory_high_j,break_even_compute,break_even"};

enum { DIGITS = 7, DECIMALS_MAX = 18 };

void wtl_estimate_put_number(struct wtl_node *to, const char *key, double value)
{
	int decimals =
		value != 0 && isfinite(value) ? DIGITS - 1 - (int)floor(log10(fabs(value))) : 0;

	if (decimals > DECIMALS_MAX)
		decimals = DECIMALS_MAX;
	wtl_doc_double(to, key, value, decimals < 0 ? 0 : (unsigned)decimals);
}

static void put_energy(struct wtl_node *to, const char *const keys[], const struct wtl_energy *of)
{
	wtl_estimate_put_number(to, keys[0], of->low);
	wtl_estimate_put_number(to, keys[1], of->nominal);
	wtl_estimate_put_number(to, keys[2], of->high);
}

static const char *const compute_keys[] = {"compute_low_j", "compute_j", "compute_high_j"};
static const char *const memory_keys[] = {"memory_low_j", "memory_j", "memory_high_j"};
static const char *const total_keys[] = {"total_low_j", "total_j", "total_high_j"};

static const struct wtl_node *put_layer(struct wtl_node *to, const struct wtl_layer *layer,
					const struct wtl_layer_price *price, bool has_memory,
					const struct wtl_break_even *break_even)
{
	struct wtl_node *object = wtl_doc_object(to, NULL);

	wtl_doc_text(object, "layer", layer->name);
	wtl_doc_text(object, "op", layer->op);
	wtl_estimate_put_number(object, "macs", price->macs);
	wtl_estimate_put_number(object, "acs", price->acs);
	wtl_estimate_put_number(object, "synops", price->synops);
	wtl_estimate_put_number(object, "updates", price->updates);
	wtl_estimate_put_number(object, "spikes", price->spikes);
	put_energy(object, compute_keys, &price->compute);
	if (has_memory)
		put_energy(object, memory_keys, &price->memory);
	if (break_even) {
		wtl_estimate_put_number(object, "break_even_compute", break_even->compute);
		wtl_estimate_put_number(object, "break_even", break_even->with_memory);
	}
	return object;
}

static void put_lines(struct wtl_node *to, const char *key, const char *lines)
{
	struct wtl_node *list = wtl_doc_list(to, key);
	char line[600];

	for (const char *at = lines; *at;) {
		size_t len = strcspn(at, "\n");
		size_t kept = len < sizeof(line) ? len : sizeof(line) - 1;
		memcpy(line, at, kept);
		line[kept] = '\0';
		wtl_doc_text(list, NULL, line);
		at += len + (at[len] == '\n');
	}
}

static void put_swings(struct wtl_node *to, const struct wtl_price *price)
{
	struct wtl_node *list = wtl_doc_list(to, "spread");

	for (size_t i = 0; i < price->n_swings; i++) {
		const struct wtl_swing *swing = &price->swings[i];
		struct wtl_node *object = wtl_doc_object(list, NULL);
		wtl_doc_text(object, "constant",
			     swing->constant ? swing->constant->name : "model of SRAM");
		if (swing->constant) {
			wtl_doc_text(object, "grade", wtl_grade_name(swing->constant->grade));
			wtl_doc_text(object, "source", swing->constant->source);
		}
		wtl_estimate_put_number(object, "total_low_j", swing->low);
		wtl_estimate_put_number(object, "total_high_j", swing->high);
	}
}

static void put_run(struct wtl_doc *doc, struct wtl_node *to, const char *as,
		    const struct wtl_estimate_energy *energy,
		    const struct wtl_estimate_device *device, const struct wtl_estimate_run *run)
{
	if (!run->is_wanted)
		return;
	struct wtl_node *object = wtl_doc_object(to, as), *aside = wtl_doc_aside(doc);
	bool is_spiking = run == &device->spiking;

	if (!run->has_price) {
		wtl_doc_text(object, "reason", run->refusal.text);
		wtl_doc_known(object, "place", run->refusal.path);
		return;
	}
	put_energy(object, compute_keys, &run->price.compute);
	if (run->price.prices_memory)
		put_energy(object, memory_keys, &run->price.memory);
	put_energy(object, total_keys, &run->price.total);
	if (is_spiking) {
		wtl_estimate_put_number(object, "synops", run->price.synops);
		wtl_estimate_put_number(object, "updates", run->price.updates);
		wtl_estimate_put_number(object, "spikes", run->price.spikes);
	}
	put_swings(object, &run->price);
	put_lines(object, "assumptions", wtl_buf_str(&run->price.assumptions));
	wtl_doc_text(aside, "device", device->device->name);
	wtl_doc_text(aside, "as", as);
	struct wtl_node *layers = wtl_doc_list(object, "layers");
	for (size_t i = 0; i < energy->network->n; i++) {
		const struct wtl_break_even *break_even =
			device->has_break_even && is_spiking ? &device->layers[i] : NULL;
		const struct wtl_node *const scopes[] = {
			aside, put_layer(layers, &energy->network->layers[i], &run->price.layers[i],
					 run->price.prices_memory, break_even)};
		wtl_doc_add_row(doc, scopes, 2);
	}
}

void wtl_estimate_energy_document(struct wtl_doc *doc, const void *what)
{
	const struct wtl_estimate_energy *energy = what;

	doc->table = &table;
	wtl_doc_schema(doc->root, "wattle.estimate-energy/1");
	wtl_doc_text(doc->root, "file", energy->path);
	wtl_doc_known(doc->root, "name", energy->network->name);
	wtl_doc_flag(doc->root, "is_estimate", true);
	struct wtl_node *list = wtl_doc_list(doc->root, "devices");
	for (size_t i = 0; i < energy->n; i++) {
		const struct wtl_estimate_device *device = &energy->devices[i];
		struct wtl_node *object = wtl_doc_object(list, NULL);
		wtl_doc_text(object, "device", device->device->name);
		wtl_doc_text(object, "scope", device->device->is_all_in ? "all-in" : "per-term");
		wtl_doc_text(object, "grade", wtl_grade_name(device->device->grade));
		wtl_doc_text(object, "source", device->device->source);
		put_run(doc, object, "ann", energy, device, &device->ordinary);
		put_run(doc, object, "snn", energy, device, &device->spiking);
		if (device->has_quantized) {
			struct wtl_node *quantized = wtl_doc_object(object, "ann_quantized");
			wtl_doc_count(quantized, "activation_bits", device->bits);
			put_energy(quantized, total_keys, &device->quantized);
		}
		if (device->has_break_even) {
			wtl_estimate_put_number(object, "break_even_compute",
						device->whole.compute);
			wtl_estimate_put_number(object, "break_even", device->whole.with_memory);
		}
	}
}
