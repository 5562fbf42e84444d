/* SPDX-License-Identifier: MIT */
#include "client/grid_answer.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "base/date.h"
#include "base/err.h"
#include "base/text.h"
#include "energy/carbon.h"

enum { WHY_MAX = 200 };

static int refuse(char why[WHY_MAX], const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(char why[WHY_MAX], const char *format, ...)
{
	char text[2 * WHY_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	wtl_text_clean(why, WHY_MAX, text, strlen(text));
	return -WTL_EFORMAT;
}

static json_t *load(const struct wtl_grid_answer *answer, char why[WHY_MAX])
{
	json_error_t error;
	json_t *document = json_loadb(answer->text, answer->len, JSON_REJECT_DUPLICATES, &error);

	if (!document)
		refuse(why, "what it answers is no JSON: %s", error.text);
	else if (!json_is_object(document))
		refuse(why, "what it answers is JSON, but no object");
	if (document && !json_is_object(document)) {
		json_decref(document);
		document = NULL;
	}
	return document;
}

/* The list with that name; NULL: there is none. */
static json_t *list_of(const json_t *object, const char *name)
{
	json_t *list = json_object_get(object, name);

	return json_is_array(list) ? list : NULL;
}

static int time_of(const json_t *object, const char *name, int64_t *ret_utc_ns)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? wtl_date_parse_utc(text, strlen(text), ret_utc_ns) : -EINVAL;
}

/* Reads grams; null: the API has no figure. -EINVAL for anything that is no intensity. */
static int take_grams(const json_t *value, enum wtl_grid_kind kind, struct wtl_grid_row *row)
{
	double mg = json_number_value(value) * 1e3;

	row->kind = WTL_GRID_NONE;
	if (!value || json_is_null(value))
		return 0;
	if (!json_is_number(value) || !(mg >= 0 && mg <= WTL_CARBON_MAX_MG_PER_KWH))
		return -EINVAL;
	row->kind = kind;
	row->mg_per_kwh = (uint32_t)llround(mg);
	return 0;
}

/* Is the row within the time that was asked for, and on a whole step? */
static bool is_asked_for(const struct wtl_grid_answer *answer, int64_t t_utc_ns)
{
	return t_utc_ns >= answer->from_utc_ns && t_utc_ns < answer->to_utc_ns &&
	       t_utc_ns % answer->step_ns == 0;
}

/* Reads one row. 0; 1: to be skipped; or negative, with the reason in why. */
typedef int take_row(const struct wtl_grid_answer *answer, const json_t *item,
		     struct wtl_grid_row *row, char why[WHY_MAX]);

/* All rows, or none. */
static int take_list(const struct wtl_grid_answer *answer, const json_t *list, take_row *take,
		     char why[WHY_MAX])
{
	const json_t *item;
	size_t i;
	int rc;

	for (int pass = 0; pass < 2; pass++)
		json_array_foreach(list, i, item)
		{
			struct wtl_grid_row row = {.asked_utc_ns = answer->asked_utc_ns};

			rc = take(answer, item, &row, why);
			if (rc < 0)
				return rc;
			if (rc == 0 && pass > 0 && is_asked_for(answer, row.t_utc_ns) &&
			    wtl_grid_rows_put(answer->rows, &row) < 0)
				return refuse(why, "out of memory");
		}
	return 0;
}

/* ---- Electricity Maps ---- */

/*
 * Asked for a zone that it does not know, the API may answer for the zone where it thinks
 * the caller is. So answers about another zone are refused, and so are those that name none.
 */
static int check_zone(const struct wtl_grid_answer *answer, const json_t *object, bool *is_named,
		      char why[WHY_MAX])
{
	const char *zone = json_string_value(json_object_get(object, "zone"));

	if (!zone)
		return 0;
	*is_named = true;
	return strcasecmp(zone, answer->zone) == 0
		       ? 0
		       : refuse(why, "it answers for %.40s instead of %.40s", zone, answer->zone);
}

static int take_hour(const struct wtl_grid_answer *answer, const json_t *item,
		     struct wtl_grid_row *row, char why[WHY_MAX])
{
	const json_t *type = json_object_get(item, "emissionFactorType");
	enum wtl_grid_kind kind = json_is_true(json_object_get(item, "isEstimated"))
					  ? WTL_GRID_ESTIMATED
					  : WTL_GRID_MEASURED;
	bool is_named = false;
	int rc = check_zone(answer, item, &is_named, why);

	if (rc < 0)
		return rc;
	if (json_is_string(type) && strcmp(json_string_value(type), "lifecycle") != 0)
		return refuse(why, "it answers with '%.40s' factors instead of the life cycle's",
			      json_string_value(type));
	if (time_of(item, "datetime", &row->t_utc_ns) < 0)
		return refuse(why, "an hour in what it answers has no time");
	if (take_grams(json_object_get(item, "carbonIntensity"), kind, row) < 0)
		return refuse(why, "an hour in what it answers has no intensity from 0 to 10000");
	return 0;
}

int wtl_grid_answer_electricity_maps(const struct wtl_grid_answer *answer, char why[200])
{
	json_t *document = load(answer, why), *list = NULL;
	bool is_named = false;
	const json_t *item;
	int rc = -WTL_EFORMAT;
	size_t i;

	if (!document)
		return rc;
	list = list_of(document, "data");
	list = list ? list : list_of(document, "history");
	if (!list)
		rc = refuse(why, "what it answers has no list of hours");
	else
		rc = check_zone(answer, document, &is_named, why);
	json_array_foreach(list, i, item)
	{
		rc = rc < 0 ? rc : check_zone(answer, item, &is_named, why);
	}
	if (rc == 0 && !is_named && json_array_size(list) > 0)
		rc = refuse(why, "it does not say which zone its answer is of");
	if (rc == 0)
		rc = take_list(answer, list, take_hour, why);
	json_decref(document);
	return rc;
}

/* ---- The grid of Great Britain ---- */

/* Later estimates are called actual; regions have only the forecast. */
static int take_half_hour(const struct wtl_grid_answer *answer, const json_t *item,
			  struct wtl_grid_row *row, char why[WHY_MAX])
{
	const json_t *intensity = json_object_get(item, "intensity");
	const json_t *actual = json_object_get(intensity, "actual");
	bool is_actual = json_is_number(actual);
	int64_t end_utc_ns;

	if (time_of(item, "from", &row->t_utc_ns) < 0 || time_of(item, "to", &end_utc_ns) < 0)
		return refuse(why, "a half hour in what it answers has no time");
	if (end_utc_ns - row->t_utc_ns != answer->step_ns)
		return 1;
	if (take_grams(is_actual ? actual : json_object_get(intensity, "forecast"),
		       is_actual ? WTL_GRID_MEASURED : WTL_GRID_ESTIMATED, row) < 0)
		return refuse(why,
			      "a half hour in what it answers has no intensity from 0 to 10000");
	return 0;
}

int wtl_grid_answer_uk(const struct wtl_grid_answer *answer, char why[200])
{
	json_t *document = load(answer, why);
	const json_t *data = json_object_get(document, "data"), *list = data;
	int rc = 0;

	if (!document)
		return -WTL_EFORMAT;
	if (answer->zone[0]) {
		const json_t *id = json_object_get(data, "regionid");
		char region[24];

		snprintf(region, sizeof(region), "%lld", (long long)json_integer_value(id));
		if (!json_is_integer(id) || strcmp(region, answer->zone) != 0)
			rc = refuse(why, "it answers for another region than %s", answer->zone);
		list = json_object_get(data, "data");
	}
	if (rc == 0 && !json_is_array(list))
		rc = refuse(why, "what it answers has no list of half hours");
	if (rc == 0)
		rc = take_list(answer, list, take_half_hour, why);
	json_decref(document);
	return rc;
}

/* ---- Complaints ---- */

void wtl_grid_answer_complaint(const char *text, size_t len, char words[160])
{
	json_t *document = json_loadb(text, len, 0, NULL);
	const json_t *error = json_object_get(document, "error");
	const char *said = json_string_value(json_object_get(document, "message"));

	if (!said)
		said = json_string_value(error);
	if (!said)
		said = json_string_value(json_object_get(error, "message"));
	words[0] = '\0';
	if (said)
		wtl_text_clean(words, 160, said, strlen(said));
	json_decref(document);
}
