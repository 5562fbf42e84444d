/* SPDX-License-Identifier: MIT */
/* Below a recording's picture: what the recording does not have. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "commands/plot/recording.h"
#include "report/missing.h"

int wtl_plot_note(struct wtl_plot_sheet *sheet, const char *text)
{
	struct wtl_plot_figure *figure = &sheet->figure;
	const char **notes = wtl_plot_sheet_array(sheet, figure->n_notes + 1, sizeof(*notes));

	if (!notes)
		return -ENOMEM;
	if (figure->n_notes > 0)
		memcpy(notes, figure->notes, figure->n_notes * sizeof(*notes));
	notes[figure->n_notes] =
		wtl_plot_sheet_printf(sheet, "%c%s.", toupper((unsigned char)text[0]), text + 1);
	if (!notes[figure->n_notes])
		return -ENOMEM;
	figure->notes = notes;
	figure->n_notes++;
	return 0;
}

int wtl_plot_note_missing(struct wtl_plot_replay *replay)
{
	char text[WTL_REMARK_SIZE];
	int rc = 0;

	if (wtl_missing_dropped(replay->history->reader, text))
		rc = wtl_plot_note(replay->sheet, text);
	if (rc == 0 && replay->has_lost) {
		wtl_missing_lost(replay->lost.text, text);
		rc = wtl_plot_note(replay->sheet, text);
	} else if (rc == 0 && wtl_missing_rows(replay->history->reader, text)) {
		rc = wtl_plot_note(replay->sheet, text);
	}
	return rc;
}
