#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes src/profile/python_layouts.inc: where CPython 3.8 to 3.12 keep what a profiler reads of a stack.

usage: mkpython.py INCLUDE... > src/profile/python_layouts.inc
       an INCLUDE is a version's folder of headers, such as ~/.pyenv/versions/3.8.18/include/python3.8

From 3.13 on a process tells its own layout (_Py_DebugOffsets). The numbers are those of a 64-bit build: the same for
x86-64 and arm64, and for all patch releases of a version.
"""

import os
import re
import subprocess
import sys
import tempfile

RUNTIME = ["interpreters_head:_PyRuntimeState.interpreters.head"]
CODE = ["code_filename:PyCodeObject.co_filename", "code_name:PyCodeObject.co_name",
        "code_first_line:PyCodeObject.co_firstlineno"]
TEXT = ["text_length:PyASCIIObject.length", "text_state:PyASCIIObject.state"]
TSTATE = ["tstate_next:PyThreadState.next", "tstate_thread_id:PyThreadState.thread_id"]
OLD = RUNTIME + ["interp_next:PyInterpreterState.next", "interp_threads:PyInterpreterState.tstate_head",
                 *TSTATE, "tstate_frame:PyThreadState.frame", "code_instructions:PyCodeObject.co_code",
                 "object_size:PyVarObject.ob_size", "bytes_begin:PyBytesObject.ob_sval", "frame_previous:PyFrameObject.f_back",
                 "frame_code:PyFrameObject.f_code", *CODE, *TEXT]
NEW = RUNTIME + ["interp_next:PyInterpreterState.next", "interp_threads:PyInterpreterState.threads.head",
                 *TSTATE, "tstate_native_id:PyThreadState.native_thread_id", "tstate_frame:PyThreadState.cframe",
                 "code_instructions:PyCodeObject.co_code_adaptive",
                 "object_size:PyVarObject.ob_size", "cframe_frame:_PyCFrame.current_frame", "frame_previous:_PyInterpreterFrame.previous",
                 "frame_code:_PyInterpreterFrame.f_code", *CODE, "code_qualname:PyCodeObject.co_qualname", *TEXT]
FIELDS = {8: OLD, 9: OLD, 10: OLD,
          11: [*NEW, "frame_owner:_PyInterpreterFrame.is_entry"],
          12: [*NEW, "frame_owner:_PyInterpreterFrame.owner"]}

SOURCE = """
#define Py_BUILD_CORE 1
#include <Python.h>
#include <stddef.h>
#include <stdio.h>
#include "frameobject.h"
#include "internal/pycore_pystate.h"
#if PY_VERSION_HEX >= 0x03090000
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#endif
#if PY_VERSION_HEX >= 0x030b0000
#include "internal/pycore_frame.h"
#endif
int main(void)
{
"""


def measure(include, minor):
    source = SOURCE
    for field in FIELDS[minor]:
        name, place = field.split(":")
        kind, member = place.split(".", 1)
        source += f'\tprintf("\\t.{name} = %zu,\\n", offsetof({kind}, {member}));\n'
    source += '\tprintf("\\t.text_ascii = %zu,\\n", sizeof(PyASCIIObject));\n'
    source += '\tprintf("\\t.text_compact = %zu,\\n", sizeof(PyCompactUnicodeObject));\n\treturn 0;\n}\n'
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "layout.c")
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        subprocess.run(["cc", "-w", "-I", include, "-I", include + "/internal", path, "-o", path[:-2]], check=True)
        return subprocess.run([path[:-2]], check=True, capture_output=True, text=True).stdout


def main():
    print("/* SPDX-License-Identifier: MIT */")
    print("/* Made by tools/mkpython.py from each version's headers. */")
    for include in sys.argv[1:]:
        minor = int(re.search(r"python3\.(\d+)$", include.rstrip("/")).group(1))
        print(f"{{\n\t.minor = {minor},\n{measure(include, minor)}}},")


main()
