/* SPDX-License-Identifier: MIT */
/*
 * A player against recordings that nobody made. The input is a program: what tables there are, what
 * happens one after the other (all of it well-formed), and then which values are changed, so that the
 * player gets deep before it meets what is wrong. tests/fuzz/player_store.c stands in for the file.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter/observer.h"
#include "player_store.h"
#include "replay/format.h"
#include "replay/player.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OPS_MAX = 400, CHANGES_MAX = 64 };

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* ---- The input ---- */

struct input {
	const uint8_t *data;
	size_t left;
};

/* 0 past the end. */
static unsigned byte(struct input *input)
{
	if (input->left == 0)
		return 0;
	input->left--;
	return *input->data++;
}

static unsigned below(struct input *input, unsigned n)
{
	return byte(input) % n;
}

static int64_t number(struct input *input)
{
	static const int64_t telling[] = {
		0,
		1,
		-1,
		2,
		255,
		65535,
		65536,
		INT32_MAX,
		UINT32_MAX,
		INT64_C(1) << 32,
		INT64_C(1) << 53,
		INT64_C(1) << 60,
		INT64_C(1) << 62,
		INT64_MAX,
		INT64_MIN,
		-(INT64_C(1) << 40),
	};
	unsigned how = byte(input);
	uint64_t value = 0;

	if (how < sizeof(telling) / sizeof(telling[0]))
		return telling[how];
	if (how < 128)
		return (int64_t)how - 64;
	for (unsigned i = 0; i < 1 + how % 8; i++)
		value = value << 8 | byte(input);
	return (int64_t)value;
}

/* ---- Tables ---- */

static void make_channel(struct input *input, size_t i)
{
	struct wtl_channel *channel = &stand.channels[i];
	unsigned how = byte(input);

	*channel = (struct wtl_channel){
		.kind = (enum wattle_kind)(how % WATTLE_KINDS),
		.in_total = how & 16,
		.quantity = how & 32 ? WTL_QUANTITY_POWER : WTL_QUANTITY_ENERGY,
		.method = how & 32 ? WATTLE_METHOD_INTEGRATED : WATTLE_METHOD_COUNTER,
		.unit = WTL_UNIT_MICRO,
		.update_ns = WTL_NS_PER_MS,
		.max_uw = how & 64 ? 500000000 : 0,
		.gain_ppm = 10000,
		.source = i % 2 ? "one" : "other",
		.rank = how & 3,
	};
	snprintf(channel->domain, sizeof(channel->domain), "%s-%zu",
		 wattle_kind_name(channel->kind), i / 2);
	if (byte(input) > 200) {
		channel->range = (uint64_t)number(input);
		channel->max_uw = (uint64_t)number(input);
		channel->update_ns = number(input);
		channel->idle_uw = (uint64_t)number(input);
	}
	if (channel->quantity == WTL_QUANTITY_POWER && how & 128) {
		struct wtl_sensor_class *class = &stand.classes[i];

		*class = (struct wtl_sensor_class){.name = "made up",
						   .window_ns = number(input),
						   .update_ns = number(input),
						   .latency_ns = number(input),
						   .latency_sd_ns = number(input)};
		channel->class = class;
	}
}

static void make_consumer(struct input *input, size_t i)
{
	struct wtl_stored_consumer *row = &stand.consumers[i];
	unsigned how = byte(input);

	*row = (struct wtl_stored_consumer){
		.id = (uint32_t)(i + 1),
		.slot = WTL_SLOTS_FIXED + (uint32_t)(i % 5),
		.last_look = how & 1 ? -1 : 2,
		.consumer = {.pid = (int)i, .uid = how, .name = "name", .command = "command"},
	};
	snprintf(row->user, sizeof(row->user), "user%u", how % 4);
	if (how & 2) {
		snprintf(row->group.cgroup, sizeof(row->group.cgroup), "/some.slice");
		row->consumer.group = &row->group;
	}
	if ((how & 0x3c) == 4)
		row->slot = (uint32_t)number(input);
	if ((how & 0x3c) == 8)
		row->id = (uint32_t)number(input);
}

static void make_window(struct input *input, size_t i)
{
	struct wtl_stored_window *row = &stand.windows[i];
	unsigned how = byte(input);

	*row = (struct wtl_stored_window){
		.id = (uint32_t)(i + 1),
		.is_open = how & 1,
		.begin_mono_ns = (int64_t)(how >> 4) * WTL_NS_PER_S,
		.begin_utc_ns = WTL_NS_PER_S,
		.duration_ns = WTL_NS_PER_S,
		.energies = stand.energies[i],
		.n_energies = how & 2 ? stand.n_channels : byte(input) % (STAND_CHANNELS + 1),
	};
	snprintf(row->name, sizeof(row->name), "window%zu", i);
	if ((how & 0xfc) == 4) {
		row->begin_mono_ns = number(input);
		row->begin_utc_ns = number(input);
		row->duration_ns = number(input);
	}
	if ((how & 0xfc) == 8)
		row->id = (uint32_t)number(input);
	for (size_t k = 0; k < STAND_CHANNELS; k++)
		stand.energies[i][k] = (struct wattle_energy){
			.has_energy = 1,
			.energy_uj = (uint64_t)((how & 0xfc) == 16 ? number(input) : 7)};
}

/* What a summary goes by. */
static void make_summary(struct input *input)
{
	stand.is_whole = true;
	stand.n_domains = stand.n_channels;
	for (size_t i = 0; i < stand.n_domains; i++)
		snprintf(stand.domains[i].reason, sizeof(stand.domains[i].reason), "because");
	/* What makes the sums of make_window(), and some more, which do not. */
	stand.n_accounts = stand.n_channels + byte(input) / 64;
	for (size_t i = 0; i < stand.n_accounts; i++) {
		bool adds_up = i < stand.n_channels;

		stand.accounts[i] = (struct wtl_stored_account){
			.domain = adds_up ? (uint32_t)i : below(input, STAND_CHANNELS),
			.consumer = below(input, STAND_ROWS),
			.slot = below(input, 4),
			.full_uj = adds_up ? 7 : (uint64_t)number(input),
			.share_ns = adds_up ? WTL_NS_PER_S : number(input),
		};
	}
	stand.n_baselines = below(input, 4);
	for (size_t i = 0; i < stand.n_baselines; i++)
		stand.baselines[i] = (struct wtl_stored_baseline){
			.domain = (uint32_t)number(input),
			.baseline = {.is_known = true, .idle_uw = (uint64_t)number(input)}};
	stand.n_gaps = below(input, 4);
	for (size_t i = 0; i < stand.n_gaps; i++)
		stand.gaps[i] = (struct wtl_stored_gap){
			.kind = (enum wtl_gap_kind)below(input, WTL_GAP_EXITS + 1),
			.begin_mono_ns = number(input),
			.duration_ns = number(input)};
}

static size_t make_tables(struct input *input)
{
	unsigned how = byte(input);
	size_t n_gpus = how & 3;
	char key[WTL_STORE_NAME_SIZE], text[32];

	stand.n_channels = below(input, STAND_CHANNELS + 1);
	for (size_t i = 0; i < stand.n_channels; i++)
		make_channel(input, i);
	stand.n_consumers = below(input, STAND_ROWS + 1);
	for (size_t i = 0; i < stand.n_consumers; i++)
		make_consumer(input, i);
	stand.n_windows = below(input, STAND_ROWS + 1);
	for (size_t i = 0; i < stand.n_windows; i++)
		make_window(input, i);
	stand.n_misses = below(input, 3);
	for (size_t i = 0; i < stand.n_misses; i++)
		stand.misses[i] = (struct wtl_miss){
			.source = "one", .status = WATTLE_STATUS_DENIED, .reason = "denied"};
	snprintf(text, sizeof(text), "%zu", how == 4 ? (size_t)number(input) : n_gpus);
	stand_fact(WTL_FACT_GPUS, text);
	for (size_t i = 0; i < n_gpus; i++) {
		snprintf(key, sizeof(key), WTL_FACT_GPU_DOMAIN, i);
		snprintf(text, sizeof(text), "gpu-%zu", i);
		stand_fact(key, text);
	}
	snprintf(text, sizeof(text), "%u", byte(input));
	stand_fact(WTL_FACT_CPUS, text);
	if (how & 8)
		make_summary(input);
	return n_gpus;
}

/* ---- What happens ---- */

struct story {
	struct input *input;
	size_t n_gpus;
	int64_t t_ns;
	uint64_t count;
	uint64_t who; /* bits: slots that somebody has */
};

static void put_sample(struct story *story)
{
	unsigned how = byte(story->input);

	story->t_ns += (how & 63) * 10 * WTL_NS_PER_MS + 1000;
	stand_put(WTL_SERIES_OP, WTL_OP_SAMPLE);
	stand_put(WTL_SERIES_SAMPLE_MONO, story->t_ns);
	stand_put(WTL_SERIES_SAMPLE_TOOK, 20000);
	stand_put(WTL_SERIES_SAMPLE_ASLEEP, how & 64 ? WTL_NS_PER_S : 0);
	for (size_t i = 0; i < stand.n_channels; i++) {
		bool fails = how & 128 && i % 2;

		stand_put_numbered(WTL_SERIES_CHANNEL, i, WTL_SERIES_CHANNEL_AT,
				   how == 1 ? 0 : 5001);
		if (how == 1)
			continue;
		story->count += 1000 * how;
		stand_put_numbered(WTL_SERIES_CHANNEL, i, WTL_SERIES_CHANNEL_VALUE,
				   (int64_t)story->count);
		stand_put_numbered(WTL_SERIES_CHANNEL, i, WTL_SERIES_CHANNEL_HALF, 5000);
		stand_put_numbered(WTL_SERIES_CHANNEL, i, WTL_SERIES_CHANNEL_STATE,
				   fails ? WATTLE_STATUS_FAILED : WATTLE_STATUS_OK);
		if (fails)
			stand_put_numbered(WTL_SERIES_CHANNEL, i, WTL_SERIES_CHANNEL_ERROR, -5);
	}
}

static void put_window(struct story *story, enum wtl_op op)
{
	if (op != WTL_OP_CANCEL)
		put_sample(story);
	stand_put(WTL_SERIES_OP, op);
	stand_put(WTL_SERIES_WINDOW_ID, 1 + below(story->input, STAND_ROWS));
	if (op == WTL_OP_CANCEL)
		return;
	story->t_ns += 30000;
	stand_put(WTL_SERIES_WINDOW_MONO, story->t_ns);
	if (op == WTL_OP_BEGIN)
		stand_put(WTL_SERIES_WINDOW_UTC, story->t_ns + WTL_NS_PER_S);
}

static void put_changes(struct story *story)
{
	unsigned n = below(story->input, 8);
	int64_t last = 0;

	stand_put(WTL_SERIES_CHANGES, n);
	for (unsigned i = 0; i < n; i++) {
		int64_t slot = WTL_SLOTS_FIXED + below(story->input, 6);
		uint64_t bit = UINT64_C(1) << slot;
		bool is_new = !(story->who & bit);

		stand_put(WTL_SERIES_CHANGE_SLOT, slot - last);
		stand_put(WTL_SERIES_CHANGE_FIELD,
			  is_new ? WTL_CHANGE_OWNER : (int)below(story->input, WTL_CHANGES));
		stand_put(WTL_SERIES_CHANGE_BY,
			  is_new ? 1 + below(story->input, STAND_ROWS) : number(story->input));
		story->who |= bit;
		last = slot;
	}
}

static void put_gpu(struct story *story, size_t i)
{
	unsigned n = below(story->input, 4);

	stand_put_numbered(WTL_SERIES_GPU, i, WTL_SERIES_GPU_WEIGHT, below(story->input, 3));
	stand_put_numbered(WTL_SERIES_GPU, i, WTL_SERIES_GPU_USE, 500000);
	stand_put_numbered(WTL_SERIES_GPU, i, WTL_SERIES_GPU_USES, n);
	for (unsigned k = 0; k < n; k++) {
		stand_put_numbered(WTL_SERIES_GPU, i, WTL_SERIES_GPU_SLOT, WTL_SLOTS_FIXED + k);
		stand_put_numbered(WTL_SERIES_GPU, i, WTL_SERIES_GPU_SHARE, 1000 + k);
	}
}

static void put_look(struct story *story)
{
	unsigned n_uses = below(story->input, 8), n_folds = below(story->input, 4);

	stand_put(WTL_SERIES_OP, WTL_OP_SCAN);
	stand_put(WTL_SERIES_SCAN_MONO, story->t_ns);
	stand_put(WTL_SERIES_SCAN_DURATION, WTL_NS_PER_S);
	stand_put(WTL_SERIES_SCAN_CAPACITY, 2 * WTL_NS_PER_S);
	stand_put(WTL_SERIES_SCAN_BUSY, WTL_NS_PER_S);
	stand_put(WTL_SERIES_SCAN_WEIGHT, below(story->input, WTL_WEIGHTS));
	stand_put(WTL_SERIES_SCAN_USES, n_uses);
	for (unsigned i = 0; i < n_uses; i++) {
		stand_put(WTL_SERIES_USE_SLOT, 1);
		stand_put(WTL_SERIES_USE_WEIGHT, 1000 * i + 1);
	}
	stand_put(WTL_SERIES_SCAN_FOLDS, n_folds);
	for (unsigned i = 0; i < n_folds; i++) {
		stand_put(WTL_SERIES_FOLD_FROM, below(story->input, 16));
		stand_put(WTL_SERIES_FOLD_INTO, below(story->input, 16));
	}
	for (size_t i = 0; i < story->n_gpus; i++)
		put_gpu(story, i);
	put_changes(story);
	if (byte(story->input) & 7) {
		stand_put(WTL_SERIES_OP, WTL_OP_BILLED);
		stand_put(WTL_SERIES_BILL_UTC, story->t_ns + WTL_NS_PER_S);
	} else {
		stand_put(WTL_SERIES_OP, WTL_OP_RESET);
		put_changes(story);
	}
}

static void put_second(struct story *story)
{
	stand_put(WTL_SERIES_OP, WTL_OP_SECOND);
	stand_put(WTL_SERIES_SECOND_MONO, story->t_ns);
	stand_put(WTL_SERIES_SECOND_UTC,
		  story->t_ns + (int64_t)below(story->input, 3) * WTL_NS_PER_S);
	stand_put(WTL_SERIES_SECOND_CPU, 1000000);
	stand_put(WTL_SERIES_SECOND_RSS, 4096);
}

static void put_devices(struct story *story)
{
	unsigned n = below(story->input, 5);

	stand_put(WTL_SERIES_OP, WTL_OP_DEVICES);
	stand_put(WTL_SERIES_DEVICES, n);
	for (unsigned i = 0; i < n; i++) {
		stand_put(WTL_SERIES_DEVICE_GPU, (int)i - 1);
		stand_put(WTL_SERIES_DEVICE_NUMBER, below(story->input, WTL_DEVICE_NUMBERS));
		stand_put(WTL_SERIES_DEVICE_VALUE, number(story->input));
	}
}

static void begin_period(struct story *story)
{
	struct wtl_store_period *period;

	if (stand.n_periods == STAND_PERIODS)
		return;
	period = &stand.periods[stand.n_periods++];
	*period = (struct wtl_store_period){
		.begin_mono_ns = story->t_ns,
		.end_mono_ns = story->t_ns + WTL_NS_PER_S,
		.begin_utc_ns = story->t_ns + WTL_NS_PER_S,
		.end_utc_ns = story->t_ns + 2 * WTL_NS_PER_S,
	};
	if (byte(story->input) == 255)
		period->begin_mono_ns = number(story->input);
	if (byte(story->input) == 255)
		period->begin_utc_ns = number(story->input);
	story->who = 0;
	put_sample(story);
}

/* Up to a byte of 0. Returns how many there are. */
static size_t tell_story(struct story *story)
{
	size_t n = 0;
	unsigned op;

	begin_period(story);
	while (n++ < OPS_MAX && (op = byte(story->input)) != 0) {
		switch (op % 10) {
		case WTL_OP_SAMPLE:
			put_sample(story);
			break;
		case WTL_OP_BEGIN:
		case WTL_OP_END:
		case WTL_OP_CANCEL:
			put_window(story, (enum wtl_op)(op % 10));
			break;
		case WTL_OP_SECOND:
			put_second(story);
			break;
		case WTL_OP_DEVICES:
			put_devices(story);
			break;
		case WTL_OPS:
			begin_period(story);
			break;
		default:
			put_look(story);
		}
	}
	return n;
}

/* ---- What is wrong with it ---- */

static void change_one(struct input *input)
{
	struct stand_series *series = &stand.series[byte(input) % stand.n_series];
	struct stand_run *run = &series->runs[below(input, (unsigned)stand.n_periods)];
	size_t at = byte(input) | byte(input) << 8;

	switch (byte(input) % 8) {
	case 0:
		run->is_damaged = true;
		return;
	case 1:
		run->n = at < run->n ? at : 0;
		return;
	case 2:
		if (run->n)
			run->values[at % run->n] =
				(int64_t)((uint64_t)run->values[at % run->n] + byte(input) - 128);
		return;
	case 3:
		stand_name_series(series, "gone");
		return;
	default:
		if (run->n)
			run->values[at % run->n] = number(input);
	}
}

/* ---- Played ---- */

static void ask(struct wtl_player *player)
{
	struct wattle_meter *meter = wtl_player_meter(player);
	struct wtl_consumers *consumers = wtl_player_consumers(player);
	struct wattle_energy energies[STAND_CHANNELS + STAND_ROWS];
	struct wattle_window window;

	check(wattle_meter_domains(meter) <= sizeof(energies) / sizeof(energies[0]));
	for (size_t i = 0; i < wattle_meter_domains(meter); i++) {
		struct wtl_ledger ledger;

		wtl_consumers_ledger(consumers, i, &ledger);
		check(wtl_ledger_closed(&ledger));
	}
	for (size_t slot = 0; slot < wtl_consumers_slots(consumers); slot++) {
		const struct wtl_consumer *consumer = wtl_consumers_get(consumers, slot);
		struct wtl_share_energy energy;

		if (!consumer)
			continue;
		check(memchr(consumer->name, '\0', sizeof(consumer->name)) != NULL);
		check(consumer->state <= WTL_CONSUMER_FOLDED);
		wtl_consumers_energy(consumers, slot, WTL_PART_ALL, &energy);
		wtl_player_user(player, consumer->uid);
	}
	for (uint32_t id = 0; id <= STAND_ROWS; id++)
		wtl_player_window(player, id, &window, energies);
	wtl_player_main_window(player);
}

static void check_played(struct wtl_player *player, const struct wtl_played *played)
{
	check(memchr(played->text, '\0', sizeof(played->text)) != NULL);
	check(memchr(played->window_name, '\0', sizeof(played->window_name)) != NULL);
	check(!played->is_cut || played->kind == WTL_PLAYED_BEGUN);
	check((played->kind != WTL_PLAYED_ENDED && played->kind != WTL_PLAYED_BILLED) ||
	      played->energies);
	for (size_t i = 0; i < played->n_devices; i++)
		check(played->devices[i].gpu >= -1 &&
		      played->devices[i].number < WTL_DEVICE_NUMBERS);
	if (played->kind == WTL_PLAYED_BILLED || played->kind == WTL_PLAYED_RESET)
		ask(player);
}

/* Each operation is one step at the most; what is lost, and windows that it cuts, are some more. */
static size_t steps_max(size_t n_ops)
{
	return n_ops + (STAND_PERIODS + 1) * (2 * STAND_ROWS + 2);
}

static void play(size_t n_ops, const struct wtl_player_policy *policy, unsigned here)
{
	struct wtl_err err = {.code = 0};
	struct wtl_player *player = NULL;
	struct wtl_played played;
	size_t n = 0;
	int rc = wtl_player_open("made up", policy, &player, &err);

	if (rc < 0) {
		check(!player && err.code == rc && err.text[0]);
		return;
	}
	if (policy->only_summary) {
		rc = wtl_player_summary(player, &played, &err);
		check(rc == 0 || rc == 1);
	}
	while (!policy->only_summary && (rc = wtl_player_step(player, &played, &err)) > 0) {
		check(n++ <= steps_max(n_ops));
		check_played(player, &played);
		if (n == here)
			wtl_player_begin_here(player, 0);
	}
	check(rc >= 0);
	if (rc == 1 || !policy->only_summary)
		ask(player);
	wtl_player_close(player);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	struct story story = {.input = &input, .t_ns = WTL_NS_PER_S};
	struct wtl_player_policy policy = {.forgets_idle = true};
	unsigned here = byte(&input);
	size_t n_ops;

	story.n_gpus = make_tables(&input);
	n_ops = 3 * tell_story(&story) + STAND_PERIODS;
	for (int i = 0; i < CHANGES_MAX && input.left > 0; i++)
		change_one(&input);
	play(n_ops, &policy, here);
	if (stand.is_whole) {
		policy.only_summary = true;
		play(n_ops, &policy, 0);
	}
	stand_clear();
	return 0;
}
