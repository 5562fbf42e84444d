/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "cli/complain.h"
#include "commands/query/query.h"
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

	/* A serial number may be shorter than one thinks: an index comes first. */
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

int wtl_gpus_choose(struct wtl_app *app, const struct wtl_gpu_reader *reader, const char *ids,
		    size_t **ret_chosen, size_t *ret_n)
{
	size_t n, *chosen;
	const struct wtl_gpu *gpus = wtl_gpu_reader_gpus(reader, &n);
	const char *bad = "";
	int rc;

	chosen = calloc(n + 1, sizeof(*chosen));
	rc = chosen ? wtl_gpu_choose(gpus, n, ids, chosen, &bad) : -ENOMEM;
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
