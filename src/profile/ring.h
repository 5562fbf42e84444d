/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_RING_H
#define WTL_PROFILE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_err;

/*
 * What a program does, as the kernel tells it (perf_event_open): where its threads are so many times a second of CPU
 * time, when they come onto a processor and leave it, what they map, start and become. Samples of the program's own
 * threads alone: no processor that rests is woken. Nothing is ever stopped.
 */

enum {
	WTL_RING_REGISTERS =
		33, /* by DWARF's numbers: x86-64 0 to 15 and 16 = pc; arm64 0 to 30, 31 = sp, 32 = pc */
	WTL_RING_KERNEL_DEPTH = 16,
	WTL_RING_HZ_MOST = 10000
};

enum wtl_ring_kind {
	WTL_RING_SAMPLE,
	WTL_RING_SWITCH, /* a thread came onto a processor, or left it */
	WTL_RING_MAP,
	WTL_RING_NAME, /* of a thread; is_exec: the process became another program */
	WTL_RING_BORN,
	WTL_RING_ENDED,
	WTL_RING_LOST,
};

struct wtl_ring_event {
	enum wtl_ring_kind kind;
	int pid, tid;
	uint32_t cpu;
	int64_t t_ns; /* CLOCK_MONOTONIC */
	union {
		struct {
			bool is_turn; /* it is of the moment when the thread left its processor, and of no CPU time */
			bool has_registers; /* of user space; false: the thread has none, or the sample is of 32-bit code */
			uint64_t registers[WTL_RING_REGISTERS];
			bool is_look; /* the kernel gave none: the thread was looked at (see looks.h) */
			const uint8_t *stack; /* from the stack pointer on; borrowed */
			size_t stack_len;
			/* A part further on, so far from the stack pointer; NULL: there is none. */
			const uint8_t *far;
			uint64_t far_at;
			size_t far_len;
		} sample;
		struct {
			bool is_out;
			bool is_preempted; /* it left, and would have gone on */
		} turn;
		struct {
			uint64_t start, length, offset;
			uint64_t device, inode;
			const char *path; /* borrowed */
		} map;
		struct {
			const char *name; /* borrowed */
			bool is_exec;
		} name;
		struct {
			int parent_pid, parent_tid;
		} born;
		uint64_t n_lost;
	};
};

/* What is told of a sample as soon as it is there. */
struct wtl_ring_glance {
	int pid, tid, cpu;
	int64_t t_ns;
	uint64_t stack; /* its stack pointer; 0: not known */
	uint64_t
		copied; /* bytes from there on, up to a page that was never used, if there is one */
	int64_t turned_ns; /* it came onto a processor or left it since, for the last time, */
	bool is_off;	   /* and is on none */
};

struct wtl_rings_options {
	int pid;     /* a process that runs; 0: see below */
	unsigned hz; /* samples a second of CPU time, 1 to WTL_RING_HZ_MOST */
	/* Of each sample, a multiple of 8 up to 65528; 0: none, and no registers. */
	unsigned stack_bytes;
	bool sees_turns; /* samples as well of threads that leave a processor, hz a second at the most, if it may */
};

struct wtl_rings;

/*
 * Without a process: of whatever the calling thread starts from now on, from its exec() on, and of its descendants.
 * With one: of nobody yet, see wtl_rings_add(); but whether that would be allowed is asked. 0, or negative with the
 * reason and what would help.
 */
int wtl_rings_open(const struct wtl_rings_options *options, struct wtl_rings **ret_rings,
		   struct wtl_err *err);
/*
 * From now on, of all threads of a process that were not added yet, and of whatever they start. Another thread may
 * drain meanwhile. How many were added, or negative with the reason: -ESRCH where the process has ended.
 */
int wtl_rings_add(struct wtl_rings *rings, int pid, struct wtl_err *err);
void wtl_rings_close(struct wtl_rings *rings); /* NULL is fine */
/* Calls back for each event before that moment, in the order of time. */
void wtl_rings_drain(struct wtl_rings *rings, int64_t until_ns,
		     void (*take)(void *context, const struct wtl_ring_event *event),
		     void *context);
/*
 * Calls back for each sample that came since the last time, which is told in its order later. It is not taken out. The
 * processor that the last one came from; negative: there was none.
 */
int wtl_rings_glance(struct wtl_rings *rings,
		     void (*take_glance)(void *context, const struct wtl_ring_glance *glance),
		     void *context);
/* How long it takes a thread that runs until so many of its samples have come, as far as a ring has room. */
int64_t wtl_rings_wait_ns(const struct wtl_rings *rings, unsigned n_samples);
/* At the next drain: so many samples may come together, as far as a ring has room; 1 is each sample. comes_itself: the
 * reader knows when they come. */
void wtl_rings_await(struct wtl_rings *rings, unsigned n_samples, bool comes_itself);
/* For how long the reader need not look. 0: samples do not make the descriptor readable, as it comes itself; negative: they do. */
int64_t wtl_rings_rest_ns(const struct wtl_rings *rings);
/* Nothing new is told, and what is there stays to be drained. */
void wtl_rings_stop(struct wtl_rings *rings);
/* An epoll descriptor that becomes readable when there is something to drain; others may be added to it. */
int wtl_rings_fd(const struct wtl_rings *rings);

#endif
