# SPDX-License-Identifier: MIT
"""Text in CSV files, as in wattle's own: docs/format-csv.md."""

from __future__ import annotations

import re

_WORDS = {"\\": r"\\", "\n": r"\n", "\t": r"\t"}


def text(value: str) -> str:
    """A cell that is one line, and that no spreadsheet runs as a formula; the quotes are up to ``csv``."""
    found = re.sub(r"[\\\x00-\x1f\x7f\ud800-\udfff]", lambda c: _WORDS.get(c[0], f"\\x{ord(c[0]) & 0xFF:02x}"), value)
    return "'" + found if found.startswith(("=", "+", "-", "@")) else found
