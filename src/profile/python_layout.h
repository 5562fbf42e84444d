/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_PYTHON_LAYOUT_H
#define WTL_PROFILE_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where a CPython keeps the fields that are read: offsets in bytes. Those of 3.8 to 3.12 are in a table
 * (tools/mkpython.py); from 3.13 on the process has them in its memory (_Py_DebugOffsets).
 */
struct wtl_python_layout {
	unsigned minor; /* 3.N */
	uint32_t interpreters_head;
	uint32_t interp_next, interp_threads;
	uint32_t tstate_next, tstate_thread_id;
	uint32_t tstate_native_id; /* 0: threads are known by their pthread_t (before 3.11) */
	uint32_t tstate_frame;	   /* of its innermost frame; 3.11 and 3.12: of its _PyCFrame */
	uint32_t cframe_frame;	   /* of the innermost frame, in the _PyCFrame */
	uint32_t frame_previous, frame_code;
	uint32_t
		frame_owner; /* a byte; 3.11: C called it; later: its owner; 0: C calls each frame */
	uint32_t code_filename, code_name, code_first_line;
	uint32_t code_qualname; /* 0: there is none (before 3.11) */
	/* Its instructions: inside it, two bytes for each item of its size; before 3.11 in a bytes object. */
	uint32_t code_instructions, object_size, bytes_begin;
	uint32_t text_length, text_state;
	bool has_interned_byte; /* a text's state has a byte for what else takes two bits (3.14t) */
	uint32_t text_ascii, text_compact; /* where characters of ASCII and compact text begin */
};

/* All offsets are below this. */
enum { WTL_PYTHON_OFFSET_MAX = 1 << 20 };
/* Bytes that span the fields read of a thread's state (number, frame), and of a code object (names, line). */
enum { WTL_PYTHON_STATE_BYTES = 512, WTL_PYTHON_CODE_BYTES = 128 };

/* The first bytes of _PyRuntime, which have the offsets. */
enum { WTL_PYTHON_OFFSETS_SIZE = 1024 };

/* NULL: a version that is not in the table. */
const struct wtl_python_layout *wtl_python_layout_find(unsigned minor);
/* From the first bytes of _PyRuntime. false: those of a version that is not known, or no Python. */
bool wtl_python_layout_read(const uint8_t bytes[WTL_PYTHON_OFFSETS_SIZE],
			    struct wtl_python_layout *ret_layout);

#endif
