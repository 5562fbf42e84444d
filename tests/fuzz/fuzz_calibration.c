/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "energy/calibration.h"
#include "energy/calibration_line.h"

/* A wattmeter's readings, held against themselves, and a line of the file of calibrations. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

/* Steps of up to 4.2 s, and watts. */
static void fit(const uint8_t *data, size_t size)
{
	struct wtl_power_log log = {.n = 0};
	struct wtl_kept_calibration kept;
	struct wtl_calibration found;
	struct wtl_err err;
	int64_t t_ns = INT64_C(1700000000000000000);

	for (size_t i = 0; i + 3 <= size; i += 3) {
		t_ns += (int64_t)(data[i] << 8 | data[i + 1]) << (data[i] >= 250 ? 46 : 16);
		if (t_ns > INT64_MAX / 2)
			break;
		wtl_power_log_add(&log, t_ns, data[i + 2]);
	}
	for (size_t i = 1; i < log.n; i++)
		check(log.points[i].t_ns > log.points[i - 1].t_ns);
	if (wtl_calibration_fit(&log, &log, INT64_C(1000000000), &found, &err) == 0) {
		check(found.lag_ns == 0 && found.gain > 0);
		wtl_kept_calibration_set(&kept, "a:b", &found, 0);
	}
	wtl_power_log_done(&log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char line[WTL_KEPT_LINE_MAX];
	struct wtl_kept_calibration kept, again;
	const char *text = (const char *)data;
	int len;

	if (size > 20000)
		return 0;
	fit(data, size);
	if (wtl_kept_calibration_parse(text, size, &kept) == 0) {
		len = wtl_kept_calibration_print(line, &kept);
		check(len > 1);
		check(wtl_kept_calibration_parse(line, (size_t)len - 1, &again) == 0);
		check(memcmp(&kept, &again, sizeof(kept)) == 0);
	}
	return 0;
}
