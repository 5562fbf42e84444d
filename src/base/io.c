/* SPDX-License-Identifier: MIT */
#include "base/io.h"

#include <errno.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"

void wtl_io_free(struct wtl_io *io)
{
	if (io)
		io->ops->free(io);
}

int wtl_io_file_open(struct wtl_io *io, const char *path)
{
	return io->ops->file_open(io, path);
}

ssize_t wtl_io_file_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	return io->ops->file_read(io, file, buf, size);
}

void wtl_io_file_close(struct wtl_io *io, int file)
{
	if (file >= 0)
		io->ops->file_close(io, file);
}

ssize_t wtl_io_link_read(struct wtl_io *io, const char *path, char *buf, size_t size)
{
	return io->ops->link_read(io, path, buf, size);
}

int wtl_io_dir_read(struct wtl_io *io, const char *path, struct wtl_buf *names)
{
	return io->ops->dir_read(io, path, names);
}

int wtl_io_process_cpu(struct wtl_io *io, const int pids[], int64_t cpu_ns[], size_t n)
{
	return io->ops->process_cpu(io, pids, cpu_ns, n);
}

int wtl_io_exits_open(struct wtl_io *io)
{
	return io->ops->exits_open(io);
}

ssize_t wtl_io_exits_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	return io->ops->exits_read(io, file, buf, size);
}

void wtl_io_exits_close(struct wtl_io *io, int file)
{
	if (file >= 0)
		io->ops->exits_close(io, file);
}

int wtl_io_file_write(struct wtl_io *io, const char *path, const void *data, size_t len)
{
	return io->ops->file_write(io, path, data, len);
}

int wtl_io_note(struct wtl_io *io, const char *name, char *text, size_t size)
{
	return io->ops->note ? io->ops->note(io, name, text, size) : 1;
}

int64_t wtl_io_mono_ns(struct wtl_io *io)
{
	return io->ops->clock_ns(io, WTL_CLOCK_MONO);
}

int64_t wtl_io_boot_ns(struct wtl_io *io)
{
	return io->ops->clock_ns(io, WTL_CLOCK_BOOT);
}

int64_t wtl_io_real_ns(struct wtl_io *io)
{
	return io->ops->clock_ns(io, WTL_CLOCK_REAL);
}

int wtl_io_out_check(struct wtl_io *io)
{
	return io->ops->out_check ? io->ops->out_check(io) : 0;
}

ssize_t wtl_io_slurp(struct wtl_io *io, const char *path, char *buf, size_t size)
{
	int file;
	ssize_t len;

	if (size == 0)
		return -EINVAL;
	file = wtl_io_file_open(io, path);
	if (file < 0)
		return file;
	len = wtl_io_file_read(io, file, buf, size);
	wtl_io_file_close(io, file);
	if (len == (ssize_t)size)
		return -EFBIG;
	if (len >= 0)
		buf[len] = '\0';
	return len;
}

int wtl_io_read_line(struct wtl_io *io, const char *path, char *buf, size_t size)
{
	char text[4096];
	ssize_t len = wtl_io_slurp(io, path, text, sizeof(text));
	const char *end;

	if (len < 0)
		return (int)len;
	end = memchr(text, '\n', (size_t)len);
	wtl_text_clean(buf, size, text, end ? (size_t)(end - text) : (size_t)len);
	return 0;
}

int wtl_io_read_u64(struct wtl_io *io, const char *path, uint64_t *ret)
{
	char text[64];
	ssize_t len = wtl_io_slurp(io, path, text, sizeof(text));

	if (len == -EFBIG)
		return -EINVAL;
	if (len < 0)
		return (int)len;
	return wtl_num_u64(text, (size_t)len, ret);
}

bool wtl_io_exists(struct wtl_io *io, const char *path)
{
	int file = wtl_io_file_open(io, path);

	wtl_io_file_close(io, file);
	/* What is closed to us is there. */
	return file >= 0 || file == -EACCES || file == -EPERM;
}
