/* SPDX-License-Identifier: MIT */
#include "profile/go_table.h"

#include <string.h>

#include "base/array.h"
#include "profile/module.h"

/*
 * As runtime/symtab.go has it: a header; a list by address of (start, place): start counts from the code's start, place
 * from the list's; what is known of a function at that place; and steps of its frame's size (pcsp).
 */
enum {
	MAGIC_1_18 = 0xf0, /* 0xfffffff0 */
	MAGIC_1_20 = 0xf1,
	/* In the header. */
	AT_QUANTUM = 6,
	AT_N = 8,
	AT_TEXT = 24, /* 0 since Go 1.26 */
	AT_NAMES = 32,
	AT_STEPS = 56,
	AT_FUNCTIONS = 64,
	/* Of a function. */
	AT_NAME = 4,
	AT_PCSP = 16,
	AT_FLAGS_1_18 = 37,
	AT_FLAGS_1_20 = 41,
	IS_OUTERMOST = 1,
	SETS_STACK = 2, /* "SPWrite" */
	/* In .go.module, since Go 1.26: the header's address is first. */
	AT_MODULE_TEXT = 176,
	SIZE_MOST = 1 << 30, /* a goroutine's stack has no more */
	STEPS_MOST = 1 << 16,
	NAME_MOST = 1 << 12,
};

static bool get(const Elf_Data *data, uint64_t at, void *to, size_t size)
{
	if (at > data->d_size || data->d_size - at < size)
		return false;
	memcpy(to, (const uint8_t *)data->d_buf + at, size);
	return true;
}

static Elf_Data *section_data(const struct wtl_dw *dw, const struct wtl_module *module,
			      const char *name, uint64_t *ret_address)
{
	GElf_Shdr header;
	Elf_Scn *section = wtl_dw_section(dw, module->elf, name, &header);
	Elf_Data *data =
		section && header.sh_type != SHT_NOBITS ? dw->elf_getdata(section, NULL) : NULL;

	*ret_address = data ? header.sh_addr : 0;
	return data && data->d_buf ? data : NULL;
}

/* Where the code begins that the table is of; 0: it is not known. */
static uint64_t text_of(const struct wtl_dw *dw, const struct wtl_module *module,
			const Elf_Data *table, uint64_t table_address)
{
	uint64_t address, text = 0;
	const Elf_Data *data;

	if (!get(table, AT_TEXT, &text, sizeof(text)) || text)
		return text;
	data = section_data(dw, module, ".go.module", &address);
	if (!data || !get(data, 0, &address, sizeof(address)) || address != table_address ||
	    !get(data, AT_MODULE_TEXT, &text, sizeof(text)))
		return 0;
	return text;
}

static void open_table(const struct wtl_dw *dw, struct wtl_module *module)
{
	uint64_t address;
	const Elf_Data *table = section_data(dw, module, ".gopclntab", &address);
	uint8_t head[8];

	if (!table || !get(table, 0, head, sizeof(head)) ||
	    (head[0] != MAGIC_1_18 && head[0] != MAGIC_1_20) ||
	    memcmp(head + 1, "\xff\xff\xff", 3) != 0)
		return;
	module->go_text = text_of(dw, module, table, address);
	module->go_table = module->go_text ? table : NULL;
}

/* NULL: it has none, or none that is known. */
static const Elf_Data *table_of(const struct wtl_dw *dw, struct wtl_module *module)
{
	if (!module->error && !module->has_go) {
		open_table(dw, module);
		module->has_go = true;
	}
	return module->error ? NULL : module->go_table;
}

/* The list of functions, which has n pairs and one for the code's end. */
static bool find_list(const Elf_Data *table, uint64_t *ret_at, uint64_t *ret_n)
{
	return get(table, AT_N, ret_n, sizeof(*ret_n)) &&
	       get(table, AT_FUNCTIONS, ret_at, sizeof(*ret_at)) && *ret_at <= table->d_size &&
	       *ret_n < (table->d_size - *ret_at) / (2 * sizeof(uint32_t));
}

static bool get_varint(const Elf_Data *table, uint64_t *at, uint32_t *ret)
{
	uint8_t byte;

	*ret = 0;
	for (unsigned shift = 0; shift < 32; shift += 7) {
		if (!get(table, (*at)++, &byte, 1))
			return false;
		*ret |= (uint32_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* The frame's size so many bytes behind the function's start. */
static bool find_size(const Elf_Data *table, uint64_t at, uint64_t offset, uint32_t *ret_size)
{
	uint8_t quantum = 0;
	uint64_t end = 0;
	uint32_t size = UINT32_MAX, change, length;

	if (!get(table, AT_QUANTUM, &quantum, 1))
		return false;
	for (unsigned n = 0; end <= offset; n++) {
		if (n == STEPS_MOST || !get_varint(table, &at, &change) || (change == 0 && n > 0) ||
		    !get_varint(table, &at, &length))
			return false;
		size += change & 1 ? ~(change >> 1) : change >> 1;
		end += (uint64_t)length * quantum;
	}
	*ret_size = size;
	return size <= SIZE_MOST;
}

/* The function that has so much of the code before it: its start and the place of what is known of it. */
static bool find_function(const Elf_Data *table, uint64_t offset, uint32_t *ret_start,
			  uint64_t *ret_at)
{
	uint64_t n, functions, low = 0, high;
	uint32_t pair[2];

	if (!find_list(table, &functions, &n))
		return false;
	high = n + 1; /* the last one is where the code ends */
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (!get(table, functions + middle * sizeof(pair), pair, sizeof(pair)))
			return false;
		if (pair[0] <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || low > n ||
	    !get(table, functions + (low - 1) * sizeof(pair), pair, sizeof(pair)))
		return false;
	*ret_start = pair[0];
	*ret_at = functions + pair[1];
	return true;
}

/* Its flags, and where the steps of its frame's size are. */
static bool read_function(const Elf_Data *table, uint64_t at, uint32_t start, uint8_t *ret_flags,
			  uint64_t *ret_steps)
{
	uint32_t same, pcsp;
	uint8_t magic;

	if (!get(table, 0, &magic, 1) || !get(table, at, &same, sizeof(same)) || same != start ||
	    !get(table, at + AT_PCSP, &pcsp, sizeof(pcsp)) || pcsp == 0 ||
	    !get(table, at + (magic == MAGIC_1_18 ? AT_FLAGS_1_18 : AT_FLAGS_1_20), ret_flags, 1) ||
	    !get(table, AT_STEPS, ret_steps, sizeof(*ret_steps)) || *ret_steps > table->d_size)
		return false;
	*ret_steps += pcsp;
	return true;
}

bool wtl_go_frame(const struct wtl_dw *dw, struct wtl_module *module, uint64_t address,
		  struct wtl_go_frame *ret)
{
	const Elf_Data *table = table_of(dw, module);
	uint64_t offset, at, steps;
	uint32_t start;
	uint8_t flags;

	if (!table || address < module->go_text)
		return false;
	offset = address - module->go_text;
	if (!find_function(table, offset, &start, &at) ||
	    !read_function(table, at, start, &flags, &steps))
		return false;
	ret->is_outermost = flags & IS_OUTERMOST;
	return (ret->is_outermost || !(flags & SETS_STACK)) &&
	       find_size(table, steps, offset - start, &ret->size);
}

/* NULL: there is none, or it does not end. */
static const char *name_at(const Elf_Data *table, uint64_t at)
{
	const char *name = (const char *)table->d_buf + at;
	uint64_t left = at < table->d_size ? table->d_size - at : 0;

	if (left > NAME_MOST)
		left = NAME_MOST;
	return left && name[0] && memchr(name, 0, left) ? name : NULL;
}

void wtl_go_symbols(const struct wtl_dw *dw, struct wtl_module *module, size_t *room)
{
	const Elf_Data *table = table_of(dw, module);
	uint64_t list, n, names;

	if (!table || !find_list(table, &list, &n) ||
	    !get(table, AT_NAMES, &names, sizeof(names)) || names > table->d_size)
		return;
	for (uint64_t i = 0; i < n; i++) {
		uint32_t pairs[4], of;
		const char *name;

		if (!get(table, list + i * 2 * sizeof(*pairs), pairs, sizeof(pairs)) ||
		    pairs[2] <= pairs[0] ||
		    !get(table, list + pairs[1] + AT_NAME, &of, sizeof(of)) ||
		    !(name = name_at(table, names + of)) ||
		    wtl_array_reserve(&module->symbols, room, module->n_symbols + 1,
				      sizeof(*module->symbols)) < 0)
			continue;
		module->symbols[module->n_symbols++] = (struct wtl_module_symbol){
			module->go_text + pairs[0], pairs[2] - pairs[0], name};
	}
}
