/* SPDX-License-Identifier: MIT */
/*
 * The simulated machine: real processes, whose CPU time moves energy counters by known watts. See
 * README.md.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "board.h"
#include "launch.h"
#include "model.h"
#include "stage.h"
#include "truth.h"

#define NS_PER_S INT64_C(1000000000)
#define TRACE_NS (NS_PER_S / 20)
#define GRACE_NS (120 * NS_PER_S) /* how long a tool may go on when all is over */

static const char usage[] =
	"usage: sim [--by-tool] SCENARIO DIR [--] [TOOL [ARGUMENT...]]\n"
	"Runs the scenario's workers; DIR gets the machine's files and, at the end, truth.json. The\n"
	"tool sees the simulated /sys. With --by-tool it starts the workers, by running $SIM_LAUNCH.\n";

struct sim {
	struct sim_scenario scenario;
	struct sim_stage stage;
	struct sim_model model;
	struct sim_board *board;
	struct sim_run run;
	int others; /* the file of all CPU time; -1: none */
	int64_t others_start_ns, others_ns;
	pid_t launcher, tool; /* 0: none, or it has ended */
	FILE *trace;
	int64_t t0_ns, trace_due_ns;
};

static int64_t utc_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* ---- The CPU time of all ---- */

static int64_t machine_cpu_ns(const struct sim *sim)
{
	char text[32];
	ssize_t len = sim->others < 0 ? -1 : pread(sim->others, text, sizeof(text) - 1, 0);

	if (len <= 0)
		return 0;
	text[len] = '\0';
	return strtoll(text, NULL, 10);
}

/* The root group of cgroup v1's cpuacct adds up what the scheduler gave to each task, in ns. (The
 * second version's is made of ticks.) */
static void others_open(struct sim *sim)
{
	sim->others = -1;
	sim->run.others_source = "none";
	if (sim->scenario.others_mw == 0)
		return;
	sim->others = open("/sys/fs/cgroup/cpuacct/cpuacct.usage", O_RDONLY | O_CLOEXEC);
	if (sim->others < 0) {
		fprintf(stderr, "sim: no cgroup v1 cpuacct: all others draw nothing\n");
		return;
	}
	sim->run.others_source = "cpuacct.usage";
	sim->others_start_ns = machine_cpu_ns(sim);
}

/* ---- Steps ---- */

static void step(struct sim *sim)
{
	int64_t cpu_ns[SIM_CONSUMERS_MAX] = {0}, workers_ns = 0, now_ns;
	size_t others = sim_model_others(&sim->model);

	for (size_t i = 0; i < sim->scenario.n_workers; i++) {
		cpu_ns[i] = sim_slot_cpu_ns(&sim->board->slots[i]);
		workers_ns += cpu_ns[i];
	}
	if (sim->others >= 0)
		cpu_ns[others] = machine_cpu_ns(sim) - sim->others_start_ns - workers_ns;
	now_ns = sim_mono_ns() - sim->t0_ns;
	sim_model_step(&sim->model, now_ns, cpu_ns);
	sim_stage_show(&sim->stage, &sim->model);
	if (sim->trace && now_ns >= sim->trace_due_ns) {
		sim_trace_row(sim->trace, &sim->model, utc_ns());
		sim->trace_due_ns = now_ns + TRACE_NS;
	}
}

static void poll_children(struct sim *sim)
{
	int status;

	if (sim->launcher > 0 && waitpid(sim->launcher, &status, WNOHANG) == sim->launcher)
		sim->launcher = 0;
	if (sim->tool > 0 && waitpid(sim->tool, &status, WNOHANG) == sim->tool) {
		sim->tool = 0;
		sim->run.tool_status =
			WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
}

static bool is_over(const struct sim *sim)
{
	if (sim->tool > 0 || sim->launcher > 0)
		return false;
	return sim->run.by_tool || sim->model.t_ns >= sim->scenario.duration_ns;
}

static void run(struct sim *sim)
{
	int64_t due_ns = sim_mono_ns();

	while (!is_over(sim)) {
		int64_t now_ns = sim_mono_ns();

		due_ns += sim->scenario.tick_ns;
		if (due_ns < now_ns)
			due_ns = now_ns;
		sim_sleep_until(due_ns);
		step(sim);
		poll_children(sim);
		if (sim->tool > 0 && sim->model.t_ns > sim->scenario.duration_ns + GRACE_NS) {
			fprintf(stderr, "sim: the tool does not end: killed\n");
			kill(sim->tool, SIGKILL);
		}
	}
	step(sim);
}

/* ---- Start and end ---- */

static pid_t start_launcher(const struct sim *sim)
{
	char program[] = "sim", launch[] = "launch", dir[PATH_MAX];
	char *const args[] = {program, launch, dir, NULL};
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(dir, sizeof(dir), "%s", sim->stage.dir);
	execv("/proc/self/exe", args);
	_exit(127);
}

static pid_t start_tool(const struct sim *sim, char *const args[])
{
	char self[PATH_MAX] = "", launch[2 * PATH_MAX];
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		_exit(127);
	snprintf(launch, sizeof(launch), "%s launch %s", self, sim->stage.dir);
	setenv("SIM_LAUNCH", launch, 1);
	if (sim_stage_enter(&sim->stage, dirname(self)) < 0)
		_exit(126);
	execvp(args[0], args);
	perror(args[0]);
	_exit(127);
}

/* Those whose pids stand in the GPU's script have to be there first. */
static int wait_for_gpu_users(const struct sim *sim)
{
	for (unsigned attempt = 0; attempt < 5000; attempt++) {
		bool all = true;

		for (size_t i = 0; i < sim->scenario.n_workers; i++)
			if (sim_scenario_on_gpu(&sim->scenario, i) &&
			    atomic_load(&sim->board->slots[i].pid) == 0)
				all = false;
		if (all)
			return 0;
		sim_sleep_until(sim_mono_ns() + 1000000);
	}
	fprintf(stderr, "sim: the workers do not start\n");
	return -1;
}

static int copy_scenario(const char *from, const char *dir)
{
	char path[PATH_MAX], block[4096];
	FILE *in = fopen(from, "re"), *out;
	size_t len;
	int rc;

	snprintf(path, sizeof(path), "%s/scenario", dir);
	out = fopen(path, "we");
	if (!in || !out) {
		perror(in ? path : from);
		if (in)
			fclose(in);
		if (out)
			fclose(out);
		return -1;
	}
	while ((len = fread(block, 1, sizeof(block), in)) > 0)
		fwrite(block, 1, len, out);
	fclose(in);
	rc = fclose(out);
	return rc == 0 ? 0 : -1;
}

static FILE *open_in(const struct sim *sim, const char *name)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", sim->stage.dir, name);
	file = fopen(path, "we");
	if (!file)
		perror(path);
	return file;
}

static int start(struct sim *sim, char *const tool[])
{
	sim->run.tool_status = -1;
	sim->trace = open_in(sim, "trace.csv");
	sim->board = sim_board_open(sim->stage.dir, true);
	if (!sim->trace || !sim->board)
		return -1;
	atomic_store(&sim->board->pmu_mhz, sim->scenario.pmu_mhz);
	for (size_t i = 0; i < sim->scenario.n_workers; i++)
		atomic_store(&sim->board->ipc_milli[i], sim->scenario.workers[i].ipc_milli);
	sim_model_init(&sim->model, &sim->scenario);
	sim_trace_head(sim->trace, &sim->model);
	others_open(sim);
	sim->t0_ns = sim_mono_ns();
	sim->run.start_utc_ns = utc_ns();
	if (!sim->run.by_tool) {
		atomic_store(&sim->board->t0_mono_ns, sim->t0_ns);
		sim->launcher = start_launcher(sim);
	}
	if (sim->scenario.has_gpu &&
	    (wait_for_gpu_users(sim) < 0 || sim_stage_gpu(&sim->stage, sim->board) < 0))
		return -1;
	step(sim);
	if (tool[0])
		sim->tool = start_tool(sim, tool);
	return sim->launcher < 0 || sim->tool < 0 ? -1 : 0;
}

static int finish(struct sim *sim)
{
	FILE *file = open_in(sim, "truth.json");
	int rc;

	if (!file)
		return 1;
	sim_trace_row(sim->trace, &sim->model, utc_ns());
	sim_truth_write(file, &sim->model, sim->board, &sim->run);
	rc = fclose(file) == 0 && fclose(sim->trace) == 0 ? 0 : 1;
	sim_stage_done(&sim->stage);
	sim_board_close(sim->board);
	return rc;
}

static int simulate(int argc, char *argv[])
{
	static struct sim sim; /* too large for a stack */
	char **tool;

	if (argc > 1 && strcmp(argv[1], "--by-tool") == 0) {
		sim.run.by_tool = true;
		argc--;
		argv++;
	}
	if (argc < 3 || argv[1][0] == '-') {
		fputs(usage, stderr);
		return 2;
	}
	tool = argc > 3 && strcmp(argv[3], "--") == 0 ? argv + 4 : argv + 3;
	if (!tool[0] && sim.run.by_tool) {
		fputs(usage, stderr);
		return 2;
	}
	if (sim_scenario_load(argv[1], &sim.scenario) < 0)
		return 2;
	if (sim.run.by_tool && sim.scenario.n_gpu_uses > 0) {
		fprintf(stderr, "sim: who uses the GPU has to be there before the tool\n");
		return 2;
	}
	if (sim_stage_init(&sim.stage, argv[2], &sim.scenario) < 0 ||
	    copy_scenario(argv[1], sim.stage.dir) < 0 || start(&sim, tool) < 0)
		return 1;
	run(&sim);
	return finish(&sim);
}

int main(int argc, char *argv[])
{
	const char *role = argc > 1 ? argv[1] : "";

	if (strcmp(role, "launch") == 0 && argc == 3)
		return sim_launch(argv[2]);
	if (strcmp(role, "worker") == 0 && argc == 10)
		return sim_work(argv + 2);
	if (strcmp(role, "storm") == 0 && argc == 8)
		return sim_storm(argv + 2);
	return simulate(argc, argv);
}
