/* SPDX-License-Identifier: MIT */
/* CPython's frames in made-up memory: of every version's layout, of threads that run on, of memory that lies; and their
 * place in native stacks. */
#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/python.h"
#include "profile/tree.h"

enum {
	BASE = 0x100000,
	SIZE = 1 << 17,
	PID = 70,
	TID = 71,
	RUNTIME = BASE,
	INTERPRETER = BASE + 0x1000,
	STATES = BASE + 0x2000,	  /* 0x400 each */
	CFRAMES = BASE + 0x3000,  /* 0x40 each */
	PTHREADS = BASE + 0x4000, /* 0x400 each */
	CODES = BASE + 0x6000,	  /* 0x200 each */
	TEXTS = BASE + 0x8000,
	FRAMES = BASE + 0x10000, /* 0x100 each */
};

struct memory {
	uint8_t bytes[SIZE];
	uint64_t texts; /* free from here on */
	struct wtl_python_layout layout;
	unsigned n_reads;
	unsigned moves; /* during so many reads the thread goes elsewhere */
	unsigned aside; /* during that read it is elsewhere, and back at its end */
	uint64_t top;	/* where its innermost frame is kept */
};

#define OUTER_CODE(memory) (FRAMES - BASE + 0x100 + (memory)->layout.frame_code)

static void put(struct memory *memory, uint64_t address, const void *bytes, size_t n)
{
	assert_in_range(address, BASE, BASE + SIZE - n);
	memcpy(memory->bytes + (address - BASE), bytes, n);
}

static void put_u64(struct memory *memory, uint64_t address, uint64_t value)
{
	put(memory, address, &value, sizeof(value));
}

static void put_u32(struct memory *memory, uint64_t address, uint32_t value)
{
	put(memory, address, &value, sizeof(value));
}

static uint64_t get_u64(const struct memory *memory, uint64_t address)
{
	uint64_t value;

	memcpy(&value, memory->bytes + (address - BASE), sizeof(value));
	return value;
}

static int read_memory(void *context, int pid, const struct wtl_python_part parts[], size_t n)
{
	struct memory *memory = context;

	assert_int_equal(pid, PID);
	if (++memory->n_reads == memory->aside)
		memory->bytes[OUTER_CODE(memory)] ^= 0x80;
	for (size_t i = 0; i < n; i++) {
		if (i == n / 2 && memory->n_reads <= memory->moves)
			put_u64(memory, memory->top,
				get_u64(memory, memory->top) == FRAMES ? FRAMES + 0x100 : FRAMES);
		if (parts[i].address < BASE || parts[i].size > SIZE ||
		    parts[i].address - BASE > SIZE - parts[i].size)
			return -EFAULT;
		memcpy(parts[i].to, memory->bytes + (parts[i].address - BASE), parts[i].size);
	}
	if (memory->n_reads == memory->aside)
		memory->bytes[OUTER_CODE(memory)] ^= 0x80;
	return 0;
}

/* ---- A made-up CPython ---- */

/* A str: width 1 is ASCII. */
static uint64_t put_text(struct memory *memory, const void *characters, uint64_t n, unsigned width)
{
	const struct wtl_python_layout *layout = &memory->layout;
	uint64_t at = memory->texts;

	put_u64(memory, at + layout->text_length, n);
	put_u32(memory, at + layout->text_state,
		(width | 1 << 3 | (width == 1) << 4) << (layout->has_interned_byte ? 8 : 2));
	put(memory, at + (width == 1 ? layout->text_ascii : layout->text_compact), characters,
	    n * width);
	memory->texts += 0x80 + n * width;
	return at;
}

static uint64_t code_at(size_t i)
{
	return CODES + 0x200 * i;
}

static void put_code(struct memory *memory, size_t i, const char *name, uint32_t line)
{
	const struct wtl_python_layout *layout = &memory->layout;
	uint64_t text = put_text(memory, name, strlen(name), 1);

	put_u64(memory, code_at(i) + layout->code_filename, put_text(memory, "/a/b.py", 7, 1));
	put_u64(memory, code_at(i) + layout->code_name, text);
	if (layout->code_qualname)
		put_u64(memory, code_at(i) + layout->code_qualname, text);
	put_u32(memory, code_at(i) + layout->code_first_line, line);
	if (layout->bytes_begin)
		put_u64(memory, code_at(i) + layout->code_instructions, code_at(i) + 0x180);
	put_u64(memory, code_at(i) + (layout->bytes_begin ? 0x180 : 0) + layout->object_size, 16);
}

static void put_frame(struct memory *memory, size_t i, uint64_t previous, uint64_t code, int owner)
{
	const struct wtl_python_layout *layout = &memory->layout;
	uint64_t at = FRAMES + 0x100 * i;

	put_u64(memory, at + layout->frame_previous, previous);
	put_u64(memory, at + layout->frame_code, layout->minor >= 14 ? code | 1 : code);
	if (layout->frame_owner)
		memory->bytes[at + layout->frame_owner - BASE] = (uint8_t)owner;
}

static void put_thread(struct memory *memory, size_t i, int tid, uint64_t next, uint64_t frame)
{
	const struct wtl_python_layout *layout = &memory->layout;
	uint64_t at = STATES + 0x400 * i;
	bool has_cframe = layout->minor == 11 || layout->minor == 12;

	put_u64(memory, at + layout->tstate_next, next);
	put_u64(memory, at + layout->tstate_thread_id, PTHREADS + 0x400 * i);
	if (layout->tstate_native_id)
		put_u64(memory, at + layout->tstate_native_id, (uint64_t)tid);
#if defined(__aarch64__)
	put_u32(memory, PTHREADS + 0x400 * i + 0xd0, (uint32_t)tid);
#else
	put_u32(memory, PTHREADS + 0x400 * i + 0x2d0, (uint32_t)tid);
#endif
	memory->top = at + layout->tstate_frame;
	if (has_cframe) {
		put_u64(memory, memory->top, CFRAMES + 0x40 * i);
		memory->top = CFRAMES + 0x40 * i + layout->cframe_frame;
	}
	put_u64(memory, memory->top, frame);
}

static struct wtl_python_layout layout_of(unsigned minor)
{
	/* Those that 3.13.0 tells. */
	static const struct wtl_python_layout told = {
		.minor = 13,
		.interpreters_head = 632,
		.interp_next = 0x100,
		.interp_threads = 0x108,
		.tstate_next = 8,
		.tstate_thread_id = 152,
		.tstate_native_id = 160,
		.tstate_frame = 72,
		.frame_previous = 8,
		.frame_code = 0,
		.frame_owner = 70,
		.code_filename = 112,
		.code_name = 120,
		.code_first_line = 68,
		.code_qualname = 128,
		.code_instructions = 0xc8,
		.object_size = 16,
		.text_length = 16,
		.text_state = 32,
		.text_ascii = 40,
		.text_compact = 56,
	};
	const struct wtl_python_layout *known = wtl_python_layout_find(minor);
	struct wtl_python_layout layout = known ? *known : told;

	if (minor >= 14)
		layout.minor = 14;
	layout.has_interned_byte = minor == 15;
	return layout;
}

/* inner, called by outer in the same loop, called from C by main; and a thread without frames. */
static struct memory *make_memory(unsigned minor)
{
	struct memory *memory = calloc(1, sizeof(*memory));
	uint64_t frame[6];

	assert_non_null(memory);
	memory->layout = layout_of(minor);
	memory->texts = TEXTS;
	for (size_t i = 0; i < 6; i++)
		frame[i] = FRAMES + 0x100 * i;
	put_u64(memory, RUNTIME + memory->layout.interpreters_head, INTERPRETER);
	put_u64(memory, INTERPRETER + memory->layout.interp_threads, STATES + 0x400);
	put_code(memory, 0, "inner", 10);
	put_code(memory, 1, "outer", 20);
	put_code(memory, 2, "main", 30);
	if (minor >= 12) {
		put_frame(memory, 0, frame[1], code_at(0), 0);
		put_frame(memory, 1, frame[2], code_at(1), 0);
		put_frame(memory, 2, frame[3], 0, 3);
		put_frame(memory, 3, frame[4], code_at(2), 0);
		put_frame(memory, 4, 0, 0, 3);
	} else {
		put_frame(memory, 0, frame[1], code_at(0), 0);
		put_frame(memory, 1, frame[2], code_at(1), 1);
		put_frame(memory, 2, 0, code_at(2), 1);
	}
	put_thread(memory, 1, TID + 1, STATES, 0);
	put_thread(memory, 0, TID, 0, frame[0]);
	return memory;
}

/* 15 is 3.14 without a global lock. */
static const unsigned versions[] = {8, 9, 10, 11, 12, 13, 14, 15};

/* ---- Layouts ---- */

static void test_layouts(void **state)
{
	uint8_t bytes[WTL_PYTHON_OFFSETS_SIZE] = "xdebugpy";
	struct wtl_python_layout layout;
	uint64_t value = UINT64_C(0x030d00f0);

	(void)state;
	for (unsigned minor = 8; minor <= 12; minor++)
		assert_int_equal(wtl_python_layout_find(minor)->minor, minor);
	assert_null(wtl_python_layout_find(7));
	assert_null(wtl_python_layout_find(13));
	for (uint64_t i = 2; i < 72; i++)
		memcpy(bytes + 8 * i, &i, sizeof(i));
	assert_false(wtl_python_layout_read(bytes, &layout));
	memcpy(bytes + 8, &value, sizeof(value));
	assert_true(wtl_python_layout_read(bytes, &layout));
	assert_int_equal(layout.interpreters_head, 5);
	assert_int_equal(layout.tstate_native_id, 25);
	assert_int_equal(layout.frame_owner, 33);
	assert_int_equal(layout.text_compact, 70 + 16);
	value = WTL_PYTHON_OFFSET_MAX;
	memcpy(bytes + 8 * 33, &value, sizeof(value));
	assert_false(wtl_python_layout_read(bytes, &layout));
	value = UINT64_C(0x030f00f0);
	memcpy(bytes + 8, &value, sizeof(value));
	assert_false(wtl_python_layout_read(bytes, &layout));
	/* 3.14 has more before most of them. */
	value = UINT64_C(0x030e0af0);
	memcpy(bytes + 8, &value, sizeof(value));
	for (uint64_t i = 2; i < 128; i++)
		memcpy(bytes + 8 * i, &i, sizeof(i));
	assert_true(wtl_python_layout_read(bytes, &layout));
	assert_int_equal(layout.minor, 14);
	assert_int_equal(layout.interp_threads, 9);
	assert_int_equal(layout.tstate_native_id, 28);
	assert_int_equal(layout.frame_owner, 36);
	assert_int_equal(layout.text_compact, 80 + 16);
	assert_false(layout.has_interned_byte);
	value = 1;
	memcpy(bytes + 16, &value, sizeof(value));
	assert_true(wtl_python_layout_read(bytes, &layout) && layout.has_interned_byte);
}

/* ---- Frames ---- */

static struct wtl_python_target target_of(const struct memory *memory)
{
	return (struct wtl_python_target){.pid = PID, .layout = memory->layout, .runtime = RUNTIME};
}

static void test_frames(void **state)
{
	static struct wtl_python_stack stack;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(versions); i++) {
		struct memory *memory = make_memory(versions[i]);
		const struct wtl_python_memory reader = {read_memory, memory};
		struct wtl_python_target target = target_of(memory);

		assert_int_equal(wtl_python_read(&target, &reader, TID, 1, false, &stack), 0);
		assert_int_equal(stack.n, 3);
		for (size_t k = 0; k < 3; k++)
			assert_int_equal(stack.frames[k].code, code_at(k));
		/* Before 3.11 C calls each function. */
		assert_int_equal(stack.frames[0].is_entry, versions[i] < 11);
		assert_true(stack.frames[1].is_entry && stack.frames[2].is_entry);
		assert_int_equal(wtl_python_read(&target, &reader, TID + 1, 1, false, &stack), 0);
		assert_int_equal(stack.n, 0);
		assert_int_equal(wtl_python_read(&target, &reader, TID + 2, 1, false, &stack),
				 -ESRCH);
		/* The second time all of it is copied, and checked, in one call. */
		memory->n_reads = 0;
		assert_int_equal(wtl_python_read(&target, &reader, TID, 2, false, &stack), 0);
		assert_int_equal(memory->n_reads, 1);
		wtl_python_target_done(&target);
		free(memory);
	}
}

/* Before and after it was read, the thread is at one place, but it was not meanwhile: of four reads, one saw that. */
static void test_thread_that_comes_back(void **state)
{
	static struct wtl_python_stack stack;

	(void)state;
	for (size_t i = 0; i < 4 * UNIT_COUNT(versions); i++) {
		struct memory *memory = make_memory(versions[i / 4]);
		const struct wtl_python_memory reader = {read_memory, memory};
		struct wtl_python_target target = target_of(memory);

		assert_int_equal(wtl_python_read(&target, &reader, TID, 1, true, &stack), 0);
		memory->n_reads = 0;
		memory->aside = 1 + i % 4;
		assert_int_equal(wtl_python_read(&target, &reader, TID, 2, true, &stack), 0);
		assert_int_equal(stack.n_tries, 2);
		assert_int_equal(stack.frames[1].code, code_at(1));
		wtl_python_target_done(&target);
		free(memory);
	}
}

static void test_thread_that_moves(void **state)
{
	static struct wtl_python_stack stack;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(versions); i++) {
		struct memory *memory = make_memory(versions[i]);
		const struct wtl_python_memory reader = {read_memory, memory};
		struct wtl_python_target target = target_of(memory);

		assert_int_equal(wtl_python_read(&target, &reader, TID, 1, false, &stack), 0);
		memory->n_reads = 0;
		memory->moves = 5; /* then it stays where it is: in outer */
		assert_int_equal(wtl_python_read(&target, &reader, TID, 2, false, &stack), 0);
		assert_true(stack.n_tries > 1);
		assert_int_equal(stack.n, 2);
		assert_int_equal(stack.frames[0].code, code_at(1));
		memory->moves = UINT32_MAX;
		assert_int_equal(wtl_python_read(&target, &reader, TID, 3, false, &stack), -EAGAIN);
		wtl_python_target_done(&target);
		free(memory);
	}
}

static void test_memory_that_lies(void **state)
{
	static struct wtl_python_stack stack;
	struct memory *memory = make_memory(10);
	const struct wtl_python_memory reader = {read_memory, memory};
	struct wtl_python_target target = target_of(memory);

	(void)state;
	put_frame(memory, 2, FRAMES, code_at(2), 1); /* a circle */
	assert_int_equal(wtl_python_read(&target, &reader, TID, 1, false, &stack), 0);
	assert_int_equal(stack.n, WTL_PYTHON_DEPTH);
	assert_true(stack.is_cut);
	put_frame(memory, 2, UINT64_MAX - 3, code_at(2), 1);
	assert_int_equal(wtl_python_read(&target, &reader, TID, 1, false, &stack), -EAGAIN);
	put_u64(memory, INTERPRETER + memory->layout.interp_next, INTERPRETER);
	put_u64(memory, STATES + memory->layout.tstate_next, STATES + 0x400);
	assert_int_equal(wtl_python_read(&target, &reader, 4711, 1, false, &stack), -ESRCH);
	wtl_python_target_done(&target);
	free(memory);
}

/* Memory that was read while it changed, or that lies: a frame that is called by one that it calls. It ends. */
static void test_circles_of_frames(void **state)
{
	static struct wtl_python_stack stack;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(versions); i++)
		for (uint64_t to = 0; to < 3; to++) {
			struct memory *memory = make_memory(versions[i]);
			const struct wtl_python_memory reader = {read_memory, memory};
			struct wtl_python_target target = target_of(memory);

			put_frame(memory, 1, FRAMES + 0x100 * to, code_at(1), 0);
			assert_int_equal(wtl_python_read(&target, &reader, TID, 1, false, &stack),
					 0);
			assert_int_equal(stack.n, to < 2 ? WTL_PYTHON_DEPTH : 3);
			assert_int_equal(stack.is_cut, to < 2);
			wtl_python_target_done(&target);
			free(memory);
		}
}

/* ---- Names ---- */

static const char *name_of(struct wtl_python_codes *codes, struct wtl_tree *tree,
			   const struct memory *memory, const struct wtl_python_memory *reader,
			   size_t code, int64_t now_ns)
{
	struct wtl_python_code gone;
	const struct wtl_python_code *found = wtl_python_code_find(
		codes, tree, &memory->layout, reader, PID, code_at(code), now_ns, &gone);

	return found ? tree->names[tree->frames[found->frame].name] : NULL;
}

static void test_names(void **state)
{
	static const uint16_t wide[] = {0x3b1, 0x1b, 0xd800, 'x', 0x202e};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(versions); i++) {
		struct memory *memory = make_memory(versions[i]);
		const struct wtl_python_memory reader = {read_memory, memory};
		const struct wtl_python_layout *layout = &memory->layout;
		uint32_t name = layout->code_qualname ? layout->code_qualname : layout->code_name;
		struct wtl_python_codes codes = {.n = 0};
		char many[600];
		struct wtl_tree tree;

		assert_int_equal(wtl_tree_init(&tree), 0);
		assert_string_equal(name_of(&codes, &tree, memory, &reader, 0, 1),
				    "inner (/a/b.py:10)");
		/* Another code object comes to lie there. */
		put_code(memory, 0, "lambda", 11);
		assert_string_equal(name_of(&codes, &tree, memory, &reader, 0, 2),
				    "inner (/a/b.py:10)");
		assert_string_equal(name_of(&codes, &tree, memory, &reader, 0, 300000000),
				    "lambda (/a/b.py:11)");
		/* What a file does is done once, and what it defines comes to lie there at once. */
		put_code(memory, 5, "<module>", 1);
		assert_string_equal(name_of(&codes, &tree, memory, &reader, 5, 1),
				    "<module> (/a/b.py:1)");
		put_u64(memory, code_at(5) + layout->code_filename,
			put_text(memory, "/a/c.py", 7, 1));
		assert_string_equal(name_of(&codes, &tree, memory, &reader, 5, 1),
				    "<module> (/a/c.py:1)");
		put_code(memory, 5, "work", 37);
		assert_string_equal(name_of(&codes, &tree, memory, &reader, 5, 2),
				    "work (/a/b.py:37)");
		put_u64(memory, code_at(1) + name, put_text(memory, wide, 5, 2));
		assert_string_equal(name_of(&codes, &tree, memory, &reader, 1, 1),
				    "\xce\xb1????x??? (/a/b.py:20)");
		memset(many, 'm', sizeof(many));
		put_u64(memory, code_at(2) + name, put_text(memory, many, sizeof(many), 1));
		assert_int_equal(strlen(name_of(&codes, &tree, memory, &reader, 2, 1)),
				 200 + strlen(" (/a/b.py:30)"));
		put_code(memory, 3, "bad", 40);
		put_u32(memory, get_u64(memory, code_at(3) + name) + layout->text_state, 0);
		assert_null(name_of(&codes, &tree, memory, &reader, 3, 1));
		put_code(memory, 4, "line", UINT32_MAX);
		assert_null(name_of(&codes, &tree, memory, &reader, 4, 1));
		wtl_python_codes_done(&codes);
		wtl_tree_done(&tree);
		free(memory);
	}
}

/* ---- Merging ---- */

enum { LOOP = 0x100, CALLING = 0x200, BUILTIN = 0x300, START = 0x400, PLUGIN = 0x10 };

static struct wtl_module_symbol symbols[] = {
	{LOOP, 0x100, "_PyEval_EvalFrameDefault"},
	{CALLING, 0x100, "_PyObject_Vectorcall"},
	{BUILTIN, 0x100, "builtin_sorted"},
	{START, 0x100, "pymain_run_python"},
};
static struct wtl_module_symbol plugin_symbols[] = {{PLUGIN, 0x10, "sha256"}};
static char python_path[] = "/usr/bin/python3.12", plugin_path[] = "/lib/_hashlib.so";
static struct wtl_module module = {.path = python_path,
				   .has_symbols = true,
				   .symbols = symbols,
				   .n_symbols = UNIT_COUNT(symbols),
				   .has_python = true,
				   .python = {.runtime = RUNTIME, .minor = 12},
				   .segments = {{0, 0, 0x1000}},
				   .n_segments = 1};
static struct wtl_module plugin = {.path = plugin_path,
				   .has_symbols = true,
				   .symbols = plugin_symbols,
				   .n_symbols = 1,
				   .has_python = true};

/* Code objects by their numbers. */
enum function { INNER, OUTER, MAIN, UNKNOWN };

struct merging {
	struct wtl_modules modules;
	struct wtl_tree tree;
	struct wtl_python python;
	struct memory *memory;
	int64_t t_ns;
	bool may_run;
	bool is_turn;
	int64_t ran_ns, late_ns; /* it left so long after its sample; and was read then, 0: soon */
	bool has_outer; /* the innermost loop has what outer left there, and its instruction elsewhere */
	bool has_registers;	/* all loops have their pointers in registers, too */
	enum function executes; /* UNKNOWN, or whose instruction the innermost loop has */
	bool runs_main;		/* the innermost loop is elsewhere in main than its caller */
	bool is_joined;
	enum function runs[4]; /* in its loops, the innermost first */
	char path[512];
};

static void begin_merging(struct merging *merging, unsigned minor)
{
	const struct wtl_space space = {.pid = PID};

	memset(merging, 0, sizeof(*merging));
	module.python.minor = minor;
	merging->memory = make_memory(minor);
	merging->t_ns = 1000000000;
	merging->executes = UNKNOWN;
	assert_int_equal(wtl_tree_init(&merging->tree), 0);
	assert_int_equal(wtl_python_init(&merging->python, &merging->modules, &merging->tree), 0);
	merging->python.memory = (struct wtl_python_memory){read_memory, merging->memory};
	wtl_python_mapped(&merging->python, &space, 0x5000, 0, &plugin);
	assert_true(wtl_python_awaits(&merging->python) > 1);
	wtl_python_mapped(&merging->python, &space, 0, 0, &module);
	assert_int_equal(wtl_python_awaits(&merging->python), 1);
}

static void end_merging(struct merging *merging)
{
	wtl_python_ended(&merging->python, PID);
	assert_true(wtl_python_awaits(&merging->python) > 1);
	wtl_python_done(&merging->python);
	wtl_tree_done(&merging->tree);
	free(merging->memory);
}

static void add_name(struct merging *merging, uint32_t node)
{
	const struct wtl_frame *frame = &merging->tree.frames[merging->tree.nodes[node].frame];
	const char *name;

	if (node == 0)
		return;
	add_name(merging, merging->tree.nodes[node].parent);
	name = frame->kind == WTL_FRAME_NATIVE
		       ? wtl_module_symbol(&merging->modules, frame->module, frame->address)->name
		       : merging->tree.names[frame->name];
	snprintf(merging->path + strlen(merging->path),
		 sizeof(merging->path) - strlen(merging->path), "%s%s", merging->path[0] ? ";" : "",
		 name);
}

static uint64_t instructions(const struct merging *merging, size_t code)
{
	const struct wtl_python_layout *layout = &merging->memory->layout;

	return layout->bytes_begin ? code_at(code) + 0x180 + layout->bytes_begin + 2
				   : code_at(code) + layout->code_instructions + 2;
}

/* A loop has a pointer into what it runs, and one to its frame. */
static void run_code(const struct merging *merging, enum function code, uint64_t words[2])
{
	bool has_shims = merging->memory->layout.minor >= 12;

	words[0] = words[1] = 0;
	if (code == UNKNOWN)
		return;
	words[0] = instructions(merging, code);
	words[1] = FRAMES + 0x100 * (code == MAIN && has_shims ? 3 : code);
}

/* The path of a sample with those places, the innermost first. */
static const char *merge(struct merging *merging, const uint64_t addresses[], size_t n,
			 bool is_whole, bool is_read)
{
	struct wtl_ring_event sample = {.pid = PID, .tid = TID, .t_ns = merging->t_ns += 5000000};
	struct wtl_unwind_place places[16];
	uint64_t words[16][2] = {{0}};
	size_t n_loops = 0;
	int64_t node;

	for (size_t i = 0; i < n; i++) {
		places[i] = (struct wtl_unwind_place){.module = addresses[i] == PLUGIN ? &plugin
										       : &module,
						      .address = addresses[i],
						      .stack = 0x7000 + sizeof(words[0]) * i};
		if (addresses[i] == LOOP)
			run_code(merging, merging->runs[n_loops++], words[i]);
		if (addresses[i] == LOOP &&
		    (n_loops == 1 || merging->has_outer || merging->has_registers))
			memcpy(places[i].kept, words[i], sizeof(words[i]));
		if (addresses[i] == LOOP && n_loops == 1) {
			memset(words[i], 0, sizeof(words[i]));
			if (merging->runs_main)
				places[i].kept[0] = instructions(merging, MAIN) + 2;
			if (merging->executes != UNKNOWN)
				places[i].kept[0] = instructions(merging, merging->executes);
			if (merging->has_outer) {
				places[i].kept[2] = places[i].kept[0];
				places[i].kept[0] = 0;
				run_code(merging, OUTER, &places[i].kept[3]);
			}
		}
	}
	sample.sample.is_turn = merging->is_turn;
	sample.sample.is_joined = merging->is_joined;
	sample.sample.stack_len = sizeof(words[0]) * n;
	sample.sample.stack = (const uint8_t *)words;
	if (is_read)
		wtl_python_glance(&merging->python, PID, TID, sample.t_ns,
				  sample.t_ns + (merging->late_ns ? merging->ran_ns : 50000),
				  sample.t_ns + (merging->late_ns ? merging->late_ns : 50000),
				  merging->may_run);
	node = wtl_python_merge(&merging->python, wtl_python_find(&merging->python, PID), &sample,
				places, n, is_whole);
	assert_true(node >= 0);
	merging->path[0] = '\0';
	add_name(merging, (uint32_t)node);
	return merging->path;
}

/* The same, if it is read only then. */
static const char *merge_late(struct merging *merging, int64_t late_ns, bool is_glanced_at)
{
	static const uint64_t places[] = {PLUGIN, LOOP, LOOP, START};
	const char *path;

	merging->late_ns = late_ns;
	if (!is_glanced_at)
		wtl_python_catch_up(&merging->python, wtl_python_find(&merging->python, PID), TID,
				    merging->t_ns + 5000000, merging->t_ns + 5000000 + late_ns,
				    false);
	path = merge(merging, places, UNIT_COUNT(places), true, is_glanced_at);
	merging->late_ns = 0;
	return path;
}

static void run_codes(struct merging *merging, enum function innermost, enum function next,
		      enum function outermost)
{
	merging->runs[0] = innermost;
	merging->runs[1] = next;
	merging->runs[2] = outermost;
}

#define MERGE(whole, read, ...)                          \
	merge(&merging, (const uint64_t[]){__VA_ARGS__}, \
	      sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), whole, read)

static void test_merging(void **state)
{
	struct merging merging;

	(void)state;
	begin_merging(&merging, 12);
	/* Two loops: main in the first, outer and inner in the second; how they call is left out. */
	run_codes(&merging, INNER, MAIN, UNKNOWN);
	assert_string_equal(
		MERGE(true, true, PLUGIN, CALLING, LOOP, CALLING, BUILTIN, LOOP, START),
		"main (/a/b.py:30);builtin_sorted;outer (/a/b.py:20);inner (/a/b.py:10);sha256");
	/* A stack that does not begin where the program did is aligned at its end. */
	assert_string_equal(MERGE(false, true, PLUGIN, LOOP),
			    "main (/a/b.py:30);outer (/a/b.py:20);inner (/a/b.py:10);sha256");
	/* inner was called after the sample. */
	run_codes(&merging, OUTER, MAIN, UNKNOWN);
	assert_string_equal(MERGE(true, true, PLUGIN, LOOP, LOOP, START),
			    "main (/a/b.py:30);outer (/a/b.py:20);sha256");
	assert_int_equal(merging.python.n_moved, 0);
	/* A function that is not known ran in C; a loop of main that the reading has no frames of. */
	run_codes(&merging, UNKNOWN, MAIN, UNKNOWN);
	assert_string_equal(MERGE(true, true, PLUGIN, LOOP, LOOP, START),
			    "main (/a/b.py:30);outer (/a/b.py:20);inner (/a/b.py:10)");
	assert_int_equal(merging.python.n_moved, 1);
	run_codes(&merging, MAIN, UNKNOWN, UNKNOWN);
	assert_string_equal(MERGE(true, true, BUILTIN, LOOP, START),
			    "main (/a/b.py:30);builtin_sorted");
	/* Threads of C are as they are. */
	assert_string_equal(MERGE(true, true, PLUGIN, START), "pymain_run_python;sha256");
	end_merging(&merging);
}

/* As long as it is off its processor, its frames are those of when it left. */
static void test_a_thread_that_sleeps(void **state)
{
	static const char all[] = "main (/a/b.py:30);outer (/a/b.py:20);inner (/a/b.py:10);sha256";
	struct merging merging;

	(void)state;
	begin_merging(&merging, 12);
	run_codes(&merging, INNER, MAIN, UNKNOWN);
	merging.ran_ns = 40000000; /* it ran on */
	assert_string_equal(merge_late(&merging, 50000000, true), "[python: unresolved];sha256");
	assert_int_equal(merging.python.n_late, 1);
	merging.ran_ns = 20000;
	assert_string_equal(merge_late(&merging, 50000000, true), all);
	assert_int_equal(merging.python.n_late, 1);
	end_merging(&merging);
	begin_merging(&merging, 12);
	run_codes(&merging, INNER, MAIN, UNKNOWN);
	assert_string_equal(merge_late(&merging, 50000000, false), all);
	assert_int_equal(merging.python.n_merged, 1);
	/* It came back, and is elsewhere by now. Samples of what leaves a processor are not counted. */
	merging.is_turn = true;
	run_codes(&merging, UNKNOWN, UNKNOWN, UNKNOWN);
	assert_string_equal(merge_late(&merging, 100000000, false), "[python: unresolved];sha256");
	assert_int_equal(merging.python.n_merged, 1);
	assert_int_equal(merging.python.n_missing, 0);
	end_merging(&merging);
}

/* So many samples, all of which but each `but`th are of what was read before. */
static void merge_fitting(struct merging *merging, unsigned n, unsigned but)
{
	static const uint64_t places[] = {LOOP, LOOP, START};

	for (unsigned i = 1; i <= n; i++) {
		bool fits = i % but != 0;

		run_codes(merging, fits ? INNER : UNKNOWN, fits ? MAIN : UNKNOWN, UNKNOWN);
		merge(merging, places, UNIT_COUNT(places), true, false);
	}
}

/* What was read at other moments serves samples that show the same frames. */
static void test_samples_that_are_not_read(void **state)
{
	struct merging merging;
	unsigned n_reads, n_together;

	(void)state;
	begin_merging(&merging, 12);
	run_codes(&merging, INNER, MAIN, UNKNOWN);
	for (unsigned i = 0; i < WTL_PYTHON_HASTE; i++) {
		assert_int_equal(wtl_python_awaits(&merging.python), 1);
		MERGE(true, true, LOOP, LOOP, START);
	}
	n_together = wtl_python_awaits(&merging.python);
	assert_true(n_together > 1);
	/* Those that come together are read once. */
	n_reads = merging.memory->n_reads;
	merging.t_ns -= 4000000;
	assert_string_equal(MERGE(true, true, PLUGIN, LOOP, LOOP, START),
			    "main (/a/b.py:30);outer (/a/b.py:20);inner (/a/b.py:10);sha256");
	assert_int_equal(merging.memory->n_reads, n_reads);
	assert_string_equal(MERGE(true, true, PLUGIN, LOOP, LOOP, START),
			    "main (/a/b.py:30);outer (/a/b.py:20);inner (/a/b.py:10);sha256");
	assert_true(merging.memory->n_reads > n_reads);
	/* The thread was elsewhere: its last stack does not fit, one before does. */
	put_u64(merging.memory, merging.memory->top, FRAMES + 0x300);
	MERGE(true, true, LOOP, START);
	assert_int_equal(wtl_python_find(&merging.python, PID)->seen[0].n, 2);
	assert_string_equal(MERGE(true, false, PLUGIN, LOOP, LOOP, START),
			    "main (/a/b.py:30);outer (/a/b.py:20);inner (/a/b.py:10);sha256");
	assert_int_equal(merging.python.n_missing, 0);
	/* While all fit, more and more come together; where a few do not, as few as at first. */
	merge_fitting(&merging, 1000, UINT_MAX);
	assert_true(wtl_python_awaits(&merging.python) >= 2 * n_together);
	assert_true(wtl_python_awaits(&merging.python) <= 4 * n_together);
	merge_fitting(&merging, 256, 40);
	assert_int_equal(wtl_python_awaits(&merging.python), n_together);
	merge_fitting(&merging, 1000, UINT_MAX);
	assert_true(wtl_python_awaits(&merging.python) > n_together);
	/* Those that nothing fits bring the haste back, and the few behind it. */
	run_codes(&merging, UNKNOWN, UNKNOWN, UNKNOWN);
	for (unsigned i = 0; i < 20 && wtl_python_awaits(&merging.python) > 1; i++)
		MERGE(true, false, LOOP, LOOP, START);
	assert_int_equal(wtl_python_awaits(&merging.python), 1);
	merge_fitting(&merging, WTL_PYTHON_HASTE, UINT_MAX);
	assert_int_equal(wtl_python_awaits(&merging.python), n_together);
	end_merging(&merging);
}

/* So many samples without haste: whether readings were thrown away. */
static bool merge_when(struct wtl_python_when *when, unsigned n, unsigned misfits, int64_t t_ns)
{
	bool is_back = false;

	for (unsigned i = 0; i < n; i++)
		is_back |= wtl_python_when_merged(when, i >= misfits, t_ns);
	return is_back;
}

/* So many readings, in each of which the thread moved that often. */
static bool read_when(struct wtl_python_when *when, unsigned n, unsigned n_moves)
{
	bool is_back = false;

	for (unsigned i = 0; i < n; i++)
		is_back |= wtl_python_when_read(when, n_moves, when->now_ns);
	return is_back;
}

/* Frames are read in the thread's place, and apart from it while the thread keeps still for long enough. */
static void test_where_frames_are_read(void **state)
{
	struct wtl_python_when when;

	(void)state;
	wtl_python_when_init(&when);
	assert_int_equal(wtl_python_when_awaits(&when), 1);
	assert_false(read_when(&when, 100, 9));
	merge_when(&when, WTL_PYTHON_HASTE, 0, 1);
	assert_int_equal(wtl_python_when_awaits(&when), WTL_PYTHON_TOGETHER);
	merge_when(&when, 127, 2, 2);
	assert_false(when.is_apart);
	merge_when(&when, 1, 0, 3);
	assert_true(when.is_apart);
	assert_int_equal(when.apart_ns, 3);
	/* A reading now and then that has to be repeated is nothing. */
	for (unsigned i = 0; i < 10; i++)
		assert_false(read_when(&when, 1, 9) || read_when(&when, 15, 1));
	assert_true(read_when(&when, 2, 2));
	assert_false(when.is_apart);
	/* The next time it takes twice as many samples; and once nothing fits, twice as many again, without haste. */
	merge_when(&when, 255, 0, 4);
	assert_false(when.is_apart);
	merge_when(&when, 1, 0, 5);
	assert_true(when.is_apart);
	read_when(&when, 1, 0);
	when.now_ns = 6;
	assert_true(merge_when(&when, 7, 7, 6));
	assert_false(when.is_apart);
	/* Those that were on their way by then say nothing of the thread's place. */
	assert_false(merge_when(&when, 20, 20, 6));
	assert_true(wtl_python_when_awaits(&when) > 1);
	merge_when(&when, 511, 0, 7);
	assert_false(when.is_apart);
	merge_when(&when, 1, 0, 8);
	/* Where it went well for longer than that, the next time it takes as many as at first. */
	merge_when(&when, 5 * 128, 0, 9);
	assert_true(when.is_apart && read_when(&when, 2, 3));
	merge_when(&when, 128, 0, 10);
	assert_true(when.is_apart);
	assert_false(merge_when(&when, 6, 6, 10));
	assert_true(read_when(&when, 2, 3));
	/* In the thread's place, haste is what is left; misfits of before do not count. */
	assert_false(merge_when(&when, 6, 6, 11));
	assert_true(wtl_python_when_awaits(&when) > 1);
	assert_false(merge_when(&when, 1, 1, 11));
	assert_int_equal(wtl_python_when_awaits(&when), 1);
}

/* A loop that calls or returns has the frame of one function, and still the instruction of the other one. */
static void test_a_loop_that_calls(void **state)
{
	struct merging merging;

	(void)state;
	begin_merging(&merging, 12);
	merging.has_registers = true;
	run_codes(&merging, INNER, MAIN, UNKNOWN);
	for (unsigned i = 0; i < WTL_PYTHON_HASTE; i++)
		MERGE(true, true, LOOP, LOOP, START);
	merging.executes = OUTER;
	assert_string_equal(MERGE(true, false, PLUGIN, LOOP, LOOP, START),
			    "main (/a/b.py:30);outer (/a/b.py:20);sha256");
	run_codes(&merging, OUTER, MAIN, UNKNOWN);
	merging.executes = INNER;
	assert_string_equal(MERGE(true, false, PLUGIN, LOOP, LOOP, START),
			    "main (/a/b.py:30);outer (/a/b.py:20);inner (/a/b.py:10);sha256");
	assert_int_equal(merging.python.when.n_misfits, 0);
	/* These two do not call each other in one loop; the loop around is another one. */
	merging.executes = MAIN;
	MERGE(true, false, LOOP, LOOP, START);
	assert_int_equal(merging.python.when.n_misfits, 1);
	run_codes(&merging, INNER, UNKNOWN, UNKNOWN);
	merging.executes = OUTER;
	MERGE(true, false, LOOP, LOOP, START);
	assert_int_equal(merging.python.when.n_misfits, 2);
	end_merging(&merging);
}

/* Callers left pointers where they called from, and were seen without what they call: a callee is not left out for that. */
static void test_what_callers_left(void **state)
{
	struct merging merging;

	(void)state;
	begin_merging(&merging, 12);
	put_u64(merging.memory, merging.memory->top, FRAMES + 0x100);
	run_codes(&merging, OUTER, MAIN, UNKNOWN);
	assert_string_equal(MERGE(true, true, LOOP, LOOP, START),
			    "main (/a/b.py:30);outer (/a/b.py:20)");
	put_u64(merging.memory, merging.memory->top, FRAMES);
	run_codes(&merging, INNER, MAIN, UNKNOWN);
	for (unsigned i = 0; i < WTL_PYTHON_HASTE; i++)
		MERGE(true, true, LOOP, LOOP, START);
	wtl_python_glance(&merging.python, PID, TID, merging.t_ns + 10000000,
			  merging.t_ns + 10000000, merging.t_ns + 10000000, false);
	merging.has_outer = true;
	assert_string_equal(MERGE(true, false, PLUGIN, LOOP, LOOP, START),
			    "main (/a/b.py:30);outer (/a/b.py:20);inner (/a/b.py:10);sha256");
	end_merging(&merging);
}

/* What was read of a thread apart from it may be of several moments: once that shows, no sample is told by it. */
static void test_readings_of_several_moments(void **state)
{
	static const char *const whole = "main (/a/b.py:30);outer (/a/b.py:20);inner (/a/b.py:10)";
	struct merging merging;

	(void)state;
	begin_merging(&merging, 12);
	put_u64(merging.memory, merging.memory->top, FRAMES + 0x300);
	run_codes(&merging, MAIN, UNKNOWN, UNKNOWN);
	for (unsigned i = 0; i < WTL_PYTHON_HASTE + 128; i++)
		MERGE(true, true, LOOP, START);
	assert_true(merging.python.when.is_apart);
	MERGE(true, true, LOOP, START);
	put_u64(merging.memory, merging.memory->top, FRAMES);
	run_codes(&merging, INNER, MAIN, UNKNOWN);
	assert_string_equal(MERGE(true, true, LOOP, LOOP, START), whole);
	merging.may_run = true;
	merging.memory->aside = merging.memory->n_reads + 1;
	assert_string_equal(MERGE(true, true, LOOP, LOOP, START), whole);
	merging.t_ns += 1000000000;
	assert_string_equal(MERGE(true, false, LOOP, LOOP, START), whole);
	merging.memory->moves = UINT_MAX;
	for (unsigned i = 0; i < 2; i++) {
		assert_true(merging.python.when.is_apart);
		MERGE(true, true, LOOP, LOOP, START);
	}
	assert_false(merging.python.when.is_apart);
	assert_string_equal(MERGE(true, false, LOOP, LOOP, START), "[python: unresolved]");
	/* What was read before is, though it was read apart as well. */
	run_codes(&merging, MAIN, UNKNOWN, UNKNOWN);
	assert_string_equal(MERGE(true, false, LOOP, START), "main (/a/b.py:30)");
	/* So is what was read again in the thread's place. */
	merging.may_run = false;
	merging.memory->moves = 0;
	run_codes(&merging, INNER, MAIN, UNKNOWN);
	for (unsigned i = 0; i < WTL_PYTHON_HASTE + 2 * 128; i++)
		MERGE(true, true, LOOP, LOOP, START);
	assert_true(merging.python.when.is_apart);
	MERGE(true, true, LOOP, LOOP, START);
	merging.may_run = true;
	merging.memory->moves = UINT_MAX;
	for (unsigned i = 0; i < 2; i++)
		MERGE(true, true, LOOP, LOOP, START);
	assert_false(merging.python.when.is_apart);
	assert_string_equal(MERGE(true, false, LOOP, LOOP, START), whole);
	end_merging(&merging);
}

/* A reading of two moments, which no check noticed: only the sample that it was made for is told by it. */
static void test_a_reading_that_is_not_made_again(void **state)
{
	static const char *const whole = "main (/a/b.py:30);outer (/a/b.py:20);inner (/a/b.py:10)";
	struct merging merging;
	uint64_t code;

	(void)state;
	begin_merging(&merging, 12);
	code = FRAMES + 0x100 + merging.memory->layout.frame_code;
	run_codes(&merging, INNER, MAIN, UNKNOWN);
	for (unsigned i = 0; i < 4; i++)
		assert_string_equal(MERGE(true, true, LOOP, LOOP, START), whole);
	merging.may_run = true;
	put_u64(merging.memory, code, code_at(MAIN));
	assert_string_equal(MERGE(true, true, LOOP, LOOP, START),
			    "main (/a/b.py:30);main (/a/b.py:30);inner (/a/b.py:10)");
	put_u64(merging.memory, code, code_at(OUTER));
	assert_string_equal(MERGE(true, false, LOOP, LOOP, START), whole);
	/* Of a thread that moved in two tries none is kept, but where there are no samples. */
	for (unsigned i = 0; i < 2; i++) {
		uint64_t n_read = merging.python.n_read;

		merging.memory->moves = merging.memory->n_reads + 2;
		merging.python.is_looked = i == 1;
		MERGE(true, true, LOOP, LOOP, START);
		assert_int_equal(merging.python.n_read - n_read, i);
	}
	merging.python.is_looked = false;
	put_u64(merging.memory, code, code_at(MAIN));
	MERGE(true, true, LOOP, LOOP, START);
	merging.may_run = false;
	put_u64(merging.memory, code, code_at(OUTER));
	/* Nor is it a guess of what runs where nothing fits. */
	run_codes(&merging, UNKNOWN, MAIN, UNKNOWN);
	assert_string_equal(MERGE(true, false, LOOP, LOOP, START), "[python: unresolved]");
	for (unsigned i = 0; i < 4; i++)
		MERGE(true, true, LOOP, LOOP, START);
	assert_string_equal(MERGE(true, false, LOOP, LOOP, START),
			    "main (/a/b.py:30);[python: unresolved]");
	end_merging(&merging);
}

/* A function of several callers: samples between two readings are of the nearer one, however rare it is, if its thread was still. */
static void test_callers_that_alternate(void **state)
{
	static const char *const callers[] = {
		"main (/a/b.py:30);outer (/a/b.py:20);inner (/a/b.py:10)",
		"main (/a/b.py:30);main (/a/b.py:30);inner (/a/b.py:10)"};
	static const int64_t ms = 1000000;
	struct merging merging;
	uint64_t code;

	(void)state;
	begin_merging(&merging, 12);
	code = FRAMES + 0x100 + merging.memory->layout.frame_code;
	run_codes(&merging, INNER, MAIN, UNKNOWN);
	for (unsigned i = 0; i < 8; i++)
		assert_string_equal(MERGE(true, true, LOOP, LOOP, START), callers[0]);
	merging.t_ns += 20 * ms;
	put_u64(merging.memory, code, code_at(MAIN));
	assert_string_equal(MERGE(true, true, LOOP, LOOP, START), callers[1]);
	merging.t_ns += 20 * ms;
	put_u64(merging.memory, code, code_at(OUTER));
	assert_string_equal(MERGE(true, true, LOOP, LOOP, START), callers[0]);
	for (int i = -16; i <= 16; i += 8) {   /* from the second one, 25 ms before the last */
		merging.t_ns -= (30 - i) * ms; /* a sample adds 5 ms */
		assert_string_equal(MERGE(true, false, LOOP, LOOP, START), callers[abs(i) < 12]);
		merging.t_ns += (25 - i) * ms;
	}
	end_merging(&merging);
}

/* Another function comes to lie where one lay. Samples from before are of that one, and those from then on are not. */
static void test_code_that_is_freed(void **state)
{
	static const int64_t ms = 1000000;
	struct merging merging;

	(void)state;
	begin_merging(&merging, 12);
	run_codes(&merging, INNER, MAIN, UNKNOWN);
	for (unsigned i = 0; i < 2; i++)
		MERGE(true, true, LOOP, LOOP, START);
	put_code(merging.memory, INNER, "other", 40);
	merging.t_ns += 20 * ms;
	for (unsigned i = 0; i < 2; i++)
		assert_string_equal(MERGE(true, true, LOOP, LOOP, START),
				    "main (/a/b.py:30);outer (/a/b.py:20);other (/a/b.py:40)");
	merging.t_ns -= 7 * ms; /* between both */
	assert_string_equal(MERGE(true, false, LOOP, LOOP, START),
			    "main (/a/b.py:30);outer (/a/b.py:20);other (/a/b.py:40)");
	merging.t_ns -= 33 * ms; /* between the first two */
	assert_string_equal(MERGE(true, false, LOOP, LOOP, START),
			    "main (/a/b.py:30);outer (/a/b.py:20);inner (/a/b.py:10)");
	end_merging(&merging);
}

/* Where C calls each function, a sample shows its whole stack: no reading of just these functions is needed. */
static void test_stacks_that_a_sample_shows(void **state)
{
	static const int64_t second = 1000000000;
	static const char called[] = "main (/a/b.py:30);inner (/a/b.py:10)";

	(void)state;
	for (unsigned minor = 8; minor <= 12; minor++) {
		struct merging merging;

		begin_merging(&merging, minor);
		merging.has_registers = true;
		for (unsigned i = 0; i < 130; i++) {
			run_codes(&merging, INNER, OUTER, MAIN);
			MERGE(true, true, LOOP, LOOP, LOOP, START);
			run_codes(&merging, OUTER, MAIN, UNKNOWN);
			MERGE(true, true, LOOP, LOOP, START);
		}
		merging.t_ns += second;
		run_codes(&merging, INNER, MAIN, UNKNOWN);
		if (minor > 10) {
			assert_string_not_equal(MERGE(true, false, LOOP, LOOP, START), called);
			end_merging(&merging);
			continue;
		}
		assert_string_equal(MERGE(true, false, PLUGIN, LOOP, BUILTIN, LOOP, START),
				    "main (/a/b.py:30);builtin_sorted;inner (/a/b.py:10);sha256");
		assert_false(merging.python.is_unsure);
		/* It is not in the function's code yet; has its caller's frame; or a loop's function is not known. */
		merging.executes = MAIN;
		assert_string_not_equal(MERGE(true, false, LOOP, LOOP, START), called);
		merging.executes = UNKNOWN;
		merging.runs_main = true;
		run_codes(&merging, MAIN, MAIN, UNKNOWN);
		assert_string_not_equal(MERGE(true, false, LOOP, LOOP, START),
					"main (/a/b.py:30);main (/a/b.py:30)");
		merging.runs_main = false;
		run_codes(&merging, INNER, UNKNOWN, MAIN);
		assert_non_null(strstr(MERGE(true, false, LOOP, LOOP, LOOP, START), "unresolved"));
		/* Its stack does not begin where the program did, or was read later from there on. */
		run_codes(&merging, INNER, MAIN, UNKNOWN);
		assert_string_not_equal(MERGE(false, false, LOOP, LOOP), called);
		merging.is_joined = true;
		assert_string_not_equal(MERGE(true, false, LOOP, LOOP, START), called);
		merging.is_joined = false;
		assert_string_equal(MERGE(true, false, LOOP, LOOP, START), called);
		/* The frame goes to main, which calls itself: for a while it is not known whose it is. */
		put_u64(merging.memory, FRAMES + merging.memory->layout.frame_code, code_at(MAIN));
		MERGE(true, true, LOOP, LOOP, START);
		merging.t_ns -= second / 100;
		assert_string_not_equal(MERGE(true, false, LOOP, LOOP, START), called);
		merging.runs_main = true;
		merging.t_ns += second / 100;
		assert_string_not_equal(MERGE(true, false, LOOP, LOOP, START),
					"main (/a/b.py:30);main (/a/b.py:30)");
		merging.t_ns += second;
		assert_string_equal(MERGE(true, false, LOOP, LOOP, START),
				    "main (/a/b.py:30);main (/a/b.py:30)");
		/* A loop that begins in that frame still has its caller's instruction. */
		merging.executes = MAIN;
		assert_string_not_equal(MERGE(true, false, LOOP, LOOP, START),
					"main (/a/b.py:30);main (/a/b.py:30)");
		end_merging(&merging);
	}
}

/* Functions that are alike have one code: whose frame it is, their instructions do not tell. */
static void test_functions_with_one_code(void **state)
{
	struct merging merging;
	uint32_t code;

	(void)state;
	begin_merging(&merging, 10);
	code = merging.memory->layout.code_instructions;
	merging.has_registers = true;
	run_codes(&merging, INNER, OUTER, MAIN);
	for (unsigned i = 0; i < 130; i++) {
		put_u64(merging.memory, merging.memory->top, FRAMES + 0x100 * (i % 2));
		run_codes(&merging, i % 2 ? OUTER : INNER, i % 2 ? MAIN : OUTER,
			  i % 2 ? UNKNOWN : MAIN);
		if (i % 2)
			MERGE(true, true, LOOP, LOOP, START);
		else
			MERGE(true, true, LOOP, LOOP, LOOP, START);
	}
	put_code(merging.memory, UNKNOWN, "twin", 40);
	put_u64(merging.memory, code_at(UNKNOWN) + code,
		get_u64(merging.memory, code_at(INNER) + code));
	put_u64(merging.memory, FRAMES + merging.memory->layout.frame_code, code_at(UNKNOWN));
	put_u64(merging.memory, merging.memory->top, FRAMES);
	run_codes(&merging, INNER, OUTER, MAIN);
	assert_string_equal(MERGE(true, true, LOOP, LOOP, LOOP, START),
			    "main (/a/b.py:30);outer (/a/b.py:20);twin (/a/b.py:40)");
	merging.t_ns += 2000000000;
	MERGE(true, false, LOOP, LOOP, LOOP, START);
	assert_true(merging.python.is_unsure);
	end_merging(&merging);
}

/* One call a sample, in which a module's own code is looked at too; and one for all functions, some times a second. */
static void test_calls_that_a_sample_takes(void **state)
{
	(void)state;
	for (unsigned minor = 8; minor <= 12; minor++) {
		struct merging merging;
		unsigned n_reads;

		begin_merging(&merging, minor);
		put_code(merging.memory, MAIN, "<module>", 1);
		run_codes(&merging, INNER, MAIN, UNKNOWN);
		for (unsigned k = 0; k < 4; k++)
			MERGE(true, true, LOOP, LOOP, START);
		n_reads = merging.memory->n_reads;
		for (unsigned k = 0; k < 12; k++) /* 60 ms */
			MERGE(true, true, LOOP, LOOP, START);
		assert_in_range(merging.memory->n_reads - n_reads, 12 + 3, 12 + 4);
		put_code(merging.memory, MAIN, "work", 50);
		MERGE(true, true, LOOP, LOOP, START);
		assert_non_null(strstr(merging.path, "work (/a/b.py:50)"));
		end_merging(&merging);
	}
}

/* Where each call of the loop by C keeps its innermost frame is known, once they were seen. */
static void test_calls_by_c(void **state)
{
	static struct wtl_python_stack stack;

	(void)state;
	for (unsigned minor = 11; minor <= 12; minor++) {
		struct memory *memory = make_memory(minor);
		const struct wtl_python_memory reader = {read_memory, memory};
		struct wtl_python_target target = target_of(memory);
		uint64_t top = STATES + memory->layout.tstate_frame;
		unsigned n_reads = 0;

		for (size_t i = 1; i < 4; i++)
			put_u64(memory, CFRAMES + 0x400 * i + memory->layout.cframe_frame,
				FRAMES + 0x100);
		for (size_t i = 0; i < 12; i++) {
			put_u64(memory, top, CFRAMES + 0x400 * (i % 4));
			n_reads = i == 4 ? memory->n_reads : n_reads;
			assert_int_equal(wtl_python_read(&target, &reader, TID, (int64_t)i + 1,
							 false, &stack),
					 0);
			assert_int_equal(stack.n, i % 4 ? 2 : 3);
			assert_int_equal(stack.frames[0].code, code_at(i % 4 ? 1 : 0));
		}
		assert_int_equal(memory->n_reads - n_reads, 8);
		/* One that is far away, as a thread's first is: it is found as well. */
		put_u64(memory, top, FRAMES + 0x4000);
		put_u64(memory, FRAMES + 0x4000 + memory->layout.cframe_frame, FRAMES + 0x100);
		assert_int_equal(wtl_python_read(&target, &reader, TID, 20, false, &stack), 0);
		assert_int_equal(stack.n, 2);
		wtl_python_target_done(&target);
		free(memory);
	}
}

static void test_unresolved(void **state)
{
	const struct wtl_python_seen *seen;
	struct merging merging;

	(void)state;
	begin_merging(&merging, 10);
	run_codes(&merging, INNER, OUTER, MAIN);
	assert_string_equal(MERGE(true, false, PLUGIN, LOOP, LOOP, LOOP, START),
			    "[python: unresolved];sha256");
	assert_int_equal(merging.python.n_missing, 1);
	assert_string_equal(
		MERGE(true, true, PLUGIN, LOOP, BUILTIN, LOOP, LOOP, START),
		"main (/a/b.py:30);outer (/a/b.py:20);builtin_sorted;inner (/a/b.py:10);sha256");
	assert_string_equal(MERGE(true, false, PLUGIN, LOOP, LOOP, LOOP, START),
			    "main (/a/b.py:30);outer (/a/b.py:20);inner (/a/b.py:10);sha256");
	assert_int_equal(merging.python.n_missing, 1);
	/* What it was last seen with, as far as that is what runs. */
	run_codes(&merging, UNKNOWN, OUTER, MAIN);
	assert_string_equal(MERGE(true, false, PLUGIN, LOOP, LOOP, LOOP, START),
			    "main (/a/b.py:30);outer (/a/b.py:20);[python: unresolved];sha256");
	assert_int_equal(merging.python.n_missing, 2);
	/* Not if a function of it has been freed. */
	seen = &wtl_python_find(&merging.python, PID)->seen[0];
	assert_int_equal(seen->n, 1);
	seen->readings[0].gone_ns = merging.t_ns;
	assert_string_equal(MERGE(true, false, PLUGIN, LOOP, LOOP, LOOP, START),
			    "[python: unresolved];sha256");
	seen->readings[0].gone_ns = INT64_MAX;
	run_codes(&merging, UNKNOWN, UNKNOWN, MAIN);
	assert_string_equal(MERGE(true, false, PLUGIN, LOOP, BUILTIN, LOOP, LOOP, START),
			    "main (/a/b.py:30);[python: unresolved];builtin_sorted;sha256");
	/* A reading that is not of the moment: C functions are those of another one, from there on. */
	assert_string_equal(MERGE(true, true, PLUGIN, LOOP, BUILTIN, LOOP, LOOP, START),
			    "main (/a/b.py:30);outer (/a/b.py:20);inner (/a/b.py:10)");
	run_codes(&merging, UNKNOWN, OUTER, MAIN);
	assert_string_equal(MERGE(true, true, PLUGIN, LOOP, BUILTIN, LOOP, LOOP, START),
			    "main (/a/b.py:30);outer (/a/b.py:20);inner (/a/b.py:10)");
	merging.t_ns += 100000000; /* that is too long ago */
	assert_string_equal(MERGE(true, false, LOOP, START), "[python: unresolved]");
	end_merging(&merging);
	/* A version that is not known. */
	begin_merging(&merging, 14);
	assert_string_equal(MERGE(true, true, LOOP, START), "[python: unresolved]");
	assert_int_equal(merging.python.n_unknown, 1);
	wtl_python_ended(&merging.python, PID);
	end_merging(&merging);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_thread_that_moves),
		cmocka_unit_test(test_thread_that_comes_back),
		cmocka_unit_test(test_memory_that_lies),
		cmocka_unit_test(test_circles_of_frames),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_merging),
		cmocka_unit_test(test_a_thread_that_sleeps),
		cmocka_unit_test(test_samples_that_are_not_read),
		cmocka_unit_test(test_where_frames_are_read),
		cmocka_unit_test(test_a_loop_that_calls),
		cmocka_unit_test(test_what_callers_left),
		cmocka_unit_test(test_readings_of_several_moments),
		cmocka_unit_test(test_a_reading_that_is_not_made_again),
		cmocka_unit_test(test_callers_that_alternate),
		cmocka_unit_test(test_code_that_is_freed),
		cmocka_unit_test(test_stacks_that_a_sample_shows),
		cmocka_unit_test(test_functions_with_one_code),
		cmocka_unit_test(test_calls_that_a_sample_takes),
		cmocka_unit_test(test_calls_by_c),
		cmocka_unit_test(test_unresolved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
