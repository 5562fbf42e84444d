/* SPDX-License-Identifier: MIT */
#ifndef WTL_SMI_XML_H
#define WTL_SMI_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_buf;
struct wtl_smi_row;
struct wtl_smi_field;

/* The elements of a <gpu> of nvidia-smi's XML and the fields of --query-gpu that they hold, for the
 * writer and the reader; and the same for -q without -x. */

struct wtl_smi_element {
	const char *path; /* below <gpu>: "clocks/sm_clock" */
	/* Of --query-gpu; "^" before it: here only of GPUs since Blackwell; "=N/A": that text, always; "*mig" and
	 * "*processes". */
	const char *field;
	const char *suffix; /* behind a value whose field has no unit: " C"; NULL: none */
};

/* As written, in order: the shape of nvsmi_device_v12.dtd. Ended by an entry without a path. */
extern const struct wtl_smi_element wtl_smi_elements[];
/* The titles of -q without -x, in order, by the same fields. Ended likewise. */
extern const struct wtl_smi_element wtl_smi_titles[];
/* What only older or newer drivers write. Ended likewise. */
extern const struct wtl_smi_element wtl_smi_elements_other[];

/* The field of --query-gpu that an element holds; NULL: none. */
const struct wtl_smi_field *wtl_smi_element_field(const struct wtl_smi_element *element);
/* Does the document of this GPU and its driver have the element? */
bool wtl_smi_is_shown(const struct wtl_smi_element *element, const struct wtl_smi_row *row);
/* Appends an element's value as both documents have it; not for "*mig" and "*processes". */
void wtl_smi_put_value(struct wtl_buf *buf, const struct wtl_smi_element *element,
		       const struct wtl_smi_row *row);
/* How many bytes of two paths are folders of both; and how many folders a path has from there on. */
size_t wtl_smi_shared_folders(const char *a, const char *b);
size_t wtl_smi_count_folders(const char *path, size_t from);
/* "Mon Oct 13 00:25:36 2025", as asctime() has it. false: no such time. */
bool wtl_smi_time(int64_t t_utc_ns, char *text, size_t size);

#endif
