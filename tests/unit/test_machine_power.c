/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sensors/machine_power.h"
#include "source_bench.h"

#define SECOND INT64_C(1000000000)
#define GIB    (UINT64_C(1) << 30)

static struct wtl_machine server(const char *model, unsigned packages, unsigned cpus, uint64_t gib)
{
	struct wtl_machine machine = {.n_packages = packages,
				      .n_cpus = cpus,
				      .memory_bytes = gib * GIB,
				      .vendor = "GenuineIntel"};

	snprintf(machine.cpu_model, sizeof(machine.cpu_model), "%s", model);
	return machine;
}

static double power_w(const struct wtl_machine_power *power, unsigned load)
{
	return (double)wtl_machine_power_uj(power, load * (uint64_t)SECOND, SECOND, 100) / 1e6;
}

/* Three servers of data/servers.csv, at the wall: none, half and all of their load. */
static void measured_servers(void **state)
{
	static const struct {
		const char *model;
		unsigned packages, cpus;
		uint64_t gib;
		double measured_w[3];
	} cases[] = {
		{"Intel(R) Xeon(R) Platinum 8180 CPU @ 2.50GHz", 2, 112, 192, {58.1, 224, 459}},
		{"Intel(R) Xeon(R) Gold 6140 CPU @ 2.30GHz", 2, 72, 192, {52.4, 173, 343}},
		{"Intel(R) Xeon(R) CPU           X3470  @ 2.93GHz", 1, 8, 8, {39.6, 80.3, 124}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wtl_machine machine =
			server(cases[i].model, cases[i].packages, cases[i].cpus, cases[i].gib);
		struct wtl_machine_power power;
		const char *reason;

		assert_int_equal(wtl_machine_power_find(&machine, &power, &reason), 0);
		assert_int_equal(power.known, WTL_MACHINE_KNOWN);
		for (unsigned k = 0; k < 3; k++) {
			double w = power_w(&power, 50 * k);

			assert_true(fabs(w - cases[i].measured_w[k]) <=
				    2 * hypot(w * power.gain_ppm / 1e6, power.offset_uw / 1e6));
		}
	}
}

/* The less is known, the wider. */
static void cases_of_knowledge(void **state)
{
	static const struct {
		const char *model;
		bool is_vm;
		enum wtl_machine_case known;
		const char *words;
	} cases[] = {
		{"Intel(R) Xeon(R) Gold 6140 CPU @ 2.30GHz", false, WTL_MACHINE_KNOWN,
		 "fitted to 428 servers by 2 x 140 W of 2018, 192 GiB"},
		{"Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", false, WTL_MACHINE_TDP,
		 "fitted to 428 servers by 2 x 205 W, 72 CPUs, 192 GiB"},
		{"Intel(R) Xeon(R) Platinum 8481C CPU", false, WTL_MACHINE_SIZE,
		 "fitted to 428 servers by 2 sockets, 72 CPUs, 192 GiB"},
		{"Intel(R) Xeon(R) Gold 6140 CPU @ 2.30GHz", true, WTL_MACHINE_GUEST_KNOWN,
		 "fitted to 428 servers, 72 of a host's 36 CPUs a socket of 140 W of 2018"},
		{"Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", true, WTL_MACHINE_GUEST_TDP,
		 "fitted to 428 servers, 72 CPUs of a host with 205 W a socket"},
		{"Intel(R) Xeon(R) Platinum 8481C CPU", true, WTL_MACHINE_GUEST,
		 "fitted to 428 servers, 72 CPUs of an unknown host"},
	};
	double before = 0.0;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wtl_machine machine = server(cases[i].model, 2, 72, 192);
		struct wtl_machine_power power;
		const char *reason;
		double wide;

		machine.is_vm = cases[i].is_vm;
		assert_int_equal(wtl_machine_power_find(&machine, &power, &reason), 0);
		assert_int_equal(power.known, cases[i].known);
		assert_string_equal(power.words, cases[i].words);
		assert_true(power.idle_mw > 0 && power.idle_mw < power.full_mw);
		wide = hypot(power.gain_ppm / 1e6,
			     power.offset_uw / 1e6 / ((double)power.full_mw / 1e3));
		assert_true(wide > before || power.known == WTL_MACHINE_GUEST_KNOWN);
		before = wide;
	}
}

/* A guest has the part of its CPUs. */
static void guests_share(void **state)
{
	struct wtl_machine small = server("Intel Xeon Gold 6140", 1, 4, 8), large = small;
	struct wtl_machine_power powers[2];
	const char *reason;

	(void)state;
	small.is_vm = large.is_vm = true;
	large.n_cpus = 36;
	large.memory_bytes *= 9;
	assert_int_equal(wtl_machine_power_find(&small, &powers[0], &reason), 0);
	assert_int_equal(wtl_machine_power_find(&large, &powers[1], &reason), 0);
	assert_true(fabs((double)powers[1].full_mw - 9.0 * (double)powers[0].full_mw) < 10);
	assert_true(fabs((double)powers[1].idle_mw - 9.0 * (double)powers[0].idle_mw) < 10);
}

static void curve(void **state)
{
	struct wtl_machine machine = server("Intel Xeon Gold 6140", 2, 72, 192);
	struct wtl_machine_power power;
	const char *reason;
	uint64_t before = 0;

	(void)state;
	assert_int_equal(wtl_machine_power_find(&machine, &power, &reason), 0);
	assert_int_equal(wtl_machine_power_uj(&power, 0, SECOND, 72), power.idle_mw * 1000);
	assert_int_equal(wtl_machine_power_uj(&power, 72 * (uint64_t)SECOND, SECOND, 72),
			 power.full_mw * 1000);
	assert_int_equal(wtl_machine_power_uj(&power, UINT64_MAX, SECOND, 72),
			 power.full_mw * 1000);
	assert_int_equal(wtl_machine_power_uj(&power, 5, 0, 72), 0);
	assert_int_equal(wtl_machine_power_uj(&power, 5, -SECOND, 72), 0);
	assert_int_equal(wtl_machine_power_uj(&power, 5, SECOND, 0), 0);
	for (uint64_t busy_ns = 0; busy_ns <= 72 * (uint64_t)SECOND; busy_ns += 123456789) {
		uint64_t uj = wtl_machine_power_uj(&power, busy_ns, SECOND, 72);

		assert_true(uj >= before);
		before = uj;
	}
}

/* What no measured server is like has a reason instead. */
static void no_such_server(void **state)
{
	struct wtl_machine_power power;
	const char *reason = NULL;
	struct wtl_machine machine = server("Intel Xeon Gold 6140", 2, 72, 192);

	(void)state;
	snprintf(machine.vendor, sizeof(machine.vendor), "ARM");
	assert_int_equal(wtl_machine_power_find(&machine, &power, &reason), -ENOENT);
	assert_string_equal(reason, "no server with such a processor was measured");
	machine = server("Intel Xeon Gold 6140", 2, 72, 0);
	assert_int_equal(wtl_machine_power_find(&machine, &power, &reason), -ENOENT);
	assert_string_equal(reason, "the size of its memory is not known");
	machine = server("Intel(R) Core(TM) i3-7020U CPU @ 2.30GHz", 1, 4, 8);
	assert_int_equal(wtl_machine_power_find(&machine, &power, &reason), -ENOENT);
	assert_string_equal(reason, "no measured server has a processor of such a design power");
}

/* The domain beside the packages, in no total; not for a portable machine. */
static void the_domain(void **state)
{
	static const char *const types[] = {"10", "3"};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct bench bench;

		bench_copy(&bench, "xeon-2s-dram");
		bench_write(&bench, "/sys/class/dmi/id/chassis_type", types[i]);
		bench_open(&bench, &wtl_source_model);
		if (i == 0) {
			assert_int_equal(bench.catalog.n_misses, 1);
			assert_string_equal(bench.catalog.misses[0].domain, "machine");
			assert_string_equal(bench.catalog.misses[0].reason,
					    "there is no model of it: no portable machine was "
					    "measured");
			assert_false(bench.catalog.misses[0].in_total);
		} else {
			const struct wtl_channel *channel = bench_channel(&bench, "machine");

			assert_int_equal(channel->kind, WATTLE_KIND_PLATFORM);
			assert_int_equal(channel->method, WATTLE_METHOD_MODELLED);
			assert_false(channel->in_total);
			assert_true(channel->gain_ppm > 0 && channel->offset_uw > 0);
		}
		bench_read(&bench, SECOND);
		bench_done(&bench);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(measured_servers), cmocka_unit_test(cases_of_knowledge),
		cmocka_unit_test(guests_share),	    cmocka_unit_test(curve),
		cmocka_unit_test(no_such_server),   cmocka_unit_test(the_domain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
