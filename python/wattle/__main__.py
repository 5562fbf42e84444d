# SPDX-License-Identifier: MIT
"""``python -m wattle``: the command ``wattle``, where it is installed."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig


def main() -> int:
    """Becomes the command: the one of this Python first, then that of PATH. 127: there is none."""
    beside = os.path.join(sysconfig.get_path("scripts"), "wattle")
    command = beside if os.access(beside, os.X_OK) else shutil.which("wattle")
    if command is None:
        said = "wattle: the command is not installed: 'pip install wattle' brings it, as do the packages of your system; "
        print(said + "'python -m wattle.profile' needs no command", file=sys.stderr)
        return 127
    sys.stdout.flush()
    try:
        os.execv(command, ["wattle", *sys.argv[1:]])
    except OSError as error:
        print(f"wattle: {command}: {error.strerror}", file=sys.stderr)
    return 126


if __name__ == "__main__":
    sys.exit(main())
