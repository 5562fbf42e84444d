/* SPDX-License-Identifier: MIT */
#include "energy/calibration_line.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "energy/calibration.h"

/* In the order of the line. A gain beyond a factor of ten is no sensor's. */
#define NUMBER(name, least, most) WTL_KEPT_NUMBER(struct wtl_kept_calibration, name, least, most)

static const struct wtl_kept_number numbers[] = {
	NUMBER(gain_ppm, 100000, 10000000),
	NUMBER(zero_uw, -INT64_C(100000000000), INT64_C(100000000000)),
	NUMBER(gain_error_ppm, 0, 10000000),
	NUMBER(zero_error_uw, 0, UINT32_MAX),
	NUMBER(rms_uw, 0, INT64_C(100000000000)),
	NUMBER(lag_us, -INT64_C(3600000000), INT64_C(3600000000)),
	NUMBER(t_utc_s, 0, INT64_C(9000000000)),
};

enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

int wtl_kept_calibration_set(struct wtl_kept_calibration *kept, const char *key,
			     const struct wtl_calibration *calibration, int64_t t_utc_s)
{
	double gain_error = fmax(calibration->gain_error, WTL_CALIBRATION_GAIN_PPM / 1e6);

	if (!(fabs(calibration->gain) < 1e6) || !(fabs(calibration->zero_w) < 1e6) ||
	    !(gain_error < 1e6) || !(calibration->zero_error_w < 1e6))
		return -ERANGE;
	*kept = (struct wtl_kept_calibration){
		.gain_ppm = llround(1e6 * calibration->gain),
		.zero_uw = llround(1e6 * calibration->zero_w),
		.gain_error_ppm = llround(1e6 * gain_error),
		.zero_error_uw = llround(1e6 * calibration->zero_error_w),
		.rms_uw = llround(1e6 * calibration->rms_w),
		.lag_us = calibration->lag_ns / 1000,
		.t_utc_s = t_utc_s,
	};
	snprintf(kept->key, sizeof(kept->key), "%s", key);
	return wtl_kept_line_check(kept->key, kept, numbers, NUMBERS) < 0 ? -ERANGE : 0;
}

int wtl_kept_calibration_print(char line[WTL_KEPT_LINE_MAX],
			       const struct wtl_kept_calibration *kept)
{
	return wtl_kept_line_print(line, kept->key, kept, numbers, NUMBERS);
}

int wtl_kept_calibration_parse(const char *line, size_t len, struct wtl_kept_calibration *ret_kept)
{
	struct wtl_kept_calibration kept = {.gain_ppm = 0};

	if (wtl_kept_line_parse(line, len, kept.key, &kept, numbers, NUMBERS) < 0)
		return -EINVAL;
	*ret_kept = kept;
	return 0;
}
