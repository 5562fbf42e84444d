/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profile/module.h"

/* The interpreter's loop is far larger than any other function of CPython. Its symbol may be small all the same:
 * compilers may split off the rest of it (gcc 16: 1 KiB, and 82 KiB after that without a symbol). */
enum { LOOP_LEAST = 32 << 10, LOOP_SMALL = 8 << 10 };

/* Looks CPython's symbols up in one symbol table. */
static void look_into_table(const struct wtl_dw *dw, struct wtl_module *module, Elf_Scn *section,
			    const GElf_Shdr *header, uint64_t *ret_loop_size)
{
	Elf_Data *data = dw->elf_getdata(section, NULL);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	for (size_t i = 0; data && i < n && i < INT_MAX; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!dw->gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF)
			continue;
		name = dw->elf_strptr(module->elf, header->sh_link, symbol.st_name);
		if (!name)
			continue;
		if (strcmp(name, "_PyRuntime") == 0)
			module->python.runtime = symbol.st_value;
		else if (strcmp(name, "Py_Version") == 0)
			module->python.version = symbol.st_value;
		else if (strcmp(name, "_PyEval_EvalFrameDefault") == 0)
			*ret_loop_size = symbol.st_size;
	}
}

/* Finds the largest function by .eh_frame_hdr, the linker's sorted table of where functions begin (offsets from it). */
static void look_for_loop(const struct wtl_dw *dw, struct wtl_module *module, Elf_Scn *section,
			  const GElf_Shdr *header)
{
	/* Version 1; offsets of 4 bytes, from here and from the section. */
	static const uint8_t encodings[] = {1, 0x1b, 0x03, 0x3b};
	const Elf_Data *data = dw->elf_getdata(section, NULL);
	const uint8_t *bytes = data ? data->d_buf : NULL;
	uint32_t n = 0, most = LOOP_LEAST;

	if (!bytes || data->d_size < 12 || memcmp(bytes, encodings, sizeof(encodings)) != 0)
		return;
	memcpy(&n, bytes + 8, sizeof(n));
	for (size_t i = 0; i + 1 < n && 12 + 8 * (i + 2) <= data->d_size; i++) {
		int32_t begin, next;

		memcpy(&begin, bytes + 12 + 8 * i, sizeof(begin));
		memcpy(&next, bytes + 12 + 8 * (i + 1), sizeof(next));
		if (next <= begin || (uint32_t)next - (uint32_t)begin <= most)
			continue;
		most = (uint32_t)next - (uint32_t)begin;
		module->python.loop = header->sh_addr + (uint64_t)(int64_t)begin;
		module->python.loop_end = header->sh_addr + (uint64_t)(int64_t)next;
	}
}

/* NULL: there is none. */
static Elf_Scn *section_named(const struct wtl_dw *dw, const struct wtl_module *module,
			      const char *wanted, GElf_Shdr *ret_header)
{
	size_t names;

	if (dw->elf_getshdrstrndx(module->elf, &names) < 0)
		return NULL;
	for (Elf_Scn *section = dw->elf_nextscn(module->elf, NULL); section;
	     section = dw->elf_nextscn(module->elf, section)) {
		const char *name = NULL;

		if (dw->gelf_getshdr(section, ret_header))
			name = dw->elf_strptr(module->elf, names, ret_header->sh_name);
		if (name && strcmp(name, wanted) == 0)
			return section;
	}
	return NULL;
}

static void look(const struct wtl_dw *dw, struct wtl_module *module)
{
	struct wtl_module_python *python = &module->python;
	uint64_t loop_size = 0;
	GElf_Shdr header;
	Elf_Scn *section;

	for (unsigned type = SHT_DYNSYM; type && !python->runtime;
	     type = type == SHT_DYNSYM ? SHT_SYMTAB : 0)
		for (section = dw->elf_nextscn(module->elf, NULL); section;
		     section = dw->elf_nextscn(module->elf, section))
			if (dw->gelf_getshdr(section, &header) && header.sh_type == type)
				look_into_table(dw, module, section, &header, &loop_size);
	/* A program without symbols still has the section (3.10). */
	if (!python->runtime && section_named(dw, module, ".PyRuntime", &header))
		python->runtime = header.sh_addr;
	if (!python->runtime || loop_size == 0 || loop_size >= LOOP_SMALL)
		return;
	section = section_named(dw, module, ".eh_frame_hdr", &header);
	if (section)
		look_for_loop(dw, module, section, &header);
}

/* python3.8, libpython3.8.so.1.0: 8. */
static unsigned minor_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *digits;
	unsigned minor = 0;

	digits = strstr(slash ? slash : path, "python3.");
	if (!digits)
		return 0;
	for (digits += strlen("python3."); *digits >= '0' && *digits <= '9' && minor < 100;
	     digits++)
		minor = 10 * minor + (unsigned)(*digits - '0');
	return minor;
}

const struct wtl_module_python *wtl_module_python(const struct wtl_modules *modules,
						  struct wtl_module *module)
{
	if (module->has_python)
		return &module->python;
	module->has_python = true;
	if (!module->error)
		look(&modules->dw, module);
	module->python.minor = minor_of(module->path);
	return &module->python;
}
