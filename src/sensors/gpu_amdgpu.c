/* SPDX-License-Identifier: MIT */
/* AMD GPUs for people to look at: amdgpu's files (Documentation/gpu/amdgpu/thermal.rst and
 * driver-misc.rst of the kernel). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/text.h"
#include "sensors/amdgpu.h"
#include "sensors/gpu_sysfs.h"

enum {
	VENDOR_AMD = 0x1002,
	TEMPERATURES = 3, /* edge, junction, mem */
};

static const struct {
	const char *file;
	uint64_t factor, divisor;
	enum wtl_gpu_number to;
	bool is_hwmon;
} numbers[] = {
	{"power1_average", 1, 1, WTL_GPU_POWER_AVERAGE_UW, true},
	{"power1_input", 1, 1, WTL_GPU_POWER_INSTANT_UW, true},
	{"energy1_input", 1, 1, WTL_GPU_ENERGY_UJ, true},
	{"power1_cap", 1, 1, WTL_GPU_LIMIT_UW, true},
	{"power1_cap_default", 1, 1, WTL_GPU_LIMIT_DEFAULT_UW, true},
	{"power1_cap_min", 1, 1, WTL_GPU_LIMIT_MIN_UW, true},
	{"power1_cap_max", 1, 1, WTL_GPU_LIMIT_MAX_UW, true},
	{"gpu_busy_percent", 1, 1, WTL_GPU_USE_PERCENT, false},
	{"mem_busy_percent", 1, 1, WTL_GPU_MEMORY_USE_PERCENT, false},
	{"mem_info_vram_total", 1, 1, WTL_GPU_MEMORY_TOTAL_BYTES, false},
	{"mem_info_vram_used", 1, 1, WTL_GPU_MEMORY_USED_BYTES, false},
	{"freq1_input", 1, 1000000, WTL_GPU_CLOCK_GRAPHICS_MHZ, true},
	{"freq2_input", 1, 1000000, WTL_GPU_CLOCK_MEMORY_MHZ, true},
};

/* An APU that shows no power has no domain: it is a part of the CPU's package. */
static bool has_domain(struct wtl_io *io, const struct wtl_hwmon_gpu *where)
{
	return !wtl_amdgpu_is_apu(io, where) ||
	       (where->hwmon[0] && (wtl_hwmon_dir_has(io, where->hwmon, "power1_average") ||
				    wtl_hwmon_dir_has(io, where->hwmon, "power1_input")));
}

static void identify(struct wtl_gpus_sysfs *gpus, struct wtl_gpu_sysfs_gpu *own,
		     struct wtl_gpu *gpu)
{
	const char *device = own->where.device;

	wtl_gpu_sysfs_text(gpus->io, device, "product_name", gpu->name, sizeof(gpu->name));
	if (!gpu->name[0])
		snprintf(gpu->name, sizeof(gpu->name), "AMD %s %04x",
			 wtl_amdgpu_is_apu(gpus->io, &own->where) ? "APU" : "GPU",
			 own->where.id & 0xffff);
	wtl_gpu_sysfs_text(gpus->io, device, "unique_id", gpu->uuid, sizeof(gpu->uuid));
	wtl_gpu_sysfs_text(gpus->io, device, "serial_number", gpu->serial, sizeof(gpu->serial));
	wtl_gpu_sysfs_text(gpus->io, device, "vbios_version", gpu->vbios, sizeof(gpu->vbios));
}

/* The clock in use, where hwmon does not say, and the highest. */
static void read_dpm(struct wtl_io *io, const char *device, const char *name, struct wtl_gpu *gpu,
		     enum wtl_gpu_number now, enum wtl_gpu_number max)
{
	char path[96], text[1024];
	uint64_t now_mhz, max_mhz;
	ssize_t len;

	snprintf(path, sizeof(path), "%s/%s", device, name);
	len = wtl_io_slurp(io, path, text, sizeof(text));
	if (len < 0 || !wtl_gpu_dpm_parse(text, (size_t)len, &now_mhz, &max_mhz)) {
		wtl_gpu_unset(gpu, max,
			      len == -ENOENT ? WATTLE_STATUS_ABSENT : WATTLE_STATUS_FAILED, 0);
		return;
	}
	wtl_gpu_set(gpu, max, max_mhz);
	if (gpu->numbers[now].status != WATTLE_STATUS_OK && now_mhz != UINT64_MAX)
		wtl_gpu_set(gpu, now, now_mhz);
}

static void read_temperatures(struct wtl_io *io, const char *hwmon, struct wtl_gpu *gpu)
{
	for (unsigned i = 1; i <= TEMPERATURES; i++) {
		char name[24], label[16];
		enum wtl_gpu_number to = WTL_GPU_TEMPERATURE_C;

		snprintf(name, sizeof(name), "temp%u_label", i);
		wtl_gpu_sysfs_text(io, hwmon, name, label, sizeof(label));
		if (strcmp(label, "mem") == 0)
			to = WTL_GPU_MEMORY_TEMPERATURE_C;
		else if (i > 1) /* the junction; a GPU without an edge has it first */
			continue;
		snprintf(name, sizeof(name), "temp%u_input", i);
		wtl_gpu_sysfs_number(io, hwmon, name, 1, 1000, gpu, to);
	}
}

static void read_fan(struct wtl_io *io, const char *hwmon, struct wtl_gpu *gpu)
{
	wtl_gpu_sysfs_number(io, hwmon, "pwm1", 100, 255, gpu, WTL_GPU_FAN_PERCENT);
	if (gpu->numbers[WTL_GPU_FAN_PERCENT].status == WATTLE_STATUS_OK &&
	    gpu->numbers[WTL_GPU_FAN_PERCENT].value > 100)
		wtl_gpu_unset(gpu, WTL_GPU_FAN_PERCENT, WATTLE_STATUS_FAILED, -ERANGE);
}

/* What follows from the others. */
static void complete(struct wtl_gpu *gpu)
{
	struct wtl_gpu_value *at = gpu->numbers;
	const struct wtl_gpu_value *total = &at[WTL_GPU_MEMORY_TOTAL_BYTES];
	const struct wtl_gpu_value *used = &at[WTL_GPU_MEMORY_USED_BYTES];

	at[WTL_GPU_POWER_UW] = at[WTL_GPU_POWER_AVERAGE_UW].status == WATTLE_STATUS_OK
				       ? at[WTL_GPU_POWER_AVERAGE_UW]
				       : at[WTL_GPU_POWER_INSTANT_UW];
	at[WTL_GPU_LIMIT_REQUESTED_UW] = at[WTL_GPU_LIMIT_UW];
	at[WTL_GPU_CLOCK_SM_MHZ] = at[WTL_GPU_CLOCK_GRAPHICS_MHZ];
	at[WTL_GPU_CLOCK_SM_MAX_MHZ] = at[WTL_GPU_CLOCK_GRAPHICS_MAX_MHZ];
	if (total->status == WATTLE_STATUS_OK && used->status == WATTLE_STATUS_OK &&
	    used->value <= total->value)
		wtl_gpu_set(gpu, WTL_GPU_MEMORY_FREE_BYTES, total->value - used->value);
	else
		wtl_gpu_unset(gpu, WTL_GPU_MEMORY_FREE_BYTES, WATTLE_STATUS_ABSENT, 0);
}

static void read_numbers(struct wtl_gpus_sysfs *gpus, struct wtl_gpu_sysfs_gpu *own,
			 struct wtl_gpu *gpu)
{
	const char *device = own->where.device, *hwmon = own->where.hwmon;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		wtl_gpu_sysfs_number(gpus->io, numbers[i].is_hwmon ? hwmon : device,
				     numbers[i].file, numbers[i].factor, numbers[i].divisor, gpu,
				     numbers[i].to);
	read_dpm(gpus->io, device, "pp_dpm_sclk", gpu, WTL_GPU_CLOCK_GRAPHICS_MHZ,
		 WTL_GPU_CLOCK_GRAPHICS_MAX_MHZ);
	read_dpm(gpus->io, device, "pp_dpm_mclk", gpu, WTL_GPU_CLOCK_MEMORY_MHZ,
		 WTL_GPU_CLOCK_MEMORY_MAX_MHZ);
	read_temperatures(gpus->io, hwmon, gpu);
	read_fan(gpus->io, hwmon, gpu);
	wtl_gpu_sysfs_link(gpus->io, device, gpu);
	complete(gpu);
}

static int amdgpu_open(void *state, const struct wtl_env *env,
		       const struct wtl_source_options *options, struct wtl_gpu_list *list)
{
	(void)options;
	return wtl_gpu_sysfs_open(state, env->io, VENDOR_AMD, "amd", has_domain, identify, list);
}

static void amdgpu_read(void *state, unsigned what, struct wtl_gpu_list *list)
{
	wtl_gpu_sysfs_read(state, what, identify, read_numbers, list);
}

static int amdgpu_set_limit(void *state, const struct wtl_gpu *gpu, size_t index, uint64_t limit_uw,
			    struct wtl_err *err)
{
	struct wtl_gpus_sysfs *gpus = state;
	const struct wtl_gpu_sysfs_gpu *own = &gpus->at[index - gpus->at[0].row];
	char path[128], text[24];
	int len, rc;

	snprintf(path, sizeof(path), "%s/power1_cap", own->where.hwmon);
	len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)limit_uw);
	rc = wtl_io_file_write(gpus->io, path, text, (size_t)len);
	if (rc == -EACCES || rc == -EPERM)
		return wtl_err_set(
			err, rc, "amdgpu", path,
			"setting the power limit of GPU %u takes root: run wattle with sudo",
			gpu->index);
	if (rc == -EINVAL || rc == -ERANGE)
		return wtl_err_set(err, ERANGE, "amdgpu", path,
				   "the driver of GPU %u does not accept that power limit",
				   gpu->index);
	if (rc < 0)
		return wtl_err_set(err, rc, "amdgpu", path,
				   "the power limit of GPU %u cannot be set: %s", gpu->index,
				   wtl_err_text(rc));
	return 0;
}

const struct wtl_gpu_backend wtl_gpu_amdgpu = {
	.state_size = sizeof(struct wtl_gpus_sysfs),
	.open = amdgpu_open,
	.read = amdgpu_read,
	.set_limit = amdgpu_set_limit,
	.close = wtl_gpu_sysfs_close,
};
