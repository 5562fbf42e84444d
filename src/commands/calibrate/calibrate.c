/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/infile.h"
#include "base/io.h"
#include "base/num.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/idle.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/recordings.h"
#include "cli/user.h"
#include "commands/calibrate/sensor.h"
#include "commands/import/import.h"
#include "energy/calibration.h"
#include "energy/units.h"
#include "import/reader.h"
#include "meter/calibrated.h"
#include "meter/meter.h"
#include "replay/history.h"

/* The total is compared as means over this time: within it, a domain that is estimated gets corrected. */
#define TOTAL_STEP_NS (200 * WTL_NS_PER_MS)
#define MAX_LAG_NS    (60 * WTL_NS_PER_S)

enum { METER_FILE_MAX = 1 << 30 };

struct settings {
	struct wtl_option_list files;
	const char *wattmeter, *columns, *domain;
	bool dry_run, sensor;
	struct wtl_sensor_settings of_sensor;
};

static const struct wtl_option options[] = {
	{"wattmeter", 0, "FILE",
	 "The meter's log, as CSV: whatever `wattle import --from wattmeter` and omegawatt read, or a time "
	 "and watts a line",
	 WTL_OPTION_PATH, WTL_OWN(struct settings, wattmeter), .what = "a file"},
	{"columns", 0, "LIST",
	 "Columns of the log, as in `wattle import`, such as time=1,power=P2:kw (default: by their names)",
	 WTL_OPTION_TEXT, WTL_OWN(struct settings, columns)},
	{"of", 0, "DOMAIN",
	 "The meter was on the supply of that part alone, such as gpu-0 (default: the machine's plug)",
	 WTL_OPTION_PATH, WTL_OWN(struct settings, domain), .what = "a domain"},
	{"sensor", 0, NULL,
	 "Find how the power sensors of each NVIDIA GPU sample, under a load that is switched on and off",
	 WTL_OPTION_FLAG, WTL_OWN(struct settings, sensor)},
	{"load", 0, "CMD",
	 "With --sensor: the load, a shell command that keeps the GPU busy until it is ended; it is stopped "
	 "and continued (default: a kernel of wattle's own, by libcuda.so.1)",
	 WTL_OPTION_PATH, WTL_OWN(struct settings, of_sensor.load), .what = "a command"},
	{"duration", 0, "TIME", "With --sensor: for how long (10s to 600s; default 40s)",
	 WTL_OPTION_DURATION, WTL_OWN(struct settings, of_sensor.length_ns),
	 .least = 10 * WTL_NS_PER_S, .most = 600 * WTL_NS_PER_S},
	{"cuda", 0, "PATH", "With --sensor: the CUDA driver's library to load", WTL_OPTION_PATH,
	 WTL_OWN(struct settings, of_sensor.cuda), .what = "a library", .is_rare = true},
	{"dry-run", 0, NULL, "Tell what was found, and keep nothing", WTL_OPTION_FLAG,
	 WTL_OWN(struct settings, dry_run)},
	{0},
};

static const struct wtl_option word = {"RECORDING", .kind = WTL_OPTION_LIST,
				       WTL_OWN(struct settings, files), .what = "a recording",
				       .takes = "recordings"};

/* ---- What the recording's sensors said ---- */

struct taking {
	const struct wtl_history *history;
	struct wtl_power_log log;
	int domain; /* < 0: the total */
	bool has_last;
	int64_t last_ns; /* of the last reading in the log, or the start of the next mean */
	uint64_t last;	 /* its count, or the total's energy then */
};

static int add(struct taking *taking, int64_t t_mono_ns, double power_w)
{
	return wtl_power_log_add(&taking->log, wtl_history_utc(taking->history, t_mono_ns),
				 power_w);
}

/* When the counter has moved: adds the mean power since it last moved, as of the start of that time. */
static int add_energy(struct taking *taking, int64_t t_ns, uint64_t energy_uj, int64_t least_ns)
{
	int64_t apart_ns = t_ns - taking->last_ns;
	int rc = 0;

	if (taking->has_last && (apart_ns < least_ns || energy_uj == taking->last))
		return 0;
	if (taking->has_last && energy_uj > taking->last)
		rc = add(taking, taking->last_ns,
			 (double)(energy_uj - taking->last) * 1e3 / (double)apart_ns);
	taking->has_last = true;
	taking->last_ns = t_ns;
	taking->last = energy_uj;
	return rc;
}

static int take_domain(struct taking *taking)
{
	const struct wattle_meter *meter = taking->history->meter;
	int primary = meter->domains[taking->domain].domain.primary;
	const struct wtl_channel *channel = &meter->catalog.channels[primary];
	const struct wtl_reading *reading = &wtl_player_readings(taking->history->player)[primary];
	uint64_t value;

	if (reading->status != WATTLE_STATUS_OK)
		return 0;
	value = wtl_unit_convert(channel->unit, reading->value);
	if (channel->quantity == WTL_QUANTITY_ENERGY)
		return add_energy(taking, reading->t_mono_ns, value, 1);
	return add(taking, reading->t_mono_ns, (double)value / 1e6);
}

static int take_total(struct taking *taking)
{
	const struct wattle_meter *meter = taking->history->meter;
	uint64_t sum_uj = 0;

	for (size_t i = 0; i < meter->n_domains; i++)
		if (meter->domains[i].domain.in_total && meter->domains[i].account)
			sum_uj += wtl_account_uj(meter->domains[i].account);
	return add_energy(taking, wtl_player_mono(taking->history->player), sum_uj, TOTAL_STEP_NS);
}

static int read_recording(struct wtl_app *app, struct taking *taking, struct wtl_history *history)
{
	const struct settings *settings = app->own;
	struct wtl_err err = {.code = 0};
	struct wtl_played played;
	int rc = 1;

	while (rc > 0) {
		rc = wtl_history_step(history, &played, &err);
		if (rc <= 0 || !wtl_played_has_sample(&played))
			continue;
		rc = taking->domain < 0 ? take_total(taking) : take_domain(taking);
		rc = rc < 0 ? wtl_err_set(&err, rc, "calibrate", settings->files.words[0], "%s",
					  wtl_err_text(rc))
			    : 1;
	}
	if (rc < 0)
		wtl_complain_err(app, &err);
	else
		wtl_remark_missing(app, settings->files.words[0], history);
	return rc;
}

/* ---- The meter's log ---- */

static int take_meter(const struct wtl_import_series *series, struct wtl_power_log *log)
{
	const struct wtl_import_point *last = NULL;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < series->n; i++) {
		const struct wtl_import_point *point = &series->points[i];

		if (point->status != WATTLE_STATUS_OK)
			continue;
		if (series->what == WTL_IMPORT_POWER_UW)
			rc = wtl_power_log_add(log, point->t_ns, (double)point->value / 1e6);
		else if (last && point->value > last->value)
			rc = wtl_power_log_add(log, last->t_ns,
					       (double)(point->value - last->value) * 1e3 /
						       (double)(point->t_ns - last->t_ns));
		else if (last && !point->is_anew)
			continue;
		last = point;
	}
	return rc;
}

/* Reads OmegaWatt's format if the content is that and --columns is not given; else any wattmeter's table. */
static int read_import(const struct settings *settings, struct wtl_import *import,
		       const struct wtl_buf *text, struct wtl_power_log *ret_log,
		       struct wtl_err *err)
{
	bool is_known = !settings->columns && wtl_import_omegawatt.is(wtl_buf_str(text), text->len);
	int rc = wtl_import_read(import, is_known ? &wtl_import_omegawatt : &wtl_import_wattmeter,
				 wtl_buf_str(text), text->len, err);

	if (rc == 0 && import->n_series > 1)
		return wtl_err_set(err, WTL_EFORMAT, "calibrate", NULL,
				   "it has %zu powers: --columns time=NAME,power=NAME says which",
				   import->n_series);
	if (rc == 0 && wtl_import_points(import) == 0)
		return wtl_err_set(err, WTL_EFORMAT, "calibrate", NULL,
				   "it has no reading; line %zu: %s", import->bad[0].line,
				   import->n_bad > 0 ? import->bad[0].text : "the file ends there");
	return rc == 0 ? take_meter(&import->series[0], ret_log) : rc;
}

static int read_meter(struct wtl_app *app, struct wtl_power_log *ret_log)
{
	const struct settings *settings = app->own;
	const struct wtl_import_options how = {.utc_ns = wtl_import_local_utc_ns,
					       .start_ns = INT64_MIN,
					       .columns = settings->columns};
	const char *path = settings->wattmeter;
	struct wtl_err err = {.code = 0};
	struct wtl_import import;
	struct wtl_buf text;
	int rc;

	wtl_import_init(&import, &how);
	wtl_buf_init(&text, METER_FILE_MAX);
	rc = wtl_infile_read(path, &text);
	if (rc < 0)
		wtl_err_set(&err, rc, "calibrate", NULL, "%s", wtl_err_text(rc));
	else
		rc = read_import(settings, &import, &text, ret_log, &err);
	if (rc < 0)
		wtl_complain(app, "%s: %s", path, err.code ? err.text : wtl_err_text(rc));
	else
		wtl_import_tell_bad(app, &import, path);
	wtl_buf_done(&text);
	wtl_import_done(&import);
	return rc;
}

/* ---- The result ---- */

static void tell(const struct wtl_app *app, const struct wtl_calibration *found, const char *part)
{
	const struct settings *settings = app->own;

	printf("%s by %s, from %s\n\n", part, settings->wattmeter, settings->files.words[0]);
	printf("  true power = %.4f x shown power %+.2f W\n", found->gain, found->zero_w);
	printf("  gain       %.4f +- %.4f (k = 2)\n", found->gain,
	       2 * fmax(found->gain_error, WTL_CALIBRATION_GAIN_PPM / 1e6));
	printf("  zero       %+.2f +- %.2f W\n", found->zero_w, 2 * found->zero_error_w);
	printf("  lag        %" PRId64 " ms (steps of %" PRId64 " ms, correlation %.4f)\n",
	       found->lag_ns / WTL_NS_PER_MS, found->step_ns / WTL_NS_PER_MS, found->correlation);
	printf("  left over  %.2f W rms in %zu steps\n", found->rms_w, found->n);
}

static uint64_t machine_of(const struct wtl_history *history)
{
	const char *text = wtl_history_fact(history, WTL_FACT_MACHINE_ID);
	uint64_t id = 0;

	return wtl_num_hex(text, strlen(text), &id) == 0 ? id : 0;
}

static int write_kept(struct wtl_app *app, const char *path,
		      const struct wtl_kept_calibration *kept)
{
	struct wtl_err err = {.code = 0};
	struct wtl_io *io;
	int rc = wtl_io_real_new(NULL, &io, &err);

	if (rc < 0)
		return rc;
	wtl_user_make_folder_of(path);
	rc = wtl_calibration_keep(io, path, kept);
	wtl_io_free(io);
	if (rc == 0 && !app->settings.quiet)
		printf("\nkept in %s\n", path);
	return rc;
}

/* The calibration is dated by the end of the recording. */
static int keep(struct wtl_app *app, const struct wtl_history *history, int domain,
		const struct wtl_calibration *found)
{
	const struct wattle_meter *meter = history->meter;
	char idle[4000], path[4096], key[WTL_KEPT_KEY_SIZE];
	struct wtl_kept_calibration kept;
	int64_t utc_ns = wtl_history_utc(history, history->end_mono_ns);
	int rc = wtl_idle_path(&app->settings, idle, sizeof(idle));

	if (rc == 0)
		rc = wtl_calibration_path(idle, path, sizeof(path));
	wtl_calibration_key(
		key, machine_of(history),
		domain < 0 ? NULL
			   : &meter->catalog.channels[meter->domains[domain].domain.primary]);
	if (rc == 0)
		rc = wtl_kept_calibration_set(&kept, key, found, utc_ns / WTL_NS_PER_S);
	if (rc == 0)
		rc = write_kept(app, path, &kept);
	if (rc < 0)
		wtl_complain(app, "the calibration cannot be kept: %s", wtl_err_text(rc));
	return rc;
}

/* Finds the domain; -ENOENT after a complaint. */
static int find_domain(struct wtl_app *app, const struct wtl_history *history, int *ret_domain)
{
	const struct settings *settings = app->own;
	int i = settings->domain ? wattle_meter_find(history->meter, settings->domain) : -1;
	const char *note;
	int primary;

	*ret_domain = i;
	if (!settings->domain)
		return 0;
	primary = i >= 0 ? history->meter->domains[i].domain.primary : -1;
	note = primary < 0 ? NULL : wtl_calibrated_note(&history->meter->catalog.channels[primary]);
	if (primary >= 0 && !note)
		return 0;
	if (note)
		wtl_complain(
			app,
			"%s: %s is corrected already (%s): a new calibration takes a recording "
			"that was made with --idle-file ''",
			settings->files.words[0], settings->domain, note);
	else
		wtl_complain(app, "%s: there is no figure of a domain %s in it",
			     settings->files.words[0], settings->domain);
	return -ENOENT;
}

static int calibrate(struct wtl_app *app, struct wtl_history *history)
{
	const struct settings *settings = app->own;
	struct wtl_power_log meter = {.n = 0};
	struct taking taking = {.history = history};
	struct wtl_calibration found;
	struct wtl_err err = {.code = 0};
	int rc = find_domain(app, history, &taking.domain);

	if (rc == 0)
		rc = read_meter(app, &meter);
	if (rc == 0)
		rc = read_recording(app, &taking, history);
	if (rc == 0) {
		rc = wtl_calibration_fit(&taking.log, &meter, MAX_LAG_NS, &found, &err);
		if (rc < 0)
			wtl_complain(app, "%s", err.text);
	}
	if (rc == 0) {
		tell(app, &found, settings->domain ? settings->domain : "the machine at the wall");
		if (!settings->dry_run)
			rc = keep(app, history, taking.domain, &found);
	}
	wtl_power_log_done(&taking.log);
	wtl_power_log_done(&meter);
	return rc;
}

/* Exactly one of the two ways, with only its own options. 0, or EINVAL after wtl_complain(). */
static int check(struct wtl_app *app)
{
	static const char *const of_sensor[] = {"--load",  "--duration", "--cuda", "--gpus",
						"--nvml",  "--root",	 "--tape", "--tape-record",
						"--fault", "--mode",	 NULL};
	const struct settings *settings = app->own;
	const char *other;

	if (settings->sensor) {
		if (settings->wattmeter || settings->domain || settings->files.n > 0)
			return wtl_complain(app, "--sensor takes no wattmeter and no recording");
		if (app->settings.tape || app->settings.tape_record)
			return wtl_complain(app,
					    "--sensor has to switch a load: no tape can do that");
		return 0;
	}
	other = wtl_option_first_used(app, of_sensor);
	if (other)
		return wtl_complain(app, "%s is for --sensor", other);
	if (!settings->wattmeter || settings->files.n != 1)
		return wtl_complain(app,
				    "a wattmeter's log and one recording are wanted, as in: wattle "
				    "calibrate --wattmeter meter.csv night.wattle");
	return 0;
}

static int run(struct wtl_app *app)
{
	struct settings *settings = app->own;
	struct wtl_history *history;
	struct wtl_err err = {.code = 0};
	int rc;

	if (check(app))
		return WTL_EXIT_USAGE;
	if (settings->sensor) {
		settings->of_sensor.dry_run = settings->dry_run;
		return wtl_calibrate_sensors(app, &settings->of_sensor);
	}
	if (wtl_history_open(settings->files.words[0], NULL, &history, &err) < 0) {
		wtl_complain_err(app, &err);
		return WTL_EXIT_FAILED;
	}
	rc = calibrate(app, history);
	wtl_history_close(history);
	return rc < 0 ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
}

const struct wtl_command wtl_command_calibrate = {
	.name = "calibrate",
	.summary = "Calibrate sensors by a wattmeter, or find how they sample",
	.synopsis = "--wattmeter FILE RECORDING | --sensor [OPTION...]",
	.description =
		"Compares a recording with the log of a wattmeter that ran beside it: finds how much later "
		"the sensors show what the meter shows, and the line from their power to the meter's. "
		"The load has to change: run something heavy and nothing in turn, for some minutes, so "
		"that gain and zero can be told apart.\n\n"
		"By default the meter is at the machine's plug. Then the result is a model of the wall's "
		"power, and later reports of this machine have its energy as a second figure beside that "
		"of the sensors. With --of DOMAIN the meter was on the supply of that part alone, and "
		"from then on its readings are corrected, its device is marked as calibrated, and its "
		"uncertainty is that of the calibration. It is kept by the UUID of the device, in the file "
		"\"calibration\" beside that of idle power.\n\n"
		"--sensor needs no wattmeter. It switches a load of each NVIDIA GPU on and off for 40 seconds, and "
		"finds how often each of its power figures changes, over how long it is a mean, and how late it "
		"comes. That is kept by UUID, too (in the file \"sensors\"), and takes the place of what is known "
		"of such GPUs in all later measurements; the device is marked as measured. The GPU should have "
		"nothing else to do.",
	.examples = "wattle calibrate --wattmeter plug.csv night.wattle\n"
		    "    the machine at the wall\n\n"
		    "wattle calibrate --wattmeter slot.csv --of gpu-0 --dry-run night.wattle\n"
		    "    what a meter on a card's supply says of its sensor, without keeping it\n\n"
		    "wattle calibrate --sensor\n"
		    "    how the power sensors of this machine's NVIDIA GPUs sample",
	.exit_status = "0\tdone\n"
		       "1\ta file cannot be read, or nothing can be told from both\n"
		       "2\twrong options",
	.options = options,
	.shared =
		(const struct wtl_option *const[]){wtl_options_idle_file, wtl_options_gpus,
						   wtl_options_machine, wtl_options_general, NULL},
	.word = &word,
	.settings_size = sizeof(struct settings),
	.defaults = &(const struct settings){.of_sensor.length_ns = 40 * WTL_NS_PER_S},
	.usage_exit = WTL_EXIT_USAGE,
	.run = run,
};
