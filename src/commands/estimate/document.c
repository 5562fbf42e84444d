/* SPDX-License-Identifier: MIT */
#include "commands/estimate/estimate.h"

/* The table: a row a layer (docs/estimate.md). */
static const struct wtl_doc_table table = {
	"layers",
	"0:layer,op,kind,macs,other_ops,parameters,buffers,scales,weight_bytes,input_elements,input_bytes,"
	"output_elements,output_bytes,weights,activations,branch,side"};

static const char *const kinds[] = {
	[WTL_LAYER_OTHER] = "other",	     [WTL_LAYER_CONV] = "conv",
	[WTL_LAYER_DENSE] = "dense",	     [WTL_LAYER_PRODUCT] = "product",
	[WTL_LAYER_EMBEDDING] = "embedding", [WTL_LAYER_RECURRENT] = "recurrent",
};

static void put_precision(struct wtl_node *to, const char *key, enum wtl_precision precision)
{
	if (precision != WTL_PRECISION_UNKNOWN)
		wtl_doc_text(to, key, wtl_precision_name(precision));
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
	put_precision(object, "weights", layer->weights);
	put_precision(object, "activations", layer->activations);
	if (layer->branch) {
		wtl_doc_count(object, "branch", layer->branch);
		wtl_doc_text(object, "side", layer->side ? "else" : "then");
	}
	if (layer->repeats_unknown)
		wtl_doc_flag(object, "repeats_unknown", true);
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

static void put_totals(struct wtl_node *to, const struct wtl_network *network)
{
	struct wtl_node *object = wtl_doc_object(to, "totals");
	struct wtl_estimate_totals totals;

	wtl_estimate_totals(network, &totals);
	wtl_doc_count(object, "macs", network->macs_max);
	wtl_doc_count(object, "macs_min", network->macs_min);
	wtl_doc_count(object, "other_ops", totals.other_ops);
	wtl_doc_count(object, "parameters", totals.parameters);
	wtl_doc_count(object, "buffers", totals.buffers);
	wtl_doc_count(object, "scales", totals.scales);
	wtl_doc_count(object, "weight_bytes", totals.weight_bytes);
	wtl_doc_count(object, "input_bytes", totals.input_bytes);
	wtl_doc_count(object, "output_bytes", totals.output_bytes);
	if (totals.repeats_unknown)
		wtl_doc_flag(object, "repeats_unknown", true);
}

static void put_coverage(struct wtl_node *to, const struct wtl_onnx_model *model)
{
	struct wtl_node *object = wtl_doc_object(to, "coverage"), *list;

	wtl_doc_count(object, "nodes", model->n_nodes);
	wtl_doc_count(object, "counted", model->n_counted);
	list = wtl_doc_list(object, "not_counted");
	for (size_t i = 0; i < model->n_uncounted; i++) {
		struct wtl_node *row = wtl_doc_object(list, NULL);

		wtl_doc_text(row, "op", model->uncounted[i].op);
		wtl_doc_count(row, "nodes", model->uncounted[i].n);
		wtl_doc_text(row, "reason",
			     model->uncounted[i].why == WTL_ONNX_UNKNOWN_OP
				     ? "there is no rule for it"
				     : "only running the model tells its sizes");
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
	put_totals(doc->root, network);
	put_coverage(doc->root, estimate->model);
	layers = wtl_doc_list(doc->root, "layers");
	for (size_t i = 0; i < network->n; i++) {
		const struct wtl_node *const scopes[] = {put_layer(layers, &network->layers[i])};

		wtl_doc_add_row(doc, scopes, 1);
	}
}
