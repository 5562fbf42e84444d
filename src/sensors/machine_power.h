/* SPDX-License-Identifier: MIT */
#ifndef WTL_SENSORS_MACHINE_POWER_H
#define WTL_SENSORS_MACHINE_POWER_H

#include <stddef.h>
#include <stdint.h>

#include "sensors/source.h"

/*
 * What a whole machine draws at the wall, by a fit to the servers of data/servers.csv. tools/mkmachine.py
 * makes the fit and its intervals, docs/model.md tells users.
 */

/* What is known of the machine; of a guest: of its host. */
enum wtl_machine_case {
	WTL_MACHINE_KNOWN, /* its processor is among those of the fit */
	WTL_MACHINE_TDP,   /* the processor's design power */
	WTL_MACHINE_SIZE,  /* sockets, CPUs and memory */
	WTL_MACHINE_GUEST_KNOWN, /* its host's processor is among those of the fit: CPUs of a socket, year */
	WTL_MACHINE_GUEST_TDP, /* the design power, but not how many CPUs share it */
	WTL_MACHINE_GUEST, /* nothing but the guest's own CPUs: a cloud's own name of a processor */
	WTL_MACHINE_CASES
};

enum { WTL_MACHINE_FEATURES = 7, WTL_MACHINE_LOADS = 11 /* 0, 10 … 100 % */ };

struct wtl_machine_fit {
	double idle
		[WTL_MACHINE_FEATURES]; /* the logarithm of watts is the sum of features times these */
	double full[WTL_MACHINE_FEATURES];
	uint32_t gain_ppm; /* standard uncertainties: of the power, and of that at no load */
	uint32_t zero_ppm;
};

/* A processor of the measured servers. */
struct wtl_machine_processor {
	char key[32]; /* wtl_cpu_tdp_key() */
	uint16_t year;
	uint16_t threads; /* of a socket */
	uint32_t tdp_mw;
};

/* What the fit was made of; beyond it, it says nothing. */
struct wtl_machine_range {
	unsigned servers, first_year, last_year;
	uint32_t tdp_min_mw, tdp_max_mw;
	uint32_t gib_min, gib_max;
};

extern const struct wtl_machine_fit wtl_machine_fits[WTL_MACHINE_CASES];
extern const uint32_t wtl_machine_shape_ppm[WTL_MACHINE_LOADS];
extern const struct wtl_machine_range wtl_machine_range;
extern const struct wtl_machine_processor wtl_machine_processors[];
extern const size_t wtl_machine_processor_count;

/* The power of a machine, or of a guest's part of its host. */
struct wtl_machine_power {
	enum wtl_machine_case known;
	uint64_t idle_mw, full_mw;
	uint32_t gain_ppm, offset_uw; /* of a channel */
	char words[128];	      /* what it was computed from */
};

/*
 * Fits the machine. 0, or -ENOENT with *ret_reason, static: no measured server is like it.
 */
int wtl_machine_power_find(const struct wtl_machine *machine, struct wtl_machine_power *ret_power,
			   const char **ret_reason);

/* Energy over wall_ns with busy_ns of the CPU time of n_cpus CPUs used, in µJ, rounded down; saturates. */
uint64_t wtl_machine_power_uj(const struct wtl_machine_power *power, uint64_t busy_ns,
			      int64_t wall_ns, unsigned n_cpus);

#endif
