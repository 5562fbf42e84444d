# SPDX-License-Identifier: MIT
"""Programs that were built against the last release run with this library: libabigail compares both."""

import io
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
LIBRARIES = ("libwattle.so", "libwattle-recording.so")
# wtl_ is libwattle-recording's alone.
PRIVATE = """
[suppress_function]
  symbol_name_regexp = ^wtl_
[suppress_variable]
  symbol_name_regexp = ^wtl_
"""
FAILED, CHANGED = 3, 4  # bits of abidiff's exit status
# Structs carry their size, so that members may be added at their end; nothing else may change.
BREAKS = re.compile(r"offset changed|type name changed|deletion|[1-9]\d* Removed|\(by -|return type changed|was (removed|added)")

pytestmark = pytest.mark.skipif(not shutil.which("abidiff"), reason="abidiff is not installed (tools/install-deps.sh test)")


def last_tag():
    if not (REPO / ".git").exists() or not shutil.which("git"):
        return None
    done = subprocess.run(["git", "-C", str(REPO), "describe", "--tags", "--abbrev=0"], capture_output=True, text=True)
    return done.stdout.strip() or None


def compare(tmp_path, old, new, old_headers, new_headers):
    """The changes that a program may notice, as text; "" for none."""
    private = tmp_path / "private.suppr"
    private.write_text(PRIVATE)
    done = subprocess.run(
        ["abidiff", "--headers-dir1", old_headers, "--headers-dir2", new_headers, "--drop-private-types", "--no-added-syms"]
        + ["--suppressions", private, old, new],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode & FAILED == 0, done.stdout + done.stderr
    return done.stdout if done.returncode & CHANGED and BREAKS.search(done.stdout) else ""


def test_since_the_last_release(tmp_path):
    build = os.environ.get("WATTLE_BUILD_ROOT")
    if not build:
        pytest.skip("WATTLE_BUILD_ROOT does not name the build")
    tag = last_tag()
    if not tag:
        pytest.skip("there is no release yet: no tag to compare with")
    archive = subprocess.run(["git", "-C", str(REPO), "archive", tag], capture_output=True, check=True).stdout
    old = tmp_path / "old"
    tarfile.open(fileobj=io.BytesIO(archive)).extractall(old)
    subprocess.run(["meson", "setup", "build", "-Dtests=disabled"], cwd=old, check=True, capture_output=True)
    for name in LIBRARIES:
        new_library = Path(build) / "src" / name
        if not new_library.exists():
            continue
        subprocess.run(["ninja", "-C", "build", f"src/{name}"], cwd=old, check=True, capture_output=True, timeout=600)
        said = compare(tmp_path, old / "build" / "src" / name, new_library, old / "include", REPO / "include")
        assert not said, f"{name} differs from that of {tag}:\n{said}"


STRUCT = "struct s {{ unsigned long size; {members} }};\n__attribute__((visibility(\"default\"))) int f(struct s *s);\n"


@pytest.mark.parametrize(
    "members, noticed",
    [("int a; long b;", False), ("int a; long b; int c;", False), ("long b; int a;", True), ("int a; int b;", True)],
    ids=["same", "more", "order", "type"],
)
def test_changes_are_noticed(tmp_path, members, noticed):
    for name, text in (("old", "int a; long b;"), ("new", members)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "s.h").write_text(STRUCT.format(members=text))
        (tmp_path / f"{name}.c").write_text(f'#include "{name}/s.h"\nint f(struct s *s) {{ return s->a + (int)s->b; }}\n')
        subprocess.run(["cc", "-g", "-shared", "-fPIC", f"{name}.c", "-o", f"{name}.so"], cwd=tmp_path, check=True)
    said = compare(tmp_path, tmp_path / "old.so", tmp_path / "new.so", tmp_path / "old", tmp_path / "new")
    assert bool(said) == noticed, said
    assert not noticed or re.search(r"struct s", said)
