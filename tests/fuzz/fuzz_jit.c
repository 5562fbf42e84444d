/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "profile/jit.h"

/* The map of functions that a program writes of the code that it makes. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wtl_module module = {.has_symbols = true, .is_jit = true};
	struct wtl_modules modules = {.n = 0};

	wtl_buf_init(&module.map, size + 1);
	wtl_buf_add(&module.map, data, size);
	wtl_jit_parse(&module);
	for (size_t i = 0; i < module.n_symbols; i++) {
		const struct wtl_module_symbol *symbol = &module.symbols[i];

		if (!symbol->name[0] || symbol->size == 0 ||
		    (i > 0 && symbol->address <= symbol[-1].address) ||
		    wtl_module_symbol(&modules, &module, symbol->address) != symbol)
			abort();
	}
	free(module.symbols);
	wtl_buf_done(&module.map);
	return 0;
}
