/* SPDX-License-Identifier: MIT */
/*
 * The committed capture-*.nvml scripts against the whole outputs of nvidia-smi that they were made
 * from: what the reader says has to be what nvidia-smi wrote, number for number. Without the captures
 * (../shared/data) these tests are skipped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "nvml_bench.h"
#include "pass_io.h"
#include "sensors/gpu_info.h"

static const struct {
	const char *file, *script;
} captures[] = {
	{"nvidia-geforce-rtx-2080-super__595.71.05.txt", "capture-rtx2080s"},
	{"nvidia-h100-80gb-hbm3__590.48.01.txt", "capture-h100"},
	{"nvidia-h100-mig__590.48.01.txt", "capture-h100-mig"},
	{"nvidia-l40s__595.80.txt", "capture-l40s"},
};

/* How a field is written: value / divisor with that many decimals and a unit. */
static const struct {
	const char *field;
	enum wtl_gpu_number number;
	double divisor;
	int decimals;
	const char *unit;
} fields[] = {
	{"power.draw [W]", WTL_GPU_POWER_UW, 1e6, 2, " W"},
	{"power.draw.average [W]", WTL_GPU_POWER_AVERAGE_UW, 1e6, 2, " W"},
	{"power.draw.instant [W]", WTL_GPU_POWER_INSTANT_UW, 1e6, 2, " W"},
	{"power.limit [W]", WTL_GPU_LIMIT_REQUESTED_UW, 1e6, 2, " W"},
	{"enforced.power.limit [W]", WTL_GPU_LIMIT_UW, 1e6, 2, " W"},
	{"power.default_limit [W]", WTL_GPU_LIMIT_DEFAULT_UW, 1e6, 2, " W"},
	{"power.min_limit [W]", WTL_GPU_LIMIT_MIN_UW, 1e6, 2, " W"},
	{"power.max_limit [W]", WTL_GPU_LIMIT_MAX_UW, 1e6, 2, " W"},
	{"module.power.draw.average [W]", WTL_GPU_MODULE_POWER_AVERAGE_UW, 1e6, 2, " W"},
	{"module.power.draw.instant [W]", WTL_GPU_MODULE_POWER_INSTANT_UW, 1e6, 2, " W"},
	{"module.power.limit [W]", WTL_GPU_MODULE_LIMIT_REQUESTED_UW, 1e6, 2, " W"},
	{"module.enforced.power.limit [W]", WTL_GPU_MODULE_LIMIT_UW, 1e6, 2, " W"},
	{"module.power.default_limit [W]", WTL_GPU_MODULE_LIMIT_DEFAULT_UW, 1e6, 2, " W"},
	{"module.power.min_limit [W]", WTL_GPU_MODULE_LIMIT_MIN_UW, 1e6, 2, " W"},
	{"module.power.max_limit [W]", WTL_GPU_MODULE_LIMIT_MAX_UW, 1e6, 2, " W"},
	{"utilization.gpu [%]", WTL_GPU_USE_PERCENT, 1, 0, " %"},
	{"utilization.memory [%]", WTL_GPU_MEMORY_USE_PERCENT, 1, 0, " %"},
	{"utilization.encoder [%]", WTL_GPU_ENCODER_PERCENT, 1, 0, " %"},
	{"utilization.decoder [%]", WTL_GPU_DECODER_PERCENT, 1, 0, " %"},
	{"utilization.jpeg [%]", WTL_GPU_JPEG_PERCENT, 1, 0, " %"},
	{"utilization.ofa [%]", WTL_GPU_OFA_PERCENT, 1, 0, " %"},
	{"memory.total [MiB]", WTL_GPU_MEMORY_TOTAL_BYTES, 1048576, 0, " MiB"},
	{"memory.reserved [MiB]", WTL_GPU_MEMORY_RESERVED_BYTES, 1048576, 0, " MiB"},
	{"memory.used [MiB]", WTL_GPU_MEMORY_USED_BYTES, 1048576, 0, " MiB"},
	{"memory.free [MiB]", WTL_GPU_MEMORY_FREE_BYTES, 1048576, 0, " MiB"},
	{"temperature.gpu", WTL_GPU_TEMPERATURE_C, 1, 0, ""},
	{"temperature.gpu.tlimit", WTL_GPU_TEMPERATURE_MARGIN_C, 1, 0, ""},
	{"temperature.memory", WTL_GPU_MEMORY_TEMPERATURE_C, 1, 0, ""},
	{"clocks.current.graphics [MHz]", WTL_GPU_CLOCK_GRAPHICS_MHZ, 1, 0, " MHz"},
	{"clocks.current.sm [MHz]", WTL_GPU_CLOCK_SM_MHZ, 1, 0, " MHz"},
	{"clocks.current.memory [MHz]", WTL_GPU_CLOCK_MEMORY_MHZ, 1, 0, " MHz"},
	{"clocks.current.video [MHz]", WTL_GPU_CLOCK_VIDEO_MHZ, 1, 0, " MHz"},
	{"clocks.max.graphics [MHz]", WTL_GPU_CLOCK_GRAPHICS_MAX_MHZ, 1, 0, " MHz"},
	{"clocks.max.sm [MHz]", WTL_GPU_CLOCK_SM_MAX_MHZ, 1, 0, " MHz"},
	{"clocks.max.memory [MHz]", WTL_GPU_CLOCK_MEMORY_MAX_MHZ, 1, 0, " MHz"},
	{"fan.speed [%]", WTL_GPU_FAN_PERCENT, 1, 0, " %"},
	{"pcie.link.gen.current", WTL_GPU_PCIE_GEN, 1, 0, ""},
	{"pcie.link.gen.max", WTL_GPU_PCIE_GEN_MAX, 1, 0, ""},
	{"pcie.link.gen.gpumax", WTL_GPU_PCIE_GEN_GPU_MAX, 1, 0, ""},
	{"pcie.link.width.current", WTL_GPU_PCIE_WIDTH, 1, 0, ""},
	{"pcie.link.width.max", WTL_GPU_PCIE_WIDTH_MAX, 1, 0, ""},
	{"accounting.buffer_size", WTL_GPU_ACCOUNTING_BUFFER, 1, 0, ""},
	{"platform.module_id", WTL_GPU_MODULE_ID, 1, 0, ""},
	{"encoder.stats.sessionCount", WTL_GPU_ENCODER_SESSIONS, 1, 0, ""},
	{"encoder.stats.averageFps", WTL_GPU_ENCODER_FPS, 1, 0, ""},
	{"encoder.stats.averageLatency", WTL_GPU_ENCODER_LATENCY_US, 1, 0, ""},
	{"clocks_event_reasons_counters.sw_power_cap [us]", WTL_GPU_THROTTLED_SW_POWER_CAP_NS, 1e3,
	 0, " us"},
	{"clocks_event_reasons_counters.hw_thermal_slowdown [us]", WTL_GPU_THROTTLED_HW_THERMAL_NS,
	 1e3, 0, " us"},
	{"ecc.errors.corrected.volatile.total", WTL_GPU_ECC_CORRECTED_VOLATILE, 1, 0, ""},
	{"ecc.errors.uncorrected.aggregate.total", WTL_GPU_ECC_UNCORRECTED_AGGREGATE, 1, 0, ""},
	{"ecc.errors.uncorrected.volatile.dram", WTL_GPU_ECC_DRAM_UNCORRECTED_VOLATILE, 1, 0, ""},
	{"ecc.errors.corrected.aggregate.sram", WTL_GPU_ECC_SRAM_CORRECTED_AGGREGATE, 1, 0, ""},
	{"remapped_rows.correctable", WTL_GPU_REMAPPED_CORRECTABLE, 1, 0, ""},
	{"ecc.errors.uncorrected.volatile.sram.parity", WTL_GPU_ECC_SRAM_PARITY_VOLATILE, 1, 0, ""},
	{"ecc.errors.uncorrected.aggregate.sram.secded", WTL_GPU_ECC_SRAM_SECDED_AGGREGATE, 1, 0,
	 ""},
	{"ecc.errors.uncorrected.aggregate.sram.l2", WTL_GPU_ECC_SRAM_L2, 1, 0, ""},
	{"ecc.errors.uncorrected.aggregate.sram.other", WTL_GPU_ECC_SRAM_OTHER, 1, 0, ""},
	{"remapped_rows.correctable_inactive", WTL_GPU_REMAPPED_CORRECTABLE_INACTIVE, 1, 0, ""},
	{"remapped_rows.uncorrectable_inactive", WTL_GPU_REMAPPED_UNCORRECTABLE_INACTIVE, 1, 0, ""},
	{"edpp_multiplier [%]", WTL_GPU_EDPP_MICROPERCENT, 1e6, 2, " %"},
	{"platform.slot_number", WTL_GPU_PLATFORM_SLOT, 1, 0, ""},
	{"platform.tray_index", WTL_GPU_PLATFORM_TRAY, 1, 0, ""},
	{"platform.host_id", WTL_GPU_PLATFORM_HOST, 1, 0, ""},
	{"remapped_rows.histogram.max", WTL_GPU_REMAPPED_MAX, 1, 0, ""},
	{"remapped_rows.histogram.none", WTL_GPU_REMAPPED_NONE, 1, 0, ""},
	{"protected_memory.total [MiB]", WTL_GPU_PROTECTED_TOTAL_BYTES, 1048576, 0, " MiB"},
};

/* Modes, by two words: for 0 and for 1. */
static const struct {
	const char *field;
	enum wtl_gpu_number number;
	const char *words[2];
} modes[] = {
	{"display_active", WTL_GPU_DISPLAY_ACTIVE, {"Disabled", "Enabled"}},
	{"display_attached", WTL_GPU_DISPLAY_ATTACHED, {"No", "Yes"}},
	{"persistence_mode", WTL_GPU_PERSISTENCE, {"Disabled", "Enabled"}},
	{"accounting.mode", WTL_GPU_ACCOUNTING_MODE, {"Disabled", "Enabled"}},
	{"ecc.mode.current", WTL_GPU_ECC_MODE, {"Disabled", "Enabled"}},
	{"ecc.mode.pending", WTL_GPU_ECC_PENDING, {"Disabled", "Enabled"}},
	{"mig.mode.current", WTL_GPU_MIG_MODE, {"Disabled", "Enabled"}},
	{"gsp.mode.current", WTL_GPU_GSP_MODE, {"Disabled", "Enabled"}},
	{"addressing_mode", WTL_GPU_ADDRESSING_MODE, {"None", "HMM"}},
	{"c2c.mode", WTL_GPU_C2C_MODE, {"Disabled", "Enabled"}},
	{"inforom.checksum_validation", WTL_GPU_INFOROM_VALID, {"invalid", "valid"}},
	{"gpu_recovery_action", WTL_GPU_RECOVERY_ACTION, {"None", "Reset"}},
	{"platform.peer_type", WTL_GPU_PLATFORM_PEER, {"Direct Connected", "Switch Connected"}},
	{"ecc.errors.uncorrected.aggregate.sram.thresholdExceeded",
	 WTL_GPU_ECC_SRAM_EXCEEDED,
	 {"No", "Yes"}},
};

/* ---- The capture ---- */

struct capture {
	char *text;
	char *header, *row; /* two lines of the CSV */
	char *apps; /* the lines of --query-compute-apps below its header, up to an empty one */
};

/* The text after the section's title and command, its header line first; cut at the next empty line. */
static char *section(char *text, const char *title)
{
	char *at = strstr(text, title);

	assert_non_null(at);
	for (int i = 0; i < 3; i++)
		at = strchr(at, '\n') + 1;
	return at;
}

static char *line_after(char *line)
{
	char *end = strchr(line, '\n');

	assert_non_null(end);
	*end = '\0';
	return end + 1;
}

static bool capture_open(struct capture *capture, const char *file, const char *when)
{
	const char *data = getenv("WATTLE_SHARED_DATA");
	char path[64], title[64];
	char *end;

	snprintf(path, sizeof(path), "nvidia-smi/%s", file);
	capture->text = data ? unit_read(data, path) : NULL;
	if (!capture->text)
		return false;
	/* From the back, because lines are cut. */
	snprintf(title, sizeof(title), "# %s :: query-compute-apps", when);
	capture->apps = strchr(section(capture->text, title), '\n') + 1;
	end = *capture->apps == '\n' ? capture->apps : strstr(capture->apps, "\n\n");
	assert_non_null(end);
	*end = '\0';
	snprintf(title, sizeof(title), "# %s :: query-gpu", when);
	capture->header = section(capture->text, title);
	capture->row = line_after(capture->header);
	line_after(capture->row);
	return true;
}

/* The cell of a column, or false: the driver has no such field. Cells have no commas. */
static bool cell(const struct capture *capture, const char *field, char *text, size_t size)
{
	const char *name = capture->header, *value = capture->row;

	for (;;) {
		size_t name_len = strcspn(name, ","), value_len = strcspn(value, ",");

		if (strlen(field) == name_len && strncmp(name, field, name_len) == 0) {
			snprintf(text, size, "%.*s", (int)value_len, value);
			return true;
		}
		if (!name[name_len] || !value[value_len])
			return false;
		name += name_len + 2;
		value += value_len + 2;
	}
}

/* ---- The comparison ---- */

static void write_number(const struct wtl_gpu_value *value, size_t i, char *text, size_t size)
{
	if (value->status != WATTLE_STATUS_OK)
		snprintf(text, size, "%s",
			 strcmp(fields[i].field, "temperature.memory") == 0 ? "N/A" : "[N/A]");
	else
		snprintf(text, size, "%.*f%s", fields[i].decimals,
			 (double)(int64_t)value->value / fields[i].divisor, fields[i].unit);
}

static unsigned compare_numbers(const struct capture *capture, const struct wtl_gpu *gpu)
{
	unsigned compared = 0;

	for (size_t i = 0; i < UNIT_COUNT(fields); i++) {
		char expected[96], text[96];

		if (!cell(capture, fields[i].field, expected, sizeof(expected)))
			continue;
		write_number(&gpu->numbers[fields[i].number], i, text, sizeof(text));
		if (strcmp(expected, text) != 0)
			fail_msg("%s: %s, not %s", fields[i].field, text, expected);
		compared++;
	}
	for (size_t i = 0; i < UNIT_COUNT(modes); i++) {
		const struct wtl_gpu_value *value = &gpu->numbers[modes[i].number];
		char expected[96];

		if (!cell(capture, modes[i].field, expected, sizeof(expected)))
			continue;
		if (value->status != WATTLE_STATUS_OK) {
			assert_string_equal(expected, "[N/A]");
		} else {
			assert_true(value->value < 2);
			assert_string_equal(modes[i].words[value->value], expected);
		}
		compared++;
	}
	return compared;
}

static void compare_text(const struct capture *capture, const char *field, const char *text)
{
	char expected[96];

	assert_true(cell(capture, field, expected, sizeof(expected)));
	assert_string_equal(text[0] ? text : "[N/A]", expected);
}

static void compare_identity(const struct capture *capture, const struct wtl_gpu *gpu)
{
	char text[96], expected[96];

	compare_text(capture, "name", gpu->name);
	compare_text(capture, "uuid", gpu->uuid);
	compare_text(capture, "serial", gpu->serial);
	compare_text(capture, "pci.bus_id", gpu->bus_id);
	compare_text(capture, "pci.device_id", gpu->pci_device_id);
	compare_text(capture, "pci.sub_device_id", gpu->pci_subsystem_id);
	compare_text(capture, "vbios_version", gpu->vbios);
	compare_text(capture, "driver_version", gpu->driver);
	compare_text(capture, "compute_cap", gpu->compute_capability);
	compare_text(capture, "inforom.img", gpu->inforom_image);
	compare_text(capture, "inforom.oem", gpu->inforom_oem);
	compare_text(capture, "inforom.ecc", gpu->inforom_ecc);
	compare_text(capture, "inforom.pwr", gpu->inforom_power);
	snprintf(text, sizeof(text), "P%d", (int)gpu->numbers[WTL_GPU_PSTATE].value);
	compare_text(capture, "pstate", text);
	snprintf(text, sizeof(text), "0x%016llX",
		 (unsigned long long)gpu->numbers[WTL_GPU_THROTTLE].value);
	compare_text(capture, "clocks_event_reasons.active", text);
	snprintf(text, sizeof(text), "0x%016llX",
		 (unsigned long long)gpu->numbers[WTL_GPU_THROTTLE_KNOWN].value);
	compare_text(capture, "clocks_event_reasons.supported", text);
	assert_true(cell(capture, "fabric.clusterUuid", expected, sizeof(expected)));
	assert_string_equal(gpu->fabric_cluster[0] ? gpu->fabric_cluster : "N/A", expected);
	assert_true(cell(capture, "fabric.status", expected, sizeof(expected)));
	assert_string_equal(gpu->fabric_status[0] ? gpu->fabric_status : "N/A", expected);
	/* A code of its own, which is not "not available". */
	assert_true(
		cell(capture, "clocks.applications.graphics [MHz]", expected, sizeof(expected)));
	assert_int_equal(gpu->numbers[WTL_GPU_CLOCK_GRAPHICS_APPLICATION_MHZ].code,
			 strstr(expected, "deprecated") ? 26 : 0);
}

/* The lines of those that compute as nvidia-smi writes them, from the PID on. */
static void compare_processes(const struct capture *capture, const struct wtl_gpu *gpu)
{
	const char *line = capture->apps;

	for (size_t i = 0; i < gpu->n_processes; i++) {
		char text[256];
		const char *pid = line;

		if (gpu->processes[i].types == WTL_GPU_PROCESS_GRAPHICS)
			continue;
		snprintf(text, sizeof(text), "%d, %s, %llu MiB", gpu->processes[i].pid,
			 gpu->processes[i].name,
			 (unsigned long long)(gpu->processes[i].memory_bytes >> 20));
		for (int column = 0; column < 5; column++)
			pid = strstr(pid, ", ") + 2;
		assert_int_equal(strncmp(pid, text, strlen(text)), 0);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	assert_string_equal(line, "");
}

static void compare(size_t i, const char *when)
{
	struct capture capture;
	struct wtl_machine machine;
	const struct wtl_source_options options = {.nvml_path = nv_library(), .machine = &machine};
	struct wtl_gpu_reader *reader;
	const struct wtl_gpu *gpus;
	char script[64];
	struct nv nv;
	size_t n;

	if (!capture_open(&capture, captures[i].file, when)) {
		print_message("no captures in ../shared/data\n");
		skip();
	}
	snprintf(script, sizeof(script), "%s-%s", captures[i].script, when);
	nv_empty(&nv, script);
	nv.ops.lib_has = pass_lib_has;
	assert_int_equal(wtl_machine_read(&nv.bench.io, &machine), 0);
	assert_int_equal(
		wtl_gpu_reader_new(&(struct wtl_env){.io = &nv.bench.io}, &options, &reader, NULL),
		0);
	nv_set_time(&nv, S(2));
	wtl_gpu_reader_read(reader, WTL_GPU_READ_NUMBERS | WTL_GPU_READ_PROCESSES |
					    WTL_GPU_READ_DETAILS | WTL_GPU_READ_INFOROM);
	gpus = wtl_gpu_reader_gpus(reader, &n);
	assert_int_equal(n, 1);
	compare_identity(&capture, gpus);
	assert_true(compare_numbers(&capture, gpus) >= 60);
	compare_processes(&capture, gpus);
	wtl_gpu_reader_free(reader);
	nv_done(&nv);
	free(capture.text);
}

#define CAPTURE(name, i)                      \
	static void name##_idle(void **state) \
	{                                     \
		(void)state;                  \
		compare(i, "idle");           \
	}                                     \
	static void name##_load(void **state) \
	{                                     \
		(void)state;                  \
		compare(i, "load");           \
	}

CAPTURE(rtx2080s, 0)
CAPTURE(h100, 1)
CAPTURE(h100_mig, 2)
CAPTURE(l40s, 3)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rtx2080s_idle), cmocka_unit_test(rtx2080s_load),
		cmocka_unit_test(h100_idle),	 cmocka_unit_test(h100_load),
		cmocka_unit_test(h100_mig_idle), cmocka_unit_test(h100_mig_load),
		cmocka_unit_test(l40s_idle),	 cmocka_unit_test(l40s_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
