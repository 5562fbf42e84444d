/* SPDX-License-Identifier: MIT */
#include "neural/layer_names.h"

#include <errno.h>
#include <string.h>

#include "neural/network.h"

static bool is_name(const void *context, uint32_t value, const void *key)
{
	const struct wtl_network *network = context;

	return strcmp(network->layers[value].name, key) == 0;
}

struct wtl_layer *wtl_layer_names_find(const struct wtl_layer_names *names, const char *name)
{
	const uint32_t *at =
		wtl_hash_find(&names->hash, wtl_hash_text(name), is_name, names->network, name);

	return at ? &names->network->layers[*at] : NULL;
}

int wtl_layer_names_add(struct wtl_layer_names *names, size_t place)
{
	const char *name = names->network->layers[place].name;

	if (wtl_layer_names_find(names, name))
		return 0;
	if (wtl_hash_reserve(&names->hash, names->hash.n + 1) < 0)
		return -ENOMEM;
	wtl_hash_add(&names->hash, wtl_hash_text(name), (uint32_t)place);
	return 0;
}

void wtl_layer_names_done(struct wtl_layer_names *names)
{
	wtl_hash_done(&names->hash);
}
