/* SPDX-License-Identifier: MIT */
#include "document/report.h"

#include <string.h>

const struct wtl_output_ops *const wtl_outputs[] = {
	&wtl_output_text,
#if HAVE_JANSSON
	&wtl_output_json,
#endif
	&wtl_output_csv,
	NULL,
};

const struct wtl_output_ops *wtl_output_find(const char *name)
{
	for (size_t i = 0; name && wtl_outputs[i]; i++) {
		if (strcmp(wtl_outputs[i]->name, name) == 0)
			return wtl_outputs[i];
	}
	return NULL;
}
