/* SPDX-License-Identifier: MIT */
/* The text of `report --policy`, and times and lengths of time as --from, --to and --every take them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/said.h"
#include "cli/when.h"
#include "commands/report/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

static void parse_policy(const char *text)
{
	struct wtl_app app = {.command = NULL};
	struct wtl_policy policy;
	int rc;

	said_forget();
	rc = wtl_policy_parse(&app, text, &policy);
	check((rc == 0) == (said_complaints()[0] == '\0'));
	if (rc != 0)
		return;
	check(policy.player.n_given <= WTL_POLICY_DOMAINS && policy.idle);
	check(policy.player.weight < WTL_WEIGHTS);
	for (size_t i = 0; i < policy.player.n_given; i++) {
		check(policy.player.given[i].domain[0] != '\0');
		check(policy.player.given[i].idle_uw <= UINT64_C(1000000) * 1000000);
		check(strstr(policy.given_list[i], policy.player.given[i].domain) != NULL);
		for (size_t k = 0; k < i; k++)
			check(strcmp(policy.player.given[i].domain,
				     policy.player.given[k].domain) != 0);
	}
}

static void parse_when(const char *text)
{
	struct wtl_when when = {.kind = WTL_WHEN_NOT};
	int64_t ns = -1;

	if (wtl_when_parse_length(text, &ns) == 0)
		check(ns >= 0);
	if (wtl_when_parse(text, &when) < 0)
		return;
	check(when.kind != WTL_WHEN_NOT);
	wtl_when_since_ns(&when, INT64_C(1735689600000000000), 0, &ns);
	wtl_when_since_ns(&when, INT64_MIN, INT64_MAX, &ns);
	wtl_when_is_backwards(&when, &when);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	check(text != NULL);
	parse_policy(text);
	parse_when(text);
	free(text);
	return 0;
}
