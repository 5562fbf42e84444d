/* SPDX-License-Identifier: MIT */
#include "profile/waits.h"

/* The stack was copied just before the thread left. */
#define SAME_NS INT64_C(100000)
/* With more CPU time between, a program may be in another function; */
#define NEAR_CPU_NS INT64_C(2000000)
/* or, after many switches, with more time between: the kernel shows a thread that often leaves often. */
#define NEAR_NS INT64_C(20000000)
enum { NEAR_TURNS = 4 };
/* From the same instruction with the same stack pointer, whatever ran meanwhile: another function may get there too. */
#define AGAIN_NS INT64_C(50000000)

static bool is_near(struct wtl_waits_moment from, struct wtl_waits_moment to, uint32_t turns)
{
	return to.cpu_ns - from.cpu_ns <= NEAR_CPU_NS &&
	       (turns <= NEAR_TURNS || to.t_ns - from.t_ns <= NEAR_NS);
}

static bool is_again(struct wtl_waits_moment from, struct wtl_waits_moment to)
{
	return from.mark && from.mark == to.mark && to.t_ns - from.t_ns <= AGAIN_NS;
}

/* The node where the thread was shown to leave from the same place shortly before; 0: it was not. */
static uint32_t node_of(const struct wtl_waits *waits, struct wtl_waits_moment left)
{
	for (unsigned i = 0; i < WTL_WAITS_MARKS && left.mark; i++)
		if (waits->marks[i].mark == left.mark)
			return left.t_ns - waits->marks[i].t_ns <= AGAIN_NS ? waits->marks[i].node
									    : 0;
	return 0;
}

/* Keeps where that place is, instead of what was kept first. */
static void keep(struct wtl_waits *waits, uint32_t node, struct wtl_waits_moment left)
{
	unsigned at = 0;

	if (!node || !left.mark)
		return;
	for (unsigned i = 0; i < WTL_WAITS_MARKS; i++) {
		if (waits->marks[i].mark == left.mark) {
			at = i;
			break;
		}
		at = waits->marks[i].t_ns < waits->marks[at].t_ns ? i : at;
	}
	waits->marks[at].mark = left.mark;
	waits->marks[at].node = node;
	waits->marks[at].t_ns = left.t_ns;
}

static int64_t between(int64_t from, int64_t to, double part)
{
	return from + (int64_t)(part * (double)(to - from));
}

/* Joins the two waits nearest to each other into one between them. */
static void join(struct wtl_waits *waits)
{
	struct wtl_waits_open *one, *other;
	unsigned at = 0;
	double part;

	for (unsigned i = 1; i + 1 < waits->n; i++)
		if (waits->open[i + 1].left.cpu_ns - waits->open[i].left.cpu_ns <
		    waits->open[at + 1].left.cpu_ns - waits->open[at].left.cpu_ns)
			at = i;
	one = &waits->open[at];
	other = one + 1;
	part = (double)other->wait_ns / (double)(one->wait_ns + other->wait_ns);
	one->left.cpu_ns = between(one->left.cpu_ns, other->left.cpu_ns, part);
	one->left.t_ns = between(one->left.t_ns, other->left.t_ns, part);
	if (one->left.mark != other->left.mark)
		one->left.mark = 0;
	one->turn += (uint32_t)(part * (other->turn - one->turn));
	one->wait_ns += other->wait_ns;
	waits->n--;
	for (unsigned i = at + 1; i < waits->n; i++)
		waits->open[i] = waits->open[i + 1];
}

void wtl_waits_add(struct wtl_waits *waits, struct wtl_waits_moment left, int64_t wait_ns,
		   wtl_waits_place_fn *place, void *context)
{
	bool is_shown = waits->n_turns++ == 0 && waits->node &&
			left.cpu_ns - waits->shown.cpu_ns <= SAME_NS;
	uint32_t node = is_shown ? waits->node : node_of(waits, left);

	if (node) {
		place(context, node, wait_ns, !is_shown);
		return;
	}
	if (waits->n == WTL_WAITS_OPEN)
		join(waits);
	waits->open[waits->n++] = (struct wtl_waits_open){left, waits->n_turns, wait_ns};
}

/* next: where the thread is shown next; 0: nowhere. */
static void place_open(struct wtl_waits *waits, uint32_t next, struct wtl_waits_moment left,
		       wtl_waits_place_fn *place, void *context)
{
	for (unsigned i = 0; i < waits->n; i++) {
		struct wtl_waits_moment at = waits->open[i].left;
		bool is_before = waits->node && is_near(waits->shown, at, waits->open[i].turn);
		bool is_after = next && is_near(at, left, waits->n_turns - waits->open[i].turn);

		if (is_before && is_after)
			is_before = at.cpu_ns - waits->shown.cpu_ns <= left.cpu_ns - at.cpu_ns;
		if (next && is_again(at, left)) {
			is_before = false;
			is_after = true;
		}
		place(context,
		      is_before	 ? waits->node
		      : is_after ? next
				 : 0,
		      waits->open[i].wait_ns, is_before || is_after);
	}
	waits->n = 0;
}

void wtl_waits_show(struct wtl_waits *waits, uint32_t node, struct wtl_waits_moment left,
		    wtl_waits_place_fn *place, void *context)
{
	place_open(waits, node, left, place, context);
	waits->node = node;
	waits->n_turns = 0;
	waits->shown = left;
	keep(waits, node, left);
}

void wtl_waits_end(struct wtl_waits *waits, wtl_waits_place_fn *place, void *context)
{
	place_open(waits, 0, waits->shown, place, context);
}
