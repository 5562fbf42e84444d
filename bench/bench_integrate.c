/* SPDX-License-Identifier: MIT */
/*
 * How good integration is on real traces, and what a sample and a window cost.
 * bench_integrate [DIRECTORY holding gpu-power/; default $WATTLE_SHARED_DATA] [WINDOWS] [SEED]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "energy/integrate.h"
#include "power_trace.h"

#define ROUNDS 200000

static int score_case(const char *directory, const struct power_case *c, unsigned windows,
		      uint64_t seed, int64_t poll_ms, double cold_s)
{
	const struct wtl_sensor_class *class = wtl_sensor_class_find(c->arch, c->driver, c->field);
	struct power_trace trace, steady;
	struct power_fit fit;
	struct power_score s;
	int r = -1;

	if (power_trace_load(&trace, directory, c->trace, c->column) < 0)
		return -1;
	if (power_trace_load(&steady, directory, c->fit_trace, c->column) == 0) {
		r = power_trace_fit(&steady, &fit);
		power_trace_free(&steady);
	}
	for (int settled = 0; r == 0 && settled < 2; settled++) {
		const struct power_plan plan = {.windows = windows,
						.seed = seed,
						.poll_ms = poll_ms,
						.settled = settled,
						.cold_s = cold_s,
						.most_uw = c->most_uw};

		r = power_trace_score(&trace, &fit, class, &plan, &s);
		if (r == 0)
			printf("%-13s %-18s %-22s %5lld %-7s %6.1f %7.2f %7.2f | %6.2f %6.2f %6.2f\n",
			       c->trace, c->column, class->name, (long long)poll_ms,
			       settled ? "settled" : "live", 100 * s.coverage, 100 * s.median_u,
			       100 * s.p90_u, 100 * s.rms_naive, 100 * s.rms_error,
			       s.rms_naive / s.rms_error);
	}
	power_trace_free(&trace);
	return r;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Each against an empty loop of the same work on the inputs, in the same run. */
static void cost(enum wtl_gpu_arch arch)
{
	const struct wtl_sensor_class *class = wtl_sensor_class_find(arch, 570, WTL_POWER_INSTANT);
	struct wtl_integral integral;
	struct wtl_integral_mark a, b;
	struct wtl_integral_energy e;
	uint64_t sink = 0;
	double t0, t1, t2, t3;

	wtl_integral_init(&integral, class, WTL_STAMP_POLL, 0);
	t0 = now_ns();
	for (uint64_t i = 0; i < ROUNDS; i++)
		sink += i * 7919 % 300 * 1000000;
	t1 = now_ns();
	for (uint64_t i = 0; i < ROUNDS; i++)
		sink += (uint64_t)wtl_integral_add(&integral, (int64_t)i * 100000000,
						   i * 7919 % 300 * 1000000);
	t2 = now_ns();
	wtl_integral_mark(&integral, integral.poll_ns - 5000000000, &a);
	for (int64_t i = 0; i < ROUNDS; i++) {
		wtl_integral_mark(&integral, integral.poll_ns + i % 1000, &b);
		wtl_integral_between(&integral, &a, &b, &e);
		sink += e.energy_uj;
	}
	t3 = now_ns();
	printf("%-22s new reading %.0f ns, window %.0f ns, empty loop %.2f ns, %zu bytes (%llu)\n",
	       class->name, (t2 - t1) / ROUNDS, (t3 - t2) / ROUNDS, (t1 - t0) / ROUNDS,
	       sizeof(integral), (unsigned long long)(sink & 1));
}

int main(int argc, char **argv)
{
	const char *directory = argc > 1 ? argv[1] : getenv("WATTLE_SHARED_DATA");
	unsigned windows = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1000;
	const double cold_s[] = {0.5, 1, 1.5, 2, 3, 5};
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;

	if (directory && windows > 0) {
		printf("%u random windows of 0.5-10 s a line, seed %llu; all but coverage in %% of "
		       "the true energy; U at k = 2\n"
		       "trace         column             class                   poll pass    covered "
		       "med. U  90%% U |  naive  ours  ratio (rms error)\n",
		       windows, (unsigned long long)seed);
		for (size_t i = 0; i < power_case_count; i++)
			if (score_case(directory, &power_cases[i], windows, seed, 0, 0) < 0)
				fprintf(stderr, "%s: cannot be read\n", power_cases[i].trace);
		for (size_t i = 0; i < power_case_count; i++)
			score_case(directory, &power_cases[i], windows, seed, 100, 0);
		for (size_t i = 0; i < power_case_count; i++)
			score_case(directory, &power_cases[i], windows, seed, 500, 0);
		for (size_t l = 0; l < sizeof(cold_s) / sizeof(cold_s[0]); l++) {
			printf("polled for the first time where a window of %.1f s begins:\n",
			       cold_s[l]);
			for (size_t i = 0; i < power_case_count; i++)
				score_case(directory, &power_cases[i], windows, seed, 100,
					   cold_s[l]);
		}
	} else {
		printf("no traces: set WATTLE_SHARED_DATA\n");
	}
	cost(WTL_GPU_ARCH_GA100);
	cost(WTL_GPU_ARCH_GA10X);
	return 0;
}
