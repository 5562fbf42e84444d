/* SPDX-License-Identifier: MIT */
/* Energy of networks by counts and prices, against published numbers and by hand. */
#include <math.h>
#include <string.h>

#include "unit.h"

#include "base/err.h"
#include "neural/price.h"

enum { LAYERS = 3 };

struct bench {
	struct wtl_devices devices;
	struct wtl_network network;
	struct wtl_price_choice choice;
};

static void close_to(double got, double wanted, double part)
{
	if (!(fabs(got - wanted) <= fabs(wanted) * part))
		fail_msg("%.9g is not %.9g", got, wanted);
}

static void begin(struct bench *bench, const char *device)
{
	*bench = (struct bench){0};
	assert_int_equal(wtl_devices_builtin(&bench->devices, NULL), 0);
	bench->choice.device = wtl_devices_find(&bench->devices, device);
	assert_non_null(bench->choice.device);
	bench->choice.rate = (double)NAN;
	bench->choice.hops = 1;
	bench->choice.memory = WTL_MEMORY_NONE;
}

static void end(struct bench *bench)
{
	wtl_devices_done(&bench->devices);
	wtl_network_done(&bench->network);
}

static struct wtl_layer *add(struct bench *bench, unsigned m, unsigned n, bool is_recurrent)
{
	struct wtl_layer *layer = wtl_network_add(&bench->network, "layer", "Dense");

	assert_non_null(layer);
	layer->kind = is_recurrent ? WTL_LAYER_RECURRENT : WTL_LAYER_DENSE;
	layer->weights = layer->activations = WTL_FP32;
	layer->recurrent_macs = is_recurrent ? (uint64_t)n * n : 0;
	layer->macs = (uint64_t)m * n + layer->recurrent_macs;
	layer->parameters = layer->macs;
	layer->input_elements = m;
	layer->output_elements = n;
	return layer;
}

static double total(struct bench *bench)
{
	struct wtl_price price;
	struct wtl_err err = {.code = 0};

	if (wtl_price_network(&bench->network, &bench->choice, &price, &err) < 0)
		fail_msg("%s: %s", err.path, err.text);
	double joules = price.total.nominal;
	wtl_price_done(&price);
	return joules;
}

/* Zhang et al. 2023, table 2: S-MNIST, 1-64r-256r-256; nJ. */
static void test_tc_lif(void **state)
{
	(void)state;
	static const struct {
		enum wtl_neuron neuron;
		double rates[LAYERS], nj;
	} rows[] = {
		{WTL_NEURON_LIF, {.219, .145, .004}, 23.896},
		{WTL_NEURON_TC_LIF, {.294, .146, .030}, 28.114},
	};

	for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
		struct bench bench;
		double rate = 1;
		begin(&bench, "horowitz-45nm");
		bench.choice.is_spiking = true;
		unsigned sizes[] = {1, 64, 256, 256};
		for (size_t k = 0; k < LAYERS; k++) {
			struct wtl_layer *layer = add(&bench, sizes[k], sizes[k + 1], k < 2);
			layer->neuron = rows[i].neuron;
			layer->rate_in = rate;
			layer->rate_out = rate = rows[i].rates[k];
		}
		close_to(total(&bench) * 1e9, rows[i].nj, 1e-4);
		end(&bench);
	}
}

/* An input of numbers is multiplied; ALIF; a readout. Yin et al.: S-MNIST. */
static void test_analog(void **state)
{
	(void)state;
	struct bench bench;
	unsigned sizes[] = {8, 64, 256, 256};
	double rates[] = {.1192, .0732, .0416};

	begin(&bench, "horowitz-45nm");
	bench.choice.is_spiking = true;
	for (size_t k = 0; k < LAYERS; k++) {
		struct wtl_layer *layer = add(&bench, sizes[k], sizes[k + 1], k < 2);
		layer->neuron = WTL_NEURON_ALIF;
		layer->rate_in = k ? rates[k - 1] : (double)NAN;
		layer->input_analog = k == 0;
		layer->rate_out = rates[k];
	}
	struct wtl_layer *last = add(&bench, 256, 10, false);
	last->neuron = WTL_NEURON_READOUT;
	last->rate_in = rates[2];
	close_to(total(&bench) * 1e9, 21.3446, 1e-4);
	bench.choice.steps = 10;
	close_to(total(&bench) * 1e9, 213.446, 1e-4);
	bench.choice.input_is_constant = true; /* 8 × 64 MACs nine times less */
	close_to(total(&bench) * 1e9, 213.446 - 9 * 512 * 4.6e-3, 1e-4);
	end(&bench);
}

/* 16 bits from 8 KiB and what lies between: facts of four implementations of one paper. */
static void test_sram(void **state)
{
	(void)state;
	static const struct {
		enum wtl_sram_model model;
		double bytes, bits, pj;
	} rows[] = {
		{WTL_SRAM_HOROWITZ, 8192, 16, 2.5},    {WTL_SRAM_HOROWITZ, 8192, 64, 10},
		{WTL_SRAM_HOROWITZ, 100, 64, 10},      {WTL_SRAM_HOROWITZ, 16384, 64, 14.142},
		{WTL_SRAM_HOROWITZ, 32768, 32, 10},    {WTL_SRAM_HOROWITZ, 1048576, 64, 100},
		{WTL_SRAM_HOROWITZ, 1e9, 64, 100},     {WTL_SRAM_PACKED64, 1e9, 16, 2.5},
		{WTL_SRAM_LEMAIRE, 8192, 16, 13.9143},
	};
	struct bench bench;

	begin(&bench, "horowitz-45nm");
	double value[WTL_CONSTANTS_MAX];
	for (size_t i = 0; i < bench.choice.device->n; i++)
		value[i] = bench.choice.device->constants[i].nominal;
	for (size_t i = 0; i < UNIT_COUNT(rows); i++)
		close_to(wtl_sram_price(bench.choice.device, value, rows[i].model, rows[i].bytes,
					rows[i].bits) *
				 1e12,
			 rows[i].pj, 1e-4);
	close_to(wtl_dram_price(bench.choice.device, value, 64) * 1e12, 1950, 1e-9);
	end(&bench);
}

static void test_memory(void **state)
{
	(void)state;
	struct bench bench;

	begin(&bench, "horowitz-45nm");
	add(&bench, 256, 256, false); /* 256 KiB of weights */
	double compute = 65536 * 4.6e-12, io = 512 * 5e-12, dram = 65536 * 32 / 64 * 1950e-12;
	double read = 32 / 64. * 20e-12 * pow(5, log(8) / log(32));
	assert_true(fabs(total(&bench) - compute) < 1e-15);
	bench.choice.memory = WTL_MEMORY_LOCAL;
	close_to(total(&bench), compute + io + 65536 * read, 1e-9);
	bench.choice.reuse = 4;
	close_to(total(&bench), compute + io + 65536 * read / 4, 1e-9);
	bench.choice.reuse = 0;
	bench.choice.memory = WTL_MEMORY_DRAM_ONCE;
	close_to(total(&bench), compute + io + 65536 * read + dram, 1e-9);
	bench.choice.memory = WTL_MEMORY_DRAM_PER_USE;
	close_to(total(&bench), compute + io + dram, 1e-9);
	bench.choice.is_spiking = true;
	bench.choice.steps = 4;
	bench.choice.rate = .1;
	double updates = 4 * 256, synops = .4 * 65536;
	close_to(total(&bench),
		 synops * .9e-12 + updates * (4.6e-12 + .1 * .9e-12) + .4 * dram +
			 2 * (synops + updates) * 5e-12 + .4 * 512 * 5e-12,
		 1e-9);
	end(&bench);
}

/* A list of memories alone, with another device's operations: 1 MiB of weights is between 8 KiB and 2 MiB. */
static void test_memories_alone(void **state)
{
	(void)state;
	struct bench bench;

	begin(&bench, "neuromc-32nm");
	add(&bench, 1024, 256, false);
	bench.choice.memory = WTL_MEMORY_LOCAL;
	double low = 5.8 / 16, high = 46.98 / 256;
	double read = 32 * low * pow(high / low, log(128) / log(256));
	double in = 32 * 5.3 / 16 * pow(5.8 / 5.3, log(4096 / 2304.) / log(8192 / 2304.));
	close_to(total(&bench) * 1e12, 262144 * (4.6 + read) + 1024 * in + 256 * 32 * 5.3 / 16,
		 1e-6);
	end(&bench);
}

static void test_bounds(void **state)
{
	(void)state;
	struct bench bench;
	struct wtl_price price;

	begin(&bench, "horowitz-45nm");
	add(&bench, 256, 256, false);
	bench.choice.memory = WTL_MEMORY_LOCAL;
	assert_int_equal(wtl_price_network(&bench.network, &bench.choice, &price, NULL), 0);
	close_to(price.compute.low, .7 * price.compute.nominal, 1e-9);
	close_to(price.compute.high, 1.3 * price.compute.nominal, 1e-9);
	assert_true(price.memory.low < price.memory.nominal);
	assert_true(price.memory.high > price.memory.nominal);
	close_to(price.total.high, price.compute.high + price.memory.high, 1e-12);
	/* The model of SRAM, then a multiplication, then an addition. */
	assert_int_equal(price.n_swings, 3);
	assert_null(price.swings[0].constant);
	assert_string_equal(price.swings[1].constant->name, "mul fp32");
	close_to(price.swings[1].high - price.swings[1].low, 65536 * (4.81 - 2.59) * 1e-12, 1e-9);
	assert_string_equal(price.swings[2].constant->name, "add fp32");
	assert_non_null(strstr(wtl_buf_str(&price.assumptions), "grade published"));
	wtl_price_done(&price);
	end(&bench);
}

/* Conn 100,352 and 128 neurons on a CPU: keras-spiking's page. */
static void test_processor(void **state)
{
	(void)state;
	struct bench bench;

	begin(&bench, "cpu-i7-4960x");
	add(&bench, 784, 128, false);
	bench.choice.memory = WTL_MEMORY_LOCAL;
	close_to(total(&bench), 8.6413e-4, 1e-4);
	end(&bench);
}

static void test_chips(void **state)
{
	(void)state;
	struct bench bench;

	begin(&bench, "loihi1-davies");
	add(&bench, 100, 10, false);
	bench.choice.is_spiking = true;
	bench.choice.steps = 10;
	bench.choice.rate = .5;
	close_to(total(&bench) * 1e12, 5000 * 23.6 + 100 * 81 + 50 * (1.7 + 3.5), 1e-9);
	bench.choice.hops = 0;
	close_to(total(&bench) * 1e12, 5000 * 23.6 + 100 * 81 + 50 * (1.7 + 3.5), 1e-9);
	/* An input of numbers: each of its MACs as one. */
	bench.network.layers[0].input_analog = true;
	close_to(total(&bench) * 1e12, 10000 * 23.6 + 100 * 81 + 50 * (1.7 + 3.5), 1e-9);
	bench.network.layers[0].input_analog = false;
	bench.choice.device = wtl_devices_find(&bench.devices, "truenorth");
	close_to(total(&bench) * 1e12, 5000 * 26, 1e-9);
	end(&bench);
}

static const struct {
	const char *device, *error;
	bool is_spiking;
	enum wtl_memory_place memory;
	enum wtl_precision precision;
	double rate;
} refused[] = {
	{"loihi2", "its 'synop' is unknown", true, WTL_MEMORY_LOCAL, 0, .1},
	{"loihi1-davies", "prices of spikes alone", false, WTL_MEMORY_LOCAL, 0, .1},
	{"cpu-i7-4960x", "prices of ordinary networks alone", true, WTL_MEMORY_LOCAL, 0, .1},
	{"horowitz-45nm", "no price of bf16 operations", false, WTL_MEMORY_LOCAL, WTL_BF16, .1},
	{"neuromc-32nm", "no price of bf16 operations", false, WTL_MEMORY_LOCAL, WTL_BF16, .1},
	{"horowitz-45nm", "rate of its input is not known", true, WTL_MEMORY_LOCAL, 0, (double)NAN},
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(refused); i++) {
		struct bench bench;
		struct wtl_price price;
		struct wtl_err err = {.code = 0};
		begin(&bench, refused[i].device);
		add(&bench, 10, 10, false);
		bench.choice.is_spiking = refused[i].is_spiking;
		bench.choice.memory = refused[i].memory;
		bench.choice.precision = refused[i].precision;
		bench.choice.rate = refused[i].rate;
		assert_int_equal(wtl_price_network(&bench.network, &bench.choice, &price, &err),
				 -WTL_EABSENT);
		if (!strstr(err.text, refused[i].error))
			fail_msg("'%s' does not say '%s'", err.text, refused[i].error);
		end(&bench);
	}
}

static void test_bits_of_steps(void **state)
{
	(void)state;
	assert_int_equal(wtl_price_bits_of_steps(1), 1);
	assert_int_equal(wtl_price_bits_of_steps(3), 2);
	assert_int_equal(wtl_price_bits_of_steps(4), 3);
	assert_int_equal(wtl_price_bits_of_steps(UINT32_MAX), 32);
}

/* At the rate that it says, both take the same. */
static void test_break_even_of_layers(void **state)
{
	(void)state;
	struct bench bench;
	struct wtl_break_even layers[2], whole;

	begin(&bench, "horowitz-45nm");
	add(&bench, 784, 128, false)->input_analog = true;
	add(&bench, 128, 10, false);
	bench.choice.memory = WTL_MEMORY_LOCAL;
	bench.choice.steps = 4;
	assert_int_equal(wtl_price_break_even(&bench.network, &bench.choice, &bench.choice, layers,
					      &whole, NULL),
			 0);
	assert_true(isnan(layers[0].compute) && isnan(whole.compute));
	assert_true(layers[1].compute > layers[1].with_memory && layers[1].with_memory > 0);

	struct wtl_price ann, snn;
	assert_int_equal(wtl_price_network(&bench.network, &bench.choice, &ann, NULL), 0);
	bench.choice.is_spiking = true;
	bench.choice.rate = layers[1].with_memory;
	assert_int_equal(wtl_price_network(&bench.network, &bench.choice, &snn, NULL), 0);
	close_to(snn.layers[1].compute.nominal + snn.layers[1].memory.nominal,
		 ann.layers[1].compute.nominal + ann.layers[1].memory.nominal, 1e-9);
	wtl_price_done(&ann);
	wtl_price_done(&snn);
	end(&bench);
}

/* 3×32×32 to 64 channels, kernel 3, 4 steps, 16 bit: each part by hand, as in share/estimate/papers.txt. */
static void test_lemaire(void **state)
{
	(void)state;
	struct bench bench;
	struct wtl_price price;

	begin(&bench, "horowitz-45nm");
	struct wtl_layer *layer = add(&bench, 3072, 65536, false);
	layer->kind = WTL_LAYER_CONV;
	layer->macs = 65536 * 27;
	layer->parameters = 1728;
	layer->in_channels = 3;
	layer->out_channels = 64;
	layer->kernel = 9;
	layer->kernel_by_axis[0] = layer->kernel_by_axis[1] = 3;
	layer->neuron = WTL_NEURON_IF;
	layer->rate_in = .2;
	layer->rate_out = .1;
	bench.choice.is_spiking = true;
	bench.choice.steps = 4;
	bench.choice.rules = WTL_RULES_LEMAIRE;
	bench.choice.sram = WTL_SRAM_LEMAIRE;
	bench.choice.precision = WTL_INT16;
	bench.choice.memory = WTL_MEMORY_LOCAL;
	assert_int_equal(wtl_price_network(&bench.network, &bench.choice, &price, NULL), 0);
	close_to(price.layers[0].acs, 1703936, 1e-9);
	close_to(price.layers[0].spikes, 26214.4, 1e-9);
	close_to(price.compute.nominal * 1e9, 170.4 + 17.9, 1e-3);
	close_to(price.memory.nominal * 1e6, 82.64 + 19.11 + .3836, 1e-4);
	wtl_price_done(&price);

	/* A leak is a MAC; an ordinary layer reads a weight and an input for each MAC. */
	layer->neuron = WTL_NEURON_LIF;
	assert_int_equal(wtl_price_network(&bench.network, &bench.choice, &price, NULL), 0);
	close_to(price.layers[0].macs, 4 * 65536, 1e-9);
	wtl_price_done(&price);
	bench.choice.is_spiking = false;
	assert_int_equal(wtl_price_network(&bench.network, &bench.choice, &price, NULL), 0);
	close_to(price.compute.nominal, 1769472 * 3.2e-12, 1e-9);
	close_to(price.memory.nominal,
		 (1769472 * (13.2 + 1.09e-5 * 1728 * 16) + 1769472 * (13.2 + 1.09e-5 * 3072 * 16) +
		  65536 * (13.2 + 1.09e-5 * 65536 * 16)) *
			 1e-12,
		 1e-9);
	wtl_price_done(&price);
	end(&bench);
}

static double joules_by_lemaire(struct bench *bench, struct wtl_layer_price *ret)
{
	struct wtl_price price;

	bench->choice.is_spiking = true;
	bench->choice.rules = WTL_RULES_LEMAIRE;
	bench->choice.steps = 4;
	bench->choice.rate = .1;
	assert_int_equal(wtl_price_network(&bench->network, &bench->choice, &price, NULL), 0);
	double joules = price.total.nominal;
	*ret = price.layers[0];
	wtl_price_done(&price);
	return joules;
}

/* A spike meets the synapses of its own example, not those of the whole batch; also one that comes back. */
static void test_lemaire_of_batches(void **state)
{
	(void)state;
	enum { BATCH = 8 };
	for (int is_recurrent = 0; is_recurrent < 2; is_recurrent++) {
		struct bench bench;
		struct wtl_layer_price one, many;
		begin(&bench, "horowitz-45nm");
		struct wtl_layer *layer = add(&bench, 20, 10, is_recurrent);
		double joules = joules_by_lemaire(&bench, &one);
		/* By hand: synapses, updates, resets. */
		double in = 4 * .1 * 20, out = 4 * .1 * 10;
		close_to(one.synops, in * 10 + (is_recurrent ? out * 10 : 0), 1e-9);
		close_to(one.acs, one.synops + 4 * 10 + out, 1e-9);
		layer->macs *= BATCH;
		layer->recurrent_macs *= BATCH;
		layer->input_elements *= BATCH;
		layer->output_elements *= BATCH;
		close_to(joules_by_lemaire(&bench, &many), BATCH * joules, 1e-9);
		close_to(many.synops, BATCH * one.synops, 1e-9);
		end(&bench);
	}
}

/* An input of a transposed convolution meets all of the kernel: its stride is between outputs. */
static void test_lemaire_of_transposed(void **state)
{
	(void)state;
	struct bench bench;
	struct wtl_layer_price price;

	begin(&bench, "horowitz-45nm");
	struct wtl_layer *layer = add(&bench, 3 * 16, 5 * 64, false);
	layer->kind = WTL_LAYER_CONV;
	layer->macs = 48 * 5 * 9;
	layer->out_channels = 5;
	layer->in_channels = 3;
	layer->kernel = 9;
	layer->kernel_by_axis[0] = layer->kernel_by_axis[1] = 3;
	layer->stride_by_axis[0] = layer->stride_by_axis[1] = 2;
	joules_by_lemaire(&bench, &price);
	close_to(price.acs, 4 * (.1 * 48 * 5 * 4 + 320 * 1.1), 1e-9);
	layer->is_transposed = true;
	joules_by_lemaire(&bench, &price);
	close_to(price.acs, 4 * (.1 * 48 * 5 * 9 + 320 * 1.1), 1e-9);
	end(&bench);
}

/* Activations of as many bits as the steps tell: cheaper than int8, and than fp32. */
static void test_quantized(void **state)
{
	(void)state;
	struct bench bench;

	begin(&bench, "horowitz-45nm");
	add(&bench, 100, 100, false);
	bench.choice.precision = WTL_INT8;
	bench.choice.activation_bits = wtl_price_bits_of_steps(5);
	close_to(total(&bench) * 1e12, 10000 * (.2 * 3 / 8 + .03), 1e-9);
	end(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tc_lif),
		cmocka_unit_test(test_analog),
		cmocka_unit_test(test_sram),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_memories_alone),
		cmocka_unit_test(test_processor),
		cmocka_unit_test(test_chips),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bits_of_steps),
		cmocka_unit_test(test_break_even_of_layers),
		cmocka_unit_test(test_quantized),
		cmocka_unit_test(test_lemaire),
		cmocka_unit_test(test_lemaire_of_batches),
		cmocka_unit_test(test_lemaire_of_transposed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
