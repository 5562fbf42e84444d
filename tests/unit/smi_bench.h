/* SPDX-License-Identifier: MIT */
#ifndef WTL_TESTS_SMI_BENCH_H
#define WTL_TESTS_SMI_BENCH_H

#include "base/buf.h"
#include "smi/smi.h"

/* A machine with an H100 under load, a GPU that was lost, an AMD GPU, and a MIG one; two domains. */
enum { SMI_H100, SMI_LOST, SMI_AMD, SMI_MIG, SMI_GPUS };

struct smi_bench {
	struct wtl_look look;
	struct wtl_gpu gpus[SMI_GPUS];
	struct wtl_gpu_process processes[4], mig_process;
	struct wtl_gpu_mig migs[2];
	struct wtl_look_meter meters[SMI_GPUS], domain_meters[3];
	struct wtl_report_domain domains[3];
};

/* 2026-07-03 22:10:46.109 UTC; the test's time zone becomes UTC. */
void smi_bench_init(struct smi_bench *bench);

void smi_set(struct wtl_gpu *gpu, enum wtl_gpu_number number, uint64_t value);
void smi_unset(struct wtl_gpu *gpu, enum wtl_gpu_number number, enum wattle_status status,
	       int code);

/* The text of a --query-…: its header and rows, or fails the test. To be freed. */
char *smi_query(const struct wtl_smi_query *query, const char *list, bool header, bool units,
		const struct wtl_look *look);
/* One field of one GPU. */
char *smi_value(struct smi_bench *bench, size_t gpu, const char *field, bool units);

/* Compares with tests/golden/<name>, or writes it with WATTLE_GOLDEN_UPDATE. */
void smi_check_golden(const char *name, const struct wtl_buf *text);

/* The look as JSON, on one line or several. */
void smi_bench_json(struct wtl_buf *buf, const struct wtl_look *look, bool one_line);

#endif
