/* SPDX-License-Identifier: MIT */
#ifndef WTL_METER_GPU_DETAILS_H
#define WTL_METER_GPU_DETAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io.h"
#include "sensors/gpu_info.h"
#include "sensors/source.h"

/*
 * What a meter's GPUs say of themselves beside energy, read by a worker (base/worker.h): drivers take their time.
 * Where the io has one order, or counts calls, the caller reads. One thread at a time.
 */

struct wattle_meter;
struct wtl_worker;

/* After so long without a new answer, the last one is not true any more. */
#define WTL_GPU_DETAILS_OLD_NS (INT64_C(5000000000))

struct wtl_gpu_details {
	struct wtl_worker *worker; /* NULL: the caller reads */
	struct wattle_meter *meter;

	/* The job's memory. */
	struct wtl_env env;
	struct wtl_source_options options;
	struct wtl_machine machine;    /* the meter's may be gone when a driver comes back */
	struct wtl_gpu_reader *reader; /* NULL: not read yet */
	unsigned what;		       /* WTL_GPU_READ_…, beside PCIe's throughput now and then */
	unsigned n_reads;
	int64_t read_ns, took_ns; /* when the newest read ended; how long it took */

	/* Set by a caller that needs little of an answer: takes it instead of a copy of all (false: there is no memory for
	 * it). NULL after the start. */
	bool (*keep)(void *context, const struct wtl_gpu answers[], size_t n, int64_t read_ns);
	void *context;

	/* The caller's: the newest answer taken. */
	struct wtl_gpu *gpus; /* their lists are in `processes`, or left out */
	size_t n;
	struct wtl_gpu_process *processes; /* of all GPUs, one after the other */
	size_t room;
	int64_t answered_ns; /* by wtl_thread_clock_ns(); 0: there was none yet */
	int64_t answer_took_ns;
};

/* Asks for the first time where there is a worker. The meter must outlive `details`, and its io the reads. 0 or negative
 * errno. */
int wtl_gpu_details_init(struct wtl_gpu_details *details, struct wattle_meter *meter,
			 unsigned what);
/* false: the driver does not answer, and the thread was left behind with all that it uses: `details` must stay, and
 * the meter keeps its io. */
bool wtl_gpu_details_done(struct wtl_gpu_details *details);
/* Takes an answer that has come, and asks again: about once a second. Waits at most so long for that answer, and not
 * at all if the one before took longer or is still owed. Returns whether there was an answer. */
bool wtl_gpu_details_ask(struct wtl_gpu_details *details, int64_t wait_ns);
/* The same without asking: waits at most so long for what was asked before. */
bool wtl_gpu_details_poll(struct wtl_gpu_details *details, int64_t wait_ns);

#endif
