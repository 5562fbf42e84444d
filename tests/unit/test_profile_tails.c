/* SPDX-License-Identifier: MIT */
/* What lies beyond the copied part of a stack is read from memory: here this program's own, in place of a stack. */
#include "unit.h"

#include <string.h>
#include <unistd.h>

#include "profile/tails.h"

enum { COPIED = 4096, ALL = 1 << 18, TID = 7 };

#define SOON INT64_C(30000)   /* a reader wakes so long after a sample, */
#define LATE INT64_C(5000000) /* or so long, on a busy machine */

static _Alignas(16) uint8_t stack[ALL];
static struct wtl_tails tails;
static struct wtl_tail_need need;

static int set_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = (uint8_t)(i * 31 + i / 256);
	need = (struct wtl_tail_need){0};
	return wtl_tails_init(&tails);
}

static int tear_down(void **state)
{
	(void)state;
	wtl_tails_done(&tails);
	return 0;
}

static struct wtl_ring_event sample_at(int64_t t_ns)
{
	struct wtl_ring_event sample = {.kind = WTL_RING_SAMPLE, .tid = TID, .t_ns = t_ns};

	sample.sample.registers[WTL_UNWIND_SP] = (uintptr_t)stack;
	sample.sample.stack = stack;
	sample.sample.stack_len = COPIED;
	return sample;
}

static struct wtl_ring_glance glance_at(int64_t t_ns)
{
	return (struct wtl_ring_glance){.pid = getpid(),
					.tid = TID,
					.t_ns = t_ns,
					.stack = (uintptr_t)stack,
					.copied = COPIED,
					.turned_ns = t_ns};
}

/* A sample that was cut, glanced at so much later; NULL: nothing was read for it. */
static const struct wtl_ring_event *join(int64_t t_ns, int64_t later_ns)
{
	static struct wtl_ring_event sample;
	struct wtl_ring_glance glance = glance_at(t_ns);

	sample = sample_at(t_ns);
	wtl_tails_glance(&tails, &need, &glance, t_ns + later_ns);
	return wtl_tails_join(&tails, &need, &sample);
}

static void test_a_tail(void **state)
{
	const struct wtl_ring_event *joined;

	(void)state;
	assert_false(wtl_tails_are_needed(&tails, 1000));
	assert_null(join(1000, SOON)); /* nobody knew that it is needed */
	assert_true(wtl_tails_are_needed(&tails, 1000));
	joined = join(2000, SOON);
	assert_non_null(joined);
	assert_int_equal(joined->t_ns, 2000);
	assert_true(joined->sample.stack_len > COPIED);
	assert_memory_equal(joined->sample.stack, stack, joined->sample.stack_len);
	assert_false(wtl_tails_are_needed(&tails, 2000 + INT64_C(1000000000)));
}

/* A thread that ran on may be elsewhere. One that left its processor is where it was. */
static void test_late_readings(void **state)
{
	struct wtl_ring_event sample = sample_at(3000);
	struct wtl_ring_glance glance = glance_at(3000);

	(void)state;
	assert_null(join(1000, SOON));
	assert_null(join(2000, LATE));
	glance.is_off = true;
	glance.turned_ns = glance.t_ns + SOON;
	wtl_tails_glance(&tails, &need, &glance, glance.t_ns + LATE);
	assert_non_null(wtl_tails_join(&tails, &need, &sample));
	sample.t_ns++; /* another one's */
	assert_null(wtl_tails_join(&tails, &need, &sample));
}

/* More is read where that did not reach, up to a bound; less again, where it was too much; none where it never helps. */
static void test_what_is_needed(void **state)
{
	struct wtl_unwind_place outermost = {.stack = (uintptr_t)stack + 2 * COPIED};
	const struct wtl_ring_event *joined;
	size_t first, most = 0;
	int64_t t_ns = 1;

	(void)state;
	assert_null(join(t_ns++, SOON));
	first = need.size;
	for (int i = 0; i < 8; i++) {
		joined = join(t_ns++, SOON);
		assert_non_null(joined);
		most = joined->sample.stack_len;
		wtl_tails_learn(&tails, &need, WTL_UNWIND_CUT, &outermost, 0);
	}
	assert_true(most > COPIED + first && most < ALL / 2);
	for (int i = 0; i < 500; i++) {
		assert_non_null(join(t_ns++, SOON));
		wtl_tails_learn(&tails, &need, WTL_UNWIND_WHOLE, &outermost, 0);
	}
	assert_true(need.size < first);
	for (int i = 0; i < 500; i++)
		if (join(t_ns++, SOON))
			wtl_tails_learn(&tails, &need, WTL_UNWIND_LOST, &outermost, 0);
	assert_null(join(t_ns, SOON));
	assert_false(wtl_tails_are_needed(&tails, t_ns + INT64_C(1000000000)));
}

/* One frame of more than is read: what was asked for beyond it is read as well the next time. */
static void test_a_far_part(void **state)
{
	struct wtl_unwind_place outermost = {.stack = (uintptr_t)stack};
	const size_t far = ALL / 4 * 3;
	const struct wtl_ring_event *joined;
	const uint8_t *found;
	size_t len;

	(void)state;
	assert_null(join(1, SOON));
	assert_non_null(join(2, SOON));
	wtl_tails_learn(&tails, &need, WTL_UNWIND_CUT, &outermost, (uintptr_t)stack + far);
	joined = join(3, SOON);
	assert_non_null(joined);
	assert_null(wtl_unwind_stack(joined, far - 4096, &len)); /* between both nothing is known */
	assert_int_equal(len, 0);
	found = wtl_unwind_stack(joined, far, &len);
	assert_non_null(found);
	assert_true(len > 4096 && far + len < ALL);
	assert_memory_equal(found, stack + far, len);
}

/* In the place of an older one, where nothing can be read: the older one is over. */
static void test_one_that_cannot_be_read(void **state)
{
	struct wtl_ring_event sample = sample_at(2);
	struct wtl_ring_glance glance = glance_at(3);

	(void)state;
	tails.size = 1;
	assert_null(join(1, SOON));
	assert_non_null(join(2, SOON));
	need.size *= 4; /* its bytes move */
	glance.stack = 4096;
	wtl_tails_glance(&tails, &need, &glance, glance.t_ns + SOON);
	assert_null(wtl_tails_join(&tails, &need, &sample));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_tail, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_late_readings, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_needed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_far_part, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_one_that_cannot_be_read, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
