/* SPDX-License-Identifier: MIT */
#include "launch.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
	SCENARIO_MAX = 256 * 1024,
	ARGS_MAX = 11,
	/* with the NULL */ NUMBERS_MAX = 7,
	ARG_SIZE = 24,
	RESTS = 20 /* of its work, this part is done at rest */
};

int sim_scenario_load(const char *path, struct sim_scenario *ret_scenario)
{
	char *text = calloc(1, SCENARIO_MAX), reason[128];
	FILE *file = fopen(path, "re");
	int line = -1;

	if (!file || !text) {
		perror(path);
	} else if (fread(text, 1, SCENARIO_MAX - 1, file) == SCENARIO_MAX - 1) {
		fprintf(stderr, "%s: too long\n", path);
	} else {
		line = sim_scenario_parse(text, ret_scenario, reason);
		if (line > 0)
			fprintf(stderr, "%s:%d: %s\n", path, line, reason);
	}
	if (file)
		fclose(file);
	free(text);
	return line == 0 ? 0 : -1;
}

/* ---- A worker ---- */

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int64_t own_cpu_ns(void)
{
	struct timespec cpu;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	return cpu.tv_sec * INT64_C(1000000000) + cpu.tv_nsec;
}

/* Arithmetic between looks at the clock, so that the time is spent in user mode. */
static void burn_until(int64_t cpu_end_ns, int64_t stop_mono_ns)
{
	volatile uint64_t x = 1;

	while (own_cpu_ns() < cpu_end_ns && sim_mono_ns() < stop_mono_ns)
		for (unsigned i = 0; i < 20000; i++)
			x = x * UINT64_C(6364136223846793005) + 1;
}

struct job {
	uint64_t duty_ppm, seed;
	int64_t start_ns, stop_ns, phase_ns;
	double jitter;
};

/* As evenly spread as has that standard deviation, around 1. */
static double jitter_of(const struct job *job, uint64_t *random)
{
	double uniform = (double)(random_next(random) % 1000001) / 1e6;

	return 1.0 + job->jitter * (uniform - 0.5) * 3.4641016;
}

static void work(const struct job *job)
{
	uint64_t random = job->seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	uint64_t duty_ppm = job->duty_ppm;
	int64_t stop_ns = job->stop_ns, phase_end_ns = job->start_ns, second_ns = job->start_ns;
	double factor = 1.0;

	sim_sleep_until(job->start_ns < stop_ns ? job->start_ns : stop_ns);
	if (duty_ppm == 0)
		sim_sleep_until(stop_ns);
	for (int64_t now_ns = sim_mono_ns(); now_ns < stop_ns;) {
		/* 10 to 50 ms, so that nothing that samples can keep in step. */
		int64_t period_ns = 10000000 + (int64_t)(random_next(&random) % 40000000);

		while (job->phase_ns > 0 && now_ns >= phase_end_ns) {
			bool works = duty_ppm == job->duty_ppm && phase_end_ns > job->start_ns;

			duty_ppm = works ? job->duty_ppm / RESTS : job->duty_ppm;
			phase_end_ns +=
				job->phase_ns / 4 +
				(int64_t)(random_next(&random) % (uint64_t)(job->phase_ns * 3 / 2));
		}
		for (; job->jitter > 0.0 && now_ns >= second_ns; second_ns += 1000000000)
			factor = jitter_of(job, &random);

		int64_t busy_ns =
			(int64_t)((double)(period_ns / 1000000 * (int64_t)duty_ppm) * factor);

		busy_ns = busy_ns < period_ns ? busy_ns : period_ns;

		burn_until(own_cpu_ns() + busy_ns, stop_ns);
		now_ns += period_ns;
		if (duty_ppm < 1000000)
			sim_sleep_until(now_ns < stop_ns ? now_ns : stop_ns);
		else
			now_ns = sim_mono_ns();
	}
}

static void *work_thread(void *argument)
{
	work(argument);
	return NULL;
}

int sim_work(char *const args[])
{
	unsigned n = (unsigned)strtoul(args[5], NULL, 10);
	struct job jobs[SIM_THREADS_MAX];
	pthread_t threads[SIM_THREADS_MAX];

	prctl(PR_SET_NAME, args[0]);
	for (unsigned i = 0; i < n && i < SIM_THREADS_MAX; i++) {
		jobs[i] = (struct job){
			.duty_ppm = strtoull(args[1], NULL, 10),
			.seed = strtoull(args[2], NULL, 10) + UINT64_C(1000003) * i,
			.start_ns = strtoll(args[3], NULL, 10),
			.stop_ns = strtoll(args[4], NULL, 10),
			.phase_ns = strtoll(args[6], NULL, 10),
			.jitter = strtod(args[7], NULL) / 1e6,
		};
		if (i > 0 && pthread_create(&threads[i], NULL, work_thread, &jobs[i]) != 0)
			return 1;
	}
	work(&jobs[0]);
	for (unsigned i = 1; i < n && i < SIM_THREADS_MAX; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* ---- A storm ---- */

int sim_storm(char *const args[])
{
	struct sim_board *board = sim_board_open(args[1], false);
	struct sim_slot *slot;
	unsigned n = (unsigned)strtoul(args[3], NULL, 10);
	int64_t child_ns = strtoll(args[4], NULL, 10);

	if (!board) {
		perror(args[1]);
		return 1;
	}
	slot = &board->slots[strtoul(args[2], NULL, 10) % SIM_WORKERS_MAX];
	prctl(PR_SET_NAME, args[0]);
	sim_sleep_until(strtoll(args[5], NULL, 10));
	for (unsigned i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("fork");
			return 1;
		}
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			burn_until(child_ns, INT64_MAX);
			_exit(0);
		}
		sim_slot_started(slot, 1, pid);
		sim_slot_wait(slot, 1);
	}
	return 0;
}

/* ---- The launcher ---- */

/* CPUs are dealt to the sockets in turn, as the topology files of the simulated /sys say. */
static void stay_on_socket(const struct sim_scenario *scenario, unsigned socket)
{
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	for (long cpu = 0; cpu < n_cpus && cpu < CPU_SETSIZE; cpu++)
		if ((size_t)cpu % scenario->n_sockets == (size_t)(socket % (unsigned)n_cpus))
			CPU_SET((size_t)cpu, &cpus);
	/* Fails where these CPUs are not ours; then it may run anywhere. */
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

static void run_worker(const struct sim_scenario *scenario, size_t i, const char *dir,
		       int64_t t0_ns)
{
	const struct sim_worker *worker = &scenario->workers[i];
	int64_t stop_ns =
		worker->stop_ns < scenario->duration_ns ? worker->stop_ns : scenario->duration_ns;
	char number[NUMBERS_MAX][ARG_SIZE], name[SIM_NAME_SIZE], path[4096], program[] = "sim";
	char work[] = "worker", storm[] = "storm";
	char *args[ARGS_MAX] = {program, worker->children ? storm : work, name};
	size_t n_numbers = NUMBERS_MAX;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	stay_on_socket(scenario, worker->socket);
	memcpy(name, worker->name, sizeof(name));
	snprintf(path, sizeof(path), "%s", dir);
	if (worker->children) {
		snprintf(number[0], ARG_SIZE, "%zu", i);
		snprintf(number[1], ARG_SIZE, "%u", worker->children);
		snprintf(number[2], ARG_SIZE, "%" PRId64, worker->child_ns);
		snprintf(number[3], ARG_SIZE, "%" PRId64, t0_ns + worker->start_ns);
		args[3] = path;
		n_numbers = 4;
	} else {
		snprintf(number[0], ARG_SIZE, "%" PRIu32, worker->duty_ppm);
		snprintf(number[1], ARG_SIZE, "%" PRIu64, scenario->seed * 1000 + i);
		snprintf(number[2], ARG_SIZE, "%" PRId64, t0_ns + worker->start_ns);
		snprintf(number[3], ARG_SIZE, "%" PRId64, t0_ns + stop_ns);
		snprintf(number[4], ARG_SIZE, "%u", worker->threads);
		snprintf(number[5], ARG_SIZE, "%" PRId64, worker->phase_ns);
		snprintf(number[6], ARG_SIZE, "%" PRIu32, worker->jitter_ppm);
	}
	for (size_t n = 0; n < n_numbers; n++)
		args[(worker->children ? 4 : 3) + n] = number[n];
	execv("/proc/self/exe", args);
	_exit(127);
}

/* Who uses the GPU is there from the start on: its script names the processes. */
static int64_t fork_ns(const struct sim_scenario *scenario, size_t i)
{
	return sim_scenario_on_gpu(scenario, i) ? 0 : scenario->workers[i].start_ns;
}

/* The next worker to start, or n_workers; what would start after the end never does. */
static size_t next_worker(const struct sim_scenario *scenario, const struct sim_board *board)
{
	size_t next = scenario->n_workers;

	for (size_t i = 0; i < scenario->n_workers; i++)
		if (atomic_load(&board->slots[i].pid) == 0 &&
		    fork_ns(scenario, i) < scenario->duration_ns &&
		    (next == scenario->n_workers || fork_ns(scenario, i) < fork_ns(scenario, next)))
			next = i;
	return next;
}

/* One after the other: who ended before its turn stays, and with it its CPU time. */
static void wait_for_all(const struct sim_scenario *scenario, struct sim_board *board)
{
	for (size_t i = 0; i < scenario->n_workers; i++)
		if (atomic_load(&board->slots[i].live[0]) > 0)
			sim_slot_wait(&board->slots[i], 0);
}

int sim_launch(const char *dir)
{
	struct sim_board *board = sim_board_open(dir, false);
	struct sim_scenario scenario;
	int64_t zero = 0, t0_ns;
	char path[4096];
	size_t i;

	snprintf(path, sizeof(path), "%s/scenario", dir);
	if (!board || sim_scenario_load(path, &scenario) < 0) {
		perror(dir);
		return 1;
	}
	atomic_compare_exchange_strong(&board->t0_mono_ns, &zero, sim_mono_ns());
	t0_ns = atomic_load(&board->t0_mono_ns);
	while ((i = next_worker(&scenario, board)) < scenario.n_workers) {
		pid_t pid;

		sim_sleep_until(t0_ns + fork_ns(&scenario, i));
		pid = fork();
		if (pid < 0) {
			perror("fork");
			return 1;
		}
		if (pid == 0)
			run_worker(&scenario, i, dir, t0_ns);
		sim_slot_started(&board->slots[i], 0, pid);
	}
	wait_for_all(&scenario, board);
	atomic_store(&board->done, 1);
	sim_board_close(board);
	return 0;
}
