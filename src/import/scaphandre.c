/* SPDX-License-Identifier: MIT */
/* scaphandre json: reports with powers in microwatts at seconds since 1970, in a list or one after the other. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "import/json.h"
#include "import/reader.h"
#include "import/text.h"

enum { GAIN_PPM = 30000, DRAM_GAIN_PPM = 200000 };

static bool time_of(const json_t *object, int64_t *ret_ns)
{
	uint64_t t_us;

	if (!wtl_json_scaled(json_object_get(object, "timestamp"), 1e6, &t_us) ||
	    t_us > UINT64_C(4000000000000000))
		return false;
	*ret_ns = (int64_t)t_us * 1000;
	return true;
}

static void put(struct wtl_import *import, const struct wtl_import_key *key, const json_t *object,
		int64_t t_ns)
{
	uint64_t power_uw;

	if (wtl_json_scaled(json_object_get(object, "consumption"), 1, &power_uw))
		wtl_import_put(import, wtl_import_series(import, key), t_ns, power_uw);
}

static void take_domains(struct wtl_import *import, const json_t *socket, unsigned number,
			 int64_t t_ns)
{
	static const struct {
		const char *name, *domain;
		enum wattle_kind kind;
		bool is_inside;
	} names[] = {
		{"dram", "dram", WATTLE_KIND_DRAM, false},
		{"core", "core", WATTLE_KIND_CORE, true},
		{"uncore", "uncore", WATTLE_KIND_UNCORE, true},
	};
	const json_t *domains = json_object_get(socket, "domains");

	for (size_t i = 0; i < json_array_size(domains); i++) {
		const json_t *domain = json_array_get(domains, i);
		const char *name = json_string_value(json_object_get(domain, "name"));

		for (size_t k = 0; name && k < sizeof(names) / sizeof(names[0]); k++) {
			char text[WTL_NAME_SIZE], inside[WTL_NAME_SIZE] = "";
			const struct wtl_import_key key = {
				.domain = text,
				.inside = inside,
				.kind = names[k].kind,
				.gain_ppm = names[k].is_inside ? GAIN_PPM : DRAM_GAIN_PPM};

			if (strcmp(name, names[k].name) != 0)
				continue;
			snprintf(text, sizeof(text), "%s-%u", names[k].domain, number);
			if (names[k].is_inside)
				snprintf(inside, sizeof(inside), "package-%u", number);
			put(import, &key, domain, t_ns);
		}
	}
}

/* Sockets are packages. The host's figure is the sum of them and the memory's, so it is not in the total. */
static bool take_report(struct wtl_import *import, const json_t *report)
{
	static const struct wtl_import_key host_key = {
		.domain = "host-0", .kind = WATTLE_KIND_PLATFORM, .gain_ppm = GAIN_PPM};
	const json_t *host = json_object_get(report, "host");
	const json_t *sockets = json_object_get(report, "sockets");
	int64_t t_ns;

	if (!time_of(host, &t_ns))
		return false;
	put(import, &host_key, host, t_ns);
	for (size_t i = 0; i < json_array_size(sockets) && i < 64; i++) {
		const json_t *socket = json_array_get(sockets, i);
		const json_t *id = json_object_get(socket, "id");
		unsigned number =
			json_is_integer(id) ? (unsigned)json_integer_value(id) % 4096 : (unsigned)i;
		char text[WTL_NAME_SIZE];
		const struct wtl_import_key key = {
			.domain = text, .kind = WATTLE_KIND_CPU, .gain_ppm = GAIN_PPM};

		snprintf(text, sizeof(text), "package-%u", number);
		put(import, &key, socket, t_ns);
		take_domains(import, socket, number, t_ns);
	}
	return true;
}

static size_t count_lines(const char *from, const char *to)
{
	size_t n = 0;

	for (; from < to; from++)
		n += *from == '\n';
	return n;
}

/* Reports one after the other, in a list or not. Of a file that was cut off, all whole ones are read. */
static int read_scaphandre(struct wtl_import *import, const char *text, size_t len,
			   struct wtl_err *err)
{
	const char *at = text, *end = text + len, *before = text;
	size_t line = 1; /* of `before` */

	(void)err;
	while (at < end) {
		json_error_t error;
		json_t *value;

		if (memchr(" \t\r\n,[]", *at, 7)) {
			at++;
			continue;
		}
		line += count_lines(before, at);
		before = at;
		value = json_loadb(at, (size_t)(end - at), JSON_DISABLE_EOF_CHECK, &error);
		if (!value) {
			wtl_import_bad(import, line + (size_t)error.line - 1, "%s", error.text);
			break;
		}
		if (!take_report(import, value))
			wtl_import_bad(import, line, "it has no \"host\" with a \"timestamp\"");
		json_decref(value);
		at += error.position;
	}
	return 0;
}

static bool is_scaphandre(const char *head, size_t len)
{
	return len > 0 && (head[0] == '{' || head[0] == '[') &&
	       memmem(head, len, "\"consumption\"", 13) && memmem(head, len, "\"host\"", 6);
}

const struct wtl_import_reader wtl_import_scaphandre = {
	.name = "scaphandre",
	.doc = "scaphandre json",
	.is_whole = true,
	.is = is_scaphandre,
	.read = read_scaphandre,
};
