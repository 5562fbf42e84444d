/* SPDX-License-Identifier: MIT */
#include "meter/settings_watch.h"

#include <string.h>

#include "base/hash.h"
#include "energy/units.h"

#define EVERY_NS     (10 * WTL_NS_PER_S)
#define SLEPT_MIN_NS (100 * WTL_NS_PER_MS) /* less is what two clocks are read apart */

#define CPU   "/sys/devices/system/cpu"
#define LIMIT "/sys/class/powercap/intel-rapl"

/* Where CPUs and packages are many, they are set alike: the first ones stand for all. */
static const char *const files[] = {
	CPU "/online",
	CPU "/smt/active",
	CPU "/cpu0/cpufreq/scaling_governor",
	CPU "/cpu0/cpufreq/scaling_max_freq",
	CPU "/cpu0/cpufreq/energy_performance_preference",
	CPU "/cpufreq/boost",
	CPU "/intel_pstate/no_turbo",
	"/sys/firmware/acpi/platform_profile",
	LIMIT ":0/constraint_0_power_limit_uw",
	LIMIT ":0/constraint_1_power_limit_uw",
	LIMIT ":1/constraint_0_power_limit_uw",
};

static uint64_t read_all(struct wtl_settings_watch *watch, struct wtl_io *io, bool is_first)
{
	uint64_t sum = WTL_HASH_START;
	char text[128];

	for (uint32_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (watch->is_missing >> i & 1)
			continue;
		if (wtl_io_read_line(io, files[i], text, sizeof(text)) >= 0)
			sum = wtl_hash_more(sum, text, strlen(text) + 1);
		else if (is_first)
			watch->is_missing |= UINT32_C(1) << i;
	}
	return sum;
}

bool wtl_settings_changed(struct wtl_settings_watch *watch, struct wtl_io *io, int64_t asleep_ns)
{
	bool is_first = watch->due_ns == 0;
	bool is_changed = !is_first && asleep_ns - watch->asleep_ns > SLEPT_MIN_NS;
	int64_t now_ns = wtl_io_mono_ns(io);
	uint64_t sum;

	watch->asleep_ns = asleep_ns;
	if (now_ns < watch->due_ns)
		return is_changed;
	watch->due_ns = now_ns + EVERY_NS;
	sum = read_all(watch, io, is_first);
	is_changed |= !is_first && sum != watch->sum;
	watch->sum = sum;
	return is_changed;
}
