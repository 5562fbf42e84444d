/* SPDX-License-Identifier: MIT */
/* A recording with good checksums may still make no sense: only playing it shows that. */
#include <errno.h>

#include "base/err.h"
#include "record/store.h"
#include "replay/history.h"

static int play(struct wtl_history *history, void (*line)(void *context, const char *text),
		void *context, struct wtl_err *err)
{
	struct wtl_played played;
	int n_lines = 0, rc;

	while ((rc = wtl_history_step(history, &played, err)) > 0)
		if (played.kind == WTL_PLAYED_LOST) {
			line(context, played.text);
			n_lines++;
		}
	if (rc == 0)
		rc = wtl_history_read_gaps(history);
	if (rc == -ENOMEM)
		return wtl_err_set(err, rc, "recording", NULL, "out of memory");
	if (n_lines == 0 && wtl_history_is_damaged(history)) {
		line(context, "its rows do not fit each other");
		n_lines++;
	}
	return n_lines;
}

int wtl_history_check(const char *path, void (*line)(void *context, const char *text),
		      void *context, struct wtl_err *err)
{
	struct wtl_history *history;
	struct wtl_err why = {.code = 0};
	int rc = wtl_store_check(path, line, context, err);

	/* Damage was reported: playing would only find it again. */
	if (rc != 0)
		return rc;
	rc = wtl_history_open(path, NULL, &history, &why);
	if (rc == -ENOMEM)
		return wtl_err_set(err, rc, "recording", path, "out of memory");
	if (rc < 0) {
		line(context, why.text);
		return 1;
	}
	rc = play(history, line, context, err);
	wtl_history_close(history);
	return rc;
}
