/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "document/format.h"
#include "smi/field.h"

/* Numbers: where they lie, and how nvidia-smi writes them. */

enum { MICRO_DECIMALS = 6 };

uint64_t wtl_smi_to_mib(uint64_t bytes)
{
	return (bytes >> 20) + ((bytes & 0xfffff) != 0);
}

bool wtl_smi_is_end(const struct wtl_smi_field *field)
{
	return !field->kind;
}

/* ---- Where they lie ---- */

struct wtl_smi_answer wtl_smi_number_answer(const struct wtl_gpu *gpu, enum wtl_gpu_number number)
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
		return wtl_smi_number_answer(row->gpu, field->number);
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

static int set(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
	       uint64_t value)
{
	void *object = field->object == WTL_SMI_OF_PROCESS ? (void *)target->process
		       : field->object == WTL_SMI_OF_MIG   ? (void *)target->mig
							   : target->gpu;
	char *at = (char *)object + field->offset;
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

/* ---- How they are written ---- */

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

/* Negative: there is nothing that stands for the value. */
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

struct wtl_smi_answer wtl_smi_print(struct wtl_buf *buf, const struct wtl_smi_row *row,
				    const struct wtl_smi_field *field)
{
	struct wtl_smi_answer answer;
	uint64_t value;

	if (field->kind->print)
		return field->kind->print(buf, row, field);
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
