/* SPDX-License-Identifier: MIT */
/* The hash against a model of it: an array with a value for each key. */
#include "base/hash.h"

#include <errno.h>
#include <string.h>

#include "unit.h"

enum { KEYS = 300, STEPS = 200000 };

struct model {
	uint32_t values[KEYS]; /* UINT32_MAX: the key is not there */
	uint32_t keys[KEYS];   /* by value: whose it is */
	uint32_t sums;	       /* so many different hashes there are */
	size_t n;
	uint64_t random;
};

/* Sebastiano Vigna's splitmix64. */
static uint32_t random_below(struct model *model, uint32_t n)
{
	uint64_t z = model->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)((z ^ z >> 31) % n);
}

static uint32_t sum_of(const struct model *model, uint32_t key)
{
	return wtl_hash_number(key % model->sums);
}

static bool has_key(const void *context, uint32_t value, const void *key)
{
	const struct model *model = context;

	return model->keys[value] == *(const uint32_t *)key;
}

static void check(const struct model *model, const struct wtl_hash *hash)
{
	assert_int_equal(hash->n, model->n);
	for (uint32_t key = 0; key < KEYS; key++) {
		const uint32_t *value =
			wtl_hash_find(hash, sum_of(model, key), has_key, model, &key);

		if (model->values[key] == UINT32_MAX) {
			assert_null(value);
		} else {
			assert_non_null(value);
			assert_int_equal(*value, model->values[key]);
		}
	}
}

/* Adds a key, or removes it where it is there. */
static void step(struct model *model, struct wtl_hash *hash)
{
	uint32_t key = random_below(model, KEYS), value = KEYS - 1 - key;

	if (model->values[key] != UINT32_MAX) {
		wtl_hash_remove(hash, sum_of(model, key), value);
		model->values[key] = UINT32_MAX;
		model->n--;
	} else {
		assert_return_code(wtl_hash_reserve(hash, hash->n + 1), 0);
		model->keys[value] = key;
		wtl_hash_add(hash, sum_of(model, key), value);
		model->values[key] = value;
		model->n++;
	}
}

static void hold(uint32_t sums, uint64_t seed)
{
	struct model model = {.sums = sums, .random = seed};
	struct wtl_hash hash = {.n = 0};

	memset(model.values, 0xff, sizeof(model.values));
	check(&model, &hash);
	for (int i = 0; i < STEPS / KEYS; i++) {
		for (int k = 0; k < KEYS / 4; k++)
			step(&model, &hash);
		check(&model, &hash);
	}
	wtl_hash_clear(&hash);
	memset(model.values, 0xff, sizeof(model.values));
	model.n = 0;
	check(&model, &hash);
	step(&model, &hash);
	check(&model, &hash);
	wtl_hash_done(&hash);
	wtl_hash_done(&hash);
	assert_int_equal(hash.size, 0);
}

static void test_model(void **state)
{
	(void)state;
	hold(KEYS, 1);
	/* Keys that collide: their hash is the same, or their places lie one behind the other. */
	hold(7, 2);
	hold(1, 3);
}

static void test_room(void **state)
{
	struct wtl_hash hash = {.n = 0};
	struct wtl_hash_entry *entries;

	(void)state;
	assert_int_equal(wtl_hash_reserve(&hash, (size_t)UINT32_MAX + 1), -ENOMEM);
	assert_int_equal(wtl_hash_reserve(&hash, 1000), 0);
	entries = hash.entries;
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(wtl_hash_reserve(&hash, hash.n + 1), 0);
		wtl_hash_add(&hash, wtl_hash_number(i), i);
	}
	assert_ptr_equal(hash.entries, entries);
	wtl_hash_clear(&hash);
	assert_ptr_equal(hash.entries, entries);
	wtl_hash_done(&hash);
}

/* Without a comparison, and values may be changed where they are. */
static void test_numbers(void **state)
{
	struct wtl_hash hash = {.n = 0};

	(void)state;
	wtl_hash_remove(&hash, wtl_hash_number(1), 1);
	for (uint32_t i = 0; i < 5000; i++) {
		assert_int_equal(wtl_hash_reserve(&hash, i + 1), 0);
		wtl_hash_add(&hash, wtl_hash_number(i * 4096), i);
	}
	*wtl_hash_find(&hash, wtl_hash_number(4096), NULL, NULL, NULL) = 77;
	/* It has another value by now. */
	wtl_hash_remove(&hash, wtl_hash_number(4096), 1);
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(*wtl_hash_find(&hash, wtl_hash_number(i * 4096), NULL, NULL, NULL),
				 i == 1 ? 77 : i);
	assert_null(wtl_hash_find(&hash, wtl_hash_number(1), NULL, NULL, NULL));
	wtl_hash_done(&hash);
}

/* Fowler, Noll and Vo's own values. */
static void test_sums(void **state)
{
	(void)state;
	assert_true(wtl_hash_more(WTL_HASH_START, "", 0) == UINT64_C(0xcbf29ce484222325));
	assert_true(wtl_hash_more(WTL_HASH_START, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
	assert_true(wtl_hash_more(WTL_HASH_START, "foobar", 6) == UINT64_C(0x85944171f73967e8));
	assert_int_equal(wtl_hash_text("foobar"), wtl_hash_bytes("foobar", 6));
	assert_int_not_equal(wtl_hash_text("foobar"), wtl_hash_text("foobas"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
