/* SPDX-License-Identifier: MIT */
/*
 * What GPU drivers write in files: fdinfo of DRM clients, amdgpu's lists of clocks, speeds of PCIe
 * links, the way to a device. The input is two texts, the second after the first NUL.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "energy/units.h"
#include "gpu/drm.h"
#include "gpu/pci.h"
#include "sensors/gpu_sysfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static bool check_fdinfo(const char *text, size_t len, struct wtl_drm_fdinfo *info)
{
	bool ok = wtl_drm_fdinfo_parse(text, len, info);

	check(info->n_engines <= WTL_DRM_ENGINES_MAX);
	check(strnlen(info->pdev, sizeof(info->pdev)) < sizeof(info->pdev));
	check(!ok || info->pdev[0]);
	for (size_t i = 0; i < info->n_engines; i++) {
		const struct wtl_drm_engine *engine = &info->engines[i];
		size_t name = strnlen(engine->name, sizeof(engine->name));

		check(name > 0 && name < sizeof(engine->name));
		check(engine->capacity >= 1 && engine->capacity < 1024);
		for (size_t j = 0; j < i; j++)
			check(strcmp(info->engines[j].name, engine->name) != 0);
	}
	return ok;
}

/* No more than all engines could have done in that time. */
static void check_busy(const struct wtl_drm_fdinfo *before, const struct wtl_drm_fdinfo *now)
{
	static const int64_t intervals[] = {-1, 0, 1, WTL_NS_PER_S, INT64_MAX};

	for (size_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
		uint64_t render_ns, media_ns, most_ns = 0;

		wtl_drm_busy(before, now, intervals[i], &render_ns, &media_ns);
		for (size_t j = 0; j < now->n_engines && intervals[i] > 0; j++)
			most_ns += (uint64_t)(intervals[i] < 3600 * WTL_NS_PER_S
						      ? intervals[i]
						      : 3600 * WTL_NS_PER_S) *
				   now->engines[j].capacity;
		check(render_ns + media_ns <= most_ns);
	}
}

static void check_dpm(const char *text, size_t len)
{
	uint64_t now = 1, max = 1;

	if (!wtl_gpu_dpm_parse(text, len, &now, &max)) {
		check(now == 1 && max == 1);
		return;
	}
	check(now == UINT64_MAX || now <= max);
}

/* What is found is the name of a device, and no way out of its directory. */
static void check_port(const char *text, size_t len)
{
	char link[512] = "", port[32] = "";

	memcpy(link, text, len < sizeof(link) ? len : sizeof(link) - 1);
	if (!wtl_pci_root_port_of(link, port, sizeof(port)))
		return;
	check(port[0] && port[0] != '.' && strnlen(port, sizeof(port)) < sizeof(port));
	check(!strchr(port, '/') && strstr(link, port));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *end = memchr(text, '\0', size);
	size_t first = end ? (size_t)(end - text) : size;
	const char *rest = text + first + (end != NULL);
	size_t rest_len = size - first - (end != NULL);
	struct wtl_drm_fdinfo before, now;

	check_fdinfo(text, first, &before);
	check_fdinfo(rest, rest_len, &now);
	check_busy(&before, &now);
	check_busy(&now, &now);
	check_dpm(text, first);
	check(wtl_gpu_link_gen(text, first) <= 6);
	check_port(text, first);
	return 0;
}
