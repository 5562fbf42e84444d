/* SPDX-License-Identifier: MIT */
/* What the accounts of consumers say. */
#include <math.h>
#include <string.h>

#include "energy/budget.h"
#include "meter/consumers_state.h"
#include "meter/observer.h"

/*
 * How much the energy for a unit of a weight differs from one consumer to another, relative standard
 * deviation; all judgement (docs/attribution.md). A second of CPU time draws 1 to 1.6 times as much, by
 * how much of it are vector instructions. With k = 2 and weight_uncertainty() below, 0.6 / (2·sqrt(2))
 * covers a program that draws most beside others that draw least, however small its part. Cycles know the
 * clock as well, instructions how busy the core was; neither knows which instructions, nor what memory had
 * to do. SM use says nothing of how full the SMs are; memory says next to nothing.
 */
#define SPREAD_CPU_TIME	    0.22
#define SPREAD_CYCLES	    0.15
#define SPREAD_INSTRUCTIONS 0.10
#define SPREAD_GPU_USE	    0.20
#define SPREAD_GPU_MEMORY   0.50

void wtl_consumers_rest(const struct wtl_consumers *consumers, size_t domain,
			struct wtl_baseline *ret_baseline)
{
	wtl_baseline_learner_get(consumers->domains[domain].learner, ret_baseline);
}

void wtl_consumers_baseline(const struct wtl_consumers *consumers, size_t domain,
			    struct wtl_baseline *ret_baseline)
{
	wtl_consumers_rest(consumers, domain, ret_baseline);
	wtl_learned_idle(consumers->learned, domain, ret_baseline);
}

/* Standard uncertainties of a consumer's energy, by what causes them. */
struct doubts {
	double sensor_uj; /* added up as they are: sensors of one kind err alike */
	double idle_uj, weight_uj;
	double counted; /* the part of its CPU time that the hardware counted */
};

/* How much of some CPU time the hardware counted. */
static double counted_part(int64_t counted_ns, int64_t cpu_ns)
{
	return cpu_ns > 0 ? fmin(1.0, (double)counted_ns / (double)cpu_ns) : 0.0;
}

/* Of a consumer with that part of its CPU time counted. */
static double cpu_spread(const struct wtl_consumers *consumers, double counted)
{
	switch (wtl_workload_weight(consumers->workload)) {
	case WTL_WEIGHT_INSTRUCTIONS:
		return SPREAD_CPU_TIME + counted * (SPREAD_INSTRUCTIONS - SPREAD_CPU_TIME);
	case WTL_WEIGHT_CYCLES:
		return SPREAD_CPU_TIME + counted * (SPREAD_CYCLES - SPREAD_CPU_TIME);
	case WTL_WEIGHT_CPU_TIME:
	case WTL_WEIGHT_LEARNED:
	case WTL_WEIGHTS:
		break;
	}
	return SPREAD_CPU_TIME;
}

static double spread_of(const struct wtl_consumers *consumers,
			const struct wtl_divided_domain *domain, double counted)
{
	if (domain->by != WTL_DIVIDED_BY_GPU)
		return cpu_spread(consumers, counted);
	return wtl_consumers_gpu_is_guess(consumers, domain) ? SPREAD_GPU_MEMORY : SPREAD_GPU_USE;
}

/* What all users of the domain are billed together, counted as own_uj is: above idle, where that is known. */
static double all_used_uj(const struct wtl_book *book, size_t i,
			  const struct wtl_baseline *baseline)
{
	struct wtl_share all = wtl_attribution_total(book->attribution, i);
	struct wtl_share nobody = wtl_attribution_share(book->attribution, WTL_SLOT_NOBODY, i);

	all.full_uj -= nobody.full_uj;
	all.share_ns -= nobody.share_ns;
	if (baseline->is_known)
		all.full_uj -= wtl_share_idle_uj(&all, baseline->idle_uw);
	return (double)all.full_uj;
}

/*
 * Of a consumer with the part s of what all used, relative and standard: whoever has it all is right
 * whatever the weights. With spread r of each, the error of s is s·(own - mean of all), whose standard
 * deviation is r·sqrt((1 - s)² + sum of the others' shares²): at most r·sqrt(2)·(1 - s), when there is
 * one other.
 */
static double weight_uncertainty(double own_uj, double all_uj, double spread)
{
	double others = all_uj > 0.0 ? 1.0 - fmin(1.0, own_uj / all_uj) : 1.0;

	return sqrt(2.0) * others * spread;
}

/* Above idle, the sensor's zero cancels. A whole share has a part of it. */
static double sensor_doubt_uj(const struct wtl_divided_domain *domain,
			      const struct wtl_billed *billed, const struct wtl_share *share,
			      double own_uj, bool is_above_idle)
{
	if (is_above_idle)
		return fmax(billed->doubt, domain->dynamic_ppm / 1e6) * own_uj;
	return hypot(billed->doubt * own_uj,
		     wtl_budget_offset_uj(domain->offset_uw, share->share_ns));
}

/*
 * Of what is learned: parts may be ill known, and their sum well. What all used is exact, so what one is billed too much
 * is what the others are billed too little.
 */
static double learned_doubt_uj(const struct wtl_book *book, size_t i, const struct wtl_share *share)
{
	uint64_t all_uj = wtl_attribution_total(book->attribution, i).doubt_uj;
	uint64_t others_uj = all_uj > share->doubt_uj ? all_uj - share->doubt_uj : 0;

	return (double)(share->doubt_uj < others_uj ? share->doubt_uj : others_uj);
}

/*
 * What is not known of a share, above rest if that is known; above_uj: of it, what is above rest. A share lies between 0 and
 * what all used, so its standard deviation is at most half of that.
 */
static void add_doubts(const struct wtl_consumers *consumers, const struct wtl_book *book, size_t i,
		       const struct wtl_share *share, const struct wtl_baseline *baseline,
		       double above_uj, struct doubts *doubts)
{
	const struct wtl_divided_domain *domain = &consumers->domains[i];
	uint64_t idle_uj = baseline->is_known ? wtl_share_idle_uj(share, baseline->idle_uw) : 0;
	double own_uj = (double)(share->full_uj - idle_uj);

	doubts->sensor_uj +=
		sensor_doubt_uj(domain, &book->billed[i], share, own_uj, baseline->is_known);
	doubts->idle_uj += (double)baseline->uncertainty_uw * (double)share->share_ns / 1e9;
	if (wtl_consumers_is_learned(consumers, i))
		doubts->weight_uj +=
			fmin(learned_doubt_uj(book, i, share) * own_uj / fmax(above_uj, 1.0),
			     all_used_uj(book, i, baseline) / 2.0);
	else
		doubts->weight_uj +=
			weight_uncertainty(own_uj, all_used_uj(book, i, baseline),
					   spread_of(consumers, domain, doubts->counted)) *
			own_uj;
}

/* full: the doubts of the full energy. */
static void add_share(const struct wtl_consumers *consumers, const struct wtl_book *book, size_t i,
		      const struct wtl_share *share, struct wtl_share_energy *energy,
		      struct doubts *doubts, struct doubts *full)
{
	const struct wtl_baseline nothing = {.is_known = false};
	struct wtl_baseline baseline;
	uint64_t idle_uj;
	double above_uj;

	if (share->full_uj == 0)
		return;
	wtl_consumers_baseline(consumers, i, &baseline);
	idle_uj = baseline.is_known ? wtl_share_idle_uj(share, baseline.idle_uw) : 0;
	energy->full_uj += share->full_uj;
	energy->dynamic_uj += share->full_uj - idle_uj;
	energy->has_dynamic &= baseline.is_known;
	above_uj = (double)(share->full_uj - idle_uj);
	add_doubts(consumers, book, i, share, &baseline, above_uj, doubts);
	add_doubts(consumers, book, i, share, &nothing, above_uj, full);
}

static uint64_t round_uj(double uj)
{
	return (uint64_t)fmin(uj + 0.5, 1.8e19);
}

static uint64_t expanded_uj(const struct doubts *doubts)
{
	double sum = doubts->sensor_uj * doubts->sensor_uj + doubts->idle_uj * doubts->idle_uj +
		     doubts->weight_uj * doubts->weight_uj;

	return round_uj(2.0 * sqrt(sum));
}

static bool is_of_part(const struct wtl_divided_domain *domain, enum wtl_part part)
{
	bool is_gpu = domain->by == WTL_DIVIDED_BY_GPU;

	return domain->in_total &&
	       (part == WTL_PART_ALL || (part == WTL_PART_GPU ? is_gpu : !is_gpu));
}

/* From shares[], one a domain; domain < 0: of all that are of the part. */
static void energy_of(const struct wtl_consumers *consumers, const struct wtl_book *book,
		      const struct wtl_share shares[], enum wtl_part part, int domain,
		      double counted, struct wtl_share_energy *ret_energy)
{
	struct wtl_share_energy energy = {.has_dynamic = true};
	struct doubts doubts = {.counted = counted}, full = {.counted = counted};

	for (size_t i = 0; i < consumers->n_domains; i++)
		if (domain < 0 ? is_of_part(&consumers->domains[i], part) : (size_t)domain == i)
			add_share(consumers, book, i, &shares[i], &energy, &doubts, &full);
	if (!energy.has_dynamic)
		energy.dynamic_uj = 0;
	energy.uncertainty_uj = expanded_uj(&doubts);
	energy.full_uncertainty_uj = expanded_uj(&full);
	energy.idle_doubt_uj = round_uj(doubts.idle_uj);
	energy.weight_doubt_uj = round_uj(doubts.weight_uj);
	energy.full_weight_doubt_uj = round_uj(full.weight_uj);
	*ret_energy = energy;
}

size_t wtl_consumers_domains(const struct wtl_consumers *consumers)
{
	return consumers->n_domains;
}

bool wtl_consumers_counts(const struct wtl_consumers *consumers, size_t domain)
{
	return consumers->domains[domain].in_total;
}

const struct wtl_proc_machine *wtl_consumers_machine(const struct wtl_consumers *consumers)
{
	return consumers ? &wtl_workload_scan(consumers->workload)->machine : NULL;
}

size_t wtl_consumers_slots(const struct wtl_consumers *consumers)
{
	return wtl_workload_capacity(consumers->workload);
}

const struct wtl_consumer *wtl_consumers_get(const struct wtl_consumers *consumers, size_t slot)
{
	return wtl_workload_consumer(consumers->workload, (uint32_t)slot);
}

static double slot_counted(const struct wtl_consumers *consumers, size_t slot)
{
	const struct wtl_consumer *consumer = wtl_consumers_get(consumers, slot);

	return consumer ? counted_part(consumer->counted_ns, consumer->cpu_ns) : 0.0;
}

static void slot_energy(const struct wtl_consumers *consumers, const struct wtl_book *book,
			size_t slot, enum wtl_part part, int domain,
			struct wtl_share_energy *ret_energy)
{
	for (size_t i = 0; i < consumers->n_domains; i++)
		consumers->scratch[i] = wtl_attribution_share(book->attribution, (uint32_t)slot, i);
	energy_of(consumers, book, consumers->scratch, part, domain, slot_counted(consumers, slot),
		  ret_energy);
}

void wtl_consumers_energy(const struct wtl_consumers *consumers, size_t slot, enum wtl_part part,
			  struct wtl_share_energy *ret_energy)
{
	slot_energy(consumers, &consumers->own, slot, part, -1, ret_energy);
}

void wtl_book_energy(const struct wtl_consumers *consumers, const struct wtl_book *book,
		     size_t slot, int domain, struct wtl_share_energy *ret_energy)
{
	slot_energy(consumers, book ? book : &consumers->own, slot, WTL_PART_ALL, domain,
		    ret_energy);
}

int64_t wtl_book_cpu_ns(const struct wtl_book *book, size_t slot,
			const struct wtl_consumer *consumer)
{
	int64_t base_ns = book && slot < book->n_cpu_base ? book->cpu_base_ns[slot] : 0;
	int64_t cpu_ns = wtl_consumer_cpu_ns(consumer);

	return cpu_ns < 0 ? cpu_ns : cpu_ns - base_ns;
}

int64_t wtl_book_gpu_ns(const struct wtl_consumers *consumers, const struct wtl_book *book,
			size_t slot)
{
	return (int64_t)wtl_attribution_share(book ? book->attribution : consumers->own.attribution,
					      (uint32_t)slot, consumers->n_domains)
		.full_uj;
}

struct wtl_share wtl_consumers_share(const struct wtl_consumers *consumers, uint32_t slot,
				     size_t domain)
{
	return wtl_attribution_share(consumers->own.attribution, slot, domain);
}

bool wtl_consumers_power(const struct wtl_consumers *consumers, size_t slot, enum wtl_part part,
			 struct wtl_consumer_power *ret_power)
{
	const struct wtl_recent *recent;

	if (consumers->interval == 0 || slot >= consumers->n_recents)
		return false;
	recent = &consumers->recents[slot];
	*ret_power = (struct wtl_consumer_power){.has_dynamic = true};
	if (recent->interval != consumers->interval)
		return true; /* it did nothing */
	ret_power->has_dynamic = !recent->lacks_baseline;
	ret_power->full_uw = recent->full_uw[part];
	ret_power->dynamic_uw = recent->dynamic_uw[part];
	return true;
}

bool wtl_consumers_is_learned(const struct wtl_consumers *consumers, size_t domain)
{
	const struct wtl_gpu_learned *gpu =
		wtl_consumers_gpu_learned(consumers, &consumers->domains[domain]);

	return gpu ? wtl_gpu_learned_has(gpu) : wtl_learned_has(consumers->learned, domain);
}

void wtl_consumers_per_cpu(const struct wtl_consumers *consumers, size_t slot,
			   struct wtl_per_cpu *ret_per_cpu)
{
	const struct wtl_consumer *consumer = wtl_consumers_get(consumers, slot);
	double power_w = 0.0, doubt_w = 0.0;

	if (slot < consumers->n_per_cpus) {
		*ret_per_cpu = consumers->per_cpus[slot];
		return;
	}
	for (size_t i = 0; consumer && i < consumers->n_domains; i++) {
		struct wtl_watts_figure watts;

		if (!consumers->domains[i].in_total ||
		    !wtl_learned_watts(consumers->learned, i, consumer->watts_key, &watts))
			continue;
		power_w += watts.w;
		doubt_w = hypot(doubt_w, watts.uncertainty_w);
	}
	*ret_per_cpu = (struct wtl_per_cpu){.power_uw = round_uj(power_w * 1e6),
					    .uncertainty_uw = round_uj(2.0 * doubt_w * 1e6)};
}

void wtl_consumers_sum_begin(const struct wtl_consumers *consumers, struct wtl_consumers_sum *sum)
{
	struct wtl_share *shares = sum->shares;

	memset(shares, 0, (consumers->n_domains + 1) * sizeof(*shares));
	*sum = (struct wtl_consumers_sum){.shares = shares};
}

void wtl_consumers_sum_add(const struct wtl_consumers *consumers, uint32_t slot,
			   struct wtl_consumers_sum *sum)
{
	const struct wtl_consumer *consumer = wtl_workload_consumer(consumers->workload, slot);

	sum->cpu_ns += consumer->cpu_ns;
	sum->counted_ns += consumer->counted_ns;
	sum->n_processes += consumer->n_processes;
	for (size_t i = 0; i <= consumers->n_domains; i++) {
		struct wtl_share share = wtl_attribution_share(consumers->own.attribution, slot, i);

		sum->shares[i].full_uj += share.full_uj;
		sum->shares[i].share_ns += share.share_ns;
		sum->shares[i].doubt_uj += share.doubt_uj;
	}
}

void wtl_consumers_sum_sets(const struct wtl_consumers *consumers, uint16_t sets,
			    struct wtl_consumers_sum sums[])
{
	const struct wtl_workload *workload = consumers->workload;
	uint32_t capacity = (uint32_t)wtl_workload_capacity(workload);

	for (unsigned i = 0; i < WTL_SETS_MAX; i++)
		if (sets >> i & 1)
			wtl_consumers_sum_begin(consumers, &sums[i]);
	for (uint32_t slot = wtl_workload_next(workload, 0); slot < capacity;
	     slot = wtl_workload_next(workload, slot + 1)) {
		const struct wtl_consumer *consumer = wtl_workload_consumer(workload, slot);

		for (unsigned i = 0; consumer->sets & sets && i < WTL_SETS_MAX; i++)
			if ((consumer->sets & sets) >> i & 1)
				wtl_consumers_sum_add(consumers, slot, &sums[i]);
	}
}

void wtl_consumers_sum_energy(const struct wtl_consumers *consumers,
			      const struct wtl_consumers_sum *sum, int domain,
			      struct wtl_share_energy *ret_energy)
{
	energy_of(consumers, &consumers->own, sum->shares, WTL_PART_ALL, domain,
		  counted_part(sum->counted_ns, sum->cpu_ns), ret_energy);
}

void wtl_consumers_sum_command(const struct wtl_consumers *consumers, struct wtl_consumers_sum *sum)
{
	const struct wtl_workload *workload = consumers->workload;
	uint32_t capacity = (uint32_t)wtl_workload_capacity(workload);

	wtl_consumers_sum_begin(consumers, sum);
	for (uint32_t slot = wtl_workload_next(workload, 0); slot < capacity;
	     slot = wtl_workload_next(workload, slot + 1)) {
		const struct wtl_consumer *consumer = wtl_workload_consumer(workload, slot);

		if (consumer->is_in_tree)
			wtl_consumers_sum_add(consumers, slot, sum);
	}
}

size_t wtl_consumers_sum_shares(const struct wtl_consumers *consumers)
{
	return consumers->n_domains + 1;
}

void wtl_consumers_sum_since(const struct wtl_consumers *consumers,
			     const struct wtl_consumers_sum *now,
			     const struct wtl_consumers_sum *mark,
			     struct wtl_consumers_sum *ret_sum)
{
	ret_sum->cpu_ns = now->cpu_ns - mark->cpu_ns;
	ret_sum->counted_ns = now->counted_ns - mark->counted_ns;
	ret_sum->n_processes = now->n_processes;
	for (size_t i = 0; i < wtl_consumers_sum_shares(consumers); i++) {
		const struct wtl_share *a = &now->shares[i], *b = &mark->shares[i];

		ret_sum->shares[i].full_uj = a->full_uj > b->full_uj ? a->full_uj - b->full_uj : 0;
		ret_sum->shares[i].share_ns = a->share_ns - b->share_ns;
		ret_sum->shares[i].doubt_uj =
			a->doubt_uj > b->doubt_uj ? a->doubt_uj - b->doubt_uj : 0;
	}
}

void wtl_consumers_sum_part(const struct wtl_consumers *consumers,
			    const struct wtl_consumers_sum *sum, enum wtl_part part,
			    struct wtl_share_energy *ret_energy)
{
	energy_of(consumers, &consumers->own, sum->shares, part, -1,
		  counted_part(sum->counted_ns, sum->cpu_ns), ret_energy);
}

int64_t wtl_consumers_uncounted_ns(const struct wtl_consumers *consumers)
{
	const struct wtl_workload *workload = consumers->workload;
	uint32_t capacity = (uint32_t)wtl_workload_capacity(workload);
	int64_t cpu_ns = 0;

	for (uint32_t slot = wtl_workload_next(workload, 0); slot < capacity;
	     slot = wtl_workload_next(workload, slot + 1)) {
		const struct wtl_consumer *consumer = wtl_workload_consumer(workload, slot);

		if (consumer->is_in_tree && consumer->n_processes == 0)
			cpu_ns += consumer->cpu_ns;
	}
	return cpu_ns;
}

void wtl_consumers_command(const struct wtl_consumers *consumers,
			   struct wtl_command_account *ret_account)
{
	struct wtl_consumers_sum sum = {.shares = consumers->scratch};

	wtl_consumers_sum_command(consumers, &sum);
	*ret_account =
		(struct wtl_command_account){.cpu_ns = sum.cpu_ns, .n_processes = sum.n_processes};
	wtl_consumers_sum_part(consumers, &sum, WTL_PART_ALL, &ret_account->all);
	wtl_consumers_sum_part(consumers, &sum, WTL_PART_CPU, &ret_account->cpu);
	wtl_consumers_sum_part(consumers, &sum, WTL_PART_GPU, &ret_account->gpu);
}

static enum wtl_ledger_account account_of(void *context, uint32_t slot)
{
	const struct wtl_consumer *consumer = wtl_workload_consumer(context, slot);

	if (!consumer)
		return WTL_LEDGER_UNATTRIBUTED;
	switch (consumer->state) {
	case WTL_CONSUMER_LIVE:
		return WTL_LEDGER_LIVE;
	case WTL_CONSUMER_EXITED:
	case WTL_CONSUMER_FOLDED:
		return WTL_LEDGER_EXITED;
	case WTL_CONSUMER_KERNEL:
		break;
	}
	return WTL_LEDGER_KERNEL;
}

void wtl_consumers_ledger(const struct wtl_consumers *consumers, size_t domain,
			  struct wtl_ledger *ret_ledger)
{
	wtl_book_ledger(consumers, &consumers->own, domain, ret_ledger);
}

void wtl_book_ledger(const struct wtl_consumers *consumers, const struct wtl_book *book,
		     size_t domain, struct wtl_ledger *ret_ledger)
{
	struct wtl_baseline baseline;

	wtl_consumers_baseline(consumers, domain, &baseline);
	wtl_ledger_of(book ? book->attribution : consumers->own.attribution, domain, account_of,
		      consumers->workload, &baseline, ret_ledger);
}

const struct wtl_workload_means *wtl_consumers_means(const struct wtl_consumers *consumers)
{
	return wtl_workload_means(consumers->workload);
}

const char *wtl_consumers_weight(const struct wtl_consumers *consumers, size_t domain)
{
	const struct wtl_divided_domain *divided = &consumers->domains[domain];
	enum wtl_weight weight = wtl_workload_weight(consumers->workload);

	switch (divided->by) {
	case WTL_DIVIDED_BY_CPU:
		if (weight == WTL_WEIGHT_LEARNED && !wtl_learned_has(consumers->learned, domain))
			weight = WTL_WEIGHT_CPU_TIME; /* it is modelled, or not learned so far */
		if (weight == WTL_WEIGHT_LEARNED && wtl_learned_is_smoothed(consumers->learned))
			return "learned, smoothed backwards";
		return wtl_weight_name(weight);
	case WTL_DIVIDED_BY_GPU:
		return wtl_consumers_is_learned(consumers, domain)
			       ? wtl_weight_name(WTL_WEIGHT_LEARNED)
			       : wtl_consumers_gpu_weight(consumers, divided);
	case WTL_DIVIDED_NOT:
		break;
	}
	return NULL;
}
