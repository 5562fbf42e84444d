/* SPDX-License-Identifier: MIT */
/* Carbon intensities over time against a reference that goes by in single steps of time. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "energy/carbon.h"
#include "energy/intensity.h"
#include "energy/units.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define T14	     (INT64_C(1795269600) * WTL_NS_PER_S) /* 2026-11-21T14:00Z */

enum { STEPS = 12 };

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *seed >> 33;
}

/* Steps of 1 to 9 "ns", from 0: a table that a loop over every nanosecond can follow. */
static void draw(uint64_t *seed, struct wtl_intensity_step steps[STEPS],
		 struct wtl_intensity *ret_intensity)
{
	int64_t t_ns = 0;

	for (size_t i = 0; i < STEPS; i++) {
		steps[i].t_utc_ns = t_ns;
		steps[i].mg_per_kwh = next(seed) % 5 == 0 ? WTL_INTENSITY_UNKNOWN
							  : (uint32_t)(next(seed) % 1000000);
		t_ns += 1 + (int64_t)(next(seed) % 9);
	}
	*ret_intensity = (struct wtl_intensity){.steps = steps, .n = STEPS, .room = STEPS};
}

/* By the header's words: the last step that has begun, and the last of all as long as the one before. */
static uint32_t naive_at(const struct wtl_intensity *intensity, int64_t t_ns)
{
	const struct wtl_intensity_step *steps = intensity->steps;
	int64_t last_ns = steps[STEPS - 1].t_utc_ns - steps[STEPS - 2].t_utc_ns;
	uint32_t found = WTL_INTENSITY_UNKNOWN;

	if (t_ns >= steps[STEPS - 1].t_utc_ns + last_ns)
		return WTL_INTENSITY_UNKNOWN;
	for (size_t i = 0; i < STEPS; i++)
		if (steps[i].t_utc_ns <= t_ns)
			found = steps[i].mg_per_kwh;
	return found;
}

static void test_at_every_moment(void **state)
{
	struct wtl_intensity_step steps[STEPS];
	struct wtl_intensity intensity;
	uint64_t seed = 1;

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		draw(&seed, steps, &intensity);
		for (int64_t t_ns = -5; t_ns < 130; t_ns++) {
			uint32_t wanted = naive_at(&intensity, t_ns), found = 7;
			int64_t until_ns;

			assert_int_equal(wtl_intensity_at(&intensity, t_ns, &found, &until_ns),
					 wanted != WTL_INTENSITY_UNKNOWN);
			if (wanted != WTL_INTENSITY_UNKNOWN)
				assert_int_equal(found, wanted);
			assert_true(until_ns > t_ns);
			/* It is that until then. */
			for (int64_t later = t_ns; later < until_ns && later < 130; later++)
				assert_int_equal(naive_at(&intensity, later), wanted);
		}
	}
}

/* A microjoule each nanosecond: every one of them is counted where it was used. */
static void test_emissions_by_single_steps(void **state)
{
	struct wtl_intensity_step steps[STEPS];
	struct wtl_intensity intensity;
	uint64_t seed = 2;

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		struct wtl_emission emission = {.energy_uj = 0}, wanted = {.energy_uj = 0};
		int64_t from_ns = (int64_t)(next(&seed) % 60) - 5;
		int64_t to_ns = from_ns + 1 + (int64_t)(next(&seed) % 70);
		int64_t uj_per_ns = 1 + (int64_t)(next(&seed) % 1000);

		draw(&seed, steps, &intensity);
		wtl_emission_add(&emission, &intensity, from_ns, to_ns,
				 (to_ns - from_ns) * uj_per_ns);
		for (int64_t t_ns = from_ns; t_ns < to_ns; t_ns++) {
			uint32_t mg = naive_at(&intensity, t_ns);

			if (mg == WTL_INTENSITY_UNKNOWN) {
				wanted.missing_uj += uj_per_ns;
				wanted.missing_ns++;
				continue;
			}
			wanted.uj_mg_per_kwh += (__int128)uj_per_ns * mg;
			wanted.energy_uj += uj_per_ns;
			wanted.known_ns++;
			if (!wanted.has_intensity || mg < wanted.least_mg_per_kwh)
				wanted.least_mg_per_kwh = mg;
			if (!wanted.has_intensity || mg > wanted.greatest_mg_per_kwh)
				wanted.greatest_mg_per_kwh = mg;
			wanted.has_intensity = true;
		}
		assert_true(emission.uj_mg_per_kwh == wanted.uj_mg_per_kwh);
		assert_int_equal(emission.energy_uj, wanted.energy_uj);
		assert_int_equal(emission.missing_uj, wanted.missing_uj);
		assert_int_equal(emission.known_ns, wanted.known_ns);
		assert_int_equal(emission.missing_ns, wanted.missing_ns);
		assert_int_equal(emission.has_intensity, wanted.has_intensity);
		if (wanted.has_intensity) {
			assert_int_equal(emission.least_mg_per_kwh, wanted.least_mg_per_kwh);
			assert_int_equal(emission.greatest_mg_per_kwh, wanted.greatest_mg_per_kwh);
		}
	}
}

/* Energies that do not divide: the pieces still add up, and no piece is off by a microjoule. */
static void test_odd_energies_are_kept_whole(void **state)
{
	struct wtl_intensity_step steps[STEPS];
	struct wtl_intensity intensity;
	uint64_t seed = 3;

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		struct wtl_emission emission = {.energy_uj = 0};
		int64_t from_ns = (int64_t)(next(&seed) % 60) - 5;
		int64_t span_ns = 1 + (int64_t)(next(&seed) % 70);
		int64_t energy_uj = (int64_t)(next(&seed) % 100000) - 50000;
		double wanted_uj, off_uj;

		draw(&seed, steps, &intensity);
		wtl_emission_add(&emission, &intensity, from_ns, from_ns + span_ns, energy_uj);
		assert_int_equal(emission.energy_uj + emission.missing_uj, energy_uj);
		assert_int_equal(emission.known_ns + emission.missing_ns, span_ns);
		wanted_uj = (double)energy_uj * (double)emission.known_ns / (double)span_ns;
		off_uj = (double)emission.energy_uj - wanted_uj;
		/* Half of the steps' borders at most are cut the wrong way. */
		assert_true(off_uj <= STEPS && off_uj >= -STEPS);
	}
}

/* In parts, wherever they are cut, the same as in one where every part has whole microjoules. */
static void test_parts_are_the_whole(void **state)
{
	struct wtl_intensity_step steps[STEPS];
	struct wtl_intensity intensity;
	uint64_t seed = 4;

	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		struct wtl_emission whole = {.energy_uj = 0}, parts = {.energy_uj = 0}, since;
		int64_t cut_ns = 1 + (int64_t)(next(&seed) % 79);
		struct wtl_emission first;

		draw(&seed, steps, &intensity);
		wtl_emission_add(&whole, &intensity, 0, 80, 80 * 37);
		wtl_emission_add(&parts, &intensity, 0, cut_ns, cut_ns * 37);
		first = parts;
		wtl_emission_add(&parts, &intensity, cut_ns, 80, (80 - cut_ns) * 37);
		assert_true(parts.uj_mg_per_kwh == whole.uj_mg_per_kwh);
		assert_int_equal(parts.energy_uj, whole.energy_uj);
		assert_int_equal(parts.missing_uj, whole.missing_uj);
		assert_int_equal(parts.known_ns, whole.known_ns);
		since = wtl_emission_since(&parts, &first);
		assert_true(since.uj_mg_per_kwh + first.uj_mg_per_kwh == whole.uj_mg_per_kwh);
		assert_int_equal(since.missing_uj + first.missing_uj, whole.missing_uj);
		assert_int_equal(since.known_ns + since.missing_ns, 80 - cut_ns);
	}
}

/* The mean is between the least and the greatest, and gives the emissions back. */
static void test_means(void **state)
{
	struct wtl_intensity_step steps[STEPS];
	struct wtl_intensity intensity;
	uint64_t seed = 5;

	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		struct wtl_emission emission = {.energy_uj = 0};
		uint64_t ug, again_ug, off_ug;
		uint32_t mean;

		draw(&seed, steps, &intensity);
		wtl_emission_add(&emission, &intensity, 0, 50, 50 * INT64_C(1000000000));
		mean = wtl_emission_mean_mg_per_kwh(&emission);
		if (!emission.has_intensity) {
			assert_int_equal(mean, 0);
			continue;
		}
		assert_true(mean >= emission.least_mg_per_kwh);
		assert_true(mean <= emission.greatest_mg_per_kwh);
		ug = wtl_emission_ug(&emission);
		again_ug = wtl_carbon_co2e_ug((uint64_t)emission.energy_uj, mean);
		off_ug = ug > again_ug ? ug - again_ug : again_ug - ug;
		/* Half a mg/kWh of at most 50 kJ, 7 µg, and the roundings. */
		assert_true(off_ug <= 9);
	}
}

/* Tables as grids publish them, written and read again. */
static void test_written_tables(void **state)
{
	struct wtl_err err = {.code = 0};
	char text[STEPS * 64];
	uint64_t seed = 6;

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		uint32_t wanted[STEPS];
		struct wtl_intensity intensity;
		size_t len = 0;

		for (unsigned i = 0; i < STEPS; i++) {
			bool is_known = next(&seed) % 4 != 0;
			uint32_t mg = (uint32_t)(next(&seed) % (WTL_CARBON_MAX_MG_PER_KWH + 1));

			wanted[i] = is_known ? mg : WTL_INTENSITY_UNKNOWN;
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						"2026-11-21T%02u:%02uZ%s", 14 + i / 4, i % 4 * 15,
						i % 2 ? "," : " ,\t ");
			if (is_known)
				len += (size_t)snprintf(text + len, sizeof(text) - len,
							"%" PRIu32 ".%03" PRIu32, mg / 1000,
							mg % 1000);
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						i % 3 ? "\n" : " \r\n\n# a remark\n");
			assert_true(len < sizeof(text));
		}
		assert_int_equal(wtl_intensity_parse(&intensity, text, len, &err), 0);
		assert_int_equal(intensity.n, STEPS);
		for (size_t i = 0; i < STEPS; i++) {
			assert_int_equal(intensity.steps[i].mg_per_kwh, wanted[i]);
			assert_int_equal(intensity.steps[i].t_utc_ns,
					 T14 + (int64_t)i * 900 * WTL_NS_PER_S);
		}
		wtl_intensity_done(&intensity);
	}
}

/* A byte changed anywhere: an error that names a line, or a table that rises. Never anything else. */
static void test_damaged_tables(void **state)
{
	static const char whole[] = "time,g\n2026-11-21T14:00Z,56.04\n2026-11-21T15:00+01:00,\n"
				    "2026-11-21T16:00Z,120.5\n";
	char text[sizeof(whole)];
	uint64_t seed = 7;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		struct wtl_intensity intensity = {.n = 0};
		struct wtl_err err = {.code = 0};
		int rc;

		memcpy(text, whole, sizeof(whole));
		text[next(&seed) % (sizeof(whole) - 1)] = (char)next(&seed);
		rc = wtl_intensity_parse(&intensity, text, sizeof(whole) - 1, &err);
		if (rc < 0) {
			assert_int_equal(rc, -WTL_EFORMAT);
			assert_int_equal(strncmp(err.text, "line ", 5), 0);
			for (const char *at = err.text; *at; at++)
				assert_true((unsigned char)*at >= ' ');
			continue;
		}
		assert_true(intensity.n >= 1 && intensity.n <= 3);
		for (size_t i = 0; i < intensity.n; i++) {
			assert_true(intensity.steps[i].mg_per_kwh == WTL_INTENSITY_UNKNOWN ||
				    intensity.steps[i].mg_per_kwh <= WTL_CARBON_MAX_MG_PER_KWH);
			if (i > 0)
				assert_true(intensity.steps[i].t_utc_ns >
					    intensity.steps[i - 1].t_utc_ns);
		}
		wtl_intensity_done(&intensity);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_every_moment),
		cmocka_unit_test(test_emissions_by_single_steps),
		cmocka_unit_test(test_odd_energies_are_kept_whole),
		cmocka_unit_test(test_parts_are_the_whole),
		cmocka_unit_test(test_means),
		cmocka_unit_test(test_written_tables),
		cmocka_unit_test(test_damaged_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
