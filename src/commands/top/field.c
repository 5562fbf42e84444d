/* SPDX-License-Identifier: MIT */
#include "commands/top/field.h"

#include <string.h>
#include <strings.h>

static const struct wtl_field_info fields[WTL_FIELDS] = {
	[WTL_FIELD_PID] = {"pid", NULL, "PID", "Process", WTL_MEASURE_NUMBER, 7, false, true, 98},
	[WTL_FIELD_PPID] = {"ppid", "parent", "PPID", "Parent process", WTL_MEASURE_NUMBER, 7,
			    false, false, 10},
	[WTL_FIELD_USER] = {"user", NULL, "USER", "User", WTL_MEASURE_TEXT, 9, false, true, 75},
	[WTL_FIELD_UID] = {"uid", NULL, "UID", "User's number", WTL_MEASURE_NUMBER, 6, false, false,
			   9},
	[WTL_FIELD_STATE] = {"state", NULL, "S", "live, exited, kernel or folded", WTL_MEASURE_TEXT,
			     6, false, false, 8},
	[WTL_FIELD_POWER] = {"w", "power", "W", "Power, CPU and GPU", WTL_MEASURE_WATT, 7, true,
			     false, 95},
	[WTL_FIELD_CPU_POWER] = {"cpu_w", NULL, "CPU W", "Power of CPU and DRAM", WTL_MEASURE_WATT,
				 7, true, true, 97},
	[WTL_FIELD_GPU_POWER] = {"gpu_w", NULL, "GPU W", "Power of GPUs", WTL_MEASURE_WATT, 7, true,
				 true, 96},
	[WTL_FIELD_ENERGY] = {"j", "energy", "ENERGY", "Energy since the start", WTL_MEASURE_JOULE,
			      9, true, true, 90},
	[WTL_FIELD_CPU] = {"cpu", NULL, "CPU%", "CPU time, of one CPU", WTL_MEASURE_PERCENT, 6,
			   true, true, 80},
	[WTL_FIELD_GPU] = {"gpu", NULL, "GPU%", "Use of GPUs", WTL_MEASURE_PERCENT, 5, true, true,
			   55},
	[WTL_FIELD_TIME] = {"time", "cpu_s", "TIME", "CPU time since the start", WTL_MEASURE_SECOND,
			    8, true, false, 30},
	[WTL_FIELD_THREADS] = {"threads", NULL, "THR", "Threads", WTL_MEASURE_NUMBER, 5, true,
			       false, 20},
	[WTL_FIELD_MEMORY] = {"mem", "rss", "MEM", "Resident memory", WTL_MEASURE_BYTE, 6, true,
			      true, 70},
	[WTL_FIELD_PSS] = {"pss", NULL, "PSS", "Memory, shared pages divided", WTL_MEASURE_BYTE, 6,
			   true, false, 19},
	[WTL_FIELD_USS] = {"uss", NULL, "USS", "Memory of its own alone", WTL_MEASURE_BYTE, 6, true,
			   false, 18},
	[WTL_FIELD_GPU_MEMORY] = {"gpu_mem", NULL, "GPUMEM", "GPU memory", WTL_MEASURE_BYTE, 6,
				  true, true, 65},
	[WTL_FIELD_UNIT] = {"unit", NULL, "UNIT", "systemd unit", WTL_MEASURE_TEXT, 16, false,
			    false, 16},
	[WTL_FIELD_JOB] = {"job", NULL, "JOB", "Batch job", WTL_MEASURE_TEXT, 12, false, false, 15},
	[WTL_FIELD_POD] = {"pod", NULL, "POD", "Kubernetes pod", WTL_MEASURE_TEXT, 13, false, false,
			   14},
	[WTL_FIELD_CONTAINER] = {"container", NULL, "CONTAINER", "Container", WTL_MEASURE_TEXT, 19,
				 false, true, 40},
	[WTL_FIELD_CGROUP] = {"cgroup", NULL, "CGROUP", "Control group", WTL_MEASURE_TEXT, 20,
			      false, false, 7},
	[WTL_FIELD_NAME] = {"name", NULL, "NAME", "Name", WTL_MEASURE_TEXT, 15, false, false, 12},
	[WTL_FIELD_COMMAND] = {"command", "cmd", "COMMAND", "Command", WTL_MEASURE_TEXT, 10, false,
			       true, 99},
};

const struct wtl_field_info *wtl_field_info(enum wtl_field field)
{
	return &fields[field];
}

static bool is_word(const char *word, const char *name, size_t len)
{
	return word && strlen(word) == len && strncasecmp(word, name, len) == 0;
}

enum wtl_field wtl_field_find(const char *name, size_t len)
{
	unsigned field = 0;

	while (field < WTL_FIELDS && !is_word(fields[field].name, name, len) &&
	       !is_word(fields[field].alias, name, len))
		field++;
	return (enum wtl_field)field;
}

const char *wtl_process_title(const struct wtl_top_process *process)
{
	return process->consumer.command[0] ? process->consumer.command : process->consumer.name;
}

bool wtl_process_has_cpu(const struct wtl_top_process *process)
{
	return wtl_consumer_cpu_ns(&process->consumer) >= 0;
}

static const char *state_word(enum wtl_consumer_state state)
{
	static const char *const words[] = {
		[WTL_CONSUMER_LIVE] = "live",
		[WTL_CONSUMER_EXITED] = "exited",
		[WTL_CONSUMER_KERNEL] = "kernel",
		[WTL_CONSUMER_FOLDED] = "folded",
	};

	return words[state];
}

static bool give_text(const char *text, struct wtl_field_value *ret_value)
{
	if (!text || !text[0])
		return false;
	ret_value->text = text;
	ret_value->number = 0.0;
	return true;
}

static bool give(bool known, double number, struct wtl_field_value *ret_value)
{
	ret_value->text = "";
	ret_value->number = known ? number : 0.0;
	return known;
}

static bool get_group(const struct wtl_top_view *view, const struct wtl_top_process *process,
		      enum wtl_field field, struct wtl_field_value *ret_value)
{
	const struct wtl_group *group;
	const char *text = NULL;

	if (process->group < 0 || (size_t)process->group >= view->n_groups)
		return false;
	group = &view->groups[process->group];
	if (field == WTL_FIELD_UNIT)
		text = group->unit;
	else if (field == WTL_FIELD_JOB)
		text = group->job;
	else if (field == WTL_FIELD_POD)
		text = group->pod;
	else if (field == WTL_FIELD_CONTAINER)
		text = group->container;
	else if (field == WTL_FIELD_CGROUP)
		text = group->cgroup;
	return give_text(text, ret_value);
}

static bool get_text(const struct wtl_top_view *view, const struct wtl_top_process *process,
		     enum wtl_field field, struct wtl_field_value *ret_value)
{
	if (field == WTL_FIELD_USER)
		return give_text(process->user, ret_value);
	if (field == WTL_FIELD_STATE)
		return give_text(state_word(process->consumer.state), ret_value);
	if (field == WTL_FIELD_NAME)
		return give_text(process->consumer.name, ret_value);
	if (field == WTL_FIELD_COMMAND)
		return give_text(wtl_process_title(process), ret_value);
	return get_group(view, process, field, ret_value);
}

static bool get_bytes(const struct wtl_consumer *consumer, enum wtl_field field,
		      struct wtl_field_value *ret_value)
{
	uint64_t bytes = field == WTL_FIELD_MEMORY	 ? consumer->rss_bytes
			 : field == WTL_FIELD_PSS	 ? consumer->pss_bytes
			 : field == WTL_FIELD_USS	 ? consumer->uss_bytes
			 : field == WTL_FIELD_GPU_MEMORY ? consumer->gpu_memory_bytes
							 : UINT64_MAX;

	return give(bytes != UINT64_MAX, (double)bytes, ret_value);
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

bool wtl_field_get(const struct wtl_top_view *view, const struct wtl_top_process *process,
		   enum wtl_field field, enum wtl_top_share share,
		   struct wtl_field_value *ret_value)
{
	const struct wtl_consumer *consumer = &process->consumer;
	bool runs = consumer->state == WTL_CONSUMER_LIVE || consumer->state == WTL_CONSUMER_KERNEL;

	if (fields[field].measure == WTL_MEASURE_TEXT)
		return get_text(view, process, field, ret_value);
	if (fields[field].measure == WTL_MEASURE_BYTE)
		return get_bytes(consumer, field, ret_value);
	if (fields[field].measure == WTL_MEASURE_WATT || field == WTL_FIELD_ENERGY)
		return get_energy(process, field, share, ret_value);
	if (field == WTL_FIELD_PID)
		return give(consumer->pid > 0, consumer->pid, ret_value);
	if (field == WTL_FIELD_PPID)
		return give(consumer->parent > 0, consumer->parent, ret_value);
	if (field == WTL_FIELD_UID)
		return give(consumer->uid != UINT32_MAX, consumer->uid, ret_value);
	if (field == WTL_FIELD_CPU)
		return give(runs && wtl_process_has_cpu(process), consumer->cpu_ppm / 1e4,
			    ret_value);
	if (field == WTL_FIELD_GPU)
		return give(consumer->gpu_ppm != UINT32_MAX, consumer->gpu_ppm / 1e4, ret_value);
	if (field == WTL_FIELD_TIME)
		return give(wtl_process_has_cpu(process), (double)consumer->cpu_ns / 1e9,
			    ret_value);
	return give(consumer->n_threads > 0, consumer->n_threads, ret_value);
}
