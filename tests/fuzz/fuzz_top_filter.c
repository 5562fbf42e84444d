/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "commands/top/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

/* One process of which everything is known, and one of which nothing is. */
static void match_all(const struct wtl_filter *filter)
{
	static struct wtl_group group = {
		.cgroup = "/a", .unit = "b.service", .container = "docker/c"};
	struct wtl_top_process process = {.user = "bob", .has_power = true};
	struct wtl_top_process nobody = {.user = ""};
	bool matches[2];

	process.consumer =
		(struct wtl_consumer){.pid = 42, .name = "x", .command = "y z", .group = &group};
	for (int i = 0; i < 2; i++) {
		const struct wtl_top_process *one = i ? &nobody : &process;

		matches[i] = wtl_filter_match(filter, one, WTL_TOP_FULL);
		check(matches[i] == wtl_filter_match(filter, one, WTL_TOP_FULL));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wtl_filter filter = {.root = -1}, negated = {.root = -1};
	struct wtl_filter_error error = {.position = -1};
	char *text = malloc(size + 8);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (wtl_filter_parse(&filter, text, &error) < 0) {
		check(error.position >= 0 && (size_t)error.position <= size && error.text[0]);
	} else {
		check(filter.root < filter.n && filter.n <= WTL_FILTER_NODES);
		match_all(&filter);
		/* What is parsed once is parsed again from what was kept. */
		check(wtl_filter_parse(&negated, filter.text, &error) == 0);
		check(memcmp(&negated, &filter, sizeof(filter)) == 0);
	}
	free(text);
	return 0;
}
