/* SPDX-License-Identifier: MIT */
#include "serve/push_wire.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* ---- Labels ---- */

enum { LABELS_MAX = 32 };

/* A label; its value as in Prometheus' text, where \\, \" and \n stand for one character, or (not escaped) literal. */
struct label {
	const char *name, *value;
	size_t name_len, value_len;
	bool is_escaped;
};

struct labels {
	struct label list[LABELS_MAX + 1]; /* and the metric's name */
	size_t n;
};

static size_t name_length(const char *text)
{
	size_t n = 0;

	while (isalnum((unsigned char)text[n]) || text[n] == '_' || text[n] == ':')
		n++;
	return n;
}

bool wtl_push_is_label(const char *text)
{
	size_t n = name_length(text);

	return n > 0 && !isdigit((unsigned char)text[0]) && !memchr(text, ':', n) &&
	       strncmp(text, "__", 2) != 0 && text[n] == '=' && text[n + 1];
}

static void add_label(struct labels *labels, const struct label *label)
{
	for (size_t i = 0; i < labels->n; i++)
		if (labels->list[i].name_len == label->name_len &&
		    memcmp(labels->list[i].name, label->name, label->name_len) == 0)
			return;
	/* An empty label is the same as none. */
	if (labels->n < LABELS_MAX && label->value_len > 0)
		labels->list[labels->n++] = *label;
}

static size_t value_length(const char *text)
{
	size_t n = 0;

	while (text[n] && text[n] != '"')
		n += text[n] == '\\' && text[n + 1] ? 2 : 1;
	return n;
}

static int by_name(const void *a, const void *b)
{
	const struct label *left = a, *right = b;
	size_t n = left->name_len < right->name_len ? left->name_len : right->name_len;
	int difference = memcmp(left->name, right->name, n);

	return difference ? difference
			  : (left->name_len > right->name_len) - (left->name_len < right->name_len);
}

/* Reads the labels of a series' name, and the others; not the metric's name. */
static void read_labels(const char *name, const struct wtl_push_labels *others,
			struct labels *labels)
{
	const char *at = name + name_length(name);

	labels->n = 0;
	while (*at == '{' || *at == ',') {
		struct label label = {.name = at + 1, .is_escaped = true};

		label.name_len = name_length(label.name);
		label.value = label.name + label.name_len;
		if (label.value[0] != '=' || label.value[1] != '"')
			break;
		label.value += 2;
		label.value_len = value_length(label.value);
		add_label(labels, &label);
		at = label.value + label.value_len;
		at += *at == '"';
	}
	for (size_t i = 0; others->texts && others->texts[i]; i++) {
		struct label label = {.name = others->texts[i]};

		label.name_len = name_length(label.name);
		label.value = label.name + label.name_len + 1;
		label.value_len = strlen(label.value);
		add_label(labels, &label);
	}
	qsort(labels->list, labels->n, sizeof(labels->list[0]), by_name);
}

/* Reads a character of a value, and returns how many bytes it has there. */
static size_t read_character(const struct label *label, size_t at, char *ret)
{
	*ret = label->value[at];
	if (!label->is_escaped || *ret != '\\' || at + 1 == label->value_len)
		return 1;
	*ret = label->value[at + 1] == 'n' ? '\n' : label->value[at + 1];
	return 2;
}

/* ---- Samples by series ---- */

struct sample {
	int64_t value, t_utc_ms;
};

struct sorted {
	struct sample *samples;
	size_t *ends; /* one a series: where its samples end */
};

static void sorted_done(struct sorted *sorted)
{
	free(sorted->samples);
	free(sorted->ends);
}

/* Sorts samples by series, and by time. */
static int sort(size_t n_series, const struct wtl_push_row rows[], size_t n, struct sorted *sorted)
{
	size_t n_samples = 0, at = 0;

	for (size_t i = 0; i < n; i++)
		n_samples += rows[i].n;
	sorted->samples = malloc((n_samples + 1) * sizeof(*sorted->samples));
	sorted->ends = calloc(n_series + 1, sizeof(*sorted->ends));
	if (!sorted->samples || !sorted->ends)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < rows[i].n; k++)
			sorted->ends[rows[i].samples[k].series]++;
	for (size_t i = 0; i < n_series; i++) {
		size_t count = sorted->ends[i];

		sorted->ends[i] = at;
		at += count;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < rows[i].n; k++)
			sorted->samples[sorted->ends[rows[i].samples[k].series]++] =
				(struct sample){rows[i].samples[k].value, rows[i].t_utc_ms};
	return 0;
}

/* ---- Remote write ---- */

/* Fields of the messages WriteRequest, TimeSeries, Label and Sample, with their wire types. */
enum {
	TIMESERIES = 1 << 3 | 2,
	LABELS = 1 << 3 | 2,
	SAMPLES = 2 << 3 | 2,
	LABEL_NAME = 1 << 3 | 2,
	LABEL_VALUE = 2 << 3 | 2,
	SAMPLE_VALUE = 1 << 3 | 1,
	SAMPLE_TIME = 2 << 3 | 0
};

/* Prometheus' marker of a series that has ended: a special NaN. */
#define STALE UINT64_C(0x7ff0000000000002)

static void put_number(struct wtl_buf *buf, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		wtl_buf_putc(buf, (char)(number | 0x80));
	wtl_buf_putc(buf, (char)number);
}

static size_t number_length(uint64_t number)
{
	size_t n = 1;

	for (; number >= 0x80; number >>= 7)
		n++;
	return n;
}

static void put_bytes(struct wtl_buf *buf, int field, const char *bytes, size_t len)
{
	wtl_buf_putc(buf, (char)field);
	put_number(buf, len);
	wtl_buf_add(buf, bytes, len);
}

static void put_label(struct wtl_buf *buf, const struct label *label)
{
	size_t len = 0;
	char c;

	for (size_t i = 0; i < label->value_len; len++)
		i += read_character(label, i, &c);
	wtl_buf_putc(buf, LABELS);
	put_number(buf,
		   2 + number_length(label->name_len) + label->name_len + number_length(len) + len);
	put_bytes(buf, LABEL_NAME, label->name, label->name_len);
	wtl_buf_putc(buf, LABEL_VALUE);
	put_number(buf, len);
	for (size_t i = 0; i < label->value_len;) {
		i += read_character(label, i, &c);
		wtl_buf_putc(buf, c);
	}
}

/* Sorts the labels by name, as required. */
static int make_labels(struct wtl_push_series *series, const struct wtl_push_labels *others)
{
	struct label name = {.name = "__name__", .name_len = 8, .value = series->name};
	struct labels labels;
	struct wtl_buf buf;

	if (series->labels)
		return 0;
	name.value_len = name_length(series->name);
	read_labels(series->name, others, &labels);
	labels.list[labels.n++] = name;
	qsort(labels.list, labels.n, sizeof(labels.list[0]), by_name);
	wtl_buf_init(&buf, 1 << 16);
	for (size_t i = 0; i < labels.n; i++)
		put_label(&buf, &labels.list[i]);
	series->labels = buf.data;
	series->labels_len = buf.len;
	return buf.error ? -ENOMEM : 0;
}

static void put_sample(struct wtl_buf *buf, const struct wtl_push_series *series,
		       const struct sample *sample)
{
	double value = wtl_push_value(series, sample->value);
	uint64_t bits;
	char bytes[8];

	memcpy(&bits, &value, sizeof(bits));
	if (sample->value == WTL_PUSH_ENDED)
		bits = STALE;
	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (char)(bits >> 8 * i);
	wtl_buf_putc(buf, SAMPLES);
	put_number(buf, 10 + number_length((uint64_t)sample->t_utc_ms));
	wtl_buf_putc(buf, SAMPLE_VALUE);
	wtl_buf_add(buf, bytes, sizeof(bytes));
	wtl_buf_putc(buf, SAMPLE_TIME);
	put_number(buf, (uint64_t)sample->t_utc_ms);
}

static void put_series(struct wtl_buf *buf, const struct wtl_push_series *series,
		       const struct sample samples[], size_t n)
{
	size_t len = series->labels_len;

	for (size_t i = 0; i < n; i++)
		len += 12 + number_length((uint64_t)samples[i].t_utc_ms);
	wtl_buf_putc(buf, TIMESERIES);
	put_number(buf, len);
	wtl_buf_add(buf, series->labels, series->labels_len);
	for (size_t i = 0; i < n; i++)
		put_sample(buf, series, &samples[i]);
}

typedef int put_fn(struct wtl_push_series *series, const struct sample samples[], size_t n,
		   const struct wtl_push_labels *labels, struct wtl_buf *buf);

static int put_all(struct wtl_push_table *table, const struct wtl_push_row rows[], size_t n,
		   const struct wtl_push_labels *labels, struct wtl_buf *buf, put_fn *put)
{
	struct sorted sorted = {.samples = NULL};
	int rc = sort(table->n, rows, n, &sorted);
	size_t begin = 0;

	for (size_t i = 0; rc == 0 && i < table->n; begin = sorted.ends[i++])
		if (sorted.ends[i] > begin)
			rc = put(&table->series[i], sorted.samples + begin, sorted.ends[i] - begin,
				 labels, buf);
	sorted_done(&sorted);
	return rc < 0 ? rc : buf->error;
}

static int put_remote(struct wtl_push_series *series, const struct sample samples[], size_t n,
		      const struct wtl_push_labels *labels, struct wtl_buf *buf)
{
	int rc = make_labels(series, labels);

	if (rc == 0)
		put_series(buf, series, samples, n);
	return rc;
}

int wtl_push_remote_write(struct wtl_push_table *table, const struct wtl_push_row rows[], size_t n,
			  const struct wtl_push_labels *labels, struct wtl_buf *buf)
{
	return put_all(table, rows, n, labels, buf, put_remote);
}

/* ---- InfluxDB ---- */

static void put_tag(struct wtl_buf *buf, const struct label *label)
{
	wtl_buf_putc(buf, ',');
	wtl_buf_add(buf, label->name, label->name_len);
	wtl_buf_putc(buf, '=');
	for (size_t i = 0; i < label->value_len;) {
		char c;

		i += read_character(label, i, &c);
		/* A backslash at the end would escape what follows. */
		if (c == '\\')
			c = '/';
		if (c == ',' || c == ' ' || c == '=')
			wtl_buf_putc(buf, '\\');
		wtl_buf_putc(buf, c == '\n' ? ' ' : c);
	}
}

/* An ended series has no value there. */
static int put_lines(struct wtl_push_series *series, const struct sample samples[], size_t n,
		     const struct wtl_push_labels *others, struct wtl_buf *buf)
{
	struct labels labels;
	struct wtl_buf name;

	read_labels(series->name, others, &labels);
	wtl_buf_init(&name, 1 << 16);
	wtl_buf_add(&name, series->name, name_length(series->name));
	for (size_t i = 0; i < labels.n; i++)
		put_tag(&name, &labels.list[i]);
	for (size_t i = 0; i < n; i++)
		if (samples[i].value != WTL_PUSH_ENDED)
			wtl_buf_printf(buf, "%s value=%.17g %" PRId64 "\n", wtl_buf_str(&name),
				       wtl_push_value(series, samples[i].value),
				       samples[i].t_utc_ms);
	n = (size_t)(name.error != 0);
	wtl_buf_done(&name);
	return n ? -ENOMEM : 0;
}

int wtl_push_influx(struct wtl_push_table *table, const struct wtl_push_row rows[], size_t n,
		    const struct wtl_push_labels *labels, struct wtl_buf *buf)
{
	return put_all(table, rows, n, labels, buf, put_lines);
}
