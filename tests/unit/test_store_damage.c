/* SPDX-License-Identifier: MIT */
/* Files that are no recordings, and recordings that something happened to. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/err.h"
#include "energy/units.h"
#include "record/database.h"
#include "record/writer.h"
#include "store_bench.h"

/* ---- No recordings ---- */

static void expect_refused(const struct store_bench *bench, int code, const char *words)
{
	struct wtl_store_reader *reader = NULL;
	struct wtl_err err = {.text = ""};

	assert_int_equal(wtl_store_open(bench->path, &reader, &err), code);
	assert_null(reader);
	assert_int_equal(err.code, code);
	assert_string_equal(err.path, bench->path);
	if (!strstr(err.text, words))
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
	assert_int_equal(wtl_store_check(bench->path, NULL, NULL, &err), code);
}

static void test_other_files(void **state)
{
	struct store_bench *bench = *state;
	char noise[8192];

	expect_refused(bench, -ENOENT, "No such file");
	unit_write(bench->dir, "r.wattle", "");
	expect_refused(bench, -WTL_EFORMAT, "it is empty");
	unit_write(bench->dir, "r.wattle", "SQLite format 3");
	expect_refused(bench, -WTL_EFORMAT, "too short");
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (char)store_bench_value(1, i);
	unit_write_bytes(bench->dir, "r.wattle", noise, sizeof(noise));
	expect_refused(bench, -WTL_EFORMAT, "no SQLite database, or an encrypted one");
	memset(noise, 'a', sizeof(noise));
	unit_write_bytes(bench->dir, "r.wattle", noise, sizeof(noise));
	expect_refused(bench, -WTL_EFORMAT, "not a recording");
	unlink(bench->path);
	assert_int_equal(mkdir(bench->path, 0755), 0);
	expect_refused(bench, -EISDIR, "it is a directory");
	rmdir(bench->path);
	assert_int_equal(mkfifo(bench->path, 0644), 0);
	expect_refused(bench, -WTL_EFORMAT, "no regular file");
}

static void test_unreadable(void **state)
{
	struct store_bench *bench = *state;
	int status;
	pid_t pid;

	unit_write(bench->dir, "r.wattle", "x");
	assert_int_equal(chmod(bench->path, 0), 0);
	assert_int_equal(chmod(bench->dir, 0755), 0);
	pid = fork();
	if (pid == 0) {
		struct wtl_store_reader *reader;
		struct wtl_err err = {.text = ""};

		if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
			_exit(9);
		if (wtl_store_open(bench->path, &reader, &err) != -EACCES)
			_exit(1);
		_exit(strstr(err.text, "Permission denied") ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void run_sql(const struct store_bench *bench, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(bench->path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_other_databases(void **state)
{
	struct store_bench *bench = *state;

	run_sql(bench, "CREATE TABLE fact(key, value)");
	expect_refused(bench, -WTL_EFORMAT, "database of another program");
	run_sql(bench, "PRAGMA application_id=0x5754544c");
	expect_refused(bench, -WTL_EFORMAT, "never begun");
	run_sql(bench, "PRAGMA user_version=2");
	expect_refused(bench, -WTL_EFORMAT, "format 2, by a newer wattle");
	run_sql(bench, "PRAGMA user_version=0x1020304");
	expect_refused(bench, -WTL_EFORMAT, "format 16909060, by a newer wattle");
	run_sql(bench, "PRAGMA user_version=1");
	expect_refused(bench, -EBADMSG, "its tables are not those of a recording");
	run_sql(bench, "DROP TABLE fact");
	expect_refused(bench, -EBADMSG, "there is no table");
}

/* ---- Older ones ---- */

static int count_domain(void *context, uint32_t i, const struct wtl_stored_domain *row)
{
	assert_int_equal(i, 0);
	assert_string_equal(row->name, "x");
	/* The column is not there: what nothing stands for. */
	assert_int_equal(row->check, 0);
	++*(size_t *)context;
	return 0;
}

/* Columns are added at the end: one that lacks the newest is read without. */
static void test_fewer_columns(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	struct wtl_buf sql;
	struct wtl_table table = wtl_table_domain;
	struct wtl_row_domain row = {.domain = {.name = "x", .check = 5}};
	struct wtl_file file = {.lock = -1};
	size_t n = 0;

	store_bench_create(bench);
	store_bench_end(bench);
	run_sql(bench, "DROP TABLE domain");
	table.n_fields--;
	wtl_buf_init(&sql, 4096);
	assert_int_equal(wtl_table_create_sql(&table, &sql), 0);
	run_sql(bench, wtl_buf_str(&sql));
	wtl_buf_done(&sql);
	assert_int_equal(sqlite3_open(bench->path, &file.db), SQLITE_OK);
	assert_int_equal(wtl_file_put(&file, &table, &row), SQLITE_OK);
	wtl_file_close(&file, true);
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_each_domain(reader, count_domain, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(wtl_store_n_series(reader), STORE_SERIES);
	assert_false(wtl_store_is_damaged(reader));
	wtl_store_close(reader);
}

/* ---- Damage ---- */

struct lines {
	size_t n;
	char text[65536];
};

static void take_line(void *context, const char *text)
{
	struct lines *lines = context;
	size_t len = strlen(lines->text);

	assert_null(strchr(text, '\n'));
	lines->n++;
	snprintf(lines->text + len, sizeof(lines->text) - len, "%s\n", text);
}

static int check_lines(const struct store_bench *bench, struct lines *lines)
{
	int n;

	*lines = (struct lines){.n = 0};
	n = wtl_store_check(bench->path, take_line, lines, NULL);
	if (n >= 0)
		assert_int_equal(n, lines->n);
	return n;
}

struct image {
	uint8_t *bytes;
	size_t len;
};

static struct image load(const struct store_bench *bench)
{
	struct image image = {0};
	FILE *file = fopen(bench->path, "re");
	struct stat st;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	image.len = (size_t)st.st_size;
	image.bytes = malloc(image.len);
	assert_int_equal(fread(image.bytes, 1, image.len, file), image.len);
	fclose(file);
	return image;
}

static void put_back(const struct store_bench *bench, const struct image *image, size_t len)
{
	unit_write_bytes(bench->dir, "r.wattle", image->bytes, len);
}

/* 40 periods of 10 s, 3 series; and rows. */
static struct image make_whole(struct store_bench *bench, uint64_t *ret_n)
{
	store_bench_create(bench);
	for (uint32_t i = 0; i < 300; i++) {
		const struct wtl_stored_consumer consumer = {.id = i + 1, .last_look = -1};

		wtl_store_consumer(bench->writer, &consumer);
	}
	wtl_store_fact(bench->writer, "host", "here");
	store_bench_seconds(bench, 400, 20);
	*ret_n = bench->n_put;
	store_bench_end(bench);
	return load(bench);
}

static int count_consumer(void *context, const struct wtl_stored_consumer *row)
{
	(void)row;
	++*(size_t *)context;
	return 0;
}

/* Rows that follow one another and cannot be reached are one line. */
static size_t count_unreached(const struct lines *lines)
{
	size_t n = 0;

	for (const char *at = lines->text; (at = strstr(at, "from here on")); at++)
		n++;
	return n;
}

/* What can still be read is right; what cannot is known. Returns how many values; UINT64_MAX: it cannot be
 * opened. */
static uint64_t read_damaged(const struct store_bench *bench, uint64_t n_put, uint64_t *ret_lost)
{
	struct wtl_store_reader *reader = NULL;
	struct wtl_err err = {.text = ""};
	static struct lines lines;
	size_t n_consumers = 0;
	uint64_t n, lost = 0;
	bool has_fact;
	int checked;

	checked = check_lines(bench, &lines);
	assert_in_range(count_unreached(&lines), 0, 1);
	if (wtl_store_open(bench->path, &reader, &err) < 0) {
		assert_true(err.text[0] && checked < 0);
		return UINT64_MAX;
	}
	has_fact = wtl_store_get_fact(reader, "host") &&
		   strcmp(wtl_store_get_fact(reader, "host"), "here") == 0;
	wtl_store_each_consumer(reader, count_consumer, &n_consumers);
	n = store_bench_verify(reader, &lost);
	if ((n < n_put || n_consumers < 300 || !has_fact || !wtl_store_is_whole(reader)) &&
	    checked == 0)
		fail_msg("%llu of %llu values, %zu of 300 consumers, and no word about it",
			 (unsigned long long)n, (unsigned long long)n_put, n_consumers);
	assert_true(n <= n_put && n_consumers <= 300);
	*ret_lost = lost;
	wtl_store_close(reader);
	return n;
}

static void test_whole_has_no_damage(void **state)
{
	struct store_bench *bench = *state;
	static struct lines lines;
	uint64_t n, lost;
	struct image image = make_whole(bench, &n);

	assert_int_equal(check_lines(bench, &lines), 0);
	assert_int_equal(read_damaged(bench, n, &lost), n);
	assert_int_equal(lost, 0);
	free(image.bytes);
}

/* Each page in turn, in three ways; in one of them with the address sanitizer. */
static void test_each_page(void **state)
{
	struct store_bench *bench = *state;
	uint64_t n, unreadable = 0;
	struct image image = make_whole(bench, &n);

	for (size_t at = 0; at < image.len; at += WTL_PAGE_BYTES)
		for (int how = 0; how < 3; how++) {
			uint8_t page[WTL_PAGE_BYTES];
			uint64_t lost = 0, left;

			if (UNIT_SANITIZED && at / WTL_PAGE_BYTES % 3 != (size_t)how)
				continue;
			memcpy(page, image.bytes + at, sizeof(page));
			for (size_t i = 0; i < sizeof(page); i++)
				image.bytes[at + i] =
					how == 2 ? (uint8_t)store_bench_value(1, at + i)
						 : (uint8_t)(how * 0xff);
			put_back(bench, &image, image.len);
			left = read_damaged(bench, n, &lost);
			unreadable += left == UINT64_MAX;
			memcpy(image.bytes + at, page, sizeof(page));
		}
	/* The first page, and the first of each table that everything is reached by. */
	assert_in_range(unreadable, UNIT_SANITIZED ? 1 : 3, 30);
	free(image.bytes);
}

/* Single bits all over the file. */
static void test_flipped_bits(void **state)
{
	struct store_bench *bench = *state;
	uint64_t n, lost;
	struct image image = make_whole(bench, &n);

	for (size_t i = 0; i < UNIT_TRIES(700); i++) {
		size_t at = (size_t)((uint64_t)store_bench_value(1, i) % image.len);
		uint8_t bit = (uint8_t)(1u << i % 8);

		image.bytes[at] ^= bit;
		put_back(bench, &image, image.len);
		read_damaged(bench, n, &lost);
		image.bytes[at] ^= bit;
	}
	free(image.bytes);
}

static void test_cut(void **state)
{
	struct store_bench *bench = *state;
	uint64_t n, lost = 0, most = 0;
	struct image image = make_whole(bench, &n);

	for (size_t len = 0; len < image.len; len += 3999) {
		uint64_t left;

		put_back(bench, &image, len);
		left = read_damaged(bench, n, &lost);
		if (left != UINT64_MAX && left > most)
			most = left;
	}
	/* With little cut off, most is there. */
	assert_in_range(most, n / 2, n - 1);
	free(image.bytes);
}

/* What is before and after it is read, and the lines name what is lost. */
static void test_a_chunk(void **state)
{
	struct store_bench *bench = *state;
	static struct lines lines;
	uint64_t n, lost = 0;
	struct image image = make_whole(bench, &n);

	run_sql(bench, "UPDATE chunk SET data = zeroblob(length(data)) "
		       "WHERE period = 7 AND series = 1");
	assert_int_equal(read_damaged(bench, n, &lost), n - 200);
	assert_int_equal(lost, 1);
	assert_int_equal(check_lines(bench, &lines), 1);
	assert_string_equal(lines.text, "2025-11-21T08:17:41Z to 2025-11-21T08:17:51Z (period 7): "
					"series noise is damaged\n");
	put_back(bench, &image, image.len);
	run_sql(bench, "DELETE FROM chunk WHERE period = 7 AND series = 1");
	assert_int_equal(read_damaged(bench, n, &lost), n - 200);
	put_back(bench, &image, image.len);
	/* Two that are whole, but in each other's place. */
	run_sql(bench, "UPDATE chunk SET id = -1 WHERE id = 7 * 65536 + 1;"
		       "UPDATE chunk SET id = 7 * 65536 + 1 WHERE id = 8 * 65536 + 1;"
		       "UPDATE chunk SET id = 8 * 65536 + 1 WHERE id = -1");
	assert_int_equal(read_damaged(bench, n, &lost), n - 400);
	free(image.bytes);
}

static void test_periods_are_missing(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	struct wtl_store_period period;
	uint64_t n, lost = 0;
	struct image image = make_whole(bench, &n);
	size_t n_periods;
	static struct lines lines;

	reader = store_bench_open(bench);
	n_periods = wtl_store_periods(reader);
	wtl_store_close(reader);
	/* In the middle, two become one hole; the first and the last are missed as well. */
	run_sql(bench, "DELETE FROM period WHERE id IN (1, 7, 8, 20) OR id = "
		       "(SELECT max(id) FROM period)");
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_periods(reader), n_periods - 1);
	assert_true(wtl_store_is_damaged(reader));
	assert_int_equal(wtl_store_period(reader, 6, &period), 0);
	assert_int_equal((period.end_mono_ns - period.begin_mono_ns) / WTL_NS_PER_S, 20);
	store_bench_verify(reader, &lost);
	assert_int_equal(lost, 4);
	wtl_store_close(reader);
	assert_int_equal(check_lines(bench, &lines), 4);
	assert_non_null(strstr(lines.text, "(period 7): all of it is missing"));
	free(image.bytes);
}

static void test_rows(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	uint64_t n;
	struct image image = make_whole(bench, &n);
	size_t n_consumers = 0;
	static struct lines lines;

	run_sql(bench, "UPDATE consumer SET slot = 5 WHERE id = 17;"
		       "UPDATE consumer SET name = NULL WHERE id = 18;"
		       "UPDATE consumer SET state = 4 WHERE id = 19;"
		       "UPDATE consumer SET pid = 'x' WHERE id = 20;"
		       "UPDATE consumer SET id = -5 WHERE id = 21;"
		       "UPDATE fact SET value = 'there'");
	reader = store_bench_open(bench);
	assert_null(wtl_store_get_fact(reader, "host"));
	assert_int_equal(wtl_store_each_consumer(reader, count_consumer, &n_consumers), 0);
	assert_int_equal(n_consumers, 295);
	assert_true(wtl_store_is_damaged(reader));
	wtl_store_close(reader);
	assert_int_equal(check_lines(bench, &lines), 6);
	assert_non_null(strstr(lines.text, "table consumer: id -5 is damaged\n"));
	assert_non_null(strstr(lines.text, "table consumer: id 17 is damaged\n"));
	assert_non_null(strstr(lines.text, "table fact: a row is damaged\n"));
	run_sql(bench, "UPDATE consumer SET slot = 5");
	assert_int_equal(check_lines(bench, &lines), 22);
	assert_non_null(strstr(lines.text, "table consumer: and 280 more\n"));
	free(image.bytes);
}

/* One that was cut off stands as parts, and what is not in the database yet, in the WAL. */
static void test_parts(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	static struct lines lines;
	uint64_t lost = 0;

	store_bench_create(bench);
	store_bench_seconds(bench, 5, 20);
	/* As if it was killed: nothing is tidied up. */
	bench->writer->error = -EINTR;
	assert_int_equal(wtl_store_end(bench->writer, NULL), -EINTR);
	bench->writer = NULL;
	assert_int_equal(check_lines(bench, &lines), 0);
	run_sql(bench, "UPDATE part SET data = x'00ff' WHERE number = 2");
	assert_int_equal(check_lines(bench, &lines), 1);
	assert_non_null(strstr(lines.text, "(period 1): damaged\n"));
	run_sql(bench, "DELETE FROM part WHERE number = 2");
	assert_int_equal(check_lines(bench, &lines), 1);
	reader = store_bench_open(bench);
	assert_int_equal(store_bench_verify(reader, &lost), 0);
	assert_int_equal(lost, 1);
	wtl_store_close(reader);
}

/* Numbers that a reader would go by. */
static void test_hostile_rows(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader = NULL;
	uint64_t n;
	struct image image = make_whole(bench, &n);

	run_sql(bench, "UPDATE period SET id = 9223372036854775807 WHERE id = 9;"
		       "UPDATE period SET parts = 4294967295 WHERE id = 10;"
		       "UPDATE period SET counts = zeroblob(100000) WHERE id = 11;"
		       "UPDATE chunk SET n = 16777216 WHERE period = 12;"
		       "UPDATE chunk SET size = 4294967295 WHERE period = 13");
	n = 0;
	reader = store_bench_open(bench);
	store_bench_verify(reader, &n);
	assert_int_equal(n, 3); /* 9 to 11 are one hole */
	wtl_store_close(reader);
	free(image.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(test_other_files),
		STORE_TEST(test_unreadable),
		STORE_TEST(test_other_databases),
		STORE_TEST(test_fewer_columns),
		STORE_TEST(test_whole_has_no_damage),
		STORE_TEST(test_each_page),
		STORE_TEST(test_flipped_bits),
		STORE_TEST(test_cut),
		STORE_TEST(test_a_chunk),
		STORE_TEST(test_periods_are_missing),
		STORE_TEST(test_rows),
		STORE_TEST(test_parts),
		STORE_TEST(test_hostile_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
