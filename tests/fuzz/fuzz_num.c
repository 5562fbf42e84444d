/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

/* What was read and is printed reads the same. */
static void integers_check(const char *text, size_t size)
{
	char printed[64];
	uint64_t value, again;
	int64_t number, number_again;
	int len;

	if (wtl_num_u64(text, size, &value) == 0) {
		len = snprintf(printed, sizeof(printed), "%" PRIu64, value);
		check(wtl_num_u64(printed, (size_t)len, &again) == 0 && again == value);
		check(wtl_num_fixed(text, size, 0, &again) == 0 && again == value);
	}
	if (wtl_num_i64(text, size, &number) == 0) {
		len = snprintf(printed, sizeof(printed), "%" PRId64, number);
		check(wtl_num_i64(printed, (size_t)len, &number_again) == 0 &&
		      number_again == number);
	}
	if (wtl_num_hex(text, size, &value) == 0) {
		len = snprintf(printed, sizeof(printed), "%#" PRIx64, value);
		check(wtl_num_hex(printed, (size_t)len, &again) == 0 && again == value);
	}
}

static void decimals_check(const char *text, size_t size)
{
	double value, again;
	uint64_t fixed, fixed_again;
	char printed[64];
	int len;

	if (wtl_num_double(text, size, &value) == 0) {
		check(isfinite(value));
		len = snprintf(printed, sizeof(printed), "%.17g", value);
		check(wtl_num_double(printed, (size_t)len, &again) == 0);
		check(memcmp(&value, &again, sizeof(value)) == 0);
	}
	if (wtl_num_fixed(text, size, 6, &fixed) == 0) {
		len = snprintf(printed, sizeof(printed), "%" PRIu64 ".%06" PRIu64, fixed / 1000000,
			       fixed % 1000000);
		check(wtl_num_fixed(printed, (size_t)len, 6, &fixed_again) == 0 &&
		      fixed_again == fixed);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	int cpus[16], n;

	integers_check(text, size);
	decimals_check(text, size);
	n = wtl_num_cpu_list(text, size, cpus, sizeof(cpus) / sizeof(cpus[0]));
	check(n <= 16);
	for (int i = 0; i < n; i++)
		check(cpus[i] >= 0 && cpus[i] <= 1 << 20);
	return 0;
}
