/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/infile.h"
#include "energy/calibration.h"
#include "golden.h"

#define MS INT64_C(1000000)
#define S  (1000 * MS)

static double load_w(int64_t t_ns)
{
	return t_ns / (4 * S) % 2 ? 250.0 : 60.0 + (double)(t_ns / (16 * S) % 3) * 30.0;
}

static double noise(unsigned *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return (double)(*seed >> 16 & 0x7fff) / 16384.0 - 1.0;
}

/* A sensor that shows (true - zero) / gain, so much later. */
static void make(struct wtl_power_log *sensor, struct wtl_power_log *meter, double gain,
		 double zero_w, int64_t lag_ns, double noise_w)
{
	unsigned seed = 7;

	for (int64_t t_ns = 0; t_ns < 120 * S; t_ns += 100 * MS) {
		wtl_power_log_add(sensor, t_ns,
				  (load_w(t_ns - lag_ns) - zero_w) / gain + noise_w * noise(&seed));
		wtl_power_log_add(meter, t_ns + 30 * MS, load_w(t_ns + 30 * MS) + noise(&seed));
	}
}

static void known_lines(void **state)
{
	static const struct {
		double gain, zero_w;
		int64_t lag_ns;
	} cases[] = {{1.0, 0.0, 0},
		     {0.954, -1.2, 500 * MS},
		     {1.045, -22.6, 1000 * MS},
		     {1.2, 61.0, -2500 * MS},
		     {0.9, 16.0, 100 * MS}};
	struct wtl_buf figures;

	(void)state;
	wtl_buf_init(&figures, 1 << 16);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wtl_power_log sensor = {.n = 0}, meter = {.n = 0};
		struct wtl_calibration found;
		struct wtl_err err;

		make(&sensor, &meter, cases[i].gain, cases[i].zero_w, cases[i].lag_ns, 2.0);
		assert_int_equal(wtl_calibration_fit(&sensor, &meter, 10 * S, &found, &err), 0);
		assert_true(llabs(found.lag_ns - cases[i].lag_ns) <= found.step_ns);
		assert_true(fabs(found.gain - cases[i].gain) < 0.01);
		assert_true(fabs(found.zero_w - cases[i].zero_w) < 1.0);
		assert_true(fabs(found.gain - cases[i].gain) <= 3 * found.gain_error + 1e-4);
		assert_true(found.correlation > 0.99 && found.rms_w < 5.0);
		wtl_buf_printf(&figures,
			       "gain %.5g +- %.3g, zero %.5g +- %.3g W, left %.4g W, correlation "
			       "%.6g, lag %lld ms, %zu steps of %lld ms\n",
			       found.gain, found.gain_error, found.zero_w, found.zero_error_w,
			       found.rms_w, found.correlation, (long long)(found.lag_ns / MS),
			       found.n, (long long)(found.step_ns / MS));
		wtl_power_log_done(&sensor);
		wtl_power_log_done(&meter);
	}
	golden_check("calibrated.txt", wtl_buf_str(&figures));
	wtl_buf_done(&figures);
}

/* Time does not go back in it, nor stand still. */
static void a_log_goes_on(void **state)
{
	static const int64_t times_ns[] = {5, 5, 4, 6, 6, 5, 9};
	struct wtl_power_log log = {.n = 0};

	(void)state;
	for (size_t i = 0; i < sizeof(times_ns) / sizeof(times_ns[0]); i++)
		assert_int_equal(wtl_power_log_add(&log, times_ns[i], (double)i), 0);
	assert_int_equal(log.n, 3);
	assert_true(log.points[0].power_w == 0.0 && log.points[1].power_w == 3.0 &&
		    log.points[2].power_w == 6.0);
	wtl_power_log_done(&log);
}

/* One step differs: with a lag, one of the two is even, and what its squares leave is rounding. */
static void an_even_stretch_does_not_correlate(void **state)
{
	(void)state;
	for (int i = 0; i < 200; i++) {
		struct wtl_power_log log = {.n = 0};
		struct wtl_calibration found;
		struct wtl_err err;

		for (int t = 0; t < 41; t++)
			wtl_power_log_add(&log, t * INT64_C(724233420), t == 39 ? 9.0 : 40.0 + i);
		assert_int_equal(wtl_calibration_fit(&log, &log, 10 * S, &found, &err), 0);
		assert_int_equal(found.lag_ns, 0);
		assert_true(fabs(found.gain - 1.0) < 1e-9 && found.correlation < 1.0 + 1e-9);
		wtl_power_log_done(&log);
	}
}

static void what_cannot_be_fitted(void **state)
{
	struct wtl_power_log sensor = {.n = 0}, meter = {.n = 0}, even = {.n = 0}, late = {.n = 0},
			     other = {.n = 0}, centuries = {.n = 0}, one = {.n = 0};
	struct wtl_calibration found;
	struct wtl_err err;
	unsigned seed = 3;

	(void)state;
	make(&sensor, &meter, 1.0, 0.0, 0, 1.0);
	for (int64_t t_ns = 0; t_ns < 120 * S; t_ns += 100 * MS) {
		wtl_power_log_add(&even, t_ns, 100.0 + 0.5 * noise(&seed));
		wtl_power_log_add(&late, t_ns + 119 * S, load_w(t_ns));
		wtl_power_log_add(&other, t_ns, 100.0 + 80.0 * noise(&seed));
	}
	assert_int_equal(wtl_calibration_fit(&sensor, &even, 5 * S, &found, &err), -ENODATA);
	assert_non_null(strstr(err.text, "too even"));
	assert_int_equal(wtl_calibration_fit(&sensor, &late, 5 * S, &found, &err), -ENODATA);
	assert_non_null(strstr(err.text, "too little time in common"));
	assert_int_equal(wtl_calibration_fit(&sensor, &other, 5 * S, &found, &err), -ENODATA);
	assert_non_null(strstr(err.text, "does not follow"));
	wtl_power_log_add(&centuries, 1700000000 * S, 100.0);
	wtl_power_log_add(&centuries, 8900000000 * S, 60.0);
	assert_int_equal(wtl_calibration_fit(&centuries, &centuries, 5 * S, &found, &err),
			 -ENODATA);
	assert_non_null(strstr(err.text, "too little time in common"));
	for (unsigned n = 0; n < 2; n++) {
		assert_int_equal(wtl_calibration_fit(&sensor, &one, 5 * S, &found, &err), -ENODATA);
		assert_non_null(strstr(err.text, "nothing to compare"));
		assert_int_equal(wtl_calibration_fit(&one, &sensor, 5 * S, &found, &err), -ENODATA);
		assert_non_null(strstr(err.text, "nothing to compare"));
		wtl_power_log_add(&one, 60 * S, 100.0);
	}
	wtl_power_log_done(&one);
	wtl_power_log_done(&sensor);
	wtl_power_log_done(&meter);
	wtl_power_log_done(&even);
	wtl_power_log_done(&late);
	wtl_power_log_done(&other);
	wtl_power_log_done(&centuries);
}

/* Of ten seconds, and a pulse that the sensor shows so much later. */
static int fit_pulse(int64_t lag_ns, int64_t max_lag_ns, struct wtl_calibration *found)
{
	struct wtl_power_log sensor = {.n = 0}, meter = {.n = 0};
	struct wtl_err err;
	int rc;

	for (int64_t t_ns = 0; t_ns < 10 * S; t_ns += 10 * MS) {
		wtl_power_log_add(&meter, t_ns, t_ns / (500 * MS) == 8 ? 250.0 : 60.0);
		wtl_power_log_add(&sensor, t_ns, (t_ns - lag_ns) / (500 * MS) == 8 ? 250.0 : 60.0);
	}
	rc = wtl_calibration_fit(&sensor, &meter, max_lag_ns, found, &err);
	wtl_power_log_done(&sensor);
	wtl_power_log_done(&meter);
	return rc;
}

/* Power stays for 20 steps, but for one of them; behind one or two tenths of the time it does not. Of one part alone,
 * it cannot be told how sure the line is. */
static void errors_need_two_parts_with_even_stretches(void **state)
{
	(void)state;
	for (size_t parts = 1; parts <= 2; parts++) {
		struct wtl_power_log log = {.n = 0};
		struct wtl_calibration found;
		struct wtl_err err;

		for (size_t i = 0; i <= 2000; i++) {
			double power_w = i / (i < 200 * parts ? 20 : 1) % 2 ? 250.0 : 60.0;

			wtl_power_log_add(&log, (int64_t)i * 100 * MS,
					  power_w + (i % 20 == 10 ? 60.0 : 0.0));
		}
		assert_int_equal(wtl_calibration_fit(&log, &log, 0, &found, &err), 0);
		/* Of each 20, those that are more than three steps from any change; three more where it begins. */
		assert_int_equal(found.n, 70 * parts + 3);
		assert_int_equal(isinf(found.gain_error) != 0, parts == 1);
		assert_int_equal(isinf(found.zero_error_w) != 0, parts == 1);
		wtl_power_log_done(&log);
	}
}

/* Neither of more than a quarter of the time, nor of more than was asked for. */
static void a_lag_that_is_too_long_is_none(void **state)
{
	struct wtl_calibration found;

	(void)state;
	assert_int_equal(fit_pulse(2 * S, 3200 * MS, &found), 0);
	assert_int_equal(found.lag_ns, 2 * S);
	assert_int_equal(fit_pulse(3 * S, 3200 * MS, &found), -ENODATA);
	assert_int_equal(fit_pulse(2 * S, 1500 * MS, &found), -ENODATA);
}

/* Of more readings than can be compared, steps are longer. */
static void a_long_log_is_compared_by_longer_steps(void **state)
{
	struct wtl_power_log log = {.n = 0};
	struct wtl_calibration found;
	struct wtl_err err;

	(void)state;
	for (int64_t t_ns = 0; t_ns < 1000 * S; t_ns += 20 * MS)
		wtl_power_log_add(&log, t_ns, load_w(t_ns));
	assert_int_equal(wtl_calibration_fit(&log, &log, S, &found, &err), 0);
	assert_int_equal((found.step_ns + MS / 2) / MS, 50); /* of 20,000 */
	assert_int_equal(found.lag_ns, 0);
	assert_true(fabs(found.gain - 1.0) < 1e-9);
	wtl_power_log_done(&log);
}

/* ---- Public traces of a card, beside a physical meter ---- */

/* One column of such a file. */
static void load(struct wtl_power_log *log, const char *name, const char *column)
{
	const char *folder = getenv("WATTLE_SHARED_DATA");
	char path[512], *save = NULL, *text;
	struct wtl_buf buf;
	size_t wanted = 0;

	if (!folder || !*folder) {
		print_message("skipped: WATTLE_SHARED_DATA does not name a folder\n");
		skip();
	}
	snprintf(path, sizeof(path), "%s/gpu-power/%s.csv", folder, name);
	wtl_buf_init(&buf, 1 << 24);
	if (wtl_infile_read(path, &buf) < 0) {
		print_message("skipped: no %s\n", path);
		skip();
	}
	text = strdup(wtl_buf_str(&buf));
	assert_non_null(text);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *words[16] = {NULL}, *at = line;

		for (size_t i = 0; i < 15 && at; i++) {
			words[i] = strsep(&at, ",");
			if (strncmp(words[i], column, strlen(column)) == 0)
				wanted = i;
		}
		if (wanted && words[wanted] && words[0][0] >= '0' && words[0][0] <= '9')
			wtl_power_log_add(log, strtoll(words[0], NULL, 10) * MS,
					  strtod(words[wanted], NULL));
	}
	assert_true(log->n > 0);
	free(text);
	wtl_buf_done(&buf);
}

static double energy_j(const struct wtl_power_log *log, int64_t from_ns, int64_t to_ns)
{
	double sum = 0.0;

	for (size_t i = 0; i + 1 < log->n; i++) {
		int64_t a = log->points[i].t_ns, b = log->points[i + 1].t_ns;

		a = a > from_ns ? a : from_ns;
		b = b < to_ns ? b : to_ns;
		if (b > a)
			sum += log->points[i].power_w * (double)(b - a) / 1e9;
	}
	return sum;
}

/* Errors over a stretch, as parts of the meter's energy. */
struct judged {
	double before, after, stated;
};

static struct judged judge(const struct wtl_calibration *found, const struct wtl_power_log *sensor,
			   const struct wtl_power_log *meter, int64_t from_ns, int64_t to_ns)
{
	double true_j = energy_j(meter, from_ns, to_ns), seconds = (double)(to_ns - from_ns) / 1e9;
	double raw_j = energy_j(sensor, from_ns + found->lag_ns, to_ns + found->lag_ns);
	double after_j = found->gain * raw_j + found->zero_w * seconds;
	struct judged judged = {
		.before = (raw_j - true_j) / true_j,
		.after = (after_j - true_j) / true_j,
		.stated = 2 *
			  hypot(fmax(found->gain_error, 0.01) * raw_j,
				found->zero_error_w * seconds) /
			  true_j,
	};

	print_message("lag %lld ms, gain %.4f ± %.4f, zero %.2f ± %.2f W: %.2f %% before, %.2f %% "
		      "after, stated ± %.2f %%\n",
		      (long long)(found->lag_ns / MS), found->gain, found->gain_error,
		      found->zero_w, found->zero_error_w, 100 * judged.before, 100 * judged.after,
		      100 * judged.stated);
	return judged;
}

/* Fitted on one trace of an A100, judged on another: before and after its fast square wave. (Within it, the sensor sees
 * a fourth of the time, in step with the wave: no line through its figures mends that.) */
static void fitted_on_one_trace_judged_on_another(void **state)
{
	struct wtl_power_log sensor = {.n = 0}, meter = {.n = 0}, judged = {.n = 0},
			     truth = {.n = 0};
	struct wtl_calibration found;
	struct wtl_err err;
	int64_t begin_ns, end_ns;

	(void)state;
	load(&sensor, "a100_steps_nvml", "power.draw.instant");
	load(&meter, "a100_steps_meter", "meter_w");
	load(&judged, "a100_square_nvml", "power.draw.instant");
	load(&truth, "a100_square_meter", "meter_w");
	assert_int_equal(wtl_calibration_fit(&sensor, &meter, 2 * S, &found, &err), 0);
	begin_ns = truth.points[0].t_ns;
	end_ns = truth.points[truth.n - 1].t_ns;
	for (int i = 0; i < 2; i++) {
		int64_t from_ns = i == 0 ? begin_ns : end_ns - 700 * MS;
		struct judged j = judge(&found, &judged, &truth, from_ns, from_ns + 700 * MS);

		assert_true(fabs(j.before) > 0.05);
		assert_true(fabs(j.after) < 0.01 && fabs(j.after) <= j.stated);
	}
	wtl_power_log_done(&sensor);
	wtl_power_log_done(&meter);
	wtl_power_log_done(&judged);
	wtl_power_log_done(&truth);
}

/* The first part of a trace of an RTX 3090, and the rest of it. */
static void fitted_on_the_first_part_judged_on_the_rest(void **state)
{
	struct wtl_power_log sensor = {.n = 0}, meter = {.n = 0}, first;
	struct wtl_calibration found;
	struct judged j;
	struct wtl_err err;
	int64_t middle_ns, end_ns;

	(void)state;
	load(&sensor, "rtx3090_steps_nvml", "power.draw.instant");
	load(&meter, "rtx3090_steps_meter", "meter_w");
	first = (struct wtl_power_log){meter.points, meter.n / 2, 0};
	middle_ns = meter.points[meter.n / 2].t_ns;
	end_ns = meter.points[meter.n - 1].t_ns - S;
	assert_int_equal(wtl_calibration_fit(&sensor, &first, 2 * S, &found, &err), 0);
	j = judge(&found, &sensor, &meter, middle_ns, end_ns);
	assert_true(fabs(j.after) < fabs(j.before) / 2 && fabs(j.after) <= j.stated);
	wtl_power_log_done(&sensor);
	wtl_power_log_done(&meter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_lines),
		cmocka_unit_test(a_log_goes_on),
		cmocka_unit_test(an_even_stretch_does_not_correlate),
		cmocka_unit_test(what_cannot_be_fitted),
		cmocka_unit_test(errors_need_two_parts_with_even_stretches),
		cmocka_unit_test(a_lag_that_is_too_long_is_none),
		cmocka_unit_test(a_long_log_is_compared_by_longer_steps),
		cmocka_unit_test(fitted_on_one_trace_judged_on_another),
		cmocka_unit_test(fitted_on_the_first_part_judged_on_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
