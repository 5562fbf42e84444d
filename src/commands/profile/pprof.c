/* SPDX-License-Identifier: MIT */
/* pprof's profile.proto with all costs of each stack, in a gzip file, as readers expect, but not compressed. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "commands/profile/format.h"
#include "energy/units.h"

/* Fields of profile.proto (github.com/google/pprof). */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
};

enum { STORED_MAX = 65535, PART_MAX = 1 << 20 };

/* ---- Protocol buffers ---- */

static void put_varint(struct wtl_buf *buf, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		wtl_buf_putc(buf, (char)(value | 0x80));
	wtl_buf_putc(buf, (char)value);
}

static void put_number(struct wtl_buf *buf, unsigned field, uint64_t value)
{
	put_varint(buf, field << 3);
	put_varint(buf, value);
}

static void put_bytes(struct wtl_buf *buf, unsigned field, const void *bytes, size_t len)
{
	put_varint(buf, field << 3 | 2);
	put_varint(buf, len);
	wtl_buf_add(buf, bytes, len);
}

/* Appends a part to the whole and clears it for the next one. */
static void put_part(struct wtl_buf *buf, unsigned field, struct wtl_buf *part)
{
	put_bytes(buf, field, wtl_buf_str(part), part->len);
	if (part->error && !buf->error)
		buf->error = part->error;
	wtl_buf_clear(part);
}

/* ---- The profile ---- */

struct pprof {
	struct wtl_buf *buf;
	const struct wtl_stacks *stacks;
	struct wtl_buf part, packed, strings;
	uint64_t n_strings;
};

static uint64_t string_of(struct pprof *pprof, const char *text)
{
	put_bytes(&pprof->strings, PROFILE_STRING, text, strlen(text));
	return pprof->n_strings++;
}

static void put_type(struct pprof *pprof, unsigned field, uint64_t type, uint64_t unit)
{
	put_number(&pprof->part, 1, type);
	put_number(&pprof->part, 2, unit);
	put_part(pprof->buf, field, &pprof->part);
}

/* Names a metric "package-0_energy": blanks would have to be quoted in a shell. */
static uint64_t name_of(struct pprof *pprof, const struct wtl_stacks_metric *metric)
{
	char name[sizeof(metric->name)];

	memcpy(name, metric->name, sizeof(name));
	for (char *at = name; *at; at++)
		*at = *at == ' ' ? '_' : *at;
	return string_of(pprof, name);
}

static void put_types(struct pprof *pprof)
{
	for (size_t i = 0; i < pprof->stacks->n_metrics; i++) {
		const struct wtl_stacks_metric *metric = &pprof->stacks->metrics[i];
		uint64_t name;

		if (!wtl_stacks_is_known(pprof->stacks, i))
			continue;
		name = name_of(pprof, metric);
		put_type(pprof, PROFILE_SAMPLE_TYPE, name,
			 string_of(pprof, wtl_stacks_unit_name(metric->unit)));
		if (i == pprof->stacks->main)
			put_number(pprof->buf, PROFILE_DEFAULT_TYPE, name);
	}
}

/* A location is a frame: a function and a line of it. Its number is the frame's + 1. */
static void put_locations(struct pprof *pprof)
{
	const struct wtl_tree *tree = &pprof->stacks->tree;

	for (size_t i = 0; i < tree->n_frames; i++) {
		put_number(&pprof->packed, 1, tree->frames[i].name + UINT64_C(1));
		put_number(&pprof->packed, 2, tree->frames[i].address);
		put_number(&pprof->part, 1, i + 1);
		put_part(&pprof->part, 4, &pprof->packed);
		put_part(pprof->buf, PROFILE_LOCATION, &pprof->part);
	}
	for (size_t i = 0; i < tree->n_names; i++) {
		const struct wtl_stacks_function *function = &pprof->stacks->functions[i];

		put_number(&pprof->part, 1, i + 1);
		/* A system name as well (3) would have pprof cut out what stands in angle brackets: all of "<module>". */
		put_number(&pprof->part, 2, string_of(pprof, function->label));
		put_number(&pprof->part, 4, string_of(pprof, function->file));
		put_number(&pprof->part, 5, function->line);
		put_part(pprof->buf, PROFILE_FUNCTION, &pprof->part);
	}
}

static bool has_costs(const uint64_t *costs, size_t n)
{
	while (n > 0 && !costs[n - 1])
		n--;
	return n > 0;
}

/* Peaks do not add up, so they are labels of stacks, not costs. */
static void put_peak(struct pprof *pprof, uint64_t peak, const uint64_t strings[2])
{
	if (peak == 0)
		return;
	put_number(&pprof->packed, 1, strings[0]);
	put_number(&pprof->packed, 3, peak);
	put_number(&pprof->packed, 4, strings[1]);
	put_part(&pprof->part, 3, &pprof->packed);
}

static void put_samples(struct pprof *pprof)
{
	const struct wtl_stacks *stacks = pprof->stacks;
	const uint64_t strings[2] = {stacks->peaks ? string_of(pprof, "peak_rss") : 0,
				     stacks->peaks ? string_of(pprof, "bytes") : 0};

	for (uint32_t i = 1; i < stacks->tree.n_nodes; i++) {
		const uint64_t *own = &stacks->own[i * stacks->n_metrics];

		if (!has_costs(own, stacks->n_metrics))
			continue;
		for (uint32_t node = i; node; node = stacks->tree.nodes[node].parent)
			put_varint(&pprof->packed, stacks->tree.nodes[node].frame + UINT64_C(1));
		put_part(&pprof->part, 1, &pprof->packed);
		for (size_t k = 0; k < stacks->n_metrics; k++)
			if (wtl_stacks_is_known(stacks, k))
				put_varint(&pprof->packed, own[k]);
		put_part(&pprof->part, 2, &pprof->packed);
		put_peak(pprof, stacks->peaks ? stacks->peaks[i] : 0, strings);
		put_part(pprof->buf, PROFILE_SAMPLE, &pprof->part);
	}
}

static void put_profile(struct pprof *pprof)
{
	const struct wtl_profile *profile = pprof->stacks->profile;
	char comment[96];

	snprintf(comment, sizeof(comment), "wattle " WATTLE_VERSION ": energy %s",
		 wtl_profile_has_energy(profile) ? wtl_profile_kind(profile) : "not known");
	string_of(pprof, "");
	put_types(pprof);
	put_samples(pprof);
	put_locations(pprof);
	put_number(pprof->buf, PROFILE_TIME_NANOS, (uint64_t)profile->window->begin_utc_ns);
	put_number(pprof->buf, PROFILE_DURATION_NANOS, (uint64_t)wtl_profile_span_ns(profile));
	put_type(pprof, PROFILE_PERIOD_TYPE, string_of(pprof, "cpu"),
		 string_of(pprof, "nanoseconds"));
	put_number(pprof->buf, PROFILE_PERIOD, (uint64_t)(WTL_NS_PER_S / profile->hz));
	put_number(pprof->buf, PROFILE_COMMENT, string_of(pprof, comment));
	wtl_buf_add(pprof->buf, wtl_buf_str(&pprof->strings), pprof->strings.len);
	if (pprof->strings.error && !pprof->buf->error)
		pprof->buf->error = pprof->strings.error;
}

/* ---- gzip (RFC 1952, and blocks of RFC 1951 that are stored) ---- */

static uint32_t crc_of(const uint8_t *data, size_t len)
{
	uint32_t table[256], crc = UINT32_MAX;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? UINT32_C(0xedb88320) : 0);
	}
	for (size_t i = 0; i < len; i++)
		crc = crc >> 8 ^ table[(crc ^ data[i]) & 0xff];
	return ~crc;
}

static void put_little(struct wtl_buf *buf, uint32_t value, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		wtl_buf_putc(buf, (char)(value >> 8 * i));
}

static void put_gzip(struct wtl_buf *buf, const struct wtl_buf *plain)
{
	static const char head[10] = {0x1f, (char)0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
	const uint8_t *data = (const uint8_t *)wtl_buf_str(plain);

	wtl_buf_add(buf, head, sizeof(head));
	for (size_t at = 0; at == 0 || at < plain->len; at += STORED_MAX) {
		size_t n = plain->len - at < STORED_MAX ? plain->len - at : STORED_MAX;

		wtl_buf_putc(buf, at + n == plain->len);
		put_little(buf, (uint32_t)n, 2);
		put_little(buf, ~(uint32_t)n, 2);
		wtl_buf_add(buf, data + at, n);
	}
	put_little(buf, crc_of(data, plain->len), 4);
	put_little(buf, (uint32_t)plain->len, 4);
}

static int write_pprof(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	struct wtl_buf plain;
	struct pprof pprof = {.buf = &plain, .stacks = stacks};

	wtl_buf_init(&plain, buf->max);
	wtl_buf_init(&pprof.part, PART_MAX);
	wtl_buf_init(&pprof.packed, PART_MAX);
	wtl_buf_init(&pprof.strings, buf->max);
	put_profile(&pprof);
	put_gzip(buf, &plain);
	if (plain.error && !buf->error)
		buf->error = plain.error;
	wtl_buf_done(&plain);
	wtl_buf_done(&pprof.part);
	wtl_buf_done(&pprof.packed);
	wtl_buf_done(&pprof.strings);
	return buf->error;
}

const struct wtl_profile_format wtl_profile_format_pprof = {
	.name = "pprof", .suffixes = ".pb.gz .pprof", .has_lines = true, .write = write_pprof};
