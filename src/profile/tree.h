/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_TREE_H
#define WTL_PROFILE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct wtl_module;
struct wtl_unwind_place;

/* Call stacks as a tree: a node is a frame called by its parent's. Frames are places in programs, or names. */

enum wtl_frame_kind {
	WTL_FRAME_NATIVE, /* module and address */
	WTL_FRAME_PYTHON, /* name: a number of wtl_tree.names; address: the first line */
	WTL_FRAME_NAMED,  /* a text: a number of wtl_tree.names */
};

struct wtl_frame {
	enum wtl_frame_kind kind;
	uint32_t name;
	struct wtl_module *module;
	uint64_t address;
};

struct wtl_tree_node {
	uint32_t parent; /* a lower number; 0 is the root, its own parent */
	uint32_t frame;
};

struct wtl_tree {
	struct wtl_tree_node *nodes;
	struct wtl_frame *frames;
	char **names;
	size_t n_nodes, n_frames, n_names, room_nodes, room_frames, room_names;
	struct wtl_hash by_place, by_frame, by_name;
	uint32_t *by_row; /* frames by wtl_unwind_place.row, + 1; 0: not known yet */
	size_t n_rows;
	/* The most nodes (0: no limit). Then a new one, and all below it, becomes the child of the frame `rest` that
	 * each node can have, while there is a quarter more at the most. New ones below the root are still made. */
	size_t nodes_most;
	uint32_t rest;
	uint32_t last; /* the frame that was looked up last */
};

int wtl_tree_init(struct wtl_tree *tree); /* with its root. 0 or -ENOMEM */
void wtl_tree_done(struct wtl_tree *tree);
/* The number of a frame, a place's frame, a name, and a child node, each added if need be; or -ENOMEM. */
int64_t wtl_tree_frame(struct wtl_tree *tree, const struct wtl_frame *frame);
int64_t wtl_tree_place(struct wtl_tree *tree, const struct wtl_unwind_place *place);
int64_t wtl_tree_name(struct wtl_tree *tree, const char *name);
int64_t wtl_tree_child(struct wtl_tree *tree, uint32_t parent, uint32_t frame);
/* Of a stack whose last node is that, just looked up frame by frame: if it ends in `rest`, its innermost frame as a child
 * of that, so that it keeps its own time. While there is room it has all callers that are known, then the outer ones. */
int64_t wtl_tree_end(struct wtl_tree *tree, uint32_t node);
/* Whether no ancestor has a frame of the same name: with all that it called, a recursive function is counted once. */
bool wtl_tree_is_outermost(const struct wtl_tree *tree, size_t node);

#endif
