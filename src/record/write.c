/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/outfile.h"
#include "base/text.h"
#include "base/thread.h"
#include "energy/units.h"
#include "record/code.h"
#include "record/writer.h"

#define PERIOD_NS (60 * WTL_NS_PER_S)

enum {
	BUSY_MS = 10000,
	/* So that a reader needs no more than 32 MiB for a period's values. */
	PERIOD_VALUES_MAX = 4 << 20,
	/* Between two commits, beyond what is kept ready. */
	GROWN_BYTES_MAX = 32 << 20,
};

/* ---- Stretches ---- */

/* Room for series up to n. */
static int stretch_widen(struct wtl_stretch *stretch, size_t n, size_t room)
{
	if (n <= stretch->n_runs)
		return 0;
	if (wtl_array_reserve(&stretch->runs, &stretch->runs_room, n, sizeof(stretch->runs[0])) < 0)
		return -ENOMEM;
	for (; stretch->n_runs < n; stretch->n_runs++) {
		int64_t *values = malloc(room * sizeof(*values));

		if (!values)
			return -ENOMEM;
		stretch->runs[stretch->n_runs] =
			(struct wtl_value_run){.values = values, .room = room};
	}
	return 0;
}

/* ---- Opening ---- */

static void options_complete(struct wtl_store_options *options)
{
	if (options->period_ns <= 0)
		options->period_ns = PERIOD_NS;
	if (options->busy_ms <= 0)
		options->busy_ms = BUSY_MS;
	/* A ring is dropped by periods. */
	if (options->max_age_ns > 0 && options->period_ns > options->max_age_ns / 4)
		options->period_ns = options->max_age_ns / 4 + 1;
}

static void writer_free(struct wtl_store_writer *writer)
{
	for (int i = 0; i < 2; i++)
		wtl_stretch_done(&writer->stretches[i]);
	wtl_names_done(&writer->names);
	wtl_gather_done(&writer->gather);
	wtl_merge_done(&writer->merge);
	wtl_buf_done(&writer->part);
	wtl_buf_done(&writer->block);
	pthread_mutex_destroy(&writer->lock);
	pthread_cond_destroy(&writer->changed);
	free(writer);
}

static void begin(struct wtl_store_writer *writer)
{
	struct wtl_io *io = writer->options.io;

	if (io) {
		writer->last_mono_ns = wtl_io_mono_ns(io);
		writer->last_utc_ns = wtl_io_real_ns(io);
		writer->has_begun = true;
	}
	writer->period_begin_ns = writer->asked_mono_ns = writer->last_mono_ns;
	writer->asked_utc_ns = writer->last_utc_ns;
	writer->recording = (struct wtl_row_recording){
		.id = 1,
		.pid = getpid(),
		.begin_mono_ns = writer->last_mono_ns,
		.begin_utc_ns = writer->last_utc_ns,
		.period_ns = writer->options.period_ns,
		.max_age_ns = writer->options.max_age_ns,
		.max_bytes = writer->options.max_bytes,
	};
}

int wtl_store_create(const char *path, const struct wtl_store_options *options,
		     struct wtl_store_writer **ret_writer, struct wtl_err *err)
{
	struct wtl_store_writer *writer = calloc(1, sizeof(*writer));
	int rc;

	if (!writer)
		return wtl_err_set(err, ENOMEM, "record", path, "out of memory");
	writer->options = *options;
	options_complete(&writer->options);
	writer->front = &writer->stretches[0];
	writer->put.runs = &writer->front->runs;
	writer->next_period = 1;
	pthread_mutex_init(&writer->lock, NULL);
	pthread_cond_init(&writer->changed, NULL);
	for (int i = 0; i < 2; i++)
		wtl_buf_init(&writer->stretches[i].rows, SIZE_MAX);
	wtl_buf_init(&writer->part, WTL_CODE_BYTES_MAX);
	wtl_buf_init(&writer->block, WTL_CODE_BYTES_MAX);
	wtl_merge_init(&writer->merge);
	begin(writer);
	rc = wtl_file_create(&writer->file, path, &writer->options, &writer->recording, err);
	if (rc == 0) {
		rc = wtl_thread_start(&writer->thread, wtl_writer_run, writer);
		if (rc < 0) {
			wtl_err_set(err, rc, "record", path, "no thread can be started: %s",
				    wtl_err_text(rc));
			wtl_file_close(&writer->file, true);
			wtl_outfile_remove(path);
		}
	}
	if (rc < 0) {
		writer_free(writer);
		return rc;
	}
	*ret_writer = writer;
	return 0;
}

/* ---- Rows ---- */

/* Notes that memory ran out: the next commit returns that. */
int wtl_store_fail(struct wtl_store_writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	if (!writer->error)
		writer->error = wtl_err_set(&writer->err, ENOMEM, "record", writer->file.path,
					    "the recording stopped: out of memory");
	pthread_mutex_unlock(&writer->lock);
	return -ENOMEM;
}

static int row_put(struct wtl_store_writer *writer, const struct wtl_table *table, const void *row)
{
	if (writer->is_stopped)
		return 0;
	if (wtl_row_pack(&writer->front->rows, table, row) < 0)
		return wtl_store_fail(writer);
	writer->front->n_rows++;
	return 0;
}

int64_t wtl_store_series(struct wtl_store_writer *writer, const char *name)
{
	int64_t found = wtl_names_find(&writer->names, name);
	struct wtl_row_series row = {.id = (uint32_t)writer->names.n};
	size_t n = writer->names.n + 1;
	int rc;

	if (found >= 0)
		return found;
	/* The stretch that is being written has runs of its own: it is widened when it is taken again. */
	rc = stretch_widen(writer->front, n, wtl_writer_room(writer));
	if (rc == 0)
		rc = wtl_names_add(&writer->names, row.id, name);
	if (rc < 0)
		return rc;
	wtl_text_copy(row.name, sizeof(row.name), name);
	rc = row_put(writer, &wtl_table_series, &row);
	return rc < 0 ? rc : (int64_t)row.id;
}

int wtl_store_fact(struct wtl_store_writer *writer, const char *key, const char *value)
{
	struct wtl_row_fact row;

	wtl_text_copy(row.key, sizeof(row.key), key);
	wtl_text_copy(row.value, sizeof(row.value), value);
	return row_put(writer, &wtl_table_fact, &row);
}

int wtl_store_domain(struct wtl_store_writer *writer, uint32_t i,
		     const struct wtl_stored_domain *domain)
{
	struct wtl_row_domain row = {.id = i, .domain = *domain};

	return row_put(writer, &wtl_table_domain, &row);
}

int wtl_store_channel(struct wtl_store_writer *writer, uint32_t i,
		      const struct wtl_channel *channel)
{
	struct wtl_row_channel row = {.id = i, .channel = *channel};

	wtl_text_copy(row.source, sizeof(row.source), channel->source);
	if (channel->class) {
		row.has_class = true;
		row.class = *channel->class;
		wtl_text_copy(row.class_name, sizeof(row.class_name), channel->class->name);
	}
	return row_put(writer, &wtl_table_channel, &row);
}

int wtl_store_miss(struct wtl_store_writer *writer, uint32_t i, const struct wtl_miss *miss)
{
	struct wtl_row_miss row = {.id = i, .miss = *miss};

	wtl_text_copy(row.source, sizeof(row.source), miss->source);
	return row_put(writer, &wtl_table_miss, &row);
}

int wtl_store_consumer(struct wtl_store_writer *writer, const struct wtl_stored_consumer *stored)
{
	struct wtl_row_consumer row = {.stored = *stored};

	row.has_group = stored->consumer.group != NULL;
	row.stored.group = row.has_group ? *stored->consumer.group : (struct wtl_group){.unit = ""};
	return row_put(writer, &wtl_table_consumer, &row);
}

int wtl_store_consumer_end(struct wtl_store_writer *writer, uint32_t id, int64_t last_look)
{
	struct wtl_row_consumer_end row = {.id = id, .last_look = last_look};

	return row_put(writer, &wtl_table_consumer_end, &row);
}

static int energy_put(struct wtl_store_writer *writer, uint32_t window, int32_t domain,
		      const struct wattle_energy *energy)
{
	struct wtl_row_energy row = {.window = window, .domain = domain, .energy = *energy};

	return row_put(writer, &wtl_table_energy, &row);
}

int wtl_store_window(struct wtl_store_writer *writer, const struct wtl_stored_window *stored)
{
	static const struct wattle_energy none;
	struct wtl_row_window row = {.stored = *stored};
	int rc = row_put(writer, &wtl_table_window, &row);

	if (rc == 0)
		rc = energy_put(writer, stored->id, -1, &stored->total);
	for (size_t i = 0; rc == 0 && i < stored->n_energies; i++)
		rc = energy_put(writer, stored->id, (int32_t)i,
				stored->energies ? &stored->energies[i] : &none);
	return rc;
}

int wtl_store_gap(struct wtl_store_writer *writer, const struct wtl_stored_gap *gap)
{
	struct wtl_row_gap row = {.id = writer->n_gaps + 1, .gap = *gap};
	int rc = row_put(writer, &wtl_table_gap, &row);

	if (rc == 0)
		writer->n_gaps++;
	return rc;
}

int wtl_store_account(struct wtl_store_writer *writer, const struct wtl_stored_account *account)
{
	struct wtl_row_account row = {.account = *account};

	if (account->consumer)
		row.account.slot = 0;
	return row_put(writer, &wtl_table_account, &row);
}

int wtl_store_baseline(struct wtl_store_writer *writer, const struct wtl_stored_baseline *baseline)
{
	struct wtl_row_baseline row = {.stored = *baseline};

	return row_put(writer, &wtl_table_baseline, &row);
}

/* ---- Values ---- */

static bool run_grow(struct wtl_store_writer *writer, struct wtl_value_run *run)
{
	struct wtl_stretch *front = writer->front;
	size_t more = run->room * sizeof(run->values[0]);

	if (front->is_lost)
		return false;
	if (more > GROWN_BYTES_MAX - front->grown_bytes ||
	    wtl_array_resize(&run->values, 2 * more, 1) < 0) {
		front->is_lost = true;
		return false;
	}
	front->grown_bytes += more;
	run->room *= 2;
	return true;
}

bool wtl_store_put_more(struct wtl_store_writer *writer, uint32_t series, int64_t value)
{
	struct wtl_value_run *run = &writer->front->runs[series];

	/* Values of a recording that has stopped are dropped. */
	if (writer->is_stopped)
		run->n = 0;
	else if (!run_grow(writer, run))
		return false;
	run->values[run->n++] = value;
	return true;
}

int64_t *wtl_store_put_many(struct wtl_store_writer *writer, uint32_t series, size_t n)
{
	struct wtl_value_run *run = &writer->front->runs[series];

	if (writer->is_stopped)
		return NULL;
	while (run->room - run->n < n)
		if (!run_grow(writer, run))
			return NULL;
	run->n += n;
	return run->values + run->n - n;
}

/* ---- Commits ---- */

static bool is_period_over(const struct wtl_store_writer *writer, int64_t t_mono_ns)
{
	return t_mono_ns - writer->period_begin_ns >= writer->options.period_ns ||
	       writer->period_values >= PERIOD_VALUES_MAX ||
	       writer->period_bytes >= wtl_ring_period_bytes(&writer->options) ||
	       writer->period_commits >= WTL_PARTS_MAX;
}

static void note_loss(struct wtl_store_writer *writer, int64_t t_mono_ns)
{
	struct wtl_stored_gap *gap = &writer->front->gap.gap;

	writer->front->gap = (struct wtl_row_gap){.id = ++writer->n_gaps};
	gap->kind = WTL_GAP_OVERRUN;
	gap->begin_mono_ns = writer->last_mono_ns;
	gap->duration_ns = t_mono_ns - writer->last_mono_ns;
	snprintf(gap->text, sizeof(gap->text), "values came faster than they could be written");
}

/* Gives the front stretch to the thread, which has none. Under the lock. 1 where the period is over. */
static int hand_over(struct wtl_store_writer *writer, int64_t t_mono_ns, int64_t t_utc_ns)
{
	struct wtl_stretch *front = writer->front;
	struct wtl_stretch *back = &writer->stretches[front == &writer->stretches[0]];
	bool ends;

	/* Without memory for the next stretch, this one grows, or is lost. After the last one, nothing is put. */
	if (!writer->is_last && stretch_widen(back, writer->names.n, wtl_writer_room(writer)) < 0)
		return 0;
	writer->period_commits++;
	for (size_t i = 0; i < front->n_runs; i++)
		writer->period_values += front->runs[i].n;
	ends = front->is_lost || writer->is_last || is_period_over(writer, t_mono_ns);
	if (front->is_lost)
		note_loss(writer, t_mono_ns);
	front->ends_period = ends;
	front->begin_mono_ns = writer->last_mono_ns;
	front->begin_utc_ns = writer->last_utc_ns;
	front->end_mono_ns = t_mono_ns;
	front->end_utc_ns = t_utc_ns;
	if (ends) {
		writer->period_begin_ns = t_mono_ns;
		writer->period_values = 0;
		writer->period_commits = 0;
	}
	writer->last_mono_ns = t_mono_ns;
	writer->last_utc_ns = t_utc_ns;
	writer->front = back;
	writer->put.runs = &back->runs;
	writer->full = front;
	writer->n_taken++;
	pthread_cond_broadcast(&writer->changed);
	return ends;
}

int wtl_store_commit(struct wtl_store_writer *writer, int64_t t_mono_ns, int64_t t_utc_ns,
		     struct wtl_err *err)
{
	int rc = 0;

	if (!writer->has_begun) {
		writer->has_begun = true;
		writer->period_begin_ns = writer->last_mono_ns = t_mono_ns;
		writer->last_utc_ns = t_utc_ns;
	}
	writer->asked_mono_ns = t_mono_ns;
	writer->asked_utc_ns = t_utc_ns;
	pthread_mutex_lock(&writer->lock);
	if (writer->error) {
		rc = writer->error;
		if (err)
			*err = writer->err;
	} else if (!writer->full) {
		rc = hand_over(writer, t_mono_ns, t_utc_ns);
	}
	pthread_mutex_unlock(&writer->lock);
	if (rc < 0)
		writer->is_stopped = true;
	return rc;
}

void wtl_writer_wait(struct wtl_store_writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	while (writer->full || writer->has_merge)
		pthread_cond_wait(&writer->changed, &writer->lock);
	pthread_mutex_unlock(&writer->lock);
}

bool wtl_store_is_over(const struct wtl_store_writer *writer)
{
	return writer->is_over;
}

void wtl_store_wait(struct wtl_store_writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	while (writer->full && !writer->error)
		pthread_cond_wait(&writer->changed, &writer->lock);
	pthread_mutex_unlock(&writer->lock);
}

bool wtl_store_has_more(const struct wtl_store_writer *writer)
{
	const struct wtl_stretch *front = writer->front;
	bool has = front->n_rows > 0;

	for (size_t i = 0; !has && i < front->n_runs; i++)
		has = front->runs[i].n > 0;
	return has;
}

int wtl_store_end(struct wtl_store_writer *writer, struct wtl_err *err)
{
	int rc;

	if (!writer)
		return 0;
	wtl_writer_wait(writer);
	writer->is_last = true;
	if (!writer->is_stopped && wtl_store_has_more(writer))
		wtl_store_commit(writer, writer->asked_mono_ns, writer->asked_utc_ns, NULL);
	pthread_mutex_lock(&writer->lock);
	writer->is_ending = true;
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
	pthread_join(writer->thread, NULL);
	rc = writer->error ? writer->error : writer->leaves_more;
	if (rc && err)
		*err = writer->err;
	writer_free(writer);
	return rc;
}
