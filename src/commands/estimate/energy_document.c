/* SPDX-License-Identifier: MIT */
#include "commands/estimate/energy.h"
#include "commands/estimate/estimate.h"
#include "commands/estimate/tell.h"

/* One row per layer, device and kind of network (docs/estimate-energy.md). */
static const struct wtl_doc_table table = {
	"layers",
	"0:device,as 1:layer,op,macs,acs,synops,updates,spikes,compute_low_j,compute_j,compute_high_j,"
	"memory_low_j,memory_j,memory_high_j,break_even_compute,break_even,input,not_counted,"
	"repeats_unknown"};

static const struct wtl_doc_table sweep_table = {
	"sweep",
	"0:device 1:steps,rate,compute_low_j,compute_j,compute_high_j,memory_low_j,memory_j,"
	"memory_high_j,total_low_j,total_j,total_high_j,ordinary_j"};

enum joules { COMPUTE, MEMORY, TOTAL };

static void put_energy(struct wtl_node *to, enum joules what, const struct wtl_energy *of)
{
	static const char *const keys[][3] = {
		[COMPUTE] = {"compute_low_j", "compute_j", "compute_high_j"},
		[MEMORY] = {"memory_low_j", "memory_j", "memory_high_j"},
		[TOTAL] = {"total_low_j", "total_j", "total_high_j"},
	};

	wtl_estimate_put_number(to, keys[what][0], of->low);
	wtl_estimate_put_number(to, keys[what][1], of->nominal);
	wtl_estimate_put_number(to, keys[what][2], of->high);
}

static const struct wtl_node *put_layer(struct wtl_node *to, const struct wtl_layer *layer,
					const struct wtl_layer_price *price, bool has_memory,
					bool is_spiking, const struct wtl_break_even *break_even)
{
	struct wtl_node *object = wtl_doc_object(to, NULL);

	wtl_doc_text(object, "layer", layer->name);
	wtl_doc_text(object, "op", layer->op);
	wtl_estimate_put_number(object, "macs", price->macs);
	wtl_estimate_put_number(object, "acs", price->acs);
	wtl_estimate_put_number(object, "synops", price->synops);
	wtl_estimate_put_number(object, "updates", price->updates);
	wtl_estimate_put_number(object, "spikes", price->spikes);
	put_energy(object, COMPUTE, &price->compute);
	if (has_memory)
		put_energy(object, MEMORY, &price->memory);
	if (break_even) {
		wtl_estimate_put_number(object, "break_even_compute", break_even->compute);
		wtl_estimate_put_number(object, "break_even", break_even->with_memory);
	}
	if (is_spiking && layer->macs > 0)
		wtl_doc_text(object, "input", layer->input_analog ? "numbers" : "spikes");
	wtl_estimate_doubts_document(object, layer);
	return object;
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

static void put_sweep(struct wtl_doc *doc, struct wtl_node *to,
		      const struct wtl_estimate_energy *energy,
		      const struct wtl_estimate_device *device)
{
	struct wtl_node *list = wtl_doc_list(to, "sweep"), *aside = wtl_doc_aside(doc);
	size_t n = wtl_sweep_points(energy->sweep);

	wtl_doc_text(aside, "device", device->device->name);
	for (size_t i = 0; i < n; i++) {
		const struct wtl_estimate_point *point = &device->points[i];
		struct wtl_node *object = wtl_doc_object(list, NULL);

		wtl_doc_count(object, "steps", point->steps);
		wtl_estimate_put_number(object, "rate", point->rate);
		put_energy(object, COMPUTE, &point->compute);
		if (device->spiking.price.prices_memory)
			put_energy(object, MEMORY, &point->memory);
		put_energy(object, TOTAL, &point->total);
		wtl_estimate_put_number(object, "ordinary_j", point->ordinary);
		wtl_doc_add_row(doc, (const struct wtl_node *const[]){aside, object}, 2);
	}
}

static bool has_points(const struct wtl_estimate_energy *energy)
{
	for (size_t i = 0; i < energy->n; i++)
		if (energy->devices[i].points)
			return true;
	return false;
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
	if (is_spiking && device->points) {
		put_sweep(doc, object, energy, device);
		wtl_estimate_put_lines(object, "assumptions", wtl_buf_str(&run->price.assumptions));
		return;
	}
	put_energy(object, COMPUTE, &run->price.compute);
	if (run->price.prices_memory)
		put_energy(object, MEMORY, &run->price.memory);
	put_energy(object, TOTAL, &run->price.total);
	if (is_spiking) {
		wtl_estimate_put_number(object, "synops", run->price.synops);
		wtl_estimate_put_number(object, "updates", run->price.updates);
		wtl_estimate_put_number(object, "spikes", run->price.spikes);
	}
	put_swings(object, &run->price);
	wtl_estimate_put_lines(object, "assumptions", wtl_buf_str(&run->price.assumptions));
	wtl_doc_text(aside, "device", device->device->name);
	wtl_doc_text(aside, "as", as);
	struct wtl_node *layers = wtl_doc_list(object, "layers");
	for (size_t i = 0; i < energy->network->n; i++) {
		const struct wtl_break_even *break_even =
			device->has_break_even && is_spiking ? &device->layers[i] : NULL;
		const struct wtl_node *const scopes[] = {
			aside, put_layer(layers, &energy->network->layers[i], &run->price.layers[i],
					 run->price.prices_memory, is_spiking, break_even)};
		if (!has_points(energy))
			wtl_doc_add_row(doc, scopes, 2);
	}
}

void wtl_estimate_energy_document(struct wtl_doc *doc, const void *what)
{
	const struct wtl_estimate_energy *energy = what;

	doc->table = has_points(energy) ? &sweep_table : &table;
	wtl_doc_schema(doc->root, "wattle.estimate-energy/1");
	wtl_doc_text(doc->root, "file", energy->path);
	wtl_doc_known(doc->root, "name", energy->network->name);
	wtl_doc_flag(doc->root, "is_estimate", true);
	wtl_estimate_coverage_document(doc->root, energy->network);
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
		if (device->points)
			continue;
		if (device->has_quantized) {
			struct wtl_node *quantized = wtl_doc_object(object, "ann_quantized");
			wtl_doc_count(quantized, "activation_bits", device->bits);
			put_energy(quantized, TOTAL, &device->quantized);
		}
		if (device->has_break_even) {
			wtl_estimate_put_number(object, "break_even_compute",
						device->whole.compute);
			wtl_estimate_put_number(object, "break_even", device->whole.with_memory);
		}
	}
}
