/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_SCOPES_H
#define WTL_PROFILE_SCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/dw.h"

/*
 * Which scopes of a program's DWARF an address lies in. Three levels: units of the program, functions of a unit, calls
 * inlined into a function. A level is read when an address falls into it, so only what samples need is read.
 */
struct wtl_scopes;

enum { WTL_SCOPES_MAX = 33 };

/* NULL: no memory. The DWARF has to outlive it. */
struct wtl_scopes *wtl_scopes_new(const struct wtl_dw *dw, Dwarf *dwarf);
void wtl_scopes_free(struct wtl_scopes *scopes); /* NULL is fine */

/*
 * Lists the function at an address, then the calls inlined there, the outermost first. Returns how many; 0: not known.
 */
size_t wtl_scopes_of(struct wtl_scopes *scopes, const struct wtl_dw *dw, uint64_t address,
		     Dwarf_Die *ret_unit, Dwarf_Die list[WTL_SCOPES_MAX]);

/*
 * Whether an address that was looked up lies in a unit whose DWARF is in a file of its own (-gsplit-dwarf). Such files
 * are not read: elfutils would open whatever path the program names, and wait for it.
 */
bool wtl_scopes_met_split(const struct wtl_scopes *scopes);

/*
 * Where the unit at an address has the same function as that of an inlined call, compiled for itself. 0: nowhere, it is
 * inlined everywhere.
 */
uint64_t wtl_scopes_instance(struct wtl_scopes *scopes, const struct wtl_dw *dw, uint64_t address,
			     Dwarf_Die *call);

#endif
