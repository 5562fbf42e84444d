/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/complain.h"
#include "commands/plot/plot.h"
#include "commands/top/draw.h"
#include "commands/top/format.h"
#include "commands/top/session.h"
#include "energy/units.h"

/* `wattle plot --live`: the curves of wattle top alone, as large as the terminal is. */

enum { PANEL_MIN_ROWS = 6, PANEL_MIN_COLUMNS = 36, ONCE_ROWS = 12, CONTROL_L = 12 };

/* The time that the narrowest window shows. */
#define ONCE_NS (20 * WTL_NS_PER_S)

struct plot_live {
	struct wtl_top_session session; /* first */
	const char *const *domains;
	size_t n_domains; /* 0: the total */
};

struct box {
	int row, height, column, width;
};

static const struct wtl_top_domain *find(const struct wtl_top_view *view, const char *name)
{
	if (strcmp(name, "total") == 0)
		return &view->total;
	return wtl_top_find_domain(view, name);
}

static int panels_of(const struct plot_live *live)
{
	return live->n_domains > 0 ? (int)live->n_domains : 1;
}

/* Side by side only if they would be too low below each other, and are still wide enough. */
static int columns_for(int n, int rows, int columns)
{
	int side_by_side = 1;

	while (side_by_side < n &&
	       rows / ((n + side_by_side - 1) / side_by_side) < PANEL_MIN_ROWS &&
	       columns / (side_by_side + 1) >= PANEL_MIN_COLUMNS)
		side_by_side++;
	return side_by_side;
}

/* The reason that nothing is drawn, in the place of the caption. */
static void draw_reason(const struct wtl_top_picture *picture, const struct wtl_top_domain *domain,
			const char *name, const struct box *box)
{
	int at = box->column + WTL_TOP_AXIS, end = box->column + box->width;
	const char *reason = !domain ? "there is no such domain" : domain->reason;

	at += wtl_canvas_text(picture->canvas, box->row, at, end - at, WTL_STYLE_STRONG, name) + 1;
	wtl_canvas_text(picture->canvas, box->row, at, end - at, WTL_STYLE_WARN,
			reason[0] ? reason : "no power known");
}

static void draw_panel(const struct plot_live *live, const struct wtl_top_picture *picture, int i,
		       const struct box *box)
{
	const char *name = live->n_domains > 0 ? live->domains[i] : "total";
	const struct wtl_top_domain *domain = find(picture->view, name);

	/* No sample yet. */
	if (!picture->view->t_mono_ns)
		return;
	if (domain)
		wtl_top_draw_curve(picture, domain, box->row, box->height, box->column, box->width);
	if (!domain || !domain->has_power)
		draw_reason(picture, domain, name, box);
}

static void draw_title(const struct wtl_top_picture *picture)
{
	const struct wtl_top_view *view = picture->view;
	struct wtl_canvas *canvas = picture->canvas;
	const char *place = wtl_top_place(view);
	char text[WTL_FIGURE_MAX];
	int at = 1;

	at += wtl_canvas_text(canvas, 0, at, canvas->columns - at, WTL_STYLE_TITLE, "wattle plot");
	at += 2;
	if (picture->ui->is_paused)
		at += wtl_canvas_text(canvas, 0, at, canvas->columns - at, WTL_STYLE_WARN,
				      "held: space goes on") +
		      2;
	wtl_canvas_text(canvas, 0, at, canvas->columns - at, WTL_STYLE_FAINT,
			picture->ui->is_paused && place == view->machine.host ? "" : place);
	wtl_canvas_right(canvas, 0, canvas->columns - 12, 11, WTL_STYLE_FAINT,
			 wtl_figure_clock(text, view->duration_ns));
}

static void draw_keys(const struct wtl_top_picture *picture, int row)
{
	static const struct {
		const char *key, *label;
	} keys[] = {{"q", "Quit"}, {"Space", "Hold"}, {"+", "Longer"}, {"-", "Shorter"}};
	struct wtl_canvas *canvas = picture->canvas;
	int at = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		at += wtl_canvas_text(canvas, row, at, canvas->columns - at, WTL_STYLE_KEY,
				      keys[i].key);
		at += wtl_canvas_text(canvas, row, at, canvas->columns - at, WTL_STYLE_LABEL,
				      keys[i].label);
		at++;
	}
}

static void draw(struct wtl_top_session *session, const struct wtl_top_picture *picture)
{
	const struct plot_live *live = (const struct plot_live *)session;
	struct wtl_canvas *canvas = picture->canvas;
	const bool has_keys = !picture->is_still && canvas->rows > PANEL_MIN_ROWS;
	int rows = canvas->rows - 1 - has_keys, n = panels_of(live), side_by_side, below;

	wtl_canvas_clear(canvas);
	if (rows < 1 || canvas->columns < 1)
		return;
	side_by_side = columns_for(n, rows, canvas->columns);
	below = (n + side_by_side - 1) / side_by_side;
	draw_title(picture);
	for (int i = 0; i < n; i++) {
		int x = i % side_by_side, y = i / side_by_side;
		const struct box box = {
			.row = 1 + y * rows / below,
			.height = (y + 1) * rows / below - y * rows / below,
			.column = x * canvas->columns / side_by_side,
			.width = (x + 1) * canvas->columns / side_by_side -
				 x * canvas->columns / side_by_side,
		};

		draw_panel(live, picture, i, &box);
	}
	if (has_keys)
		draw_keys(picture, canvas->rows - 1);
	wtl_top_draw_stale(picture, 0);
}

/* ---- Keys ---- */

static void change_window(struct wtl_top_ui *ui, bool longer)
{
	if (longer && ui->config.set[WTL_SET_WINDOW] + 1 < WTL_TOP_WINDOWS)
		ui->config.set[WTL_SET_WINDOW]++;
	else if (!longer && ui->config.set[WTL_SET_WINDOW] > 0)
		ui->config.set[WTL_SET_WINDOW]--;
}

static enum wtl_top_wish take_point(struct wtl_top_ui *ui, uint32_t point)
{
	switch (point) {
	case 'q':
	case 'Q':
		return WTL_TOP_WISH_QUIT;
	case '+':
	case '=':
	case ']':
		change_window(ui, true);
		break;
	case '-':
	case '[':
		change_window(ui, false);
		break;
	case ' ':
		ui->is_paused = !ui->is_paused;
		break;
	case CONTROL_L:
		return WTL_TOP_WISH_REDRAW;
	default:
		break;
	}
	return WTL_TOP_WISH_NOTHING;
}

static enum wtl_top_wish take_input(struct wtl_top_session *session,
				    const struct wtl_top_view *view, const struct wtl_input *input,
				    int64_t now_ns)
{
	(void)view;
	(void)now_ns;
	if (input->kind == WTL_INPUT_POINT)
		return take_point(&session->ui, input->point);
	if (input->kind == WTL_INPUT_KEY &&
	    (input->key == WTL_KEY_F10 || input->key == WTL_KEY_ESCAPE))
		return WTL_TOP_WISH_QUIT;
	return WTL_TOP_WISH_NOTHING;
}

/* ---- All of it ---- */

static int check(struct wtl_top_session *session, const struct wtl_top_view *view)
{
	const struct plot_live *live = (const struct plot_live *)session;
	char names[512] = "";
	size_t len = 0;

	for (size_t i = 0; i < view->n_domains && len < sizeof(names); i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", i ? ", " : "",
					view->domains[i].name);
	for (size_t i = 0; i < live->n_domains; i++) {
		if (find(view, live->domains[i]))
			continue;
		wtl_complain(session->app, "there is no domain '%s' here; there are total%s%s",
			     live->domains[i], names[0] ? ", " : "", names);
		return WTL_EXIT_FAILED;
	}
	return 0;
}

static int once_rows(struct wtl_top_session *session, const struct wtl_top_view *view, int columns)
{
	(void)view;
	(void)columns;
	return 1 + ONCE_ROWS * panels_of((const struct plot_live *)session);
}

static const struct wtl_top_face face = {.check = check,
					 .draw = draw,
					 .input = take_input,
					 .once_rows = once_rows,
					 .once_ns = ONCE_NS,
					 .without_table = true};

/* Leaves the mouse to the terminal, for copying. */
static void leave_mouse(struct wtl_top_session *session)
{
	session->ui.config.set[WTL_SET_MOUSE] = false;
}

int wtl_plot_live(struct wtl_app *app, const struct wtl_plot_settings *settings)
{
	struct plot_live live = {
		.session = {.face = &face, .app = app, .settings = &settings->screen},
		.domains = settings->domains.words,
		.n_domains = settings->domains.n,
	};

	return wtl_top_session_run(&live.session, settings->screen.once, leave_mouse);
}
