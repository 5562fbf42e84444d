/* SPDX-License-Identifier: MIT */
#include "commands/plot/recording_keys.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

void wtl_plot_keys_done(struct wtl_plot_keys *keys)
{
	free(keys->list);
	free(keys->table);
	free(keys->touched);
	*keys = (struct wtl_plot_keys){.n = 0};
}

/* FNV-1a. */
static size_t hash_of(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return (size_t)hash;
}

/* Where it is, or where it would be. */
static size_t *place_of(const struct wtl_plot_keys *keys, const char *name)
{
	size_t at = hash_of(name) & (keys->n_table - 1);

	while (keys->table[at] && strcmp(keys->list[keys->table[at] - 1].name, name) != 0)
		at = (at + 1) & (keys->n_table - 1);
	return &keys->table[at];
}

/* At most half of it is ever used. */
static int widen(struct wtl_plot_keys *keys)
{
	size_t n = keys->n_table ? 2 * keys->n_table : 64, *old = keys->table;

	keys->table = calloc(n, sizeof(*keys->table));
	if (!keys->table) {
		keys->table = old;
		return -ENOMEM;
	}
	free(old);
	keys->n_table = n;
	for (size_t i = 0; i < keys->n; i++)
		*place_of(keys, keys->list[i].name) = i + 1;
	return 0;
}

int wtl_plot_keys_find(struct wtl_plot_keys *keys, const char *name, size_t *ret_key)
{
	struct wtl_plot_key key = {.shown = WTL_PLOT_NOT_SHOWN};
	size_t *place;

	if (2 * keys->n >= keys->n_table && widen(keys) < 0)
		return -ENOMEM;
	wtl_text_copy(key.name, sizeof(key.name), name);
	place = place_of(keys, key.name);
	if (!*place) {
		if (keys->n == WTL_PLOT_KEYS_MAX ||
		    wtl_array_reserve(&keys->list, &keys->room, keys->n + 1, sizeof(key)) < 0)
			return -ENOMEM;
		keys->list[keys->n++] = key;
		*place = keys->n;
	}
	*ret_key = *place - 1;
	return 0;
}

void wtl_plot_keys_begin(struct wtl_plot_keys *keys)
{
	for (size_t i = 0; i < keys->n_touched; i++) {
		keys->list[keys->touched[i]].is_touched = false;
		keys->list[keys->touched[i]].now = 0.0;
		keys->list[keys->touched[i]].untold = 0.0;
	}
	keys->n_touched = 0;
}

int wtl_plot_keys_add(struct wtl_plot_keys *keys, size_t key, double value)
{
	struct wtl_plot_key *own = &keys->list[key];

	if (!own->is_touched) {
		if (wtl_array_reserve(&keys->touched, &keys->touched_room, keys->n_touched + 1,
				      sizeof(*keys->touched)) < 0)
			return -ENOMEM;
		keys->touched[keys->n_touched++] = key;
		own->is_touched = true;
	}
	own->now += value;
	return 0;
}

size_t wtl_plot_keys_largest(const struct wtl_plot_keys *keys)
{
	size_t best = keys->n;

	for (size_t i = 0; i < keys->n; i++)
		if (keys->list[i].shown == WTL_PLOT_NOT_SHOWN && keys->list[i].sum > 0.0 &&
		    (best == keys->n || keys->list[i].sum > keys->list[best].sum))
			best = i;
	return best;
}
