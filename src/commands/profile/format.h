/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_FORMAT_H
#define WTL_COMMANDS_PROFILE_FORMAT_H

#include "base/config.h"
#include "commands/profile/stacks.h"

/* What a profile can be written as: a file of this folder, and a row here. docs/profile.md lists what opens them. */
/* clang-format off */
#if HAVE_RECORDINGS /* zstd, and how recordings keep numbers */
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
	const char *suffixes;  /* of files, with blanks between them */
	const char *beginning; /* or what their names begin with; NULL: nothing */
	bool has_lines;	       /* costs of lines, not only of functions */
	/* Appends; 0 or the buffer's error. NULL: text. */
	int (*write)(struct wtl_buf *buf, const struct wtl_stacks *stacks);
	/* A second file, with ".time" before its suffix; NULL: none. */
	int (*write_beside)(struct wtl_buf *buf, const struct wtl_stacks *stacks);
};

#define WTL_PROFILE_DECLARE(name) extern const struct wtl_profile_format wtl_profile_format_##name;
WTL_PROFILE_FORMATS(WTL_PROFILE_DECLARE)
#undef WTL_PROFILE_DECLARE

extern const char *const wtl_profile_format_names[]; /* ended by NULL */
/* In the order of the names. */
const struct wtl_profile_format *wtl_profile_format_at(size_t i);
const struct wtl_profile_format *wtl_profile_format_find(const char *name); /* or NULL */
/* By what a file is called; NULL: that says nothing. */
const struct wtl_profile_format *wtl_profile_format_of_file(const char *path);
/* All suffixes: ".json, .csv or .folded". */
void wtl_profile_format_suffixes(struct wtl_buf *buf);

/* ---- What several formats write ---- */

/* JSON: "key":"text", with a comma before it where the buffer does not end in a bracket. NULL: a value of a list. */
void wtl_profile_json_text(struct wtl_buf *buf, const char *key, const char *text);
/* A value as a decimal number in its unit for people. */
void wtl_profile_value(struct wtl_buf *buf, const struct wtl_stacks *stacks, size_t metric,
		       uint64_t value);
/* A stack: each of its functions, the outermost first, with that between them. */
typedef void wtl_profile_put(struct wtl_buf *buf, const struct wtl_stacks *stacks, uint32_t node);
void wtl_profile_stack(struct wtl_buf *buf, const struct wtl_stacks *stacks, uint32_t node,
		       char between, wtl_profile_put *put);
/* The command, as one would type it, clean, and cut if it is long. */
void wtl_profile_command_line(struct wtl_buf *buf, const struct wtl_profile *profile);
/* JSON: the same, behind some words, as wtl_profile_json_text(). */
void wtl_profile_json_command(struct wtl_buf *buf, const char *key, const char *before,
			      const struct wtl_profile *profile);

#endif
