/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_RUST_READER_H
#define WTL_PROFILE_RUST_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What Rust's names (rust_names.h) are made of. After the first mistake, and when out is full, nothing is read or put. */

struct wtl_rust_reader {
	const char *text; /* behind "_R": what back references count from */
	size_t len, at;
	char *out;
	size_t n, size;
	unsigned depth, steps, silent, n_lifetimes;
	bool is_over, is_bad; /* over: bad, or out is full */
};

/* A part of the text. */
struct wtl_rust_text {
	const char *text;
	size_t len;
	bool is_punycode;
};

void wtl_rust_fail(struct wtl_rust_reader *reader);
char wtl_rust_peek(const struct wtl_rust_reader *reader); /* NUL: there is no more */
char wtl_rust_next(struct wtl_rust_reader *reader);	  /* fails if there is no more */
bool wtl_rust_eat(struct wtl_rust_reader *reader, char c);

void wtl_rust_put_bytes(struct wtl_rust_reader *reader, const char *text, size_t len);
void wtl_rust_put(struct wtl_rust_reader *reader, const char *text);
void wtl_rust_put_number(struct wtl_rust_reader *reader, uint64_t number);
void wtl_rust_put_point(struct wtl_rust_reader *reader, uint32_t point);
void wtl_rust_put_name(struct wtl_rust_reader *reader, const struct wtl_rust_text *name);

int wtl_rust_digit(char c); /* 0 to 61, or 99 */
/* "_" is 0, "0_" is 1. */
uint64_t wtl_rust_base_62(struct wtl_rust_reader *reader);
/* One more than the number behind a tag. 0: there is none. */
uint64_t wtl_rust_tagged(struct wtl_rust_reader *reader, char tag);
size_t wtl_rust_length(struct wtl_rust_reader *reader);
struct wtl_rust_text wtl_rust_name_at(struct wtl_rust_reader *reader);
/* Up to "E"; how many there were. */
size_t wtl_rust_list(struct wtl_rust_reader *reader, void (*read)(struct wtl_rust_reader *reader),
		     const char *between);

/* Bounds the depth, and all steps. Where it is true, the caller takes one of depth when it is through. */
bool wtl_rust_enter(struct wtl_rust_reader *reader);
/* Behind a "B": goes back to what was there before; where to go on. */
size_t wtl_rust_go_back(struct wtl_rust_reader *reader);

#endif
