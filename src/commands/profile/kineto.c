/* SPDX-License-Identifier: MIT */
#include "commands/profile/kineto.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "meter/meter.h"

#define SOURCE "kineto"

/* Categories of events that run on a GPU. */
static const char *const on_gpu[] = {"kernel", "gpu_memcpy", "gpu_memset", NULL};
/* Categories of events that launch them. */
static const char *const launching[] = {"cuda_runtime", "cuda_driver", "hip_runtime", NULL};

void wtl_kineto_done(struct wtl_kineto *kineto)
{
	for (size_t i = 0; i < kineto->n_gpus; i++)
		free(kineto->gpus[i].steps.list);
	free(kineto->kernels);
	free(kineto->events);
	wtl_tree_done(&kineto->names);
	json_decref(kineto->document);
	*kineto = (struct wtl_kineto){.n = 0};
}

/* ---- Events ---- */

static bool is_of(const json_t *event, const char *const categories[])
{
	const char *category = json_string_value(json_object_get(event, "cat"));
	const char *phase = json_string_value(json_object_get(event, "ph"));

	if (!category || !phase || strcmp(phase, "X") != 0)
		return false;
	for (; *categories; categories++)
		if (strcmp(category, *categories) == 0)
			return true;
	return false;
}

/* Reads microseconds as nanoseconds. false: not a valid time. */
static bool read_ns(const json_t *event, const char *key, int64_t *ret_ns)
{
	const json_t *value = json_object_get(event, key);
	double us = json_number_value(value);

	if (!json_is_number(value) || !(us >= 0.0 && us < 9e15))
		return false;
	*ret_ns = json_is_integer(value) ? json_integer_value(value) * 1000
					 : (int64_t)(us * 1000.0 + 0.5);
	return true;
}

static bool read_times(const json_t *event, int64_t *ret_begin_ns, int64_t *ret_end_ns)
{
	int64_t begin_ns, took_ns;

	if (!read_ns(event, "ts", &begin_ns) || !read_ns(event, "dur", &took_ns))
		return false;
	*ret_begin_ns = begin_ns;
	return !__builtin_add_overflow(begin_ns, took_ns, ret_end_ns);
}

static int64_t argument(const json_t *event, const char *key, int64_t otherwise)
{
	const json_t *value = json_object_get(json_object_get(event, "args"), key);

	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

static struct wtl_kineto_gpu *gpu_of(struct wtl_kineto *kineto, int64_t device)
{
	if (device < 0 || device > INT16_MAX)
		return NULL;
	for (size_t i = 0; i < kineto->n_gpus; i++)
		if (kineto->gpus[i].device == device)
			return &kineto->gpus[i];
	if (kineto->n_gpus == WTL_KINETO_GPUS)
		return NULL;
	kineto->gpus[kineto->n_gpus] = (struct wtl_kineto_gpu){.device = (int)device, .domain = -1};
	return &kineto->gpus[kineto->n_gpus++];
}

static int add_kernel(struct wtl_kineto *kineto, json_t *event, const struct wattle_window *window)
{
	int64_t pid = json_integer_value(json_object_get(event, "pid"));
	struct wtl_kineto_gpu *gpu = gpu_of(kineto, argument(event, "device", pid));
	const char *name = json_string_value(json_object_get(event, "name"));
	int64_t begin_ns, end_ns, number,
		ahead_ns = window->begin_mono_ns - window->begin_utc_ns + kineto->base_utc_ns;
	char clean[512];

	if (!gpu || !name || !read_times(event, &begin_ns, &end_ns) ||
	    __builtin_add_overflow(begin_ns, ahead_ns, &begin_ns) ||
	    __builtin_add_overflow(end_ns, ahead_ns, &end_ns))
		return 0;
	if (end_ns < window->begin_mono_ns ||
	    begin_ns > window->begin_mono_ns + window->duration_ns) {
		kineto->n_outside++;
		return 0;
	}
	number = wtl_tree_name(&kineto->names,
			       wtl_text_clean(clean, sizeof(clean), name, strlen(name)));
	if (number < 0 ||
	    wtl_array_reserve(&kineto->kernels, &kineto->room, kineto->n + 1,
			      sizeof(*kineto->kernels)) < 0 ||
	    wtl_array_resize(&kineto->events, kineto->room, sizeof(*kineto->events)) < 0)
		return -ENOMEM;
	gpu->n_kernels++;
	kineto->events[kineto->n] = event;
	kineto->kernels[kineto->n++] = (struct wtl_kernel){.begin_ns = begin_ns,
							   .end_ns = end_ns,
							   .name = (uint32_t)number,
							   .gpu = (uint32_t)(gpu - kineto->gpus)};
	return 0;
}

/* ---- Launches ---- */

static uint32_t sum_of(int64_t correlation)
{
	return wtl_hash_bytes(&correlation, sizeof(correlation));
}

static bool has_correlation(const void *context, uint32_t value, const void *key)
{
	const struct wtl_kineto *kineto = context;
	const int64_t *correlation = key;

	return argument(kineto->events[value], "correlation", 0) == *correlation;
}

/* A launch and its kernel have the same correlation number. */
static int find_launches(struct wtl_kineto *kineto, json_t *events)
{
	struct wtl_hash by_correlation = {0};
	json_t *event;
	size_t i;

	if (wtl_hash_reserve(&by_correlation, kineto->n + 1) < 0)
		return -ENOMEM;
	for (size_t k = 0; k < kineto->n; k++) {
		int64_t correlation = argument(kineto->events[k], "correlation", 0);

		if (correlation > 0 && !wtl_hash_find(&by_correlation, sum_of(correlation),
						      has_correlation, kineto, &correlation))
			wtl_hash_add(&by_correlation, sum_of(correlation), (uint32_t)k);
	}
	json_array_foreach(events, i, event)
	{
		int64_t correlation = argument(event, "correlation", 0), t_ns;
		const uint32_t *found;
		struct wtl_kernel *kernel;

		if (correlation <= 0 || !is_of(event, launching) || !read_ns(event, "ts", &t_ns))
			continue;
		found = wtl_hash_find(&by_correlation, sum_of(correlation), has_correlation, kineto,
				      &correlation);
		if (!found)
			continue;
		kernel = &kineto->kernels[*found];
		kernel->tid = (int)json_integer_value(json_object_get(event, "tid"));
		kernel->launched_ns = t_ns;
	}
	wtl_hash_done(&by_correlation);
	return 0;
}

int wtl_kineto_read(struct wtl_kineto *kineto, const char *text, size_t len,
		    const struct wattle_window *window, struct wtl_err *err)
{
	json_error_t error;
	json_t *events, *event, *base;
	size_t i;
	int rc = wtl_tree_init(&kineto->names);

	kineto->document = json_loadb(text, len, 0, &error);
	if (!kineto->document)
		return wtl_err_set(err, WTL_EFORMAT, SOURCE, NULL, "line %d: it is no JSON: %s",
				   error.line, error.text);
	events = json_object_get(kineto->document, "traceEvents");
	if (!json_is_array(events))
		return wtl_err_set(err, WTL_EFORMAT, SOURCE, NULL,
				   "it has no \"traceEvents\": it is no trace of Kineto, which "
				   "torch.profiler writes if torch.profiler.kineto_available()");
	base = json_object_get(kineto->document, "baseTimeNanoseconds");
	kineto->base_utc_ns = json_is_integer(base) ? json_integer_value(base) : 0;
	if (kineto->base_utc_ns < 0 || kineto->base_utc_ns > INT64_MAX / 2)
		return wtl_err_set(err, WTL_EFORMAT, SOURCE, NULL,
				   "its \"baseTimeNanoseconds\" is no time");
	json_array_foreach(events, i, event) if (rc == 0 && is_of(event, on_gpu)) rc =
		add_kernel(kineto, event, window);
	if (rc == 0)
		rc = find_launches(kineto, events);
	if (rc < 0)
		return wtl_err_set(err, ENOMEM, SOURCE, NULL, "out of memory");
	for (size_t k = 0; k < kineto->n; k++)
		kineto->kernels[k].launched_ns +=
			window->begin_mono_ns - window->begin_utc_ns + kineto->base_utc_ns;
	if (kineto->n == 0)
		return wtl_err_set(err, ENODATA, SOURCE, NULL,
				   kineto->n_outside
					   ? "all of its kernels ran at another time than "
					     "the profiled program"
					   : "it has no GPU kernels");
	return 0;
}

/* ---- Joules ---- */

static int find_by_uuid(struct wattle_meter *meter, const char *uuid, size_t len)
{
	struct wattle_domain domain = {.size = sizeof(domain)};

	for (size_t i = 0; wattle_meter_domain(meter, i, &domain) == 0; i++)
		if (len > 0 && domain.kind == WATTLE_KIND_GPU && domain.uuid && !domain.inside &&
		    strncmp(domain.uuid, uuid, len) == 0)
			return (int)i;
	return -1;
}

/* The domain of the trace's device: the n-th of those visible to the program. -1: none. */
static int find_domain(struct wattle_meter *meter, const char *visible, int device)
{
	const char *entry = visible;
	char name[32], *end;
	long index = device;

	for (int i = 0; entry && i < device; i++) {
		entry = strchr(entry, ',');
		entry += entry != NULL;
	}
	if (visible && !entry)
		return -1;
	if (visible) {
		index = strtol(entry, &end, 10);
		if (end == entry)
			return find_by_uuid(meter, entry, strcspn(entry, ","));
	}
	snprintf(name, sizeof(name), "gpu-%ld", index);
	return wattle_meter_find(meter, name);
}

static uint64_t idle_of(const struct wtl_profile *profile, size_t domain)
{
	const struct wtl_split *split = profile->ticks;

	return split->n_bills > 0 ? split->bills[split->n_bills - 1].idle_uw[domain] : UINT64_MAX;
}

int wtl_kineto_divide(struct wtl_kineto *kineto, const struct wtl_profile *profile,
		      const char *visible)
{
	for (size_t i = 0; i < kineto->n_gpus; i++) {
		struct wtl_kineto_gpu *gpu = &kineto->gpus[i];
		struct wattle_domain domain = {.size = sizeof(domain)};

		gpu->domain = find_domain(profile->meter, visible, gpu->device);
		snprintf(gpu->name, sizeof(gpu->name), "device %d", gpu->device);
		if (gpu->domain < 0 ||
		    wattle_meter_domain(profile->meter, (size_t)gpu->domain, &domain) < 0)
			continue;
		snprintf(gpu->name, sizeof(gpu->name), "%s", domain.name);
		if (wtl_kernel_steps_make(profile->ticks, (size_t)gpu->domain,
					  idle_of(profile, (size_t)gpu->domain), &gpu->steps) < 0)
			return -ENOMEM;
		gpu->lag_ns = wtl_kernels_lag(kineto->kernels, kineto->n, (uint32_t)i, &gpu->steps);
		gpu->none_uj = wtl_kernels_divide(kineto->kernels, kineto->n, (uint32_t)i,
						  &gpu->steps, gpu->lag_ns);
	}
	return 0;
}

/* ---- The copy ---- */

static int add_event(json_t *events, json_t *event)
{
	return event && json_array_append_new(events, event) == 0 ? 0 : -ENOMEM;
}

static int add_counters(json_t *events, const struct wtl_kineto *kineto,
			const struct wtl_profile *profile, size_t domain, const char *name)
{
	const struct wtl_split *split = profile->ticks;
	const struct wattle_window *window = profile->window;
	int64_t behind_ns = window->begin_utc_ns - window->begin_mono_ns - kineto->base_utc_ns;
	size_t last = 0;
	char pid[64];
	int rc;

	/* Kineto puts a GPU's own counters under "GPU 0 Counters". */
	snprintf(pid, sizeof(pid), "%s%.40s Counters", strncmp(name, "gpu-", 4) == 0 ? "GPU " : "",
		 strncmp(name, "gpu-", 4) == 0 ? name + 4 : name);
	rc = add_event(events, json_pack("{s:s, s:s, s:s, s:{s:s}}", "ph", "M", "name",
					 "process_name", "pid", pid, "args", "name", pid));
	for (size_t i = 1; rc == 0 && i < split->n_ticks; i++) {
		const struct wtl_split_tick *from = &split->ticks[last], *to = &split->ticks[i];
		uint64_t uj = to->energy_uj[domain], before_uj = from->energy_uj[domain];

		if (uj <= before_uj || to->t_ns <= from->t_ns)
			continue;
		rc = add_event(events,
			       json_pack("{s:s, s:s, s:s, s:f, s:{s:f}}", "ph", "C", "name",
					 "power", "pid", pid, "ts",
					 (double)(from->t_ns + behind_ns) / 1e3, "args", "W",
					 (double)(uj - before_uj) * 1e3 /
						 (double)(to->t_ns - from->t_ns)));
		if (rc == 0)
			rc = add_event(events, json_pack("{s:s, s:s, s:s, s:f, s:{s:f}}", "ph", "C",
							 "name", "energy", "pid", pid, "ts",
							 (double)(to->t_ns + behind_ns) / 1e3,
							 "args", "J", (double)uj / 1e6));
		last = i;
	}
	return rc;
}

static int add_joules(const struct wtl_kineto *kineto)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < kineto->n; i++) {
		json_t *args = json_object_get(kineto->events[i], "args");

		if (kineto->gpus[kineto->kernels[i].gpu].domain < 0 || !json_is_object(args))
			continue;
		rc = json_object_set_new(args, "energy [uJ]",
					 json_integer((json_int_t)kineto->kernels[i].energy_uj));
	}
	return rc < 0 ? -ENOMEM : 0;
}

static int append(const char *text, size_t len, void *context)
{
	wtl_buf_add(context, text, len);
	return ((struct wtl_buf *)context)->error;
}

int wtl_kineto_merge(struct wtl_buf *buf, const struct wtl_kineto *kineto,
		     const struct wtl_profile *profile)
{
	struct wattle_domain domain = {.size = sizeof(domain)};
	json_t *events = json_object_get(kineto->document, "traceEvents");
	int rc = add_joules(kineto);

	for (size_t i = 0; rc == 0 && i < profile->ticks->n_domains; i++)
		if (wattle_meter_domain(profile->meter, i, &domain) == 0)
			rc = add_counters(events, kineto, profile, i, domain.name);
	if (rc == 0 && json_dump_callback(kineto->document, append, buf, JSON_COMPACT) < 0)
		rc = buf->error ? buf->error : -ENOMEM;
	return rc;
}
