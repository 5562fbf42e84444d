/* SPDX-License-Identifier: MIT */
/* The roster against a model of it: plain arrays, searched from end to end. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "workload/roster.h"

enum { MODEL_MAX = 700, STEPS = 60000, PIDS = 500 };

/* Sebastiano Vigna's splitmix64. */
static uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint32_t random_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)(random_next(state) % n);
}

/* ---- The model ---- */

enum kind { FREE, FIXED, LIVE, ENDED, FORGOTTEN, ROW };

struct one {
	enum kind kind;
	int pid;
	int64_t cpu_ns, weight_ns;
	uint32_t n_processes;
};

struct model {
	struct one slots[MODEL_MAX];
	uint64_t random;
	uint32_t look;
};

static uint32_t count_of(const struct model *model, enum kind kind)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < MODEL_MAX; i++)
		n += model->slots[i].kind == kind;
	return n;
}

static uint32_t find_pid(const struct model *model, int pid)
{
	for (uint32_t i = 0; i < MODEL_MAX; i++)
		if (model->slots[i].pid == pid &&
		    (model->slots[i].kind == LIVE || model->slots[i].kind == ENDED))
			return i;
	return WTL_NO_SLOT;
}

/* Any of the slots of that kind; WTL_NO_SLOT: there is none. */
static uint32_t pick(struct model *model, enum kind kind)
{
	uint32_t n = count_of(model, kind), which;

	if (n == 0)
		return WTL_NO_SLOT;
	which = random_below(&model->random, n);
	for (uint32_t i = 0; i < MODEL_MAX; i++)
		if (model->slots[i].kind == kind && which-- == 0)
			return i;
	return WTL_NO_SLOT;
}

static void begin(struct model *model, uint32_t max, uint64_t seed, struct wtl_roster *roster)
{
	memset(model, 0, sizeof(*model));
	model->random = seed;
	assert_int_equal(wtl_roster_init(roster, max), 0);
	for (int i = 0; i < WTL_SLOTS_FIXED; i++)
		model->slots[i] = (struct one){.kind = FIXED, .n_processes = 1};
}

/* ---- Both agree ---- */

static void check_slot(const struct model *model, const struct wtl_roster *roster, uint32_t slot)
{
	const struct one *one = &model->slots[slot];
	const struct wtl_place *place = &roster->places[slot];
	const struct wtl_consumer *consumer = &roster->consumers[slot];

	if (one->kind == FREE) {
		assert_int_equal(place->kind, WTL_PLACE_FREE);
		return;
	}
	assert_int_not_equal(place->kind, WTL_PLACE_FREE);
	assert_int_equal(consumer->cpu_ns, one->cpu_ns);
	assert_int_equal(consumer->n_processes, one->n_processes);
	assert_int_equal(place->weight_ns, one->weight_ns);
	assert_int_equal(place->is_listed, one->weight_ns > 0);
	if (one->kind == LIVE) {
		assert_true(place->live < roster->n_live);
		assert_int_equal(roster->slots[place->live], slot);
		assert_int_equal(roster->pids[place->live], one->pid);
		assert_int_equal(consumer->state, WTL_CONSUMER_LIVE);
	} else {
		assert_int_equal(place->live, WTL_NOT_LIVE);
	}
	if (one->kind == ENDED || one->kind == FORGOTTEN)
		assert_int_equal(consumer->state, WTL_CONSUMER_EXITED);
	if (one->kind == ROW)
		assert_int_equal(consumer->state, WTL_CONSUMER_FOLDED);
}

static void check_all(const struct model *model, const struct wtl_roster *roster)
{
	uint64_t weights = 0, listed = 0;

	assert_int_equal(roster->n_live, count_of(model, LIVE));
	assert_int_equal(roster->n_taken, MODEL_MAX - count_of(model, FREE));
	for (uint32_t slot = 0; slot < roster->n_used; slot++) {
		check_slot(model, roster, slot);
		weights += (uint64_t)model->slots[slot].weight_ns;
	}
	for (uint32_t slot = roster->n_used; slot < MODEL_MAX; slot++)
		assert_int_equal(model->slots[slot].kind, FREE);
	for (uint32_t i = 0; i < roster->n_used_now; i++)
		listed += roster->places[roster->used[i]].weight_ns;
	assert_int_equal(listed, weights);
	for (int pid = 1; pid <= PIDS; pid++)
		assert_int_equal(wtl_roster_find(roster, pid), find_pid(model, pid));
}

/* ---- Steps ---- */

static void add_process(struct model *model, struct wtl_roster *roster)
{
	int pid = 1 + (int)random_below(&model->random, PIDS);
	uint32_t n_born = roster->n_born;
	int64_t slot;

	if (find_pid(model, pid) != WTL_NO_SLOT)
		return;
	slot = wtl_roster_add_process(roster, pid);
	if (slot < 0) {
		assert_int_equal(slot, -ENOSPC);
		assert_int_equal(roster->n_taken, roster->max);
		return;
	}
	assert_true(slot < (int64_t)roster->capacity);
	assert_int_equal(model->slots[slot].kind, FREE);
	model->slots[slot] = (struct one){.kind = LIVE, .pid = pid, .n_processes = 1};
	assert_int_equal(roster->clocks[roster->places[slot].live], -ESRCH);
	if (n_born < roster->capacity) {
		assert_int_equal(roster->n_born, n_born + 1);
		assert_int_equal(roster->born[n_born], slot);
	}
}

static void add_row(struct model *model, struct wtl_roster *roster)
{
	int64_t slot = wtl_roster_add(roster, WTL_PLACE_ROW);

	if (slot < 0) {
		assert_int_equal(slot, -ENOSPC);
		return;
	}
	assert_int_equal(model->slots[slot].kind, FREE);
	model->slots[slot] = (struct one){.kind = ROW};
	assert_int_equal(roster->consumers[slot].rss_bytes, UINT64_MAX);
	assert_int_equal(roster->consumers[slot].uid, UINT32_MAX);
}

static void end_process(struct model *model, struct wtl_roster *roster)
{
	uint32_t slot = pick(model, LIVE);

	/* The list of ended ones is emptied by whoever folds them. */
	if (slot == WTL_NO_SLOT || roster->n_ended == roster->capacity)
		return;
	wtl_roster_end(roster, slot);
	assert_int_equal(roster->ended[roster->n_ended - 1], slot);
	assert_int_equal(roster->places[slot].scan_ended, model->look);
	model->slots[slot].kind = ENDED;
}

static void forget(struct model *model, struct wtl_roster *roster)
{
	uint32_t slot = pick(model, ENDED);

	if (slot == WTL_NO_SLOT)
		return;
	wtl_roster_forget(roster, slot);
	model->slots[slot].kind = FORGOTTEN;
	/* Once more is nothing, even if somebody else has the number meanwhile. */
	if (random_below(&model->random, 4) == 0)
		wtl_roster_forget(roster, slot);
}

static void use(struct model *model, struct wtl_roster *roster)
{
	static const enum kind kinds[] = {LIVE, LIVE, LIVE, FIXED, ROW, ENDED};
	uint32_t slot = pick(model, kinds[random_below(&model->random, UNIT_COUNT(kinds))]);
	int64_t cpu_ns = (int64_t)random_below(&model->random, 1000) - 100;

	if (slot == WTL_NO_SLOT)
		return;
	wtl_roster_use(roster, slot, cpu_ns);
	if (cpu_ns <= 0)
		return;
	model->slots[slot].cpu_ns += cpu_ns;
	model->slots[slot].weight_ns += cpu_ns;
	assert_int_equal(roster->places[slot].scan_used, model->look);
}

static void drop_ended(struct wtl_roster *roster, uint32_t slot)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < roster->n_ended; i++)
		if (roster->ended[i] != slot)
			roster->ended[kept++] = roster->ended[i];
	roster->n_ended = kept;
}

static void fold(struct model *model, struct wtl_roster *roster)
{
	uint32_t from = pick(model, FORGOTTEN), into = pick(model, ROW);

	if (from == WTL_NO_SLOT || into == WTL_NO_SLOT || model->slots[from].weight_ns > 0 ||
	    roster->n_folds == roster->capacity)
		return;
	drop_ended(roster, from);
	wtl_roster_fold(roster, from, into);
	assert_int_equal(roster->folds[roster->n_folds - 1].from, from);
	assert_int_equal(roster->folds[roster->n_folds - 1].into, into);
	model->slots[into].cpu_ns += model->slots[from].cpu_ns;
	model->slots[into].n_processes += model->slots[from].n_processes;
	model->slots[from] = (struct one){.kind = FREE};
}

static void look(struct model *model, struct wtl_roster *roster)
{
	wtl_roster_begin(roster, ++model->look);
	assert_int_equal(roster->n_used_now, 0);
	assert_int_equal(roster->n_folds, 0);
	assert_int_equal(roster->n_born, 0);
	for (uint32_t i = 0; i < MODEL_MAX; i++)
		model->slots[i].weight_ns = 0;
}

static void step(struct model *model, struct wtl_roster *roster)
{
	uint32_t what = random_below(&model->random, 100);

	if (what < 30)
		add_process(model, roster);
	else if (what < 55)
		use(model, roster);
	else if (what < 75)
		end_process(model, roster);
	else if (what < 86)
		forget(model, roster);
	else if (what < 95)
		fold(model, roster);
	else if (what < 97 && count_of(model, ROW) < 20)
		add_row(model, roster);
	else if (what >= 97)
		look(model, roster);
}

/* ---- Tests ---- */

static void test_model(void **state)
{
	static const uint32_t maxima[] = {WTL_SLOTS_FIXED + 1, 16, 64, 257, MODEL_MAX};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(maxima); i++) {
		static struct model model;
		struct wtl_roster roster;

		begin(&model, maxima[i], 20261121 + i, &roster);
		for (unsigned n = 0; n < STEPS / UNIT_COUNT(maxima); n++) {
			step(&model, &roster);
			if (n % 97 == 0)
				check_all(&model, &roster);
		}
		check_all(&model, &roster);
		wtl_roster_done(&roster);
	}
}

static void test_no_such_pid(void **state)
{
	static const int pids[] = {0, -1, INT32_MIN, 1, INT32_MAX};
	struct wtl_roster roster;

	(void)state;
	assert_int_equal(wtl_roster_init(&roster, 16), 0);
	for (size_t i = 0; i < UNIT_COUNT(pids); i++)
		assert_int_equal(wtl_roster_find(&roster, pids[i]), WTL_NO_SLOT);
	wtl_roster_done(&roster);
	wtl_roster_done(&roster);
}

/* A number is given again at once: the old process keeps its slot, the new one is found. */
static void test_pid_is_reused(void **state)
{
	struct wtl_roster roster;
	int64_t old, fresh;

	(void)state;
	assert_int_equal(wtl_roster_init(&roster, 16), 0);
	wtl_roster_begin(&roster, 1);
	old = wtl_roster_add_process(&roster, 42);
	wtl_roster_use(&roster, (uint32_t)old, 1000);
	wtl_roster_end(&roster, (uint32_t)old);
	wtl_roster_forget(&roster, (uint32_t)old);
	fresh = wtl_roster_add_process(&roster, 42);
	assert_true(fresh >= 0 && fresh != old);
	assert_int_equal(wtl_roster_find(&roster, 42), fresh);
	wtl_roster_forget(&roster, (uint32_t)old);
	assert_int_equal(wtl_roster_find(&roster, 42), fresh);
	assert_int_equal(roster.consumers[old].cpu_ns, 1000);
	assert_int_equal(roster.consumers[fresh].cpu_ns, 0);
	wtl_roster_done(&roster);
}

/* Room grows by itself up to the highest bound, and what was there stays. */
static void test_growth(void **state)
{
	enum { MAX = 5000 };
	struct wtl_roster roster;
	int pid = 0;

	(void)state;
	assert_int_equal(wtl_roster_init(&roster, MAX), 0);
	assert_true(roster.capacity < MAX);
	while (wtl_roster_add_process(&roster, pid + 1) >= 0)
		pid++;
	assert_int_equal(pid, MAX - WTL_SLOTS_FIXED);
	assert_int_equal(roster.capacity, MAX);
	assert_int_equal(wtl_roster_add(&roster, WTL_PLACE_ROW), -ENOSPC);
	for (int i = 1; i <= pid; i++) {
		uint32_t slot = wtl_roster_find(&roster, i);

		assert_int_not_equal(slot, WTL_NO_SLOT);
		assert_int_equal(roster.consumers[slot].pid, i);
	}
	wtl_roster_end(&roster, wtl_roster_find(&roster, 77));
	wtl_roster_remove(&roster, wtl_roster_find(&roster, 77));
	assert_true(wtl_roster_add(&roster, WTL_PLACE_OUTSIDER) >= WTL_SLOTS_FIXED);
	wtl_roster_done(&roster);
}

/* Room for so many and an eighth more, within the bound; there is never less than before. */
static void test_expected(void **state)
{
	static const struct {
		uint32_t n, capacity;
	} cases[] = {{8, 64}, {57, 64}, {800, 900}, {700, 900}, {4500, 5000}, {UINT32_MAX, 5000}};
	struct wtl_roster roster;

	(void)state;
	assert_int_equal(wtl_roster_init(&roster, 5000), 0);
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		wtl_roster_expect(&roster, cases[i].n);
		assert_int_equal(roster.capacity, cases[i].capacity);
	}
	wtl_roster_done(&roster);
}

/* The kernel's threads stay the kernel's when they end. */
static void test_kernel_thread_ends(void **state)
{
	struct wtl_roster roster;
	uint32_t slot;

	(void)state;
	assert_int_equal(wtl_roster_init(&roster, 16), 0);
	slot = (uint32_t)wtl_roster_add_process(&roster, 2);
	roster.consumers[slot].state = WTL_CONSUMER_KERNEL;
	wtl_roster_end(&roster, slot);
	assert_int_equal(roster.consumers[slot].state, WTL_CONSUMER_KERNEL);
	wtl_roster_done(&roster);
}

/* A row is readable once one process in it was. */
static void test_unreadable_are_folded(void **state)
{
	static const bool readable[][4] = {{false, false, true, false}, {true, false, false, true}};

	(void)state;
	for (size_t k = 0; k < UNIT_COUNT(readable); k++) {
		struct wtl_roster roster;
		uint32_t row;
		bool is_known = false;

		assert_int_equal(wtl_roster_init(&roster, 16), 0);
		row = (uint32_t)wtl_roster_add(&roster, WTL_PLACE_ROW);
		for (size_t i = 0; i < UNIT_COUNT(readable[k]); i++) {
			uint32_t slot = (uint32_t)wtl_roster_add_process(&roster, 7);

			roster.consumers[slot].is_readable = readable[k][i];
			wtl_roster_end(&roster, slot);
			wtl_roster_fold(&roster, slot, row);
			is_known |= readable[k][i];
			assert_int_equal(roster.consumers[row].is_readable, is_known);
		}
		wtl_roster_done(&roster);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_no_such_pid),
		cmocka_unit_test(test_pid_is_reused),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_expected),
		cmocka_unit_test(test_kernel_thread_ends),
		cmocka_unit_test(test_unreadable_are_folded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
