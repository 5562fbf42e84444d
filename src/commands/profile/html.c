/* SPDX-License-Identifier: MIT */
/* One page that needs no other file: web/profile.html with the profile in it as JSON. The page shows names as text. */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "commands/profile/format.h"
#include "document/format.h"
#include "document/report.h"
#include "text/report_text.h"

extern const char wtl_profile_page[]; /* made by tools/mkfile.py */

#define HERE "@PROFILE@"

static void put_metrics(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	wtl_buf_printf(buf, ",\"metric\":%zu,\"metrics\":[", stacks->main);
	for (size_t i = 0; i < stacks->n_metrics; i++) {
		double factor;
		const char *symbol = wtl_stacks_unit_symbol(stacks->metrics[i].unit, &factor);

		wtl_buf_puts(buf, i ? ",{" : "{");
		wtl_profile_json_text(buf, "title", stacks->metrics[i].title);
		wtl_profile_json_text(buf, "unit", strcmp(symbol, "mg CO2e") ? symbol : "g CO2e");
		wtl_buf_puts(buf, ",\"factor\":");
		wtl_format_double(buf, strcmp(symbol, "mg CO2e") ? factor : factor * 1e3, 0);
		if (stacks->metrics[i].unit == WTL_STACKS_NS)
			wtl_buf_printf(buf, ",\"sampled\":%d",
				       i == stacks->wait ? 0 : WTL_METRIC_CPU);
		wtl_buf_putc(buf, '}');
	}
	wtl_buf_putc(buf, ']');
}

static void put_functions(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	size_t n = stacks->tree.n_names;

	wtl_buf_puts(buf, ",\"names\":[");
	for (size_t i = 0; i < n; i++)
		wtl_profile_json_text(buf, NULL, stacks->functions[i].name);
	wtl_buf_puts(buf, "],\"files\":[");
	for (size_t i = 0; i < n; i++)
		wtl_profile_json_text(buf, NULL, stacks->functions[i].file);
	wtl_buf_puts(buf, "],\"lines\":[");
	for (size_t i = 0; i < n; i++)
		wtl_buf_printf(buf, "%s%" PRIu32, i ? "," : "", stacks->functions[i].line);
	/* The uncertainty of own energy, in microjoules. */
	wtl_buf_puts(buf, "],\"doubts\":[");
	for (size_t i = 0; i < n; i++) {
		const uint64_t *own = &stacks->functions_own[i * stacks->n_metrics];

		wtl_buf_printf(buf, "%s%.0f", i ? "," : "",
			       wtl_profile_uncertainty_uj(
				       stacks->profile, (double)own[WTL_METRIC_ENERGY],
				       own[WTL_METRIC_SAMPLES], stacks->functions_doubts[2 * i]));
	}
	wtl_buf_puts(buf, "],\"resolved\":[");
	for (size_t i = 0; i < n; i++) {
		const uint64_t *own = &stacks->functions_own[i * stacks->n_metrics];

		wtl_buf_printf(buf, "%s%d", i ? "," : "",
			       wtl_profile_is_resolved(stacks->profile, (double)own[stacks->main],
						       own[WTL_METRIC_SAMPLES],
						       stacks->main == WTL_METRIC_ENERGY
							       ? stacks->functions_doubts[2 * i]
							       : 0));
	}
	wtl_buf_puts(buf, stacks->functions_peaks ? "],\"peaks\":[" : "]");
	for (size_t i = 0; stacks->functions_peaks && i < n; i++)
		wtl_buf_printf(buf, "%s%" PRIu64, i ? "," : "", stacks->functions_peaks[i]);
	wtl_buf_puts(buf, stacks->functions_peaks ? "]" : "");
}

static void put_nodes(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	size_t n = stacks->tree.n_nodes;

	wtl_buf_puts(buf, ",\"nodes\":{\"parent\":[");
	for (size_t i = 1; i < n; i++)
		wtl_buf_printf(buf, "%s%" PRIu32, i > 1 ? "," : "", stacks->tree.nodes[i].parent);
	wtl_buf_puts(buf, "],\"name\":[");
	for (size_t i = 1; i < n; i++)
		wtl_buf_printf(buf, "%s%" PRIu32, i > 1 ? "," : "", wtl_stacks_function(stacks, i));
	wtl_buf_puts(buf, "],\"own\":[");
	for (size_t k = 0; k < stacks->n_metrics; k++) {
		wtl_buf_puts(buf, k ? ",[" : "[");
		for (size_t i = 1; i < n; i++)
			wtl_buf_printf(buf, "%s%" PRIu64, i > 1 ? "," : "",
				       stacks->own[i * stacks->n_metrics + k]);
		wtl_buf_putc(buf, ']');
	}
	wtl_buf_puts(buf, "]}");
}

static void put_sum(struct wtl_buf *buf, uint64_t uj, const char *word, bool is_sum)
{
	if (uj == 0)
		return;
	wtl_buf_puts(buf, buf->data[buf->len - 1] == '[' ? "[" : ",[");
	wtl_profile_json_text(buf, NULL, word);
	wtl_buf_puts(buf, ",\"");
	wtl_format_fixed(buf, uj, 6);
	wtl_buf_puts(buf, is_sum ? "\",true]" : "\",false]");
}

static void put_sums(struct wtl_buf *buf, const struct wtl_profile *profile)
{
	struct wtl_profile_sums sums;

	wtl_profile_sums(profile, -1, &sums);
	wtl_buf_puts(buf, ",\"sums\":[");
	put_sum(buf, sums.stacks_uj, "the command's, with its stacks", false);
	put_sum(buf, sums.unsampled_uj, "the command's, not seen", false);
	put_sum(buf, sums.unknown_uj, "the command's, at an unknown time", false);
	put_sum(buf, sums.outside_uj, "the command's, outside of the window", false);
	put_sum(buf, sums.profiler_uj, "the profiler itself", false);
	put_sum(buf, sums.others_uj, wtl_profile_others(&sums), false);
	put_sum(buf, sums.kernel_uj, "the kernel", false);
	put_sum(buf, sums.idle_uj, "idle: what the machine draws anyway", false);
	put_sum(buf, sums.unattributed_uj, "nobody's who was seen", false);
	put_sum(buf, sums.total_uj, "measured in all", true);
	wtl_buf_putc(buf, ']');
}

/* "; emissions at 380 g/kWh (DEU, data set, 2023) with PUE 1.25" */
static void put_place(struct wtl_buf *buf, const struct wtl_report_place *place)
{
	const struct wtl_output_style style = {.ascii = false};
	const struct wtl_report_text text = {.buf = buf, .style = &style};
	const struct wtl_report_carbon carbon = {.carbon = place->carbon,
						 .is_default = place->is_default};

	wtl_buf_puts(buf, "; emissions at ");
	wtl_report_text_intensity(&text, &carbon);
	if (place->pue_milli) {
		wtl_buf_putc(buf, ' ');
		wtl_report_text_add_pue(buf, place->pue_milli);
	}
}

static void put_head(struct wtl_buf *buf, const struct wtl_profile *profile)
{
	struct wtl_buf text;

	wtl_buf_init(&text, 1 << 20);
	wtl_profile_json_command(buf, "command", "", profile);
	wtl_profile_put_sum(&text, profile, &(struct wtl_output_style){.ascii = false});
	wtl_buf_puts(&text, ", ");
	wtl_format_fixed(&text, (uint64_t)profile->window->duration_ns / 1000000, 3);
	wtl_buf_printf(&text, " s; %zu samples at %u Hz, %zu thread%s; ", profile->trace->n_samples,
		       profile->hz, profile->trace->n_threads,
		       profile->trace->n_threads == 1 ? "" : "s");
	wtl_format_utc(&text, profile->window->begin_utc_ns);
	if (wtl_profile_has_energy(profile))
		put_place(&text, &profile->place);
	if (profile->policy)
		wtl_buf_printf(&text, "; computed again with --policy %s", profile->policy);
	wtl_buf_puts(&text, "; wattle " WATTLE_VERSION);
	wtl_profile_json_text(buf, "head", wtl_buf_str(&text));
	wtl_buf_done(&text);
}

/* Within the page's script "<" might end the script; in JSON it is in strings alone, so it is escaped. */
static void put_into_page(struct wtl_buf *buf, const struct wtl_buf *json)
{
	const char *at = wtl_buf_str(json), *end = at + json->len, *next;

	for (; (next = memchr(at, '<', (size_t)(end - at))) != NULL; at = next + 1) {
		wtl_buf_add(buf, at, (size_t)(next - at));
		wtl_buf_puts(buf, "\\u003c");
	}
	wtl_buf_add(buf, at, (size_t)(end - at));
}

static int write_html(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	const char *here = strstr(wtl_profile_page, HERE);
	struct wtl_buf json;

	wtl_buf_init(&json, buf->max);
	wtl_buf_putc(&json, '{');
	put_head(&json, stacks->profile);
	put_metrics(&json, stacks);
	put_functions(&json, stacks);
	put_nodes(&json, stacks);
	put_sums(&json, stacks->profile);
	wtl_buf_putc(&json, '}');
	wtl_buf_add(buf, wtl_profile_page, (size_t)(here - wtl_profile_page));
	put_into_page(buf, &json);
	wtl_buf_puts(buf, here + strlen(HERE));
	if (json.error && !buf->error)
		buf->error = json.error;
	wtl_buf_done(&json);
	return buf->error;
}

const struct wtl_profile_format wtl_profile_format_html = {
	.name = "html", .suffixes = ".html .htm", .write = write_html};
