/* SPDX-License-Identifier: MIT */
/*
 * powermetrics -f plist (macOS): a property list for each sample, with NULs between them. "processor"
 * has the use in a sample's elapsed time: millijoules, or milliwatts, or joules of an Intel package.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/date.h"
#include "base/err.h"
#include "energy/units.h"
#include "import/reader.h"
#include "import/text.h"

#if HAVE_EXPAT
#include <expat.h>

enum { DEPTH_MAX = 16, KEY_SIZE = 48, GAIN_PPM = 250000 };

/* Timestamps are whole seconds: a larger difference means that samples are missing. */
#define APART_NS (3 * WTL_NS_PER_S)

static const struct part {
	const char *domain, *energy, *power;
	double energy_scale; /* to µJ */
	enum wattle_kind kind;
} parts[] = {
	{"package-0", "cpu_energy", "cpu_power", 1e3, WATTLE_KIND_CPU},
	{"package-0", "package_joules", "package_watts", 1e6, WATTLE_KIND_CPU},
	{"gpu-0", "gpu_energy", "gpu_power", 1e3, WATTLE_KIND_GPU},
	{"soc-0", "ane_energy", "ane_power", 1e3, WATTLE_KIND_SOC},
};

enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

struct plist {
	struct wtl_import *import;
	XML_Parser parser;
	char keys[DEPTH_MAX][KEY_SIZE]; /* the newest key of each open dictionary */
	size_t depth;
	char text[256];
	size_t text_len;
	bool is_key, is_damaged;
	/* Of this sample. */
	int64_t stamp_ns, elapsed_ns;
	double energies[PARTS], powers[PARTS]; /* below 0: missing */
	/* Of the samples before. */
	int64_t t_ns;
	uint64_t counters[PARTS];
	bool has_before;
};

static void begin_element(void *data, const char *name, const char *attributes[])
{
	struct plist *plist = data;

	(void)attributes;
	plist->text_len = 0;
	plist->is_key = strcmp(name, "key") == 0;
	if (strcmp(name, "dict") == 0 || strcmp(name, "array") == 0) {
		if (plist->depth == DEPTH_MAX) {
			plist->is_damaged = true;
			XML_StopParser(plist->parser, XML_FALSE);
			return;
		}
		plist->keys[plist->depth++][0] = '\0';
	}
}

static void take_text(void *data, const char *text, int len)
{
	struct plist *plist = data;
	size_t room = sizeof(plist->text) - plist->text_len;
	size_t n = (size_t)len < room ? (size_t)len : room;

	memcpy(plist->text + plist->text_len, text, n);
	plist->text_len += n;
}

static void take_processor(struct plist *plist, const char *key, struct wtl_cell value)
{
	double number;

	if (!wtl_cell_double(value, &number) || !(number >= 0 && number < 1e12))
		return;
	for (size_t i = 0; i < PARTS; i++) {
		if (strcmp(key, parts[i].energy) == 0)
			plist->energies[i] = number;
		if (strcmp(key, parts[i].power) == 0)
			plist->powers[i] = number;
	}
}

static void take_value(struct plist *plist, struct wtl_cell value)
{
	const char *first = plist->keys[0];
	uint64_t elapsed_ns;

	if (plist->depth == 1 && strcmp(first, "timestamp") == 0)
		wtl_date_parse_utc(value.text, value.len, &plist->stamp_ns);
	else if (plist->depth == 1 && strcmp(first, "elapsed_ns") == 0 &&
		 wtl_cell_scaled(value, 1, &elapsed_ns))
		plist->elapsed_ns = (int64_t)elapsed_ns;
	else if (plist->depth == 2 && strcmp(first, "processor") == 0)
		take_processor(plist, plist->keys[1], value);
}

static void end_element(void *data, const char *name)
{
	struct plist *plist = data;
	struct wtl_cell value = {plist->text, plist->text_len};

	if (strcmp(name, "dict") == 0 || strcmp(name, "array") == 0)
		plist->depth -= plist->depth > 0;
	else if (plist->depth > 0 && plist->is_key)
		wtl_cell_copy(value, plist->keys[plist->depth - 1], KEY_SIZE);
	else if (plist->depth > 0)
		take_value(plist, value);
	plist->is_key = false;
	plist->text_len = 0;
}

static void refuse_entity(void *data, const char *name, int is_parameter, const char *value,
			  int value_len, const char *base, const char *system, const char *public,
			  const char *notation)
{
	struct plist *plist = data;

	(void)name;
	(void)is_parameter;
	(void)value;
	(void)value_len;
	(void)base;
	(void)system;
	(void)public;
	(void)notation;
	plist->is_damaged = true;
	XML_StopParser(plist->parser, XML_FALSE);
}

/* µJ of a part in the sample; UINT64_MAX: not known. */
static uint64_t used_by(const struct plist *plist, size_t i)
{
	double used = plist->energies[i] * parts[i].energy_scale;

	if (plist->energies[i] < 0)
		used = plist->powers[i] * parts[i].energy_scale * (double)plist->elapsed_ns / 1e9;
	return used >= 0 && used < 1e15 ? (uint64_t)(used + 0.5) : UINT64_MAX;
}

/* Elapsed times are exact, timestamps are not. */
static const char *put_sample(struct plist *plist)
{
	int64_t begin_ns, end_ns;
	bool goes_on;

	if (plist->stamp_ns == INT64_MIN || plist->elapsed_ns <= 0 ||
	    plist->elapsed_ns > 86400 * WTL_NS_PER_S)
		return "a sample has no timestamp or elapsed_ns";
	if (plist->stamp_ns < plist->elapsed_ns)
		return "a sample's timestamp is none";
	begin_ns = plist->t_ns;
	end_ns = begin_ns + plist->elapsed_ns;
	goes_on = plist->has_before && llabs(end_ns - plist->stamp_ns) < APART_NS;
	if (!goes_on) {
		end_ns = plist->stamp_ns;
		begin_ns = end_ns - plist->elapsed_ns;
	}
	for (size_t i = 0; i < PARTS; i++) {
		const struct wtl_import_key key = {.what = WTL_IMPORT_ENERGY_UJ,
						   .domain = parts[i].domain,
						   .kind = parts[i].kind,
						   .gain_ppm = GAIN_PPM};
		uint64_t used = used_by(plist, i);
		size_t series;

		if (used == UINT64_MAX)
			continue;
		series = wtl_import_series(plist->import, &key);
		if (!goes_on)
			wtl_import_restart(plist->import, series, begin_ns, plist->counters[i]);
		plist->counters[i] += used;
		wtl_import_put(plist->import, series, end_ns, plist->counters[i]);
	}
	plist->t_ns = end_ns;
	plist->has_before = true;
	return NULL;
}

static const char *read_sample(struct plist *plist, const char *text, size_t len)
{
	enum XML_Status status;

	plist->parser = XML_ParserCreate(NULL);
	if (!plist->parser)
		return "XML needs libexpat.so.1, which is not there, or memory";
	plist->depth = plist->text_len = 0;
	plist->is_key = plist->is_damaged = false;
	plist->stamp_ns = INT64_MIN;
	plist->elapsed_ns = 0;
	for (size_t i = 0; i < PARTS; i++)
		plist->energies[i] = plist->powers[i] = -1;
	XML_SetUserData(plist->parser, plist);
	XML_SetElementHandler(plist->parser, begin_element, end_element);
	XML_SetCharacterDataHandler(plist->parser, take_text);
	XML_SetEntityDeclHandler(plist->parser, refuse_entity);
	status = XML_Parse(plist->parser, text, (int)len, XML_TRUE);
	XML_ParserFree(plist->parser);
	if (status != XML_STATUS_OK || plist->is_damaged)
		return "a sample's XML is damaged, or cut off";
	return put_sample(plist);
}

static size_t count_lines(const char *at, const char *end)
{
	size_t n = 0;

	for (; at < end; at++)
		n += *at == '\n';
	return n;
}

static int read_powermetrics(struct wtl_import *import, const char *text, size_t len,
			     struct wtl_err *err)
{
	struct plist *plist = calloc(1, sizeof(*plist));
	const char *at = text, *end = text + len;
	size_t line = 1;

	(void)err;
	if (!plist)
		return import->error = -ENOMEM;
	plist->import = import;
	while ((at = memmem(at, (size_t)(end - at), "<?xml", 5))) {
		const char *next = memmem(at + 5, (size_t)(end - at - 5), "<?xml", 5);
		const char *stop = next ? next : end, *why = NULL;

		line += count_lines(text, at);
		text = at;
		while (stop > at && stop[-1] == '\0')
			stop--;
		why = stop - at < INT_MAX ? read_sample(plist, at, (size_t)(stop - at))
					  : "it is too long";
		if (why)
			wtl_import_bad(import, line, "%s", why);
		at = next ? next : end;
	}
	free(plist);
	return 0;
}

#else

static int read_powermetrics(struct wtl_import *import, const char *text, size_t len,
			     struct wtl_err *err)
{
	(void)import;
	(void)text;
	(void)len;
	return wtl_err_set(err, EOPNOTSUPP, "import", NULL,
			   "this wattle was built without XML (expat)");
}

#endif

static bool is_powermetrics(const char *head, size_t len)
{
	return memmem(head, len, "<plist", 6) && memmem(head, len, "elapsed_ns", 10);
}

const struct wtl_import_reader wtl_import_powermetrics = {
	.name = "powermetrics",
	.doc = "powermetrics -f plist (macOS)",
	.is_whole = true,
	.is = is_powermetrics,
	.read = read_powermetrics,
};
