/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPORT_MISSING_H
#define WTL_REPORT_MISSING_H

#include <stdbool.h>

#include "replay/history.h"

/* What a recording lacks, as far as it was read, in the same words wherever it is shown. */

enum { WTL_REMARK_SIZE = 320 };

/* The start, which a ring has dropped. false: it is there. */
bool wtl_missing_dropped(const struct wtl_store_reader *reader, char text[WTL_REMARK_SIZE]);
/* A stretch that could not be read, by the text of its gap. */
void wtl_missing_lost(const char *lost, char text[WTL_REMARK_SIZE]);
/* Anything missing so far. Without an unreadable stretch, it is rows of tables. false: nothing is missing. */
bool wtl_missing_rows(const struct wtl_history *history, char text[WTL_REMARK_SIZE]);

#endif
