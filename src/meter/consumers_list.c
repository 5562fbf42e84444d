/* SPDX-License-Identifier: MIT */
/* All consumers at one moment, as they are handed out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/abi.h"
#include "base/text.h"
#include "base/user.h"
#include "energy/units.h"
#include "meter/meter.h"
#include "meter/session.h"

struct row {
	struct wtl_consumer consumer;
	struct wtl_group group;
	enum wattle_consumer_state state;
	char user[40], command[WTL_COMMAND_SIZE];
	int64_t start_utc_ns, cpu_ns, gpu_ns;
};

struct wattle_consumers {
	size_t n, n_domains;
	struct row *rows;
	struct wtl_share_energy *shares; /* of each row: the total, then each domain */
	struct wtl_ledger *ledgers;	 /* the same */
	struct wattle_window window;
};

static const enum wattle_consumer_state states[] = {
	[WTL_CONSUMER_LIVE] = WATTLE_CONSUMER_RUNNING,
	[WTL_CONSUMER_EXITED] = WATTLE_CONSUMER_ENDED,
	[WTL_CONSUMER_KERNEL] = WATTLE_CONSUMER_KERNEL,
	[WTL_CONSUMER_FOLDED] = WATTLE_CONSUMER_SEVERAL,
};

static const enum wattle_consumer_state fixed_states[] = {
	[WTL_SLOT_UNSEEN] = WATTLE_CONSUMER_UNSEEN,
	[WTL_SLOT_INTERRUPTS] = WATTLE_CONSUMER_INTERRUPTS,
	[WTL_SLOT_NOBODY] = WATTLE_CONSUMER_NOBODY,
};

static void take_shares(struct wattle_consumers *list, const struct wtl_consumers *consumers,
			const struct wtl_book *book, size_t slot)
{
	struct wtl_share_energy *shares = &list->shares[list->n * (list->n_domains + 1)];

	for (size_t i = 0; i <= list->n_domains; i++)
		wtl_book_energy(consumers, book, slot, (int)i - 1, &shares[i]);
}

static void take_fixed(struct wattle_consumers *list, const struct wtl_consumers *consumers,
		       const struct wtl_book *book, uint32_t slot)
{
	struct row *row = &list->rows[list->n];

	*row = (struct row){.state = fixed_states[slot], .cpu_ns = -1, .gpu_ns = -1};
	row->consumer.uid = UINT32_MAX;
	row->consumer.rss_bytes = row->consumer.pss_bytes = row->consumer.uss_bytes =
		row->consumer.gpu_memory_bytes = UINT64_MAX;
	take_shares(list, consumers, book, slot);
	list->n++;
}

/* The row before (NULL: none) often has the same user, and looking a name up takes 50 µs. */
static void take_names(struct row *row, const struct row *before,
		       const struct wtl_consumers_naming *naming)
{
	const struct wtl_consumer *consumer = &row->consumer;

	if (before && before->consumer.uid == consumer->uid)
		memcpy(row->user, before->user, sizeof(row->user));
	else if (consumer->uid != UINT32_MAX)
		naming->user(naming->context, consumer->uid, row->user, sizeof(row->user));
	if (consumer->pid > 0 && consumer->start_ns > 0)
		row->start_utc_ns = naming->start_utc_ns(naming->context, consumer->start_ns);
}

static void take_slot(struct wattle_consumers *list, const struct wtl_consumers *consumers,
		      const struct wtl_book *book, size_t slot,
		      const struct wtl_consumers_naming *naming)
{
	const struct wtl_consumer *consumer = wtl_consumers_get(consumers, slot);
	struct row *row = &list->rows[list->n];

	if (!consumer)
		return;
	*row = (struct row){.consumer = *consumer, .state = states[consumer->state]};
	if (consumer->group)
		row->group = *consumer->group;
	if (consumer->command)
		wtl_text_copy(row->command, sizeof(row->command), consumer->command);
	row->consumer.group = NULL;
	row->consumer.command = NULL;
	row->cpu_ns = wtl_book_cpu_ns(book, slot, consumer);
	row->gpu_ns = naming->lacks_gpu_time ? -1 : wtl_book_gpu_ns(consumers, book, slot);
	take_names(row, list->n > 0 ? row - 1 : NULL, naming);
	take_shares(list, consumers, book, slot);
	list->n++;
}

static void add_ledger(struct wtl_ledger *sum, const struct wtl_ledger *more)
{
	if (more->total_uj == 0)
		return;
	sum->has_idle &= more->has_idle;
	sum->live_uj += more->live_uj;
	sum->exited_uj += more->exited_uj;
	sum->kernel_uj += more->kernel_uj;
	sum->idle_uj += more->idle_uj;
	sum->unattributed_uj += more->unattributed_uj;
	sum->total_uj += more->total_uj;
}

static void take_ledgers(struct wattle_consumers *list, const struct wtl_consumers *consumers,
			 const struct wtl_book *book)
{
	list->ledgers[0] = (struct wtl_ledger){.has_idle = true};
	for (size_t i = 0; i < list->n_domains; i++) {
		wtl_book_ledger(consumers, book, i, &list->ledgers[i + 1]);
		if (wtl_consumers_counts(consumers, i))
			add_ledger(&list->ledgers[0], &list->ledgers[i + 1]);
	}
}

int wtl_consumers_list(const struct wtl_consumers *consumers, const struct wtl_book *book,
		       const struct wattle_window *window,
		       const struct wtl_consumers_naming *naming,
		       struct wattle_consumers **ret_list)
{
	size_t n_slots = wtl_consumers_slots(consumers), n = WTL_SLOTS_FIXED;
	struct wattle_consumers *list = calloc(1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t slot = 0; slot < n_slots; slot++)
		n += wtl_consumers_get(consumers, slot) != NULL;
	list->n_domains = wtl_consumers_domains(consumers);
	list->rows = calloc(n, sizeof(*list->rows));
	list->shares = calloc(n * (list->n_domains + 1), sizeof(*list->shares));
	list->ledgers = calloc(list->n_domains + 1, sizeof(*list->ledgers));
	if (!list->rows || !list->shares || !list->ledgers) {
		wattle_consumers_free(list);
		return -ENOMEM;
	}
	for (size_t slot = 0; slot < n_slots; slot++)
		take_slot(list, consumers, book, slot, naming);
	for (uint32_t slot = 0; slot < WTL_SLOTS_FIXED; slot++)
		take_fixed(list, consumers, book, slot);
	take_ledgers(list, consumers, book);
	list->window = *window;
	*ret_list = list;
	return 0;
}

void wattle_consumers_free(struct wattle_consumers *consumers)
{
	if (!consumers)
		return;
	free(consumers->rows);
	free(consumers->shares);
	free(consumers->ledgers);
	free(consumers);
}

size_t wattle_consumers_count(const struct wattle_consumers *consumers)
{
	return consumers->n;
}

static const char *or_null(const char *text)
{
	return text[0] ? text : NULL;
}

int wattle_consumers_get(const struct wattle_consumers *consumers, size_t i,
			 struct wattle_consumer *ret_consumer)
{
	const struct row *row = i < consumers->n ? &consumers->rows[i] : NULL;
	struct wattle_consumer own;

	if (!row)
		return -ERANGE;
	if (!wtl_abi_is_sized(ret_consumer))
		return -EINVAL;
	own = (struct wattle_consumer){
		.state = row->state,
		.pid = row->consumer.pid,
		.parent = row->consumer.parent,
		.start_utc_ns = row->start_utc_ns,
		.uid = row->consumer.uid,
		.is_in_command = row->consumer.is_in_tree,
		.user = or_null(row->user),
		.name = or_null(row->consumer.name),
		.command = or_null(row->command),
		.cgroup = or_null(row->group.cgroup),
		.unit = or_null(row->group.unit),
		.container = or_null(row->group.container),
		.pod = or_null(row->group.pod),
		.job = or_null(row->group.job),
		.processes = row->consumer.n_processes,
		.cpu_ns = row->cpu_ns,
		.gpu_ns = row->gpu_ns,
		.rss_bytes = row->consumer.rss_bytes,
		.pss_bytes = row->consumer.pss_bytes,
		.uss_bytes = row->consumer.uss_bytes,
		.gpu_memory_bytes = row->consumer.gpu_memory_bytes,
	};
	wtl_abi_give(ret_consumer, &own, sizeof(own));
	return 0;
}

void wtl_share_energy_give(const struct wtl_share_energy *energy, struct wattle_share *ret_share)
{
	const struct wattle_share share = {
		.has_dynamic = energy->has_dynamic,
		.full_uj = energy->full_uj,
		.dynamic_uj = energy->dynamic_uj,
		.uncertainty_uj = energy->uncertainty_uj,
		.full_uncertainty_uj = energy->full_uncertainty_uj,
	};

	wtl_abi_give(ret_share, &share, sizeof(share));
}

/* The place of a domain's figure; the total's comes first. -ERANGE: there is no such domain. */
static int place_of(const struct wattle_consumers *consumers, int domain)
{
	if (domain < 0)
		return 0;
	return (size_t)domain < consumers->n_domains ? domain + 1 : -ERANGE;
}

int wattle_consumers_share(const struct wattle_consumers *consumers, size_t i, int domain,
			   struct wattle_share *ret_share)
{
	int at = place_of(consumers, domain);

	if (at < 0 || i >= consumers->n)
		return -ERANGE;
	if (!wtl_abi_is_sized(ret_share))
		return -EINVAL;
	wtl_share_energy_give(&consumers->shares[i * (consumers->n_domains + 1) + (size_t)at],
			      ret_share);
	return 0;
}

int wattle_consumers_ledger(const struct wattle_consumers *consumers, int domain,
			    struct wattle_ledger *ret_ledger)
{
	int at = place_of(consumers, domain);
	const struct wtl_ledger *from = at < 0 ? NULL : &consumers->ledgers[at];
	struct wattle_ledger own;

	if (!from)
		return -ERANGE;
	if (!wtl_abi_is_sized(ret_ledger))
		return -EINVAL;
	own = (struct wattle_ledger){
		.has_idle = from->has_idle,
		.live_uj = from->live_uj,
		.exited_uj = from->exited_uj,
		.kernel_uj = from->kernel_uj,
		.idle_uj = from->idle_uj,
		.unattributed_uj = from->unattributed_uj,
		.total_uj = from->total_uj,
	};
	wtl_abi_give(ret_ledger, &own, sizeof(own));
	return 0;
}

int wattle_consumers_window(const struct wattle_consumers *consumers,
			    struct wattle_window *ret_window)
{
	if (!wtl_abi_is_sized(ret_window))
		return -EINVAL;
	wtl_window_give(&consumers->window, ret_window);
	return 0;
}
