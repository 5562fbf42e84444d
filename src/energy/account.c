/* SPDX-License-Identifier: MIT */
#include "energy/account.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/err.h"

#define SPAN_UPDATES 10
#define SPAN_HALVES  20

/* A counter that stands still for longer rests; it is not that slow. Judgement: so many times the
 * period that its source declares, or the slowest sensor's where none is declared. */
#define REST_UPDATES 16
#define REST_NS	     WTL_COUNTER_SLACK_NS

/* A part that always draws something, and whose counter does not move for so long, has no counter any
 * more. Judgement: frozen counters have been reported for AMD GPUs (facts/carbon-and-ml.md 5.2). */
#define FROZEN_UPDATES 32
#define FROZEN_NS      (2 * WTL_NS_PER_S)
/* Where the source says how often the counter moves, that is certain sooner (judgement), so that a
 * short window is not 0 either. */
#define STILL_UPDATES 8
#define STILL_NS      WTL_POWER_MIN_NS

/* What is assumed of a power sensor that says nothing of itself (judgement). */
#define UPDATE_DEFAULT_NS (100 * WTL_NS_PER_MS)

static bool is_counter(const struct wtl_account *account)
{
	return account->channel->quantity == WTL_QUANTITY_ENERGY;
}

static void init_integral(struct wtl_integral *integral, const struct wtl_channel *channel)
{
	const struct wtl_sensor_class plain = {
		.name = "power",
		.kind = WTL_SENSOR_ESTIMATE,
		.update_ns = channel->update_ns ? channel->update_ns : UPDATE_DEFAULT_NS,
		.window_ns = channel->update_ns ? channel->update_ns : UPDATE_DEFAULT_NS,
		.coverage_permille = 1000,
	};

	wtl_integral_init(integral, channel->class ? channel->class : &plain, WTL_STAMP_POLL, 0);
	/* Without a class, max_uw only bounds what is possible: it says nothing of what the part draws. */
	if (channel->class)
		integral->most_uw = channel->max_uw;
}

void wtl_account_init(struct wtl_account *account, const struct wtl_channel *channel,
		      struct wtl_integral *integral)
{
	const struct wtl_counter_spec spec = {
		.range = channel->range, .unit = channel->unit, .max_uw = channel->max_uw};

	memset(account, 0, sizeof(*account));
	account->channel = channel;
	account->last_ok.t_mono_ns = -1;
	if (is_counter(account)) {
		wtl_counter_init(&account->counter, &spec);
	} else {
		account->integral = integral;
		init_integral(integral, channel);
	}
}

static uint64_t total_uj(const struct wtl_account *account, int64_t t_ns)
{
	return is_counter(account) ? wtl_counter_uj(&account->counter)
				   : wtl_integral_total_uj(account->integral, t_ns);
}

uint64_t wtl_account_uj(const struct wtl_account *account)
{
	return account->last_ok.t_mono_ns < 0 ? 0 : total_uj(account, account->last_ok.t_mono_ns);
}

uint64_t wtl_account_breaks(const struct wtl_account *account)
{
	return is_counter(account) ? account->counter.gaps : account->integral->gaps;
}

int64_t wtl_account_update_ns(const struct wtl_account *account)
{
	return account->update_seen_ns ? account->update_seen_ns : account->channel->update_ns;
}

int64_t wtl_account_edge_ns(const struct wtl_account *account)
{
	double read_ns = 2.0 * (double)account->last_ok.half_ns;
	double update_ns = is_counter(account) ? (double)wtl_account_update_ns(account) : 0.0;

	/* The standard deviations of two uniform distributions, in quadrature. */
	return (int64_t)(hypot(read_ns, update_ns) / sqrt(12.0));
}

static bool always_draws(const struct wtl_channel *channel)
{
	switch (channel->kind) {
	case WATTLE_KIND_CPU:
	case WATTLE_KIND_DRAM:
	case WATTLE_KIND_PLATFORM:
	case WATTLE_KIND_GPU:
	case WATTLE_KIND_MODULE:
	case WATTLE_KIND_SOC:
	case WATTLE_KIND_BOARD:
		return channel->method == WATTLE_METHOD_COUNTER;
	case WATTLE_KIND_CORE:
	case WATTLE_KIND_UNCORE:
	case WATTLE_KIND_GPU_MEMORY:
	case WATTLE_KIND_BATTERY:
	case WATTLE_KINDS:
		break;
	}
	return false;
}

/* Always draws something, and has a counter of its own that moves with every update. */
static bool is_chip(const struct wtl_channel *channel)
{
	return always_draws(channel) &&
	       (channel->kind == WATTLE_KIND_CPU || channel->kind == WATTLE_KIND_GPU);
}

static int64_t longer_ns(int64_t a_ns, int64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

/* A standstill longer than this means that the counter of a part that always draws is gone, whatever it did before. */
static int64_t frozen_after_ns(const struct wtl_channel *channel)
{
	return longer_ns(FROZEN_UPDATES * channel->update_ns, FROZEN_NS);
}

/*
 * The same by what is known of this counter. Those of memory, boards and platforms may stand still
 * for want of a sensor, or move by a joule at a time. Emulated ones are declared to move each
 * millisecond but move once a second, which shows at their first step.
 */
static int64_t still_after_ns(const struct wtl_account *account)
{
	const struct wtl_channel *channel = account->channel;
	int64_t most_ns = frozen_after_ns(channel);
	int64_t pace_ns = longer_ns(channel->update_ns, account->rest_seen_ns);

	if (!is_chip(channel) || !channel->update_ns || pace_ns >= most_ns / STILL_UPDATES)
		return most_ns;
	return longer_ns(STILL_UPDATES * pace_ns, STILL_NS);
}

/* A longer time between two values is no update period: the part drew nothing. */
static int64_t rest_after_ns(const struct wtl_channel *channel)
{
	if (always_draws(channel))
		return frozen_after_ns(channel);
	return channel->update_ns ? REST_UPDATES * channel->update_ns : REST_NS;
}

/*
 * A counter that stands still for a sample and then moves shows how often it is updated. Once that
 * was seen, changes without a standstill count too: the mean over all of them is right even where
 * the samples beat with the updates.
 */
static void watch_updates(struct wtl_account *account, const struct wtl_reading *reading)
{
	int64_t seen_ns = account->update_seen_ns;
	int64_t period_ns = reading->t_mono_ns - account->change_ns;
	bool is_rest = period_ns > rest_after_ns(account->channel);

	account->is_catching_up = account->has_slept;
	if (account->has_slept)
		account->change_ns = 0;
	if (reading->value == account->last_ok.value) {
		account->stood_still = true;
		return;
	}
	if (account->change_ns && !is_rest && (account->stood_still || seen_ns))
		account->update_seen_ns = seen_ns ? seen_ns + (period_ns - seen_ns) / 8 : period_ns;
	if (account->stood_still && (is_rest || !seen_ns))
		account->is_catching_up = true;
	account->stood_still = false;
	account->change_ns = reading->t_mono_ns;
}

/* Follows since when the counter shows its present value, the time asleep left out. */
static void watch_frozen(struct wtl_account *account, const struct wtl_reading *reading,
			 bool has_base)
{
	if (has_base && account->has_slept)
		account->still_ns += reading->t_mono_ns - account->last_ok.t_mono_ns;
	else if (has_base && reading->value != account->last_ok.value)
		account->rest_seen_ns = longer_ns(account->rest_seen_ns,
						  account->last_ok.t_mono_ns - account->still_ns);
	if (!has_base || reading->value != account->last_ok.value)
		account->still_ns = reading->t_mono_ns;
	account->is_frozen = always_draws(account->channel) &&
			     reading->t_mono_ns - account->still_ns > still_after_ns(account);
}

/* How long the counter has been frozen, up to its newest reading. */
static int64_t frozen_ns(const struct wtl_account *account)
{
	return account->is_frozen ? account->counter.last_ns - account->still_ns : 0;
}

/* A standstill that does not end in a certain step: what was drawn in it is not known. */
static void lose_standstill(struct wtl_account *account, int64_t standstill_ns)
{
	account->lost_ns += standstill_ns;
	account->still_ns = account->counter.last_ns;
}

bool wtl_account_is_unclear(const struct wtl_account *account)
{
	return is_counter(account) && always_draws(account->channel) && !account->is_frozen &&
	       account->last_ok.t_mono_ns >= 0 && wtl_counter_uj(&account->counter) == 0;
}

/* Long against the sensor's updates and against the reads at both ends: a read that hung may have
 * sampled at any moment within it. */
static int64_t span_needed_ns(const struct wtl_account *account)
{
	int64_t half_ns = longer_ns(account->span_half_ns, account->last_ok.half_ns);
	int64_t needed_ns =
		longer_ns(SPAN_UPDATES * wtl_account_update_ns(account), SPAN_HALVES * half_ns);

	return longer_ns(needed_ns, WTL_POWER_MIN_NS);
}

/* Up to when the energy is final, as a power sensor's newest stretch is a guess; but not before what its newest
 * readings still reach. */
static int64_t told_ns(const struct wtl_account *account, int64_t t_ns)
{
	if (is_counter(account))
		return t_ns;
	return longer_ns(t_ns - wtl_integral_settle_ns(account->integral),
			 wtl_integral_known_ns(account->integral));
}

/* t_ns is that of told_ns(), so it can be marked. */
static uint64_t told_uj(const struct wtl_account *account, int64_t t_ns)
{
	struct wtl_integral_mark mark;

	if (is_counter(account))
		return wtl_counter_uj(&account->counter);
	wtl_integral_mark(account->integral, t_ns, &mark);
	return wtl_integral_mark_uj(&mark);
}

static void start_span(struct wtl_account *account, int64_t t_ns)
{
	account->span_ns = told_ns(account, t_ns);
	account->span_uj = told_uj(account, account->span_ns);
	account->span_half_ns = account->last_ok.half_ns;
}

static bool end_span(struct wtl_account *account, int64_t t_ns)
{
	int64_t end_ns = told_ns(account, t_ns);
	uint64_t energy_uj;

	if (end_ns - account->span_ns < span_needed_ns(account))
		return false;
	energy_uj = told_uj(account, end_ns);
	account->span_uw = energy_uj > account->span_uj ? wtl_power_uw(energy_uj - account->span_uj,
								       end_ns - account->span_ns)
							: 0;
	account->spans++;
	account->span_uj = energy_uj;
	account->span_ns = end_ns;
	account->span_half_ns = account->last_ok.half_ns;
	return true;
}

/* 1, or 0 where the time before this reading is not measured; -ERANGE for a value that cannot be. */
static int take_power(struct wtl_account *account, const struct wtl_reading *reading)
{
	uint64_t gaps = account->integral->gaps;
	int rc = wtl_integral_add(account->integral, reading->t_mono_ns,
				  wtl_unit_convert(account->channel->unit, reading->value));

	return rc < 0 ? rc : account->integral->gaps == gaps;
}

static int take_count(struct wtl_account *account, const struct wtl_reading *reading)
{
	bool has_base = account->counter.has_base;
	int64_t standstill_ns = frozen_ns(account);
	enum wtl_step step =
		wtl_counter_feed(&account->counter, reading->t_mono_ns, reading->value);
	bool is_certain = has_base && (step == WTL_STEP_OK || step == WTL_STEP_WRAPPED);

	if (!is_certain)
		lose_standstill(account, standstill_ns);
	if (step == WTL_STEP_BAD)
		return -ERANGE;
	if (has_base && account->channel->method == WATTLE_METHOD_COUNTER)
		watch_updates(account, reading);
	watch_frozen(account, reading, is_certain);
	return is_certain;
}

bool wtl_account_feed(struct wtl_account *account, const struct wtl_reading *reading)
{
	int rc;

	account->status = reading->status;
	account->error = reading->error;
	account->reason = reading->reason;
	account->remedy = reading->remedy;
	if (reading->status == WATTLE_STATUS_ASLEEP)
		account->has_slept = true;
	if (reading->status != WATTLE_STATUS_OK || reading->t_mono_ns <= account->last_ok.t_mono_ns)
		return false;
	if (reading->anew)
		wtl_account_break(account);
	rc = is_counter(account) ? take_count(account, reading) : take_power(account, reading);
	if (rc < 0) {
		account->status = WATTLE_STATUS_FAILED;
		account->error = rc;
		return false;
	}
	account->last_ok = *reading;
	account->has_slept = false;
	account->samples++;
	if (account->is_frozen) {
		account->status = WATTLE_STATUS_FAILED;
		account->error = -WTL_EFROZEN;
	}
	if (account->samples == 1 || rc == 0 || account->is_catching_up) {
		start_span(account, reading->t_mono_ns);
		return false;
	}
	return end_span(account, reading->t_mono_ns);
}

void wtl_account_break(struct wtl_account *account)
{
	/* The integral sees a hole in its samples by itself. Where monotonic time stood still, there is none. */
	if (is_counter(account))
		wtl_counter_break(&account->counter);
	account->stood_still = false;
	account->change_ns = 0;
}

/* Time up to the newest reading of which the counter says nothing. */
static int64_t unknown_ns(const struct wtl_account *account)
{
	return account->counter.gap_ns + account->lost_ns + frozen_ns(account);
}

static void mark_counter(const struct wtl_account *account, struct wtl_mark *mark)
{
	mark->from_ns = account->last_ok.t_mono_ns;
	mark->half_ns = account->last_ok.half_ns;
	if (account->channel->fresh_ns && mark->t_ns > mark->from_ns)
		mark->half_ns += mark->t_ns - mark->from_ns;
	mark->energy_uj = wtl_counter_uj(&account->counter);
	mark->gap_ns = unknown_ns(account);
	mark->resets = account->counter.resets;
	mark->samples = account->samples;
	mark->valid = true;
}

static void mark_integral(const struct wtl_account *account, int64_t t_ns, struct wtl_mark *mark)
{
	if (wtl_integral_mark(account->integral, t_ns, &mark->integral) < 0)
		return;
	mark->from_ns = t_ns;
	mark->samples = account->samples;
	mark->valid = true;
}

void wtl_account_mark(const struct wtl_account *account, int64_t t_ns, int64_t fresh_ns,
		      struct wtl_mark *ret_mark)
{
	memset(ret_mark, 0, sizeof(*ret_mark));
	ret_mark->t_ns = t_ns;
	if (account->last_ok.t_mono_ns < 0)
		return;
	if (!is_counter(account))
		mark_integral(account, t_ns, ret_mark);
	else if (account->last_ok.t_mono_ns >= fresh_ns - account->channel->fresh_ns)
		mark_counter(account, ret_mark);
}

void wtl_account_settle_mark(const struct wtl_account *account, struct wtl_mark *mark)
{
	if (mark->valid || account->last_ok.t_mono_ns < mark->t_ns)
		return;
	if (is_counter(account))
		mark_counter(account, mark);
	else
		mark_integral(account, account->last_ok.t_mono_ns, mark);
}

/* Another program's rare readings come with its jitter: this part of fresh_ns (judgement). */
#define FRESH_PART 32

/* A missing stretch at an edge of the window. Up to one update of the sensor counts as quantisation instead. */
static int64_t edge_gap_ns(const struct wtl_account *account, int64_t missing_ns)
{
	int64_t least_ns = longer_ns(wtl_account_update_ns(account), WTL_NS_PER_MS);

	least_ns = longer_ns(least_ns, account->channel->fresh_ns / FRESH_PART);
	return missing_ns > least_ns ? missing_ns : 0;
}

/*
 * How much earlier than the window the readings ended, beyond how much earlier they began: a source
 * that is read first, before slow ones, is early by the same at both edges.
 */
static int64_t end_missing_ns(const struct wtl_account *account, const struct wtl_mark *mark,
			      int64_t t_ns)
{
	int64_t begin_ns = mark->t_ns - mark->from_ns, end_ns = t_ns - account->counter.last_ns;

	return end_ns - (begin_ns > 0 ? begin_ns : 0);
}

/* The counter made no step where it should have: 0 J may lack all of the window's energy. */
static bool is_all_edge(const struct wtl_account *account, const struct wtl_figure *figure)
{
	return figure->energy_uj == 0 && figure->measured_ns > 0 &&
	       (always_draws(account->channel) ||
		figure->measured_ns < wtl_account_update_ns(account));
}

/* In addition, the sensor has shown no power yet: 0 J says nothing. */
static bool is_unseen(const struct wtl_account *account, const struct wtl_figure *figure)
{
	return is_all_edge(account, figure) &&
	       (account->spans == 0 || (always_draws(account->channel) && account->span_uw == 0));
}

/*
 * What was drawn at the edges, as far as it is known: the window may have missed the only update, so
 * its own mean is not enough. Where nothing has been seen yet it is bounded by what the part can draw.
 */
static uint64_t edge_power_uw(const struct wtl_account *account, const struct wtl_figure *figure)
{
	uint64_t mean_uw = wtl_power_uw(figure->energy_uj, figure->measured_ns);

	if (is_unseen(account, figure))
		return account->channel->max_uw;
	return mean_uw > account->span_uw ? mean_uw : account->span_uw;
}

static void budget_counter(const struct wtl_account *account, const struct wtl_mark *mark,
			   int64_t missing_ns, struct wtl_figure *figure)
{
	uint64_t power_uw = edge_power_uw(account, figure);
	/* What is missing but too little to be called a gap. */
	int64_t rest_ns = edge_gap_ns(account, missing_ns) ? 0 : missing_ns;
	double end_half_ns = hypot((double)account->last_ok.half_ns, (double)rest_ns);
	int64_t update_ns = wtl_account_update_ns(account);

	if (is_all_edge(account, figure))
		update_ns = longer_ns(update_ns, figure->measured_ns);
	figure->budget.quantisation_uj = hypot(wtl_budget_quantisation_uj(power_uw, update_ns),
					       wtl_budget_count_uj(&account->channel->unit));
	figure->budget.edge_uj = wtl_budget_edge_uj(power_uw, mark->half_ns, (int64_t)end_half_ns);
}

static int64_t clamp_ns(int64_t ns, int64_t most_ns)
{
	return ns < 0 ? 0 : ns > most_ns ? most_ns : ns;
}

/* false: neither the energy nor a bound of it is known. */
static bool since_counter(const struct wtl_account *account, const struct wtl_mark *mark,
			  int64_t t_ns, struct wtl_figure *figure)
{
	const struct wtl_counter *counter = &account->counter;
	int64_t missing_ns = end_missing_ns(account, mark, t_ns);
	int64_t read_ns = counter->last_ns - mark->from_ns;

	figure->energy_uj = wtl_counter_uj(counter) - mark->energy_uj;
	figure->resets = counter->resets - mark->resets;
	/* A standstill may have begun before the mark, or have ended well since. */
	figure->gap_ns = clamp_ns(unknown_ns(account) - mark->gap_ns, read_ns);
	figure->measured_ns = read_ns - figure->gap_ns;
	/* What lies before the first good reading, and after the last, was not measured either. */
	figure->gap_ns += edge_gap_ns(account, mark->from_ns - mark->t_ns);
	figure->gap_ns += edge_gap_ns(account, missing_ns);
	/* The readings may have begun before the window. */
	figure->gap_ns = clamp_ns(figure->gap_ns, t_ns - mark->t_ns);
	budget_counter(account, mark, missing_ns, figure);
	return !is_unseen(account, figure) || account->channel->max_uw > 0;
}

static bool since_integral(const struct wtl_account *account, const struct wtl_mark *mark,
			   int64_t t_ns, struct wtl_figure *figure)
{
	struct wtl_integral_mark end;
	struct wtl_integral_energy energy;

	if (wtl_integral_mark(account->integral, t_ns, &end) < 0 ||
	    wtl_integral_between(account->integral, &mark->integral, &end, &energy) < 0)
		return false;
	figure->energy_uj = energy.energy_uj;
	figure->measured_ns = energy.covered_ns;
	figure->gap_ns = energy.uncovered_ns;
	figure->gap_ns += edge_gap_ns(account, mark->from_ns - mark->t_ns);
	figure->budget.sampling_uj = energy.sampling_uj;
	figure->budget.integration_uj = energy.interpolation_uj;
	figure->budget.edge_uj = hypot(energy.edge_uj, hypot(energy.lag_uj, energy.tail_uj));
	return true;
}

void wtl_account_since(const struct wtl_account *account, const struct wtl_mark *mark, int64_t t_ns,
		       struct wtl_figure *ret_figure)
{
	struct wtl_figure *figure = ret_figure;
	const struct wtl_channel *channel = account->channel;
	bool known;

	memset(figure, 0, sizeof(*figure));
	if (!mark->valid)
		return;
	figure->samples = account->samples - mark->samples;
	if (is_counter(account))
		known = since_counter(account, mark, t_ns, figure);
	else
		known = figure->samples > 0 && since_integral(account, mark, t_ns, figure);
	/* No time takes no energy; otherwise there is a figure only for what was measured. */
	figure->has_energy = known && (figure->measured_ns > 0 || t_ns <= mark->t_ns);
	figure->budget.gain_uj = wtl_budget_gain_uj(figure->energy_uj, channel->gain_ppm);
	figure->budget.offset_uj = wtl_budget_offset_uj(channel->offset_uw, figure->measured_ns);
}
