/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "energy/calibration.h"
#include "energy/calibration_line.h"

/* A wattmeter's log, held against itself, and a line of the file of calibrations. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

static void fit(const char *text, size_t size)
{
	struct wtl_power_log log = {.n = 0};
	struct wtl_kept_calibration kept;
	struct wtl_calibration found;
	struct wtl_err err;
	size_t bad = 0;

	if (wtl_power_log_parse(&log, text, size, &bad, &err) < 0)
		return;
	check(log.n > 0 && bad <= log.n);
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
	fit(text, size);
	if (wtl_kept_calibration_parse(text, size, &kept) == 0) {
		len = wtl_kept_calibration_print(line, &kept);
		check(len > 1);
		check(wtl_kept_calibration_parse(line, (size_t)len - 1, &again) == 0);
		check(memcmp(&kept, &again, sizeof(kept)) == 0);
	}
	return 0;
}
