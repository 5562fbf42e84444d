/* SPDX-License-Identifier: MIT */
#include "profile/scopes.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

/* Scopes nest no deeper in what compilers write. */
enum { DEPTH_MAX = 256 };

/* An origin has no origin of its own, but for a file that lies. */
enum { ORIGINS_MAX = 16 };

#define NONE SIZE_MAX

struct scope {
	Dwarf_Die die;
	size_t parent; /* in the same level, or NONE */
	struct wtl_scopes *inner;
	bool has_inner; /* was looked for */
	bool is_split;	/* a unit that another file describes */
};

/* One range of a scope, which may have several. */
struct range {
	uint64_t low, high;
	uint64_t reach; /* the highest end of this and all before it */
	size_t scope;
};

/* A function that was compiled for itself, and that of the source which it is. */
struct instance {
	uint64_t origin; /* where that is in memory */
	uint64_t address;
};

struct wtl_scopes {
	struct scope *list;
	struct range *ranges; /* by `low`, outer scopes before inner ones */
	size_t n, room, n_ranges, room_ranges;
	struct instance *instances; /* of functions, by origin; made when first needed */
	size_t n_instances;
	bool met_split;
};

/* ---- Filling ---- */

/* Adds a scope with its ranges. false: no memory, or it has none: it is in the source alone, or the linker left it
 * out (then it starts at 0 or 1, or ends before it starts). */
static bool add_scope(struct wtl_scopes *scopes, const struct wtl_dw *dw, Dwarf_Die *die,
		      size_t parent)
{
	size_t first = scopes->n_ranges;
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dw->dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		if (low <= 1 || low >= high)
			continue;
		if (wtl_array_reserve(&scopes->ranges, &scopes->room_ranges, scopes->n_ranges + 1,
				      sizeof(*scopes->ranges)) < 0)
			break;
		scopes->ranges[scopes->n_ranges++] =
			(struct range){.low = low, .high = high, .scope = scopes->n};
	}
	if (scopes->n_ranges == first)
		return false;
	if (wtl_array_reserve(&scopes->list, &scopes->room, scopes->n + 1, sizeof(*scopes->list)) <
	    0) {
		scopes->n_ranges = first;
		return false;
	}
	scopes->list[scopes->n++] = (struct scope){.die = *die, .parent = parent};
	return true;
}

static int by_place(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	/* An inner scope comes after its outer one. */
	return x->scope < y->scope ? -1 : x->scope > y->scope;
}

static void sort(struct wtl_scopes *scopes)
{
	uint64_t reach = 0;

	if (scopes->n_ranges > 0)
		qsort(scopes->ranges, scopes->n_ranges, sizeof(*scopes->ranges), by_place);
	for (size_t i = 0; i < scopes->n_ranges; i++) {
		reach = scopes->ranges[i].high > reach ? scopes->ranges[i].high : reach;
		scopes->ranges[i].reach = reach;
	}
}

static void add_units(struct wtl_scopes *scopes, const struct wtl_dw *dw, Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	uint8_t type;

	while (dw->dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, NULL) == 0)
		if ((type == DW_UT_compile || type == DW_UT_partial || type == DW_UT_skeleton) &&
		    add_scope(scopes, dw, &die, NONE))
			scopes->list[scopes->n - 1].is_split = type == DW_UT_skeleton;
}

struct walk {
	struct wtl_scopes *scopes;
	const struct wtl_dw *dw;
	/* Whether functions are inside types: in C and C++ they are beside them. */
	bool looks_into_types;
};

static bool has_types_apart(int language)
{
	switch (language) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
		return true;
	default:
		return wtl_dw_is_cxx(language);
	}
}

/* The function in the source that a call or an instance is of; the scope itself, if that is one. */
static Dwarf_Die origin_of(const struct wtl_dw *dw, const Dwarf_Die *scope)
{
	Dwarf_Die origin = *scope;

	for (int i = 0; i < ORIGINS_MAX && wtl_dw_follow(dw, &origin, DW_AT_abstract_origin);)
		i++;
	return origin;
}

static void add_functions(struct walk *walk, Dwarf_Die *outer, unsigned depth)
{
	const struct wtl_dw *dw = walk->dw;
	Dwarf_Die die;
	int rc;

	if (depth > DEPTH_MAX)
		return;
	for (rc = dw->dwarf_child(outer, &die); rc == 0; rc = dw->dwarf_siblingof(&die, &die))
		switch (dw->dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			/* Another unit's function without code here: link-time optimization has its lambdas inside. */
			if (!add_scope(walk->scopes, dw, &die, NONE) &&
			    dw->dwarf_hasattr(&die, DW_AT_abstract_origin))
				add_functions(walk, &die, depth + 1);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
			add_functions(walk, &die, depth + 1);
			break;
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
		case DW_TAG_enumeration_type:
		case DW_TAG_interface_type:
			if (walk->looks_into_types)
				add_functions(walk, &die, depth + 1);
			break;
		}
}

/* Adds the calls inlined into a function, and those inlined into them. */
static void add_inlined(struct walk *walk, Dwarf_Die *outer, size_t parent, unsigned depth)
{
	const struct wtl_dw *dw = walk->dw;
	Dwarf_Die die;
	int rc;

	if (depth > DEPTH_MAX)
		return;
	for (rc = dw->dwarf_child(outer, &die); rc == 0; rc = dw->dwarf_siblingof(&die, &die))
		switch (dw->dwarf_tag(&die)) {
		case DW_TAG_inlined_subroutine: {
			size_t number = walk->scopes->n;

			if (add_scope(walk->scopes, dw, &die, parent))
				add_inlined(walk, &die, number, depth + 1);
			break;
		}
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
		case DW_TAG_with_stmt:
			add_inlined(walk, &die, parent, depth + 1);
			break;
		}
}

/* Fills a scope's inner level, which stays NULL without memory. */
static void look_into(const struct wtl_dw *dw, struct scope *scope)
{
	struct walk walk = {.scopes = calloc(1, sizeof(*walk.scopes)), .dw = dw};

	scope->inner = walk.scopes;
	if (!walk.scopes)
		return;
	if (dw->dwarf_tag(&scope->die) == DW_TAG_subprogram) {
		add_inlined(&walk, &scope->die, NONE, 0);
	} else {
		walk.looks_into_types = !has_types_apart(dw->dwarf_srclang(&scope->die));
		add_functions(&walk, &scope->die, 0);
	}
	sort(walk.scopes);
}

struct wtl_scopes *wtl_scopes_new(const struct wtl_dw *dw, Dwarf *dwarf)
{
	struct wtl_scopes *scopes = calloc(1, sizeof(*scopes));

	if (!scopes)
		return NULL;
	add_units(scopes, dw, dwarf);
	sort(scopes);
	return scopes;
}

void wtl_scopes_free(struct wtl_scopes *scopes)
{
	if (!scopes)
		return;
	for (size_t i = 0; i < scopes->n; i++)
		wtl_scopes_free(scopes->list[i].inner);
	free(scopes->list);
	free(scopes->ranges);
	free(scopes->instances);
	free(scopes);
}

/* ---- Looking up ---- */

/* The innermost scope of a level at an address, or NONE. */
static size_t find(const struct wtl_scopes *scopes, uint64_t address)
{
	size_t low = 0, high = scopes ? scopes->n_ranges : 0;

	while (low < high) { /* the first one after the address */
		size_t middle = low + (high - low) / 2;

		if (scopes->ranges[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	while (low-- > 0 && scopes->ranges[low].reach > address)
		if (scopes->ranges[low].high > address)
			return scopes->ranges[low].scope;
	return NONE;
}

static struct wtl_scopes *inner_of(const struct wtl_dw *dw, struct scope *scope)
{
	if (!scope->has_inner)
		look_into(dw, scope);
	scope->has_inner = true;
	return scope->inner;
}

size_t wtl_scopes_of(struct wtl_scopes *units, const struct wtl_dw *dw, uint64_t address,
		     Dwarf_Die *ret_unit, Dwarf_Die list[WTL_SCOPES_MAX])
{
	size_t unit = find(units, address), function, call, depth = 0, n = 1;
	struct wtl_scopes *functions, *calls;

	if (unit != NONE && units->list[unit].is_split) {
		units->met_split = true;
		return 0;
	}
	functions = unit == NONE ? NULL : inner_of(dw, &units->list[unit]);
	function = find(functions, address);
	if (function == NONE)
		return 0;
	*ret_unit = units->list[unit].die;
	list[0] = functions->list[function].die;
	calls = inner_of(dw, &functions->list[function]);
	call = find(calls, address);
	for (size_t at = call; at != NONE; at = calls->list[at].parent)
		depth++;
	/* From the innermost on; of too many only the outermost are kept. */
	for (size_t at = call; at != NONE; at = calls->list[at].parent, depth--)
		if (depth < WTL_SCOPES_MAX) {
			list[depth] = calls->list[at].die;
			n = n > depth + 1 ? n : depth + 1;
		}
	return n;
}

bool wtl_scopes_met_split(const struct wtl_scopes *units)
{
	return units && units->met_split;
}

/* ---- Instances ---- */

static int by_origin(const void *a, const void *b)
{
	const struct instance *x = a, *y = b;

	if (x->origin != y->origin)
		return x->origin < y->origin ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static void find_instances(struct wtl_scopes *functions, const struct wtl_dw *dw)
{
	functions->instances = calloc(functions->n + 1, sizeof(*functions->instances));
	for (size_t i = 0; functions->instances && i < functions->n; i++) {
		Dwarf_Die *die = &functions->list[i].die;
		Dwarf_Die origin = origin_of(dw, die);
		Dwarf_Addr base, low, high;

		if (origin.addr != die->addr && dw->dwarf_ranges(die, 0, &base, &low, &high) > 0)
			functions->instances[functions->n_instances++] =
				(struct instance){.origin = (uintptr_t)origin.addr, .address = low};
	}
	if (functions->n_instances > 0)
		qsort(functions->instances, functions->n_instances, sizeof(*functions->instances),
		      by_origin);
}

uint64_t wtl_scopes_instance(struct wtl_scopes *units, const struct wtl_dw *dw, uint64_t address,
			     Dwarf_Die *call)
{
	size_t unit = find(units, address), first;
	struct wtl_scopes *functions = unit == NONE ? NULL : inner_of(dw, &units->list[unit]);
	uint64_t origin = (uintptr_t)origin_of(dw, call).addr;

	if (!functions)
		return 0;
	if (!functions->instances)
		find_instances(functions, dw);
	first = WTL_ADDRESSES_UP_TO(functions->instances, functions->n_instances, origin,
				    origin - 1);
	return first < functions->n_instances && functions->instances[first].origin == origin
		       ? functions->instances[first].address
		       : 0;
}
