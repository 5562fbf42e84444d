/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_PACE_H
#define WTL_PROFILE_PACE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Predicts when the next sample is due. A wakeup by the kernel for each sample costs the program nearly as much as the
 * sample (see record.h). But a thread that runs on is sampled again a period later, by a timer of its processor. A
 * timer of the reader on the same processor, due just before and with slack, runs in the same interrupt.
 */

/* How much slack the reader's timers need. */
#define WTL_PACE_SLACK_NS INT64_C(200000)

struct wtl_pace {
	int64_t period_ns;
	int64_t due_ns;
	int cpu;
	uint32_t missed; /* a bit for each of the last 32 samples: it came at another time */
	bool is_steady;	 /* hardly any samples were missed */
};

void wtl_pace_init(struct wtl_pace *pace, unsigned hz);
/* A sample was taken on that processor at that time. */
void wtl_pace_take(struct wtl_pace *pace, int cpu, int64_t t_ns);
/* The reader woke at that time and found no sample. */
void wtl_pace_lack(struct wtl_pace *pace, int64_t now_ns);
/* The reader goes to sleep, after it ran for ran_ns in the thread's place. Returns the ns until the next sample. */
int64_t wtl_pace_sleep(struct wtl_pace *pace, int64_t now_ns, int64_t ran_ns);

#endif
