/* SPDX-License-Identifier: MIT */
/*
 * The same counters through the perf system: PMUs called "power" under /sys/bus/event_source. The
 * kernel adds up the hardware's 32 bits behind an open descriptor, so these never wrap; they begin
 * at 0 when opened. Which events there are, their codes, scales and CPUs is read from sysfs, never
 * taken from a list of processor models. Each read interrupts a CPU of the package for an rdmsr.
 */
#include "base/array.h"
#include "sensors/source.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/num.h"
#include "base/remedy.h"
#include "base/text.h"
#include "sensors/rapl.h"

#define DEVICES "/sys/bus/event_source/devices"

/* Where powercap is there, it shows fake counters at once: Linux registers a zone only if its counter is not 0. */
#define FIRST_ZONE_ENERGY "/sys/class/powercap/intel-rapl:0/energy_uj"

enum {
	PMU_NAME_SIZE = 24,
	PMU_PATH_SIZE = 96,
	LEADS_MAX = 1024,      /* CPUs of a cpumask: one a package or die */
	NAMES_MAX = 64 * 1024, /* bytes of the PMUs' names */
};

/* Samples are not that even. */
#define COARSE_SLACK_NS (50 * WTL_NS_PER_MS)

/* A part whose counter does not move from 0 for this long is no counter. */
#define ZERO_MAX_NS (WTL_NS_PER_S)

/* A CPU through which a package's (or die's) counters are read. */
struct lead {
	int cpu;
	unsigned package;
	unsigned die;
};

struct leads {
	struct lead at[LEADS_MAX];
	unsigned n;
};

struct counter {
	struct wtl_perf_event event;
	struct lead lead;
	char pmu[PMU_NAME_SIZE];
	bool draws_always;    /* at 0 it would be no counter: such a part cannot draw nothing */
	int file;	      /* < 0: not open */
	int error;	      /* of the last read, negative errno, or 0 */
	bool anew;	      /* opened again, and not read since */
	struct wtl_unit unit; /* of its counts, where the channel's is coarse */
	uint64_t base;	      /* what those begin with */
	int64_t retry_ns;
	int64_t opened_ns;
};

struct perf {
	struct wtl_io *io;
	struct counter *counters;
	size_t n_counters;
	bool is_coarse;
	unsigned n_reads; /* so far, up to 2 */
	int64_t due_ns;	  /* the next one */
};

struct scan {
	struct perf *perf;
	const struct wtl_env *env;
	struct wtl_catalog *catalog;
	const struct wtl_machine *machine;
	size_t first_channel; /* ours begin here */
	size_t first_miss;
	struct leads leads;
	bool is_fake; /* the hardware's counter stands at 0 */
};

struct event_kind {
	const char *name;
	enum wattle_kind kind;
};

static const struct event_kind event_kinds[] = {
	{"energy-pkg", WATTLE_KIND_CPU},       {"energy-cores", WATTLE_KIND_CORE},
	{"energy-gpu", WATTLE_KIND_UNCORE},    {"energy-ram", WATTLE_KIND_DRAM},
	{"energy-psys", WATTLE_KIND_PLATFORM},
};

static void pmu_path(char path[PMU_PATH_SIZE], const char *pmu, const char *file)
{
	snprintf(path, PMU_PATH_SIZE, DEVICES "/%.*s/%s", PMU_NAME_SIZE - 1, pmu, file);
}

/* ---- CPUs ---- */

/* Reads a PMU's cpumask with the place of each CPU. 0 or a negative errno; -ENXIO: no topology. */
static int leads_read(struct wtl_io *io, const char *pmu, struct leads *leads)
{
	char path[PMU_PATH_SIZE], text[4096];
	int cpus[LEADS_MAX], n;
	ssize_t len;

	pmu_path(path, pmu, "cpumask");
	len = wtl_io_slurp(io, path, text, sizeof(text));
	if (len < 0)
		return (int)len;
	n = wtl_num_cpu_list(text, (size_t)len, cpus, LEADS_MAX);
	if (n <= 0)
		return n < 0 ? n : -EINVAL;
	for (int i = 0; i < n; i++) {
		struct lead *lead = &leads->at[i];

		*lead = (struct lead){.cpu = cpus[i]};
		/* One CPU needs no telling apart. */
		if (!wtl_machine_package(io, lead->cpu, &lead->package, &lead->die) && n > 1)
			return -ENXIO;
	}
	leads->n = (unsigned)n;
	return 0;
}

/* Do the lead's package's dies count on their own? */
static bool lead_has_die(const struct leads *leads, const struct lead *lead)
{
	for (unsigned i = 0; i < leads->n; i++)
		if (leads->at[i].package == lead->package && leads->at[i].die != lead->die)
			return true;
	return false;
}

/* ---- One counter ---- */

/* After hot-unplug, another CPU of the package may lead. Where that is unknown, the old one. */
static void counter_find_cpu(struct wtl_io *io, struct counter *counter)
{
	struct leads leads;

	if (leads_read(io, counter->pmu, &leads) < 0)
		return;
	for (unsigned i = 0; i < leads.n; i++)
		if (leads.at[i].package == counter->lead.package &&
		    leads.at[i].die == counter->lead.die)
			counter->event.cpu = leads.at[i].cpu;
}

static void counter_fail(struct wtl_io *io, struct counter *counter, int error)
{
	if (counter->file >= 0)
		wtl_io_perf_close(io, counter->file);
	counter->file = -1;
	counter->error = error;
	counter->retry_ns = wtl_io_mono_ns(io) + WTL_REPROBE_NS;
}

static int counter_open(struct wtl_io *io, struct counter *counter)
{
	int file = wtl_io_perf_open(io, &counter->event);

	if (file < 0) {
		counter->file = -1;
		counter_fail(io, counter, file);
		return file;
	}
	counter->file = file;
	counter->error = 0;
	counter->opened_ns = wtl_io_mono_ns(io);
	return 0;
}

/* Through a new descriptor, which counts from 0. */
static int counter_reopen(struct wtl_io *io, struct counter *counter, uint64_t *ret_value)
{
	int rc;

	counter_find_cpu(io, counter);
	rc = counter_open(io, counter);
	if (rc < 0)
		return rc;
	counter->anew = true;
	rc = wtl_io_perf_read(io, counter->file, ret_value);
	if (rc < 0)
		counter_fail(io, counter, rc);
	return rc;
}

static int counter_value(struct wtl_io *io, struct counter *counter, int64_t now_ns,
			 uint64_t *ret_value)
{
	int rc;

	if (counter->file < 0) {
		if (now_ns < counter->retry_ns)
			return counter->error;
		return counter_reopen(io, counter, ret_value);
	}
	rc = wtl_io_perf_read(io, counter->file, ret_value);
	if (rc < 0) {
		bool is_first = counter->error == 0;

		/* The sum so far is kept by the descriptor, which is not closed for one failure. */
		counter->error = rc;
		if (is_first)
			return rc;
		wtl_io_perf_close(io, counter->file);
		counter->file = -1;
		return counter_reopen(io, counter, ret_value);
	}
	counter->error = 0;
	if (*ret_value == 0 && counter->draws_always && now_ns - counter->opened_ns >= ZERO_MAX_NS)
		return -ENODATA;
	return 0;
}

/* ---- Finding them ---- */

/* What an event's files in sysfs say. */
struct event {
	uint64_t config;
	struct wtl_unit unit;
};

static ssize_t event_file(const struct scan *scan, const char *pmu, const char *name,
			  const char *suffix, char *text, size_t size, char reason[200])
{
	char path[PMU_PATH_SIZE], file[40];
	ssize_t len;

	snprintf(file, sizeof(file), "events/%s%s", name, suffix);
	pmu_path(path, pmu, file);
	len = wtl_io_slurp(scan->env->io, path, text, size);
	snprintf(reason, 200, "%s: %s", path,
		 len < 0 ? wtl_err_text((int)len) : "not what is expected there");
	return len;
}

/* 0, or a negative errno with the reason in words. */
static int event_read(const struct scan *scan, const char *pmu, const char *name, struct event *ret,
		      char reason[200])
{
	static const char term[] = "event=";
	char text[64];
	double scale;
	ssize_t len = event_file(scan, pmu, name, "", text, sizeof(text), reason);

	if (len < 0)
		return (int)len;
	if (!wtl_text_starts(text, term) ||
	    wtl_num_hex(text + strlen(term), (size_t)len - strlen(term), &ret->config) < 0)
		return -WTL_EFORMAT;
	len = event_file(scan, pmu, name, ".unit", text, sizeof(text), reason);
	if (len < 0)
		return (int)len;
	if (wtl_text_trimmed(text, (size_t)len) != strlen("Joules") ||
	    !wtl_text_starts(text, "Joules"))
		return -WTL_EFORMAT;
	len = event_file(scan, pmu, name, ".scale", text, sizeof(text), reason);
	if (len < 0)
		return (int)len;
	if (wtl_num_double(text, (size_t)len, &scale) < 0 ||
	    !wtl_unit_from_scale(scale, &ret->unit))
		return -WTL_EFORMAT;
	return 0;
}

static int miss_denied(const struct scan *scan, const struct wtl_rapl_part *part, int error)
{
	char reason[200], remedy[240], level[24] = "unknown";

	if (scan->machine->perf_paranoid != INT_MIN)
		snprintf(level, sizeof(level), "%d", scan->machine->perf_paranoid);
	snprintf(reason, sizeof(reason), "perf_event_open: %s (kernel.perf_event_paranoid is %s)",
		 wtl_err_text(error), level);
	if (scan->machine->is_container)
		snprintf(remedy, sizeof(remedy), "start the container with --cap-add PERFMON");
	else if (error == -EPERM) /* what needs a right is EACCES */
		snprintf(remedy, sizeof(remedy),
			 "a seccomp profile denies the system call itself: allow "
			 "perf_event_open there (of a systemd unit: SystemCallFilter=)");
	else
		snprintf(remedy, sizeof(remedy),
			 WTL_REMEDY_SETCAP
			 "; or sudo sysctl kernel.perf_event_paranoid=0 (it is %s)",
			 level);
	return wtl_rapl_miss(scan->catalog, part, WATTLE_STATUS_DENIED, remedy, reason);
}

static bool has_channel(const struct scan *scan, const char *domain)
{
	for (size_t i = scan->first_channel; i < scan->catalog->n_channels; i++)
		if (strcmp(scan->catalog->channels[i].domain, domain) == 0)
			return true;
	return false;
}

/* Opens and reads a counter for the first time; adds the channel, or why there is none. */
static int counter_try(struct scan *scan, struct counter *counter, const struct wtl_rapl_part *part,
		       const struct wtl_channel *channel)
{
	struct wtl_io *io = scan->env->io;
	char reason[200];
	uint64_t value;
	int rc = counter_open(io, counter);

	if (rc == 0) {
		rc = wtl_io_perf_read(io, counter->file, &value);
		if (rc < 0)
			counter_fail(io, counter, rc);
	}
	if (rc == -EACCES || rc == -EPERM)
		return miss_denied(scan, part, rc);
	if (rc < 0) {
		snprintf(reason, sizeof(reason),
			 "perf_event_open: event 0x%" PRIx64 " on CPU %d: %s",
			 counter->event.config, counter->event.cpu, wtl_err_text(rc));
		return wtl_rapl_miss(scan->catalog, part, WATTLE_STATUS_FAILED, NULL, reason);
	}
	/* On real hardware, 0 is what perf always shows of a new counter. */
	if (scan->is_fake && value == 0) {
		counter_fail(io, counter, -ENODATA);
		return wtl_rapl_miss(scan->catalog, part, WATTLE_STATUS_FAILED, NULL,
				     "the counter stands at 0: it is not real, as in some virtual "
				     "machines");
	}
	rc = wtl_catalog_add(scan->catalog, channel);
	if (rc < 0)
		counter_fail(io, counter, rc);
	else
		scan->perf->n_counters++;
	return rc < 0 ? rc : 0;
}

/* One event on one CPU. `reason`: why it cannot be used, or NULL. */
static int counter_add(struct scan *scan, const char *pmu, uint32_t type,
		       const struct event_kind *kind, const struct lead *lead,
		       const struct event *event, const char *reason)
{
	struct perf *perf = scan->perf;
	struct wtl_rapl_part part = {
		.kind = kind->kind,
		/* psys is the board's; powercap names it after the first package, too. */
		.package = kind->kind == WATTLE_KIND_PLATFORM ? 0 : lead->package,
		.die = lead->die,
		.has_die = !wtl_rapl_dies_are_copies(scan->machine) &&
			   kind->kind != WATTLE_KIND_PLATFORM && lead_has_die(&scan->leads, lead),
	};
	struct wtl_channel channel;
	struct counter *counter;

	wtl_rapl_channel(scan->machine, &part, &channel);
	if (has_channel(scan, channel.domain))
		return 0;
	if (reason)
		return wtl_rapl_miss(scan->catalog, &part, WATTLE_STATUS_FAILED, NULL, reason);
	channel.unit = event->unit;
	if (wtl_array_resize(&perf->counters, perf->n_counters + 1, sizeof(*counter)) < 0)
		return -ENOMEM;
	counter = &perf->counters[perf->n_counters];
	*counter = (struct counter){
		.event = {.type = type, .config = event->config, .cpu = lead->cpu},
		.lead = *lead,
		.draws_always = kind->kind != WATTLE_KIND_CORE && kind->kind != WATTLE_KIND_UNCORE,
		.file = -1,
	};
	wtl_text_copy(counter->pmu, sizeof(counter->pmu), pmu);
	return counter_try(scan, counter, &part, &channel);
}

static int event_open(struct scan *scan, const char *pmu, uint32_t type,
		      const struct event_kind *kind)
{
	char path[PMU_PATH_SIZE], file[40], reason[200];
	/* psys is the whole board's, whichever CPU asks. */
	unsigned n = kind->kind == WATTLE_KIND_PLATFORM ? 1 : scan->leads.n;
	struct event event;
	int rc;

	snprintf(file, sizeof(file), "events/%s", kind->name);
	pmu_path(path, pmu, file);
	/* Before Linux 5.17, AMD's PMU listed Intel's events beside its only one. */
	if ((kind->kind != WATTLE_KIND_CPU && wtl_rapl_dies_are_copies(scan->machine)) ||
	    !wtl_io_exists(scan->env->io, path))
		return 0;
	rc = event_read(scan, pmu, kind->name, &event, reason);
	for (unsigned i = 0; i < n; i++) {
		int added = counter_add(scan, pmu, type, kind, &scan->leads.at[i], &event,
					rc < 0 ? reason : NULL);

		if (added < 0)
			return added;
	}
	return 0;
}

static int miss_pmu(const struct scan *scan, const char *path, int error)
{
	const char *why = error == -ENXIO ? "the CPUs' topology is not in /sys/devices/system/cpu"
			  : error == -EINVAL || error == -ERANGE ? "not what is expected there"
								 : wtl_err_text(error);

	return wtl_catalog_missf(scan->catalog, WATTLE_KIND_CPU, NULL, WATTLE_STATUS_FAILED, NULL,
				 "%s: %s", path, why);
}

static int pmu_open(struct scan *scan, const char *pmu)
{
	char path[PMU_PATH_SIZE];
	uint64_t type;
	int rc;

	pmu_path(path, pmu, "type");
	rc = wtl_io_read_u64(scan->env->io, path, &type);
	if (rc == 0 && type > UINT32_MAX)
		rc = -ERANGE;
	if (rc < 0)
		return miss_pmu(scan, path, rc);
	rc = leads_read(scan->env->io, pmu, &scan->leads);
	if (rc < 0) {
		pmu_path(path, pmu, "cpumask");
		return miss_pmu(scan, path, rc);
	}
	for (size_t i = 0; i < sizeof(event_kinds) / sizeof(event_kinds[0]); i++) {
		rc = event_open(scan, pmu, (uint32_t)type, &event_kinds[i]);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* "power", and what newer kernels may put beside it; not AMD's single cores. */
static bool is_pmu(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	if (name[len] || len >= PMU_NAME_SIZE || strcmp(name, "power_core") == 0)
		return false;
	return strcmp(name, "power") == 0 || wtl_text_starts(name, "power_");
}

static int pmus_open(struct scan *scan)
{
	struct wtl_buf names;
	int rc;

	wtl_buf_init(&names, NAMES_MAX);
	rc = wtl_io_dir_read(scan->env->io, DEVICES, &names);
	if (rc < 0 && rc != -ENOENT && rc != -ENOMEM)
		rc = miss_pmu(scan, DEVICES, rc);
	else if (rc != -ENOMEM)
		rc = 0;
	for (size_t at = 0; at < names.len && rc == 0; at += strlen(names.data + at) + 1)
		if (is_pmu(names.data + at))
			rc = pmu_open(scan, names.data + at);
	wtl_buf_done(&names);
	if (rc == 0 && scan->catalog->n_channels == scan->first_channel &&
	    scan->catalog->n_misses == scan->first_miss)
		rc = wtl_rapl_miss_absent(scan->catalog, scan->machine,
					  "no energy events of a PMU called power in " DEVICES,
					  "rapl");
	return rc;
}

/* ---- With rights that the user lacks ---- */

/* Without those rights, could the user read the counters, by perf or by powercap? */
static bool is_users_own(const struct scan *scan)
{
	uint64_t energy_uj;

	return (scan->machine->perf_paranoid <= 0 && scan->machine->perf_paranoid != INT_MIN) ||
	       wtl_io_read_u64(scan->env->io, FIRST_ZONE_ENERGY, &energy_uj) == 0;
}

static void make_coarse(struct scan *scan)
{
	struct perf *perf = scan->perf;

	perf->is_coarse = true;
	for (size_t i = 0; i < perf->n_counters; i++) {
		struct wtl_channel *channel = &scan->catalog->channels[scan->first_channel + i];

		perf->counters[i].unit = channel->unit;
		channel->unit = (struct wtl_unit){.num = WTL_RAPL_COARSE_UJ, .den = 1};
		channel->fresh_ns = WTL_RAPL_FRESH_NS;
	}
}

/*
 * Is it time to read? The first reading is of the meter's opening. The second, of a window's start, comes soon
 * after it and would tell of less than a second: the counters begin anew with it.
 */
static bool coarse_is_due(struct perf *perf, int64_t now_ns, bool *ret_begins)
{
	bool is_early = perf->n_reads > 0 && now_ns < perf->due_ns - COARSE_SLACK_NS;
	bool is_late = now_ns > perf->due_ns + COARSE_SLACK_NS;

	if (is_early && perf->n_reads > 1)
		return false;
	*ret_begins = perf->n_reads == 0 || is_early;
	perf->n_reads += perf->n_reads < 2;
	/* One a second in the long run, however they fall. */
	perf->due_ns = (*ret_begins || is_late ? now_ns : perf->due_ns) + WTL_RAPL_COARSE_NS;
	return true;
}

static uint64_t coarse_value(struct counter *counter, uint64_t value, bool begins)
{
	if (begins || value < counter->base) {
		counter->base = value;
		counter->anew = true;
	}
	return wtl_rapl_coarse(wtl_unit_convert(counter->unit, value - counter->base));
}

static int perf_open(void *state, const struct wtl_env *env,
		     const struct wtl_source_options *options, struct wtl_catalog *catalog)
{
	struct perf *perf = state;
	struct scan scan = {
		.perf = perf,
		.env = env,
		.catalog = catalog,
		.machine = options->machine,
		.first_channel = catalog->n_channels,
		.first_miss = catalog->n_misses,
	};
	uint64_t energy_uj;
	int rc;

	perf->io = env->io;
	scan.is_fake =
		wtl_io_read_u64(env->io, FIRST_ZONE_ENERGY, &energy_uj) == 0 && energy_uj == 0;
	rc = pmus_open(&scan);
	if (env->drop_rights) {
		env->drop_rights();
		if (rc == 0 && !is_users_own(&scan))
			make_coarse(&scan);
	}
	return rc;
}

static void perf_read(void *state, struct wtl_reading readings[])
{
	struct perf *perf = state;
	int64_t t_ns = perf->n_counters > 0 ? wtl_io_mono_ns(perf->io) : 0;
	bool begins = false;

	/* The readings stay what they are. */
	if (perf->is_coarse && !coarse_is_due(perf, t_ns, &begins))
		return;
	for (size_t i = 0; i < perf->n_counters; i++) {
		int64_t before_ns = t_ns;
		uint64_t value = 0;
		int rc = counter_value(perf->io, &perf->counters[i], before_ns, &value);

		t_ns = wtl_io_mono_ns(perf->io);
		if (rc == 0 && perf->is_coarse)
			value = coarse_value(&perf->counters[i], value, begins);
		wtl_reading_set(&readings[i], before_ns, t_ns, rc, value);
		if (rc == 0) {
			readings[i].anew = perf->counters[i].anew;
			perf->counters[i].anew = false;
		}
	}
}

static void perf_close(void *state)
{
	struct perf *perf = state;

	for (size_t i = 0; i < perf->n_counters; i++)
		if (perf->counters[i].file >= 0)
			wtl_io_perf_close(perf->io, perf->counters[i].file);
	free(perf->counters);
	*perf = (struct perf){0};
}

const struct wtl_source_ops wtl_source_rapl_perf = {
	.name = "rapl-perf",
	.state_size = sizeof(struct perf),
	.open = perf_open,
	.read = perf_read,
	.close = perf_close,
};
