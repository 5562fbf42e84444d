/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "commands/top/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

/* What was read and is printed reads the same, and is printed the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wtl_top_config config, again;
	struct wtl_buf first, second;
	char remark[160];

	wtl_top_config_init(&config);
	wtl_top_config_init(&again);
	wtl_buf_init(&first, 1 << 20);
	wtl_buf_init(&second, 1 << 20);
	if (wtl_top_config_parse(&config, (const char *)data, size, remark) == 0) {
		check(strlen(remark) < sizeof(remark));
		check(config.columns[WTL_FIELD_COMMAND]);
		check(config.sort < WTL_FIELDS && config.set[WTL_SET_WINDOW] < WTL_TOP_WINDOWS);
		check(wtl_top_config_print(&config, &first) == 0);
		check(wtl_top_config_parse(&again, wtl_buf_str(&first), first.len, remark) == 0);
		check(wtl_top_config_print(&again, &second) == 0);
		check(first.len == second.len &&
		      memcmp(wtl_buf_str(&first), wtl_buf_str(&second), first.len) == 0);
	}
	wtl_top_config_done(&config);
	wtl_top_config_done(&again);
	wtl_buf_done(&first);
	wtl_buf_done(&second);
	return 0;
}
