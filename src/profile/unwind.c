/* SPDX-License-Identifier: MIT */
#include "profile/unwind.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/go_table.h"

/* DWARF's numbers: x86-64 ABI 3.6.2 (rbx, rbp, r12 to r15), AAPCS64 (x19 to x29, and x30 has the return address). */
#if defined(__aarch64__)
static const uint8_t kept[WTL_UNWIND_KEPT] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30};
#else
static const uint8_t kept[WTL_UNWIND_KEPT] = {3, 6, 12, 13, 14, 15};
#endif

void wtl_unwinder_init(struct wtl_unwinder *unwinder, const struct wtl_modules *modules)
{
	struct wtl_unwind_row *row = &unwinder->by_pointer;

	*unwinder = (struct wtl_unwinder){.modules = modules};
	*row = (struct wtl_unwind_row){.base = WTL_UNWIND_FP, .offset = 16};
	for (size_t i = 0; i < WTL_UNWIND_KEPT; i++) {
		row->rules[i] = kept[i] == WTL_UNWIND_FP ? WTL_UNWIND_AT_CFA : WTL_UNWIND_UNKNOWN;
		row->offsets[i] = -16;
	}
	row->rules[WTL_UNWIND_KEPT] = WTL_UNWIND_AT_CFA;
	row->offsets[WTL_UNWIND_KEPT] = -8;
}

void wtl_unwinder_done(struct wtl_unwinder *unwinder)
{
	free(unwinder->rows);
	free(unwinder->known);
	wtl_hash_done(&unwinder->by_address);
}

/* ---- Rows ---- */

static bool fits(Dwarf_Word number)
{
	return (int64_t)number >= INT32_MIN && (int64_t)number <= INT32_MAX;
}

/* The register that an operation adds to, and what it adds. */
static bool is_register(const Dwarf_Op *op, uint8_t *ret_register, int32_t *ret_offset)
{
	Dwarf_Word number, offset;

	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		number = op->atom - DW_OP_breg0;
		offset = op->number;
	} else if (op->atom == DW_OP_bregx) {
		number = op->number;
		offset = op->number2;
	} else {
		return false;
	}
	if (number >= WTL_RING_REGISTERS || !fits(offset))
		return false;
	*ret_register = (uint8_t)number;
	*ret_offset = (int32_t)offset;
	return true;
}

/* The linker's expression for x86-64's PLT: rsp + 8, and 8 more in its second half: breg7 8, breg16 0, lit15, and,
 * lit11, ge, lit3, shl, plus. */
static bool is_plt(const Dwarf_Op *ops, size_t n)
{
	return n == 9 && ops[0].atom == DW_OP_breg7 && ops[0].number == 8 &&
	       ops[1].atom == DW_OP_breg16 && ops[2].atom == DW_OP_lit15 &&
	       ops[3].atom == DW_OP_and && ops[4].atom == DW_OP_lit11 && ops[5].atom == DW_OP_ge;
}

static bool take_frame_address(const struct wtl_dw *dw, Dwarf_Frame *frame,
			       struct wtl_unwind_row *row)
{
	Dwarf_Op *ops;
	size_t n;

	if (dw->dwarf_frame_cfa(frame, &ops, &n) < 0 || n == 0)
		return false;
	row->is_plt = is_plt(ops, n);
	if (row->is_plt)
		return true;
	row->is_deref = n == 2 && ops[1].atom == DW_OP_deref;
	return (n == 1 || row->is_deref) && is_register(&ops[0], &row->base, &row->offset);
}

/* false: it is saved in a way that is not understood. */
static bool take_rule(const struct wtl_dw *dw, Dwarf_Frame *frame, int number, uint8_t *ret_rule,
		      int32_t *ret_offset)
{
	Dwarf_Op room[3], *ops;
	uint8_t base;
	size_t n;

	*ret_rule = WTL_UNWIND_UNKNOWN;
	*ret_offset = 0;
	if (dw->dwarf_frame_register(frame, number, room, &ops, &n) < 0)
		return false;
	if (n == 0) {
		*ret_rule = ops ? WTL_UNWIND_UNKNOWN : WTL_UNWIND_SAME;
		return true;
	}
	/* An expression, which begins with the frame's address on its stack. */
	if (n == 2 && is_register(&ops[1], &base, ret_offset) && base == WTL_UNWIND_SP) {
		*ret_rule = WTL_UNWIND_AT_SP;
		return true;
	}
	if (ops[0].atom != DW_OP_call_frame_cfa ||
	    (n == 2 && (ops[1].atom != DW_OP_plus_uconst || !fits(ops[1].number))) || n > 2)
		return false;
	*ret_rule = WTL_UNWIND_AT_CFA;
	*ret_offset = n == 2 ? (int32_t)ops[1].number : 0;
	return true;
}

static void fill_from_go(const struct wtl_modules *modules, struct wtl_module *module,
			 struct wtl_unwind_row *row)
{
	struct wtl_go_frame frame;

	if (!wtl_go_frame(&modules->dw, module, row->address, &frame))
		return;
	row->is_bad = false;
	row->is_end = frame.is_outermost;
	row->base = WTL_UNWIND_SP;
	for (size_t i = 0; i < WTL_UNWIND_KEPT; i++)
		row->rules[i] = WTL_UNWIND_UNKNOWN;
#if defined(__aarch64__)
	/* The return address is where the stack pointer is, or still in its register. */
	row->offset = (int32_t)frame.size;
	row->rules[WTL_UNWIND_KEPT] = frame.size ? WTL_UNWIND_AT_CFA : WTL_UNWIND_SAME;
	row->offsets[WTL_UNWIND_KEPT] = -(int32_t)frame.size;
#else
	row->offset = (int32_t)frame.size + 8;
	row->rules[WTL_UNWIND_KEPT] = WTL_UNWIND_AT_CFA;
	row->offsets[WTL_UNWIND_KEPT] = -8;
#endif
}

static void fill_row(const struct wtl_modules *modules, struct wtl_module *module, uint64_t address,
		     struct wtl_unwind_row *row)
{
	Dwarf_Frame *frame;
	bool is_signal;

	*row = (struct wtl_unwind_row){.module = module, .address = address, .is_bad = true};
	if (wtl_module_frame(modules, module, address, &frame) < 0) {
		fill_from_go(modules, module, row);
		return;
	}
	modules->dw.dwarf_frame_info(frame, NULL, NULL, &is_signal);
	row->is_signal = is_signal;
	row->is_bad = !take_frame_address(&modules->dw, frame, row);
	/* Registers without a rule are as the caller had them: elfutils 0.188 says so of all of them but rbx. */
	for (size_t i = 0; i < WTL_UNWIND_KEPT; i++)
		if (take_rule(&modules->dw, frame, kept[i], &row->rules[i], &row->offsets[i]) &&
		    row->rules[i] == WTL_UNWIND_UNKNOWN)
			row->rules[i] = WTL_UNWIND_SAME;
	if (!take_rule(&modules->dw, frame, WTL_UNWIND_RA, &row->rules[WTL_UNWIND_KEPT],
		       &row->offsets[WTL_UNWIND_KEPT]))
		row->is_bad = true;
	row->is_end = !row->is_bad && row->rules[WTL_UNWIND_KEPT] == WTL_UNWIND_UNKNOWN;
	free(frame);
}

static size_t hash_of(uint64_t pc)
{
	return pc * UINT64_C(0x9e3779b185ebca87) >> 54; /* below WTL_UNWIND_KNOWN */
}

struct row_key {
	const struct wtl_module *module;
	uint64_t address;
};

static bool is_row(const void *context, uint32_t value, const void *sought)
{
	const struct wtl_unwinder *unwinder = context;
	const struct row_key *key = sought;

	return unwinder->rows[value].address == key->address &&
	       unwinder->rows[value].module == key->module;
}

/* Valid until the next call. NULL: no memory. */
static const struct wtl_unwind_row *row_at(struct wtl_unwinder *unwinder, struct wtl_module *module,
					   uint64_t address)
{
	const struct row_key key = {module, address};
	uint32_t sum = wtl_hash_bytes(&key, sizeof(key));
	const uint32_t *found = wtl_hash_find(&unwinder->by_address, sum, is_row, unwinder, &key);

	if (found)
		return &unwinder->rows[*found];
	if (wtl_array_reserve(&unwinder->rows, &unwinder->room, unwinder->n + 1,
			      sizeof(*unwinder->rows)) < 0 ||
	    wtl_hash_reserve(&unwinder->by_address, unwinder->n + 1) < 0)
		return NULL;
	fill_row(unwinder->modules, module, address, &unwinder->rows[unwinder->n]);
	wtl_hash_add(&unwinder->by_address, sum, (uint32_t)unwinder->n);
	return &unwinder->rows[unwinder->n++];
}

/* ---- A stack ---- */

const uint8_t *wtl_unwind_stack(const struct wtl_ring_event *sample, uint64_t offset,
				size_t *ret_len)
{
	*ret_len = 0;
	if (offset < sample->sample.stack_len) {
		*ret_len = sample->sample.stack_len - (size_t)offset;
		return sample->sample.stack + offset;
	}
	offset -= sample->sample.far_at;
	if (!sample->sample.far || offset >= sample->sample.far_len)
		return NULL;
	*ret_len = sample->sample.far_len - (size_t)offset;
	return sample->sample.far + offset;
}

/* An address further from the stack pointer is not on the stack. */
enum { BEYOND_MOST = 1 << 20 };

/* The state of unwinding. */
struct frame {
	const struct wtl_ring_event *sample;
	uint64_t stack_at; /* the address of what was copied */
	uint64_t registers[WTL_RING_REGISTERS];
	uint64_t known;	 /* bits: registers that are known */
	uint64_t cut_at; /* the first address asked for that was not copied; 0: none */
};

static bool read_word(struct frame *frame, uint64_t address, uint64_t *ret)
{
	uint64_t offset = address - frame->stack_at;
	size_t len;
	const uint8_t *at = wtl_unwind_stack(frame->sample, offset, &len);

	if (len < sizeof(*ret)) {
		if (offset < BEYOND_MOST && !frame->cut_at)
			frame->cut_at = address;
		return false;
	}
	memcpy(ret, at, sizeof(*ret));
	return true;
}

static bool frame_address(struct frame *frame, const struct wtl_unwind_row *row,
			  uint64_t *ret_address)
{
	if (row->is_plt) {
		uint64_t pc = frame->registers[WTL_UNWIND_PC];

		*ret_address = frame->registers[WTL_UNWIND_SP] + 8 + ((pc & 15) >= 11 ? 8 : 0);
		return true;
	}
	if (!(frame->known >> row->base & 1))
		return false;
	*ret_address = frame->registers[row->base] + (uint64_t)(int64_t)row->offset;
	return !row->is_deref || read_word(frame, *ret_address, ret_address);
}

static bool old_value(struct frame *frame, uint8_t rule, int number, uint64_t cfa, int32_t offset,
		      uint64_t *ret)
{
	if (rule == WTL_UNWIND_AT_CFA)
		return read_word(frame, cfa + (uint64_t)(int64_t)offset, ret);
	if (rule == WTL_UNWIND_AT_SP)
		return read_word(frame, frame->registers[WTL_UNWIND_SP] + (uint64_t)(int64_t)offset,
				 ret);
	*ret = frame->registers[number];
	return rule == WTL_UNWIND_SAME && frame->known >> number & 1;
}

/* Goes on to the caller. false: there is none, or it is not known; *ret_is_end says which. */
static bool leave(struct frame *frame, const struct wtl_unwind_row *row, bool *ret_is_end)
{
	uint64_t cfa, pc, old[WTL_UNWIND_KEPT], known = 0;

	*ret_is_end = row->is_end;
	if (row->is_end || row->is_bad || !frame_address(frame, row, &cfa) ||
	    cfa <= frame->registers[WTL_UNWIND_SP] - (row->is_signal ? 1 : 0) ||
	    !old_value(frame, row->rules[WTL_UNWIND_KEPT], WTL_UNWIND_RA, cfa,
		       row->offsets[WTL_UNWIND_KEPT], &pc))
		return false;
	for (size_t i = 0; i < WTL_UNWIND_KEPT; i++)
		if (old_value(frame, row->rules[i], kept[i], cfa, row->offsets[i], &old[i]))
			known |= UINT64_C(1) << i;
	frame->known = UINT64_C(1) << WTL_UNWIND_SP | UINT64_C(1) << WTL_UNWIND_PC;
	for (size_t i = 0; i < WTL_UNWIND_KEPT; i++) {
		frame->registers[kept[i]] = old[i];
		frame->known |= (known >> i & 1) << kept[i];
	}
	frame->registers[WTL_UNWIND_SP] = cfa;
	frame->registers[WTL_UNWIND_PC] = pc;
	*ret_is_end = pc == 0;
	return pc != 0;
}

/* Finds a place by the mappings and the rows, and keeps the result. */
static void seek_place(struct wtl_unwinder *unwinder, const struct wtl_space *space, uint64_t pc,
		       struct wtl_unwind_place *place)
{
	const struct wtl_mapping *mapping = wtl_space_at(space, pc);
	const struct wtl_unwind_row *row = NULL;

	place->module = mapping ? mapping->module : NULL;
	place->address = pc;
	place->row = 0;
	if (!mapping || mapping->module->error)
		return;
	wtl_module_address(mapping->module, pc - mapping->start + mapping->offset, &place->address);
	if (!mapping->module->is_jit)
		row = row_at(unwinder, mapping->module, place->address);
	if (!row)
		return;
	place->row = (uint32_t)(row - unwinder->rows) + 1;
	if (!unwinder->known)
		unwinder->known = calloc(WTL_UNWIND_KNOWN, sizeof(*unwinder->known));
	if (!unwinder->known)
		return;
	unwinder->known[hash_of(pc)] =
		(struct wtl_unwind_known){.pc = pc,
					  .start = mapping->start,
					  .offset = mapping->offset,
					  .address = place->address,
					  .module = mapping->module,
					  .mapping = (uint32_t)(mapping - space->mappings),
					  .row = place->row};
}

static void find_place(struct wtl_unwinder *unwinder, const struct wtl_space *space, uint64_t pc,
		       struct wtl_unwind_place *place)
{
	const struct wtl_unwind_known *known =
		unwinder->known ? &unwinder->known[hash_of(pc)] : NULL;
	const struct wtl_mapping *mapping =
		known && known->mapping < space->n ? &space->mappings[known->mapping] : NULL;

	if (!mapping || known->pc != pc || known->module != mapping->module ||
	    known->start != mapping->start || known->offset != mapping->offset ||
	    pc >= mapping->end || mapping->module->error) {
		seek_place(unwinder, space, pc, place);
		return;
	}
	place->module = known->module;
	place->address = known->address;
	place->row = known->row;
}

static void keep_registers(const struct frame *frame, struct wtl_unwind_place *place)
{
	place->stack = frame->registers[WTL_UNWIND_SP];
	for (size_t i = 0; i < WTL_UNWIND_KEPT; i++)
		place->kept[i] = frame->known >> kept[i] & 1 ? frame->registers[kept[i]] : 0;
}

/* The row to unwind a place by; NULL: none. inner: the row of the frame that it called. */
static const struct wtl_unwind_row *row_of(const struct wtl_unwinder *unwinder,
					   const struct wtl_unwind_place *place,
					   const struct wtl_unwind_row *inner)
{
	const struct wtl_unwind_row *row = place->row ? &unwinder->rows[place->row - 1] : NULL;

	if (place->module && place->module->is_jit)
		return &unwinder->by_pointer;
	/* The engine calls JIT code by code of its own that has no table either (Node's builtins). */
	return row && row->is_bad && inner == &unwinder->by_pointer ? inner : row;
}

size_t wtl_unwind(struct wtl_unwinder *unwinder, const struct wtl_space *space,
		  const struct wtl_ring_event *sample, struct wtl_unwind_place places[], size_t max,
		  enum wtl_unwind_end *ret_end)
{
	const uint64_t few = UINT64_C(1) << WTL_UNWIND_SP | UINT64_C(1) << WTL_UNWIND_PC;
	struct frame frame = {.sample = sample,
			      .known = sample->sample.is_asleep ? few : UINT64_MAX};
	bool is_end = false, is_exact = true; /* false: the PC is a return address */
	const struct wtl_unwind_row *row = NULL;
	size_t n = 0;

	*ret_end = WTL_UNWIND_LOST;
	if (!sample->sample.has_registers)
		return 0;
	memcpy(frame.registers, sample->sample.registers, sizeof(frame.registers));
	frame.stack_at = frame.registers[WTL_UNWIND_SP];
	while (n < max) {
		struct wtl_unwind_place *place = &places[n];

		find_place(unwinder, space, frame.registers[WTL_UNWIND_PC] - (is_exact ? 0 : 1),
			   place);
		keep_registers(&frame, place);
		n += place->module || n == 0;
		row = row_of(unwinder, place, row);
		if (!row || !leave(&frame, row, &is_end))
			break;
		is_exact = row->is_signal;
	}
	unwinder->cut_at = frame.cut_at;
	*ret_end = is_end ? WTL_UNWIND_WHOLE : frame.cut_at ? WTL_UNWIND_CUT : WTL_UNWIND_LOST;
	return n;
}
