/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/lines.h"
#include "profile/module.h"

/* What the forked process answers that reads debug information: a hostile file may have made it write anything. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FRAMES = 3 };

static struct wtl_modules modules;
static struct wtl_tree tree;
static FILE *answered;

static void check(int good)
{
	if (!good)
		abort();
}

/* Each process apart goes on with what the one before it has left. */
static int64_t apart(void (*tell)(void *context, FILE *answers),
		     void (*hear)(void *context, FILE *answers), void *context)
{
	(void)tell;
	hear(context, answered);
	return 1;
}

/* Two modules; one has two places. */
static void begin(void)
{
	static const char *const paths[] = {"/proc/self/exe", "/proc/self/exe", "/bin/sh"};

	check(wtl_modules_init(&modules, NULL) == 0 && wtl_tree_init(&tree) == 0);
	modules.apart = apart;
	for (uint64_t i = 0; i < FRAMES; i++) {
		const struct wtl_frame frame = {
			.kind = WTL_FRAME_NATIVE,
			.module = wtl_modules_find(&modules, getpid(), paths[i], 0, 0),
			.address = i};

		check(frame.module && frame.module->error == 0);
		check(wtl_tree_frame(&tree, &frame) >= 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wtl_lines lines;
	size_t n_texts = 0;

	if (!modules.apart)
		begin();
	answered =
		size > 0 ? fmemopen((void *)(uintptr_t)data, size, "r") : fopen("/dev/null", "r");
	check(answered != NULL);
	check(wtl_lines_make(&lines, &modules, &tree) == 0);
	for (size_t i = 0; i <= tree.n_frames; i++) {
		const struct wtl_line *list;
		size_t n = wtl_lines_of(&lines, i, &list);

		check(n <= WTL_LINES_MAX && (i < tree.n_frames || n == 0));
		for (size_t k = 0; k < n; k++)
			n_texts += (list[k].name && strlen(list[k].name) > 0) +
				   (list[k].file && strlen(list[k].file) > 0);
	}
	check(n_texts <= 2 * lines.n);
	wtl_lines_done(&lines);
	fclose(answered);
	return 0;
}
