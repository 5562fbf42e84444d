/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_RECORDINGS_H
#define WTL_CLI_RECORDINGS_H

#include <stdint.h>

struct wtl_app;
struct wtl_history;
struct wtl_when;

/* What commands that read recordings share. */

/* Remarks on what the recording does not have, as far as it was gone through: stretches, or rows of tables. */
void wtl_remark_missing(const struct wtl_app *app, const char *path,
			const struct wtl_history *history);

/*
 * The moment of a recording, in nanoseconds since its start: where its clock, which may have been set, first showed that
 * time. A time of day is looked for from after_ns on, the moment of --from for --to. 0 or -ERANGE.
 */
int wtl_when_in(const struct wtl_when *when, const struct wtl_history *history, int64_t after_ns,
		int64_t *ret_since_ns);

#endif
