/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_IO_H
#define WTL_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct wtl_buf;
struct wtl_err;

/*
 * Everything outside the program: files below a root, perf counters, foreign libraries, clocks and
 * waiting. A struct wtl_io is one way to reach it: the real machine (or a directory standing for
 * it), a tape being replayed, or a wrapper that records. Any of them can make calls fail. Functions return
 * 0 or more, or a negative errno; handles are small non-negative numbers of that wtl_io.
 *
 * A wtl_io may be used by several threads at once, each with handles of its own. Libraries they may
 * open and close at will: that takes a lock, which a call into a library does not. exits_open and
 * exits_close are the caller's to serialise; wtl_io_free() comes after all else.
 */
struct wtl_io;

enum wtl_clock {
	WTL_CLOCK_MONO, /* CLOCK_MONOTONIC: stands still in suspend */
	WTL_CLOCK_BOOT, /* CLOCK_BOOTTIME: runs on in suspend */
	WTL_CLOCK_REAL, /* CLOCK_REALTIME: UTC, may step */
};

/*
 * A hardware counter of the perf system, no sampling: PMU type and event code, and of whom. That is the
 * whole machine as a CPU tells it, or a task (thread) on whatever CPU it runs, together with those that
 * it starts from then on (in its process; before Linux 5.13 without those).
 */
struct wtl_perf_event {
	uint32_t type;
	uint64_t config;
	int cpu;
	int task; /* its number: cpu means nothing then; 0: the machine */
};

/* What was counted for a task since its counter was opened. */
struct wtl_perf_count {
	uint64_t count;
	int64_t enabled_ns; /* the tasks' CPU time in which it was to be counted */
	int64_t running_ns; /* of that, in which it was: there are few counters, and many take turns */
};

/*
 * A call into a foreign library, in a form that can be kept on a tape and answered from one: plain
 * words, and memory that the call fills (or fills and reads: what it reads is part of the tape's
 * key, so unused bytes must be zero).
 */
struct wtl_lib_arg {
	uint64_t word; /* a number or an opaque handle */
	void *memory;  /* not NULL: a pointer to `size` bytes is passed instead */
	size_t size;
};

/* Calls `function` with its true type; returns what it returns. */
typedef int wtl_lib_thunk(void *function, const struct wtl_lib_arg args[]);

struct wtl_lib_function {
	const char *symbol; /* the versioned name, resolved by dlsym */
	wtl_lib_thunk *thunk;
	unsigned n_args; /* at most WTL_LIB_ARGS_MAX */
};

enum { WTL_LIB_ARGS_MAX = 8 };

/* Where the machine's agent (wattle serve) listens for programs: docs/share.md. */
#define WTL_AGENT_SOCKET "/run/wattle/agent/serve.sock"

enum { WTL_AGENT_ANSWER_MAX = 32 << 10, WTL_AGENT_TIMEOUT_MS = 100 };

enum { WTL_EXIT_MAX = 8192 }; /* bytes of an exit's datagram; today's kernels need 1.2 kB */

/* How out_write() treats what is there already. */
enum wtl_out_mode { WTL_OUT_REPLACE, WTL_OUT_APPEND };

struct wtl_io_ops {
	/* Paths are absolute as on the machine ("/sys/class/powercap") and lie below the root. */
	int (*file_open)(struct wtl_io *io, const char *path);
	/* The content from its start, at most `size` bytes: a full buffer may not be all of it. */
	ssize_t (*file_read)(struct wtl_io *io, int file, void *buf, size_t size);
	void (*file_close)(struct wtl_io *io, int file);
	/* The target's text, NUL-terminated; its length, -ENAMETOOLONG when it does not fit. */
	ssize_t (*link_read)(struct wtl_io *io, const char *path, char *buf, size_t size);
	/* Appends the entries' names, sorted, each ended by a NUL; names that begin with '.' are
	 * left out. Returns their number. */
	int (*dir_read)(struct wtl_io *io, const char *path, struct wtl_buf *names);

	int (*perf_open)(struct wtl_io *io, const struct wtl_perf_event *event);
	int (*perf_read)(struct wtl_io *io, int file, uint64_t *ret_value); /* of the machine */
	/* Of a task; what it did until it ended can still be read when it has. */
	int (*perf_count)(struct wtl_io *io, int file, struct wtl_perf_count *ret_count);
	void (*perf_close)(struct wtl_io *io, int file);

	/* Loads the first of names[] (ended by NULL) that can be loaded and looks up every function.
	 * The table must live as long as the handle. A missing symbol is no error. */
	int (*lib_open)(struct wtl_io *io, const char *const names[],
			const struct wtl_lib_function functions[], size_t n_functions,
			struct wtl_err *err);
	bool (*lib_has)(struct wtl_io *io, int lib, size_t function);
	/* Returns 0 and the function's own answer in *ret_answer, or -ENOSYS when it is missing. */
	int (*lib_call)(struct wtl_io *io, int lib, size_t function, struct wtl_lib_arg args[],
			int *ret_answer);
	void (*lib_close)(struct wtl_io *io, int lib);

	/*
	 * The CPU time of processes so far, nanoseconds, their ended threads included: cpu_ns[i] for
	 * pids[i], or a negative errno (-ESRCH: there is no such process). Needs no privilege. 0, or
	 * -EOPNOTSUPP where this machine cannot tell.
	 */
	int (*process_cpu)(struct wtl_io *io, const int pids[], int64_t cpu_ns[], size_t n);

	/*
	 * What the kernel tells of every task that ends (taskstats): needs CAP_NET_ADMIN in the first
	 * user, PID and network namespace. open returns a handle; -EPERM; -EOPNOTSUPP, of
	 * a directory that has none -ENOENT, of a tape -ENODATA. read takes
	 * one datagram as it came and never waits: its length (cut to size; WTL_EXIT_MAX holds all),
	 * 0 when there is none, -ENOBUFS once after some were lost. One reader at a time. A tape tells
	 * all listeners together of each once.
	 */
	int (*exits_open)(struct wtl_io *io);
	ssize_t (*exits_read)(struct wtl_io *io, int file, void *buf, size_t size);
	void (*exits_close)(struct wtl_io *io, int file);

	/*
	 * The machine's agent, at WTL_AGENT_SOCKET. open connects: -ENOENT, -ECONNREFUSED where there is none. ask
	 * sends a question and waits for the answer, WTL_AGENT_TIMEOUT_MS at most: its length, ended by a NUL. After an
	 * error the connection is of no more use. NULL, all three: there is no agent.
	 */
	int (*agent_open)(struct wtl_io *io);
	ssize_t (*agent_ask)(struct wtl_io *io, int agent, const char *question, char *answer,
			     size_t size);
	void (*agent_close)(struct wtl_io *io, int agent);

	/*
	 * What only the caller knows, and a tape must keep so that a replay is the same measurement: say, which process
	 * is the command. text is a line of less than `size` bytes. 1: it is as text says; the machine takes the
	 * caller's word, a tape being replayed puts the next note of that name in its frame there. 0: the tape has none
	 * (left), and text is as it was.
	 */
	int (*note)(struct wtl_io *io, const char *name, char *text, size_t size);

	/* Whether a tape that is replayed has the processes' CPU time here, so that a look at them
	 * now shows them as they were: 1 or 0. -EOPNOTSUPP: any time is as good. NULL: it is. */
	int (*has_process_cpu)(struct wtl_io *io);

	/* While a tape is recorded, the clocks are the tape's, as a replay will show them: they stand
	 * still between two answers. */
	int64_t (*clock_ns)(struct wtl_io *io, enum wtl_clock clock);
	/* Sleeps until the monotonic time; -EINTR on a signal, -WTL_ETAPE_END when a tape is over. A
	 * replayed tape does not sleep: it steps to its next frame. */
	int (*wait_until)(struct wtl_io *io, int64_t t_mono_ns);

	/* Writes one of the machine's own files below the root (a power limit), which must exist, in
	 * one piece; -EIO when only a part was taken. A tape answers what was answered, and changes
	 * nothing. */
	int (*file_write)(struct wtl_io *io, const char *path, const void *data, size_t len);

	/* Writes a file of the user's, by the user's own path (not below the root). Replacing is all
	 * or nothing for regular files; appending is one write where the system allows it. */
	int (*out_write)(struct wtl_io *io, const char *path, const void *data, size_t len,
			 enum wtl_out_mode mode);
	/* Somebody else (a database) is about to write to a file of the user's: 0, or the negative errno
	 * that this is to fail with. NULL: it never is. From any thread. */
	int (*out_check)(struct wtl_io *io);

	void (*free)(struct wtl_io *io);
};

struct wtl_io {
	const struct wtl_io_ops *ops;
	struct wtl_fault *fault; /* NULL: no call is made to fail */
	mode_t file_mode;	 /* of the user's files that are made: see base/outfile.h */
	bool has_one_order; /* a tape, written or read: what is asked is asked from one thread, in turn */
};

/* The log callback's twin in the environment that every part of the library is given. */
struct wtl_env {
	struct wtl_io *io;
	const struct wtl_log *log; /* may be NULL */
	/* NULL: whatever this process may do, its user may do. Else it has rights that its user lacks, and
	 * calls this, on the thread that opens the meter, as soon as what needs them is open. */
	void (*drop_rights)(void);
};

/*
 * The real machine; root is NULL or "/" for the machine itself, else a directory that stands for
 * it. In such a directory, symbolic links cannot lead out, a file whose content is "!errno NAME"
 * fails with that errno when opened or read, perf counters are the files
 * wattle-perf/TYPE-CONFIGHEX-CPU holding a decimal count, or wattle-perf/TYPE-CONFIGHEX-taskNUMBER
 * holding the three numbers of struct wtl_perf_count; libraries are loaded only by a path
 * (a name with a '/', taken as it is): this machine's own have no say there. The CPU time of a
 * process is the file wattle-cpu/PID, in nanoseconds (no such directory: this machine cannot tell);
 * exits are the lines of the file wattle-exits, one datagram each as wtl_sparse_put() writes it, or
 * "!errno NAME"; lines may be added while it is read. The agent is who listens at the socket
 * run/wattle/agent/serve.sock there.
 */
int wtl_io_real_new(const char *root, struct wtl_io **ret_io, struct wtl_err *err);

/*
 * Opens the machine's exit records in advance, since the first caller to ask for them may come when
 * the process has no right to them any more. Where this fails, that caller gets the error. Nothing
 * for another kind of wtl_io.
 */
void wtl_io_real_open_exits(struct wtl_io *io);

/* Replays a tape (see docs/tape.md). Fails with -WTL_EFORMAT and the line for a bad tape. */
int wtl_io_replay_new(const char *path, struct wtl_io **ret_io, struct wtl_err *err);

/*
 * Passes everything on to `inner`, which it then owns (not when this fails), and writes what came
 * back to a tape, which replaces a file of that path.
 */
int wtl_io_record_new(struct wtl_io *inner, const char *path, struct wtl_io **ret_io,
		      struct wtl_err *err);

/*
 * Writes what is still in the recorder's buffer. Returns 0, or the first error that writing the
 * tape met (nothing is written after it; measuring goes on). -EINVAL for another kind of wtl_io.
 */
int wtl_io_record_error(struct wtl_io *io);

/*
 * Makes some calls of the functions below fail. spec
 * is "OP:N[:ERRNO][:always]" with OP one of open, read, link, dir, perf, lib, cpu, exits, write
 * or any: the N-th such call (from 1) fails with ERRNO (default EIO), with ":always" every later one
 * too. perf, lib and exits count opens and reads or calls, write counts both kinds of file and what
 * out_check is asked; waiting, clocks and closing never fail.
 */
int wtl_io_set_fault(struct wtl_io *io, const char *spec, struct wtl_err *err);
/* Whether that would take the spec: 0 or -EINVAL. */
int wtl_io_fault_check(const char *spec, struct wtl_err *err);

void wtl_io_free(struct wtl_io *io); /* NULL is fine */

/* What everybody calls: the operations of the table above. Closing a negative handle does nothing. */
int wtl_io_file_open(struct wtl_io *io, const char *path);
ssize_t wtl_io_file_read(struct wtl_io *io, int file, void *buf, size_t size);
void wtl_io_file_close(struct wtl_io *io, int file);
ssize_t wtl_io_link_read(struct wtl_io *io, const char *path, char *buf, size_t size);
int wtl_io_dir_read(struct wtl_io *io, const char *path, struct wtl_buf *names);
int wtl_io_perf_open(struct wtl_io *io, const struct wtl_perf_event *event);
int wtl_io_perf_read(struct wtl_io *io, int file, uint64_t *ret_value);
int wtl_io_perf_count(struct wtl_io *io, int file, struct wtl_perf_count *ret_count);
void wtl_io_perf_close(struct wtl_io *io, int file);
int wtl_io_lib_open(struct wtl_io *io, const char *const names[],
		    const struct wtl_lib_function functions[], size_t n_functions,
		    struct wtl_err *err);
bool wtl_io_lib_has(struct wtl_io *io, int lib, size_t function);
int wtl_io_lib_call(struct wtl_io *io, int lib, size_t function, struct wtl_lib_arg args[],
		    int *ret_answer);
void wtl_io_lib_close(struct wtl_io *io, int lib);
int wtl_io_process_cpu(struct wtl_io *io, const int pids[], int64_t cpu_ns[], size_t n);
int wtl_io_exits_open(struct wtl_io *io);
ssize_t wtl_io_exits_read(struct wtl_io *io, int file, void *buf, size_t size);
void wtl_io_exits_close(struct wtl_io *io, int file);
int wtl_io_agent_open(struct wtl_io *io);
ssize_t wtl_io_agent_ask(struct wtl_io *io, int agent, const char *question, char *answer,
			 size_t size);
void wtl_io_agent_close(struct wtl_io *io, int agent);
int wtl_io_note(struct wtl_io *io, const char *name, char *text, size_t size);
int wtl_io_has_process_cpu(struct wtl_io *io);
int64_t wtl_io_mono_ns(struct wtl_io *io);
int64_t wtl_io_boot_ns(struct wtl_io *io);
/* UTC. Where the clock is set to what recordings cannot keep, it is taken as not set: the time since boot. */
int64_t wtl_io_real_ns(struct wtl_io *io);
bool wtl_io_lacks_utc(struct wtl_io *io);
int wtl_io_wait_until(struct wtl_io *io, int64_t t_mono_ns);
int wtl_io_file_write(struct wtl_io *io, const char *path, const void *data, size_t len);
int wtl_io_out_write(struct wtl_io *io, const char *path, const void *data, size_t len,
		     enum wtl_out_mode mode);
int wtl_io_out_check(struct wtl_io *io);

/* Opens, reads whole and closes. Returns the length; text is NUL-terminated within size, and -EFBIG
 * when it does not fit. */
ssize_t wtl_io_slurp(struct wtl_io *io, const char *path, char *buf, size_t size);

/* A file's first line, cleaned for printing (wtl_text_clean). 0 or a negative errno. */
int wtl_io_read_line(struct wtl_io *io, const char *path, char *buf, size_t size);

/* A file that holds one unsigned decimal number. -EINVAL or -ERANGE for rubbish. */
int wtl_io_read_u64(struct wtl_io *io, const char *path, uint64_t *ret);

bool wtl_io_exists(struct wtl_io *io, const char *path); /* a file or directory */

#endif
