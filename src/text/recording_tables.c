/* SPDX-License-Identifier: MIT */
/* A recording's groups, windows and gaps as tables for people. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "document/format.h"
#include "text/layout.h"
#include "text/page.h"
#include "text/recording_page.h"
#include "text/shares.h"
#include "document/words.h"

enum { WINDOWS_MAX = 20, GAPS_MAX = 10, LINE_MAX_BYTES = 1 << 20 };

/* ---- Groups ---- */

/* How many are worth a row. With none, the columns are those that the others need. */
static size_t plan(struct wtl_shares *table, const struct wtl_recording_grouping *grouping)
{
	const struct wtl_recording_group *others = &grouping->others;
	size_t n = 0;

	while (n < grouping->n_groups) {
		const struct wtl_recording_group *next = &grouping->groups[n];

		if (!wtl_shares_plan(table, &next->all, &next->gpu, next->cpu_ns))
			break;
		n++;
	}
	table->has_dynamic |= grouping->n_others > 0 && others->all.has_dynamic;
	if (n == 0)
		wtl_shares_plan(table, &others->all, &others->gpu, others->cpu_ns);
	return n;
}

/* Those that are not shown, in one. Returns how many these are. */
static size_t others_of(const struct wtl_recording_grouping *grouping, size_t n_shown,
			struct wtl_recording_group *ret_others)
{
	struct wtl_recording_group others = grouping->others;
	size_t n = grouping->n_others;

	for (size_t i = n_shown; i < grouping->n_groups; i++, n++) {
		const struct wtl_recording_group *more = &grouping->groups[i];

		wtl_share_energy_add(&others.all, &more->all, n == 0);
		wtl_share_energy_add(&others.gpu, &more->gpu, n == 0);
		others.cpu_ns = wtl_consumer_cpu_add(others.cpu_ns, more->cpu_ns);
		others.n_processes += more->n_processes;
	}
	others.name = "others";
	*ret_others = others;
	return n;
}

/* What a group without a name is. */
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

static void add_head(struct wtl_shares *table, enum wtl_by by)
{
	wtl_grid_begin(&table->grid, WTL_TONE_PLAIN);
	wtl_grid_cell(&table->grid, wtl_by_name(by));
	wtl_grid_cell(&table->grid, "processes");
	wtl_shares_head(table);
}

static void add_group(struct wtl_shares *table, const char *name,
		      const struct wtl_recording_group *group, uint64_t rounded_uj)
{
	struct wtl_grid *grid = &table->grid;

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_layout_text(&grid->rows, name, table->style);
	wtl_grid_next(grid);
	wtl_buf_printf(&grid->rows, "%" PRIu64, group->n_processes);
	wtl_grid_next(grid);
	wtl_shares_row(table, group->cpu_ns, &group->all, &group->gpu, rounded_uj);
}

static void add_sum(struct wtl_shares *table, enum wtl_tone tone, const char *name,
		    uint64_t rounded_uj)
{
	wtl_grid_begin(&table->grid, tone);
	wtl_grid_cell(&table->grid, name);
	wtl_shares_sum(table, rounded_uj);
}

/* What there is to tell: the groups that are shown, the others, and what belongs to nobody, which add
 * up to the total as printed. */
struct groups {
	const struct wtl_recording *recording;
	const struct wtl_recording_grouping *grouping;
	size_t n_shown;
	uint64_t total_uj, processes_uj;
};

/* Both arrays have room for all of these. */
static void add_groups(struct wtl_shares *table, const struct groups *all, uint64_t exact_uj[],
		       uint64_t full_uj[])
{
	const struct wtl_recording_group *groups = all->grouping->groups;
	struct wtl_recording_group others;
	size_t n = all->n_shown, n_others = others_of(all->grouping, n, &others);
	uint64_t whole_uj;

	for (size_t i = 0; i < n; i++)
		exact_uj[i] = groups[i].all.full_uj;
	exact_uj[n] = others.all.full_uj;
	exact_uj[n + 1] = all->total_uj - all->processes_uj;
	whole_uj = wtl_shares_round(table, exact_uj, n + 2, all->total_uj, full_uj);
	add_head(table, all->grouping->by);
	for (size_t i = 0; i < n; i++)
		add_group(table, groups[i].name[0] ? groups[i].name : nameless(all->grouping->by),
			  &groups[i], full_uj[i]);
	if (n_others > 0)
		add_group(table, others.name, &others, full_uj[n]);
	if (!all->recording->has_by)
		return;
	if (all->processes_uj < all->total_uj)
		add_sum(table, WTL_TONE_FAINT, "no process", full_uj[n + 1]);
	add_sum(table, WTL_TONE_STRONG, "total", whole_uj);
}

/* What paths differ by is at their end. */
static const char *columns(enum wtl_by by, bool has_dynamic)
{
	if (by == WTL_BY_CGROUP)
		return has_dynamic ? "brrrurr" : "brrrur";
	return has_dynamic ? "crrrurr" : "crrrur";
}

int wtl_page_grouping(struct wtl_buf *buf, const struct wtl_recording *recording,
		      const struct wtl_recording_grouping *grouping,
		      const struct wtl_output_style *style)
{
	struct groups groups = {.recording = recording, .grouping = grouping};
	struct wtl_shares table;
	struct wtl_ledger total;
	uint64_t *full_uj;

	if (!wtl_words_ledger(&recording->report, &total) || total.total_uj == 0 ||
	    !wtl_words_processes_uj(&recording->report, &groups.processes_uj))
		return buf->error;
	groups.total_uj = total.total_uj;
	wtl_shares_init(&table, total.total_uj, style);
	groups.n_shown = plan(&table, grouping);
	full_uj = calloc(groups.n_shown + 2, 2 * sizeof(*full_uj));
	if (!full_uj)
		return buf->error = -ENOMEM;
	wtl_grid_init(&table.grid, columns(grouping->by, table.has_dynamic));
	add_groups(&table, &groups, full_uj, full_uj + groups.n_shown + 2);
	free(full_uj);
	return wtl_shares_render(&table, buf);
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
	bool is_one_day; /* that of the page's head */
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
		look.is_one_day &= wtl_page_is_same_day(recording->report.window.begin_utc_ns,
							window->begin_utc_ns);
		if (window->total.has_energy && window->total.energy_uj > largest_uj)
			largest_uj = window->total.energy_uj;
	}
	look.scale = wtl_format_scale(largest_uj);
	return look;
}

static void add_window(struct wtl_grid *grid, const struct wtl_recording *recording,
		       const struct wtl_recording_window *window, const struct look *look,
		       const struct wtl_output_style *style)
{
	const struct wattle_energy *total = &window->window.total;

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_layout_text(&grid->rows, window->name, style);
	wtl_buf_puts(&grid->rows, window->is_open && window->is_cut ? " (open, cut)"
				  : window->is_open		    ? " (open)"
				  : window->is_cut		    ? " (cut)"
								    : "");
	wtl_grid_next(grid);
	if (look->is_one_day)
		wtl_page_local_clock(&grid->rows, window->window.begin_utc_ns);
	else
		wtl_page_local(&grid->rows, window->window.begin_utc_ns);
	wtl_grid_next(grid);
	if (!window->energies) {
		wtl_grid_cell(grid, "-");
		return;
	}
	wtl_page_add_seconds(grid, window->window.duration_ns);
	if (!total->has_energy) {
		wtl_grid_cell(grid, "-");
		return;
	}
	wtl_page_add_measure(grid, total->energy_uj, total->uncertainty_uj,
			     is_modelled(recording, window), look->scale, style);
	wtl_page_add_mean(grid, total);
}

static void begin_windows(struct wtl_grid *grid, unsigned scale,
			  const struct wtl_output_style *style)
{
	wtl_grid_init(grid, "clrrur");
	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_grid_cell(grid, "window");
	wtl_grid_cell(grid, "began");
	wtl_grid_cell(grid, "time [s]");
	wtl_grid_cell(grid, "energy");
	wtl_page_add_unit(grid, "", WTL_FORMAT_J, scale, style);
	wtl_grid_cell(grid, "mean [W]");
}

int wtl_page_windows(struct wtl_buf *buf, const struct wtl_recording *recording,
		     const struct wtl_output_style *style)
{
	size_t most = style->verbose ? SIZE_MAX : WINDOWS_MAX, n = 0;
	struct look look = look_at(recording);
	struct wtl_grid grid;

	if (look.n == 0)
		return buf->error;
	begin_windows(&grid, look.scale, style);
	for (size_t i = 0; i < recording->n_windows && n < most; i++) {
		if (!is_worth_a_row(recording, &recording->windows[i]))
			continue;
		add_window(&grid, recording, &recording->windows[i], &look, style);
		n++;
	}
	wtl_buf_putc(buf, '\n');
	wtl_grid_render(&grid, buf, style);
	wtl_grid_done(&grid);
	if (n < look.n)
		wtl_buf_printf(buf, "and %zu more (--verbose)\n", look.n - n);
	return buf->error;
}

/* ---- Gaps ---- */

/* The text that was recorded has seconds only. */
static void put_clock_step(struct wtl_buf *line, int64_t by_ns,
			   const struct wtl_output_style *style)
{
	wtl_buf_printf(line, "UTC was set %s by ", by_ns < 0 ? "back" : "forward");
	wtl_format_duration(line,
			    by_ns == INT64_MIN ? INT64_MAX
			    : by_ns < 0	       ? -by_ns
					       : by_ns,
			    style->ascii);
}

static void put_gap(struct wtl_buf *line, const struct wtl_recording_gap *gap,
		    const struct wtl_output_style *style)
{
	wtl_page_local(line, gap->begin_utc_ns);
	wtl_buf_puts(line, ": ");
	if (gap->domain[0]) {
		wtl_layout_text(line, gap->domain, style);
		wtl_buf_puts(line, ": ");
	}
	if (strcmp(gap->kind, "clock-step") == 0 && gap->duration_ns != 0) {
		put_clock_step(line, gap->duration_ns, style);
		return;
	}
	wtl_layout_text(line, gap->text[0] ? gap->text : gap->kind, style);
	if (gap->duration_ns > 0) {
		wtl_buf_puts(line, " (");
		wtl_format_duration(line, gap->duration_ns, style->ascii);
		wtl_buf_putc(line, ')');
	}
}

int wtl_page_gaps(struct wtl_buf *buf, const struct wtl_recording *recording,
		  const struct wtl_output_style *style)
{
	size_t most = style->verbose ? SIZE_MAX : GAPS_MAX;
	struct wtl_buf line;

	for (size_t i = 0; i < recording->n_gaps && i < most; i++) {
		wtl_buf_init(&line, LINE_MAX_BYTES);
		put_gap(&line, &recording->gaps[i], style);
		wtl_page_remark(buf, WTL_PAGE_DOUBT, wtl_buf_str(&line), style);
		wtl_layout_close(&line, buf);
	}
	if (recording->n_gaps > most) {
		wtl_buf_init(&line, LINE_MAX_BYTES);
		wtl_buf_printf(&line, "and %zu more gaps (--verbose)", recording->n_gaps - most);
		wtl_page_remark(buf, WTL_PAGE_DOUBT, wtl_buf_str(&line), style);
		wtl_layout_close(&line, buf);
	}
	return buf->error;
}
