/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "energy/attribution.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter_bench.h"
#include "gpu/abi.h"
#include "gpu/processes.h"
#include "unit.h"
#include "workload/gpu_use.h"
#include "world.h"

#define MS  WTL_NS_PER_MS
#define S   WTL_NS_PER_S
#define UTC (INT64_C(1795248000) * S)

enum { DOMAINS_MAX = 16 };

/* A meter with its domains, a world with its processes, and energies made up by the test. */
struct fixture {
	struct meter_bench bench;
	struct world world;
	struct wtl_consumers *consumers;
	struct wattle_energy energies[DOMAINS_MAX];
	size_t n;
	int64_t t_utc_ns;
};

static void start_by(struct fixture *f, const char *root, enum wtl_weight weight, int exits_errno)
{
	const struct wtl_consumers_options options = {.nvml_path = "", .weight = weight};

	meter_bench_root(&f->bench, root);
	f->bench.nvml = "";
	meter_bench_open(&f->bench);
	world_init(&f->world);
	f->world.has_pmu = true;
	f->world.exits_errno = exits_errno;
	memset(f->energies, 0, sizeof(f->energies));
	f->n = wattle_meter_domains(f->bench.meter);
	assert_in_range(f->n, 1, DOMAINS_MAX);
	f->t_utc_ns = UTC;
	assert_int_equal(
		wtl_consumers_new(f->bench.meter, &f->world.io, &options, &f->consumers, NULL), 0);
}

static void start(struct fixture *f, const char *root)
{
	start_by(f, root, WTL_WEIGHT_CPU_TIME, 0);
}

static void begin(struct fixture *f)
{
	memset(f->energies, 0, sizeof(f->energies));
	wtl_consumers_begin(f->consumers);
}

static void finish(struct fixture *f)
{
	wtl_consumers_free(f->consumers);
	world_done(&f->world);
	meter_bench_done(&f->bench);
}

static size_t find(struct fixture *f, const char *domain)
{
	return meter_bench_find(&f->bench, domain);
}

/* So much more energy of a domain, measured over so much more time. */
static void use(struct fixture *f, const char *domain, double joules, int64_t duration_ns)
{
	struct wattle_energy *energy = &f->energies[find(f, domain)];

	energy->has_energy = 1;
	energy->energy_uj += (uint64_t)(joules * 1e6 + 0.5);
	energy->measured_ns += duration_ns;
	/* The gain of 5 %, and the zero of NVIDIA's cards: 16 W, both at k = 2. */
	energy->uncertainty_uj = energy->energy_uj / 20;
	if (strncmp(domain, "gpu-", 4) == 0)
		energy->uncertainty_uj = (uint64_t)hypot((double)energy->uncertainty_uj,
							 16e-3 * (double)energy->measured_ns);
}

/* What holds at any time: every domain's ledger is closed and is its energy, and so is the sum of all
 * shares. */
static void check_ledgers(struct fixture *f)
{
	for (size_t i = 0; i < f->n; i++) {
		struct wtl_ledger ledger;

		wtl_consumers_ledger(f->consumers, i, &ledger);
		assert_true(wtl_ledger_closed(&ledger));
		assert_int_equal(ledger.total_uj,
				 f->energies[i].has_energy ? f->energies[i].energy_uj : 0);
	}
}

static void bill(struct fixture *f, int64_t duration_ns)
{
	world_pass(&f->world, duration_ns);
	f->t_utc_ns += duration_ns;
	wtl_consumers_bill(f->consumers, f->energies, f->t_utc_ns);
	check_ledgers(f);
}

static size_t slot_of(struct fixture *f, int pid)
{
	for (size_t slot = 0; slot < wtl_consumers_slots(f->consumers); slot++) {
		const struct wtl_consumer *consumer = wtl_consumers_get(f->consumers, slot);

		if (consumer && consumer->pid == pid && consumer->state == WTL_CONSUMER_LIVE)
			return slot;
	}
	fail_msg("process %d has no slot", pid);
	return 0;
}

static struct wtl_share_energy energy_of(struct fixture *f, int pid, enum wtl_part part)
{
	struct wtl_share_energy energy;

	wtl_consumers_energy(f->consumers, slot_of(f, pid), part, &energy);
	return energy;
}

static struct wtl_ledger ledger_of(struct fixture *f, const char *domain)
{
	struct wtl_ledger ledger;

	wtl_consumers_ledger(f->consumers, find(f, domain), &ledger);
	return ledger;
}

/* ---- facts/rapl-and-processes.md 2: 128 CPUs, one busy thread ---- */

static void watch_idle(struct fixture *f, unsigned seconds)
{
	for (unsigned i = 0; i < seconds; i++) {
		use(f, "package-0", 74.05, S);
		use(f, "package-1", 69.86, S);
		use(f, "dram-0", 10.0, S);
		use(f, "dram-1", 10.0, S);
		bill(f, S);
	}
}

static void test_one_busy_thread(void **state)
{
	struct fixture f;
	struct wtl_share_energy energy;
	struct wtl_consumer_power power;
	struct wtl_baseline idle;
	int pid;

	(void)state;
	start(&f, "xeon-2s-dram");
	f.world.n_cpus = 128;
	pid = world_fork(&f.world, 1);
	begin(&f);
	assert_false(wtl_consumers_power(f.consumers, slot_of(&f, pid), WTL_PART_ALL, &power));
	watch_idle(&f, 5);
	assert_true(wtl_consumers_power(f.consumers, slot_of(&f, pid), WTL_PART_ALL, &power));
	assert_int_equal(power.full_uw, 0);
	assert_false(wtl_consumers_power(f.consumers, 1 << 20, WTL_PART_ALL, &power));
	wtl_consumers_baseline(f.consumers, find(&f, "package-0"), &idle);
	assert_true(idle.is_known);
	begin(&f);
	for (int i = 0; i < 10; i++) {
		world_run(&f.world, pid, S);
		use(&f, "package-0", 96.97, S);
		use(&f, "package-1", 84.78, S);
		use(&f, "dram-0", 10.0, S);
		use(&f, "dram-1", 10.0, S);
		bill(&f, S);
	}
	energy = energy_of(&f, pid, WTL_PART_CPU);
	assert_true(energy.has_dynamic);
	/* 37.84 W over 10 s: neither 1.42 W nor 181.75 W. */
	assert_in_range(energy.dynamic_uj, 370000000, 387000000);
	assert_in_range(energy.full_uj, 2017000000, 2018000000);
	assert_true(energy.uncertainty_uj > 0 && energy.uncertainty_uj < energy.dynamic_uj / 2);
	assert_true(wtl_consumers_power(f.consumers, slot_of(&f, pid), WTL_PART_ALL, &power));
	assert_in_range(power.dynamic_uw, 37000000, 38700000);
	finish(&f);
}

/* ---- A vector worker: 1.6 times the watts, and 1.5 times the instructions ---- */

struct pair {
	struct wtl_share_energy scalar, vector;
	struct wtl_command_account command; /* the vector worker */
};

/* Both busy for 10 s: 20 and 32 W. */
static struct pair run_pair(enum wtl_weight weight, const char *name)
{
	struct fixture f;
	struct pair pair;
	int scalar, vector;

	start_by(&f, "xeon-2s-dram", weight, 0);
	f.world.n_cpus = 128;
	scalar = world_fork(&f.world, 1);
	vector = world_fork(&f.world, 1);
	world_at(&f.world, scalar)->per_us = 2000;
	world_at(&f.world, vector)->per_us = 3000;
	begin(&f);
	watch_idle(&f, 5);
	world_run(&f.world, scalar, S);
	world_run(&f.world, vector, S);
	world_pass(&f.world, S);
	begin(&f);
	wtl_consumers_follow(f.consumers, vector);
	for (int i = 0; i < 10; i++) {
		world_run(&f.world, scalar, S);
		world_run(&f.world, vector, S);
		use(&f, "package-0", 74.05 + 52.0, S);
		bill(&f, S);
	}
	assert_string_equal(wtl_consumers_weight(f.consumers, find(&f, "package-0")), name);
	assert_string_equal(wtl_consumers_weight(f.consumers, find(&f, "dram-0")), name);
	pair.scalar = energy_of(&f, scalar, WTL_PART_CPU);
	pair.vector = energy_of(&f, vector, WTL_PART_CPU);
	wtl_consumers_command(f.consumers, &pair.command);
	finish(&f);
	return pair;
}

static void is_about(uint64_t energy_uj, double joules)
{
	assert_in_range(energy_uj, (joules - 1.0) * 1e6, (joules + 1.0) * 1e6);
}

/* The ± covers 200 and 320 J by any weight, and is less where more is known. */
static void check_covered(const struct pair *pair)
{
	assert_true(pair->scalar.dynamic_uj - 200000000 <= pair->scalar.uncertainty_uj);
	assert_true(320000000 - pair->vector.dynamic_uj <= pair->vector.uncertainty_uj);
	assert_int_equal(pair->command.all.dynamic_uj, pair->vector.dynamic_uj);
	assert_int_equal(pair->command.all.uncertainty_uj, pair->vector.uncertainty_uj);
	assert_int_equal(pair->command.cpu_ns, 10 * S);
}

static void test_weights(void **state)
{
	struct pair by_time, by_cycles, by_instructions;

	(void)state;
	by_time = run_pair(WTL_WEIGHT_CPU_TIME, "cpu-time");
	is_about(by_time.scalar.dynamic_uj, 260);
	is_about(by_time.vector.dynamic_uj, 260);
	check_covered(&by_time);
	by_instructions = run_pair(WTL_WEIGHT_INSTRUCTIONS, "instructions");
	is_about(by_instructions.scalar.dynamic_uj, 208);
	is_about(by_instructions.vector.dynamic_uj, 312);
	check_covered(&by_instructions);
	/* The world's count is of whatever is asked for. */
	by_cycles = run_pair(WTL_WEIGHT_CYCLES, "cycles");
	is_about(by_cycles.vector.dynamic_uj, 312);
	check_covered(&by_cycles);
	assert_true(by_instructions.vector.uncertainty_uj < by_cycles.vector.uncertainty_uj);
	assert_true(by_cycles.vector.uncertainty_uj < by_time.vector.uncertainty_uj * 312 / 260);
}

/* Not counted by half: sure by half. */
static void test_partly_counted(void **state)
{
	const struct pair whole = run_pair(WTL_WEIGHT_INSTRUCTIONS, "instructions");
	struct fixture f;
	struct wtl_share_energy energy;
	int pids[2];

	(void)state;
	start_by(&f, "xeon-2s-dram", WTL_WEIGHT_INSTRUCTIONS, 0);
	f.world.n_cpus = 128;
	for (int i = 0; i < 2; i++) {
		pids[i] = world_fork(&f.world, 1);
		world_at(&f.world, pids[i])->per_us = 1000;
	}
	begin(&f);
	watch_idle(&f, 5);
	begin(&f);
	for (int i = 0; i < 2; i++) {
		world_run(&f.world, pids[0], S);
		world_run(&f.world, pids[1], S);
		use(&f, "package-0", 74.05 + 52.0, S);
		bill(&f, S);
	}
	energy = energy_of(&f, pids[0], WTL_PART_CPU);
	assert_true((double)energy.uncertainty_uj / (double)energy.dynamic_uj >
		    1.2 * (double)whole.scalar.uncertainty_uj / (double)whole.scalar.dynamic_uj);
	finish(&f);
}

/* ---- Without a baseline ---- */

static void test_no_baseline(void **state)
{
	struct fixture f;
	struct wtl_share_energy energy;
	struct wtl_ledger ledger;
	int pid;

	(void)state;
	start(&f, "xeon-2s-dram");
	pid = world_fork(&f.world, 1);
	begin(&f);
	world_run(&f.world, pid, S / 2);
	use(&f, "package-0", 50, S);
	bill(&f, S);
	energy = energy_of(&f, pid, WTL_PART_ALL);
	assert_false(energy.has_dynamic);
	assert_int_equal(energy.full_uj, 50000000);
	ledger = ledger_of(&f, "package-0");
	assert_false(ledger.has_idle);
	assert_int_equal(ledger.live_uj, 50000000);
	/* One that did nothing was billed nothing, which is known. */
	assert_int_equal(energy_of(&f, 1, WTL_PART_ALL).full_uj, 0);
	finish(&f);
}

/* A machine without sensors: its models say what they give at no use, from the first bill on. */
static void test_modelled_baselines(void **state)
{
	const struct wtl_baseline kept = {
		.is_known = true, .idle_uw = 5000000, .t_utc_ns = UTC, .seen_ns = 60 * S};
	struct fixture f;
	struct wtl_share_energy energy;
	struct wtl_consumer_power power;
	struct wtl_baseline idle;
	int pid;

	(void)state;
	start(&f, "vm-nothing");
	wtl_consumers_set_baseline(f.consumers, find(&f, "package-0"), &kept);
	wtl_consumers_baseline(f.consumers, find(&f, "package-0"), &idle);
	assert_true(idle.is_known && idle.is_modelled);
	assert_int_equal(idle.idle_uw, 3200000);
	f.world.n_cpus = 4;
	pid = world_fork(&f.world, 1);
	begin(&f);
	/* One of four CPUs: 20 % and 80 % × √¼ of 16 W; DRAM 3 W, whatever is done. */
	world_run(&f.world, pid, S);
	use(&f, "package-0", 9.6, S);
	use(&f, "dram-0", 3.0, S);
	bill(&f, S);
	energy = energy_of(&f, pid, WTL_PART_ALL);
	assert_true(energy.has_dynamic);
	assert_int_equal(energy.full_uj, 12600000);
	assert_int_equal(energy.dynamic_uj, 6400000);
	assert_true(energy.uncertainty_uj > 0);
	assert_true(wtl_consumers_power(f.consumers, slot_of(&f, pid), WTL_PART_ALL, &power));
	assert_true(power.has_dynamic);
	assert_in_range(power.dynamic_uw, 6399990, 6400000);
	assert_int_equal(ledger_of(&f, "dram-0").idle_uj, 3000000);
	assert_int_equal(ledger_of(&f, "package-0").idle_uj, 3200000);
	finish(&f);
}

/* Packages with counters, and DRAM that is modelled: dynamic as soon as the packages' idle power is
 * known. */
static void test_modelled_beside_measured(void **state)
{
	const struct wtl_baseline known = {
		.is_known = true, .idle_uw = 40000000, .t_utc_ns = UTC, .seen_ns = 60 * S};
	struct fixture f;
	struct wtl_share_energy energy;
	struct wtl_baseline idle;
	int pid;

	(void)state;
	start(&f, "amd-epyc");
	pid = world_fork(&f.world, 1);
	wtl_consumers_baseline(f.consumers, find(&f, "dram-0"), &idle);
	assert_true(idle.is_known && idle.is_modelled);
	wtl_consumers_baseline(f.consumers, find(&f, "package-0"), &idle);
	assert_false(idle.is_known || idle.is_modelled);
	for (int i = 0; i < 2; i++) {
		begin(&f);
		world_run(&f.world, pid, S);
		use(&f, "package-0", 90, S);
		use(&f, "dram-0", 20, S);
		bill(&f, S);
		energy = energy_of(&f, pid, WTL_PART_ALL);
		assert_int_equal(energy.has_dynamic, i);
		wtl_consumers_set_baseline(f.consumers, find(&f, "package-0"), &known);
	}
	assert_in_range(energy.dynamic_uj, 49500000, 50500000);
	finish(&f);
}

static void test_baseline_of_an_earlier_session(void **state)
{
	const struct wtl_baseline known = {.is_known = true,
					   .idle_uw = 40000000,
					   .uncertainty_uw = 100000,
					   .t_utc_ns = UTC - 3600 * S,
					   .seen_ns = 30 * S};
	struct fixture f;
	struct wtl_ledger ledger;
	struct wtl_baseline idle;
	int pid;

	(void)state;
	start(&f, "xeon-2s-dram");
	wtl_consumers_set_baseline(f.consumers, find(&f, "package-0"), &known);
	pid = world_fork(&f.world, 1);
	begin(&f);
	world_run(&f.world, pid, S);
	use(&f, "package-0", 50, S);
	bill(&f, S);
	ledger = ledger_of(&f, "package-0");
	assert_true(ledger.has_idle);
	/* The file's figure goes through a histogram of 1 % bins. */
	assert_in_range(ledger.idle_uj, 39500000, 40500000);
	assert_int_equal(ledger.live_uj + ledger.idle_uj, 50000000);
	wtl_consumers_baseline(f.consumers, find(&f, "package-0"), &idle);
	assert_int_equal(idle.t_utc_ns, UTC - 3600 * S);
	finish(&f);
}

/* Becoming known afterwards, the baseline holds for what was billed before. */
static void test_baseline_learned_late(void **state)
{
	struct fixture f;
	struct wtl_share_energy energy;
	int pid;

	(void)state;
	start(&f, "xeon-2s-dram");
	f.world.n_cpus = 128;
	pid = world_fork(&f.world, 1);
	begin(&f);
	world_run(&f.world, pid, S);
	use(&f, "package-0", 96.97, S);
	bill(&f, S);
	assert_false(energy_of(&f, pid, WTL_PART_ALL).has_dynamic);
	watch_idle(&f, 5);
	energy = energy_of(&f, pid, WTL_PART_ALL);
	assert_true(energy.has_dynamic);
	assert_in_range(energy.dynamic_uj, 22000000, 24000000);
	/* Of the idle time, nobody used anything. */
	assert_in_range(ledger_of(&f, "package-0").unattributed_uj, 0, 4000000);
	finish(&f);
}

/* ---- Who is in which account ---- */

static void test_accounts(void **state)
{
	struct fixture f;
	struct wtl_ledger ledger;
	int live, ended;

	(void)state;
	start(&f, "xeon-2s-dram");
	live = world_fork(&f.world, 1);
	ended = world_fork(&f.world, 1);
	begin(&f);
	world_run(&f.world, live, 4 * S);
	world_run(&f.world, ended, 2 * S);
	world_run(&f.world, 2, 1 * S); /* a kernel thread */
	world_child(&f.world, live, "cc1", 2 * S);
	world_unseen(&f.world, 1 * S);
	use(&f, "package-0", 100, 10 * S);
	bill(&f, 10 * S);
	world_end(&f.world, ended);
	bill(&f, S);
	ledger = ledger_of(&f, "package-0");
	assert_in_range(ledger.live_uj, 39900000, 40200000);
	assert_in_range(ledger.exited_uj, 39900000, 40200000);
	assert_in_range(ledger.kernel_uj, 9900000, 10100000);
	/* The clock of the machine's busy time ticks every 10 ms: that much is left aside. */
	assert_in_range(ledger.unattributed_uj, 9500000, 10000000);
	finish(&f);
}

static void test_the_command(void **state)
{
	struct fixture f;
	struct wtl_command_account account;
	int command, child, orphan, other;

	(void)state;
	start(&f, "xeon-2s-dram");
	other = world_fork(&f.world, 1);
	begin(&f);
	command = world_fork(&f.world, 1);
	world_exec(&f.world, command, "make", "make -j2");
	assert_int_equal(wtl_consumers_follow(f.consumers, command), 0);
	child = world_fork(&f.world, command);
	orphan = world_fork(&f.world, child);
	world_run(&f.world, command, 100 * MS);
	world_run(&f.world, child, 200 * MS);
	world_run(&f.world, other, 500 * MS);
	use(&f, "package-0", 100, S);
	bill(&f, S);
	world_end(&f.world, child);
	world_run(&f.world, orphan, 1000 * MS);
	use(&f, "package-0", 100, S);
	bill(&f, S);
	wtl_consumers_command(f.consumers, &account);
	assert_int_equal(account.cpu_ns, 1300 * MS);
	assert_int_equal(account.n_processes, 3);
	assert_in_range(account.all.full_uj, 137499997, 137500003);
	assert_int_equal(account.gpu.full_uj, 0);
	assert_int_equal(account.cpu.full_uj, account.all.full_uj);
	assert_int_equal(wtl_consumers_follow(f.consumers, 99999), -ESRCH);
	/* As whoever waited for it was told: 50 ms more. */
	world_end(&f.world, orphan);
	world_exit(&f.world, command);
	wtl_consumers_command_ended(f.consumers, 1350 * MS);
	use(&f, "package-0", 100, S);
	bill(&f, S);
	wtl_consumers_command(f.consumers, &account);
	assert_int_equal(account.cpu_ns, 1350 * MS);
	assert_int_equal(wtl_consumers_uncounted_ns(f.consumers), 50 * MS);
	finish(&f);
}

/* Without exit records, a parent's times tell of children that ended between two scans, but not how many they were. */
static void test_processes_that_nobody_counted(void **state)
{
	struct fixture f;
	struct wtl_command_account account;
	int command, other;

	(void)state;
	start_by(&f, "xeon-2s-dram", WTL_WEIGHT_CPU_TIME, EPERM);
	other = world_fork(&f.world, 1);
	begin(&f);
	command = world_fork(&f.world, 1);
	world_exec(&f.world, command, "make", "make");
	assert_int_equal(wtl_consumers_follow(f.consumers, command), 0);
	bill(&f, S);
	for (int i = 0; i < 2; i++) {
		world_child(&f.world, command, i ? "as" : "cc1", 300 * MS);
		world_child(&f.world, other, "true", 50 * MS);
		world_run(&f.world, command, 10 * MS);
		use(&f, "package-0", 100, S);
		bill(&f, S);
	}
	wtl_consumers_command(f.consumers, &account);
	assert_int_equal(account.n_processes, 1);
	assert_int_equal(account.cpu_ns, 620 * MS);
	assert_int_equal(wtl_consumers_uncounted_ns(f.consumers), 600 * MS);
	finish(&f);
}

/* Platform and the like are nobody's, and what lies in another domain is not counted twice. */
static void test_domains_beside(void **state)
{
	struct fixture f;
	struct wtl_share_energy energy;
	int pid;

	(void)state;
	start(&f, "client-psys");
	pid = world_fork(&f.world, 1);
	begin(&f);
	world_run(&f.world, pid, S);
	use(&f, "package-0", 20, S);
	use(&f, "core-0", 12, S);
	use(&f, "psys-0", 40, S);
	bill(&f, S);
	energy = energy_of(&f, pid, WTL_PART_ALL);
	assert_int_equal(energy.full_uj, 20000000);
	wtl_book_energy(f.consumers, NULL, slot_of(&f, pid), (int)find(&f, "core-0"), &energy);
	assert_int_equal(energy.full_uj, 12000000);
	assert_int_equal(ledger_of(&f, "psys-0").unattributed_uj, 40000000);
	assert_null(wtl_consumers_weight(f.consumers, find(&f, "psys-0")));
	assert_string_equal(wtl_consumers_weight(f.consumers, find(&f, "package-0")), "cpu-time");
	finish(&f);
}

/* ---- Energies that go back, stand still or end ---- */

static void test_corrected_energy(void **state)
{
	struct fixture f;
	int pid;

	(void)state;
	start(&f, "xeon-2s-dram");
	pid = world_fork(&f.world, 1);
	begin(&f);
	world_run(&f.world, pid, S);
	use(&f, "package-0", 50, S);
	bill(&f, S);
	f.energies[find(&f, "package-0")].energy_uj = 48000000;
	bill(&f, S); /* check_ledgers() */
	assert_int_equal(energy_of(&f, pid, WTL_PART_ALL).full_uj, 48000000);
	world_run(&f.world, pid, S);
	use(&f, "package-0", 50, S);
	bill(&f, S);
	assert_int_equal(energy_of(&f, pid, WTL_PART_ALL).full_uj, 98000000);
	finish(&f);
}

static void test_domain_without_figure(void **state)
{
	struct fixture f;
	int pid;

	(void)state;
	start(&f, "xeon-2s-dram");
	pid = world_fork(&f.world, 1);
	begin(&f);
	world_run(&f.world, pid, S);
	use(&f, "dram-0", 5, S);
	bill(&f, S); /* package-0 has none yet */
	world_run(&f.world, pid, S);
	use(&f, "package-0", 50, S);
	bill(&f, S);
	assert_int_equal(energy_of(&f, pid, WTL_PART_ALL).full_uj, 55000000);
	finish(&f);
}

/* ---- Long histories: the identity, whatever happens ---- */

static uint32_t next_random(uint32_t *random)
{
	*random = *random * 1664525u + 1013904223u;
	return *random >> 8;
}

static void live_a_little(struct fixture *f, uint32_t *random, int pids[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		switch (next_random(random) % 6) {
		case 0:
			if (pids[i]) {
				world_end(&f->world, pids[i]);
				pids[i] = 0;
			} else {
				pids[i] = world_fork(&f->world, 1);
			}
			break;
		case 1:
			world_child(&f->world, 1, "sh", next_random(random) % 1000000);
			break;
		case 2:
			world_unseen(&f->world, next_random(random) % 1000000);
			break;
		default:
			if (pids[i])
				world_run(&f->world, pids[i], next_random(random) % 20000000);
			break;
		}
	}
}

static void test_long_history(void **state)
{
	enum { N = 24, STEPS = 2000 };
	struct fixture f;
	uint32_t random = 7;
	int pids[N] = {0};
	uint64_t n_known = 0;

	(void)state;
	start(&f, "xeon-2s-dram");
	f.world.n_cpus = 64;
	begin(&f);
	for (int step = 0; step < STEPS; step++) {
		struct wtl_ledger ledger;

		live_a_little(&f, &random, pids, step % 50 < 10 ? 0 : N);
		use(&f, "package-0", next_random(&random) % 10000 / 100.0, S);
		use(&f, "dram-1", next_random(&random) % 100 / 100.0, S);
		if (next_random(&random) % 16 == 0)
			f.energies[find(&f, "dram-1")].energy_uj -=
				f.energies[find(&f, "dram-1")].energy_uj / 100;
		bill(&f, S);
		ledger = ledger_of(&f, "package-0");
		n_known += ledger.has_idle;
	}
	assert_true(n_known > STEPS / 2);
	finish(&f);
}

/* Ended processes become rows: their accounts move, in each book, and so does their CPU time since it was opened. */
static void test_rows_in_a_book(void **state)
{
	const struct wtl_consumers_options options = {.nvml_path = "", .max_exited = 2};
	struct wtl_share_energy energy;
	struct wtl_book *book, *other;
	uint64_t energy_uj = 0;
	struct fixture f;
	int pids[8];

	(void)state;
	start(&f, "client-psys");
	wtl_consumers_free(f.consumers);
	assert_int_equal(
		wtl_consumers_new(f.bench.meter, &f.world.io, &options, &f.consumers, NULL), 0);
	begin(&f);
	for (size_t i = 0; i < UNIT_COUNT(pids); i++) {
		pids[i] = world_fork(&f.world, 1);
		world_exec(&f.world, pids[i], "cc1", "cc1");
		world_run(&f.world, pids[i], 10 * MS);
	}
	use(&f, "package-0", 5, S);
	bill(&f, S);
	book = wtl_consumers_open_book(f.consumers);
	other = wtl_consumers_open_book(f.consumers);
	assert_true(book && other);
	for (size_t i = 0; i < UNIT_COUNT(pids); i++) {
		struct wattle_energy *of_book = &wtl_book_energies(book)[find(&f, "package-0")];

		world_run(&f.world, pids[i], 20 * MS);
		if (i % 2)
			world_end(&f.world, pids[i]);
		of_book->has_energy = 1;
		of_book->energy_uj += 3000000;
		of_book->measured_ns += S;
		use(&f, "package-0", 3, S);
		bill(&f, S);
	}
	for (size_t slot = 0; slot < wtl_consumers_slots(f.consumers); slot++) {
		const struct wtl_consumer *consumer = wtl_consumers_get(f.consumers, slot);

		wtl_book_energy(f.consumers, book, slot, -1, &energy);
		energy_uj += energy.full_uj;
		if (consumer && consumer->state == WTL_CONSUMER_FOLDED) {
			assert_int_equal(energy.full_uj, 3000000 * consumer->n_processes);
			assert_int_equal(wtl_book_cpu_ns(book, slot, consumer),
					 20 * MS * (int64_t)consumer->n_processes);
		}
	}
	assert_int_equal(energy_uj, 3000000 * UNIT_COUNT(pids));
	wtl_consumers_close_book(f.consumers, book);
	wtl_consumers_close_book(f.consumers, other);
	finish(&f);
}

static void test_many_processes(void **state)
{
	enum { N = 5000 };
	struct fixture f;
	uint64_t sum_uj = 0;
	size_t n = 0;

	(void)state;
	start(&f, "xeon-2s-dram");
	f.world.n_cpus = 64;
	begin(&f);
	for (int i = 0; i < N; i++)
		world_run(&f.world, world_fork(&f.world, 1), MS);
	use(&f, "package-0", 1000, S);
	bill(&f, S);
	for (size_t slot = WTL_SLOTS_FIXED; slot < wtl_consumers_slots(f.consumers); slot++) {
		struct wtl_share_energy energy;

		if (!wtl_consumers_get(f.consumers, slot))
			continue;
		wtl_consumers_energy(f.consumers, slot, WTL_PART_ALL, &energy);
		sum_uj += energy.full_uj;
		n += energy.full_uj > 0;
	}
	assert_int_equal(n, N);
	assert_int_equal(sum_uj, 1000000000);
	finish(&f);
}

/* ---- GPUs ---- */

/* The world with one GPU on the fake, by a script whose time is the world's. */
struct gpu_fixture {
	struct fixture f; /* first */
	struct wtl_io_ops ops;
	const struct wtl_io_ops *world_ops;
	char *dir, *clock, *script;
	size_t max_exited; /* ended ones with an account of their own */
	unsigned n_many;   /* processes on the GPU; 0: those of the script */
};

static struct fixture *fixture_of(struct wtl_io *io)
{
	return (struct fixture *)((char *)io - offsetof(struct fixture, world));
}

static struct wtl_io *libs_of(struct wtl_io *io)
{
	return fixture_of(io)->bench.pass.real;
}

static int gpu_lib_open(struct wtl_io *io, const char *const names[],
			const struct wtl_lib_function functions[], size_t n, struct wtl_err *err)
{
	return wtl_io_lib_open(libs_of(io), names, functions, n, err);
}

static bool gpu_lib_has(struct wtl_io *io, int lib, size_t function)
{
	return wtl_io_lib_has(libs_of(io), lib, function);
}

/* So many compute processes, of 1 MiB each. */
static int list_many(unsigned n, struct wtl_lib_arg args[], int *ret_answer)
{
	struct wtl_nvml_process *process = args[2].memory;
	uint32_t *count = args[1].memory;
	size_t room = args[2].size / sizeof(*process);

	*count = n;
	*ret_answer = room < n ? WTL_NVML_INSUFFICIENT_SIZE : WTL_NVML_OK;
	for (unsigned i = 0; i < n && i < room; i++)
		process[i] = (struct wtl_nvml_process){.pid = 1000000 + i,
						       .used_bytes = 1 << 20,
						       .instance = UINT32_MAX,
						       .compute_instance = UINT32_MAX};
	return 0;
}

static int gpu_lib_call(struct wtl_io *io, int lib, size_t function, struct wtl_lib_arg args[],
			int *ret_answer)
{
	const struct gpu_fixture *g = (const struct gpu_fixture *)fixture_of(io);

	if (g->n_many > 0 && function == WTL_NVML_COMPUTE_V3)
		return list_many(g->n_many, args, ret_answer);
	return wtl_io_lib_call(libs_of(io), lib, function, args, ret_answer);
}

static void gpu_lib_close(struct wtl_io *io, int lib)
{
	wtl_io_lib_close(libs_of(io), lib);
}

/* No PCI bus is to be seen, as in a container. */
static int gpu_dir_read(struct wtl_io *io, const char *path, struct wtl_buf *names)
{
	struct gpu_fixture *g = (struct gpu_fixture *)fixture_of(io);

	return strcmp(path, "/proc") == 0 ? g->world_ops->dir_read(io, path, names) : -ENOENT;
}

static void set_gpu_time(struct gpu_fixture *g, double seconds)
{
	char text[32];

	snprintf(text, sizeof(text), "%020lld\n", (long long)(seconds * 1e9));
	unit_write(g->dir, "clock", text);
}

static void start_gpu(struct gpu_fixture *g, const char *processes)
{
	const struct wtl_consumers_options options = {.nvml_path = getenv("WATTLE_NVML_LIBRARY"),
						      .names_on_use = true,
						      .max_exited = g->max_exited};
	struct fixture *f = &g->f;
	char text[1024];

	assert_non_null(options.nvml_path);
	g->n_many = 0;
	g->dir = unit_tmpdir();
	g->clock = unit_path(g->dir, "clock");
	g->script = unit_path(g->dir, "script");
	snprintf(text, sizeof(text),
		 "gpu Fake\n  power 0 const 100\n  sensor counter gpu 100\n%.800s", processes);
	unit_write(g->dir, "script", text);
	set_gpu_time(g, 0);
	setenv("WATTLE_FAKE_NVML", g->script, 1);
	setenv("WATTLE_FAKE_NVML_CLOCK", g->clock, 1);
	/* The GPU is the first domain. */
	meter_bench_copy(&f->bench, "grace");
	meter_bench_remove(&f->bench, "/proc/meminfo");
	f->bench.nvml = options.nvml_path;
	meter_bench_open(&f->bench);
	assert_int_equal(find(f, "gpu-0"), 0);
	world_init(&f->world);
	g->world_ops = f->world.io.ops;
	g->ops = *g->world_ops;
	g->ops.dir_read = gpu_dir_read;
	g->ops.lib_open = gpu_lib_open;
	g->ops.lib_has = gpu_lib_has;
	g->ops.lib_call = gpu_lib_call;
	g->ops.lib_close = gpu_lib_close;
	f->world.io.ops = &g->ops;
	f->world.io.has_one_order = true;
	memset(f->energies, 0, sizeof(f->energies));
	f->n = wattle_meter_domains(f->bench.meter);
	f->t_utc_ns = UTC;
	assert_int_equal(
		wtl_consumers_new(f->bench.meter, &f->world.io, &options, &f->consumers, NULL), 0);
}

static void finish_gpu(struct gpu_fixture *g)
{
	finish(&g->f);
	free(g->clock);
	free(g->script);
	unit_rmtree(g->dir);
	unsetenv("WATTLE_FAKE_NVML");
	unsetenv("WATTLE_FAKE_NVML_CLOCK");
}

/* A second in which the GPU used so much, until that moment of the script. */
static void bill_gpu(struct gpu_fixture *g, double joules, double seconds)
{
	set_gpu_time(g, seconds);
	use(&g->f, "gpu-0", joules, S);
	bill(&g->f, S);
}

/* World's processes are numbered in order: these are the first two. */
static void script_of_two(struct gpu_fixture *g, const char *head, const char *one,
			  const char *other)
{
	char text[512];
	struct world world;
	int first, second;

	world_init(&world);
	first = world_fork(&world, 1);
	second = world_fork(&world, 1);
	world_done(&world);
	snprintf(text, sizeof(text), "%sprocess %d C %s\nprocess %d C %s\n", head, first, one,
		 second, other);
	start_gpu(g, text);
	assert_int_equal(world_fork(&g->f.world, 1), first);
	assert_int_equal(world_fork(&g->f.world, 1), second);
}

static int pid_of(struct gpu_fixture *g, int i)
{
	return g->f.world.newest - 1 + i;
}

static uint64_t gpu_uj(struct gpu_fixture *g, int i)
{
	return energy_of(&g->f, pid_of(g, i), WTL_PART_GPU).full_uj;
}

static void test_two_on_a_gpu(void **state)
{
	struct gpu_fixture g = {.max_exited = 0};
	const struct wtl_consumer *consumer;

	(void)state;
	script_of_two(&g, "", "100 60 0 0 0", "300 20 0 0 0");
	set_gpu_time(&g, 2.5);
	begin(&g.f);
	for (int i = 0; i < 4; i++)
		bill_gpu(&g, 100, 3.5 + i);
	assert_int_equal(gpu_uj(&g, 0), 300000000);
	assert_int_equal(gpu_uj(&g, 1), 100000000);
	/* Four seconds at 80 % in all, three quarters of them its. */
	assert_int_equal(wtl_book_gpu_ns(g.f.consumers, NULL, slot_of(&g.f, pid_of(&g, 0))),
			 2400000000);
	assert_int_equal(energy_of(&g.f, pid_of(&g, 0), WTL_PART_CPU).full_uj, 0);
	assert_int_equal(energy_of(&g.f, pid_of(&g, 0), WTL_PART_ALL).full_uj, 300000000);
	for (enum wtl_part part = WTL_PART_ALL; part < WTL_PARTS; part++) {
		struct wtl_consumer_power power;

		assert_true(wtl_consumers_power(g.f.consumers, slot_of(&g.f, pid_of(&g, 0)), part,
						&power));
		assert_int_equal(power.full_uw, part == WTL_PART_CPU ? 0 : 75000000);
	}
	assert_string_equal(wtl_consumers_weight(g.f.consumers, find(&g.f, "gpu-0")), "sm-use");
	consumer = wtl_consumers_get(g.f.consumers, slot_of(&g.f, pid_of(&g, 1)));
	assert_int_equal(consumer->gpu_memory_bytes, 300 << 20);
	assert_int_equal(consumer->gpu_ppm, 200000);
	finish_gpu(&g);
}

/* It does nothing on the processors: it is named all the same, once. */
static void test_gpu_user_is_named(void **state)
{
	struct gpu_fixture g = {.max_exited = 0};
	const struct wtl_consumer *consumer;

	(void)state;
	script_of_two(&g, "", "100 60 0 0 0", "300 20 0 0 0");
	world_exec(&g.f.world, pid_of(&g, 0), "train", "train all night");
	world_at(&g.f.world, pid_of(&g, 0))->uid = 1000;
	set_gpu_time(&g, 2.5);
	begin(&g.f);
	bill_gpu(&g, 100, 3.5);
	consumer = wtl_consumers_get(g.f.consumers, slot_of(&g.f, pid_of(&g, 0)));
	assert_int_equal(consumer->cpu_ns, 0);
	assert_string_equal(consumer->name, "train");
	assert_string_equal(consumer->command, "train all night");
	assert_int_equal(consumer->uid, 1000);
	/* Not at each look. */
	world_exec(&g.f.world, pid_of(&g, 0), "evaluate", "evaluate");
	bill_gpu(&g, 100, 4.5);
	assert_string_equal(consumer->name, "train");
	finish_gpu(&g);
}

/* Whoever has it alone is known as well as the GPU's energy; the less of it, the less well. The sensor's zero
 * is in all of that, but not in what is above idle. */
static void test_uncertainty_of_shares(void **state)
{
	const struct wtl_baseline known = {
		.is_known = true, .idle_uw = 50000000, .t_utc_ns = UTC - S};
	struct wtl_share_energy alone, most, least;
	struct gpu_fixture g = {.max_exited = 0};

	(void)state;
	script_of_two(&g, "", "100 60 0 0 0", "100 0 0 0 0");
	set_gpu_time(&g, 2.5);
	begin(&g.f);
	bill_gpu(&g, 100, 3.5);
	alone = energy_of(&g.f, pid_of(&g, 0), WTL_PART_GPU);
	assert_int_equal(alone.full_uj, 100000000);
	assert_in_range(alone.uncertainty_uj, 16750000, 16780000);
	wtl_consumers_set_baseline(g.f.consumers, find(&g.f, "gpu-0"), &known);
	alone = energy_of(&g.f, pid_of(&g, 0), WTL_PART_GPU);
	assert_int_equal(alone.dynamic_uj, 50000000);
	assert_in_range(alone.uncertainty_uj, 2610000, 2630000); /* its own spread, too */
	finish_gpu(&g);

	script_of_two(&g, "", "100 80 0 0 0", "100 20 0 0 0");
	set_gpu_time(&g, 2.5);
	begin(&g.f);
	bill_gpu(&g, 100, 3.5);
	most = energy_of(&g.f, pid_of(&g, 0), WTL_PART_GPU);
	least = energy_of(&g.f, pid_of(&g, 1), WTL_PART_GPU);
	/* 2 sqrt(2) 0.2 times what the other has, and 5 %; 80 and 20 % of the zero. */
	assert_in_range(most.uncertainty_uj, 16000000, 16400000);
	assert_in_range(least.uncertainty_uj, 9500000, 9900000);
	finish_gpu(&g);
}

/* Two use a GPU of 90 W alike, of which the script tells the second one so; and that one ends. */
static void use_until_one_ends(struct gpu_fixture *g, const char *second)
{
	script_of_two(g, "", "100 40 0 0 0", second);
	set_gpu_time(g, 2.5);
	begin(&g->f);
	bill_gpu(g, 90, 3.5);
	world_end(&g->f.world, pid_of(g, 1));
}

/* Until it ended it used the GPU: half of the interval on average, and it is not the other's. */
static void test_gpu_user_ends(void **state)
{
	struct gpu_fixture g = {.max_exited = 0};
	struct wtl_ledger ledger;

	(void)state;
	use_until_one_ends(&g, "100 40 0 0 0 0 4");
	bill_gpu(&g, 90, 4.5);
	ledger = ledger_of(&g.f, "gpu-0");
	assert_int_equal(ledger.exited_uj, 75000000);
	assert_int_equal(gpu_uj(&g, 0), 105000000);
	/* And no longer than that. */
	bill_gpu(&g, 90, 5.5);
	assert_int_equal(ledger_of(&g.f, "gpu-0").exited_uj, 75000000);
	assert_int_equal(ledger_of(&g.f, "gpu-0").unattributed_uj, 0);
	finish_gpu(&g);
}

/* The driver still lists one that the kernel has forgotten. */
static void test_gpu_user_is_still_listed(void **state)
{
	struct gpu_fixture g = {.max_exited = 0};

	(void)state;
	use_until_one_ends(&g, "100 40 0 0 0");
	bill_gpu(&g, 90, 4.5);
	assert_int_equal(ledger_of(&g.f, "gpu-0").unattributed_uj, 0);
	assert_int_equal(gpu_uj(&g, 0), 90000000);
	/* A new window knows nothing of it. */
	begin(&g.f);
	bill_gpu(&g, 90, 5.5);
	assert_int_equal(ledger_of(&g.f, "gpu-0").exited_uj, 0);
	assert_int_equal(gpu_uj(&g, 0), 45000000);
	finish_gpu(&g);
}

/* Others end, too: its account becomes its row's, and what the driver still lists goes on there. */
static void test_gpu_user_is_folded(void **state)
{
	struct gpu_fixture g = {.max_exited = 1};
	uint64_t row_uj = 0;

	(void)state;
	use_until_one_ends(&g, "100 40 0 0 0");
	for (int i = 0; i < 4; i++) {
		int other = world_fork(&g.f.world, 1);

		bill_gpu(&g, 90, 4.5 + i);
		world_end(&g.f.world, other);
	}
	for (size_t slot = WTL_SLOTS_FIXED; slot < wtl_consumers_slots(g.f.consumers); slot++) {
		const struct wtl_consumer *one = wtl_consumers_get(g.f.consumers, slot);

		if (one && one->state == WTL_CONSUMER_FOLDED)
			row_uj += wtl_consumers_share(g.f.consumers, slot, find(&g.f, "gpu-0"))
					  .full_uj;
	}
	assert_int_equal(row_uj, 5 * 45000000);
	finish_gpu(&g);
}

/* Nor of one that had ended as it began, and is not listed any more. */
static void test_gpu_user_ended_before(void **state)
{
	struct gpu_fixture g = {.max_exited = 0};

	(void)state;
	use_until_one_ends(&g, "100 40 0 0 0 0 4");
	begin(&g.f);
	bill_gpu(&g, 90, 4.5);
	assert_int_equal(gpu_uj(&g, 0), 90000000);
	/* The one that is still there as another begins is known in it. */
	begin(&g.f);
	world_end(&g.f.world, pid_of(&g, 0));
	bill_gpu(&g, 90, 5.5);
	assert_int_equal(ledger_of(&g.f, "gpu-0").exited_uj, 90000000);
	finish_gpu(&g);
}

static void test_gpu_idle_and_used(void **state)
{
	const struct wtl_baseline known = {.is_known = true,
					   .idle_uw = 50000000,
					   .uncertainty_uw = 400000,
					   .t_utc_ns = UTC - S,
					   .seen_ns = 60 * S};
	struct gpu_fixture g = {.max_exited = 0};
	struct wtl_share_energy energy;

	(void)state;
	script_of_two(&g, "", "100 60 0 0 0", "300 30 0 0 0");
	wtl_consumers_set_baseline(g.f.consumers, find(&g.f, "gpu-0"), &known);
	set_gpu_time(&g, 2.5);
	begin(&g.f);
	bill_gpu(&g, 200, 3.5);
	energy = energy_of(&g.f, pid_of(&g, 0), WTL_PART_GPU);
	assert_true(energy.has_dynamic);
	assert_in_range(energy.dynamic_uj, 99300000, 100700000);
	assert_true(energy.uncertainty_uj > 10000000 && energy.uncertainty_uj < 60000000);
	finish_gpu(&g);
}

/* Pids that mean nothing here: rows of their own, by the driver's number, with no CPU time. */
static void test_gpu_outsiders(void **state)
{
	struct gpu_fixture g = {.max_exited = 0};
	size_t n_rows = 0;
	uint64_t sum_uj = 0;

	(void)state;
	start_gpu(&g, "process 90001 C 100 60 0 0 0\nprocess 90002 C 300 20 0 0 0\n");
	set_gpu_time(&g, 2.5);
	begin(&g.f);
	bill_gpu(&g, 80, 3.5);
	bill_gpu(&g, 80, 4.5);
	for (size_t slot = 0; slot < wtl_consumers_slots(g.f.consumers); slot++) {
		const struct wtl_consumer *consumer = wtl_consumers_get(g.f.consumers, slot);
		struct wtl_share_energy energy;

		if (!consumer || consumer->pid < 90001)
			continue;
		wtl_consumers_energy(g.f.consumers, slot, WTL_PART_GPU, &energy);
		assert_int_equal(energy.full_uj, consumer->pid == 90001 ? 120000000 : 40000000);
		assert_int_equal(consumer->cpu_ns, 0);
		assert_false(consumer->is_readable);
		sum_uj += energy.full_uj;
		n_rows++;
	}
	assert_int_equal(n_rows, 2);
	assert_int_equal(sum_uj, 160000000);
	finish_gpu(&g);
}

static const struct wtl_consumer *outsider(struct gpu_fixture *g, int pid,
					   enum wtl_consumer_state state, uint64_t *ret_uj)
{
	const struct wtl_consumer *found = NULL;

	for (size_t slot = 0; slot < wtl_consumers_slots(g->f.consumers); slot++) {
		const struct wtl_consumer *consumer = wtl_consumers_get(g->f.consumers, slot);
		struct wtl_share_energy energy;

		if (!consumer || consumer->pid != pid || consumer->state != state)
			continue;
		assert_null(found);
		found = consumer;
		wtl_consumers_energy(g->f.consumers, slot, WTL_PART_GPU, &energy);
		*ret_uj = energy.full_uj;
	}
	return found;
}

/* One that no list has any more has ended: its account stays, and whoever gets its number has another. */
static void test_gpu_outsider_ends(void **state)
{
	struct gpu_fixture g = {.max_exited = 0};
	uint64_t first_uj = 0, second_uj = 0;

	(void)state;
	start_gpu(&g, "process 90001 C 100 40 0 0 0 0 4\nprocess 90002 C 100 40 0 0 0\n"
		      "process 90001 C 100 40 0 0 0 6 -\n");
	set_gpu_time(&g, 2.5);
	begin(&g.f);
	bill_gpu(&g, 90, 3.5);
	assert_non_null(outsider(&g, 90001, WTL_CONSUMER_LIVE, &first_uj));
	bill_gpu(&g, 90, 4.5);
	assert_null(outsider(&g, 90001, WTL_CONSUMER_LIVE, &first_uj));
	assert_non_null(outsider(&g, 90001, WTL_CONSUMER_EXITED, &first_uj));
	assert_int_equal(first_uj, 75000000);
	assert_int_equal(ledger_of(&g.f, "gpu-0").exited_uj, 75000000);
	bill_gpu(&g, 90, 5.5);
	bill_gpu(&g, 90, 7.5);
	assert_non_null(outsider(&g, 90001, WTL_CONSUMER_EXITED, &first_uj));
	assert_int_equal(first_uj, 75000000);
	assert_non_null(outsider(&g, 90001, WTL_CONSUMER_LIVE, &second_uj));
	assert_int_equal(second_uj, 45000000);
	assert_non_null(outsider(&g, 90002, WTL_CONSUMER_LIVE, &second_uj));
	/* A new window has those that live. */
	begin(&g.f);
	bill_gpu(&g, 90, 8.5);
	assert_null(outsider(&g, 90001, WTL_CONSUMER_EXITED, &first_uj));
	assert_non_null(outsider(&g, 90001, WTL_CONSUMER_LIVE, &second_uj));
	assert_int_equal(second_uj, 45000000);
	finish_gpu(&g);
}

/* Weights of SM use and of memory are not to be held against each other: whoever ended in between has
 * none that means anything. */
static void test_gpu_user_ends_as_the_method_changes(void **state)
{
	struct gpu_fixture g = {.max_exited = 0};

	(void)state;
	script_of_two(&g,
		      "  answer nvmlDeviceGetProcessesUtilizationInfo NOT_SUPPORTED from 4\n"
		      "  answer nvmlDeviceGetProcessUtilization NOT_SUPPORTED from 4\n",
		      "100 40 0 0 0", "100 40 0 0 0 0 4");
	set_gpu_time(&g, 2.5);
	begin(&g.f);
	bill_gpu(&g, 90, 3.5);
	assert_string_equal(wtl_consumers_weight(g.f.consumers, find(&g.f, "gpu-0")), "sm-use");
	bill_gpu(&g, 90, 4.5);
	assert_non_null(strstr(wtl_consumers_weight(g.f.consumers, find(&g.f, "gpu-0")), "guess"));
	assert_int_equal(gpu_uj(&g, 0), 135000000);
	assert_int_equal(gpu_uj(&g, 1), 45000000);
	finish_gpu(&g);
}

/* Under MIG there are no samples: memory is what is left, a guess with a wide margin. */
static void test_gpu_by_memory(void **state)
{
	struct gpu_fixture g = {.max_exited = 0};
	struct wtl_share_energy energy;

	(void)state;
	script_of_two(&g, "  mig on\n", "100", "300");
	set_gpu_time(&g, 2.5);
	begin(&g.f);
	bill_gpu(&g, 100, 3.5);
	assert_int_equal(gpu_uj(&g, 0), 25000000);
	assert_int_equal(gpu_uj(&g, 1), 75000000);
	assert_non_null(strstr(wtl_consumers_weight(g.f.consumers, find(&g.f, "gpu-0")), "guess"));
	energy = energy_of(&g.f, pid_of(&g, 0), WTL_PART_GPU);
	assert_true(energy.uncertainty_uj >= energy.full_uj);
	finish_gpu(&g);
}

/* More processes than a look has room for: what the rest of them have is unattributed, not the others'. */
static void test_gpu_with_too_many_users(void **state)
{
	enum { BEYOND = 256, N = WTL_GPU_USE_PROCESSES_MAX + BEYOND };
	struct gpu_fixture g = {.max_exited = 0};
	struct wtl_ledger ledger;

	(void)state;
	start_gpu(&g, "  mig on\n");
	g.n_many = N;
	set_gpu_time(&g, 2.5);
	begin(&g.f);
	bill_gpu(&g, N, 3.5);
	/* A joule each. */
	ledger = ledger_of(&g.f, "gpu-0");
	assert_int_equal(ledger.unattributed_uj, BEYOND * 1000000);
	assert_int_equal(ledger.live_uj, WTL_GPU_USE_PROCESSES_MAX * 1000000);
	finish_gpu(&g);
}

/* The list itself is cut, and what the rest of them have is not known: nobody is billed. */
static void test_gpu_with_a_cut_list(void **state)
{
	struct gpu_fixture g = {.max_exited = 0};

	(void)state;
	start_gpu(&g, "  mig on\n");
	g.n_many = WTL_NVML_PROCESSES_MAX + 1;
	set_gpu_time(&g, 2.5);
	begin(&g.f);
	bill_gpu(&g, 100, 3.5);
	assert_int_equal(ledger_of(&g.f, "gpu-0").unattributed_uj, 100000000);
	assert_null(wtl_consumers_weight(g.f.consumers, find(&g.f, "gpu-0")));
	finish_gpu(&g);
}

/* Nothing is known of its processes: nobody is billed. */
static void test_gpu_without_processes(void **state)
{
	struct gpu_fixture g = {.max_exited = 0};

	(void)state;
	script_of_two(&g, "  answer nvmlDeviceGetComputeRunningProcesses_v3 NO_PERMISSION\n",
		      "100 60 0 0 0", "300 20 0 0 0");
	set_gpu_time(&g, 2.5);
	begin(&g.f);
	bill_gpu(&g, 100, 3.5);
	assert_int_equal(ledger_of(&g.f, "gpu-0").unattributed_uj, 100000000);
	assert_int_equal(gpu_uj(&g, 0), 0);
	assert_null(wtl_consumers_weight(g.f.consumers, find(&g.f, "gpu-0")));
	finish_gpu(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_busy_thread),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_partly_counted),
		cmocka_unit_test(test_no_baseline),
		cmocka_unit_test(test_modelled_baselines),
		cmocka_unit_test(test_modelled_beside_measured),
		cmocka_unit_test(test_baseline_of_an_earlier_session),
		cmocka_unit_test(test_baseline_learned_late),
		cmocka_unit_test(test_accounts),
		cmocka_unit_test(test_the_command),
		cmocka_unit_test(test_processes_that_nobody_counted),
		cmocka_unit_test(test_domains_beside),
		cmocka_unit_test(test_corrected_energy),
		cmocka_unit_test(test_domain_without_figure),
		cmocka_unit_test(test_long_history),
		cmocka_unit_test(test_rows_in_a_book),
		cmocka_unit_test(test_many_processes),
		cmocka_unit_test(test_two_on_a_gpu),
		cmocka_unit_test(test_gpu_user_is_named),
		cmocka_unit_test(test_uncertainty_of_shares),
		cmocka_unit_test(test_gpu_user_ends),
		cmocka_unit_test(test_gpu_user_is_still_listed),
		cmocka_unit_test(test_gpu_user_is_folded),
		cmocka_unit_test(test_gpu_user_ended_before),
		cmocka_unit_test(test_gpu_idle_and_used),
		cmocka_unit_test(test_gpu_outsiders),
		cmocka_unit_test(test_gpu_outsider_ends),
		cmocka_unit_test(test_gpu_user_ends_as_the_method_changes),
		cmocka_unit_test(test_gpu_by_memory),
		cmocka_unit_test(test_gpu_with_too_many_users),
		cmocka_unit_test(test_gpu_with_a_cut_list),
		cmocka_unit_test(test_gpu_without_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
