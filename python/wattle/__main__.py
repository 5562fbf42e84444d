# SPDX-License-Identifier: MIT
"""``python -m wattle``: the command ``wattle``, where it is installed."""

from __future__ import annotations

import os
import sys

from ._lib import Error, find_command


def main() -> int:
    """Becomes the command. 127: there is none."""
    try:
        command = find_command()
    except Error as error:
        print(f"wattle: {error}; 'python -m wattle.profile' needs no command", file=sys.stderr)
        return 127
    sys.stdout.flush()
    try:
        os.execv(command, ["wattle", *sys.argv[1:]])
    except OSError as error:
        print(f"wattle: {command}: {error.strerror}", file=sys.stderr)
    return 126


if __name__ == "__main__":
    sys.exit(main())
