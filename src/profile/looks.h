/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_LOOKS_H
#define WTL_PROFILE_LOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/ring.h"

/*
 * Follows a program's threads where the kernel gives no samples: reads each from /proc, hz times a second. The CPU time
 * since the last look becomes a slice on a processor and a sample without registers. Python functions can be read then;
 * of native code nothing is known. The kernel updates CPU times once a tick (1 to 10 ms). Nothing is stopped.
 */

enum { WTL_LOOKS_HZ_MOST = 250 };

struct wtl_looks;

struct wtl_looks *wtl_looks_new(unsigned hz); /* NULL: no memory */
void wtl_looks_free(struct wtl_looks *looks); /* NULL is fine */
/* Call before the command starts: its orphans become children of this process, their subreaper, and are followed. */
void wtl_looks_adopt(struct wtl_looks *looks);
/*
 * Follows a process and its descendants from the next look on. CPU time used so far counts, unless runs_already. 0;
 * -ESRCH; -EACCES or -EPERM: it is another user's.
 */
int wtl_looks_add(struct wtl_looks *looks, int pid, bool runs_already);
uint64_t wtl_looks_n_followed(const struct wtl_looks *looks); /* processes, so far */
/*
 * Looks at all threads. Calls back like rings: take_glance() as soon as there is a sample, take() for each event.
 * Returns the ns to wait until the next look: more if nothing ran, or if a look takes long.
 */
int64_t wtl_looks_look(struct wtl_looks *looks,
		       void (*take_glance)(void *context, const struct wtl_ring_glance *glance),
		       void (*take)(void *context, const struct wtl_ring_event *event),
		       void *context);

#endif
