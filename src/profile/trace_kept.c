/* SPDX-License-Identifier: MIT */
/* The slices and samples of a trace: at its bounds, slices are joined and samples dropped. */
#include "base/array.h"
#include "profile/trace.h"

enum { SAMPLES_MOST = 1 << 20, SLICES_MOST = 1 << 20 };

#define SLICE_MIN_NS INT64_C(1000000)
#define SLICE_MAX_NS INT64_C(60000000000)

void wtl_trace_clear(struct wtl_trace *trace)
{
	*trace = (struct wtl_trace){.samples_most = SAMPLES_MOST, .slices_most = SLICES_MOST};
}

int64_t wtl_trace_time(int64_t t_ns)
{
	return t_ns - t_ns % 1000;
}

/* Adds to the thread's last slice, if that began within the same slice_ns. */
static bool join_slice(struct wtl_trace *trace, uint32_t thread, int64_t begin_ns,
		       int64_t length_ns)
{
	size_t last = trace->threads[thread].slice;

	if (last == 0 || trace->slice_ns == 0 ||
	    trace->slices[last - 1].begin_ns / trace->slice_ns != begin_ns / trace->slice_ns)
		return false;
	trace->slices[last - 1].end_ns += length_ns;
	return true;
}

static void join_slices(struct wtl_trace *trace)
{
	size_t n = 0;

	trace->slice_ns = trace->slice_ns ? 2 * trace->slice_ns : SLICE_MIN_NS;
	for (size_t i = 0; i < trace->n_threads; i++)
		trace->threads[i].slice = 0;
	for (size_t i = 0; i < trace->n_slices; i++) {
		const struct wtl_trace_slice slice = trace->slices[i];

		if (join_slice(trace, slice.thread, slice.begin_ns, slice.end_ns - slice.begin_ns))
			continue;
		trace->slices[n++] = slice;
		trace->threads[slice.thread].slice = n;
	}
	trace->n_slices = n;
}

void wtl_trace_add_slice(struct wtl_trace *trace, uint32_t thread, int64_t begin_ns, int64_t end_ns)
{
	while (trace->n_slices >= trace->slices_most && trace->slice_ns < SLICE_MAX_NS)
		join_slices(trace);
	if (join_slice(trace, thread, begin_ns, end_ns - begin_ns))
		return;
	if (trace->n_slices >= trace->slices_most ||
	    wtl_array_reserve(&trace->slices, &trace->room_slices, trace->n_slices + 1,
			      sizeof(*trace->slices)) < 0) {
		trace->is_full = true;
		return;
	}
	trace->slices[trace->n_slices++] = (struct wtl_trace_slice){thread, begin_ns, end_ns};
	trace->threads[thread].slice = trace->n_slices;
}

/* Drops every second sample. */
static void halve_samples(struct wtl_trace *trace)
{
	for (size_t i = 1; i < trace->n_samples; i += 2)
		trace->threads[trace->samples[i].thread].n_samples--;
	for (size_t i = 0; i < trace->n_samples; i += 2)
		trace->samples[i / 2] = trace->samples[i];
	trace->n_samples = (trace->n_samples + 1) / 2;
	trace->n_halved++;
}

void wtl_trace_add_sample(struct wtl_trace *trace, uint32_t thread, uint32_t node, int64_t t_ns)
{
	if (trace->n_taken++ & ((UINT64_C(1) << trace->n_halved) - 1))
		return;
	if (trace->n_samples >= trace->samples_most)
		halve_samples(trace);
	if (wtl_array_reserve(&trace->samples, &trace->room_samples, trace->n_samples + 1,
			      sizeof(*trace->samples)) < 0) {
		trace->is_full = true;
		return;
	}
	trace->threads[thread].n_samples++;
	trace->samples[trace->n_samples++] =
		(struct wtl_trace_sample){thread, node, wtl_trace_time(t_ns)};
}

void wtl_trace_forget(struct wtl_trace *trace)
{
	trace->n_samples = trace->n_slices = 0;
	for (size_t i = 0; i < trace->n_threads; i++)
		trace->threads[i].slice = 0;
}
