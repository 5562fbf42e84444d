/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "base/worker.h"
#include "energy/units.h"
#include "meter/meter.h"

/* How long closing waits for a read that is under way. */
#define STUCK_AFTER_NS (2 * WTL_NS_PER_S)

struct wtl_source_worker {
	struct wtl_worker *worker;
	const struct wtl_source_ops *ops;
	void *state;
	size_t n;
	struct wtl_reading *answer; /* n */
	int64_t took_ns;
};

static void read_source(void *argument)
{
	struct wtl_source_worker *source = argument;
	int64_t begin_ns = wtl_thread_clock_ns();

	source->ops->read(source->state, source->answer);
	source->took_ns = wtl_thread_clock_ns() - begin_ns;
}

static void destroy(struct wtl_source_worker *source)
{
	free(source->answer);
	free(source);
}

struct wtl_source_worker *wtl_source_worker_new(const struct wtl_sensor *sensor)
{
	struct wtl_source_worker *source = calloc(1, sizeof(*source));

	if (!source)
		return NULL;
	source->ops = sensor->ops;
	source->state = sensor->state;
	source->n = sensor->n;
	source->answer = calloc(sensor->n, sizeof(*source->answer));
	/* Begins with the source's last readings: a read may leave them as they are. */
	if (source->answer)
		memcpy(source->answer, sensor->readings, sensor->n * sizeof(*source->answer));
	if (!source->answer || wtl_worker_new(read_source, NULL, source, &source->worker) < 0) {
		destroy(source);
		return NULL;
	}
	return source;
}

bool wtl_source_worker_free(struct wtl_source_worker *source)
{
	if (!source)
		return true;
	if (!wtl_worker_free(source->worker, STUCK_AFTER_NS))
		return false;
	destroy(source);
	return true;
}

static bool take(struct wtl_source_worker *source, int64_t wait_ns, struct wtl_reading readings[],
		 int64_t *ret_took_ns)
{
	if (!wtl_worker_take(source->worker, wait_ns))
		return false;
	memcpy(readings, source->answer, source->n * sizeof(*readings));
	*ret_took_ns = source->took_ns;
	return true;
}

bool wtl_source_worker_exchange(struct wtl_source_worker *source, int64_t wait_ns,
				struct wtl_reading readings[], int64_t *ret_took_ns)
{
	bool is_new;

	*ret_took_ns = 0;
	if (wait_ns <= 0) {
		is_new = take(source, 0, readings, ret_took_ns);
		wtl_worker_order(source->worker);
		return is_new;
	}
	/* One that came too late to be waited for is lost: there is a newer one in a moment. */
	if (!wtl_worker_order(source->worker))
		return false;
	*ret_took_ns = wait_ns;
	return take(source, wait_ns, readings, ret_took_ns);
}
