/* SPDX-License-Identifier: MIT */
#ifndef WTL_SENSORS_SOURCE_H
#define WTL_SENSORS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/held.h"
#include "base/io.h"
#include "energy/catalog.h"
#include "energy/reading.h"

/* ---- What sources find out about the machine (sensors/machine.c) ---- */

/* Where we run, from the root's files; each is false or "" where it cannot be told. */
struct wtl_machine {
	bool is_vm;	    /* the hypervisor flag, or DMI says so */
	bool is_container;  /* /.dockerenv and the like, cgroup of process 1, PID namespace */
	char cpu_model[96]; /* "model name" of the first CPU */
	char vendor[32];    /* "GenuineIntel", "AuthenticAMD", "ARM" … */
	char product[96];   /* DMI: maker and product */
	char kernel[64];
	unsigned n_cpus;       /* online logical CPUs, at least 1 */
	unsigned n_packages;   /* at least 1 */
	uint64_t memory_bytes; /* 0: not known */
	uint64_t id;	       /* a hash of /etc/machine-id; 0: not known */
	int perf_paranoid;     /* kernel.perf_event_paranoid; INT_MIN: not known */
	uint64_t capabilities; /* effective set of this process; 0 may also mean not known */
};

/* A hash of a line that names the machine, such as /etc/machine-id: the id itself is to be kept secret, says
 * machine-id(5). 0: it is not there. */
uint64_t wtl_machine_hash(struct wtl_io *io, const char *path);

/* Reads them. Only -ENOMEM is an error; what is not there is not known. */
int wtl_machine_read(struct wtl_io *io, struct wtl_machine *ret_machine);

/*
 * A source is one way to read domains: one const table of functions, and a state of state_size
 * zeroed bytes that belongs to one meter. Sources know nothing of each other; sensors/table.c lists
 * them, best first.
 */
struct wtl_source_options {
	const char *nvml_path;		   /* NULL: by the loader's rules; "": none */
	const char *gpus;		   /* as in struct wattle_options: for what finds domains */
	struct wtl_gpu_set left_out;	   /* by that: for what reads GPUs beside their domains */
	const struct wtl_machine *machine; /* where all this happens; read once for all sources */
};

struct wtl_source_ops {
	const char *name; /* "rapl-powercap": stable, appears in every output */
	size_t state_size;
	bool answers_at_once; /* however long its reads seem to take: it gets no thread of its own */
	bool may_hang;	      /* a driver is asked that can keep its caller for seconds */

	/*
	 * Finds what there is and adds channels and misses to the catalog. Has no effect on the
	 * machine, wakes no device. Every failure of hardware or permission is a miss, not an error:
	 * only -ENOMEM and the like are returned. close() follows in any case.
	 */
	int (*open)(void *state, const struct wtl_env *env,
		    const struct wtl_source_options *options, struct wtl_catalog *catalog);

	/*
	 * Fills one reading for each channel that open() added, in that order, or leaves them all as the
	 * call before did, when it is too early to read again. Allocates nothing, logs nothing. A channel that failed is tried again now and then (wtl_held_file does it).
	 */
	void (*read)(void *state, struct wtl_reading readings[]);

	/* NULL, or called when somebody asks about the moment of the next read(), say when a window
	 * begins or ends. A source that else guesses between its readings must not guess then. */
	void (*ask_for)(void *state);

	void (*close)(void *state); /* of a half-opened state too */
};

/* All sources, best first, ended by NULL. */
extern const struct wtl_source_ops *const wtl_sources[];

/*
 * Completes a reading: a good value (error 0), or the status that belongs to a negative errno:
 * EACCES and EPERM are DENIED; ENOENT, ENODEV and ENXIO are GONE; the rest FAILED. t0 and t1 are the
 * monotonic times before and after the read.
 */
void wtl_reading_set(struct wtl_reading *reading, int64_t t0_ns, int64_t t1_ns, int error,
		     uint64_t value);

/* Reads one held number into a reading, with its times; *t_ns is the time before, then after. */
void wtl_held_file_reading(struct wtl_held_file *held, int64_t *t_ns, struct wtl_reading *reading);

/* ---- More of sensors/machine.c ---- */

/* The package (and die) of a CPU; false where the topology is not there. */
bool wtl_machine_package(struct wtl_io *io, int cpu, unsigned *ret_package, unsigned *ret_die);

extern const struct wtl_source_ops wtl_source_rapl_perf;
extern const struct wtl_source_ops wtl_source_rapl_powercap;
extern const struct wtl_source_ops wtl_source_nvml;
extern const struct wtl_source_ops wtl_source_amdgpu;
extern const struct wtl_source_ops wtl_source_intel_gpu;
extern const struct wtl_source_ops wtl_source_hwmon;
extern const struct wtl_source_ops wtl_source_battery;
extern const struct wtl_source_ops wtl_source_serve;
extern const struct wtl_source_ops wtl_source_model;

#endif
