/* SPDX-License-Identifier: MIT */
/*
 * Recordings with anything in them: rows are what the input says (recording.h), and their checksums fit. The size of
 * the input says how it is read. fuzz_schema.c has the file's other bytes.
 */
#include <stdint.h>

#include "memvfs.h"
#include "recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t way = size % 24; /* the slow ones are rare */
	struct recording_row row;

	recording_begin();
	while (recording_next_row(&data, &size, &row))
		recording_put_row(&row);
	memvfs_database.bytes = recording_image(&memvfs_database.len);
	recording_read(way);
	sqlite3_free(memvfs_database.bytes);
	memvfs_database.bytes = NULL;
	recording_forget();
	return 0;
}
