/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "neural/lint.h"

/* A user's table of energies. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wtl_lint lint;
	struct wtl_err err = {.code = 0};

	if (wtl_lint_table((const char *)data, size, "fuzz", &lint, &err) < 0) {
		if (err.text[0] == '\0')
			abort();
		return 0;
	}
	wtl_lint_done(&lint);
	return 0;
}
