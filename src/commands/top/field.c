/* SPDX-License-Identifier: MIT */
#include "commands/top/field.h"

#include <stdio.h>
#include <string.h>

#include "cli/guess.h"

const char *wtl_field_meant(const char *word, size_t len)
{
	char text[32];
	struct wtl_guess guess = {.word = text};

	snprintf(text, sizeof(text), "%.*s", (int)len, word);
	for (enum wtl_field field = 0; field < WTL_FIELDS; field++)
		wtl_guess_consider(&guess, wtl_field_info(field)->name);
	return guess.best;
}

const char *wtl_process_title(const struct wtl_top_process *process)
{
	return process->command[0] ? process->command : process->consumer.name;
}

const char *wtl_process_short_title(const struct wtl_top_process *process, bool with_path)
{
	const char *title = wtl_process_title(process), *end = title + strcspn(title, " ");
	bool is_path = title[0] == '/' || title[0] == '.';

	/* Kernel threads and groups have no path. */
	if (with_path || !is_path || process->consumer.pid <= 0 || end[-1] == '/')
		return title;
	while (end[-1] != '/' && end - 1 > title)
		end--;
	return end;
}

bool wtl_process_has_cpu(const struct wtl_top_process *process)
{
	return wtl_consumer_cpu_ns(&process->consumer) >= 0;
}

static bool get_energy(const struct wtl_top_process *process, enum wtl_field field,
		       enum wtl_top_share share, double *ret_number)
{
	double cpu_w = (double)process->cpu_uw[share] / 1e6;
	double gpu_w = (double)process->gpu_uw[share] / 1e6;

	*ret_number = field == WTL_FIELD_POWER	     ? cpu_w + gpu_w
		      : field == WTL_FIELD_CPU_POWER ? cpu_w
		      : field == WTL_FIELD_GPU_POWER ? gpu_w
		      : field == WTL_FIELD_PER_CPU   ? (double)process->per_cpu.power_uw / 1e6
						     : (double)process->energy_uj[share] / 1e6;
	if (field == WTL_FIELD_PER_CPU)
		return process->per_cpu.power_uw > 0;
	if (field == WTL_FIELD_CPU_POWER && !wtl_process_has_cpu(process))
		return false;
	if (field == WTL_FIELD_GPU_POWER && !process->has_gpu)
		return false;
	return field == WTL_FIELD_ENERGY || process->has_power;
}

bool wtl_field_get(const struct wtl_top_process *process, enum wtl_field field,
		   enum wtl_top_share share, struct wtl_field_value *ret_value)
{
	static const double units[] = {
		[WTL_MEASURE_TEXT] = 1,	    [WTL_MEASURE_NUMBER] = 1,	 [WTL_MEASURE_WATT] = 1e6,
		[WTL_MEASURE_JOULE] = 1e6,  [WTL_MEASURE_PERCENT] = 1e4, [WTL_MEASURE_BYTE] = 1,
		[WTL_MEASURE_SECOND] = 1e9,
	};
	enum wtl_measure measure = wtl_field_info(field)->measure;
	enum wtl_consumer_state state = process->consumer.state;
	struct wtl_consumer_value value = {.text = ""};
	bool is_known;

	if (measure == WTL_MEASURE_WATT || measure == WTL_MEASURE_JOULE) {
		ret_value->text = "";
		return get_energy(process, field, share, &ret_value->number);
	}
	is_known = wtl_consumer_get(&process->consumer, process->consumer.group, field, &value);
	if (field == WTL_FIELD_CPU)
		is_known = (state == WTL_CONSUMER_LIVE || state == WTL_CONSUMER_KERNEL) &&
			   wtl_process_has_cpu(process);
	/* The user's name, or the title, which a process always has. */
	if (field == WTL_FIELD_USER || field == WTL_FIELD_COMMAND) {
		value.text = field == WTL_FIELD_USER ? process->user : wtl_process_title(process);
		is_known = value.text[0] != '\0';
	}
	ret_value->text = value.text;
	ret_value->number = is_known ? (double)value.number / units[measure] : 0.0;
	return is_known;
}
