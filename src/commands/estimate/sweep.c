/* SPDX-License-Identifier: MIT */
#include "commands/estimate/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"

static const double rate_max = 1e6, steps_max = 1e9;

/* ---- Options ---- */

/* Reads numbers separated by commas; their count, 0 if it is something else. */
static size_t read_list(const char *text, double numbers[], size_t max)
{
	size_t n = 0;

	for (;; text++) {
		size_t len = strcspn(text, ",");

		if (n == max || wtl_num_double(text, len, &numbers[n]) < 0)
			return 0;
		n++;
		text += len;
		if (!*text)
			return n;
	}
}

int wtl_sweep_read_steps(const char *text, struct wtl_estimate_sweep *sweep)
{
	double numbers[WTL_SWEEP_STEPS_MAX];
	size_t n = read_list(text, numbers, WTL_SWEEP_STEPS_MAX);

	for (size_t i = 0; i < n; i++) {
		if (!(numbers[i] >= 1 && numbers[i] <= steps_max) ||
		    numbers[i] != floor(numbers[i]))
			return -EINVAL;
		sweep->steps[i] = (unsigned int)numbers[i];
	}
	sweep->n_steps = n;
	return n > 0 ? 0 : -EINVAL;
}

static bool read_range(const char *text, struct wtl_estimate_sweep *sweep)
{
	const char *between = strstr(text, "..");
	double from, to;

	if (!between || wtl_num_double(text, (size_t)(between - text), &from) < 0 ||
	    wtl_num_double(between + 2, strlen(between + 2), &to) < 0)
		return false;
	for (size_t i = 0; i < WTL_SWEEP_POINTS; i++)
		sweep->rates[i] = from + (to - from) * (double)i / (WTL_SWEEP_POINTS - 1);
	sweep->n_rates = WTL_SWEEP_POINTS;
	return true;
}

int wtl_sweep_read_rates(const char *text, struct wtl_estimate_sweep *sweep)
{
	if (!read_range(text, sweep))
		sweep->n_rates = read_list(text, sweep->rates, WTL_SWEEP_RATES_MAX);
	for (size_t i = 0; i < sweep->n_rates; i++)
		if (!(sweep->rates[i] >= 0 && sweep->rates[i] <= rate_max))
			return -ERANGE;
	return sweep->n_rates > 0 ? 0 : -EINVAL;
}

bool wtl_sweep_has_several(const struct wtl_estimate_sweep *sweep)
{
	return sweep->n_steps > 1 || sweep->n_rates > 1;
}

size_t wtl_sweep_points(const struct wtl_estimate_sweep *sweep)
{
	return (sweep->n_steps ? sweep->n_steps : 1) * (sweep->n_rates ? sweep->n_rates : 1);
}

/* ---- Prices ---- */

static int price_point(const struct wtl_network *network, struct wtl_price_choice *choice,
		       struct wtl_estimate_point *to, struct wtl_err *err)
{
	struct wtl_price price;

	choice->is_spiking = true;
	int rc = wtl_price_network(network, choice, &price, err);
	if (rc < 0)
		return rc;
	*to = (struct wtl_estimate_point){
		.steps = (unsigned int)fmin(wtl_price_steps(network, choice), steps_max),
		.rate = choice->rate,
		.compute = price.compute,
		.memory = price.memory,
		.total = price.total,
		.ordinary = (double)NAN,
	};
	wtl_price_done(&price);
	choice->is_spiking = false;
	rc = wtl_price_network(network, choice, &price, NULL);
	if (rc == -ENOMEM)
		return wtl_err_set(err, ENOMEM, "estimate", NULL, "no memory");
	if (rc == 0) {
		to->ordinary = price.total.nominal;
		wtl_price_done(&price);
	}
	return 0;
}

int wtl_sweep_price(const struct wtl_estimate_sweep *sweep, const struct wtl_network *network,
		    const struct wtl_price_choice *by, struct wtl_estimate_point **ret,
		    struct wtl_err *err)
{
	struct wtl_price_choice choice = *by;
	size_t n = wtl_sweep_points(sweep), n_rates = sweep->n_rates ? sweep->n_rates : 1;
	struct wtl_estimate_point *points = calloc(n, sizeof(*points));
	int rc = points ? 0 : wtl_err_set(err, ENOMEM, "estimate", NULL, "no memory");

	for (size_t i = 0; rc == 0 && i < n; i++) {
		if (sweep->n_steps)
			choice.steps = sweep->steps[i / n_rates];
		if (sweep->n_rates)
			choice.rate = sweep->rates[i % n_rates];
		rc = price_point(network, &choice, &points[i], err);
	}
	if (rc < 0)
		free(points);
	else
		*ret = points;
	return rc;
}
