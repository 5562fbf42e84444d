/* SPDX-License-Identifier: MIT */
#ifndef WTL_DOCUMENT_CODECARBON_H
#define WTL_DOCUMENT_CODECARBON_H

#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

struct wtl_buf;

/* CodeCarbon's emissions.csv: facts/carbon-and-ml.md 2.1, docs/carbon.md. */

enum wtl_codecarbon_format { WTL_CODECARBON_2023 /* v2.2.3 to v2.6 */, WTL_CODECARBON_LATEST };
enum wtl_codecarbon_part {
	WTL_CODECARBON_CPU, /* every kind but GPU and DRAM */
	WTL_CODECARBON_GPU,
	WTL_CODECARBON_RAM,
	WTL_CODECARBON_ALL,
	WTL_CODECARBON_PARTS
};

/* The contents of a row. Negative numbers are not known: their cells are blank. */
struct wtl_codecarbon {
	int64_t end_utc_ns;
	const char *project, *run_id, *os, *cpu_model;
	const char *gpu_model; /* of the first GPU; "": not known */
	const struct wattle_carbon *carbon;
	double seconds, pue, kg, n_cpus, n_gpus, memory_bytes;
	double kwh[WTL_CODECARBON_PARTS]; /* times PUE */
};

enum wtl_codecarbon_part wtl_codecarbon_part_of(enum wattle_kind kind);
double wtl_codecarbon_kwh(uint64_t energy_uj);

/* Each with its end of line. */
void wtl_codecarbon_put_header(struct wtl_buf *buf, enum wtl_codecarbon_format format);
void wtl_codecarbon_put_row(struct wtl_buf *buf, const struct wtl_codecarbon *row,
			    enum wtl_codecarbon_format format);

#endif
