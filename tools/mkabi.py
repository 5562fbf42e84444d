#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: tools/mkabi.py [--check] OUTPUT HEADER...

Writes the Python package's ctypes declarations from the public headers: enums, structs, functions. --check compares
OUTPUT instead, and fails if it is not what would be written. What this does not understand in a header is an error.
"""

import re
import sys
from pathlib import Path

CONST = "const "
SCALARS = {
    "int": "c_int",
    "size_t": "c_size_t",
    "uint64_t": "c_uint64",
    "int64_t": "c_int64",
    "uint32_t": "c_uint32",
    "double": "c_double",
    "const char *": "c_char_p",
    "void *": "c_void_p",
}
HEADER = '''# SPDX-License-Identifier: MIT
"""The C library's constants, structs and functions. Written by tools/mkabi.py from the public headers: edit those."""

from __future__ import annotations

from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

'''


def class_name(struct):
    return "".join(word.capitalize() for word in struct.split("_")[1:])


def split(text):
    return [part.strip() for part in text.split(",") if part.strip() and part.strip() != "void"]


class Abi:
    def __init__(self, source):
        source = re.sub(r"/\*.*?\*/", "", source, flags=re.S)
        source = re.sub(r"\s+", " ", re.sub(r"^\s*#.*$", "", source, flags=re.M))
        self.enums = re.findall(r"enum (\w+ )?\{([^}]*)\};", source)
        self.structs = re.findall(r"struct (\w+) \{((?:[^{}])*)\};", source)
        self.functions = re.findall(r"WATTLE_API ([^;()]*?)(\w+)\(([^;]*)\);", source)
        self.complete = {name for name, _ in self.structs}

    def type(self, text):
        """The ctypes expression and the Python annotation of a C type."""
        text = re.sub(r"\s+", " ", text).strip().replace("* ", "*")
        if text in SCALARS:
            ctype = SCALARS[text]
            return ctype, {"c_char_p": "bytes | None", "c_void_p": "int | None", "c_double": "float"}.get(ctype, "int")
        if match := re.fullmatch(r"enum \w+", text):
            return "c_int", "int"
        if match := re.fullmatch(r"(?:const )?struct (\w+) ?(\**)", text):
            name, stars = match[1], len(match[2])
            if name not in self.complete:
                return ("c_void_p", "int | None") if stars == 1 else ("POINTER(c_void_p)", "Any")
            return (f"POINTER({class_name(name)})", "Any") if stars else (class_name(name), class_name(name))
        if match := re.fullmatch(r"(?:const )?(enum \w+|\w+) ?\*", text):
            return f"POINTER({self.type(match[1])[0]})", "Any"
        sys.exit(f"tools/mkabi.py: what is the type '{text}'?")

    def declaration(self, text):
        """[(name, ctypes, annotation)] of a declaration such as "int a, b" or "char text[256]"."""
        if match := re.fullmatch(r"void \(\*(\w+)\)\((.*)\)", text):
            arguments = ", ".join(self.declaration(part)[0][1] for part in split(match[2]))
            return [(match[1], f"CFUNCTYPE(None, {arguments})", "Any")]
        match = re.fullmatch(r"((?:const )?(?:struct |enum )?\w+)(.*)", text)
        base, names = match[1].strip(), match[2]
        result = []
        for name in names.split(","):
            stars, name, length, size = re.fullmatch(r"\s*(\**)\s*(\w*)(\[(\d*)\])?", name).groups()
            if base == "char" and size:
                result.append((name, f"c_char * {size}", "bytes"))
            elif length:
                result.append((name, f"POINTER({self.type(base.removeprefix(CONST))[0]})", "Any"))
            else:
                result.append((name, *self.type(f"{base} {stars}" if stars else base)))
        return result

    def text(self):
        out = [HEADER]
        for _, body in self.enums:
            value = -1
            for entry in split(body):
                name, _, number = entry.partition("=")
                value = int(number) if number else value + 1
                out.append(f"{name.strip().removeprefix('WATTLE_')} = {value}\n")
        out.append("UNKNOWN = 2**64 - 1\n")
        for name, body in self.structs:
            members = [m for part in body.split(";") if part.strip() for m in self.declaration(part.strip())]
            out.append(f"\n\nclass {class_name(name)}(Structure):\n")
            out += [f"    {member}: {note}\n" for member, _, note in members]
            out.append("    _fields_ = [\n")
            out += [f'        ("{member}", {ctype}),\n' for member, ctype, _ in members]
            out.append("    ]\n")
        out.append("\n\nFUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {\n")
        for result, name, arguments in self.functions:
            types = [self.declaration(part)[0][1] for part in split(arguments)]
            result = "None" if result.strip() == "void" else self.type(result)[0]
            listed = ", ".join(types) + ("," if len(types) == 1 else "")
            out.append(f'    "{name}": ({result}, ({listed})),\n')
        out.append("}\n")
        return "".join(out)


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    if len(arguments) < 2:
        sys.exit(__doc__)
    output = Path(arguments[0])
    text = Abi("".join(Path(header).read_text() for header in arguments[1:])).text()
    if "--check" not in sys.argv:
        output.write_text(text)
    elif output.read_text() != text:
        sys.exit(f"{output} is not what the headers say: run 'make abi'")


if __name__ == "__main__":
    main()
