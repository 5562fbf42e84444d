/* SPDX-License-Identifier: MIT */
#include "profile/lines.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/cxx_local.h"
#include "profile/module.h"
#include "profile/python.h"

/* ---- One frame ---- */

/* DWARF 5 has a file 0, which clang uses and elfutils 0.188 does not find. */
static const char *file_of(const struct wtl_dw *dw, Dwarf_Die *unit, Dwarf_Die *scope)
{
	const char *file = dw->dwarf_decl_file(scope);
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Word number;
	size_t n;

	if (file || !dw->dwarf_attr_integrate(scope, DW_AT_decl_file, &attribute) ||
	    dw->dwarf_formudata(&attribute, &number) < 0 || number != 0 ||
	    dw->dwarf_getsrcfiles(unit, &files, &n) < 0 || n == 0)
		return file;
	return dw->dwarf_filesrc(files, 0, NULL, NULL);
}

/* Where names are made; those of a frame are there until the next one is asked. */
typedef char names_room[WTL_LINES_MAX][WTL_CXX_LOCAL_SIZE];

/* The name of an inlined call; NULL: not known. */
static void name_call(const struct wtl_modules *modules, const struct wtl_frame *frame,
		      Dwarf_Die *call, char room[WTL_CXX_LOCAL_SIZE], struct wtl_line *line)
{
	const struct wtl_dw *dw = &modules->dw;
	Dwarf_Attribute attribute;

	line->name = dw->dwarf_formstring(
		dw->dwarf_attr_integrate(call, DW_AT_linkage_name, &attribute));
	if (line->name)
		return;
	line->name = dw->dwarf_diename(call);
	if (!line->name || !wtl_cxx_local_is_cxx(dw, call))
		return;
	line->instance = wtl_scopes_instance(frame->module->scopes, dw, frame->address, call);
	wtl_cxx_local_name(dw, call, line->name, room);
	line->name = room;
}

/* Calls without a name and CPython's own calling code are left out. */
static bool is_shown(const struct wtl_module *module, const char *name)
{
	return name && name[0] && !(module->python.runtime && wtl_python_is_calling(name));
}

static size_t ask(const struct wtl_modules *modules, const struct wtl_frame *frame, names_room room,
		  struct wtl_line lines[WTL_LINES_MAX])
{
	const struct wtl_dw *dw = &modules->dw;
	Dwarf_Die unit, class, scopes[WTL_SCOPES_MAX];
	Dwarf_Line *line;
	size_t n = 0,
	       n_scopes = wtl_module_scopes(modules, frame->module, frame->address, &unit, scopes);
	bool is_left_out = false; /* the call before */
	int number;

	for (size_t i = 0; i < n_scopes; i++) {
		struct wtl_line *at = &lines[n];
		Dwarf_Die *place = &scopes[i];

		*at = (struct wtl_line){.file = file_of(dw, &unit, place)};
		if (i > 0)
			name_call(modules, frame, place, room[n], at);
		if (n > 0 && !is_left_out) /* the outer function is at this call */
			lines[n - 1].line = wtl_dw_number(dw, place, DW_AT_call_line);
		is_left_out = i > 0 && !is_shown(frame->module, at->name);
		if (is_left_out)
			continue;
		if (!at->file && wtl_cxx_local_class(dw, place, &class)) {
			place = &class; /* as of a lambda, or of a destructor that nobody wrote */
			at->file = file_of(dw, &unit, place);
		}
		at->begin = wtl_dw_number(dw, place, DW_AT_decl_line);
		n++;
	}
	line = n > 0 && !is_left_out ? dw->dwarf_getsrc_die(&unit, frame->address) : NULL;
	if (line && dw->dwarf_lineno(line, &number) == 0 && number > 0)
		lines[n - 1].line = (uint32_t)number;
	return n;
}

/* ---- All frames, module by module ---- */

struct asked {
	struct wtl_module *module;
	size_t frame;
};

enum { TEXT_MOST = 65535, GROUP_ENDS = 0x600d, GROUP_ENDS_SPLIT = 0x600e };

struct asking {
	struct wtl_modules *modules;
	const struct wtl_tree *tree;
	struct wtl_lines *lines;
	struct asked *list;
	size_t n, next; /* next: the first unanswered one, which is its module's first */
	int error;
	char text[TEXT_MOST + 1]; /* the text being received */
};

/* A line as it is sent; its texts follow. */
struct sent {
	uint64_t instance;
	uint32_t begin, line;
	uint32_t n_name, n_file; /* 0: none */
};

static uint32_t length(const char *text)
{
	return text ? (uint32_t)strnlen(text, TEXT_MOST) : 0;
}

static void send_lines(const struct wtl_line *lines, size_t n, FILE *answers)
{
	const uint32_t number = (uint32_t)n;

	fwrite(&number, sizeof(number), 1, answers);
	for (size_t i = 0; i < n; i++) {
		const struct sent sent = {.instance = lines[i].instance,
					  .begin = lines[i].begin,
					  .line = lines[i].line,
					  .n_name = length(lines[i].name),
					  .n_file = length(lines[i].file)};

		fwrite(&sent, sizeof(sent), 1, answers);
		if (sent.n_name)
			fwrite(lines[i].name, sent.n_name, 1, answers);
		if (sent.n_file)
			fwrite(lines[i].file, sent.n_file, 1, answers);
	}
}

/* Where the frames of the module of frame i end in the list. */
static size_t group_end(const struct asking *asking, size_t i)
{
	const struct wtl_module *module = asking->list[i].module;

	while (i < asking->n && asking->list[i].module == module)
		i++;
	return i;
}

/* In the forked process, which a hostile file may crash. */
static void tell(void *context, FILE *answers)
{
	struct asking *asking = context;
	struct wtl_line lines[WTL_LINES_MAX];
	names_room room;

	asking->modules->is_apart = true;
	for (size_t i = asking->next; i < asking->n && !ferror(answers);) {
		const struct wtl_module *module = asking->list[i].module;
		uint32_t ends;

		for (size_t end = group_end(asking, i); i < end; i++) {
			size_t n = ask(asking->modules,
				       &asking->tree->frames[asking->list[i].frame], room, lines);

			send_lines(lines, n, answers);
		}
		ends = wtl_scopes_met_split(module->scopes) ? GROUP_ENDS_SPLIT : GROUP_ENDS;
		fwrite(&ends, sizeof(ends), 1, answers);
		fflush(answers);
	}
}

static bool take(void *to, size_t size, FILE *answers)
{
	return size == 0 || fread(to, size, 1, answers) == 1;
}

/* false: incomplete or too long. A hostile file may have made the process write anything, so lengths and names are checked. */
static bool take_text(struct asking *asking, uint32_t n, const char **ret_text, FILE *answers)
{
	char *text = asking->text;
	int64_t number;

	*ret_text = NULL;
	if (n > TEXT_MOST || !take(text, n, answers))
		return false;
	text[n] = '\0';
	number = n > 0 ? wtl_tree_name(&asking->lines->texts, text) : -ENOENT;
	if (number >= 0)
		*ret_text = asking->lines->texts.names[number];
	asking->error = number == -ENOMEM ? -ENOMEM : asking->error;
	return true;
}

static bool take_lines(struct asking *asking, size_t frame, FILE *answers)
{
	struct wtl_lines *lines = asking->lines;
	struct sent sent;
	uint32_t n;

	if (!take(&n, sizeof(n), answers) || n > WTL_LINES_MAX)
		return false;
	if (wtl_array_reserve(&lines->list, &lines->room, lines->n + n, sizeof(*lines->list)) < 0) {
		asking->error = -ENOMEM;
		return false;
	}
	lines->of_frames[frame] = (struct wtl_lines_of_frame){.first = lines->n, .n = n};
	for (uint32_t i = 0; i < n; i++) {
		struct wtl_line *line = &lines->list[lines->n + i];

		if (!take(&sent, sizeof(sent), answers) ||
		    !take_text(asking, sent.n_name, &line->name, answers) ||
		    (i > 0 && !line->name) || !take_text(asking, sent.n_file, &line->file, answers))
			return false;
		line->begin = sent.begin;
		line->line = sent.line;
		line->instance = sent.instance;
	}
	lines->n += n;
	return true;
}

static void hear(void *context, FILE *answers)
{
	struct asking *asking = context;

	while (asking->next < asking->n && asking->error == 0) {
		size_t end = group_end(asking, asking->next), i = asking->next;
		uint32_t ends = 0;

		while (i < end && take_lines(asking, asking->list[i].frame, answers))
			i++;
		if (i < end || !take(&ends, sizeof(ends), answers) ||
		    (ends != GROUP_ENDS && ends != GROUP_ENDS_SPLIT))
			return;
		asking->list[asking->next].module->has_lost_lines |= ends == GROUP_ENDS_SPLIT;
		asking->next = end;
	}
}

/* Gives up the current module: its frames get no lines. */
static void lose(struct asking *asking)
{
	size_t end = group_end(asking, asking->next);

	asking->list[asking->next].module->has_lost_lines = true;
	for (; asking->next < end; asking->next++)
		asking->lines->of_frames[asking->list[asking->next].frame].n = 0;
}

static int by_module(const void *a, const void *b)
{
	const struct asked *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->frame < y->frame ? -1 : x->frame > y->frame;
}

static int ask_all(struct asking *asking)
{
	const struct wtl_tree *tree = asking->tree;

	for (size_t i = 0; i < tree->n_frames; i++)
		if (tree->frames[i].kind == WTL_FRAME_NATIVE && tree->frames[i].module &&
		    !tree->frames[i].module->error)
			asking->list[asking->n++] =
				(struct asked){.module = tree->frames[i].module, .frame = i};
	qsort(asking->list, asking->n, sizeof(*asking->list), by_module);
	while (asking->next < asking->n && asking->error == 0) {
		const struct wtl_modules *modules = asking->modules;
		int64_t took_ns = asking->lines->error;

		if (took_ns == 0)
			took_ns = modules->apart ? modules->apart(tell, hear, asking) : -ENOSYS;
		if (took_ns < 0)
			asking->lines->error = (int)took_ns;
		else
			asking->lines->cpu_ns += took_ns;
		if (asking->next < asking->n && asking->error == 0)
			lose(asking);
	}
	return asking->error;
}

int wtl_lines_make(struct wtl_lines *lines, struct wtl_modules *modules,
		   const struct wtl_tree *tree)
{
	struct asking asking = {.modules = modules,
				.tree = tree,
				.lines = lines,
				.list = calloc(tree->n_frames + 1, sizeof(*asking.list))};
	int rc = -ENOMEM;

	*lines = (struct wtl_lines){.n_frames = tree->n_frames,
				    .of_frames =
					    calloc(tree->n_frames + 1, sizeof(*lines->of_frames))};
	if (asking.list && lines->of_frames)
		rc = ask_all(&asking);
	free(asking.list);
	return rc;
}

void wtl_lines_done(struct wtl_lines *lines)
{
	wtl_tree_done(&lines->texts);
	free(lines->of_frames);
	free(lines->list);
	*lines = (struct wtl_lines){.n = 0};
}

size_t wtl_lines_of(const struct wtl_lines *lines, size_t frame, const struct wtl_line **ret_lines)
{
	size_t n = frame < lines->n_frames ? lines->of_frames[frame].n : 0;

	*ret_lines = n > 0 ? &lines->list[lines->of_frames[frame].first] : NULL;
	return n;
}
