/* SPDX-License-Identifier: MIT */
/*
 * What NVML really does on a machine: the cost of each call, how often counter and power are updated,
 * whether a field's own time stamp moves with its value, and how far the counter and the integrated
 * power agree. For checks on real GPUs; run it idle and under load.
 *
 *	bench_nvml [SECONDS [LIBRARY]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "energy/units.h"
#include "gpu/abi.h"

enum { CALLS = 201, CHANGES_MAX = 20000, SECONDS_DEFAULT = 10, N_FIELDS = 3 };

static const uint32_t field_ids[N_FIELDS] = {WTL_NVML_FIELD_ENERGY, WTL_NVML_FIELD_POWER_INSTANT,
					     WTL_NVML_FIELD_POWER_AVERAGE};
static const char *const field_names[N_FIELDS] = {"energy counter", "instant power",
						  "average power"};

struct nvml {
	struct wtl_io *io;
	int lib;
};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * WTL_NS_PER_S + now.tv_nsec;
}

static int call(const struct nvml *nvml, enum wtl_nvml_function function, struct wtl_lib_arg *args)
{
	int code = WTL_NVML_FUNCTION_NOT_FOUND;

	if (wtl_io_lib_call(nvml->io, nvml->lib, function, args, &code) < 0)
		return WTL_NVML_FUNCTION_NOT_FOUND;
	return code;
}

static int get_fields(const struct nvml *nvml, uint64_t gpu, struct wtl_nvml_field *fields,
		      const uint32_t *ids, unsigned n)
{
	struct wtl_lib_arg args[] = {
		{.word = gpu}, {.word = n}, {.memory = fields, .size = n * sizeof(*fields)}};

	memset(fields, 0, n * sizeof(*fields));
	for (unsigned i = 0; i < n; i++)
		fields[i].field = ids[i];
	return call(nvml, WTL_NVML_FIELD_VALUES, args);
}

static int compare(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

static void print_spread(const char *what, int64_t *values_ns, size_t n)
{
	qsort(values_ns, n, sizeof(*values_ns), compare);
	printf("  %-34s median %10.4f ms   10 %% %10.4f   90 %% %10.4f   of %zu\n", what,
	       (double)values_ns[n / 2] / 1e6, (double)values_ns[n / 10] / 1e6,
	       (double)values_ns[n * 9 / 10] / 1e6, n);
}

static void time_fields(const struct nvml *nvml, uint64_t gpu, const char *what,
			const uint32_t *ids, unsigned n)
{
	struct wtl_nvml_field fields[N_FIELDS];
	int64_t took_ns[CALLS];
	int code = get_fields(nvml, gpu, fields, ids, n);

	if (code || (n == 1 && fields[0].code)) {
		printf("  %-34s answers %d, %u\n", what, code, fields[0].code);
		return;
	}
	for (int i = 0; i < CALLS; i++) {
		int64_t begin_ns = now_ns();

		get_fields(nvml, gpu, fields, ids, n);
		took_ns[i] = now_ns() - begin_ns;
	}
	print_spread(what, took_ns, CALLS);
}

static void time_single(const struct nvml *nvml, uint64_t gpu, const char *what,
			enum wtl_nvml_function function, size_t size)
{
	uint64_t value = 0;
	struct wtl_lib_arg args[] = {{.word = gpu}, {.memory = &value, .size = size}};
	int64_t took_ns[CALLS];
	int code = call(nvml, function, args);

	if (code) {
		printf("  %-34s answers %d\n", what, code);
		return;
	}
	for (int i = 0; i < CALLS; i++) {
		int64_t begin_ns = now_ns();

		call(nvml, function, args);
		took_ns[i] = now_ns() - begin_ns;
	}
	print_spread(what, took_ns, CALLS);
}

/* One field while it is watched. */
struct watch {
	bool works, started;
	uint64_t value, first;
	int64_t change_ns, stamp_us;
	int64_t *periods_ns;
	size_t n;
	unsigned stamps_moved, stamps_stood; /* at a new value */
	double integral_uj;		     /* of power, each value held until the next poll */
	int64_t begin_ns, end_ns;
};

static void watch_take(struct watch *watch, const struct wtl_nvml_field *field, int64_t t_ns)
{
	uint64_t value;

	if (field->code || !wtl_nvml_field_u64(field, &value))
		return;
	watch->works = true;
	if (!watch->started) {
		watch->first = value;
		watch->begin_ns = t_ns;
	} else {
		watch->integral_uj +=
			(double)watch->value * 1e3 * (double)(t_ns - watch->end_ns) / 1e9;
	}
	if (watch->started && value != watch->value) {
		if (watch->change_ns && watch->n < CHANGES_MAX)
			watch->periods_ns[watch->n++] = t_ns - watch->change_ns;
		if (field->timestamp_us != watch->stamp_us)
			watch->stamps_moved++;
		else
			watch->stamps_stood++;
		watch->change_ns = t_ns;
	}
	watch->started = true;
	watch->value = value;
	watch->stamp_us = field->timestamp_us;
	watch->end_ns = t_ns;
}

static void watch_gpu(const struct nvml *nvml, uint64_t gpu, int seconds, struct watch *watches)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	int64_t end_ns = now_ns() + seconds * WTL_NS_PER_S;

	while (now_ns() < end_ns) {
		struct wtl_nvml_field fields[N_FIELDS];
		int64_t begin_ns = now_ns();

		if (get_fields(nvml, gpu, fields, field_ids, N_FIELDS) == WTL_NVML_OK)
			for (int i = 0; i < N_FIELDS; i++)
				watch_take(&watches[i], &fields[i], (begin_ns + now_ns()) / 2);
		nanosleep(&pause, NULL);
	}
}

static void print_updates(const char *name, struct watch *watch)
{
	char what[64];

	snprintf(what, sizeof(what), "%s: new value after", name);
	if (watch->n == 0) {
		printf("  %-34s %s\n", what, watch->works ? "never changed" : "not there");
		return;
	}
	print_spread(what, watch->periods_ns, watch->n);
	printf("  %-34s %u times of %u with the value\n", "  its time stamp moved",
	       watch->stamps_moved, watch->stamps_moved + watch->stamps_stood);
}

static void print_watches(struct watch *watches)
{
	double counted_uj = (double)(watches[0].value - watches[0].first) * 1e3;

	for (int i = 0; i < N_FIELDS; i++)
		print_updates(field_names[i], &watches[i]);
	for (int i = 1; i < N_FIELDS; i++)
		if (watches[i].works && watches[0].works && counted_uj > 0.0)
			printf("  %-34s %.3f J, counter %.3f J, ratio %.4f\n", field_names[i],
			       watches[i].integral_uj / 1e6, counted_uj / 1e6,
			       watches[i].integral_uj / counted_uj);
}

static void check_gpu(const struct nvml *nvml, uint32_t index, int seconds)
{
	char name[96] = "";
	uint64_t gpu = 0;
	struct wtl_lib_arg find[] = {{.word = index}, {.memory = &gpu, .size = sizeof(gpu)}};
	struct watch watches[N_FIELDS] = {{.works = false}};

	if (call(nvml, WTL_NVML_BY_INDEX, find) || !gpu) {
		printf("GPU %u: no handle\n", index);
		return;
	}
	struct wtl_lib_arg named[] = {
		{.word = gpu}, {.memory = name, .size = sizeof(name)}, {.word = sizeof(name)}};

	call(nvml, WTL_NVML_NAME, named);
	printf("GPU %u: %.*s, %d s\n", index, (int)sizeof(name) - 1, name, seconds);
	time_single(nvml, gpu, "TotalEnergyConsumption", WTL_NVML_TOTAL_ENERGY, 8);
	time_single(nvml, gpu, "PowerUsage", WTL_NVML_POWER_USAGE, 4);
	time_fields(nvml, gpu, "FieldValues: energy", &field_ids[0], 1);
	time_fields(nvml, gpu, "FieldValues: instant power", &field_ids[1], 1);
	time_fields(nvml, gpu, "FieldValues: average power", &field_ids[2], 1);
	time_fields(nvml, gpu, "FieldValues: all three", field_ids, N_FIELDS);
	for (int i = 0; i < N_FIELDS; i++)
		watches[i].periods_ns = calloc(CHANGES_MAX, sizeof(int64_t));
	if (watches[0].periods_ns && watches[1].periods_ns && watches[2].periods_ns) {
		watch_gpu(nvml, gpu, seconds, watches);
		print_watches(watches);
	}
	for (int i = 0; i < N_FIELDS; i++)
		free(watches[i].periods_ns);
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : SECONDS_DEFAULT;
	const char *const names[] = {argc > 2 ? argv[2] : "libnvidia-ml.so.1", NULL};
	struct wtl_err err = {.code = 0};
	struct nvml nvml;
	uint32_t count = 0;
	struct wtl_lib_arg counted[] = {{.memory = &count, .size = sizeof(count)}};
	int64_t begin_ns;
	int code;

	if (seconds < 1 || wtl_io_real_new(NULL, &nvml.io, &err) < 0)
		return 2;
	nvml.lib = wtl_io_lib_open(nvml.io, names, wtl_nvml_functions, WTL_NVML_FUNCTIONS, &err);
	if (nvml.lib < 0) {
		fprintf(stderr, "bench_nvml: %s\n", err.text);
		wtl_io_free(nvml.io);
		return 1;
	}
	begin_ns = now_ns();
	code = call(&nvml, WTL_NVML_INIT, NULL);
	printf("nvmlInit answers %d after %.1f ms\n", code, (double)(now_ns() - begin_ns) / 1e6);
	if (code == WTL_NVML_OK && call(&nvml, WTL_NVML_COUNT, counted) == WTL_NVML_OK)
		for (uint32_t i = 0; i < count; i++)
			check_gpu(&nvml, i, seconds);
	call(&nvml, WTL_NVML_SHUTDOWN, NULL);
	wtl_io_free(nvml.io);
	return code == WTL_NVML_OK ? 0 : 1;
}
