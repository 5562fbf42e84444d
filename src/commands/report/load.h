/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_REPORT_LOAD_H
#define WTL_COMMANDS_REPORT_LOAD_H

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/option.h"
#include "cli/when.h"
#include "report/recorded.h"

/* The options that say how to replay. */
struct wtl_replay_settings {
	struct wtl_when from, to;
	int by;			    /* enum wtl_by; < 0: not given */
	const char *intensity_path; /* a file, or API:ZONE; and options for asking it: */
	const char *intensity_token, *intensity_url, *intensity_cache, *intensity_ca;
	bool plays; /* for tests: never uses the summary */
};

/* ---- policy.c: --policy ---- */

/* A weight besides the real ones: the learned one, smoothed backwards. */
#define WTL_SMOOTHED "smoothed"

struct wtl_policy {
	bool is_given;
	struct wtl_player_policy player;
	const char *idle; /* "recorded", "learned", "none" */
	char given_text[WTL_POLICY_DOMAINS][WTL_NAME_SIZE + 32];
	const char *given_list[WTL_POLICY_DOMAINS];
};

/* 0, or EINVAL after wtl_complain(). text may be NULL. */
int wtl_policy_parse(struct wtl_app *app, const char *text, struct wtl_policy *ret_policy);

/* ---- intensity.c: --intensity ---- */

/* Checks how its options combine. 0, or EINVAL after wtl_complain(). */
int wtl_intensity_check(struct wtl_app *app, const struct wtl_replay_settings *settings);
/* Reads the file, or asks for the recordings' times; none is fine. 0, or negative after wtl_complain(). */
int wtl_intensity_load(struct wtl_app *app, const struct wtl_replay_settings *settings,
		       const struct wtl_option_list *files, struct wtl_intensity *ret_intensity);

/* ---- load.c ---- */

/* Opens a recording as the settings say; borrows the policy and the intensity. 0, or negative after wtl_complain(). */
int wtl_report_open(struct wtl_app *app, const struct wtl_replay_settings *settings,
		    const char *path, const struct wtl_policy *policy,
		    const struct wtl_intensity *intensity, struct wtl_history **ret_history);

/* Plays a recording as the settings say. The result borrows from all arguments. 0, or negative after wtl_complain(). */
int wtl_report_load(struct wtl_app *app, const struct wtl_replay_settings *settings,
		    const char *path, const struct wtl_policy *policy,
		    const struct wtl_intensity *intensity, struct wtl_recorded **ret_recorded);

#endif
