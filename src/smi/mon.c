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

enum { NAME_BYTES = 15, USES = 4 };

struct column {
	char letter; /* of -s */
	const char *name, *unit;
	unsigned which;	  /* enum wtl_gpu_number; of a process: its use, or USES for its memory */
	uint64_t divisor; /* 0: never known */
};

static const struct column device_columns[] = {
	{'p', "pwr", "W", WTL_GPU_POWER_UW, 1000000},
	{'p', "gtemp", "C", WTL_GPU_TEMPERATURE_C, 1},
	{'p', "mtemp", "C", WTL_GPU_MEMORY_TEMPERATURE_C, 1},
	{'u', "sm", "%", WTL_GPU_USE_PERCENT, 1},
	{'u', "mem", "%", WTL_GPU_MEMORY_USE_PERCENT, 1},
	{'u', "enc", "%", WTL_GPU_ENCODER_PERCENT, 1},
	{'u', "dec", "%", WTL_GPU_DECODER_PERCENT, 1},
	{'u', "jpg", "%", WTL_GPU_JPEG_PERCENT, 1},
	{'u', "ofa", "%", WTL_GPU_OFA_PERCENT, 1},
	{'c', "mclk", "MHz", WTL_GPU_CLOCK_MEMORY_MHZ, 1},
	{'c', "pclk", "MHz", WTL_GPU_CLOCK_GRAPHICS_MHZ, 1},
	{'v', "pviol", "%", 0, 0},
	{'v', "tviol", "bool", WTL_GPU_THROTTLE, 1},
	{'m', "fb", "MB", WTL_GPU_MEMORY_USED_BYTES, 1 << 20},
	{'m', "bar1", "MB", WTL_GPU_BAR1_USED_BYTES, 1 << 20},
	{'m', "ccpm", "MB", WTL_GPU_PROTECTED_USED_BYTES, 1 << 20},
	{'e', "sbecc", "errs", WTL_GPU_ECC_CORRECTED_VOLATILE, 1},
	{'e', "dbecc", "errs", WTL_GPU_ECC_UNCORRECTED_VOLATILE, 1},
	{'e', "pci", "errs", WTL_GPU_PCIE_REPLAYS, 1},
	{'t', "rxpci", "MB/s", WTL_GPU_PCIE_RX_BYTES_PER_S, 1000000},
	{'t', "txpci", "MB/s", WTL_GPU_PCIE_TX_BYTES_PER_S, 1000000},
	{0},
};

static const struct column process_columns[] = {
	{'u', "sm", "%", 0, 1},		  {'u', "mem", "%", 1, 1},   {'u', "enc", "%", 2, 1},
	{'u', "dec", "%", 3, 1},	  {'u', "jpg", "%", 0, 0},   {'u', "ofa", "%", 0, 0},
	{'m', "fb", "MB", USES, 1 << 20}, {'m', "ccpm", "MB", 0, 0}, {0},
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

bool wtl_smi_mon_column(const char *title, size_t len, enum wtl_gpu_number *ret_number,
			uint64_t *ret_unit)
{
	const struct column *column = device_columns;

	/* Drivers before 390 have one temperature. */
	if (len == 4 && memcmp(title, "temp", 4) == 0)
		return wtl_smi_mon_column("gtemp", 5, ret_number, ret_unit);
	while (column->letter &&
	       (strlen(column->name) != len || memcmp(column->name, title, len) != 0))
		column++;
	if (!column->letter || column->divisor == 0 || column->which == WTL_GPU_THROTTLE)
		return false;
	*ret_number = column->which;
	*ret_unit = column->divisor;
	return true;
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
static bool device_value(const struct wtl_gpu *gpu, unsigned number, uint64_t *ret)
{
	if (gpu->status != WATTLE_STATUS_OK || gpu->numbers[number].status != WATTLE_STATUS_OK)
		return false;
	*ret = gpu->numbers[number].value;
	if (number == WTL_GPU_THROTTLE)
		*ret = (*ret & (WTL_THROTTLE_SW_THERMAL | WTL_THROTTLE_HW_THERMAL)) != 0;
	return true;
}

/* As nvidia-smi: a process that used nothing has no values, and an encoder or decoder that is idle has none. */
static bool process_value(const struct wtl_gpu_process *process, unsigned which, uint64_t *ret)
{
	const uint32_t use[USES] = {process->sm_percent, process->memory_percent,
				    process->encoder_percent, process->decoder_percent};
	bool any = false;

	if (which == USES) {
		*ret = process->memory_bytes;
		return *ret != UINT64_MAX;
	}
	for (size_t i = 0; i < USES; i++)
		any |= process->has_use && use[i] > 0 && use[i] <= 100;
	*ret = use[which];
	return any && *ret <= 100 && (which < 2 || *ret > 0);
}

/* The values of a process, or of the GPU. In pmon without a process, all are unknown. */
static void put_values(struct wtl_buf *buf, const struct wtl_smi_mon *mon,
		       const struct wtl_gpu *gpu, const struct wtl_gpu_process *process)
{
	for (const struct column *column = columns_of(mon); column->letter; column++) {
		uint64_t value;
		bool known = column->divisor && (process || !mon->processes);

		if (!strchr(mon->select, column->letter))
			continue;
		if (known)
			known = process ? process_value(process, column->which, &value)
					: device_value(gpu, column->which, &value);
		if (!known)
			wtl_buf_puts(buf, "      -");
		else
			wtl_buf_printf(buf, " %6llu",
				       (unsigned long long)(column->divisor == 1 << 20
								    ? wtl_smi_to_mib(value)
								    : value / column->divisor));
	}
}

static void put_device(struct wtl_buf *buf, const struct wtl_smi_mon *mon,
		       const struct wtl_look *look, const struct wtl_gpu *gpu)
{
	put_index(buf, mon, look, gpu);
	put_values(buf, mon, gpu, NULL);
	wtl_buf_puts(buf, " \n");
}

/* The program's name without its folder, cut to 15 bytes, but not within a character. */
static void put_command(struct wtl_buf *buf, const struct wtl_gpu_process *process)
{
	const char *program = wtl_smi_process_program(process), *slash = strrchr(program, '/');
	const char *name = slash ? slash + 1 : program;
	char clean[NAME_BYTES + 1];

	wtl_text_clean(clean, sizeof(clean), name, strlen(name));
	wtl_buf_printf(buf, "    %-*s\n", NAME_BYTES, clean[0] ? clean : "-");
}

static int put_processes(struct wtl_buf *buf, const struct wtl_smi_mon *mon,
			 const struct wtl_look *look, const struct wtl_gpu *gpu)
{
	const struct wtl_gpu_process **sorted = wtl_smi_processes_by_pid(gpu);

	if (!sorted)
		return buf->error = -ENOMEM;
	for (size_t i = 0; i < gpu->n_processes; i++) {
		put_index(buf, mon, look, gpu);
		wtl_buf_printf(buf, " %10d  %4s", sorted[i]->pid, wtl_smi_process_word(sorted[i]));
		put_values(buf, mon, gpu, sorted[i]);
		put_command(buf, sorted[i]);
	}
	free(sorted);
	if (gpu->n_processes == 0) {
		put_index(buf, mon, look, gpu);
		wtl_buf_puts(buf, "          -     -");
		put_values(buf, mon, gpu, NULL);
		wtl_buf_puts(buf, "    -              \n");
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
