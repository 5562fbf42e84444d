/* SPDX-License-Identifier: MIT */
/*
 * What a recording says in words: its facts, lines of KEY=VALUE, of a recording that is small and sound otherwise. It is
 * gone through, or its summary is taken ('s' as the first byte), and told in a format, or not: the size of the input says
 * which.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "document/recording.h"
#include "document/writer.h"
#include "energy/units.h"
#include "player_store.h"
#include "replay/format.h"
#include "replay/history.h"
#include "report/recorded.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OUTPUT_MAX = 1 << 24, DOMAINS = 2 };

static void check(int good)
{
	if (!good)
		abort();
}

/* ---- The recording ---- */

static void make_tables(void)
{
	stand.n_channels = stand.n_domains = DOMAINS;
	for (size_t i = 0; i < DOMAINS; i++) {
		stand.channels[i] =
			(struct wtl_channel){.kind = i ? WATTLE_KIND_GPU : WATTLE_KIND_CPU,
					     .in_total = true,
					     .method = WATTLE_METHOD_COUNTER,
					     .unit = WTL_UNIT_MICRO,
					     .update_ns = WTL_NS_PER_MS,
					     .max_uw = 500000000,
					     .gain_ppm = 10000,
					     .source = "one"};
		snprintf(stand.channels[i].domain, sizeof(stand.channels[i].domain),
			 i ? "gpu-0" : "package-0");
	}
	stand.n_consumers = 1;
	stand.consumers[0] = (struct wtl_stored_consumer){
		.id = 1,
		.slot = WTL_SLOTS_FIXED,
		.last_look = -1,
		.user = "bob",
		.consumer = {.pid = 7, .name = "name", .is_in_tree = true}};
	stand.n_windows = 1;
	stand.windows[0] = (struct wtl_stored_window){.id = 1,
						      .begin_mono_ns = 2 * WTL_NS_PER_S,
						      .begin_utc_ns = 3 * WTL_NS_PER_S,
						      .duration_ns = WTL_NS_PER_S,
						      .total = {.has_energy = 1, .energy_uj = 14},
						      .energies = stand.energies[0],
						      .n_energies = DOMAINS};
	stand.n_accounts = DOMAINS;
	for (size_t i = 0; i < DOMAINS; i++) {
		stand.energies[0][i] = (struct wattle_energy){.has_energy = 1, .energy_uj = 7};
		stand.accounts[i] = (struct wtl_stored_account){.domain = (uint32_t)i,
								.consumer = 1,
								.full_uj = 7,
								.share_ns = WTL_NS_PER_S};
	}
}

static void put_sample(int64_t t_ns, int64_t count)
{
	stand_put(WTL_SERIES_OP, WTL_OP_SAMPLE);
	stand_put(WTL_SERIES_SAMPLE_MONO, t_ns);
	stand_put(WTL_SERIES_SAMPLE_TOOK, 20000);
	stand_put(WTL_SERIES_SAMPLE_ASLEEP, 0);
	for (size_t i = 0; i < DOMAINS; i++) {
		stand_put_numbered(WTL_SERIES_CHANNEL, i, WTL_SERIES_CHANNEL_AT, 5001);
		stand_put_numbered(WTL_SERIES_CHANNEL, i, WTL_SERIES_CHANNEL_VALUE, count);
		stand_put_numbered(WTL_SERIES_CHANNEL, i, WTL_SERIES_CHANNEL_HALF, 5000);
		stand_put_numbered(WTL_SERIES_CHANNEL, i, WTL_SERIES_CHANNEL_STATE,
				   WATTLE_STATUS_OK);
	}
}

static void put_look(int64_t t_ns)
{
	stand_put(WTL_SERIES_OP, WTL_OP_SCAN);
	stand_put(WTL_SERIES_SCAN_MONO, t_ns);
	stand_put(WTL_SERIES_SCAN_DURATION, WTL_NS_PER_S);
	stand_put(WTL_SERIES_SCAN_CAPACITY, 2 * WTL_NS_PER_S);
	stand_put(WTL_SERIES_SCAN_BUSY, WTL_NS_PER_S);
	stand_put(WTL_SERIES_SCAN_WEIGHT, 0);
	stand_put(WTL_SERIES_SCAN_USES, 1);
	stand_put(WTL_SERIES_USE_SLOT, WTL_SLOTS_FIXED);
	stand_put(WTL_SERIES_USE_WEIGHT, WTL_NS_PER_S);
	stand_put(WTL_SERIES_SCAN_FOLDS, 0);
	stand_put(WTL_SERIES_CHANGES, 1);
	stand_put(WTL_SERIES_CHANGE_SLOT, WTL_SLOTS_FIXED);
	stand_put(WTL_SERIES_CHANGE_FIELD, WTL_CHANGE_OWNER);
	stand_put(WTL_SERIES_CHANGE_BY, 1);
	stand_put(WTL_SERIES_OP, WTL_OP_BILLED);
	stand_put(WTL_SERIES_BILL_UTC, t_ns + WTL_NS_PER_S);
}

static void put_window(enum wtl_op op, int64_t t_ns)
{
	stand_put(WTL_SERIES_OP, op);
	stand_put(WTL_SERIES_WINDOW_ID, 1);
	stand_put(WTL_SERIES_WINDOW_MONO, t_ns);
	if (op == WTL_OP_BEGIN)
		stand_put(WTL_SERIES_WINDOW_UTC, t_ns + WTL_NS_PER_S);
}

static void make_series(void)
{
	const int64_t from_ns = 2 * WTL_NS_PER_S, to_ns = 3 * WTL_NS_PER_S;

	stand.n_periods = 1;
	stand.periods[0] = (struct wtl_store_period){from_ns, to_ns, to_ns, to_ns + WTL_NS_PER_S};
	put_sample(from_ns, 1000);
	put_window(WTL_OP_BEGIN, from_ns);
	put_sample(to_ns, 30001000);
	put_look(to_ns);
	put_sample(to_ns, 30001000);
	put_window(WTL_OP_END, to_ns);
}

/* Texts of a recording are clean. */
static void take_fact(const char *line, size_t len)
{
	const char *equals = memchr(line, '=', len);
	char key[WTL_STORE_NAME_SIZE], value[STAND_VALUE_SIZE];

	if (!equals || stand.n_facts == STAND_FACTS)
		return;
	wtl_text_clean(key, sizeof(key), line, (size_t)(equals - line));
	wtl_text_clean(value, sizeof(value), equals + 1, len - (size_t)(equals + 1 - line));
	stand_fact(key, value);
}

/* ---- What is told of it ---- */

static void tell(const struct wtl_recorded *recorded, unsigned how)
{
	const struct wtl_writer *writer = wtl_writers[how];
	const struct wtl_output_style style = {.verbose = true};
	struct wtl_buf buf;

	wtl_buf_init(&buf, OUTPUT_MAX);
	wtl_thing_write(&buf, &wtl_thing_recording, &recorded->recording, writer, &style);
	for (size_t i = 0; !buf.error && i < buf.len; i++)
		check((unsigned char)buf.data[i] >= 0x20 || buf.data[i] == '\n' ||
		      (buf.data[i] == '\r' && writer->is_flat));
	wtl_buf_done(&buf);
}

static void go_through(bool may_summarize, unsigned how)
{
	const struct wtl_history_options options = {.keeps_windows = true,
						    .may_summarize = may_summarize};
	const struct wtl_recorded_options told = {.top = 10, .place.is_default = true};
	struct wtl_recorded *recorded = NULL;
	struct wtl_history *history = NULL;
	struct wtl_err err = {.code = 0};

	if (wtl_history_open("made up", &options, &history, &err) < 0) {
		check(!history && err.text[0]);
		return;
	}
	if (wtl_recorded_new(history, "made up", &told, &recorded, &err) < 0)
		check(err.text[0] != '\0');
	else if (how % 8 < 5)
		tell(recorded, how % 8);
	wtl_recorded_free(recorded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size, *newline;
	bool may_summarize = size > 0 && data[0] == 's';

	if (stand.n_periods == 0) {
		make_tables();
		make_series();
	}
	stand.n_facts = 0;
	stand.is_whole = may_summarize;
	for (; at < end; at = newline + 1) {
		newline = memchr(at, '\n', (size_t)(end - at));
		newline = newline ? newline : end;
		take_fact(at, (size_t)(newline - at));
	}
	go_through(may_summarize, (unsigned)size);
	return 0;
}
