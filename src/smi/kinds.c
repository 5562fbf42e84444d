/* SPDX-License-Identifier: MIT */
#include "smi/field.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/num.h"
#include "base/text.h"
#include "energy/units.h"
#include "document/format.h"

enum { TEXT_MAX = 512 }; /* longer than any text of struct wtl_gpu */

/* ---- What stands in the place of a value ---- */

struct words {
	const char *text; /* without brackets */
	enum wattle_status status;
};

/* What a number of NVML's answers is in nvidia-smi's words (nvml.h, enum nvmlReturn). */
static const struct answer_words {
	int code;
	const char *text;
} answers[] = {
	{4, "Insufficient Permissions"},
	{15, "GPU is lost"},
	{16, "GPU requires reset"},
	{WTL_SMI_DEPRECATED, "Requested functionality has been deprecated"},
	{999, "Unknown Error"},
};

/* All that drivers since 340 have written. */
static const struct words unknowns[] = {
	{"N/A", WATTLE_STATUS_ABSENT},
	{"GPU is lost", WATTLE_STATUS_GONE},
	{"GPU requires reset", WATTLE_STATUS_GONE},
	{"GPU is in error state", WATTLE_STATUS_GONE},
	{"Insufficient Permissions", WATTLE_STATUS_DENIED},
	{"Unknown Error", WATTLE_STATUS_FAILED},
	{"Unknown", WATTLE_STATUS_FAILED},
	{"ERR!", WATTLE_STATUS_FAILED},
	{"Not Supported", WATTLE_STATUS_ABSENT},
	{"Not Found", WATTLE_STATUS_ABSENT},
	{"Function Not Found", WATTLE_STATUS_ABSENT},
	{"Requested functionality has been deprecated", WATTLE_STATUS_ABSENT},
	{"", WATTLE_STATUS_ABSENT},
};

const char *wtl_smi_unknown(struct wtl_smi_answer answer)
{
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		if (answers[i].code == answer.code)
			return answers[i].text;
	if (answer.status == WATTLE_STATUS_GONE)
		return "GPU is lost";
	if (answer.status == WATTLE_STATUS_DENIED)
		return "Insufficient Permissions";
	return answer.status == WATTLE_STATUS_FAILED ? "Unknown Error" : NULL;
}

enum wattle_status wtl_smi_unknown_read(const char *text, size_t len)
{
	if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	for (size_t i = 0; i < sizeof(unknowns) / sizeof(unknowns[0]); i++)
		if (strlen(unknowns[i].text) == len && memcmp(unknowns[i].text, text, len) == 0)
			return unknowns[i].status;
	return WATTLE_STATUS_OK;
}

void wtl_smi_put_text(struct wtl_buf *buf, const char *text)
{
	char clean[TEXT_MAX];

	wtl_buf_puts(buf, wtl_text_clean(clean, sizeof(clean), text, strlen(text)));
}

static struct wtl_smi_answer print_none(struct wtl_buf *buf, const struct wtl_smi_row *row,
					const struct wtl_smi_field *field)
{
	(void)buf;
	(void)row;
	(void)field;
	return wtl_smi_answer(WATTLE_STATUS_ABSENT);
}

static struct wtl_smi_answer print_deprecated(struct wtl_buf *buf, const struct wtl_smi_row *row,
					      const struct wtl_smi_field *field)
{
	(void)buf;
	(void)field;
	if (strcmp(row->gpu->vendor, "nvidia") != 0)
		return wtl_smi_answer(WATTLE_STATUS_ABSENT);
	return (struct wtl_smi_answer){WATTLE_STATUS_ABSENT, WTL_SMI_DEPRECATED};
}

const struct wtl_smi_kind wtl_smi_none = {.print = print_none};
const struct wtl_smi_kind wtl_smi_migs = {.print = print_none};
const struct wtl_smi_kind wtl_smi_processes = {.print = print_none};
const struct wtl_smi_kind wtl_smi_deprecated = {.print = print_deprecated};

/* ---- Of the look ---- */

static int put_timestamp(struct wtl_buf *buf, int64_t t_utc_ns)
{
	time_t seconds = (time_t)(t_utc_ns / WTL_NS_PER_S);
	struct tm tm;

	if (!localtime_r(&seconds, &tm))
		return buf->error = -EOVERFLOW;
	return wtl_buf_printf(buf, "%04d/%02d/%02d %02d:%02d:%02d.%03d", tm.tm_year + 1900,
			      tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
			      (int)(t_utc_ns / WTL_NS_PER_MS % 1000));
}

static struct wtl_smi_answer print_timestamp(struct wtl_buf *buf, const struct wtl_smi_row *row,
					     const struct wtl_smi_field *field)
{
	(void)field;
	put_timestamp(buf, row->look->t_utc_ns);
	return wtl_smi_answer(WATTLE_STATUS_OK);
}

bool wtl_smi_civil_ns(const struct tm *civil, unsigned milli, int64_t *ret_ns)
{
	struct tm tm = *civil;

	if (tm.tm_year < 70 || tm.tm_year > 300 || tm.tm_mon < 0 || tm.tm_mon > 11 ||
	    tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour < 0 || tm.tm_hour > 23 ||
	    tm.tm_min < 0 || tm.tm_min > 59 || tm.tm_sec < 0 || tm.tm_sec > 60 || milli > 999)
		return false;
	*ret_ns = (int64_t)timegm(&tm) * WTL_NS_PER_S + (int64_t)milli * WTL_NS_PER_MS;
	return true;
}

static int read_timestamp(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
			  const char *text, size_t len)
{
	struct tm tm = {.tm_mday = 0};
	char copy[32], rest;
	unsigned milli;

	(void)field;
	if (len >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (sscanf(copy, "%4d/%2d/%2d %2d:%2d:%2d.%3u%c", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
		   &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &milli, &rest) != 7)
		return -EINVAL;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	return wtl_smi_civil_ns(&tm, milli, target->t_local_ns) ? 0 : -EINVAL;
}

static struct wtl_smi_answer print_driver(struct wtl_buf *buf, const struct wtl_smi_row *row,
					  const struct wtl_smi_field *field)
{
	const char *driver = row->gpu->driver[0] ? row->gpu->driver : row->look->driver;

	(void)field;
	if (!driver[0])
		return wtl_smi_answer(WATTLE_STATUS_ABSENT);
	wtl_smi_put_text(buf, driver);
	return wtl_smi_answer(WATTLE_STATUS_OK);
}

static int read_driver(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		       const char *text, size_t len)
{
	(void)field;
	wtl_text_clean(target->gpu->driver, sizeof(target->gpu->driver), text, len);
	return 0;
}

static struct wtl_smi_answer print_count(struct wtl_buf *buf, const struct wtl_smi_row *row,
					 const struct wtl_smi_field *field)
{
	(void)field;
	wtl_buf_printf(buf, "%zu", row->look->n_attached);
	return wtl_smi_answer(WATTLE_STATUS_OK);
}

const struct wtl_smi_kind wtl_smi_timestamp = {.print = print_timestamp, .read = read_timestamp};
const struct wtl_smi_kind wtl_smi_driver = {.print = print_driver, .read = read_driver};
const struct wtl_smi_kind wtl_smi_count = {.print = print_count};

/* ---- A GPU's identity ---- */

/* NVIDIA's PCI domain has eight digits, the kernel's four. */
static struct wtl_smi_answer print_bus_id(struct wtl_buf *buf, const struct wtl_smi_row *row,
					  const struct wtl_smi_field *field)
{
	const char *id = row->gpu->bus_id;

	(void)field;
	if (!id[0])
		return wtl_smi_answer(WATTLE_STATUS_ABSENT);
	for (size_t n = strcspn(id, ":"); n < 8; n++)
		wtl_buf_putc(buf, '0');
	for (; *id; id++)
		wtl_buf_putc(buf,
			     isprint((unsigned char)*id) ? (char)toupper((unsigned char)*id) : '?');
	return wtl_smi_answer(WATTLE_STATUS_OK);
}

static int read_bus_id(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		       const char *text, size_t len)
{
	struct wtl_gpu *gpu = target->gpu;
	unsigned domain, bus, device, function;
	char rest;

	(void)field;
	wtl_text_clean(gpu->bus_id, sizeof(gpu->bus_id), text, len);
	if (sscanf(gpu->bus_id, "%8x:%2x:%2x.%1x%c", &domain, &bus, &device, &function, &rest) !=
	    4) {
		gpu->bus_id[0] = '\0';
		return -EINVAL;
	}
	gpu->pci_domain = domain;
	gpu->pci_bus = bus;
	gpu->pci_device = device;
	return 0;
}

static struct wtl_smi_answer print_text(struct wtl_buf *buf, const struct wtl_smi_row *row,
					const struct wtl_smi_field *field)
{
	const char *text = (const char *)row->gpu + field->offset;

	if (!text[0])
		return wtl_smi_answer(WATTLE_STATUS_ABSENT);
	wtl_smi_put_text(buf, text);
	return wtl_smi_answer(WATTLE_STATUS_OK);
}

static int read_text(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		     const char *text, size_t len)
{
	wtl_text_clean((char *)target->gpu + field->offset, field->size, text, len);
	return 0;
}

static struct wtl_smi_answer print_number_text(struct wtl_buf *buf, const struct wtl_smi_row *row,
					       const struct wtl_smi_field *field)
{
	struct wtl_smi_answer answer = wtl_smi_number_answer(row->gpu, field->number);

	return answer.status == WATTLE_STATUS_OK ? print_text(buf, row, field) : answer;
}

static struct wtl_smi_answer print_chassis(struct wtl_buf *buf, const struct wtl_smi_row *row,
					   const struct wtl_smi_field *field)
{
	struct wtl_smi_answer answer = wtl_smi_number_answer(row->gpu, field->number);

	if (answer.status == WATTLE_STATUS_OK)
		print_text(buf, row, field);
	return answer;
}

const struct wtl_smi_kind wtl_smi_bus_id = {.print = print_bus_id, .read = read_bus_id};
const struct wtl_smi_kind wtl_smi_text = {.print = print_text, .read = read_text};
const struct wtl_smi_kind wtl_smi_number_text = {.print = print_number_text, .read = read_text};
const struct wtl_smi_kind wtl_smi_chassis = {.print = print_chassis, .read = read_text};

/* ---- A process ---- */

/* Of a process in another PID namespace the name tells the number instead (struct wtl_gpu_process). */
const char *wtl_smi_process_program(const struct wtl_gpu_process *process)
{
	bool is_number = !process->is_visible && wtl_text_starts(process->name, "host pid ");

	return is_number ? "" : process->name;
}

static struct wtl_smi_answer print_process_name(struct wtl_buf *buf, const struct wtl_smi_row *row,
						const struct wtl_smi_field *field)
{
	const char *name = wtl_smi_process_program(row->process);

	(void)field;
	if (!name[0])
		return wtl_smi_answer(WATTLE_STATUS_ABSENT);
	wtl_smi_put_text(buf, name);
	return wtl_smi_answer(WATTLE_STATUS_OK);
}

static struct wtl_smi_answer print_process_title(struct wtl_buf *buf, const struct wtl_smi_row *row,
						 const struct wtl_smi_field *field)
{
	print_process_name(buf, row, field);
	return wtl_smi_answer(WATTLE_STATUS_OK);
}

static int read_process_name(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
			     const char *text, size_t len)
{
	struct wtl_gpu_process *process = target->process;

	(void)field;
	wtl_text_clean(process->name, sizeof(process->name), text, len);
	return 0;
}

static const struct type_word {
	const char *word;
	unsigned types;
} type_words[] = {
	{"C", WTL_GPU_PROCESS_COMPUTE},
	{"G", WTL_GPU_PROCESS_GRAPHICS},
	{"C+G", WTL_GPU_PROCESS_COMPUTE | WTL_GPU_PROCESS_GRAPHICS},
	{"M+C", WTL_GPU_PROCESS_MPS},
	{"M+C", WTL_GPU_PROCESS_MPS | WTL_GPU_PROCESS_COMPUTE},
	{"M+C+G", WTL_GPU_PROCESS_MPS | WTL_GPU_PROCESS_GRAPHICS},
	{"M+C+G", WTL_GPU_PROCESS_MPS | WTL_GPU_PROCESS_COMPUTE | WTL_GPU_PROCESS_GRAPHICS},
};

const char *wtl_smi_process_word(const struct wtl_gpu_process *process)
{
	for (size_t i = 0; i < sizeof(type_words) / sizeof(type_words[0]); i++)
		if (type_words[i].types == process->types)
			return type_words[i].word;
	return "-";
}

static struct wtl_smi_answer print_process_type(struct wtl_buf *buf, const struct wtl_smi_row *row,
						const struct wtl_smi_field *field)
{
	(void)field;
	wtl_buf_puts(buf, wtl_smi_process_word(row->process));
	return wtl_smi_answer(WATTLE_STATUS_OK);
}

static int read_process_type(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
			     const char *text, size_t len)
{
	(void)field;
	for (size_t i = 0; i < sizeof(type_words) / sizeof(type_words[0]); i++)
		if (strlen(type_words[i].word) == len &&
		    memcmp(type_words[i].word, text, len) == 0) {
			target->process->types = type_words[i].types;
			return 0;
		}
	return -EINVAL;
}

const struct wtl_smi_kind wtl_smi_process_name = {.print = print_process_name,
						  .read = read_process_name};
const struct wtl_smi_kind wtl_smi_process_title = {.print = print_process_title};
const struct wtl_smi_kind wtl_smi_process_type = {.print = print_process_type,
						  .read = read_process_type};

static int by_pid(const void *a, const void *b)
{
	const struct wtl_gpu_process *left = *(const struct wtl_gpu_process *const *)a;
	const struct wtl_gpu_process *right = *(const struct wtl_gpu_process *const *)b;

	if (left->pid != right->pid)
		return left->pid > right->pid ? 1 : -1;
	return (left > right) - (left < right);
}

const struct wtl_gpu_process **wtl_smi_processes_by_pid(const struct wtl_gpu *gpu)
{
	const struct wtl_gpu_process **sorted = calloc(gpu->n_processes + 1, sizeof(*sorted));

	if (!sorted)
		return NULL;
	for (size_t i = 0; i < gpu->n_processes; i++)
		sorted[i] = &gpu->processes[i];
	qsort(sorted, gpu->n_processes, sizeof(*sorted), by_pid);
	return sorted;
}

/* ---- What the meter knows ---- */

static struct wtl_smi_answer print_meter(struct wtl_buf *buf, const struct wtl_smi_row *row,
					 const struct wtl_smi_field *field)
{
	const struct wtl_look_meter *meter = row->meter;
	bool of_power =
		field->number == WTL_SMI_POWER || field->number == WTL_SMI_POWER_UNCERTAINTY;
	uint64_t micro;

	if (!meter || !(of_power ? meter->has_power : meter->has_energy))
		return wtl_smi_answer(WATTLE_STATUS_ABSENT);
	if (field->number == WTL_SMI_ENERGY)
		micro = meter->energy_uj;
	else if (field->number == WTL_SMI_ENERGY_UNCERTAINTY)
		micro = meter->energy_uncertainty_uj;
	else
		micro = field->number == WTL_SMI_POWER ? meter->power_uw
						       : meter->power_uncertainty_uw;
	wtl_format_fixed(buf, of_power ? (micro + 5000) / 10000 : (micro + 500) / 1000,
			 of_power ? 2 : 3);
	return wtl_smi_answer(WATTLE_STATUS_OK);
}

static bool is_summed(const struct wattle_domain *domain, unsigned sum)
{
	if (!domain->in_total)
		return false;
	if (sum == WTL_SMI_SUM_CPU)
		return domain->kind == WATTLE_KIND_CPU;
	return sum == WTL_SMI_SUM_TOTAL || domain->kind == WATTLE_KIND_DRAM;
}

/* Mean powers of all domains that count; where one is missing there is no sum. */
static struct wtl_smi_answer print_sum(struct wtl_buf *buf, const struct wtl_smi_row *row,
				       const struct wtl_smi_field *field)
{
	const struct wtl_look *look = row->look;
	uint64_t power_uw = 0;
	size_t n = 0;

	for (size_t i = 0; look->domain_meters && i < look->n_domains; i++) {
		if (!is_summed(&look->domains[i].domain, field->number))
			continue;
		if (!look->domain_meters[i].has_power)
			return wtl_smi_answer(WATTLE_STATUS_ABSENT);
		power_uw += look->domain_meters[i].power_uw;
		n++;
	}
	if (n == 0)
		return wtl_smi_answer(WATTLE_STATUS_ABSENT);
	wtl_format_fixed(buf, (power_uw + 5000) / 10000, 2);
	return wtl_smi_answer(WATTLE_STATUS_OK);
}

static const char *domain_word(const struct wattle_domain *domain, unsigned word)
{
	switch ((enum wtl_smi_domain_word)word) {
	case WTL_SMI_DOMAIN_NAME:
		return domain->name;
	case WTL_SMI_DOMAIN_KIND:
		return wattle_kind_name(domain->kind);
	case WTL_SMI_DOMAIN_INSIDE:
		return domain->inside;
	case WTL_SMI_DOMAIN_DEVICE:
		return domain->device;
	case WTL_SMI_DOMAIN_SOURCE:
		return domain->source;
	case WTL_SMI_DOMAIN_METHOD:
		return domain->method == WATTLE_METHOD_NONE ? NULL
							    : wattle_method_name(domain->method);
	case WTL_SMI_DOMAIN_STATUS:
		return wattle_status_name(domain->status);
	case WTL_SMI_DOMAIN_REASON:
		return domain->reason;
	case WTL_SMI_DOMAIN_IN_TOTAL:
		return domain->in_total ? "Yes" : "No";
	}
	return NULL;
}

static struct wtl_smi_answer print_domain_text(struct wtl_buf *buf, const struct wtl_smi_row *row,
					       const struct wtl_smi_field *field)
{
	const char *text = domain_word(&row->domain->domain, field->number);

	if (!text || !text[0])
		return wtl_smi_answer(WATTLE_STATUS_ABSENT);
	wtl_smi_put_text(buf, text);
	return wtl_smi_answer(WATTLE_STATUS_OK);
}

const struct wtl_smi_kind wtl_smi_meter = {.print = print_meter, .of_meter = true};
const struct wtl_smi_kind wtl_smi_sum = {.print = print_sum, .of_meter = true};
const struct wtl_smi_kind wtl_smi_domain_text = {.print = print_domain_text, .of_meter = true};
