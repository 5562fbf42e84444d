/* SPDX-License-Identifier: MIT */
#include "history_bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "replay_bench.h"
#include "unit.h"

__attribute__((format(printf, 2, 3))) static void say(struct history_trace *trace,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	trace->len += (size_t)vsnprintf(trace->text + trace->len, HISTORY_TEXT_MAX - trace->len,
					format, args);
	va_end(args);
	assert_true(trace->len < HISTORY_TEXT_MAX);
}

/* ---- What is told of it ---- */

static void say_energies(struct history_trace *trace, const struct wattle_window *window,
			 const struct wattle_energy energies[])
{
	say(trace, " %.3f s %.6f J (%.6f J)", (double)window->duration_ns / 1e9,
	    (double)window->total.energy_uj / 1e6, (double)energies[0].energy_uj / 1e6);
}

static void say_consumers(struct history_trace *trace, const struct wtl_consumers *consumers)
{
	say(trace, "   ");
	for (size_t slot = 0; slot < wtl_consumers_slots(consumers); slot++) {
		const struct wtl_consumer *one = wtl_consumers_get(consumers, slot);
		struct wtl_share share = wtl_consumers_share(consumers, (uint32_t)slot, 0);
		struct wtl_share_energy all;

		if (!one || one->cpu_ns == 0)
			continue;
		say(trace, " %zu:%.8s %.3f s %.3f J", slot, one->name, (double)one->cpu_ns / 1e9,
		    (double)share.full_uj / 1e6);
		wtl_consumers_energy(consumers, slot, WTL_PART_ALL, &all);
		if (all.has_dynamic)
			say(trace, " (%.3f)", (double)all.dynamic_uj / 1e6);
	}
	say(trace, "\n");
}

static void say_step(struct history_trace *trace, const struct wtl_history *history,
		     const struct wtl_played *played)
{
	static const char *const kinds[] = {"sample", "begun",	"ended",   "cancelled", "billed",
					    "reset",  "second", "devices", "lost"};
	struct wtl_emission emission = wtl_history_emission(history);

	say(trace, "%6.3f %.3f %s %s%s", (double)(played->t_mono_ns - history->begin_mono_ns) / 1e9,
	    (double)(played->t_utc_ns - history->begin_utc_ns) / 1e9, kinds[played->kind],
	    played->window_name, played->is_cut ? " cut" : "");
	if (played->kind == WTL_PLAYED_ENDED || played->kind == WTL_PLAYED_BILLED)
		say_energies(trace, &played->window, played->energies);
	if (history->window)
		say(trace, " [%s%s%s%s %s]", history->window->name,
		    history->window->is_cut ? " cut" : "", history->window->is_main ? " main" : "",
		    history->window->is_open ? " open" : "",
		    history->window->has_energies ? "known" : "unknown");
	say(trace, ": %zu of %zu ended%s%s%s%s; %.3f J emitted, now %.3f\n", history->n_ended,
	    history->n_windows, wtl_history_is_waiting(history) ? ", waits" : "",
	    history->is_run_over ? ", run over" : "", history->is_unfinished ? ", unfinished" : "",
	    history->is_over ? ", over" : "", (double)emission.energy_uj / 1e6,
	    (double)(history->now_mono_ns - history->begin_mono_ns) / 1e9);
}

static void say_end(struct history_trace *trace, struct wtl_history *history)
{
	const struct wattle_energy *billed;
	struct wattle_window billed_window;

	wtl_history_update_open_windows(history);
	wtl_player_take_figures(history->player);
	/* A recorder that is not told its peak memory says nothing of it. */
	say(trace, "%s, %zu domains, %.3f s, own cpu %s, memory %" PRId64 ", %zu gaps, host %s\n",
	    history->is_summary ? "summary" : "played", history->n_domains,
	    (double)wtl_history_span_ns(history) / 1e9,
	    history->cpu_before_ns > 0 ? "before" : "from the start",
	    history->second.self_rss_bytes, history->n_gaps, wtl_history_fact(history, "host"));
	if (wtl_player_billed(history->player, &billed_window, &billed)) {
		say(trace, "  billed");
		say_energies(trace, &billed_window, billed);
		say(trace, "\n");
	}
	for (size_t i = 0; i < history->n_windows; i++) {
		const struct wtl_history_window *window = &history->windows[i];

		say(trace, "  %s%s%s%s", window->name, window->is_cut ? " cut" : "",
		    window->is_main ? " main" : "", window->is_open ? " open" : "");
		if (window->has_energies)
			say_energies(trace, &window->window, window->energies);
		say(trace, " %.3f J emitted\n", (double)window->emission.energy_uj / 1e6);
	}
	say_consumers(trace, history->consumers);
}

int history_bench_go(const char *path, const struct history_way *way, struct history_trace *trace)
{
	struct wtl_history *history = NULL;
	struct wtl_played played;
	struct wtl_err err = {.code = 0};
	int rc;

	trace->len = 0;
	rc = wtl_history_open(path, &way->options, &history, &err);
	if (rc == 0 && way->is_part)
		wtl_history_choose(history, way->from_ns, way->to_ns);
	while (rc >= 0 && (rc = wtl_history_step(history, &played, &err)) > 0) {
		bool is_dull = played.kind == WTL_PLAYED_SAMPLE || played.kind == WTL_PLAYED_SECOND;

		if (!way->is_short || !is_dull || history->is_over)
			say_step(trace, history, &played);
		if (played.kind == WTL_PLAYED_BILLED)
			say_consumers(trace, history->consumers);
	}
	if (rc == 0)
		rc = wtl_history_read_gaps(history);
	else
		assert_true(err.text[0] != '\0' && err.code == rc);
	if (rc == 0)
		say_end(trace, history);
	wtl_history_close(history);
	return rc;
}
