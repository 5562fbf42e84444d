/* SPDX-License-Identifier: MIT */
/* The end of a recording from its summary, instead of playing all of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/num.h"
#include "energy/attribution.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "meter/observer.h"
#include "replay/player_state.h"
#include "workload/gpu_use.h"

/* Everything is gathered before anything is restored, since it may not add up. */
struct summary {
	struct wtl_player *player;
	size_t n_domains;
	struct wtl_stored_account *accounts;
	size_t n_accounts, accounts_room;
	struct wtl_share *sums; /* one a domain */
	/* The newest of the ended windows whose energies are the sums. */
	struct wtl_stored_window window;
	struct wattle_energy *energies;
	struct wtl_stored_baseline *baselines;
	size_t n_baselines, baselines_room;
	bool has_window, has_open, repeats;
	bool is_odd; /* rows contradict each other */
};

/* The slot of an account: that of a known consumer, or one of the fixed slots; else -EBADMSG. */
static int64_t slot_of(const struct wtl_player *player, const struct wtl_stored_account *account)
{
	const struct wtl_played_consumer *who;

	if (account->consumer == 0)
		return account->slot < WTL_SLOTS_FIXED ? (int64_t)account->slot : -EBADMSG;
	who = wtl_player_find_consumer(player, account->consumer);
	return who ? (int64_t)who->slot : -EBADMSG;
}

static int add_account(void *context, const struct wtl_stored_account *account)
{
	struct summary *summary = context;
	struct wtl_share *sum;

	summary->is_odd |=
		account->domain >= summary->n_domains || slot_of(summary->player, account) < 0;
	if (summary->is_odd)
		return 0;
	sum = &summary->sums[account->domain];
	summary->is_odd |= !wtl_store_is_mono(sum->share_ns + account->share_ns);
	if (summary->is_odd)
		return 0;
	if (wtl_array_reserve(&summary->accounts, &summary->accounts_room, summary->n_accounts + 1,
			      sizeof(*account)) < 0)
		return -ENOMEM;
	summary->accounts[summary->n_accounts++] = *account;
	sum->full_uj += account->full_uj;
	sum->share_ns += account->share_ns;
	return 0;
}

static bool is_sum(const struct summary *summary, const struct wtl_stored_window *window)
{
	if (window->n_energies != summary->n_domains)
		return false;
	for (size_t i = 0; i < summary->n_domains; i++) {
		const struct wattle_energy *energy = &window->energies[i];

		if (summary->sums[i].full_uj != (energy->has_energy ? energy->energy_uj : 0))
			return false;
	}
	return true;
}

static int take_window(void *context, const struct wtl_stored_window *window)
{
	struct summary *summary = context;

	summary->has_open |= window->is_open || window->n_energies != summary->n_domains;
	if (window->is_open || !is_sum(summary, window))
		return 0;
	summary->window = *window;
	memcpy(summary->energies, window->energies,
	       summary->n_domains * sizeof(*summary->energies));
	summary->has_window = true;
	return 0;
}

/* Each run of a repeated command has accounts of its own, and only the last run's are stored. */
static int find_repeats(void *context, const struct wtl_stored_window *window)
{
	struct summary *summary = context;

	summary->repeats |=
		window->id != summary->window.id && strcmp(window->name, summary->window.name) == 0;
	return 0;
}

static int add_baseline(void *context, const struct wtl_stored_baseline *stored)
{
	struct summary *summary = context;

	if (stored->domain >= summary->n_domains)
		return 0;
	if (wtl_array_reserve(&summary->baselines, &summary->baselines_room,
			      summary->n_baselines + 1, sizeof(*stored)) < 0)
		return -ENOMEM;
	summary->baselines[summary->n_baselines++] = *stored;
	return 0;
}

/* Reads all tables, even if one is wrong, so that it is known whether any is damaged. */
static int gather(struct summary *summary)
{
	struct wtl_store_reader *reader = summary->player->reader;
	int rc[6];
	size_t n = 0;

	summary->sums = calloc(summary->n_domains + 1, sizeof(*summary->sums));
	summary->energies = calloc(summary->n_domains + 1, sizeof(*summary->energies));
	if (!summary->sums || !summary->energies)
		return -ENOMEM;
	rc[n++] = wtl_store_each_account(reader, add_account, summary);
	rc[n++] = wtl_store_each_window(reader, take_window, summary);
	rc[n++] = wtl_store_each_window_bare(reader, find_repeats, summary);
	rc[n++] = wtl_store_look_at_energies(reader);
	rc[n++] = wtl_player_keep_domains(summary->player);
	rc[n++] = wtl_store_each_baseline(reader, add_baseline, summary);
	for (size_t i = 0; i < n; i++) {
		if (rc[i] == -ENOMEM)
			return -ENOMEM;
		summary->is_odd |= rc[i] < 0;
	}
	return 0;
}

static bool adds_up(const struct summary *summary)
{
	const struct wtl_player *player = summary->player;

	/* A summary must cover all that was recorded. */
	return wtl_store_is_whole(player->reader) && !wtl_store_has_dropped(player->reader) &&
	       !summary->is_odd && summary->n_accounts > 0 && summary->has_window &&
	       !summary->has_open && !summary->repeats && player->n_domains == summary->n_domains;
}

/* ---- Restoring it ---- */

static const char *or_null(const char *text)
{
	return text[0] ? text : NULL;
}

static void restore_update(struct wtl_player *player, size_t i, struct wattle_domain *info)
{
	char key[WTL_STORE_NAME_SIZE];
	const char *text;
	int64_t update_ns;

	snprintf(key, sizeof(key), WTL_FACT_UPDATE, i);
	text = wtl_store_get_fact(player->reader, key);
	if (text && wtl_num_i64(text, strlen(text), &update_ns) == 0 && update_ns > 0)
		info->update_ns = update_ns;
}

static void restore_domains(struct wtl_player *player)
{
	for (size_t i = 0; i < player->n_domains; i++) {
		struct wattle_domain *info = &player->meter->domains[i].info;

		info->status = player->domains[i].status;
		info->reason = or_null(player->domains[i].reason);
		info->remedy = or_null(player->domains[i].remedy);
		restore_update(player, i, info);
	}
}

static int restore_consumers(struct wtl_player *player)
{
	struct wtl_workload *workload = wtl_consumers_workload(player->consumers);

	for (size_t i = 0; i < player->n_who; i++) {
		struct wtl_consumer *consumer;

		if (player->who[i]->slot < WTL_SLOTS_FIXED ||
		    player->who[i]->slot >= WTL_RESTORED_SLOTS_MAX)
			return -EBADMSG;
		consumer = wtl_workload_restore_consumer(workload, player->who[i]->slot);
		if (!consumer)
			return -ENOMEM;
		*consumer = player->who[i]->consumer;
		if (player->who[i]->per_cpu.power_uw > 0 &&
		    wtl_consumers_restore_per_cpu(player->consumers, player->who[i]->slot,
						  &player->who[i]->per_cpu) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Reads the last value of a series, if any. */
static int last_value(struct wtl_player *player, int64_t series, int64_t *ret_value,
		      struct wtl_err *err)
{
	const int64_t *values;
	size_t n;

	if (series < 0)
		return 0;
	for (size_t period = wtl_store_periods(player->reader); period-- > 0;) {
		int rc = wtl_store_values(player->reader, (uint32_t)series, period, &values, &n,
					  err);

		if (rc < 0)
			return rc;
		if (n > 0) {
			*ret_value = values[n - 1];
			return 1;
		}
	}
	return 0;
}

static int restore_learned(struct wtl_player *player, struct wtl_err *err)
{
	int64_t weight = WTL_WEIGHT_CPU_TIME;
	int rc = last_value(player, player->cursors[WTL_SINGLE_SCAN_WEIGHT].series, &weight, err);

	if (rc < 0)
		return rc;
	if (weight < 0 || weight >= WTL_WEIGHTS)
		return -EBADMSG;
	wtl_workload_restore_weight(wtl_consumers_workload(player->consumers),
				    (enum wtl_weight)weight);
	for (size_t i = 0; i < player->n_domains; i++) {
		char key[WTL_STORE_NAME_SIZE];

		snprintf(key, sizeof(key), WTL_FACT_LEARNED, i);
		if (wtl_store_get_fact(player->reader, key))
			wtl_consumers_restore_learned(player->consumers, i);
	}
	return 0;
}

static int restore_gpus(struct wtl_player *player, struct wtl_err *err)
{
	for (size_t i = 0; i < player->n_gpus; i++) {
		struct wtl_gpu_scan scan = {.domain = player->gpus[i].domain};
		int64_t weight = WTL_GPU_USE_NONE;
		int rc =
			last_value(player, player->gpus[i].of[WTL_GPU_WEIGHT].series, &weight, err);

		if (rc < 0)
			return rc;
		if (weight < WTL_GPU_USE_NONE || weight >= WTL_GPU_USE_METHODS)
			return -EBADMSG;
		scan.method = (enum wtl_gpu_use_method)weight;
		wtl_consumers_restore_gpu(player->consumers, i, &scan);
	}
	return 0;
}

static int restore_clocks(struct wtl_player *player, struct wtl_played *second, struct wtl_err *err)
{
	const struct {
		enum wtl_single id;
		int64_t *value;
	} wanted[] = {
		{WTL_SINGLE_SECOND_MONO, &second->t_mono_ns},
		{WTL_SINGLE_SECOND_UTC, &second->t_utc_ns},
		{WTL_SINGLE_SECOND_CPU, &second->self_cpu_ns},
		{WTL_SINGLE_SECOND_RSS, &second->self_rss_bytes},
		{WTL_SINGLE_SAMPLE_MONO, &player->io.mono_ns},
		{WTL_SINGLE_SAMPLE_ASLEEP, &player->io.asleep_ns},
	};

	*second = (struct wtl_played){.kind = WTL_PLAYED_SECOND};
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		int rc = last_value(player, player->cursors[wanted[i].id].series, wanted[i].value,
				    err);

		if (rc < 0 || (rc == 0 && wanted[i].id != WTL_SINGLE_SECOND_RSS))
			return rc < 0 ? rc : -EBADMSG;
	}
	if (!wtl_store_is_mono(second->t_mono_ns) || !wtl_store_is_utc(second->t_utc_ns) ||
	    !wtl_store_is_mono(player->io.mono_ns) || !wtl_store_is_mono(player->io.asleep_ns) ||
	    second->self_cpu_ns < 0 || second->self_rss_bytes < 0)
		return -EBADMSG;
	return 0;
}

static void restore_billed(struct summary *summary)
{
	struct wtl_player *player = summary->player;

	for (size_t i = 0; i < summary->n_accounts; i++) {
		const struct wtl_stored_account *account = &summary->accounts[i];
		const struct wtl_share share = {.full_uj = account->full_uj,
						.share_ns = account->share_ns,
						.doubt_uj = account->doubt_uj};

		wtl_consumers_restore_account(player->consumers, (uint32_t)slot_of(player, account),
					      account->domain, &share);
	}
	wtl_consumers_restore_billed(player->consumers, summary->energies);
	memcpy(player->billed, summary->energies, summary->n_domains * sizeof(*player->billed));
	player->billed_window = (struct wattle_window){
		.begin_utc_ns = summary->window.begin_utc_ns,
		.begin_mono_ns = summary->window.begin_mono_ns,
		.duration_ns = summary->window.duration_ns,
		.total = summary->window.total,
	};
	player->main_window = summary->window.id;
	player->bill_offset_ns = summary->window.begin_utc_ns - summary->window.begin_mono_ns;
	player->was_billed = player->has_scans = true;
}

static int restore_all(struct summary *summary, struct wtl_played *second, struct wtl_err *err)
{
	struct wtl_player *player = summary->player;
	int rc = restore_consumers(player);

	if (rc == 0)
		rc = restore_learned(player, err);
	if (rc == 0)
		rc = restore_gpus(player, err);
	if (rc == 0)
		rc = restore_clocks(player, second, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < summary->n_baselines; i++)
		wtl_consumers_fix_baseline(player->consumers, summary->baselines[i].domain,
					   &summary->baselines[i].baseline);
	restore_domains(player);
	restore_billed(summary);
	return 0;
}

int wtl_player_summary(struct wtl_player *player, struct wtl_played *ret_second,
		       struct wtl_err *err)
{
	struct summary summary = {.player = player,
				  .n_domains = wattle_meter_domains(player->meter)};
	int rc = gather(&summary);

	if (rc == 0 && adds_up(&summary)) {
		rc = restore_all(&summary, ret_second, err);
		rc = rc < 0 ? rc : 1;
	}
	free(summary.accounts);
	free(summary.sums);
	free(summary.energies);
	free(summary.baselines);
	if (rc == -ENOMEM)
		return wtl_err_set(err, rc, "recording", NULL, "out of memory");
	/* A recording whose summary does not add up can still be played. */
	return rc < 0 ? 0 : rc;
}
