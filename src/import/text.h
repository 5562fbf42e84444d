/* SPDX-License-Identifier: MIT */
#ifndef WTL_IMPORT_TEXT_H
#define WTL_IMPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_buf;
struct wtl_import;

/* What readers share: encodings, lines, cells, labels, numbers with units, and dates. */

/* A piece of the text, without a NUL at its end. */
struct wtl_cell {
	const char *text;
	size_t len;
};

/* Appends the bytes as UTF-8, without a byte order mark: UTF-16
 * is converted, other bytes stay. 0 or the buffer's error. */
int wtl_import_decode(struct wtl_buf *buf, const char *bytes, size_t len);

struct wtl_import_lines {
	const char *at, *end;
	size_t number; /* of the line, from 1 */
};

/* The next line, without its end ("\n" or "\r\n"). false: there are no more. */
bool wtl_import_line(struct wtl_import_lines *lines, struct wtl_cell *ret_line);

/* Splits a line into cells between separators (' ': any blanks), without blanks around them
 * and without the quotes of CSV. Returns how many there are, which may be more than max. */
size_t wtl_cells(struct wtl_cell line, char separator, struct wtl_cell cells[], size_t max);

/* Is it empty, or one of the words for a value that is not known? What is neither that nor a number is an error. */
bool wtl_cell_is_unknown(struct wtl_cell cell);
bool wtl_cell_is(struct wtl_cell cell, const char *text);
bool wtl_cell_starts(struct wtl_cell cell, const char *text);
/* The index of a title among cells; SIZE_MAX: it is none of them. */
size_t wtl_cell_find(const struct wtl_cell cells[], size_t n, const char *text);

/* The cell as a C string, cleaned and cut; returns `to`. */
char *wtl_cell_copy(struct wtl_cell cell, char *to, size_t size);

/* A decimal, with or without an exponent, times scale, rounded; it
 * must not be negative. false: it is no such number, or too large. */
bool wtl_cell_scaled(struct wtl_cell cell, double scale, uint64_t *ret);
/* The same with another separator than commas, where a comma may be the decimal point. */
bool wtl_cell_scaled_by(struct wtl_cell cell, char separator, double scale, uint64_t *ret);
bool wtl_cell_double(struct wtl_cell cell, double *ret);

/* "2026-07-03 22:11:09.916", "2026/07/03 22:11:09", also with T and a zone; without a zone it is local time,
 * or (is_utc) UTC. Or seconds, milliseconds, microseconds or nanoseconds since 1970, by their size. */
bool wtl_cell_time(struct wtl_import *import, struct wtl_cell cell, bool is_utc, int64_t *ret_ns);

/* ---- Prometheus' text ---- */

enum { WTL_LABELS_MAX = 32 };

struct wtl_exposed {
	struct wtl_cell name, value, time; /* time: "" if there is none */
	struct wtl_cell labels[WTL_LABELS_MAX], values[WTL_LABELS_MAX];
	size_t n_labels;
};

/* false: the line is no sample. */
bool wtl_exposed_parse(struct wtl_cell line, struct wtl_exposed *ret);
/* "" if there is no such label. */
struct wtl_cell wtl_exposed_label(const struct wtl_exposed *exposed, const char *name);

#endif
