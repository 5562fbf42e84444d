/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include <wattle.h>

#define NAME_OF(names, value) \
	((size_t)(value) < sizeof(names) / sizeof((names)[0]) ? (names)[(size_t)(value)] : NULL)

const char *wattle_kind_name(enum wattle_kind kind)
{
	static const char *const names[] = {
		[WATTLE_KIND_CPU] = "cpu",
		[WATTLE_KIND_CORE] = "core",
		[WATTLE_KIND_UNCORE] = "uncore",
		[WATTLE_KIND_DRAM] = "dram",
		[WATTLE_KIND_PLATFORM] = "platform",
		[WATTLE_KIND_GPU] = "gpu",
		[WATTLE_KIND_GPU_MEMORY] = "gpu-memory",
		[WATTLE_KIND_MODULE] = "module",
		[WATTLE_KIND_SOC] = "soc",
		[WATTLE_KIND_BATTERY] = "battery",
		[WATTLE_KIND_BOARD] = "board",
	};

	return NAME_OF(names, kind);
}

const char *wattle_method_name(enum wattle_method method)
{
	static const char *const names[] = {
		[WATTLE_METHOD_NONE] = "none",
		[WATTLE_METHOD_COUNTER] = "counter",
		[WATTLE_METHOD_INTEGRATED] = "integrated",
		[WATTLE_METHOD_MODELLED] = "modelled",
		[WATTLE_METHOD_MIXED] = "mixed",
	};

	return NAME_OF(names, method);
}

const char *wattle_status_name(enum wattle_status status)
{
	static const char *const names[] = {
		[WATTLE_STATUS_OK] = "ok",	   [WATTLE_STATUS_STALE] = "stale",
		[WATTLE_STATUS_GAP] = "gap",	   [WATTLE_STATUS_DENIED] = "denied",
		[WATTLE_STATUS_GONE] = "gone",	   [WATTLE_STATUS_FAILED] = "failed",
		[WATTLE_STATUS_ASLEEP] = "asleep", [WATTLE_STATUS_ABSENT] = "absent",
	};

	return NAME_OF(names, status);
}
