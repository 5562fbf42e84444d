/* SPDX-License-Identifier: MIT */
/* What a recording does not have, in the words that everything that shows it uses. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "commands/report/replay.h"
#include "document/format.h"

/* ---- Gaps ---- */

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

	if (x->gap.begin_mono_ns != y->gap.begin_mono_ns)
		return x->gap.begin_mono_ns < y->gap.begin_mono_ns ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int by_subject(const void *a, const void *b)
{
	const struct numbered_gap *x = a, *y = b;
	int order = x->gap.kind != y->gap.kind ? (x->gap.kind < y->gap.kind ? -1 : 1)
					       : strcmp(x->gap.subject, y->gap.subject);

	return order ? order : by_begin(a, b);
}

static int64_t end_of(const struct wtl_stored_gap *gap)
{
	int64_t end_ns;

	if (__builtin_add_overflow(gap->begin_mono_ns, gap->duration_ns, &end_ns))
		return gap->duration_ns < 0 ? INT64_MIN : INT64_MAX;
	return end_ns;
}

/* Does the later one go on where the other has not ended? */
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
		else if (end_of(gap) > end_of(last) &&
			 __builtin_sub_overflow(end_of(gap), last->begin_mono_ns,
						&last->duration_ns))
			last->duration_ns = INT64_MAX;
	}
	gaps->n = n;
}

int wtl_replay_each_gap(struct wtl_store_reader *reader,
			int (*row)(void *, const struct wtl_stored_gap *), void *context)
{
	struct gaps gaps = {.n = 0};
	int read = wtl_store_each_gap(reader, collect, &gaps), rc = 0;

	if (gaps.n > 0 && read != -ENOMEM) {
		qsort(gaps.list, gaps.n, sizeof(gaps.list[0]), by_subject);
		merge(&gaps);
		qsort(gaps.list, gaps.n, sizeof(gaps.list[0]), by_begin);
		for (size_t i = 0; rc == 0 && i < gaps.n; i++)
			rc = row(context, &gaps.list[i].gap);
	}
	free(gaps.list);
	return rc ? rc : read;
}

/* ---- What is not there at all ---- */

bool wtl_replay_tell_dropped(const struct wtl_store_reader *reader, char text[WTL_REMARK_SIZE])
{
	struct wtl_store_period first;
	struct wtl_buf buf;

	if (!wtl_store_has_dropped(reader) || wtl_store_period(reader, 0, &first) < 0)
		return false;
	wtl_buf_init(&buf, WTL_REMARK_SIZE);
	wtl_buf_puts(&buf, "the recording is a ring, which has dropped what was before ");
	wtl_format_utc(&buf, first.begin_utc_ns);
	snprintf(text, WTL_REMARK_SIZE, "%s", wtl_buf_str(&buf));
	wtl_buf_done(&buf);
	return true;
}

void wtl_replay_tell_lost(const char *lost, char text[WTL_REMARK_SIZE])
{
	snprintf(text, WTL_REMARK_SIZE, "a part cannot be read: %s", lost);
}

bool wtl_replay_tell_damaged(const struct wtl_store_reader *reader, char text[WTL_REMARK_SIZE])
{
	if (!wtl_store_is_damaged(reader))
		return false;
	snprintf(text, WTL_REMARK_SIZE,
		 "some of it cannot be read, and is missing in what is told: wattle report --check "
		 "says what");
	return true;
}

void wtl_gap_damage(const char *lost, char text[], size_t size)
{
	static const char before[] = "(period ";
	const char *period = strstr(lost, before), *end = period ? strchr(period, ')') : NULL;

	if (!end) {
		snprintf(text, size, "%.199s", lost);
		return;
	}
	/* "period 4: series op is damaged" */
	snprintf(text, size, "%.*s%.150s", (int)(end - period - 1), period + 1, end + 1);
}
