/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_CARBON_H
#define WTL_ENERGY_CARBON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The greatest intensity accepted; the dirtiest grid in the tables has about 1.3 kg per kWh. */
#define WTL_CARBON_MAX_MG_PER_KWH 10000000u

/*
 * Grams of CO2 equivalent that a grid emits for a kilowatt hour, over the life cycle of its power
 * plants, where it is generated (imports, grid losses and PUE are not in it), as a yearly average.
 */
struct wtl_carbon_intensity {
	/* What to ask for to get the same again: "FRA", "gcp:europe-west9", "56.04", "world". */
	char location[40];
	const char *place;   /* "France"; "" for a number; static */
	const char *dataset; /* where the figure comes from, "given" for a number; static */
	int year;	     /* of the figure, 0 for a number */
	uint32_t intensity_mg_per_kwh;
	/*
	 * Relative standard uncertainty (k = 1; double it to print ± at k = 2). 0.10 for a yearly
	 * average of the right country or region: from one year to the next, national averages moved
	 * by 4 to 21 % (CodeCarbon's table of 2023 against Ember 2024). 0.50 for the world average,
	 * and for figures from before 2020: countries lie between 20 and 1300 g/kWh. 0 for a number,
	 * which is taken as exact. These are judgement, not literature.
	 */
	double rel_uncertainty;
};

/*
 * Looks a location up, without any network:
 *   NULL, "world"       the world average, 472.94 g/kWh in 2024 (Ember's yearly data, from the copy
 *                       in co2.js). It stands in for an unknown country; CodeCarbon's 475 g/kWh is
 *                       IEA's figure for 2018 and was passed over as the older one.
 *   "FRA"               a country by its ISO 3166-1 alpha-3 code, in any case; "FR" is the same
 *   "gcp:europe-west9"  a provider's region, in any case
 *   "56.04"             grams per kWh, 0 to 10000, at most three decimals, "." in every locale
 * Returns 0, -EINVAL for anything of another form, -ERANGE for a number that is too great, -ENOENT
 * for a country or region without a figure, and for a provider that is not known. *ret is set only on success.
 */
int wtl_carbon_find(const char *location, struct wtl_carbon_intensity *ret);

/* The accepted forms in one line, for error texts. */
const char *wtl_carbon_forms(void);
/* Whether the location is PROVIDER:REGION with a provider that no table has. */
bool wtl_carbon_is_other_provider(const char *location);
extern const char wtl_carbon_providers[]; /* "gcp", with commas between */

/*
 * Micrograms of CO2 equivalent for an energy, to the nearest microgram (halves up):
 * energy_uj / 3.6e12 kWh times intensity. Exact for any energy and any intensity up to
 * WTL_CARBON_MAX_MG_PER_KWH.
 */
uint64_t wtl_carbon_co2e_ug(uint64_t energy_uj, uint32_t intensity_mg_per_kwh);

/*
 * What rounding took from those micrograms: -500 to 500 nanograms, to the nearest. Takes the
 * product of an energy and its intensity (or a sum of such products).
 */
int32_t wtl_carbon_rest_ng(unsigned __int128 uj_mg_per_kwh);

#endif
