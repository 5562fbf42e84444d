/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "neural/papers.h"

/* Formulas and figures of papers, which users may keep in files of their own. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wtl_papers papers = {0};
	struct wtl_err err = {.code = 0};

	if (wtl_papers_parse(&papers, (const char *)data, size, "fuzz", &err) < 0 &&
	    err.text[0] == '\0')
		abort();
	wtl_papers_done(&papers);
	return 0;
}
