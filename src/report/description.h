/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPORT_DESCRIPTION_H
#define WTL_REPORT_DESCRIPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "document/report.h"
#include "energy/intensity.h"

struct wtl_kept_calibration;
struct wtl_attributed;
struct wtl_consumers;

/* A finished window as a report, whether a meter has just measured it or a recording
 * was played. What differs between the two is in struct wtl_report_source. */

/* User names (at least 40 characters of room), and UTC of a process's
 * start, which is given since the machine's start; 0: not known. */
struct wtl_naming {
	void (*user)(void *context, uint32_t uid, char *name, size_t size);
	int64_t (*start_utc_ns)(void *context, int64_t start_ns);
	void *context;
};

/* Where the energy was used. */
struct wtl_report_place {
	struct wattle_carbon carbon;
	bool is_default;    /* no location is known: world average */
	uint32_t pue_milli; /* 0: not known */
};

struct wtl_report_source {
	struct wattle_meter *meter;
	const struct wtl_consumers *consumers; /* NULL: nobody was followed */
	const char *no_consumers;	       /* why; may be NULL */
	struct wtl_naming naming;
	struct wtl_report_place place;
	unsigned top; /* consumers to list */
	const struct wtl_kept_calibration
		*wall; /* what was recorded; NULL: the meter's, if there is one */
};

/* What a report points to. */
struct wtl_description {
	struct wtl_report_domain *domains;
	struct wtl_report_attribution attribution;
	struct wtl_report_process *processes;
	struct wtl_attributed *attributed; /* what processes[] points to */
	struct wattle_energy *energies;
	size_t n_domains;
	char notes_text[8][512];
	const char *notes[8];
	size_t n_notes;
};

/* 0 or -ENOMEM. */
int wtl_description_init(struct wtl_description *description, const struct wattle_meter *meter);
void wtl_description_done(struct wtl_description *description);

/* Fills the domains alone, from description->energies. */
void wtl_description_fill(struct wtl_description *description, struct wattle_meter *meter);
/*
 * Fills all of a report whose window is set, from description->energies: domains, who used it, and
 * carbon. Later notes get into the report by wtl_description_end(). 0 or -ENOMEM: then nobody used it.
 */
int wtl_description_report(struct wtl_description *description,
			   const struct wtl_report_source *source, struct wtl_report *report);
void wtl_description_end(struct wtl_description *description, struct wtl_report *report);

/* attribution.c: who used the energy, after the domains were filled. 0 or -ENOMEM. */
int wtl_describe_attribution(struct wtl_description *description,
			     const struct wtl_report_source *source);

/* ---- Notes ---- */

/* Why the domain's counter is read coarsely; NULL: it is not (wtl_rapl_is_coarse()). */
const char *wtl_describe_coarse(const struct wattle_meter *meter, size_t domain);

void wtl_describe_note(struct wtl_description *description, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Notes what the attribution lost: how many times exit records, and how many processes. */
void wtl_describe_losses(struct wtl_description *description, uint64_t n_exits,
			 uint64_t n_unfollowed);
/* Exit records alone; 0: not known how many times. */
void wtl_describe_lost_exits(struct wtl_description *description, uint64_t n_times);
/* Notes that UTC was set by so much in all, unless that is too little; times: which times the report has then. */
void wtl_describe_clock_step(struct wtl_description *description, int64_t by_ns, const char *times);
/* Notes why the command has no account. */
void wtl_describe_no_command(struct wtl_description *description);

/* ---- Parts of a report ---- */

void wtl_describe_carbon(const struct wtl_report_place *place, const struct wattle_energy *total,
			 struct wtl_report_carbon *ret_carbon);
/* The same for an intensity that changed over time, from a file without a ±. */
void wtl_describe_emission(const struct wtl_report_place *place, const char *file,
			   const struct wtl_emission *emission, const struct wattle_energy *total,
			   struct wtl_report_carbon *ret_carbon);
/* The highest resident memory of this process so far; 0: not known. */
uint64_t wtl_peak_memory_bytes(void);
/* CPU time of this process so far. */
int64_t wtl_describe_self_cpu_ns(void);
void wtl_describe_self(struct wattle_meter *meter, struct wtl_report_self *ret_self);
/* The energy of CPU time on that machine. */
void wtl_describe_cost(const struct wattle_meter *meter, int64_t cpu_ns,
		       struct wtl_report_self *ret_self);

#endif
