/* SPDX-License-Identifier: MIT */
/*
 * The counters as text in one line, as facts of recordings are: entries of fields, which blanks divide.
 *	wattle-totals 1;
 *	host ENERGY;
 *	domain NAME PROCESSES KERNEL IDLE UNATTRIBUTED;
 *	group GROUPING DOMAIN DYNAMIC IDLE NAME;
 * Energies are µJ. What is 0 is left out. Of names, ' ', ';' and '%' are %20, %3B and %25.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "base/text.h"
#include "serve/totals.h"

#define HEADER "wattle-totals 1;"

enum { FIELDS_MAX = 6 };

struct field {
	const char *text;
	size_t len;
};

static const char *grouping_name(size_t by)
{
	return wtl_field_info(wtl_totals_groupings[by])->name;
}

static void put_name(struct wtl_buf *buf, const char *name)
{
	for (; *name; name++)
		if (strchr(" ;%", *name))
			wtl_buf_printf(buf, "%%%02X", (unsigned char)*name);
		else
			wtl_buf_putc(buf, *name);
}

static void save_group(const struct wtl_totals *totals, size_t by,
		       const struct wtl_totals_group *group, struct wtl_buf *buf)
{
	for (size_t i = 0; i < totals->n_domains; i++) {
		uint64_t dynamic = wtl_totals_energy(totals, group, i, WTL_TOTALS_DYNAMIC);
		uint64_t idle = wtl_totals_energy(totals, group, i, WTL_TOTALS_IDLE_PART);

		if (dynamic + idle == 0)
			continue;
		wtl_buf_printf(buf, "group %s %s %" PRIu64 " %" PRIu64 " ", grouping_name(by),
			       totals->domains[i], dynamic, idle);
		put_name(buf, group->name);
		wtl_buf_putc(buf, ';');
	}
}

void wtl_totals_save(const struct wtl_totals *totals, struct wtl_buf *buf)
{
	wtl_buf_printf(buf, HEADER "host %" PRIu64 ";", totals->host_uj);
	for (size_t i = 0; i < totals->n_domains; i++) {
		const uint64_t *uj = &totals->accounts_uj[i * WTL_TOTALS_ACCOUNTS];

		wtl_buf_printf(buf, "domain %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 ";",
			       totals->domains[i], uj[0], uj[1], uj[2], uj[3]);
	}
	for (size_t by = 0; by < WTL_TOTALS_GROUPINGS; by++) {
		const struct wtl_totals_grouping *grouping = &totals->by[by];

		for (size_t i = 0; i < grouping->n; i++)
			save_group(totals, by, &grouping->groups[i], buf);
		for (size_t i = WTL_TOTALS_GROUPS; i < WTL_TOTALS_PLACES; i++)
			save_group(totals, by, &grouping->groups[i], buf);
	}
}

/* ---- Reading ---- */

static size_t split(const char *entry, size_t len, struct field fields[FIELDS_MAX])
{
	const char *end = entry + len;
	size_t n = 0;

	for (const char *at = entry; n < FIELDS_MAX; n++) {
		const char *blank = memchr(at, ' ', (size_t)(end - at));

		fields[n] = (struct field){at, (size_t)((blank ? blank : end) - at)};
		if (!blank)
			return n + 1;
		at = blank + 1;
	}
	return FIELDS_MAX + 1;
}

static bool is_text(const struct field *field, const char *text)
{
	return strlen(text) == field->len && memcmp(field->text, text, field->len) == 0;
}

/* Sums of sums must not overflow, so a counter is below 2^60 µJ: 320 MWh. */
static int take_number(const struct field *field, uint64_t *ret)
{
	int rc = wtl_num_u64(field->text, field->len, ret);

	return rc < 0 || *ret >= UINT64_C(1) << 60 ? -EINVAL : 0;
}

/* n_domains: it does not exist any more. */
static size_t find_domain(const struct wtl_totals *totals, const struct field *name)
{
	size_t i = 0;

	while (i < totals->n_domains && !is_text(name, totals->domains[i]))
		i++;
	return i;
}

static int load_domain(struct wtl_totals *totals, const struct field fields[])
{
	size_t domain = find_domain(totals, &fields[1]);
	uint64_t uj[WTL_TOTALS_ACCOUNTS];

	for (size_t i = 0; i < WTL_TOTALS_ACCOUNTS; i++)
		if (take_number(&fields[2 + i], &uj[i]) < 0)
			return -EINVAL;
	if (domain < totals->n_domains)
		memcpy(&totals->accounts_uj[domain * WTL_TOTALS_ACCOUNTS], uj, sizeof(uj));
	return 0;
}

static int take_name(const struct field *field, char name[WTL_TOTALS_NAME_SIZE])
{
	char raw[WTL_TOTALS_NAME_SIZE];
	size_t len = 0;

	for (size_t i = 0; i < field->len; i++, len++) {
		uint64_t byte = (unsigned char)field->text[i];

		if (byte == '%' && (field->len - i < 3 ||
				    wtl_num_hex(&field->text[i + 1], 2, &byte) < 0 || byte == 0))
			return -EINVAL;
		if (field->text[i] == '%')
			i += 2;
		if (len == WTL_TOTALS_NAME_SIZE - 1)
			return -EINVAL;
		raw[len] = (char)byte;
	}
	/* A name that is not clean only costs its group the name, not everybody their counters. */
	wtl_text_clean(name, WTL_TOTALS_NAME_SIZE, raw, len);
	return 0;
}

static struct wtl_totals_group *find_group(struct wtl_totals_grouping *grouping, const char *name)
{
	struct wtl_totals_group *group;

	for (size_t i = 0; i < grouping->n; i++)
		if (strcmp(name, grouping->groups[i].name) == 0)
			return &grouping->groups[i];
	if (strcmp(name, WTL_TOTALS_OVERFLOW) == 0) {
		grouping->has_overflow = true;
		return &grouping->groups[WTL_TOTALS_OVERFLOW_PLACE];
	}
	if (strcmp(name, WTL_TOTALS_RETIRED) == 0 || grouping->n == WTL_TOTALS_GROUPS) {
		grouping->has_retired = true;
		return &grouping->groups[WTL_TOTALS_RETIRED_PLACE];
	}
	group = &grouping->groups[grouping->n++];
	wtl_text_copy(group->name, sizeof(group->name), name);
	return group;
}

static int load_group(struct wtl_totals *totals, const struct field fields[])
{
	size_t domain = find_domain(totals, &fields[2]), by = 0;
	struct wtl_totals_group *group;
	char name[WTL_TOTALS_NAME_SIZE];
	uint64_t dynamic, idle;

	while (by < WTL_TOTALS_GROUPINGS && !is_text(&fields[1], grouping_name(by)))
		by++;
	if (by == WTL_TOTALS_GROUPINGS || take_number(&fields[3], &dynamic) < 0 ||
	    take_number(&fields[4], &idle) < 0 || take_name(&fields[5], name) < 0)
		return -EINVAL;
	if (domain == totals->n_domains)
		return 0;
	group = find_group(&totals->by[by], name);
	group->energy_uj[domain * WTL_TOTALS_PARTS + WTL_TOTALS_DYNAMIC] += dynamic;
	group->energy_uj[domain * WTL_TOTALS_PARTS + WTL_TOTALS_IDLE_PART] += idle;
	return 0;
}

static int load_entry(struct wtl_totals *totals, const char *entry, size_t len)
{
	struct field fields[FIELDS_MAX];
	size_t n = split(entry, len, fields);

	if (n == 2 && is_text(&fields[0], "host"))
		return take_number(&fields[1], &totals->host_uj);
	if (n != FIELDS_MAX)
		return -EINVAL;
	if (is_text(&fields[0], "domain"))
		return load_domain(totals, fields);
	return is_text(&fields[0], "group") ? load_group(totals, fields) : -EINVAL;
}

/* The groups' dynamic energy must be the account of processes, and their parts of idle energy no more than that. */
static bool adds_up(const struct wtl_totals *totals, size_t domain)
{
	const uint64_t *uj = &totals->accounts_uj[domain * WTL_TOTALS_ACCOUNTS];

	for (size_t by = 0; by < WTL_TOTALS_GROUPINGS; by++) {
		uint64_t dynamic = 0, idle = 0;

		for (size_t i = 0; i < WTL_TOTALS_PLACES; i++) {
			const struct wtl_totals_group *group = &totals->by[by].groups[i];

			dynamic += wtl_totals_energy(totals, group, domain, WTL_TOTALS_DYNAMIC);
			idle += wtl_totals_energy(totals, group, domain, WTL_TOTALS_IDLE_PART);
		}
		if (dynamic != uj[WTL_TOTALS_PROCESSES] || idle > uj[WTL_TOTALS_IDLE])
			return false;
	}
	return true;
}

static void forget(struct wtl_totals *totals)
{
	totals->host_uj = 0;
	memset(totals->accounts_uj, 0,
	       totals->n_domains * WTL_TOTALS_ACCOUNTS * sizeof(*totals->accounts_uj));
	memset(totals->energies, 0,
	       totals->n_domains * WTL_TOTALS_PARTS * WTL_TOTALS_GROUPINGS * WTL_TOTALS_PLACES *
		       sizeof(*totals->energies));
	for (size_t by = 0; by < WTL_TOTALS_GROUPINGS; by++) {
		for (size_t i = 0; i < WTL_TOTALS_GROUPS; i++)
			totals->by[by].groups[i].name[0] = '\0';
		totals->by[by].n = 0;
		totals->by[by].has_overflow = totals->by[by].has_retired = false;
	}
}

int wtl_totals_load(struct wtl_totals *totals, const char *text)
{
	int rc = wtl_text_starts(text, HEADER) ? 0 : -EINVAL;

	forget(totals);
	for (const char *entry = text + (rc == 0 ? strlen(HEADER) : 0); rc == 0 && *entry;) {
		size_t len = strcspn(entry, ";");

		rc = entry[len] == ';' ? load_entry(totals, entry, len) : -EINVAL;
		entry += len + 1;
	}
	for (size_t i = 0; rc == 0 && i < totals->n_domains; i++)
		rc = adds_up(totals, i) ? 0 : -EINVAL;
	if (rc < 0)
		forget(totals);
	return rc;
}
