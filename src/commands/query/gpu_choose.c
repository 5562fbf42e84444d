/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "cli/complain.h"
#include "commands/query/query.h"
#include "gpu/visible.h"
#include "sensors/gpu_info.h"

static bool is_text(const char *text, const char *word, size_t len)
{
	return text[0] && strlen(text) == len && strncasecmp(text, word, len) == 0;
}

/* "00000000:83:00.0", "0000:83:00.0" and "83:00.0" are the same. */
static bool is_bus_id(const char *id, const char *word, size_t len)
{
	const char *rest = strchr(id, ':');
	const char *colon = memchr(word, ':', len);
	uint64_t domain, wanted;
	size_t domain_len;

	if (!rest || !colon)
		return false;
	if (is_text(rest + 1, word, len))
		return true;
	domain_len = (size_t)(colon - word);
	return is_text(rest + 1, colon + 1, len - domain_len - 1) &&
	       wtl_num_hex(word, domain_len, &wanted) == 0 &&
	       wtl_num_hex(id, (size_t)(rest - id), &domain) == 0 && domain == wanted;
}

static bool is_gpu(const struct wtl_gpu *gpu, const char *word, size_t len)
{
	uint64_t index;

	/* An index comes first, although a serial number may be as short. */
	if (len <= 4 && wtl_num_u64(word, len, &index) == 0)
		return gpu->index == index;
	return is_text(gpu->uuid, word, len) || is_bus_id(gpu->bus_id, word, len) ||
	       is_text(gpu->serial, word, len);
}

/* Marks the GPUs that a word names; false: none. */
static bool mark(const struct wtl_gpu *gpus, size_t n, const char *word, size_t len, bool marks[])
{
	bool found = false;

	for (size_t i = 0; i < n; i++)
		if (is_gpu(&gpus[i], word, len))
			found = marks[i] = true;
	return found;
}

int wtl_gpu_choose(const struct wtl_gpu *gpus, size_t n, const char *ids, size_t ret_chosen[],
		   const char **ret_bad)
{
	bool *marks = calloc(n + 1, sizeof(*marks));
	int n_chosen = 0;

	if (!marks)
		return -ENOMEM;
	for (const char *word = ids; word;) {
		size_t len = strcspn(word, ",");

		if (!mark(gpus, n, word, len, marks)) {
			*ret_bad = word;
			free(marks);
			return -ENOENT;
		}
		word = word[len] ? word + len + 1 : NULL;
	}
	for (size_t i = 0; i < n; i++)
		if (!ids || marks[i])
			ret_chosen[n_chosen++] = i;
	free(marks);
	return n_chosen;
}

static bool is_nvidias(const struct wtl_gpu *gpu)
{
	return strcmp(gpu->vendor, "nvidia") == 0;
}

static int add_names(struct wtl_gpu_names *names, size_t place, const struct wtl_gpu *gpu)
{
	int rc = wtl_gpu_names_add(names, place, gpu->uuid);

	for (size_t i = 0; i < gpu->n_migs && rc == 0; i++)
		rc = wtl_gpu_names_add(names, place, gpu->migs[i].uuid);
	return rc;
}

int wtl_gpu_choose_visible(const struct wtl_gpu *gpus, size_t n, const char *list,
			   size_t ret_chosen[], const char **ret_bad)
{
	enum wtl_gpu_visible *visible = calloc(n + 1, sizeof(*visible));
	struct wtl_gpu_names names = {.n = 0};
	int rc = visible ? 0 : -ENOMEM, n_chosen = 0;
	size_t index = 0;

	for (size_t i = 0; i < n && rc == 0; i++)
		if (is_nvidias(&gpus[i]))
			rc = add_names(&names, index++, &gpus[i]);
	if (rc == 0) {
		*ret_bad = wtl_gpu_list_apply(list, &names, visible, index);
		rc = *ret_bad ? -ENOENT : 0;
	}
	index = 0;
	for (size_t i = 0; i < n && rc == 0; i++)
		if (is_nvidias(&gpus[i]) && visible[index++] != WTL_GPU_HIDDEN)
			ret_chosen[n_chosen++] = i;
	wtl_gpu_names_done(&names);
	free(visible);
	return rc < 0 ? rc : n_chosen;
}

const char *wtl_gpu_choice_check(const struct wtl_gpu_choice *choice)
{
	return choice->ids && choice->list ? "-i and --gpus both say which GPUs: use one" : NULL;
}

int wtl_gpus_choose(struct wtl_app *app, struct wtl_gpu_reader *reader,
		    const struct wtl_gpu_choice *choice, size_t **ret_chosen, size_t *ret_n)
{
	size_t n, *chosen;
	const struct wtl_gpu *gpus;
	const char *bad = "";
	int rc = -ENOMEM;

	if (choice->list && wtl_gpu_list_has_migs(choice->list))
		wtl_gpu_reader_read(reader, WTL_GPU_READ_NUMBERS); /* MIG devices are among them */
	gpus = wtl_gpu_reader_gpus(reader, &n);
	chosen = calloc(n + 1, sizeof(*chosen));
	if (chosen)
		rc = choice->list ? wtl_gpu_choose_visible(gpus, n, choice->list, chosen, &bad)
				  : wtl_gpu_choose(gpus, n, choice->ids, chosen, &bad);
	if (rc == -ENOENT)
		wtl_complain(app, "there is no GPU '%.*s': see wattle query -L",
			     (int)strcspn(bad, ","), bad);
	else if (rc < 0)
		wtl_complain(app, "out of memory");
	if (rc < 0) {
		free(chosen);
		return rc;
	}
	*ret_chosen = chosen;
	*ret_n = (size_t)rc;
	return 0;
}
