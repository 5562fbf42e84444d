/* SPDX-License-Identifier: MIT */
#ifndef WTL_OUTPUT_WORDS_H
#define WTL_OUTPUT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "energy/ledger.h"
#include "output/report.h"

/* What every format says of a report in the same words. */

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

/* Do the domains' accounts add up to their figures, to the microjoule? 0 or -EPROTO: print nothing. */
int wtl_ledgers_check(const struct wtl_report *report);

/* Has any of the energy been attributed? Otherwise only unattributed_uj is known. */
bool wtl_words_attributed(const struct wtl_ledger *ledger);
extern const char wtl_words_not_attributed[];

/* Micrograms of CO2e with the power usage effectiveness. */
uint64_t wtl_words_with_pue(const struct wtl_report_carbon *carbon);

#endif
