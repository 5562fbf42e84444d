/* SPDX-License-Identifier: MIT */
/* The grid's carbon intensity over time: from a file, or from an API. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/config.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/infile.h"
#include "base/outfile.h"
#include "base/text.h"
#include "base/thread.h"
#include "cli/options.h"
#include "cli/user.h"
#include "client/grid.h"
#include "client/http.h"
#include "commands/report/load.h"
#include "energy/units.h"

enum { FILE_MAX = 256 << 20, TOKEN_MAX = 4096, PLACE_MAX = 64 };

static int load_file(struct wtl_app *app, const char *path, struct wtl_intensity *ret_intensity)
{
	struct wtl_err err = {.code = 0};
	struct wtl_buf text;
	int rc;

	wtl_buf_init(&text, FILE_MAX);
	rc = wtl_infile_read(path, &text);
	if (rc < 0)
		wtl_complain(app, "--intensity: '%s' cannot be read: %s", path, wtl_err_text(rc));
	else if ((rc = wtl_intensity_parse(ret_intensity, wtl_buf_str(&text), text.len, &err)) < 0)
		wtl_complain(app, "--intensity: '%s': %s", path, err.text);
	wtl_buf_done(&text);
	return rc;
}

#if HAVE_GRID

struct asking {
	struct wtl_app *app;
	const struct wtl_replay_settings *settings;
	const struct wtl_option_list *files;
	struct wtl_grid_request request;
	struct wtl_grid_rows rows;
	struct wtl_grid_told told; /* for all files together */
	struct wtl_intensity *intensity;
	char source[2 * PLACE_MAX]; /* the source that the cache file belongs to */
	char cache[PATH_MAX];	    /* the cache file; "": none */
};

/* ---- The cache ---- */

/* Another URL than the API's own has another file: a relay may answer differently. */
static int name_cache(struct asking *asking)
{
	const char *folder = asking->settings->intensity_cache,
		   *url = asking->settings->intensity_url;
	const char *cache = wtl_user_folder("XDG_CACHE_HOME"), *home = wtl_user_folder("HOME");
	char name[2 * PLACE_MAX], own[PATH_MAX - sizeof(name) - 16];
	int len = 0;

	snprintf(asking->source, sizeof(asking->source), "%s", asking->settings->intensity_path);
	if (url)
		snprintf(asking->source, sizeof(asking->source), "%s@%016" PRIx64,
			 asking->settings->intensity_path,
			 wtl_hash_more(WTL_HASH_START, url, strlen(url)));
	snprintf(name, sizeof(name), "%s", asking->source);
	for (char *at = name; *at; at++)
		*at = *at == ':' || *at == '@' ? '-' : *at;
	if (folder && !folder[0])
		return 0;
	if (folder)
		len = snprintf(own, sizeof(own), "%s", folder);
	else if (cache)
		len = snprintf(own, sizeof(own), "%s/wattle", cache);
	else if (home)
		len = snprintf(own, sizeof(own), "%s/.cache/wattle", home);
	else
		return 0;
	if (len >= (int)sizeof(own))
		return wtl_complain(asking->app, "--intensity-cache: the path is too long") * -1;
	snprintf(asking->cache, sizeof(asking->cache), "%s/intensity-%s", own, name);
	return 0;
}

static int read_cache(struct asking *asking)
{
	struct wtl_buf text;
	int rc;

	if (!asking->cache[0])
		return 0;
	wtl_buf_init(&text, FILE_MAX);
	rc = wtl_infile_read(asking->cache, &text);
	if (rc == 0)
		rc = wtl_grid_rows_parse(&asking->rows, asking->source, wtl_buf_str(&text),
					 text.len);
	wtl_buf_done(&text);
	if (rc < 0 && rc != -ENOENT)
		wtl_remark(asking->app, "'%s' cannot be used: %s; it is made anew", asking->cache,
			   wtl_err_text(rc));
	return rc == -ENOMEM ? rc : 0;
}

/* The figures are used even if they cannot be cached. */
static void write_cache(struct asking *asking)
{
	struct wtl_buf text;
	int rc;

	if (!asking->cache[0] || asking->told.n_asked == 0)
		return;
	wtl_buf_init(&text, FILE_MAX);
	wtl_grid_rows_print(&asking->rows, asking->source, &text);
	wtl_user_make_folder_of(asking->cache);
	rc = text.error ? text.error
			: wtl_outfile_write(asking->cache, wtl_buf_str(&text), text.len,
					    WTL_OUT_REPLACE, 0);
	if (rc < 0)
		wtl_remark(asking->app, "'%s' cannot be written: %s: it will be asked for again",
			   asking->cache, wtl_err_text(rc));
	wtl_buf_done(&text);
}

/* ---- Asking ---- */

/* Reads the first line of a file: on the command line others could see the token. */
static int read_token(struct asking *asking, struct wtl_buf *token)
{
	const char *path = asking->settings->intensity_token;
	size_t len;
	int rc;

	if (!path)
		return 0;
	rc = wtl_infile_read(path, token);
	len = strcspn(wtl_buf_str(token), "\r\n");
	len = wtl_text_trimmed(wtl_buf_str(token), len);
	if (rc < 0)
		return wtl_complain(asking->app, "--intensity-token: '%s' cannot be read: %s", path,
				    wtl_err_text(rc)) *
		       -1;
	if (len == 0 || !wtl_text_is_clean(wtl_buf_str(token), len))
		return wtl_complain(asking->app,
				    "--intensity-token: the first line of '%s' is no token", path) *
		       -1;
	token->data[len] = '\0';
	asking->request.token = token->data;
	return 0;
}

static void add_told(struct wtl_grid_told *all, const struct wtl_grid_told *one)
{
	all->n_asked += one->n_asked;
	all->n_forecast += one->n_forecast;
	all->n_old += one->n_old;
	if (one->trouble[0])
		wtl_text_copy(all->trouble, sizeof(all->trouble), one->trouble);
}

/* From the start of a recording to its end. */
static int find_span(struct asking *asking, const char *path, int64_t *ret_from_ns,
		     int64_t *ret_to_ns)
{
	struct wtl_err err = {.code = 0};
	struct wtl_history *history;
	int rc = wtl_history_open(path, NULL, &history, &err);

	if (rc < 0) {
		wtl_complain_err(asking->app, &err);
		return rc;
	}
	*ret_from_ns = history->begin_utc_ns;
	*ret_to_ns = wtl_history_utc(history, history->end_mono_ns);
	wtl_history_close(history);
	return 0;
}

/* After a failure the API is not asked again. */
static int ask_all(struct asking *asking)
{
	struct wtl_grid_request *request = &asking->request;
	int64_t first_ns = INT64_MAX, last_ns = 0;
	struct wtl_err err = {.code = 0};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < asking->files->n; i++) {
		struct wtl_grid_told told = {.n_asked = 0};

		rc = find_span(asking, asking->files->words[i], &request->from_utc_ns,
			       &request->to_utc_ns);
		if (rc < 0)
			break;
		first_ns = request->from_utc_ns < first_ns ? request->from_utc_ns : first_ns;
		last_ns = request->to_utc_ns > last_ns ? request->to_utc_ns : last_ns;
		if (asking->told.trouble[0])
			continue;
		rc = wtl_grid_ask(request, &asking->rows, &told, &err);
		add_told(&asking->told, &told);
		if (rc < 0)
			wtl_complain(asking->app, "--intensity %s: %s",
				     asking->settings->intensity_path, err.text);
	}
	request->from_utc_ns = first_ns;
	request->to_utc_ns = last_ns;
	return rc;
}

static int tell(struct asking *asking, int rc)
{
	const struct wtl_grid_told *told = &asking->told;
	const char *name = asking->settings->intensity_path;

	if (rc == -ENOMEM)
		wtl_complain(asking->app, "out of memory");
	else if (rc < 0)
		wtl_complain(asking->app, "--intensity %s: %s: no emissions can be told by it",
			     name,
			     told->trouble[0] ? told->trouble : "it has no figure of that time");
	else if (told->trouble[0])
		wtl_remark(asking->app, "--intensity %s: %s: emissions are by what is kept%s", name,
			   told->trouble, told->n_old > 0 ? ", some of it out of date" : "");
	if (rc == 0 && told->n_forecast > 0)
		wtl_remark(
			asking->app,
			"--intensity %s: %zu of its figures are estimates or forecasts, which may "
			"still be corrected",
			name, told->n_forecast);
	return rc;
}

static int check(struct asking *asking)
{
	const struct wtl_replay_settings *settings = asking->settings;

	if (wtl_grid_source_parse(settings->intensity_path, &asking->request.source) < 0)
		return wtl_complain(asking->app, "--intensity takes a file, %s, not '%s'",
				    wtl_grid_forms(), settings->intensity_path) *
		       -1;
	if (settings->intensity_url && !wtl_client_is_url(settings->intensity_url))
		return wtl_complain(asking->app,
				    "--intensity-url takes a URL such as http://127.0.0.1:8080") *
		       -1;
	if (wtl_grid_wants_token(&asking->request.source) && !settings->intensity_token &&
	    !settings->intensity_url)
		return wtl_complain(asking->app,
				    "--intensity %s wants a token: --intensity-token FILE",
				    settings->intensity_path) *
		       -1;
	return 0;
}

/* In a thread with a large stack: JSON may be nested. */
static int ask(void *context)
{
	struct asking *asking = context;
	struct wtl_buf token;
	int rc = check(asking);

	wtl_buf_init(&token, TOKEN_MAX);
	if (rc == 0)
		rc = name_cache(asking);
	if (rc == 0)
		rc = read_token(asking, &token);
	if (rc == 0 && (rc = read_cache(asking)) < 0)
		wtl_complain(asking->app, "out of memory");
	if (rc == 0 && (rc = ask_all(asking)) == 0) {
		write_cache(asking);
		rc = tell(asking,
			  wtl_grid_intensity(&asking->request, &asking->rows, asking->intensity));
	}
	wtl_grid_rows_done(&asking->rows);
	wtl_buf_done(&token);
	return rc;
}

static int load_from_api(struct wtl_app *app, const struct wtl_replay_settings *settings,
			 const struct wtl_option_list *files, struct wtl_intensity *ret_intensity)
{
	struct timespec now;
	struct asking asking = {
		.app = app,
		.settings = settings,
		.files = files,
		.request = {.url = settings->intensity_url, .ca = settings->intensity_ca},
		.intensity = ret_intensity,
	};

	clock_gettime(CLOCK_REALTIME, &now);
	asking.request.now_utc_ns = now.tv_sec * WTL_NS_PER_S;
	return wtl_thread_call(ask, &asking);
}

static bool is_api(const char *name)
{
	return wtl_grid_source_is(name);
}

#else

static bool is_api(const char *name)
{
	(void)name;
	return false;
}

static int load_from_api(struct wtl_app *app, const struct wtl_replay_settings *settings,
			 const struct wtl_option_list *files, struct wtl_intensity *ret_intensity)
{
	(void)app, (void)settings, (void)files, (void)ret_intensity;
	return -ENOSYS;
}

#endif

int wtl_intensity_check(struct wtl_app *app, const struct wtl_replay_settings *settings)
{
	static const char *const how[] = {"--intensity-token", "--intensity-url",
					  "--intensity-cache", "--intensity-ca", NULL};
	const char *given = wtl_option_first_used(app, how);

	if (given && !(settings->intensity_path && is_api(settings->intensity_path)))
		return wtl_complain(app, "%s says how to ask: give --intensity API:ZONE, too",
				    given);
	return settings->intensity_path && !is_api(settings->intensity_path)
		       ? wtl_option_check_output(app, settings->intensity_path)
		       : 0;
}

int wtl_intensity_load(struct wtl_app *app, const struct wtl_replay_settings *settings,
		       const struct wtl_option_list *files, struct wtl_intensity *ret_intensity)
{
	*ret_intensity = (struct wtl_intensity){.n = 0};
	if (!settings->intensity_path)
		return 0;
	return is_api(settings->intensity_path)
		       ? load_from_api(app, settings, files, ret_intensity)
		       : load_file(app, settings->intensity_path, ret_intensity);
}
