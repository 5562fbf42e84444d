/* SPDX-License-Identifier: MIT */
#include "serve/live_blob.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "serve/live.h"

enum { VERSION = 2, PARTS = 5, PROCESSES_MAX = 65536 };

static const char magic[12] = "wattle-live";

struct header {
	char magic[sizeof(magic)];
	uint32_t version;
	char release[32];
	uint32_t sizes[PARTS + 1]; /* of the snapshot's struct, and of an entry of each part */
};

/* ---- What is checked in each struct ---- */

/* An address is this process's own: it is written as 0, and set when read. */
enum check_kind { TEXT, TRUTH, WORD, BYTE, ADDRESS };

struct check {
	enum check_kind kind;
	size_t offset;
	size_t most; /* of a text: its size; of a word or a byte: its highest value */
};

#define OFFSET(type, member) offsetof(struct type, member)
#define OWN		     OFFSET(wtl_live, domains) /* the lists, and the room for them */
#define TEXT_OF(type, member)                                                     \
	{                                                                         \
		TEXT, OFFSET(type, member), sizeof(((struct type *)NULL)->member) \
	}
#define TRUTH_OF(type, member)                 \
	{                                      \
		TRUTH, OFFSET(type, member), 0 \
	}
#define WORD_OF(type, member, most)              \
	{                                        \
		WORD, OFFSET(type, member), most \
	}

static const struct check live_checks[] = {
	TEXT_OF(wtl_live, host),
	TEXT_OF(wtl_live, version),
	TEXT_OF(wtl_live, location),
	TEXT_OF(wtl_live, dataset),
	TEXT_OF(wtl_live, recording),
	TRUTH_OF(wtl_live, is_complete),
	TRUTH_OF(wtl_live, has_power),
	TRUTH_OF(wtl_live, is_default_place),
	TRUTH_OF(wtl_live, has_self_energy),
	TRUTH_OF(wtl_live, is_recorded),
	TRUTH_OF(wtl_live, push.is_on),
	WORD_OF(wtl_live, push.stored, WTL_LIVE_MISSING),
};

static const struct check domain_checks[] = {
	TEXT_OF(wtl_live_domain, name),
	TEXT_OF(wtl_live_domain, inside),
	TEXT_OF(wtl_live_domain, device),
	TEXT_OF(wtl_live_domain, source),
	TEXT_OF(wtl_live_domain, uuid),
	TEXT_OF(wtl_live_domain, reason),
	WORD_OF(wtl_live_domain, kind, WATTLE_KINDS - 1),
	WORD_OF(wtl_live_domain, method, WATTLE_METHOD_MIXED),
	WORD_OF(wtl_live_domain, status, WATTLE_STATUS_ABSENT),
	TRUTH_OF(wtl_live_domain, in_total),
	TRUTH_OF(wtl_live_domain, has_energy),
	TRUTH_OF(wtl_live_domain, has_power),
	TRUTH_OF(wtl_live_domain, has_idle),
};

static const struct check miss_checks[] = {
	TEXT_OF(wtl_live_miss, source), TEXT_OF(wtl_live_miss, domain),
	TEXT_OF(wtl_live_miss, reason), WORD_OF(wtl_live_miss, status, WATTLE_STATUS_ABSENT),
	TEXT_OF(wtl_live_miss, remedy),
};

static const struct check group_checks[] = {
	{BYTE, OFFSET(wtl_live_group, by), WTL_TOTALS_GROUPINGS - 1},
	TEXT_OF(wtl_live_group, name),
	TEXT_OF(wtl_live_group, title),
	{ADDRESS, OFFSET(wtl_live_group, energy_uj), 0},
	{ADDRESS, OFFSET(wtl_live_group, dynamic_uw), 0},
};

static const struct check process_checks[] = {
	TEXT_OF(wtl_live_process, name),
	TEXT_OF(wtl_live_process, user),
	TRUTH_OF(wtl_live_process, has_dynamic),
	TRUTH_OF(wtl_live_process, is_running),
};

static const struct check gpu_checks[] = {
	TEXT_OF(wtl_live_gpu, domain),
	TEXT_OF(wtl_live_gpu, name),
	TEXT_OF(wtl_live_gpu, uuid),
};

/* For new members: a text, a word, a truth or an address needs a row above. */
#define KNOWN(type, bytes)                                                    \
	_Static_assert(sizeof(void *) != 8 || sizeof(struct type) == (bytes), \
		       #type " has changed: give its new members rows in live_blob.c")

KNOWN(wtl_live, 904);
KNOWN(wtl_live_domain, 600);
KNOWN(wtl_live_miss, 508);
KNOWN(wtl_live_group, 288);
KNOWN(wtl_live_process, 144);
KNOWN(wtl_live_gpu, 320);

/* A list of the snapshot: its offset, that of its count, and the highest count. */
struct part {
	size_t list, n, size, most;
	const struct check *checks;
	size_t n_checks;
};

#define PART(member, type, bound, table)                                                     \
	{                                                                                    \
		OFFSET(wtl_live, member), OFFSET(wtl_live, n_##member), sizeof(struct type), \
			bound, table, sizeof(table) / sizeof(table[0])                       \
	}

static const struct part parts[PARTS] = {
	PART(domains, wtl_live_domain, WTL_LIVE_DOMAINS, domain_checks),
	PART(misses, wtl_live_miss, WTL_LIVE_MISSES, miss_checks),
	PART(groups, wtl_live_group, WTL_TOTALS_GROUPINGS *WTL_TOTALS_PLACES, group_checks),
	PART(processes, wtl_live_process, PROCESSES_MAX, process_checks),
	PART(gpus, wtl_live_gpu, WTL_LIVE_GPUS, gpu_checks),
};

static size_t count_of(const struct wtl_live *live, const struct part *part)
{
	return *(const size_t *)(const void *)((const char *)live + part->n);
}

static char *list_of(const struct wtl_live *live, const struct part *part)
{
	char *list;

	memcpy(&list, (const char *)live + part->list, sizeof(list));
	return list;
}

static size_t energies_of(const struct wtl_live *live)
{
	return wtl_live_group_numbers(live) * sizeof(uint64_t);
}

static void make_header(struct header *header)
{
	memset(header, 0, sizeof(*header));
	memcpy(header->magic, magic, sizeof(magic));
	header->version = VERSION;
	memcpy(header->release, WATTLE_VERSION,
	       sizeof(WATTLE_VERSION) < sizeof(header->release) ? sizeof(WATTLE_VERSION)
								: sizeof(header->release) - 1);
	header->sizes[0] = sizeof(struct wtl_live);
	for (size_t i = 0; i < PARTS; i++)
		header->sizes[i + 1] = (uint32_t)parts[i].size;
}

/* ---- Writing ---- */

/* Other processes must not see addresses. */
static void hide_addresses(struct wtl_live *live)
{
	memset((char *)live + OWN, 0, sizeof(*live) - OWN);
}

/* Clears what is left behind the ends of texts. */
static void tidy(char *entry, const struct check checks[], size_t n_checks)
{
	for (size_t i = 0; i < n_checks; i++) {
		char *at = entry + checks[i].offset;
		size_t len = checks[i].kind == TEXT ? strnlen(at, checks[i].most) : 0;

		if (checks[i].kind == TEXT)
			memset(at + len, 0, checks[i].most - len);
		else if (checks[i].kind == ADDRESS)
			memset(at, 0, sizeof(void *));
	}
}

static void write_part(const struct wtl_live *live, const struct part *part, struct wtl_buf *buf)
{
	size_t n = count_of(live, part), from = buf->len;

	wtl_buf_add(buf, list_of(live, part), n * part->size);
	for (size_t i = 0; !buf->error && i < n; i++)
		tidy(buf->data + from + i * part->size, part->checks, part->n_checks);
}

void wtl_live_blob_write(const struct wtl_live *live, struct wtl_buf *buf)
{
	struct wtl_live fixed = *live;
	struct header header;

	make_header(&header);
	hide_addresses(&fixed);
	tidy((char *)&fixed, live_checks, sizeof(live_checks) / sizeof(live_checks[0]));
	wtl_buf_add(buf, &header, sizeof(header));
	wtl_buf_add(buf, &fixed, sizeof(fixed));
	for (size_t i = 0; i < PARTS; i++)
		write_part(live, &parts[i], buf);
	wtl_buf_add(buf, live->group_energies, energies_of(live));
}

/* ---- Reading ---- */

static bool is_sound(const char *entry, const struct check *check)
{
	const char *at = entry + check->offset;
	uint32_t word;

	switch (check->kind) {
	case TEXT:
		return memchr(at, '\0', check->most) != NULL;
	case TRUTH:
		return *at == 0 || *at == 1;
	case BYTE:
		return (unsigned char)*at <= check->most;
	case WORD:
		memcpy(&word, at, sizeof(word));
		return word <= check->most;
	case ADDRESS:
		return true;
	}
	return false;
}

static bool are_sound(const char *entries, size_t n, size_t size, const struct check checks[],
		      size_t n_checks)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n_checks; k++)
			if (!is_sound(entries + i * size, &checks[k]))
				return false;
	return true;
}

static int check_header(const char *bytes, size_t len)
{
	struct header expected, header;

	if (len < sizeof(header) + sizeof(struct wtl_live))
		return -EPROTO;
	make_header(&expected);
	memcpy(&header, bytes, sizeof(header));
	if (memcmp(header.magic, magic, sizeof(magic)) != 0)
		return -EPROTO;
	return memcmp(&header, &expected, sizeof(header)) == 0 ? 0 : -EPROTONOSUPPORT;
}

/* Are the counts within their bounds, and the length right for them? */
static int check_counts(const struct wtl_live *told, size_t len)
{
	size_t sum = sizeof(struct header) + sizeof(*told);

	for (size_t i = 0; i < PARTS; i++) {
		if (count_of(told, &parts[i]) > parts[i].most)
			return -EPROTO;
		sum += count_of(told, &parts[i]) * parts[i].size;
	}
	return sum + energies_of(told) == len ? 0 : -EPROTO;
}

int wtl_live_blob_read(const void *bytes_, size_t len, struct wtl_live *live)
{
	const char *bytes = bytes_, *at = bytes + sizeof(struct header) + sizeof(struct wtl_live);
	struct wtl_live told;
	int rc = check_header(bytes, len);

	if (rc < 0)
		return rc;
	if (!are_sound(bytes + sizeof(struct header), 1, sizeof(told), live_checks,
		       sizeof(live_checks) / sizeof(live_checks[0])))
		return -EPROTO;
	memcpy(&told, bytes + sizeof(struct header), sizeof(told));
	hide_addresses(&told);
	rc = check_counts(&told, len);
	if (rc < 0)
		return rc;
	if (wtl_live_reserve(live, &told) < 0)
		return -ENOMEM;
	memcpy(live, &told, OWN);
	for (size_t i = 0; i < PARTS; i++) {
		size_t n = count_of(live, &parts[i]);

		if (!are_sound(at, n, parts[i].size, parts[i].checks, parts[i].n_checks))
			return -EPROTO;
		if (n > 0)
			memcpy(list_of(live, &parts[i]), at, n * parts[i].size);
		at += n * parts[i].size;
	}
	if (energies_of(live) > 0)
		memcpy(live->group_energies, at, energies_of(live));
	wtl_live_give_numbers(live);
	return wtl_live_adds_up(live) ? 0 : -EPROTO;
}
