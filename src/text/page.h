/* SPDX-License-Identifier: MIT */
#ifndef WTL_TEXT_PAGE_H
#define WTL_TEXT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document/format.h"
#include "document/report.h"

struct wtl_buf;
struct wtl_grid;

/* The parts of the text format. All append and return 0 or the buffer's error. */

/* A command as one would type it, escaped; without one: `otherwise`, escaped as well. */
int wtl_page_words(struct wtl_buf *buf, char *const command[], const char *otherwise,
		   const struct wtl_output_style *style);

/* Cuts the title, which is what was appended since `start`, to the page, and ends it and a line. */
int wtl_page_end_title(struct wtl_buf *buf, size_t start, const struct wtl_output_style *style);

/* "wattle: COMMAND", or "this machine": the title of a report. */
int wtl_page_command(struct wtl_buf *buf, const struct wtl_report *report,
		     const struct wtl_output_style *style);

enum { WTL_PAGE_LABEL_COLUMNS = 10 };

/* The lines of the head that tell energy and power. */
void wtl_page_energy(struct wtl_buf *buf, const struct wtl_report *report,
		     const struct wtl_output_style *style);

/* "  energy   ": the label of a line of the head; and all of such a line, which was built aside, is
 * wrapped and then freed. */
void wtl_page_label(struct wtl_buf *buf, const char *label);
int wtl_page_line(struct wtl_buf *buf, const char *label, struct wtl_buf *line);

/* "412 ms of CPU, 5.2 MiB, ~ 2.1 ± 0.4 J": what measuring took itself. */
void wtl_page_own(struct wtl_buf *buf, const struct wtl_report_self *self,
		  const struct wtl_output_style *style);

/* The line of them: "wattle itself: …, 121 samples (2 late)". */
void wtl_page_self(struct wtl_buf *buf, const struct wtl_report_self *self,
		   const struct wtl_output_style *style);

/* A paragraph below the table. The bullet of what casts doubt on a figure is that of its row. */
enum wtl_page_bullet {
	WTL_PAGE_MODEL,	 /* ~ */
	WTL_PAGE_DOUBT,	 /* ! */
	WTL_PAGE_REMEDY, /* → */
	WTL_PAGE_NOTE,	 /* - */
};
int wtl_page_remark(struct wtl_buf *buf, enum wtl_page_bullet bullet, const char *escaped,
		    const struct wtl_output_style *style);

/* Does the total lack a domain that exists but has no figure? */
bool wtl_page_lacks(const struct wtl_report_domain *domain);

/* The name of domain i as a grid's cell, indented below the domains it lies inside. */
void wtl_page_name(struct wtl_grid *grid, const struct wtl_report_domain *domains, size_t n,
		   size_t i, const char *mark, const struct wtl_output_style *style);

/* "denied: energy_uj is readable by root only" as the last cell of a row. */
void wtl_page_no_figure(struct wtl_grid *grid, const struct wtl_report_domain *domain,
			const struct wtl_output_style *style);

/*
 * The domains in the order of the page, those inside others after them: visit() is called for each
 * whose outermost domain is (beside: is not) in the total.
 */
void wtl_page_walk(const struct wtl_report_domain *domains, size_t n, bool beside,
		   void (*visit)(void *context, size_t i), void *context);

enum wtl_page_beside { WTL_PAGE_NONE, WTL_PAGE_NO_FIGURES, WTL_PAGE_OPINIONS };
/* What there is beside the total, for its heading. */
enum wtl_page_beside wtl_page_beside(const struct wtl_report_domain *domains, size_t n);

/* Is any energy of the total modelled; is all of it? */
enum wtl_page_modelled { WTL_PAGE_MEASURED, WTL_PAGE_PARTLY, WTL_PAGE_MODELLED };
enum wtl_page_modelled wtl_page_modelled(const struct wtl_report_domain *domains, size_t n);
bool wtl_page_is_modelled(const struct wtl_report *report); /* is any? */

/* Is there energy that the total should have and has not: a domain without a figure, or a gap? */
bool wtl_page_incomplete(const struct wtl_report *report);

/* The table of domains, and the remarks on them and the report's notes. */
int wtl_page_domains(struct wtl_buf *buf, const struct wtl_report *report,
		     const struct wtl_output_style *style);
int wtl_page_remarks(struct wtl_buf *buf, const struct wtl_report *report,
		     const struct wtl_output_style *style);

/* The lines of the head that tell what the command used, and what the machine draws at idle (as
 * learned by t_utc_ns). Nothing where that is not known. */
int wtl_page_command_energy(struct wtl_buf *buf, const struct wtl_report *report,
			    const struct wtl_output_style *style);
/* Does the command's line tell its CPU time? */
bool wtl_page_tells_cpu(const struct wtl_report *report);
int wtl_page_idle(struct wtl_buf *buf, const struct wtl_report_domain *domains, size_t n,
		  int64_t t_utc_ns, const struct wtl_output_style *style);

/* The table of accounts and that of processes, each after an empty line; nothing where there is
 * nothing to tell. The report's ledgers have been checked. */
int wtl_page_ledger(struct wtl_buf *buf, const struct wtl_report *report,
		    const struct wtl_output_style *style);
int wtl_page_processes(struct wtl_buf *buf, const struct wtl_report *report,
		       const struct wtl_output_style *style);

/* "~ 1.23 ± 0.04 g CO2e at ": the intensity is to follow. The ~ is the energy's. */
int wtl_page_emitted(struct wtl_buf *buf, const struct wtl_report *report,
		     const struct wtl_output_style *style);
/* "380 g/kWh (DEU, data set, 2023)": one that does not change, and whose figure it is. */
void wtl_page_intensity(struct wtl_buf *buf, const struct wtl_report_carbon *carbon,
			const struct wtl_output_style *style);
/* "with PUE 1.25" */
void wtl_page_add_pue(struct wtl_buf *buf, uint32_t pue_milli);
/* The line after that of the emissions: with PUE. Nothing where none was given. */
int wtl_page_pue(struct wtl_buf *buf, const struct wtl_report_carbon *carbon,
		 const struct wtl_output_style *style);
/* Both for an intensity that does not change: what, where, whose figures. */
int wtl_page_carbon(struct wtl_buf *buf, const struct wtl_report *report,
		    const struct wtl_output_style *style);

/* How a run ended, if not well: "exit status 3", "killed by SIGKILL". False: well. */
bool wtl_page_end(struct wtl_buf *buf, const struct wtl_report *report);
/* That as a line of the head; nothing where it ended well. */
int wtl_page_end_line(struct wtl_buf *buf, const struct wtl_report *report);
/* ", CPU time 1.2 s, peak memory 5.1 MiB": what is known of the command beside energy. */
void wtl_page_usage(struct wtl_buf *buf, const struct wtl_report *report,
		    const struct wtl_output_style *style);

/* Cells of a table. Heading: `before` and the unit in brackets. */
void wtl_page_add_unit(struct wtl_grid *grid, const char *before, enum wtl_format_quantity quantity,
		       unsigned scale, const struct wtl_output_style *style);
/* Two cells: a figure and its ±, which is empty where it is 0; or "-" and nothing. */
void wtl_page_add_measure(struct wtl_grid *grid, uint64_t micro, uint64_t uncertainty_micro,
			  bool is_modelled, unsigned scale, const struct wtl_output_style *style);
void wtl_page_add_nothing(struct wtl_grid *grid);
void wtl_page_add_uncertainty(struct wtl_grid *grid, uint64_t micro, unsigned last_digit,
			      unsigned scale, const struct wtl_output_style *style);
/* To the millisecond, in seconds. */
void wtl_page_add_seconds(struct wtl_grid *grid, int64_t duration_ns);
/* The mean power in watts, or an empty cell. */
void wtl_page_add_mean(struct wtl_grid *grid, const struct wattle_energy *energy);

/* What the two kinds of ± on a page of runs are; NULL: their emissions share no intensity's ±. */
int wtl_page_legend(struct wtl_buf *buf, const struct wtl_report_carbon *carbon,
		    const struct wtl_output_style *style);

/* The table of statistics over runs: its heading, and a row; unit NULL: that of the quantity. */
void wtl_page_begin_statistics(struct wtl_grid *grid, const struct wtl_output_style *style);
void wtl_page_add_statistics(struct wtl_grid *grid, const char *name,
			     const struct wtl_statistics *of, enum wtl_format_quantity quantity,
			     const char *unit, bool modelled, const struct wtl_output_style *style);

int wtl_page_doctor(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style);

#endif
