/* SPDX-License-Identifier: MIT */
#include "document/recording.h"

#include <errno.h>
#include <string.h>

#include "document/format.h"
#include "document/words.h"

const char *const wtl_by_names[WTL_BYS + 1] = {
	[WTL_BY_PROCESS] = "process", [WTL_BY_USER] = "user",
	[WTL_BY_COMMAND] = "command", [WTL_BY_CONTAINER] = "container",
	[WTL_BY_POD] = "pod",	      [WTL_BY_UNIT] = "unit",
	[WTL_BY_JOB] = "job",	      [WTL_BY_CGROUP] = "cgroup",
	[WTL_BY_WINDOW] = "window",
};

enum wtl_field wtl_by_field(enum wtl_by by)
{
	return wtl_field_find(wtl_by_names[by], strlen(wtl_by_names[by]));
}

const char *wtl_by_name(enum wtl_by by)
{
	return wtl_by_names[by];
}

const char *wtl_by_plural(enum wtl_by by)
{
	static const char *const plurals[WTL_BYS] = {
		[WTL_BY_PROCESS] = "processes", [WTL_BY_USER] = "users",
		[WTL_BY_COMMAND] = "commands",	[WTL_BY_CONTAINER] = "containers",
		[WTL_BY_POD] = "pods",		[WTL_BY_UNIT] = "units",
		[WTL_BY_JOB] = "jobs",		[WTL_BY_CGROUP] = "cgroups",
		[WTL_BY_WINDOW] = "windows",
	};

	return plurals[by];
}

bool wtl_run_rate_ng_per_s(const struct wtl_run *run, uint64_t *ret_ng_per_s)
{
	const struct wattle_window *window = &run->report.window;
	unsigned __int128 rate;

	if (wtl_words_not_all_emitted(&run->report.carbon, &window->total) ||
	    window->duration_ns <= 0)
		return false;
	/* 1e9 ns in a second. */
	rate = (unsigned __int128)wtl_words_emitted_ng(&run->report.carbon) * 1000000000u /
	       (uint64_t)window->duration_ns;
	*ret_ng_per_s = rate > UINT64_MAX ? UINT64_MAX : (uint64_t)rate;
	return true;
}

/* A grouping holds the same consumers in other rows, so its sum is theirs. */
static bool is_same_sum(const struct wtl_recording_grouping *grouping, uint64_t processes_uj)
{
	uint64_t sum_uj = grouping->others.all.full_uj;

	for (size_t i = 0; i < grouping->n_groups; i++) {
		const struct wtl_share_energy *all = &grouping->groups[i].all;

		if (__builtin_add_overflow(sum_uj, all->full_uj, &sum_uj) ||
		    (all->has_dynamic && all->dynamic_uj > all->full_uj))
			return false;
	}
	return sum_uj == processes_uj;
}

int wtl_recording_check(const void *what)
{
	const struct wtl_recording *recording = what;
	uint64_t processes_uj;
	int rc = wtl_ledgers_check(&recording->report);

	if (rc < 0)
		return rc;
	if (!wtl_words_processes_uj(&recording->report, &processes_uj))
		return -EPROTO;
	for (size_t i = 0; i < recording->n_groupings; i++)
		if (!is_same_sum(&recording->groupings[i], processes_uj))
			return -EPROTO;
	return 0;
}

int wtl_comparison_check(const void *what)
{
	const struct wtl_comparison *comparison = what;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < comparison->n_recordings; i++)
		rc = wtl_recording_check(&comparison->recordings[i]);
	return rc;
}

int wtl_runs_check(const void *what)
{
	const struct wtl_runs *runs = what;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < runs->n_runs; i++)
		rc = wtl_ledgers_check(&runs->runs[i].report);
	return rc;
}
