/* SPDX-License-Identifier: MIT */
#include "serve/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/thread.h"

static size_t energies_of(const struct wtl_live *live)
{
	return live->n_domains * WTL_TOTALS_PARTS;
}

/* Of a group: its energies, and its power in each domain. */
static size_t numbers_of(const struct wtl_live *live)
{
	return energies_of(live) + live->n_domains;
}

size_t wtl_live_group_numbers(const struct wtl_live *live)
{
	return live->n_groups * numbers_of(live);
}

void wtl_live_give_numbers(struct wtl_live *live)
{
	for (size_t i = 0; i < live->n_groups; i++) {
		live->groups[i].energy_uj = &live->group_energies[i * numbers_of(live)];
		live->groups[i].dynamic_uw = live->groups[i].energy_uj + energies_of(live);
	}
}

int wtl_live_reserve(struct wtl_live *live, const struct wtl_live *counts)
{
	if (wtl_array_reserve(&live->domains, &live->room_domains, counts->n_domains,
			      sizeof(*live->domains)) < 0 ||
	    wtl_array_reserve(&live->misses, &live->room_misses, counts->n_misses,
			      sizeof(*live->misses)) < 0 ||
	    wtl_array_reserve(&live->groups, &live->room_groups, counts->n_groups,
			      sizeof(*live->groups)) < 0 ||
	    wtl_array_reserve(&live->processes, &live->room_processes, counts->n_processes,
			      sizeof(*live->processes)) < 0 ||
	    wtl_array_reserve(&live->gpus, &live->room_gpus, counts->n_gpus, sizeof(*live->gpus)) <
		    0 ||
	    wtl_array_reserve(&live->group_energies, &live->room_energies,
			      wtl_live_group_numbers(counts), sizeof(*live->group_energies)) < 0)
		return -ENOMEM;
	live->n_domains = counts->n_domains;
	live->n_misses = counts->n_misses;
	live->n_groups = counts->n_groups;
	live->n_processes = counts->n_processes;
	live->n_gpus = counts->n_gpus;
	wtl_live_give_numbers(live);
	return 0;
}

void wtl_live_done(struct wtl_live *live)
{
	free(live->domains);
	free(live->misses);
	free(live->groups);
	free(live->processes);
	free(live->gpus);
	free(live->group_energies);
	memset(live, 0, sizeof(*live));
}

uint64_t wtl_live_energy(const struct wtl_live *live, size_t group, size_t domain,
			 enum wtl_totals_part part)
{
	return live->groups[group].energy_uj[domain * WTL_TOTALS_PARTS + part];
}

uint64_t wtl_live_counted(const struct wtl_live *live, size_t group, enum wtl_totals_part part)
{
	uint64_t sum_uj = 0;

	for (size_t i = 0; i < live->n_domains; i++)
		if (live->domains[i].in_total)
			sum_uj += wtl_live_energy(live, group, i, part);
	return sum_uj;
}

struct wtl_live_id wtl_live_id(const struct wtl_live *live)
{
	return (struct wtl_live_id){.begin_utc_ns = live->begin_utc_ns, .number = live->number};
}

bool wtl_live_is(const struct wtl_live *live, const struct wtl_live_id *id)
{
	return live->begin_utc_ns == id->begin_utc_ns && live->number == id->number;
}

bool wtl_live_has_counter(const struct wtl_live_domain *domain)
{
	return domain->has_energy || domain->energy_uj > 0;
}

bool wtl_live_is_retired(const struct wtl_live_group *group)
{
	return strcmp(group->name, WTL_TOTALS_RETIRED) == 0;
}

static uint64_t sum_of_groups(const struct wtl_live *live, size_t by, size_t domain)
{
	uint64_t sum_uj = 0;

	for (size_t i = 0; i < live->n_groups; i++)
		if (live->groups[i].by == by)
			sum_uj += wtl_live_energy(live, i, domain, WTL_TOTALS_DYNAMIC);
	return sum_uj;
}

bool wtl_live_adds_up(const struct wtl_live *live)
{
	for (size_t i = 0; i < live->n_domains; i++) {
		const struct wtl_live_domain *domain = &live->domains[i];
		uint64_t sum_uj = 0;

		for (size_t k = 0; k < WTL_TOTALS_ACCOUNTS; k++)
			sum_uj += domain->accounts_uj[k];
		if (sum_uj != domain->energy_uj)
			return false;
		for (size_t by = 0; by < WTL_TOTALS_GROUPINGS; by++)
			if (sum_of_groups(live, by, i) != domain->accounts_uj[WTL_TOTALS_PROCESSES])
				return false;
	}
	return true;
}

/* ---- The board ---- */

void wtl_board_init(struct wtl_board *board)
{
	memset(board, 0, sizeof(*board));
	pthread_mutex_init(&board->lock, NULL);
	board->newest = -1;
	board->published_ns = wtl_thread_clock_ns();
}

void wtl_board_done(struct wtl_board *board)
{
	for (size_t i = 0; i < WTL_LIVE_SLOTS; i++)
		wtl_live_done(&board->slots[i]);
	pthread_mutex_destroy(&board->lock);
}

struct wtl_live *wtl_board_draft(struct wtl_board *board)
{
	struct wtl_live *draft = NULL;

	pthread_mutex_lock(&board->lock);
	for (int i = 0; i < WTL_LIVE_SLOTS && !draft; i++)
		if (i != board->newest && board->holders[i] == 0)
			draft = &board->slots[i];
	pthread_mutex_unlock(&board->lock);
	return draft;
}

void wtl_board_keep(struct wtl_board *board, const struct wtl_live *draft)
{
	pthread_mutex_lock(&board->lock);
	board->holders[draft - board->slots]++;
	pthread_mutex_unlock(&board->lock);
}

void wtl_board_publish(struct wtl_board *board, struct wtl_live *draft)
{
	pthread_mutex_lock(&board->lock);
	board->newest = (int)(draft - board->slots);
	board->published_ns = wtl_thread_clock_ns();
	pthread_mutex_unlock(&board->lock);
	if (board->changed)
		board->changed(board->context);
}

void wtl_board_withdraw(struct wtl_board *board)
{
	pthread_mutex_lock(&board->lock);
	board->newest = -1;
	pthread_mutex_unlock(&board->lock);
}

const struct wtl_live *wtl_board_hold(struct wtl_board *board)
{
	const struct wtl_live *live = NULL;

	pthread_mutex_lock(&board->lock);
	if (board->newest >= 0) {
		live = &board->slots[board->newest];
		board->holders[board->newest]++;
	}
	pthread_mutex_unlock(&board->lock);
	return live;
}

int64_t wtl_board_age_ns(struct wtl_board *board)
{
	int64_t published_ns;

	pthread_mutex_lock(&board->lock);
	published_ns = board->published_ns;
	pthread_mutex_unlock(&board->lock);
	return wtl_thread_clock_ns() - published_ns;
}

void wtl_board_give_back(struct wtl_board *board, const struct wtl_live *live)
{
	pthread_mutex_lock(&board->lock);
	if (live)
		board->holders[live - board->slots]--;
	pthread_mutex_unlock(&board->lock);
}
