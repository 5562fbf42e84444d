/* SPDX-License-Identifier: MIT */
#include "cli/locale.h"

#include <stdlib.h>
#include <string.h>

static bool locale_is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && value[0])
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

bool wtl_is_ascii(const struct wtl_settings *settings)
{
	return settings->ascii || !locale_is_utf8();
}
