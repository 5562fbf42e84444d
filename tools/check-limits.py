#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check the ceilings: lengths, complexity, mutable globals.

usage: check-limits.py ROOT [--objects BUILD]

BUILD is a plain build directory (no sanitizer): its objects show the mutable globals. Needs pmccabe and readelf.
Prints every breach as `path:line: what` and exits 1 if there is one. A ceiling is a sign to look for the missing concept.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

MAX_FILE_LINES = 800
MAX_HEADER_LINES = 800
MAX_FUNCTION_LINES = 70
MAX_COMPLEXITY = 15
MAX_CLI_GLOBALS = 2
COMMAND_LAYERS = ("cli", "commands")


def line_count(file):
    return len(file.read_text(encoding="utf-8", errors="replace").splitlines())


def check_lengths(root):
    for file in sorted((root / "src").rglob("*.c")):
        lines = line_count(file)
        if lines > MAX_FILE_LINES:
            yield f"{file.relative_to(root)}:{lines}: {lines} lines, at most {MAX_FILE_LINES}"
    header = root / "include" / "wattle.h"
    if header.exists() and line_count(header) > MAX_HEADER_LINES:
        yield f"include/wattle.h:{line_count(header)}: {line_count(header)} lines, at most {MAX_HEADER_LINES}"


def check_functions(root):
    """pmccabe prints modified and traditional complexity, statements, first line, lines, `file(line): name`."""
    files = sorted(str(file.relative_to(root)) for file in (root / "src").rglob("*.c"))
    if not files:
        return
    done = subprocess.run(["pmccabe", *files], cwd=root, capture_output=True, text=True, check=True)
    for row in done.stdout.splitlines():
        _, complexity, _, first, lines, place = row.split("\t")
        path, name = re.fullmatch(r"(.*)\(\d+\): (.*)", place).groups()
        if int(lines) > MAX_FUNCTION_LINES:
            yield f"{path}:{first}: {name} has {lines} lines, at most {MAX_FUNCTION_LINES}"
        if int(complexity) > MAX_COMPLEXITY:
            yield f"{path}:{first}: {name} has complexity {complexity}, at most {MAX_COMPLEXITY}"
    for line in done.stderr.splitlines():
        yield f"src:1: pmccabe: {line}"


def sections_written(text):
    """{section index: name} of the sections of one object that are writable after relocation."""
    written = {}
    for match in re.finditer(r"^\s*\[\s*(\d+)\]\s+(\S+)\s+\S+\s+\w+\s+\w+\s+\w+\s+\w+\s+(\w*)", text, re.MULTILINE):
        index, name, flags = match.groups()
        if "W" in flags and not name.startswith(".data.rel.ro"):
            written[index] = name
    return written


def mutable_symbols(object_file):
    done = subprocess.run(["readelf", "-SsW", str(object_file)], capture_output=True, text=True, check=True)
    written = sections_written(done.stdout)
    for row in re.finditer(r"^\s*\d+:\s+\S+\s+\S+\s+(\w+)\s+\w+\s+\w+\s+(\w+)\s+(\S+)$", done.stdout, re.MULTILINE):
        kind, section, name = row.groups()
        if kind in ("OBJECT", "TLS", "COMMON") and (section in written or section == "COM"):
            yield name


def source_line(source, symbol):
    """The first line that names the symbol; a static local's symbol carries a number after a dot."""
    word = re.compile(r"\b" + re.escape(symbol.split(".")[0]) + r"\b")
    if source.exists():
        for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
            if word.search(line):
                return number
    return 1


def object_sources(root):
    """{stem: source}. Meson names the object of src/a/b.c `a_b.c.o` or `src_a_b.c.o`, by where its target is declared."""
    sources = (root / "src").rglob("*.c")
    return {"_".join(source.relative_to(folder).parts): source for source in sources for folder in (root, root / "src")}


def globals_of(root, build):
    """(layer, "path:line", symbol) of each mutable global in the objects made from src/."""
    sources = object_sources(root)
    for object_file in sorted(build.rglob("*.o")):
        source = sources.get(object_file.name[: -len(".o")])
        if source is None:
            continue
        layer = source.relative_to(root / "src").parts[0]
        for symbol in mutable_symbols(object_file):
            yield layer, f"{source.relative_to(root)}:{source_line(source, symbol)}", symbol


def check_globals(root, build):
    found = sorted(set(globals_of(root, build)))
    for layer, place, symbol in found:
        if layer not in COMMAND_LAYERS:
            yield f"{place}: mutable global {symbol} in the library"
    cli = [entry for entry in found if entry[0] in COMMAND_LAYERS]
    if len(cli) > MAX_CLI_GLOBALS:
        for _, place, symbol in cli:
            yield f"{place}: mutable global {symbol}, one of {len(cli)} in the command, at most {MAX_CLI_GLOBALS}"


def main(argv):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("--objects", type=Path)
    options = parser.parse_args(argv[1:])
    found = [*check_lengths(options.root), *check_functions(options.root)]
    if options.objects:
        if not any(options.objects.rglob("*.o")):
            sys.exit(f"{options.objects}: no objects there; build first")
        found += check_globals(options.root, options.objects)
    print("\n".join(found) if found else "ceilings: no breach")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
