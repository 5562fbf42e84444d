/* SPDX-License-Identifier: MIT */
#include "profile/record.h"

#include <string.h>
#include <time.h>

#include "profile/ring.h"

/* DWARF's numbers of the registers, in the kernel's order (asm/perf_regs.h). */
#if defined(__x86_64__)
#define SAMPLE_REGISTERS UINT64_C(0xff01ff)
static const int dwarf_number[WTL_RECORD_REGISTERS] = {0, 3, 2,	 1,  4,	 5,  6,	 7, 16,
						       8, 9, 10, 11, 12, 13, 14, 15};
#elif defined(__aarch64__)
#define SAMPLE_REGISTERS UINT64_C(0x1ffffffff)
static const int dwarf_number[WTL_RECORD_REGISTERS] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
						       11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
						       22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
#else
#define SAMPLE_REGISTERS UINT64_C(0)
static const int dwarf_number[] = {0};
#endif

/*
 * After a burst of context switches the kernel samples fewer of them, and returns to the usual rate only slowly. So a
 * second event asks for more: registers alone are cheap. BARE_HZ_MOST is the default of
 * kernel.perf_event_max_sample_rate.
 */
enum { BARE_SHARE = 100, BARE_HZ_MOST = 100000 };

/* The end of every record that is no sample (sample_id_all). */
struct sample_id {
	uint32_t pid, tid;
	uint64_t t_ns;
	uint32_t cpu, unused;
};

/* Sets the fields of samples, and of the end of other records. */
static void ask_fields(struct perf_event_attr *attr, unsigned stack_bytes)
{
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			    PERF_SAMPLE_PERIOD;
	attr->sample_id_all = 1;
	if (stack_bytes == 0)
		return;
	attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr->sample_regs_user = SAMPLE_REGISTERS;
	attr->sample_stack_user = stack_bytes;
	attr->exclude_callchain_user = 1;
}

void wtl_record_ask(const struct wtl_rings_options *options, bool has_kernel,
		    struct perf_event_attr ret_attrs[WTL_RECORD_EVENTS])
{
	struct perf_event_attr *loud = &ret_attrs[WTL_RECORD_LOUD];
	struct perf_event_attr *quiet = &ret_attrs[WTL_RECORD_QUIET];
	struct perf_event_attr *turns = &ret_attrs[WTL_RECORD_TURNS];
	struct perf_event_attr *bare = &ret_attrs[WTL_RECORD_BARE];

	*loud = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(*loud),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = UINT64_C(1000000000) / options->hz,
		.inherit = 1,
		.disabled = options->pid == 0, /* until exec() */
		.enable_on_exec = options->pid == 0,
		.exclude_kernel = !has_kernel,
		.exclude_hv = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.context_switch = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.wakeup_events = 1, /* of samples */
	};
	ask_fields(loud, options->stack_bytes);
	*quiet = *loud;
	quiet->disabled = 1;
	quiet->enable_on_exec = 0;
	quiet->watermark = 1;
	quiet->wakeup_watermark = 0;
	*turns = *loud;
	turns->config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	turns->freq = 1; /* the kernel chooses the period, for hz a second */
	turns->sample_freq = options->hz;
	turns->mmap = turns->mmap2 = turns->comm = turns->comm_exec = turns->task = 0;
	turns->context_switch = 0;
	*bare = *turns;
	bare->sample_freq =
		BARE_SHARE * options->hz < BARE_HZ_MOST ? BARE_SHARE * options->hz : BARE_HZ_MOST;
	/* No stack, not one of size 0: the kernel may take that for the turn's other sample as well. */
	bare->sample_type &= ~(uint64_t)PERF_SAMPLE_STACK_USER;
	bare->sample_stack_user = 0;
	bare->watermark = 1;
	bare->wakeup_watermark = 0;
}

/* Walks over a record's fields; beyond its end they are zeros. */
struct fields {
	const uint8_t *at, *end;
};

static void skip(struct fields *fields, size_t n)
{
	size_t left = (size_t)(fields->end - fields->at);

	fields->at += n < left ? n : left;
}

static uint64_t take_u64(struct fields *fields)
{
	uint64_t value = 0;

	if (fields->end - fields->at >= (ptrdiff_t)sizeof(value))
		memcpy(&value, fields->at, sizeof(value));
	skip(fields, sizeof(value));
	return value;
}

static uint32_t take_u32(struct fields *fields)
{
	uint32_t value = 0;

	if (fields->end - fields->at >= (ptrdiff_t)sizeof(value))
		memcpy(&value, fields->at, sizeof(value));
	skip(fields, sizeof(value));
	return value;
}

static struct fields fields_of(const struct perf_event_header *record)
{
	const uint8_t *begin = (const uint8_t *)record;

	return (struct fields){begin + sizeof(*record), begin + record->size};
}

int64_t wtl_record_time(const struct perf_event_header *record)
{
	struct fields fields = fields_of(record);
	struct sample_id id;

	if (record->type == PERF_RECORD_SAMPLE) {
		skip(&fields, 16); /* ip; pid and tid */
		return (int64_t)take_u64(&fields);
	}
	if (fields.end - fields.at < (ptrdiff_t)sizeof(id))
		return 0;
	memcpy(&id, fields.end - sizeof(id), sizeof(id));
	return (int64_t)id.t_ns;
}

/* Only a bare sample has no word for the size of its stack, with registers or without. */
static bool is_bare(const struct perf_event_header *record)
{
	const size_t size = WTL_RECORD_GLANCE - sizeof(uint64_t);

	return record->size == size ||
	       record->size == size - sizeof(uint64_t) * WTL_RECORD_REGISTERS;
}

bool wtl_record_glance(const struct perf_event_header *record, struct wtl_ring_glance *glance)
{
	struct fields fields = fields_of(record);

	if (record->type != PERF_RECORD_SAMPLE || is_bare(record))
		return false;
	if (record->size > WTL_RECORD_GLANCE)
		fields.end = (const uint8_t *)record + WTL_RECORD_GLANCE;
	*glance = (struct wtl_ring_glance){0};
	skip(&fields, 8); /* instruction pointer */
	glance->pid = (int)take_u32(&fields);
	glance->tid = (int)take_u32(&fields);
	glance->t_ns = glance->turned_ns = (int64_t)take_u64(&fields);
	glance->cpu = (int)take_u32(&fields);
	skip(&fields, 12); /* period */
	if (take_u64(&fields) != PERF_SAMPLE_REGS_ABI_64)
		return true;
	skip(&fields, 8 * (size_t)WTL_RECORD_STACK_POINTER);
	glance->stack = take_u64(&fields);
	skip(&fields, 8 * (size_t)(WTL_RECORD_REGISTERS - WTL_RECORD_STACK_POINTER - 1));
	glance->copied = take_u64(&fields);
	return true;
}

static void read_registers(struct fields *fields, struct wtl_ring_event *event)
{
	uint64_t abi = take_u64(fields);

	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	for (size_t i = 0; i < sizeof(dwarf_number) / sizeof(dwarf_number[0]); i++)
		event->sample.registers[dwarf_number[i]] = take_u64(fields);
	event->sample.has_registers = abi == PERF_SAMPLE_REGS_ABI_64;
	event->sample.is_narrow = abi == PERF_SAMPLE_REGS_ABI_32;
}

static void read_stack(struct fields *fields, struct wtl_ring_event *event)
{
	uint64_t size = take_u64(fields), used;

	event->sample.stack = fields->at;
	if (size == 0 || size > (uint64_t)(fields->end - fields->at))
		return;
	skip(fields, size);
	used = take_u64(fields);
	event->sample.stack_len = used < size ? used : size;
}

static void read_sample(const struct perf_event_header *record, bool has_stack,
			struct wtl_ring_event *event)
{
	struct fields fields = fields_of(record);

	event->kind = WTL_RING_SAMPLE;
	skip(&fields, 8); /* instruction pointer, which the registers have too */
	event->pid = (int)take_u32(&fields);
	event->tid = (int)take_u32(&fields);
	event->t_ns = (int64_t)take_u64(&fields);
	event->cpu = take_u32(&fields);
	skip(&fields, 4);
	/* The period: of the clock in ns, 100 µs at the least; of turns a number of turns. */
	event->sample.is_turn = take_u64(&fields) < 1000000000 / WTL_RING_HZ_MOST;
	if (!has_stack)
		return;
	event->sample.is_bare = is_bare(record);
	read_registers(&fields, event);
	read_stack(&fields, event);
}

static void read_map(const struct perf_event_header *record, struct wtl_ring_event *event)
{
	struct fields fields = fields_of(record);
	uint32_t major, minor;

	event->kind = WTL_RING_MAP;
	skip(&fields, 8);
	event->map.start = take_u64(&fields);
	event->map.length = take_u64(&fields);
	event->map.offset = take_u64(&fields);
	major = take_u32(&fields);
	minor = take_u32(&fields);
	event->map.device = (uint64_t)major << 32 | minor;
	event->map.inode = take_u64(&fields);
	skip(&fields, 16); /* generation, protection, flags */
	event->map.path = (const char *)fields.at;
}

static void read_name(const struct perf_event_header *record, struct wtl_ring_event *event)
{
	struct fields fields = fields_of(record);

	event->kind = WTL_RING_NAME;
	skip(&fields, 8);
	event->name.name = (const char *)fields.at;
	event->name.is_exec = record->misc & PERF_RECORD_MISC_COMM_EXEC;
}

static void read_task(const struct perf_event_header *record, struct wtl_ring_event *event)
{
	struct fields fields = fields_of(record);

	event->kind = record->type == PERF_RECORD_FORK ? WTL_RING_BORN : WTL_RING_ENDED;
	event->pid = (int)take_u32(&fields);
	event->born.parent_pid = (int)take_u32(&fields);
	event->tid = (int)take_u32(&fields);
	event->born.parent_tid = (int)take_u32(&fields);
}

bool wtl_record_read(const struct perf_event_header *record, bool has_stack,
		     struct wtl_ring_event *event)
{
	struct sample_id id = {0};

	memset(event, 0, sizeof(*event));
	if (record->type == PERF_RECORD_SAMPLE) {
		read_sample(record, has_stack, event);
		return true;
	}
	if (record->size < sizeof(*record) + sizeof(id))
		return false;
	memcpy(&id, (const uint8_t *)record + record->size - sizeof(id), sizeof(id));
	event->pid = (int)id.pid;
	event->tid = (int)id.tid;
	event->t_ns = (int64_t)id.t_ns;
	event->cpu = id.cpu;
	switch (record->type) {
	case PERF_RECORD_MMAP2:
		read_map(record, event);
		return true;
	case PERF_RECORD_COMM:
		read_name(record, event);
		return true;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		read_task(record, event);
		return true;
	case PERF_RECORD_SWITCH:
		event->kind = WTL_RING_SWITCH;
		event->turn.is_out = record->misc & PERF_RECORD_MISC_SWITCH_OUT;
		event->turn.is_preempted = record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
		return true;
	case PERF_RECORD_LOST: {
		struct fields fields = fields_of(record);

		skip(&fields, 8);
		event->kind = WTL_RING_LOST;
		event->n_lost = take_u64(&fields);
		return true;
	}
	default:
		return false;
	}
}
