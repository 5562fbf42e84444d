/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_PYTHON_WHEN_H
#define WTL_PROFILE_PYTHON_WHEN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * When Python's frames are read, and where the reader runs. A reading costs the program about as much as ten samples. So
 * some samples come together, and are read once, as long as nearly all of them have a stack that is known by that; else
 * each is read as soon as it is there ("haste"), until the next try.
 *
 * On the thread's processor the reader runs in its place: the thread waits, and what is read is of one moment. Apart from
 * it nobody waits. That is tried from time to time, without haste. A thread of many calls does not keep still for long
 * enough, which shows in how often it has to be read until nothing changes meanwhile. And sometimes that is not noticed: so
 * the readings of such a try are not used again.
 */

enum {
	WTL_PYTHON_HASTE = 256, /* samples before the first try without haste */
	WTL_PYTHON_TOGETHER = 8,
};

struct wtl_python_when {
	/* Samples up to a try without haste, samples of that try, and those of them that no reading fits. */
	unsigned n_hasten, n_tried, n_misfits;
	unsigned haste;	   /* samples between tries */
	unsigned together; /* samples that are read once, without haste */
	bool is_apart;
	int64_t apart_ns;	  /* since when, if it is; or was, the last time */
	unsigned n_apart, n_torn; /* readings of late, and those of them that took more than two */
	unsigned n_good;	  /* tries that went well since is_apart changed */
	unsigned patience;	  /* so many of them, and it is apart again */
};

void wtl_python_when_init(struct wtl_python_when *when);
/* How many samples come together. */
unsigned wtl_python_when_awaits(const struct wtl_python_when *when);
/* A sample was merged; whether its stack is known. true: what was read since apart_ns is not to be used for samples from now on. */
bool wtl_python_when_merged(struct wtl_python_when *when, bool is_known, int64_t t_ns);
/* It was read that often until it was of one moment. The same. */
bool wtl_python_when_read(struct wtl_python_when *when, unsigned n_tries);

#endif
