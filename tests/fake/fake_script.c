/* SPDX-License-Identifier: MIT */
/* Reads the script of the fake NVML: see README.md for the words. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_abi.h"
#include "fake_script.h"

enum { WORDS_MAX = 24 };

/* One line on its way. */
struct line {
	char text[512];
	const char *rest; /* everything after the first word, trimmed */
	char *word[WORDS_MAX];
	int n;
	struct fake_script *script;
	struct fake_gpu *gpu; /* NULL before the first "gpu" */
	char *error;
	size_t error_size;
};

struct command {
	const char *name;
	int min, max; /* words after the name */
	bool of_gpu;
	int (*run)(struct line *line);
};

static int fail(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(struct line *line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(line->error, line->error_size, format, args);
	va_end(args);
	return -1;
}

/* A number with a factor: seconds to ns, watts to mW. "-" or "forever" is FAKE_FOREVER. */
static int number(struct line *line, int i, double factor, int64_t *ret)
{
	char *end;
	double value;

	if (i >= line->n)
		return fail(line, "%s: a number is missing", line->word[0]);
	if (strcmp(line->word[i], "-") == 0) {
		*ret = FAKE_FOREVER;
		return 0;
	}
	if (factor == 1.0) {
		errno = 0;
		*ret = strtoll(line->word[i], &end, 0);
		if (!errno && end != line->word[i] && !*end)
			return 0;
	}
	value = strtod(line->word[i], &end);
	if (end == line->word[i] || *end || !isfinite(value) || fabs(value * factor) > 9e18)
		return fail(line, "%s: '%s' is no number", line->word[0], line->word[i]);
	*ret = llround(value * factor);
	return 0;
}

static int unsigned32(struct line *line, int i, double factor, uint32_t *ret)
{
	int64_t value;

	if (number(line, i, factor, &value) < 0)
		return -1;
	if (value < 0 || value > UINT32_MAX)
		return fail(line, "%s: '%s' is out of range", line->word[0], line->word[i]);
	*ret = (uint32_t)value;
	return 0;
}

static void copy(char *dst, size_t size, const char *src)
{
	snprintf(dst, size, "%s", src);
}

/* ---- The whole machine ---- */

static int do_driver(struct line *line)
{
	copy(line->script->driver, sizeof(line->script->driver), line->rest);
	return 0;
}

static int do_nvml(struct line *line)
{
	copy(line->script->nvml, sizeof(line->script->nvml), line->rest);
	return 0;
}

static int do_cuda(struct line *line)
{
	uint32_t value;

	if (unsigned32(line, 1, 1, &value) < 0)
		return -1;
	line->script->cuda = (int)value;
	return 0;
}

static int do_clock(struct line *line)
{
	copy(line->script->clock_path, sizeof(line->script->clock_path), line->rest);
	return 0;
}

static int do_missing(struct line *line)
{
	struct fake_script *script = line->script;

	for (int i = 1; i < line->n; i++) {
		if (script->n_missing == FAKE_MISSING_MAX)
			return fail(line, "too many missing symbols");
		copy(script->missing[script->n_missing++], FAKE_SYMBOL_SIZE, line->word[i]);
	}
	return 0;
}

static int do_may_set(struct line *line)
{
	line->script->may_set = true;
	return 0;
}

static int do_stride(struct line *line)
{
	uint32_t value;

	if (unsigned32(line, 1, 1, &value) < 0)
		return -1;
	if (value != sizeof(struct fake_process) && value != sizeof(struct fake_process_535))
		return fail(line, "stride is 24 or 32");
	line->script->stride = value;
	return 0;
}

static int do_sample_period(struct line *line)
{
	return number(line, 1, 1e6, &line->script->sample_ns);
}

static int do_gpu(struct line *line)
{
	struct fake_script *script = line->script;
	struct fake_gpu *gpu;

	if (script->n_gpus == FAKE_GPUS_MAX)
		return fail(line, "too many GPUs");
	gpu = &script->gpus[script->n_gpus];
	gpu->index = (unsigned)script->n_gpus++;
	copy(gpu->name, sizeof(gpu->name), line->n > 1 ? line->rest : "Fake GPU");
	snprintf(gpu->uuid, sizeof(gpu->uuid), "GPU-fa4e0000-0000-4000-8000-%012x", gpu->index);
	snprintf(gpu->bus_id, sizeof(gpu->bus_id), "00000000:%02X:00.0", 0x17 + gpu->index);
	copy(gpu->serial, sizeof(gpu->serial), "0");
	gpu->pci_device = 0x000010de;
	gpu->arch = 7;
	gpu->cc_major = 8;
	gpu->counter_ppm = 1000000;
	gpu->persistence = 1;
	gpu->mig = -1;
	gpu->temperature = 40;
	gpu->limit_mw = gpu->limit_default_mw = gpu->limit_max_mw = 400000;
	gpu->limit_min_mw = 100000;
	gpu->memory_total = UINT64_C(80) << 30;
	gpu->memory_free = UINT64_MAX;
	gpu->fan = UINT32_MAX;
	line->gpu = gpu;
	return 0;
}

/* ---- Answers and delays, of a GPU or of all ---- */

static const struct {
	const char *name;
	int answer;
} answers[] = {
	{"UNINITIALIZED", 1},
	{"INVALID_ARGUMENT", 2},
	{"NOT_SUPPORTED", 3},
	{"NO_PERMISSION", 4},
	{"NOT_FOUND", 6},
	{"INSUFFICIENT_SIZE", 7},
	{"TIMEOUT", 10},
	{"DRIVER_NOT_LOADED", 9},
	{"FUNCTION_NOT_FOUND", 13},
	{"GPU_IS_LOST", 15},
	{"RESET_REQUIRED", 16},
	{"OPERATING_SYSTEM", 17},
	{"IN_USE", 19},
	{"LIB_RM_VERSION_MISMATCH", 18},
	{"NO_DATA", 21},
	{"DEPRECATED", 26},
	{"NOT_READY", 27},
	{"GPU_NOT_FOUND", 28},
	{"UNKNOWN", 999},
};

static int answer_number(struct line *line, int i, int *ret)
{
	int64_t value;

	for (size_t k = 0; k < sizeof(answers) / sizeof(answers[0]); k++) {
		if (strcmp(answers[k].name, line->word[i]) == 0) {
			*ret = answers[k].answer;
			return 0;
		}
	}
	if (number(line, i, 1, &value) < 0)
		return -1;
	*ret = (int)value;
	return 0;
}

/* The tail of a rule: [from S] [until S] [call N] [calls N M]. */
static int rule_tail(struct line *line, int i, struct fake_rule *rule)
{
	int64_t value;

	for (; i < line->n; i++) {
		const char *word = line->word[i];

		if (strcmp(word, "from") == 0 || strcmp(word, "until") == 0) {
			if (number(line, ++i, 1e9, &value) < 0)
				return -1;
			*(*word == 'f' ? &rule->from_ns : &rule->until_ns) = value;
		} else if (strcmp(word, "call") == 0 || strcmp(word, "calls") == 0) {
			if (number(line, ++i, 1, &value) < 0)
				return -1;
			rule->first = rule->last = (uint64_t)value;
			if (word[4] && number(line, ++i, 1, &value) < 0)
				return -1;
			rule->last = (uint64_t)value;
		} else {
			return fail(line, "'%s' is not from, until, call or calls", word);
		}
	}
	return 0;
}

static int add_rule(struct line *line, int tail, const struct fake_rule *model)
{
	struct fake_rules *rules = line->gpu ? &line->gpu->rules : &line->script->rules;
	struct fake_rule rule = *model;

	if (rules->n == FAKE_RULES_MAX)
		return fail(line, "too many rules");
	if (rule_tail(line, tail, &rule) < 0)
		return -1;
	rules->rule[rules->n++] = rule;
	return 0;
}

static int do_answer(struct line *line)
{
	struct fake_rule rule = {.until_ns = FAKE_FOREVER};

	copy(rule.function, sizeof(rule.function), line->word[1]);
	if (answer_number(line, 2, &rule.answer) < 0)
		return -1;
	return add_rule(line, 3, &rule);
}

static int do_delay(struct line *line)
{
	struct fake_rule rule = {.until_ns = FAKE_FOREVER};

	copy(rule.function, sizeof(rule.function), line->word[1]);
	if (number(line, 2, 1e6, &rule.delay_ns) < 0)
		return -1;
	return add_rule(line, 3, &rule);
}

static int do_lost(struct line *line)
{
	struct fake_rule rule = {.function = "*", .until_ns = FAKE_FOREVER};

	rule.answer = FAKE_GPU_IS_LOST;
	return add_rule(line, 1, &rule);
}

/* ---- One GPU ---- */

static int do_uuid(struct line *line)
{
	copy(line->gpu->uuid, sizeof(line->gpu->uuid), line->word[1]);
	return 0;
}

static int do_bus(struct line *line)
{
	copy(line->gpu->bus_id, sizeof(line->gpu->bus_id), line->word[1]);
	return 0;
}

static int do_serial(struct line *line)
{
	copy(line->gpu->serial, sizeof(line->gpu->serial), line->word[1]);
	return 0;
}

static int do_arch(struct line *line)
{
	static const char *const names[] = {"",	      "",	"kepler",   "maxwell",
					    "pascal", "volta",	"turing",   "ampere",
					    "ada",    "hopper", "blackwell"};

	for (uint32_t i = 2; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], line->word[1]) == 0) {
			line->gpu->arch = i;
			return 0;
		}
	}
	return unsigned32(line, 1, 1, &line->gpu->arch);
}

static int do_cc(struct line *line)
{
	if (sscanf(line->word[1], "%u.%u", &line->gpu->cc_major, &line->gpu->cc_minor) != 2)
		return fail(line, "cc: such as 8.0");
	return 0;
}

static int do_pci(struct line *line)
{
	return unsigned32(line, 1, 1, &line->gpu->pci_device) ||
	       unsigned32(line, 2, 1, &line->gpu->pci_subsystem);
}

/* power FROM const W | FROM ramp W W SECONDS | FROM square LOW HIGH PERIOD [DUTY] | FROM follow LOW HIGH */
static int do_power(struct line *line)
{
	struct fake_gpu *gpu = line->gpu;
	struct fake_segment *segment = &gpu->power[gpu->n_power];
	const char *shape = line->word[2];
	int64_t duty = 50;
	int error;

	if (gpu->n_power == FAKE_SEGMENTS_MAX)
		return fail(line, "too many power segments");
	memset(segment, 0, sizeof(*segment));
	error = number(line, 1, 1e9, &segment->from_ns) || number(line, 3, 1e3, &segment->a_mw);
	if (strcmp(shape, "ramp") == 0 || strcmp(shape, "square") == 0) {
		segment->shape = *shape == 'r' ? FAKE_RAMP : FAKE_SQUARE;
		error = error || number(line, 4, 1e3, &segment->b_mw) ||
			number(line, 5, 1e9, &segment->span_ns);
		if (line->n > 6)
			error = error || number(line, 6, 1, &duty);
	} else if (strcmp(shape, "follow") == 0) {
		segment->shape = FAKE_FOLLOW;
		error = error || number(line, 4, 1e3, &segment->b_mw);
	} else if (strcmp(shape, "const") != 0) {
		return fail(line, "power: '%s' is not const, ramp, square or follow", shape);
	}
	if (error)
		return -1;
	if ((segment->shape == FAKE_RAMP || segment->shape == FAKE_SQUARE) && segment->span_ns <= 0)
		return fail(line, "power: a ramp or square needs a time above 0");
	segment->on_ns = (int64_t)((__int128)segment->span_ns * duty / 100);
	if (gpu->n_power ? segment->from_ns <= gpu->power[gpu->n_power - 1].from_ns
			 : segment->from_ns != 0)
		return fail(line, "power: segments begin at 0 and go forward");
	gpu->n_power++;
	return 0;
}

/* sensor counter|average|instant|usage gpu|module|memory UPDATE_MS [WINDOW_MS [LATENCY_MS [lowpass]]] */
static int do_sensor(struct line *line)
{
	static const char *const sensors[] = {"counter", "average", "instant", "usage"};
	static const char *const scopes[] = {"gpu", "module", "memory"};
	struct fake_sensor_spec spec = {.present = true};
	int sensor = -1, scope = -1;

	for (int i = 0; i < FAKE_SENSORS; i++)
		if (strcmp(sensors[i], line->word[1]) == 0)
			sensor = i;
	for (int i = 0; i < FAKE_SCOPES; i++)
		if (strcmp(scopes[i], line->word[2]) == 0)
			scope = i;
	if (sensor < 0 || scope < 0)
		return fail(line,
			    "sensor: counter, average, instant or usage; gpu, module or memory");
	if (number(line, 3, 1e6, &spec.update_ns) < 0)
		return -1;
	spec.window_ns = spec.update_ns;
	if (line->n > 4 && number(line, 4, 1e6, &spec.window_ns) < 0)
		return -1;
	if (line->n > 5 && number(line, 5, 1e6, &spec.latency_ns) < 0)
		return -1;
	spec.is_lowpass = line->n > 6;
	line->gpu->sensors[sensor][scope] = spec;
	return 0;
}

static int do_memory_share(struct line *line)
{
	return unsigned32(line, 1, 1, &line->gpu->memory_percent);
}

static int do_module_extra(struct line *line)
{
	return number(line, 1, 1e3, &line->gpu->module_mw);
}

static int do_counter_start(struct line *line)
{
	int64_t value;

	if (number(line, 1, 1e3, &value) < 0)
		return -1;
	line->gpu->counter_start_mj = (uint64_t)value;
	return 0;
}

static int do_counter_gain(struct line *line)
{
	return unsigned32(line, 1, 1e6, &line->gpu->counter_ppm);
}

static int do_counter_reset(struct line *line)
{
	struct fake_gpu *gpu = line->gpu;

	if (gpu->n_resets == FAKE_RESETS_MAX)
		return fail(line, "too many resets");
	return number(line, 1, 1e9, &gpu->resets_ns[gpu->n_resets++]);
}

/* process PID C|G|M MIB [SM MEM ENC DEC [FROM UNTIL]]; MIB may be "-" */
static int do_process(struct line *line)
{
	struct fake_gpu *gpu = line->gpu;
	struct fake_process_spec *process = &gpu->processes[gpu->n_processes];
	uint32_t *use[] = {&process->sm, &process->memory, &process->encoder, &process->decoder};
	int64_t mib;

	if (gpu->n_processes == FAKE_PROCESSES_MAX)
		return fail(line, "too many processes");
	memset(process, 0, sizeof(*process));
	process->until_ns = FAKE_FOREVER;
	process->instance = process->compute_instance = UINT32_MAX;
	process->type = line->word[2][0];
	if (!strchr("CGM", process->type))
		return fail(line, "process: the type is C, G or M");
	if (unsigned32(line, 1, 1, &process->pid) < 0 || number(line, 3, 1, &mib) < 0)
		return -1;
	process->used_bytes = mib == FAKE_FOREVER ? UINT64_MAX : (uint64_t)mib << 20;
	for (int i = 0; i < 4 && i + 4 < line->n; i++)
		if (unsigned32(line, i + 4, 1, use[i]) < 0)
			return -1;
	if (line->n > 8 && number(line, 8, 1e9, &process->from_ns) < 0)
		return -1;
	if (line->n > 9 && number(line, 9, 1e9, &process->until_ns) < 0)
		return -1;
	gpu->n_processes++;
	return 0;
}

static int do_memory(struct line *line)
{
	uint64_t *fields[] = {&line->gpu->memory_total, &line->gpu->memory_reserved,
			      &line->gpu->memory_used, &line->gpu->memory_free};
	int64_t mib;

	for (int i = 0; i + 1 < line->n; i++) {
		if (number(line, i + 1, 1, &mib) < 0)
			return -1;
		*fields[i] = (uint64_t)mib << 20;
	}
	return 0;
}

/* limit NOW DEFAULT MIN MAX */
static int do_limit(struct line *line)
{
	struct fake_gpu *gpu = line->gpu;

	return unsigned32(line, 1, 1e3, &gpu->limit_mw) ||
	       unsigned32(line, 2, 1e3, &gpu->limit_default_mw) ||
	       unsigned32(line, 3, 1e3, &gpu->limit_min_mw) ||
	       unsigned32(line, 4, 1e3, &gpu->limit_max_mw);
}

static int do_temperature(struct line *line)
{
	return unsigned32(line, 1, 1, &line->gpu->temperature) ||
	       (line->n > 2 && unsigned32(line, 2, 1, &line->gpu->memory_temperature));
}

static int do_utilization(struct line *line)
{
	struct fake_gpu *gpu = line->gpu;

	return unsigned32(line, 1, 1, &gpu->util_gpu) ||
	       unsigned32(line, 2, 1, &gpu->util_memory) ||
	       unsigned32(line, 3, 1, &gpu->util_encoder) ||
	       unsigned32(line, 4, 1, &gpu->util_decoder);
}

/* clocks GRAPHICS SM MEMORY VIDEO and the same of their maxima */
static int do_clocks(struct line *line)
{
	for (int i = 0; i < 4; i++)
		if (unsigned32(line, i + 1, 1, &line->gpu->clock_mhz[i]) ||
		    unsigned32(line, i + 5, 1, &line->gpu->clock_max_mhz[i]))
			return -1;
	return 0;
}

static int do_pcie(struct line *line)
{
	return unsigned32(line, 1, 1, &line->gpu->pcie_tx_kbs) ||
	       unsigned32(line, 2, 1, &line->gpu->pcie_rx_kbs);
}

static int do_state(struct line *line)
{
	bool has_fan = strcmp(line->word[2], "-") != 0;
	int64_t throttle;

	line->gpu->fan = UINT32_MAX;
	if (unsigned32(line, 1, 1, &line->gpu->pstate) ||
	    (has_fan && unsigned32(line, 2, 1, &line->gpu->fan)) || number(line, 3, 1, &throttle))
		return -1;
	line->gpu->throttle = (uint64_t)throttle;
	return 0;
}

static int do_persistence(struct line *line)
{
	line->gpu->persistence = strcmp(line->word[1], "on") == 0;
	return 0;
}

static int do_mig(struct line *line)
{
	line->gpu->mig = strcmp(line->word[1], "on") == 0;
	return 0;
}

/* value KEY TEXT */
static int do_value(struct line *line)
{
	struct fake_gpu *gpu = line->gpu;
	struct fake_value *value = &gpu->values[gpu->n_values];
	const char *text = line->rest + strlen(line->word[1]);

	if (gpu->n_values == FAKE_VALUES_MAX)
		return fail(line, "too many values");
	gpu->n_values++;
	copy(value->key, sizeof(value->key), line->word[1]);
	copy(value->text, sizeof(value->text), text + strspn(text, " \t"));
	return 0;
}

static int do_process_name(struct line *line)
{
	struct fake_script *script = line->script;
	struct fake_name *name = &script->names[script->n_names];

	if (script->n_names == FAKE_NAMES_MAX)
		return fail(line, "too many names");
	if (unsigned32(line, 1, 1, &name->pid) < 0)
		return -1;
	copy(name->name, sizeof(name->name), line->word[2]);
	script->n_names++;
	return 0;
}

/* process-instance PID INSTANCE COMPUTE-INSTANCE: of a process that has a line already */
static int do_process_instance(struct line *line)
{
	uint32_t pid;

	if (unsigned32(line, 1, 1, &pid) < 0)
		return -1;
	for (size_t i = 0; i < line->gpu->n_processes; i++) {
		struct fake_process_spec *process = &line->gpu->processes[i];

		if (process->pid == pid && process->instance == UINT32_MAX)
			return unsigned32(line, 2, 1, &process->instance) ||
			       unsigned32(line, 3, 1, &process->compute_instance);
	}
	return fail(line, "process-instance: there is no process %u", pid);
}

static int do_gpm(struct line *line)
{
	line->gpu->has_gpm = strcmp(line->word[1], "on") == 0;
	return 0;
}

/* instance-use INSTANCE SM GRAPHICS [FROM UNTIL] */
static int do_instance_use(struct line *line)
{
	struct fake_gpu *gpu = line->gpu;
	struct fake_instance_use *use = &gpu->instance_uses[gpu->n_instance_uses];

	if (gpu->n_instance_uses == FAKE_INSTANCE_USES_MAX)
		return fail(line, "too many uses of instances");
	*use = (struct fake_instance_use){.until_ns = FAKE_FOREVER};
	if (unsigned32(line, 1, 1, &use->instance) || unsigned32(line, 2, 1, &use->sm) ||
	    unsigned32(line, 3, 1, &use->graphics))
		return -1;
	if (line->n > 4 && number(line, 4, 1e9, &use->from_ns) < 0)
		return -1;
	if (line->n > 5 && number(line, 5, 1e9, &use->until_ns) < 0)
		return -1;
	gpu->n_instance_uses++;
	return 0;
}

/* Of "3g.40gb" and "1c.3g.40gb": 3. */
static unsigned slices_of(const char *profile)
{
	const char *g = strchr(profile, 'g');

	return g && g > profile ? (unsigned)strtoul(g - 1, NULL, 10) : 0;
}

/* mig-device PROFILE UUID INSTANCE COMPUTE-INSTANCE TOTAL USED MULTIPROCESSORS */
static int do_mig_device(struct line *line)
{
	struct fake_gpu *gpu = line->gpu;
	struct fake_gpu *mig = calloc(1, sizeof(*mig));
	struct fake_value *slices;
	static const struct {
		const char *key;
		int word;
	} values[] = {{"nvmlDeviceGetGpuInstanceId", 3},
		      {"nvmlDeviceGetComputeInstanceId", 4},
		      {"nvmlDeviceGetAttributes_v2", 7}};
	uint32_t total, used;

	if (!mig || gpu->n_migs == FAKE_MIGS_MAX)
		return fail(line, "too many MIG devices");
	gpu->migs[gpu->n_migs++] = mig;
	snprintf(mig->name, sizeof(mig->name), "%.60s MIG %.20s", gpu->name, line->word[1]);
	copy(mig->uuid, sizeof(mig->uuid), line->word[2]);
	if (unsigned32(line, 5, 1, &total) || unsigned32(line, 6, 1, &used))
		return -1;
	mig->memory_total = (uint64_t)total << 20;
	mig->memory_used = (uint64_t)used << 20;
	mig->memory_free = UINT64_MAX;
	mig->mig = -1;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		copy(mig->values[i].key, sizeof(mig->values[i].key), values[i].key);
		copy(mig->values[i].text, sizeof(mig->values[i].text), line->word[values[i].word]);
		mig->n_values++;
	}
	slices = &mig->values[mig->n_values++];
	copy(slices->key, sizeof(slices->key), "slices");
	snprintf(slices->text, sizeof(slices->text), "%u", slices_of(line->word[1]));
	return 0;
}

static const struct command commands[] = {
	{"driver", 1, 1, false, do_driver},
	{"nvml", 1, 1, false, do_nvml},
	{"cuda", 1, 1, false, do_cuda},
	{"clock", 1, 1, false, do_clock},
	{"missing", 1, WORDS_MAX, false, do_missing},
	{"may-set", 0, 0, false, do_may_set},
	{"stride", 1, 1, false, do_stride},
	{"sample-period", 1, 1, false, do_sample_period},
	{"answer", 2, 8, false, do_answer},
	{"delay", 2, 8, false, do_delay},
	{"gpu", 0, WORDS_MAX, false, do_gpu},
	{"lost", 0, 4, true, do_lost},
	{"uuid", 1, 1, true, do_uuid},
	{"bus", 1, 1, true, do_bus},
	{"serial", 1, 1, true, do_serial},
	{"arch", 1, 1, true, do_arch},
	{"cc", 1, 1, true, do_cc},
	{"pci", 2, 2, true, do_pci},
	{"power", 3, 6, true, do_power},
	{"sensor", 3, 6, true, do_sensor},
	{"memory-share", 1, 1, true, do_memory_share},
	{"module-extra", 1, 1, true, do_module_extra},
	{"counter-start", 1, 1, true, do_counter_start},
	{"counter-gain", 1, 1, true, do_counter_gain},
	{"counter-reset", 1, 1, true, do_counter_reset},
	{"process", 3, 9, true, do_process},
	{"process-name", 2, 2, false, do_process_name},
	{"process-instance", 3, 3, true, do_process_instance},
	{"mig-device", 7, 7, true, do_mig_device},
	{"gpm", 1, 1, true, do_gpm},
	{"instance-use", 3, 5, true, do_instance_use},
	{"value", 2, WORDS_MAX, true, do_value},
	{"memory", 3, 4, true, do_memory},
	{"limit", 4, 4, true, do_limit},
	{"temperature", 1, 2, true, do_temperature},
	{"utilization", 4, 4, true, do_utilization},
	{"clocks", 8, 8, true, do_clocks},
	{"pcie", 2, 2, true, do_pcie},
	{"state", 3, 3, true, do_state},
	{"persistence", 1, 1, true, do_persistence},
	{"mig", 1, 1, true, do_mig},
};

static int run_line(struct line *line)
{
	static char words[sizeof(line->text)];
	char *mark = NULL;
	size_t skip;

	line->text[strcspn(line->text, "#\r\n")] = '\0';
	copy(words, sizeof(words), line->text);
	line->n = 0;
	for (char *word = strtok_r(words, " \t", &mark); word;
	     word = strtok_r(NULL, " \t", &mark)) {
		if (line->n == WORDS_MAX)
			return fail(line, "too many words");
		line->word[line->n++] = word;
	}
	if (!line->n)
		return 0;
	for (size_t len = strlen(line->text); len && strchr(" \t", line->text[len - 1]); len--)
		line->text[len - 1] = '\0';
	skip = strspn(line->text, " \t") + strlen(line->word[0]);
	line->rest = line->text + skip + strspn(line->text + skip, " \t");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		const struct command *command = &commands[i];

		if (strcmp(command->name, line->word[0]) != 0)
			continue;
		if (line->n - 1 < command->min || line->n - 1 > command->max)
			return fail(line, "%s: wrong number of words", command->name);
		if (command->of_gpu && !line->gpu)
			return fail(line, "%s: comes after a gpu line", command->name);
		return command->run(line) ? -1 : 0;
	}
	return fail(line, "'%s' is not a word of the script", line->word[0]);
}

static void script_init(struct fake_script *script)
{
	memset(script, 0, sizeof(*script));
	copy(script->driver, sizeof(script->driver), "550.54.15");
	copy(script->nvml, sizeof(script->nvml), "12.550.54.15");
	script->cuda = 12040;
	script->stride = sizeof(struct fake_process);
	script->sample_ns = 1000000000;
}

void fake_script_default(struct fake_script *script)
{
	static const char *const lines[] = {
		"gpu NVIDIA A100-SXM4-80GB", "power 0 const 62.5",	"sensor counter gpu 100",
		"sensor instant gpu 100 25", "sensor usage gpu 100 25", "counter-start 1000",
	};
	char error[128];
	struct line line = {.script = script, .error = error, .error_size = sizeof(error)};

	script_init(script);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		copy(line.text, sizeof(line.text), lines[i]);
		run_line(&line);
	}
}

int fake_script_read(struct fake_script *script, const char *path, char *error, size_t size)
{
	struct line line = {.script = script, .error = error, .error_size = size};
	FILE *file = fopen(path, "re");
	int number_of_line = 0, bad = 0;

	script_init(script);
	if (!file) {
		snprintf(error, size, "%s", strerror(errno));
		return -1;
	}
	while (!bad && fgets(line.text, sizeof(line.text), file)) {
		number_of_line++;
		if (run_line(&line) < 0)
			bad = number_of_line;
	}
	fclose(file);
	for (size_t i = 0; !bad && i < script->n_gpus; i++) {
		if (!script->gpus[i].n_power) {
			snprintf(error, size, "GPU %zu has no power line", i);
			bad = number_of_line;
		}
	}
	return bad;
}
