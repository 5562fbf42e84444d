/* SPDX-License-Identifier: MIT */
/* A tape gives a meter the same energies as the machine that it was recorded on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <wattle.h>

#include "base/err.h"
#include "energy/units.h"
#include "meter_bench.h"
#include "unit.h"

enum { FRAMES = 5, DOMAINS = 8 };

#define PACKAGE0 "sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj"

static struct wattle_meter *open_recording(const char *root, const char *tape, struct wtl_io **io)
{
	const struct wattle_options options = {.size = sizeof(options), .nvml_path = ""};
	struct wtl_env env = {.log = NULL};
	struct wattle_meter *meter = NULL;
	struct wtl_io *real;
	struct wtl_err err = {.code = 0};

	if (wtl_io_real_new(root, &real, &err) < 0 ||
	    wtl_io_record_new(real, tape, &env.io, &err) < 0 ||
	    wtl_meter_new(&env, &options, &meter, &err) < 0)
		fail_msg("%s: %s", err.source, err.text);
	*io = env.io;
	return meter;
}

/* Records a window in which package-0 uses 1 J a frame. */
static void record(struct meter_bench *bench, const char *tape, struct wattle_window *ret_window,
		   struct wattle_energy energies[])
{
	struct wtl_io *io;
	struct wattle_meter *meter = NULL;

	meter_bench_write(bench, PACKAGE0, "1000000\n");
	meter = open_recording(bench->root, tape, &io);
	assert_return_code(wattle_window_begin(meter, "w"), 0);
	for (int i = 1; i <= FRAMES; i++) {
		meter_bench_write(bench, PACKAGE0, "%d\n", 1000000 * (i + 1));
		assert_return_code(wtl_io_wait_until(io, wtl_io_mono_ns(io) + 5 * WTL_NS_PER_MS),
				   0);
		assert_return_code(wattle_meter_tick(meter), 0);
	}
	assert_return_code(wtl_window_end(meter, "w", ret_window, energies, DOMAINS), 0);
	assert_return_code(wtl_io_record_error(io), 0);
	wattle_meter_close(meter);
}

static void test_replay(void **state)
{
	struct wattle_energy recorded[DOMAINS], replayed[DOMAINS];
	struct wattle_window was, is;
	struct meter_bench bench;
	struct wattle_meter *meter = NULL;
	struct wattle_options options = {.size = sizeof(options), .nvml_path = ""};
	struct wattle_error error = {.size = sizeof(error)};
	unsigned ticks = 0;
	char *tape;
	int rc, i;

	(void)state;
	meter_bench_copy(&bench, "nvidia-server");
	tape = unit_path(bench.copy, "machine.tape");
	record(&bench, tape, &was, recorded);
	options.tape = tape;
	if (wattle_meter_open(&options, &meter, &error) < 0)
		fail_msg("%s: %s", error.source, error.text);
	i = wattle_meter_find(meter, "package-0");
	assert_in_range(i, 0, DOMAINS - 1);
	assert_return_code(wattle_window_begin(meter, "w"), 0);
	while ((rc = wattle_meter_tick(meter)) == 0)
		ticks++;
	assert_int_equal(rc, -ENODATA);
	assert_int_equal(wattle_meter_tick(meter), -ENODATA);
	assert_int_equal(ticks, FRAMES);
	assert_return_code(wtl_window_end(meter, "w", &is, replayed, DOMAINS), 0);
	assert_int_equal(recorded[i].energy_uj, 1000000 * FRAMES);
	assert_int_equal(replayed[i].energy_uj, recorded[i].energy_uj);
	assert_int_equal(is.total.energy_uj, was.total.energy_uj);
	assert_int_equal(is.begin_utc_ns / WTL_NS_PER_S, was.begin_utc_ns / WTL_NS_PER_S);
	assert_true(is.duration_ns > FRAMES * 5 * WTL_NS_PER_MS / 2);
	wattle_meter_close(meter);
	free(tape);
	meter_bench_done(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
