/* SPDX-License-Identifier: MIT */
#include "replay_bench.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "base/err.h"
#include "golden.h"
#include "record/code.h"
#include "record/writer.h"
#include "replay/history.h"
#include "unit.h"

enum { TEXT_MAX = 1 << 20 };

/* Counters of 2^-32 J. */
static const char *const package_files[] = {"/wattle-perf/18-2-0", "/wattle-perf/18-2-32"};

/* ---- The world's libraries are the meter's, and it has no bus, as in a container ---- */

static struct replay_bench *bench_of(struct wtl_io *io)
{
	return (struct replay_bench *)((char *)io - offsetof(struct replay_bench, world));
}

static struct wtl_io *libs_of(struct wtl_io *io)
{
	return bench_of(io)->bench.pass.real;
}

static int lib_open(struct wtl_io *io, const char *const names[],
		    const struct wtl_lib_function functions[], size_t n, struct wtl_err *err)
{
	return wtl_io_lib_open(libs_of(io), names, functions, n, err);
}

static bool lib_has(struct wtl_io *io, int lib, size_t function)
{
	return wtl_io_lib_has(libs_of(io), lib, function);
}

static int lib_call(struct wtl_io *io, int lib, size_t function, struct wtl_lib_arg args[],
		    int *ret_answer)
{
	return wtl_io_lib_call(libs_of(io), lib, function, args, ret_answer);
}

static void lib_close(struct wtl_io *io, int lib)
{
	wtl_io_lib_close(libs_of(io), lib);
}

static int dir_read(struct wtl_io *io, const char *path, struct wtl_buf *names)
{
	return strcmp(path, "/proc") == 0 ? bench_of(io)->plain_ops->dir_read(io, path, names)
					  : -ENOENT;
}

static void open_world(struct replay_bench *f)
{
	world_init(&f->world);
	f->plain_ops = f->world.io.ops;
	f->world_ops = *f->plain_ops;
	f->world_ops.dir_read = dir_read;
	f->world_ops.lib_open = lib_open;
	f->world_ops.lib_has = lib_has;
	f->world_ops.lib_call = lib_call;
	f->world_ops.lib_close = lib_close;
	f->world.io.ops = &f->world_ops;
	f->world.io.has_one_order = true;
}

/* ---- Opening ---- */

/* The fake's time is the bench's. */
static void set_gpu_time(struct replay_bench *f)
{
	char text[32];

	if (!f->has_gpus)
		return;
	snprintf(text, sizeof(text), "%020lld\n",
		 (long long)(f->bench.now_ns - METER_BENCH_START_NS));
	unit_write(f->dir, "clock", text);
}

static void set_script(struct replay_bench *f, const char *script)
{
	const char *scripts = getenv("WATTLE_FAKE_SCRIPTS");
	char path[512];

	assert_non_null(scripts);
	f->bench.nvml = getenv("WATTLE_NVML_LIBRARY");
	assert_non_null(f->bench.nvml);
	f->has_gpus = true;
	set_gpu_time(f);
	snprintf(path, sizeof(path), "%s/clock", f->dir);
	setenv("WATTLE_FAKE_NVML_CLOCK", path, 1);
	snprintf(path, sizeof(path), "%s/%s.nvml", scripts, script);
	if (strchr(script, '\n')) {
		unit_write(f->dir, "script", script);
		snprintf(path, sizeof(path), "%s/script", f->dir);
	}
	setenv("WATTLE_FAKE_NVML", path, 1);
}

static void name_user(void *context, uint32_t uid, char name[33])
{
	(void)context;
	strcpy(name, uid == 0 ? "r" : uid == 1000 ? "ada" : "");
}

uint64_t replay_bench_peak_bytes = 4096000;

static uint64_t peak_memory(void)
{
	return replay_bench_peak_bytes;
}

void replay_bench_start_on(struct replay_bench *f, const struct replay_setup *setup)
{
	struct wtl_consumers_options how = {
		.nvml_path = "", .max_exited = 4, .weight = setup->weight};
	struct wtl_recorder_options options = {.store = setup->store,
					       .interval_ns = 100 * MS,
					       .peak_memory = peak_memory,
					       .user = name_user};
	struct wtl_err err = {.code = 0};

	memset(f, 0, sizeof(*f));
	f->dir = unit_tmpdir();
	meter_bench_copy(&f->bench, setup->root);
	f->bench.nvml = "";
	f->bench.clock_step_ns = 1234;
	if (setup->script)
		set_script(f, setup->script);
	how.nvml_path = f->bench.nvml;
	meter_bench_open(&f->bench);
	open_world(f);
	f->world.has_pmu = setup->weight != WTL_WEIGHT_CPU_TIME;
	if (setup->set_world)
		setup->set_world(&f->world, setup->context);
	assert_int_equal(wtl_consumers_new(f->bench.meter,
					   setup->is_quiet ? f->bench.meter->env.io : &f->world.io,
					   &how, &f->consumers, NULL),
			 0);
	options.path = f->path = unit_path(f->dir, "test.wattle");
	assert_in_range(wattle_meter_domains(f->bench.meter), 1, REPLAY_DOMAINS_MAX);
	if (wtl_recorder_new(f->bench.meter, f->consumers, &options, &f->recorder, &err) < 0)
		fail_msg("%s", err.text);
	wtl_writer_wait(wtl_recorder_writer(f->recorder));
	for (int i = 0; i < 2; i++)
		f->package_counts[i] = UINT64_C(1) << 40;
}

void replay_bench_start(struct replay_bench *f, int64_t period_ns)
{
	const struct replay_setup setup = {.root = "xeon-2s-dram",
					   .store = {.period_ns = period_ns}};

	replay_bench_start_on(f, &setup);
}

void replay_bench_stop(struct replay_bench *f)
{
	struct wtl_err err = {.code = 0};

	if (wtl_recorder_end(f->recorder, &err) < 0)
		fail_msg("%s", err.text);
	f->recorder = NULL;
}

void replay_bench_finish(struct replay_bench *f)
{
	if (f->recorder)
		replay_bench_stop(f);
	wtl_consumers_free(f->consumers);
	world_done(&f->world);
	meter_bench_done(&f->bench);
	unit_rmtree(f->dir);
	free(f->path);
	for (size_t i = 0; i < f->n_bills; i++)
		free(f->bills[i]);
	unsetenv("WATTLE_FAKE_NVML");
	unsetenv("WATTLE_FAKE_NVML_CLOCK");
}

/* ---- Everything that can be asked, as text ---- */

static void print_domains(struct wtl_buf *text, struct wattle_meter *meter,
			  const struct wtl_consumers *consumers,
			  const struct wattle_energy energies[])
{
	for (size_t i = 0; i < wattle_meter_domains(meter); i++) {
		const struct wattle_energy *e = &energies[i];
		struct wattle_domain domain;
		struct wtl_baseline idle;
		struct wtl_ledger l;
		const char *weight;

		wtl_meter_domain(meter, i, &domain);
		wtl_buf_printf(text,
			       "%s %s %s: %d/%d %d %" PRIu64 " +- %" PRIu64 " uJ, %" PRIu64
			       " to %" PRIu64 " uW, %" PRId64 " and %" PRId64
			       " ns, flags %u, %u samples\n",
			       domain.name, domain.source ? domain.source : "-",
			       domain.reason ? domain.reason : "", e->status, domain.status,
			       e->has_energy, e->energy_uj, e->uncertainty_uj, e->mean_uw,
			       e->max_uw, e->measured_ns, e->gap_ns, e->flags, e->samples);
		if (domain.sensor)
			wtl_buf_printf(text, "  sensor %s\n", domain.sensor);
		wtl_consumers_baseline(consumers, i, &idle);
		weight = wtl_consumers_weight(consumers, i);
		wtl_consumers_ledger(consumers, i, &l);
		assert_true(wtl_ledger_closed(&l));
		wtl_buf_printf(text,
			       "  live %" PRIu64 " exited %" PRIu64 " kernel %" PRIu64
			       " idle %" PRIu64 " unattributed %" PRIu64 " of %" PRIu64
			       ", idle %d %" PRIu64 " uW, by %s\n",
			       l.live_uj, l.exited_uj, l.kernel_uj, l.idle_uj, l.unattributed_uj,
			       l.total_uj, idle.is_known, idle.idle_uw, weight ? weight : "-");
	}
}

static void print_energy(struct wtl_buf *text, const char *of, const struct wtl_share_energy *e)
{
	/* Of all of it at least as much is not known as of what is above rest. */
	assert_in_range(e->full_weight_doubt_uj, e->weight_doubt_uj,
			e->full_uncertainty_uj / 2 + 1);
	wtl_buf_printf(text,
		       "  %s: full %" PRIu64 " +- %" PRIu64 ", dynamic %d %" PRIu64 " +- %" PRIu64
		       ", doubts %" PRIu64 " %" PRIu64 "\n",
		       of, e->full_uj, e->full_uncertainty_uj, e->has_dynamic, e->dynamic_uj,
		       e->uncertainty_uj, e->idle_doubt_uj, e->weight_doubt_uj);
}

static void print_accounts(struct wtl_buf *text, const struct wtl_consumers *consumers, size_t slot)
{
	static const char *const parts[WTL_PARTS] = {"all", "cpu", "gpu"};
	struct wtl_consumer_power p = {.full_uw = 0};
	struct wtl_share_energy e;
	struct wtl_per_cpu w;

	for (enum wtl_part part = 0; part < WTL_PARTS; part++) {
		wtl_consumers_energy(consumers, slot, part, &e);
		if (e.full_uj > 0)
			print_energy(text, parts[part], &e);
	}
	if (wtl_consumers_power(consumers, slot, WTL_PART_ALL, &p) && p.full_uw > 0)
		wtl_buf_printf(text, "  %" PRIu64 " uW, dynamic %d %" PRIu64 " uW\n", p.full_uw,
			       p.has_dynamic, p.dynamic_uw);
	wtl_consumers_per_cpu(consumers, slot, &w);
	if (w.power_uw > 0)
		wtl_buf_printf(text, "  %" PRIu64 " +- %" PRIu64 " uW per CPU\n", w.power_uw,
			       w.uncertainty_uw);
}

static void print_consumers(struct wtl_buf *text, const struct wtl_consumers *consumers)
{
	for (size_t slot = 0; slot < wtl_consumers_slots(consumers); slot++) {
		const struct wtl_consumer *c = wtl_consumers_get(consumers, slot);

		if (!c)
			continue;
		wtl_buf_printf(
			text,
			"slot %zu: %d %d of %d at %" PRId64 ", %s [%s] of %u in %s, %u "
			"processes, %d %d, cpu %" PRId64 " counted %" PRId64 " %u, memory %" PRIu64
			" %" PRIu64 " %" PRIu64 ", gpu %" PRIu64 " %u, threads %u\n",
			slot, c->state, c->pid, c->parent, c->start_ns, c->name,
			c->command ? c->command : "-", c->uid, c->group ? c->group->cgroup : "-",
			c->n_processes, c->is_in_tree, c->is_readable, c->cpu_ns, c->counted_ns,
			c->cpu_ppm, c->rss_bytes, c->pss_bytes, c->uss_bytes, c->gpu_memory_bytes,
			c->gpu_ppm, c->n_threads);
		print_accounts(text, consumers, slot);
	}
}

static void print_command(struct wtl_buf *text, const struct wtl_consumers *consumers)
{
	struct wtl_command_account command;

	wtl_consumers_command(consumers, &command);
	wtl_buf_printf(text, "command: cpu %" PRId64 " ns, %" PRIu64 " processes\n", command.cpu_ns,
		       command.n_processes);
	print_energy(text, "all", &command.all);
	print_energy(text, "cpu", &command.cpu);
	print_energy(text, "gpu", &command.gpu);
}

static char *print_all(struct wattle_meter *meter, const struct wtl_consumers *consumers,
		       const struct wattle_energy energies[])
{
	struct wtl_buf text;
	char *copy;

	wtl_buf_init(&text, TEXT_MAX);
	print_domains(&text, meter, consumers, energies);
	print_consumers(&text, consumers);
	print_command(&text, consumers);
	copy = strdup(wtl_buf_str(&text));
	wtl_buf_done(&text);
	assert_non_null(copy);
	return copy;
}

char *replay_bench_print_live(struct replay_bench *f)
{
	return print_all(f->bench.meter, f->consumers, f->energies);
}

struct wtl_player *replay_bench_play(const char *path, unsigned counts[WTL_PLAYED_LOST + 1])
{
	struct wtl_player *player;
	struct wtl_played played;
	struct wtl_err err = {.code = 0};
	int rc = wtl_player_open(path, NULL, &player, &err);

	if (rc < 0)
		fail_msg("%s", err.text);
	memset(counts, 0, (WTL_PLAYED_LOST + 1) * sizeof(*counts));
	while ((rc = wtl_player_step(player, &played, &err)) > 0)
		counts[played.kind]++;
	if (rc < 0)
		fail_msg("%s", err.text);
	return player;
}

char *replay_bench_print_played(struct wtl_player *player)
{
	const struct wattle_energy *energies;
	struct wattle_window window;

	assert_true(wtl_player_billed(player, &window, &energies));
	return print_all(wtl_player_meter(player), wtl_player_consumers(player), energies);
}

void replay_bench_put_bill(const struct replay_bench *f, size_t i, struct wtl_buf *text)
{
	const char *from = f->bills[i];

	while (*from) {
		unsigned long long unit = 1, value;
		char *end;

		if (*from < '0' || *from > '9') {
			wtl_buf_putc(text, *from++);
			continue;
		}
		value = strtoull(from, &end, 10);
		while (value != UINT64_MAX && value / unit >= 1000000)
			unit *= 10;
		wtl_buf_printf(text, "%llu", unit == 1 ? value : (value + unit / 2) / unit * unit);
		from = end;
	}
}

static void print_means(struct wtl_buf *text, const struct wtl_workload_means *means)
{
	for (size_t i = 0; i < WTL_WAYS; i++) {
		const struct wtl_workload_way *way = &means->ways[i];

		if (way->way)
			wtl_buf_printf(text, "%s: %d, %s (%s)\n", way->way, way->is_used,
				       way->reason, way->remedy ? way->remedy : "-");
	}
	wtl_buf_printf(text,
		       "lost %" PRIu64 ", bad %" PRIu64 ", late %" PRIu64 ", unfollowed %" PRIu64
		       ", reused %" PRIu64 ", live %u, unreadable %u\n",
		       means->n_lost_exits, means->n_bad_exits, means->n_found_late,
		       means->n_unfollowed, means->n_reused, means->n_live, means->n_unreadable);
}

void replay_bench_golden(struct replay_bench *f, const char *name)
{
	struct wtl_buf text;
	char file[128];

	assert_true(f->n_bills > 0);
	wtl_buf_init(&text, TEXT_MAX);
	replay_bench_put_bill(f, f->n_bills - 1, &text);
	print_means(&text, wtl_consumers_means(f->consumers));
	snprintf(file, sizeof(file), "accounts-%s.txt", name);
	golden_check(file, wtl_buf_str(&text));
	wtl_buf_done(&text);
}

void replay_bench_check_same(char *live, char *played)
{
	assert_string_equal(live, played);
	free(live);
	free(played);
}

/* ---- What goes on ---- */

static void put_counters(struct replay_bench *f)
{
	for (int i = 0; i < 2; i++)
		meter_bench_write(&f->bench, package_files[i], "%" PRIu64 "\n",
				  f->package_counts[i]);
	if (f->first_fails)
		meter_bench_write(&f->bench, package_files[0], "!errno EIO");
}

void replay_bench_pass(struct replay_bench *f)
{
	for (int i = 0; i < 2; i++)
		f->package_counts[i] += (JOULES + (uint64_t)i) << 32;
	put_counters(f);
	set_gpu_time(f);
	meter_bench_tick(&f->bench, 100 * MS);
	world_pass(&f->world, 100 * MS);
}

static void keep_bill(struct replay_bench *f)
{
	assert_true(f->n_bills < REPLAY_BILLS_MAX);
	f->bills[f->n_bills++] = replay_bench_print_live(f);
}

void replay_bench_bill(struct replay_bench *f)
{
	struct wtl_err err = {.code = 0};

	assert_int_equal(
		wtl_window_look(f->bench.meter, "run", &f->window, f->energies, REPLAY_DOMAINS_MAX),
		0);
	wtl_consumers_bill(f->consumers, f->energies,
			   f->window.begin_utc_ns + f->window.duration_ns);
	keep_bill(f);
	wtl_consumers_read_memory(f->consumers, 3);
	wtl_recorder_window(f->recorder, "run", true, &f->window, f->energies);
	if (wtl_recorder_commit(f->recorder, &err) < 0)
		fail_msg("%s", err.text);
	/* The disk is slower than this world's seconds. */
	wtl_writer_wait(wtl_recorder_writer(f->recorder));
}

void replay_bench_begin(struct replay_bench *f)
{
	put_counters(f);
	wtl_consumers_begin(f->consumers);
	assert_int_equal(wattle_window_begin(f->bench.meter, "run"), 0);
}

void replay_bench_end(struct replay_bench *f)
{
	assert_int_equal(
		wtl_window_end(f->bench.meter, "run", &f->window, f->energies, REPLAY_DOMAINS_MAX),
		0);
	wtl_consumers_bill(f->consumers, f->energies,
			   f->window.begin_utc_ns + f->window.duration_ns);
	keep_bill(f);
	wtl_recorder_window(f->recorder, "run", false, &f->window, f->energies);
}

void replay_bench_live_for(struct replay_bench *f, int seconds)
{
	int worker = world_fork(&f->world, 1), shell = world_fork(&f->world, 1);

	world_exec(&f->world, worker, "worker", "./worker --fast");
	world_at(&f->world, worker)->rss_kb = 5000;
	world_at(&f->world, worker)->uid = 1000;
	snprintf(world_at(&f->world, worker)->cgroup, sizeof(world_at(&f->world, worker)->cgroup),
		 "/system.slice/worker.service");
	wtl_consumers_follow(f->consumers, shell);
	for (int i = 0; i < seconds; i++) {
		for (int k = 0; k < 10; k++) {
			world_run(&f->world, worker, 37 * MS + i);
			if (k % 3 == 0)
				world_child(&f->world, shell, i % 2 ? "cc1" : "as", 11 * MS + k);
			replay_bench_pass(f);
		}
		world_at(&f->world, worker)->rss_kb += 100;
		if (i == seconds / 2) {
			world_end(&f->world, worker);
			worker = world_fork(&f->world, shell);
			world_exec(&f->world, worker, "second", "./second");
		}
		replay_bench_bill(f);
	}
}

void replay_bench_crowd(struct replay_bench *f)
{
	char name[16];

	for (int i = 0; i < REPLAY_CROWD; i++) {
		if (f->crowd[i])
			world_end(&f->world, f->crowd[i]);
		snprintf(name, sizeof(name), "crowd%d", i % 4);
		f->crowd[i] = world_fork(&f->world, 1);
		world_exec(&f->world, f->crowd[i], name, name);
		world_run(&f->world, f->crowd[i], (5 + i) * MS);
	}
}

static void take_complaint(void *context, const char *text)
{
	(void)context;
	fail_msg("%s", text);
}

void replay_bench_check(struct replay_bench *f, unsigned counts[WTL_PLAYED_LOST + 1])
{
	unsigned own[WTL_PLAYED_LOST + 1] = {0};
	struct wtl_player *player;
	struct wtl_played played;
	struct wtl_err err = {.code = 0};
	int rc = wtl_player_open(f->path, NULL, &player, &err);

	while (rc >= 0 && (rc = wtl_player_step(player, &played, &err)) > 0)
		if (own[played.kind]++, played.kind == WTL_PLAYED_BILLED)
			replay_bench_check_same(strdup(f->bills[own[WTL_PLAYED_BILLED] - 1]),
						replay_bench_print_played(player));
	if (rc < 0)
		fail_msg("%s", err.text);
	assert_int_equal(own[WTL_PLAYED_BILLED], f->n_bills);
	assert_int_equal(own[WTL_PLAYED_LOST], 0);
	replay_bench_check_same(replay_bench_print_live(f), replay_bench_print_played(player));
	wtl_player_close(player);
	assert_int_equal(wtl_history_check(f->path, take_complaint, NULL, &err), 0);
	if (counts)
		memcpy(counts, own, sizeof(own));
}

/* ---- Damage ---- */

void replay_bench_sql(struct replay_bench *f, const char *sql)
{
	char *text = NULL;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &text) != SQLITE_OK)
		fail_msg("%s: %s", sql, text);
	assert_true(sqlite3_total_changes(db) > 0);
	sqlite3_close(db);
}

size_t replay_bench_period(struct replay_bench *f, int64_t t_mono_ns,
			   struct wtl_store_period *ret_period)
{
	struct wtl_store_reader *reader;
	size_t i = 0, n;

	assert_int_equal(wtl_store_open(f->path, &reader, NULL), 0);
	n = wtl_store_periods(reader);
	while (i < n && wtl_store_period(reader, i, ret_period) == 0 &&
	       ret_period->end_mono_ns < t_mono_ns)
		i++;
	wtl_store_close(reader);
	assert_in_range(i, 0, n - 1);
	return i;
}

void replay_bench_spoil(struct replay_bench *f, size_t period, bool only_op)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "UPDATE chunk SET data = randomblob(length(data)) WHERE (id >> 16) = "
		 "(SELECT id FROM period ORDER BY id LIMIT 1 OFFSET %zu)%s",
		 period,
		 only_op ? " AND (id & 65535) = (SELECT id FROM series WHERE name = 'op')" : "");
	replay_bench_sql(f, sql);
}

void replay_bench_forge(const char *path, const char *name, int64_t period, size_t at,
			int64_t value)
{
	struct wtl_row_chunk chunk = {.id = period * WTL_STORE_SERIES_MAX};
	struct wtl_store_reader *reader;
	struct wtl_file file = {.lock = -1};
	const int64_t *values;
	struct wtl_buf block;
	int64_t *own;
	size_t n;

	assert_int_equal(wtl_store_open(path, &reader, NULL), 0);
	chunk.id += wtl_store_find(reader, name);
	assert_int_equal(wtl_store_values(reader, (uint32_t)(chunk.id % WTL_STORE_SERIES_MAX),
					  (size_t)period - 1, &values, &n, NULL),
			 0);
	assert_true(n > 0);
	own = calloc(n, sizeof(*own));
	memcpy(own, values, n * sizeof(*own));
	own[at < n ? at : n - 1] = value;
	wtl_store_close(reader);
	wtl_buf_init(&block, 1 << 20);
	assert_int_equal(wtl_code_put(&block, own, n), 0);
	chunk.n = (uint32_t)n;
	chunk.size = (uint32_t)block.len;
	chunk.data = (struct wtl_bytes){block.data, block.len};
	assert_int_equal(sqlite3_open(path, &file.db), SQLITE_OK);
	assert_int_equal(wtl_file_put(&file, &wtl_table_chunk, &chunk), SQLITE_OK);
	wtl_file_close(&file, true);
	wtl_buf_done(&block);
	free(own);
}
