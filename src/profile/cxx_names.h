/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_CXX_NAMES_H
#define WTL_PROFILE_CXX_NAMES_H

#include <stdbool.h>

/*
 * Whether a mangled C++ name (Itanium C++ ABI) may be given to the runtime's demangler. That one has no bound: each part
 * of a name can stand for two others, so that a hostile name of 230 bytes takes it a second and 142 MB.
 */
bool wtl_cxx_name_is_short(const char *mangled);

#endif
