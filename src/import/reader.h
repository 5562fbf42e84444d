/* SPDX-License-Identifier: MIT */
#ifndef WTL_IMPORT_READER_H
#define WTL_IMPORT_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "import/import.h"

struct wtl_buf;

/* A format: a file that reads it, and a row of wtl_import_readers. */
struct wtl_import_reader {
	const char *name;      /* as --from takes it, and the recording's source */
	const char *doc;       /* for the help: what writes it */
	const char *in_folder; /* which file of a folder to read; NULL: a folder cannot be given */
	bool is_whole;	       /* its end need not be that of a line */
	/* Does a text look like one? Sees the first WTL_IMPORT_HEAD bytes. NULL: only --from chooses it. */
	bool (*is)(const char *head, size_t len);
	/* 0, or negative if nothing can be read at all. Parts that are not understood are counted. */
	int (*read)(struct wtl_import *import, const char *text, size_t len, struct wtl_err *err);
};

enum { WTL_IMPORT_HEAD = 4096 };

extern const struct wtl_import_reader wtl_import_nvidia_smi, wtl_import_nvidia_smi_xml,
	wtl_import_dmon, wtl_import_codecarbon, wtl_import_zeus_monitor, wtl_import_zeus,
	wtl_import_aipowermeter, wtl_import_perf, wtl_import_powermetrics, wtl_import_omegawatt,
	wtl_import_wattmeter, wtl_import_scaphandre, wtl_import_prometheus;

/* All, ended by NULL; the more certain a reader's is() is, the earlier it comes. */
extern const struct wtl_import_reader *const wtl_import_readers[];
extern const char *const wtl_import_names[]; /* "auto", and theirs */

/*
 * Reads a file's bytes in any encoding (UTF-8, UTF-16, with a byte order mark or without;
 * anything else byte by byte), with the given reader, or (NULL) with the one that its
 * content asks for. 0; -WTL_EFORMAT: the format is not known, or nothing in it can be read.
 */
int wtl_import_read(struct wtl_import *import, const struct wtl_import_reader *reader,
		    const char *bytes, size_t len, struct wtl_err *err);

#endif
