/* SPDX-License-Identifier: MIT */
#include "meter/gpu_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "base/thread.h"
#include "base/worker.h"
#include "energy/units.h"

/* How long closing waits for a scan that is under way. */
#define STUCK_AFTER_NS (2 * WTL_NS_PER_S)

/* How long taking waits for the answer (judgement). From slower drivers it takes the answer before:
 * lists of processes take NVML 0.1 to 5 ms. */
#define ANSWER_NS (20 * WTL_NS_PER_MS)

/* A copy of what the use says. */
struct answer {
	struct wtl_gpu_use_gpu *gpus;
	struct wtl_gpu_use_process *processes; /* of all GPUs, one after the other */
	size_t room;
};

struct wtl_gpu_watch {
	struct wtl_worker *worker; /* NULL: the caller looks */
	struct wtl_io *io;

	/* The job's memory. */
	struct wtl_gpu_use *use;
	int64_t took_ns; /* the newest scan */

	/* Monotonic. The caller sets it, perhaps while a scan is under way. */
	_Atomic int64_t asked_ns;

	/* The caller's. */
	size_t n;
	struct answer taken;
	bool is_asked;		    /* a scan was ordered when it was last asked */
	bool was_answered, is_slow; /* the newest scan took too long to be waited for */
};

static int answer_init(struct answer *answer, const struct wtl_gpu_use_gpu gpus[], size_t n)
{
	answer->gpus = calloc(n, sizeof(*answer->gpus));
	if (!answer->gpus)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		memcpy(answer->gpus[i].domain, gpus[i].domain, sizeof(gpus[i].domain));
	return 0;
}

static void answer_done(struct answer *answer)
{
	free(answer->gpus);
	free(answer->processes);
}

/* Without memory for it, the GPUs have no method. */
static void answer_copy(struct answer *to, const struct wtl_gpu_use_gpu from[], size_t n)
{
	size_t n_processes = 0;
	bool has_room;

	for (size_t i = 0; i < n; i++)
		n_processes += from[i].n_processes;
	has_room = wtl_array_reserve(&to->processes, &to->room, n_processes,
				     sizeof(to->processes[0])) == 0;
	n_processes = 0;
	for (size_t i = 0; i < n; i++) {
		struct wtl_gpu_use_gpu *gpu = &to->gpus[i];

		*gpu = from[i];
		gpu->processes = NULL;
		if (!has_room) {
			gpu->method = WTL_GPU_USE_NONE;
			gpu->n_processes = 0;
			gpu->unseen_weight = 0;
			wtl_text_copy(gpu->reason, sizeof(gpu->reason), "out of memory");
		} else if (gpu->n_processes > 0) {
			gpu->processes = to->processes + n_processes;
			memcpy(to->processes + n_processes, from[i].processes,
			       from[i].n_processes * sizeof(to->processes[0]));
			n_processes += gpu->n_processes;
		}
	}
}

static void look(void *argument)
{
	struct wtl_gpu_watch *watch = argument;
	int64_t begin_ns = wtl_thread_clock_ns();

	wtl_gpu_use_tick(watch->use, watch->asked_ns);
	watch->took_ns = wtl_thread_clock_ns() - begin_ns;
}

static void destroy(struct wtl_gpu_watch *watch)
{
	wtl_gpu_use_free(watch->use);
	answer_done(&watch->taken);
	free(watch);
}

int wtl_gpu_watch_new(struct wtl_io *io, struct wtl_gpu_use *use, struct wtl_gpu_watch **ret_watch)
{
	struct wtl_gpu_watch *watch = calloc(1, sizeof(*watch));
	const struct wtl_gpu_use_gpu *gpus;
	int rc;

	if (!watch) {
		wtl_gpu_use_free(use);
		return -ENOMEM;
	}
	watch->io = io;
	watch->use = use;
	gpus = wtl_gpu_use_gpus(use, &watch->n);
	rc = answer_init(&watch->taken, gpus, watch->n);
	if (rc == 0 && !io->has_one_order)
		rc = wtl_worker_new(look, NULL, watch, &watch->worker);
	if (rc < 0) {
		destroy(watch);
		return rc;
	}
	*ret_watch = watch;
	return 0;
}

bool wtl_gpu_watch_free(struct wtl_gpu_watch *watch)
{
	if (!watch)
		return true;
	if (!wtl_worker_free(watch->worker, STUCK_AFTER_NS))
		return false;
	destroy(watch);
	return true;
}

static void take_answer(struct wtl_gpu_watch *watch)
{
	size_t n;

	answer_copy(&watch->taken, wtl_gpu_use_gpus(watch->use, &n), watch->n);
	/* The first one starts the driver's library. */
	watch->is_slow = watch->was_answered && watch->took_ns > ANSWER_NS;
	watch->was_answered = true;
}

void wtl_gpu_watch_ask(struct wtl_gpu_watch *watch)
{
	if (!watch)
		return;
	watch->asked_ns = wtl_io_mono_ns(watch->io);
	if (!watch->worker)
		return;
	/* An answer that came too late for its own scan is taken if nothing newer will come. */
	if (wtl_worker_take(watch->worker, 0))
		take_answer(watch);
	watch->is_asked = wtl_worker_order(watch->worker);
}

void wtl_gpu_watch_take(struct wtl_gpu_watch *watch)
{
	if (!watch->worker)
		look(watch);
	else if (!watch->is_asked ||
		 !wtl_worker_take(watch->worker, watch->is_slow ? 0 : ANSWER_NS))
		return;
	take_answer(watch);
}

const struct wtl_gpu_use_gpu *wtl_gpu_watch_gpus(const struct wtl_gpu_watch *watch, size_t *ret_n)
{
	*ret_n = watch->n;
	return watch->taken.gpus;
}
