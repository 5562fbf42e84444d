/* SPDX-License-Identifier: MIT */
/*
 * wattle-recording.h as a user has it: the shared library and nothing else. Recordings are made by
 * another program (make_recording.c), which says what was measured.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <wattle-recording.h>

#define S  INT64_C(1000000000)
#define MS INT64_C(1000000)

enum { DOMAINS_MAX = 32, WORDS_MAX = 32 };

static struct {
	char path[256], cut[256], lost[256], dir[128];
	struct word {
		char name[64];
		uint64_t number;
	} words[WORDS_MAX];
	size_t n;
} made;

static void make(const char *path, const char *how)
{
	const char *root = getenv("WATTLE_BUILD_ROOT");
	char command[1024];
	FILE *said;

	assert_non_null(root);
	snprintf(command, sizeof(command), "'%s/tests/make_recording' '%s' %s", root, path, how);
	said = popen(command, "re");
	assert_non_null(said);
	made.n = 0;
	while (made.n < WORDS_MAX &&
	       fscanf(said, "%63s %lu", made.words[made.n].name, &made.words[made.n].number) == 2)
		made.n++;
	assert_int_equal(pclose(said), 0);
	assert_true(made.n > 10);
}

static int make_all(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(made.dir, sizeof(made.dir), "%s/wattle-api-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(made.dir));
	snprintf(made.cut, sizeof(made.cut), "%s/cut.wattle", made.dir);
	snprintf(made.path, sizeof(made.path), "%s/whole.wattle", made.dir);
	snprintf(made.lost, sizeof(made.lost), "%s/lost.wattle", made.dir);
	make(made.cut, "cut");
	make(made.lost, "lost");
	make(made.path, "");
	return 0;
}

static int remove_all(void **state)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	char path[300];

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", made.cut, ends[i]);
		unlink(path);
		snprintf(path, sizeof(path), "%s%s", made.path, ends[i]);
		unlink(path);
	}
	unlink(made.lost);
	return rmdir(made.dir);
}

static uint64_t said(const char *name)
{
	for (size_t i = 0; i < made.n; i++)
		if (strcmp(made.words[i].name, name) == 0)
			return made.words[i].number;
	fail_msg("nothing was said of %s", name);
	return 0;
}

static struct wattle_recording *open_it(const char *path)
{
	struct wattle_recording *recording = NULL;
	struct wattle_error error = {.size = sizeof(error)};

	if (wattle_recording_open(path, &recording, &error) < 0)
		fail_msg("%s", error.text);
	assert_non_null(recording);
	return recording;
}

static void read_all(struct wattle_recording *recording, int64_t interval_ns)
{
	struct wattle_error error = {.size = sizeof(error), .code = 7};
	int rc;

	while ((rc = wattle_recording_next(recording, interval_ns, NULL, NULL, 0, &error)) > 0)
		continue;
	assert_int_equal(rc, 0);
	assert_int_equal(error.code, 7); /* the end is no error */
}

/* ---- What it is ---- */

static void test_domains(void **state)
{
	struct wattle_recording *recording = open_it(made.path);
	struct wattle_domain domain = {.size = sizeof(domain)};
	size_t n = wattle_recording_domains(recording);

	(void)state;
	assert_int_equal(n, 4);
	assert_int_equal(wattle_recording_domain(recording, 0, &domain), 0);
	assert_string_equal(domain.name, "package-0");
	assert_int_equal(domain.kind, WATTLE_KIND_CPU);
	assert_int_equal(domain.status, WATTLE_STATUS_OK);
	assert_int_equal(domain.in_total, 1);
	assert_non_null(domain.source);
	assert_true(wattle_recording_domain(recording, n, &domain) < 0);
	wattle_recording_close(recording);
}

static void test_facts(void **state)
{
	struct wattle_recording *recording = open_it(made.path);

	(void)state;
	assert_string_equal(wattle_recording_fact(recording, "command"), "a command");
	assert_string_equal(wattle_recording_fact(recording, "wattle"), wattle_version());
	assert_null(wattle_recording_fact(recording, "no such fact"));
	assert_null(wattle_recording_fact(recording, ""));
	assert_int_equal(wattle_recording_is_whole(recording), 1);
	wattle_recording_close(recording);
}

/* ---- Steps ---- */

/* Of counters, nothing is counted twice or left out between one step and the next. */
static void check_steps(int64_t interval_ns, unsigned steps_min, unsigned steps_max)
{
	struct wattle_recording *recording = open_it(made.path);
	struct wattle_energy energies[DOMAINS_MAX] = {{.size = sizeof(energies[0])}};
	struct wattle_recording_step step = {.size = sizeof(step)};
	struct wattle_error error = {.size = sizeof(error)};
	uint64_t sum_uj = 0, total_uj = 0;
	int64_t end_ns = 0, sum_ns = 0;
	unsigned n = 0;
	int rc;

	while ((rc = wattle_recording_next(recording, interval_ns, &step, energies, DOMAINS_MAX,
					   &error)) > 0) {
		/* A sample may follow the one before at once. */
		assert_true(energies[0].has_energy || step.duration_ns < MS);
		assert_int_equal(step.is_lost, 0);
		assert_true(step.duration_ns > 0);
		assert_true(end_ns == 0 || step.begin_mono_ns >= end_ns - MS);
		assert_true(step.begin_utc_ns > step.begin_mono_ns);
		sum_uj += energies[0].has_energy ? energies[0].energy_uj : 0;
		total_uj += step.total.energy_uj;
		sum_ns += step.duration_ns;
		end_ns = step.begin_mono_ns + step.duration_ns;
		n++;
	}
	assert_int_equal(rc, 0);
	assert_in_range(n, steps_min, steps_max);
	/* It begins and ends with samples that are around the window. */
	assert_in_range(sum_uj, said("run.package-0") - 1, said("run.package-0") + 14000000);
	assert_in_range(total_uj, said("run.total") - 2, said("run.total") + 60000000);
	assert_in_range(sum_ns, said("run.duration") - MS, said("run.duration") + S);
	/* At the end it stays. */
	assert_int_equal(
		wattle_recording_next(recording, interval_ns, &step, energies, DOMAINS_MAX, NULL),
		0);
	wattle_recording_close(recording);
}

static void test_steps(void **state)
{
	(void)state;
	check_steps(S, 7, 8);
	check_steps(100 * MS, 65, 80);
	check_steps(0, 70, 80);
	check_steps(-5, 70, 80);
	check_steps(3600 * S, 1, 1);
	check_steps(INT64_MAX, 1, 1);
}

/* Only so many figures as there is room for. */
static void test_room(void **state)
{
	struct wattle_recording *recording = open_it(made.path);
	struct wattle_energy energies[DOMAINS_MAX] = {{.size = sizeof(energies[0])}};
	struct wattle_recording_step step = {.size = sizeof(step)};

	(void)state;
	memset(energies, 0x5a, sizeof(energies));
	energies[0].size = sizeof(energies[0]);
	assert_int_equal(wattle_recording_next(recording, S, &step, energies, 1, NULL), 1);
	assert_int_equal(step.total.size, sizeof(step.total));
	step.size = offsetof(struct wattle_recording_step, total) + 16;
	assert_int_equal(wattle_recording_next(recording, S, &step, NULL, 0, NULL), 1);
	assert_int_equal(step.total.size, 16);
	assert_int_equal(energies[0].has_energy, 1);
	assert_int_equal(energies[1].energy_uj, UINT64_C(0x5a5a5a5a5a5a5a5a));
	assert_int_equal(wattle_recording_next(recording, S, NULL, NULL, 0, NULL), 1);
	step.size = 0;
	assert_int_equal(wattle_recording_next(recording, S, &step, NULL, 0, NULL), -EINVAL);
	energies[0].size = 0;
	assert_int_equal(wattle_recording_next(recording, S, NULL, energies, 1, NULL), -EINVAL);
	wattle_recording_close(recording);
}

/* ---- So far ---- */

static void check_window(struct wattle_recording *recording, size_t i, const char *name, int pid)
{
	struct wattle_recording_window window = {.size = sizeof(window)};
	struct wattle_energy energies[DOMAINS_MAX] = {{.size = sizeof(energies[0])}};
	char word[64];

	assert_int_equal(wattle_recording_window(recording, i, &window, energies, DOMAINS_MAX), 0);
	assert_string_equal(window.name, name);
	assert_int_equal(window.pid, pid);
	assert_int_equal(window.window.size, sizeof(window.window));
	assert_int_equal(window.window.total.size, sizeof(window.window.total));
	snprintf(word, sizeof(word), "%s.duration", name);
	assert_int_equal(window.window.duration_ns, said(word));
	snprintf(word, sizeof(word), "%s.total", name);
	assert_int_equal(window.window.total.energy_uj, said(word));
	snprintf(word, sizeof(word), "%s.package-0", name);
	assert_int_equal(energies[0].energy_uj, said(word));
}

static void test_windows(void **state)
{
	struct wattle_recording *recording = open_it(made.path);
	struct wattle_recording_window window = {.size = sizeof(window)};
	struct wattle_recording_window unsized = {.size = 0};
	struct wattle_energy no_energy = {.size = 0};

	(void)state;
	assert_int_equal(wattle_recording_window(recording, 0, &window, NULL, 0), -ERANGE);
	read_all(recording, S);
	check_window(recording, 0, "early", 77);
	check_window(recording, 1, "inner", 77);
	check_window(recording, 2, "run", 0);
	assert_int_equal(wattle_recording_window(recording, 1, &window, NULL, 0), 0);
	/* Without a size nobody knows how much may be written; for one domain as for many. */
	assert_int_equal(wattle_recording_window(recording, 1, &unsized, NULL, 0), -EINVAL);
	assert_int_equal(wattle_recording_window(recording, 1, &window, &no_energy, 1), -EINVAL);
	assert_int_equal(wattle_recording_window(recording, 1, NULL, NULL, 0), 0);
	assert_int_equal(wattle_recording_window(recording, 3, &window, NULL, 0), -ERANGE);
	wattle_recording_close(recording);
}

static struct wattle_consumers *list_of(struct wattle_recording *recording)
{
	struct wattle_error error = {.size = sizeof(error)};
	struct wattle_consumers *list = NULL;

	if (wattle_recording_consumers(recording, &list, &error) < 0)
		fail_msg("%s", error.text);
	return list;
}

static void test_consumers(void **state)
{
	struct wattle_recording *recording = open_it(made.path);
	uint64_t full_uj = 0, n = 0;
	unsigned workers = 0, in_command = 0;
	struct wattle_consumers *list;

	(void)state;
	read_all(recording, S);
	list = list_of(recording);
	wattle_recording_close(recording);
	for (size_t i = 0; i < wattle_consumers_count(list); i++) {
		struct wattle_consumer consumer = {.size = sizeof(consumer)};
		struct wattle_share share = {.size = sizeof(share)};

		assert_int_equal(wattle_consumers_get(list, i, &consumer), 0);
		if (consumer.state >= WATTLE_CONSUMER_INTERRUPTS)
			continue;
		assert_int_equal(wattle_consumers_share(list, i, -1, &share), 0);
		full_uj += share.full_uj;
		assert_true(share.dynamic_uj <= share.full_uj);
		in_command += (unsigned)consumer.is_in_command;
		n++;
		if (!consumer.name || strcmp(consumer.name, "worker") != 0 || consumer.pid == 0)
			continue;
		workers++;
		assert_string_equal(consumer.cgroup, "/system.slice/worker.service");
		assert_true(consumer.cpu_ns > 0);
		assert_int_equal(consumer.gpu_ns, -1);
		assert_in_range(consumer.start_utc_ns / S, 1700001000, 1700001010);
	}
	assert_int_equal(n, said("consumers"));
	assert_int_equal(full_uj, said("consumers.full"));
	assert_true(workers > 0 && in_command > 0);
	wattle_consumers_free(list);
}

static void test_ledgers(void **state)
{
	struct wattle_recording *recording = open_it(made.path);
	struct wattle_ledger l = {.size = sizeof(l)};
	size_t n = wattle_recording_domains(recording), n_unknown = 0;
	struct wattle_consumers *list;

	(void)state;
	while (wattle_recording_next(recording, S, NULL, NULL, 0, NULL) > 0) {
		list = list_of(recording);
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(wattle_consumers_ledger(list, (int)i, &l), 0);
			n_unknown += !l.has_idle && l.total_uj > 0;
			assert_int_equal(l.live_uj + l.exited_uj + l.kernel_uj + l.idle_uj +
						 l.unattributed_uj,
					 l.total_uj);
			assert_true(l.has_idle || l.idle_uj == 0);
		}
		wattle_consumers_free(list);
	}
	assert_true(n_unknown > 0);
	list = list_of(recording);
	assert_int_equal(wattle_consumers_ledger(list, 0, &l), 0);
	assert_int_equal(l.total_uj, said("ledger.total"));
	assert_int_equal(l.live_uj, said("ledger.live"));
	assert_int_equal(l.exited_uj, said("ledger.exited"));
	assert_int_equal(l.kernel_uj, said("ledger.kernel"));
	assert_int_equal(l.idle_uj, said("ledger.idle"));
	assert_int_equal(l.unattributed_uj, said("ledger.unattributed"));
	assert_int_equal(wattle_consumers_ledger(list, (int)n, &l), -ERANGE);
	wattle_consumers_free(list);
	wattle_recording_close(recording);
}

/* ---- What is not as it should be ---- */

/* What there is of one that nobody ended can be read. */
static void test_cut(void **state)
{
	struct wattle_recording *recording = open_it(made.cut), *whole = open_it(made.path);
	struct wattle_recording_window window = {.size = sizeof(window)};

	(void)state;
	assert_int_equal(wattle_recording_is_whole(recording), 0);
	assert_int_equal(wattle_recording_domains(recording), wattle_recording_domains(whole));
	for (size_t i = 0; i < wattle_recording_domains(whole); i++) {
		struct wattle_domain domain = {.size = sizeof(domain)}, other = domain;

		assert_int_equal(wattle_recording_domain(recording, i, &domain), 0);
		assert_int_equal(wattle_recording_domain(whole, i, &other), 0);
		assert_string_equal(domain.name, other.name);
		assert_string_equal(domain.source, other.source);
		assert_int_equal(domain.status, other.status);
		assert_int_equal(domain.in_total, other.in_total);
	}
	wattle_recording_close(whole);
	read_all(recording, S);
	check_window(recording, 0, "early", 77);
	check_window(recording, 1, "inner", 77);
	assert_int_equal(wattle_recording_window(recording, 2, &window, NULL, 0), -ERANGE);
	wattle_recording_close(recording);
}

/* The step that reaches over what cannot be read says so. */
static void test_lost(void **state)
{
	struct wattle_recording *recording = open_it(made.lost);
	struct wattle_recording_step step = {.size = sizeof(step)};
	unsigned n_lost = 0;

	(void)state;
	while (wattle_recording_next(recording, 100 * MS, &step, NULL, 0, NULL) > 0) {
		assert_int_equal(step.is_lost, step.text[0] != '\0');
		if (!step.is_lost)
			continue;
		n_lost++;
		assert_in_range(step.duration_ns, S, 5 * S);
	}
	assert_int_equal(n_lost, 1);
	wattle_recording_close(recording);
}

static void test_errors(void **state)
{
	struct wattle_recording *recording = NULL;
	struct wattle_error error = {.size = sizeof(error)};
	char path[256];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/none.wattle", made.dir);
	assert_int_equal(wattle_recording_open(path, &recording, &error), -ENOENT);
	assert_null(recording);
	assert_int_equal(error.code, -ENOENT);
	assert_string_equal(error.path, path);
	assert_true(error.text[0] != '\0');
	assert_int_equal(wattle_recording_open(path, &recording, NULL), -ENOENT);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs("this is no recording, however long it is\n", file);
	fclose(file);
	assert_true(wattle_recording_open(path, &recording, &error) < 0);
	assert_null(recording);
	assert_string_equal(error.path, path);
	unlink(path);
}

static void test_null(void **state)
{
	struct wattle_recording *recording = NULL;

	(void)state;
	wattle_recording_close(NULL);
	assert_int_equal(wattle_recording_open(NULL, &recording, NULL), -EINVAL);
	assert_int_equal(wattle_recording_open(made.path, NULL, NULL), -EINVAL);
}

/* By its summary, or gone through to its end: windows and users are those of who went through it. */
static void check_end(const char *path)
{
	struct wattle_recording *whole = open_it(path), *end = NULL;
	struct wattle_energy a[DOMAINS_MAX] = {{.size = sizeof(a[0])}};
	struct wattle_energy b[DOMAINS_MAX] = {{.size = sizeof(b[0])}};
	struct wattle_recording_window first = {.size = sizeof(first)}, second = first;
	struct wattle_consumers *lists[2];
	struct wattle_share shares[2] = {{.size = sizeof(shares[0])}, {.size = sizeof(shares[1])}};
	size_t n = 0;

	read_all(whole, S);
	assert_int_equal(wattle_recording_open_end(path, &end, NULL), 0);
	assert_int_equal(wattle_recording_next(end, S, NULL, NULL, 0, NULL), 0);
	for (; wattle_recording_window(whole, n, &first, a, DOMAINS_MAX) == 0; n++) {
		assert_int_equal(wattle_recording_window(end, n, &second, b, DOMAINS_MAX), 0);
		assert_memory_equal(&first, &second, sizeof(first));
		assert_memory_equal(a, b, sizeof(a));
	}
	assert_int_equal(wattle_recording_window(end, n, &second, NULL, 0), -ERANGE);
	lists[0] = list_of(whole);
	lists[1] = list_of(end);
	assert_int_equal(wattle_consumers_count(lists[0]), wattle_consumers_count(lists[1]));
	for (size_t i = 0; i < wattle_consumers_count(lists[0]); i++) {
		for (size_t k = 0; k < 2; k++)
			assert_int_equal(wattle_consumers_share(lists[k], i, -1, &shares[k]), 0);
		assert_memory_equal(&shares[0], &shares[1], sizeof(shares[0]));
	}
	wattle_consumers_free(lists[0]);
	wattle_consumers_free(lists[1]);
	wattle_recording_close(whole);
	wattle_recording_close(end);
}

static void test_end(void **state)
{
	struct wattle_recording *recording;

	(void)state;
	check_end(made.path);
	check_end(made.cut);
	assert_int_equal(wattle_recording_open_end("/nowhere", &recording, NULL), -ENOENT);
	assert_int_equal(wattle_recording_open_end(NULL, &recording, NULL), -EINVAL);
}

/* Two at once are two. */
static void test_two(void **state)
{
	struct wattle_recording *one = open_it(made.path), *other = open_it(made.path);
	struct wattle_recording_step first = {.size = sizeof(first)},
				     second = {.size = sizeof(second)};

	(void)state;
	assert_int_equal(wattle_recording_next(one, S, &first, NULL, 0, NULL), 1);
	assert_int_equal(wattle_recording_next(one, S, NULL, NULL, 0, NULL), 1);
	assert_int_equal(wattle_recording_next(other, S, &second, NULL, 0, NULL), 1);
	assert_memory_equal(&first, &second, sizeof(first));
	wattle_recording_close(one);
	wattle_recording_close(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_domains), cmocka_unit_test(test_facts),
		cmocka_unit_test(test_steps),	cmocka_unit_test(test_room),
		cmocka_unit_test(test_windows), cmocka_unit_test(test_consumers),
		cmocka_unit_test(test_ledgers), cmocka_unit_test(test_cut),
		cmocka_unit_test(test_lost),	cmocka_unit_test(test_errors),
		cmocka_unit_test(test_null),	cmocka_unit_test(test_two),
		cmocka_unit_test(test_end),
	};

	return cmocka_run_group_tests(tests, make_all, remove_all);
}
