/* SPDX-License-Identifier: MIT */
#include "commands/estimate/measure.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/progress.h"
#include "commands/estimate/host.h"
#include "commands/estimate/tell.h"
#include "energy/units.h"

#define STRETCH_NS WTL_NS_PER_S /* of a repetition, at least */

enum { REPEAT = 5, INFERENCES_MAX = 10000000, ANSWER_SIZE = 1000 };

/* share/estimate/run_model.py */
extern const char wtl_neural_run_model[];

struct runner {
	struct wtl_metered metered;
	struct wtl_child child;
	int to, from;
	const char *python;
	struct wtl_measured *measured;
	char answer[ANSWER_SIZE];
};

/* ---- The other process ---- */

/* execve() does not write to its arguments. */
static char *word(const char *text)
{
	return (char *)(uintptr_t)text;
}

static char **make_arguments(const struct wtl_measure_options *how, const char *python,
			     const char *path)
{
	char **argv = calloc(5 + 2 * (how->dims->n + how->inputs->n), sizeof(*argv));
	size_t n = 0;

	if (!argv)
		return NULL;
	argv[n++] = word(python);
	argv[n++] = word("-c");
	argv[n++] = word(wtl_neural_run_model);
	argv[n++] = word(path);
	for (size_t i = 0; i < how->dims->n; i++) {
		argv[n++] = word("--dim");
		argv[n++] = word(how->dims->words[i]);
	}
	for (size_t i = 0; i < how->inputs->n; i++) {
		argv[n++] = word("--input");
		argv[n++] = word(how->inputs->words[i]);
	}
	return argv;
}

static int start(struct runner *runner, const struct wtl_measure_options *how)
{
	struct wtl_app *app = runner->metered.app;
	char **argv = make_arguments(how, runner->python, runner->measured->path);
	int rc = argv ? wtl_child_start_piped(&runner->child, app, argv, &runner->to, &runner->from)
		      : -ENOMEM;

	free(argv);
	if (rc == -ENOENT)
		wtl_complain(app, "cannot run '%s': there is no such command (--python PATH)",
			     runner->python);
	else if (rc < 0)
		wtl_complain(app, "cannot run '%s': %s", runner->python, wtl_err_text(rc));
	return rc;
}

static void end(struct runner *runner)
{
	if (runner->child.pid <= 0)
		return;
	close(runner->to);
	close(runner->from);
	kill(runner->child.pid, SIGKILL);
	while (waitpid(runner->child.pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* The answer after its first word, which is checked; NULL after a complaint. */
static const char *take_answer(struct runner *runner, const char *word)
{
	struct wtl_app *app = runner->metered.app;
	const char *text = runner->answer;
	size_t len = strlen(word);

	if (strncmp(text, word, len) == 0 && text[len] == ' ')
		return text + len + 1;
	if (strncmp(text, "error missing ", 14) == 0)
		wtl_complain(app,
			     "%s has no %s: %s -m pip install onnxruntime, or --python PATH of one "
			     "that has it",
			     runner->python, text + 14, runner->python);
	else if (strncmp(text, "error ", 6) == 0)
		wtl_complain(app, "%s: %s", runner->measured->path, text + 6);
	else
		wtl_complain(app, "%s: %s ended without an answer", runner->measured->path,
			     runner->python);
	return NULL;
}

/* Reads one line of the script's output, and samples meanwhile. 0, or the exit code to stop with. */
static int read_answer(struct runner *runner)
{
	char *newline = NULL;
	size_t len = 0;

	runner->answer[0] = '\0';
	while (!newline && len + 1 < sizeof(runner->answer)) {
		int code = wtl_metered_wait(&runner->metered);
		if (code != 0)
			return code;
		ssize_t n =
			read(runner->from, runner->answer + len, sizeof(runner->answer) - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
		runner->answer[len] = '\0';
		newline = strchr(runner->answer, '\n');
	}
	if (newline)
		*newline = '\0';
	return 0;
}

/* Runs inferences. Returns their time by the script's clock; 0, with the exit code, after a complaint or a signal. */
static uint64_t infer(struct runner *runner, uint64_t inferences, int *ret_code)
{
	char text[32];
	uint64_t took_ns = 0;
	int len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)inferences);
	const char *answer;

	*ret_code = WTL_EXIT_FAILED;
	if (write(runner->to, text, (size_t)len) != len) {
		wtl_complain(runner->metered.app, "%s: %s has ended", runner->measured->path,
			     runner->python);
		return 0;
	}
	int code = read_answer(runner);
	if (code != 0) {
		*ret_code = code;
		return 0;
	}
	answer = take_answer(runner, "done");
	if (!answer)
		return 0;
	if (wtl_num_u64(answer, strlen(answer), &took_ns) < 0 || took_ns == 0) {
		wtl_complain(runner->metered.app, "%s: %s answered '%s', which is no time",
			     runner->measured->path, runner->python, answer);
		return 0;
	}
	*ret_code = 0;
	return took_ns;
}

/* ---- Repetitions ---- */

static int measure_run(struct runner *runner)
{
	struct wtl_measured *measured = runner->measured;
	struct wtl_measured_run *run = &measured->runs[measured->n];
	const double n = (double)measured->inferences;
	int code;

	wtl_metered_begin(&runner->metered, runner->child.number);
	uint64_t took_ns = infer(runner, measured->inferences, &code);
	wtl_metered_end(&runner->metered, &run->energy);
	if (code != 0)
		return code;
	run->seconds = (double)took_ns * 1e-9 / n;
	if (run->energy.is_known) {
		run->joules = run->energy.dynamic_j / n + run->energy.idle_w * run->seconds;
		run->uncertainty_j = hypot(run->energy.uncertainty_j / n,
					   run->energy.idle_uncertainty_w * run->seconds);
	}
	measured->n++;
	return 0;
}

/* The ± combines the meter's, which is common to all repetitions, and that of their mean. */
static void sum_up(struct wtl_measured *measured)
{
	struct wtl_tally seconds = {.n = 0}, joules = {.n = 0}, uncertainty = {.n = 0};

	for (size_t i = 0; i < measured->n; i++) {
		const struct wtl_measured_run *run = &measured->runs[i];
		wtl_tally_add(&seconds, run->seconds);
		if (!run->energy.is_known)
			continue;
		wtl_tally_add(&joules, run->joules);
		wtl_tally_add(&uncertainty, run->uncertainty_j);
		measured->is_modelled |= run->energy.is_modelled;
	}
	wtl_tally_statistics(&seconds, &measured->seconds);
	wtl_tally_statistics(&joules, &measured->joules);
	measured->has_energy = joules.n == seconds.n;
	measured->uncertainty_j = hypot(measured->joules.ci95, uncertainty.mean);
}

static int measure_all(struct runner *runner, unsigned repeat)
{
	struct wtl_measured *measured = runner->measured;
	struct wtl_app *app = runner->metered.app;
	int code = wtl_metered_watch(&runner->metered, runner->from) < 0 ? WTL_EXIT_FAILED
									 : read_answer(runner);
	if (code != 0)
		return code;
	const char *version = take_answer(runner, "ready");
	if (!version)
		return WTL_EXIT_FAILED;
	wtl_text_copy(measured->runtime, sizeof(measured->runtime), version);
	uint64_t took_ns = infer(runner, 1, &code);
	if (code != 0)
		return code;
	measured->inferences = 1 + STRETCH_NS / took_ns;
	if (measured->inferences > INFERENCES_MAX)
		measured->inferences = INFERENCES_MAX;
	for (unsigned i = 0; code == 0 && i < repeat; i++) {
		wtl_progress_show(app, true, "repetition %u of %u", i + 1, repeat);
		code = measure_run(runner);
	}
	wtl_progress_clear(app);
	sum_up(measured);
	return code;
}

/* Estimates from what --host measured of this machine; without that, only the measurement is shown. */
static int estimate(struct wtl_app *app, const struct wtl_estimate_options *options,
		    const struct wtl_network *network, struct wtl_devices *devices,
		    struct wtl_measured *measured)
{
	int rc = wtl_estimate_load_host(app, devices);

	if (rc == 0)
		wtl_remark(app, "there is no estimate to compare it with: wattle estimate --host "
				"measures what this machine takes");
	if (rc <= 0)
		return rc;
	rc = wtl_estimate_roofline(app, options, network, measured->path, devices,
				   &measured->estimate);
	measured->has_estimate = rc == 0;
	return rc;
}

static int run_all(struct wtl_app *app, const struct wtl_measure_options *how,
		   struct wtl_measured *measured, unsigned repeat)
{
	struct runner runner = {.measured = measured,
				.python = how->python ? how->python : "python3"};
	int code = wtl_metered_open(&runner.metered, app);

	if (code != 0)
		return code;
	code = start(&runner, how) < 0 ? WTL_EXIT_FAILED : measure_all(&runner, repeat);
	end(&runner);
	wtl_metered_close(&runner.metered);
	return code;
}

int wtl_estimate_measure(struct wtl_app *app, const struct wtl_measure_options *how,
			 const struct wtl_estimate_options *options,
			 const struct wtl_network *network, const char *path)
{
	unsigned repeat = how->repeat ? how->repeat : REPEAT;
	struct wtl_measured measured = {.path = path,
					.runs = calloc(repeat, sizeof(*measured.runs))};
	struct wtl_devices devices = {0};
	int code = WTL_EXIT_FAILED;

	if (!measured.runs)
		wtl_complain(app, "no memory");
	else
		code = run_all(app, how, &measured, repeat);
	if (code == 0 && estimate(app, options, network, &devices, &measured) < 0)
		code = WTL_EXIT_FAILED;
	if (code == 0)
		code = wtl_estimate_tell(app, &wtl_estimate_measured_thing, &measured);
	if (measured.has_estimate)
		wtl_roofline_done(&measured.estimate.roofline);
	wtl_devices_done(&devices);
	free(measured.runs);
	return code;
}
