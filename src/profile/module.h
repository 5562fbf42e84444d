/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_MODULE_H
#define WTL_PROFILE_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/buf.h"
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
	uint64_t address, size; /* 0: not known, up to the next one */
	const char *name;	/* the file's */
};

/* Where CPython lies in it, as wtl_module_python() found. */
struct wtl_module_python {
	uint64_t runtime; /* _PyRuntime; 0: it is not CPython */
	uint64_t version; /* Py_Version; 0: it has none */
	unsigned minor;	  /* of 3.N, by its name; 0: not told */
	uint64_t loop,
		loop_end; /* a part of the interpreter's loop that has no name; 0: it has one */
};

struct wtl_module {
	char *path;
	uint64_t device, inode;
	int error; /* negative: it cannot be read, and only its name is known; -ESTALE: another one is in its place */
	int pid;	    /* a process that has mapped it */
	bool is_jit;	    /* code that this process made: of no file (jit.h) */
	int own_pid;	    /* the number that it knows itself by, then */
	int fd, debug_fd;   /* of that code, the folder where its names may be */
	struct stat status; /* when it was opened */
	Elf *elf;
	Elf *debug;   /* a file of its symbols and DWARF, apart from it; NULL */
	Elf *mapped;  /* the one that the DWARF is in, in memory as it is; NULL: a copy is */
	Dwarf *dwarf; /* opened with the first question; NULL */
	struct wtl_scopes *scopes;					/* of that; as well */
	Dwarf_CFI *frames, *debug_frames;				/* may be NULL */
	bool has_frames, has_dwarf, has_scopes, has_symbols, has_debug; /* were looked for */
	struct wtl_module_segment segments[16];
	size_t n_segments;
	struct wtl_module_symbol *symbols; /* by address */
	size_t n_symbols;
	struct wtl_buf map; /* of code that it makes: the names' text */
	struct wtl_module_python python;
	bool has_python; /* was looked for */
	bool has_lost_lines; /* the process that read its DWARF crashed or took too much, or could not be started */
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
	bool is_apart; /* this is that process: DWARF is mapped, not copied, since a truncated file may crash it */
};

int wtl_modules_init(struct wtl_modules *modules,
		     struct wtl_err *err); /* loads elfutils. 0 or negative */
void wtl_modules_done(struct wtl_modules *modules);

/*
 * The file that a process has mapped, as that process sees it. The same one is opened once. NULL: no memory. Names in
 * brackets ("[heap]") are modules that cannot be read; "[vdso]" is this program's own, which is the kernel's for all.
 */
struct wtl_module *wtl_modules_find(struct wtl_modules *modules, int pid, const char *path,
				    uint64_t device, uint64_t inode);

/* The address of what lies at that offset of the file. false: nothing that is loaded does. */
bool wtl_module_address(const struct wtl_module *module, uint64_t offset, uint64_t *ret_address);

/* The function that an address is in; NULL: not known. */
const struct wtl_module_symbol *wtl_module_symbol(const struct wtl_modules *modules,
						  struct wtl_module *module, uint64_t address);

/* Whether it is CPython: its program or library, or a program that has CPython within it. */
const struct wtl_module_python *wtl_module_python(const struct wtl_modules *modules,
						  struct wtl_module *module);

/* The file that its symbols and DWARF were put into when it was stripped; NULL: there is none. */
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
