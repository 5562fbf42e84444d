/* SPDX-License-Identifier: MIT */
/* Where the play of a recording stands: every key, every speed, with a clock that is a number. */
#include "commands/top/play.h"

#include <errno.h>
#include <string.h>

#include "energy/units.h"

#include "unit.h"

#define S WTL_NS_PER_S

/* A minute, which begins at the clock's 1000 s. */
enum { BEGIN_S = 1000 };

static struct wtl_play play_at(int64_t at_ns, uint32_t speed_milli)
{
	struct wtl_play play;

	wtl_play_init(&play, 60 * S, speed_milli, BEGIN_S * S);
	wtl_play_reach(&play, at_ns, BEGIN_S * S);
	return play;
}

static int64_t position(const struct wtl_play *play, int64_t after_ns)
{
	return wtl_play_position(play, BEGIN_S * S + after_ns);
}

static void order(struct wtl_play *play, enum wtl_play_verb verb, int64_t ns, int64_t after_ns)
{
	const struct wtl_play_order what = {.verb = verb, .ns = ns};

	wtl_play_order(play, &what, BEGIN_S * S + after_ns);
}

static int64_t due(struct wtl_play *play, int64_t t_ns, int64_t after_ns)
{
	int64_t due_ns = wtl_play_due(play, t_ns, BEGIN_S * S + after_ns);

	return due_ns == INT64_MAX ? INT64_MAX : due_ns - BEGIN_S * S;
}

/* ---- Speed ---- */

static void test_position(void **state)
{
	static const struct {
		uint32_t milli;
		int64_t after_ns, at_ns;
	} cases[] = {
		{0, 3 * S, 3 * S}, /* not given: as it was */
		{1000, 0, 0},
		{1000, 3 * S, 3 * S},
		{100, 3 * S, 3 * S / 10},
		{2500, 3 * S, 75 * S / 10},
		{1000000, S / 100, 10 * S},
		{1000000, S, 60 * S}, /* never past the end */
		{1000, INT64_C(10000000) * S, 60 * S},
		{WTL_PLAY_FULL, 3 * S, 0}, /* only whoever plays knows */
		{1000, -5 * S, 0},	   /* a clock that was asked before */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wtl_play play = play_at(0, cases[i].milli);

		assert_int_equal(position(&play, cases[i].after_ns), cases[i].at_ns);
	}
}

/* What is due is reached by then, and not long before, at every speed. */
static void test_due(void **state)
{
	static const uint32_t speeds[] = {100, 333, 1000, 1001, 7777, 1000000};

	(void)state;
	for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		struct wtl_play play = play_at(2 * S, speeds[i]);

		for (int64_t t_ns = 2 * S; t_ns < 50 * S; t_ns += 987654321) {
			int64_t due_ns = due(&play, t_ns, 0);

			assert_true(position(&play, due_ns) >= t_ns);
			if (t_ns > 2 * S)
				assert_true(position(&play, due_ns - 2 - 1000 / speeds[i]) < t_ns);
		}
		/* What is past is due at once. */
		assert_int_equal(due(&play, S, 0), 0);
		assert_int_equal(due(&play, S, 5), 5);
	}
}

static void test_due_is_never_far(void **state)
{
	struct wtl_play play = play_at(0, 100);

	(void)state;
	play.length_ns = INT64_MAX / 2;
	/* Asked again then. */
	assert_int_equal(due(&play, INT64_MAX / 2, 0), 1000 * S);
	play.speed_milli = WTL_PLAY_FULL;
	assert_int_equal(due(&play, INT64_MAX / 2, 0), 0);
}

static void test_speeds(void **state)
{
	struct wtl_play play = play_at(0, 1000);

	(void)state;
	order(&play, WTL_PLAY_FASTER, 0, 10 * S);
	assert_int_equal(play.speed_milli, 2000);
	/* It goes on from where it was. */
	assert_int_equal(position(&play, 10 * S), 10 * S);
	assert_int_equal(position(&play, 11 * S), 12 * S);
	order(&play, WTL_PLAY_SLOWER, 0, 11 * S);
	order(&play, WTL_PLAY_SLOWER, 0, 11 * S);
	assert_int_equal(play.speed_milli, 500);
	assert_int_equal(position(&play, 13 * S), 13 * S);
	for (int i = 0; i < 20; i++)
		order(&play, WTL_PLAY_SLOWER, 0, 13 * S);
	assert_int_equal(play.speed_milli, WTL_PLAY_LEAST);
	for (int i = 0; i < 14; i++)
		order(&play, WTL_PLAY_FASTER, 0, 13 * S);
	assert_int_equal(play.speed_milli, WTL_PLAY_MOST);
	order(&play, WTL_PLAY_FASTER, 0, 13 * S);
	order(&play, WTL_PLAY_FASTER, 0, 13 * S);
	assert_int_equal(play.speed_milli, WTL_PLAY_FULL);
	order(&play, WTL_PLAY_SLOWER, 0, 13 * S);
	assert_int_equal(play.speed_milli, WTL_PLAY_MOST);
	order(&play, WTL_PLAY_NORMAL, 0, 13 * S);
	assert_int_equal(play.speed_milli, 1000);
	assert_int_equal(position(&play, 13 * S), 13 * S);
}

static void test_speed_texts(void **state)
{
	static const struct {
		const char *text;
		uint32_t milli; /* 0: refused */
		const char *shown;
	} cases[] = {
		{"1", 1000, "×1"},
		{"0.1", 100, "×0.1"},
		{"2.5", 2500, "×2.5"},
		{"1000", 1000000, "×1000"},
		{"max", WTL_PLAY_FULL, "full speed"},
		{"0.125", 125, "×0.125"},
		{"0.099", 0, NULL},
		{"0", 0, NULL},
		{"-1", 0, NULL},
		{"1000.001", 0, NULL},
		{"0.1234", 0, NULL},
		{"fast", 0, NULL},
		{"maximum", 0, NULL},
		{"", 0, NULL},
		{"1x", 0, NULL},
		{"1e2", 0, NULL},
		{"99999999999999999999", 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[WTL_PLAY_SPEED_MAX];
		uint32_t milli = 7;
		int rc = wtl_play_parse_speed(cases[i].text, &milli);

		if (!cases[i].milli) {
			assert_int_equal(rc, -EINVAL);
			assert_int_equal(milli, 7);
			continue;
		}
		assert_int_equal(rc, 0);
		assert_int_equal(milli, cases[i].milli);
		assert_string_equal(wtl_play_speed_text(text, milli), cases[i].shown);
	}
}

/* ---- Pause ---- */

static void test_pause(void **state)
{
	struct wtl_play play = play_at(0, 2000);

	(void)state;
	order(&play, WTL_PLAY_PAUSE, 0, 4 * S);
	assert_true(play.is_paused);
	assert_int_equal(position(&play, 100 * S), 8 * S);
	assert_int_equal(due(&play, 9 * S, 100 * S), INT64_MAX);
	assert_int_equal(due(&play, 8 * S, 100 * S), INT64_MAX);
	order(&play, WTL_PLAY_FASTER, 0, 100 * S);
	assert_int_equal(position(&play, 200 * S), 8 * S);
	order(&play, WTL_PLAY_PAUSE, 0, 200 * S);
	assert_false(play.is_paused);
	assert_int_equal(position(&play, 201 * S), 12 * S);
	order(&play, WTL_PLAY_NOTHING, 0, 201 * S);
	assert_int_equal(position(&play, 201 * S), 12 * S);
}

/* ---- Seeking ---- */

/* As whoever plays does it: all that is due at once, one after the other, 100 ms apart. Returns where the
 * first thing is that is not. */
static int64_t play_on(struct wtl_play *play, int64_t from_ns, int64_t after_ns)
{
	int64_t t_ns = from_ns;

	while (t_ns <= play->length_ns && due(play, t_ns, after_ns) <= after_ns) {
		wtl_play_reach(play, t_ns, BEGIN_S * S + after_ns);
		t_ns += S / 10;
	}
	return t_ns;
}

static void test_seek_on(void **state)
{
	struct wtl_play play = play_at(10 * S, 1000);

	(void)state;
	order(&play, WTL_PLAY_SEEK, 10 * S, S);
	assert_true(play.is_seeking);
	assert_int_equal(play.target_ns, 21 * S);
	/* Meanwhile it is where whoever plays it is. */
	assert_int_equal(position(&play, 3 * S), 11 * S);
	wtl_play_reach(&play, 15 * S, (BEGIN_S + 3) * S);
	assert_int_equal(position(&play, 3 * S), 15 * S);
	/* Again and again adds up. */
	order(&play, WTL_PLAY_SEEK, 10 * S, 3 * S);
	order(&play, WTL_PLAY_SEEK, -S, 3 * S);
	assert_int_equal(play.target_ns, 30 * S);
	assert_int_equal(play_on(&play, 15 * S, 3 * S), 301 * S / 10);
	assert_false(play.is_seeking);
	assert_int_equal(position(&play, 3 * S), 30 * S);
	assert_int_equal(position(&play, 4 * S), 31 * S);
}

static void test_seek_back(void **state)
{
	struct wtl_play play = play_at(30 * S, 1000);

	(void)state;
	order(&play, WTL_PLAY_SEEK, -10 * S, 0);
	assert_true(play.is_seeking);
	assert_int_equal(play.target_ns, 20 * S);
	assert_int_equal(play_on(&play, 0, 0), 201 * S / 10);
	assert_int_equal(position(&play, S), 21 * S);
	/* Not before the start. */
	order(&play, WTL_PLAY_SEEK, -600 * S, S);
	assert_int_equal(play.target_ns, 0);
	order(&play, WTL_PLAY_SEEK, INT64_MIN + 1, S);
	assert_int_equal(play.target_ns, 0);
	/* The begin's first event is a little after it. */
	assert_true(due(&play, S / 100, S) > S);
	assert_false(play.is_seeking);
	assert_int_equal(position(&play, S), 0);
}

/* It stays paused there. */
static void test_seek_while_paused(void **state)
{
	struct wtl_play play = play_at(30 * S, 1000);

	(void)state;
	order(&play, WTL_PLAY_PAUSE, 0, 0);
	order(&play, WTL_PLAY_SEEK, 10 * S, 0);
	assert_int_equal(play_on(&play, 301 * S / 10, 0), 401 * S / 10);
	assert_true(play.is_paused);
	assert_int_equal(position(&play, 50 * S), 40 * S);
	assert_int_equal(due(&play, 401 * S / 10, 50 * S), INT64_MAX);
}

static void test_end(void **state)
{
	struct wtl_play play = play_at(30 * S, 1000);

	(void)state;
	order(&play, WTL_PLAY_GO_TO, INT64_MAX, 0);
	assert_int_equal(play.target_ns, 60 * S);
	assert_int_equal(play_on(&play, 30 * S, 0), 601 * S / 10);
	wtl_play_end(&play);
	assert_true(play.is_over);
	assert_false(play.is_seeking);
	assert_int_equal(position(&play, 500 * S), 60 * S);
	assert_int_equal(due(&play, 61 * S, 500 * S), INT64_MAX);
	/* There is nothing behind it … */
	order(&play, WTL_PLAY_SEEK, 10 * S, 500 * S);
	assert_true(play.is_over);
	assert_false(play.is_seeking);
	/* … but something before it. */
	order(&play, WTL_PLAY_SEEK, -10 * S, 500 * S);
	assert_false(play.is_over);
	assert_int_equal(play.target_ns, 50 * S);
	play_on(&play, 0, 500 * S);
	assert_int_equal(position(&play, 501 * S), 51 * S);
	order(&play, WTL_PLAY_GO_TO, 0, 501 * S);
	assert_int_equal(play.target_ns, 0);
}

/* Paused at its end, it is paused when it goes back. */
static void test_end_while_paused(void **state)
{
	struct wtl_play play = play_at(60 * S, 1000);

	(void)state;
	wtl_play_end(&play);
	order(&play, WTL_PLAY_PAUSE, 0, 0);
	assert_int_equal(position(&play, S), 60 * S);
	order(&play, WTL_PLAY_SEEK, -30 * S, S);
	play_on(&play, 0, S);
	assert_int_equal(position(&play, 99 * S), 30 * S);
}

/* ---- Whoever plays is late, or the recording is odd ---- */

static void test_slow_machine(void **state)
{
	struct wtl_play play = play_at(0, 1000000);

	(void)state;
	/* 20 ms later it should be 20 s on, but is 15 s: that is borne. */
	wtl_play_reach(&play, 15 * S, BEGIN_S * S + S / 50);
	assert_int_equal(position(&play, S / 50), 20 * S);
	/* Not for ever: it is where it is. */
	play.length_ns = 1000000 * S;
	wtl_play_reach(&play, 16 * S, BEGIN_S * S + 10 * S);
	assert_int_equal(position(&play, 10 * S), 16 * S);
	play.speed_milli = 1000;
	wtl_play_reach(&play, 16 * S, BEGIN_S * S + 10 * S + S / 10);
	assert_int_equal(position(&play, 10 * S + S / 10), 161 * S / 10);
	wtl_play_reach(&play, 17 * S, BEGIN_S * S + 20 * S);
	assert_int_equal(position(&play, 20 * S), 17 * S);
}

static void test_gap_is_skipped(void **state)
{
	struct wtl_play play = play_at(5 * S, 1000);

	(void)state;
	wtl_play_skip(&play, 45 * S, BEGIN_S * S);
	assert_int_equal(position(&play, S), 46 * S);
	order(&play, WTL_PLAY_PAUSE, 0, S);
	wtl_play_skip(&play, 55 * S, (BEGIN_S + 1) * S);
	assert_int_equal(position(&play, S), 46 * S);
	order(&play, WTL_PLAY_SEEK, S, S);
	wtl_play_skip(&play, 55 * S, (BEGIN_S + 1) * S);
	assert_int_equal(play.target_ns, 47 * S);
}

/* Its tables told of a minute, and there is more. */
static void test_longer_than_it_says(void **state)
{
	struct wtl_play play = play_at(59 * S, 1000);

	(void)state;
	wtl_play_reach(&play, 65 * S, (BEGIN_S + 6) * S);
	assert_int_equal(play.length_ns, 65 * S);
	assert_int_equal(position(&play, 6 * S), 65 * S);
	wtl_play_end(&play);
	assert_int_equal(position(&play, 7 * S), 65 * S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_position),
		cmocka_unit_test(test_due),
		cmocka_unit_test(test_due_is_never_far),
		cmocka_unit_test(test_speeds),
		cmocka_unit_test(test_speed_texts),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_seek_on),
		cmocka_unit_test(test_seek_back),
		cmocka_unit_test(test_seek_while_paused),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_end_while_paused),
		cmocka_unit_test(test_slow_machine),
		cmocka_unit_test(test_gap_is_skipped),
		cmocka_unit_test(test_longer_than_it_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
