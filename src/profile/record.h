/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_RECORD_H
#define WTL_PROFILE_RECORD_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

struct wtl_ring_event;

/* The kernel's records, as wtl_record_ask() asks for them: what is in a ring. */

enum { WTL_RECORD_GLANCE = sizeof(struct perf_event_header) + 24 };

/* What samples have, and what stands at the end of every record that is none. */
void wtl_record_ask(struct perf_event_attr *attr, unsigned stack_bytes);

int64_t wtl_record_time(const struct perf_event_header *record);

/* Whose sample it is, from its first WTL_RECORD_GLANCE bytes. false: it is none. */
bool wtl_record_glance(const struct perf_event_header *record, int *ret_pid, int *ret_tid,
		       int64_t *ret_t_ns);

/* false: nothing that anybody wants to know. What the event points to is the record's. */
bool wtl_record_read(const struct perf_event_header *record, bool has_stack,
		     struct wtl_ring_event *event);

#endif
