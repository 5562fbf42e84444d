/* SPDX-License-Identifier: MIT */
/* What a recording lacks: recorded gaps, and stretches of it that cannot be read. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "replay/history.h"

const char *wtl_gap_name(enum wtl_gap_kind kind)
{
	switch (kind) {
	case WTL_GAP_SUSPEND:
		return "suspend";
	case WTL_GAP_CLOCK_STEP:
		return "clock-step";
	case WTL_GAP_CHANNEL:
		return "channel";
	case WTL_GAP_OVERRUN:
		return "overrun";
	case WTL_GAP_EXITS:
		return "exits";
	case WTL_GAP_DAMAGED:
		return "damaged";
	}
	return "unknown";
}

static struct wtl_stored_gap *add(struct wtl_history *history)
{
	if (wtl_array_reserve(&history->gaps, &history->gaps_room, history->n_gaps + 1,
			      sizeof(*history->gaps)) < 0)
		return NULL;
	return &history->gaps[history->n_gaps++];
}

const char *wtl_gap_text(const struct wtl_stored_gap *gap, char text[WTL_GAP_TEXT_SIZE])
{
	static const char before[] = "(period ";
	const char *period = strstr(gap->text, before), *end = period ? strchr(period, ')') : NULL;

	if (gap->kind != WTL_GAP_DAMAGED || !end)
		return gap->text;
	snprintf(text, WTL_GAP_TEXT_SIZE, "%.*s%s", (int)(end - period - 1), period + 1, end + 1);
	return text;
}

int wtl_history_add_lost(struct wtl_history *history, const struct wtl_played *played)
{
	struct wtl_stored_gap *gap = add(history);

	if (!gap)
		return -ENOMEM;
	*gap = (struct wtl_stored_gap){.kind = WTL_GAP_DAMAGED,
				       .begin_mono_ns = played->t_mono_ns,
				       .duration_ns = played->lost_ns};
	wtl_text_copy(gap->text, sizeof(gap->text), played->text);
	history->n_lost++;
	return 0;
}

/* A gap of the table, with its place there. */
struct numbered_gap {
	struct wtl_stored_gap gap;
	size_t number; /* in the file */
};

struct gaps {
	struct numbered_gap *list;
	size_t n, room;
};

static int collect(void *context, const struct wtl_stored_gap *gap)
{
	struct gaps *gaps = context;

	if (wtl_array_reserve(&gaps->list, &gaps->room, gaps->n + 1, sizeof(gaps->list[0])) < 0)
		return -ENOMEM;
	gaps->list[gaps->n] = (struct numbered_gap){.gap = *gap, .number = gaps->n};
	gaps->n++;
	return 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct numbered_gap *x = a, *y = b;
	int64_t begin_ns = x->gap.begin_mono_ns, other_ns = y->gap.begin_mono_ns;
	int order = (begin_ns > other_ns) - (begin_ns < other_ns);

	return order ? order : (x->number > y->number) - (x->number < y->number);
}

static int by_subject(const void *a, const void *b)
{
	const struct numbered_gap *x = a, *y = b;
	int order = (x->gap.kind > y->gap.kind) - (x->gap.kind < y->gap.kind);

	order = order ? order : strcmp(x->gap.subject, y->gap.subject);
	return order ? order : by_begin(a, b);
}

/* The sum fits: the reader accepts no times for which it would not. */
static int64_t end_of(const struct wtl_stored_gap *gap)
{
	return gap->begin_mono_ns + gap->duration_ns;
}

/* Does the later gap begin before the other one has ended? */
static bool is_same(const struct wtl_stored_gap *gap, const struct wtl_stored_gap *later)
{
	return gap->kind == WTL_GAP_CHANNEL && later->kind == WTL_GAP_CHANNEL &&
	       strcmp(gap->subject, later->subject) == 0 && later->begin_mono_ns <= end_of(gap);
}

/* In the order of by_subject(). */
static void merge(struct gaps *gaps)
{
	size_t n = 0;

	for (size_t i = 0; i < gaps->n; i++) {
		struct wtl_stored_gap *last = n > 0 ? &gaps->list[n - 1].gap : NULL;
		const struct wtl_stored_gap *gap = &gaps->list[i].gap;

		if (!last || !is_same(last, gap))
			gaps->list[n++] = gaps->list[i];
		else if (end_of(gap) > end_of(last))
			last->duration_ns = end_of(gap) - last->begin_mono_ns;
	}
	gaps->n = n;
}

int wtl_history_read_gaps(struct wtl_history *history)
{
	struct gaps gaps = {.n = 0};
	int rc = wtl_store_each_gap(history->reader, collect, &gaps);

	if (gaps.n > 0 && rc != -ENOMEM) {
		qsort(gaps.list, gaps.n, sizeof(gaps.list[0]), by_subject);
		merge(&gaps);
		qsort(gaps.list, gaps.n, sizeof(gaps.list[0]), by_begin);
		for (size_t i = 0; rc != -ENOMEM && i < gaps.n; i++) {
			struct wtl_stored_gap *gap = add(history);

			if (gap)
				*gap = gaps.list[i].gap;
			else
				rc = -ENOMEM;
		}
	}
	free(gaps.list);
	return rc;
}
