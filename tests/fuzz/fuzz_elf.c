/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profile/go_table.h"
#include "profile/module.h"

/*
 * A program's file: its segments, symbols, CPython within it and unwinding tables. Not its DWARF's lines and scopes: elfutils
 * 0.188 itself reads beyond a hostile table of lines (dwarf_getsrclines). Inputs lack the four magic
 * bytes that every ELF file begins with. The corpus is a function of ten lines, built by gcc -gdwarf-4 -shared, by gcc
 * -gdwarf-5, and stripped; and tables of Go around it.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* elf_end() does not free all sections of a file that lies. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libelf";
}

enum { SYMBOLS_MOST = 8 };

static struct wtl_modules modules;
static int file = -1;

static void check(int good)
{
	if (!good)
		abort();
}

static void begin(void)
{
	check(wtl_modules_init(&modules, NULL) == 0);
	file = memfd_create("program", 0);
	check(file >= 0);
}

static void ask(struct wtl_module *module, uint64_t address)
{
	const struct wtl_module_symbol *symbol = wtl_module_symbol(&modules, module, address);
	Dwarf_Frame *frame = NULL;
	struct wtl_go_frame go;

	check(!symbol || (symbol->name && symbol->address <= address));
	if (wtl_module_frame(&modules, module, address, &frame) == 0)
		free(frame);
	wtl_go_frame(&modules.dw, module, address, &go);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wtl_module *module;
	char path[64];

	if (file < 0)
		begin();
	check(ftruncate(file, 0) == 0 && pwrite(file, ELFMAG, SELFMAG, 0) == SELFMAG);
	check(pwrite(file, data, size, SELFMAG) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), file);
	module = wtl_modules_find(&modules, getpid(), path, 0, 0);
	check(module != NULL);
	wtl_module_python(&modules, module);
	for (size_t i = 0; i < module->n_segments; i++) {
		const struct wtl_module_segment *segment = &module->segments[i];
		uint64_t address;

		if (wtl_module_address(module, segment->offset, &address))
			ask(module, address);
		ask(module, segment->address + segment->size / 2);
	}
	for (size_t i = 0; i < module->n_symbols && i < SYMBOLS_MOST; i++)
		ask(module, module->symbols[i].address);
	wtl_modules_done(&modules);
	modules.list = NULL;
	modules.n = modules.room = 0;
	return 0;
}
