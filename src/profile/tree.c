/* SPDX-License-Identifier: MIT */
#include "profile/tree.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/unwind.h"

/* The table of rows grows by this. */
enum { ROWS_MORE = 256 };

int wtl_tree_init(struct wtl_tree *tree)
{
	*tree = (struct wtl_tree){.n_nodes = 0};
	if (wtl_array_reserve(&tree->nodes, &tree->room_nodes, 1, sizeof(*tree->nodes)) < 0)
		return -ENOMEM;
	tree->nodes[tree->n_nodes++] = (struct wtl_tree_node){0, UINT32_MAX};
	return 0;
}

void wtl_tree_done(struct wtl_tree *tree)
{
	for (size_t i = 0; i < tree->n_names; i++)
		free(tree->names[i]);
	free(tree->names);
	free(tree->nodes);
	free(tree->frames);
	free(tree->by_row);
	wtl_hash_done(&tree->by_place);
	wtl_hash_done(&tree->by_frame);
	wtl_hash_done(&tree->by_name);
}

static bool is_name(const void *context, uint32_t value, const void *key)
{
	const struct wtl_tree *tree = context;

	return strcmp(tree->names[value], key) == 0;
}

int64_t wtl_tree_name(struct wtl_tree *tree, const char *name)
{
	uint32_t sum = wtl_hash_text(name);
	const uint32_t *found = wtl_hash_find(&tree->by_name, sum, is_name, tree, name);
	char *copy;

	if (found)
		return *found;
	if (wtl_array_reserve(&tree->names, &tree->room_names, tree->n_names + 1,
			      sizeof(*tree->names)) < 0 ||
	    wtl_hash_reserve(&tree->by_name, tree->n_names + 1) < 0 || !(copy = strdup(name)))
		return -ENOMEM;
	tree->names[tree->n_names] = copy;
	wtl_hash_add(&tree->by_name, sum, (uint32_t)tree->n_names);
	return (int64_t)tree->n_names++;
}

static bool is_frame(const void *context, uint32_t value, const void *key)
{
	const struct wtl_tree *tree = context;
	const struct wtl_frame *a = &tree->frames[value], *b = key;

	return a->kind == b->kind && a->name == b->name && a->module == b->module &&
	       a->address == b->address;
}

int64_t wtl_tree_frame(struct wtl_tree *tree, const struct wtl_frame *frame)
{
	struct {
		uint64_t kind_and_name, address;
		const void *module;
	} key = {(uint64_t)frame->kind << 32 | frame->name, frame->address, frame->module};
	uint32_t sum = wtl_hash_bytes(&key, sizeof(key));
	const uint32_t *found = wtl_hash_find(&tree->by_place, sum, is_frame, tree, frame);

	if (found)
		return *found;
	if (wtl_array_reserve(&tree->frames, &tree->room_frames, tree->n_frames + 1,
			      sizeof(*tree->frames)) < 0 ||
	    wtl_hash_reserve(&tree->by_place, tree->n_frames + 1) < 0)
		return -ENOMEM;
	tree->frames[tree->n_frames] = *frame;
	wtl_hash_add(&tree->by_place, sum, (uint32_t)tree->n_frames);
	return (int64_t)tree->n_frames++;
}

int64_t wtl_tree_place(struct wtl_tree *tree, const struct wtl_unwind_place *place)
{
	const struct wtl_frame frame = {
		.kind = WTL_FRAME_NATIVE, .module = place->module, .address = place->address};
	int64_t number;

	if (place->row < tree->n_rows && tree->by_row[place->row] > 0)
		return tree->by_row[place->row] - 1;
	number = wtl_tree_frame(tree, &frame);
	if (number >= 0 && place->row > 0 &&
	    wtl_array_widen(&tree->by_row, &tree->n_rows, place->row + ROWS_MORE,
			    sizeof(*tree->by_row)) == 0)
		tree->by_row[place->row] = (uint32_t)number + 1;
	return number;
}

static bool is_child(const void *context, uint32_t value, const void *key)
{
	const struct wtl_tree *tree = context;
	const struct wtl_tree_node *node = key;

	return tree->nodes[value].parent == node->parent && tree->nodes[value].frame == node->frame;
}

/* 0: it is not there, and may not be added. */
static int64_t find_child(struct wtl_tree *tree, uint32_t parent, uint32_t frame, bool may_add)
{
	const struct wtl_tree_node node = {parent, frame};
	uint32_t sum = wtl_hash_bytes(&node, sizeof(node));
	const uint32_t *found = wtl_hash_find(&tree->by_frame, sum, is_child, tree, &node);

	if (found)
		return *found;
	if (!may_add)
		return 0;
	if (tree->n_nodes == UINT32_MAX ||
	    wtl_array_reserve(&tree->nodes, &tree->room_nodes, tree->n_nodes + 1,
			      sizeof(*tree->nodes)) < 0 ||
	    wtl_hash_reserve(&tree->by_frame, tree->n_nodes + 1) < 0)
		return -ENOMEM;
	tree->nodes[tree->n_nodes] = node;
	wtl_hash_add(&tree->by_frame, sum, (uint32_t)tree->n_nodes);
	return (int64_t)tree->n_nodes++;
}

/* How many nodes there may be with `rest` and what is below it, for the first, second and third choice of a place. */
static size_t room_of(const struct wtl_tree *tree, size_t choice)
{
	return tree->nodes_most + (choice + 2) * (tree->nodes_most / 16 + 1);
}

int64_t wtl_tree_child(struct wtl_tree *tree, uint32_t parent, uint32_t frame)
{
	bool is_limited = tree->nodes_most && parent;
	int64_t child;

	tree->last = frame;
	if (is_limited && tree->nodes[parent].frame == tree->rest)
		return parent;
	child = find_child(tree, parent, frame, !is_limited || tree->n_nodes < tree->nodes_most);
	for (; !child; parent = tree->nodes[parent].parent)
		child = find_child(tree, parent, tree->rest,
				   tree->n_nodes < room_of(tree, 0) || !tree->nodes[parent].parent);
	return child;
}

/* The outermost ancestors, and the node itself, as many as there may be. */
static uint32_t cut_stack(const struct wtl_tree *tree, uint32_t node, unsigned most)
{
	unsigned depth = 0;

	for (uint32_t at = node; at; at = tree->nodes[at].parent)
		depth++;
	for (; depth > most; depth--)
		node = tree->nodes[node].parent;
	return node;
}

int64_t wtl_tree_end(struct wtl_tree *tree, uint32_t node)
{
	static const unsigned depths[] = {UINT_MAX, 8, 2};

	if (!tree->nodes_most || !node || tree->nodes[node].frame != tree->rest)
		return node;
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		size_t most = room_of(tree, i);
		uint32_t caller = cut_stack(tree, tree->nodes[node].parent, depths[i]);
		int64_t rest = find_child(tree, caller, tree->rest, tree->n_nodes < most), end;

		end = rest > 0 ? find_child(tree, (uint32_t)rest, tree->last, tree->n_nodes < most)
			       : rest;
		if (end)
			return end;
	}
	return node;
}

bool wtl_tree_is_outermost(const struct wtl_tree *tree, size_t node)
{
	uint32_t name = tree->frames[tree->nodes[node].frame].name;

	for (uint32_t at = tree->nodes[node].parent; at; at = tree->nodes[at].parent)
		if (tree->frames[tree->nodes[at].frame].name == name)
			return false;
	return true;
}
