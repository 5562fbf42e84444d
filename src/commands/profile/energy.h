/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_ENERGY_H
#define WTL_COMMANDS_PROFILE_ENERGY_H

#include "commands/profile/profile.h"
#include "meter/consumers.h"
#include "profile/split.h"

/*
 * A program's energy over time, to be divided among its stacks: from a meter and its consumers, which measure now or
 * replay a recording.
 */
struct wtl_profile_energy {
	struct wattle_meter *meter;
	const struct wtl_consumers *consumers; /* the followed program is the one profiled */
	const char *window;		       /* the meter's window of the whole profile */
	int own_pid;			       /* the PID of the wattle that measured */
	struct wtl_split split;
	struct wattle_energy *energies; /* one per domain */
	bool *learns, *launches;	/* the split borrows them */
	struct wtl_consumers_sum sum;	/* the program's sums at the last bill */
	int64_t billed_ns;		/* CPU time of the program, up to the last bill */
};

/* 0 or -ENOMEM; done() in any case. */
int wtl_profile_energy_init(struct wtl_profile_energy *energy, struct wattle_meter *meter,
			    const char *window);
void wtl_profile_energy_done(struct wtl_profile_energy *energy);
/* The window has begun just now. */
void wtl_profile_energy_begin(struct wtl_profile_energy *energy);
/* At each sample: a tick with the window's energies; tick() takes those in `energies`, as the window has ended. */
void wtl_profile_energy_look(struct wtl_profile_energy *energy);
void wtl_profile_energy_tick(struct wtl_profile_energy *energy);
/* At each bill. */
void wtl_profile_energy_bill(struct wtl_profile_energy *energy);
/* After the last bill: takes idle power out, as it is known best now. */
void wtl_profile_energy_end(struct wtl_profile_energy *energy);
/* Fills a profile's sums, and its domains, ledgers and counts, which the caller frees. 0 or -ENOMEM. */
int wtl_profile_energy_describe(const struct wtl_profile_energy *energy,
				struct wtl_profile *profile);

#endif
