/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_FORMAT_H
#define WTL_COMMANDS_PROFILE_FORMAT_H

#include "base/config.h"
#include "commands/profile/stacks.h"

/* The formats of a profile: each is a file of this folder, and a row here. docs/profile.md lists what opens them. */
/* clang-format off */
#if HAVE_RECORDINGS /* needs zstd, and the recordings' number coding */
#define WTL_PROFILE_SAVED(F) F(wprof)
#else
#define WTL_PROFILE_SAVED(F)
#endif
#define WTL_PROFILE_FORMATS(F)                                                           \
	F(text) WTL_PROFILE_SAVED(F) F(html) F(svg) F(json) F(csv) F(folded) F(speedscope) F(pprof)           \
	F(pstats) F(callgrind) F(firefox) F(trace) F(dot) F(pyinstrument) F(mprof) F(kineto)
/* clang-format on */

struct wtl_profile_format {
	const char *name;      /* as --format takes it */
	const char *suffixes;  /* of file names, separated by blanks */
	const char *beginning; /* or how their names begin; NULL: by suffix alone */
	bool has_lines;	       /* has costs of lines, not only of functions */
	/* Appends to buf. 0 or the buffer's error. NULL: text. */
	int (*write)(struct wtl_buf *buf, const struct wtl_stacks *stacks);
	/* Writes a second file, named with ".time" before its suffix; NULL: none. */
	int (*write_beside)(struct wtl_buf *buf, const struct wtl_stacks *stacks);
};

#define WTL_PROFILE_DECLARE(name) extern const struct wtl_profile_format wtl_profile_format_##name;
WTL_PROFILE_FORMATS(WTL_PROFILE_DECLARE)
#undef WTL_PROFILE_DECLARE

extern const char *const wtl_profile_format_names[]; /* ended by NULL */
/* In the order of the names. */
const struct wtl_profile_format *wtl_profile_format_at(size_t i);
const struct wtl_profile_format *wtl_profile_format_find(const char *name); /* or NULL */
/* By a file's name; NULL: no format has such a name. */
const struct wtl_profile_format *wtl_profile_format_of_file(const char *path);
/* All suffixes: ".json, .csv or .folded". */
void wtl_profile_format_suffixes(struct wtl_buf *buf);

/* ---- What several formats write ---- */

/* JSON: "key":"text", with a comma before it unless it is the first. key is NULL: an element of a list. */
void wtl_profile_json_text(struct wtl_buf *buf, const char *key, const char *text);
/* A value as a decimal number in its unit for people (without the unit). */
void wtl_profile_value(struct wtl_buf *buf, const struct wtl_stacks *stacks, size_t metric,
		       uint64_t value);
/* A stack: its functions from the outermost on, with `between` as separator. */
typedef void wtl_profile_put(struct wtl_buf *buf, const struct wtl_stacks *stacks, uint32_t node);
void wtl_profile_stack(struct wtl_buf *buf, const struct wtl_stacks *stacks, uint32_t node,
		       char between, wtl_profile_put *put);
/* The command line, quoted as in a shell, cleaned, and cut if it is long. */
void wtl_profile_command_line(struct wtl_buf *buf, const struct wtl_profile *profile);
/* JSON: the same, after the text `before`, as wtl_profile_json_text() does. */
void wtl_profile_json_command(struct wtl_buf *buf, const char *key, const char *before,
			      const struct wtl_profile *profile);

#endif
