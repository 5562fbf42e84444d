/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_SYMBOL_H
#define WTL_BASE_SYMBOL_H

#include <stdbool.h>

/* A function of a library that dlopen() gave, into the pointer that ret_function is the address of. false: it has none. */
bool wtl_symbol_find(void *library, const char *name, void *ret_function);

#endif
