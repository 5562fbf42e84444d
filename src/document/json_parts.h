/* SPDX-License-Identifier: MIT */
#ifndef WTL_DOCUMENT_JSON_PARTS_H
#define WTL_DOCUMENT_JSON_PARTS_H

#include <stdint.h>

#include <jansson.h>

#include "document/report.h"
#include "document/tree.h"

/* What the files of the JSON format share. docs/format-json.md describes every key. */

enum { WTL_JSON_MICRO = 6, WTL_JSON_NANO = 9 }; /* decimals of energies and of times */

/* "schema" and "version": every document begins with them, also within another one. */
void wtl_json_schema(struct wtl_tree *tree, json_t *to, const char *schema);

/* A document: these two, and whatever is put into tree->root until it ends. Ending it frees the tree. */
void wtl_json_begin(struct wtl_tree *tree, const char *schema);
int wtl_json_end(struct wtl_tree *tree, struct wtl_buf *buf, bool one_line);

/* A text that is NULL or "" where nothing is known: then nothing is put. */
void wtl_json_known(struct wtl_tree *tree, json_t *to, const char *key, const char *text);

/* A time in seconds, to the nanosecond; below 0 it is not known, and nothing is put. */
void wtl_json_seconds(struct wtl_tree *tree, json_t *to, const char *key, int64_t ns);

void wtl_json_utc(struct wtl_tree *tree, json_t *to, const char *key, int64_t t_utc_ns);

/* "command" (its words, or null) to "interrupted": what ran, and how it ended. */
void wtl_json_ran(struct wtl_tree *tree, json_t *to, const struct wtl_report *report);

/* What a total and a domain have in common; nothing without a figure. */
void wtl_json_figures(struct wtl_tree *tree, json_t *to, const struct wattle_energy *energy);

/* "name" to "source": what a domain is. */
void wtl_json_about(struct wtl_tree *tree, json_t *to, const struct wattle_domain *domain);

/* "total"; "domains", as seen at t_utc_ns */
void wtl_json_total(struct wtl_tree *tree, json_t *to, const struct wattle_energy *total);
void wtl_json_domains(struct wtl_tree *tree, json_t *to, const struct wtl_report_domain *domains,
		      size_t n, int64_t t_utc_ns);

/* "start_utc" to "ledger": when, and what was measured. end_utc_ns: what the clock showed at its end, to be
 * told as well; NULL: nothing is known of it but the duration. */
void wtl_json_measured(struct wtl_tree *tree, json_t *to, const struct wtl_report *report,
		       const int64_t *end_utc_ns);

/* "carbon"; "notes"; "self", which is returned: there may be more to tell */
void wtl_json_carbon(struct wtl_tree *tree, json_t *to, const struct wtl_report *report);
json_t *wtl_json_self(struct wtl_tree *tree, json_t *to, const struct wtl_report_self *self);
void wtl_json_notes(struct wtl_tree *tree, json_t *to, const struct wtl_report *report);

void wtl_json_statistics(struct wtl_tree *tree, json_t *to, const char *key,
			 const struct wtl_statistics *of, unsigned decimals);

/* "dynamic_j", "full_j" and "uncertainty_j" of a share */
void wtl_json_share(struct wtl_tree *tree, json_t *to, const struct wtl_share_energy *share);

/* idle_…: the baseline of a domain, as seen at t_utc_ns; nothing for a domain with neither a figure
 * nor a baseline. */
void wtl_json_idle(struct wtl_tree *tree, json_t *to, const struct wtl_report_domain *domain,
		   int64_t t_utc_ns);

/* "ledger" */
void wtl_json_ledgers(struct wtl_tree *tree, json_t *to, const struct wtl_report *report);

/* "command_energy", "processes", "others" and "no_process", or the reasons why not. */
void wtl_json_attribution(struct wtl_tree *tree, json_t *to, const struct wtl_report *report);

#endif
