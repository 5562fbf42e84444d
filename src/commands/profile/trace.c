/* SPDX-License-Identifier: MIT */
/* Chrome's trace events, for Perfetto and chrome://tracing: power and energy of each domain over time, and when each
 * thread was on a processor. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "commands/profile/format.h"
#include "document/format.h"

/* A thread's slices this near to each other are drawn as one. */
#define NEAR_NS INT64_C(100000)

struct events {
	struct wtl_buf *buf;
	const struct wtl_stacks *stacks;
	int64_t begin_ns;
	bool is_first;
};

static void begin(struct events *events, const char *phase, int64_t t_ns)
{
	wtl_buf_printf(events->buf, "%s\n{\"ph\":\"%s\",\"ts\":", events->is_first ? "" : ",",
		       phase);
	wtl_format_fixed(events->buf,
			 t_ns > events->begin_ns ? (uint64_t)(t_ns - events->begin_ns) : 0, 3);
	events->is_first = false;
}

static void put_counter(struct events *events, const struct wtl_stacks_metric *metric,
			const struct wtl_split_tick *before, const struct wtl_split_tick *now)
{
	uint64_t uj = now->energy_uj[metric->domain], before_uj = before->energy_uj[metric->domain];
	char name[128];

	snprintf(name, sizeof(name), "%.*s power", (int)(strlen(metric->name) - strlen(" energy")),
		 metric->name);
	begin(events, "C", before->t_ns);
	wtl_profile_json_text(events->buf, "name", name);
	wtl_buf_puts(events->buf, ",\"pid\":0,\"args\":{\"W\":");
	wtl_format_double(events->buf,
			  uj > before_uj ? (double)(uj - before_uj) * 1e3 /
						   (double)(now->t_ns - before->t_ns)
					 : 0.0,
			  6);
	wtl_buf_puts(events->buf, "}}");
	begin(events, "C", now->t_ns);
	wtl_profile_json_text(events->buf, "name", metric->name);
	wtl_buf_puts(events->buf, ",\"pid\":0,\"args\":{\"J\":");
	wtl_format_fixed(events->buf, uj, 6);
	wtl_buf_puts(events->buf, "}}");
}

static void put_counters(struct events *events)
{
	const struct wtl_stacks *stacks = events->stacks;
	const struct wtl_split *split = stacks->profile->ticks;

	for (size_t i = 1; i < split->n_ticks; i++)
		for (size_t k = WTL_METRIC_DOMAINS; k < stacks->end_domains; k++)
			if (split->ticks[i].t_ns > split->ticks[i - 1].t_ns)
				put_counter(events, &stacks->metrics[k], &split->ticks[i - 1],
					    &split->ticks[i]);
}

static void put_name(struct events *events, const char *of, int pid, int tid, const char *name)
{
	begin(events, "M", 0);
	wtl_buf_printf(events->buf, ",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"args\":{", of, pid,
		       tid);
	wtl_profile_json_text(events->buf, "name", name);
	wtl_buf_puts(events->buf, "}}");
}

/* A process has the name of its first thread. */
static void put_names(struct events *events)
{
	const struct wtl_trace *trace = events->stacks->profile->trace;

	for (size_t i = 0; i < trace->n_threads; i++) {
		const struct wtl_trace_thread *thread = &trace->threads[i];

		put_name(events, "thread_name", thread->pid, thread->tid, thread->name);
		if (thread->tid == thread->pid)
			put_name(events, "process_name", thread->pid, thread->tid, thread->name);
	}
	put_name(events, "process_name", 0, 0, "energy");
}

static void put_slice(struct events *events, uint32_t number, int64_t begin_ns, int64_t end_ns)
{
	const struct wtl_trace_thread *thread = &events->stacks->profile->trace->threads[number];

	begin(events, "X", begin_ns);
	wtl_buf_puts(events->buf, ",\"dur\":");
	wtl_format_fixed(events->buf, (uint64_t)(end_ns - begin_ns), 3);
	wtl_buf_printf(events->buf, ",\"name\":\"on CPU\",\"pid\":%d,\"tid\":%d}", thread->pid,
		       thread->tid);
}

/* 0 or -1: no memory. */
static int put_slices(struct events *events)
{
	const struct wtl_trace *trace = events->stacks->profile->trace;
	struct {
		int64_t begin_ns, end_ns;
	} *open = calloc(trace->n_threads + 1, sizeof(*open));

	for (size_t i = 0; open && i < trace->n_slices; i++) {
		const struct wtl_trace_slice *slice = &trace->slices[i];

		if (open[slice->thread].end_ns > 0 &&
		    slice->begin_ns - open[slice->thread].end_ns > NEAR_NS) {
			put_slice(events, slice->thread, open[slice->thread].begin_ns,
				  open[slice->thread].end_ns);
			open[slice->thread].end_ns = 0;
		}
		if (open[slice->thread].end_ns == 0)
			open[slice->thread].begin_ns = slice->begin_ns;
		open[slice->thread].end_ns = slice->end_ns;
	}
	for (uint32_t i = 0; open && i < trace->n_threads; i++)
		if (open[i].end_ns > 0)
			put_slice(events, i, open[i].begin_ns, open[i].end_ns);
	if (!open)
		return -1;
	free(open);
	return 0;
}

static int write_trace(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	struct events events = {.buf = buf,
				.stacks = stacks,
				.begin_ns = stacks->profile->window->begin_mono_ns,
				.is_first = true};

	wtl_buf_puts(buf, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
	put_names(&events);
	put_counters(&events);
	if (put_slices(&events) < 0 && !buf->error)
		buf->error = -ENOMEM;
	wtl_buf_puts(buf, "\n]}\n");
	return buf->error;
}

const struct wtl_profile_format wtl_profile_format_trace = {
	.name = "trace", .suffixes = ".trace.json .perfetto.json", .write = write_trace};
