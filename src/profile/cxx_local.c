/* SPDX-License-Identifier: MIT */
#include "profile/cxx_local.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* "const S *const" is three types above S. */
enum { TYPES_MAX = 8, CLASS_NAME_MOST = 300 };

bool wtl_cxx_local_is_cxx(const struct wtl_dw *dw, Dwarf_Die *function)
{
	Dwarf_Die unit;

	return dw->dwarf_diecu(function, &unit, NULL, NULL) &&
	       wtl_dw_is_cxx(dw->dwarf_srclang(&unit));
}

/* By the type of `this`. */
bool wtl_cxx_local_class(const struct wtl_dw *dw, const Dwarf_Die *function, Dwarf_Die *ret_class)
{
	*ret_class = *function;
	if (!wtl_dw_follow(dw, ret_class, DW_AT_object_pointer))
		return false;
	for (int i = 0; i < TYPES_MAX && wtl_dw_follow(dw, ret_class, DW_AT_type); i++)
		switch (dw->dwarf_tag(ret_class)) {
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
			return true;
		}
	return false;
}

void wtl_cxx_local_name(const struct wtl_dw *dw, const Dwarf_Die *function, const char *name,
			char room[WTL_CXX_LOCAL_SIZE])
{
	Dwarf_Die class;
	bool has_class = wtl_cxx_local_class(dw, function, &class);
	const char *of = has_class ? dw->dwarf_diename(&class) : NULL;

	if (of && of[0] == '<') /* "<lambda(double)>", as there may be others */
		of = NULL;
	/* All of the function's own name has to fit. */
	if (of && strlen(of) <= CLASS_NAME_MOST)
		snprintf(room, WTL_CXX_LOCAL_SIZE, "%s::%s", of, name);
	else if (has_class && !of)
		snprintf(room, WTL_CXX_LOCAL_SIZE, "{%s:%u:%u}::%s",
			 wtl_text_starts(name, "operator()") ? "lambda" : "unnamed",
			 wtl_dw_number(dw, &class, DW_AT_decl_line),
			 wtl_dw_number(dw, &class, DW_AT_decl_column), name);
	else
		snprintf(room, WTL_CXX_LOCAL_SIZE, "%s", name);
}

/* "step" of "S<a::b>::step". */
static const char *without_class(const char *name)
{
	const char *last = name;
	int depth = 0;

	for (const char *at = name; *at; at++) {
		if (depth == 0 && wtl_text_starts(at, "::"))
			last = at + 2;
		depth += *at == '<' ? 1 : *at == '>' && depth > 0 ? -1 : 0;
	}
	return last;
}

bool wtl_cxx_local_matches(const char *mangled, const char *name)
{
	char plain[WTL_CXX_LOCAL_SIZE];

	if (!wtl_text_starts(mangled, "_Z"))
		return false;
	name = without_class(name);
	name += name[0] == '~';
	snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(name, "<"), name);
	/* Operators are mangled by codes. */
	return wtl_text_starts(name, "operator") || strstr(mangled, plain);
}
