/* SPDX-License-Identifier: MIT */
/* Networks and rates as text: what they count, and what is wrong with a file. */
#include <math.h>
#include <string.h>

#include "unit.h"

#include "base/err.h"
#include "neural/net_text.h"
#include "neural/price.h"

static void read_text(const char *text, struct wtl_network *network)
{
	struct wtl_err err = {.code = 0};

	assert_true(wtl_net_text_is(text, strlen(text)));
	if (wtl_net_text_read(text, strlen(text), "x", network, &err) < 0)
		fail_msg("%s: %s", err.path, err.text);
}

static void test_counts(void **state)
{
	(void)state;
	static const struct {
		const char *layer;
		uint64_t macs, recurrent_macs, parameters, outputs;
	} rows[] = {
		{"input 8 analog\ndense a 64 recurrent", 8 * 64 + 64 * 64, 64 * 64,
		 8 * 64 + 64 * 64, 64},
		{"input 8\ndense a 10 bias", 80, 0, 90, 10},
		{"input 3x32x32\nconv a 64 kernel 3 pad 1", 1769472, 0, 1728, 65536},
		{"input 64x5x5\nconv a 64 kernel 3 groups 64 bias", 5184, 0, 640, 576},
		{"input 2x9\nconv a 4 kernel 3 stride 2", 96, 0, 24, 16},
		{"input 2x9x9\npool a 3", 0, 0, 0, 18},
		{"input 2x9x4\npool a 3x2", 0, 0, 0, 12},
		{"input 25\nlstm a 5 elementwise neurobench", 615, 100, 600, 5},
		{"input 25\ngru a 5 elementwise neurobench", 465, 75, 450, 5},
		{"input 25\nrnn a 5 elementwise neurobench", 150, 25, 150, 5},
		{"input 4\nlstm a 36 elementwise yin", 4 * 36 * 40 + 17 * 36, 4 * 36 * 36,
		 4 * 36 * 40, 36},
	};

	for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
		struct wtl_network network;
		char text[200] = "network n\n";
		strcat(text, rows[i].layer);
		read_text(text, &network);
		assert_int_equal(network.n, 1);
		assert_int_equal(network.layers[0].macs, rows[i].macs);
		assert_int_equal(network.macs_max, rows[i].macs);
		assert_int_equal(network.layers[0].recurrent_macs, rows[i].recurrent_macs);
		assert_int_equal(network.layers[0].parameters, rows[i].parameters);
		assert_int_equal(network.layers[0].output_elements, rows[i].outputs);
		wtl_network_done(&network);
	}
}

static void test_rates(void **state)
{
	(void)state;
	struct wtl_network network;

	read_text("network a b # comment\nsequence 784\nprecision int8 int16\ninput 8 rate 0.5\n"
		  "dense r1 64 neuron alif rate 0.1\ndense r2 4 neuron readout\n",
		  &network);
	assert_string_equal(network.name, "a b");
	assert_int_equal(network.steps, 784);
	assert_true(network.is_sequence);
	assert_int_equal(network.layers[0].weights, WTL_INT8);
	assert_int_equal(network.layers[0].activations, WTL_INT16);
	assert_float_equal(network.layers[0].rate_in, .5, 0);
	assert_float_equal(network.layers[1].rate_in, .1, 0);
	assert_int_equal(network.layers[1].neuron, WTL_NEURON_READOUT);

	static const char rates[] = "input 0.4\nr1 0.3\n";
	assert_int_equal(wtl_rates_apply(&network, rates, strlen(rates), "r", NULL), 0);
	assert_float_equal(network.layers[0].rate_in, .4, 0);
	assert_float_equal(network.layers[1].rate_in, .3, 0);
	static const char more[] = "r1 0.3 in 0.2\nr2 0 in 0.7\n";
	assert_int_equal(wtl_rates_apply(&network, more, strlen(more), "r", NULL), 0);
	assert_float_equal(network.layers[0].rate_in, .2, 0);
	assert_float_equal(network.layers[1].rate_in, .7, 0);
	wtl_network_done(&network);
}

static const struct {
	const char *text, *place, *error;
} bad_rates[] = {
	{"r1 0.1\n", "r", "it has no rate for the layer 'r2'"},
	{"r1 0.1\nr3 0.1\n", "r:2", "the network has no layer 'r3'"},
	{"r1 0.1\nr1 0.1\n", "r:2", "the layer 'r1' comes twice"},
	{"r1 -0.1\n", "r:1", "a rate is -0.1"},
	{"r1 ten\n", "r:1", "a rate is a number, not 'ten'"},
	{"r1\n", "r:1", "a line is LAYER RATE"},
	{"input\n", "r:1", "one number"},
};

static const struct {
	const char *text, *place, *error;
} bad[] = {
	{"network n\n", "x:1", "there are no layers"},
	{"dense a 10\n", "x:1", "the first statement is 'network NAME'"},
	{"network n\nnetwork m\n", "x:2", "one network"},
	{"network n\ndense a 10\n", "x:2", "the input comes before"},
	{"network n\ninput 8 fast\n", "x:2", "'analog', or has a 'rate R'"},
	{"network n\ninput 8\ninput 8\n", "x:3", "one input"},
	{"network n\ninput 8\ndense a\n", "x:3", "a name and a size"},
	{"network n\ninput 8\ndense a 0\n", "x:3", "'0' is no size"},
	{"network n\ninput 8\ndense a 8xx\n", "x:3", "is no size"},
	{"network n\ninput 8\ndense a 8\ndense a 8\n", "x:4", "two layers 'a'"},
	{"network n\ninput 8\ndense a 8 neuron spiky\n", "x:3", "'spiky' is no neuron"},
	{"network n\ninput 8\ndense a 8 neuron\n", "x:3", "'neuron' has no value"},
	{"network n\ninput 8\ndense a 8 speed 3\n", "x:3", "'speed' is not known here"},
	{"network n\ninput 8\nsparse a 8\n", "x:3", "'sparse' is no layer"},
	{"network n\ninput 8\nconv a 8 kernel 3\n", "x:3", "an input such as 3x32x32"},
	{"network n\ninput 3x8\nconv a 8 kernel 9\n", "x:3", "larger than its input"},
	{"network n\ninput 3x8\nconv a 8 kernel 3x3\n", "x:3", "is for 2 axes, its input has 1"},
	{"network n\ninput 3x8\nconv a 8 kernel 3 groups 2\n", "x:3", "that its groups divide"},
	{"network n\nprecision fp31\n", "x:2", "'precision WEIGHTS [ACTIVATIONS]'"},
	{"network n\nsteps 0\n", "x:2", "a number of time steps is 0"},
	{"network n\ninput 4294967295x4294967295x4294967295\ndense a 4294967295\n", "x:3",
	 "do not fit into 64 bits"},
};

static void says(const struct wtl_err *err, const char *place, const char *error)
{
	assert_string_equal(err->path, place);
	if (!strstr(err->text, error))
		fail_msg("'%s' does not say '%s'", err->text, error);
}

static void test_errors(void **state)
{
	(void)state;
	struct wtl_network network;
	struct wtl_err err;

	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		int rc = wtl_net_text_read(bad[i].text, strlen(bad[i].text), "x", &network, &err);
		assert_int_equal(rc, -WTL_EFORMAT);
		says(&err, bad[i].place, bad[i].error);
	}
	read_text("network n\ninput 8\ndense r1 8\npool p 1\ndense r2 8\n", &network);
	for (size_t i = 0; i < UNIT_COUNT(bad_rates); i++) {
		int rc = wtl_rates_apply(&network, bad_rates[i].text, strlen(bad_rates[i].text),
					 "r", &err);
		assert_int_equal(rc, -WTL_EFORMAT);
		says(&err, bad_rates[i].place, bad_rates[i].error);
	}
	wtl_network_done(&network);
}

/* As an ordinary network, a sequence runs each step: three LSTM layers by the formula of TC-LIF and Yin. */
static void test_sequence(void **state)
{
	(void)state;
	static const char lstm[] =
		"network lstm\nsequence 784\ninput 8\nlstm a 64 elementwise yin\n"
		"lstm b 256 elementwise yin\nlstm c 256 elementwise yin\n";
	struct wtl_devices devices = {0};
	struct wtl_network network;
	struct wtl_price price;
	double nj;

	assert_int_equal(wtl_devices_builtin(&devices, NULL), 0);
	struct wtl_price_choice choice = {
		.device = devices.devices, .memory = WTL_MEMORY_NONE, .rate = (double)NAN};
	read_text(lstm, &network);
	assert_int_equal(wtl_price_network(&network, &choice, &price, NULL), 0);
	nj = price.total.nominal * 1e9 / 784;
	assert_true(fabs(nj - 4048.88) < .01);
	wtl_price_done(&price);
	wtl_network_done(&network);
	wtl_devices_done(&devices);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_sequence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
