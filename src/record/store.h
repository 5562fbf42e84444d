/* SPDX-License-Identifier: MIT */
#ifndef WTL_RECORD_STORE_H
#define WTL_RECORD_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "base/io.h"
#include "energy/baseline.h"
#include "energy/catalog.h"
#include "energy/consumer.h"

struct wtl_err;

/*
 * A recording as a file: one SQLite database (docs/recording.md) with series of integers, which hold
 * whatever is sampled, and plain tables for whatever is named. What the series mean is for
 * src/replay/; this layer keeps them, and gives back what was put, to the bit.
 *
 * A recording is cut into *periods* of a minute or so. Within a period every series has its own
 * values, in the order in which they were put; all that lies between two commits is in one period.
 * A ring drops whole periods, oldest first, and rows that are of no other time. The newest two stay, unless there
 * is no room for what comes.
 */

enum { WTL_STORE_SERIES_MAX = 65536, WTL_STORE_NAME_SIZE = 96 };

/* ---- Times ---- */

/* Of CLOCK_MONOTONIC, 36 years; and UTC, about 146 around 1970: beyond these they are damaged ones; of others some can be
 * added, with 64 bits. */
#define WTL_STORE_MONO_MAX_NS (INT64_C(1) << 60)
#define WTL_STORE_UTC_MAX_NS  (INT64_C(1) << 62)
/* 13 days, more than any sensor's own times, or a read: they can be multiplied, too. */
#define WTL_STORE_SPAN_MAX_NS (INT64_C(1) << 50)

static inline bool wtl_store_is_mono(int64_t t_ns)
{
	return t_ns >= 0 && t_ns <= WTL_STORE_MONO_MAX_NS;
}

static inline bool wtl_store_is_utc(int64_t t_ns)
{
	return t_ns >= -WTL_STORE_UTC_MAX_NS && t_ns <= WTL_STORE_UTC_MAX_NS;
}

static inline bool wtl_store_is_span(int64_t span_ns)
{
	return span_ns >= 0 && span_ns <= WTL_STORE_SPAN_MAX_NS;
}

/* Of a sensor: negative where its readings come with their own times (struct wtl_sensor_class). */
static inline bool wtl_store_is_delay(int64_t delay_ns)
{
	return delay_ns >= -WTL_STORE_SPAN_MAX_NS && delay_ns <= WTL_STORE_SPAN_MAX_NS;
}

/* ---- Rows of the plain tables ---- */

/* The domain as it is shown (wattle_meter_domain()), and the channels that it is read from. */
struct wtl_stored_domain {
	char name[WTL_NAME_SIZE], inside[WTL_NAME_SIZE];
	char source[WTL_NAME_SIZE], device[128], reason[200], remedy[240];
	enum wattle_kind kind;
	enum wattle_method method;
	enum wattle_status status;
	bool in_total;
	int32_t primary, check; /* channels, or -1 */
};

/* Who had a slot from one scan to another (numbers of scans, from 0; last_look -1: still has). */
struct wtl_stored_consumer {
	uint32_t id; /* from 1, never used twice */
	uint32_t slot;
	int64_t first_look, last_look;
	char user[33];
	/* Of a row that was read, group points to .group and command to .command, or they are NULL.
	 * Of one to be written, group may point anywhere, and .group is not used. */
	struct wtl_consumer consumer;
	struct wtl_group group;
	char command[WTL_COMMAND_SIZE];
	struct wtl_per_cpu per_cpu; /* of one who is there at the end */
};

/* A named window. A ring keeps the first one (id 1), which is the recording's own. Figures are as of its
 * end, or of the newest commit while it is open. */
struct wtl_stored_window {
	uint32_t id; /* from 1 */
	char name[64];
	bool is_stacked, is_open;
	int32_t pid; /* of the process that marked it from outside; 0: from within */
	int64_t begin_utc_ns, begin_mono_ns, duration_ns;
	struct wattle_energy total;
	const struct wattle_energy *energies; /* one a domain; to be written, NULL: none has any */
	size_t n_energies;
};

enum wtl_gap_kind {
	WTL_GAP_SUSPEND,    /* the machine slept */
	WTL_GAP_CLOCK_STEP, /* UTC was set: nothing is missing, but it does not rise evenly */
	WTL_GAP_CHANNEL,    /* a channel could not be read */
	WTL_GAP_OVERRUN,    /* values came faster than they could be written; they are missing */
	WTL_GAP_EXITS,	    /* the kernel dropped exit records */
	WTL_GAP_DAMAGED,    /* in no file: a stretch of it that a reader could not read */
};

struct wtl_stored_gap {
	enum wtl_gap_kind kind;
	int64_t begin_mono_ns, duration_ns;
	char subject[WTL_NAME_SIZE]; /* the channel's domain, or "" */
	char text[200];
};

/* What a consumer has been billed for in a domain (struct wtl_share). A ring that drops anything drops all of
 * these. */
struct wtl_stored_account {
	uint32_t domain, consumer; /* consumer 0: unseen, see slot */
	uint32_t slot; /* a fixed one of energy/attribution.h where consumer is 0; else 0 */
	uint64_t full_uj;
	int64_t share_ns;
	uint64_t doubt_uj;
};

struct wtl_stored_baseline {
	uint32_t domain;
	struct wtl_baseline baseline;
};

/* ---- Writing ---- */

struct wtl_store_writer;

struct wtl_store_options {
	/* A ring: the file is never larger, at least 256000; 0: no limit. Only where the newest values and the processes
	 * that are there need more, it is, as long as that is so (wtl_store_is_over()). The -wal beside it has as much
	 * again at most, and never more than 64 MiB: where a transaction of another program keeps it from being
	 * emptied, the recording stops (-EBUSY). */
	uint64_t max_bytes;
	int busy_ms;	    /* such a transaction is waited for so long; 0: 10 s */
	int64_t max_age_ns; /* a ring of that length; 0: no limit */
	int64_t period_ns;  /* 0: a minute */
	bool in_haste; /* periods come one after the other: memory is kept, and packing is to be quick */
	uint32_t values_per_commit; /* room for so many values a series between two commits */
	struct wtl_io *io;	    /* asked before every write to the disk whether it is to fail */
	/* SQLite has FILE-shm in memory: where another process truncates that, touching it is a SIGBUS. This calls
	 * work(context), in any thread, and returns 0; or negative where such a signal ended that in its middle. NULL:
	 * the recording stops where the file is seen to be shorter, and a signal before that is the program's. */
	int (*guard)(void (*work)(void *context), void *context);
};

/*
 * Creates the file, which must not exist (-EEXIST), and holds it against other writers. A thread of its
 * own does all writing. 0 or negative with the reason in err.
 */
int wtl_store_create(const char *path, const struct wtl_store_options *options,
		     struct wtl_store_writer **ret_writer, struct wtl_err *err);

/* The number of the series of that name, made if need be. -ENOMEM, -E2BIG. Not for hot paths. */
int64_t wtl_store_series(struct wtl_store_writer *writer, const char *name);

/* The values of a series that are to be written. */
struct wtl_value_run {
	int64_t *values;
	size_t n, room;
};

/* What a writer begins with. */
struct wtl_store_front {
	struct wtl_value_run **runs; /* by series */
};

bool wtl_store_put_more(struct wtl_store_writer *writer, uint32_t series, int64_t value);

/*
 * Appends. Allocates nothing while no more than values_per_commit are put between two commits; past
 * that the buffer grows. false: no memory, and the value is lost (all of this commit's values are
 * then dropped together, and the gap noted).
 */
static inline bool wtl_store_put(struct wtl_store_writer *writer, uint32_t series, int64_t value)
{
	struct wtl_value_run *run = &(*((struct wtl_store_front *)writer)->runs)[series];

	if (run->n == run->room)
		return wtl_store_put_more(writer, series, value);
	run->values[run->n++] = value;
	return true;
}

/* Appends n values, which the caller puts where this points. NULL: as false above, of all of them. */
int64_t *wtl_store_put_many(struct wtl_store_writer *writer, uint32_t series, size_t n);

/* Something could not be kept for want of memory: the next commit is -ENOMEM. Returns that. */
int wtl_store_fail(struct wtl_store_writer *writer);

/* Rows: replace those of the same key (fact: key; domain, channel, miss: number; consumer, window:
 * id; account: domain and consumer). Written with the next commit. 0 or -ENOMEM, which the next commit says too. */
enum { WTL_FACT_SIZE = 8192 }; /* of a fact's value: longer ones are cut */
int wtl_store_fact(struct wtl_store_writer *writer, const char *key, const char *value);
int wtl_store_domain(struct wtl_store_writer *writer, uint32_t i, const struct wtl_stored_domain *);
int wtl_store_channel(struct wtl_store_writer *writer, uint32_t i, const struct wtl_channel *);
int wtl_store_miss(struct wtl_store_writer *writer, uint32_t i, const struct wtl_miss *);
int wtl_store_consumer(struct wtl_store_writer *writer, const struct wtl_stored_consumer *);
/* From that scan on, nobody has that consumer's slot. */
int wtl_store_consumer_end(struct wtl_store_writer *writer, uint32_t id, int64_t last_look);
int wtl_store_window(struct wtl_store_writer *writer, const struct wtl_stored_window *);
int wtl_store_gap(struct wtl_store_writer *writer, const struct wtl_stored_gap *);
int wtl_store_account(struct wtl_store_writer *writer, const struct wtl_stored_account *);
int wtl_store_baseline(struct wtl_store_writer *writer, const struct wtl_stored_baseline *);

/*
 * Hands all that was put since the last commit to the writing thread, as one transaction, with the
 * times at which the stretch ended; never waits for the disk: where the thread is still busy, the
 * stretch grows. Returns 1 where a new period begins with what is put next (its writer then tells anew
 * what only differences are put of, since the periods before it may be dropped or damaged), 0 where the
 * period goes on, or the error that stopped the recording (err says what): nothing is
 * written from then on, and what was committed before stays readable.
 */
int wtl_store_commit(struct wtl_store_writer *writer, int64_t t_mono_ns, int64_t t_utc_ns,
		     struct wtl_err *err);

/* Waits until what was committed is on the disk, or an error has stopped the recording. */
void wtl_store_wait(struct wtl_store_writer *writer);

/* Something was put since the newest commit, or is still to be handed over. */
bool wtl_store_has_more(const struct wtl_store_writer *writer);

/* A ring is, or was, larger than max_bytes, since what has to stay is. */
bool wtl_store_is_over(const struct wtl_store_writer *writer);

/*
 * Does what is left, waits for it, notes that the recording was ended properly (wtl_store_is_whole())
 * and frees the writer. NULL is fine. Returns 1 where all of that is so, but a file of SQLite's stays
 * beside it, with the reason in err: somebody is reading, or the disk is full.
 */
int wtl_store_end(struct wtl_store_writer *writer, struct wtl_err *err);

/* Removes a recording that nobody writes: the file, and what SQLite may have beside it. */
void wtl_store_remove(const char *path);

/* ---- Reading ---- */

struct wtl_store_reader;

/*
 * Opens for reading, also while another process writes: what is seen is the newest commit as of the
 * opening. It may stay open for as long as one likes: no transaction is held beside a writer. So a period
 * that a ring drops meanwhile is lost (wtl_store_values() says so), and what the writer may still change,
 * the tables and the newest period, is kept in memory. Refuses, with a line that says so: what is no
 * recording, one of a newer version, an encrypted one. An older version is understood. A damaged one opens
 * if its tables can be read at all.
 */
int wtl_store_open(const char *path, struct wtl_store_reader **ret_reader, struct wtl_err *err);
void wtl_store_close(struct wtl_store_reader *reader); /* NULL is fine */

/* false: the recording was cut off, or is being written. */
bool wtl_store_is_whole(const struct wtl_store_reader *reader);
bool wtl_store_is_live(const struct wtl_store_reader *reader); /* a writer holds it now */
int wtl_store_pid(const struct wtl_store_reader *reader);      /* of the process that wrote it */

/* Something was met, so far, that could not be read, and was passed over. */
bool wtl_store_is_damaged(const struct wtl_store_reader *reader);

/* It has a FILE-wal that cannot be read, so what was committed last is missing. */
bool wtl_store_lacks_wal(const struct wtl_store_reader *reader);

/* A ring has dropped periods: what was recorded goes on from the first one that there is. */
bool wtl_store_has_dropped(const struct wtl_store_reader *reader);

/* A period by its place from 0, oldest first; also a stretch where periods are missing, of which no
 * series can be read (-EBADMSG). */
struct wtl_store_period {
	int64_t begin_mono_ns, end_mono_ns, begin_utc_ns, end_utc_ns;
};
size_t wtl_store_periods(const struct wtl_store_reader *reader);
int wtl_store_period(const struct wtl_store_reader *reader, size_t i,
		     struct wtl_store_period *ret_period);

/* The series of that name: its number, or -ENOENT. */
int64_t wtl_store_find(const struct wtl_store_reader *reader, const char *name);
size_t wtl_store_n_series(const struct wtl_store_reader *reader);
const char *wtl_store_series_name(const struct wtl_store_reader *reader, size_t series);

/*
 * A series' values in a period: borrowed until the next call for the same series or another period, NULL
 * for none. A period has at most 16 million values.
 * -EBADMSG: they are damaged, or a ring has dropped the period since (err says which), and the rest of
 * the recording can still be read.
 */
int wtl_store_values(struct wtl_store_reader *reader, uint32_t series, size_t period,
		     const int64_t **ret_values, size_t *ret_n, struct wtl_err *err);

/* Tables: calls back for each row, in order of its key; strings and groups live as long as the call. A
 * callback that returns other than 0 ends it with that. */
const char *wtl_store_get_fact(struct wtl_store_reader *reader, const char *key); /* NULL: none */
int wtl_store_each_domain(struct wtl_store_reader *,
			  int (*row)(void *, uint32_t, const struct wtl_stored_domain *), void *);
int wtl_store_each_channel(struct wtl_store_reader *,
			   int (*row)(void *, uint32_t, const struct wtl_channel *), void *);
int wtl_store_each_miss(struct wtl_store_reader *,
			int (*row)(void *, uint32_t, const struct wtl_miss *), void *);
int wtl_store_each_consumer(struct wtl_store_reader *,
			    int (*row)(void *, const struct wtl_stored_consumer *), void *);
int wtl_store_each_window(struct wtl_store_reader *,
			  int (*row)(void *, const struct wtl_stored_window *), void *);
/* Without its figures, of which there may be a hundred times as many rows: damage to them stays unnoticed. */
int wtl_store_each_window_bare(struct wtl_store_reader *,
			       int (*row)(void *, const struct wtl_stored_window *), void *);
/* All of those figures, also of windows that there are none of: only for whether they are damaged. */
int wtl_store_look_at_energies(struct wtl_store_reader *);
int wtl_store_each_gap(struct wtl_store_reader *, int (*row)(void *, const struct wtl_stored_gap *),
		       void *);
int wtl_store_each_account(struct wtl_store_reader *,
			   int (*row)(void *, const struct wtl_stored_account *), void *);
int wtl_store_each_baseline(struct wtl_store_reader *,
			    int (*row)(void *, const struct wtl_stored_baseline *), void *);

/*
 * Reads everything, and names what is lost or damaged: a line each (table, series, period and its times).
 * Returns the number of lines, or negative when it cannot even be opened.
 */
int wtl_store_check(const char *path, void (*line)(void *context, const char *text), void *context,
		    struct wtl_err *err);

#endif
