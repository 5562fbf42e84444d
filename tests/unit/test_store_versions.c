/* SPDX-License-Identifier: MIT */
/*
 * Recordings as former versions wrote them can be read: tests/fixtures/recordings/vN.wattle was ended
 * properly, vN-cut.wattle was not. They are made, once a version, by running this test with
 * WATTLE_RECORDINGS_MAKE set to where they are to be.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "energy/sensor_class.h"
#include "energy/units.h"
#include "record/writer.h"
#include "store_bench.h"

enum { SECONDS = 25, VALUES = 20 };

/* ---- Making ---- */

static void put_rows(struct wtl_store_writer *writer)
{
	static const struct wtl_group group = {.cgroup = "/system.slice/ssh.service",
					       .unit = "ssh.service"};
	const struct wattle_energy energy = {.method = WATTLE_METHOD_COUNTER,
					     .has_energy = 1,
					     .energy_uj = 12345678,
					     .uncertainty_uj = 99};
	const struct wtl_channel channel = {.domain = "gpu-0",
					    .kind = WATTLE_KIND_GPU,
					    .quantity = WTL_QUANTITY_POWER,
					    .unit = {1000, 1},
					    .class = wtl_sensor_class_row(0),
					    .source = "nvml"};
	const struct wtl_stored_domain domain = {.name = "gpu-0", .primary = 0, .check = -1};
	const struct wtl_miss miss = {.source = "rapl-perf", .reason = "no such thing"};
	const struct wtl_stored_consumer consumer = {
		.id = 1,
		.slot = 3,
		.last_look = -1,
		.user = "jane",
		.consumer = {.pid = 4711,
			     .name = "python3",
			     .group = &group,
			     .pss_bytes = UINT64_MAX},
	};
	const struct wtl_stored_window window = {
		.id = 1, .total = energy, .energies = &energy, .n_energies = 1, .duration_ns = 77};
	const struct wtl_stored_gap gap = {
		.kind = WTL_GAP_SUSPEND, .duration_ns = 5, .text = "slept"};
	const struct wtl_stored_account account = {.consumer = 1, .full_uj = 12345678};
	const struct wtl_stored_baseline baseline = {.baseline = {.is_known = true, .idle_uw = 42}};

	wtl_store_fact(writer, "host", "here");
	wtl_store_domain(writer, 0, &domain);
	wtl_store_channel(writer, 0, &channel);
	wtl_store_miss(writer, 0, &miss);
	wtl_store_consumer(writer, &consumer);
	wtl_store_window(writer, &window);
	wtl_store_gap(writer, &gap);
	wtl_store_account(writer, &account);
	wtl_store_baseline(writer, &baseline);
}

static void make(const char *folder, const char *name, bool is_cut)
{
	struct store_bench bench;
	sqlite3 *db;

	store_bench_init(&bench);
	free(bench.path);
	bench.path = unit_path(folder, name);
	store_bench_create(&bench);
	put_rows(bench.writer);
	store_bench_seconds(&bench, SECONDS, VALUES);
	if (is_cut)
		bench.writer->error = -EINTR;
	wtl_store_end(bench.writer, NULL);
	bench.writer = NULL;
	/* So that it is one file: what the WAL has goes into it. */
	assert_int_equal(sqlite3_open(bench.path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA wal_checkpoint", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	store_bench_done(&bench);
}

/* ---- Reading ---- */

static int see_domain(void *context, uint32_t i, const struct wtl_stored_domain *row)
{
	assert_int_equal(i, 0);
	assert_string_equal(row->name, "gpu-0");
	assert_int_equal(row->check, -1);
	return ++*(int *)context == 0;
}

static int see_channel(void *context, uint32_t i, const struct wtl_channel *row)
{
	assert_int_equal(i, 0);
	assert_string_equal(row->source, "nvml");
	assert_int_equal(row->unit.num, 1000);
	assert_string_equal(row->class->name, wtl_sensor_class_row(0)->name);
	return ++*(int *)context == 0;
}

static int see_miss(void *context, uint32_t i, const struct wtl_miss *row)
{
	assert_int_equal(i, 0);
	assert_string_equal(row->reason, "no such thing");
	return ++*(int *)context == 0;
}

static int see_consumer(void *context, const struct wtl_stored_consumer *row)
{
	assert_int_equal(row->consumer.pid, 4711);
	assert_string_equal(row->consumer.group->unit, "ssh.service");
	assert_string_equal(row->user, "jane");
	assert_true(row->consumer.pss_bytes == UINT64_MAX);
	return ++*(int *)context == 0;
}

static int see_window(void *context, const struct wtl_stored_window *row)
{
	assert_int_equal(row->duration_ns, 77);
	assert_int_equal(row->total.energy_uj, 12345678);
	assert_int_equal(row->n_energies, 1);
	assert_int_equal(row->energies[0].uncertainty_uj, 99);
	return ++*(int *)context == 0;
}

static int see_gap(void *context, const struct wtl_stored_gap *row)
{
	assert_string_equal(row->text, "slept");
	return ++*(int *)context == 0;
}

static int see_account(void *context, const struct wtl_stored_account *row)
{
	assert_int_equal(row->full_uj, 12345678);
	return ++*(int *)context == 0;
}

static int see_baseline(void *context, const struct wtl_stored_baseline *row)
{
	assert_true(row->baseline.is_known);
	assert_int_equal(row->baseline.idle_uw, 42);
	return ++*(int *)context == 0;
}

static void expect_all(const char *folder, const char *name, bool is_cut)
{
	char *path = unit_path(folder, name);
	struct wtl_store_reader *reader = NULL;
	struct wtl_err err = {.text = ""};
	int n = 0;

	if (wtl_store_open(path, &reader, &err) < 0)
		fail_msg("%s: %s", path, err.text);
	free(path);
	assert_int_equal(wtl_store_is_whole(reader), !is_cut);
	assert_false(wtl_store_is_live(reader));
	assert_int_equal(store_bench_verify(reader, NULL), SECONDS * VALUES);
	assert_string_equal(wtl_store_get_fact(reader, "host"), "here");
	wtl_store_each_domain(reader, see_domain, &n);
	wtl_store_each_channel(reader, see_channel, &n);
	wtl_store_each_miss(reader, see_miss, &n);
	wtl_store_each_consumer(reader, see_consumer, &n);
	wtl_store_each_window(reader, see_window, &n);
	wtl_store_each_gap(reader, see_gap, &n);
	wtl_store_each_account(reader, see_account, &n);
	wtl_store_each_baseline(reader, see_baseline, &n);
	assert_int_equal(n, 8);
	assert_false(wtl_store_is_damaged(reader));
	wtl_store_close(reader);
}

static char *fixtures(void)
{
	const char *root = getenv("WATTLE_SOURCE_ROOT");

	return unit_path(root ? root : ".", "tests/fixtures/recordings");
}

/* Read where nothing can be written, as from a checkout that is closed to us. */
static void test_v1(void **state)
{
	char *folder = fixtures();
	unsigned before = unit_entries(folder, "");

	(void)state;
	expect_all(folder, "v1.wattle", false);
	assert_int_equal(unit_entries(folder, ""), before);
	free(folder);
}

/* One that was cut off is read from a copy: SQLite may lay its helpers beside it. */
static void test_v1_cut(void **state)
{
	char *folder = fixtures(), *path = unit_path(folder, "v1-cut.wattle"), *dir = unit_tmpdir();
	FILE *file = fopen(path, "re");
	static char bytes[1 << 20];
	size_t len;

	(void)state;
	assert_non_null(file);
	len = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	unit_write_bytes(dir, "v1-cut.wattle", bytes, len);
	expect_all(dir, "v1-cut.wattle", true);
	unit_rmtree(dir);
	free(path);
	free(folder);
}

/* What is written now. */
static void test_now(void **state)
{
	char *dir = unit_tmpdir();

	(void)state;
	make(dir, "whole", false);
	expect_all(dir, "whole", false);
	make(dir, "cut", true);
	expect_all(dir, "cut", true);
	unit_rmtree(dir);
}

int main(void)
{
	const char *to = getenv("WATTLE_RECORDINGS_MAKE");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_v1),
		cmocka_unit_test(test_v1_cut),
		cmocka_unit_test(test_now),
	};

	if (to) {
		make(to, "v1.wattle", false);
		make(to, "v1-cut.wattle", true);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
