/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "commands/report/load.h"

/* A megawatt; the same limit as for kept baselines. */
#define IDLE_MAX_UW (UINT64_C(1000000) * 1000000)

static int complain(struct wtl_app *app, const char *word, size_t len)
{
	return wtl_complain(app,
			    "--policy takes idle=recorded, idle=learned, idle=none, "
			    "idle=DOMAIN:WATTS and weight=WEIGHT (or weight=" WTL_SMOOTHED
			    ") with commas between, not '%.*s'",
			    (int)len, word);
}

static bool is_word(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(text, word, len) == 0;
}

/* Two words about the same thing contradict each other. */
static int complain_of_two(struct wtl_app *app, const char *word, size_t len)
{
	return wtl_complain(app,
			    "--policy: '%.*s' is of what another word before it has said already",
			    (int)len, word);
}

static int parse_given(struct wtl_app *app, const char *text, size_t len, struct wtl_policy *policy)
{
	const char *colon = memchr(text, ':', len);
	size_t name = colon ? (size_t)(colon - text) : 0, i = policy->player.n_given;
	uint64_t idle_uw;

	if (!colon || name == 0 || name >= sizeof(policy->player.given[0].domain))
		return complain(app, text - strlen("idle="), len + strlen("idle="));
	if (wtl_num_fixed(colon + 1, len - name - 1, 6, &idle_uw) < 0 || idle_uw > IDLE_MAX_UW)
		return wtl_complain(
			app,
			"--policy 'idle=%.*s': watts are a number up to 1000000 such as "
			"74.05, not '%.*s'",
			(int)len, text, (int)(len - name - 1), colon + 1);
	for (size_t k = 0; k < i; k++)
		if (is_word(text, name, policy->player.given[k].domain))
			return complain_of_two(app, text - strlen("idle="), len + strlen("idle="));
	if (i == WTL_POLICY_DOMAINS)
		return wtl_complain(app, "--policy: more than %d domains", WTL_POLICY_DOMAINS);
	snprintf(policy->player.given[i].domain, sizeof(policy->player.given[i].domain), "%.*s",
		 (int)name, text);
	policy->player.given[i].idle_uw = idle_uw;
	snprintf(policy->given_text[i], sizeof(policy->given_text[i]), "%.*s: %.*s W", (int)name,
		 text, (int)(len - name - 1), colon + 1);
	policy->given_list[i] = policy->given_text[i];
	policy->player.n_given++;
	return 0;
}

static int parse_idle(struct wtl_app *app, const char *text, size_t len, struct wtl_policy *policy,
		      bool *has_idle)
{
	static const char *const words[] = {"recorded", "learned", "none"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!is_word(text, len, words[i]))
			continue;
		if (*has_idle)
			return complain_of_two(app, text - strlen("idle="), len + strlen("idle="));
		*has_idle = true;
		policy->idle = words[i];
		policy->player.forgets_idle = i > 0;
		policy->player.has_no_idle = i == 2;
		return 0;
	}
	return parse_given(app, text, len, policy);
}

static int parse_weight(struct wtl_app *app, const char *text, size_t len,
			struct wtl_policy *policy)
{
	char name[32];
	int weight;

	if (policy->player.has_weight)
		return complain_of_two(app, text - strlen("weight="), len + strlen("weight="));
	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	policy->player.smooths = strcmp(name, WTL_SMOOTHED) == 0;
	weight = policy->player.smooths ? WTL_WEIGHT_LEARNED : wtl_weight_find(name);
	if (weight < 0)
		return complain(app, text - strlen("weight="), len + strlen("weight="));
	policy->player.has_weight = true;
	policy->player.weight = (enum wtl_weight)weight;
	return 0;
}

int wtl_policy_parse(struct wtl_app *app, const char *text, struct wtl_policy *ret_policy)
{
	bool has_idle = false;
	int rc = 0;

	*ret_policy = (struct wtl_policy){.is_given = text, .idle = "recorded"};
	while (rc == 0 && text) {
		size_t len = strcspn(text, ",");

		if (len > 5 && memcmp(text, "idle=", 5) == 0)
			rc = parse_idle(app, text + 5, len - 5, ret_policy, &has_idle);
		else if (len > 7 && memcmp(text, "weight=", 7) == 0)
			rc = parse_weight(app, text + 7, len - 7, ret_policy);
		else
			rc = complain(app, text, len);
		text = text[len] ? text + len + 1 : NULL;
	}
	return rc;
}
