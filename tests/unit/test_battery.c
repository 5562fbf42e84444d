/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sensors/source.h"
#include "source_bench.h"

#define SECOND INT64_C(1000000000)
#define PNP    "/sys/devices/LNXSYSTM:00/LNXSYBUS:00/PNP0A08:00/device:1f/PNP0C09:00"
#define BAT0   PNP "/PNP0C0A:00/power_supply/BAT0"
#define BAT1   PNP "/PNP0C0A:01/power_supply/BAT1"

static void two_batteries(void **state)
{
	struct bench bench;
	char text[256];

	(void)state;
	bench_root(&bench, "laptop-battery");
	bench_open(&bench, &wtl_source_battery);
	/* Not the mains, and not the mouse. */
	assert_string_equal(bench_domains(&bench, text, sizeof(text)), "battery-0 battery-1");
	assert_int_equal(bench.catalog.n_misses, 0);
	for (unsigned i = 0; i < 2; i++) {
		const struct wtl_channel *channel = &bench.catalog.channels[i];

		assert_int_equal(channel->kind, WATTLE_KIND_BATTERY);
		assert_int_equal(channel->quantity, WTL_QUANTITY_POWER);
		assert_int_equal(channel->method, WATTLE_METHOD_INTEGRATED);
		assert_false(channel->in_total);
	}
	assert_string_equal(bench.catalog.channels[0].device, "BAT0");
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "battery-0")->value, 7421000);
	/* 0.402 A × 11.85 V */
	assert_int_equal(bench_reading(&bench, "battery-1")->value, 4763700);
	bench_done(&bench);
}

static void minus_signs(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "laptop-battery");
	bench_write(&bench, BAT0 "/power_now", "-7421000\n");
	bench_write(&bench, BAT1 "/current_now", "-402000\n");
	bench_open(&bench, &wtl_source_battery);
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "battery-0")->value, 7421000);
	assert_int_equal(bench_reading(&bench, "battery-1")->value, 4763700);
	bench_done(&bench);
}

static void charging(void **state)
{
	struct bench bench;
	const struct wtl_miss *miss;

	(void)state;
	bench_copy(&bench, "laptop-battery");
	bench_write(&bench, BAT0 "/status", "Charging\n");
	bench_open(&bench, &wtl_source_battery);
	miss = bench_miss(&bench, "battery-0");
	assert_int_equal(miss->status, WATTLE_STATUS_ABSENT);
	assert_false(miss->in_total);
	assert_non_null(strstr(miss->reason, "\"Charging\""));
	assert_string_equal(miss->remedy, "unplug the charger");
	assert_int_equal(bench.catalog.n_misses, 1);
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "battery-0")->status, WATTLE_STATUS_ABSENT);
	assert_int_equal(bench_reading(&bench, "battery-1")->status, WATTLE_STATUS_OK);

	/* Unplugged, and plugged in again. */
	bench_write(&bench, BAT0 "/status", "Discharging\n");
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "battery-0")->status, WATTLE_STATUS_OK);
	assert_int_equal(bench_reading(&bench, "battery-0")->value, 7421000);
	bench_write(&bench, BAT0 "/status", "Not charging\n");
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "battery-0")->status, WATTLE_STATUS_ABSENT);
	bench_done(&bench);
}

static void no_answer_yet_is_not_zero(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "laptop-battery");
	bench_write(&bench, BAT0 "/power_now", "0\n");
	bench_open(&bench, &wtl_source_battery);
	assert_int_equal(bench.catalog.n_misses, 0);
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "battery-0")->status, WATTLE_STATUS_STALE);
	assert_int_equal(bench_reading(&bench, "battery-0")->error, -ENODATA);
	bench_done(&bench);
}

static void taken_out_and_put_back(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "laptop-battery");
	bench_open(&bench, &wtl_source_battery);
	bench_write(&bench, BAT0 "/status", "!errno ENODEV");
	bench_write(&bench, BAT0 "/power_now", "!errno ENODEV");
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "battery-0")->status, WATTLE_STATUS_GONE);
	bench_read(&bench, SECOND / 10);
	assert_int_equal(bench_reading(&bench, "battery-0")->status, WATTLE_STATUS_GONE);
	bench_write(&bench, BAT0 "/status", "Discharging\n");
	bench_write(&bench, BAT0 "/power_now", "8000000\n");
	bench_read(&bench, SECOND);
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "battery-0")->status, WATTLE_STATUS_OK);
	assert_int_equal(bench_reading(&bench, "battery-0")->value, 8000000);
	bench_done(&bench);
}

static void names_and_rubbish(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "laptop-battery");
	bench_write(&bench, BAT0 "/manufacturer", "SANYO\n");
	bench_write(&bench, BAT0 "/model_name",
		    "45N\x1b"
		    "1 \n");
	bench_remove(&bench, BAT1 "/current_now");
	bench_open(&bench, &wtl_source_battery);
	assert_string_equal(bench_channel(&bench, "battery-0")->device, "SANYO 45N?1");
	assert_int_equal(bench.catalog.n_channels, 1);
	assert_int_equal(bench_miss(&bench, "battery-1")->status, WATTLE_STATUS_ABSENT);
	bench_done(&bench);

	bench_copy(&bench, "laptop-battery");
	bench_write(&bench, BAT0 "/power_now", "9223372036854775808\n");
	bench_write(&bench, BAT1 "/current_now", "9223372036854775807\n");
	bench_open(&bench, &wtl_source_battery);
	bench_read(&bench, SECOND / 10);
	assert_int_equal(bench_reading(&bench, "battery-0")->error, -ERANGE);
	assert_int_equal(bench_reading(&bench, "battery-1")->error, -ERANGE);
	bench_done(&bench);

	bench_root(&bench, "rubbish");
	bench_open(&bench, &wtl_source_battery);
	assert_int_equal(bench_miss(&bench, "battery-0")->status, WATTLE_STATUS_FAILED);
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "battery-0")->status, WATTLE_STATUS_FAILED);
	bench_done(&bench);
}

static void absent_and_denied(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "laptop-battery");
	bench_write(&bench, BAT0 "/present", "0\n");
	bench_write(&bench, BAT1 "/current_now", "!errno EACCES");
	bench_open(&bench, &wtl_source_battery);
	assert_int_equal(bench.catalog.n_channels, 0);
	assert_int_equal(bench.catalog.n_misses, 1);
	assert_int_equal(bench_miss(&bench, "battery-0")->status, WATTLE_STATUS_DENIED);
	bench_done(&bench);

	bench_root(&bench, "vm-nothing");
	bench_open(&bench, &wtl_source_battery);
	assert_int_equal(bench.catalog.n_channels + bench.catalog.n_misses, 0);
	bench_read(&bench, SECOND);
	bench_done(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_batteries),
		cmocka_unit_test(minus_signs),
		cmocka_unit_test(charging),
		cmocka_unit_test(no_answer_yet_is_not_zero),
		cmocka_unit_test(taken_out_and_put_back),
		cmocka_unit_test(names_and_rubbish),
		cmocka_unit_test(absent_and_denied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
