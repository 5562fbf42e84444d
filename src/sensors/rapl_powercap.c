/* SPDX-License-Identifier: MIT */
/*
 * Energy counters of zones in /sys/class/powercap. A zone's `name` says what it is; its number says
 * nothing (it is hexadecimal, in order of discovery). Each read of energy_uj interrupts a CPU of the
 * package for an rdmsr: descriptors are held open, and nothing is read twice.
 */
#include "base/array.h"
#include "sensors/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/num.h"
#include "base/text.h"
#include "sensors/rapl.h"

#define CLASS "/sys/class/powercap"

/* chmod and chgrp last until the next boot; docs/permissions.md has a udev rule. */
#define REMEDY_DENIED                                              \
	"sudo chgrp $(id -gn) /sys/class/powercap/*/energy_uj && " \
	"sudo chmod g+r /sys/class/powercap/*/energy_uj (until the next boot), or run as root"
#define REMEDY_DENIED_INSIDE \
	"start the container with --cap-add PERFMON (for perf), or measure on its host"
#define REMEDY_MASKED                                               \
	"start the container with --cap-add PERFMON (for perf) or " \
	"--security-opt systempaths=unconfined, or measure on its host"

enum {
	ID_MAX = WTL_NAME_SIZE, /* bytes of a zone's directory name, "intel-rapl-mmio:a:0" */
	ZONE_PATH_SIZE = 96,
	NAMES_MAX = 1024 * 1024, /* bytes of all their names */
};

struct powercap {
	struct wtl_io *io;
	struct wtl_held_file *zones;
	size_t n_zones;
};

/* What is at hand while the zones are gone through. */
struct scan {
	struct powercap *powercap;
	const struct wtl_env *env;
	struct wtl_catalog *catalog;
	const struct wtl_machine *machine;
	struct wtl_buf names; /* of the class directory: entries ended by NULs */
	size_t first_channel; /* ours begin here */
	size_t first_miss;
};

static void zone_path(char path[ZONE_PATH_SIZE], const char *id, const char *file)
{
	snprintf(path, ZONE_PATH_SIZE, CLASS "/%.*s/%s", ID_MAX - 1, id, file);
}

static int zone_line(const struct scan *scan, const char *id, const char *file, char *text,
		     size_t size)
{
	char path[ZONE_PATH_SIZE];

	zone_path(path, id, file);
	return wtl_io_read_line(scan->env->io, path, text, size);
}

/* A zone's directory name as the kernel makes it. Control types have no ':'. */
static bool is_zone_id(const char *id)
{
	size_t len = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-_:");

	return !id[len] && len < ID_MAX && strchr(id, ':');
}

/* The next zone after `id` (NULL: the first), or NULL. */
static const char *zone_next(const struct scan *scan, const char *id)
{
	const char *start = wtl_buf_str(&scan->names), *end = start + scan->names.len;
	const char *at = id ? id + strlen(id) + 1 : start;

	for (; at < end; at += strlen(at) + 1)
		if (is_zone_id(at))
			return at;
	return NULL;
}

/* The second way to the same counters, on clients. */
static bool zone_is_mmio(const char *id)
{
	return strstr(id, "-mmio:") != NULL;
}

static bool zone_is_rapl(const char *id)
{
	return wtl_text_starts(id, "intel-rapl");
}

static bool has_channel(const struct scan *scan, const char *domain)
{
	for (size_t i = scan->first_channel; i < scan->catalog->n_channels; i++)
		if (strcmp(scan->catalog->channels[i].domain, domain) == 0)
			return true;
	return false;
}

/* A zone of which it is not known what it measures: it is listed by its directory's name. */
static int zone_miss_unknown(const struct scan *scan, const char *id, int error, const char *name)
{
	struct wtl_miss miss = {
		.kind = WATTLE_KIND_CPU,
		.status = error == -EACCES || error == -EPERM ? WATTLE_STATUS_DENIED
							      : WATTLE_STATUS_FAILED,
	};

	if (!zone_is_rapl(id))
		return 0;
	wtl_text_copy(miss.domain, sizeof(miss.domain), id);
	if (error < 0)
		snprintf(miss.reason, sizeof(miss.reason), CLASS "/%s/name: %s", id,
			 wtl_err_text(error));
	else
		snprintf(miss.reason, sizeof(miss.reason),
			 CLASS "/%s/name is \"%.48s\": not a part that wattle knows", id, name);
	return wtl_catalog_miss(scan->catalog, &miss);
}

/* The range of the counter in µJ: one unit more than its highest value, which is 2^32 - 1 units. */
static uint64_t zone_range(const struct scan *scan, const char *id, uint64_t *ret_max)
{
	char path[ZONE_PATH_SIZE];
	uint64_t max_uj, unit_uj;

	zone_path(path, id, "max_energy_range_uj");
	*ret_max = 0;
	if (wtl_io_read_u64(scan->env->io, path, &max_uj) < 0 || max_uj == 0)
		return 0;
	*ret_max = max_uj;
	unit_uj = (max_uj + UINT32_MAX / 2) / UINT32_MAX;
	if (unit_uj == 0)
		unit_uj = 1;
	return max_uj > UINT64_MAX - unit_uj ? 0 : max_uj + unit_uj;
}

/*
 * Reads a zone's counter once. 0, or a negative errno or -WTL_EFORMAT with the reason in words.
 */
static int zone_try(const struct scan *scan, const char *id, uint64_t max_uj, char *reason,
		    size_t size)
{
	char path[ZONE_PATH_SIZE], text[64], enabled[8] = "";
	uint64_t energy_uj;
	ssize_t len;

	zone_path(path, id, "energy_uj");
	len = wtl_io_slurp(scan->env->io, path, text, sizeof(text));
	if (len == -EACCES || len == -EPERM) {
		snprintf(reason, size, "%s: %s", path, wtl_err_text((int)len));
		return (int)len;
	}
	if (len < 0 && len != -EFBIG) {
		zone_line(scan, id, "enabled", enabled, sizeof(enabled));
		snprintf(reason, size, "%s: %s%s%s", path, wtl_err_text((int)len),
			 strcmp(enabled, "0") == 0 ? " (the zone is disabled)" : "",
			 scan->machine->is_vm ? " (this is a virtual machine)" : "");
		return (int)len;
	}
	if (len < 0 || wtl_num_u64(text, (size_t)len, &energy_uj) < 0) {
		snprintf(reason, size, "%s does not hold a number", path);
		return -WTL_EFORMAT;
	}
	if (energy_uj == 0) {
		/* Linux registers a zone only if its counter is not 0. */
		snprintf(reason, size,
			 "%s stands at 0: the counter is not real, as in some virtual machines",
			 path);
		return -WTL_EFORMAT;
	}
	if (max_uj > 0 && energy_uj > max_uj) {
		snprintf(reason, size, "%s is above max_energy_range_uj beside it", path);
		return -WTL_EFORMAT;
	}
	return 0;
}

static int zone_miss(const struct scan *scan, const struct wtl_rapl_part *part,
		     enum wattle_status status, const char *reason)
{
	const char *remedy = NULL;

	if (status == WATTLE_STATUS_DENIED)
		remedy = scan->machine->is_container ? REMEDY_DENIED_INSIDE : REMEDY_DENIED;
	return wtl_rapl_miss(scan->catalog, part, status, remedy, reason);
}

static int zone_add(const struct scan *scan, const char *id, const struct wtl_channel *channel)
{
	struct powercap *powercap = scan->powercap;
	char path[ZONE_PATH_SIZE];
	int rc;

	if (wtl_array_resize(&powercap->zones, powercap->n_zones + 1, sizeof(*powercap->zones)) < 0)
		return -ENOMEM;
	rc = wtl_catalog_add(scan->catalog, channel);
	if (rc < 0)
		return rc;
	zone_path(path, id, "energy_uj");
	/* A failure now is the first reading's. */
	wtl_held_file_open(&powercap->zones[powercap->n_zones++], scan->env->io, path);
	return 0;
}

/* What the zone is for, from its name and its parent's. False: not known, *ret_rc is the answer. */
static bool zone_part(const struct scan *scan, const char *id, struct wtl_rapl_part *ret_part,
		      int *ret_rc)
{
	struct wtl_rapl_part parent;
	char name[64], parent_name[64] = "", parent_id[ID_MAX];
	int rc = zone_line(scan, id, "name", name, sizeof(name));
	bool has_parent;

	wtl_text_copy(parent_id, sizeof(parent_id), id);
	*strrchr(parent_id, ':') = '\0';
	has_parent = strchr(parent_id, ':') &&
		     zone_line(scan, parent_id, "name", parent_name, sizeof(parent_name)) == 0 &&
		     wtl_rapl_part_parse(parent_name, NULL, &parent) &&
		     parent.kind == WATTLE_KIND_CPU;
	if (rc == 0 && wtl_rapl_part_parse(name, has_parent ? &parent : NULL, ret_part)) {
		if (wtl_rapl_dies_are_copies(scan->machine))
			ret_part->has_die = false;
		return true;
	}
	*ret_rc = zone_miss_unknown(scan, id, rc, name);
	return false;
}

static int zone_open(const struct scan *scan, const char *id)
{
	struct wtl_rapl_part part;
	struct wtl_channel channel;
	char reason[200];
	uint64_t max_uj;
	int rc = 0;

	if (!zone_part(scan, id, &part, &rc))
		return rc;
	wtl_rapl_channel(scan->machine, &part, &channel);
	if (has_channel(scan, channel.domain)) {
		wtl_log_line(scan->env->log, WTL_LOG_DEBUG,
			     "rapl-powercap: %s is %s once more: left out", id, channel.domain);
		return 0;
	}
	/* AMD's core counter is that of one core, whichever the kernel asked (likwid#402). */
	if (part.kind == WATTLE_KIND_CORE && wtl_rapl_dies_are_copies(scan->machine))
		return zone_miss(scan, &part, WATTLE_STATUS_ABSENT,
				 "AMD's core zone counts a single core, not those of the package");
	channel.range = zone_range(scan, id, &max_uj);
	rc = zone_try(scan, id, max_uj, reason, sizeof(reason));
	if (rc == -ENOENT)
		/* Other control types have zones without a counter. */
		return zone_is_rapl(id) ? zone_miss(scan, &part, WATTLE_STATUS_ABSENT, reason) : 0;
	if (rc < 0)
		return zone_miss(scan, &part, wtl_status_from_error(rc), reason);
	return zone_add(scan, id, &channel);
}

/* Can any zone's name be read? Else the first error. */
static int zones_visible(const struct scan *scan)
{
	int error = 0;

	for (const char *id = zone_next(scan, NULL); id; id = zone_next(scan, id)) {
		char name[64];
		int rc = zone_line(scan, id, "name", name, sizeof(name));

		if (rc == 0)
			return 0;
		if (error == 0)
			error = rc;
	}
	return error;
}

static int miss_whole(const struct scan *scan, int error)
{
	if (error == -ENOENT && zone_next(scan, NULL))
		/* The class's links lead to nothing: container runtimes hide the tree behind them
		 * (moby's GHSA-jq35-85cj-fj4p). */
		return wtl_catalog_missf(scan->catalog, WATTLE_KIND_CPU, NULL, WATTLE_STATUS_DENIED,
					 REMEDY_MASKED, "/sys/devices/virtual/powercap is masked%s",
					 scan->machine->is_container ? " in this container" : "");
	if (error == 0 || error == -ENOENT)
		return wtl_rapl_miss_absent(scan->catalog, scan->machine, "no zones in " CLASS,
					    "intel_rapl_msr");
	return wtl_catalog_missf(scan->catalog, WATTLE_KIND_CPU, NULL, wtl_status_from_error(error),
				 NULL, CLASS ": %s", wtl_err_text(error));
}

static int zones_open(const struct scan *scan)
{
	int rc;

	rc = zones_visible(scan);
	if (rc < 0)
		return miss_whole(scan, rc);
	for (int mmio = 0; mmio <= 1; mmio++)
		for (const char *id = zone_next(scan, NULL); id; id = zone_next(scan, id)) {
			if (zone_is_mmio(id) != (mmio == 1))
				continue;
			rc = zone_open(scan, id);
			if (rc < 0)
				return rc;
		}
	/* None at all, or only those of other control types. */
	if (scan->catalog->n_channels == scan->first_channel &&
	    scan->catalog->n_misses == scan->first_miss)
		return miss_whole(scan, 0);
	return 0;
}

static int powercap_open(void *state, const struct wtl_env *env,
			 const struct wtl_source_options *options, struct wtl_catalog *catalog)
{
	struct powercap *powercap = state;
	struct scan scan = {
		.powercap = powercap,
		.env = env,
		.catalog = catalog,
		.machine = options->machine,
		.first_channel = catalog->n_channels,
		.first_miss = catalog->n_misses,
	};
	int rc;

	powercap->io = env->io;
	wtl_buf_init(&scan.names, NAMES_MAX);
	rc = wtl_io_dir_read(env->io, CLASS, &scan.names);
	if (rc < 0 && rc != -ENOMEM)
		rc = miss_whole(&scan, rc);
	else if (rc >= 0)
		rc = zones_open(&scan);
	wtl_buf_done(&scan.names);
	return rc;
}

static void powercap_read(void *state, struct wtl_reading readings[])
{
	struct powercap *powercap = state;
	int64_t t_ns = powercap->n_zones > 0 ? wtl_io_mono_ns(powercap->io) : 0;

	for (size_t i = 0; i < powercap->n_zones; i++)
		wtl_held_file_reading(&powercap->zones[i], &t_ns, &readings[i]);
}

static void powercap_close(void *state)
{
	struct powercap *powercap = state;

	for (size_t i = 0; i < powercap->n_zones; i++)
		wtl_held_file_close(&powercap->zones[i]);
	free(powercap->zones);
	*powercap = (struct powercap){0};
}

const struct wtl_source_ops wtl_source_rapl_powercap = {
	.name = "rapl-powercap",
	.state_size = sizeof(struct powercap),
	.open = powercap_open,
	.read = powercap_read,
	.close = powercap_close,
};
