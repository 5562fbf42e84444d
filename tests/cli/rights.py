# SPDX-License-Identifier: MIT
"""A wattle with capabilities from its file, for a user who has none."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from conftest import clean_env, command_path

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
SETS = ("CapPrm", "CapEff", "CapAmb")


class Borrower:
    """words: the command, started as somebody else than root."""

    def __init__(self, folder, capabilities):
        if os.geteuid() != 0 or not shutil.which("setcap") or not shutil.which("setpriv"):
            pytest.skip("needs root, setcap and setpriv")
        self.folder = Path(folder)
        self.folder.chmod(0o755)
        self.path = self.folder / "wattle"
        shutil.copy(command_path(), self.path)
        if subprocess.run(["setcap", f"{capabilities}+ep", self.path], stderr=subprocess.DEVNULL, check=False).returncode:
            pytest.skip("this file system holds no capabilities")
        self.words = (*NOBODY, self.path)
        self.env = clean_env(HOME=None, XDG_RUNTIME_DIR=None, TMPDIR=self.folder)
        probe = self.run("run", "--root", "/nonexistent", "--nvml", "./mine.so", "--", "true")
        if "more privileges than you" not in probe.stderr:
            pytest.skip(f"capabilities of files have no effect here: {probe.stderr}")

    def run(self, *args, words=None, **options):
        return subprocess.run([*(words or self.words), *args], capture_output=True, text=True, cwd=self.folder, env=self.env,
                              timeout=60, check=False, **options)

    def start(self, *args, **options):
        return subprocess.Popen([*self.words, *args], cwd=self.folder, env=self.env, **options)


@pytest.fixture(name="borrower")
def borrowers():
    """borrower(): the capabilities that doctor's remedy gives."""
    folders = []

    def make(capabilities="cap_perfmon,cap_net_admin"):
        folders.append(tempfile.TemporaryDirectory())
        return Borrower(folders[-1].name, capabilities)
    yield make
    for folder in folders:
        folder.cleanup()


def capabilities_of(pid):
    """All that any thread of a process has, as one number."""
    every = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        for line in (task / "status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in SETS:
                every |= int(value, 16)
    return every
