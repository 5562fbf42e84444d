/* SPDX-License-Identifier: MIT */
#ifndef WTL_TESTS_HISTORY_BENCH_H
#define WTL_TESTS_HISTORY_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/history.h"

/* A recording that is gone through, as text. */

enum { HISTORY_TEXT_MAX = 1 << 20 };

/* Nothing is allocated by writing it. */
struct history_trace {
	size_t len;
	char text[HISTORY_TEXT_MAX];
};

struct history_way {
	struct wtl_history_options options;
	bool is_part;
	int64_t from_ns, to_ns;
	bool is_short; /* the trace leaves samples and seconds out */
};

/* 0 or an error; *trace is what was told up to there: after each step, and of all at last. */
int history_bench_go(const char *path, const struct history_way *way, struct history_trace *trace);

#endif
