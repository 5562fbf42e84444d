/* SPDX-License-Identifier: MIT */
/* Energy and power over time, for databases and timelines. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "commands/export/form.h"
#include "document/format.h"
#include "energy/units.h"

static int64_t time_of(const struct wtl_node *row)
{
	const struct wtl_node *node = wtl_node_get(row, "t_utc");

	return node && node->kind == WTL_NODE_UTC ? node->t_utc_ns : 0;
}

static void put_number(struct wtl_buf *buf, const struct wtl_node *node)
{
	if (node->is_negative)
		wtl_buf_putc(buf, '-');
	wtl_format_fixed(buf, node->number, node->decimals);
}

/* ---- InfluxDB's line protocol ---- */

/* Blanks, commas and equals signs of a tag are escaped by a backslash. */
static void put_tag(struct wtl_buf *buf, const char *name, const char *text)
{
	if (!text[0])
		return;
	wtl_buf_printf(buf, ",%s=", name);
	for (; *text; text++) {
		if (*text == ' ' || *text == ',' || *text == '=' || *text == '\\')
			wtl_buf_putc(buf, '\\');
		wtl_buf_putc(buf, (unsigned char)*text < ' ' ? '_' : *text);
	}
}

static void put_influx(struct wtl_export *export, const struct wtl_node *row)
{
	static const char *const fields[] = {"energy_j", "power_w", "gap_s", "value"};
	bool is_device = wtl_node_get(row, "quantity") != NULL;
	struct wtl_buf *buf = &export->buf;
	const char *separator = " ";

	/* A line must have a field. */
	if (!is_device && !wtl_node_get(row, "energy_j"))
		return;
	wtl_buf_puts(buf, is_device ? "wattle_device" : "wattle_energy");
	put_tag(buf, "domain", wtl_export_text(row, "domain"));
	put_tag(buf, "device", wtl_export_text(row, "device"));
	put_tag(buf, "quantity", wtl_export_text(row, "quantity"));
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const struct wtl_node *field = wtl_node_get(row, fields[i]);

		if (!field || field->kind != WTL_NODE_NUMBER)
			continue;
		wtl_buf_printf(buf, "%s%s=", separator, fields[i]);
		put_number(buf, field);
		separator = ",";
	}
	wtl_buf_printf(buf, " %" PRId64 "\n", time_of(row));
}

/* ---- OpenMetrics with times: promtool tsdb create-blocks-from openmetrics ---- */

static void begin_prometheus(struct wtl_export *export)
{
	wtl_buf_puts(&export->buf,
		     "# HELP wattle_domain_energy_joules Energy since the recording began.\n"
		     "# TYPE wattle_domain_energy_joules counter\n"
		     "# UNIT wattle_domain_energy_joules joules\n");
}

/* A label's value: quotes, backslashes and newlines are escaped. */
static void put_label(struct wtl_buf *buf, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			wtl_buf_putc(buf, '\\');
		if (*text == '\n')
			wtl_buf_puts(buf, "\\n");
		else
			wtl_buf_putc(buf, *text);
	}
}

static void put_prometheus(struct wtl_export *export, const struct wtl_node *row)
{
	const struct wtl_node *energy = wtl_node_get(row, "energy_j");
	int64_t t_ns = time_of(row);

	if (!energy || t_ns <= 0)
		return;
	wtl_buf_puts(&export->buf, "wattle_domain_energy_joules_total{domain=\"");
	put_label(&export->buf, wtl_export_text(row, "domain"));
	wtl_buf_puts(&export->buf, "\"} ");
	put_number(&export->buf, energy);
	wtl_buf_printf(&export->buf, " %" PRId64 ".%03d\n", t_ns / WTL_NS_PER_S,
		       (int)(t_ns % WTL_NS_PER_S / WTL_NS_PER_MS));
}

static void end_prometheus(struct wtl_export *export)
{
	wtl_buf_puts(&export->buf, "# EOF\n");
}

/* ---- Chrome's trace events, which Perfetto opens ---- */

static void begin_perfetto(struct wtl_export *export)
{
	wtl_buf_puts(&export->buf, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
				   "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":"
				   "{\"name\":\"wattle\"}}");
}

/* Microseconds with three decimals. */
static void put_us(struct wtl_buf *buf, const char *key, int64_t ns)
{
	wtl_buf_printf(buf, ",\"%s\":%" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

/* A window is a slice on the track of its own name, with its energy as an argument. */
static void put_slice(struct wtl_export *export, const struct wtl_node *row)
{
	const struct wtl_node *begin = wtl_node_get(row, "begin_utc");
	const struct wtl_node *duration = wtl_node_get(row, "duration_s");
	const struct wtl_node *energy = wtl_node_get(row, "energy_j");

	if (strcmp(wtl_export_text(row, "domain"), "total") != 0 || !begin || !duration)
		return;
	wtl_buf_puts(&export->buf, ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":");
	wtl_json_text(&export->buf, wtl_export_text(row, "name"));
	put_us(&export->buf, "ts", begin->t_utc_ns);
	put_us(&export->buf, "dur", (int64_t)duration->number);
	wtl_buf_puts(&export->buf, ",\"args\":{");
	if (energy) {
		wtl_buf_puts(&export->buf, "\"energy_j\":");
		put_number(&export->buf, energy);
	}
	wtl_buf_puts(&export->buf, "}}");
}

static void put_perfetto(struct wtl_export *export, const struct wtl_node *row)
{
	const struct wtl_node *value = wtl_node_get(row, "power_w");
	const char *quantity = wtl_export_text(row, "quantity");
	struct wtl_buf *buf = &export->buf;
	char name[96];

	if (wtl_node_get(row, "duration_s")) {
		put_slice(export, row);
		return;
	}
	if (quantity[0])
		value = wtl_node_get(row, "value");
	if (!value || value->kind != WTL_NODE_NUMBER)
		return;
	snprintf(name, sizeof(name), "%s %s",
		 wtl_export_text(row, quantity[0] ? "device" : "domain"),
		 quantity[0] ? quantity : "power_w");
	wtl_buf_puts(buf, ",\n{\"ph\":\"C\",\"pid\":1,\"name\":");
	wtl_json_text(buf, name);
	put_us(buf, "ts", time_of(row));
	wtl_buf_puts(buf, ",\"args\":{\"value\":");
	put_number(buf, value);
	wtl_buf_puts(buf, "}}");
}

static void end_perfetto(struct wtl_export *export)
{
	wtl_buf_puts(&export->buf, "\n]}\n");
}

const struct wtl_export_form wtl_export_influx = {
	.name = "influx",
	.tables = {&wtl_export_power, &wtl_export_devices, NULL},
	.row = put_influx,
};

const struct wtl_export_form wtl_export_prometheus = {
	.name = "prometheus",
	.tables = {&wtl_export_power, NULL},
	.begin = begin_prometheus,
	.row = put_prometheus,
	.end = end_prometheus,
};

const struct wtl_export_form wtl_export_perfetto = {
	.name = "perfetto",
	.tables = {&wtl_export_power, &wtl_export_windows, &wtl_export_devices, NULL},
	.begin = begin_perfetto,
	.row = put_perfetto,
	.end = end_perfetto,
};
