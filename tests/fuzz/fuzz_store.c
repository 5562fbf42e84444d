/* SPDX-License-Identifier: MIT */
/*
 * Recordings with anything in them. Input that begins as an SQLite database is one, as it is. Else a
 * recording is made in which parts, chunks and counts are what the input says, with checksums that fit, so
 * that what lies behind those is reached. Its bytes: how many of them the next row has (two bytes), what
 * row (one byte), and those.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "record/reader.h"
#include "record/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

/* ---- Reading everything ---- */

static int see_domain(void *context, uint32_t i, const struct wtl_stored_domain *row)
{
	(void)context;
	(void)i;
	check(strlen(row->name) < sizeof(row->name) && row->kind < WATTLE_KINDS);
	return 0;
}

static int see_channel(void *context, uint32_t i, const struct wtl_channel *row)
{
	(void)context;
	(void)i;
	check(row->source && strlen(row->domain) < sizeof(row->domain));
	check(!row->class || strlen(row->class->name) < WTL_STORE_NAME_SIZE);
	return 0;
}

static int see_miss(void *context, uint32_t i, const struct wtl_miss *row)
{
	(void)context;
	(void)i;
	check(row->source && row->status <= WATTLE_STATUS_ABSENT);
	return 0;
}

static int see_consumer(void *context, const struct wtl_stored_consumer *row)
{
	(void)context;
	check(strnlen(row->command, sizeof(row->command)) < sizeof(row->command));
	check(!row->consumer.group || strlen(row->consumer.group->cgroup) < 256);
	return 0;
}

static int see_window(void *context, const struct wtl_stored_window *row)
{
	uint64_t *sum = context;

	for (size_t i = 0; i < row->n_energies; i++)
		*sum += row->energies[i].energy_uj;
	return 0;
}

static int see_gap(void *context, const struct wtl_stored_gap *row)
{
	(void)context;
	check(row->kind <= WTL_GAP_EXITS);
	return 0;
}

static int see_account(void *context, const struct wtl_stored_account *row)
{
	*(uint64_t *)context += row->full_uj;
	return 0;
}

static int see_baseline(void *context, const struct wtl_stored_baseline *row)
{
	*(uint64_t *)context += row->baseline.idle_uw;
	return 0;
}

static void read_values(struct wtl_store_reader *reader, uint64_t *sum)
{
	for (size_t i = 0; i < wtl_store_periods(reader) && i < 64; i++) {
		struct wtl_store_period period;

		check(wtl_store_period(reader, i, &period) == 0);
		for (uint32_t k = 0; k < wtl_store_n_series(reader) && k < 64; k++) {
			struct wtl_err err = {.text = ""};
			const int64_t *values = NULL;
			size_t n = 0;
			int rc = wtl_store_values(reader, k, i, &values, &n, &err);

			check(rc == 0 || err.text[0]);
			for (size_t j = 0; rc == 0 && j < n; j++)
				*sum += (uint64_t)values[j];
		}
	}
}

static void take_line(void *context, const char *text)
{
	check(text[0] && !strchr(text, '\n'));
	++*(int *)context;
}

static uint64_t read_everything(struct wtl_store_reader *reader)
{
	uint64_t sum = 0;

	wtl_store_get_fact(reader, "host");
	wtl_store_each_domain(reader, see_domain, NULL);
	wtl_store_each_channel(reader, see_channel, NULL);
	wtl_store_each_miss(reader, see_miss, NULL);
	wtl_store_each_consumer(reader, see_consumer, NULL);
	wtl_store_each_window(reader, see_window, &sum);
	wtl_store_each_gap(reader, see_gap, NULL);
	wtl_store_each_account(reader, see_account, &sum);
	wtl_store_each_baseline(reader, see_baseline, &sum);
	read_values(reader, &sum);
	return sum;
}

static void read_all(const char *path)
{
	struct wtl_store_reader *reader = NULL;
	struct wtl_err err = {.text = ""};
	uint64_t sum;
	int lines = 0, rc;

	if (wtl_store_open(path, &reader, &err) < 0) {
		check(err.text[0] && !reader);
		return;
	}
	sum = read_everything(reader);
	/* Beside a writer it reads from copies: the same. */
	if (wtl_reader_let_go(reader) == 0)
		check(read_everything(reader) == sum || wtl_store_is_damaged(reader));
	wtl_store_close(reader);
	rc = wtl_store_check(path, take_line, &lines, &err);
	check(rc < 0 || rc == lines);
}

/* ---- Making it ---- */

static void put_bytes(const char *path, const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

static void put_row(struct wtl_file *file, unsigned what, const uint8_t *data, size_t size)
{
	const int64_t period = 1 + (what >> 5);
	uint32_t number = what >> 2 & 7;
	struct wtl_row_period period_row = {.id = period, .counts = {data, size}};
	struct wtl_row_part part = {.id = period << 16 | number, .data = {data, size}};
	struct wtl_row_chunk chunk = {.id = period << 16 | number};

	switch (what & 3) {
	case 0:
		wtl_file_put(file, &wtl_table_period, &period_row);
		break;
	case 1:
		period_row.parts = number + 1;
		wtl_file_put(file, &wtl_table_period, &period_row);
		wtl_file_put(file, &wtl_table_part, &part);
		break;
	default:
		if (size < 3)
			return;
		chunk.n = data[0];
		chunk.size = (uint32_t)(data[1] | data[2] << 8);
		chunk.packed = what & 1;
		chunk.data = (struct wtl_bytes){data + 3, size - 3};
		wtl_file_put(file, &wtl_table_chunk, &chunk);
	}
}

static void make(const char *path, const uint8_t *data, size_t size)
{
	const struct wtl_row_recording recording = {.id = 1};
	const struct wtl_store_options options = {.max_bytes = 0};
	struct wtl_file file;

	check(wtl_file_create(&file, path, &options, &recording, NULL) == 0);
	check(wtl_file_run(&file, "PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF; BEGIN") == 0);
	for (uint32_t i = 0; i < 8; i++) {
		struct wtl_row_series series = {.id = i};

		snprintf(series.name, sizeof(series.name), "series-%u", i);
		wtl_file_put(&file, &wtl_table_series, &series);
	}
	while (size >= 3) {
		size_t len = data[0] | (size_t)data[1] << 8;
		unsigned what = data[2];

		data += 3;
		size -= 3;
		len = len < size ? len : size;
		put_row(&file, what, data, len);
		data += len;
		size -= len;
	}
	wtl_file_run(&file, "COMMIT");
	wtl_file_close(&file, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	char path[64], beside[80];

	snprintf(path, sizeof(path), "%s/wattle-fuzz-%d.wattle", folder, (int)getpid());
	if (size >= 6 && memcmp(data, "SQLite", 6) == 0)
		put_bytes(path, data, size);
	else
		make(path, data, size);
	read_all(path);
	unlink(path);
	snprintf(beside, sizeof(beside), "%s-wal", path);
	unlink(beside);
	snprintf(beside, sizeof(beside), "%s-shm", path);
	unlink(beside);
	return 0;
}
