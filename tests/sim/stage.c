/* SPDX-License-Identifier: MIT */
#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

enum { COUNTER_WIDTH = 20 };

/* A file below the directory, with its folders. */
static int put(const struct sim_stage *stage, const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int put(const struct sim_stage *stage, const char *path, const char *format, ...)
{
	char full[SIM_PATH_SIZE];
	va_list args;
	FILE *file;
	int rc;

	sim_path(full, "%s/%s", stage->dir, path);
	if (sim_make_folders(full) < 0)
		return -1;
	file = fopen(full, "we");
	if (!file)
		return sim_complain(full);
	va_start(args, format);
	rc = vfprintf(file, format, args);
	va_end(args);
	return fclose(file) == 0 && rc >= 0 ? 0 : sim_complain(full);
}

/* A zone's folder below sys, as the kernel has it: DRAM lies in the package's. */
static void zone_path(char path[256], size_t socket, bool is_dram, const char *file)
{
	snprintf(path, 256, "sys/" SIM_POWERCAP "/intel-rapl/intel-rapl:%zu/", socket);
	if (is_dram)
		snprintf(path + strlen(path), 256 - strlen(path), "intel-rapl:%zu:0/", socket);
	snprintf(path + strlen(path), 256 - strlen(path), "%s", file);
}

/* Held open and written in place, as others hold it open too. */
static int put_counter(struct sim_stage *stage, const char *path, size_t domain)
{
	char full[SIM_PATH_SIZE];

	if (put(stage, path, "%" PRIu64 "\n", stage->scenario->start_uj) < 0)
		return -1;
	sim_path(full, "%s/%s", stage->dir, path);
	stage->counters[domain] = open(full, O_WRONLY | O_CLOEXEC);
	return stage->counters[domain] < 0 ? sim_complain(full) : 0;
}

static int put_zone(struct sim_stage *stage, size_t socket, bool is_dram)
{
	size_t domain = is_dram ? sim_model_dram(socket) : sim_model_package(socket);
	char path[256], name[SIM_NAME_SIZE];

	snprintf(name, sizeof(name), "package-%u", (unsigned)(socket % SIM_SOCKETS_MAX));
	zone_path(path, socket, is_dram, "name");
	if (put(stage, path, "%s\n", is_dram ? "dram" : name) < 0)
		return -1;
	zone_path(path, socket, is_dram, "enabled");
	if (put(stage, path, "1\n") < 0)
		return -1;
	zone_path(path, socket, is_dram, "max_energy_range_uj");
	if (put(stage, path, "%" PRIu64 "\n", stage->scenario->range_uj) < 0)
		return -1;
	if (!is_dram) {
		zone_path(path, socket, is_dram, "constraint_0_name");
		if (put(stage, path, "long_term\n") < 0)
			return -1;
		zone_path(path, socket, is_dram, "constraint_0_max_power_uw");
		if (put(stage, path, "400000000\n") < 0)
			return -1;
	}
	zone_path(path, socket, is_dram, "energy_uj");
	return put_counter(stage, path, domain);
}

int sim_stage_init(struct sim_stage *stage, const char *dir, const struct sim_scenario *scenario)
{
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);
	char real[SIM_PATH_SIZE], path[64];

	memset(stage, 0, sizeof(*stage));
	stage->scenario = scenario;
	stage->gpu_clock = -1;
	for (size_t i = 0; i < SIM_DOMAINS_MAX; i++)
		stage->counters[i] = -1;
	if ((mkdir(dir, 0755) < 0 && errno != EEXIST) || !realpath(dir, real))
		return sim_complain(dir);
	if (strlen(real) >= sizeof(stage->dir)) {
		errno = ENAMETOOLONG;
		return sim_complain(dir);
	}
	memcpy(stage->dir, real, strlen(real) + 1);
	if (put(stage, "sys/" SIM_POWERCAP "/intel-rapl/enabled", "1\n") < 0)
		return -1;
	for (size_t i = 0; i < scenario->n_sockets; i++)
		if (put_zone(stage, i, false) < 0 ||
		    (scenario->sockets[i].has_dram && put_zone(stage, i, true) < 0))
			return -1;
	for (long cpu = 0; cpu < n_cpus; cpu++) {
		snprintf(path, sizeof(path), "topology/cpu%ld", cpu);
		if (put(stage, path, "%zu\n", (size_t)cpu % scenario->n_sockets) < 0)
			return -1;
	}
	return 0;
}

void sim_stage_done(struct sim_stage *stage)
{
	for (size_t i = 0; i < SIM_DOMAINS_MAX; i++)
		if (stage->counters[i] >= 0)
			close(stage->counters[i]);
	if (stage->gpu_clock >= 0)
		close(stage->gpu_clock);
}

/* ---- The GPU's script ---- */

static uint64_t gpu_power_mw(const struct sim_scenario *scenario, int64_t t_ns)
{
	uint64_t power_mw = scenario->gpu_idle_mw;

	for (size_t i = 0; i < scenario->n_gpu_uses; i++) {
		const struct sim_gpu_use *use = &scenario->gpu_uses[i];

		if (t_ns >= use->start_ns && t_ns < use->stop_ns)
			power_mw += (scenario->gpu_full_mw - scenario->gpu_idle_mw) *
				    use->sm_percent / 100;
	}
	return power_mw;
}

/* The next moment after t_ns at which a use begins or ends, or INT64_MAX. */
static int64_t next_edge(const struct sim_scenario *scenario, int64_t t_ns)
{
	int64_t next_ns = INT64_MAX;

	for (size_t i = 0; i < scenario->n_gpu_uses; i++) {
		const int64_t edges[] = {scenario->gpu_uses[i].start_ns,
					 scenario->gpu_uses[i].stop_ns};

		for (size_t k = 0; k < 2; k++)
			if (edges[k] > t_ns && edges[k] < next_ns)
				next_ns = edges[k];
	}
	return next_ns;
}

/* "12.345678901", or "-" for never. */
static void print_s(FILE *file, int64_t t_ns)
{
	if (t_ns == INT64_MAX)
		fputs(" -", file);
	else
		fprintf(file, " %" PRId64 ".%09" PRId64, t_ns / 1000000000, t_ns % 1000000000);
}

static void print_script(FILE *file, const struct sim_scenario *scenario,
			 const struct sim_board *board)
{
	fprintf(file, "driver 570.86.15\nnvml 12.570.86.15\nsample-period 100\n"
		      "gpu NVIDIA A100-SXM4-80GB\n  arch ampere\n  counter-start 1000\n"
		      "  sensor counter gpu 20\n  sensor instant gpu 100 25\n"
		      "  sensor usage gpu 100 25\n");
	fprintf(file, "  memory %u 700 0\n  limit 400 400 100 400\n", scenario->gpu_memory_mib);
	for (int64_t t_ns = 0; t_ns < INT64_MAX; t_ns = next_edge(scenario, t_ns)) {
		uint64_t power_mw = gpu_power_mw(scenario, t_ns);

		fputs("  power", file);
		print_s(file, t_ns);
		fprintf(file, " const %" PRIu64 ".%03" PRIu64 "\n", power_mw / 1000,
			power_mw % 1000);
	}
	for (size_t i = 0; i < scenario->n_gpu_uses; i++) {
		const struct sim_gpu_use *use = &scenario->gpu_uses[i];

		fprintf(file, "  process %d C %u %u %u 0 0",
			atomic_load(&board->slots[use->worker].pid), use->memory_mib,
			use->sm_percent, use->sm_percent / 2);
		print_s(file, use->start_ns);
		print_s(file, use->stop_ns);
		fputs("\n", file);
	}
}

int sim_stage_gpu(struct sim_stage *stage, const struct sim_board *board)
{
	char path[SIM_PATH_SIZE];
	FILE *file;

	sim_path(path, "%s/gpu.nvml", stage->dir);
	file = fopen(path, "we");
	if (!file)
		return sim_complain(path);
	print_script(file, stage->scenario, board);
	if (fclose(file) != 0 || put(stage, "gpu.clock", "%0*d\n", COUNTER_WIDTH, 0) < 0)
		return sim_complain(path);
	sim_path(path, "%s/gpu.clock", stage->dir);
	stage->gpu_clock = open(path, O_WRONLY | O_CLOEXEC);
	return stage->gpu_clock < 0 ? sim_complain(path) : 0;
}

/* ---- What moves ---- */

/* One write of the same width each time: whoever reads at that moment finds the old number or the
 * new one. After a wrap there are line ends where digits were. */
static void show(int file, const char *text, int *width)
{
	char padded[COUNTER_WIDTH + 2];
	int len = (int)strlen(text);

	*width = len > *width ? len : *width;
	memset(padded, '\n', sizeof(padded));
	memcpy(padded, text, (size_t)len);
	if (pwrite(file, padded, (size_t)*width + 1, 0) < 0)
		perror("a counter");
}

void sim_stage_show(struct sim_stage *stage, const struct sim_model *model)
{
	char text[COUNTER_WIDTH + 1];
	int width = COUNTER_WIDTH;

	for (size_t i = 0; i < SIM_DOMAINS_MAX; i++) {
		if (stage->counters[i] < 0)
			continue;
		snprintf(text, sizeof(text), "%" PRIu64, sim_model_counter_uj(model, i));
		show(stage->counters[i], text, &stage->widths[i]);
	}
	if (stage->gpu_clock < 0)
		return;
	snprintf(text, sizeof(text), "%0*" PRId64, COUNTER_WIDTH, model->t_ns);
	show(stage->gpu_clock, text, &width);
}
