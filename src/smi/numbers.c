/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "document/format.h"
#include "smi/field.h"

/* The numbers of struct wtl_gpu: how nvidia-smi writes them, and back. */

uint64_t wtl_smi_to_mib(uint64_t bytes)
{
	return (bytes >> 20) + ((bytes & 0xfffff) != 0);
}

struct wtl_smi_answer wtl_smi_number_answer(const struct wtl_gpu *gpu, enum wtl_gpu_number number)
{
	if (gpu->status != WATTLE_STATUS_OK && gpu->status != WATTLE_STATUS_STALE)
		return (struct wtl_smi_answer){gpu->status, gpu->code};
	return (struct wtl_smi_answer){gpu->numbers[number].status, gpu->numbers[number].code};
}

static struct wtl_smi_answer print(struct wtl_buf *buf, const struct wtl_smi_row *row,
				   const struct wtl_smi_field *field)
{
	struct wtl_smi_answer answer = wtl_smi_number_answer(row->gpu, field->arg);

	if (answer.status == WATTLE_STATUS_OK &&
	    field->kind->put(buf, row->gpu->numbers[field->arg].value, field) < 0 && !buf->error)
		return wtl_smi_answer(WATTLE_STATUS_FAILED);
	return answer;
}

static int set(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
	       uint64_t value)
{
	target->gpu->numbers[field->arg] =
		(struct wtl_gpu_value){.status = WATTLE_STATUS_OK, .value = value};
	return 0;
}

static int put_number(struct wtl_buf *buf, uint64_t value, const struct wtl_smi_field *field)
{
	(void)field;
	return wtl_buf_printf(buf, "%llu", (unsigned long long)value);
}

static int read_number(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		       const char *text, size_t len)
{
	uint64_t value;

	if (wtl_num_u64(text, len, &value) < 0)
		return -EINVAL;
	return set(target, field, value);
}

static int put_mib(struct wtl_buf *buf, uint64_t value, const struct wtl_smi_field *field)
{
	(void)field;
	return wtl_buf_printf(buf, "%llu", (unsigned long long)wtl_smi_to_mib(value));
}

static int read_mib(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		    const char *text, size_t len)
{
	uint64_t value;

	if (wtl_num_u64(text, len, &value) < 0 || value > UINT64_MAX >> 20)
		return -EINVAL;
	return set(target, field, value << 20);
}

static int put_centi(struct wtl_buf *buf, uint64_t value, const struct wtl_smi_field *field)
{
	(void)field;
	return wtl_format_fixed(buf, value / 10000 + (value % 10000 >= 5000), 2);
}

static int read_centi(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		      const char *text, size_t len)
{
	uint64_t value;

	if (wtl_num_fixed(text, len, 6, &value) < 0)
		return -EINVAL;
	return set(target, field, value);
}

static int put_pstate(struct wtl_buf *buf, uint64_t value, const struct wtl_smi_field *field)
{
	(void)field;
	return wtl_buf_printf(buf, "P%llu", (unsigned long long)value);
}

static int read_pstate(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		       const char *text, size_t len)
{
	if (len < 2 || text[0] != 'P')
		return -EINVAL;
	return read_number(target, field, text + 1, len - 1);
}

static int put_mask(struct wtl_buf *buf, uint64_t value, const struct wtl_smi_field *field)
{
	(void)field;
	return wtl_buf_printf(buf, "0x%016llX", (unsigned long long)value);
}

static int read_mask(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		     const char *text, size_t len)
{
	uint64_t value;

	if (wtl_num_hex(text, len, &value) < 0)
		return -EINVAL;
	return set(target, field, value);
}

static int put_signed(struct wtl_buf *buf, uint64_t value, const struct wtl_smi_field *field)
{
	(void)field;
	return wtl_buf_printf(buf, "%lld", (long long)(int64_t)value);
}

static int read_signed(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		       const char *text, size_t len)
{
	int64_t value;

	if (wtl_num_i64(text, len, &value) < 0)
		return -EINVAL;
	return set(target, field, (uint64_t)value);
}

static int put_thousand(struct wtl_buf *buf, uint64_t value, const struct wtl_smi_field *field)
{
	(void)field;
	return wtl_buf_printf(buf, "%llu", (unsigned long long)(value / 1000));
}

static int read_thousand(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
			 const char *text, size_t len)
{
	uint64_t value;

	if (wtl_num_u64(text, len, &value) < 0 || value > UINT64_MAX / 1000)
		return -EINVAL;
	return set(target, field, value * 1000);
}

static int put_milli_j(struct wtl_buf *buf, uint64_t value, const struct wtl_smi_field *field)
{
	(void)field;
	return wtl_format_fixed(buf, value / 1000, 3);
}

static int put_class(struct wtl_buf *buf, uint64_t value, const struct wtl_smi_field *field)
{
	return wtl_buf_printf(buf, "0x%X", (unsigned)(value >> field->arg2 & 0xff));
}

static int read_class(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		      const char *text, size_t len)
{
	const struct wtl_gpu_value *old = &target->gpu->numbers[field->arg];
	uint64_t value, both = old->status == WATTLE_STATUS_OK ? old->value : 0;

	if (wtl_num_hex(text, len, &value) < 0 || value > 0xff)
		return -EINVAL;
	both &= ~((uint64_t)0xff << field->arg2);
	return set(target, field, both | value << field->arg2);
}

/* ---- Numbers that stand for words ---- */

static const char *const enabled_words[] = {"Disabled", "Enabled", NULL};
static const char *const yes_words[] = {"No", "Yes", NULL};
static const char *const active_words[] = {"Not Active", "Active", NULL};
static const char *const addressing_words[] = {"None", "HMM", "ATS", NULL};
static const char *const mode_words[] = {"Default", "Exclusive_Thread", "Prohibited",
					 "Exclusive_Process", NULL};

/* Seen in outputs of drivers 570 to 595, or in nvidia-smi's manual; the last of `recovery`, those behind the
 * first of `misconfigured` and the last two of `virtualization` are as nvml.h describes the values. */
static const char *const valid_words[] = {"invalid", "valid", NULL};
static const char *const recovery_words[] = {
	"None", "Reset", "Reboot", "Drain P2P", "Drain and Reset", "Recover IMEX Domain", NULL};
static const char *const virtualization_words[] = {"None",	"Pass-Through", "VGPU",
						   "Host VGPU", "Host VSGA",	NULL};
static const char *const fabric_state_words[] = {"Not Supported", "Not Started", "In Progress",
						 "Completed", NULL};
static const char *const health_words[] = {"Not Supported", "Healthy", "Unhealthy",
					   "Limited Capacity", NULL};
static const char *const degraded_words[] = {"Full", "Degraded", NULL};
static const char *const truth_words[] = {"False", "True", NULL};
static const char *const misconfigured_words[] = {
	"None",
	"Incorrect SysGUID",
	"Incorrect Chassis SN",
	"No Partition",
	"Insufficient NVLinks",
	"Incompatible GPU FW",
	"Invalid Location",
	"GPU State Invalid",
	NULL,
};
static const char *const peer_words[] = {"Direct Connected", "Switch Connected", NULL};

static int put_word(struct wtl_buf *buf, uint64_t value, const struct wtl_smi_field *field)
{
	const char *const *words = field->kind->words;

	for (; *words; words++)
		if (value-- == 0)
			return wtl_buf_puts(buf, *words);
	return -EINVAL;
}

static int find_word(const char *text, size_t len, const char *const words[])
{
	for (int i = 0; words[i]; i++)
		if (strlen(words[i]) == len && memcmp(words[i], text, len) == 0)
			return i;
	return -EINVAL;
}

static int read_word(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		     const char *text, size_t len)
{
	int word = find_word(text, len, field->kind->words);

	return word < 0 ? word : set(target, field, (uint64_t)word);
}

static int put_guid(struct wtl_buf *buf, uint64_t value, const struct wtl_smi_field *field)
{
	(void)field;
	return wtl_buf_printf(buf, "0x%016llx", (unsigned long long)value);
}

static int put_active(struct wtl_buf *buf, uint64_t value, const struct wtl_smi_field *field)
{
	return wtl_buf_puts(buf, active_words[(value & field->arg2) != 0]);
}

/* Bits that come one by one add up; an older driver's dump may lack some. */
static int read_active(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		       const char *text, size_t len)
{
	const struct wtl_gpu_value *old = &target->gpu->numbers[field->arg];
	uint64_t value = old->status == WATTLE_STATUS_OK ? old->value : 0;
	int word = find_word(text, len, active_words);

	if (word < 0)
		return word;
	return set(target, field, word ? value | field->arg2 : value & ~(uint64_t)field->arg2);
}

const struct wtl_smi_kind wtl_smi_number = {.print = print, .put = put_number, .read = read_number};
const struct wtl_smi_kind wtl_smi_mib = {.print = print, .put = put_mib, .read = read_mib};
const struct wtl_smi_kind wtl_smi_centi = {.print = print, .put = put_centi, .read = read_centi};
const struct wtl_smi_kind wtl_smi_pstate = {.print = print, .put = put_pstate, .read = read_pstate};
const struct wtl_smi_kind wtl_smi_mask = {.print = print, .put = put_mask, .read = read_mask};
const struct wtl_smi_kind wtl_smi_active = {.print = print, .put = put_active, .read = read_active};
const struct wtl_smi_kind wtl_smi_signed = {.print = print, .put = put_signed, .read = read_signed};
const struct wtl_smi_kind wtl_smi_micro = {
	.print = print, .put = put_thousand, .read = read_thousand};
const struct wtl_smi_kind wtl_smi_milli_j = {
	.print = print, .put = put_milli_j, .read = read_centi};
const struct wtl_smi_kind wtl_smi_class = {.print = print, .put = put_class, .read = read_class};
const struct wtl_smi_kind wtl_smi_kilo = {
	.print = print, .put = put_thousand, .read = read_thousand};
const struct wtl_smi_kind wtl_smi_guid = {.print = print, .put = put_guid, .read = read_mask};

#define WORDS(name)                                  \
	const struct wtl_smi_kind wtl_smi_##name = { \
		.print = print, .put = put_word, .read = read_word, .words = name##_words}

WORDS(enabled);
WORDS(yes);
WORDS(mode);
WORDS(addressing);
WORDS(valid);
WORDS(recovery);
WORDS(virtualization);
WORDS(fabric_state);
WORDS(health);
WORDS(degraded);
WORDS(truth);
WORDS(misconfigured);
WORDS(peer);
