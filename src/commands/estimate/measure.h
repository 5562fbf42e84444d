/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_ESTIMATE_MEASURE_H
#define WTL_COMMANDS_ESTIMATE_MEASURE_H

#include "commands/estimate/metered.h"
#include "commands/estimate/roofline.h"
#include "energy/statistics.h"

/* A model run by ONNX Runtime under wattle's meter, and its estimate. */

/* One repetition; figures are per inference. */
struct wtl_measured_run {
	double seconds;
	struct wtl_metered_energy energy; /* of all its inferences */
	double joules, uncertainty_j;	  /* including idle power */
};

struct wtl_measured {
	const char *path;
	char runtime[64];    /* its version */
	uint64_t inferences; /* of a repetition */
	struct wtl_measured_run *runs;
	size_t n;
	struct wtl_statistics seconds, joules;
	double uncertainty_j; /* of the mean of joules: the meter's, and that of the mean */
	bool has_energy, is_modelled, has_estimate;
	struct wtl_estimate_roofline estimate;
};

/* What --measure's script needs to know of the model's inputs, and which Python runs it. */
struct wtl_measure_options {
	const struct wtl_option_list *dims, *inputs;
	const char *python; /* NULL: python3 */
	unsigned repeat;    /* 0: 5 */
};

/* Runs it, and prints the result. An exit code. */
int wtl_estimate_measure(struct wtl_app *app, const struct wtl_measure_options *how,
			 const struct wtl_estimate_options *options,
			 const struct wtl_network *network, const char *path);

extern const struct wtl_thing wtl_estimate_measured_thing; /* struct wtl_measured; measure_tell.c */

#endif
