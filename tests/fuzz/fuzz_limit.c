/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "commands/limit/limit.h"
#include "commands/query/query.h"

/* What wattle limit keeps on the disk, and lists of GPUs as a user types them. */

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	parse_hold((const char *)data, size);
	choose((const char *)data, size);
	return 0;
}
