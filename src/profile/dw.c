/* SPDX-License-Identifier: MIT */
#include "profile/dw.h"

#include <dlfcn.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/symbol.h"

int wtl_dw_load(struct wtl_dw *ret_dw, struct wtl_err *err)
{
	void *dw = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
	void *elf = dlopen("libelf.so.1", RTLD_NOW | RTLD_LOCAL);
	bool is_there = dw && elf;

#define FIND(name) is_there = is_there && wtl_symbol_find(dw, #name, &ret_dw->name);
	WTL_DW_FUNCTIONS(FIND)
#undef FIND
#define FIND(name) is_there = is_there && wtl_symbol_find(elf, #name, &ret_dw->name);
	WTL_ELF_FUNCTIONS(FIND)
#undef FIND
	if (!is_there)
		return wtl_err_set(err, WTL_EABSENT, "profile", NULL,
				   "elfutils, which reads programs, cannot be loaded: install it "
				   "(Debian: libdw1)");
	ret_dw->elf_version(EV_CURRENT);
	return 0;
}
