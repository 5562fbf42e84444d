/* SPDX-License-Identifier: MIT */
#include "sensors/machine_power.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "sensors/cpu_tdp.h"

/* As tools/mkmachine.py has it: years count from the middle of the fit, in steps of five. */
enum { MIDDLE_YEAR = 2013, PPM = 1000000 };

/* What the fit is computed from. */
struct known {
	unsigned sockets, threads, year; /* year 0: not known */
	uint32_t tdp_mw;		 /* of a socket; 0: not known */
	double gib;
};

static int compare_key(const void *key, const void *row)
{
	return strcmp(key, ((const struct wtl_machine_processor *)row)->key);
}

static const struct wtl_machine_processor *find_processor(const char *model)
{
	char key[WTL_CPU_TDP_NAME_MAX];

	if (wtl_cpu_tdp_key(model, key) == 0)
		return NULL;
	return bsearch(key, wtl_machine_processors, wtl_machine_processor_count,
		       sizeof(wtl_machine_processors[0]), compare_key);
}

static double clamped_gib(uint64_t bytes)
{
	double gib = (double)bytes / (1 << 30);

	return fmin(fmax(gib, wtl_machine_range.gib_min), wtl_machine_range.gib_max);
}

/* Why the fit knows no such machine, or NULL. */
static const char *why_unknown(const struct wtl_machine *machine)
{
	if (strcmp(machine->vendor, "GenuineIntel") != 0 &&
	    strcmp(machine->vendor, "AuthenticAMD") != 0)
		return "no server with such a processor was measured";
	if (!machine->is_vm && machine->memory_bytes == 0)
		return "the size of its memory is not known";
	return NULL;
}

/* -ENOENT with a reason: the fit knows no such machine. */
static int know(const struct wtl_machine *machine, struct known *ret,
		enum wtl_machine_case *ret_case, const char **ret_reason)
{
	const struct wtl_machine_processor *processor = find_processor(machine->cpu_model);
	struct known known = {.sockets = machine->is_vm ? 1 : machine->n_packages,
			      .threads = machine->n_cpus,
			      .gib = machine->is_vm ? 1.0 : clamped_gib(machine->memory_bytes)};

	*ret_reason = why_unknown(machine);
	if (*ret_reason)
		return -ENOENT;
	if (processor) {
		known.year = processor->year;
		known.tdp_mw = processor->tdp_mw;
		if (machine->is_vm)
			known.threads = processor->threads;
		*ret_case = machine->is_vm ? WTL_MACHINE_GUEST_KNOWN : WTL_MACHINE_KNOWN;
	} else if (wtl_cpu_tdp_find(machine->cpu_model, &known.tdp_mw, NULL) == 0) {
		*ret_case = machine->is_vm ? WTL_MACHINE_GUEST_TDP : WTL_MACHINE_TDP;
	} else {
		*ret_case = machine->is_vm ? WTL_MACHINE_GUEST : WTL_MACHINE_SIZE;
	}
	*ret_reason = "no measured server has a processor of such a design power";
	if (known.tdp_mw && (known.tdp_mw < wtl_machine_range.tdp_min_mw ||
			     known.tdp_mw > wtl_machine_range.tdp_max_mw))
		return -ENOENT;
	*ret = known;
	return 0;
}

static double watts(const double coefficients[], const struct known *known)
{
	double year = known->year ? ((double)known->year - MIDDLE_YEAR) / 5 : 0.0;
	const double features[WTL_MACHINE_FEATURES] = {
		1.0,
		known->tdp_mw ? log(known->tdp_mw / 1e3 * known->sockets) : 0.0,
		log(known->threads),
		log(known->gib),
		log(known->sockets),
		year,
		year * year,
	};
	double sum = 0.0;

	for (unsigned i = 0; i < WTL_MACHINE_FEATURES; i++)
		sum += coefficients[i] * features[i];
	return exp(sum);
}

static void describe(const struct wtl_machine *machine, const struct known *known,
		     struct wtl_machine_power *power)
{
	char *words = power->words;
	size_t size = sizeof(power->words);
	unsigned tdp_w = known->tdp_mw / 1000;

	switch (power->known) {
	case WTL_MACHINE_KNOWN:
		snprintf(words, size, "fitted to %u servers by %u x %u W of %u, %.0f GiB",
			 wtl_machine_range.servers, known->sockets, tdp_w, known->year, known->gib);
		break;
	case WTL_MACHINE_TDP:
		snprintf(words, size, "fitted to %u servers by %u x %u W, %u CPUs, %.0f GiB",
			 wtl_machine_range.servers, known->sockets, tdp_w, known->threads,
			 known->gib);
		break;
	case WTL_MACHINE_GUEST_KNOWN:
		snprintf(words, size,
			 "fitted to %u servers, %u of a host's %u CPUs a socket of %u W of %u",
			 wtl_machine_range.servers, machine->n_cpus, known->threads, tdp_w,
			 known->year);
		break;
	case WTL_MACHINE_GUEST_TDP:
		snprintf(words, size, "fitted to %u servers, %u CPUs of a host with %u W a socket",
			 wtl_machine_range.servers, machine->n_cpus, tdp_w);
		break;
	case WTL_MACHINE_GUEST:
		snprintf(words, size, "fitted to %u servers, %u CPUs of an unknown host",
			 wtl_machine_range.servers, machine->n_cpus);
		break;
	case WTL_MACHINE_SIZE:
	case WTL_MACHINE_CASES:
		snprintf(words, size, "fitted to %u servers by %u sockets, %u CPUs, %.0f GiB",
			 wtl_machine_range.servers, known->sockets, known->threads, known->gib);
		break;
	}
}

int wtl_machine_power_find(const struct wtl_machine *machine, struct wtl_machine_power *ret_power,
			   const char **ret_reason)
{
	struct known known = {0};
	enum wtl_machine_case known_case = WTL_MACHINE_SIZE;
	const struct wtl_machine_fit *fit;
	double part, idle_w;
	int rc = know(machine, &known, &known_case, ret_reason);

	if (rc < 0)
		return rc;
	fit = &wtl_machine_fits[known_case];
	/* What was fitted for guests is the power of one CPU. */
	part = machine->is_vm ? machine->n_cpus : 1.0;
	idle_w = part * watts(fit->idle, &known);
	*ret_power = (struct wtl_machine_power){
		.known = known_case,
		.idle_mw = (uint64_t)llround(1e3 * idle_w),
		.full_mw = (uint64_t)llround(1e3 * fmax(idle_w, part * watts(fit->full, &known))),
		.gain_ppm = fit->gain_ppm,
		.offset_uw = (uint32_t)fmin(idle_w * fit->zero_ppm, UINT32_MAX),
	};
	describe(machine, &known, ret_power);
	return 0;
}

uint64_t wtl_machine_power_uj(const struct wtl_machine_power *power, uint64_t busy_ns,
			      int64_t wall_ns, unsigned n_cpus)
{
	unsigned __int128 all_ns = (unsigned __int128)(wall_ns > 0 ? wall_ns : 0) * n_cpus;
	uint64_t steps_ppm, step, rest_ppm, part_ppm, mw;
	unsigned __int128 uj;

	if (all_ns == 0)
		return 0;
	/* The load in steps of a tenth, each of a million parts. */
	steps_ppm = busy_ns >= all_ns ? (uint64_t)(WTL_MACHINE_LOADS - 1) * PPM
				      : (uint64_t)((unsigned __int128)busy_ns *
						   (WTL_MACHINE_LOADS - 1) * PPM / all_ns);
	step = steps_ppm / PPM;
	rest_ppm = steps_ppm % PPM;
	part_ppm = wtl_machine_shape_ppm[step];
	if (rest_ppm)
		part_ppm += (wtl_machine_shape_ppm[step + 1] - part_ppm) * rest_ppm / PPM;
	mw = power->idle_mw + (power->full_mw - power->idle_mw) * part_ppm / PPM;
	/* mW × ns = pJ */
	uj = (unsigned __int128)mw * (uint64_t)wall_ns / 1000000;
	return uj > UINT64_MAX ? UINT64_MAX : (uint64_t)uj;
}
