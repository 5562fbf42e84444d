/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_LOOKS_H
#define WTL_PROFILE_LOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/ring.h"

/*
 * A program's threads where the kernel gives no samples: each is looked at in /proc so many times a second. What it has
 * used since the last look is a slice on a processor, and a sample without registers: of Python, functions can be read
 * then; of native code nothing is known. The kernel updates these times once a tick (1 to 10 ms). Nothing is stopped.
 */

enum { WTL_LOOKS_HZ_MOST = 250 };

struct wtl_looks;

struct wtl_looks *wtl_looks_new(unsigned hz); /* NULL: no memory */
void wtl_looks_free(struct wtl_looks *looks); /* NULL is fine */
/* Before the command starts: its orphans become children of this process, which is their subreaper, and are followed. */
void wtl_looks_adopt(struct wtl_looks *looks);
/*
 * From the next look on, that process and its descendants. What it has used so far counts, unless it runs already.
 * 0; -ESRCH; or -EACCES or -EPERM: it is another user's.
 */
int wtl_looks_add(struct wtl_looks *looks, int pid, bool runs_already);
uint64_t wtl_looks_n_followed(const struct wtl_looks *looks); /* processes, so far */
/*
 * Calls back as rings do: glance() as soon as a sample is there, take() for each event. How long to wait until the next
 * look: more where nothing ran, or where a look takes long.
 */
int64_t wtl_looks_look(struct wtl_looks *looks,
		       void (*take_glance)(void *context, const struct wtl_ring_glance *glance),
		       void (*take)(void *context, const struct wtl_ring_event *event),
		       void *context);

#endif
