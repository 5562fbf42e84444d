/* SPDX-License-Identifier: MIT */
#include "client/grid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "client/grid_answer.h"
#include "client/http.h"
#include "energy/intensity.h"
#include "energy/units.h"

#define HOUR_NS (3600 * WTL_NS_PER_S)
#define DAY_NS	(24 * HOUR_NS)
/* An hour's figures are corrected for some time afterwards, estimates for longer (judgement). */
#define FINAL_NS     (1 * DAY_NS)
#define ESTIMATED_NS (30 * DAY_NS)
/* A figure that is not final is used for so long before it is asked for again. */
#define FRESH_NS HOUR_NS

enum { ANSWER_MAX = 16 << 20, URL_MAX = 4096, STEPS_MAX = 1 << 18 };

struct wtl_grid_api {
	const char *name, *url;
	int64_t step_ns, most_ns; /* of one request */
	bool wants_token;
	bool (*is_zone)(const char *zone);
	void (*put_path)(struct wtl_buf *url, const struct wtl_grid_request *request,
			 int64_t from_ns, int64_t to_ns);
	int (*take)(const struct wtl_grid_answer *answer, char why[200]);
};

/* ---- Electricity Maps ---- */

static bool is_electricity_maps_zone(const char *zone)
{
	return zone[0] && strspn(zone, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				       "0123456789-_") == strlen(zone);
}

static void put_minute(struct wtl_buf *buf, int64_t t_utc_ns)
{
	struct wtl_date date = wtl_date_of(t_utc_ns);

	wtl_buf_printf(buf, "%04u-%02u-%02uT%02u:%02uZ", date.year, date.month, date.day, date.hour,
		       date.minute);
}

/* Free accounts get the last day only, by another path. The API must not fall back to the caller's own zone. */
static void put_electricity_maps(struct wtl_buf *url, const struct wtl_grid_request *request,
				 int64_t from_ns, int64_t to_ns)
{
	bool is_last_day = from_ns > request->now_utc_ns - 23 * HOUR_NS;

	wtl_buf_printf(url,
		       "/v3/carbon-intensity/%s?zone=%s&emissionFactorType=lifecycle"
		       "&shouldUseFallbackCallerLookup=false",
		       is_last_day ? "history" : "past-range", request->source.zone);
	if (is_last_day)
		return;
	wtl_buf_puts(url, "&start=");
	put_minute(url, from_ns);
	wtl_buf_puts(url, "&end=");
	put_minute(url, to_ns);
}

/* ---- The grid of Great Britain ---- */

static bool is_uk_region(const char *zone)
{
	uint64_t number;

	return !zone[0] ||
	       (wtl_num_u64(zone, strlen(zone), &number) == 0 && number >= 1 && number <= 17);
}

static void put_uk(struct wtl_buf *url, const struct wtl_grid_request *request, int64_t from_ns,
		   int64_t to_ns)
{
	const char *zone = request->source.zone;

	wtl_buf_puts(url, zone[0] ? "/regional/intensity/" : "/intensity/");
	put_minute(url, from_ns);
	wtl_buf_putc(url, '/');
	put_minute(url, to_ns);
	if (zone[0])
		wtl_buf_printf(url, "/regionid/%s", zone);
}

static const struct wtl_grid_api apis[] = {
	{"electricity-maps", "https://api.electricitymaps.com", HOUR_NS, 10 * DAY_NS, true,
	 is_electricity_maps_zone, put_electricity_maps, wtl_grid_answer_electricity_maps},
	{"uk-grid", "https://api.carbonintensity.org.uk", HOUR_NS / 2, 13 * DAY_NS, false,
	 is_uk_region, put_uk, wtl_grid_answer_uk},
};

enum { APIS = sizeof(apis) / sizeof(apis[0]) };

/* ---- Names ---- */

static const struct wtl_grid_api *find(const char *text)
{
	for (size_t i = 0; i < APIS; i++) {
		size_t len = strlen(apis[i].name);

		if (strncmp(text, apis[i].name, len) == 0 && (!text[len] || text[len] == ':'))
			return &apis[i];
	}
	return NULL;
}

bool wtl_grid_source_is(const char *text)
{
	return find(text) != NULL;
}

int wtl_grid_source_parse(const char *text, struct wtl_grid_source *ret_source)
{
	struct wtl_grid_source source = {.api = find(text)};
	const char *zone;

	if (!source.api)
		return -EINVAL;
	zone = text + strlen(source.api->name);
	zone += *zone == ':';
	if (strlen(zone) >= sizeof(source.zone) || !source.api->is_zone(zone))
		return -EINVAL;
	wtl_text_copy(source.zone, sizeof(source.zone), zone);
	*ret_source = source;
	return 0;
}

const char *wtl_grid_forms(void)
{
	return "electricity-maps:ZONE such as electricity-maps:FR, uk-grid, or uk-grid:REGION with a "
	       "region from 1 to 17";
}

bool wtl_grid_wants_token(const struct wtl_grid_source *source)
{
	return source->api->wants_token;
}

/* ---- Asking ---- */

static int64_t step_of(const struct wtl_grid_request *request)
{
	return request->source.api->step_ns;
}

static int64_t begin_of(const struct wtl_grid_request *request)
{
	return request->from_utc_ns - request->from_utc_ns % step_of(request);
}

/* Future steps are not asked for. */
static int64_t end_of(const struct wtl_grid_request *request)
{
	return request->to_utc_ns < request->now_utc_ns ? request->to_utc_ns : request->now_utc_ns;
}

static bool is_final(const struct wtl_grid_row *row, int64_t step_ns)
{
	return row->asked_utc_ns - row->t_utc_ns - step_ns >=
	       (row->kind == WTL_GRID_MEASURED ? FINAL_NS : ESTIMATED_NS);
}

static bool is_good(const struct wtl_grid_request *request, const struct wtl_grid_row *row)
{
	int64_t age_ns;

	if (!row)
		return false;
	age_ns = request->now_utc_ns - row->asked_utc_ns;
	return is_final(row, step_of(request)) || (age_ns >= 0 && age_ns < FRESH_NS);
}

/* If an API has no figure for a step, that becomes a row as well, so that it is not asked for each time. */
static int fill_holes(const struct wtl_grid_answer *answer)
{
	int rc = 0;

	for (int64_t t = answer->from_utc_ns; rc == 0 && t < answer->to_utc_ns;
	     t += answer->step_ns) {
		const struct wtl_grid_row *row = wtl_grid_rows_at(answer->rows, t);

		if (row && row->asked_utc_ns == answer->asked_utc_ns)
			continue;
		/* An older figure is better than none. */
		if (row && row->kind != WTL_GRID_NONE)
			continue;
		rc = wtl_grid_rows_put(answer->rows,
				       &(struct wtl_grid_row){.t_utc_ns = t,
							      .asked_utc_ns = answer->asked_utc_ns,
							      .kind = WTL_GRID_NONE});
	}
	return rc;
}

struct asking {
	const struct wtl_grid_request *request;
	struct wtl_client *http;
	struct wtl_buf url, headers, body;
	struct wtl_grid_told *told;
	char where[200];
};

static void tell_code(struct asking *asking, const struct wtl_client_answer *answer)
{
	struct wtl_grid_told *told = asking->told;
	const char *hint = "";
	char words[160], wait[64] = "";

	wtl_grid_answer_complaint(wtl_buf_str(&asking->body), asking->body.len, words);
	if (answer->code == 401 || answer->code == 403)
		hint = ": is the token right, and is it for that time and zone?";
	if (answer->code == 429 && answer->retry_after_ns > 0)
		snprintf(wait, sizeof(wait), ": too many requests; ask again in %lld s",
			 (long long)(answer->retry_after_ns / WTL_NS_PER_S));
	else if (answer->code == 429)
		hint = ": too many requests; ask again later";
	snprintf(told->trouble, sizeof(told->trouble), "%s answers %ld%s%s%s%s", asking->where,
		 answer->code, words[0] ? ", " : "", words, hint, wait);
}

/* Asks for one stretch. 0; 1: it failed, with the reason in told->trouble; or -ENOMEM. */
static int ask_for(struct asking *asking, struct wtl_grid_rows *rows, int64_t from_ns,
		   int64_t to_ns)
{
	const struct wtl_grid_request *request = asking->request;
	const struct wtl_grid_api *api = request->source.api;
	const struct wtl_client_request get = {.headers = &asking->headers};
	struct wtl_client_request full = get;
	struct wtl_client_answer got;
	struct wtl_grid_answer answer = {
		.zone = request->source.zone,
		.from_utc_ns = from_ns,
		.to_utc_ns = to_ns,
		.step_ns = api->step_ns,
		.asked_utc_ns = request->now_utc_ns,
		.rows = rows,
	};
	char why[200];

	wtl_buf_clear(&asking->url);
	wtl_buf_printf(
		&asking->url, "%.*s",
		(int)(strlen(request->url) - (request->url[strlen(request->url) - 1] == '/')),
		request->url);
	api->put_path(&asking->url, request, from_ns, to_ns);
	if (asking->url.error)
		return -ENOMEM;
	full.url = wtl_buf_str(&asking->url);
	asking->told->n_asked++;
	wtl_client_send(asking->http, &full, &asking->body, &got);
	if (got.code == 0) {
		snprintf(asking->told->trouble, sizeof(asking->told->trouble), "%s: %s",
			 asking->where, got.text);
		return 1;
	}
	if (got.code != 200) {
		tell_code(asking, &got);
		return 1;
	}
	answer.text = wtl_buf_str(&asking->body);
	answer.len = asking->body.len;
	snprintf(why, sizeof(why), "what it answers is too long");
	if (got.is_cut || api->take(&answer, why) < 0) {
		snprintf(asking->told->trouble, sizeof(asking->told->trouble), "%s: %s",
			 asking->where, why);
		return 1;
	}
	return fill_holes(&answer);
}

/* The first step from t_ns on that is not good; the end or later: there is none. */
static int64_t next_wanted(const struct wtl_grid_request *request, const struct wtl_grid_rows *rows,
			   int64_t t_ns)
{
	while (t_ns < end_of(request) && is_good(request, wtl_grid_rows_at(rows, t_ns)))
		t_ns += step_of(request);
	return t_ns;
}

static int ask_all(struct asking *asking, struct wtl_grid_rows *rows)
{
	const struct wtl_grid_request *request = asking->request;
	int64_t step_ns = step_of(request), most_ns = request->source.api->most_ns;
	int64_t from_ns = next_wanted(request, rows, begin_of(request));
	int rc = 0;

	while (rc == 0 && from_ns < end_of(request)) {
		int64_t to_ns = from_ns + step_ns, last_ns = to_ns;

		/* Up to the last step that is not good, within what one request may ask for. */
		for (; last_ns - from_ns < most_ns && last_ns < end_of(request); last_ns += step_ns)
			if (!is_good(request, wtl_grid_rows_at(rows, last_ns)))
				to_ns = last_ns + step_ns;
		rc = ask_for(asking, rows, from_ns, to_ns);
		from_ns = next_wanted(request, rows, to_ns);
	}
	return rc;
}

static void count(const struct wtl_grid_request *request, const struct wtl_grid_rows *rows,
		  struct wtl_grid_told *told)
{
	for (int64_t t = begin_of(request); t < end_of(request); t += step_of(request)) {
		const struct wtl_grid_row *row = wtl_grid_rows_at(rows, t);

		if (!row || row->kind == WTL_GRID_NONE)
			continue;
		told->n_forecast += row->kind == WTL_GRID_ESTIMATED;
		told->n_old += !is_good(request, row);
	}
}

static int begin(struct asking *asking, struct wtl_err *err)
{
	const struct wtl_grid_request *request = asking->request;
	const struct wtl_client_options options = {.ca = request->ca};

	wtl_client_url_text(request->url, asking->where, sizeof(asking->where));
	wtl_buf_init(&asking->url, URL_MAX);
	wtl_buf_init(&asking->headers, URL_MAX);
	wtl_buf_init(&asking->body, ANSWER_MAX);
	wtl_buf_puts(&asking->headers, "Accept: application/json\n");
	if (request->token)
		wtl_buf_printf(&asking->headers, "auth-token: %s\n", request->token);
	if (asking->headers.error)
		return wtl_err_set(err, ENOMEM, "http", NULL, "out of memory");
	return wtl_client_new(&options, &asking->http, err);
}

int wtl_grid_ask(const struct wtl_grid_request *asked, struct wtl_grid_rows *rows,
		 struct wtl_grid_told *ret_told, struct wtl_err *err)
{
	struct wtl_grid_request request = *asked;
	struct wtl_grid_told told = {.n_asked = 0};
	struct asking asking = {.request = &request, .told = &told};
	int rc = 0;

	request.url = request.url ? request.url : request.source.api->url;
	if ((end_of(&request) - begin_of(&request)) / step_of(&request) > STEPS_MAX)
		return wtl_err_set(err, E2BIG, "http", NULL, "that is too long a time");
	if (next_wanted(&request, rows, begin_of(&request)) < end_of(&request)) {
		rc = begin(&asking, err);
		if (rc == 0 && (rc = ask_all(&asking, rows)) < 0)
			wtl_err_set(err, ENOMEM, "http", NULL, "out of memory");
		wtl_client_free(asking.http);
		wtl_buf_done(&asking.url);
		wtl_buf_done(&asking.headers);
		wtl_buf_done(&asking.body);
	}
	count(&request, rows, &told);
	*ret_told = told;
	return rc < 0 ? rc : 0;
}

/* ---- As intensities ---- */

static int add(struct wtl_intensity *intensity, int64_t t_utc_ns, uint32_t mg_per_kwh)
{
	if (wtl_array_reserve(&intensity->steps, &intensity->room, intensity->n + 1,
			      sizeof(*intensity->steps)) < 0)
		return -ENOMEM;
	intensity->steps[intensity->n++] = (struct wtl_intensity_step){t_utc_ns, mg_per_kwh};
	return 0;
}

int wtl_grid_intensity(const struct wtl_grid_request *request, const struct wtl_grid_rows *rows,
		       struct wtl_intensity *ret_intensity)
{
	struct wtl_intensity intensity = {.n = 0};
	int64_t t = begin_of(request);
	bool is_known = false;
	int rc = 0;

	for (; rc == 0 && t < end_of(request); t += step_of(request)) {
		const struct wtl_grid_row *row = wtl_grid_rows_at(rows, t);
		bool has = row && row->kind != WTL_GRID_NONE;

		is_known |= has;
		rc = add(&intensity, t, has ? row->mg_per_kwh : WTL_INTENSITY_UNKNOWN);
	}
	if (rc == 0)
		rc = add(&intensity, t, WTL_INTENSITY_UNKNOWN);
	if (rc == 0 && !is_known)
		rc = -ENODATA;
	if (rc < 0)
		wtl_intensity_done(&intensity);
	else
		*ret_intensity = intensity;
	return rc;
}
