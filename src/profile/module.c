/* SPDX-License-Identifier: MIT */
#include "profile/module.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/array.h"
#include "base/text.h"
#include "profile/file.h"
#include "profile/go_table.h"
#include "profile/jit.h"
#include "profile/tree.h"

/* ---- Opening ---- */

static void read_segments(const struct wtl_dw *dw, struct wtl_module *module)
{
	size_t n = 0;

	if (dw->elf_getphdrnum(module->elf, &n) < 0)
		return;
	for (size_t i = 0; i < n && module->n_segments < 16; i++) {
		GElf_Phdr header;

		if (!dw->gelf_getphdr(module->elf, (int)i, &header) || header.p_type != PT_LOAD)
			continue;
		module->segments[module->n_segments++] = (struct wtl_module_segment){
			header.p_offset, header.p_vaddr, header.p_filesz};
	}
}

/* This program's own vDSO: the kernel gives all processes the same. */
static void open_vdso(const struct wtl_dw *dw, struct wtl_module *module)
{
	char *at = (char *)getauxval(AT_SYSINFO_EHDR);
	size_t size = 2 * (size_t)sysconf(_SC_PAGESIZE);

	if (at)
		module->elf = dw->elf_memory(at, size);
}

static void open_module(const struct wtl_dw *dw, struct wtl_module *module, int pid,
			const char *path)
{
	module->pid = pid;
	module->is_jit = wtl_file_is_memory(module->path);
	module->fd = module->debug_fd = -1;
	if (module->is_jit) {
		wtl_jit_open(module);
	} else if (strcmp(module->path, "[vdso]") == 0) {
		open_vdso(dw, module);
	} else if (module->path[0] == '/') {
		module->fd = wtl_file_open(pid, path, module->inode);
		/* Read, not mapped: truncating a mapped file would crash wattle. Sections are read when needed. */
		if (module->fd >= 0 && fstat(module->fd, &module->status) == 0)
			module->elf = dw->elf_begin(module->fd, ELF_C_READ, NULL);
	}
	if (!module->elf || dw->elf_kind(module->elf) != ELF_K_ELF) {
		module->error = module->fd < -1 ? module->fd : -ENOEXEC;
		return;
	}
	read_segments(dw, module);
}

static void unmap(const struct wtl_dw *dw, struct wtl_module *module)
{
	if (module->mapped)
		dw->elf_end(module->mapped);
	module->mapped = NULL;
}

static void free_module(const struct wtl_dw *dw, struct wtl_module *module)
{
	/* Of .eh_frame; dwarf_end() frees that of .debug_frame. */
	if (module->frames)
		dw->dwarf_cfi_end(module->frames);
	wtl_scopes_free(module->scopes);
	if (module->dwarf)
		dw->dwarf_end(module->dwarf);
	unmap(dw, module);
	if (module->elf)
		dw->elf_end(module->elf);
	if (module->fd >= 0)
		close(module->fd);
	if (module->debug)
		dw->elf_end(module->debug);
	if (module->debug_fd >= 0)
		close(module->debug_fd);
	free(module->symbols);
	wtl_hash_done(&module->by_name);
	wtl_buf_done(&module->map);
	free(module->path);
	free(module);
}

int wtl_modules_init(struct wtl_modules *modules, struct wtl_err *err)
{
	*modules = (struct wtl_modules){.n = 0};
	return wtl_dw_load(&modules->dw, err);
}

void wtl_modules_done(struct wtl_modules *modules)
{
	for (size_t i = 0; i < modules->n; i++)
		free_module(&modules->dw, modules->list[i]);
	free(modules->list);
}

struct wtl_module *wtl_modules_find(struct wtl_modules *modules, int pid, const char *path,
				    uint64_t device, uint64_t inode)
{
	size_t len = wtl_file_name_len(path);
	struct wtl_module *module;

	for (size_t i = 0; i < modules->n; i++) {
		module = modules->list[i];
		if (module->device == device && module->inode == inode &&
		    strncmp(module->path, path, len) == 0 && !module->path[len])
			return module;
	}
	if (wtl_array_reserve(&modules->list, &modules->room, modules->n + 1,
			      sizeof(*modules->list)) < 0)
		return NULL;
	module = calloc(1, sizeof(*module));
	if (!module)
		return NULL;
	module->path = strndup(path, len);
	if (!module->path) {
		free(module);
		return NULL;
	}
	module->device = device;
	module->inode = inode;
	open_module(&modules->dw, module, pid, path);
	modules->list[modules->n++] = module;
	return module;
}

/* Whether the file is as it was mapped. A running program cannot be written, but a library or an ended one can. */
static bool is_same(struct wtl_module *module)
{
	struct stat now;

	if (module->fd >= 0 && !module->error &&
	    (fstat(module->fd, &now) < 0 || now.st_size != module->status.st_size ||
	     now.st_mtim.tv_sec != module->status.st_mtim.tv_sec ||
	     now.st_mtim.tv_nsec != module->status.st_mtim.tv_nsec))
		module->error = -ESTALE;
	return !module->error;
}

bool wtl_module_address(const struct wtl_module *module, uint64_t offset, uint64_t *ret_address)
{
	for (size_t i = 0; i < module->n_segments; i++) {
		const struct wtl_module_segment *segment = &module->segments[i];

		if (offset < segment->offset || offset - segment->offset >= segment->size)
			continue;
		*ret_address = offset - segment->offset + segment->address;
		return true;
	}
	return false;
}

/* ---- Symbols ---- */

static int by_address(const void *a, const void *b)
{
	const struct wtl_module_symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	/* Of several at one address, the last one is used: one with a size, and with the shortest name. */
	if (!x->size != !y->size)
		return x->size ? 1 : -1;
	return strlen(x->name) > strlen(y->name) ? -1 : strlen(x->name) < strlen(y->name);
}

static void read_table(const struct wtl_dw *dw, struct wtl_module *module, Elf *elf,
		       Elf_Scn *section, const GElf_Shdr *header, size_t *room)
{
	Elf_Data *data = dw->elf_getdata(section, NULL);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	for (size_t i = 0; data && i < n && i < INT_MAX; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!dw->gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF ||
		    (GELF_ST_TYPE(symbol.st_info) != STT_FUNC &&
		     GELF_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC))
			continue;
		name = dw->elf_strptr(elf, header->sh_link, symbol.st_name);
		if (!name || !name[0] ||
		    wtl_array_reserve(&module->symbols, room, module->n_symbols + 1,
				      sizeof(*module->symbols)) < 0)
			continue;
		module->symbols[module->n_symbols++] =
			(struct wtl_module_symbol){symbol.st_value, symbol.st_size, name};
	}
}

static size_t read_tables(const struct wtl_dw *dw, struct wtl_module *module, Elf *elf,
			  unsigned type, size_t *room)
{
	for (Elf_Scn *section = elf ? dw->elf_nextscn(elf, NULL) : NULL; section;
	     section = dw->elf_nextscn(elf, section)) {
		GElf_Shdr header;

		if (dw->gelf_getshdr(section, &header) && header.sh_type == type)
			read_table(dw, module, elf, section, &header, room);
	}
	return module->n_symbols;
}

/* .symtab has all functions; that of a stripped file may be in its debug file. Else only .dynsym is left, and Go's own table. */
static void read_symbols(const struct wtl_dw *dw, struct wtl_module *module)
{
	size_t room = 0, n = read_tables(dw, module, module->elf, SHT_SYMTAB, &room);

	module->has_symbols = true;
	if (n == 0)
		n = read_tables(dw, module, wtl_module_debug(dw, module), SHT_SYMTAB, &room);
	if (n == 0) {
		read_tables(dw, module, module->elf, SHT_DYNSYM, &room);
		wtl_go_symbols(dw, module, &room);
		n = module->n_symbols;
	}
	if (n > 0)
		qsort(module->symbols, n, sizeof(*module->symbols), by_address);
}

const struct wtl_module_symbol *wtl_module_symbol(const struct wtl_modules *modules,
						  struct wtl_module *module, uint64_t address)
{
	size_t low = 0, high;

	if (!module->is_jit && (module->error || (!module->has_symbols && !is_same(module))))
		return NULL;
	if (!module->has_symbols && module->is_jit)
		wtl_jit_read(module);
	else if (!module->has_symbols)
		read_symbols(&modules->dw, module);
	high = module->n_symbols;
	while (low < high) { /* the first one after the address */
		size_t middle = low + (high - low) / 2;

		if (module->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	while (low > 0) {
		const struct wtl_module_symbol *symbol = &module->symbols[--low];

		if (symbol->size == 0 || address - symbol->address < symbol->size)
			return symbol;
		if (low == 0 || module->symbols[low - 1].address != symbol->address)
			return NULL;
	}
	return NULL;
}

/* ---- Cold parts ---- */

/* Of a symbol's number: there is another one of its name, elsewhere. */
#define IS_ONE_OF_MANY (UINT32_C(1) << 31)

struct sought {
	const char *name;
	size_t len;
};

static bool is_sought(const void *context, uint32_t value, const void *key)
{
	const struct wtl_module *module = context;
	const char *name = module->symbols[value & ~IS_ONE_OF_MANY].name;
	const struct sought *sought = key;

	return strncmp(name, sought->name, sought->len) == 0 && !name[sought->len];
}

static uint32_t *find_name(const struct wtl_module *module, const char *name, size_t len)
{
	return wtl_hash_find(&module->by_name, wtl_hash_bytes(name, len), is_sought, module,
			     &(struct sought){name, len});
}

static void index_names(struct wtl_module *module)
{
	if (module->n_symbols >= IS_ONE_OF_MANY ||
	    wtl_hash_reserve(&module->by_name, module->n_symbols) < 0)
		return;
	for (size_t i = 0; i < module->n_symbols; i++) {
		const char *name = module->symbols[i].name;
		size_t len = strlen(name);
		uint32_t *found = find_name(module, name, len);

		if (!found)
			wtl_hash_add(&module->by_name, wtl_hash_bytes(name, len), (uint32_t)i);
		else if (module->symbols[*found & ~IS_ONE_OF_MANY].address !=
			 module->symbols[i].address)
			*found |= IS_ONE_OF_MANY;
	}
}

/* How much of "train.cold" or, as compilers once wrote it, "train.cold.0" is the function's name. 0: it is not such a name. */
static size_t whole_len(const char *name)
{
	static const char cold[] = ".cold";
	size_t len = strlen(name), rest = len;

	while (rest > 0 && name[rest - 1] >= '0' && name[rest - 1] <= '9')
		rest--;
	if (rest > 0 && rest < len && name[rest - 1] == '.')
		len = rest - 1;
	rest = strlen(cold);
	return len > rest && memcmp(name + len - rest, cold, rest) == 0 ? len - rest : 0;
}

const struct wtl_module_symbol *wtl_module_whole(const struct wtl_modules *modules,
						 struct wtl_module *module,
						 const struct wtl_module_symbol *symbol,
						 bool is_any)
{
	static const char with_dots[] = "main.main"; /* Go, Zig: "main.cold" is any function */
	size_t len = module->is_jit ? 0 : whole_len(symbol->name);
	const uint32_t *found;

	if (len == 0)
		return symbol;
	if (module->by_name.n == 0)
		index_names(module);
	found = find_name(module, symbol->name, len);
	if (!found || (*found & IS_ONE_OF_MANY && !is_any) ||
	    find_name(module, with_dots, strlen(with_dots)))
		return symbol;
	/* As it is called elsewhere, if it has several names. */
	return wtl_module_symbol(modules, module,
				 module->symbols[*found & ~IS_ONE_OF_MANY].address);
}

/* ---- DWARF ---- */

/* In the forked process, maps the file: debug information is large, and little of it is read. */
static Elf *map(const struct wtl_modules *modules, struct wtl_module *module, int fd, Elf *elf)
{
	if (modules->is_apart && fd >= 0)
		module->mapped = modules->dw.elf_begin(fd, ELF_C_READ_MMAP, NULL);
	return module->mapped ? module->mapped : elf;
}

/* The module's own DWARF or, as it is stripped, that of its debug file. */
static Dwarf *open_dwarf(const struct wtl_modules *modules, struct wtl_module *module)
{
	const struct wtl_dw *dw = &modules->dw;
	Dwarf *dwarf = dw->dwarf_begin_elf(map(modules, module, module->fd, module->elf),
					   DWARF_C_READ, NULL);
	Elf *debug;

	if (dwarf)
		return dwarf;
	unmap(dw, module);
	debug = wtl_module_debug(dw, module);
	if (!debug)
		return NULL;
	dwarf = dw->dwarf_begin_elf(map(modules, module, module->debug_fd, debug), DWARF_C_READ,
				    NULL);
	if (!dwarf)
		unmap(dw, module);
	return dwarf;
}

Dwarf *wtl_module_dwarf(const struct wtl_modules *modules, struct wtl_module *module)
{
	if (module->error || (!module->has_dwarf && !is_same(module)))
		return NULL;
	if (!module->has_dwarf)
		module->dwarf = open_dwarf(modules, module);
	module->has_dwarf = true;
	return module->dwarf;
}

size_t wtl_module_scopes(const struct wtl_modules *modules, struct wtl_module *module,
			 uint64_t address, Dwarf_Die *ret_unit, Dwarf_Die list[WTL_SCOPES_MAX])
{
	Dwarf *dwarf = wtl_module_dwarf(modules, module);

	if (dwarf && !module->has_scopes) {
		module->scopes = wtl_scopes_new(&modules->dw, dwarf);
		module->has_scopes = true;
	}
	return wtl_scopes_of(module->scopes, &modules->dw, address, ret_unit, list);
}

int wtl_module_frame(const struct wtl_modules *modules, struct wtl_module *module, uint64_t address,
		     Dwarf_Frame **ret_frame)
{
	const struct wtl_dw *dw = &modules->dw;
	GElf_Shdr header;

	if (module->error)
		return module->error;
	if (!module->has_frames) {
		module->frames = dw->dwarf_getcfi_elf(module->elf);
		/* Opening the DWARF reads all of it: that can wait until lines are needed. */
		if (wtl_dw_section(dw, module->elf, ".debug_frame", &header) &&
		    wtl_module_dwarf(modules, module))
			module->debug_frames = dw->dwarf_getcfi(module->dwarf);
		module->has_frames = true;
	}
	if (module->frames && dw->dwarf_cfi_addrframe(module->frames, address, ret_frame) == 0)
		return 0;
	if (module->debug_frames &&
	    dw->dwarf_cfi_addrframe(module->debug_frames, address, ret_frame) == 0)
		return 0;
	return -ENOENT;
}
