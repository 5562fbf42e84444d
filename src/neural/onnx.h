/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_ONNX_H
#define WTL_NEURAL_ONNX_H

#include <stddef.h>
#include <stdint.h>

#include "neural/network.h"

struct wtl_err;

/*
 * An ONNX file as a network: shapes are inferred, numbers counted. Opsets 1 to 25. The file is mapped, not read: weights
 * are never touched. Beside it, never more than WTL_ONNX_MEMORY_MAX bytes are taken.
 *
 * The caller guards against a file that somebody truncates meanwhile (cli/mapped.h does).
 */
enum { WTL_ONNX_MEMORY_MAX = 32 << 20, WTL_ONNX_LAYERS_MAX = 20000 };

struct wtl_onnx_options {
	const char *const *dims; /* "batch=8": a size that the file leaves open, by name */
	size_t n_dims;
	const char *const *inputs; /* "name=1x3x224x224": the shape of an input */
	size_t n_inputs;
};

enum wtl_onnx_why {
	WTL_ONNX_UNKNOWN_OP,   /* no rule for it */
	WTL_ONNX_UNKNOWN_SIZE, /* a size that only running it tells */
};

/* Nodes of one op that were not counted. */
struct wtl_onnx_uncounted {
	char op[64]; /* with its domain, where that is not ONNX's own */
	enum wtl_onnx_why why;
	size_t n;
};

struct wtl_onnx_model {
	struct wtl_network network;
	int64_t ir, opset; /* 0: not told */
	char producer[64];
	size_t n_nodes, n_counted; /* each node once for each place that it is called from */
	struct wtl_onnx_uncounted *uncounted;
	size_t n_uncounted, room_uncounted;
};

/* 0, or a negative code with the error filled; then there is nothing to free. options may be NULL. */
int wtl_onnx_read(const char *path, const struct wtl_onnx_options *options,
		  struct wtl_onnx_model *ret, struct wtl_err *err);
/* The same of a file in memory; external data are not looked for. */
int wtl_onnx_read_memory(const void *data, size_t len, const struct wtl_onnx_options *options,
			 struct wtl_onnx_model *ret, struct wtl_err *err);
void wtl_onnx_done(struct wtl_onnx_model *model);

#endif
