/* SPDX-License-Identifier: MIT */
#include "neural/onnx.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/infile.h"
#include "base/text.h"
#include "neural/onnx_state.h"

enum { LARGE_BYTES = 64 << 20 };

/* ---- The model's own fields ---- */

static int read_model_field(struct wtl_onnx_state *state, const struct wtl_proto_field *field,
			    struct wtl_span *graph)
{
	struct wtl_onnx_model *model = state->model;
	struct wtl_span text;
	int rc;

	switch (field->number) {
	case 1:
		model->ir = (int64_t)field->value;
		return 0;
	case 2:
		rc = wtl_onnx_read_text(&state->bytes, field, &text);
		if (rc == 0)
			wtl_text_clean(model->producer, sizeof(model->producer),
				       (const char *)text.at, text.len);
		return rc;
	case 7:
		return wtl_onnx_read_text(&state->bytes, field, graph);
	case 8:
		rc = wtl_onnx_read_text(&state->bytes, field, &text);
		return rc < 0 ? rc : wtl_onnx_read_opset(&state->bytes, text, &state->opset);
	case 25:
		rc = wtl_onnx_read_text(&state->bytes, field, &text);
		return rc < 0 ? rc : wtl_onnx_function_add(state, text);
	default:
		return 0;
	}
}

/* GraphProto.name. */
static int read_name(struct wtl_onnx_state *state, struct wtl_span graph)
{
	struct wtl_proto proto = wtl_proto_of(graph);
	struct wtl_proto_field field;
	char name[256] = "";
	int rc;

	while ((rc = wtl_onnx_next(&state->bytes, &proto, &field)) > 0)
		if (field.number == 2 && field.wire == WTL_WIRE_BYTES)
			wtl_text_clean(name, sizeof(name), (const char *)field.bytes.at,
				       field.bytes.len);
	if (rc < 0)
		return rc;
	state->model->network.name = strdup(name);
	return state->model->network.name ? 0 : wtl_onnx_no_memory(&state->bytes);
}

static int sum_macs(struct wtl_onnx_state *state)
{
	struct wtl_network *network = &state->model->network;
	const size_t macs = offsetof(struct wtl_layer, macs);
	int rc = wtl_network_sum(network, macs, false, &network->macs_min);

	if (rc == 0)
		rc = wtl_network_sum(network, macs, true, &network->macs_max);
	if (rc == -EOVERFLOW)
		return wtl_onnx_fail(&state->bytes, EOVERFLOW, NULL,
				     "its MACs are more than 64 bits hold");
	return rc < 0 ? wtl_onnx_no_memory(&state->bytes) : 0;
}

static int read_model(struct wtl_onnx_state *state)
{
	struct wtl_proto proto = wtl_proto_of((struct wtl_span){state->bytes.at, state->bytes.len});
	struct wtl_proto_field field;
	struct wtl_span graph = {0};
	int rc;

	while ((rc = wtl_onnx_next(&state->bytes, &proto, &field)) > 0) {
		rc = read_model_field(state, &field, &graph);
		if (rc < 0)
			return rc;
	}
	if (rc < 0)
		return rc;
	if (!graph.at)
		return wtl_onnx_fail(&state->bytes, WTL_EFORMAT, NULL,
				     "this is no ONNX model: it has no graph");
	state->model->opset = state->opset;
	rc = read_name(state, graph);
	if (rc == 0)
		rc = wtl_onnx_walk(state, graph);
	if (rc == 0 && state->asks)
		rc = wtl_onnx_ask(state);
	return rc == 0 ? sum_macs(state) : rc;
}

/* ---- Files ---- */

static int read_bytes(const void *data, size_t len, const char *path, int directory,
		      const struct wtl_onnx_options *options, struct wtl_onnx_model *ret,
		      struct wtl_err *err)
{
	struct wtl_onnx_model model = {0};
	struct wtl_onnx_state state = {
		.bytes = {.at = data,
			  .len = len,
			  .path = path,
			  .arena = {.max = WTL_ONNX_MEMORY_MAX},
			  .err = err},
		.model = &model,
		.options = options,
		.opset = 1,
		.directory = directory,
	};
	int rc = read_model(&state);

	wtl_arena_done(&state.bytes.arena);
	wtl_hash_done(&state.functions_by_name);
	if (rc < 0)
		wtl_onnx_done(&model);
	else
		*ret = model;
	return rc;
}

int wtl_onnx_read_memory(const void *data, size_t len, const struct wtl_onnx_options *options,
			 struct wtl_onnx_model *ret, struct wtl_err *err)
{
	return read_bytes(data, len, "", -1, options, ret, err);
}

/* The folder that a file is in. */
static int open_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder;
	int fd;

	if (!slash)
		return open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	folder = strndup(path, (size_t)(slash - path) + 1);
	if (!folder)
		return -1;
	fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(folder);
	return fd;
}

static int read_file(int fd, const char *path, const struct wtl_onnx_options *options,
		     struct wtl_onnx_model *ret, struct wtl_err *err)
{
	struct stat stat;
	size_t len;
	void *data;
	int rc, directory;

	if (fstat(fd, &stat) < 0)
		return wtl_err_set(err, errno, "", path, "%s", wtl_err_text(errno));
	if (stat.st_size == 0)
		return wtl_err_set(err, WTL_EFORMAT, "", path,
				   "this is no ONNX model: the file is empty");
	len = (size_t)stat.st_size;
	data = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return wtl_err_set(err, errno, "", path, "it cannot be mapped: %s",
				   wtl_err_text(errno));
	/* Reading ahead would load weights that nobody looks at. */
	if (len > LARGE_BYTES)
		(void)madvise(data, len, MADV_RANDOM);
	directory = open_folder(path);
	rc = read_bytes(data, len, path, directory, options, ret, err);
	if (directory >= 0)
		close(directory);
	munmap(data, len);
	return rc;
}

int wtl_onnx_read(const char *path, const struct wtl_onnx_options *options,
		  struct wtl_onnx_model *ret, struct wtl_err *err)
{
	int fd = wtl_infile_open(path), rc;

	if (fd < 0)
		return wtl_err_set(err, fd, "", path, "%s", wtl_err_text(fd));
	rc = read_file(fd, path, options, ret, err);
	close(fd);
	return rc;
}

void wtl_onnx_done(struct wtl_onnx_model *model)
{
	if (!model)
		return;
	wtl_network_done(&model->network);
	*model = (struct wtl_onnx_model){0};
}
