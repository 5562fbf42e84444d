/* SPDX-License-Identifier: MIT */
#ifndef WTL_TEXT_REPORT_TEXT_H
#define WTL_TEXT_REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document/format.h"
#include "document/report.h"
#include "text/layout.h"

/* A report as text, while it is written. Failures stick in the buffer. */
struct wtl_report_text {
	struct wtl_buf *buf;
	const struct wtl_output_style *style;
	struct wtl_report_text_choice *choice; /* NULL: every remark stays */
};

/* One remark of many: the first of the gravest kind is the best. */
struct wtl_report_text_choice {
	size_t n, best;	    /* remarks so far, and which of them is the best (if n > 0) */
	size_t wanted;	    /* only this one stays; SIZE_MAX: none */
	unsigned best_rank; /* of the best one */
	size_t begin;	    /* where the latest begins */
	size_t of;	    /* with one that stays: how many remarks there are */
};

/* ---- Words (parts.c) ---- */

/* Domains of a report that have something in common; `what` is for has(). */
struct wtl_report_text_names {
	const struct wtl_report *report;
	bool (*has)(const struct wtl_report_domain *domain, const void *what);
	const void *what;
};

/* Is there any such domain? */
bool wtl_report_text_any(const struct wtl_report_text_names *names);

/*
 * Appends text with values in it, of exactly these types: %s text from outside, which is escaped; %w wattle's own
 * words; %u uint64_t; %z size_t; %t int64_t, a duration; %N const struct wtl_report_text_names *: "package-0, package-1
 * and 6 more". A NULL string is "".
 */
void wtl_report_text_put(const struct wtl_report_text *text, const char *format, ...);

/* "wattle: COMMAND" as the title, and the command as one would type it. Without a command: `otherwise`, escaped. */
void wtl_report_text_title(const struct wtl_report_text *text, char *const command[],
			   const char *otherwise);
void wtl_report_text_words(const struct wtl_report_text *text, char *const command[],
			   const char *otherwise);
/* Cuts the title, which is what was appended since `start`, to the width, and ends it and a line. */
void wtl_report_text_end_title(const struct wtl_report_text *text, size_t start);

/* A line of the head: its label ("  energy  "), then, after the rest of it, the end, which wraps it. */
size_t wtl_report_text_begin_line(const struct wtl_report_text *text, const char *label);
void wtl_report_text_end_line(const struct wtl_report_text *text, size_t start);

/* A paragraph below the table. Doubt about a figure has the same sign as the figure's row. */
enum wtl_report_text_bullet {
	WTL_TEXT_MODEL,	 /* ~ */
	WTL_TEXT_DOUBT,	 /* ! */
	WTL_TEXT_REMEDY, /* → */
	WTL_TEXT_NOTE,	 /* - */
};
size_t wtl_report_text_begin_remark(const struct wtl_report_text *text,
				    enum wtl_report_text_bullet bullet);
void wtl_report_text_end_remark(const struct wtl_report_text *text, size_t start);
/* A whole remark. It formats like wtl_report_text_put(). */
void wtl_report_text_remark(const struct wtl_report_text *text, enum wtl_report_text_bullet bullet,
			    const char *format, ...);
/* A paragraph of remarks begins with an empty line, which is removed again if no remark followed. */
size_t wtl_report_text_begin_remarks(const struct wtl_report_text *text);
void wtl_report_text_end_remarks(const struct wtl_report_text *text, size_t start);

/* ---- What the pages of reports share (parts.c) ---- */

/* Is any energy of the total modelled; is all of it? */
enum wtl_report_text_modelled { WTL_TEXT_MEASURED, WTL_TEXT_PARTLY, WTL_TEXT_MODELLED };
enum wtl_report_text_modelled wtl_report_text_modelled(const struct wtl_report *report);
bool wtl_report_text_is_modelled(const struct wtl_report *report); /* is any? */

/* Does the total lack the domain, which has no figure? Does it lack a stretch of time of it? */
bool wtl_report_text_lacks(const struct wtl_report_domain *domain, const void *unused);
bool wtl_report_text_has_gap(const struct wtl_report_domain *domain, const void *unused);
/* Does the total lack any energy that it should have? */
bool wtl_report_text_incomplete(const struct wtl_report *report);

/* "412 ms of CPU, 5.2 MiB, ~ 2.1 ± 0.4 J": what measuring itself took. */
void wtl_report_text_own(const struct wtl_report_text *text, const struct wtl_report_self *self);

/* Cells of a table. Heading: `before` and the unit in brackets. */
void wtl_report_text_add_unit(struct wtl_grid *grid, const char *before,
			      enum wtl_format_quantity quantity, unsigned scale);
/* Two cells: a figure and its ±, which is empty where it is 0; or "-" and nothing. */
void wtl_report_text_add_measure(struct wtl_grid *grid, uint64_t micro, uint64_t uncertainty_micro,
				 bool is_modelled, unsigned scale);
void wtl_report_text_add_nothing(struct wtl_grid *grid);
void wtl_report_text_add_uncertainty(struct wtl_grid *grid, uint64_t micro, unsigned last_digit,
				     unsigned scale);
/* A window's energy and ±, or nothing. */
void wtl_report_text_add_energy(struct wtl_grid *grid, const struct wattle_energy *energy,
				bool is_modelled, unsigned scale);
/* To the millisecond, in seconds. */
void wtl_report_text_add_seconds(struct wtl_grid *grid, int64_t duration_ns);
/* The mean power in watts, or an empty cell. */
void wtl_report_text_add_mean(struct wtl_grid *grid, const struct wattle_energy *energy);

/* ---- Lines of a report's head and below (report.c) ---- */

/* The remark of a report that matters most, if it has any (run.c). */
void wtl_report_text_best_remark(const struct wtl_report_text *text,
				 const struct wtl_report *report);
/* "226 ± 22 J dynamic, 1321 J full": what the command used (users.c). False: it is not known. */
bool wtl_report_text_command_share(const struct wtl_report_text *text,
				   const struct wtl_report *report);
void wtl_report_text_energy(const struct wtl_report_text *text, const struct wtl_report *report);
/* "177 ± 14 W": the mean power of a total that has one. */
void wtl_report_text_mean_power(const struct wtl_report_text *text,
				const struct wattle_energy *total);
void wtl_report_text_time(const struct wtl_report_text *text, const struct wtl_report *report);
/* The last line: "wattle itself: …, 121 samples (2 late)". */
void wtl_report_text_self(const struct wtl_report_text *text, const struct wtl_report_self *self);
/* Domains, ledger and processes, what is remarked on them, and what wattle itself used (run.c). */
void wtl_report_text_tables(const struct wtl_report_text *text, const struct wtl_report *report);
/* "~ 1.23 ± 0.04 g CO2e at ", for an intensity to follow. ~: the energy is modelled. */
void wtl_report_text_emitted(const struct wtl_report_text *text, const struct wtl_report *report);
/* "380 g/kWh (DEU, data set, 2023)": an intensity that does not change, and its source. */
void wtl_report_text_intensity(const struct wtl_report_text *text,
			       const struct wtl_report_carbon *carbon);
/* The same up to the place: "380 g/kWh (DEU". */
void wtl_report_text_place(const struct wtl_report_text *text,
			   const struct wtl_report_carbon *carbon);
/* "with PUE 1.25" */
void wtl_report_text_add_pue(struct wtl_buf *buf, uint32_t pue_milli);
/* The line after that of the emissions: with PUE. Nothing where none was given. */
void wtl_report_text_pue(const struct wtl_report_text *text,
			 const struct wtl_report_carbon *carbon);
/* The lines of the emissions at an intensity that does not change: that of "carbon", of PUE and of the SCI. */
void wtl_report_text_carbon(const struct wtl_report_text *text, const struct wtl_report *report);
/* How a run ended, if not well: "exit status 3", "killed by SIGKILL". False: well. */
bool wtl_report_text_end(struct wtl_buf *buf, const struct wtl_report *report);
/* That as a line of the head; nothing where it ended well. */
void wtl_report_text_ended(const struct wtl_report_text *text, const struct wtl_report *report);
/* ", CPU time 1.2 s, peak memory 5.1 MiB": what is known of the command beside energy. */
void wtl_report_text_usage(const struct wtl_report_text *text, const struct wtl_report *report);

/* What the machine draws at idle, as learned by t_utc_ns (idle.c). Nothing where that is not known. */
void wtl_report_text_idle(const struct wtl_report_text *text,
			  const struct wtl_report_domain *domains, size_t n, int64_t t_utc_ns);

/* ---- Domains (domains.c) ---- */

/* The name of domain i as a grid's cell, indented below the domains it lies inside. */
void wtl_report_text_name(struct wtl_grid *grid, const struct wtl_report_domain *domains, size_t n,
			  size_t i, const char *mark);
/* "denied: energy_uj is readable by root only" as the last cell of a row. */
void wtl_report_text_no_figure(struct wtl_grid *grid, const struct wtl_report_domain *domain);
/*
 * The domains in the order of the text, those inside others after them: visit() is called for each
 * whose outermost domain is (beside: is not) in the total.
 */
void wtl_report_text_walk(const struct wtl_report_domain *domains, size_t n, bool beside,
			  void (*visit)(void *context, size_t i), void *context);
enum wtl_report_text_beside { WTL_TEXT_NONE, WTL_TEXT_NO_FIGURES, WTL_TEXT_OPINIONS };
/* What is listed beside the total, for the heading of those rows. */
enum wtl_report_text_beside wtl_report_text_beside(const struct wtl_report_domain *domains,
						   size_t n);

/* The remarks on a report's figures, and its notes (remarks.c). */
void wtl_report_text_remarks(const struct wtl_report_text *text, const struct wtl_report *report);

/* ---- Tables: each after an empty line; left out if it has no rows ---- */

void wtl_report_text_domains(const struct wtl_report_text *text, const struct wtl_report *report);
/* The report's ledgers have been checked. */
void wtl_report_text_ledger(const struct wtl_report_text *text, const struct wtl_report *report);
void wtl_report_text_processes(const struct wtl_report_text *text, const struct wtl_report *report);
/* The lines of the head that say what the command used (users.c, as processes). */
void wtl_report_text_command_energy(const struct wtl_report_text *text,
				    const struct wtl_report *report);
/* Is the command's CPU time in its line? */
bool wtl_report_text_tells_cpu(const struct wtl_report *report);

/* ---- Runs (series.c) ---- */

/* How it ended as a cell. */
void wtl_report_text_add_end(struct wtl_grid *grid, const struct wtl_report *report);

/* Explains the two kinds of ± in a report of runs. carbon: whose intensity has the same ± in all runs, or NULL. */
void wtl_report_text_legend(const struct wtl_report_text *text,
			    const struct wtl_report_carbon *carbon);

/* The table of statistics over runs: its heading, and the row of a figure. */
void wtl_report_text_begin_statistics(struct wtl_grid *grid, const struct wtl_output_style *style);
void wtl_report_text_add_figure(struct wtl_grid *grid,
				const struct wtl_statistics of[WTL_RUN_FIGURES], size_t figure,
				bool modelled);

int wtl_report_text_doctor(struct wtl_buf *buf, const void *what,
			   const struct wtl_output_style *style);

#endif
