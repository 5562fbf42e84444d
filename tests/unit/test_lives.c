/* SPDX-License-Identifier: MIT */
/*
 * Machines on which things happen at random: all that is told of them live, and what programs are told of their
 * recordings: whole, cut, damaged and in parts. It is in tests/golden/lives-*.txt, and whatever changes a figure is seen there.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wattle-recording.h>

#include "base/buf.h"
#include "energy/intensity.h"
#include "golden.h"
#include "history_bench.h"
#include "replay_bench.h"
#include "unit.h"

enum { POOL = 9, GROUPS = 6, TEXT_MAX = 1 << 20, TENTH_NS = 180000000, WINDOWS = 5 };

struct kind {
	const char *name;
	unsigned seconds;
	struct replay_setup setup;
	unsigned gpus;
	bool has_no_exits, has_no_clocks, hides, knows_idle;
	bool is_modelled; /* but for GPUs */
	bool is_one_run;  /* without windows: so that its end has a summary */
	bool renames;	  /* a recording has the last name alone, so it is not as it was live */
};

struct life {
	const struct kind *kind;
	struct replay_bench f;
	struct wtl_buf text;
	uint64_t random, memory_counts[2];
	int pool[POOL]; /* 0: nobody */
	bool is_zombie[POOL], is_open[WINDOWS];
	int64_t left_ns, group_ns[GROUPS]; /* CPU time that this tenth has; that was used */
};

static const char *const groups[GROUPS] = {
	"/",
	"/system.slice/web.service",
	"/user.slice/user-1000.slice/session-1.scope",
	"/docker/167ed647c9af35830d1c82ce114996757038ac2f0a9d999b164e65a22561229e",
	"/system.slice/slurmstepd.scope/job_12/step_batch/slurm",
	"/kubepods.slice/kubepods-pod0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9.slice",
};

static unsigned below(struct life *life, unsigned n)
{
	life->random = life->random * 6364136223846793005U + 1442695040888963407U;
	return (unsigned)(life->random >> 33) % n;
}

/* ---- What happens ---- */

static int group_of(struct life *life, int pid)
{
	int i = 0;

	while (strcmp(groups[i], world_at(&life->f.world, pid)->cgroup) != 0)
		i++;
	return i;
}

/* Each program draws something else. */
static void use(struct life *life, int pid, int64_t cpu_ns)
{
	struct world_process *process = world_at(&life->f.world, pid);
	uint64_t watts = 3 + (unsigned char)process->name[1] % 5 * 4;

	if (cpu_ns > life->left_ns)
		cpu_ns = life->left_ns;
	life->left_ns -= cpu_ns;
	life->group_ns[group_of(life, pid)] += cpu_ns;
	world_run(&life->f.world, pid, cpu_ns);
	life->f.package_counts[pid % 2] += watts * (uint64_t)(cpu_ns / 1000) * 4295; /* 2^-32 J */
	life->memory_counts[pid % 2] += (uint64_t)(cpu_ns / 1000) * 429;
}

/* Somebody of the pool, or init. */
static int anybody(struct life *life)
{
	unsigned i = below(life, POOL);

	return life->pool[i] && !life->is_zombie[i] ? life->pool[i] : 1;
}

static void come(struct life *life, unsigned i)
{
	static const char *const names[] = {"make", "cc1", "python3", "web", "train", "sh", "zsh"};
	const char *name = names[below(life, UNIT_COUNT(names))];
	struct world *world = &life->f.world;
	struct world_process *process;
	char command[64];

	life->pool[i] = world_fork(world, anybody(life));
	process = world_at(world, life->pool[i]);
	process->per_us = 500 + below(life, 3000);
	process->uid = below(life, 3) * 1000;
	process->n_threads = 1 + below(life, 3);
	if (below(life, 4) == 0)
		return; /* it stays its parent's copy */
	snprintf(command, sizeof(command), "%s%c--%s", name, below(life, 2) ? ' ' : '\0', name);
	world_exec(world, life->pool[i], name, command);
	snprintf(process->cgroup, sizeof(process->cgroup), "%s", groups[below(life, GROUPS)]);
	process->is_closed = life->kind->hides && below(life, 4) == 0;
	process->is_unlisted = life->kind->hides && below(life, 4) == 0;
	process->pss_kb = below(life, 2) ? 700 + below(life, 300) : 0;
}

static void go(struct life *life, unsigned i)
{
	if (!life->is_zombie[i])
		world_exit(&life->f.world, life->pool[i]);
	life->is_zombie[i] = !life->is_zombie[i] && below(life, 3) == 0;
	if (life->is_zombie[i])
		return;
	world_reap(&life->f.world, life->pool[i]);
	life->pool[i] = 0;
}

/* Short lives: alone, with a child, with one that outlives its parent. */
static void pass_by(struct life *life)
{
	static const char *const names[] = {"as", "ld", "grep", "sed", "cc1"};
	const char *name = names[below(life, UNIT_COUNT(names))];
	struct world *world = &life->f.world;
	int pid = world_fork(world, anybody(life)), child = 0;

	world_exec(world, pid, name, name);
	use(life, pid, (1 + below(life, 12)) * MS);
	if (below(life, 3) == 0)
		child = world_fork(world, pid);
	if (child)
		use(life, child, (1 + below(life, 9)) * MS);
	if (child && below(life, 2)) {
		world_end(world, child);
		child = 0;
	}
	world_end(world, pid);
	if (child)
		world_end(world, child);
}

static void happen(struct life *life)
{
	struct world *world = &life->f.world;
	unsigned i = below(life, POOL);

	switch (below(life, 12)) {
	case 0:
	case 1:
		if (!life->pool[i])
			come(life, i);
		break;
	case 2:
		if (life->pool[i])
			go(life, i);
		break;
	case 3:
	case 4:
	case 5:
		pass_by(life);
		break;
	case 6:
		world_unseen(world, life->left_ns / 4);
		life->left_ns -= life->left_ns / 4;
		break;
	case 7:
		if (life->pool[i] && !life->is_zombie[i] && life->left_ns > 3 * MS)
			world_thread(world, life->pool[i], 2 * MS);
		life->left_ns -= life->left_ns > 3 * MS ? 2 * MS : 0;
		break;
	case 8:
		if (life->left_ns > 20 * MS) {
			world->irq_ns += 10 * MS;
			world_unseen(world, 10 * MS);
			life->left_ns -= 10 * MS;
		}
		break;
	case 9:
		world_at(world, anybody(life))->rss_kb += below(life, 500);
		break;
	case 10:
		if (life->kind->renames)
			world_exec(world, anybody(life), "other", "other");
		break;
	default:
		use(life, 2, 3 * MS);
	}
}

static void tenth(struct life *life, bool is_rest)
{
	static const char *const memory_files[] = {"/wattle-perf/18-3-0", "/wattle-perf/18-3-32"};

	life->left_ns = TENTH_NS;
	for (unsigned i = 0; i < 3 && !is_rest; i++)
		happen(life);
	for (unsigned i = 0; i < POOL && !is_rest; i++)
		if (life->pool[i] && !life->is_zombie[i] && below(life, 3))
			use(life, life->pool[i], below(life, 30000) * 1000);
	for (int i = 0; i < 2; i++) {
		life->memory_counts[i] += UINT64_C(1) << 31;
		meter_bench_write(&life->f.bench, memory_files[i], "%" PRIu64 "\n",
				  life->memory_counts[i]);
	}
	for (int i = 1; i < GROUPS && life->kind->has_no_exits; i++) {
		char path[160], text[64];

		snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.stat", groups[i]);
		snprintf(text, sizeof(text), "usage_usec %" PRId64 "\nuser_usec 1\n",
			 life->group_ns[i] / 1000);
		world_put(&life->f.world, path, text);
	}
	replay_bench_pass(&life->f);
}

/* Windows of several names, which nest and overlap. */
static void open_or_end(struct life *life)
{
	struct wattle_meter *meter = life->f.bench.meter;
	unsigned i = below(life, WINDOWS);
	char name[16];

	snprintf(name, sizeof(name), "w%u", i);
	if (i == 0 && life->is_open[i])
		assert_int_equal(wattle_window_pop(meter, NULL, NULL, 0), 0);
	else if (i == 0)
		assert_int_equal(wattle_window_push(meter, "step"), 0);
	else if (!life->is_open[i])
		assert_int_equal(wattle_window_begin(meter, name), 0);
	else if (below(life, 4) == 0)
		assert_int_equal(wattle_window_cancel(meter, name), 0);
	else
		assert_int_equal(wattle_window_end(meter, name, NULL, NULL, 0), 0);
	life->is_open[i] = !life->is_open[i];
}

/* What befalls the whole machine. */
static void befall(struct life *life, unsigned second)
{
	struct replay_bench *f = &life->f;

	switch (below(life, life->kind->is_one_run ? 8 : 14)) {
	case 0:
		f->bench.asleep_ns += (1 + below(life, 100)) * S;
		break;
	case 1:
		f->bench.utc_ns += ((int64_t)below(life, 100) - 50) * S;
		break;
	case 2:
		f->first_fails = !f->first_fails;
		break;
	case 3:
		f->package_counts[1] = below(life, 1000);
		break;
	case 4:
		wtl_consumers_machine_changed(f->consumers);
		break;
	case 5:
		f->world.has_lost = !life->kind->has_no_exits;
		break;
	case 6:
		wtl_consumers_settle(f->consumers);
		break;
	case 7:
		wtl_consumers_follow(f->consumers, anybody(life));
		break;
	case 8:
		if (second > 5) {
			replay_bench_end(f);
			replay_bench_pass(f);
			replay_bench_begin(f);
		}
		break;
	default:
		open_or_end(life);
	}
}

/* ---- What is told ---- */

static uint32_t sum_of(const char *text)
{
	uint32_t sum = 2166136261U;

	while (*text)
		sum = (sum ^ (unsigned char)*text++) * 16777619U;
	return sum;
}

/* In short, with a sum of the rest. */
static void tell_bill(struct life *life)
{
	struct wtl_consumers *consumers = life->f.consumers;
	struct wtl_command_account command;
	struct wtl_ledger ledger;
	struct wtl_buf bill;
	size_t n = 0;

	for (size_t slot = 0; slot < wtl_consumers_slots(consumers); slot++)
		n += wtl_consumers_get(consumers, slot) != NULL;
	wtl_buf_init(&bill, TEXT_MAX);
	replay_bench_put_bill(&life->f, life->f.n_bills - 1, &bill);
	wtl_consumers_ledger(consumers, 0, &ledger);
	wtl_consumers_command(consumers, &command);
	wtl_buf_printf(&life->text,
		       "%.1f s: %.4g J, first %.4g %.4g %.4g %.4g %.4g, %zu consumers, "
		       "command %.3g s %.4g J; %08x\n",
		       (double)life->f.window.duration_ns / 1e9,
		       (double)life->f.window.total.energy_uj / 1e6, (double)ledger.live_uj / 1e6,
		       (double)ledger.exited_uj / 1e6, (double)ledger.kernel_uj / 1e6,
		       (double)ledger.idle_uj / 1e6, (double)ledger.unattributed_uj / 1e6, n,
		       (double)command.cpu_ns / 1e9, (double)command.all.full_uj / 1e6,
		       sum_of(wtl_buf_str(&bill)));
	wtl_buf_done(&bill);
}

static void tell_energy(struct wtl_buf *text, const char *of, const struct wattle_energy *e)
{
	wtl_buf_printf(text, " %s %s %s", of, wattle_status_name(e->status),
		       wattle_method_name(e->method));
	if (e->has_energy)
		wtl_buf_printf(text, " %.5g +- %.4g J, %.4g to %.4g W, %.4g - %.4g s, %u/%u",
			       (double)e->energy_uj / 1e6, (double)e->uncertainty_uj / 1e6,
			       (double)e->mean_uw / 1e6, (double)e->max_uw / 1e6,
			       (double)e->measured_ns / 1e9, (double)e->gap_ns / 1e9, e->flags,
			       e->samples);
	wtl_buf_puts(text, ";");
}

static void tell_window(struct wtl_buf *text, const struct wattle_window *window,
			const struct wattle_energy energies[], size_t n)
{
	wtl_buf_printf(text, " at %.3f %.3f for %.3f s:", (double)window->begin_utc_ns / 1e9,
		       (double)window->begin_mono_ns / 1e9, (double)window->duration_ns / 1e9);
	tell_energy(text, "all", &window->total);
	for (size_t i = 0; i < n; i++)
		tell_energy(text, "", &energies[i]);
	wtl_buf_puts(text, "\n");
}

static void tell_consumer(struct wtl_buf *text, const struct wattle_consumers *list, size_t i,
			  size_t n_domains)
{
	struct wattle_consumer c = {.size = sizeof(c)};
	struct wattle_share share = {.size = sizeof(share)};
	struct wtl_buf of_domains;

	assert_int_equal(wattle_consumers_get(list, i, &c), 0);
	wtl_buf_printf(text, "%d %d of %d at %.2f, %u %s %d: %s [%s] %s %s %s %s %s, %u", c.state,
		       c.pid, c.parent, (double)c.start_utc_ns / 1e9, c.uid, c.user ? c.user : "-",
		       c.is_in_command, c.name ? c.name : "-", c.command ? c.command : "-",
		       c.cgroup ? c.cgroup : "-", c.unit ? c.unit : "-",
		       c.container ? c.container : "-", c.pod ? c.pod : "-", c.job ? c.job : "-",
		       (unsigned)c.processes);
	if (c.cpu_ns >= 0)
		wtl_buf_printf(text, ", cpu %.4g s", (double)c.cpu_ns / 1e9);
	if (c.rss_bytes != WATTLE_UNKNOWN)
		wtl_buf_printf(text, ", rss %" PRIu64, c.rss_bytes);
	if (c.pss_bytes != WATTLE_UNKNOWN)
		wtl_buf_printf(text, " %" PRIu64 " %" PRIu64, c.pss_bytes, c.uss_bytes);
	if (c.gpu_memory_bytes != WATTLE_UNKNOWN)
		wtl_buf_printf(text, ", gpu %" PRIu64, c.gpu_memory_bytes);
	wtl_buf_init(&of_domains, TEXT_MAX);
	for (int k = -1; k < (int)n_domains; k++) {
		assert_int_equal(wattle_consumers_share(list, i, k, &share), 0);
		wtl_buf_printf(k < 0 ? text : &of_domains, ", %.4g +- %.3g %d %.4g +- %.3g",
			       (double)share.full_uj / 1e6, (double)share.full_uncertainty_uj / 1e6,
			       share.has_dynamic, (double)share.dynamic_uj / 1e6,
			       (double)share.uncertainty_uj / 1e6);
	}
	wtl_buf_printf(text, "; %08x\n", sum_of(wtl_buf_str(&of_domains)));
	wtl_buf_done(&of_domains);
}

static void tell_consumers(struct wtl_buf *text, struct wattle_recording *recording)
{
	size_t n_domains = wattle_recording_domains(recording);
	struct wattle_ledger l = {.size = sizeof(l)};
	struct wattle_consumers *list;

	if (wattle_recording_consumers(recording, &list, NULL) < 0) {
		wtl_buf_puts(text, "no consumers\n");
		return;
	}
	for (int k = -1; k < (int)n_domains; k++) {
		assert_int_equal(wattle_consumers_ledger(list, k, &l), 0);
		assert_int_equal(l.live_uj + l.exited_uj + l.kernel_uj + l.idle_uj +
					 l.unattributed_uj,
				 l.total_uj);
		wtl_buf_printf(text, "ledger %d: %d %.4g %.4g %.4g %.4g %.4g of %.4g J\n", k,
			       l.has_idle, (double)l.live_uj / 1e6, (double)l.exited_uj / 1e6,
			       (double)l.kernel_uj / 1e6, (double)l.idle_uj / 1e6,
			       (double)l.unattributed_uj / 1e6, (double)l.total_uj / 1e6);
	}
	for (size_t i = 0; i < wattle_consumers_count(list); i++)
		tell_consumer(text, list, i, n_domains);
	wattle_consumers_free(list);
}

static void tell_windows(struct wtl_buf *text, struct wattle_recording *recording)
{
	size_t n_domains = wattle_recording_domains(recording);
	struct wattle_recording_window window = {.size = sizeof(window)};
	struct wattle_energy energies[REPLAY_DOMAINS_MAX] = {{.size = sizeof(energies[0])}};

	for (size_t i = 0;
	     wattle_recording_window(recording, i, &window, energies, REPLAY_DOMAINS_MAX) == 0;
	     i++) {
		wtl_buf_printf(text, "%s", window.name);
		tell_window(text, &window.window, energies, n_domains);
	}
}

static void tell_domains(struct wtl_buf *text, struct wattle_recording *recording)
{
	struct wattle_domain d = {.size = sizeof(d)};

	for (size_t i = 0; wattle_recording_domain(recording, i, &d) == 0; i++)
		wtl_buf_printf(text, "%s in %s, %s of %s, %s, %s, %s, %s: %s %s %s %d %.3g s\n",
			       d.name, d.inside ? d.inside : "-", d.source ? d.source : "-",
			       d.device ? d.device : "-", d.sensor ? d.sensor : "-",
			       d.check ? d.check : "-", d.reason ? d.reason : "-",
			       d.remedy ? d.remedy : "-", wattle_kind_name(d.kind),
			       wattle_method_name(d.method), wattle_status_name(d.status),
			       d.in_total, (double)d.update_ns / 1e9);
}

/* All that the public header has of it, in steps of that length; 0: of its end. */
static void tell_recording(struct wtl_buf *text, const char *path, int64_t interval_ns)
{
	struct wattle_energy energies[REPLAY_DOMAINS_MAX] = {{.size = sizeof(energies[0])}};
	struct wattle_recording_step step = {.size = sizeof(step)};
	struct wattle_error error = {.size = sizeof(error)};
	struct wattle_recording *recording;
	struct wtl_buf of_domains;
	int rc;

	rc = interval_ns > 0 ? wattle_recording_open(path, &recording, &error)
			     : wattle_recording_open_end(path, &recording, &error);
	if (rc < 0)
		fail_msg("%s", error.text);
	tell_domains(text, recording);
	while ((rc = wattle_recording_next(recording, interval_ns, &step, energies,
					   REPLAY_DOMAINS_MAX, &error)) > 0) {
		wtl_buf_printf(text, "%.3f %.3f %.3f%s%s:", (double)step.begin_utc_ns / 1e9,
			       (double)step.begin_mono_ns / 1e9, (double)step.duration_ns / 1e9,
			       step.is_lost ? " lost " : "", step.is_lost ? step.text : "");
		tell_energy(text, "all", &step.total);
		wtl_buf_init(&of_domains, TEXT_MAX);
		for (size_t i = 0; i < wattle_recording_domains(recording); i++)
			tell_energy(&of_domains, "", &energies[i]);
		wtl_buf_printf(text, " %08x\n", sum_of(wtl_buf_str(&of_domains)));
		wtl_buf_done(&of_domains);
	}
	wtl_buf_printf(text, "%d, whole %d\n", rc, wattle_recording_is_whole(recording));
	tell_windows(text, recording);
	tell_consumers(text, recording);
	wattle_recording_close(recording);
}

/* What is told otherwise than in what is there already. */
static void tell_others(struct wtl_buf *text, const char *title, const char *path,
			int64_t interval_ns)
{
	char *before = strdup(wtl_buf_str(text));
	const char *line, *next;
	struct wtl_buf now;

	wtl_buf_init(&now, TEXT_MAX);
	tell_recording(&now, path, interval_ns);
	wtl_buf_printf(text, "---- %s\n", title);
	for (line = wtl_buf_str(&now); *line; line = next) {
		char *copy;

		next = strchr(line, '\n') + 1;
		copy = strndup(line, (size_t)(next - line));
		if (!strstr(before, copy))
			wtl_buf_puts(text, copy);
		free(copy);
	}
	wtl_buf_done(&now);
	free(before);
}

/* How it is gone through in many ways: what stands at the end, and a sum of all steps. */
static void tell_ways(struct wtl_buf *text, const char *path)
{
	static struct wtl_intensity_step steps[] = {
		{.t_utc_ns = 0, .mg_per_kwh = 500000},
		{.t_utc_ns = (METER_BENCH_START_NS / S + 1700000012) * S, .mg_per_kwh = 100000}};
	static const struct wtl_intensity intensity = {.steps = steps, .n = UNIT_COUNT(steps)};
	static const struct history_way ways[] = {
		{.options = {.keeps_windows = true, .intensity = &intensity}},
		{.options = {.keeps_windows = true, .may_summarize = true}},
		{.options = {.keeps_windows = true, .policy.skips_use = true}},
		{.options = {.policy = {.forgets_idle = true, .skips_energies = true}}},
		{.options = {.policy = {.has_no_idle = true,
					.given = {{"package-1", 20000000}},
					.n_given = 1}}},
		{.options = {.policy = {.has_weight = true, .weight = WTL_WEIGHT_CPU_TIME}}},
		{.options = {.policy = {.has_weight = true,
					.weight = WTL_WEIGHT_LEARNED,
					.smooths = true}}},
		{.is_part = true,
		 .from_ns = INT64_MIN,
		 .to_ns = 9 * S,
		 .options.keeps_windows = true},
		{.is_part = true,
		 .from_ns = 9 * S,
		 .to_ns = 21700 * MS,
		 .options = {.keeps_windows = true, .intensity = &intensity}},
		{.is_part = true,
		 .from_ns = 21700 * MS,
		 .to_ns = INT64_MAX,
		 .options = {.policy = {.has_weight = true,
					.weight = WTL_WEIGHT_LEARNED,
					.smooths = true}}},
	};
	static struct history_trace trace;

	for (size_t i = 0; i < UNIT_COUNT(ways); i++) {
		struct history_way way = ways[i];
		const char *end;

		way.is_short = true;
		assert_int_equal(history_bench_go(path, &way, &trace), 0);
		end = strstr(trace.text, "\nplayed, ");
		end = end ? end + 1 : strstr(trace.text, "summary, ");
		assert_non_null(end);
		wtl_buf_printf(text, "way %zu, %08x, %.7s: %.*s\n", i, sum_of(trace.text), end,
			       (int)strcspn(strchr(end, '\n') + 1, "\n"), strchr(end, '\n') + 1);
	}
}

/* ---- Lives ---- */

static void set_world(struct world *world, const void *context)
{
	const struct kind *kind = context;

	world->teardown_ns = 2 * MS;
	world->no_clocks = kind->has_no_clocks;
	if (kind->has_no_exits) {
		world->exits_errno = EPERM;
		world_put(world, "/sys/fs/cgroup/cgroup.controllers", "cpu\n");
	}
}

/* GPUs whose processes come and go, some of whom are of elsewhere or have ended. */
static char *gpu_script(struct life *life)
{
	struct wtl_buf script;
	char *copy;

	wtl_buf_init(&script, TEXT_MAX);
	for (unsigned gpu = 0; gpu < life->kind->gpus; gpu++) {
		wtl_buf_printf(&script, "gpu Fake\n  sensor %s\n",
			       gpu % 2 ? "usage gpu 20 10" : "counter gpu 100");
		for (unsigned t = 0; t < life->kind->seconds; t += 3)
			wtl_buf_printf(&script, "  power %u const %u\n", t, 40 + below(life, 250));
		for (unsigned i = 0; i < 14; i++) {
			/* One by one: the order of arguments is the compiler's. */
			unsigned from = below(life, life->kind->seconds);
			unsigned until = from + 2 + below(life, 20);
			unsigned pid = i % 5 == 4 ? 70000 + i : 3 + below(life, 12);
			unsigned memory = 10 + below(life, 900), sm = below(life, 45);

			wtl_buf_printf(&script, "  process %u %c %u %u 0 0 0 %u %u\n", pid,
				       "CGM"[i % 3], memory, sm, from, until);
		}
	}
	copy = strdup(wtl_buf_str(&script));
	wtl_buf_done(&script);
	return copy;
}

/* What an earlier session learned. */
static void know_idle(struct replay_bench *f)
{
	const struct wtl_baseline known = {.is_known = true,
					   .idle_uw = 60000000,
					   .uncertainty_uw = 5000000,
					   .t_utc_ns = 1700000000 * S,
					   .seen_ns = 60 * S};
	size_t domain = meter_bench_find(&f->bench, "package-1");

	wtl_consumers_set_baseline(f->consumers, domain, &known);
	wtl_recorder_idle(f->recorder, domain, &known);
}

static void live(struct life *life)
{
	struct replay_bench *f = &life->f;

	if (life->kind->knows_idle)
		know_idle(f);
	replay_bench_begin(f);
	for (unsigned second = 0; second < life->kind->seconds; second++) {
		unsigned n = below(life, 4) ? 10 : 3 + below(life, 20);

		for (unsigned i = 0; i < n; i++)
			tenth(life, second % 9 >= 7);
		befall(life, second);
		replay_bench_bill(f);
		tell_bill(life);
	}
	replay_bench_end(f);
	tell_bill(life);
	replay_bench_put_bill(f, f->n_bills - 1, &life->text);
}

static void copy_file(struct replay_bench *f, const char *to)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "cp '%s' '%s/%s' && if [ -e '%s-wal' ]; then cp '%s-wal' '%s/%s-wal'; fi", f->path,
		 f->dir, to, f->path, f->path, f->dir, to);
	assert_int_equal(system(command), 0);
}

static void check_life(const struct kind *kind)
{
	static struct life life; /* large */
	struct replay_setup setup = kind->setup;
	char *script = NULL, *cut, file[64];

	memset(&life, 0, sizeof(life));
	life.kind = kind;
	life.random = kind->seconds + (unsigned char)kind->name[0];
	wtl_buf_init(&life.text, TEXT_MAX);
	if (kind->gpus > 0)
		setup.script = script = gpu_script(&life);
	setup.root = kind->is_modelled ? "vm-nothing" : "xeon-2s-dram";
	setup.set_world = set_world;
	setup.context = kind;
	replay_bench_start_on(&life.f, &setup);
	live(&life);
	copy_file(&life.f, "cut.wattle");
	replay_bench_stop(&life.f);
	wtl_buf_puts(&life.text, "---- recorded\n");
	tell_recording(&life.text, life.f.path, 3 * S);
	cut = unit_path(life.f.dir, "cut.wattle");
	tell_others(&life.text, "cut", cut, 3 * S);
	tell_others(&life.text, "end", life.f.path, 0);
	tell_ways(&life.text, life.f.path);
	if (!kind->renames)
		replay_bench_check(&life.f, NULL);
	if (kind->setup.store.period_ns > 0) {
		replay_bench_spoil(&life.f, 1, false);
		replay_bench_spoil(&life.f, 3, true);
		tell_others(&life.text, "damaged", life.f.path, 3 * S);
	}
	assert_int_equal(life.text.error, 0);
	snprintf(file, sizeof(file), "lives-%s.txt", kind->name);
	golden_check(file, wtl_buf_str(&life.text));
	wtl_buf_done(&life.text);
	replay_bench_finish(&life.f);
	free(cut);
	free(script);
}

static void test_plain(void **state)
{
	(void)state;
	check_life(&(struct kind){.name = "plain",
				  .knows_idle = true,
				  .seconds = 40,
				  .setup = {.store = {.period_ns = 7 * S}}});
}

static void test_learned(void **state)
{
	(void)state;
	check_life(&(struct kind){
		.name = "learned",
		.seconds = 80,
		.setup = {.weight = WTL_WEIGHT_LEARNED, .store = {.period_ns = 7 * S}},
		.gpus = 2});
}

static void test_unseen(void **state)
{
	(void)state;
	check_life(&(struct kind){
		.name = "unseen", .seconds = 40, .has_no_exits = true, .hides = true});
}

static void test_ticks(void **state)
{
	(void)state;
	check_life(&(struct kind){
		.name = "ticks", .seconds = 24, .gpus = 1, .has_no_clocks = true, .renames = true});
}

static void test_counted(void **state)
{
	(void)state;
	check_life(&(struct kind){.name = "counted",
				  .is_one_run = true,
				  .seconds = 18,
				  .setup = {.weight = WTL_WEIGHT_INSTRUCTIONS}});
}

static void test_modelled(void **state)
{
	(void)state;
	check_life(&(struct kind){
		.name = "modelled",
		.seconds = 24,
		.setup = {.weight = WTL_WEIGHT_LEARNED, .store = {.period_ns = 7 * S}},
		.gpus = 2,
		.is_modelled = true});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	cmocka_unit_test(test_learned),
		cmocka_unit_test(test_unseen),	cmocka_unit_test(test_ticks),
		cmocka_unit_test(test_counted), cmocka_unit_test(test_modelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
