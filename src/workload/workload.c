/* SPDX-License-Identifier: MIT */
#include "workload/workload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "energy/units.h"
#include "workload/state.h"

enum {
	SLOTS_DEFAULT = 65536,
	SLOTS_MIN = 64,
	EXITED_DEFAULT = 4096,
	READS_DEFAULT = 256,
	GROUPS_MANY = WTL_GROUPS_MAX - WTL_GROUPS_MAX / 8,
	GROUPS_SCANS = 16, /* at every such scan where nearly all were in use */
};

static void options_set(struct wtl_workload_options *options,
			const struct wtl_workload_options *given)
{
	if (given)
		*options = *given;
	if (options->max_slots == 0)
		options->max_slots = SLOTS_DEFAULT;
	if (options->max_slots < SLOTS_MIN)
		options->max_slots = SLOTS_MIN;
	if (options->max_exited == 0)
		options->max_exited = EXITED_DEFAULT;
	if (options->reads_per_scan == 0)
		options->reads_per_scan = READS_DEFAULT;
}

int wtl_workload_new(const struct wtl_env *env, const struct wtl_workload_options *options,
		     struct wtl_workload **ret_workload, struct wtl_err *err)
{
	struct wtl_workload *workload = calloc(1, sizeof(*workload));

	if (!workload)
		return wtl_err_set(err, ENOMEM, "workload", NULL, "out of memory");
	workload->io = env->io;
	workload->find.loadavg = workload->stat = workload->exits = -1;
	options_set(&workload->options, options);
	workload->groups = wtl_groups_new();
	workload->rows.rows = calloc(WTL_ROWS_MAX, sizeof(*workload->rows.rows));
	if (!workload->groups || !workload->rows.rows ||
	    wtl_roster_init(&workload->roster, workload->options.max_slots) < 0 ||
	    wtl_clocks_open(workload) < 0 || wtl_find_open(workload) < 0) {
		wtl_workload_free(workload);
		return wtl_err_set(err, ENOMEM, "workload", NULL, "out of memory");
	}
	wtl_ended_open(workload);
	wtl_short_lived_open(workload);
	wtl_means_open(workload);
	if (wtl_counters_open(workload) < 0) {
		wtl_workload_free(workload);
		return wtl_err_set(err, ENOMEM, "workload", NULL, "out of memory");
	}
	wtl_means_update(workload);
	*ret_workload = workload;
	return 0;
}

void wtl_workload_free(struct wtl_workload *workload)
{
	if (!workload)
		return;
	wtl_counters_close(workload);
	wtl_ended_close(workload);
	wtl_short_lived_close(workload);
	wtl_find_close(workload);
	wtl_clocks_close(workload);
	wtl_roster_done(&workload->roster);
	wtl_groups_free(workload->groups);
	for (unsigned i = 0; i < WTL_SETS_MAX; i++)
		free(workload->chosen_groups[i]);
	wtl_hash_done(&workload->rows.by_key);
	free(workload->rows.rows);
	free(workload);
}

/* Numbers of those that ended are free again. */
static void forget_ended(struct wtl_workload *workload)
{
	struct wtl_roster *roster = &workload->roster;

	for (uint32_t i = roster->n_ended; i-- > 0;) {
		if (roster->places[roster->ended[i]].scan_ended != workload->n_scans)
			break;
		wtl_roster_forget(roster, roster->ended[i]);
	}
}

/* ---- A scan ---- */

static void begin_set(struct wtl_workload *workload)
{
	workload->begin_ticks = (uint64_t)(workload->t_boot_ns / WTL_NS_PER_TICK);
}

/*
 * When there are nearly as many groups as may be, those that no consumer is in are given up: on a machine
 * that makes new ones without end, most are gone.
 */
static void give_up_groups(struct wtl_workload *workload)
{
	const struct wtl_roster *roster = &workload->roster;
	const struct wtl_group **used;
	size_t n = 0;

	if (wtl_groups_count(workload->groups) < GROUPS_MANY ||
	    (workload->n_groups_kept >= GROUPS_MANY && workload->n_scans % GROUPS_SCANS))
		return;
	used = calloc(roster->n_used, sizeof(*used));
	if (!used)
		return;
	/* Rows have consumers, too. */
	for (uint32_t slot = 0; slot < roster->n_used; slot++)
		if (roster->places[slot].kind != WTL_PLACE_FREE && roster->consumers[slot].group)
			used[n++] = roster->consumers[slot].group;
	/* short_lived.c's units refer to groups by address and by number. */
	wtl_short_lived_close(workload);
	wtl_groups_sweep(workload->groups, used, n);
	workload->n_groups_kept = wtl_groups_count(workload->groups);
	free(used);
}

static void scan_begin(struct wtl_workload *workload)
{
	int64_t t_mono_ns = wtl_io_mono_ns(workload->io);
	struct wtl_workload_scan *scan = &workload->scan;
	int64_t duration_ns = t_mono_ns - scan->t_mono_ns;

	workload->n_scans++;
	workload->no_memory = false;
	workload->before_ticks = (uint64_t)(workload->t_boot_ns / WTL_NS_PER_TICK);
	workload->t_boot_ns = wtl_io_boot_ns(workload->io);
	*scan = (struct wtl_workload_scan){
		.t_mono_ns = t_mono_ns,
		.duration_ns = workload->n_scans > 1 && duration_ns > 0 ? duration_ns : 0,
	};
	if (workload->n_scans == 1)
		begin_set(workload);
	wtl_roster_begin(&workload->roster, workload->n_scans);
	wtl_rows_fold_ended(workload);
	give_up_groups(workload);
}

/* What is left of the machine's busy time when everyone has been billed. */
static void bill_rest(struct wtl_workload *workload)
{
	struct wtl_roster *roster = &workload->roster;

	/* Without the live ones' clocks, what is left is theirs. */
	if (workload->clocks_failed)
		return;
	wtl_roster_use(roster, WTL_SLOT_INTERRUPTS, wtl_busy_take_interrupts(&workload->busy));
	wtl_roster_use(roster, WTL_SLOT_UNSEEN, wtl_busy_take_unseen(&workload->busy));
}

/* Growth may have moved the arrays. */
static void scan_point(struct wtl_workload *workload)
{
	workload->scan.uses = workload->roster.uses;
	workload->scan.folds = workload->roster.folds;
}

static uint32_t share_ppm(uint64_t weight_ns, int64_t duration_ns)
{
	uint64_t ppm;

	if (duration_ns <= 0)
		return 0;
	ppm = (uint64_t)((unsigned __int128)weight_ns * 1000000 / (uint64_t)duration_ns);
	return ppm < UINT32_MAX ? (uint32_t)ppm : UINT32_MAX;
}

static void scan_end(struct wtl_workload *workload)
{
	struct wtl_roster *roster = &workload->roster;
	struct wtl_workload_scan *scan = &workload->scan;
	uint64_t busy_ns = 0;

	for (uint32_t i = 0; i < roster->n_used_now; i++) {
		uint32_t slot = roster->used[i];
		uint64_t weight_ns = roster->places[slot].weight_ns;

		roster->consumers[slot].cpu_ppm = share_ppm(weight_ns, scan->duration_ns);
		busy_ns += weight_ns;
	}
	wtl_counters_weigh(workload);
	for (uint32_t i = 0; i < roster->n_used_now; i++)
		roster->uses[i] =
			(struct wtl_use){.slot = roster->used[i],
					 .weight = roster->places[roster->used[i]].weight_ns};
	wtl_counters_follow(workload);
	if (scan->capacity_ns > 0 && busy_ns > (uint64_t)scan->capacity_ns)
		busy_ns = (uint64_t)scan->capacity_ns;
	scan->busy_ns = (int64_t)busy_ns;
	scan->n_uses = roster->n_used_now;
	scan->n_folds = roster->n_folds;
	scan_point(workload);
}

/* A restored scan is taken once: nobody ran since. */
static void tick_restored(struct wtl_workload *workload)
{
	if (!workload->has_restored_scan)
		workload->scan = (struct wtl_workload_scan){.t_mono_ns = workload->scan.t_mono_ns};
	workload->has_restored_scan = false;
}

int wtl_workload_tick(struct wtl_workload *workload)
{
	if (workload->is_restored) {
		tick_restored(workload);
		return 0;
	}
	scan_begin(workload);
	wtl_find_new(workload);
	wtl_clocks_read_machine(workload);
	wtl_clocks_read(workload);
	wtl_names_read_born(workload);
	if (workload->exits >= 0)
		wtl_ended_read(workload);
	wtl_children_forget(workload);
	wtl_short_lived_read(workload);
	bill_rest(workload);
	forget_ended(workload);
	wtl_names_read_some(workload);
	scan_end(workload);
	wtl_means_update(workload);
	return workload->no_memory ? -ENOMEM : 0;
}

const struct wtl_workload_scan *wtl_workload_scan(const struct wtl_workload *workload)
{
	return &workload->scan;
}

void wtl_workload_reset(struct wtl_workload *workload)
{
	struct wtl_roster *roster = &workload->roster;

	workload->scan.n_uses = workload->scan.n_folds = 0;
	workload->scan.busy_ns = 0;
	if (workload->is_restored)
		return;
	begin_set(workload);
	workload->follows_tree = false;
	workload->tree_cpu_ns = 0;
	wtl_roster_begin(roster, workload->n_scans);
	for (uint32_t i = 0; i < roster->n_ended; i++)
		wtl_roster_remove(roster, roster->ended[i]);
	roster->n_ended = 0;
	workload->kernel_ended = false;
	workload->children.n = 0;
	wtl_rows_reset(workload);
	wtl_short_lived_reset(workload);
	wtl_counters_reset(workload);
	for (uint32_t slot = 0; slot < roster->n_used; slot++) {
		if (roster->places[slot].kind == WTL_PLACE_OUTSIDER) {
			wtl_roster_remove(roster, slot);
		} else {
			/* What is left of an earlier tree does not belong to the next one. */
			roster->consumers[slot].is_in_tree = false;
			roster->consumers[slot].cpu_ns = roster->consumers[slot].counted_ns = 0;
		}
	}
}

/* ---- Answers ---- */

size_t wtl_workload_capacity(const struct wtl_workload *workload)
{
	return workload->roster.capacity;
}

static bool is_consumer(const struct wtl_workload *workload, uint32_t slot)
{
	const struct wtl_roster *roster = &workload->roster;

	return slot < roster->n_used && roster->places[slot].kind != WTL_PLACE_FREE &&
	       roster->places[slot].kind != WTL_PLACE_FIXED;
}

const struct wtl_consumer *wtl_workload_consumer(const struct wtl_workload *workload, uint32_t slot)
{
	return is_consumer(workload, slot) ? &workload->roster.consumers[slot] : NULL;
}

uint32_t wtl_workload_next(const struct wtl_workload *workload, uint32_t slot)
{
	while (slot < workload->roster.n_used && !is_consumer(workload, slot))
		slot++;
	return slot < workload->roster.n_used ? slot : workload->roster.capacity;
}

void wtl_workload_name_all(struct wtl_workload *workload)
{
	workload->names_all = true;
}

void wtl_workload_name(struct wtl_workload *workload, uint32_t slot)
{
	wtl_names_read_once(workload, slot);
}

int64_t wtl_workload_find(const struct wtl_workload *workload, int pid)
{
	uint32_t slot = wtl_roster_find(&workload->roster, pid);

	return slot != WTL_NO_SLOT ? (int64_t)slot : -ESRCH;
}

static bool is_outsider(const struct wtl_roster *roster, uint32_t slot)
{
	return roster->places[slot].kind == WTL_PLACE_OUTSIDER &&
	       roster->consumers[slot].state == WTL_CONSUMER_LIVE;
}

int64_t wtl_workload_outsider(struct wtl_workload *workload, int pid, const char *name)
{
	struct wtl_roster *roster = &workload->roster;
	struct wtl_consumer *consumer;
	int64_t slot;

	for (uint32_t i = 0; i < roster->n_used; i++)
		if (is_outsider(roster, i) && roster->consumers[i].pid == pid)
			return i;
	slot = wtl_roster_add(roster, WTL_PLACE_OUTSIDER);
	scan_point(workload);
	if (slot < 0)
		return slot;
	consumer = &roster->consumers[slot];
	consumer->pid = pid;
	consumer->is_readable = false;
	if (name[0])
		wtl_text_clean(consumer->name, sizeof(consumer->name), name, strlen(name));
	else
		snprintf(consumer->name, sizeof(consumer->name), "host pid %d", pid);
	return slot;
}

void wtl_workload_keep_outsiders(struct wtl_workload *workload, const uint32_t slots[], size_t n)
{
	struct wtl_roster *roster = &workload->roster;

	for (uint32_t slot = 0; slot < roster->n_used; slot++) {
		size_t i = 0;

		if (!is_outsider(roster, slot))
			continue;
		while (i < n && slots[i] != slot)
			i++;
		if (i == n)
			wtl_roster_end(roster, slot);
	}
}

void wtl_workload_set_gpu(struct wtl_workload *workload, uint32_t slot, uint64_t memory_bytes,
			  uint32_t gpu_ppm)
{
	if (!is_consumer(workload, slot))
		return;
	workload->roster.consumers[slot].gpu_memory_bytes = memory_bytes;
	workload->roster.consumers[slot].gpu_ppm = gpu_ppm;
}

void wtl_workload_set_watts_key(struct wtl_workload *workload, uint32_t slot, uint32_t key)
{
	if (is_consumer(workload, slot))
		workload->roster.consumers[slot].watts_key = key;
}

enum wtl_weight wtl_workload_weight(const struct wtl_workload *workload)
{
	return workload->weight;
}

int wtl_workload_weight_error(const struct wtl_workload *workload)
{
	return workload->counters_error;
}

void wtl_workload_probe_weights(struct wtl_workload *workload)
{
	wtl_counters_probe(workload);
	wtl_means_update(workload);
}

/* ---- The tree ---- */

/* Puts the consumer into the trees that its parent is in; false: it was in all of them. */
static bool take_over(struct wtl_consumer *consumer, const struct wtl_consumer *parent,
		      uint16_t trees)
{
	uint16_t more = parent->sets & trees & (uint16_t)~consumer->sets;

	if ((consumer->is_in_tree || !parent->is_in_tree) && !more)
		return false;
	consumer->is_in_tree |= parent->is_in_tree;
	consumer->sets |= more;
	return true;
}

/* Marks whoever has a marked parent, until nobody is left. */
static void tree_spread(struct wtl_roster *roster, uint16_t trees)
{
	bool is_done = false;

	while (!is_done) {
		is_done = true;
		for (uint32_t i = 0; i < roster->n_live; i++) {
			struct wtl_consumer *consumer = &roster->consumers[roster->slots[i]];
			uint32_t parent = wtl_roster_find(roster, consumer->parent);

			if (parent != WTL_NO_SLOT &&
			    take_over(consumer, &roster->consumers[parent], trees))
				is_done = false;
		}
	}
}

/* The slot of a tree's first process, or WTL_NO_SLOT. */
static uint32_t find_root(struct wtl_workload *workload, int pid, bool *ret_is_new)
{
	uint32_t slot = wtl_roster_find(&workload->roster, pid);

	*ret_is_new = slot == WTL_NO_SLOT;
	if (*ret_is_new) {
		slot = wtl_find_one(workload, pid);
		scan_point(workload);
	}
	return slot;
}

static void mark_descendants(struct wtl_workload *workload)
{
	struct wtl_roster *roster = &workload->roster;

	for (uint32_t i = 0; i < roster->n_live; i++)
		if (!roster->places[roster->slots[i]].has_stat)
			wtl_names_read_stat(workload, roster->slots[i]);
	tree_spread(roster, workload->chosen_trees);
}

int wtl_workload_follow_tree(struct wtl_workload *workload, int pid)
{
	bool is_new;
	uint32_t slot = find_root(workload, pid, &is_new);

	if (slot == WTL_NO_SLOT)
		return -ESRCH;
	workload->follows_tree = true;
	workload->tree_pid = pid;
	workload->roster.consumers[slot].is_in_tree = true;
	if (!is_new) /* nobody known descends from a new one: they were all born before */
		mark_descendants(workload);
	return 0;
}

int wtl_workload_choose_tree(struct wtl_workload *workload, unsigned set, int pid)
{
	bool is_new;
	uint32_t slot = find_root(workload, pid, &is_new);

	if (slot == WTL_NO_SLOT)
		return -ESRCH;
	workload->chosen_trees |= (uint16_t)(1u << set);
	workload->roster.consumers[slot].sets |= (uint16_t)(1u << set);
	if (!is_new)
		mark_descendants(workload);
	return 0;
}

int wtl_workload_choose_group(struct wtl_workload *workload, unsigned set, const char *cgroup)
{
	struct wtl_roster *roster = &workload->roster;

	workload->chosen_groups[set] = strdup(cgroup);
	if (!workload->chosen_groups[set])
		return -ENOMEM;
	for (uint32_t i = 0; i < roster->n_live; i++) {
		uint32_t slot = roster->slots[i];

		wtl_names_read_once(workload, slot);
		roster->consumers[slot].sets |=
			wtl_workload_group_sets(workload, roster->consumers[slot].group);
	}
	return 0;
}

void wtl_workload_choose_nobody(struct wtl_workload *workload, unsigned set)
{
	uint16_t others = (uint16_t) ~(1u << set);

	workload->chosen_trees &= others;
	free(workload->chosen_groups[set]);
	workload->chosen_groups[set] = NULL;
	for (uint32_t slot = 0; slot < workload->roster.n_used; slot++)
		workload->roster.consumers[slot].sets &= others;
	wtl_rows_forget_set(workload, others);
}

void wtl_workload_tree_ended(struct wtl_workload *workload, int64_t cpu_ns)
{
	workload->tree_cpu_ns = cpu_ns;
}
