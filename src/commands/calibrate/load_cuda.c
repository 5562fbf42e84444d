/* SPDX-License-Identifier: MIT */
/* A kernel that multiplies and adds on all of a GPU for as long as it is told: by the driver's own library, without CUDA's tools. */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/symbol.h"
#include "base/thread.h"
#include "commands/calibrate/load.h"
#include "energy/units.h"

#define LIBRARY "libcuda.so.1"

enum { BLOCKS_PER_MULTIPROCESSOR = 8, THREADS = 256, MULTIPROCESSOR_COUNT = 16 /* an attribute */ };

/*
 * Every GPU since Kepler takes it: the driver compiles it. It goes by the GPU's own clock, so that it ends when it should
 * on any of them. The store keeps the arithmetic from being dropped; it never happens.
 */
#define FMA4                                 \
	"\tfma.rn.f32 %f1, %f1, %f5, %f6;\n" \
	"\tfma.rn.f32 %f2, %f2, %f5, %f6;\n" \
	"\tfma.rn.f32 %f3, %f3, %f5, %f6;\n" \
	"\tfma.rn.f32 %f4, %f4, %f5, %f6;\n"
#define FMA16 FMA4 FMA4 FMA4 FMA4

static const char ptx[] = ".version 4.2\n"
			  ".target sm_30\n"
			  ".address_size 64\n"
			  ".visible .entry wattle_load(.param .u64 out, .param .u64 for_ns)\n"
			  "{\n"
			  "\t.reg .pred %p<4>;\n"
			  "\t.reg .f32 %f<8>;\n"
			  "\t.reg .b32 %r<4>;\n"
			  "\t.reg .b64 %rd<6>;\n"
			  "\tld.param.u64 %rd1, [out];\n"
			  "\tld.param.u64 %rd2, [for_ns];\n"
			  "\tmov.u64 %rd3, %globaltimer;\n"
			  "\tmov.u32 %r1, %tid.x;\n"
			  "\tcvt.rn.f32.u32 %f1, %r1;\n"
			  "\tadd.f32 %f2, %f1, 0f3F000000;\n"
			  "\tadd.f32 %f3, %f1, 0f3F800000;\n"
			  "\tadd.f32 %f4, %f1, 0f40000000;\n"
			  "\tmov.f32 %f5, 0f3F7FFFFE;\n"
			  "\tmov.f32 %f6, 0f3A83126F;\n"
			  "AGAIN:\n"
			  "\tmov.u32 %r2, 0;\n"
			  "MORE:\n" FMA16 FMA16 FMA16 FMA16 "\tadd.u32 %r2, %r2, 1;\n"
			  "\tsetp.lt.u32 %p1, %r2, 64;\n"
			  "\t@%p1 bra MORE;\n"
			  "\tmov.u64 %rd4, %globaltimer;\n"
			  "\tsub.u64 %rd5, %rd4, %rd3;\n"
			  "\tsetp.lt.u64 %p2, %rd5, %rd2;\n"
			  "\t@%p2 bra AGAIN;\n"
			  "\tadd.f32 %f1, %f1, %f2;\n"
			  "\tadd.f32 %f3, %f3, %f4;\n"
			  "\tadd.f32 %f1, %f1, %f3;\n"
			  "\tsetp.neu.f32 %p3, %f1, 0fC47A0000;\n"
			  "\t@%p3 bra DONE;\n"
			  "\tst.global.f32 [%rd1], %f1;\n"
			  "DONE:\n"
			  "\tret;\n"
			  "}\n";

/* The functions of libcuda.so.1 that are called, with the types of its documentation. */
struct library {
	int (*cuInit)(unsigned flags);
	int (*cuDeviceGetByPCIBusId)(int *device, const char *bus_id);
	int (*cuDeviceGetAttribute)(int *value, int attribute, int device);
	int (*cuDevicePrimaryCtxRetain)(void **context, int device);
	int (*cuDevicePrimaryCtxRelease_v2)(int device);
	int (*cuCtxSetCurrent)(void *context);
	int (*cuModuleLoadData)(void **module, const void *image);
	int (*cuModuleGetFunction)(void **function, void *module, const char *name);
	int (*cuMemAlloc_v2)(unsigned long long *pointer, size_t size);
	int (*cuLaunchKernel)(void *function, unsigned x, unsigned y, unsigned z, unsigned tx,
			      unsigned ty, unsigned tz, unsigned shared, void *stream,
			      void **parameters, void **extra);
	int (*cuCtxSynchronize)(void);
	int (*cuGetErrorString)(int code, const char **text);
};

struct cuda_load {
	struct wtl_gpu_load load;
	struct library cuda;
	int device, multiprocessors;
	bool has_context;
	void *function;
	unsigned long long out;
	int64_t until_ns;
};

static struct cuda_load *own(struct wtl_gpu_load *load)
{
	return (struct cuda_load *)(void *)load;
}

static int load_library(struct library *cuda, const char *path, struct wtl_err *err)
{
	static const struct {
		const char *name;
		size_t offset;
	} names[] = {
#define NAME(name) {#name, offsetof(struct library, name)}
		NAME(cuInit),
		NAME(cuDeviceGetByPCIBusId),
		NAME(cuDeviceGetAttribute),
		NAME(cuDevicePrimaryCtxRetain),
		NAME(cuDevicePrimaryCtxRelease_v2),
		NAME(cuCtxSetCurrent),
		NAME(cuModuleLoadData),
		NAME(cuModuleGetFunction),
		NAME(cuMemAlloc_v2),
		NAME(cuLaunchKernel),
		NAME(cuCtxSynchronize),
		NAME(cuGetErrorString),
#undef NAME
	};
	void *library = dlopen(path ? path : LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return wtl_err_set(
			err, WTL_EABSENT, "cuda", NULL,
			"%s cannot be loaded, so there is no load of our own: --load CMD is "
			"one of yours",
			path ? path : LIBRARY);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!wtl_symbol_find(library, names[i].name, (char *)cuda + names[i].offset))
			return wtl_err_set(err, WTL_EABSENT, "cuda", NULL,
					   LIBRARY " has no function %s", names[i].name);
	return 0;
}

static int complain(const struct cuda_load *load, const char *what, int code, struct wtl_err *err)
{
	const char *text = NULL;

	if (load->cuda.cuGetErrorString(code, &text) != 0 || !text)
		text = "an error that it has no words for";
	return wtl_err_set(err, WTL_ELIBRARY, "cuda", NULL, "%s: %s (CUDA error %d)", what, text,
			   code);
}

static int prepare(struct cuda_load *load, const char *bus_id, struct wtl_err *err)
{
	struct library *cuda = &load->cuda;
	const char *what = "the GPU cannot be used by CUDA";
	void *context, *module;
	int code = cuda->cuInit(0);

	if (code == 0)
		code = cuda->cuDeviceGetByPCIBusId(&load->device, bus_id);
	if (code == 0)
		code = cuda->cuDeviceGetAttribute(&load->multiprocessors, MULTIPROCESSOR_COUNT,
						  load->device);
	if (code == 0)
		code = cuda->cuDevicePrimaryCtxRetain(&context, load->device);
	load->has_context = code == 0;
	if (code == 0)
		code = cuda->cuCtxSetCurrent(context);
	if (code == 0) {
		what = "the GPU's driver does not take the kernel";
		code = cuda->cuModuleLoadData(&module, ptx);
	}
	if (code == 0)
		code = cuda->cuModuleGetFunction(&load->function, module, "wattle_load");
	if (code == 0)
		code = cuda->cuMemAlloc_v2(&load->out, sizeof(float));
	return code ? complain(load, what, code, err) : 0;
}

static int64_t cuda_on(struct wtl_gpu_load *load, int64_t for_ns, struct wtl_err *err)
{
	struct cuda_load *cuda = own(load);
	uint64_t ns = (uint64_t)for_ns;
	void *parameters[] = {&cuda->out, &ns};
	int64_t begin_ns = wtl_thread_clock_ns();
	int code = cuda->cuda.cuLaunchKernel(
		cuda->function, (unsigned)cuda->multiprocessors * BLOCKS_PER_MULTIPROCESSOR, 1, 1,
		THREADS, 1, 1, 0, NULL, parameters, NULL);

	if (code)
		return complain(cuda, "the kernel cannot be started", code, err);
	cuda->until_ns = begin_ns + for_ns;
	return begin_ns;
}

/* The kernel ends by itself: on time or, if the GPU had other work as well, later. */
static int64_t cuda_off(struct wtl_gpu_load *load, struct wtl_err *err)
{
	struct cuda_load *cuda = own(load);
	int64_t before_ns = wtl_thread_clock_ns(), after_ns;
	int code = cuda->cuda.cuCtxSynchronize();

	if (code)
		return complain(cuda, "the kernel failed", code, err);
	after_ns = wtl_thread_clock_ns();
	return before_ns < cuda->until_ns || after_ns - before_ns > 2 * WTL_NS_PER_MS
		       ? after_ns
		       : cuda->until_ns;
}

static void cuda_free(struct wtl_gpu_load *load)
{
	if (load && own(load)->has_context)
		own(load)->cuda.cuDevicePrimaryCtxRelease_v2(own(load)->device);
	free(load);
}

static const struct wtl_gpu_load_ops ops = {cuda_on, cuda_off, cuda_free};

int wtl_gpu_load_cuda(const char *path, const char *bus_id, struct wtl_gpu_load **ret_load,
		      struct wtl_err *err)
{
	struct cuda_load *load = calloc(1, sizeof(*load));
	int rc = load ? 0 : wtl_err_set(err, ENOMEM, "cuda", NULL, "out of memory");

	if (rc < 0)
		return rc;
	load->load.ops = &ops;
	rc = load_library(&load->cuda, path, err);
	if (rc == 0)
		rc = prepare(load, bus_id, err);
	if (rc < 0) {
		cuda_free(&load->load);
		return rc;
	}
	*ret_load = &load->load;
	return 0;
}
