/* SPDX-License-Identifier: MIT */
/* A process' memory that is made up: whatever it says, reading its Python frames ends, and names are clean text. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profile/python_code.h"
#include "profile/python_read.h"
#include "profile/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAPPED = 1 << 16, THREADS = 4, FRAMES = 64 };

struct memory {
	const uint8_t *bytes;
	size_t size;
};

/* The input again and again, up to the end of what is mapped. */
static int read_memory(void *context, int pid, const struct wtl_python_part parts[], size_t n)
{
	const struct memory *memory = context;

	(void)pid;
	for (size_t i = 0; i < n; i++) {
		if (parts[i].address >= MAPPED || parts[i].size > MAPPED - parts[i].address)
			return -EFAULT;
		for (size_t k = 0; k < parts[i].size; k++)
			((uint8_t *)parts[i].to)[k] =
				memory->bytes[(parts[i].address + k) % memory->size];
	}
	return 0;
}

static void check_name(const char *name)
{
	if (!wtl_text_is_clean(name, strlen(name)))
		abort();
}

static void read_all(struct wtl_python_target *target, const struct wtl_python_memory *reader)
{
	static struct wtl_python_stack stack;
	struct wtl_python_codes codes = {.n = 0};
	struct wtl_tree tree;

	if (wtl_tree_init(&tree) < 0)
		abort();
	for (int tid = 0; tid < THREADS; tid++) {
		int64_t now_ns = INT64_C(1000000000) * (tid + 1);

		if (wtl_python_read(target, reader, tid, now_ns, true, &stack) < 0)
			continue;
		for (size_t i = 0; i < stack.n && i < FRAMES; i++) {
			struct wtl_python_code gone;
			const struct wtl_python_code *code =
				wtl_python_code_find(&codes, &tree, &target->layout, reader, 1,
						     stack.frames[i].code, (int64_t)i + 1, &gone);

			if (code)
				check_name(tree.names[tree.frames[code->frame].name]);
		}
	}
	wtl_python_codes_done(&codes);
	wtl_tree_done(&tree);
}

/* The version, where _PyRuntime is, then memory; one that tells its layout has that in it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t told[WTL_PYTHON_OFFSETS_SIZE] = {0};
	struct wtl_python_target target = {.pid = 1};
	struct memory memory = {data + 2, size > 2 ? size - 2 : 0};
	const struct wtl_python_memory reader = {read_memory, &memory};
	const struct wtl_python_layout *known;

	if (size < 16)
		return 0;
	known = wtl_python_layout_find(data[0]);
	target.runtime = data[1];
	memcpy(told, memory.bytes, memory.size < sizeof(told) ? memory.size : sizeof(told));
	if (known)
		target.layout = *known;
	else if (!wtl_python_layout_read(told, &target.layout))
		return 0;
	read_all(&target, &reader);
	wtl_python_target_done(&target);
	return 0;
}
