# SPDX-License-Identifier: MIT
"""The units of systemd as a real systemd starts, restarts and stops them: tools/systemd-check.sh."""

import subprocess

import pytest

from conftest import REPO, command_path

pytestmark = pytest.mark.waits


def test_units_under_systemd():
    done = subprocess.run([REPO / "tools/systemd-check.sh", command_path()], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["metrics", "rights", "killed", "limits", "stopped"], done.stdout
