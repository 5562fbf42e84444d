/* SPDX-License-Identifier: MIT */
#include "base/symbol.h"

#include <dlfcn.h>
#include <stddef.h>

bool wtl_symbol_find(void *library, const char *name, void *ret_function)
{
	*(void **)ret_function = dlsym(library, name);
	return *(void **)ret_function != NULL;
}
