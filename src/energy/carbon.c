/* SPDX-License-Identifier: MIT */
#include "energy/carbon.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "energy/carbon_table.h"

/* Yearly averages before this one say little about today's grid. */
#define OLDEST_GOOD_YEAR 2020

static const double rel_old = 0.50;

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_letter(char c)
{
	return lower(c) >= 'a' && lower(c) <= 'z';
}

/* ASCII letters in either case. */
static bool is_same(const char *a, const char *b)
{
	while (*a != '\0' && lower(*a) == lower(*b)) {
		a++;
		b++;
	}
	return *a == *b;
}

static const struct wtl_carbon_row *find_row(const char *code)
{
	/* Not ISO 3166-1's, but what people and the EU write. */
	if (is_same(code, "UK"))
		code = "GB";
	else if (is_same(code, "EL"))
		code = "GR";
	for (size_t i = 0; i < wtl_carbon_row_count; i++)
		if (is_same(code, wtl_carbon_rows[i].code))
			return &wtl_carbon_rows[i];
	for (size_t i = 0; i < wtl_carbon_row_count; i++)
		if (code[0] != '\0' && is_same(code, wtl_carbon_rows[i].alias))
			return &wtl_carbon_rows[i];
	return NULL;
}

static void take_row(const struct wtl_carbon_row *row, struct wtl_carbon_intensity *ret)
{
	const struct wtl_carbon_dataset *dataset = &wtl_carbon_datasets[row->dataset];

	*ret = (struct wtl_carbon_intensity){
		.place = row->place,
		.dataset = dataset->name,
		.year = row->year,
		.intensity_mg_per_kwh = row->intensity_mg_per_kwh,
		.rel_uncertainty = row->year < OLDEST_GOOD_YEAR
					   ? rel_old
					   : dataset->uncertainty_percent / 100.0,
	};
	memcpy(ret->location, row->code, sizeof(row->code));
}

static int take_number(const char *text, struct wtl_carbon_intensity *ret)
{
	const size_t len = strlen(text);
	uint64_t mg = 0;
	int r;

	if (len >= sizeof(ret->location) || strspn(text, "0123456789.") != len)
		return -EINVAL;
	r = wtl_num_fixed(text, len, 3, &mg);
	if (r < 0)
		return r;
	if (mg > WTL_CARBON_MAX_MG_PER_KWH)
		return -ERANGE;
	*ret = (struct wtl_carbon_intensity){
		.place = "",
		.dataset = "given",
		.intensity_mg_per_kwh = (uint32_t)mg,
	};
	memcpy(ret->location, text, len + 1);
	return 0;
}

static bool is_country_code(const char *text)
{
	const size_t len = strlen(text);

	return (len == 2 || len == 3) && is_letter(text[0]) && is_letter(text[1]) &&
	       (len == 2 || is_letter(text[2]));
}

int wtl_carbon_find(const char *location, struct wtl_carbon_intensity *ret)
{
	const struct wtl_carbon_row *row = find_row(location ? location : "world");

	if (!row) {
		if (is_country_code(location) || strchr(location, ':'))
			return -ENOENT;
		return take_number(location, ret);
	}
	take_row(row, ret);
	return 0;
}

bool wtl_carbon_is_other_provider(const char *location)
{
	for (size_t i = 0; i < wtl_carbon_row_count; i++) {
		const char *code = wtl_carbon_rows[i].code, *at = location;

		while (*at != ':' && *at != '\0' && lower(*at) == lower(*code))
			at++, code++;
		if (*at == ':' && *code == ':')
			return false;
	}
	return strchr(location, ':') != NULL;
}

const char *wtl_carbon_forms(void)
{
	return "a country's letters (FRA or FR), gcp:REGION (gcp:europe-west9), "
	       "grams of CO2e per kWh (56.04, at most 10000), or world";
}

/* 3.6e12 uJ in a kWh, 1000 ug in a mg. */
static const uint64_t divisor = 3600000000u;

uint64_t wtl_carbon_co2e_ug(uint64_t energy_uj, uint32_t intensity_mg_per_kwh)
{
	const unsigned __int128 product = (unsigned __int128)energy_uj * intensity_mg_per_kwh;

	return (uint64_t)((product + divisor / 2) / divisor);
}

int32_t wtl_carbon_rest_ng(unsigned __int128 uj_mg_per_kwh)
{
	/* What is left beyond whole micrograms, and half a microgram more, so that it is never negative. */
	const uint64_t beyond = (uint64_t)((uj_mg_per_kwh + divisor / 2) % divisor);

	return (int32_t)((beyond * 1000 + divisor / 2) / divisor) - 500;
}
