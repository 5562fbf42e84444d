#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turn a text file into a C array.

usage: mkfile.py OUT.c NAME FILE

OUT.c defines `const char NAME[]`, ended by a NUL.
"""

import sys
from pathlib import Path


def main(out, name, file):
    data = Path(file).read_bytes() + b"\0"
    rows = "\n".join("\t" + "".join(f"{byte if byte < 128 else byte - 256}," for byte in data[at:at + 24]) for at in range(0, len(data), 24))
    Path(out).write_text(f"/* Made by tools/mkfile.py. */\nextern const char {name}[];\nconst char {name}[] = {{\n{rows}\n}};\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
