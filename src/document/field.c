/* SPDX-License-Identifier: MIT */
#include "document/field.h"

#include <string.h>
#include <strings.h>

#define OWN(member, unknown)                                  \
	WTL_FIELD_OWN, offsetof(struct wtl_consumer, member), \
		sizeof(((const struct wtl_consumer *)0)->member), unknown
#define GROUP(member) WTL_FIELD_OF_GROUP, offsetof(struct wtl_group, member), 0, 0
#define NOWHERE	      WTL_FIELD_ELSEWHERE, 0, 0, 0

static const struct wtl_field_info fields[WTL_FIELDS] = {
	[WTL_FIELD_PID] = {"pid", NULL, "pid", "PID", "Process", WTL_MEASURE_NUMBER, 7, false, true,
			   98, OWN(pid, 0)},
	[WTL_FIELD_PPID] = {"ppid", "parent", "parent", "PPID", "Parent process",
			    WTL_MEASURE_NUMBER, 7, false, false, 10, OWN(parent, 0)},
	[WTL_FIELD_USER] = {"user", NULL, "user", "USER", "User", WTL_MEASURE_TEXT, 9, false, true,
			    75, NOWHERE},
	[WTL_FIELD_UID] = {"uid", NULL, "uid", "UID", "User's number", WTL_MEASURE_NUMBER, 6, false,
			   false, 9, OWN(uid, UINT32_MAX)},
	[WTL_FIELD_STATE] = {"state", NULL, "state", "S", "live, exited, kernel or folded",
			     WTL_MEASURE_TEXT, 6, false, false, 8, NOWHERE},
	[WTL_FIELD_POWER] = {"w", "power", NULL, "W", "Power, CPU and GPU", WTL_MEASURE_WATT, 7,
			     true, false, 95, NOWHERE},
	[WTL_FIELD_CPU_POWER] = {"cpu_w", NULL, NULL, "CPU W", "Power of CPU and DRAM",
				 WTL_MEASURE_WATT, 7, true, true, 97, NOWHERE},
	[WTL_FIELD_GPU_POWER] = {"gpu_w", NULL, NULL, "GPU W", "Power of GPUs", WTL_MEASURE_WATT, 7,
				 true, true, 96, NOWHERE},
	[WTL_FIELD_PER_CPU] = {"per_cpu_w", NULL, NULL, "W/CPU", "Power per busy CPU, as learned",
			       WTL_MEASURE_WATT, 6, true, true, 45, NOWHERE},
	[WTL_FIELD_ENERGY] = {"j", "energy", NULL, "ENERGY", "Energy since the start",
			      WTL_MEASURE_JOULE, 9, true, true, 90, NOWHERE},
	[WTL_FIELD_CPU] = {"cpu", NULL, NULL, "CPU%", "CPU time, of one CPU", WTL_MEASURE_PERCENT,
			   6, true, true, 80, OWN(cpu_ppm, UINT64_MAX)},
	[WTL_FIELD_GPU] = {"gpu", NULL, NULL, "GPU%", "Use of GPUs", WTL_MEASURE_PERCENT, 5, true,
			   true, 55, OWN(gpu_ppm, UINT32_MAX)},
	[WTL_FIELD_TIME] = {"time", "cpu_s", "cpu_s", "TIME", "CPU time since the start",
			    WTL_MEASURE_SECOND, 8, true, false, 30, OWN(cpu_ns, 0)},
	[WTL_FIELD_THREADS] = {"threads", NULL, NULL, "THR", "Threads", WTL_MEASURE_NUMBER, 5, true,
			       false, 20, OWN(n_threads, 0)},
	[WTL_FIELD_MEMORY] = {"mem", "rss", "rss_bytes", "MEM", "Resident memory", WTL_MEASURE_BYTE,
			      6, true, true, 70, OWN(rss_bytes, UINT64_MAX)},
	[WTL_FIELD_PSS] = {"pss", NULL, "pss_bytes", "PSS", "Memory, shared pages divided",
			   WTL_MEASURE_BYTE, 6, true, false, 19, OWN(pss_bytes, UINT64_MAX)},
	[WTL_FIELD_USS] = {"uss", NULL, "uss_bytes", "USS", "Memory of its own alone",
			   WTL_MEASURE_BYTE, 6, true, false, 18, OWN(uss_bytes, UINT64_MAX)},
	[WTL_FIELD_GPU_MEMORY] = {"gpu_mem", NULL, "gpu_memory_bytes", "GPUMEM", "GPU memory",
				  WTL_MEASURE_BYTE, 6, true, true, 65,
				  OWN(gpu_memory_bytes, UINT64_MAX)},
	[WTL_FIELD_UNIT] = {"unit", NULL, "unit", "UNIT", "systemd unit", WTL_MEASURE_TEXT, 16,
			    false, false, 16, GROUP(unit)},
	[WTL_FIELD_JOB] = {"job", NULL, "job", "JOB", "Batch job", WTL_MEASURE_TEXT, 12, false,
			   false, 15, GROUP(job)},
	[WTL_FIELD_STEP] = {"step", NULL, "step", "STEP", "Step of the batch job", WTL_MEASURE_TEXT,
			    7, false, false, 13, GROUP(step)},
	[WTL_FIELD_POD] = {"pod", NULL, "pod", "POD", "Kubernetes pod", WTL_MEASURE_TEXT, 13, false,
			   false, 14, GROUP(pod)},
	[WTL_FIELD_CONTAINER] = {"container", NULL, "container", "CONTAINER", "Container",
				 WTL_MEASURE_TEXT, 19, false, true, 40, GROUP(container)},
	[WTL_FIELD_CGROUP] = {"cgroup", NULL, "cgroup", "CGROUP", "Control group", WTL_MEASURE_TEXT,
			      20, false, false, 7, GROUP(cgroup)},
	[WTL_FIELD_NAME] = {"name", NULL, "name", "NAME", "Name", WTL_MEASURE_TEXT, 15, false,
			    false, 12, OWN(name, 0)},
	[WTL_FIELD_COMMAND] = {"command", "cmd", "command", "COMMAND", "Command", WTL_MEASURE_TEXT,
			       10, false, true, 99, NOWHERE},
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

const char *wtl_words_state(enum wtl_consumer_state state)
{
	static const char *const words[] = {
		[WTL_CONSUMER_LIVE] = "live",
		[WTL_CONSUMER_EXITED] = "exited",
		[WTL_CONSUMER_KERNEL] = "kernel",
		[WTL_CONSUMER_FOLDED] = "folded",
	};

	return words[state <= WTL_CONSUMER_FOLDED ? state : WTL_CONSUMER_FOLDED];
}

static bool give_text(const char *text, struct wtl_consumer_value *ret_value)
{
	*ret_value = (struct wtl_consumer_value){.text = text};
	return text[0] != '\0';
}

bool wtl_consumer_get(const struct wtl_consumer *consumer, const struct wtl_group *group,
		      enum wtl_field field, struct wtl_consumer_value *ret_value)
{
	const struct wtl_field_info *info = &fields[field];
	const char *at = (const char *)consumer + info->offset;
	uint32_t small;
	uint64_t number;

	if (info->place == WTL_FIELD_OF_GROUP)
		return give_text(group ? (const char *)group + info->offset : "", ret_value);
	if (field == WTL_FIELD_STATE)
		return give_text(wtl_words_state(consumer->state), ret_value);
	if (field == WTL_FIELD_COMMAND)
		return give_text(consumer->command ? consumer->command : "", ret_value);
	if (info->measure == WTL_MEASURE_TEXT)
		return give_text(info->place == WTL_FIELD_OWN ? at : "", ret_value);
	memcpy(&small, at, sizeof(small));
	number = small;
	if (info->size == sizeof(number))
		memcpy(&number, at, sizeof(number));
	*ret_value = (struct wtl_consumer_value){.text = "", .number = (int64_t)number};
	if (field == WTL_FIELD_TIME)
		ret_value->number = wtl_consumer_cpu_ns(consumer);
	if (field == WTL_FIELD_TIME || field == WTL_FIELD_PID || field == WTL_FIELD_PPID)
		return field == WTL_FIELD_TIME ? ret_value->number >= 0 : (int32_t)small > 0;
	return info->place == WTL_FIELD_OWN && number != info->unknown;
}
