/* SPDX-License-Identifier: MIT */
/* A meter that was opened with attribution: its session bills a window of its own, and those of its caller. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/abi.h"
#include "base/err.h"
#include "base/num.h"
#include "base/user.h"
#include "meter/attached.h"
#include "meter/meter.h"
#include "meter/observer.h"

/* Processes whose memory is read with each bill. */
enum { MEMORY_READS = 8 };

static size_t n_shares(const struct wattle_meter *meter)
{
	return wattle_meter_domains(meter) + 1; /* and the time on GPUs */
}

static void account_copy(const struct wattle_meter *meter, struct wtl_set_account *to,
			 const struct wtl_set_account *from)
{
	struct wtl_share *shares = to->sum.shares;

	memcpy(shares, from->sum.shares, n_shares(meter) * sizeof(*shares));
	to->sum = from->sum;
	to->sum.shares = shares;
	to->is_known = true;
}

/* ---- The session ---- */

static void sum_sets(struct wtl_attached *attached)
{
	struct wtl_consumers_sum sums[WTL_SETS_MAX];

	if (!attached->sets)
		return;
	for (unsigned i = 0; i < WTL_SETS_MAX; i++)
		sums[i] = attached->now[i].sum;
	wtl_consumers_sum_sets(attached->session.consumers, attached->sets, sums);
	for (unsigned i = 0; i < WTL_SETS_MAX; i++)
		attached->now[i].sum = sums[i];
}

void wtl_attached_bill(struct wattle_meter *meter)
{
	struct wtl_attached *attached = meter->attached;
	struct wattle_window unused;

	for (struct wtl_window *w = meter->open_windows; w; w = w->next)
		if (w->book)
			wtl_window_look(meter, w->name, &unused, wtl_book_energies(w->book),
					wattle_meter_domains(meter));
	wtl_session_bill(&attached->session);
	sum_sets(attached);
}

static struct wtl_set_account *marks_of(const struct wattle_meter *meter,
					const struct wtl_window *window)
{
	size_t at = (size_t)(window - meter->windows) * WTL_SETS_MAX;

	return meter->attached->marks ? &meter->attached->marks[at] : NULL;
}

static int window_begins(struct wattle_meter *meter, struct wtl_window *window)
{
	struct wtl_attached *attached = meter->attached;
	struct wtl_set_account *marks = marks_of(meter, window);

	if (window->flags)
		wtl_attached_bill(meter);
	for (unsigned i = 0; marks && i < WTL_SETS_MAX; i++) {
		marks[i].is_known = false;
		if (attached->sets >> i & 1)
			account_copy(meter, &marks[i], &attached->now[i]);
	}
	if (marks && attached->sets)
		wtl_consumers_settle(attached->session.consumers);
	if (!(window->flags & WATTLE_WINDOW_CONSUMERS))
		return 0;
	window->book = wtl_consumers_open_book(attached->session.consumers);
	return window->book ? 0 : -ENOMEM;
}

static void window_ends(struct wattle_meter *meter, struct wtl_window *window)
{
	if (window->book)
		wtl_consumers_close_book(meter->attached->session.consumers, window->book);
	window->book = NULL;
}

/* In recordings, 0 is CPU time; in options, it is the default. */
static const enum wtl_weight weights[] = {
	[WATTLE_WEIGHT_LEARNED] = WTL_WEIGHT_LEARNED,
	[WATTLE_WEIGHT_CPU_TIME] = WTL_WEIGHT_CPU_TIME,
	[WATTLE_WEIGHT_INSTRUCTIONS] = WTL_WEIGHT_INSTRUCTIONS,
	[WATTLE_WEIGHT_CYCLES] = WTL_WEIGHT_CYCLES,
};

int wtl_attached_open(struct wattle_meter *meter, struct wtl_err *err)
{
	const struct wattle_options *wanted = &meter->options;
	const bool is_weight = wanted->weight <= WATTLE_WEIGHT_CYCLES;
	const struct wtl_session_options options = {
		.consumers = {.nvml_path = wanted->nvml_path,
			      .weight = is_weight ? weights[wanted->weight] : WTL_WEIGHT_CPU_TIME},
		.idle_path = wanted->idle_file,
		.is_tape = wanted->tape != NULL,
	};
	struct wtl_attached *attached;
	int rc;

	if (!is_weight)
		return wtl_err_set(err, EINVAL, "meter", NULL, "there is no such weight");
	attached = calloc(1, sizeof(*attached));
	if (!attached)
		return wtl_err_set(err, ENOMEM, "meter", NULL, "out of memory");
	meter->attached = attached;
	rc = wtl_session_open(&attached->session, meter, WTL_WINDOW_OF_SESSION, &options, err);
	if (rc < 0)
		return rc;
	wtl_session_load_idle(&attached->session, NULL, NULL);
	wtl_session_begin(&attached->session);
	rc = wtl_window_begin_own(meter);
	if (rc < 0)
		return wtl_err_set(err, rc, "meter", NULL, "%s", wattle_strerror(rc));
	/* The paths are the caller's memory. */
	if (wanted->idle_file) {
		attached->idle_path = strdup(wanted->idle_file);
		if (!attached->idle_path)
			return wtl_err_set(err, ENOMEM, "meter", NULL, "out of memory");
	}
	attached->session.idle_path = attached->idle_path;
	meter->window_begins = window_begins;
	meter->window_ends = window_ends;
	return 0;
}

void wtl_attached_close(struct wattle_meter *meter)
{
	struct wtl_attached *attached = meter->attached;

	if (!attached)
		return;
	wtl_session_close(&attached->session);
	free(attached->now);
	free(attached->shares);
	free(attached->idle_path);
	free(attached);
	meter->attached = NULL;
}

void wtl_attached_tick(struct wattle_meter *meter)
{
	struct wtl_attached *attached = meter->attached;

	if (!attached || !wtl_session_is_due(&attached->session))
		return;
	wtl_attached_bill(meter);
	wtl_consumers_read_memory(attached->session.consumers, MEMORY_READS);
}

/* ---- Consumers ---- */

/* Samples and bills, so that what follows is as of now. */
static void bring_up_to_date(struct wattle_meter *meter)
{
	wtl_meter_sample_asked(meter);
	wtl_attached_bill(meter);
}

static void name_user(void *context, uint32_t uid, char *name, size_t size)
{
	const struct wattle_meter *meter = context;

	wtl_user_name(!meter->options.root && !meter->is_tape, uid, name, size);
}

static int64_t start_utc_ns(void *context, int64_t start_ns)
{
	const struct wattle_meter *meter = context;

	return wtl_io_real_ns(meter->env.io) - wtl_io_boot_ns(meter->env.io) + start_ns;
}

static int list_consumers(struct wattle_meter *meter, const char *name,
			  struct wattle_consumers **ret_list)
{
	struct wtl_attached *attached = meter->attached;
	struct wtl_consumers *consumers = attached->session.consumers;
	const struct wtl_window *window = name ? wtl_window_find(meter, name) : NULL;
	const struct wtl_consumers_naming naming = {
		.user = name_user, .start_utc_ns = start_utc_ns, .context = meter};
	struct wattle_window figures;

	if (name && !window)
		return -WATTLE_E_NO_WINDOW;
	if (window && !window->book)
		return -ENODATA;
	wtl_meter_sample_asked(meter);
	wtl_consumers_name_all(consumers);
	wtl_attached_bill(meter);
	wtl_window_look(meter, name ? name : WTL_WINDOW_OF_SESSION, &figures, NULL, 0);
	return wtl_consumers_list(consumers, window ? window->book : NULL, &figures, &naming,
				  ret_list);
}

int wattle_meter_consumers(struct wattle_meter *meter, const char *window,
			   struct wattle_consumers **ret_consumers, struct wattle_error *reterr)
{
	struct wtl_err err = {.code = 0};
	int rc = -ENOTSUP;

	if (!ret_consumers || !wtl_abi_is_sized(reterr))
		return -EINVAL;
	if (meter->attached) {
		pthread_mutex_lock(&meter->lock);
		rc = list_consumers(meter, window, ret_consumers);
		pthread_mutex_unlock(&meter->lock);
	}
	if (rc < 0) {
		wtl_err_set(&err, rc, "processes", NULL, "%s",
			    rc == -ENOTSUP ? "the meter was opened without attribution"
			    : rc == -ENODATA
				    ? "the window was begun without WATTLE_WINDOW_CONSUMERS"
				    : wattle_strerror(rc));
		wtl_err_hand_over(&err, reterr);
	}
	return rc;
}

/* ---- Sets ---- */

/* Room for the accounts of sets, with the first one: all of it, or none. */
static int open_accounts(struct wattle_meter *meter)
{
	struct wtl_attached *attached = meter->attached;
	size_t n = (2 + meter->n_windows) * WTL_SETS_MAX;
	struct wtl_set_account *accounts;
	struct wtl_share *shares;

	if (attached->now)
		return 0;
	accounts = calloc(n, sizeof(*accounts));
	shares = calloc((n + 1) * n_shares(meter), sizeof(*shares));
	if (!accounts || !shares) {
		free(accounts);
		free(shares);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		accounts[i].sum.shares = shares + (i + 1) * n_shares(meter);
	attached->shares = shares;
	attached->now = accounts;
	attached->chosen = accounts + WTL_SETS_MAX;
	attached->marks = accounts + 2 * WTL_SETS_MAX;
	return 0;
}

int wtl_meter_own_pid(struct wattle_meter *meter)
{
	char text[32];
	ssize_t len = wtl_io_link_read(meter->env.io, "/proc/self", text, sizeof(text));
	uint64_t pid;

	if (len > 0 && wtl_num_u64(text, (size_t)len, &pid) == 0 && pid <= INT32_MAX)
		return (int)pid;
	return (int)getpid();
}

static int choose(struct wattle_meter *meter, unsigned number, enum wattle_set_kind kind, int pid,
		  const char *cgroup)
{
	struct wtl_workload *workload = wtl_consumers_workload(meter->attached->session.consumers);

	switch (kind) {
	case WATTLE_SET_SELF:
		return wtl_workload_choose_tree(workload, number, wtl_meter_own_pid(meter));
	case WATTLE_SET_PID:
		return pid > 0 ? wtl_workload_choose_tree(workload, number, pid) : -EINVAL;
	case WATTLE_SET_CGROUP:
		return cgroup && cgroup[0] == '/'
			       ? wtl_workload_choose_group(workload, number, cgroup)
			       : -EINVAL;
	}
	return -EINVAL;
}

static int open_set(struct wattle_meter *meter, enum wattle_set_kind kind, int pid,
		    const char *cgroup, struct wattle_set **ret_set)
{
	struct wtl_attached *attached = meter->attached;
	unsigned number = 0;
	int rc = open_accounts(meter);

	while (rc == 0 && number < WTL_SETS_MAX && attached->sets >> number & 1)
		number++;
	if (number == WTL_SETS_MAX)
		return -WATTLE_E_TOO_MANY;
	/* What was used until now is not the set's. */
	if (rc == 0) {
		bring_up_to_date(meter);
		rc = choose(meter, number, kind, pid, cgroup);
	}
	if (rc < 0)
		return rc;
	attached->sets |= (uint16_t)(1u << number);
	sum_sets(attached);
	account_copy(meter, &attached->chosen[number], &attached->now[number]);
	wtl_consumers_settle(attached->session.consumers);
	for (struct wtl_window *w = meter->open_windows; w; w = w->next)
		marks_of(meter, w)[number].is_known = false;
	attached->set[number] = (struct wattle_set){meter, number};
	*ret_set = &attached->set[number];
	return 0;
}

int wattle_set_open(struct wattle_meter *meter, enum wattle_set_kind kind, int pid,
		    const char *cgroup, struct wattle_set **ret_set, struct wattle_error *reterr)
{
	struct wtl_err err = {.code = 0};
	int rc = -ENOTSUP;

	if (!ret_set || !wtl_abi_is_sized(reterr))
		return -EINVAL;
	if (meter->attached) {
		pthread_mutex_lock(&meter->lock);
		rc = open_set(meter, kind, pid, cgroup, ret_set);
		pthread_mutex_unlock(&meter->lock);
	}
	if (rc < 0) {
		wtl_err_set(
			&err, rc, "set", NULL, "%s",
			rc == -ENOTSUP ? "the meter was opened without attribution"
			: rc == -EINVAL
				? "a set is this process, a pid above 0, or an absolute path of "
				  "a control group"
				: wattle_strerror(rc));
		wtl_err_hand_over(&err, reterr);
	}
	return rc;
}

void wattle_set_close(struct wattle_set *set)
{
	struct wattle_meter *meter;

	if (!set)
		return;
	meter = set->meter;
	pthread_mutex_lock(&meter->lock);
	meter->attached->sets &= (uint16_t) ~(1u << set->number);
	wtl_workload_choose_nobody(wtl_consumers_workload(meter->attached->session.consumers),
				   set->number);
	pthread_mutex_unlock(&meter->lock);
}

static void give_use(const struct wattle_meter *meter, const struct wtl_consumers_sum *sum,
		     uint32_t flags, struct wattle_use *ret_use)
{
	size_t n = wattle_meter_domains(meter);
	struct wattle_use use = {
		.cpu_ns = sum->cpu_ns,
		.gpu_ns = (int64_t)sum->shares[n].full_uj,
		.processes = sum->n_processes,
		.flags = flags,
	};
	struct wtl_share_energy total;

	wtl_consumers_sum_energy(meter->attached->session.consumers, sum, -1, &total);
	use.total.size = sizeof(use.total);
	wtl_share_energy_give(&total, &use.total);
	use.total.size =
		wtl_abi_tail_size(ret_use, offsetof(struct wattle_use, total), sizeof(use.total));
	wtl_abi_give(ret_use, &use, sizeof(use));
}

static struct wtl_set_account *mark_of(const struct wattle_set *set,
				       const struct wtl_window *window)
{
	return window ? &marks_of(set->meter, window)[set->number]
		      : &set->meter->attached->chosen[set->number];
}

static void give_set(const struct wattle_set *set, const struct wtl_window *window,
		     struct wattle_use *ret_use, struct wattle_share *ret_shares, size_t n)
{
	struct wattle_meter *meter = set->meter;
	struct wtl_attached *attached = meter->attached;
	struct wtl_consumers_sum sum = {.shares = attached->shares};

	wtl_consumers_sum_since(attached->session.consumers, &attached->now[set->number].sum,
				&mark_of(set, window)->sum, &sum);
	if (ret_use)
		give_use(meter, &sum, window && !window->flags ? WATTLE_USE_EARLIER : 0, ret_use);
	for (size_t i = 0; ret_shares && i < n && i < wattle_meter_domains(meter); i++) {
		struct wtl_share_energy energy;

		wtl_consumers_sum_energy(attached->session.consumers, &sum, (int)i, &energy);
		wtl_share_energy_give(&energy, wtl_abi_element(ret_shares, i));
	}
}

static bool are_sized(const struct wattle_use *use, const struct wattle_share *shares, size_t n)
{
	return wtl_abi_is_sized(use) && (n == 0 || wtl_abi_is_sized(shares));
}

int wattle_set_read(struct wattle_set *set, const char *name, struct wattle_use *ret_use,
		    struct wattle_share *ret_shares, size_t n_shares)
{
	struct wattle_meter *meter = set->meter;
	struct wtl_window *window;
	int rc = 0;

	if (!are_sized(ret_use, ret_shares, n_shares))
		return -EINVAL;
	pthread_mutex_lock(&meter->lock);
	window = name ? wtl_window_find(meter, name) : NULL;
	if (name && !window)
		rc = -WATTLE_E_NO_WINDOW;
	else if (!mark_of(set, window)->is_known)
		rc = -ENODATA;
	if (rc == 0 && (!window || window->flags))
		bring_up_to_date(meter);
	if (rc == 0)
		give_set(set, window, ret_use, ret_shares, n_shares);
	pthread_mutex_unlock(&meter->lock);
	return rc;
}

int wattle_set_end(struct wattle_set *set, const char *name, struct wattle_window *ret_window,
		   struct wattle_energy *ret_energies, struct wattle_use *ret_use,
		   struct wattle_share *ret_shares, size_t n)
{
	struct wattle_meter *meter = set->meter;
	struct wtl_window *window;
	int64_t end_ns;
	int rc = 0;

	if (!wtl_abi_is_sized(ret_window) || (n > 0 && !wtl_abi_is_sized(ret_energies)) ||
	    !are_sized(ret_use, ret_shares, n))
		return -EINVAL;
	pthread_mutex_lock(&meter->lock);
	window = wtl_window_find(meter, name);
	if (!window) {
		rc = -WATTLE_E_NO_WINDOW;
	} else if (!mark_of(set, window)->is_known) {
		rc = -ENODATA;
	} else {
		wtl_meter_sample_asked(meter);
		end_ns = wtl_window_tell(meter, window, ret_window, ret_energies, n);
		if (window->flags)
			wtl_attached_bill(meter);
		give_set(set, window, ret_use, ret_shares, n);
		wtl_window_close(meter, window, end_ns);
	}
	pthread_mutex_unlock(&meter->lock);
	return rc;
}

/* ---- How it is done ---- */

int wattle_meter_way(struct wattle_meter *meter, size_t i, struct wattle_way *ret_way)
{
	const struct wtl_workload_way *from;
	struct wattle_way way;

	if (!meter->attached)
		return -ENOTSUP;
	if (i >= WTL_WAYS)
		return -ERANGE;
	if (!wtl_abi_is_sized(ret_way))
		return -EINVAL;
	pthread_mutex_lock(&meter->lock);
	from = &wtl_consumers_means(meter->attached->session.consumers)->ways[i];
	way = (struct wattle_way){.name = from->way,
				  .text = from->reason,
				  .remedy = from->remedy,
				  .is_used = from->is_used};
	wtl_abi_give(ret_way, &way, sizeof(way));
	pthread_mutex_unlock(&meter->lock);
	return 0;
}
