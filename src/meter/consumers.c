/* SPDX-License-Identifier: MIT */
#include "meter/consumers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "energy/attribution.h"
#include "energy/budget.h"
#include "energy/units.h"
#include "meter/consumers_state.h"
#include "meter/meter.h"
#include "meter/observer.h"
#include "sensors/rapl.h"

/* The shortest interval that is learned from, in half-durations of the reads at its ends. */
enum { LEARN_HALVES = 20 };

/* ---- Opening ---- */

static enum wtl_divided how_divided(const struct wattle_domain *domain)
{
	switch (domain->kind) {
	case WATTLE_KIND_CPU:
	case WATTLE_KIND_CORE:
	case WATTLE_KIND_DRAM:
	case WATTLE_KIND_SOC:
		return WTL_DIVIDED_BY_CPU;
	case WATTLE_KIND_GPU:
	case WATTLE_KIND_GPU_MEMORY:
		return WTL_DIVIDED_BY_GPU;
	case WATTLE_KIND_UNCORE:
	case WATTLE_KIND_PLATFORM:
	case WATTLE_KIND_MODULE:
	case WATTLE_KIND_BATTERY:
	case WATTLE_KIND_BOARD:
	case WATTLE_KINDS:
		break;
	}
	return WTL_DIVIDED_NOT;
}

/* How a domain's idle power becomes known. -ENOMEM. */
static int open_learner(struct wtl_consumers *consumers, size_t i)
{
	const struct wattle_meter *meter = consumers->meter;
	struct wtl_divided_domain *divided = &consumers->domains[i];
	int primary = meter->domains[i].domain.primary;
	const struct wtl_channel *channel = primary >= 0 ? &meter->catalog.channels[primary] : NULL;

	divided->learner = wtl_baseline_learner_new();
	if (!divided->learner)
		return -ENOMEM;
	if (divided->by == WTL_DIVIDED_BY_CPU)
		wtl_baseline_learner_limit(divided->learner,
					   wtl_baseline_use_max_ppm(meter->machine.n_cpus));
	if (channel && channel->idle_uw > 0)
		wtl_baseline_learner_model(
			divided->learner, channel->idle_uw,
			(uint64_t)hypot(wtl_budget_gain_uj(channel->idle_uw, channel->gain_ppm),
					channel->offset_uw));
	return 0;
}

static void note_sensor(struct wtl_divided_domain *divided, const struct wtl_domain_state *state)
{
	if (!state->account)
		return;
	divided->offset_uw = state->account->channel->offset_uw;
	divided->dynamic_ppm = wtl_rapl_dynamic_ppm(state->account->channel);
}

static int open_domains(struct wtl_consumers *consumers)
{
	size_t n = wattle_meter_domains(consumers->meter);

	consumers->domains = calloc(n, sizeof(*consumers->domains));
	consumers->scratch = calloc(n + 1, sizeof(*consumers->scratch));
	if (!consumers->domains || !consumers->scratch)
		return -ENOMEM;
	consumers->n_domains = n;
	for (size_t i = 0; i < n; i++) {
		struct wtl_divided_domain *divided = &consumers->domains[i];
		struct wattle_domain domain;

		wtl_meter_domain(consumers->meter, i, &domain);
		divided->name = domain.name;
		divided->in_total = domain.in_total;
		divided->by = how_divided(&domain);
		divided->gpu = -1;
		divided->is_gpu = domain.kind == WATTLE_KIND_GPU;
		note_sensor(divided, &consumers->meter->domains[i]);
		if (open_learner(consumers, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int book_open(struct wtl_book *book, const struct wtl_consumers *consumers)
{
	size_t n = consumers->n_domains;

	book->attribution = wtl_attribution_new(n + 1, wtl_workload_capacity(consumers->workload));
	book->billed = calloc(n, sizeof(*book->billed));
	if (!book->attribution || !book->billed)
		return -ENOMEM;
	if (!consumers->learned || book->chunk.recent)
		return 0;
	return wtl_chunk_init(&book->chunk, n, wtl_workload_capacity(consumers->workload));
}

static void book_close(struct wtl_book *book)
{
	wtl_attribution_free(book->attribution);
	wtl_chunk_done(&book->chunk);
	free(book->billed);
}

/* The domains that its watts are learned together with. */
static enum wtl_learned_sum sum_of(const struct wtl_consumers *consumers, size_t i)
{
	struct wattle_domain domain;

	wtl_meter_domain(consumers->meter, i, &domain);
	if (domain.kind == WATTLE_KIND_DRAM)
		return WTL_LEARNED_MEMORIES;
	return domain.kind == WATTLE_KIND_CPU ? WTL_LEARNED_PACKAGES : WTL_LEARNED_ALONE;
}

/* Of all domains that are divided by CPU time. */
int wtl_consumers_learn_watts(struct wtl_consumers *consumers, bool is_told)
{
	struct wtl_book *own = &consumers->own;
	int rc = 0;

	consumers->learned = wtl_learned_new(consumers->n_domains, is_told);
	if (!consumers->learned)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < consumers->n_domains; i++) {
		struct wtl_baseline baseline;

		wtl_baseline_learner_get(consumers->domains[i].learner, &baseline);
		if (consumers->domains[i].by == WTL_DIVIDED_BY_CPU && !baseline.is_modelled)
			rc = wtl_learned_add_domain(consumers->learned, i,
						    consumers->domains[i].name,
						    sum_of(consumers, i));
	}
	return rc < 0 ? rc
		      : wtl_chunk_init(&own->chunk, consumers->n_domains,
				       wtl_workload_capacity(consumers->workload));
}

int wtl_consumers_use_past(struct wtl_consumers *consumers, struct wtl_watts_past *past)
{
	return consumers->learned ? wtl_learned_use_past(consumers->learned, past) : 0;
}

void wtl_consumers_reach(struct wtl_consumers *consumers, int64_t end_ns)
{
	if (consumers->learned)
		wtl_learned_reach(consumers->learned, end_ns);
}

int wtl_consumers_smooth(struct wtl_consumers *consumers)
{
	return consumers->learned ? wtl_learned_smooth(consumers->learned) : 0;
}

/* Takes over the consumers: they are handed out, or freed. */
static int finish_opening(struct wtl_consumers *consumers, int rc,
			  struct wtl_consumers **ret_consumers, struct wtl_err *err)
{
	if (rc == 0) {
		*ret_consumers = consumers;
		return 0;
	}
	wtl_consumers_free(consumers);
	return wtl_err_set(err, rc, "processes", NULL, "cannot be followed: %s", wtl_err_text(rc));
}

int wtl_consumers_new_restored(struct wattle_meter *meter, const char *const gpu_domains[],
			       size_t n_gpus, struct wtl_consumers **ret_consumers,
			       struct wtl_err *err)
{
	struct wtl_consumers *consumers = calloc(1, sizeof(*consumers));
	int rc = consumers ? 0 : -ENOMEM;

	if (rc == 0) {
		consumers->meter = meter;
		rc = open_domains(consumers);
	}
	if (rc == 0)
		rc = wtl_workload_new_restored(&consumers->workload, err);
	if (rc == 0)
		rc = book_open(&consumers->own, consumers);
	if (rc == 0)
		rc = wtl_consumers_open_restored_gpus(consumers, gpu_domains, n_gpus);
	return finish_opening(consumers, rc, ret_consumers, err);
}

struct wtl_workload *wtl_consumers_workload(struct wtl_consumers *consumers)
{
	return consumers->workload;
}

int wtl_consumers_new(struct wattle_meter *meter, struct wtl_io *io,
		      const struct wtl_consumers_options *options,
		      struct wtl_consumers **ret_consumers, struct wtl_err *err)
{
	const struct wtl_workload_options workload = {
		.subreaper_pid = options->subreaper_pid,
		.max_exited = (uint32_t)options->max_exited,
		.names_on_use = options->names_on_use,
		.weight = options->weight,
	};
	struct wtl_env env = {.io = io, .log = meter->env.log};
	struct wtl_consumers *consumers = calloc(1, sizeof(*consumers));
	int rc = consumers ? 0 : -ENOMEM;

	if (rc == 0) {
		consumers->meter = meter;
		consumers->io = io;
		rc = open_domains(consumers);
	}
	if (rc == 0)
		rc = wtl_workload_new(&env, &workload, &consumers->workload, err);
	if (rc == 0 && options->weight == WTL_WEIGHT_LEARNED)
		rc = wtl_consumers_learn_watts(consumers, false);
	if (rc == 0)
		rc = book_open(&consumers->own, consumers);
	if (rc == 0)
		rc = wtl_consumers_open_gpus(consumers, &env, options, err);
	return finish_opening(consumers, rc, ret_consumers, err);
}

bool wtl_consumers_free(struct wtl_consumers *consumers)
{
	bool is_quiet;

	if (!consumers)
		return true;
	is_quiet = wtl_consumers_close_gpus(consumers);
	for (size_t i = 0; i < consumers->n_domains; i++)
		wtl_baseline_learner_free(consumers->domains[i].learner);
	while (consumers->books)
		wtl_consumers_close_book(consumers, consumers->books);
	book_close(&consumers->own);
	wtl_learned_free(consumers->learned);
	wtl_workload_free(consumers->workload);
	free(consumers->domains);
	free(consumers->scratch);
	free(consumers->recents);
	free(consumers->per_cpus);
	free(consumers);
	return is_quiet;
}

/* ---- Billing ---- */

/* Without room for it, a chunk is no part of its book any more: what it has stays as it is. */
static void grow_chunk(struct wtl_chunk *chunk, size_t capacity)
{
	if (wtl_chunk_grow(chunk, capacity) < 0)
		wtl_chunk_done(chunk);
}

static void make_room(struct wtl_consumers *consumers)
{
	size_t capacity = wtl_workload_capacity(consumers->workload);

	for (struct wtl_book *book = consumers->books; book; book = book->next)
		if (wtl_attribution_grow(book->attribution, capacity) < 0)
			return;
	for (struct wtl_book *book = consumers->books; book; book = book->next)
		grow_chunk(&book->chunk, capacity);
	grow_chunk(&consumers->own.chunk, capacity);
	if (consumers->learned && wtl_learned_widen(consumers->learned, capacity) < 0)
		return;
	if (wtl_attribution_grow(consumers->own.attribution, capacity) == 0)
		wtl_array_widen(&consumers->recents, &consumers->n_recents, capacity,
				sizeof(*consumers->recents));
}

static void tell_observer(const struct wtl_consumers *consumers, enum wtl_scan_event event,
			  int64_t t_utc_ns)
{
	if (consumers->observer)
		consumers->observer->scanned(consumers->observer->context, event, t_utc_ns);
}

void wtl_consumers_observe(struct wtl_consumers *consumers, const struct wtl_observer *observer)
{
	consumers->observer = observer;
}

const struct wtl_workload_scan *wtl_consumers_scan(const struct wtl_consumers *consumers)
{
	return wtl_workload_scan(consumers->workload);
}

static void book_fold(struct wtl_book *book, const struct wtl_fold *fold)
{
	wtl_attribution_fold(book->attribution, fold->from, fold->into);
	wtl_chunk_fold(&book->chunk, fold);
	if (fold->from >= book->n_cpu_base)
		return;
	/* A row that is younger than the book begins with the base of the first process in it. */
	if (fold->into < book->n_cpu_base)
		book->cpu_base_ns[fold->into] += book->cpu_base_ns[fold->from];
	book->cpu_base_ns[fold->from] = 0;
}

static void take_scan(struct wtl_consumers *consumers)
{
	const struct wtl_workload_scan *scan;

	wtl_gpu_watch_ask(consumers->gpu_watch);
	wtl_workload_tick(consumers->workload);
	/* Without room, slots beyond it count as unseen. */
	make_room(consumers);
	scan = wtl_workload_scan(consumers->workload);
	for (size_t i = 0; i < scan->n_folds; i++) {
		const struct wtl_fold *fold = &scan->folds[i];

		wtl_attribution_fold(consumers->own.attribution, fold->from, fold->into);
		wtl_chunk_fold(&consumers->own.chunk, fold);
		if (consumers->learned)
			wtl_learned_fold(consumers->learned, fold);
		wtl_consumers_fold_gpu_watts(consumers, fold);
		for (struct wtl_book *book = consumers->books; book; book = book->next)
			book_fold(book, fold);
		wtl_consumers_fold_gpus(consumers, fold->from, fold->into);
	}
	wtl_consumers_scan_gpus(consumers);
	make_room(consumers);
	if (consumers->learned)
		wtl_learned_scan(consumers->learned, consumers->workload);
	wtl_consumers_scan_gpu_watts(consumers);
	tell_observer(consumers, WTL_SCAN_TAKEN, 0);
}

static void note_edge(struct wtl_consumers *consumers, size_t i)
{
	const struct wtl_account *account = consumers->meter->domains[i].account;

	consumers->domains[i].half_ns = account ? account->last_ok.half_ns : 0;
	consumers->domains[i].edge_ns = account ? wtl_account_edge_ns(account) : 0;
}

void wtl_consumers_begin(struct wtl_consumers *consumers)
{
	take_scan(consumers);
	wtl_workload_reset(consumers->workload);
	wtl_consumers_reset_gpus(consumers);
	wtl_attribution_reset(consumers->own.attribution);
	wtl_chunk_settle(&consumers->own.chunk);
	if (consumers->learned)
		wtl_learned_forget_slots(consumers->learned);
	wtl_consumers_reset_gpu_watts(consumers);
	memset(consumers->own.billed, 0, consumers->n_domains * sizeof(*consumers->own.billed));
	make_room(consumers);
	for (size_t i = 0; i < consumers->n_domains; i++) {
		note_edge(consumers, i);
		wtl_baseline_learner_break(consumers->domains[i].learner);
	}
	tell_observer(consumers, WTL_SCAN_RESET, 0);
}

int wtl_consumers_follow(struct wtl_consumers *consumers, int pid)
{
	int rc = wtl_workload_follow_tree(consumers->workload, pid);

	make_room(consumers);
	return rc;
}

void wtl_consumers_command_ended(struct wtl_consumers *consumers, int64_t cpu_ns)
{
	wtl_workload_tree_ended(consumers->workload, cpu_ns);
}

void wtl_consumers_name_all(struct wtl_consumers *consumers)
{
	wtl_workload_name_all(consumers->workload);
}

void wtl_consumers_read_memory(struct wtl_consumers *consumers, unsigned budget)
{
	wtl_workload_read_memory(consumers->workload, budget);
}

void wtl_consumers_read_resident(struct wtl_consumers *consumers, unsigned budget)
{
	wtl_workload_read_resident(consumers->workload, budget);
}

/* One domain's energy over the interval, and who used it. */
struct bill {
	uint64_t energy_uj;
	int64_t duration_ns;
	const struct wtl_use *uses;
	size_t n_uses;
	const uint32_t *doubts_ppm; /* one a use; NULL: nothing is learned */
	uint32_t use_ppm;	    /* of the capacity */
	bool is_corrected;	    /* the energy so far is less than what was billed */
	bool is_learned;	    /* it is divided by what is learned of watts */
};

/* Everybody's part of the interval's power, for those who watch. */
static void note_recent(struct wtl_consumers *consumers, const struct wtl_divided_domain *domain,
			const struct bill *bill)
{
	enum wtl_part part = domain->by == WTL_DIVIDED_BY_GPU ? WTL_PART_GPU : WTL_PART_CPU;
	struct wtl_baseline baseline;
	double full_uw, dynamic_uw, sum = 0.0;

	if (!domain->in_total || bill->duration_ns < WTL_POWER_MIN_NS)
		return;
	wtl_consumers_baseline(consumers, (size_t)(domain - consumers->domains), &baseline);
	full_uw = fmin((double)wtl_power_uw(bill->energy_uj, bill->duration_ns), (double)INT64_MAX);
	dynamic_uw = full_uw > (double)baseline.idle_uw ? full_uw - (double)baseline.idle_uw : 0.0;
	for (size_t i = 0; i < bill->n_uses; i++)
		sum += (double)bill->uses[i].weight;
	for (size_t i = 0; i < bill->n_uses && sum > 0.0; i++) {
		const struct wtl_use *use = &bill->uses[i];
		double share = (double)use->weight / sum;
		struct wtl_recent *recent;

		if (use->slot >= consumers->n_recents)
			continue;
		recent = &consumers->recents[use->slot];
		if (recent->interval != consumers->interval)
			*recent = (struct wtl_recent){.interval = consumers->interval};
		recent->lacks_baseline |= !baseline.is_known;
		recent->full_uw[part] += (uint64_t)(share * full_uw);
		recent->dynamic_uw[part] += (uint64_t)(share * dynamic_uw);
		recent->full_uw[WTL_PART_ALL] += (uint64_t)(share * full_uw);
		recent->dynamic_uw[WTL_PART_ALL] += (uint64_t)(share * dynamic_uw);
	}
}

/* All of it where it is not known, so that nothing is learned from it. */
static uint32_t cpu_use_ppm(const struct wtl_workload_scan *scan)
{
	if (scan->capacity_ns <= 0)
		return 1000000;
	return (uint32_t)(1e6 * (double)scan->busy_ns / (double)scan->capacity_ns);
}

/* What is drawn while the machine rests is not divided anew: those who work later have no part in it. */
static bool is_rest(const struct wtl_consumers *consumers)
{
	return cpu_use_ppm(wtl_workload_scan(consumers->workload)) <=
	       wtl_baseline_use_max_ppm(consumers->meter->machine.n_cpus);
}

static void divide(struct wtl_consumers *consumers, size_t i, struct bill *bill)
{
	const struct wtl_divided_domain *domain = &consumers->domains[i];
	const struct wtl_workload_scan *scan = wtl_workload_scan(consumers->workload);
	struct wtl_learned_uses uses = {.uses = scan->uses, .n = scan->n_uses};

	bill->doubts_ppm = NULL;
	switch (domain->by) {
	case WTL_DIVIDED_BY_CPU:
		if (bill->is_learned)
			wtl_learned_weigh_scan(consumers->learned, i, scan, bill->energy_uj, &uses);
		bill->uses = uses.uses;
		bill->n_uses = uses.n;
		bill->doubts_ppm = uses.doubts_ppm;
		bill->use_ppm = cpu_use_ppm(scan);
		return;
	case WTL_DIVIDED_BY_GPU:
		bill->n_uses =
			wtl_consumers_gpu_uses(consumers, domain, &bill->uses, &bill->use_ppm);
		return;
	case WTL_DIVIDED_NOT:
		break;
	}
	/* Whatever the domain is, it is taken to be at rest when the processors are. */
	bill->uses = &wtl_unseen_alone;
	bill->n_uses = 1;
	bill->use_ppm = cpu_use_ppm(scan);
}

void wtl_billed_note(struct wtl_billed *billed, const struct wtl_divided_domain *domain,
		     const struct wattle_energy *energy)
{
	double whole_uj = 0.5 * (double)energy->uncertainty_uj;
	double offset_uj = wtl_budget_offset_uj(domain->offset_uw, energy->measured_ns);

	billed->energy_uj = energy->energy_uj;
	if (energy->energy_uj > 0)
		billed->doubt = sqrt(fmax(0.0, whole_uj * whole_uj - offset_uj * offset_uj)) /
				(double)energy->energy_uj;
}

/* Between two reads one of which hung, the power is not known well enough to learn from. Nor is it where
 * the newest stretch of sampled power, an estimate, was too high before. */
static bool can_learn(const struct wtl_divided_domain *domain, const struct bill *bill,
		      int64_t begin_half_ns)
{
	return LEARN_HALVES * begin_half_ns <= bill->duration_ns &&
	       LEARN_HALVES * domain->half_ns <= bill->duration_ns && !bill->is_corrected;
}

static void learn(struct wtl_consumers *consumers, size_t i, const struct bill *bill,
		  int64_t t_utc_ns)
{
	struct wtl_divided_domain *domain = &consumers->domains[i];
	int64_t begin_half_ns = domain->half_ns;
	struct wtl_baseline_interval interval = {
		.energy_uj = bill->energy_uj,
		.duration_ns = bill->duration_ns,
		.begin_edge_ns = domain->edge_ns,
		.use_ppm = bill->use_ppm,
		.t_utc_ns = t_utc_ns,
	};

	if (bill->duration_ns == 0)
		return;
	note_edge(consumers, i);
	interval.end_edge_ns = domain->edge_ns;
	if (can_learn(domain, bill, begin_half_ns))
		wtl_baseline_learner_add(domain->learner, &interval);
	else
		wtl_baseline_learner_break(domain->learner);
}

/* The chunk begins with the newest scan: what was used before is no measure of the energy that follows. */
static void begin_chunk(struct wtl_book *book, const struct wtl_consumers *consumers)
{
	const struct wtl_workload_scan *scan = wtl_workload_scan(consumers->workload);

	if (!book->chunk.recent)
		return;
	wtl_chunk_settle(&book->chunk);
	if (scan->capacity_ns > 0 && !is_rest(consumers))
		wtl_chunk_add(&book->chunk, consumers->learned, scan);
	wtl_consumers_add_to_gpu_chunks(consumers, book);
}

static void begin_chunks(struct wtl_consumers *consumers)
{
	for (struct wtl_book *book = consumers->books; book; book = book->next)
		begin_chunk(book, consumers);
	begin_chunk(&consumers->own, consumers);
}

/* Bills what a book has not billed yet of a domain's energy to its users. */
static void book_bill(struct wtl_book *book, struct wtl_consumers *consumers, size_t i,
		      const struct wattle_energy *energy, struct bill *bill)
{
	const struct wtl_divided_domain *domain = &consumers->domains[i];
	struct wtl_billed *billed = &book->billed[i];

	bill->duration_ns = bill->energy_uj = 0;
	if (energy->measured_ns > billed->time_ns)
		bill->duration_ns = energy->measured_ns - billed->time_ns;
	if (energy->energy_uj > billed->energy_uj)
		bill->energy_uj = energy->energy_uj - billed->energy_uj;
	bill->is_corrected = energy->energy_uj < billed->energy_uj;
	/* Where watts are smoothed backwards, no look is divided anew: nothing more is learned later. */
	if (bill->is_learned && !bill->is_corrected && book->chunk.recent && !is_rest(consumers) &&
	    !wtl_learned_is_smoothed(consumers->learned)) {
		wtl_chunk_bill(&book->chunk, consumers->learned, book->attribution, i,
			       bill->energy_uj, bill->duration_ns);
	} else {
		divide(consumers, i, bill);
		if (bill->is_corrected ||
		    !wtl_consumers_bill_gpu(consumers, book, domain, bill->energy_uj,
					    bill->duration_ns))
			wtl_attribution_add_recent(book->attribution, NULL, i, bill->energy_uj,
						   bill->duration_ns, bill->uses, bill->doubts_ppm,
						   bill->n_uses);
	}
	if (bill->is_corrected) {
		begin_chunk(book, consumers);
		wtl_attribution_settle(book->attribution, i, energy->energy_uj);
	}
	wtl_consumers_bill_gpu_time(consumers, book, domain, bill->duration_ns);
	billed->time_ns += bill->duration_ns;
	wtl_billed_note(billed, domain, energy);
}

/* Before the energy is billed: learns from it what everybody draws. */
static void learn_watts(struct wtl_consumers *consumers, size_t i,
			const struct wattle_energy *energy)
{
	const struct wtl_divided_domain *domain = &consumers->domains[i];
	const struct wtl_account *account = consumers->meter->domains[i].account;
	const struct wtl_billed *billed = &consumers->own.billed[i];
	struct wtl_gpu_learned *gpu = wtl_consumers_gpu_learned(consumers, domain);
	struct wtl_baseline baseline;
	struct bill bill;
	double noise_j;

	if (energy->measured_ns <= billed->time_ns || energy->energy_uj < billed->energy_uj)
		return;
	bill = (struct bill){.energy_uj = energy->energy_uj - billed->energy_uj,
			     .duration_ns = energy->measured_ns - billed->time_ns};
	if (!can_learn(domain, &bill, account ? account->last_ok.half_ns : 0))
		return;
	noise_j = hypot((double)domain->edge_ns,
			account ? (double)wtl_account_edge_ns(account) : 0.0) *
		  (double)bill.energy_uj / 1e6 / (double)bill.duration_ns;
	wtl_baseline_learner_get(domain->learner, &baseline);
	if (gpu)
		wtl_gpu_learned_add(gpu, bill.energy_uj, bill.duration_ns, noise_j, &baseline);
	else
		wtl_learned_add(consumers->learned, i, bill.energy_uj, bill.duration_ns, noise_j,
				&baseline);
}

static void learn_all_watts(struct wtl_consumers *consumers, const struct wattle_energy energies[])
{
	for (size_t i = 0; consumers->learned && i < consumers->n_domains; i++) {
		bool was_learned = wtl_learned_has(consumers->learned, i);

		if (energies[i].has_energy)
			learn_watts(consumers, i, &energies[i]);
		if (!was_learned && wtl_learned_has(consumers->learned, i))
			begin_chunks(consumers);
	}
}

static void bill_domain(struct wtl_consumers *consumers, size_t i,
			const struct wattle_energy *energy, int64_t t_utc_ns)
{
	struct wtl_divided_domain *domain = &consumers->domains[i];
	const struct wtl_workload_scan *scan = wtl_workload_scan(consumers->workload);
	struct wtl_gpu_learned *gpu = wtl_consumers_gpu_learned(consumers, domain);
	/* A scan without a capacity does not say who used what; where nobody used anything, the energy is nobody's. */
	struct bill bill = {.is_learned = wtl_learned_has(consumers->learned, i) &&
					  scan->capacity_ns > 0 && scan->n_uses > 0};

	for (struct wtl_book *book = consumers->books; book; book = book->next)
		if (book->energies[i].has_energy)
			book_bill(book, consumers, i, &book->energies[i], &bill);
	if (!energy->has_energy)
		return;
	book_bill(&consumers->own, consumers, i, energy, &bill);
	if (bill.is_learned) /* so far, a chunk may have been weighed instead */
		divide(consumers, i, &bill);
	if (gpu)
		wtl_gpu_learned_scale(gpu, &bill.uses, bill.n_uses);
	note_recent(consumers, domain, &bill);
	learn(consumers, i, &bill, t_utc_ns);
}

static void add_to_chunk(struct wtl_book *book, const struct wtl_consumers *consumers)
{
	const struct wtl_workload_scan *scan = wtl_workload_scan(consumers->workload);

	if (scan->capacity_ns <= 0)
		begin_chunk(book, consumers);
	else if (book->chunk.recent && !is_rest(consumers))
		wtl_chunk_add(&book->chunk, consumers->learned, scan);
	wtl_consumers_add_to_gpu_chunks(consumers, book);
}

static void add_to_chunks(struct wtl_consumers *consumers)
{
	if (!consumers->learned)
		return;
	for (struct wtl_book *book = consumers->books; book; book = book->next)
		add_to_chunk(book, consumers);
	add_to_chunk(&consumers->own, consumers);
}

void wtl_consumers_look(struct wtl_consumers *consumers)
{
	take_scan(consumers);
	consumers->interval++;
	add_to_chunks(consumers);
}

void wtl_consumers_bill_look(struct wtl_consumers *consumers, const struct wattle_energy energies[],
			     int64_t t_utc_ns)
{
	learn_all_watts(consumers, energies);
	for (size_t i = 0; i < consumers->n_domains; i++)
		bill_domain(consumers, i, &energies[i], t_utc_ns);
	tell_observer(consumers, WTL_SCAN_BILLED, t_utc_ns);
}

void wtl_consumers_bill(struct wtl_consumers *consumers, const struct wattle_energy energies[],
			int64_t t_utc_ns)
{
	wtl_consumers_look(consumers);
	wtl_consumers_bill_look(consumers, energies, t_utc_ns);
}

void wtl_consumers_settle(struct wtl_consumers *consumers)
{
	if (!consumers->learned)
		return;
	wtl_chunk_settle(&consumers->own.chunk);
	tell_observer(consumers, WTL_SCAN_SETTLED, 0);
}

void wtl_consumers_machine_changed(struct wtl_consumers *consumers)
{
	if (!consumers->learned)
		return;
	wtl_learned_doubt(consumers->learned);
	wtl_consumers_doubt_gpu_watts(consumers);
	wtl_chunk_settle(&consumers->own.chunk);
	for (struct wtl_book *book = consumers->books; book; book = book->next)
		wtl_chunk_settle(&book->chunk);
	tell_observer(consumers, WTL_SCAN_MACHINE_CHANGED, 0);
}

/* ---- Books beside the own one ---- */

struct wtl_book *wtl_consumers_open_book(struct wtl_consumers *consumers)
{
	size_t n_slots = wtl_workload_capacity(consumers->workload);
	struct wtl_book *book = calloc(1, sizeof(*book));

	if (!book)
		return NULL;
	book->energies = calloc(consumers->n_domains, sizeof(*book->energies));
	book->cpu_base_ns = calloc(n_slots, sizeof(*book->cpu_base_ns));
	book->next = consumers->books;
	consumers->books = book;
	if (book_open(book, consumers) < 0 || !book->energies || !book->cpu_base_ns ||
	    (wtl_consumers_learns_gpus(consumers) &&
	     wtl_chunk_add_gpus(&book->chunk, consumers->n_gpus) < 0)) {
		wtl_consumers_close_book(consumers, book);
		return NULL;
	}
	book->n_cpu_base = n_slots;
	for (size_t slot = 0; slot < n_slots; slot++) {
		const struct wtl_consumer *consumer = wtl_consumers_get(consumers, slot);

		if (consumer)
			book->cpu_base_ns[slot] = consumer->cpu_ns;
	}
	return book;
}

void wtl_consumers_close_book(struct wtl_consumers *consumers, struct wtl_book *book)
{
	struct wtl_book **at = &consumers->books;

	while (*at && *at != book)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = book->next;
	book_close(book);
	free(book->energies);
	free(book->cpu_base_ns);
	free(book);
}

struct wattle_energy *wtl_book_energies(struct wtl_book *book)
{
	return book->energies;
}

/* ---- Idle baselines ---- */

void wtl_consumers_set_baseline(struct wtl_consumers *consumers, size_t domain,
				const struct wtl_baseline *baseline)
{
	wtl_baseline_learner_start(consumers->domains[domain].learner, baseline);
}

void wtl_consumers_fix_baseline(struct wtl_consumers *consumers, size_t domain,
				const struct wtl_baseline *baseline)
{
	wtl_baseline_learner_fix(consumers->domains[domain].learner, baseline);
}

/* ---- Watts that were known before ---- */

int wtl_consumers_know_watts(struct wtl_consumers *consumers, const struct wtl_known_watts *known)
{
	return consumers->learned ? wtl_learned_know(consumers->learned, known) : 0;
}

const struct wtl_known_table *wtl_consumers_keep_watts(const struct wtl_consumers *consumers,
						       int64_t t_utc_ns)
{
	wtl_consumers_keep_gpu_watts(consumers, t_utc_ns);
	return consumers->learned ? wtl_learned_keep(consumers->learned, t_utc_ns) : NULL;
}

const struct wtl_known_watts *wtl_consumers_begun(const struct wtl_consumers *consumers, size_t i)
{
	return wtl_learned_begun(consumers->learned, i);
}
