/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "cli/complain.h"
#include "cli/user.h"
#include "commands/serve/serve.h"
#include "energy/units.h"
#include "record/store.h"
#include "serve/totals.h"

#define PREFIX "wattle-serve-"
#define SUFFIX ".wattle"

enum { DAY_S = 86400, EARLIER_MAX = 64 };

/* A recording of an earlier run. */
struct kept {
	char name[64];
	uint64_t bytes;
	int64_t changed_ns;
};

struct kept_list {
	struct kept *list;
	size_t n, room;
};

static int path_of(const struct wtl_serve_store *store, const char *name, char path[PATH_MAX])
{
	int len = snprintf(path, PATH_MAX, "%s/%s", store->folder, name);

	return len < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* 1: there is no place for it, or another machine is measured. */
static int find_folder(struct wtl_serve_store *store, const struct wtl_app *app,
		       const struct wtl_serve_settings *settings)
{
	const char *given = getenv("STATE_DIRECTORY"); /* systemd's */
	size_t size = sizeof(store->folder);
	const char *last = settings->is_exporter ? "push" : "serve";
	int len, rc;

	if (settings->store) {
		len = snprintf(store->folder, size, "%s", settings->store);
	} else if (app->settings.root || app->settings.tape) {
		return 1;
	} else if (given && given[0] == '/') {
		len = snprintf(store->folder, size, "%s/%s", given, last);
	} else {
		rc = wtl_user_machine_path(last, store->folder, size);
		return rc == -ENOENT ? 1 : rc;
	}
	return len < (int)size ? 0 : -ENAMETOOLONG;
}

/* ---- What is there ---- */

static bool is_ours(const char *name)
{
	size_t len = strlen(name);

	return len < sizeof(((struct kept *)NULL)->name) && wtl_text_starts(name, PREFIX) &&
	       len > strlen(SUFFIX) && strcmp(name + len - strlen(SUFFIX), SUFFIX) == 0;
}

/* Names contain the time. */
static int newest_first(const void *a, const void *b)
{
	return strcmp(((const struct kept *)b)->name, ((const struct kept *)a)->name);
}

static int list_kept(const struct wtl_serve_store *store, struct kept_list *kept)
{
	DIR *folder = opendir(store->folder);
	const struct dirent *entry;
	char path[PATH_MAX];
	struct stat status;
	int rc = folder ? 0 : -errno;

	while (rc == 0 && (entry = readdir(folder))) {
		if (!is_ours(entry->d_name) || path_of(store, entry->d_name, path) < 0 ||
		    lstat(path, &status) < 0 || !S_ISREG(status.st_mode))
			continue;
		rc = wtl_array_reserve(&kept->list, &kept->room, kept->n + 1, sizeof(*kept->list));
		if (rc < 0)
			break;
		wtl_text_copy(kept->list[kept->n].name, sizeof(kept->list->name), entry->d_name);
		kept->list[kept->n].bytes = (uint64_t)status.st_size;
		kept->list[kept->n++].changed_ns = status.st_mtim.tv_sec * WTL_NS_PER_S;
	}
	if (folder)
		closedir(folder);
	if (kept->n > 0)
		qsort(kept->list, kept->n, sizeof(*kept->list), newest_first);
	return rc;
}

static void remove_old(struct wtl_app *app, const struct wtl_serve_store *store,
		       const struct wtl_serve_settings *settings, const struct kept_list *kept)
{
	int64_t now_ns = time(NULL) * WTL_NS_PER_S;
	uint64_t sum = 0;
	char path[PATH_MAX];

	for (size_t i = 0; i < kept->n; i++) {
		const struct kept *one = &kept->list[i];
		bool is_too_old =
			settings->max_age_ns > 0 && now_ns - one->changed_ns > settings->max_age_ns;

		sum += one->bytes;
		/* The newest one has the counters, until the new one has them. */
		if (i == 0 ||
		    !(is_too_old || (settings->max_bytes && sum > settings->max_bytes / 2)) ||
		    path_of(store, one->name, path) < 0)
			continue;
		wtl_remark(app, "%s is removed: %s", path,
			   is_too_old ? "it is older than --max-age" : "the store has --max-size");
		wtl_store_remove(path);
	}
}

/* ---- The counters ---- */

static void name_piece(char key[40], size_t i)
{
	if (i == 0)
		wtl_text_copy(key, 40, WTL_FACT_TOTALS);
	else
		snprintf(key, 40, WTL_FACT_TOTALS "-%zu", i);
}

/* As many whole entries as fit into a fact. */
static size_t piece_length(const char *totals)
{
	size_t len = strnlen(totals, WTL_FACT_SIZE);

	if (len < WTL_FACT_SIZE)
		return len;
	for (len--; len > 0 && totals[len - 1] != ';';)
		len--;
	return len > 0 ? len : WTL_FACT_SIZE - 1;
}

void wtl_serve_store_keep(struct wtl_serve_store *store, struct wtl_recorder *recorder,
			  const char *totals)
{
	char key[40], piece[WTL_FACT_SIZE];
	size_t n = 0;

	for (; *totals; n++) {
		size_t len = piece_length(totals);

		memcpy(piece, totals, len);
		piece[len] = '\0';
		name_piece(key, n);
		wtl_recorder_fact(recorder, key, piece);
		totals += len;
	}
	for (size_t i = n; i < store->n_pieces; i++) {
		name_piece(key, i);
		wtl_recorder_fact(recorder, key, "");
	}
	store->n_pieces = n;
}

/* Joins all pieces; NULL: there are none, or no memory. */
static char *join_pieces(struct wtl_store_reader *reader)
{
	const char *piece;
	struct wtl_buf all;
	char key[40];

	wtl_buf_init(&all, WTL_TOTALS_TEXT_MAX);
	for (size_t i = 0;; i++) {
		name_piece(key, i);
		piece = wtl_store_get_fact(reader, key);
		if (!piece)
			break;
		wtl_buf_puts(&all, piece);
	}
	if (all.error)
		wtl_buf_done(&all);
	return all.data;
}

/* Rows sent again if the recording does not say how many: at one per second, what VictoriaMetrics may lose. */
enum { OVERLAP_ROWS = 15 };

/* Without a third number, or after a kill, every row may have been sent. */
static void read_pushed(struct wtl_serve_store *store, const char *text)
{
	struct wtl_push_place place = {.next = 0};
	int n = text ? sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &place.cursor,
			      &place.next, &place.doubtful, &place.again)
		     : 0;

	if (n < 2 || place.cursor > place.next || place.next == 0 || place.next >= INT64_MAX)
		return;
	if (n < 3 || store->was_cut)
		place.doubtful = place.next - 1;
	if (n < 4) /* a row a second */
		place.again = place.cursor > OVERLAP_ROWS ? place.cursor - OVERLAP_ROWS : 1;
	store->pushed = place;
}

/* 0, or negative: the recording has none. An exporter's has no counters, only the progress of pushing. */
static int read_totals(struct wtl_serve_store *store, bool is_exporter, const char *path,
		       struct wtl_err *err)
{
	struct wtl_store_reader *reader;
	const char *began;
	int rc = wtl_store_open(path, &reader, err);

	if (rc < 0)
		return rc;
	began = is_exporter ? NULL : wtl_store_get_fact(reader, WTL_FACT_TOTALS_BEGAN);
	if (is_exporter)
		rc = wtl_store_get_fact(reader, WTL_FACT_PUSHED) ? 0 : -ENODATA;
	else if (!began || wtl_num_i64(began, strlen(began), &store->counters_utc_ns) < 0 ||
		 !(store->totals = join_pieces(reader)))
		rc = wtl_err_set(err, ENODATA, "serve", path, "it has no counters");
	store->was_cut = rc == 0 && !wtl_store_is_whole(reader);
	if (rc == 0)
		read_pushed(store, wtl_store_get_fact(reader, WTL_FACT_PUSHED));
	wtl_store_close(reader);
	return rc;
}

/* From the newest recording that has them: one cut off in its first second has none. */
static void find_totals(struct wtl_app *app, struct wtl_serve_store *store,
			const struct wtl_serve_settings *settings, const struct kept_list *kept)
{
	struct wtl_err err = {.code = 0};
	char path[PATH_MAX];

	for (size_t i = 0; i < kept->n; i++) {
		if (path_of(store, kept->list[i].name, path) < 0)
			continue;
		if (read_totals(store, settings->is_exporter, path, &err) == 0) {
			if (store->was_cut && !settings->is_exporter)
				wtl_remark(app,
					   "%s was not ended: the counters go on from its last "
					   "commit",
					   path);
			return;
		}
		if (err.code != -ENODATA && err.code != ENODATA)
			wtl_remark(app, "%s: %s: the counters in it are passed over", path,
				   err.text);
	}
	if (kept->n > 0 && !settings->is_exporter)
		wtl_remark(app, "no recording in %s has counters: they begin at 0", store->folder);
}

char **wtl_serve_store_list(void *context)
{
	const struct wtl_serve_store *store = context;
	struct kept_list kept = {.n = 0};
	char **paths = NULL, path[PATH_MAX];
	size_t n = 0;

	if (list_kept(store, &kept) == 0)
		paths = calloc(kept.n + 1, sizeof(*paths));
	for (size_t i = kept.n; paths && i-- > 0;)
		if (path_of(store, kept.list[i].name, path) == 0 && (paths[n] = strdup(path)))
			n++;
	free(kept.list);
	return paths;
}

/* Lists those of the last day; some may be gone when they are read. */
static int list_earlier(struct wtl_serve_store *store, const struct kept_list *kept)
{
	int64_t since_ns = (time(NULL) - DAY_S) * WTL_NS_PER_S;
	size_t n = kept->n < EARLIER_MAX ? kept->n : EARLIER_MAX;
	char path[PATH_MAX];

	store->earlier = calloc(n + 1, sizeof(*store->earlier));
	for (size_t i = n; store->earlier && i-- > 0;) {
		if (kept->list[i].changed_ns < since_ns ||
		    path_of(store, kept->list[i].name, path) < 0)
			continue;
		store->earlier[store->n_earlier] = strdup(path);
		if (!store->earlier[store->n_earlier])
			return -ENOMEM;
		store->n_earlier++;
	}
	return store->earlier ? 0 : -ENOMEM;
}

/* Later than all existing names, whatever the clock was set to. */
static time_t time_of_new(const struct kept_list *kept)
{
	time_t now = time(NULL), newest = 0;
	struct tm utc = {.tm_sec = 0};

	if (kept->n > 0 &&
	    sscanf(kept->list[0].name, PREFIX "%4d%2d%2d-%2d%2d%2d", &utc.tm_year, &utc.tm_mon,
		   &utc.tm_mday, &utc.tm_hour, &utc.tm_min, &utc.tm_sec) == 6) {
		utc.tm_year -= 1900;
		utc.tm_mon--;
		newest = timegm(&utc);
	}
	return now > newest ? now : newest + 1;
}

static int name_new(const struct wtl_serve_store *store, const struct kept_list *kept,
		    char path[PATH_MAX])
{
	time_t at = time_of_new(kept);
	struct stat status;
	char name[64];
	struct tm utc;
	int rc;

	do {
		if (!gmtime_r(&at, &utc) ||
		    strftime(name, sizeof(name), PREFIX "%Y%m%d-%H%M%S" SUFFIX, &utc) == 0)
			return -EOVERFLOW;
		rc = path_of(store, name, path);
		at++;
	} while (rc == 0 && lstat(path, &status) == 0); /* e.g. a folder of that name */
	return rc;
}

/* Two agents would continue each other's counters. Without locks in the file system, hopefully there is one agent. */
static int lock_folder(struct wtl_serve_store *store)
{
	int lock = open(store->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;

	if (lock < 0 || access(store->folder, W_OK) < 0)
		rc = -errno;
	else if (flock(lock, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		rc = -EBUSY;
	if (rc == 0)
		store->lock = lock;
	else if (lock >= 0)
		close(lock);
	return rc;
}

static int open_folder(struct wtl_serve_store *store)
{
	int rc = wtl_user_make_folder(store->folder);

	return rc < 0 ? rc : lock_folder(store);
}

/* Earlier counters are not continued, but the progress of pushing is kept for the next agent. */
static int look_at_earlier(struct wtl_serve_store *store, const struct kept_list *kept)
{
	struct wtl_err err = {.code = 0};
	char path[PATH_MAX];

	for (size_t i = 0; i < kept->n && store->pushed.next == 0; i++)
		if (path_of(store, kept->list[i].name, path) == 0)
			read_totals(store, true, path, &err);
	return list_earlier(store, kept);
}

int wtl_serve_store_renew(struct wtl_serve_store *store, struct wtl_app *app,
			  const struct wtl_serve_settings *settings, char path[PATH_MAX])
{
	bool is_late = store->lock < 0;
	struct kept_list kept = {.n = 0};
	int rc = is_late ? open_folder(store) : 0;

	if (rc == 0)
		rc = list_kept(store, &kept);
	if (rc == 0 && is_late)
		rc = look_at_earlier(store, &kept);
	if (rc == 0) {
		remove_old(app, store, settings, &kept);
		rc = name_new(store, &kept, path);
	}
	free(kept.list);
	return rc;
}

void wtl_serve_store_turn_to(struct wtl_serve_store *store, const char *path)
{
	wtl_text_copy(store->path, sizeof(store->path), path);
	store->n_pieces = 0;
}

/* Measuring goes on without a store. */
static int nothing_kept(struct wtl_serve_store *store, struct wtl_app *app,
			const struct wtl_serve_settings *settings, int rc)
{
	struct kept_list none = {.n = 0};

	wtl_complain(app, "%s: %s: nothing is remembered%s", store->folder, wtl_err_text(rc),
		     settings->is_exporter ? "" : ", and counters begin at 0");
	free(store->totals);
	store->totals = NULL;
	name_new(store, &none, store->path);
	wtl_err_set(&store->why, rc, "serve", store->folder, "%s: %s", store->folder,
		    wtl_err_text(rc));
	return 1;
}

int wtl_serve_store_open(struct wtl_serve_store *store, struct wtl_app *app,
			 const struct wtl_serve_settings *settings)
{
	struct kept_list kept = {.n = 0};
	int rc;

	*store = (struct wtl_serve_store){.lock = -1};
	if (settings->no_store)
		return 1;
	rc = find_folder(store, app, settings);
	if (rc < 0)
		wtl_complain(app, "%s…: %s", store->folder, wtl_err_text(rc));
	if (rc != 0)
		return rc;
	rc = open_folder(store);
	if (rc == -EBUSY) {
		wtl_complain(app,
			     "%s: another agent has its memory there: end that one, or choose "
			     "another folder with --store, or --no-store",
			     store->folder);
		return rc;
	}
	if (rc == 0)
		rc = list_kept(store, &kept);
	if (rc == 0) {
		find_totals(app, store, settings, &kept);
		remove_old(app, store, settings, &kept);
		rc = list_earlier(store, &kept);
	}
	if (rc == 0)
		rc = name_new(store, &kept, store->path);
	free(kept.list);
	return rc < 0 ? nothing_kept(store, app, settings, rc) : 0;
}

void wtl_serve_store_close(struct wtl_serve_store *store)
{
	free(store->totals);
	store->totals = NULL;
	if (store->lock >= 0)
		close(store->lock);
	store->lock = -1;
	for (size_t i = 0; i < store->n_earlier; i++)
		free(store->earlier[i]);
	free(store->earlier);
	store->earlier = NULL;
	store->n_earlier = 0;
}
