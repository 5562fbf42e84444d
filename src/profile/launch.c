/* SPDX-License-Identifier: MIT */
#include "profile/launch.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profile/trace.h"

/* How the file names of drivers' libraries begin. */
static const char *const drivers[] = {
	"libcuda.so",	       /* NVIDIA */
	"libnvidia-opencl.so", /* the same, by OpenCL */
	"libhsa-runtime64.so", /* AMD */
	"libamdhip64.so",      "libamdocl64.so",
	"libze_intel_gpu.so", /* Intel */
	"libigdrcl.so",	       NULL,
};

static bool is_driver(const struct wtl_module *module)
{
	const char *slash = module ? strrchr(module->path, '/') : NULL;

	for (size_t i = 0; module && drivers[i]; i++)
		if (wtl_text_starts(slash ? slash + 1 : module->path, drivers[i]))
			return true;
	return false;
}

bool *wtl_launches_find(const struct wtl_trace *trace)
{
	const struct wtl_tree *tree = &trace->tree;
	bool *found = calloc(tree->n_nodes + 1, sizeof(*found));

	/* A node's number is higher than its parent's. */
	for (size_t i = 1; found && i < tree->n_nodes; i++) {
		const struct wtl_frame *frame = &tree->frames[tree->nodes[i].frame];

		found[i] = found[tree->nodes[i].parent] ||
			   (frame->kind == WTL_FRAME_NATIVE && is_driver(frame->module));
	}
	return found;
}

bool wtl_launches_are_seen(const struct wtl_trace *trace)
{
	bool *found = wtl_launches_find(trace), are = false;

	for (size_t i = 0; found && !are && i < trace->n_samples; i++)
		are = found[trace->samples[i].node];
	free(found);
	return are;
}
