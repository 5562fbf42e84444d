/* SPDX-License-Identifier: MIT */
/* What a session shows. */
#include "commands/top/session.h"

#include "commands/top/draw.h"
#include "energy/units.h"

#define ONCE_NS WTL_NS_PER_S

static void draw_top(struct wtl_top_session *session, const struct wtl_top_picture *picture)
{
	(void)session;
	wtl_top_draw(picture);
}

static enum wtl_top_wish input_top(struct wtl_top_session *session, const struct wtl_top_view *view,
				   const struct wtl_input *input, int64_t now_ns)
{
	return wtl_top_ui_input(&session->ui, view, &session->rows, input, now_ns);
}

/* As many rows as it takes: title, machine, domains, caption, header, processes, and wattle itself. */
static int once_rows(struct wtl_top_session *session, const struct wtl_top_view *view, int columns)
{
	const struct wtl_top_picture picture = {.canvas = &session->canvas,
						.view = view,
						.rows = &session->rows,
						.ui = &session->ui,
						.is_still = true};
	size_t n = session->rows.n < 2 ? 2 : session->rows.n;

	session->canvas.columns = columns;
	n += (size_t)wtl_top_domains_height(&picture, WTL_TOP_ALL) + 5;
	n += view->played.is_there;
	return n < WTL_CANVAS_MAX ? (int)n : WTL_CANVAS_MAX;
}

const struct wtl_top_face *wtl_top_session_face(const struct wtl_top_session *session)
{
	static const struct wtl_top_face top = {
		.draw = draw_top, .input = input_top, .once_rows = once_rows, .once_ns = ONCE_NS};

	return session->face ? session->face : &top;
}

int wtl_top_session_check(struct wtl_top_session *session, const struct wtl_top_view *view)
{
	const struct wtl_top_face *face = wtl_top_session_face(session);

	return face->check ? face->check(session, view) : 0;
}

int wtl_top_session_rows(struct wtl_top_session *session, const struct wtl_top_view *view)
{
	int rc = wtl_top_rows_make(&session->rows, view, &session->ui.config, &session->ui.filter,
				   &session->ui.toggled);

	wtl_top_ui_settle(&session->ui, view, &session->rows, wtl_top_screen_ns());
	return rc;
}

void wtl_top_session_draw(struct wtl_top_session *session, const struct wtl_top_view *view,
			  bool is_still)
{
	const struct wtl_top_picture picture = {.canvas = &session->canvas,
						.view = view,
						.rows = &session->rows,
						.ui = &session->ui,
						.now_ns = wtl_top_screen_ns(),
						.is_still = is_still};

	wtl_top_collector_play(session->collector, &session->ui.play);
	session->canvas.ascii = session->ui.ascii || session->ui.config.set[WTL_SET_ASCII];
	wtl_top_session_face(session)->draw(session, &picture);
}
