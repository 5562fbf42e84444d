/* SPDX-License-Identifier: MIT */
#include "replay/wall.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "energy/units.h"
#include "record/store.h"
#include "replay/format.h"
#include "replay/player_state.h"

/* The clock may be slewed by so much within a period without being noticed. */
#define EVEN_NS WTL_NS_PER_MS

static bool is_apart(int64_t a_ns, int64_t b_ns, int64_t by_ns)
{
	return a_ns - b_ns > by_ns || b_ns - a_ns > by_ns;
}

/* Skips a point that is not later than the newest one, or has the same offset. */
static int add(struct wtl_wall *wall, int64_t mono_ns, int64_t ahead_ns)
{
	const struct wtl_wall_point *last = wall->n > 0 ? &wall->points[wall->n - 1] : NULL;

	if (last && (mono_ns <= last->mono_ns || ahead_ns == last->ahead_ns))
		return 0;
	if (wtl_array_reserve(&wall->points, &wall->room, wall->n + 1, sizeof(wall->points[0])) < 0)
		return -ENOMEM;
	wall->points[wall->n++] = (struct wtl_wall_point){.mono_ns = mono_ns, .ahead_ns = ahead_ns};
	return 0;
}

/* Only -ENOMEM is an error: if the series cannot be read, the periods' times have to do. */
static int add_seconds(struct wtl_wall *wall, struct wtl_store_reader *reader, size_t period)
{
	int64_t mono = wtl_store_find(reader, WTL_SERIES_SECOND_MONO);
	int64_t utc = wtl_store_find(reader, WTL_SERIES_SECOND_UTC);
	const int64_t *monos, *utcs;
	size_t n_monos, n_utcs;
	int rc;

	if (mono < 0 || utc < 0)
		return 0;
	rc = wtl_store_values(reader, (uint32_t)mono, period, &monos, &n_monos, NULL);
	if (rc == 0)
		rc = wtl_store_values(reader, (uint32_t)utc, period, &utcs, &n_utcs, NULL);
	if (rc < 0)
		return rc == -ENOMEM ? rc : 0;
	for (size_t i = 0; rc == 0 && i < n_monos && i < n_utcs; i++)
		if (wtl_store_is_mono(monos[i]) && wtl_store_is_utc(utcs[i]))
			rc = add(wall, monos[i], utcs[i] - monos[i]);
	return rc;
}

static int add_period(struct wtl_wall *wall, struct wtl_store_reader *reader, size_t i)
{
	struct wtl_store_period period, next;
	int64_t ahead_ns, end_ns;
	int rc;

	wtl_store_period(reader, i, &period); /* there is one, and its times are sound */
	ahead_ns = period.begin_utc_ns - period.begin_mono_ns;
	end_ns = period.end_utc_ns - period.end_mono_ns;
	rc = add(wall, period.begin_mono_ns, ahead_ns);
	/* A step after the last commit of a period shows at the start of the next one. */
	if (wtl_store_period(reader, i + 1, &next) == 0 &&
	    is_apart(next.begin_utc_ns - next.begin_mono_ns, ahead_ns, EVEN_NS))
		end_ns = next.begin_utc_ns - next.begin_mono_ns;
	if (rc == 0 && is_apart(ahead_ns, end_ns, EVEN_NS))
		rc = add_seconds(wall, reader, i);
	return rc;
}

/* The newest point at that time. is_awake: t_ns is of a clock that goes on while the machine sleeps. */
static size_t find_by(const struct wtl_wall *wall, int64_t t_ns, bool is_awake)
{
	size_t from = 0, to = wall->n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (wall->points[middle].mono_ns + (is_awake ? wall->points[middle].slept_ns : 0) <=
		    t_ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from > 0 ? from - 1 : 0;
}

static size_t find(const struct wtl_wall *wall, int64_t t_mono_ns)
{
	return find_by(wall, t_mono_ns, false);
}

/* Gaps have the sample at which the machine slept; the seconds show it only a second later. */
static int put_sleep(void *context, const struct wtl_stored_gap *gap)
{
	struct wtl_wall *wall = context;
	struct wtl_wall_point point;
	size_t at;

	if (gap->kind != WTL_GAP_SUSPEND || wall->n == 0 ||
	    gap->begin_mono_ns < wall->points[0].mono_ns ||
	    gap->duration_ns > WTL_STORE_MONO_MAX_NS - wall->points[wall->n - 1].slept_ns)
		return 0;
	at = find(wall, gap->begin_mono_ns);
	point = (struct wtl_wall_point){
		.mono_ns = gap->begin_mono_ns + 1,
		.ahead_ns = wall->points[at].ahead_ns + gap->duration_ns,
		.slept_ns = wall->points[at].slept_ns + gap->duration_ns,
	};
	for (size_t i = at + 1; i < wall->n; i++)
		wall->points[i].slept_ns += gap->duration_ns;
	if (wtl_array_reserve(&wall->points, &wall->room, wall->n + 1, sizeof(wall->points[0])) < 0)
		return -ENOMEM;
	memmove(&wall->points[at + 2], &wall->points[at + 1],
		(wall->n - at - 1) * sizeof(wall->points[0]));
	wall->points[at + 1] = point;
	wall->n++;
	return 0;
}

int wtl_wall_read(struct wtl_wall *wall, struct wtl_store_reader *reader)
{
	size_t n = wtl_store_periods(reader);
	int rc = 0;

	memset(wall, 0, sizeof(*wall));
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = add_period(wall, reader, i);
	if (rc == 0 && wtl_store_each_gap(reader, put_sleep, wall) == -ENOMEM)
		rc = -ENOMEM;
	return rc;
}

void wtl_wall_done(struct wtl_wall *wall)
{
	free(wall->points);
}

int64_t wtl_wall_utc(const struct wtl_wall *wall, int64_t t_mono_ns)
{
	return wall->n > 0 ? t_mono_ns + wall->points[find(wall, t_mono_ns)].ahead_ns : t_mono_ns;
}

int64_t wtl_wall_utc_awake(const struct wtl_wall *wall, int64_t t_ns)
{
	const struct wtl_wall_point *point;

	if (wall->n == 0)
		return t_ns;
	point = &wall->points[find_by(wall, t_ns, true)];
	return t_ns - point->slept_ns + point->ahead_ns;
}

int64_t wtl_wall_slept(const struct wtl_wall *wall, int64_t t_mono_ns)
{
	/* The point of a sleep is the first moment after it. */
	return wall->n > 0 ? wall->points[find(wall, t_mono_ns + 1)].slept_ns : 0;
}

bool wtl_wall_find(const struct wtl_wall *wall, int64_t t_utc_ns, int64_t *ret_mono_ns)
{
	for (size_t i = 0; i < wall->n; i++) {
		const struct wtl_wall_point *point = &wall->points[i];
		int64_t begin_ns = point->mono_ns + point->ahead_ns;
		bool is_last = i + 1 == wall->n;

		if (t_utc_ns >= begin_ns &&
		    (is_last || t_utc_ns <= point[1].mono_ns + point->ahead_ns))
			return !__builtin_sub_overflow(t_utc_ns, point->ahead_ns, ret_mono_ns);
		/* The time was skipped: the clock was set forward, or the machine slept. */
		if (i > 0 && t_utc_ns < begin_ns &&
		    t_utc_ns > point->mono_ns + point[-1].ahead_ns) {
			*ret_mono_ns = point->mono_ns;
			return true;
		}
	}
	return false;
}
