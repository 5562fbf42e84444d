/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_EXPORTER_H
#define WTL_SERVE_EXPORTER_H

#include <stdint.h>

#include "serve/live.h"

struct wtl_board;
struct wtl_err;
struct wtl_past;

/*
 * The other half of an agent that is split by privilege: one process reads sensors and listens at no network, the
 * other has no rights and answers requests. It gets the reader's snapshots over the reader's socket (docs/share.md),
 * and publishes them on a board of its own.
 */
struct wtl_exporter {
	const char *path; /* of the socket, borrowed */
	struct wtl_board *board;
	int fd;			   /* < 0: not connected */
	uint64_t number;	   /* of the newest snapshot */
	uint64_t agent;		   /* that it is of */
	int64_t published_mono_ns; /* when it came; 0: none */
	struct wtl_live_push push; /* this half's, to be told with the next snapshot */
};

/* Nothing is asked before the first look. */
void wtl_exporter_init(struct wtl_exporter *exporter, const char *path, struct wtl_board *board);
void wtl_exporter_done(struct wtl_exporter *exporter);
/*
 * Asks for what is new, and publishes it; waits for a second at most. 1: there was something new, 0: there was not;
 * or negative with the reason. Where nothing new came for WTL_EXPORTER_OLD_NS, the board has none any more: what is
 * old is not served as new.
 */
int wtl_exporter_look(struct wtl_exporter *exporter, struct wtl_err *err);

/* What the reader keeps of the last day, right after a look that had something new. 0 with a past, for
 * wtl_past_done(); or negative: it has none for us. */
int wtl_exporter_past(struct wtl_exporter *exporter, struct wtl_past *ret_past);

#define WTL_EXPORTER_OLD_NS INT64_C(10000000000)

#endif
