/* SPDX-License-Identifier: MIT */
/* What AMD's and Intel's GPUs tell of themselves, by fixture roots. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "base/err.h"
#include "pass_io.h"
#include "sensors/gpu_info.h"
#include "sensors/gpu_sysfs.h"
#include "source_bench.h"

#define SECOND INT64_C(1000000000)
#define CARD0  "/sys/devices/pci0000:00/0000:00:03.1/0000:07:00.0/0000:08:00.0/0000:09:00.0"
#define CARD1  "/sys/devices/pci0000:00/0000:00:01.2/0000:02:00.0/0000:03:00.0/0000:05:00.0"
#define HWMON0 CARD0 "/hwmon/hwmon1"
#define B580   "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:03:00.0"

static struct wtl_gpu_reader *open_reader(struct bench *bench)
{
	struct wtl_machine machine;
	const struct wtl_source_options options = {.nvml_path = "", .machine = &machine};
	const struct wtl_env env = {.io = &bench->io};
	struct wtl_gpu_reader *reader = NULL;

	assert_int_equal(wtl_machine_read(env.io, &machine), 0);
	assert_int_equal(wtl_gpu_reader_new(&env, &options, &reader, NULL), 0);
	return reader;
}

static void check(const struct wtl_gpu *gpu, enum wtl_gpu_number number, uint64_t value)
{
	if (gpu->numbers[number].status != WATTLE_STATUS_OK)
		fail_msg("number %d: status %d", number, gpu->numbers[number].status);
	assert_int_equal(gpu->numbers[number].value, value);
}

static void check_not(const struct wtl_gpu *gpu, enum wtl_gpu_number number,
		      enum wattle_status status)
{
	assert_int_equal(gpu->numbers[number].status, status);
	assert_int_equal(gpu->numbers[number].value, 0);
}

/* ---- Formats ---- */

static void dpm_tables(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t now, max;
	} tables[] = {
		{"0: 500Mhz \n1: 2371Mhz *\n2: 2526Mhz \n", true, 2371, 2526},
		{"S: 19Mhz *\n0: 500Mhz \n1: 2100Mhz \n", true, 19, 2100},
		{"0: 96MHz *", true, 96, 96},
		{"0: 500Mhz\n", true, UINT64_MAX, 500},
		{"", false, 0, 0},
		{"no clocks here\n", false, 0, 0},
		{"0: Mhz *\n", false, 0, 0},
		{"0: 99999999999999999999Mhz *\n1: 7Mhz\n", true, UINT64_MAX, 7},
		{"OD_SCLK:\n0: 500Mhz\n", true, UINT64_MAX, 500},
		{"0: 12W *\n", false, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(tables); i++) {
		uint64_t now = 1, max = 1;

		assert_int_equal(
			wtl_gpu_dpm_parse(tables[i].text, strlen(tables[i].text), &now, &max),
			tables[i].ok);
		assert_int_equal(now, tables[i].ok ? tables[i].now : 1);
		assert_int_equal(max, tables[i].ok ? tables[i].max : 1);
	}
}

static void link_generations(void **state)
{
	static const struct {
		const char *text;
		unsigned gen;
	} links[] = {
		{"2.5 GT/s PCIe", 1},  {"5.0 GT/s PCIe", 2}, {"8.0 GT/s PCIe", 3},
		{"16.0 GT/s PCIe", 4}, {"32.0 GT/s", 5},     {"64.0 GT/s PCIe", 6},
		{"8 GT/s", 3},	       {"Unknown", 0},	     {"", 0},
		{"12.5 GT/s", 0},      {"16.0", 0},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(links); i++)
		assert_int_equal(wtl_gpu_link_gen(links[i].text, strlen(links[i].text)),
				 links[i].gen);
}

/* ---- AMD ---- */

static void amd_cards(void **state)
{
	struct bench bench;
	struct wtl_gpu_reader *reader;
	const struct wtl_gpu *gpus;
	size_t n;

	(void)state;
	bench_root(&bench, "amd-gpu");
	reader = open_reader(&bench);
	wtl_gpu_reader_read(reader, WTL_GPU_READ_NUMBERS);
	gpus = wtl_gpu_reader_gpus(reader, &n);
	assert_int_equal(n, 2);
	assert_string_equal(gpus[0].vendor, "amd");
	assert_string_equal(gpus[0].name, "AMD GPU 744c");
	assert_string_equal(gpus[0].domain, "gpu-0");
	assert_string_equal(gpus[0].driver, "amdgpu");
	assert_string_equal(gpus[0].bus_id, "00000000:09:00.0");
	assert_int_equal(gpus[0].pci_bus, 9);
	assert_string_equal(gpus[0].pci_device_id, "0x744C1002");
	assert_string_equal(gpus[0].pci_subsystem_id, "0xE4711DA2");
	assert_string_equal(gpus[0].uuid, "0000000000000000");
	assert_string_equal(gpus[0].vbios, "113-D70401-00");
	check(&gpus[0], WTL_GPU_POWER_UW, 87000000);
	check(&gpus[0], WTL_GPU_POWER_AVERAGE_UW, 87000000);
	check_not(&gpus[0], WTL_GPU_POWER_INSTANT_UW, WATTLE_STATUS_ABSENT);
	check_not(&gpus[0], WTL_GPU_ENERGY_UJ, WATTLE_STATUS_ABSENT);
	check(&gpus[0], WTL_GPU_LIMIT_UW, 315000000);
	check(&gpus[0], WTL_GPU_LIMIT_REQUESTED_UW, 315000000);
	check(&gpus[0], WTL_GPU_LIMIT_MIN_UW, 283000000);
	check(&gpus[0], WTL_GPU_LIMIT_MAX_UW, 362000000);
	check(&gpus[0], WTL_GPU_USE_PERCENT, 17);
	check(&gpus[0], WTL_GPU_MEMORY_USE_PERCENT, 3);
	check(&gpus[0], WTL_GPU_MEMORY_TOTAL_BYTES, 25753026560);
	check(&gpus[0], WTL_GPU_MEMORY_USED_BYTES, 1287651328);
	check(&gpus[0], WTL_GPU_MEMORY_FREE_BYTES, 25753026560 - 1287651328);
	check(&gpus[0], WTL_GPU_TEMPERATURE_C, 52);
	check(&gpus[0], WTL_GPU_MEMORY_TEMPERATURE_C, 58);
	check(&gpus[0], WTL_GPU_CLOCK_GRAPHICS_MHZ, 2371);
	check(&gpus[0], WTL_GPU_CLOCK_GRAPHICS_MAX_MHZ, 2526);
	check(&gpus[0], WTL_GPU_CLOCK_SM_MAX_MHZ, 2526);
	check(&gpus[0], WTL_GPU_CLOCK_MEMORY_MHZ, 96);
	check(&gpus[0], WTL_GPU_CLOCK_MEMORY_MAX_MHZ, 1249);
	check(&gpus[0], WTL_GPU_FAN_PERCENT, 21);
	check(&gpus[0], WTL_GPU_PCIE_GEN, 4);
	check(&gpus[0], WTL_GPU_PCIE_WIDTH_MAX, 16);
	check(&gpus[0], WTL_GPU_PCI_CLASS, 0x300);
	check_not(&gpus[0], WTL_GPU_ECC_MODE, WATTLE_STATUS_ABSENT);
	/* The sleeping one keeps its row; reading its files would answer EPERM. */
	assert_int_equal(gpus[1].status, WATTLE_STATUS_ASLEEP);
	assert_string_equal(gpus[1].domain, "gpu-1");
	assert_string_equal(gpus[1].name, "AMD GPU 7480");
	check_not(&gpus[1], WTL_GPU_POWER_UW, WATTLE_STATUS_ASLEEP);
	wtl_gpu_reader_free(reader);
	bench_done(&bench);
}

static void amd_wakes_and_goes(void **state)
{
	struct bench bench;
	struct wtl_gpu_reader *reader;
	const struct wtl_gpu *gpus;
	size_t n;

	(void)state;
	bench_copy(&bench, "amd-gpu");
	reader = open_reader(&bench);
	bench_write(&bench, CARD1 "/power/runtime_status", "active\n");
	bench_write(&bench, CARD1 "/hwmon/hwmon2/power1_average", "9000000\n");
	bench_write(&bench, CARD1 "/product_name", "Radeon PRO\n");
	bench_write(&bench, CARD0 "/power/runtime_status", "suspended\n");
	wtl_gpu_reader_read(reader, WTL_GPU_READ_NUMBERS);
	gpus = wtl_gpu_reader_gpus(reader, &n);
	assert_int_equal(gpus[0].status, WATTLE_STATUS_ASLEEP);
	assert_string_equal(gpus[0].name, "AMD GPU 744c");
	assert_int_equal(gpus[1].status, WATTLE_STATUS_OK);
	assert_string_equal(gpus[1].name, "Radeon PRO");
	check(&gpus[1], WTL_GPU_POWER_UW, 9000000);
	/* Its other files still answer EPERM: denied is not absent. */
	check_not(&gpus[1], WTL_GPU_USE_PERCENT, WATTLE_STATUS_DENIED);

	bench_write(&bench, CARD0 "/power/runtime_status", "active\n");
	bench_write(&bench, CARD0 "/gpu_busy_percent", "rubbish\n");
	bench_write(&bench, CARD0 "/pp_dpm_sclk", "\n");
	bench_write(&bench, HWMON0 "/pwm1", "300\n");
	wtl_gpu_reader_read(reader, WTL_GPU_READ_NUMBERS);
	check(&gpus[0], WTL_GPU_POWER_UW, 87000000);
	check_not(&gpus[0], WTL_GPU_USE_PERCENT, WATTLE_STATUS_FAILED);
	check_not(&gpus[0], WTL_GPU_CLOCK_GRAPHICS_MAX_MHZ, WATTLE_STATUS_FAILED);
	check_not(&gpus[0], WTL_GPU_FAN_PERCENT, WATTLE_STATUS_FAILED);

	bench_remove(&bench, CARD0);
	wtl_gpu_reader_read(reader, WTL_GPU_READ_NUMBERS);
	assert_int_equal(gpus[0].status, WATTLE_STATUS_GONE);
	wtl_gpu_reader_free(reader);
	bench_done(&bench);
}

static void amd_apu_has_a_row(void **state)
{
	struct bench bench;
	struct wtl_gpu_reader *reader;
	const struct wtl_gpu *gpus;
	size_t n;

	(void)state;
	bench_root(&bench, "amd-apu");
	reader = open_reader(&bench);
	wtl_gpu_reader_read(reader, WTL_GPU_READ_NUMBERS);
	gpus = wtl_gpu_reader_gpus(reader, &n);
	assert_int_equal(n, 1);
	assert_string_equal(gpus[0].name, "AMD APU 15bf");
	assert_string_equal(gpus[0].domain, "gpu-0");
	check(&gpus[0], WTL_GPU_POWER_UW, 6110000);
	check(&gpus[0], WTL_GPU_POWER_INSTANT_UW, 6098000);
	wtl_gpu_reader_free(reader);
	bench_done(&bench);
}

/* ---- Setting ---- */

static int denied(struct wtl_io *io, const char *path, const void *data, size_t len)
{
	(void)io;
	(void)path;
	(void)data;
	(void)len;
	return -EACCES;
}

static int invalid(struct wtl_io *io, const char *path, const void *data, size_t len)
{
	(void)io;
	(void)path;
	(void)data;
	(void)len;
	return -EINVAL;
}

static void amd_limit(void **state)
{
	struct bench bench;
	struct wtl_gpu_reader *reader;
	struct wtl_io_ops ops;
	const struct wtl_gpu *gpus;
	struct wtl_err err = {0};
	char *text;
	size_t n;

	(void)state;
	bench_copy(&bench, "amd-gpu");
	reader = open_reader(&bench);
	gpus = wtl_gpu_reader_gpus(reader, &n);
	assert_int_equal(wtl_gpu_reader_set_limit(reader, 0, 300000000, &err), 0);
	text = unit_read(bench.root, HWMON0 "/power1_cap");
	assert_string_equal(text, "300000000\n");
	free(text);
	wtl_gpu_reader_read(reader, WTL_GPU_READ_NUMBERS);
	check(&gpus[0], WTL_GPU_LIMIT_UW, 300000000);

	assert_int_equal(wtl_gpu_reader_set_limit(reader, 0, 400000000, &err), -ERANGE);
	assert_non_null(strstr(err.text, "283.00 to 362.00 W"));
	assert_int_equal(wtl_gpu_reader_set_limit(reader, 1, 300000000, &err), -ENODEV);
	assert_non_null(strstr(err.text, "suspended"));
	assert_int_equal(wtl_gpu_reader_set_persistence(reader, 0, true, &err), -EOPNOTSUPP);

	ops = *bench.io.ops;
	ops.file_write = denied;
	bench.io.ops = &ops;
	assert_int_equal(wtl_gpu_reader_set_limit(reader, 0, 310000000, &err), -EACCES);
	assert_non_null(strstr(err.text, "root"));
	ops.file_write = invalid;
	assert_int_equal(wtl_gpu_reader_set_limit(reader, 0, 310000000, &err), -ERANGE);
	wtl_gpu_reader_free(reader);
	bench_done(&bench);
}

/* ---- Intel ---- */

static void intel_cards(void **state)
{
	struct bench bench;
	struct wtl_gpu_reader *reader;
	const struct wtl_gpu *gpus;
	struct wtl_err err = {0};
	size_t n;

	(void)state;
	bench_copy(&bench, "intel-gpu");
	reader = open_reader(&bench);
	wtl_gpu_reader_read(reader, WTL_GPU_READ_NUMBERS);
	gpus = wtl_gpu_reader_gpus(reader, &n);
	assert_int_equal(n, 3);
	/* Integrated graphics is a part of the package: no domain of its own. */
	assert_string_equal(gpus[0].name, "Intel graphics 4692");
	assert_string_equal(gpus[0].domain, "");
	check(&gpus[0], WTL_GPU_CLOCK_GRAPHICS_MHZ, 350);
	check(&gpus[0], WTL_GPU_CLOCK_GRAPHICS_MAX_MHZ, 1400);
	check_not(&gpus[0], WTL_GPU_THROTTLE, WATTLE_STATUS_ABSENT);
	check_not(&gpus[0], WTL_GPU_POWER_UW, WATTLE_STATUS_ABSENT);

	assert_string_equal(gpus[1].name, "Intel GPU e20b");
	assert_string_equal(gpus[1].domain, "gpu-0");
	assert_string_equal(gpus[1].driver, "xe");
	check(&gpus[1], WTL_GPU_ENERGY_UJ, 30114886223);
	/* Power takes two readings of the counter. */
	check_not(&gpus[1], WTL_GPU_POWER_UW, WATTLE_STATUS_ABSENT);
	check(&gpus[1], WTL_GPU_LIMIT_UW, 190000000);
	check(&gpus[1], WTL_GPU_TEMPERATURE_C, 46);
	check(&gpus[1], WTL_GPU_MEMORY_TEMPERATURE_C, 52);
	check(&gpus[1], WTL_GPU_CLOCK_GRAPHICS_MHZ, 2850);
	check(&gpus[1], WTL_GPU_THROTTLE, WTL_THROTTLE_SW_POWER_CAP);
	check(&gpus[1], WTL_GPU_PCIE_GEN, 1);
	check(&gpus[1], WTL_GPU_PCIE_WIDTH, 1);

	assert_string_equal(gpus[2].domain, "gpu-1");
	check(&gpus[2], WTL_GPU_CLOCK_GRAPHICS_MHZ, 0);
	check(&gpus[2], WTL_GPU_THROTTLE, 0);
	check(&gpus[2], WTL_GPU_THROTTLE_KNOWN,
	      WTL_THROTTLE_SW_POWER_CAP | WTL_THROTTLE_HW_THERMAL);

	bench_write(&bench, B580 "/hwmon/hwmon2/energy1_input", "30214886223\n");
	bench.now_ns += 2 * SECOND;
	wtl_gpu_reader_read(reader, WTL_GPU_READ_NUMBERS);
	check(&gpus[1], WTL_GPU_POWER_UW, 50000000);
	check(&gpus[1], WTL_GPU_POWER_AVERAGE_UW, 50000000);
	/* A GPU always draws something: what stands still tells nothing. */
	check_not(&gpus[2], WTL_GPU_POWER_UW, WATTLE_STATUS_ABSENT);
	bench.now_ns += 2 * SECOND;
	wtl_gpu_reader_read(reader, WTL_GPU_READ_NUMBERS);
	check_not(&gpus[1], WTL_GPU_POWER_UW, WATTLE_STATUS_ABSENT);
	check_not(&gpus[1], WTL_GPU_POWER_AVERAGE_UW, WATTLE_STATUS_ABSENT);
	bench_write(&bench, B580 "/hwmon/hwmon2/energy1_input", "30314886223\n");
	bench.now_ns += 2 * SECOND;
	wtl_gpu_reader_read(reader, WTL_GPU_READ_NUMBERS);
	check(&gpus[1], WTL_GPU_POWER_UW, 25000000);

	assert_int_equal(wtl_gpu_reader_set_limit(reader, 1, 100000000, &err), -EOPNOTSUPP);
	wtl_gpu_reader_free(reader);
	bench_done(&bench);
}

/* ---- Processes ---- */

#define FDINFO                                                                        \
	"pos:\t0\ndrm-driver:\tamdgpu\ndrm-client-id:\t42\ndrm-pdev:\t0000:09:00.0\n" \
	"drm-memory-vram:\t2048 KiB\ndrm-engine-gfx:\t%llu ns\ndrm-engine-enc:\t%llu ns\n"

static void put_client(struct bench *bench, unsigned long long gfx, unsigned long long enc)
{
	char text[512];

	snprintf(text, sizeof(text), FDINFO, gfx, enc);
	bench_write(bench, "/proc/2001/fdinfo/7", text);
}

static void processes_by_fdinfo(void **state)
{
	struct bench bench;
	struct wtl_gpu_reader *reader;
	const struct wtl_gpu *gpus;
	size_t n;

	(void)state;
	bench_copy(&bench, "amd-gpu");
	bench_write(&bench, "/proc/2001/cmdline", "blender");
	bench_link(&bench, "/proc/2001/fd/7", "/dev/dri/renderD128");
	put_client(&bench, 1000, 0);
	reader = open_reader(&bench);
	wtl_gpu_reader_read(reader, WTL_GPU_READ_PROCESSES | WTL_GPU_READ_USE);
	gpus = wtl_gpu_reader_gpus(reader, &n);
	assert_int_equal(gpus[0].n_processes, 1);
	assert_int_equal(gpus[0].processes_status, WATTLE_STATUS_OK);
	assert_int_equal(gpus[0].processes[0].pid, 2001);
	assert_string_equal(gpus[0].processes[0].name, "blender");
	assert_int_equal(gpus[0].processes[0].memory_bytes, 2 << 20);
	assert_false(gpus[0].processes[0].has_use);
	assert_int_equal(gpus[1].n_processes, 0);

	put_client(&bench, 1000 + SECOND / 2, SECOND / 10);
	bench.now_ns += SECOND;
	wtl_gpu_reader_read(reader, WTL_GPU_READ_PROCESSES | WTL_GPU_READ_USE);
	assert_true(gpus[0].processes[0].has_use);
	assert_int_equal(gpus[0].processes[0].sm_percent, 50);
	assert_int_equal(gpus[0].processes[0].decoder_percent, 10);
	wtl_gpu_reader_free(reader);
	bench_done(&bench);
}

/* No GPU at all, and no more than that. */
static void nothing_there(void **state)
{
	struct bench bench;
	struct wtl_gpu_reader *reader;
	size_t n;

	(void)state;
	bench_root(&bench, "vm-nothing");
	reader = open_reader(&bench);
	wtl_gpu_reader_gpus(reader, &n);
	assert_int_equal(n, 0);
	wtl_gpu_reader_read(reader, WTL_GPU_READ_NUMBERS | WTL_GPU_READ_PROCESSES);
	assert_int_equal(wtl_gpu_reader_set_limit(reader, 0, 1, NULL), -EINVAL);
	assert_string_equal(wtl_gpu_reader_driver_version(reader), "");
	wtl_gpu_reader_free(reader);
	wtl_gpu_reader_free(NULL);
	bench_done(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dpm_tables),	     cmocka_unit_test(link_generations),
		cmocka_unit_test(amd_cards),	     cmocka_unit_test(amd_wakes_and_goes),
		cmocka_unit_test(amd_apu_has_a_row), cmocka_unit_test(amd_limit),
		cmocka_unit_test(intel_cards),	     cmocka_unit_test(processes_by_fdinfo),
		cmocka_unit_test(nothing_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
