/* SPDX-License-Identifier: MIT */
/*
 * Writes real power traces as a recording and as JSON lines, reads both, and prints what each costs, one
 * "name value" a line, for bench_record.py.
 *
 * usage: bench_record POWER-TRACES-DIRECTORY TEMPORARY-DIRECTORY meter|sensor|mixed SECONDS PASSES
 *
 * 32 channels at 1 kHz. "meter": what a physical meter told of an A100 and an RTX 3090, a new value each
 * millisecond. "sensor": what NVML told of the same, as often as it had something new. "mixed": 8 of the
 * first, 12 of the second, 12 energy counters that count what the meter told in steps of 61 µJ. Each
 * channel has a value and a time a sample, as the difference to the time of the tick, with jitter of some
 * microseconds.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/config.h"
#include "base/err.h"
#include "energy/units.h"
#include "record/writer.h"

#if HAVE_JANSSON
#include <jansson.h>
#endif

enum { CHANNELS = 32, HZ = 1000, TRACES = 6, TRACE_MAX = 20000, JSON_SECONDS_MAX = 20 };

struct trace {
	int64_t mw[TRACE_MAX]; /* one a millisecond */
	size_t n;
};

struct bench {
	struct trace traces[TRACES]; /* three of the meter, three of NVML */
	const char *what;
	char path[512], json_path[512];
	int64_t seconds;
	uint64_t random;
	int64_t energy_nj[CHANNELS];
};

static void die(const char *what)
{
	fprintf(stderr, "bench_record: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- Traces ---- */

/* Column `column` of a CSV file of (Unix ms, …), held from each of its times to the next. */
static void load(struct trace *trace, const char *directory, const char *name, int column)
{
	char path[512], line[512];
	int64_t first = 0, mw = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.csv", directory, name);
	file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		die(path);
	while (fgets(line, sizeof(line), file)) {
		const char *at = line;
		int64_t ms = strtoll(line, NULL, 10);

		first = first ? first : ms;
		while (trace->n < TRACE_MAX && (int64_t)trace->n < ms - first)
			trace->mw[trace->n++] = mw;
		for (int i = 0; i < column && at; i++)
			at = strchr(at + 1, ',');
		if (!at)
			die(path);
		mw = (int64_t)(strtod(at + 1, NULL) * 1000 + 0.5);
	}
	fclose(file);
}

static int64_t next_random(struct bench *bench, int64_t below)
{
	bench->random =
		bench->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (int64_t)(bench->random >> 33) % below;
}

/* The traces one after the other, begun at another place in each channel. */
static int64_t power_mw(const struct bench *bench, size_t first_trace, int channel, int64_t tick)
{
	int64_t at = tick + channel * 3571;

	for (size_t i = first_trace;; i = first_trace + (i + 1 - first_trace) % 3) {
		if (at < (int64_t)bench->traces[i].n)
			return bench->traces[i].mw[at];
		at -= (int64_t)bench->traces[i].n;
	}
}

static int64_t value_of(struct bench *bench, int channel, int64_t tick)
{
	bool is_mixed = strcmp(bench->what, "mixed") == 0;

	if (strcmp(bench->what, "meter") == 0 || (is_mixed && channel < 8))
		return power_mw(bench, 0, channel, tick);
	if (!is_mixed || channel < 20)
		return power_mw(bench, 3, channel, tick);
	/* mW for a millisecond are µJ. */
	bench->energy_nj[channel] += power_mw(bench, 0, channel, tick) * 1000;
	return bench->energy_nj[channel] / 61035;
}

/* ---- Time ---- */

static double seconds_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- Writing ---- */

static struct wtl_store_writer *create(struct bench *bench, uint32_t series[2 * CHANNELS + 1])
{
	const struct wtl_store_options options = {.values_per_commit = HZ + 16};
	struct wtl_store_writer *writer;
	struct wtl_err err;
	char name[32];

	unlink(bench->path);
	if (wtl_store_create(bench->path, &options, &writer, &err) < 0)
		die(err.text);
	for (int i = 0; i < CHANNELS; i++) {
		snprintf(name, sizeof(name), "ch.%d.value", i);
		series[2 * i] = (uint32_t)wtl_store_series(writer, name);
		snprintf(name, sizeof(name), "ch.%d.at", i);
		series[2 * i + 1] = (uint32_t)wtl_store_series(writer, name);
	}
	series[2 * CHANNELS] = (uint32_t)wtl_store_series(writer, "sample.mono");
	return writer;
}

static void tick(struct bench *bench, struct wtl_store_writer *writer, const uint32_t series[],
		 int64_t i, FILE *json)
{
	int64_t t_ns = i * WTL_NS_PER_MS + (next_random(bench, 41) - 20) * 1000;
	int64_t at_ns = 0;

	if (json)
		fprintf(json, "{\"t\":%" PRId64 ",\"channels\":[", t_ns);
	wtl_store_put(writer, series[2 * CHANNELS], t_ns);
	for (int k = 0; k < CHANNELS; k++) {
		int64_t value = value_of(bench, k, i);

		/* A read takes 3 µs, and sometimes 4. */
		at_ns += 3000 + (next_random(bench, 8) == 0) * 1000;
		wtl_store_put(writer, series[2 * k], value);
		wtl_store_put(writer, series[2 * k + 1], at_ns);
		if (json)
			fprintf(json, "%s[%" PRId64 ",%" PRId64 "]", k ? "," : "", t_ns + at_ns,
				value);
	}
	if (json)
		fputs("]}\n", json);
}

/* The recording, and the JSON lines of its first seconds. */
static void write_all(struct bench *bench)
{
	uint32_t series[2 * CHANNELS + 1];
	struct wtl_store_writer *writer = create(bench, series);
	FILE *json = fopen(bench->json_path, "we");
	int64_t json_seconds =
		bench->seconds < JSON_SECONDS_MAX ? bench->seconds : JSON_SECONDS_MAX;
	double others, before;
	struct stat st;

	if (!json)
		die(bench->json_path);
	before = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - seconds_of(CLOCK_THREAD_CPUTIME_ID);
	for (int64_t s = 0; s < bench->seconds; s++) {
		for (int64_t i = 0; i < HZ; i++)
			tick(bench, writer, series, s * HZ + i, s < json_seconds ? json : NULL);
		if (wtl_store_commit(writer, (s + 1) * WTL_NS_PER_S, (s + 1) * WTL_NS_PER_S, NULL) <
		    0)
			die("commit");
		wtl_writer_wait(writer);
	}
	others =
		seconds_of(CLOCK_PROCESS_CPUTIME_ID) - seconds_of(CLOCK_THREAD_CPUTIME_ID) - before;
	if (wtl_store_end(writer, NULL) < 0)
		die("end");
	printf("samples %" PRId64 "\n", bench->seconds * HZ * CHANNELS);
	printf("thread_cpu_s %.6f\n", others);
	if (stat(bench->path, &st) < 0)
		die(bench->path);
	printf("recording_bytes %lld\n", (long long)st.st_size);
	printf("json_samples %" PRId64 "\n", json_seconds * HZ * CHANNELS);
	printf("json_bytes %ld\n", ftell(json));
	fclose(json);
}

/* What sampling itself would pay for: the putting. */
static void time_puts(struct bench *bench)
{
	uint32_t series[2 * CHANNELS + 1];
	struct wtl_store_writer *writer = create(bench, series);
	double begin = seconds_of(CLOCK_THREAD_CPUTIME_ID);

	for (int i = 0; i < HZ; i++)
		for (int k = 0; k < 2 * CHANNELS; k++)
			wtl_store_put(writer, series[k], i * k);
	printf("put_ns %.3f\n",
	       (seconds_of(CLOCK_THREAD_CPUTIME_ID) - begin) * 1e9 / (HZ * 2.0 * CHANNELS));
	wtl_store_end(writer, NULL);
}

/* ---- Reading ---- */

static void read_recording(struct bench *bench, int passes)
{
	double begin = seconds_of(CLOCK_MONOTONIC), spent;
	uint64_t sum = 0, n_all = 0;

	for (int pass = 0; pass < passes; pass++) {
		struct wtl_store_reader *reader;

		if (wtl_store_open(bench->path, &reader, NULL) < 0)
			die(bench->path);
		for (size_t i = 0; i < wtl_store_periods(reader); i++)
			for (uint32_t k = 0; k < wtl_store_n_series(reader); k++) {
				const int64_t *values;
				size_t n;

				if (wtl_store_values(reader, k, i, &values, &n, NULL) < 0)
					die("values");
				for (size_t j = 0; j < n; j++)
					sum += (uint64_t)values[j];
				n_all += n;
			}
		wtl_store_close(reader);
	}
	spent = seconds_of(CLOCK_MONOTONIC) - begin;
	/* The ticks' own times are not samples. */
	printf("read_values %" PRIu64 "\n", n_all);
	printf("read_samples %" PRId64 "\n", passes * bench->seconds * HZ * CHANNELS);
	printf("read_s %.6f\n", spent);
	fprintf(stderr, "sum %" PRIu64 "\n", sum);
}

#if HAVE_JANSSON
static void read_json(struct bench *bench)
{
	double begin = seconds_of(CLOCK_MONOTONIC);
	FILE *file = fopen(bench->json_path, "re");
	char *line = NULL;
	size_t size = 0;
	uint64_t sum = 0;
	ssize_t len;

	if (!file)
		die(bench->json_path);
	while ((len = getline(&line, &size, file)) > 0) {
		json_t *row = json_loadb(line, (size_t)len, 0, NULL), *pair;
		size_t i;

		json_array_foreach(json_object_get(row, "channels"), i, pair) sum +=
			(uint64_t)json_integer_value(json_array_get(pair, 0)) +
			(uint64_t)json_integer_value(json_array_get(pair, 1));
		json_decref(row);
	}
	free(line);
	fclose(file);
	printf("jansson_s %.6f\n", seconds_of(CLOCK_MONOTONIC) - begin);
	fprintf(stderr, "sum %" PRIu64 "\n", sum);
}
#endif

int main(int argc, char **argv)
{
	static struct bench bench;
	static const char *const names[] = {"a100_square", "a100_steps", "rtx3090_steps"};

	if (argc != 6) {
		fprintf(stderr,
			"usage: bench_record TRACES TMP meter|sensor|mixed SECONDS PASSES\n");
		return 2;
	}
	for (int i = 0; i < 3; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s_meter", names[i]);
		load(&bench.traces[i], argv[1], name, 1);
		snprintf(name, sizeof(name), "%s_nvml", names[i]);
		load(&bench.traces[3 + i], argv[1], name, i == 2 ? 7 : 6);
	}
	snprintf(bench.path, sizeof(bench.path), "%s/bench.wattle", argv[2]);
	snprintf(bench.json_path, sizeof(bench.json_path), "%s/bench.ndjson", argv[2]);
	bench.what = argv[3];
	bench.seconds = atoll(argv[4]);
	time_puts(&bench);
	write_all(&bench);
	read_recording(&bench, atoi(argv[5]));
#if HAVE_JANSSON
	read_json(&bench);
#endif
	return 0;
}
