/* SPDX-License-Identifier: MIT */
#ifndef WTL_METER_GPU_WATCH_H
#define WTL_METER_GPU_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "workload/gpu_use.h"

/* Looks at who uses the GPUs by a worker (base/worker.h), for drivers take their time. */
struct wtl_gpu_watch;

/* `use` becomes the watch's, also on failure. Where the io has one order, looks are taken by the
 * caller. 0 or -ENOMEM and the like. */
int wtl_gpu_watch_new(struct wtl_io *io, struct wtl_gpu_use *use, struct wtl_gpu_watch **ret_watch);
/* NULL is fine. A scan that is stuck in the driver is left behind with all that it uses; then the io
 * must outlive it, and this returns false. */
bool wtl_gpu_watch_free(struct wtl_gpu_watch *watch);

/* Asks, and does not wait: other work is done meanwhile. NULL is fine. */
void wtl_gpu_watch_ask(struct wtl_gpu_watch *watch);
/* Takes the answer if it comes within 20 ms; else (and at once from a driver that has been slower than
 * that) the newest answer to an earlier call, if there is one since the last one. */
void wtl_gpu_watch_take(struct wtl_gpu_watch *watch);

/* The newest answer taken, as wtl_gpu_use_gpus(): until the next call of either. Before the first one no
 * GPU has a method. */
const struct wtl_gpu_use_gpu *wtl_gpu_watch_gpus(const struct wtl_gpu_watch *watch, size_t *ret_n);

#endif
