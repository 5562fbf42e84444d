/* SPDX-License-Identifier: MIT */
#include "commands/top/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/text.h"

/* Sorted by power, processes with GPU memory count as having at least this, so that idle ones stay in sight. */
#define HELD_W 1.0

struct wtl_sort_key {
	double number;
	const char *text;
	int process; /* or bucket */
	int pid;
	bool is_known;
};

void wtl_top_rows_init(struct wtl_top_rows *rows)
{
	memset(rows, 0, sizeof(*rows));
}

void wtl_top_rows_done(struct wtl_top_rows *rows)
{
	free(rows->rows);
	free(rows->buckets);
	free(rows->order);
	free(rows->children);
	free(rows->siblings);
	wtl_hash_done(&rows->places);
	wtl_top_rows_init(rows);
}

static uint64_t process_key(const struct wtl_top_process *process, int64_t start_ns)
{
	const struct wtl_consumer *consumer = &process->consumer;
	const char *title = wtl_process_title(process);
	const int64_t identity[] = {consumer->pid, start_ns,
				    consumer->state == WTL_CONSUMER_FOLDED};
	/* Rows of ended processes have no number: the common properties of their processes are the key. */
	const int64_t common[] = {consumer->uid, consumer->parent, consumer->is_in_tree,
				  consumer->group ? wtl_hash_text(consumer->group->cgroup) : 0};
	uint64_t hash = wtl_hash_more(WTL_HASH_START, identity, sizeof(identity));

	if (consumer->pid == 0)
		hash = wtl_hash_more(wtl_hash_more(hash, title, strlen(title)), common,
				     sizeof(common));
	return hash | 1;
}

uint64_t wtl_top_process_key(const struct wtl_top_process *process)
{
	return process_key(process, process->consumer.start_ns);
}

uint64_t wtl_top_key_now(const struct wtl_top_view *view, uint64_t key)
{
	for (size_t i = 0; i < view->n_processes; i++)
		if (process_key(&view->processes[i], 0) == key)
			return wtl_top_process_key(&view->processes[i]);
	return key;
}

static uint64_t bucket_key(const struct wtl_top_process *bucket)
{
	return wtl_hash_more(WTL_HASH_START, bucket->command, strlen(bucket->command)) &
	       ~UINT64_C(1);
}

bool wtl_top_is_toggled(const struct wtl_top_toggled *toggled, uint64_t key)
{
	for (unsigned i = 0; i < toggled->n; i++)
		if (toggled->keys[i] == key)
			return true;
	return false;
}

void wtl_top_toggle(struct wtl_top_toggled *toggled, uint64_t key)
{
	unsigned i = 0;

	while (i < toggled->n && toggled->keys[i] != key)
		i++;
	if (i < toggled->n || toggled->n == WTL_TOP_CLOSED_MAX) {
		bool found = i < toggled->n;
		unsigned from = found ? i : 0;

		toggled->n--;
		memmove(&toggled->keys[from], &toggled->keys[from + 1],
			(toggled->n - from) * sizeof(toggled->keys[0]));
		if (found)
			return;
	}
	toggled->keys[toggled->n++] = key;
}

/* Reserves room for every process and every group. */
static int reserve(struct wtl_top_rows *rows, size_t n)
{
	size_t size = 2 * (n + n / 2 + 64);

	if (2 * n <= rows->size)
		return 0;
	if (wtl_array_resize(&rows->rows, size, sizeof(*rows->rows)) < 0 ||
	    wtl_array_resize(&rows->order, size, sizeof(*rows->order)) < 0 ||
	    wtl_array_resize(&rows->children, size, sizeof(*rows->children)) < 0 ||
	    wtl_array_resize(&rows->siblings, size, sizeof(*rows->siblings)) < 0 ||
	    wtl_hash_reserve(&rows->places, size) < 0)
		return -ENOMEM;
	rows->size = size;
	return 0;
}

/* ---- Order ---- */

struct order {
	bool falls, is_text;
};

/* < 0: a comes first. Unknown values come last. */
static int compare(const struct wtl_sort_key *a, const struct wtl_sort_key *b,
		   const struct order *order)
{
	int sign = order->falls ? -1 : 1, by = 0;

	if (a->is_known != b->is_known)
		return a->is_known ? -1 : 1;
	if (a->is_known && order->is_text)
		by = strcasecmp(a->text, b->text);
	else if (a->is_known)
		by = (a->number > b->number) - (a->number < b->number);
	if (by)
		return by * sign;
	by = (a->pid > b->pid) - (a->pid < b->pid);
	return by ? by : (a->process > b->process) - (a->process < b->process);
}

/* A Shell sort with Ciura's gaps, continued by 9/4: qsort() may allocate memory. */
static void sort(struct wtl_sort_key keys[], size_t n, const struct order *order)
{
	static const size_t gaps[] = {58548857, 26021714, 11565206, 5140092, 2284485, 1015327,
				      451256,	200558,	  89137,    39616,   17607,   7825,
				      3478,	1546,	  701,	    301,     132,     57,
				      23,	10,	  4,	    1};

	for (size_t k = 0; k < sizeof(gaps) / sizeof(gaps[0]); k++)
		for (size_t i = gaps[k]; i < n; i++) {
			struct wtl_sort_key moved = keys[i];
			size_t at = i;

			for (; at >= gaps[k] && compare(&moved, &keys[at - gaps[k]], order) < 0;
			     at -= gaps[k])
				keys[at] = keys[at - gaps[k]];
			keys[at] = moved;
		}
}

struct maker {
	struct wtl_top_rows *rows;
	const struct wtl_top_view *view;
	const struct wtl_top_config *config;
	const struct wtl_filter *filter;
	const struct wtl_top_toggled *toggled;
	enum wtl_top_share share;
	enum wtl_field grouped_by; /* the field of the grouping */
	struct order order;
};

/* A GPU's memory, whether it is used or not. */
static bool holds_gpu(const struct wtl_top_process *process)
{
	return process->consumer.gpu_memory_bytes > 0 &&
	       process->consumer.gpu_memory_bytes != UINT64_MAX;
}

static void make_key(const struct maker *maker, const struct wtl_top_process *process, int index,
		     struct wtl_sort_key *key)
{
	struct wtl_field_value value = {.text = ""};

	key->is_known = wtl_field_get(process, maker->config->sort, maker->share, &value);
	key->number = value.number;
	key->text = value.text;
	if (maker->config->sort == WTL_FIELD_COMMAND)
		key->text = wtl_process_short_title(process, maker->config->set[WTL_SET_PATHS]);
	if (maker->config->sort == WTL_FIELD_POWER && value.number < HELD_W && holds_gpu(process))
		key->number = HELD_W;
	key->process = index;
	key->pid = process->consumer.pid;
}

static bool is_idle(const struct wtl_top_process *process)
{
	return process->consumer.cpu_ppm == 0 &&
	       (process->consumer.gpu_ppm == 0 || process->consumer.gpu_ppm == UINT32_MAX) &&
	       !holds_gpu(process);
}

static bool is_shown(const struct maker *maker, const struct wtl_top_process *process)
{
	const unsigned *set = maker->config->set;
	enum wtl_consumer_state state = process->consumer.state;

	if (state == WTL_CONSUMER_KERNEL && !set[WTL_SET_KERNEL])
		return false;
	if ((state == WTL_CONSUMER_EXITED || state == WTL_CONSUMER_FOLDED) && !set[WTL_SET_EXITED])
		return false;
	if (!set[WTL_SET_IDLE] && is_idle(process))
		return false;
	return wtl_filter_match(maker->filter, process, maker->share);
}

/* The processes to show, in order, in rows->order. */
static size_t choose(const struct maker *maker)
{
	struct wtl_sort_key *keys = maker->rows->order;
	size_t n = 0;

	for (size_t i = 0; i < maker->view->n_processes; i++) {
		const struct wtl_top_process *process = &maker->view->processes[i];

		if (is_shown(maker, process))
			make_key(maker, process, (int)i, &keys[n++]);
	}
	sort(keys, n, &maker->order);
	return n;
}

/* A place is an index into rows->order: of a shown process or, after those, of a group. */
static const struct wtl_top_process *at_place(const struct maker *maker, int place)
{
	int index = maker->rows->order[place].process;

	return index >= 0 ? &maker->view->processes[index] : &maker->rows->buckets[-1 - index];
}

/* ---- The tree: parents of all places, in rows->siblings ---- */

/* rows->places: from a PID to a place in rows->order; of several processes, that which started last. */
static uint32_t *place_of(const struct maker *maker, int pid)
{
	return wtl_hash_find(&maker->rows->places, wtl_hash_number((uint32_t)pid), NULL, NULL,
			     NULL);
}

static void fill_pids(const struct maker *maker, size_t n)
{
	wtl_hash_clear(&maker->rows->places);
	for (size_t i = 0; i < n; i++) {
		const struct wtl_top_process *process = at_place(maker, (int)i);
		int pid = process->consumer.pid;
		uint32_t *place;

		if (pid <= 0)
			continue;
		place = place_of(maker, pid);
		if (!place)
			wtl_hash_add(&maker->rows->places, wtl_hash_number((uint32_t)pid),
				     (uint32_t)i);
		else if (at_place(maker, (int)*place)->consumer.start_ns <
			 process->consumer.start_ns)
			*place = (uint32_t)i;
	}
}

/* A parent that started later is another process with the same PID. */
static int parent_of(const struct maker *maker, int place)
{
	const struct wtl_top_process *process = at_place(maker, place);
	const uint32_t *found;
	int parent;

	if (process->consumer.parent <= 0 || process->consumer.pid <= 0)
		return -1;
	found = place_of(maker, process->consumer.parent);
	parent = found ? (int)*found : -1;
	if (parent < 0 || parent == place ||
	    at_place(maker, parent)->consumer.start_ns > process->consumer.start_ns)
		return -1;
	/* If both started at once, the lower PID is the parent: no cycles. */
	if (at_place(maker, parent)->consumer.start_ns == process->consumer.start_ns &&
	    at_place(maker, parent)->consumer.pid > process->consumer.pid)
		return -1;
	return parent;
}

static void find_parents(const struct maker *maker, size_t n)
{
	fill_pids(maker, n);
	for (size_t i = 0; i < n; i++)
		maker->rows->siblings[i] = parent_of(maker, (int)i);
}

/* ---- Groups ---- */

static const char *group_name(const struct maker *maker, const struct wtl_top_process *process)
{
	struct wtl_field_value value;

	if (process->consumer.state == WTL_CONSUMER_KERNEL)
		return "[kernel]";
	if (!wtl_field_get(process, maker->grouped_by, maker->share, &value))
		return "-";
	return value.text;
}

static bool is_bucket(const void *rows, uint32_t at, const void *name)
{
	const struct wtl_top_process *bucket = &((const struct wtl_top_rows *)rows)->buckets[at];

	return strncmp(bucket->command, name, sizeof(bucket->command) - 1) == 0;
}

static int find_bucket(struct wtl_top_rows *rows, const char *name)
{
	uint32_t sum = wtl_hash_text(name);
	const uint32_t *at = wtl_hash_find(&rows->places, sum, is_bucket, rows, name);
	struct wtl_top_process *bucket;

	if (at)
		return (int)*at;
	if (wtl_array_reserve(&rows->buckets, &rows->size_buckets, rows->n_buckets + 1,
			      sizeof(*rows->buckets)) < 0)
		return -ENOMEM;
	bucket = &rows->buckets[rows->n_buckets];
	memset(bucket, 0, sizeof(*bucket));
	wtl_text_copy(bucket->command, sizeof(bucket->command), name);
	bucket->consumer.uid = UINT32_MAX;
	bucket->consumer.gpu_ppm = UINT32_MAX;
	bucket->consumer.rss_bytes = UINT64_MAX;
	bucket->consumer.pss_bytes = UINT64_MAX;
	bucket->consumer.uss_bytes = UINT64_MAX;
	bucket->consumer.gpu_memory_bytes = UINT64_MAX;
	bucket->consumer.cpu_ns = -1;
	bucket->has_dynamic = true;
	wtl_hash_add(&rows->places, sum, (uint32_t)rows->n_buckets);
	return (int)rows->n_buckets++;
}

/* Adds a value if it is known; without any, the sum stays unknown. */
static void add_bytes(uint64_t *sum, uint64_t bytes)
{
	if (bytes != UINT64_MAX)
		*sum = (*sum == UINT64_MAX ? 0 : *sum) + bytes;
}

/* The mean weighted by CPU time; to be called before that is added. */
static void add_per_cpu(struct wtl_top_process *bucket, const struct wtl_top_process *process)
{
	struct wtl_per_cpu *mean = &bucket->per_cpu;
	const struct wtl_per_cpu *one = &process->per_cpu;
	double part = 1.0;

	if (one->power_uw == 0)
		return;
	if (mean->power_uw > 0 && bucket->consumer.cpu_ns > 0)
		part = (double)process->consumer.cpu_ns /
		       (double)(bucket->consumer.cpu_ns + process->consumer.cpu_ns);
	mean->power_uw =
		(uint64_t)((1.0 - part) * (double)mean->power_uw + part * (double)one->power_uw);
	mean->uncertainty_uw = (uint64_t)((1.0 - part) * (double)mean->uncertainty_uw +
					  part * (double)one->uncertainty_uw);
}

static void add_to_bucket(struct wtl_top_process *bucket, const struct wtl_top_process *process)
{
	struct wtl_consumer *sum = &bucket->consumer;
	const struct wtl_consumer *one = &process->consumer;

	sum->n_processes += one->n_processes;
	sum->n_threads += one->n_threads;
	if (wtl_process_has_cpu(process)) {
		sum->cpu_ns = wtl_consumer_cpu_add(sum->cpu_ns, one->cpu_ns);
		sum->cpu_ppm += one->cpu_ppm;
	}
	if (one->gpu_ppm != UINT32_MAX)
		sum->gpu_ppm = (sum->gpu_ppm == UINT32_MAX ? 0 : sum->gpu_ppm) + one->gpu_ppm;
	add_bytes(&sum->rss_bytes, one->rss_bytes);
	add_bytes(&sum->pss_bytes, one->pss_bytes);
	add_bytes(&sum->uss_bytes, one->uss_bytes);
	add_bytes(&sum->gpu_memory_bytes, one->gpu_memory_bytes);
	add_per_cpu(bucket, process);
	bucket->has_power |= process->has_power;
	bucket->has_gpu |= process->has_gpu;
	bucket->has_dynamic &= process->has_dynamic;
	for (unsigned i = 0; i < WTL_TOP_SHARES; i++) {
		bucket->cpu_uw[i] += process->cpu_uw[i];
		bucket->gpu_uw[i] += process->gpu_uw[i];
		bucket->energy_uj[i] += process->energy_uj[i];
	}
}

/* Sets every place's parent to its group. Returns the number of groups, or -ENOMEM. */
static int find_groups(const struct maker *maker, size_t n)
{
	struct wtl_top_rows *rows = maker->rows;
	struct wtl_sort_key *keys = rows->order + n;

	wtl_hash_clear(&rows->places);
	for (size_t i = n; i-- > 0;) {
		const struct wtl_top_process *process = at_place(maker, (int)i);
		int bucket = find_bucket(rows, group_name(maker, process));

		if (bucket < 0)
			return bucket;
		add_to_bucket(&rows->buckets[bucket], process);
		rows->siblings[i] = bucket;
	}
	for (size_t k = 0; k < rows->n_buckets; k++)
		make_key(maker, &rows->buckets[k], (int)k, &keys[k]);
	sort(keys, rows->n_buckets, &maker->order);
	for (size_t k = 0; k < rows->n_buckets; k++) {
		rows->children[keys[k].process] = (int)(n + k);
		keys[k].process = -1 - keys[k].process;
		rows->siblings[n + k] = -1;
	}
	for (size_t i = 0; i < n; i++)
		rows->siblings[i] = rows->children[rows->siblings[i]];
	return (int)rows->n_buckets;
}

/* ---- Rows of places ---- */

/* Turns the parents in siblings[] into lists: children[i] is the first child of place i, siblings[i] the next child of
 * the same parent; both keep the order. Returns the first place without a parent. */
static int link_places(struct wtl_top_rows *rows, size_t n)
{
	int root = -1;

	for (size_t i = 0; i < n; i++)
		rows->children[i] = -1;
	for (size_t i = n; i-- > 0;) {
		int *first = rows->siblings[i] < 0 ? &root : &rows->children[rows->siblings[i]];

		rows->siblings[i] = *first;
		*first = (int)i;
	}
	return root;
}

static const struct wtl_top_row *add_row(const struct maker *maker, int place, unsigned depth,
					 uint64_t guides)
{
	struct wtl_top_rows *rows = maker->rows;
	const struct wtl_top_process *process = at_place(maker, place);
	struct wtl_top_row *row = &rows->rows[rows->n++];

	*row = (struct wtl_top_row){
		.process = rows->order[place].process,
		.depth = depth,
		.guides = guides,
		.is_last = rows->siblings[place] < 0,
		.has_children = rows->children[place] >= 0,
	};
	row->key = row->process < 0 ? bucket_key(process) : wtl_top_process_key(process);
	/* Trees are open until they are toggled, groups are closed. */
	row->is_closed = row->has_children &&
			 wtl_top_is_toggled(maker->toggled, row->key) == (row->process >= 0);
	return row;
}

/* Walks down without recursion: while a place's children are shown, its entry in children[] holds the way back. */
static void add_rows(const struct maker *maker, size_t n)
{
	struct wtl_top_rows *rows = maker->rows;
	int place = link_places(rows, n), above = -1;
	unsigned depth = 0;
	uint64_t guides = 0;

	while (place >= 0 || above >= 0) {
		int next;

		if (place < 0) { /* up again */
			place = rows->siblings[above];
			above = rows->children[above];
			depth--;
			if (depth < 64)
				guides &= ~(UINT64_C(1) << depth);
			continue;
		}
		next = rows->children[place];
		if (add_row(maker, place, depth, guides)->is_closed || next < 0) {
			place = rows->siblings[place];
			continue;
		}
		if (depth < 64 && rows->siblings[place] >= 0)
			guides |= UINT64_C(1) << depth;
		rows->children[place] = above;
		above = place;
		place = next;
		depth++;
	}
}

int wtl_top_rows_make(struct wtl_top_rows *rows, const struct wtl_top_view *view,
		      const struct wtl_top_config *config, const struct wtl_filter *filter,
		      const struct wtl_top_toggled *toggled)
{
	const struct wtl_field_info *info = wtl_field_info(config->sort);
	const char *grouping = wtl_setting_word(config, WTL_SET_GROUP);
	const struct maker maker = {
		.rows = rows,
		.view = view,
		.config = config,
		.filter = filter,
		.toggled = toggled,
		.share = config->set[WTL_SET_FULL] ? WTL_TOP_FULL : WTL_TOP_DYNAMIC,
		.grouped_by = wtl_field_find(grouping, strlen(grouping)),
		.order = {.falls = info->falls == !config->set[WTL_SET_ASCENDING],
			  .is_text = info->measure == WTL_MEASURE_TEXT},
	};
	int rc = reserve(rows, view->n_processes);
	size_t n;

	rows->n = 0;
	rows->n_buckets = 0;
	rows->n_processes = 0;
	if (rc < 0 || view->n_processes == 0)
		return rc;
	rows->n_processes = n = choose(&maker);
	if (config->set[WTL_SET_GROUP] != WTL_GROUP_NONE)
		rc = find_groups(&maker, n);
	else if (config->set[WTL_SET_TREE])
		find_parents(&maker, n);
	else
		memset(rows->siblings, 0xff, n * sizeof(*rows->siblings)); /* all -1 */
	if (rc < 0)
		return rc;
	add_rows(&maker, n + (size_t)rc);
	return 0;
}

const struct wtl_top_process *wtl_top_row_process(const struct wtl_top_rows *rows,
						  const struct wtl_top_view *view,
						  const struct wtl_top_row *row)
{
	return row->process >= 0 ? &view->processes[row->process]
				 : &rows->buckets[-1 - row->process];
}

int wtl_top_rows_find(const struct wtl_top_rows *rows, uint64_t key)
{
	for (size_t i = 0; i < rows->n; i++)
		if (rows->rows[i].key == key)
			return (int)i;
	return -1;
}

bool wtl_top_rows_has_twin(const struct wtl_top_rows *rows, const struct wtl_top_view *view,
			   const struct wtl_top_process *process)
{
	if (process->consumer.state != WTL_CONSUMER_FOLDED)
		return false;
	for (size_t i = 0; i < rows->n; i++) {
		const struct wtl_top_process *other =
			wtl_top_row_process(rows, view, &rows->rows[i]);

		if (other != process && other->consumer.state == WTL_CONSUMER_FOLDED &&
		    other->consumer.uid == process->consumer.uid &&
		    strcmp(wtl_process_title(other), wtl_process_title(process)) == 0)
			return true;
	}
	return false;
}
