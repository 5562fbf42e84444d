/* SPDX-License-Identifier: MIT */
/* The numbers of one NVIDIA GPU: one batched call for what has a field id, one call each for the
 * rest. What each function gives is in nvml/abi.h. */
#include <string.h>

#include "energy/units.h"
#include "sensors/gpu_backend.h"
#include "sensors/gpu_nvml.h"

/* Two readings of a byte counter that are closer give no rate. */
#define RATE_MIN_NS (10 * WTL_NS_PER_MS)

#define NONE WTL_GPU_NVML_NONE

bool wtl_gpu_nvml_is_gone(int code)
{
	return code == WTL_NVML_UNINITIALIZED || code == WTL_NVML_GPU_IS_LOST ||
	       code == WTL_NVML_RESET_REQUIRED || code == WTL_NVML_DRIVER_NOT_LOADED ||
	       code == WTL_NVML_GPU_NOT_FOUND;
}

static bool is_refusal(int code)
{
	return code == WTL_NVML_NOT_SUPPORTED || code == WTL_NVML_FUNCTION_NOT_FOUND ||
	       code == WTL_NVML_DEPRECATED || code == WTL_NVML_INVALID_ARGUMENT ||
	       code == WTL_NVML_ARGUMENT_VERSION;
}

enum wattle_status wtl_gpu_nvml_part_status(int code)
{
	enum wattle_status status = wtl_nvml_status(code);

	/* A call that a tape does not have, say. */
	return status == WATTLE_STATUS_GONE && !wtl_gpu_nvml_is_gone(code) ? WATTLE_STATUS_ABSENT
									   : status;
}

static void refuse(struct wtl_gpu_nvml_read *read, enum wtl_gpu_number number, int code)
{
	wtl_gpu_unset(read->gpu, number, wtl_gpu_nvml_part_status(code), code);
	read->own->refused_ns[number] =
		is_refusal(code) ? read->now_ns + WTL_GPU_NVML_REFUSED_NS : 0;
}

bool wtl_gpu_nvml_is_due(const struct wtl_gpu_nvml_read *read, enum wtl_gpu_number number)
{
	return !read->gone && read->now_ns >= read->own->refused_ns[number];
}

int wtl_gpu_nvml_ask(struct wtl_gpu_nvml_read *read, enum wtl_nvml_function function,
		     struct wtl_lib_arg args[])
{
	int code = wtl_nvml_call(read->lib, function, args);

	if (wtl_gpu_nvml_is_gone(code))
		read->gone = code;
	return code;
}

void wtl_gpu_nvml_put(struct wtl_gpu_nvml_read *read, enum wtl_gpu_number number, int code,
		      uint64_t value)
{
	if (number == NONE)
		return;
	if (code != WTL_NVML_OK) {
		refuse(read, number, code);
		return;
	}
	wtl_gpu_set(read->gpu, number, value);
	read->own->refused_ns[number] = 0;
}

/* ---- Numbers of functions alike ---- */

#define LENGTH(type, ...) (sizeof((type[]){__VA_ARGS__}) / sizeof(type))
#define TO(...)		  .to = {__VA_ARGS__}, .n = LENGTH(enum wtl_gpu_number, __VA_ARGS__)
#define TO_LONG(...)	  TO(__VA_ARGS__), .is_long = true
#define SCREEN(...)	  TO(__VA_ARGS__), .on_screen = true
#define IN(...)		  .in = {__VA_ARGS__}, .n_in = LENGTH(uint32_t, __VA_ARGS__)

static const struct wtl_gpu_nvml_call calls[] = {
	{WTL_NVML_LIMIT_ENFORCED, .factor = 1000, SCREEN(WTL_GPU_LIMIT_UW)},
	{WTL_NVML_LIMIT_REQUESTED, .factor = 1000, TO(WTL_GPU_LIMIT_REQUESTED_UW)},
	{WTL_NVML_LIMIT_DEFAULT, .factor = 1000, TO(WTL_GPU_LIMIT_DEFAULT_UW)},
	{WTL_NVML_LIMIT_RANGE, .factor = 1000, TO(WTL_GPU_LIMIT_MIN_UW, WTL_GPU_LIMIT_MAX_UW)},
	{WTL_NVML_POWER_USAGE, .factor = 1000, TO(WTL_GPU_POWER_UW)},
	{WTL_NVML_ENCODER_USE, SCREEN(WTL_GPU_ENCODER_PERCENT, NONE)},
	{WTL_NVML_DECODER_USE, SCREEN(WTL_GPU_DECODER_PERCENT, NONE)},
	{WTL_NVML_JPEG_USE, TO(WTL_GPU_JPEG_PERCENT, NONE)},
	{WTL_NVML_OFA_USE, TO(WTL_GPU_OFA_PERCENT, NONE)},
	{WTL_NVML_CLOCK, IN(0), SCREEN(WTL_GPU_CLOCK_GRAPHICS_MHZ)},
	{WTL_NVML_CLOCK, IN(1), SCREEN(WTL_GPU_CLOCK_SM_MHZ)},
	{WTL_NVML_CLOCK, IN(2), TO(WTL_GPU_CLOCK_MEMORY_MHZ)},
	{WTL_NVML_CLOCK, IN(3), TO(WTL_GPU_CLOCK_VIDEO_MHZ)},
	{WTL_NVML_CLOCK_MAX, IN(0), TO(WTL_GPU_CLOCK_GRAPHICS_MAX_MHZ)},
	{WTL_NVML_CLOCK_MAX, IN(1), TO(WTL_GPU_CLOCK_SM_MAX_MHZ)},
	{WTL_NVML_CLOCK_MAX, IN(2), TO(WTL_GPU_CLOCK_MEMORY_MAX_MHZ)},
	{WTL_NVML_CLOCK_MAX, IN(3), TO(WTL_GPU_CLOCK_VIDEO_MAX_MHZ)},
	{WTL_NVML_CLOCK_APPLICATION, IN(0), TO(WTL_GPU_CLOCK_GRAPHICS_APPLICATION_MHZ)},
	{WTL_NVML_CLOCK_APPLICATION, IN(2), TO(WTL_GPU_CLOCK_MEMORY_APPLICATION_MHZ)},
	{WTL_NVML_CLOCK_APPLICATION_DEFAULT, IN(0),
	 TO(WTL_GPU_CLOCK_GRAPHICS_APPLICATION_DEFAULT_MHZ)},
	{WTL_NVML_CLOCK_APPLICATION_DEFAULT, IN(2),
	 TO(WTL_GPU_CLOCK_MEMORY_APPLICATION_DEFAULT_MHZ)},
	{WTL_NVML_FAN, SCREEN(WTL_GPU_FAN_PERCENT)},
	{WTL_NVML_PSTATE, SCREEN(WTL_GPU_PSTATE)},
	{WTL_NVML_PCIE_GEN, SCREEN(WTL_GPU_PCIE_GEN)},
	{WTL_NVML_PCIE_GEN_MAX, TO(WTL_GPU_PCIE_GEN_MAX)},
	{WTL_NVML_PCIE_GEN_GPU_MAX, TO(WTL_GPU_PCIE_GEN_GPU_MAX)},
	{WTL_NVML_PCIE_WIDTH, SCREEN(WTL_GPU_PCIE_WIDTH)},
	{WTL_NVML_PCIE_WIDTH_MAX, TO(WTL_GPU_PCIE_WIDTH_MAX)},
	{WTL_NVML_PERSISTENCE, TO(WTL_GPU_PERSISTENCE)},
	{WTL_NVML_COMPUTE_MODE, TO(WTL_GPU_COMPUTE_MODE)},
	{WTL_NVML_DISPLAY_ACTIVE, TO(WTL_GPU_DISPLAY_ACTIVE)},
	{WTL_NVML_DISPLAY_ATTACHED, TO(WTL_GPU_DISPLAY_ATTACHED)},
	{WTL_NVML_ACCOUNTING_MODE, TO(WTL_GPU_ACCOUNTING_MODE)},
	{WTL_NVML_ACCOUNTING_BUFFER, TO(WTL_GPU_ACCOUNTING_BUFFER)},
	{WTL_NVML_MODULE_ID, TO(WTL_GPU_MODULE_ID)},
	{WTL_NVML_C2C_MODE, TO(WTL_GPU_C2C_MODE)},
	{WTL_NVML_MIG_MODE, TO(WTL_GPU_MIG_MODE, WTL_GPU_MIG_PENDING)},
	{WTL_NVML_ECC_MODE, TO(WTL_GPU_ECC_MODE, WTL_GPU_ECC_PENDING)},
	{WTL_NVML_GSP_MODE, TO(WTL_GPU_GSP_MODE, WTL_GPU_GSP_DEFAULT)},
	{WTL_NVML_ENCODER_STATS,
	 TO(WTL_GPU_ENCODER_SESSIONS, WTL_GPU_ENCODER_FPS, WTL_GPU_ENCODER_LATENCY_US)},
	{WTL_NVML_REMAPPED_ROWS, TO(WTL_GPU_REMAPPED_CORRECTABLE, WTL_GPU_REMAPPED_UNCORRECTABLE,
				    WTL_GPU_REMAPPED_PENDING, WTL_GPU_REMAPPED_FAILURE)},
	{WTL_NVML_UTILIZATION, .is_struct = true,
	 SCREEN(WTL_GPU_USE_PERCENT, WTL_GPU_MEMORY_USE_PERCENT)},
	{WTL_NVML_REMAPPER, .is_struct = true,
	 TO(WTL_GPU_REMAPPED_MAX, WTL_GPU_REMAPPED_HIGH, WTL_GPU_REMAPPED_PARTIAL,
	    WTL_GPU_REMAPPED_LOW, WTL_GPU_REMAPPED_NONE)},
	{WTL_NVML_EVENT_REASONS, .older = WTL_NVML_THROTTLE_REASONS, TO_LONG(WTL_GPU_THROTTLE),
	 .on_screen = true},
	{WTL_NVML_EVENT_REASONS_KNOWN, .older = WTL_NVML_THROTTLE_REASONS_KNOWN,
	 TO_LONG(WTL_GPU_THROTTLE_KNOWN)},
	{WTL_NVML_ECC_TOTAL, IN(0, 0), TO_LONG(WTL_GPU_ECC_CORRECTED_VOLATILE)},
	{WTL_NVML_ECC_TOTAL, IN(1, 0), TO_LONG(WTL_GPU_ECC_UNCORRECTED_VOLATILE)},
	{WTL_NVML_ECC_TOTAL, IN(0, 1), TO_LONG(WTL_GPU_ECC_CORRECTED_AGGREGATE)},
	{WTL_NVML_ECC_TOTAL, IN(1, 1), TO_LONG(WTL_GPU_ECC_UNCORRECTED_AGGREGATE)},
	{WTL_NVML_ECC_PLACE, IN(0, 0, 2), TO_LONG(WTL_GPU_ECC_DRAM_CORRECTED_VOLATILE)},
	{WTL_NVML_ECC_PLACE, IN(1, 0, 2), TO_LONG(WTL_GPU_ECC_DRAM_UNCORRECTED_VOLATILE)},
	{WTL_NVML_ECC_PLACE, IN(0, 1, 2), TO_LONG(WTL_GPU_ECC_DRAM_CORRECTED_AGGREGATE)},
	{WTL_NVML_ECC_PLACE, IN(1, 1, 2), TO_LONG(WTL_GPU_ECC_DRAM_UNCORRECTED_AGGREGATE)},
	{WTL_NVML_ECC_PLACE, IN(0, 0, 7), TO_LONG(WTL_GPU_ECC_SRAM_CORRECTED_VOLATILE)},
	{WTL_NVML_ECC_PLACE, IN(1, 0, 7), TO_LONG(WTL_GPU_ECC_SRAM_UNCORRECTED_VOLATILE)},
	{WTL_NVML_ECC_PLACE, IN(0, 1, 7), TO_LONG(WTL_GPU_ECC_SRAM_CORRECTED_AGGREGATE)},
	{WTL_NVML_ECC_PLACE, IN(1, 1, 7), TO_LONG(WTL_GPU_ECC_SRAM_UNCORRECTED_AGGREGATE)},
	{WTL_NVML_PROTECTED_MEMORY, .is_struct = true,
	 TO_LONG(WTL_GPU_PROTECTED_TOTAL_BYTES, WTL_GPU_PROTECTED_FREE_BYTES,
		 WTL_GPU_PROTECTED_USED_BYTES)},
	{WTL_NVML_TEMPERATURE_MARGIN, .version = WTL_NVML_VERSION(struct wtl_nvml_versioned, 1),
	 .is_struct = true, .is_signed = true, TO(NONE, WTL_GPU_TEMPERATURE_MARGIN_C)},
	{WTL_NVML_ADDRESSING_MODE, .version = WTL_NVML_VERSION(struct wtl_nvml_versioned, 1),
	 .is_struct = true, .is_signed = true, TO(NONE, WTL_GPU_ADDRESSING_MODE)},
};

void wtl_gpu_nvml_read_call(struct wtl_gpu_nvml_read *read, const struct wtl_gpu_nvml_call *call)
{
	union {
		uint32_t words[WTL_GPU_NVML_ANSWERS];
		uint64_t longs[WTL_GPU_NVML_ANSWERS];
	} answers = {.longs = {0}};
	const size_t size = call->is_long ? sizeof(uint64_t) : sizeof(uint32_t);
	struct wtl_lib_arg args[1 + WTL_GPU_NVML_INPUTS + WTL_GPU_NVML_ANSWERS] = {
		{.word = read->own->handle}};
	size_t n = 1, first = 0;
	int code;

	while (call->to[first] == NONE)
		first++;
	if (!wtl_gpu_nvml_is_due(read, call->to[first]))
		return;
	for (size_t i = 0; i < call->n_in; i++)
		args[n++].word = call->in[i];
	for (size_t i = 0; i < (call->is_struct ? 1 : call->n); i++)
		args[n++] = (struct wtl_lib_arg){.memory = (char *)&answers + i * size,
						 .size = call->is_struct ? call->n * size : size};
	answers.words[0] = call->version;
	code = wtl_gpu_nvml_ask(read, call->function, args);
	if (code == WTL_NVML_FUNCTION_NOT_FOUND && call->older)
		code = wtl_gpu_nvml_ask(read, call->older, args);
	for (size_t i = 0; i < call->n; i++) {
		uint64_t value = call->is_long	   ? answers.longs[i]
				 : call->is_signed ? (uint64_t)(int32_t)answers.words[i]
						   : answers.words[i];

		wtl_gpu_nvml_put(read, call->to[i], code,
				 call->factor ? value * call->factor : value);
	}
}

/* ---- Structs with a version ---- */

static void read_memory(struct wtl_gpu_nvml_read *read)
{
	struct wtl_nvml_memory_v2 v2 = {.version = WTL_NVML_VERSION(struct wtl_nvml_memory_v2, 2)};
	struct wtl_nvml_memory v1 = {0};
	struct wtl_lib_arg args[] = {
		{.word = read->own->handle},
		{.memory = &v2, .size = sizeof(v2)},
	};
	int code, reserved;

	if (!wtl_gpu_nvml_is_due(read, WTL_GPU_MEMORY_TOTAL_BYTES))
		return;
	code = reserved = wtl_gpu_nvml_ask(read, WTL_NVML_MEMORY_V2, args);
	if (code != WTL_NVML_OK) {
		args[1] = (struct wtl_lib_arg){.memory = &v1, .size = sizeof(v1)};
		code = wtl_gpu_nvml_ask(read, WTL_NVML_MEMORY, args);
		v2.total = v1.total;
		v2.free = v1.free;
		v2.used = v1.used;
	}
	wtl_gpu_nvml_put(read, WTL_GPU_MEMORY_TOTAL_BYTES, code, v2.total);
	wtl_gpu_nvml_put(read, WTL_GPU_MEMORY_RESERVED_BYTES, reserved, v2.reserved);
	wtl_gpu_nvml_put(read, WTL_GPU_MEMORY_USED_BYTES, code, v2.used);
	wtl_gpu_nvml_put(read, WTL_GPU_MEMORY_FREE_BYTES, code, v2.free);
}

/* No GPU is below 0 °C: a negative value would be taken for a very hot one. */
static void read_temperature(struct wtl_gpu_nvml_read *read)
{
	struct wtl_nvml_temperature temperature = {
		.version = WTL_NVML_VERSION(struct wtl_nvml_temperature, 1)};
	uint32_t celsius = 0;
	struct wtl_lib_arg args[] = {
		{.word = read->own->handle},
		{.memory = &temperature, .size = sizeof(temperature)},
	};
	struct wtl_lib_arg args_v1[] = {
		{.word = read->own->handle},
		{.word = 0},
		{.memory = &celsius, .size = sizeof(celsius)},
	};
	int code;

	if (!wtl_gpu_nvml_is_due(read, WTL_GPU_TEMPERATURE_C))
		return;
	code = wtl_gpu_nvml_ask(read, WTL_NVML_TEMPERATURE, args);
	if (code == WTL_NVML_OK && temperature.celsius < 0)
		code = WTL_NVML_NO_DATA;
	else if (code == WTL_NVML_OK)
		celsius = (uint32_t)temperature.celsius;
	else if (!read->gone)
		code = wtl_gpu_nvml_ask(read, WTL_NVML_TEMPERATURE_V1, args_v1);
	wtl_gpu_nvml_put(read, WTL_GPU_TEMPERATURE_C, code, celsius);
}

/* ---- Fields ---- */

static const struct wtl_gpu_nvml_field fields[] = {
	{WTL_NVML_FIELD_POWER_AVERAGE, WTL_NVML_SCOPE_GPU, 1000, WTL_GPU_POWER_AVERAGE_UW},
	{WTL_NVML_FIELD_POWER_INSTANT, WTL_NVML_SCOPE_GPU, 1000, WTL_GPU_POWER_INSTANT_UW},
	{WTL_NVML_FIELD_POWER_AVERAGE, WTL_NVML_SCOPE_MEMORY, 1000,
	 WTL_GPU_MEMORY_POWER_AVERAGE_UW},
	{WTL_NVML_FIELD_POWER_INSTANT, WTL_NVML_SCOPE_MEMORY, 1000,
	 WTL_GPU_MEMORY_POWER_INSTANT_UW},
	{WTL_NVML_FIELD_POWER_AVERAGE, WTL_NVML_SCOPE_MODULE, 1000,
	 WTL_GPU_MODULE_POWER_AVERAGE_UW},
	{WTL_NVML_FIELD_POWER_INSTANT, WTL_NVML_SCOPE_MODULE, 1000,
	 WTL_GPU_MODULE_POWER_INSTANT_UW},
	{WTL_NVML_FIELD_ENERGY, WTL_NVML_SCOPE_GPU, 1000, WTL_GPU_ENERGY_UJ},
	{WTL_NVML_FIELD_MEMORY_TEMPERATURE, 0, 1, WTL_GPU_MEMORY_TEMPERATURE_C},
	{WTL_NVML_FIELD_LIMIT, WTL_NVML_SCOPE_MODULE, 1000, WTL_GPU_MODULE_LIMIT_UW},
	{WTL_NVML_FIELD_LIMIT_REQUESTED, WTL_NVML_SCOPE_MODULE, 1000,
	 WTL_GPU_MODULE_LIMIT_REQUESTED_UW},
	{WTL_NVML_FIELD_LIMIT_DEFAULT, WTL_NVML_SCOPE_MODULE, 1000,
	 WTL_GPU_MODULE_LIMIT_DEFAULT_UW},
	{WTL_NVML_FIELD_LIMIT_MIN, WTL_NVML_SCOPE_MODULE, 1000, WTL_GPU_MODULE_LIMIT_MIN_UW},
	{WTL_NVML_FIELD_LIMIT_MAX, WTL_NVML_SCOPE_MODULE, 1000, WTL_GPU_MODULE_LIMIT_MAX_UW},
	{WTL_NVML_FIELD_THROTTLED_POWER, 0, 1, WTL_GPU_THROTTLED_SW_POWER_CAP_NS},
	{WTL_NVML_FIELD_THROTTLED_SYNC_BOOST, 0, 1, WTL_GPU_THROTTLED_SYNC_BOOST_NS},
	{WTL_NVML_FIELD_THROTTLED_SW_THERMAL, 0, 1, WTL_GPU_THROTTLED_SW_THERMAL_NS},
	{WTL_NVML_FIELD_THROTTLED_HW_THERMAL, 0, 1, WTL_GPU_THROTTLED_HW_THERMAL_NS},
	{WTL_NVML_FIELD_THROTTLED_POWER_BRAKE, 0, 1, WTL_GPU_THROTTLED_HW_POWER_BRAKE_NS},
};

_Static_assert(sizeof(fields) / sizeof(fields[0]) <= WTL_GPU_NVML_FIELDS, "asked for at once");

static int ask_fields(struct wtl_gpu_nvml_read *read, struct wtl_nvml_field asked[], size_t n)
{
	struct wtl_lib_arg args[] = {
		{.word = read->own->handle},
		{.word = n},
		{.memory = asked, .size = n * sizeof(asked[0])},
	};

	return wtl_gpu_nvml_ask(read, WTL_NVML_FIELD_VALUES, args);
}

static void put_field(struct wtl_gpu_nvml_read *read, const struct wtl_gpu_nvml_field *field,
		      const struct wtl_nvml_field *answer, int code)
{
	uint64_t value = 0;
	bool is_good;

	if (code == WTL_NVML_OK)
		code = wtl_nvml_field_code(answer);
	if (wtl_gpu_nvml_is_gone(code))
		read->gone = code;
	if (field->factor == WTL_GPU_NVML_SIGNED)
		is_good = wtl_nvml_field_i64(answer, &value);
	else
		is_good = field->factor
				  ? wtl_nvml_field_u64(answer, &value) &&
					    !__builtin_mul_overflow(value, field->factor, &value)
				  : wtl_nvml_field_millionths(answer, &value);
	if (code == WTL_NVML_OK && !is_good)
		code = WTL_NVML_NO_DATA;
	wtl_gpu_nvml_put(read, field->to, code, value);
}

void wtl_gpu_nvml_read_fields(struct wtl_gpu_nvml_read *read,
			      const struct wtl_gpu_nvml_field list[], size_t n_list)
{
	struct wtl_nvml_field asked[WTL_GPU_NVML_FIELDS] = {0};
	const struct wtl_gpu_nvml_field *due[WTL_GPU_NVML_FIELDS];
	size_t n = 0;
	int code;

	for (size_t i = 0; i < n_list; i++) {
		if (!wtl_gpu_nvml_is_due(read, list[i].to))
			continue;
		asked[n] = (struct wtl_nvml_field){.field = list[i].field, .scope = list[i].scope};
		due[n++] = &list[i];
	}
	if (!n)
		return;
	code = ask_fields(read, asked, n);
	for (size_t i = 0; i < n; i++)
		put_field(read, due[i], &asked[i], code);
}

/* Drivers without fields have the counter by a function of its own. */
static void read_energy(struct wtl_gpu_nvml_read *read)
{
	uint64_t energy_mj = 0;
	struct wtl_lib_arg args[] = {
		{.word = read->own->handle},
		{.memory = &energy_mj, .size = sizeof(energy_mj)},
	};

	int code;

	if (read->gone || !read->own->refused_ns[WTL_GPU_ENERGY_UJ])
		return;
	code = wtl_gpu_nvml_ask(read, WTL_NVML_TOTAL_ENERGY, args);
	if (code == WTL_NVML_OK)
		wtl_gpu_set(read->gpu, WTL_GPU_ENERGY_UJ, energy_mj * 1000);
	else
		wtl_gpu_unset(read->gpu, WTL_GPU_ENERGY_UJ, wtl_gpu_nvml_part_status(code), code);
}

/* What nvidia-smi shows as power.draw: nvmlDeviceGetPowerUsage, else what fields there are. */
static void complete_power(struct wtl_gpu_nvml_read *read)
{
	static const enum wtl_gpu_number others[] = {WTL_GPU_POWER_AVERAGE_UW,
						     WTL_GPU_POWER_INSTANT_UW};

	if (!read->own->refused_ns[WTL_GPU_POWER_UW])
		return;
	for (size_t i = 0; i < 2; i++) {
		read->gpu->numbers[WTL_GPU_POWER_UW] = read->gpu->numbers[others[i]];
		if (read->gpu->numbers[others[i]].status == WATTLE_STATUS_OK)
			return;
	}
}

int wtl_gpu_nvml_read_numbers(struct wtl_gpus_nvml *nvml, struct wtl_gpu_nvml_gpu *own, bool all,
			      struct wtl_gpu *gpu)
{
	struct wtl_gpu_nvml_read read = {
		.lib = &nvml->lib, .own = own, .gpu = gpu, .now_ns = wtl_io_mono_ns(nvml->io)};

	if (all) {
		wtl_gpu_nvml_read_fields(&read, fields, sizeof(fields) / sizeof(fields[0]));
		read_energy(&read);
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (all || calls[i].on_screen)
			wtl_gpu_nvml_read_call(&read, &calls[i]);
	read_memory(&read);
	read_temperature(&read);
	if (all)
		complete_power(&read);
	return read.gone;
}

/* ---- PCIe throughput ---- */

/* Without counters: the driver measures for 20 ms, for each direction. */
static void measure_pcie(struct wtl_gpu_nvml_read *read)
{
	static const enum wtl_gpu_number to[] = {WTL_GPU_PCIE_TX_BYTES_PER_S,
						 WTL_GPU_PCIE_RX_BYTES_PER_S};

	for (unsigned i = 0; i < 2; i++) {
		uint32_t kbs = 0;
		struct wtl_lib_arg args[] = {
			{.word = read->own->handle},
			{.word = i},
			{.memory = &kbs, .size = sizeof(kbs)},
		};

		if (wtl_gpu_nvml_is_due(read, to[i])) {
			int code = wtl_gpu_nvml_ask(read, WTL_NVML_PCIE_THROUGHPUT, args);

			wtl_gpu_nvml_put(read, to[i], code, (uint64_t)kbs * 1000);
		}
	}
}

static uint64_t rate(uint64_t now, uint64_t before, bool is_u32, int64_t ns)
{
	uint64_t bytes = is_u32 ? (uint32_t)(now - before) : now - before;

	return (uint64_t)((unsigned __int128)bytes * WTL_NS_PER_S / (uint64_t)ns);
}

int wtl_gpu_nvml_read_pcie(struct wtl_gpus_nvml *nvml, struct wtl_gpu_nvml_gpu *own,
			   struct wtl_gpu *gpu)
{
	struct wtl_gpu_nvml_read read = {
		.lib = &nvml->lib, .own = own, .gpu = gpu, .now_ns = wtl_io_mono_ns(nvml->io)};
	struct wtl_nvml_field asked[] = {{.field = WTL_NVML_FIELD_PCIE_TX_BYTES},
					 {.field = WTL_NVML_FIELD_PCIE_RX_BYTES}};
	bool is_u32 = false, has;
	uint64_t tx = 0, rx = 0;
	int64_t since_ns = read.now_ns - own->pcie_ns;

	if (own->has_pcie && since_ns < RATE_MIN_NS)
		return WTL_NVML_OK;
	has = ask_fields(&read, asked, 2) == WTL_NVML_OK &&
	      wtl_nvml_field_code(&asked[0]) == WTL_NVML_OK &&
	      wtl_nvml_field_code(&asked[1]) == WTL_NVML_OK && wtl_nvml_field_u64(&asked[0], &tx) &&
	      wtl_nvml_field_u64(&asked[1], &rx);
	is_u32 = asked[0].type == WTL_NVML_VALUE_U32;
	if (has && own->has_pcie && (is_u32 || (tx >= own->pcie_tx && rx >= own->pcie_rx))) {
		wtl_gpu_set(gpu, WTL_GPU_PCIE_TX_BYTES_PER_S,
			    rate(tx, own->pcie_tx, is_u32, since_ns));
		wtl_gpu_set(gpu, WTL_GPU_PCIE_RX_BYTES_PER_S,
			    rate(rx, own->pcie_rx, is_u32, since_ns));
	} else {
		measure_pcie(&read);
	}
	own->has_pcie = has;
	own->pcie_tx = tx;
	own->pcie_rx = rx;
	own->pcie_ns = read.now_ns;
	return read.gone;
}
