/* SPDX-License-Identifier: MIT */
#ifndef WTL_GPU_VISIBLE_H
#define WTL_GPU_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/library.h"

/*
 * Lists of GPUs as CUDA_VISIBLE_DEVICES has them (CUDA programming guide, "Environment Variables"): entries with
 * commas between them, each an index, "GPU-<uuid>", "MIG-<uuid>" or "MIG-GPU-<uuid>/<instance>/<compute instance>".
 * A beginning of a UUID is enough where no other begins so. The first entry that names nothing ends the list.
 */

/* A UUID by which a list may name a GPU: its own, or that of one of its MIG devices. */
struct wtl_gpu_name {
	size_t gpu; /* its index */
	char uuid[WTL_NVML_UUID_SIZE];
};

struct wtl_gpu_names {
	struct wtl_gpu_name *at;
	size_t n, room;
};

enum wtl_gpu_visible {
	WTL_GPU_HIDDEN,
	WTL_GPU_VISIBLE,
	WTL_GPU_VISIBLE_BY_MIG, /* one of its MIG devices is */
	WTL_GPU_VISIBLE_PERHAPS /* its name is not known, and the list has a name that is no other GPU's */
};

/* Does the list have entries that are not indices, so that names are needed; and MIG devices? */
bool wtl_gpu_list_has_uuids(const char *list);
bool wtl_gpu_list_has_migs(const char *list);

/* Fills ret_visible[] of n_gpus. Returns the entry that ended the list before its time, or NULL: there is none, or it
 * is "-1" or empty, which is how a list says so on purpose. */
const char *wtl_gpu_list_apply(const char *list, const struct wtl_gpu_names *names,
			       enum wtl_gpu_visible ret_visible[], size_t n_gpus);

/* "": it has none. 0 or -ENOMEM. */
int wtl_gpu_names_add(struct wtl_gpu_names *names, size_t gpu, const char *uuid);
/* Asks NVML for a GPU's UUID, and with_migs for those of its MIG devices. 0 or -ENOMEM. */
int wtl_gpu_names_read(struct wtl_gpu_names *names, struct wtl_nvml_lib *lib, uint64_t handle,
		       size_t gpu, bool with_migs);
void wtl_gpu_names_done(struct wtl_gpu_names *names); /* a zeroed one is fine */

#endif
