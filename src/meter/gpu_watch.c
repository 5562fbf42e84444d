/* SPDX-License-Identifier: MIT */
#include "meter/gpu_watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/text.h"
#include "energy/units.h"
#include "meter/meter.h"

/* How long closing waits for a look that is under way. */
#define STUCK_AFTER_S 2

/* How long an exchange waits for its own answer, and from drivers that are slower (judgement) it takes
 * the one before: lists of processes take NVML 0.1 to 5 ms. */
#define ANSWER_NS (20 * WTL_NS_PER_MS)

/* One answer: a copy of what the use says. */
struct answer {
	struct wtl_gpu_use_gpu *gpus;
	struct wtl_gpu_use_process *processes; /* of all GPUs, one after the other */
	size_t room;
};

struct wtl_gpu_watch {
	struct wtl_io *io;
	struct wtl_gpu_use *use; /* the thread's, where there is one */
	size_t n;
	struct answer mailbox; /* under the lock */
	struct answer taken;   /* the caller's */

	bool in_thread;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wanted, given;
	bool asked, answered, stop;
	bool is_slow; /* the newest look took too long to be waited for */
};

static int answer_init(struct answer *answer, const struct wtl_gpu_use_gpu gpus[], size_t n)
{
	answer->gpus = calloc(n + 1, sizeof(*answer->gpus));
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

static void *watch_gpus(void *argument)
{
	struct wtl_gpu_watch *watch = argument;
	bool is_first = true;

	pthread_mutex_lock(&watch->lock);
	while (!watch->stop) {
		int64_t begin_ns;
		size_t n;

		if (!watch->asked) {
			pthread_cond_wait(&watch->wanted, &watch->lock);
			continue;
		}
		pthread_mutex_unlock(&watch->lock);
		begin_ns = wtl_io_mono_ns(watch->io);
		wtl_gpu_use_tick(watch->use, begin_ns);
		pthread_mutex_lock(&watch->lock);
		answer_copy(&watch->mailbox, wtl_gpu_use_gpus(watch->use, &n), watch->n);
		watch->asked = false;
		watch->answered = true;
		/* The first one starts the driver's library. */
		watch->is_slow = !is_first && wtl_io_mono_ns(watch->io) - begin_ns > ANSWER_NS;
		is_first = false;
		pthread_cond_signal(&watch->given);
	}
	pthread_mutex_unlock(&watch->lock);
	return NULL;
}

static void destroy(struct wtl_gpu_watch *watch)
{
	pthread_cond_destroy(&watch->wanted);
	pthread_cond_destroy(&watch->given);
	pthread_mutex_destroy(&watch->lock);
	wtl_gpu_use_free(watch->use);
	answer_done(&watch->mailbox);
	answer_done(&watch->taken);
	free(watch);
}

static void init_lock(struct wtl_gpu_watch *watch)
{
	pthread_condattr_t monotonic;

	pthread_mutex_init(&watch->lock, NULL);
	pthread_cond_init(&watch->wanted, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&watch->given, &monotonic);
	pthread_condattr_destroy(&monotonic);
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
	watch->in_thread = !io->has_one_order;
	init_lock(watch);
	gpus = wtl_gpu_use_gpus(use, &watch->n);
	rc = answer_init(&watch->mailbox, gpus, watch->n);
	if (rc == 0)
		rc = answer_init(&watch->taken, gpus, watch->n);
	if (rc == 0 && watch->in_thread)
		rc = wtl_thread_start(&watch->thread, watch_gpus, watch);
	if (rc < 0) {
		destroy(watch);
		return rc;
	}
	*ret_watch = watch;
	return 0;
}

bool wtl_gpu_watch_free(struct wtl_gpu_watch *watch)
{
	struct timespec until;

	if (!watch)
		return true;
	if (watch->in_thread) {
		pthread_mutex_lock(&watch->lock);
		watch->stop = true;
		pthread_cond_signal(&watch->wanted);
		pthread_mutex_unlock(&watch->lock);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += STUCK_AFTER_S;
		if (pthread_timedjoin_np(watch->thread, NULL, &until) != 0) {
			pthread_detach(watch->thread);
			return false;
		}
	}
	destroy(watch);
	return true;
}

/* Under the lock. */
static void wait_for_answer(struct wtl_gpu_watch *watch)
{
	struct timespec until;
	int64_t until_ns;
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until_ns = until.tv_nsec + ANSWER_NS;
	until.tv_sec += (time_t)(until_ns / WTL_NS_PER_S);
	until.tv_nsec = (long)(until_ns % WTL_NS_PER_S);
	while (!watch->answered && rc == 0)
		rc = pthread_cond_timedwait(&watch->given, &watch->lock, &until);
}

void wtl_gpu_watch_exchange(struct wtl_gpu_watch *watch)
{
	size_t n;

	if (!watch->in_thread) {
		wtl_gpu_use_tick(watch->use, wtl_io_mono_ns(watch->io));
		answer_copy(&watch->taken, wtl_gpu_use_gpus(watch->use, &n), watch->n);
		return;
	}
	pthread_mutex_lock(&watch->lock);
	/* An answer that came too late for its own exchange is taken if nothing newer will come. */
	if (watch->answered)
		answer_copy(&watch->taken, watch->mailbox.gpus, watch->n);
	watch->answered = false;
	if (!watch->asked) {
		watch->asked = true;
		pthread_cond_signal(&watch->wanted);
		if (!watch->is_slow)
			wait_for_answer(watch);
		if (watch->answered)
			answer_copy(&watch->taken, watch->mailbox.gpus, watch->n);
		watch->answered = false;
	}
	pthread_mutex_unlock(&watch->lock);
}

const struct wtl_gpu_use_gpu *wtl_gpu_watch_gpus(const struct wtl_gpu_watch *watch, size_t *ret_n)
{
	*ret_n = watch->n;
	return watch->taken.gpus;
}
