/* SPDX-License-Identifier: MIT */
#include "sensors/hwmon_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/num.h"
#include "base/text.h"

/*
 * How often runtime_status is looked at. Drivers that would wake the device for a read also count
 * that read as use, and put the device to sleep a second or more after the last use (xe: 1 s, amdgpu
 * and nouveau: 5 s, i915: 10 s). Every look that finds it awake is followed by a read, so a look a
 * second never comes too late.
 */
#define LOOK_NS WTL_REPROBE_NS

enum { NAMES_MAX = 1 << 20 };

/* Is the device "suspended" or "suspending"? Reading runtime_status does not wake it. */
static void look(struct wtl_hwmon_read *read, int64_t now_ns)
{
	char text[32];
	ssize_t len;

	if (read->status < 0)
		return;
	len = wtl_io_file_read(read->io, read->status, text, sizeof(text) - 1);
	text[len > 0 ? len : 0] = '\0';
	read->asleep = wtl_text_starts(text, "suspend");
	read->look_ns = now_ns + LOOK_NS;
	if (wtl_text_starts(text, "unsupported")) {
		wtl_io_file_close(read->io, read->status);
		read->status = -1;
	}
}

/* A held file that is opened by its first read. */
static void prepare(struct wtl_held_file *held, struct wtl_io *io, const char *path)
{
	*held = (struct wtl_held_file){.io = io, .file = -1};
	wtl_text_copy(held->path, sizeof(held->path), path);
}

static int power_of(struct wtl_hwmon_read *read, uint64_t *ret_value)
{
	int64_t value = 0;
	int64_t factor = 0;
	int64_t product;
	int rc = wtl_held_file_i64(&read->value, &value);

	if (rc == 0)
		rc = wtl_held_file_i64(&read->factor, &factor);
	if (rc < 0)
		return rc;
	if (__builtin_mul_overflow(value, factor, &product))
		return -ERANGE;
	*ret_value = product > 0 ? (uint64_t)product : 0;
	return 0;
}

int wtl_hwmon_read_open(struct wtl_hwmon_read *read, struct wtl_io *io, const char *device,
			const char *path, const char *factor)
{
	struct wtl_reading reading = {.status = WATTLE_STATUS_OK};
	char status[160];
	int64_t now_ns = wtl_io_mono_ns(io);

	*read = (struct wtl_hwmon_read){.io = io, .status = -1};
	snprintf(status, sizeof(status), "%s/power/runtime_status", device);
	read->status = wtl_io_file_open(io, status);
	prepare(&read->value, io, path);
	prepare(&read->factor, io, factor ? factor : "");
	wtl_hwmon_read_get(read, &now_ns, &reading);
	return reading.status == WATTLE_STATUS_OK || reading.status == WATTLE_STATUS_ASLEEP
		       ? 0
		       : reading.error;
}

void wtl_hwmon_read_close(struct wtl_hwmon_read *read)
{
	if (!read->io)
		return;
	wtl_held_file_close(&read->value);
	wtl_held_file_close(&read->factor);
	wtl_io_file_close(read->io, read->status);
	*read = (struct wtl_hwmon_read){.status = -1};
}

static void set_asleep(struct wtl_reading *reading, int64_t t_ns)
{
	*reading = (struct wtl_reading){
		.t_mono_ns = t_ns, .status = WATTLE_STATUS_ASLEEP, .error = -EAGAIN};
}

void wtl_hwmon_read_get(struct wtl_hwmon_read *read, int64_t *t_ns, struct wtl_reading *reading)
{
	if (*t_ns >= read->look_ns)
		look(read, *t_ns);
	if (read->asleep) {
		set_asleep(reading, *t_ns);
		return;
	}
	if (!read->factor.path[0]) {
		wtl_held_file_reading(&read->value, t_ns, reading);
	} else {
		int64_t before_ns = *t_ns;
		uint64_t value = 0;
		int rc = power_of(read, &value);

		*t_ns = wtl_io_mono_ns(read->io);
		wtl_reading_set(reading, before_ns, *t_ns, rc, value);
	}
	/* Drivers refuse, each with an errno of its own, while the device goes to sleep. */
	if (reading->status != WATTLE_STATUS_OK) {
		look(read, *t_ns);
		if (read->asleep)
			set_asleep(reading, *t_ns);
	}
}

void wtl_hwmon_read_all(struct wtl_hwmon_read reads[], size_t n, struct wtl_reading readings[])
{
	int64_t t_ns = n > 0 ? wtl_io_mono_ns(reads[0].io) : 0;

	for (size_t i = 0; i < n; i++)
		wtl_hwmon_read_get(&reads[i], &t_ns, &readings[i]);
}

void wtl_hwmon_close_all(struct wtl_hwmon_read reads[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		wtl_hwmon_read_close(&reads[i]);
}

/* Is it worth keeping a channel although its first read failed like that? */
static bool error_passes(int error)
{
	return error == -EAGAIN || error == -EBUSY || error == -ETIMEDOUT || error == -EINTR;
}

static void miss_init(struct wtl_miss *miss, const struct wtl_channel *channel,
		      enum wattle_status status)
{
	*miss = (struct wtl_miss){
		.kind = channel->kind, .status = status, .in_total = channel->in_total};
	wtl_text_copy(miss->domain, sizeof(miss->domain), channel->domain);
}

int wtl_hwmon_miss(struct wtl_catalog *catalog, const struct wtl_channel *channel, const char *path,
		   int error)
{
	const char *base = strrchr(path, '/');
	enum wattle_status status = wtl_status_from_error(error);
	struct wtl_miss miss;

	base = base ? base + 1 : path;
	miss_init(&miss, channel, status);
	if (status == WATTLE_STATUS_DENIED) {
		snprintf(miss.reason, sizeof(miss.reason), "%s is not readable by this user", base);
		snprintf(miss.remedy, sizeof(miss.remedy),
			 "sudo chgrp $(id -gn) %s && sudo chmod g+r %s (until the next boot)", path,
			 path);
	} else {
		snprintf(miss.reason, sizeof(miss.reason), "%s cannot be read: %s", base,
			 wtl_err_text(error));
	}
	return wtl_catalog_miss(catalog, &miss);
}

static int miss_asleep(struct wtl_catalog *catalog, const struct wtl_channel *channel,
		       const char *device)
{
	struct wtl_miss miss;

	miss_init(&miss, channel, WATTLE_STATUS_ASLEEP);
	snprintf(miss.reason, sizeof(miss.reason),
		 "the device is suspended, and a read would wake it");
	snprintf(miss.remedy, sizeof(miss.remedy),
		 "it is measured once it is in use; to keep it awake: "
		 "echo on | sudo tee %s/power/control",
		 device);
	return wtl_catalog_miss(catalog, &miss);
}

int wtl_hwmon_add(struct wtl_hwmon_read *read, struct wtl_io *io, const char *device,
		  const char *path, const char *factor, const struct wtl_channel *channel,
		  struct wtl_catalog *catalog, int *ret_error)
{
	int rc = wtl_hwmon_read_open(read, io, device, path, factor);

	*ret_error = rc < 0 && !error_passes(rc) ? rc : 0;
	if (*ret_error == 0) {
		rc = wtl_catalog_add(catalog, channel);
		if (rc >= 0 && read->asleep)
			rc = miss_asleep(catalog, channel, device);
		if (rc >= 0)
			return 1;
	}
	wtl_hwmon_read_close(read);
	return *ret_error ? 0 : rc;
}

bool wtl_hwmon_dir_has(struct wtl_io *io, const char *dir, const char *name)
{
	struct wtl_buf names;
	bool found = false;

	wtl_buf_init(&names, NAMES_MAX);
	if (wtl_io_dir_read(io, dir, &names) > 0)
		for (size_t at = 0; at < names.len && !found; at += strlen(names.data + at) + 1)
			found = strcmp(names.data + at, name) == 0;
	wtl_buf_done(&names);
	return found;
}

/* ---- GPUs ---- */

static int read_hex(struct wtl_io *io, const char *dir, const char *name, uint32_t *ret)
{
	char path[96];
	char text[24];
	uint64_t value;
	ssize_t len;
	int rc;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	len = wtl_io_slurp(io, path, text, sizeof(text));
	if (len < 0)
		return (int)len;
	rc = wtl_num_hex(text, (size_t)len, &value);
	if (rc < 0 || value > UINT32_MAX)
		return rc < 0 ? rc : -ERANGE;
	*ret = (uint32_t)value;
	return 0;
}

/*
 * Is it the prefix and a number? "card7" is a GPU; "card7-DP-1", "renderD128" and "version" are not.
 * Such names are safe in a remedy.
 */
static bool numbered(const char *name, const char *prefix, unsigned *ret)
{
	size_t len = strlen(prefix);
	uint64_t number;

	if (!wtl_text_starts(name, prefix) || name[len] < '0' || name[len] > '9' ||
	    name[strlen(name) - 1] > '9' || name[strlen(name) - 1] < '0' ||
	    wtl_num_u64(name + len, strlen(name + len), &number) < 0 || number > 99999)
		return false;
	*ret = (unsigned)number;
	return true;
}

bool wtl_hwmon_is_entry(const char *name)
{
	unsigned ignored;

	return numbered(name, "hwmon", &ignored);
}

static void find_hwmon(struct wtl_io *io, struct wtl_hwmon_gpu *gpu)
{
	struct wtl_buf names;
	char dir[64];

	snprintf(dir, sizeof(dir), "%s/hwmon", gpu->device);
	wtl_buf_init(&names, NAMES_MAX);
	if (wtl_io_dir_read(io, dir, &names) > 0 && wtl_hwmon_is_entry(names.data))
		snprintf(gpu->hwmon, sizeof(gpu->hwmon), "%s/%.23s", dir, names.data);
	wtl_buf_done(&names);
}

/* /sys/class/drm/card0 points to …/0000:03:00.0/drm/card0. */
static void find_address(struct wtl_io *io, unsigned card, struct wtl_hwmon_gpu *gpu)
{
	char path[48];
	char target[512];
	char *end;
	char *start;

	snprintf(path, sizeof(path), "/sys/class/drm/card%u", card);
	if (wtl_io_link_read(io, path, target, sizeof(target)) < 0)
		return;
	end = strstr(target, "/drm/");
	if (!end)
		return;
	*end = '\0';
	start = strrchr(target, '/');
	if (start)
		wtl_text_clean(gpu->address, sizeof(gpu->address), start + 1, strlen(start + 1));
}

static bool describe(struct wtl_io *io, uint32_t vendor, unsigned card, struct wtl_hwmon_gpu *gpu)
{
	uint32_t found;

	*gpu = (struct wtl_hwmon_gpu){.id = 0};
	snprintf(gpu->device, sizeof(gpu->device), "/sys/class/drm/card%u/device", card);
	if (read_hex(io, gpu->device, "vendor", &found) < 0 || found != vendor)
		return false;
	(void)read_hex(io, gpu->device, "device", &gpu->id);
	find_address(io, card, gpu);
	find_hwmon(io, gpu);
	return true;
}

static int compare_numbers(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a;
	unsigned y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

size_t wtl_hwmon_gpus(struct wtl_io *io, uint32_t vendor, struct wtl_hwmon_gpu gpus[], size_t max)
{
	unsigned cards[256];
	struct wtl_buf names;
	size_t n_cards = 0;
	size_t n = 0;

	wtl_buf_init(&names, NAMES_MAX);
	if (wtl_io_dir_read(io, "/sys/class/drm", &names) > 0)
		for (size_t at = 0; at < names.len && n_cards < 256;
		     at += strlen(names.data + at) + 1)
			n_cards += numbered(names.data + at, "card", &cards[n_cards]);
	wtl_buf_done(&names);
	qsort(cards, n_cards, sizeof(cards[0]), compare_numbers);
	for (size_t i = 0; i < n_cards && n < max; i++)
		n += describe(io, vendor, cards[i], &gpus[n]);
	return n;
}

int wtl_hwmon_gpus_open(struct wtl_hwmon_gpu_reads *reads, struct wtl_io *io, uint32_t vendor,
			wtl_hwmon_gpu_open *open_gpu, struct wtl_catalog *catalog)
{
	struct wtl_hwmon_gpu gpus[WTL_HWMON_GPUS_MAX];
	size_t n = wtl_hwmon_gpus(io, vendor, gpus, WTL_HWMON_GPUS_MAX);
	int rc = 0;

	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = open_gpu(reads, io, &gpus[i], catalog);
	return rc < 0 ? rc : 0;
}

void wtl_hwmon_gpus_read(void *reads_, struct wtl_reading readings[])
{
	struct wtl_hwmon_gpu_reads *reads = reads_;

	wtl_hwmon_read_all(reads->at, reads->n, readings);
}

void wtl_hwmon_gpus_close(void *reads_)
{
	struct wtl_hwmon_gpu_reads *reads = reads_;

	wtl_hwmon_close_all(reads->at, reads->n);
	reads->n = 0;
}
