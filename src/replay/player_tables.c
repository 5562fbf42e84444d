/* SPDX-License-Identifier: MIT */
/* What a player reads first: the recording's plain tables. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "replay/player_state.h"
#include "sensors/rapl.h"
#include "sensors/share_text.h"

enum { SOURCES_MAX = 64, GPUS_MAX = 1024 };

/* Returns the same pointer for the same text, since sources are compared by the address of their names. */
static const char *intern_source(struct wtl_player *player, const char *name)
{
	for (size_t i = 0; i < player->n_sources; i++)
		if (strcmp(player->sources[i], name) == 0)
			return player->sources[i];
	if (player->n_sources == SOURCES_MAX)
		return player->sources[SOURCES_MAX - 1];
	snprintf(player->sources[player->n_sources], sizeof(player->sources[0]), "%s", name);
	return player->sources[player->n_sources++];
}

static int add_channel(void *context, uint32_t i, const struct wtl_channel *channel)
{
	struct wtl_player *player = context;
	char key[WTL_STORE_NAME_SIZE];
	const char *serial;

	if (i != player->n_channels)
		return -EBADMSG;
	if (wtl_array_reserve(&player->channels, &player->channels_room, i + 1u,
			      sizeof(player->channels[0])) < 0)
		return -ENOMEM;
	player->channels[i] = *channel;
	player->channels[i].source = intern_source(player, channel->source);
	if (wtl_rapl_is_coarse(&player->channels[i]))
		player->channels[i].fresh_ns = WTL_RAPL_FRESH_NS;
	else if (wtl_share_is_told(&player->channels[i]))
		player->channels[i].fresh_ns = WTL_SHARE_FRESH_NS;
	snprintf(key, sizeof(key), WTL_FACT_SERIAL, (size_t)i);
	serial = wtl_store_get_fact(player->reader, key);
	if (serial)
		wtl_text_copy(player->channels[i].serial, sizeof(player->channels[i].serial),
			      serial);
	player->n_channels++;
	return 0;
}

/* Uses this program's own row for a class if it has one, since the names there live on. */
static int copy_class(void *context, uint32_t i, const struct wtl_channel *channel)
{
	struct wtl_player *player = context;
	const struct wtl_sensor_class *known = channel->class;
	const struct wtl_sensor_class *row;

	if (!known || i >= player->n_channels)
		return 0;
	player->classes[i] = *known;
	player->classes[i].name = "recorded";
	for (unsigned k = 0; (row = wtl_sensor_class_row(k)); k++)
		if (strcmp(row->name, known->name) == 0)
			player->classes[i].name = row->name;
	player->channels[i].class = &player->classes[i];
	return 0;
}

static int add_miss(void *context, uint32_t i, const struct wtl_miss *miss)
{
	struct wtl_player *player = context;

	(void)i;
	if (wtl_array_reserve(&player->misses, &player->misses_room, player->n_misses + 1,
			      sizeof(player->misses[0])) < 0)
		return -ENOMEM;
	player->misses[player->n_misses] = *miss;
	player->misses[player->n_misses++].source = intern_source(player, miss->source);
	return 0;
}

/* Each user once: there are far fewer than processes. */
static int add_user(struct wtl_player *player, const struct wtl_stored_consumer *stored)
{
	struct wtl_played_user *user;

	if (!stored->user[0] || wtl_player_user(player, stored->consumer.uid)[0])
		return 0;
	if (wtl_array_reserve(&player->users, &player->users_room, player->n_users + 1,
			      sizeof(player->users[0])) < 0)
		return -ENOMEM;
	user = &player->users[player->n_users++];
	user->uid = stored->consumer.uid;
	memcpy(user->name, stored->user, sizeof(user->name));
	return 0;
}

struct wtl_played_consumer *wtl_player_find_consumer(const struct wtl_player *player, int64_t id)
{
	size_t from = 0, to = player->n_who;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (player->who[middle]->id < id)
			from = middle + 1;
		else
			to = middle;
	}
	return from < player->n_who && player->who[from]->id == id ? player->who[from] : NULL;
}

static int add_consumer(void *context, const struct wtl_stored_consumer *stored)
{
	struct wtl_player *player = context;
	struct wtl_played_consumer *own;

	if (player->policy.only_summary && stored->last_look >= 0)
		return 0;
	if (add_user(player, stored) < 0 ||
	    wtl_array_reserve(&player->who, &player->who_room, player->n_who + 1,
			      sizeof(player->who[0])) < 0)
		return -ENOMEM;
	own = malloc(sizeof(*own));
	if (!own)
		return -ENOMEM;
	player->who[player->n_who++] = own;
	own->id = stored->id;
	own->slot = stored->slot;
	own->consumer = stored->consumer;
	own->per_cpu = stored->per_cpu;
	if (stored->consumer.group) {
		own->group = *stored->consumer.group;
		own->consumer.group = &own->group;
	}
	if (stored->consumer.command) {
		memcpy(own->command, stored->command, sizeof(own->command));
		own->consumer.command = own->command;
	}
	return 0;
}

/* Nothing follows the last commit of a recording that was ended properly; others may lack their last ones. */
static bool ends_within(const struct wtl_player *player, const struct wtl_stored_window *window)
{
	size_t n = wtl_store_periods(player->reader);
	struct wtl_store_period last;

	return !wtl_store_is_whole(player->reader) ||
	       wtl_store_period(player->reader, n - 1, &last) < 0 ||
	       window->begin_mono_ns + window->duration_ns <= last.end_mono_ns;
}

static int add_window(void *context, const struct wtl_stored_window *stored)
{
	struct wtl_player *player = context;
	struct wtl_played_window *own;

	if (!ends_within(player, stored))
		return -EBADMSG;
	if (wtl_array_reserve(&player->windows, &player->windows_room, player->n_windows + 1,
			      sizeof(player->windows[0])) < 0)
		return -ENOMEM;
	own = &player->windows[player->n_windows++];
	*own = (struct wtl_played_window){
		.id = stored->id,
		.pid = stored->pid,
		.begin_mono_ns = stored->begin_mono_ns,
		.begin_utc_ns = stored->begin_utc_ns,
		.end_mono_ns =
			stored->is_open ? INT64_MAX : stored->begin_mono_ns + stored->duration_ns,
	};
	memcpy(own->name, stored->name, sizeof(own->name));
	snprintf(own->meter_name, sizeof(own->meter_name), "w%u", stored->id);
	return 0;
}

static int read_gpus(struct wtl_player *player)
{
	const char *text = wtl_store_get_fact(player->reader, WTL_FACT_GPUS);
	uint64_t n = 0;

	if (text && (wtl_num_u64(text, strlen(text), &n) < 0 || n > GPUS_MAX))
		return -EBADMSG;
	player->gpus = calloc(n + 1, sizeof(*player->gpus));
	if (!player->gpus)
		return -ENOMEM;
	player->n_gpus = n;
	for (size_t i = 0; i < n; i++) {
		char key[WTL_STORE_NAME_SIZE];
		const char *domain;

		snprintf(key, sizeof(key), WTL_FACT_GPU_DOMAIN, i);
		domain = wtl_store_get_fact(player->reader, key);
		if (domain)
			snprintf(player->gpus[i].domain, sizeof(player->gpus[i].domain), "%s",
				 domain);
	}
	return 0;
}

static int add_domain(void *context, uint32_t i, const struct wtl_stored_domain *domain)
{
	struct wtl_player *player = context;

	/* Then it has fewer than the meter, and there is no summary. */
	if (i != player->n_domains)
		return 0;
	if (wtl_array_reserve(&player->domains, &player->domains_room, i + 1u,
			      sizeof(player->domains[0])) < 0)
		return -ENOMEM;
	player->domains[player->n_domains++] = *domain;
	return 0;
}

int wtl_player_keep_domains(struct wtl_player *player)
{
	return wtl_store_each_domain(player->reader, add_domain, player);
}

static int read_channels(struct wtl_player *player)
{
	int rc = wtl_store_each_channel(player->reader, add_channel, player);

	if (rc < 0)
		return rc;
	player->classes = calloc(player->n_channels + 1, sizeof(player->classes[0]));
	return player->classes ? wtl_store_each_channel(player->reader, copy_class, player)
			       : -ENOMEM;
}

static int read_misses(struct wtl_player *player)
{
	return wtl_store_each_miss(player->reader, add_miss, player);
}

static int read_consumers(struct wtl_player *player)
{
	return player->policy.skips_use
		       ? 0
		       : wtl_store_each_consumer(player->reader, add_consumer, player);
}

static int read_windows(struct wtl_player *player)
{
	return player->policy.skips_energies
		       ? wtl_store_each_window_bare(player->reader, add_window, player)
		       : wtl_store_each_window(player->reader, add_window, player);
}

int wtl_player_read_tables(struct wtl_player *player, struct wtl_err *err)
{
	static const struct {
		int (*read)(struct wtl_player *player);
		const char *bad;
	} tables[] = {
		{read_channels, "its channels are not numbered one after the other, or have "
				"times that no sensor has"},
		{read_misses, "its table miss is damaged"},
		{read_consumers, "its consumers are not numbered as they should be"},
		{read_windows, "its windows are not numbered as they should be, or go on after "
			       "its end"},
		{read_gpus, "its fact gpus is not a number of GPUs"},
	};
	int rc = 0;

	player->sources = calloc(SOURCES_MAX, sizeof(player->sources[0]));
	if (!player->sources)
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < sizeof(tables) / sizeof(tables[0]); i++) {
		rc = tables[i].read(player);
		if (rc == -EBADMSG)
			return wtl_err_set(err, rc, "recording", NULL, "%s%s", tables[i].bad,
					   wtl_store_is_damaged(player->reader)
						   ? ": wattle report --check says what is damaged"
						   : "");
	}
	return rc < 0 ? wtl_err_set(err, rc, "recording", NULL, "its tables cannot be read: %s",
				    wtl_err_text(rc))
		      : 0;
}

void wtl_player_free_tables(struct wtl_player *player)
{
	for (size_t i = 0; i < player->n_who; i++)
		free(player->who[i]);
	for (size_t i = 0; i < player->n_gpus; i++)
		free(player->gpus[i].used);
	free(player->who);
	free(player->users);
	free(player->domains);
	free(player->gpus);
	free(player->windows);
	free(player->misses);
	free(player->classes);
	free(player->channels);
	free(player->sources);
}
