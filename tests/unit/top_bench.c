/* SPDX-License-Identifier: MIT */
#include "top_bench.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "energy/units.h"
#include "golden.h"

#include "meter/meter.h"
#include "unit.h"

#define SECONDS_192 (192 * WTL_NS_PER_S)

static struct wtl_top_domain *add_domain(struct wtl_top_view *view, const char *name,
					 enum wattle_kind kind, double watts, double joules)
{
	struct wtl_top_domain *domain;

	assert_int_equal(wtl_top_view_reserve(view, view->n_domains + 1, 0, 0, 0), 0);
	domain = &view->domains[view->n_domains++];
	memset(domain, 0, sizeof(*domain));
	wtl_text_copy(domain->name, sizeof(domain->name), name);
	wtl_text_copy(domain->source, sizeof(domain->source), "rapl-perf");
	domain->kind = kind;
	domain->method = WATTLE_METHOD_COUNTER;
	domain->in_total = true;
	domain->gpu = -1;
	domain->has_power = watts >= 0.0;
	domain->energy.has_energy = watts >= 0.0;
	domain->energy.has_power = watts >= 0.0;
	domain->power_uw = watts >= 0.0 ? (uint64_t)(watts * 1e6) : 0;
	domain->energy.max_uw = domain->power_uw * 5 / 4;
	domain->energy.energy_uj = joules > 0.0 ? (uint64_t)(joules * 1e6) : 0;
	domain->energy.uncertainty_uj = domain->energy.energy_uj * 6 / 100;
	domain->weight = "cpu-time";
	domain->ledger = (struct wtl_ledger){.has_idle = true,
					     .live_uj = domain->energy.energy_uj * 40 / 100,
					     .exited_uj = domain->energy.energy_uj * 3 / 100,
					     .kernel_uj = domain->energy.energy_uj * 2 / 100,
					     .idle_uj = domain->energy.energy_uj * 54 / 100,
					     .unattributed_uj = domain->energy.energy_uj / 100,
					     .total_uj = domain->energy.energy_uj};
	return domain;
}

static void set_idle(struct wtl_top_domain *domain, double watts)
{
	domain->idle.is_known = true;
	domain->idle.idle_uw = (uint64_t)(watts * 1e6);
}

static void set_number(struct wtl_top_gpu *gpu, enum wtl_top_gpu_number which, uint64_t value)
{
	gpu->numbers[which] = (struct wtl_gpu_value){.status = WATTLE_STATUS_OK, .value = value};
}

static void fill_gpu(struct wtl_top_gpu *gpu, unsigned index)
{
	memset(gpu, 0, sizeof(*gpu));
	gpu->index = index;
	snprintf(gpu->domain, sizeof(gpu->domain), "gpu-%u", index);
	wtl_text_copy(gpu->name, sizeof(gpu->name), "NVIDIA A100-SXM4-80GB");
	gpu->status = WATTLE_STATUS_OK;
	for (unsigned i = 0; i < WTL_TOP_GPU_NUMBERS; i++)
		gpu->numbers[i].status = WATTLE_STATUS_ABSENT;
	set_number(gpu, WTL_TOP_GPU_USE_PERCENT, 98 - index);
	set_number(gpu, WTL_TOP_GPU_MEMORY_USED_BYTES, UINT64_C(36641439744) + index);
	set_number(gpu, WTL_TOP_GPU_MEMORY_TOTAL_BYTES, UINT64_C(85899345920));
	set_number(gpu, WTL_TOP_GPU_TEMPERATURE_C, 61 + index);
	set_number(gpu, WTL_TOP_GPU_CLOCK_SM_MHZ, 1410);
	set_number(gpu, WTL_TOP_GPU_THROTTLE, WTL_THROTTLE_SW_POWER_CAP);
	set_number(gpu, WTL_TOP_GPU_PCIE_GEN, 4);
	set_number(gpu, WTL_TOP_GPU_PCIE_WIDTH, 16);
	set_number(gpu, WTL_TOP_GPU_PCIE_TX_BYTES_PER_S, 312000000);
	set_number(gpu, WTL_TOP_GPU_PCIE_RX_BYTES_PER_S, UINT64_C(1288490188));
	set_number(gpu, WTL_TOP_GPU_PSTATE, 0);
}

static struct wtl_top_gpu *add_gpu(struct wtl_top_view *view, double watts)
{
	size_t index = view->n_gpus;
	struct wtl_top_domain *domain;
	char name[32];

	assert_int_equal(wtl_top_view_reserve(view, 0, index + 1, 0, 0), 0);
	snprintf(name, sizeof(name), "gpu-%zu", index);
	domain = add_domain(view, name, WATTLE_KIND_GPU, watts, watts * 192.0);
	domain->gpu = (int)index;
	wtl_text_copy(domain->source, sizeof(domain->source), "nvml");
	fill_gpu(&view->gpus[index], (unsigned)index);
	view->n_gpus++;
	return &view->gpus[index];
}

static struct wtl_top_process *add_process(struct wtl_top_view *view, int pid, int parent,
					   const char *user, const char *name, const char *command)
{
	struct wtl_top_process *process;

	assert_int_equal(wtl_top_view_reserve(view, 0, 0, view->n_processes + 1, 0), 0);
	process = &view->processes[view->n_processes++];
	memset(process, 0, sizeof(*process));
	process->consumer = (struct wtl_consumer){.pid = pid,
						  .parent = parent,
						  .start_ns = pid * WTL_NS_PER_MS,
						  .uid = 1000,
						  .n_processes = 1,
						  .is_readable = true,
						  .n_threads = 1,
						  .rss_bytes = 4096u * (unsigned)pid,
						  .pss_bytes = UINT64_MAX,
						  .uss_bytes = UINT64_MAX,
						  .gpu_memory_bytes = UINT64_MAX,
						  .gpu_ppm = UINT32_MAX};
	wtl_text_copy(process->consumer.name, sizeof(process->consumer.name), name);
	wtl_text_copy(process->command, sizeof(process->command), command);
	wtl_text_copy(process->user, sizeof(process->user), user);
	process->has_power = true;
	process->has_dynamic = true;
	return process;
}

static void burn(struct wtl_top_process *process, double cpu_w, double gpu_w, uint32_t cpu_ppm)
{
	process->cpu_uw[WTL_TOP_DYNAMIC] = (uint64_t)(cpu_w * 1e6);
	process->cpu_uw[WTL_TOP_FULL] = (uint64_t)(cpu_w * 1.8e6);
	process->gpu_uw[WTL_TOP_DYNAMIC] = (uint64_t)(gpu_w * 1e6);
	process->gpu_uw[WTL_TOP_FULL] = (uint64_t)(gpu_w * 1.3e6);
	process->has_gpu = gpu_w > 0.0;
	process->energy_uj[WTL_TOP_DYNAMIC] = (uint64_t)((cpu_w + gpu_w) * 150e6);
	process->energy_uj[WTL_TOP_FULL] = (uint64_t)((cpu_w + gpu_w) * 250e6);
	process->uncertainty_uj = process->energy_uj[WTL_TOP_DYNAMIC] / 20;
	process->consumer.cpu_ppm = cpu_ppm;
	process->consumer.cpu_ns = (int64_t)cpu_ppm * 150000;
	if (gpu_w > 0.0) {
		process->consumer.gpu_ppm = 970000;
		process->consumer.gpu_memory_bytes = UINT64_C(36641439744);
	}
}

/* Waves, a gap, and a step, so that a curve has all that it can have. */
static uint32_t curve_value(uint64_t power_uw, unsigned i)
{
	uint64_t mw = power_uw / 1000;
	unsigned phase = i % 60;

	if (i >= 90 && i < 100)
		return WTL_TOP_GAP;
	if (i < 60)
		return (uint32_t)(mw / 2);
	return (uint32_t)(mw * (70 + (phase < 30 ? phase : 60 - phase)) / 100);
}

/* 200 bins of every domain and the total. */
static void draw_curves(struct wtl_top_view *view)
{
	view->clock.bin_ns = 100 * WTL_NS_PER_MS;
	for (unsigned bin = 0; bin < 200; bin++) {
		for (size_t i = 0; i < view->n_domains; i++)
			view->domains[i].curve.newest =
				view->domains[i].has_power
					? curve_value(view->domains[i].power_uw, bin)
					: WTL_TOP_GAP;
		view->total.curve.newest =
			view->total.power_uw ? curve_value(view->total.power_uw, bin) : WTL_TOP_GAP;
		wtl_top_view_add_bin(view, true);
	}
}

static void sum_up(struct wtl_top_view *view)
{
	struct wtl_top_domain *total = &view->total;

	wtl_text_copy(total->name, sizeof(total->name), "total");
	total->in_total = true;
	total->has_power = true;
	total->energy.has_energy = true;
	total->method = WATTLE_METHOD_COUNTER;
	total->idle.is_known = true;
	for (size_t i = 0; i < view->n_domains; i++) {
		if (!view->domains[i].in_total)
			continue;
		total->power_uw += view->domains[i].power_uw;
		total->energy.energy_uj += view->domains[i].energy.energy_uj;
		total->idle.idle_uw += view->domains[i].idle.idle_uw;
	}
	total->energy.uncertainty_uj = total->energy.energy_uj / 20;
	assert_int_equal(wtl_meter_carbon("FRA", &view->carbon), 0);
	view->emitted_ug = wattle_carbon_ug(&view->carbon, total->energy.energy_uj);
	view->t_mono_ns = 1000 * WTL_NS_PER_S;
	view->duration_ns = SECONDS_192;
	view->interval_ns = 100 * WTL_NS_PER_MS;
	view->has_processes = true;
	view->generation = 1;
	view->self = (struct wtl_top_self){
		.cpu_ppm = 4200, .rss_bytes = 6500000, .has_power = true, .power_uw = 18000};
	draw_curves(view);
}

static void set_machine(struct wtl_top_view *view)
{
	view->machine = (struct wtl_host_state){.n_cpus = 64,
						.has_use = true,
						.use_ppm = 341200,
						.memory_bytes = UINT64_C(270000000000),
						.memory_used_bytes = UINT64_C(81000000000),
						.has_temperature = true,
						.temperature_c = 61,
						.clock_mhz = 2900,
						.throttled = 3};
	wtl_text_copy(view->machine.host, sizeof(view->machine.host), "node17");
}

static void add_groups(struct wtl_top_view *view)
{
	assert_int_equal(wtl_top_view_reserve(view, 0, 0, 0, 3), 0);
	view->n_groups = 3;
	memset(view->groups, 0, 3 * sizeof(view->groups[0]));
	wtl_text_copy(view->groups[0].unit, sizeof(view->groups[0].unit), "session-3.scope");
	wtl_text_copy(view->groups[0].cgroup, sizeof(view->groups[0].cgroup),
		      "/user.slice/user-1000.slice/session-3.scope");
	wtl_text_copy(view->groups[1].container, sizeof(view->groups[1].container),
		      "docker/3f1c2a9b77de");
	wtl_text_copy(view->groups[1].unit, sizeof(view->groups[1].unit),
		      "docker-3f1c2a9b77de.scope");
	wtl_text_copy(view->groups[2].job, sizeof(view->groups[2].job), "slurm/4711");
}

static void add_processes(struct wtl_top_view *view)
{
	struct wtl_top_process *process;

	burn(add_process(view, 1, 0, "root", "systemd", "/sbin/init"), 0.01, 0.0, 300);
	burn(add_process(view, 812, 1, "root", "sshd", "sshd: /usr/sbin/sshd -D"), 0.0, 0.0, 0);
	process = add_process(view, 2210, 812, "bob", "bash", "-bash");
	process->consumer.group = &view->groups[0];
	process = add_process(view, 4321, 2210, "bob", "python",
			      "python train.py --epochs 90 --data /srv/imagenet --amp");
	process->consumer.group = &view->groups[0];
	burn(process, 38.24, 231.6, 3871000);
	process = add_process(view, 4330, 4321, "bob", "python", "python train.py worker 0");
	process->consumer.group = &view->groups[0];
	burn(process, 9.71, 0.0, 982000);
	process = add_process(view, 4331, 4321, "bob", "python", "python train.py worker 1");
	process->consumer.group = &view->groups[0];
	burn(process, 9.66, 0.0, 977000);
	process = add_process(view, 5005, 1, "100999", "postgres", "postgres: writer");
	process->consumer.group = &view->groups[1];
	burn(process, 1.42, 0.0, 120000);
	process = add_process(view, 6006, 1, "alice", "lmp", "lmp -in \xe6\xb5\x8b\xe8\xaf\x95.lj");
	process->consumer.group = &view->groups[2];
	burn(process, 12.5, 0.0, 1000000);
	/* Names that would do things to a terminal. */
	burn(add_process(view, 6666, 1, "eve", "x",
			 "evil\x1b[2J\x1b]0;owned\x07\xc2\x9b"
			 "31m tail"),
	     0.33, 0.0, 30000);
	process = add_process(view, 77, 2, "root", "kworker/3:1", "");
	process->consumer.state = WTL_CONSUMER_KERNEL;
	burn(process, 0.8, 0.0, 60000);
	process = add_process(view, 4100, 2210, "bob", "make", "make -j8");
	process->consumer.state = WTL_CONSUMER_EXITED;
	process->has_power = false;
	process->energy_uj[0] = 90000000;
	process = add_process(view, 0, 0, "", "others", "");
	process->consumer.state = WTL_CONSUMER_FOLDED;
	process->consumer.n_processes = 1234;
	process->consumer.rss_bytes = UINT64_MAX;
	process->has_power = false;
	process->energy_uj[0] = 12000000;
}

void top_bench_gpus(struct wtl_top_view *view, size_t n)
{
	struct wtl_top_domain *domain;

	wtl_top_view_init(view);
	set_machine(view);
	for (int i = 0; i < 2; i++) {
		domain = add_domain(view, i ? "package-1" : "package-0", WATTLE_KIND_CPU,
				    i ? 61.5 : 104.2, i ? 11800.0 : 20006.0);
		domain->limit_uw = 165000000;
		set_idle(domain, 36.0);
		wtl_text_copy(domain->device, sizeof(domain->device), "Intel(R) Xeon(R) Gold 6338");
		domain = add_domain(view, i ? "core-1" : "core-0", WATTLE_KIND_CORE,
				    i ? 22.0 : 64.0, i ? 4224.0 : 12288.0);
		domain->in_total = false;
		wtl_text_copy(domain->inside, sizeof(domain->inside),
			      i ? "package-1" : "package-0");
	}
	domain = add_domain(view, "dram-0", WATTLE_KIND_DRAM, 12.4, 2380.0);
	set_idle(domain, 7.5);
	domain = add_domain(view, "psys-0", WATTLE_KIND_PLATFORM, 512.0, 98304.0);
	domain->in_total = false;
	for (size_t i = 0; i < n; i++) {
		add_gpu(view, 291.3 - (double)i);
		domain = &view->domains[view->n_domains - 1];
		domain->limit_uw = 400000000;
		set_idle(domain, 55.0);
	}
	add_groups(view);
	add_processes(view);
	sum_up(view);
	view->gpus_answered_ns = view->t_mono_ns;
}

void top_bench_server(struct wtl_top_view *view)
{
	struct wtl_top_domain *domain;

	top_bench_gpus(view, 1);
	add_gpu(view, -1.0)->status = WATTLE_STATUS_ASLEEP;
	domain = &view->domains[view->n_domains - 1];
	domain->status = WATTLE_STATUS_ASLEEP;
	wtl_text_copy(domain->reason, sizeof(domain->reason), "reading it would wake it");
	add_gpu(view, -1.0)->status = WATTLE_STATUS_GONE;
	domain = &view->domains[view->n_domains - 1];
	domain->status = WATTLE_STATUS_GONE;
	wtl_text_copy(domain->reason, sizeof(domain->reason),
		      "the GPU has fallen off the bus (NVML: GPU is lost)");
	view->total.energy.flags = WATTLE_ENERGY_INCOMPLETE;
}

void top_bench_laptop(struct wtl_top_view *view)
{
	struct wtl_top_domain *domain;

	wtl_top_view_init(view);
	domain = add_domain(view, "package-0", WATTLE_KIND_CPU, 8.4, 1612.0);
	domain->method = WATTLE_METHOD_MODELLED;
	domain->energy.uncertainty_uj = domain->energy.energy_uj;
	wtl_text_copy(domain->source, sizeof(domain->source), "model");
	burn(add_process(view, 1, 0, "root", "systemd", "/sbin/init"), 0.01, 0.0, 300);
	burn(add_process(view, 50, 1, "ann", "firefox", "firefox"), 2.5, 0.0, 500000);
	burn(add_process(view, 60, 50, "ann", "Web Content", ""), 0.5, 0.0, 100000);
	for (size_t i = 0; i < view->n_processes; i++) {
		view->processes[i].has_dynamic = false;
		view->processes[i].cpu_uw[WTL_TOP_DYNAMIC] =
			view->processes[i].cpu_uw[WTL_TOP_FULL];
	}
	sum_up(view);
	view->total.method = WATTLE_METHOD_MODELLED;
	view->total.idle.is_known = false;
	view->carbon_is_default = true;
}

void top_bench_denied(struct wtl_top_view *view)
{
	struct wtl_top_domain *domain;

	wtl_top_view_init(view);
	domain = add_domain(view, "package-0", WATTLE_KIND_CPU, -1.0, 0.0);
	domain->status = WATTLE_STATUS_DENIED;
	wtl_text_copy(domain->reason, sizeof(domain->reason), "only root may read energy_uj");
	wtl_text_copy(domain->remedy, sizeof(domain->remedy),
		      "chmod g+r /sys/class/powercap/intel-rapl:0/energy_uj");
	sum_up(view);
	view->total.has_power = false;
	view->total.energy.has_energy = false;
	view->has_processes = false;
	wtl_text_copy(view->processes_reason, sizeof(view->processes_reason),
		      "processes cannot be followed here: /proc is not there");
}

struct wtl_top_process *top_bench_process(struct wtl_top_view *view, int pid)
{
	for (size_t i = 0; i < view->n_processes; i++)
		if (view->processes[i].consumer.pid == pid)
			return &view->processes[i];
	fail_msg("there is no process %d", pid);
	return NULL;
}

void top_bench_init(struct top_bench *bench, void (*machine)(struct wtl_top_view *view))
{
	machine(&bench->view);
	wtl_top_ui_init(&bench->ui);
	wtl_top_rows_init(&bench->rows);
	wtl_canvas_init(&bench->canvas);
}

void top_bench_done(struct top_bench *bench)
{
	wtl_top_view_done(&bench->view);
	wtl_top_ui_done(&bench->ui);
	wtl_top_rows_done(&bench->rows);
	wtl_canvas_done(&bench->canvas);
}

static void make_rows(struct top_bench *bench)
{
	assert_int_equal(wtl_top_rows_make(&bench->rows, &bench->view, &bench->ui.config,
					   &bench->ui.filter, &bench->ui.toggled),
			 0);
	wtl_top_ui_settle(&bench->ui, &bench->view, &bench->rows, bench->view.t_mono_ns);
}

void top_bench_draw(struct top_bench *bench, int rows, int columns)
{
	struct wtl_top_picture picture = {.canvas = &bench->canvas,
					  .view = &bench->view,
					  .rows = &bench->rows,
					  .ui = &bench->ui,
					  .now_ns = bench->view.t_mono_ns};

	make_rows(bench);
	assert_int_equal(wtl_canvas_resize(&bench->canvas, rows, columns), 0);
	wtl_top_draw(&picture);
	/* The table's height is known now: what was chosen may have to be scrolled to. */
	wtl_top_ui_settle(&bench->ui, &bench->view, &bench->rows, bench->view.t_mono_ns);
	wtl_top_draw(&picture);
}

static enum wtl_key key_named(const char *name, size_t len)
{
	static const struct {
		const char *name;
		enum wtl_key key;
	} keys[] = {
		{"up", WTL_KEY_UP},	  {"down", WTL_KEY_DOWN},    {"left", WTL_KEY_LEFT},
		{"right", WTL_KEY_RIGHT}, {"pgup", WTL_KEY_PAGE_UP}, {"pgdn", WTL_KEY_PAGE_DOWN},
		{"home", WTL_KEY_HOME},	  {"end", WTL_KEY_END},	     {"enter", WTL_KEY_ENTER},
		{"esc", WTL_KEY_ESCAPE},  {"bs", WTL_KEY_BACKSPACE}, {"del", WTL_KEY_DELETE},
		{"F1", WTL_KEY_F1},	  {"F2", WTL_KEY_F2},	     {"F3", WTL_KEY_F3},
		{"F4", WTL_KEY_F4},	  {"F5", WTL_KEY_F5},	     {"F6", WTL_KEY_F6},
		{"F7", WTL_KEY_F7},	  {"F8", WTL_KEY_F8},	     {"F9", WTL_KEY_F9},
		{"F10", WTL_KEY_F10}};

	for (size_t i = 0; i < UNIT_COUNT(keys); i++)
		if (strlen(keys[i].name) == len && strncmp(keys[i].name, name, len) == 0)
			return keys[i].key;
	fail_msg("there is no key <%.*s>", (int)len, name);
	return WTL_KEY_NONE;
}

enum wtl_top_wish top_bench_type(struct top_bench *bench, const char *keys)
{
	enum wtl_top_wish last = WTL_TOP_WISH_NOTHING;

	while (*keys) {
		struct wtl_input input = {.kind = WTL_INPUT_POINT, .point = (unsigned char)*keys};
		const char *end = *keys == '<' ? strchr(keys, '>') : NULL;
		enum wtl_top_wish wish;

		if (end && end > keys + 1) {
			input.kind = WTL_INPUT_KEY;
			input.key = key_named(keys + 1, (size_t)(end - keys - 1));
			keys = end;
		}
		make_rows(bench);
		wish = wtl_top_ui_input(&bench->ui, &bench->view, &bench->rows, &input,
					bench->view.t_mono_ns);
		last = wish != WTL_TOP_WISH_NOTHING ? wish : last;
		keys++;
	}
	return last;
}

void top_bench_golden(const char *name, const struct wtl_canvas *canvas, bool styles)
{
	char path[256];
	struct wtl_buf buf;

	wtl_buf_init(&buf, 8u << 20);
	assert_int_equal(wtl_canvas_dump(canvas, &buf), 0);
	if (styles)
		assert_int_equal(wtl_canvas_dump_styles(canvas, &buf), 0);
	snprintf(path, sizeof(path), "top/%s", name);
	golden_check(path, wtl_buf_str(&buf));
	wtl_buf_done(&buf);
}
