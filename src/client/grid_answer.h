/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLIENT_GRID_ANSWER_H
#define WTL_CLIENT_GRID_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include "client/grid_rows.h"

/* Parses the APIs' answers: JSON from outside. */

struct wtl_grid_answer {
	const char *text; /* of len bytes */
	size_t len;
	const char *zone;		/* the zone that it must be about; "": the whole grid */
	int64_t from_utc_ns, to_utc_ns; /* what was asked for: other times are left out */
	int64_t step_ns, asked_utc_ns;
	struct wtl_grid_rows *rows; /* the answer's figures are added to these */
};

/* 0; or negative with the reason in why, and nothing added: the answer is invalid, or about another zone. */
int wtl_grid_answer_electricity_maps(const struct wtl_grid_answer *answer, char why[200]);
int wtl_grid_answer_uk(const struct wtl_grid_answer *answer, char why[200]);

/* Why an answer has no figure, in its own words; "" if it does not say. Printable. */
void wtl_grid_answer_complaint(const char *text, size_t len, char words[160]);

#endif
