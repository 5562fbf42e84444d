/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_TOP_DRAW_H
#define WTL_COMMANDS_TOP_DRAW_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/canvas.h"
#include "commands/top/rows.h"
#include "commands/top/ui.h"
#include "commands/top/view.h"

/* The picture of `wattle top`: always the same for the same view, rows and state, at any size. Allocates no
 * memory. */
struct wtl_top_picture {
	struct wtl_canvas *canvas;
	const struct wtl_top_view *view;
	const struct wtl_top_rows *rows;
	struct wtl_top_ui *ui; /* only its places are written */
	int64_t now_ns;	       /* by the view's clock: for ages of figures */
	bool is_still;	       /* --once: no keys, no selection, no curves */
};

void wtl_top_draw(const struct wtl_top_picture *picture);

/* ---- Its parts: each draws into rows row … row + height - 1 ---- */

/* Lines about domains, by the room there is. */
enum wtl_top_detail { WTL_TOP_SUMMARY, WTL_TOP_COUNTED, WTL_TOP_ALL };

int wtl_top_domains_height(const struct wtl_top_picture *picture, enum wtl_top_detail detail);
void wtl_top_draw_domains(const struct wtl_top_picture *picture, int row, int height,
			  enum wtl_top_detail detail);

/* The axis is left of a curve; above it is a line with its name. */
enum { WTL_TOP_AXIS = 7 };

void wtl_top_draw_curves(const struct wtl_top_picture *picture, int row, int height);
/* One large curve of a domain, with a grid; the total's parts are stacked. */
void wtl_top_draw_curve(const struct wtl_top_picture *picture, const struct wtl_top_domain *domain,
			int row, int height, int column, int width);
/* Covers that row with a message if nothing new has come for a while. */
void wtl_top_draw_stale(const struct wtl_top_picture *picture, int row);

void wtl_top_draw_table(const struct wtl_top_picture *picture, int row, int height);

/* The position in the played recording (draw_play.c). */
void wtl_top_draw_play(const struct wtl_top_picture *picture, int row);

void wtl_top_draw_list(const struct wtl_top_picture *picture);
void wtl_top_draw_details(const struct wtl_top_picture *picture);
void wtl_top_draw_confirm(const struct wtl_top_picture *picture);

#endif
