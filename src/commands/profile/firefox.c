/* SPDX-License-Identifier: MIT */
/*
 * The Firefox Profiler's processed format, version 60, which newer ones read: samples of each thread, and a power track
 * for each domain in picowatt-hours per reading. Its tooltips show grams of CO2e.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "commands/profile/format.h"
#include "document/format.h"
#include "energy/units.h"

/* A joule is 1 / 3600 Wh. */
#define PWH_PER_UJ (1e6 / 3600.0)

enum { SOURCE_NONE = UINT32_MAX };

struct firefox {
	struct wtl_buf *buf;
	const struct wtl_stacks *stacks;
	int64_t begin_ns;
	uint32_t *sources; /* of each function: the number of its file */
	uint32_t *files;   /* of each file: the first function that has it */
	size_t n_files;
};

static void put_ms(const struct firefox *firefox, int64_t t_ns)
{
	int64_t ns = t_ns - firefox->begin_ns;

	wtl_format_fixed(firefox->buf, ns > 0 ? (uint64_t)ns : 0, 6);
}

/* ,"key":[...] with n times the same value. */
static void put_same(struct wtl_buf *buf, const char *key, const char *value, size_t n)
{
	wtl_buf_printf(buf, ",\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		wtl_buf_puts(buf, i ? "," : "");
		wtl_buf_puts(buf, value);
	}
	wtl_buf_putc(buf, ']');
}

/* ---- What threads share ---- */

static int number_files(struct firefox *firefox)
{
	const struct wtl_stacks *stacks = firefox->stacks;
	size_t n = stacks->tree.n_names;

	firefox->sources = calloc(n + 1, sizeof(*firefox->sources));
	firefox->files = calloc(n + 1, sizeof(*firefox->files));
	if (!firefox->sources || !firefox->files)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		size_t k = 0;

		firefox->sources[i] = SOURCE_NONE;
		if (!stacks->functions[i].file[0])
			continue;
		while (k < firefox->n_files && strcmp(stacks->functions[firefox->files[k]].file,
						      stacks->functions[i].file) != 0)
			k++;
		if (k == firefox->n_files)
			firefox->files[firefox->n_files++] = i;
		firefox->sources[i] = (uint32_t)k;
	}
	return 0;
}

/* Function names, then file names. */
static void put_strings(const struct firefox *firefox)
{
	const struct wtl_stacks *stacks = firefox->stacks;
	struct wtl_buf *buf = firefox->buf;

	wtl_buf_puts(buf, "\"stringArray\":[");
	for (size_t i = 0; i < stacks->tree.n_names; i++)
		wtl_profile_json_text(buf, NULL, stacks->functions[i].label);
	for (size_t i = 0; i < firefox->n_files; i++)
		wtl_profile_json_text(buf, NULL, stacks->functions[firefox->files[i]].file);
	wtl_buf_printf(buf, "],\n\"sources\":{\"length\":%zu", firefox->n_files);
	put_same(buf, "uuid", "null", firefox->n_files);
	wtl_buf_puts(buf, ",\"filename\":[");
	for (size_t i = 0; i < firefox->n_files; i++)
		wtl_buf_printf(buf, "%s%zu", i ? "," : "", stacks->tree.n_names + i);
	wtl_buf_puts(buf, "]}");
}

/* The i-th of a list: a number, or null. */
static void put_known(struct wtl_buf *buf, size_t i, bool is_known, uint64_t value)
{
	if (is_known)
		wtl_buf_printf(buf, "%s%" PRIu64, i ? "," : "", value);
	else
		wtl_buf_puts(buf, i ? ",null" : "null");
}

static void put_functions(const struct firefox *firefox)
{
	const struct wtl_stacks *stacks = firefox->stacks;
	struct wtl_buf *buf = firefox->buf;
	size_t n = stacks->tree.n_names;

	wtl_buf_printf(buf, ",\n\"funcTable\":{\"length\":%zu,\"name\":[", n);
	for (size_t i = 0; i < n; i++)
		wtl_buf_printf(buf, "%s%zu", i ? "," : "", i);
	wtl_buf_putc(buf, ']');
	put_same(buf, "isJS", "false", n);
	put_same(buf, "relevantForJS", "false", n);
	put_same(buf, "resource", "-1", n);
	wtl_buf_puts(buf, ",\"source\":[");
	for (size_t i = 0; i < n; i++)
		put_known(buf, i, firefox->sources[i] != SOURCE_NONE, firefox->sources[i]);
	wtl_buf_puts(buf, "],\"lineNumber\":[");
	for (size_t i = 0; i < n; i++)
		put_known(buf, i, stacks->functions[i].line > 0, stacks->functions[i].line);
	wtl_buf_putc(buf, ']');
	put_same(buf, "columnNumber", "null", n);
	wtl_buf_putc(buf, '}');
}

static void put_frames(const struct firefox *firefox)
{
	const struct wtl_tree *tree = &firefox->stacks->tree;
	struct wtl_buf *buf = firefox->buf;
	size_t n = tree->n_frames;

	wtl_buf_printf(buf, ",\n\"frameTable\":{\"length\":%zu,\"func\":[", n);
	for (size_t i = 0; i < n; i++)
		wtl_buf_printf(buf, "%s%" PRIu32, i ? "," : "", tree->frames[i].name);
	wtl_buf_puts(buf, "],\"line\":[");
	for (size_t i = 0; i < n; i++)
		put_known(buf, i, tree->frames[i].address > 0, tree->frames[i].address);
	wtl_buf_putc(buf, ']');
	put_same(buf, "address", "-1", n);
	put_same(buf, "inlineDepth", "0", n);
	put_same(buf, "category", "1", n);
	put_same(buf, "subcategory", "0", n);
	put_same(buf, "nativeSymbol", "null", n);
	put_same(buf, "innerWindowID", "0", n);
	put_same(buf, "column", "null", n);
	wtl_buf_putc(buf, '}');
}

/* Leaves out the root: a node's number is one less. */
static void put_nodes(const struct firefox *firefox)
{
	const struct wtl_tree *tree = &firefox->stacks->tree;
	struct wtl_buf *buf = firefox->buf;

	wtl_buf_printf(buf, ",\n\"stackTable\":{\"length\":%zu,\"frame\":[", tree->n_nodes - 1);
	for (size_t i = 1; i < tree->n_nodes; i++)
		wtl_buf_printf(buf, "%s%" PRIu32, i > 1 ? "," : "", tree->nodes[i].frame);
	wtl_buf_puts(buf, "],\"prefix\":[");
	for (size_t i = 1; i < tree->n_nodes; i++)
		if (tree->nodes[i].parent)
			wtl_buf_printf(buf, "%s%" PRIu32, i > 1 ? "," : "",
				       tree->nodes[i].parent - 1);
		else
			wtl_buf_puts(buf, i > 1 ? ",null" : "null");
	wtl_buf_puts(buf, "]}");
}

static void put_shared(const struct firefox *firefox)
{
	struct wtl_buf *buf = firefox->buf;

	wtl_buf_puts(buf, ",\n\"shared\":{");
	put_strings(firefox);
	put_functions(firefox);
	put_frames(firefox);
	put_nodes(firefox);
	wtl_buf_puts(buf,
		     ",\n\"resourceTable\":{\"length\":0,\"lib\":[],\"name\":[],\"host\":[],"
		     "\"type\":[]},\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],"
		     "\"name\":[],\"functionSize\":[]}}");
}

/* ---- Threads ---- */

struct samples {
	const struct wtl_trace_sample **list; /* of one thread */
	size_t n;
};

static void put_samples(const struct firefox *firefox, const struct samples *samples)
{
	const struct wtl_stacks *stacks = firefox->stacks;
	struct wtl_buf *buf = firefox->buf;

	wtl_buf_printf(buf,
		       ",\"samples\":{\"length\":%zu,\"weightType\":\"samples\",\"weight\":null,"
		       "\"stack\":[",
		       samples->n);
	for (size_t i = 0; i < samples->n; i++) {
		uint32_t node = stacks->of_nodes[samples->list[i]->node];

		if (node)
			wtl_buf_printf(buf, "%s%" PRIu32, i ? "," : "", node - 1);
		else
			wtl_buf_puts(buf, i ? ",null" : "null");
	}
	wtl_buf_puts(buf, "],\"threadCPUDelta\":[");
	for (size_t i = 0; i < samples->n; i++)
		wtl_buf_printf(buf, "%s%" PRId64, i ? "," : "", WTL_NS_PER_S / stacks->profile->hz);
	wtl_buf_puts(buf, "],\"time\":[");
	for (size_t i = 0; i < samples->n; i++) {
		wtl_buf_puts(buf, i ? "," : "");
		put_ms(firefox, samples->list[i]->t_ns);
	}
	wtl_buf_puts(buf, "]}");
}

static void put_thread(const struct firefox *firefox, size_t i, const struct samples *samples)
{
	const struct wtl_trace_thread *thread = &firefox->stacks->profile->trace->threads[i];
	struct wtl_buf *buf = firefox->buf;

	wtl_buf_puts(buf, i ? ",\n{" : "\n{");
	wtl_profile_json_text(buf, "name", thread->name);
	wtl_profile_json_text(buf, "processName", thread->name);
	wtl_buf_printf(buf,
		       ",\"processType\":\"default\",\"isMainThread\":%s,\"pid\":\"%d\",\"tid\":%d,"
		       "\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":0,"
		       "\"unregisterTime\":null,\"pausedRanges\":[]",
		       thread->pid == thread->tid ? "true" : "false", thread->pid, thread->tid);
	put_samples(firefox, samples);
	wtl_buf_puts(buf, ",\"markers\":{\"length\":0,\"data\":[],\"name\":[],\"startTime\":[],"
			  "\"endTime\":[],\"phase\":[],\"category\":[]}}");
}

static int put_threads(const struct firefox *firefox)
{
	const struct wtl_trace *trace = firefox->stacks->profile->trace;
	const struct wtl_trace_sample **all = calloc(trace->n_samples + 1, sizeof(const void *));
	struct samples *threads = calloc(trace->n_threads + 1, sizeof(*threads));
	const struct wtl_trace_sample **at = all;
	int rc = all && threads ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < trace->n_threads; i++) {
		threads[i].list = at;
		at += trace->threads[i].n_samples;
	}
	for (size_t i = 0; rc == 0 && i < trace->n_samples; i++) {
		struct samples *thread = &threads[trace->samples[i].thread];

		thread->list[thread->n++] = &trace->samples[i];
	}
	wtl_buf_puts(firefox->buf, ",\n\"threads\":[");
	for (size_t i = 0; rc == 0 && i < trace->n_threads; i++)
		put_thread(firefox, i, &threads[i]);
	wtl_buf_putc(firefox->buf, ']');
	free((void *)all);
	free(threads);
	return rc;
}

/* ---- Power ---- */

static void put_counter(const struct firefox *firefox, const struct wtl_stacks_metric *metric)
{
	const struct wtl_split *split = firefox->stacks->profile->ticks;
	const struct wtl_trace *trace = firefox->stacks->profile->trace;
	struct wtl_buf *buf = firefox->buf;
	uint64_t before_uj = 0;

	wtl_buf_puts(buf, buf->data[buf->len - 1] == '[' ? "\n{" : ",\n{");
	wtl_profile_json_text(buf, "name", metric->title);
	wtl_buf_printf(
		buf,
		",\"category\":\"power\",\"description\":\"the whole machine's, not only the "
		"command's\",\"pid\":\"%d\",\"mainThreadIndex\":0,\"samples\":{\"length\":%zu,"
		"\"time\":[",
		trace->threads[0].pid, split->n_ticks);
	for (size_t i = 0; i < split->n_ticks; i++) {
		wtl_buf_puts(buf, i ? "," : "");
		put_ms(firefox, split->ticks[i].t_ns);
	}
	wtl_buf_puts(buf, "],\"count\":[");
	for (size_t i = 0; i < split->n_ticks; i++) {
		uint64_t uj = split->ticks[i].energy_uj[metric->domain];

		wtl_buf_puts(buf, i ? "," : "");
		wtl_format_double(buf, uj > before_uj ? (double)(uj - before_uj) * PWH_PER_UJ : 0.0,
				  0);
		before_uj = uj;
	}
	wtl_buf_puts(buf, "]}}");
}

static void put_counters(const struct firefox *firefox)
{
	const struct wtl_stacks *stacks = firefox->stacks;

	wtl_buf_puts(firefox->buf, ",\n\"counters\":[");
	for (size_t i = WTL_METRIC_DOMAINS;
	     i < stacks->end_domains && stacks->profile->trace->n_threads > 0; i++)
		put_counter(firefox, &stacks->metrics[i]);
	wtl_buf_putc(firefox->buf, ']');
}

/* ---- All of it ---- */

static void put_meta(const struct firefox *firefox)
{
	const struct wtl_profile *profile = firefox->stacks->profile;
	struct wtl_buf *buf = firefox->buf;

	wtl_buf_puts(buf, "{\"meta\":{\"preprocessedProfileVersion\":60,\"version\":31,"
			  "\"processType\":0,\"stackwalk\":1,\"symbolicated\":true,"
			  "\"importedFrom\":\"wattle " WATTLE_VERSION "\",\"markerSchema\":[],"
			  "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
			  "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
			  "\"threadCPUDelta\":\"ns\"},\"categories\":["
			  "{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
			  "{\"name\":\"User\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]}],"
			  "\"interval\":");
	wtl_format_double(buf, 1e3 / profile->hz, 6);
	wtl_buf_puts(buf, ",\"startTime\":");
	wtl_format_fixed(buf, (uint64_t)profile->window->begin_utc_ns / 1000, 3);
	wtl_buf_puts(buf, ",\"profilingStartTime\":0,\"profilingEndTime\":");
	wtl_format_fixed(buf, (uint64_t)wtl_profile_span_ns(profile), 6);
	wtl_buf_puts(buf, ",\"gramsOfCO2ePerKWh\":");
	wtl_format_double(buf, (double)wtl_profile_co2e_ug(profile, UINT64_C(3600000000000)) / 1e6,
			  3);
	wtl_profile_json_command(buf, "product", "", profile);
	wtl_buf_puts(buf, "},\"libs\":[]");
}

static int write_firefox(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	struct firefox firefox = {
		.buf = buf, .stacks = stacks, .begin_ns = stacks->profile->window->begin_mono_ns};
	int rc = number_files(&firefox);

	if (rc == 0) {
		put_meta(&firefox);
		put_shared(&firefox);
		put_counters(&firefox);
		rc = put_threads(&firefox);
		wtl_buf_puts(buf, "}\n");
	}
	free(firefox.sources);
	free(firefox.files);
	return rc < 0 ? rc : buf->error;
}

const struct wtl_profile_format wtl_profile_format_firefox = {
	.name = "firefox", .suffixes = ".firefox.json", .has_lines = true, .write = write_firefox};
