/* SPDX-License-Identifier: MIT */
/*
 * Many agents' pushes by one program, with the agents' own code and wire format.
 *
 *	bench_push fleet URL AGENTS SERIES REQUESTS SECONDS
 *	bench_push store FILE SERIES ROWS
 *
 * fleet: each agent sends so many requests of ten rows, a second apart, of so many series; it ends now, or after so many
 * seconds. On standard output: samples, bytes as they were sent, seconds, CPU seconds of this program, requests that
 * failed, and agents that sent any.
 * store: a recording of wattle serve with so many rows, none of which was pushed, to now.
 *
 * The values are made up: two series in three are counters, most of which rest.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "energy/units.h"
#include "record/store.h"
#include "serve/push_http.h"
#include "serve/push_log.h"
#include "serve/push_rows.h"
#include "serve/push_wire.h"

enum { ROWS = 10 };

struct made {
	struct wtl_push_table table;
	struct wtl_push_row rows[ROWS];
	int64_t *values;
	size_t n;
	uint64_t random;
};

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int fail(const char *why)
{
	fprintf(stderr, "bench_push: %s\n", why);
	return 1;
}

static uint64_t next_random(struct made *made)
{
	made->random = made->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return made->random >> 33;
}

static int begin(struct made *made, size_t n)
{
	char name[160];

	made->n = n;
	made->random = 1;
	made->values = calloc(n, sizeof(*made->values));
	for (size_t i = 0; made->values && i < n; i++) {
		int len = snprintf(
			name, sizeof(name),
			i % 3 == 2 ? "wattle_command_power_watts{command=\"worker-%zu\"}"
				   : "wattle_command_energy_joules_total{command=\"worker-%zu\","
				     "domain=\"package-0\",part=\"%s\"}",
			i / 3, i % 3 ? "idle" : "dynamic");

		if (wtl_push_table_put(&made->table, name, (size_t)len, WTL_PUSH_EIGHTHS) < 0)
			return -1;
	}
	return made->values ? 0 : -1;
}

static int fill(struct made *made, struct wtl_push_row *row, uint64_t number, int64_t t_utc_ms)
{
	row->n = 0;
	row->number = number;
	row->t_utc_ms = t_utc_ms;
	for (size_t i = 0; i < made->n; i++) {
		if (i % 3 == 2)
			made->values[i] = i % 10 ? 0 : 40 + (int64_t)(next_random(made) % 64);
		else if (i % 10 < 3)
			made->values[i] += (int64_t)(next_random(made) % 200);
		if (wtl_push_row_add(row, (uint32_t)i, made->values[i]) < 0)
			return -1;
	}
	return 0;
}

/* An agent's labels are in the table: others need others. */
static void forget_labels(struct made *made)
{
	for (size_t i = 0; i < made->table.n; i++) {
		free(made->table.series[i].labels);
		made->table.series[i].labels = NULL;
	}
}

static int fleet(const char *url, size_t n_agents, size_t n_series, size_t n_requests,
		 double most_s)
{
	const struct wtl_push_http_options options = {.url = url};
	int64_t begin_ms = (int64_t)time(NULL) * 1000 - (int64_t)(n_requests * ROWS) * 1000;
	double began = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	struct made made = {.n = 0};
	struct wtl_push_http *http;
	struct wtl_buf request;
	size_t failed = 0, sent = 0;
	struct wtl_err err;

	if (begin(&made, n_series) < 0)
		return fail("out of memory");
	if (wtl_push_http_new(&options, &http, &err) < 0)
		return fail(err.text);
	wtl_buf_init(&request, 64 << 20);
	for (size_t k = 0; k < n_requests; k++) {
		for (unsigned i = 0; i < ROWS; i++)
			if (fill(&made, &made.rows[i], 1,
				 begin_ms + (int64_t)(k * ROWS + i) * 1000))
				return fail("out of memory");
		for (size_t agent = 0;
		     agent < n_agents && seconds(CLOCK_MONOTONIC) - began < most_s; agent++) {
			char instance[40];
			const char *const texts[] = {"job=wattle", instance, NULL};
			const struct wtl_push_labels labels = {texts};
			struct wtl_push_answer answer;

			snprintf(instance, sizeof(instance), "instance=node-%zu", agent);
			forget_labels(&made);
			wtl_buf_clear(&request);
			if (wtl_push_remote_write(&made.table, made.rows, ROWS, &labels, &request))
				return fail("out of memory");
			wtl_push_http_send(http, &request, &answer);
			sent++;
			failed += answer.result != WTL_PUSH_TAKEN;
		}
	}
	printf("%zu %llu %.3f %.3f %zu %zu\n", sent * n_series * ROWS,
	       (unsigned long long)wtl_push_http_bytes(http), seconds(CLOCK_MONOTONIC) - began,
	       seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu, failed, sent < n_agents ? sent : n_agents);
	return 0;
}

static int store(const char *path, size_t n_series, uint64_t n_rows)
{
	const struct wtl_store_options options = {.period_ns = 60 * WTL_NS_PER_S};
	int64_t begin_ms = ((int64_t)time(NULL) - (int64_t)n_rows) * 1000;
	struct wtl_push_log log = {.writer = NULL};
	struct wtl_store_writer *writer;
	struct made made = {.n = 0};
	struct wtl_err err;
	char place[48];

	if (begin(&made, n_series) < 0)
		return fail("out of memory");
	if (wtl_store_create(path, &options, &writer, &err) < 0)
		return fail(err.text);
	snprintf(place, sizeof(place), "1 %llu", (unsigned long long)n_rows + 1);
	wtl_store_fact(writer, "served-totals", "wattle-totals 1;");
	wtl_store_fact(writer, "served-since", "1795219200000000000");
	wtl_store_fact(writer, "pushed", place);
	if (wtl_push_log_begin(&log, writer) < 0)
		return fail("out of memory");
	for (uint64_t i = 0; i < n_rows; i++) {
		int64_t t_ns = (int64_t)i * WTL_NS_PER_S;

		if (fill(&made, &made.rows[0], i + 1, begin_ms + (int64_t)i * 1000) < 0 ||
		    wtl_push_log_put(&log, &made.table, &made.rows[0]) < 0)
			return fail("out of memory");
		if (wtl_store_commit(writer, t_ns, begin_ms * 1000000 + t_ns, &err) < 0)
			return fail(err.text);
		wtl_store_wait(writer);
	}
	return wtl_store_end(writer, &err) < 0 ? fail(err.text) : 0;
}

int main(int argc, char *argv[])
{
	if (argc == 7 && strcmp(argv[1], "fleet") == 0)
		return fleet(argv[2], strtoul(argv[3], NULL, 10), strtoul(argv[4], NULL, 10),
			     strtoul(argv[5], NULL, 10), strtod(argv[6], NULL));
	if (argc == 5 && strcmp(argv[1], "store") == 0)
		return store(argv[2], strtoul(argv[3], NULL, 10), strtoul(argv[4], NULL, 10));
	return fail(
		"usage: bench_push fleet URL AGENTS SERIES REQUESTS SECONDS | store FILE SERIES ROWS");
}
