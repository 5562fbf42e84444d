/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/text.h"
#include "energy/units.h"
#include "smi/smi.h"
#include "smi/field.h"

/* The scrolling columns of `nvidia-smi dmon` and `pmon`: whole numbers, cut; "-" where not known. */

enum { NAME_BYTES = 15 };

enum scale { ONE, MILLION, MIB, MEGA_RATE, THERMAL, NEVER };

struct column {
	char letter; /* of -s */
	const char *name, *unit;
	enum wtl_gpu_number number;
	enum scale scale;
};

static const struct column device_columns[] = {
	{'p', "pwr", "W", WTL_GPU_POWER_UW, MILLION},
	{'p', "gtemp", "C", WTL_GPU_TEMPERATURE_C, ONE},
	{'p', "mtemp", "C", WTL_GPU_MEMORY_TEMPERATURE_C, ONE},
	{'u', "sm", "%", WTL_GPU_USE_PERCENT, ONE},
	{'u', "mem", "%", WTL_GPU_MEMORY_USE_PERCENT, ONE},
	{'u', "enc", "%", WTL_GPU_ENCODER_PERCENT, ONE},
	{'u', "dec", "%", WTL_GPU_DECODER_PERCENT, ONE},
	{'u', "jpg", "%", WTL_GPU_JPEG_PERCENT, ONE},
	{'u', "ofa", "%", WTL_GPU_OFA_PERCENT, ONE},
	{'c', "mclk", "MHz", WTL_GPU_CLOCK_MEMORY_MHZ, ONE},
	{'c', "pclk", "MHz", WTL_GPU_CLOCK_GRAPHICS_MHZ, ONE},
	{'v', "pviol", "%", WTL_GPU_NUMBERS, NEVER},
	{'v', "tviol", "bool", WTL_GPU_THROTTLE, THERMAL},
	{'m', "fb", "MB", WTL_GPU_MEMORY_USED_BYTES, MIB},
	{'m', "bar1", "MB", WTL_GPU_NUMBERS, NEVER},
	{'m', "ccpm", "MB", WTL_GPU_PROTECTED_USED_BYTES, MIB},
	{'e', "sbecc", "errs", WTL_GPU_ECC_CORRECTED_VOLATILE, ONE},
	{'e', "dbecc", "errs", WTL_GPU_ECC_UNCORRECTED_VOLATILE, ONE},
	{'e', "pci", "errs", WTL_GPU_NUMBERS, NEVER},
	{'t', "rxpci", "MB/s", WTL_GPU_PCIE_RX_BYTES_PER_S, MEGA_RATE},
	{'t', "txpci", "MB/s", WTL_GPU_PCIE_TX_BYTES_PER_S, MEGA_RATE},
	{0},
};

/* Of a process: the number is none of the GPU's. */
static const struct column process_columns[] = {
	{'u', "sm", "%", WTL_GPU_NUMBERS, ONE},
	{'u', "mem", "%", WTL_GPU_NUMBERS, ONE},
	{'u', "enc", "%", WTL_GPU_NUMBERS, ONE},
	{'u', "dec", "%", WTL_GPU_NUMBERS, ONE},
	{'u', "jpg", "%", WTL_GPU_NUMBERS, ONE},
	{'u', "ofa", "%", WTL_GPU_NUMBERS, ONE},
	{'m', "fb", "MB", WTL_GPU_NUMBERS, MIB},
	{'m', "ccpm", "MB", WTL_GPU_NUMBERS, NEVER},
	{0},
};

static const struct column *columns_of(const struct wtl_smi_mon *mon)
{
	return mon->processes ? process_columns : device_columns;
}

char wtl_smi_mon_check(const struct wtl_smi_mon *mon)
{
	for (const char *letter = mon->select; *letter; letter++) {
		const struct column *column = columns_of(mon);

		while (column->letter && column->letter != *letter)
			column++;
		if (!column->letter)
			return *letter;
	}
	return '\0';
}

static void put_titles(struct wtl_buf *buf, const struct wtl_smi_mon *mon, bool units)
{
	wtl_buf_putc(buf, '#');
	if (mon->date)
		wtl_buf_puts(buf, units ? "YYYYMMDD   " : "Date       ");
	if (mon->time)
		wtl_buf_puts(buf, units ? "HH:MM:SS   " : "Time       ");
	wtl_buf_puts(buf, mon->date || mon->time ? "" : " ");
	wtl_buf_puts(buf, units ? "Idx" : "gpu");
	if (mon->processes)
		wtl_buf_puts(buf, units ? "           #    C/G" : "         pid   type");
	for (const struct column *column = columns_of(mon); column->letter; column++)
		if (strchr(mon->select, column->letter))
			wtl_buf_printf(buf, " %6s", units ? column->unit : column->name);
	if (mon->processes)
		wtl_buf_puts(buf, units ? "    name" : "    command");
	wtl_buf_puts(buf, " \n");
}

int wtl_smi_mon_header(struct wtl_buf *buf, const struct wtl_smi_mon *mon)
{
	put_titles(buf, mon, false);
	put_titles(buf, mon, true);
	return buf->error;
}

static void put_time(struct wtl_buf *buf, const struct wtl_smi_mon *mon, int64_t t_utc_ns)
{
	time_t seconds = (time_t)(t_utc_ns / WTL_NS_PER_S);
	struct tm tm;

	if (!mon->date && !mon->time)
		return;
	if (!localtime_r(&seconds, &tm)) {
		buf->error = -EOVERFLOW;
		return;
	}
	wtl_buf_putc(buf, ' ');
	if (mon->date)
		wtl_buf_printf(buf, "%04d%02d%02d   ", tm.tm_year + 1900, tm.tm_mon + 1,
			       tm.tm_mday);
	if (mon->time)
		wtl_buf_printf(buf, "%02d:%02d:%02d  ", tm.tm_hour, tm.tm_min, tm.tm_sec);
}

static void put_index(struct wtl_buf *buf, const struct wtl_smi_mon *mon,
		      const struct wtl_look *look, const struct wtl_gpu *gpu)
{
	put_time(buf, mon, look->t_utc_ns);
	wtl_buf_printf(buf, mon->date || mon->time ? "%3u" : "%5u", gpu->index);
}

/* false: not known */
static bool scaled(const struct wtl_gpu *gpu, const struct column *column, uint64_t *ret)
{
	const struct wtl_gpu_value *value;

	if (column->scale == NEVER || gpu->status != WATTLE_STATUS_OK)
		return false;
	value = &gpu->numbers[column->number];
	if (value->status != WATTLE_STATUS_OK)
		return false;
	*ret = value->value;
	if (column->scale == MILLION || column->scale == MEGA_RATE)
		*ret /= 1000000;
	else if (column->scale == MIB)
		*ret = wtl_smi_to_mib(*ret);
	else if (column->scale == THERMAL)
		*ret = (*ret & (WTL_THROTTLE_SW_THERMAL | WTL_THROTTLE_HW_THERMAL)) != 0;
	return true;
}

static void put_device(struct wtl_buf *buf, const struct wtl_smi_mon *mon,
		       const struct wtl_look *look, const struct wtl_gpu *gpu)
{
	put_index(buf, mon, look, gpu);
	for (const struct column *column = device_columns; column->letter; column++) {
		uint64_t value;

		if (!strchr(mon->select, column->letter))
			continue;
		if (scaled(gpu, column, &value))
			wtl_buf_printf(buf, " %6llu", (unsigned long long)value);
		else
			wtl_buf_puts(buf, "      -");
	}
	wtl_buf_puts(buf, " \n");
}

/* As nvidia-smi: nothing of a process that used nothing, no encoder or decoder that stands still, and
 * never the last two. */
static void put_use(struct wtl_buf *buf, const struct wtl_gpu_process *process)
{
	const uint32_t use[] = {process->sm_percent, process->memory_percent,
				process->encoder_percent, process->decoder_percent};
	bool any = false;

	for (size_t i = 0; i < 4; i++)
		any |= process->has_use && use[i] > 0 && use[i] <= 100;
	for (size_t i = 0; i < 6; i++) {
		if (any && i < 4 && use[i] <= 100 && (i < 2 || use[i] > 0))
			wtl_buf_printf(buf, " %6u", use[i]);
		else
			wtl_buf_puts(buf, "      -");
	}
}

/* The program's name alone in 15 bytes, of which none is a part of a character. */
static void put_command(struct wtl_buf *buf, const struct wtl_gpu_process *process)
{
	const char *program = wtl_smi_process_program(process), *slash = strrchr(program, '/');
	const char *name = slash ? slash + 1 : program;
	char clean[NAME_BYTES + 1];

	wtl_text_clean(clean, sizeof(clean), name, strlen(name));
	wtl_buf_printf(buf, "    %-*s\n", NAME_BYTES, clean[0] ? clean : "-");
}

static void put_process(struct wtl_buf *buf, const struct wtl_smi_mon *mon,
			const struct wtl_gpu_process *process)
{
	wtl_buf_printf(buf, " %10d  %4s", process->pid, wtl_smi_process_word(process));
	if (strchr(mon->select, 'u'))
		put_use(buf, process);
	if (strchr(mon->select, 'm')) {
		if (process->memory_bytes == UINT64_MAX)
			wtl_buf_puts(buf, "      -");
		else
			wtl_buf_printf(buf, " %6llu",
				       (unsigned long long)wtl_smi_to_mib(process->memory_bytes));
		wtl_buf_puts(buf, "      -");
	}
	put_command(buf, process);
}

static void put_nobody(struct wtl_buf *buf, const struct wtl_smi_mon *mon)
{
	wtl_buf_puts(buf, "          -     -");
	for (const struct column *column = process_columns; column->letter; column++)
		if (strchr(mon->select, column->letter))
			wtl_buf_puts(buf, "      -");
	wtl_buf_puts(buf, "    -              \n");
}

static int put_processes(struct wtl_buf *buf, const struct wtl_smi_mon *mon,
			 const struct wtl_look *look, const struct wtl_gpu *gpu)
{
	const struct wtl_gpu_process **sorted = wtl_smi_processes_by_pid(gpu);

	if (!sorted)
		return buf->error = -ENOMEM;
	for (size_t i = 0; i < gpu->n_processes; i++) {
		put_index(buf, mon, look, gpu);
		put_process(buf, mon, sorted[i]);
	}
	free(sorted);
	if (gpu->n_processes == 0) {
		put_index(buf, mon, look, gpu);
		put_nobody(buf, mon);
	}
	return buf->error;
}

int wtl_smi_mon_rows(struct wtl_buf *buf, const struct wtl_smi_mon *mon,
		     const struct wtl_look *look)
{
	for (size_t i = 0; i < look->n_gpus && !buf->error; i++) {
		if (mon->processes)
			put_processes(buf, mon, look, &look->gpus[i]);
		else
			put_device(buf, mon, look, &look->gpus[i]);
	}
	return buf->error;
}
