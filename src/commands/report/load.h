/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_REPORT_LOAD_H
#define WTL_COMMANDS_REPORT_LOAD_H

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/when.h"
#include "report/recorded.h"

/* What options say of how. */
struct wtl_replay_settings {
	struct wtl_when from, to;
	int by; /* enum wtl_by; < 0: not given */
	const char *intensity_path;
	bool plays; /* for tests: never from the summary alone */
};

/* ---- policy.c: --policy ---- */

struct wtl_policy {
	bool is_given;
	struct wtl_player_policy player;
	const char *idle; /* "recorded", "learned", "none" */
	char given_text[WTL_POLICY_DOMAINS][WTL_NAME_SIZE + 32];
	const char *given_list[WTL_POLICY_DOMAINS];
};

/* 0, or EINVAL after wtl_complain(). text may be NULL. */
int wtl_policy_parse(struct wtl_app *app, const char *text, struct wtl_policy *ret_policy);

/* ---- load.c ---- */

/* Reads the file (NULL: none). 0, or negative after wtl_complain(). */
int wtl_intensity_load(struct wtl_app *app, const char *path, struct wtl_intensity *ret_intensity);

/* Goes through a recording, as the settings say. What comes back borrows from all of these. 0, or negative after
 * wtl_complain(). */
int wtl_report_load(struct wtl_app *app, const struct wtl_replay_settings *settings,
		    const char *path, const struct wtl_policy *policy,
		    const struct wtl_intensity *intensity, struct wtl_recorded **ret_recorded);

#endif
