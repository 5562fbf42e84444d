/* SPDX-License-Identifier: MIT */
/* GPUs' energy is divided by who uses them: their drivers know pids, the accounts slots. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "energy/domain.h"
#include "meter/consumers_state.h"
#include "meter/meter.h"
#include "sensors/gpu_info.h"

#define ALL_PPM 1000000

const struct wtl_use wtl_unseen_alone = {.slot = WTL_SLOT_UNSEEN, .weight = 1};

/* What lies in a GPU is used by the same processes. */
static void match_gpus(struct wtl_consumers *consumers)
{
	for (size_t i = 0; i < consumers->n_domains; i++)
		for (size_t k = 0; k < consumers->n_gpus; k++)
			if (consumers->domains[i].by == WTL_DIVIDED_BY_GPU &&
			    wtl_domain_is_of_gpu(consumers->domains[i].name,
						 consumers->gpu_divisions[k].domain))
				consumers->domains[i].gpu = (int)k;
}

static bool has_gpus(const struct wtl_consumers *consumers)
{
	for (size_t i = 0; i < consumers->n_domains; i++)
		if (consumers->domains[i].by == WTL_DIVIDED_BY_GPU)
			return true;
	return false;
}

/* Which GPUs there are is asked once. */
static int open_use(const struct wtl_consumers *consumers, const struct wtl_env *env,
		    const char *nvml_path, struct wtl_gpu_use **ret_use, struct wtl_err *err)
{
	const struct wtl_source_options how = {.nvml_path = nvml_path,
					       .left_out = consumers->meter->catalog.left_out,
					       .machine = &consumers->meter->machine};
	const struct wtl_gpu *gpus;
	struct wtl_gpu_reader *reader;
	size_t n;
	int rc = wtl_gpu_reader_new(env, &how, &reader, err);

	if (rc < 0)
		return rc;
	gpus = wtl_gpu_reader_gpus(reader, &n);
	rc = wtl_gpu_use_new(env, nvml_path, gpus, n, ret_use, err);
	wtl_gpu_reader_free(reader);
	return rc;
}

static int open_divisions(struct wtl_consumers *consumers)
{
	size_t n;
	const struct wtl_gpu_use_gpu *gpus = wtl_gpu_watch_gpus(consumers->gpu_watch, &n);

	consumers->gpu_divisions = calloc(n, sizeof(*consumers->gpu_divisions));
	if (!consumers->gpu_divisions)
		return -ENOMEM;
	consumers->n_gpus = n;
	for (size_t i = 0; i < n; i++)
		memcpy(consumers->gpu_divisions[i].domain, gpus[i].domain, sizeof(gpus[i].domain));
	return 0;
}

int wtl_consumers_open_gpus(struct wtl_consumers *consumers, const struct wtl_env *env,
			    const struct wtl_consumers_options *options, struct wtl_err *err)
{
	struct wtl_gpu_use *use;
	int rc;

	if (!has_gpus(consumers))
		return 0;
	rc = open_use(consumers, env, options->nvml_path, &use, err);
	if (rc == 0)
		rc = wtl_gpu_watch_new(env->io, use, &consumers->gpu_watch);
	if (rc == 0)
		rc = open_divisions(consumers);
	if (rc == 0)
		match_gpus(consumers);
	if (rc == 0 && consumers->learned)
		rc = wtl_consumers_learn_gpus(consumers);
	return rc;
}

bool wtl_consumers_close_gpus(struct wtl_consumers *consumers)
{
	wtl_consumers_free_gpu_watts(consumers);
	for (size_t i = 0; i < consumers->n_gpus; i++) {
		free(consumers->gpu_divisions[i].room);
		free(consumers->gpu_divisions[i].seen);
		free(consumers->gpu_divisions[i].before);
	}
	free(consumers->gpu_divisions);
	free(consumers->gpu_slots);
	return wtl_gpu_watch_free(consumers->gpu_watch);
}

/* The account of a GPU's process; WTL_SLOT_UNSEEN if it has ended meanwhile. */
static uint32_t slot_of(struct wtl_consumers *consumers, const struct wtl_gpu_use_process *process)
{
	int64_t slot;

	if (process->is_visible) {
		slot = wtl_workload_find(consumers->workload, process->pid);
		/* Its name is otherwise read when it uses the processors, which it may never do. */
		if (slot >= 0)
			wtl_workload_name(consumers->workload, (uint32_t)slot);
	} else {
		slot = wtl_workload_outsider(consumers->workload, process->pid, process->name);
	}
	return slot < 0 ? WTL_SLOT_UNSEEN : (uint32_t)slot;
}

/* A process may be on several GPUs: its figures are their sums. */
static void note_process(struct wtl_consumers *consumers, uint32_t slot,
			 const struct wtl_gpu_use_process *process)
{
	const struct wtl_consumer *consumer = wtl_workload_consumer(consumers->workload, slot);
	uint64_t memory_bytes = process->memory_bytes;
	uint32_t use_ppm = process->use_ppm;

	if (!consumer)
		return;
	if (consumer->gpu_memory_bytes != UINT64_MAX)
		memory_bytes = memory_bytes == UINT64_MAX
				       ? consumer->gpu_memory_bytes
				       : memory_bytes + consumer->gpu_memory_bytes;
	if (consumer->gpu_ppm != UINT32_MAX)
		use_ppm = use_ppm == UINT32_MAX ? consumer->gpu_ppm : use_ppm + consumer->gpu_ppm;
	wtl_workload_set_gpu(consumers->workload, slot, memory_bytes, use_ppm);
	consumers->gpu_slots[consumers->n_gpu_slots++] = slot;
}

static void forget_figures(struct wtl_consumers *consumers)
{
	for (size_t i = 0; i < consumers->n_gpu_slots; i++)
		if (wtl_workload_consumer(consumers->workload, consumers->gpu_slots[i]))
			wtl_workload_set_gpu(consumers->workload, consumers->gpu_slots[i],
					     UINT64_MAX, UINT32_MAX);
	consumers->n_gpu_slots = 0;
}

/* ---- Who used a GPU since the last scan ---- */

static const struct wtl_gpu_seen *find_seen(const struct wtl_gpu_seen seen[], size_t n, int pid)
{
	for (size_t i = 0; i < n; i++)
		if (seen[i].pid == pid)
			return &seen[i];
	return NULL;
}

static void add_use(struct wtl_gpu_division *division, uint32_t slot, uint64_t weight)
{
	size_t i = 0;

	while (i < division->n_uses && division->room[i].slot != slot)
		i++;
	if (i == division->n_uses)
		division->room[division->n_uses++] = (struct wtl_use){.slot = slot};
	division->room[i].weight += weight;
}

/* Begins a new list, empty and without uses. Returns the length of the one before. */
static size_t begin_list(struct wtl_gpu_division *division)
{
	struct wtl_gpu_seen *before = division->seen;
	size_t n_before = division->n_seen, size_before = division->size_seen;

	division->seen = division->before;
	division->size_seen = division->size_before;
	division->before = before;
	division->size_before = size_before;
	division->n_seen = 0;
	division->n_uses = 0;
	return n_before;
}

/* Room for all that are listed now or were before, and for use that is unseen. */
static bool reserve(struct wtl_consumers *consumers, struct wtl_gpu_division *division, size_t n,
		    size_t n_before)
{
	if (wtl_array_reserve(&division->room, &division->size_room, n + n_before + 1,
			      sizeof(*division->room)) < 0 ||
	    wtl_array_reserve(&division->seen, &division->size_seen, n, sizeof(*division->seen)) <
		    0 ||
	    wtl_array_reserve(&consumers->gpu_slots, &consumers->size_gpu_slots,
			      consumers->n_gpu_slots + n, sizeof(*consumers->gpu_slots)) < 0)
		return false;
	division->uses = division->room;
	return true;
}

/* Without memory it is not known who used it. */
static void divide_gpu(struct wtl_consumers *consumers, struct wtl_gpu_division *division,
		       const struct wtl_gpu_use_gpu *gpu)
{
	size_t n_before = begin_list(division);
	bool agrees = wtl_gpu_use_methods_agree(division->method, gpu->method);
	uint64_t use_ppm = 0;

	division->method = WTL_GPU_USE_NONE;
	if (!reserve(consumers, division, gpu->n_processes, n_before))
		return;
	division->method = gpu->method;
	for (size_t i = 0; i < gpu->n_processes; i++) {
		const struct wtl_gpu_use_process *process = &gpu->processes[i];
		const struct wtl_gpu_seen *before =
			find_seen(division->before, n_before, process->pid);
		uint32_t slot = slot_of(consumers, process);

		/* Listed when its driver was asked, and ended since. */
		if (slot == WTL_SLOT_UNSEEN && before)
			slot = before->slot;
		note_process(consumers, slot, process);
		add_use(division, slot, process->weight);
		use_ppm += process->use_ppm == UINT32_MAX ? ALL_PPM : process->use_ppm;
		division->seen[division->n_seen++] = (struct wtl_gpu_seen){
			.pid = process->pid, .slot = slot, .weight = process->weight};
	}
	if (gpu->unseen_weight > 0) {
		add_use(division, WTL_SLOT_UNSEEN, gpu->unseen_weight);
		use_ppm = ALL_PPM;
	}
	division->use_ppm = use_ppm < ALL_PPM ? (uint32_t)use_ppm : ALL_PPM;
	/* Who is not listed any more ended somewhere in between: on average half way. */
	for (size_t i = 0; agrees && i < n_before; i++) {
		const struct wtl_gpu_seen *ended = &division->before[i];

		if (!find_seen(division->seen, division->n_seen, ended->pid))
			add_use(division, ended->slot, ended->weight / 2);
	}
}

void wtl_consumers_scan_gpus(struct wtl_consumers *consumers)
{
	const struct wtl_gpu_use_gpu *gpus;

	if (!consumers->gpu_watch)
		return;
	wtl_gpu_watch_take(consumers->gpu_watch);
	forget_figures(consumers);
	gpus = wtl_gpu_watch_gpus(consumers->gpu_watch, &consumers->n_gpus);
	for (size_t i = 0; i < consumers->n_gpus; i++)
		divide_gpu(consumers, &consumers->gpu_divisions[i], &gpus[i]);
	wtl_workload_keep_outsiders(consumers->workload, consumers->gpu_slots,
				    consumers->n_gpu_slots);
}

void wtl_consumers_fold_gpus(struct wtl_consumers *consumers, uint32_t from, uint32_t into)
{
	for (size_t i = 0; i < consumers->n_gpus; i++) {
		struct wtl_gpu_division *division = &consumers->gpu_divisions[i];

		for (size_t k = 0; k < division->n_seen; k++)
			if (division->seen[k].slot == from)
				division->seen[k].slot = into;
	}
}

void wtl_consumers_reset_gpus(struct wtl_consumers *consumers)
{
	for (size_t i = 0; i < consumers->n_gpus; i++) {
		struct wtl_gpu_division *division = &consumers->gpu_divisions[i];
		size_t kept = 0;

		for (size_t k = 0; k < division->n_seen; k++)
			if (wtl_workload_consumer(consumers->workload, division->seen[k].slot))
				division->seen[kept++] = division->seen[k];
		division->n_seen = kept;
	}
}

static const struct wtl_gpu_division *division_of(const struct wtl_consumers *consumers,
						  const struct wtl_divided_domain *domain)
{
	return domain->gpu < 0 ? NULL : &consumers->gpu_divisions[domain->gpu];
}

size_t wtl_consumers_gpu_uses(const struct wtl_consumers *consumers,
			      const struct wtl_divided_domain *domain,
			      const struct wtl_use **ret_uses, uint32_t *ret_use_ppm)
{
	const struct wtl_gpu_division *division = division_of(consumers, domain);

	*ret_uses = &wtl_unseen_alone;
	*ret_use_ppm = ALL_PPM;
	if (!division || division->method == WTL_GPU_USE_NONE)
		return 1;
	*ret_uses = division->uses;
	*ret_use_ppm = division->use_ppm;
	return division->n_uses;
}

void wtl_consumers_bill_gpu_time(const struct wtl_consumers *consumers, struct wtl_book *book,
				 const struct wtl_divided_domain *domain, int64_t duration_ns)
{
	const struct wtl_use *uses;
	uint32_t use_ppm;
	size_t n;

	if (!domain->is_gpu || domain->gpu < 0 || wtl_consumers_gpu_is_guess(consumers, domain))
		return;
	n = wtl_consumers_gpu_uses(consumers, domain, &uses, &use_ppm);
	wtl_attribution_add(book->attribution, consumers->n_domains,
			    (uint64_t)((double)duration_ns * use_ppm / 1e6), 0, uses, n);
}

bool wtl_consumers_gpu_is_guess(const struct wtl_consumers *consumers,
				const struct wtl_divided_domain *domain)
{
	const struct wtl_gpu_division *division = division_of(consumers, domain);

	return division && wtl_gpu_use_method_is_guess(division->method);
}

const char *wtl_consumers_gpu_weight(const struct wtl_consumers *consumers,
				     const struct wtl_divided_domain *domain)
{
	const struct wtl_gpu_division *division = division_of(consumers, domain);

	return division ? wtl_gpu_use_method_name(division->method) : NULL;
}

/* ---- Observed, and restored ---- */

int wtl_consumers_open_restored_gpus(struct wtl_consumers *consumers, const char *const domains[],
				     size_t n)
{
	consumers->gpu_divisions = calloc(n, sizeof(*consumers->gpu_divisions));
	if (!consumers->gpu_divisions)
		return -ENOMEM;
	consumers->n_gpus = n;
	for (size_t i = 0; i < n; i++)
		wtl_text_copy(consumers->gpu_divisions[i].domain,
			      sizeof(consumers->gpu_divisions[i].domain), domains[i]);
	match_gpus(consumers);
	return 0;
}

void wtl_consumers_restore_gpu(struct wtl_consumers *consumers, size_t i,
			       const struct wtl_gpu_scan *gpu)
{
	struct wtl_gpu_division *division = &consumers->gpu_divisions[i];

	division->method = gpu->method;
	division->use_ppm = gpu->use_ppm;
	division->uses = gpu->uses;
	division->n_uses = gpu->n_uses;
}

size_t wtl_consumers_gpus(const struct wtl_consumers *consumers)
{
	return consumers->n_gpus;
}

void wtl_consumers_gpu(const struct wtl_consumers *consumers, size_t i,
		       struct wtl_gpu_scan *ret_gpu)
{
	const struct wtl_gpu_division *division = &consumers->gpu_divisions[i];

	*ret_gpu = (struct wtl_gpu_scan){
		.domain = division->domain,
		.method = division->method,
		.use_ppm = division->use_ppm,
		.uses = division->uses,
		.n_uses = division->n_uses,
	};
}
