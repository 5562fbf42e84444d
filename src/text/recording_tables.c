/* SPDX-License-Identifier: MIT */
/* A recording's groups, windows and gaps as tables for people. */
#include <string.h>

#include "base/buf.h"
#include "document/format.h"
#include "text/report_text.h"
#include "text/recording_text.h"
#include "text/shares.h"
#include "document/words.h"

enum { WINDOWS_MAX = 20, GAPS_MAX = 10 };

/* ---- Groups ---- */

/* What is shown for a group without a name. */
static const char *nameless(enum wtl_by by)
{
	switch (by) {
	case WTL_BY_USER:
		return "not known";
	case WTL_BY_CONTAINER:
		return "in no container";
	case WTL_BY_POD:
		return "in no pod";
	case WTL_BY_UNIT:
		return "in no unit";
	case WTL_BY_JOB:
		return "in no job";
	case WTL_BY_PROCESS:
	case WTL_BY_COMMAND:
	case WTL_BY_CGROUP:
	case WTL_BY_WINDOW:
	case WTL_BYS:
		break;
	}
	return "-";
}

static struct wtl_shares_row group_row(const void *of, size_t i)
{
	const struct wtl_recording_grouping *grouping = of;
	const struct wtl_recording_group *group = &grouping->groups[i];

	return (struct wtl_shares_row){.all = group->all,
				       .gpu = group->gpu,
				       .cpu_ns = group->cpu_ns,
				       .n_processes = group->n_processes};
}

static void add_group_head(struct wtl_grid *grid, const void *of)
{
	const struct wtl_recording_grouping *grouping = of;

	wtl_grid_cell(grid, wtl_by_name(grouping->by));
	wtl_grid_cell(grid, "processes");
}

static void add_group(struct wtl_grid *grid, const void *of, size_t i)
{
	const struct wtl_recording_grouping *grouping = of;
	const struct wtl_recording_group *group = &grouping->groups[i];

	wtl_grid_text(grid, group->name[0] ? group->name : nameless(grouping->by));
	wtl_grid_number(grid, group->n_processes);
}

static void add_named(struct wtl_grid *grid, const void *of, const char *name, const uint64_t *n)
{
	(void)of;
	wtl_grid_cell(grid, name);
	if (n)
		wtl_grid_number(grid, *n);
	else
		wtl_grid_cell(grid, "");
}

void wtl_report_text_grouping(const struct wtl_report_text *text,
			      const struct wtl_recording *recording,
			      const struct wtl_recording_grouping *grouping)
{
	const struct wtl_recording_group *others = &grouping->others;
	struct wtl_shares shares = {
		.of = grouping,
		.n = grouping->n_groups,
		.row = group_row,
		.others = {.all = others->all,
			   .gpu = others->gpu,
			   .cpu_ns = others->cpu_ns,
			   .n_processes = others->n_processes},
		.has_others = grouping->n_others > 0,
		.has_sums = recording->has_by,
		/* Paths differ at their ends, so they are cut at the start. */
		.columns = grouping->by == WTL_BY_CGROUP ? "br" : "cr",
		.head = add_group_head,
		.cells = add_group,
		.named = add_named,
	};
	struct wtl_ledger total;

	if (!wtl_words_ledger(&recording->report, &total) || total.total_uj == 0 ||
	    !wtl_words_processes_uj(&recording->report, &shares.processes_uj))
		return;
	shares.total_uj = total.total_uj;
	wtl_report_text_shares(text, &shares);
}

/* ---- Windows ---- */

static bool is_worth_a_row(const struct wtl_recording *recording,
			   const struct wtl_recording_window *window)
{
	return !window->is_main || recording->has_by;
}

static bool is_modelled(const struct wtl_recording *recording,
			const struct wtl_recording_window *window)
{
	for (size_t i = 0; i < recording->report.n_domains; i++) {
		const struct wattle_energy *energy = &window->energies[i];

		if (recording->report.domains[i].domain.in_total && energy->has_energy &&
		    energy->method == WATTLE_METHOD_MODELLED)
			return true;
	}
	return false;
}

/* What all rows have in common. */
struct look {
	unsigned scale;
	bool is_one_day; /* the day that the page's head names */
	size_t n;
};

static struct look look_at(const struct wtl_recording *recording)
{
	struct look look = {.is_one_day = true};
	uint64_t largest_uj = 0;

	for (size_t i = 0; i < recording->n_windows; i++) {
		const struct wattle_window *window = &recording->windows[i].window;

		if (!is_worth_a_row(recording, &recording->windows[i]))
			continue;
		look.n++;
		look.is_one_day &= wtl_report_text_is_same_day(
			recording->report.window.begin_utc_ns, window->begin_utc_ns);
		if (window->total.has_energy && window->total.energy_uj > largest_uj)
			largest_uj = window->total.energy_uj;
	}
	look.scale = wtl_format_scale(largest_uj);
	return look;
}

static void add_window(struct wtl_grid *grid, const struct wtl_recording *recording,
		       const struct wtl_recording_window *window, const struct look *look)
{
	const struct wattle_energy *total = &window->window.total;

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_layout_text(&grid->rows, window->name, grid->style);
	wtl_grid_cell(grid, window->is_open && window->is_cut ? " (open, cut)"
			    : window->is_open		      ? " (open)"
			    : window->is_cut		      ? " (cut)"
							      : "");
	if (look->is_one_day)
		wtl_report_text_local_clock(&grid->rows, window->window.begin_utc_ns);
	else
		wtl_report_text_local(&grid->rows, window->window.begin_utc_ns);
	wtl_grid_next(grid);
	if (!window->energies) {
		wtl_grid_cell(grid, "-");
		return;
	}
	wtl_report_text_add_seconds(grid, window->window.duration_ns);
	if (!total->has_energy) {
		wtl_grid_cell(grid, "-");
		return;
	}
	wtl_report_text_add_energy(grid, total, is_modelled(recording, window), look->scale);
	wtl_report_text_add_mean(grid, total);
}

void wtl_report_text_windows(const struct wtl_report_text *text,
			     const struct wtl_recording *recording)
{
	size_t most = text->style->verbose ? SIZE_MAX : WINDOWS_MAX, n = 0;
	struct look look = look_at(recording);
	struct wtl_grid grid;

	if (look.n == 0)
		return;
	wtl_grid_init(&grid, "clrrur", text->style);
	wtl_grid_row(&grid, WTL_TONE_PLAIN,
		     (const char *const[]){"window", "began", "time [s]", "energy", NULL});
	wtl_report_text_add_unit(&grid, "", WTL_FORMAT_J, look.scale);
	wtl_grid_cell(&grid, "mean [W]");
	for (size_t i = 0; i < recording->n_windows && n < most; i++) {
		if (!is_worth_a_row(recording, &recording->windows[i]))
			continue;
		add_window(&grid, recording, &recording->windows[i], &look);
		n++;
	}
	wtl_buf_putc(text->buf, '\n');
	wtl_grid_render(&grid, text->buf);
	if (n < look.n)
		wtl_report_text_put(text, "and %z more (--verbose)\n", look.n - n);
}

/* ---- Gaps ---- */

static void put_gap(const struct wtl_report_text *text, const struct wtl_recording_gap *gap)
{
	int64_t length_ns = gap->duration_ns;

	wtl_report_text_local(text->buf, gap->begin_utc_ns);
	wtl_report_text_put(text, ": %s%w", gap->domain, gap->domain[0] ? ": " : "");
	if (strcmp(gap->kind, "clock-step") == 0 && length_ns != 0) {
		/* The text that was recorded has seconds only. */
		wtl_report_text_put(text, "UTC was set %w by %t",
				    length_ns < 0 ? "back" : "forward",
				    length_ns == INT64_MIN ? INT64_MAX
				    : length_ns < 0	   ? -length_ns
							   : length_ns);
		return;
	}
	wtl_report_text_put(text, "%s", gap->text[0] ? gap->text : gap->kind);
	if (length_ns > 0)
		wtl_report_text_put(text, " (%t)", length_ns);
}

void wtl_report_text_gaps(const struct wtl_report_text *text, const struct wtl_recording *recording)
{
	size_t most = text->style->verbose ? SIZE_MAX : GAPS_MAX;

	for (size_t i = 0; i < recording->n_gaps && i < most; i++) {
		size_t start = wtl_report_text_begin_remark(text, WTL_TEXT_DOUBT);

		put_gap(text, &recording->gaps[i]);
		wtl_report_text_end_remark(text, start);
	}
	if (recording->n_gaps > most)
		wtl_report_text_remark(text, WTL_TEXT_DOUBT, "and %z more gaps (--verbose)",
				       recording->n_gaps - most);
}
