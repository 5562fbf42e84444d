/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "energy/units.h"
#include "record/database.h"
#include "record/reader.h"

enum {
	CACHE_KIB = 1024,    /* chunks are read once each, in order: more was no faster */
	FACTS_MAX = 1 << 17, /* twice the names of what an agent pushes (serve/push_rows.h) */
	HEADER_SIZE = 100,   /* of an SQLite database: see its file format, 1.3 */
	HEADER_VERSION_AT = 60,
	HEADER_APPLICATION_AT = 68,
};

static int complain(const struct wtl_store_reader *reader, int code, struct wtl_err *err,
		    const char *text)
{
	return wtl_err_set(err, code, "record", wtl_database_path_shown(reader->path), "%s", text);
}

/* ---- Is it one? ---- */

static uint32_t header_number(const uint8_t *header, size_t at)
{
	return (uint32_t)header[at] << 24 | (uint32_t)header[at + 1] << 16 |
	       (uint32_t)header[at + 2] << 8 | header[at + 3];
}

static int check_header(const struct wtl_store_reader *reader, const uint8_t *header,
			struct wtl_err *err)
{
	uint32_t version = header_number(header, HEADER_VERSION_AT);

	if (memcmp(header, "SQLite format 3", 16) != 0)
		return complain(reader, WTL_EFORMAT, err,
				"not a recording: it is no SQLite database, or an encrypted one");
	if (header_number(header, HEADER_APPLICATION_AT) != WTL_APPLICATION_ID)
		return complain(reader, WTL_EFORMAT, err,
				"not a recording: it is the database of another program");
	if (version > WTL_FORMAT_VERSION)
		return wtl_err_set(err, WTL_EFORMAT, "record",
				   wtl_database_path_shown(reader->path),
				   "a recording of format %u, by a newer wattle: this one reads "
				   "formats up to %d",
				   version, WTL_FORMAT_VERSION);
	if (version == 0)
		return complain(reader, WTL_EFORMAT, err, "a recording that was never begun");
	return 0;
}

/* By SQLite's own handle: closing another one of the same file would give its locks back. */
static int read_header(struct wtl_store_reader *reader, struct wtl_err *err)
{
	uint8_t header[HEADER_SIZE];
	sqlite3_file *file = NULL;
	sqlite3_int64 size = 0;
	int rc = sqlite3_file_control(reader->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);

	if (rc == SQLITE_OK && (!file || !file->pMethods))
		rc = SQLITE_CANTOPEN;
	if (rc == SQLITE_OK)
		rc = file->pMethods->xFileSize(file, &size);
	if (rc == SQLITE_OK && size == 0)
		return complain(reader, WTL_EFORMAT, err, "not a recording: it is empty");
	if (rc == SQLITE_OK && size < HEADER_SIZE)
		return complain(reader, WTL_EFORMAT, err, "not a recording: it is too short");
	if (rc == SQLITE_OK)
		rc = file->pMethods->xRead(file, header, HEADER_SIZE, 0);
	return rc ? wtl_reader_complain(reader, rc, err) : check_header(reader, header, err);
}

/* ---- Connections ---- */

/* The newest commit, as of now and until the end; and its schema, which nothing may have read before. */
static int begin_snapshot(sqlite3 *db)
{
	int rc = sqlite3_exec(db, "BEGIN; PRAGMA main.user_version", NULL, NULL, NULL);

	if (rc != SQLITE_OK && !sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

/* The snapshot lies in the file and its WAL as they are now, whatever a writer does. */
static int check_snapshot(struct wtl_store_reader *reader, struct wtl_err *err)
{
	char sql[64];
	int rc = wtl_reader_check_schema(reader, err);

	if (rc < 0)
		return rc;
	wtl_guard_allow(&reader->guard, reader->db, wtl_database_bytes(reader->path));
	snprintf(sql, sizeof(sql), "PRAGMA cache_size=-%d", CACHE_KIB);
	sqlite3_exec(reader->db, sql, NULL, NULL, NULL);
	return 0;
}

/* "file:…?immutable=1" (free()): for where neither lock nor WAL can be had, as in a directory that is
 * closed to us. What is only in the WAL is not seen then. */
static char *immutable_uri(const char *path)
{
	static const char hex[] = "0123456789abcdef";
	char *uri = malloc(3 * strlen(path) + 32), *to = uri;

	if (!uri)
		return NULL;
	to = stpcpy(to, "file:");
	for (; *path; path++) {
		if (strchr("?#%", *path)) {
			*to++ = '%';
			*to++ = hex[(unsigned char)*path >> 4];
			*to++ = hex[*path & 15];
		} else {
			*to++ = *path;
		}
	}
	strcpy(to, "?immutable=1");
	return uri;
}

static int connect(struct wtl_store_reader *reader, const char *name, int flags,
		   struct wtl_err *err)
{
	int rc = sqlite3_open_v2(name, &reader->db,
				 SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | flags, NULL);

	if (rc == SQLITE_OK)
		rc = wtl_guard_set(&reader->guard, reader->db);
	return rc ? wtl_reader_complain(reader, rc, err) : read_header(reader, err);
}

static int open_database(struct wtl_store_reader *reader, struct wtl_err *err)
{
	char *uri;
	int rc = connect(reader, reader->path, 0, err), code;

	if (rc < 0)
		return rc;
	code = begin_snapshot(reader->db);
	if (code == SQLITE_OK)
		return check_snapshot(reader, err);
	if ((code & 0xff) != SQLITE_CANTOPEN && (code & 0xff) != SQLITE_READONLY)
		return wtl_reader_complain(reader, code, err);
	sqlite3_close(reader->db);
	reader->db = NULL;
	reader->lacks_wal = wtl_database_has_wal(reader->path);
	reader->is_damaged = reader->lacks_wal;
	uri = immutable_uri(reader->path);
	if (!uri)
		return complain(reader, ENOMEM, err, "out of memory");
	rc = connect(reader, uri, SQLITE_OPEN_URI, err);
	free(uri);
	if (rc < 0)
		return rc;
	code = begin_snapshot(reader->db);
	return code ? wtl_reader_complain(reader, code, err) : check_snapshot(reader, err);
}

/* ---- What is known from the beginning ---- */

static int take_recording(void *context, const void *row)
{
	struct wtl_store_reader *reader = context;

	reader->recording = *(const struct wtl_row_recording *)row;
	return 0;
}

/* A row that does not fit the others: its name or number is another row's, or before the first. */
static int note_misfit(struct wtl_store_reader *reader, const struct wtl_table *table)
{
	reader->is_damaged = true;
	reader->misfit = table;
	return 0;
}

static int take_series(void *context, const void *at)
{
	struct wtl_store_reader *reader = context;
	const struct wtl_row_series *row = at;
	int rc = wtl_names_add(&reader->names, row->id, row->name);

	return rc < 0 && rc != -ENOMEM ? note_misfit(reader, &wtl_table_series) : rc;
}

static int take_fact(void *context, const void *at)
{
	struct wtl_store_reader *reader = context;
	const struct wtl_row_fact *row = at;
	struct wtl_fact *fact;

	if (reader->n_facts == FACTS_MAX)
		return 0;
	if (wtl_array_reserve(&reader->facts, &reader->facts_room, reader->n_facts + 1,
			      sizeof(reader->facts[0])) < 0)
		return -ENOMEM;
	fact = &reader->facts[reader->n_facts++];
	fact->key = strdup(row->key);
	fact->value = strdup(row->value);
	return fact->key && fact->value ? 0 : -ENOMEM;
}

static int by_key(const void *a, const void *b)
{
	const struct wtl_fact *left = a, *right = b;

	return strcmp(left->key, right->key);
}

static int add_period(struct wtl_store_reader *reader, const struct wtl_read_period *period)
{
	if (wtl_array_reserve(&reader->periods, &reader->periods_room, reader->n_periods + 1,
			      sizeof(reader->periods[0])) < 0)
		return -ENOMEM;
	reader->periods[reader->n_periods++] = *period;
	return 0;
}

/* Where periods are missing, from `first` on and up to the given one. */
static int add_hole(struct wtl_store_reader *reader, int64_t first, int64_t end_mono_ns,
		    int64_t end_utc_ns)
{
	struct wtl_read_period hole = {.id = first, .is_lost = true};

	hole.times = (struct wtl_store_period){reader->recording.begin_mono_ns, end_mono_ns,
					       reader->recording.begin_utc_ns, end_utc_ns};
	if (reader->n_periods > 0) {
		hole.times.begin_mono_ns = reader->periods[reader->n_periods - 1].times.end_mono_ns;
		hole.times.begin_utc_ns = reader->periods[reader->n_periods - 1].times.end_utc_ns;
	}
	reader->is_damaged = true;
	return add_period(reader, &hole);
}

/* Only a ring drops what was first. */
static bool is_ring(const struct wtl_store_reader *reader)
{
	return reader->recording.max_age_ns > 0 || reader->recording.max_bytes > 0;
}

/* The number that the next period should have. */
static int64_t next_id(const struct wtl_store_reader *reader, int64_t otherwise)
{
	if (reader->n_periods > 0)
		return reader->periods[reader->n_periods - 1].id + 1;
	if (reader->recording.is_whole)
		return reader->recording.first_period;
	return is_ring(reader) ? otherwise : 1;
}

static int take_period(void *context, const void *at)
{
	struct wtl_store_reader *reader = context;
	const struct wtl_row_period *row = at;
	struct wtl_read_period period = {
		.id = row->id,
		.n_parts = row->parts,
		.times = {row->begin_mono_ns, row->end_mono_ns, row->begin_utc_ns, row->end_utc_ns},
	};
	int64_t expected = next_id(reader, row->id);
	int rc = 0;

	if (row->id < expected)
		return note_misfit(reader, &wtl_table_period);
	if (row->id > expected)
		rc = add_hole(reader, expected, row->begin_mono_ns, row->begin_utc_ns);
	return rc < 0 ? rc : add_period(reader, &period);
}

/* The last ones may be missing too. */
static int end_periods(struct wtl_store_reader *reader)
{
	const struct wtl_row_recording *recording = &reader->recording;
	int64_t expected = next_id(reader, 0);

	if (!recording->is_whole || recording->last_period < expected)
		return 0;
	return add_hole(reader, expected, recording->end_mono_ns, recording->end_utc_ns);
}

static int read_tables(struct wtl_store_reader *reader, struct wtl_err *err)
{
	static const struct {
		const struct wtl_table *table;
		int (*row)(void *, const void *);
	} all[] = {
		{&wtl_table_recording, take_recording},
		{&wtl_table_series, take_series},
		{&wtl_table_fact, take_fact},
		{&wtl_table_period, take_period},
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(all) / sizeof(all[0]); i++) {
		const struct wtl_scan scan = {.row = all[i].row, .context = reader};

		rc = wtl_reader_scan(reader, all[i].table, &scan);
	}
	if (rc == 0)
		rc = end_periods(reader);
	if (rc < 0)
		return wtl_err_set(err, rc, "record", wtl_database_path_shown(reader->path),
				   rc == -EBADMSG ? "its tables are not those of a recording"
						  : "it cannot be read: %s",
				   wtl_err_text(rc));
	if (reader->n_facts > 0)
		qsort(reader->facts, reader->n_facts, sizeof(reader->facts[0]), by_key);
	reader->series = calloc(reader->names.n + 1, sizeof(reader->series[0]));
	if (!reader->series)
		return complain(reader, ENOMEM, err, "out of memory");
	return 0;
}

/* ---- Opening and closing ---- */

/*
 * SQLite opens these by itself, takes what is in them for a part of the recording, and would wait for ever where one is
 * a pipe. In a directory that several may write to, anybody can put them there.
 */
static int check_beside(const struct wtl_store_reader *reader, struct wtl_err *err)
{
	static const char *const ends[] = {"-wal", "-shm", "-journal"};
	const char *shown = wtl_database_path_shown(reader->path);

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		char *beside;
		struct stat st, own;
		bool is_other;

		if (asprintf(&beside, "%s%s", reader->path, ends[i]) < 0)
			return complain(reader, ENOMEM, err, "out of memory");
		is_other = lstat(beside, &st) == 0;
		free(beside);
		if (!is_other)
			continue;
		if (!S_ISREG(st.st_mode))
			return wtl_err_set(err, WTL_EFORMAT, "record", shown,
					   "not a recording: %s%s beside it is no regular file",
					   shown, ends[i]);
		if (stat(reader->path, &own) == 0 && (own.st_uid != st.st_uid || st.st_nlink > 1))
			return wtl_err_set(
				err, WTL_EFORMAT, "record", shown,
				"not read: %s%s beside it is %s, and SQLite would take it "
				"for a part of this recording: remove it",
				shown, ends[i],
				own.st_uid != st.st_uid ? "another user's"
							: "a file with several names");
	}
	return 0;
}

static int check_kind(const struct wtl_store_reader *reader, struct wtl_err *err)
{
	struct stat st;

	if (stat(reader->path, &st) < 0)
		return wtl_err_set(err, errno, "record", wtl_database_path_shown(reader->path),
				   "it cannot be read: %s", wtl_err_text(errno));
	if (S_ISDIR(st.st_mode))
		return complain(reader, EISDIR, err, "not a recording: it is a directory");
	if (!S_ISREG(st.st_mode))
		return complain(reader, WTL_EFORMAT, err, "not a recording: it is no regular file");
	return check_beside(reader, err);
}

int wtl_reader_open(const char *path, bool holds, struct wtl_store_reader **ret_reader,
		    struct wtl_err *err)
{
	struct wtl_store_reader *reader = calloc(1, sizeof(*reader));
	int rc;

	if (!reader)
		return wtl_err_set(err, ENOMEM, "record", path, "out of memory");
	reader->period = reader->values_of = SIZE_MAX;
	reader->path = wtl_database_path(path);
	rc = reader->path ? check_kind(reader, err)
			  : wtl_err_set(err, ENOMEM, "record", path, "out of memory");
	if (rc == 0)
		rc = open_database(reader, err);
	if (rc == 0)
		rc = read_tables(reader, err);
	if (rc == 0) {
		reader->is_live =
			!reader->recording.is_whole && wtl_database_is_locked(reader->path);
		if (reader->is_live && !holds && wtl_reader_let_go(reader) < 0)
			rc = complain(reader, ENOMEM, err, "out of memory");
	}
	if (rc < 0) {
		if (err)
			wtl_text_clean(err->path, sizeof(err->path), path, strlen(path));
		wtl_store_close(reader);
		return rc;
	}
	*ret_reader = reader;
	return 0;
}

int wtl_store_open(const char *path, struct wtl_store_reader **ret_reader, struct wtl_err *err)
{
	return wtl_reader_open(path, false, ret_reader, err);
}

void wtl_store_close(struct wtl_store_reader *reader)
{
	if (!reader)
		return;
	wtl_reader_forget_period(reader);
	wtl_rows_done(&reader->period_rows);
	wtl_rows_done(&reader->chunk_rows);
	wtl_rows_done(&reader->part_rows);
	for (size_t i = 0; i < WTL_TABLES; i++)
		wtl_buf_done(&reader->copies[i]);
	sqlite3_close(reader->db);
	for (size_t i = 0; i < reader->n_periods; i++) {
		wtl_read_parts_clear(&reader->periods[i].parts);
		free(reader->periods[i].parts.list);
	}
	for (size_t i = 0; i < reader->n_facts; i++) {
		free(reader->facts[i].key);
		free(reader->facts[i].value);
	}
	for (size_t i = 0; reader->series && i < reader->names.n; i++)
		free(reader->series[i].values);
	wtl_names_done(&reader->names);
	free(reader->facts);
	free(reader->periods);
	free(reader->counts);
	free(reader->parts.list);
	free(reader->series);
	free(reader->block);
	ZSTD_freeDCtx(reader->zstd);
	free(reader->path);
	free(reader);
}

/* ---- Answers ---- */

bool wtl_store_is_whole(const struct wtl_store_reader *reader)
{
	return reader->recording.is_whole;
}

int wtl_store_pid(const struct wtl_store_reader *reader)
{
	return reader->recording.pid;
}

bool wtl_store_is_live(const struct wtl_store_reader *reader)
{
	return reader->is_live;
}

bool wtl_store_is_damaged(const struct wtl_store_reader *reader)
{
	return reader->is_damaged;
}

bool wtl_store_lacks_wal(const struct wtl_store_reader *reader)
{
	return reader->lacks_wal;
}

bool wtl_store_has_dropped(const struct wtl_store_reader *reader)
{
	return is_ring(reader) && reader->n_periods > 0 && reader->periods[0].id > 1;
}

size_t wtl_store_periods(const struct wtl_store_reader *reader)
{
	return reader->n_periods;
}

int wtl_store_period(const struct wtl_store_reader *reader, size_t i,
		     struct wtl_store_period *ret_period)
{
	if (i >= reader->n_periods)
		return -ERANGE;
	*ret_period = reader->periods[i].times;
	return 0;
}

int64_t wtl_store_find(const struct wtl_store_reader *reader, const char *name)
{
	return wtl_names_find(&reader->names, name);
}

size_t wtl_store_n_series(const struct wtl_store_reader *reader)
{
	return reader->names.n;
}

const char *wtl_store_series_name(const struct wtl_store_reader *reader, size_t series)
{
	return series < reader->names.n ? reader->names.names[series] : "";
}

static int is_key(const void *key, const void *at)
{
	const struct wtl_fact *fact = at;

	return strcmp(key, fact->key);
}

const char *wtl_store_get_fact(struct wtl_store_reader *reader, const char *key)
{
	const struct wtl_fact *found = NULL;

	if (reader->n_facts > 0)
		found = bsearch(key, reader->facts, reader->n_facts, sizeof(*found), is_key);
	return found ? found->value : NULL;
}
