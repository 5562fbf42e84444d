/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_DESCRIBE_H
#define WTL_CLI_DESCRIBE_H

#include <stddef.h>
#include <stdint.h>

#include "document/report.h"

struct wattle_meter;
struct wtl_consumers;
struct wtl_settings;

/* A finished window as a report. */
struct wtl_attributed;

/* Of another machine: what its users are called ("": not known), and UTC when a process started that did so
 * long after the machine. */
struct wtl_naming {
	const char *(*user)(void *context, uint32_t uid);
	int64_t (*start_utc_ns)(void *context, int64_t start_ns);
	void *context;
};

struct wtl_description {
	struct wtl_report_domain *domains;
	struct wtl_report_attribution attribution;
	struct wtl_report_process *processes;
	struct wtl_attributed *attributed; /* what processes[] points to */
	struct wattle_energy *energies;
	const struct wtl_naming *naming; /* NULL: the settings' machine; borrowed */
	size_t n_domains;
	char notes_text[8][512];
	const char *notes[8];
	size_t n_notes;
};

int wtl_description_init(struct wtl_description *description, const struct wattle_meter *meter);
void wtl_description_done(struct wtl_description *description);
void wtl_description_fill(struct wtl_description *description, struct wattle_meter *meter);
/* attribute.c: who used it, the description having been filled; boot_utc_ns: UTC when the machine started,
 * by the clock that the report goes by (not used with a naming). 0 or -ENOMEM: then nobody did. */
int wtl_describe_attribution(struct wtl_description *description,
			     const struct wtl_settings *settings,
			     const struct wtl_consumers *consumers, int64_t boot_utc_ns);
/* What was lost on its way into that, as notes: exit records so many times, and so many processes. */
void wtl_describe_losses(struct wtl_description *description, uint64_t n_exits,
			 uint64_t n_unfollowed);
/* Of the first alone; 0: how often is not known. */
void wtl_describe_lost_exits(struct wtl_description *description, uint64_t n_times);
/* A note that UTC was set by so much in all, if it is worth one, and what is told as times then. */
void wtl_describe_clock_step(struct wtl_description *description, int64_t by_ns, const char *times);
/* Why the command has no account. */
void wtl_describe_no_command(struct wtl_description *description);
void wtl_describe_carbon(const struct wtl_settings *settings, const struct wattle_energy *total,
			 struct wtl_report_carbon *ret_carbon);
/* Rounds it up. */
void wtl_describe_carbon_uncertainty(struct wtl_report_carbon *carbon, double uncertainty_ug);
/* The highest resident memory of this process so far; 0: not known. */
uint64_t wtl_peak_memory_bytes(void);
void wtl_describe_self(struct wattle_meter *meter, struct wtl_report_self *ret_self);
/* What CPU time of that machine costs. */
void wtl_describe_cost(const struct wattle_meter *meter, int64_t cpu_ns,
		       struct wtl_report_self *ret_self);

#endif
