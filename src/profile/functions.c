/* SPDX-License-Identifier: MIT */
#include "profile/functions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct wtl_functions_entry {
	struct wtl_function is; /* its texts are in `texts` */
	char *texts;
	char *text; /* its displayed name */
	unsigned
		step; /* how much the name shows: more and more of the paths, the address, the number */
	bool is_last; /* no further step is left */
};

void wtl_functions_done(struct wtl_functions *functions)
{
	for (size_t i = 0; i < functions->n; i++) {
		free(functions->list[i].texts);
		free(functions->list[i].text);
	}
	free(functions->list);
	wtl_hash_done(&functions->by_function);
	*functions = (struct wtl_functions){.n = 0};
}

static bool is_function(const void *context, uint32_t value, const void *key)
{
	const struct wtl_functions *functions = context;
	const struct wtl_function *a = &functions->list[value].is, *b = key;

	return a->of == b->of && a->address == b->address && a->line == b->line &&
	       strcmp(a->name, b->name) == 0 && strcmp(a->source, b->source) == 0;
}

/* Copies the three texts into one block, which the function points to from now on. NULL: no memory. */
static char *copy_texts(struct wtl_function *function)
{
	const char **texts[] = {&function->name, &function->source, &function->module};
	size_t sizes[3], all = 0;
	char *copy, *at;

	for (size_t i = 0; i < 3; i++)
		all += sizes[i] = strlen(*texts[i]) + 1;
	copy = at = malloc(all);
	for (size_t i = 0; copy && i < 3; at += sizes[i++])
		*texts[i] = memcpy(at, *texts[i], sizes[i]);
	return copy;
}

int64_t wtl_functions_add(struct wtl_functions *functions, const struct wtl_function *function)
{
	uint32_t sum = wtl_hash_text(function->name) ^ wtl_hash_text(function->source) ^
		       wtl_hash_bytes(&function->address, sizeof(function->address));
	const uint32_t *found =
		wtl_hash_find(&functions->by_function, sum, is_function, functions, function);
	struct wtl_functions_entry *entry;

	if (found)
		return *found;
	if (wtl_array_reserve(&functions->list, &functions->room, functions->n + 1,
			      sizeof(*functions->list)) < 0 ||
	    wtl_hash_reserve(&functions->by_function, functions->n + 1) < 0)
		return -ENOMEM;
	entry = &functions->list[functions->n];
	*entry = (struct wtl_functions_entry){.is = *function};
	entry->texts = copy_texts(&entry->is);
	if (!entry->texts)
		return -ENOMEM;
	wtl_hash_add(&functions->by_function, sum, (uint32_t)functions->n);
	return (int64_t)functions->n++;
}

const char *wtl_functions_text(const struct wtl_functions *functions, size_t number)
{
	return functions->list[number].text;
}

const struct wtl_function *wtl_functions_at(const struct wtl_functions *functions, size_t number)
{
	return &functions->list[number].is;
}

/* ---- Unique names ---- */

static unsigned count_parts(const char *path)
{
	unsigned n = path[0] != '\0';

	for (const char *at = path; *at; at++)
		n += *at == '/' && at > path && at[1] != '\0';
	return n;
}

const char *wtl_functions_last_parts(const char *path, unsigned n)
{
	for (const char *at = path + strlen(path); at > path; at--)
		if (at[-1] == '/' && *at && --n == 0)
			return at;
	return path;
}

/* How many steps come before the number. */
static unsigned count_steps(const struct wtl_function *is)
{
	return count_parts(is->source) + count_parts(is->module) + (is->address != 0);
}

/* Makes the name for entry->step: plain, then with the source's path, the module's, the address, the number. */
static int put_text(struct wtl_functions_entry *entry, size_t number)
{
	const struct wtl_function *is = &entry->is;
	unsigned step = entry->step, n_source = count_parts(is->source);
	unsigned n_paths = n_source + count_parts(is->module);
	int rc;

	free(entry->text);
	entry->text = NULL;
	entry->is_last = step > count_steps(is);
	if (is->line && (step <= n_source || entry->is_last))
		rc = asprintf(&entry->text, entry->is_last ? "%s (%s:%u) #%zu" : "%s (%s:%u)",
			      is->name, wtl_functions_last_parts(is->source, step ? step : 1),
			      is->line, number);
	else if (step == 0)
		rc = asprintf(&entry->text, "%s", is->name);
	else if (step <= n_paths)
		rc = asprintf(&entry->text, "%s (%s)", is->name,
			      step <= n_source
				      ? wtl_functions_last_parts(is->source, step)
				      : wtl_functions_last_parts(is->module, step - n_source));
	else if (!entry->is_last)
		rc = asprintf(&entry->text, "%s (%s+0x%" PRIx64 ")", is->name,
			      wtl_functions_last_parts(is->module, 1), is->address);
	else
		rc = asprintf(&entry->text, "%s #%zu", is->name, number);
	return rc < 0 ? -ENOMEM : 0;
}

static int by_text(const void *a, const void *b)
{
	const struct wtl_functions_entry *const *x = a, *const *y = b;

	return strcmp((*x)->text, (*y)->text);
}

/* Moves n functions of one name a step on, to the number only if none has another step left. How many changed. */
static int tell_more_of(struct wtl_functions_entry **alike, size_t n)
{
	bool has_more = false;
	int n_changed = 0;

	for (size_t i = 0; i < n; i++)
		has_more |= alike[i]->step < count_steps(&alike[i]->is);
	for (size_t i = 0; i < n; i++)
		if (has_more ? alike[i]->step < count_steps(&alike[i]->is) : !alike[i]->is_last) {
			alike[i]->step++;
			n_changed++;
		}
	return n_changed;
}

/* Moves functions that share a name a step on. 1: there were some; 0; or -ENOMEM. */
static int tell_more(struct wtl_functions *functions, struct wtl_functions_entry **order)
{
	int n = 0, rc = 0;

	qsort(order, functions->n, sizeof(*order), by_text);
	for (size_t first = 0, last; first < functions->n; first = last) {
		for (last = first + 1;
		     last < functions->n && by_text(&order[first], &order[last]) == 0;)
			last++;
		if (last - first > 1)
			n += tell_more_of(&order[first], last - first);
	}
	for (size_t i = 0; i < functions->n && rc == 0; i++)
		rc = put_text(&functions->list[i], i);
	return rc < 0 ? rc : n > 0;
}

int wtl_functions_name(struct wtl_functions *functions)
{
	struct wtl_functions_entry **order = calloc(functions->n + 1, sizeof(*order));
	int rc = order ? 0 : -ENOMEM;

	for (size_t i = 0; i < functions->n && rc == 0; i++) {
		order[i] = &functions->list[i];
		rc = put_text(&functions->list[i], i);
	}
	for (int more = rc == 0; more > 0;)
		more = rc = tell_more(functions, order);
	free(order);
	return rc;
}
