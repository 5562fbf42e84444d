/* SPDX-License-Identifier: MIT */
#include "serve/past.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "energy/units.h"

/* A smaller change of UTC - boot time does not mean that the clock was set. */
#define SET_NS (100 * WTL_NS_PER_MS)

static const struct wtl_past_cell unknown = {.mean = NAN};

/* ---- Cells ---- */

static struct wtl_past_cell *cells_at(const struct wtl_past *past,
				      const struct wtl_past_level *level, int64_t number)
{
	size_t at = (size_t)(number % (int64_t)level->n);

	return &level->cells[at * past->n_columns];
}

bool wtl_past_has_begun(const struct wtl_past *past)
{
	return past->levels[0].newest != INT64_MIN;
}

static void forget(const struct wtl_past *past, const struct wtl_past_level *level, int64_t number)
{
	struct wtl_past_cell *cells = cells_at(past, level, number);

	for (size_t i = 0; i < past->n_columns; i++)
		cells[i] = unknown;
}

static bool is_kept(const struct wtl_past_level *level, int64_t number)
{
	return number >= 0 && number <= level->newest && number > level->newest - (int64_t)level->n;
}

/* Moves on to a cell that is newer than all others. */
static void advance(const struct wtl_past *past, struct wtl_past_level *level, int64_t number)
{
	int64_t from = level->newest + 1;

	if (level->newest == INT64_MIN || number - level->newest > (int64_t)level->n)
		from = number - (int64_t)level->n + 1;
	for (int64_t i = from > 0 ? from : 0; i <= number; i++)
		forget(past, level, i);
	level->newest = number;
}

/* ---- Clocks ---- */

static int64_t whole_steps(int64_t time_ns, int64_t step_ns)
{
	return (time_ns + (time_ns > 0 ? step_ns : -step_ns) / 2) / step_ns;
}

static int64_t oldest(const struct wtl_past_level *level)
{
	int64_t first = level->newest - (int64_t)level->n + 1;

	return first > 0 ? first : 0;
}

/* Cells from recordings keep their UTC when the clock is set: so they move by so many steps of the past's own clock. */
static void move_earlier(const struct wtl_past *past, const struct wtl_past_level *level,
			 int64_t by)
{
	int64_t first = oldest(level), end = past->state.begin_ns / level->step_ns;
	int64_t n;

	/* begin_ns may come from another process, and be in the future. */
	end = end <= level->newest ? end : level->newest + 1;
	n = end - first;
	for (int64_t k = 0; k < n; k++) {
		int64_t i = by > 0 ? first + k : end - 1 - k, from = i + by;

		if (by == 0 || from < first || from >= end)
			forget(past, level, i);
		else
			memcpy(cells_at(past, level, i), cells_at(past, level, from),
			       past->n_columns * sizeof(*level->cells));
	}
}

static void set_clock(struct wtl_past *past, int64_t ahead_ns)
{
	for (size_t i = 0; i < WTL_PAST_LEVELS; i++) {
		const struct wtl_past_level *level = &past->levels[i];
		int64_t by = whole_steps(ahead_ns, level->step_ns) -
			     whole_steps(past->state.ahead_ns, level->step_ns);

		if (by != 0 && level->newest != INT64_MIN)
			move_earlier(past, level, by);
	}
	past->state.ahead_ns = ahead_ns;
}

bool wtl_past_look_at_clock(struct wtl_past *past, const struct wtl_live *live)
{
	int64_t ahead_ns;

	if (live->t_utc_ns <= 0 || live->t_utc_ns <= live->interval_ns)
		return false;
	if (past->state.seen_ns == 0) {
		past->state.boot_ns = live->t_boot_ns - live->t_utc_ns;
		past->state.begin_ns = live->t_utc_ns - live->interval_ns;
	}
	/* After another reader, maybe of another machine, the past's own clock goes on from where it was. */
	if (live->t_boot_ns - past->state.boot_ns < past->state.seen_ns)
		past->state.boot_ns = live->t_boot_ns - past->state.seen_ns;
	past->state.seen_ns = live->t_boot_ns - past->state.boot_ns;
	ahead_ns = live->t_utc_ns - past->state.seen_ns;
	if (llabs(ahead_ns - past->state.ahead_ns) > SET_NS)
		set_clock(past, ahead_ns);
	return true;
}

bool wtl_past_knows(const struct wtl_past *past, const struct wtl_live *live)
{
	return past->state.seen_ns > 0 && live->begin_utc_ns == past->state.agent_utc_ns &&
	       live->t_boot_ns - past->state.boot_ns <= past->state.seen_ns;
}

int64_t wtl_past_own_time(const struct wtl_past *past, int64_t t_utc_ns)
{
	int64_t t_ns;

	if (__builtin_sub_overflow(t_utc_ns, past->state.ahead_ns, &t_ns))
		t_ns = INT64_MAX;
	return t_ns > 0 ? t_ns : 0;
}

/* ---- Points ---- */

static void begin_sums(const struct wtl_past *past, struct wtl_past_sums *sums, size_t level,
		       int64_t number)
{
	sums->number[level] = number;
	memset(&sums->of[level * past->n_columns], 0, past->n_columns * sizeof(*sums->of));
}

static void add_to_cells(struct wtl_past *past, struct wtl_past_sums *sums, size_t which,
			 int64_t number, double seconds, const float watts[],
			 const float uncertainties[])
{
	struct wtl_past_level *level = &past->levels[which];
	struct wtl_past_cell *cells;

	if (number > level->newest)
		advance(past, level, number);
	if (!is_kept(level, number))
		return;
	if (sums->number[which] != number)
		begin_sums(past, sums, which, number);
	cells = cells_at(past, level, number);
	for (size_t i = 0; i < past->n_columns; i++) {
		struct wtl_past_sum *sum = &sums->of[which * past->n_columns + i];

		if (isnan(watts[i]))
			continue;
		sum->least = sum->seconds > 0 && sum->least < watts[i] ? sum->least : watts[i];
		sum->most = sum->seconds > 0 && sum->most > watts[i] ? sum->most : watts[i];
		sum->seconds += seconds;
		sum->joules += (double)watts[i] * seconds;
		sum->uncertainty += (double)uncertainties[i] * seconds;
		cells[i] = (struct wtl_past_cell){.mean = (float)(sum->joules / sum->seconds),
						  .uncertainty =
							  (float)(sum->uncertainty / sum->seconds),
						  .least = sum->least,
						  .most = sum->most};
	}
}

/* Adds a stretch to all cells that it is in. */
static void add(struct wtl_past *past, struct wtl_past_sums *sums, int64_t t_utc_ns,
		int64_t duration_ns, const float watts[], const float uncertainties[])
{
	for (size_t which = 0; which < WTL_PAST_LEVELS; which++) {
		int64_t step_ns = past->levels[which].step_ns, at_ns = t_utc_ns - duration_ns;
		int64_t oldest_ns = t_utc_ns - (int64_t)past->levels[which].n * step_ns;

		for (at_ns = at_ns > oldest_ns ? at_ns : oldest_ns; at_ns < t_utc_ns;) {
			int64_t number = at_ns / step_ns, end_ns = (number + 1) * step_ns;

			if (end_ns > t_utc_ns)
				end_ns = t_utc_ns;
			add_to_cells(past, sums, which, number, (double)(end_ns - at_ns) * 1e-9,
				     watts, uncertainties);
			at_ns = end_ns;
		}
	}
}

void wtl_past_add(struct wtl_past *past, struct wtl_past_sums *sums, int64_t t_utc_ns,
		  int64_t duration_ns, const float watts[], const float uncertainties[])
{
	if (duration_ns <= 0 || t_utc_ns <= duration_ns)
		return;
	pthread_mutex_lock(&past->lock);
	add(past, sums, t_utc_ns, duration_ns, watts, uncertainties);
	pthread_mutex_unlock(&past->lock);
}

void wtl_past_look_at_power(struct wtl_past *past, const struct wtl_live *live)
{
	float watts[WTL_PAST_DOMAINS + 1], uncertainties[WTL_PAST_DOMAINS + 1];

	if (live->interval_ns <= 0)
		return;
	for (size_t i = 0; i < past->n_domains; i++) {
		const struct wtl_live_domain *domain = &live->domains[i];
		bool is_known = i < live->n_domains && domain->has_power;

		watts[i] = is_known ? (float)((double)domain->power_uw * 1e-6) : NAN;
		uncertainties[i] =
			is_known ? (float)((double)domain->power_uncertainty_uw * 1e-6) : 0;
	}
	watts[past->n_domains] = live->has_power ? (float)((double)live->power_uw * 1e-6) : NAN;
	uncertainties[past->n_domains] = (float)((double)live->power_uncertainty_uw * 1e-6);
	add(past, &past->now, past->state.seen_ns, live->interval_ns, watts, uncertainties);
}

void wtl_past_take(struct wtl_past *past, const struct wtl_past *other)
{
	pthread_mutex_lock(&past->lock);
	for (size_t which = 0; wtl_past_has_begun(past) && which < WTL_PAST_LEVELS; which++) {
		const struct wtl_past_level *to = &past->levels[which],
					    *from = &other->levels[which];
		int64_t ahead = whole_steps(past->state.ahead_ns, to->step_ns);

		for (int64_t i = oldest(to); i <= to->newest; i++) {
			struct wtl_past_cell *cells = cells_at(past, to, i);

			for (size_t k = 0; is_kept(from, i + ahead) && k < past->n_columns; k++)
				if (isnan(cells[k].mean))
					cells[k] = cells_at(other, from, i + ahead)[k];
		}
	}
	pthread_mutex_unlock(&past->lock);
}

/* ---- Curves ---- */

/* The level with the finest steps that goes back that far. */
static const struct wtl_past_level *choose_level(const struct wtl_past *past, int64_t from_ns)
{
	size_t i = 0;

	while (i + 1 < WTL_PAST_LEVELS &&
	       (past->levels[i].newest - (int64_t)past->levels[i].n + 1) * past->levels[i].step_ns >
		       from_ns)
		i++;
	return &past->levels[i];
}

/* Several cells as one. */
static struct wtl_past_cell merge(const struct wtl_past *past, const struct wtl_past_level *level,
				  int64_t number, int64_t n, size_t column)
{
	struct wtl_past_cell all = {.mean = 0};
	float known = 0;

	for (int64_t i = number; i < number + n; i++) {
		const struct wtl_past_cell *cell;

		if (!is_kept(level, i))
			continue;
		cell = &cells_at(past, level, i)[column];
		if (isnan(cell->mean))
			continue;
		all.mean += cell->mean;
		all.uncertainty += cell->uncertainty;
		all.least = known > 0 ? fminf(all.least, cell->least) : cell->least;
		all.most = fmaxf(all.most, cell->most);
		known++;
	}
	if (known == 0)
		return unknown;
	all.mean /= known;
	all.uncertainty /= known;
	return all;
}

int wtl_past_curve(struct wtl_past *past, int64_t from_utc_ns, int64_t to_utc_ns,
		   struct wtl_past_curve *ret_curve)
{
	struct wtl_past_curve curve = {.n_columns = past->n_columns};
	const struct wtl_past_level *level;
	int64_t first, last, each;

	pthread_mutex_lock(&past->lock);
	if (!wtl_past_has_begun(past)) {
		pthread_mutex_unlock(&past->lock);
		curve.step_ns = past->levels[0].step_ns;
		curve.begin_utc_ns = from_utc_ns;
		curve.cells = malloc(sizeof(*curve.cells));
		*ret_curve = curve;
		return curve.cells ? 0 : -ENOMEM;
	}
	level = choose_level(past, wtl_past_own_time(past, from_utc_ns));
	first = wtl_past_own_time(past, from_utc_ns) / level->step_ns;
	last = wtl_past_own_time(past, to_utc_ns) / level->step_ns;
	first = first > oldest(level) ? first : oldest(level);
	last = last < level->newest ? last : level->newest;
	each = last >= first ? (last - first) / WTL_PAST_POINTS + 1 : 1;
	first -= first % each; /* so that steps stay where they are while time goes on */
	curve.step_ns = each * level->step_ns;
	curve.begin_utc_ns = first * level->step_ns + past->state.ahead_ns;
	curve.n = last >= first ? (size_t)((last - first) / each + 1) : 0;
	curve.cells = malloc((curve.n * past->n_columns + 1) * sizeof(*curve.cells));
	for (size_t i = 0; curve.cells && i < curve.n; i++)
		for (size_t k = 0; k < past->n_columns; k++)
			curve.cells[i * past->n_columns + k] =
				merge(past, level, first + (int64_t)i * each, each, k);
	pthread_mutex_unlock(&past->lock);
	*ret_curve = curve;
	return curve.cells ? 0 : -ENOMEM;
}

/* ---- Its memory ---- */

int wtl_past_sums_init(struct wtl_past_sums *sums, const struct wtl_past *past)
{
	for (size_t i = 0; i < WTL_PAST_LEVELS; i++)
		sums->number[i] = INT64_MIN;
	sums->of = calloc(WTL_PAST_LEVELS * past->n_columns, sizeof(*sums->of));
	return sums->of ? 0 : -ENOMEM;
}

void wtl_past_sums_done(struct wtl_past_sums *sums)
{
	free(sums->of);
	sums->of = NULL;
}

int wtl_past_init(struct wtl_past *past, const char *const names[], size_t n)
{
	static const struct {
		size_t n;
		int64_t step_s;
	} sizes[WTL_PAST_LEVELS] = {{900, 1}, {1080, 10}, {1440, 60}};

	*past = (struct wtl_past){.n_domains = n < WTL_PAST_DOMAINS ? n : WTL_PAST_DOMAINS};
	pthread_mutex_init(&past->lock, NULL);
	past->n_columns = past->n_domains + 1;
	for (size_t i = 0; i < WTL_PAST_LEVELS; i++) {
		struct wtl_past_level *level = &past->levels[i];

		level->n = sizes[i].n;
		level->step_ns = sizes[i].step_s * WTL_NS_PER_S;
		level->newest = INT64_MIN;
		level->cells = calloc(level->n * past->n_columns, sizeof(*level->cells));
		if (!level->cells)
			return -ENOMEM;
	}
	past->names = calloc(past->n_columns, sizeof(*past->names));
	past->marks = calloc(WTL_PAST_MARKS, sizeof(*past->marks));
	past->used_uj = calloc((size_t)WTL_PAST_MARKS * WTL_PAST_USERS, sizeof(*past->used_uj));
	past->users = calloc(WTL_PAST_USERS, sizeof(*past->users));
	past->user_since_ns = calloc(WTL_PAST_USERS, sizeof(*past->user_since_ns));
	past->windows = calloc(WTL_PAST_WINDOWS, sizeof(*past->windows));
	if (!past->names || !past->marks || !past->used_uj || !past->users ||
	    !past->user_since_ns || !past->windows)
		return -ENOMEM;
	for (size_t i = 0; i < past->n_domains; i++)
		wtl_text_copy(past->names[i], sizeof(past->names[i]), names[i]);
	return wtl_past_sums_init(&past->now, past);
}

void wtl_past_done(struct wtl_past *past)
{
	if (past->n_columns == 0)
		return;
	pthread_mutex_destroy(&past->lock);
	wtl_past_sums_done(&past->now);
	for (size_t i = 0; i < WTL_PAST_LEVELS; i++)
		free(past->levels[i].cells);
	free(past->names);
	free(past->marks);
	free(past->used_uj);
	free(past->users);
	free(past->user_since_ns);
	free(past->windows);
	*past = (struct wtl_past){.n_domains = 0};
}
