/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "commands/limit/limit.h"
#include "commands/query/query.h"
#include "gpu/visible.h"

/* What wattle limit keeps on the disk, and lists of GPUs as a user types them, or as in CUDA_VISIBLE_DEVICES. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

static void parse_hold(const char *text, size_t size)
{
	static struct wtl_limit_hold hold;

	if (wtl_limit_hold_parse(text, size, &hold) < 0)
		return;
	check(hold.pid > 0 && hold.n_changes <= WTL_LIMIT_CHANGES_MAX);
	check(memchr(hold.boot, '\0', sizeof(hold.boot)) != NULL);
	for (size_t i = 0; i < hold.n_changes; i++) {
		check(memchr(hold.changes[i].gpu, '\0', sizeof(hold.changes[i].gpu)) != NULL);
		check(memchr(hold.changes[i].bus, '\0', sizeof(hold.changes[i].bus)) != NULL);
	}
}

static void choose(const char *text, size_t size)
{
	static const struct wtl_gpu gpus[2] = {
		{.index = 0, .uuid = "GPU-1", .bus_id = "00000000:1B:00.0", .serial = "12345"},
		{.index = 1, .bus_id = "0000:c1:00.0"},
	};
	size_t chosen[2] = {9, 9};
	char *ids = strndup(text, size);
	const char *bad = NULL;
	int n;

	check(ids != NULL);
	n = wtl_gpu_choose(gpus, 2, ids, chosen, &bad);
	check(n <= 2 && n != 0);
	for (int i = 0; i < n; i++)
		check(chosen[i] < 2 && (i == 0 || chosen[i] > chosen[i - 1]));
	check(n > 0 || (bad >= ids && bad <= ids + strlen(ids)));
	free(ids);
}

static void apply(const char *text, size_t size)
{
	static struct wtl_gpu_name at[] = {
		{0, "GPU-10"}, {0, "MIG-1"}, {0, "MIG-2"}, {1, "GPU-1"}, {1, ""}};
	const struct wtl_gpu_names names = {.at = at, .n = 5};
	enum wtl_gpu_visible visible[3];
	char *list = strndup(text, size);
	const char *bad;

	check(list != NULL);
	bad = wtl_gpu_list_apply(list, &names, visible, 3);
	check(!bad || (bad > list && bad < list + strlen(list)) || bad == list);
	for (int i = 0; i < 3; i++)
		check(visible[i] <= WTL_GPU_VISIBLE_PERHAPS);
	/* Without any that could be asked for, no more GPUs are known than before. */
	bad = wtl_gpu_list_apply(list, &(struct wtl_gpu_names){.n = 0}, visible, 3);
	for (int i = 0; i < 3; i++)
		check(visible[i] != WTL_GPU_VISIBLE_BY_MIG);
	free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	parse_hold((const char *)data, size);
	choose((const char *)data, size);
	apply((const char *)data, size);
	return 0;
}
