/* SPDX-License-Identifier: MIT */
#include "report/description.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "document/format.h"
#include "document/words.h"
#include "energy/carbon.h"
#include "energy/units.h"
#include "meter/calibrated.h"
#include "meter/meter.h"
#include "sensors/cpu_tdp.h"
#include "sensors/rapl.h"
#include "sensors/share_text.h"

/* Full load per logical CPU for a processor that is not in the table (as sensors/model.c). */
#define WATT_PER_CPU_UW UINT64_C(4000000)
#define MODEL_GAIN	0.5

int wtl_description_init(struct wtl_description *description, const struct wattle_meter *meter)
{
	memset(description, 0, sizeof(*description));
	description->n_domains = wattle_meter_domains(meter);
	description->domains = calloc(description->n_domains + 1, sizeof(*description->domains));
	description->energies = calloc(description->n_domains + 1, sizeof(*description->energies));
	if (description->domains && description->energies)
		return 0;
	wtl_description_done(description);
	return -ENOMEM;
}

void wtl_description_done(struct wtl_description *description)
{
	free(description->domains);
	free(description->energies);
	free(description->processes);
	free(description->attributed);
	memset(description, 0, sizeof(*description));
}

void wtl_describe_note(struct wtl_description *description, const char *format, ...)
{
	size_t most = sizeof(description->notes) / sizeof(description->notes[0]);
	char *text;
	va_list args;

	if (description->n_notes == most)
		return;
	text = description->notes_text[description->n_notes];
	va_start(args, format);
	vsnprintf(text, sizeof(description->notes_text[0]), format, args);
	va_end(args);
	description->notes[description->n_notes++] = text;
}

static void note_unmeasured(struct wtl_description *description)
{
	const struct wattle_domain *why = NULL;
	size_t measured = 0;

	for (size_t i = 0; i < description->n_domains; i++) {
		const struct wtl_report_domain *line = &description->domains[i];
		bool figure = line->energy.has_energy;

		measured += figure && line->domain.method != WATTLE_METHOD_MODELLED;
		if (!why && line->domain.reason &&
		    (!figure || line->domain.method == WATTLE_METHOD_MODELLED))
			why = &line->domain;
	}
	if (measured)
		return;
	wtl_describe_note(description, "Nothing here is measured%s%s%s%s.", why ? ": " : "",
			  why ? why->reason : "", why && why->remedy ? ". To change that: " : "",
			  why && why->remedy ? why->remedy : "");
}

const char *wtl_describe_coarse(const struct wattle_meter *meter, size_t domain)
{
	int primary = meter->domains[domain].domain.primary;
	const struct wtl_channel *channel = primary < 0 ? NULL : &meter->catalog.channels[primary];

	if (!channel)
		return NULL;
	if (wtl_share_is_told(channel))
		return channel->unit.num == WTL_RAPL_COARSE_UJ
			       ? "told by the machine's agent (wattle serve): totals, once a "
				 "second, in steps of 10 mJ"
			       : "told by the machine's agent (wattle serve), from its newest "
				 "sample";
	if (!wtl_rapl_is_coarse(channel))
		return NULL;
	return "read once a second, in steps of 10 mJ: the right to it is the program's, not the "
	       "user's";
}

static void note_coarse(struct wtl_description *description, const struct wattle_meter *meter)
{
	size_t i = 0;

	while (i < description->n_domains && !wtl_describe_coarse(meter, i))
		i++;
	if (i < description->n_domains &&
	    strcmp(description->domains[i].domain.source, WTL_SHARE_SOURCE) == 0)
		wtl_describe_note(description,
				  "The machine's agent (wattle serve) tells what this user may not "
				  "read: its newest sample, once a second unless it was started "
				  "otherwise. A run of less has no figure (docs/share.md).");
	else if (i < description->n_domains)
		wtl_describe_note(description,
				  "The counters of %s are read once a second, in steps of 10 mJ: "
				  "the right to them is the program's, not the user's. A group "
				  "that may read energy_uj is not limited (docs/permissions.md).",
				  description->domains[i].domain.source);
}

void wtl_description_fill(struct wtl_description *description, struct wattle_meter *meter)
{
	for (size_t i = 0; i < description->n_domains; i++) {
		struct wtl_report_domain *line = &description->domains[i];

		memset(line, 0, sizeof(*line));
		wtl_meter_domain(meter, i, &line->domain);
		line->energy = description->energies[i];
		if (!line->energy.has_energy && !line->domain.reason)
			line->domain.reason = wtl_describe_coarse(meter, i);
		/* Until somebody is known to have used it. */
		line->ledger.unattributed_uj = line->energy.energy_uj;
		line->ledger.total_uj = line->energy.energy_uj;
	}
	description->n_notes = 0;
	note_unmeasured(description);
}

void wtl_describe_lost_exits(struct wtl_description *description, uint64_t n_times)
{
	char times[40] = "";

	if (n_times > 0)
		snprintf(times, sizeof(times), "%" PRIu64 " time%s, ", n_times,
			 n_times == 1 ? "" : "s");
	wtl_describe_note(
		description,
		"Records of processes that ended were lost (%sbecause too many came at once): some "
		"that lived shortly are not listed, and what they used is their parents', or "
		"not attributed.",
		times);
}

void wtl_describe_losses(struct wtl_description *description, uint64_t n_exits,
			 uint64_t n_unfollowed)
{
	if (n_exits > 0)
		wtl_describe_lost_exits(description, n_exits);
	if (n_unfollowed > 0)
		wtl_describe_note(description,
				  "There was no room to follow %" PRIu64
				  " process%s: what %s used is "
				  "not attributed.",
				  n_unfollowed, n_unfollowed == 1 ? "" : "es",
				  n_unfollowed == 1 ? "it" : "they");
}

void wtl_describe_clock_step(struct wtl_description *description, int64_t by_ns, const char *times)
{
	struct wtl_buf by;

	/* A smaller difference may come from slewing, or from reading two clocks one after the other. */
	if (by_ns > -WTL_NS_PER_S && by_ns < WTL_NS_PER_S)
		return;
	wtl_buf_init(&by, 64);
	wtl_format_duration(&by, by_ns == INT64_MIN ? INT64_MAX : llabs(by_ns), true);
	wtl_describe_note(description,
			  "The clock was set %s by %s while this was measured: times are %s.",
			  by_ns < 0 ? "back" : "forward", wtl_buf_str(&by), times);
	wtl_buf_done(&by);
}

void wtl_describe_no_command(struct wtl_description *description)
{
	wtl_describe_note(description,
			  "Which of the processes is the command cannot be told: /proc is not that "
			  "of wattle's PID namespace. To change that: mount the one that is.");
}

/* Rounds the uncertainty up. */
static void set_uncertainty(struct wtl_report_carbon *carbon, double uncertainty_ug)
{
	/* So that less than half a microgram is 0 +/- 1, not nothing. */
	double up_ug = ceil(uncertainty_ug);

	carbon->uncertainty_ug = (uint64_t)up_ug;
	carbon->uncertainty_rest_ng = -(int32_t)floor((up_ug - uncertainty_ug) * 1e3);
}

void wtl_describe_carbon(const struct wtl_report_place *place, const struct wattle_energy *total,
			 struct wtl_report_carbon *ret_carbon)
{
	struct wtl_report_carbon *carbon = ret_carbon;
	const uint64_t mg_per_kwh = place->carbon.intensity_mg_per_kwh;

	memset(carbon, 0, sizeof(*carbon));
	carbon->carbon = place->carbon;
	carbon->is_default = place->is_default;
	carbon->pue_milli = place->pue_milli;
	if (!total->has_energy)
		return;
	carbon->emitted_ug = wattle_carbon_ug(&place->carbon, total->energy_uj);
	carbon->emitted_rest_ng =
		wtl_carbon_rest_ng((unsigned __int128)total->energy_uj * mg_per_kwh);
	set_uncertainty(carbon, wattle_carbon_uncertainty_ug(&place->carbon, total->energy_uj,
							     total->uncertainty_uj));
}

void wtl_describe_emission(const struct wtl_report_place *place, const char *file,
			   const struct wtl_emission *emission, const struct wattle_energy *total,
			   struct wtl_report_carbon *ret_carbon)
{
	struct wtl_report_carbon carbon = {.pue_milli = place->pue_milli};
	double share = total->energy_uj > 0
			       ? (double)total->uncertainty_uj / (double)total->energy_uj
			       : 0.0;

	if (emission->energy_uj <= 0 && (emission->missing_uj > 0 || emission->known_ns <= 0))
		carbon.reason = "no intensity is known for this time";
	if (emission->missing_uj > 0)
		carbon.missing_uj = (uint64_t)emission->missing_uj;
	carbon.carbon.intensity_mg_per_kwh = wtl_emission_mean_mg_per_kwh(emission);
	snprintf(carbon.carbon.location, sizeof(carbon.carbon.location), "time-varying");
	snprintf(carbon.carbon.dataset, sizeof(carbon.carbon.dataset), "%s", file);
	carbon.emitted_ug = wtl_emission_ug(emission);
	if (emission->uj_mg_per_kwh > 0)
		carbon.emitted_rest_ng =
			wtl_carbon_rest_ng((unsigned __int128)emission->uj_mg_per_kwh);
	set_uncertainty(&carbon, share * (double)wtl_words_emitted_ng(&carbon) / 1e3);
	*ret_carbon = carbon;
}

/* The line was fitted to this machine's totals, so it includes their systematic errors. */
static void describe_wall(const struct wtl_kept_calibration *kept,
			  const struct wattle_window *window, struct wtl_report_wall *ret_wall)
{
	double seconds = (double)window->duration_ns / 1e9, wall_uj;

	*ret_wall = (struct wtl_report_wall){.is_known = false};
	if (!kept || !window->total.has_energy)
		return;
	wall_uj = (double)window->total.energy_uj * (double)kept->gain_ppm / 1e6 +
		  (double)kept->zero_uw * seconds;
	if (!(wall_uj >= 0 && wall_uj < 1e18))
		return;
	*ret_wall = (struct wtl_report_wall){
		.is_known = true,
		.energy_uj = (uint64_t)wall_uj,
		.uncertainty_uj = (uint64_t)(2 * hypot((double)window->total.energy_uj *
							       (double)kept->gain_error_ppm / 1e6,
						       (double)kept->zero_error_uw * seconds)),
		.calibrated_utc_ns = kept->t_utc_s * WTL_NS_PER_S,
	};
}

int wtl_description_report(struct wtl_description *description,
			   const struct wtl_report_source *source, struct wtl_report *report)
{
	int rc = 0;

	wtl_description_fill(description, source->meter);
	note_coarse(description, source->meter);
	description->attribution.reason = source->no_consumers;
	if (source->consumers)
		rc = wtl_describe_attribution(description, source);
	report->attribution = description->attribution;
	describe_wall(source->wall ? source->wall : wtl_calibrated_wall(source->meter->calibrated),
		      &report->window, &report->wall);
	wtl_describe_carbon(&source->place, &report->window.total, &report->carbon);
	wtl_description_end(description, report);
	return rc;
}

void wtl_description_end(struct wtl_description *description, struct wtl_report *report)
{
	report->domains = description->domains;
	report->n_domains = description->n_domains;
	report->notes = description->notes;
	report->n_notes = description->n_notes;
}

/* What this machine draws at full load for each logical CPU, by the table. */
static uint64_t cpu_uw(const struct wtl_machine *machine)
{
	const char *matched;
	uint32_t tdp_mw;

	if (machine->is_vm || machine->n_cpus == 0 ||
	    wtl_cpu_tdp_find(machine->cpu_model, &tdp_mw, &matched) < 0)
		return WATT_PER_CPU_UW;
	return UINT64_C(1000) * tdp_mw * machine->n_packages / machine->n_cpus;
}

/* Not ru_maxrss, which a program inherits from its parent. */
uint64_t wtl_peak_memory_bytes(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];
	unsigned long long kib = 0;

	while (status && kib == 0 && fgets(line, sizeof(line), status))
		if (sscanf(line, "VmHWM: %llu kB", &kib) != 1)
			kib = 0;
	if (status)
		fclose(status);
	return kib * 1024;
}

void wtl_describe_cost(const struct wattle_meter *meter, int64_t cpu_ns,
		       struct wtl_report_self *ret_self)
{
	ret_self->cpu_ns = cpu_ns;
	ret_self->energy_uj = wtl_energy_uj(cpu_uw(&meter->machine), cpu_ns);
	ret_self->has_energy = ret_self->energy_uj > 0;
	ret_self->uncertainty_uj = (uint64_t)(2.0 * MODEL_GAIN * (double)ret_self->energy_uj + 0.5);
}

int64_t wtl_describe_self_cpu_ns(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) < 0)
		return 0;
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * WTL_NS_PER_S +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * INT64_C(1000);
}

void wtl_describe_self(struct wattle_meter *meter, struct wtl_report_self *ret_self)
{
	struct wattle_self self;

	memset(ret_self, 0, sizeof(*ret_self));
	wtl_meter_self(meter, &self);
	ret_self->ticks = self.ticks;
	ret_self->late_ticks = self.late_ticks;
	ret_self->cpu_ns = wtl_describe_self_cpu_ns();
	ret_self->max_rss_bytes = wtl_peak_memory_bytes();
	wtl_describe_cost(meter, ret_self->cpu_ns, ret_self);
}
