/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPORT_MISSING_H
#define WTL_REPORT_MISSING_H

#include <stdbool.h>

#include "replay/history.h"

/* What a recording does not have, as far as it was gone through, in the words that everything that shows it uses. */

enum { WTL_REMARK_SIZE = 320 };

/* The begin, which a ring has dropped. false: it is there. */
bool wtl_missing_dropped(const struct wtl_store_reader *reader, char text[WTL_REMARK_SIZE]);
/* A stretch that could not be read, by the text of its gap. */
void wtl_missing_lost(const char *lost, char text[WTL_REMARK_SIZE]);
/* Something, as far as it was read. Where there was no such stretch, it is rows of tables. false: it is all there. */
bool wtl_missing_rows(const struct wtl_history *history, char text[WTL_REMARK_SIZE]);

#endif
