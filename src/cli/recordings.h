/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_RECORDINGS_H
#define WTL_CLI_RECORDINGS_H

#include <stdint.h>

struct wtl_app;
struct wtl_history;
struct wtl_when;

/* What commands that read recordings share. */

/* Remarks on what the recording lacks, as far as it was read: stretches, or rows of tables. */
void wtl_remark_missing(const struct wtl_app *app, const char *path,
			const struct wtl_history *history);

/*
 * A moment of a recording, in nanoseconds since its start: when its clock,
 * which may have been set, first showed that time. A time of day is searched
 * from after_ns on: for --to, that is the moment of --from. 0 or -ERANGE.
 */
int wtl_when_in(const struct wtl_when *when, const struct wtl_history *history, int64_t after_ns,
		int64_t *ret_since_ns);

#endif
