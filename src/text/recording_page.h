/* SPDX-License-Identifier: MIT */
#ifndef WTL_TEXT_RECORDING_PAGE_H
#define WTL_TEXT_RECORDING_PAGE_H

#include "document/recording.h"

/* The parts of the text format for recordings. All append and return 0 or the buffer's error. */

/* clock.c: "2026-11-21 14:57:37", in the time zone of this machine; and the zone's name. */
int wtl_page_local(struct wtl_buf *buf, int64_t t_utc_ns);
int wtl_page_local_clock(struct wtl_buf *buf, int64_t t_utc_ns);  /* "14:57:37" */
int wtl_page_local_minute(struct wtl_buf *buf, int64_t t_utc_ns); /* "2026-11-21 14:57" */
int wtl_page_zone(struct wtl_buf *buf, int64_t t_utc_ns);
bool wtl_page_is_same_day(int64_t a_utc_ns, int64_t b_utc_ns);

/* What recorded it, where, and what is not whole. */
int wtl_page_recording(struct wtl_buf *buf, const struct wtl_recording *recording,
		       const struct wtl_output_style *style);

/* Tables, each after an empty line; nothing where there is nothing to tell. */
int wtl_page_grouping(struct wtl_buf *buf, const struct wtl_recording *recording,
		      const struct wtl_recording_grouping *grouping,
		      const struct wtl_output_style *style);
int wtl_page_windows(struct wtl_buf *buf, const struct wtl_recording *recording,
		     const struct wtl_output_style *style);
int wtl_page_gaps(struct wtl_buf *buf, const struct wtl_recording *recording,
		  const struct wtl_output_style *style);

/* The last line: "recording took 10.3 ms of CPU, 5.7 MiB". */
void wtl_page_recording_self(struct wtl_buf *buf, const struct wtl_report_self *self,
			     const struct wtl_output_style *style);

/* "idle power given: package-0: 60 W". False: figures are as they were recorded. */
bool wtl_page_policy(struct wtl_buf *line, const struct wtl_recording_policy *policy,
		     const struct wtl_output_style *style);

/* ---- recording_remarks.c: why figures of several are not to be compared as they stand ---- */

/* What is compared: "[1]", "run 1". */
struct wtl_page_several {
	const struct wtl_report *(*report)(const void *of, size_t i);
	const void *of;
	size_t n;
	const char *before, *after; /* the number from 1 */
};

/* Cut off, still being recorded, a part, with gaps; label: raw. */
void wtl_page_file_remarks(struct wtl_buf *buf, const char *label,
			   const struct wtl_recording *recording,
			   const struct wtl_output_style *style);
void wtl_page_policy_remark(struct wtl_buf *buf, const struct wtl_recording *recording,
			    const struct wtl_output_style *style);
/* Which totals lack what; and whose intensity the emissions are at, or that these are several. first: of
 * the recordings, NULL: there is none. */
void wtl_page_energy_remarks(struct wtl_buf *buf, const struct wtl_page_several *several,
			     const struct wtl_output_style *style);
void wtl_page_carbon_remarks(struct wtl_buf *buf, const struct wtl_page_several *several,
			     const struct wtl_recording *first,
			     const struct wtl_output_style *style);

#endif
