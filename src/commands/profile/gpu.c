/* SPDX-License-Identifier: MIT */
/* GPU kernels of a profile, from a trace that the program wrote: joules by kernel name, and by launching function. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/config.h"
#include "base/err.h"
#include "base/infile.h"
#include "commands/profile/kineto.h"
#include "document/doc.h"
#include "text/layout.h"

#define FILE_MAX (512u << 20)

/* A sample this near to a launch shows which function launched. */
#define NEAR_NS (5 * INT64_C(1000000))

enum { ROWS_MAX = 30 };

struct row {
	const char *name;
	uint64_t energy_uj, n;
	int64_t ran_ns;
};

static int by_energy(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->energy_uj != y->energy_uj)
		return x->energy_uj > y->energy_uj ? -1 : 1;
	if (x->ran_ns != y->ran_ns)
		return x->ran_ns > y->ran_ns ? -1 : 1;
	return x->n != y->n ? (x->n > y->n ? -1 : 1) : 0;
}

static void add(struct row *row, const char *name, const struct wtl_kernel *kernel)
{
	row->name = name;
	row->energy_uj += kernel->energy_uj;
	row->ran_ns += kernel->end_ns - kernel->begin_ns;
	row->n++;
}

/* A row per kernel name, most energy first. NULL: no memory; free() it. */
static struct row *list_kernels(const struct wtl_kineto *kineto, size_t *ret_n)
{
	size_t n = kineto->names.n_names;
	struct row *rows = calloc(n + 1, sizeof(*rows));

	for (size_t i = 0; rows && i < kineto->n; i++)
		add(&rows[kineto->kernels[i].name], kineto->names.names[kineto->kernels[i].name],
		    &kineto->kernels[i]);
	if (rows)
		qsort(rows, n, sizeof(*rows), by_energy);
	*ret_n = rows ? n : 0;
	return rows;
}

/* ---- Launching functions ---- */

static int64_t distance(int64_t a, int64_t b)
{
	return a > b ? a - b : b - a;
}

/* The node of the launching thread's sample that is nearest to the launch; 0: none is near. */
static uint32_t find_launcher(const struct wtl_trace *trace, const struct wtl_kernel *kernel)
{
	size_t at = WTL_TIMES_UP_TO(trace->samples, trace->n_samples, t_ns,
				    kernel->launched_ns - NEAR_NS - 1);
	int64_t nearest_ns = NEAR_NS + 1;
	uint32_t node = 0;

	for (; kernel->tid && at < trace->n_samples &&
	       trace->samples[at].t_ns <= kernel->launched_ns + NEAR_NS;
	     at++) {
		const struct wtl_trace_sample *sample = &trace->samples[at];
		int64_t away_ns = distance(sample->t_ns, kernel->launched_ns);

		if (trace->threads[sample->thread].tid == kernel->tid && away_ns < nearest_ns) {
			nearest_ns = away_ns;
			node = sample->node;
		}
	}
	return node;
}

/* The call of a stack's innermost Python function; without one, of its innermost function. */
static uint32_t function_of(const struct wtl_profile *profile, uint32_t node)
{
	const struct wtl_tree *tree = &profile->trace->tree;
	const uint32_t *calls = profile->calls->of_nodes;

	for (uint32_t at = node; at; at = tree->nodes[at].parent)
		if (tree->frames[tree->nodes[at].frame].kind == WTL_FRAME_PYTHON)
			return calls[at];
	return calls[node];
}

/* A row per function, most energy first; one is for launches that were not seen. NULL: no memory; free() it. */
static struct row *list_launchers(const struct wtl_profile *profile, size_t *ret_n)
{
	const struct wtl_kineto *kineto = profile->kineto;
	const struct wtl_tree *tree = &profile->calls->tree;
	struct row *rows = calloc(tree->n_frames + 1, sizeof(*rows));

	for (size_t i = 0; rows && i < kineto->n; i++) {
		uint32_t node = find_launcher(profile->trace, &kineto->kernels[i]);
		uint32_t call = node ? function_of(profile, node) : 0;
		uint32_t frame = call ? tree->nodes[call].frame : (uint32_t)tree->n_frames;

		add(&rows[frame],
		    call ? wtl_calls_name(profile->calls, call) : "[its launch was not seen]",
		    &kineto->kernels[i]);
	}
	if (rows)
		qsort(rows, tree->n_frames + 1, sizeof(*rows), by_energy);
	*ret_n = rows ? tree->n_frames + 1 : 0;
	return rows;
}

/* ---- For people ---- */

static void put_rows(struct wtl_buf *buf, const struct row *rows, size_t n, const char *title,
		     const struct wtl_output_style *style)
{
	wtl_buf_printf(buf, "\n energy [J]   time [s]      runs  %s\n", title);
	for (size_t i = 0; i < n && i < ROWS_MAX && rows[i].n > 0; i++) {
		wtl_buf_printf(buf, "%11.3f %10.3f %9" PRIu64 "  ", (double)rows[i].energy_uj / 1e6,
			       (double)rows[i].ran_ns / 1e9, rows[i].n);
		wtl_layout_text(buf, rows[i].name, style);
		wtl_buf_putc(buf, '\n');
	}
	if (n > ROWS_MAX && rows[ROWS_MAX].n > 0)
		wtl_buf_printf(buf, "%34smore with less\n", "");
}

static void put_gpu(struct wtl_buf *buf, const struct wtl_kineto *kineto, size_t number)
{
	const struct wtl_kineto_gpu *gpu = &kineto->gpus[number];
	uint64_t kernels_uj = gpu->steps.total_uj - gpu->steps.idle_uj - gpu->none_uj;

	if (gpu->domain < 0) {
		wtl_buf_printf(buf, "%s: not measured here, and its %zu kernels have no joules\n",
			       gpu->name, gpu->n_kernels);
		return;
	}
	wtl_buf_printf(
		buf, "%s: %.3f J in %zu kernels, %.3f J while none ran, %.3f J idle, %.3f J in all",
		gpu->name, (double)kernels_uj / 1e6, gpu->n_kernels, (double)gpu->none_uj / 1e6,
		(double)gpu->steps.idle_uj / 1e6, (double)gpu->steps.total_uj / 1e6);
	if (gpu->lag_ns > 0)
		wtl_buf_printf(buf, "; its sensor is %.2f s late", (double)gpu->lag_ns / 1e9);
	wtl_buf_putc(buf, '\n');
}

void wtl_kineto_text(struct wtl_buf *buf, const struct wtl_profile *profile,
		     const struct wtl_output_style *style)
{
	const struct wtl_kineto *kineto = profile->kineto;
	struct row *rows;
	size_t n;

	if (!kineto)
		return;
	wtl_buf_putc(buf, '\n');
	for (size_t i = 0; i < kineto->n_gpus; i++)
		put_gpu(buf, kineto, i);
	if (kineto->n_outside > 0)
		wtl_buf_printf(buf, "%zu kernels ran before the profile began or after its end\n",
			       kineto->n_outside);
	rows = list_kernels(kineto, &n);
	put_rows(buf, rows, n, "kernel", style);
	free(rows);
	rows = list_launchers(profile, &n);
	put_rows(buf, rows, n, "kernels by who launched them, as the nearest sample says", style);
	free(rows);
}

/* ---- In numbers ---- */

static void put_list(struct wtl_node *to, const char *key, const struct row *rows, size_t n)
{
	struct wtl_node *list = wtl_doc_list(to, key);

	for (size_t i = 0; i < n; i++) {
		struct wtl_node *row = rows[i].n > 0 ? wtl_doc_object(list, NULL) : NULL;

		if (!row)
			continue;
		wtl_doc_text(row, "name", rows[i].name);
		wtl_doc_count(row, "runs", rows[i].n);
		wtl_doc_seconds(row, "time_s", rows[i].ran_ns);
		wtl_doc_micro(row, "energy_j", rows[i].energy_uj);
	}
}

void wtl_kineto_doc(struct wtl_node *to, const struct wtl_profile *profile)
{
	const struct wtl_kineto *kineto = profile->kineto;
	struct wtl_node *object, *list;
	struct row *rows;
	size_t n;

	if (!kineto)
		return;
	object = wtl_doc_object(to, "gpu_kernels");
	list = wtl_doc_list(object, "gpus");
	for (size_t i = 0; i < kineto->n_gpus; i++) {
		const struct wtl_kineto_gpu *gpu = &kineto->gpus[i];
		struct wtl_node *row = wtl_doc_object(list, NULL);

		wtl_doc_integer(row, "device", gpu->device);
		if (gpu->domain < 0)
			continue;
		wtl_doc_text(row, "domain", gpu->name);
		wtl_doc_micro(row, "kernels_j",
			      gpu->steps.total_uj - gpu->steps.idle_uj - gpu->none_uj);
		wtl_doc_micro(row, "no_kernel_j", gpu->none_uj);
		wtl_doc_micro(row, "idle_j", gpu->steps.idle_uj);
		wtl_doc_micro(row, "total_j", gpu->steps.total_uj);
		wtl_doc_seconds(row, "lag_s", gpu->lag_ns);
	}
	rows = list_kernels(kineto, &n);
	put_list(object, "kernels", rows, n);
	free(rows);
	rows = list_launchers(profile, &n);
	put_list(object, "launched_by", rows, n);
	free(rows);
	wtl_doc_count(object, "outside", kineto->n_outside);
}

/* ---- The file ---- */

int wtl_kineto_load(const char *path, struct wtl_profile *profile, struct wtl_kineto *kineto,
		    struct wtl_err *err)
{
	struct wtl_buf buf;
	int rc;

	if (!HAVE_JANSSON || !path)
		return 0;
	wtl_buf_init(&buf, FILE_MAX);
	rc = wtl_infile_read(path, &buf);
	if (rc < 0)
		wtl_err_set(err, -rc, "kineto", NULL, "it cannot be read: %s", wtl_err_text(rc));
	else
		rc = wtl_kineto_read(kineto, wtl_buf_str(&buf), buf.len, profile->window, err);
	if (rc == 0) {
		rc = wtl_kineto_divide(kineto, profile, getenv("CUDA_VISIBLE_DEVICES"));
		if (rc < 0)
			wtl_err_set(err, -rc, "kineto", NULL, "%s", wtl_err_text(rc));
	}
	wtl_buf_done(&buf);
	profile->kineto = rc < 0 ? NULL : kineto;
	return rc;
}

static int write_merged(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	return HAVE_JANSSON && stacks->profile->kineto
		       ? wtl_kineto_merge(buf, stacks->profile->kineto, stacks->profile)
		       : -ENODATA;
}

const struct wtl_profile_format wtl_profile_format_kineto = {
	.name = "kineto", .suffixes = ".pt.trace.json", .write = write_merged};
