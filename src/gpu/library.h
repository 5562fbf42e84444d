/* SPDX-License-Identifier: MIT */
#ifndef WTL_NVML_LIBRARY_H
#define WTL_NVML_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/abi.h"

struct wtl_err;

enum {
	WTL_NVML_BUS_ID_SIZE = 32,
	WTL_NVML_UUID_SIZE = 96,
};

/*
 * One user's hold on NVML. Several may live side by side in a process (NVML counts its nvmlInit
 * calls), so that each part of wattle, or each thread, has its own.
 */
struct wtl_nvml_lib {
	struct wtl_io *io;
	int handle;	  /* < 0: not loaded */
	bool up;	  /* nvmlInit was answered with OK, and no nvmlShutdown since */
	int driver_major; /* 550; 0: not known */
	char driver[80];  /* "550.54.14"; "" while not known */
};

void wtl_nvml_lib_init(struct wtl_nvml_lib *lib, struct wtl_io *io);

/* path NULL: by the loader's rules. 0, or a negative errno with err. */
int wtl_nvml_lib_load(struct wtl_nvml_lib *lib, const char *path, struct wtl_err *err);

/* Why that failed, and what to do about it, in full words; static. */
const char *wtl_nvml_load_reason(int rc, const char *path);
const char *wtl_nvml_load_remedy(int rc, const char *path);

/* nvmlInit, and the driver's version. Its answer, as wtl_nvml_call(). */
int wtl_nvml_lib_start(struct wtl_nvml_lib *lib);
void wtl_nvml_lib_stop(struct wtl_nvml_lib *lib);  /* if it is up */
void wtl_nvml_lib_close(struct wtl_nvml_lib *lib); /* of a zeroed struct too */

/* A function's answer (enum wtl_nvml_code; FUNCTION_NOT_FOUND for a missing symbol), or a negative
 * errno when the call itself failed. */
int wtl_nvml_call(struct wtl_nvml_lib *lib, enum wtl_nvml_function function,
		  struct wtl_lib_arg args[]);

/* The first of functions[] that the library has: newest first. */
int wtl_nvml_call_first(struct wtl_nvml_lib *lib, const enum wtl_nvml_function functions[],
			size_t n, struct wtl_lib_arg args[]);

bool wtl_nvml_has(struct wtl_nvml_lib *lib, enum wtl_nvml_function function);

/* A handle by its bus id or UUID. Never OK with a handle of 0. */
int wtl_nvml_handle_by_text(struct wtl_nvml_lib *lib, enum wtl_nvml_function function,
			    const char *text, uint64_t *ret_handle);

/* A string of a device, cleaned; "" when it is not answered. Returns the code. */
int wtl_nvml_device_text(struct wtl_nvml_lib *lib, enum wtl_nvml_function function, uint64_t handle,
			 char *text, size_t size);

#endif
