/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "meter/calibrated.h"
#include "meter/meter.h"

/* A source that takes longer than this, so many times in a minute, is read on a thread of its own
 * and not waited for during the next minutes: some drivers keep their answer for a second and are slow
 * only when it is old. */
#define SLOW_READ_NS   (20 * WTL_NS_PER_MS)
#define SLOW_READS     3
#define SLOW_PERIOD_NS (60 * WTL_NS_PER_S)
#define SLOW_HOLD_NS   (600 * WTL_NS_PER_S)
/* How long another thread's answer is waited for: longer than a machine that works ever takes. */
#define WAIT_NS (100 * WTL_NS_PER_MS)
/* A source that only confirms another is read this often. */
#define CHECK_PERIOD_NS WTL_NS_PER_S
/* An answer older than this is stale. */
#define STALE_AFTER_NS WTL_NS_PER_S

static int open_source(struct wattle_meter *meter, struct wtl_sensor *sensor,
		       const struct wtl_source_options *options, struct wtl_err *err)
{
	struct wtl_catalog *catalog = &meter->catalog;
	int rc;

	sensor->state = calloc(1, sensor->ops->state_size ? sensor->ops->state_size : 1);
	if (!sensor->state)
		return wtl_err_set(err, ENOMEM, sensor->ops->name, NULL, "out of memory");
	catalog->source = sensor->ops->name;
	catalog->rank = (unsigned)(sensor - meter->sensors);
	sensor->first = catalog->n_channels;
	rc = sensor->ops->open(sensor->state, &meter->env, options, catalog);
	if (rc < 0)
		return wtl_err_set(err, rc, sensor->ops->name, NULL, "%s", wtl_err_text(rc));
	sensor->n = catalog->n_channels - sensor->first;
	wtl_log_line(meter->env.log, WTL_LOG_DEBUG, "%s: %zu channels", sensor->ops->name,
		     sensor->n);
	return 0;
}

static bool may_have_thread(const struct wattle_meter *meter, const struct wtl_sensor *sensor)
{
	return !sensor->ops->answers_at_once && !meter->env.io->has_one_order;
}

int wtl_meter_open_sensors(struct wattle_meter *meter, const struct wtl_source_ops *const sources[],
			   const struct wtl_source_options *options, struct wtl_err *err)
{
	size_t n = 0;

	while (sources[n])
		n++;
	meter->sensors = calloc(n, sizeof(*meter->sensors));
	if (!meter->sensors)
		return wtl_err_set(err, ENOMEM, "meter", NULL, "out of memory");
	for (size_t i = 0; i < n; i++) {
		int rc;

		meter->sensors[i].ops = sources[i];
		meter->n_sensors = i + 1;
		rc = open_source(meter, &meter->sensors[i], options, err);
		if (rc < 0)
			return rc;
	}
	meter->readings = calloc(meter->catalog.n_channels, sizeof(*meter->readings));
	if (!meter->readings)
		return wtl_err_set(err, ENOMEM, "meter", NULL, "out of memory");
	for (size_t i = 0; i < n; i++)
		meter->sensors[i].readings = meter->readings + meter->sensors[i].first;
	return 0;
}

void wtl_meter_guard(struct wattle_meter *meter)
{
	for (size_t i = 0; i < meter->n_sensors; i++) {
		struct wtl_sensor *sensor = &meter->sensors[i];

		if (!sensor->worker && sensor->ops->may_hang && sensor->n > 0 &&
		    may_have_thread(meter, sensor))
			sensor->worker = wtl_source_worker_new(sensor);
	}
}

bool wtl_meter_close_sensors(struct wattle_meter *meter)
{
	bool all_ended = true;

	for (size_t i = 0; i < meter->n_sensors; i++) {
		struct wtl_sensor *sensor = &meter->sensors[i];

		if (!wtl_source_worker_free(sensor->worker)) {
			all_ended = false;
			continue;
		}
		if (sensor->state)
			sensor->ops->close(sensor->state);
		free(sensor->state);
	}
	free(meter->sensors);
	return all_ended;
}

/* Has it been slow too often? */
static void judge_speed(struct wattle_meter *meter, struct wtl_sensor *sensor, int64_t now_ns,
			int64_t took_ns)
{
	if (now_ns - sensor->slow_since_ns > SLOW_PERIOD_NS) {
		sensor->slow_since_ns = now_ns;
		sensor->slow_reads = 0;
	}
	if (++sensor->slow_reads < SLOW_READS)
		return;
	/* Without a thread it stays slow; it is tried again with the next slow read. */
	if (!sensor->worker)
		sensor->worker = wtl_source_worker_new(sensor);
	if (!sensor->worker)
		return;
	sensor->wait_again_ns = now_ns + SLOW_HOLD_NS;
	wtl_log_line(meter->env.log, WTL_LOG_INFO,
		     "%s answers slowly (%lld ms): it is not waited for", sensor->ops->name,
		     (long long)(took_ns / WTL_NS_PER_MS));
}

static int64_t read_worker(struct wattle_meter *meter, struct wtl_sensor *sensor, int64_t now_ns)
{
	int64_t wait_ns = now_ns < sensor->wait_again_ns ? 0 : WAIT_NS;
	int64_t took_ns;
	bool is_new =
		wtl_source_worker_exchange(sensor->worker, wait_ns, sensor->readings, &took_ns);

	if (wait_ns > 0 && took_ns > SLOW_READ_NS)
		judge_speed(meter, sensor, now_ns, took_ns);
	for (size_t i = 0; i < sensor->n && !is_new; i++)
		if (sensor->readings[i].status == WATTLE_STATUS_OK &&
		    now_ns - sensor->readings[i].t_mono_ns > STALE_AFTER_NS)
			sensor->readings[i].status = WATTLE_STATUS_STALE;
	return wait_ns > 0 ? wtl_io_mono_ns(meter->env.io) : now_ns;
}

static int64_t read_sensor(struct wattle_meter *meter, struct wtl_sensor *sensor, int64_t now_ns)
{
	int64_t after_ns;

	if (sensor->n == 0 || (sensor->is_check && now_ns < sensor->next_ns))
		return now_ns;
	sensor->next_ns = now_ns + CHECK_PERIOD_NS;
	if (sensor->worker)
		return read_worker(meter, sensor, now_ns);
	sensor->ops->read(sensor->state, sensor->readings);
	after_ns = wtl_io_mono_ns(meter->env.io);
	if (after_ns - now_ns > SLOW_READ_NS && may_have_thread(meter, sensor))
		judge_speed(meter, sensor, now_ns, after_ns - now_ns);
	return after_ns;
}

int64_t wtl_sensor_read(struct wattle_meter *meter, struct wtl_sensor *sensor, int64_t now_ns)
{
	int64_t after_ns = read_sensor(meter, sensor, now_ns);

	wtl_calibrated_apply(meter->calibrated, sensor->readings, sensor->first, sensor->n);
	return after_ns;
}
