/* SPDX-License-Identifier: MIT */
/* What pictures of reports read in their JSON. */
#include <string.h>

#include "base/buf.h"
#include "commands/plot/report_parts.h"
#include "document/format.h"

enum { COMMAND_MAX = 1 << 20 };

double wtl_plot_json_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : WTL_PLOT_UNKNOWN;
}

const char *wtl_plot_json_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

struct wtl_plot_point wtl_plot_json_point(const json_t *object, const char *key, int64_t x)
{
	double y = wtl_plot_json_number(object, key);
	double half = wtl_plot_json_number(object, "uncertainty_j");

	return (struct wtl_plot_point){.x = x, .y = y, .low = y - half, .high = y + half};
}

struct wtl_plot_point wtl_plot_json_power(const json_t *object, int64_t x)
{
	double y = wtl_plot_json_number(object, "mean_w");
	double half = y * wtl_plot_json_number(object, "uncertainty_j") /
		      wtl_plot_json_number(object, "energy_j");

	return (struct wtl_plot_point){.x = x, .y = y, .low = y - half, .high = y + half};
}

struct wtl_plot_point wtl_plot_json_dynamic(const json_t *report, int64_t x)
{
	return wtl_plot_json_point(json_object_get(report, "command_energy"), "dynamic_j", x);
}

struct wtl_plot_point wtl_plot_json_emitted(const json_t *report, int64_t x)
{
	const json_t *carbon = json_object_get(report, "carbon");
	double y = wtl_plot_json_number(carbon, "gco2e");
	double half = wtl_plot_json_number(carbon, "gco2e_uncertainty");

	return (struct wtl_plot_point){.x = x, .y = y, .low = y - half, .high = y + half};
}

struct wtl_plot_point wtl_plot_json_over_time(const json_t *report, struct wtl_plot_point point)
{
	double seconds = wtl_plot_json_number(report, "duration_s");

	if (!(seconds > 0))
		return (struct wtl_plot_point){.x = point.x, .y = WTL_PLOT_UNKNOWN};
	return (struct wtl_plot_point){.x = point.x,
				       .y = point.y / seconds,
				       .low = point.low / seconds,
				       .high = point.high / seconds};
}

struct wtl_plot_point wtl_plot_json_rate(const json_t *report, int64_t x)
{
	return wtl_plot_json_over_time(report, wtl_plot_json_emitted(report, x));
}

const json_t *wtl_plot_json_domain(const json_t *report, const char *name)
{
	const json_t *domains = json_object_get(report, "domains"), *domain;
	size_t i;

	json_array_foreach(domains, i, domain)
	{
		const char *own = wtl_plot_json_text(domain, "name");

		if (own && strcmp(own, name) == 0)
			return domain;
	}
	return NULL;
}

const char *wtl_plot_json_command(struct wtl_plot_sheet *sheet, const json_t *report)
{
	const json_t *words = json_object_get(report, "command"), *word;
	const char **command =
		wtl_plot_sheet_array(sheet, json_array_size(words) + 1, sizeof(*command));
	const char *text;
	struct wtl_buf buf;
	size_t i;

	if (!command || !json_is_array(words))
		return "this machine";
	json_array_foreach(words, i, word)
	{
		command[i] = json_is_string(word) ? json_string_value(word) : "?";
	}
	wtl_buf_init(&buf, COMMAND_MAX);
	wtl_format_command(&buf, (char *const *)(uintptr_t)command);
	text = wtl_plot_sheet_printf(sheet, "%s", wtl_buf_str(&buf));
	wtl_buf_done(&buf);
	return text;
}

void wtl_plot_json_summary(struct wtl_plot_sheet *sheet, const char *name,
			   const struct wtl_plot_point *dynamic,
			   const struct wtl_plot_point *energy, const struct wtl_plot_point *power)
{
	const struct wtl_plot_point unknown = {.y = WTL_PLOT_UNKNOWN};
	const char *command =
		wtl_plot_sheet_summary(sheet, "command, above idle", dynamic, &unknown);
	const char *whole = wtl_plot_sheet_summary(sheet, name, energy, power);

	sheet->figure.summary = whole;
	if (command && whole)
		sheet->figure.summary = wtl_plot_sheet_printf(sheet, "%s · %s", command, whole);
}

void wtl_plot_json_title(struct wtl_plot_sheet *sheet, const char *what, const json_t *report)
{
	const json_t *total = json_object_get(report, "total");
	const struct wtl_plot_point dynamic = wtl_plot_json_dynamic(report, 0);
	const struct wtl_plot_point energy = wtl_plot_json_point(total, "energy_j", 0);
	const struct wtl_plot_point power = wtl_plot_json_power(total, 0);

	sheet->figure.title = wtl_plot_sheet_printf(
		sheet, json_is_array(json_object_get(report, "command")) ? "%s of: %s" : "%s of %s",
		what, wtl_plot_json_command(sheet, report));
	wtl_plot_json_summary(sheet, "machine", &dynamic, &energy, &power);
}
