/* SPDX-License-Identifier: MIT */
#ifndef WTL_SMI_FIELD_H
#define WTL_SMI_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "smi/smi.h"

/* How a field is printed and read: for the tables, the XML and the reader. */

struct wtl_smi_row {
	const struct wtl_look *look;
	const struct wtl_gpu *gpu;
	const struct wtl_gpu_process *process;
	const struct wtl_report_domain *domain;
	const struct wtl_look_meter *meter; /* of the GPU or the domain */
};

/* What a reader fills in. */
struct wtl_smi_target {
	struct wtl_gpu *gpu;
	struct wtl_gpu_process *process;
	int64_t *t_local_ns; /* since 1970 by the clock on the wall */
};

/* How a value was had, and NVML's own number for it (struct wtl_gpu_value). */
struct wtl_smi_answer {
	enum wattle_status status;
	int code;
};

enum { WTL_SMI_DEPRECATED = 26 };

static inline struct wtl_smi_answer wtl_smi_answer(enum wattle_status status)
{
	return (struct wtl_smi_answer){.status = status};
}

struct wtl_smi_kind {
	/* Appends the value without its unit and answers OK, or appends nothing. */
	struct wtl_smi_answer (*print)(struct wtl_buf *buf, const struct wtl_smi_row *row,
				       const struct wtl_smi_field *field);
	/* Reads a value without its unit: 0 or -EINVAL. NULL: it is of no use to a reader. */
	int (*read)(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		    const char *text, size_t len);
	/* Where arg is an enum wtl_gpu_number, else NULL: appends a known one. Negative: there is
	 * nothing that stands for it. */
	int (*put)(struct wtl_buf *buf, uint64_t value, const struct wtl_smi_field *field);
	bool of_meter;		  /* the meter has to be asked */
	const char *const *words; /* of numbers that stand for words: from 0, ended by NULL */
};

/* The kinds. Where arg is an enum wtl_gpu_number, "a number". */
extern const struct wtl_smi_kind wtl_smi_none;	     /* wattle has no source for it */
extern const struct wtl_smi_kind wtl_smi_deprecated; /* NVIDIA withdrew it */
extern const struct wtl_smi_kind wtl_smi_timestamp;
extern const struct wtl_smi_kind wtl_smi_driver;
extern const struct wtl_smi_kind wtl_smi_count;
extern const struct wtl_smi_kind wtl_smi_index;
extern const struct wtl_smi_kind wtl_smi_bus_id;
extern const struct wtl_smi_kind wtl_smi_text;	     /* arg: offset in struct wtl_gpu, arg2: size */
extern const struct wtl_smi_kind wtl_smi_hex;	     /* arg: offset of a uint32_t, arg2: digits */
extern const struct wtl_smi_kind wtl_smi_signed;     /* a number that is an int64_t */
extern const struct wtl_smi_kind wtl_smi_micro;	     /* a number of ns, as us */
extern const struct wtl_smi_kind wtl_smi_kilo;	     /* a number of bytes/s, as KB/s */
extern const struct wtl_smi_kind wtl_smi_class;	     /* a PCI class: arg2 is how far to shift */
extern const struct wtl_smi_kind wtl_smi_addressing; /* a number: None, HMM or ATS */
extern const struct wtl_smi_kind wtl_smi_milli_j;    /* a number of uJ: J with three decimals */
extern const struct wtl_smi_kind wtl_smi_number;     /* a number as it is */
extern const struct wtl_smi_kind wtl_smi_mib;	     /* a number of bytes */
extern const struct wtl_smi_kind wtl_smi_centi;	     /* a number of millionths, two decimals */
extern const struct wtl_smi_kind wtl_smi_pstate;     /* a number: P0 */
extern const struct wtl_smi_kind wtl_smi_enabled;    /* a number: Enabled or Disabled */
extern const struct wtl_smi_kind wtl_smi_yes;	     /* a number: Yes or No */
extern const struct wtl_smi_kind wtl_smi_mode;	     /* a number: the compute mode */
extern const struct wtl_smi_kind wtl_smi_mask;	     /* a number in hex */
extern const struct wtl_smi_kind wtl_smi_active; /* a bit (arg2) of a number: Active, Not Active */
/* Numbers that stand for words of their own. */
extern const struct wtl_smi_kind wtl_smi_valid;
extern const struct wtl_smi_kind wtl_smi_recovery;
extern const struct wtl_smi_kind wtl_smi_virtualization;
extern const struct wtl_smi_kind wtl_smi_fabric_state;
extern const struct wtl_smi_kind wtl_smi_health;
extern const struct wtl_smi_kind wtl_smi_degraded;
extern const struct wtl_smi_kind wtl_smi_truth; /* True or False */
extern const struct wtl_smi_kind wtl_smi_misconfigured;
extern const struct wtl_smi_kind wtl_smi_peer;
extern const struct wtl_smi_kind wtl_smi_guid;	      /* a number: 16 digits of small hex */
extern const struct wtl_smi_kind wtl_smi_fabric_text; /* as text, where the fabric is known */
extern const struct wtl_smi_kind wtl_smi_chassis;     /* text; known, it may be empty */
extern const struct wtl_smi_kind wtl_smi_pid;
extern const struct wtl_smi_kind wtl_smi_process_name;
extern const struct wtl_smi_kind wtl_smi_process_memory;
extern const struct wtl_smi_kind wtl_smi_meter;	      /* arg: enum wtl_smi_metered */
extern const struct wtl_smi_kind wtl_smi_domain_text; /* arg: enum wtl_smi_domain_word */
extern const struct wtl_smi_kind wtl_smi_sum;	      /* arg: enum wtl_smi_sum */

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

/* How a number of a GPU is had, and the texts that go with it. */
struct wtl_smi_answer wtl_smi_number_answer(const struct wtl_gpu *gpu, enum wtl_gpu_number number);

/* What nvidia-smi says instead of a value, without brackets: "GPU is lost"; NULL: not available. */
const char *wtl_smi_unknown(struct wtl_smi_answer answer);

/* The status that such words mean, in brackets or not, of any driver since 340; OK: they are a
 * value. */
enum wattle_status wtl_smi_unknown_read(const char *text, size_t len);

/* Text from outside, with '?' for what is not printable: nvidia-smi's readers know no escapes. */
void wtl_smi_put_text(struct wtl_buf *buf, const char *text);

/* The process's program; "" where it is not known or not visible here. */
const char *wtl_smi_process_program(const struct wtl_gpu_process *process);

/* The GPU's processes as nvidia-smi lists them but in its rows of CSV: by number. To be freed; NULL: no
 * memory. */
const struct wtl_gpu_process **wtl_smi_processes_by_pid(const struct wtl_gpu *gpu);

/* "C", "G", "C+G", "M+C" (by way of MPS); "-" where not known. */
const char *wtl_smi_process_type(const struct wtl_gpu_process *process);
unsigned wtl_smi_process_type_read(const char *text, size_t len);

/* "2026/07/03 22:10:46.109", on the clock on the wall. */
int wtl_smi_put_timestamp(struct wtl_buf *buf, int64_t t_utc_ns);

/* A date on the clock on the wall, as if that were UTC; false for one that there is not, or that is
 * before 1970 or after 2200. */
bool wtl_smi_civil_ns(const struct tm *civil, unsigned milli, int64_t *ret_ns);

/* Bytes as nvidia-smi counts MiB: rounded up, for in captures reserved + used + free is up to 2 MiB
 * more than the total. */
uint64_t wtl_smi_to_mib(uint64_t bytes);

#endif
