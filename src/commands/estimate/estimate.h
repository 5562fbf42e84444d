/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_ESTIMATE_H
#define WTL_COMMANDS_ESTIMATE_H

#include "document/writer.h"
#include "neural/onnx.h"

/* What `wattle estimate` tells. */
struct wtl_estimate {
	const char *path;
	const struct wtl_onnx_model *model;
};

/* Sums over all layers of a network. Of branches, MACs are those of the side that has more. */
struct wtl_estimate_totals {
	uint64_t other_ops, parameters, buffers, scales, weight_bytes, input_bytes, output_bytes;
	bool repeats_unknown; /* of any layer */
};

/* 0, or -EOVERFLOW. */
int wtl_estimate_totals(const struct wtl_network *network, struct wtl_estimate_totals *ret);

/* document.c */
void wtl_estimate_document(struct wtl_doc *doc, const void *what);
/* text.c */
int wtl_estimate_text(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style);

#endif
