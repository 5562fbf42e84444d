/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_ENERGY_H
#define WTL_COMMANDS_PROFILE_ENERGY_H

#include "commands/profile/profile.h"
#include "meter/consumers.h"
#include "profile/split.h"

/*
 * What a program used over time, which is divided among its stacks: from a meter and its consumers, whether they measure
 * now or are fed with what was recorded.
 */
struct wtl_profile_energy {
	struct wattle_meter *meter;
	const struct wtl_consumers *consumers; /* the program is what is followed */
	const char *window;		       /* the meter's, all of it */
	int own_pid;			       /* of the wattle that measured */
	struct wtl_split split;
	struct wattle_energy *energies; /* one a domain */
	bool *learns, *launches;	/* of the split */
	struct wtl_consumers_sum sum;	/* the program's, at the last bill */
	int64_t billed_ns;		/* CPU time of the program, up to the last bill */
};

/* 0 or -ENOMEM; done() in any case. */
int wtl_profile_energy_init(struct wtl_profile_energy *energy, struct wattle_meter *meter,
			    const char *window);
void wtl_profile_energy_done(struct wtl_profile_energy *energy);
/* The window has begun just now. */
void wtl_profile_energy_begin(struct wtl_profile_energy *energy);
/* With each sample: the window's energies so far; or those that are in energies already, as the window has ended. */
void wtl_profile_energy_look(struct wtl_profile_energy *energy);
void wtl_profile_energy_tick(struct wtl_profile_energy *energy);
/* With each bill. */
void wtl_profile_energy_bill(struct wtl_profile_energy *energy);
/* Nothing more comes: idle power is taken out, as it is known best now. */
void wtl_profile_energy_end(struct wtl_profile_energy *energy);
/* Domains, ledgers and counts, which the caller frees, and the sums of a profile. 0 or -ENOMEM. */
int wtl_profile_energy_describe(const struct wtl_profile_energy *energy,
				struct wtl_profile *profile);

#endif
