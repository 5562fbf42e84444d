/* SPDX-License-Identifier: MIT */
#include "profile/python_layout.h"

#include <string.h>

static const struct wtl_python_layout layouts[] = {
#include "profile/python_layouts.inc"
};

const struct wtl_python_layout *wtl_python_layout_find(unsigned minor)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}

/* Where _Py_DebugOffsets of 3.13 (pycore_runtime.h) has each: numbers of 64-bit words. */
static const struct {
	size_t word, field;
} words[] = {
	{5, offsetof(struct wtl_python_layout, interpreters_head)},
	{8, offsetof(struct wtl_python_layout, interp_next)},
	{9, offsetof(struct wtl_python_layout, interp_threads)},
	{21, offsetof(struct wtl_python_layout, tstate_next)},
	{23, offsetof(struct wtl_python_layout, tstate_frame)},
	{24, offsetof(struct wtl_python_layout, tstate_thread_id)},
	{25, offsetof(struct wtl_python_layout, tstate_native_id)},
	{29, offsetof(struct wtl_python_layout, frame_previous)},
	{30, offsetof(struct wtl_python_layout, frame_code)},
	{33, offsetof(struct wtl_python_layout, frame_owner)},
	{35, offsetof(struct wtl_python_layout, code_filename)},
	{36, offsetof(struct wtl_python_layout, code_name)},
	{37, offsetof(struct wtl_python_layout, code_qualname)},
	{39, offsetof(struct wtl_python_layout, code_first_line)},
	{43, offsetof(struct wtl_python_layout, code_instructions)},
	{44, offsetof(struct wtl_python_layout, object_size)}, /* of PyObject: what follows */
	{68, offsetof(struct wtl_python_layout, text_state)},
	{69, offsetof(struct wtl_python_layout, text_length)},
	{70, offsetof(struct wtl_python_layout, text_ascii)},
};

static uint64_t word(const uint8_t bytes[], size_t i)
{
	uint64_t value;

	memcpy(&value, bytes + 8 * i, sizeof(value));
	return value;
}

bool wtl_python_layout_read(const uint8_t bytes[WTL_PYTHON_OFFSETS_SIZE],
			    struct wtl_python_layout *ret_layout)
{
	struct wtl_python_layout *to = ret_layout;

	*to = (struct wtl_python_layout){.minor = 13};
	if (memcmp(bytes, "xdebugpy", 8) != 0 || word(bytes, 1) >> 16 != 0x030d)
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		uint64_t value = word(bytes, words[i].word);
		uint32_t offset = (uint32_t)value;

		if (value >= WTL_PYTHON_OFFSET_MAX)
			return false;
		memcpy((uint8_t *)to + words[i].field, &offset, sizeof(offset));
	}
	/* PyCompactUnicodeObject adds a length and a pointer. */
	to->text_compact = to->text_ascii + 16;
	return to->tstate_native_id && to->frame_owner && to->code_qualname;
}
