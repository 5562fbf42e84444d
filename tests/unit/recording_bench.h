/* SPDX-License-Identifier: MIT */
#ifndef RECORDING_BENCH_H
#define RECORDING_BENCH_H

#include <stdint.h>

#include "document/recording.h"

/* What the tests of the formats for recordings share: a small one made by hand, and CSV read back. */

#define BENCH_J(joules)	   ((uint64_t)((joules)*1e6 + 0.5))
#define BENCH_S(seconds)   ((int64_t)((seconds)*1e9 + 0.5))
#define BENCH_BEGIN_UTC_NS (INT64_C(1795269600) * 1000000000) /* 2026-11-21T14:00Z */

enum {
	BENCH_DOMAINS = 4,
	BENCH_PROCESSES = 3,
	BENCH_WINDOWS = 4,
	BENCH_GAPS = 6,
	BENCH_GROUPS = 2
};

/*
 * 10 s of a machine: package-0 has 100 J, dram-0 20 J, gpu-0 300 J, which make 420 J; psys-0 has a
 * second opinion of 500 J. Processes have 385 J, nobody 35 J. Windows: main, marked from outside,
 * open, and cut without figures. One gap of every kind.
 */
struct recording_bench {
	struct wtl_recording recording;
	struct wtl_report_domain domains[BENCH_DOMAINS];
	struct wtl_consumer consumers[BENCH_PROCESSES];
	struct wtl_report_process processes[BENCH_PROCESSES];
	struct wtl_recording_group groups[BENCH_GROUPS];
	struct wtl_recording_grouping grouping;
	struct wtl_recording_window windows[BENCH_WINDOWS];
	struct wattle_energy energies[BENCH_DOMAINS];
	struct wtl_recording_gap gaps[BENCH_GAPS];
	struct wtl_recording_sensor sensors[BENCH_DOMAINS];
};

/* Points into itself: not to be copied. It passes wtl_recording_check(). */
void recording_bench_init(struct recording_bench *bench);

/* One of a machine where nothing can be measured: no domain, process, window or gap. */
void recording_bench_init_empty(struct recording_bench *bench);

/* The same run n times, a minute after the other. */
void recording_bench_runs(struct wtl_run list[], size_t n, const char *path,
			  const struct wtl_report *report);

/* What is printed: to be freed. -EPROTO and the like fail the test. */
char *recording_bench_text(const char *format, const struct wtl_recording *recording,
			   struct wtl_output_style style);
char *comparison_bench_text(const char *format, const struct wtl_comparison *comparison,
			    struct wtl_output_style style);
char *runs_bench_text(const char *format, const struct wtl_runs *runs,
		      struct wtl_output_style style);

/* ---- CSV as RFC 4180 has it ---- */

enum { TABLE_CELLS = 40, TABLE_ROWS = 80 };

struct table {
	char *text;
	size_t n_rows; /* with the heading, if there is one */
	struct table_row {
		size_t n_cells;
		char *cells[TABLE_CELLS];
	} rows[TABLE_ROWS];
};

/* What is no CSV, or has rows of different lengths, fails the test. */
struct table *table_new(const char *csv);
void table_free(struct table *table);

/* A cell of a row (the heading is row 0) by its column's name. */
const char *table_cell(const struct table *table, size_t row, const char *column);
/* The same as a number × 10^decimals, which has exactly so many decimals. */
int64_t table_fixed(const struct table *table, size_t row, const char *column, unsigned decimals);

void table_assert(const struct table *table, size_t row, const char *column, const char *wanted);

#endif
