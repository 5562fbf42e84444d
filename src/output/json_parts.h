/* SPDX-License-Identifier: MIT */
#ifndef WTL_OUTPUT_JSON_PARTS_H
#define WTL_OUTPUT_JSON_PARTS_H

#include <stdint.h>

#include <jansson.h>

#include "output/report.h"

struct wtl_tree;

/* What the files of the JSON format share. docs/format-json.md describes every key. */

enum { WTL_JSON_MICRO = 6, WTL_JSON_NANO = 9 }; /* decimals of energies and of times */

void wtl_json_utc(struct wtl_tree *tree, json_t *to, const char *key, int64_t t_utc_ns);

/* idle_…: the baseline of a domain, as seen at t_utc_ns; nothing for a domain with neither a figure
 * nor a baseline. */
void wtl_json_idle(struct wtl_tree *tree, json_t *to, const struct wtl_report_domain *domain,
		   int64_t t_utc_ns);

/* "ledger" */
void wtl_json_ledgers(struct wtl_tree *tree, json_t *to, const struct wtl_report *report);

/* "command_energy", "processes", "others" and "no_process", or the reasons why not. */
void wtl_json_attribution(struct wtl_tree *tree, json_t *to, const struct wtl_report *report);

#endif
