/* SPDX-License-Identifier: MIT */
#ifndef WTL_SENSORS_RAPL_H
#define WTL_SENSORS_RAPL_H

#include <stdbool.h>

#include "energy/catalog.h"
#include "sensors/source.h"

/*
 * What the two ways to Intel's and AMD's running energy counters (RAPL) have in common: which part
 * of the processor a counter is for, what it is called, and how far it can be trusted.
 */
struct wtl_rapl_part {
	enum wattle_kind kind; /* CPU, CORE, UNCORE, DRAM or PLATFORM */
	unsigned package;
	unsigned die;
	bool has_die; /* the package's dies count on their own */
};

/*
 * Reads a zone's name as powercap gives it: "package-0", "package-0-die-1", "psys", "psys-1"; and
 * below a package (`parent`, NULL for none) "core", "uncore", "dram". False for anything else.
 */
bool wtl_rapl_part_parse(const char *text, const struct wtl_rapl_part *parent,
			 struct wtl_rapl_part *ret_part);

/* "package-0", "core-0-die-1", "psys-0" */
void wtl_rapl_part_name(const struct wtl_rapl_part *part, char name[WTL_NAME_SIZE]);

/*
 * AMD's counter is the package's whichever CPU asks, but some versions of Linux since 6.9 take each
 * core complex for a die and show the one counter once for each (cpumask 0,8,…,88 on one package;
 * arch/x86/events/rapl.c, rapl_pmu_is_pkg_scope). There, only the first of a package is read.
 */
bool wtl_rapl_dies_are_copies(const struct wtl_machine *machine);

/*
 * Standard uncertainty of a difference that a RAPL channel counts between two loads, where it is known to be
 * worse than the channel's gain: AMD's is a model that leaves out what data and memory cost
 * (docs/uncertainty.md). Else 0, as for channels of other sources.
 */
uint32_t wtl_rapl_dynamic_ppm(const struct wtl_channel *channel);

/*
 * Counters that the program may read by rights which its user lacks are read once in so long, and rounded down
 * to such steps, before anything else sees them: a processor's energy tells of what others compute (PLATYPUS,
 * facts/fleet.md 5.1). Both are judgement.
 */
#define WTL_RAPL_COARSE_NS WTL_NS_PER_S
#define WTL_RAPL_COARSE_UJ UINT64_C(10000)
/* A window that begins right after a reading begins with it, so that windows in a row lose nothing. */
#define WTL_RAPL_FRESH_NS (50 * WTL_NS_PER_MS)
/* How many steps an energy is. */
uint64_t wtl_rapl_coarse(uint64_t energy_uj);
/* Is it such a channel? */
bool wtl_rapl_is_coarse(const struct wtl_channel *channel);

/*
 * A channel for the part: domain, place in the tree, gain, bound; the unit is µJ and the counter
 * does not wrap. The caller says what is different.
 */
void wtl_rapl_channel(const struct wtl_machine *machine, const struct wtl_rapl_part *part,
		      struct wtl_channel *ret_channel);

/* Notes that the whole source is absent, and why: processor, virtual machine, or the kernel's
 * `module` not loaded. what: "no powercap zones". 0 or -ENOMEM and the like. */
int wtl_rapl_miss_absent(struct wtl_catalog *catalog, const struct wtl_machine *machine,
			 const char *what, const char *module);

/* Notes that one part cannot be read; once, however many copies of it there are. */
int wtl_rapl_miss(struct wtl_catalog *catalog, const struct wtl_rapl_part *part,
		  enum wattle_status status, const char *remedy, const char *reason);

#endif
