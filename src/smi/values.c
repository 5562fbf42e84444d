/* SPDX-License-Identifier: MIT */
#include "smi/field.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/date.h"
#include "base/num.h"
#include "base/text.h"
#include "energy/units.h"
#include "document/format.h"

enum { TEXT_MAX = 512 }; /* longer than any text of struct wtl_gpu */

/* ---- Words in place of a value ---- */

struct words {
	const char *text; /* without brackets */
	enum wattle_status status;
};

/* nvidia-smi's words for NVML's return codes (nvml.h, enum nvmlReturn). */
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

uint64_t wtl_smi_to_mib(uint64_t bytes)
{
	return (bytes >> 20) + ((bytes & 0xfffff) != 0);
}

/* ---- Where values are ---- */

/* The status of a GPU's number, and of the texts that go with it. */
static struct wtl_smi_answer number_answer(const struct wtl_gpu *gpu, enum wtl_gpu_number number)
{
	if (gpu->status != WATTLE_STATUS_OK && gpu->status != WATTLE_STATUS_STALE)
		return (struct wtl_smi_answer){gpu->status, gpu->code};
	return (struct wtl_smi_answer){gpu->numbers[number].status, gpu->numbers[number].code};
}

static const void *object_of(const struct wtl_smi_row *row, const struct wtl_smi_field *field)
{
	if (field->object == WTL_SMI_OF_PROCESS)
		return row->process;
	return field->object == WTL_SMI_OF_MIG ? (const void *)row->mig : row->gpu;
}

static struct wtl_smi_answer get(const struct wtl_smi_row *row, const struct wtl_smi_field *field,
				 uint64_t *ret)
{
	const char *at = (const char *)object_of(row, field) + field->offset;
	bool is_known = true;
	uint32_t small;

	if (field->place == WTL_SMI_NUMBER) {
		*ret = row->gpu->numbers[field->number].value;
		return number_answer(row->gpu, field->number);
	}
	if (field->place == WTL_SMI_U64) {
		memcpy(ret, at, sizeof(*ret));
		is_known = *ret != UINT64_MAX;
	} else {
		memcpy(&small, at, sizeof(small));
		*ret = small;
		if (field->place == WTL_SMI_ADDRESS)
			is_known = row->gpu->bus_id[0];
		else
			is_known = field->place == WTL_SMI_INT ? small - 1 < INT_MAX
							       : small != UINT32_MAX;
	}
	return wtl_smi_answer(is_known ? WATTLE_STATUS_OK : WATTLE_STATUS_ABSENT);
}

static uint64_t greatest(enum wtl_smi_place place)
{
	if (place == WTL_SMI_U32)
		return UINT32_MAX - 1;
	if (place == WTL_SMI_ADDRESS)
		return UINT32_MAX;
	return place == WTL_SMI_INT ? INT_MAX : UINT64_MAX;
}

static void *target_of(const struct wtl_smi_target *target, const struct wtl_smi_field *field)
{
	if (field->object == WTL_SMI_OF_PROCESS)
		return target->process;
	return field->object == WTL_SMI_OF_MIG ? (void *)target->mig : target->gpu;
}

static int set(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
	       uint64_t value)
{
	char *at = (char *)target_of(target, field) + field->offset;
	uint32_t small = (uint32_t)value;

	if (value > greatest(field->place))
		return -EINVAL;
	if (field->place == WTL_SMI_NUMBER)
		target->gpu->numbers[field->number] =
			(struct wtl_gpu_value){.status = WATTLE_STATUS_OK, .value = value};
	else if (field->place == WTL_SMI_U64)
		memcpy(at, &value, sizeof(value));
	else
		memcpy(at, &small, sizeof(small));
	return 0;
}

static const char *text_of(const struct wtl_smi_row *row, const struct wtl_smi_field *field)
{
	return (const char *)object_of(row, field) + field->offset;
}

static int read_text(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		     const char *text, size_t len)
{
	wtl_text_clean((char *)target_of(target, field) + field->offset, field->size, text, len);
	return 0;
}

/* ---- Withdrawn ---- */

static struct wtl_smi_answer print_deprecated(struct wtl_buf *buf, const struct wtl_smi_row *row,
					      const struct wtl_smi_field *field)
{
	(void)buf;
	(void)field;
	if (strcmp(row->gpu->vendor, "nvidia") != 0)
		return wtl_smi_answer(WATTLE_STATUS_ABSENT);
	return (struct wtl_smi_answer){WATTLE_STATUS_ABSENT, WTL_SMI_DEPRECATED};
}

const struct wtl_smi_kind wtl_smi_none, wtl_smi_migs, wtl_smi_processes;
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

static bool read_day(struct wtl_smi_day *day, const char *text)
{
	char iso[sizeof(day->text)];
	struct wtl_date_text date;

	memcpy(iso, text, sizeof(iso));
	if (iso[4] != '/' || iso[7] != '/')
		return false;
	iso[4] = iso[7] = '-';
	if (wtl_date_parse(iso, sizeof(iso), &date) < 0)
		return false;
	day->ns = wtl_date_utc_ns(&date.date);
	memcpy(day->text, text, sizeof(day->text));
	return true;
}

/* "2026/07/03 22:11:09.916" */
static int read_timestamp(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
			  const char *text, size_t len)
{
	enum { CLOCK_AT = 11 };
	struct wtl_smi_day *day = target->day;
	int64_t clock_ns;

	(void)field;
	if (len != WTL_SMI_TIMESTAMP_LEN || text[CLOCK_AT - 1] != ' ' || text[19] != '.')
		return -EINVAL;
	if ((!day->text[0] || memcmp(day->text, text, sizeof(day->text)) != 0) &&
	    !read_day(day, text))
		return -EINVAL;
	if (wtl_date_parse_clock(text + CLOCK_AT, len - CLOCK_AT, &clock_ns) < 0)
		return -EINVAL;
	*target->t_local_ns = day->ns + clock_ns;
	return 0;
}

static const char *driver_of(const struct wtl_smi_row *row, const struct wtl_smi_field *field)
{
	(void)field;
	return row->gpu->driver[0] ? row->gpu->driver : row->look->driver;
}

static struct wtl_smi_answer print_count(struct wtl_buf *buf, const struct wtl_smi_row *row,
					 const struct wtl_smi_field *field)
{
	(void)field;
	wtl_buf_printf(buf, "%zu", row->look->n_attached);
	return wtl_smi_answer(WATTLE_STATUS_OK);
}

const struct wtl_smi_kind wtl_smi_timestamp = {.print = print_timestamp, .read = read_timestamp};
const struct wtl_smi_kind wtl_smi_driver = {.text = driver_of, .read = read_text};
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

const struct wtl_smi_kind wtl_smi_bus_id = {.print = print_bus_id, .read = read_bus_id};
const struct wtl_smi_kind wtl_smi_text = {.text = text_of, .read = read_text};
const struct wtl_smi_kind wtl_smi_number_text = {
	.text = text_of, .read = read_text, .with_number = true};
const struct wtl_smi_kind wtl_smi_chassis = {
	.text = text_of, .read = read_text, .with_number = true, .may_be_empty = true};

/* ---- A process ---- */

/* The name of a process in another PID namespace is its number in words: see struct wtl_gpu_process. */
const char *wtl_smi_process_program(const struct wtl_gpu_process *process)
{
	bool is_number = !process->is_visible && wtl_text_starts(process->name, "host pid ");

	return is_number ? "" : process->name;
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

static const char *type_of(const struct wtl_smi_row *row, const struct wtl_smi_field *field)
{
	(void)field;
	return wtl_smi_process_word(row->process);
}

static const char *program_of(const struct wtl_smi_row *row, const struct wtl_smi_field *field)
{
	(void)field;
	return wtl_smi_process_program(row->process);
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

const struct wtl_smi_kind wtl_smi_process_name = {.text = program_of, .read = read_text};
const struct wtl_smi_kind wtl_smi_process_title = {.text = program_of, .may_be_empty = true};
const struct wtl_smi_kind wtl_smi_process_type = {.text = type_of, .read = read_process_type};

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

static const char *domain_word(const struct wtl_smi_row *row, const struct wtl_smi_field *field)
{
	const struct wattle_domain *domain = &row->domain->domain;
	const bool has_method = domain->method != WATTLE_METHOD_NONE;
	const char *const words[] = {
		[WTL_SMI_DOMAIN_NAME] = domain->name,
		[WTL_SMI_DOMAIN_KIND] = wattle_kind_name(domain->kind),
		[WTL_SMI_DOMAIN_INSIDE] = domain->inside,
		[WTL_SMI_DOMAIN_DEVICE] = domain->device,
		[WTL_SMI_DOMAIN_SOURCE] = domain->source,
		[WTL_SMI_DOMAIN_METHOD] = has_method ? wattle_method_name(domain->method) : NULL,
		[WTL_SMI_DOMAIN_STATUS] = wattle_status_name(domain->status),
		[WTL_SMI_DOMAIN_REASON] = domain->reason,
		[WTL_SMI_DOMAIN_IN_TOTAL] = domain->in_total ? "Yes" : "No",
	};

	return words[field->number];
}

const struct wtl_smi_kind wtl_smi_meter = {.print = print_meter, .of_meter = true};
const struct wtl_smi_kind wtl_smi_sum = {.print = print_sum, .of_meter = true};
const struct wtl_smi_kind wtl_smi_domain_text = {.text = domain_word, .of_meter = true};

/* ---- How values are written ---- */

enum { MICRO_DECIMALS = 6 };

static int put_fixed(struct wtl_buf *buf, const struct wtl_smi_kind *kind, uint64_t value)
{
	uint64_t step = 1;

	for (unsigned i = kind->digits; i < MICRO_DECIMALS; i++)
		step *= 10;
	return wtl_format_fixed(buf, value / step + (kind->rounds && value % step >= step / 2),
				kind->digits);
}

static int put_word(struct wtl_buf *buf, const char *const words[], uint64_t value)
{
	for (; *words; words++)
		if (value-- == 0)
			return wtl_buf_puts(buf, *words);
	return -EINVAL;
}

/* Negative: the value has no text. */
static int put(struct wtl_buf *buf, const struct wtl_smi_field *field, uint64_t value)
{
	const struct wtl_smi_kind *kind = field->kind;

	if (field->mask)
		value = (value & field->mask) >> __builtin_ctzll(field->mask);
	switch (kind->form) {
	case WTL_SMI_NO_NUMBER:
		break;
	case WTL_SMI_DECIMAL:
		value = value / kind->unit + (kind->rounds_up && value % kind->unit != 0);
		return wtl_buf_printf(buf, "%s%llu", kind->prefix ? kind->prefix : "",
				      (unsigned long long)value);
	case WTL_SMI_SIGNED:
		return wtl_buf_printf(buf, "%lld", (long long)(int64_t)value);
	case WTL_SMI_HEX:
		return wtl_buf_printf(buf, kind->is_small ? "0x%0*llx" : "0x%0*llX",
				      (int)kind->digits, (unsigned long long)value);
	case WTL_SMI_FIXED:
		return put_fixed(buf, kind, value);
	case WTL_SMI_WORD:
		return put_word(buf, kind->words, value);
	}
	return -EINVAL;
}

static struct wtl_smi_answer print_text(struct wtl_buf *buf, const struct wtl_smi_row *row,
					const struct wtl_smi_field *field)
{
	const struct wtl_smi_kind *kind = field->kind;
	const char *text = kind->text ? kind->text(row, field) : NULL;
	struct wtl_smi_answer answer = wtl_smi_answer(WATTLE_STATUS_OK);

	if (kind->with_number)
		answer = number_answer(row->gpu, field->number);
	if (answer.status != WATTLE_STATUS_OK)
		return answer;
	if (!text || (!text[0] && !kind->may_be_empty))
		return wtl_smi_answer(WATTLE_STATUS_ABSENT);
	wtl_smi_put_text(buf, text);
	return answer;
}

struct wtl_smi_answer wtl_smi_print(struct wtl_buf *buf, const struct wtl_smi_row *row,
				    const struct wtl_smi_field *field)
{
	struct wtl_smi_answer answer;
	uint64_t value;

	if (field->kind->print)
		return field->kind->print(buf, row, field);
	if (field->kind->form == WTL_SMI_NO_NUMBER)
		return print_text(buf, row, field);
	answer = get(row, field, &value);
	if (answer.status == WATTLE_STATUS_OK && put(buf, field, value) < 0 && !buf->error)
		return wtl_smi_answer(WATTLE_STATUS_FAILED);
	return answer;
}

/* ---- How they are read ---- */

static int read_decimal(const struct wtl_smi_kind *kind, const char *text, size_t len,
			uint64_t *ret)
{
	size_t skip = kind->prefix ? strlen(kind->prefix) : 0;

	if (len <= skip || (skip && memcmp(text, kind->prefix, skip) != 0) ||
	    wtl_num_u64(text + skip, len - skip, ret) < 0 || *ret > UINT64_MAX / kind->unit)
		return -EINVAL;
	*ret *= kind->unit;
	return 0;
}

static int read_word(const char *const words[], const char *text, size_t len, uint64_t *ret)
{
	for (*ret = 0; words[*ret]; ++*ret)
		if (strlen(words[*ret]) == len && memcmp(words[*ret], text, len) == 0)
			return 0;
	return -EINVAL;
}

static int read_number(const struct wtl_smi_kind *kind, const char *text, size_t len, uint64_t *ret)
{
	switch (kind->form) {
	case WTL_SMI_NO_NUMBER:
		break;
	case WTL_SMI_DECIMAL:
		return read_decimal(kind, text, len, ret);
	case WTL_SMI_SIGNED:
		return wtl_num_i64(text, len, (int64_t *)ret);
	case WTL_SMI_HEX:
		return wtl_num_hex(text, len, ret);
	case WTL_SMI_FIXED:
		return wtl_num_fixed(text, len, MICRO_DECIMALS, ret);
	case WTL_SMI_WORD:
		return read_word(kind->words, text, len, ret);
	}
	return -EINVAL;
}

bool wtl_smi_is_readable(const struct wtl_smi_field *field)
{
	return field->kind->form != WTL_SMI_NO_NUMBER || field->kind->read;
}

int wtl_smi_read(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		 const char *text, size_t len)
{
	uint64_t value;

	if (field->kind->read)
		return field->kind->read(target, field, text, len);
	if (read_number(field->kind, text, len, &value) < 0)
		return -EINVAL;
	if (field->mask) {
		/* Parts of a number come one by one; an older driver's document may lack some. */
		const struct wtl_gpu_value *old = &target->gpu->numbers[field->number];
		uint64_t others = old->status == WATTLE_STATUS_OK ? old->value & ~field->mask : 0;

		if (value > field->mask >> __builtin_ctzll(field->mask))
			return -EINVAL;
		value = value << __builtin_ctzll(field->mask) | others;
	}
	return set(target, field, value);
}
