/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "energy/units.h"
#include "gpu/drm.h"

/* A line's key and value, neither ended by a NUL. */
struct line {
	const char *key, *value;
	size_t key_len, value_len;
};

static bool cut(const char *text, size_t len, struct line *line)
{
	const char *colon = memchr(text, ':', len);

	if (!colon)
		return false;
	line->key = text;
	line->key_len = (size_t)(colon - text);
	line->value = colon + 1;
	line->value_len = len - line->key_len - 1;
	while (line->value_len && (*line->value == ' ' || *line->value == '\t')) {
		line->value++;
		line->value_len--;
	}
	line->value_len = wtl_text_trimmed(line->value, line->value_len);
	return true;
}

/* What follows the prefix, or NULL. */
static const char *after(const struct line *line, const char *prefix, size_t *ret_len)
{
	size_t len = strlen(prefix);

	if (line->key_len <= len || memcmp(line->key, prefix, len) != 0)
		return NULL;
	*ret_len = line->key_len - len;
	return line->key + len;
}

static bool is_key(const struct line *line, const char *key)
{
	return line->key_len == strlen(key) && memcmp(line->key, key, line->key_len) == 0;
}

/* "1234", "1234 ns", "12 KiB": the number, and in *ret_unit what follows it. */
static bool number(const struct line *line, uint64_t *ret, const char **ret_unit, size_t *ret_len)
{
	size_t digits = 0;

	while (digits < line->value_len && line->value[digits] >= '0' && line->value[digits] <= '9')
		digits++;
	*ret_unit = line->value + digits;
	*ret_len = line->value_len - digits;
	while (*ret_len && **ret_unit == ' ') {
		(*ret_unit)++;
		(*ret_len)--;
	}
	return wtl_num_u64(line->value, digits, ret) == 0;
}

static bool plain(const struct line *line, uint64_t *ret)
{
	const char *unit;
	size_t len;

	return number(line, ret, &unit, &len) && len == 0;
}

static bool nanoseconds(const struct line *line, uint64_t *ret)
{
	const char *unit;
	size_t len;

	return number(line, ret, &unit, &len) && len == 2 && memcmp(unit, "ns", 2) == 0;
}

static bool bytes(const struct line *line, uint64_t *ret)
{
	const char *unit;
	uint64_t factor = 1;
	size_t len;

	if (!number(line, ret, &unit, &len))
		return false;
	if (len == 3 && memcmp(unit, "KiB", 3) == 0)
		factor = 1024;
	else if (len == 3 && memcmp(unit, "MiB", 3) == 0)
		factor = 1024 * 1024;
	else if (len != 0)
		return false;
	return !__builtin_mul_overflow(*ret, factor, ret);
}

/* The names that drivers give: amdgpu's enc, dec, enc_1, jpeg; i915's video; xe's vcs, vecs. */
static bool is_media(const char *name)
{
	static const char *const words[] = {"enc", "dec", "jpeg", "video", "vcs", "vecs", "vpe"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (wtl_text_starts(name, words[i]))
			return true;
	return false;
}

static bool is_name(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	return len > 0;
}

static struct wtl_drm_engine *engine(struct wtl_drm_fdinfo *info, const char *name, size_t len)
{
	struct wtl_drm_engine *made;

	if (!is_name(name, len) || len >= sizeof(made->name))
		return NULL;
	for (size_t i = 0; i < info->n_engines; i++)
		if (strlen(info->engines[i].name) == len &&
		    memcmp(info->engines[i].name, name, len) == 0)
			return &info->engines[i];
	if (info->n_engines == WTL_DRM_ENGINES_MAX)
		return NULL;
	made = &info->engines[info->n_engines++];
	*made = (struct wtl_drm_engine){.capacity = 1};
	memcpy(made->name, name, len);
	made->is_media = is_media(made->name);
	return made;
}

static void parse_engine(const struct line *line, struct wtl_drm_fdinfo *info)
{
	struct wtl_drm_engine *found;
	const char *name;
	uint64_t value;
	size_t len;

	/* The longer prefix first. */
	if ((name = after(line, "drm-engine-capacity-", &len))) {
		if (plain(line, &value) && value > 0 && value < 1024 &&
		    (found = engine(info, name, len)))
			found->capacity = value;
	} else if ((name = after(line, "drm-engine-", &len))) {
		if (nanoseconds(line, &value) && (found = engine(info, name, len)))
			found->busy_ns = value;
	} else if ((name = after(line, "drm-total-cycles-", &len))) {
		if (plain(line, &value) && (found = engine(info, name, len)))
			found->total_cycles = value;
	} else if ((name = after(line, "drm-cycles-", &len))) {
		if (plain(line, &value) && (found = engine(info, name, len)))
			found->cycles = value;
	}
}

/* Memory on the card: what is there now rather than what was ever asked for. */
struct memory {
	uint64_t resident, total, old;
	bool has_resident, has_total, has_old;
};

static void add(const struct line *line, uint64_t *sum, bool *has)
{
	uint64_t value;

	if (bytes(line, &value) && !__builtin_add_overflow(*sum, value, sum))
		*has = true;
}

static void parse_memory(const struct line *line, struct memory *memory)
{
	const char *region;
	size_t len;

	if ((region = after(line, "drm-resident-vram", &len)) || is_key(line, "drm-resident-vram"))
		add(line, &memory->resident, &memory->has_resident);
	else if ((region = after(line, "drm-total-vram", &len)) || is_key(line, "drm-total-vram"))
		add(line, &memory->total, &memory->has_total);
	else if (is_key(line, "drm-memory-vram")) /* amdgpu before 6.13 */
		add(line, &memory->old, &memory->has_old);
	(void)region;
}

bool wtl_drm_fdinfo_parse(const char *text, size_t len, struct wtl_drm_fdinfo *ret_info)
{
	struct memory memory = {0};
	bool has_client = false;

	*ret_info = (struct wtl_drm_fdinfo){.memory_bytes = UINT64_MAX};
	while (len) {
		const char *newline = memchr(text, '\n', len);
		size_t line_len = newline ? (size_t)(newline - text) : len;
		struct line line;

		if (cut(text, line_len, &line)) {
			if (is_key(&line, "drm-pdev") && line.value_len < sizeof(ret_info->pdev))
				wtl_text_clean(ret_info->pdev, sizeof(ret_info->pdev), line.value,
					       line.value_len);
			else if (is_key(&line, "drm-client-id"))
				has_client = plain(&line, &ret_info->client);
			parse_engine(&line, ret_info);
			parse_memory(&line, &memory);
		}
		line_len += newline != NULL;
		text += line_len;
		len -= line_len;
	}
	if (memory.has_resident)
		ret_info->memory_bytes = memory.resident;
	else if (memory.has_old)
		ret_info->memory_bytes = memory.old;
	else if (memory.has_total)
		ret_info->memory_bytes = memory.total;
	return has_client && ret_info->pdev[0];
}

/* Never more than all its engines could have done. */
static uint64_t engine_busy(const struct wtl_drm_engine *before, const struct wtl_drm_engine *now,
			    int64_t interval_ns)
{
	uint64_t most = (uint64_t)interval_ns * now->capacity, busy = 0;

	if (now->total_cycles) {
		uint64_t total = now->total_cycles - before->total_cycles;

		if (now->total_cycles > before->total_cycles && now->cycles >= before->cycles)
			busy = (uint64_t)((unsigned __int128)(now->cycles - before->cycles) *
					  (uint64_t)interval_ns / total);
	} else if (now->busy_ns >= before->busy_ns) {
		busy = now->busy_ns - before->busy_ns;
	}
	return busy < most ? busy : most;
}

void wtl_drm_busy(const struct wtl_drm_fdinfo *before, const struct wtl_drm_fdinfo *now,
		  int64_t interval_ns, uint64_t *ret_render_ns, uint64_t *ret_media_ns)
{
	*ret_render_ns = *ret_media_ns = 0;
	if (interval_ns <= 0)
		return;
	if (interval_ns > 3600 * WTL_NS_PER_S) /* nobody looked for an hour: keep the sums small */
		interval_ns = 3600 * WTL_NS_PER_S;
	for (size_t i = 0; i < now->n_engines; i++) {
		const struct wtl_drm_engine *after_ = &now->engines[i];
		const struct wtl_drm_engine *same = NULL;

		for (size_t j = 0; j < before->n_engines && !same; j++)
			if (strcmp(before->engines[j].name, after_->name) == 0)
				same = &before->engines[j];
		if (!same)
			continue;
		*(after_->is_media ? ret_media_ns : ret_render_ns) +=
			engine_busy(same, after_, interval_ns);
	}
}
