/* SPDX-License-Identifier: MIT */
#ifndef WTL_OUTPUT_NVIDIA_SMI_XML_H
#define WTL_OUTPUT_NVIDIA_SMI_XML_H

#include <stddef.h>

/* The elements of a <gpu> of nvidia-smi's XML and the fields of --query-gpu that they hold: for the
 * writer and the reader. */

struct wtl_smi_element {
	const char *path;   /* below <gpu>: "clocks/sm_clock" */
	const char *field;  /* of --query-gpu; "=N/A": that text, always; "*mig" and "*processes" */
	const char *suffix; /* behind a value whose field has no unit: " C"; NULL: none */
};

/* As written, in order: the shape of nvsmi_device_v12.dtd. Ended by an entry without a path. */
extern const struct wtl_smi_element wtl_smi_elements[];
/* What only older or newer drivers write. Ended likewise. */
extern const struct wtl_smi_element wtl_smi_elements_other[];

#endif
