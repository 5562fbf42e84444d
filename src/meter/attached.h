/* SPDX-License-Identifier: MIT */
#ifndef WTL_METER_ATTACHED_H
#define WTL_METER_ATTACHED_H

#include "meter/session.h"

/* What a meter has that was opened with attribution. All functions but the public ones are called with its lock
 * held. */

struct wattle_set {
	struct wattle_meter *meter;
	unsigned number;
};

/* What a chosen set's members have used up to some moment. */
struct wtl_set_account {
	bool is_known;
	struct wtl_consumers_sum sum;
};

struct wtl_attached {
	struct wtl_session session;
	char *idle_path;
	uint16_t sets; /* those that are chosen, a bit each */
	struct wattle_set set[WTL_SETS_MAX];
	/* The sets' accounts: as of the last bill, of when they were chosen, and of when each
	 * window began (WTL_SETS_MAX each). NULL until a set is chosen. */
	struct wtl_set_account *now, *chosen, *marks;
	struct wtl_share *shares; /* of all of these; before them, those of one sum to work with */
};

/* By the meter's options. 0, or negative; wtl_attached_close() in any case. */
int wtl_attached_open(struct wattle_meter *meter, struct wtl_err *err);
void wtl_attached_close(struct wattle_meter *meter);

/* After a sample, for meters without attribution too. _tick() bills if that is due, _bill() in any case. */
void wtl_attached_tick(struct wattle_meter *meter);
void wtl_attached_bill(struct wattle_meter *meter);

/* This process by the number that /proc has for it. */
int wtl_meter_own_pid(struct wattle_meter *meter);

#endif
