/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "commands/plot/recording.h"
#include "energy/units.h"
#include "replay/wall.h"

/* So many years are no sleep any more, but a damaged file. */
#define SLEPT_MAX_NS (INT64_C(1) << 60)
/* As the recorder has it: that far it is slewed, and not set. */
#define SET_NS WTL_NS_PER_S

/* ---- Clocks ---- */

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

/* What is lost of one channel or of exits is not lost of all. */
static int add_gap(struct wtl_plot_times *times, const struct wtl_stored_gap *gap)
{
	bool is_suspend = gap->kind == WTL_GAP_SUSPEND;

	if ((!is_suspend && gap->kind != WTL_GAP_OVERRUN) || gap->duration_ns <= 0 ||
	    (is_suspend && gap->duration_ns > SLEPT_MAX_NS - times->slept_ns))
		return 0;
	if (is_suspend)
		times->slept_ns += gap->duration_ns;
	return add_hole(times, (struct wtl_plot_hole){.at_mono_ns = gap->begin_mono_ns,
						      .duration_ns = gap->duration_ns,
						      .is_suspend = is_suspend});
}

/* The moment at which it went on is that after the suspend. */
static int64_t slept_before(const struct wtl_plot_times *times, int64_t t_mono_ns)
{
	int64_t slept_ns = 0;

	for (size_t i = 0; i < times->n && times->holes[i].at_mono_ns <= t_mono_ns; i++)
		slept_ns += times->holes[i].is_suspend ? times->holes[i].duration_ns : 0;
	return slept_ns;
}

static int64_t clock_end_ns(const struct wtl_plot_times *times, size_t i)
{
	return i + 1 < times->n_clocks ? times->clocks[i + 1].from_mono_ns : times->end_mono_ns;
}

static int64_t held_ns(const struct wtl_plot_times *times, size_t i)
{
	return clock_end_ns(times, i) - times->clocks[i].from_mono_ns;
}

int wtl_plot_times_set(struct wtl_plot_times *times, const struct wtl_wall *wall)
{
	for (size_t i = 0; i < wall->n; i++) {
		const struct wtl_wall_point *point = &wall->points[i];
		int64_t ahead_ns = point->ahead_ns - slept_before(times, point->mono_ns);
		const struct wtl_plot_clock *last =
			times->n_clocks > 0 ? &times->clocks[times->n_clocks - 1] : NULL;

		if (last && ahead_ns - last->ahead_ns <= SET_NS &&
		    last->ahead_ns - ahead_ns <= SET_NS)
			continue;
		if (wtl_array_reserve(&times->clocks, &times->clocks_room, times->n_clocks + 1,
				      sizeof(times->clocks[0])) < 0)
			return -ENOMEM;
		times->clocks[times->n_clocks++] = (struct wtl_plot_clock){
			.from_mono_ns = last ? point->mono_ns : times->begin_mono_ns,
			.ahead_ns = ahead_ns,
		};
	}
	for (size_t i = 1; i < times->n_clocks; i++)
		if (held_ns(times, i) > held_ns(times, times->longest))
			times->longest = i;
	return 0;
}

int wtl_plot_times_read(struct wtl_plot_times *times, struct wtl_history *history)
{
	int rc = wtl_history_read_gaps(history) == -ENOMEM ? -ENOMEM : 0;

	*times = (struct wtl_plot_times){.begin_mono_ns = history->begin_mono_ns,
					 .end_mono_ns = history->end_mono_ns};
	for (size_t i = 0; rc == 0 && i < history->n_gaps; i++)
		rc = add_gap(times, &history->gaps[i]);
	return rc < 0 ? rc : wtl_plot_times_set(times, wtl_player_wall(history->player));
}

void wtl_plot_times_done(struct wtl_plot_times *times)
{
	free(times->holes);
	free(times->clocks);
	times->holes = NULL;
	times->clocks = NULL;
}

static int64_t ahead_ns(const struct wtl_plot_times *times, size_t clock)
{
	return times->n_clocks > 0 ? times->clocks[clock].ahead_ns : 0;
}

int64_t wtl_plot_times_utc(const struct wtl_plot_times *times, int64_t t_mono_ns)
{
	return t_mono_ns + slept_before(times, t_mono_ns) + ahead_ns(times, times->longest);
}

int64_t wtl_plot_times_said(const struct wtl_plot_times *times, int64_t t_utc_ns)
{
	size_t i = 0;

	while (i + 1 < times->n_clocks &&
	       wtl_plot_times_utc(times, times->clocks[i + 1].from_mono_ns) <= t_utc_ns)
		i++;
	return t_utc_ns - ahead_ns(times, times->longest) + ahead_ns(times, i);
}

void wtl_plot_times_longest(const struct wtl_plot_times *times, int64_t *ret_from_utc_ns,
			    int64_t *ret_to_utc_ns)
{
	*ret_from_utc_ns = wtl_plot_times_utc(
		times, times->n_clocks > 0 ? times->clocks[times->longest].from_mono_ns
					   : times->begin_mono_ns);
	*ret_to_utc_ns = wtl_plot_times_utc(times, clock_end_ns(times, times->longest));
}

/* ---- Gaps ---- */

int wtl_plot_times_lose(struct wtl_plot_times *times, int64_t from_mono_ns, int64_t to_mono_ns)
{
	if (to_mono_ns <= from_mono_ns)
		return 0;
	/* It is gone by more than once. */
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

int wtl_plot_recorded_gaps(struct wtl_plot_replay *replay, const struct wtl_plot_gap **ret_gaps,
			   size_t *ret_n)
{
	const struct wtl_plot_times *times = &replay->times;
	struct wtl_plot_gap *gaps =
		wtl_plot_sheet_array(replay->sheet, times->n + 1, sizeof(*gaps));
	int64_t end_ns = INT64_MIN;
	size_t n = 0;

	if (!gaps)
		return -ENOMEM;
	for (size_t i = 0; i < times->n; i++) {
		struct wtl_plot_gap gap = gap_of(times, &times->holes[i]);

		/* What lies in one another is one. */
		gap.from = gap.from < end_ns ? end_ns : gap.from;
		if (gap.to <= gap.from || gap.to < replay->from_utc_ns ||
		    gap.from > replay->to_utc_ns)
			continue;
		end_ns = gap.to;
		gaps[n++] = gap;
	}
	*ret_gaps = gaps;
	*ret_n = n;
	return 0;
}
