/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_RECORD_H
#define WTL_PROFILE_RECORD_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

struct wtl_ring_event;
struct wtl_ring_glance;
struct wtl_rings_options;

/* The kernel's records, as wtl_record_ask() asks for them: what is in a ring. */

/* How many registers samples have, and which of them is the stack pointer. */
#if defined(__aarch64__)
enum { WTL_RECORD_REGISTERS = 33, WTL_RECORD_STACK_POINTER = 31 };
#else
enum { WTL_RECORD_REGISTERS = 17, WTL_RECORD_STACK_POINTER = 7 };
#endif

/* Bytes of a sample before its stack. */
enum { WTL_RECORD_GLANCE = sizeof(struct perf_event_header) + 56 + 8 * WTL_RECORD_REGISTERS };

/*
 * Two events take samples, only one of them enabled at a time. The loud one wakes the reader at each sample, the quiet
 * one when half of a ring is full. On a virtual machine a wakeup costs the program nearly as much as the sample, as a
 * processor that interrupts itself asks the host. A reader that wakes by its own timer (pace.h) needs none. A process
 * that execs gets the loud one at once (with --pid: when its record is read), as the program may be Python.
 */
enum wtl_record_event {
	WTL_RECORD_LOUD,
	WTL_RECORD_QUIET,
	WTL_RECORD_TURNS, /* samples of threads as they leave a processor, in the kernel */
	WTL_RECORD_BARE,  /* the registers alone, far more often; wakes nobody */
	WTL_RECORD_EVENTS
};

void wtl_record_ask(const struct wtl_rings_options *options, bool has_kernel,
		    struct perf_event_attr ret_attrs[WTL_RECORD_EVENTS]);

int64_t wtl_record_time(const struct perf_event_header *record);

/* Fills a sample's thread, time, processor and stack pointer from its first WTL_RECORD_GLANCE bytes. `copied`
 * becomes the size of its stack's space, after which the record has how much was copied. false: it is no sample, or a
 * bare one. */
bool wtl_record_glance(const struct perf_event_header *record, struct wtl_ring_glance *glance);

/* false: a record that is not needed. What the event points to is in the record. */
bool wtl_record_read(const struct perf_event_header *record, bool has_stack,
		     struct wtl_ring_event *event);

#endif
