/* SPDX-License-Identifier: MIT */
/* What a player starts with: the meter, the consumers, and what was known of the machine. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "meter/consumers.h"
#include "meter/known_watts.h"
#include "meter/meter.h"
#include "replay/player_state.h"
#include "replay/recorder_windows.h"

enum { WINDOWS_OF_USER = 16 }; /* that the player and its user open beside the recording's */
enum { PARTS_MAX = 1 << 20 };  /* processors of a machine, or packages */

/* The value of a fact, or `known` without it. */
static uint64_t fact_number(const struct wtl_player *player, const char *key, uint64_t known,
			    uint64_t most)
{
	const char *text = wtl_store_get_fact(player->reader, key);
	uint64_t value;

	return text && wtl_num_u64(text, strlen(text), &value) == 0 && value > 0 && value <= most
		       ? value
		       : known;
}

static void restore_machine(struct wtl_player *player)
{
	struct wtl_machine *machine = &player->meter->machine;
	const struct {
		const char *key;
		char *to;
		size_t size;
	} texts[] = {
		{WTL_FACT_CPU_MODEL, machine->cpu_model, sizeof(machine->cpu_model)},
		{WTL_FACT_VENDOR, machine->vendor, sizeof(machine->vendor)},
		{WTL_FACT_PRODUCT, machine->product, sizeof(machine->product)},
		{WTL_FACT_KERNEL, machine->kernel, sizeof(machine->kernel)},
	};
	const char *text;

	machine->n_cpus = (unsigned)fact_number(player, WTL_FACT_CPUS, machine->n_cpus, PARTS_MAX);
	machine->n_packages =
		(unsigned)fact_number(player, WTL_FACT_PACKAGES, machine->n_packages, PARTS_MAX);
	machine->memory_bytes =
		fact_number(player, WTL_FACT_MEMORY, machine->memory_bytes, UINT64_MAX);
	text = wtl_store_get_fact(player->reader, WTL_FACT_VM);
	machine->is_vm = text && strcmp(text, "1") == 0;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		text = wtl_store_get_fact(player->reader, texts[i].key);
		if (text)
			snprintf(texts[i].to, texts[i].size, "%s", text);
	}
}

static bool begins_with_sample(const struct wtl_player *player)
{
	return wtl_player_peek_op(player) == WTL_OP_SAMPLE;
}

/* Goes to a period that begins with a sample: 1; 0: there is none. Periods that are skipped are lost. */
static int find_first(struct wtl_player *player, struct wtl_err *err)
{
	struct wtl_played lost;
	char text[sizeof(lost.text)];
	int rc;

	while ((rc = wtl_player_load_period(player, &lost, err)) > 0) {
		if (player->has_period && begins_with_sample(player))
			break;
		if (player->has_period && wtl_player_peek_op(player) >= 0) {
			snprintf(text, sizeof(text), "period %zu does not begin with a sample",
				 player->period);
			wtl_player_note_lost(player, &lost, text);
		}
		if (!player->has_period && !player->lost_first.text[0])
			player->lost_first = lost;
	}
	return rc;
}

static const char *why_no_sample(const struct wtl_store_reader *reader)
{
	if (wtl_store_lacks_wal(reader))
		return "nothing that was measured is in the file yet, and its -wal cannot be read "
		       "here: wattle report --check says why";
	if (wtl_store_is_damaged(reader))
		return "it holds no sample that can be read: wattle report --check says what is "
		       "missing";
	if (wtl_store_periods(reader) > 0 || wtl_store_is_whole(reader))
		return "it holds no sample that can be read";
	return "there is nothing in it: it was begun just now, or was cut off before anything "
	       "measured was in it";
}

/* The first sample is the meter's initial state. */
static int open_meter(struct wtl_player *player, struct wtl_err *err)
{
	/* A recorder knows no more at a time. */
	const size_t n_recorded =
		player->n_windows < WTL_KNOWN_WINDOWS ? player->n_windows : WTL_KNOWN_WINDOWS;
	const struct wattle_options options = {
		.size = sizeof(options), .max_windows = (uint32_t)n_recorded + WINDOWS_OF_USER};
	const struct wtl_env env = {.io = &player->io.io};
	int64_t op;
	int rc = find_first(player, err);

	if (rc < 0)
		return rc;
	if (wtl_player_take(player, WTL_SINGLE_OP, &op) < 0 || op != WTL_OP_SAMPLE ||
	    wtl_player_take_sample(player) < 0)
		return wtl_err_set(err, EBADMSG, "recording", NULL, "%s",
				   why_no_sample(player->reader));
	player->is_broken = false;
	player->lost_first.lost_ns = player->sampled_ns - player->lost_first.t_mono_ns;
	return wtl_meter_new_from(&env, &options, wtl_given_sources, &player->meter, err);
}

static int open_consumers(struct wtl_player *player, struct wtl_err *err)
{
	const char **domains = calloc(player->n_gpus + 1, sizeof(*domains));
	int rc;

	if (!domains)
		return wtl_err_set(err, ENOMEM, "recording", NULL, "out of memory");
	for (size_t i = 0; i < player->n_gpus; i++)
		domains[i] = player->gpus[i].domain;
	rc = wtl_consumers_new_restored(player->meter, domains, player->n_gpus, &player->consumers,
					err);
	free(domains);
	return rc;
}

/* Returns false if nothing was known when the recording began. */
static bool recorded_idle(struct wtl_player *player, size_t i, struct wtl_baseline *ret_idle)
{
	char key[WTL_STORE_NAME_SIZE], domain[32], source[32];
	const char *text;

	if (player->policy.forgets_idle)
		return false;
	snprintf(key, sizeof(key), WTL_FACT_IDLE, i);
	text = wtl_store_get_fact(player->reader, key);
	return text && wtl_baseline_parse(text, strlen(text), domain, source, ret_idle) == 0;
}

/* Returns false for a domain whose recorded idle power is used. */
static bool given_idle(const struct wtl_player_policy *policy, const char *domain,
		       struct wtl_baseline *ret_idle)
{
	size_t i = 0;

	while (i < policy->n_given && strcmp(policy->given[i].domain, domain) != 0)
		i++;
	*ret_idle = (struct wtl_baseline){.is_known = true, .is_given = true};
	if (i < policy->n_given)
		ret_idle->idle_uw = policy->given[i].idle_uw;
	return i < policy->n_given || policy->has_no_idle;
}

static void restore_idle(struct wtl_player *player)
{
	for (size_t i = 0; i < wattle_meter_domains(player->meter); i++) {
		struct wtl_baseline idle;
		struct wattle_domain domain;

		wtl_meter_domain(player->meter, i, &domain);
		if (given_idle(&player->policy, domain.name, &idle))
			wtl_consumers_fix_baseline(player->consumers, i, &idle);
		else if (recorded_idle(player, i, &idle))
			wtl_consumers_set_baseline(player->consumers, i, &idle);
	}
}

/* Restores programs whose watts were known when they were first learned: a key and a line each. */
static int restore_known(struct wtl_player *player)
{
	char key[WTL_STORE_NAME_SIZE], of[32], name[32];
	const char *text, *line;

	snprintf(key, sizeof(key), WTL_FACT_KNOWN, (size_t)0);
	for (size_t i = 1; (text = wtl_store_get_fact(player->reader, key)) != NULL; i++) {
		struct wtl_known_watts known;
		struct wtl_baseline watts;
		uint64_t owner;

		line = strchr(text, ' ');
		if (line && wtl_num_u64(text, (size_t)(line - text), &owner) == 0 && owner > 0 &&
		    owner <= UINT32_MAX &&
		    wtl_baseline_parse(line + 1, strlen(line + 1), of, name, &watts) == 0 &&
		    wtl_known_take(of, name, &watts, &known)) {
			known.key = (uint32_t)owner;
			if (wtl_consumers_know_watts(player->consumers, &known) < 0)
				return -ENOMEM;
		}
		snprintf(key, sizeof(key), WTL_FACT_KNOWN, i);
	}
	return 0;
}

/* Consumers' watts keys are in recordings with learned watts only. */
static int open_weight(struct wtl_player *player)
{
	const char *text = wtl_store_get_fact(player->reader, WTL_FACT_WEIGHT);
	int recorded = text ? wtl_weight_find(text) : WTL_WEIGHT_CPU_TIME;
	int weight = player->policy.has_weight ? (int)player->policy.weight : recorded;

	player->is_learned = weight == WTL_WEIGHT_LEARNED;
	player->has_keys = recorded == WTL_WEIGHT_LEARNED;
	if (!player->is_learned)
		return 0;
	if (wtl_consumers_learn_watts(player->consumers, player->has_keys) < 0 ||
	    (player->has_keys && restore_known(player) < 0))
		return -ENOMEM;
	if ((player->policy.has_weight || wtl_store_get_fact(player->reader, WTL_FACT_GPU_WATTS)) &&
	    wtl_consumers_learn_gpus(player->consumers) < 0)
		return -ENOMEM;
	return player->policy.past ? wtl_consumers_use_past(player->consumers, player->policy.past)
				   : 0;
}

static int open_all(struct wtl_player *player, const char *path, struct wtl_err *err)
{
	size_t n_domains;
	int rc = wtl_store_open(path, &player->reader, err);

	if (rc == 0)
		rc = wtl_player_read_tables(player, err);
	if (rc < 0)
		return rc;
	if (wtl_wall_read(&player->wall, player->reader) < 0)
		return wtl_err_set(err, ENOMEM, "recording", path, "out of memory");
	player->channel_cursors = calloc(player->n_channels + 1, sizeof(*player->channel_cursors));
	player->readings = calloc(player->n_channels + 1, sizeof(*player->readings));
	if (!player->channel_cursors || !player->readings)
		return wtl_err_set(err, ENOMEM, "recording", path, "out of memory");
	wtl_given_io_init(&player->io);
	player->io.readings = player->readings;
	player->io.channels = player->channels;
	player->io.n_channels = player->n_channels;
	player->io.misses = player->misses;
	player->io.n_misses = player->n_misses;
	wtl_player_find_series(player);
	player->is_behind_dropped =
		wtl_player_follows(player) && (wtl_store_has_dropped(player->reader) ||
					       wtl_store_get_fact(player->reader, WTL_FACT_LATE));
	rc = open_meter(player, err);
	if (rc < 0)
		return rc;
	restore_machine(player);
	n_domains = wattle_meter_domains(player->meter);
	player->energies = calloc(n_domains + 1, sizeof(*player->energies));
	player->billed = calloc(n_domains + 1, sizeof(*player->billed));
	player->is_certain = calloc(n_domains + 1, sizeof(*player->is_certain));
	if (!player->energies || !player->billed || !player->is_certain)
		return wtl_err_set(err, ENOMEM, "recording", path, "out of memory");
	rc = open_consumers(player, err);
	if (rc == 0 && open_weight(player) < 0)
		return wtl_err_set(err, ENOMEM, "recording", path, "out of memory");
	if (rc == 0)
		restore_idle(player);
	return rc;
}

int wtl_player_open(const char *path, const struct wtl_player_policy *policy,
		    struct wtl_player **ret_player, struct wtl_err *err)
{
	struct wtl_player *player = calloc(1, sizeof(*player));
	int rc;

	if (!player)
		return wtl_err_set(err, ENOMEM, "recording", path, "out of memory");
	if (policy)
		player->policy = *policy;
	rc = open_all(player, path, err);
	if (rc < 0) {
		if (err && !err->path[0])
			snprintf(err->path, sizeof(err->path), "%s", path);
		wtl_player_close(player);
		return rc;
	}
	*ret_player = player;
	return 0;
}

void wtl_player_close(struct wtl_player *player)
{
	if (!player)
		return;
	wtl_consumers_free(player->consumers);
	wattle_meter_close(player->meter);
	wtl_store_close(player->reader);
	wtl_player_free_tables(player);
	wtl_wall_done(&player->wall);
	free(player->channel_cursors);
	free(player->readings);
	free(player->energies);
	free(player->billed);
	free(player->is_certain);
	free(player->uses);
	free(player->folds);
	free(player->slots);
	free(player->moved);
	free(player->stale);
	free(player->busy);
	free(player->devices);
	free(player);
}
