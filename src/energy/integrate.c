/* SPDX-License-Identifier: MIT */
#include "energy/integrate.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#define NS_PER_S     1e9
#define RAW_PER_UJ   1000000000U /* microwatt nanoseconds in a microjoule */
#define MIN_GAP_NS   INT64_C(1000000)
#define MAX_GAP_NS   INT64_C(3600000000000)
#define USUAL_GAP_NS INT64_C(2000000000)
#define RECENT	     48 /* readings that bound what the newest, unreported power may be */
#define RECENT_STEPS 32

/* Judgement, tuned on the traces of docs/integration.md; everything else is derived there. */
#define EDGE_SHARE  (1.0 / 12) /* of range x length; a single step is at most 1/8 */
#define LAST_STEP   0.5	       /* chance that the newest change goes on */
#define IDLE_SHARE  0.15       /* of the most that a part may draw: what it draws at rest */
#define DEEP_REST   0.05       /* the same of a part that rests deeply */
#define PEAK	    1.1	       /* its limit holds on average only, for a swing's peaks are higher */
#define BEAT_FIRST  14.0       /* readings, see unseen_beat_uw() */
#define BEAT_ENOUGH 40.0

/* What sensors of no known class average over, at the most (sensor_class.c). */
#define LONGEST_WINDOW_S 1.0

/* The i-th knot back from the newest. */
static const struct wtl_integral_knot *knot(const struct wtl_integral *in, unsigned back)
{
	return &in->ring[(in->head + WTL_INTEGRAL_RING - 1 - back) % WTL_INTEGRAL_RING];
}

static int64_t min_ns(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max_ns(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static double seconds(int64_t t_ns)
{
	return (double)t_ns / NS_PER_S;
}

static double square(double x)
{
	return x * x;
}

static double difference(uint64_t a, uint64_t b)
{
	return (double)((int64_t)a - (int64_t)b);
}

/* For how long before it appeared a changed reading holds: its averaging window, or its update period if that is
 * longer. Before that, the old one held. */
static int64_t hold_ns(const struct wtl_integral *in)
{
	return max_ns(in->class.window_ns, in->class.update_ns);
}

/* Polls have gone on showing the same value after it should have been replaced. */
static bool is_held(const struct wtl_integral *in)
{
	return in->stamp == WTL_STAMP_POLL &&
	       in->poll_ns - in->seen_ns > hold_ns(in) + in->class.update_ns / 2;
}

void wtl_integral_init(struct wtl_integral *in, const struct wtl_sensor_class *class,
		       enum wtl_integral_stamp stamp, int64_t gap_ns)
{
	memset(in, 0, offsetof(struct wtl_integral, readings.power_uw));
	in->class = *class;
	in->stamp = stamp;
	if (gap_ns <= 0)
		gap_ns = max_ns(20 * class->update_ns, USUAL_GAP_NS);
	in->gap_ns = min_ns(max_ns(gap_ns, MIN_GAP_NS), MAX_GAP_NS);
	in->spacing_ns = max_ns(class->update_ns, 1);
}

/* The part of the time that readings this far apart do not see. */
static double unseen_part(const struct wtl_integral *in, int64_t dt_ns)
{
	return dt_ns > in->class.window_ns ? 1.0 - (double)in->class.window_ns / (double)dt_ns : 0;
}

/*
 * Standard uncertainty of the mean power of a load that beats with the sensor, over less than half a
 * beat. A sensor that sees most of the time averages the load's own period away.
 */
static double swing_uw(const struct wtl_integral *in, int64_t dt_ns)
{
	return in->alias.beat_uw * fmin(1, 2 * unseen_part(in, dt_ns));
}

/* A beat averages out: the error of a sinusoid's integral is sd x period / pi, however long. */
static double beat_uj2(const struct wtl_integral *in)
{
	double period = in->alias.beat_updates * seconds(in->spacing_ns);

	return square(swing_uw(in, in->spacing_ns) * period / M_PI);
}

struct load_range {
	double least_uw, most_uw; /* both 0: not known */
};

/* What the part may draw: between two shares of its limit, widened to what the readings have shown. */
static struct load_range load_range(const struct wtl_integral *in, double least, double most)
{
	struct load_range range = {least * (double)in->most_uw, most * (double)in->most_uw};

	if (!in->most_uw)
		return range;
	for (unsigned i = 0; i < RECENT && i < in->count; i++) {
		range.most_uw = fmax(range.most_uw, (double)knot(in, i)->power_uw);
		range.least_uw = fmin(range.least_uw, (double)knot(in, i)->power_uw);
	}
	return range;
}

/* The load before the readings have shown it: standard deviation of a power anywhere in its range. */
static double prior_uw(const struct wtl_integral *in)
{
	struct load_range range = load_range(in, IDLE_SHARE, 1);

	return (range.most_uw - range.least_uw) / sqrt(12);
}

/*
 * A load may beat with a part-time sensor so slowly that few readings do not show it: the scan for beats
 * says nothing before BEAT_FIRST of them, and enough from BEAT_ENOUGH on. Until then the load may have
 * two levels, each anywhere, of which the readings show one: half their distance is the error.
 */
static double unseen_beat_uw(const struct wtl_integral *in)
{
	double n = fmax(1, (double)in->readings.n);
	double left = fmin(1, fmax(0, BEAT_ENOUGH - n) / (BEAT_ENOUGH - BEAT_FIRST));

	return prior_uw(in) / M_SQRT2 * fmin(1, 2 * unseen_part(in, in->spacing_ns)) *
	       fmin(1, BEAT_FIRST / n) * left;
}

/* Adds dt_ns without a new reading of its own at the present restlessness. */
static void add_unseen(const struct wtl_integral *in, int64_t dt_ns, int64_t spacing_ns,
		       struct wtl_integral_sums *sums)
{
	double dt = seconds(dt_ns);

	sums->rough_uj2 +=
		square(in->alias.rough_uw) * unseen_part(in, spacing_ns) * seconds(spacing_ns) * dt;
	sums->swing_uj += swing_uw(in, spacing_ns) * dt;
	sums->swing_uj2 += beat_uj2(in) * dt / (WTL_ALIAS_MAX * seconds(in->spacing_ns));
}

/* Where a change between two readings lies: uniform over the unseen part, and by timing error. */
static double interpolation_uj2(const struct wtl_integral *in, double change_uw, int64_t dt_ns)
{
	int64_t poll_ns =
		in->stamp == WTL_STAMP_POLL ? min_ns(in->poll_gap_ns, in->class.update_ns) : 0;
	double unseen = seconds(dt_ns) * unseen_part(in, dt_ns);
	double timing2 = square(seconds(in->class.latency_sd_ns)) + square(seconds(poll_ns)) / 12;

	return square(change_uw) * (square(unseen) + 2 * timing2) / 12;
}

/*
 * Lone jumps of a periodic load may all fall at the same place between two readings of the sensor, so
 * their errors add up. What the readings' usual roughness explains is charged there.
 */
static double jump_uj(const struct wtl_integral *in, double change_uw, int64_t dt_ns)
{
	double jump_uw = fmax(0, fabs(change_uw) - 2 * in->alias.rough_uw);

	return jump_uw * seconds(dt_ns) * unseen_part(in, dt_ns) / sqrt(12);
}

static void scan_alias(struct wtl_integral *in)
{
	if (in->n_unscanned < WTL_ALIAS_MAX)
		in->n_unscanned++;
	/* A sensor that sees everything cannot alias. */
	if (unseen_part(in, in->spacing_ns) < 0.1) {
		in->alias = (struct wtl_alias){0};
		return;
	}
	if (in->n_unscanned == WTL_ALIAS_MAX)
		in->readings.begin = in->readings.n = 0;
	for (; in->n_unscanned > 0; in->n_unscanned--)
		wtl_alias_add(&in->readings, (int64_t)knot(in, in->n_unscanned - 1)->power_uw);
	wtl_alias_scan(&in->readings, &in->alias);
}

/* held: polls have shown the same value all along, so updates went on unseen at the usual pace. */
static void push(struct wtl_integral *in, int64_t t_ns, uint64_t power_uw, bool after_gap,
		 bool held)
{
	struct wtl_integral_knot *new = &in->ring[in->head];
	const struct wtl_integral_knot *old = in->count ? knot(in, 0) : NULL;
	struct wtl_integral_sums sums = {0};

	if (old) {
		int64_t dt_ns = t_ns - old->t_ns;
		double change_uw = difference(power_uw, old->power_uw);

		if (dt_ns <= 0)
			return;
		sums = old->sums;
		if (after_gap) {
			sums.uncovered_ns += dt_ns;
		} else {
			sums.energy += (wtl_u128)(old->power_uw + power_uw) * (uint64_t)dt_ns / 2;
			sums.interpolation_uj2 += interpolation_uj2(in, change_uw, dt_ns);
			sums.jump_uj += jump_uj(in, change_uw, dt_ns);
			if (!held)
				in->spacing_ns += (dt_ns - in->spacing_ns) / 8;
			add_unseen(in, dt_ns, held ? in->class.update_ns : dt_ns, &sums);
		}
	}
	sums.updates++;
	*new = (struct wtl_integral_knot){
		.t_ns = t_ns, .power_uw = power_uw, .after_gap = after_gap, .sums = sums};
	in->head = (in->head + 1) % WTL_INTEGRAL_RING;
	if (in->count < WTL_INTEGRAL_RING)
		in->count++;
	scan_alias(in);
}

static void push_reading(struct wtl_integral *in, int64_t update_ns, uint64_t power_uw, bool held)
{
	push(in, update_ns - wtl_sensor_class_delay_ns(&in->class), power_uw, false, held);
	in->update_ns = update_ns;
	in->seen_ns = update_ns;
}

/* First sample, or first after a gap: its reading tells of the averaging window before it. */
static void start(struct wtl_integral *in, int64_t seen_ns, uint64_t power_uw)
{
	/* It appeared some time since the update before. */
	int64_t t_ns = seen_ns - (in->stamp == WTL_STAMP_POLL ? in->class.update_ns / 2 : 0);
	int64_t end_ns = t_ns - in->class.latency_ns;
	int64_t from_ns = end_ns - in->class.window_ns;

	if (in->count) {
		const struct wtl_integral_knot *last = knot(in, 0);

		if (in->poll_ns > in->update_ns)
			push(in, in->poll_ns - in->class.latency_ns, last->power_uw, false, true);
		from_ns = max_ns(from_ns, knot(in, 0)->t_ns + 1);
		in->gaps++;
	}
	push(in, from_ns, power_uw, true, false);
	push_reading(in, t_ns, power_uw, true);
	in->seen_ns = seen_ns;
}

/* A changed value, or a new stamp. The value before was last seen at poll_ns. */
static void change(struct wtl_integral *in, int64_t t_ns, uint64_t power_uw)
{
	int64_t update_ns = t_ns;
	int64_t until_ns = min_ns(t_ns - hold_ns(in), in->poll_ns);

	if (in->stamp == WTL_STAMP_POLL && until_ns > in->seen_ns + in->class.update_ns / 2)
		push_reading(in, until_ns, knot(in, 0)->power_uw, true);
	if (in->stamp == WTL_STAMP_POLL)
		update_ns -= min_ns(t_ns - in->poll_ns, in->class.update_ns) / 2;
	push_reading(in, update_ns, power_uw, false);
	in->seen_ns = t_ns;
}

int wtl_integral_add(struct wtl_integral *in, int64_t t_ns, uint64_t power_uw)
{
	bool first = in->samples == 0;
	bool changed = true;

	if (power_uw > WTL_INTEGRAL_MAX_UW || (!first && t_ns < in->poll_ns)) {
		in->rejected++;
		return power_uw > WTL_INTEGRAL_MAX_UW ? -ERANGE : -EINVAL;
	}
	if (!first && t_ns == in->poll_ns)
		return 0;
	if (first || t_ns - in->poll_ns > in->gap_ns) {
		start(in, t_ns, power_uw);
		in->poll_gap_ns = 0;
	} else {
		in->poll_gap_ns = t_ns - in->poll_ns;
		if (in->stamp == WTL_STAMP_SENSOR || power_uw != knot(in, 0)->power_uw)
			change(in, t_ns, power_uw);
		else if (t_ns - in->update_ns >= 2 * hold_ns(in))
			push_reading(in, t_ns - hold_ns(in), power_uw, true);
		else
			changed = false;
	}
	in->poll_ns = t_ns;
	in->samples++;
	return changed;
}

/* Exact energy from the knot to tau later, power going linearly to the next knot's. */
static wtl_u128 energy_within(const struct wtl_integral_knot *a, const struct wtl_integral_knot *b,
			      int64_t tau_ns)
{
	wtl_u128 tau = (uint64_t)tau_ns;
	wtl_u128 dt = (uint64_t)(b->t_ns - a->t_ns);

	/* tau x (mean of the powers at both ends), over one denominator so that it never falls */
	return tau * (a->power_uw * (2 * dt - tau) + b->power_uw * tau) / (2 * dt);
}

/* Sums at a time between the two knots. */
static void sums_within(const struct wtl_integral_knot *a, const struct wtl_integral_knot *b,
			int64_t t_ns, struct wtl_integral_sums *ret)
{
	const struct wtl_integral_sums *x = &a->sums;
	const struct wtl_integral_sums *y = &b->sums;
	double part = (double)(t_ns - a->t_ns) / (double)(b->t_ns - a->t_ns);

	*ret = *x;
	if (b->after_gap)
		ret->uncovered_ns += t_ns - a->t_ns;
	else
		ret->energy += energy_within(a, b, t_ns - a->t_ns);
	ret->interpolation_uj2 += part * (y->interpolation_uj2 - x->interpolation_uj2);
	ret->jump_uj += part * (y->jump_uj - x->jump_uj);
	ret->rough_uj2 += part * (y->rough_uj2 - x->rough_uj2);
	ret->swing_uj += part * (y->swing_uj - x->swing_uj);
	ret->swing_uj2 += part * (y->swing_uj2 - x->swing_uj2);
}

/* Index back of the newest knot at or before t_ns; in->count when there is none. */
static unsigned find(const struct wtl_integral *in, int64_t t_ns)
{
	unsigned lo = 0;
	unsigned hi = in->count;

	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;

		if (knot(in, mid)->t_ns <= t_ns)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* The standard uncertainty of having cut an averaging window (or a hole between two) at t_ns. */
static double edge_uj(const struct wtl_integral *in, int64_t t_ns)
{
	int64_t length_ns = max_ns(in->class.window_ns, in->spacing_ns);
	unsigned i = find(in, t_ns - length_ns / 2);
	uint64_t low = UINT64_MAX;
	uint64_t high = 0;

	if (i == in->count)
		i--;
	for (;; i--) {
		const struct wtl_integral_knot *k = knot(in, i);

		low = k->power_uw < low ? k->power_uw : low;
		high = k->power_uw > high ? k->power_uw : high;
		if (i == 0 || k->t_ns > t_ns + length_ns / 2)
			break;
	}
	return EDGE_SHARE * difference(high, low) * seconds(length_ns);
}

/* How much the power may have moved since the newest reading. */
static double step_uw(const struct wtl_integral *in)
{
	/* A reading that averages over many updates shows a step little by little, in so many. */
	double spread = fmax(1, (double)in->class.window_ns / (double)in->class.update_ns);
	double sum = 0;
	double last = 0;
	unsigned n = 0;

	/* It ends at the first knot of all at the latest, which is marked as behind a gap. */
	for (; n < RECENT_STEPS && !knot(in, n)->after_gap; n++) {
		double step = difference(knot(in, n)->power_uw, knot(in, n + 1)->power_uw);

		if (n == 0)
			last = LAST_STEP * fabs(step);
		sum += square(step);
	}
	sum = spread * (sum + square(prior_uw(in)));
	return fmax(sqrt(sum / (n + spread)), last);
}

static uint64_t within_recent(const struct wtl_integral *in, wtl_u128 power_uw)
{
	uint64_t low = UINT64_MAX;
	uint64_t high = 0;

	for (unsigned i = 0; i < RECENT && i < in->count; i++) {
		uint64_t p = knot(in, i)->power_uw;

		low = p < low ? p : low;
		high = p > high ? p : high;
	}
	if (power_uw < low / 2)
		return low / 2;
	return power_uw > high + high / 2 ? high + high / 2 : (uint64_t)power_uw;
}

/*
 * A reading that averaged [end - window, end] fixes the energy up to `end`, half a window later than
 * its own middle. False where windows do not overlap or the segment is too short.
 */
static bool newest_power(const struct wtl_integral *in, uint64_t *ret_power_uw)
{
	const struct wtl_integral_knot *newest = knot(in, 0);
	int64_t window_ns = in->class.window_ns;
	int64_t half_ns = window_ns - window_ns / 2;
	int64_t from_ns = newest->t_ns + window_ns / 2 - window_ns;
	unsigned i = find(in, from_ns);
	struct wtl_integral_sums from;
	wtl_u128 whole;
	wtl_u128 known;

	if (in->class.kind == WTL_SENSOR_LOWPASS || window_ns * 10 < in->spacing_ns * 9 || i == 0 ||
	    i == in->count || half_ns >= window_ns)
		return false;
	for (unsigned j = 0; j < i; j++)
		if (knot(in, j)->after_gap)
			return false;
	sums_within(knot(in, i), knot(in, i - 1), from_ns, &from);
	known = newest->sums.energy - from.energy;
	whole = (wtl_u128)newest->power_uw * (uint64_t)window_ns;
	*ret_power_uw =
		within_recent(in, whole > known ? (whole - known) / (uint64_t)(window_ns / 2) : 0);
	return true;
}

/* Past the newest reading's middle: nothing but the last update period or so. */
static void mark_tail(const struct wtl_integral *in, int64_t t_ns, struct wtl_integral_mark *mark)
{
	const struct wtl_integral_knot *newest = knot(in, 0);
	int64_t delay_ns = wtl_sensor_class_delay_ns(&in->class);
	int64_t known_ns = newest->t_ns;
	int64_t covered_ns = min_ns(t_ns, in->poll_ns + in->gap_ns) - newest->t_ns;
	uint64_t power_uw = newest->power_uw;

	mark->sums = newest->sums;
	if (is_held(in)) {
		known_ns = max_ns(known_ns, in->poll_ns - hold_ns(in) - delay_ns);
	} else if (newest_power(in, &power_uw)) {
		known_ns += in->class.window_ns / 2;
		mark->edge_uj = edge_uj(in, known_ns - in->class.window_ns);
	}
	covered_ns = max_ns(covered_ns, 0);
	mark->sums.energy += (wtl_u128)power_uw * (uint64_t)covered_ns;
	mark->sums.uncovered_ns += t_ns - newest->t_ns - covered_ns;
	add_unseen(in, covered_ns, in->class.update_ns, &mark->sums);
	mark->tail_uj = step_uw(in) * seconds(max_ns(0, newest->t_ns + covered_ns - known_ns));
	mark->settled = is_held(in) && t_ns <= known_ns;
	mark->level_uw = (double)power_uw;
}

int wtl_integral_mark(const struct wtl_integral *in, int64_t t_ns,
		      struct wtl_integral_mark *ret_mark)
{
	struct wtl_integral_mark mark = {.t_ns = t_ns};
	unsigned i;

	if (!in->count)
		return -ENODATA;
	i = find(in, t_ns);
	if (i == in->count) {
		const struct wtl_integral_knot *oldest = knot(in, i - 1);

		if (i == WTL_INTEGRAL_RING)
			return -ERANGE;
		mark.sums.uncovered_ns = t_ns - oldest->t_ns;
		mark.level_uw = (double)oldest->power_uw;
		mark.settled = true;
	} else if (i == 0) {
		mark_tail(in, t_ns, &mark);
	} else {
		const struct wtl_integral_knot *a = knot(in, i);
		const struct wtl_integral_knot *b = knot(in, i - 1);

		sums_within(a, b, t_ns, &mark.sums);
		mark.level_uw = (double)a->power_uw + difference(b->power_uw, a->power_uw) *
							      (double)(t_ns - a->t_ns) /
							      (double)(b->t_ns - a->t_ns);
		mark.edge_uj = edge_uj(in, t_ns);
		mark.settled = true;
	}
	*ret_mark = mark;
	return 0;
}

int64_t wtl_integral_known_ns(const struct wtl_integral *in)
{
	return in->count < WTL_INTEGRAL_RING ? INT64_MIN : knot(in, in->count - 1)->t_ns;
}

uint64_t wtl_integral_mark_uj(const struct wtl_integral_mark *mark)
{
	return (uint64_t)(mark->sums.energy / RAW_PER_UJ);
}

/* Restlessness known now counts for all of the window that is in the ring, even where it was not known yet. */
static double sampling_uj(const struct wtl_integral *in, int64_t length_ns,
			  const struct wtl_integral_sums *a, const struct wtl_integral_sums *b)
{
	int64_t recent_ns =
		min_ns(length_ns, max_ns(0, in->poll_ns - knot(in, in->count - 1)->t_ns));
	struct wtl_integral_sums now = {0};
	double rough2;
	double swing;
	double swing2;

	add_unseen(in, recent_ns, in->spacing_ns, &now);
	rough2 = fmax(b->rough_uj2 - a->rough_uj2, now.rough_uj2);
	swing = fmax(b->swing_uj - a->swing_uj, now.swing_uj);
	swing2 = fmax(b->swing_uj2 - a->swing_uj2, now.swing_uj2) + beat_uj2(in);
	return sqrt(fmax(0, rough2) + fmax(0, fmin(square(swing), swing2)) +
		    square(unseen_beat_uw(in) * seconds(recent_ns)));
}

/* Jumps err alike for as long as the scan looks back, and independently beyond. */
static double interpolation_uj(const struct wtl_integral *in, int64_t length_ns,
			       const struct wtl_integral_sums *a, const struct wtl_integral_sums *b)
{
	double alike = WTL_ALIAS_MAX * (double)in->spacing_ns;
	double jump2 = square(b->jump_uj - a->jump_uj);

	if ((double)length_ns > alike)
		jump2 *= alike / (double)length_ns;
	return sqrt(fmax(b->interpolation_uj2 - a->interpolation_uj2, jump2));
}

/*
 * What is not known of the newest stretch is the same for both ends as long as no reading came in
 * between: only the part of it that lies in the window counts.
 */
static void charge_edges(const struct wtl_integral *in, const struct wtl_integral_mark *a,
			 const struct wtl_integral_mark *b, bool is_fresh,
			 struct wtl_integral_energy *energy)
{
	double length = seconds(b->t_ns - a->t_ns), half_window = seconds(in->class.window_ns) / 2;

	energy->edge_uj = hypot(a->edge_uj, b->edge_uj);
	energy->tail_uj = hypot(a->tail_uj, b->tail_uj);
	if (!is_fresh)
		return;
	energy->tail_uj = fabs(b->tail_uj - a->tail_uj);
	/* Their power is what an averaging window left for its second half. */
	if (!a->settled && !b->settled && length < half_window)
		energy->edge_uj *= length / half_window;
	/* What a reading averages over more than the window may all have been drawn within it, until the range of the
	 * power bounds that. Half an averaging window more, for how late the readings are. */
	if (!b->settled && length > 0)
		energy->tail_uj *= fmin(2, fmax(1, 3 * half_window / length));
}

/*
 * A load that swings as fast as the sensor averages looks steady, at its mean. At worst it has the least and
 * the most power in turn; then its energy swings about a steady load's, from its lowest to its highest by so much.
 */
static double swing_uj(const struct load_range *range, double mean_uw, double window_s)
{
	double part = (mean_uw - range->least_uw) * (range->most_uw - mean_uw);

	return part > 0 ? part / (range->most_uw - range->least_uw) * window_s : 0;
}

/* Each end of the time may lie anywhere in such a swing, at worst one at its lowest and one at its highest: U = 2 u. */
static double unseen_swing_uj(const struct wtl_integral *in, const struct wtl_integral_mark *a,
			      const struct wtl_integral_mark *b,
			      const struct wtl_integral_energy *energy)
{
	struct load_range range = load_range(in, DEEP_REST, PEAK);
	double length = seconds(energy->covered_ns), window = seconds(in->class.window_ns);
	double mean_uw = length > 0 ? (double)energy->energy_uj / length : 0;

	if (in->class.kind == WTL_SENSOR_ESTIMATE)
		window = fmax(window, LONGEST_WINDOW_S);
	if (length >= window)
		return hypot(swing_uj(&range, a->level_uw, window),
			     swing_uj(&range, b->level_uw, window)) /
		       sqrt(8);
	return fmin(swing_uj(&range, mean_uw, window),
		    length * fmax(range.most_uw - mean_uw, mean_uw - range.least_uw)) /
	       2;
}

/*
 * How well it is known when a reading appeared. Polls about as often as the sensor updates stay in
 * step with it for a while, and then all readings are late by the same.
 */
static double delay_sd_s(const struct wtl_integral *in)
{
	int64_t poll_ns =
		in->stamp == WTL_STAMP_POLL ? min_ns(in->poll_gap_ns, in->class.update_ns) : 0;

	return hypot(seconds(in->class.latency_sd_ns), seconds(poll_ns) / sqrt(12));
}

int wtl_integral_between(const struct wtl_integral *in, const struct wtl_integral_mark *begin,
			 const struct wtl_integral_mark *end,
			 struct wtl_integral_energy *ret_energy)
{
	struct wtl_integral_mark a = *begin;
	struct wtl_integral_mark b = *end;
	bool is_fresh;
	uint64_t a_uj;
	uint64_t b_uj;

	if (b.t_ns < a.t_ns || !in->count)
		return -EINVAL;
	/* Fails only where the ring has moved on; then the mark stands as it was taken. */
	is_fresh = wtl_integral_mark(in, begin->t_ns, &a) == 0;
	(void)wtl_integral_mark(in, end->t_ns, &b);
	a_uj = wtl_integral_mark_uj(&a);
	b_uj = wtl_integral_mark_uj(&b);

	memset(ret_energy, 0, sizeof(*ret_energy));
	ret_energy->energy_uj = b_uj > a_uj ? b_uj - a_uj : 0;
	ret_energy->uncovered_ns =
		min_ns(b.t_ns - a.t_ns, max_ns(0, b.sums.uncovered_ns - a.sums.uncovered_ns));
	ret_energy->covered_ns = b.t_ns - a.t_ns - ret_energy->uncovered_ns;
	ret_energy->updates = b.sums.updates > a.sums.updates ? b.sums.updates - a.sums.updates : 0;
	ret_energy->settled = a.settled && b.settled;
	ret_energy->sampling_uj = hypot(sampling_uj(in, ret_energy->covered_ns, &a.sums, &b.sums),
					unseen_swing_uj(in, &a, &b, ret_energy));
	ret_energy->interpolation_uj =
		interpolation_uj(in, ret_energy->covered_ns, &a.sums, &b.sums);
	ret_energy->lag_uj = fabs(b.level_uw - a.level_uw) * delay_sd_s(in);
	charge_edges(in, &a, &b, is_fresh, ret_energy);
	return 0;
}

uint64_t wtl_integral_total_uj(struct wtl_integral *in, int64_t t_ns)
{
	struct wtl_integral_mark mark;

	if (wtl_integral_mark(in, t_ns, &mark) == 0) {
		uint64_t now_uj = wtl_integral_mark_uj(&mark);

		if (now_uj > in->total_uj)
			in->total_uj = now_uj;
	}
	return in->total_uj;
}

int64_t wtl_integral_settle_ns(const struct wtl_integral *in)
{
	return wtl_sensor_class_delay_ns(&in->class) +
	       max_ns(hold_ns(in) + in->class.update_ns / 2, 2 * in->spacing_ns) + in->poll_gap_ns;
}
