/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_RUST_NAMES_H
#define WTL_PROFILE_RUST_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Rust's names of functions as programmers write them, without the hashes that differ from build to build: of both kinds,
 * "v0" (RFC 2603) and the older one that looks like C++. Names come from files of strangers: depth, steps and length are
 * bounded. libiberty has one, of which neither time nor output has a bound: names of 300 bytes take it hours.
 */

/* Whether it is one, and was written to dst, cut to size. */
bool wtl_rust_name(const char *mangled, char *dst, size_t size);

#endif
