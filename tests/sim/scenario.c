/* SPDX-License-Identifier: MIT */
#include "scenario.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)
#define FOR_EVER  INT64_MAX

enum { WORDS_MAX = 12, LINE_MAX_LEN = 512 };

/* A line being read: its words, of which those with a '=' are options. */
struct line {
	char text[LINE_MAX_LEN];
	char *words[WORDS_MAX];
	bool is_taken[WORDS_MAX];
	size_t n;
	char *reason; /* 128 bytes */
	bool failed;
};

static void fail(struct line *line, const char *what, const char *word)
{
	if (!line->failed)
		snprintf(line->reason, 128, "%.60s: %.60s", what, word);
	line->failed = true;
}

/* A decimal with up to `decimals` fraction digits, times 10^decimals. */
static uint64_t number(struct line *line, const char *text, unsigned decimals, uint64_t max)
{
	uint64_t value = 0;

	if (wtl_num_fixed(text, strlen(text), decimals, &value) < 0 || value > max)
		fail(line, "not a number in range", text);
	return value;
}

static const char *option_text(struct line *line, const char *key)
{
	size_t len = strlen(key);

	for (size_t i = 1; i < line->n; i++)
		if (strncmp(line->words[i], key, len) == 0 && line->words[i][len] == '=') {
			line->is_taken[i] = true;
			return line->words[i] + len + 1;
		}
	return NULL;
}

/* The number after KEY=, or `other` where it is not given. */
static uint64_t option(struct line *line, const char *key, unsigned decimals, uint64_t max,
		       uint64_t other)
{
	const char *text = option_text(line, key);

	return text ? number(line, text, decimals, max) : other;
}

/* Power in W, as mW. */
static uint64_t option_mw(struct line *line, const char *key, uint64_t other_mw)
{
	return option(line, key, 3, 1000 * 1000, other_mw);
}

/* A moment in seconds, up to a day. */
static int64_t option_ns(struct line *line, const char *key, int64_t other_ns)
{
	const char *text = option_text(line, key);

	return text ? (int64_t)number(line, text, 9, UINT64_C(86400000000000)) : other_ns;
}

/* The i-th word as a name or number, or "" (which is neither). */
static const char *word(struct line *line, size_t i)
{
	if (i >= line->n) {
		fail(line, "something is missing after", line->words[line->n - 1]);
		return "";
	}
	line->is_taken[i] = true;
	return line->words[i];
}

static void parse_name(struct line *line, const struct sim_scenario *scenario,
		       char name[SIM_NAME_SIZE])
{
	const char *text = word(line, 1);
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

	if (len == 0 || text[len] || len >= SIM_NAME_SIZE) {
		fail(line, "not a name", text);
		return;
	}
	for (size_t i = 0; i < scenario->n_workers; i++)
		if (strcmp(scenario->workers[i].name, text) == 0)
			fail(line, "this name is taken", text);
	memcpy(name, text, len + 1);
}

static void parse_socket(struct line *line, struct sim_scenario *scenario)
{
	struct sim_socket *socket = &scenario->sockets[scenario->n_sockets];

	if (scenario->n_sockets == SIM_SOCKETS_MAX) {
		fail(line, "too many", line->words[0]);
		return;
	}
	scenario->n_sockets++;
	socket->idle_mw = option_mw(line, "idle", 0);
	socket->has_dram = option_text(line, "dram") != NULL;
	socket->dram_idle_mw = option_mw(line, "dram", 0);
}

static struct sim_worker *parse_task(struct line *line, struct sim_scenario *scenario)
{
	struct sim_worker *worker = &scenario->workers[scenario->n_workers];

	if (scenario->n_workers == SIM_WORKERS_MAX) {
		fail(line, "too many", line->words[0]);
		return worker - 1;
	}
	parse_name(line, scenario, worker->name);
	worker->cpu_mw = option_mw(line, "watts", 0);
	worker->dram_mw = option_mw(line, "dram", 0);
	worker->socket = (unsigned)option(line, "socket", 0, SIM_SOCKETS_MAX - 1, 0);
	worker->start_ns = option_ns(line, "start", 0);
	worker->stop_ns = FOR_EVER;
	worker->duty_ppm = 1000000;
	worker->threads = 1;
	worker->ipc_milli = (uint32_t)option(line, "ipc", 3, 10000, 1000);
	scenario->n_workers++;
	return worker;
}

static void parse_worker(struct line *line, struct sim_scenario *scenario)
{
	struct sim_worker *worker = parse_task(line, scenario);

	worker->duty_ppm = (uint32_t)option(line, "duty", 6, 1000000, 1000000);
	worker->phase_ns = option_ns(line, "phase", 0);
	worker->jitter_ppm = (uint32_t)option(line, "jitter", 6, 500000, 0);
	worker->stop_ns = option_ns(line, "stop", FOR_EVER);
	worker->threads = (unsigned)option(line, "threads", 0, SIM_THREADS_MAX, 1);
	if (worker->threads == 0)
		fail(line, "a worker without threads", worker->name);
	if (worker->stop_ns < worker->start_ns)
		fail(line, "it stops before it starts", worker->name);
}

static void parse_storm(struct line *line, struct sim_scenario *scenario)
{
	struct sim_worker *worker = parse_task(line, scenario);

	worker->children = (unsigned)option(line, "children", 0, 20000, 1000);
	worker->child_ns = (int64_t)option(line, "ms", 6, 10000 * (uint64_t)NS_PER_MS, 5000000);
	if (worker->children == 0)
		fail(line, "a storm without children", worker->name);
}

static void parse_pmu(struct line *line, struct sim_scenario *scenario)
{
	scenario->pmu_mhz = (unsigned)option(line, "mhz", 0, 10000, 3000);
	if (scenario->pmu_mhz == 0)
		fail(line, "no clock at all", "pmu");
}

static void parse_gpu(struct line *line, struct sim_scenario *scenario)
{
	scenario->has_gpu = true;
	scenario->gpu_idle_mw = option_mw(line, "idle", 55000);
	scenario->gpu_full_mw = option_mw(line, "full", 300000);
	scenario->gpu_memory_mib = (unsigned)option(line, "memory", 0, 1000000, 81920);
	if (scenario->gpu_full_mw < scenario->gpu_idle_mw)
		fail(line, "less at full use than idle", "gpu");
}

static void parse_gpu_use(struct line *line, struct sim_scenario *scenario)
{
	struct sim_gpu_use *use = &scenario->gpu_uses[scenario->n_gpu_uses];
	const char *name = word(line, 1);

	if (scenario->n_gpu_uses == SIM_GPU_USES_MAX) {
		fail(line, "too many", line->words[0]);
		return;
	}
	for (use->worker = 0; use->worker < scenario->n_workers; use->worker++)
		if (strcmp(scenario->workers[use->worker].name, name) == 0)
			break;
	if (use->worker == scenario->n_workers || !scenario->has_gpu) {
		fail(line, "needs a worker and a gpu above it", name);
		return;
	}
	use->sm_percent = (unsigned)option(line, "sm", 0, 100, 50);
	use->memory_mib = (unsigned)option(line, "memory", 0, 1000000, 1024);
	use->start_ns = option_ns(line, "start", scenario->workers[use->worker].start_ns);
	use->stop_ns = option_ns(line, "stop", scenario->workers[use->worker].stop_ns);
	if (use->stop_ns < use->start_ns)
		fail(line, "it stops before it starts", name);
	scenario->n_gpu_uses++;
}

/* "KEY VALUE": false for another key. */
static bool parse_setting(struct line *line, struct sim_scenario *scenario)
{
	const struct {
		const char *key;
		unsigned decimals;
		uint64_t max;
		void *value; /* a 64-bit number */
	} settings[] = {
		{"seed", 0, UINT64_MAX, &scenario->seed},
		{"duration", 9, 3600 * (uint64_t)NS_PER_S, &scenario->duration_ns},
		{"tick", 6, 1000 * (uint64_t)NS_PER_MS, &scenario->tick_ns},
		{"unit", 0, 1000000, &scenario->unit_uj},
		{"counter-start", 0, UINT64_C(1) << 60, &scenario->start_uj},
		{"counter-range", 0, UINT64_C(1) << 60, &scenario->range_uj},
		{"rise", 3, 1000 * 1000, &scenario->rise_mw},
		{"others", 3, 1000 * 1000, &scenario->others_mw},
	};

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (strcmp(line->words[0], settings[i].key) == 0) {
			uint64_t value =
				number(line, word(line, 1), settings[i].decimals, settings[i].max);

			memcpy(settings[i].value, &value, sizeof(value));
			return true;
		}
	return false;
}

static void parse_line(struct line *line, struct sim_scenario *scenario)
{
	static const struct {
		const char *key;
		void (*parse)(struct line *line, struct sim_scenario *scenario);
	} statements[] = {
		{"socket", parse_socket}, {"worker", parse_worker}, {"storm", parse_storm},
		{"pmu", parse_pmu},	  {"gpu", parse_gpu},	    {"gpu-use", parse_gpu_use},
	};
	bool is_known = parse_setting(line, scenario);

	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
		if (strcmp(line->words[0], statements[i].key) == 0) {
			statements[i].parse(line, scenario);
			is_known = true;
		}
	if (!is_known)
		fail(line, "not a statement", line->words[0]);
	for (size_t i = 1; i < line->n; i++)
		if (!line->is_taken[i])
			fail(line, "not expected here", line->words[i]);
}

static void split(struct line *line, const char *text, size_t len)
{
	char *save = NULL, *comment;

	line->n = 0;
	line->failed = false;
	memset(line->is_taken, 0, sizeof(line->is_taken));
	if (len >= sizeof(line->text)) {
		fail(line, "too long", "this line");
		return;
	}
	memcpy(line->text, text, len);
	line->text[len] = '\0';
	comment = strchr(line->text, '#');
	if (comment)
		*comment = '\0';
	for (char *at = strtok_r(line->text, " \t\r", &save); at;
	     at = strtok_r(NULL, " \t\r", &save)) {
		if (line->n == WORDS_MAX) {
			fail(line, "too much", at);
			return;
		}
		line->words[line->n++] = at;
	}
}

static void check_whole(struct line *line, const struct sim_scenario *scenario)
{
	if (scenario->n_sockets == 0)
		fail(line, "there is no", "socket");
	if (scenario->duration_ns == 0 || scenario->tick_ns < NS_PER_MS || scenario->unit_uj == 0)
		fail(line, "must be more than that", "duration, tick or unit");
	if (scenario->range_uj <= scenario->start_uj)
		fail(line, "must be above counter-start", "counter-range");
	for (size_t i = 0; i < scenario->n_workers; i++)
		if (scenario->workers[i].socket >= scenario->n_sockets)
			fail(line, "there is no such socket, of", scenario->workers[i].name);
}

int sim_scenario_parse(const char *text, struct sim_scenario *ret_scenario, char reason[128])
{
	struct sim_scenario scenario = {
		.seed = 1,
		.duration_ns = 10 * NS_PER_S,
		.tick_ns = 4 * NS_PER_MS,
		.unit_uj = 61,
		.start_uj = UINT64_C(100000000000),
		.range_uj = UINT64_C(262143328850),
	};
	struct line line = {.reason = reason};
	int n = 0;

	while (*text) {
		size_t len = strcspn(text, "\n");

		n++;
		split(&line, text, len);
		if (!line.failed && line.n > 0)
			parse_line(&line, &scenario);
		if (line.failed)
			return n;
		text += len + (text[len] == '\n');
	}
	check_whole(&line, &scenario);
	if (line.failed)
		return n > 0 ? n : 1;
	*ret_scenario = scenario;
	return 0;
}

bool sim_scenario_on_gpu(const struct sim_scenario *scenario, size_t worker)
{
	for (size_t i = 0; i < scenario->n_gpu_uses; i++)
		if (scenario->gpu_uses[i].worker == worker)
			return true;
	return false;
}
