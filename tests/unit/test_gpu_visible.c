/* SPDX-License-Identifier: MIT */
/* Which GPUs a list as in CUDA_VISIBLE_DEVICES chooses, and what becomes of the others. */
#include <string.h>

#include "gpu/visible.h"
#include "reading_bench.h"
#include "sensors/gpu_info.h"
#include "unit.h"

/* ---- The list ---- */

#define A "GPU-aaaa0000-0000-4000-8000-000000000000"
#define B "GPU-aaaa1111-0000-4000-8000-000000000000"
#define M "MIG-mmmm0000-0000-4000-8000-000000000000"
#define N "MIG-mmmm1111-0000-4000-8000-000000000000"

/* Of three GPUs, where the third has two MIG devices; as letters, and what ended the list. */
static void check_list(const char *list, const char *expected, const char *end)
{
	static struct wtl_gpu_name at[] = {{0, A}, {1, B}, {2, "GPU-cccc"}, {2, M}, {2, N}};
	const struct wtl_gpu_names names = {.at = at, .n = UNIT_COUNT(at)};
	enum wtl_gpu_visible visible[3];
	const char *bad = wtl_gpu_list_apply(list, &names, visible, 3);
	char letters[4] = "";

	for (size_t i = 0; i < 3; i++)
		letters[i] = "-vm?"[visible[i]];
	if (strcmp(letters, expected) != 0)
		fail_msg("'%s' chooses %s, not %s", list, letters, expected);
	if (end)
		assert_string_equal(bad, end);
	else
		assert_null(bad);
}

static void test_lists(void **state)
{
	(void)state;
	check_list("0", "v--", NULL);
	check_list("2,0", "v-v", NULL);
	check_list(" 1 , 1,1", "-v-", NULL);
	check_list("", "---", NULL);
	check_list(" ", "---", NULL);
	check_list("-1", "---", NULL);
	check_list("-1,0", "---", NULL);
	check_list("0,-1,1", "v--", NULL);
	check_list("0,,1", "v--", NULL);
	check_list("1,", "-v-", NULL);
	check_list(A "," B, "vv-", NULL);
	check_list("GPU-aaaa1", "-v-", NULL);
	check_list("gpu-AAAA1", "-v-", NULL);
	check_list("GPU-cccc,0", "v-v", NULL);
	check_list(M, "--m", NULL);
	check_list("MIG-mmmm1,MIG-mmmm0", "--m", NULL);
	check_list("2," M, "--v", NULL);
	check_list(M ",2", "--v", NULL);
	check_list("MIG-" A "/1/0", "m--", NULL);
	check_list("MIG-GPU-aaaa1/7/0,2", "-mv", NULL);
}

static void test_lists_that_end(void **state)
{
	(void)state;
	check_list("3", "---", "3");
	check_list("0,3,1", "v--", "3,1");
	check_list("0, x,1", "v--", "x,1");
	check_list("-2", "---", "-2");
	check_list("-1x", "---", "-1x");
	check_list("0x1", "---", "0x1");
	check_list("18446744073709551616", "---", "18446744073709551616");
	check_list("GPU-aaaa", "---", "GPU-aaaa"); /* which of both? */
	check_list("GPU", "---", "GPU");
	check_list("1,GPU-b,0", "-v-", "GPU-b,0");
	check_list(A "0", "---", A "0");
	check_list("MIG-mmmm", "---", "MIG-mmmm");
	check_list("MIG-GPU-b/1/0", "---", "MIG-GPU-b/1/0");
	check_list("aaaa0000", "---", "aaaa0000");
	check_list("NoDevFiles", "---", "NoDevFiles"); /* Slurm's */
}

/* A GPU that sleeps is not asked for its UUID. */
static void test_nameless(void **state)
{
	static struct wtl_gpu_name at[] = {{1, B}};
	const struct wtl_gpu_names names = {.at = at, .n = 1};
	enum wtl_gpu_visible visible[3];

	(void)state;
	assert_null(wtl_gpu_list_apply(A ",1", &names, visible, 3));
	assert_int_equal(visible[0], WTL_GPU_VISIBLE_PERHAPS);
	assert_int_equal(visible[1], WTL_GPU_VISIBLE);
	assert_int_equal(visible[2], WTL_GPU_VISIBLE_PERHAPS);
	assert_null(wtl_gpu_list_apply(A ",0," B, &names, visible, 3));
	assert_int_equal(visible[0], WTL_GPU_VISIBLE);
	assert_null(wtl_gpu_list_apply("0," B, &names, visible, 3));
	assert_int_equal(visible[2], WTL_GPU_HIDDEN);
}

/* ---- The sensors ---- */

static void start(struct nv *nv, const char *script, const char *gpus)
{
	nv_empty(nv, script);
	nv->gpus = gpus;
	assert_int_equal(nv_open(nv, nv_library()), 0);
}

static void test_left_out(void **state)
{
	struct nv nv;

	(void)state;
	start(&nv, "eight-gpus", "5,2");
	nv_check_domains(&nv, "gpu-2 gpu-2 gpu-5 gpu-5");
	assert_string_equal(nv.said, "");
	assert_int_equal(nv.bench.catalog.n_misses, 0);
	nv_at(&nv, 1);
	nv_check_ok(&nv.bench.readings[0], 2000000 + 80000);
	nv_check_ok(&nv.bench.readings[2], 5000000 + 110000);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(nv.touched(i) > 0, i == 2 || i == 5);
	/* The next GPU of another maker keeps its number as well. */
	assert_int_equal(wtl_catalog_count(&nv.bench.catalog, WATTLE_KIND_GPU), 8);
	nv_done(&nv);

	start(&nv, "eight-gpus", "GPU-80000000-0000-4000-8000-000000000003,8,1");
	nv_check_domains(&nv, "gpu-3 gpu-3");
	assert_string_equal(nv.said,
			    "0 the list of GPUs ends before '8', which names no GPU here\n");
	nv_done(&nv);

	start(&nv, "h100-mig", "MIG-00000001");
	nv_check_domains(&nv, "gpu-0 gpu-0");
	assert_string_equal(nv.said, "1 gpu-0 is measured as a whole: its MIG devices have no "
				     "counters of their own\n");
	nv_done(&nv);
}

static void test_none(void **state)
{
	static const struct {
		const char *list, *said;
	} none[] = {
		{"", ""},
		{"-1", ""},
		{"NoDevFiles",
		 "0 the list of GPUs ends before 'NoDevFiles', which names no GPU here\n"},
	};
	struct nv nv;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(none); i++) {
		memset(&nv, 0, sizeof(nv));
		bench_root(&nv.bench, "nvidia-server");
		nv_prepare(&nv, "two");
		nv.gpus = none[i].list;
		assert_int_equal(nv_open(&nv, nv_library()), 0);
		nv_check_domains(&nv, "");
		assert_int_equal(nv.bench.catalog.n_misses, 0);
		assert_int_equal(wtl_catalog_count(&nv.bench.catalog, WATTLE_KIND_GPU), 2);
		assert_int_equal(nv.lib_opens, 0);
		assert_string_equal(nv.said, none[i].said);
		nv_at(&nv, 1);
		nv_done(&nv);
	}
}

/* What is wrong with others is nobody's business; what is wrong with the chosen one still is. */
static void test_misses(void **state)
{
	struct nv nv;

	(void)state;
	memset(&nv, 0, sizeof(nv));
	bench_root(&nv.bench, "nvidia-server");
	nv_prepare(&nv, "not-loaded");
	nv.gpus = "1";
	assert_int_equal(nv_open(&nv, nv_library()), 0);
	assert_int_equal(nv.bench.catalog.n_misses, 1);
	nv_check_miss(&nv, "gpu-1", WATTLE_STATUS_FAILED, "0000:ca:00.0", "modprobe");
	nv_done(&nv);
}

static void test_asleep(void **state)
{
	struct nv nv;

	(void)state;
	memset(&nv, 0, sizeof(nv));
	bench_root(&nv.bench, "nvidia-laptop");
	nv_prepare(&nv, "asleep");
	nv.gpus = "GPU-51ee9000-0000-4000-8000-000000000000";
	assert_int_equal(nv_open(&nv, nv_library()), 0);
	nv_check_domains(&nv, "gpu-0");
	assert_int_equal(nv.lib_opens, 0);
	assert_string_equal(nv.said,
			    "1 gpu-0 is measured: its UUID is not known, and may be one of those "
			    "in the list of GPUs\n");
	nv_done(&nv);

	memset(&nv, 0, sizeof(nv));
	bench_root(&nv.bench, "nvidia-laptop");
	nv_prepare(&nv, "asleep");
	nv.gpus = "1";
	assert_int_equal(nv_open(&nv, nv_library()), 0);
	nv_check_domains(&nv, "");
	assert_int_equal(nv.bench.catalog.n_misses, 0);
	nv_done(&nv);
}

/* ---- What reads GPUs beside their energy ---- */

static void read_left_out(const char *script, const char *left_out)
{
	struct reading reading;
	const struct wtl_gpu *gpus;
	size_t n;

	nv_empty(&reading.nv, script);
	for (unsigned i = 0; left_out[i]; i++)
		if (left_out[i] == 'x')
			wtl_gpu_set_add(&reading.nv.bench.catalog.left_out, i);
	reading_open(&reading, nv_library());
	reading_at(&reading, 1, WTL_GPU_READ_NUMBERS | WTL_GPU_READ_PROCESSES);
	gpus = wtl_gpu_reader_gpus(reading.reader, &n);
	assert_int_equal(n, strlen(left_out));
	for (unsigned i = 0; i < n; i++) {
		bool is_left_out = left_out[i] == 'x';

		assert_int_equal(gpus[i].is_left_out, is_left_out);
		assert_int_equal(reading.nv.touched(i) == 0, is_left_out);
		assert_int_equal(gpus[i].uuid[0] == '\0', is_left_out);
		assert_int_equal(gpus[i].domain[4], '0' + i);
	}
	reading_done(&reading);
}

static void test_reader(void **state)
{
	(void)state;
	read_left_out("eight-gpus", "xx.xx.xx");
	read_left_out("eight-gpus", "xxxxxxx.");
	read_left_out("two", "..");
}

/* Nothing is loaded for GPUs that the bus has, and nobody wants. */
static void test_reader_of_none(void **state)
{
	struct reading reading;
	size_t n;

	(void)state;
	memset(&reading, 0, sizeof(reading));
	bench_root(&reading.nv.bench, "nvidia-server");
	nv_prepare(&reading.nv, "two");
	wtl_gpu_set_add(&reading.nv.bench.catalog.left_out, 0);
	wtl_gpu_set_add(&reading.nv.bench.catalog.left_out, 1);
	reading_open(&reading, nv_library());
	wtl_gpu_reader_read(reading.reader, WTL_GPU_READ_NUMBERS);
	wtl_gpu_reader_gpus(reading.reader, &n);
	assert_int_equal(n, 2);
	assert_int_equal(reading.nv.lib_opens, 0);
	reading_done(&reading);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),	       cmocka_unit_test(test_lists_that_end),
		cmocka_unit_test(test_nameless),       cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_none),	       cmocka_unit_test(test_misses),
		cmocka_unit_test(test_asleep),	       cmocka_unit_test(test_reader),
		cmocka_unit_test(test_reader_of_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
