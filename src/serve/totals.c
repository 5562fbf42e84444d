/* SPDX-License-Identifier: MIT */
#include "serve/totals.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/text.h"
#include "energy/baseline.h"
#include "meter/consumers.h"
#include "meter/observer.h"
#include "workload/workload.h"

const enum wtl_field wtl_totals_groupings[WTL_TOTALS_GROUPINGS] = {
	WTL_FIELD_USER, WTL_FIELD_UNIT, WTL_FIELD_CONTAINER,
	WTL_FIELD_POD,	WTL_FIELD_JOB,	WTL_FIELD_NAME,
};

/* ---- Groups ---- */

static uint64_t *energy_at(const struct wtl_totals_group *group, size_t domain,
			   enum wtl_totals_part part)
{
	return &group->energy_uj[domain * WTL_TOTALS_PARTS + part];
}

uint64_t wtl_totals_energy(const struct wtl_totals *totals, const struct wtl_totals_group *group,
			   size_t domain, enum wtl_totals_part part)
{
	return domain < totals->n_domains ? *energy_at(group, domain, part) : 0;
}

/* The group that has used nothing for longest gives up its place; its use is kept with the retired. */
static size_t retire_one(struct wtl_totals *totals, struct wtl_totals_grouping *grouping)
{
	struct wtl_totals_group *retired = &grouping->groups[WTL_TOTALS_RETIRED_PLACE], *group;
	size_t place = 0;

	for (size_t i = 1; i < grouping->n; i++)
		if (grouping->groups[i].grown_ns < grouping->groups[place].grown_ns)
			place = i;
	group = &grouping->groups[place];
	/* A group that is using something keeps its place: else counters would be reset all the time. */
	if (group->grown_ns >= totals->looked_ns - 10 * (totals->interval_ns + 1))
		return WTL_TOTALS_OVERFLOW_PLACE;
	for (size_t i = 0; i < totals->n_domains * WTL_TOTALS_PARTS; i++)
		retired->energy_uj[i] += group->energy_uj[i];
	memset(group->energy_uj, 0, totals->n_domains * WTL_TOTALS_PARTS * sizeof(uint64_t));
	grouping->has_retired = true;
	return place;
}

static size_t place_of(struct wtl_totals *totals, struct wtl_totals_grouping *grouping,
		       const char *name)
{
	size_t place = 0;

	/* A group may have one of these names itself. */
	if (strcmp(name, WTL_TOTALS_OVERFLOW) == 0 || strcmp(name, WTL_TOTALS_RETIRED) == 0) {
		grouping->has_overflow = true;
		return WTL_TOTALS_OVERFLOW_PLACE;
	}
	while (place < grouping->n && strcmp(grouping->groups[place].name, name) != 0)
		place++;
	if (place < grouping->n)
		return place;
	if (place < WTL_TOTALS_GROUPS)
		grouping->n++;
	else
		place = retire_one(totals, grouping);
	if (place < WTL_TOTALS_GROUPS) {
		wtl_text_copy(grouping->groups[place].name, WTL_TOTALS_NAME_SIZE, name);
		grouping->groups[place].uid = UINT32_MAX;
		grouping->groups[place].grown_ns = totals->looked_ns;
	} else {
		grouping->has_overflow = true;
	}
	return place;
}

static void name_group(const struct wtl_totals *totals, const struct wtl_consumer *consumer,
		       enum wtl_field by, char name[WTL_TOTALS_NAME_SIZE])
{
	struct wtl_consumer_value value = {.text = ""};

	name[0] = '\0';
	if (by == WTL_FIELD_USER) {
		if (consumer->uid != UINT32_MAX)
			totals->user(totals->context, consumer->uid, name, WTL_TOTALS_NAME_SIZE);
		return;
	}
	wtl_consumer_get(consumer, consumer->group, by, &value);
	wtl_text_copy(name, WTL_TOTALS_NAME_SIZE, value.text);
}

/* A consumer's group: mostly the same as before. */
static struct wtl_totals_group *group_of(struct wtl_totals *totals, size_t by,
					 const struct wtl_consumer *consumer, uint32_t slot)
{
	struct wtl_totals_grouping *grouping = &totals->by[by];
	uint8_t *place = &totals->slots[slot].place[by];
	char name[WTL_TOTALS_NAME_SIZE];

	name_group(totals, consumer, wtl_totals_groupings[by], name);
	if (*place >= grouping->n || strcmp(grouping->groups[*place].name, name) != 0)
		*place = (uint8_t)place_of(totals, grouping, name);
	return &grouping->groups[*place];
}

/* ---- Taking ---- */

static enum wtl_totals_account account_of(uint32_t slot, const struct wtl_consumer *consumer)
{
	if (slot == WTL_SLOT_INTERRUPTS || (consumer && consumer->state == WTL_CONSUMER_KERNEL))
		return WTL_TOTALS_KERNEL;
	return consumer ? WTL_TOTALS_PROCESSES : WTL_TOTALS_UNATTRIBUTED;
}

/* What was added to an account, and how much of that is idle energy. false: nothing was, or it fell. */
static bool take(struct wtl_share *last, const struct wtl_share *now,
		 const struct wtl_baseline *idle, uint64_t *ret_more_uj, uint64_t *ret_idle_uj)
{
	struct wtl_share more;

	if (now->full_uj <= last->full_uj || now->share_ns < last->share_ns)
		return false;
	more.full_uj = now->full_uj - last->full_uj;
	more.share_ns = now->share_ns - last->share_ns;
	*ret_more_uj = more.full_uj;
	*ret_idle_uj = idle->is_known ? wtl_share_idle_uj(&more, idle->idle_uw) : 0;
	*last = *now;
	return true;
}

static void put(struct wtl_totals *totals, const struct wtl_consumer *consumer, uint32_t slot,
		size_t domain, uint64_t more_uj, uint64_t idle_uj)
{
	enum wtl_totals_account account = account_of(slot, consumer);
	uint64_t *accounts = &totals->accounts_uj[domain * WTL_TOTALS_ACCOUNTS];

	totals->host_uj += totals->is_counted[domain] ? more_uj : 0;
	accounts[WTL_TOTALS_IDLE] += idle_uj;
	accounts[account] += more_uj - idle_uj;
	for (size_t by = 0; account == WTL_TOTALS_PROCESSES && by < WTL_TOTALS_GROUPINGS; by++) {
		struct wtl_totals_group *group = group_of(totals, by, consumer, slot);

		*energy_at(group, domain, WTL_TOTALS_DYNAMIC) += more_uj - idle_uj;
		*energy_at(group, domain, WTL_TOTALS_IDLE_PART) += idle_uj;
		group->grown_ns = totals->looked_ns;
		if (consumer->uid != 0 || group->uid == UINT32_MAX)
			group->uid = consumer->uid;
		group->recent_dynamic_uj[domain] += more_uj - idle_uj;
		group->recent_uj += totals->is_counted[domain] ? more_uj : 0;
	}
}

/* A slot's account became part of another's: it was counted already. */
static void follow_folds(struct wtl_totals *totals, const struct wtl_workload_scan *scan)
{
	for (size_t i = 0; i < scan->n_folds; i++) {
		size_t from = scan->folds[i].from, into = scan->folds[i].into;

		if (from >= totals->n_slots || into >= totals->n_slots)
			continue;
		for (size_t domain = 0; domain < totals->n_domains; domain++) {
			struct wtl_share *gives = &totals->last[from * totals->n_domains + domain];
			struct wtl_share *takes = &totals->last[into * totals->n_domains + domain];

			takes->full_uj += gives->full_uj;
			takes->share_ns += gives->share_ns;
			*gives = (struct wtl_share){.full_uj = 0};
		}
	}
}

static int make_room(struct wtl_totals *totals, size_t n_slots)
{
	size_t n_slots_now = totals->n_slots, n_last = totals->n_slots * totals->n_domains;

	if (n_slots <= totals->n_slots)
		return 0;
	if (wtl_array_widen(&totals->last, &n_last, n_slots * totals->n_domains,
			    sizeof(*totals->last)) < 0 ||
	    wtl_array_widen(&totals->slots, &n_slots_now, n_slots, sizeof(*totals->slots)) < 0)
		return -ENOMEM;
	totals->n_slots = n_slots;
	return 0;
}

static size_t groups_of_all(void)
{
	return (size_t)WTL_TOTALS_GROUPINGS * WTL_TOTALS_PLACES;
}

static void begin_look(struct wtl_totals *totals, int64_t now_ns)
{
	totals->interval_ns = totals->looked_ns > 0 ? now_ns - totals->looked_ns : 0;
	totals->looked_ns = now_ns;
	memset(totals->recents, 0, groups_of_all() * totals->n_domains * sizeof(*totals->recents));
	for (size_t by = 0; by < WTL_TOTALS_GROUPINGS; by++)
		for (size_t i = 0; i < WTL_TOTALS_PLACES; i++)
			totals->by[by].groups[i].recent_uj = 0;
}

int wtl_totals_look(struct wtl_totals *totals, const struct wtl_consumers *consumers,
		    int64_t now_ns)
{
	size_t n_slots = wtl_consumers_slots(consumers);
	int rc = make_room(totals, n_slots > WTL_SLOTS_FIXED ? n_slots : WTL_SLOTS_FIXED);

	follow_folds(totals, wtl_consumers_scan(consumers));
	if (rc < 0)
		return rc;
	begin_look(totals, now_ns);
	for (size_t domain = 0; domain < totals->n_domains; domain++) {
		struct wtl_baseline idle;

		wtl_consumers_baseline(consumers, domain, &idle);
		for (uint32_t slot = 0; slot < totals->n_slots; slot++) {
			struct wtl_share now = wtl_consumers_share(consumers, slot, domain);
			uint64_t more_uj, idle_uj;

			if (take(&totals->last[slot * totals->n_domains + domain], &now, &idle,
				 &more_uj, &idle_uj))
				put(totals, wtl_consumers_get(consumers, slot), slot, domain,
				    more_uj, idle_uj);
		}
	}
	return 0;
}

int wtl_totals_look_unseen(struct wtl_totals *totals, const struct wattle_energy energies[],
			   int64_t now_ns)
{
	int rc = make_room(totals, WTL_SLOTS_FIXED);

	if (rc < 0)
		return rc;
	begin_look(totals, now_ns);
	for (size_t domain = 0; domain < totals->n_domains; domain++) {
		struct wtl_share *last =
			&totals->last[WTL_SLOT_UNSEEN * totals->n_domains + domain];
		uint64_t now_uj = energies[domain].has_energy ? energies[domain].energy_uj : 0;

		if (now_uj <= last->full_uj)
			continue;
		put(totals, NULL, WTL_SLOT_UNSEEN, domain, now_uj - last->full_uj, 0);
		last->full_uj = now_uj;
	}
	return 0;
}

uint64_t wtl_totals_of_slot(const struct wtl_totals *totals, size_t slot, size_t domain)
{
	return slot < totals->n_slots ? totals->last[slot * totals->n_domains + domain].full_uj : 0;
}

uint64_t wtl_totals_sum(const struct wtl_totals *totals, size_t domain)
{
	uint64_t sum_uj = 0;

	for (size_t i = 0; i < WTL_TOTALS_ACCOUNTS; i++)
		sum_uj += totals->accounts_uj[domain * WTL_TOTALS_ACCOUNTS + i];
	return sum_uj;
}

/* ---- Its memory ---- */

int wtl_totals_init(struct wtl_totals *totals, const char *const domains[], size_t n,
		    void (*user)(void *context, uint32_t uid, char *name, size_t size),
		    void *context)
{
	size_t n_each = n * WTL_TOTALS_PARTS;

	*totals = (struct wtl_totals){
		.n_domains = n, .domains = domains, .user = user, .context = context};
	totals->accounts_uj = calloc(n * WTL_TOTALS_ACCOUNTS + 1, sizeof(uint64_t));
	totals->is_counted = calloc(n + 1, sizeof(*totals->is_counted));
	totals->by = calloc(WTL_TOTALS_GROUPINGS, sizeof(*totals->by));
	totals->energies = calloc(n_each * groups_of_all() + 1, sizeof(uint64_t));
	totals->recents = calloc(n * groups_of_all() + 1, sizeof(uint64_t));
	if (!totals->recents || !totals->accounts_uj || !totals->is_counted || !totals->by ||
	    !totals->energies)
		return -ENOMEM;
	for (size_t by = 0; by < WTL_TOTALS_GROUPINGS; by++) {
		struct wtl_totals_group *groups = totals->by[by].groups;

		for (size_t i = 0; i < WTL_TOTALS_PLACES; i++) {
			size_t at = by * WTL_TOTALS_PLACES + i;

			groups[i].energy_uj = &totals->energies[at * n_each];
			groups[i].recent_dynamic_uj = &totals->recents[at * n];
		}
		wtl_text_copy(groups[WTL_TOTALS_OVERFLOW_PLACE].name, WTL_TOTALS_NAME_SIZE,
			      WTL_TOTALS_OVERFLOW);
		wtl_text_copy(groups[WTL_TOTALS_RETIRED_PLACE].name, WTL_TOTALS_NAME_SIZE,
			      WTL_TOTALS_RETIRED);
	}
	return 0;
}

void wtl_totals_done(struct wtl_totals *totals)
{
	free(totals->accounts_uj);
	free(totals->is_counted);
	free(totals->by);
	free(totals->energies);
	free(totals->recents);
	free(totals->last);
	free(totals->slots);
	*totals = (struct wtl_totals){.n_domains = 0};
}
