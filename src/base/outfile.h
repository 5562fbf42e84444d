/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_OUTFILE_H
#define WTL_BASE_OUTFILE_H

#include <stddef.h>

#include "base/io.h"

/*
 * What wtl_io's out_write does on a real machine. Replacing a regular file (or making one) goes
 * through a temporary file beside it; the old file stays whole when anything fails. Devices, pipes
 * and /dev/stdout are written directly. A failed append to a regular file is taken back.
 */
int wtl_outfile_write(const char *path, const void *data, size_t len, enum wtl_out_mode mode);

#endif
