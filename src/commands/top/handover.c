/* SPDX-License-Identifier: MIT */
/* What the collecting thread and the screen hand each other: views, and how a recording is to be played. */
#include "base/thread.h"
#include "commands/top/collect.h"

int64_t wtl_top_screen_ns(void)
{
	return wtl_thread_clock_ns();
}

/* Never waits: the reader has a view of its own, and so has this thread. */
void wtl_top_collector_publish(struct wtl_top_collector *collector)
{
	struct wtl_top_view *back = &collector->views[collector->back];
	unsigned ready;

	collector->master.t_mono_ns = wtl_top_screen_ns();
	if (wtl_top_view_copy(back, &collector->master) < 0)
		return;
	pthread_mutex_lock(&collector->lock);
	ready = collector->ready;
	collector->ready = collector->back;
	collector->back = ready;
	collector->is_fresh = true;
	pthread_mutex_unlock(&collector->lock);
}

const struct wtl_top_view *wtl_top_collector_view(struct wtl_top_collector *collector)
{
	pthread_mutex_lock(&collector->lock);
	if (collector->is_fresh) {
		unsigned front = collector->front;

		collector->front = collector->ready;
		collector->ready = front;
		collector->is_fresh = false;
	}
	pthread_mutex_unlock(&collector->lock);
	return &collector->views[collector->front];
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
	collector->n_orders++;
	pthread_cond_broadcast(&collector->changed);
	pthread_mutex_unlock(&collector->lock);
}
