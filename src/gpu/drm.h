/* SPDX-License-Identifier: MIT */
#ifndef WTL_NVML_DRM_H
#define WTL_NVML_DRM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_io;

/*
 * Who uses the GPUs of the kernel's DRM drivers (amdgpu, i915, xe …): each process's /proc/PID/fdinfo
 * says how long engines worked for it (Documentation/gpu/drm-usage-stats.rst of the kernel). Without
 * privilege these are the user's own processes.
 */

enum {
	WTL_DRM_ENGINES_MAX = 8,
	WTL_DRM_CLIENTS_MAX = 2048,
	WTL_DRM_FDINFO_SIZE = 4096,
};

/* One engine, by time or by cycles. */
struct wtl_drm_engine {
	char name[16];
	bool is_media; /* encodes, decodes or scales video */
	uint64_t busy_ns;
	uint64_t cycles, total_cycles; /* total 0: this driver counts time */
	uint64_t capacity;	       /* how many engines that is; at least 1 */
};

struct wtl_drm_fdinfo {
	char pdev[24]; /* "0000:03:00.0" */
	uint64_t client;
	struct wtl_drm_engine engines[WTL_DRM_ENGINES_MAX];
	size_t n_engines;
	uint64_t memory_bytes; /* on the GPU; UINT64_MAX: not told */
};

/* One fdinfo. false: it is not of a DRM device on a bus, or has no client. */
bool wtl_drm_fdinfo_parse(const char *text, size_t len, struct wtl_drm_fdinfo *ret_info);

/* What a client did between two readings, in ns of one engine; the sums over its engines. */
void wtl_drm_busy(const struct wtl_drm_fdinfo *before, const struct wtl_drm_fdinfo *now,
		  int64_t interval_ns, uint64_t *ret_render_ns, uint64_t *ret_media_ns);

/* A process's use of one GPU between the last two reads; a process has one entry a GPU. */
struct wtl_drm_use {
	int pid;
	char pdev[24];
	uint64_t render_ns, media_ns;
	int64_t interval_ns; /* 0: this is the first time that it is seen */
	uint64_t memory_bytes;
};

struct wtl_drm_scan;

struct wtl_drm_scan *wtl_drm_scan_new(struct wtl_io *io); /* NULL: no memory */
void wtl_drm_scan_free(struct wtl_drm_scan *scan);	  /* NULL is fine */

/*
 * Reads all clients that are known, and looks for new ones now and then (every 4 s: that means
 * looking at every descriptor of every process). Borrowed, until the next read.
 */
const struct wtl_drm_use *wtl_drm_scan_read(struct wtl_drm_scan *scan, int64_t now_ns,
					    size_t *ret_n);

/* There was no room for all that uses the GPUs: what was read is not all of it. */
bool wtl_drm_scan_is_cut(const struct wtl_drm_scan *scan);

/* How many processes would not let themselves be looked at. */
size_t wtl_drm_scan_hidden(const struct wtl_drm_scan *scan);

#endif
