/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "neural/devices.h"

/* What users give wattle estimate --devices. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wtl_devices devices = {0};
	struct wtl_err err = {.code = 0};
	int rc = wtl_devices_parse(&devices, (const char *)data, size, "fuzz", &err);

	if (rc < 0 && err.text[0] == '\0')
		abort();
	for (size_t i = 0; rc == 0 && i < devices.n; i++)
		for (size_t k = 0; k < devices.devices[i].n; k++) {
			const struct wtl_constant *constant = &devices.devices[i].constants[k];
			if (constant->grade != WTL_GRADE_UNKNOWN &&
			    (constant->low > constant->nominal ||
			     constant->high < constant->nominal))
				abort();
		}
	wtl_devices_done(&devices);
	return 0;
}
