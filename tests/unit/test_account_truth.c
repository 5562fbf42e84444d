/* SPDX-License-Identifier: MIT */
/*
 * Accounts of counters against a machine that is known: its energy rises in a random way, and a counter of
 * some unit and range shows it. Whatever the readings are like, the account has what rose, to the count.
 */
#include "unit.h"

#include <string.h>

#include "energy/account.h"
#include "energy/units.h"

typedef unsigned __int128 u128;

enum { MACHINES = 150, READINGS = 300 };

static uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint64_t random_below(uint64_t *state, uint64_t n)
{
	return random_next(state) % n;
}

/* Units and ranges as hardware has them. */
static const struct {
	struct wtl_unit unit;
	uint64_t range;
	uint64_t max_uw;
} kinds[] = {
	{{1000000, UINT64_C(1) << 32}, 0, 500000000},		      /* perf */
	{{1, 1}, UINT64_C(262143328850), 500000000},		      /* powercap, 61 uJ steps */
	{{1, 1}, UINT64_C(65532610987), 300000000},		      /* the same, 15.3 uJ */
	{{1000000, UINT64_C(1) << 16}, UINT64_C(1) << 32, 400000000}, /* a register of 32 bits */
	{{1000000, UINT64_C(1) << 14}, UINT64_C(1) << 32, 0}, /* nothing known of the part */
	{{1000, 1}, 0, 1000000000},			      /* NVML: millijoules */
	{{1000000, 65536}, 0, 0},
	{{7, 3}, UINT64_C(1) << 40, 200000000}, /* none that there is: thirds */
};

/* The machine, and how it is read. */
struct machine {
	struct wtl_channel channel;
	uint64_t random;
	u128 counts;  /* since it was switched on */
	u128 carried; /* and what is not a count yet: 1/num of a count, times nanoseconds of power */
	uint64_t begun; /* what the counter showed then */
	int64_t now_ns;
	struct wtl_account account;
	/* What the readings tell. */
	bool is_read;
	u128 first_counts;
	int64_t first_ns, last_ns;
};

static void machine_init(struct machine *machine, size_t kind, uint64_t seed)
{
	memset(machine, 0, sizeof(*machine));
	machine->random = seed;
	machine->channel = (struct wtl_channel){
		.source = "truth",
		.kind = WATTLE_KIND_CORE, /* may rest: it is never taken for broken */
		.method = WATTLE_METHOD_COUNTER,
		.quantity = WTL_QUANTITY_ENERGY,
		.unit = kinds[kind].unit,
		.range = kinds[kind].range,
		.max_uw = kinds[kind].max_uw,
	};
	memcpy(machine->channel.domain, "core-0", sizeof("core-0"));
	machine->begun = kinds[kind].range ? random_below(&machine->random, kinds[kind].range)
					   : random_next(&machine->random) >> 20;
	machine->now_ns = (int64_t)random_below(&machine->random, 1000000000);
	wtl_account_init(&machine->account, &machine->channel, NULL);
}

static uint64_t range_of(const struct machine *machine)
{
	return machine->channel.range;
}

/* Time in which the counter cannot come round, not even with the slack: reading sooner is certain. */
static int64_t longest_ns(const struct machine *machine)
{
	uint64_t max_uw = machine->channel.max_uw ? machine->channel.max_uw : 400000000;
	uint64_t whole_uj;
	int64_t ns;

	if (!range_of(machine))
		return 3600 * WTL_NS_PER_S;
	whole_uj = wtl_unit_convert(machine->channel.unit, range_of(machine));
	ns = (int64_t)((u128)whole_uj * 1000000000 / max_uw);
	return ns > 4 * WTL_NS_PER_S ? (ns - 3 * WTL_NS_PER_S) / 2 : WTL_NS_PER_S;
}

/* Some power, for some time; in whole counts, of which the rest is carried. */
static void draw(struct machine *machine, int64_t dt_ns)
{
	uint64_t max_uw = machine->channel.max_uw ? machine->channel.max_uw : 400000000;
	uint64_t power_uw =
		random_below(&machine->random, 4) ? random_below(&machine->random, max_uw) : 0;
	u128 one = (u128)machine->channel.unit.num * 1000000000;

	machine->carried += (u128)power_uw * (uint64_t)dt_ns * machine->channel.unit.den;
	machine->counts += machine->carried / one;
	machine->carried %= one;
	machine->now_ns += dt_ns;
}

static uint64_t shown(const struct machine *machine)
{
	u128 value = machine->begun + machine->counts;

	return range_of(machine) ? (uint64_t)(value % range_of(machine)) : (uint64_t)value;
}

static void read_it(struct machine *machine)
{
	const struct wtl_reading reading = {
		.t_mono_ns = machine->now_ns,
		.value = shown(machine),
		.status = WATTLE_STATUS_OK,
	};

	wtl_account_feed(&machine->account, &reading);
	assert_int_equal(machine->account.status, WATTLE_STATUS_OK);
	if (!machine->is_read) {
		machine->first_counts = machine->counts;
		machine->first_ns = machine->now_ns;
	}
	machine->is_read = true;
	machine->last_ns = machine->now_ns;
}

static void fail_to_read(struct machine *machine)
{
	const struct wtl_reading reading = {
		.t_mono_ns = machine->now_ns,
		.value = random_next(&machine->random),
		.status = WATTLE_STATUS_FAILED,
		.error = -5,
	};

	wtl_account_feed(&machine->account, &reading);
	assert_int_equal(machine->account.status, WATTLE_STATUS_FAILED);
}

static uint64_t whole_uj(const struct machine *machine, u128 counts)
{
	return (uint64_t)(counts * machine->channel.unit.num / machine->channel.unit.den);
}

static void wait_some(struct machine *machine)
{
	int64_t most_ns = longest_ns(machine);
	int64_t dt_ns = (int64_t)random_below(&machine->random, random_below(&machine->random, 3)
									? 50 * WTL_NS_PER_MS
									: (uint64_t)most_ns);

	/* In pieces: power changes between two readings. */
	for (int i = 0; i < 3; i++)
		draw(machine, dt_ns / 3 + 1);
}

/* ---- Tests ---- */

/* However often it is read, and however often that fails: nothing is lost, and nothing is a gap. */
static void test_all_that_rose(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < MACHINES; seed++) {
		struct machine machine;

		machine_init(&machine, seed % UNIT_COUNT(kinds), seed);
		for (int i = 0; i < READINGS; i++) {
			int64_t read_ns = machine.last_ns;

			wait_some(&machine);
			if (random_below(&machine.random, 5) == 0 &&
			    machine.now_ns - read_ns < longest_ns(&machine) / 4)
				fail_to_read(&machine);
			else
				read_it(&machine);
			if (!machine.is_read || machine.account.status != WATTLE_STATUS_OK)
				continue;
			assert_int_equal(wtl_account_uj(&machine.account),
					 whole_uj(&machine, machine.counts - machine.first_counts));
			assert_int_equal(machine.account.counter.measured_ns,
					 machine.last_ns - machine.first_ns);
			assert_int_equal(machine.account.counter.gap_ns, 0);
		}
		assert_int_equal(machine.account.counter.resets, 0);
		assert_int_equal(wtl_account_breaks(&machine.account), 0);
	}
}

/* The same machine read often and seldom: the same energy. */
static void test_how_often_does_not_matter(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < MACHINES; seed++) {
		struct machine often, seldom;

		machine_init(&often, seed % UNIT_COUNT(kinds), seed);
		machine_init(&seldom, seed % UNIT_COUNT(kinds), seed);
		for (int i = 0; i < READINGS; i++) {
			draw(&often, 40 * WTL_NS_PER_MS);
			draw(&seldom, 40 * WTL_NS_PER_MS);
			assert_true(often.counts == seldom.counts);
			read_it(&often);
			if (i == 0 || i % 23 == 0 || i == READINGS - 1)
				read_it(&seldom);
		}
		assert_int_equal(wtl_account_uj(&often.account), wtl_account_uj(&seldom.account));
		assert_int_equal(often.account.counter.measured_ns,
				 seldom.account.counter.measured_ns);
	}
}

struct moment {
	struct wtl_mark mark;
	u128 counts;
	int64_t t_ns;
};

/* Windows from any reading to any later one; those that meet add up to the one over both. */
static void test_windows(void **state)
{
	enum { MOMENTS = 24 };

	(void)state;
	for (uint64_t seed = 0; seed < MACHINES; seed++) {
		struct moment moments[MOMENTS];
		struct machine machine;
		uint64_t sum_uj = 0;
		int64_t sum_ns = 0;

		machine_init(&machine, seed % UNIT_COUNT(kinds), seed);
		for (int i = 0; i < MOMENTS; i++) {
			struct wtl_figure figure;

			wait_some(&machine);
			read_it(&machine);
			wtl_account_mark(&machine.account, machine.now_ns, machine.now_ns,
					 &moments[i].mark);
			moments[i].counts = machine.counts - machine.first_counts;
			moments[i].t_ns = machine.now_ns;
			assert_true(moments[i].mark.valid);
			for (int k = 0; k <= i; k++) {
				wtl_account_since(&machine.account, &moments[k].mark,
						  machine.now_ns, &figure);
				assert_int_equal(figure.energy_uj,
						 whole_uj(&machine, moments[i].counts) -
							 whole_uj(&machine, moments[k].counts));
				assert_int_equal(figure.measured_ns,
						 moments[i].t_ns - moments[k].t_ns);
				assert_int_equal(figure.gap_ns, 0);
				assert_int_equal(figure.samples, i - k);
			}
			if (i == 0)
				continue;
			wtl_account_since(&machine.account, &moments[i - 1].mark, machine.now_ns,
					  &figure);
			sum_uj += figure.energy_uj;
			sum_ns += figure.measured_ns;
			wtl_account_since(&machine.account, &moments[0].mark, machine.now_ns,
					  &figure);
			assert_int_equal(figure.energy_uj, sum_uj);
			assert_int_equal(figure.measured_ns, sum_ns);
		}
	}
}

/* A mark that is taken while the counter cannot be read begins with the next reading. */
static void test_late_marks(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < MACHINES; seed++) {
		struct wtl_figure figure;
		struct wtl_mark mark;
		struct machine machine;
		int64_t asked_ns;
		u128 counts;

		machine_init(&machine, seed % UNIT_COUNT(kinds), seed);
		read_it(&machine);
		draw(&machine, 30 * WTL_NS_PER_MS);
		fail_to_read(&machine);
		asked_ns = machine.now_ns;
		wtl_account_mark(&machine.account, asked_ns, asked_ns, &mark);
		assert_false(mark.valid);
		wtl_account_since(&machine.account, &mark, asked_ns, &figure);
		assert_false(figure.has_energy);
		draw(&machine, 200 * WTL_NS_PER_MS);
		read_it(&machine);
		wtl_account_settle_mark(&machine.account, &mark);
		assert_true(mark.valid);
		counts = machine.counts;
		draw(&machine, 500 * WTL_NS_PER_MS);
		read_it(&machine);
		wtl_account_since(&machine.account, &mark, machine.now_ns, &figure);
		assert_int_equal(figure.energy_uj,
				 whole_uj(&machine, machine.counts - machine.first_counts) -
					 whole_uj(&machine, counts - machine.first_counts));
		assert_int_equal(figure.measured_ns, 500 * WTL_NS_PER_MS);
		/* What lies before the reading was not measured. */
		assert_int_equal(figure.gap_ns, 200 * WTL_NS_PER_MS);
	}
}

/* Where the counter begins anew now and then, what is certain is counted, and the rest is a gap. */
static void test_resets(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < MACHINES; seed++) {
		u128 certain = 0, before;
		int64_t gap_ns = 0, before_ns;
		uint32_t n_anew = 0;
		struct machine machine;

		machine_init(&machine, seed % UNIT_COUNT(kinds), seed);
		read_it(&machine);
		for (int i = 0; i < READINGS; i++) {
			bool is_anew = random_below(&machine.random, 10) == 0;
			struct wtl_reading reading = {.status = WATTLE_STATUS_OK};

			before = machine.counts;
			before_ns = machine.now_ns;
			draw(&machine, 20 * WTL_NS_PER_MS);
			if (is_anew)
				machine.begun = random_below(&machine.random, UINT32_MAX);
			reading.t_mono_ns = machine.now_ns;
			reading.value = shown(&machine);
			reading.anew = is_anew;
			wtl_account_feed(&machine.account, &reading);
			if (is_anew)
				gap_ns += machine.now_ns - before_ns;
			else
				certain += machine.counts - before;
			n_anew += is_anew;
		}
		assert_int_equal(wtl_account_uj(&machine.account), whole_uj(&machine, certain));
		assert_int_equal(machine.account.counter.gap_ns, gap_ns);
		assert_int_equal(machine.account.counter.measured_ns + gap_ns,
				 machine.now_ns - machine.first_ns);
		assert_int_equal(wtl_account_breaks(&machine.account), n_anew);
	}
}

/* A sleep is a gap, whatever the counter did meanwhile. */
static void test_sleeps(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < MACHINES; seed++) {
		struct machine machine;
		u128 slept;

		machine_init(&machine, seed % UNIT_COUNT(kinds), seed);
		read_it(&machine);
		draw(&machine, 100 * WTL_NS_PER_MS);
		read_it(&machine);
		slept = machine.counts;
		wtl_account_break(&machine.account);
		draw(&machine, 3 * WTL_NS_PER_S);
		read_it(&machine);
		slept = machine.counts - slept;
		draw(&machine, 100 * WTL_NS_PER_MS);
		read_it(&machine);
		assert_int_equal(wtl_account_uj(&machine.account),
				 whole_uj(&machine, machine.counts - machine.first_counts - slept));
		assert_int_equal(machine.account.counter.gap_ns, 3 * WTL_NS_PER_S);
		assert_int_equal(machine.account.counter.measured_ns, 200 * WTL_NS_PER_MS);
	}
}

/* Readings that are not newer change nothing. */
static void test_the_same_again(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < UNIT_COUNT(kinds); seed++) {
		struct machine machine;
		struct wtl_reading old;
		uint64_t energy_uj;

		machine_init(&machine, seed, seed);
		read_it(&machine);
		draw(&machine, 300 * WTL_NS_PER_MS);
		read_it(&machine);
		energy_uj = wtl_account_uj(&machine.account);
		old = machine.account.last_ok;
		old.value += 12345;
		wtl_account_feed(&machine.account, &old);
		old.t_mono_ns -= 100 * WTL_NS_PER_MS;
		wtl_account_feed(&machine.account, &old);
		assert_int_equal(wtl_account_uj(&machine.account), energy_uj);
		assert_int_equal(machine.account.samples, 2);
		draw(&machine, 300 * WTL_NS_PER_MS);
		read_it(&machine);
		assert_int_equal(wtl_account_uj(&machine.account),
				 whole_uj(&machine, machine.counts - machine.first_counts));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_that_rose),
		cmocka_unit_test(test_how_often_does_not_matter),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_late_marks),
		cmocka_unit_test(test_resets),
		cmocka_unit_test(test_sleeps),
		cmocka_unit_test(test_the_same_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
