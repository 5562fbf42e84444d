/* SPDX-License-Identifier: MIT */
#include "replay/player.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/num.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "replay/player_state.h"
#include "replay/recorder_windows.h"
#include "workload/workload.h"

/* Those that a recorder can tell apart, and some that the player and its user open. */
enum { WINDOWS_OPEN_MAX = WTL_KNOWN_WINDOWS + 16 };

static const char *const cursor_names[WTL_CURSORS] = {
	[WTL_CURSOR_OP] = WTL_SERIES_OP,
	[WTL_CURSOR_SAMPLE_MONO] = WTL_SERIES_SAMPLE_MONO,
	[WTL_CURSOR_SAMPLE_TOOK] = WTL_SERIES_SAMPLE_TOOK,
	[WTL_CURSOR_SAMPLE_ASLEEP] = WTL_SERIES_SAMPLE_ASLEEP,
	[WTL_CURSOR_WINDOW_ID] = WTL_SERIES_WINDOW_ID,
	[WTL_CURSOR_WINDOW_MONO] = WTL_SERIES_WINDOW_MONO,
	[WTL_CURSOR_WINDOW_UTC] = WTL_SERIES_WINDOW_UTC,
	[WTL_CURSOR_LOOK_MONO] = WTL_SERIES_LOOK_MONO,
	[WTL_CURSOR_LOOK_DURATION] = WTL_SERIES_LOOK_DURATION,
	[WTL_CURSOR_LOOK_CAPACITY] = WTL_SERIES_LOOK_CAPACITY,
	[WTL_CURSOR_LOOK_BUSY] = WTL_SERIES_LOOK_BUSY,
	[WTL_CURSOR_LOOK_WEIGHT] = WTL_SERIES_LOOK_WEIGHT,
	[WTL_CURSOR_LOOK_USES] = WTL_SERIES_LOOK_USES,
	[WTL_CURSOR_USE_SLOT] = WTL_SERIES_USE_SLOT,
	[WTL_CURSOR_USE_WEIGHT] = WTL_SERIES_USE_WEIGHT,
	[WTL_CURSOR_LOOK_FOLDS] = WTL_SERIES_LOOK_FOLDS,
	[WTL_CURSOR_FOLD_FROM] = WTL_SERIES_FOLD_FROM,
	[WTL_CURSOR_FOLD_INTO] = WTL_SERIES_FOLD_INTO,
	[WTL_CURSOR_BILL_UTC] = WTL_SERIES_BILL_UTC,
	[WTL_CURSOR_CHANGES] = WTL_SERIES_CHANGES,
	[WTL_CURSOR_CHANGE_SLOT] = WTL_SERIES_CHANGE_SLOT,
	[WTL_CURSOR_CHANGE_FIELD] = WTL_SERIES_CHANGE_FIELD,
	[WTL_CURSOR_CHANGE_BY] = WTL_SERIES_CHANGE_BY,
	[WTL_CURSOR_SECOND_MONO] = WTL_SERIES_SECOND_MONO,
	[WTL_CURSOR_SECOND_UTC] = WTL_SERIES_SECOND_UTC,
	[WTL_CURSOR_SECOND_CPU] = WTL_SERIES_SECOND_CPU,
	[WTL_CURSOR_SECOND_RSS] = WTL_SERIES_SECOND_RSS,
	[WTL_CURSOR_DEVICES] = WTL_SERIES_DEVICES,
	[WTL_CURSOR_DEVICE_GPU] = WTL_SERIES_DEVICE_GPU,
	[WTL_CURSOR_DEVICE_NUMBER] = WTL_SERIES_DEVICE_NUMBER,
	[WTL_CURSOR_DEVICE_VALUE] = WTL_SERIES_DEVICE_VALUE,
};

/* ---- Values, one after the other ---- */

int wtl_player_next(struct wtl_cursor *cursor, int64_t *ret_value)
{
	if (cursor->at == cursor->n)
		return -EBADMSG;
	*ret_value = cursor->values[cursor->at++];
	return 0;
}

int wtl_player_take(struct wtl_player *player, enum wtl_cursor_id id, int64_t *ret_value)
{
	return wtl_player_next(&player->cursors[id], ret_value);
}

int wtl_player_count(struct wtl_player *player, enum wtl_cursor_id id, size_t *ret_n)
{
	int64_t n;
	int rc = wtl_player_take(player, id, &n);

	if (rc < 0)
		return rc;
	/* What is counted follows in the next series. */
	if (n < 0 || (uint64_t)n > player->cursors[id + 1].n - player->cursors[id + 1].at)
		return -EBADMSG;
	*ret_n = (size_t)n;
	return 0;
}

struct numbered {
	const char *name;
	struct wtl_cursor *cursor;
};

static void find_numbered(struct wtl_player *player, const char *prefix, size_t number,
			  const struct numbered list[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char name[WTL_STORE_NAME_SIZE];

		snprintf(name, sizeof(name), WTL_SERIES_FORMAT, prefix, number, list[i].name);
		list[i].cursor->series = wtl_store_find(player->reader, name);
	}
}

static void find_cursors(struct wtl_player *player)
{
	for (size_t i = 0; i < WTL_CURSORS; i++)
		player->cursors[i].series = wtl_store_find(player->reader, cursor_names[i]);
	for (size_t i = 0; i < player->n_channels; i++) {
		struct wtl_channel_cursors *channel = &player->channel_cursors[i];
		const struct numbered list[] = {
			{WTL_SERIES_CHANNEL_AT, &channel->at},
			{WTL_SERIES_CHANNEL_VALUE, &channel->value},
			{WTL_SERIES_CHANNEL_HALF, &channel->half},
			{WTL_SERIES_CHANNEL_STATE, &channel->state},
			{WTL_SERIES_CHANNEL_ERROR, &channel->error},
		};

		find_numbered(player, WTL_SERIES_CHANNEL, i, list, sizeof(list) / sizeof(list[0]));
	}
	for (size_t i = 0; i < player->n_gpus; i++) {
		struct wtl_gpu_cursors *gpu = &player->gpus[i];
		const struct numbered list[] = {
			{WTL_SERIES_GPU_WEIGHT, &gpu->weight}, {WTL_SERIES_GPU_USE, &gpu->use},
			{WTL_SERIES_GPU_USES, &gpu->uses},     {WTL_SERIES_GPU_SLOT, &gpu->slot},
			{WTL_SERIES_GPU_SHARE, &gpu->share},
		};

		find_numbered(player, WTL_SERIES_GPU, i, list, sizeof(list) / sizeof(list[0]));
	}
}

/* ---- Periods ---- */

static int load(struct wtl_player *player, struct wtl_cursor *cursor, struct wtl_err *err)
{
	cursor->at = cursor->n = 0;
	if (cursor->series < 0)
		return 0;
	return wtl_store_values(player->reader, (uint32_t)cursor->series, player->period,
				&cursor->values, &cursor->n, err);
}

static int load_all(struct wtl_player *player, struct wtl_err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < WTL_CURSORS; i++)
		rc = load(player, &player->cursors[i], err);
	for (size_t i = 0; rc == 0 && i < player->n_channels; i++) {
		struct wtl_channel_cursors *channel = &player->channel_cursors[i];
		struct wtl_cursor *const all[] = {&channel->at, &channel->value, &channel->half,
						  &channel->state, &channel->error};

		for (size_t k = 0; rc == 0 && k < sizeof(all) / sizeof(all[0]); k++)
			rc = load(player, all[k], err);
	}
	for (size_t i = 0; rc == 0 && i < player->n_gpus; i++) {
		struct wtl_gpu_cursors *gpu = &player->gpus[i];
		struct wtl_cursor *const all[] = {&gpu->weight, &gpu->use, &gpu->uses, &gpu->slot,
						  &gpu->share};

		for (size_t k = 0; rc == 0 && k < sizeof(all) / sizeof(all[0]); k++)
			rc = load(player, all[k], err);
	}
	return rc;
}

/* What comes next does not follow what was before. */
static void note_lost(struct wtl_player *player, struct wtl_played *played, const char *text)
{
	player->has_period = false;
	player->lost_before = player->is_broken = true;
	*played = (struct wtl_played){.kind = WTL_PLAYED_LOST, .t_mono_ns = player->io.mono_ns};
	snprintf(played->text, sizeof(played->text), "%s", text);
}

/* The next period that can be read. 1; 0: there is none; a period that cannot be read is told. */
static int load_period(struct wtl_player *player, struct wtl_played *played, struct wtl_err *err)
{
	struct wtl_store_period period;
	struct wtl_err why = {.code = 0};
	int rc;

	if (player->period >= wtl_store_periods(player->reader))
		return 0;
	rc = load_all(player, &why);
	if (rc == -ENOMEM)
		return wtl_err_set(err, rc, "recording", NULL, "out of memory");
	if (wtl_store_period(player->reader, player->period, &period) == 0 &&
	    wtl_player_is_mono(period.begin_mono_ns) && wtl_player_is_utc(period.begin_utc_ns)) {
		player->utc_offset_ns = period.begin_utc_ns - period.begin_mono_ns;
		player->io.mono_ns = period.begin_mono_ns;
	}
	player->period++;
	player->has_period = rc == 0;
	player->is_first_list = true;
	if (rc < 0)
		note_lost(player, played, why.text);
	return 1;
}

/* ---- Samples ---- */

static int take_reading(struct wtl_channel_cursors *channel, int64_t begin_ns,
			struct wtl_reading *reading)
{
	int64_t at_ns, value, half_ns, state, error = 0;

	if (wtl_player_next(&channel->at, &at_ns) < 0)
		return -EBADMSG;
	if (at_ns == 0)
		return 0;
	if (wtl_player_next(&channel->value, &value) < 0 ||
	    wtl_player_next(&channel->half, &half_ns) < 0 ||
	    wtl_player_next(&channel->state, &state) < 0)
		return -EBADMSG;
	if ((state & ~WTL_STATE_ANEW) != WATTLE_STATUS_OK &&
	    wtl_player_next(&channel->error, &error) < 0)
		return -EBADMSG;
	if (state < 0 || (state & ~WTL_STATE_ANEW) > WATTLE_STATUS_ABSENT)
		return -EBADMSG;
	if (at_ns < -WTL_PLAYER_MONO_MAX_NS || at_ns > WTL_PLAYER_MONO_MAX_NS)
		return -EBADMSG;
	at_ns += begin_ns - (at_ns > 0);
	if (!wtl_player_is_mono(at_ns) || !wtl_player_is_mono(half_ns))
		return -EBADMSG;
	*reading = (struct wtl_reading){
		.t_mono_ns = at_ns,
		.half_ns = half_ns,
		.value = (uint64_t)value,
		.anew = state & WTL_STATE_ANEW,
		.status = (enum wattle_status)(state & ~WTL_STATE_ANEW),
		.error = (int)error,
	};
	return 0;
}

/* Sets the clocks and readings for the meter's next sample. */
static int take_sample(struct wtl_player *player)
{
	int64_t begin_ns, took_ns, asleep_ns;
	int rc;

	if (wtl_player_take(player, WTL_CURSOR_SAMPLE_MONO, &begin_ns) < 0 ||
	    wtl_player_take(player, WTL_CURSOR_SAMPLE_TOOK, &took_ns) < 0 ||
	    wtl_player_take(player, WTL_CURSOR_SAMPLE_ASLEEP, &asleep_ns) < 0)
		return -EBADMSG;
	if (!wtl_player_is_mono(begin_ns) || !wtl_player_is_mono(took_ns) ||
	    !wtl_player_is_mono(asleep_ns) || begin_ns < player->sampled_ns)
		return -EBADMSG;
	for (size_t i = 0; i < player->n_channels; i++) {
		rc = take_reading(&player->channel_cursors[i], begin_ns, &player->readings[i]);
		if (rc < 0)
			return rc;
	}
	player->io.mono_ns = player->sampled_ns = begin_ns;
	player->io.asleep_ns = asleep_ns;
	player->io.after_ns = begin_ns + took_ns;
	player->io.utc_ns = begin_ns + player->utc_offset_ns;
	return 0;
}

static int64_t peek_op(const struct wtl_player *player)
{
	const struct wtl_cursor *cursor = &player->cursors[WTL_CURSOR_OP];

	return cursor->at < cursor->n ? cursor->values[cursor->at] : -1;
}

static int play_sample(struct wtl_player *player, struct wtl_played *played)
{
	int rc = take_sample(player);

	if (rc < 0)
		return rc;
	played->kind = WTL_PLAYED_SAMPLE;
	played->t_mono_ns = player->io.mono_ns;
	if (player->is_broken) {
		player->is_broken = false;
		player->caught_up = 0;
	}
	switch (peek_op(player)) {
	case WTL_OP_BEGIN:
		player->cursors[WTL_CURSOR_OP].at++;
		return wtl_player_begin_window(player, played);
	case WTL_OP_END:
		player->cursors[WTL_CURSOR_OP].at++;
		return wtl_player_end_window(player, played);
	default:
		wattle_meter_tick(player->meter);
		return 0;
	}
}

/* ---- Bills ---- */

static const struct wtl_played_window own_window = {.told_name = "here"};

static int play_bill(struct wtl_player *player, struct wtl_played *played)
{
	struct wattle_window window = player->ended_window;
	const struct wtl_played_window *main = &own_window;
	int64_t utc_ns;

	if (wtl_player_take(player, WTL_CURSOR_BILL_UTC, &utc_ns) < 0 || !wtl_player_is_utc(utc_ns))
		return -EBADMSG;
	if (!player->main_is_own)
		main = wtl_player_find_window(player, player->main_window);
	if (!main)
		return -EBADMSG;
	if (player->main_is_own || !player->main_ended) {
		/* Bills are of the window's time: what was made of UTC since does not count. */
		int64_t mono_ns = utc_ns - player->bill_offset_ns;

		if (!wtl_player_is_mono(mono_ns) || mono_ns < player->sampled_ns)
			return -EBADMSG;
		player->io.mono_ns = mono_ns;
		if (wtl_window_look(player->meter, main->told_name, &window, player->energies,
				    wattle_meter_domains(player->meter)) < 0)
			return -EBADMSG;
	}
	wtl_consumers_bill(player->consumers, player->energies, utc_ns);
	memcpy(player->billed, player->energies,
	       wattle_meter_domains(player->meter) * sizeof(*player->billed));
	player->billed_window = window;
	player->was_billed = true;
	played->kind = WTL_PLAYED_BILLED;
	played->t_mono_ns = window.begin_mono_ns + window.duration_ns;
	played->window = window;
	played->energies = player->billed;
	wtl_player_tell_window(played, main);
	return 0;
}

/* What was reset then goes on here: its energy is billed with the next look. */
static int forget_look(struct wtl_player *player, struct wtl_played *played)
{
	player->main_window = 0;
	played->kind = WTL_PLAYED_SAMPLE;
	wtl_consumers_bill(player->consumers, player->energies, played->t_mono_ns);
	return wtl_player_tell_changes(player, 0);
}

/* A look is billed or forgotten by what follows it: one that is neither is not told at all. */
static int play_look(struct wtl_player *player, struct wtl_played *played)
{
	int64_t op = peek_op(player);
	int rc;

	if (op != WTL_OP_BILLED && op != WTL_OP_RESET)
		return -EBADMSG;
	rc = wtl_player_tell_look(player);
	if (rc < 0)
		return rc;
	player->has_looks = true;
	player->cursors[WTL_CURSOR_OP].at++;
	if (op == WTL_OP_BILLED)
		return play_bill(player, played);
	played->t_mono_ns = player->io.mono_ns;
	if (player->main_is_own)
		return forget_look(player, played);
	wtl_consumers_begin(player->consumers);
	player->main_window = 0;
	player->was_billed = false;
	played->kind = WTL_PLAYED_RESET;
	return wtl_player_tell_changes(player, 0);
}

/* ---- The rest ---- */

static int play_second(struct wtl_player *player, struct wtl_played *played)
{
	int64_t utc_ns;

	if (wtl_player_take(player, WTL_CURSOR_SECOND_MONO, &played->t_mono_ns) < 0 ||
	    wtl_player_take(player, WTL_CURSOR_SECOND_UTC, &utc_ns) < 0 ||
	    wtl_player_take(player, WTL_CURSOR_SECOND_CPU, &played->self_cpu_ns) < 0 ||
	    wtl_player_take(player, WTL_CURSOR_SECOND_RSS, &played->self_rss_bytes) < 0)
		return -EBADMSG;
	if (!wtl_player_is_mono(played->t_mono_ns) || !wtl_player_is_utc(utc_ns))
		return -EBADMSG;
	played->kind = WTL_PLAYED_SECOND;
	player->utc_offset_ns = utc_ns - played->t_mono_ns;
	return 0;
}

static int play_devices(struct wtl_player *player, struct wtl_played *played)
{
	int64_t gpu, number, value;
	size_t n;

	if (wtl_player_count(player, WTL_CURSOR_DEVICES, &n) < 0)
		return -EBADMSG;
	if (wtl_array_reserve(&player->devices, &player->devices_room, n,
			      sizeof(player->devices[0])) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (wtl_player_take(player, WTL_CURSOR_DEVICE_GPU, &gpu) < 0 ||
		    wtl_player_take(player, WTL_CURSOR_DEVICE_NUMBER, &number) < 0 ||
		    wtl_player_take(player, WTL_CURSOR_DEVICE_VALUE, &value) < 0 || number < 0 ||
		    number >= WTL_DEVICE_NUMBERS || gpu < -1 || gpu > INT32_MAX)
			return -EBADMSG;
		player->devices[i] = (struct wtl_played_device){
			.gpu = (int32_t)gpu, .number = (uint32_t)number, .value = value};
	}
	played->kind = WTL_PLAYED_DEVICES;
	played->t_mono_ns = player->io.mono_ns;
	played->devices = player->devices;
	played->n_devices = n;
	return 0;
}

static int play_op(struct wtl_player *player, int64_t op, struct wtl_played *played)
{
	switch (op) {
	case WTL_OP_SAMPLE:
		return play_sample(player, played);
	case WTL_OP_BEGIN:
	case WTL_OP_END:
		/* With the sample that the meter was opened with: once more. */
		player->io.mono_ns = player->sampled_ns;
		return op == WTL_OP_BEGIN ? wtl_player_begin_window(player, played)
					  : wtl_player_end_window(player, played);
	case WTL_OP_CANCEL:
		return wtl_player_cancel_window(player, played);
	case WTL_OP_LOOK:
		return play_look(player, played);
	case WTL_OP_SECOND:
		return play_second(player, played);
	case WTL_OP_DEVICES:
		return play_devices(player, played);
	default:
		return -EBADMSG;
	}
}

static int told(const struct wtl_player *player, struct wtl_played *played)
{
	played->t_utc_ns = wtl_player_utc(player, played->t_mono_ns);
	return 1;
}

/* What the opening passed over, and windows that go on behind it. 1: that is told. */
static int tell_waiting(struct wtl_player *player, struct wtl_played *played)
{
	if (player->lost_first[0]) {
		played->kind = WTL_PLAYED_LOST;
		played->t_mono_ns = player->io.mono_ns;
		memcpy(played->text, player->lost_first, sizeof(played->text));
		player->lost_first[0] = '\0';
		return told(player, played);
	}
	return wtl_player_catch_up(player, played) ? told(player, played) : 0;
}

int wtl_player_step(struct wtl_player *player, struct wtl_played *ret_played, struct wtl_err *err)
{
	const struct wtl_workload_look nothing = {.n_uses = 0};
	char text[sizeof(ret_played->text)];
	int64_t op;
	int rc;

	memset(ret_played, 0, sizeof(*ret_played));
	rc = tell_waiting(player, ret_played);
	if (rc > 0)
		return rc;
	while (!player->has_period || peek_op(player) < 0) {
		rc = load_period(player, ret_played, err);
		if (rc <= 0)
			return rc;
		if (!player->has_period)
			return told(player, ret_played);
	}
	wtl_player_take(player, WTL_CURSOR_OP, &op);
	rc = play_op(player, op, ret_played);
	if (rc == -EBADMSG) {
		/* Nobody takes the look that was told: its uses are not there for long. */
		wtl_workload_tell_look(wtl_consumers_workload(player->consumers), &nothing);
		snprintf(text, sizeof(text), "the rest of period %zu is not what it should be",
			 player->period);
		note_lost(player, ret_played, text);
		rc = 0;
	}
	if (rc < 0)
		return wtl_err_set(err, rc, "recording", NULL, "%s", wtl_err_text(rc));
	return told(player, ret_played);
}

void wtl_player_sample_again(struct wtl_player *player)
{
	player->io.mono_ns = player->sampled_ns;
}

int wtl_player_begin_here(struct wtl_player *player)
{
	if (player->main_is_own)
		wattle_window_cancel(player->meter, own_window.told_name);
	wtl_consumers_begin(player->consumers);
	player->main_is_own = true;
	player->was_billed = false;
	memset(player->energies, 0,
	       wattle_meter_domains(player->meter) * sizeof(*player->energies));
	wtl_player_sample_again(player);
	return wattle_window_begin(player->meter, own_window.told_name);
}

void wtl_player_take_figures(struct wtl_player *player)
{
	const struct wtl_played_window *main =
		player->main_is_own ? &own_window
				    : wtl_player_find_window(player, player->main_window);
	size_t n = wattle_meter_domains(player->meter);

	if (player->has_looks || !main)
		return;
	if (player->main_ended && !player->main_is_own)
		player->billed_window = player->ended_window;
	else if (wtl_window_look(player->meter, main->told_name, &player->billed_window,
				 player->energies, n) < 0)
		return;
	memcpy(player->billed, player->energies, n * sizeof(*player->billed));
	player->was_billed = true;
}

/* ---- Opening ---- */

static void tell_machine(struct wtl_player *player)
{
	const struct {
		const char *key;
		char *to;
		size_t size;
	} texts[] = {
		{WTL_FACT_CPU_MODEL, player->meter->machine.cpu_model,
		 sizeof(player->meter->machine.cpu_model)},
		{WTL_FACT_VENDOR, player->meter->machine.vendor,
		 sizeof(player->meter->machine.vendor)},
		{WTL_FACT_PRODUCT, player->meter->machine.product,
		 sizeof(player->meter->machine.product)},
		{WTL_FACT_KERNEL, player->meter->machine.kernel,
		 sizeof(player->meter->machine.kernel)},
	};
	const char *text = wtl_store_get_fact(player->reader, WTL_FACT_CPUS);
	uint64_t value;

	if (text && wtl_num_u64(text, strlen(text), &value) == 0 && value > 0 && value < 1 << 20)
		player->meter->machine.n_cpus = (unsigned)value;
	text = wtl_store_get_fact(player->reader, WTL_FACT_PACKAGES);
	if (text && wtl_num_u64(text, strlen(text), &value) == 0 && value > 0 && value < 1 << 20)
		player->meter->machine.n_packages = (unsigned)value;
	text = wtl_store_get_fact(player->reader, WTL_FACT_MEMORY);
	if (text && wtl_num_u64(text, strlen(text), &value) == 0)
		player->meter->machine.memory_bytes = value;
	text = wtl_store_get_fact(player->reader, WTL_FACT_VM);
	player->meter->machine.is_vm = text && strcmp(text, "1") == 0;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		text = wtl_store_get_fact(player->reader, texts[i].key);
		if (text)
			snprintf(texts[i].to, texts[i].size, "%s", text);
	}
}

/* The first sample is the meter's state to begin with. */
static int open_meter(struct wtl_player *player, struct wtl_err *err)
{
	const struct wattle_options options = {.size = sizeof(options),
					       .max_windows = WINDOWS_OPEN_MAX};
	const struct wtl_env env = {.io = &player->io.io};
	struct wtl_played lost;
	int64_t op = -1;
	int rc;

	do {
		rc = load_period(player, &lost, err);
		if (rc > 0 && !player->has_period && !player->lost_first[0])
			memcpy(player->lost_first, lost.text, sizeof(player->lost_first));
	} while (rc > 0 && (!player->has_period || peek_op(player) != WTL_OP_SAMPLE));
	if (rc < 0)
		return rc;
	if (rc > 0)
		rc = wtl_player_take(player, WTL_CURSOR_OP, &op);
	if (op != WTL_OP_SAMPLE || take_sample(player) < 0)
		return wtl_err_set(err, EBADMSG, "recording", NULL,
				   "it holds no sample that can be read");
	player->is_broken = false;
	return wtl_meter_new_from(&env, &options, wtl_player_sources, &player->meter, err);
}

static int open_consumers(struct wtl_player *player, struct wtl_err *err)
{
	const char **domains = calloc(player->n_gpus + 1, sizeof(*domains));
	int rc;

	if (!domains)
		return wtl_err_set(err, ENOMEM, "recording", NULL, "out of memory");
	for (size_t i = 0; i < player->n_gpus; i++)
		domains[i] = player->gpus[i].domain;
	rc = wtl_consumers_new_told(player->meter, domains, player->n_gpus, &player->consumers,
				    err);
	free(domains);
	return rc;
}

/* Returns false where nothing was known when the recording began. */
static bool recorded_idle(struct wtl_player *player, size_t i, struct wtl_baseline *ret_idle)
{
	char key[WTL_STORE_NAME_SIZE], domain[32], source[32];
	const char *text;

	if (player->policy.forgets_idle)
		return false;
	snprintf(key, sizeof(key), WTL_FACT_IDLE, i);
	text = wtl_store_get_fact(player->reader, key);
	return text && wtl_baseline_parse(text, strlen(text), domain, source, ret_idle) == 0;
}

static void tell_idle(struct wtl_player *player)
{
	for (size_t i = 0; i < wattle_meter_domains(player->meter); i++) {
		struct wtl_baseline idle;
		struct wattle_domain domain;

		wattle_meter_domain(player->meter, i, &domain);
		if (player->policy.idle &&
		    player->policy.idle(player->policy.context, domain.name, &idle))
			wtl_consumers_fix_baseline(player->consumers, i, &idle);
		else if (recorded_idle(player, i, &idle))
			wtl_consumers_set_baseline(player->consumers, i, &idle);
	}
}

static int open_all(struct wtl_player *player, const char *path, struct wtl_err *err)
{
	size_t n_domains;
	int rc = wtl_store_open(path, &player->reader, err);

	if (rc == 0)
		rc = wtl_player_read_tables(player, err);
	if (rc < 0)
		return rc;
	player->channel_cursors = calloc(player->n_channels + 1, sizeof(*player->channel_cursors));
	player->readings = calloc(player->n_channels + 1, sizeof(*player->readings));
	if (!player->channel_cursors || !player->readings)
		return wtl_err_set(err, ENOMEM, "recording", path, "out of memory");
	wtl_player_io_init(&player->io);
	player->io.readings = player->readings;
	player->io.channels = player->channels;
	player->io.n_channels = player->n_channels;
	player->io.misses = player->misses;
	player->io.n_misses = player->n_misses;
	find_cursors(player);
	rc = open_meter(player, err);
	if (rc < 0)
		return rc;
	tell_machine(player);
	n_domains = wattle_meter_domains(player->meter);
	player->energies = calloc(n_domains + 1, sizeof(*player->energies));
	player->billed = calloc(n_domains + 1, sizeof(*player->billed));
	if (!player->energies || !player->billed)
		return wtl_err_set(err, ENOMEM, "recording", path, "out of memory");
	rc = open_consumers(player, err);
	if (rc == 0)
		tell_idle(player);
	return rc;
}

int wtl_player_open(const char *path, const struct wtl_player_policy *policy,
		    struct wtl_player **ret_player, struct wtl_err *err)
{
	struct wtl_player *player = calloc(1, sizeof(*player));
	int rc;

	if (!player)
		return wtl_err_set(err, ENOMEM, "recording", path, "out of memory");
	if (policy)
		player->policy = *policy;
	rc = open_all(player, path, err);
	if (rc < 0) {
		if (err && !err->path[0])
			snprintf(err->path, sizeof(err->path), "%s", path);
		wtl_player_close(player);
		return rc;
	}
	*ret_player = player;
	return 0;
}

void wtl_player_close(struct wtl_player *player)
{
	if (!player)
		return;
	wtl_consumers_free(player->consumers);
	wattle_meter_close(player->meter);
	wtl_store_close(player->reader);
	wtl_player_free_tables(player);
	free(player->channel_cursors);
	free(player->readings);
	free(player->energies);
	free(player->billed);
	free(player->uses);
	free(player->folds);
	free(player->told);
	free(player->devices);
	free(player);
}
