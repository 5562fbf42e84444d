/* SPDX-License-Identifier: MIT */
/*
 * Machines whose programs draw different watts, few of them and more than are learned apart: live, replayed, and replayed
 * with what came later. All of it is in tests/golden/learned.*.txt, to four digits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "golden.h"
#include "meter/known_watts.h"
#include "meter/learned.h"
#include "replay/history.h"
#include "replay_bench.h"
#include "unit.h"

enum { PROGRAMS = 75, POOL = 3, SECONDS = 90, TEXT_MAX = 1 << 20, PRINTED = 15 };

struct life {
	struct replay_bench f;
	struct wtl_buf text;
	int n_programs, programs[PROGRAMS], pool[POOL], parent;
	unsigned looks; /* a second: 1; or 2, of which the first takes 0.3 to 0.7 s */
	unsigned more;	/* times as much each uses */
	uint64_t memory_counts[2], random;
};

static unsigned random_below(struct life *life, unsigned n)
{
	life->random = life->random * 6364136223846793005U + 1442695040888963407U;
	return (unsigned)(life->random >> 33) % n;
}

/* What a program draws in a second of CPU time, of the packages; of memory, a tenth of that for every third. */
static double watts_of(int program)
{
	return 2.0 + program * 7 % 19;
}

static void use(struct life *life, int pid, double watts, int64_t cpu_ns)
{
	double joules = watts * (double)cpu_ns / 1e9;

	world_run(&life->f.world, pid, cpu_ns);
	for (int i = 0; i < 2; i++)
		life->f.package_counts[i] += (uint64_t)(joules / 2.0 * 0x1p32);
}

/* A tenth of a second. Some rest for a second, all of them for some, and two of one name draw alike. */
static void tenth(struct life *life, int second)
{
	static const char *const files[] = {"/wattle-perf/18-3-0", "/wattle-perf/18-3-32"};
	bool is_rest = second % 20 >= 16;

	for (int i = 0; i < life->n_programs && !is_rest; i++) {
		int64_t cpu_ns = (1 + (i * 5 + second) % 9) * (i < 40 ? MS / 2 : MS / 8);

		cpu_ns *= life->more;
		if (!life->programs[i] || (i * 13 + second * 7) % 5 == 0)
			continue;
		use(life, life->programs[i], watts_of(i), cpu_ns);
		if (i % 3 == 0)
			life->memory_counts[i % 2] +=
				(uint64_t)(0.1 * watts_of(i) * (double)cpu_ns / 1e9 * 0x1p32);
	}
	for (int i = 0; i < POOL && !is_rest; i++)
		use(life, life->pool[i], 4.0 + 5.0 * (i == 0), (i == 0 ? 30 : 3) * MS);
	if (second % 7 == 3)
		world_unseen(&life->f.world, 20 * MS);
	for (int i = 0; i < 2; i++) {
		life->memory_counts[i] += UINT64_C(1) << 31;
		meter_bench_write(&life->f.bench, files[i], "%llu\n",
				  (unsigned long long)life->memory_counts[i]);
	}
	replay_bench_pass(&life->f);
}

static void fork_program(struct life *life, int i)
{
	char name[16];

	snprintf(name, sizeof(name), "p%02d", i);
	life->programs[i] = world_fork(&life->f.world, life->parent);
	world_exec(&life->f.world, life->programs[i], name, name);
}

static void live_second(struct life *life, int second)
{
	struct world *world = &life->f.world;
	int i = (int)random_below(life, (unsigned)life->n_programs);

	/* One comes, goes or comes back; a child lives for less than a look. */
	if (second % 3 == 1 && life->programs[i])
		world_end(world, life->programs[i]);
	if (second % 3 == 1)
		life->programs[i] = 0;
	else if (!life->programs[i])
		fork_program(life, i);
	if (second % 4 == 2)
		world_child(world, life->parent, "cc1", 30 * MS);
	for (int k = 0; k < 10; k++) {
		tenth(life, second);
		if (life->looks > 1 && k == 2 + second % 5)
			replay_bench_bill(&life->f);
	}
	if (second == 60)
		wtl_consumers_machine_changed(life->f.consumers);
}

/* ---- What is printed ---- */

static void print_consumers(struct wtl_buf *text, const struct wtl_consumers *consumers)
{
	for (size_t slot = 0; slot < wtl_consumers_slots(consumers); slot++) {
		const struct wtl_consumer *who = wtl_consumers_get(consumers, slot);
		struct wtl_share_energy energy;
		struct wtl_per_cpu watts;

		if (!who || who->cpu_ns == 0)
			continue;
		wtl_consumers_energy(consumers, slot, WTL_PART_ALL, &energy);
		wtl_consumers_per_cpu(consumers, slot, &watts);
		wtl_buf_printf(text, "%-6s %.4g s: %.4g J +- %.2g", who->name,
			       (double)who->cpu_ns / 1e9, (double)energy.full_uj / 1e6,
			       (double)energy.full_uncertainty_uj / 1e6);
		if (energy.has_dynamic)
			wtl_buf_printf(text, ", dynamic %.4g J +- %.2g",
				       (double)energy.dynamic_uj / 1e6,
				       (double)energy.uncertainty_uj / 1e6);
		if (watts.power_uw > 0)
			wtl_buf_printf(text, ", %.4g W +- %.2g", (double)watts.power_uw / 1e6,
				       (double)watts.uncertainty_uw / 1e6);
		wtl_buf_puts(text, "\n");
	}
}

static void print_domains(struct wtl_buf *text, struct wattle_meter *meter,
			  const struct wtl_consumers *consumers)
{
	for (size_t i = 0; i < wattle_meter_domains(meter); i++) {
		struct wattle_domain domain = {.size = sizeof(domain)};
		struct wtl_baseline idle;
		struct wtl_ledger ledger;

		wattle_meter_domain(meter, i, &domain);
		wtl_consumers_baseline(consumers, i, &idle);
		wtl_consumers_ledger(consumers, i, &ledger);
		assert_true(wtl_ledger_closed(&ledger));
		wtl_buf_printf(text,
			       "%s: live %.4g exited %.4g idle %.4g unattributed %.4g J, "
			       "at rest %d %.4g W +- %.2g\n",
			       domain.name, (double)ledger.live_uj / 1e6,
			       (double)ledger.exited_uj / 1e6, (double)ledger.idle_uj / 1e6,
			       (double)ledger.unattributed_uj / 1e6, idle.is_known,
			       (double)idle.idle_uw / 1e6, (double)idle.uncertainty_uw / 1e6);
	}
}

static void print_now(struct wtl_buf *text, unsigned n_bills, struct wattle_meter *meter,
		      const struct wtl_consumers *consumers)
{
	if (n_bills % PRINTED != 0)
		return;
	wtl_buf_printf(text, "after %u s\n", n_bills);
	print_domains(text, meter, consumers);
	print_consumers(text, consumers);
}

/* ---- What is known from before ---- */

static struct wtl_known_watts known_of(const char *of, const char *name, uint32_t key,
				       int64_t seen_s)
{
	struct wtl_known_watts known = {.key = key, .watts.seen_ns = seen_s * S};

	snprintf(known.of, sizeof(known.of), "%s", of);
	snprintf(known.name, sizeof(known.name), "%s", name);
	return known;
}

static int64_t seen_s(const struct wtl_known_table *table, const char *of, const char *name,
		      uint32_t key)
{
	const struct wtl_known_watts *known = wtl_known_find(table, of, name, key);

	return known ? known->watts.seen_ns / S : -1;
}

static void put(struct wtl_known_table *table, struct wtl_known_watts known)
{
	wtl_known_put(table, &known);
}

/* By name, or by whose it is: then the name does not matter. In a full one, who was seen least makes room for more. */
static void test_known_table(void **state)
{
	static struct wtl_known_table table;
	char name[16];

	(void)state;
	table.n = 0;
	put(&table, known_of("a", "x", 0, 10));
	put(&table, known_of("b", "x", 0, 20));
	put(&table, known_of("a", "x", 7, 30));
	put(&table, known_of("a", "y", 8, 40));
	assert_int_equal(seen_s(&table, "a", "x", 0), 10);
	assert_int_equal(seen_s(&table, "b", "x", 0), 20);
	assert_int_equal(seen_s(&table, "a", "other", 7), 30);
	assert_int_equal(seen_s(&table, "a", "x", 8), 40);
	assert_int_equal(seen_s(&table, "a", "y", 0), -1);
	assert_int_equal(seen_s(&table, "b", "x", 7), -1);
	/* It is replaced, by less as well. */
	put(&table, known_of("a", "x", 0, 5));
	assert_int_equal(seen_s(&table, "a", "x", 0), 5);
	assert_int_equal(table.n, 4);
	for (int i = 4; i < WTL_KNOWN_WATTS_MAX; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		put(&table, known_of("a", name, 0, 100 + i));
	}
	assert_int_equal(table.n, WTL_KNOWN_WATTS_MAX);
	put(&table, known_of("a", "less", 0, 4));
	assert_int_equal(seen_s(&table, "a", "less", 0), -1);
	put(&table, known_of("a", "as much", 0, 5));
	assert_int_equal(seen_s(&table, "a", "as much", 0), 5);
	assert_int_equal(seen_s(&table, "a", "x", 0), -1);
	put(&table, known_of("a", "more", 0, 300));
	put(&table, known_of("a", "most", 0, 400));
	assert_int_equal(seen_s(&table, "a", "as much", 0), -1);
	assert_int_equal(seen_s(&table, "b", "x", 0), -1);
	assert_int_equal(seen_s(&table, "a", "more", 0), 300);
	assert_int_equal(seen_s(&table, "a", "most", 0), 400);
	assert_int_equal(table.n, WTL_KNOWN_WATTS_MAX);
}

/* ---- The life ---- */

static void know(struct life *life, const char *of, const char *name, uint64_t uw)
{
	struct wtl_known_watts known = {.watts = {.is_known = true,
						  .idle_uw = uw,
						  .uncertainty_uw = uw / 20,
						  .t_utc_ns = 1700000000 * S,
						  .seen_ns = 60 * S}};

	snprintf(known.of, sizeof(known.of), "%s", of);
	snprintf(known.name, sizeof(known.name), "%s", name);
	assert_int_equal(wtl_consumers_know_watts(life->f.consumers, &known), 0);
}

static void start(struct life *life, int n_programs, unsigned more)
{
	const struct replay_setup setup = {.root = "xeon-2s-dram",
					   .weight = WTL_WEIGHT_LEARNED,
					   .store = {.period_ns = 20 * S}};

	memset(life, 0, sizeof(*life));
	life->n_programs = n_programs;
	life->more = more;
	wtl_buf_init(&life->text, TEXT_MAX);
	replay_bench_start_on(&life->f, &setup);
	life->f.bench.clock_step_ns = 0;
	know(life, "packages", "p05", 18000000);
	know(life, "packages", "p11", 3000000);
	know(life, "memories", "p06", 900000);
	know(life, "packages", "nobody", 3000000);
	life->parent = world_fork(&life->f.world, 1);
	for (int i = 0; i < n_programs; i += 1 + (i >= 60))
		fork_program(life, i);
	for (int i = 0; i < POOL; i++) {
		life->pool[i] = world_fork(&life->f.world, life->parent);
		world_exec(&life->f.world, life->pool[i], "pool", "pool");
	}
	replay_bench_begin(&life->f);
}

static void print_known(struct life *life)
{
	const struct wtl_known_table *known =
		wtl_consumers_keep_watts(life->f.consumers, 1700001000 * S);

	for (size_t i = 0; known && i < known->n; i++)
		wtl_buf_printf(&life->text, "%s of %s: %.4g W +- %.2g, by %.3g s\n",
			       known->at[i].name, known->at[i].of,
			       (double)known->at[i].watts.idle_uw / 1e6,
			       (double)known->at[i].watts.uncertainty_uw / 1e6,
			       (double)known->at[i].watts.seen_ns / 1e9);
}

static void play(struct life *life, bool smooths)
{
	const struct wtl_history_options options = {.policy = {.has_weight = smooths,
							       .weight = WTL_WEIGHT_LEARNED,
							       .smooths = smooths}};
	struct wtl_history *history = NULL;
	struct wtl_played played;
	unsigned n_bills = 0;
	int rc;

	assert_int_equal(wtl_history_open(life->f.path, &options, &history, NULL), 0);
	wtl_buf_clear(&life->text);
	while ((rc = wtl_history_step(history, &played, NULL)) > 0)
		if (played.kind == WTL_PLAYED_BILLED && ++n_bills % life->looks == 0)
			print_now(&life->text, n_bills / life->looks, history->meter,
				  history->consumers);
	assert_int_equal(rc, 0);
	assert_int_equal(n_bills, life->looks * SECONDS + 1);
	wtl_history_close(history);
}

static void check_life(const char *name, int n_programs, unsigned more, unsigned looks)
{
	static struct life life; /* large */
	char *live, file[64];

	start(&life, n_programs, more);
	life.looks = looks;
	for (unsigned second = 0; second < SECONDS; second++) {
		live_second(&life, (int)second);
		replay_bench_bill(&life.f);
		print_now(&life.text, second + 1, life.f.bench.meter, life.f.consumers);
	}
	replay_bench_end(&life.f);
	live = strdup(wtl_buf_str(&life.text));
	print_known(&life);
	assert_int_equal(life.text.error, 0);
	snprintf(file, sizeof(file), "learned.%s.live.txt", name);
	golden_check(file, wtl_buf_str(&life.text));
	replay_bench_stop(&life.f);
	replay_bench_check(&life.f, NULL);
	play(&life, false);
	assert_string_equal(wtl_buf_str(&life.text), live);
	play(&life, true);
	snprintf(file, sizeof(file), "learned.%s.smoothed.txt", name);
	golden_check(file, wtl_buf_str(&life.text));
	free(live);
	wtl_buf_done(&life.text);
	replay_bench_finish(&life.f);
}

static void test_few(void **state)
{
	(void)state;
	check_life("few", 4, 12, 1);
}

static void test_many(void **state)
{
	(void)state;
	check_life("many", PROGRAMS, 1, 1);
}

static void test_uneven_looks(void **state)
{
	(void)state;
	check_life("uneven", 4, 12, 2);
}

/* Two of one name that draw different watts: what is kept of it is that of who used more, whoever was there first. */
static void check_kept_of_several(int first_second)
{
	static struct life life;
	const struct wtl_known_watts *known;

	start(&life, 0, 1);
	for (int k = 0; k < 10 * SECONDS; k++) {
		int second = k / 10;

		if (second % 20 < 16 && second >= first_second)
			use(&life, life.pool[0], 24.0, second * 7 % 10 * 9 * MS);
		if (second % 20 < 16)
			use(&life, life.pool[1], 12.0, second * 3 % 7 * 10 * MS);
		replay_bench_pass(&life.f);
		if (k % 10 == 9)
			replay_bench_bill(&life.f);
	}
	known = wtl_known_find(wtl_consumers_keep_watts(life.f.consumers, 1700001000 * S),
			       "packages", "pool", 0);
	assert_non_null(known);
	assert_in_range(known->watts.idle_uw, 20000000, 28000000);
	replay_bench_end(&life.f);
	wtl_buf_done(&life.text);
	replay_bench_finish(&life.f);
}

/* Power at rest that was given stays, whatever use tells of it. */
static void test_given_idle(void **state)
{
	const struct wtl_baseline given = {.is_known = true,
					   .is_given = true,
					   .idle_uw = 50000000,
					   .uncertainty_uw = 40000000};
	static struct life life;
	struct wtl_baseline idle;

	(void)state;
	start(&life, 0, 1);
	wtl_consumers_fix_baseline(life.f.consumers, 0, &given);
	for (int k = 0; k < 10 * SECONDS; k++) {
		use(&life, life.pool[0], 24.0, k / 10 % 8 * 10 * MS);
		replay_bench_pass(&life.f);
		if (k % 10 == 9)
			replay_bench_bill(&life.f);
	}
	wtl_consumers_baseline(life.f.consumers, 0, &idle);
	assert_int_equal(idle.idle_uw, given.idle_uw);
	replay_bench_end(&life.f);
	wtl_buf_done(&life.text);
	replay_bench_finish(&life.f);
}

/* Power at rest of both packages is known from before: so is at once, of use that never changes, what draws the rest. */
static void test_known_idle(void **state)
{
	static struct life life;
	struct wtl_per_cpu watts;
	unsigned n_found = 0;

	(void)state;
	start(&life, 0, 1);
	for (size_t i = 0; i < 2; i++) {
		const struct wtl_baseline known = {.is_known = true,
						   .idle_uw = 10000000 * (JOULES + i),
						   .uncertainty_uw = 300000 + 100000 * i};

		wtl_consumers_set_baseline(life.f.consumers, i, &known);
	}
	for (int k = 0; k < 100; k++) {
		use(&life, life.pool[0], 24.0, 50 * MS);
		replay_bench_pass(&life.f);
		if (k % 10 == 9)
			replay_bench_bill(&life.f);
	}
	for (size_t slot = 0; slot < wtl_consumers_slots(life.f.consumers); slot++) {
		const struct wtl_consumer *who = wtl_consumers_get(life.f.consumers, slot);

		if (!who || who->pid != life.pool[0])
			continue;
		wtl_consumers_per_cpu(life.f.consumers, slot, &watts);
		n_found++;
		assert_in_range(watts.power_uw, 23500000, 24500000);
		/* What being awake draws cannot be told from it. */
		assert_in_range(watts.uncertainty_uw, 1, 30000000);
	}
	assert_int_equal(n_found, 1);
	replay_bench_end(&life.f);
	wtl_buf_done(&life.text);
	replay_bench_finish(&life.f);
}

static void test_kept_of_several(void **state)
{
	(void)state;
	check_kept_of_several(0);
	check_kept_of_several(12);
}

/* What is kept of a program rests on all of its use, up to a day of it; and only if that was told apart well. */
static void test_kept_from_session_to_session(void **state)
{
	static const struct {
		const char *name;
		struct wtl_watts_figure found;
		double use_s;
		bool is_kept;
		int64_t seen_s;
	} sessions[] = {
		{"a", {10.0, 1.0}, 60.0, true, 60},    {"a", {12.0, 2.4}, 40.0, true, 100},
		{"b", {12.0, 2.41}, 40.0, false, 0},   {"a", {1e9, 1.0}, 40.0, true, 140},
		{"a", {1.1e9, 1.0}, 40.0, false, 140}, {"a", {10.0, 1.0}, 86400.0, true, 86400},
	};
	struct wtl_known_programs programs = {.is_told = false};

	(void)state;
	assert_true(wtl_known_is_kept("a", 10.0));
	assert_false(wtl_known_is_kept("a", 9.99) || wtl_known_is_kept("", 10.0));
	for (size_t i = 0; i < UNIT_COUNT(sessions); i++) {
		const struct wtl_known_watts *known;

		assert_int_equal(wtl_known_keep(&programs, "packages", sessions[i].name,
						&sessions[i].found, sessions[i].use_s, S),
				 sessions[i].is_kept);
		known = wtl_known_find(programs.table, "packages", sessions[i].name, 0);
		assert_int_equal(known != NULL, sessions[i].seen_s > 0);
		if (!known)
			continue;
		assert_int_equal(known->watts.seen_ns, sessions[i].seen_s * S);
		if (sessions[i].is_kept)
			assert_int_equal(known->watts.idle_uw, sessions[i].found.w * 1e6);
	}
	wtl_known_done(&programs);
}

/* ---- Without a meter ---- */

struct few {
	struct world world; /* large */
	struct wtl_learned *learned;
	int pids[2];
	unsigned looks;
	struct wtl_baseline idle[2];
};

static void few_start(struct few *few, const char *const domains[], size_t n,
		      enum wtl_learned_sum sum)
{
	memset(few, 0, sizeof(*few));
	world_init(&few->world);
	for (int i = 0; i < 2; i++) {
		few->pids[i] = world_fork(&few->world, 1);
		world_exec(&few->world, few->pids[i], i ? "b" : "a", "x");
	}
	world_open(&few->world, NULL);
	few->learned = wtl_learned_new(n, false);
	assert_non_null(few->learned);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(wtl_learned_add_domain(few->learned, i, domains[i], sum), 0);
}

/* A second of which domains from `first` to before `end` tell: 20 W at rest, 12 W for each second of the first's use, and
 * 6 W of the other one's. */
static void few_look(struct few *few, size_t first, size_t end)
{
	int64_t use_ms[2] = {few->looks * 7 % 10 * 60, few->looks * 3 % 7 * 90};
	uint64_t energy_uj = 20000000;

	few->looks++;
	for (int i = 0; i < 2; i++) {
		world_run(&few->world, few->pids[i], use_ms[i] * MS);
		energy_uj += (uint64_t)use_ms[i] * (i ? 6000 : 12000);
	}
	world_look(&few->world, S);
	assert_int_equal(
		wtl_learned_widen(few->learned, wtl_workload_capacity(few->world.workload)), 0);
	wtl_learned_scan(few->learned, few->world.workload);
	for (size_t i = first; i < end; i++)
		wtl_learned_add(few->learned, i, energy_uj, S, 0.01, &few->idle[i]);
}

static void few_done(struct few *few)
{
	wtl_learned_free(few->learned);
	world_done(&few->world);
}

/* What is learned of two packages together is told with the first one; if one tells nothing for more than 8 looks, each
 * goes by its own. */
static void test_missing_part(void **state)
{
	static const char *const packages[] = {"package-0", "package-1"};
	static struct few few;
	struct wtl_watts_figure watts;
	uint32_t key;

	(void)state;
	few_start(&few, packages, 2, WTL_LEARNED_PACKAGES);
	/* Of the first look, in which nothing runs yet, no use is known; from the 8th on it is told. */
	for (int k = 0; k < 40; k++) {
		few_look(&few, 0, 2);
		key = world_consumer(&few.world, few.pids[0])->watts_key;
		assert_int_equal(wtl_learned_watts(few.learned, 0, key, &watts), k >= 8);
	}
	assert_true(watts.w > 23.0 && watts.w < 25.0);
	assert_false(wtl_learned_watts(few.learned, 1, key, &watts));
	for (int k = 1; k <= 9; k++) {
		few_look(&few, 1, 2);
		assert_int_equal(wtl_learned_watts(few.learned, 1, key, &watts), k > 8);
	}
	assert_true(watts.w > 11.0 && watts.w < 13.0);
	few_look(&few, 0, 2);
	few_look(&few, 0, 2);
	assert_false(wtl_learned_watts(few.learned, 1, key, &watts));
	/* Of a look in which nothing is known of the processors, nothing is told. */
	assert_true(wtl_learned_awake_s(few.learned) > 0.0);
	few.world.no_stat = true;
	few_look(&few, 0, 2);
	few_look(&few, 0, 2);
	assert_true(wtl_learned_awake_s(few.learned) == 0.0);
	few_done(&few);
}

/* Of power at rest that was given, or is known of one package only, what users draw is not inferred. */
static void test_idle_of_parts(void **state)
{
	static const char *const packages[] = {"package-0", "package-1"};
	static struct few few;

	(void)state;
	for (int is_given = 0; is_given < 2; is_given++) {
		const struct wtl_baseline idle = {.is_known = true,
						  .is_given = is_given,
						  .idle_uw = is_given ? 5000000 : 20000000,
						  .uncertainty_uw = 100000};
		struct wtl_watts_figure watts;
		uint32_t key;

		few_start(&few, packages, 2, WTL_LEARNED_PACKAGES);
		few.idle[0] = idle;
		if (is_given)
			few.idle[1] = idle;
		for (int k = 0; k < 40; k++)
			few_look(&few, 0, 2);
		key = world_consumer(&few.world, few.pids[0])->watts_key;
		assert_true(wtl_learned_watts(few.learned, 0, key, &watts));
		assert_true(watts.w > 23.0 && watts.w < 25.0);
		few_done(&few);
	}
}

/* Of a domain alone, the first as well: what is known is begun with, and kept, once however often that is asked for. */
static void test_kept_of_one_domain(void **state)
{
	static const char *const battery[] = {"battery"};
	static struct few few;
	struct wtl_known_watts known = known_of("battery", "a", 0, 60);
	const struct wtl_known_table *table;

	(void)state;
	few_start(&few, battery, 1, WTL_LEARNED_ALONE);
	known.watts.idle_uw = 9000000;
	assert_int_equal(wtl_learned_know(few.learned, &known), 0);
	for (int k = 0; k < 60; k++)
		few_look(&few, 0, 1);
	assert_non_null(wtl_learned_begun(few.learned, 0));
	assert_string_equal(wtl_learned_begun(few.learned, 0)->name, "a");
	assert_null(wtl_learned_begun(few.learned, 1));
	for (int again = 0; again < 2; again++) {
		table = wtl_learned_keep(few.learned, S);
		assert_int_equal(table->n, 2);
		assert_int_equal(seen_s(table, "battery", "a", 0), 60 + 16);
		assert_int_equal(seen_s(table, "battery", "b", 0), 16);
	}
	assert_in_range(wtl_known_find(table, "battery", "a", 0)->watts.idle_uw, 11000000,
			13000000);
	few_done(&few);
}

/* Who begins with a program's watts is noted for who replays it, as long as there is room; who replays it goes by keys. */
static void test_known_from_the_beginning(void **state)
{
	struct wtl_known_programs programs = {.is_told = false}, told = {.is_told = true};
	struct wtl_known_watts known = known_of("a", "x", 0, 10),
			       nothing = known_of("a", "y", 0, 10);
	struct wtl_watts_figure watts;

	(void)state;
	assert_false(wtl_known_begin(&programs, "a", "x", 1, &watts));
	known.watts.idle_uw = 10000000;
	known.watts.uncertainty_uw = 1500000;
	assert_int_equal(wtl_known_add(&programs, &known), 0);
	assert_int_equal(wtl_known_add(&programs, &nothing), 0);
	assert_false(wtl_known_begin(&programs, "a", "y", 1, &watts));
	assert_false(wtl_known_begin(&programs, "b", "x", 1, &watts));
	for (uint32_t key = 1; key <= WTL_KNOWN_WATTS_MAX; key++) {
		assert_true(wtl_known_begin(&programs, "a", "x", key, &watts));
		assert_true(watts.w == 10.0 && watts.uncertainty_w == 2.5);
		assert_int_equal(programs.n_begun, key);
		assert_int_equal(programs.begun[key - 1].key, key);
		assert_int_equal(wtl_known_add(&told, &programs.begun[key - 1]), 0);
	}
	assert_false(wtl_known_begin(&programs, "a", "x", WTL_KNOWN_WATTS_MAX + 1, &watts));
	assert_int_equal(programs.n_begun, WTL_KNOWN_WATTS_MAX);
	for (int again = 0; again < 2; again++)
		assert_true(wtl_known_begin(&told, "a", "", WTL_KNOWN_WATTS_MAX, &watts));
	assert_false(wtl_known_begin(&told, "a", "x", WTL_KNOWN_WATTS_MAX + 1, &watts));
	assert_int_equal(told.n_begun, 0);
	wtl_known_done(&programs);
	wtl_known_done(&told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_table),
		cmocka_unit_test(test_known_from_the_beginning),
		cmocka_unit_test(test_kept_from_session_to_session),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_uneven_looks),
		cmocka_unit_test(test_given_idle),
		cmocka_unit_test(test_known_idle),
		cmocka_unit_test(test_missing_part),
		cmocka_unit_test(test_idle_of_parts),
		cmocka_unit_test(test_kept_of_one_domain),
		cmocka_unit_test(test_kept_of_several),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
