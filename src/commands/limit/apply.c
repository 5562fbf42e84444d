/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "commands/limit/limit.h"
#include "sensors/gpu_info.h"
#include "wattle.h"

/* The name of a GPU in a hold. */
static const char *id_of(const struct wtl_gpu *gpu)
{
	return gpu->uuid[0] ? gpu->uuid : gpu->bus_id;
}

bool wtl_limit_is_of(const struct wtl_limit_change *change, const struct wtl_gpu *gpu)
{
	return strcmp(change->gpu, id_of(gpu)) == 0 &&
	       (!change->bus[0] || strcmp(change->bus, gpu->bus_id) == 0);
}

static double watts(uint64_t power_uw)
{
	return (double)power_uw / 1e6;
}

static const struct wtl_gpu_value *number(const struct wtl_gpu *gpu, enum wtl_gpu_number which)
{
	return &gpu->numbers[which];
}

/* The limit that was set, not the one in force: another limit may be lower for a while. */
static const struct wtl_gpu_value *limit_of(const struct wtl_gpu *gpu)
{
	const struct wtl_gpu_value *requested = number(gpu, WTL_GPU_LIMIT_REQUESTED_UW);

	return requested->status == WATTLE_STATUS_OK ? requested : number(gpu, WTL_GPU_LIMIT_UW);
}

static uint64_t asked_uw(const struct wtl_app *app, const struct wtl_gpu *gpu)
{
	const struct wtl_limit_settings *settings = app->own;

	return settings->to_default ? number(gpu, WTL_GPU_LIMIT_DEFAULT_UW)->value
				    : settings->power_uw;
}

/* The value that the driver will set: NVML whole milliwatts (nvmlDeviceSetPowerManagementLimit), amdgpu whole
 * watts (power1_cap cuts off the rest). The note holds this value before it is set. */
static uint64_t wanted_uw(const struct wtl_app *app, const struct wtl_gpu *gpu)
{
	uint64_t power_uw = asked_uw(app, gpu);

	if (strcmp(gpu->vendor, "nvidia") == 0)
		return power_uw - power_uw % 1000;
	return strcmp(gpu->vendor, "amd") == 0 ? power_uw - power_uw % 1000000 : power_uw;
}

static int check_power(struct wtl_app *app, const struct wtl_gpu *gpu)
{
	const struct wtl_gpu_value *least = number(gpu, WTL_GPU_LIMIT_MIN_UW);
	const struct wtl_gpu_value *most = number(gpu, WTL_GPU_LIMIT_MAX_UW);
	const struct wtl_limit_settings *settings = app->own;
	uint64_t power_uw;

	if (limit_of(gpu)->status != WATTLE_STATUS_OK ||
	    (settings->to_default &&
	     number(gpu, WTL_GPU_LIMIT_DEFAULT_UW)->status != WATTLE_STATUS_OK)) {
		wtl_complain(app, "GPU %u (%s) has no power limit that can be set", gpu->index,
			     gpu->name);
		return -EOPNOTSUPP;
	}
	power_uw = wanted_uw(app, gpu);
	if (least->status != WATTLE_STATUS_OK || most->status != WATTLE_STATUS_OK) {
		if (power_uw > 0)
			return 0;
		wtl_complain(app, "GPU %u (%s) takes whole watts", gpu->index, gpu->name);
		return -ERANGE;
	}
	if (power_uw > 0 && power_uw >= least->value && power_uw <= most->value)
		return 0;
	wtl_complain(app, "GPU %u (%s) takes %.2f to %.2f W, not %.2f W", gpu->index, gpu->name,
		     watts(least->value), watts(most->value), watts(asked_uw(app, gpu)));
	return -ERANGE;
}

static int check_gpu(struct wtl_app *app, const struct wtl_gpu *gpu)
{
	const struct wtl_limit_settings *settings = app->own;

	if (gpu->status != WATTLE_STATUS_OK) {
		wtl_complain(app, "GPU %u (%s): %s", gpu->index, gpu->name,
			     gpu->trouble[0] ? gpu->trouble : wattle_status_name(gpu->status));
		return -ENODEV;
	}
	if (!id_of(gpu)[0]) {
		wtl_complain(app, "GPU %u (%s) cannot be told from others", gpu->index, gpu->name);
		return -ENODEV;
	}
	if (settings->has_persistence &&
	    number(gpu, WTL_GPU_PERSISTENCE)->status != WATTLE_STATUS_OK) {
		wtl_complain(app, "GPU %u (%s) has no persistence mode", gpu->index, gpu->name);
		return -EOPNOTSUPP;
	}
	return settings->has_power ? check_power(app, gpu) : 0;
}

int wtl_limit_check(struct wtl_app *app, const struct wtl_gpu *gpus, const size_t chosen[],
		    size_t n)
{
	if (n > WTL_LIMIT_CHANGES_MAX) {
		wtl_complain(app, "at most %d GPUs at once", WTL_LIMIT_CHANGES_MAX);
		return -E2BIG;
	}
	for (size_t i = 0; i < n; i++) {
		int rc = check_gpu(app, &gpus[chosen[i]]);

		if (rc < 0)
			return rc;
	}
	return 0;
}

void wtl_limit_plan(const struct wtl_app *app, const struct wtl_gpu *gpus, const size_t chosen[],
		    size_t n, struct wtl_limit_hold *hold)
{
	const struct wtl_limit_settings *settings = app->own;

	for (size_t i = 0; i < n; i++) {
		const struct wtl_gpu *gpu = &gpus[chosen[i]];
		struct wtl_limit_change *change = &hold->changes[i];

		*change = (struct wtl_limit_change){
			.has_power = settings->has_power,
			.has_persistence = settings->has_persistence,
		};
		wtl_text_copy(change->gpu, sizeof(change->gpu), id_of(gpu));
		wtl_text_copy(change->bus, sizeof(change->bus), gpu->bus_id);
		if (settings->has_power) {
			change->before_uw = limit_of(gpu)->value;
			change->set_uw = wanted_uw(app, gpu);
		}
		if (settings->has_persistence) {
			change->before_on = number(gpu, WTL_GPU_PERSISTENCE)->value == 1;
			change->set_on = settings->persistence;
		}
	}
	hold->n_changes = n;
}

void wtl_limit_complain_denied(struct wtl_app *app, const struct wtl_limit_denied *denied)
{
	wtl_complain(app,
		     geteuid() == 0
			     ? "GPU %u: the driver lets not even root set the %s here, as in many "
			       "containers and virtual machines"
			     : "GPU %u: setting the %s needs root, as in: sudo wattle limit ...",
		     denied->gpu, denied->what);
}

static bool is_denied(int rc)
{
	return rc == -EPERM || rc == -EACCES;
}

static int complain_of_setting(struct wtl_app *app, unsigned gpu, const char *what, int rc,
			       const struct wtl_err *err, struct wtl_limit_denied *ret_denied)
{
	const struct wtl_limit_denied denied = {gpu, what};

	if (is_denied(rc) && ret_denied)
		*ret_denied = denied;
	else if (is_denied(rc))
		wtl_limit_complain_denied(app, &denied);
	else
		wtl_complain(app, "GPU %u: cannot set the %s: %s", gpu, what,
			     err->text[0] ? err->text : wtl_err_text(rc));
	return rc;
}

static unsigned index_of(const struct wtl_gpu_reader *reader, size_t place)
{
	size_t n;

	return wtl_gpu_reader_gpus(reader, &n)[place].index;
}

static int set_power(struct wtl_app *app, struct wtl_gpu_reader *reader, size_t place,
		     uint64_t power_uw, struct wtl_limit_denied *ret_denied)
{
	struct wtl_err err = {.code = 0};
	int rc = wtl_gpu_reader_set_limit(reader, place, power_uw, &err);

	return rc < 0 ? complain_of_setting(app, index_of(reader, place), "power limit", rc, &err,
					    ret_denied)
		      : 0;
}

static int set_persistence(struct wtl_app *app, struct wtl_gpu_reader *reader, size_t place,
			   bool on, struct wtl_limit_denied *ret_denied)
{
	struct wtl_err err = {.code = 0};
	int rc = wtl_gpu_reader_set_persistence(reader, place, on, &err);

	return rc < 0 ? complain_of_setting(app, index_of(reader, place), "persistence mode", rc,
					    &err, ret_denied)
		      : 0;
}

/* Persistence first: an unloaded driver forgets the limit. */
int wtl_limit_set(struct wtl_app *app, struct wtl_gpu_reader *reader, size_t gpu,
		  const struct wtl_limit_change *change, struct wtl_limit_denied *ret_denied)
{
	int rc = 0;

	if (change->has_persistence && change->set_on != change->before_on)
		rc = set_persistence(app, reader, gpu, change->set_on, ret_denied);
	if (rc == 0 && change->has_power && change->set_uw != change->before_uw)
		rc = set_power(app, reader, gpu, change->set_uw, ret_denied);
	return rc;
}

bool wtl_limit_note_taken(const struct wtl_gpu *gpus, const size_t chosen[],
			  struct wtl_limit_hold *hold)
{
	bool differs = false;

	for (size_t i = 0; i < hold->n_changes; i++) {
		struct wtl_limit_change *change = &hold->changes[i];
		const struct wtl_gpu_value *taken = limit_of(&gpus[chosen[i]]);

		if (!change->has_power || change->set_uw == change->before_uw ||
		    taken->status != WATTLE_STATUS_OK || taken->value == change->set_uw)
			continue;
		change->set_uw = taken->value;
		differs = true;
	}
	return differs;
}

/* ---- Putting back ---- */

static const struct wtl_gpu *find_gpu(const struct wtl_gpu_reader *reader,
				      const struct wtl_limit_change *change, size_t *ret_place)
{
	size_t n;
	const struct wtl_gpu *gpus = wtl_gpu_reader_gpus(reader, &n);

	for (size_t i = 0; i < n; i++) {
		if (!wtl_limit_is_of(change, &gpus[i]))
			continue;
		*ret_place = i;
		return &gpus[i];
	}
	return NULL;
}

static int put_back_power(struct wtl_app *app, struct wtl_gpu_reader *reader, size_t place,
			  const struct wtl_gpu *gpu, const struct wtl_limit_change *change)
{
	uint64_t now_uw = limit_of(gpu)->value;
	unsigned index = gpu->index;

	if (limit_of(gpu)->status != WATTLE_STATUS_OK) {
		wtl_complain(app, "GPU %u does not tell its power limit", index);
		return -EIO;
	}
	if (now_uw == change->before_uw)
		return 0;
	if (now_uw != change->set_uw) {
		wtl_remark(app, "GPU %u: someone else has set a power limit of %.2f W, which stays",
			   index, watts(now_uw));
		return 0;
	}
	if (set_power(app, reader, place, change->before_uw, NULL) < 0)
		return -EIO;
	wtl_remark(app, "GPU %u: the power limit is back at %.2f W", index,
		   watts(change->before_uw));
	return 0;
}

static int put_back_persistence(struct wtl_app *app, struct wtl_gpu_reader *reader, size_t place,
				const struct wtl_gpu *gpu, const struct wtl_limit_change *change)
{
	const struct wtl_gpu_value *now = number(gpu, WTL_GPU_PERSISTENCE);
	unsigned index = gpu->index;

	if (now->status != WATTLE_STATUS_OK) {
		wtl_complain(app, "GPU %u does not tell its persistence mode", index);
		return -EIO;
	}
	if ((now->value == 1) == change->before_on)
		return 0;
	if (set_persistence(app, reader, place, change->before_on, NULL) < 0)
		return -EIO;
	wtl_remark(app, "GPU %u: persistence mode is %s again", index,
		   change->before_on ? "on" : "off");
	return 0;
}

static int put_back_one(struct wtl_app *app, struct wtl_gpu_reader *reader,
			const struct wtl_limit_change *change)
{
	size_t place;
	const struct wtl_gpu *gpu = find_gpu(reader, change, &place);
	int rc = 0;

	if (!gpu) {
		wtl_complain(app, "the GPU %s is not there: its settings cannot be put back",
			     change->gpu);
		return -ENODEV;
	}
	if (gpu->status != WATTLE_STATUS_OK) {
		wtl_complain(app, "GPU %u (%s): %s: its settings cannot be put back", gpu->index,
			     gpu->name,
			     gpu->trouble[0] ? gpu->trouble : wattle_status_name(gpu->status));
		return -ENODEV;
	}
	if (change->has_power)
		rc = put_back_power(app, reader, place, gpu, change);
	if (change->has_persistence && put_back_persistence(app, reader, place, gpu, change) < 0)
		rc = -EIO;
	return rc;
}

size_t wtl_limit_put_back(struct wtl_app *app, struct wtl_gpu_reader *reader,
			  const struct wtl_limit_hold *hold)
{
	size_t failed = 0;

	wtl_gpu_reader_read(reader, WTL_GPU_READ_NUMBERS);
	for (size_t i = 0; i < hold->n_changes; i++)
		failed += put_back_one(app, reader, &hold->changes[i]) < 0;
	return failed;
}
