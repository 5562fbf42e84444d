/* SPDX-License-Identifier: MIT */
/* The NVML source when GPUs, drivers and answers fail on the way, and how often it asks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "energy/sensor_class.h"
#include "nvml_bench.h"
#include "gpu/abi.h"
#include "unit.h"

/* ---- Trouble on the way ---- */

static void test_lost(void **state)
{
	unsigned long touched;
	struct nv nv;

	(void)state;
	nv_start_on(&nv, "nvidia-server", "lost");
	nv_check_domains(&nv, "gpu-0 gpu-0 gpu-1 gpu-1");
	nv_at(&nv, 1.9);
	nv_check_ok(&nv.bench.readings[0], 1000000 + 190000);
	nv_at(&nv, 2);
	touched = nv.touched(0);
	for (int i = 20; i < 60; i++) {
		nv_at(&nv, i * 0.1);
		nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_GONE);
		nv_check_status(&nv.bench.readings[1], WATTLE_STATUS_GONE);
		assert_int_equal(nv.bench.readings[0].error, -ENODEV);
		nv_check_ok(&nv.bench.readings[2], 1000000 + (uint64_t)i * 20000);
	}
	/* Looked for once a second, and NVML was left alone for the other's sake. */
	assert_true(nv.touched(0) - touched <= 4);
	assert_int_equal(nv.calls("nvmlInit_v2"), 1);
	nv_at(&nv, 7.5); /* it came back at 6, and its counter began anew */
	nv_check_ok(&nv.bench.readings[0], 150000);
	nv_check_ok(&nv.bench.readings[1], 100000);
	assert_int_equal(nv.calls("nvmlInit_v2"), 1);
	nv_done(&nv);
}

static void test_lost_at_start(void **state)
{
	struct nv nv;

	(void)state;
	nv_start_on(&nv, "nvidia-server", "lost-at-start");
	nv_check_domains(&nv, "gpu-1 gpu-1");
	/* The lost one is on the bus too, and is one GPU. */
	assert_int_equal(nv.bench.catalog.n_misses, 1);
	nv_check_miss(&nv, "gpu-0", WATTLE_STATUS_GONE, "lost", "xid");
	nv_done(&nv);
}

static void test_counter_reset(void **state)
{
	struct nv nv;

	(void)state;
	nv_start(&nv, "reset");
	nv_at(&nv, 4.9);
	nv_check_ok(&nv.bench.readings[0], 50000000 + 490000);
	nv_at(&nv, 5.5); /* as it is: the meter's counter sees the step back */
	nv_check_ok(&nv.bench.readings[0], 50000);
	nv_check_ok(&nv.bench.readings[1], 100000);
	nv_done(&nv);
}

static void test_driver_reload(void **state)
{
	bool back = false;
	struct nv nv;

	(void)state;
	nv_start(&nv, "reload");
	nv_at(&nv, 1.9);
	nv_check_ok(&nv.bench.readings[0], 7000000 + 190000);
	for (int i = 20; i <= 120; i++) {
		nv_at(&nv, i * 0.1);
		if (i < 50)
			nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_GONE);
		back = nv.bench.readings[0].status == WATTLE_STATUS_OK;
	}
	assert_true(back);
	nv_check_ok(&nv.bench.readings[0], 700000); /* since the reload at 5 */
	nv_check_ok(&nv.bench.readings[1], 100000);
	/* With back-off: some attempts in 3 s, not one a tick. */
	assert_in_range(nv.calls("nvmlInit_v2"), 3, 5);
	nv_done(&nv);
}

/* The only GPU stays away: NVML itself is started anew, less and less often. */
static void test_all_lost(void **state)
{
	unsigned long inits;
	struct nv nv;

	(void)state;
	nv_start(&nv, "lost-for-good");
	nv_at(&nv, 1);
	nv_check_ok(&nv.bench.readings[0], 50000);
	for (int i = 2; i < 600; i++) {
		nv_at(&nv, i);
		nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_GONE);
	}
	inits = nv.calls("nvmlInit_v2");
	assert_in_range(inits, 8, 20);
	nv_done(&nv);
}

static void test_flaky(void **state)
{
	unsigned long before;
	struct nv nv;

	(void)state;
	nv_start(&nv, "flaky");
	nv_at(&nv, 0.9);
	nv_at(&nv, 1); /* UNKNOWN for the whole call */
	nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_FAILED);
	nv_check_status(&nv.bench.readings[1], WATTLE_STATUS_FAILED);
	assert_int_equal(nv.bench.readings[0].error, -WTL_ELIBRARY);
	nv_at(&nv, 1.1); /* asked again at once */
	nv_check_ok(&nv.bench.readings[0], 10000 + 110000);
	nv_check_ok(&nv.bench.readings[1], 100000);
	nv_at(&nv, 2); /* one field only */
	nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_FAILED);
	assert_int_equal(nv.bench.readings[0].error, -ETIMEDOUT);
	nv_check_ok(&nv.bench.readings[1], 100000);
	nv_at(&nv, 3); /* power is supported no more */
	nv_check_ok(&nv.bench.readings[0], 10000 + 300000);
	nv_check_status(&nv.bench.readings[1], WATTLE_STATUS_GONE);
	assert_int_equal(nv.bench.readings[1].error, -EOPNOTSUPP);
	nv_at(&nv, 4);
	nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_DENIED);
	before = nv.calls("nvmlDeviceGetFieldValues");
	for (int i = 41; i < 49; i++) {
		nv_at(&nv, i * 0.1);
		nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_DENIED);
		nv_check_status(&nv.bench.readings[1], WATTLE_STATUS_GONE);
	}
	assert_int_equal(nv.calls("nvmlDeviceGetFieldValues"), before);
	nv_at(&nv, 5.1);
	nv_check_ok(&nv.bench.readings[0], 10000 + 510000);
	nv_done(&nv);
}

static void test_slow(void **state)
{
	struct nv nv;

	(void)state;
	nv_empty(&nv, "slow");
	nv.real_clock = true;
	assert_int_equal(nv_open(&nv, nv_library()), 0);
	nv_at(&nv, 2);
	nv_check_ok(&nv.bench.readings[0], 80000);
	/* The time that the call takes is a part of the reading. */
	assert_true(nv.bench.readings[0].half_ns >= 15 * WTL_NS_PER_MS);
	assert_int_equal(nv.bench.readings[0].half_ns, nv.bench.readings[1].half_ns);
	nv_done(&nv);
}

/* ---- Coming back as something else ---- */

static int twist_lost_null(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer)
{
	if (function == WTL_NVML_BY_BUS_ID && nv->bench.now_ns < BENCH_START_NS + S(8)) {
		memset(args[1].memory, 0, args[1].size);
		*answer = WTL_NVML_OK;
	}
	return 0;
}

static void test_null_handle_of_lost(void **state)
{
	struct nv nv;

	(void)state;
	nv_start(&nv, "lost");
	nv.twist = twist_lost_null;
	for (int i = 2; i < 8; i++) {
		nv_at(&nv, i);
		nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_GONE);
	}
	nv_at(&nv, 9);
	nv_check_ok(&nv.bench.readings[0], 300000);
	nv_done(&nv);
}

static int twist_uuid(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer)
{
	(void)nv;
	(void)answer;
	if (function == WTL_NVML_UUID)
		snprintf(args[1].memory, args[1].size, "GPU-another");
	return 0;
}

/* Another card in the slot of the lost one is not measured under its name. */
static void test_other_card(void **state)
{
	struct nv nv;

	(void)state;
	nv_start(&nv, "lost");
	nv_at(&nv, 1);
	nv_at(&nv, 2);
	nv.twist = twist_uuid;
	for (int i = 3; i < 12; i++) {
		nv_at(&nv, i);
		nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_GONE);
		nv_check_status(&nv.bench.readings[1], WATTLE_STATUS_GONE);
		assert_int_equal(nv.bench.readings[2].status, WATTLE_STATUS_OK);
	}
	nv_done(&nv);
}

/* ---- Few calls ---- */

static void test_one_call_a_gpu(void **state)
{
	unsigned long before;
	struct nv nv;

	(void)state;
	nv_start(&nv, "eight-gpus");
	assert_int_equal(nv.bench.catalog.n_channels, 16);
	nv_at(&nv, 1);
	before = nv.calls("*");
	nv_at(&nv, 1.1);
	assert_int_equal(nv.calls("*") - before, 8);
	for (unsigned i = 0; i < 8; i++) {
		nv_check_ok(&nv.bench.readings[2 * i], 1000000 * i + 1100 * (60 + 10 * i));
		nv_check_ok(&nv.bench.readings[2 * i + 1], 1000 * (60 + 10 * i));
	}
	nv_done(&nv);
}

static void test_power_at_its_own_pace(void **state)
{
	int64_t last_ns = 0;
	unsigned fresh = 0;
	struct nv nv;

	(void)state;
	nv_start(&nv, "a100");
	for (int i = 100; i < 200; i++) { /* a second at 100 Hz */
		nv_at(&nv, i * 0.01);
		assert_int_equal(nv.bench.readings[0].t_mono_ns, nv.bench.now_ns);
		assert_int_equal(nv.bench.readings[1].status, WATTLE_STATUS_OK);
		assert_true(nv.bench.now_ns - nv.bench.readings[1].t_mono_ns < S(0.02));
		fresh += nv.bench.readings[1].t_mono_ns != last_ns;
		last_ns = nv.bench.readings[1].t_mono_ns;
	}
	assert_int_equal(fresh, 50);
	assert_int_equal(nv.calls("nvmlDeviceGetFieldValues"), 1 + 100);
	nv_done(&nv);
}

/* The kernel is asked for the state of sleep no more than once a second and GPU. */
static void test_few_files(void **state)
{
	unsigned before;
	struct nv nv;

	(void)state;
	nv_start_on(&nv, "nvidia-server", "two");
	nv_at(&nv, 1);
	before = nv.bench.reads;
	for (int i = 101; i <= 300; i++)
		nv_at(&nv, i * 0.01);
	assert_in_range(nv.bench.reads - before, 2, 4);
	nv_done(&nv);
}

/* ---- Tapes ---- */

/* A GPU that wakes while a tape is recorded does so again when it is replayed. */
static void play_waking(struct nv *nv, struct wtl_reading kept[3])
{
	struct wtl_io *io = nv->bench.real;

	assert_int_equal(nv_open(nv, nv_library()), 0);
	nv_check_domains(nv, "gpu-0");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(wtl_io_wait_until(io, wtl_io_mono_ns(io) + 100 * WTL_NS_PER_MS),
				 0);
		if (!nv->taped && i == 1)
			bench_write(&nv->bench, PCI "0000:01:00.0/power/runtime_status",
				    "active\n");
		if (!nv->taped)
			nv_set_time(nv, S(1 + i));
		bench_read(&nv->bench, 0);
		kept[i] = nv->bench.readings[0];
	}
}

static void test_tape_of_waking(void **state)
{
	struct wtl_reading live[3] = {0}, again[3] = {0};
	char *dir = unit_tmpdir();
	char *path = unit_path(dir, "tape");
	struct wtl_io *recorder;
	struct wtl_err err;
	struct nv nv;

	(void)state;
	memset(&nv, 0, sizeof(nv));
	bench_copy(&nv.bench, "nvidia-laptop");
	nv_prepare(&nv, "laptop");
	nv.real_clock = true;
	assert_int_equal(wtl_io_record_new(nv.bench.real, path, &recorder, &err), 0);
	nv.bench.real = recorder;
	play_waking(&nv, live);
	nv_done(&nv);
	nv_check_status(&live[0], WATTLE_STATUS_ASLEEP);
	nv_check_ok(&live[2], 700000 + 3 * 30000);

	memset(&nv, 0, sizeof(nv));
	bench_root(&nv.bench, "vm-nothing");
	nv_prepare(&nv, "empty");
	wtl_io_free(nv.bench.real);
	nv.real_clock = nv.taped = true;
	if (wtl_io_replay_new(path, &nv.bench.real, &err) < 0)
		fail_msg("%s", err.text);
	play_waking(&nv, again);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(live[i].status, again[i].status);
		assert_int_equal(live[i].value, again[i].value);
	}
	nv_done(&nv);
	free(path);
	unit_rmtree(dir);
}

static void play(struct nv *nv, struct wtl_reading kept[3][4])
{
	struct wtl_io *io = nv->bench.real;

	assert_int_equal(nv_open(nv, nv_library()), 0);
	nv_check_domains(nv, "gpu-0 gpu-0 gpu-1 gpu-1");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(wtl_io_wait_until(io, wtl_io_mono_ns(io) + WTL_NS_PER_MS), 0);
		if (!nv->taped)
			nv_set_time(nv, S(1.5 + i));
		bench_read(&nv->bench, 0);
		memcpy(kept[i], nv->bench.readings, 4 * sizeof(kept[i][0]));
	}
}

/* What a tape of the source gives is what the machine gave, a GPU lost on the way included. */
static void test_tape(void **state)
{
	struct wtl_reading live[3][4], again[3][4];
	char *dir = unit_tmpdir();
	char *path = unit_path(dir, "tape");
	struct wtl_io *recorder;
	struct wtl_err err;
	struct nv nv;

	(void)state;
	memset(live, 0, sizeof(live));
	memset(again, 0, sizeof(again));
	memset(&nv, 0, sizeof(nv));
	bench_root(&nv.bench, "nvidia-server");
	nv_prepare(&nv, "lost");
	nv.real_clock = true;
	assert_int_equal(wtl_io_record_new(nv.bench.real, path, &recorder, &err), 0);
	nv.bench.real = recorder;
	play(&nv, live);
	nv_done(&nv);
	assert_int_equal(live[0][0].status, WATTLE_STATUS_OK);
	assert_int_equal(live[2][0].status, WATTLE_STATUS_GONE);
	assert_int_equal(live[2][2].status, WATTLE_STATUS_OK);

	memset(&nv, 0, sizeof(nv));
	bench_root(&nv.bench, "vm-nothing");
	nv_prepare(&nv, "empty");
	wtl_io_free(nv.bench.real);
	nv.real_clock = nv.taped = true;
	if (wtl_io_replay_new(path, &nv.bench.real, &err) < 0)
		fail_msg("%s", err.text);
	play(&nv, again);
	/* A tape keeps one time a frame, so those of the readings agree within a frame only. */
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 4; k++) {
			assert_true(again[i][k].t_mono_ns <= live[2][k].t_mono_ns);
			assert_int_equal(live[i][k].status, again[i][k].status);
			assert_int_equal(live[i][k].value, again[i][k].value);
		}
	}
	nv_done(&nv);
	free(path);
	unit_rmtree(dir);
}

/* ---- Answers that no library should give ---- */

static int twist_null_handle(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer)
{
	(void)nv;
	(void)answer;
	if (function == WTL_NVML_BY_INDEX && args[0].word == 0)
		memset(args[1].memory, 0, args[1].size);
	return 0;
}

/* The fake ends the process when it gets a NULL handle, as NVML does. */
static void test_null_handle(void **state)
{
	struct nv nv;

	(void)state;
	nv_empty(&nv, "lost");
	nv.twist = twist_null_handle;
	assert_int_equal(nv_open(&nv, nv_library()), 0);
	nv_check_domains(&nv, "gpu-1 gpu-1");
	nv_check_miss(&nv, "gpu-0", WATTLE_STATUS_GONE, "does not find", "dmesg");
	nv_at(&nv, 1);
	nv_check_ok(&nv.bench.readings[0], 1000000 + 200000);
	nv_done(&nv);
}

static int twist_fields(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer)
{
	struct wtl_nvml_field *fields;

	(void)answer;
	if (function != WTL_NVML_FIELD_VALUES || nv->bench.now_ns < BENCH_START_NS + S(1))
		return 0;
	fields = args[2].memory;
	fields[0].type = 99;
	if (args[1].word > 1)
		fields[1].code = 0xffffffff;
	return 0;
}

static void test_rubbish_fields(void **state)
{
	struct nv nv;

	(void)state;
	nv_empty(&nv, "a100");
	nv.twist = twist_fields;
	assert_int_equal(nv_open(&nv, nv_library()), 0);
	nv_at(&nv, 1);
	nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_FAILED);
	nv_check_status(&nv.bench.readings[1], WATTLE_STATUS_FAILED);
	nv_done(&nv);
}

static int twist_text(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer)
{
	(void)nv;
	(void)answer;
	if (function == WTL_NVML_NAME)
		memset(args[1].memory, '\033', args[1].size); /* and no end */
	if (function == WTL_NVML_DRIVER_VERSION)
		memset(args[0].memory, '9', args[0].size);
	if (function == WTL_NVML_COUNT)
		memset(args[0].memory, 0xff, args[0].size);
	return 0;
}

static void test_rubbish_texts(void **state)
{
	struct nv nv;

	(void)state;
	nv_empty(&nv, "a100");
	nv.twist = twist_text;
	assert_int_equal(nv_open(&nv, nv_library()), 0);
	assert_true(nv.bench.catalog.n_channels == 2);
	assert_null(strchr(nv_channel(&nv, 0)->device, '\033'));
	nv_at(&nv, 1);
	nv_check_ok(&nv.bench.readings[0], 123456789 + 62500);
	nv_done(&nv);
}

static int twist_zero_power(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer)
{
	struct wtl_nvml_field *fields;

	(void)nv;
	(void)answer;
	if (function != WTL_NVML_FIELD_VALUES)
		return 0;
	fields = args[2].memory;
	for (size_t i = 0; i < args[1].word; i++)
		if (fields[i].field != WTL_NVML_FIELD_ENERGY)
			fields[i].value.u64 = 0;
	return 0;
}

/* A board that answers draws something: 0 W is a driver's way to say that it does not know. */
static void test_zero_is_unknown(void **state)
{
	struct nv nv;

	(void)state;
	nv_empty(&nv, "h100");
	nv.twist = twist_zero_power;
	assert_int_equal(nv_open(&nv, nv_library()), 0);
	nv_check_domains(&nv, "gpu-0 gpu-0");
	assert_string_equal(nv_channel(&nv, 1)->class->name, "hopper-draw 1000/100");
	nv_done(&nv);
}

/* ---- Every call fails in turn ---- */

static bool faulty_run(const char *root, const char *script, const char *op, unsigned n,
		       const char *how)
{
	bool wakes = strcmp(root, "nvidia-laptop") == 0;
	char spec[64];
	unsigned good = 0;
	struct nv nv;
	int rc;

	memset(&nv, 0, sizeof(nv));
	bench_copy(&nv.bench, root);
	nv.faulty = true;
	nv_prepare(&nv, script);
	snprintf(spec, sizeof(spec), "%s:%u:%s", op, n, how);
	assert_int_equal(wtl_io_set_fault(nv.bench.real, spec, NULL), 0);
	rc = nv_open(&nv, nv_library());
	assert_true(rc == 0 || rc == -ENOMEM);
	for (int i = 1; i <= 5; i++) {
		if (wakes && i == 2)
			bench_write(&nv.bench, PCI "0000:01:00.0/power/runtime_status", "active\n");
		nv_at(&nv, i);
		for (size_t k = 0; k < nv.bench.catalog.n_channels; k++) {
			const struct wtl_reading *reading = &nv.bench.readings[k];

			/* A figure or a reason, never a 0 in place of either. */
			assert_true(reading->status == WATTLE_STATUS_OK ? reading->value > 0
									: reading->value == 0);
			good += reading->status == WATTLE_STATUS_OK;
		}
	}
	if (rc == 0 && !nv.bench.catalog.n_channels)
		assert_true(nv.bench.catalog.n_misses > 0);
	nv_done(&nv);
	return good == (wakes ? 4 : 5 * 4);
}

static void fail_each(const char *root, const char *script, const char *op)
{
	unsigned clean = 0;

	for (unsigned n = 1; n < 300 && clean < 3; n++) {
		bool good = faulty_run(root, script, op, n, "EIO");

		(void)faulty_run(root, script, op, n, "EIO:always");
		clean = good ? clean + 1 : 0;
	}
	/* Behind the last call nothing is left to fail. */
	assert_true(clean >= 3);
}

static void test_faults(void **state)
{
	(void)state;
	fail_each("nvidia-server", "two", "lib");
	fail_each("nvidia-server", "two", "any");
	fail_each("nvidia-laptop", "laptop", "lib");
	fail_each("nvidia-laptop", "laptop", "any");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_lost_at_start),
		cmocka_unit_test(test_counter_reset),
		cmocka_unit_test(test_driver_reload),
		cmocka_unit_test(test_all_lost),
		cmocka_unit_test(test_flaky),
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_one_call_a_gpu),
		cmocka_unit_test(test_power_at_its_own_pace),
		cmocka_unit_test(test_null_handle),
		cmocka_unit_test(test_rubbish_fields),
		cmocka_unit_test(test_rubbish_texts),
		cmocka_unit_test(test_zero_is_unknown),
		cmocka_unit_test(test_null_handle_of_lost),
		cmocka_unit_test(test_other_card),
		cmocka_unit_test(test_few_files),
		cmocka_unit_test(test_tape),
		cmocka_unit_test(test_tape_of_waking),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
