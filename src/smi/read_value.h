/* SPDX-License-Identifier: MIT */
#ifndef WTL_SMI_READ_VALUE_H
#define WTL_SMI_READ_VALUE_H

#include <stddef.h>

#include "smi/field.h"

/* What the readers of CSV and XML share. */

/* A GPU of NVIDIA's of which nothing is known, and a process. */
void wtl_smi_read_init(struct wtl_gpu *gpu);
void wtl_smi_read_process_init(struct wtl_gpu_process *process);

/* Takes in one value with its unit, or what stands in its place. */
void wtl_smi_read_value(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
			const char *text, size_t len, bool is_xml);

#endif
