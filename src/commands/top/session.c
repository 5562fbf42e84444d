/* SPDX-License-Identifier: MIT */
/* A session's view. */
#include "commands/top/session.h"

#include "commands/top/draw.h"

int wtl_top_session_check(struct wtl_top_session *session, const struct wtl_top_view *view)
{
	return session->face->check ? session->face->check(session, view) : 0;
}

void wtl_top_session_rows(struct wtl_top_session *session, const struct wtl_top_view *view)
{
	wtl_top_rows_make(&session->rows, view, &session->ui.config, &session->ui.filter,
			  &session->ui.toggled);
	atomic_store(&session->collector->walks, wtl_top_ui_wants_walks(&session->ui));
	wtl_top_ui_settle(&session->ui, view, &session->rows, wtl_top_screen_ns());
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
	session->face->draw(session, &picture);
}
