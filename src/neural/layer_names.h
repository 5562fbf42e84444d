/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_LAYER_NAMES_H
#define WTL_NEURAL_LAYER_NAMES_H

#include "base/hash.h"

struct wtl_network;
struct wtl_layer;

/* Layers of a network by their names. All zeros is an empty one. */
struct wtl_layer_names {
	const struct wtl_network *network;
	struct wtl_hash hash;
};

/* NULL: there is no layer of that name. */
struct wtl_layer *wtl_layer_names_find(const struct wtl_layer_names *names, const char *name);
/* Adds the layer with that index, unless there is one of its name. 0 or -ENOMEM. */
int wtl_layer_names_add(struct wtl_layer_names *names, size_t place);
void wtl_layer_names_done(struct wtl_layer_names *names);

#endif
