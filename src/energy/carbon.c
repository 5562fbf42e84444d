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

#define GCP_PREFIX "gcp:"
#define WORLD	   "world"

/* Yearly averages before this one say little about today's grid. */
#define OLDEST_GOOD_YEAR 2020

static const double rel_yearly = 0.10, rel_unknown = 0.50;

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_letter(char c)
{
	return lower(c) >= 'a' && lower(c) <= 'z';
}

/* strcmp() without regard to the case of ASCII letters. */
static int compare(const char *a, const char *b)
{
	while (*a != '\0' && lower(*a) == lower(*b)) {
		a++;
		b++;
	}
	return (unsigned char)lower(*a) - (unsigned char)lower(*b);
}

static const struct wtl_carbon_row *find_row(const struct wtl_carbon_row rows[], size_t count,
					     const char *code)
{
	size_t low = 0, high = count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const int order = compare(code, rows[middle].code);

		if (order == 0)
			return &rows[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static int take_row(const struct wtl_carbon_row *row, const char *prefix, const char *dataset,
		    double rel_uncertainty, struct wtl_carbon_intensity *ret)
{
	if (row == NULL)
		return -ENOENT;
	*ret = (struct wtl_carbon_intensity){
		.place = row->place,
		.dataset = dataset,
		.year = row->year,
		.intensity_mg_per_kwh = row->intensity_mg_per_kwh,
		.rel_uncertainty = row->year < OLDEST_GOOD_YEAR ? rel_unknown : rel_uncertainty,
	};
	snprintf(ret->location, sizeof(ret->location), "%s%s", prefix, row->code);
	return 0;
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
	return strlen(text) == 3 && is_letter(text[0]) && is_letter(text[1]) && is_letter(text[2]);
}

static bool starts_with_gcp(const char *text)
{
	for (size_t i = 0; i < strlen(GCP_PREFIX); i++) {
		if (lower(text[i]) != GCP_PREFIX[i])
			return false;
	}
	return true;
}

int wtl_carbon_find(const char *location, struct wtl_carbon_intensity *ret)
{
	if (location == NULL || compare(location, WORLD) == 0)
		return take_row(find_row(wtl_carbon_world, wtl_carbon_world_count, WORLD), "",
				"Ember yearly electricity data, copy in co2.js", rel_unknown, ret);
	if (is_country_code(location))
		return take_row(
			find_row(wtl_carbon_countries, wtl_carbon_countries_count, location), "",
			"Our World in Data (Ember, Energy Institute), copy in CodeCarbon 3.2.9",
			rel_yearly, ret);
	if (starts_with_gcp(location))
		return take_row(find_row(wtl_carbon_gcp_regions, wtl_carbon_gcp_regions_count,
					 location + strlen(GCP_PREFIX)),
				GCP_PREFIX, "Google Cloud region-carbon-info 2024", rel_yearly,
				ret);
	return take_number(location, ret);
}

const char *wtl_carbon_forms(void)
{
	return "a country's three letters (FRA), gcp:REGION (gcp:europe-west9), "
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
	/* Of half a microgram and what is beyond whole ones, which is then never negative. */
	const uint64_t beyond = (uint64_t)((uj_mg_per_kwh + divisor / 2) % divisor);

	return (int32_t)((beyond * 1000 + divisor / 2) / divisor) - 500;
}
