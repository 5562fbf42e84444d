/* SPDX-License-Identifier: MIT */
#include "meter/known_watts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "energy/units.h"

#define PREFIX	     "watts:"
#define SPREAD	     0.2  /* of watts of one program, from session to session: relative, standard */
#define USE_LEAST_S  10.0 /* from which on its watts are kept */
#define DOUBT_MOST   0.2  /* and how well they are told apart, relative */
#define UW_MOST	     1e15
#define SEEN_MOST_NS (INT64_C(24) * 3600 * WTL_NS_PER_S)

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

/* ---- Of a session ---- */

void wtl_known_done(struct wtl_known_programs *programs)
{
	free(programs->table);
	free(programs->begun);
}

int wtl_known_add(struct wtl_known_programs *programs, const struct wtl_known_watts *known)
{
	if (!programs->table)
		programs->table = calloc(1, sizeof(*programs->table));
	if (!programs->table)
		return -ENOMEM;
	wtl_known_put(programs->table, known);
	return 0;
}

/* For who replays it. false: there is no room, and it must not be used. */
static bool note_begun(struct wtl_known_programs *programs, const struct wtl_known_watts *known,
		       uint32_t key)
{
	if (programs->is_told)
		return true;
	if (programs->n_begun == WTL_KNOWN_WATTS_MAX ||
	    wtl_array_reserve(&programs->begun, &programs->begun_room, programs->n_begun + 1,
			      sizeof(*programs->begun)) < 0)
		return false;
	programs->begun[programs->n_begun] = *known;
	programs->begun[programs->n_begun++].key = key;
	return true;
}

bool wtl_known_begin(struct wtl_known_programs *programs, const char *of, const char *program,
		     uint32_t key, struct wtl_watts_figure *ret_watts)
{
	const struct wtl_known_watts *known =
		programs->table
			? wtl_known_find(programs->table, of, program, programs->is_told ? key : 0)
			: NULL;
	double w;

	if (!known || known->watts.idle_uw == 0 || !note_begun(programs, known, key))
		return false;
	w = (double)known->watts.idle_uw / 1e6;
	*ret_watts = (struct wtl_watts_figure){
		w, hypot(SPREAD * w, (double)known->watts.uncertainty_uw / 1e6)};
	return true;
}

bool wtl_known_is_kept(const char *program, double use_s)
{
	return program[0] && use_s >= USE_LEAST_S;
}

bool wtl_known_keep(struct wtl_known_programs *programs, const char *of, const char *program,
		    const struct wtl_watts_figure *found, double use_s, int64_t t_utc_ns)
{
	struct wtl_known_watts known = {.watts = {.is_known = true, .t_utc_ns = t_utc_ns}};
	const struct wtl_known_watts *before;

	if (found->uncertainty_w > DOUBT_MOST * found->w || found->w * 1e6 > UW_MOST)
		return false;
	wtl_text_copy(known.of, sizeof(known.of), of);
	wtl_text_copy(known.name, sizeof(known.name), program);
	known.watts.idle_uw = (uint64_t)(found->w * 1e6);
	known.watts.uncertainty_uw = (uint64_t)(found->uncertainty_w * 1e6);
	known.watts.seen_ns = (int64_t)(fmin(use_s, 1e6) * WTL_NS_PER_S);
	before = programs->table ? wtl_known_find(programs->table, of, known.name, 0) : NULL;
	if (before)
		known.watts.seen_ns += before->watts.seen_ns;
	if (known.watts.seen_ns > SEEN_MOST_NS)
		known.watts.seen_ns = SEEN_MOST_NS;
	return wtl_known_add(programs, &known) == 0;
}
