/* SPDX-License-Identifier: MIT */
/* Trees of stacks: what is the same has one number, and parents come first. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "profile/module.h"
#include "profile/tree.h"

enum { STEPS = 20000 };

static struct wtl_module modules[3];

static void test_the_same_has_one_number(void **state)
{
	const struct wtl_frame frame = {.module = &modules[0], .address = 4711};
	struct wtl_frame other = frame;
	struct wtl_tree tree;
	int64_t a, b, c;

	(void)state;
	assert_int_equal(wtl_tree_init(&tree), 0);
	assert_int_equal(tree.n_nodes, 1);
	assert_int_equal(wtl_tree_name(&tree, "one"), wtl_tree_name(&tree, "one"));
	assert_int_not_equal(wtl_tree_name(&tree, "one"), wtl_tree_name(&tree, "two"));
	a = wtl_tree_frame(&tree, &frame);
	assert_int_equal(wtl_tree_frame(&tree, &frame), a);
	other.address++;
	b = wtl_tree_frame(&tree, &other);
	assert_int_not_equal(a, b);
	other = frame;
	other.module = &modules[1];
	assert_int_not_equal(wtl_tree_frame(&tree, &other), a);
	other = frame;
	other.kind = WTL_FRAME_PYTHON;
	assert_int_not_equal(wtl_tree_frame(&tree, &other), a);
	c = wtl_tree_child(&tree, 0, (uint32_t)a);
	assert_int_equal(c, wtl_tree_child(&tree, 0, (uint32_t)a));
	assert_int_not_equal(c, wtl_tree_child(&tree, 0, (uint32_t)b));
	assert_int_not_equal(c, wtl_tree_child(&tree, (uint32_t)c, (uint32_t)a));
	wtl_tree_done(&tree);
}

static void test_parents_come_first(void **state)
{
	struct wtl_tree tree;

	(void)state;
	assert_int_equal(wtl_tree_init(&tree), 0);
	srandom(2);
	for (int i = 0; i < STEPS; i++) {
		const struct wtl_frame frame = {.module = &modules[random() % 3],
						.address = (uint64_t)random() % 50};
		uint32_t parent = (uint32_t)((size_t)random() % tree.n_nodes);
		int64_t number = wtl_tree_frame(&tree, &frame), node;

		assert_in_range(number, 0, tree.n_frames - 1);
		node = wtl_tree_child(&tree, parent, (uint32_t)number);
		assert_true(node > parent && (size_t)node < tree.n_nodes);
		assert_int_equal(tree.nodes[node].parent, parent);
		assert_int_equal(tree.nodes[node].frame, number);
		assert_memory_equal(&tree.frames[number].address, &frame.address, 8);
	}
	assert_in_range(tree.n_frames, 100, 150);
	wtl_tree_done(&tree);
}

static uint32_t frame_of(struct wtl_tree *tree, uint64_t address)
{
	const struct wtl_frame frame = {.address = address};

	return (uint32_t)wtl_tree_frame(tree, &frame);
}

/* Then stacks are known as far as they were seen before; what is below that is no other stack's. */
static void test_too_many_nodes(void **state)
{
	struct wtl_tree tree;
	int64_t a, b, below;

	(void)state;
	assert_int_equal(wtl_tree_init(&tree), 0);
	tree.rest = frame_of(&tree, 99);
	tree.nodes_most = 3;
	a = wtl_tree_child(&tree, 0, frame_of(&tree, 1));
	b = wtl_tree_child(&tree, (uint32_t)a, frame_of(&tree, 2));
	below = wtl_tree_child(&tree, (uint32_t)a, frame_of(&tree, 3));
	assert_int_equal(tree.nodes[below].frame, tree.rest);
	assert_int_equal(tree.nodes[below].parent, a);
	assert_int_equal(wtl_tree_child(&tree, (uint32_t)below, frame_of(&tree, 2)), below);
	assert_int_equal(wtl_tree_child(&tree, (uint32_t)a, frame_of(&tree, 4)), below);
	assert_int_equal(wtl_tree_child(&tree, (uint32_t)a, frame_of(&tree, 2)), b);
	assert_int_not_equal(wtl_tree_child(&tree, (uint32_t)b, frame_of(&tree, 3)), below);
	assert_int_not_equal(wtl_tree_child(&tree, 0, frame_of(&tree, 5)), 0);
	assert_int_equal(tree.n_nodes, 6);
	wtl_tree_done(&tree);
}

/* What ran keeps its own time: below the nearest caller that there is room for, and at last below none. */
static void test_the_last_frame_of_too_many(void **state)
{
	enum { MOST = 1000 };
	struct wtl_tree tree;
	int64_t first, node;
	size_t n_cut = 0, n_lost = 0;

	(void)state;
	assert_int_equal(wtl_tree_init(&tree), 0);
	tree.rest = frame_of(&tree, 99);
	tree.nodes_most = MOST;
	first = wtl_tree_child(&tree, 0, frame_of(&tree, 1));
	for (int round = 0; round < 20000; round++) {
		uint32_t frame = frame_of(&tree, 100 + (uint64_t)random() % 5);

		node = first;
		for (int depth = 0; depth < 20; depth++)
			node = wtl_tree_child(&tree, (uint32_t)node,
					      frame_of(&tree, 10 + (uint64_t)random() % 3));
		node = wtl_tree_child(&tree, (uint32_t)node, frame);
		assert_true(node > 0);
		node = wtl_tree_end(&tree, (uint32_t)node);
		assert_in_range(node, 1, tree.n_nodes - 1);
		if (tree.nodes[node].frame != frame)
			n_lost++;
		else if (tree.nodes[tree.nodes[node].parent].frame == tree.rest)
			n_cut++;
		while (tree.nodes[node].parent)
			node = tree.nodes[node].parent;
		assert_int_equal(node, first);
	}
	assert_int_equal(n_lost, 0);
	assert_true(n_cut > 10000);
	assert_in_range(tree.n_nodes, MOST, MOST + MOST / 4 + 4);
	wtl_tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_has_one_number),
		cmocka_unit_test(test_parents_come_first),
		cmocka_unit_test(test_too_many_nodes),
		cmocka_unit_test(test_the_last_frame_of_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
