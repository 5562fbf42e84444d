/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profile/rust_names.h"

/* Names of functions, as a program's file has them. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *mangled = malloc(size + 1), whole[4096], cut[16];

	if (!mangled)
		return 0;
	memcpy(mangled, data, size);
	mangled[size] = '\0';
	/* With less room, it begins the same. */
	if (wtl_rust_name(mangled, whole, sizeof(whole)) &&
	    (!whole[0] || !wtl_rust_name(mangled, cut, sizeof(cut)) ||
	     strncmp(whole, cut, sizeof(cut) - 1) != 0))
		abort();
	free(mangled);
	return 0;
}
