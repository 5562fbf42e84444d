/* SPDX-License-Identifier: MIT */
#ifndef WTL_DOCUMENT_WORDS_H
#define WTL_DOCUMENT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "energy/baseline.h"
#include "energy/consumer.h"
#include "energy/ledger.h"
#include "document/report.h"

/* What every format words in the same way. */

/* "SIGKILL", or NULL for a signal without a well-known name. Static. */
const char *wtl_words_signal(int number);

/* The words of WATTLE_ENERGY_… bits in order: "short", "disagrees", "reset"; NULL past the last one
 * that is set. */
const char *wtl_words_flag(uint32_t flags, size_t i);

/* What holds for a domain over the window: the figure's status, or why there is none. */
enum wattle_status wtl_words_status(const struct wtl_report_domain *domain);
enum wattle_method wtl_words_method(const struct wtl_report_domain *domain);

/* Why a figure of the domain is missing or not measured; NULL when there is nothing to explain. */
const char *wtl_words_reason(const struct wtl_report_domain *domain);

/* The reason why a total has no energy, or no power; NULL when it has both. */
const char *wtl_words_total_reason(const struct wattle_energy *total);

/*
 * 0, or -EPROTO: print nothing. Do the domains' accounts add up to their figures, to the microjoule?
 * Is what was billed to processes not more than the accounts of the counted domains have for them?
 */
int wtl_ledgers_check(const void *report);
int wtl_series_check(const void *series); /* of all its reports */

/* The ledgers of all counted domains with a figure, added up; has_idle:
 * each of them has a baseline. false: the sum does not fit in 64 bits. */
bool wtl_words_ledger(const struct wtl_report *report, struct wtl_ledger *ret_ledger);

/* What all consumers, shown or among the others, have of the counted energy (full). The rest of it
 * belongs to no process. false: it does not fit in 64 bits. */
bool wtl_words_processes_uj(const struct wtl_report *report, uint64_t *ret_full_uj);

/* That rest. false: it does not fit in 64 bits. */
bool wtl_words_no_process_uj(const struct wtl_report *report, uint64_t *ret_full_uj);

/* Has the domain's energy been divided among processes? Otherwise its ledger's live, exited and
 * kernel accounts are not known, and the second call says why. */
bool wtl_words_attributed(const struct wtl_report *report, const struct wtl_report_domain *domain);
const char *wtl_words_unattributed_reason(const struct wtl_report *report,
					  const struct wtl_report_domain *domain);

/* Why nothing is attributed on this machine. */
const char *wtl_words_not_attributed(const struct wtl_report *report);
extern const char wtl_words_no_idle[];

/* "time", "energy", …: what a run's figures are called. */
extern const char *const wtl_words_figures[WTL_RUN_FIGURES];

/* Has any GPU that counts a figure? */
bool wtl_words_has_gpu(const struct wtl_report *report);

/* The name of a consumer: its command, its name, or what it stands for. Raw. */
const char *wtl_words_consumer(const struct wtl_consumer *consumer);

/* ± of an idle baseline, k = 2. */
uint64_t wtl_words_idle_uncertainty_uw(const struct wtl_baseline *idle);

/* How long before t_utc_ns it was last learned. False: not known, or not before (the clock was set). */
bool wtl_words_idle_age(const struct wtl_baseline *idle, int64_t t_utc_ns, int64_t *ret_age_ns);

/* When a window ended; it saturates. */
int64_t wtl_words_end_utc_ns(const struct wattle_window *window);

/* Micrograms of CO2e with the power usage effectiveness. */
uint64_t wtl_words_with_pue(const struct wtl_report_carbon *carbon);
/* In nanograms, for formats that programs read: without and (below) with PUE, and ± without. */
uint64_t wtl_words_emitted_ng(const struct wtl_report_carbon *carbon);
/* (E x I + M) / R of what was emitted: with the PUE where that is known. In nanograms a unit, like its ±, which is of
 * E x I alone. */
uint64_t wtl_words_sci_ng(const struct wtl_report_carbon *carbon);
uint64_t wtl_words_sci_uncertainty_ng(const struct wtl_report_carbon *carbon);
uint64_t wtl_words_emitted_with_pue_ng(const struct wtl_report_carbon *carbon);
uint64_t wtl_words_uncertainty_ng(const struct wtl_report_carbon *carbon);

/* NULL: it is known what this total emitted. Else why not; static. */
const char *wtl_words_not_emitted(const struct wtl_report_carbon *carbon,
				  const struct wattle_energy *total);
/* The same for a place that cannot show what is missing: there, emissions that lack a part are not known. */
const char *wtl_words_not_all_emitted(const struct wtl_report_carbon *carbon,
				      const struct wattle_energy *total);

#endif
