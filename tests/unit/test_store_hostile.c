/* SPDX-License-Identifier: MIT */
/* Recordings whose checksums fit, and which are not true; and what is missing where nothing else says so. */
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
#include "record/code.h"
#include "record/reader.h"
#include "record/writer.h"
#include "store_bench.h"

static void run_sql(const struct store_bench *bench, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(bench->path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A row with a checksum that fits. */
static void put_row(const struct store_bench *bench, const struct wtl_table *table, const void *row)
{
	struct wtl_file file = {.lock = -1};

	assert_int_equal(sqlite3_open(bench->path, &file.db), SQLITE_OK);
	assert_int_equal(wtl_file_put(&file, table, row), SQLITE_OK);
	wtl_file_close(&file, true);
}

/* So many seconds, and then it is as if it was killed: nothing is tidied up. */
static void cut_off(struct store_bench *bench, size_t seconds)
{
	store_bench_create(bench);
	store_bench_seconds(bench, seconds, 20);
	bench->writer->error = -EINTR;
	assert_int_equal(wtl_store_end(bench->writer, NULL), -EINTR);
	bench->writer = NULL;
}

static void remove_files(const struct store_bench *bench)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	char path[4096];

	for (size_t i = 0; i < UNIT_COUNT(ends); i++) {
		snprintf(path, sizeof(path), "%s%s", bench->path, ends[i]);
		unlink(path);
	}
}

static void make_whole(struct store_bench *bench, size_t seconds)
{
	store_bench_create(bench);
	store_bench_seconds(bench, seconds, 20);
	store_bench_end(bench);
}

struct lines {
	size_t n;
	char text[4096];
};

static void take_line(void *context, const char *text)
{
	struct lines *lines = context;
	size_t len = strlen(lines->text);

	lines->n++;
	snprintf(lines->text + len, sizeof(lines->text) - len, "%s\n", text);
}

static int check_lines(const struct store_bench *bench, struct lines *lines)
{
	*lines = (struct lines){.n = 0};
	return wtl_store_check(bench->path, take_line, lines, NULL);
}

/* ---- The first period ---- */

static void test_first_is_missed(void **state)
{
	static const char *const wounds[] = {
		"DELETE FROM period WHERE id = 1",
		"UPDATE period SET crc = crc + 1 WHERE id = 1",
	};
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	struct wtl_store_period first;
	struct lines lines;
	uint64_t lost = 0;

	for (size_t i = 0; i < UNIT_COUNT(wounds); i++) {
		cut_off(bench, 15);
		assert_int_equal(check_lines(bench, &lines), 0);
		run_sql(bench, wounds[i]);
		reader = store_bench_open(bench);
		assert_int_equal(wtl_store_periods(reader), 2);
		assert_int_equal(wtl_store_period(reader, 0, &first), 0);
		assert_int_equal(first.begin_mono_ns, reader->recording.begin_mono_ns);
		assert_true(wtl_store_is_damaged(reader));
		store_bench_verify(reader, &lost);
		wtl_store_close(reader);
		check_lines(bench, &lines);
		assert_non_null(strstr(lines.text, "(period 1): all of it is missing\n"));
		remove_files(bench);
	}
	assert_int_equal(lost, 2);
}

/* A ring has dropped it. */
static void test_first_of_a_ring(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	struct lines lines;

	bench->options.max_age_ns = 3600 * WTL_NS_PER_S;
	cut_off(bench, 15);
	run_sql(bench, "DELETE FROM period WHERE id = 1; DELETE FROM chunk");
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_periods(reader), 1);
	assert_false(wtl_store_is_damaged(reader));
	assert_true(wtl_store_has_dropped(reader));
	wtl_store_close(reader);
	assert_int_equal(check_lines(bench, &lines), 0);
}

static void test_nothing_recorded(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	struct lines lines;

	assert_int_equal(wtl_store_create(bench->path, &bench->options, &bench->writer, NULL), 0);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_true(wtl_store_is_whole(reader));
	assert_int_equal(wtl_store_periods(reader), 0);
	assert_false(wtl_store_is_damaged(reader));
	assert_int_equal(reader->recording.first_period, 1);
	assert_int_equal(reader->recording.last_period, 0);
	wtl_store_close(reader);
	assert_int_equal(check_lines(bench, &lines), 0);
}

/* ---- Memory ---- */

/* n zeros, in a dozen bytes. */
static void zeros(struct wtl_buf *block, uint64_t n)
{
	wtl_buf_putc(block, 0);
	wtl_varint_put(block, n);
	wtl_varint_put(block, 1);
	wtl_buf_putc(block, 0);
	wtl_varint_put(block, n - 1);
	assert_int_equal(wtl_code_count((const uint8_t *)block->data, block->len), n);
}

/* In the place of a period, series with so many zeros each. */
static void put_zeros(const struct store_bench *bench, int64_t period,
		      const int64_t counts[STORE_SERIES])
{
	struct wtl_row_period row = {.id = period, .end_mono_ns = 1, .begin_mono_ns = 1};
	struct wtl_buf block;

	wtl_buf_init(&block, 1000);
	for (uint32_t i = 0; i < STORE_SERIES; i++) {
		struct wtl_row_chunk chunk = {.id = period * WTL_STORE_SERIES_MAX + i};

		if (counts[i] == 0)
			continue;
		wtl_buf_clear(&block);
		zeros(&block, (uint64_t)counts[i]);
		chunk.n = (uint32_t)counts[i];
		chunk.size = (uint32_t)block.len;
		chunk.data = (struct wtl_bytes){block.data, block.len};
		put_row(bench, &wtl_table_chunk, &chunk);
	}
	wtl_buf_clear(&block);
	assert_int_equal(wtl_code_put(&block, counts, STORE_SERIES), 0);
	row.counts = (struct wtl_bytes){block.data, block.len};
	put_row(bench, &wtl_table_period, &row);
	wtl_buf_done(&block);
}

static size_t room_of_all(const struct wtl_store_reader *reader)
{
	size_t room = 0;

	for (size_t i = 0; i < reader->names.n; i++)
		room += reader->series[i].room;
	return room;
}

static int read_series(struct wtl_store_reader *reader, uint32_t series, size_t period, size_t *n)
{
	const int64_t *values;

	return wtl_store_values(reader, series, period, &values, n, NULL);
}

/* A period has no more values than one series could have. */
static void test_too_many_values(void **state)
{
	static const int64_t sums[][STORE_SERIES] = {
		{WTL_CODE_VALUES_MAX, 1, 0},
		{WTL_CODE_VALUES_MAX / 2, WTL_CODE_VALUES_MAX / 2, 1},
		{-1, 1, 1},
		{INT64_MAX, INT64_MAX, 3},
	};
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	struct lines lines;
	size_t n;

	make_whole(bench, 15);
	for (size_t i = 0; i < UNIT_COUNT(sums); i++) {
		struct wtl_row_period row = {.id = 1, .end_mono_ns = 1, .begin_mono_ns = 1};
		struct wtl_buf block;

		wtl_buf_init(&block, 1000);
		assert_int_equal(wtl_code_put(&block, sums[i], STORE_SERIES), 0);
		row.counts = (struct wtl_bytes){block.data, block.len};
		put_row(bench, &wtl_table_period, &row);
		wtl_buf_done(&block);
		reader = store_bench_open(bench);
		for (uint32_t k = 0; k < STORE_SERIES; k++)
			assert_int_equal(read_series(reader, k, 0, &n), -EBADMSG);
		assert_int_equal(room_of_all(reader), 0);
		wtl_store_close(reader);
		assert_int_equal(check_lines(bench, &lines), 1);
		assert_non_null(strstr(lines.text, "(period 1): damaged\n"));
	}
}

/* As many counts as there can be series, or fewer; else none of the period's series can be found. */
static void test_counts(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		int rc;
	} blocks[] = {
		{"", 0, 0},
		{"\0\0", 2, 0},
		{"\0\x80\x80\x04\1\0\xff\xff\x03", 9, 0},
		{"\0\x81\x80\x04\1\0\x80\x80\x04", 9, -EBADMSG},
		{"\0", 1, -EBADMSG},
		{"\0\1\1", 3, -EBADMSG},
		{"\x08\1\1\2", 4, -EBADMSG},
	};
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	size_t n;

	make_whole(bench, 15);
	for (size_t i = 0; i < UNIT_COUNT(blocks); i++) {
		const struct wtl_row_period row = {.id = 1,
						   .end_mono_ns = 1,
						   .begin_mono_ns = 1,
						   .counts = {blocks[i].bytes, blocks[i].len}};

		put_row(bench, &wtl_table_period, &row);
		reader = store_bench_open(bench);
		/* The next one is none of it, before and after. */
		for (int after = 0; after < 2; after++) {
			assert_int_equal(read_series(reader, 0, 1, &n), 0);
			assert_int_equal(n, 80);
			for (uint32_t k = 0; k < STORE_SERIES; k++) {
				n = 7;
				assert_int_equal(read_series(reader, k, 0, &n), blocks[i].rc);
				assert_int_equal(n, blocks[i].rc ? 7 : 0);
			}
		}
		assert_int_equal(reader->n_values_counted, 3 * 80);
		assert_int_equal(wtl_store_is_damaged(reader), blocks[i].rc != 0);
		wtl_store_close(reader);
	}
}

/* Rows whose numbers are not those of their bytes. No room is made for what they claim. */
static void test_chunks_that_are_none(void **state)
{
	/* Of one value, 5, as it is and as zstd has it: a raw block in a frame without its size. */
	static const char plain[] = "\0\1\1\x0a",
			  packed[] = "\x28\xb5\x2f\xfd\0\0\x21\0\0\0\1\1\x0a";
	static const struct {
		uint32_t n, size, packed;
		size_t len;
		int rc;
	} chunks[] = {
		{1, 4, WTL_PACKED_NOT, 4, 0},
		{1, 4, WTL_PACKED_ZSTD, 13, 0},
		{1, 3, WTL_PACKED_NOT, 4, -EBADMSG},
		{1, 5, WTL_PACKED_NOT, 4, -EBADMSG},
		{1, 4, WTL_PACKED_NOT, 3, -EBADMSG},
		{2, 4, WTL_PACKED_NOT, 4, -EBADMSG},
		{1, 3, WTL_PACKED_ZSTD, 13, -EBADMSG},
		{1, 5, WTL_PACKED_ZSTD, 13, -EBADMSG},
		{1, 4, WTL_PACKED_ZSTD, 12, -EBADMSG},
		{1, (128 << 20) + 1, WTL_PACKED_ZSTD, 13, -EBADMSG},
		{WTL_CODE_VALUES_MAX, 4, WTL_PACKED_NOT, 4, -EBADMSG},
	};
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	size_t n;

	make_whole(bench, 15);
	for (size_t i = 0; i < UNIT_COUNT(chunks); i++) {
		/* As its period has it, and as the period has another number. */
		for (uint32_t more = 0; more < 2; more++) {
			const int64_t count = chunks[i].n + (chunks[i].n > 1 ? -more : more);
			const struct wtl_row_chunk chunk = {
				.id = WTL_STORE_SERIES_MAX,
				.n = chunks[i].n,
				.size = chunks[i].size,
				.packed = chunks[i].packed,
				.data = {chunks[i].packed ? packed : plain, chunks[i].len},
			};
			struct wtl_row_period row = {.id = 1, .end_mono_ns = 1, .begin_mono_ns = 1};
			struct wtl_buf block;

			wtl_buf_init(&block, 1000);
			assert_int_equal(wtl_code_put(&block, &count, 1), 0);
			row.counts = (struct wtl_bytes){block.data, block.len};
			put_row(bench, &wtl_table_period, &row);
			put_row(bench, &wtl_table_chunk, &chunk);
			wtl_buf_done(&block);
			reader = store_bench_open(bench);
			assert_int_equal(read_series(reader, 0, 0, &n),
					 more ? -EBADMSG : chunks[i].rc);
			assert_int_equal(reader->n_bytes_read, chunks[i].len);
			assert_in_range(reader->n_room, 0, 1000);
			assert_in_range(reader->block_room, 0, 1000);
			wtl_store_close(reader);
		}
	}
}

/* Nor do many periods take more together: the values of one are enough. */
static void test_many_large_periods(void **state)
{
	/* One of them is enough; three are. */
	static const int64_t large[] = {WTL_CODE_VALUES_MAX / 2, WTL_CODE_VALUES_MAX / 5};
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	size_t n;

	make_whole(bench, 35);
	for (size_t i = 0; i < UNIT_COUNT(large); i++) {
		for (uint32_t k = 0; k < STORE_SERIES; k++) {
			int64_t counts[STORE_SERIES] = {0};

			counts[k] = large[i];
			put_zeros(bench, k + 1, counts);
		}
		reader = store_bench_open(bench);
		for (uint32_t k = 0; k < STORE_SERIES; k++) {
			assert_int_equal(read_series(reader, k, k, &n), 0);
			assert_int_equal(n, large[i]);
			assert_in_range(room_of_all(reader), large[i], WTL_CODE_VALUES_MAX);
			assert_int_equal(reader->n_room, room_of_all(reader));
		}
		/* Those of the period that is read stay. */
		assert_int_equal(read_series(reader, 0, 3, &n), 0);
		assert_int_equal(n, 80);
		assert_int_equal(read_series(reader, 1, 3, &n), 0);
		assert_int_equal(n, 80);
		assert_in_range(room_of_all(reader), 160, 1000);
		assert_int_equal(reader->n_room, room_of_all(reader));
		wtl_store_close(reader);
	}
}

/* However many they are, those of one period are there until another one is read. */
static void test_a_large_period(void **state)
{
	static const int64_t counts[STORE_SERIES] = {
		WTL_CODE_VALUES_MAX / 3, WTL_CODE_VALUES_MAX / 3, WTL_CODE_VALUES_MAX / 3};
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	size_t n;

	make_whole(bench, 15);
	put_zeros(bench, 1, counts);
	reader = store_bench_open(bench);
	for (uint32_t k = 0; k < STORE_SERIES; k++)
		assert_int_equal(read_series(reader, k, 0, &n), 0);
	assert_true(room_of_all(reader) >= WTL_CODE_VALUES_MAX / 3 * 3);
	wtl_store_close(reader);
}

static void put_part(const struct store_bench *bench, const struct wtl_buf *data)
{
	const struct wtl_row_part part = {
		.id = WTL_PARTS_MAX, /* the first of period 1 */
		.end_mono_ns = 1,
		.data = {data->data, data->len},
	};

	put_row(bench, &wtl_table_part, &part);
}

static void test_too_many_values_in_parts(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_buf data, block;
	struct wtl_store_reader *reader;
	size_t n;

	cut_off(bench, 5);
	wtl_buf_init(&data, 1000);
	wtl_buf_init(&block, 1000);
	zeros(&block, WTL_CODE_VALUES_MAX / 3);
	for (size_t k = 0; k < STORE_SERIES; k++) {
		wtl_varint_put(&data, k > 0);
		wtl_varint_put(&data, block.len);
		wtl_buf_add(&data, block.data, block.len);
	}
	put_part(bench, &data);
	reader = store_bench_open(bench);
	for (uint32_t k = 0; k < STORE_SERIES; k++)
		assert_int_equal(read_series(reader, k, 0, &n), -EBADMSG);
	assert_int_equal(room_of_all(reader), 0);
	wtl_store_close(reader);
	wtl_buf_done(&data);
	wtl_buf_done(&block);
}

/* However often they are read. The rows of a period together are no longer than the file. */
static void test_parts_are_as_long_as_the_file(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	uint64_t n_bytes;
	size_t n;

	cut_off(bench, 15);
	reader = store_bench_open(bench);
	assert_int_equal(read_series(reader, 0, 1, &n), 0);
	n_bytes = reader->n_bytes_read;
	assert_in_range(n_bytes, 100, 10000);
	/* All series of a period are looked up together. */
	reader->guard.steps_left = 0;
	assert_int_equal(read_series(reader, 1, 1, &n), 0);
	assert_int_equal(reader->n_bytes_read, n_bytes);
	assert_true(reader->guard.steps_left > 0);
	assert_int_equal(reader->n_values_read, 160);
	reader->guard.bytes = n_bytes;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(read_series(reader, 0, 0, &n), 0);
		assert_int_equal(read_series(reader, 0, 1, &n), 0);
		assert_int_equal(n, 80);
	}
	reader->guard.bytes--;
	assert_int_equal(read_series(reader, 0, 0, &n), 0);
	assert_int_equal(read_series(reader, 0, 1, &n), -EBADMSG);
	/* All that was looked up is no more than could be needed for what was read. */
	for (uint64_t more = 0; more < 2; more++) {
		reader->n_bytes_read = (UINT64_C(256) << 20) + 64 * reader->guard.bytes +
				       16 * (reader->n_values_read + more);
		assert_int_equal(read_series(reader, 0, 0, &n), more ? -EBADMSG : 0);
	}
	wtl_store_close(reader);
}

/* Blocks of a part that are out of order, more than one of a series, or cut. */
static void test_parts_that_are_none(void **state)
{
	static const struct {
		const char *data;
		size_t len;
	} bad[] = {
		/* Series 1, then series 1 once more. */
		{"\x01\x04\x00\x01\x01\x02\x00\x04\x00\x01\x01\x02", 12},
		{"\x00\x04\x00\x01\x01", 5},
		{"\x00\x02\x00\x00", 4}, /* a block without values */
		{"\x00", 1},
		{"\x00\x80", 2},
		{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x04\x00\x01\x01\x02", 15},
		/* Series 65536, at once or after another one. */
		{"\x80\x80\x04\x04\x00\x01\x01\x02", 8},
		{"\x01\x04\x00\x01\x01\x02\xff\xff\x03\x04\x00\x01\x01\x02", 14},
		/* This is one, but then the last part is missing. */
		{"\x00\x04\x00\x01\x01\x02\xff\xff\x03\x04\x00\x01\x01\x02", 14},
	};
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	size_t n;

	cut_off(bench, 5);
	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		struct wtl_buf data;

		wtl_buf_init(&data, 100);
		wtl_buf_add(&data, bad[i].data, bad[i].len);
		put_part(bench, &data);
		wtl_buf_done(&data);
		reader = store_bench_open(bench);
		if (i + 1 == UNIT_COUNT(bad)) {
			assert_int_equal(read_series(reader, 0, 0, &n), 0);
			assert_int_equal(n, 4 * 20 + 1);
			assert_int_equal(read_series(reader, 1, 0, &n), 0);
			assert_int_equal(n, 4 * 20);
			wtl_store_close(reader);
			run_sql(bench, "DELETE FROM part WHERE id = (SELECT max(id) FROM part)");
			reader = store_bench_open(bench);
		}
		for (uint32_t k = 0; k < STORE_SERIES; k++)
			assert_int_equal(read_series(reader, k, 0, &n), -EBADMSG);
		wtl_store_close(reader);
	}
}

/* A block that says how many values it has, and does not have them: those of the other series are there. */
static void test_a_block_of_a_part(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	struct wtl_buf data;
	size_t n;

	cut_off(bench, 5);
	wtl_buf_init(&data, 100);
	wtl_buf_add(&data, "\0\4\0\1\1\x80\2\4\0\1\1\2", 12);
	put_part(bench, &data);
	wtl_buf_done(&data);
	reader = store_bench_open(bench);
	assert_int_equal(read_series(reader, 0, 0, &n), -EBADMSG);
	assert_int_equal(read_series(reader, 1, 0, &n), 0);
	assert_int_equal(n, 4 * 20);
	assert_int_equal(read_series(reader, 2, 0, &n), 0);
	assert_int_equal(n, 4 * 20 + 1);
	wtl_store_close(reader);
}

/* ---- Times that no machine has ---- */

static int count_window(void *context, const struct wtl_stored_window *row)
{
	(void)row;
	++*(size_t *)context;
	return 0;
}

static int count_gap(void *context, const struct wtl_stored_gap *row)
{
	(void)row;
	++*(size_t *)context;
	return 0;
}

static int count_consumer(void *context, const struct wtl_stored_consumer *row)
{
	(void)row;
	++*(size_t *)context;
	return 0;
}

static void put_gap(const struct store_bench *bench, uint32_t id, enum wtl_gap_kind kind,
		    int64_t begin_ns, int64_t duration_ns)
{
	struct wtl_row_gap row = {
		.id = id,
		.gap = {.kind = kind, .begin_mono_ns = begin_ns, .duration_ns = duration_ns},
	};

	put_row(bench, &wtl_table_gap, &row);
}

static void put_window(const struct store_bench *bench, uint32_t id, int64_t begin_ns,
		       int64_t duration_ns, int64_t begin_utc_ns)
{
	struct wtl_row_window row = {.stored = {.id = id,
						.begin_mono_ns = begin_ns,
						.duration_ns = duration_ns,
						.begin_utc_ns = begin_utc_ns}};

	put_row(bench, &wtl_table_window, &row);
}

static void put_consumer(const struct store_bench *bench, uint32_t id, int64_t start_ns,
			 int64_t cpu_ns, int64_t counted_ns)
{
	struct wtl_row_consumer row = {.stored = {.id = id, .last_look = -1}};

	row.stored.consumer.start_ns = start_ns;
	row.stored.consumer.cpu_ns = cpu_ns;
	row.stored.consumer.counted_ns = counted_ns;
	put_row(bench, &wtl_table_consumer, &row);
}

static void expect_counts(const struct store_bench *bench, size_t windows, size_t gaps,
			  size_t consumers)
{
	struct wtl_store_reader *reader = store_bench_open(bench);
	size_t n_windows = 0, n_gaps = 0, n_consumers = 0;

	assert_int_equal(wtl_store_each_window(reader, count_window, &n_windows), 0);
	assert_int_equal(wtl_store_each_gap(reader, count_gap, &n_gaps), 0);
	assert_int_equal(wtl_store_each_consumer(reader, count_consumer, &n_consumers), 0);
	assert_int_equal(n_windows, windows);
	assert_int_equal(n_gaps, gaps);
	assert_int_equal(n_consumers, consumers);
	wtl_store_close(reader);
}

static void test_times_of_rows(void **state)
{
	const int64_t year_ns = 365 * 86400 * WTL_NS_PER_S;
	struct store_bench *bench = *state;
	struct lines lines;

	make_whole(bench, 15);
	put_gap(bench, 1, WTL_GAP_SUSPEND, 5, year_ns);
	put_gap(bench, 2, WTL_GAP_CLOCK_STEP, 5, -50 * year_ns);
	put_window(bench, 1, 0, 5, -year_ns);
	put_consumer(bench, 1, 0, 5, 5);
	expect_counts(bench, 1, 2, 1);
	assert_int_equal(check_lines(bench, &lines), 0);
	put_gap(bench, 3, WTL_GAP_SUSPEND, INT64_MAX, 5);
	put_gap(bench, 4, WTL_GAP_SUSPEND, 5, INT64_C(1) << 62);
	put_gap(bench, 5, WTL_GAP_OVERRUN, 5, -1);
	put_gap(bench, 6, WTL_GAP_CLOCK_STEP, -1, 5);
	put_gap(bench, 7, WTL_GAP_CLOCK_STEP, 5, INT64_MIN);
	put_window(bench, 2, -1, 5, 5);
	put_window(bench, 3, 5, INT64_MAX, 5);
	put_window(bench, 4, 5, 5, INT64_MIN);
	put_consumer(bench, 2, INT64_MAX, 5, 5);
	put_consumer(bench, 3, 5, INT64_MAX, 5);
	put_consumer(bench, 4, 5, 5, INT64_MIN);
	expect_counts(bench, 1, 2, 1);
	assert_int_equal(check_lines(bench, &lines), 11);
	assert_non_null(strstr(lines.text, "table gap: id 4 is damaged\n"));
	assert_non_null(strstr(lines.text, "table consumer: id 2 is damaged\n"));
}

static void put_energy(const struct store_bench *bench, uint32_t window, int32_t domain,
		       uint64_t energy_uj)
{
	const struct wtl_row_energy row = {.window = window,
					   .domain = domain,
					   .energy = {.has_energy = 1, .energy_uj = energy_uj}};

	put_row(bench, &wtl_table_energy, &row);
}

static int add_energies(void *context, const struct wtl_stored_window *row)
{
	char *text = context;

	sprintf(text + strlen(text), "%u: %d %llu", row->id, row->total.status,
		(unsigned long long)row->total.energy_uj);
	for (size_t i = 0; i < row->n_energies; i++)
		sprintf(text + strlen(text), ", %d %llu", row->energies[i].status,
			(unsigned long long)row->energies[i].energy_uj);
	strcat(text, "\n");
	return 0;
}

/* Of those that are not there or cannot be true, nothing is known. */
static void test_energies(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	char text[256] = "", wanted[256];

	make_whole(bench, 15);
	for (uint32_t id = 1; id <= 3; id++)
		put_window(bench, id, 0, 5, 5);
	put_energy(bench, 1, -1, 11);
	put_energy(bench, 1, 1, 12);
	put_energy(bench, 1, 3, 13);
	put_energy(bench, 3, 0, 31);
	put_energy(bench, 3, 1, 32);
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_each_window(reader, add_energies, text), 0);
	snprintf(wanted, sizeof(wanted),
		 "1: 0 11, %d 0, 0 12, %d 0, 0 13\n2: %d 0\n3: %d 0, 0 31, 0 32\n",
		 WATTLE_STATUS_FAILED, WATTLE_STATUS_FAILED, WATTLE_STATUS_FAILED,
		 WATTLE_STATUS_FAILED);
	assert_string_equal(text, wanted);
	assert_false(wtl_store_is_damaged(reader));
	wtl_store_close(reader);
	put_energy(bench, 3, WTL_CATALOG_MAX, 33);
	reader = store_bench_open(bench);
	text[0] = '\0';
	assert_int_equal(wtl_store_each_window(reader, add_energies, text), 0);
	assert_string_equal(text, wanted);
	assert_true(wtl_store_is_damaged(reader));
	wtl_store_close(reader);
}

static void test_times_of_periods(void **state)
{
	static const struct wtl_row_period bad[] = {
		{.begin_mono_ns = INT64_MIN},
		{.end_mono_ns = INT64_MAX},
		{.begin_utc_ns = INT64_MIN},
		{.end_utc_ns = INT64_MAX},
	};
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	struct wtl_store_period period;

	make_whole(bench, 35);
	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		struct wtl_row_period row = bad[i];

		row.id = 2;
		put_row(bench, &wtl_table_period, &row);
		reader = store_bench_open(bench);
		assert_true(wtl_store_is_damaged(reader));
		assert_int_equal(wtl_store_periods(reader), 4);
		assert_int_equal(wtl_store_period(reader, 1, &period), 0);
		assert_int_equal(period.end_mono_ns - period.begin_mono_ns, 10 * WTL_NS_PER_S);
		assert_true(reader->periods[1].is_lost);
		wtl_store_close(reader);
	}
}

/* Each row is as it was written, but one has another's name. */
static void test_a_name_twice(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	struct wtl_row_series row = {.id = STORE_SERIES};
	struct lines lines;

	make_whole(bench, 15);
	reader = store_bench_open(bench);
	snprintf(row.name, sizeof(row.name), "%s", wtl_store_series_name(reader, 0));
	assert_false(wtl_store_is_damaged(reader));
	wtl_store_close(reader);
	put_row(bench, &wtl_table_series, &row);
	reader = store_bench_open(bench);
	assert_true(wtl_store_is_damaged(reader));
	wtl_store_close(reader);
	assert_int_equal(check_lines(bench, &lines), 1);
	assert_string_equal(lines.text, "table series: its rows do not fit each other\n");
}

/* ---- What is beside it and cannot be read ---- */

/* As somebody who may not write there. Exits with 0 where all is as it should be. */
static void read_from_outside(const struct store_bench *bench)
{
	struct wtl_store_reader *reader;
	struct lines lines;

	if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		_exit(9);
	if (wtl_store_open(bench->path, &reader, NULL) < 0)
		_exit(1);
	if (!wtl_store_is_damaged(reader))
		_exit(2);
	wtl_store_close(reader);
	if (check_lines(bench, &lines) < 1)
		_exit(3);
	if (!strstr(lines.text, "its newest part is in ") ||
	    !strstr(lines.text, "r%23?.wattle-wal"))
		_exit(4);
	_exit(0);
}

static void test_wal_in_a_closed_directory(void **state)
{
	struct store_bench *bench = *state;
	char *shm = unit_path(bench->dir, "r%23?.wattle-shm"); /* a URI's, too */
	int status;
	pid_t pid;

	free(bench->path);
	bench->path = unit_path(bench->dir, "r%23?.wattle");
	cut_off(bench, 3);
	unlink(shm);
	free(shm);
	assert_int_equal(unit_entries(bench->dir, ""), 2);
	assert_int_equal(chmod(bench->path, 0644), 0);
	assert_int_equal(chmod(bench->dir, 0555), 0);
	pid = fork();
	if (pid == 0)
		read_from_outside(bench);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(chmod(bench->dir, 0755), 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	/* Whoever may write there reads all of it. */
	store_bench_expect(bench, 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(test_first_is_missed),
		STORE_TEST(test_first_of_a_ring),
		STORE_TEST(test_nothing_recorded),
		STORE_TEST(test_too_many_values),
		STORE_TEST(test_counts),
		STORE_TEST(test_chunks_that_are_none),
		STORE_TEST(test_many_large_periods),
		STORE_TEST(test_a_large_period),
		STORE_TEST(test_too_many_values_in_parts),
		STORE_TEST(test_parts_are_as_long_as_the_file),
		STORE_TEST(test_parts_that_are_none),
		STORE_TEST(test_a_block_of_a_part),
		STORE_TEST(test_times_of_rows),
		STORE_TEST(test_energies),
		STORE_TEST(test_times_of_periods),
		STORE_TEST(test_a_name_twice),
		STORE_TEST(test_wal_in_a_closed_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
