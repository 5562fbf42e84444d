/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "energy/catalog.h"

static struct wtl_channel channel(const char *domain, enum wattle_kind kind)
{
	struct wtl_channel c = {.kind = kind, .unit = WTL_UNIT_MICRO};

	snprintf(c.domain, sizeof(c.domain), "%s", domain);
	return c;
}

static int add(struct wtl_catalog *catalog, const char *domain, enum wattle_kind kind)
{
	struct wtl_channel c = channel(domain, kind);

	return wtl_catalog_add(catalog, &c);
}

static void source(struct wtl_catalog *catalog, const char *name, unsigned rank)
{
	catalog->source = name;
	catalog->rank = rank;
}

static void test_add(void **state)
{
	struct wtl_catalog catalog;

	(void)state;
	wtl_catalog_init(&catalog);
	source(&catalog, "one", 3);
	assert_int_equal(add(&catalog, "package-0", WATTLE_KIND_CPU), 0);
	assert_int_equal(add(&catalog, "package-1", WATTLE_KIND_CPU), 1);
	source(&catalog, "two", 4);
	assert_int_equal(add(&catalog, "package-0", WATTLE_KIND_CPU), 2);
	assert_int_equal(catalog.n_channels, 3);
	assert_string_equal(catalog.channels[1].domain, "package-1");
	assert_string_equal(catalog.channels[1].source, "one");
	assert_int_equal(catalog.channels[1].rank, 3);
	assert_string_equal(catalog.channels[2].source, "two");
	assert_int_equal(catalog.channels[2].rank, 4);
	wtl_catalog_done(&catalog);
	assert_int_equal(catalog.n_channels, 0);
	assert_null(catalog.channels);
	wtl_catalog_done(&catalog);
	wtl_catalog_done(NULL);
}

static void test_refused(void **state)
{
	struct wtl_channel nameless = channel("", WATTLE_KIND_CPU);
	struct wtl_channel no_num = channel("a", WATTLE_KIND_CPU), no_den = no_num;
	struct wtl_catalog catalog;

	(void)state;
	no_num.unit.num = 0;
	no_den.unit.den = 0;
	wtl_catalog_init(&catalog);
	source(&catalog, "one", 0);
	assert_int_equal(wtl_catalog_add(&catalog, &nameless), -EINVAL);
	assert_int_equal(wtl_catalog_add(&catalog, &no_num), -EINVAL);
	assert_int_equal(wtl_catalog_add(&catalog, &no_den), -EINVAL);
	assert_int_equal(catalog.n_channels, 0);
	wtl_catalog_done(&catalog);
}

/* One source may have the counter and the power of a domain, but neither twice. */
static void test_repeated(void **state)
{
	struct wtl_channel energy = channel("gpu-0", WATTLE_KIND_GPU), power = energy;
	struct wtl_catalog catalog;

	(void)state;
	power.quantity = WTL_QUANTITY_POWER;
	wtl_catalog_init(&catalog);
	source(&catalog, "one", 0);
	assert_int_equal(wtl_catalog_add(&catalog, &energy), 0);
	assert_int_equal(wtl_catalog_add(&catalog, &power), 1);
	assert_int_equal(wtl_catalog_add(&catalog, &energy), -EEXIST);
	assert_int_equal(wtl_catalog_add(&catalog, &power), -EEXIST);
	source(&catalog, "two", 1);
	assert_int_equal(wtl_catalog_add(&catalog, &energy), 2);
	assert_int_equal(wtl_catalog_add(&catalog, &energy), -EEXIST);
	wtl_catalog_done(&catalog);
}

/* Every entry survives each growth, and there is an end to it. */
static void test_full(void **state)
{
	struct wtl_miss miss = {.domain = "x"};
	struct wtl_catalog catalog;
	char name[WTL_NAME_SIZE];

	(void)state;
	wtl_catalog_init(&catalog);
	source(&catalog, "one", 0);
	for (int i = 0; i < WTL_CATALOG_MAX; i++) {
		snprintf(name, sizeof(name), "gpu-%d", i);
		assert_int_equal(add(&catalog, name, WATTLE_KIND_GPU), i);
		snprintf(miss.reason, sizeof(miss.reason), "%d", i);
		assert_int_equal(wtl_catalog_miss(&catalog, &miss), 0);
	}
	assert_int_equal(add(&catalog, "one-more", WATTLE_KIND_GPU), -E2BIG);
	assert_int_equal(wtl_catalog_miss(&catalog, &miss), -E2BIG);
	assert_int_equal(catalog.n_channels, WTL_CATALOG_MAX);
	assert_int_equal(catalog.n_misses, WTL_CATALOG_MAX);
	for (int i = 0; i < WTL_CATALOG_MAX; i++) {
		snprintf(name, sizeof(name), "gpu-%d", i);
		assert_string_equal(catalog.channels[i].domain, name);
		assert_string_equal(catalog.misses[i].reason, name + 4);
	}
	wtl_catalog_done(&catalog);
}

static void test_miss(void **state)
{
	struct wtl_miss miss = {.domain = "package-0",
				.kind = WATTLE_KIND_CPU,
				.status = WATTLE_STATUS_DENIED,
				.source = "someone else",
				.reason = "no"};
	struct wtl_catalog catalog;

	(void)state;
	wtl_catalog_init(&catalog);
	source(&catalog, "one", 0);
	assert_int_equal(wtl_catalog_miss(&catalog, &miss), 0);
	assert_string_equal(catalog.misses[0].source, "one");
	assert_string_equal(catalog.misses[0].reason, "no");
	assert_int_equal(catalog.misses[0].status, WATTLE_STATUS_DENIED);
	wtl_catalog_done(&catalog);
}

static void test_missf(void **state)
{
	struct wtl_catalog catalog;
	char longer[400];

	(void)state;
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	wtl_catalog_init(&catalog);
	source(&catalog, "one", 0);
	assert_int_equal(wtl_catalog_missf(&catalog, WATTLE_KIND_DRAM, "dram-0",
					   WATTLE_STATUS_DENIED, "sudo", "%s is %d", "it", 7),
			 0);
	assert_string_equal(catalog.misses[0].domain, "dram-0");
	assert_string_equal(catalog.misses[0].reason, "it is 7");
	assert_string_equal(catalog.misses[0].remedy, "sudo");
	/* Nothing given is empty; what is too long is cut. */
	assert_int_equal(wtl_catalog_missf(&catalog, WATTLE_KIND_CPU, NULL, WATTLE_STATUS_ABSENT,
					   NULL, "%s", longer),
			 0);
	assert_string_equal(catalog.misses[1].domain, "");
	assert_string_equal(catalog.misses[1].remedy, "");
	assert_int_equal(strlen(catalog.misses[1].reason), sizeof(catalog.misses[1].reason) - 1);
	assert_int_equal(wtl_catalog_missf(&catalog, WATTLE_KIND_CPU, longer, WATTLE_STATUS_ABSENT,
					   longer, "no"),
			 0);
	assert_int_equal(strlen(catalog.misses[2].domain), WTL_NAME_SIZE - 1);
	assert_int_equal(strlen(catalog.misses[2].remedy), sizeof(catalog.misses[2].remedy) - 1);
	wtl_catalog_done(&catalog);
}

/* The host's total is packages, DRAM, GPUs and systems on a chip; all else is a second opinion. */
static void test_missf_in_total(void **state)
{
	struct wtl_catalog catalog;

	(void)state;
	wtl_catalog_init(&catalog);
	source(&catalog, "one", 0);
	for (int kind = 0; kind < WATTLE_KINDS; kind++) {
		int counts = kind == WATTLE_KIND_CPU || kind == WATTLE_KIND_DRAM ||
			     kind == WATTLE_KIND_GPU || kind == WATTLE_KIND_SOC;

		wtl_catalog_missf(&catalog, (enum wattle_kind)kind, "x", WATTLE_STATUS_ABSENT, NULL,
				  "no");
		assert_int_equal(catalog.misses[kind].in_total, counts);
	}
	wtl_catalog_done(&catalog);
}

static void test_has_and_count(void **state)
{
	struct wtl_catalog catalog;

	(void)state;
	wtl_catalog_init(&catalog);
	assert_false(wtl_catalog_has(&catalog, WATTLE_KIND_GPU));
	assert_int_equal(wtl_catalog_count(&catalog, WATTLE_KIND_GPU), 0);
	source(&catalog, "one", 0);
	add(&catalog, "gpu-0", WATTLE_KIND_GPU);
	add(&catalog, "package-0", WATTLE_KIND_CPU);
	source(&catalog, "two", 1);
	add(&catalog, "gpu-0", WATTLE_KIND_GPU);
	add(&catalog, "gpu-1", WATTLE_KIND_GPU);
	assert_true(wtl_catalog_has(&catalog, WATTLE_KIND_GPU));
	assert_false(wtl_catalog_has(&catalog, WATTLE_KIND_DRAM));
	assert_int_equal(wtl_catalog_count(&catalog, WATTLE_KIND_GPU), 2);
	/* Misses: one of a domain with a channel, one twice, one of no domain, one of another kind, which comes first, too. */
	wtl_catalog_missf(&catalog, WATTLE_KIND_DRAM, "dram-0", WATTLE_STATUS_GONE, NULL, "no");
	for (int i = 0; i < 2; i++) {
		wtl_catalog_missf(&catalog, WATTLE_KIND_GPU, "gpu-1", WATTLE_STATUS_GONE, NULL,
				  "no");
		wtl_catalog_missf(&catalog, WATTLE_KIND_GPU, "gpu-2", WATTLE_STATUS_GONE, NULL,
				  "no");
		wtl_catalog_missf(&catalog, WATTLE_KIND_GPU, NULL, WATTLE_STATUS_ABSENT, NULL,
				  "no");
		wtl_catalog_missf(&catalog, WATTLE_KIND_DRAM, "dram-0", WATTLE_STATUS_GONE, NULL,
				  "no");
	}
	assert_int_equal(wtl_catalog_count(&catalog, WATTLE_KIND_GPU), 3);
	assert_int_equal(wtl_catalog_count(&catalog, WATTLE_KIND_DRAM), 1);
	assert_int_equal(wtl_catalog_count(&catalog, WATTLE_KIND_CPU), 1);
	assert_false(wtl_catalog_has(&catalog, WATTLE_KIND_DRAM));
	wtl_catalog_done(&catalog);
}

/* Each number on its own, up to the last that there is room for. */
static void test_gpu_set(void **state)
{
	enum { NUMBERS = 256 };

	(void)state;
	for (unsigned number = 0; number <= NUMBERS; number++) {
		struct wtl_catalog catalog;

		wtl_catalog_init(&catalog);
		wtl_gpu_set_add(&catalog.left_out, number);
		for (unsigned other = 0; other <= NUMBERS; other++)
			assert_int_equal(wtl_gpu_set_has(&catalog.left_out, other),
					 other == number && number < NUMBERS);
		assert_int_equal(wtl_catalog_count(&catalog, WATTLE_KIND_GPU), number < NUMBERS);
		assert_int_equal(wtl_catalog_count(&catalog, WATTLE_KIND_CPU), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_repeated),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_miss),
		cmocka_unit_test(test_missf),
		cmocka_unit_test(test_missf_in_total),
		cmocka_unit_test(test_has_and_count),
		cmocka_unit_test(test_gpu_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
