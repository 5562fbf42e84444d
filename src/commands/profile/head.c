/* SPDX-License-Identifier: MIT */
/* The lines above a profile: what it is of, and what is missing in it. */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "commands/profile/profile.h"
#include "document/format.h"
#include "text/layout.h"

enum {
	/* If more than one stack in CUT_PART is cut, --stack is suggested, unless it is STACK_MOST already. */
	CUT_PART = 20,
	STACK_MOST = 65528,
	HZ_LOW = 200, /* enough for most, and suggested where records were lost */
	/* If more than one part in UNSEEN_PART is not seen, a reason is told. */
	UNSEEN_PART = 20,
};

static size_t count_known(const struct wtl_profile *profile, bool is_modelled)
{
	size_t n = 0;

	for (size_t i = 0; i < profile->calls->n_domains; i++)
		n += profile->counts[i] && profile->domains[i].method != WATTLE_METHOD_NONE &&
		     (!is_modelled || profile->domains[i].method == WATTLE_METHOD_MODELLED);
	return n;
}

bool wtl_profile_has_energy(const struct wtl_profile *profile)
{
	return count_known(profile, false) > 0;
}

const char *wtl_profile_kind(const struct wtl_profile *profile)
{
	static const char *const kinds[3][3] = {
		{"(idle power is not known)", "(partly modelled; idle power is not known)",
		 "(modelled; idle power is not known)"},
		{"(idle power taken as none)", "(partly modelled; idle power taken as none)",
		 "(modelled; idle power taken as none)"},
		{"above idle", "above idle (partly modelled)", "above idle (modelled)"}};
	size_t n_modelled = count_known(profile, true);

	return kinds[profile->has_idle + wtl_profile_is_above_idle(profile)]
		    [(n_modelled > 0) +
		     (n_modelled > 0 && n_modelled == count_known(profile, false))];
}

void wtl_profile_put_sum(struct wtl_buf *buf, const struct wtl_profile *profile,
			 const struct wtl_output_style *style)
{
	if (wtl_profile_has_energy(profile))
		wtl_buf_printf(buf, "%.3f %s %.3f J %s", (double)profile->dynamic_uj / 1e6,
			       wtl_layout_plus_minus(style), (double)profile->uncertainty_uj / 1e6,
			       wtl_profile_kind(profile));
	else
		wtl_buf_puts(buf, "no energy is known (wattle doctor says why)");
}

static void put_python(struct wtl_buf *buf, const struct wtl_python *python, const char *of)
{
	if (python->n_merged > 0) {
		wtl_buf_printf(buf,
			       "%sPython: of %" PRIu64 " samples, %" PRIu64
			       " have a function that is not known",
			       of, python->n_merged, python->n_missing);
		if (python->n_moved > 0)
			wtl_buf_printf(buf, ", and %" PRIu64 " are told without what C did",
				       python->n_moved);
		wtl_buf_putc(buf, '\n');
	}
	if (python->n_unknown > 0)
		wtl_buf_printf(
			buf,
			"%sPython: no function is known of %" PRIu64
			" process%s: their CPython is not 3.8 to 3.14, or their memory may not "
			"be read (sysctl kernel.yama.ptrace_scope)\n",
			of, python->n_unknown, python->n_unknown == 1 ? "" : "es");
}

static void put_waits(struct wtl_buf *buf, const struct wtl_profile *profile)
{
	const struct wtl_split_result *split = profile->split;
	const struct wtl_trace *trace = profile->trace;
	double wait_s = (double)profile->calls->all[0].wait_ns / 1e9, cpu_s = 0.0;

	if (!split->wait_ns)
		return;
	for (size_t i = 0; i < split->n_nodes + WTL_SPLIT_ROWS; i++)
		cpu_s += (double)split->cpu_ns[i] / 1e9;
	wtl_buf_printf(
		buf,
		"its threads were on a processor for %.3f s and waited for %.3f s, %.3f s in "
		"all: waiting takes no energy of theirs\n",
		cpu_s, wait_s, cpu_s + wait_s);
	if (!profile->meter)
		return;
	if (trace->lacks_turns)
		wtl_buf_printf(buf, "%s\n",
			       trace->python.is_looked
				       ? "what a thread waited in is where it was seen last"
				       : "waits of less than 0.1 s may be charged to where the "
					 "thread ran last: sysctl kernel.perf_event_paranoid=1, "
					 "or CAP_PERFMON, shows where they were");
	else if (trace->guessed_ns + trace->unplaced_ns >
		 profile->calls->all[0].wait_ns / UNSEEN_PART)
		wtl_buf_printf(
			buf,
			"of the waiting, %.3f s were not shown: %.3f s are charged to where the thread "
			"was seen shortly before or after, %.3f s are [unresolved] (a higher --rate shows "
			"more)\n",
			(double)(trace->guessed_ns + trace->unplaced_ns) / 1e9,
			(double)trace->guessed_ns / 1e9, (double)trace->unplaced_ns / 1e9);
}

/* Lost or incomplete samples. */
static void put_losses(struct wtl_buf *buf, const struct wtl_trace *trace, const char *of)
{
	const struct {
		uint64_t n;
		const char *one, *more;
	} losses[] = {
		{trace->n_lost, "record was lost", "records were lost"},
		{trace->n_broken, "stack is not whole", "stacks are not whole"},
		{trace->n_joined, "large stack was read up to 1 ms later",
		 "large stacks were read up to 1 ms later"},
		{trace->n_unresolved, "sample has no stack", "samples have no stack"},
	};
	const char *between = of;

	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		if (losses[i].n == 0)
			continue;
		wtl_buf_printf(buf, "%s%" PRIu64 " %s", between, losses[i].n,
			       losses[i].n == 1 ? losses[i].one : losses[i].more);
		between = ", ";
	}
	if (between != of)
		wtl_buf_putc(buf, '\n');
}

static void put_kernel(struct wtl_buf *buf, const struct wtl_profile *profile)
{
	const struct wtl_split_result *split = profile->split;
	int64_t unseen_ns = split->cpu_ns[split->n_nodes + WTL_SPLIT_UNSAMPLED];

	if (profile->meter && profile->trace->lacks_kernel &&
	    unseen_ns > (profile->calls->all[0].cpu_ns + unseen_ns) / UNSEEN_PART)
		wtl_buf_puts(buf, "time in the kernel is not sampled, and may be in what was not "
				  "seen: sysctl kernel.perf_event_paranoid=1, or CAP_PERFMON, "
				  "shows it\n");
}

static void put_loss_hint(struct wtl_buf *buf, const struct wtl_profile *profile, const char *of)
{
	if (profile->trace->n_lost == 0)
		return;
	wtl_buf_printf(
		buf,
		"%sthe profiler waited too long for a processor to read them: fewer are lost "
		"with less load",
		of);
	if (profile->hz > HZ_LOW)
		wtl_buf_printf(buf, ", or with --rate %d", HZ_LOW);
	wtl_buf_putc(buf, '\n');
}

static void put_cut_stacks(struct wtl_buf *buf, const struct wtl_calls *calls)
{
	const char *name = NULL;
	uint64_t n = 0;

	for (size_t i = 0; i < calls->tree.n_names && !name; i++)
		if (strcmp(calls->tree.names[i], WTL_TRACE_REST) == 0)
			name = calls->tree.names[i];
	for (uint32_t i = 1; name && i < calls->tree.n_nodes; i++)
		if (wtl_calls_name(calls, i) == name)
			n += calls->all[i].n_samples;
	if (n > 0)
		wtl_buf_printf(buf,
			       "there were too many different stacks: of %" PRIu64
			       " sample%s not all callers are kept\n",
			       n, n == 1 ? "" : "s");
}

void wtl_profile_head(struct wtl_buf *buf, const struct wtl_profile *profile,
		      const struct wtl_output_style *style)
{
	const struct wtl_trace *trace = profile->trace;
	const char *of = profile->only ? "in all of the profile: " : "";

	wtl_buf_puts(buf, "wattle profile: ");
	wtl_profile_put_sum(buf, profile, style);
	wtl_buf_printf(buf, ", %.3f s, %zu samples at %u Hz, %zu thread%s\n",
		       (double)profile->window->duration_ns / 1e9, trace->n_samples, profile->hz,
		       trace->n_threads, trace->n_threads == 1 ? "" : "s");
	if (profile->policy)
		wtl_buf_printf(buf, "computed again with --policy %s\n", profile->policy);
	if (profile->only)
		wtl_buf_printf(buf, "in the window '%s' only\n", profile->only);
	put_losses(buf, trace, of);
	put_loss_hint(buf, profile, of);
	if (trace->n_cut * CUT_PART > trace->n_samples + trace->n_turns &&
	    profile->stack_bytes < STACK_MOST)
		wtl_buf_printf(buf, "%smore of them are whole with --stack %d\n", of, STACK_MOST);
	if (trace->n_halved)
		wtl_buf_printf(buf, "it was long: one of %" PRIu64 " samples is kept\n",
			       UINT64_C(1) << trace->n_halved);
	put_cut_stacks(buf, profile->calls);
	if (trace->is_full)
		wtl_buf_puts(buf, "there was too little memory: what came later is missing\n");
	if (profile->n_unseen)
		wtl_buf_printf(buf,
			       "nothing was seen of %zu of its processes: they ended too soon, are "
			       "another user's, or run a program that may not be read\n",
			       profile->n_unseen);
	put_kernel(buf, profile);
	put_waits(buf, profile);
	put_python(buf, &trace->python, of);
	wtl_buf_printf(buf, "%sthe profiler used %.3f s of CPU time\n\n", of,
		       (double)profile->own_cpu_ns / 1e9);
}
