/* SPDX-License-Identifier: MIT */
/* What a recording does not have: gaps of domains, and the words for what is lost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "energy/units.h"
#include "replay/history.h"
#include "report/missing.h"
#include "store_bench.h"
#include "unit.h"

#define S	 WTL_NS_PER_S
#define LONG_AGO (INT64_MIN + 5)

enum { GAPS_MAX = 16 };

struct told {
	struct wtl_stored_gap gaps[GAPS_MAX];
	size_t n;
};

static void put(struct store_bench *bench, enum wtl_gap_kind kind, const char *subject,
		int64_t begin_ns, int64_t duration_ns)
{
	struct wtl_stored_gap gap = {
		.kind = kind, .begin_mono_ns = begin_ns, .duration_ns = duration_ns};

	wtl_text_copy(gap.subject, sizeof(gap.subject), subject);
	snprintf(gap.text, sizeof(gap.text), "%s at %lld", subject, (long long)begin_ns);
	assert_int_equal(wtl_store_gap(bench->writer, &gap), 0);
}

static int tell(struct store_bench *bench, struct told *told)
{
	struct wtl_history history = {.n_gaps = 0};
	int rc;

	store_bench_seconds(bench, 1, 1);
	store_bench_end(bench);
	history.reader = store_bench_open(bench);
	rc = wtl_history_read_gaps(&history);
	assert_in_range(history.n_gaps, 0, GAPS_MAX);
	told->n = history.n_gaps;
	if (told->n > 0)
		memcpy(told->gaps, history.gaps, told->n * sizeof(told->gaps[0]));
	free(history.gaps);
	wtl_store_close(history.reader);
	return rc;
}

static void assert_gap(const struct told *told, size_t i, const char *subject, int64_t begin_ns,
		       int64_t duration_ns)
{
	assert_true(i < told->n);
	assert_string_equal(told->gaps[i].subject, subject);
	assert_int_equal(told->gaps[i].begin_mono_ns, begin_ns);
	assert_int_equal(told->gaps[i].duration_ns, duration_ns);
}

/* Two channels that failed together; rows are written when gaps are over. */
static void test_channels_of_a_domain(void **state)
{
	struct store_bench *bench = *state;
	struct told told = {.n = 0};

	store_bench_create(bench);
	put(bench, WTL_GAP_CHANNEL, "gpu-0", 10 * S, 3 * S);
	put(bench, WTL_GAP_CHANNEL, "gpu-1", 10 * S, 3 * S);
	put(bench, WTL_GAP_CHANNEL, "gpu-0", 9 * S, 5 * S);
	/* One that lies within another, one that goes on where that ended, and one of its own. */
	put(bench, WTL_GAP_CHANNEL, "gpu-1", 11 * S, S);
	put(bench, WTL_GAP_CHANNEL, "gpu-1", 13 * S, S);
	put(bench, WTL_GAP_CHANNEL, "gpu-1", 14 * S + 1, S);
	assert_int_equal(tell(bench, &told), 0);
	assert_int_equal(told.n, 3);
	assert_gap(&told, 0, "gpu-0", 9 * S, 5 * S);
	assert_string_equal(told.gaps[0].text, "gpu-0 at 9000000000");
	assert_gap(&told, 1, "gpu-1", 10 * S, 4 * S);
	assert_gap(&told, 2, "gpu-1", 14 * S + 1, S);
}

/* What is not of channels is never put together, whatever it overlaps. */
static void test_other_kinds(void **state)
{
	struct store_bench *bench = *state;
	struct told told = {.n = 0};

	store_bench_create(bench);
	put(bench, WTL_GAP_OVERRUN, "", 5 * S, 4 * S);
	put(bench, WTL_GAP_CHANNEL, "dram-0", 6 * S, S);
	put(bench, WTL_GAP_OVERRUN, "", 6 * S, S);
	put(bench, WTL_GAP_CLOCK_STEP, "", 4 * S, -S);
	put(bench, WTL_GAP_SUSPEND, "", 6 * S, 30 * S);
	put(bench, WTL_GAP_SUSPEND, "", 7 * S, 30 * S);
	assert_int_equal(tell(bench, &told), 0);
	assert_int_equal(told.n, 6);
	assert_gap(&told, 0, "", 4 * S, -S);
	assert_gap(&told, 1, "", 5 * S, 4 * S);
	assert_int_equal(told.gaps[2].kind, WTL_GAP_CHANNEL);
	assert_int_equal(told.gaps[3].kind, WTL_GAP_OVERRUN);
	assert_gap(&told, 4, "", 6 * S, 30 * S);
	assert_gap(&told, 5, "", 7 * S, 30 * S);
}

/* A file may say anything: what is no time of a machine is passed over. */
static void test_times_that_do_not_fit(void **state)
{
	struct store_bench *bench = *state;
	struct told told = {.n = 0};

	store_bench_create(bench);
	put(bench, WTL_GAP_CHANNEL, "gpu-0", LONG_AGO, 10);
	put(bench, WTL_GAP_CHANNEL, "gpu-0", LONG_AGO + 1, INT64_MAX);
	put(bench, WTL_GAP_CHANNEL, "gpu-0", 7, INT64_MAX);
	put(bench, WTL_GAP_CHANNEL, "gpu-0", LONG_AGO + 2, INT64_MIN);
	put(bench, WTL_GAP_CHANNEL, "gpu-0", 7, 8);
	assert_int_equal(tell(bench, &told), 0);
	assert_int_equal(told.n, 1);
	assert_gap(&told, 0, "gpu-0", 7, 8);
}

static void test_none(void **state)
{
	struct store_bench *bench = *state;
	struct told told = {.n = 0};

	store_bench_create(bench);
	assert_int_equal(tell(bench, &told), 0);
	assert_int_equal(told.n, 0);
}

/* ---- Words ---- */

static void test_whole(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_history history = {.n_gaps = 0};
	char text[WTL_REMARK_SIZE];

	store_bench_create(bench);
	store_bench_seconds(bench, 30, 2);
	store_bench_end(bench);
	history.reader = store_bench_open(bench);
	assert_false(wtl_missing_dropped(history.reader, text));
	assert_false(wtl_missing_rows(&history, text));
	wtl_store_close(history.reader);
}

static void test_dropped(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	char text[WTL_REMARK_SIZE];

	bench->options.max_age_ns = 20 * S;
	store_bench_create(bench);
	store_bench_seconds(bench, 60, 2);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_true(wtl_missing_dropped(reader, text));
	assert_non_null(
		strstr(text, "the recording is a ring, which has dropped what was before 20"));
	assert_int_equal(text[strlen(text) - 1], 'Z');
	wtl_store_close(reader);
}

/* As long as a player's texts may be. */
static void test_lost(void **state)
{
	char lost[256], text[WTL_REMARK_SIZE];

	(void)state;
	memset(lost, 'x', sizeof(lost) - 1);
	lost[sizeof(lost) - 1] = '\0';
	wtl_missing_lost(lost, text);
	assert_int_equal(strncmp(text, "a part cannot be read: x", 24), 0);
	assert_int_equal(strlen(text), strlen("a part cannot be read: ") + sizeof(lost) - 1);
}

static void test_what_is_damaged(void **state)
{
	static const struct {
		const char *lost, *told;
	} all[] = {
		{"2026-11-21T14:00:00Z to 2026-11-21T14:01:00Z (period 4): series op is damaged",
		 "period 4: series op is damaged"},
		{"the rest of period 4 is not what it should be",
		 "the rest of period 4 is not what it should be"},
		{"(period 4", "(period 4"},
		{"", ""},
	};
	struct wtl_stored_gap gap = {.kind = WTL_GAP_DAMAGED};
	char text[WTL_GAP_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(all); i++) {
		wtl_text_copy(gap.text, sizeof(gap.text), all[i].lost);
		assert_string_equal(wtl_gap_text(&gap, text), all[i].told);
	}
	gap.kind = WTL_GAP_CHANNEL;
	wtl_text_copy(gap.text, sizeof(gap.text), all[0].lost);
	assert_string_equal(wtl_gap_text(&gap, text), all[0].lost);
}

static void test_names(void **state)
{
	static const char *const names[] = {"suspend", "clock-step", "channel", "overrun",
					    "exits",   "damaged",    "unknown"};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(names); i++)
		assert_string_equal(wtl_gap_name((enum wtl_gap_kind)i), names[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(test_channels_of_a_domain),
		STORE_TEST(test_other_kinds),
		STORE_TEST(test_times_that_do_not_fit),
		STORE_TEST(test_none),
		STORE_TEST(test_whole),
		STORE_TEST(test_dropped),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_what_is_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
