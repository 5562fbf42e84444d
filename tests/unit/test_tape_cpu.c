/* SPDX-License-Identifier: MIT */
#include "base/tape_cpu.h"

#include <errno.h>
#include <string.h>

#include "unit.h"

static void note_is(struct wtl_tape_cpu *cpu, int pid, int64_t cpu_ns, uint32_t frame, int said,
		    uint32_t ask)
{
	uint32_t got = 0;

	assert_int_equal(wtl_tape_cpu_note(cpu, pid, cpu_ns, frame, &got), said);
	assert_int_equal(got, ask);
}

static void test_changes_only(void **state)
{
	struct wtl_tape_cpu cpu = {0};

	(void)state;
	note_is(&cpu, 7, 100, 1, 1, 1);
	note_is(&cpu, 8, 100, 1, 1, 1);
	note_is(&cpu, 7, 100, 1, 0, 2);
	note_is(&cpu, 7, 101, 1, 1, 3);
	note_is(&cpu, 7, 101, 2, 0, 1);
	note_is(&cpu, 7, -ESRCH, 5, 1, 1);
	note_is(&cpu, 7, -ESRCH, 6, 0, 1);
	note_is(&cpu, 7, 0, 6, 1, 2);
	note_is(&cpu, 8, 100, 6, 0, 1);
	/* New, and 0 is an answer too. */
	note_is(&cpu, 9, 0, 6, 1, 1);
	assert_int_equal(cpu.n, 3);
	wtl_tape_cpu_done(&cpu);
	wtl_tape_cpu_done(&cpu);
}

/* Many, whose numbers collide, in every order. */
static void test_many(void **state)
{
	struct wtl_tape_cpu cpu = {0};
	const int n = 50000;

	(void)state;
	for (int i = 1; i <= n; i++)
		note_is(&cpu, i * 64, i, 1, 1, 1);
	assert_int_equal(cpu.n, n);
	for (int i = n; i > 0; i--)
		note_is(&cpu, i * 64, i % 2 ? i : i + 1, 2, i % 2 == 0, 1);
	note_is(&cpu, 1, 5, 2, 1, 1);
	note_is(&cpu, 0x7fffffff, 5, 2, 1, 1);
	wtl_tape_cpu_done(&cpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes_only),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests_name("tape_cpu", tests, NULL, NULL);
}
