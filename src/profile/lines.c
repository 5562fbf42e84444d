/* SPDX-License-Identifier: MIT */
#include "profile/lines.h"

#include <dwarf.h>
#include <errno.h>

#include "profile/tree.h"

static const char *name_of(const struct wtl_dw *dw, Dwarf_Die *scope)
{
	Dwarf_Attribute attribute;
	const char *name = dw->dwarf_formstring(
		dw->dwarf_attr_integrate(scope, DW_AT_linkage_name, &attribute));

	return name ? name : dw->dwarf_diename(scope);
}

/* DWARF 5 has a file 0, as clang uses it, and elfutils 0.188 knows none. */
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

static uint32_t number_of(const struct wtl_dw *dw, Dwarf_Die *scope, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	if (!dw->dwarf_attr_integrate(scope, name, &attribute) ||
	    dw->dwarf_formudata(&attribute, &value) < 0)
		return 0;
	return (uint32_t)value;
}

struct question {
	const struct wtl_modules *modules;
	struct wtl_module *module;
	uint64_t address;
	struct wtl_line *lines;
	size_t n;
};

static void ask(void *context)
{
	struct question *question = context;
	const struct wtl_dw *dw = &question->modules->dw;
	struct wtl_line *lines = question->lines;
	Dwarf_Die unit, scopes[WTL_SCOPES_MAX];
	Dwarf_Line *line;
	size_t n = 0, n_scopes = wtl_module_scopes(question->modules, question->module,
						   question->address, &unit, scopes);
	int number;

	for (size_t i = 0; i < n_scopes; i++) {
		const char *name = i > 0 ? name_of(dw, &scopes[i]) : NULL;

		if (i > 0 && !name)
			continue;
		if (n > 0) /* what runs there is that call */
			lines[n - 1].line = number_of(dw, &scopes[i], DW_AT_call_line);
		lines[n++] = (struct wtl_line){
			.name = name,
			.file = file_of(dw, &unit, &scopes[i]),
			.begin = number_of(dw, &scopes[i], DW_AT_decl_line),
		};
	}
	line = n > 0 ? dw->dwarf_getsrc_die(&unit, question->address) : NULL;
	if (line && dw->dwarf_lineno(line, &number) == 0 && number > 0)
		lines[n - 1].line = (uint32_t)number;
	for (size_t i = 0; i < n; i++)
		lines[i].name = wtl_module_text(question->module, lines[i].name);
	question->n = n;
}

size_t wtl_lines_of(const struct wtl_modules *modules, const struct wtl_frame *frame,
		    struct wtl_line lines[WTL_LINES_MAX])
{
	struct question question = {.modules = modules,
				    .module = frame->module,
				    .address = frame->address,
				    .lines = lines};

	if (frame->kind != WTL_FRAME_NATIVE || !frame->module)
		return 0;
	if (!modules->guard)
		ask(&question);
	else if (modules->guard(ask, &question) < 0)
		wtl_module_lost(frame->module);
	return question.n;
}
