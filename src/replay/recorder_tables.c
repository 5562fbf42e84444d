/* SPDX-License-Identifier: MIT */
/* A recorder's facts and tables. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "meter/consumers.h"
#include "meter/calibrated.h"
#include "meter/known_watts.h"
#include "meter/meter.h"
#include "meter/observer.h"
#include "replay/format.h"
#include "replay/recorder_state.h"

/* ---- What the machine is ---- */

static void fact_number(struct wtl_recorder *recorder, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	wtl_store_fact(recorder->writer, key, text);
}

/* Writes nothing for a hash that is not known. */
static void fact_hash(struct wtl_recorder *recorder, const char *key, uint64_t hash)
{
	char text[24];

	snprintf(text, sizeof(text), "%016" PRIx64, hash);
	if (hash)
		wtl_store_fact(recorder->writer, key, text);
}

static void write_wall(struct wtl_recorder *recorder)
{
	const struct wtl_kept_calibration *wall = wtl_calibrated_wall(recorder->meter->calibrated);
	char line[WTL_KEPT_LINE_MAX];
	int len = wall ? wtl_kept_calibration_print(line, wall) : 0;

	if (len <= 0)
		return;
	line[len - 1] = '\0';
	wtl_store_fact(recorder->writer, WTL_FACT_WALL, line);
}

static void write_machine(struct wtl_recorder *recorder)
{
	const struct wtl_machine *machine = &recorder->meter->machine;

	wtl_store_fact(recorder->writer, WTL_FACT_VERSION, wattle_version());
	fact_hash(recorder, WTL_FACT_MACHINE_ID, machine->id);
	fact_hash(recorder, WTL_FACT_BOOT_ID,
		  wtl_machine_hash(recorder->meter->env.io, "/proc/sys/kernel/random/boot_id"));
	wtl_store_fact(recorder->writer, WTL_FACT_CPU_MODEL, machine->cpu_model);
	wtl_store_fact(recorder->writer, WTL_FACT_VENDOR, machine->vendor);
	wtl_store_fact(recorder->writer, WTL_FACT_PRODUCT, machine->product);
	wtl_store_fact(recorder->writer, WTL_FACT_KERNEL, machine->kernel);
	fact_number(recorder, WTL_FACT_CPUS, machine->n_cpus);
	fact_number(recorder, WTL_FACT_PACKAGES, machine->n_packages);
	fact_number(recorder, WTL_FACT_MEMORY, machine->memory_bytes);
	fact_number(recorder, WTL_FACT_VM, machine->is_vm);
	fact_number(recorder, WTL_FACT_CONTAINER, machine->is_container);
	write_wall(recorder);
}

static void write_weight(struct wtl_recorder *recorder)
{
	struct wtl_workload *workload;

	if (!recorder->consumers)
		return;
	workload = wtl_consumers_workload(recorder->consumers);
	wtl_store_fact(recorder->writer, WTL_FACT_WEIGHT,
		       wtl_weight_name(wtl_workload_weight(workload)));
}

static void copy_name(char *to, size_t size, const char *from)
{
	if (from)
		wtl_text_copy(to, size, from);
}

static int write_domain(struct wtl_recorder *recorder, size_t i)
{
	struct wtl_stored_domain row = {
		.primary = recorder->meter->domains[i].domain.primary,
		.check = recorder->meter->domains[i].domain.check,
	};
	struct wattle_domain domain;

	wtl_meter_domain(recorder->meter, i, &domain);
	copy_name(row.name, sizeof(row.name), domain.name);
	copy_name(row.inside, sizeof(row.inside), domain.inside);
	copy_name(row.source, sizeof(row.source), domain.source);
	copy_name(row.device, sizeof(row.device), domain.device);
	copy_name(row.reason, sizeof(row.reason), domain.reason);
	copy_name(row.remedy, sizeof(row.remedy), domain.remedy);
	row.kind = domain.kind;
	row.method = domain.method;
	row.status = domain.status;
	row.in_total = domain.in_total;
	return wtl_store_domain(recorder->writer, (uint32_t)i, &row);
}

void wtl_recorder_idle(struct wtl_recorder *recorder, size_t domain,
		       const struct wtl_baseline *idle)
{
	char key[WTL_STORE_NAME_SIZE], text[WTL_BASELINE_LINE_MAX];

	if (!recorder || wtl_baseline_print(text, recorder->meter->domains[domain].domain.name,
					    "recorded", idle) < 0)
		return;
	snprintf(key, sizeof(key), WTL_FACT_IDLE, domain);
	text[strcspn(text, "\n")] = '\0';
	wtl_store_fact(recorder->writer, key, text);
}

/* Writes the idle power that is known when the recording begins. */
static void write_idle(struct wtl_recorder *recorder, size_t i)
{
	struct wtl_baseline idle;

	if (!recorder->consumers)
		return;
	wtl_consumers_rest(recorder->consumers, i, &idle);
	if (idle.is_known)
		wtl_recorder_idle(recorder, i, &idle);
}

void wtl_recorder_write_known(struct wtl_recorder *recorder)
{
	const struct wtl_known_watts *known;

	for (; (known = wtl_consumers_begun(recorder->consumers, recorder->n_known)) != NULL;
	     recorder->n_known++) {
		char key[WTL_STORE_NAME_SIZE], line[WTL_BASELINE_LINE_MAX];
		char text[WTL_BASELINE_LINE_MAX + 16];
		int len = wtl_known_print(line, known);

		snprintf(key, sizeof(key), WTL_FACT_KNOWN, recorder->n_known);
		snprintf(text, sizeof(text), "%" PRIu32 " %.*s", known->key, len > 0 ? len - 1 : 0,
			 line);
		wtl_store_fact(recorder->writer, key, text);
	}
}

static void write_gpu_users(struct wtl_recorder *recorder)
{
	fact_number(recorder, WTL_FACT_GPUS, recorder->n_gpus);
	if (recorder->consumers && wtl_consumers_learns_gpus(recorder->consumers))
		wtl_store_fact(recorder->writer, WTL_FACT_GPU_WATTS, "1");
	for (size_t i = 0; i < recorder->n_gpus; i++) {
		struct wtl_gpu_scan gpu;
		char key[WTL_STORE_NAME_SIZE];

		wtl_consumers_gpu(recorder->consumers, i, &gpu);
		snprintf(key, sizeof(key), WTL_FACT_GPU_DOMAIN, i);
		wtl_store_fact(recorder->writer, key, gpu.domain);
	}
}

static void write_serials(struct wtl_recorder *recorder)
{
	const struct wtl_catalog *catalog = &recorder->meter->catalog;

	for (size_t i = 0; i < catalog->n_channels; i++) {
		char key[WTL_STORE_NAME_SIZE];

		snprintf(key, sizeof(key), WTL_FACT_SERIAL, i);
		if (catalog->channels[i].serial[0])
			wtl_store_fact(recorder->writer, key, catalog->channels[i].serial);
	}
}

int wtl_recorder_write_start(struct wtl_recorder *recorder)
{
	const struct wtl_catalog *catalog = &recorder->meter->catalog;
	int rc = 0;

	write_machine(recorder);
	write_weight(recorder);
	write_serials(recorder);
	write_gpu_users(recorder);
	for (size_t i = 0; rc == 0 && i < catalog->n_misses; i++)
		rc = wtl_store_miss(recorder->writer, (uint32_t)i, &catalog->misses[i]);
	for (size_t i = 0; rc == 0 && i < wattle_meter_domains(recorder->meter); i++) {
		rc = write_domain(recorder, i);
		write_idle(recorder, i);
	}
	return rc;
}

/* ---- The end ---- */

static void store_accounts(struct wtl_recorder *recorder, uint32_t slot, uint32_t consumer)
{
	for (size_t i = 0; i < wattle_meter_domains(recorder->meter); i++) {
		struct wtl_share share = wtl_consumers_share(recorder->consumers, slot, i);
		const struct wtl_stored_account row = {
			.domain = (uint32_t)i,
			.consumer = consumer,
			.slot = slot,
			.full_uj = share.full_uj,
			.share_ns = share.share_ns,
			.doubt_uj = share.doubt_uj,
		};

		if (share.full_uj || share.share_ns)
			wtl_store_account(recorder->writer, &row);
	}
}

/* At the end: it may have failed, and its sensor's update interval has been measured. */
static void store_domain(struct wtl_recorder *recorder, size_t i)
{
	char key[WTL_STORE_NAME_SIZE];

	write_domain(recorder, i);
	snprintf(key, sizeof(key), WTL_FACT_UPDATE, i);
	if (recorder->meter->domains[i].info.update_ns > 0)
		fact_number(recorder, key, (uint64_t)recorder->meter->domains[i].info.update_ns);
}

static void store_baseline(struct wtl_recorder *recorder, size_t i)
{
	struct wtl_stored_baseline row = {.domain = (uint32_t)i};

	wtl_consumers_baseline(recorder->consumers, i, &row.baseline);
	if (row.baseline.is_known)
		wtl_store_baseline(recorder->writer, &row);
}

static void store_is_learned(struct wtl_recorder *recorder, size_t i)
{
	char key[WTL_STORE_NAME_SIZE];

	snprintf(key, sizeof(key), WTL_FACT_LEARNED, i);
	if (wtl_consumers_is_learned(recorder->consumers, i))
		wtl_store_fact(recorder->writer, key, "1");
}

void wtl_recorder_write_end(struct wtl_recorder *recorder)
{
	/* If it began late, accounts have more than the recording. */
	bool stores = recorder->consumers && !recorder->is_late;

	write_weight(recorder);
	for (uint32_t slot = 0; slot < WTL_SLOTS_FIXED && stores; slot++)
		store_accounts(recorder, slot, 0);
	for (uint32_t slot = WTL_SLOTS_FIXED; slot < recorder->delta.n_slots && stores; slot++)
		if (recorder->delta.slots[slot].id)
			store_accounts(recorder, slot, recorder->delta.slots[slot].id);
	wtl_delta_finish(&recorder->delta, recorder->consumers);
	for (size_t i = 0; i < wattle_meter_domains(recorder->meter); i++) {
		store_baseline(recorder, i);
		store_is_learned(recorder, i);
		store_domain(recorder, i);
	}
}
