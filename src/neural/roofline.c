/* SPDX-License-Identifier: MIT */
#include "neural/roofline.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"

enum { WORD_BYTES = 8 };  /* of a priced access */
#define OTHER_OP_MACS 0.5 /* another operation counts as half a MAC */

/* Seconds and joules of one operation or byte; joules are NAN if not known. */
struct price {
	double s[WTL_BOUNDS], j[WTL_BOUNDS];
};

struct prices {
	struct price macs[WTL_N_PRECISIONS]; /* s[WTL_NOMINAL] is 0 if not measured */
	struct price cache, dram;	     /* per byte */
	double idle_w[WTL_BOUNDS];
	double cache_bytes;
	bool lacks_energy; /* at least one price has none */
};

static const struct wtl_constant *find(const struct wtl_device *device, const char *name)
{
	for (size_t i = 0; i < device->n; i++)
		if (strcmp(device->constants[i].name, name) == 0)
			return &device->constants[i];
	return NULL;
}

static void take(const struct wtl_constant *constant, double scale, double to[WTL_BOUNDS])
{
	to[WTL_LOW] = constant ? constant->low * scale : (double)NAN;
	to[WTL_NOMINAL] = constant ? constant->nominal * scale : (double)NAN;
	to[WTL_HIGH] = constant ? constant->high * scale : (double)NAN;
}

static void take_energy(struct prices *prices, const struct wtl_constant *constant, double scale,
			double to[WTL_BOUNDS])
{
	take(constant, scale, to);
	prices->lacks_energy |= !constant || isnan(constant->nominal);
}

static void find_prices(const struct wtl_device *device, struct prices *ret)
{
	const struct wtl_constant *cache =
		wtl_device_constant(device, WTL_CONSTANT_SRAM, WTL_PRECISION_UNKNOWN);

	*ret = (struct prices){.cache_bytes = cache ? (double)cache->capacity : 0};
	for (int i = 1; i < WTL_N_PRECISIONS; i++) {
		char name[32];
		snprintf(name, sizeof(name), "time mac-%s", wtl_precision_names[i]);
		const struct wtl_constant *time = find(device, name);
		if (!time)
			continue;
		take(time, 1, ret->macs[i].s);
		snprintf(name, sizeof(name), "mac %s", wtl_precision_names[i]);
		take_energy(ret, find(device, name), 1, ret->macs[i].j);
	}
	take(find(device, "time cache-64bit"), 1.0 / WORD_BYTES, ret->cache.s);
	take(find(device, "time dram-64bit"), 1.0 / WORD_BYTES, ret->dram.s);
	take_energy(ret, cache, 1.0 / WORD_BYTES, ret->cache.j);
	take_energy(ret, find(device, "dram 64bit"), 1.0 / WORD_BYTES, ret->dram.j);
	take_energy(ret, find(device, "static"), 1, ret->idle_w);
}

bool wtl_roofline_fits(const struct wtl_device *device)
{
	static const char *const names[] = {"time mac-fp32", "time cache-64bit", "time dram-64bit"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct wtl_constant *constant = find(device, names[i]);
		if (!constant || !(constant->nominal > 0))
			return false;
	}
	return true;
}

/* The precision by which a layer is priced, as its own may not have been measured. */
static enum wtl_precision precision_of(const struct prices *prices, const struct wtl_layer *layer,
				       enum wtl_precision given)
{
	enum wtl_precision own = given ? given : layer->activations;
	unsigned bits = wtl_precision_bits(own);

	if (prices->macs[own].s[WTL_NOMINAL] > 0)
		return own;
	if (bits > 0 && bits <= 8 && own != WTL_FP8 && prices->macs[WTL_INT8].s[WTL_NOMINAL] > 0)
		return WTL_INT8;
	return bits == 64 && prices->macs[WTL_FP64].s[WTL_NOMINAL] > 0 ? WTL_FP64 : WTL_FP32;
}

/* Which bytes are in the cache: weights if all fit beside the largest layer's inputs and outputs; a layer's own
 * inputs and outputs if they fit. Bounds: all, and none. */
struct traffic {
	bool weights_fit;
	double cache_bytes;
};

static void find_traffic(const struct wtl_network *network, const struct prices *prices,
			 struct traffic *ret)
{
	double weights = 0, most = 0;

	for (size_t i = 0; i < network->n; i++) {
		const struct wtl_layer *layer = &network->layers[i];
		double own = (double)layer->input_bytes + (double)layer->output_bytes;
		weights += (double)layer->weight_bytes;
		most = fmax(most, own);
	}
	ret->weights_fit = weights + most <= prices->cache_bytes;
	ret->cache_bytes = prices->cache_bytes;
}

/* Prices traffic by its source; the bounds take all of it from the cheaper or the dearer one. */
static void price_bytes(double in_cache, double in_dram, const double cache[WTL_BOUNDS],
			const double dram[WTL_BOUNDS], double ret[WTL_BOUNDS])
{
	double all = in_cache + in_dram;

	ret[WTL_LOW] = all * fmin(cache[WTL_LOW], dram[WTL_LOW]);
	ret[WTL_NOMINAL] = in_cache * cache[WTL_NOMINAL] + in_dram * dram[WTL_NOMINAL];
	ret[WTL_HIGH] = all * fmax(cache[WTL_HIGH], dram[WTL_HIGH]);
}

static void price_layer(const struct prices *prices, const struct traffic *traffic,
			const struct wtl_layer *layer, double times, struct wtl_roofline_layer *ret)
{
	const struct price *mac = &prices->macs[ret->priced];
	double macs = times * ((double)layer->macs + OTHER_OP_MACS * (double)layer->other_ops);
	double own = times * ((double)layer->input_bytes + (double)layer->output_bytes);
	double weights = times * (double)layer->weight_bytes;

	ret->cache_bytes = (own / times <= traffic->cache_bytes ? own : 0) +
			   (traffic->weights_fit ? weights : 0);
	ret->dram_bytes = own + weights - ret->cache_bytes;
	price_bytes(ret->cache_bytes, ret->dram_bytes, prices->cache.s, prices->dram.s,
		    ret->memory_s);
	price_bytes(ret->cache_bytes, ret->dram_bytes, prices->cache.j, prices->dram.j,
		    ret->memory_j);
	for (int i = 0; i < WTL_BOUNDS; i++) {
		ret->compute_s[i] = macs * mac->s[i];
		ret->seconds[i] = fmax(ret->compute_s[i], ret->memory_s[i]);
		ret->compute_j[i] = macs * mac->j[i];
		ret->idle_j[i] = prices->idle_w[i] * ret->seconds[i];
		ret->joules[i] = ret->compute_j[i] + ret->memory_j[i] + ret->idle_j[i];
	}
}

/* Sums layers, with the side of each If that takes more time; for the lower bound, less. */
static int sum_up(const struct wtl_network *network, struct wtl_roofline *roofline)
{
	double *weights = calloc(network->n + 1, sizeof(*weights));
	bool *runs = calloc(network->n + 1, sizeof(*runs));
	int rc = weights && runs ? 0 : -ENOMEM;

	for (int i = 0; rc == 0 && i < WTL_BOUNDS; i++) {
		for (size_t k = 0; k < network->n; k++)
			weights[k] = roofline->layers[k].seconds[i];
		rc = wtl_network_choose(network, weights, i != WTL_LOW, runs);
		for (size_t k = 0; rc == 0 && k < network->n; k++) {
			const struct wtl_roofline_layer *layer = &roofline->layers[k];
			if (!runs[k])
				continue;
			roofline->seconds[i] += layer->seconds[i];
			roofline->compute_j[i] += layer->compute_j[i];
			roofline->memory_j[i] += layer->memory_j[i];
			roofline->idle_j[i] += layer->idle_j[i];
			roofline->joules[i] += layer->joules[i];
		}
	}
	free(weights);
	free(runs);
	return rc;
}

/* ---- Assumptions ---- */

static void assume_precisions(const struct wtl_network *network, const struct wtl_roofline *of,
			      struct wtl_buf *to)
{
	bool was_said[WTL_N_PRECISIONS] = {false};

	for (size_t i = 0; i < network->n; i++) {
		enum wtl_precision own = network->layers[i].activations;
		if (own == of->layers[i].priced || was_said[own] || network->layers[i].macs == 0)
			continue;
		was_said[own] = true;
		wtl_buf_printf(to, "MACs of %s are priced as %s\n",
			       own ? wtl_precision_names[own] : "a precision that is not told",
			       wtl_precision_names[of->layers[i].priced]);
	}
}

static void assume(const struct wtl_network *network, const struct wtl_device *device,
		   const struct traffic *traffic, const struct wtl_roofline *of, struct wtl_buf *to)
{
	bool repeats = false;

	wtl_buf_printf(to, "device %s: %s; grade %s; %s\n", device->name, device->title,
		       wtl_grade_name(device->grade), device->source);
	if (device->note[0])
		wtl_buf_printf(to, "%s\n", device->note);
	wtl_buf_puts(to, "a layer takes as long as the slower of its arithmetic and its traffic; "
			 "layers run one after the other, on all CPUs\n");
	wtl_buf_printf(
		to,
		"traffic: weights come from %s each inference, a layer's inputs and outputs "
		"from the cache where they fit into its %.0f MiB; bounds: all from the cache, "
		"all from DRAM\n",
		traffic->weights_fit ? "the cache" : "DRAM", traffic->cache_bytes / (1 << 20));
	assume_precisions(network, of, to);
	wtl_buf_puts(to, "an operation that is no MAC is priced as half of one\n");
	if (of->has_energy)
		wtl_buf_puts(to,
			     "what the machine draws at rest counts for all of the time; prices "
			     "are above that\n");
	wtl_buf_puts(to,
		     "not priced: starting the layers, copying, the runtime; arithmetic that is "
		     "slower than a product of matrices\n");
	for (size_t i = 0; i < network->n; i++)
		repeats |= network->layers[i].repeats_unknown;
	if (network->n_branches > 0)
		wtl_buf_puts(to,
			     "of each If the side that takes longer counts; of the lower bounds "
			     "the other one\n");
	if (repeats)
		wtl_buf_puts(to, "a Loop whose trip count is not known is counted once\n");
	if (network->coverage.n_counted < network->coverage.n_nodes)
		wtl_buf_printf(to, "%zu of %zu nodes are not counted: what they take is missing\n",
			       network->coverage.n_nodes - network->coverage.n_counted,
			       network->coverage.n_nodes);
}

static int check(const struct wtl_device *device, const struct prices *prices,
		 struct wtl_roofline *roofline, struct wtl_err *err)
{
	if (!wtl_roofline_fits(device))
		return wtl_err_set(err, WTL_EABSENT, "estimate", NULL,
				   "%s has no measured times: wattle estimate --host",
				   device->name);
	roofline->has_energy = !prices->lacks_energy;
	if (!roofline->has_energy)
		wtl_text_copy(roofline->reason, sizeof(roofline->reason),
			      device->note[0] ? device->note : "its energy was not measured");
	return 0;
}

int wtl_roofline_of(const struct wtl_network *network, const struct wtl_device *device,
		    enum wtl_precision precision, struct wtl_roofline *ret, struct wtl_err *err)
{
	struct wtl_roofline roofline = {.n = network->n};
	double times = network->is_sequence && network->steps ? (double)network->steps : 1;
	struct traffic traffic;
	struct prices prices;

	find_prices(device, &prices);
	int rc = check(device, &prices, &roofline, err);
	if (rc < 0)
		return rc;
	roofline.layers = calloc(network->n + 1, sizeof(*roofline.layers));
	if (!roofline.layers)
		return wtl_err_set(err, ENOMEM, "estimate", NULL, "no memory");
	find_traffic(network, &prices, &traffic);
	for (size_t i = 0; i < network->n; i++) {
		roofline.layers[i].priced = precision_of(&prices, &network->layers[i], precision);
		price_layer(&prices, &traffic, &network->layers[i], times, &roofline.layers[i]);
	}
	if (sum_up(network, &roofline) < 0) {
		free(roofline.layers);
		return wtl_err_set(err, ENOMEM, "estimate", NULL, "no memory");
	}
	wtl_buf_init(&roofline.assumptions, 64 << 10);
	assume(network, device, &traffic, &roofline, &roofline.assumptions);
	*ret = roofline;
	return 0;
}

void wtl_roofline_done(struct wtl_roofline *roofline)
{
	free(roofline->layers);
	wtl_buf_done(&roofline->assumptions);
	*roofline = (struct wtl_roofline){.n = 0};
}
