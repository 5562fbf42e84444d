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

/* "command": its words, or null */
void wtl_json_command(struct wtl_tree *tree, json_t *to, char *const command[]);

/* What a total and a domain have in common; nothing without a figure. */
void wtl_json_figures(struct wtl_tree *tree, json_t *to, const struct wattle_energy *energy);

/* "total"; "domains", as seen at t_utc_ns; "carbon" */
void wtl_json_total(struct wtl_tree *tree, json_t *to, const struct wattle_energy *total);
void wtl_json_domains(struct wtl_tree *tree, json_t *to, const struct wtl_report_domain *domains,
		      size_t n, int64_t t_utc_ns);
void wtl_json_carbon(struct wtl_tree *tree, json_t *to, const struct wtl_report *report);

void wtl_json_statistics(struct wtl_tree *tree, json_t *to, const char *key,
			 const struct wtl_statistics *of, unsigned decimals);

/* "dynamic_j", "full_j" and "uncertainty_j" of a share */
void wtl_json_share(struct wtl_tree *tree, json_t *to, const struct wtl_report_share *share);

/* idle_…: the baseline of a domain, as seen at t_utc_ns; nothing for a domain with neither a figure
 * nor a baseline. */
void wtl_json_idle(struct wtl_tree *tree, json_t *to, const struct wtl_report_domain *domain,
		   int64_t t_utc_ns);

/* "ledger" */
void wtl_json_ledgers(struct wtl_tree *tree, json_t *to, const struct wtl_report *report);

/* "command_energy", "processes", "others" and "no_process", or the reasons why not. */
void wtl_json_attribution(struct wtl_tree *tree, json_t *to, const struct wtl_report *report);

#endif
