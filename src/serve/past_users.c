/* SPDX-License-Identifier: MIT */
/* The use of groups over time, and windows that ended. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "energy/units.h"
#include "serve/past.h"

static const struct {
	size_t first, n;
	int64_t step_s;
} rings[WTL_PAST_LEVELS] = {{0, 60, 10}, {60, 60, 60}, {120, 144, 600}};

/* After those of the rings. */
enum { NEWEST = WTL_PAST_MARKS - 1 };

static uint64_t *used(const struct wtl_past *past, size_t place, size_t mark)
{
	return &past->used_uj[place * WTL_PAST_MARKS + mark];
}

/* ---- Taking ---- */

static void take_group(struct wtl_past *past, const struct wtl_live *live, size_t group,
		       size_t place)
{
	const char *name = live->groups[group].name;

	if (past->user_since_ns[place] == 0 || strcmp(past->users[place], name) != 0) {
		wtl_text_copy(past->users[place], sizeof(past->users[place]), name);
		past->user_since_ns[place] = past->state.seen_ns;
	}
	*used(past, place, NEWEST) = wtl_live_counted(live, group, WTL_TOTALS_DYNAMIC) +
				     wtl_live_counted(live, group, WTL_TOTALS_IDLE_PART);
}

static void take_newest(struct wtl_past *past, const struct wtl_live *live)
{
	struct wtl_past_mark *mark = &past->marks[NEWEST];
	size_t n[WTL_TOTALS_GROUPINGS] = {0};

	*mark = (struct wtl_past_mark){.t_ns = past->state.seen_ns};
	for (size_t i = 0; i < live->n_domains; i++)
		for (size_t k = 0; live->domains[i].in_total && k < WTL_TOTALS_ACCOUNTS; k++)
			mark->accounts_uj[k] += live->domains[i].accounts_uj[k];
	for (size_t i = 0; i < live->n_groups; i++) {
		size_t by = live->groups[i].by, place = n[by]++;

		if (strcmp(live->groups[i].name, WTL_TOTALS_OVERFLOW) == 0)
			place = WTL_TOTALS_OVERFLOW_PLACE;
		else if (wtl_live_is_retired(&live->groups[i]))
			place = WTL_TOTALS_RETIRED_PLACE;
		if (place < WTL_TOTALS_PLACES)
			take_group(past, live, i, by * WTL_TOTALS_PLACES + place);
	}
}

static void keep_newest(struct wtl_past *past, size_t ring)
{
	size_t to = rings[ring].first + past->state.n_marks[ring]++ % rings[ring].n;

	past->marks[to] = past->marks[NEWEST];
	for (size_t place = 0; place < WTL_PAST_USERS; place++)
		if (past->user_since_ns[place] != 0)
			*used(past, place, to) = *used(past, place, NEWEST);
}

/* Another agent may give the places to other groups, and start its counters anew: no differences across that. */
static void begin_agent(struct wtl_past *past, int64_t agent_utc_ns)
{
	past->state.agent_utc_ns = agent_utc_ns;
	memset(past->state.n_marks, 0, sizeof(past->state.n_marks));
	for (size_t place = 0; place < WTL_PAST_USERS; place++) {
		if (past->user_since_ns[place] == 0)
			continue;
		past->user_since_ns[place] = 0;
		memset(used(past, place, 0), 0, WTL_PAST_MARKS * sizeof(*past->used_uj));
	}
}

static void look_at_users(struct wtl_past *past, const struct wtl_live *live)
{
	int64_t before_ns = past->marks[NEWEST].t_ns;

	if (live->begin_utc_ns != past->state.agent_utc_ns)
		begin_agent(past, live->begin_utc_ns);
	take_newest(past, live);
	for (size_t i = 0; i < WTL_PAST_LEVELS; i++) {
		int64_t step_ns = rings[i].step_s * WTL_NS_PER_S;

		if (past->state.n_marks[i] == 0 ||
		    past->state.seen_ns / step_ns != before_ns / step_ns)
			keep_newest(past, i);
	}
}

void wtl_past_look(struct wtl_past *past, const struct wtl_live *live)
{
	pthread_mutex_lock(&past->lock);
	if (wtl_past_look_at_clock(past, live)) {
		wtl_past_look_at_power(past, live);
		look_at_users(past, live);
	}
	pthread_mutex_unlock(&past->lock);
}

/* ---- Telling ---- */

static bool is_better(const struct wtl_past *past, size_t mark, size_t than, int64_t at_ns,
		      bool is_begin)
{
	int64_t t_ns = past->marks[mark].t_ns, than_ns = past->marks[than].t_ns;

	/* The last one before that moment; if there is none, the first one after it. */
	if (is_begin)
		return t_ns <= at_ns ? than_ns > at_ns || t_ns > than_ns
				     : than_ns > at_ns && t_ns < than_ns;
	return t_ns >= at_ns && t_ns < than_ns;
}

static size_t find_mark(const struct wtl_past *past, int64_t at_utc_ns, bool is_begin)
{
	int64_t at_ns = wtl_past_own_time(past, at_utc_ns);
	size_t best = NEWEST;

	for (size_t ring = 0; ring < WTL_PAST_LEVELS; ring++)
		for (size_t i = 0; i < rings[ring].n && i < past->state.n_marks[ring]; i++)
			if (is_better(past, rings[ring].first + i, best, at_ns, is_begin))
				best = rings[ring].first + i;
	return best;
}

/*
 * A place that changed hands was empty then. All places together, with the retired, have all use. So what
 * groups with a name at both ends did not use was used by those without a place, or that lost theirs.
 */
static void tell_grouping(const struct wtl_past *past, size_t first, size_t begin, size_t end,
			  struct wtl_past_use *use)
{
	size_t overflow = first + WTL_TOTALS_OVERFLOW_PLACE;
	uint64_t others_uj = 0;

	for (size_t place = first; place < first + WTL_TOTALS_PLACES; place++) {
		int64_t since_ns = past->user_since_ns[place];
		uint64_t before_uj = *used(past, place, begin), after_uj = *used(past, place, end);

		if (since_ns == 0)
			continue;
		others_uj += after_uj - before_uj;
		if (place >= overflow || since_ns > past->marks[end].t_ns)
			continue;
		memcpy(use->names[place], past->users[place], sizeof(use->names[place]));
		use->users_uj[place] =
			after_uj - (since_ns <= past->marks[begin].t_ns ? before_uj : 0);
		others_uj -= use->users_uj[place];
	}
	use->users_uj[overflow] = others_uj;
	wtl_text_copy(use->names[overflow], sizeof(use->names[overflow]), WTL_TOTALS_OVERFLOW);
}

static void tell_use(const struct wtl_past *past, size_t begin, size_t end,
		     struct wtl_past_use *use)
{
	const struct wtl_past_mark *from = &past->marks[begin], *to = &past->marks[end];

	memset(use, 0, sizeof(*use));
	use->begin_utc_ns = from->t_ns + past->state.ahead_ns;
	use->end_utc_ns = to->t_ns + past->state.ahead_ns;
	for (size_t i = 0; i < WTL_TOTALS_ACCOUNTS; i++)
		use->accounts_uj[i] = to->accounts_uj[i] - from->accounts_uj[i];
	for (size_t by = 0; by < WTL_TOTALS_GROUPINGS; by++)
		tell_grouping(past, by * WTL_TOTALS_PLACES, begin, end, use);
}

bool wtl_past_use(struct wtl_past *past, int64_t from_utc_ns, int64_t to_utc_ns,
		  struct wtl_past_use *ret_use)
{
	size_t begin, end;
	bool is_known;

	pthread_mutex_lock(&past->lock);
	begin = find_mark(past, from_utc_ns, true);
	end = find_mark(past, to_utc_ns, false);
	is_known = past->state.n_marks[0] > 0 && past->marks[begin].t_ns < past->marks[end].t_ns;
	if (is_known)
		tell_use(past, begin, end, ret_use);
	pthread_mutex_unlock(&past->lock);
	return is_known;
}

/* ---- Windows ---- */

void wtl_past_add_window(struct wtl_past *past, const struct wtl_past_window *window)
{
	struct wtl_past_window *kept;

	pthread_mutex_lock(&past->lock);
	kept = &past->windows[past->state.n_windows++ % WTL_PAST_WINDOWS];
	*kept = *window;
	kept->begin_utc_ns -= past->state.ahead_ns;
	kept->end_utc_ns -= past->state.ahead_ns;
	pthread_mutex_unlock(&past->lock);
}

static int by_begin(const void *a, const void *b)
{
	const struct wtl_past_window *x = a, *y = b;

	return (x->begin_utc_ns > y->begin_utc_ns) - (x->begin_utc_ns < y->begin_utc_ns);
}

size_t wtl_past_windows(struct wtl_past *past, int64_t from_utc_ns, int64_t to_utc_ns,
			struct wtl_past_window windows[WTL_PAST_WINDOWS])
{
	size_t first, n = 0;

	pthread_mutex_lock(&past->lock);
	first = past->state.n_windows > WTL_PAST_WINDOWS ? past->state.n_windows - WTL_PAST_WINDOWS
							 : 0;
	for (size_t i = first; i < past->state.n_windows; i++) {
		struct wtl_past_window window = past->windows[i % WTL_PAST_WINDOWS];

		window.begin_utc_ns += past->state.ahead_ns;
		window.end_utc_ns += past->state.ahead_ns;
		if (window.end_utc_ns >= from_utc_ns && window.begin_utc_ns <= to_utc_ns)
			windows[n++] = window;
	}
	pthread_mutex_unlock(&past->lock);
	if (n > 0)
		qsort(windows, n, sizeof(*windows), by_begin);
	return n;
}
