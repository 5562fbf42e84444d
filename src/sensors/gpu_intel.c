/* SPDX-License-Identifier: MIT */
/* Intel GPUs for people to look at: the files of i915 and xe (their entries under
 * Documentation/ABI/testing of the kernel). */
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "energy/units.h"
#include "sensors/gpu_sysfs.h"

enum { VENDOR_INTEL = 0x8086 };

/* Two readings of the energy counter that are closer say little about power. */
#define POWER_MIN_NS (10 * WTL_NS_PER_MS)

static bool is_integrated(const struct wtl_hwmon_gpu *where)
{
	return strcmp(where->address, "0000:00:02.0") == 0;
}

/* As in sensors/intel_gpu.c: integrated graphics without a counter is a part of the package. */
static bool has_domain(struct wtl_io *io, const struct wtl_hwmon_gpu *where)
{
	return !is_integrated(where) ||
	       (where->hwmon[0] && (wtl_hwmon_dir_has(io, where->hwmon, "energy1_input") ||
				    wtl_hwmon_dir_has(io, where->hwmon, "energy2_input")));
}

/* ---- Clocks and what holds them down ---- */

/* Where the drivers keep them, newest first: xe, i915 since 5.18, i915 before. */
static const struct {
	const char *dir; /* below the card */
	const char *now, *max;
	const char *throttle; /* prefix of the reasons; NULL: none */
} layouts[] = {
	{"device/tile0/gt0/freq0", "act_freq", "rp0_freq", "throttle/reason_"},
	{"gt/gt0", "rps_act_freq_mhz", "rps_RP0_freq_mhz", "throttle_reason_"},
	{".", "gt_act_freq_mhz", "gt_RP0_freq_mhz", NULL},
};

static const struct {
	const char *name;
	uint64_t bit;
} reasons[] = {
	{"pl1", WTL_THROTTLE_SW_POWER_CAP},	    {"pl2", WTL_THROTTLE_SW_POWER_CAP},
	{"pl4", WTL_THROTTLE_HW_POWER_BRAKE},	    {"thermal", WTL_THROTTLE_HW_THERMAL},
	{"prochot", WTL_THROTTLE_HW_THERMAL},	    {"ratl", WTL_THROTTLE_SW_THERMAL},
	{"vr_thermalert", WTL_THROTTLE_HW_THERMAL}, {"vr_tdc", WTL_THROTTLE_HW_POWER_BRAKE},
};

static void read_throttle(struct wtl_io *io, const char *dir, size_t layout, struct wtl_gpu *gpu)
{
	uint64_t active = 0, known = 0;

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		char path[160];
		uint64_t value;

		snprintf(path, sizeof(path), "%s/%s%s", dir, layouts[layout].throttle,
			 reasons[i].name);
		if (wtl_io_read_u64(io, path, &value) < 0)
			continue;
		known |= reasons[i].bit;
		active |= value ? reasons[i].bit : 0;
	}
	if (!known) {
		wtl_gpu_unset(gpu, WTL_GPU_THROTTLE, WATTLE_STATUS_ABSENT, 0);
		wtl_gpu_unset(gpu, WTL_GPU_THROTTLE_KNOWN, WATTLE_STATUS_ABSENT, 0);
		return;
	}
	wtl_gpu_set(gpu, WTL_GPU_THROTTLE, active);
	wtl_gpu_set(gpu, WTL_GPU_THROTTLE_KNOWN, known);
}

static void read_clocks(struct wtl_io *io, const struct wtl_gpu_sysfs_gpu *own, struct wtl_gpu *gpu)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		char dir[96];

		snprintf(dir, sizeof(dir), "%s/%s", own->card, layouts[i].dir);
		wtl_gpu_sysfs_number(io, dir, layouts[i].now, 1, 1, gpu,
				     WTL_GPU_CLOCK_GRAPHICS_MHZ);
		wtl_gpu_sysfs_number(io, dir, layouts[i].max, 1, 1, gpu,
				     WTL_GPU_CLOCK_GRAPHICS_MAX_MHZ);
		if (gpu->numbers[WTL_GPU_CLOCK_GRAPHICS_MHZ].status == WATTLE_STATUS_ABSENT)
			continue;
		if (layouts[i].throttle)
			read_throttle(io, dir, i, gpu);
		break;
	}
	gpu->numbers[WTL_GPU_CLOCK_SM_MHZ] = gpu->numbers[WTL_GPU_CLOCK_GRAPHICS_MHZ];
	gpu->numbers[WTL_GPU_CLOCK_SM_MAX_MHZ] = gpu->numbers[WTL_GPU_CLOCK_GRAPHICS_MAX_MHZ];
}

/* ---- Power ---- */

/* The drivers count energy and give no power: the mean since the reading before. Until the count was seen
 * to move, there is none: a GPU always draws something. */
static void read_power(struct wtl_io *io, struct wtl_gpu_sysfs_gpu *own, struct wtl_gpu *gpu)
{
	const struct wtl_gpu_value *energy = &gpu->numbers[WTL_GPU_ENERGY_UJ];
	int64_t now_ns = wtl_io_mono_ns(io);

	wtl_gpu_sysfs_number(io, own->where.hwmon, "energy1_input", 1, 1, gpu, WTL_GPU_ENERGY_UJ);
	if (energy->status == WATTLE_STATUS_ABSENT)
		wtl_gpu_sysfs_number(io, own->where.hwmon, "energy2_input", 1, 1, gpu,
				     WTL_GPU_ENERGY_UJ);
	if (energy->status != WATTLE_STATUS_OK) {
		gpu->numbers[WTL_GPU_POWER_UW] = gpu->numbers[WTL_GPU_POWER_AVERAGE_UW] = *energy;
		own->has_energy = false;
		return;
	}
	if (own->has_energy && now_ns - own->energy_ns < POWER_MIN_NS)
		return;
	if (own->has_energy && energy->value == own->energy_uj) {
		wtl_gpu_unset(gpu, WTL_GPU_POWER_AVERAGE_UW, WATTLE_STATUS_ABSENT, 0);
		gpu->numbers[WTL_GPU_POWER_UW] = gpu->numbers[WTL_GPU_POWER_AVERAGE_UW];
		return; /* the next step is one since then */
	}
	if (own->has_energy && energy->value > own->energy_uj)
		wtl_gpu_set(gpu, WTL_GPU_POWER_AVERAGE_UW,
			    (uint64_t)((unsigned __int128)(energy->value - own->energy_uj) *
				       WTL_NS_PER_S / (uint64_t)(now_ns - own->energy_ns)));
	else
		wtl_gpu_unset(gpu, WTL_GPU_POWER_AVERAGE_UW, WATTLE_STATUS_ABSENT, 0);
	gpu->numbers[WTL_GPU_POWER_UW] = gpu->numbers[WTL_GPU_POWER_AVERAGE_UW];
	own->has_energy = true;
	own->energy_uj = energy->value;
	own->energy_ns = now_ns;
}

static void identify(struct wtl_gpus_sysfs *gpus, struct wtl_gpu_sysfs_gpu *own,
		     struct wtl_gpu *gpu)
{
	snprintf(gpu->name, sizeof(gpu->name), "Intel %s %04x",
		 is_integrated(&own->where) ? "graphics" : "GPU", own->where.id & 0xffff);
	read_power(gpus->io, own, gpu); /* where the first mean begins */
}

static void read_numbers(struct wtl_gpus_sysfs *gpus, struct wtl_gpu_sysfs_gpu *own,
			 struct wtl_gpu *gpu)
{
	const char *hwmon = own->where.hwmon;

	read_power(gpus->io, own, gpu);
	wtl_gpu_sysfs_number(gpus->io, hwmon, "power1_max", 1, 1, gpu, WTL_GPU_LIMIT_UW);
	gpu->numbers[WTL_GPU_LIMIT_REQUESTED_UW] = gpu->numbers[WTL_GPU_LIMIT_UW];
	wtl_gpu_sysfs_number(gpus->io, hwmon, "power1_rated_max", 1, 1, gpu,
			     WTL_GPU_LIMIT_DEFAULT_UW);
	/* xe: of the package, and of the memory. */
	wtl_gpu_sysfs_number(gpus->io, hwmon, "temp2_input", 1, 1000, gpu, WTL_GPU_TEMPERATURE_C);
	wtl_gpu_sysfs_number(gpus->io, hwmon, "temp3_input", 1, 1000, gpu,
			     WTL_GPU_MEMORY_TEMPERATURE_C);
	read_clocks(gpus->io, own, gpu);
	wtl_gpu_sysfs_link(gpus->io, own->where.device, gpu);
}

static int intel_open(void *state, const struct wtl_env *env,
		      const struct wtl_source_options *options, struct wtl_gpu_list *list)
{
	(void)options;
	return wtl_gpu_sysfs_open(state, env->io, VENDOR_INTEL, "intel", has_domain, identify,
				  list);
}

static void intel_read(void *state, unsigned what, struct wtl_gpu_list *list)
{
	wtl_gpu_sysfs_read(state, what, identify, read_numbers, list);
}

const struct wtl_gpu_backend wtl_gpu_intel = {
	.state_size = sizeof(struct wtl_gpus_sysfs),
	.open = intel_open,
	.read = intel_read,
	.close = wtl_gpu_sysfs_close,
};
