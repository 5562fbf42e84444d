/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/abi.h"
#include "base/text.h"
#include "meter/meter.h"
#include "meter/observer.h"

/* A longer wait for a sensor to tell the rest is not worth it (judgement): batteries, boards. Nor
 * is it where the rest is no more than this part of the whole uncertainty. */
#define HOLD_MAX_NS (3 * WTL_NS_PER_S)
#define HOLD_PART   0.5

/* What was known of a domain when its window ended. */
struct wtl_told {
	struct wattle_energy energy;
	struct wtl_budget budget;
};

int wtl_meter_open_windows(struct wattle_meter *meter, size_t n)
{
	meter->windows = calloc(n, sizeof(*meter->windows));
	if (!meter->windows)
		return -ENOMEM;
	meter->n_windows = n;
	for (size_t i = 0; i < n; i++) {
		struct wtl_window *window = &meter->windows[i];

		window->marks = calloc(meter->n_domains, sizeof(*window->marks));
		window->max_uw = calloc(meter->n_domains, sizeof(*window->max_uw));
		if (!window->marks || !window->max_uw)
			return -ENOMEM;
		window->next = meter->free_windows;
		meter->free_windows = window;
	}
	return 0;
}

void wtl_meter_close_windows(struct wattle_meter *meter)
{
	for (size_t i = 0; i < meter->n_windows; i++) {
		free(meter->windows[i].marks);
		free(meter->windows[i].max_uw);
		free(meter->windows[i].told);
	}
	free(meter->windows);
}

static struct wtl_window *find_named(struct wattle_meter *meter, const char *name)
{
	for (struct wtl_window *w = meter->open_windows; w; w = w->next)
		if (!w->stacked && strcmp(w->name, name) == 0)
			return w;
	return NULL;
}

static struct wtl_window *find_top(struct wattle_meter *meter)
{
	for (struct wtl_window *w = meter->open_windows; w; w = w->next)
		if (w->stacked && pthread_equal(w->thread, pthread_self()))
			return w;
	return NULL;
}

/* From the free ones to the open ones. */
static void enlist(struct wattle_meter *meter, struct wtl_window *window)
{
	meter->free_windows = window->next;
	window->previous = NULL;
	window->next = meter->open_windows;
	if (window->next)
		window->next->previous = window;
	meter->open_windows = window;
}

static void forget(struct wattle_meter *meter, struct wtl_window *window)
{
	if (meter->window_ends)
		meter->window_ends(meter, window);
	free(window->told);
	window->told = NULL;
	if (window->previous)
		window->previous->next = window->next;
	else
		meter->open_windows = window->next;
	if (window->next)
		window->next->previous = window->previous;
	window->next = meter->free_windows;
	meter->free_windows = window;
}

static void tell_observer(const struct wattle_meter *meter, enum wtl_window_event event,
			  const struct wtl_window *window, int64_t t_mono_ns)
{
	const struct wtl_window_note note = {
		.event = event,
		.name = window->name,
		.is_stacked = window->stacked,
		.t_mono_ns = t_mono_ns,
		.t_utc_ns = event == WTL_WINDOW_BEGINS ? window->begin_utc_ns : 0,
	};

	if (meter->observer)
		meter->observer->window(meter->observer->context, &note);
}

/* The window begins now, by the sample that began at fresh_ns. Returns when that is. */
static int64_t mark(struct wattle_meter *meter, struct wtl_window *window, int64_t fresh_ns)
{
	int64_t now_ns = wtl_io_mono_ns(meter->env.io);

	window->begin_mono_ns = now_ns;
	window->begin_utc_ns = wtl_io_real_ns(meter->env.io);
	window->sampled_ns = fresh_ns;
	window->total_max_uw = 0;
	window->end_ns = 0;
	memset(window->max_uw, 0, meter->n_domains * sizeof(*window->max_uw));
	for (size_t i = 0; i < meter->n_domains; i++)
		if (meter->domains[i].account)
			wtl_account_mark(meter->domains[i].account, now_ns, fresh_ns,
					 &window->marks[i]);
	return now_ns;
}

static int begin(struct wattle_meter *meter, const char *name, bool stacked, uint32_t flags)
{
	struct wtl_window *window = meter->free_windows;
	int64_t now_ns;
	int rc;

	if (meter->is_unfed)
		return -ENODATA;
	if (!window)
		return -WATTLE_E_TOO_MANY;
	now_ns = mark(meter, window, wtl_meter_sample_asked(meter));
	window->stacked = stacked;
	window->flags = flags;
	window->thread = pthread_self();
	memcpy(window->name, name, strlen(name) + 1);
	enlist(meter, window);
	tell_observer(meter, WTL_WINDOW_BEGINS, window, now_ns);
	rc = meter->window_begins ? meter->window_begins(meter, window) : 0;
	if (rc < 0) {
		tell_observer(meter, WTL_WINDOW_CANCELLED, window, 0);
		forget(meter, window);
	}
	return rc;
}

/* What the total is made of: one budget per source, since a source's gain is common to its parts. */
struct totals {
	struct wattle_energy energy;
	uint64_t mean_uw; /* each part over the time that it was measured */
	bool has_power;	  /* of some part */
	bool lacks_power; /* of a part that was measured for too short a time */
	const char *sources[16];
	struct wtl_budget budgets[16];
	size_t n;
};

static struct wtl_budget *budget_of(struct totals *totals, const char *source)
{
	size_t last = sizeof(totals->sources) / sizeof(totals->sources[0]) - 1;

	for (size_t i = 0; i < totals->n; i++)
		if (totals->sources[i] == source || i == last)
			return &totals->budgets[i];
	totals->sources[totals->n] = source;
	return &totals->budgets[totals->n++];
}

static void add_to_total(struct totals *totals, const struct wtl_domain_state *state,
			 const struct wattle_energy *energy, const struct wtl_budget *budget)
{
	struct wattle_energy *total = &totals->energy;

	if (!state->domain.in_total)
		return;
	/* A part that could not be read is missing in the total, too. */
	if (energy->gap_ns > total->gap_ns)
		total->gap_ns = energy->gap_ns;
	if (!energy->has_energy || energy->gap_ns > 0)
		total->flags |= WATTLE_ENERGY_INCOMPLETE;
	if (!energy->has_energy)
		return;
	totals->mean_uw = wtl_add_sat(totals->mean_uw, energy->mean_uw);
	totals->has_power |= energy->has_power;
	totals->lacks_power |= !energy->has_power && energy->energy_uj > 0;
	if (!total->has_energy)
		total->method = energy->method;
	else if (total->method != energy->method)
		total->method = WATTLE_METHOD_MIXED;
	total->has_energy = 1;
	total->energy_uj = wtl_add_sat(total->energy_uj, energy->energy_uj);
	if (energy->samples > total->samples)
		total->samples = energy->samples;
	total->flags |= energy->flags;
	wtl_budget_add(budget_of(totals, state->info.source), budget);
}

/* With a gap it is the sum of the parts' powers. */
static bool is_power_known(const struct totals *totals)
{
	if (totals->energy.gap_ns > 0)
		return totals->has_power && !totals->lacks_power;
	return totals->has_power || totals->energy.energy_uj > 0;
}

static void finish_total(struct totals *totals, int64_t duration_ns, uint64_t max_uw,
			 struct wattle_energy *ret)
{
	struct wattle_energy *total = &totals->energy;
	double variance = 0.0;

	for (size_t i = 0; i < totals->n; i++) {
		double part = wtl_budget_combined_uj(&totals->budgets[i]);

		variance += part * part;
	}
	total->status = !total->has_energy  ? WATTLE_STATUS_ABSENT
			: total->gap_ns > 0 ? WATTLE_STATUS_GAP
					    : WATTLE_STATUS_OK;
	total->uncertainty_uj = (uint64_t)fmin(2.0 * sqrt(variance) + 0.5, 1.8e19);
	total->measured_ns = duration_ns - total->gap_ns;
	if (total->has_energy && duration_ns >= WTL_POWER_MIN_NS && is_power_known(totals)) {
		total->has_power = 1;
		total->mean_uw = total->gap_ns > 0 ? totals->mean_uw
						   : wtl_power_uw(total->energy_uj, duration_ns);
		total->max_uw = max_uw > total->mean_uw ? max_uw : total->mean_uw;
	}
	*ret = *total;
}

void wtl_window_give(const struct wattle_window *window, struct wattle_window *ret_window)
{
	struct wattle_window own = *window;

	own.total.size = wtl_abi_tail_size(ret_window, offsetof(struct wattle_window, total),
					   sizeof(own.total));
	wtl_abi_give(ret_window, &own, sizeof(own));
}

static void give_window(const struct wtl_window *window, struct totals *totals, int64_t now_ns,
			struct wattle_window *ret_window)
{
	struct wattle_window own = {
		.begin_utc_ns = window->begin_utc_ns,
		.begin_mono_ns = window->begin_mono_ns,
		.duration_ns = now_ns - window->begin_mono_ns,
	};

	finish_total(totals, own.duration_ns, window->total_max_uw, &own.total);
	wtl_window_give(&own, ret_window);
}

static bool is_sampled(const struct wtl_domain_state *state)
{
	return state->account && state->account->channel->quantity == WTL_QUANTITY_POWER;
}

/* In a held window, later readings change only the figures of sampled power. */
static void tell_domain(const struct wattle_meter *meter, const struct wtl_window *window, size_t i,
			int64_t now_ns, struct wtl_told *ret)
{
	const struct wtl_domain_state *state = &meter->domains[i];
	const struct wtl_told *told = window->told ? &window->told[i] : NULL;

	if (told && (!is_sampled(state) || !told->energy.has_energy)) {
		*ret = *told;
		return;
	}
	wtl_domain_state_energy(state, &window->marks[i], now_ns, &ret->energy, &ret->budget);
	if (!told)
		return;
	/* So many readings came since that the newest ones no longer reach back to the window. */
	if (!ret->energy.has_energy)
		*ret = *told;
	ret->energy.samples = told->energy.samples;
}

int64_t wtl_window_tell(struct wattle_meter *meter, const struct wtl_window *window,
			struct wattle_window *ret_window, struct wattle_energy *ret_energies,
			size_t n_energies)
{
	int64_t now_ns = window->end_ns ? window->end_ns : wtl_io_mono_ns(meter->env.io);
	struct totals totals = {.n = 0};

	for (size_t i = 0; i < meter->n_domains; i++) {
		struct wtl_told told;
		struct wattle_energy *energy = &told.energy;

		tell_domain(meter, window, i, now_ns, &told);
		if (energy->has_power) {
			energy->max_uw = energy->mean_uw;
			if (window->max_uw[i] > energy->mean_uw)
				energy->max_uw = window->max_uw[i];
		}
		add_to_total(&totals, &meter->domains[i], energy, &told.budget);
		if (ret_energies && i < n_energies)
			wtl_abi_give(wtl_abi_element(ret_energies, i), energy, sizeof(*energy));
	}
	if (ret_window)
		give_window(window, &totals, now_ns, ret_window);
	return now_ns;
}

/* How long a sensor of power is to be sampled until it has told the rest; 0: that is not worth it. */
static int64_t worth_ns(const struct wtl_domain_state *state, const struct wtl_told *told)
{
	int64_t wait_ns;

	if (!state->domain.in_total || !is_sampled(state) ||
	    told->budget.edge_uj <= HOLD_PART * wtl_budget_combined_uj(&told->budget))
		return 0;
	wait_ns = wtl_integral_settle_ns(state->account->integral);
	return wait_ns <= HOLD_MAX_NS ? wait_ns : 0;
}

/* Keeps what is known now. Returns how long it is worth to wait. */
static int64_t hold(const struct wattle_meter *meter, struct wtl_window *window,
		    struct wtl_told told[])
{
	int64_t end_ns = wtl_io_mono_ns(meter->env.io), longest_ns = 0;

	for (size_t i = 0; i < meter->n_domains; i++) {
		int64_t wait_ns;

		tell_domain(meter, window, i, end_ns, &told[i]);
		wait_ns = worth_ns(&meter->domains[i], &told[i]);
		longest_ns = wait_ns > longest_ns ? wait_ns : longest_ns;
	}
	window->told = told;
	window->end_ns = end_ns;
	return longest_ns;
}

int wtl_window_hold(struct wattle_meter *meter, const char *name, int64_t *ret_wait_ns)
{
	struct wtl_told *told = calloc(meter->n_domains + 1, sizeof(*told));
	struct wtl_window *window;

	pthread_mutex_lock(&meter->lock);
	window = wtl_window_find(meter, name);
	if (window && !window->told && told) {
		wtl_meter_sample_asked(meter);
		*ret_wait_ns = hold(meter, window, told);
		told = NULL;
	}
	pthread_mutex_unlock(&meter->lock);
	free(told);
	return !window ? -WATTLE_E_NO_WINDOW : window->told ? 0 : -ENOMEM;
}

void wtl_window_close(struct wattle_meter *meter, struct wtl_window *window, int64_t end_ns)
{
	tell_observer(meter, WTL_WINDOW_ENDS, window, end_ns);
	forget(meter, window);
}

/* A recording must be able to tell names apart. A session's own window is not the caller's: its
 * name is not plain. */
static bool is_callers(const char *name)
{
	return name && name[0] && strlen(name) < sizeof(((struct wtl_window *)0)->name) &&
	       wtl_text_is_clean(name, strlen(name));
}

int wattle_window_begin_with(struct wattle_meter *meter, const char *name, uint32_t flags)
{
	int rc;

	if (!is_callers(name) || flags & ~(uint32_t)(WATTLE_WINDOW_EXACT | WATTLE_WINDOW_CONSUMERS))
		return -EINVAL;
	if (flags && !meter->attached)
		return -ENOTSUP;
	pthread_mutex_lock(&meter->lock);
	rc = find_named(meter, name) ? -WATTLE_E_WINDOW_OPEN : begin(meter, name, false, flags);
	pthread_mutex_unlock(&meter->lock);
	return rc;
}

int wattle_window_begin(struct wattle_meter *meter, const char *name)
{
	return wattle_window_begin_with(meter, name, 0);
}

int wtl_window_begin_own(struct wattle_meter *meter)
{
	return begin(meter, WTL_WINDOW_OF_SESSION, false, 0);
}

int wtl_window_mark(struct wattle_meter *meter)
{
	struct wtl_window *window;

	pthread_mutex_lock(&meter->lock);
	window = find_named(meter, WTL_WINDOW_OF_SESSION);
	if (!window && meter->free_windows) {
		window = meter->free_windows;
		window->stacked = false;
		window->flags = 0;
		window->thread = pthread_self();
		memcpy(window->name, WTL_WINDOW_OF_SESSION, sizeof(WTL_WINDOW_OF_SESSION));
		enlist(meter, window);
	}
	if (window)
		mark(meter, window, meter->sampled_ns);
	pthread_mutex_unlock(&meter->lock);
	return window ? 0 : -WATTLE_E_TOO_MANY;
}

struct wtl_window *wtl_window_find(struct wattle_meter *meter, const char *name)
{
	return is_callers(name) ? find_named(meter, name) : NULL;
}

int wattle_window_push(struct wattle_meter *meter, const char *name)
{
	int rc;

	if (!is_callers(name))
		return -EINVAL;
	pthread_mutex_lock(&meter->lock);
	rc = begin(meter, name, true, 0);
	pthread_mutex_unlock(&meter->lock);
	return rc;
}

static bool are_sized(const struct wattle_window *window, const struct wattle_energy *energies,
		      size_t n_energies)
{
	return wtl_abi_is_sized(window) && (n_energies == 0 || wtl_abi_is_sized(energies));
}

/* For callers within the library: the sizes that it was compiled with. */
static void set_sizes(struct wattle_window *window, struct wattle_energy *energies,
		      size_t n_energies)
{
	if (window)
		window->size = sizeof(*window);
	if (energies && n_energies > 0)
		energies->size = sizeof(*energies);
}

/* Tells of a window (NULL: there is none), and closes it if asked to. Takes over the lock. */
static int tell_and_unlock(struct wattle_meter *meter, struct wtl_window *window, bool close,
			   struct wattle_window *ret_window, struct wattle_energy *ret_energies,
			   size_t n_energies)
{
	int64_t now_ns;

	if (window) {
		if (!window->told)
			wtl_meter_sample_asked(meter);
		now_ns = wtl_window_tell(meter, window, ret_window, ret_energies, n_energies);
		if (close)
			wtl_window_close(meter, window, now_ns);
	}
	pthread_mutex_unlock(&meter->lock);
	return window ? 0 : -WATTLE_E_NO_WINDOW;
}

int wtl_window_end(struct wattle_meter *meter, const char *name, struct wattle_window *ret_window,
		   struct wattle_energy *ret_energies, size_t n_energies)
{
	set_sizes(ret_window, ret_energies, n_energies);
	return wattle_window_end(meter, name, ret_window, ret_energies, n_energies);
}

int wattle_window_end(struct wattle_meter *meter, const char *name,
		      struct wattle_window *ret_window, struct wattle_energy *ret_energies,
		      size_t n_energies)
{
	if (!is_callers(name) || !are_sized(ret_window, ret_energies, n_energies))
		return -EINVAL;
	pthread_mutex_lock(&meter->lock);
	return tell_and_unlock(meter, find_named(meter, name), true, ret_window, ret_energies,
			       n_energies);
}

int wtl_window_read(struct wattle_meter *meter, const char *name, struct wattle_window *ret_window,
		    struct wattle_energy *ret_energies, size_t n_energies)
{
	set_sizes(ret_window, ret_energies, n_energies);
	return wattle_window_read(meter, name, ret_window, ret_energies, n_energies);
}

int wattle_window_read(struct wattle_meter *meter, const char *name,
		       struct wattle_window *ret_window, struct wattle_energy *ret_energies,
		       size_t n_energies)
{
	if (!is_callers(name) || !are_sized(ret_window, ret_energies, n_energies))
		return -EINVAL;
	pthread_mutex_lock(&meter->lock);
	return tell_and_unlock(meter, find_named(meter, name), false, ret_window, ret_energies,
			       n_energies);
}

int wtl_window_look(struct wattle_meter *meter, const char *name, struct wattle_window *ret_window,
		    struct wattle_energy *ret_energies, size_t n_energies)
{
	struct wtl_window *window;

	set_sizes(ret_window, ret_energies, n_energies);
	pthread_mutex_lock(&meter->lock);
	window = find_named(meter, name);
	if (window)
		wtl_window_tell(meter, window, ret_window, ret_energies, n_energies);
	pthread_mutex_unlock(&meter->lock);
	return window ? 0 : -WATTLE_E_NO_WINDOW;
}

int wattle_window_pop(struct wattle_meter *meter, struct wattle_window *ret_window,
		      struct wattle_energy *ret_energies, size_t n_energies)
{
	if (!are_sized(ret_window, ret_energies, n_energies))
		return -EINVAL;
	pthread_mutex_lock(&meter->lock);
	return tell_and_unlock(meter, find_top(meter), true, ret_window, ret_energies, n_energies);
}

int wattle_window_cancel(struct wattle_meter *meter, const char *name)
{
	struct wtl_window *window;

	if (!is_callers(name))
		return -EINVAL;
	pthread_mutex_lock(&meter->lock);
	window = find_named(meter, name);
	if (window) {
		tell_observer(meter, WTL_WINDOW_CANCELLED, window, 0);
		forget(meter, window);
	}
	pthread_mutex_unlock(&meter->lock);
	return window ? 0 : -WATTLE_E_NO_WINDOW;
}
