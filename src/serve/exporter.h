/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_EXPORTER_H
#define WTL_SERVE_EXPORTER_H

#include <stdint.h>

#include "serve/live.h"

struct wtl_board;
struct wtl_err;
struct wtl_past;

/*
 * The other half of an agent that is split by privilege: one process reads sensors and does not
 * listen on a network, the other has no privileges and answers requests. It gets the reader's
 * snapshots over the reader's socket (docs/share.md), and publishes them on its own board.
 */
struct wtl_exporter {
	const char *path; /* of the socket, borrowed */
	struct wtl_board *board;
	int fd;			   /* < 0: not connected */
	uint64_t number;	   /* of the newest snapshot */
	uint64_t agent;		   /* the reader's id; its snapshots are numbered anew */
	int64_t published_mono_ns; /* when the newest came; 0: none did */
	struct wtl_live_push push; /* this half's, to be served with the next snapshot */
};

/* Nothing is asked before the first look. */
void wtl_exporter_init(struct wtl_exporter *exporter, const char *path, struct wtl_board *board);
void wtl_exporter_done(struct wtl_exporter *exporter);
/*
 * Asks for a new snapshot, and publishes it; waits for a second at most. 1: there was one,
 * 0: there was none; or negative with the reason. If none came for WTL_EXPORTER_OLD_NS,
 * the board's snapshot is withdrawn: old figures are not served as new ones.
 */
int wtl_exporter_look(struct wtl_exporter *exporter, struct wtl_err *err);

/* Gets what the reader keeps of the last day, right after a look that returned
 * 1. 0 with a past, for wtl_past_done(); or negative: it has none for us. */
int wtl_exporter_past(struct wtl_exporter *exporter, struct wtl_past *ret_past);

#define WTL_EXPORTER_OLD_NS INT64_C(10000000000)

#endif
