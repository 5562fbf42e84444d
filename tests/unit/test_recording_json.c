/* SPDX-License-Identifier: MIT */
/* Recordings, comparisons and runs as JSON: every key, its unit and digits, and what is not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/config.h"

#if !HAVE_JANSSON
int main(void)
{
	puts("SKIP: this build has no JSON");
	return 77;
}
#else

#include <jansson.h>

#include "base/buf.h"
#include "output_bench.h"
#include "recording_bench.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define J	     BENCH_J
#define S	     BENCH_S

static const struct wtl_output_style plain = {.color = false};

static json_t *parse(char *text)
{
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!root)
		fail_msg("line %d: %s", error.line, error.text);
	free(text);
	return root;
}

static json_t *json_of(const struct wtl_recording *recording)
{
	return parse(recording_bench_text("json", recording, plain));
}

/* "windows.0.total.energy_j" */
static json_t *find(const json_t *from, const char *path)
{
	const json_t *at = from;
	char key[64];

	while (at && *path) {
		size_t len = strcspn(path, ".");

		assert_true(len < sizeof(key));
		memcpy(key, path, len);
		key[len] = '\0';
		at = json_is_array(at) ? json_array_get(at, (size_t)atoi(key))
				       : json_object_get(at, key);
		path += len + (path[len] == '.');
	}
	return (json_t *)(uintptr_t)at;
}

static json_t *get(const json_t *from, const char *path)
{
	json_t *found = find(from, path);

	if (!found)
		fail_msg("there is no %s", path);
	return found;
}

static void assert_text(const json_t *from, const char *path, const char *wanted)
{
	assert_true(json_is_string(get(from, path)));
	assert_string_equal(json_string_value(get(from, path)), wanted);
}

static void assert_number(const json_t *from, const char *path, double wanted)
{
	double off;

	assert_true(json_is_number(get(from, path)));
	off = json_number_value(get(from, path)) - wanted;
	if (off > 1e-9 || off < -1e-9)
		fail_msg("%s is %.9f, not %.9f", path, wanted + off, wanted);
}

static void assert_bool(const json_t *from, const char *path, bool wanted)
{
	assert_true(json_is_boolean(get(from, path)));
	assert_int_equal(json_is_true(get(from, path)), wanted);
}

static void assert_absent(const json_t *from, const char *path)
{
	if (find(from, path))
		fail_msg("%s is there", path);
}

static void assert_size(const json_t *from, const char *path, size_t wanted)
{
	assert_true(json_is_array(get(from, path)));
	assert_int_equal(json_array_size(get(from, path)), wanted);
}

/* These and no others, in this order: as the file has them. */
static void assert_keys(const json_t *from, const char *path, const char *wanted)
{
	json_t *object = get(from, path);
	char found[1024] = "";
	const char *key;
	json_t *value;

	assert_true(json_is_object(object));
	json_object_foreach(object, key, value)
	{
		strcat(found, found[0] ? " " : "");
		strcat(found, key);
		assert_true(strlen(found) < 900);
	}
	assert_string_equal(found, wanted);
}

/* ---- Keys ---- */

static void test_every_key(void **state)
{
	static const struct {
		const char *path, *keys;
	} objects[] = {
		{"", "schema version recording policy command interrupted start_utc end_utc "
		     "duration_s total "
		     "domains "
		     "ledger command_energy processes others no_process by windows gaps carbon "
		     "self notes"},
		{"recording", "file wattle host cpu kernel location begin_utc begin_mono_ns span_s "
			      "interval_s is_whole is_live is_part"},
		{"policy", "idle"},
		{"total", "status method energy_j uncertainty_j mean_w max_w measured_s gap_s "
			  "samples flags"},
		{"ledger.0", "domain live_j exited_j kernel_j idle_j unattributed_j total_j"},
		{"ledger.3", "domain unattributed_j total_j idle_reason reason"},
		{"by", "users"},
		{"by.users", "groups others"},
		{"by.users.groups.0",
		 "user n_processes cpu_s dynamic_j full_j uncertainty_j gpu_j"},
		{"by.users.groups.1", "user n_processes cpu_s dynamic_j full_j uncertainty_j"},
		{"by.users.others", "n_groups n_processes cpu_s dynamic_j full_j uncertainty_j"},
		{"windows.0", "id name is_main is_open begin_utc begin_mono_ns duration_s total "
			      "gco2e gco2e_uncertainty domains"},
		{"windows.1", "id name is_main is_open pid begin_utc begin_mono_ns duration_s "
			      "total gco2e gco2e_uncertainty domains"},
		{"windows.2", "id name is_main is_open begin_utc begin_mono_ns duration_s total "
			      "domains"},
		{"windows.3", "id name is_main is_open is_cut begin_utc begin_mono_ns reason"},
		{"windows.0.domains.0", "name energy_j uncertainty_j mean_w max_w measured_s gap_s "
					"samples flags"},
		{"gaps.0", "kind begin_utc duration_s text"},
		{"gaps.2", "kind begin_utc duration_s domain text"},
		{"gaps.5", "kind begin_utc duration_s"},
		{"carbon", "gco2e gco2e_uncertainty intensity_g_per_kwh location "
			   "location_is_default year"},
		{"self", "cpu_s max_rss_bytes reason"},
	};
	struct recording_bench bench;
	json_t *root;

	(void)state;
	recording_bench_init(&bench);
	root = json_of(&bench.recording);
	for (size_t i = 0; i < COUNT(objects); i++)
		assert_keys(root, objects[i].path, objects[i].keys);
	assert_text(root, "schema", "wattle.recording/1");
	json_decref(root);
}

static bool ends(const char *key, size_t len, const char *end)
{
	return len >= strlen(end) && strncmp(key + len - strlen(end), end, strlen(end)) == 0;
}

/* Digits that a key's unit has: -1 where none are told. */
static int digits_of(const char *key, size_t len)
{
	if (ends(key, len, "g_per_kwh"))
		return 3;
	if (ends(key, len, "_s") || ends(key, len, "gco2e") || ends(key, len, "gco2e_uncertainty"))
		return 9;
	if (ends(key, len, "_j") || ends(key, len, "_w"))
		return 6;
	return -1;
}

/* Every figure has all the digits of its unit, whatever its size. */
static unsigned check_digits(const char *text)
{
	unsigned n = 0;

	for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
		const char *key = strchr(line, '"'), *end, *point;
		int wanted;

		if (!key || key > line + strcspn(line, "\n"))
			continue;
		end = strchr(++key, '"');
		wanted = digits_of(key, (size_t)(end - key));
		if (wanted < 0 || end[3] == '{')
			continue;
		point = end + 3 + strcspn(end + 3, ".\n");
		if (*point != '.' || strspn(point + 1, "0123456789") != (size_t)wanted)
			fail_msg("not %d digits: %.*s", wanted, (int)strcspn(line, "\n"), line);
		n++;
	}
	return n;
}

static void test_digits(void **state)
{
	struct recording_bench bench;
	struct wtl_run run;
	const struct wtl_runs runs = {.runs = &run, .n_runs = 1};
	char *text;

	(void)state;
	recording_bench_init(&bench);
	bench.recording.carbon.is_varying = true;
	bench.recording.carbon.file = "grid.csv";
	bench.recording.carbon.emission.has_intensity = true;
	bench.recording.report.self.has_energy = true;
	text = recording_bench_text("json", &bench.recording, plain);
	assert_true(check_digits(text) > 150);
	free(text);
	run = (struct wtl_run){.path = "a", .number = 1, .report = bench.recording.report};
	text = runs_bench_text("json", &runs, plain);
	assert_true(check_digits(text) > 40);
	free(text);
}

/* On one line it is the same. */
static void test_one_line(void **state)
{
	const struct wtl_output_style append = {.append = true};
	struct recording_bench bench;
	json_t *indented, *line;
	char *text;

	(void)state;
	recording_bench_init(&bench);
	text = recording_bench_text("json", &bench.recording, append);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	line = parse(text);
	indented = json_of(&bench.recording);
	assert_true(json_equal(line, indented));
	json_decref(line);
	json_decref(indented);
}

/* ---- The file ---- */

static void test_the_file(void **state)
{
	struct recording_bench bench;
	json_t *root;

	(void)state;
	recording_bench_init(&bench);
	root = json_of(&bench.recording);
	assert_text(root, "recording.file", "night.wattle");
	assert_text(root, "recording.wattle", "0.1.0");
	assert_text(root, "recording.host", "tea");
	assert_text(root, "recording.cpu", "Some CPU");
	assert_text(root, "recording.kernel", "6.1.0");
	assert_text(root, "recording.location", "FRA");
	assert_text(root, "recording.begin_utc", "2026-11-21T14:00:00.000Z");
	assert_number(root, "recording.begin_mono_ns", 1000);
	assert_number(root, "recording.span_s", 10);
	assert_number(root, "recording.interval_s", 0.1);
	assert_bool(root, "recording.is_whole", true);
	assert_bool(root, "recording.is_live", false);
	assert_bool(root, "recording.is_part", false);
	assert_text(root, "policy.idle", "recorded");
	assert_size(root, "command", 2);
	assert_text(root, "command.1", "-j8");
	json_decref(root);
}

static void test_a_part_of_a_live_one(void **state)
{
	struct recording_bench bench;
	json_t *root;

	(void)state;
	recording_bench_init(&bench);
	bench.recording.is_whole = false;
	bench.recording.is_live = true;
	bench.recording.is_part = true;
	bench.recording.span_ns = S(4000);
	root = json_of(&bench.recording);
	assert_bool(root, "recording.is_whole", false);
	assert_bool(root, "recording.is_live", true);
	assert_bool(root, "recording.is_part", true);
	assert_number(root, "recording.span_s", 4000);
	assert_number(root, "duration_s", 10);
	json_decref(root);
}

/* How the command ended, where that is known; a struct of zeros knows nothing of it. */
static void test_how_it_ended(void **state)
{
	struct recording_bench bench;
	json_t *root;

	(void)state;
	recording_bench_init(&bench);
	root = json_of(&bench.recording);
	assert_absent(root, "exit_status");
	assert_absent(root, "exit_signal");
	assert_bool(root, "interrupted", false);
	json_decref(root);
	bench.recording.report.has_exit = true;
	root = json_of(&bench.recording);
	assert_number(root, "exit_status", 0);
	assert_absent(root, "exit_signal");
	json_decref(root);
	bench.recording.report.exit_status = 137;
	bench.recording.report.exit_signal = 9;
	bench.recording.report.interrupted = true;
	root = json_of(&bench.recording);
	assert_number(root, "exit_status", 137);
	assert_number(root, "exit_signal", 9);
	assert_bool(root, "interrupted", true);
	json_decref(root);
}

static void test_policies(void **state)
{
	static const char *const names[] = {"recorded", "learned", "none"};
	static const char *const given[] = {"package-0: 12 W", "gpu\x1b-0: \"1 W\""};
	struct recording_bench bench;

	(void)state;
	recording_bench_init(&bench);
	for (size_t i = 0; i < COUNT(names); i++) {
		json_t *root;

		bench.recording.policy = (struct wtl_recording_policy){
			.idle = names[i], .idle_given = given, .n_idle_given = i};
		root = json_of(&bench.recording);
		assert_text(root, "policy.idle", names[i]);
		if (i == 0)
			assert_absent(root, "policy.idle_given");
		else
			assert_size(root, "policy.idle_given", i);
		if (i == 2)
			assert_text(root, "policy.idle_given.1", given[1]);
		json_decref(root);
	}
}

/* What nobody knows has no key; what cannot be told has its reason beside it. */
static void test_empty(void **state)
{
	struct recording_bench bench;
	json_t *root;

	(void)state;
	recording_bench_init_empty(&bench);
	root = json_of(&bench.recording);
	assert_keys(root, "",
		    "schema version recording policy command interrupted start_utc end_utc "
		    "duration_s total "
		    "domains "
		    "ledger processes_reason by windows gaps carbon self notes");
	assert_keys(root, "recording",
		    "file begin_utc begin_mono_ns span_s is_whole is_live is_part");
	assert_keys(root, "total", "status reason");
	assert_keys(root, "carbon", "intensity_g_per_kwh location location_is_default year reason");
	assert_true(json_is_null(get(root, "command")));
	assert_text(root, "processes_reason", "nothing is measured");
	assert_size(root, "domains", 0);
	assert_size(root, "ledger", 0);
	assert_size(root, "windows", 0);
	assert_size(root, "gaps", 0);
	assert_size(root, "notes", 0);
	assert_int_equal(json_object_size(get(root, "by")), 0);
	json_decref(root);
}

static void test_self_and_notes(void **state)
{
	static const char *const notes[] = {"A sentence.", "Another \x01 one."};
	struct recording_bench bench;
	json_t *root;

	(void)state;
	recording_bench_init(&bench);
	bench.recording.report.self.has_energy = true;
	bench.recording.report.self.energy_uj = J(0.5);
	bench.recording.report.self.uncertainty_uj = J(0.25);
	bench.recording.report.notes = notes;
	bench.recording.report.n_notes = 2;
	root = json_of(&bench.recording);
	assert_keys(root, "self", "cpu_s max_rss_bytes method energy_j uncertainty_j");
	assert_text(root, "self.method", "modelled");
	assert_number(root, "self.energy_j", 0.5);
	assert_number(root, "self.uncertainty_j", 0.25);
	assert_size(root, "notes", 2);
	assert_text(root, "notes.1", notes[1]);
	json_decref(root);
	/* Memory that is not known is not 0. */
	bench.recording.report.self.max_rss_bytes = 0;
	root = json_of(&bench.recording);
	assert_absent(root, "self.max_rss_bytes");
	assert_number(root, "self.energy_j", 0.5);
	json_decref(root);
}

/* ---- Energy ---- */

/* As whole microjoules, so that sums are exact. */
static int64_t micro(const json_t *from, const char *path)
{
	double value = json_number_value(get(from, path)) * 1e6;

	return (int64_t)(value + 0.5);
}

static void test_the_ledgers_close(void **state)
{
	static const char *const accounts[] = {"live_j", "exited_j", "kernel_j", "idle_j",
					       "unattributed_j"};
	struct recording_bench bench;
	int64_t counted_uj = 0;
	json_t *root;

	(void)state;
	recording_bench_init(&bench);
	root = json_of(&bench.recording);
	assert_size(root, "ledger", BENCH_DOMAINS);
	for (size_t i = 0; i < BENCH_DOMAINS; i++) {
		json_t *ledger = json_array_get(get(root, "ledger"), i);
		json_t *domain = json_array_get(get(root, "domains"), i);
		int64_t sum_uj = 0;

		for (size_t k = 0; k < COUNT(accounts); k++)
			if (json_object_get(ledger, accounts[k]))
				sum_uj += micro(ledger, accounts[k]);
		assert_int_equal(sum_uj, micro(ledger, "total_j"));
		assert_int_equal(sum_uj, micro(domain, "energy_j"));
		assert_text(ledger, "domain", json_string_value(get(domain, "name")));
		if (json_is_true(get(domain, "in_total")))
			counted_uj += sum_uj;
	}
	assert_int_equal(counted_uj, micro(root, "total.energy_j"));
	json_decref(root);
}

/* Consumers, their groups and what is nobody's: each way the same total. */
static void test_who_used_it_adds_up(void **state)
{
	struct recording_bench bench;
	int64_t processes_uj, groups_uj;
	json_t *root, *each;
	size_t i;

	(void)state;
	recording_bench_init(&bench);
	root = json_of(&bench.recording);
	processes_uj = micro(root, "others.full_j") + micro(root, "no_process.full_j");
	json_array_foreach(get(root, "processes"), i, each) processes_uj += micro(each, "full_j");
	groups_uj = micro(root, "by.users.others.full_j") + micro(root, "no_process.full_j");
	json_array_foreach(get(root, "by.users.groups"), i, each) groups_uj +=
		micro(each, "full_j");
	assert_int_equal(processes_uj, micro(root, "total.energy_j"));
	assert_int_equal(groups_uj, micro(root, "total.energy_j"));
	json_decref(root);
}

static void test_groups_by_every_key(void **state)
{
	struct recording_bench bench;
	char path[64];

	(void)state;
	recording_bench_init(&bench);
	for (int by = 0; by < WTL_BYS; by++) {
		const char *name = wtl_by_name((enum wtl_by)by);
		json_t *root, *list;

		bench.grouping.by = (enum wtl_by)by;
		bench.groups[0].name = "a\n\xff\x1b";
		bench.groups[1].name = "";
		root = json_of(&bench.recording);
		assert_keys(root, "by", wtl_by_plural((enum wtl_by)by));
		list = get(get(root, "by"), wtl_by_plural((enum wtl_by)by));
		snprintf(path, sizeof(path), "groups.0.%s", name);
		assert_text(list, path, "a\n\xef\xbf\xbd\x1b");
		snprintf(path, sizeof(path), "groups.1.%s", name);
		assert_true(json_is_null(get(list, path)));
		assert_number(list, "groups.0.full_j", 300.5);
		assert_number(list, "groups.0.gpu_j", 280);
		assert_absent(list, "groups.1.gpu_j");
		assert_number(list, "groups.1.cpu_s", 6.5);
		assert_number(list, "others.n_groups", 2);
		json_decref(root);
	}
}

static void test_groups_without_others_or_a_baseline(void **state)
{
	struct recording_bench bench;
	json_t *root;

	(void)state;
	recording_bench_init(&bench);
	bench.groups[0].all.full_uj += bench.grouping.others.all.full_uj;
	bench.groups[0].all.has_dynamic = false;
	bench.groups[0].cpu_ns = -1;
	bench.grouping.others = (struct wtl_recording_group){.name = ""};
	bench.grouping.n_others = 0;
	root = json_of(&bench.recording);
	assert_absent(root, "by.users.others");
	assert_absent(root, "by.users.groups.0.dynamic_j");
	assert_number(root, "by.users.groups.0.full_j", 305);
	assert_absent(root, "by.users.groups.0.cpu_s");
	json_decref(root);
}

/* ---- Windows and gaps ---- */

static void test_windows(void **state)
{
	struct recording_bench bench;
	json_t *root, *window;
	size_t i;

	(void)state;
	recording_bench_init(&bench);
	bench.energies[1].has_energy = 0;
	root = json_of(&bench.recording);
	json_array_foreach(get(root, "windows"), i, window)
	{
		assert_number(window, "id", (double)i + 1);
		assert_text(window, "name", bench.windows[i].name);
		assert_bool(window, "is_main", i == 0);
		assert_bool(window, "is_open", i == 2);
		assert_number(window, "begin_mono_ns", 1000 + (double)i * 1e9);
		if (i == 3)
			continue;
		assert_number(window, "total.energy_j", 420);
		/* One has no figure: it is not among them. */
		assert_size(window, "domains", BENCH_DOMAINS - 1);
		assert_text(window, "domains.1.name", "gpu-0");
		assert_number(window, "domains.1.energy_j", 300);
		assert_number(window, "domains.1.gap_s", 0.5);
	}
	assert_number(root, "windows.1.pid", 4711);
	assert_absent(root, "windows.0.pid");
	assert_absent(root, "windows.0.is_cut");
	assert_bool(root, "windows.3.is_cut", true);
	assert_text(root, "windows.3.reason", "its figures are not known");
	assert_number(root, "windows.0.gco2e", 0.006538);
	assert_absent(root, "windows.2.gco2e");
	json_decref(root);
}

/* Known to have been there, without any energy: a reason, and no figure. */
static void test_a_window_without_energy(void **state)
{
	struct recording_bench bench;
	json_t *root;

	(void)state;
	recording_bench_init(&bench);
	bench.windows[0].window.total = (struct wattle_energy){.status = WATTLE_STATUS_ABSENT};
	bench.windows[0].has_carbon = false;
	bench.windows[1].window.total.has_power = 0;
	bench.windows[1].window.total.flags = WATTLE_ENERGY_SHORT | WATTLE_ENERGY_INCOMPLETE;
	root = json_of(&bench.recording);
	assert_keys(root, "windows.0.total", "status reason");
	assert_absent(root, "windows.0.gco2e");
	assert_absent(root, "windows.1.total.mean_w");
	assert_absent(root, "windows.1.total.max_w");
	assert_text(root, "windows.1.total.reason", "too short to speak of power");
	assert_size(root, "windows.1.total.flags", 2);
	assert_text(root, "windows.1.total.flags.0", "short");
	json_decref(root);
}

static void test_gaps_of_every_kind(void **state)
{
	struct recording_bench bench;
	json_t *root, *gap;
	size_t i;

	(void)state;
	recording_bench_init(&bench);
	root = json_of(&bench.recording);
	assert_size(root, "gaps", BENCH_GAPS);
	json_array_foreach(get(root, "gaps"), i, gap)
	{
		assert_text(gap, "kind", bench.gaps[i].kind);
		assert_number(gap, "duration_s", (double)bench.gaps[i].duration_ns / 1e9);
		if (bench.gaps[i].domain[0])
			assert_text(gap, "domain", bench.gaps[i].domain);
		else
			assert_absent(gap, "domain");
		if (bench.gaps[i].text[0])
			assert_text(gap, "text", bench.gaps[i].text);
		else
			assert_absent(gap, "text");
	}
	/* A clock that was set back keeps its sign. */
	assert_number(root, "gaps.1.duration_s", -2);
	json_decref(root);
}

/* A clock that was decades off: more digits than a double has, and all of them right. */
static void test_a_large_step_is_exact(void **state)
{
	static const struct {
		int64_t step_ns;
		const char *wanted;
	} steps[] = {
		{INT64_C(1795269600123456789), "1795269600.123456789"},
		{INT64_C(-1795269600123456789), "-1795269600.123456789"},
		{INT64_MIN, "-9223372036.854775808"},
		{-1, "-0.000000001"},
		{0, "0.000000000"},
	};
	struct recording_bench bench;

	(void)state;
	recording_bench_init(&bench);
	for (size_t i = 0; i < COUNT(steps); i++) {
		char key[80], *text;

		bench.gaps[1].duration_ns = steps[i].step_ns;
		text = recording_bench_text("json", &bench.recording, plain);
		snprintf(key, sizeof(key), "\"duration_s\": %s,", steps[i].wanted);
		if (!strstr(strstr(text, "\"clock-step\""), key))
			fail_msg("there is no %s", key);
		free(text);
	}
}

/* ---- Carbon ---- */

static void test_an_intensity_that_varies(void **state)
{
	struct recording_bench bench;
	struct wtl_recording_carbon *carbon = &bench.recording.carbon;
	json_t *root;

	(void)state;
	recording_bench_init(&bench);
	*carbon = (struct wtl_recording_carbon){
		.is_varying = true,
		.file = "grid.csv",
		.emission = {.has_intensity = true,
			     .least_mg_per_kwh = 56040,
			     .greatest_mg_per_kwh = 312000,
			     .known_ns = S(6),
			     .missing_ns = S(4),
			     .missing_uj = 1234567},
	};
	root = json_of(&bench.recording);
	assert_keys(root, "intensity",
		    "file min_g_per_kwh max_g_per_kwh known_s missing_s missing_j reason");
	assert_text(root, "intensity.file", "grid.csv");
	assert_number(root, "intensity.min_g_per_kwh", 56.04);
	assert_number(root, "intensity.max_g_per_kwh", 312);
	assert_number(root, "intensity.known_s", 6);
	assert_number(root, "intensity.missing_s", 4);
	assert_number(root, "intensity.missing_j", 1.234567);
	json_decref(root);
	/* All of the time is covered: nothing to explain. Corrections do not make less than nothing. */
	carbon->emission.missing_ns = 0;
	carbon->emission.missing_uj = -5;
	root = json_of(&bench.recording);
	assert_absent(root, "intensity.reason");
	assert_number(root, "intensity.missing_j", 0);
	json_decref(root);
	/* None of it is. */
	carbon->emission = (struct wtl_emission){.missing_ns = S(10), .missing_uj = 420000000};
	root = json_of(&bench.recording);
	assert_absent(root, "intensity.min_g_per_kwh");
	assert_absent(root, "intensity.max_g_per_kwh");
	assert_number(root, "intensity.known_s", 0);
	assert_true(strlen(json_string_value(get(root, "intensity.reason"))) > 0);
	json_decref(root);
	/* A figure of a part says what is not in it; without one nothing is made of it. */
	bench.recording.report.carbon.pue_milli = 2000;
	bench.recording.report.carbon.missing_uj = 1234567;
	bench.windows[0].carbon.missing_uj = 1;
	root = json_of(&bench.recording);
	assert_number(root, "carbon.missing_j", 1.234567);
	assert_true(get(root, "carbon.gco2e") != NULL);
	assert_absent(json_array_get(get(root, "windows"), 0), "gco2e");
	assert_true(strlen(json_string_value(
			    get(json_array_get(get(root, "windows"), 0), "gco2e_reason"))) > 0);
	assert_true(get(json_array_get(get(root, "windows"), 1), "gco2e") != NULL);
	json_decref(root);
	bench.recording.report.carbon.reason = "no intensity";
	root = json_of(&bench.recording);
	assert_keys(root, "carbon", "location location_is_default year pue reason");
	assert_text(root, "carbon.reason", "no intensity");
	json_decref(root);
	carbon->is_varying = false;
	root = json_of(&bench.recording);
	assert_absent(root, "intensity");
	json_decref(root);
}

/* ---- Several ---- */

static const struct wtl_compared_value seconds[] = {
	{.is_known = true, .measured = {.value = 4000000}},
	{.is_known = true,
	 .measured = {.value = 3000000},
	 .has_difference = true,
	 .difference = {.is_negative = true, .value = 1000000, .has_ratio = true, .ratio = -0.25}},
};
static const struct wtl_compared_value joules[] = {
	{.is_known = true, .measured = {.value = 420000000, .uncertainty = 6333333}},
	{.is_known = true,
	 .measured = {.value = 400000001, .uncertainty = 6000000},
	 .has_difference = true,
	 .is_common = true,
	 .difference = {.is_negative = true,
			.value = 19999999,
			.uncertainty = 300000,
			.is_significant = true,
			.has_ratio = true,
			.ratio = -0.047619}},
};
static const struct wtl_compared_value unknown[] = {
	{.is_known = false},
	{.is_known = true, .measured = {.value = 5, .uncertainty = 7}},
};
static const struct wtl_compared_value from_nothing[] = {
	{.is_known = true, .measured = {.value = 0, .uncertainty = 1}},
	{.is_known = true,
	 .measured = {.value = 3, .uncertainty = 9},
	 .has_difference = true,
	 .difference = {.value = 3, .uncertainty = 10}},
};
static const struct wtl_compared_value means[] = {
	{.is_known = true, .measured = {.value = 4000000, .uncertainty = 30000}},
	{.is_known = true,
	 .measured = {.value = 4040000, .uncertainty = 40000},
	 .has_difference = true,
	 .difference = {.value = 40000, .uncertainty = 50000, .has_ratio = true, .ratio = 0.01}},
};
static const struct wtl_compared_value of_others[] = {
	{.is_known = true, .measured = {.value = 3, .uncertainty = 1}, .is_incomplete = true},
	{.is_known = true,
	 .measured = {.value = 9, .uncertainty = 1},
	 .has_difference = true,
	 .has_other_domains = true,
	 .difference = {.value = 6, .uncertainty = 2, .has_ratio = true, .ratio = 2}},
};
static const struct wtl_compared compared[] = {
	{"time", false, WTL_COMPARED_S, seconds},   {"energy", false, WTL_COMPARED_J, joules},
	{"gpu\x1b", true, WTL_COMPARED_W, unknown}, {"CO2e", false, WTL_COMPARED_G, from_nothing},
	{"mean", false, WTL_COMPARED_S, means},	    {"energy", false, WTL_COMPARED_J, of_others},
};

static void check_values(const json_t *root)
{
	assert_keys(root, "comparison.0", "what is_domain values");
	assert_keys(root, "comparison.0.values.0", "value_s");
	assert_keys(root, "comparison.0.values.1", "value_s difference_s ratio");
	assert_number(root, "comparison.0.values.1.difference_s", -1);
	assert_number(root, "comparison.0.values.1.ratio", -0.25);
	assert_keys(root, "comparison.1.values.0", "value_j uncertainty_j");
	assert_keys(root, "comparison.1.values.1",
		    "value_j uncertainty_j difference_j difference_uncertainty_j ratio "
		    "is_significant is_same_sensor");
	assert_number(root, "comparison.1.values.1.value_j", 400.000001);
	assert_number(root, "comparison.1.values.1.difference_j", -19.999999);
	assert_number(root, "comparison.1.values.1.difference_uncertainty_j", 0.3);
	assert_bool(root, "comparison.1.values.1.is_significant", true);
	assert_bool(root, "comparison.1.values.1.is_same_sensor", true);
	assert_text(root, "comparison.2.what", "gpu\x1b");
	assert_bool(root, "comparison.2.is_domain", true);
	assert_keys(root, "comparison.2.values.0", "reason");
	assert_keys(root, "comparison.2.values.1", "value_w uncertainty_w");
	/* Nothing times anything is no ratio. */
	assert_keys(root, "comparison.3.values.1",
		    "value_gco2e uncertainty_gco2e difference_gco2e difference_uncertainty_gco2e "
		    "is_significant is_same_sensor");
	assert_bool(root, "comparison.3.values.1.is_significant", false);
	assert_bool(root, "comparison.3.values.1.is_same_sensor", false);
	/* A mean of several times has an error. */
	assert_keys(root, "comparison.4.values.0", "value_s uncertainty_s");
	assert_keys(root, "comparison.4.values.1",
		    "value_s uncertainty_s difference_s difference_uncertainty_s ratio "
		    "is_significant");
	assert_number(root, "comparison.4.values.1.difference_uncertainty_s", 0.05);
	assert_bool(root, "comparison.4.values.1.is_significant", false);
	assert_keys(root, "comparison.5.values.0", "value_j uncertainty_j is_incomplete");
	assert_keys(root, "comparison.5.values.1",
		    "value_j uncertainty_j difference_j difference_uncertainty_j ratio "
		    "is_significant is_same_sensor has_other_domains");
}

static void test_comparison(void **state)
{
	struct recording_bench a, b;
	struct wtl_recording both[2];
	const struct wtl_comparison comparison = {
		.recordings = both, .n_recordings = 2, .rows = compared, .n_rows = COUNT(compared)};
	json_t *root, *alone;

	(void)state;
	recording_bench_init(&a);
	recording_bench_init_empty(&b);
	both[0] = a.recording;
	both[1] = b.recording;
	root = parse(comparison_bench_text("json", &comparison, plain));
	assert_keys(root, "", "schema version comparison recordings");
	assert_text(root, "schema", "wattle.comparison/1");
	assert_size(root, "comparison", COUNT(compared));
	check_values(root);
	/* Each is told in full, as on its own. */
	alone = json_of(&a.recording);
	assert_true(json_equal(get(root, "recordings.0"), alone));
	json_decref(alone);
	alone = json_of(&b.recording);
	assert_true(json_equal(get(root, "recordings.1"), alone));
	json_decref(alone);
	json_decref(root);
}

static void test_runs(void **state)
{
	struct recording_bench bench;
	struct wtl_run list[3];
	const struct wtl_recording *const files[] = {&bench.recording};
	struct wtl_runs runs = {
		.runs = list,
		.n_runs = 3,
		.recordings = files,
		.n_recordings = 1,
		.of[WTL_RUN_DURATION_S] =
			{.n = 3, .mean = 10, .sd = 0.5, .ci95 = 1.25, .min = 9, .max = 11},
		.of[WTL_RUN_ENERGY_J] =
			{.n = 2, .mean = 420, .sd = 1, .ci95 = 9, .min = 419, .max = 421},
	};
	json_t *root;

	(void)state;
	recording_bench_init(&bench);
	bench.recording.report.has_exit = true;
	recording_bench_runs(list, 3, "a.wattle", &bench.recording.report);
	list[1].report.attribution.command.has_dynamic = false;
	list[2].report.window.total.has_energy = 0;
	list[2].report.attribution.is_known = false;
	list[1].report.window.duration_ns = 0;
	list[1].report.interrupted = true;
	list[1].report.exit_status = 130;
	list[2].report.has_exit = false;
	list[2].is_unfinished = true;
	root = parse(runs_bench_text("json", &runs, plain));
	assert_keys(root, "", "schema version runs sum files statistics");
	assert_text(root, "schema", "wattle.runs/1");
	assert_size(root, "files", 1);
	assert_keys(root, "files.0", "recording policy gaps");
	assert_text(root, "files.0.recording.file", "night.wattle");
	assert_bool(root, "runs.0.interrupted", false);
	assert_bool(root, "runs.1.interrupted", true);
	assert_number(root, "runs.1.exit_status", 130);
	assert_bool(root, "runs.2.is_unfinished", true);
	assert_absent(root, "runs.2.exit_status");
	assert_keys(
		root, "runs.0",
		"file run command exit_status interrupted start_utc duration_s total domains ledger command_energy carbon "
		"gco2e_per_s");
	assert_keys(root, "runs.0.command_energy", "dynamic_j full_j uncertainty_j");
	assert_keys(root, "runs.1.command_energy", "full_j uncertainty_j");
	assert_number(root, "runs.0.gco2e_per_s", 0.0006538);
	assert_number(root, "runs.2.run", 3);
	assert_absent(root, "runs.2.command_energy");
	assert_absent(root, "runs.2.gco2e_per_s");
	assert_absent(root, "runs.1.gco2e_per_s");
	assert_number(root, "statistics.runs", 3);
	assert_number(root, "statistics.duration_s.mean", 10);
	assert_number(root, "statistics.duration_s.ci95", 1.25);
	assert_number(root, "statistics.energy_j.max", 421);
	/* In no run: no figures of them all. */
	assert_keys(root, "statistics.command_full_j", "n reason");
	assert_text(root, "statistics.command_full_j.reason", "no run has a figure");
	json_decref(root);
}

static void test_no_runs(void **state)
{
	const struct wtl_runs runs = {.n_runs = 0};
	json_t *root;

	(void)state;
	root = parse(runs_bench_text("json", &runs, plain));
	assert_size(root, "runs", 0);
	assert_keys(root, "statistics",
		    "runs duration_s energy_j mean_w gco2e command_dynamic_j command_full_j");
	assert_keys(root, "statistics.duration_s", "n reason");
	assert_keys(root, "statistics.gco2e", "n reason");
	json_decref(root);
}

/* Large figures keep every digit, which a double would not. */
static void test_large_figures(void **state)
{
	static const struct wtl_compared_value values[] = {
		{.is_known = true, .measured = {.value = UINT64_MAX, .uncertainty = 1}},
		{.is_known = true,
		 .measured = {.value = 1, .uncertainty = 1},
		 .has_difference = true,
		 .difference = {.is_negative = true, .value = UINT64_MAX - 1, .uncertainty = 2}},
	};
	static const struct wtl_compared row = {"energy", false, WTL_COMPARED_J, values};
	struct recording_bench a, b;
	struct wtl_recording both[2];
	const struct wtl_comparison comparison = {
		.recordings = both, .n_recordings = 2, .rows = &row, .n_rows = 1};
	char *text;

	(void)state;
	recording_bench_init(&a);
	recording_bench_init(&b);
	both[0] = a.recording;
	both[1] = b.recording;
	text = comparison_bench_text("json", &comparison, plain);
	assert_non_null(strstr(text, "\"value_j\": 18446744073709.551615,"));
	assert_non_null(strstr(text, "\"difference_j\": -18446744073709.551614,"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_key),
		cmocka_unit_test(test_digits),
		cmocka_unit_test(test_one_line),
		cmocka_unit_test(test_the_file),
		cmocka_unit_test(test_a_part_of_a_live_one),
		cmocka_unit_test(test_how_it_ended),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_self_and_notes),
		cmocka_unit_test(test_the_ledgers_close),
		cmocka_unit_test(test_who_used_it_adds_up),
		cmocka_unit_test(test_groups_by_every_key),
		cmocka_unit_test(test_groups_without_others_or_a_baseline),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_a_window_without_energy),
		cmocka_unit_test(test_gaps_of_every_kind),
		cmocka_unit_test(test_a_large_step_is_exact),
		cmocka_unit_test(test_an_intensity_that_varies),
		cmocka_unit_test(test_comparison),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_no_runs),
		cmocka_unit_test(test_large_figures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
