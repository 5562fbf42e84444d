/* SPDX-License-Identifier: MIT */
#include "report/missing.h"

#include <stdio.h>

#include "base/buf.h"
#include "document/format.h"

bool wtl_missing_dropped(const struct wtl_store_reader *reader, char text[WTL_REMARK_SIZE])
{
	struct wtl_store_period first;
	struct wtl_buf buf;

	if (!wtl_store_has_dropped(reader) || wtl_store_period(reader, 0, &first) < 0)
		return false;
	wtl_buf_init(&buf, WTL_REMARK_SIZE);
	wtl_buf_puts(&buf, "the recording is a ring, which has dropped what was before ");
	wtl_format_utc(&buf, first.begin_utc_ns);
	snprintf(text, WTL_REMARK_SIZE, "%s", wtl_buf_str(&buf));
	wtl_buf_done(&buf);
	return true;
}

void wtl_missing_lost(const char *lost, char text[WTL_REMARK_SIZE])
{
	snprintf(text, WTL_REMARK_SIZE, "a part cannot be read: %s", lost);
}

bool wtl_missing_rows(const struct wtl_history *history, char text[WTL_REMARK_SIZE])
{
	if (!wtl_history_is_damaged(history))
		return false;
	snprintf(text, WTL_REMARK_SIZE,
		 "some of it cannot be read, and is missing in what is told: wattle report --check "
		 "says what");
	return true;
}
