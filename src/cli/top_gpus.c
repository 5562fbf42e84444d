/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/top_collect.h"
#include "energy/units.h"
#include "meter/meter.h"

#define PERIOD_NS WTL_NS_PER_S
#define LEAVE_NS  (WTL_NS_PER_S / 2)

/* PCIe throughput may take 40 ms a GPU. */
enum { PCIE_EVERY = 2 };

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * WTL_NS_PER_S + now.tv_nsec;
}

static struct timespec after(int64_t delay_ns)
{
	int64_t t_ns = now_ns() + delay_ns;

	return (struct timespec){.tv_sec = (time_t)(t_ns / WTL_NS_PER_S),
				 .tv_nsec = (long)(t_ns % WTL_NS_PER_S)};
}

/* Reads without the lock, and puts the answers behind it. */
static int read_once(struct wtl_top_gpus *gpus)
{
	unsigned what = WTL_GPU_READ_NUMBERS;
	const struct wtl_gpu *answers;
	struct wtl_gpu *grown;
	size_t n;

	if (!gpus->reader &&
	    wtl_gpu_reader_new(&gpus->env, &gpus->options, &gpus->reader, NULL) < 0)
		return -ENOMEM;
	if (gpus->n_reads++ % PCIE_EVERY == 1)
		what |= WTL_GPU_READ_PCIE;
	wtl_gpu_reader_read(gpus->reader, what);
	answers = wtl_gpu_reader_gpus(gpus->reader, &n);
	pthread_mutex_lock(&gpus->lock);
	grown = n > gpus->n ? reallocarray(gpus->gpus, n, sizeof(*grown)) : gpus->gpus;
	if (grown || n == 0) {
		gpus->gpus = grown;
		gpus->n = n;
		for (size_t i = 0; i < n; i++) {
			grown[i] = answers[i];
			grown[i].processes = NULL;
			grown[i].n_processes = 0;
		}
		gpus->answered_ns = now_ns();
	}
	pthread_mutex_unlock(&gpus->lock);
	return 0;
}

static void *ask(void *argument)
{
	struct wtl_top_gpus *gpus = argument;

	while (read_once(gpus) == 0) {
		struct timespec until = after(PERIOD_NS);
		bool stop;

		pthread_mutex_lock(&gpus->lock);
		while (!gpus->stop &&
		       pthread_cond_timedwait(&gpus->changed, &gpus->lock, &until) != ETIMEDOUT)
			continue;
		stop = gpus->stop;
		pthread_mutex_unlock(&gpus->lock);
		if (stop)
			break;
	}
	wtl_gpu_reader_free(gpus->reader);
	gpus->reader = NULL;
	pthread_mutex_lock(&gpus->lock);
	gpus->is_over = true;
	pthread_cond_signal(&gpus->changed);
	pthread_mutex_unlock(&gpus->lock);
	return NULL;
}

static void init_lock(struct wtl_top_gpus *gpus)
{
	pthread_condattr_t attributes;

	pthread_mutex_init(&gpus->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&gpus->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

int wtl_top_gpus_init(struct wtl_top_gpus *gpus, const struct wtl_settings *settings,
		      struct wattle_meter *meter)
{
	bool is_real = !settings->tape && !settings->tape_record && !settings->fault;
	int rc;

	memset(gpus, 0, sizeof(*gpus));
	init_lock(gpus);
	gpus->env = meter->env;
	gpus->options.nvml_path = settings->nvml_path;
	gpus->options.machine = &meter->machine;
	/* A tape, or whoever counts calls, has one order of reading. */
	if (!is_real)
		return 0;
	rc = wtl_io_real_new(settings->root, &gpus->own_io, NULL);
	if (rc < 0)
		return rc;
	gpus->env.io = gpus->own_io;
	gpus->env.log = NULL;
	rc = wtl_thread_start(&gpus->thread, ask, gpus);
	gpus->has_thread = rc == 0;
	return rc;
}

/* Waits for the thread, but not for a driver that never answers. */
static bool stop_thread(struct wtl_top_gpus *gpus)
{
	struct timespec until = after(LEAVE_NS);
	bool is_over;

	pthread_mutex_lock(&gpus->lock);
	gpus->stop = true;
	pthread_cond_signal(&gpus->changed);
	while (!gpus->is_over &&
	       pthread_cond_timedwait(&gpus->changed, &gpus->lock, &until) != ETIMEDOUT)
		continue;
	is_over = gpus->is_over;
	pthread_mutex_unlock(&gpus->lock);
	if (is_over)
		pthread_join(gpus->thread, NULL);
	else
		pthread_detach(gpus->thread);
	return is_over;
}

bool wtl_top_gpus_done(struct wtl_top_gpus *gpus)
{
	if (!gpus->env.io)
		return true; /* never begun */
	if (gpus->has_thread && !stop_thread(gpus))
		return false;
	wtl_gpu_reader_free(gpus->reader);
	wtl_io_free(gpus->own_io);
	free(gpus->gpus);
	pthread_cond_destroy(&gpus->changed);
	pthread_mutex_destroy(&gpus->lock);
	memset(gpus, 0, sizeof(*gpus));
	return true;
}

void wtl_top_gpus_join(struct wtl_top_view *view)
{
	for (size_t i = 0; i < view->n_domains; i++) {
		struct wtl_top_domain *domain = &view->domains[i];

		domain->gpu = -1;
		for (size_t k = 0; k < view->n_gpus && domain->kind == WATTLE_KIND_GPU; k++) {
			const struct wtl_gpu *gpu = &view->gpus[k];

			if (strcmp(gpu->domain, domain->name) != 0)
				continue;
			domain->gpu = (int)k;
			domain->limit_uw = gpu->numbers[WTL_GPU_LIMIT_UW].status == WATTLE_STATUS_OK
						   ? gpu->numbers[WTL_GPU_LIMIT_UW].value
						   : 0;
		}
	}
}

void wtl_top_gpus_take(struct wtl_top_gpus *gpus, struct wtl_top_view *view)
{
	if (!gpus->has_thread)
		read_once(gpus);
	pthread_mutex_lock(&gpus->lock);
	if (wtl_top_view_reserve(view, 0, gpus->n, 0, 0) == 0) {
		view->n_gpus = gpus->n;
		for (size_t i = 0; i < gpus->n; i++) {
			view->gpus[i] = gpus->gpus[i];
			view->gpu_answered_ns[i] = gpus->answered_ns;
		}
	}
	pthread_mutex_unlock(&gpus->lock);
	wtl_top_gpus_join(view);
}
