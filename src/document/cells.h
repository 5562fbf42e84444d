/* SPDX-License-Identifier: MIT */
#ifndef WTL_DOCUMENT_CELLS_H
#define WTL_DOCUMENT_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include <wattle.h>

struct wtl_buf;

/* Cells of a CSV table: each ends with its comma, the last one of a row with the line. */

enum { WTL_CELL_MAX = 1 << 23 };

void wtl_cell_empty(struct wtl_buf *buf, unsigned n);

/*
 * Text from anywhere: escaped, so that a row is a line and a terminal is safe; quoted where RFC 4180
 * asks for it; and with a ' before what a spreadsheet would run as a formula. NULL is "".
 */
void wtl_cell_text(struct wtl_buf *buf, const char *value);
void wtl_cell_last(struct wtl_buf *buf, const char *value);

/* value × 10^-decimals with all its digits; nothing where it is not known. */
void wtl_cell_fixed(struct wtl_buf *buf, bool known, uint64_t value, unsigned decimals);
void wtl_cell_seconds(struct wtl_buf *buf, bool known, int64_t ns);
void wtl_cell_utc(struct wtl_buf *buf, int64_t t_utc_ns);
void wtl_cell_flags(struct wtl_buf *buf, uint32_t bits);
void wtl_cell_method(struct wtl_buf *buf, enum wattle_method value);
void wtl_cell_bool(struct wtl_buf *buf, bool value);

/* energy_j, uncertainty_j, mean_w, max_w, measured_s, gap_s, flags: empty without a figure. */
void wtl_cell_energy(struct wtl_buf *buf, const struct wattle_energy *energy);

#endif
