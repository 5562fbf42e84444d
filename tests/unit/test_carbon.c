/* SPDX-License-Identifier: MIT */
#include "energy/carbon.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "energy/carbon_table.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void assert_near(double a, double b)
{
	assert_true(fabs(a - b) < 1e-12);
}

static void assert_refused(const char *location, int code)
{
	struct wtl_carbon_intensity found;

	memset(&found, 0x5a, sizeof(found));
	if (wtl_carbon_find(location, &found) != code)
		fail_msg("\"%s\" gave %d, not %d", location, wtl_carbon_find(location, &found),
			 code);
	/* Outputs are set only on success. */
	for (size_t i = 0; i < sizeof(found); i++)
		assert_int_equal(((const unsigned char *)&found)[i], 0x5a);
}

static void test_no_location_is_the_world(void **state)
{
	const char *const names[] = {NULL, "world", "World", "WORLD"};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		struct wtl_carbon_intensity found;

		assert_int_equal(wtl_carbon_find(names[i], &found), 0);
		assert_string_equal(found.location, "world");
		assert_string_equal(found.place, "World");
		assert_non_null(strstr(found.dataset, "Ember"));
		assert_int_equal(found.year, 2024);
		assert_int_equal(found.intensity_mg_per_kwh, 472940);
		assert_near(found.rel_uncertainty, 0.5);
	}
}

static void test_country_in_any_case(void **state)
{
	const char *const names[] = {"FRA", "fra", "Fra", "fRA"};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		struct wtl_carbon_intensity found;

		assert_int_equal(wtl_carbon_find(names[i], &found), 0);
		assert_string_equal(found.location, "FRA");
		assert_string_equal(found.place, "France");
		assert_non_null(strstr(found.dataset, "CodeCarbon 3.2.9"));
		assert_int_equal(found.year, 2023);
		assert_int_equal(found.intensity_mg_per_kwh, 56039);
		assert_near(found.rel_uncertainty, 0.1);
	}
}

/* As people and the EU write two countries, though ISO 3166-1 has GB and GR. */
static void test_two_other_codes(void **state)
{
	static const struct {
		const char *written, *code;
	} cases[] = {{"UK", "GBR"}, {"uk", "GBR"}, {"EL", "GRC"}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct wtl_carbon_intensity found;

		assert_int_equal(wtl_carbon_find(cases[i].written, &found), 0);
		assert_string_equal(found.location, cases[i].code);
	}
}

static void test_gcp_region_in_any_case(void **state)
{
	const char *const names[] = {"gcp:europe-west9", "GCP:Europe-West9"};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		struct wtl_carbon_intensity found;

		assert_int_equal(wtl_carbon_find(names[i], &found), 0);
		assert_string_equal(found.location, "gcp:europe-west9");
		assert_string_equal(found.place, "Paris");
		assert_non_null(strstr(found.dataset, "region-carbon-info"));
		assert_int_equal(found.year, 2024);
		assert_int_equal(found.intensity_mg_per_kwh, 16300);
		assert_near(found.rel_uncertainty, 0.1);
	}
}

/* Every row is found by its own code and its alias, is in order, and leads back to itself by found.location. */
static void test_every_row_is_found(void **state)
{
	(void)state;
	assert_int_equal(wtl_carbon_row_count, 1 + 212 + 44);
	for (size_t i = 0; i < wtl_carbon_row_count; i++) {
		const struct wtl_carbon_row *row = &wtl_carbon_rows[i];
		struct wtl_carbon_intensity found, again;

		assert_int_equal(wtl_carbon_find(row->code, &found), 0);
		assert_ptr_equal(found.place, row->place);
		assert_string_equal(found.location, row->code);
		assert_int_equal(found.intensity_mg_per_kwh, row->intensity_mg_per_kwh);
		assert_int_equal(found.year, row->year);
		assert_true(found.rel_uncertainty > 0);
		assert_int_equal(wtl_carbon_find(found.location, &again), 0);
		assert_ptr_equal(again.place, found.place);
		if (row->alias[0]) {
			assert_int_equal(wtl_carbon_find(row->alias, &again), 0);
			assert_ptr_equal(again.place, found.place);
		}
		if (i > 0)
			assert_true(strcasecmp(row[-1].code, row->code) < 0);
		/* The range of the world's grids: a slip of the unit would show. */
		assert_in_range(found.intensity_mg_per_kwh, 1000, 1400000);
		assert_in_range(found.year, 2000, 2026);
		assert_true(strlen(found.place) > 0);
	}
}

/* The data set has 0 for the Central African Republic, which no power plant's life cycle has. */
static void test_a_zero_in_the_data_is_no_figure(void **state)
{
	(void)state;
	assert_refused("CAF", -ENOENT);
}

static void test_an_old_figure_is_uncertain(void **state)
{
	struct wtl_carbon_intensity found;

	(void)state;
	assert_int_equal(wtl_carbon_find("ESH", &found), 0);
	assert_int_equal(found.year, 2009);
	assert_near(found.rel_uncertainty, 0.5);
}

static void test_numbers_are_exact(void **state)
{
	static const struct {
		const char *text;
		uint32_t mg_per_kwh;
	} cases[] = {
		{"0", 0},
		{"0.001", 1},
		{"1", 1000},
		{"56.04", 56040},
		{"56.039", 56039},
		{"475", 475000},
		{"10000", 10000000},
		{"10000.000", 10000000},
		{"9999.999", 9999999},
		{"0.1", 100},
		{"0007", 7000},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct wtl_carbon_intensity found;

		assert_int_equal(wtl_carbon_find(cases[i].text, &found), 0);
		assert_int_equal(found.intensity_mg_per_kwh, cases[i].mg_per_kwh);
		assert_string_equal(found.location, cases[i].text);
		assert_string_equal(found.dataset, "given");
		assert_string_equal(found.place, "");
		assert_int_equal(found.year, 0);
		assert_near(found.rel_uncertainty, 0);
	}
}

static void test_numbers_out_of_bounds(void **state)
{
	(void)state;
	assert_refused("10000.001", -ERANGE);
	assert_refused("10001", -ERANGE);
	assert_refused("4294967296", -ERANGE);
	assert_refused("18446744073709551616", -ERANGE);
	assert_refused("99999999999999999999999999999", -ERANGE);
	assert_refused("0000000000000000000000000000000000000056", -EINVAL);
}

static void test_rubbish_is_refused(void **state)
{
	static const char *const rubbish[] = {
		"",
		" ",
		"-1",
		"-0",
		"+5",
		"1e3",
		"1,5",
		"NAN1",
		"1RA",
		"FR1",
		"0x10",
		"5 ",
		" 5",
		"5\n",
		"5g",
		"5.0.0",
		"1.2345",
		".",
		"..",
		"F",
		"FRAN",
		"France",
		"F1A",
		"F A",

		"gcp-europe-west9",
		"1e3",
		"worldwide",
		"\xc3\xa9t\xc3\xa9",
		"%s%n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rubbish); i++)
		assert_refused(rubbish[i], -EINVAL);
}

static void test_well_formed_but_unknown(void **state)
{
	(void)state;
	assert_refused("XYZ", -ENOENT);
	assert_refused("AAA", -ENOENT);
	assert_refused("zzz", -ENOENT);
	assert_refused("inf", -ENOENT);
	assert_refused("zZ", -ENOENT);
	assert_refused("Z@Z", -EINVAL);
	assert_refused("Z[Z", -EINVAL);
	assert_refused("ZZ`", -EINVAL);
	assert_refused("{Z", -EINVAL);
	assert_refused("Z1", -EINVAL);
	assert_refused("1ZZ", -EINVAL);
	assert_refused("Z1Z", -EINVAL);
	assert_refused("ZZ1", -EINVAL);
	assert_refused("ZZZZ", -EINVAL);
	assert_refused("nan", -ENOENT);
	assert_refused("gcp", -ENOENT);
	assert_refused("gcp:", -ENOENT);
	assert_refused("gcp:europe-west", -ENOENT);
	assert_refused("gcp:europe-west99", -ENOENT);
	assert_refused("gcp:FRA", -ENOENT);
	assert_refused("gcp:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", -ENOENT);
}

static void test_providers(void **state)
{
	static const char *const others[] = {"aws:eu-west-3", ":",	":FRA",
					     "gc:x",	      "gcpx:x", "x:gcp:x"};
	static const char *const known[] = {"gcp:", "GCP:nowhere", "gcp:a:b", "FRA",
					    "gcp",  "world",	   "",	      "56"};

	(void)state;
	assert_string_equal(wtl_carbon_providers, "gcp");
	for (size_t i = 0; i < COUNT(others); i++) {
		assert_true(wtl_carbon_is_other_provider(others[i]));
		assert_refused(others[i], -ENOENT);
	}
	for (size_t i = 0; i < COUNT(known); i++)
		assert_false(wtl_carbon_is_other_provider(known[i]));
}

static void test_forms_name_what_works(void **state)
{
	static const char *const examples[] = {"FRA", "gcp:europe-west9", "56.04", "world"};

	(void)state;
	for (size_t i = 0; i < COUNT(examples); i++) {
		struct wtl_carbon_intensity found;

		assert_non_null(strstr(wtl_carbon_forms(), examples[i]));
		assert_int_equal(wtl_carbon_find(examples[i], &found), 0);
	}
}

static void test_emissions_are_exact(void **state)
{
	const uint64_t kwh_uj = 3600000000000u;

	(void)state;
	assert_int_equal(wtl_carbon_co2e_ug(0, 472940), 0);
	assert_int_equal(wtl_carbon_co2e_ug(kwh_uj, 0), 0);
	/* 1 kWh at 472.94 g/kWh is 472.94 g. */
	assert_int_equal(wtl_carbon_co2e_ug(kwh_uj, 472940), 472940000);
	assert_int_equal(wtl_carbon_co2e_ug(kwh_uj, 1), 1000);
	assert_int_equal(wtl_carbon_co2e_ug(kwh_uj / 2, 56039), 28019500);
	/* 1 J at 1 g/kWh is 0.2777… ug, 2 J are 0.5555… ug. */
	assert_int_equal(wtl_carbon_co2e_ug(1000000, 1000), 0);
	assert_int_equal(wtl_carbon_co2e_ug(2000000, 1000), 1);
}

static void test_emissions_round_halves_up(void **state)
{
	(void)state;
	assert_int_equal(wtl_carbon_co2e_ug(1799999999, 1), 0);
	assert_int_equal(wtl_carbon_co2e_ug(1800000000, 1), 1);
	assert_int_equal(wtl_carbon_co2e_ug(5399999999, 1), 1);
	assert_int_equal(wtl_carbon_co2e_ug(5400000000, 1), 2);
}

/* 2^64 - 1 uJ is 5124095.576… kWh: no step of the computation may overflow. */
static void test_emissions_of_the_greatest_energy(void **state)
{
	(void)state;
	assert_int_equal(wtl_carbon_co2e_ug(UINT64_MAX, 1), 5124095576);
	assert_int_equal(wtl_carbon_co2e_ug(UINT64_MAX, WTL_CARBON_MAX_MG_PER_KWH),
			 51240955760304310u);
}

/* With the micrograms they are the nearest nanogram. */
static void assert_ng(uint64_t energy_uj, uint32_t mg_per_kwh, uint64_t expected_ng)
{
	int32_t rest_ng = wtl_carbon_rest_ng((unsigned __int128)energy_uj * mg_per_kwh);

	assert_in_range(rest_ng + 500, 0, 1000);
	assert_int_equal(wtl_carbon_co2e_ug(energy_uj, mg_per_kwh) * 1000 +
				 (uint64_t)(int64_t)rest_ng,
			 expected_ng);
}

static void test_emissions_in_nanograms(void **state)
{
	(void)state;
	assert_ng(0, 472940, 0);
	assert_ng(1, 472940, 0);
	/* 1 J at 1 g/kWh is 277.777… ng, 1.799999999 J 499.9999…, 2 J 555.555… ng. */
	assert_ng(1000000, 1000, 278);
	assert_ng(1799999999, 1, 500);
	assert_ng(1800000000, 1, 500);
	assert_ng(2000000, 1000, 556);
	assert_ng(3600000000, 1, 1000);
	assert_ng(3600000000, 472940, 472940000);
	/* 100 uJ at the world's average. */
	assert_ng(100, 472940, 13);
	/* 2^64 - 1 uJ at 1 mg/kWh are 5124095576030.4 ng. */
	assert_ng(UINT64_MAX, 1, 5124095576030);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_location_is_the_world),
		cmocka_unit_test(test_country_in_any_case),
		cmocka_unit_test(test_two_other_codes),
		cmocka_unit_test(test_gcp_region_in_any_case),
		cmocka_unit_test(test_every_row_is_found),
		cmocka_unit_test(test_a_zero_in_the_data_is_no_figure),
		cmocka_unit_test(test_an_old_figure_is_uncertain),
		cmocka_unit_test(test_numbers_are_exact),
		cmocka_unit_test(test_numbers_out_of_bounds),
		cmocka_unit_test(test_rubbish_is_refused),
		cmocka_unit_test(test_well_formed_but_unknown),
		cmocka_unit_test(test_providers),
		cmocka_unit_test(test_forms_name_what_works),
		cmocka_unit_test(test_emissions_are_exact),
		cmocka_unit_test(test_emissions_round_halves_up),
		cmocka_unit_test(test_emissions_of_the_greatest_energy),
		cmocka_unit_test(test_emissions_in_nanograms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
