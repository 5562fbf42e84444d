/* SPDX-License-Identifier: MIT */
#ifndef WTL_TESTS_TOP_BENCH_H
#define WTL_TESTS_TOP_BENCH_H

#include "cli/canvas.h"
#include "commands/top/draw.h"
#include "commands/top/ui.h"
#include "commands/top/view.h"

/* Machines that wattle top can be shown, and their pictures. */

/* Two packages, DRAM, psys, three GPUs (one asleep, one lost) and 12 processes, after 3 min 12 s. */
void top_bench_server(struct wtl_top_view *view);
/* One modelled package, no GPU, no idle baseline, three processes. */
void top_bench_laptop(struct wtl_top_view *view);
/* Nothing but a domain that may not be read. */
void top_bench_denied(struct wtl_top_view *view);
/* The server with n GPUs that all work. */
void top_bench_gpus(struct wtl_top_view *view, size_t n);

/* A process of a view; fails the test if it is not there. */
struct wtl_top_process *top_bench_process(struct wtl_top_view *view, int pid);

/* All that a picture takes. */
struct top_bench {
	struct wtl_top_view view;
	struct wtl_top_ui ui;
	struct wtl_top_rows rows;
	struct wtl_canvas canvas;
};

void top_bench_init(struct top_bench *bench, void (*machine)(struct wtl_top_view *view));
void top_bench_done(struct top_bench *bench);
void top_bench_draw(struct top_bench *bench, int rows, int columns);
/* Types: printable characters as they are; "<F3>", "<enter>", "<esc>", "<up>", … as keys. Returns the
 * last wish that was not nothing. */
enum wtl_top_wish top_bench_type(struct top_bench *bench, const char *keys);

/* Compares with tests/golden/top/NAME, or writes it with WATTLE_GOLDEN_UPDATE=1. */
void top_bench_golden(const char *name, const struct wtl_canvas *canvas, bool styles);

#endif
