/* SPDX-License-Identifier: MIT */
#ifndef WTL_SENSORS_HWMON_READ_H
#define WTL_SENSORS_HWMON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io.h"
#include "energy/catalog.h"
#include "energy/reading.h"
#include "sensors/source.h"

/*
 * What the sources over /sys/class/hwmon and /sys/class/drm share: one sensor file that is read
 * again and again without ever waking the device behind it, and the search for GPUs.
 */

/*
 * One sensor of a device. Its value is the number in one file, or the product of two (mV × mA = µW;
 * a negative product, which is the offset of an idle rail, counts as 0).
 */
struct wtl_hwmon_read {
	struct wtl_io *io;
	struct wtl_held_file value;
	struct wtl_held_file factor; /* path "": there is none */
	int status;	 /* the held power/runtime_status, < 0: the device never sleeps */
	int64_t look_ns; /* when to look at it again */
	bool asleep;
};

/*
 * Prepares to read `path` (times `factor`, which may be NULL) of the device in the directory
 * `device`. A sleeping device is left alone. Otherwise one trial read is made and its negative errno
 * returned; the struct is good for reading and closing in any case.
 */
int wtl_hwmon_read_open(struct wtl_hwmon_read *read, struct wtl_io *io, const char *device,
			const char *path, const char *factor);
void wtl_hwmon_read_close(struct wtl_hwmon_read *read); /* a zeroed struct is fine */

/* Fills a reading: OK, ASLEEP, or what the error means. *t_ns is the time before, then after. */
void wtl_hwmon_read_get(struct wtl_hwmon_read *read, int64_t *t_ns, struct wtl_reading *reading);

/* All sensors of a source, in order. */
void wtl_hwmon_read_all(struct wtl_hwmon_read reads[], size_t n, struct wtl_reading readings[]);
void wtl_hwmon_close_all(struct wtl_hwmon_read reads[], size_t n);

/* Notes that a channel's file cannot be read, with the reason and the remedy. */
int wtl_hwmon_miss(struct wtl_catalog *catalog, const struct wtl_channel *channel, const char *path,
		   int error);

/*
 * Opens a sensor, adds its channel and notes whether its device sleeps. 1; 0 when it cannot be read, why
 * is in *ret_error; or a negative errno of the catalog's. Closed unless 1.
 */
int wtl_hwmon_add(struct wtl_hwmon_read *read, struct wtl_io *io, const char *device,
		  const char *path, const char *factor, const struct wtl_channel *channel,
		  struct wtl_catalog *catalog, int *ret_error);

/* Is there an entry of that name in the directory? Opens no file. */
bool wtl_hwmon_dir_has(struct wtl_io *io, const char *dir, const char *name);

/* Is that the name of a hwmon directory, "hwmon3"? The kernel makes no others. */
bool wtl_hwmon_is_entry(const char *name);

/* ---- GPUs with a DRM driver ---- */

enum { WTL_HWMON_GPUS_MAX = 64 };

struct wtl_hwmon_gpu {
	char device[48];  /* "/sys/class/drm/card0/device" */
	char hwmon[96];	  /* its hwmon directory, "" for none */
	char address[24]; /* on the PCI bus: "0000:03:00.0", "" if not known */
	uint32_t id;	  /* PCI device id, 0 if not known */
};

/* The state of a source with one sensor a GPU; read and close fit struct wtl_source_ops. */
struct wtl_hwmon_gpu_reads {
	struct wtl_hwmon_read at[WTL_HWMON_GPUS_MAX];
	size_t n;
};

/* Adds a GPU's channel and sensor, or its miss. 0 or a negative errno. */
typedef int wtl_hwmon_gpu_open(struct wtl_hwmon_gpu_reads *reads, struct wtl_io *io,
			       const struct wtl_hwmon_gpu *gpu, struct wtl_catalog *catalog);

/* Opens all GPUs of a vendor. */
int wtl_hwmon_gpus_open(struct wtl_hwmon_gpu_reads *reads, struct wtl_io *io, uint32_t vendor,
			wtl_hwmon_gpu_open *open_gpu, struct wtl_catalog *catalog);
void wtl_hwmon_gpus_read(void *reads, struct wtl_reading readings[]);
void wtl_hwmon_gpus_close(void *reads);

/* Finds the GPUs with that PCI vendor, in the order of the card numbers. Returns how many. */
size_t wtl_hwmon_gpus(struct wtl_io *io, uint32_t vendor, struct wtl_hwmon_gpu gpus[], size_t max);

#endif
