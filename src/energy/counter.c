/* SPDX-License-Identifier: MIT */
#include "energy/counter.h"

#include <string.h>

typedef unsigned __int128 u128;

/* The most counts that can have passed in dt_ns. */
static u128 counts_most(const struct wtl_counter_spec *spec, int64_t dt_ns)
{
	if (spec->max_uw == 0)
		return UINT64_MAX;
	if (dt_ns > INT64_MAX - WTL_COUNTER_SLACK_NS)
		dt_ns = INT64_MAX - WTL_COUNTER_SLACK_NS;
	return wtl_unit_counts(spec->unit,
			       wtl_energy_uj(spec->max_uw, dt_ns + WTL_COUNTER_SLACK_NS));
}

static enum wtl_step step_wrapping(const struct wtl_counter_spec *spec, uint64_t prev, uint64_t cur,
				   int64_t dt_ns, uint64_t *ret_counts)
{
	bool back = cur < prev;
	u128 passed = back ? spec->range - prev + cur : cur - prev;
	u128 most = counts_most(spec, dt_ns);

	if (prev >= spec->range || cur >= spec->range)
		return WTL_STEP_BAD;
	if (passed > most)
		return WTL_STEP_RESET;
	if (spec->max_uw && passed + spec->range <= most)
		return WTL_STEP_AMBIGUOUS;
	*ret_counts = (uint64_t)passed;
	return back ? WTL_STEP_WRAPPED : WTL_STEP_OK;
}

enum wtl_step wtl_counter_step(const struct wtl_counter_spec *spec, uint64_t prev, uint64_t cur,
			       int64_t dt_ns, uint64_t *ret_counts)
{
	if (dt_ns < 0)
		return WTL_STEP_BAD;
	if (spec->range)
		return step_wrapping(spec, prev, cur, dt_ns, ret_counts);
	if (cur < prev || cur - prev > counts_most(spec, dt_ns))
		return WTL_STEP_RESET;
	*ret_counts = cur - prev;
	return WTL_STEP_OK;
}

void wtl_counter_init(struct wtl_counter *counter, const struct wtl_counter_spec *spec)
{
	memset(counter, 0, sizeof(*counter));
	counter->spec = *spec;
}

static void add_counts(struct wtl_counter *counter, uint64_t passed)
{
	struct wtl_unit unit = counter->spec.unit;
	u128 fine = (u128)passed * unit.num + counter->rest;
	u128 whole = fine / unit.den;

	counter->rest = (uint64_t)(fine % unit.den);
	counter->energy_uj =
		wtl_add_sat(counter->energy_uj, whole > UINT64_MAX ? UINT64_MAX : (uint64_t)whole);
}

/* Is the value possible at all? */
static bool is_in_range(const struct wtl_counter *counter, uint64_t value)
{
	return !counter->spec.range || value < counter->spec.range;
}

/* The step from the last reading, and what passed; OK and nothing where there is no base. */
static enum wtl_step step_from_last(const struct wtl_counter *counter, int64_t t_mono_ns,
				    uint64_t value, uint64_t *ret_passed)
{
	*ret_passed = 0;
	if (!is_in_range(counter, value))
		return WTL_STEP_BAD;
	if (!counter->has_base)
		return WTL_STEP_OK;
	return wtl_counter_step(&counter->spec, counter->last, value, t_mono_ns - counter->last_ns,
				ret_passed);
}

enum wtl_step wtl_counter_feed(struct wtl_counter *counter, int64_t t_mono_ns, uint64_t value)
{
	enum wtl_step step;
	uint64_t passed;

	if (counter->started && t_mono_ns < counter->last_ns)
		return WTL_STEP_BAD;
	step = step_from_last(counter, t_mono_ns, value, &passed);
	counter->wraps += step == WTL_STEP_WRAPPED;
	counter->resets += step == WTL_STEP_RESET;
	if (counter->has_base && (step == WTL_STEP_OK || step == WTL_STEP_WRAPPED)) {
		add_counts(counter, passed);
		counter->measured_ns += t_mono_ns - counter->last_ns;
	} else if (counter->started) {
		counter->gaps += counter->has_base;
		counter->gap_ns += t_mono_ns - counter->last_ns;
	}
	counter->has_base = step != WTL_STEP_BAD;
	counter->started = true;
	counter->last = value;
	counter->last_ns = t_mono_ns;
	return step;
}

void wtl_counter_break(struct wtl_counter *counter)
{
	counter->gaps += counter->has_base;
	counter->has_base = false;
}

uint64_t wtl_counter_uj(const struct wtl_counter *counter)
{
	return counter->energy_uj;
}
