/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "energy/baseline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

/* What was read is printed and reads the same; and a learner can start from whatever it is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char domain[32], source[32], line[WTL_BASELINE_LINE_MAX], domain_again[32],
		source_again[32];
	struct wtl_baseline baseline, again;
	struct wtl_baseline_learner *learner;
	int rc = wtl_baseline_parse((const char *)data, size, domain, source, &baseline);
	int len;

	if (rc != 0) {
		check(rc == -WTL_EFORMAT);
		return 0;
	}
	check(baseline.is_known);
	len = wtl_baseline_print(line, domain, source, &baseline);
	check(len > 0 && len < WTL_BASELINE_LINE_MAX && (size_t)len == strlen(line));
	rc = wtl_baseline_parse(line, (size_t)len, domain_again, source_again, &again);
	check(rc == 0);
	check(strcmp(domain, domain_again) == 0 && strcmp(source, source_again) == 0);
	check(baseline.idle_uw == again.idle_uw && baseline.t_utc_ns == again.t_utc_ns &&
	      baseline.uncertainty_uw == again.uncertainty_uw && baseline.seen_ns == again.seen_ns);
	learner = wtl_baseline_learner_new();
	if (learner) {
		wtl_baseline_learner_start(learner, &baseline);
		wtl_baseline_learner_get(learner, &again);
		check(again.is_known && again.idle_uw <= baseline.idle_uw);
	}
	wtl_baseline_learner_free(learner);
	return 0;
}
