/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "energy/units.h"
#include "import/reader.h"

/*
 * Readers of other tools' files. The first byte chooses one: 'a' the first, and so on; another leaves it to the
 * content. Points of a series have to be in order, and texts clean.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

static int64_t utc_ns(void *context, int64_t t_local_ns, bool is_second)
{
	(void)context;
	return t_local_ns + (is_second ? 3600 * WTL_NS_PER_S : 0);
}

static void check_text(const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	check(len < size);
	for (size_t i = 0; i < len; i++)
		check((unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
}

static void check_series(const struct wtl_import_series *series)
{
	check_text(series->channel.domain, sizeof(series->channel.domain));
	check_text(series->channel.device, sizeof(series->channel.device));
	check_text(series->channel.serial, sizeof(series->channel.serial));
	for (size_t i = 0; i < series->n; i++) {
		check(series->points[i].status <= WATTLE_STATUS_ABSENT);
		check(i == 0 || series->points[i].t_ns > series->points[i - 1].t_ns);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct wtl_import_options options = {
		.utc_ns = utc_ns, .start_ns = INT64_MIN, .end_ns = 1785000000 * WTL_NS_PER_S};
	struct wtl_err err = {.code = 0};
	struct wtl_import import;
	size_t n = 0;

	if (size == 0)
		return 0;
	while (wtl_import_readers[n])
		n++;
	wtl_import_init(&import, &options);
	wtl_import_read(&import,
			data[0] - 'a' < (int)n && data[0] >= 'a' ? wtl_import_readers[data[0] - 'a']
								 : NULL,
			(const char *)data + 1, size - 1, &err);
	for (size_t i = 0; i < import.n_series; i++)
		check_series(&import.series[i]);
	for (size_t i = 0; i < import.n_bad && i < WTL_IMPORT_BAD_KEPT; i++)
		check_text(import.bad[i].text, sizeof(import.bad[i].text));
	for (size_t i = 0; i < import.n_intervals; i++)
		check_text(import.intervals[i].name, sizeof(import.intervals[i].name));
	wtl_import_done(&import);
	return 0;
}
