# SPDX-License-Identifier: MIT
"""The documentation's Python is run as it stands: a `text` block after a `python` block is what it prints."""

import re
import subprocess
import sys

import pytest
from conftest import REPO

PAGES = [page for page in ["README.md", *(f"docs/{path.name}" for path in sorted((REPO / "docs").glob("*.md")))] if "```python" in (REPO / page).read_text()]


def blocks(page):
    text = (REPO / page).read_text()
    return re.findall(r"^```python\n(.*?)^```\n(?:\n^```text\n(.*?)^```\n)?", text, flags=re.S | re.M)


@pytest.mark.parametrize("page", PAGES)
def test_examples(page, tmp_path):
    (tmp_path / "tests").symlink_to(REPO / "tests")
    program, expected = ["import sys, warnings\nwarnings.simplefilter('ignore')\n"], []
    for n, (code, printed) in enumerate(blocks(page)):
        program.append(f"print('<<{n}>>', flush=True)\n{code}")
        expected.append(printed)
    assert expected, f"{page} has no Python example"
    done = subprocess.run([sys.executable, "-c", "\n".join(program)], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    if "ImportError" in done.stderr and "pip install 'wattle[" in done.stderr:
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    printed = re.split(r"<<\d+>>\n", done.stdout)[1:]
    for wanted, given in zip(expected, printed):
        if wanted:
            assert given == wanted
