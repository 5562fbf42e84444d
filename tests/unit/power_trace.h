/* SPDX-License-Identifier: MIT */
#ifndef WTL_TESTS_POWER_TRACE_H
#define WTL_TESTS_POWER_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "energy/integrate.h"
#include "energy/sensor_class.h"

/*
 * Traces of a physical power meter beside polled NVML power (shared/data/gpu-power), and how well
 * integration does on random windows of them. For tests and benchmarks only; prints nothing.
 */

struct power_trace {
	char name[64];
	char column[64];
	size_t meter_count; /* one mean per millisecond, without a hole */
	int64_t meter_start_ms;
	double *meter_j; /* energy from the start to each millisecond, meter_count + 1 entries */
	size_t poll_count;
	int64_t *poll_ms;
	double *poll_w;
};

/* nvidia-smi = gain * truth + offset, fitted where the load was steady; residual in true watts. */
struct power_fit {
	double gain;
	double offset_w;
	double residual_w;
	size_t points;
};

struct power_case {
	const char *trace;     /* file name up to _meter.csv */
	const char *column;    /* head of the NVML column, up to " [W]" */
	const char *fit_trace; /* trace of the same card with steady stretches */
	enum wtl_gpu_arch arch;
	int driver;
	enum wtl_power_field field;
	uint64_t most_uw; /* the card's power limit */
};

struct power_score {
	unsigned windows;
	double coverage; /* part of windows whose true energy lies within +-U, U = 2 u */
	double median_u; /* median of U over the true energy */
	double p90_u;
	double rms_error; /* relative to the true energy */
	double rms_naive; /* of the sum of polled power x time, no lag correction */
	double median_error;
	double median_naive;
	unsigned unsettled; /* settled pass only: windows that still were not */
};

extern const struct power_case power_cases[];
extern const size_t power_case_count;

/* 0 or -1: file missing or not as expected. */
int power_trace_load(struct power_trace *trace, const char *directory, const char *name,
		     const char *column);
/*
 * A made-up card with gain 1: load of low_w and, for that part of each period, high_w, seen by a
 * sensor of the class, polled every 15 ms. 0 or -1: out of memory.
 */
int power_trace_make(struct power_trace *trace, const struct wtl_sensor_class *class,
		     unsigned seconds, double period_ms, double duty, double low_w, double high_w);
void power_trace_free(struct power_trace *trace);

int power_trace_fit(const struct power_trace *trace, struct power_fit *ret);

double power_trace_true_j(const struct power_trace *trace, int64_t from_ns, int64_t to_ns);

struct power_plan {
	unsigned windows;
	uint64_t seed;
	int64_t poll_ms; /* > 0 thins the polls to one in at least that many milliseconds */
	int settled;	 /* ask again once later samples have come in */
	/* > 0: each window is that long, and the sensor is polled for the first time where it begins
	 * (wattle run). Else windows are of 0.5 to 10 s, and the sensor is polled all along. */
	double cold_s;
	uint64_t most_uw; /* what the card can draw; 0: not known */
};

/* Scores random windows of a trace. 0 or -1: out of memory. */
int power_trace_score(const struct power_trace *trace, const struct power_fit *fit,
		      const struct wtl_sensor_class *class, const struct power_plan *plan,
		      struct power_score *ret);

/* All uncertainty terms of an integral in quadrature. */
double power_trace_combined_uj(const struct wtl_integral_energy *energy);

#endif
