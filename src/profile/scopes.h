/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_SCOPES_H
#define WTL_PROFILE_SCOPES_H

#include <stddef.h>
#include <stdint.h>

#include "profile/dw.h"

/*
 * Which scopes of a program's DWARF an address lies in. Three levels, each looked into when an address falls in it: units
 * of the program, functions of a unit, calls that were inlined into a function. So only what samples fall in is read.
 */
struct wtl_scopes;

enum { WTL_SCOPES_MAX = 33 };

/* NULL: no memory. It is the DWARF's, which has to outlive it. */
struct wtl_scopes *wtl_scopes_new(const struct wtl_dw *dw, Dwarf *dwarf);
void wtl_scopes_free(struct wtl_scopes *scopes); /* NULL is fine */

/*
 * The function that the machine runs there, and behind it the calls that were inlined, the outermost first: how many.
 * 0: not known.
 */
size_t wtl_scopes_of(struct wtl_scopes *scopes, const struct wtl_dw *dw, uint64_t address,
		     Dwarf_Die *ret_unit, Dwarf_Die list[WTL_SCOPES_MAX]);

#endif
