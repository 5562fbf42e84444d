/* SPDX-License-Identifier: MIT */
#include "meter/gpu_details.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/thread.h"
#include "base/worker.h"
#include "energy/units.h"
#include "meter/meter.h"

/* How long closing waits for a driver. */
#define LEAVE_NS (WTL_NS_PER_S / 2)

/* PCIe throughput may take 40 ms a GPU. */
enum { PCIE_EVERY = 2 };

static void read_gpus(void *argument)
{
	struct wtl_gpu_details *details = argument;
	unsigned what = details->what;
	int64_t begin_ns = wtl_thread_clock_ns();

	if (!details->reader &&
	    wtl_gpu_reader_new(&details->env, &details->options, &details->reader, NULL) < 0)
		return;
	if (details->n_reads++ % PCIE_EVERY == 1)
		what |= WTL_GPU_READ_PCIE;
	wtl_gpu_reader_read(details->reader, what);
	details->read_ns = wtl_thread_clock_ns();
	details->took_ns = details->read_ns - begin_ns;
}

/* Drivers may hang in this as well. */
static void close_reader(void *argument)
{
	struct wtl_gpu_details *details = argument;

	wtl_gpu_reader_free(details->reader);
	details->reader = NULL;
}

int wtl_gpu_details_init(struct wtl_gpu_details *details, struct wattle_meter *meter, unsigned what)
{
	int rc;

	memset(details, 0, sizeof(*details));
	details->meter = meter;
	details->env = meter->env;
	details->machine = meter->machine;
	details->options.nvml_path = meter->nvml_path;
	details->options.left_out = meter->catalog.left_out;
	details->options.machine = &details->machine;
	details->what = what;
	if (meter->env.io->has_one_order || meter->env.io->fault)
		return 0;
	details->env.log = NULL;
	rc = wtl_worker_new(read_gpus, close_reader, details, &details->worker);
	if (rc == 0)
		wtl_worker_order(details->worker);
	return rc;
}

bool wtl_gpu_details_done(struct wtl_gpu_details *details)
{
	if (!wtl_worker_free(details->worker, LEAVE_NS)) {
		details->meter->io_lent = true;
		return false;
	}
	close_reader(details);
	free(details->gpus);
	free(details->processes);
	memset(details, 0, sizeof(*details));
	return true;
}

static bool copy_answer(struct wtl_gpu_details *details, const struct wtl_gpu answers[], size_t n)
{
	struct wtl_gpu_process *to;
	size_t n_wanted = 0, n_processes = 0;

	for (size_t i = 0; i < n; i++) {
		n_wanted += !answers[i].is_left_out;
		n_processes += answers[i].n_processes;
	}
	if (wtl_array_widen(&details->gpus, &details->n, n_wanted, sizeof(*details->gpus)) < 0 ||
	    wtl_array_reserve(&details->processes, &details->room, n_processes,
			      sizeof(*details->processes)) < 0)
		return false;
	to = details->processes;
	n_wanted = 0;
	for (size_t i = 0; i < n; i++) {
		struct wtl_gpu *gpu = &details->gpus[n_wanted];

		if (answers[i].is_left_out)
			continue;
		n_wanted++;
		*gpu = answers[i];
		gpu->migs = NULL;
		gpu->n_migs = 0;
		gpu->processes = NULL;
		if (gpu->n_processes == 0)
			continue;
		gpu->processes = to;
		memcpy(to, answers[i].processes, gpu->n_processes * sizeof(*to));
		to += gpu->n_processes;
	}
	return true;
}

/* Without memory for it, the answer before stays. */
static bool take_answer(struct wtl_gpu_details *details)
{
	const struct wtl_gpu *answers;
	size_t n;

	if (!details->reader)
		return false;
	answers = wtl_gpu_reader_gpus(details->reader, &n);
	if (!(details->keep ? details->keep(details->context, answers, n, details->read_ns)
			    : copy_answer(details, answers, n)))
		return false;
	details->answered_ns = details->read_ns;
	details->answer_took_ns = details->took_ns;
	return true;
}

bool wtl_gpu_details_poll(struct wtl_gpu_details *details, int64_t wait_ns)
{
	return details->worker && wtl_worker_take(details->worker, wait_ns) && take_answer(details);
}

bool wtl_gpu_details_ask(struct wtl_gpu_details *details, int64_t wait_ns)
{
	bool has_answer;

	if (!details->worker) {
		read_gpus(details);
		return take_answer(details);
	}
	has_answer = wtl_gpu_details_poll(details, 0);
	if (wtl_worker_order(details->worker) && wait_ns > 0 && details->answer_took_ns <= wait_ns)
		has_answer |= wtl_gpu_details_poll(details, wait_ns);
	return has_answer;
}
