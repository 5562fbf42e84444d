/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "commands/plot/recording.h"
#include "energy/units.h"

/* As in the recorder: smaller steps count as slewing. */
#define SET_NS WTL_NS_PER_S

/* ---- Clocks ---- */

/* UTC minus a clock that also runs in suspend. */
static int64_t ahead_of(const struct wtl_wall_point *point)
{
	return point->ahead_ns - point->slept_ns;
}

static bool is_set(int64_t a_ns, int64_t b_ns)
{
	return a_ns - b_ns > SET_NS || b_ns - a_ns > SET_NS;
}

void wtl_plot_times_find(struct wtl_plot_times *times, const struct wtl_wall *wall)
{
	size_t from = 0;

	times->wall = wall;
	times->longest_from_ns = times->longest_to_ns = times->begin_mono_ns;
	for (size_t i = 1; i <= wall->n; i++) {
		int64_t from_ns = from > 0 ? wall->points[from].mono_ns : times->begin_mono_ns;
		int64_t to_ns = i < wall->n ? wall->points[i].mono_ns : times->end_mono_ns;

		if (i < wall->n &&
		    !is_set(ahead_of(&wall->points[i]), ahead_of(&wall->points[from])))
			continue;
		times->was_set |= i < wall->n;
		if (from == 0 || to_ns - from_ns > times->longest_to_ns - times->longest_from_ns) {
			times->ahead_ns = ahead_of(&wall->points[from]);
			times->longest_from_ns = from_ns;
			times->longest_to_ns = to_ns;
		}
		from = i;
	}
}

int64_t wtl_plot_times_utc(const struct wtl_plot_times *times, int64_t t_mono_ns)
{
	return t_mono_ns + wtl_wall_slept(times->wall, t_mono_ns) + times->ahead_ns;
}

int64_t wtl_plot_times_said(const struct wtl_plot_times *times, int64_t t_utc_ns)
{
	int64_t said_ns = wtl_wall_utc_awake(times->wall, t_utc_ns - times->ahead_ns);

	return is_set(said_ns, t_utc_ns) ? said_ns : t_utc_ns;
}

/* ---- Gaps ---- */

static int add_hole(struct wtl_plot_times *times, struct wtl_plot_hole hole)
{
	size_t at = times->n;

	if (wtl_array_reserve(&times->holes, &times->room, times->n + 1, sizeof(hole)) < 0)
		return -ENOMEM;
	for (; at > 0 && times->holes[at - 1].at_mono_ns > hole.at_mono_ns; at--)
		times->holes[at] = times->holes[at - 1];
	times->holes[at] = hole;
	times->n++;
	return 0;
}

int wtl_plot_times_read(struct wtl_plot_times *times, struct wtl_history *history)
{
	int rc = wtl_history_read_gaps(history) == -ENOMEM ? -ENOMEM : 0;

	*times = (struct wtl_plot_times){.begin_mono_ns = history->begin_mono_ns,
					 .end_mono_ns = history->end_mono_ns};
	/* Only what is lost of all domains: not single channels or exits. */
	for (size_t i = 0; rc == 0 && i < history->n_gaps; i++) {
		const struct wtl_stored_gap *gap = &history->gaps[i];
		bool is_suspend = gap->kind == WTL_GAP_SUSPEND;

		if ((is_suspend || gap->kind == WTL_GAP_OVERRUN) && gap->duration_ns > 0)
			rc = add_hole(times, (struct wtl_plot_hole){gap->begin_mono_ns,
								    gap->duration_ns, is_suspend});
	}
	wtl_plot_times_find(times, wtl_player_wall(history->player));
	return rc;
}

void wtl_plot_times_done(struct wtl_plot_times *times)
{
	free(times->holes);
	times->holes = NULL;
}

int wtl_plot_times_lose(struct wtl_plot_times *times, int64_t from_mono_ns, int64_t to_mono_ns)
{
	if (to_mono_ns <= from_mono_ns)
		return 0;
	/* A recording is played more than once. */
	for (size_t i = 0; i < times->n; i++)
		if (!times->holes[i].is_suspend && times->holes[i].at_mono_ns == from_mono_ns)
			return 0;
	return add_hole(times, (struct wtl_plot_hole){.at_mono_ns = from_mono_ns,
						      .duration_ns = to_mono_ns - from_mono_ns});
}

static struct wtl_plot_gap gap_of(const struct wtl_plot_times *times,
				  const struct wtl_plot_hole *hole)
{
	int64_t end_utc_ns = wtl_plot_times_utc(
		times, hole->at_mono_ns + (hole->is_suspend ? 0 : hole->duration_ns));

	return (struct wtl_plot_gap){
		.from = hole->is_suspend ? end_utc_ns - hole->duration_ns
					 : wtl_plot_times_utc(times, hole->at_mono_ns),
		.to = end_utc_ns,
		.name = hole->is_suspend ? "suspended" : "lost",
	};
}

void wtl_plot_recorded_gaps(const struct wtl_plot_replay *replay, struct wtl_plot_panel *panel)
{
	const struct wtl_plot_times *times = &replay->times;
	struct wtl_plot_gap *gaps =
		wtl_plot_sheet_array(replay->sheet, times->n + 1, sizeof(*gaps));
	int64_t end_ns = INT64_MIN;

	for (size_t i = 0; gaps && i < times->n; i++) {
		struct wtl_plot_gap gap = gap_of(times, &times->holes[i]);

		/* Nested and overlapping gaps are cut. */
		gap.from = gap.from < end_ns ? end_ns : gap.from;
		if (gap.to <= gap.from || gap.to < replay->from_utc_ns ||
		    gap.from > replay->to_utc_ns)
			continue;
		end_ns = gap.to;
		gaps[panel->n_gaps++] = gap;
	}
	panel->gaps = gaps;
}
