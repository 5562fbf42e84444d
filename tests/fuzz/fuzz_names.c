/* SPDX-License-Identifier: MIT */
/* Locations and processor names, as a user or a machine may spell them. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "energy/carbon.h"
#include "sensors/cpu_tdp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

/* What was found is found again by the location it reports. */
static void try_location(const char *text)
{
	struct wtl_carbon_intensity found, again;

	if (wtl_carbon_find(text, &found) < 0)
		return;
	check(found.intensity_mg_per_kwh <= WTL_CARBON_MAX_MG_PER_KWH);
	check(wtl_carbon_find(found.location, &again) == 0);
	check(again.intensity_mg_per_kwh == found.intensity_mg_per_kwh);
	check(strcmp(again.location, found.location) == 0);
}

/* A key is its own key, and what matches is the whole key. */
static void try_processor(const char *text)
{
	char key[WTL_CPU_TDP_NAME_MAX], again[WTL_CPU_TDP_NAME_MAX];
	const char *matched;
	uint32_t tdp_mw;

	check(wtl_cpu_tdp_key(text, key) == strlen(key));
	if (wtl_cpu_tdp_find(text, &tdp_mw, &matched) < 0)
		return;
	check(strcmp(matched, key) == 0 && tdp_mw > 0);
	wtl_cpu_tdp_key(key, again);
	check(strcmp(key, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	try_location(text);
	try_processor(text);
	free(text);
	return 0;
}
