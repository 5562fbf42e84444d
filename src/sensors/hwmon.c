/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/num.h"
#include "base/text.h"
#include "energy/catalog.h"
#include "energy/units.h"
#include "sensors/hwmon_read.h"
#include "sensors/hwmon_rules.h"
#include "sensors/source.h"

#define CLASS_DIR "/sys/class/hwmon"
/* The update interval of chips that do not state one (judgement). */
#define UPDATE_UNKNOWN_NS (100 * WTL_NS_PER_MS)

enum { DRAFTS_MAX = 1024, NAMES_MAX = 1 << 20, INTERVAL_MAX_MS = 3600000 };

struct hwmon {
	struct wtl_hwmon_read *inputs;
	size_t n;
};

/* A chip that is being looked at. */
struct chip {
	char name[32];
	char device[64];      /* "/sys/class/hwmon/hwmon0/device" */
	char dir[64];	      /* where its attributes are: that, or its parent */
	struct wtl_buf files; /* the names of its attributes */
};

/* A sensor that may become a channel. */
struct draft {
	char device[64];
	char label[48];
	char path[128];
	char factor[128]; /* "": none */
	unsigned index;	  /* N of powerN_input */
	const struct wtl_hwmon_rule *rule;
	struct wtl_channel channel;
};

/* What is found while the source opens. */
struct scan {
	struct wtl_io *io;
	struct wtl_catalog *catalog;
	struct draft *drafts;
	size_t n, room;
	unsigned next[WATTLE_KINDS]; /* numbers for domains whose sensors tell none */
};

/* ---- Which sensors there are ---- */

static bool has_file(const struct chip *chip, const char *name)
{
	for (size_t at = 0; at < chip->files.len; at += strlen(chip->files.data + at) + 1)
		if (strcmp(chip->files.data + at, name) == 0)
			return true;
	return false;
}

/* Reads PREFIX N SUFFIX ("power1_label") if there is one; else text is "". */
static void read_text(struct wtl_io *io, const struct chip *chip, const char *prefix,
		      unsigned index, const char *suffix, char *text, size_t size)
{
	char name[48];
	char path[128];

	text[0] = '\0';
	snprintf(name, sizeof(name), "%s%u%s", prefix, index, suffix);
	snprintf(path, sizeof(path), "%s/%s", chip->dir, name);
	if (has_file(chip, name) && wtl_io_read_line(io, path, text, size) < 0)
		text[0] = '\0';
}

/* An interval in milliseconds as nanoseconds; 0 when there is none. */
static int64_t read_interval(struct wtl_io *io, const struct chip *chip, const char *name)
{
	char path[128];
	uint64_t ms = 0;

	snprintf(path, sizeof(path), "%s/%s", chip->dir, name);
	if (!has_file(chip, name) || wtl_io_read_u64(io, path, &ms) < 0 || ms > INTERVAL_MAX_MS)
		return 0;
	return (int64_t)ms * WTL_NS_PER_MS;
}

/* Energy and power of one label of one chip are two ways to measure one domain. */
static const struct draft *find_twin(const struct scan *scan, const struct draft *draft)
{
	const struct draft *twin = NULL;

	for (size_t i = 0; i < scan->n; i++) {
		const struct draft *other = &scan->drafts[i];

		if (other->rule != draft->rule || strcmp(other->device, draft->device) != 0 ||
		    strcmp(other->label, draft->label) != 0 ||
		    (!draft->label[0] && other->index != draft->index))
			continue;
		if (other->channel.quantity == draft->channel.quantity)
			return NULL;
		twin = other;
	}
	return twin;
}

static void name_domain(struct scan *scan, struct draft *draft, int number)
{
	const struct wtl_hwmon_rule *rule = draft->rule;
	const struct draft *twin = find_twin(scan, draft);
	struct wtl_channel *channel = &draft->channel;
	unsigned n;

	if (twin) {
		wtl_text_copy(channel->domain, sizeof(channel->domain), twin->channel.domain);
		wtl_text_copy(channel->inside, sizeof(channel->inside), twin->channel.inside);
		return;
	}
	n = number >= 0 ? (unsigned)number : scan->next[rule->kind]++;
	snprintf(channel->domain, sizeof(channel->domain), "%s-%u", rule->domain, n);
	if (rule->inside)
		snprintf(channel->inside, sizeof(channel->inside), "%s-%u", rule->inside, n);
}

/* Adds a draft for the sensor at `path`, unless the rules say to ignore it. */
static int add_draft(struct scan *scan, const struct chip *chip, struct draft *draft,
		     int64_t update_ns)
{
	struct wtl_channel *channel = &draft->channel;
	int number;

	draft->rule = wtl_hwmon_rule_find(chip->name, draft->label, &number);
	if (draft->rule->use == WTL_HWMON_IGNORE || scan->n >= DRAFTS_MAX)
		return 0;
	wtl_text_copy(draft->device, sizeof(draft->device), chip->device);
	channel->kind = draft->rule->kind;
	channel->in_total = draft->rule->use == WTL_HWMON_PART;
	channel->method = channel->quantity == WTL_QUANTITY_ENERGY ? WATTLE_METHOD_COUNTER
								   : WATTLE_METHOD_INTEGRATED;
	channel->unit = WTL_UNIT_MICRO;
	channel->max_uw = wtl_hwmon_max_uw(channel->kind);
	channel->update_ns = update_ns ? update_ns : draft->rule->update_ns;
	if (channel->update_ns == 0)
		channel->update_ns = UPDATE_UNKNOWN_NS;
	channel->gain_ppm = draft->rule->gain_ppm;
	channel->offset_uw = draft->rule->offset_uw;
	snprintf(channel->device, sizeof(channel->device), "%s%s%.29s",
		 chip->name[0] ? chip->name : "unnamed chip", draft->label[0] ? ": " : "",
		 draft->label);
	name_domain(scan, draft, number);
	if (wtl_array_reserve(&scan->drafts, &scan->room, scan->n + 1, sizeof(*scan->drafts)) < 0)
		return -ENOMEM;
	scan->drafts[scan->n++] = *draft;
	return 0;
}

static int add_energy(struct scan *scan, const struct chip *chip, unsigned index)
{
	struct draft draft = {.index = index, .channel.quantity = WTL_QUANTITY_ENERGY};

	snprintf(draft.path, sizeof(draft.path), "%s/energy%u_input", chip->dir, index);
	read_text(scan->io, chip, "energy", index, "_label", draft.label, sizeof(draft.label));
	return add_draft(scan, chip, &draft, 0);
}

/* The average, where there is one, misses nothing between two reads. */
static int add_power(struct scan *scan, const struct chip *chip, unsigned index)
{
	struct draft draft = {.index = index, .channel.quantity = WTL_QUANTITY_POWER};
	char text[16];
	char name[48];
	int64_t update_ns = 0;
	bool average;

	read_text(scan->io, chip, "power", index, "_is_battery", text, sizeof(text));
	if (strcmp(text, "1") == 0)
		return 0;
	snprintf(name, sizeof(name), "power%u_average", index);
	average = has_file(chip, name);
	snprintf(draft.path, sizeof(draft.path), "%s/power%u_%s", chip->dir, index,
		 average ? "average" : "input");
	if (average) {
		snprintf(name, sizeof(name), "power%u_average_interval", index);
		update_ns = read_interval(scan->io, chip, name);
	}
	read_text(scan->io, chip, "power", index, "_label", draft.label, sizeof(draft.label));
	if (!draft.label[0])
		read_text(scan->io, chip, "power", index, "_oem_info", draft.label,
			  sizeof(draft.label));
	return add_draft(scan, chip, &draft, update_ns);
}

/* INA3221 has no power: mA × mV of a channel that has both and is on. */
static int add_product(struct scan *scan, const struct chip *chip, unsigned index)
{
	struct draft draft = {.index = index, .channel.quantity = WTL_QUANTITY_POWER};
	char name[48];
	char on[16];

	snprintf(name, sizeof(name), "in%u_input", index);
	read_text(scan->io, chip, "in", index, "_enable", on, sizeof(on));
	if (!has_file(chip, name) || strcmp(on, "0") == 0)
		return 0;
	snprintf(draft.path, sizeof(draft.path), "%s/curr%u_input", chip->dir, index);
	snprintf(draft.factor, sizeof(draft.factor), "%s/%s", chip->dir, name);
	read_text(scan->io, chip, "in", index, "_label", draft.label, sizeof(draft.label));
	return add_draft(scan, chip, &draft, read_interval(scan->io, chip, "update_interval"));
}

static int add_file(struct scan *scan, const struct chip *chip, const char *name)
{
	char average[48];
	int index = -1;

	if (wtl_hwmon_match("energy#_input", name, &index))
		return add_energy(scan, chip, (unsigned)index);
	if (wtl_hwmon_match("power#_average", name, &index))
		return add_power(scan, chip, (unsigned)index);
	if (wtl_hwmon_match("power#_input", name, &index)) {
		snprintf(average, sizeof(average), "power%d_average", index);
		return has_file(chip, average) ? 0 : add_power(scan, chip, (unsigned)index);
	}
	if (strcmp(chip->name, "ina3221") == 0 && wtl_hwmon_match("curr#_input", name, &index))
		return add_product(scan, chip, (unsigned)index);
	return 0;
}

/* Lists a directory and says whether it holds energy or power. */
static bool list_files(struct scan *scan, struct chip *chip, const char *dir)
{
	int ignored;

	wtl_text_copy(chip->dir, sizeof(chip->dir), dir);
	wtl_buf_clear(&chip->files);
	if (wtl_io_dir_read(scan->io, dir, &chip->files) < 0)
		wtl_buf_clear(&chip->files);
	for (size_t at = 0; at < chip->files.len; at += strlen(chip->files.data + at) + 1) {
		const char *name = chip->files.data + at;

		if (wtl_hwmon_match("energy#_input", name, &ignored) ||
		    wtl_hwmon_match("power#_input", name, &ignored) ||
		    wtl_hwmon_match("power#_average", name, &ignored) ||
		    wtl_hwmon_match("curr#_input", name, &ignored))
			return true;
	}
	return false;
}

static int scan_chip(struct scan *scan, const char *entry)
{
	struct chip chip = {.name = ""};
	char dir[48];
	char path[80];
	char target[512];
	int rc = 0;

	if (!wtl_hwmon_is_entry(entry))
		return 0;
	snprintf(dir, sizeof(dir), CLASS_DIR "/%.24s", entry);
	/* Batteries have a source of their own. */
	if (wtl_io_link_read(scan->io, dir, target, sizeof(target)) > 0 &&
	    strstr(target, "/power_supply/"))
		return 0;
	snprintf(chip.device, sizeof(chip.device), "%s/device", dir);
	snprintf(path, sizeof(path), "%s/name", dir);
	if (wtl_io_read_line(scan->io, path, chip.name, sizeof(chip.name)) < 0) {
		snprintf(path, sizeof(path), "%s/name", chip.device);
		if (wtl_io_read_line(scan->io, path, chip.name, sizeof(chip.name)) < 0)
			chip.name[0] = '\0';
	}
	if (wtl_hwmon_chip_owned(chip.name))
		return 0;
	wtl_buf_init(&chip.files, NAMES_MAX);
	/* Old drivers, acpi_power_meter among them, keep their attributes at the device. */
	if (list_files(scan, &chip, dir) || list_files(scan, &chip, chip.device))
		for (size_t at = 0; at < chip.files.len && rc == 0;
		     at += strlen(chip.files.data + at) + 1)
			rc = add_file(scan, &chip, chip.files.data + at);
	wtl_buf_done(&chip.files);
	return rc;
}

static int scan_class(struct scan *scan)
{
	struct wtl_buf names;
	int rc;

	scan->next[WATTLE_KIND_GPU] = wtl_catalog_count(scan->catalog, WATTLE_KIND_GPU);
	wtl_buf_init(&names, NAMES_MAX);
	rc = wtl_io_dir_read(scan->io, CLASS_DIR, &names);
	if (rc > 0)
		rc = 0;
	for (size_t at = 0; at < names.len && rc == 0; at += strlen(names.data + at) + 1)
		rc = scan_chip(scan, names.data + at);
	wtl_buf_done(&names);
	/* No such class: a container, or a kernel without it. */
	return rc == -ENOMEM ? rc : 0;
}

/* ---- What to make of them ---- */

static bool is_known(const struct scan *scan, const char *domain)
{
	for (size_t i = 0; i < scan->n; i++)
		if (strcmp(scan->drafts[i].channel.domain, domain) == 0)
			return true;
	for (size_t i = 0; i < scan->catalog->n_channels; i++)
		if (strcmp(scan->catalog->channels[i].domain, domain) == 0)
			return true;
	return false;
}

/* A module's input stands for the module where nothing in it is measured. */
static void settle_whole(struct scan *scan, struct draft *draft, bool parts)
{
	struct wtl_channel *channel = &draft->channel;

	if (!parts) {
		channel->kind = WATTLE_KIND_MODULE;
		channel->in_total = true;
		snprintf(channel->domain, sizeof(channel->domain), "module-%u",
			 scan->next[WATTLE_KIND_MODULE]++);
		return;
	}
	for (size_t i = 0; i < scan->n; i++) {
		const struct wtl_hwmon_rule *rule = scan->drafts[i].rule;

		if (rule->inside && strcmp(rule->inside, draft->rule->domain) == 0)
			wtl_text_copy(scan->drafts[i].channel.inside,
				      sizeof(scan->drafts[i].channel.inside), channel->domain);
	}
}

static void settle(struct scan *scan)
{
	bool parts = wtl_catalog_has(scan->catalog, WATTLE_KIND_CPU);

	for (size_t i = 0; i < scan->n; i++)
		parts |= scan->drafts[i].rule->use == WTL_HWMON_PART;
	for (size_t i = 0; i < scan->n; i++)
		if (scan->drafts[i].rule->use == WTL_HWMON_WHOLE)
			settle_whole(scan, &scan->drafts[i], parts);
	for (size_t i = 0; i < scan->n; i++) {
		struct wtl_channel *channel = &scan->drafts[i].channel;

		if (channel->inside[0] && !is_known(scan, channel->inside))
			channel->inside[0] = '\0';
	}
}

static int add_input(struct hwmon *state, struct scan *scan, const struct draft *draft)
{
	int error;
	int rc = wtl_hwmon_add(&state->inputs[state->n], scan->io, draft->device, draft->path,
			       draft->factor[0] ? draft->factor : NULL, &draft->channel,
			       scan->catalog, &error);

	if (rc == 0)
		return wtl_hwmon_miss(scan->catalog, &draft->channel, draft->path, error);
	state->n += rc > 0;
	/* Two chips that claim the same domain: the first is as good as the second. */
	return rc < 0 && rc != -EEXIST ? rc : 0;
}

static int hwmon_open(void *state_, const struct wtl_env *env,
		      const struct wtl_source_options *options, struct wtl_catalog *catalog)
{
	struct hwmon *state = state_;
	struct scan scan = {.io = env->io, .catalog = catalog};
	int rc = scan_class(&scan);

	(void)options;
	if (rc == 0 && scan.n > 0) {
		settle(&scan);
		state->inputs = calloc(scan.n, sizeof(*state->inputs));
		rc = state->inputs ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < scan.n && rc == 0; i++)
		rc = add_input(state, &scan, &scan.drafts[i]);
	free(scan.drafts);
	return rc;
}

static void hwmon_read(void *state_, struct wtl_reading readings[])
{
	struct hwmon *state = state_;

	wtl_hwmon_read_all(state->inputs, state->n, readings);
}

static void hwmon_close(void *state_)
{
	struct hwmon *state = state_;

	wtl_hwmon_close_all(state->inputs, state->n);
	free(state->inputs);
	state->inputs = NULL;
	state->n = 0;
}

const struct wtl_source_ops wtl_source_hwmon = {
	.name = "hwmon",
	.state_size = sizeof(struct hwmon),
	.may_hang = true,
	.open = hwmon_open,
	.read = hwmon_read,
	.close = hwmon_close,
};
