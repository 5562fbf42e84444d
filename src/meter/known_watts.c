/* SPDX-License-Identifier: MIT */
#include "meter/known_watts.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define PREFIX "watts:"

int wtl_known_print(char line[WTL_BASELINE_LINE_MAX], const struct wtl_known_watts *known)
{
	char domain[sizeof(PREFIX) + sizeof(known->of)];

	snprintf(domain, sizeof(domain), PREFIX "%s", known->of);
	return wtl_baseline_print(line, domain, known->name, &known->watts);
}

bool wtl_known_take(const char *domain, const char *source, const struct wtl_baseline *baseline,
		    struct wtl_known_watts *ret_known)
{
	if (!wtl_text_starts(domain, PREFIX))
		return false;
	*ret_known = (struct wtl_known_watts){.watts = *baseline};
	wtl_text_copy(ret_known->of, sizeof(ret_known->of), domain + strlen(PREFIX));
	wtl_text_copy(ret_known->name, sizeof(ret_known->name), source);
	return true;
}

const struct wtl_known_watts *wtl_known_find(const struct wtl_known_table *table, const char *of,
					     const char *name, uint32_t key)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct wtl_known_watts *known = &table->at[i];

		if (strcmp(known->of, of) == 0 && known->key == key &&
		    (key || strcmp(known->name, name) == 0))
			return known;
	}
	return NULL;
}

static struct wtl_known_watts *least(struct wtl_known_table *table)
{
	struct wtl_known_watts *found = &table->at[0];

	for (size_t i = 1; i < table->n; i++)
		if (table->at[i].watts.seen_ns < found->watts.seen_ns)
			found = &table->at[i];
	return found;
}

void wtl_known_put(struct wtl_known_table *table, const struct wtl_known_watts *known)
{
	const struct wtl_known_watts *found =
		wtl_known_find(table, known->of, known->name, known->key);
	struct wtl_known_watts *to;

	if (found)
		to = &table->at[found - table->at];
	else if (table->n < WTL_KNOWN_WATTS_MAX)
		to = &table->at[table->n++];
	else
		to = least(table);
	if (found || to->watts.seen_ns <= known->watts.seen_ns)
		*to = *known;
}
