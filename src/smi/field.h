/* SPDX-License-Identifier: MIT */
#ifndef WTL_SMI_FIELD_H
#define WTL_SMI_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "smi/smi.h"

/*
 * A field is one row of a table (table.c): where its value lies, how it is written, and what it is
 * called in each form: a column of CSV, a title of -q, an element of the XML, a key of wattle's JSON.
 * The writers and the readers walk these rows.
 */

/* What a row of output is about. */
struct wtl_smi_row {
	const struct wtl_look *look;
	const struct wtl_gpu *gpu;
	const struct wtl_gpu_process *process;
	const struct wtl_gpu_mig *mig;
	const struct wtl_report_domain *domain;
	const struct wtl_look_meter *meter; /* of the GPU or the domain */
};

/* A day as text, and when it begins: most times are of the same one as the time before. */
struct wtl_smi_day {
	char text[10];
	int64_t ns;
};

enum { WTL_SMI_TIMESTAMP_LEN = 23 }; /* "2026/07/03 22:11:09.916" */

/* What a reader fills in. */
struct wtl_smi_target {
	struct wtl_gpu *gpu;
	struct wtl_gpu_process *process;
	struct wtl_gpu_mig *mig;
	int64_t *t_local_ns; /* local time, since 1970 */
	struct wtl_smi_day *day;
};

/* The status of a value, and NVML's own code for it (struct wtl_gpu_value). */
struct wtl_smi_answer {
	enum wattle_status status;
	int code;
};

enum { WTL_SMI_DEPRECATED = 26 };

static inline struct wtl_smi_answer wtl_smi_answer(enum wattle_status status)
{
	return (struct wtl_smi_answer){.status = status};
}

/* How a number is written. */
enum wtl_smi_form {
	WTL_SMI_NO_NUMBER, /* see text() and print() of the kind */
	WTL_SMI_DECIMAL,   /* divided by `unit` */
	WTL_SMI_SIGNED,	   /* an int64_t */
	WTL_SMI_HEX,	   /* of at least `digits` */
	WTL_SMI_FIXED,	   /* millionths, with `digits` decimals */
	WTL_SMI_WORD,	   /* one of `words`, from 0 */
};

enum wtl_smi_json {
	WTL_SMI_JSON_COUNT,
	WTL_SMI_JSON_SIGNED,
	WTL_SMI_JSON_MILLIONTHS,
	WTL_SMI_JSON_NANOSECONDS,
	WTL_SMI_JSON_FLAG,
	WTL_SMI_JSON_WORD,
	WTL_SMI_JSON_REASONS, /* bits of enum wtl_gpu_throttle */
	WTL_SMI_JSON_HEX,
};

struct wtl_smi_kind {
	enum wtl_smi_form form;
	enum wtl_smi_json json;
	uint64_t unit;
	unsigned digits;
	bool rounds_up;		       /* of DECIMAL; else cut */
	bool rounds;		       /* of FIXED; else cut */
	bool is_small;		       /* small letters of HEX */
	const char *prefix;	       /* of DECIMAL; NULL: none */
	const char *const *words;      /* ended by NULL */
	const char *const *json_words; /* NULL: the words in small letters, joined by hyphens */
	bool of_meter;		       /* the meter has to be asked */

	/* A text; NULL or "" where there is none. */
	const char *(*text)(const struct wtl_smi_row *row, const struct wtl_smi_field *field);
	bool may_be_empty; /* "" is a text */
	bool with_number;  /* known where the field's number is */

	/* For what is neither number nor text: appends the value
	 * without its unit and answers OK, or appends nothing. */
	struct wtl_smi_answer (*print)(struct wtl_buf *buf, const struct wtl_smi_row *row,
				       const struct wtl_smi_field *field);
	/* Reads a value without its unit: 0 or -EINVAL. NULL: it is of no use to a reader. */
	int (*read)(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		    const char *text, size_t len);
};

/* Where a number lies. */
enum wtl_smi_place {
	WTL_SMI_ELSEWHERE, /* the kind knows */
	WTL_SMI_NUMBER,	   /* in numbers[] of the GPU */
	WTL_SMI_U32,	   /* at an offset; the greatest means unknown, as in U64 */
	WTL_SMI_U64,
	WTL_SMI_INT,	 /* positive, or unknown */
	WTL_SMI_ADDRESS, /* a uint32_t that is known where the GPU's bus_id is */
};

enum wtl_smi_object { WTL_SMI_OF_GPU, WTL_SMI_OF_PROCESS, WTL_SMI_OF_MIG };

/* When -q and -x show a field. */
enum wtl_smi_when {
	WTL_SMI_ALWAYS,
	WTL_SMI_BLACKWELL, /* always, but as unknown of older GPUs */
	WTL_SMI_SRAM,	   /* not of GPUs before Ampere, which have fewer counts */
	WTL_SMI_OLD_SRAM,  /* of those only */
	WTL_SMI_REMAPPED,  /* of GPUs that remap rows */
	WTL_SMI_NOT_REMAPPED,
	WTL_SMI_MARGIN, /* of GPUs that know how far they are below their temperature limits */
	WTL_SMI_NO_MARGIN,
};

struct wtl_smi_field {
	const char *name;  /* the column; NULL: CSV does not have it */
	const char *alias; /* another name; NULL: none */
	const char *unit;  /* NULL: none */
	const struct wtl_smi_kind *kind;
	enum wtl_smi_place place;
	enum wtl_smi_object object;
	unsigned number;     /* enum wtl_gpu_number; or the kind's own */
	uint64_t mask;	     /* the bits of the number that are meant; 0: all */
	size_t offset, size; /* in the object; size: of a text */
	const char *unknown; /* in CSV instead of "[N/A]"; NULL: that */
	const char *doc; /* for --help-query-…; NULL: accepted as nvidia-smi does, never known */
	const char *key; /* of the JSON; NULL: it does not have it, or under another field */

	/* In -q and -x; NULL: not there. Folders are separated by slashes. Blanks before a title
	 * indent it. */
	const char *title, *element;
	const char *older;  /* an element of other drivers, which is read, not written */
	const char *suffix; /* after the value instead of a blank and the unit */
	enum wtl_smi_when when;
	unsigned title_since;	  /* the driver that has the title; 0: all */
	const char *title_of_610; /* from that driver on; NULL: the same */

	unsigned help; /* a part of --help-query-gpu begins here; parts come in the order of their
			  numbers, which is that of nvidia-smi's list */
};

/* Fields of a GPU (the same as wtl_smi_query_gpu's), of a process and of a MIG instance, in the order of
 * -q. */
extern const struct wtl_smi_field wtl_smi_gpu_fields[], wtl_smi_process_fields[],
	wtl_smi_mig_fields[];

/* Kinds that the table does not describe. */
extern const struct wtl_smi_kind wtl_smi_none;	     /* wattle has no source for it */
extern const struct wtl_smi_kind wtl_smi_deprecated; /* NVIDIA withdrew it */
extern const struct wtl_smi_kind wtl_smi_timestamp;
extern const struct wtl_smi_kind wtl_smi_driver;
extern const struct wtl_smi_kind wtl_smi_count;
extern const struct wtl_smi_kind wtl_smi_bus_id;
extern const struct wtl_smi_kind wtl_smi_text;	      /* of a GPU */
extern const struct wtl_smi_kind wtl_smi_number_text; /* known where a number is; not empty */
extern const struct wtl_smi_kind wtl_smi_chassis;     /* known where a number is */
extern const struct wtl_smi_kind wtl_smi_process_type;
extern const struct wtl_smi_kind wtl_smi_process_name;
extern const struct wtl_smi_kind wtl_smi_process_title;		  /* the name, or nothing at all */
extern const struct wtl_smi_kind wtl_smi_migs, wtl_smi_processes; /* lists, in -q and -x only */
extern const struct wtl_smi_kind wtl_smi_meter;			  /* number: enum wtl_smi_metered */
extern const struct wtl_smi_kind wtl_smi_domain_text; /* number: enum wtl_smi_domain_word */
extern const struct wtl_smi_kind wtl_smi_sum;	      /* number: enum wtl_smi_sum */

enum wtl_smi_metered {
	WTL_SMI_ENERGY,
	WTL_SMI_ENERGY_UNCERTAINTY,
	WTL_SMI_POWER,
	WTL_SMI_POWER_UNCERTAINTY,
};

enum wtl_smi_sum { WTL_SMI_SUM_CPU, WTL_SMI_SUM_DRAM, WTL_SMI_SUM_TOTAL };

enum wtl_smi_domain_word {
	WTL_SMI_DOMAIN_NAME,
	WTL_SMI_DOMAIN_KIND,
	WTL_SMI_DOMAIN_INSIDE,
	WTL_SMI_DOMAIN_DEVICE,
	WTL_SMI_DOMAIN_SOURCE,
	WTL_SMI_DOMAIN_METHOD,
	WTL_SMI_DOMAIN_STATUS,
	WTL_SMI_DOMAIN_REASON,
	WTL_SMI_DOMAIN_IN_TOTAL,
};

/* Is this the end of a table? */
static inline bool wtl_smi_is_end(const struct wtl_smi_field *field)
{
	return !field->kind;
}

/* Appends a field's value without its unit and answers OK, or appends nothing. */
struct wtl_smi_answer wtl_smi_print(struct wtl_buf *buf, const struct wtl_smi_row *row,
				    const struct wtl_smi_field *field);

/* Can a reader do something with it? */
bool wtl_smi_is_readable(const struct wtl_smi_field *field);
/* Reads a value without its unit: 0 or -EINVAL. */
int wtl_smi_read(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		 const char *text, size_t len);

/* What nvidia-smi says instead of a value, without brackets: "GPU is lost"; NULL: not available. */
const char *wtl_smi_unknown(struct wtl_smi_answer answer);

/* The status that such words mean, in brackets or not, of any driver since 340; OK: they are a
 * value. */
enum wattle_status wtl_smi_unknown_read(const char *text, size_t len);

/* Text from outside, with '?' for what is not printable: nvidia-smi's readers know no escapes. */
void wtl_smi_put_text(struct wtl_buf *buf, const char *text);

/* The process's program; "" where it is not known or not visible here. */
const char *wtl_smi_process_program(const struct wtl_gpu_process *process);

/* The GPU's processes in the order of their pids, as nvidia-smi
 * lists them except in CSV. To be freed; NULL: no memory. */
const struct wtl_gpu_process **wtl_smi_processes_by_pid(const struct wtl_gpu *gpu);

/* "C", "G", "C+G", "M+C" (by way of MPS); "-" where not known. */
const char *wtl_smi_process_word(const struct wtl_gpu_process *process);

/* Bytes as MiB in nvidia-smi's way: rounded up. In its output,
 * reserved + used + free is up to 2 MiB more than the total. */
uint64_t wtl_smi_to_mib(uint64_t bytes);

#endif
