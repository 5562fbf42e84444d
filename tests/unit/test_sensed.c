/* SPDX-License-Identifier: MIT */
/* What wattle calibrate --sensor found takes the place of what is known of a sensor's kind. */
#include "meter/sensed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter_bench.h"
#include "unit.h"

static void open_gpu(struct meter_bench *bench, const char *head)
{
	char text[512];
	char *script;

	meter_bench_copy(bench, "vm-nothing");
	script = unit_path(bench->copy, "script");
	bench->nvml = getenv("WATTLE_NVML_LIBRARY");
	assert_non_null(bench->nvml);
	snprintf(text, sizeof(text),
		 "%sgpu NVIDIA A100-SXM4-80GB\n"
		 "  uuid GPU-80000000-0000-4000-8000-000000000001\n"
		 "  bus 00000000:01:00.0\n"
		 "  cc 8.0\n"
		 "  power 0 const 100\n"
		 "  sensor counter gpu 100\n"
		 "  sensor instant gpu 100 25\n",
		 head);
	unit_write(bench->copy, "script", text);
	setenv("WATTLE_FAKE_NVML", script, 1);
	meter_bench_open(bench);
	unsetenv("WATTLE_FAKE_NVML");
	free(script);
}

/* The i-th channel of the GPU with that quantity. */
static size_t channel_of(const struct meter_bench *bench, enum wtl_quantity quantity)
{
	const struct wtl_catalog *catalog = &bench->meter->catalog;

	for (size_t i = 0; i < catalog->n_channels; i++)
		if (catalog->channels[i].kind == WATTLE_KIND_GPU &&
		    catalog->channels[i].quantity == quantity)
			return i;
	fail_msg("the GPU has no such channel");
	return 0;
}

static void keep(struct meter_bench *bench, const char *idle, const struct wtl_kept_sensor *kept)
{
	char path[4096];

	assert_int_equal(wtl_sensed_path(idle, path, sizeof(path)), 0);
	assert_int_equal(wtl_sensed_keep(bench->real, path, kept), 0);
}

static void test_found_sensors_are_taken(void **state)
{
	struct wtl_kept_sensor power = {.update_us = 20000,
					.window_us = 5000,
					.latency_us = 3000,
					.latency_sd_us = 500,
					.t_utc_s = 1700000000};
	struct wtl_kept_sensor counter = {.update_us = 40000, .t_utc_s = 1700000000};
	struct wtl_kept_sensor other = {.update_us = 7000, .t_utc_s = 1700000000};
	const struct wtl_channel *of_power, *of_counter;
	struct meter_bench bench;
	size_t domain;
	char *idle;

	(void)state;
	open_gpu(&bench, "");
	idle = unit_path(bench.copy, "idle");
	of_power = &bench.meter->catalog.channels[channel_of(&bench, WTL_QUANTITY_POWER)];
	of_counter = &bench.meter->catalog.channels[channel_of(&bench, WTL_QUANTITY_ENERGY)];
	assert_string_not_equal(of_power->class->name, "measured");
	wtl_kept_sensor_key(power.key, of_power->serial, of_power->class->field);
	wtl_kept_sensor_counter_key(counter.key, of_counter->serial);
	wtl_kept_sensor_counter_key(other.key, "GPU-80000000-0000-4000-8000-000000000002");
	keep(&bench, idle, &power);
	keep(&bench, idle, &counter);
	keep(&bench, idle, &other);
	assert_int_equal(wtl_sensed_load(bench.meter, idle), 0);
	assert_string_equal(of_power->class->name, "measured");
	assert_int_equal(of_power->class->window_ns, 5000000);
	assert_int_equal(of_power->class->latency_ns, 3000000);
	assert_int_equal(of_power->update_ns, 20000000);
	assert_int_equal(of_counter->update_ns, 40000000);
	assert_non_null(strstr(of_counter->device, ", sensor measured 2023-11-14"));
	/* What is asked of the domain, too. */
	domain = meter_bench_find(&bench, "gpu-0");
	assert_int_equal(meter_bench_domain(&bench, "gpu-0").update_ns,
			 bench.meter->catalog.channels[bench.meter->domains[domain].domain.primary]
				 .update_ns);
	assert_non_null(strstr(meter_bench_domain(&bench, "gpu-0").device, "sensor measured"));
	free(idle);
	meter_bench_done(&bench);
}

/* Of whatever has no number of its own, nothing was found. */
static void test_no_uuid(void **state)
{
	struct wtl_kept_sensor counter = {.update_us = 40000, .t_utc_s = 1700000000};
	const struct wtl_channel *of_counter;
	struct meter_bench bench;
	char *idle;

	(void)state;
	open_gpu(&bench, "answer nvmlDeviceGetUUID NOT_SUPPORTED\n");
	idle = unit_path(bench.copy, "idle");
	of_counter = &bench.meter->catalog.channels[channel_of(&bench, WTL_QUANTITY_ENERGY)];
	assert_string_equal(of_counter->serial, "");
	wtl_kept_sensor_counter_key(counter.key, "");
	keep(&bench, idle, &counter);
	assert_int_equal(wtl_sensed_load(bench.meter, idle), 0);
	assert_int_not_equal(of_counter->update_ns, 40000000);
	free(idle);
	meter_bench_done(&bench);
}

/* A line is for a GPU's own sensor: for a file's, only if its rows are readings of it, and neither scrapes nor counters. */
static void test_whose_lines(void **state)
{
	static const struct {
		enum wtl_quantity quantity;
		enum wattle_kind kind;
		const char *source, *class;
		bool is_taken;
	} cases[] = {
		{WTL_QUANTITY_ENERGY, WATTLE_KIND_GPU, "nvml", NULL, true},
		{WTL_QUANTITY_ENERGY, WATTLE_KIND_GPU, "file", NULL, false},
		{WTL_QUANTITY_ENERGY, WATTLE_KIND_CPU, "nvml", NULL, false},
		{WTL_QUANTITY_POWER, WATTLE_KIND_GPU, "nvml", "x", true},
		{WTL_QUANTITY_POWER, WATTLE_KIND_GPU, "file", "x", true},
		{WTL_QUANTITY_POWER, WATTLE_KIND_CPU, "nvml", "x", false},
		{WTL_QUANTITY_POWER, WATTLE_KIND_GPU, "file", "mean", false},
		{WTL_QUANTITY_POWER, WATTLE_KIND_GPU, "nvml", NULL, false},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct wtl_kept_sensor kept = {.update_us = 40000, .t_utc_s = 1700000000};
		struct wtl_sensor_class class;
		struct wtl_channel *channel;
		struct meter_bench bench;
		int64_t update_ns;
		char *idle;

		open_gpu(&bench, "");
		idle = unit_path(bench.copy, "idle");
		channel = &bench.meter->catalog.channels[channel_of(&bench, cases[i].quantity)];
		if (cases[i].quantity == WTL_QUANTITY_ENERGY) {
			wtl_kept_sensor_counter_key(kept.key, channel->serial);
		} else {
			wtl_kept_sensor_key(kept.key, channel->serial, channel->class->field);
			class = *channel->class;
			class.name = cases[i].class;
			channel->class = class.name ? &class : NULL;
		}
		channel->kind = cases[i].kind;
		channel->source = cases[i].source;
		update_ns = channel->update_ns;
		keep(&bench, idle, &kept);
		assert_int_equal(wtl_sensed_load(bench.meter, idle), 0);
		assert_int_equal(strstr(channel->device, "sensor measured") != NULL,
				 cases[i].is_taken);
		/* A file's times are its own. */
		assert_int_equal(channel->update_ns,
				 cases[i].is_taken && strcmp(channel->source, "nvml") == 0
					 ? 40000000
					 : update_ns);
		if (cases[i].is_taken && cases[i].class)
			assert_int_equal(channel->class->update_ns, channel->update_ns);
		assert_true(update_ns > 40000000);
		free(idle);
		meter_bench_done(&bench);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found_sensors_are_taken),
		cmocka_unit_test(test_no_uuid),
		cmocka_unit_test(test_whose_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
