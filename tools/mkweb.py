#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turn the files of web/ and dygraphs into C arrays, compressed.

usage: mkweb.py OUT.c FILE...

Each file is served under its own name, index.html at "/" (src/serve/web.h). Its entity tag is a hash of its content.
No file at all is fine: then there is no page.
"""

import gzip
import hashlib
import re
import sys
from pathlib import Path

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml"}


def content_of(file):
    """Without the name of a source map, which is not served."""
    return re.sub(rb"(//|/\*)# sourceMappingURL=\S+( \*/)?\s*$", b"", file.read_bytes())


def rows_of(data, width=24):
    return "\n".join("\t" + "".join(f"{byte}," for byte in data[at:at + width]) for at in range(0, len(data), width))


def main(out, files):
    arrays, rows = [], []
    for i, file in enumerate(map(Path, files)):
        content = content_of(file)
        packed = gzip.compress(content, 9, mtime=0)
        tag = hashlib.sha256(content).hexdigest()[:16]
        path = "/" if file.name == "index.html" else f"/{file.name}"
        arrays.append(f"static const unsigned char file_{i}[] = {{\n{rows_of(packed)}\n}};\n")
        rows.append(f'\t{{"{path}", "{TYPES[file.suffix]}", "\\"{tag}\\"", file_{i}, sizeof(file_{i})}},\n')
    Path(out).write_text("/* Made by tools/mkweb.py. */\n#include \"serve/web.h\"\n\n" + "\n".join(arrays) +
                         "\nconst struct wtl_web_file wtl_web_files[] = {\n" + "".join(rows) + "\t{.path = 0},\n};\n",
                         encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
