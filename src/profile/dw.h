/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_DW_H
#define WTL_PROFILE_DW_H

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

struct wtl_err;

/* elfutils, loaded by dlopen() when profiling starts: it parses untrusted files, so the machine's own copy is used. */
struct wtl_dw {
/* clang-format off */
#define WTL_DW_FUNCTIONS(F)                                                              \
	F(dwarf_begin_elf) F(dwarf_end) F(dwarf_getcfi) F(dwarf_getcfi_elf)              \
	F(dwarf_cfi_end) F(dwarf_cfi_addrframe) F(dwarf_frame_cfa)                       \
	F(dwarf_frame_register) F(dwarf_frame_info) F(dwarf_get_units) F(dwarf_child) \
	F(dwarf_siblingof) F(dwarf_ranges) F(dwarf_srclang) F(dwarf_getsrc_die) F(dwarf_linesrc) F(dwarf_lineno)      \
	F(dwarf_diename) F(dwarf_tag) F(dwarf_attr_integrate) F(dwarf_formstring)        \
	F(dwarf_formudata) F(dwarf_formref_die) F(dwarf_hasattr) F(dwarf_diecu) F(dwarf_decl_file) F(dwarf_getsrcfiles) F(dwarf_filesrc) F(dwelf_elf_gnu_build_id) F(dwelf_elf_begin) \
	F(dwelf_elf_gnu_debuglink)
#define WTL_ELF_FUNCTIONS(F)                                                             \
	F(elf_version) F(elf_begin) F(elf_end) F(elf_memory) F(elf_kind)                 \
	F(elf_getphdrnum) F(elf_nextscn) F(elf_getdata) F(elf_strptr) F(elf_getshdrstrndx) \
	F(gelf_getehdr) F(gelf_getphdr) F(gelf_getshdr) F(gelf_getsym)
/* clang-format on */
#define WTL_DW_FIELD(name) __typeof__(&name) name;
	WTL_DW_FUNCTIONS(WTL_DW_FIELD) WTL_ELF_FUNCTIONS(WTL_DW_FIELD)
#undef WTL_DW_FIELD
};

/* 0, or negative with the reason. The libraries are never unloaded. */
int wtl_dw_load(struct wtl_dw *ret_dw, struct wtl_err *err);

/* A section by its name; NULL: the file has none. */
Elf_Scn *wtl_dw_section(const struct wtl_dw *dw, Elf *elf, const char *sought,
			GElf_Shdr *ret_header);

bool wtl_dw_is_cxx(int language); /* of a unit */
/* An attribute's number; 0: it has none. */
uint32_t wtl_dw_number(const struct wtl_dw *dw, Dwarf_Die *die, unsigned name);
/* Goes to the entry that an attribute refers to. false: it refers to none. */
bool wtl_dw_follow(const struct wtl_dw *dw, Dwarf_Die *die, unsigned name);

#endif
