/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/thread.h"
#include "base/worker.h"
#include "commands/top/collect.h"
#include "energy/units.h"
#include "meter/meter.h"

/* How long closing waits for a driver. */
#define LEAVE_NS (WTL_NS_PER_S / 2)

/* How long an answer is waited for (judgement): who uses the GPUs is waited for as long. */
#define ANSWER_NS (20 * WTL_NS_PER_MS)

/* PCIe throughput may take 40 ms a GPU. */
enum { PCIE_EVERY = 2 };

static void read_gpus(void *argument)
{
	struct wtl_top_gpus *gpus = argument;
	unsigned what = WTL_GPU_READ_NUMBERS;
	int64_t begin_ns = wtl_thread_clock_ns();

	if (!gpus->reader &&
	    wtl_gpu_reader_new(&gpus->env, &gpus->options, &gpus->reader, NULL) < 0)
		return;
	if (gpus->n_reads++ % PCIE_EVERY == 1)
		what |= WTL_GPU_READ_PCIE;
	wtl_gpu_reader_read(gpus->reader, what);
	gpus->answered_ns = wtl_thread_clock_ns();
	gpus->took_ns = gpus->answered_ns - begin_ns;
}

/* Drivers may hang in this as well. */
static void close_reader(void *argument)
{
	struct wtl_top_gpus *gpus = argument;

	wtl_gpu_reader_free(gpus->reader);
	gpus->reader = NULL;
}

int wtl_top_gpus_init(struct wtl_top_gpus *gpus, const struct wtl_settings *settings,
		      struct wattle_meter *meter)
{
	bool is_real = !settings->tape && !settings->tape_record && !settings->fault;
	int rc;

	memset(gpus, 0, sizeof(*gpus));
	gpus->env = meter->env;
	gpus->options.nvml_path = settings->nvml_path;
	gpus->machine = meter->machine;
	gpus->options.machine = &gpus->machine;
	/* A tape, or whoever counts calls, has one order of reading. */
	if (!is_real)
		return 0;
	rc = wtl_io_real_new(settings->root, &gpus->own_io, NULL);
	if (rc < 0)
		return rc;
	gpus->env.io = gpus->own_io;
	gpus->env.log = NULL;
	rc = wtl_worker_new(read_gpus, close_reader, gpus, &gpus->worker);
	if (rc == 0)
		wtl_worker_order(gpus->worker);
	return rc;
}

bool wtl_top_gpus_done(struct wtl_top_gpus *gpus)
{
	if (!wtl_worker_free(gpus->worker, LEAVE_NS))
		return false;
	close_reader(gpus);
	wtl_io_free(gpus->own_io);
	memset(gpus, 0, sizeof(*gpus));
	return true;
}

void wtl_top_gpus_join(struct wtl_top_view *view)
{
	for (size_t i = 0; i < view->n_domains; i++) {
		struct wtl_top_domain *domain = &view->domains[i];

		domain->gpu = -1;
		for (size_t k = 0; k < view->n_gpus && domain->kind == WATTLE_KIND_GPU; k++) {
			const struct wtl_gpu *gpu = &view->gpus[k];

			if (strcmp(gpu->domain, domain->name) != 0)
				continue;
			domain->gpu = (int)k;
			domain->limit_uw = gpu->numbers[WTL_GPU_LIMIT_UW].status == WATTLE_STATUS_OK
						   ? gpu->numbers[WTL_GPU_LIMIT_UW].value
						   : 0;
		}
	}
}

static void take_answer(struct wtl_top_gpus *gpus, struct wtl_top_view *view)
{
	const struct wtl_gpu *answers;
	size_t n;

	gpus->is_slow = gpus->took_ns > ANSWER_NS;
	if (!gpus->reader)
		return;
	answers = wtl_gpu_reader_gpus(gpus->reader, &n);
	if (wtl_top_view_reserve(view, 0, n, 0, 0) < 0)
		return;
	view->n_gpus = n;
	for (size_t i = 0; i < n; i++) {
		view->gpus[i] = answers[i];
		/* Those are the reader's own. */
		view->gpus[i].processes = NULL;
		view->gpus[i].n_processes = 0;
		view->gpu_answered_ns[i] = gpus->answered_ns;
	}
}

void wtl_top_gpus_refresh(struct wtl_top_gpus *gpus, struct wtl_top_view *view)
{
	if (gpus->worker && wtl_worker_take(gpus->worker, 0))
		take_answer(gpus, view);
	wtl_top_gpus_join(view);
}

void wtl_top_gpus_take(struct wtl_top_gpus *gpus, struct wtl_top_view *view, bool waits)
{
	if (!gpus->worker) {
		read_gpus(gpus);
		take_answer(gpus, view);
	}
	wtl_top_gpus_refresh(gpus, view);
	if (gpus->worker && wtl_worker_order(gpus->worker) && waits && !gpus->is_slow &&
	    wtl_worker_take(gpus->worker, ANSWER_NS)) {
		take_answer(gpus, view);
		wtl_top_gpus_join(view);
	}
}
