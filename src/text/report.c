/* SPDX-License-Identifier: MIT */
#include "document/report.h"

#include <string.h>

#include "base/buf.h"
#include "document/format.h"
#include "text/layout.h"
#include "text/page.h"
#include "document/words.h"

bool wtl_page_end(struct wtl_buf *buf, const struct wtl_report *report)
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

void wtl_page_add_pue(struct wtl_buf *buf, uint32_t pue_milli)
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

void wtl_page_emitted(const struct wtl_page *page, const struct wtl_report *report)
{
	const struct wtl_report_carbon *carbon = &report->carbon;

	wtl_buf_puts(page->buf, wtl_page_is_modelled(report) ? "~ " : "");
	wtl_format_measure(page->buf, carbon->emitted_ug, carbon->uncertainty_ug, WTL_FORMAT_G,
			   page->style->ascii);
	wtl_buf_puts(page->buf, " CO2e at ");
}

void wtl_page_pue(const struct wtl_page *page, const struct wtl_report_carbon *carbon)
{
	if (carbon->pue_milli == 0)
		return;
	wtl_page_begin_line(page, "");
	wtl_format_measure(page->buf, wtl_words_with_pue(carbon),
			   wtl_format_share(carbon->uncertainty_ug, carbon->pue_milli, 1000),
			   WTL_FORMAT_G, page->style->ascii);
	wtl_buf_putc(page->buf, ' ');
	wtl_page_add_pue(page->buf, carbon->pue_milli);
	wtl_buf_puts(page->buf, ", which is not in the energies\n");
}

void wtl_page_place(const struct wtl_page *page, const struct wtl_report_carbon *carbon)
{
	const struct wattle_carbon *grid = &carbon->carbon;

	wtl_format_rounded(page->buf, grid->intensity_mg_per_kwh,
			   wtl_format_last_digit(grid->intensity_mg_per_kwh, 0), 3);
	wtl_page_put(page, " g/kWh (%s",
		     carbon->is_default ? "world average"
		     : grid->year	? grid->location
					: "as given");
}

void wtl_page_intensity(const struct wtl_page *page, const struct wtl_report_carbon *carbon)
{
	const struct wattle_carbon *grid = &carbon->carbon;

	wtl_page_place(page, carbon);
	if (grid->dataset[0] && (carbon->is_default || grid->year))
		wtl_page_put(page, ", %s", grid->dataset);
	if (grid->year)
		wtl_page_put(page, ", %u", (uint64_t)grid->year);
	wtl_buf_putc(page->buf, ')');
}

/* Its three terms, and what they come to. */
static void put_sci(const struct wtl_page *page, const struct wtl_report_carbon *carbon)
{
	uint64_t emitted_ug = carbon->pue_milli ? wtl_words_with_pue(carbon) : carbon->emitted_ug;
	size_t start;

	if (carbon->sci.units == 0)
		return;
	start = wtl_page_begin_line(page, "sci");
	wtl_format_measure(page->buf, wtl_words_sci_ng(carbon) / 1000,
			   wtl_words_sci_uncertainty_ng(carbon) / 1000, WTL_FORMAT_G,
			   page->style->ascii);
	wtl_buf_puts(page->buf, " CO2e a unit = (");
	wtl_format_measure(page->buf, emitted_ug,
			   wtl_format_share(carbon->uncertainty_ug,
					    carbon->pue_milli ? carbon->pue_milli : 1000, 1000),
			   WTL_FORMAT_G, page->style->ascii);
	wtl_buf_puts(page->buf, " of energy + ");
	wtl_format_rounded(page->buf, carbon->sci.embodied_mg, 1, 3);
	wtl_page_put(page, " g embodied) / %u units", carbon->sci.units);
	wtl_page_end_line(page, start);
}

void wtl_page_carbon(const struct wtl_page *page, const struct wtl_report *report)
{
	size_t start = wtl_page_begin_line(page, "carbon");

	wtl_page_emitted(page, report);
	wtl_page_intensity(page, &report->carbon);
	wtl_page_end_line(page, start);
	wtl_page_pue(page, &report->carbon);
	put_sci(page, &report->carbon);
}

/* What the reader must know even if the rest of the page stays unread. */
static void put_caveats(const struct wtl_page *page, const struct wtl_report *report)
{
	static const char *const words[] = {
		[WTL_PAGE_MEASURED] = "",
		[WTL_PAGE_PARTLY] = "~ partly modelled",
		[WTL_PAGE_MODELLED] = "~ modelled, not measured",
	};
	enum wtl_page_modelled modelled = wtl_page_modelled(report);
	bool incomplete = wtl_page_incomplete(report);

	if (modelled != WTL_PAGE_MEASURED || incomplete)
		wtl_page_put(page, "  (%w%w%w)", words[modelled],
			     modelled != WTL_PAGE_MEASURED && incomplete ? ", " : "",
			     incomplete ? "! incomplete" : "");
}

void wtl_page_mean_power(const struct wtl_page *page, const struct wattle_energy *total)
{
	wtl_format_measure(
		page->buf, total->mean_uw,
		wtl_format_share(total->mean_uw, total->uncertainty_uj, total->energy_uj),
		WTL_FORMAT_W, page->style->ascii);
}

static void put_wall(const struct wtl_page *page, const struct wtl_report_wall *wall)
{
	if (!wall->is_known)
		return;
	wtl_page_begin_line(page, "wall");
	wtl_format_measure(page->buf, wall->energy_uj, wall->uncertainty_uj, WTL_FORMAT_J,
			   page->style->ascii);
	wtl_buf_puts(page->buf, " at the wall, by calibration\n");
}

void wtl_page_energy(const struct wtl_page *page, const struct wtl_report *report)
{
	const struct wattle_energy *total = &report->window.total;
	struct wtl_buf *buf = page->buf;

	wtl_page_begin_line(page, "energy");
	if (!total->has_energy) {
		wtl_page_put(page, "not known: %w\n", wtl_words_total_reason(total));
		return;
	}
	wtl_layout_tone(buf, WTL_TONE_STRONG, page->style);
	wtl_buf_puts(buf, wtl_page_is_modelled(report) ? "~ " : "");
	wtl_format_measure(buf, total->energy_uj, total->uncertainty_uj, WTL_FORMAT_J,
			   page->style->ascii);
	wtl_layout_tone_end(buf, WTL_TONE_STRONG, page->style);
	wtl_buf_puts(buf, "  =  ");
	wtl_format_measure(buf, wtl_format_uwh(total->energy_uj),
			   wtl_format_uwh(total->uncertainty_uj), WTL_FORMAT_WH,
			   page->style->ascii);
	put_caveats(page, report);
	wtl_buf_putc(buf, '\n');
	put_wall(page, &report->wall);
	if (!total->has_power)
		return;
	wtl_page_begin_line(page, "power");
	wtl_page_mean_power(page, total);
	wtl_buf_puts(buf, " mean\n");
}

void wtl_page_usage(const struct wtl_page *page, const struct wtl_report *report)
{
	if (report->command && report->command_cpu_ns >= 0 && !wtl_page_tells_cpu(report))
		wtl_page_put(page, ", CPU time %t", report->command_cpu_ns);
	if (report->command_rss_bytes) {
		wtl_buf_puts(page->buf, ", peak memory ");
		wtl_format_bytes(page->buf, report->command_rss_bytes);
	}
}

void wtl_page_time(const struct wtl_page *page, const struct wtl_report *report)
{
	wtl_page_begin_line(page, "time");
	wtl_page_put(page, "%t", report->window.duration_ns);
	wtl_page_usage(page, report);
	wtl_buf_putc(page->buf, '\n');
	if (page->style->verbose) {
		wtl_page_begin_line(page, "began");
		wtl_format_utc(page->buf, report->window.begin_utc_ns);
		wtl_buf_putc(page->buf, '\n');
	}
}

void wtl_page_ended(const struct wtl_page *page, const struct wtl_report *report)
{
	size_t start = page->buf->len;

	wtl_page_begin_line(page, "ended");
	if (wtl_page_end(page->buf, report))
		wtl_buf_puts(page->buf, report->interrupted ? ", measurement interrupted\n" : "\n");
	else if (report->interrupted)
		wtl_buf_puts(page->buf, "interrupted: the figures are those of what ran\n");
	else
		wtl_layout_truncate(page->buf, start);
}

void wtl_page_self(const struct wtl_page *page, const struct wtl_report_self *self)
{
	wtl_layout_tone(page->buf, WTL_TONE_FAINT, page->style);
	wtl_buf_puts(page->buf, "wattle itself: ");
	wtl_page_own(page, self);
	wtl_page_put(page, ", %u samples", self->ticks);
	if (self->late_ticks)
		wtl_page_put(page, " (%u late)", self->late_ticks);
	wtl_layout_tone_end(page->buf, WTL_TONE_FAINT, page->style);
	wtl_buf_putc(page->buf, '\n');
}
