/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_TOP_CONFIG_H
#define WTL_COMMANDS_TOP_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "commands/top/field.h"
#include "commands/top/filter.h"

/* How `wattle top` shows what it knows: chosen by keys and in the set-up window, and kept in
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

enum wtl_graph { WTL_GRAPH_OFF, WTL_GRAPH_TOTAL, WTL_GRAPH_EACH, WTL_GRAPHS };

enum { WTL_TOP_WINDOWS = 6 }; /* 20 s … 1 h: wtl_top_window_ns() */

/* Yes or no: one line each in the set-up window. */
enum wtl_switch {
	WTL_SWITCH_TREE,
	WTL_SWITCH_FULL,   /* full shares instead of dynamic ones */
	WTL_SWITCH_PARTS,  /* domains that lie inside others */
	WTL_SWITCH_EXITED, /* processes that ended */
	WTL_SWITCH_KERNEL, /* kernel threads */
	WTL_SWITCH_IDLE,   /* processes that used nothing in the last interval */
	WTL_SWITCH_COLOR,
	WTL_SWITCH_ASCII,
	WTL_SWITCH_MOUSE,
	WTL_SWITCHES
};

struct wtl_switch_info {
	const char *name, *about;
	bool is_default;
};

struct wtl_top_config {
	unsigned sort; /* enum wtl_field */
	bool ascending;
	unsigned grouping; /* enum wtl_grouping */
	unsigned graph;	   /* enum wtl_graph */
	unsigned window;
	unsigned redraw_ms; /* 50 … 10000 */
	bool columns[WTL_FIELDS];
	bool switches[WTL_SWITCHES];
	char filter[WTL_FILTER_MAX + 1];
	struct wtl_buf unknown; /* lines that this version does not know, kept as they are */
};

void wtl_top_config_init(struct wtl_top_config *config); /* the defaults */
void wtl_top_config_done(struct wtl_top_config *config);

const struct wtl_switch_info *wtl_switch_info(enum wtl_switch which);
const char *wtl_grouping_name(enum wtl_grouping grouping);
const char *wtl_graph_name(enum wtl_graph graph);
long long wtl_top_window_ns(unsigned window);
const char *wtl_top_window_name(unsigned window);

/*
 * Takes what a file says: lines "key = value", '#' for remarks. A value that cannot be is left at
 * what it was; *ret_remark ("" for none) then says the first such line, or the first unknown one.
 * 0, or -ENOMEM.
 */
int wtl_top_config_parse(struct wtl_top_config *config, const char *text, size_t len,
			 char ret_remark[160]);
int wtl_top_config_print(const struct wtl_top_config *config, struct wtl_buf *buf);

#endif
