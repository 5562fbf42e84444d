/* SPDX-License-Identifier: MIT */
/* What the options of wattle report say: moments, policies, a command's words. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/text.h"
#include "cli/command.h"
#include "commands/report/load.h"
#include "energy/units.h"
#include "document/command_words.h"
#include "document/format.h"
#include "workload/workload.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NS	     WTL_NS_PER_S
#define T14	     (INT64_C(1795269600) * NS) /* 2026-11-21T14:00Z */

/* ---- Moments ---- */

static void test_since_the_begin(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} good[] = {
		{"0", 0},
		{"90", 90 * NS},
		{"+90", 90 * NS},
		{"+90s", 90 * NS},
		{"1.5", 3 * NS / 2},
		{"250ms", NS / 4},
		{"+1h30m", 5400 * NS},
		{"1.5min", 90 * NS},
		{"2h", 7200 * NS},
		{"+1w", 7 * 86400 * NS},
		{"1d2h3m4s5ms", (86400 + 7200 + 180 + 4) * NS + 5 * NS / 1000},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		struct wtl_when when;
		int64_t since_ns;

		assert_int_equal(wtl_when_parse(good[i].text, &when), 0);
		assert_int_equal(when.kind, WTL_WHEN_SINCE);
		assert_int_equal(wtl_when_since_ns(&when, T14, 77, &since_ns), 0);
		assert_int_equal(since_ns, good[i].ns);
	}
}

static void test_lengths(void **state)
{
	int64_t ns = 42;

	(void)state;
	assert_int_equal(wtl_when_parse_length("1w2d1h30m", &ns), 0);
	assert_int_equal(ns, (9 * 86400 + 5400) * NS);
	assert_int_equal(wtl_when_parse_length("90", &ns), 0);
	assert_int_equal(ns, 90 * NS);
	assert_int_equal(wtl_when_parse_length("+90", &ns), -EINVAL);
	assert_int_equal(wtl_when_parse_length("", &ns), -EINVAL);
	assert_int_equal(wtl_when_parse_length("14:00", &ns), -EINVAL);
	assert_int_equal(ns, 90 * NS);
}

static void test_no_moments(void **state)
{
	static const char *const bad[] = {
		"",
		"+",
		"-5",
		"now",
		"1x",
		"1h30",
		"30 m",
		"++5",
		"5m+",
		"1e3",
		"h",
		"1.2.3",
		"99999999999999999d",
		"25:00",
		"14:61",
		"14:00Z",
		"2026-11-31",
		"2026-11-21 14:00 CET",
		"0.0000000001",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct wtl_when when = {.ns = 42};

		assert_int_equal(wtl_when_parse(bad[i], &when), -EINVAL);
		assert_int_equal(when.ns, 42);
	}
}

static int64_t since(const char *text, const char *zone, int64_t begin_utc_ns, int64_t after_ns)
{
	struct wtl_when when;
	int64_t since_ns = INT64_MIN;

	setenv("TZ", zone, 1);
	tzset();
	assert_int_equal(wtl_when_parse(text, &when), 0);
	assert_int_equal(wtl_when_since_ns(&when, begin_utc_ns, after_ns, &since_ns), 0);
	return since_ns;
}

static void test_times_of_the_day(void **state)
{
	(void)state;
	/* With a zone they are the same everywhere. */
	assert_int_equal(since("2026-11-21T14:30Z", "UTC", T14, 0), 1800 * NS);
	assert_int_equal(since("2026-11-21T14:30Z", "XXX-5", T14, 0), 1800 * NS);
	assert_int_equal(since("2026-11-21T15:30+01:00", "XXX-5", T14, 0), 1800 * NS);
	assert_int_equal(since("2026-11-21T13:00Z", "UTC", T14, 0), -3600 * NS);
	/* Without one they are this machine's. */
	assert_int_equal(since("2026-11-21 14:30", "UTC", T14, 0), 1800 * NS);
	assert_int_equal(since("2026-11-21 19:30", "XXX-5", T14, 0), 1800 * NS);
	assert_int_equal(since("2026-11-22", "UTC", T14, 0), 36000 * NS);
}

static void test_a_clock_is_the_next_one(void **state)
{
	(void)state;
	assert_int_equal(since("14:30", "UTC", T14, 0), 1800 * NS);
	assert_int_equal(since("19:30", "XXX-5", T14, 0), 1800 * NS);
	assert_int_equal(since("13:30", "UTC", T14, 0), (86400 - 1800) * NS);
	/* The minute in which it began. */
	assert_int_equal(since("14:00", "UTC", T14 + 20 * NS, 0), -20 * NS);
	/* --to 01:00 after --from 23:00. */
	assert_int_equal(since("01:00", "UTC", T14, 9 * 3600 * NS), 11 * 3600 * NS);
}

/* ---- Policies ---- */

static int parse(const char *text, struct wtl_policy *policy)
{
	struct wtl_app app = {.complained = false};
	int rc = wtl_policy_parse(&app, text, policy);

	assert_int_equal(app.complained, rc != 0);
	return rc;
}

static void test_policies(void **state)
{
	struct wtl_policy policy;

	(void)state;
	assert_int_equal(parse(NULL, &policy), 0);
	assert_false(policy.is_given);
	assert_false(policy.player.forgets_idle || policy.player.has_no_idle);
	assert_int_equal(policy.player.n_given, 0);

	assert_int_equal(parse("idle=learned,weight=cycles", &policy), 0);
	assert_true(policy.is_given && policy.player.has_weight &&
		    policy.player.weight == WTL_WEIGHT_CYCLES);
	assert_true(policy.player.forgets_idle && !policy.player.has_no_idle);
	assert_string_equal(policy.idle, "learned");

	assert_int_equal(parse("idle=none", &policy), 0);
	assert_true(policy.player.forgets_idle && policy.player.has_no_idle);
	assert_false(policy.player.has_weight || policy.player.smooths);

	assert_int_equal(parse("weight=smoothed", &policy), 0);
	assert_true(policy.player.smooths && policy.player.has_weight &&
		    policy.player.weight == WTL_WEIGHT_LEARNED);

	assert_int_equal(parse("idle=package-0:12.5,idle=dram-0:0", &policy), 0);
	assert_false(policy.player.forgets_idle || policy.player.has_no_idle);
	assert_int_equal(policy.player.n_given, 2);
	assert_string_equal(policy.player.given[0].domain, "package-0");
	assert_int_equal(policy.player.given[0].idle_uw, 12500000);
	assert_string_equal(policy.player.given[1].domain, "dram-0");
	assert_int_equal(policy.player.given[1].idle_uw, 0);
	assert_string_equal(policy.given_list[0], "package-0: 12.5 W");
}

static void test_no_policies(void **state)
{
	static const char *const bad[] = {
		"",
		"idle",
		"idle=",
		"idle=what",
		"idle=package-0",
		"idle=package-0:",
		"idle=package-0:watts",
		"idle=package-0:-1",
		"idle=:5",
		"idle=package-0:1.2345678",
		"idle=package-0:1000000.1",
		"idle=a-name-that-is-far-too-long-for-a-domain:5",
		"weight=",
		"weight=heavy",
		"weight=smoothed,weight=learned",
		"carbon=FRA",
		"idle=none,",
		",idle=none",
		"idle=none,,idle=learned",
	};
	struct wtl_policy policy;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(parse(bad[i], &policy), EINVAL);
}

static void test_too_many_domains(void **state)
{
	struct wtl_policy policy;
	struct wtl_buf text;

	(void)state;
	wtl_buf_init(&text, 1 << 16);
	for (int i = 0; i < WTL_POLICY_DOMAINS; i++)
		wtl_buf_printf(&text, "%sidle=gpu-%d:%d", i ? "," : "", i, i);
	assert_int_equal(parse(wtl_buf_str(&text), &policy), 0);
	assert_int_equal(policy.player.n_given, WTL_POLICY_DOMAINS);
	wtl_buf_puts(&text, ",idle=gpu-99:1");
	assert_int_equal(parse(wtl_buf_str(&text), &policy), EINVAL);
	wtl_buf_done(&text);
}

/* ---- Words ---- */

typedef int writer(struct wtl_buf *buf, char *const command[]);

static void assert_come_back(writer *write, char *const command[])
{
	char clean[1 << 12];
	struct wtl_buf text;
	char **words;
	size_t i;

	wtl_buf_init(&text, 1 << 16);
	assert_int_equal(write(&text, command), 0);
	/* As it comes out of a recording. */
	if (write == wtl_command_text) {
		assert_string_equal(
			wtl_text_clean(clean, sizeof(clean), wtl_buf_str(&text), text.len),
			wtl_buf_str(&text));
	}
	words = wtl_command_words(wtl_buf_str(&text));
	assert_non_null(words);
	for (i = 0; command[i]; i++) {
		assert_non_null(words[i]);
		assert_string_equal(words[i], command[i]);
	}
	assert_null(words[i]);
	free(words);
	wtl_buf_done(&text);
}

/* Also from recordings made before there was wtl_command_text(). */
static void assert_same_words(char *const command[])
{
	assert_come_back(wtl_command_text, command);
	assert_come_back(wtl_format_command, command);
}

static void test_words_come_back(void **state)
{
	(void)state;
	assert_same_words((char *[]){(char[]){"true"}, NULL});
	assert_same_words((char *[]){(char[]){"sh"}, (char[]){"-c"},
				     (char[]){"for i in 1 2; do echo \"$i\"; done"}, NULL});
	assert_same_words((char *[]){(char[]){"a b"}, (char[]){""}, (char[]){"it's"},
				     (char[]){"it's $5"}, (char[]){"\"'\""}, (char[]){"\\"},
				     (char[]){"  "}, (char[]){"a\nb"}, (char[]){"\xff"}, NULL});
	assert_same_words((char *[]){(char[]){"echo a\necho\tb\\n \xff it's $'x'\x1b[1m"},
				     (char[]){"\n"}, (char[]){"$'a\\nb'"}, (char[]){"$"},
				     (char[]){"'\n'"}, (char[]){"\xe2\x80\xae"}, NULL});
	assert_same_words((char *[]){NULL});
}

static void assert_text(const char *expected, char *const command[])
{
	struct wtl_buf text;

	wtl_buf_init(&text, 1 << 16);
	assert_int_equal(wtl_command_text(&text, command), 0);
	assert_string_equal(wtl_buf_str(&text), expected);
	wtl_buf_done(&text);
}

static void test_a_shell_reads_the_text(void **state)
{
	(void)state;
	assert_text("sh -c 'echo \\n'",
		    (char *[]){(char[]){"sh"}, (char[]){"-c"}, (char[]){"echo \\n"}, NULL});
	assert_text("sh -c $'echo \\\\n\\n\\x27\\xff'",
		    (char *[]){(char[]){"sh"}, (char[]){"-c"}, (char[]){"echo \\n\n'\xff"}, NULL});
	assert_text("", NULL);
}

static void test_a_text_without_room(void **state)
{
	struct wtl_buf text;

	(void)state;
	wtl_buf_init(&text, 8);
	assert_int_equal(wtl_command_text(&text, (char *[]){(char[]){"0\n2345678"}, NULL}), -EFBIG);
	wtl_buf_done(&text);
}

static void assert_words(const char *text, const char *first, const char *second)
{
	char **words = wtl_command_words(text);

	assert_string_equal(words[0], first);
	assert_string_equal(words[1], second);
	assert_null(words[2]);
	free(words);
}

/* What is no escape stands for itself. */
static void test_broken_escapes(void **state)
{
	(void)state;
	assert_words("$'a\\q' b", "$a\\q", "b");
	assert_words("x $'a\\ b", "x", "$a\\ b");
	assert_words("$'a' $''", "a", "");
	assert_words("\"$'a\\n'\" $", "$'a\\n'", "$");
}

/* Whatever stands in a recording. */
static void test_other_words(void **state)
{
	char **words = wtl_command_words("  one  'two three' \"open");

	(void)state;
	assert_string_equal(words[0], "one");
	assert_string_equal(words[1], "two three");
	assert_string_equal(words[2], "open");
	assert_null(words[3]);
	free(words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_since_the_begin),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_no_moments),
		cmocka_unit_test(test_times_of_the_day),
		cmocka_unit_test(test_a_clock_is_the_next_one),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_no_policies),
		cmocka_unit_test(test_too_many_domains),
		cmocka_unit_test(test_words_come_back),
		cmocka_unit_test(test_a_shell_reads_the_text),
		cmocka_unit_test(test_a_text_without_room),
		cmocka_unit_test(test_broken_escapes),
		cmocka_unit_test(test_other_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
