/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gpu/processes.h"

enum {
	/* NVML asks for room for 100 samples however few there are, and is said to crash with less. */
	ROOM_FIRST = 128,
	ROOM_MAX = WTL_NVML_USES_MAX,
};

/* By how much a sample of the first answer may be older than the newest one: older ones are
 * averages over an unknown time. */
#define STALE_US UINT64_C(2000000)

/* For that many samples, in place of what there is. */
static int make_room(struct wtl_nvml_use_list *list, uint32_t room)
{
	void *raw = calloc(room, sizeof(struct wtl_nvml_use));
	void *at = malloc(room * sizeof(list->at[0]));

	if (!raw || !at) {
		free(raw);
		free(at);
		return -ENOMEM;
	}
	free(list->raw);
	free(list->at);
	list->raw = raw;
	list->at = at;
	list->room = room;
	list->n_dirty = 0;
	return 0;
}

/* The newer function: all engines. The entries go from the front of raw to the front of at. */
static int ask_uses(struct wtl_nvml_use_list *list, struct wtl_nvml_lib *lib, uint64_t handle)
{
	struct wtl_nvml_uses uses = {.version = WTL_NVML_VERSION(struct wtl_nvml_uses, 1),
				     .count = list->room,
				     .last_seen_us = list->asked_us};
	struct wtl_lib_arg args[] = {
		{.word = handle},
		{.memory = &uses, .size = sizeof(uses)},
		{.memory = list->raw, .size = list->room * sizeof(struct wtl_nvml_use)},
	};
	const struct wtl_nvml_use *raw = list->raw;
	int code = wtl_nvml_call(lib, WTL_NVML_USES, args);

	list->n = code == WTL_NVML_OK ? (uses.count < list->room ? uses.count : list->room) : 0;
	list->is_whole = uses.count <= list->room;
	for (size_t i = 0; i < list->n; i++)
		list->at[i] = (struct wtl_nvml_process_use){
			.pid = raw[i].pid <= INT_MAX ? (int)raw[i].pid : 0,
			.t_us = raw[i].t_us,
			.sm = raw[i].sm,
			.memory = raw[i].memory,
			.encoder = raw[i].encoder,
			.decoder = raw[i].decoder,
		};
	return code;
}

static int ask_samples(struct wtl_nvml_use_list *list, struct wtl_nvml_lib *lib, uint64_t handle)
{
	uint32_t count = list->room;
	struct wtl_lib_arg args[] = {
		{.word = handle},
		{.memory = list->raw, .size = list->room * sizeof(struct wtl_nvml_sample)},
		{.memory = &count, .size = sizeof(count)},
		{.word = list->asked_us},
	};
	const struct wtl_nvml_sample *raw = list->raw;
	int code = wtl_nvml_call(lib, WTL_NVML_SAMPLES, args);

	list->n = code == WTL_NVML_OK ? (count < list->room ? count : list->room) : 0;
	list->is_whole = count <= list->room;
	for (size_t i = 0; i < list->n; i++)
		list->at[i] = (struct wtl_nvml_process_use){
			.pid = raw[i].pid <= INT_MAX ? (int)raw[i].pid : 0,
			.t_us = raw[i].t_us,
			.sm = raw[i].sm,
			.memory = raw[i].memory,
			.encoder = raw[i].encoder,
			.decoder = raw[i].decoder,
		};
	return code;
}

static int ask(struct wtl_nvml_use_list *list, struct wtl_nvml_lib *lib, uint64_t handle)
{
	int code;

	memset(list->raw, 0, list->n_dirty * sizeof(struct wtl_nvml_use));
	code = ask_uses(list, lib, handle);
	if (code == WTL_NVML_FUNCTION_NOT_FOUND || code == WTL_NVML_ARGUMENT_VERSION)
		code = ask_samples(list, lib, handle);
	list->n_dirty = code == WTL_NVML_OK ? list->n : list->room;
	return code;
}

/* Values above 100, that drivers give now and then. */
static bool is_rubbish(const struct wtl_nvml_process_use *use)
{
	return use->sm > 100 || use->memory > 100 || use->encoder > 100 || use->decoder > 100;
}

static bool is_sound(const struct wtl_nvml_process_use *use)
{
	return use->pid > 0 && use->t_us > 0 && !is_rubbish(use);
}

/* Is it newer than what was known of its process? Then that is what is known. */
static bool is_new(struct wtl_nvml_use_list *list, const struct wtl_nvml_process_use *use)
{
	for (size_t i = 0; i < list->n_before; i++) {
		if (list->before[i].pid != use->pid)
			continue;
		if (use->t_us <= list->before[i].t_us)
			return false;
		list->before[i] = *use;
		return true;
	}
	if (use->t_us <= list->asked_us)
		return false;
	if (list->n_before < ROOM_MAX &&
	    wtl_array_reserve(&list->before, &list->room_before, list->n_before + 1,
			      sizeof(list->before[0])) == 0)
		list->before[list->n_before++] = *use;
	return true;
}

/*
 * The next question is for what is newer than the oldest answer of this one. A process that was not
 * in this answer is forgotten: its later samples are newer than the question.
 */
static void advance(struct wtl_nvml_use_list *list, uint64_t oldest_us)
{
	size_t kept = 0;

	if (!oldest_us)
		return;
	list->asked_us = oldest_us > list->asked_us ? oldest_us : list->asked_us;
	for (size_t i = 0; i < list->n_before; i++)
		if (list->before[i].t_us > list->asked_us)
			list->before[kept++] = list->before[i];
	list->n_before = kept;
}

static void sift(struct wtl_nvml_use_list *list)
{
	uint64_t oldest_us = 0, newest_us = 0;
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++)
		if (is_sound(&list->at[i]) && list->at[i].t_us > newest_us)
			newest_us = list->at[i].t_us;
	for (size_t i = 0; i < list->n; i++) {
		struct wtl_nvml_process_use use = list->at[i];

		if (is_rubbish(&use) && use.t_us > list->asked_us)
			list->is_whole = false;
		if (!is_sound(&use) || (!list->asked_us && newest_us - use.t_us > STALE_US))
			continue;
		if (!oldest_us || use.t_us < oldest_us)
			oldest_us = use.t_us;
		if (is_new(list, &use))
			list->at[kept++] = use;
	}
	list->n = kept;
	advance(list, oldest_us);
}

int wtl_nvml_use_list_read(struct wtl_nvml_use_list *list, struct wtl_nvml_lib *lib,
			   uint64_t handle)
{
	int code;

	list->n = 0;
	if (!list->room && make_room(list, ROOM_FIRST) < 0)
		return -ENOMEM;
	code = ask(list, lib, handle);
	if (code == WTL_NVML_INSUFFICIENT_SIZE && list->room < ROOM_MAX) {
		if (make_room(list, ROOM_MAX) < 0)
			return -ENOMEM;
		code = ask(list, lib, handle);
	}
	if (code == WTL_NVML_NOT_FOUND) /* nobody did anything */
		code = WTL_NVML_OK;
	if (code == WTL_NVML_OK)
		sift(list);
	return code;
}

void wtl_nvml_use_list_done(struct wtl_nvml_use_list *list)
{
	free(list->at);
	free(list->before);
	free(list->raw);
	*list = (struct wtl_nvml_use_list){0};
}
