/* SPDX-License-Identifier: MIT */
#include "gpu/library.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "base/text.h"

void wtl_nvml_lib_init(struct wtl_nvml_lib *lib, struct wtl_io *io)
{
	*lib = (struct wtl_nvml_lib){.io = io, .handle = -1};
}

int wtl_nvml_lib_load(struct wtl_nvml_lib *lib, const char *path, struct wtl_err *err)
{
	static const char *const usual[] = {"libnvidia-ml.so.1", "libnvidia-ml.so", NULL};
	const char *const given[] = {path, NULL};
	int rc = wtl_io_lib_open(lib->io, path ? given : usual, wtl_nvml_functions,
				 WTL_NVML_FUNCTIONS, err);

	if (rc < 0)
		return rc;
	lib->handle = rc;
	return 0;
}

/* The library is not there at all. Where the user named a path, that is no such case. */
static bool is_not_installed(int rc, const char *path)
{
	return !path && (rc == -WTL_EABSENT || rc == -ENOENT);
}

const char *wtl_nvml_load_reason(int rc, const char *path)
{
	return is_not_installed(rc, path) ? "libnvidia-ml.so.1 is not installed"
					  : "the NVML library cannot be loaded";
}

const char *wtl_nvml_load_remedy(int rc, const char *path)
{
	if (is_not_installed(rc, path))
		return "install NVIDIA's driver with its libraries (Debian: apt install "
		       "nvidia-driver); a container needs --gpus all";
	return path ? "check the path of the NVML library" : "";
}

int wtl_nvml_lib_start(struct wtl_nvml_lib *lib)
{
	struct wtl_lib_arg args[] = {
		{.memory = lib->driver, .size = sizeof(lib->driver)},
		{.word = sizeof(lib->driver)},
	};
	int code = wtl_nvml_call(lib, WTL_NVML_INIT, NULL);
	uint64_t major;

	if (code != WTL_NVML_OK)
		return code;
	lib->up = true;
	if (lib->driver[0])
		return code;
	if (wtl_nvml_call(lib, WTL_NVML_DRIVER_VERSION, args) != WTL_NVML_OK)
		memset(lib->driver, 0, sizeof(lib->driver));
	lib->driver[sizeof(lib->driver) - 1] = '\0';
	if (wtl_num_u64(lib->driver, strcspn(lib->driver, "."), &major) == 0 && major < 100000)
		lib->driver_major = (int)major;
	return code;
}

void wtl_nvml_lib_stop(struct wtl_nvml_lib *lib)
{
	if (lib->up)
		wtl_nvml_call(lib, WTL_NVML_SHUTDOWN, NULL);
	lib->up = false;
}

void wtl_nvml_lib_close(struct wtl_nvml_lib *lib)
{
	if (!lib->io)
		return;
	wtl_nvml_lib_stop(lib);
	if (lib->handle >= 0)
		wtl_io_lib_close(lib->io, lib->handle);
	lib->handle = -1;
}

int wtl_nvml_call(struct wtl_nvml_lib *lib, enum wtl_nvml_function function,
		  struct wtl_lib_arg args[])
{
	int answer = WTL_NVML_UNKNOWN;
	int rc = wtl_io_lib_call(lib->io, lib->handle, function, args, &answer);

	if (rc == -ENOSYS)
		return WTL_NVML_FUNCTION_NOT_FOUND;
	if (rc < 0)
		return rc;
	return answer < 0 ? WTL_NVML_UNKNOWN : answer;
}

int wtl_nvml_call_first(struct wtl_nvml_lib *lib, const enum wtl_nvml_function functions[],
			size_t n, struct wtl_lib_arg args[])
{
	int code = WTL_NVML_FUNCTION_NOT_FOUND;

	for (size_t i = 0; i < n && code == WTL_NVML_FUNCTION_NOT_FOUND; i++)
		code = wtl_nvml_call(lib, functions[i], args);
	return code;
}

bool wtl_nvml_has(struct wtl_nvml_lib *lib, enum wtl_nvml_function function)
{
	return lib->handle >= 0 && wtl_io_lib_has(lib->io, lib->handle, function);
}

int wtl_nvml_handle_by_text(struct wtl_nvml_lib *lib, enum wtl_nvml_function function,
			    const char *text, uint64_t *ret_handle)
{
	char copy[WTL_NVML_UUID_SIZE] = "";
	uint64_t handle = 0;
	struct wtl_lib_arg args[] = {
		{.memory = copy, .size = sizeof(copy)},
		{.memory = &handle, .size = sizeof(handle)},
	};
	int code;

	wtl_text_copy(copy, sizeof(copy), text);
	code = wtl_nvml_call(lib, function, args);
	if (code != WTL_NVML_OK)
		return code;
	if (!handle)
		return WTL_NVML_GPU_NOT_FOUND;
	*ret_handle = handle;
	return WTL_NVML_OK;
}

int wtl_nvml_device_text(struct wtl_nvml_lib *lib, enum wtl_nvml_function function, uint64_t handle,
			 char *text, size_t size)
{
	char answer[WTL_NVML_UUID_SIZE] = "";
	struct wtl_lib_arg args[] = {
		{.word = handle},
		{.memory = answer, .size = sizeof(answer)},
		{.word = sizeof(answer)},
	};
	int code = wtl_nvml_call(lib, function, args);

	text[0] = '\0';
	if (code == WTL_NVML_OK)
		wtl_text_clean(text, size, answer, strnlen(answer, sizeof(answer)));
	return code;
}
