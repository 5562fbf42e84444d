/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_DOMAIN_H
#define WTL_ENERGY_DOMAIN_H

#include <stddef.h>

#include "energy/catalog.h"

/*
 * The domains of a machine: what the channels of all sources come down to when each domain is
 * counted once. Borrows from the catalog, which must outlive it.
 */
struct wtl_domain {
	char name[WTL_NAME_SIZE];
	char inside[WTL_NAME_SIZE]; /* an existing domain, or "" */
	enum wattle_kind kind;
	bool in_total; /* lies in no other domain that is counted */
	int primary;   /* the catalog's best channel for it, or -1 */
	int check;     /* a second, independent one to compare with, or -1 */
	const struct wtl_miss
		*miss; /* why there is no measured figure, or was none when it was opened;
					or NULL */
};

/*
 * Resolves. Of several channels of a domain the source's rank decides, then a counter before a
 * power sensor; a model is never a check. Sorted for reading: packages first, each followed by what
 * lies inside it. *ret_domains is the caller's to free(); NULL with 0 for none. -ENOMEM.
 */
int wtl_domains_resolve(const struct wtl_catalog *catalog, struct wtl_domain **ret_domains,
			size_t *ret_n);

/* Is it that GPU's: itself, or gpu-0-memory and gpu-0-module beside gpu-0? Not for gpu "". */
bool wtl_domain_is_of_gpu(const char *name, const char *gpu);

#endif
