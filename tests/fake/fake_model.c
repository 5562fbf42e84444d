/* SPDX-License-Identifier: MIT */
/* The arithmetic of the fake: exact integrals of the scripted power, and the sensors on top. */
#include <math.h>
#include <string.h>

#include "fake_script.h"

#define PJ_PER_MJ 1000000000

/* How long the load has run by then, since a moment. */
static int64_t loaded_ns(const struct fake_gpu *gpu, int64_t from_ns, int64_t t_ns)
{
	int64_t sum = 0;

	for (size_t i = 0; i < gpu->n_loads && gpu->loads[i].on_ns < t_ns; i++) {
		int64_t on = gpu->loads[i].on_ns, off = gpu->loads[i].off_ns;

		on = on > from_ns ? on : from_ns;
		off = off < t_ns ? off : t_ns;
		sum += off > on ? off - on : 0;
	}
	return sum;
}

/* The energy of one segment, x ns after its start. */
static __int128 segment_pj(const struct fake_gpu *gpu, const struct fake_segment *segment,
			   int64_t x)
{
	__int128 a = segment->a_mw, b = segment->b_mw, n, rest, on;

	switch (segment->shape) {
	case FAKE_CONST:
		return a * x;
	case FAKE_RAMP:
		if (x <= segment->span_ns)
			return a * x + (b - a) * x * x / (2 * (__int128)segment->span_ns);
		return (a + b) * segment->span_ns / 2 + b * (x - segment->span_ns);
	case FAKE_FOLLOW:
		return a * x + (b - a) * loaded_ns(gpu, segment->from_ns, segment->from_ns + x);
	case FAKE_SQUARE:
		break;
	}
	n = x / segment->span_ns;
	rest = x % segment->span_ns;
	on = rest < segment->on_ns ? rest : segment->on_ns;
	return n * (b * segment->on_ns + a * (segment->span_ns - segment->on_ns)) + b * on +
	       a * (rest - on);
}

static __int128 gpu_pj(const struct fake_gpu *gpu, int64_t t_ns)
{
	__int128 sum = 0;

	if (t_ns < 0) { /* as it was at the start, for sensors that look back */
		const struct fake_segment *first = &gpu->power[0];

		return (__int128)(first->shape == FAKE_SQUARE ? first->b_mw : first->a_mw) * t_ns;
	}
	for (size_t i = 0; i < gpu->n_power && gpu->power[i].from_ns < t_ns; i++) {
		int64_t end = t_ns;

		if (i + 1 < gpu->n_power && gpu->power[i + 1].from_ns < t_ns)
			end = gpu->power[i + 1].from_ns;
		sum += segment_pj(gpu, &gpu->power[i], end - gpu->power[i].from_ns);
	}
	return sum;
}

__int128 fake_energy_pj(const struct fake_gpu *gpu, enum fake_scope scope, int64_t t_ns)
{
	__int128 energy = gpu_pj(gpu, t_ns);

	if (scope == FAKE_SCOPE_MEMORY)
		return energy * gpu->memory_percent / 100;
	if (scope == FAKE_SCOPE_MODULE)
		return energy + (__int128)gpu->module_mw * t_ns;
	return energy;
}

static int64_t floor_to(int64_t t_ns, int64_t step_ns)
{
	return step_ns > 0 ? t_ns - t_ns % step_ns : t_ns;
}

uint64_t fake_counter_mj(const struct fake_gpu *gpu, enum fake_scope scope, int64_t t_ns)
{
	int64_t shown_ns = floor_to(t_ns, gpu->sensors[FAKE_SENSOR_COUNTER][scope].update_ns);
	int64_t since_ns = 0;
	uint64_t start_mj = gpu->counter_start_mj;
	__int128 energy;

	for (size_t i = 0; i < gpu->n_resets && gpu->resets_ns[i] <= t_ns; i++) {
		since_ns = gpu->resets_ns[i];
		start_mj = 0;
	}
	if (shown_ns <= since_ns)
		return start_mj;
	energy = fake_energy_pj(gpu, scope, shown_ns) - fake_energy_pj(gpu, scope, since_ns);
	return start_mj + (uint64_t)(energy * gpu->counter_ppm / 1000000 / PJ_PER_MJ);
}

/* As a capacitor shows the load: the only one that is no exact sum. */
static double charged(const struct fake_gpu *gpu, int64_t constant_ns, int64_t t_ns)
{
	double tau = (double)constant_ns, sum = 0;

	for (size_t i = 0; i < gpu->n_loads && gpu->loads[i].on_ns < t_ns; i++) {
		int64_t on = gpu->loads[i].on_ns, off = gpu->loads[i].off_ns;

		off = off < t_ns ? off : t_ns;
		sum += exp(-(double)(t_ns - off) / tau) - exp(-(double)(t_ns - on) / tau);
	}
	return sum;
}

uint32_t fake_power_mw(const struct fake_gpu *gpu, const struct fake_sensor_spec *sensor,
		       enum fake_scope scope, int64_t t_ns)
{
	int64_t end_ns = floor_to(t_ns, sensor->update_ns) - sensor->latency_ns;
	int64_t window_ns = sensor->window_ns > 0 ? sensor->window_ns : 1000;
	const struct fake_segment *last = &gpu->power[gpu->n_power - 1];

	if (sensor->is_lowpass && last->shape == FAKE_FOLLOW)
		return (uint32_t)((double)last->a_mw + (double)(last->b_mw - last->a_mw) *
							       charged(gpu, window_ns, end_ns));

	return (uint32_t)((fake_energy_pj(gpu, scope, end_ns) -
			   fake_energy_pj(gpu, scope, end_ns - window_ns)) /
			  window_ns);
}

const struct fake_rule *fake_rule_find(struct fake_rules *rules, const char *function, int64_t t_ns)
{
	const struct fake_rule *found = NULL;

	for (size_t i = 0; i < rules->n; i++) {
		struct fake_rule *rule = &rules->rule[i];

		if (strcmp(rule->function, function) != 0 && strcmp(rule->function, "*") != 0)
			continue;
		if (t_ns < rule->from_ns || t_ns >= rule->until_ns)
			continue;
		rule->seen++;
		if (rule->seen < rule->first || (rule->last && rule->seen > rule->last))
			continue;
		if (!found || !found->answer)
			found = rule;
	}
	return found;
}

const char *fake_value(const struct fake_gpu *gpu, const char *key)
{
	for (size_t i = 0; i < gpu->n_values; i++)
		if (strcmp(gpu->values[i].key, key) == 0)
			return gpu->values[i].text;
	return NULL;
}
