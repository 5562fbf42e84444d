/* SPDX-License-Identifier: MIT */
#include "energy/intensity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "energy/carbon.h"
#include "energy/units.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define HOUR	     (3600 * WTL_NS_PER_S)
#define T14	     (INT64_C(1795269600) * WTL_NS_PER_S) /* 2026-11-21T14:00Z */

static void parse(const char *text, struct wtl_intensity *intensity)
{
	struct wtl_err err = {.code = 0};

	if (wtl_intensity_parse(intensity, text, strlen(text), &err) < 0)
		fail_msg("%s", err.text);
}

static void test_lines(void **state)
{
	static const char *const same[] = {
		"2026-11-21T14:00Z,56.04\n2026-11-21T15:00Z,120\n",
		"time,intensity\n2026-11-21T14:00Z,56.04\n2026-11-21T15:00Z,120",
		"\xef\xbb\xbf"
		"Zeit,g\r\n2026-11-21 14:00,56.04\r\n2026-11-21 15:00:00,120\r\n",
		"\xef\xbb\xbf"
		"2026-11-21T14:00Z,56.04\n2026-11-21T15:00Z,120\n",
		"# from the grid\n\n2026-11-21T15:00+01:00 , 56.040 \n# later\n"
		" \t \n\t  2026-11-21T15:00:00.000Z,\t120\n\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(same); i++) {
		struct wtl_intensity intensity;

		parse(same[i], &intensity);
		assert_int_equal(intensity.n, 2);
		assert_int_equal(intensity.steps[0].t_utc_ns, T14);
		assert_int_equal(intensity.steps[0].mg_per_kwh, 56040);
		assert_int_equal(intensity.steps[1].t_utc_ns, T14 + HOUR);
		assert_int_equal(intensity.steps[1].mg_per_kwh, 120000);
		wtl_intensity_done(&intensity);
	}
}

static void test_rubbish_is_named_by_its_line(void **state)
{
	static const struct {
		const char *text, *line;
	} bad[] = {
		{"", "it holds no line"},
		{"time,intensity\n", "it holds no line"},
		{"t,g\n", "it holds no line"},
		{"\xef\xbb\xbe\n\xef\xbb\xbf\n", "line 2: a time"},
		{"# nothing\n", "it holds no line"},
		{"0026-11-21T14:00Z,56\n", "line 1: this is no time"},
		{"9026-11-21T14:00Z,56\n", "line 1: this is no time"},
		{"2026-11-21T14:00Z\n", "line 1: a time, a comma"},
		{"time,g\n2026-11-21T14:00Z,56\nlater,57\n", "line 3: this is no time"},
		{"2026-11-21T14:00Z,56\n2026-11-21T25:00Z,57\n", "line 2: this is no time"},
		{"2026-11-21T14:00Z,-1\n", "line 1: the intensity"},
		{"2026-11-21T14:00Z,10000\n2026-11-21T15:00Z,10000.001\n", "line 2: the intensity"},
		{"2026-11-21T14:00Z,1e3\n", "line 1: the intensity"},
		{"2026-11-21T14:00Z,nan\n", "line 1: the intensity"},
		{"2026-11-21T14:00Z,56,FRA\n", "line 1: the intensity"},
		{"2026-11-21T14:00Z,56\n\n2026-11-21T14:00Z,57\n", "line 3: it is not later"},
		{"2026-11-21T14:00Z,56\n2026-11-21T13:00Z,57\n", "line 2: it is not later"},
		{"2026-11-21T14:00Z,\x1b[31m\n",
		 "line 1: the intensity is no number from 0 to 10000: '2026-11-21T14:00Z,?[31m'"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct wtl_intensity intensity = {.n = 7};
		struct wtl_err err = {.code = 0};

		assert_int_equal(
			wtl_intensity_parse(&intensity, bad[i].text, strlen(bad[i].text), &err),
			-WTL_EFORMAT);
		assert_int_equal(strncmp(err.text, bad[i].line, strlen(bad[i].line)), 0);
		assert_null(strchr(err.text, '\x1b'));
		assert_int_equal(intensity.n, 7);
	}
}

static void assert_at(const struct wtl_intensity *intensity, int64_t t_utc_ns, uint32_t mg,
		      int64_t until_ns)
{
	uint32_t found = 0;
	int64_t until;

	assert_true(wtl_intensity_at(intensity, t_utc_ns, &found, &until));
	assert_int_equal(found, mg);
	assert_int_equal(until, until_ns);
}

static void assert_unknown(const struct wtl_intensity *intensity, int64_t t_utc_ns,
			   int64_t until_ns)
{
	uint32_t found = 0;
	int64_t until;

	assert_false(wtl_intensity_at(intensity, t_utc_ns, &found, &until));
	assert_int_equal(until, until_ns);
}

static void test_steps_hold_until_the_next(void **state)
{
	struct wtl_intensity_step never[] = {{.t_utc_ns = T14}};
	const struct wtl_intensity none = {.steps = never};
	struct wtl_intensity intensity;

	(void)state;
	assert_unknown(&none, T14, INT64_MAX);
	parse("2026-11-21T14:00Z,100\n2026-11-21T15:00Z,\n2026-11-21T16:00Z,300\n", &intensity);
	assert_unknown(&intensity, T14 - 1, T14);
	assert_at(&intensity, T14, 100000, T14 + HOUR);
	assert_at(&intensity, T14 + HOUR - 1, 100000, T14 + HOUR);
	assert_unknown(&intensity, T14 + HOUR, T14 + 2 * HOUR);
	assert_at(&intensity, T14 + 2 * HOUR, 300000, T14 + 3 * HOUR);
	/* The last one holds as long as the one before it. */
	assert_at(&intensity, T14 + 3 * HOUR - 1, 300000, T14 + 3 * HOUR);
	assert_unknown(&intensity, T14 + 3 * HOUR, INT64_MAX);
	wtl_intensity_done(&intensity);
}

static void test_a_single_step_holds_for_ever(void **state)
{
	struct wtl_intensity intensity;

	(void)state;
	parse("2026-11-21T14:00Z,100\n", &intensity);
	assert_unknown(&intensity, T14 - 1, T14);
	assert_at(&intensity, T14 + 1000000 * HOUR, 100000, INT64_MAX);
	wtl_intensity_done(&intensity);
}

/* With one intensity, however the energy is cut into pieces, it is what the constant gives. */
static void test_constant_is_exact(void **state)
{
	struct wtl_emission emission = {.energy_uj = 0};
	struct wtl_intensity intensity;
	uint64_t sum_uj = 0;
	int64_t t_ns = T14;

	(void)state;
	parse("2026-11-21T14:00Z,472.94\n", &intensity);
	for (uint64_t i = 0; i < 10000; i++) {
		uint64_t energy_uj = i * 7919 % 1000003;

		wtl_emission_add(&emission, &intensity, t_ns, t_ns + (int64_t)i + 1,
				 (int64_t)energy_uj);
		t_ns += (int64_t)i + 1;
		sum_uj += energy_uj;
	}
	assert_int_equal(wtl_emission_ug(&emission), wtl_carbon_co2e_ug(sum_uj, 472940));
	assert_int_equal(wtl_emission_mean_mg_per_kwh(&emission), 472940);
	assert_int_equal(emission.energy_uj, sum_uj);
	assert_int_equal(emission.missing_ns, 0);
	assert_int_equal(emission.known_ns, t_ns - T14);
	wtl_intensity_done(&intensity);
}

static void test_energy_is_cut_at_the_steps(void **state)
{
	struct wtl_emission emission = {.energy_uj = 0};
	struct wtl_intensity intensity;

	(void)state;
	parse("2026-11-21T14:00Z,100\n2026-11-21T15:00Z,300\n2026-11-21T16:00Z,\n"
	      "2026-11-21T17:00Z,200\n",
	      &intensity);
	/* Half an hour before the file, three steps, and an hour after it: 5.5 kWh in 5.5 h. */
	wtl_emission_add(&emission, &intensity, T14 - HOUR / 2, T14 + 5 * HOUR,
			 INT64_C(19800000000000));
	assert_int_equal(emission.energy_uj, INT64_C(10800000000000));
	assert_int_equal(emission.missing_uj, INT64_C(9000000000000));
	assert_int_equal(emission.known_ns, 3 * HOUR);
	assert_int_equal(emission.missing_ns, 5 * HOUR / 2);
	assert_int_equal(wtl_emission_ug(&emission), 600 * UINT64_C(1000000));
	assert_int_equal(wtl_emission_mean_mg_per_kwh(&emission), 200000);
	assert_int_equal(emission.least_mg_per_kwh, 100000);
	assert_int_equal(emission.greatest_mg_per_kwh, 300000);
	wtl_intensity_done(&intensity);
}

/* Pieces add up to the whole to the microjoule, whatever the steps. */
static void test_nothing_is_lost_at_the_steps(void **state)
{
	struct wtl_emission emission = {.energy_uj = 0};
	struct wtl_intensity intensity;
	int64_t sum_uj = 0, t_ns = T14 - 17;

	(void)state;
	parse("2026-11-21T14:00:00Z,1\n2026-11-21T14:00:00.000000007Z,\n"
	      "2026-11-21T14:00:00.00000003Z,3\n2026-11-21T14:00:00.000000041Z,4\n",
	      &intensity);
	for (int64_t i = 1; i < 40; i++) {
		wtl_emission_add(&emission, &intensity, t_ns, t_ns + i, 1000003 * i + 11);
		sum_uj += 1000003 * i + 11;
		t_ns += i;
	}
	assert_int_equal(emission.energy_uj + emission.missing_uj, sum_uj);
	assert_int_equal(emission.known_ns + emission.missing_ns, t_ns - (T14 - 17));
	wtl_intensity_done(&intensity);
}

static void test_corrections_and_clocks(void **state)
{
	struct wtl_emission emission = {.energy_uj = 0};
	struct wtl_intensity intensity;

	(void)state;
	parse("2026-11-21T14:00Z,100\n2026-11-21T15:00Z,300\n", &intensity);
	wtl_emission_add(&emission, &intensity, T14, T14 + HOUR, 3600000000);
	wtl_emission_add(&emission, &intensity, T14, T14 + HOUR, -1800000000);
	assert_int_equal(emission.energy_uj, 1800000000);
	assert_int_equal(wtl_emission_ug(&emission), 50000);
	/* The clock was set back: as of the second moment, and no time. */
	wtl_emission_add(&emission, &intensity, T14 + 2 * HOUR, T14 + HOUR, 3600000000);
	assert_int_equal(wtl_emission_ug(&emission), 350000);
	assert_int_equal(emission.known_ns, 2 * HOUR);
	/* Nothing is left of the energy, and something of the emission: their mean is not known. */
	wtl_emission_add(&emission, &intensity, T14, T14, -5400000000);
	assert_int_equal(emission.energy_uj, 0);
	assert_int_equal(wtl_emission_ug(&emission), 200000);
	assert_int_equal(wtl_emission_mean_mg_per_kwh(&emission), 0);
	/* It never becomes less than nothing. */
	wtl_emission_add(&emission, &intensity, T14, T14, INT64_C(-90000000000));
	assert_int_equal(wtl_emission_ug(&emission), 0);
	assert_int_equal(wtl_emission_mean_mg_per_kwh(&emission), 0);
	wtl_intensity_done(&intensity);
}

static void test_since(void **state)
{
	struct wtl_emission emission = {.energy_uj = 0}, before, since;
	struct wtl_intensity intensity;

	(void)state;
	parse("2026-11-21T14:00Z,100\n2026-11-21T15:00Z,300\n", &intensity);
	wtl_emission_add(&emission, &intensity, T14, T14 + HOUR, 3600000000);
	before = emission;
	wtl_emission_add(&emission, &intensity, T14 + HOUR, T14 + 3 * HOUR, 7200000000);
	since = wtl_emission_since(&emission, &before);
	assert_int_equal(since.energy_uj, 3600000000);
	assert_int_equal(since.missing_uj, 3600000000);
	assert_int_equal(wtl_emission_ug(&since), 300000);
	assert_int_equal(since.known_ns, HOUR);
	assert_int_equal(since.missing_ns, HOUR);
	wtl_intensity_done(&intensity);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_rubbish_is_named_by_its_line),
		cmocka_unit_test(test_steps_hold_until_the_next),
		cmocka_unit_test(test_a_single_step_holds_for_ever),
		cmocka_unit_test(test_constant_is_exact),
		cmocka_unit_test(test_energy_is_cut_at_the_steps),
		cmocka_unit_test(test_nothing_is_lost_at_the_steps),
		cmocka_unit_test(test_corrections_and_clocks),
		cmocka_unit_test(test_since),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
