/* SPDX-License-Identifier: MIT */
#include "energy/catalog.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void wtl_catalog_init(struct wtl_catalog *catalog)
{
	memset(catalog, 0, sizeof(*catalog));
}

void wtl_catalog_done(struct wtl_catalog *catalog)
{
	if (!catalog)
		return;
	free(catalog->channels);
	free(catalog->misses);
	wtl_catalog_init(catalog);
}

int wtl_catalog_add(struct wtl_catalog *catalog, const struct wtl_channel *channel)
{
	struct wtl_channel *own;

	if (!channel->domain[0] || channel->unit.num == 0 || channel->unit.den == 0)
		return -EINVAL;
	for (size_t i = 0; i < catalog->n_channels; i++) {
		const struct wtl_channel *other = &catalog->channels[i];

		if (other->rank == catalog->rank && other->source == catalog->source &&
		    other->quantity == channel->quantity &&
		    strcmp(other->domain, channel->domain) == 0)
			return -EEXIST;
	}
	if (catalog->n_channels >= WTL_CATALOG_MAX)
		return -E2BIG;
	if (wtl_array_reserve(&catalog->channels, &catalog->channels_room, catalog->n_channels + 1,
			      sizeof(*own)) < 0)
		return -ENOMEM;
	own = &catalog->channels[catalog->n_channels];
	*own = *channel;
	own->source = catalog->source;
	own->rank = catalog->rank;
	return (int)catalog->n_channels++;
}

int wtl_catalog_miss(struct wtl_catalog *catalog, const struct wtl_miss *miss)
{
	struct wtl_miss *own;

	if (catalog->n_misses >= WTL_CATALOG_MAX)
		return -E2BIG;
	if (wtl_array_reserve(&catalog->misses, &catalog->misses_room, catalog->n_misses + 1,
			      sizeof(*own)) < 0)
		return -ENOMEM;
	own = &catalog->misses[catalog->n_misses++];
	*own = *miss;
	own->source = catalog->source;
	return 0;
}

/* The kinds that the machine's total is made of (DESIGN 4). */
static bool kind_in_total(enum wattle_kind kind)
{
	return kind == WATTLE_KIND_CPU || kind == WATTLE_KIND_DRAM || kind == WATTLE_KIND_GPU ||
	       kind == WATTLE_KIND_SOC;
}

int wtl_catalog_missf(struct wtl_catalog *catalog, enum wattle_kind kind, const char *domain,
		      enum wattle_status status, const char *remedy, const char *format, ...)
{
	struct wtl_miss miss = {.kind = kind, .status = status, .in_total = kind_in_total(kind)};
	va_list args;

	snprintf(miss.domain, sizeof(miss.domain), "%s", domain ? domain : "");
	snprintf(miss.remedy, sizeof(miss.remedy), "%s", remedy ? remedy : "");
	va_start(args, format);
	vsnprintf(miss.reason, sizeof(miss.reason), format, args);
	va_end(args);
	return wtl_catalog_miss(catalog, &miss);
}

bool wtl_gpu_set_has(const struct wtl_gpu_set *set, unsigned number)
{
	return set->has_all ||
	       (number < 8 * sizeof(set->bits) && set->bits[number / 64] >> number % 64 & 1);
}

void wtl_gpu_set_add(struct wtl_gpu_set *set, unsigned number)
{
	if (number < 8 * sizeof(set->bits))
		set->bits[number / 64] |= UINT64_C(1) << number % 64;
}

bool wtl_catalog_has(const struct wtl_catalog *catalog, enum wattle_kind kind)
{
	for (size_t i = 0; i < catalog->n_channels; i++)
		if (catalog->channels[i].kind == kind)
			return true;
	return false;
}

/* Has this domain's name come up before entry i of the channels, or in any (i = all)? */
static bool named_before(const struct wtl_catalog *catalog, const char *domain, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (strcmp(catalog->channels[j].domain, domain) == 0)
			return true;
	return false;
}

unsigned wtl_catalog_count(const struct wtl_catalog *catalog, enum wattle_kind kind)
{
	unsigned count = 0;

	for (size_t i = 0; i < catalog->n_channels; i++) {
		const struct wtl_channel *channel = &catalog->channels[i];

		if (channel->kind == kind && !named_before(catalog, channel->domain, i))
			count++;
	}
	for (size_t i = 0; i < 4 && kind == WATTLE_KIND_GPU; i++)
		count += (unsigned)__builtin_popcountll(catalog->left_out.bits[i]);
	/* A GPU that sleeps or is denied keeps its number too. */
	for (size_t i = 0; i < catalog->n_misses; i++) {
		const struct wtl_miss *miss = &catalog->misses[i];
		bool repeated = named_before(catalog, miss->domain, catalog->n_channels);

		for (size_t j = 0; j < i && !repeated; j++)
			repeated = strcmp(catalog->misses[j].domain, miss->domain) == 0;
		if (miss->kind == kind && miss->domain[0] && !repeated)
			count++;
	}
	return count;
}
