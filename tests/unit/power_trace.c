/* SPDX-License-Identifier: MIT */
#include "power_trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "energy/integrate.h"

#define NS_PER_MS INT64_C(1000000)
#define STEADY_MS 1500
#define MEAN_MS	  1000
#define BLOCK_MS  100

/* Power limits, as the maker has them. */
#define A100_UW	   UINT64_C(250000000)
#define RTX3090_UW UINT64_C(350000000)

const struct power_case power_cases[] = {
	{"a100_steps", "power.draw", "a100_steps", WTL_GPU_ARCH_GA100, 535, WTL_POWER_DRAW,
	 A100_UW},
	{"a100_steps", "power.draw.instant", "a100_steps", WTL_GPU_ARCH_GA100, 535,
	 WTL_POWER_INSTANT, A100_UW},
	{"a100_square", "power.draw", "a100_steps", WTL_GPU_ARCH_GA100, 535, WTL_POWER_DRAW,
	 A100_UW},
	{"a100_square", "power.draw.instant", "a100_steps", WTL_GPU_ARCH_GA100, 535,
	 WTL_POWER_INSTANT, A100_UW},
	{"rtx3090_steps", "power.draw", "rtx3090_steps", WTL_GPU_ARCH_GA10X, 535, WTL_POWER_DRAW,
	 RTX3090_UW},
	{"rtx3090_steps", "power.draw.average", "rtx3090_steps", WTL_GPU_ARCH_GA10X, 535,
	 WTL_POWER_AVERAGE, RTX3090_UW},
	{"rtx3090_steps", "power.draw.instant", "rtx3090_steps", WTL_GPU_ARCH_GA10X, 535,
	 WTL_POWER_INSTANT, RTX3090_UW},
};
const size_t power_case_count = sizeof(power_cases) / sizeof(power_cases[0]);

static FILE *open_part(const char *directory, const char *name, const char *part)
{
	char path[1024];
	int n = snprintf(path, sizeof(path), "%s/gpu-power/%s_%s.csv", directory, name, part);

	return n > 0 && (size_t)n < sizeof(path) ? fopen(path, "re") : NULL;
}

static int load_meter(struct power_trace *trace, FILE *file)
{
	char line[256];
	double sum = 0;
	size_t room = 32768;

	trace->meter_j = calloc(room + 1, sizeof(*trace->meter_j));
	if (!trace->meter_j || !fgets(line, sizeof(line), file))
		return -1;
	while (fgets(line, sizeof(line), file) && trace->meter_count < room) {
		char *comma;
		long long ms = strtoll(line, &comma, 10);

		if (*comma != ',')
			return -1;
		if (!trace->meter_count)
			trace->meter_start_ms = ms;
		if (ms != trace->meter_start_ms + (int64_t)trace->meter_count)
			return -1;
		sum += strtod(comma + 1, NULL) * 1e-3;
		trace->meter_j[++trace->meter_count] = sum;
	}
	return trace->meter_count ? 0 : -1;
}

/* The index of the field `head [W]` in a comma-separated line; -1 where there is none. */
static int find_column(char *line, const char *column)
{
	char *rest = NULL;
	int i = 0;

	for (char *f = strtok_r(line, ",\r\n", &rest); f; f = strtok_r(NULL, ",\r\n", &rest), i++) {
		size_t n = strlen(column);

		f += strspn(f, " ");
		if (strncmp(f, column, n) == 0 && strcmp(f + n, " [W]") == 0)
			return i;
	}
	return -1;
}

static int load_polls(struct power_trace *trace, FILE *file, const char *column)
{
	char line[512];
	size_t room = 8192;
	int wanted;

	trace->poll_ms = calloc(room, sizeof(*trace->poll_ms));
	trace->poll_w = calloc(room, sizeof(*trace->poll_w));
	if (!trace->poll_ms || !trace->poll_w || !fgets(line, sizeof(line), file))
		return -1;
	wanted = find_column(line, column);
	if (wanted < 0)
		return -1;
	while (fgets(line, sizeof(line), file) && trace->poll_count < room) {
		char *field = line;

		trace->poll_ms[trace->poll_count] = strtoll(line, NULL, 10);
		for (int i = 0; i < wanted && field; i++)
			field = strchr(field + 1, ',');
		if (!field)
			return -1;
		trace->poll_w[trace->poll_count++] = strtod(field + 1, NULL);
	}
	return trace->poll_count ? 0 : -1;
}

int power_trace_load(struct power_trace *trace, const char *directory, const char *name,
		     const char *column)
{
	FILE *meter = open_part(directory, name, "meter");
	FILE *polls = open_part(directory, name, "nvml");
	int r = -1;

	memset(trace, 0, sizeof(*trace));
	snprintf(trace->name, sizeof(trace->name), "%s", name);
	snprintf(trace->column, sizeof(trace->column), "%s", column);
	if (meter && polls && load_meter(trace, meter) == 0)
		r = load_polls(trace, polls, column);
	if (meter)
		fclose(meter);
	if (polls)
		fclose(polls);
	if (r < 0)
		power_trace_free(trace);
	return r;
}

/* splitmix64 (public domain), to a number in [0, 1) */
static double uniform(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

int power_trace_make(struct power_trace *trace, const struct wtl_sensor_class *class,
		     unsigned seconds, double period_ms, double duty, double low_w, double high_w)
{
	size_t window = (size_t)(class->window_ns / NS_PER_MS);
	size_t update = (size_t)(class->update_ns / NS_PER_MS);
	size_t latency = (size_t)(class->latency_ns / NS_PER_MS);
	size_t count = (size_t)seconds * 1000;
	double seen = low_w;
	uint64_t noise = 1;

	memset(trace, 0, sizeof(*trace));
	trace->meter_j = calloc(count + 1, sizeof(*trace->meter_j));
	trace->poll_ms = calloc(count / 15 + 1, sizeof(*trace->poll_ms));
	trace->poll_w = calloc(count / 15 + 1, sizeof(*trace->poll_w));
	if (!trace->meter_j || !trace->poll_ms || !trace->poll_w) {
		power_trace_free(trace);
		return -1;
	}
	for (size_t i = 0; i < count; i++) {
		double watts = fmod((double)i, period_ms) < period_ms * duty ? high_w : low_w;

		trace->meter_j[i + 1] = trace->meter_j[i] + watts * 1e-3;
		/* No two readings of a real sensor are quite the same. */
		if (i % update == 0 && i >= window + latency)
			seen = (trace->meter_j[i - latency] -
				trace->meter_j[i - latency - window]) /
				       ((double)window * 1e-3) +
			       uniform(&noise) - 0.5;
		if (i % 15 == 14) {
			trace->poll_ms[trace->poll_count] = (int64_t)i;
			trace->poll_w[trace->poll_count++] = seen;
		}
	}
	trace->meter_count = count;
	return 0;
}

void power_trace_free(struct power_trace *trace)
{
	free(trace->meter_j);
	free(trace->poll_ms);
	free(trace->poll_w);
	memset(trace, 0, sizeof(*trace));
}

static double meter_at(const struct power_trace *trace, int64_t t_ns)
{
	double x = (double)(t_ns - trace->meter_start_ms * NS_PER_MS) / (double)NS_PER_MS;
	size_t i;

	if (x <= 0)
		return 0;
	if (x >= (double)trace->meter_count)
		return trace->meter_j[trace->meter_count];
	i = (size_t)x;
	return trace->meter_j[i] + (x - (double)i) * (trace->meter_j[i + 1] - trace->meter_j[i]);
}

double power_trace_true_j(const struct power_trace *trace, int64_t from_ns, int64_t to_ns)
{
	return meter_at(trace, to_ns) - meter_at(trace, from_ns);
}

/* Whether the meter's mean over tenths of a second has stayed within 2 % up to index end. */
static int is_steady(const struct power_trace *trace, size_t end)
{
	double low = HUGE_VAL;
	double high = 0;

	for (size_t i = end - STEADY_MS; i < end; i += BLOCK_MS) {
		double j = trace->meter_j[i + BLOCK_MS] - trace->meter_j[i];

		low = fmin(low, j);
		high = fmax(high, j);
	}
	return high - low < 0.02 * high;
}

int power_trace_fit(const struct power_trace *trace, struct power_fit *ret)
{
	double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
	double vx, vxy, vy;

	for (size_t i = 0; i < trace->poll_count; i++) {
		int64_t at = trace->poll_ms[i] - trace->meter_start_ms;
		double x, y = trace->poll_w[i];

		if (at < STEADY_MS || at >= (int64_t)trace->meter_count ||
		    !is_steady(trace, (size_t)at))
			continue;
		x = (trace->meter_j[at] - trace->meter_j[at - MEAN_MS]) / (MEAN_MS * 1e-3);
		n++;
		sx += x;
		sy += y;
		sxx += x * x;
		sxy += x * y;
		syy += y * y;
	}
	vx = sxx - sx * sx / n;
	vxy = sxy - sx * sy / n;
	vy = syy - sy * sy / n;
	if (n < 10 || vx <= 0)
		return -1;
	ret->gain = vxy / vx;
	ret->offset_w = (sy - ret->gain * sx) / n;
	ret->residual_w = sqrt(fmax(0, vy - vxy * vxy / vx) / n) / ret->gain;
	ret->points = (size_t)n;
	return 0;
}

struct window {
	int64_t from_ns;
	int64_t to_ns;
	struct wtl_integral_mark begin;
	struct wtl_integral_mark end;
	struct wtl_integral_energy energy;
	double naive_j;
};

struct event {
	int64_t t_ns;
	struct window *window;
	enum { EVENT_BEGIN, EVENT_END, EVENT_SETTLE } what;
};

static int by_time(const void *a, const void *b)
{
	const struct event *x = a;
	const struct event *y = b;

	return x->t_ns == y->t_ns ? (int)x->what - (int)y->what : x->t_ns < y->t_ns ? -1 : 1;
}

static void happen(const struct wtl_integral *integral, const struct event *event)
{
	struct window *w = event->window;

	switch (event->what) {
	case EVENT_BEGIN:
		wtl_integral_mark(integral, w->from_ns, &w->begin);
		break;
	case EVENT_END:
		wtl_integral_mark(integral, w->to_ns, &w->end);
		wtl_integral_between(integral, &w->begin, &w->end, &w->energy);
		break;
	case EVENT_SETTLE:
		wtl_integral_between(integral, &w->begin, &w->end, &w->energy);
		break;
	}
}

/* What everybody does: hold each poll until the next, by the time of the poll. */
static double naive_j(const struct power_trace *trace, int64_t poll_ms, int64_t from_ns,
		      int64_t to_ns)
{
	double sum = 0;
	double power = 0;
	int64_t at_ns = from_ns;
	int64_t last_ms = INT64_MIN / 2;

	for (size_t i = 0; i < trace->poll_count; i++) {
		int64_t t_ns = trace->poll_ms[i] * NS_PER_MS;

		if (trace->poll_ms[i] - last_ms < poll_ms)
			continue;
		last_ms = trace->poll_ms[i];
		if (t_ns >= to_ns)
			break;
		if (t_ns > from_ns) {
			sum += power * (double)(t_ns - at_ns) * 1e-9;
			at_ns = t_ns;
		}
		power = trace->poll_w[i];
	}
	return sum + power * (double)(to_ns - at_ns) * 1e-9;
}

static void replay(const struct power_trace *trace, const struct wtl_sensor_class *class,
		   const struct power_plan *plan, size_t first_poll, const struct event *events,
		   size_t count)
{
	struct wtl_integral integral;
	int64_t last_ms = INT64_MIN / 2;
	size_t e = 0;

	wtl_integral_init(&integral, class, WTL_STAMP_POLL, 0);
	integral.most_uw = plan->most_uw;
	for (size_t i = first_poll; i < trace->poll_count && e < count; i++) {
		int64_t t_ns = trace->poll_ms[i] * NS_PER_MS;

		if (trace->poll_ms[i] - last_ms < plan->poll_ms)
			continue;
		last_ms = trace->poll_ms[i];
		while (e < count && events[e].t_ns < t_ns)
			happen(&integral, &events[e++]);
		wtl_integral_add(&integral, t_ns, (uint64_t)llround(trace->poll_w[i] * 1e6));
		/* What is marked now is marked after this reading. */
		while (e < count && events[e].t_ns == t_ns)
			happen(&integral, &events[e++]);
	}
	while (e < count)
		happen(&integral, &events[e++]);
}

/* Each window by itself, from the first poll in it on. */
static void replay_cold(const struct power_trace *trace, const struct wtl_sensor_class *class,
			const struct power_plan *plan, struct event *events, size_t events_each)
{
	for (unsigned i = 0; i < plan->windows; i++) {
		struct event *own = &events[i * events_each];
		struct window *w = own->window;
		int64_t length_ns = w->to_ns - w->from_ns;
		size_t first = 0;

		while (trace->poll_ms[first] * NS_PER_MS < w->from_ns)
			first++;
		w->from_ns = own[0].t_ns = trace->poll_ms[first] * NS_PER_MS;
		w->to_ns = own[1].t_ns = w->from_ns + length_ns;
		replay(trace, class, plan, first, own, events_each);
	}
}

static void make_windows(const struct power_trace *trace, const struct wtl_sensor_class *class,
			 const struct power_plan *plan, struct window *windows,
			 struct event *events)
{
	int64_t start_ns = trace->meter_start_ms * NS_PER_MS;
	int64_t settle_ns =
		wtl_sensor_class_delay_ns(class) + class->window_ns + 4 * class->update_ns;
	/* Cold windows may begin a little later than planned, and settle within the trace. */
	int64_t spare_ns = plan->cold_s > 0 ? settle_ns + 200 * NS_PER_MS : 0;
	int64_t span_ns = (int64_t)trace->meter_count * NS_PER_MS - spare_ns;
	double shortest = plan->cold_s > 0 ? plan->cold_s : 0.5;
	double longest =
		plan->cold_s > 0 ? plan->cold_s : fmin(10.0, (double)span_ns * 1e-9 - 0.01);
	size_t each = plan->settled ? 3 : 2;
	uint64_t seed = plan->seed;

	for (unsigned i = 0; i < plan->windows; i++) {
		struct window *w = &windows[i];
		int64_t length_ns =
			(int64_t)((shortest + (longest - shortest) * uniform(&seed)) * 1e9);

		w->from_ns = start_ns + (int64_t)(uniform(&seed) * (double)(span_ns - length_ns));
		w->to_ns = w->from_ns + length_ns;
		events[each * i] = (struct event){w->from_ns, w, EVENT_BEGIN};
		events[each * i + 1] = (struct event){w->to_ns, w, EVENT_END};
		if (plan->settled)
			events[each * i + 2] =
				(struct event){w->to_ns + settle_ns, w, EVENT_SETTLE};
	}
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

double power_trace_combined_uj(const struct wtl_integral_energy *e)
{
	return hypot(e->sampling_uj,
		     hypot(e->interpolation_uj, hypot(e->edge_uj, hypot(e->lag_uj, e->tail_uj))));
}

static void summarise(const struct power_trace *trace, const struct power_fit *fit,
		      const struct window *windows, unsigned n, double *room,
		      struct power_score *ret)
{
	double *u = room, *error = room + n, *naive = room + 2 * (size_t)n;
	unsigned covered = 0;

	memset(ret, 0, sizeof(*ret));
	for (unsigned i = 0; i < n; i++) {
		const struct window *w = &windows[i];
		double s = (double)(w->to_ns - w->from_ns) * 1e-9;
		double truth = power_trace_true_j(trace, w->from_ns, w->to_ns);
		double is = ((double)w->energy.energy_uj * 1e-6 - fit->offset_w * s) / fit->gain;
		double sd = hypot(power_trace_combined_uj(&w->energy) * 1e-6 / fit->gain,
				  fit->residual_w * s);

		error[i] = fabs(is - truth) / truth;
		naive[i] = fabs((w->naive_j - fit->offset_w * s) / fit->gain - truth) / truth;
		u[i] = 2 * sd / truth;
		covered += error[i] <= u[i];
		ret->rms_error += error[i] * error[i] / n;
		ret->rms_naive += naive[i] * naive[i] / n;
		ret->unsettled += !w->energy.settled;
	}
	qsort(u, n, sizeof(*u), by_size);
	qsort(error, n, sizeof(*error), by_size);
	qsort(naive, n, sizeof(*naive), by_size);
	ret->windows = n;
	ret->coverage = (double)covered / n;
	ret->median_u = u[n / 2];
	ret->p90_u = u[n * 9 / 10];
	ret->median_error = error[n / 2];
	ret->median_naive = naive[n / 2];
	ret->rms_error = sqrt(ret->rms_error);
	ret->rms_naive = sqrt(ret->rms_naive);
}

int power_trace_score(const struct power_trace *trace, const struct power_fit *fit,
		      const struct wtl_sensor_class *class, const struct power_plan *plan,
		      struct power_score *ret)
{
	size_t n = plan->windows, each = plan->settled ? 3 : 2;
	struct window *windows = calloc(n, sizeof(*windows));
	struct event *events = calloc(each * n, sizeof(*events));
	double *room = calloc(3 * n, sizeof(*room));
	int r = -1;

	if (windows && events && room) {
		make_windows(trace, class, plan, windows, events);
		if (plan->cold_s > 0) {
			replay_cold(trace, class, plan, events, each);
		} else {
			qsort(events, each * n, sizeof(*events), by_time);
			replay(trace, class, plan, 0, events, each * n);
		}
		for (unsigned i = 0; i < n; i++)
			windows[i].naive_j =
				naive_j(trace, plan->poll_ms, windows[i].from_ns, windows[i].to_ns);
		summarise(trace, fit, windows, plan->windows, room, ret);
		r = 0;
	}
	free(windows);
	free(events);
	free(room);
	return r;
}
