/* SPDX-License-Identifier: MIT */
/* A workload, and consumers, that are restored from what a recording has. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "energy/attribution.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter/observer.h"
#include "meter_bench.h"
#include "unit.h"
#include "workload/workload.h"

enum { DOMAINS_MAX = 16 };

static struct wtl_workload *new_told(void)
{
	struct wtl_workload *workload;

	assert_int_equal(wtl_workload_new_restored(&workload, NULL), 0);
	return workload;
}

static unsigned count(const struct wtl_workload *workload)
{
	uint32_t capacity = (uint32_t)wtl_workload_capacity(workload);
	unsigned n = 0;

	for (uint32_t slot = wtl_workload_next(workload, 0); slot < capacity;
	     slot = wtl_workload_next(workload, slot + 1))
		n++;
	return n;
}

/* ---- Slots ---- */

static void test_empty(void **state)
{
	struct wtl_workload *workload = new_told();

	(void)state;
	assert_int_equal(count(workload), 0);
	assert_int_equal(wtl_workload_tick(workload), 0);
	assert_int_equal(wtl_workload_scan(workload)->n_uses, 0);
	assert_int_equal(wtl_workload_scan(workload)->n_folds, 0);
	assert_null(wtl_workload_consumer(workload, WTL_SLOTS_FIXED));
	assert_int_equal(wtl_workload_find(workload, 1), -ESRCH);
	wtl_workload_reset(workload);
	wtl_workload_free(workload);
}

static void test_slots(void **state)
{
	struct wtl_workload *workload = new_told();
	struct wtl_consumer *consumer;

	(void)state;
	/* Fixed ones are nobody's, and there is an end. */
	for (uint32_t slot = 0; slot < WTL_SLOTS_FIXED; slot++)
		assert_null(wtl_workload_restore_consumer(workload, slot));
	assert_null(wtl_workload_restore_consumer(workload, WTL_RESTORED_SLOTS_MAX));
	assert_null(wtl_workload_restore_consumer(workload, UINT32_MAX));
	assert_int_equal(count(workload), 0);
	consumer = wtl_workload_restore_consumer(workload, 7);
	assert_non_null(consumer);
	/* As for somebody new: nothing is known. */
	assert_int_equal(consumer->uid, UINT32_MAX);
	assert_int_equal(consumer->rss_bytes, UINT64_MAX);
	assert_int_equal(consumer->gpu_ppm, UINT32_MAX);
	assert_null(consumer->group);
	consumer->pid = 77;
	/* Those below it are there to be had, and nobody's. */
	for (uint32_t slot = WTL_SLOTS_FIXED; slot < 7; slot++)
		assert_null(wtl_workload_consumer(workload, slot));
	assert_int_equal(count(workload), 1);
	assert_int_equal(wtl_workload_consumer(workload, 7)->pid, 77);
	/* Told once more, it is the same one. */
	assert_ptr_equal(wtl_workload_restore_consumer(workload, 7), consumer);
	assert_int_equal(consumer->pid, 77);
	assert_non_null(wtl_workload_restore_consumer(workload, 4));
	assert_int_equal(count(workload), 2);
	wtl_workload_restore_nobody(workload, 7);
	wtl_workload_restore_nobody(workload, 7);
	wtl_workload_restore_nobody(workload, 0);
	wtl_workload_restore_nobody(workload, 5000);
	wtl_workload_restore_nobody(workload, UINT32_MAX);
	assert_int_equal(count(workload), 1);
	assert_null(wtl_workload_consumer(workload, 7));
	wtl_workload_free(workload);
}

/* The last one makes room for all before it; what was restored stays. */
static void test_many_slots(void **state)
{
	struct wtl_workload *workload = new_told();

	(void)state;
	for (uint32_t slot = WTL_SLOTS_FIXED; slot < 2000; slot++)
		wtl_workload_restore_consumer(workload, slot)->pid = (int)slot;
	wtl_workload_restore_consumer(workload, WTL_RESTORED_SLOTS_MAX - 1)->pid = 1;
	assert_true(wtl_workload_capacity(workload) >= WTL_RESTORED_SLOTS_MAX);
	for (uint32_t slot = WTL_SLOTS_FIXED; slot < 2000; slot++)
		assert_int_equal(wtl_workload_consumer(workload, slot)->pid, slot);
	assert_int_equal(count(workload), 2000 - WTL_SLOTS_FIXED + 1);
	wtl_workload_free(workload);
}

/* ---- Looks ---- */

static void restore_use(struct wtl_workload *workload, const struct wtl_use *use, int64_t t_ns)
{
	const struct wtl_workload_scan look = {.t_mono_ns = t_ns,
					       .duration_ns = 10,
					       .capacity_ns = 20,
					       .busy_ns = 5,
					       .uses = use,
					       .n_uses = 1};

	wtl_workload_restore_scan(workload, &look);
}

/* A look counts for one tick: who is not in the next one did nothing. */
static void test_taken_once(void **state)
{
	const struct wtl_use use = {.slot = WTL_SLOTS_FIXED, .weight = 5};
	struct wtl_workload *workload = new_told();

	(void)state;
	restore_use(workload, &use, 1000);
	assert_int_equal(wtl_workload_tick(workload), 0);
	assert_int_equal(wtl_workload_scan(workload)->n_uses, 1);
	assert_ptr_equal(wtl_workload_scan(workload)->uses, &use);
	assert_int_equal(wtl_workload_scan(workload)->busy_ns, 5);
	assert_int_equal(wtl_workload_tick(workload), 0);
	assert_int_equal(wtl_workload_scan(workload)->n_uses, 0);
	assert_int_equal(wtl_workload_scan(workload)->busy_ns, 0);
	assert_int_equal(wtl_workload_scan(workload)->capacity_ns, 0);
	/* When it was is known all the same. */
	assert_int_equal(wtl_workload_scan(workload)->t_mono_ns, 1000);
	restore_use(workload, &use, 2000);
	restore_use(workload, &use, 3000);
	assert_int_equal(wtl_workload_tick(workload), 0);
	assert_int_equal(wtl_workload_scan(workload)->t_mono_ns, 3000);
	wtl_workload_free(workload);
}

/* A reset empties the look, and nobody goes: only a recording says who is gone. */
static void test_reset(void **state)
{
	const struct wtl_use use = {.slot = WTL_SLOTS_FIXED, .weight = 5};
	struct wtl_workload *workload = new_told();

	(void)state;
	wtl_workload_restore_consumer(workload, WTL_SLOTS_FIXED)->cpu_ns = 99;
	restore_use(workload, &use, 1000);
	assert_int_equal(wtl_workload_tick(workload), 0);
	wtl_workload_reset(workload);
	assert_int_equal(wtl_workload_scan(workload)->n_uses, 0);
	assert_int_equal(wtl_workload_consumer(workload, WTL_SLOTS_FIXED)->cpu_ns, 99);
	wtl_workload_free(workload);
}

static void test_weight(void **state)
{
	struct wtl_workload *workload = new_told();

	(void)state;
	assert_int_equal(wtl_workload_weight(workload), WTL_WEIGHT_CPU_TIME);
	wtl_workload_restore_weight(workload, WTL_WEIGHT_CYCLES);
	assert_int_equal(wtl_workload_weight(workload), WTL_WEIGHT_CYCLES);
	wtl_workload_free(workload);
}

/* ---- Consumers ---- */

struct fixture {
	struct meter_bench bench;
	struct wtl_consumers *consumers;
	struct wtl_workload *workload;
	struct wattle_energy energies[DOMAINS_MAX];
	size_t package;
	int64_t t_ns;
};

static void fixture_open(struct fixture *fixture)
{
	static const char *const gpus[] = {"gpu-0"};

	memset(fixture, 0, sizeof(*fixture));
	meter_bench_root(&fixture->bench, "xeon-2s-dram");
	meter_bench_open(&fixture->bench);
	assert_in_range(wattle_meter_domains(fixture->bench.meter), 1, DOMAINS_MAX);
	assert_int_equal(wtl_consumers_new_restored(fixture->bench.meter, gpus, 1,
						    &fixture->consumers, NULL),
			 0);
	fixture->workload = wtl_consumers_workload(fixture->consumers);
	fixture->package = meter_bench_find(&fixture->bench, "package-0");
}

static void fixture_close(struct fixture *fixture)
{
	assert_true(wtl_consumers_free(fixture->consumers));
	meter_bench_done(&fixture->bench);
}

static void bill(struct fixture *fixture, uint64_t energy_uj, const struct wtl_workload_scan *look)
{
	struct wattle_energy *energy = &fixture->energies[fixture->package];

	fixture->t_ns += WTL_NS_PER_S;
	energy->has_energy = 1;
	energy->energy_uj += energy_uj;
	energy->measured_ns += WTL_NS_PER_S;
	if (look)
		wtl_workload_restore_scan(fixture->workload, look);
	wtl_consumers_bill(fixture->consumers, fixture->energies, fixture->t_ns);
}

static uint64_t full_uj(const struct fixture *fixture, uint32_t slot)
{
	return wtl_consumers_share(fixture->consumers, slot, fixture->package).full_uj;
}

static void test_billed(void **state)
{
	const struct wtl_use uses[] = {{.slot = 3, .weight = 30}, {.slot = 4, .weight = 10}};
	const struct wtl_workload_scan look = {
		.duration_ns = 100, .capacity_ns = 100, .busy_ns = 40, .uses = uses, .n_uses = 2};
	struct fixture fixture;

	(void)state;
	fixture_open(&fixture);
	wtl_workload_restore_consumer(fixture.workload, 3);
	wtl_workload_restore_consumer(fixture.workload, 4);
	bill(&fixture, 1000, &look);
	assert_in_range(full_uj(&fixture, 3), 749, 751);
	assert_in_range(full_uj(&fixture, 4), 249, 251);
	/* Nobody ran: it is nobody's. */
	bill(&fixture, 500, NULL);
	assert_int_equal(full_uj(&fixture, 3) + full_uj(&fixture, 4), 1000);
	assert_int_equal(full_uj(&fixture, WTL_SLOT_NOBODY), 500);
	fixture_close(&fixture);
}

/* Accounts move to slots that were never restored, beyond what there is room for. */
static void test_folds(void **state)
{
	const struct wtl_use use = {.slot = 3, .weight = 1};
	const struct wtl_fold folds[] = {{.from = 3, .into = 4000}, {.from = 9, .into = 3}};
	struct wtl_workload_scan look = {.duration_ns = 100, .uses = &use, .n_uses = 1};
	struct fixture fixture;

	(void)state;
	fixture_open(&fixture);
	wtl_workload_restore_consumer(fixture.workload, 3);
	bill(&fixture, 1000, &look);
	assert_int_equal(full_uj(&fixture, 3), 1000);
	wtl_workload_restore_consumer(fixture.workload, 4000);
	look.folds = folds;
	look.n_folds = 2;
	bill(&fixture, 70, &look);
	assert_int_equal(full_uj(&fixture, 4000), 1000);
	assert_int_equal(full_uj(&fixture, 3), 70);
	assert_true(wtl_consumers_slots(fixture.consumers) > 4000);
	fixture_close(&fixture);
}

/* Uses of a slot that there is no room for are unseen, and nothing is lost. */
static void test_beyond(void **state)
{
	const struct wtl_use uses[] = {{.slot = 3, .weight = 1}, {.slot = 1 << 30, .weight = 1}};
	const struct wtl_workload_scan look = {.duration_ns = 100, .uses = uses, .n_uses = 2};
	struct wtl_ledger ledger;
	struct fixture fixture;

	(void)state;
	fixture_open(&fixture);
	wtl_workload_restore_consumer(fixture.workload, 3);
	bill(&fixture, 1000, &look);
	assert_int_equal(full_uj(&fixture, 3) + full_uj(&fixture, WTL_SLOT_UNSEEN), 1000);
	wtl_consumers_ledger(fixture.consumers, fixture.package, &ledger);
	assert_true(wtl_ledger_closed(&ledger));
	assert_in_range(ledger.unattributed_uj, 499, 501);
	fixture_close(&fixture);
}

/* Instead of looks: accounts as they were. */
static void test_accounts(void **state)
{
	const struct wtl_share share = {.full_uj = 600, .share_ns = WTL_NS_PER_S};
	struct wtl_ledger ledger;
	struct fixture fixture;

	(void)state;
	fixture_open(&fixture);
	wtl_workload_restore_consumer(fixture.workload, 3)->state = WTL_CONSUMER_EXITED;
	wtl_consumers_restore_account(fixture.consumers, 3, fixture.package, &share);
	wtl_consumers_restore_account(fixture.consumers, WTL_SLOT_UNSEEN, fixture.package, &share);
	fixture.energies[fixture.package] = (struct wattle_energy){
		.has_energy = 1, .energy_uj = 1200, .measured_ns = 2 * WTL_NS_PER_S};
	wtl_consumers_restore_billed(fixture.consumers, fixture.energies);
	wtl_consumers_ledger(fixture.consumers, fixture.package, &ledger);
	assert_true(wtl_ledger_closed(&ledger));
	assert_int_equal(ledger.total_uj, 1200);
	assert_int_equal(ledger.exited_uj, 600);
	assert_int_equal(ledger.unattributed_uj, 600);
	fixture_close(&fixture);
}

/* A GPU is as it was restored, by its place. */
static void test_gpus(void **state)
{
	const struct wtl_use use = {.slot = 3, .weight = 70};
	const struct wtl_gpu_scan told_look = {.domain = "gpu-0",
					       .method = WTL_GPU_USE_MEMORY,
					       .use_ppm = 420000,
					       .uses = &use,
					       .n_uses = 1};
	struct wtl_gpu_scan look;
	struct fixture fixture;

	(void)state;
	fixture_open(&fixture);
	assert_int_equal(wtl_consumers_gpus(fixture.consumers), 1);
	wtl_consumers_gpu(fixture.consumers, 0, &look);
	assert_string_equal(look.domain, "gpu-0");
	assert_int_equal(look.method, WTL_GPU_USE_NONE);
	assert_int_equal(look.n_uses, 0);
	wtl_consumers_restore_gpu(fixture.consumers, 0, &told_look);
	wtl_consumers_gpu(fixture.consumers, 0, &look);
	assert_string_equal(look.domain, "gpu-0");
	assert_int_equal(look.method, WTL_GPU_USE_MEMORY);
	assert_int_equal(look.use_ppm, 420000);
	assert_int_equal(look.n_uses, 1);
	assert_int_equal(look.uses[0].weight, 70);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),	   cmocka_unit_test(test_slots),
		cmocka_unit_test(test_many_slots), cmocka_unit_test(test_taken_once),
		cmocka_unit_test(test_reset),	   cmocka_unit_test(test_weight),
		cmocka_unit_test(test_billed),	   cmocka_unit_test(test_folds),
		cmocka_unit_test(test_beyond),	   cmocka_unit_test(test_accounts),
		cmocka_unit_test(test_gpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
