/* SPDX-License-Identifier: MIT */
#include "serve/api.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "document/doc.h"
#include "document/writer.h"
#include "energy/units.h"
#include "serve/http.h"
#include "serve/live.h"
#include "serve/live_doc.h"
#include "serve/past.h"

enum { DEFAULT_S = 600, MILLI = 3 };

static const char json_type[] = "application/json";

static void answer(struct wtl_reply *reply, struct wtl_doc *doc)
{
	static const struct wtl_output_style style = {.append = true};

	reply->type = json_type;
	if (doc->error)
		wtl_reply_say(reply, 500, "there is no memory for the answer");
	else
		wtl_writer_json.document(&reply->body, doc, &style);
	wtl_doc_done(doc);
}

void wtl_api_live(const struct wtl_request *request, struct wtl_reply *reply)
{
	reply->type = json_type;
	if (wtl_live_json(request->live, true, &reply->body) < 0)
		wtl_reply_say(reply, 500, "the accounts do not add up: this is a fault in wattle");
}

/* ---- Which stretch of time ---- */

struct stretch {
	int64_t from_ns, to_ns;
};

/* Seconds with up to three decimals; those since 1970 end in 2262. */
static bool take_seconds(const char *text, int64_t *ret_ns)
{
	uint64_t ms;

	if (wtl_num_fixed(text, strlen(text), MILLI, &ms) < 0 ||
	    ms > INT64_MAX / (uint64_t)WTL_NS_PER_MS)
		return false;
	*ret_ns = (int64_t)ms * WTL_NS_PER_MS;
	return true;
}

/* false: it was answered. */
static bool take_stretch(const struct wtl_request *request, struct wtl_reply *reply,
			 struct stretch *stretch)
{
	const char *from = request->argument(request, "from");
	const char *to = request->argument(request, "to");
	const char *seconds = request->argument(request, "seconds");
	int64_t length_ns = DEFAULT_S * WTL_NS_PER_S;

	stretch->to_ns = request->live->t_utc_ns;
	if (!request->past) {
		wtl_reply_say(reply, 404, "nothing of the past is kept here");
	} else if ((seconds && !take_seconds(seconds, &length_ns)) ||
		   (to && !take_seconds(to, &stretch->to_ns)) ||
		   (from && !take_seconds(from, &stretch->from_ns))) {
		wtl_reply_say(reply, 400,
			      "seconds, from and to are numbers of seconds such as 600 or "
			      "1795000000.5 (since 1970, UTC)");
	} else {
		if (!from)
			stretch->from_ns =
				stretch->to_ns > length_ns ? stretch->to_ns - length_ns : 0;
		if (stretch->from_ns <= stretch->to_ns)
			return true;
		wtl_reply_say(reply, 400, "from is after to");
	}
	return false;
}

/* ---- Power ---- */

static void put_watts(struct wtl_node *to, float watts)
{
	if (isnan(watts))
		wtl_doc_null(to, NULL);
	else
		wtl_doc_double(to, NULL, (double)watts, MILLI);
}

static void put_column(struct wtl_node *to, const struct wtl_past_curve *curve, size_t column)
{
	struct wtl_node *power = wtl_doc_list(to, "power_w");
	struct wtl_node *uncertainty = wtl_doc_list(to, "uncertainty_w");
	struct wtl_node *least = wtl_doc_list(to, "least_w"), *most = wtl_doc_list(to, "most_w");

	for (size_t i = 0; i < curve->n; i++) {
		const struct wtl_past_cell *cell = &curve->cells[i * curve->n_columns + column];
		bool is_known = !isnan(cell->mean);

		put_watts(power, cell->mean);
		put_watts(uncertainty, is_known ? cell->uncertainty : NAN);
		put_watts(least, is_known ? cell->least : NAN);
		put_watts(most, is_known ? cell->most : NAN);
	}
}

static void put_curve(struct wtl_node *root, const struct wtl_request *request,
		      const struct wtl_past_curve *curve)
{
	const struct wtl_live *live = request->live;
	struct wtl_node *domains;

	wtl_doc_utc(root, "begin_utc", curve->begin_utc_ns);
	wtl_doc_seconds(root, "step_s", curve->step_ns);
	wtl_doc_count(root, "steps", curve->n);
	put_column(wtl_doc_object(root, "total"), curve, curve->n_columns - 1);
	domains = wtl_doc_list(root, "domains");
	for (size_t i = 0; i + 1 < curve->n_columns && i < live->n_domains; i++) {
		struct wtl_node *to = wtl_doc_object(domains, NULL);

		wtl_doc_text(to, "name", request->past->names[i]);
		wtl_doc_flag(to, "in_total", live->domains[i].in_total);
		put_column(to, curve, i);
	}
}

void wtl_api_history(const struct wtl_request *request, struct wtl_reply *reply)
{
	struct wtl_past_curve curve;
	struct stretch stretch;
	struct wtl_doc doc;

	if (!take_stretch(request, reply, &stretch))
		return;
	if (wtl_past_curve(request->past, stretch.from_ns, stretch.to_ns, &curve) < 0) {
		wtl_reply_say(reply, 500, "there is no memory for the answer");
		return;
	}
	wtl_doc_init(&doc);
	wtl_doc_schema(doc.root, "wattle.history/1");
	put_curve(doc.root, request, &curve);
	free(curve.cells);
	answer(reply, &doc);
}

/* ---- Who used it ---- */

static void put_user(struct wtl_node *to, const char *name, uint64_t energy_uj, int64_t duration_ns)
{
	wtl_doc_text(to, "name", name);
	wtl_live_put_milli(to, "energy_j", energy_uj);
	wtl_live_put_milli(to, "power_w", wtl_power_uw(energy_uj, duration_ns));
}

static void put_use(struct wtl_node *root, const struct wtl_past_use *use)
{
	int64_t duration_ns = use->end_utc_ns - use->begin_utc_ns;
	struct wtl_node *object, *groups;

	wtl_doc_utc(root, "begin_utc", use->begin_utc_ns);
	wtl_doc_utc(root, "end_utc", use->end_utc_ns);
	wtl_doc_seconds(root, "duration_s", duration_ns);
	wtl_live_put_milli(root, "energy_j", wtl_live_sum_accounts(use->accounts_uj));
	wtl_live_put_accounts(root, "accounts", use->accounts_uj);
	groups = wtl_doc_object(root, "groups");
	for (size_t by = 0; by < WTL_TOTALS_GROUPINGS; by++) {
		size_t first = by * WTL_TOTALS_PLACES;

		object = wtl_doc_list(groups, wtl_field_info(wtl_totals_groupings[by])->name);
		for (size_t i = first; i <= first + WTL_TOTALS_OVERFLOW_PLACE; i++)
			if (use->users_uj[i] > 0)
				put_user(wtl_doc_object(object, NULL), use->names[i],
					 use->users_uj[i], duration_ns);
	}
}

void wtl_api_use(const struct wtl_request *request, struct wtl_reply *reply)
{
	struct wtl_past_use *use;
	struct stretch stretch;
	struct wtl_doc doc;

	if (!take_stretch(request, reply, &stretch))
		return;
	use = malloc(sizeof(*use));
	if (!use) {
		wtl_reply_say(reply, 500, "there is no memory for the answer");
		return;
	}
	wtl_doc_init(&doc);
	wtl_doc_schema(doc.root, "wattle.use/1");
	if (wtl_past_use(request->past, stretch.from_ns, stretch.to_ns, use))
		put_use(doc.root, use);
	else
		wtl_doc_text(doc.root, "reason",
			     "nothing is known of that time: counters are kept since the last "
			     "start, for a day at most");
	free(use);
	answer(reply, &doc);
}

/* ---- Windows ---- */

void wtl_api_windows(const struct wtl_request *request, struct wtl_reply *reply)
{
	struct wtl_past_window *windows;
	struct stretch stretch;
	struct wtl_node *list;
	struct wtl_doc doc;
	size_t n;

	if (!take_stretch(request, reply, &stretch))
		return;
	windows = calloc(WTL_PAST_WINDOWS, sizeof(*windows));
	if (!windows) {
		wtl_reply_say(reply, 500, "there is no memory for the answer");
		return;
	}
	n = wtl_past_windows(request->past, stretch.from_ns, stretch.to_ns, windows);
	wtl_doc_init(&doc);
	wtl_doc_schema(doc.root, "wattle.windows/1");
	wtl_doc_flag(doc.root, "is_recorded", request->live->is_recorded);
	list = wtl_doc_list(doc.root, "windows");
	for (size_t i = 0; i < n; i++) {
		const struct wtl_past_window *window = &windows[i];
		struct wtl_node *to = wtl_doc_object(list, NULL);

		wtl_doc_text(to, "name", window->name);
		wtl_doc_utc(to, "begin_utc", window->begin_utc_ns);
		wtl_doc_utc(to, "end_utc", window->end_utc_ns);
		if (!window->has_energy)
			continue;
		wtl_live_put_milli(to, "energy_j", window->energy_uj);
		wtl_live_put_milli_up(to, "uncertainty_j", window->uncertainty_uj);
	}
	free(windows);
	answer(reply, &doc);
}
