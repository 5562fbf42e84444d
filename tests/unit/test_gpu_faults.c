/* SPDX-License-Identifier: MIT */
/* GPUs whose driver fails at every possible place, is slow, or is on a tape. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "gpu/abi.h"
#include "nvml_bench.h"
#include "pass_io.h"
#include "sensors/gpu_info.h"
#include "workload/gpu_use.h"

#define EVERYTHING                                                                              \
	(WTL_GPU_READ_NUMBERS | WTL_GPU_READ_PCIE | WTL_GPU_READ_PROCESSES | WTL_GPU_READ_USE | \
	 WTL_GPU_READ_DETAILS | WTL_GPU_READ_INFOROM)

/* ---- Every call fails once ---- */

static struct {
	unsigned calls;
	unsigned at; /* this call fails, and with `on` all later ones */
	bool on;
	int code; /* NVML's, or a negative errno */
} fault;

static int fail_call(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer)
{
	(void)nv;
	(void)args;
	if (function == WTL_NVML_SHUTDOWN)
		return 0;
	fault.calls++;
	if (fault.calls != fault.at && (!fault.on || fault.calls < fault.at))
		return 0;
	if (fault.code < 0)
		return fault.code;
	*answer = fault.code;
	return 0;
}

static void prepare(struct nv *nv, const char *script)
{
	nv_empty(nv, script);
	nv->ops.lib_has = pass_lib_has;
	nv->twist = fail_call;
	nv->faulty = true;
	fault.calls = 0;
}

/* What is not OK has no number, and what is lost has none at all. */
static void check_row(const struct wtl_gpu *gpu)
{
	assert_string_equal(gpu->vendor, "nvidia");
	assert_true(gpu->status == WATTLE_STATUS_OK || gpu->trouble[0]);
	for (size_t i = 0; i < WTL_GPU_NUMBERS; i++) {
		const struct wtl_gpu_value *value = &gpu->numbers[i];

		assert_true(value->status == WATTLE_STATUS_OK || value->value == 0);
		assert_true(gpu->status == WATTLE_STATUS_OK || value->status != WATTLE_STATUS_OK ||
			    i == WTL_GPU_PCI_CLASS);
	}
	assert_true(gpu->processes_status == WATTLE_STATUS_OK || gpu->n_processes == 0);
}

/* Reads four times with the fault; returns how many calls there were. */
static unsigned read_with_fault(const char *script)
{
	struct wtl_machine machine;
	const struct wtl_source_options options = {.nvml_path = nv_library(), .machine = &machine};
	struct wtl_gpu_reader *reader;
	const struct wtl_gpu *gpus;
	struct nv nv;
	size_t n;

	prepare(&nv, script);
	assert_int_equal(wtl_machine_read(&nv.bench.io, &machine), 0);
	assert_int_equal(
		wtl_gpu_reader_new(&(struct wtl_env){.io = &nv.bench.io}, &options, &reader, NULL),
		0);
	for (int i = 1; i <= 4; i++) {
		nv_set_time(&nv, S(2 * i));
		wtl_gpu_reader_read(reader, EVERYTHING);
		gpus = wtl_gpu_reader_gpus(reader, &n);
		for (size_t k = 0; k < n; k++)
			check_row(&gpus[k]);
		if (n && gpus[0].status == WATTLE_STATUS_OK)
			(void)wtl_gpu_reader_set_limit(reader, 0, 350000000, NULL);
	}
	/* One failure does no lasting harm to a GPU that was found at all. */
	if (!fault.on && n && gpus[0].status != WATTLE_STATUS_OK)
		fail_msg("code %d in call %u: status %d", fault.code, fault.at, gpus[0].status);
	wtl_gpu_reader_free(reader);
	nv_done(&nv);
	return fault.calls;
}

static const int codes[] = {-EIO, WTL_NVML_GPU_IS_LOST, WTL_NVML_UNINITIALIZED, WTL_NVML_UNKNOWN,
			    WTL_NVML_NOT_SUPPORTED};

static void every_call_of_the_reader(void **state)
{
	unsigned calls;

	(void)state;
	fault.at = 0;
	fault.on = false;
	calls = read_with_fault("capture-h100-mig-load");
	assert_true(calls > 150);
	for (unsigned i = 0; i < UNIT_COUNT(codes); i++) {
		fault.code = codes[i];
		for (fault.at = 1 + i; fault.at <= calls; fault.at += UNIT_COUNT(codes)) {
			/* A single failure in the last round is not made good any more. */
			fault.on = fault.at > calls / 2 || (fault.at / UNIT_COUNT(codes)) % 2 == 1;
			read_with_fault("capture-h100-mig-load");
		}
	}
}

static unsigned watch_with_fault(void)
{
	struct wtl_gpu gpu = {.vendor = "nvidia", .domain = "gpu-0", .bus_id = "00000000:1B:00.0"};
	const struct wtl_gpu_use_gpu *uses = NULL;
	struct wtl_gpu_use *use;
	struct nv nv;
	size_t n;

	prepare(&nv, "h100");
	assert_int_equal(wtl_gpu_use_new(&(struct wtl_env){.io = &nv.bench.io}, nv_library(), &gpu,
					 1, &use, NULL),
			 0);
	for (int i = 1; i <= 4; i++) {
		nv_set_time(&nv, S(2 * i));
		wtl_gpu_use_tick(use, nv.bench.now_ns);
		uses = wtl_gpu_use_gpus(use, &n);
		assert_int_equal(n, 1);
		assert_true(uses[0].method != WTL_GPU_USE_NONE ||
			    (uses[0].n_processes == 0 && uses[0].reason[0]));
	}
	if (!fault.on && uses[0].method != WTL_GPU_USE_SAMPLES)
		fail_msg("code %d in call %u: method %d, %s", fault.code, fault.at, uses[0].method,
			 uses[0].reason);
	wtl_gpu_use_free(use);
	nv_done(&nv);
	return fault.calls;
}

static void every_call_of_the_watch(void **state)
{
	unsigned calls;

	(void)state;
	fault.at = 0;
	fault.on = false;
	calls = watch_with_fault();
	assert_true(calls > 10);
	for (unsigned i = 0; i < UNIT_COUNT(codes); i++) {
		fault.code = codes[i];
		for (unsigned on = 0; on < 2; on++) {
			fault.on = on;
			/* A single failure in the last round is not made good any more. */
			for (fault.at = 1; fault.at <= (on ? calls : calls / 2); fault.at++)
				watch_with_fault();
		}
	}
}

/* ---- A list that never fits ---- */

static int never_fits(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer)
{
	(void)nv;
	if (function != WTL_NVML_COMPUTE_V3)
		return 0;
	*(uint32_t *)args[1].memory = 4000000;
	*answer = WTL_NVML_INSUFFICIENT_SIZE;
	return 0;
}

static void list_without_end(void **state)
{
	struct wtl_machine machine;
	const struct wtl_source_options options = {.nvml_path = nv_library(), .machine = &machine};
	struct wtl_gpu_reader *reader;
	struct nv nv;
	size_t n;

	(void)state;
	nv_empty(&nv, "h100");
	nv.ops.lib_has = pass_lib_has;
	nv.twist = never_fits;
	assert_int_equal(wtl_machine_read(&nv.bench.io, &machine), 0);
	assert_int_equal(
		wtl_gpu_reader_new(&(struct wtl_env){.io = &nv.bench.io}, &options, &reader, NULL),
		0);
	wtl_gpu_reader_read(reader, WTL_GPU_READ_PROCESSES);
	/* It gives up asking for more, and takes what there is. */
	assert_true(nv.calls("nvmlDeviceGetComputeRunningProcesses_v3") <= 6);
	assert_int_equal(wtl_gpu_reader_gpus(reader, &n)->status, WATTLE_STATUS_OK);
	assert_true(wtl_gpu_reader_gpus(reader, &n)->n_processes <= 4096);
	wtl_gpu_reader_free(reader);
	nv_done(&nv);
}

/* ---- A tape ---- */

/* What a reader and a watch make of a machine, as text. */
static void look(struct wtl_io *io, char *text, size_t size)
{
	struct wtl_machine machine;
	const struct wtl_source_options options = {.nvml_path = nv_library(), .machine = &machine};
	const struct wtl_env env = {.io = io};
	struct wtl_gpu_reader *reader;
	const struct wtl_gpu *gpus;
	const struct wtl_gpu_use_gpu *uses;
	struct wtl_gpu_use *use;
	size_t n, n_uses, len = 0;

	assert_int_equal(wtl_machine_read(io, &machine), 0);
	assert_int_equal(wtl_gpu_reader_new(&env, &options, &reader, NULL), 0);
	gpus = wtl_gpu_reader_gpus(reader, &n);
	assert_int_equal(wtl_gpu_use_new(&env, nv_library(), gpus, n, &use, NULL), 0);
	wtl_gpu_reader_read(reader, EVERYTHING);
	wtl_gpu_use_tick(use, wtl_io_mono_ns(io));
	uses = wtl_gpu_use_gpus(use, &n_uses);
	assert_int_equal(n_uses, 1);
	for (size_t i = 0; i < WTL_GPU_NUMBERS; i++)
		len += (size_t)snprintf(text + len, size - len, "%d:%llu ",
					gpus[0].numbers[i].status,
					(unsigned long long)gpus[0].numbers[i].value);
	for (size_t i = 0; i < gpus[0].n_processes; i++)
		len += (size_t)snprintf(text + len, size - len, "%d %s %u, ",
					gpus[0].processes[i].pid, gpus[0].processes[i].name,
					gpus[0].processes[i].sm_percent);
	len += (size_t)snprintf(text + len, size - len, "%d:", uses[0].method);
	for (size_t i = 0; i < uses[0].n_processes; i++)
		len += (size_t)snprintf(text + len, size - len, " %d=%llu",
					uses[0].processes[i].pid,
					(unsigned long long)uses[0].processes[i].weight);
	wtl_gpu_use_free(use);
	wtl_gpu_reader_free(reader);
}

static void on_a_tape(void **state)
{
	char *dir = unit_tmpdir(), *tape = unit_path(dir, "gpu.tape");
	struct wtl_io *io, *recorder;
	char *recorded = calloc(1, 16384), *replayed = calloc(1, 16384);
	char script[256];

	(void)state;
	snprintf(script, sizeof(script), "%.200s/capture-l40s-load.nvml",
		 getenv("WATTLE_FAKE_SCRIPTS"));
	setenv("WATTLE_FAKE_NVML", script, 1);
	unit_write(dir, "root/proc/uptime", "1 1\n");
	{
		char *root = unit_path(dir, "root");

		assert_int_equal(wtl_io_real_new(root, &io, NULL), 0);
		free(root);
	}
	assert_int_equal(wtl_io_record_new(io, tape, &recorder, NULL), 0);
	look(recorder, recorded, 16384);
	assert_int_equal(wtl_io_record_error(recorder), 0);
	wtl_io_free(recorder);
	unsetenv("WATTLE_FAKE_NVML");
	assert_non_null(strstr(recorded, "20037 ffmpeg"));
	assert_non_null(strstr(recorded, "1: 20037="));

	assert_int_equal(wtl_io_replay_new(tape, &io, NULL), 0);
	look(io, replayed, 16384);
	wtl_io_free(io);
	assert_string_equal(replayed, recorded);
	free(recorded);
	free(replayed);
	free(tape);
	unit_rmtree(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_of_the_reader),
		cmocka_unit_test(every_call_of_the_watch),
		cmocka_unit_test(list_without_end),
		cmocka_unit_test(on_a_tape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
