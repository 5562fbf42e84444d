/* SPDX-License-Identifier: MIT */
#include "profile/dw.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/symbol.h"

/* C++17, 20 and 23, which elfutils 0.188 has no names for. */
enum { CXX_17 = 0x2b, CXX_20 = 0x2c, CXX_23 = 0x3a };

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

Elf_Scn *wtl_dw_section(const struct wtl_dw *dw, Elf *elf, const char *sought,
			GElf_Shdr *ret_header)
{
	size_t names;

	if (dw->elf_getshdrstrndx(elf, &names) < 0)
		return NULL;
	for (Elf_Scn *section = dw->elf_nextscn(elf, NULL); section;
	     section = dw->elf_nextscn(elf, section)) {
		const char *name = dw->gelf_getshdr(section, ret_header)
					   ? dw->elf_strptr(elf, names, ret_header->sh_name)
					   : NULL;

		if (name && strcmp(name, sought) == 0)
			return section;
	}
	return NULL;
}

bool wtl_dw_is_cxx(int language)
{
	switch (language) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case CXX_17:
	case CXX_20:
	case CXX_23:
		return true;
	default:
		return false;
	}
}

uint32_t wtl_dw_number(const struct wtl_dw *dw, Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	if (!dw->dwarf_attr_integrate(die, name, &attribute) ||
	    dw->dwarf_formudata(&attribute, &value) < 0)
		return 0;
	return (uint32_t)value;
}

bool wtl_dw_follow(const struct wtl_dw *dw, Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Die next;

	if (!dw->dwarf_formref_die(dw->dwarf_attr_integrate(die, name, &attribute), &next))
		return false;
	*die = next;
	return true;
}
