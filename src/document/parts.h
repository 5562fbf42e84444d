/* SPDX-License-Identifier: MIT */
#ifndef WTL_DOCUMENT_PARTS_H
#define WTL_DOCUMENT_PARTS_H

#include <stdint.h>

#include "document/report.h"
#include "document/doc.h"

/* Parts that several documents share. docs/format-json.md describes every key. */

/* "command" (its words, or null) to "interrupted": what ran, and how it ended. */
void wtl_doc_ran(struct wtl_node *to, const struct wtl_report *report);

/* What a total and a domain have in common; nothing without a figure. */
void wtl_doc_figures(struct wtl_node *to, const struct wattle_energy *energy);

/* "name" to "source": what a domain is. */
void wtl_doc_about(struct wtl_node *to, const struct wattle_domain *domain);

/* "total" */
void wtl_doc_total(struct wtl_node *to, const struct wattle_energy *total);

/* "start_utc" to "ledger": when, and what was measured. end_utc_ns: the clock's
 * time at the end, which is put too; NULL: only the duration is known. */
void wtl_doc_measured(struct wtl_node *to, const struct wtl_report *report,
		      const int64_t *end_utc_ns);

/* Where the electricity comes from, and the PUE (thousandths; 0: not known), which no energy has in it. */
void wtl_doc_place(struct wtl_node *to, const struct wattle_carbon *carbon, bool is_default,
		   uint32_t pue_milli);
/* "carbon"; "notes"; "self", which is returned for the caller to add to */
void wtl_doc_carbon(struct wtl_node *to, const struct wtl_report *report);
struct wtl_node *wtl_doc_self(struct wtl_node *to, const struct wtl_report_self *self);
void wtl_doc_notes(struct wtl_node *to, const struct wtl_report *report);

void wtl_doc_statistics(struct wtl_node *to, const char *key, const struct wtl_statistics *of,
			unsigned decimals);

/* "schema" to "statistics": what a series has, without the reason why it ended */
void wtl_doc_runs_of(struct wtl_node *to, const struct wtl_series *series);

/* "statistics" of runs, which is returned for the caller to add to */
struct wtl_node *wtl_doc_run_statistics(struct wtl_node *to,
					const struct wtl_statistics of[WTL_RUN_FIGURES],
					bool has_power, bool has_command);

/* The rows of a run that is in the tree: one for each domain, and one for its total. */
void wtl_doc_report_rows(struct wtl_doc *doc, const struct wtl_node *run,
			 const struct wtl_report *report, size_t number);

/* "dynamic_j", "full_j" and "uncertainty_j" of a share */
void wtl_doc_share(struct wtl_node *to, const struct wtl_share_energy *share);

/* idle_…: the baseline of a domain, as seen at t_utc_ns; nothing for a domain with neither a figure
 * nor a baseline. */
void wtl_doc_idle(struct wtl_node *to, const struct wtl_report_domain *domain, int64_t t_utc_ns);

/* "ledger" */
void wtl_doc_ledgers(struct wtl_node *to, const struct wtl_report *report);

/* Who a consumer is and its CPU time, with the user's name (NULL: not known); its memory. */
void wtl_doc_consumer(struct wtl_node *to, const struct wtl_consumer *consumer,
		      int64_t start_utc_ns, const char *user);
void wtl_doc_consumer_memory(struct wtl_node *to, const struct wtl_consumer *consumer);

/* "command_energy", "processes", "others" and "no_process", or the reasons why not. */
void wtl_doc_attribution(struct wtl_node *to, const struct wtl_report *report);

#endif
