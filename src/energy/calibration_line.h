/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_CALIBRATION_LINE_H
#define WTL_ENERGY_CALIBRATION_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "energy/kept_line.h"

struct wtl_calibration;

/* A calibration as it is kept: a line of text. */
struct wtl_kept_calibration {
	char key[WTL_KEPT_KEY_SIZE]; /* the part, one word; see meter/calibrated.h */
	int64_t gain_ppm, zero_uw;
	int64_t gain_error_ppm, zero_error_uw; /* standard uncertainties */
	int64_t rms_uw;			       /* what the line left over */
	int64_t lag_us;
	int64_t t_utc_s; /* when it was made */
};

/* How sure a gain can be, however well the line fits: facts/carbon-and-ml.md 5.5 (judgement). */
enum { WTL_CALIBRATION_GAIN_PPM = 10000 };

/* From a fit. -ERANGE: no such sensor can be. */
int wtl_kept_calibration_set(struct wtl_kept_calibration *kept, const char *key,
			     const struct wtl_calibration *calibration, int64_t t_utc_s);
/* With a newline. Its length, or -EINVAL. */
int wtl_kept_calibration_print(char line[WTL_KEPT_LINE_MAX],
			       const struct wtl_kept_calibration *kept);
/* The same without the newline. 0 or -EINVAL. */
int wtl_kept_calibration_parse(const char *line, size_t len, struct wtl_kept_calibration *ret_kept);

#endif
