/* SPDX-License-Identifier: MIT */
#include "workload/busy.h"

#include "energy/units.h"

enum { SUSPEND_MIN_NS = 100000000 };

/* Both clocks' steps are as they should be: no suspend, nothing stepped back. */
static bool goes_on(const struct wtl_busy *busy, const struct wtl_proc_machine *machine,
		    int64_t mono_step_ns, int64_t boot_step_ns)
{
	uint64_t idle_ticks = machine->idle_ticks + machine->steal_ticks;
	/* A CPU that leaves its wait for a disk may take a tick or two back. */
	uint64_t slack_ticks = 2U * busy->n_cpus;

	return busy->is_known && machine->n_cpus == busy->n_cpus && mono_step_ns >= 0 &&
	       boot_step_ns - mono_step_ns < SUSPEND_MIN_NS &&
	       idle_ticks + slack_ticks >= busy->idle_ticks;
}

void wtl_busy_scan(struct wtl_busy *busy, const struct wtl_proc_machine *machine, int64_t t_mono_ns,
		   int64_t t_boot_ns)
{
	int64_t step_ns = t_mono_ns - busy->t_mono_ns;
	uint64_t idle_ticks = machine->idle_ticks + machine->steal_ticks;
	uint64_t interrupt_ticks = machine->hard_ticks + machine->soft_ticks;

	/*
	 * Where interrupts are not accounted for, their time is the interrupted task's, and the
	 * columns are samples: the tick never finds itself in a hard one, so that column stays 0.
	 */
	busy->has_interrupts = machine->hard_ticks > 0;
	if (goes_on(busy, machine, step_ns, t_boot_ns - busy->t_boot_ns)) {
		busy->capacity_ns = step_ns * (int64_t)machine->n_cpus;
		busy->left_ns += busy->capacity_ns -
				 (int64_t)(idle_ticks - busy->idle_ticks) * WTL_NS_PER_TICK;
		if (busy->has_interrupts && interrupt_ticks > busy->interrupt_ticks)
			busy->interrupts_ns += (int64_t)(interrupt_ticks - busy->interrupt_ticks) *
					       WTL_NS_PER_TICK;
	} else {
		busy->capacity_ns =
			busy->is_known && step_ns > 0 ? step_ns * (int64_t)machine->n_cpus : 0;
		busy->left_ns = 0;
		busy->interrupts_ns = 0;
		busy->is_known = false;
	}
	busy->n_cpus = machine->n_cpus;
	busy->t_mono_ns = t_mono_ns;
	busy->t_boot_ns = t_boot_ns;
	busy->idle_ticks = idle_ticks;
	busy->interrupt_ticks = interrupt_ticks;
}

void wtl_busy_lost(struct wtl_busy *busy)
{
	*busy = (struct wtl_busy){.is_known = false};
}

void wtl_busy_bill(struct wtl_busy *busy, int64_t use_ns)
{
	busy->left_ns -= use_ns;
}

int64_t wtl_busy_left(const struct wtl_busy *busy)
{
	return busy->is_known && busy->left_ns > 0 ? busy->left_ns : 0;
}

int64_t wtl_busy_room(const struct wtl_busy *busy)
{
	int64_t room_ns = busy->left_ns + WTL_BUSY_SLACK_NS;

	return busy->is_known && room_ns > 0 ? room_ns : 0;
}

int64_t wtl_busy_take_interrupts(struct wtl_busy *busy)
{
	int64_t taken_ns = wtl_busy_left(busy);

	if (taken_ns > busy->interrupts_ns)
		taken_ns = busy->interrupts_ns;
	busy->interrupts_ns -= taken_ns;
	/* What does not fit is not owed for ever. */
	if (busy->interrupts_ns > WTL_BUSY_SLACK_NS)
		busy->interrupts_ns = WTL_BUSY_SLACK_NS;
	busy->left_ns -= taken_ns;
	return taken_ns;
}

int64_t wtl_busy_take_unseen(struct wtl_busy *busy)
{
	int64_t taken_ns = 0;

	if (!busy->is_known) {
		/* From here on the sums hold. */
		busy->is_known = busy->n_cpus > 0;
		busy->left_ns = 0;
		return 0;
	}
	if (busy->left_ns > 2 * WTL_BUSY_SLACK_NS)
		taken_ns = busy->left_ns - WTL_BUSY_SLACK_NS;
	busy->left_ns -= taken_ns;
	/* Tasks cannot have used more than there was: clocks that differ must not hide later use. */
	if (busy->left_ns < -2 * WTL_BUSY_SLACK_NS)
		busy->left_ns = -2 * WTL_BUSY_SLACK_NS;
	return taken_ns;
}
