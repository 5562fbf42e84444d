/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "base/thread.h"
#include "meter/attached.h"
#include "meter/meter.h"

/* Samples on an absolute timer: no drift. Misses are skipped and counted, never made up for. */
static void *sample(void *argument)
{
	struct wattle_meter *meter = argument;
	int64_t due_ns = wtl_io_mono_ns(meter->env.io) + meter->interval_ns;

	pthread_mutex_lock(&meter->lock);
	while (!meter->stop) {
		int64_t began_ns, behind;

		if (wtl_thread_wait(&meter->stop_changed, &meter->lock, due_ns))
			continue;
		began_ns = wtl_meter_sample(meter);
		wtl_attached_tick(meter);
		if (began_ns - due_ns > meter->interval_ns / 2)
			meter->self.late_ticks++;
		behind = (began_ns - due_ns) / meter->interval_ns;
		due_ns += (1 + (behind > 0 ? behind : 0)) * meter->interval_ns;
	}
	pthread_mutex_unlock(&meter->lock);
	return NULL;
}

int wtl_meter_start_sampler(struct wattle_meter *meter)
{
	int rc = wtl_thread_start(&meter->sampler, sample, meter);

	meter->has_sampler = rc == 0;
	return rc;
}

void wtl_meter_stop_sampler(struct wattle_meter *meter)
{
	if (!meter->has_sampler)
		return;
	pthread_mutex_lock(&meter->lock);
	meter->stop = true;
	pthread_cond_signal(&meter->stop_changed);
	pthread_mutex_unlock(&meter->lock);
	pthread_join(meter->sampler, NULL);
}
