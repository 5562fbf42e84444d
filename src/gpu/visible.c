/* SPDX-License-Identifier: MIT */
#include "gpu/visible.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/num.h"
#include "base/text.h"

/* More MIG devices than a GPU can have: NVIDIA's limit is 7. */
enum { MIGS_MAX = 16 };

/* ---- The list ---- */

struct word {
	const char *at;
	size_t len;
};

static bool starts(const struct word *word, const char *start)
{
	return word->len >= strlen(start) && strncasecmp(word->at, start, strlen(start)) == 0;
}

/* The entry that begins there, without the blanks around it. */
static struct word word_at(const char *at)
{
	struct word word = {at, strcspn(at, ",")};

	for (; word.len > 0 && *word.at == ' '; word.at++)
		word.len--;
	while (word.len > 0 && word.at[word.len - 1] == ' ')
		word.len--;
	return word;
}

enum { NOT_FOUND = -1, AMBIGUOUS = -2 };

/* The index of the GPU that has this UUID, or the only one that begins so. */
static int find(const struct wtl_gpu_names *names, const struct word *word)
{
	int found = NOT_FOUND;

	for (size_t i = 0; i < names->n; i++) {
		const struct wtl_gpu_name *name = &names->at[i];

		if (strncasecmp(name->uuid, word->at, word->len) != 0)
			continue;
		if (!name->uuid[word->len])
			return (int)name->gpu;
		found = found == NOT_FOUND ? (int)name->gpu : AMBIGUOUS;
	}
	return found;
}

static bool has_name(const struct wtl_gpu_names *names, size_t gpu)
{
	for (size_t i = 0; i < names->n; i++)
		if (names->at[i].gpu == gpu)
			return true;
	return false;
}

/* A name that matches no GPU may be that of any GPU whose name is not known. */
static bool mark_nameless(const struct wtl_gpu_names *names, enum wtl_gpu_visible visible[],
			  size_t n_gpus)
{
	bool any = false;

	for (size_t i = 0; i < n_gpus; i++) {
		if (has_name(names, i))
			continue;
		any = true;
		if (visible[i] == WTL_GPU_HIDDEN)
			visible[i] = WTL_GPU_VISIBLE_PERHAPS;
	}
	return any;
}

/* false: the entry names nothing. */
static bool mark(struct word word, const struct wtl_gpu_names *names,
		 enum wtl_gpu_visible visible[], size_t n_gpus)
{
	bool is_mig = starts(&word, "MIG-");
	uint64_t index;
	int found;

	if (wtl_num_u64(word.at, word.len, &index) == 0) {
		if (index < n_gpus)
			visible[index] = WTL_GPU_VISIBLE;
		return index < n_gpus;
	}
	if (!is_mig && !starts(&word, "GPU-"))
		return false;
	if (starts(&word, "MIG-GPU-")) { /* drivers before 470 */
		word.at += strlen("MIG-");
		word.len = strcspn(word.at, "/,");
	}
	found = find(names, &word);
	if (found == NOT_FOUND)
		return mark_nameless(names, visible, n_gpus);
	if (found >= 0 && visible[found] != WTL_GPU_VISIBLE)
		visible[found] = is_mig ? WTL_GPU_VISIBLE_BY_MIG : WTL_GPU_VISIBLE;
	return found >= 0;
}

const char *wtl_gpu_list_apply(const char *list, const struct wtl_gpu_names *names,
			       enum wtl_gpu_visible ret_visible[], size_t n_gpus)
{
	for (size_t i = 0; i < n_gpus; i++)
		ret_visible[i] = WTL_GPU_HIDDEN;
	for (const char *at = list; at;) {
		struct word word = word_at(at);

		if (word.len == 0 || (word.len == 2 && starts(&word, "-1")))
			return NULL;
		if (!mark(word, names, ret_visible, n_gpus))
			return word.at;
		at = strchr(at, ',');
		at = at ? at + 1 : NULL;
	}
	return NULL;
}

bool wtl_gpu_list_has_uuids(const char *list)
{
	return strcasestr(list, "GPU-") || wtl_gpu_list_has_migs(list);
}

bool wtl_gpu_list_has_migs(const char *list)
{
	return strcasestr(list, "MIG-") != NULL;
}

/* ---- Names ---- */

int wtl_gpu_names_add(struct wtl_gpu_names *names, size_t gpu, const char *uuid)
{
	if (!uuid[0])
		return 0;
	if (wtl_array_reserve(&names->at, &names->room, names->n + 1, sizeof(names->at[0])) < 0)
		return -ENOMEM;
	names->at[names->n].gpu = gpu;
	wtl_text_copy(names->at[names->n].uuid, sizeof(names->at[0].uuid), uuid);
	names->n++;
	return 0;
}

static int add(struct wtl_gpu_names *names, struct wtl_nvml_lib *lib, uint64_t handle, size_t gpu)
{
	char uuid[WTL_NVML_UUID_SIZE];

	if (wtl_nvml_device_text(lib, WTL_NVML_UUID, handle, uuid, sizeof(uuid)) != WTL_NVML_OK)
		return 0;
	return wtl_gpu_names_add(names, gpu, uuid);
}

int wtl_gpu_names_read(struct wtl_gpu_names *names, struct wtl_nvml_lib *lib, uint64_t handle,
		       size_t gpu, bool with_migs)
{
	uint32_t max = 0;
	struct wtl_lib_arg count[] = {{.word = handle}, {.memory = &max, .size = sizeof(max)}};
	int rc = add(names, lib, handle, gpu);

	if (!with_migs || wtl_nvml_call(lib, WTL_NVML_MIG_COUNT_MAX, count) != WTL_NVML_OK)
		max = 0;
	for (uint32_t i = 0; i < max && i < MIGS_MAX && rc == 0; i++) {
		uint64_t mig = 0;
		struct wtl_lib_arg args[] = {
			{.word = handle},
			{.word = i},
			{.memory = &mig, .size = sizeof(mig)},
		};

		if (wtl_nvml_call(lib, WTL_NVML_MIG_BY_INDEX, args) == WTL_NVML_OK && mig)
			rc = add(names, lib, mig, gpu);
	}
	return rc;
}

void wtl_gpu_names_done(struct wtl_gpu_names *names)
{
	free(names->at);
	*names = (struct wtl_gpu_names){0};
}
