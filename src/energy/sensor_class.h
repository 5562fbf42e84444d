/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_SENSOR_CLASS_H
#define WTL_ENERGY_SENSOR_CLASS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What the power reading of an NVIDIA GPU really is, by architecture, driver branch and NVML field.
 *
 * Source of windows, update periods and rise times: Yang, Adamek, Armour, "Part-time power
 * measurements: nvidia-smi's lack of attention", SC'24 (arXiv 2312.02741), table of driver x
 * architecture x field. Latencies were fitted by us on the traces published with that paper (A100,
 * RTX 3090); where a class has no trace, the latency is judgement (see docs/integration.md).
 */

enum wtl_gpu_arch {
	WTL_GPU_ARCH_UNKNOWN,
	WTL_GPU_ARCH_KEPLER,
	WTL_GPU_ARCH_MAXWELL,
	WTL_GPU_ARCH_PASCAL,
	WTL_GPU_ARCH_VOLTA,
	WTL_GPU_ARCH_TURING,
	WTL_GPU_ARCH_GA100, /* Ampere of A100/A30, compute capability 8.0 */
	WTL_GPU_ARCH_GA10X, /* Ampere of RTX 30, A5000, A40, Orin: 8.6, 8.7 */
	WTL_GPU_ARCH_ADA,
	WTL_GPU_ARCH_HOPPER,
	WTL_GPU_ARCH_BLACKWELL,
	WTL_GPU_ARCH_GK110, /* Kepler of K20 and K40, compute capability 3.5 */
	WTL_GPU_ARCHS,
};

/* Which NVML call or field the reading came from. */
enum wtl_power_field {
	WTL_POWER_DRAW,	   /* nvmlDeviceGetPowerUsage, nvidia-smi power.draw */
	WTL_POWER_AVERAGE, /* NVML_FI_DEV_POWER_AVERAGE, driver 535 and later */
	WTL_POWER_INSTANT, /* NVML_FI_DEV_POWER_INSTANT, driver 535 and later */
};

enum wtl_sensor_kind {
	WTL_SENSOR_BOXCAR,   /* mean over the window that ended `latency` before the update */
	WTL_SENSOR_LOWPASS,  /* capacitor-like; treated as a pure delay of its time constant */
	WTL_SENSOR_ESTIMATE, /* nobody has measured this one: conservative guess */
};

struct wtl_sensor_class {
	const char *name; /* stable, for reports: "ga100-draw 25/100" */
	enum wtl_gpu_arch arch;
	enum wtl_power_field field;
	int driver_min; /* first and last driver branch (major number), inclusive */
	int driver_max;
	enum wtl_sensor_kind kind;
	int64_t window_ns; /* averaging window */
	int64_t update_ns; /* a new value appears this often */
	/* From the window's end to the update. Negative in imported files, whose times are the readings' own and
	 * not those of polls that found them half a period later (import/write.c). */
	int64_t latency_ns;
	int64_t latency_sd_ns;	    /* standard uncertainty of the delay as a whole */
	unsigned coverage_permille; /* part of the time that any reading saw */
	bool known;		    /* false: no published measurement of this combination */
};

/*
 * The class for an architecture, a driver's major version (535 of "535.183.01"; 0 = unknown) and a
 * field. Never NULL: a combination nobody measured gives a conservative row with known == false.
 */
const struct wtl_sensor_class *wtl_sensor_class_find(enum wtl_gpu_arch arch, int driver_major,
						     enum wtl_power_field field);

/* The i-th row of the table, for listings and tests; NULL past the end. */
const struct wtl_sensor_class *wtl_sensor_class_row(unsigned i);

/*
 * Architecture from the CUDA compute capability. NVML's own architecture number does not tell GA100
 * from GA10x, which have different sensors.
 */
enum wtl_gpu_arch wtl_gpu_arch_from_capability(int major, int minor);

/*
 * Standard uncertainty of the zero of a card's power and energy, which nobody calibrated. Fits of power
 * against a physical meter on 16 cards of 12 models (facts/carbon-and-ml.md 5.1) have offsets from -22.6 W
 * (RTX 4090) to +16 W (RTX 2060 Super). With gain alone, ± covers 7 of the 16 at 15 % of their limit.
 */
uint32_t wtl_sensor_zero_uw(enum wtl_gpu_arch arch);

/* From the middle of what a reading averaged to the time the reading appeared: window/2 + latency. */
int64_t wtl_sensor_class_delay_ns(const struct wtl_sensor_class *class);

/*
 * For rows of a file, spacing_ns apart. The update period becomes at least that long: a reading says nothing of the time
 * outside its window. The integral takes a polled reading as half a period late; the times in a file are the readings'
 * own, so that half is taken off the latency.
 */
void wtl_sensor_class_space(struct wtl_sensor_class *class, int64_t spacing_ns);

#endif
