/* SPDX-License-Identifier: MIT */
/*
 * Recordings with anything in them. Input that begins as an SQLite database is one, as it is. Else a
 * recording is made in which rows are what the input says (recording.h). The size of the input says how it is
 * read.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "memvfs.h"
#include "recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t *make(const uint8_t *data, size_t size, size_t *ret_len)
{
	struct recording_row row;
	uint8_t *bytes;

	while (recording_next_row(&data, &size, &row))
		recording_put_row(&row);
	bytes = recording_image(ret_len);
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t way = size;
	uint8_t *bytes;

	recording_begin();
	if (size >= 6 && memcmp(data, "SQLite", 6) == 0) {
		bytes = sqlite3_malloc64(size);
		if (!bytes)
			abort();
		memcpy(bytes, data, size);
		memvfs_database.len = size;
	} else {
		bytes = make(data, size, &memvfs_database.len);
	}
	memvfs_database.bytes = bytes;
	recording_read(way);
	memvfs_database.bytes = NULL;
	sqlite3_free(bytes);
	recording_forget();
	return 0;
}
