/* SPDX-License-Identifier: MIT */
#include "neural/net_text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "neural/layer_names.h"
#include "neural/lines.h"
#include "neural/price.h"

enum { AXES = 3 };

/* Channels and up to three axes. */
struct shape {
	uint64_t channels, axis[AXES];
	size_t n_axes;
};

struct reader {
	struct wtl_lines lines;
	struct wtl_network *network;
	struct wtl_layer_names names;
	struct shape shape; /* of the next layer's input */
	enum wtl_precision weights, activations;
	double rate; /* of that input; NAN: not known */
	bool has_input, is_analog;
};

/* The words of a layer's line. */
struct wanted {
	struct shape kernel, stride, pad;
	uint64_t groups;
	bool is_recurrent, has_bias, has_elementwise_yin, has_elementwise_neurobench;
	enum wtl_neuron neuron;
	double rate;
};

bool wtl_net_text_is(const char *data, size_t len)
{
	struct wtl_lines lines;

	wtl_lines_init(&lines, data, len < 4096 ? len : 4096, "", NULL);
	return wtl_lines_next(&lines) == 1 && strcmp(lines.words[0], "network") == 0;
}

static uint64_t times(uint64_t a, uint64_t b, bool *overflows)
{
	uint64_t product;

	*overflows |= __builtin_mul_overflow(a, b, &product);
	return product;
}

static uint64_t plus(uint64_t a, uint64_t b, bool *overflows)
{
	uint64_t sum;

	*overflows |= __builtin_add_overflow(a, b, &sum);
	return sum;
}

static uint64_t axes_of(const struct shape *shape, bool *overflows)
{
	uint64_t n = 1;

	for (size_t i = 0; i < shape->n_axes; i++)
		n = times(n, shape->axis[i], overflows);
	return n;
}

static uint64_t elements_of(const struct shape *shape, bool *overflows)
{
	return times(shape->channels, axes_of(shape, overflows), overflows);
}

/* "3x32x32" */
static int parse_sizes(struct wtl_lines *lines, const char *word, uint64_t least, uint64_t sizes[],
		       size_t max, size_t *ret_n)
{
	const char *at = word;
	size_t n = 0;

	for (;;) {
		size_t len = strcspn(at, "x");
		if (n == max)
			return wtl_lines_fail(lines, "'%s' has more than %zu sizes", word, max);
		if (len == 0 || wtl_num_u64(at, len, &sizes[n]) < 0 || sizes[n] < least ||
		    sizes[n] > UINT32_MAX)
			return wtl_lines_fail(lines, "'%s' is no size such as 28 or 3x32x32", word);
		n++;
		if (at[len] == '\0')
			break;
		at += len + 1;
	}
	*ret_n = n;
	return 0;
}

static int parse_shape(struct wtl_lines *lines, const char *word, struct shape *ret)
{
	uint64_t sizes[AXES + 1];
	size_t n;
	int rc = parse_sizes(lines, word, 1, sizes, AXES + 1, &n);

	if (rc < 0)
		return rc;
	*ret = (struct shape){.channels = sizes[0], .n_axes = n - 1};
	memcpy(ret->axis, sizes + 1, (n - 1) * sizeof(*sizes));
	return 0;
}

/* One size for all axes, or one per axis. */
static int parse_axes(struct reader *reader, const char *word, uint64_t least, struct shape *ret)
{
	size_t n, wanted = reader->shape.n_axes;
	int rc = parse_sizes(&reader->lines, word, least, ret->axis, AXES, &n);

	if (rc < 0)
		return rc;
	if (n != 1 && n != wanted)
		return wtl_lines_fail(&reader->lines, "'%s' is for %zu axes, its input has %zu",
				      word, n, wanted);
	for (size_t i = n; i < wanted; i++)
		ret->axis[i] = ret->axis[0];
	ret->n_axes = wanted;
	return 0;
}

static int parse_elementwise(struct wtl_lines *lines, const char *word, struct wanted *wanted)
{
	wanted->has_elementwise_yin = strcmp(word, "yin") == 0;
	wanted->has_elementwise_neurobench = strcmp(word, "neurobench") == 0;
	if (!wanted->has_elementwise_yin && !wanted->has_elementwise_neurobench &&
	    strcmp(word, "none") != 0)
		return wtl_lines_fail(lines, "elementwise is none, yin or neurobench, not '%s'",
				      word);
	return 0;
}

static int parse_pair(struct reader *reader, const char *key, const char *word,
		      struct wanted *wanted)
{
	struct wtl_lines *lines = &reader->lines;
	size_t n;

	if (strcmp(key, "kernel") == 0)
		return parse_axes(reader, word, 1, &wanted->kernel);
	if (strcmp(key, "stride") == 0)
		return parse_axes(reader, word, 1, &wanted->stride);
	if (strcmp(key, "pad") == 0)
		return parse_axes(reader, word, 0, &wanted->pad);
	if (strcmp(key, "groups") == 0)
		return parse_sizes(lines, word, 1, &wanted->groups, 1, &n);
	if (strcmp(key, "rate") == 0)
		return wtl_lines_number(lines, word, "a rate", 0, 1e6, &wanted->rate);
	if (strcmp(key, "elementwise") == 0)
		return parse_elementwise(lines, word, wanted);
	if (strcmp(key, "neuron") != 0)
		return wtl_lines_fail(lines, "'%s' is not known here", key);
	if (!wtl_neuron_find(word, &wanted->neuron))
		return wtl_lines_fail(
			lines, "'%s' is no neuron: if, lif, alif, tc-lif, readout, none", word);
	return 0;
}

/* All words after the layer's size. */
static int parse_wanted(struct reader *reader, size_t at, struct wanted *wanted)
{
	struct wtl_lines *lines = &reader->lines;

	*wanted = (struct wanted){.groups = 1, .rate = (double)NAN};
	wanted->kernel.n_axes = wanted->stride.n_axes = wanted->pad.n_axes = reader->shape.n_axes;
	for (size_t i = 0; i < AXES; i++)
		wanted->kernel.axis[i] = wanted->stride.axis[i] = 1;
	while (at < lines->n) {
		const char *key = lines->words[at++];
		if (strcmp(key, "recurrent") == 0) {
			wanted->is_recurrent = true;
			continue;
		}
		if (strcmp(key, "bias") == 0) {
			wanted->has_bias = true;
			continue;
		}
		if (at == lines->n)
			return wtl_lines_fail(lines, "'%s' has no value, or is not known here",
					      key);
		int rc = parse_pair(reader, key, lines->words[at++], wanted);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The output's axes, after the kernel has moved over the input. */
static int slide(struct reader *reader, const struct wanted *wanted, struct shape *ret)
{
	ret->n_axes = reader->shape.n_axes;
	for (size_t i = 0; i < ret->n_axes; i++) {
		uint64_t padded = reader->shape.axis[i] + 2 * wanted->pad.axis[i];
		if (padded < wanted->kernel.axis[i])
			return wtl_lines_fail(&reader->lines,
					      "the kernel is larger than its input");
		ret->axis[i] = (padded - wanted->kernel.axis[i]) / wanted->stride.axis[i] + 1;
	}
	return 0;
}

/* Adds a layer, with what all kinds have in common: its input and output. */
static struct wtl_layer *new_layer(struct reader *reader, const char *op,
				   const struct wanted *wanted, const struct shape *made,
				   bool *overflows)
{
	struct wtl_layer *layer = wtl_network_add(reader->network, reader->lines.words[1], op);

	if (!layer)
		return NULL;
	layer->weights = reader->weights;
	layer->activations = reader->activations;
	layer->in_channels = reader->shape.channels;
	layer->out_channels = made->channels;
	layer->groups = wanted->groups;
	layer->input_elements = elements_of(&reader->shape, overflows);
	layer->output_elements = elements_of(made, overflows);
	layer->output_rank = 1 + (int)made->n_axes;
	layer->output_shape[0] = made->channels;
	memcpy(layer->output_shape + 1, made->axis, made->n_axes * sizeof(*made->axis));
	uint64_t bits = wtl_precision_bits(reader->activations);
	layer->input_bytes = times(layer->input_elements, bits, overflows) / 8;
	layer->output_bytes = times(layer->output_elements, bits, overflows) / 8;
	layer->neuron = wanted->neuron;
	layer->rate_in = reader->rate;
	layer->rate_out = wanted->rate;
	layer->input_analog = reader->is_analog;
	return layer;
}

static void set_weights(struct reader *reader, struct wtl_layer *layer, uint64_t weights,
			uint64_t biases, bool *overflows)
{
	layer->parameters = plus(weights, biases, overflows);
	layer->weight_bytes =
		times(layer->parameters, wtl_precision_bits(reader->weights), overflows) / 8;
}

static int pass_on(struct reader *reader, const struct wtl_layer *layer, const struct shape *made,
		   double rate, bool is_analog, bool overflows)
{
	if (!layer)
		return -ENOMEM;
	if (overflows || layer->macs > INT64_MAX)
		return wtl_lines_fail(&reader->lines, "its counts do not fit into 64 bits");
	reader->shape = *made;
	reader->rate = rate;
	reader->is_analog = is_analog;
	return wtl_layer_names_add(&reader->names, reader->network->n - 1);
}

static int read_dense(struct reader *reader, const struct wanted *wanted, const struct shape *size)
{
	bool overflows = false;
	struct wtl_layer *layer = new_layer(reader, "Dense", wanted, size, &overflows);

	if (layer) {
		uint64_t n = layer->output_elements;
		layer->kind = wanted->is_recurrent ? WTL_LAYER_RECURRENT : WTL_LAYER_DENSE;
		layer->recurrent_macs = wanted->is_recurrent ? times(n, n, &overflows) : 0;
		layer->macs = plus(times(layer->input_elements, n, &overflows),
				   layer->recurrent_macs, &overflows);
		set_weights(reader, layer, layer->macs, wanted->has_bias ? n : 0, &overflows);
	}
	return pass_on(reader, layer, size, wanted->rate, false, overflows);
}

static int read_conv(struct reader *reader, const struct wanted *wanted, const struct shape *size)
{
	struct shape made = {.channels = size->channels};
	bool overflows = false;
	int rc = slide(reader, wanted, &made);

	if (rc < 0)
		return rc;
	if (reader->shape.n_axes == 0 || size->n_axes > 0 ||
	    reader->shape.channels % wanted->groups || size->channels % wanted->groups)
		return wtl_lines_fail(&reader->lines,
				      "a convolution needs an input such as 3x32x32, and channels "
				      "that its groups divide");
	struct wtl_layer *layer = new_layer(reader, "Conv", wanted, &made, &overflows);
	if (layer) {
		layer->kind = WTL_LAYER_CONV;
		layer->kernel = axes_of(&wanted->kernel, &overflows);
		for (size_t i = 0; i < made.n_axes; i++) {
			layer->kernel_by_axis[i] = wanted->kernel.axis[i];
			layer->stride_by_axis[i] = wanted->stride.axis[i];
		}
		uint64_t fan_in =
			times(reader->shape.channels / wanted->groups, layer->kernel, &overflows);
		layer->macs = times(layer->output_elements, fan_in, &overflows);
		set_weights(reader, layer, times(size->channels, fan_in, &overflows),
			    wanted->has_bias ? size->channels : 0, &overflows);
	}
	return pass_on(reader, layer, &made, wanted->rate, false, overflows);
}

static int read_pool(struct reader *reader, const struct wanted *wanted, const struct shape *size)
{
	struct shape made = {.channels = reader->shape.channels};
	struct wanted by = *wanted;
	bool overflows = false;

	if (size->n_axes + 1 != reader->shape.n_axes && size->n_axes != 0)
		return wtl_lines_fail(&reader->lines, "its kernel does not fit its input");
	for (size_t i = 0; i < AXES; i++)
		by.kernel.axis[i] = by.stride.axis[i] =
			i && size->n_axes ? size->axis[i - 1] : size->channels;
	int rc = slide(reader, &by, &made);
	if (rc < 0)
		return rc;
	struct wtl_layer *layer = new_layer(reader, "Pool", wanted, &made, &overflows);
	if (layer)
		layer->other_ops = layer->output_elements;
	return pass_on(reader, layer, &made, reader->rate, reader->is_analog, overflows);
}

/* Recurrent layers of numbers, not spikes: three kinds of cells, by their gates. */
static int read_cells(struct reader *reader, const struct wanted *wanted, const struct shape *size,
		      const char *op, uint64_t gates)
{
	bool overflows = false;
	struct wtl_layer *layer = new_layer(reader, op, wanted, size, &overflows);

	if (layer) {
		uint64_t n = layer->output_elements;
		uint64_t extra = wanted->has_elementwise_yin && gates == 4	   ? 17
				 : wanted->has_elementwise_neurobench && gates > 1 ? 3
										   : 0;
		layer->kind = WTL_LAYER_RECURRENT;
		layer->recurrent_macs = times(gates, times(n, n, &overflows), &overflows);
		uint64_t weights =
			plus(times(gates, times(layer->input_elements, n, &overflows), &overflows),
			     layer->recurrent_macs, &overflows);
		layer->macs = plus(weights, times(extra, n, &overflows), &overflows);
		set_weights(reader, layer, weights,
			    wanted->has_bias ? times(2 * gates, n, &overflows) : 0, &overflows);
	}
	return pass_on(reader, layer, size, (double)NAN, true, overflows);
}

static int read_layer(struct reader *reader)
{
	struct wtl_lines *lines = &reader->lines;
	const char *kind = lines->words[0];
	struct wanted wanted;
	struct shape size;

	if (lines->n < 3)
		return wtl_lines_fail(lines, "'%s' is followed by a name and a size", kind);
	if (!reader->has_input)
		return wtl_lines_fail(lines, "the input comes before all layers: 'input SIZE'");
	if (reader->network->n == WTL_LAYERS_MAX)
		return wtl_lines_fail(lines, "more than %d layers", WTL_LAYERS_MAX);
	if (wtl_layer_names_find(&reader->names, lines->words[1]))
		return wtl_lines_fail(lines, "there are two layers '%s'", lines->words[1]);
	int rc = parse_shape(lines, lines->words[2], &size);
	if (rc == 0)
		rc = parse_wanted(reader, 3, &wanted);
	if (rc < 0)
		return rc;
	if (strcmp(kind, "dense") == 0)
		return read_dense(reader, &wanted, &size);
	if (strcmp(kind, "conv") == 0)
		return read_conv(reader, &wanted, &size);
	if (strcmp(kind, "pool") == 0)
		return read_pool(reader, &wanted, &size);
	if (strcmp(kind, "lstm") == 0)
		return read_cells(reader, &wanted, &size, "LSTM", 4);
	if (strcmp(kind, "gru") == 0)
		return read_cells(reader, &wanted, &size, "GRU", 3);
	if (strcmp(kind, "rnn") == 0)
		return read_cells(reader, &wanted, &size, "RNN", 1);
	return wtl_lines_fail(lines, "'%s' is no layer: dense, conv, pool, lstm, gru, rnn", kind);
}

/* "input 3x32x32 analog", "input 700 rate 0.1" */
static int read_input(struct reader *reader)
{
	struct wtl_lines *lines = &reader->lines;

	if (reader->has_input || lines->n < 2)
		return wtl_lines_fail(lines,
				      "one input: 'input SIZE analog' or 'input SIZE rate R'");
	reader->has_input = true;
	int rc = parse_shape(lines, lines->words[1], &reader->shape);
	if (rc < 0)
		return rc;
	reader->rate = (double)NAN;
	reader->is_analog = lines->n == 3 && strcmp(lines->words[2], "analog") == 0;
	if (lines->n == 4 && strcmp(lines->words[2], "rate") == 0)
		return wtl_lines_number(lines, lines->words[3], "a rate", 0, 1e6, &reader->rate);
	if (lines->n > 2 && !reader->is_analog)
		return wtl_lines_fail(lines, "an input is 'analog', or has a 'rate R'");
	return 0;
}

static int read_precision(struct reader *reader)
{
	struct wtl_lines *lines = &reader->lines;

	reader->weights = lines->n >= 2 ? wtl_precision_find(lines->words[1]) : 0;
	reader->activations = lines->n == 3 ? wtl_precision_find(lines->words[2]) : reader->weights;
	if (lines->n > 3 || !reader->weights || !reader->activations)
		return wtl_lines_fail(lines,
				      "'precision WEIGHTS [ACTIVATIONS]': fp32, fp16, int8, …");
	return 0;
}

static int read_steps(struct reader *reader)
{
	struct wtl_lines *lines = &reader->lines;
	double steps;

	if (lines->n != 2)
		return wtl_lines_fail(lines, "'%s' is followed by a number", lines->words[0]);
	int rc = wtl_lines_number(lines, lines->words[1], "a number of time steps", 1, 1e9, &steps);
	if (rc == 0) {
		reader->network->steps = (uint64_t)steps;
		reader->network->is_sequence = strcmp(lines->words[0], "sequence") == 0;
	}
	return rc;
}

static int read_name(struct reader *reader)
{
	if (reader->network->name)
		return wtl_lines_fail(&reader->lines, "a file has one network");
	if (reader->lines.n < 2)
		return wtl_lines_fail(&reader->lines, "'network' is followed by its name");
	reader->network->name = strdup(reader->lines.rest);
	return reader->network->name ? 0 : -ENOMEM;
}

static int read_statement(struct reader *reader)
{
	const char *word = reader->lines.words[0];

	if (strcmp(word, "network") == 0)
		return read_name(reader);
	if (!reader->network->name)
		return wtl_lines_fail(&reader->lines, "the first statement is 'network NAME'");
	if (strcmp(word, "input") == 0)
		return read_input(reader);
	if (strcmp(word, "precision") == 0)
		return read_precision(reader);
	if (strcmp(word, "steps") == 0 || strcmp(word, "sequence") == 0)
		return read_steps(reader);
	return read_layer(reader);
}

static int add_up(struct wtl_network *network, struct wtl_lines *lines)
{
	bool overflows = false;

	if (network->n == 0)
		return wtl_lines_fail(lines, "there are no layers");
	for (size_t i = 0; i < network->n; i++)
		network->macs_max = plus(network->macs_max, network->layers[i].macs, &overflows);
	network->macs_min = network->macs_max;
	return overflows ? wtl_lines_fail(lines, "its MACs do not fit into 64 bits") : 0;
}

int wtl_net_text_read(const char *text, size_t len, const char *file, struct wtl_network *ret,
		      struct wtl_err *err)
{
	struct wtl_network network = {0};
	struct reader reader = {.network = &network,
				.names = {.network = &network},
				.weights = WTL_FP32,
				.activations = WTL_FP32};
	int rc;

	wtl_lines_init(&reader.lines, text, len, file, err);
	while ((rc = wtl_lines_next(&reader.lines)) > 0) {
		rc = read_statement(&reader);
		if (rc < 0)
			break;
	}
	if (rc == 0)
		rc = add_up(&network, &reader.lines);
	wtl_layer_names_done(&reader.names);
	if (rc == -ENOMEM)
		wtl_err_set(err, ENOMEM, "estimate", file, "no memory for its layers");
	if (rc < 0)
		wtl_network_done(&network);
	else
		*ret = network;
	return rc;
}
