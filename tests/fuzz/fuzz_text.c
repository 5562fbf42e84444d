/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

/* Nothing that a terminal would act upon. */
static void harmless_check(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		check((unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
}

static void clean_check(const char *text, size_t size)
{
	char cleaned[64], again[64];
	struct wtl_err err;

	wtl_text_clean(cleaned, sizeof(cleaned), text, size);
	harmless_check(cleaned, strlen(cleaned));
	/* Cutting may bare a space at the end, so the second time may trim. */
	wtl_text_clean(again, sizeof(again), cleaned, strlen(cleaned));
	check(strncmp(again, cleaned, strlen(again)) == 0);
	check(wtl_text_trimmed(cleaned, strlen(cleaned)) == strlen(again));
	wtl_err_set(&err, 5, "fuzz", cleaned, "%.*s", (int)(size < 4096 ? size : 4096), text);
	harmless_check(err.text, strlen(err.text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct wtl_buf escaped, back;

	wtl_buf_init(&escaped, 4 * size);
	wtl_buf_init(&back, size);
	check(wtl_text_escape(&escaped, text, size) == 0);
	harmless_check(wtl_buf_str(&escaped), escaped.len);
	check(wtl_text_unescape(&back, wtl_buf_str(&escaped), escaped.len) == 0);
	check(back.len == size && memcmp(wtl_buf_str(&back), text, size) == 0);
	wtl_buf_clear(&back);
	wtl_text_unescape(&back, text, size);
	check(back.len <= size);
	wtl_buf_done(&escaped);
	wtl_buf_done(&back);
	clean_check(text, size);
	return 0;
}
