/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "energy/domain.h"

struct fixture {
	struct wtl_catalog catalog;
	struct wtl_domain *domains;
	size_t n;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	wtl_catalog_init(&f->catalog);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	free(f->domains);
	wtl_catalog_done(&f->catalog);
	free(f);
	return 0;
}

static void source(struct fixture *f, const char *name, unsigned rank)
{
	f->catalog.source = name;
	f->catalog.rank = rank;
}

/* What most domains are: counted when they lie in nothing. */
static struct wtl_channel channel(const char *domain, const char *inside, enum wattle_kind kind)
{
	struct wtl_channel c = {.kind = kind,
				.in_total = !inside[0],
				.quantity = WTL_QUANTITY_ENERGY,
				.method = WATTLE_METHOD_COUNTER,
				.unit = WTL_UNIT_MICRO};

	snprintf(c.domain, sizeof(c.domain), "%s", domain);
	snprintf(c.inside, sizeof(c.inside), "%s", inside);
	return c;
}

static int add(struct fixture *f, const struct wtl_channel *c)
{
	int i = wtl_catalog_add(&f->catalog, c);

	assert_true(i >= 0);
	return i;
}

static int counter(struct fixture *f, const char *domain, const char *inside, enum wattle_kind kind)
{
	struct wtl_channel c = channel(domain, inside, kind);

	return add(f, &c);
}

static int power(struct fixture *f, const char *domain, enum wattle_kind kind)
{
	struct wtl_channel c = channel(domain, "", kind);

	c.quantity = WTL_QUANTITY_POWER;
	c.method = WATTLE_METHOD_INTEGRATED;
	return add(f, &c);
}

static int model(struct fixture *f, const char *domain, enum wattle_kind kind)
{
	struct wtl_channel c = channel(domain, "", kind);

	c.method = WATTLE_METHOD_MODELLED;
	return add(f, &c);
}

static void miss(struct fixture *f, const char *domain, enum wattle_kind kind, const char *reason)
{
	assert_int_equal(wtl_catalog_missf(&f->catalog, kind, domain, WATTLE_STATUS_DENIED, NULL,
					   "%s", reason),
			 0);
}

static void resolve(struct fixture *f)
{
	free(f->domains);
	f->domains = NULL;
	assert_int_equal(wtl_domains_resolve(&f->catalog, &f->domains, &f->n), 0);
}

static const struct wtl_domain *get(const struct fixture *f, const char *name)
{
	size_t i = 0;

	while (i < f->n && strcmp(f->domains[i].name, name) != 0)
		i++;
	if (i == f->n)
		fail_msg("there is no domain %s", name);
	return &f->domains[i];
}

static void expect_names(const struct fixture *f, const char *names)
{
	char all[1024] = "";

	for (size_t i = 0; i < f->n; i++) {
		strncat(all, i ? " " : "", sizeof(all) - strlen(all) - 1);
		strncat(all, f->domains[i].name, sizeof(all) - strlen(all) - 1);
	}
	assert_string_equal(all, names);
}

static void test_nothing(void **state)
{
	struct wtl_domain other, *domains = &other;
	struct fixture *f = *state;
	size_t n = 7;

	assert_int_equal(wtl_domains_resolve(&f->catalog, &domains, &n), 0);
	assert_null(domains);
	assert_int_equal(n, 0);
	/* A source without a domain is no domain either. */
	miss(f, NULL, WATTLE_KIND_CPU, "not there");
	resolve(f);
	assert_int_equal(f->n, 0);
}

static void test_rank_decides(void **state)
{
	struct fixture *f = *state;
	int best;

	source(f, "second", 1);
	counter(f, "package-0", "", WATTLE_KIND_CPU);
	source(f, "best", 0);
	best = counter(f, "package-0", "", WATTLE_KIND_CPU);
	source(f, "third", 2);
	counter(f, "package-0", "", WATTLE_KIND_CPU);
	resolve(f);
	assert_int_equal(f->n, 1);
	assert_int_equal(f->domains[0].primary, best);
	assert_int_equal(f->domains[0].check, 0); /* the second, not the third */
	assert_null(f->domains[0].miss);
}

static void test_check_in_any_order(void **state)
{
	static const unsigned orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
					      {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

	for (size_t k = 0; k < UNIT_COUNT(orders); k++) {
		struct fixture *f = *state;

		wtl_catalog_done(&f->catalog);
		for (size_t i = 0; i < 3; i++) {
			source(f, "s", orders[k][i]);
			counter(f, "package-0", "", WATTLE_KIND_CPU);
		}
		resolve(f);
		assert_int_equal(orders[k][f->domains[0].primary], 0);
		assert_int_equal(orders[k][f->domains[0].check], 1);
	}
}

/* Of one source the counter is the figure, the power confirms it; the better source wins even so. */
static void test_counter_before_power(void **state)
{
	struct fixture *f = *state;
	int p, e;

	source(f, "nvml", 0);
	p = power(f, "gpu-0", WATTLE_KIND_GPU);
	e = counter(f, "gpu-0", "", WATTLE_KIND_GPU);
	resolve(f);
	assert_int_equal(get(f, "gpu-0")->primary, e);
	assert_int_equal(get(f, "gpu-0")->check, p);

	source(f, "better", 0);
	power(f, "gpu-1", WATTLE_KIND_GPU);
	source(f, "worse", 1);
	e = counter(f, "gpu-1", "", WATTLE_KIND_GPU);
	resolve(f);
	assert_int_not_equal(get(f, "gpu-1")->primary, e);
	assert_int_equal(get(f, "gpu-1")->check, e);
}

static void test_model_is_no_check(void **state)
{
	struct fixture *f = *state;
	int measured;

	source(f, "model", 9);
	model(f, "package-0", WATTLE_KIND_CPU);
	model(f, "dram-0", WATTLE_KIND_DRAM);
	source(f, "rapl", 0);
	measured = counter(f, "package-0", "", WATTLE_KIND_CPU);
	resolve(f);
	assert_int_equal(get(f, "package-0")->primary, measured);
	assert_int_equal(get(f, "package-0")->check, -1);
	assert_true(get(f, "dram-0")->primary >= 0);
	assert_int_equal(get(f, "dram-0")->check, -1);
}

/* Of two models the better one is taken, and neither confirms the other. */
static void test_two_models(void **state)
{
	struct fixture *f = *state;
	int best;

	source(f, "model", 9);
	model(f, "package-0", WATTLE_KIND_CPU);
	source(f, "table", 8);
	best = model(f, "package-0", WATTLE_KIND_CPU);
	resolve(f);
	assert_int_equal(f->domains[0].primary, best);
	assert_int_equal(f->domains[0].check, -1);
}

static void test_misses(void **state)
{
	struct fixture *f = *state;

	source(f, "perf", 0);
	miss(f, NULL, WATTLE_KIND_CPU, "perf is shut");
	miss(f, "package-0", WATTLE_KIND_CPU, "its own, the first");
	source(f, "powercap", 1);
	miss(f, "package-0", WATTLE_KIND_CPU, "its own, the second");
	miss(f, NULL, WATTLE_KIND_CPU, "powercap is masked");
	miss(f, "psys-0", WATTLE_KIND_PLATFORM, "unwired");
	source(f, "model", 9);
	model(f, "package-1", WATTLE_KIND_CPU);
	counter(f, "gpu-0", "", WATTLE_KIND_GPU);
	resolve(f);
	expect_names(f, "package-0 package-1 psys-0 gpu-0");
	assert_int_equal(get(f, "package-0")->primary, -1);
	assert_int_equal(get(f, "package-0")->check, -1);
	assert_int_equal(get(f, "package-0")->kind, WATTLE_KIND_CPU);
	assert_true(get(f, "package-0")->in_total);
	assert_false(get(f, "psys-0")->in_total);
	assert_string_equal(get(f, "package-0")->miss->reason, "its own, the first");
	assert_string_equal(get(f, "package-0")->miss->source, "perf");
	/* A model says why there is nothing better: the last of its kind. */
	assert_string_equal(get(f, "package-1")->miss->reason, "powercap is masked");
	assert_null(get(f, "gpu-0")->miss);
}

/* A domain that one source cannot read and another can is simply read. */
static void test_miss_of_a_measured_domain(void **state)
{
	struct fixture *f = *state;

	source(f, "perf", 0);
	miss(f, "package-0", WATTLE_KIND_CPU, "denied");
	source(f, "powercap", 1);
	counter(f, "package-0", "", WATTLE_KIND_CPU);
	resolve(f);
	assert_int_equal(f->n, 1);
	assert_int_equal(f->domains[0].primary, 0);
	assert_null(f->domains[0].miss);
}

static void test_totals(void **state)
{
	struct fixture *f = *state;
	struct wtl_channel c = channel("core-0", "package-0", WATTLE_KIND_CORE);

	/* A careless source would count the core as well, and what lies two deep. */
	c.in_total = true;
	add(f, &c);
	c = channel("core-0-half", "core-0", WATTLE_KIND_CORE);
	c.in_total = true;
	add(f, &c);
	counter(f, "package-0", "", WATTLE_KIND_CPU);
	/* Around these there is nothing that is counted. */
	c = channel("psys-0", "", WATTLE_KIND_PLATFORM);
	c.in_total = false;
	add(f, &c);
	c = channel("dram-0", "psys-0", WATTLE_KIND_DRAM);
	c.in_total = true;
	add(f, &c);
	miss(f, "gpu-0", WATTLE_KIND_GPU, "asleep");
	c = channel("gpu-0-memory", "gpu-0", WATTLE_KIND_GPU_MEMORY);
	c.in_total = true;
	add(f, &c);
	resolve(f);
	assert_true(get(f, "package-0")->in_total);
	assert_false(get(f, "core-0")->in_total);
	assert_false(get(f, "core-0-half")->in_total);
	assert_false(get(f, "psys-0")->in_total);
	assert_true(get(f, "dram-0")->in_total);
	assert_string_equal(get(f, "dram-0")->inside, "psys-0");
	/* The GPU counts but has no figure: its memory is all there is of it. */
	assert_true(get(f, "gpu-0-memory")->in_total);
}

/* Every channel can be the figure of what counts, also the first one. */
static void test_first_channel_counts(void **state)
{
	struct fixture *f = *state;
	struct wtl_channel c = channel("core-0", "package-0", WATTLE_KIND_CORE);

	counter(f, "package-0", "", WATTLE_KIND_CPU);
	c.in_total = true;
	add(f, &c);
	resolve(f);
	assert_true(get(f, "package-0")->in_total);
	assert_false(get(f, "core-0")->in_total);
}

static void test_unknown_container(void **state)
{
	struct fixture *f = *state;
	struct wtl_channel c = channel("core-0", "nowhere", WATTLE_KIND_CORE);

	c.in_total = true;
	add(f, &c);
	resolve(f);
	assert_int_equal(f->n, 1);
	assert_string_equal(f->domains[0].inside, "");
	assert_true(f->domains[0].in_total);
}

static void test_inside_itself(void **state)
{
	struct fixture *f = *state;

	counter(f, "package-0", "package-0", WATTLE_KIND_CPU);
	counter(f, "package-1", "", WATTLE_KIND_CPU);
	resolve(f);
	expect_names(f, "package-0 package-1");
	assert_string_equal(get(f, "package-0")->inside, "");
}

/* However they are tied together, each domain comes out once, and what hangs on the knot stays on it:
 * else it would be counted twice. */
static void test_cycles(void **state)
{
	struct fixture *f = *state;
	struct wtl_channel c = channel("x-leaf", "b", WATTLE_KIND_CPU);

	c.in_total = true;
	add(f, &c);
	c = channel("a", "c", WATTLE_KIND_CPU);
	c.in_total = true;
	add(f, &c);
	c = channel("b", "a", WATTLE_KIND_CPU);
	add(f, &c);
	c = channel("c", "b", WATTLE_KIND_CPU);
	add(f, &c);
	counter(f, "other", "", WATTLE_KIND_CPU);
	resolve(f);
	expect_names(f, "a b c x-leaf other");
	assert_string_equal(get(f, "a")->inside, "");
	assert_string_equal(get(f, "b")->inside, "a");
	assert_string_equal(get(f, "c")->inside, "b");
	assert_string_equal(get(f, "x-leaf")->inside, "b");
	assert_true(get(f, "a")->in_total);
	assert_false(get(f, "x-leaf")->in_total);
}

static void test_order(void **state)
{
	struct fixture *f = *state;

	counter(f, "gpu-1", "", WATTLE_KIND_GPU);
	counter(f, "dram-1", "", WATTLE_KIND_DRAM);
	counter(f, "psys-0", "", WATTLE_KIND_PLATFORM);
	counter(f, "uncore-0", "package-0", WATTLE_KIND_UNCORE);
	counter(f, "core-10", "package-10", WATTLE_KIND_CORE);
	counter(f, "package-10", "", WATTLE_KIND_CPU);
	counter(f, "package-2", "", WATTLE_KIND_CPU);
	counter(f, "core-0", "package-0", WATTLE_KIND_CORE);
	counter(f, "gpu-0-memory", "gpu-0", WATTLE_KIND_GPU_MEMORY);
	counter(f, "gpu-0", "", WATTLE_KIND_GPU);
	counter(f, "package-0", "", WATTLE_KIND_CPU);
	miss(f, "package-1", WATTLE_KIND_CPU, "gone");
	miss(f, "dram-0", WATTLE_KIND_DRAM, "gone");
	resolve(f);
	expect_names(f, "package-0 core-0 uncore-0 package-1 package-2 package-10 core-10 dram-0 "
			"dram-1 psys-0 gpu-0 gpu-0-memory gpu-1");
}

/* As many domains as there can be, each lying in the one before: nothing overflows or is lost. */
static void test_many(void **state)
{
	struct fixture *f = *state;
	char name[WTL_NAME_SIZE], inside[WTL_NAME_SIZE] = "";

	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "d-%d", i);
		counter(f, name, inside, WATTLE_KIND_BOARD);
		snprintf(inside, sizeof(inside), "%s", name);
		snprintf(name, sizeof(name), "m-%d", i);
		miss(f, name, WATTLE_KIND_BOARD, "gone");
	}
	resolve(f);
	assert_int_equal(f->n, 600);
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "d-%d", i);
		assert_string_equal(f->domains[i].name, name);
		assert_int_equal(f->domains[i].in_total, i == 0);
		snprintf(name, sizeof(name), "m-%d", i);
		assert_string_equal(f->domains[300 + i].name, name);
	}
}

static void test_of_a_gpu(void **state)
{
	static const struct {
		const char *name, *gpu;
		bool is_of;
	} cases[] = {
		{"gpu-0", "gpu-0", true},
		{"gpu-0-memory", "gpu-0", true},
		{"gpu-0-module", "gpu-0", true},
		{"gpu-10", "gpu-1", false},
		{"gpu-1", "gpu-10", false},
		{"gpu-1-memory", "gpu-10", false},
		{"package-0", "gpu-0", false},
		{"gpu-0", "", false},
		{"", "gpu-0", false},
		{"", "", false},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++)
		assert_int_equal(wtl_domain_is_of_gpu(cases[i].name, cases[i].gpu), cases[i].is_of);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nothing),
		TEST(test_rank_decides),
		TEST(test_check_in_any_order),
		TEST(test_counter_before_power),
		TEST(test_model_is_no_check),
		TEST(test_two_models),
		TEST(test_misses),
		TEST(test_miss_of_a_measured_domain),
		TEST(test_totals),
		TEST(test_first_channel_counts),
		TEST(test_unknown_container),
		TEST(test_inside_itself),
		TEST(test_cycles),
		TEST(test_order),
		TEST(test_many),
		cmocka_unit_test(test_of_a_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
