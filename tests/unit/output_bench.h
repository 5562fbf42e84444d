/* SPDX-License-Identifier: MIT */
#ifndef OUTPUT_BENCH_H
#define OUTPUT_BENCH_H

#include "document/report.h"

/* What the tests of the output formats share: golden files, and what holds for every page. */

enum { OUTPUT_MAX = 1 << 26 };

/* All formats and styles of it against the files tests/golden/NAME.*; WATTLE_GOLDEN_UPDATE=1 writes
 * them. */
void output_check_golden(const char *name, const struct wtl_thing *thing, const void *what);

/* The output, which must be one: to be freed. */
char *output_text(const struct wtl_writer *writer, const struct wtl_thing *thing, const void *what,
		  struct wtl_output_style style);

/* The text page fits 80 columns, has no blanks at line ends, is ASCII where that was asked for, and
 * colours change nothing but the look. */
void output_check_page(const struct wtl_thing *thing, const void *what);

/* Nothing but newlines below the blank. */
void output_assert_no_control(const char *text);

#endif
