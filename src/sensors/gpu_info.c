/* SPDX-License-Identifier: MIT */
#include "sensors/gpu_info.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "sensors/gpu_backend.h"
#include "sensors/gpu_nvml.h"

static const struct wtl_gpu_backend *const backends[] = {
	&wtl_gpu_nvml, /* first: its state tells the versions */
	&wtl_gpu_amdgpu,
	&wtl_gpu_intel,
};

enum { N_BACKENDS = sizeof(backends) / sizeof(backends[0]) };

struct wtl_gpu_reader {
	struct wtl_gpu_list list;
	void *states[N_BACKENDS];
	size_t first[N_BACKENDS + 1]; /* rows of each back end */
	bool was_read;
};

/* ---- The reader ---- */

int wtl_gpu_reader_new(const struct wtl_env *env, const struct wtl_source_options *options,
		       struct wtl_gpu_reader **ret_reader, struct wtl_err *err)
{
	struct wtl_gpu_reader *reader = calloc(1, sizeof(*reader));
	int rc = reader ? 0 : -ENOMEM;

	for (size_t i = 0; i < N_BACKENDS && rc == 0; i++) {
		reader->states[i] = calloc(1, backends[i]->state_size);
		reader->first[i] = reader->list.n;
		rc = reader->states[i]
			     ? backends[i]->open(reader->states[i], env, options, &reader->list)
			     : -ENOMEM;
		reader->first[i + 1] = reader->list.n;
	}
	if (rc < 0) {
		wtl_gpu_reader_free(reader);
		return wtl_err_set(err, rc, "gpu", NULL, "%s", wtl_err_text(rc));
	}
	*ret_reader = reader;
	return 0;
}

void wtl_gpu_reader_free(struct wtl_gpu_reader *reader)
{
	if (!reader)
		return;
	for (size_t i = 0; i < N_BACKENDS; i++) {
		if (reader->states[i])
			backends[i]->close(reader->states[i]);
		free(reader->states[i]);
	}
	free(reader->list.at);
	free(reader);
}

void wtl_gpu_reader_read(struct wtl_gpu_reader *reader, unsigned what)
{
	for (size_t i = 0; i < N_BACKENDS; i++)
		if (reader->first[i] < reader->first[i + 1])
			backends[i]->read(reader->states[i], what, &reader->list);
	reader->was_read |= (what & WTL_GPU_READ_NUMBERS) != 0;
}

const struct wtl_gpu *wtl_gpu_reader_gpus(const struct wtl_gpu_reader *reader, size_t *ret_n)
{
	*ret_n = reader->list.n;
	return reader->list.at;
}

/* ---- Setting ---- */

/* The back end of a row that can be set, or a negative errno. */
static int settable(struct wtl_gpu_reader *reader, size_t gpu, struct wtl_err *err)
{
	const struct wtl_gpu *row;
	size_t i = 0;

	if (gpu >= reader->list.n)
		return wtl_err_set(err, EINVAL, "gpu", NULL, "there is no GPU %zu", gpu);
	if (!reader->was_read)
		wtl_gpu_reader_read(reader, WTL_GPU_READ_NUMBERS);
	row = &reader->list.at[gpu];
	if (row->status != WATTLE_STATUS_OK)
		return wtl_err_set(err, ENODEV, "gpu", row->bus_id, "GPU %u cannot be set: %s",
				   row->index, row->trouble);
	while (gpu >= reader->first[i + 1])
		i++;
	return (int)i;
}

/* Is it within what the GPU allows? Where it does not tell, the driver decides. */
static int check_range(const struct wtl_gpu *gpu, uint64_t limit_uw, struct wtl_err *err)
{
	const struct wtl_gpu_value *least = &gpu->numbers[WTL_GPU_LIMIT_MIN_UW];
	const struct wtl_gpu_value *most = &gpu->numbers[WTL_GPU_LIMIT_MAX_UW];
	double min_w = least->status == WATTLE_STATUS_OK ? (double)least->value / 1e6 : 0;

	if (most->status != WATTLE_STATUS_OK ||
	    (limit_uw <= most->value &&
	     (least->status != WATTLE_STATUS_OK || limit_uw >= least->value)))
		return 0;
	return wtl_err_set(err, ERANGE, "gpu", gpu->bus_id,
			   "GPU %u allows a power limit from %.2f to %.2f W, not %.2f W",
			   gpu->index, min_w, (double)most->value / 1e6, (double)limit_uw / 1e6);
}

int wtl_gpu_reader_set_limit(struct wtl_gpu_reader *reader, size_t gpu, uint64_t limit_uw,
			     struct wtl_err *err)
{
	int i = settable(reader, gpu, err);
	const struct wtl_gpu *row;
	int rc;

	if (i < 0)
		return i;
	row = &reader->list.at[gpu];
	if (row->numbers[WTL_GPU_LIMIT_UW].status == WATTLE_STATUS_ABSENT ||
	    !backends[i]->set_limit)
		return wtl_err_set(err, EOPNOTSUPP, "gpu", row->bus_id,
				   "GPU %u has no power limit that could be set", row->index);
	rc = check_range(row, limit_uw, err);
	if (rc < 0)
		return rc;
	return backends[i]->set_limit(reader->states[i], row, gpu, limit_uw, err);
}

int wtl_gpu_reader_set_persistence(struct wtl_gpu_reader *reader, size_t gpu, bool on,
				   struct wtl_err *err)
{
	int i = settable(reader, gpu, err);
	const struct wtl_gpu *row;

	if (i < 0)
		return i;
	row = &reader->list.at[gpu];
	if (!backends[i]->set_persistence)
		return wtl_err_set(err, EOPNOTSUPP, "gpu", row->bus_id,
				   "GPU %u has no persistence mode", row->index);
	return backends[i]->set_persistence(reader->states[i], row, gpu, on, err);
}

/* ---- NVIDIA's versions ---- */

const char *wtl_gpu_reader_driver_version(const struct wtl_gpu_reader *reader)
{
	const struct wtl_gpus_nvml *nvml = reader->states[0];

	return nvml->lib.driver;
}

const char *wtl_gpu_reader_cuda_version(const struct wtl_gpu_reader *reader)
{
	const struct wtl_gpus_nvml *nvml = reader->states[0];

	return nvml->cuda;
}

const char *wtl_gpu_reader_nvml_version(const struct wtl_gpu_reader *reader)
{
	const struct wtl_gpus_nvml *nvml = reader->states[0];

	return nvml->version;
}

const char *wtl_gpu_reader_trouble(const struct wtl_gpu_reader *reader)
{
	const struct wtl_gpus_nvml *nvml = reader->states[0];

	return nvml->trouble;
}
