/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_PYTHON_WHEN_H
#define WTL_PROFILE_PYTHON_WHEN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * When Python's frames are read, and where the reader runs. A reading costs the program about as much as ten samples.
 * So some samples share one reading, as long as nearly all of them have a stack that is known by that. Else each sample
 * is read as soon as it is there ("haste"), until the next try.
 *
 * On the thread's processor the reader runs in its place: the thread waits, and the reading is of one moment. On
 * another one ("apart") nobody waits; that is tried from time to time, without haste. A thread of many calls changes
 * too fast for it, which shows in repeated tries to read. As that is not always noticed, readings of a failed try are
 * not used again.
 */

enum {
	WTL_PYTHON_HASTE = 144, /* samples before the first try without haste */
	WTL_PYTHON_TOGETHER = 8,
	WTL_PYTHON_MOVES =
		2, /* a thread that moved in so many tries is too fast to be read while it runs */
};

struct wtl_python_when {
	/* Samples until a try without haste, samples of that try, and those of them that no reading fits. */
	unsigned n_hasten, n_tried, n_misfits;
	unsigned haste;	   /* samples between tries */
	unsigned together; /* samples that share a reading, without haste */
	bool is_apart;
	int64_t apart_ns, back_ns; /* when it last became so, and when that ended */
	int64_t now_ns;		   /* of the newest reading */
	unsigned n_apart;	   /* recent readings */
	unsigned n_torn;	   /* those of them in which the thread moved, more than once */
	unsigned n_good;	   /* tries that went well since is_apart changed */
	unsigned patience;	   /* good tries until it is apart again */
};

void wtl_python_when_init(struct wtl_python_when *when);
/* How many samples may collect until they are read. */
unsigned wtl_python_when_awaits(const struct wtl_python_when *when);
/* A sample was merged; is_known: its stack is. true: readings since apart_ns are not for samples after back_ns. */
bool wtl_python_when_merged(struct wtl_python_when *when, bool is_known, int64_t t_ns);
/* A reading was made at now_ns, and the thread moved in n_moves of its tries. Returns the same. */
bool wtl_python_when_read(struct wtl_python_when *when, unsigned n_moves, int64_t now_ns);

#endif
