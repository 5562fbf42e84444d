/* SPDX-License-Identifier: MIT */
/* The counters of an agent as text: what was taken adds up, and is the same after it was written and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "serve/totals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DOMAINS = 3 };

static const char *const domains[DOMAINS] = {"package-0", "dram-0", "gpu-0"};

static void check(int good)
{
	if (!good)
		abort();
}

static void begin(struct wtl_totals *totals)
{
	check(wtl_totals_init(totals, domains, DOMAINS, NULL, NULL) == 0);
}

static void check_sums(const struct wtl_totals *totals)
{
	for (size_t domain = 0; domain < DOMAINS; domain++)
		for (size_t by = 0; by < WTL_TOTALS_GROUPINGS; by++) {
			const struct wtl_totals_grouping *grouping = &totals->by[by];
			uint64_t sum_uj = 0;

			check(grouping->n <= WTL_TOTALS_GROUPS);
			for (size_t i = 0; i < WTL_TOTALS_PLACES; i++)
				sum_uj += wtl_totals_energy(totals, &grouping->groups[i], domain,
							    WTL_TOTALS_DYNAMIC);
			check(sum_uj == totals->accounts_uj[domain * WTL_TOTALS_ACCOUNTS +
							    WTL_TOTALS_PROCESSES]);
		}
}

static void check_again(const struct wtl_totals *totals)
{
	struct wtl_totals again;
	struct wtl_buf text, second;

	wtl_buf_init(&text, WTL_TOTALS_TEXT_MAX);
	wtl_buf_init(&second, WTL_TOTALS_TEXT_MAX);
	wtl_totals_save(totals, &text);
	begin(&again);
	check(!text.error && wtl_totals_load(&again, wtl_buf_str(&text)) == 0);
	wtl_totals_save(&again, &second);
	check(text.len == second.len && memcmp(text.data, second.data, text.len) == 0);
	wtl_totals_done(&again);
	wtl_buf_done(&text);
	wtl_buf_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct wtl_totals totals;
	int rc;

	check(text != NULL);
	begin(&totals);
	rc = wtl_totals_load(&totals, text);
	check_sums(&totals);
	for (size_t i = 0; rc < 0 && i < DOMAINS; i++)
		check(wtl_totals_sum(&totals, i) == 0);
	if (rc == 0)
		check_again(&totals);
	wtl_totals_done(&totals);
	free(text);
	return 0;
}
