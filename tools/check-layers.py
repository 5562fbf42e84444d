#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check the house's walls: who includes whom, no circles inside a folder, who prints, exits or reads the environment.

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
FRAME = METER | {"record", "replay", "document", "text", "draw", "smi", "report"}
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
    "report": METER | {"record", "replay", "document", "text"},
    "import": METER | {"record", "replay", "document", "smi"},
    "client": BELOW,
    "serve": METER | {"record", "replay", "document", "report", "client"},
    "cli": FRAME,
    "commands": FRAME | {"cli", "client", "import", "neural", "profile", "serve"},
}
# A command is a folder or a file of src/commands. Which of the others it may use:
COMMAND_MAY_INCLUDE = {
    "calibrate": {"import"},
    "compare": {"run", "record"},
    "limit": {"query"},
    "plot": {"report", "top"},
    "profile": {"mark", "report"},
    "record": {"mark", "profile"},
    "report": {"import"},
    "run": {"record"},
    "serve": {"record"},
}
PRINTS = {"cli", "commands"}
FORBIDDEN = (
    "printf fprintf vprintf vfprintf puts putchar perror exit _exit quick_exit abort"
    " getenv secure_getenv setenv putenv unsetenv signal sigaction"
).split()
CALL = re.compile(r"(?<![\w.>])(" + "|".join(FORBIDDEN) + r")\s*\(")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]*)"|<([^>]*)>)')
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)

# What a .c file defines for others: functions, and objects with a value.
FUNCTION = re.compile(r"^(static )?(?=[A-Za-z])[^\n;{}=()]*?\b(\w+)\([^;{}]*\)(?:\s*__attribute__\(.*\))?\n\{", re.MULTILINE)
OBJECT = re.compile(r"^(static )?(?=[A-Za-z])[^\n;{}=()]*?\b(\w+)(?:\[[^\]\n]*\])* = ", re.MULTILINE)
NAME = re.compile(r"(?<![\w.])(?<!->)(?<!struct )(?<!enum )[A-Za-z_]\w+")


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


def uses_inside(folder):
    """{file: {another file of the folder: a name}}: headers by what they include, sources by what the other one defines."""
    texts = {file: file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*.[ch]"))}
    codes = {file: code_only(text) for file, text in texts.items() if file.suffix == ".c"}
    owned, homes = {}, {}
    for file, code in codes.items():
        found = [match.groups() for pattern in (FUNCTION, OBJECT) for match in pattern.finditer(code)]
        owned[file] = {name for _, name in found}
        for is_static, name in found:
            if not is_static and name != "main":
                homes.setdefault(name, []).append(file)
    uses = {file: {} for file in texts}
    for file, code in codes.items():
        for name in sorted((set(NAME.findall(code)) & homes.keys()) - owned[file]):
            for home in homes[name]:
                uses[file].setdefault(home, name)
    for file in texts.keys() - codes.keys():
        for name in filter(None, (match and match.group(1) for match in map(INCLUDE.match, texts[file].splitlines()))):
            if (folder.parent / name) in texts:
                uses[file][folder.parent / name] = name
    return uses


def shortest_circle(uses, first):
    """The files on a shortest way from `first` back to itself, or None."""
    before, queue = {}, [first]
    for file in queue:
        for other in uses[file]:
            if other == first:
                way = [file]
                while way[-1] != first:
                    way.append(before[way[-1]])
                return way[::-1]
            if other not in before:
                before[other] = file
                queue.append(other)
    return None


def check_circles(root):
    """A shortest circle of each file that is in one."""
    for folder in sorted(path for path in (root / "src").glob("*") if path.is_dir()):
        uses, shown = uses_inside(folder), set()
        for first in uses:
            way = shortest_circle(uses, first)
            if way and frozenset(way) not in shown:
                shown.add(frozenset(way))
                steps = (f"{other.name} ({uses[file][other]})" for file, other in zip(way, way[1:] + way[:1]))
                yield f"{first.relative_to(root)}:1: circle: {first.name} -> {' -> '.join(steps)}"


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
    yield from check_circles(root)


def main(argv):
    if len(argv) != 2 or not (Path(argv[1]) / "src").is_dir():
        sys.exit(__doc__)
    found = list(breaches(Path(argv[1])))
    print("\n".join(found) if found else "layers: no breach")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
