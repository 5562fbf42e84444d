/* SPDX-License-Identifier: MIT */
#include "energy/intensity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/date.h"
#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "energy/carbon.h"
#include "energy/units.h"

/* 3.6e12 µJ in a kWh, 1000 µg in a mg. */
#define DIVISOR INT64_C(3600000000)

/* ---- The table ---- */

struct line {
	const char *text;
	size_t len, number;
};

static int rubbish(struct wtl_err *err, const struct line *line, const char *what)
{
	char shown[64];

	wtl_text_clean(shown, sizeof(shown), line->text, line->len);
	return wtl_err_set(err, WTL_EFORMAT, "intensity", NULL, "line %zu: %s: '%s'", line->number,
			   what, shown);
}

static size_t without_blanks(const char **text, size_t len)
{
	len = wtl_text_trimmed(*text, len);
	while (len > 0 && (**text == ' ' || **text == '\t')) {
		(*text)++;
		len--;
	}
	return len;
}

static int parse_value(const char *text, size_t len, uint32_t *ret_mg_per_kwh)
{
	uint64_t value = WTL_INTENSITY_UNKNOWN;

	if (len > 0 &&
	    (wtl_num_fixed(text, len, 3, &value) < 0 || value > WTL_CARBON_MAX_MG_PER_KWH))
		return -EINVAL;
	*ret_mg_per_kwh = (uint32_t)value;
	return 0;
}

static int parse_line(struct wtl_intensity *intensity, const struct line *line, struct wtl_err *err)
{
	const char *comma = memchr(line->text, ',', line->len), *time = line->text;
	size_t len = comma ? (size_t)(comma - line->text) : 0;
	struct wtl_intensity_step step;
	struct wtl_date_text date;

	if (!comma)
		return rubbish(err, line, "a time, a comma and an intensity are wanted");
	len = without_blanks(&time, len);
	if (wtl_date_parse(time, len, &date) < 0)
		return rubbish(err, line,
			       "this is no time from 1970 to 2261 such as 2026-11-21T14:00:00Z");
	step.t_utc_ns = wtl_date_utc_ns(&date.date) - date.zone_s * WTL_NS_PER_S;
	if (parse_value(comma + 1, line->len - (size_t)(comma + 1 - line->text), &step.mg_per_kwh) <
	    0)
		return rubbish(err, line, "the intensity is no number from 0 to 10000");
	if (intensity->n > 0 && step.t_utc_ns <= intensity->steps[intensity->n - 1].t_utc_ns)
		return rubbish(err, line, "it is not later than the line before");
	if (intensity->n == WTL_INTENSITY_STEPS_MAX)
		return rubbish(err, line, "there are too many lines");
	if (wtl_array_reserve(&intensity->steps, &intensity->room, intensity->n + 1, sizeof(step)) <
	    0)
		return wtl_err_set(err, ENOMEM, "intensity", NULL, "out of memory");
	intensity->steps[intensity->n++] = step;
	return 0;
}

static bool is_passed_over(const struct wtl_intensity *intensity, const struct line *line)
{
	return line->len == 0 || line->text[0] == '#' ||
	       (intensity->n == 0 && line->number == 1 &&
		!(line->text[0] >= '0' && line->text[0] <= '9'));
}

int wtl_intensity_parse(struct wtl_intensity *ret_intensity, const char *text, size_t len,
			struct wtl_err *err)
{
	struct wtl_intensity intensity = {.n = 0};
	const char *end = text + len;
	struct line line = {.number = 0};
	int rc = 0;

	/* A byte order mark, as spreadsheets write it. */
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3;
	while (rc == 0 && text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		line.text = text;
		line.len = (size_t)((stop ? stop : end) - text);
		line.len = without_blanks(&line.text, line.len);
		line.number++;
		if (!is_passed_over(&intensity, &line))
			rc = parse_line(&intensity, &line, err);
		text = stop ? stop + 1 : end;
	}
	if (rc == 0 && intensity.n == 0)
		rc = wtl_err_set(err, WTL_EFORMAT, "intensity", NULL,
				 "it holds no line with a time and an intensity");
	if (rc < 0) {
		wtl_intensity_done(&intensity);
		return rc;
	}
	*ret_intensity = intensity;
	return 0;
}

void wtl_intensity_done(struct wtl_intensity *intensity)
{
	free(intensity->steps);
	*intensity = (struct wtl_intensity){.n = 0};
}

/* How many steps have begun by then. */
static size_t begun_by(const struct wtl_intensity *intensity, int64_t t_utc_ns)
{
	return WTL_TIMES_UP_TO(intensity->steps, intensity->n, t_utc_ns, t_utc_ns);
}

static int64_t end_of(const struct wtl_intensity *intensity, size_t i)
{
	const struct wtl_intensity_step *steps = intensity->steps;
	int64_t end_ns;

	if (i + 1 < intensity->n)
		return steps[i + 1].t_utc_ns;
	if (i == 0 || __builtin_add_overflow(steps[i].t_utc_ns,
					     steps[i].t_utc_ns - steps[i - 1].t_utc_ns, &end_ns))
		return INT64_MAX;
	return end_ns;
}

bool wtl_intensity_at(const struct wtl_intensity *intensity, int64_t t_utc_ns,
		      uint32_t *ret_mg_per_kwh, int64_t *ret_until_utc_ns)
{
	size_t begun = begun_by(intensity, t_utc_ns);
	int64_t end_ns;

	if (begun == 0) {
		*ret_until_utc_ns = intensity->n > 0 ? intensity->steps[0].t_utc_ns : INT64_MAX;
		return false;
	}
	end_ns = end_of(intensity, begun - 1);
	if (t_utc_ns >= end_ns) {
		*ret_until_utc_ns = INT64_MAX;
		return false;
	}
	*ret_until_utc_ns = end_ns;
	*ret_mg_per_kwh = intensity->steps[begun - 1].mg_per_kwh;
	return *ret_mg_per_kwh != WTL_INTENSITY_UNKNOWN;
}

/* ---- What was emitted ---- */

static void add_known(struct wtl_emission *emission, uint32_t mg_per_kwh, int64_t duration_ns,
		      int64_t energy_uj)
{
	emission->uj_mg_per_kwh += (__int128)energy_uj * mg_per_kwh;
	emission->energy_uj += energy_uj;
	emission->known_ns += duration_ns;
	if (!emission->has_intensity || mg_per_kwh < emission->least_mg_per_kwh)
		emission->least_mg_per_kwh = mg_per_kwh;
	if (!emission->has_intensity || mg_per_kwh > emission->greatest_mg_per_kwh)
		emission->greatest_mg_per_kwh = mg_per_kwh;
	emission->has_intensity = true;
}

void wtl_emission_add(struct wtl_emission *emission, const struct wtl_intensity *intensity,
		      int64_t from_utc_ns, int64_t to_utc_ns, int64_t energy_uj)
{
	int64_t whole_ns, at_ns, done_uj = 0;

	if (from_utc_ns > to_utc_ns)
		from_utc_ns = to_utc_ns;
	whole_ns = to_utc_ns - from_utc_ns;
	at_ns = from_utc_ns;
	do {
		uint32_t mg_per_kwh = 0;
		int64_t until_ns, part_uj;
		bool is_known = wtl_intensity_at(intensity, at_ns, &mg_per_kwh, &until_ns);

		if (until_ns > to_utc_ns)
			until_ns = to_utc_ns;
		/* Cut at the steps, so that the pieces add up. */
		part_uj = until_ns == to_utc_ns ? energy_uj - done_uj
						: (int64_t)((__int128)energy_uj *
							    (until_ns - from_utc_ns) / whole_ns) -
							  done_uj;
		if (is_known) {
			add_known(emission, mg_per_kwh, until_ns - at_ns, part_uj);
		} else {
			emission->missing_uj += part_uj;
			emission->missing_ns += until_ns - at_ns;
		}
		done_uj += part_uj;
		at_ns = until_ns;
	} while (at_ns < to_utc_ns);
}

struct wtl_emission wtl_emission_since(const struct wtl_emission *later,
				       const struct wtl_emission *earlier)
{
	struct wtl_emission since = *later;

	since.uj_mg_per_kwh -= earlier->uj_mg_per_kwh;
	since.energy_uj -= earlier->energy_uj;
	since.missing_uj -= earlier->missing_uj;
	since.known_ns -= earlier->known_ns;
	since.missing_ns -= earlier->missing_ns;
	return since;
}

uint64_t wtl_emission_ug(const struct wtl_emission *emission)
{
	__int128 product = emission->uj_mg_per_kwh;

	/* Corrections make it less than 0 only by their own rounding. */
	return product > 0 ? (uint64_t)((product + DIVISOR / 2) / DIVISOR) : 0;
}

uint32_t wtl_emission_mean_mg_per_kwh(const struct wtl_emission *emission)
{
	if (emission->energy_uj <= 0 || emission->uj_mg_per_kwh <= 0)
		return 0;
	return (uint32_t)((emission->uj_mg_per_kwh + emission->energy_uj / 2) /
			  emission->energy_uj);
}
