/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_REPORT_REPLAY_H
#define WTL_COMMANDS_REPORT_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/command.h"
#include "cli/when.h"
#include "cli/complain.h"
#include "energy/intensity.h"
#include "document/recording.h"
#include "meter/meter.h"
#include "replay/player.h"
#include "workload/workload.h"

/* What was recorded, gone by again, for `wattle report` and `wattle export`. */

/* What options say of how. */
struct wtl_replay_settings {
	struct wtl_when from, to;
	int by; /* enum wtl_by; < 0: not given */
	const char *intensity_path;
	bool plays; /* for tests: never from the summary alone */
};

/* ---- replay_policy.c: what is to be taken instead of what was recorded ---- */

enum { WTL_POLICY_DOMAINS = 64 };

enum wtl_idle_policy {
	WTL_IDLE_RECORDED, /* known when the recording began, and what it saw itself */
	WTL_IDLE_LEARNED,  /* only what it saw itself */
	WTL_IDLE_NONE,	   /* no idle part */
};

struct wtl_policy {
	bool is_given;
	enum wtl_idle_policy idle;
	struct {
		char domain[WTL_NAME_SIZE];
		uint64_t idle_uw;
	} given[WTL_POLICY_DOMAINS];
	size_t n_given;
	int weight; /* enum wtl_weight; < 0: as it was */
	char given_text[WTL_POLICY_DOMAINS][WTL_NAME_SIZE + 32];
	const char *given_list[WTL_POLICY_DOMAINS];
};

/* 0, or EINVAL after wtl_complain(). text may be NULL. */
int wtl_policy_parse(struct wtl_app *app, const char *text, struct wtl_policy *ret_policy);
/* What it is for the player; the policy is borrowed. */
struct wtl_player_policy wtl_policy_of_player(struct wtl_policy *policy);

/* ---- replay_carbon.c: emissions over time ---- */

/* Follows a played meter's total from sample to sample. */
struct wtl_emitter {
	const struct wtl_intensity *intensity; /* NULL: it does nothing */
	struct wattle_meter *meter;
	struct wtl_mark *marks; /* one a line, of the first sample */
	uint64_t energy_uj;	/* by the newest sample */
	int64_t t_utc_ns;
	struct wtl_emission emission;
};

/* Reads the file (NULL: none). 0, or negative after wtl_complain(). */
int wtl_intensity_load(struct wtl_app *app, const char *path, struct wtl_intensity *ret_intensity);
int wtl_emitter_init(struct wtl_emitter *emitter, const struct wtl_intensity *intensity,
		     struct wattle_meter *meter, int64_t t_mono_ns, int64_t t_utc_ns);
void wtl_emitter_done(struct wtl_emitter *emitter);
void wtl_emitter_look(struct wtl_emitter *emitter, int64_t t_mono_ns, int64_t t_utc_ns);
/* As of its energy and of what was emitted; ± from the energy's alone: the file (path) says none. */
void wtl_carbon_of_emission(const struct wtl_settings *settings, const char *path,
			    const struct wtl_emission *emission, const struct wattle_energy *total,
			    struct wtl_report_carbon *ret_carbon);

/* ---- replay_groups.c: consumers by what they have in common ---- */

/* Everything is borrowed from the consumers and the player, but the groups. */
int wtl_grouping_new(struct wtl_player *player, enum wtl_by by, unsigned top,
		     struct wtl_recording_grouping *ret_grouping);
void wtl_grouping_free(struct wtl_recording_grouping *grouping);

/* ---- replay.c ---- */

struct wtl_replay;

/*
 * Goes by a recording, as the settings say. What comes back lives as long as the replay. 0, or negative
 * after wtl_complain().
 */
int wtl_replay_new(struct wtl_app *app, const struct wtl_replay_settings *settings,
		   const char *path, struct wtl_policy *policy,
		   const struct wtl_intensity *intensity, struct wtl_replay **ret_replay);
void wtl_replay_free(struct wtl_replay *replay); /* NULL is fine */

const struct wtl_recording *wtl_replay_recording(const struct wtl_replay *replay);

/* Measurements that were ended properly: several, where a command was repeated. */
size_t wtl_replay_runs(const struct wtl_replay *replay);
const struct wtl_report *wtl_replay_run(const struct wtl_replay *replay, size_t i);
/* The one behind those, that was not: as far as it goes. NULL: there is none. */
const struct wtl_report *wtl_replay_unfinished(const struct wtl_replay *replay);

/* Opens, and says why it cannot. */
int wtl_replay_open_player(struct wtl_app *app, const char *path, struct wtl_policy *policy,
			   struct wtl_player **ret_player);

/* ---- replay_gaps.c: what a recording does not have ---- */

/* As wtl_store_each_gap(), by their begins; what several channels of a domain missed at one time is one
 * gap of that domain. */
int wtl_replay_each_gap(struct wtl_store_reader *reader,
			int (*row)(void *, const struct wtl_stored_gap *), void *context);

/*
 * The words for it, to be told once: the begin that a ring has dropped, each stretch that cannot be read (lost:
 * the player's text of it), and, where there is no such stretch, tables that are damaged. false: it is all there,
 * as far as was read.
 */
enum { WTL_REMARK_SIZE = 320 };
bool wtl_replay_tell_dropped(const struct wtl_store_reader *reader, char text[WTL_REMARK_SIZE]);
void wtl_replay_tell_lost(const char *lost, char text[WTL_REMARK_SIZE]);
bool wtl_replay_tell_damaged(const struct wtl_store_reader *reader, char text[WTL_REMARK_SIZE]);
const char *wtl_gap_name(enum wtl_gap_kind kind); /* "suspend", … */
/* What is damaged in a stretch that a player could not read, without its times: those of the gap say that. */
void wtl_gap_damage(const char *lost, char text[], size_t size);

#endif
