# SPDX-License-Identifier: MIT
"""The wheel of `make wheel` and the source distribution, as users get them: installed for every CPython that is here, with no
compiler on PATH and no package index."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
ROOT = REPO / "tests" / "fixtures" / "roots" / "xeon-2s-dram"
TAPE = REPO / "tests" / "fixtures" / "tapes" / "busy-thread.tape"
VERSION = re.search(r"^  version: '(.*)'", (REPO / "meson.build").read_text(), re.M)[1]
FOREIGN = {"numpy", "pandas", "matplotlib", "torch", "IPython", "zeus", "codecarbon"}
ASK = "import json, platform, sys, sysconfig; print(json.dumps([platform.python_implementation(), sys.version_info[:2], \
bool(sysconfig.get_config_var('Py_GIL_DISABLED')), sys.executable]))"

# What a user's first program does.
PROGRAM = """
import sys, wattle
with wattle.Meter(root=sys.argv[1], gpus=None, location="DE") as meter:
    with meter.window("work") as window:
        sum(range(100000))
assert window.duration_s > 0 and window.verdict, window
assert {"package-0", "package-1"} <= set(window.domains), window
print(*sorted(sys.modules))
"""
LOAD = """
import ctypes, sys, wattle
print(ctypes.CDLL(wattle.__path__[0] + "/_lib/libwattle-recording.so.0"))
print(*{line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}, sep="\\n")
"""


def run(*words, ok=True, **options):
    done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, **options)
    assert (done.returncode == 0) == ok, f"{words}\n{done.stdout}"
    return done.stdout


def interpreters():
    """Paths of the CPythons that the package is for, one a version, with and without a GIL."""
    found = {}
    for path in [Path("/usr/bin/python3"), *Path.home().glob(".pyenv/versions/*/bin/python3"),
                 *(Path(folder) / f"python3.{minor}{kind}" for folder in os.get_exec_path() for minor in range(9, 15) for kind in ("", "t"))]:
        try:
            name, version, free, executable = json.loads(run(path, "-c", ASK))
        except (OSError, AssertionError, ValueError):
            continue
        if name == "CPython" and [3, 9] <= version <= [3, 14]:
            found.setdefault(f"{version[0]}.{version[1]}{'t' if free else ''}", executable)
    return found


@pytest.fixture(scope="session")
def wheel():
    wheels = list((REPO / "dist").glob("*.whl"))
    if not wheels:
        pytest.skip("no wheel in dist/: make wheel")
    return wheels[0]


def test_wheel_is_named_and_tagged(wheel):
    name, version, python, abi, platform = wheel.stem.split("-")
    assert (name, version, python, abi) == ("wattle", VERSION, "py3", "none")
    # Nothing newer than Debian 12, and RHEL 9 is old enough.
    assert re.fullmatch(r"manylinux_2_(\d+)_(x86_64|aarch64)", platform) and int(platform.split("_")[2]) <= 34, platform
    files = zipfile.ZipFile(wheel).namelist()
    assert {"wattle/py.typed", "wattle/_lib/libwattle.so.0", "wattle/_lib/libwattle-recording.so.0"} <= set(files)
    assert not [file for file in files if "__pycache__" in file or file.endswith((".o", ".c"))]
    assert f"wattle-{VERSION}.dist-info/licenses/LICENSE.wattle" in files


def pip_of(python, venv):
    """The words that install into a new virtual environment: the interpreter's own pip, where it can, for a copy of it takes seconds."""
    run(python, "-m", "venv", "--without-pip", venv)
    own = [python, "-m", "pip", "--python", venv / "bin" / "python"]
    if subprocess.run([*own, "--version"], capture_output=True, check=False).returncode == 0:
        return own
    run(python, "-m", "venv", venv)
    return [venv / "bin" / "python", "-m", "pip"]


@pytest.mark.parametrize("interpreter", interpreters().items(), ids=lambda item: item[0])
def test_installed(interpreter, wheel, tmp_path):
    """In a virtual environment with nothing but the wheel, and nothing else on PATH."""
    bin = tmp_path / "venv" / "bin"
    pip = pip_of(interpreter[1], tmp_path / "venv")

    def installed(name, *words):
        return run(bin / name, *words, cwd=tmp_path, env={"PATH": str(bin), "HOME": str(tmp_path), "LANG": "C.UTF-8"})

    run(*pip, "install", "--no-index", "--disable-pip-version-check", wheel)
    assert installed("wattle", "--version").split()[:2] == ["wattle", VERSION]
    assert "package-0" in installed("wattle", "run", "--full", "--tape", TAPE)
    assert "wattle" in installed("wattle", "record", "--help")

    assert installed("python", "-c", "import importlib.metadata as m; print(m.version('wattle'))").strip() == VERSION
    model = REPO / "tests" / "fixtures" / "models" / "digits.onnx"
    assert "416520" in installed("python", "-c", f"import wattle; print(wattle.estimate({str(model)!r}, dims={{'batch': 1}}).totals)")
    assert not FOREIGN & set(installed("python", "-W", "error", "-c", PROGRAM, ROOT).split())
    # Every file is Python of that version.
    installed("python", "-c", "import compileall, sys, wattle; sys.exit(not compileall.compile_dir(wattle.__path__[0], force=True, quiet=1))")
    # libwattle-recording takes libwattle from beside it, and SQLite and zstd from the wheel.
    loaded = installed("python", "-c", LOAD).splitlines()
    for name in ("libwattle.so.0", "libsqlite3-", "libzstd-"):
        assert [path for path in loaded if "site-packages/wattle" in path and name in path], (name, loaded)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    out = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "build", "--no-isolation", "--skip-dependency-check", "--sdist", "-o", out, REPO / "python")
    with tarfile.open(next(out.glob("*.tar.gz"))) as archive:
        archive.extractall(out)
    return out / f"wattle-{VERSION}"


@pytest.mark.skipif(not shutil.which("meson"), reason="meson is not here")
def test_sdist_can_be_built(sdist):
    """That is, configured: meson asks for every file that it lists. Building takes a minute."""
    run("meson", "setup", sdist / "build", sdist / "c", "-Dtests=disabled")
    run("ninja", "-C", sdist / "build", "-n", "wattle")
    assert (sdist / "PKG-INFO").exists() and not list(sdist.rglob("*.o"))


@pytest.mark.parametrize("programs, says", [
    (("meson", "ninja"), "a C compiler that works is needed (Debian: gcc libc6-dev)"),
    (("ninja", "gcc"), "meson is needed: pip install meson"),
    (("meson", "ninja", "gcc", "ar", "as", "ld"), "recordings need pkg-config and the headers of SQLite and zstd (Debian: pkg-config "
     "libsqlite3-dev libzstd-dev); WATTLE_RECORDINGS=no in the environment installs without recordings"),
])
def test_what_is_missing_is_said_in_a_line(sdist, tmp_path, programs, says):
    path = os.pathsep.join(part for part in os.environ["PATH"].split(os.pathsep) if "ccache" not in part)
    for name in ("python3", *programs):
        (tmp_path / name).symlink_to(shutil.which(name, path=path))
    out = run(sys.executable, "-m", "build", "--no-isolation", "--skip-dependency-check", "--wheel", "-o", tmp_path, sdist,
              ok=False, env={"PATH": str(tmp_path), "HOME": str(tmp_path)})
    assert f"wattle: {says}" in out.splitlines(), out
    assert "Traceback" not in out


def test_sources_missing(sdist, tmp_path):
    alone = shutil.copytree(sdist, tmp_path / "a" / "python", ignore=shutil.ignore_patterns("c", "build"))
    out = run(sys.executable, "-m", "build", "--no-isolation", "--skip-dependency-check", "--wheel", alone, ok=False)
    assert "wattle: the C sources are neither beside this directory nor in it" in out and "Traceback" not in out
