/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "commands/query/query.h"
#include "smi_bench.h"
#include "unit.h"

static struct smi_bench bench;

/* The chosen places as digits. */
static int choose(const char *ids, char *ret_places)
{
	size_t chosen[SMI_GPUS];
	const char *bad = NULL;
	int n = wtl_gpu_choose(bench.gpus, SMI_GPUS, ids, chosen, &bad);

	for (int i = 0; i < n; i++)
		ret_places[i] = (char)('0' + chosen[i]);
	ret_places[n < 0 ? 0 : n] = '\0';
	if (n == -ENOENT)
		assert_non_null(bad);
	return n;
}

static void test_choose(void **state)
{
	static const struct {
		const char *ids, *places;
	} cases[] = {
		{NULL, "0123"},
		{"0", "0"},
		{"2,0", "02"}, /* in the machine's order */
		{"0,0", "0"},
		{"GPU-7be2d1aa-90c1-4d8e-a9a0-70f1c2d3e4f5", "0"},
		{"gpu-7BE2d1aa-90c1-4d8e-a9a0-70f1c2d3e4f5", "0"},
		{"00000000:1B:00.0", "0"},
		{"0000:1b:00.0", "0"},
		{"1b:00.0", "0"},
		{"00000000:C1:00.0,3", "23"},
		{"c1:00.0", "2"},
		{"1654922000011", "0"},
	};

	(void)state;
	smi_bench_init(&bench);
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		char places[SMI_GPUS + 1];

		assert_int_equal(choose(cases[i].ids, places), strlen(cases[i].places));
		assert_string_equal(places, cases[i].places);
	}
}

static void test_choose_none(void **state)
{
	static const char *const none[] = {
		"",  "4",	"0,", ",0", "x", "0 1", "GPU-7be2", "1:1b:00.0", "00001:1b:00.0",
		":", "1b:00.1", "-1"};
	char places[SMI_GPUS + 1];

	(void)state;
	smi_bench_init(&bench);
	for (size_t i = 0; i < UNIT_COUNT(none); i++)
		assert_int_equal(choose(none[i], places), -ENOENT);
}

/* As CUDA counts: NVIDIA's alone, 0 the H100, 1 the lost one, 2 the one with MIG devices. */
static void test_choose_visible(void **state)
{
	static const struct {
		const char *list, *places;
		int bad; /* where the list ends before its time; < 0: it does not */
	} cases[] = {
		{"0", "0", -1},
		{"2,0", "03", -1},
		{" GPU-7be2 , 1", "01", -1},
		{"gpu-7BE2D1AA-90c1-4d8e-a9a0-70f1c2d3e4f5", "0", -1},
		{"MIG-00000001-0000", "3", -1},
		{"MIG-GPU-7be2d1aa-90c1-4d8e-a9a0-70f1c2d3e4f5/1/0", "0", -1},
		{"2,MIG-00000001-0000-0000-0000-000000000001", "3", -1},
		{"", "", -1},
		{"-1", "", -1},
		{"NoDevFiles", "", 0},
		{"0,3", "", 2}, /* the AMD GPU has no number there */
		{"0,x", "", 2},
		{"GPU-0000", "", 0}, /* two */
		{"MIG-9", "", 0},
	};

	(void)state;
	smi_bench_init(&bench);
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		size_t chosen[SMI_GPUS];
		const char *bad = NULL;
		int n = wtl_gpu_choose_visible(bench.gpus, SMI_GPUS, cases[i].list, chosen, &bad);

		if (cases[i].bad >= 0) {
			assert_int_equal(n, -ENOENT);
			assert_ptr_equal(bad, cases[i].list + cases[i].bad);
			continue;
		}
		assert_int_equal(n, strlen(cases[i].places));
		for (int k = 0; k < n; k++)
			assert_int_equal(chosen[k], cases[i].places[k] - '0');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choose),
		cmocka_unit_test(test_choose_none),
		cmocka_unit_test(test_choose_visible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
