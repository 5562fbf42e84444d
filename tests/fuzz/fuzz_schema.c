/* SPDX-License-Identifier: MIT */
/*
 * Recordings whose schema or pages are somebody else's. The input is lines:
 *   TABLE|SQL                  the table's text becomes that; without a text it goes
 *   +TYPE|NAME|TABLE|ROOT|SQL  one more entry of the schema, whose first page is that of the table ROOT, or a number
 *   @OFFSET|HEX                bytes of the file
 *   !LENGTH|                   it ends there
 * '~' in a text is a newline. There are some rows in it, so that what the schema promises is asked for.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memvfs.h"
#include "recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINES_MAX = 32, PARTS_MAX = 5, PATCHES_MAX = 8 };

struct patch {
	size_t at, len;
	uint8_t bytes[64];
};

static struct patch patches[PATCHES_MAX];
static size_t n_patches, cut_at;
static sqlite3_stmt *change, *drop, *add, *find;

static void check(int good)
{
	if (!good)
		abort();
}

static void prepare(sqlite3 *db)
{
	if (change)
		return;
	check(sqlite3_prepare_v2(db, "UPDATE sqlite_schema SET sql=?2 WHERE name=?1", -1, &change,
				 NULL) == SQLITE_OK);
	check(sqlite3_prepare_v2(db, "DELETE FROM sqlite_schema WHERE name=?1", -1, &drop, NULL) ==
	      SQLITE_OK);
	check(sqlite3_prepare_v2(db, "INSERT INTO sqlite_schema VALUES(?1,?2,?3,?4,?5)", -1, &add,
				 NULL) == SQLITE_OK);
	check(sqlite3_prepare_v2(db, "SELECT rootpage FROM sqlite_schema WHERE name=?1", -1, &find,
				 NULL) == SQLITE_OK);
}

static void run(sqlite3_stmt *stmt, char *const texts[], int n)
{
	for (int i = 0; i < n; i++)
		sqlite3_bind_text(stmt, i + 1, texts[i], -1, SQLITE_STATIC);
	sqlite3_step(stmt);
	sqlite3_reset(stmt);
}

static long long root_of(char *text)
{
	long long page = strtoll(text, NULL, 10);

	sqlite3_bind_text(find, 1, text, -1, SQLITE_STATIC);
	if (sqlite3_step(find) == SQLITE_ROW)
		page = sqlite3_column_int64(find, 0);
	sqlite3_reset(find);
	return page;
}

static void add_patch(const char *at, const char *hex)
{
	struct patch *patch = &patches[n_patches];
	unsigned byte;

	if (n_patches == PATCHES_MAX)
		return;
	patch->at = strtoull(at, NULL, 10);
	for (patch->len = 0; patch->len < sizeof(patch->bytes) && hex[0] && hex[1]; hex += 2) {
		if (sscanf(hex, "%2x", &byte) != 1)
			break;
		patch->bytes[patch->len++] = (uint8_t)byte;
	}
	n_patches++;
}

static void take_line(char *line)
{
	char *parts[PARTS_MAX] = {line};
	int n = 1, most = line[0] == '+' ? PARTS_MAX : 2;

	for (char *at = line; *at; at++) {
		if (*at == '|' && n < most) {
			*at = '\0';
			parts[n++] = at + 1;
		} else if (*at == '~') {
			*at = '\n';
		}
	}
	if (line[0] == '@' && n == 2) {
		add_patch(line + 1, parts[1]);
	} else if (line[0] == '!' && n == 2) {
		cut_at = strtoull(line + 1, NULL, 10);
	} else if (line[0] == '+' && n == PARTS_MAX) {
		long long page = root_of(parts[3]);

		parts[0]++;
		sqlite3_bind_text(add, 5, parts[4], -1, SQLITE_STATIC);
		sqlite3_bind_int64(add, 4, page);
		run(add, parts, 3);
	} else if (n == 2) {
		run(parts[1][0] ? change : drop, parts, parts[1][0] ? 2 : 1);
	}
}

static void put_rows(void)
{
	static const uint8_t block[] = {1, 2, 3, 4};
	const struct wtl_row_fact fact = {.key = "host", .value = "name"};
	const struct wtl_row_domain domain = {.id = 0, .domain = {.name = "package-0"}};
	const struct wtl_row_period period = {.id = 1, .parts = 1, .end_mono_ns = 1};
	const struct wtl_row_part part = {.id = 1 << 16, .data = {block, sizeof(block)}};
	const struct wtl_row_chunk chunk = {.id = 1 << 16, .n = 1, .size = 1, .data = {block, 1}};
	const struct wtl_row_window window = {.stored = {.id = 1, .name = "whole"}};
	const struct wtl_row_energy energy = {.window = 1, .domain = -1};

	recording_put(&wtl_table_fact, &fact);
	recording_put(&wtl_table_domain, &domain);
	recording_put(&wtl_table_period, &period);
	recording_put(&wtl_table_part, &part);
	recording_put(&wtl_table_chunk, &chunk);
	recording_put(&wtl_table_window, &window);
	recording_put(&wtl_table_energy, &energy);
}

static void apply_patches(struct memvfs_file *file)
{
	for (size_t i = 0; i < n_patches; i++) {
		const struct patch *patch = &patches[i];

		if (patch->at < file->len && patch->len <= file->len - patch->at)
			memcpy(file->bytes + patch->at, patch->bytes, patch->len);
	}
	n_patches = 0;
	if (cut_at > 0 && cut_at < file->len)
		file->len = cut_at;
	cut_at = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *rest = text, *line;

	check(text != NULL);
	prepare(recording_begin());
	put_rows();
	for (int i = 0; i < LINES_MAX && (line = strsep(&rest, "\n")); i++)
		take_line(line);
	memvfs_database.bytes = recording_image(&memvfs_database.len);
	apply_patches(&memvfs_database);
	recording_read(size % 16);
	sqlite3_free(memvfs_database.bytes);
	memvfs_database.bytes = NULL;
	recording_forget();
	free(text);
	return 0;
}
