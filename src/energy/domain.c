/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "energy/domain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct wtl_domain *find(struct wtl_domain *domains, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(domains[i].name, name) == 0)
			return &domains[i];
	return NULL;
}

static bool better(const struct wtl_channel *a, const struct wtl_channel *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank;
	return a->quantity == WTL_QUANTITY_ENERGY && b->quantity == WTL_QUANTITY_POWER;
}

static void take_channel(struct wtl_domain *domain, const struct wtl_channel *channels, int i)
{
	int loser = i;

	if (domain->primary < 0 || better(&channels[i], &channels[domain->primary])) {
		loser = domain->primary;
		domain->primary = i;
	}
	if (loser < 0 || channels[loser].method == WATTLE_METHOD_MODELLED)
		return;
	if (domain->check < 0 || better(&channels[loser], &channels[domain->check]))
		domain->check = loser;
}

static size_t collect(const struct wtl_catalog *catalog, struct wtl_domain *domains)
{
	size_t n = 0;

	for (size_t i = 0; i < catalog->n_channels; i++) {
		const struct wtl_channel *channel = &catalog->channels[i];
		struct wtl_domain *domain = find(domains, n, channel->domain);

		if (!domain) {
			domain = &domains[n++];
			domain->primary = domain->check = -1;
			memcpy(domain->name, channel->domain, sizeof(domain->name));
		}
		take_channel(domain, catalog->channels, (int)i);
	}
	for (size_t i = 0; i < catalog->n_misses; i++) {
		const struct wtl_miss *miss = &catalog->misses[i];

		if (!miss->domain[0] || find(domains, n, miss->domain))
			continue;
		memcpy(domains[n].name, miss->domain, sizeof(domains[n].name));
		domains[n].kind = miss->kind;
		domains[n].in_total = miss->in_total;
		domains[n].primary = domains[n].check = -1;
		n++;
	}
	return n;
}

/* What a source (NULL: any) says of a domain that it cannot read, or could not when it opened. */
static const struct wtl_miss *own_miss(const struct wtl_catalog *catalog,
				       const struct wtl_domain *domain, const char *source)
{
	for (size_t i = 0; i < catalog->n_misses; i++) {
		const struct wtl_miss *miss = &catalog->misses[i];

		if (strcmp(miss->domain, domain->name) == 0 && (!source || miss->source == source))
			return miss;
	}
	return NULL;
}

/* The miss that best explains why a domain is not measured: its own, one of its kind, or none. */
static const struct wtl_miss *explain(const struct wtl_catalog *catalog,
				      const struct wtl_domain *domain)
{
	const struct wtl_miss *miss = own_miss(catalog, domain, NULL);

	/* The last source of a kind has tried the simplest way: its reason is the plainest. */
	for (size_t i = catalog->n_misses; !miss && i-- > 0;)
		if (catalog->misses[i].kind == domain->kind)
			miss = &catalog->misses[i];
	return miss;
}

static void describe(const struct wtl_catalog *catalog, struct wtl_domain *domain)
{
	const struct wtl_channel *channel;

	if (domain->primary < 0) {
		domain->miss = explain(catalog, domain);
		return;
	}
	channel = &catalog->channels[domain->primary];
	memcpy(domain->inside, channel->inside, sizeof(domain->inside));
	domain->kind = channel->kind;
	domain->in_total = channel->in_total;
	if (channel->method == WATTLE_METHOD_MODELLED)
		domain->miss = explain(catalog, domain);
	else
		domain->miss = own_miss(catalog, domain, channel->source);
}

/* Drops a container that does not exist, or that lies (at any depth) inside the domain itself. */
static void drop_container(struct wtl_domain *domains, size_t n, struct wtl_domain *domain)
{
	const struct wtl_domain *outer = find(domains, n, domain->inside);

	if (!outer)
		domain->inside[0] = '\0';
	for (size_t depth = 0; outer && depth < n; depth++) {
		if (outer == domain) {
			domain->inside[0] = '\0';
			return;
		}
		outer = find(domains, n, outer->inside);
	}
}

/* Does it lie, at any depth, in a domain that is counted and has a figure? */
static bool is_counted_already(struct wtl_domain *domains, size_t n,
			       const struct wtl_domain *domain)
{
	const struct wtl_domain *outer = find(domains, n, domain->inside);

	for (; outer; outer = find(domains, n, outer->inside))
		if (outer->in_total && outer->primary >= 0)
			return true;
	return false;
}

/* Makes a forest of what the sources said, in which nothing is counted twice. */
static void settle(struct wtl_domain *domains, size_t n)
{
	for (size_t i = 0; i < n; i++)
		drop_container(domains, n, &domains[i]);
	for (size_t i = 0; i < n; i++)
		if (is_counted_already(domains, n, &domains[i]))
			domains[i].in_total = false;
}

static int compare(const void *left, const void *right)
{
	const struct wtl_domain *a = left, *b = right;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return strverscmp(a->name, b->name);
}

/* Appends a domain and, behind it, all that lies inside it. */
static size_t place(const struct wtl_domain *from, size_t n, const char *inside,
		    struct wtl_domain *to, size_t at)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(from[i].inside, inside) != 0)
			continue;
		to[at++] = from[i];
		at = place(from, n, from[i].name, to, at);
	}
	return at;
}

int wtl_domains_resolve(const struct wtl_catalog *catalog, struct wtl_domain **ret_domains,
			size_t *ret_n)
{
	size_t most = catalog->n_channels + catalog->n_misses;
	struct wtl_domain *found, *sorted;
	size_t n;

	if (most == 0) {
		*ret_domains = NULL;
		*ret_n = 0;
		return 0;
	}
	found = calloc(most, sizeof(*found));
	sorted = calloc(most, sizeof(*sorted));
	if (!found || !sorted) {
		free(found);
		free(sorted);
		return -ENOMEM;
	}
	n = collect(catalog, found);
	for (size_t i = 0; i < n; i++)
		describe(catalog, &found[i]);
	settle(found, n);
	qsort(found, n, sizeof(*found), compare);
	*ret_n = place(found, n, "", sorted, 0);
	*ret_domains = sorted;
	free(found);
	return 0;
}

bool wtl_domain_is_of_gpu(const char *name, const char *gpu)
{
	size_t len = strlen(gpu);

	return len > 0 && strncmp(name, gpu, len) == 0 && (name[len] == '\0' || name[len] == '-');
}
