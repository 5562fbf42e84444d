/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <wattle.h>

#include "energy/units.h"
#include "meter_bench.h"
#include "unit.h"

#define MS	 WTL_NS_PER_MS
#define S	 WTL_NS_PER_S
#define ZONES	 "sys/devices/virtual/powercap/intel-rapl/"
#define PACKAGE0 ZONES "intel-rapl:0/energy_uj"

static void start(struct meter_bench *bench)
{
	meter_bench_copy(bench, "nvidia-server");
	meter_bench_write(bench, PACKAGE0, "1000000\n");
	meter_bench_open(bench);
}

/* Time passes, and package-0 uses energy. */
static void use(struct meter_bench *bench, int64_t later_ns, uint64_t *counter_uj, uint64_t uj)
{
	*counter_uj += uj;
	meter_bench_write(bench, PACKAGE0, "%llu\n", (unsigned long long)*counter_uj);
	meter_bench_tick(bench, later_ns);
}

/* Ends a window; package-0's energy. */
static struct wattle_energy end(struct meter_bench *bench, const char *name)
{
	struct wattle_energy energies[8];

	assert_return_code(wtl_window_end(bench->meter, name, NULL, energies, 8), 0);
	return energies[meter_bench_find(bench, "package-0")];
}

static void test_nest(void **state)
{
	struct meter_bench bench;
	uint64_t counter = 1000000;

	(void)state;
	start(&bench);
	assert_return_code(wattle_window_begin(bench.meter, "outer"), 0);
	use(&bench, 100 * MS, &counter, 1000);
	assert_return_code(wattle_window_begin(bench.meter, "inner"), 0);
	use(&bench, 100 * MS, &counter, 200);
	assert_int_equal(end(&bench, "inner").energy_uj, 200);
	use(&bench, 100 * MS, &counter, 30);
	assert_int_equal(end(&bench, "outer").energy_uj, 1230);
	meter_bench_done(&bench);
}

static void test_overlap(void **state)
{
	struct meter_bench bench;
	uint64_t counter = 1000000;
	struct wattle_energy a, b;

	(void)state;
	start(&bench);
	assert_return_code(wattle_window_begin(bench.meter, "a"), 0);
	use(&bench, 100 * MS, &counter, 1000);
	assert_return_code(wattle_window_begin(bench.meter, "b"), 0);
	use(&bench, 100 * MS, &counter, 200);
	a = end(&bench, "a");
	use(&bench, 300 * MS, &counter, 30);
	b = end(&bench, "b");
	assert_int_equal(a.energy_uj, 1200);
	assert_int_equal(a.measured_ns, 200 * MS);
	assert_int_equal(b.energy_uj, 230);
	assert_int_equal(b.measured_ns, 400 * MS);
	meter_bench_done(&bench);
}

static void test_stack(void **state)
{
	struct meter_bench bench;
	struct wattle_energy energies[8] = {{.size = sizeof(energies[0])}};
	uint64_t counter = 1000000, expect[4] = {0};

	(void)state;
	start(&bench);
	/* A window of the same name, by key: another thing. */
	assert_return_code(wattle_window_begin(bench.meter, "f"), 0);
	for (int i = 0; i < 4; i++) {
		assert_return_code(wattle_window_push(bench.meter, "f"), 0);
		use(&bench, 100 * MS, &counter, UINT64_C(1) << (4 * i));
	}
	for (int i = 3; i >= 0; i--) {
		for (int k = i; k < 4; k++)
			expect[i] += UINT64_C(1) << (4 * k);
		assert_return_code(wattle_window_pop(bench.meter, NULL, energies, 8), 0);
		assert_int_equal(energies[meter_bench_find(&bench, "package-0")].energy_uj,
				 expect[i]);
	}
	assert_int_equal(wattle_window_pop(bench.meter, NULL, NULL, 0), -WATTLE_E_NO_WINDOW);
	assert_int_equal(end(&bench, "f").energy_uj, 0x1111);
	/* A pushed window is not known by its name. */
	assert_return_code(wattle_window_push(bench.meter, "g"), 0);
	assert_int_equal(wtl_window_end(bench.meter, "g", NULL, NULL, 0), -WATTLE_E_NO_WINDOW);
	assert_int_equal(wattle_window_cancel(bench.meter, "g"), -WATTLE_E_NO_WINDOW);
	assert_return_code(wattle_window_pop(bench.meter, NULL, NULL, 0), 0);
	meter_bench_done(&bench);
}

static void test_limit(void **state)
{
	struct meter_bench bench;
	char name[16];

	(void)state;
	meter_bench_root(&bench, "vm-nothing");
	bench.options.max_windows = 3;
	meter_bench_open(&bench);
	assert_return_code(wattle_window_begin(bench.meter, "0"), 0);
	assert_return_code(wattle_window_push(bench.meter, "1"), 0);
	assert_return_code(wattle_window_begin(bench.meter, "2"), 0);
	assert_int_equal(wattle_window_begin(bench.meter, "3"), -WATTLE_E_TOO_MANY);
	assert_int_equal(wattle_window_push(bench.meter, "3"), -WATTLE_E_TOO_MANY);
	assert_return_code(wattle_window_cancel(bench.meter, "0"), 0);
	assert_return_code(wattle_window_begin(bench.meter, "3"), 0);
	meter_bench_done(&bench);

	meter_bench_root(&bench, "vm-nothing");
	meter_bench_open(&bench);
	for (int i = 0; i < 65; i++) {
		snprintf(name, sizeof(name), "w%d", i);
		assert_int_equal(wattle_window_begin(bench.meter, name),
				 i < 64 ? 0 : -WATTLE_E_TOO_MANY);
	}
	meter_bench_done(&bench);
}

/* A session's own window begins anew with the newest sample, and nothing is read for that. */
static void test_mark(void **state)
{
	static const struct wattle_options two = {.size = sizeof(two), .max_windows = 2};
	struct wattle_energy energies[8];
	struct meter_bench bench;
	uint64_t counter = 1000000;
	size_t package;

	(void)state;
	meter_bench_copy(&bench, "nvidia-server");
	meter_bench_write(&bench, PACKAGE0, "1000000\n");
	bench.options = two;
	meter_bench_open(&bench);
	package = meter_bench_find(&bench, "package-0");
	assert_return_code(wattle_window_begin(bench.meter, "a"), 0);
	assert_return_code(wattle_window_begin(bench.meter, "b"), 0);
	assert_int_equal(wtl_window_mark(bench.meter), -WATTLE_E_TOO_MANY);
	assert_return_code(wattle_window_cancel(bench.meter, "b"), 0);
	for (uint64_t uj = 1000; uj <= 3000; uj += 1000) {
		meter_bench_write(&bench, PACKAGE0, "%llu\n", (unsigned long long)counter + 77);
		assert_int_equal(wtl_window_mark(bench.meter), 0);
		use(&bench, 100 * MS, &counter, uj);
		assert_return_code(
			wtl_window_look(bench.meter, WTL_WINDOW_OF_SESSION, NULL, energies, 8), 0);
		assert_int_equal(energies[package].energy_uj, uj);
		assert_int_equal(energies[package].measured_ns, 100 * MS);
	}
	assert_int_equal(end(&bench, "a").energy_uj, 6000);
	meter_bench_done(&bench);
}

static void test_names(void **state)
{
	static const char *const odd[] = {
		"\xff",	     "a\n",	      "\n",   " a",	     "a ", "a\tb", "\x1b[31mred",
		"a\xc2\x85", "\xe2\x80\xaez", "\xc3", "\xed\xa0\x80"};
	struct meter_bench bench;
	char name[65];

	(void)state;
	meter_bench_root(&bench, "vm-nothing");
	meter_bench_open(&bench);
	memset(name, 'x', 64);
	name[64] = '\0';
	assert_int_equal(wattle_window_begin(bench.meter, name), -EINVAL);
	assert_int_equal(wattle_window_push(bench.meter, name), -EINVAL);
	assert_int_equal(wtl_window_end(bench.meter, name, NULL, NULL, 0), -EINVAL);
	assert_int_equal(wtl_window_read(bench.meter, name, NULL, NULL, 0), -EINVAL);
	assert_int_equal(wattle_window_cancel(bench.meter, name), -EINVAL);
	name[63] = '\0';
	assert_return_code(wattle_window_begin(bench.meter, name), 0);
	assert_return_code(wtl_window_end(bench.meter, name, NULL, NULL, 0), 0);
	assert_int_equal(wattle_window_begin(bench.meter, ""), -EINVAL);
	assert_int_equal(wattle_window_begin(bench.meter, NULL), -EINVAL);
	assert_int_equal(wattle_window_push(bench.meter, NULL), -EINVAL);
	assert_int_equal(wtl_window_read(bench.meter, NULL, NULL, NULL, 0), -EINVAL);
	/* What a recording would have to clean might become another one's name. */
	for (size_t i = 0; i < UNIT_COUNT(odd); i++) {
		assert_int_equal(wattle_window_begin(bench.meter, odd[i]), -EINVAL);
		assert_int_equal(wattle_window_push(bench.meter, odd[i]), -EINVAL);
	}
	assert_return_code(wattle_window_begin(bench.meter, "gr\xc3\xbc\xc3\x9f '%s' \\"), 0);
	meter_bench_done(&bench);
}

static void test_unknown_and_twice(void **state)
{
	struct meter_bench bench;
	struct wattle_window window = {.duration_ns = -7};
	struct wattle_energy energy = {.energy_uj = 7};

	(void)state;
	meter_bench_root(&bench, "vm-nothing");
	meter_bench_open(&bench);
	assert_int_equal(wtl_window_end(bench.meter, "w", &window, &energy, 1),
			 -WATTLE_E_NO_WINDOW);
	assert_int_equal(wtl_window_read(bench.meter, "w", &window, &energy, 1),
			 -WATTLE_E_NO_WINDOW);
	assert_int_equal(wattle_window_pop(bench.meter, &window, &energy, 1), -WATTLE_E_NO_WINDOW);
	assert_int_equal(wattle_window_cancel(bench.meter, "w"), -WATTLE_E_NO_WINDOW);
	assert_int_equal(window.duration_ns, -7);
	assert_int_equal(energy.energy_uj, 7);
	assert_return_code(wattle_window_begin(bench.meter, "w"), 0);
	assert_int_equal(wattle_window_begin(bench.meter, "w"), -WATTLE_E_WINDOW_OPEN);
	assert_return_code(wtl_window_end(bench.meter, "w", NULL, NULL, 0), 0);
	assert_return_code(wattle_window_begin(bench.meter, "w"), 0);
	meter_bench_done(&bench);
}

/* Fewer energies than domains may be asked for; none beyond are touched. */
static void test_few_energies(void **state)
{
	struct meter_bench bench;
	struct wattle_energy energies[12];
	size_t n;

	(void)state;
	start(&bench);
	n = wattle_meter_domains(bench.meter);
	assert_return_code(wattle_window_begin(bench.meter, "w"), 0);
	memset(energies, 0x5a, sizeof(energies));
	assert_return_code(wtl_window_read(bench.meter, "w", NULL, energies, 1), 0);
	assert_int_equal(energies[0].has_energy, 0);
	assert_int_equal(energies[1].has_energy, 0x5a5a5a5a);
	assert_return_code(wtl_window_end(bench.meter, "w", NULL, energies, 12), 0);
	assert_true(energies[n - 1].has_energy != 0x5a5a5a5a);
	assert_int_equal(energies[n].has_energy, 0x5a5a5a5a);
	meter_bench_done(&bench);
}

static void test_running_value(void **state)
{
	struct meter_bench bench;
	uint64_t counter = 1000000, last_uj = 0, last_battery_uj = 0;
	int64_t last_ns = 0;

	(void)state;
	meter_bench_copy(&bench, "laptop-battery");
	meter_bench_open(&bench);
	assert_return_code(wattle_window_begin(bench.meter, "w"), 0);
	counter = 4000000;
	meter_bench_write(&bench, PACKAGE0, "%llu\n", (unsigned long long)counter);
	meter_bench_tick(&bench, 100 * MS); /* began anew */
	for (int i = 0; i < 300; i++) {
		struct wattle_window window;
		struct wattle_energy battery;

		use(&bench, 20 * MS, &counter, (uint64_t)(i % 7) * 1000);
		/* A power that falls: its guessed tail must not make the sum fall. */
		if (i == 100)
			meter_bench_write(&bench, "sys/class/power_supply/BAT0/power_now",
					  "100000\n");
		assert_return_code(wtl_window_read(bench.meter, "w", &window, NULL, 0), 0);
		assert_true(window.total.energy_uj >= last_uj);
		assert_true(window.duration_ns > last_ns);
		last_uj = window.total.energy_uj;
		last_ns = window.duration_ns;
		battery = meter_bench_energy(&bench, "w", "battery-0");
		/* A sampled power that falls corrects what was guessed since the reading before, and
		 * no more than that: at most 1.5 updates of 1 s, of 7.42 W. */
		assert_true(battery.energy_uj + 11130000 >= last_battery_uj);
		last_battery_uj = battery.energy_uj;
	}
	assert_true(last_uj > 0 && last_battery_uj > 0);
	meter_bench_done(&bench);
}

/* Windows that follow each other add up to the one around them, to the microjoule. */
static void test_additive(void **state)
{
	struct meter_bench bench;
	uint64_t count = 535152286236672, sum = 0;
	struct wattle_energy whole;
	int64_t sum_ns = 0;

	(void)state;
	meter_bench_copy(&bench, "xeon-2s-dram");
	meter_bench_open(&bench);
	assert_return_code(wattle_window_begin(bench.meter, "whole"), 0);
	assert_return_code(wattle_window_begin(bench.meter, "part"), 0);
	for (int i = 0; i < 1000; i++) {
		struct wattle_energy energies[8], *part;

		count += 12345677u + (unsigned)i * 7919u;
		meter_bench_write(&bench, "wattle-perf/18-2-0", "%llu\n",
				  (unsigned long long)count);
		meter_bench_tick(&bench, 3 * MS);
		assert_return_code(wtl_window_end(bench.meter, "part", NULL, energies, 8), 0);
		assert_return_code(wattle_window_begin(bench.meter, "part"), 0);
		part = &energies[meter_bench_find(&bench, "package-0")];
		sum += part->energy_uj;
		sum_ns += part->measured_ns;
	}
	whole = meter_bench_energy(&bench, "whole", "package-0");
	assert_int_equal(sum, whole.energy_uj);
	assert_int_equal(sum_ns, whole.measured_ns);
	assert_int_equal(whole.energy_uj, ((count - 535152286236672) * 1000000) >> 32);
	meter_bench_done(&bench);
}

static void test_power(void **state)
{
	struct meter_bench bench;
	struct wattle_window window;
	struct wattle_energy e;
	uint64_t counter = 1000000;

	(void)state;
	start(&bench);
	/* 400 W before the window, which is no part of it. */
	for (int i = 0; i < 10; i++)
		use(&bench, 20 * MS, &counter, 8000000);
	use(&bench, 10 * MS, &counter, 4000000);
	assert_return_code(wattle_window_begin(bench.meter, "w"), 0);
	use(&bench, 10 * MS, &counter, 1000000);
	e = meter_bench_energy(&bench, "w", "package-0");
	assert_int_equal(e.has_power, 0);
	for (int i = 0; i < 10; i++)
		use(&bench, 20 * MS, &counter, 2000000);
	e = meter_bench_energy(&bench, "w", "package-0");
	assert_int_equal(e.has_power, 1);
	assert_int_equal(e.mean_uw, 100000000);
	assert_int_equal(e.max_uw, 100000000);
	/* A burst of 250 W. */
	use(&bench, 20 * MS, &counter, 5000000);
	use(&bench, 20 * MS, &counter, 1000000);
	e = meter_bench_energy(&bench, "w", "package-0");
	assert_int_equal(e.max_uw, 250000000);
	assert_true(e.mean_uw < e.max_uw);
	assert_return_code(wtl_window_end(bench.meter, "w", &window, NULL, 0), 0);
	assert_int_equal(window.total.has_power, 1);
	assert_int_equal(window.total.max_uw, 250000000);
	assert_int_equal(window.total.mean_uw, e.mean_uw);
	/* The next one does not know of it. */
	assert_return_code(wattle_window_begin(bench.meter, "w"), 0);
	use(&bench, 30 * MS, &counter, 1500000);
	assert_return_code(wtl_window_end(bench.meter, "w", &window, NULL, 0), 0);
	assert_int_equal(window.total.max_uw, 50000000);
	meter_bench_done(&bench);
}

/* Memory whose counter has not moved yet has drawn something, but nobody knows what: no power is stated. */
static void test_no_power_of_what_stands_still(void **state)
{
	struct meter_bench bench;
	struct wattle_window window;
	struct wattle_energy energy;

	(void)state;
	start(&bench);
	assert_return_code(wattle_window_begin(bench.meter, "w"), 0);
	for (int i = 0; i < 2; i++) {
		meter_bench_tick(&bench, 100 * MS);
		energy = meter_bench_energy(&bench, "w", "dram-0");
		assert_true(energy.has_energy && !energy.has_power);
		assert_int_equal(energy.energy_uj, 0);
		assert_true(energy.uncertainty_uj > WTL_UJ_PER_J);
		assert_return_code(wtl_window_read(bench.meter, "w", &window, NULL, 0), 0);
		assert_false(window.total.has_power);
	}
	meter_bench_write(&bench, ZONES "intel-rapl:0/intel-rapl:0:0/energy_uj", "43790214820\n");
	meter_bench_tick(&bench, 100 * MS);
	energy = meter_bench_energy(&bench, "w", "dram-0");
	assert_true(energy.has_energy && energy.has_power && energy.mean_uw > 0);
	meter_bench_done(&bench);
}

/* A short window that saw no update of its counter is not certain to have used nothing. */
static void test_short_uncertainty(void **state)
{
	struct meter_bench bench;
	struct wattle_energy e;
	uint64_t counter = 1000000;

	(void)state;
	start(&bench);
	for (int i = 0; i < 10; i++)
		use(&bench, 20 * MS, &counter, 2000000);
	assert_return_code(wattle_window_begin(bench.meter, "w"), 0);
	meter_bench_pass(&bench, MS / 2);
	e = end(&bench, "w");
	assert_int_equal(e.has_energy, 1);
	assert_int_equal(e.energy_uj, 0);
	assert_true(e.flags & WATTLE_ENERGY_SHORT);
	/* 100 W for an update of 1 ms: 2 x 100 mJ / sqrt(6) */
	assert_in_range(e.uncertainty_uj, 70000, 100000);
	meter_bench_done(&bench);
}

static void test_cancel(void **state)
{
	struct meter_bench bench;
	uint64_t counter = 1000000;

	(void)state;
	start(&bench);
	assert_return_code(wattle_window_begin(bench.meter, "w"), 0);
	use(&bench, 100 * MS, &counter, 1000);
	assert_return_code(wattle_window_cancel(bench.meter, "w"), 0);
	assert_int_equal(wtl_window_end(bench.meter, "w", NULL, NULL, 0), -WATTLE_E_NO_WINDOW);
	assert_return_code(wattle_window_begin(bench.meter, "w"), 0);
	use(&bench, 100 * MS, &counter, 20);
	assert_int_equal(end(&bench, "w").energy_uj, 20);
	meter_bench_done(&bench);
}

/* A modelled domain that is sampled a thousand times a second is guessed between two readings, but not
 * where a window begins or ends: its energy is as if only those had been read. */
static void test_model_between_fast_samples(void **state)
{
	struct wattle_energy energies[8], of[2];

	(void)state;
	for (int fast = 0; fast < 2; fast++) {
		struct meter_bench bench;
		size_t package;

		meter_bench_copy(&bench, "vm-nothing");
		meter_bench_write(&bench, "proc/stat", "cpu 0 0 0 100000 0\n");
		meter_bench_open(&bench);
		package = meter_bench_find(&bench, "package-0");
		meter_bench_write(&bench, "proc/stat", "cpu 0 0 0 100200 0\n");
		meter_bench_tick(&bench, 500 * MS);
		/* Four CPUs idle for 15 ms, ... */
		for (int i = 1; i <= 15; i++) {
			meter_bench_write(&bench, "proc/stat", "cpu 0 0 0 %d 0\n",
					  100200 + (4 * i + 9) / 10);
			fast ? meter_bench_tick(&bench, MS) : meter_bench_pass(&bench, MS);
		}
		assert_return_code(wattle_window_begin(bench.meter, "busy"), 0);
		/* ... and busy for 50. */
		for (int i = 1; i < 50; i++)
			fast ? meter_bench_tick(&bench, MS) : meter_bench_pass(&bench, MS);
		meter_bench_pass(&bench, MS);
		assert_return_code(wtl_window_end(bench.meter, "busy", NULL, energies, 8), 0);
		of[fast] = energies[package];
		assert_true(of[fast].has_energy);
		assert_int_equal(of[fast].gap_ns, 0);
		assert_int_equal(of[fast].measured_ns, 50 * MS);
		meter_bench_done(&bench);
	}
	/* More than 50 ms of 3.2 W idle. */
	assert_true(of[0].energy_uj > 200000);
	assert_int_equal(of[1].energy_uj, of[0].energy_uj);
}

/* Any order of beginnings and ends, against a model: which are open, and since which count. */
static void test_any_order(void **state)
{
	enum { NAMES = 9, OPEN_MAX = 6, STEPS = 4000 };
	struct meter_bench bench;
	uint64_t counter = 1000000, since[NAMES] = {0};
	unsigned n_open = 0, random = 1;

	(void)state;
	meter_bench_copy(&bench, "nvidia-server");
	meter_bench_write(&bench, PACKAGE0, "1000000\n");
	bench.options.max_windows = OPEN_MAX;
	meter_bench_open(&bench);
	for (int i = 0; i < STEPS; i++) {
		unsigned k = (random = random * 1103515245u + 12345u) >> 16;
		char name[2] = {(char)('a' + k % NAMES), '\0'};
		uint64_t *from = &since[k % NAMES];

		if (i % 4 == 0)
			use(&bench, 10 * MS, &counter, k % 1000);
		if (!*from) {
			assert_int_equal(wattle_window_begin(bench.meter, name),
					 n_open < OPEN_MAX ? 0 : -WATTLE_E_TOO_MANY);
			*from = n_open < OPEN_MAX ? counter : 0;
			n_open += n_open < OPEN_MAX;
			continue;
		}
		if (k & 0x4000) {
			assert_return_code(wattle_window_cancel(bench.meter, name), 0);
		} else {
			meter_bench_pass(&bench, MS);
			assert_int_equal(end(&bench, name).energy_uj, counter - *from);
		}
		*from = 0;
		n_open--;
	}
	meter_bench_done(&bench);
}

/* ---- What must hold of every figure, whatever happens ---- */

static const char *const zones[] = {PACKAGE0, ZONES "intel-rapl:1/energy_uj",
				    ZONES "intel-rapl:0/intel-rapl:0:0/energy_uj",
				    ZONES "intel-rapl:1/intel-rapl:1:0/energy_uj"};

static void check_power(const struct wattle_energy *e)
{
	if (!e->has_power)
		return;
	assert_int_equal(e->has_energy, 1);
	assert_true(e->max_uw >= e->mean_uw);
	/* No power without energy, and none of energy. */
	assert_int_equal(e->mean_uw > 0, e->energy_uj > 10000);
}

static void check_window(struct meter_bench *bench, const struct wattle_window *w,
			 const struct wattle_energy *energies)
{
	uint64_t sum_uj = 0, linear_uj = 0, sum_uw = 0;
	bool has_power = false, lacks_power = false;
	int64_t gap_ns = 0;

	for (size_t i = 0; i < UNIT_COUNT(zones); i++) {
		const struct wattle_energy *e = &energies[i];
		struct wattle_domain domain;
		int64_t apart_ns; /* what is too little to be a gap, at either end */

		assert_return_code(wtl_meter_domain(bench->meter, i, &domain), 0);
		apart_ns = domain.update_ns > MS ? domain.update_ns : MS;
		assert_in_range(e->gap_ns, 0, w->duration_ns);
		assert_int_equal(e->has_energy, e->measured_ns > 0);
		assert_true(e->has_energy || e->energy_uj == 0);
		if (e->has_energy)
			assert_in_range(e->measured_ns + e->gap_ns + 2 * apart_ns, w->duration_ns,
					w->duration_ns + 4 * apart_ns);
		if (e->gap_ns > 0)
			assert_int_not_equal(e->status, WATTLE_STATUS_OK);
		check_power(e);
		sum_uj += e->energy_uj;
		linear_uj += e->uncertainty_uj + 1;
		sum_uw += e->mean_uw;
		has_power |= e->has_power;
		lacks_power |= !e->has_power && e->energy_uj > 0;
		gap_ns = e->gap_ns > gap_ns ? e->gap_ns : gap_ns;
	}
	assert_int_equal(w->total.energy_uj, sum_uj);
	assert_true(w->total.uncertainty_uj <= linear_uj);
	assert_int_equal(w->total.gap_ns, gap_ns);
	assert_true(w->total.measured_ns >= 0);
	check_power(&w->total);
	/* With a gap somewhere, it is the parts' power, as far as they have one. */
	assert_int_equal(w->total.has_power, w->total.has_energy &&
						     w->duration_ns >= WTL_POWER_MIN_NS &&
						     (gap_ns > 0 ? has_power && !lacks_power
								 : has_power || sum_uj > 0));
	if (w->total.has_power)
		assert_int_equal(w->total.mean_uw,
				 gap_ns > 0 ? sum_uw : wtl_power_uw(sum_uj, w->duration_ns));
}

/* One of the zones, at random: consumes, rests, starts anew, fails. */
static void live(struct meter_bench *bench, uint64_t counters[], bool failed[], unsigned random)
{
	size_t zone = random % UNIT_COUNT(zones);
	unsigned what = random / 4 % 32;

	counters[zone] += what < 24 ? random % 3000000 : 0;
	if (what == 24)
		counters[zone] = 0;
	if (what == 25 || what == 26)
		failed[zone] = !failed[zone];
	if (failed[zone])
		meter_bench_write(bench, zones[zone], "!errno EIO\n");
	else
		meter_bench_write(bench, zones[zone], "%llu\n", (unsigned long long)counters[zone]);
	if (what == 27)
		bench->asleep_ns += S;
}

static void test_invariants(void **state)
{
	enum { STEPS = 1500, OPEN = 5 };
	static const int64_t waits_ns[] = {MS / 2, MS, 5 * MS, 15 * MS, 100 * MS, 3 * S};
	struct meter_bench bench;
	uint64_t counters[4] = {5000000000, 5000000000, 5000000000, 5000000000};
	bool failed[4] = {false};
	bool is_open[OPEN] = {false};
	unsigned random = 7;

	(void)state;
	start(&bench);
	bench.clock_step_ns = 1000;
	for (int i = 0; i < STEPS; i++) {
		unsigned k = (random = random * 1103515245u + 12345u) >> 8;
		char name[2] = {(char)('a' + k % OPEN), '\0'};
		struct wattle_energy energies[8];
		struct wattle_window w;

		live(&bench, counters, failed, k / 7);
		meter_bench_pass(&bench, waits_ns[k / 16 % UNIT_COUNT(waits_ns)]);
		if (!is_open[k % OPEN]) {
			is_open[k % OPEN] = true;
			assert_return_code(wattle_window_begin(bench.meter, name), 0);
			continue;
		}
		is_open[k % OPEN] = k / 64 % 4 != 0;
		assert_return_code((is_open[k % OPEN] ? wtl_window_read : wtl_window_end)(
					   bench.meter, name, &w, energies, 8),
				   0);
		check_window(&bench, &w, energies);
	}
	meter_bench_done(&bench);
}

/* ---- Held ---- */

/* A GPU's power and a package's counter, both in the total, every tenth of a second. */
static struct wattle_meter *fed_meter(int64_t update_ns)
{
	const struct wattle_channel channels[] = {
		{.size = sizeof(channels[0]),
		 .domain = "gpu-0",
		 .kind = WATTLE_KIND_GPU,
		 .in_total = 1,
		 .update_ns = update_ns},
		{.domain = "package-0", .kind = WATTLE_KIND_CPU, .is_energy = 1, .in_total = 1},
		{.domain = "board-0", .kind = WATTLE_KIND_BOARD, .update_ns = update_ns},
	};
	struct wattle_meter *meter = NULL;

	assert_return_code(wattle_meter_open_fed(channels, 3, NULL, &meter, NULL), 0);
	return meter;
}

static void feed(struct wattle_meter *meter, int64_t t_ns, uint64_t watts)
{
	const uint64_t values[] = {watts * 1000000, (uint64_t)t_ns / 10000, watts * 1000000};

	assert_return_code(wattle_meter_feed(meter, S + t_ns, t_ns, values, NULL, 3), 0);
}

/* What sensors of power tell later of a window that is over is its own; all else stays as it was. */
static void test_hold(void **state)
{
	struct wattle_meter *meter = fed_meter(400 * MS);
	struct wattle_window window, later;
	struct wattle_energy held[3], told[3], last[3];
	int64_t t_ns = 10 * S, wait_ns = -1, no_wait_ns = -1;

	(void)state;
	assert_int_equal(wtl_window_hold(meter, "w", &wait_ns), -WATTLE_E_NO_WINDOW);
	for (int i = 0; i < 40; i++)
		feed(meter, t_ns += 100 * MS, 100);
	assert_return_code(wattle_window_begin(meter, "w"), 0);
	for (int i = 0; i < 6; i++)
		feed(meter, t_ns += 100 * MS, i < 4 ? 100 : 120);
	assert_return_code(wtl_window_hold(meter, "w", &wait_ns), 0);
	assert_int_equal(wait_ns, 1137500000);
	assert_return_code(wtl_window_read(meter, "w", &window, held, 3), 0);
	for (int i = 0; i < 12; i++)
		feed(meter, t_ns += 100 * MS, 120);
	assert_return_code(wtl_window_read(meter, "w", &later, told, 3), 0);
	/* It is known, and nothing that comes after it is in it, held once more or not. */
	for (int i = 0; i < 20; i++)
		feed(meter, t_ns += 100 * MS, 300);
	assert_return_code(wtl_window_hold(meter, "w", &no_wait_ns), 0);
	assert_int_equal(no_wait_ns, -1);
	assert_return_code(wtl_window_end(meter, "w", &later, last, 3), 0);
	assert_int_equal(later.begin_mono_ns, window.begin_mono_ns);
	assert_int_equal(later.duration_ns, 600 * MS);
	assert_int_equal(wattle_meter_find(meter, "package-0"), 0);
	assert_memory_equal(&held[0], &last[0], sizeof(held[0]));
	assert_int_equal(held[0].energy_uj, 60000);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(held[i].energy_uj, 72136364);
		assert_int_equal(held[i].uncertainty_uj, 3860219);
		assert_int_equal(told[i].energy_uj, 70863637);
		assert_int_equal(told[i].uncertainty_uj, 1920541);
		assert_int_equal(told[i].samples, 6);
		assert_int_equal(told[i].measured_ns, 600 * MS);
		assert_int_equal(last[i].energy_uj, told[i].energy_uj);
		assert_int_equal(last[i].measured_ns, told[i].measured_ns);
	}
	assert_int_equal(later.total.energy_uj, 60000 + 70863637);
	wattle_meter_close(meter);
}

/* Readings that each show another value fill what is kept of the newest ones, long before they are settled. */
static void test_hold_of_fast_readings(void **state)
{
	struct wattle_meter *meter = fed_meter(0);
	struct wattle_window window, later;
	struct wattle_energy held[3], last[3];
	int64_t t_ns = 10 * S, wait_ns;

	(void)state;
	for (int i = 0; i < 1000; i++)
		feed(meter, t_ns += MS, 100 + (uint64_t)i % 2);
	assert_return_code(wattle_window_begin(meter, "w"), 0);
	for (int i = 0; i < 100; i++)
		feed(meter, t_ns += MS, 100 + (uint64_t)i % 2);
	assert_return_code(wtl_window_hold(meter, "w", &wait_ns), 0);
	assert_return_code(wtl_window_read(meter, "w", &window, held, 3), 0);
	for (int i = 0; i < 400; i++)
		feed(meter, t_ns += MS, 100 + (uint64_t)i % 2);
	assert_return_code(wtl_window_end(meter, "w", &later, last, 3), 0);
	for (int i = 1; i < 3; i++) {
		assert_true(last[i].has_energy);
		assert_int_equal(last[i].energy_uj, held[i].energy_uj);
		assert_int_equal(last[i].uncertainty_uj, held[i].uncertainty_uj);
	}
	wattle_meter_close(meter);
}

/* It is not waited for a sensor that takes long, nor for one whose newest values are little of what is not known. */
static void test_hold_is_worth_it(void **state)
{
	static const struct {
		int64_t update_ns;
		int samples;
		int64_t wait_ns;
	} ways[] = {{400 * MS, 10, 900 * MS}, {400 * MS, 600, 0}, {2000 * MS, 10, 0}};

	(void)state;
	for (size_t k = 0; k < UNIT_COUNT(ways); k++) {
		struct wattle_meter *meter = fed_meter(ways[k].update_ns);
		int64_t t_ns = 0, wait_ns = -1;

		for (int i = 0; i < 40; i++)
			feed(meter, t_ns += 100 * MS, 100 + (uint64_t)i % 3);
		assert_return_code(wattle_window_begin(meter, "w"), 0);
		for (int i = 0; i < ways[k].samples; i++)
			feed(meter, t_ns += 100 * MS, 100 + (uint64_t)i % 3);
		assert_return_code(wtl_window_hold(meter, "w", &wait_ns), 0);
		assert_int_equal(wait_ns, ways[k].wait_ns);
		wattle_meter_close(meter);
	}
}

struct hammer {
	struct wattle_meter *meter;
	int number;
	const int64_t *until_ns;
	unsigned rounds, wrong;
};

static int64_t real_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * S + now.tv_nsec;
}

static void *hammer(void *argument)
{
	struct hammer *hammer = argument;
	struct wattle_energy energies[8];
	struct wattle_domain domain;
	struct wattle_self self;
	struct wattle_window w;
	char name[16];

	snprintf(name, sizeof(name), "thread %d", hammer->number);
	while (real_now_ns() < *hammer->until_ns) {
		hammer->wrong += wattle_window_begin(hammer->meter, name) != 0;
		hammer->wrong += wattle_window_push(hammer->meter, name) != 0;
		hammer->wrong += wtl_window_read(hammer->meter, name, &w, energies, 8) != 0;
		hammer->wrong += w.total.has_energy != 1 && w.duration_ns > 0;
		hammer->wrong += wattle_meter_tick(hammer->meter) != 0;
		hammer->wrong += wtl_meter_domain(hammer->meter, 0, &domain) != 0;
		hammer->wrong += wtl_meter_self(hammer->meter, &self) != 0;
		hammer->wrong += wattle_meter_find(hammer->meter, "package-1") != 1;
		hammer->wrong += wattle_window_pop(hammer->meter, &w, energies, 8) != 0;
		hammer->wrong += wtl_window_end(hammer->meter, name, NULL, NULL, 0) != 0;
		hammer->rounds++;
	}
	return NULL;
}

static void test_threads(void **state)
{
	enum { THREADS = 4 };
	struct meter_bench bench;
	struct hammer hammers[THREADS];
	pthread_t threads[THREADS];
	int64_t until_ns = real_now_ns() + S;

	(void)state;
	meter_bench_root(&bench, "xeon-2s-dram");
	/* So little that the counters, which stand still, are not taken for frozen. */
	bench.clock_step_ns = 10;
	meter_bench_open(&bench);
	for (int i = 0; i < THREADS; i++) {
		hammers[i] =
			(struct hammer){.meter = bench.meter, .number = i, .until_ns = &until_ns};
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, &hammers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(hammers[i].wrong, 0);
		assert_true(hammers[i].rounds > 0);
	}
	/* Nothing is left open. */
	assert_int_equal(wattle_window_pop(bench.meter, NULL, NULL, 0), -WATTLE_E_NO_WINDOW);
	meter_bench_done(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nest),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_mark),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_unknown_and_twice),
		cmocka_unit_test(test_few_energies),
		cmocka_unit_test(test_running_value),
		cmocka_unit_test(test_additive),
		cmocka_unit_test(test_power),
		cmocka_unit_test(test_no_power_of_what_stands_still),
		cmocka_unit_test(test_short_uncertainty),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_invariants),
		cmocka_unit_test(test_hold),
		cmocka_unit_test(test_hold_of_fast_readings),
		cmocka_unit_test(test_hold_is_worth_it),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_model_between_fast_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
