/* SPDX-License-Identifier: MIT */
#ifndef WTL_SENSORS_GPU_SYSFS_H
#define WTL_SENSORS_GPU_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/drm.h"
#include "sensors/gpu_backend.h"
#include "sensors/hwmon_read.h"

/* What AMD's and Intel's back ends share: GPUs that tell everything in files. */

struct wtl_gpu_sysfs_gpu {
	size_t row;
	struct wtl_hwmon_gpu where;
	char card[32]; /* "/sys/class/drm/card0" */
	bool is_identified;
	bool has_energy; /* the counter, for those that give no power */
	uint64_t energy_uj;
	int64_t energy_ns;
	struct wtl_gpu_process *processes;
};

struct wtl_gpus_sysfs {
	struct wtl_io *io;
	struct wtl_gpu_sysfs_gpu at[WTL_HWMON_GPUS_MAX];
	size_t n;
	struct wtl_drm_scan *scan; /* made by the first reading of processes */
};

/* Reads identity and numbers of a GPU that is awake. */
typedef void wtl_gpu_sysfs_read_one(struct wtl_gpus_sysfs *gpus, struct wtl_gpu_sysfs_gpu *own,
				    struct wtl_gpu *gpu);
/* Does the GPU have an energy domain of its own? */
typedef bool wtl_gpu_sysfs_has_domain(struct wtl_io *io, const struct wtl_hwmon_gpu *where);

int wtl_gpu_sysfs_open(struct wtl_gpus_sysfs *gpus, struct wtl_io *io, uint32_t vendor_id,
		       const char *vendor, wtl_gpu_sysfs_has_domain *has_domain,
		       wtl_gpu_sysfs_read_one *identify, struct wtl_gpu_list *list);
void wtl_gpu_sysfs_read(struct wtl_gpus_sysfs *gpus, unsigned what,
			wtl_gpu_sysfs_read_one *identify, wtl_gpu_sysfs_read_one *numbers,
			struct wtl_gpu_list *list);
void wtl_gpu_sysfs_close(void *gpus);

/* One number of a file in a directory, divided: 52000 with 1000 is 52. */
void wtl_gpu_sysfs_number(struct wtl_io *io, const char *dir, const char *name, uint64_t factor,
			  uint64_t divisor, struct wtl_gpu *gpu, enum wtl_gpu_number to);

/* The line of a file, cleaned; "" where it is not there. */
void wtl_gpu_sysfs_text(struct wtl_io *io, const char *dir, const char *name, char *text,
			size_t size);

/* Generation and width of the link, now and at most. */
void wtl_gpu_sysfs_link(struct wtl_io *io, const char *device, struct wtl_gpu *gpu);

/* ---- Formats ---- */

/*
 * A list of clocks of amdgpu, "0: 500Mhz \n1: 2400Mhz *\n": the one in use and the highest. A line
 * "S: 19Mhz *" is deep sleep. false: no line makes sense. *ret_now is UINT64_MAX where no line is
 * marked.
 */
bool wtl_gpu_dpm_parse(const char *text, size_t len, uint64_t *ret_now_mhz, uint64_t *ret_max_mhz);

/* "16.0 GT/s PCIe" is generation 4; 0: none that we know. */
unsigned wtl_gpu_link_gen(const char *text, size_t len);

#endif
