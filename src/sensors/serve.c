/* SPDX-License-Identifier: MIT */
/*
 * What another wattle reads: the machine's agent (wattle serve), asked over its socket where this process is denied
 * the sensors (docs/share.md). It answers from its newest sample, so that nobody reads a sensor more often by it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/io.h"
#include "base/text.h"
#include "energy/units.h"
#include "sensors/share_text.h"
#include "sensors/source.h"

#define AGENT "the machine's agent (wattle serve)"

/* An agent that has not sampled for so many of its intervals, and this, hangs. */
enum { STALE_INTERVALS = 3 };
#define STALE_NS WTL_NS_PER_S

enum { CHANNELS_AT_ONCE = WTL_SHARE_CHANNELS_AT_ONCE };

/* One of our channels, at the agent. */
struct told {
	char domain[WTL_NAME_SIZE];
	struct wtl_unit unit;
	uint64_t range;
	enum wtl_quantity quantity;
	int place; /* its number there; < 0: the agent that runs now does not have it */
	bool has_epoch;
	uint64_t epoch;
	int64_t anew_ns; /* the time of the first reading of that epoch; 0: of the first epoch */
};

struct serve {
	struct wtl_io *io;
	int agent; /* < 0: not connected */
	struct wtl_share_hello hello;
	int64_t shift_ns; /* its monotonic clock less ours: another time namespace, or 0 */
	struct told *list;
	size_t n;
	int error; /* negative, while not connected */
	int64_t retry_ns;
	char said[160]; /* by the agent, with the error */
	struct wtl_share_channel told[CHANNELS_AT_ONCE];
	struct wtl_share_reading readings[WTL_SHARE_CHANNELS];
	char answer[WTL_AGENT_ANSWER_MAX];
};

/* ---- Talking ---- */

static void hang_up(struct serve *state, int error)
{
	wtl_io_agent_close(state->io, state->agent);
	state->agent = -1;
	state->error = error;
	state->retry_ns = wtl_io_mono_ns(state->io) + WTL_REPROBE_NS;
}

static int ask(struct serve *state, enum wtl_share_verb verb, uint64_t number)
{
	char question[WTL_SHARE_QUESTION_MAX];
	ssize_t len;

	wtl_share_print_question(question, verb, number);
	len = wtl_io_agent_ask(state->io, state->agent, question, state->answer,
			       sizeof(state->answer));
	return len < 0 ? (int)len : 0;
}

/* Where both clocks are one, what the agent says lies between question and answer. */
static int64_t shift_of(int64_t now_ns, int64_t sent_ns, int64_t received_ns)
{
	bool is_same = now_ns >= sent_ns - WTL_NS_PER_MS && now_ns <= received_ns + WTL_NS_PER_MS;

	return is_same ? 0 : now_ns - (sent_ns + (received_ns - sent_ns) / 2);
}

static int greet(struct serve *state)
{
	int64_t sent_ns = wtl_io_mono_ns(state->io);
	int rc = ask(state, WTL_SHARE_HELLO, WTL_SHARE_VERSION);

	if (rc == 0)
		rc = wtl_share_parse_hello(state->answer, &state->hello, state->said);
	if (rc == 0)
		state->shift_ns =
			shift_of((int64_t)state->hello.now_ns, sent_ns, wtl_io_mono_ns(state->io));
	return rc;
}

static int dial(struct serve *state)
{
	state->said[0] = '\0';
	state->agent = wtl_io_agent_open(state->io);
	return state->agent < 0 ? state->agent : greet(state);
}

/* Hands each of the agent's channels to take(). 0 or negative. */
static int each_channel(struct serve *state,
			int (*take)(void *context, size_t place,
				    const struct wtl_share_channel *told),
			void *context)
{
	size_t at = 0;

	while (at < state->hello.n_channels) {
		int n = ask(state, WTL_SHARE_CATALOG, at);

		if (n == 0)
			n = wtl_share_parse_catalog(state->answer, at, state->told,
						    CHANNELS_AT_ONCE);
		if (n <= 0)
			return n < 0 ? n : -EPROTO;
		for (int i = 0; i < n && at < state->hello.n_channels; i++) {
			int rc = take(context, at++, &state->told[i]);

			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

/* ---- Coming back ---- */

static int find_again(void *context, size_t place, const struct wtl_share_channel *told)
{
	struct serve *state = context;

	for (size_t i = 0; i < state->n; i++) {
		struct told *own = &state->list[i];

		if (strcmp(own->domain, told->channel.domain) == 0 &&
		    own->quantity == told->channel.quantity &&
		    own->unit.num == told->channel.unit.num &&
		    own->unit.den == told->channel.unit.den && own->range == told->channel.range)
			own->place = (int)place;
	}
	return 0;
}

/* Allocates nothing. */
static int dial_again(struct serve *state)
{
	uint64_t before = state->hello.agent;
	int rc = dial(state);

	if (rc < 0 || state->hello.agent == before)
		return rc;
	for (size_t i = 0; i < state->n; i++) {
		state->list[i].place = -1;
		/* The new agent's counters are not the old one's. */
		state->list[i].has_epoch = false;
		state->list[i].anew_ns = -1;
	}
	return each_channel(state, find_again, state);
}

/* ---- Reading ---- */

static void fail_all(struct serve *state, int64_t now_ns, struct wtl_reading readings[])
{
	bool is_gone = state->error == -ENOENT || state->error == -ECONNREFUSED ||
		       state->error == -ECONNRESET;

	for (size_t i = 0; i < state->n; i++) {
		wtl_reading_set(&readings[i], now_ns, now_ns, state->error, 0);
		if (is_gone)
			readings[i].status = WATTLE_STATUS_GONE;
		readings[i].reason = is_gone ? AGENT " has ended" : AGENT " does not answer";
		readings[i].remedy =
			"start wattle serve again (or systemctl restart wattle-reader)";
	}
}

/* Follows the epochs: a client that reads less often than the agent samples must still see each break. */
static bool begins_anew(struct told *own, const struct wtl_share_reading *told)
{
	int64_t t_ns = told->reading.t_mono_ns;

	if (own->has_epoch ? own->epoch != told->epoch : own->anew_ns < 0)
		own->anew_ns = t_ns;
	own->has_epoch = true;
	own->epoch = told->epoch;
	return own->anew_ns == t_ns;
}

static void take_reading(struct serve *state, struct told *own, int64_t now_ns,
			 struct wtl_reading *reading)
{
	const struct wtl_share_reading *told = own->place < 0 ? NULL : &state->readings[own->place];
	int64_t stale_ns = STALE_INTERVALS * (int64_t)state->hello.interval_ns + STALE_NS;

	if (!told) {
		wtl_reading_set(reading, now_ns, now_ns, -ENODEV, 0);
		reading->reason = AGENT " was started anew, and tells this otherwise or not at all";
		reading->remedy = "start this measurement again";
		return;
	}
	*reading = told->reading;
	reading->t_mono_ns -= state->shift_ns;
	if (reading->status != WATTLE_STATUS_OK) {
		reading->reason = AGENT " cannot read it";
		return;
	}
	if (reading->t_mono_ns > now_ns + WTL_NS_PER_MS || reading->t_mono_ns < 0) {
		wtl_reading_set(reading, now_ns, now_ns, -EPROTO, 0);
		reading->reason = AGENT " tells of a time to come";
		return;
	}
	reading->anew = begins_anew(own, told);
	if (now_ns - reading->t_mono_ns > stale_ns)
		reading->status = WATTLE_STATUS_STALE;
}

static int read_agent(struct serve *state)
{
	/* Channels that the answer leaves out are failed. */
	for (size_t i = 0; i < state->hello.n_channels; i++)
		state->readings[i] = (struct wtl_share_reading){
			.reading = {.status = WATTLE_STATUS_FAILED, .error = -EIO}};
	return wtl_share_parse_readings(state->answer, state->readings, state->hello.n_channels);
}

static void serve_read(void *state_, struct wtl_reading readings[])
{
	struct serve *state = state_;
	int64_t now_ns;
	int rc = 0;

	if (state->n == 0)
		return;
	now_ns = wtl_io_mono_ns(state->io);
	if (state->agent < 0) {
		if (now_ns >= state->retry_ns)
			rc = dial_again(state);
		else
			rc = state->error;
	}
	if (rc == 0)
		rc = ask(state, WTL_SHARE_READ, 0);
	if (rc == 0)
		rc = read_agent(state);
	if (rc < 0) {
		if (state->agent >= 0 || now_ns >= state->retry_ns)
			hang_up(state, rc);
		fail_all(state, now_ns, readings);
		return;
	}
	now_ns = wtl_io_mono_ns(state->io);
	for (size_t i = 0; i < state->n; i++)
		take_reading(state, &state->list[i], now_ns, &readings[i]);
}

/* ---- Opening ---- */

/* Is there anything that this process cannot read itself? Nobody is asked otherwise. */
static bool is_wanted(const struct wtl_catalog *catalog)
{
	for (size_t i = 0; i < catalog->n_misses; i++)
		if (catalog->misses[i].status == WATTLE_STATUS_DENIED)
			return true;
	return !wtl_catalog_has(catalog, WATTLE_KIND_CPU) &&
	       !wtl_catalog_has(catalog, WATTLE_KIND_SOC) &&
	       !wtl_catalog_has(catalog, WATTLE_KIND_MODULE);
}

struct adding {
	struct serve *state;
	struct wtl_catalog *catalog;
	bool has_gpus; /* of its own, or was asked not to have them: numbers may mean others there */
};

static bool is_of_gpu(const struct wtl_channel *channel)
{
	return channel->kind == WATTLE_KIND_GPU || channel->kind == WATTLE_KIND_GPU_MEMORY ||
	       channel->kind == WATTLE_KIND_MODULE;
}

static bool has_domain(const struct wtl_catalog *catalog, const char *domain)
{
	for (size_t i = 0; i < catalog->n_channels; i++)
		if (strcmp(catalog->channels[i].domain, domain) == 0)
			return true;
	return false;
}

static void name_device(const struct serve *state, const struct wtl_share_channel *told,
			struct wtl_channel *channel)
{
	char text[sizeof(channel->device) + 2 * sizeof(state->hello.user) + 64];

	snprintf(text, sizeof(text), "%.64s%sread by %s's agent (%s)", told->channel.device,
		 told->channel.device[0] ? ", " : "",
		 state->hello.user[0] ? state->hello.user : "?", told->source);
	wtl_text_copy(channel->device, sizeof(channel->device), text);
}

static int add(void *context, size_t place, const struct wtl_share_channel *told)
{
	const struct adding *adding = context;
	struct serve *state = adding->state;
	struct wtl_channel channel = told->channel;
	int rc;

	if (has_domain(adding->catalog, channel.domain) ||
	    (adding->has_gpus && is_of_gpu(&channel)))
		return 0;
	channel.fresh_ns = WTL_SHARE_FRESH_NS;
	name_device(state, told, &channel);
	if (wtl_array_resize(&state->list, state->n + 1, sizeof(state->list[0])) < 0)
		return -ENOMEM;
	rc = wtl_catalog_add(adding->catalog, &channel);
	if (rc < 0)
		return rc;
	state->list[state->n] = (struct told){.unit = channel.unit,
					      .range = channel.range,
					      .quantity = channel.quantity,
					      .place = (int)place};
	memcpy(state->list[state->n++].domain, channel.domain, sizeof(channel.domain));
	return 0;
}

static int note(const struct serve *state, struct wtl_catalog *catalog, int error)
{
	enum wattle_status status = WATTLE_STATUS_FAILED;
	const char *remedy = NULL;
	char reason[256];

	if (state->said[0]) {
		status = wtl_status_from_error(error);
		snprintf(reason, sizeof(reason), AGENT " refuses: %s", state->said);
	} else if (error == -EACCES || error == -EPERM) {
		status = WATTLE_STATUS_DENIED;
		remedy = "sudo usermod -a -G wattle $USER, then log in again";
		snprintf(reason, sizeof(reason),
			 AGENT " measures this, but " WTL_AGENT_SOCKET " is not for this user");
	} else if (error == -ECONNREFUSED) {
		status = WATTLE_STATUS_GONE;
		remedy = "start wattle serve again (or systemctl restart wattle-reader)";
		snprintf(reason, sizeof(reason), AGENT " has ended");
	} else if (error == -EPROTO) {
		snprintf(reason, sizeof(reason),
			 "what listens at " WTL_AGENT_SOCKET " does not answer as an agent does");
	} else {
		snprintf(reason, sizeof(reason),
			 AGENT " at " WTL_AGENT_SOCKET " does not answer: %s", wtl_err_text(error));
	}
	return wtl_catalog_missf(catalog, WATTLE_KIND_CPU, NULL, status, remedy, "%s", reason);
}

static int serve_open(void *state_, const struct wtl_env *env,
		      const struct wtl_source_options *options, struct wtl_catalog *catalog)
{
	struct serve *state = state_;
	struct adding adding = {
		.state = state,
		.catalog = catalog,
		.has_gpus = wtl_catalog_has(catalog, WATTLE_KIND_GPU) ||
			    options->left_out.has_all || (options->gpus && options->gpus[0]),
	};
	int rc;

	state->io = env->io;
	state->agent = -1;
	if (!is_wanted(catalog))
		return 0;
	rc = dial(state);
	if (rc == 0)
		rc = each_channel(state, add, &adding);
	if (rc == 0 || rc == -ENOENT || rc == -ENOMEM)
		return rc == -ENOMEM ? rc : 0;
	hang_up(state, rc);
	return note(state, catalog, rc);
}

static void serve_close(void *state_)
{
	struct serve *state = state_;

	if (state->io)
		wtl_io_agent_close(state->io, state->agent);
	free(state->list);
	state->list = NULL;
	state->n = 0;
}

const struct wtl_source_ops wtl_source_serve = {
	.name = WTL_SHARE_SOURCE,
	.state_size = sizeof(struct serve),
	.open = serve_open,
	.read = serve_read,
	.close = serve_close,
};
