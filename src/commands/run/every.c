/* SPDX-License-Identifier: MIT */
#include "commands/run/every.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/outfile.h"
#include "cli/complain.h"
#include "cli/command.h"
#include "base/fd.h"
#include "cli/loop.h"

#include "cli/locale.h"
#include "cli/sink.h"
#include "document/format.h"
#include "document/writer.h"
#include "energy/units.h"
#include "meter/meter.h"
#include "text/layout.h"

enum {
	LINE_MAX_BYTES = 4096,
	HELD_BYTES = 16 << 10, /* of lines that a full pipe has not taken */
	LEAVE_MS = 1000,
	TIME_COLUMNS = 10,
	MEASURE_COLUMNS = 20,
	POWER_COLUMNS = 16,
};

static const struct wtl_doc_table table = {
	.name = "intervals",
	.columns = "0:time_s,duration_s,energy_j,uncertainty_j,mean_w,too_short,"
		   "method,command_dynamic_j,command_full_j,command_uncertainty_j,command_cpu_s",
};

/* One interval. */
struct interval {
	int64_t t_ns, duration_ns; /* its end since the run's start, and its length */
	bool has_energy, is_negative, is_short, is_modelled; /* modelled: at least in part */
	enum wattle_method method;
	uint64_t energy_uj, uncertainty_uj;
	bool has_command;
	struct wtl_share_energy command;
	int64_t cpu_ns;
};

static bool has_power(const struct interval *line)
{
	return line->has_energy && !line->is_negative && line->duration_ns >= WTL_POWER_MIN_NS;
}

/* Writes what the output takes now: sampling does not wait for a pipe's reader. */
static void flush(struct wtl_run_every *every)
{
	struct wtl_buf *buf = &every->buf;
	ssize_t n = every->error ? every->error : buf->error;

	if (n == 0)
		n = wtl_fd_write_some(every->fd, wtl_buf_str(buf), buf->len);
	if (n < 0) {
		every->error = (int)n;
		wtl_buf_clear(buf);
	} else if (n > 0) {
		buf->len -= (size_t)n;
		memmove(buf->data, buf->data + n, buf->len + 1);
	}
}

/* ---- Text ---- */

static void pad(struct wtl_buf *buf, size_t start, size_t columns)
{
	size_t wide = wtl_layout_columns(wtl_buf_str(buf) + start, buf->len - start);

	for (; wide < columns; wide++)
		wtl_buf_putc(buf, ' ');
}

static bool is_ascii(const struct wtl_run_every *every)
{
	return wtl_is_ascii(&every->app->settings);
}

static void put_head(struct wtl_run_every *every)
{
	wtl_buf_printf(&every->buf, "%*s  %-*s%-*scommand\n", TIME_COLUMNS, "time [s]",
		       MEASURE_COLUMNS, "machine", POWER_COLUMNS, "mean");
}

static void put_command(struct wtl_buf *buf, const struct interval *line, bool ascii)
{
	const struct wtl_share_energy *share = &line->command;

	wtl_buf_puts(buf, line->is_modelled && share->full_uj > 0 ? "~" : "");
	wtl_format_measure(buf, share->has_dynamic ? share->dynamic_uj : share->full_uj,
			   share->uncertainty_uj, WTL_FORMAT_J, ascii);
	wtl_buf_puts(buf, share->has_dynamic ? " dynamic" : " full");
	if (share->full_uj == 0)
		wtl_buf_puts(buf, line->cpu_ns > 0 ? ": the sensors saw none" : ": no CPU time");
}

static void put_line(struct wtl_run_every *every, const struct interval *line)
{
	struct wtl_buf *buf = &every->buf;
	bool ascii = is_ascii(every);
	size_t start;

	wtl_buf_printf(buf, "%*lld.%03lld  ", TIME_COLUMNS - 4,
		       (long long)(line->t_ns / WTL_NS_PER_S),
		       (long long)(line->t_ns % WTL_NS_PER_S / WTL_NS_PER_MS));
	start = buf->len;
	if (line->has_energy) {
		wtl_buf_puts(buf, line->is_modelled ? "~" : "");
		wtl_buf_puts(buf, line->is_negative && line->energy_uj ? "-" : "");
		wtl_format_measure(buf, line->energy_uj, line->uncertainty_uj, WTL_FORMAT_J, ascii);
		wtl_buf_puts(buf, line->is_short ? " !" : "");
	} else {
		wtl_buf_putc(buf, '-');
	}
	pad(buf, start, MEASURE_COLUMNS);
	start = buf->len;
	if (has_power(line))
		wtl_format_measure(buf, wtl_power_uw(line->energy_uj, line->duration_ns),
				   wtl_power_uw(line->uncertainty_uj, line->duration_ns),
				   WTL_FORMAT_W, ascii);
	pad(buf, start, POWER_COLUMNS);
	if (line->has_command)
		put_command(buf, line, ascii);
	while (buf->len > 0 && buf->data[buf->len - 1] == ' ')
		wtl_layout_truncate(buf, buf->len - 1);
	wtl_buf_putc(buf, '\n');
}

/* ---- For programs ---- */

static void put_row(struct wtl_run_every *every, const struct interval *line)
{
	struct wtl_doc_row row = {.next = NULL};
	struct wtl_node *to;

	wtl_doc_clear(&every->row);
	to = every->row.root;
	wtl_doc_seconds(to, "time_s", line->t_ns);
	wtl_doc_seconds(to, "duration_s", line->duration_ns);
	if (line->has_energy) {
		wtl_doc_signed(to, "energy_j", line->is_negative, line->energy_uj, 6);
		wtl_doc_micro(to, "uncertainty_j", line->uncertainty_uj);
		if (has_power(line))
			wtl_doc_micro(to, "mean_w",
				      wtl_power_uw(line->energy_uj, line->duration_ns));
		wtl_doc_flag(to, "too_short", line->is_short);
		wtl_doc_text(to, "method", wattle_method_name(line->method));
	}
	if (line->has_command) {
		if (line->command.has_dynamic)
			wtl_doc_micro(to, "command_dynamic_j", line->command.dynamic_uj);
		wtl_doc_micro(to, "command_full_j", line->command.full_uj);
		wtl_doc_micro(to, "command_uncertainty_j", line->command.uncertainty_uj);
		wtl_doc_seconds(to, "command_cpu_s", line->cpu_ns);
	}
	row.scopes[0] = to;
	if (every->row.error && !every->error)
		every->error = every->row.error;
	every->writer->row(&every->buf, &table, &row, false);
}

/* ---- Intervals ---- */

static void put(struct wtl_run_every *every, const struct interval *line)
{
	const struct wtl_settings *settings = &every->app->settings;
	bool is_first = line->t_ns == line->duration_ns;

	if (is_first && !every->writer)
		put_head(every);
	else if (is_first && every->writer->begin &&
		 !(settings->append && lseek(every->fd, 0, SEEK_END) > 0))
		every->writer->begin(&every->buf, &table);
	if (every->writer)
		put_row(every, line);
	else
		put_line(every, line);
	flush(every);
}

static bool is_modelled(const struct wtl_run_every *every)
{
	struct wattle_domain domain;

	for (size_t i = 0; wtl_meter_domain(every->billing->meter, i, &domain) == 0; i++)
		if (domain.in_total && every->energies[i].has_energy &&
		    every->energies[i].method == WATTLE_METHOD_MODELLED)
			return true;
	return false;
}

/* The machine's energy since the last line; its uncertainty is from an own window. */
static void find_machine(struct wtl_run_every *every, const struct wattle_window *window,
			 const struct wattle_window *own, struct interval *line)
{
	const struct wattle_energy *total = &window->total;

	line->t_ns = window->duration_ns;
	line->duration_ns = window->duration_ns - every->told_ns;
	every->told_ns = window->duration_ns;
	if (!total->has_energy)
		return;
	line->has_energy = true;
	line->method = total->method;
	line->is_modelled = is_modelled(every);
	line->is_negative = total->energy_uj < every->told_uj;
	line->energy_uj = line->is_negative ? every->told_uj - total->energy_uj
					    : total->energy_uj - every->told_uj;
	every->told_uj = total->energy_uj;
	line->uncertainty_uj =
		own->total.has_energy ? own->total.uncertainty_uj : total->uncertainty_uj;
	line->is_short = own->total.flags & WATTLE_ENERGY_SHORT;
}

/* The ± of a share is relative to the run; it is widened by as much as the machine's is for the interval. */
static void widen(const struct wattle_window *window, struct interval *line)
{
	const struct wattle_energy *total = &window->total;
	double run, interval;

	if (!line->has_energy || line->energy_uj == 0 || total->energy_uj == 0)
		return;
	run = (double)total->uncertainty_uj / (double)total->energy_uj;
	interval = (double)line->uncertainty_uj / (double)line->energy_uj;
	if (run > 0 && interval > run)
		line->command.uncertainty_uj = wtl_format_micro(
			(double)line->command.uncertainty_uj / 1e6 * interval / run);
}

static void find_command(struct wtl_run_every *every, const struct wattle_window *window,
			 struct interval *line)
{
	const struct wtl_consumers *consumers = every->billing->consumers;
	struct wtl_consumers_sum before = every->told;

	if (!every->now.shares)
		return;
	wtl_consumers_sum_command(consumers, &every->now);
	wtl_consumers_sum_since(consumers, &every->now, &every->told, &every->since);
	line->has_command = every->since.n_processes > 0;
	line->cpu_ns = every->since.cpu_ns;
	wtl_consumers_sum_energy(consumers, &every->since, -1, &line->command);
	widen(window, line);
	every->told = every->now;
	every->now = before;
	wtl_consumers_settle(every->billing->consumers);
}

static void tell(struct wtl_run_every *every, const struct wattle_window *window)
{
	struct interval line = {.t_ns = 0};
	struct wattle_window own = {.total.has_energy = false};

	wtl_window_look(every->billing->meter, WTL_WINDOW_OF_SESSION, &own, every->energies,
			every->n_domains);
	find_machine(every, window, &own, &line);
	find_command(every, window, &line);
	put(every, &line);
}

void wtl_run_every_begin(struct wtl_run_every *every)
{
	every->due_ns = wtl_io_mono_ns(every->billing->io) + every->interval_ns;
	wtl_window_mark(every->billing->meter);
}

void wtl_run_every_look(struct wtl_run_every *every)
{
	struct wtl_billing *billing = every->billing;
	int64_t now_ns = wtl_io_mono_ns(billing->io);
	struct wattle_window window;

	if (now_ns < every->due_ns)
		return;
	flush(every);
	while (every->due_ns <= now_ns)
		every->due_ns += every->interval_ns;
	/* While the pipe is full, no line is made: the next one covers the whole time. */
	if (every->buf.len > HELD_BYTES)
		return;
	/* A tape only has the scans that its own bills made. */
	if (!every->app->settings.tape && !every->app->settings.tape_record)
		wtl_billing_look_now(billing);
	if (wtl_window_look(billing->meter, billing->window, &window, every->energies,
			    every->n_domains) < 0)
		return;
	tell(every, &window);
	wtl_window_mark(billing->meter);
}

void wtl_run_every_end(struct wtl_run_every *every, const struct wattle_window *window)
{
	if (window->duration_ns > every->told_ns)
		tell(every, window);
}

void wtl_run_every_finish(struct wtl_run_every *every)
{
	int patience_ms = every->loop && every->loop->interrupts > 0 ? LEAVE_MS : -1;

	if (every->error == 0 && every->buf.len > 0)
		every->error = wtl_fd_write_within(every->fd, wtl_buf_str(&every->buf),
						   every->buf.len, patience_ms);
	wtl_buf_clear(&every->buf);
}

/* ---- Where the lines go ---- */

static bool is_pipe(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
}

/* Waits for a reader of a pipe, until a signal asks to end. */
static int open_file(const struct wtl_settings *settings, struct wtl_loop *loop)
{
	const struct timespec nap = {.tv_nsec = 20 * WTL_NS_PER_MS};
	const char *path = settings->output_path;
	int how = settings->append ? O_APPEND : O_TRUNC, fd;

	while ((fd = wtl_outfile_open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | how,
				      settings->file_mode)) == -ENXIO &&
	       is_pipe(path)) {
		if (wtl_loop_interrupted(loop))
			return -ECANCELED;
		nanosleep(&nap, NULL);
	}
	if (fd >= 0)
		fcntl(fd, F_SETFL, how & O_APPEND);
	return fd;
}

static int open_place(struct wtl_run_every *every, struct wtl_loop *loop)
{
	const struct wtl_settings *settings = &every->app->settings;

	every->fd = settings->output_path ? open_file(settings, loop) : wtl_sink_fd(every->app);
	if (every->fd >= 0)
		return 0;
	wtl_complain(every->app, "cannot write '%s': %s; nothing was run", settings->output_path,
		     wtl_err_text(every->fd));
	return every->fd;
}

static int allocate(struct wtl_run_every *every)
{
	const struct wtl_consumers *consumers = every->billing->consumers;
	size_t n = consumers ? wtl_consumers_sum_shares(consumers) : 0;

	every->n_domains = wattle_meter_domains(every->billing->meter);
	every->energies = calloc(every->n_domains + 1, sizeof(*every->energies));
	if (n > 0) {
		every->told.shares = calloc(n, sizeof(*every->told.shares));
		every->now.shares = calloc(n, sizeof(*every->now.shares));
		every->since.shares = calloc(n, sizeof(*every->since.shares));
	}
	if (every->energies &&
	    (n == 0 || (every->told.shares && every->now.shares && every->since.shares)))
		return 0;
	wtl_complain(every->app, "out of memory");
	return -ENOMEM;
}

int wtl_run_every_open(struct wtl_run_every *every, struct wtl_app *app,
		       struct wtl_billing *billing, struct wtl_loop *loop, int64_t interval_ns)
{
	const struct wtl_writer *writer = app->settings.output;

	every->app = app;
	every->billing = billing;
	every->loop = loop;
	every->interval_ns = interval_ns;
	every->fd = -1;
	wtl_buf_init(&every->buf, HELD_BYTES + 2 * LINE_MAX_BYTES);
	wtl_doc_init(&every->row);
	if (writer->document)
		every->writer = writer->is_flat ? writer : &wtl_writer_ndjson;
	if (allocate(every) < 0 || open_place(every, loop) < 0)
		return -1;
	return 0;
}

bool wtl_run_every_has_place(const struct wtl_run_every *every)
{
	return every->writer && every->fd == STDERR_FILENO;
}

int wtl_run_every_close(struct wtl_run_every *every)
{
	int rc;

	wtl_run_every_finish(every);
	rc = every->error;
	if (every->app->settings.output_path && every->fd >= 0 && close(every->fd) < 0 && rc == 0)
		rc = -errno;
	if (rc < 0)
		wtl_complain(every->app, "cannot write the lines of --every: %s", wtl_err_text(rc));
	wtl_buf_done(&every->buf);
	wtl_doc_done(&every->row);
	free(every->energies);
	free(every->told.shares);
	free(every->now.shares);
	free(every->since.shares);
	return rc;
}
