/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "energy/attribution.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter_bench.h"
#include "serve/totals.h"
#include "unit.h"
#include "workload/workload.h"
#include "world.h"

#define S   WTL_NS_PER_S
#define UTC (INT64_C(1795248000) * S)

enum { DOMAINS_MAX = 16, TEXT_MAX = 1 << 20 };

/* A meter's domains, a world's processes, energies that the test makes up, and the counters of it all. */
struct fixture {
	struct meter_bench bench;
	struct world world;
	struct wtl_consumers *consumers;
	struct wattle_energy energies[DOMAINS_MAX];
	const char *names[DOMAINS_MAX];
	size_t n;
	int64_t t_ns;
	struct wtl_totals totals;
	/* As they were seen last: they may not fall. */
	uint64_t accounts_uj[DOMAINS_MAX * WTL_TOTALS_ACCOUNTS], host_uj;
};

static void name_user(void *context, uint32_t uid, char *name, size_t size)
{
	(void)context;
	snprintf(name, size, "user-%u", uid);
}

static void start_totals(struct fixture *f)
{
	assert_int_equal(wtl_totals_init(&f->totals, f->names, f->n, name_user, NULL), 0);
	for (size_t i = 0; i < f->n; i++) {
		struct wattle_domain info;

		wtl_meter_domain(f->bench.meter, i, &info);
		f->totals.is_counted[i] = info.in_total;
	}
}

static void start(struct fixture *f)
{
	const struct wtl_consumers_options options = {.nvml_path = ""};

	memset(f, 0, sizeof(*f));
	meter_bench_root(&f->bench, "xeon-2s-dram");
	f->bench.nvml = "";
	meter_bench_open(&f->bench);
	world_init(&f->world);
	f->n = wattle_meter_domains(f->bench.meter);
	assert_in_range(f->n, 2, DOMAINS_MAX);
	f->t_ns = UTC;
	assert_int_equal(
		wtl_consumers_new(f->bench.meter, &f->world.io, &options, &f->consumers, NULL), 0);
	for (size_t i = 0; i < f->n; i++) {
		struct wattle_domain info;

		wtl_meter_domain(f->bench.meter, i, &info);
		f->names[i] = info.name;
	}
	start_totals(f);
	wtl_consumers_begin(f->consumers);
	/* Of one domain it is known what it draws at rest. */
	wtl_consumers_fix_baseline(f->consumers, 0,
				   &(struct wtl_baseline){.is_known = true, .idle_uw = 2000000});
}

static void finish(struct fixture *f)
{
	wtl_totals_done(&f->totals);
	wtl_consumers_free(f->consumers);
	world_done(&f->world);
	meter_bench_done(&f->bench);
}

/* Every domain used so much more. */
static void use(struct fixture *f, int64_t more_uj, int64_t duration_ns)
{
	for (size_t i = 0; i < f->n; i++) {
		struct wattle_energy *energy = &f->energies[i];

		energy->has_energy = 1;
		energy->energy_uj = (uint64_t)((int64_t)energy->energy_uj + more_uj + (int64_t)i);
		energy->measured_ns += duration_ns;
	}
}

static uint64_t sum_of(const struct wtl_totals *totals, size_t by, size_t domain,
		       enum wtl_totals_part part)
{
	const struct wtl_totals_grouping *grouping = &totals->by[by];
	uint64_t sum_uj = 0;

	for (size_t i = 0; i < grouping->n; i++)
		sum_uj += wtl_totals_energy(totals, &grouping->groups[i], domain, part);
	for (size_t i = WTL_TOTALS_GROUPS; i < WTL_TOTALS_PLACES; i++)
		sum_uj += wtl_totals_energy(totals, &grouping->groups[i], domain, part);
	return sum_uj;
}

/* What holds at any moment: everything adds up, and nothing falls. */
static void check(struct fixture *f)
{
	const struct wtl_totals *totals = &f->totals;

	for (size_t i = 0; i < f->n; i++) {
		const uint64_t *accounts = &totals->accounts_uj[i * WTL_TOTALS_ACCOUNTS];

		assert_int_equal(wtl_totals_sum(totals, i),
				 accounts[0] + accounts[1] + accounts[2] + accounts[3]);
		for (size_t by = 0; by < WTL_TOTALS_GROUPINGS; by++) {
			assert_int_equal(sum_of(totals, by, i, WTL_TOTALS_DYNAMIC),
					 accounts[WTL_TOTALS_PROCESSES]);
			assert_true(sum_of(totals, by, i, WTL_TOTALS_IDLE_PART) <=
				    accounts[WTL_TOTALS_IDLE]);
		}
	}
	for (size_t i = 0; i < f->n * WTL_TOTALS_ACCOUNTS; i++)
		assert_true(totals->accounts_uj[i] >= f->accounts_uj[i]);
	assert_true(totals->host_uj >= f->host_uj);
	memcpy(f->accounts_uj, totals->accounts_uj,
	       f->n * WTL_TOTALS_ACCOUNTS * sizeof(*f->accounts_uj));
	f->host_uj = totals->host_uj;
}

static void look(struct fixture *f, int64_t duration_ns)
{
	world_pass(&f->world, duration_ns);
	f->t_ns += duration_ns;
	wtl_consumers_bill(f->consumers, f->energies, f->t_ns);
	assert_int_equal(wtl_totals_look(&f->totals, f->consumers, f->world.mono_ns), 0);
	check(f);
}

static const struct wtl_totals_group *find(const struct fixture *f, size_t by, const char *name)
{
	const struct wtl_totals_grouping *grouping = &f->totals.by[by];

	for (size_t i = 0; i < grouping->n; i++)
		if (strcmp(grouping->groups[i].name, name) == 0)
			return &grouping->groups[i];
	return NULL;
}

static size_t place(enum wtl_field field)
{
	size_t by = 0;

	while (wtl_totals_groupings[by] != field)
		by++;
	return by;
}

/* ---- Taking ---- */

/* All that is billed is taken, to the microjoule. */
static void test_all_of_it(void **state)
{
	struct fixture f;
	int worker;

	(void)state;
	start(&f);
	worker = world_fork(&f.world, 1);
	world_exec(&f.world, worker, "worker", "worker");
	world_at(&f.world, worker)->uid = 1000;
	for (int i = 0; i < 5; i++) {
		world_run(&f.world, worker, S / 2);
		use(&f, 10000000, S);
		look(&f, S);
	}
	for (size_t i = 0; i < f.n; i++)
		assert_int_equal(wtl_totals_sum(&f.totals, i), f.energies[i].energy_uj);
	assert_non_null(find(&f, place(WTL_FIELD_USER), "user-1000"));
	assert_non_null(find(&f, place(WTL_FIELD_NAME), "worker"));
	finish(&f);
}

/* Sampled power is corrected: what falls waits until it has grown again. */
static void test_corrections(void **state)
{
	struct fixture f;
	int worker;

	(void)state;
	start(&f);
	worker = world_fork(&f.world, 1);
	for (int i = 0; i < 60; i++) {
		world_run(&f.world, worker, S / 4);
		use(&f, i % 3 == 2 ? -4000000 : 5000000, S);
		look(&f, S);
	}
	/* The last correction is not yet made up for, and no more than that. */
	for (size_t i = 0; i < f.n; i++)
		assert_in_range(wtl_totals_sum(&f.totals, i), f.energies[i].energy_uj,
				f.energies[i].energy_uj + 4000000 * 4);
	finish(&f);
}

/* Processes come, run, and end; their accounts are folded into others'; idle power is learned meanwhile. */
static void test_coming_and_going(void **state)
{
	struct fixture f;
	int pids[40] = {0};

	(void)state;
	start(&f);
	srand(1);
	for (int i = 0; i < 300; i++) {
		for (int k = 0; k < 4; k++) {
			int *pid = &pids[rand() % 40];

			if (*pid && rand() % 3 == 0) {
				world_end(&f.world, *pid);
				*pid = 0;
			} else if (!*pid) {
				char name[16];

				*pid = world_fork(&f.world, 1);
				snprintf(name, sizeof(name), "name-%d", rand() % 200);
				world_exec(&f.world, *pid, name, name);
				world_at(&f.world, *pid)->uid = (uint32_t)(rand() % 90);
			}
			if (*pid)
				world_run(&f.world, *pid, rand() % (S / 8));
		}
		world_child(&f.world, 1, "short", S / 100);
		world_unseen(&f.world, rand() % (S / 50));
		use(&f, rand() % 20000000, S);
		look(&f, S);
	}
	assert_true(f.totals.accounts_uj[WTL_TOTALS_IDLE] > 0);
	assert_true(sum_of(&f.totals, 0, 0, WTL_TOTALS_IDLE_PART) > 0);
	assert_int_equal(f.totals.by[place(WTL_FIELD_NAME)].n, WTL_TOTALS_GROUPS);
	assert_true(f.totals.by[place(WTL_FIELD_NAME)].has_retired);
	assert_int_equal(f.totals.by[place(WTL_FIELD_USER)].n, WTL_TOTALS_GROUPS);
	for (size_t i = 0; i < f.n; i++)
		assert_int_equal(wtl_totals_sum(&f.totals, i), f.energies[i].energy_uj);
	finish(&f);
}

/* Where nobody is followed, it is nobody's. */
static void test_unseen(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	for (int i = 1; i <= 5; i++) {
		use(&f, i == 3 ? -1000 : 1000000, S);
		assert_int_equal(wtl_totals_look_unseen(&f.totals, f.energies, i * S), 0);
		check(&f);
	}
	for (size_t i = 0; i < f.n; i++)
		assert_int_equal(
			f.totals.accounts_uj[i * WTL_TOTALS_ACCOUNTS + WTL_TOTALS_UNATTRIBUTED],
			f.energies[i].energy_uj);
	finish(&f);
}

/* ---- Groups ---- */

/* Who works keeps its place; who rests gives it up to somebody new. What it had used is not used once more. */
static void test_overflow(void **state)
{
	size_t by = place(WTL_FIELD_USER);
	const struct wtl_totals_group *overflow;
	const uint64_t *processes_uj;
	uint64_t overflow_uj, used_uj;
	struct fixture f;
	int pids[80];

	(void)state;
	start(&f);
	for (int i = 0; i < 80; i++) {
		pids[i] = world_fork(&f.world, 1);
		world_at(&f.world, pids[i])->uid = 1000 + (uint32_t)i;
	}
	for (int t = 0; t < 3; t++) {
		for (int i = 0; i < 80; i++)
			world_run(&f.world, pids[i], S / 100);
		use(&f, 100000000, S);
		look(&f, S);
	}
	assert_int_equal(f.totals.by[by].n, WTL_TOTALS_GROUPS);
	assert_true(f.totals.by[by].has_overflow);
	overflow = &f.totals.by[by].groups[WTL_TOTALS_OVERFLOW_PLACE];
	overflow_uj = wtl_totals_energy(&f.totals, overflow, 0, WTL_TOTALS_DYNAMIC);
	assert_true(overflow_uj > 0);
	assert_false(f.totals.by[by].has_retired);
	processes_uj = &f.totals.accounts_uj[WTL_TOTALS_PROCESSES];
	for (int t = 0; t < 15; t++) {
		for (int i = 20; i < 80; i++)
			world_run(&f.world, pids[i], S / 100);
		use(&f, 100000000, S);
		used_uj = *processes_uj;
		look(&f, S);
		used_uj = *processes_uj - used_uj;
		/* It grew by what the 16 used now that had no place, at most. */
		assert_true(wtl_totals_energy(&f.totals, overflow, 0, WTL_TOTALS_DYNAMIC) <=
			    overflow_uj + used_uj * 17 / 60);
		overflow_uj = wtl_totals_energy(&f.totals, overflow, 0, WTL_TOTALS_DYNAMIC);
	}
	assert_non_null(find(&f, by, "user-1079"));
	assert_true(f.totals.by[by].has_retired);
	assert_int_equal(f.totals.by[by].n, WTL_TOTALS_GROUPS);
	finish(&f);
}

/* Anybody may be called as the overflow and the retired are: there is one group of each name. */
static void test_called_as_the_overflow(void **state)
{
	size_t by = place(WTL_FIELD_NAME);
	static const char *const names[] = {WTL_TOTALS_OVERFLOW, WTL_TOTALS_RETIRED};
	struct fixture f;

	(void)state;
	start(&f);
	for (size_t i = 0; i < UNIT_COUNT(names); i++) {
		int worker = world_fork(&f.world, 1);

		world_exec(&f.world, worker, names[i], "x");
		world_run(&f.world, worker, S / 2);
	}
	use(&f, 10000000, S);
	look(&f, S);
	for (size_t i = 0; i < UNIT_COUNT(names); i++)
		assert_null(find(&f, by, names[i]));
	assert_true(f.totals.by[by].has_overflow);
	assert_false(f.totals.by[by].has_retired);
	finish(&f);
}

/* ---- Memory ---- */

static char *saved(const struct wtl_totals *totals)
{
	struct wtl_buf buf;

	wtl_buf_init(&buf, TEXT_MAX);
	wtl_totals_save(totals, &buf);
	assert_int_equal(buf.error, 0);
	return buf.data;
}

/* Counters of processes with such names as a text of fields may break at. */
static void fill(struct fixture *f)
{
	static const char *const names[] = {"a b;c%20", "%", "tab", "é漢", "x;domain y 1 2 3 4"};

	for (size_t i = 0; i < UNIT_COUNT(names); i++) {
		int pid = world_fork(&f->world, 1);

		world_exec(&f->world, pid, names[i], "x");
		world_run(&f->world, pid, S / 10);
	}
	use(f, 10000000, S);
	look(f, S);
}

static void test_round_trip(void **state)
{
	struct fixture f;
	char *text, *again;

	(void)state;
	start(&f);
	fill(&f);
	text = saved(&f.totals);
	wtl_totals_done(&f.totals);
	start_totals(&f);
	assert_int_equal(wtl_totals_load(&f.totals, text), 0);
	check(&f);
	again = saved(&f.totals);
	assert_string_equal(again, text);
	assert_non_null(find(&f, place(WTL_FIELD_NAME), "a b;c%20"));
	/* It goes on from there. */
	wtl_consumers_begin(f.consumers);
	memset(f.energies, 0, sizeof(f.energies));
	use(&f, 1000000, S);
	look(&f, S);
	assert_int_equal(wtl_totals_sum(&f.totals, 0), 11000000);
	free(text);
	free(again);
	finish(&f);
}

/* The machine's energy does not fall where a domain is not there any more, or is not counted. */
static void test_other_domains(void **state)
{
	struct fixture f;
	uint64_t host_uj;
	char *text;

	(void)state;
	start(&f);
	fill(&f);
	text = saved(&f.totals);
	host_uj = f.totals.host_uj;
	assert_true(host_uj > 10000000);
	wtl_totals_done(&f.totals);
	f.n = 1;
	start_totals(&f);
	assert_int_equal(wtl_totals_load(&f.totals, text), 0);
	assert_int_equal(f.totals.host_uj, host_uj);
	check(&f);
	free(text);
	finish(&f);
}

static void check_nothing(const struct wtl_totals *totals)
{
	for (size_t i = 0; i < totals->n_domains; i++)
		assert_int_equal(wtl_totals_sum(totals, i), 0);
	assert_int_equal(totals->host_uj, 0);
	for (size_t by = 0; by < WTL_TOTALS_GROUPINGS; by++)
		assert_int_equal(totals->by[by].n, 0);
}

/* Any damage: it is refused and all is 0, or what was loaded adds up. */
static void load_damaged(struct fixture *f, const char *text)
{
	int rc = wtl_totals_load(&f->totals, text);

	if (rc < 0) {
		assert_int_equal(rc, -EINVAL);
		check_nothing(&f->totals);
	}
	memset(f->accounts_uj, 0, sizeof(f->accounts_uj));
	f->host_uj = 0;
	check(f);
}

static void test_damaged(void **state)
{
	struct fixture f;
	size_t len;
	char *text;

	(void)state;
	start(&f);
	fill(&f);
	text = saved(&f.totals);
	len = strlen(text);
	srand(2);
	for (size_t i = 0; i < len; i++) {
		char *copy = strdup(text);

		copy[i] = (char)(1 + rand() % 255);
		load_damaged(&f, copy);
		copy[i] = '\0';
		load_damaged(&f, copy);
		free(copy);
	}
	assert_int_equal(wtl_totals_load(&f.totals, text), 0);
	free(text);
	finish(&f);
}

/* A unit's name may be cut behind a blank, and its owner chooses it: that is no reason to forget all counters. */
static void test_names_that_are_not_clean(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	assert_int_equal(wtl_totals_load(&f.totals, "wattle-totals 1;group unit package-0 0 0 a%20;"
						    "group user package-0 0 0 \x01;"),
			 0);
	assert_string_equal(f.totals.by[1].groups[0].name, "a");
	assert_string_equal(f.totals.by[0].groups[0].name, "?");
	finish(&f);
}

static void test_bad_texts(void **state)
{
	static const char *const texts[] = {
		"",
		"wattle-totals",
		"wattle-totals 2;",
		"wattle-totals 1;host 1",
		"wattle-totals 1;host -1;",
		"wattle-totals 1;host 1152921504606846976;",
		"wattle-totals 1;domain package-0 1 2 3;",
		"wattle-totals 1;domain package-0 1 2 3 99999999999999999999;",
		"wattle-totals 1;domain package-0 1 0 0 0;",
		"wattle-totals 1;domain package-0 0 0 0 0;group user package-0 1 0 a;",
		"wattle-totals 1;group nobody package-0 0 0 a;",
		"wattle-totals 1;group user package-0 0 0 %0;",
		"wattle-totals 1;group user package-0 0 0 %00;",
		"wattle-totals 1;other 1 2 3 4 5;",
	};
	struct fixture f;

	(void)state;
	start(&f);
	for (size_t i = 0; i < UNIT_COUNT(texts); i++) {
		assert_int_equal(wtl_totals_load(&f.totals, texts[i]), -EINVAL);
		check_nothing(&f.totals);
	}
	assert_int_equal(wtl_totals_load(&f.totals, "wattle-totals 1;"), 0);
	finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_of_it),
		cmocka_unit_test(test_corrections),
		cmocka_unit_test(test_coming_and_going),
		cmocka_unit_test(test_unseen),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_called_as_the_overflow),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_other_domains),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_names_that_are_not_clean),
		cmocka_unit_test(test_bad_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
