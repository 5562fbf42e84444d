/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_TAPE_H
#define WTL_BASE_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/io.h"

/*
 * The text format that the recording and the replaying wtl_io share; docs/tape.md describes it for
 * people. A tape is a list of frames (what was read between two waits), a frame a list of records
 * (one answer of the outside world). Records about the same thing have the same key.
 */
struct wtl_err;

enum {
	WTL_TAPE_MAX = 64 << 20, /* bytes of a whole tape */
	WTL_TAPE_LINE_MAX = 1 << 20,
	WTL_TAPE_RECORDS_MAX = 2 << 20,
	WTL_TAPE_FRAMES_MAX = 1 << 20,
	WTL_TAPE_MEMORY_MAX = 1 << 20, /* bytes behind one argument of a library call */
};

/* The first byte of every key: what kind of thing it is about. */
enum wtl_tape_class {
	WTL_TAPE_FILE = 'F',
	WTL_TAPE_LINK = 'L',
	WTL_TAPE_DIR = 'D',
	WTL_TAPE_PERF = 'P',
	WTL_TAPE_LIB = 'H',
	WTL_TAPE_CALL = 'S',
	WTL_TAPE_WRITE = 'W',
	WTL_TAPE_NOTE = 'N',
	/* The key goes on with the PID (an int); with nothing: the answer to the whole question;
	 * with WTL_TAPE_CPU_MORE: a line that goes on with the question before. */
	WTL_TAPE_CPU = 'C',
	/* The datagrams' key has no more bytes; that of opening goes on with WTL_TAPE_EXITS_OPEN. */
	WTL_TAPE_EXITS = 'X',
};

#define WTL_TAPE_CPU_MORE   "&"
#define WTL_TAPE_EXITS_OPEN "open"
#define WTL_TAPE_PERF_TASK  "task=" /* a counter of a task, not of a CPU */

enum wtl_tape_kind {
	WTL_TAPE_OPEN, /* of a file, a perf counter or a library */
	WTL_TAPE_READ, /* everything else */
};

struct wtl_tape_frame {
	int64_t mono_ns;
	int64_t boot_ns;
	int64_t real_ns;
	int code; /* what the wait before it returned: 0 or a negative errno */
};

/*
 * data: a file's content, a link's target, names each ended by a NUL (directory entries, symbols),
 * what a library call left in its memory arguments (for each a uint32_t length and the bytes), a
 * datagram (none: there was none), what was written to a file, a note's text, or
 * of a counter of a task its struct wtl_perf_count.
 */
struct wtl_tape_record {
	int64_t offset_ns; /* since the frame's start */
	uint64_t value; /* a counter's value, a library's answer (as int64_t), or CPU time in ns */
	uint32_t frame;
	uint32_t
		ask; /* CPU time: the answer to which question for the process in its frame, from 1 */
	uint32_t key_at, key_len;
	uint32_t data_at, data_len;
	int code; /* 0 or a negative errno */
	enum wtl_tape_kind kind;
};

/* What the records of one key say, in the tape's order. */
struct wtl_tape_key {
	uint32_t first; /* into the tape's order */
	uint32_t n;
	uint32_t cursor; /* of n: the first one not used up */
	uint32_t asks;	 /* CPU time: questions in that frame so far */
	uint32_t asks_frame;
};

/* All of a tape, in memory. */
struct wtl_tape {
	struct wtl_buf frames;	/* of struct wtl_tape_frame */
	struct wtl_buf records; /* of struct wtl_tape_record, in the tape's order */
	struct wtl_buf bytes;	/* keys and data */
	struct wtl_buf keys;	/* of struct wtl_tape_key, sorted */
	uint32_t *order;	/* record numbers sorted by key, then place */
	size_t n_records;
	size_t n_frames;
	size_t n_keys;
};

/* An empty tape, for wtl_tape_parse(); NULL without memory. index: after the last record. */
struct wtl_tape *wtl_tape_new(void);
int wtl_tape_index(struct wtl_tape *tape);

/* Reading. text need not end with a NUL. -WTL_EFORMAT names the line in err->text. */
int wtl_tape_parse(const char *text, size_t len, struct wtl_tape **ret_tape, struct wtl_err *err);
int wtl_tape_load(const char *path, struct wtl_tape **ret_tape, struct wtl_err *err);
void wtl_tape_free(struct wtl_tape *tape);

const struct wtl_tape_frame *wtl_tape_frame(const struct wtl_tape *tape, size_t frame);

/* What a clock shows in a frame at that monotonic time. */
int64_t wtl_tape_clock_ns(const struct wtl_tape_frame *frame, enum wtl_clock clock,
			  int64_t t_mono_ns);

/* NULL when the tape knows nothing about the key. */
struct wtl_tape_key *wtl_tape_find(struct wtl_tape *tape, enum wtl_tape_class class,
				   const char *key, size_t len);

const struct wtl_tape_record *wtl_tape_key_first(const struct wtl_tape *tape,
						 const struct wtl_tape_key *key);

const char *wtl_tape_data(const struct wtl_tape *tape, const struct wtl_tape_record *record);

/*
 * The record that answers a read in a frame: the next of the frame that is not used up (it then is,
 * and *ret_fresh is true), else the latest one up to the frame, else the first later one, else NULL.
 */
const struct wtl_tape_record *wtl_tape_read(struct wtl_tape *tape, struct wtl_tape_key *key,
					    uint32_t frame, bool *ret_fresh);

/* The same for an open; a read that comes next in the frame says that opening succeeds. */
const struct wtl_tape_record *wtl_tape_open(struct wtl_tape *tape, struct wtl_tape_key *key,
					    uint32_t frame, bool *ret_fresh);

/*
 * The CPU time of a process, for the next question in a frame. As a tape holds changes only, that is
 * the latest record up to the same question in the recording, else the first later one; NULL when
 * the recording never asked for the process.
 */
const struct wtl_tape_record *wtl_tape_cpu(struct wtl_tape *tape, int pid, uint32_t frame);

/* The next exit (a datagram, an error, or that there was none at this place), each once: one that
 * an earlier frame left over is not lost. NULL when there is none, or none yet. */
const struct wtl_tape_record *wtl_tape_exit(struct wtl_tape *tape, struct wtl_tape_key *key,
					    uint32_t frame);

/* Passes over what belongs to earlier frames. */
void wtl_tape_skip(struct wtl_tape *tape, struct wtl_tape_key *key, uint32_t frame);
/* The same; true: the frame has one that is not used up. */
bool wtl_tape_is_next(struct wtl_tape *tape, struct wtl_tape_key *key, uint32_t frame);

/* A replay of a parsed tape, which it then owns (also when it fails). */
int wtl_io_replay_tape(struct wtl_tape *tape, struct wtl_io **ret_io, struct wtl_err *err);

/* Writing: all append to buf and return 0 or its error. */
#define WTL_TAPE_HEADER "wattle-tape 1\n"
int wtl_tape_put_frame(struct wtl_buf *buf, const struct wtl_tape_frame *frame);
int wtl_tape_put_quoted(struct wtl_buf *buf, const char *text, size_t len);
int wtl_tape_put_error(struct wtl_buf *buf, int code);
int wtl_tape_put_hex(struct wtl_buf *buf, const void *bytes, size_t len); /* zeros at the end cut */
/* The key of a library call: the symbol and every argument. */
int wtl_tape_put_call(struct wtl_buf *buf, const struct wtl_lib_function *function,
		      const struct wtl_lib_arg args[]);
/* One memory argument in that key. */
int wtl_tape_put_memory(struct wtl_buf *buf, const void *bytes, size_t len, size_t size);
int wtl_tape_put_perf(struct wtl_buf *buf, const struct wtl_perf_event *event);

#endif
