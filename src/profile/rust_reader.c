/* SPDX-License-Identifier: MIT */
#include "profile/rust_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Each step prints a byte or reads one, but for places that are read again (back references). */
enum { DEPTH_MOST = 128, STEPS_MOST = 8192, POINTS_MOST = 128 };

void wtl_rust_fail(struct wtl_rust_reader *reader)
{
	reader->is_bad = reader->is_bad || !reader->is_over;
	reader->is_over = true;
}

char wtl_rust_peek(const struct wtl_rust_reader *reader)
{
	return reader->is_over ? '\0' : reader->text[reader->at];
}

char wtl_rust_next(struct wtl_rust_reader *reader)
{
	char c = wtl_rust_peek(reader);

	if (c)
		reader->at++;
	else
		wtl_rust_fail(reader);
	return c;
}

bool wtl_rust_eat(struct wtl_rust_reader *reader, char c)
{
	if (wtl_rust_peek(reader) != c)
		return false;
	reader->at++;
	return true;
}

void wtl_rust_put_bytes(struct wtl_rust_reader *reader, const char *text, size_t len)
{
	size_t room = reader->size - 1 - reader->n;

	if (reader->silent || reader->is_over)
		return;
	reader->is_over = len > room;
	len = len > room ? room : len;
	memcpy(reader->out + reader->n, text, len);
	reader->n += len;
	reader->out[reader->n] = '\0';
}

void wtl_rust_put(struct wtl_rust_reader *reader, const char *text)
{
	wtl_rust_put_bytes(reader, text, strlen(text));
}

void wtl_rust_put_number(struct wtl_rust_reader *reader, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	wtl_rust_put(reader, text);
}

void wtl_rust_put_point(struct wtl_rust_reader *reader, uint32_t point)
{
	char text[4];
	size_t len;

	point = point < ' ' ? '?' : point;
	len = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;

	for (size_t i = len; i-- > 1; point >>= 6)
		text[i] = (char)(0x80 | (point & 0x3f));
	text[0] = (char)(len == 1 ? point : (0xf00U >> len & 0xff) | point);
	wtl_rust_put_bytes(reader, text, len);
}

int wtl_rust_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'Z' ? c - 'A' + 36 : 99;
}

uint64_t wtl_rust_base_62(struct wtl_rust_reader *reader)
{
	uint64_t value = 0;

	if (wtl_rust_eat(reader, '_'))
		return 0;
	while (!wtl_rust_eat(reader, '_')) {
		int digit = wtl_rust_digit(wtl_rust_next(reader));

		if (digit >= 62 || value > UINT64_MAX / 62 - 1) {
			wtl_rust_fail(reader);
			return 0;
		}
		value = value * 62 + (uint64_t)digit;
	}
	return value + 1;
}

uint64_t wtl_rust_tagged(struct wtl_rust_reader *reader, char tag)
{
	return wtl_rust_eat(reader, tag) ? wtl_rust_base_62(reader) + 1 : 0;
}

size_t wtl_rust_length(struct wtl_rust_reader *reader)
{
	size_t length = 0;

	if (wtl_rust_digit(wtl_rust_peek(reader)) > 9)
		wtl_rust_fail(reader);
	if (wtl_rust_eat(reader, '0'))
		return 0;
	while (wtl_rust_digit(wtl_rust_peek(reader)) <= 9 && length <= reader->len)
		length = 10 * length + (size_t)wtl_rust_digit(wtl_rust_next(reader));
	return length;
}

struct wtl_rust_text wtl_rust_name_at(struct wtl_rust_reader *reader)
{
	struct wtl_rust_text name = {.is_punycode = wtl_rust_eat(reader, 'u'), .text = ""};
	size_t len = wtl_rust_length(reader);

	wtl_rust_eat(reader, '_'); /* before a name that begins with a digit or with "_" */
	if (reader->is_over || reader->len - reader->at < len) {
		wtl_rust_fail(reader);
		return name;
	}
	name.text = reader->text + reader->at;
	name.len = len;
	reader->at += len;
	return name;
}

struct points {
	uint32_t list[POINTS_MOST];
	size_t n;
};

/* RFC 3492's bias. */
static uint32_t adapt(uint64_t delta, size_t n, bool is_first)
{
	uint32_t k = 0;

	delta = is_first ? delta / 700 : delta / 2;
	for (delta += delta / n; delta > 455; delta /= 35)
		k += 36;
	return k + (uint32_t)(36 * delta / (delta + 38));
}

/* A number of variable length; its end. NULL: it is none. */
static const char *read_delta(const char *at, const char *end, uint32_t bias, uint64_t *delta)
{
	uint64_t weight = 1;

	for (uint32_t k = 36;; k += 36) {
		uint32_t least = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias, digit;

		if (at == end || *delta > UINT32_MAX || weight > UINT32_MAX)
			return NULL;
		digit = (uint32_t)wtl_rust_digit(*at++);
		if (digit >= 36) /* no upper case */
			return NULL;
		digit = digit < 10 ? digit + 26 : digit - 10;
		*delta += digit * weight;
		if (digit < least)
			return at;
		weight *= 36 - least;
	}
}

/* RFC 3492 with "_" for "-". */
static bool read_points(const struct wtl_rust_text *name, struct points *ret_points)
{
	const char *at = name->text, *end = at + name->len, *mark = memrchr(at, '_', name->len);
	uint64_t point = 0x80, place = 0;
	uint32_t bias = 72;

	ret_points->n = 0;
	if (name->len > POINTS_MOST)
		return false;
	for (; mark && at < mark; at++)
		ret_points->list[ret_points->n++] = (uint8_t)*at;
	for (at += mark != NULL; at < end; place++) {
		uint64_t before = place;
		size_t n = ret_points->n + 1;

		at = read_delta(at, end, bias, &place);
		if (!at)
			return false;
		bias = adapt(place - before, n, before == 0 && point == 0x80);
		point += place / n;
		place %= n;
		if (point > 0x10ffff || n > POINTS_MOST)
			return false;
		memmove(&ret_points->list[place + 1], &ret_points->list[place],
			(n - 1 - place) * sizeof(ret_points->list[0]));
		ret_points->list[place] = (uint32_t)point;
		ret_points->n = n;
	}
	return true;
}

void wtl_rust_put_name(struct wtl_rust_reader *reader, const struct wtl_rust_text *name)
{
	struct points points;

	if (!name->is_punycode) {
		wtl_rust_put_bytes(reader, name->text, name->len);
		return;
	}
	if (!read_points(name, &points))
		wtl_rust_fail(reader);
	for (size_t i = 0; i < points.n; i++)
		wtl_rust_put_point(reader, points.list[i]);
}

bool wtl_rust_enter(struct wtl_rust_reader *reader)
{
	if (reader->depth >= DEPTH_MOST || reader->steps++ >= STEPS_MOST)
		wtl_rust_fail(reader);
	if (!reader->is_over)
		reader->depth++;
	return !reader->is_over;
}

size_t wtl_rust_go_back(struct wtl_rust_reader *reader)
{
	size_t begin = reader->at - 1, after;
	uint64_t to = wtl_rust_base_62(reader);

	after = reader->at;
	if (to >= begin)
		wtl_rust_fail(reader);
	else
		reader->at = (size_t)to;
	return after;
}

size_t wtl_rust_list(struct wtl_rust_reader *reader, void (*read)(struct wtl_rust_reader *reader),
		     const char *between)
{
	size_t n;

	for (n = 0; !reader->is_over && !wtl_rust_eat(reader, 'E'); n++) {
		if (n > 0)
			wtl_rust_put(reader, between);
		read(reader);
	}
	return n;
}
