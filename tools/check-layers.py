#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check the house's walls: who includes whom, who prints, exits or reads the environment.

usage: check-layers.py ROOT

Prints every breach as `path:line: what` and exits 1 if there is one. The rules are those of ARCHITECTURE.md.
"""

import re
import sys
from pathlib import Path

BELOW = {"base", "energy"}
DRIVERS = BELOW | {"gpu"}
METER = DRIVERS | {"sensors", "workload", "meter"}
FORMS = BELOW | {"document"}
FRAME = METER | {"record", "replay", "document", "text", "draw", "smi"}
MAY_INCLUDE = {
    "base": set(),
    "energy": {"base"},
    "gpu": BELOW,
    "sensors": DRIVERS,
    "workload": DRIVERS,
    "record": BELOW,
    "profile": BELOW,
    "neural": BELOW,
    "meter": METER,
    "replay": METER | {"record"},
    "document": BELOW,
    "text": FORMS,
    "draw": FORMS,
    "smi": FORMS,
    "cli": FRAME,
    "commands": FRAME | {"cli"},
}
# A command is a folder or a file of src/commands. Which of the others it may use:
COMMAND_MAY_INCLUDE = {
    "export": {"report"},
    "limit": {"query"},
    "plot": {"report", "top"},
    "record": {"mark", "top"},
    "run": {"record", "report"},
    "top": {"report"},
}
PRINTS = {"cli", "commands"}
FORBIDDEN = (
    "printf fprintf vprintf vfprintf puts putchar perror exit _exit quick_exit abort"
    " getenv secure_getenv setenv putenv unsetenv signal sigaction"
).split()
CALL = re.compile(r"(?<![\w.>])(" + "|".join(FORBIDDEN) + r")\s*\(")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]*)"|<([^>]*)>)')
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def code_only(text):
    """`text` with comments, strings and characters blanked out; lines keep their numbers."""
    return NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def command_of(path):
    """The command that a path below src/commands belongs to: its folder, or its file's stem."""
    return path.split("/")[1].split(".")[0]


def check_commands(path, number, name):
    own, other = command_of(str(path)[len("src/") :]), command_of(name)
    if own != other and other not in COMMAND_MAY_INCLUDE.get(own, ()):
        yield f"{path}:{number}: the command {own} may not include {other} ({name})"


def check_includes(layer, path, lines):
    allowed = MAY_INCLUDE[layer]
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        name = match and match.group(1)
        if not name:
            continue
        if name == "wattle.h":
            if layer == "base":
                yield f"{path}:{number}: base knows nothing of energy, so nothing of wattle.h"
            continue
        other = name.split("/")[0]
        if "/" not in name:
            yield f'{path}:{number}: "{name}" is not written from src/, as in "base/io.h"'
        elif other not in MAY_INCLUDE:
            yield f'{path}:{number}: "{name}" is in no known layer'
        elif layer == other == "commands":
            yield from check_commands(path, number, name)
        elif other != layer and other not in allowed:
            yield f"{path}:{number}: {layer} may not include {other} ({name})"


def check_calls(path, text):
    for number, line in enumerate(code_only(text).splitlines(), 1):
        for match in CALL.finditer(line):
            yield f"{path}:{number}: {match.group(1)}() outside the command"


def check_listed(root, path):
    layer = Path(*path.parts[:2])
    listing = root / layer / "meson.build"
    listed = listing.read_text() if listing.exists() else ""
    if f"'{path.relative_to(layer)}'" not in listed and path.name != "main.c":
        yield f"{path}:1: not listed in {layer}/meson.build"


def check_source(root, file):
    path = file.relative_to(root)
    layer = path.parts[1]
    if len(path.parts) < 3 or layer not in MAY_INCLUDE:
        yield f"{path}:1: lies in no known layer"
        return
    text = file.read_text(encoding="utf-8")
    yield from check_includes(layer, path, text.splitlines())
    if layer not in PRINTS:
        yield from check_calls(path, text)
    if file.suffix == ".c":
        yield from check_listed(root, path)


def check_public_header(root):
    header = root / "include" / "wattle.h"
    if not header.exists():
        return
    for number, line in enumerate(header.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match and match.group(1) is not None:
            yield f'include/wattle.h:{number}: the public header includes "{match.group(1)}"'


def breaches(root):
    for file in sorted((root / "src").rglob("*.[ch]")):
        yield from check_source(root, file)
    yield from check_public_header(root)


def main(argv):
    if len(argv) != 2 or not (Path(argv[1]) / "src").is_dir():
        sys.exit(__doc__)
    found = list(breaches(Path(argv[1])))
    print("\n".join(found) if found else "layers: no breach")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
