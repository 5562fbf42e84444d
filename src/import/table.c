/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/config.h"
#include "base/err.h"
#include "import/reader.h"
#include "import/text.h"

const struct wtl_import_reader *const wtl_import_readers[] = {
	&wtl_import_nvidia_smi_xml,
	&wtl_import_powermetrics,
	&wtl_import_codecarbon,
	&wtl_import_zeus_monitor,
	&wtl_import_zeus,
	&wtl_import_omegawatt,
	&wtl_import_perf,
	&wtl_import_nvidia_smi,
	&wtl_import_dmon,
	&wtl_import_prometheus,
	&wtl_import_wattmeter,
#if HAVE_JANSSON
	&wtl_import_aipowermeter,
	&wtl_import_scaphandre,
#endif
	NULL,
};

const char *const wtl_import_names[] = {
	"auto",		"nvidia-smi-xml", "powermetrics", "codecarbon", "zeus-monitor", "zeus",
	"omegawatt",	"perf",		  "nvidia-smi",	  "dmon",	"prometheus",	"wattmeter",
#if HAVE_JANSSON
	"aipowermeter", "scaphandre",
#endif
	NULL,
};

static const struct wtl_import_reader *detect(const char *columns, const char *text, size_t len)
{
	/* "time=NAME,power=NAME" is for wattmeters. */
	if (columns && strchr(columns, '='))
		return &wtl_import_wattmeter;
	for (size_t i = 0; wtl_import_readers[i]; i++)
		if (wtl_import_readers[i]->is &&
		    wtl_import_readers[i]->is(text, len < WTL_IMPORT_HEAD ? len : WTL_IMPORT_HEAD))
			return wtl_import_readers[i];
	return NULL;
}

static size_t count_lines(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	return n;
}

/* Leaves out a last line without an end: it may have been cut anywhere, even within a number. */
static size_t without_torn(struct wtl_import *import, const char *text, size_t len)
{
	const char *newline = memrchr(text, '\n', len);
	size_t whole = newline ? (size_t)(newline + 1 - text) : 0;

	if (whole == len)
		return len;
	wtl_import_bad(import, count_lines(text, whole) + 1,
		       "the last line has no end, so it may be cut off");
	return whole;
}

static int read_text(struct wtl_import *import, const struct wtl_import_reader *reader,
		     const char *text, size_t len, struct wtl_err *err)
{
	int rc;

	if (!reader)
		reader = detect(import->options.columns, text, len);
	if (!reader)
		return wtl_err_set(err, WTL_EFORMAT, "import", NULL,
				   "it is of no known format; --from names the one to try");
	import->source = reader->name;
	if (!reader->is_whole)
		len = without_torn(import, text, len);
	rc = reader->read(import, text, len, err);
	if (rc == 0 && import->n_intervals > 0 && !import->options.keeps_intervals)
		rc = wtl_import_settle(import);
	if (rc == 0)
		rc = import->error;
	if (rc < 0 && err && import->err.code)
		*err = import->err;
	else if (rc < 0 && err && !err->code)
		wtl_err_set(err, rc, "import", NULL, "%s",
			    rc == -E2BIG ? "it has too many series" : wtl_err_text(rc));
	return rc;
}

int wtl_import_read(struct wtl_import *import, const struct wtl_import_reader *reader,
		    const char *bytes, size_t len, struct wtl_err *err)
{
	bool is_plain = len < 3 || ((unsigned char)bytes[0] < 0x80 && bytes[0] && bytes[1]);
	struct wtl_buf decoded;
	int rc;

	if (is_plain)
		return read_text(import, reader, bytes, len, err);
	wtl_buf_init(&decoded, 2 * len + 16);
	rc = wtl_import_decode(&decoded, bytes, len);
	rc = rc < 0 ? wtl_err_set(err, rc, "import", NULL, "%s", wtl_err_text(rc))
		    : read_text(import, reader, wtl_buf_str(&decoded), decoded.len, err);
	wtl_buf_done(&decoded);
	return rc;
}
