/* SPDX-License-Identifier: MIT */
#include "sensors/model_curve.h"

#include <errno.h>
#include <string.h>

#include "base/num.h"
#include "energy/model.h"
#include "energy/units.h"

#define GIB (UINT64_C(1) << 30)

uint64_t wtl_model_sqrt(uint64_t value)
{
	uint64_t root = 0;

	for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1) {
		uint64_t tried = root | bit;

		if (tried * tried <= value)
			root = tried;
	}
	return root;
}

uint64_t wtl_model_cpu_uj(uint64_t tdp_mw, uint64_t busy_ns, int64_t wall_ns, unsigned n_cpus)
{
	unsigned __int128 all_ns = (unsigned __int128)(wall_ns > 0 ? wall_ns : 0) * n_cpus;
	unsigned __int128 uj;
	uint64_t root;

	if (all_ns == 0)
		return 0;
	/* 2^62 × u, so that the root is 2^31 × √u. */
	root = busy_ns >= all_ns
		       ? UINT64_C(1) << 31
		       : wtl_model_sqrt((uint64_t)(((unsigned __int128)busy_ns << 62) / all_ns));
	/* mW × ns = pJ; the two shares are of 100 × 2^31. */
	uj = (unsigned __int128)tdp_mw * (uint64_t)wall_ns / 1000;
	uj = uj *
	     (((uint64_t)WTL_MODEL_IDLE_PERCENT << 31) + (100 - WTL_MODEL_IDLE_PERCENT) * root);
	uj = uj / (UINT64_C(100) << 31) / 1000;
	return uj > UINT64_MAX ? UINT64_MAX : (uint64_t)uj;
}

uint64_t wtl_model_cpu_idle_uw(uint64_t tdp_mw)
{
	return tdp_mw * 1000 * WTL_MODEL_IDLE_PERCENT / 100;
}

/*
 * What is installed, in GiB: MemTotal lacks what the kernel and the firmware keep (1 to 4 %), so it
 * is rounded up to a multiple of a sixteenth of its size, which is taken as a power of two.
 */
static uint64_t installed_gib(uint64_t memory_bytes)
{
	uint64_t gib = memory_bytes / GIB + (memory_bytes % GIB ? 1 : 0);
	uint64_t step = 1;

	while (step * 2 <= gib / 16)
		step *= 2;
	return (gib + step - 1) / step * step;
}

unsigned wtl_model_dimms(uint64_t memory_bytes)
{
	static const struct {
		uint64_t gib;
		unsigned dimms;
	} steps[] = {{2, 1}, {16, 2}, {64, 4}, {128, 8}};
	uint64_t gib = installed_gib(memory_bytes);
	uint64_t size = 128;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (gib <= steps[i].gib)
			return gib ? steps[i].dimms : 0;
	while (size > 4 && size > gib / 8)
		size /= 2;
	gib = (gib + size - 1) / size;
	return gib < 32 ? (unsigned)gib : 32;
}

uint64_t wtl_model_dram_mw(uint64_t memory_bytes, bool is_vm, bool is_arm)
{
	unsigned dimms = wtl_model_dimms(memory_bytes);
	uint64_t percent = 0;

	if (is_vm) {
		unsigned __int128 mw = (unsigned __int128)memory_bytes * WTL_MODEL_VM_GIB_MW / GIB;

		return mw > UINT64_MAX ? UINT64_MAX : (uint64_t)mw;
	}
	for (unsigned i = 1; i <= dimms; i++)
		percent += i <= 4 ? 100 : i <= 8 ? 90 : i <= 16 ? 80 : 70;
	return percent * (is_arm ? WTL_MODEL_DIMM_ARM_MW : WTL_MODEL_DIMM_MW) / 100;
}

/* "cpu  USER NICE SYSTEM IDLE IOWAIT …\n", in ticks. */
int wtl_model_parse_stat(const char *text, size_t len, int64_t *ret_idle_ns)
{
	const char *end = len > 4 ? memchr(text, '\n', len) : NULL;
	uint64_t idle_ticks = 0;
	const char *at = text + 4;

	if (!end || memcmp(text, "cpu ", 4) != 0)
		return -EINVAL;
	for (unsigned field = 0; field < 5; field++) {
		const char *start;
		uint64_t value;

		while (at < end && *at == ' ')
			at++;
		start = at;
		while (at < end && *at != ' ')
			at++;
		if (wtl_num_u64(start, (size_t)(at - start), &value) < 0)
			return -EINVAL;
		if (field >= 3)
			idle_ticks = wtl_add_sat(idle_ticks, value);
	}
	if (idle_ticks > (uint64_t)(INT64_MAX / WTL_NS_PER_TICK))
		return -EINVAL;
	*ret_idle_ns = (int64_t)idle_ticks * WTL_NS_PER_TICK;
	return 0;
}
