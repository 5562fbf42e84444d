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

/* The word (of 64 bits) of each field in _Py_DebugOffsets of 3.13 (pycore_runtime.h) and of 3.14
 * (pycore_debug_offsets.h). */
enum { OLDEST = 13, NEWEST = 14 };
static const struct {
	size_t words[NEWEST - OLDEST + 1], field;
} places[] = {
	{{5, 5}, offsetof(struct wtl_python_layout, interpreters_head)},
	{{8, 8}, offsetof(struct wtl_python_layout, interp_next)},
	{{9, 9}, offsetof(struct wtl_python_layout, interp_threads)},
	{{21, 24}, offsetof(struct wtl_python_layout, tstate_next)},
	{{23, 26}, offsetof(struct wtl_python_layout, tstate_frame)},
	{{24, 27}, offsetof(struct wtl_python_layout, tstate_thread_id)},
	{{25, 28}, offsetof(struct wtl_python_layout, tstate_native_id)},
	{{29, 32}, offsetof(struct wtl_python_layout, frame_previous)},
	{{30, 33}, offsetof(struct wtl_python_layout, frame_code)},
	{{33, 36}, offsetof(struct wtl_python_layout, frame_owner)},
	{{35, 40}, offsetof(struct wtl_python_layout, code_filename)},
	{{36, 41}, offsetof(struct wtl_python_layout, code_name)},
	{{37, 42}, offsetof(struct wtl_python_layout, code_qualname)},
	{{39, 44}, offsetof(struct wtl_python_layout, code_first_line)},
	{{43, 48}, offsetof(struct wtl_python_layout, code_instructions)},
	{{44, 50}, offsetof(struct wtl_python_layout, object_size)}, /* PyObject: then ob_size */
	{{68, 78}, offsetof(struct wtl_python_layout, text_state)},
	{{69, 79}, offsetof(struct wtl_python_layout, text_length)},
	{{70, 80}, offsetof(struct wtl_python_layout, text_ascii)},
};

static uint64_t word(const uint8_t bytes[], size_t i)
{
	uint64_t value;

	memcpy(&value, bytes + 8 * i, sizeof(value));
	return value;
}

static bool are_near(uint32_t a, uint32_t b, uint32_t bytes)
{
	return (a < b ? b - a : a - b) + sizeof(uint64_t) <= bytes;
}

bool wtl_python_layout_read(const uint8_t bytes[WTL_PYTHON_OFFSETS_SIZE],
			    struct wtl_python_layout *ret_layout)
{
	struct wtl_python_layout *to = ret_layout;
	unsigned minor = (unsigned)(word(bytes, 1) >> 16 & 0xff);
	bool is_free_threaded = word(bytes, 2) == 1;

	*to = (struct wtl_python_layout){.minor = minor};
	if (memcmp(bytes, "xdebugpy", 8) != 0 || word(bytes, 1) >> 24 != 3 || minor < OLDEST ||
	    minor > NEWEST)
		return false;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		uint64_t value = word(bytes, places[i].words[minor - OLDEST]);
		uint32_t offset = (uint32_t)value;

		if (value >= WTL_PYTHON_OFFSET_MAX)
			return false;
		memcpy((uint8_t *)to + places[i].field, &offset, sizeof(offset));
	}
	/* PyCompactUnicodeObject adds a length and a pointer. */
	to->text_compact = to->text_ascii + 16;
	to->has_interned_byte = is_free_threaded && minor >= 14;
	return to->tstate_native_id && to->frame_owner && to->code_qualname &&
	       are_near(to->tstate_native_id, to->tstate_frame, WTL_PYTHON_STATE_BYTES) &&
	       are_near(to->code_first_line, to->code_filename, WTL_PYTHON_CODE_BYTES) &&
	       are_near(to->code_first_line, to->code_qualname, WTL_PYTHON_CODE_BYTES) &&
	       are_near(to->code_filename, to->code_qualname, WTL_PYTHON_CODE_BYTES);
}
