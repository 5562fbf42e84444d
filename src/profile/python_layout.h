/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_PYTHON_LAYOUT_H
#define WTL_PROFILE_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where a CPython keeps what is read of its stacks: offsets in bytes. 3.8 to 3.12 have theirs in a table
 * (tools/mkpython.py); from 3.13 on the process tells them itself (_Py_DebugOffsets).
 */
struct wtl_python_layout {
	unsigned minor; /* 3.N */
	uint32_t interpreters_head;
	uint32_t interp_next, interp_threads;
	uint32_t tstate_next, tstate_thread_id;
	uint32_t tstate_native_id; /* 0: threads are known by their pthread_t (before 3.11) */
	uint32_t tstate_frame;	   /* of its innermost frame; 3.11 and 3.12: of its _PyCFrame */
	uint32_t cframe_frame;	   /* of the innermost frame in that */
	uint32_t frame_previous, frame_code;
	uint32_t
		frame_owner; /* a byte: 3.11: whether C called it; later: who owns it; 0: C calls each */
	uint32_t code_filename, code_name, code_first_line;
	uint32_t code_qualname; /* 0: there is none (before 3.11) */
	/* Its instructions: within it, as many pairs of bytes as its size says; before 3.11 a bytes object's. */
	uint32_t code_instructions, object_size, bytes_begin;
	uint32_t text_length, text_state;
	bool has_interned_byte; /* in a text's state, for what takes two bits otherwise (3.14t) */
	uint32_t text_ascii, text_compact; /* where the characters of those kinds of text begin */
};

/* No offset that a layout has may be as large. */
enum { WTL_PYTHON_OFFSET_MAX = 1 << 20 };
/* What is read of a thread's state (its number and its frame) and of a code object (its names and line) lies so near. */
enum { WTL_PYTHON_STATE_BYTES = 512, WTL_PYTHON_CODE_BYTES = 128 };

/* The first bytes of _PyRuntime that tell the layout. */
enum { WTL_PYTHON_OFFSETS_SIZE = 1024 };

/* NULL: a version that is not in the table. */
const struct wtl_python_layout *wtl_python_layout_find(unsigned minor);
/* From the first bytes of _PyRuntime. false: those of a version that is not known, or no Python. */
bool wtl_python_layout_read(const uint8_t bytes[WTL_PYTHON_OFFSETS_SIZE],
			    struct wtl_python_layout *ret_layout);

#endif
