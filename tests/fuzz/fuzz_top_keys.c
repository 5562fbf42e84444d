/* SPDX-License-Identifier: MIT */
/*
 * What somebody types at `wattle top`, or a terminal sends: bytes through a real terminal (a pty), what they are
 * taken for, what that does, and the picture. The first bytes are the terminal's rows and columns, and what is done
 * beside that: see IS_REPLAY.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/screen.h"
#include "commands/top/draw.h"
#include "commands/top/ui.h"
#include "energy/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	TYPED_MAX = 512,
	DRAWN_EACH = 64,
	ROWS_MAX = 40,
	COLUMNS_MAX = 120,
	PROCESSES = 6,
	SKIPPED = 77
};

/* The third byte. A picture takes as long as a hundred keys. */
enum { IS_REPLAY = 1, SHOWS = 2, WHOLE = 4, DRAWS_FIRST = 8, DRAWS_LAST = 16 };

#define NOW_NS (1000 * WTL_NS_PER_S)

static struct {
	struct wtl_screen *screen;
	int terminal; /* the other end of it */
	struct wtl_top_view view;
	struct wtl_top_ui ui;
	struct wtl_top_rows rows;
	struct wtl_canvas canvas;
	int n_inputs;
} top;

static void check(int good)
{
	if (!good)
		abort();
}

/* ---- A machine ---- */

static void add_domain(const char *name, enum wattle_kind kind, int gpu)
{
	struct wtl_top_domain *domain;

	check(wtl_top_view_reserve(&top.view, top.view.n_domains + 1, 0, 0, 0) == 0);
	domain = &top.view.domains[top.view.n_domains++];
	memset(domain, 0, sizeof(*domain));
	wtl_text_copy(domain->name, sizeof(domain->name), name);
	domain->kind = kind;
	domain->gpu = gpu;
	domain->method = WATTLE_METHOD_COUNTER;
	domain->in_total = domain->has_power = true;
	domain->energy.has_energy = domain->energy.has_power = 1;
	domain->power_uw = 42000000;
	domain->energy.energy_uj = 420000000;
	domain->weight = "cpu-time";
}

static void add_process(int pid, int parent, const char *name, const char *command)
{
	struct wtl_top_process *process;

	check(wtl_top_view_reserve(&top.view, 0, 0, top.view.n_processes + 1, 0) == 0);
	process = &top.view.processes[top.view.n_processes++];
	memset(process, 0, sizeof(*process));
	process->consumer = (struct wtl_consumer){.pid = pid,
						  .parent = parent,
						  .start_ns = pid % 2 ? pid * WTL_NS_PER_MS : 0,
						  .n_processes = 1,
						  .is_readable = true,
						  .n_threads = 1};
	wtl_text_copy(process->consumer.name, sizeof(process->consumer.name), name);
	wtl_text_copy(process->command, sizeof(process->command), command);
	wtl_text_copy(process->user, sizeof(process->user), pid % 3 ? "bob" : "root");
	process->has_power = process->has_dynamic = true;
	process->energy_uj[0] = (uint64_t)pid * 1000;
}

static void make_view(void)
{
	wtl_top_view_init(&top.view);
	add_domain("package-0", WATTLE_KIND_CPU, -1);
	add_domain("gpu-0", WATTLE_KIND_GPU, 0);
	check(wtl_top_view_reserve(&top.view, 0, 1, 0, 0) == 0);
	memset(&top.view.gpus[0], 0, sizeof(top.view.gpus[0]));
	wtl_text_copy(top.view.gpus[0].name, sizeof(top.view.gpus[0].name), "GPU");
	top.view.n_gpus = 1;
	for (int i = 0; i < PROCESSES; i++)
		add_process(10 + i, i ? 10 + i / 2 : 1, i % 2 ? "python" : "x",
			    "python train.py \xe6\xb5\x8b --data /srv");
	top.view.total.has_power = true;
	top.view.t_mono_ns = NOW_NS;
	top.view.duration_ns = 192 * WTL_NS_PER_S;
	top.view.interval_ns = 100 * WTL_NS_PER_MS;
	top.view.has_processes = true;
	top.view.generation = 1;
}

/* ---- The terminal ---- */

static void skip(const char *why)
{
	fprintf(stderr, "SKIP: %s\n", why);
	exit(SKIPPED);
}

static void open_terminal(void)
{
	struct termios raw;
	int own;

	top.terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (top.terminal < 0 || grantpt(top.terminal) < 0 || unlockpt(top.terminal) < 0)
		skip("there is no terminal to be had");
	own = open(ptsname(top.terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (own < 0 || tcgetattr(own, &raw) < 0)
		skip("there is no terminal to be had");
	cfmakeraw(&raw);
	tcsetattr(own, TCSANOW, &raw);
	check(dup2(own, STDIN_FILENO) >= 0 && dup2(own, STDOUT_FILENO) >= 0);
	close(own);
}

/* As a terminal does, which shows it: it may be more than there is room for between the two. */
static void *drain(void *unused)
{
	struct pollfd watched = {.fd = top.terminal, .events = POLLIN};
	char shown[4096];

	while (poll(&watched, 1, -1) > 0 && !(watched.revents & POLLHUP))
		while (read(top.terminal, shown, sizeof(shown)) > 0)
			;
	return unused;
}

static void watch_terminal(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, drain, NULL) != 0)
		skip("there is no thread to be had");
	pthread_detach(thread);
}

static void set_up(void)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	const struct wtl_screen_options options = {.color = true, .mouse = true};
	struct sigaction before[sizeof(faults) / sizeof(faults[0])];

	setenv("TERM", "xterm-256color", 1);
	make_view();
	open_terminal();
	watch_terminal();
	/* What a fuzzer does at a fault is more than giving the terminal back. */
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigaction(faults[i], NULL, &before[i]);
	if (wtl_screen_new(&options, &top.screen, NULL) < 0)
		skip("no terminal of type xterm-256color is known here");
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigaction(faults[i], &before[i], NULL);
}

static void set_size(unsigned rows, unsigned columns)
{
	const struct winsize size = {.ws_row = (unsigned short)(1 + rows % ROWS_MAX),
				     .ws_col = (unsigned short)(1 + columns % COLUMNS_MAX)};

	ioctl(top.terminal, TIOCSWINSZ, &size);
}

/* ---- The screen ---- */

static void make_rows(void)
{
	check(wtl_top_rows_make(&top.rows, &top.view, &top.ui.config, &top.ui.filter,
				&top.ui.toggled) == 0);
	wtl_top_ui_settle(&top.ui, &top.view, &top.rows, NOW_NS);
}

static void draw(void)
{
	const struct wtl_top_picture picture = {.canvas = &top.canvas,
						.view = &top.view,
						.rows = &top.rows,
						.ui = &top.ui,
						.now_ns = NOW_NS};
	int rows, columns;

	wtl_screen_size(top.screen, &rows, &columns);
	check(wtl_canvas_resize(&top.canvas, rows, columns) == 0);
	make_rows();
	wtl_top_draw(&picture);
	check(top.ui.selected >= 0 && (size_t)top.ui.selected <= top.rows.n);
	check(top.ui.cursor <= strnlen(top.ui.edit, sizeof(top.ui.edit)));
	check(strlen(top.ui.edit) <= WTL_FILTER_MAX);
}

static void obey(enum wtl_top_wish wish)
{
	if (wish == WTL_TOP_WISH_SIGNAL)
		check(top.ui.victim.pid > 1 && top.ui.victim.signal > 0 &&
		      top.ui.victim.start_ns > 0);
	if (wish == WTL_TOP_WISH_PLAY)
		wtl_play_order(&top.ui.play, &top.ui.order, NOW_NS);
}

static void take_inputs(void)
{
	struct wtl_input input;

	while (wtl_screen_read(top.screen, &input) == 1) {
		obey(wtl_top_ui_input(&top.ui, &top.view, &top.rows, &input, NOW_NS));
		make_rows();
		if (++top.n_inputs % DRAWN_EACH == 0)
			draw();
	}
}

/* With an end to whatever has begun: else 25 ms are waited for the rest of a key, and the next input would have it. */
static void type(const uint8_t *data, size_t size)
{
	static const char end[] = "mmmm";
	char typed[TYPED_MAX + sizeof(end)];

	size = size < TYPED_MAX ? size : TYPED_MAX;
	memcpy(typed, data, size);
	memcpy(typed + size, end, sizeof(end) - 1);
	size += sizeof(end) - 1;
	check(write(top.terminal, typed, size) == (ssize_t)size);
	take_inputs();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3)
		return 0;
	if (!top.screen)
		set_up();
	set_size(data[0], data[1]);
	wtl_top_ui_init(&top.ui);
	wtl_top_rows_init(&top.rows);
	wtl_canvas_init(&top.canvas);
	top.n_inputs = 0;
	top.ui.is_replay = data[2] & IS_REPLAY;
	wtl_play_init(&top.ui.play, 3600 * WTL_NS_PER_S, 0, NOW_NS);
	if (data[2] & DRAWS_FIRST)
		draw();
	else
		make_rows();
	type(data + 3, size - 3);
	if (data[2] & DRAWS_LAST)
		draw();
	if (data[2] & SHOWS)
		check(wtl_screen_show(top.screen, &top.canvas, data[2] & WHOLE) == 0);
	wtl_top_ui_done(&top.ui);
	wtl_top_rows_done(&top.rows);
	wtl_canvas_done(&top.canvas);
	return 0;
}
