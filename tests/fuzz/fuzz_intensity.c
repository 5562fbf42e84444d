/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/when.h"
#include "energy/intensity.h"

/* What users give wattle report: an intensity over time, and moments. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

/* Nothing is lost, wherever the steps are. */
static void emit(const struct wtl_intensity *intensity)
{
	struct wtl_emission emission = {.energy_uj = 0};
	int64_t from_ns = intensity->steps[0].t_utc_ns - 1000;
	int64_t to_ns = intensity->steps[intensity->n - 1].t_utc_ns;

	check(to_ns < INT64_MAX - 1000);
	wtl_emission_add(&emission, intensity, from_ns, to_ns + 1000, 1000003);
	check(emission.energy_uj + emission.missing_uj == 1000003);
	check(emission.known_ns + emission.missing_ns == to_ns + 1000 - from_ns);
	check(wtl_emission_mean_mg_per_kwh(&emission) <= 10000000);
}

static void parse_intensity(const char *text, size_t size)
{
	struct wtl_err err = {.code = 0};
	struct wtl_intensity intensity;

	if (wtl_intensity_parse(&intensity, text, size, &err) < 0) {
		check(err.text[0] != '\0');
		return;
	}
	check(intensity.n > 0);
	for (size_t i = 1; i < intensity.n; i++)
		check(intensity.steps[i].t_utc_ns > intensity.steps[i - 1].t_utc_ns);
	emit(&intensity);
	wtl_intensity_done(&intensity);
}

static void parse_when(const char *text, size_t size)
{
	char *copy = strndup(text, size);
	struct wtl_when when;
	int64_t since_ns;

	check(copy != NULL);
	if (wtl_when_parse(copy, &when) == 0) {
		check(when.kind != WTL_WHEN_NOT);
		wtl_when_since_ns(&when, INT64_C(1795269600000000000), 0, &since_ns);
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	parse_intensity((const char *)data, size);
	parse_when((const char *)data, size);
	return 0;
}
