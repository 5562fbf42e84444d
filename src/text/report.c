/* SPDX-License-Identifier: MIT */
#include "document/report.h"

#include <string.h>

#include "base/buf.h"
#include "document/format.h"
#include "text/layout.h"
#include "text/report_text.h"
#include "document/words.h"

bool wtl_report_text_end(struct wtl_buf *buf, const struct wtl_report *report)
{
	const char *name = wtl_words_signal(report->exit_signal);

	if (report->exit_signal > 0 && name)
		wtl_buf_printf(buf, "killed by %s", name);
	else if (report->exit_signal > 0)
		wtl_buf_printf(buf, "killed by signal %d", report->exit_signal);
	else if (report->has_exit && report->exit_status != 0)
		wtl_buf_printf(buf, "exit status %d", report->exit_status);
	else
		return false;
	return true;
}

void wtl_report_text_add_pue(struct wtl_buf *buf, uint32_t pue_milli)
{
	wtl_buf_puts(buf, "with PUE ");
	wtl_format_fixed(buf, pue_milli, 3);
	while (buf->len > 0 && strchr("0.", buf->data[buf->len - 1])) {
		bool was_point = buf->data[buf->len - 1] == '.';

		wtl_layout_truncate(buf, buf->len - 1);
		if (was_point)
			break;
	}
}

void wtl_report_text_emitted(const struct wtl_report_text *text, const struct wtl_report *report)
{
	const struct wtl_report_carbon *carbon = &report->carbon;

	wtl_buf_puts(text->buf, wtl_report_text_is_modelled(report) ? "~ " : "");
	wtl_format_measure(text->buf, carbon->emitted_ug, carbon->uncertainty_ug, WTL_FORMAT_G,
			   text->style->ascii);
	wtl_buf_puts(text->buf, " CO2e at ");
}

void wtl_report_text_pue(const struct wtl_report_text *text, const struct wtl_report_carbon *carbon)
{
	if (carbon->pue_milli == 0)
		return;
	wtl_report_text_begin_line(text, "");
	wtl_format_measure(text->buf, wtl_words_with_pue(carbon),
			   wtl_format_share(carbon->uncertainty_ug, carbon->pue_milli, 1000),
			   WTL_FORMAT_G, text->style->ascii);
	wtl_buf_putc(text->buf, ' ');
	wtl_report_text_add_pue(text->buf, carbon->pue_milli);
	wtl_buf_puts(text->buf, ", which is not in the energies\n");
}

void wtl_report_text_place(const struct wtl_report_text *text,
			   const struct wtl_report_carbon *carbon)
{
	const struct wattle_carbon *grid = &carbon->carbon;

	wtl_format_rounded(text->buf, grid->intensity_mg_per_kwh,
			   wtl_format_last_digit(grid->intensity_mg_per_kwh, 0), 3);
	wtl_report_text_put(text, " g/kWh (%s",
			    carbon->is_default ? "world average"
			    : grid->year       ? grid->location
					       : "as given");
}

void wtl_report_text_intensity(const struct wtl_report_text *text,
			       const struct wtl_report_carbon *carbon)
{
	const struct wattle_carbon *grid = &carbon->carbon;

	wtl_report_text_place(text, carbon);
	if (grid->dataset[0] && (carbon->is_default || grid->year))
		wtl_report_text_put(text, ", %s", grid->dataset);
	if (grid->year)
		wtl_report_text_put(text, ", %u", (uint64_t)grid->year);
	wtl_buf_putc(text->buf, ')');
}

/* The SCI and its three terms. */
static void put_sci(const struct wtl_report_text *text, const struct wtl_report_carbon *carbon)
{
	uint64_t emitted_ug = carbon->pue_milli ? wtl_words_with_pue(carbon) : carbon->emitted_ug;
	size_t start;

	if (carbon->sci.units == 0)
		return;
	start = wtl_report_text_begin_line(text, "sci");
	wtl_format_measure(text->buf, wtl_words_sci_ng(carbon) / 1000,
			   wtl_words_sci_uncertainty_ng(carbon) / 1000, WTL_FORMAT_G,
			   text->style->ascii);
	wtl_buf_puts(text->buf, " CO2e a unit = (");
	wtl_format_measure(text->buf, emitted_ug,
			   wtl_format_share(carbon->uncertainty_ug,
					    carbon->pue_milli ? carbon->pue_milli : 1000, 1000),
			   WTL_FORMAT_G, text->style->ascii);
	wtl_buf_puts(text->buf, " of energy + ");
	wtl_format_rounded(text->buf, carbon->sci.embodied_mg, 1, 3);
	wtl_report_text_put(text, " g embodied) / %u units", carbon->sci.units);
	wtl_report_text_end_line(text, start);
}

void wtl_report_text_carbon(const struct wtl_report_text *text, const struct wtl_report *report)
{
	size_t start = wtl_report_text_begin_line(text, "carbon");

	wtl_report_text_emitted(text, report);
	wtl_report_text_intensity(text, &report->carbon);
	wtl_report_text_end_line(text, start);
	wtl_report_text_pue(text, &report->carbon);
	put_sci(text, &report->carbon);
}

/* What the reader must know even if the rest of the page stays unread. */
static void put_caveats(const struct wtl_report_text *text, const struct wtl_report *report)
{
	static const char *const words[] = {
		[WTL_TEXT_MEASURED] = "",
		[WTL_TEXT_PARTLY] = "~ partly modelled",
		[WTL_TEXT_MODELLED] = "~ modelled, not measured",
	};
	enum wtl_report_text_modelled modelled = wtl_report_text_modelled(report);
	bool incomplete = wtl_report_text_incomplete(report);

	if (modelled != WTL_TEXT_MEASURED || incomplete)
		wtl_report_text_put(text, "  (%w%w%w)", words[modelled],
				    modelled != WTL_TEXT_MEASURED && incomplete ? ", " : "",
				    incomplete ? "! incomplete" : "");
}

void wtl_report_text_mean_power(const struct wtl_report_text *text,
				const struct wattle_energy *total)
{
	wtl_format_measure(
		text->buf, total->mean_uw,
		wtl_format_share(total->mean_uw, total->uncertainty_uj, total->energy_uj),
		WTL_FORMAT_W, text->style->ascii);
}

static void put_wall(const struct wtl_report_text *text, const struct wtl_report_wall *wall)
{
	if (!wall->is_known)
		return;
	wtl_report_text_begin_line(text, "wall");
	wtl_format_measure(text->buf, wall->energy_uj, wall->uncertainty_uj, WTL_FORMAT_J,
			   text->style->ascii);
	wtl_buf_puts(text->buf, " at the wall, by calibration\n");
}

void wtl_report_text_energy(const struct wtl_report_text *text, const struct wtl_report *report)
{
	const struct wattle_energy *total = &report->window.total;
	struct wtl_buf *buf = text->buf;

	wtl_report_text_begin_line(text, "energy");
	if (!total->has_energy) {
		wtl_report_text_put(text, "not known: %w\n", wtl_words_total_reason(total));
		return;
	}
	wtl_layout_tone(buf, WTL_TONE_STRONG, text->style);
	wtl_buf_puts(buf, wtl_report_text_is_modelled(report) ? "~ " : "");
	wtl_format_measure(buf, total->energy_uj, total->uncertainty_uj, WTL_FORMAT_J,
			   text->style->ascii);
	wtl_layout_tone_end(buf, WTL_TONE_STRONG, text->style);
	wtl_buf_puts(buf, "  =  ");
	wtl_format_measure(buf, wtl_format_uwh(total->energy_uj),
			   wtl_format_uwh(total->uncertainty_uj), WTL_FORMAT_WH,
			   text->style->ascii);
	put_caveats(text, report);
	wtl_buf_putc(buf, '\n');
	put_wall(text, &report->wall);
	if (!total->has_power)
		return;
	wtl_report_text_begin_line(text, "power");
	wtl_report_text_mean_power(text, total);
	wtl_buf_puts(buf, " mean\n");
}

void wtl_report_text_usage(const struct wtl_report_text *text, const struct wtl_report *report)
{
	if (report->command && report->command_cpu_ns >= 0 && !wtl_report_text_tells_cpu(report))
		wtl_report_text_put(text, ", CPU time %t", report->command_cpu_ns);
	if (report->command_rss_bytes) {
		wtl_buf_puts(text->buf, ", peak memory ");
		wtl_format_bytes(text->buf, report->command_rss_bytes);
	}
}

void wtl_report_text_time(const struct wtl_report_text *text, const struct wtl_report *report)
{
	wtl_report_text_begin_line(text, "time");
	wtl_report_text_put(text, "%t", report->window.duration_ns);
	wtl_report_text_usage(text, report);
	wtl_buf_putc(text->buf, '\n');
	if (text->style->verbose) {
		wtl_report_text_begin_line(text, "began");
		wtl_format_utc(text->buf, report->window.begin_utc_ns);
		wtl_buf_putc(text->buf, '\n');
	}
}

void wtl_report_text_ended(const struct wtl_report_text *text, const struct wtl_report *report)
{
	size_t start = text->buf->len;

	wtl_report_text_begin_line(text, "ended");
	if (wtl_report_text_end(text->buf, report))
		wtl_buf_puts(text->buf, report->interrupted ? ", measurement interrupted\n" : "\n");
	else if (report->interrupted)
		wtl_buf_puts(text->buf, "interrupted: the figures are those of what ran\n");
	else
		wtl_layout_truncate(text->buf, start);
}

void wtl_report_text_self(const struct wtl_report_text *text, const struct wtl_report_self *self)
{
	wtl_layout_tone(text->buf, WTL_TONE_FAINT, text->style);
	wtl_buf_puts(text->buf, "wattle itself: ");
	wtl_report_text_own(text, self);
	wtl_report_text_put(text, ", %u samples", self->ticks);
	if (self->late_ticks)
		wtl_report_text_put(text, " (%u late)", self->late_ticks);
	wtl_layout_tone_end(text->buf, WTL_TONE_FAINT, text->style);
	wtl_buf_putc(text->buf, '\n');
}
