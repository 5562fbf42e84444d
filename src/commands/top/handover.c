/* SPDX-License-Identifier: MIT */
/* Exchange between the collecting thread and the screen: views, and orders for a recording's play. */
#include <sys/eventfd.h>

#include "base/thread.h"
#include "commands/top/collect.h"
#include "energy/units.h"
#include "report/description.h"

/* A recording's last second may come soon after the one before, and cost more. */
#define SPAN_LEAST_NS (WTL_NS_PER_S / 2)

int64_t wtl_top_screen_ns(void)
{
	return wtl_thread_clock_ns();
}

/* Writes only to the view that the reader does not have. */
void wtl_top_collector_publish(struct wtl_top_collector *collector)
{
	bool is_wanted;

	collector->master.t_mono_ns = wtl_top_screen_ns();
	pthread_mutex_lock(&collector->lock);
	if (wtl_top_view_copy(&collector->views[!collector->shown], &collector->master) == 0)
		collector->is_fresh = true;
	is_wanted = collector->is_fresh && collector->master.t_mono_ns >= collector->wanted_ns;
	if (is_wanted)
		collector->wanted_ns = INT64_MAX;
	pthread_mutex_unlock(&collector->lock);
	if (is_wanted)
		eventfd_write(collector->news, 1);
}

void wtl_top_collector_want(struct wtl_top_collector *collector, int64_t t_ns)
{
	pthread_mutex_lock(&collector->lock);
	collector->wanted_ns = t_ns;
	pthread_mutex_unlock(&collector->lock);
}

const struct wtl_top_view *wtl_top_collector_view(struct wtl_top_collector *collector)
{
	pthread_mutex_lock(&collector->lock);
	if (collector->is_fresh)
		collector->shown = !collector->shown;
	collector->is_fresh = false;
	pthread_mutex_unlock(&collector->lock);
	return &collector->views[collector->shown];
}

void wtl_top_collector_play(struct wtl_top_collector *collector, struct wtl_play *ret_play)
{
	pthread_mutex_lock(&collector->lock);
	*ret_play = collector->play;
	pthread_mutex_unlock(&collector->lock);
}

void wtl_top_collector_order(struct wtl_top_collector *collector,
			     const struct wtl_play_order *order)
{
	pthread_mutex_lock(&collector->lock);
	wtl_play_order(&collector->play, order, wtl_top_screen_ns());
	pthread_cond_broadcast(&collector->changed);
	pthread_mutex_unlock(&collector->lock);
}

void wtl_top_self_take(struct wtl_top_view *view, const struct wattle_meter *meter, int64_t now_ns,
		       int64_t cpu_ns)
{
	struct wtl_top_self *self = &view->self;
	int64_t span_ns = now_ns - self->since_ns, spent_ns = cpu_ns - self->since_cpu_ns;
	struct wtl_report_self cost;

	if (self->since_ns > 0 && view->played.is_there && span_ns >= 0 && span_ns < SPAN_LEAST_NS)
		return;
	if (self->since_ns > 0 && span_ns > 0 && spent_ns >= 0) {
		wtl_describe_cost(meter, spent_ns, &cost);
		self->cpu_ppm = (uint32_t)(1e6 * (double)spent_ns / (double)span_ns);
		self->has_power = cost.has_energy;
		self->power_uw = (uint64_t)(1e9 * (double)cost.energy_uj / (double)span_ns);
	}
	self->since_ns = now_ns;
	self->since_cpu_ns = cpu_ns;
}
