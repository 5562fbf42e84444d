/* SPDX-License-Identifier: MIT */
/*
 * As much of libcuda.so.1 as wattle calibrate --sensor calls. A kernel's last parameter is how long it runs, in ns; the fake
 * libnvidia-ml.so.1, which the process has loaded already, is told that. WATTLE_FAKE_CUDA=FUNCTION:CODE makes a function fail.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define API __attribute__((visibility("default")))

enum { ERROR_INVALID = 1, ERROR_NO_DEVICE = 100 };

static int64_t busy_until_ns;
static int loaded;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int fails(const char *function)
{
	const char *wanted = getenv("WATTLE_FAKE_CUDA");
	size_t len = strlen(function);

	return wanted && strncmp(wanted, function, len) == 0 && wanted[len] == ':'
		       ? atoi(wanted + len + 1)
		       : 0;
}

#define FAIL_IF_TOLD()                          \
	do {                                    \
		if (fails(__func__))            \
			return fails(__func__); \
	} while (0)

API int cuInit(unsigned flags);
API int cuDeviceGetByPCIBusId(int *device, const char *bus_id);
API int cuDeviceGetAttribute(int *value, int attribute, int device);
API int cuDevicePrimaryCtxRetain(void **context, int device);
API int cuDevicePrimaryCtxRelease_v2(int device);
API int cuCtxSetCurrent(void *context);
API int cuModuleLoadData(void **module, const void *image);
API int cuModuleGetFunction(void **function, void *module, const char *name);
API int cuMemAlloc_v2(unsigned long long *pointer, size_t size);
API int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty,
		       unsigned tz, unsigned shared, void *stream, void **parameters, void **extra);
API int cuCtxSynchronize(void);
API int cuGetErrorString(int code, const char **text);

int cuInit(unsigned flags)
{
	FAIL_IF_TOLD();
	return flags ? ERROR_INVALID : 0;
}

int cuDeviceGetByPCIBusId(int *device, const char *bus_id)
{
	unsigned domain, bus;

	FAIL_IF_TOLD();
	if (sscanf(bus_id, "%x:%x:", &domain, &bus) != 2)
		return ERROR_INVALID;
	*device = 0;
	return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	FAIL_IF_TOLD();
	*value = 108;
	return attribute == 16 && device == 0 ? 0 : ERROR_INVALID;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
	FAIL_IF_TOLD();
	*context = &busy_until_ns;
	return device == 0 ? 0 : ERROR_NO_DEVICE;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	loaded = 0;
	return device == 0 ? 0 : ERROR_NO_DEVICE;
}

int cuCtxSetCurrent(void *context)
{
	return context == &busy_until_ns ? 0 : ERROR_INVALID;
}

int cuModuleLoadData(void **module, const void *image)
{
	FAIL_IF_TOLD();
	*module = &loaded;
	loaded = strncmp(image, ".version ", 9) == 0;
	return loaded ? 0 : ERROR_INVALID;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
	*function = &loaded;
	return module == &loaded && strcmp(name, "wattle_load") == 0 ? 0 : ERROR_INVALID;
}

int cuMemAlloc_v2(unsigned long long *pointer, size_t size)
{
	*pointer = 4096;
	return size > 0 ? 0 : ERROR_INVALID;
}

int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty,
		   unsigned tz, unsigned shared, void *stream, void **parameters, void **extra)
{
	void (*tell)(unsigned gpu, int64_t on_ns, int64_t off_ns) = NULL;
	const char *path = getenv("WATTLE_FAKE_NVML_LIB");
	void *nvml = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	int64_t on_ns = now_ns();

	FAIL_IF_TOLD();
	if (function != &loaded || !loaded || !nvml || x * y * z == 0 || tx * ty * tz == 0 ||
	    tx * ty * tz > 1024 || shared || stream || extra)
		return ERROR_INVALID;
	on_ns = on_ns > busy_until_ns ? on_ns : busy_until_ns;
	busy_until_ns = on_ns + (int64_t) * (const uint64_t *)parameters[1];
	*(void **)(void *)&tell = dlsym(nvml, "fake_nvml_load");
	if (tell)
		tell(0, on_ns, busy_until_ns);
	dlclose(nvml);
	return tell ? 0 : ERROR_INVALID;
}

int cuCtxSynchronize(void)
{
	FAIL_IF_TOLD();
	while (now_ns() < busy_until_ns)
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	return 0;
}

int cuGetErrorString(int code, const char **text)
{
	*text = code == ERROR_NO_DEVICE ? "no CUDA-capable device is detected" : "fake error";
	return 0;
}
