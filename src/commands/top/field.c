/* SPDX-License-Identifier: MIT */
#include "commands/top/field.h"

const char *wtl_process_title(const struct wtl_top_process *process)
{
	return process->consumer.command[0] ? process->consumer.command : process->consumer.name;
}

bool wtl_process_has_cpu(const struct wtl_top_process *process)
{
	return wtl_consumer_cpu_ns(&process->consumer) >= 0;
}

static bool give(bool known, double number, struct wtl_field_value *ret_value)
{
	ret_value->text = "";
	ret_value->number = known ? number : 0.0;
	return known;
}

static bool get_energy(const struct wtl_top_process *process, enum wtl_field field,
		       enum wtl_top_share share, struct wtl_field_value *ret_value)
{
	double cpu_w = (double)process->cpu_uw[share] / 1e6;
	double gpu_w = (double)process->gpu_uw[share] / 1e6;

	if (field == WTL_FIELD_POWER)
		return give(process->has_power, cpu_w + gpu_w, ret_value);
	if (field == WTL_FIELD_CPU_POWER)
		return give(process->has_power && wtl_process_has_cpu(process), cpu_w, ret_value);
	if (field == WTL_FIELD_GPU_POWER)
		return give(process->has_power && process->has_gpu, gpu_w, ret_value);
	return give(true, (double)process->energy_uj[share] / 1e6, ret_value);
}

/* The user's name, and the title, which a process always has one of. */
static const char *text_of(const struct wtl_top_process *process, enum wtl_field field)
{
	return field == WTL_FIELD_USER	    ? process->user
	       : field == WTL_FIELD_COMMAND ? wtl_process_title(process)
					    : NULL;
}

bool wtl_field_get(const struct wtl_top_view *view, const struct wtl_top_process *process,
		   enum wtl_field field, enum wtl_top_share share,
		   struct wtl_field_value *ret_value)
{
	static const double units[] = {
		[WTL_MEASURE_TEXT] = 1,	    [WTL_MEASURE_NUMBER] = 1,	 [WTL_MEASURE_WATT] = 1e6,
		[WTL_MEASURE_JOULE] = 1e6,  [WTL_MEASURE_PERCENT] = 1e4, [WTL_MEASURE_BYTE] = 1,
		[WTL_MEASURE_SECOND] = 1e9,
	};
	enum wtl_measure measure = wtl_field_info(field)->measure;
	enum wtl_consumer_state state = process->consumer.state;
	bool runs = state == WTL_CONSUMER_LIVE || state == WTL_CONSUMER_KERNEL;
	bool has_group = process->group >= 0 && (size_t)process->group < view->n_groups;
	struct wtl_consumer_value value;
	bool is_known;

	if (measure == WTL_MEASURE_WATT || measure == WTL_MEASURE_JOULE)
		return get_energy(process, field, share, ret_value);
	is_known =
		wtl_consumer_get(&process->consumer,
				 has_group ? &view->groups[process->group] : NULL, field, &value);
	if (field == WTL_FIELD_CPU)
		is_known = runs && wtl_process_has_cpu(process);
	if (text_of(process, field)) {
		value.text = text_of(process, field);
		is_known = value.text[0] != '\0';
	}
	give(is_known, (double)value.number / units[measure], ret_value);
	ret_value->text = value.text;
	return is_known;
}
