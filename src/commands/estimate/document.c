/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "commands/estimate/estimate.h"

/* The table: one row per layer (docs/estimate.md). */
static const struct wtl_doc_table table = {
	"layers",
	"0:layer,op,kind,macs,other_ops,parameters,buffers,scales,weight_bytes,input_elements,input_bytes,"
	"output_elements,output_bytes,output_shape,weights,activations,branch,side,not_counted,repeats_unknown"};

static const char *const kinds[] = {
	[WTL_LAYER_OTHER] = "other",	     [WTL_LAYER_CONV] = "conv",
	[WTL_LAYER_DENSE] = "dense",	     [WTL_LAYER_PRODUCT] = "product",
	[WTL_LAYER_EMBEDDING] = "embedding", [WTL_LAYER_RECURRENT] = "recurrent",
};

static void put_precision(struct wtl_node *to, const char *key, enum wtl_precision precision)
{
	if (precision != WTL_PRECISION_UNKNOWN)
		wtl_doc_text(to, key, wtl_precision_names[precision]);
}

/* "1x64x112x112", as --input takes it. Absent if not known; "" is a scalar. */
static void put_shape(struct wtl_node *to, const struct wtl_layer *layer)
{
	char text[WTL_LAYER_RANK_MAX * 21 + 1] = "";
	size_t len = 0;

	for (int i = 0; i < layer->output_rank; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%" PRIu64, i ? "x" : "",
					layer->output_shape[i]);
	if (layer->output_rank >= 0)
		wtl_doc_text(to, "output_shape", text);
}

static struct wtl_node *put_layer(struct wtl_node *to, const struct wtl_layer *layer)
{
	struct wtl_node *object = wtl_doc_object(to, NULL);

	wtl_doc_text(object, "layer", layer->name);
	wtl_doc_text(object, "op", layer->op);
	wtl_doc_text(object, "kind", kinds[layer->kind]);
	wtl_doc_count(object, "macs", layer->macs);
	wtl_doc_count(object, "other_ops", layer->other_ops);
	wtl_doc_count(object, "parameters", layer->parameters);
	wtl_doc_count(object, "buffers", layer->buffers);
	wtl_doc_count(object, "scales", layer->scales);
	wtl_doc_count(object, "weight_bytes", layer->weight_bytes);
	wtl_doc_count(object, "input_elements", layer->input_elements);
	wtl_doc_count(object, "input_bytes", layer->input_bytes);
	wtl_doc_count(object, "output_elements", layer->output_elements);
	wtl_doc_count(object, "output_bytes", layer->output_bytes);
	put_shape(object, layer);
	put_precision(object, "weights", layer->weights);
	put_precision(object, "activations", layer->activations);
	if (layer->branch) {
		wtl_doc_count(object, "branch", layer->branch);
		wtl_doc_text(object, "side", layer->side ? "else" : "then");
	}
	wtl_estimate_doubts_document(object, layer);
	return object;
}

static void put_model(struct wtl_node *to, const struct wtl_estimate *estimate)
{
	struct wtl_node *object = wtl_doc_object(to, "model");

	wtl_doc_text(object, "file", estimate->path);
	wtl_doc_known(object, "name", estimate->model->network.name);
	wtl_doc_known(object, "producer", estimate->model->producer);
	wtl_doc_integer(object, "ir_version", estimate->model->ir);
	wtl_doc_integer(object, "opset", estimate->model->opset);
}

static void put_totals(struct wtl_node *to, const struct wtl_network *network,
		       const struct wtl_estimate_totals *totals)
{
	struct wtl_node *object = wtl_doc_object(to, "totals");

	wtl_doc_count(object, "macs", network->macs_max);
	wtl_doc_count(object, "macs_min", network->macs_min);
	wtl_doc_count(object, "other_ops", totals->other_ops);
	wtl_doc_count(object, "other_ops_min", totals->other_ops_min);
	wtl_doc_count(object, "parameters", totals->parameters);
	wtl_doc_count(object, "buffers", totals->buffers);
	wtl_doc_count(object, "scales", totals->scales);
	wtl_doc_count(object, "weight_bytes", totals->weight_bytes);
	wtl_doc_count(object, "input_bytes", totals->input_bytes);
	wtl_doc_count(object, "input_bytes_min", totals->input_bytes_min);
	wtl_doc_count(object, "output_bytes", totals->output_bytes);
	wtl_doc_count(object, "output_bytes_min", totals->output_bytes_min);
	if (totals->repeats_unknown)
		wtl_doc_flag(object, "repeats_unknown", true);
}

static const char *const reasons[] = {
	[WTL_UNCOUNTED_OP] = "there is no rule for it",
	[WTL_UNCOUNTED_SIZE] = "only running the model tells its sizes",
};

void wtl_estimate_doubts_document(struct wtl_node *to, const struct wtl_layer *layer)
{
	if (layer->uncounted)
		wtl_doc_text(to, "not_counted", reasons[layer->uncounted]);
	if (layer->repeats_unknown)
		wtl_doc_flag(to, "repeats_unknown", true);
}

void wtl_estimate_coverage_document(struct wtl_node *to, const struct wtl_network *network)
{
	const struct wtl_coverage *coverage = &network->coverage;
	struct wtl_node *object = wtl_doc_object(to, "coverage"), *list;

	wtl_doc_count(object, "nodes", coverage->n_nodes);
	wtl_doc_count(object, "counted", coverage->n_counted);
	list = wtl_doc_list(object, "not_counted");
	for (size_t i = 0; i < coverage->n; i++) {
		struct wtl_node *row = wtl_doc_object(list, NULL);

		wtl_doc_text(row, "op", coverage->uncounted[i].op);
		wtl_doc_count(row, "nodes", coverage->uncounted[i].n);
		wtl_doc_text(row, "reason", reasons[coverage->uncounted[i].why]);
	}
}

void wtl_estimate_document(struct wtl_doc *doc, const void *what)
{
	const struct wtl_estimate *estimate = what;
	const struct wtl_network *network = &estimate->model->network;
	struct wtl_node *layers;

	doc->table = &table;
	wtl_doc_schema(doc->root, "wattle.estimate/1");
	put_model(doc->root, estimate);
	put_totals(doc->root, network, &estimate->totals);
	wtl_estimate_coverage_document(doc->root, network);
	layers = wtl_doc_list(doc->root, "layers");
	for (size_t i = 0; i < network->n; i++) {
		const struct wtl_node *const scopes[] = {put_layer(layers, &network->layers[i])};

		wtl_doc_add_row(doc, scopes, 1);
	}
}
