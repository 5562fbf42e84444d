/* SPDX-License-Identifier: MIT */
#include "commands/profile/places.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

static int add(struct wtl_places *places, const struct wtl_line *line)
{
	int64_t file = line->file ? wtl_tree_name(&places->files, line->file) : -1;

	if ((line->file && file < 0) || wtl_array_reserve(&places->list, &places->room,
							  places->n + 1, sizeof(*places->list)) < 0)
		return -ENOMEM;
	places->list[places->n++] = (struct wtl_place){
		.file = (uint32_t)(file + 1), .begin = line->begin, .line = line->line};
	return 0;
}

int wtl_places_make(struct wtl_places *places, const struct wtl_trace *trace)
{
	*places = (struct wtl_places){.n_frames = trace->tree.n_frames};
	places->n_of_frames = calloc(places->n_frames + 1, sizeof(*places->n_of_frames));
	if (!places->n_of_frames)
		return -ENOMEM;
	for (size_t i = 0; i < places->n_frames; i++) {
		const struct wtl_frame *frame = &trace->tree.frames[i];
		const struct wtl_line python = {.line = (uint32_t)frame->address};
		const struct wtl_line *lines = &python;
		size_t n = 1;

		if (frame->kind != WTL_FRAME_PYTHON)
			n = wtl_lines_of(&trace->lines, i, &lines);
		places->n_of_frames[i] = (uint32_t)n;
		for (size_t k = 0; k < n; k++)
			if (add(places, &lines[k]) < 0)
				return -ENOMEM;
	}
	return wtl_places_index(places);
}

int wtl_places_index(struct wtl_places *places)
{
	size_t n = 0;

	places->first = calloc(places->n_frames + 1, sizeof(*places->first));
	if (!places->first)
		return -ENOMEM;
	for (size_t i = 0; i < places->n_frames; i++) {
		places->first[i] = n;
		n += places->n_of_frames[i];
		if (places->n_of_frames[i] > WTL_LINES_MAX)
			return -EBADMSG;
	}
	return n == places->n ? 0 : -EBADMSG;
}

void wtl_places_done(struct wtl_places *places)
{
	wtl_tree_done(&places->files);
	free(places->n_of_frames);
	free(places->list);
	free(places->first);
	*places = (struct wtl_places){.n = 0};
}

size_t wtl_places_of(const struct wtl_places *places, size_t frame,
		     struct wtl_line lines[WTL_LINES_MAX])
{
	size_t n = places->n_of_frames[frame];
	const struct wtl_place *list = n > 0 ? &places->list[places->first[frame]] : NULL;

	for (size_t i = 0; i < n; i++)
		lines[i] = (struct wtl_line){
			.file = list[i].file ? places->files.names[list[i].file - 1] : NULL,
			.begin = list[i].begin,
			.line = list[i].line};
	return n;
}
