/* SPDX-License-Identifier: MIT */
/* The end of a recording from what it says of it is the end of going by it; and parts make the whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "meter/meter.h"
#include "meter/observer.h"
#include "replay/format.h"
#include "replay_bench.h"
#include "unit.h"

static const struct wtl_player_policy only_summary = {.only_summary = true};

/* The player at the end, or NULL: the recording has to be gone by. */
static struct wtl_player *summary_of(const char *path, struct wtl_played *second)
{
	struct wtl_player *player;
	struct wtl_err err = {.code = 0};
	int rc;

	if (wtl_player_open(path, &only_summary, &player, &err) < 0)
		fail_msg("%s", err.text);
	rc = wtl_player_summary(player, second, &err);
	if (rc > 0)
		return player;
	assert_int_equal(rc, 0);
	wtl_player_close(player);
	return NULL;
}

/* At its end; and the newest second that it told. */
static struct wtl_player *play(const char *path, struct wtl_played *ret_second)
{
	struct wtl_player *player;
	struct wtl_played played;
	int rc;

	assert_int_equal(wtl_player_open(path, NULL, &player, NULL), 0);
	assert_false(wtl_player_has_scans(player));
	while ((rc = wtl_player_step(player, &played, NULL)) > 0)
		if (played.kind == WTL_PLAYED_SECOND)
			*ret_second = played;
	assert_int_equal(rc, 0);
	return player;
}

static void check_seconds(const struct wtl_played *second, const struct wtl_played *other)
{
	assert_int_equal(second->kind, WTL_PLAYED_SECOND);
	assert_true(second->self_cpu_ns > 0 && second->self_rss_bytes > 0);
	assert_int_equal(second->self_cpu_ns, other->self_cpu_ns);
	assert_int_equal(second->self_rss_bytes, other->self_rss_bytes);
	assert_int_equal(second->t_mono_ns, other->t_mono_ns);
	assert_int_equal(second->t_utc_ns, other->t_utc_ns);
}

/* Each domain says of itself what it said at the end, and how often it has something new. */
static void check_domains(const struct replay_bench *f, struct wtl_player *player)
{
	for (size_t i = 0; i < wattle_meter_domains(f->bench.meter); i++) {
		struct wattle_domain live = {.size = sizeof(live)}, told = {.size = sizeof(told)};

		assert_int_equal(wattle_meter_domain(f->bench.meter, i, &live), 0);
		assert_int_equal(wattle_meter_domain(wtl_player_meter(player), i, &told), 0);
		assert_int_equal(told.status, live.status);
		assert_string_equal(told.reason ? told.reason : "", live.reason ? live.reason : "");
		assert_string_equal(told.remedy ? told.remedy : "", live.remedy ? live.remedy : "");
		assert_int_equal(told.update_ns, live.update_ns);
	}
}

static void check(struct replay_bench *f)
{
	struct wtl_player *player, *played;
	struct wtl_played second, last = {.t_mono_ns = 0};
	struct wattle_window window, other;
	const struct wattle_energy *energies;

	replay_bench_stop(f);
	player = summary_of(f->path, &second);
	assert_non_null(player);
	replay_bench_check_same(replay_bench_print_live(f), replay_bench_print_played(player));
	check_domains(f, player);
	played = play(f->path, &last);
	check_seconds(&second, &last);
	assert_true(wtl_player_has_scans(player) && wtl_player_has_scans(played));
	assert_int_equal(wtl_workload_weight(wtl_consumers_workload(wtl_player_consumers(player))),
			 wtl_workload_weight(wtl_consumers_workload(wtl_player_consumers(played))));
	assert_true(wtl_player_billed(player, &window, &energies));
	assert_true(wtl_player_billed(played, &other, &energies));
	other.size = window.size;
	other.total.size = window.total.size;
	assert_memory_equal(&window, &other, sizeof(window));
	/* By the time that a sample took. */
	assert_in_range(wtl_player_mono(played) - wtl_player_mono(player), 0, S / 10);
	for (int64_t start_ns = S; start_ns < 1000 * S; start_ns += 100 * S)
		assert_int_equal(wtl_player_start_utc(player, start_ns),
				 wtl_player_start_utc(played, start_ns));
	for (int64_t k = 0; k < 3; k++) {
		int64_t utc_ns = window.begin_utc_ns + k * (window.duration_ns / 3), mono_ns = -1;

		assert_true(wtl_player_learned(player, utc_ns, &mono_ns));
		assert_int_equal(mono_ns, window.begin_mono_ns + utc_ns - window.begin_utc_ns);
	}
	assert_int_equal(wtl_player_main_window(player), wtl_player_main_window(played));
	for (uint32_t uid = 0; uid < 2000; uid += 500)
		assert_string_equal(wtl_player_user(player, uid), wtl_player_user(played, uid));
	wtl_player_close(player);
	wtl_player_close(played);
}

static void test_same_as_going_by_it(void **state)
{
	struct replay_bench f;

	(void)state;
	replay_bench_start(&f, 2 * S);
	replay_bench_begin(&f);
	/* More than are kept apart: some are not there at the end. */
	for (int i = 0; i < 3; i++) {
		replay_bench_crowd(&f);
		replay_bench_live_for(&f, 1);
	}
	replay_bench_live_for(&f, 4);
	replay_bench_end(&f);
	check(&f);
	replay_bench_finish(&f);
}

/* What has become of the domains is as it was at the end. */
static void test_troubles(void **state)
{
	struct replay_bench f;

	(void)state;
	replay_bench_start(&f, 2 * S);
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 2);
	f.bench.asleep_ns += 3600 * S;
	f.package_counts[1] = 17;
	replay_bench_live_for(&f, 2);
	f.bench.utc_ns += 5 * S;
	f.first_fails = true;
	replay_bench_live_for(&f, 2);
	replay_bench_end(&f);
	check(&f);
	replay_bench_finish(&f);
}

static int count(const char *text, const char *what)
{
	int n = 0;

	for (text = strstr(text, what); text; text = strstr(text + 1, what))
		n++;
	return n;
}

/* What uses weigh, and what was learned of it. */
static void test_weights(void **state)
{
	static const enum wtl_weight weights[] = {WTL_WEIGHT_INSTRUCTIONS, WTL_WEIGHT_LEARNED};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(weights); i++) {
		const struct replay_setup setup = {.root = "xeon-2s-dram",
						   .weight = weights[i],
						   .store = {.period_ns = 2 * S}};
		struct replay_bench f;
		int fast, slow;
		char *live;

		replay_bench_start_on(&f, &setup);
		fast = world_fork(&f.world, 1);
		slow = world_fork(&f.world, 1);
		world_at(&f.world, fast)->per_us = 3000;
		world_at(&f.world, slow)->per_us = 1000;
		replay_bench_begin(&f);
		for (int k = 0; k < 120; k++) {
			world_run(&f.world, k / 20 % 2 ? fast : slow, 60 * MS);
			f.package_counts[0] += k / 20 % 2 ? UINT64_C(1) << 31 : 0;
			replay_bench_pass(&f);
			if (k % 10 == 9)
				replay_bench_bill(&f);
		}
		replay_bench_end(&f);
		live = replay_bench_print_live(&f);
		assert_int_equal(count(live, " uW per CPU") > count(live, " 0 +- 0 uW per CPU"),
				 weights[i] == WTL_WEIGHT_LEARNED);
		free(live);
		check(&f);
		replay_bench_finish(&f);
	}
}

static void test_other_machines(void **state)
{
	static const struct replay_setup setups[] = {
		{.root = "laptop-battery", .is_quiet = true},
		{.root = "vm-nothing", .is_quiet = true},
		{.root = "grace", .is_quiet = true, .weight = WTL_WEIGHT_LEARNED},
		{.root = "nvidia-server", .script = "two"},
		{.root = "nvidia-server", .script = "disagree"},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(setups); i++) {
		struct replay_bench f;

		replay_bench_start_on(&f, &setups[i]);
		replay_bench_begin(&f);
		for (int k = 0; k < 40; k++) {
			replay_bench_pass(&f);
			if (k % 10 == 9)
				replay_bench_bill(&f);
		}
		replay_bench_end(&f);
		check(&f);
		replay_bench_finish(&f);
	}
}

/* How often a sensor has something new was measured; what is no time stays unknown. */
static void test_update_intervals(void **state)
{
	static const struct {
		const char *text;
		int64_t update_ns;
	} facts[] = {{"12345000", 12345000}, {"1", 1}, {"0", 0}, {"-5", 0}, {"5 ms", 0}, {"", 0}};
	static const struct replay_setup setup = {.root = "laptop-battery", .is_quiet = true};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(facts); i++) {
		struct wattle_domain domain = {.size = sizeof(domain)};
		struct wtl_player *player;
		struct wtl_played second;
		struct replay_bench f;
		char key[64];
		size_t at = 0;

		replay_bench_start_on(&f, &setup);
		replay_bench_begin(&f);
		for (int k = 0; k < 20; k++)
			replay_bench_pass(&f);
		replay_bench_end(&f);
		/* One of which the recorder says nothing itself. */
		while (wattle_meter_domain(f.bench.meter, at, &domain) == 0 && domain.update_ns > 0)
			at++;
		assert_int_equal(domain.update_ns, 0);
		snprintf(key, sizeof(key), WTL_FACT_UPDATE, at);
		wtl_recorder_fact(f.recorder, key, facts[i].text);
		replay_bench_stop(&f);
		player = summary_of(f.path, &second);
		assert_non_null(player);
		assert_int_equal(wattle_meter_domain(wtl_player_meter(player), at, &domain), 0);
		assert_int_equal(domain.update_ns, facts[i].update_ns);
		wtl_player_close(player);
		replay_bench_finish(&f);
	}
}

/* Runs before the last are not in it. */
static void test_repeated_runs_have_to_be_gone_by(void **state)
{
	struct wtl_played second;
	struct replay_bench f;

	(void)state;
	replay_bench_start(&f, 0);
	for (int i = 0; i < 2; i++) {
		replay_bench_begin(&f);
		replay_bench_live_for(&f, 2);
		replay_bench_end(&f);
	}
	replay_bench_stop(&f);
	assert_null(summary_of(f.path, &second));
	replay_bench_finish(&f);
}

static void test_what_was_cut_off_has_none(void **state)
{
	struct wtl_played second;
	struct replay_bench f;

	(void)state;
	replay_bench_start(&f, 0);
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 3);
	/* As it is while it is being written. */
	assert_null(summary_of(f.path, &second));
	replay_bench_end(&f);
	replay_bench_finish(&f);
}

/* A window whose figures nobody told: the summary does not say it all. */
static void test_a_window_without_figures(void **state)
{
	struct wtl_played second;
	struct replay_bench f;

	(void)state;
	replay_bench_start(&f, 0);
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 1);
	assert_int_equal(wattle_window_begin(f.bench.meter, "inner"), 0);
	replay_bench_live_for(&f, 1);
	assert_int_equal(wtl_window_end(f.bench.meter, "inner", NULL, NULL, 0), 0);
	replay_bench_end(&f);
	replay_bench_stop(&f);
	assert_null(summary_of(f.path, &second));
	replay_bench_finish(&f);
}

/* It is asked for once more where memory was touched for the first time. */
static void test_peak_memory_grows(void **state)
{
	const uint64_t before = replay_bench_peak_bytes;
	struct wtl_player *player;
	struct wtl_played second;
	struct replay_bench f;
	char *fresh;
	long page = sysconf(_SC_PAGESIZE);

	(void)state;
	replay_bench_start(&f, 0);
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 2);
	replay_bench_peak_bytes = 2 * before;
	fresh = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	assert_true(fresh != MAP_FAILED);
	memset(fresh, 1, (size_t)page);
	replay_bench_live_for(&f, 1);
	replay_bench_end(&f);
	replay_bench_stop(&f);
	munmap(fresh, (size_t)page);
	player = summary_of(f.path, &second);
	assert_non_null(player);
	assert_int_equal(second.self_rss_bytes, 2 * before);
	wtl_player_close(player);
	replay_bench_finish(&f);
	replay_bench_peak_bytes = before;
}

/* An account of a domain, slot or consumer that is not there: what else is said of the end is not believed either. */
static void test_accounts_of_none(void **state)
{
	struct wtl_stored_account accounts[] = {
		{.share_ns = 1},
		{.slot = WTL_SLOTS_FIXED, .share_ns = 1},
		{.consumer = 99999, .share_ns = 1},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(accounts); i++) {
		struct wtl_played second;
		struct replay_bench f;

		replay_bench_start(&f, 0);
		replay_bench_begin(&f);
		replay_bench_live_for(&f, 1);
		replay_bench_end(&f);
		if (i == 0)
			accounts[i].domain = (uint32_t)wattle_meter_domains(f.bench.meter);
		assert_int_equal(wtl_store_account(wtl_recorder_writer(f.recorder), &accounts[i]),
				 0);
		replay_bench_stop(&f);
		assert_null(summary_of(f.path, &second));
		replay_bench_finish(&f);
	}
}

/* Idle power of a domain that is not there is nobody's. */
static void test_a_baseline_of_none(void **state)
{
	struct wtl_stored_baseline baseline = {.baseline.is_known = true};
	struct wtl_player *player;
	struct wtl_played second;
	struct replay_bench f;

	(void)state;
	replay_bench_start(&f, 0);
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 1);
	replay_bench_end(&f);
	baseline.domain = (uint32_t)wattle_meter_domains(f.bench.meter);
	assert_int_equal(wtl_store_baseline(wtl_recorder_writer(f.recorder), &baseline), 0);
	replay_bench_stop(&f);
	player = summary_of(f.path, &second);
	assert_non_null(player);
	for (size_t i = 0; i < wattle_meter_domains(wtl_player_meter(player)); i++) {
		wtl_consumers_baseline(wtl_player_consumers(player), i, &baseline.baseline);
		assert_false(baseline.baseline.is_known);
	}
	wtl_player_close(player);
	replay_bench_finish(&f);
}

/* A window that is not of all that was billed is not taken for the one that is; one that is open, or lacks figures, says
 * that more is to come. */
static void test_other_windows(void **state)
{
	struct wtl_stored_window rows[] = {
		{.n_energies = 1}, {.is_open = true}, {.is_open = false}};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
		const struct wattle_energy *energies;
		struct wattle_window window;
		struct wtl_player *player;
		struct wtl_played second;
		struct replay_bench f;

		replay_bench_start(&f, 0);
		replay_bench_begin(&f);
		replay_bench_live_for(&f, 1);
		replay_bench_end(&f);
		rows[i].id = 50;
		snprintf(rows[i].name, sizeof(rows[i].name), "other");
		rows[i].begin_mono_ns = f.bench.now_ns - S;
		rows[i].duration_ns = S / 2;
		f.energies[0].energy_uj++;
		rows[i].energies = f.energies;
		if (rows[i].n_energies == 0)
			rows[i].n_energies = wattle_meter_domains(f.bench.meter);
		assert_int_equal(wtl_store_window(wtl_recorder_writer(f.recorder), &rows[i]), 0);
		replay_bench_stop(&f);
		player = summary_of(f.path, &second);
		assert_int_equal(player != NULL, i == 2);
		if (player) {
			assert_int_equal(wtl_player_main_window(player), 1);
			assert_true(wtl_player_billed(player, &window, &energies));
			assert_int_equal(window.duration_ns, f.window.duration_ns);
			assert_int_equal(energies[0].energy_uj, f.energies[0].energy_uj - 1);
		}
		wtl_player_close(player);
		replay_bench_finish(&f);
	}
}

/* Its last values are of series: where one of those cannot be read, the recording has to be gone by. */
static void test_last_values_cannot_be_read(void **state)
{
	static const char *const names[] = {"look.weight", "gpu.0.weight", "second.utc"};
	static const struct replay_setup setup = {
		.root = "nvidia-server", .script = "two", .store = {.period_ns = S}};
	struct wtl_played second;
	char sql[256];

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(names); i++) {
		struct replay_bench f;

		replay_bench_start_on(&f, &setup);
		replay_bench_begin(&f);
		replay_bench_live_for(&f, 2);
		replay_bench_end(&f);
		replay_bench_stop(&f);
		snprintf(sql, sizeof(sql),
			 "UPDATE chunk SET data = randomblob(length(data)) WHERE "
			 "id >> 16 = (SELECT max(id) FROM period) AND "
			 "id & 65535 = (SELECT id FROM series WHERE name = '%s')",
			 names[i]);
		replay_bench_sql(&f, sql);
		assert_null(summary_of(f.path, &second));
		replay_bench_finish(&f);
	}
}

/* What a recording says of its machine; what no machine has is not believed. */
static void test_machine(void **state)
{
	static const struct {
		const char *key, *value;
		unsigned n;
	} rows[] = {
		{WTL_FACT_CPUS, "1048576", 1048576},
		{WTL_FACT_CPUS, "1048577", 1},
		{WTL_FACT_CPUS, "0", 1},
		{WTL_FACT_CPUS, "two", 1},
		{WTL_FACT_PACKAGES, "3", 3},
		{WTL_FACT_PACKAGES, "-1", 1},
		{WTL_FACT_MEMORY, "4096", 4096},
		{WTL_FACT_VM, "1", 1},
		{WTL_FACT_VM, "0", 0},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
		const struct replay_setup setup = {.root = "laptop-battery", .is_quiet = true};
		const struct wtl_machine *machine;
		struct wtl_player *player;
		struct replay_bench f;
		uint64_t told;

		replay_bench_start_on(&f, &setup);
		replay_bench_begin(&f);
		replay_bench_pass(&f);
		replay_bench_end(&f);
		wtl_recorder_fact(f.recorder, rows[i].key, rows[i].value);
		replay_bench_stop(&f);
		assert_int_equal(wtl_player_open(f.path, NULL, &player, NULL), 0);
		machine = &wtl_player_meter(player)->machine;
		told = strcmp(rows[i].key, WTL_FACT_CPUS) == 0	     ? machine->n_cpus
		       : strcmp(rows[i].key, WTL_FACT_PACKAGES) == 0 ? machine->n_packages
		       : strcmp(rows[i].key, WTL_FACT_MEMORY) == 0   ? machine->memory_bytes
								     : machine->is_vm;
		assert_int_equal(told, rows[i].n);
		assert_string_equal(machine->cpu_model, f.bench.meter->machine.cpu_model);
		assert_string_equal(machine->kernel, f.bench.meter->machine.kernel);
		wtl_player_close(player);
		replay_bench_finish(&f);
	}
}

/* Sound rows whose last value says what cannot be: then, too, the recording has to be gone by. */
static void test_last_values_that_cannot_be(void **state)
{
	static const struct {
		const char *name;
		int64_t value;
	} bad[] = {
		{"look.weight", -1},  {"look.weight", WTL_WEIGHTS},
		{"gpu.0.weight", -1}, {"gpu.0.weight", WTL_GPU_USE_METHODS},
		{"second.mono", -1},  {"second.utc", INT64_MIN},
		{"second.cpu", -1},   {"second.rss", -1},
		{"sample.mono", -1},  {"sample.asleep", -1},
	};
	static const struct replay_setup setup = {
		.root = "nvidia-server", .script = "two", .store = {.period_ns = 2 * S}};
	struct wtl_store_period period;
	struct wtl_played second;
	struct replay_bench f;
	int64_t last;

	(void)state;
	replay_bench_start_on(&f, &setup);
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 3);
	replay_bench_end(&f);
	replay_bench_stop(&f);
	last = (int64_t)replay_bench_period(&f, f.bench.now_ns - S, &period) + 1;
	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		struct wtl_player *player;

		replay_bench_forge(f.path, bad[i].name, last, SIZE_MAX, bad[i].value);
		assert_null(summary_of(f.path, &second));
		replay_bench_forge(f.path, bad[i].name, last, SIZE_MAX, 0);
		player = summary_of(f.path, &second);
		assert_non_null(player);
		wtl_player_close(player);
	}
	replay_bench_finish(&f);
}

/* ---- Parts ---- */

struct part {
	uint64_t energies_uj[REPLAY_DOMAINS_MAX];
	uint64_t full_uj; /* of all consumers */
	int64_t duration_ns;
};

/* From the look number `from` (0: the main window's start) to the look number `to`. */
static void play_part(const char *path, unsigned from, unsigned to, struct part *ret_part)
{
	const struct wattle_energy *energies;
	struct wattle_window window;
	struct wtl_player *player;
	struct wtl_played played;
	struct wtl_err err = {.code = 0};
	unsigned looks = 0;
	bool has_begun = false;

	assert_int_equal(wtl_player_open(path, NULL, &player, &err), 0);
	while (wtl_player_step(player, &played, &err) > 0) {
		looks += played.kind == WTL_PLAYED_BILLED;
		if (has_begun && played.kind == WTL_PLAYED_BILLED && looks == to)
			break;
		if (!has_begun &&
		    ((from == 0 && played.kind == WTL_PLAYED_BEGUN) ||
		     (from > 0 && played.kind == WTL_PLAYED_BILLED && looks == from))) {
			assert_int_equal(wtl_player_begin_here(player, 0), 0);
			has_begun = true;
		}
	}
	assert_true(wtl_player_billed(player, &window, &energies));
	*ret_part = (struct part){.duration_ns = window.duration_ns};
	for (size_t i = 0; i < wattle_meter_domains(wtl_player_meter(player)); i++) {
		struct wtl_ledger ledger;

		if (energies[i].has_energy)
			assert_int_equal(energies[i].gap_ns, 0);
		ret_part->energies_uj[i] = energies[i].energy_uj;
		wtl_consumers_ledger(wtl_player_consumers(player), i, &ledger);
		assert_true(wtl_ledger_closed(&ledger));
		assert_int_equal(ledger.total_uj,
				 energies[i].has_energy ? energies[i].energy_uj : 0);
	}
	for (size_t i = 0; i < wtl_consumers_slots(wtl_player_consumers(player)); i++) {
		struct wtl_share_energy energy;

		if (!wtl_consumers_get(wtl_player_consumers(player), i))
			continue;
		wtl_consumers_energy(wtl_player_consumers(player), i, WTL_PART_ALL, &energy);
		ret_part->full_uj += energy.full_uj;
	}
	wtl_player_close(player);
}

static void test_parts_that_meet_make_the_whole(void **state)
{
	struct part whole, first, second, third;
	struct replay_bench f;

	(void)state;
	replay_bench_start(&f, 2 * S);
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 8);
	replay_bench_end(&f);
	replay_bench_stop(&f);
	play_part(f.path, 0, 1000, &whole);
	play_part(f.path, 0, 3, &first);
	play_part(f.path, 3, 4, &second);
	play_part(f.path, 4, 1000, &third);
	for (size_t i = 0; i < REPLAY_DOMAINS_MAX; i++) {
		uint64_t sum_uj =
			first.energies_uj[i] + second.energies_uj[i] + third.energies_uj[i];

		/* Each is rounded down to the microjoule. */
		assert_in_range(whole.energies_uj[i] - sum_uj, 0, 2);
	}
	assert_in_range(whole.full_uj - first.full_uj - second.full_uj - third.full_uj + 8, 0, 16);
	assert_true(first.duration_ns > 2 * S && second.duration_ns < 2 * S);
	replay_bench_finish(&f);
}

/* ---- A window that is open ---- */

static void test_open_windows_can_be_looked_at(void **state)
{
	struct wattle_energy energies[REPLAY_DOMAINS_MAX];
	struct wattle_window window;
	struct wtl_player *player;
	struct wtl_played played;
	struct wtl_err err = {.code = 0};
	struct replay_bench f;
	uint64_t newest_uj = 0;
	uint32_t id = 0;

	(void)state;
	replay_bench_start(&f, 0);
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 3);
	replay_bench_end(&f);
	replay_bench_stop(&f);
	assert_int_equal(wtl_player_open(f.path, NULL, &player, &err), 0);
	assert_true(wtl_player_window(player, 1, &window, energies) < 0);
	while (wtl_player_step(player, &played, &err) > 0) {
		if (played.kind == WTL_PLAYED_BEGUN)
			id = played.window_id;
		if (id == 0 || wtl_player_window(player, id, &window, energies) < 0)
			continue;
		assert_true(window.total.energy_uj >= newest_uj);
		newest_uj = window.total.energy_uj;
		assert_ptr_not_equal(wtl_player_readings(player), NULL);
	}
	assert_true(newest_uj > 0 && newest_uj <= f.window.total.energy_uj);
	assert_true(wtl_player_window(player, id, &window, energies) < 0);
	assert_true(wtl_player_window(player, 0, &window, energies) < 0);
	assert_true(wtl_player_window(player, 99, &window, energies) < 0);
	wtl_player_close(player);
	replay_bench_finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_going_by_it),
		cmocka_unit_test(test_troubles),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_other_machines),
		cmocka_unit_test(test_repeated_runs_have_to_be_gone_by),
		cmocka_unit_test(test_what_was_cut_off_has_none),
		cmocka_unit_test(test_a_window_without_figures),
		cmocka_unit_test(test_update_intervals),
		cmocka_unit_test(test_accounts_of_none),
		cmocka_unit_test(test_a_baseline_of_none),
		cmocka_unit_test(test_other_windows),
		cmocka_unit_test(test_peak_memory_grows),
		cmocka_unit_test(test_last_values_cannot_be_read),
		cmocka_unit_test(test_last_values_that_cannot_be),
		cmocka_unit_test(test_machine),
		cmocka_unit_test(test_parts_that_meet_make_the_whole),
		cmocka_unit_test(test_open_windows_can_be_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
