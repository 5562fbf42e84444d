/* SPDX-License-Identifier: MIT */
#include "base/held.h"

#include <errno.h>
#include <string.h>

#include "base/io.h"
#include "base/num.h"

enum { NUMBER_SIZE = 64 };

static void held_fail(struct wtl_held_file *held, int error)
{
	bool is_first = held->error == 0;

	wtl_io_file_close(held->io, held->file);
	held->file = -1;
	held->error = error;
	held->retry_ns = is_first ? INT64_MIN : wtl_io_mono_ns(held->io) + WTL_REPROBE_NS;
}

int wtl_held_file_open(struct wtl_held_file *held, struct wtl_io *io, const char *path)
{
	size_t len = strlen(path);
	int file;

	*held = (struct wtl_held_file){.io = io, .file = -1};
	if (len >= sizeof(held->path)) {
		/* An empty path never opens: what is cut off could name something else. */
		held_fail(held, -ENAMETOOLONG);
		return -ENAMETOOLONG;
	}
	memcpy(held->path, path, len + 1);
	file = wtl_io_file_open(io, held->path);
	if (file < 0) {
		held_fail(held, file);
		return file;
	}
	held->file = file;
	return 0;
}

void wtl_held_file_close(struct wtl_held_file *held)
{
	if (!held || !held->io)
		return;
	wtl_io_file_close(held->io, held->file);
	held->file = -1;
	held->io = NULL;
}

void wtl_held_file_if_there(struct wtl_held_file *held, struct wtl_io *io, const char *path)
{
	if (wtl_held_file_open(held, io, path) < 0)
		wtl_held_file_close(held);
}

ssize_t wtl_held_file_text(struct wtl_held_file *held, char *text, size_t size)
{
	ssize_t len;

	if (!held->io)
		return -EBADF;
	if (held->file < 0) {
		int file;

		if (wtl_io_mono_ns(held->io) < held->retry_ns || !held->path[0])
			return held->error;
		file = wtl_io_file_open(held->io, held->path);
		if (file < 0) {
			held_fail(held, file);
			return file;
		}
		held->file = file;
	}
	len = wtl_io_file_read(held->io, held->file, text, size);
	if (len < 0)
		held_fail(held, (int)len);
	return len;
}

static ssize_t number_text(struct wtl_held_file *held, char text[NUMBER_SIZE])
{
	ssize_t len = wtl_held_file_text(held, text, NUMBER_SIZE);

	if (len < NUMBER_SIZE)
		return len;
	held_fail(held, -EFBIG);
	return -EFBIG;
}

static int number_parsed(struct wtl_held_file *held, int rc)
{
	if (rc < 0)
		held_fail(held, rc);
	else
		held->error = 0;
	return rc;
}

int wtl_held_file_u64(struct wtl_held_file *held, uint64_t *ret)
{
	char text[NUMBER_SIZE];
	ssize_t len = number_text(held, text);

	return len < 0 ? (int)len : number_parsed(held, wtl_num_u64(text, (size_t)len, ret));
}

int wtl_held_file_i64(struct wtl_held_file *held, int64_t *ret)
{
	char text[NUMBER_SIZE];
	ssize_t len = number_text(held, text);

	return len < 0 ? (int)len : number_parsed(held, wtl_num_i64(text, (size_t)len, ret));
}
