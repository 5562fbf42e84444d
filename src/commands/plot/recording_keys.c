/* SPDX-License-Identifier: MIT */
#include "commands/plot/recording_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

void wtl_plot_keys_done(struct wtl_plot_keys *keys)
{
	free(keys->list);
	wtl_hash_done(&keys->by_name);
	free(keys->touched);
	*keys = (struct wtl_plot_keys){.n = 0};
}

static bool has_name(const void *list, uint32_t at, const void *name)
{
	return strcmp(((const struct wtl_plot_key *)list)[at].name, name) == 0;
}

int wtl_plot_keys_find(struct wtl_plot_keys *keys, const char *name, size_t *ret_key)
{
	struct wtl_plot_key key = {.shown = WTL_PLOT_NOT_SHOWN};
	const uint32_t *at;
	uint32_t sum;

	wtl_text_copy(key.name, sizeof(key.name), name);
	sum = wtl_hash_text(key.name);
	at = wtl_hash_find(&keys->by_name, sum, has_name, keys->list, key.name);
	if (at) {
		*ret_key = *at;
		return 0;
	}
	if (keys->n == WTL_PLOT_KEYS_MAX || wtl_hash_reserve(&keys->by_name, keys->n + 1) < 0 ||
	    wtl_array_reserve(&keys->list, &keys->room, keys->n + 1, sizeof(key)) < 0)
		return -ENOMEM;
	wtl_hash_add(&keys->by_name, sum, (uint32_t)keys->n);
	keys->list[keys->n] = key;
	*ret_key = keys->n++;
	return 0;
}

void wtl_plot_keys_begin(struct wtl_plot_keys *keys)
{
	for (size_t i = 0; i < keys->n_touched; i++) {
		keys->list[keys->touched[i]].is_touched = false;
		keys->list[keys->touched[i]].now = 0.0;
		keys->list[keys->touched[i]].moved = 0.0;
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
