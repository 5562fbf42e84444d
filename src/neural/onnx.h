/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_ONNX_H
#define WTL_NEURAL_ONNX_H

#include <stddef.h>
#include <stdint.h>

#include "neural/network.h"

struct wtl_err;

/*
 * Reads an ONNX file as a network: infers shapes and counts. Opsets 1 to 25. The file is mapped: weights are never
 * touched. Other memory is bounded by WTL_ONNX_MEMORY_MAX bytes.
 *
 * The caller guards against truncation of the file meanwhile (cli/mapped.h does).
 */
enum { WTL_ONNX_MEMORY_MAX = 32 << 20 };

struct wtl_onnx_options {
	const char *const *dims; /* "batch=8": a size that the file leaves open, by name */
	size_t n_dims;
	const char *const *inputs; /* "name=1x3x224x224": the shape of an input */
	size_t n_inputs;
};

struct wtl_onnx_model {
	struct wtl_network network;
	int64_t ir, opset; /* 0: not in the file */
	char producer[64];
};

/* 0, or negative with the error filled and nothing to free. options may be NULL. */
int wtl_onnx_read(const char *path, const struct wtl_onnx_options *options,
		  struct wtl_onnx_model *ret, struct wtl_err *err);
/* The same for a file in memory; external data are not read. */
int wtl_onnx_read_memory(const void *data, size_t len, const struct wtl_onnx_options *options,
			 struct wtl_onnx_model *ret, struct wtl_err *err);
void wtl_onnx_done(struct wtl_onnx_model *model);

#endif
