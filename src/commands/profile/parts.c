/* SPDX-License-Identifier: MIT */
#include "commands/profile/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "cli/apart.h"

/* ---- What was seen ---- */

/* Appends elements that are not there yet; the first of `more` has number `told`. */
static int append(struct wtl_profile_parts *parts, void *list, size_t *n, uint64_t told,
		  const void *more, size_t n_more, size_t size)
{
	size_t known = *n - (size_t)told, n_new = told <= *n && n_more > known ? n_more - known : 0;
	char *to;

	if (told > *n)
		return -EBADMSG;
	if (n_new > parts->room / size)
		return -EFBIG;
	if (n_new > 0 && wtl_array_resize(list, *n + n_new, size) < 0)
		return -ENOMEM;
	memcpy(&to, list, sizeof(to));
	if (n_new > 0)
		memcpy(to + *n * size, (const char *)more + known * size, n_new * size);
	parts->room -= n_new * size;
	*n += n_new;
	return 0;
}

static int add_names(struct wtl_profile_parts *parts, struct wtl_tree *tree, uint64_t told,
		     struct wtl_tree *more)
{
	size_t n_before = tree->n_names;
	int rc = append(parts, &tree->names, &tree->n_names, told, more->names, more->n_names,
			sizeof(*more->names));

	/* The tree owns names that moved. */
	for (size_t i = n_before; i < tree->n_names; i++) {
		size_t len = strlen(tree->names[i]);

		more->names[i - told] = NULL;
		parts->room -= len < parts->room ? len : parts->room;
	}
	return rc;
}

static int add_stacks(struct wtl_profile_parts *parts, struct wtl_saved_part *part)
{
	struct wtl_trace *trace = &parts->saved->trace, *more = &part->trace;
	struct wtl_tree *tree = &trace->tree;
	size_t n_threads = trace->n_threads;
	int rc = add_names(parts, tree, part->n_names, &more->tree);

	if (rc == 0)
		rc = append(parts, &tree->frames, &tree->n_frames, part->n_frames,
			    more->tree.frames, more->tree.n_frames, sizeof(*tree->frames));
	if (rc == 0)
		rc = append(parts, &tree->nodes, &tree->n_nodes, part->n_nodes, more->tree.nodes,
			    more->tree.n_nodes, sizeof(*tree->nodes));
	if (rc == 0)
		rc = append(parts, &trace->threads, &trace->n_threads, part->n_threads,
			    more->threads, more->n_threads, sizeof(*trace->threads));
	/* CPU time is summed from slices in the range that is asked for. */
	for (size_t i = n_threads; i < trace->n_threads; i++)
		trace->threads[i].cpu_ns = trace->threads[i].node = 0;
	return rc;
}

static int64_t within(const struct wtl_profile_parts *parts, int64_t t_ns)
{
	return t_ns < parts->begin_ns ? parts->begin_ns
	       : t_ns > parts->end_ns ? parts->end_ns
				      : t_ns;
}

static int add_seen(struct wtl_profile_parts *parts, struct wtl_trace *trace,
		    const struct wtl_trace *more)
{
	for (size_t i = 0; i < more->n_slices; i++) {
		const struct wtl_trace_slice *slice = &more->slices[i];
		int64_t begin_ns = within(parts, slice->begin_ns),
			end_ns = within(parts, slice->end_ns);

		if (slice->thread >= trace->n_threads)
			return -EBADMSG;
		if (begin_ns >= end_ns)
			continue;
		if (__builtin_add_overflow(parts->cpu_ns, end_ns - begin_ns, &parts->cpu_ns) ||
		    parts->cpu_ns > INT64_MAX / 4)
			return -EBADMSG;
		trace->threads[slice->thread].cpu_ns += end_ns - begin_ns;
		wtl_trace_add_slice(trace, slice->thread, begin_ns, end_ns);
	}
	for (size_t i = 0; i < more->n_samples; i++) {
		const struct wtl_trace_sample *sample = &more->samples[i];

		if (sample->thread >= trace->n_threads || sample->node >= trace->tree.n_nodes)
			return -EBADMSG;
		if (within(parts, sample->t_ns) == sample->t_ns)
			wtl_trace_add_sample(trace, sample->thread, sample->node, sample->t_ns);
	}
	return 0;
}

static void take_counts(struct wtl_saved *saved, const struct wtl_saved_part *part)
{
	struct wtl_trace *trace = &saved->trace;
	const struct wtl_trace *more = &part->trace;

	saved->profile.hz = part->hz;
	saved->profile.stack_bytes = part->stack_bytes;
	saved->profile.n_unseen = part->n_unseen;
	trace->n_lost = more->n_lost;
	trace->n_broken = more->n_broken;
	trace->n_broken_ran = more->n_broken_ran;
	trace->n_cut = more->n_cut;
	trace->n_joined = more->n_joined;
	trace->n_unresolved = more->n_unresolved;
	trace->is_full |= more->is_full;
	trace->python.n_merged = more->python.n_merged;
	trace->python.n_moved = more->python.n_moved;
	trace->python.n_missing = more->python.n_missing;
	trace->python.n_unknown = more->python.n_unknown;
}

static int take_more(struct wtl_profile_parts *parts, struct wtl_pack *pack)
{
	struct wtl_trace *trace = &parts->saved->trace;
	struct wtl_saved_part part = {.hz = 0};
	int rc;

	wtl_saved_pack_part(pack, &part, &trace->modules);
	rc = pack->error;
	if (rc == 0 && pack->at != pack->end)
		rc = -EBADMSG;
	if (rc == 0)
		rc = add_stacks(parts, &part);
	if (rc == 0)
		rc = add_seen(parts, trace, &part.trace);
	if (rc == 0)
		take_counts(parts->saved, &part);
	wtl_tree_done(&part.trace.tree);
	free(part.trace.threads);
	free(part.trace.slices);
	free(part.trace.samples);
	return rc;
}

static int take_names(struct wtl_profile_parts *parts, struct wtl_pack *pack)
{
	wtl_saved_done(&parts->names);
	parts->names = (struct wtl_saved){.n_command = 0};
	wtl_saved_pack_all_names(pack, &parts->names);
	if (pack->error == 0 && pack->at != pack->end)
		pack->error = -EBADMSG;
	parts->has_names = pack->error == 0;
	return pack->error;
}

/* -ENOMEM and -EFBIG are errors; a damaged part is skipped and counted. */
static int take_part(struct wtl_profile_parts *parts, const void *bytes, size_t len)
{
	struct wtl_buf content;
	struct wtl_pack pack = {.room = parts->room};
	uint64_t kind = 0;
	int rc;

	rc = wtl_saved_unwrap(&content, &pack, bytes, len);
	if (rc == 0) {
		wtl_pack_number(&pack, &kind);
		rc = kind == WTL_PART_NAMES ? take_names(parts, &pack) : take_more(parts, &pack);
	}
	wtl_buf_done(&content);
	parts->n_parts++;
	parts->n_bad += rc == -EBADMSG || rc == -ENOTSUP;
	return rc == -EBADMSG || rc == -ENOTSUP ? 0 : rc;
}

int wtl_profile_parts_take(struct wtl_profile_parts *parts, const int64_t values[], size_t n)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n;) {
		uint64_t len = (uint64_t)values[i++];

		if (len > (n - i) * sizeof(*values)) {
			parts->n_bad++;
			return 0;
		}
		rc = take_part(parts, &values[i], len);
		i += (len + sizeof(*values) - 1) / sizeof(*values);
	}
	return rc;
}

/* ---- Names ---- */

bool wtl_profile_parts_use_names(struct wtl_profile_parts *parts)
{
	struct wtl_trace *trace = &parts->saved->trace, *named = &parts->names.trace;

	if (!parts->has_names || named->tree.n_nodes < trace->tree.n_nodes ||
	    named->n_threads < trace->n_threads)
		return false;
	for (size_t i = 0; i < trace->n_threads; i++) {
		trace->threads[i].node = named->threads[i].node;
		memcpy(trace->threads[i].name, named->threads[i].name,
		       sizeof(trace->threads[i].name));
	}
	wtl_tree_done(&trace->tree);
	wtl_modules_done(&trace->modules);
	trace->tree = named->tree;
	trace->modules = named->modules;
	parts->saved->places = parts->names.places;
	parts->saved->calls = parts->names.calls;
	free(named->threads);
	parts->names = (struct wtl_saved){.n_command = 0};
	return true;
}

int wtl_profile_parts_open_files(struct wtl_profile_parts *parts, struct wtl_err *err)
{
	struct wtl_trace *trace = &parts->saved->trace;
	struct wtl_modules opened, read = trace->modules;
	struct wtl_module **list;
	int rc = wtl_modules_init(&opened, err);

	if (rc < 0)
		return rc;
	list = calloc(read.n + 1, sizeof(*list));
	for (size_t i = 0; list && i < read.n; i++) {
		read.list[i]->pid = (int)i;
		list[i] = wtl_modules_find(&opened, 0, read.list[i]->path, read.list[i]->device,
					   read.list[i]->inode);
	}
	for (size_t i = 0; list && i < trace->tree.n_frames; i++)
		if (trace->tree.frames[i].module)
			trace->tree.frames[i].module = list[trace->tree.frames[i].module->pid];
	trace->modules = opened;
	trace->modules.apart = wtl_apart;
	wtl_modules_done(&read);
	free(list);
	wtl_trace_name_unseen(trace);
	return list ? 0 : -ENOMEM;
}
