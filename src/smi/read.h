/* SPDX-License-Identifier: MIT */
#ifndef WTL_SMI_READ_H
#define WTL_SMI_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "energy/gpu.h"

struct wtl_err;

/*
 * Reads what nvidia-smi (or `wattle query`) wrote, of any driver since 340: CSV of --query-gpu
 * and --query-compute-apps, and XML of -q -x in its three shapes. What it reports as not known
 * becomes a value's status, and what cannot be read becomes FAILED; nothing becomes 0.
 */

enum { WTL_SMI_TEXT_MAX = 1 << 28 }; /* bytes */

/* One GPU at one moment. */
struct wtl_smi_record {
	const struct wtl_gpu
		*gpu; /* numbers that were not there are ABSENT; vendor "nvidia"; an index
				      that was not there is UINT32_MAX */
	bool has_time;
	int64_t t_local_ns; /* local time since 1970; the time zone is unknown */
	const char *cuda;   /* version; "" where unknown */
};

/* Anything but 0 ends the reading, which then returns it. What the record points to ends with the
 * call. */
typedef int wtl_smi_each(void *context, const struct wtl_smi_record *record);

enum { WTL_SMI_LEFT_KEPT = 4, WTL_SMI_LEFT_SIZE = 40 };

/* What was not understood. */
struct wtl_smi_leftover {
	size_t lines; /* error messages; rows with a wrong number of columns or an invalid value */
	/* The first of those; for XML, none. */
	struct wtl_smi_left {
		size_t line;
		const char *column; /* of an invalid value; NULL: the whole line */
		char value[WTL_SMI_LEFT_SIZE];
	} first[WTL_SMI_LEFT_KEPT];
	size_t columns; /* columns without a known field */
};

/*
 * CSV. fields: the list that was asked for, where there is no header; else NULL. Rows of
 * --query-compute-apps come as a GPU with one process. 0, what each() returned, -EFBIG, -EINVAL for a
 * bad `fields`, -ENOMEM; -WTL_EFORMAT where there is no header. ret_leftover may be NULL.
 */
int wtl_smi_read_csv(const char *text, size_t len, const char *fields, wtl_smi_each *each,
		     void *context, struct wtl_smi_leftover *ret_leftover, struct wtl_err *err);

/*
 * XML: one document or several in a row, with error messages before or between them. As above;
 * -WTL_EFORMAT for what is not well-formed (records before it have been handed out), -EOPNOTSUPP in
 * builds without expat.
 */
int wtl_smi_read_xml(const char *text, size_t len, wtl_smi_each *each, void *context,
		     struct wtl_smi_leftover *ret_leftover, struct wtl_err *err);

#endif
