/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "output/format.h"
#include "output/nvidia_smi_field.h"

/* The numbers of struct wtl_gpu: how nvidia-smi writes them, and back. */

uint64_t wtl_smi_to_mib(uint64_t bytes)
{
	return (bytes >> 20) + ((bytes & 0xfffff) != 0);
}

static struct wtl_smi_answer number(const struct wtl_smi_row *row, unsigned which, uint64_t *ret)
{
	const struct wtl_gpu_value *value = &row->gpu->numbers[which];

	if (row->gpu->status != WATTLE_STATUS_OK && row->gpu->status != WATTLE_STATUS_STALE)
		return (struct wtl_smi_answer){row->gpu->status, row->gpu->code};
	if (value->status == WATTLE_STATUS_OK)
		*ret = value->value;
	return (struct wtl_smi_answer){value->status, value->code};
}

static int set(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
	       uint64_t value)
{
	target->gpu->numbers[field->arg] =
		(struct wtl_gpu_value){.status = WATTLE_STATUS_OK, .value = value};
	return 0;
}

static struct wtl_smi_answer print_number(struct wtl_buf *buf, const struct wtl_smi_row *row,
					  const struct wtl_smi_field *field)
{
	uint64_t value = 0;
	struct wtl_smi_answer answer = number(row, field->arg, &value);

	if (answer.status == WATTLE_STATUS_OK)
		wtl_buf_printf(buf, "%llu", (unsigned long long)value);
	return answer;
}

static int read_number(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		       const char *text, size_t len)
{
	uint64_t value;

	if (wtl_num_u64(text, len, &value) < 0)
		return -EINVAL;
	return set(target, field, value);
}

static struct wtl_smi_answer print_mib(struct wtl_buf *buf, const struct wtl_smi_row *row,
				       const struct wtl_smi_field *field)
{
	uint64_t value = 0;
	struct wtl_smi_answer answer = number(row, field->arg, &value);

	if (answer.status == WATTLE_STATUS_OK)
		wtl_buf_printf(buf, "%llu", (unsigned long long)wtl_smi_to_mib(value));
	return answer;
}

static int read_mib(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		    const char *text, size_t len)
{
	uint64_t value;

	if (wtl_num_u64(text, len, &value) < 0 || value > UINT64_MAX >> 20)
		return -EINVAL;
	return set(target, field, value << 20);
}

static struct wtl_smi_answer print_centi(struct wtl_buf *buf, const struct wtl_smi_row *row,
					 const struct wtl_smi_field *field)
{
	uint64_t value = 0;
	struct wtl_smi_answer answer = number(row, field->arg, &value);

	if (answer.status == WATTLE_STATUS_OK)
		wtl_format_fixed(buf, value / 10000 + (value % 10000 >= 5000), 2);
	return answer;
}

static int read_centi(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		      const char *text, size_t len)
{
	uint64_t value;

	if (wtl_num_fixed(text, len, 6, &value) < 0)
		return -EINVAL;
	return set(target, field, value);
}

static struct wtl_smi_answer print_pstate(struct wtl_buf *buf, const struct wtl_smi_row *row,
					  const struct wtl_smi_field *field)
{
	uint64_t value = 0;
	struct wtl_smi_answer answer = number(row, field->arg, &value);

	if (answer.status == WATTLE_STATUS_OK)
		wtl_buf_printf(buf, "P%llu", (unsigned long long)value);
	return answer;
}

static int read_pstate(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		       const char *text, size_t len)
{
	if (len < 2 || text[0] != 'P')
		return -EINVAL;
	return read_number(target, field, text + 1, len - 1);
}

static struct wtl_smi_answer print_mask(struct wtl_buf *buf, const struct wtl_smi_row *row,
					const struct wtl_smi_field *field)
{
	uint64_t value = 0;
	struct wtl_smi_answer answer = number(row, field->arg, &value);

	if (answer.status == WATTLE_STATUS_OK)
		wtl_buf_printf(buf, "0x%016llX", (unsigned long long)value);
	return answer;
}

static int read_mask(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		     const char *text, size_t len)
{
	uint64_t value;

	if (wtl_num_hex(text, len, &value) < 0)
		return -EINVAL;
	return set(target, field, value);
}

static struct wtl_smi_answer print_signed(struct wtl_buf *buf, const struct wtl_smi_row *row,
					  const struct wtl_smi_field *field)
{
	uint64_t value = 0;
	struct wtl_smi_answer answer = number(row, field->arg, &value);

	if (answer.status == WATTLE_STATUS_OK)
		wtl_buf_printf(buf, "%lld", (long long)(int64_t)value);
	return answer;
}

static int read_signed(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		       const char *text, size_t len)
{
	int64_t value;

	if (wtl_num_i64(text, len, &value) < 0)
		return -EINVAL;
	return set(target, field, (uint64_t)value);
}

static struct wtl_smi_answer print_thousand(struct wtl_buf *buf, const struct wtl_smi_row *row,
					    const struct wtl_smi_field *field)
{
	uint64_t value = 0;
	struct wtl_smi_answer answer = number(row, field->arg, &value);

	if (answer.status == WATTLE_STATUS_OK)
		wtl_buf_printf(buf, "%llu", (unsigned long long)(value / 1000));
	return answer;
}

static int read_thousand(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
			 const char *text, size_t len)
{
	uint64_t value;

	if (wtl_num_u64(text, len, &value) < 0 || value > UINT64_MAX / 1000)
		return -EINVAL;
	return set(target, field, value * 1000);
}

static struct wtl_smi_answer print_milli_j(struct wtl_buf *buf, const struct wtl_smi_row *row,
					   const struct wtl_smi_field *field)
{
	uint64_t value = 0;
	struct wtl_smi_answer answer = number(row, field->arg, &value);

	if (answer.status == WATTLE_STATUS_OK)
		wtl_format_fixed(buf, value / 1000, 3);
	return answer;
}

static struct wtl_smi_answer print_class(struct wtl_buf *buf, const struct wtl_smi_row *row,
					 const struct wtl_smi_field *field)
{
	uint64_t value = 0;
	struct wtl_smi_answer answer = number(row, field->arg, &value);

	if (answer.status == WATTLE_STATUS_OK)
		wtl_buf_printf(buf, "0x%X", (unsigned)(value >> field->arg2 & 0xff));
	return answer;
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

static struct wtl_smi_answer print_word(struct wtl_buf *buf, const struct wtl_smi_row *row,
					const struct wtl_smi_field *field)
{
	const char *const *words = field->kind->words;
	uint64_t value = 0, n = 0;
	struct wtl_smi_answer answer = number(row, field->arg, &value);

	if (answer.status != WATTLE_STATUS_OK)
		return answer;
	while (words[n])
		n++;
	if (value >= n)
		return wtl_smi_answer(WATTLE_STATUS_FAILED);
	wtl_buf_puts(buf, words[value]);
	return answer;
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

static struct wtl_smi_answer print_active(struct wtl_buf *buf, const struct wtl_smi_row *row,
					  const struct wtl_smi_field *field)
{
	uint64_t value = 0;
	struct wtl_smi_answer answer = number(row, field->arg, &value);

	if (answer.status == WATTLE_STATUS_OK)
		wtl_buf_puts(buf, active_words[(value & field->arg2) != 0]);
	return answer;
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

const struct wtl_smi_kind wtl_smi_number = {
	.of_number = true, .print = print_number, .read = read_number};
const struct wtl_smi_kind wtl_smi_mib = {.of_number = true, .print = print_mib, .read = read_mib};
const struct wtl_smi_kind wtl_smi_centi = {
	.of_number = true, .print = print_centi, .read = read_centi};
const struct wtl_smi_kind wtl_smi_pstate = {
	.of_number = true, .print = print_pstate, .read = read_pstate};
const struct wtl_smi_kind wtl_smi_mask = {
	.of_number = true, .print = print_mask, .read = read_mask};
const struct wtl_smi_kind wtl_smi_enabled = {
	.of_number = true, .print = print_word, .read = read_word, .words = enabled_words};
const struct wtl_smi_kind wtl_smi_yes = {
	.of_number = true, .print = print_word, .read = read_word, .words = yes_words};
const struct wtl_smi_kind wtl_smi_mode = {
	.of_number = true, .print = print_word, .read = read_word, .words = mode_words};
const struct wtl_smi_kind wtl_smi_active = {
	.of_number = true, .print = print_active, .read = read_active};
const struct wtl_smi_kind wtl_smi_signed = {
	.of_number = true, .print = print_signed, .read = read_signed};
const struct wtl_smi_kind wtl_smi_micro = {
	.of_number = true, .print = print_thousand, .read = read_thousand};
const struct wtl_smi_kind wtl_smi_milli_j = {
	.of_number = true, .print = print_milli_j, .read = read_centi};
const struct wtl_smi_kind wtl_smi_class = {
	.of_number = true, .print = print_class, .read = read_class};
const struct wtl_smi_kind wtl_smi_addressing = {
	.of_number = true, .print = print_word, .read = read_word, .words = addressing_words};
const struct wtl_smi_kind wtl_smi_kilo = {
	.of_number = true, .print = print_thousand, .read = read_thousand};
