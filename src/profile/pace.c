/* SPDX-License-Identifier: MIT */
#include "profile/pace.h"

/* How many of 32 samples may be missed to become steady, and to stay so. */
enum { FEW = 1, SOME = 4 };

/* A sample may come this much early, as the one before may have been late. */
#define EARLY_NS INT64_C(50000)

void wtl_pace_init(struct wtl_pace *pace, unsigned hz)
{
	*pace = (struct wtl_pace){
		.period_ns = INT64_C(1000000000) / hz, .cpu = -1, .missed = UINT32_MAX};
}

static void note(struct wtl_pace *pace, bool is_missed)
{
	pace->missed = pace->missed << 1 | is_missed;
	pace->is_steady = __builtin_popcount(pace->missed) <= (pace->is_steady ? SOME : FEW);
}

void wtl_pace_take(struct wtl_pace *pace, int cpu, int64_t t_ns)
{
	int64_t late_ns = t_ns - pace->due_ns;

	note(pace, cpu != pace->cpu || late_ns < -EARLY_NS || late_ns > WTL_PACE_SLACK_NS);
	pace->cpu = cpu;
	pace->due_ns = t_ns + pace->period_ns;
}

void wtl_pace_lack(struct wtl_pace *pace, int64_t now_ns)
{
	if (now_ns >= pace->due_ns)
		note(pace, true);
}

int64_t wtl_pace_sleep(struct wtl_pace *pace, int64_t now_ns, int64_t ran_ns)
{
	pace->due_ns += ran_ns;
	if (pace->due_ns <= now_ns)
		pace->due_ns = now_ns + pace->period_ns;
	return pace->due_ns - now_ns;
}
