# SPDX-License-Identifier: MIT
"""The units of systemd: what they start, and how little it may do."""

import re
import shlex
import shutil
import subprocess

import pytest

from conftest import REPO, command_path, run_wattle

HALVES = ("reader", "exporter")
EXPOSURE_MAX = 20  # tenths: 2.0


def unit(half, bindir="/usr/bin"):
    text = (REPO / "packaging/systemd" / f"wattle-{half}.service.in").read_text(encoding="utf-8")
    return text.replace("@bindir@", bindir)


def setting(half, key):
    found = [line.split("=", 1)[1] for line in unit(half).splitlines() if line.startswith(key + "=")]
    assert len(found) == 1, (key, found)
    return found[0]


@pytest.fixture(name="analyze")
def analyzer(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")

    def analyze(half, *words, bindir="/usr/bin", more=""):
        path = tmp_path / f"wattle-{half}.service"
        path.write_text(unit(half, bindir) + more, encoding="utf-8")
        return subprocess.run(["systemd-analyze", *words, path], capture_output=True, text=True, check=False)
    return analyze


@pytest.mark.parametrize("half", HALVES)
def test_exposure(analyze, half):
    """As systemd sees it: 0 is nothing that could be taken, 10 everything."""
    done = analyze(half, "security", "--offline=true", "--no-pager", f"--threshold={EXPOSURE_MAX}")
    assert done.returncode == 0, done.stdout + done.stderr


def limit_drop_in():
    """The one that docs/share.md tells, for a reader that sets limits."""
    text = (REPO / "docs/share.md").read_text(encoding="utf-8")
    return re.search(r"(?s)```ini\n(\[Service\]\nExecStart=\n.*?)```", text)[1]


def test_a_reader_that_sets_limits(tmp_path, analyze):
    """With the documented drop-in it is still below the bound, systemd knows all its words, and wattle its options."""
    (tmp_path / "wattle").symlink_to(command_path())
    more = limit_drop_in().replace("/usr/bin", str(tmp_path))
    done = analyze("reader", "verify", "--man=no", "--recursive-errors=no", bindir=str(tmp_path), more=more)
    assert done.returncode == 0 and not done.stderr.strip(), done.stderr
    rights = analyze("reader", "security", "--offline=true", "--no-pager", f"--threshold={EXPOSURE_MAX}", more=more)
    assert rights.returncode == 0, rights.stdout
    program, *words = shlex.split(re.search(r"ExecStart=(/.*)", limit_drop_in())[1])
    words = [word.replace("wattle-limit", "root") for word in words]   # a group that every machine has
    assert program == "/usr/bin/wattle" and run_wattle(*words, "--help").code == 0


@pytest.mark.parametrize("half", HALVES)
def test_systemd_understands_it(analyze, tmp_path, half):
    """No word of it is unknown to systemd."""
    (tmp_path / "wattle").symlink_to(command_path())
    done = analyze(half, "verify", "--man=no", "--recursive-errors=no", bindir=str(tmp_path))
    assert done.returncode == 0 and not done.stderr.strip(), done.stderr


@pytest.mark.parametrize("half", HALVES)
def test_wattle_knows_what_it_is_started_with(half):
    program, *words = shlex.split(setting(half, "ExecStart"))
    assert program == "/usr/bin/wattle"
    assert run_wattle(*words, "--help").code == 0


def test_rights():
    """Only the reader has any, and only those two; only the exporter has a network."""
    assert set(setting("reader", "AmbientCapabilities").split()) == {"CAP_PERFMON", "CAP_NET_ADMIN"}
    assert setting("reader", "CapabilityBoundingSet") == setting("reader", "AmbientCapabilities")
    assert setting("exporter", "CapabilityBoundingSet") == "" and "AmbientCapabilities" not in unit("exporter")
    assert "AF_INET" not in setting("reader", "RestrictAddressFamilies")
    assert "DeviceAllow" not in unit("exporter")
