/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_LABEL_H
#define WTL_COMMANDS_PROFILE_LABEL_H

#include <stdbool.h>
#include <stddef.h>

/* What users call a function that a profile shows as "fit (train.py:12)", "heavy.constprop.0" or "int ns::foo(int)". */

/* How well a name is that of a function, the worst first. */
enum wtl_label_match {
	WTL_LABEL_OTHER,
	WTL_LABEL_PART,	 /* "b::run<int>" for "a::b::(anonymous namespace)::run<int, long>(int)" */
	WTL_LABEL_SHORT, /* "foo" for "int ns::foo(int)"; "heavy" for "heavy.constprop.0" */
	WTL_LABEL_BARE,	 /* the whole name, but not its file: "fit"; "foo" for "int foo(int)" */
	WTL_LABEL_WHOLE /* with its file, as it is shown, or without folders or line: "fit (train.py)" */
};

/* Without the whole path, only the end of the shown file's is known: a path that is given has to end so. */
enum wtl_label_match wtl_label_match(const char *shown, const char *name, size_t len,
				     bool has_whole_path);
/* How much of a C function's name is its source's: without ".constprop.0" and the like, which compilers add to copies. */
size_t wtl_label_source_len(const char *shown);

#endif
