/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_TOP_FILTER_H
#define WTL_COMMANDS_TOP_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/top/field.h"

/*
 * Which processes to show, as a small expression:
 *
 *	gpu_w > 10 && user == bob        (mem >= 2GiB || cpu > 50%) && !container ~ docker
 *
 * A comparison is FIELD OPERATOR VALUE: = (or ==), !=, <, <=, >, >=, ~ (contains, in either case)
 * and !~. Terms are joined by && (or "and"), || ("or"), ! ("not") and parentheses. A value is a
 * number with a unit that fits the field (mW W kW, mJ J kJ MJ Wh kWh, %, B K M G T KiB …, s min h),
 * a word, or text in quotes. A word alone is searched for in command, name and user. A comparison
 * with what is not known is false.
 */
enum { WTL_FILTER_MAX = 200, WTL_FILTER_NODES = 64 };

struct wtl_filter_node {
	uint8_t kind; /* filter.c's own */
	uint8_t comparison;
	uint8_t field;
	uint8_t text_len;
	uint16_t text_at; /* in the text */
	int16_t left, right;
	double number;
};

struct wtl_filter {
	char text[WTL_FILTER_MAX + 1]; /* as it was typed; "": everything matches */
	struct wtl_filter_node nodes[WTL_FILTER_NODES];
	int n, root; /* root < 0: everything matches */
};

struct wtl_filter_error {
	int position; /* bytes from the text's start */
	char text[96];
};

/* 0, or -EINVAL with *ret_error set (and the filter as it was). */
int wtl_filter_parse(struct wtl_filter *filter, const char *text,
		     struct wtl_filter_error *ret_error);

bool wtl_filter_match(const struct wtl_filter *filter, const struct wtl_top_process *process,
		      enum wtl_top_share share);

/* Does it compare that field? */
bool wtl_filter_asks_for(const struct wtl_filter *filter, enum wtl_field field);

/* Does text occur in a process's command, name, user or number, in either case? */
bool wtl_filter_search(const struct wtl_top_process *process, const char *text, size_t len);

#endif
