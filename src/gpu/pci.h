/* SPDX-License-Identifier: MIT */
#ifndef WTL_NVML_PCI_H
#define WTL_NVML_PCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/held.h"
#include "gpu/library.h"

struct wtl_io;

/* NVIDIA's GPUs on the PCI bus, which can be looked at without waking any. */

#define WTL_NVML_PCI_DIR "/sys/bus/pci/devices"

struct wtl_nvml_pci_gpu {
	char id[WTL_NVML_BUS_ID_SIZE]; /* "0000:17:00.0" */
	char driver[32];	       /* "" if none or not known */
	uint16_t device;	       /* 0x25a0; 0 if not known */
	bool asleep;
};

/*
 * Fills up to max GPUs, by their address. How many, or -ENOMEM; *ret_known: there is a PCI bus to
 * look at (a container may hide it).
 */
int wtl_nvml_pci_gpus(struct wtl_io *io, struct wtl_nvml_pci_gpu gpus[], size_t max,
		      bool *ret_known);

/* Is a device on the bus (its directory under /sys) suspended? Reading this does not wake it. */
bool wtl_pci_is_suspended(struct wtl_io *io, const char *device_dir);

/* The same of a GPU, by its address, again and again. */
void wtl_nvml_pci_watch(struct wtl_held_file *held, struct wtl_io *io, const char *id);
bool wtl_nvml_pci_asleep(struct wtl_held_file *held);

/* Another driver than NVIDIA's holds it: NVML cannot say anything about it. */
bool wtl_nvml_pci_is_foreign(const struct wtl_nvml_pci_gpu *gpu);

/*
 * The root port that a device of the bus hangs from, by its address: the topmost bridge on its way, the host's
 * end of the first link. false: it sits on a root bus itself, or the kernel does not say.
 */
bool wtl_pci_root_port(struct wtl_io *io, const char *id, char *ret_port, size_t size);

/* The same from the device's link in /sys: "../../../devices/pci0000:00/0000:00:01.1/0000:01:00.0". Behind some
 * controllers the way has a second "pci10000:e0"; what counts is the last. */
bool wtl_pci_root_port_of(const char *link, char *ret_port, size_t size);

/* NVML writes the domain with 8 digits and capital letters, sysfs with 4 and small ones. */
bool wtl_nvml_same_bus_id(const char *a, const char *b);

#endif
