/* SPDX-License-Identifier: MIT */
#include "commands/profile/keep.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "commands/profile/saved_parts.h"
#include "commands/profile/watch.h"
#include "replay/recorder.h"

#define PART_MAX ((size_t)64 << 20)

struct wtl_profile_keep {
	struct wtl_profile_watch watch;
	struct wtl_saved_part told; /* its numbers: how many were written in this period */
	uint32_t period;	    /* the recorder's, of the last part */
};

int wtl_profile_keep_new(unsigned hz, int pid, struct wtl_profile_keep **ret_keep,
			 struct wtl_err *err)
{
	struct wtl_profile_keep *keep = calloc(1, sizeof(*keep));
	int rc;

	if (!keep)
		return wtl_err_set(err, ENOMEM, "profile", NULL, "out of memory");
	keep->watch.how = (struct wtl_rings_options){
		.hz = hz, .stack_bytes = WTL_PROFILE_STACK_BYTES, .pid = pid};
	rc = wtl_profile_watch_open(&keep->watch, err);
	if (rc == 0)
		rc = wtl_profile_watch_begin(&keep->watch, err);
	if (rc == 0 && pid)
		rc = wtl_profile_watch_attach(&keep->watch, err);
	if (rc < 0)
		wtl_profile_keep_free(keep);
	else
		*ret_keep = keep;
	return rc;
}

void wtl_profile_keep_free(struct wtl_profile_keep *keep)
{
	if (keep)
		wtl_profile_watch_close(&keep->watch);
	free(keep);
}

static void put(struct wtl_recorder *recorder, int rc, const struct wtl_buf *content)
{
	struct wtl_buf bytes;

	wtl_buf_init(&bytes, PART_MAX);
	if (rc == 0)
		rc = wtl_saved_wrap(&bytes, content);
	if (rc == 0)
		wtl_recorder_bytes(recorder, WTL_SERIES_PROFILE, wtl_buf_str(&bytes), bytes.len);
	else
		wtl_store_fail(wtl_recorder_writer(recorder));
	wtl_buf_done(&bytes);
}

/* The next part, without what this period has already. */
static struct wtl_saved_part part_of(const struct wtl_profile_keep *keep)
{
	const struct wtl_saved_part *told = &keep->told;
	struct wtl_saved_part part = *told;
	struct wtl_trace *trace = &part.trace;

	part.trace = keep->watch.trace;
	part.n_unseen = keep->watch.n_denied + wtl_trace_n_hidden(&keep->watch.trace);
	part.hz = keep->watch.how.hz;
	part.stack_bytes = keep->watch.how.stack_bytes;
	trace->threads += told->n_threads;
	trace->n_threads -= told->n_threads;
	trace->modules.list += told->n_modules;
	trace->modules.n -= told->n_modules;
	trace->tree.names += told->n_names;
	trace->tree.n_names -= told->n_names;
	trace->tree.frames += told->n_frames;
	trace->tree.n_frames -= told->n_frames;
	trace->tree.nodes += told->n_nodes;
	trace->tree.n_nodes -= told->n_nodes;
	return part;
}

static void note_told(struct wtl_profile_keep *keep)
{
	const struct wtl_trace *trace = &keep->watch.trace;

	keep->told.n_threads = trace->n_threads;
	keep->told.n_modules = trace->modules.n;
	keep->told.n_names = trace->tree.n_names;
	keep->told.n_frames = trace->tree.n_frames;
	keep->told.n_nodes = trace->tree.n_nodes;
}

void wtl_profile_keep_more(struct wtl_profile_keep *keep, struct wtl_recorder *recorder)
{
	struct wtl_trace *trace = &keep->watch.trace;
	uint64_t kind = WTL_PART_MORE;
	struct wtl_buf content;
	struct wtl_pack pack = {.out = &content};
	struct wtl_saved_part part;

	/* A period must be readable without those before it. */
	if (keep->period != wtl_recorder_periods(recorder))
		keep->told = (struct wtl_saved_part){.n_nodes = 0};
	keep->period = wtl_recorder_periods(recorder);
	wtl_buf_init(&content, PART_MAX);
	pthread_mutex_lock(&keep->watch.taking);
	wtl_trace_cut(trace);
	part = part_of(keep);
	wtl_pack_number(&pack, &kind);
	wtl_saved_pack_part(&pack, &part, &trace->modules);
	wtl_trace_forget(trace);
	note_told(keep);
	pthread_mutex_unlock(&keep->watch.taking);
	put(recorder, pack.error, &content);
	wtl_buf_done(&content);
}

/* Packs the names of frames, and where they are in the source. */
static int pack_names(struct wtl_pack *pack, struct wtl_trace *trace)
{
	struct wtl_split_result nothing = {.n_nodes = 0};
	struct wtl_saved saved = {.n_command = 0};
	uint64_t kind = WTL_PART_NAMES;
	int rc = wtl_calls_make(trace, &nothing, &saved.calls);

	if (rc == 0)
		rc = wtl_places_make(&saved.places, trace);
	if (rc == 0) {
		saved.trace = *trace;
		wtl_pack_number(pack, &kind);
		wtl_saved_pack_all_names(pack, &saved);
		rc = pack->error;
	}
	wtl_calls_done(&saved.calls);
	wtl_places_done(&saved.places);
	return rc;
}

void wtl_profile_keep_stop(struct wtl_profile_keep *keep)
{
	wtl_profile_watch_stop(&keep->watch);
}

void wtl_profile_keep_end(struct wtl_app *app, struct wtl_profile_keep *keep,
			  struct wtl_recorder *recorder, int64_t now_ns)
{
	struct wtl_buf content;
	struct wtl_pack pack = {.out = &content};

	wtl_profile_watch_end(&keep->watch, now_ns);
	wtl_profile_keep_more(keep, recorder);
	wtl_buf_init(&content, PART_MAX);
	put(recorder, pack_names(&pack, &keep->watch.trace), &content);
	wtl_profile_watch_complain(app, &keep->watch.trace);
	wtl_buf_done(&content);
}
