/* SPDX-License-Identifier: MIT */
#include "cli/recordings.h"

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/when.h"
#include "energy/units.h"
#include "replay/history.h"
#include "replay/wall.h"
#include "report/missing.h"

#define DAY_NS (86400 * WTL_NS_PER_S)

void wtl_remark_missing(const struct wtl_app *app, const char *path,
			const struct wtl_history *history)
{
	char text[WTL_REMARK_SIZE];

	for (size_t i = 0; i < history->n_gaps; i++) {
		if (history->gaps[i].kind != WTL_GAP_DAMAGED)
			continue;
		wtl_missing_lost(history->gaps[i].text, text);
		wtl_remark(app, "%s: %s", path, text);
	}
	if (history->n_lost == 0 && wtl_missing_rows(history, text))
		wtl_remark(app, "%s: %s", path, text);
}

/* When the clock first showed that time (a later one if it was skipped), since the start; shown_ns if it never did. */
static int64_t place_of(const struct wtl_history *history, int64_t shown_ns)
{
	int64_t utc_ns, mono_ns;

	if (__builtin_add_overflow(history->begin_utc_ns, shown_ns, &utc_ns) ||
	    !wtl_wall_find(wtl_player_wall(history->player), utc_ns, &mono_ns))
		return shown_ns;
	return mono_ns - history->begin_mono_ns;
}

/* The clock's time at that moment, since its time at the start. */
static int64_t shown_at(const struct wtl_history *history, int64_t since_ns)
{
	if (since_ns > wtl_history_span_ns(history))
		since_ns = wtl_history_span_ns(history);
	return wtl_history_utc(history, history->begin_mono_ns + since_ns) - history->begin_utc_ns;
}

int wtl_when_in(const struct wtl_when *when, const struct wtl_history *history, int64_t after_ns,
		int64_t *ret_since_ns)
{
	int64_t shown_ns, before_ns;
	int rc = wtl_when_since_ns(when, history->begin_utc_ns,
				   after_ns ? shown_at(history, after_ns) : 0, &shown_ns);

	if (rc < 0)
		return rc;
	*ret_since_ns = when->kind == WTL_WHEN_SINCE ? shown_ns : place_of(history, shown_ns);
	if (when->kind != WTL_WHEN_CLOCK || *ret_since_ns <= wtl_history_span_ns(history))
		return 0;
	/* A time of day that is past at the start is that of the next day, unless the clock was set back to it. */
	before_ns = place_of(history, shown_ns - DAY_NS);
	if (before_ns >= 0 && before_ns <= wtl_history_span_ns(history))
		*ret_since_ns = before_ns;
	return 0;
}
