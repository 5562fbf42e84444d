/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_CXX_LOCAL_H
#define WTL_PROFILE_CXX_LOCAL_H

#include <stdbool.h>

#include "profile/dw.h"

/*
 * C++ functions that no other file can call: static ones, those of anonymous namespaces, lambdas. Where they are inlined,
 * debug information has no linkage name of them, but only "step" or "operator()".
 */

enum { WTL_CXX_LOCAL_SIZE = 512 };

/* The class that a function is a member of, or of its lambda. false: it has no `this`. */
bool wtl_cxx_local_class(const struct wtl_dw *dw, const Dwarf_Die *function, Dwarf_Die *ret_class);

/* Whether a function is C++. */
bool wtl_cxx_local_is_cxx(const struct wtl_dw *dw, Dwarf_Die *function);

/* Its name with its class: "S::step"; of a lambda with its line and column: "{lambda:7:10}::operator()". */
void wtl_cxx_local_name(const struct wtl_dw *dw, const Dwarf_Die *function, const char *name,
			char room[WTL_CXX_LOCAL_SIZE]);

/* Whether a mangled name can be that of a function which debug information calls `name`, with its class or without. */
bool wtl_cxx_local_matches(const char *mangled, const char *name);

#endif
