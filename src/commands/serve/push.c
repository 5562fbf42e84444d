/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/infile.h"
#include "base/text.h"
#include "cli/complain.h"
#include "commands/serve/serve.h"
#include "energy/units.h"
#include "record/store.h"
#include "replay/recorder.h"
#include "serve/live.h"
#include "serve/push_wire.h"

static bool names_label(const struct wtl_option_list *labels, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < labels->n; i++)
		if (strncmp(labels->words[i], name, len) == 0 && labels->words[i][len] == '=')
			return true;
	return false;
}

static int check_labels(struct wtl_app *app, const struct wtl_option_list *labels)
{
	for (size_t i = 0; i < labels->n; i++) {
		const char *label = labels->words[i];
		size_t len = strcspn(label, "=");

		if (!wtl_push_is_label(label))
			return wtl_complain(app, "--push-label takes NAME=VALUE, not '%s'", label);
		for (size_t k = 0; k < i; k++)
			if (strncmp(labels->words[k], label, len + 1) == 0)
				return wtl_complain(app, "--push-label %.*s is given twice",
						    (int)len, label);
	}
	return 0;
}

int wtl_serve_push_check(struct wtl_app *app)
{
	const struct wtl_serve_settings *settings = app->own;
	const char *url = settings->push.url;
	const struct wtl_option *option;

	for (size_t i = 0; !url && (option = wtl_option_at(app->command, i)); i++)
		if ((app->used >> i & 1) && wtl_text_starts(option->name, "push-"))
			return wtl_complain(app, "--%s says how to push: give --push URL, too",
					    option->name);
	if (!url)
		return 0;
	if (!wtl_client_is_url(url))
		return wtl_complain(app, "--push takes a URL such as "
					 "http://127.0.0.1:9090/api/v1/write");
	if (settings->push_verify && !wtl_client_is_url(settings->push_verify))
		return wtl_complain(app, "--push-verify takes a URL such as "
					 "http://127.0.0.1:9090/api/v1/query");
	return check_labels(app, &settings->push_labels);
}

/* The user's labels, and "job" and "instance" as in a scrape. */
static int make_labels(struct wtl_serve_push *push, const struct wtl_option_list *given,
		       const char *host)
{
	const struct {
		const char *name, *value;
	} usual[] = {{"job", "wattle"}, {"instance", host}};
	size_t n = 0;

	push->labels = calloc(given->n + 3, sizeof(*push->labels));
	if (!push->labels)
		return -ENOMEM;
	for (size_t i = 0; i < given->n; i++)
		if (!(push->labels[n++] = strdup(given->words[i])))
			return -ENOMEM;
	for (size_t i = 0; i < 2; i++)
		if (usual[i].value[0] && !names_label(given, usual[i].name) &&
		    asprintf(&push->labels[n++], "%s=%s", usual[i].name, usual[i].value) < 0) {
			push->labels[n - 1] = NULL;
			return -ENOMEM;
		}
	return 0;
}

/* Of both, as neither is always unique: copied machines share the name, containers the ID. */
static uint64_t machine_number(const char *host)
{
	uint64_t sum = wtl_hash_more(WTL_HASH_START, host, strlen(host));
	struct wtl_buf id;

	wtl_buf_init(&id, 256);
	if (wtl_infile_read("/etc/machine-id", &id) == 0)
		sum = wtl_hash_more(sum, id.data, id.len);
	wtl_buf_done(&id);
	return sum;
}

int wtl_serve_push_open(struct wtl_serve_push *push, struct wtl_app *app,
			struct wtl_serve_store *store, bool is_stored, const char *host)
{
	const struct wtl_serve_settings *settings = app->own;
	struct wtl_push_options how = {
		.http = settings->push,
		.sets = settings->compat,
		.interval_ns = settings->push_interval_ns,
		.verify = settings->push_verify,
		.begin = store->pushed,
		.machine = machine_number(host),
		.recordings = is_stored ? wtl_serve_store_list : NULL,
		.context = store,
	};
	struct wtl_err err = {.code = 0};
	char where[200];

	*push = (struct wtl_serve_push){.app = app, .is_kept = is_stored};
	if (!settings->push.url)
		return 0;
	if (make_labels(push, &settings->push_labels, host) < 0)
		return wtl_complain(app, "out of memory");
	how.labels = (const char *const *)push->labels;
	if (wtl_push_start(&how, &push->push, &err) < 0)
		return wtl_complain(app, "--push: %s", err.text);
	wtl_client_url_text(settings->push.url, where, sizeof(where));
	wtl_remark(app, "pushing to %s%s", where,
		   is_stored ? "" : ": without a store, what is not sent within a minute is lost");
	return 0;
}

void wtl_serve_push_look(struct wtl_serve_push *push, struct wtl_live_push *ret_counts)
{
	char news[400];

	if (!push->push)
		return;
	wtl_push_show(push->push);
	wtl_push_count(push->push, ret_counts);
	while (wtl_push_news(push->push, news, sizeof(news)))
		wtl_remark(push->app, "%s", news);
}

/* ---- The log ---- */

static void write_place(struct wtl_store_writer *writer, const struct wtl_push_place *place)
{
	char text[96];

	snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, place->cursor,
		 place->next, place->doubtful, place->again);
	wtl_store_fact(writer, WTL_FACT_PUSHED, text);
}

void wtl_serve_push_carry(const struct wtl_push_place *place, struct wtl_recorder *recorder)
{
	if (place->next > 0)
		write_place(wtl_recorder_writer(recorder), place);
}

static void keep_place(struct wtl_serve_push *push)
{
	struct wtl_push_place place;

	wtl_push_place(push->push, &place);
	write_place(push->writer, &place);
}

/* Sending does not depend on keeping the row. */
static void keep_row(struct wtl_serve_push *push, struct wtl_store_writer *writer)
{
	const struct wtl_push_table *table;
	const struct wtl_push_row *row;

	if (writer != push->writer && wtl_push_log_begin(&push->log, writer) < 0)
		return;
	push->writer = writer;
	wtl_push_waiting(push->push, &table, &row);
	if (row)
		wtl_push_log_put(&push->log, table, row);
	keep_place(push);
}

static void end_own(struct wtl_serve_push *push)
{
	struct wtl_err err = {.code = 0};

	if (push->own && wtl_store_end(push->own, &err) < 0)
		wtl_remark(push->app, "%s: what is not sent within a minute is lost", err.text);
	push->own = push->writer = NULL;
}

static void commit_own(struct wtl_serve_push *push, int64_t t_utc_ns)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (wtl_store_commit(push->own, now.tv_sec * WTL_NS_PER_S + now.tv_nsec, t_utc_ns, NULL) <
	    0)
		end_own(push);
}

void wtl_serve_push_take(struct wtl_serve_push *push, const struct wtl_live *live,
			 struct wtl_recorder *recorder)
{
	if (!push->push || !live)
		return;
	wtl_push_take(push->push, live);
	if (recorder && push->is_kept)
		keep_row(push, wtl_recorder_writer(recorder));
	if (!push->own)
		return;
	keep_row(push, push->own);
	commit_own(push, live->t_utc_ns);
}

void wtl_serve_push_newest(struct wtl_serve_push *push, struct wtl_board *board,
			   struct wtl_live_push *ret_counts)
{
	const struct wtl_live *live = wtl_board_hold(board);

	wtl_serve_push_look(push, ret_counts);
	wtl_serve_push_take(push, live, NULL);
	wtl_board_give_back(board, live);
}

void wtl_serve_push_end(struct wtl_serve_push *push, bool is_recorded)
{
	if (!push->push)
		return;
	wtl_push_show(push->push);
	wtl_push_stop(push->push);
	if (push->writer && (is_recorded || push->own))
		keep_place(push);
	end_own(push);
}

int wtl_serve_push_open_alone(struct wtl_serve_push *push, struct wtl_app *app,
			      struct wtl_serve_store *store)
{
	const struct wtl_serve_settings *settings = app->own;
	const struct wtl_store_options options = {.max_bytes = settings->max_bytes / 2,
						  .max_age_ns = settings->max_age_ns};
	struct wtl_store_writer *own = NULL;
	struct wtl_err err = {.code = 0};
	char host[65] = "";
	int rc;

	if (!settings->push.url)
		return 0;
	gethostname(host, sizeof(host) - 1);
	rc = wtl_serve_store_open(store, app, settings);
	if (rc < 0)
		return rc;
	if (rc == 0 && wtl_store_create(store->path, &options, &own, &err) < 0)
		wtl_remark(app, "%s: %s", store->path, err.text);
	rc = wtl_serve_push_open(push, app, store, own != NULL, host);
	push->own = own;
	return rc;
}

void wtl_serve_push_close(struct wtl_serve_push *push)
{
	wtl_push_stop(push->push);
	end_own(push);
	wtl_push_free(push->push);
	push->push = NULL;
	wtl_push_log_done(&push->log);
	for (size_t i = 0; push->labels && push->labels[i]; i++)
		free(push->labels[i]);
	free(push->labels);
	push->labels = NULL;
}
