/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/abi.h"
#include "base/err.h"
#include "base/text.h"
#include "base/thread.h"
#include "energy/carbon.h"
#include "energy/statistics.h"
#include "meter/attached.h"
#include "meter/calibrated.h"
#include "meter/meter.h"

enum { WINDOWS_DEFAULT = 64, WINDOWS_MAX = 65536 };

const char *wattle_version(void)
{
	return WATTLE_VERSION;
}

static void forward_log(void *context, enum wtl_log_level level, const char *text)
{
	static const enum wattle_log_level levels[] = {
		[WTL_LOG_WARNING] = WATTLE_LOG_WARNING,
		[WTL_LOG_INFO] = WATTLE_LOG_INFO,
		[WTL_LOG_DEBUG] = WATTLE_LOG_DEBUG,
	};
	const struct wattle_options *options = context;

	if (level != WTL_LOG_WARNING && options->log_warnings_only)
		return;
	options->log(options->log_context, levels[level], text);
}

/* A tape is replayed with the list that it was recorded with, if it has one. Room for `size` bytes in text[]. */
static const char *choose_gpus(const struct wattle_meter *meter, char text[], size_t size)
{
	const char *list = meter->options.gpus;

	if ((!list && !meter->options.tape) || (list && strlen(list) >= size))
		return list;
	wtl_text_copy(text, size, list);
	return wtl_io_note(meter->env.io, "gpus", text, size) == 1 ? text : list;
}

static int build(struct wattle_meter *meter, const struct wtl_source_ops *const sources[],
		 struct wtl_err *err)
{
	char gpus[4096];
	const struct wtl_source_options options = {
		.nvml_path = meter->options.nvml_path,
		.gpus = choose_gpus(meter, gpus, sizeof(gpus)),
		.machine = &meter->machine,
	};
	uint32_t n_windows = meter->options.max_windows;
	int rc;

	if (n_windows > WINDOWS_MAX)
		return wtl_err_set(err, EINVAL, "meter", NULL, "max_windows is above %d",
				   WINDOWS_MAX);
	if (meter->options.nvml_path) {
		meter->nvml_path = strdup(meter->options.nvml_path);
		if (!meter->nvml_path)
			return wtl_err_set(err, ENOMEM, "meter", NULL, "out of memory");
	}
	rc = wtl_machine_read(meter->env.io, &meter->machine);
	if (rc < 0)
		return wtl_err_set(err, rc, "meter", NULL, "%s", wtl_err_text(rc));
	rc = wtl_meter_open_sensors(meter, sources, &options, err);
	if (rc < 0)
		return rc;
	rc = wtl_meter_open_domains(meter);
	if (rc == 0)
		rc = wtl_meter_open_windows(meter, (n_windows ? n_windows : WINDOWS_DEFAULT) +
							   (meter->options.attribution ? 1 : 0));
	if (rc < 0)
		return wtl_err_set(err, rc, "meter", NULL, "%s", wtl_err_text(rc));
	wtl_meter_sample(meter);
	rc = meter->options.attribution ? wtl_attached_open(meter, err) : 0;
	/* The caller's memory: not needed any more. */
	meter->options.nvml_path = meter->options.idle_file = NULL;
	meter->options.tape = meter->options.gpus = NULL;
	return rc;
}

int wtl_meter_new_from(const struct wtl_env *env, const struct wattle_options *options,
		       const struct wtl_source_ops *const sources[],
		       struct wattle_meter **ret_meter, struct wtl_err *err)
{
	struct wattle_meter *meter = calloc(1, sizeof(*meter));
	int rc;

	if (!meter) {
		wtl_io_free(env->io);
		return wtl_err_set(err, ENOMEM, "meter", NULL, "out of memory");
	}
	wtl_thread_mutex_init(&meter->lock);
	wtl_thread_mutex_init(&meter->gpus_lock);
	wtl_thread_cond_init(&meter->stop_changed);
	meter->env = *env;
	meter->options = *options;
	if (options->log) {
		meter->log = (struct wtl_log){.line = forward_log, .context = &meter->options};
		meter->env.log = &meter->log;
	}
	rc = build(meter, sources, err);
	if (rc < 0) {
		wattle_meter_close(meter);
		return rc;
	}
	*ret_meter = meter;
	return 0;
}

int wtl_meter_new(const struct wtl_env *env, const struct wattle_options *options,
		  struct wattle_meter **ret_meter, struct wtl_err *err)
{
	return wtl_meter_new_from(env, options, wtl_sources, ret_meter, err);
}

static int check_options(const struct wattle_options *options, struct wtl_err *err)
{
	if (options->tape && options->root)
		return wtl_err_set(err, EINVAL, "meter", NULL, "tape and root exclude each other");
	if (options->tape && options->interval_ms)
		return wtl_err_set(err, EINVAL, "meter", NULL,
				   "a tape has times of its own: interval_ms must be 0, and "
				   "wattle_meter_tick() goes on to the next");
	return 0;
}

static int open_io(const struct wattle_options *options, struct wtl_io **ret_io,
		   struct wtl_err *err)
{
	if (options->tape)
		return wtl_io_replay_new(options->tape, ret_io, err);
	return wtl_io_real_new(options->root, ret_io, err);
}

static int open_meter(const struct wattle_options *options, struct wattle_meter **ret_meter,
		      struct wtl_err *err)
{
	struct wattle_meter *meter = NULL;
	struct wattle_options own;
	struct wtl_env env = {.log = NULL};
	int rc = wtl_abi_take(options, &own, sizeof(own));

	if (rc < 0)
		return wtl_err_set(err, rc, "meter", NULL,
				   rc == -E2BIG
					   ? "the options ask for what this version does not know"
					   : "options.size must be sizeof(struct wattle_options)");
	rc = check_options(&own, err);
	if (rc == 0)
		rc = open_io(&own, &env.io, err);
	if (rc == 0)
		rc = wtl_meter_new(&env, &own, &meter, err);
	if (rc < 0)
		return rc;
	meter->is_tape = own.tape != NULL;
	meter->interval_ns = (int64_t)own.interval_ms * WTL_NS_PER_MS;
	rc = own.interval_ms ? wtl_meter_start_sampler(meter) : 0;
	if (rc < 0) {
		wattle_meter_close(meter);
		return wtl_err_set(err, rc, "meter", NULL, "cannot start the sampling thread: %s",
				   wtl_err_text(rc));
	}
	*ret_meter = meter;
	return 0;
}

int wattle_meter_open(const struct wattle_options *options, struct wattle_meter **ret_meter,
		      struct wattle_error *reterr)
{
	struct wtl_err err = {.code = 0};
	int rc;

	if (!ret_meter || !wtl_abi_is_sized(reterr))
		return -EINVAL;
	rc = open_meter(options, ret_meter, &err);
	if (rc < 0)
		wtl_err_hand_over(&err, reterr);
	return rc;
}

void wattle_meter_close(struct wattle_meter *meter)
{
	bool io_unused;

	if (!meter)
		return;
	wtl_meter_stop_sampler(meter);
	wtl_attached_close(meter);
	wtl_meter_close_gpus(meter);
	io_unused = wtl_meter_close_sensors(meter) && !meter->io_lent;
	wtl_calibrated_free(meter->calibrated);
	free(meter->sensed);
	if (io_unused) {
		wtl_io_free(meter->env.io);
		free(meter->nvml_path);
	}
	wtl_meter_close_windows(meter);
	wtl_catalog_done(&meter->catalog);
	free(meter->readings);
	free(meter->accounts);
	free(meter->integrals);
	free(meter->domains);
	pthread_cond_destroy(&meter->stop_changed);
	pthread_mutex_destroy(&meter->lock);
	pthread_mutex_destroy(&meter->gpus_lock);
	free(meter->fed);
	free(meter);
}

int wattle_meter_tick(struct wattle_meter *meter)
{
	int rc = 0;

	if (meter->fed)
		return -ENOTSUP;
	pthread_mutex_lock(&meter->lock);
	if (meter->is_tape)
		rc = wtl_io_wait_until(meter->env.io, INT64_MAX);
	if (rc == 0) {
		wtl_meter_sample(meter);
		wtl_attached_tick(meter);
	}
	pthread_mutex_unlock(&meter->lock);
	return rc == -WTL_ETAPE_END ? -ENODATA : rc;
}

int wattle_meter_self(struct wattle_meter *meter, struct wattle_self *ret_self)
{
	if (!wtl_abi_is_sized(ret_self))
		return -EINVAL;
	pthread_mutex_lock(&meter->lock);
	wtl_abi_give(ret_self, &meter->self, sizeof(*ret_self));
	pthread_mutex_unlock(&meter->lock);
	return 0;
}

int wtl_meter_self(struct wattle_meter *meter, struct wattle_self *ret_self)
{
	ret_self->size = sizeof(*ret_self);
	return wattle_meter_self(meter, ret_self);
}

int wattle_carbon_find(const char *location, struct wattle_carbon *ret_carbon)
{
	struct wtl_carbon_intensity found;
	struct wattle_carbon carbon = {.year = 0};
	int rc = wtl_abi_is_sized(ret_carbon) ? wtl_carbon_find(location, &found) : -EINVAL;

	if (rc < 0)
		return rc;
	carbon.intensity_mg_per_kwh = found.intensity_mg_per_kwh;
	carbon.year = (uint32_t)found.year;
	carbon.uncertainty_ppm = (uint32_t)(found.rel_uncertainty * 1e6 + 0.5);
	wtl_text_copy(carbon.location, sizeof(carbon.location), found.location);
	wtl_text_copy(carbon.dataset, sizeof(carbon.dataset), found.dataset);
	wtl_text_copy(carbon.place, sizeof(carbon.place), found.place);
	wtl_abi_give(ret_carbon, &carbon, sizeof(carbon));
	return 0;
}

int wtl_meter_carbon(const char *location, struct wattle_carbon *ret_carbon)
{
	ret_carbon->size = sizeof(*ret_carbon);
	return wattle_carbon_find(location, ret_carbon);
}

uint64_t wattle_carbon_ug(const struct wattle_carbon *carbon, uint64_t energy_uj)
{
	uint64_t intensity = carbon->intensity_mg_per_kwh;

	return wtl_carbon_co2e_ug(energy_uj,
				  intensity < UINT32_MAX ? (uint32_t)intensity : UINT32_MAX);
}

double wattle_carbon_uncertainty_ug(const struct wattle_carbon *carbon, uint64_t energy_uj,
				    uint64_t uncertainty_uj)
{
	double of_energy = (double)uncertainty_uj * (double)carbon->intensity_mg_per_kwh / 3.6e9;
	double of_intensity =
		2.0 * carbon->uncertainty_ppm / 1e6 * (double)wattle_carbon_ug(carbon, energy_uj);

	return hypot(of_energy, of_intensity);
}

int wattle_mean_of(const double values[], size_t n, struct wattle_mean *ret_mean)
{
	struct wtl_statistics statistics;

	if (n == 0 || !ret_mean || !wtl_abi_is_sized(ret_mean))
		return -EINVAL;
	wtl_statistics_of(values, n, &statistics);
	wtl_abi_give(ret_mean,
		     &(struct wattle_mean){.n = n,
					   .mean = statistics.mean,
					   .sd = statistics.sd,
					   .ci95 = statistics.ci95},
		     sizeof(*ret_mean));
	return 0;
}
