/* SPDX-License-Identifier: MIT */
/*
 * Any sequence of readings of any counter. The first 34 bytes are its specification, then come
 * records of 17: what happens, how much later, and the value.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "energy/counter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SPEC_SIZE = 34, RECORD_SIZE = 17 };

static void check(bool holds)
{
	if (!holds)
		abort();
}

static uint64_t u64(const uint8_t *data)
{
	uint64_t value = 0;

	for (int i = 7; i >= 0; i--)
		value = value << 8 | data[i];
	return value;
}

/* The range, the bound, and a unit: a fraction, or one that machines have. Eight bytes between are not
 * used. */
static struct wtl_counter_spec read_spec(const uint8_t *data)
{
	struct wtl_counter_spec spec = {
		.range = u64(data), .max_uw = u64(data + 16), .unit = WTL_UNIT_MICRO};

	if (data[24] & 1)
		spec.unit = WTL_UNIT_MILLI;
	if (data[24] & 2)
		spec.unit = (struct wtl_unit){.num = 1000000, .den = UINT64_C(1) << 32};
	if (data[24] & 4)
		spec.unit = (struct wtl_unit){.num = u64(data + 25) | 1,
					      .den = UINT64_C(1) << (data[33] % 63)};
	return spec;
}

/* A difference leads from one value to the other, and is within the bounds. */
static void try_step(const struct wtl_counter_spec *spec, uint64_t prev, uint64_t cur,
		     int64_t dt_ns)
{
	uint64_t counts = 0, again = 1;
	enum wtl_step step = wtl_counter_step(spec, prev, cur, dt_ns, &counts);

	if (step != WTL_STEP_OK && step != WTL_STEP_WRAPPED) {
		check(counts == 0);
		return;
	}
	check(wtl_counter_step(spec, prev, cur, dt_ns, &again) == step && again == counts);
	check(dt_ns >= 0);
	if (!spec->range) {
		check(step == WTL_STEP_OK && counts == cur - prev);
		return;
	}
	check(prev < spec->range && cur < spec->range);
	check((prev % spec->range + (unsigned __int128)counts) % spec->range == cur);
	check((step == WTL_STEP_OK) == (counts == cur - prev && cur >= prev));
	if (spec->max_uw && dt_ns < INT64_MAX - WTL_COUNTER_SLACK_NS)
		check(counts <=
		      wtl_unit_counts(spec->unit,
				      wtl_energy_uj(spec->max_uw, dt_ns + WTL_COUNTER_SLACK_NS)));
}

static void feed(struct wtl_counter *counter, int64_t first_ns, int64_t t_ns, uint64_t value)
{
	const struct wtl_counter before = *counter;
	enum wtl_step step = wtl_counter_feed(counter, t_ns, value);

	check(wtl_counter_uj(counter) >= wtl_counter_uj(&before));
	check(counter->rest < counter->spec.unit.den);
	check(counter->measured_ns >= before.measured_ns && counter->gap_ns >= before.gap_ns);
	if (before.started && t_ns < before.last_ns) {
		check(step == WTL_STEP_BAD && counter->last_ns == before.last_ns);
		check(counter->has_base == before.has_base && counter->last == before.last);
	} else {
		check(counter->last_ns == t_ns && counter->last == value);
		check(counter->has_base == (step != WTL_STEP_BAD));
	}
	check(counter->measured_ns + counter->gap_ns == counter->last_ns - first_ns);
	if (step != WTL_STEP_OK && step != WTL_STEP_WRAPPED)
		check(wtl_counter_uj(counter) == wtl_counter_uj(&before));
	if (before.has_base)
		try_step(&counter->spec, before.last, value, t_ns - before.last_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wtl_counter_spec spec;
	struct wtl_counter counter;
	int64_t t_ns = 0, first_ns = -1;

	if (size < SPEC_SIZE)
		return 0;
	spec = read_spec(data);
	wtl_counter_init(&counter, &spec);
	for (data += SPEC_SIZE, size -= SPEC_SIZE; size >= RECORD_SIZE;
	     data += RECORD_SIZE, size -= RECORD_SIZE) {
		int64_t step_ns = (int64_t)(u64(data + 1) >> (1 + data[0] % 63));
		uint64_t value = u64(data + 9);

		if (data[0] & 0x40)
			wtl_counter_break(&counter);
		if (data[0] & 0x80)
			t_ns -= step_ns < t_ns ? step_ns : t_ns;
		else if (step_ns <= INT64_MAX - t_ns)
			t_ns += step_ns;
		if (first_ns < 0)
			first_ns = t_ns;
		feed(&counter, first_ns, t_ns, value);
		t_ns = counter.last_ns;
	}
	return 0;
}
