/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_RING_H
#define WTL_PROFILE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_err;

/*
 * What a program does, from perf_event_open(): where its threads are, hz times a second of CPU time; when they come
 * onto a processor and leave it; what they map, start and become. Only the program's own threads are sampled: no idle
 * processor is woken. Nothing is ever stopped.
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
	bool is_seed; /* not from a ring: of a thread that was just attached to */
	union {
		struct {
			bool is_turn; /* taken as the thread left its processor; stands for no CPU time */
			bool has_registers; /* of user space and 64 bits; false: the thread has none, or is_narrow */
			bool is_narrow; /* of 32-bit code */
			bool is_bare; /* of a turn the registers alone; there may be another one with its stack */
			uint64_t registers[WTL_RING_REGISTERS];
			bool is_look;	/* from /proc, not from the kernel (see looks.h) */
			bool is_asleep; /* from /proc, of a thread that sleeps (see asleep.h) */
			bool is_joined; /* the end of its stack was read later (see tails.h) */
			const uint8_t *stack; /* from the stack pointer on; borrowed */
			size_t stack_len;
			/* A part further out, far_at bytes from the stack pointer; NULL: there is none. */
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

/* What is known of a sample as soon as it is in a ring. */
struct wtl_ring_glance {
	int pid, tid, cpu;
	int64_t t_ns;
	uint64_t stack; /* its stack pointer; 0: not known */
	uint64_t
		copied; /* bytes copied from there on, up to a page that was never used, if there is one */
	int64_t turned_ns; /* when its thread was last switched since; else t_ns */
	bool is_off;	   /* that switch took it off its processor */
};

struct wtl_rings_options {
	int pid;     /* a running process; 0: see wtl_rings_open() */
	unsigned hz; /* samples a second of CPU time, 1 to WTL_RING_HZ_MOST */
	/* Stack bytes of each sample, a multiple of 8 up to 65528; 0: no stack, and no registers. */
	unsigned stack_bytes;
	bool sees_turns; /* also sample threads that leave a processor, at most hz a second, if permitted */
};

struct wtl_rings;

/*
 * Without a pid: records whatever the calling thread starts from now on, from its exec() on, and its descendants. With
 * one nothing yet, see wtl_rings_add(); only the permission is checked. 0, or negative with the reason and what would
 * help.
 */
int wtl_rings_open(const struct wtl_rings_options *options, struct wtl_rings **ret_rings,
		   struct wtl_err *err);
/*
 * From now on also records all threads of a process that were not added yet, and whatever they start. Another thread
 * may drain meanwhile. Returns how many were added, or negative with the reason; -ESRCH: the process has ended.
 */
int wtl_rings_add(struct wtl_rings *rings, int pid, struct wtl_err *err);
void wtl_rings_close(struct wtl_rings *rings); /* NULL is fine */
/* Calls back for each event before that moment, in the order of time. */
void wtl_rings_drain(struct wtl_rings *rings, int64_t until_ns,
		     void (*take)(void *context, const struct wtl_ring_event *event),
		     void *context);
/*
 * Calls back for each sample that came since the last call; it stays in its ring for wtl_rings_drain(). Returns the
 * processor of the last one; negative: there was none.
 */
int wtl_rings_glance(struct wtl_rings *rings,
		     void (*take_glance)(void *context, const struct wtl_ring_glance *glance),
		     void *context);
/* The ns in which a running thread has n_samples, or as many as may collect in a ring; 50 ms at most. */
int64_t wtl_rings_wait_ns(const struct wtl_rings *rings, unsigned n_samples);
/* From the next drain on, n_samples may collect, as far as a ring has room; 1: each wakes the reader. comes_itself:
 * the reader wakes by its own timer. */
void wtl_rings_await(struct wtl_rings *rings, unsigned n_samples, bool comes_itself);
/* The ns for which the reader need not look. 0: it wakes itself, so samples do not wake it; negative: they do. */
int64_t wtl_rings_rest_ns(const struct wtl_rings *rings);
/* Whether threads that leave a processor are sampled. */
bool wtl_rings_see_turns(const struct wtl_rings *rings);
/* Whether time in the kernel is sampled. */
bool wtl_rings_see_kernel(const struct wtl_rings *rings);
/* Stops recording. What is in the rings can still be drained. */
void wtl_rings_stop(struct wtl_rings *rings);
/* An epoll descriptor that becomes readable when there is something to drain; others may be added to it. */
int wtl_rings_fd(const struct wtl_rings *rings);

#endif
