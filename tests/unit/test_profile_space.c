/* SPDX-License-Identifier: MIT */
/* What processes have mapped: overlaps, forks, programs that become others. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "profile/space.h"

enum { PAGES = 64, STEPS = 4000 };

static struct wtl_module modules[8];

static void map(struct wtl_space *space, uint64_t start, uint64_t length, uint64_t offset,
		struct wtl_module *module)
{
	assert_int_equal(wtl_space_map(space, start, length, offset, module), 0);
}

static void assert_at(const struct wtl_space *space, uint64_t address,
		      const struct wtl_module *module, uint64_t offset)
{
	const struct wtl_mapping *found = wtl_space_at(space, address);

	assert_non_null(found);
	assert_ptr_equal(found->module, module);
	assert_int_equal(address - found->start + found->offset, offset);
}

static void test_new_mappings_hide_old_ones(void **state)
{
	struct wtl_spaces spaces;
	struct wtl_space *space;

	(void)state;
	wtl_spaces_init(&spaces, NULL);
	space = wtl_spaces_find(&spaces, 7);
	assert_ptr_equal(wtl_spaces_find(&spaces, 7), space);
	assert_null(wtl_space_at(space, 0x1000));
	map(space, 0x1000, 0x3000, 0x10, &modules[0]);
	assert_at(space, 0x1000, &modules[0], 0x10);
	assert_at(space, 0x3fff, &modules[0], 0x300f);
	assert_null(wtl_space_at(space, 0x4000));
	/* In the middle: both ends stay, each with its own offset. */
	map(space, 0x2000, 0x1000, 0, &modules[1]);
	assert_int_equal(space->n, 3);
	assert_at(space, 0x1fff, &modules[0], 0x100f);
	assert_at(space, 0x2000, &modules[1], 0);
	assert_at(space, 0x3000, &modules[0], 0x2010);
	/* Over several, and a part of the last one. */
	map(space, 0x1800, 0x2000, 0, &modules[2]);
	assert_at(space, 0x17ff, &modules[0], 0x80f);
	assert_at(space, 0x2000, &modules[2], 0x800);
	assert_at(space, 0x3800, &modules[0], 0x2810);
	/* Nothing, and what is beyond the last address, changes nothing. */
	map(space, 0x1000, 0, 0, &modules[3]);
	map(space, UINT64_MAX - 10, 100, 0, &modules[3]);
	assert_int_equal(space->n, 3);
	wtl_spaces_done(&spaces);
}

static void test_a_child_has_its_parents(void **state)
{
	struct wtl_spaces spaces;
	struct wtl_space *parent, *child;

	(void)state;
	wtl_spaces_init(&spaces, NULL);
	parent = wtl_spaces_find(&spaces, 1);
	child = wtl_spaces_find(&spaces, 2);
	map(parent, 0x1000, 0x1000, 0, &modules[0]);
	assert_int_equal(wtl_space_copy(child, parent), 0);
	map(child, 0x5000, 0x1000, 0, &modules[1]);
	map(parent, 0x1000, 0x1000, 0, &modules[2]);
	assert_at(child, 0x1000, &modules[0], 0);
	assert_at(child, 0x5000, &modules[1], 0);
	assert_null(wtl_space_at(parent, 0x5000));
	assert_int_equal(wtl_space_copy(child, child), 0);
	assert_int_equal(child->n, 2);
	wtl_space_clear(child); /* exec() */
	assert_null(wtl_space_at(child, 0x1000));
	assert_at(parent, 0x1000, &modules[2], 0);
	wtl_spaces_done(&spaces);
}

static void test_processes_that_ended(void **state)
{
	struct wtl_spaces spaces;

	(void)state;
	wtl_spaces_init(&spaces, NULL);
	for (int round = 0; round < 3; round++) {
		for (int pid = 1; pid <= 100; pid++) {
			struct wtl_space *space = wtl_spaces_find(&spaces, pid);

			assert_int_equal(space->n, 0);
			map(space, (uint64_t)pid << 12, 0x1000, 0, &modules[0]);
		}
		for (int pid = 1; pid <= 100; pid += 1 + round) {
			assert_non_null(
				wtl_space_at(wtl_spaces_find(&spaces, pid), (uint64_t)pid << 12));
			wtl_spaces_remove(&spaces, wtl_spaces_find(&spaces, pid));
		}
		for (int pid = 1; pid <= 100; pid++)
			if (spaces.n > 0 && (pid - 1) % (1 + round))
				wtl_spaces_remove(&spaces, wtl_spaces_find(&spaces, pid));
		assert_int_equal(spaces.n, 0);
	}
	wtl_spaces_done(&spaces);
}

/* Against a table with a row for each page. */
static void test_any_order(void **state)
{
	struct wtl_module *owner[PAGES] = {NULL};
	uint64_t offsets[PAGES] = {0};
	struct wtl_spaces spaces;
	struct wtl_space *space;

	(void)state;
	wtl_spaces_init(&spaces, NULL);
	space = wtl_spaces_find(&spaces, 1);
	srandom(1);
	for (int step = 0; step < STEPS; step++) {
		size_t first = (size_t)random() % PAGES;
		size_t n = (size_t)random() % (PAGES - first) + 1, which = (size_t)random() % 8;

		n = random() % 4 ? n % 5 + 1 : n;
		n = n > PAGES - first ? PAGES - first : n;
		map(space, first, n, 100 * which, &modules[which]);
		for (size_t i = 0; i < n; i++) {
			owner[first + i] = &modules[which];
			offsets[first + i] = 100 * which + i;
		}
		for (size_t i = 0; i < PAGES; i++) {
			if (owner[i])
				assert_at(space, i, owner[i], offsets[i]);
			else
				assert_null(wtl_space_at(space, i));
		}
		for (size_t i = 1; i < space->n; i++)
			assert_true(space->mappings[i - 1].end <= space->mappings[i].start);
	}
	wtl_spaces_done(&spaces);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_mappings_hide_old_ones),
		cmocka_unit_test(test_a_child_has_its_parents),
		cmocka_unit_test(test_processes_that_ended),
		cmocka_unit_test(test_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
