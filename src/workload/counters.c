/* SPDX-License-Identifier: MIT */
/* What the hardware counts of each process, as the weight of its use. */
#include "workload/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "energy/units.h"
#include "workload/state.h"

enum {
	USED_MIN_NS = 5000000, /* whoever uses less in a scan is not worth the descriptors */
	OVER_MIN_NS = 1000000, /* a rate over less is chance */
	THREADS_MAX = 32,      /* of one process */
	NEW_MAX = 32,	       /* processes in one scan */
	SPARE = 8,	       /* descriptors for others, where there are too few */
	NAMES_MAX = 1 << 20,
};

const char *const wtl_weight_names[WTL_WEIGHTS + 1] = {
	[WTL_WEIGHT_CPU_TIME] = "cpu-time",
	[WTL_WEIGHT_INSTRUCTIONS] = "instructions",
	[WTL_WEIGHT_CYCLES] = "cycles",
	[WTL_WEIGHT_LEARNED] = "learned",
};

static const uint64_t configs[WTL_WEIGHTS] = {
	[WTL_WEIGHT_INSTRUCTIONS] = PERF_COUNT_HW_INSTRUCTIONS,
	[WTL_WEIGHT_CYCLES] = PERF_COUNT_HW_CPU_CYCLES,
};

const char *wtl_weight_name(enum wtl_weight weight)
{
	return wtl_weight_names[weight];
}

int wtl_weight_find(const char *name)
{
	for (int i = 0; i < WTL_WEIGHTS; i++)
		if (strcmp(wtl_weight_names[i], name) == 0)
			return i;
	return -EINVAL;
}

/* ---- Is it offered? ---- */

static int counter_open(struct wtl_io *io, uint64_t config, int task)
{
	const struct wtl_perf_event event = {
		.type = PERF_TYPE_HARDWARE, .config = config, .cpu = -1, .task = task};

	if (!io->ops->perf_count)
		return -EOPNOTSUPP;
	return wtl_io_perf_open(io, &event);
}

/* This process, or else one that is always there. */
static int probe_task(struct wtl_io *io)
{
	char text[32];
	ssize_t len = wtl_io_link_read(io, "/proc/self", text, sizeof(text));
	uint64_t pid;

	if (len <= 0 || wtl_num_u64(text, (size_t)len, &pid) < 0 || pid == 0 || pid > INT32_MAX)
		return 1;
	return (int)pid;
}

/* 0, or why that weight cannot be had for the process. */
static int probe(struct wtl_workload *workload, enum wtl_weight weight, int task)
{
	int file;

	/* In the system call, these numbers would mean other processes. */
	if (workload->numbers_differ)
		return -EXDEV;
	file = counter_open(workload->io, configs[weight], task);
	if (file < 0)
		return file;
	wtl_io_perf_close(workload->io, file);
	return 0;
}

void wtl_counters_probe(struct wtl_workload *workload)
{
	struct wtl_offer *offer = &workload->offer;
	int task = probe_task(workload->io);

	offer->is_known = true;
	for (enum wtl_weight i = WTL_WEIGHT_CPU_TIME + 1; i < WTL_WEIGHT_LEARNED; i++) {
		offer->errors[i] = probe(workload, i, task);
		if (offer->errors[i] == 0)
			offer->is_for_all = probe(workload, i, 1) == 0;
	}
}

int wtl_counters_open(struct wtl_workload *workload)
{
	enum wtl_weight weight = workload->options.weight;
	struct wtl_counters *counters;

	if (weight == WTL_WEIGHT_LEARNED)
		workload->weight = weight;
	if (weight == WTL_WEIGHT_CPU_TIME || weight == WTL_WEIGHT_LEARNED)
		return 0;
	workload->counters_error = probe(workload, weight, probe_task(workload->io));
	if (workload->counters_error < 0)
		return 0;
	counters = calloc(1, sizeof(*counters));
	if (!counters)
		return -ENOMEM;
	counters->config = configs[weight];
	counters->max = WTL_COUNTERS_MAX;
	wtl_buf_init(&counters->names, NAMES_MAX);
	workload->counters = counters;
	return 0;
}

/* ---- Descriptors ---- */

static void counter_remove(struct wtl_io *io, struct wtl_counters *counters, uint32_t i)
{
	wtl_io_perf_close(io, counters->counters[i].file);
	counters->counters[i] = counters->counters[--counters->n_counters];
}

static void counted_remove(struct wtl_io *io, struct wtl_counters *counters, uint32_t i)
{
	uint32_t last = --counters->n_counted;

	for (uint32_t k = counters->n_counters; k-- > 0;)
		if (counters->counters[k].owner == i)
			counter_remove(io, counters, k);
	for (uint32_t k = 0; k < counters->n_counters; k++)
		if (counters->counters[k].owner == last)
			counters->counters[k].owner = i;
	counters->counted[i] = counters->counted[last];
}

void wtl_counters_close(struct wtl_workload *workload)
{
	struct wtl_counters *counters = workload->counters;

	if (!counters)
		return;
	while (counters->n_counted > 0)
		counted_remove(workload->io, counters, counters->n_counted - 1);
	wtl_buf_done(&counters->names);
	free(counters);
	workload->counters = NULL;
}

/* Makes room at the expense of those who used least, if that is much less than used_ns. */
static bool make_room(struct wtl_io *io, struct wtl_counters *counters, int64_t used_ns)
{
	while (counters->n_counted == WTL_COUNTED_MAX || counters->n_counters >= counters->max) {
		uint32_t least = 0;

		for (uint32_t i = 1; i < counters->n_counted; i++)
			if (counters->counted[i].used_ns < counters->counted[least].used_ns)
				least = i;
		if (counters->n_counted == 0 || counters->counted[least].used_ns > used_ns / 2)
			return false;
		counted_remove(io, counters, least);
	}
	return true;
}

/* The table of descriptors is full: what is left is for others. */
static void leave_some(struct wtl_counters *counters)
{
	counters->max = counters->n_counters > SPARE ? counters->n_counters - SPARE : 0;
}

/* For the process that was added last. 0, or why it has none. */
static int thread_open(struct wtl_io *io, struct wtl_counters *counters, int task)
{
	struct wtl_process_counter counter = {.owner = counters->n_counted - 1};
	int rc;

	if (counters->n_counters >= counters->max)
		return -EMFILE;
	counter.file = counter_open(io, counters->config, task);
	if (counter.file == -EMFILE || counter.file == -ENFILE)
		leave_some(counters);
	if (counter.file < 0)
		return counter.file;
	rc = wtl_io_perf_count(io, counter.file, &counter.last);
	if (rc < 0) {
		wtl_io_perf_close(io, counter.file);
		return rc;
	}
	counters->counters[counters->n_counters++] = counter;
	return 0;
}

static int threads_open(struct wtl_io *io, struct wtl_counters *counters, int pid)
{
	char path[48];
	const char *at, *end;
	int n, rc = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	wtl_buf_clear(&counters->names);
	n = wtl_io_dir_read(io, path, &counters->names);
	if (n <= 0)
		return thread_open(io, counters, pid);
	at = counters->names.data;
	end = at + counters->names.len;
	for (int i = 0; i < THREADS_MAX && at < end; i++, at += strlen(at) + 1) {
		uint64_t task;

		if (wtl_num_u64(at, strlen(at), &task) < 0 || task == 0 || task > INT32_MAX)
			continue;
		rc = thread_open(io, counters, (int)task);
		if (rc < 0 && rc != -ESRCH)
			return rc;
	}
	return rc;
}

/* weight: of what it used in this scan, as one of the rest. */
static void process_open(struct wtl_workload *workload, uint32_t slot, uint64_t weight)
{
	struct wtl_counters *counters = workload->counters;
	int pid = workload->roster.consumers[slot].pid, rc;
	uint64_t used_ns = weight;
	uint32_t before;

	if (counters->rest_weight > 0)
		used_ns = (uint64_t)((unsigned __int128)weight * counters->rest_ns /
				     counters->rest_weight);
	if (!make_room(workload->io, counters, (int64_t)used_ns))
		return;
	before = counters->n_counters;
	counters->counted[counters->n_counted++] = (struct wtl_counted){
		.slot = slot,
		.used_ns = (int64_t)used_ns,
		.before_ns = (int64_t)used_ns,
		.before_weight = weight,
	};
	rc = threads_open(workload->io, counters, pid);
	if (counters->n_counters > before)
		return;
	counters->n_counted--;
	/* Not asked for again: it would be refused again. */
	if (rc == -EACCES || rc == -EPERM || rc == -ENOENT)
		workload->roster.places[slot].is_uncountable = true;
}

/* ---- A scan ---- */

static void counter_take(struct wtl_counted *counted, struct wtl_process_counter *counter,
			 const struct wtl_perf_count *now)
{
	const struct wtl_perf_count last = counter->last;
	int64_t enabled_ns = now->enabled_ns - last.enabled_ns;
	int64_t running_ns = now->running_ns - last.running_ns;
	uint64_t count = now->count - last.count;

	counter->last = *now;
	if (running_ns <= 0 || enabled_ns < running_ns || now->count < last.count)
		return;
	/* While other events had the hardware's counter, this one is taken to have gone on at the same rate. */
	count = (uint64_t)((unsigned __int128)count * (uint64_t)enabled_ns / (uint64_t)running_ns);
	counted->count_now += count;
	counted->over_now_ns += enabled_ns;
}

static void counters_read(struct wtl_io *io, struct wtl_counters *counters)
{
	for (uint32_t i = counters->n_counters; i-- > 0;) {
		struct wtl_process_counter *counter = &counters->counters[i];
		struct wtl_counted *counted = &counters->counted[counter->owner];
		struct wtl_perf_count now;

		if (counted->used_ns == 0)
			continue;
		if (wtl_io_perf_count(io, counter->file, &now) < 0)
			counter_remove(io, counters, i);
		else
			counter_take(counted, counter, &now);
	}
}

static void scan_begin(const struct wtl_roster *roster, struct wtl_counters *counters)
{
	for (uint32_t i = 0; i < counters->n_counted; i++) {
		struct wtl_counted *counted = &counters->counted[i];
		const struct wtl_place *place = &roster->places[counted->slot];

		/* Nobody else gets its place before wtl_counters_follow() has seen it end. */
		counted->used_ns = (int64_t)place->weight_ns;
		counted->count_now = 0;
		counted->over_now_ns = 0;
	}
}

/* What is known of everybody's work, in works[]; how many they are. Notes how much was counted. */
static uint32_t works_list(struct wtl_roster *roster, struct wtl_counters *counters)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < counters->n_counted; i++) {
		struct wtl_counted *counted = &counters->counted[i];
		int64_t covered_ns = counted->used_ns;

		if (counted->over_now_ns >= OVER_MIN_NS && counted->count_now > 0) {
			counted->count = counted->count_now;
			counted->over_ns = counted->over_now_ns;
			if (covered_ns > counted->over_ns)
				covered_ns = counted->over_ns;
		}
		if (counted->over_ns == 0)
			continue;
		roster->consumers[counted->slot].counted_ns += covered_ns;
		counters->works[n++] = (struct wtl_work){
			.slot = counted->slot,
			.cpu_ns = counted->used_ns,
			.count = counted->count,
			.over_ns = counted->over_ns,
			.before_ns = counted->before_ns,
			.before_weight = counted->before_weight,
		};
		counted->before_ns = 0;
		counted->before_weight = 0;
	}
	return n;
}

/* Gives everybody else a part of rest_weight, by CPU time. */
static void weigh_rest(struct wtl_roster *roster, uint64_t rest_ns, uint64_t rest_weight)
{
	uint64_t so_far_ns = 0, given = 0;

	for (uint32_t i = 0; i < roster->n_used_now; i++) {
		struct wtl_place *place = &roster->places[roster->used[i]];
		uint64_t end;

		if (place->is_weighed)
			continue;
		so_far_ns += place->weight_ns;
		end = (uint64_t)((unsigned __int128)so_far_ns * rest_weight / rest_ns);
		place->weight_ns = end - given;
		given = end;
	}
}

/* Everybody that used anything gets a weight, taken from the heaviest. */
static void none_is_nothing(struct wtl_roster *roster)
{
	struct wtl_place *places = roster->places;
	uint32_t heaviest = roster->used[0];

	for (uint32_t i = 1; i < roster->n_used_now; i++)
		if (places[roster->used[i]].weight_ns > places[heaviest].weight_ns)
			heaviest = roster->used[i];
	for (uint32_t i = 0; i < roster->n_used_now; i++) {
		struct wtl_place *place = &places[roster->used[i]];

		if (place->weight_ns > 0)
			continue;
		place->weight_ns = 1;
		if (places[heaviest].weight_ns > 1)
			places[heaviest].weight_ns--;
	}
}

/* Weighs all that was used in this scan. One in works[] that used nothing only helps to tell what is typical. */
static void weigh(struct wtl_roster *roster, struct wtl_counters *counters, uint32_t n)
{
	uint64_t rest_ns = 0;

	for (uint32_t i = 0; i < roster->n_used_now; i++) {
		roster->places[roster->used[i]].is_weighed = false;
		rest_ns += roster->places[roster->used[i]].weight_ns;
	}
	for (uint32_t i = 0; i < n; i++) {
		roster->places[counters->works[i].slot].is_weighed = true;
		rest_ns -= (uint64_t)counters->works[i].cpu_ns;
	}
	counters->rest_ns = rest_ns;
	counters->rest_weight = wtl_weigh(counters->works, n, rest_ns);
	for (uint32_t i = 0; i < n; i++)
		roster->places[counters->works[i].slot].weight_ns = counters->works[i].weight;
	weigh_rest(roster, rest_ns, counters->rest_weight);
	none_is_nothing(roster);
}

void wtl_counters_weigh(struct wtl_workload *workload)
{
	struct wtl_counters *counters = workload->counters;
	struct wtl_roster *roster = &workload->roster;
	uint32_t n;

	if (!counters)
		return;
	counters->rest_weight = 0;
	scan_begin(roster, counters);
	counters_read(workload->io, counters);
	n = works_list(roster, counters);
	if (n == 0 || roster->n_used_now == 0)
		return;
	workload->weight = workload->options.weight;
	weigh(roster, counters, n);
}

void wtl_counters_reset(struct wtl_workload *workload)
{
	struct wtl_counters *counters = workload->counters;

	for (uint32_t i = 0; counters && i < counters->n_counted; i++) {
		counters->counted[i].before_ns = 0;
		counters->counted[i].before_weight = 0;
	}
}

static bool has_counter(const struct wtl_counters *counters, uint32_t i)
{
	for (uint32_t k = 0; k < counters->n_counters; k++)
		if (counters->counters[k].owner == i)
			return true;
	return false;
}

static bool is_counted(const struct wtl_counters *counters, uint32_t slot)
{
	for (uint32_t i = 0; i < counters->n_counted; i++)
		if (counters->counted[i].slot == slot)
			return true;
	return false;
}

void wtl_counters_follow(struct wtl_workload *workload)
{
	struct wtl_counters *counters = workload->counters;
	const struct wtl_roster *roster = &workload->roster;
	uint32_t left = NEW_MAX;

	if (!counters)
		return;
	for (uint32_t i = counters->n_counted; i-- > 0;)
		if (roster->places[counters->counted[i].slot].live == WTL_NOT_LIVE ||
		    !has_counter(counters, i))
			counted_remove(workload->io, counters, i);
	for (uint32_t i = 0; i < roster->n_used_now && left > 0; i++) {
		uint32_t slot = roster->used[i];
		const struct wtl_place *place = &roster->places[slot];

		if (place->weight_ns < USED_MIN_NS || place->live == WTL_NOT_LIVE ||
		    place->is_kernel || place->is_uncountable || is_counted(counters, slot))
			continue;
		process_open(workload, slot, place->weight_ns);
		left--;
	}
}
