/* SPDX-License-Identifier: MIT */
#include "profile/lines.h"

#include <dwarf.h>
#include <stdlib.h>

#include "profile/tree.h"

int wtl_scopes_of(const struct wtl_modules *modules, struct wtl_module *module, uint64_t address,
		  Dwarf_Die *ret_unit, Dwarf_Die **ret_scopes)
{
	const struct wtl_dw *dw = &modules->dw;
	Dwarf *dwarf = wtl_module_dwarf(modules, module);
	Dwarf_Die *innermost = NULL;
	int n = 0;

	if (!dwarf || !dw->dwarf_addrdie(dwarf, address, ret_unit))
		return 0;
	if (dw->dwarf_getscopes(ret_unit, address, &innermost) <= 0)
		return 0;
	n = dw->dwarf_getscopes_die(&innermost[0], ret_scopes);
	free(innermost);
	return n > 0 ? n : 0;
}

static bool is_function(const struct wtl_dw *dw, Dwarf_Die *scope)
{
	Dwarf_Attribute attribute;

	if (dw->dwarf_tag(scope) == DW_TAG_subprogram)
		return true;
	return dw->dwarf_tag(scope) == DW_TAG_inlined_subroutine &&
	       (dw->dwarf_attr_integrate(scope, DW_AT_linkage_name, &attribute) ||
		dw->dwarf_diename(scope));
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

size_t wtl_lines_of(const struct wtl_modules *modules, const struct wtl_frame *frame,
		    struct wtl_line lines[WTL_LINES_MAX])
{
	const struct wtl_dw *dw = &modules->dw;
	Dwarf_Die unit, *scopes = NULL;
	Dwarf_Line *line;
	size_t n = 0;
	int n_scopes, number;

	if (frame->kind != WTL_FRAME_NATIVE || !frame->module)
		return 0;
	n_scopes = wtl_scopes_of(modules, frame->module, frame->address, &unit, &scopes);
	for (int i = n_scopes - 1; i >= 0 && n < WTL_LINES_MAX; i--) {
		if (!is_function(dw, &scopes[i]))
			continue;
		if (n > 0) /* what runs there is that call */
			lines[n - 1].line = number_of(dw, &scopes[i], DW_AT_call_line);
		lines[n++] = (struct wtl_line){
			.file = dw->dwarf_decl_file(&scopes[i]),
			.begin = number_of(dw, &scopes[i], DW_AT_decl_line),
		};
	}
	line = n > 0 ? dw->dwarf_getsrc_die(&unit, frame->address) : NULL;
	if (line && dw->dwarf_lineno(line, &number) == 0 && number > 0)
		lines[n - 1].line = (uint32_t)number;
	if (n_scopes > 0)
		free(scopes);
	return n;
}
