/* SPDX-License-Identifier: MIT */
/* What a recording is told of consumers: differences, from which they can be had back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "energy/attribution.h"
#include "meter/consumers.h"
#include "meter/observer.h"
#include "meter_bench.h"
#include "record/writer.h"
#include "replay/delta.h"
#include "unit.h"
#include "workload/workload.h"

enum { ROWS_MAX = 32, FIRST = WTL_SLOTS_FIXED };

/* ---- Numbers ---- */

/* Which values a number can have; it comes back as it was put. */
static void check_values(enum wtl_change which, const int64_t values[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct wtl_consumer consumer, other;

		memset(&consumer, 0, sizeof(consumer));
		memset(&other, 0, sizeof(other));
		/* Also of one that had another. */
		wtl_delta_set_number(&consumer, which, values[(i + 1) % n]);
		wtl_delta_set_number(&consumer, which, values[i]);
		if (wtl_delta_number(&consumer, which) != values[i])
			fail_msg("field %d: %lld became %lld", which, (long long)values[i],
				 (long long)wtl_delta_number(&consumer, which));
		/* By differences that wrap around, too, and nothing else is touched. */
		for (enum wtl_change k = 0; k < WTL_CHANGES; k++)
			wtl_delta_set_number(&other, k,
					     (int64_t)((uint64_t)wtl_delta_number(&other, k) +
						       ((uint64_t)wtl_delta_number(&consumer, k) -
							(uint64_t)wtl_delta_number(&other, k))));
		assert_memory_equal(&consumer, &other, sizeof(consumer));
	}
}

static void test_numbers(void **state)
{
	static const int64_t wide[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_C(1) << 40};
	static const int64_t narrow[] = {0, 1, 4096, INT32_MAX, UINT32_MAX};
	static const int64_t with_sign[] = {0, 1, -1, INT32_MAX, INT32_MIN};
	static const int64_t ppm[] = {0, 1, 1000000, UINT32_MAX - 1, -1};
	static const int64_t flags[] = {0, 1, 2, 3};
	static const int64_t states[] = {WTL_CONSUMER_LIVE, WTL_CONSUMER_EXITED,
					 WTL_CONSUMER_KERNEL, WTL_CONSUMER_FOLDED};
	static const enum wtl_change wides[] = {
		WTL_CHANGE_CPU, WTL_CHANGE_COUNTED, WTL_CHANGE_RSS,
		WTL_CHANGE_PSS, WTL_CHANGE_USS,	    WTL_CHANGE_GPU_MEMORY,
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(wides); i++)
		check_values(wides[i], wide, UNIT_COUNT(wide));
	check_values(WTL_CHANGE_PROCESSES, narrow, UNIT_COUNT(narrow));
	check_values(WTL_CHANGE_THREADS, narrow, UNIT_COUNT(narrow));
	check_values(WTL_CHANGE_WATTS_KEY, narrow, UNIT_COUNT(narrow));
	check_values(WTL_CHANGE_PARENT, with_sign, UNIT_COUNT(with_sign));
	check_values(WTL_CHANGE_GPU_USE, ppm, UNIT_COUNT(ppm));
	check_values(WTL_CHANGE_FLAGS, flags, UNIT_COUNT(flags));
	check_values(WTL_CHANGE_STATE, states, UNIT_COUNT(states));
}

/* Each number is a field of its own, and what a struct says unknown with is -1. */
static void test_meanings(void **state)
{
	struct wtl_consumer c = {
		.state = WTL_CONSUMER_KERNEL,
		.cpu_ns = 11,
		.counted_ns = 12,
		.is_readable = true,
		.parent = 13,
		.n_processes = 14,
		.n_threads = 15,
		.rss_bytes = 16,
		.pss_bytes = UINT64_MAX,
		.uss_bytes = 18,
		.gpu_memory_bytes = 19,
		.watts_key = 20,
		.gpu_ppm = UINT32_MAX,
	};
	static const int64_t expected[WTL_CHANGES] = {
		[WTL_CHANGE_STATE] = WTL_CONSUMER_KERNEL,
		[WTL_CHANGE_CPU] = 11,
		[WTL_CHANGE_COUNTED] = 12,
		[WTL_CHANGE_FLAGS] = 2,
		[WTL_CHANGE_PARENT] = 13,
		[WTL_CHANGE_PROCESSES] = 14,
		[WTL_CHANGE_THREADS] = 15,
		[WTL_CHANGE_RSS] = 16,
		[WTL_CHANGE_PSS] = -1,
		[WTL_CHANGE_USS] = 18,
		[WTL_CHANGE_GPU_MEMORY] = 19,
		[WTL_CHANGE_WATTS_KEY] = 20,
		[WTL_CHANGE_GPU_USE] = -1,
	};

	(void)state;
	for (enum wtl_change i = WTL_CHANGE_OWNER; i < WTL_CHANGES; i++)
		assert_int_equal(wtl_delta_number(&c, i), expected[i]);
	c.is_in_tree = true;
	assert_int_equal(wtl_delta_number(&c, WTL_CHANGE_FLAGS), 3);
}

/* A state that there is not, from a damaged recording. */
static void test_no_state(void **state)
{
	struct wtl_consumer consumer = {.state = WTL_CONSUMER_EXITED};

	(void)state;
	wtl_delta_set_number(&consumer, WTL_CHANGE_STATE, WTL_CONSUMER_FOLDED + 1);
	assert_int_equal(consumer.state, WTL_CONSUMER_EXITED);
	wtl_delta_set_number(&consumer, WTL_CHANGE_STATE, -1);
	assert_int_equal(consumer.state, WTL_CONSUMER_EXITED);
	wtl_delta_set_number(&consumer, WTL_CHANGES, 5);
	assert_int_equal(wtl_delta_number(&consumer, WTL_CHANGES), 0);
}

/* ---- Followed ---- */

struct followed {
	struct meter_bench bench;
	struct wtl_consumers *consumers;
	struct wtl_workload *workload;
	struct wtl_store_writer *writer;
	struct wtl_delta delta;
	char *dir, *path;
	int64_t n_looks;
	/* Read back. */
	struct wtl_store_reader *reader;
	struct wtl_stored_consumer rows[ROWS_MAX];
	size_t n_rows;
	const int64_t *counts, *slots, *fields, *by;
	size_t n_counts, n_changes;
	size_t at, list; /* where the checks stand */
	int64_t slot;
};

static void start(struct followed *s)
{
	const struct wtl_store_options options = {.values_per_commit = 100};
	struct wtl_err err = {.code = 0};

	memset(s, 0, sizeof(*s));
	meter_bench_root(&s->bench, "vm-nothing");
	meter_bench_open(&s->bench);
	assert_int_equal(wtl_consumers_new_restored(s->bench.meter, NULL, 0, &s->consumers, NULL),
			 0);
	s->workload = wtl_consumers_workload(s->consumers);
	s->dir = unit_tmpdir();
	s->path = unit_path(s->dir, "r.wattle");
	if (wtl_store_create(s->path, &options, &s->writer, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(wtl_delta_init(&s->delta, s->writer), 0);
}

static void look(struct followed *s)
{
	assert_int_equal(wtl_delta_follow(&s->delta, s->consumers, s->n_looks++), 0);
}

static int take_row(void *context, const struct wtl_stored_consumer *row)
{
	struct followed *s = context;

	assert_true(s->n_rows < ROWS_MAX);
	s->rows[s->n_rows] = *row;
	if (row->consumer.group)
		s->rows[s->n_rows].group = *row->consumer.group;
	s->n_rows++;
	return 0;
}

static size_t values(struct followed *s, const char *name, const int64_t **ret_values)
{
	int64_t series = wtl_store_find(s->reader, name);
	size_t n;

	assert_true(series >= 0);
	assert_int_equal(wtl_store_values(s->reader, (uint32_t)series, 0, ret_values, &n, NULL), 0);
	return n;
}

static void read_back(struct followed *s)
{
	struct wtl_err err = {.code = 0};

	if (wtl_store_commit(s->writer, 1, 1, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(wtl_store_end(s->writer, &err), 0);
	s->writer = NULL;
	if (wtl_store_open(s->path, &s->reader, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(wtl_store_each_consumer(s->reader, take_row, s), 0);
	s->n_counts = values(s, WTL_SERIES_CHANGES, &s->counts);
	s->n_changes = values(s, WTL_SERIES_CHANGE_SLOT, &s->slots);
	assert_int_equal(values(s, WTL_SERIES_CHANGE_FIELD, &s->fields), s->n_changes);
	assert_int_equal(values(s, WTL_SERIES_CHANGE_BY, &s->by), s->n_changes);
}

static void finish(struct followed *s)
{
	assert_int_equal(s->list, s->n_counts);
	assert_int_equal(s->at, s->n_changes);
	wtl_store_close(s->reader);
	wtl_delta_done(&s->delta);
	wtl_consumers_free(s->consumers);
	meter_bench_done(&s->bench);
	unit_rmtree(s->dir);
	free(s->path);
}

static void expect_list(struct followed *s, int64_t n)
{
	assert_true(s->list < s->n_counts);
	assert_int_equal(s->counts[s->list++], n);
	s->slot = 0;
}

static void expect(struct followed *s, int64_t slot, enum wtl_change field, int64_t by)
{
	assert_true(s->at < s->n_changes);
	s->slot += s->slots[s->at];
	assert_int_equal(s->slot, slot);
	assert_int_equal(s->fields[s->at], field);
	assert_int_equal(s->by[s->at], by);
	s->at++;
}

/* One of whom nothing is told but a pid and CPU time. */
static struct wtl_consumer *tell(struct followed *s, uint32_t slot, int pid, int64_t start_ns)
{
	struct wtl_consumer *consumer = wtl_workload_restore_consumer(s->workload, slot);

	assert_non_null(consumer);
	*consumer = (struct wtl_consumer){.pid = pid, .start_ns = start_ns, .uid = UINT32_MAX};
	return consumer;
}

static void test_differences(void **state)
{
	struct followed s;
	size_t n_rows;

	(void)state;
	start(&s);
	tell(&s, FIRST, 10, 5)->cpu_ns = 100;
	tell(&s, FIRST + 4, 20, 6)->cpu_ns = 200;
	look(&s);
	n_rows = s.writer->front->n_rows;
	look(&s);
	wtl_workload_restore_consumer(s.workload, FIRST + 4)->cpu_ns = 250;
	wtl_workload_restore_consumer(s.workload, FIRST)->rss_bytes = UINT64_MAX;
	look(&s);
	/* Numbers are no reason for another row. */
	assert_int_equal(s.writer->front->n_rows, n_rows);
	wtl_workload_restore_nobody(s.workload, FIRST);
	look(&s);
	look(&s);
	read_back(&s);
	expect_list(&s, 4);
	expect(&s, FIRST, WTL_CHANGE_OWNER, 1);
	expect(&s, FIRST, WTL_CHANGE_CPU, 100);
	expect(&s, FIRST + 4, WTL_CHANGE_OWNER, 2);
	expect(&s, FIRST + 4, WTL_CHANGE_CPU, 200);
	expect_list(&s, 0);
	expect_list(&s, 2);
	expect(&s, FIRST, WTL_CHANGE_RSS, -1);
	expect(&s, FIRST + 4, WTL_CHANGE_CPU, 50);
	expect_list(&s, 1);
	expect(&s, FIRST, WTL_CHANGE_OWNER, 0);
	expect_list(&s, 0);
	assert_int_equal(s.n_rows, 2);
	assert_int_equal(s.rows[0].id, 1);
	assert_int_equal(s.rows[0].slot, FIRST);
	assert_int_equal(s.rows[0].consumer.pid, 10);
	assert_int_equal(s.rows[0].per_cpu.power_uw, 0);
	assert_int_equal(s.rows[0].first_look, 0);
	assert_int_equal(s.rows[0].last_look, 3);
	assert_int_equal(s.rows[1].last_look, -1);
	finish(&s);
}

/* Another process of the same number in the same place is another one. */
static void test_reused_number(void **state)
{
	struct followed s;

	(void)state;
	start(&s);
	tell(&s, FIRST, 10, 5)->cpu_ns = 100;
	look(&s);
	tell(&s, FIRST, 10, 9)->cpu_ns = 30;
	look(&s);
	tell(&s, FIRST, 11, 9)->cpu_ns = 30;
	look(&s);
	read_back(&s);
	expect_list(&s, 2);
	expect(&s, FIRST, WTL_CHANGE_OWNER, 1);
	expect(&s, FIRST, WTL_CHANGE_CPU, 100);
	/* All of its numbers from 0. */
	expect_list(&s, 2);
	expect(&s, FIRST, WTL_CHANGE_OWNER, 2);
	expect(&s, FIRST, WTL_CHANGE_CPU, 30);
	expect_list(&s, 2);
	expect(&s, FIRST, WTL_CHANGE_OWNER, 3);
	expect(&s, FIRST, WTL_CHANGE_CPU, 30);
	assert_int_equal(s.n_rows, 3);
	assert_int_equal(s.rows[0].last_look, 1);
	assert_int_equal(s.rows[1].last_look, 2);
	assert_int_equal(s.rows[2].last_look, -1);
	finish(&s);
}

/* Names, user, group and start become known later: the same one, with a row that says more. */
static void test_learned_late(void **state)
{
	static const struct wtl_group group = {.cgroup = "/a.slice", .unit = "a.service"};
	struct wtl_consumer *consumer;
	struct followed s;

	(void)state;
	start(&s);
	tell(&s, FIRST, 10, 0);
	look(&s);
	consumer = wtl_workload_restore_consumer(s.workload, FIRST);
	consumer->start_ns = 77;
	consumer->uid = 1000;
	consumer->group = &group;
	snprintf(consumer->name, sizeof(consumer->name), "late");
	consumer->command = "late --arguments";
	look(&s);
	read_back(&s);
	expect_list(&s, 1);
	expect(&s, FIRST, WTL_CHANGE_OWNER, 1);
	expect_list(&s, 0);
	assert_int_equal(s.n_rows, 1);
	assert_string_equal(s.rows[0].consumer.name, "late");
	assert_string_equal(s.rows[0].command, "late --arguments");
	assert_int_equal(s.rows[0].consumer.start_ns, 77);
	assert_int_equal(s.rows[0].consumer.uid, 1000);
	assert_string_equal(s.rows[0].group.cgroup, "/a.slice");
	assert_string_equal(s.rows[0].group.unit, "a.service");
	assert_int_equal(s.rows[0].first_look, 0);
	finish(&s);
}

/* Each of them alone is enough for that. */
static void test_learned_alone(void **state)
{
	static const struct wtl_group group = {.unit = "a.service"};
	const struct wtl_consumer later[] = {
		{.pid = 10, .uid = 1000},
		{.pid = 10, .uid = UINT32_MAX, .start_ns = 77},
		{.pid = 10, .uid = UINT32_MAX, .group = &group},
		{.pid = 10, .uid = UINT32_MAX, .name = "late"},
		{.pid = 10, .uid = UINT32_MAX, .command = "late --arguments"},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(later); i++) {
		struct followed s;

		start(&s);
		tell(&s, FIRST, 10, 0);
		look(&s);
		*wtl_workload_restore_consumer(s.workload, FIRST) = later[i];
		look(&s);
		read_back(&s);
		expect_list(&s, 1);
		expect(&s, FIRST, WTL_CHANGE_OWNER, 1);
		expect_list(&s, 0);
		assert_int_equal(s.n_rows, 1);
		assert_int_equal(s.rows[0].consumer.uid, later[i].uid);
		assert_int_equal(s.rows[0].consumer.start_ns, later[i].start_ns);
		assert_string_equal(s.rows[0].consumer.name, later[i].name);
		assert_string_equal(s.rows[0].group.unit, later[i].group ? group.unit : "");
		assert_string_equal(s.rows[0].command, later[i].command ? later[i].command : "");
		finish(&s);
	}
}

static void tell_row(struct followed *s, const char *name)
{
	struct wtl_consumer *consumer = tell(s, FIRST, 0, 0);

	consumer->state = WTL_CONSUMER_FOLDED;
	consumer->n_processes = 3;
	snprintf(consumer->name, sizeof(consumer->name), "%s", name);
}

/* Rows that stand for several have no number: their name tells them apart. */
static void test_rows(void **state)
{
	struct followed s;

	(void)state;
	start(&s);
	tell_row(&s, "cc1");
	look(&s);
	tell_row(&s, "cc1");
	wtl_workload_restore_consumer(s.workload, FIRST)->n_threads = 4;
	look(&s);
	tell_row(&s, "as");
	look(&s);
	read_back(&s);
	for (int i = 0; i < 2; i++) {
		expect_list(&s, 3);
		expect(&s, FIRST, WTL_CHANGE_OWNER, i + 1);
		expect(&s, FIRST, WTL_CHANGE_STATE, WTL_CONSUMER_FOLDED);
		expect(&s, FIRST, WTL_CHANGE_PROCESSES, 3);
		if (i == 0) {
			expect_list(&s, 1);
			expect(&s, FIRST, WTL_CHANGE_THREADS, 4);
		}
	}
	assert_int_equal(s.n_rows, 2);
	assert_string_equal(s.rows[0].consumer.name, "cc1");
	assert_string_equal(s.rows[1].consumer.name, "as");
	finish(&s);
}

/* A period tells everybody once more, from 0, by the same numbers in the table. */
static void test_anew(void **state)
{
	struct followed s;

	(void)state;
	start(&s);
	tell(&s, FIRST, 10, 5)->cpu_ns = 100;
	tell(&s, FIRST + 1, 11, 5)->cpu_ns = 7;
	look(&s);
	wtl_delta_begin_anew(&s.delta);
	wtl_workload_restore_nobody(s.workload, FIRST + 1);
	wtl_workload_restore_consumer(s.workload, FIRST)->cpu_ns = 130;
	look(&s);
	look(&s);
	read_back(&s);
	expect_list(&s, 4);
	expect(&s, FIRST, WTL_CHANGE_OWNER, 1);
	expect(&s, FIRST, WTL_CHANGE_CPU, 100);
	expect(&s, FIRST + 1, WTL_CHANGE_OWNER, 2);
	expect(&s, FIRST + 1, WTL_CHANGE_CPU, 7);
	expect_list(&s, 3);
	expect(&s, FIRST, WTL_CHANGE_OWNER, 1);
	expect(&s, FIRST, WTL_CHANGE_CPU, 130);
	expect(&s, FIRST + 1, WTL_CHANGE_OWNER, 0);
	expect_list(&s, 0);
	finish(&s);
}

/* At the end, the rows tell of everybody who is there as they are then. */
static void test_finish(void **state)
{
	struct followed s;
	size_t n_rows;

	(void)state;
	start(&s);
	for (uint32_t i = 0; i < 6; i++)
		tell(&s, FIRST + i, 10 + (int)i, 5)->cpu_ns = 100;
	wtl_workload_restore_consumer(s.workload, FIRST + 4)->cpu_ppm = 250000;
	look(&s);
	wtl_delta_begin_anew(&s.delta);
	wtl_workload_restore_consumer(s.workload, FIRST)->cpu_ns = 400;
	wtl_workload_restore_consumer(s.workload, FIRST + 4)->cpu_ppm = 0;
	look(&s);
	wtl_workload_restore_consumer(s.workload, FIRST + 1)->cpu_ppm = 250000;
	/* Read after the last look. */
	wtl_workload_restore_consumer(s.workload, FIRST + 2)->rss_bytes = 4096;
	/* Who is gone since, or has come, is left as the look told. */
	wtl_workload_restore_nobody(s.workload, FIRST + 5);
	tell(&s, FIRST + 6, 20, 5);
	n_rows = s.writer->front->n_rows;
	wtl_delta_finish(&s.delta, s.consumers);
	/* Nothing has become of one of them. */
	assert_int_equal(s.writer->front->n_rows, n_rows + 4);
	read_back(&s);
	for (int looks = 0; looks < 2; looks++) {
		expect_list(&s, 12);
		for (uint32_t i = 0; i < 6; i++) {
			expect(&s, FIRST + i, WTL_CHANGE_OWNER, i + 1);
			expect(&s, FIRST + i, WTL_CHANGE_CPU, looks && i == 0 ? 400 : 100);
		}
	}
	assert_int_equal(s.n_rows, 6);
	assert_int_equal(s.rows[0].consumer.cpu_ns, 400);
	assert_int_equal(s.rows[1].consumer.cpu_ppm, 250000);
	assert_int_equal(s.rows[2].consumer.rss_bytes, 4096);
	assert_int_equal(s.rows[4].consumer.cpu_ppm, 0);
	finish(&s);
}

/* Who a user is, is asked for those whose number is known, and of several in a row once. */
static void name_user(void *context, uint32_t uid, char name[33])
{
	++*(unsigned *)context;
	snprintf(name, 33, "user%u", uid);
}

static void test_users(void **state)
{
	static const uint32_t uids[] = {0, UINT32_MAX, 0, 1000, 1000, 0};
	unsigned asked = 0;
	struct followed s;
	char name[33];

	(void)state;
	start(&s);
	s.delta.user = name_user;
	s.delta.user_context = &asked;
	for (uint32_t i = 0; i < UNIT_COUNT(uids); i++)
		tell(&s, FIRST + i, 10 + (int)i, 5)->uid = uids[i];
	look(&s);
	look(&s);
	assert_int_equal(asked, 3);
	read_back(&s);
	expect_list(&s, UNIT_COUNT(uids));
	for (uint32_t i = 0; i < UNIT_COUNT(uids); i++)
		expect(&s, FIRST + i, WTL_CHANGE_OWNER, i + 1);
	expect_list(&s, 0);
	for (size_t i = 0; i < UNIT_COUNT(uids); i++) {
		snprintf(name, sizeof(name), "user%u", uids[i]);
		assert_string_equal(s.rows[i].user, uids[i] == UINT32_MAX ? "" : name);
	}
	finish(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),	      cmocka_unit_test(test_meanings),
		cmocka_unit_test(test_no_state),      cmocka_unit_test(test_differences),
		cmocka_unit_test(test_reused_number), cmocka_unit_test(test_learned_late),
		cmocka_unit_test(test_learned_alone), cmocka_unit_test(test_rows),
		cmocka_unit_test(test_anew),	      cmocka_unit_test(test_finish),
		cmocka_unit_test(test_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
