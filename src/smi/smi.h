/* SPDX-License-Identifier: MIT */
#ifndef WTL_SMI_SMI_H
#define WTL_SMI_SMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "energy/gpu.h"
#include "document/report.h"

struct wtl_buf;

/*
 * The machine output of nvidia-smi, for GPUs of any maker: CSV, XML, and the columns of dmon and
 * pmon, as drivers 535 to 610 print them. What is not known is "[N/A]" ("N/A" in XML, "-" in
 * columns); a GPU that was lost, a lack of permission and a failure have the words that nvidia-smi
 * has for them. Text from outside is escaped.
 */

/* What the meter knows of a GPU and nvidia-smi does not. k = 2. */
struct wtl_look_meter {
	bool has_energy, has_power;
	uint64_t energy_uj, energy_uncertainty_uj; /* since the first look */
	uint64_t power_uw, power_uncertainty_uw;   /* mean since the last look */
};

/* The GPUs and the other domains at one moment. Borrowed. */
struct wtl_look {
	const struct wtl_gpu *gpus; /* those asked for */
	size_t n_gpus;
	size_t n_attached;		     /* all that there are */
	const struct wtl_look_meter *meters; /* one a GPU; NULL: the meter was not asked */
	const struct wtl_report_domain *domains;
	const struct wtl_look_meter *domain_meters; /* one a domain */
	size_t n_domains;
	const char *driver, *cuda; /* versions; "" where not known */
	int64_t t_utc_ns;
	/* Who runs a process; NULL: not known. */
	const char *(*user)(void *context, const struct wtl_gpu_process *process);
	void *user_context;
	const char *trouble; /* why NVIDIA's GPUs cannot be asked; "" for none */
};

/* ---- --query-…: chosen fields as CSV ---- */

struct wtl_smi_field; /* smi/field.h */

/* One option with its fields, ended by one without a kind. */
struct wtl_smi_query {
	const char *option; /* "--query-gpu" */
	const char *about;  /* a row is … */
	const struct wtl_smi_field *fields;
};

extern const struct wtl_smi_query wtl_smi_query_gpu;  /* a row a GPU */
extern const struct wtl_smi_query wtl_smi_query_apps; /* a row a process that computes */
/* A row a process of the driver's accounts: there are none, as with accounting mode off. */
extern const struct wtl_smi_query wtl_smi_query_accounted;
extern const struct wtl_smi_query wtl_smi_query_domain; /* a row an energy domain: wattle's own */

/* By name or alias (`len` bytes), or NULL. */
const struct wtl_smi_field *wtl_smi_field_find(const struct wtl_smi_query *query, const char *name,
					       size_t len);

enum { WTL_SMI_COLUMNS_MAX = 1024 };

struct wtl_smi_columns {
	const struct wtl_smi_query *query;
	const struct wtl_smi_field *fields[WTL_SMI_COLUMNS_MAX];
	size_t n;
	bool header, units; /* of the format: whether to print them */
};

/* A list such as "index,power.draw". -EINVAL: *ret_bad and *ret_bad_len are the word that is no field
 * (it may be empty). -E2BIG past WTL_SMI_COLUMNS_MAX. */
int wtl_smi_columns_parse(const struct wtl_smi_query *query, const char *list,
			  struct wtl_smi_columns *ret_columns, const char **ret_bad,
			  size_t *ret_bad_len);
bool wtl_smi_columns_need_meter(const struct wtl_smi_columns *columns);

/* All that follows append to the buffer and return 0 or its error. */

int wtl_smi_header(struct wtl_buf *buf, const struct wtl_smi_columns *columns);
int wtl_smi_rows(struct wtl_buf *buf, const struct wtl_smi_columns *columns,
		 const struct wtl_look *look);
/* The names of its fields that may be known, a blank before each. */
void wtl_smi_offer(struct wtl_buf *buf, const struct wtl_smi_query *query);
/* What --help-query-… prints. */
int wtl_smi_help(struct wtl_buf *buf, const struct wtl_smi_query *query);

/* ---- The other forms ---- */

/* -L */
int wtl_smi_list(struct wtl_buf *buf, const struct wtl_look *look);
/* -q: all fields as text, with the titles of the driver (590 to 610); or those of some sections (bits; 0: all) */
int wtl_smi_log(struct wtl_buf *buf, const struct wtl_look *look, unsigned sections);
/* What -d takes, ended by NULL, and the bits of a list such as "POWER,clock". -EINVAL: *ret_bad and
 * *ret_bad_len are the word that is no section. */
extern const char *const wtl_smi_section_names[];
int wtl_smi_sections_parse(const char *list, unsigned *ret_sections, const char **ret_bad,
			   size_t *ret_bad_len);
/* Is this title in one of the sections? For what takes a read of its own. */
bool wtl_smi_sections_have(unsigned sections, const char *title);
/* -q -x: one document in the shape of nvsmi_device_v12.dtd */
int wtl_smi_xml(struct wtl_buf *buf, const struct wtl_look *look);

/* dmon and pmon */
struct wtl_smi_mon {
	bool processes;	    /* pmon */
	const char *select; /* letters: dmon "pucvmet", pmon "um" */
	bool date, time;
};

/* The first letter of `select` that the monitor does not know, or 0. */
char wtl_smi_mon_check(const struct wtl_smi_mon *mon);
/* Finds a column of dmon by its title: one in the column is *ret_unit in the number. false: it has no known one. */
bool wtl_smi_mon_column(const char *title, size_t len, enum wtl_gpu_number *ret_number,
			uint64_t *ret_unit);
int wtl_smi_mon_header(struct wtl_buf *buf, const struct wtl_smi_mon *mon);
int wtl_smi_mon_rows(struct wtl_buf *buf, const struct wtl_smi_mon *mon,
		     const struct wtl_look *look);

/* ---- wattle's own forms ---- */

/* One line a GPU, and one for the rest. */
int wtl_look_lines(struct wtl_buf *buf, const struct wtl_look *look,
		   const struct wtl_output_style *style);
/* "wattle.query/1": everything. */
void wtl_look_doc(struct wtl_doc *doc, const struct wtl_look *look);

#endif
