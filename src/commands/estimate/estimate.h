/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_ESTIMATE_H
#define WTL_COMMANDS_ESTIMATE_H

#include "document/writer.h"
#include "neural/onnx.h"

struct wtl_report_text;

/* Sums over all layers of a network. */
struct wtl_estimate_totals {
	uint64_t parameters, buffers, scales, weight_bytes; /* as stored: both sides of an If */
	/* What runs: of each If the larger side, and (_min) the smaller one. */
	uint64_t other_ops, input_bytes, output_bytes;
	uint64_t other_ops_min, input_bytes_min, output_bytes_min;
	bool repeats_unknown; /* of any layer */
};

/* The results of `wattle estimate`. */
struct wtl_estimate {
	const char *path;
	const struct wtl_onnx_model *model;
	struct wtl_estimate_totals totals;
};

/* 0, -EOVERFLOW or -ENOMEM. */
int wtl_estimate_totals(const struct wtl_network *network, struct wtl_estimate_totals *ret);

/* How much of a network was counted, also where joules are shown: */
/* "32 of 32 nodes; not counted: 2 my.Op" */
void wtl_estimate_put_coverage(struct wtl_buf *buf, const struct wtl_coverage *coverage,
			       const struct wtl_output_style *style);
/* The remark that a loop's body is counted once, if one is. */
void wtl_estimate_remark_repeats(const struct wtl_report_text *text,
				 const struct wtl_network *network);
void wtl_estimate_coverage_document(struct wtl_node *to, const struct wtl_network *network);
/* The keys "not_counted" and "repeats_unknown" of a layer, where they apply. */
void wtl_estimate_doubts_document(struct wtl_node *to, const struct wtl_layer *layer);

/* document.c */
void wtl_estimate_document(struct wtl_doc *doc, const void *what);
/* text.c */
int wtl_estimate_text(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style);

#endif
