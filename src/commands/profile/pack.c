/* SPDX-License-Identifier: MIT */
#include "commands/profile/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "record/code.h"

/* Values per block, and the fewest bytes of a block. */
enum { BLOCK = 4096, BLOCK_BYTES_MIN = 4 };

static void fail(struct wtl_pack *pack, int error)
{
	if (pack->error == 0)
		pack->error = error;
}

static void took(struct wtl_pack *pack, int rc)
{
	if (rc < 0)
		fail(pack, rc);
}

/* Memory for n elements to be read, with a NUL after them. NULL: an error. */
static void *take_room(struct wtl_pack *pack, size_t n, size_t size)
{
	void *memory = NULL;

	if (n > pack->room / size)
		fail(pack, -EFBIG);
	else if (!(memory = calloc(n + 1, size)))
		fail(pack, -ENOMEM);
	else
		pack->room -= n * size;
	return memory;
}

void wtl_pack_number(struct wtl_pack *pack, uint64_t *value)
{
	if (pack->error == 0)
		took(pack, pack->out ? wtl_varint_put(pack->out, *value)
				     : wtl_varint_get(&pack->at, pack->end, value));
	if (pack->error < 0 && !pack->out)
		*value = 0;
}

static uint64_t load(const void *from, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, from, size); /* all supported processors are little-endian */
	return value;
}

static void store(struct wtl_pack *pack, void *to, size_t size, uint64_t value)
{
	if (size < sizeof(value) && value >> (8 * size))
		fail(pack, -EBADMSG);
	else
		memcpy(to, &value, size);
}

void wtl_pack_scalar(struct wtl_pack *pack, void *to, size_t size)
{
	uint64_t value = load(to, size);

	wtl_pack_number(pack, &value);
	if (!pack->out)
		store(pack, to, size, value);
}

void wtl_pack_flag(struct wtl_pack *pack, bool *flag)
{
	uint64_t value = *flag;

	wtl_pack_number(pack, &value);
	if (value > 1)
		fail(pack, -EBADMSG);
	*flag = value == 1;
}

/* ---- Texts: length + 1 (0 for NULL), then the bytes ---- */

static void put_name(struct wtl_pack *pack, const char *name)
{
	size_t len = name ? strlen(name) : 0;

	took(pack, wtl_varint_put(pack->out, name ? len + 1 : 0));
	took(pack, wtl_buf_add(pack->out, name ? name : "", len));
}

static void get_name(struct wtl_pack *pack, char **name)
{
	uint64_t size = 0;

	wtl_pack_number(pack, &size);
	if (pack->error < 0 || size == 0)
		return;
	if (size - 1 > (uint64_t)(pack->end - pack->at) || memchr(pack->at, '\0', size - 1))
		fail(pack, -EBADMSG);
	else
		*name = take_room(pack, size, 1);
	if (!*name)
		return;
	memcpy(*name, pack->at, size - 1);
	pack->at += size - 1;
}

void wtl_pack_name(struct wtl_pack *pack, char **name)
{
	if (!pack->out)
		*name = NULL;
	if (pack->error < 0)
		return;
	if (pack->out)
		put_name(pack, *name);
	else
		get_name(pack, name);
}

void wtl_pack_text(struct wtl_pack *pack, char **text)
{
	char *given;

	wtl_pack_name(pack, text);
	if (pack->out || pack->error < 0 || !*text)
		return;
	given = *text;
	*text = take_room(pack, strlen(given) + 1, 1);
	if (*text)
		wtl_text_clean(*text, strlen(given) + 1, given, strlen(given));
	free(given);
}

void wtl_pack_chars(struct wtl_pack *pack, char *chars, size_t size)
{
	char *text = chars;

	wtl_pack_text(pack, &text);
	if (pack->out)
		return;
	wtl_text_copy(chars, size, text);
	free(text);
}

/* ---- Columns ---- */

/* n elements take at least `least` bytes per `block` of them: this bounds n by the bytes left. */
static size_t pack_array(struct wtl_pack *pack, void *array, size_t *n, size_t size, uint64_t block,
			 uint64_t least)
{
	uint64_t number = *n;
	void *memory;

	if (pack->error < 0)
		return 0;
	wtl_pack_number(pack, &number);
	if (pack->out)
		return *n;
	*n = 0;
	if (number / block > (uint64_t)(pack->end - pack->at) / least)
		fail(pack, -EBADMSG);
	if (pack->error < 0)
		return 0;
	memory = take_room(pack, number, size);
	if (!memory)
		return 0;
	memcpy(array, &memory, sizeof(memory));
	*n = number;
	return number;
}

size_t wtl_pack_array(struct wtl_pack *pack, void *array, size_t *n, size_t size)
{
	return pack_array(pack, array, n, size, BLOCK, BLOCK_BYTES_MIN);
}

size_t wtl_pack_texts(struct wtl_pack *pack, void *array, size_t *n, size_t size)
{
	return pack_array(pack, array, n, size, 1, 1);
}

static void put_block(struct wtl_pack *pack, const int64_t values[], size_t n)
{
	struct wtl_buf block;

	wtl_buf_init(&block, WTL_CODE_BYTES_MAX);
	took(pack, wtl_code_put_planes(&block, values, n));
	took(pack, wtl_varint_put(pack->out, block.len));
	took(pack, wtl_buf_add(pack->out, wtl_buf_str(&block), block.len));
	wtl_buf_done(&block);
}

static void get_block(struct wtl_pack *pack, int64_t values[], size_t n)
{
	uint64_t len = 0;

	wtl_pack_number(pack, &len);
	if (pack->error < 0)
		return;
	if (len > (uint64_t)(pack->end - pack->at) || wtl_code_count(pack->at, len) != (int64_t)n ||
	    wtl_code_get(pack->at, len, values, n) < 0)
		fail(pack, -EBADMSG);
	else
		pack->at += len;
}

void wtl_pack_column(struct wtl_pack *pack, void *first, size_t n, size_t stride, size_t size)
{
	int64_t values[BLOCK];
	char *at = first;

	while (n > 0 && pack->error == 0) {
		size_t some = n < BLOCK ? n : BLOCK;

		for (size_t i = 0; pack->out && i < some; i++)
			values[i] = (int64_t)load(at + i * stride, size);
		if (pack->out)
			put_block(pack, values, some);
		else
			get_block(pack, values, some);
		for (size_t i = 0; !pack->out && pack->error == 0 && i < some; i++)
			store(pack, at + i * stride, size, (uint64_t)values[i]);
		at += some * stride;
		n -= some;
	}
}
