# SPDX-License-Identifier: MIT
"""An installed wattle: pkg-config, header, libraries, and the worked example built against them as a user would."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
ROOTS = REPO / "tests" / "fixtures" / "roots"
EXAMPLE = REPO / "examples" / "window.c"


def run(*args, **env):
    done = subprocess.run(list(map(str, args)), capture_output=True, text=True, env={**os.environ, **env}, timeout=300)
    assert done.returncode == 0, f"{args}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A prefix with wattle in it, moved to a place that the build does not know."""
    build = os.environ.get("WATTLE_BUILD_ROOT")
    if not build:
        pytest.skip("WATTLE_BUILD_ROOT does not name the build")
    dest = tmp_path_factory.mktemp("dest")
    run("meson", "install", "--no-rebuild", "-C", build, DESTDIR=str(dest))
    pcs = list(dest.rglob("wattle.pc"))
    assert len(pcs) == 1, pcs
    libdir = pcs[0].parents[1]
    prefix = next(parent for parent in libdir.parents if (parent / "include" / "wattle.h").exists())
    return prefix, libdir, pcs[0]


def pkg_config(installed, *args):
    prefix, _, pc = installed
    return shlex.split(
        run("pkg-config", f"--define-variable=prefix={prefix}", *args, "wattle", PKG_CONFIG_PATH=str(pc.parent))
    )


def compile(installed, tmp_path, source, *flags, compiler="cc"):
    program = tmp_path / source.stem
    # Out of the tree: what is not installed cannot be found.
    copy = tmp_path / source.name
    shutil.copy(source, copy)
    words = pkg_config(installed, "--cflags", "--libs", *(["--static"] if "-static" in flags else []))
    flags = [flag for flag in flags if flag != "-static"]
    run(compiler, "-Wall", "-Wextra", "-Werror", *flags, copy, *words, "-o", program)
    return program


def test_files(installed):
    prefix, libdir, _ = installed
    for path in (
        prefix / "bin" / "wattle",
        prefix / "include" / "wattle.h",
        libdir / "libwattle.so",
        libdir / "libwattle.so.0",
        libdir / "libwattle.a",
        prefix / "share" / "man" / "man1" / "wattle.1",
        prefix / "share" / "man" / "man1" / "wattle-run.1",
    ):
        assert path.exists(), path
    # Test doubles and internal headers stay at home.
    names = {path.name for path in prefix.rglob("*")}
    assert not any(name.startswith(("libnvidia-ml", "libfailmalloc", "libwtl_", "example_")) for name in names)
    assert [path.name for path in (prefix / "include").rglob("*.h")] == ["wattle.h"]


def test_version(installed):
    version = run("pkg-config", "--modversion", "wattle", PKG_CONFIG_PATH=str(installed[2].parent)).strip()
    header = (installed[0] / "include" / "wattle.h").read_text()
    parts = [re.search(rf"#define WATTLE_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")]
    assert version == ".".join(parts)
    assert run(installed[0] / "bin" / "wattle", "--version").split()[-1] == version


def test_exported_symbols(installed):
    """The shared library shows the public names and no others, all of which the header declares."""
    symbols = run("nm", "-D", "--defined-only", installed[1] / "libwattle.so").splitlines()
    names = {line.split()[-1].split("@")[0] for line in symbols} - {"WATTLE_0"}
    header = (installed[0] / "include" / "wattle.h").read_text()
    declared = set(re.findall(r"^WATTLE_API [^;(]*?(wattle_\w+)\(", header, re.M))
    assert len(declared) >= 20
    assert names == declared


def test_library_keeps_to_itself(installed):
    """It never prints, exits, looks at the environment, handles signals or starts programs."""
    symbols = run("nm", "-D", "--undefined-only", installed[1] / "libwattle.so").splitlines()
    names = {line.split()[-1].split("@")[0] for line in symbols}
    assert {"pread", "pread64"} & names
    forbidden = "printf fprintf vprintf vfprintf puts putchar fputs perror exit _exit abort getenv secure_getenv setenv "
    forbidden += "signal sigaction system popen fork vfork execve execvp posix_spawn stdout stderr"
    plain = {name.strip("_").removesuffix("_chk") for name in names}
    assert not plain & set(forbidden.split())


NUMBER = r"\d+\.\d{6} J \+- \d+\.\d{6} J"


def check_example(program, libdir, root, domains):
    out = run(program, ROOTS / root, LD_LIBRARY_PATH=str(libdir))
    lines = out.splitlines()
    for name, source in domains.items():
        assert any(line.startswith(f"{name}: by {source}") for line in lines), out
        assert re.search(rf"^  {name} +{NUMBER}", out, re.M), out
    assert len(re.findall(rf"^  round +{NUMBER}", out, re.M)) == 3, out
    so_far = [float(x) for x in re.findall(r"^  so far +(\d+\.\d+) J", out, re.M)]
    assert len(so_far) == 3, out
    total = float(re.search(r"^  total +(\d+\.\d+) J", out, re.M)[1])
    duration = float(re.search(r"^program: (\d+\.\d+) s", out, re.M)[1])
    assert duration >= 0.13, out
    return so_far, total, out


@pytest.mark.parametrize("standard", ["c99", "gnu17"])
def test_example(installed, tmp_path, standard):
    program = compile(installed, tmp_path, EXAMPLE, f"-std={standard}", *(["-D_GNU_SOURCE"] if standard == "c99" else []))
    # A machine whose figures move by themselves: it is modelled.
    so_far, total, out = check_example(program, installed[1], "vm-nothing", {"package-0": "model", "dram-0": "model"})
    assert total > 0 and "modelled" in out
    # One whose counters stand still.
    so_far, total, out = check_example(
        program, installed[1], "xeon-2s-dram", {"dram-0": "rapl-perf", "dram-1": "rapl-perf"}
    )
    assert total == 0 and so_far == [0, 0, 0] and ", counter" in out


def test_example_static(installed, tmp_path):
    static = tmp_path / "lib"
    static.mkdir()
    shutil.copy(installed[1] / "libwattle.a", static)
    copy = tmp_path / "window.c"
    shutil.copy(EXAMPLE, copy)
    words = [word for word in pkg_config(installed, "--cflags", "--libs", "--static") if not word.startswith("-L")]
    program = tmp_path / "window"
    run("cc", copy, f"-L{static}", *words, "-o", program)
    assert "libwattle" not in run("ldd", program)
    check_example(program, static, "vm-nothing", {"package-0": "model"})


def test_header_from_cpp(installed, tmp_path):
    if not shutil.which("g++"):
        pytest.skip("there is no C++ compiler")
    source = tmp_path / "src" / "from_cpp.cpp"
    source.parent.mkdir()
    source.write_text(
        "#include <wattle.h>\n"
        "int main() { wattle_meter *meter; wattle_options options{}; options.size = sizeof options;\n"
        "return wattle_meter_open(&options, &meter, nullptr) < 0 ? 1 : (wattle_meter_close(meter), 0); }\n"
    )
    program = compile(installed, tmp_path, source, "-std=c++17", "-pedantic", compiler="g++")
    run(program, LD_LIBRARY_PATH=str(installed[1]))


def test_example_says_what_went_wrong(installed, tmp_path):
    program = compile(installed, tmp_path, EXAMPLE)
    done = subprocess.run(
        [program, tmp_path / "nowhere"],
        capture_output=True,
        text=True,
        env={**os.environ, "LD_LIBRARY_PATH": str(installed[1])},
        timeout=60,
    )
    assert done.returncode == 1 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1


def test_documentation_shows_the_example():
    page = (REPO / "docs" / "c-api.md").read_text()
    assert EXAMPLE.read_text() in page, "docs/c-api.md does not show examples/window.c as it is"
    header = (REPO / "include" / "wattle.h").read_text()
    for name in re.findall(r"^WATTLE_API [^;(]*?(wattle_\w+)\(", header, re.M):
        assert name in page, f"docs/c-api.md does not mention {name}()"
