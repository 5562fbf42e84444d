/* SPDX-License-Identifier: MIT */
/* nvidia-smi --query-gpu --format=csv and -q -x, read by smi/read.c and smi/read_xml.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "energy/units.h"
#include "import/gpu.h"
#include "import/reader.h"
#include "import/text.h"
#include "smi/read.h"

struct reading {
	struct wtl_import *import;
	struct wtl_import_gpus gpus;
	int64_t rounds; /* of records without a time: rounds over all GPUs */
	bool is_timeless, is_timed;
};

/* Rounds without times are an interval apart. */
static int64_t time_of(struct reading *reading, const struct wtl_smi_record *record)
{
	int64_t interval_ns = reading->import->options.interval_ns;

	if (record->has_time)
		return wtl_import_local(reading->import, record->t_local_ns);
	reading->rounds += reading->is_timeless && reading->gpus.newest == 0;
	reading->is_timeless = true;
	return reading->rounds * (interval_ns ? interval_ns : WTL_NS_PER_S);
}

/* A log that seemed to have no times has some. */
static void forget_timeless(struct reading *reading)
{
	wtl_import_gpus_end(reading->import, &reading->gpus);
	wtl_import_bad(reading->import, 0, "what is above the first time in it is left out");
	wtl_import_forget_points(reading->import);
	reading->is_timeless = false;
}

static int take(void *context, const struct wtl_smi_record *record)
{
	struct reading *reading = context;
	struct wtl_import_gpu *gpu;

	if (!record->has_time && reading->is_timed) {
		wtl_import_bad(reading->import, 0,
			       "only a part of it has times: the rest is left out");
		return reading->import->error;
	}
	if (record->has_time && reading->is_timeless)
		forget_timeless(reading);
	if (record->has_time && !reading->is_timed)
		wtl_import_is_sure(reading->import);
	reading->is_timed = record->has_time;
	gpu = wtl_import_gpu_find(&reading->gpus, record->gpu);
	if (gpu)
		wtl_import_gpu_put(reading->import, gpu, record->gpu, time_of(reading, record));
	return reading->import->error;
}

static void tell_leftover(struct reading *reading, const struct wtl_smi_leftover *leftover,
			  bool is_xml)
{
	struct wtl_import *import = reading->import;

	for (size_t i = 0; i < leftover->lines && i < WTL_SMI_LEFT_KEPT; i++) {
		const struct wtl_smi_left *left = &leftover->first[i];

		if (left->column)
			wtl_import_bad(import, left->line, "%s cannot be '%s'", left->column,
				       left->value);
		else
			wtl_import_bad(import, left->line,
				       is_xml ? "there is text that is no part of the XML"
					      : "it has not as many columns as the first line "
						"names");
	}
	if (leftover->lines > WTL_SMI_LEFT_KEPT)
		import->n_bad += leftover->lines - WTL_SMI_LEFT_KEPT;
	if (leftover->columns > 0)
		wtl_import_remark(import, "%zu columns are none of nvidia-smi's that are known",
				  leftover->columns);
	if (!reading->is_timeless)
		return;
	if (!import->options.interval_ns)
		wtl_import_remark(import, "it has no timestamps: taken as one a second; --interval "
					  "says otherwise");
	wtl_import_begin_at_start(import);
}

static int read_by(struct wtl_import *import, const char *text, size_t len, bool is_xml,
		   struct wtl_err *err)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	struct wtl_smi_leftover leftover = {0};
	int rc;

	if (!reading)
		return import->error = -ENOMEM;
	reading->import = import;
	rc = is_xml ? wtl_smi_read_xml(text, len, take, reading, &leftover, err)
		    : wtl_smi_read_csv(text, len, import->options.columns, take, reading, &leftover,
				       err);
	wtl_import_gpus_end(import, &reading->gpus);
	/* What came before the damaged end is good. */
	if (rc == -WTL_EFORMAT && wtl_import_points(import) > 0) {
		wtl_import_bad(import, 0, "%s", err->text);
		*err = (struct wtl_err){.code = 0};
		rc = 0;
	}
	if (rc == 0)
		tell_leftover(reading, &leftover, is_xml);
	free(reading);
	return rc;
}

static int read_csv(struct wtl_import *import, const char *text, size_t len, struct wtl_err *err)
{
	return read_by(import, text, len, false, err);
}

static int read_xml(struct wtl_import *import, const char *text, size_t len, struct wtl_err *err)
{
	return read_by(import, text, len, true, err);
}

/* Has a line one of two titles that nearly every query has, and nvidia-smi's separators? */
static bool is_csv(const char *head, size_t len)
{
	struct wtl_import_lines lines = {.at = head, .end = head + len};
	struct wtl_cell line;

	for (size_t i = 0; i < 8 && wtl_import_line(&lines, &line); i++)
		if ((memmem(line.text, line.len, "power.draw", 10) ||
		     memmem(line.text, line.len, "utilization.gpu", 15)) &&
		    (memmem(line.text, line.len, ", ", 2) || !memchr(line.text, ',', line.len)))
			return true;
	return false;
}

static bool is_xml(const char *head, size_t len)
{
	return memmem(head, len, "<nvidia_smi_log", 15) != NULL;
}

const struct wtl_import_reader wtl_import_nvidia_smi = {
	.name = "nvidia-smi",
	.doc = "nvidia-smi --query-gpu=… --format=csv",
	.is = is_csv,
	.read = read_csv,
};

const struct wtl_import_reader wtl_import_nvidia_smi_xml = {
	.name = "nvidia-smi-xml",
	.doc = "nvidia-smi -q -x",
	.is_whole = true,
	.is = is_xml,
	.read = read_xml,
};
