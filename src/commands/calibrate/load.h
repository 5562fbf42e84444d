/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_CALIBRATE_LOAD_H
#define WTL_COMMANDS_CALIBRATE_LOAD_H

#include <stdint.h>

struct wtl_err;

/* A load on one GPU that can be switched on and off at once. */
struct wtl_gpu_load;

struct wtl_gpu_load_ops {
	/* Switches on for that long; returns when the load began, by CLOCK_MONOTONIC. Negative: it failed. */
	int64_t (*on)(struct wtl_gpu_load *load, int64_t for_ns, struct wtl_err *err);
	/* Switches off; returns when the load ended. */
	int64_t (*off)(struct wtl_gpu_load *load, struct wtl_err *err);
	void (*free)(struct wtl_gpu_load *load);
};

struct wtl_gpu_load {
	const struct wtl_gpu_load_ops *ops;
};

/* ---- load_cuda.c: wattle's own kernel, by libcuda.so.1 (path NULL: by that name). 0 or negative. ---- */
int wtl_gpu_load_cuda(const char *path, const char *bus_id, struct wtl_gpu_load **ret_load,
		      struct wtl_err *err);

/* ---- load_command.c: a shell command of the user's, stopped and continued by signals. 0 or negative. ---- */
int wtl_gpu_load_command(const char *command, const char *uuid, struct wtl_gpu_load **ret_load,
			 struct wtl_err *err);

#endif
