/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/description.h"
#include "commands/top/collect.h"
#include "commands/top/replay.h"
#include "document/report.h"
#include "energy/units.h"
#include "replay/device.h"
#include "replay/format.h"

enum { GPUS_MAX = 128 };

/* ---- The machine and its devices ---- */

static void copy_fact(const struct wtl_top_replay *replay, const char *key, char *to, size_t size)
{
	const char *text = wtl_history_fact(replay->history, key);

	if (text[0])
		wtl_text_clean(to, size, text, strlen(text));
}

static void forget_numbers(struct wtl_top_gpu *gpu)
{
	for (size_t i = 0; i < WTL_TOP_GPU_NUMBERS; i++)
		gpu->numbers[i].status = WATTLE_STATUS_ABSENT;
}

/* false: there is no such device. */
static bool read_gpu(const struct wtl_top_replay *replay, size_t i, struct wtl_top_gpu *gpu)
{
	char domain[64], name[64];

	snprintf(domain, sizeof(domain), WTL_FACT_DEVICE_DOMAIN, i);
	snprintf(name, sizeof(name), WTL_FACT_DEVICE_NAME, i);
	if (!wtl_store_get_fact(replay->history->reader, domain) &&
	    !wtl_store_get_fact(replay->history->reader, name))
		return false;
	*gpu = (struct wtl_top_gpu){.index = (unsigned)i, .status = WATTLE_STATUS_OK};
	/* Numbers come with the first devices event. */
	forget_numbers(gpu);
	copy_fact(replay, domain, gpu->domain, sizeof(gpu->domain));
	copy_fact(replay, name, gpu->name, sizeof(gpu->name));
	return true;
}

static int read_gpus(const struct wtl_top_replay *replay, struct wtl_top_view *view)
{
	struct wtl_top_gpu gpu;

	view->n_gpus = 0;
	while (view->n_gpus < GPUS_MAX && read_gpu(replay, view->n_gpus, &gpu)) {
		if (wtl_top_view_reserve(view, 0, view->n_gpus + 1, 0, 0) < 0)
			return -ENOMEM;
		view->gpus[view->n_gpus++] = gpu;
	}
	wtl_top_gpus_join(view);
	return 0;
}

static void take_machine(const struct wtl_device_value *device, struct wtl_host_state *machine)
{
	switch (device->number) {
	case WTL_DEVICE_TEMPERATURE_C:
		machine->has_temperature = true;
		machine->temperature_c = (int)device->value;
		break;
	case WTL_DEVICE_CLOCK_MHZ:
		machine->clock_mhz = (uint32_t)device->value;
		break;
	case WTL_DEVICE_USE_PERCENT:
		machine->has_use = true;
		machine->use_ppm = (uint32_t)device->value * 10000;
		break;
	case WTL_DEVICE_MEMORY_USED_BYTES:
		machine->memory_used_bytes = (uint64_t)device->value;
		break;
	case WTL_DEVICE_MEMORY_TOTAL_BYTES:
		machine->memory_bytes = (uint64_t)device->value;
		break;
	case WTL_DEVICE_THROTTLED:
		machine->throttled = (uint32_t)device->value;
		break;
	case WTL_DEVICE_MEMORY_TEMPERATURE_C:
	case WTL_DEVICE_MEMORY_CLOCK_MHZ:
	case WTL_DEVICE_LIMIT_UW:
	case WTL_DEVICE_THROTTLE:
	case WTL_DEVICE_FAN_PERCENT:
	case WTL_DEVICE_NUMBERS:
		break;
	}
}

void wtl_top_replay_take_devices(const struct wtl_played *played, struct wtl_top_view *view)
{
	/* An event has all numbers known at its time. */
	view->machine.has_temperature = view->machine.has_use = false;
	view->machine.clock_mhz = 0;
	for (size_t i = 0; i < view->n_gpus; i++)
		forget_numbers(&view->gpus[i]);
	for (size_t i = 0; i < played->n_devices; i++) {
		const struct wtl_device_value *device = &played->devices[i];

		if (device->value < 0 || device->number >= WTL_DEVICE_NUMBERS)
			continue;
		if (device->gpu < 0)
			take_machine(device, &view->machine);
		else if ((size_t)device->gpu < view->n_gpus)
			wtl_top_gpu_set(&view->gpus[device->gpu],
					wtl_device_quantities[device->number].of_gpu,
					(uint64_t)device->value);
	}
	wtl_top_gpus_join(view);
}

void wtl_top_replay_take_second(struct wtl_top_replay *replay, const struct wtl_played *played,
				struct wtl_top_view *view)
{
	view->self.rss_bytes = (uint64_t)(played->self_rss_bytes > 0 ? played->self_rss_bytes : 0);
	wtl_top_self_take(view, replay->history->meter, played->t_mono_ns, played->self_cpu_ns);
}

/* ---- Gaps ---- */

/* Gaps of the clocks are moments: their length is not part of the recording's time. */
static bool has_length(enum wtl_gap_kind kind)
{
	return kind != WTL_GAP_SUSPEND && kind != WTL_GAP_CLOCK_STEP;
}

void wtl_top_gap_text(const struct wtl_stored_gap *gap, char text[WTL_REMARK_SIZE])
{
	char raw[WTL_REMARK_SIZE], length[32] = "";

	if (gap->kind != WTL_GAP_CLOCK_STEP)
		snprintf(length, sizeof(length), ", for %.1f s",
			 gap->duration_ns > 0 ? (double)gap->duration_ns / 1e9 : 0.0);
	snprintf(raw, sizeof(raw), "%s%s%.80s%s", gap->subject, gap->subject[0] ? ": " : "",
		 gap->text, length);
	wtl_text_clean(text, WTL_REMARK_SIZE, raw, strlen(raw));
}

const struct wtl_stored_gap *wtl_top_gap_at(const struct wtl_stored_gap gaps[], size_t n,
					    int64_t at_mono_ns)
{
	const struct wtl_stored_gap *newest = NULL;

	for (size_t i = 0; i < n; i++) {
		int64_t begin_ns = gaps[i].begin_mono_ns, since_ns = at_mono_ns - begin_ns;

		if (has_length(gaps[i].kind) && gaps[i].duration_ns > 0)
			since_ns -= gaps[i].duration_ns;
		if (gaps[i].kind != WTL_GAP_DAMAGED && begin_ns <= at_mono_ns &&
		    since_ns <= WTL_TOP_LINGER_NS && (!newest || begin_ns >= newest->begin_mono_ns))
			newest = &gaps[i];
	}
	return newest;
}

void wtl_top_replay_find_missing(struct wtl_top_replay *replay)
{
	struct wtl_top_remark *missing = &replay->missing;

	if (!replay->is_damaged && !replay->lost.text[0] &&
	    wtl_missing_rows(replay->history, missing->text)) {
		replay->is_damaged = true;
		missing->from_ns = missing->to_ns = replay->reached_ns;
	} else if (!missing->text[0]) {
		wtl_missing_dropped(replay->history->reader, missing->text);
	}
}

/* ---- All of it ---- */

int wtl_top_replay_read_facts(struct wtl_top_replay *replay, struct wtl_top_view *view)
{
	const struct wtl_history *history = replay->history;
	const struct wtl_machine *machine = &history->meter->machine;

	view->machine = (struct wtl_host_state){.n_cpus = machine->n_cpus, .memory_bytes = 0};
	copy_fact(replay, "host", view->machine.host, sizeof(view->machine.host));
	wtl_text_clean(view->played.cpu, sizeof(view->played.cpu), machine->cpu_model,
		       strlen(machine->cpu_model));
	wtl_text_clean(view->played.kernel, sizeof(view->played.kernel), machine->kernel,
		       strlen(machine->kernel));
	view->played.is_there = true;
	view->played.is_live = wtl_store_is_live(history->reader);
	view->played.is_whole = wtl_store_is_whole(history->reader);
	return read_gpus(replay, view);
}
