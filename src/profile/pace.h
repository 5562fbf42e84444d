/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_PACE_H
#define WTL_PROFILE_PACE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * When the next sample is due. To be woken by the kernel for each sample costs the program nearly as much as the sample
 * (see record.h). But a thread that goes on is sampled again a period later, by a timer of its processor; and a timer of
 * the reader's on the same processor that is due just before, and has slack, is run in the same interrupt.
 */

/* How much slack the reader's timers need. */
#define WTL_PACE_SLACK_NS INT64_C(200000)

struct wtl_pace {
	int64_t period_ns;
	int64_t due_ns;
	int cpu;
	uint32_t missed; /* of the last 32 samples, those that came at another time; a bit each */
	bool is_steady;	 /* hardly any did */
};

void wtl_pace_init(struct wtl_pace *pace, unsigned hz);
/* A sample was taken there and then. */
void wtl_pace_take(struct wtl_pace *pace, int cpu, int64_t t_ns);
/* The reader was woken at that time, and there was none. */
void wtl_pace_lack(struct wtl_pace *pace, int64_t now_ns);
/* The reader sleeps now, having run in the thread's place for so long. How long until the next one. */
int64_t wtl_pace_sleep(struct wtl_pace *pace, int64_t now_ns, int64_t ran_ns);

#endif
