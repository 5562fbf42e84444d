/* SPDX-License-Identifier: MIT */
#include "reading_bench.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "pass_io.h"
#include "unit.h"

void reading_open(struct reading *reading, const char *path)
{
	struct wtl_machine machine;
	const struct wtl_source_options options = {
		.nvml_path = path,
		.left_out = reading->nv.bench.catalog.left_out,
		.machine = &machine,
	};
	const struct wtl_env env = {.io = &reading->nv.bench.io};
	struct wtl_err err = {0};

	reading->nv.ops.lib_has = pass_lib_has;
	assert_int_equal(wtl_machine_read(env.io, &machine), 0);
	assert_int_equal(wtl_gpu_reader_new(&env, &options, &reading->reader, &err), 0);
}

void reading_start(struct reading *reading, const char *script)
{
	nv_empty(&reading->nv, script);
	reading_open(reading, nv_library());
}

void reading_start_own(struct reading *reading, const char *text)
{
	nv_empty_own(&reading->nv, text);
	reading_open(reading, nv_library());
}

void reading_close(struct reading *reading)
{
	wtl_gpu_reader_free(reading->reader);
	dlclose(reading->nv.fake);
	reading->nv.lib_closes = 0;
}

void reading_done(struct reading *reading)
{
	wtl_gpu_reader_free(reading->reader);
	nv_done(&reading->nv);
}

const struct wtl_gpu *reading_gpu(const struct reading *reading, size_t i)
{
	size_t n;
	const struct wtl_gpu *gpus = wtl_gpu_reader_gpus(reading->reader, &n);

	assert_true(i < n);
	return &gpus[i];
}

const struct wtl_gpu *reading_at(struct reading *reading, double seconds, unsigned what)
{
	nv_set_time(&reading->nv, S(seconds));
	wtl_gpu_reader_read(reading->reader, what);
	return reading_gpu(reading, 0);
}

void reading_check(const struct wtl_gpu *gpu, enum wtl_gpu_number number, uint64_t value)
{
	if (gpu->numbers[number].status != WATTLE_STATUS_OK)
		fail_msg("number %d: status %d, code %d", number, gpu->numbers[number].status,
			 gpu->numbers[number].code);
	assert_int_equal(gpu->numbers[number].code, 0);
	assert_int_equal(gpu->numbers[number].value, value);
}

void reading_check_not(const struct wtl_gpu *gpu, enum wtl_gpu_number number,
		       enum wattle_status status, int code)
{
	assert_int_equal(gpu->numbers[number].status, status);
	assert_int_equal(gpu->numbers[number].code, code);
	assert_int_equal(gpu->numbers[number].value, 0);
}
