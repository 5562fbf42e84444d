/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_PUSH_VERIFY_H
#define WTL_SERVE_PUSH_VERIFY_H

#include <stdint.h>

#include "serve/push_http.h"

struct wtl_buf;
struct wtl_push_labels;

/* Does an engine have a row that it acknowledged? Makes the query, and reads the answer. */

/* For the row's series of its own time; ret_more (WTL_PUSH_MORE_SIZE) is what follows the query. */
enum { WTL_PUSH_MORE_SIZE = 48 };
void wtl_push_verify_query(enum wtl_push_form form, const struct wtl_push_labels *labels,
			   int64_t t_utc_ms, struct wtl_buf *query, char *ret_more);
/* 1: it has it; 0: it does not; -EPROTO: this is no answer to a query. */
int wtl_push_verify_answer(enum wtl_push_form form, const char *said);

#endif
