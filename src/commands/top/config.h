/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_TOP_CONFIG_H
#define WTL_COMMANDS_TOP_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "commands/top/field.h"
#include "commands/top/filter.h"

/* How `wattle top` shows its data: chosen by keys and in the set-up window, and kept in
 * $XDG_CONFIG_HOME/wattle/top.conf. */

enum wtl_grouping {
	WTL_GROUP_NONE,
	WTL_GROUP_USER,
	WTL_GROUP_CONTAINER,
	WTL_GROUP_POD,
	WTL_GROUP_UNIT,
	WTL_GROUP_JOB,
	WTL_GROUP_CGROUP,
	WTL_GROUP_NAME,
	WTL_GROUPINGS
};

enum wtl_graph { WTL_GRAPH_OFF, WTL_GRAPH_TOTAL, WTL_GRAPH_EACH };

enum { WTL_TOP_WINDOWS = 6 }; /* 20 s … 1 h: wtl_top_window_ns() */

/* Settings with a few values, each of which has a word: no and yes, if not said otherwise. */
enum wtl_setting {
	WTL_SET_TREE,
	WTL_SET_FULL,	/* full shares instead of dynamic ones */
	WTL_SET_PARTS,	/* domains that lie inside others */
	WTL_SET_EXITED, /* processes that ended */
	WTL_SET_KERNEL, /* kernel threads */
	WTL_SET_IDLE,	/* processes that used nothing in the last interval */
	WTL_SET_PATHS,	/* programs with their path */
	WTL_SET_COLOR,
	WTL_SET_ASCII,
	WTL_SET_MOUSE,
	WTL_SET_GRAPH,	/* enum wtl_graph */
	WTL_SET_WINDOW, /* of WTL_TOP_WINDOWS */
	/* Not listed in the set-up window: */
	WTL_SET_GROUP, /* enum wtl_grouping */
	WTL_SET_ASCENDING,
	WTL_SETTINGS,
	WTL_SETTINGS_LISTED = WTL_SET_GROUP
};

struct wtl_setting_info {
	const char *name, *about;
	const char *const *words; /* one per value */
	unsigned n;		  /* values; of a switch 2 */
	unsigned fallback;	  /* the value at first */
};

struct wtl_top_config {
	unsigned set[WTL_SETTINGS];
	unsigned sort;	    /* enum wtl_field */
	unsigned redraw_ms; /* 50 … 10000 */
	bool columns[WTL_FIELDS];
	char filter[WTL_FILTER_MAX + 1];
	struct wtl_buf unknown; /* lines unknown to this version, kept as they are */
};

void wtl_top_config_init(struct wtl_top_config *config); /* the defaults */
void wtl_top_config_done(struct wtl_top_config *config);

const struct wtl_setting_info *wtl_setting_info(enum wtl_setting which);
/* The word of the setting's value; for some settings it says everything. */
const char *wtl_setting_word(const struct wtl_top_config *config, enum wtl_setting which);
/* Switches to the next value; after the last comes the first. */
void wtl_setting_next(struct wtl_top_config *config, enum wtl_setting which);
int64_t wtl_top_window_ns(unsigned window);

/*
 * Parses a file: lines "key = value", '#' for remarks. Settings with a bad value
 * stay unchanged; *ret_remark then is
 * about the first such line, or the first unknown one ("": none). 0, or -ENOMEM.
 */
int wtl_top_config_parse(struct wtl_top_config *config, const char *text, size_t len,
			 char ret_remark[160]);
int wtl_top_config_print(const struct wtl_top_config *config, struct wtl_buf *buf);

#endif
