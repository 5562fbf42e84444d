/* SPDX-License-Identifier: MIT */
#include "commands/estimate/host.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/date.h"
#include "base/err.h"
#include "base/infile.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/idle.h"
#include "cli/process.h"
#include "cli/progress.h"
#include "cli/user.h"
#include "commands/estimate/kernels.h"
#include "commands/estimate/metered.h"
#include "energy/units.h"
#include "meter/meter.h"

/* Length of a repetition, and of the trial that finds its number of rounds. */
#define STRETCH_NS (500 * WTL_NS_PER_MS)
#define TRIAL_NS   (20 * WTL_NS_PER_MS)

enum { FILE_MAX = 64 << 10, ROUNDS_MAX = 1 << 30 };

struct measuring {
	struct wtl_metered metered;
	struct wtl_kernels *kernels;
	int done;
	unsigned repeat;
	struct wtl_estimate_host *host;
};

/* ---- The file ---- */

/* One file per machine, beside the idle power: a home may be shared. 0, or negative as wtl_idle_path(). */
static int find_path(const struct wtl_settings *settings, uint64_t machine, char *path, size_t size)
{
	int rc = wtl_idle_path(settings, path, size);

	if (rc < 0)
		return rc;
	char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash + 1 - path) : 0;
	int more = snprintf(path + len, size - len, "host-%016" PRIx64, machine);

	return more < (int)(size - len) ? 0 : -ENAMETOOLONG;
}

int wtl_estimate_load_host(struct wtl_app *app, struct wtl_devices *devices)
{
	struct wtl_err err = {.code = 0};
	struct wtl_machine machine;
	struct wtl_io *io;
	char path[PATH_MAX];
	struct wtl_buf text;

	int rc = wtl_io_real_new(app->settings.root, &io, &err);
	if (rc < 0) {
		wtl_complain_err(app, &err);
		return rc;
	}
	rc = wtl_machine_read(io, &machine);
	wtl_io_free(io);
	if (rc < 0 || find_path(&app->settings, machine.id, path, sizeof(path)) < 0)
		return 0;
	wtl_buf_init(&text, FILE_MAX);
	rc = wtl_infile_read(path, &text);
	if (rc == 0)
		rc = wtl_devices_parse(devices, wtl_buf_str(&text), text.len, path, &err);
	else if (rc != -ENOENT)
		wtl_complain(app, "cannot read '%s': %s", path, wtl_err_text(rc));
	if (err.code)
		wtl_complain_err(app, &err);
	wtl_buf_done(&text);
	return rc == -ENOENT ? 0 : rc < 0 ? rc : 1;
}

/* A value with its bounds. */
static void put_value(struct wtl_buf *text, const char *key, double value, double low, double high,
		      const char *unit)
{
	wtl_buf_printf(text, "  %s %.6g %s from %.6g to %.6g\n", key, value, unit, low, high);
}

static void put_energy(struct wtl_buf *text, const char *key, bool is_known, double value,
		       double uncertainty, const char *unit)
{
	if (is_known)
		put_value(text, key, value, fmax(value - uncertainty, 0), value + uncertainty,
			  unit);
	else
		wtl_buf_printf(text, "  %s unknown\n", key);
}

/* Of several kernels for the same operation, only the fastest one counts. */
static bool is_fastest(const struct wtl_estimate_host *host, const struct wtl_host_row *row)
{
	for (size_t i = 0; i < host->n; i++) {
		const struct wtl_host_row *other = &host->rows[i];
		if (other->is_mac == row->is_mac && other->is_dram == row->is_dram &&
		    other->precision == row->precision && other->ns.mean < row->ns.mean)
			return false;
	}
	return true;
}

static void put_row(struct wtl_buf *text, const struct wtl_estimate_host *host,
		    const struct wtl_host_row *row)
{
	const char *name = wtl_precision_names[row->precision];
	const double words = row->is_mac ? 1 : 8; /* accesses are of 64 bits */
	char key[64], time[64];

	if (row->is_mac) {
		snprintf(key, sizeof(key), "mac %s", name);
		snprintf(time, sizeof(time), "time mac-%s", name);
	} else if (row->is_dram) {
		snprintf(key, sizeof(key), "dram 64bit");
		snprintf(time, sizeof(time), "time dram-64bit");
	} else {
		snprintf(key, sizeof(key), "sram %" PRIu64 "B 64bit", host->cache_bytes);
		snprintf(time, sizeof(time), "time cache-64bit");
	}
	wtl_buf_printf(text, "  # %s\n", row->name);
	put_energy(text, key, row->has_energy, row->pj * words, row->uncertainty_pj * words, "pJ");
	/* The lower bound is at least the fastest repetition. */
	put_value(text, time, row->ns.mean * words,
		  fmin(fmax(row->ns.mean - row->ns.ci95, row->ns.min), row->ns.mean) * words,
		  (row->ns.mean + row->ns.ci95) * words, "ns");
}

static void print(const struct wtl_estimate_host *host, struct wtl_buf *text)
{
	wtl_buf_puts(text, "# What this machine takes, as wattle estimate --host measured it.\n");
	wtl_buf_printf(text, "device " WTL_ESTIMATE_HOST "\n  title %s, %u CPUs\n", host->cpu,
		       host->cpus);
	wtl_buf_printf(text, "  source wattle estimate --host, %s", host->when);
	if (host->has_energy)
		wtl_buf_printf(text, ", energy from %s", host->source);
	wtl_buf_printf(text, "\n  grade %s\n  scope per-term\n",
		       host->is_modelled ? "modelled" : "measured");
	if (!host->has_energy)
		wtl_buf_printf(text, "  note its energy is not known: %s\n", host->reason);
	put_energy(text, "static", host->has_energy, host->idle_w, host->idle_uncertainty_w, "W");
	for (size_t i = 0; i < host->n; i++)
		if (is_fastest(host, &host->rows[i]))
			put_row(text, host, &host->rows[i]);
}

static void keep(struct measuring *measuring)
{
	struct wtl_app *app = measuring->metered.app;
	struct wtl_estimate_host *host = measuring->host;
	struct wtl_buf text;
	int rc = find_path(&app->settings, measuring->metered.meter->machine.id, host->path,
			   sizeof(host->path));

	if (rc < 0) {
		host->path[0] = '\0';
		wtl_remark(app, "it is not kept: name a file for its idle power (--idle-file), it "
				"goes beside that");
		return;
	}
	wtl_buf_init(&text, FILE_MAX);
	print(host, &text);
	rc = text.error ? text.error : wtl_user_make_folder_of(host->path);
	if (rc == 0)
		rc = wtl_io_out_write(measuring->metered.io, host->path, wtl_buf_str(&text),
				      text.len, WTL_OUT_REPLACE);
	if (rc < 0) {
		wtl_remark(app, "it cannot be kept in '%s': %s", host->path, wtl_err_text(rc));
		host->path[0] = '\0';
	}
	wtl_buf_done(&text);
}

/* ---- Measuring ---- */

static int64_t cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (int64_t)time.tv_sec * WTL_NS_PER_S + time.tv_nsec;
}

/* One run of a kernel. */
struct stretch {
	int64_t took_ns, cpu_ns;
	struct wtl_metered_energy energy;
};

/* Runs a kernel, in a window unless only timed. 0, or the exit code after a complaint or a signal. */
static int run_once(struct measuring *measuring, size_t kernel, uint64_t rounds, bool has_window,
		    struct stretch *ret)
{
	struct wtl_metered *metered = &measuring->metered;
	int rc = wtl_kernels_prepare(measuring->kernels, kernel, rounds, measuring->done);
	int64_t begin_ns;
	uint64_t count;
	int code = 0;

	/* Filling the memory is not part of the kernel's work. */
	if (has_window)
		wtl_metered_begin(metered, wtl_process_number(getpid()));
	begin_ns = cpu_ns();
	if (rc == 0) {
		wtl_kernels_go(measuring->kernels);
		code = wtl_metered_wait(metered);
	}
	ret->took_ns = rc < 0 ? rc : wtl_kernels_finish(measuring->kernels);
	ret->cpu_ns = cpu_ns() - begin_ns;
	if (has_window)
		wtl_metered_end(metered, &ret->energy);
	if (rc == 0 && read(measuring->done, &count, sizeof(count)) < 0)
		ret->took_ns = -errno;
	if (ret->took_ns > 0 || code != 0)
		return code;
	wtl_complain(metered->app, "%s: %s", wtl_kernels_get(measuring->kernels, kernel)->name,
		     wtl_err_text((int)ret->took_ns));
	return WTL_EXIT_FAILED;
}

/* How many rounds a repetition needs. */
static int find_rounds(struct measuring *measuring, size_t kernel, uint64_t *ret_rounds)
{
	struct stretch trial = {.took_ns = 0};
	uint64_t rounds = 1;
	int code = run_once(measuring, kernel, rounds, false, &trial);

	while (code == 0 && trial.took_ns < TRIAL_NS && rounds < ROUNDS_MAX) {
		rounds *= 4;
		code = run_once(measuring, kernel, rounds, false, &trial);
	}
	if (code == 0)
		*ret_rounds = (uint64_t)fmax(1, (double)rounds * (double)STRETCH_NS /
							(double)trial.took_ns);
	return code;
}

/* The repetitions of a kernel: ns and pJ per MAC or byte. */
struct tallies {
	struct wtl_tally ns, pj, uncertainty_pj, busy;
};

static void add_repetition(struct wtl_estimate_host *host, struct tallies *tallies, double work,
			   const struct stretch *stretch)
{
	const struct wtl_metered_energy *energy = &stretch->energy;

	wtl_tally_add(&tallies->ns, (double)stretch->took_ns / work);
	wtl_tally_add(&tallies->busy, (double)stretch->cpu_ns / (double)stretch->took_ns);
	if (!energy->is_known) {
		host->has_energy = false;
		wtl_text_copy(host->reason, sizeof(host->reason), energy->reason);
		return;
	}
	wtl_tally_add(&tallies->pj, energy->dynamic_j * 1e12 / work);
	wtl_tally_add(&tallies->uncertainty_pj, energy->uncertainty_j * 1e12 / work);
	host->is_modelled |= energy->is_modelled;
	host->idle_w = energy->idle_w;
	host->idle_uncertainty_w = energy->idle_uncertainty_w;
	wtl_text_copy(host->source, sizeof(host->source), energy->source);
}

/* The ± combines the meter's, which is common to all repetitions, and that of their mean. */
static void add_row(struct wtl_estimate_host *host, const struct wtl_kernel *kernel,
		    const struct tallies *tallies)
{
	struct wtl_host_row *row = &host->rows[host->n++];
	struct wtl_statistics energy;

	*row = (struct wtl_host_row){.name = kernel->name,
				     .is_mac = kernel->kind == WTL_KERNEL_MAC,
				     .is_dram = kernel->kind == WTL_KERNEL_DRAM,
				     .precision = kernel->precision,
				     .busy = tallies->busy.mean};
	wtl_tally_statistics(&tallies->ns, &row->ns);
	wtl_tally_statistics(&tallies->pj, &energy);
	row->has_energy = tallies->pj.n == tallies->ns.n;
	row->pj = energy.mean;
	row->uncertainty_pj = hypot(energy.ci95, tallies->uncertainty_pj.mean);
}

/* 0 or the exit code to stop with. */
static int measure_kernel(struct measuring *measuring, size_t i)
{
	const struct wtl_kernel *kernel = wtl_kernels_get(measuring->kernels, i);
	struct tallies tallies = {.ns.n = 0};
	struct stretch stretch;
	uint64_t rounds = 0;

	wtl_progress_show(measuring->metered.app, true, "%s: kernel %zu of %zu", kernel->name,
			  i + 1, wtl_kernels_count(measuring->kernels));
	int code = find_rounds(measuring, i, &rounds);
	for (unsigned k = 0; code == 0 && k < measuring->repeat; k++) {
		code = run_once(measuring, i, rounds, true, &stretch);
		if (code == 0)
			add_repetition(measuring->host, &tallies,
				       (double)rounds * (double)kernel->work, &stretch);
	}
	if (code == 0)
		add_row(measuring->host, kernel, &tallies);
	return code;
}

static void describe(struct measuring *measuring)
{
	struct wtl_estimate_host *host = measuring->host;
	const struct wtl_machine *machine = &measuring->metered.meter->machine;
	struct wtl_date date = wtl_date_of(wtl_io_real_ns(measuring->metered.io));

	*host = (struct wtl_estimate_host){.has_energy = true,
					   .blas = wtl_kernels_blas(measuring->kernels),
					   .cpus = wtl_kernels_threads(measuring->kernels),
					   .cache_bytes = wtl_kernels_cache(measuring->kernels)};
	wtl_text_copy(host->cpu, sizeof(host->cpu),
		      machine->cpu_model[0] ? machine->cpu_model : "a processor without a name");
	for (char *at = host->cpu; *at; at++)
		if (*at == '#' || (unsigned char)*at < ' ')
			*at = ' ';
	snprintf(host->when, sizeof(host->when), "%04u-%02u-%02uT%02u:%02u:%02uZ", date.year,
		 date.month, date.day, date.hour, date.minute, date.second);
}

static int measure_all(struct measuring *measuring)
{
	int code = 0;

	describe(measuring);
	for (size_t i = 0; code == 0 && i < wtl_kernels_count(measuring->kernels); i++)
		code = measure_kernel(measuring, i);
	wtl_progress_clear(measuring->metered.app);
	if (code == 0)
		keep(measuring);
	return code;
}

int wtl_estimate_measure_host(struct wtl_app *app, unsigned repeat, struct wtl_estimate_host *ret)
{
	struct measuring measuring = {
		.repeat = repeat ? repeat : WTL_HOST_REPEAT, .host = ret, .done = -1};
	struct wtl_err err = {.code = 0};
	int code = wtl_metered_open(&measuring.metered, app);

	if (code != 0)
		return code;
	measuring.done = eventfd(0, EFD_CLOEXEC);
	if (measuring.done < 0)
		wtl_complain(app, "cannot wait for kernels: %s", wtl_err_text(-errno));
	else if (wtl_kernels_new(&measuring.kernels, &err) < 0)
		wtl_complain_err(app, &err);
	code = WTL_EXIT_FAILED;
	if (measuring.kernels && wtl_metered_watch(&measuring.metered, measuring.done) == 0)
		code = measure_all(&measuring);
	wtl_kernels_free(measuring.kernels);
	if (measuring.done >= 0)
		close(measuring.done);
	wtl_metered_close(&measuring.metered);
	return code;
}
