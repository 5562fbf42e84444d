/* SPDX-License-Identifier: MIT */
#ifndef WTL_TESTS_FAKE_STATE_H
#define WTL_TESTS_FAKE_STATE_H

#include "fake_abi.h"
#include "fake_script.h"

/* What the entry points share. The library is built with hidden visibility. */

#define FAKE_API __attribute__((visibility("default")))

extern struct fake_script fake_script;

/* Now: ns since the load, or what the clock file says. */
int64_t fake_now_ns(void);

/* A moment of the script as NVML's time stamps show it: µs of UTC. */
uint64_t fake_utc_us(int64_t t_ns);

/*
 * Every entry point begins with one of these: counts the call, checks that NVML is initialised and
 * gives the answer or delay that the script has for it. 0: go on. A NULL handle ends the process,
 * as in the real library.
 */
int fake_enter(const char *function);
int fake_enter_device(const char *function, void *handle, struct fake_gpu **ret_gpu);

/* The same for a device that has no handle yet. */
int fake_enter_gpu(const char *function, struct fake_gpu *gpu);

/* Copies a string out, or INSUFFICIENT_SIZE. */
int fake_copy(char *dst, unsigned length, const char *src);

/* The script's rule for a name of its own, such as "gpm:2", or 0. */
int fake_named_rule(struct fake_gpu *gpu, const char *name, int64_t t_ns);

/* Has the script rules, or values of this GPU? Else nothing needs to be looked up. */
bool fake_is_scripted(const struct fake_gpu *gpu);

#define FAKE_ENTER()                                \
	do {                                        \
		int entered = fake_enter(__func__); \
		if (entered)                        \
			return entered;             \
	} while (0)

#define FAKE_ENTER_DEVICE(handle)                                          \
	struct fake_gpu *gpu;                                              \
	do {                                                               \
		int entered = fake_enter_device(__func__, (handle), &gpu); \
		if (entered)                                               \
			return entered;                                    \
	} while (0)

#endif
