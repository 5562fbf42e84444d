/* SPDX-License-Identifier: MIT */
/* A meter with attribution, by the public header: sensors of a root, processes of a world, and clocks that move when told
 * to. So figures are exact, and each allocation and each call of the io can be made to fail. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>
#include <wattle-recording.h>

#include "allocations.h"
#include "base/err.h"
#include "energy/units.h"
#include "golden.h"
#include "meter/attached.h"
#include "meter/observer.h"
#include "meter/session.h"
#include "meter_bench.h"
#include "replay/history.h"
#include "unit.h"
#include "world.h"

#define S  WTL_NS_PER_S
#define MS WTL_NS_PER_MS

#define ZONE	 "/sys/class/powercap/intel-rapl:0"
#define IDLE	 "wattle-idle/2\n"
#define SEEN	 " 2026-11-21T10:55:45Z 12000000000\n"
#define MACHINE	 "processor: 0\nvendor_id: GenuineIntel\nmodel name: Abacus\n\nprocessor: 1\n"
#define HEX16	 "0123456789abcdef"
#define OF_WORLD 4096 /* its handles of files begin here */

enum { PACKAGE, DRAM, DOMAINS, RANGE_UJ = 2000000000, LIMIT = 20000, LINE_SIZE = 160 };

struct machine {
	struct meter_bench bench; /* first: its io is the meter's */
	struct wtl_io_ops ops, bench_ops;
	struct world world;
	uint64_t energy_uj[DOMAINS];
	char idle_path[300];
	int a, b, group_us, n_notes;
	const char *note;   /* of a tape, or NULL */
	unsigned long left; /* allocations until one fails; 0: none does */
	bool fails_always;
};

static struct machine *machine_of(struct wtl_io *io)
{
	return (struct machine *)io;
}

/* As those of the world, a call of the root's may be the one that is to fail. */
static bool fails(struct machine *m)
{
	struct world *world = &m->world;

	if (world->fail_at == 0 || ++world->calls != world->fail_at)
		return false;
	world->has_failed = true;
	return true;
}

static int both_file_open(struct wtl_io *io, const char *path)
{
	struct machine *m = machine_of(io);
	int file = -ENOENT;

	if (strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/fs/cgroup/", 15) == 0)
		file = wtl_io_file_open(&m->world.io, path);
	if (file >= 0)
		return file + OF_WORLD;
	if (file == -ENOENT)
		return fails(m) ? -m->world.fail_errno : m->bench_ops.file_open(io, path);
	return file;
}

static ssize_t both_file_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	struct machine *m = machine_of(io);

	if (file >= OF_WORLD)
		return wtl_io_file_read(&m->world.io, file - OF_WORLD, buf, size);
	return fails(m) ? -m->world.fail_errno : m->bench_ops.file_read(io, file, buf, size);
}

static void both_file_close(struct wtl_io *io, int file)
{
	struct machine *m = machine_of(io);

	if (file >= OF_WORLD)
		wtl_io_file_close(&m->world.io, file - OF_WORLD);
	else
		m->bench_ops.file_close(io, file);
}

static int both_dir_read(struct wtl_io *io, const char *path, struct wtl_buf *names)
{
	struct machine *m = machine_of(io);

	if (strncmp(path, "/proc", 5) == 0)
		return wtl_io_dir_read(&m->world.io, path, names);
	return fails(m) ? -m->world.fail_errno : m->bench_ops.dir_read(io, path, names);
}

static ssize_t world_link(struct wtl_io *io, const char *path, char *buf, size_t size)
{
	return wtl_io_link_read(&machine_of(io)->world.io, path, buf, size);
}

static int world_cpu(struct wtl_io *io, const int pids[], int64_t cpu_ns[], size_t n)
{
	return wtl_io_process_cpu(&machine_of(io)->world.io, pids, cpu_ns, n);
}

static int world_exits(struct wtl_io *io)
{
	return wtl_io_exits_open(&machine_of(io)->world.io);
}

static ssize_t world_exit_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	return wtl_io_exits_read(&machine_of(io)->world.io, file, buf, size);
}

static void world_exits_end(struct wtl_io *io, int file)
{
	wtl_io_exits_close(&machine_of(io)->world.io, file);
}

static int world_perf(struct wtl_io *io, const struct wtl_perf_event *event)
{
	struct machine *m = machine_of(io);

	return event->task ? wtl_io_perf_open(&m->world.io, event)
			   : m->bench_ops.perf_open(io, event);
}

static int world_count(struct wtl_io *io, int file, struct wtl_perf_count *ret_count)
{
	return wtl_io_perf_count(&machine_of(io)->world.io, file, ret_count);
}

static void world_perf_end(struct wtl_io *io, int file)
{
	wtl_io_perf_close(&machine_of(io)->world.io, file);
}

/* One line is on the tape that is read, if any; what is said to one that is written is counted. */
static int note(struct wtl_io *io, const char *name, char *text, size_t size)
{
	struct machine *m = machine_of(io);

	if (strcmp(name, "idle") != 0)
		return 1;
	m->n_notes++;
	if (!m->note)
		return strchr(text, '\n') ? -EINVAL : 1;
	if (m->n_notes > 1)
		return 0;
	snprintf(text, size, "%s", m->note);
	return 1;
}

static int64_t world_clock(struct wtl_io *io, enum wtl_clock clock)
{
	const struct machine *m = machine_of(io);

	if (clock == WTL_CLOCK_BOOT)
		return m->world.boot_ns;
	return m->world.mono_ns + (clock == WTL_CLOCK_REAL ? m->bench.utc_ns : 0);
}

/* ---- The machine ---- */

static void put_energy(struct machine *m)
{
	meter_bench_write(&m->bench, ZONE "/energy_uj", "%llu\n",
			  (unsigned long long)m->energy_uj[PACKAGE]);
	meter_bench_write(&m->bench, ZONE ":0/energy_uj", "%llu\n",
			  (unsigned long long)m->energy_uj[DRAM]);
}

static void start(struct machine *m)
{
	static const char *const texts[][2] = {
		{"/proc/cpuinfo", MACHINE},
		{ZONE "/name", "package-0\n"},
		{ZONE "/max_energy_range_uj", "1999999999\n"},
		{ZONE ":0/name", "dram\n"},
		{ZONE ":0/max_energy_range_uj", "1999999999\n"},
	};

	memset(m, 0, sizeof(*m));
	meter_bench_copy(&m->bench, "");
	for (size_t i = 0; i < UNIT_COUNT(texts); i++)
		meter_bench_write(&m->bench, texts[i][0], "%s", texts[i][1]);
	m->energy_uj[PACKAGE] = m->energy_uj[DRAM] = 1;
	put_energy(m);
	snprintf(m->idle_path, sizeof(m->idle_path), "%s/idle", m->bench.root);
	m->ops = m->bench_ops = *m->bench.io.ops;
	m->ops.file_open = both_file_open;
	m->ops.file_read = both_file_read;
	m->ops.file_close = both_file_close;
	m->ops.dir_read = both_dir_read;
	m->ops.link_read = world_link;
	m->ops.process_cpu = world_cpu;
	m->ops.exits_open = world_exits;
	m->ops.exits_read = world_exit_read;
	m->ops.exits_close = world_exits_end;
	m->ops.perf_open = world_perf;
	m->ops.perf_count = world_count;
	m->ops.perf_close = world_perf_end;
	m->ops.clock_ns = world_clock;
	m->ops.note = note;
	m->ops.out_write = pass_out_write;
	m->bench.io.ops = &m->ops;
	m->bench.options.root = m->bench.root;
	m->bench.options.attribution = 1;
	m->bench.options.weight = WATTLE_WEIGHT_CPU_TIME;
	m->bench.options.idle_file = m->idle_path;
	m->bench.options.max_windows = 3;
	world_init(&m->world);
	m->world.has_pmu = true; /* and the asking process is 1 */
	m->a = world_fork(&m->world, 1);
	m->b = world_fork(&m->world, 1);
	world_exec(&m->world, m->a, "a", "a --long");
	world_at(&m->world, m->a)->per_us = world_at(&m->world, m->b)->per_us = 1000;
	strcpy(world_at(&m->world, m->b)->cgroup, "/b.service/worker");
}

static void reopen(struct machine *m)
{
	wattle_meter_close(m->bench.meter);
	m->bench.meter = NULL;
	m->bench.log[0] = '\0';
	meter_bench_open(&m->bench);
}

static void finish(struct machine *m)
{
	meter_bench_done(&m->bench);
	world_done(&m->world);
}

/* So long, with 20 W of the package and 4 W of its memory; processors run as said. */
static void pass(struct machine *m, int64_t duration_ns, int64_t a_ns, int64_t b_ns)
{
	world_run(&m->world, m->a, a_ns);
	world_run(&m->world, m->b, b_ns);
	world_pass(&m->world, duration_ns);
	m->energy_uj[PACKAGE] = (m->energy_uj[PACKAGE] + (uint64_t)duration_ns / 50) % RANGE_UJ;
	m->energy_uj[DRAM] = (m->energy_uj[DRAM] + (uint64_t)duration_ns / 250) % RANGE_UJ;
	put_energy(m);
}

static void learn(struct machine *m)
{
	for (int i = 0; i < 20; i++) {
		pass(m, S, 0, 0);
		assert_return_code(wattle_meter_tick(m->bench.meter), 0);
	}
}

static struct wattle_consumers *list_of(struct machine *m, const char *window)
{
	struct wattle_consumers *list = NULL;

	assert_return_code(wattle_meter_consumers(m->bench.meter, window, &list, NULL), 0);
	return list;
}

static struct wattle_share share_of(const struct wattle_consumers *list, int pid, int domain)
{
	struct wattle_share share = {.size = sizeof(share)};

	for (size_t i = 0; i < wattle_consumers_count(list); i++) {
		struct wattle_consumer consumer = {.size = sizeof(consumer)};

		assert_return_code(wattle_consumers_get(list, i, &consumer), 0);
		if (consumer.pid != pid)
			continue;
		assert_return_code(wattle_consumers_share(list, i, domain, &share), 0);
		return share;
	}
	fail_msg("process %d is not listed", pid);
	return share;
}

static struct wattle_ledger ledger_of(const struct wattle_consumers *list, int domain)
{
	struct wattle_ledger ledger = {.size = sizeof(ledger)};

	assert_return_code(wattle_consumers_ledger(list, domain, &ledger), 0);
	return ledger;
}

/* Each ledger, and the sum of all shares, is the domain's energy. */
static uint64_t check_closed_domain(const struct wattle_consumers *list, int domain)
{
	struct wattle_ledger ledger = ledger_of(list, domain);
	uint64_t sum_uj = 0;

	for (size_t i = 0; i < wattle_consumers_count(list); i++) {
		struct wattle_share share = {.size = sizeof(share)};

		assert_return_code(wattle_consumers_share(list, i, domain, &share), 0);
		sum_uj += share.full_uj;
	}
	assert_int_equal(ledger.total_uj, sum_uj);
	assert_int_equal(ledger.live_uj + ledger.exited_uj + ledger.kernel_uj + ledger.idle_uj +
				 ledger.unattributed_uj,
			 sum_uj);
	return sum_uj;
}

/* nested: a domain that is inside another one; -1: there is none. */
static void check_closed_beside(const struct wattle_consumers *list, int nested)
{
	struct wattle_window window = {.size = sizeof(window)};
	struct wattle_ledger ledger = {.size = sizeof(ledger)};
	uint64_t all_uj = 0;

	assert_return_code(wattle_consumers_window(list, &window), 0);
	for (int i = 0; wattle_consumers_ledger(list, i, &ledger) == 0; i++) {
		uint64_t sum_uj = check_closed_domain(list, i);

		all_uj += i == nested ? 0 : sum_uj;
	}
	assert_int_equal(check_closed_domain(list, -1), all_uj);
	assert_int_equal(window.total.energy_uj, all_uj);
}

static void check_closed(const struct wattle_consumers *list)
{
	check_closed_beside(list, -1);
}

/* ---- Figures ---- */

/* More than a window had room for when it began. */
static void test_many_in_a_window(void **state)
{
	static struct machine m; /* large */
	static const char *const windows[] = {"w", NULL};
	int last = 0;

	(void)state;
	start(&m);
	meter_bench_open(&m.bench);
	pass(&m, S, 300 * MS, 100 * MS);
	assert_return_code(wattle_window_begin_with(m.bench.meter, "w", WATTLE_WINDOW_CONSUMERS),
			   0);
	for (int i = 0; i < 3000; i++)
		last = world_fork(&m.world, m.a);
	pass(&m, S, 300 * MS, 100 * MS);
	assert_return_code(wattle_meter_tick(m.bench.meter), 0);
	world_run(&m.world, last, 100 * MS);
	pass(&m, S, 300 * MS, 100 * MS);
	for (size_t i = 0; i < UNIT_COUNT(windows); i++) {
		struct wattle_consumers *list = list_of(&m, windows[i]);

		check_closed(list);
		assert_true(share_of(list, last, PACKAGE).full_uj > 0);
		wattle_consumers_free(list);
	}
	assert_return_code(wattle_window_end(m.bench.meter, "w", NULL, NULL, 0), 0);
	finish(&m);
}

static int64_t cpu_of(const struct wattle_consumers *list, int pid)
{
	for (size_t i = 0; i < wattle_consumers_count(list); i++) {
		struct wattle_consumer consumer = {.size = sizeof(consumer)};

		assert_return_code(wattle_consumers_get(list, i, &consumer), 0);
		if (consumer.pid != pid)
			continue;
		/* Whoever was not asked for it yet is for this list, however many they are. */
		assert_string_equal(consumer.command, "a --long");
		return consumer.cpu_ns;
	}
	return -1;
}

/* So many children, which are seen before they use that. */
static void fork_and_run(struct machine *m, int pids[], size_t n, int64_t cpu_ns)
{
	for (size_t i = 0; i < n; i++)
		pids[i] = world_fork(&m->world, m->a);
	pass(m, S, 0, 0);
	assert_return_code(wattle_meter_tick(m->bench.meter), 0);
	for (size_t i = 0; i < n; i++)
		world_run(&m->world, pids[i], cpu_ns);
	pass(m, S, 0, 0);
}

/* Whoever gets the slot of one that was there before the window has no CPU time of that one. */
static void test_slots_given_out_anew(void **state)
{
	static struct machine m; /* large */
	struct wattle_consumers *list;
	static int pids[6000]; /* more than have an account of their own once they have ended */

	(void)state;
	start(&m);
	meter_bench_open(&m.bench);
	fork_and_run(&m, pids, UNIT_COUNT(pids), MS / 8);
	assert_return_code(wattle_meter_tick(m.bench.meter), 0);
	assert_return_code(wattle_window_begin_with(m.bench.meter, "w", WATTLE_WINDOW_CONSUMERS),
			   0);
	for (size_t i = 0; i < UNIT_COUNT(pids); i++)
		world_end(&m.world, pids[i]);
	for (int k = 0; k < 3; k++) {
		pass(&m, S, 0, 0);
		assert_return_code(wattle_meter_tick(m.bench.meter), 0);
	}
	fork_and_run(&m, pids, UNIT_COUNT(pids), MS / 16);
	list = list_of(&m, "w");
	for (size_t i = 0; i < UNIT_COUNT(pids); i += 50)
		assert_int_equal(cpu_of(list, pids[i]), MS / 16);
	wattle_consumers_free(list);
	assert_return_code(wattle_window_end(m.bench.meter, "w", NULL, NULL, 0), 0);
	finish(&m);
}

static void test_shares(void **state)
{
	static struct machine m; /* large */
	struct wattle_share share, shares[DOMAINS] = {{.size = sizeof(shares[0])}};
	struct wattle_use use = {.size = sizeof(use), .total.size = sizeof(use.total)};
	static const struct {
		const char *path;
		int cpu_ms;
	} groups[] = {{"/", 110},
		      {"/b.service", 10},
		      {"/b.service/worker", 10},
		      {"/b.serv", 0},
		      {"/b.service/", 10}};
	struct wattle_consumers *list;
	struct wattle_set *a, *group;

	(void)state;
	start(&m);
	unit_write(m.bench.root, "idle", IDLE "package-0 rapl-powercap 10000000 100000" SEEN);
	reopen(&m);
	assert_string_equal(m.bench.log, "");
	pass(&m, S, 300 * MS, 100 * MS); /* before there was a window */
	assert_return_code(wattle_set_open(m.bench.meter, WATTLE_SET_PID, m.a, NULL, &a, NULL), 0);
	assert_return_code(
		wattle_set_open(m.bench.meter, WATTLE_SET_CGROUP, 0, "/b.service", &group, NULL),
		0);
	assert_return_code(wattle_window_begin_with(m.bench.meter, "w", WATTLE_WINDOW_CONSUMERS),
			   0);
	pass(&m, S, 600 * MS, 200 * MS);
	assert_return_code(wattle_window_begin(m.bench.meter, "x"), 0);
	assert_return_code(wattle_window_begin_with(m.bench.meter, "y", WATTLE_WINDOW_EXACT), 0);
	assert_int_equal(wattle_window_begin(m.bench.meter, "z"), -WATTLE_E_TOO_MANY);
	list = list_of(&m, "w");
	check_closed(list);
	share = share_of(list, m.a, PACKAGE);
	assert_int_equal(share.full_uj, 15000000);
	assert_int_equal(share.dynamic_uj, 7500000);
	assert_int_equal(share.has_dynamic, 1);
	share = share_of(list, m.b, DRAM);
	assert_int_equal(share.full_uj, 1000000);
	assert_int_equal(share.has_dynamic, 0);
	assert_int_equal(share.dynamic_uj, 0);
	assert_int_equal(share_of(list, m.b, -1).full_uj, 6000000);
	assert_int_equal(ledger_of(list, PACKAGE).idle_uj, 10000000);
	assert_int_equal(ledger_of(list, -1).has_idle, 0);
	wattle_consumers_free(list);
	list = list_of(&m, NULL);
	check_closed(list);
	assert_int_equal(share_of(list, m.a, PACKAGE).full_uj, 30000000);
	wattle_consumers_free(list);
	assert_return_code(wattle_set_read(a, "w", &use, shares, DOMAINS), 0);
	assert_int_equal(use.cpu_ns, 600 * MS);
	assert_int_equal(use.total.full_uj, 18000000);
	assert_int_equal(shares[PACKAGE].dynamic_uj, 7500000);
	assert_int_equal(shares[DRAM].full_uj, 3000000);
	assert_return_code(wattle_set_read(group, NULL, &use, shares, 1), 0);
	assert_int_equal(use.cpu_ns, 200 * MS);
	assert_int_equal(shares[0].full_uj, 5000000);
	for (size_t i = 0; i < UNIT_COUNT(groups); i++) {
		assert_return_code(wattle_set_open(m.bench.meter, WATTLE_SET_CGROUP, 0,
						   groups[i].path, &group, NULL),
				   0);
		pass(&m, S, 100 * MS, 10 * MS);
		assert_return_code(wattle_set_read(group, NULL, &use, NULL, 0), 0);
		assert_int_equal(use.cpu_ns, groups[i].cpu_ms * MS);
		wattle_set_close(group);
	}
	/* Another set in its place begins with nothing. */
	wattle_set_close(a);
	assert_return_code(wattle_set_open(m.bench.meter, WATTLE_SET_PID, m.b, NULL, &a, NULL), 0);
	assert_int_equal(wattle_set_read(a, "w", &use, NULL, 0), -ENODATA);
	pass(&m, S, 100 * MS, 20 * MS);
	assert_return_code(wattle_set_read(a, NULL, &use, shares, 0), 0);
	assert_int_equal(use.cpu_ns, 20 * MS);
	assert_int_equal(use.processes, 1);
	finish(&m);
}

/* A set's part of a window, and the window, by the sample that ends it. */
static void test_set_ends_a_window(void **state)
{
	static struct machine m; /* large */
	struct wattle_window window = {.size = sizeof(window)};
	struct wattle_energy energies[DOMAINS] = {{.size = sizeof(energies[0])}};
	struct wattle_share shares[DOMAINS] = {{.size = sizeof(shares[0])}};
	struct wattle_use use = {.size = sizeof(use), .total.size = sizeof(use.total)};
	struct wattle_set *a;

	(void)state;
	start(&m);
	reopen(&m);
	assert_return_code(wattle_window_begin(m.bench.meter, "earlier"), 0);
	assert_return_code(wattle_set_open(m.bench.meter, WATTLE_SET_PID, m.a, NULL, &a, NULL), 0);
	assert_return_code(wattle_window_begin_with(m.bench.meter, "w", WATTLE_WINDOW_EXACT), 0);
	pass(&m, S, 600 * MS, 200 * MS);
	assert_int_equal(wattle_set_end(a, "w", &window, energies, &use, shares, DOMAINS), 0);
	assert_int_equal(use.cpu_ns, 600 * MS);
	assert_int_equal(use.flags, 0);
	assert_int_equal(window.duration_ns, S);
	assert_int_equal(energies[PACKAGE].energy_uj, 20000000);
	assert_int_equal(shares[PACKAGE].full_uj, 15000000);
	assert_int_equal(use.total.full_uj, shares[PACKAGE].full_uj + shares[DRAM].full_uj);
	assert_int_equal(wattle_set_end(a, "w", NULL, NULL, &use, NULL, 0), -WATTLE_E_NO_WINDOW);
	assert_int_equal(wattle_set_end(a, "earlier", NULL, NULL, &use, NULL, 0), -ENODATA);
	assert_return_code(wattle_window_end(m.bench.meter, "earlier", NULL, NULL, 0), 0);
	window.size = 0;
	assert_int_equal(wattle_set_end(a, "w", &window, NULL, &use, NULL, 0), -EINVAL);
	use.size = 0;
	assert_int_equal(wattle_set_end(a, "w", NULL, NULL, &use, NULL, 0), -EINVAL);
	finish(&m);
}

/* There is room for the answers, and none for the thread that gives them. */
static void test_gpus_without_memory(void **state)
{
	static struct machine m; /* large */

	(void)state;
	need_counter();
	start(&m);
	reopen(&m);
	wattle_test_fail_alloc(2, false);
	assert_int_equal(wattle_meter_gpus(m.bench.meter), -ENOMEM);
	wattle_test_fail_alloc(0, false);
	finish(&m);
}

/* A window's own accounts go with it. */
static void test_windows_leave_nothing(void **state)
{
	static struct machine m; /* large */
	long blocks = 0;

	(void)state;
	need_counter();
	start(&m);
	reopen(&m);
	for (int i = 0; i < 20; i++) {
		assert_return_code(
			wattle_window_begin_with(m.bench.meter, "w", WATTLE_WINDOW_CONSUMERS), 0);
		pass(&m, S, 100 * MS, 0);
		wattle_consumers_free(list_of(&m, "w"));
		assert_return_code(i % 2 ? wattle_window_cancel(m.bench.meter, "w")
					 : wattle_window_end(m.bench.meter, "w", NULL, NULL, 0),
				   0);
		if (i == 9)
			blocks = wattle_test_blocks();
	}
	assert_int_equal(wattle_test_blocks(), blocks);
	finish(&m);
}

/* ---- Whole lives, on machines that tell more or less ---- */

static void print_list(FILE *out, const struct wattle_consumers *list)
{
	static const char *const states[] = {"running",	   "ended",  "kernel", "several",
					     "interrupts", "unseen", "nobody"};

	for (size_t i = 0; i < wattle_consumers_count(list); i++) {
		struct wattle_consumer c = {.size = sizeof(c)};
		struct wattle_share share = {.size = sizeof(share)};

		assert_return_code(wattle_consumers_get(list, i, &c), 0);
		assert_return_code(wattle_consumers_share(list, i, -1, &share), 0);
		if (share.full_uj == 0)
			continue;
		fprintf(out,
			"%-10s %6d %6d %s %s %u %s '%s' %s %s %s %s %s %lld %lld %lld %lld %llu %llu\n",
			states[c.state], c.pid, c.parent, c.name ? c.name : "-",
			c.user ? c.user : "-", c.uid, c.is_in_command ? "command" : "-",
			c.command ? c.command : "-", c.cgroup ? c.cgroup : "-",
			c.unit ? c.unit : "-", c.container ? c.container : "-", c.pod ? c.pod : "-",
			c.job ? c.job : "-", (long long)c.processes, (long long)c.cpu_ns,
			(long long)(c.start_utc_ns / MS), (long long)c.rss_bytes,
			(unsigned long long)share.full_uj, (unsigned long long)share.dynamic_uj);
	}
}

static void print_window(struct machine *m, FILE *out, const char *window,
			 struct wattle_set *const sets[2])
{
	struct wattle_use use = {.size = sizeof(use), .total.size = sizeof(use.total)};
	struct wattle_consumers *list = list_of(m, window);
	struct wattle_ledger ledger = ledger_of(list, -1);

	check_closed(list);
	print_list(out, list);
	wattle_consumers_free(list);
	fprintf(out, "live %llu exited %llu kernel %llu idle %llu unattributed %llu of %llu\n",
		(unsigned long long)ledger.live_uj, (unsigned long long)ledger.exited_uj,
		(unsigned long long)ledger.kernel_uj, (unsigned long long)ledger.idle_uj,
		(unsigned long long)ledger.unattributed_uj, (unsigned long long)ledger.total_uj);
	for (int i = 0; i < 2; i++) {
		assert_return_code(wattle_set_read(sets[i], window, &use, NULL, 0), 0);
		fprintf(out, "set: %lld ns, %llu processes, %llu µJ, %llu above rest\n",
			(long long)use.cpu_ns, (unsigned long long)use.processes,
			(unsigned long long)use.total.full_uj,
			(unsigned long long)use.total.dynamic_uj);
	}
}

static void print_ways(struct machine *m, FILE *out)
{
	struct wattle_way way = {.size = sizeof(way)};

	for (size_t i = 0; wattle_meter_way(m->bench.meter, i, &way) == 0; i++)
		fprintf(out, "%c %s: %s (%s)\n", way.is_used ? '+' : '-', way.name, way.text,
			way.remedy ? way.remedy : "");
}

static int in_group(struct machine *m, int parent, const char *name, const char *cgroup)
{
	int pid = world_fork(&m->world, parent);

	world_exec(&m->world, pid, name, name);
	snprintf(world_at(&m->world, pid)->cgroup, sizeof(world_at(&m->world, pid)->cgroup), "%s",
		 cgroup);
	return pid;
}

/* Half a second of everything. */
static void everything(struct machine *m, int kernel, int pod, int job)
{
	struct world *world = &m->world;
	int shell = in_group(m, m->a, "sh", "/user.slice/session-1.scope"), child, thread;
	char usage[64];

	world_run(world, kernel, 11 * MS);
	world_run(world, pod, 40 * MS);
	world_run(world, job, 70 * MS);
	child = world_fork(world, shell);
	world_run(world, child, 20 * MS);
	thread = world_fork(world, child);
	world_at(world, thread)->uid = 1000;
	pass(m, S / 4, 100 * MS, 0);
	assert_return_code(wattle_meter_tick(m->bench.meter), 0);
	world_thread(world, thread, 30 * MS);
	for (int i = 0; i < 5; i++)
		world_child(world, shell, "cc1", 8 * MS);
	world_end(world, shell); /* its children are 1's now */
	m->group_us += 5 * 8000 + 25000 + 30000 + 5 * 1000;
	snprintf(usage, sizeof(usage), "usage_usec %d\nuser_usec 0\n", m->group_us);
	world_put(world, "/sys/fs/cgroup/user.slice/session-1.scope/cpu.stat", usage);
	world_unseen(world, 33 * MS);
	world->irq_ns += 20 * MS;
	world->softirq_ns += 10 * MS;
	pass(m, S / 4, 0, 50 * MS);
	world_exit(world, thread);
	assert_return_code(wattle_meter_tick(m->bench.meter), 0);
	world_reap(world, thread);
	world_run(world, child, 5 * MS);
	world_end(world, child);
}

/* What may come between two looks. */
static void disturb(struct world *world, int round)
{
	world->fails_clocks = round == 3;
	world->has_lost = round == 4;
	if (round == 1)
		world->boot_ns += 3600 * S; /* the machine slept */
	if (round == 2)
		world->n_cpus++;
	if (round == 5)
		world->newest = 1; /* numbers begin again */
}

static void test_lives(void **state)
{
	static const struct {
		const char *name;
		int exits_errno;
		bool no_clocks, no_loadavg, no_stat, foreign;
		enum wattle_weight weight;
	} kinds[] = {
		{.name = "all is told"},
		{.name = "instructions", .weight = WATTLE_WEIGHT_INSTRUCTIONS},
		{.name = "no exit records", .exits_errno = EPERM},
		{.name = "none of a directory",
		 .exits_errno = ENOENT,
		 .weight = WATTLE_WEIGHT_CYCLES},
		{.name = "none of a tape", .exits_errno = ENODATA},
		{.name = "none at all", .exits_errno = EOPNOTSUPP},
		{.name = "no clocks", .no_clocks = true},
		{.name = "no newest number", .no_loadavg = true, .exits_errno = EPERM},
		{.name = "no times of the machine", .no_stat = true},
		{.name = "another PID namespace's clocks", .foreign = true},
	};
	static struct machine m; /* large */
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	for (size_t i = 0; i < UNIT_COUNT(kinds); i++) {
		struct wattle_set *sets[2];
		int kernel, pod, job;

		start(&m);
		unit_write(m.bench.root, "idle",
			   IDLE "package-0 rapl-powercap 10000000 100000" SEEN
				"dram-0 rapl-powercap 1000000 1" SEEN);
		m.bench.options.weight = kinds[i].weight ? kinds[i].weight : WATTLE_WEIGHT_CPU_TIME;
		m.world.exits_errno = kinds[i].exits_errno;
		m.world.no_clocks = kinds[i].no_clocks;
		m.world.no_loadavg = kinds[i].no_loadavg;
		m.world.no_stat = kinds[i].no_stat;
		m.world.foreign = kinds[i].foreign;
		m.world.teardown_ns = MS;
		m.world.n_cpus = 4;
		world_at(&m.world, m.a)->per_us = 3000;
		world_at(&m.world, m.b)->per_us = 1000;
		kernel = world_fork(&m.world, 2);
		world_exec(&m.world, kernel, "kworker", "");
		pod = in_group(&m, 1, "postgres",
			       "/kubepods.slice/kubepods-burstable.slice/"
			       "kubepods-burstable-pod01234567_89ab_cdef_0123_456789abcdef.slice/"
			       "cri-containerd-" HEX16 HEX16 HEX16 HEX16 ".scope");
		job = in_group(&m, 1, "train", "/system.slice/slurmstepd.scope/job_42/step_0");
		world_put(&m.world, "/sys/fs/cgroup/cgroup.controllers", "cpu\n");
		for (int k = 0; k < 20; k++)
			world_fork(&m.world, 1);
		meter_bench_open(&m.bench);
		everything(&m, kernel, pod, job);
		assert_return_code(
			wattle_set_open(m.bench.meter, WATTLE_SET_PID, m.a, NULL, &sets[0], NULL),
			0);
		assert_return_code(wattle_set_open(m.bench.meter, WATTLE_SET_CGROUP, 0,
						   "/user.slice", &sets[1], NULL),
				   0);
		assert_return_code(
			wattle_window_begin_with(m.bench.meter, "w", WATTLE_WINDOW_CONSUMERS), 0);
		for (int k = 0; k < 8; k++) {
			disturb(&m.world, k);
			everything(&m, kernel, pod, job);
		}
		fprintf(out, "\n== %s\n", kinds[i].name);
		print_window(&m, out, "w", sets);
		print_ways(&m, out);
		everything(&m, kernel, pod, job);
		fprintf(out, "-- since the open\n");
		print_window(&m, out, NULL, sets);
		finish(&m);
	}
	fclose(out);
	golden_check("attached.txt", text);
	free(text);
}

/* ---- The machine at rest ---- */

static int has_idle(struct machine *m)
{
	struct wattle_consumers *list = list_of(m, NULL);
	int has_idle;

	check_closed(list);
	has_idle = ledger_of(list, PACKAGE).has_idle;
	wattle_consumers_free(list);
	return has_idle;
}

/* What is learned is known to the next meter; what it knows already is not read from there. */
static void test_idle_is_kept(void **state)
{
	static struct machine m; /* large */
	struct wattle_consumers *list;
	char *text;

	(void)state;
	start(&m);
	meter_bench_open(&m.bench);
	pass(&m, S, 0, 0);
	assert_int_equal(has_idle(&m), 0);
	learn(&m);
	assert_int_equal(has_idle(&m), 1);
	reopen(&m);
	assert_string_equal(m.bench.log, "");
	pass(&m, S, S / 2, 0);
	list = list_of(&m, NULL);
	assert_in_range(ledger_of(list, PACKAGE).idle_uj, 19900000, 20000000);
	assert_in_range(ledger_of(list, DRAM).idle_uj, 3980000, 4000000);
	wattle_consumers_free(list);
	wattle_meter_close(m.bench.meter);
	m.bench.meter = NULL;
	text = unit_read(m.bench.root, "idle");
	assert_int_equal(strncmp(text, IDLE "machine ", sizeof(IDLE) + 7), 0);
	assert_non_null(strstr(text, " 2 Abacus\npackage-0 rapl-powercap "));
	assert_non_null(strstr(text, "\ndram-0 rapl-powercap "));
	free(text);
	finish(&m);
}

/* Files that are not this machine's, or not ours; lines that are not its domains' and sources'; and the last line
 * without its end. is_kept: such a file is replaced when more is known. */
static void test_idle_files(void **state)
{
#define GOOD "package-0 rapl-powercap 10000000 100000 2026-11-21T10:55:45Z 12000000000"
	static const struct {
		const char *text, *log;
		bool is_known, is_kept;
	} files[] = {
		{"", "", false, true},
		{IDLE GOOD, "", true, true},
		{IDLE "rubbish\npackage-9 rapl-powercap 1 1" SEEN "package-0 hwmon 1 1" SEEN GOOD
		      "\n",
		 "", true, true},
		{IDLE "package-0 rapl-powercap 1 1\n", "", false, true},
		{"wattle-idle/1\nmachine 2 Abacus\n" GOOD "\n", "", false, true},
		{IDLE "machine 0000000000000001 3 Abacus\n" GOOD "\n", "", false, true},
		{"wattle-idle/3\n" GOOD "\n", "is not a file of idle baselines", false, false},
		{"wattle-idle/", "is not a file of idle baselines", false, false},
	};
	static struct machine m; /* large */

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(files); i++) {
		char *text;

		start(&m);
		unit_write(m.bench.root, "idle", files[i].text);
		meter_bench_open(&m.bench);
		assert_int_equal(m.bench.log[0] != '\0', files[i].log[0] != '\0');
		assert_non_null(strstr(m.bench.log, files[i].log));
		assert_int_equal(m.n_notes, files[i].is_known);
		pass(&m, S, S, 0);
		assert_int_equal(has_idle(&m), files[i].is_known);
		learn(&m);
		wattle_meter_close(m.bench.meter);
		m.bench.meter = NULL;
		text = unit_read(m.bench.root, "idle");
		assert_int_equal(strstr(text, " 2 Abacus\npackage-0 rapl-powercap ") != NULL,
				 files[i].is_kept);
		assert_int_equal(strcmp(text, files[i].text) == 0, !files[i].is_kept);
		free(text);
		finish(&m);
	}
}

/* A directory is no such file; nor is one in a place that cannot be written. */
static void test_idle_cannot_be_kept(void **state)
{
	static struct machine m; /* large */

	(void)state;
	start(&m);
	m.bench.options.idle_file = m.bench.root;
	meter_bench_open(&m.bench);
	assert_non_null(strstr(m.bench.log, "cannot be read: "));
	m.bench.options.idle_file = "/proc/none/idle";
	reopen(&m);
	learn(&m);
	assert_string_equal(m.bench.log, "");
	wattle_meter_close(m.bench.meter);
	m.bench.meter = NULL;
	assert_non_null(strstr(m.bench.log, "cannot be kept in '/proc/none/idle'"));
	finish(&m);
}

/* A session of the caller's own: billed when that is due, and asked what it can learn and has learned. */
static void test_session(void **state)
{
	const struct wtl_session_options options = {.consumers = {.nvml_path = ""}};
	const struct wtl_session_options of_tape = {.consumers = {.nvml_path = ""},
						    .is_tape = true};
	struct wtl_baseline idle;
	static struct machine m; /* large */
	struct wtl_session session;

	(void)state;
	start(&m);
	m.bench.options.attribution = 0;
	meter_bench_open(&m.bench);
	assert_int_equal(wtl_session_open(&session, m.bench.meter, "s", &options, NULL), 0);
	assert_true(wtl_session_can_learn_idle(&session));
	wtl_session_begin(&session);
	assert_return_code(wattle_window_begin(m.bench.meter, "s"), 0);
	for (int i = 1; i <= 20; i++) {
		assert_false(i < 3 && wtl_session_learned_idle(&session));
		pass(&m, S / 2, 0, 0);
		assert_return_code(wattle_meter_tick(m.bench.meter), 0);
		assert_int_equal(wtl_session_is_due(&session), i % 2 == 0);
		wtl_session_tick(&session);
	}
	assert_true(wtl_session_learned_idle(&session));
	/* Only what was learned since it began counts. */
	pass(&m, S / 2, 0, 0);
	wtl_session_begin(&session);
	assert_false(wtl_session_learned_idle(&session));
	assert_true(wtl_session_close(&session));
	/* What a tape says is known. */
	m.note = GOOD;
	assert_int_equal(wtl_session_open(&session, m.bench.meter, "s", &of_tape, NULL), 0);
	wtl_session_load_idle(&session, NULL, NULL);
	wtl_consumers_baseline(session.consumers, PACKAGE, &idle);
	assert_int_equal(idle.idle_uw, 10000000);
	assert_int_equal(m.n_notes, 2);
	wtl_consumers_baseline(session.consumers, DRAM, &idle);
	assert_false(idle.is_known);
	assert_true(wtl_session_close(&session));
	wattle_meter_close(m.bench.meter);
	/* A model's is not learned. */
	m.bench.meter = NULL;
	meter_bench_remove(&m.bench, ZONE "/name");
	meter_bench_remove(&m.bench, ZONE ":0/name");
	meter_bench_open(&m.bench);
	assert_int_equal(wtl_session_open(&session, m.bench.meter, "s", &options, NULL), 0);
	assert_false(wtl_session_can_learn_idle(&session));
	assert_true(wtl_session_close(&session));
	finish(&m);
}

/* How far the ± of what `a` draws per busy CPU goes up over that time, in which it works in turns with b. */
static double widest(struct machine *m, struct wtl_session *session, int seconds)
{
	struct wtl_per_cpu per_cpu = {.power_uw = 0};
	double most_uw = 0.0;

	for (int i = 0; i < seconds; i++) {
		int64_t a_ns = i % 3 ? S / 2 : 0, b_ns = i % 2 ? S / 2 : 0;

		pass(m, S, a_ns, b_ns);
		m->energy_uj[PACKAGE] += (uint64_t)(a_ns / 100 + b_ns / 50);
		put_energy(m);
		assert_return_code(wattle_meter_tick(m->bench.meter), 0);
		wtl_session_tick(session);
		for (size_t slot = 0; slot < wtl_consumers_slots(session->consumers); slot++) {
			const struct wtl_consumer *who =
				wtl_consumers_get(session->consumers, slot);

			if (who && who->pid == m->a)
				wtl_consumers_per_cpu(session->consumers, slot, &per_cpu);
		}
		most_uw = fmax(most_uw, (double)per_cpu.uncertainty_uw);
	}
	return most_uw;
}

/* What was learned of watts is doubted when the machine is set otherwise, or slept. */
static void test_settings(void **state)
{
	static const char *const files[] = {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
					    "/sys/devices/system/cpu/online",
					    ZONE "/constraint_0_power_limit_uw", NULL};
	const struct wtl_session_options options = {
		.consumers = {.nvml_path = "", .weight = WTL_WEIGHT_LEARNED}};
	const int calm_s = 72;	 /* more than is divided at once: then drift is added */
	static struct machine m; /* large */
	struct wtl_session session;

	(void)state;
	start(&m);
	for (size_t i = 0; files[i]; i++)
		meter_bench_write(&m.bench, files[i], "as it was\n");
	m.bench.options.attribution = 0;
	meter_bench_open(&m.bench);
	assert_int_equal(wtl_session_open(&session, m.bench.meter, "s", &options, NULL), 0);
	wtl_session_begin(&session);
	assert_return_code(wattle_window_begin(m.bench.meter, "s"), 0);
	widest(&m, &session, 60);
	for (size_t i = 0; i < UNIT_COUNT(files); i++) {
		double before_uw = widest(&m, &session, calm_s);

		assert_true(before_uw > 0.0 && widest(&m, &session, calm_s) < 1.05 * before_uw);
		if (files[i])
			meter_bench_write(&m.bench, files[i], "otherwise\n");
		else
			m.world.boot_ns += 3600 * S;
		assert_true(widest(&m, &session, 12) > 1.3 * before_uw);
		widest(&m, &session, 60);
	}
	assert_true(wtl_session_close(&session));
	finish(&m);
}

/* Nothing is written where a struct has no size, or there is none. */
static void test_arguments(void **state)
{
	static struct machine m; /* large */
	struct wattle_error no_size = {.size = 0};
	struct wattle_use use = {.size = 0};
	struct wattle_share share = {.size = 0};
	struct wattle_error error = {.size = sizeof(error)};
	struct wattle_way way = {.size = 0};
	struct wattle_window window = {.size = 0};
	struct wattle_consumer consumer = {.size = 0};
	struct wattle_ledger ledger = {.size = 0};
	struct wattle_consumers *list = NULL;
	struct wattle_set *set = NULL;
	struct wattle_meter *meter;

	(void)state;
	start(&m);
	meter_bench_open(&m.bench);
	meter = m.bench.meter;
	assert_int_equal(wattle_meter_consumers(meter, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(wattle_meter_consumers(meter, NULL, &list, &no_size), -EINVAL);
	assert_int_equal(wattle_set_open(meter, WATTLE_SET_SELF, 0, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(wattle_set_open(meter, WATTLE_SET_SELF, 0, NULL, &set, &no_size), -EINVAL);
	assert_int_equal(wattle_set_open(meter, (enum wattle_set_kind)9, 1, "/", &set, NULL),
			 -EINVAL);
	assert_int_equal(wattle_set_open(meter, WATTLE_SET_CGROUP, 0, "b", &set, NULL), -EINVAL);
	assert_null(set);
	assert_return_code(wattle_set_open(meter, WATTLE_SET_SELF, 0, NULL, &set, &error), 0);
	assert_string_equal(error.text, "");
	assert_int_equal(wattle_set_read(set, NULL, &use, NULL, 0), -EINVAL);
	assert_int_equal(wattle_set_read(set, NULL, NULL, &share, 1), -EINVAL);
	assert_int_equal(wattle_set_read(set, NULL, NULL, &share, 0), 0);
	assert_int_equal(wattle_set_read(set, NULL, NULL, NULL, 7), 0);
	assert_int_equal(wattle_set_read(set, "w", NULL, NULL, 0), -WATTLE_E_NO_WINDOW);
	assert_int_equal(wattle_meter_way(meter, 0, &way), -EINVAL);
	list = list_of(&m, NULL);
	assert_int_equal(wattle_consumers_get(list, 0, &consumer), -EINVAL);
	assert_int_equal(wattle_consumers_get(list, wattle_consumers_count(list), &consumer),
			 -ERANGE);
	assert_int_equal(wattle_consumers_ledger(list, 0, &ledger), -EINVAL);
	assert_int_equal(wattle_consumers_ledger(list, DOMAINS, &ledger), -ERANGE);
	assert_int_equal(wattle_consumers_share(list, 0, DOMAINS, &share), -ERANGE);
	assert_int_equal(wattle_consumers_window(list, &window), -EINVAL);
	wattle_consumers_free(list);
	for (int i = 1; i < 16; i++)
		assert_return_code(wattle_set_open(meter, WATTLE_SET_SELF, 0, NULL, &set, NULL), 0);
	assert_int_equal(wattle_set_open(meter, WATTLE_SET_SELF, 0, NULL, &set, NULL),
			 -WATTLE_E_TOO_MANY);
	finish(&m);
}

/* ---- What fails ---- */

enum {
	OPEN,
	BEGIN,
	CHOOSE,
	CHOOSE_GROUP,
	BEGIN_PLAIN,
	TICK,
	LIST,
	READ,
	TICK_AGAIN,
	LIST_ALL,
	END,
	STEPS
};

struct life {
	struct machine *m;
	size_t n_children;
	struct wattle_set *set, *group;
};

static int do_step(struct life *life, unsigned step)
{
	struct wattle_meter *meter = life->m->bench.meter;
	struct wattle_use use = {.size = sizeof(use)};
	struct wattle_consumers *list = NULL;
	int rc;

	switch (step) {
	case OPEN:
		return meter_bench_try(&life->m->bench, NULL);
	case BEGIN:
		return wattle_window_begin_with(meter, "w", WATTLE_WINDOW_CONSUMERS);
	case CHOOSE:
		return wattle_set_open(meter, WATTLE_SET_SELF, 0, NULL, &life->set, NULL);
	case CHOOSE_GROUP:
		return wattle_set_open(meter, WATTLE_SET_CGROUP, 0, "/b.service", &life->group,
				       NULL);
	case BEGIN_PLAIN:
		return wattle_window_begin(meter, "x");
	case LIST:
	case LIST_ALL:
		rc = wattle_meter_consumers(meter, step == LIST ? "w" : NULL, &list, NULL);
		assert_int_equal(list != NULL, rc == 0);
		wattle_consumers_free(list);
		return rc;
	case READ:
		return wattle_set_read(life->set, "x", &use, NULL, 0);
	case END:
		return wattle_window_end(meter, "w", NULL, NULL, 0);
	default:
		return wattle_meter_tick(meter);
	}
}

/* What happens meanwhile. */
static void live(struct life *life, unsigned step)
{
	static int pids[200];
	struct world *world = &life->m->world;

	pass(life->m, S, 300 * MS, 100 * MS);
	for (size_t i = 0; step == TICK && i < life->n_children; i++) {
		pids[i] = world_fork(world, life->m->a);
		world_run(world, pids[i], MS);
	}
	for (size_t i = 0; step == TICK_AGAIN && i < life->n_children; i++)
		world_end(world, pids[i]);
}

static void arm(struct machine *m, unsigned long *ret_before)
{
	*ret_before = wattle_test_allocations();
	wattle_test_fail_alloc(m->left, m->fails_always);
}

static void disarm(struct machine *m, unsigned long before)
{
	unsigned long n = wattle_test_allocations() - before;

	wattle_test_fail_alloc(0, false);
	m->left = n < m->left ? m->left - n : 0;
}

/* Once more, where it failed for that reason. */
static void try(struct life *life, unsigned step, int reason)
{
	struct machine *m = life->m;
	unsigned long before;
	int rc;

	arm(m, &before);
	rc = do_step(life, step);
	disarm(m, before);
	if (rc == 0)
		return;
	assert_true(rc == reason || (rc == -ESRCH && m->world.has_failed));
	assert_int_equal(do_step(life, step), 0);
}

/* Nothing fails any more: what comes is right. */
static void check_afterwards(struct machine *m, bool is_modelled)
{
	struct wattle_consumers *list;
	uint64_t all_uj;

	list = list_of(m, NULL);
	check_closed(list);
	wattle_consumers_free(list);
	pass(m, S, 300 * MS, 100 * MS);
	assert_return_code(
		wattle_window_begin_with(m->bench.meter, "after", WATTLE_WINDOW_CONSUMERS), 0);
	pass(m, S, 600 * MS, 200 * MS);
	list = list_of(m, "after");
	check_closed(list);
	all_uj = ledger_of(list, -1).total_uj;
	assert_true(is_modelled || all_uj == 24000000);
	assert_in_range(share_of(list, m->a, -1).full_uj, all_uj * 3 / 4 - 2, all_uj * 3 / 4 + 2);
	wattle_consumers_free(list);
}

static void test_no_memory(void **state)
{
	static struct machine m; /* large */
	bool is_over = false;

	(void)state;
	need_counter();
	for (unsigned long n = 1; !is_over; n++) {
		struct life life = {.m = &m, .n_children = 200};
		unsigned long before;
		char *text;

		assert_in_range(n, 1, LIMIT);
		start(&m);
		unit_write(m.bench.root, "idle", IDLE GOOD "\n");
		m.bench.options.weight = WATTLE_WEIGHT_INSTRUCTIONS;
		m.left = n;
		m.fails_always = n % 2;
		for (unsigned step = 0; step < STEPS; step++) {
			live(&life, step);
			try(&life, step, -ENOMEM);
		}
		check_afterwards(&m, false);
		arm(&m, &before);
		wattle_meter_close(m.bench.meter);
		disarm(&m, before);
		m.bench.meter = NULL;
		text = unit_read(m.bench.root, "idle");
		assert_int_equal(strncmp(text, IDLE, sizeof(IDLE) - 1), 0);
		assert_non_null(strstr(text, "\npackage-0 rapl-powercap "));
		free(text);
		is_over = m.left > 0;
		finish(&m);
	}
}

/* The machine has a number, and a file of one calibration, which is written to `line`. */
static void calibrate(struct machine *m, const char *domain, char line[LINE_SIZE])
{
	char text[LINE_SIZE + 40];

	meter_bench_write(&m->bench, "/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
	reopen(m);
	snprintf(line, LINE_SIZE, "%016llx:%s 1250000 0 20000 0 0 0 1700000000",
		 (unsigned long long)m->bench.meter->machine.id, domain);
	snprintf(text, sizeof(text), "wattle-calibration/1\n%s\n", line);
	unit_write(m->bench.root, "calibration", text);
}

/* Without memory for calibrations a meter does not open: it would tell other figures. */
static void test_no_memory_for_calibrations(void **state)
{
	static struct machine m; /* large */
	char line[LINE_SIZE];

	(void)state;
	need_counter();
	start(&m);
	calibrate(&m, "package-0", line);
	for (unsigned long n = 1; m.left == 0; n++) {
		unsigned long before;
		int rc;

		assert_in_range(n, 1, LIMIT);
		wattle_meter_close(m.bench.meter);
		m.bench.meter = NULL;
		m.left = n;
		arm(&m, &before);
		rc = meter_bench_try(&m.bench, NULL);
		disarm(&m, before);
		assert_true(rc == 0 || rc == -ENOMEM);
		if (rc == 0)
			assert_string_equal(meter_bench_domain(&m.bench, "package-0").device,
					    "Abacus, calibrated 2023-11-14");
	}
	finish(&m);
}

/* The same where a GPU is used, which another thread asks about: sums are closed, and nothing is lost for good. */
static void test_no_memory_for_gpus(void **state)
{
	static struct machine m; /* large */
	bool is_over = false;

	(void)state;
	need_counter();
	for (unsigned long n = 1; !is_over; n++) {
		struct life life = {.m = &m};
		char *script;

		assert_in_range(n, 1, LIMIT);
		start(&m);
		script = unit_path(m.bench.root, "script");
		unit_write(
			m.bench.root, "script",
			"gpu Fake\n  power 0 const 100\n  sensor counter gpu 100\n  memory 1024 0 100\n"
			"  process 3 C 100 60 20 0 0\n  process 4 C 50 20 20 0 0\n");
		setenv("WATTLE_FAKE_NVML", script, 1);
		m.bench.nvml = getenv("WATTLE_NVML_LIBRARY");
		m.left = n;
		m.fails_always = n % 2;
		try(&life, OPEN, -ENOMEM);
		assert_true(wattle_meter_find(m.bench.meter, "gpu-0") > 0 || m.left == 0);
		for (unsigned step = TICK; step <= LIST; step++) {
			pass(&m, S, 300 * MS, 100 * MS);
			try(&life, TICK, -ENOMEM);
		}
		is_over = m.left > 0;
		pass(&m, S, 300 * MS, 100 * MS);
		assert_int_equal(has_idle(&m), 0);
		finish(&m);
		unsetenv("WATTLE_FAKE_NVML");
		free(script);
	}
}

/* By use alone, the second one had 0.6 times as much: so it is of the GPU's memory, of which nothing is learned. */
static void check_gpu_users(struct machine *m, const struct wattle_consumers *list, int gpu)
{
	struct wattle_share a = share_of(list, m->a, gpu), b = share_of(list, m->b, gpu);
	int memory = wattle_meter_find(m->bench.meter, "gpu-0-memory");

	check_closed_beside(list, memory);
	assert_in_range(100 * share_of(list, m->b, memory).full_uj /
				share_of(list, m->a, memory).full_uj,
			50, 70);
	assert_in_range(100 * b.full_uj / a.full_uj, 115, 150);
	assert_true(a.full_uncertainty_uj > 0 && a.full_uncertainty_uj < a.full_uj / 2);
	assert_true(b.full_uncertainty_uj > 0 && b.full_uncertainty_uj < b.full_uj / 2);
}

/* A second from the script's clock on. */
static void pass_gpu(struct machine *m, int second)
{
	char text[24];

	pass(m, S, 30 * MS, 10 * MS);
	snprintf(text, sizeof(text), "%020lld\n", (second + 1) * (long long)S);
	unit_write(m->bench.root, "clock", text);
	assert_return_code(wattle_meter_tick(m->bench.meter), 0);
}

/*
 * Two on a GPU, 100 and 300 W each when it has all of it, for more than the minute that is divided anew. A window that begins
 * with the meter bills as the meter itself; one that begins later, the rest.
 */
static void test_watts_of_gpu_users(void **state)
{
	enum { TURNS = 17, TURN_S = 8, LATE = 4 };
	static const int turns[][2] = {{60, 0}, {20, 40}, {10, 20}, {40, 20}};
	static struct machine m; /* large */
	struct wattle_consumers *all, *first, *late;
	char *script, *clock, *kept, *at, text[16384];
	int gpu;

	(void)state;
	start(&m);
	at = text + snprintf(text, sizeof(text),
			     "gpu Fake\n  arch hopper\n  sensor counter gpu 100\n"
			     "  sensor average memory 100 1000\n  memory-share 40\n");
	for (int i = 0; i < TURNS; i++) {
		int a = turns[i % 4][0], b = turns[i % 4][1];

		at += sprintf(at,
			      "  power %d const %d\n  process %d C 100 %d 0 0 0 %d %d\n"
			      "  process %d C 100 %d 0 0 0 %d %d\n",
			      i * TURN_S, 50 + a + 3 * b, m.a, a, i * TURN_S, (i + 1) * TURN_S, m.b,
			      b, i * TURN_S, (i + 1) * TURN_S);
	}
	script = unit_path(m.bench.root, "script");
	unit_write(m.bench.root, "script", text);
	setenv("WATTLE_FAKE_NVML", script, 1);
	clock = unit_path(m.bench.root, "clock");
	setenv("WATTLE_FAKE_NVML_CLOCK", clock, 1);
	unit_write(m.bench.root, "clock", "0\n");
	m.bench.io.has_one_order = true;
	m.bench.nvml = getenv("WATTLE_NVML_LIBRARY");
	m.bench.options.weight = WATTLE_WEIGHT_LEARNED;
	reopen(&m);
	gpu = wattle_meter_find(m.bench.meter, "gpu-0");
	assert_true(gpu > 0);
	assert_return_code(
		wattle_window_begin_with(m.bench.meter, "first", WATTLE_WINDOW_CONSUMERS), 0);
	for (int i = 0; i < LATE * TURN_S; i++)
		pass_gpu(&m, i);
	assert_return_code(wattle_window_begin_with(m.bench.meter, "late", WATTLE_WINDOW_CONSUMERS),
			   0);
	for (int i = LATE * TURN_S; i < TURNS * TURN_S - 1; i++)
		pass_gpu(&m, i);
	all = list_of(&m, NULL);
	first = list_of(&m, "first");
	late = list_of(&m, "late");
	check_gpu_users(&m, first, gpu);
	check_gpu_users(&m, late, gpu);
	assert_int_equal(share_of(all, m.a, gpu).full_uj, share_of(first, m.a, gpu).full_uj);
	assert_int_equal(share_of(all, m.b, gpu).full_uj, share_of(first, m.b, gpu).full_uj);
	wattle_consumers_free(all);
	wattle_consumers_free(first);
	wattle_consumers_free(late);
	wattle_meter_close(m.bench.meter);
	m.bench.meter = NULL;
	kept = unit_read(m.bench.root, "idle");
	assert_non_null(strstr(kept, "\nwatts:gpu-0 a "));
	free(kept);
	finish(&m);
	unsetenv("WATTLE_FAKE_NVML");
	unsetenv("WATTLE_FAKE_NVML_CLOCK");
	free(script);
	free(clock);
}

/* Three on a package, of 10, 30 and 20 W beside its 20: what is kept of them says of what they are watts. */
static void test_watts_are_kept(void **state)
{
	static const int turns[][2] = {{600, 0}, {200, 400}, {100, 200}, {0, 500}};
	struct wattle_share all = {.size = sizeof(all)}, late = {.size = sizeof(late)};
	static struct machine m; /* large */
	struct wattle_set *set;
	char *kept;
	int c;

	(void)state;
	start(&m);
	c = world_fork(&m.world, 1);
	m.bench.options.weight = WATTLE_WEIGHT_LEARNED;
	reopen(&m);
	assert_return_code(wattle_set_open(m.bench.meter, WATTLE_SET_PID, m.a, NULL, &set, NULL),
			   0);
	for (int i = 0; i < 200; i++) {
		int a = turns[i / 5 % 4][0], b = turns[i / 5 % 4][1], third = i % 7 * 50;

		if (i == 160)
			assert_return_code(wattle_window_begin(m.bench.meter, "w"), 0);
		m.energy_uj[PACKAGE] += (uint64_t)(10 * a + 30 * b + 20 * third) * 1000;
		world_run(&m.world, c, third * MS);
		pass(&m, S, a * MS, b * MS);
		assert_return_code(wattle_meter_tick(m.bench.meter), 0);
	}
	/* As ill known in a part of the time as in all of it. */
	assert_return_code(wattle_set_read(set, NULL, NULL, &all, 1), 0);
	assert_return_code(wattle_set_read(set, "w", NULL, &late, 1), 0);
	assert_in_range(100 * late.full_uncertainty_uj / late.full_uj, 4, 9);
	assert_in_range(100 * all.full_uncertainty_uj / all.full_uj, 4, 9);
	wattle_set_close(set);
	wattle_meter_close(m.bench.meter);
	m.bench.meter = NULL;
	kept = unit_read(m.bench.root, "idle");
	assert_non_null(strstr(kept, "\nwatts:package-0 a "));
	free(kept);
	finish(&m);
}

/* What is learned of the minute before a window changes nothing in it: there, a does nothing. */
static void test_set_at_rest(void **state)
{
	static struct machine m; /* large */
	struct wattle_use use = {.size = sizeof(use), .total.size = sizeof(use.total)};
	struct wattle_set *a;

	(void)state;
	start(&m);
	m.bench.options.weight = WATTLE_WEIGHT_LEARNED;
	reopen(&m);
	assert_return_code(wattle_set_open(m.bench.meter, WATTLE_SET_PID, m.a, NULL, &a, NULL), 0);
	for (int i = 0; i < 40; i++) {
		if (i == 20)
			assert_return_code(wattle_window_begin(m.bench.meter, "w"), 0);
		m.energy_uj[PACKAGE] += i < 20 ? 10000000 : 30000000;
		pass(&m, S, i < 20 ? 500 * MS : 0, i < 20 ? 100 * MS : 900 * MS);
		assert_return_code(wattle_meter_tick(m.bench.meter), 0);
	}
	assert_return_code(wattle_set_read(a, "w", &use, NULL, 0), 0);
	assert_int_equal(use.cpu_ns, 0);
	assert_int_equal(use.total.full_uj, 0);
	finish(&m);
}

/* One works all the time: what it draws is known from what rest is known to draw, and from nothing else. */
static void test_watts_beside_known_idle(void **state)
{
	static struct machine m; /* large */
	struct wtl_consumers *consumers;
	struct wtl_per_cpu watts;

	(void)state;
	start(&m);
	unit_write(m.bench.root, "idle", IDLE "package-0 rapl-powercap 20000000 100000" SEEN);
	m.bench.options.weight = WATTLE_WEIGHT_LEARNED;
	reopen(&m);
	for (int i = 0; i < 40; i++) {
		m.energy_uj[PACKAGE] += 5000000;
		pass(&m, S, 500 * MS, 0);
		assert_return_code(wattle_meter_tick(m.bench.meter), 0);
	}
	consumers = m.bench.meter->attached->session.consumers;
	wtl_consumers_per_cpu(consumers,
			      (size_t)wtl_workload_find(wtl_consumers_workload(consumers), m.a),
			      &watts);
	/* 10 W; without that, ± 38. */
	assert_in_range(watts.power_uw, 8000000, 13000000);
	assert_in_range(watts.uncertainty_uw, 5000000, 12000000);
	finish(&m);
}

/*
 * A program measures, UTC is set, and it records itself for five seconds: bills are dated as the recording's window is,
 * so that a part of it has the bills of its time.
 */
static void test_recorded_after_utc_was_set(void **state)
{
	const struct wattle_recorder_options options = {.size = sizeof(options)};
	const struct wtl_history_options none = {.keeps_windows = false};
	struct wattle_recorder *recorder = NULL;
	static struct machine m; /* large */
	struct wtl_history *history = NULL;
	struct wtl_played played;
	unsigned n_bills = 0;
	char path[320];

	(void)state;
	start(&m);
	reopen(&m);
	learn(&m);
	m.bench.utc_ns += 3600 * S;
	snprintf(path, sizeof(path), "%s/own.wattle", m.bench.root);
	assert_int_equal(wattle_recorder_open(path, m.bench.meter, &options, &recorder, NULL), 0);
	for (int i = 0; i < 50; i++) {
		pass(&m, 100 * MS, 50 * MS, 20 * MS);
		assert_return_code(wattle_meter_tick(m.bench.meter), 0);
	}
	assert_int_equal(wattle_recorder_close(recorder, NULL), 0);
	assert_int_equal(wtl_history_open(path, &none, &history, NULL), 0);
	while (wtl_history_step(history, &played, NULL) > 0) {
		if (played.kind != WTL_PLAYED_BILLED)
			continue;
		n_bills++;
		assert_int_equal(played.scanned_ns - history->begin_mono_ns,
				 (n_bills < 5 ? n_bills : 5) * S);
	}
	assert_int_equal(n_bills, 6);
	wtl_history_close(history);
	finish(&m);
}

/* What the wall's watts are told by is in a recording, as the line that it is. */
static void test_recorded_wall(void **state)
{
	const struct wattle_recorder_options options = {.size = sizeof(options)};
	struct wattle_recorder *recorder = NULL;
	static struct machine m; /* large */
	char path[320], line[LINE_SIZE], **rows;
	sqlite3 *db;
	int n;

	(void)state;
	start(&m);
	calibrate(&m, "wall", line);
	reopen(&m);
	snprintf(path, sizeof(path), "%s/own.wattle", m.bench.root);
	assert_int_equal(wattle_recorder_open(path, m.bench.meter, &options, &recorder, NULL), 0);
	assert_int_equal(wattle_recorder_close(recorder, NULL), 0);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_get_table(db, "SELECT value FROM fact WHERE key = 'wall'", &rows,
					   &n, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(n, 1);
	assert_string_equal(rows[1], line);
	sqlite3_free_table(rows);
	sqlite3_close(db);
	finish(&m);
}

static bool is_modelled(struct machine *m, const char *domain)
{
	return wattle_meter_find(m->bench.meter, domain) < 0 ||
	       meter_bench_domain(&m->bench, domain).method != WATTLE_METHOD_COUNTER;
}

/* Of the machine's answers one is missing, each in turn. */
static void test_no_answer(void **state)
{
	static const int errors[] = {EIO, ENOENT, EACCES};
	static struct machine m; /* large */
	bool is_over = false;

	(void)state;
	for (unsigned n = 1; !is_over; n++) {
		struct life life = {.m = &m, .n_children = 5};

		assert_in_range(n, 1, LIMIT);
		start(&m);
		m.bench.options.weight = WATTLE_WEIGHT_CYCLES;
		m.world.fail_at = n;
		m.world.fail_errno = errors[n % UNIT_COUNT(errors)];
		for (unsigned step = 0; step < STEPS; step++) {
			live(&life, step);
			try(&life, step, -m.world.fail_errno);
		}
		is_over = !m.world.has_failed;
		m.world.fail_at = 0;
		check_afterwards(&m, is_modelled(&m, "package-0") || is_modelled(&m, "dram-0"));
		finish(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_in_a_window),
		cmocka_unit_test(test_slots_given_out_anew),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_set_ends_a_window),
		cmocka_unit_test(test_gpus_without_memory),
		cmocka_unit_test(test_windows_leave_nothing),
		cmocka_unit_test(test_lives),
		cmocka_unit_test(test_idle_is_kept),
		cmocka_unit_test(test_idle_files),
		cmocka_unit_test(test_idle_cannot_be_kept),
		cmocka_unit_test(test_session),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_no_memory_for_calibrations),
		cmocka_unit_test(test_watts_of_gpu_users),
		cmocka_unit_test(test_watts_are_kept),
		cmocka_unit_test(test_set_at_rest),
		cmocka_unit_test(test_watts_beside_known_idle),
		cmocka_unit_test(test_recorded_after_utc_was_set),
		cmocka_unit_test(test_recorded_wall),
		cmocka_unit_test(test_no_memory_for_gpus),
		cmocka_unit_test(test_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
