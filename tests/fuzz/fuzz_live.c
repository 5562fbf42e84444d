/* SPDX-License-Identifier: MIT */
/*
 * A reader beside a writer: a database and its WAL, in which what the writer has done since is. The input is rows as
 * recording.h has them, between which the writer, or somebody who would harm the reader, does something (a row with
 * has_action): see act(). The reader is there before the last of it.
 */
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "memvfs.h"
#include "record/database.h"
#include "recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum action {
	COMMIT,	    /* pages that changed become frames */
	CHECKPOINT, /* they come into the database, and the WAL begins anew */
	OPEN,	    /* the reader comes, and may let go */
	DROP,	    /* a ring drops a period */
	FLIP, /* a byte of the WAL, checksums and all; behind what a reader has read it does no harm */
	FORGE, /* a byte of a frame, whose checksum is made to fit */
	CUT,   /* the WAL ends earlier */
	ACTIONS,
};

/* https://www.sqlite.org/fileformat2.html#walformat */
enum { WAL_HEADER = 32, FRAME_HEADER = 24, FRAME = FRAME_HEADER + WTL_PAGE_BYTES, FRAMES_MAX = 64 };

static struct {
	uint8_t *database,
		*image; /* as it was checkpointed, and as of the last commit; sqlite3_free() */
	size_t database_len, image_len;
	uint8_t wal[WAL_HEADER + FRAMES_MAX * FRAME];
	size_t wal_len;
	uint32_t salt;
	struct wtl_store_reader *reader;
} live;

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* ---- The WAL ---- */

static void put_number(uint8_t *at, uint32_t number)
{
	number = htobe32(number);
	memcpy(at, &number, sizeof(number));
}

static uint32_t get_number(const uint8_t *at)
{
	uint32_t number;

	memcpy(&number, at, sizeof(number));
	return be32toh(number);
}

static void add_up(const uint8_t *at, size_t len, uint32_t sums[2])
{
	for (const uint8_t *end = at + len; at < end; at += 8) {
		uint32_t first, second;

		memcpy(&first, at, sizeof(first));
		memcpy(&second, at + 4, sizeof(second));
		sums[0] += le32toh(first) + sums[1];
		sums[1] += le32toh(second) + sums[0];
	}
}

static void seal_frame(uint8_t *frame, uint32_t sums[2])
{
	add_up(frame, 8, sums);
	add_up(frame + FRAME_HEADER, WTL_PAGE_BYTES, sums);
	put_number(frame + 16, sums[0]);
	put_number(frame + 20, sums[1]);
}

static void begin_wal(void)
{
	uint32_t sums[2] = {0, 0};

	put_number(live.wal, 0x377f0682); /* checksums of little endian words */
	put_number(live.wal + 4, 3007000);
	put_number(live.wal + 8, WTL_PAGE_BYTES);
	put_number(live.wal + 12, 0);
	put_number(live.wal + 16, ++live.salt);
	put_number(live.wal + 20, 7);
	add_up(live.wal, 24, sums);
	put_number(live.wal + 24, sums[0]);
	put_number(live.wal + 28, sums[1]);
	live.wal_len = WAL_HEADER;
}

/* Makes the checksums fit from that frame on. */
static void seal_from(size_t at)
{
	uint32_t sums[2];

	for (; at + FRAME <= live.wal_len; at += FRAME) {
		const uint8_t *before = live.wal + (at == WAL_HEADER ? 24 : at - FRAME + 16);

		sums[0] = get_number(before);
		sums[1] = get_number(before + 4);
		seal_frame(live.wal + at, sums);
	}
}

static bool is_changed(const uint8_t *image, size_t len, size_t page)
{
	size_t at = page * WTL_PAGE_BYTES;

	(void)len;
	return at >= live.image_len || memcmp(image + at, live.image + at, WTL_PAGE_BYTES) != 0;
}

/* The database is marked as one with a WAL. */
static uint8_t *image_now(size_t *ret_len)
{
	uint8_t *image = recording_image(ret_len);

	image[18] = image[19] = 2;
	return image;
}

static void commit(void)
{
	size_t len, first = live.wal_len;
	uint8_t *image = image_now(&len), *frame = NULL;

	for (size_t i = 0; i < len / WTL_PAGE_BYTES; i++) {
		if (!is_changed(image, len, i) || live.wal_len + FRAME > sizeof(live.wal))
			continue;
		frame = live.wal + live.wal_len;
		live.wal_len += FRAME;
		put_number(frame, (uint32_t)i + 1);
		put_number(frame + 4, 0);
		memcpy(frame + 8, live.wal + 16, 8);
		memcpy(frame + FRAME_HEADER, image + i * WTL_PAGE_BYTES, WTL_PAGE_BYTES);
	}
	if (frame)
		put_number(frame + 4, (uint32_t)(len / WTL_PAGE_BYTES));
	seal_from(first);
	sqlite3_free(live.image);
	live.image = image;
	live.image_len = len;
}

static void checkpoint(void)
{
	size_t len;
	uint8_t *image = image_now(&len);

	sqlite3_free(live.database);
	sqlite3_free(live.image);
	live.database = image;
	live.database_len = live.image_len = len;
	live.image = sqlite3_malloc64(len);
	check(live.image != NULL);
	memcpy(live.image, image, len);
	begin_wal();
}

static void show(void)
{
	memvfs_database = (struct memvfs_file){live.database, live.database_len};
	memvfs_wal = (struct memvfs_file){live.wal, live.wal_len};
}

/* ---- What happens ---- */

static void open_reader(bool lets_go)
{
	struct wtl_err err = {.text = ""};

	show();
	if (live.reader)
		return;
	if (wtl_reader_open(memvfs_path(), true, &live.reader, &err) < 0) {
		check(err.text[0] && !live.reader);
		return;
	}
	if (lets_go)
		check(wtl_reader_let_go(live.reader) == 0);
}

static void change_byte(const struct recording_row *row, bool fits)
{
	size_t at, frame;

	if (row->len < 4 || live.wal_len <= WAL_HEADER)
		return;
	at = (row->data[0] | (size_t)row->data[1] << 8 | (size_t)row->data[2] << 16) % live.wal_len;
	live.wal[at] = row->data[3];
	if (!fits || at < WAL_HEADER)
		return;
	frame = WAL_HEADER + (at - WAL_HEADER) / FRAME * FRAME;
	seal_from(frame);
}

static void act(const struct recording_row *row)
{
	switch ((enum action)(row->what % ACTIONS)) {
	case COMMIT:
		commit();
		break;
	case CHECKPOINT:
		checkpoint();
		break;
	case OPEN:
		open_reader(row->what / ACTIONS % 8 == 7);
		break;
	case DROP:
		recording_run("DELETE FROM chunk WHERE id >> 16 <= ?", row->what / ACTIONS);
		recording_run("DELETE FROM period WHERE id <= ?", row->what / ACTIONS);
		break;
	case FLIP:
		change_byte(row, false);
		break;
	case FORGE:
		change_byte(row, true);
		break;
	case CUT:
		if (row->len >= 3)
			live.wal_len -= (row->data[0] | (size_t)row->data[1] << 8 |
					 (size_t)row->data[2] << 16) %
					(live.wal_len - WAL_HEADER + 1);
		break;
	case ACTIONS:
		break;
	}
	show();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned parts = size % 4 ? RECORDING_VALUES : RECORDING_TABLES;
	struct recording_row row;

	recording_begin();
	live.salt = 0;
	checkpoint();
	while (recording_next_row(&data, &size, &row)) {
		if (row.has_action)
			act(&row);
		else
			recording_put_row(&row);
	}
	open_reader(false);
	if (live.reader)
		recording_read_parts(live.reader, parts);
	wtl_store_close(live.reader);
	live.reader = NULL;
	check(memvfs_is_closed());
	sqlite3_free(live.database);
	sqlite3_free(live.image);
	live.database = live.image = NULL;
	memvfs_wal.bytes = NULL;
	memvfs_database.bytes = NULL;
	recording_forget();
	return 0;
}
