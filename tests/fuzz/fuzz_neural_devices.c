/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "neural/devices.h"
#include "neural/roofline.h"

/* What users give wattle estimate --devices, and what it keeps of this machine. */

static bool is_between(const double of[WTL_BOUNDS])
{
	return of[WTL_LOW] <= of[WTL_NOMINAL] && of[WTL_NOMINAL] <= of[WTL_HIGH];
}

/* A layer, on a device that has times. */
static void check_roofline(const struct wtl_device *device)
{
	struct wtl_layer layer = {.macs = 1000000,
				  .other_ops = 10,
				  .weight_bytes = 4000000,
				  .input_bytes = 4000,
				  .output_bytes = 4000,
				  .activations = WTL_INT8};
	const struct wtl_network network = {.layers = &layer, .n = 1};
	struct wtl_roofline roofline;
	struct wtl_err err = {.code = 0};
	int rc = wtl_roofline_of(&network, device, WTL_PRECISION_UNKNOWN, &roofline, &err);

	if ((rc == 0) != wtl_roofline_fits(device) || (rc < 0 && err.text[0] == '\0'))
		abort();
	if (rc < 0)
		return;
	if (!is_between(roofline.seconds) || !(roofline.seconds[WTL_NOMINAL] > 0) ||
	    (roofline.has_energy && !is_between(roofline.joules)) ||
	    (!roofline.has_energy && roofline.reason[0] == '\0'))
		abort();
	wtl_roofline_done(&roofline);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wtl_devices devices = {0};
	struct wtl_err err = {.code = 0};
	int rc = wtl_devices_parse(&devices, (const char *)data, size, "fuzz", &err);

	if (rc < 0 && err.text[0] == '\0')
		abort();
	for (size_t i = 0; rc == 0 && i < devices.n; i++) {
		check_roofline(&devices.devices[i]);
		for (size_t k = 0; k < devices.devices[i].n; k++) {
			const struct wtl_constant *constant = &devices.devices[i].constants[k];
			if (constant->grade != WTL_GRADE_UNKNOWN &&
			    (constant->low > constant->nominal ||
			     constant->high < constant->nominal))
				abort();
		}
	}
	wtl_devices_done(&devices);
	return 0;
}
