/* SPDX-License-Identifier: MIT */
/* The fake NVML itself: what it shows is what its script says, to the last millijoule. */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../fake/fake_abi.h"
#include "unit.h"

struct fake {
	void *lib;
	char *dir; /* of the script and the clock */
};

static const char *must_env(const char *name)
{
	const char *value = getenv(name);

	if (!value)
		fail_msg("%s must be set", name);
	return value;
}

static void load_path(struct fake *fake, const char *script)
{
	char clock[256];

	unit_write(fake->dir, "clock", "0\n");
	snprintf(clock, sizeof(clock), "%s/clock", fake->dir);
	setenv("WATTLE_FAKE_NVML", script, 1);
	setenv("WATTLE_FAKE_NVML_CLOCK", clock, 1);
	fake->lib = dlopen(must_env("WATTLE_NVML_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
	if (!fake->lib)
		fail_msg("%s", dlerror());
}

/* A script by its text. */
static void load(struct fake *fake, const char *text)
{
	char path[256];

	fake->dir = unit_tmpdir();
	unit_write(fake->dir, "script", text);
	snprintf(path, sizeof(path), "%s/script", fake->dir);
	load_path(fake, path);
}

static void done(struct fake *fake)
{
	dlclose(fake->lib);
	unit_rmtree(fake->dir);
	unsetenv("WATTLE_FAKE_NVML");
	unsetenv("WATTLE_FAKE_NVML_CLOCK");
}

static void set_ns(struct fake *fake, long long t_ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%020lld\n", t_ns);
	unit_write(fake->dir, "clock", text);
}

static void *symbol(struct fake *fake, const char *name)
{
	void *address = dlsym(fake->lib, name);

	if (!address)
		fail_msg("%s is missing", name);
	return address;
}

#define CALL(fake, name, types, ...) (((int(*) types)symbol(fake, name))(__VA_ARGS__))

static int init(struct fake *fake)
{
	return CALL(fake, "nvmlInit_v2", (void));
}

static void *device(struct fake *fake, unsigned index)
{
	void *handle = NULL;

	assert_int_equal(
		CALL(fake, "nvmlDeviceGetHandleByIndex_v2", (unsigned, void **), index, &handle),
		0);
	assert_non_null(handle);
	return handle;
}

static unsigned long long energy_mj(struct fake *fake, void *gpu)
{
	unsigned long long value = 0;

	assert_int_equal(CALL(fake, "nvmlDeviceGetTotalEnergyConsumption",
			      (void *, unsigned long long *), gpu, &value),
			 0);
	return value;
}

static unsigned power_mw(struct fake *fake, void *gpu)
{
	unsigned value = 0;

	assert_int_equal(CALL(fake, "nvmlDeviceGetPowerUsage", (void *, unsigned *), gpu, &value),
			 0);
	return value;
}

static struct fake_field field(struct fake *fake, void *gpu, unsigned id, unsigned scope)
{
	struct fake_field value = {.field = id, .scope = scope};

	assert_int_equal(CALL(fake, "nvmlDeviceGetFieldValues", (void *, int, struct fake_field *),
			      gpu, 1, &value),
			 0);
	return value;
}

/* ---- Energy and power ---- */

static void test_integrals(void **state)
{
	struct fake fake;
	void *gpu;

	(void)state;
	load(&fake, "gpu Test\n"
		    " power 0 const 100.5\n power 10 ramp 100 300 4\n"
		    " power 20 square 50 250 0.5 20 # 90 W on average\n"
		    " sensor counter gpu 0\n");
	assert_int_equal(init(&fake), 0);
	gpu = device(&fake, 0);
	assert_int_equal(energy_mj(&fake, gpu), 0);
	set_ns(&fake, 10000000000);
	assert_int_equal(energy_mj(&fake, gpu), 1005000);
	set_ns(&fake, 11000000000); /* 100 to 150 W */
	assert_int_equal(energy_mj(&fake, gpu), 1005000 + 125000);
	set_ns(&fake, 14000000000);
	assert_int_equal(energy_mj(&fake, gpu), 1005000 + 800000);
	set_ns(&fake, 20000000000); /* 300 W from the ramp's end on */
	assert_int_equal(energy_mj(&fake, gpu), 1005000 + 800000 + 1800000);
	set_ns(&fake, 20100000000); /* the first tenth is high */
	assert_int_equal(energy_mj(&fake, gpu), 3605000 + 25000);
	set_ns(&fake, 20500000000);
	assert_int_equal(energy_mj(&fake, gpu), 3605000 + 45000);
	set_ns(&fake, 100000000000);
	assert_int_equal(energy_mj(&fake, gpu), 3605000 + 80 * 90000);
	/* A year later, without an overflow. */
	set_ns(&fake, 20000000000 + 31536000000000000);
	assert_true(energy_mj(&fake, gpu) == 3605000 + 31536000ULL * 90000);
	done(&fake);
}

static void test_counter(void **state)
{
	struct fake fake;
	void *gpu;

	(void)state;
	load(&fake, "gpu Test\n power 0 const 100\n sensor counter gpu 100\n counter-start 5\n"
		    " counter-gain 0.5\n counter-reset 2.03\n counter-reset 9\n");
	assert_int_equal(init(&fake), 0);
	gpu = device(&fake, 0);
	assert_int_equal(energy_mj(&fake, gpu), 5000);
	set_ns(&fake, 99999999);
	assert_int_equal(energy_mj(&fake, gpu), 5000);
	set_ns(&fake, 100000000);
	assert_int_equal(energy_mj(&fake, gpu), 10000);
	set_ns(&fake, 2029999999);
	assert_int_equal(energy_mj(&fake, gpu), 5000 + 100000);
	set_ns(&fake, 2030000000);
	assert_int_equal(energy_mj(&fake, gpu), 0);
	set_ns(&fake, 2100000000);
	assert_int_equal(energy_mj(&fake, gpu), 3500);
	set_ns(&fake, 9500000000);
	assert_int_equal(energy_mj(&fake, gpu), 25000);
	done(&fake);
}

static void test_boxcars(void **state)
{
	struct fake fake;
	void *gpu;

	(void)state;
	load(&fake, "gpu Test\n power 0 const 100\n power 2 const 300\n memory-share 10\n"
		    " module-extra 50\n sensor usage gpu 100 1000\n sensor instant gpu 100 25\n"
		    " sensor average module 100 1000\n sensor instant memory 100 100\n");
	assert_int_equal(init(&fake), 0);
	gpu = device(&fake, 0);
	assert_int_equal(power_mw(&fake, gpu), 100000); /* looks back before the start */
	set_ns(&fake, 2050000000);
	assert_int_equal(power_mw(&fake, gpu), 100000); /* updated at 2.0 */
	set_ns(&fake, 2100000000);
	assert_int_equal(power_mw(&fake, gpu), 120000);
	assert_int_equal(field(&fake, gpu, 186, 0).value.u32, 300000);
	assert_int_equal(field(&fake, gpu, 185, 1).value.u32, 170000);
	assert_int_equal(field(&fake, gpu, 186, 2).value.u32, 30000);
	assert_int_equal(field(&fake, gpu, 186, 2).value_type, 1);
	set_ns(&fake, 2500000000);
	assert_int_equal(power_mw(&fake, gpu), 200000);
	set_ns(&fake, 3000000000);
	assert_int_equal(power_mw(&fake, gpu), 300000);
	/* What the script does not name is not supported. */
	assert_int_equal(field(&fake, gpu, 185, 0).answer, FAKE_NOT_SUPPORTED);
	assert_int_equal(field(&fake, gpu, 83, 0).answer, FAKE_NOT_SUPPORTED);
	assert_int_equal(field(&fake, gpu, 186, 1).answer, FAKE_NOT_SUPPORTED);
	assert_int_equal(field(&fake, gpu, 9999, 0).answer, FAKE_NOT_SUPPORTED);
	assert_int_equal(field(&fake, gpu, 186, 3).answer, FAKE_INVALID_ARGUMENT);
	done(&fake);
}

static void test_fields_and_samples(void **state)
{
	struct fake_sample samples[200];
	unsigned count = 200;
	struct fake_field value;
	struct fake fake;
	int type = 0;
	void *gpu;

	(void)state;
	load(&fake, "gpu Test\n power 0 ramp 0 100 10\n sensor counter gpu 100\n"
		    " sensor usage gpu 100 100\n limit 300 350 100 400\n temperature 30 44\n");
	assert_int_equal(init(&fake), 0);
	gpu = device(&fake, 0);
	set_ns(&fake, 1000000000);
	value = field(&fake, gpu, 83, 0);
	assert_int_equal(value.value_type, 3);
	assert_int_equal(value.value.u64, energy_mj(&fake, gpu));
	assert_true(value.timestamp_us == 1700000001000000);
	assert_int_equal(field(&fake, gpu, 82, 0).value.u32, 44);
	assert_int_equal(field(&fake, gpu, 187, 0).value.u32, 100000);
	assert_int_equal(field(&fake, gpu, 190, 0).value.u32, 300000);
	/* The history: 0.1 s apart, those after a moment only. */
	assert_int_equal(
		CALL(&fake, "nvmlDeviceGetSamples",
		     (void *, int, unsigned long long, int *, unsigned *, struct fake_sample *),
		     gpu, 0, 1700000000500000, &type, &count, samples),
		0);
	assert_int_equal(count, 5);
	assert_int_equal(type, 1);
	for (unsigned i = 0; i < count; i++) {
		assert_true(samples[i].timestamp_us == 1700000000600000ULL + 100000 * i);
		assert_int_equal(samples[i].value.u32, 5500 + 1000 * i);
	}
	count = 200;
	assert_int_equal(
		CALL(&fake, "nvmlDeviceGetSamples",
		     (void *, int, unsigned long long, int *, unsigned *, struct fake_sample *),
		     gpu, 0, 1700000001000000, &type, &count, samples),
		FAKE_NOT_FOUND);
	done(&fake);
}

/* ---- Answers ---- */

static void test_rules(void **state)
{
	unsigned long long energy;
	struct fake fake;
	void *gpu;

	(void)state;
	load(&fake, "answer nvmlSystemGetCudaDriverVersion UNKNOWN call 2\n"
		    "gpu Test\n power 0 const 1\n sensor counter gpu 100\n sensor usage gpu 100\n"
		    " answer nvmlDeviceGetPowerUsage NO_PERMISSION from 1 until 2\n"
		    " answer field:83:0 10 calls 2 3\n lost from 5 until 6\n");
	assert_int_equal(init(&fake), 0);
	gpu = device(&fake, 0);
	for (int i = 1; i <= 3; i++) {
		int version;

		assert_int_equal(CALL(&fake, "nvmlSystemGetCudaDriverVersion", (int *), &version),
				 i == 2 ? FAKE_UNKNOWN : FAKE_OK);
	}
	for (int i = 1; i <= 4; i++)
		assert_int_equal(field(&fake, gpu, 83, 0).answer, i == 2 || i == 3 ? 10 : 0);
	for (int i = 0; i < 3; i++) {
		unsigned mw;

		set_ns(&fake, i * 1000000000LL);
		assert_int_equal(
			CALL(&fake, "nvmlDeviceGetPowerUsage", (void *, unsigned *), gpu, &mw),
			i == 1 ? FAKE_NO_PERMISSION : FAKE_OK);
	}
	set_ns(&fake, 5000000000);
	assert_int_equal(CALL(&fake, "nvmlDeviceGetTotalEnergyConsumption",
			      (void *, unsigned long long *), gpu, &energy),
			 FAKE_GPU_IS_LOST);
	set_ns(&fake, 6000000000);
	assert_int_equal(energy_mj(&fake, gpu), 6000);
	done(&fake);
}

static void test_life(void **state)
{
	char text[80];
	struct fake fake;
	unsigned count = 0;
	void *handle = NULL;

	(void)state;
	load(&fake, "driver 535.54.03\n"
		    "gpu One GPU\n bus 00000001:c1:00.0\n uuid GPU-1\n power 0 const 1\n"
		    "gpu Other\n power 0 const 1\n");
	assert_int_equal(CALL(&fake, "nvmlDeviceGetCount_v2", (unsigned *), &count),
			 FAKE_UNINITIALIZED);
	assert_int_equal(CALL(&fake, "nvmlShutdown", (void)), FAKE_UNINITIALIZED);
	assert_int_equal(init(&fake), 0);
	assert_int_equal(init(&fake), 0);
	assert_int_equal(CALL(&fake, "nvmlShutdown", (void)), FAKE_OK);
	assert_int_equal(CALL(&fake, "nvmlDeviceGetCount_v2", (unsigned *), &count), FAKE_OK);
	assert_int_equal(count, 2);
	assert_int_equal(CALL(&fake, "nvmlSystemGetDriverVersion", (char *, unsigned), text, 80),
			 FAKE_OK);
	assert_string_equal(text, "535.54.03");
	assert_int_equal(CALL(&fake, "nvmlSystemGetDriverVersion", (char *, unsigned), text, 3),
			 FAKE_INSUFFICIENT_SIZE);
	/* Three ways to one handle. */
	assert_int_equal(CALL(&fake, "nvmlDeviceGetHandleByPciBusId_v2", (const char *, void **),
			      "0001:C1:00.0", &handle),
			 FAKE_OK);
	assert_ptr_equal(handle, device(&fake, 0));
	assert_int_equal(
		CALL(&fake, "nvmlDeviceGetHandleByUUID", (const char *, void **), "GPU-1", &handle),
		FAKE_OK);
	assert_ptr_equal(handle, device(&fake, 0));
	assert_int_equal(
		CALL(&fake, "nvmlDeviceGetHandleByUUID", (const char *, void **), "GPU-2", &handle),
		FAKE_NOT_FOUND);
	assert_int_equal(
		CALL(&fake, "nvmlDeviceGetHandleByIndex_v2", (unsigned, void **), 2, &handle),
		FAKE_INVALID_ARGUMENT);
	done(&fake);
}

static void test_missing_symbols(void **state)
{
	struct fake fake;

	(void)state;
	load(&fake, "missing nvmlDeviceGetFieldValues nvmlDeviceGetArchitecture\n"
		    "missing nvmlThatNeverWas\n");
	assert_null(dlsym(fake.lib, "nvmlDeviceGetFieldValues"));
	assert_null(dlsym(fake.lib, "nvmlDeviceGetArchitecture"));
	assert_non_null(dlsym(fake.lib, "nvmlDeviceGetPowerUsage"));
	done(&fake);
	/* They are back with the next script. */
	load(&fake, "");
	assert_non_null(dlsym(fake.lib, "nvmlDeviceGetFieldValues"));
	done(&fake);
}

static void test_delay(void **state)
{
	struct timespec before, after;
	struct fake fake;
	unsigned count;

	(void)state;
	load(&fake, "delay nvmlDeviceGetCount_v2 25\n");
	assert_int_equal(init(&fake), 0);
	clock_gettime(CLOCK_MONOTONIC, &before);
	assert_int_equal(CALL(&fake, "nvmlDeviceGetCount_v2", (unsigned *), &count), FAKE_OK);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true((after.tv_sec - before.tv_sec) * 1000000000LL + after.tv_nsec -
			    before.tv_nsec >=
		    25000000);
	done(&fake);
}

/* ---- Processes, memory, limits ---- */

static int processes(struct fake *fake, void *gpu, unsigned *count, void *infos)
{
	return CALL(fake, "nvmlDeviceGetComputeRunningProcesses_v3", (void *, unsigned *, void *),
		    gpu, count, infos);
}

static void test_processes(void **state)
{
	struct fake_process_535 wide[4];
	struct fake_process infos[4];
	unsigned count = 0;
	struct fake fake;
	void *gpu;

	(void)state;
	load(&fake, "gpu Test\n power 0 const 1\n process 10 C 100\n process 11 C - 0 0 0 0 1 2\n"
		    " process 12 G 5\n");
	assert_int_equal(init(&fake), 0);
	gpu = device(&fake, 0);
	assert_int_equal(processes(&fake, gpu, &count, NULL), FAKE_INSUFFICIENT_SIZE);
	assert_int_equal(count, 1);
	count = 4;
	assert_int_equal(processes(&fake, gpu, &count, infos), FAKE_OK);
	assert_int_equal(count, 1);
	assert_int_equal(infos[0].pid, 10);
	assert_int_equal(infos[0].used, 100 << 20);
	assert_true(infos[0].gpu_instance == UINT32_MAX);
	set_ns(&fake, 1500000000);
	count = 4;
	assert_int_equal(processes(&fake, gpu, &count, infos), FAKE_OK);
	assert_int_equal(count, 2);
	assert_int_equal(infos[1].pid, 11);
	assert_true(infos[1].used == UINT64_MAX);
	count = 1;
	assert_int_equal(processes(&fake, gpu, &count, infos), FAKE_INSUFFICIENT_SIZE);
	assert_int_equal(count, 2);
	done(&fake);

	load(&fake, "stride 32\ngpu Test\n power 0 const 1\n process 10 C 100\n process 11 C 1\n");
	assert_int_equal(init(&fake), 0);
	count = 4;
	assert_int_equal(processes(&fake, device(&fake, 0), &count, wide), FAKE_OK);
	assert_int_equal(wide[1].process.pid, 11);
	assert_int_equal(wide[1].process.used, 1 << 20);
	done(&fake);
}

static int use(struct fake *fake, void *gpu, struct fake_process_sample samples[], unsigned *count,
	       unsigned long long since_us)
{
	return CALL(fake, "nvmlDeviceGetProcessUtilization",
		    (void *, struct fake_process_sample *, unsigned *, unsigned long long), gpu,
		    samples, count, since_us);
}

static void test_process_use(void **state)
{
	struct fake_process_sample samples[4];
	unsigned count = 0;
	struct fake fake;
	void *gpu;

	(void)state;
	load(&fake, "sample-period 500\ngpu Test\n power 0 const 1\n"
		    " process 10 C 100 60 20 1 2\n process 11 C 5\n");
	assert_int_equal(init(&fake), 0);
	gpu = device(&fake, 0);
	assert_int_equal(use(&fake, gpu, NULL, &count, 0), FAKE_INSUFFICIENT_SIZE);
	assert_int_equal(count, 100);
	set_ns(&fake, 1700000000);
	count = 4;
	assert_int_equal(use(&fake, gpu, samples, &count, 0), FAKE_OK);
	assert_int_equal(count, 1); /* the idle one has no sample */
	assert_int_equal(samples[0].pid, 10);
	assert_int_equal(samples[0].sm, 60);
	assert_int_equal(samples[0].decoder, 2);
	assert_true(samples[0].timestamp_us == 1700000001500000);
	count = 4;
	assert_int_equal(use(&fake, gpu, samples, &count, samples[0].timestamp_us), FAKE_NOT_FOUND);
	done(&fake);
}

static void test_memory_and_limits(void **state)
{
	struct fake_memory_v2 memory = {.version = sizeof(memory) | 2u << 24};
	struct fake_memory old;
	struct fake fake;
	unsigned limit;
	void *gpu;

	(void)state;
	load(&fake, "may-set\ngpu Test\n power 0 const 1\n memory 1000 10 100\n process 1 C 50\n"
		    " limit 300 350 100 400\n");
	assert_int_equal(init(&fake), 0);
	gpu = device(&fake, 0);
	assert_int_equal(CALL(&fake, "nvmlDeviceGetMemoryInfo_v2",
			      (void *, struct fake_memory_v2 *), gpu, &memory),
			 FAKE_OK);
	assert_int_equal(memory.used, 150 << 20);
	assert_int_equal(memory.free, 840 << 20);
	assert_int_equal(
		CALL(&fake, "nvmlDeviceGetMemoryInfo", (void *, struct fake_memory *), gpu, &old),
		FAKE_OK);
	assert_int_equal(old.used, 160 << 20); /* with what is reserved */
	memory.version = 2;
	assert_int_equal(CALL(&fake, "nvmlDeviceGetMemoryInfo_v2",
			      (void *, struct fake_memory_v2 *), gpu, &memory),
			 FAKE_VERSION_MISMATCH);
	assert_int_equal(
		CALL(&fake, "nvmlDeviceSetPowerManagementLimit", (void *, unsigned), gpu, 250000),
		FAKE_OK);
	assert_int_equal(
		CALL(&fake, "nvmlDeviceSetPowerManagementLimit", (void *, unsigned), gpu, 401000),
		FAKE_INVALID_ARGUMENT);
	assert_int_equal(
		CALL(&fake, "nvmlDeviceGetEnforcedPowerLimit", (void *, unsigned *), gpu, &limit),
		FAKE_OK);
	assert_int_equal(limit, 250000);
	done(&fake);
	load(&fake, "gpu Test\n power 0 const 1\n");
	assert_int_equal(init(&fake), 0);
	assert_int_equal(
		CALL(&fake, "nvmlDeviceSetPersistenceMode", (void *, int), device(&fake, 0), 0),
		FAKE_NO_PERMISSION);
	done(&fake);
}

/* ---- Scripts ---- */

static void test_bad_scripts(void **state)
{
	static const char *const bad[] = {
		"nonsense",
		"power 0 const 1",				/* before any GPU */
		"gpu Test",					/* without power */
		"gpu Test\n power 1 const 5",			/* does not begin at 0 */
		"gpu Test\n power 0 const 1\n power 0 const 2", /* does not go forward */
		"gpu Test\n power 0 square 1 2 0",
		"gpu Test\n power 0 const x",
		"gpu Test\n power 0 wave 1",
		"gpu Test\n power 0 const 1\n sensor counter nowhere 100",
		"gpu Test\n power 0 const 1\n process 1 X 5",
		"gpu Test\n power 0 const 1\n lost since 5",
		"answer nvmlInit_v2 NO_SUCH_CODE",
		"stride 20",
		"driver",
	};
	struct fake fake;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		load(&fake, bad[i]);
		assert_int_equal(init(&fake), FAKE_UNKNOWN);
		done(&fake);
	}
}

/* Every script of the collection can be read, and its GPUs give what they promise. */
static void test_all_scripts(void **state)
{
	DIR *dir = opendir(must_env("WATTLE_FAKE_SCRIPTS"));
	unsigned seen = 0;

	(void)state;
	assert_non_null(dir);
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		unsigned count = 99;
		char path[512];
		struct fake fake;

		if (!strstr(entry->d_name, ".nvml"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", must_env("WATTLE_FAKE_SCRIPTS"),
			 entry->d_name);
		fake.dir = unit_tmpdir();
		load_path(&fake, path);
		if (init(&fake) == FAKE_OK) {
			assert_int_equal(CALL(&fake, "nvmlDeviceGetCount_v2", (unsigned *), &count),
					 0);
			assert_in_range(count, 0, 8);
		} else if (strncmp(entry->d_name, "init-", 5) != 0 &&
			   strncmp(entry->d_name, "mismatch", 8) != 0 &&
			   strncmp(entry->d_name, "not-loaded", 10) != 0) {
			fail_msg("%s does not start", entry->d_name);
		}
		seen++;
		done(&fake);
	}
	closedir(dir);
	assert_true(seen >= 10);
}

/* Without a script there is one plain A100, on the real clock. */
static void test_default(void **state)
{
	unsigned long long first, second;
	struct fake fake = {0};
	char name[96];
	void *gpu;

	(void)state;
	unsetenv("WATTLE_FAKE_NVML");
	unsetenv("WATTLE_FAKE_NVML_CLOCK");
	fake.lib = dlopen(must_env("WATTLE_NVML_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
	assert_non_null(fake.lib);
	assert_int_equal(init(&fake), 0);
	gpu = device(&fake, 0);
	assert_int_equal(CALL(&fake, "nvmlDeviceGetName", (void *, char *, unsigned), gpu, name,
			      (unsigned)sizeof(name)),
			 0);
	assert_string_equal(name, "NVIDIA A100-SXM4-80GB");
	assert_int_equal(power_mw(&fake, gpu), 62500);
	first = energy_mj(&fake, gpu);
	usleep(250000); /* two updates at least */
	second = energy_mj(&fake, gpu);
	assert_true(second >= first + 2 * 6250);
	dlclose(fake.lib);
}

/* ---- What few ask for ---- */

#define RACK                                                                            \
	"gpu Rack\npower 0 const 100\n"                                                 \
	"value nvmlDeviceGetPlatformInfo 14 4 1 1 2 0x034c4931ff7d1c4f 1820000000001\n" \
	"value nvmlDeviceGetGpuFabricInfoV 3 23 7 0x1aa 2 dc6e40c4-d722-4357-9ba6-5291dd461278\n"

static int ask_fabric(struct fake *fake, void *gpu, uint32_t version, struct fake_fabric_v3 *fabric)
{
	memset(fabric, 0xee, sizeof(*fabric));
	fabric->version = version;
	return CALL(fake, "nvmlDeviceGetGpuFabricInfoV", (void *, struct fake_fabric_v3 *), gpu,
		    fabric);
}

/* A shorter form leaves alone what is behind it. */
static void test_fabric_and_platform(void **state)
{
	static const unsigned char cluster[] = {0xdc, 0x6e, 0x40, 0xc4, 0xd7, 0x22, 0x43, 0x57,
						0x9b, 0xa6, 0x52, 0x91, 0xdd, 0x46, 0x12, 0x78};
	struct fake_platform platform = {.version = 0x0200002c};
	struct fake_fabric_v3 fabric;
	struct fake_fabric old;
	struct fake fake;
	void *gpu;

	(void)state;
	load(&fake, RACK);
	init(&fake);
	gpu = device(&fake, 0);
	assert_int_equal(ask_fabric(&fake, gpu, 0x03000028, &fabric), 0);
	assert_memory_equal(fabric.cluster, cluster, 16);
	assert_int_equal(fabric.status, 23);
	assert_int_equal(fabric.clique, 7);
	assert_int_equal(fabric.state, 3);
	assert_int_equal(fabric.health_mask, 0x1aa);
	assert_int_equal(fabric.health_summary, 2);
	assert_int_equal(ask_fabric(&fake, gpu, 0x02000024, &fabric), 0);
	assert_int_equal(fabric.health_mask, 0x1aa);
	assert_int_equal(fabric.health_summary, 0xee);
	assert_int_equal(ask_fabric(&fake, gpu, 0x02000028, &fabric), FAKE_VERSION_MISMATCH);
	assert_int_equal(ask_fabric(&fake, gpu, 0x04000028, &fabric), FAKE_VERSION_MISMATCH);
	assert_int_equal(CALL(&fake, "nvmlDeviceGetGpuFabricInfo", (void *, struct fake_fabric *),
			      gpu, &old),
			 0);
	assert_memory_equal(old.cluster, cluster, 16);
	assert_int_equal(old.clique, 7);
	assert_int_equal(old.state, 3);
	assert_int_equal(CALL(&fake, "nvmlDeviceGetPlatformInfo", (void *, struct fake_platform *),
			      gpu, &platform),
			 0);
	assert_int_equal(platform.slot, 14);
	assert_int_equal(platform.module, 2);
	assert_int_equal(platform.guid[0], 0x03);
	assert_int_equal(platform.guid[7], 0x4f);
	assert_int_equal(platform.guid[8], 0);
	assert_string_equal((char *)platform.chassis, "1820000000001");
	platform.version = 0x0300002c;
	assert_int_equal(CALL(&fake, "nvmlDeviceGetPlatformInfo", (void *, struct fake_platform *),
			      gpu, &platform),
			 FAKE_VERSION_MISMATCH);
	done(&fake);
}

/* A GPU without the lines does not support the functions; versions are looked at first. */
static void test_details_that_are_not_there(void **state)
{
	struct fake_sram_errors errors = {.version = 0x01000068};
	struct fake_remapped_rows rows;
	struct fake_fabric_v3 fabric;
	struct fake fake;
	void *gpu;

	(void)state;
	load(&fake, "gpu Plain\npower 0 const 100\n");
	init(&fake);
	gpu = device(&fake, 0);
	assert_int_equal(ask_fabric(&fake, gpu, 0x03000028, &fabric), FAKE_NOT_SUPPORTED);
	assert_int_equal(CALL(&fake, "nvmlDeviceGetSramEccErrorStatus",
			      (void *, struct fake_sram_errors *), gpu, &errors),
			 FAKE_NOT_SUPPORTED);
	errors.version = 0x02000068;
	assert_int_equal(CALL(&fake, "nvmlDeviceGetSramEccErrorStatus",
			      (void *, struct fake_sram_errors *), gpu, &errors),
			 FAKE_VERSION_MISMATCH);
	assert_int_equal(CALL(&fake, "nvmlDeviceGetRemappedRows_v2",
			      (void *, struct fake_remapped_rows *), gpu, &rows),
			 FAKE_NOT_SUPPORTED);
	assert_int_equal(CALL(&fake, "nvmlDeviceValidateInforom", (void *), gpu),
			 FAKE_NOT_SUPPORTED);
	done(&fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_integrals),
		cmocka_unit_test(test_counter),
		cmocka_unit_test(test_boxcars),
		cmocka_unit_test(test_fields_and_samples),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_missing_symbols),
		cmocka_unit_test(test_delay),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_process_use),
		cmocka_unit_test(test_memory_and_limits),
		cmocka_unit_test(test_bad_scripts),
		cmocka_unit_test(test_all_scripts),
		cmocka_unit_test(test_default),
		cmocka_unit_test(test_fabric_and_platform),
		cmocka_unit_test(test_details_that_are_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
