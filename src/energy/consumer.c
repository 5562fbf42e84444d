/* SPDX-License-Identifier: MIT */
#include "energy/consumer.h"

#include <string.h>

#include "energy/units.h"

void wtl_group_find_step(struct wtl_group *group)
{
	static const char mark[] = "/step_";
	const char *step = group->job[0] ? strstr(group->cgroup, mark) : NULL;
	size_t len = 0;

	memset(group->step, 0, sizeof(group->step));
	if (step)
		len = strcspn(step += strlen(mark), "/");
	if (len < sizeof(group->step))
		memcpy(group->step, step ? step : "", len);
}

int64_t wtl_consumer_cpu_ns(const struct wtl_consumer *consumer)
{
	/* Of a process that only a GPU's driver sees, the start is not known. A hidden process has a CPU clock. */
	bool is_outside = !consumer->is_readable && consumer->start_ns == 0;

	return is_outside && consumer->cpu_ns == 0 ? -1 : consumer->cpu_ns;
}

void wtl_share_energy_add(struct wtl_share_energy *sum, const struct wtl_share_energy *more,
			  bool is_first)
{
	sum->has_dynamic = (is_first || sum->has_dynamic) && more->has_dynamic;
	sum->full_uj = wtl_add_sat(sum->full_uj, more->full_uj);
	sum->dynamic_uj = wtl_add_sat(sum->dynamic_uj, more->dynamic_uj);
	sum->uncertainty_uj = wtl_add_sat(sum->uncertainty_uj, more->uncertainty_uj);
	sum->full_uncertainty_uj = wtl_add_sat(sum->full_uncertainty_uj, more->full_uncertainty_uj);
	sum->idle_doubt_uj = wtl_add_sat(sum->idle_doubt_uj, more->idle_doubt_uj);
	sum->weight_doubt_uj = wtl_add_sat(sum->weight_doubt_uj, more->weight_doubt_uj);
	sum->full_weight_doubt_uj =
		wtl_add_sat(sum->full_weight_doubt_uj, more->full_weight_doubt_uj);
}

int64_t wtl_consumer_cpu_add(int64_t sum_ns, int64_t more_ns)
{
	if (sum_ns < 0 || more_ns < 0)
		return sum_ns < 0 ? more_ns : sum_ns;
	return __builtin_add_overflow(sum_ns, more_ns, &sum_ns) ? INT64_MAX : sum_ns;
}
