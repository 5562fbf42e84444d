/* SPDX-License-Identifier: MIT */
#ifndef WTL_DOCUMENT_REPORT_H
#define WTL_DOCUMENT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "energy/baseline.h"
#include "energy/consumer.h"
#include "energy/ledger.h"
#include "energy/statistics.h"
#include "document/writer.h"

struct wtl_buf;

/*
 * What the commands report, as plain data. Everything here is borrowed for the time of the call.
 * Strings from outside (commands, device names) are raw: each format escapes them.
 */

struct wtl_report_domain {
	struct wattle_domain domain;
	struct wattle_energy energy; /* has_energy: there is a figure */
	struct wtl_ledger ledger;    /* with a figure */
	struct wtl_baseline idle;    /* is_known: the domain's idle baseline */
	const char *weight; /* how its energy is divided ("cpu-time", "sm-use"); NULL: it is not */
};

/* A consumer: one process, or a row that stands for several that ended. */
struct wtl_report_process {
	const struct wtl_consumer *consumer;
	int64_t start_utc_ns;		  /* 0: not known */
	const char *user;		  /* a name, or the number; NULL: not known */
	struct wtl_share_energy all, gpu; /* all: every counted domain; gpu: of it, the GPUs */
	struct wtl_per_cpu per_cpu;
};

/* Who used the counted energy. */
struct wtl_report_attribution {
	bool is_known; /* false: no process could be followed, and reason says why */
	const char *reason;
	/* The command with its descendants (also those that were adopted by others). */
	bool has_command;
	struct wtl_share_energy command, command_gpu;
	int64_t command_cpu_ns; /* of those seen; < 0: not known */
	uint64_t command_processes;
	/* The consumers with the most energy, largest first, and all others together. */
	const struct wtl_report_process *processes;
	size_t n_processes;
	struct wtl_share_energy others;
	uint64_t n_others;
	int64_t others_cpu_ns;
};

/* The Software Carbon Intensity (SCI 1.1) that was asked for: (E x I + M) / R. */
struct wtl_report_sci {
	uint64_t units;	      /* R: how many were done; 0: it was not asked for */
	uint64_t embodied_mg; /* M: of the hardware's making, for that time */
};

struct wtl_report_carbon {
	struct wattle_carbon carbon;
	uint64_t emitted_ug;	 /* micrograms CO2e of the total, without PUE */
	uint64_t uncertainty_ug; /* k = 2: energy and intensity together */
	/* To be added to those two where more digits are written than people read: less than a microgram. */
	int32_t emitted_rest_ng, uncertainty_rest_ng;
	struct wtl_report_sci sci;
	const char *reason; /* NULL, or why neither of these nor the intensity is known; static */
	uint64_t
		missing_uj; /* the total's energy while no intensity was known; not in emitted_ug */
	bool is_default;    /* no location was given: world average */
	uint32_t
		pue_milli; /* power usage effectiveness × 1000, or 0: not given. Never in the energies */
};

/* What the machine drew from the wall, by a calibration against a wattmeter: beside the total, never in it. */
struct wtl_report_wall {
	bool is_known;
	uint64_t energy_uj, uncertainty_uj; /* k = 2, without the wattmeter's own error */
	int64_t calibrated_utc_ns;
};

struct wtl_report_self {
	int64_t cpu_ns; /* user and system time of wattle itself */
	uint64_t max_rss_bytes;
	uint64_t ticks, late_ticks;
	bool has_energy;
	uint64_t energy_uj, uncertainty_uj; /* modelled: own CPU time × TDP per logical CPU */
};

/* One run of a command (or one stretch of time). */
struct wtl_report {
	char *const *command; /* ended by NULL; NULL: no command, the machine alone */
	bool has_exit;	      /* the command ended */
	int exit_status;      /* what a shell would say: 128 + N for a signal */
	int exit_signal;      /* 0: none */
	bool interrupted;     /* Ctrl-C or a signal to wattle ended the measurement */
	struct wattle_window window;
	const struct wtl_report_domain *domains;
	size_t n_domains;
	int64_t command_cpu_ns;	    /* the command and its waited-for descendants; < 0: not known */
	uint64_t command_rss_bytes; /* the largest of them; 0: not known */
	struct wtl_report_attribution attribution;
	struct wtl_report_wall wall;
	struct wtl_report_carbon carbon;
	struct wtl_report_self self;
	const char *const *notes; /* whole sentences for the reader: why nothing is measured, … */
	size_t n_notes;
};

/* The figures of a run, and of the statistics of several. The unit is the last word. */
enum wtl_run_figure {
	WTL_RUN_DURATION_S,
	WTL_RUN_ENERGY_J,
	WTL_RUN_POWER_W,
	WTL_RUN_COMMAND_DYNAMIC_J,
	WTL_RUN_COMMAND_FULL_J,
	WTL_RUN_EMITTED_G,
	WTL_RUN_FIGURES,
	WTL_RUN_DOMAIN_J = WTL_RUN_FIGURES, /* to be followed by the domain's index */
};

/* Several runs of the same command. */
struct wtl_series {
	const struct wtl_report *reports; /* all have the same domains in the same order */
	size_t n_reports;
	double until;	/* 0, or the relative half-width that was asked for */
	bool converged; /* it was reached */
	/* Of the runs that were not interrupted; every one of them has a duration.
	 * Figures of the command alone have n = 0 unless every run has them. */
	struct wtl_statistics of[WTL_RUN_FIGURES];
	const struct wtl_statistics *domain_j; /* n_domains of them; n = 0: not known */
};

struct wtl_doctor_source {
	const char *source, *reason, *remedy; /* remedy may be NULL */
	enum wattle_status status;
};

/* One of the ways to follow processes, for wattle doctor. */
struct wtl_doctor_way {
	const char *way; /* "CPU clocks", "exit records" */
	bool is_used;
	const char *reason; /* why not, or what it gives */
	const char *remedy; /* NULL: none */
};

/* What a machine can measure. */
struct wtl_doctor {
	const char *cpu_model, *product, *kernel; /* NULL: not known */
	unsigned n_cpus, n_packages;
	uint64_t memory_bytes; /* 0: not known */
	bool is_vm, is_container;
	int64_t t_utc_ns;
	const struct wtl_report_domain *domains; /* energy over a short look at the machine */
	size_t n_domains;
	const struct wtl_doctor_source *sources; /* that offer nothing, with the reason */
	size_t n_sources;
	const struct wtl_doctor_way *ways; /* how processes are followed */
	size_t n_ways;
	const char *summary; /* one sentence */
};

/* As documents. The things have a text page of their own as well. */
void wtl_doc_report(struct wtl_doc *doc, const void *what);
void wtl_doc_series(struct wtl_doc *doc, const void *what);
void wtl_doc_doctor(struct wtl_doc *doc, const void *what);
extern const struct wtl_thing wtl_thing_report, wtl_thing_series, wtl_thing_doctor;

#endif
