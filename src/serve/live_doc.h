/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_LIVE_DOC_H
#define WTL_SERVE_LIVE_DOC_H

#include <stdbool.h>
#include <stdint.h>

#include "serve/totals.h"

struct wtl_buf;
struct wtl_live;
struct wtl_node;

/*
 * A snapshot as JSON of the schema wattle.live/1 (docs/api.md), on one line. is_whole: groups
 * also have their use in each domain. 0, or negative: no memory, or it does not add up.
 */
int wtl_live_json(const struct wtl_live *live, bool is_whole, struct wtl_buf *buf);

/*
 * Anybody who reaches the port may ask, and a processor's energy in fine steps can reveal
 * what others compute (docs/permissions.md, PLATYPUS). So energies and powers are served
 * in steps of a millijoule and a milliwatt, a ± rounded up. Sums are sums of such steps.
 */
void wtl_live_put_milli(struct wtl_node *to, const char *key, uint64_t micro);
void wtl_live_put_milli_up(struct wtl_node *to, const char *key, uint64_t micro);
uint64_t wtl_live_sum_accounts(const uint64_t uj[WTL_TOTALS_ACCOUNTS]);

/* The accounts of a ledger as an object of that key. */
void wtl_live_put_accounts(struct wtl_node *to, const char *key,
			   const uint64_t uj[WTL_TOTALS_ACCOUNTS]);

#endif
