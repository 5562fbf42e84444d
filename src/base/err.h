/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_ERR_H
#define WTL_BASE_ERR_H

/* Codes below zero are negative errno values, or these. */
enum {
	WTL_EABSENT = 4001,    /* the machine has no such thing */
	WTL_EFORMAT = 4002,    /* a file's content is not what its format says */
	WTL_ELIBRARY = 4003,   /* a foreign library answered with an error of its own */
	WTL_ETAPE_END = 4004,  /* a replayed tape holds nothing more */
	WTL_EFROZEN = 4005,    /* a counter stands still that should be moving */
	WTL_ENOCOUNTER = 4006, /* a GPU woke up that has not the counter it was taken to have */
	WTL_ENOTFILE = 4007,   /* a pipe, a device or the like stands where a file should be */
	WTL_EOTHERS = 4008,    /* somebody else's file in a folder that others can write to */
};

/*
 * What went wrong, for people: which part (source), where (path, may be empty), and why with what
 * to do about it (text, one line). Filled only when a function fails.
 */
struct wtl_err {
	int code;
	char source[24];
	char path[160];
	char text[256];
};

/*
 * Fills *err (which may be NULL) and returns -code, so that a failing function can end with
 * `return wtl_err_set(err, EINVAL, …)`. Takes the code with either sign; path may be NULL. Control
 * characters in path and text are replaced, so the result is safe on a terminal.
 */
int wtl_err_set(struct wtl_err *err, int code, const char *source, const char *path,
		const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The system's words for a code of either sign ("Permission denied"), never NULL, static. */
const char *wtl_err_text(int code);

/* The symbolic name ("EACCES"), or NULL where it is not known. */
const char *wtl_err_name(int code);

/* The positive errno for a symbolic name of `len` characters ("EACCES"), or 0. */
int wtl_err_from_name(const char *name, unsigned long len);

#endif
