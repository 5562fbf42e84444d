/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_MODULE_H
#define WTL_PROFILE_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/hash.h"
#include "profile/dw.h"
#include "profile/scopes.h"

/*
 * A program's file or a library: where its code lies, how its stack is unwound and what its functions are called.
 * Addresses are the file's own (as nm shows them).
 */

struct wtl_module_segment {
	uint64_t offset, address, size;
};

struct wtl_module_symbol {
	uint64_t address, size; /* 0: not known, taken to reach the next symbol */
	const char *name;	/* in the file, or in map */
};

/* Where CPython lies in a module, as found by wtl_module_python(). */
struct wtl_module_python {
	uint64_t runtime;	 /* _PyRuntime; 0: it is not CPython */
	uint64_t version;	 /* Py_Version; 0: it has none */
	unsigned minor;		 /* N of 3.N, from the file's name; 0: not there */
	uint64_t loop, loop_end; /* the part of the interpreter's loop without a symbol; 0: none */
};

struct wtl_module {
	char *path;
	uint64_t device, inode;
	int error; /* negative: unreadable, only its name is known; -ESTALE: the file was replaced, -ENOENT: is gone */
	int pid;	    /* a process that has mapped it */
	bool is_jit;	    /* code that this process generated, in no file (jit.h) */
	int own_pid;	    /* JIT: the PID in its own namespace */
	int fd, debug_fd;   /* of the files; JIT: the folder of the map file */
	struct stat status; /* when the file was opened */
	Elf *elf;
	Elf *debug;		   /* a separate file with its symbols and DWARF; NULL */
	Elf *mapped;		   /* the file with the DWARF, memory-mapped; NULL: it is read */
	Dwarf *dwarf;		   /* opened when first needed; NULL */
	struct wtl_scopes *scopes; /* of the DWARF, likewise */
	Dwarf_CFI *frames, *debug_frames; /* may be NULL */
	bool has_frames, has_go, has_dwarf, has_scopes, has_symbols,
		has_debug;	  /* were looked for */
	const Elf_Data *go_table; /* Go's own (go_table.h); NULL */
	uint64_t go_text;	  /* where the code begins that it is of */
	struct wtl_module_segment segments[16];
	size_t n_segments;
	struct wtl_module_symbol *symbols; /* by address */
	size_t n_symbols;
	struct wtl_hash by_name; /* of the symbols; made when first needed */
	struct wtl_buf map;	 /* JIT: the map file's text */
	struct wtl_module_python python;
	bool has_python; /* was looked for */
	/* The process that read its DWARF crashed or took too much, or could not be started; or the DWARF is elsewhere. */
	bool has_lost_lines;
};

struct wtl_modules {
	struct wtl_dw dw;
	struct wtl_module **list;
	size_t n, room;
	/*
	 * Runs tell() in a forked process and hear() in this one (cli/apart.h). Lines are read in that process only.
	 */
	int64_t (*apart)(void (*tell)(void *context, FILE *answers),
			 void (*hear)(void *context, FILE *answers), void *context);
	bool is_apart; /* this is the forked process: DWARF is mapped, as a truncated file may crash only it */
};

int wtl_modules_init(struct wtl_modules *modules,
		     struct wtl_err *err); /* loads elfutils. 0 or negative */
void wtl_modules_done(struct wtl_modules *modules);

/*
 * The module of a file that a process has mapped, at its path for the process; opened once. NULL: no memory. Names in
 * brackets ("[heap]") are modules that cannot be read; "[vdso]" is this program's own, which is the kernel's for all.
 */
struct wtl_module *wtl_modules_find(struct wtl_modules *modules, int pid, const char *path,
				    uint64_t device, uint64_t inode);

/* Converts a file offset to an address. false: no loaded segment has it. */
bool wtl_module_address(const struct wtl_module *module, uint64_t offset, uint64_t *ret_address);

/* The function that an address is in; NULL: not known. */
const struct wtl_module_symbol *wtl_module_symbol(const struct wtl_modules *modules,
						  struct wtl_module *module, uint64_t address);

/*
 * The function that a symbol is a cold part of, by its name: "train" of "train.cold". The symbol itself, if it is not a
 * part; or if several have that name, unless any of them will do.
 */
const struct wtl_module_symbol *wtl_module_whole(const struct wtl_modules *modules,
						 struct wtl_module *module,
						 const struct wtl_module_symbol *symbol,
						 bool is_any);

/* Where CPython lies: in its program or library, or in a program that embeds it. runtime is 0: it is not CPython. */
const struct wtl_module_python *wtl_module_python(const struct wtl_modules *modules,
						  struct wtl_module *module);

/* The separate file with the symbols and DWARF of a stripped module; NULL: there is none. */
Elf *wtl_module_debug(const struct wtl_dw *dw, struct wtl_module *module);

/* Its DWARF; NULL: it has none. */
Dwarf *wtl_module_dwarf(const struct wtl_modules *modules, struct wtl_module *module);

/* The function at that address and the calls inlined there, as wtl_scopes_of() has them. */
size_t wtl_module_scopes(const struct wtl_modules *modules, struct wtl_module *module,
			 uint64_t address, Dwarf_Die *ret_unit, Dwarf_Die list[WTL_SCOPES_MAX]);

/* Unwinding tables at that address; *ret_frame is the caller's to free(). 0 or negative. */
int wtl_module_frame(const struct wtl_modules *modules, struct wtl_module *module, uint64_t address,
		     Dwarf_Frame **ret_frame);

#endif
