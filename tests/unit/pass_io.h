/* SPDX-License-Identifier: MIT */
#ifndef TEST_PASS_IO_H
#define TEST_PASS_IO_H

#include <stddef.h>
#include <stdint.h>

#include "base/io.h"

/*
 * For a wtl_io of a test's own that changes a few calls and hands on the others: a struct that
 * begins with this one puts those below into its table.
 */
struct pass_io {
	struct wtl_io io;
	struct wtl_io *real;
};

int pass_file_open(struct wtl_io *io, const char *path);
ssize_t pass_file_read(struct wtl_io *io, int file, void *buf, size_t size);
void pass_file_close(struct wtl_io *io, int file);
ssize_t pass_link_read(struct wtl_io *io, const char *path, char *buf, size_t size);
int pass_dir_read(struct wtl_io *io, const char *path, struct wtl_buf *names);
int pass_perf_open(struct wtl_io *io, const struct wtl_perf_event *event);
int pass_perf_count(struct wtl_io *io, int file, struct wtl_perf_count *ret_count);
int pass_perf_read(struct wtl_io *io, int file, uint64_t *ret_value);
void pass_perf_close(struct wtl_io *io, int file);
int pass_lib_open(struct wtl_io *io, const char *const names[],
		  const struct wtl_lib_function functions[], size_t n_functions,
		  struct wtl_err *err);
bool pass_lib_has(struct wtl_io *io, int lib, size_t function);
int pass_lib_call(struct wtl_io *io, int lib, size_t function, struct wtl_lib_arg args[],
		  int *ret_answer);
void pass_lib_close(struct wtl_io *io, int lib);
int pass_process_cpu(struct wtl_io *io, const int pids[], int64_t cpu_ns[], size_t n);
int pass_exits_open(struct wtl_io *io);
ssize_t pass_exits_read(struct wtl_io *io, int file, void *buf, size_t size);
void pass_exits_close(struct wtl_io *io, int file);
int pass_file_write(struct wtl_io *io, const char *path, const void *data, size_t len);
int pass_out_write(struct wtl_io *io, const char *path, const void *data, size_t len,
		   enum wtl_out_mode mode);

#endif
