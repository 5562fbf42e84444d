/* SPDX-License-Identifier: MIT */
/* Power and memory by process or group, over time. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "commands/plot/recording.h"
#include "commands/plot/recording_keys.h"
#include "meter/consumers.h"
#include "document/words.h"

enum { POINTS_MAX = 600 };

#define MOMENT_S 1e-6

/* PSS of large processes is read rarely. It counts as current while RSS moves by no more than this part of it,
 * or for at most so many scans (judgement). */
#define MOVED_PART 0.05
enum { LATE_SCANS = 2 };

/* The process that had the slot when it was last seen. */
struct owner {
	int pid;
	int64_t start_ns;
	char name[32];
	size_t key;
	bool is_known, has_pss;
	uint64_t pss_bytes, rss_then_bytes; /* when PSS was last read */
};

enum quantity { POWER, MEMORY };

struct processes {
	struct wtl_plot_replay *replay;
	enum quantity quantity;
	struct wtl_plot_keys keys;
	struct owner *owners; /* by slot */
	size_t owners_room;
	int64_t scanned_ns; /* monotonic: of the last bill, from which the next one counts */
	bool has_begun;
	size_t n_scans;
	bool has_dynamic;   /* for all of them, so far */
	bool shows_dynamic; /* else all power, idle power included */

	/* The second pass: series[k].points[i], each of several scans. The first point of power only marks where the
	 * next one begins. */
	struct wtl_plot_series *series;
	struct wtl_plot_point **points;
	size_t n_series, n_points, scans_a_point, n_in_point;
	double seconds_in_point;
};

/* ---- Keys ---- */

static void name_process(const struct wtl_consumer *consumer, char *name, size_t size)
{
	const char *text = consumer->name[0] ? consumer->name : wtl_words_consumer(consumer);

	if (consumer->pid)
		snprintf(name, size, "%s (%d)", text, consumer->pid);
	else
		snprintf(name, size, "%s", text);
}

static void name_key(struct processes *processes, const struct wtl_consumer *consumer, char *name,
		     size_t size)
{
	const struct wtl_group *group = consumer->group;
	const char *text = "", *none = "";

	switch (processes->replay->settings->wanted.by) {
	case WTL_PLOT_BY_PROCESS:
		name_process(consumer, name, size);
		return;
	case WTL_PLOT_BY_USER:
		wtl_player_name_user(processes->replay->history->player, consumer->uid, name, size);
		if (name[0])
			return;
		none = "not known";
		break;
	case WTL_PLOT_BY_CONTAINER:
		text = group ? group->container : "";
		none = "in no container";
		break;
	case WTL_PLOT_BY_UNIT:
		text = group ? group->unit : "";
		none = "in no unit";
		break;
	}
	wtl_text_copy(name, size, text[0] ? text : none);
}

/* A process whose PSS was never read never gets one: its key is drawn by RSS. */
static void settle_owner(struct processes *processes, const struct owner *owner)
{
	if (processes->quantity == MEMORY && owner->is_known && !owner->has_pss)
		processes->keys.list[owner->key].lacks_pss = true;
}

static int key_of(struct processes *processes, size_t slot, const struct wtl_consumer *consumer,
		  size_t *ret_key)
{
	struct owner *owner = &processes->owners[slot];
	char name[96];
	int rc = 0;

	if (!owner->is_known || owner->pid != consumer->pid ||
	    owner->start_ns != consumer->start_ns || strcmp(owner->name, consumer->name) != 0) {
		settle_owner(processes, owner);
		name_key(processes, consumer, name, sizeof(name));
		*owner = (struct owner){
			.pid = consumer->pid, .start_ns = consumer->start_ns, .is_known = true};
		memcpy(owner->name, consumer->name, sizeof(owner->name));
		rc = wtl_plot_keys_find(&processes->keys, name, &owner->key);
	}
	*ret_key = owner->key;
	return rc;
}

/* ---- A scan ---- */

/* For ranking: PSS, or else RSS. */
static double memory_of(const struct wtl_consumer *consumer)
{
	uint64_t bytes =
		consumer->pss_bytes != UINT64_MAX ? consumer->pss_bytes : consumer->rss_bytes;

	return bytes != UINT64_MAX && consumer->state == WTL_CONSUMER_LIVE ? (double)bytes : 0.0;
}

/* For drawing: PSS, or RSS. Without the value, the sum is unknown, too. */
static double shown_memory_of(const struct processes *processes, size_t key,
			      const struct wtl_consumer *consumer)
{
	uint64_t bytes =
		processes->keys.list[key].lacks_pss ? consumer->rss_bytes : consumer->pss_bytes;

	return bytes != UINT64_MAX ? (double)bytes : WTL_PLOT_UNKNOWN;
}

static double value_of(struct processes *processes, size_t slot,
		       const struct wtl_consumer *consumer)
{
	struct wtl_consumer_power power;

	if (processes->quantity == MEMORY)
		return memory_of(consumer);
	if (!wtl_consumers_power(processes->replay->history->consumers, slot, WTL_PART_ALL, &power))
		return 0.0;
	processes->has_dynamic &= power.has_dynamic;
	return (double)(processes->shows_dynamic ? power.dynamic_uw : power.full_uw) / 1e6;
}

/* By how much RSS has moved since PSS was read; all of it without a PSS. */
static double moved_of(struct owner *owner, const struct wtl_consumer *consumer)
{
	uint64_t rss_bytes = consumer->rss_bytes;

	owner->has_pss |= consumer->pss_bytes != UINT64_MAX;
	if (rss_bytes == UINT64_MAX || consumer->pss_bytes == UINT64_MAX)
		return rss_bytes == UINT64_MAX ? 0.0 : (double)rss_bytes;
	if (owner->pss_bytes != consumer->pss_bytes) {
		owner->pss_bytes = consumer->pss_bytes;
		owner->rss_then_bytes = rss_bytes;
	}
	return fabs((double)rss_bytes - (double)owner->rss_then_bytes);
}

/* A key whose PSS was too old for several scans in a row is drawn by RSS. */
static void judge_age(struct processes *processes)
{
	for (size_t i = 0; i < processes->keys.n_touched; i++) {
		struct wtl_plot_key *key = &processes->keys.list[processes->keys.touched[i]];

		key->late_scans = key->moved > MOVED_PART * key->now ? key->late_scans + 1 : 0;
		key->lacks_pss |= key->late_scans > LATE_SCANS;
	}
}

/* Adds everybody's value to their keys. */
static int scan(struct processes *processes)
{
	const struct wtl_consumers *consumers = processes->replay->history->consumers;
	size_t n = wtl_consumers_slots(consumers), before = processes->owners_room;

	if (wtl_array_reserve(&processes->owners, &processes->owners_room, n,
			      sizeof(*processes->owners)) < 0)
		return -ENOMEM;
	if (processes->owners_room > before)
		memset(processes->owners + before, 0,
		       (processes->owners_room - before) * sizeof(*processes->owners));
	wtl_plot_keys_begin(&processes->keys);
	for (size_t slot = 0; slot < n; slot++) {
		const struct wtl_consumer *consumer = wtl_consumers_get(consumers, slot);
		double value = consumer ? value_of(processes, slot, consumer) : 0.0;
		size_t key;

		if (value <= 0.0)
			continue;
		if (key_of(processes, slot, consumer, &key) < 0)
			return -ENOMEM;
		if (processes->quantity == MEMORY)
			processes->keys.list[key].moved +=
				moved_of(&processes->owners[slot], consumer);
		if (processes->quantity == MEMORY && processes->n_series > 0)
			value = shown_memory_of(processes, key, consumer);
		if (wtl_plot_keys_add(&processes->keys, key, value) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Plays the recording, and calls back after each scan within the picture. */
static int play(struct processes *processes,
		void (*scanned)(struct processes *, const struct wtl_played *, double seconds))
{
	struct wtl_played played;
	int rc;

	if (processes->owners_room > 0)
		memset(processes->owners, 0, processes->owners_room * sizeof(*processes->owners));
	processes->has_begun = false;
	while ((rc = wtl_plot_go_on(processes->replay, &played)) > 0) {
		if (!processes->has_begun)
			processes->scanned_ns = played.t_mono_ns;
		processes->has_begun = true;
		if (played.kind != WTL_PLAYED_BILLED)
			continue;
		if (scan(processes) < 0)
			return -ENOMEM;
		scanned(processes, &played,
			(double)(played.t_mono_ns - processes->scanned_ns) / 1e9);
		processes->scanned_ns = played.t_mono_ns;
	}
	for (size_t slot = 0; slot < processes->owners_room; slot++)
		settle_owner(processes, &processes->owners[slot]);
	return rc;
}

/* ---- The first pass: who is shown ---- */

static void rank_scan(struct processes *processes, const struct wtl_played *played, double seconds)
{
	(void)played;
	processes->n_scans++;
	if (processes->quantity == MEMORY)
		judge_age(processes);
	for (size_t i = 0; i < processes->keys.n_touched; i++) {
		struct wtl_plot_key *key = &processes->keys.list[processes->keys.touched[i]];

		/* The very first bill has no duration, but counts: those only in it are ranked last. */
		key->sum += key->now * (seconds > MOMENT_S ? seconds : MOMENT_S);
	}
}

static int add_series(struct processes *processes, const char *name, bool is_rest)
{
	size_t i = processes->n_series;

	processes->points[i] = wtl_plot_sheet_array(processes->replay->sheet, processes->n_points,
						    sizeof(*processes->points[i]));
	processes->series[i] = (struct wtl_plot_series){
		.name = wtl_plot_sheet_printf(processes->replay->sheet, "%s", name),
		.points = processes->points[i],
		.is_rest = is_rest,
	};
	processes->n_series++;
	return processes->replay->sheet->error;
}

/* Plays until it is clear whether power above idle is known for all. Idle power learned on the way counts from
 * the start, as in a report. */
static int rank(struct processes *processes)
{
	int rc = play(processes, rank_scan);

	if (rc < 0 || processes->quantity == MEMORY || processes->has_dynamic)
		return rc;
	processes->shows_dynamic = processes->has_dynamic = wtl_plot_keep_idle(processes->replay);
	for (int i = 0; rc == 0 && i < 2; i++) {
		wtl_plot_keys_done(&processes->keys);
		processes->n_scans = 0;
		rc = wtl_plot_rewind(processes->replay);
		if (rc == 0)
			rc = play(processes, rank_scan);
		if (processes->has_dynamic == processes->shows_dynamic)
			break;
		processes->shows_dynamic = false;
	}
	return rc;
}

static int choose(struct processes *processes)
{
	struct wtl_plot_sheet *sheet = processes->replay->sheet;
	unsigned top = processes->replay->settings->wanted.top;
	size_t best;
	int rc = 0;

	processes->scans_a_point = (processes->n_scans + POINTS_MAX - 1) / POINTS_MAX;
	processes->n_points = processes->n_scans / processes->scans_a_point + 2;
	processes->series = wtl_plot_sheet_array(sheet, top + 1, sizeof(*processes->series));
	processes->points = wtl_plot_sheet_array(sheet, top + 1, sizeof(*processes->points));
	if (!processes->series || !processes->points)
		return -ENOMEM;
	while (rc == 0 && processes->n_series < top &&
	       (best = wtl_plot_keys_largest(&processes->keys)) < processes->keys.n) {
		processes->keys.list[best].shown = (int)processes->n_series;
		rc = add_series(processes, processes->keys.list[best].name, false);
	}
	/* Peaks of memory do not add up: no "others". */
	if (rc == 0 && processes->quantity == POWER &&
	    wtl_plot_keys_largest(&processes->keys) < processes->keys.n)
		rc = add_series(processes, "others", true);
	return rc;
}

/* ---- The second pass: their values ---- */

/* Power: the mean of several scans; memory: the highest value. */
static void add_value(const struct processes *processes, double *y, double value, double seconds)
{
	if (processes->quantity == POWER)
		*y += value * seconds;
	else if (isfinite(value) && !(value <= *y))
		*y = value;
}

static void end_point(struct processes *processes)
{
	if (processes->n_in_point == 0)
		return;
	for (size_t k = 0; k < processes->n_series; k++) {
		struct wtl_plot_series *series = &processes->series[k];
		double *y = &processes->points[k][series->n++].y;

		if (processes->quantity == POWER && processes->seconds_in_point > 0)
			*y /= processes->seconds_in_point;
	}
	processes->n_in_point = 0;
	processes->seconds_in_point = 0;
}

/* Power: a first point, which marks the beginning. Memory: unknown until there is a value, not 0. */
static void begin_points(struct processes *processes)
{
	int64_t begin_ns = wtl_plot_times_utc(&processes->replay->times, processes->scanned_ns);

	for (size_t k = 0; k < processes->n_series; k++) {
		if (processes->quantity == POWER)
			processes->points[k][processes->series[k].n++] =
				(struct wtl_plot_point){.x = begin_ns, .y = WTL_PLOT_UNKNOWN};
		else
			for (size_t i = 0; i < processes->n_points; i++)
				processes->points[k][i].y = WTL_PLOT_UNKNOWN;
	}
}

static void show_scan(struct processes *processes, const struct wtl_played *played, double seconds)
{
	size_t at;

	if (processes->series[0].n == 0 && processes->n_in_point == 0)
		begin_points(processes);
	at = processes->series[0].n;
	if (at == processes->n_points)
		return;
	for (size_t k = 0; k < processes->n_series; k++)
		processes->points[k][at].x = played->t_utc_ns;
	for (size_t i = 0; i < processes->keys.n_touched; i++) {
		const struct wtl_plot_key *key = &processes->keys.list[processes->keys.touched[i]];
		size_t k = key->shown == WTL_PLOT_NOT_SHOWN ? processes->n_series - 1
							    : (size_t)key->shown;

		if (key->shown != WTL_PLOT_NOT_SHOWN || processes->series[k].is_rest)
			add_value(processes, &processes->points[k][at].y, key->now, seconds);
	}
	processes->n_in_point++;
	processes->seconds_in_point += seconds;
	if (processes->n_in_point == processes->scans_a_point)
		end_point(processes);
}

/* The kinds of memory of the keys that are shown. */
enum sizes { PSS = 1, RSS, PSS_AND_RSS };

static enum sizes sizes_of(const struct processes *processes)
{
	unsigned sizes = 0;

	for (size_t i = 0; i < processes->keys.n; i++)
		if (processes->keys.list[i].shown != WTL_PLOT_NOT_SHOWN)
			sizes |= processes->keys.list[i].lacks_pss ? RSS : PSS;
	return (enum sizes)sizes;
}

/* If both kinds are drawn, each line names its own. */
static void name_sizes(struct processes *processes)
{
	for (size_t i = 0; i < processes->keys.n; i++) {
		const struct wtl_plot_key *key = &processes->keys.list[i];

		if (key->shown != WTL_PLOT_NOT_SHOWN)
			processes->series[key->shown].name =
				wtl_plot_sheet_printf(processes->replay->sheet, "%s, %s", key->name,
						      key->lacks_pss ? "RSS" : "PSS");
	}
}

static const char *note_of(const struct processes *processes)
{
	static const char *const of_memory[] = {
		[PSS] = "Proportional set size: what several share is divided among them.",
		[RSS] = "Resident set size: what several share is in each.",
		[PSS_AND_RSS] =
			("PSS: proportional set size. RSS: resident set size, where PSS was not "
			 "read of all, or too seldom; what several share is in each."),
	};

	if (processes->quantity == MEMORY)
		return of_memory[sizes_of(processes)];
	return processes->shows_dynamic
		       ? "Power above idle, divided by who used the machine."
		       : "All power, its part of idle included, divided by who used the machine: idle "
			 "power is not known of all.";
}

static void make_panel(struct processes *processes)
{
	struct wtl_plot_sheet *sheet = processes->replay->sheet;
	struct wtl_plot_panel *panel = wtl_plot_sheet_panels(sheet, 1);
	bool is_power = processes->quantity == POWER;

	if (!panel)
		return;
	*panel = (struct wtl_plot_panel){
		.marks = is_power ? WTL_PLOT_STACK : WTL_PLOT_LINE,
		.x = WTL_PLOT_X_UTC,
		.from = processes->replay->from_utc_ns,
		.to = processes->replay->to_utc_ns,
		.label = is_power ? "Power" : "Memory",
		.unit = is_power ? "W" : "B",
		.prefix = is_power ? WTL_PLOT_SI : WTL_PLOT_BINARY,
		.has_steps = is_power,
		.series = processes->series,
		.n_series = processes->n_series,
	};
	wtl_plot_sheet_note(sheet, note_of(processes));
	wtl_plot_recorded_gaps(processes->replay, panel);
}

static int draw(struct wtl_plot_replay *replay, enum quantity quantity)
{
	struct processes processes = {
		.replay = replay, .quantity = quantity, .has_dynamic = true, .shows_dynamic = true};
	int rc = rank(&processes);

	if (rc == 0 && processes.n_scans == 0)
		rc = -ENODATA;
	if (rc == 0)
		rc = choose(&processes);
	if (rc == 0 && processes.n_series == 0)
		rc = -ENODATA;
	if (rc == 0 && quantity == MEMORY && sizes_of(&processes) == PSS_AND_RSS)
		name_sizes(&processes);
	if (rc == 0)
		rc = wtl_plot_rewind(replay);
	if (rc == 0)
		rc = play(&processes, show_scan);
	if (rc == 0) {
		end_point(&processes);
		make_panel(&processes);
	}
	wtl_plot_keys_done(&processes.keys);
	free(processes.owners);
	return rc;
}

int wtl_plot_recorded_processes(struct wtl_plot_replay *replay)
{
	return draw(replay, POWER);
}

int wtl_plot_recorded_memory(struct wtl_plot_replay *replay)
{
	return draw(replay, MEMORY);
}
