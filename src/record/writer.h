/* SPDX-License-Identifier: MIT */
#ifndef WTL_RECORD_WRITER_H
#define WTL_RECORD_WRITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "base/err.h"
#include "record/database.h"
#include "record/names.h"
#include "record/store.h"
#include "record/table.h"
#include "record/vfs.h"

/* The parts of a writer, for write.c (what callers do), write_create.c (its files), write_file.c (the
 * database), write_thread.c (a commit), write_stretch.c (what it is made of), write_merge.c (a period's end) and
 * write_ring.c (what is dropped). */

enum {
	WTL_STATEMENTS_MAX = WTL_TABLES + 1, /* each table's, and that of consumers' ends */
};

/* What the names of a recording's files end in: "" for itself, then of those that SQLite has beside it. */
enum { WTL_FILE_WAL = 1, WTL_FILE_SHM, WTL_FILE_JOURNAL, WTL_FILE_ENDS };
extern const char *const wtl_file_ends[WTL_FILE_ENDS];

/* ---- A stretch: what was put between two commits ---- */

struct wtl_stretch {
	struct wtl_value_run *runs; /* by series */
	size_t n_runs, runs_room;
	struct wtl_buf rows; /* packed, in order */
	size_t n_rows;
	size_t grown_bytes;	/* of runs beyond what is kept ready */
	bool is_lost;		/* memory ran out: the values are not written */
	struct wtl_row_gap gap; /* the row for it */
	bool ends_period;
	int64_t begin_mono_ns, begin_utc_ns, end_mono_ns, end_utc_ns;
};

/* ---- The database ---- */

struct wtl_file {
	char *path; /* where this process has rights that others' lack: by the folder's descriptor */
	char *shown;						  /* as it was given */
	int folder;						  /* or -1 */
	sqlite3_vfs *vfs;					  /* for such a path, or NULL */
	struct wtl_io *io;					  /* may be NULL */
	int (*guard)(void (*work)(void *context), void *context); /* may be NULL */
	int fault; /* of io, where it answered with an error, or of FILE-shm */
	sqlite3 *db;
	/* Its files, by WTL_FILE_WAL and so on: what they are called, and which ones they are. 0 has no name here. */
	char *names[WTL_FILE_ENDS];
	ino_t inodes[WTL_FILE_ENDS];
	mode_t mode;	    /* of itself; the others are its owner's alone */
	off_t shm_bytes;    /* it never gets smaller */
	int lock;	    /* a descriptor of FILE-wal, or -1 */
	uint64_t pages_max; /* 0: no limit */
	struct wtl_insert {
		const struct wtl_table *table;
		sqlite3_stmt *stmt;
	} inserts[WTL_STATEMENTS_MAX];
	sqlite3_stmt *begin, *commit;
};

/* Codes beside SQLite's own. */
enum {
	WTL_FILE_LIMIT = SQLITE_FULL | 100 << 8, /* the file would have more pages than it may */
	WTL_FILE_WAL_GONE = SQLITE_IOERR | 100 << 8, /* FILE-wal was removed, with nothing in it */
	WTL_FILE_SHM_CUT = SQLITE_IOERR | 101 << 8,  /* FILE-shm was truncated */
};

/* Creates the file, which must not be there, with its tables. 0, or negative with the reason; then
 * nothing of it is left. */
int wtl_file_create(struct wtl_file *file, const char *path,
		    const struct wtl_store_options *options,
		    const struct wtl_row_recording *recording, struct wtl_err *err);

/*
 * Everything that uses the connection is done by this, with the writer's guard. Returns what work() returned; or
 * WTL_FILE_SHM_CUT where it was ended in its middle: there is no connection any more, and its memory is left behind.
 */
int wtl_file_guarded(struct wtl_file *file, int (*work)(void *context), void *context);

/* These return SQLite's codes. */
int wtl_file_run(struct wtl_file *file, const char *sql);
int wtl_file_run_with(struct wtl_file *file, const char *sql, int64_t first, int64_t second);
int wtl_file_number(struct wtl_file *file, const char *sql, int64_t *ret_number); /* 0 for no row */
int wtl_file_put(struct wtl_file *file, const struct wtl_table *table, const void *row);
int wtl_file_begin(struct wtl_file *file);
/* Rolls back where so_far is not 0. WTL_FILE_LIMIT. */
int wtl_file_commit(struct wtl_file *file, int so_far);
/* From now on it has at most so many pages (0: no limit); where it has more already, it keeps those. */
int wtl_file_limit(struct wtl_file *file, uint64_t pages);

/* SQLite's journal_mode. SQLITE_BUSY where another connection keeps it from being set. */
int wtl_file_set_journal(struct wtl_file *file, const char *mode);

/* The negative errno that a code stands for. */
int wtl_file_errno(struct wtl_file *file, int code);
/* Says what a code means for the recording. Returns the negative errno. */
int wtl_file_complain(struct wtl_file *file, int code, struct wtl_err *err);

/* The size of FILE-wal. */
uint64_t wtl_file_wal_bytes(const struct wtl_file *file);
/* Empties it into the database, to nothing. SQLITE_BUSY_SNAPSHOT where a reader keeps it from that for so long. */
int wtl_file_empty_wal(struct wtl_file *file, int busy_ms);

/* Makes it one file again, and closes it. 1 where a file of SQLite's stays beside it, with the reason. */
int wtl_file_end(struct wtl_file *file, struct wtl_err *err);
/* is_intact false: what is in the WAL is left there. */
void wtl_file_disconnect(struct wtl_file *file, bool is_intact);
void wtl_file_close(struct wtl_file *file, bool is_intact);

/* ---- The blocks of a period, by series ---- */

struct wtl_gather {
	struct wtl_buf *blocks; /* each with its length before it */
	int64_t *counts;	/* of values */
	size_t n, blocks_room, counts_room;
	struct wtl_row_period period;
};

int wtl_gather_add(struct wtl_gather *gather, uint32_t series, const struct wtl_buf *block,
		   size_t n_values); /* 0 or -ENOMEM */
void wtl_gather_done(struct wtl_gather *gather);

/* What chunks are made with, and those that were. */
struct wtl_packer {
	struct wtl_row_chunk *chunks; /* data.data is set when they are written */
	size_t n_chunks, chunks_room;
	struct wtl_buf data; /* of all chunks */
	struct wtl_buf block;
	struct ZSTD_CCtx_s *zstd; /* NULL: not needed so far */
	int level;		  /* zstd's */
};

enum { WTL_PACKERS = 2 };

/* A period whose parts are being made chunks. */
struct wtl_merge {
	bool is_active;
	size_t next; /* series */
	struct wtl_gather gather;
	struct wtl_packer packers[WTL_PACKERS];
	int64_t *values;
	size_t values_room;
};

/* ---- The writer ---- */

struct wtl_store_writer {
	struct wtl_store_front put; /* of the front stretch */
	struct wtl_store_options options;
	/* The caller's. */
	struct wtl_names names;
	struct wtl_stretch *front;
	uint32_t n_gaps;
	bool is_stopped;
	bool is_last; /* the next commit is */
	int64_t period_begin_ns, last_mono_ns, last_utc_ns;
	bool has_begun;			     /* the three above mean something */
	int64_t asked_mono_ns, asked_utc_ns; /* of the newest commit, which may have been put off */
	uint64_t period_values;
	uint32_t period_commits;
	/* Both sides', under the lock. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct wtl_stretch
		*full; /* to be written; NULL: the thread has nothing to do with stretches */
	bool has_merge, is_ending;
	int error;	  /* the recording has stopped */
	bool leaves_more; /* it is whole, but err says why it is not one file */
	struct wtl_err err;
	uint64_t period_bytes;	     /* of the present period, about */
	uint64_t n_taken, n_written; /* stretches, since it was created */
	/* The thread's. */
	pthread_t thread;
	struct wtl_stretch stretches[2];
	struct wtl_file file;
	struct wtl_gather gather;
	struct wtl_buf part, block;
	struct wtl_merge merge;
	struct wtl_row_recording recording;
	int64_t next_period;  /* gather.period.id 0: it begins with the next values */
	int64_t now_mono_ns;  /* of the newest commit */
	bool has_dropped;     /* a period of a ring */
	bool is_over_now;     /* a ring's newest had no room: there is no limit until it has */
	_Atomic bool is_over; /* the same, at any time */
};

size_t wtl_writer_room(const struct wtl_store_writer *writer); /* values ready in a run */

/* The thread. */
void *wtl_writer_run(void *writer);
/* Until all that was committed is written, and no period is being merged. */
void wtl_writer_wait(struct wtl_store_writer *writer);

/* Runs that have grown far beyond that room are cut back to it. */
#define WTL_STRETCH_ROOM_ANY (SIZE_MAX / 8)
void wtl_stretch_clear(struct wtl_stretch *stretch, size_t room);
void wtl_stretch_done(struct wtl_stretch *stretch);

void wtl_merge_init(struct wtl_merge *merge);
/* Takes over the present period's blocks. 0 or SQLite's code. */
int wtl_merge_begin(struct wtl_store_writer *writer);
/* Goes on by one series, or writes all of them; is_active false: it is done. */
int wtl_merge_step(struct wtl_store_writer *writer);
/* Where the present period is one stretch: makes its chunks, puts them in a transaction, and ends the period once that is
 * committed. 0 or SQLite's code. */
int wtl_merge_whole(struct wtl_store_writer *writer, const struct wtl_stretch *stretch);
int wtl_merge_whole_put(struct wtl_store_writer *writer, const struct wtl_stretch *stretch);
void wtl_merge_whole_end(struct wtl_store_writer *writer);
/* Frees what it has; another one may begin. */
void wtl_merge_done(struct wtl_merge *merge);

/* Bytes of FILE-wal at which it is emptied and which it may have at most, and of a period at which it ends. */
uint64_t wtl_ring_wal_bytes(const struct wtl_store_options *options);
uint64_t wtl_ring_wal_bytes_max(const struct wtl_store_options *options);
uint64_t wtl_ring_period_bytes(const struct wtl_store_options *options);
/* Drops what is too old, or too much. 0 or SQLite's code. */
int wtl_ring_trim(struct wtl_store_writer *writer);

/*
 * A transaction, which begins and commits. Where a ring has no room for it, the oldest period goes, and it is tried
 * again; where only the newest period is left, the file may grow. Returns what the transaction returned.
 */
int wtl_ring_write(struct wtl_store_writer *writer,
		   int (*transaction)(struct wtl_store_writer *, void *), void *context);

#endif
