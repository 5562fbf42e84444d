/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profile/module.h"

/* The addresses of the objects that are looked for, in one table of symbols. */
static void look_into_table(const struct wtl_dw *dw, struct wtl_module *module, Elf_Scn *section,
			    const GElf_Shdr *header)
{
	Elf_Data *data = dw->elf_getdata(section, NULL);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	for (size_t i = 0; data && i < n && i < INT_MAX; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!dw->gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF ||
		    GELF_ST_TYPE(symbol.st_info) != STT_OBJECT)
			continue;
		name = dw->elf_strptr(module->elf, header->sh_link, symbol.st_name);
		if (name && strcmp(name, "_PyRuntime") == 0)
			module->python.runtime = symbol.st_value;
		else if (name && strcmp(name, "Py_Version") == 0)
			module->python.version = symbol.st_value;
	}
}

static void look(const struct wtl_dw *dw, struct wtl_module *module)
{
	size_t names;

	if (dw->elf_getshdrstrndx(module->elf, &names) < 0)
		return;
	for (unsigned type = SHT_DYNSYM; type && !module->python.runtime;
	     type = type == SHT_DYNSYM ? SHT_SYMTAB : 0) {
		for (Elf_Scn *section = dw->elf_nextscn(module->elf, NULL); section;
		     section = dw->elf_nextscn(module->elf, section)) {
			GElf_Shdr header;
			const char *name;

			if (!dw->gelf_getshdr(section, &header))
				continue;
			if (header.sh_type == type)
				look_into_table(dw, module, section, &header);
			if (type == SHT_DYNSYM || module->python.runtime)
				continue;
			/* A program without symbols still has the section (3.10). */
			name = dw->elf_strptr(module->elf, names, header.sh_name);
			if (name && strcmp(name, ".PyRuntime") == 0)
				module->python.runtime = header.sh_addr;
		}
	}
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
