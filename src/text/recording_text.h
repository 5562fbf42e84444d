/* SPDX-License-Identifier: MIT */
#ifndef WTL_TEXT_RECORDING_TEXT_H
#define WTL_TEXT_RECORDING_TEXT_H

#include "document/recording.h"
#include "text/report_text.h"

/* ---- clock.c: times by this machine's clock and zone ---- */

int wtl_report_text_local(struct wtl_buf *buf, int64_t t_utc_ns);	 /* "2026-11-21 14:57:37" */
int wtl_report_text_local_clock(struct wtl_buf *buf, int64_t t_utc_ns);	 /* "14:57:37" */
int wtl_report_text_local_minute(struct wtl_buf *buf, int64_t t_utc_ns); /* "2026-11-21 14:57" */
int wtl_report_text_zone(struct wtl_buf *buf, int64_t t_utc_ns);	 /* its name */
bool wtl_report_text_is_same_day(int64_t a_utc_ns, int64_t b_utc_ns);

/* ---- recording_tables.c: each after an empty line; left out if it has no rows ---- */

void wtl_report_text_grouping(const struct wtl_report_text *text,
			      const struct wtl_recording *recording,
			      const struct wtl_recording_grouping *grouping);
void wtl_report_text_windows(const struct wtl_report_text *text,
			     const struct wtl_recording *recording);
/* As remarks. */
void wtl_report_text_gaps(const struct wtl_report_text *text,
			  const struct wtl_recording *recording);

/* The last line: "recording took 10.3 ms of CPU, 5.7 MiB" (recording.c). */
void wtl_report_text_recording_self(const struct wtl_report_text *text,
				    const struct wtl_report_self *self);

/* ---- recording_remarks.c ---- */

/* "idle power given: package-0: 60 W", where figures are not as they were recorded. */
bool wtl_report_text_has_policy(const struct wtl_recording_policy *policy);
void wtl_report_text_policy(const struct wtl_report_text *text,
			    const struct wtl_recording_policy *policy);
/* As a remark, if need be. */
void wtl_report_text_policy_remark(const struct wtl_report_text *text,
				   const struct wtl_recording *recording);

/* What is compared: "[1]", "run 1". */
struct wtl_report_text_several {
	const struct wtl_report *(*report)(const void *of, size_t i);
	const void *of;
	size_t n;
	const char *before, *after; /* the number from 1 */
};

/* Whether the recording is cut off, still being written, shown in part, or has gaps; label: raw. */
void wtl_report_text_file_remarks(const struct wtl_report_text *text, const char *label,
				  const struct wtl_recording *recording);
/* Which totals lack energy; and at which intensities the emissions
 * are. first: the first recording, NULL: there is none. */
void wtl_report_text_energy_remarks(const struct wtl_report_text *text,
				    const struct wtl_report_text_several *several);
void wtl_report_text_carbon_remarks(const struct wtl_report_text *text,
				    const struct wtl_report_text_several *several,
				    const struct wtl_recording *first);

#endif
