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
CONSUMERS_EXAMPLE = REPO / "examples" / "consumers.c"
RECORDING_EXAMPLE = REPO / "examples" / "recording.c"
IMPORT_EXAMPLE = REPO / "examples" / "import.c"


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


def pkg_config(installed, *args, package="wattle"):
    prefix, _, pc = installed
    return shlex.split(
        run("pkg-config", f"--define-variable=prefix={prefix}", *args, package, PKG_CONFIG_PATH=str(pc.parent))
    )


def has_recordings(installed):
    return (installed[1] / "libwattle-recording.so").exists()


@pytest.fixture()
def recordings(installed):
    """The same, where recordings were built."""
    if not has_recordings(installed):
        pytest.skip("wattle was built without recordings")
    return installed


def compile(installed, tmp_path, source, *flags, compiler="cc", package="wattle"):
    program = tmp_path / source.stem
    # Out of the tree: what is not installed cannot be found.
    copy = tmp_path / source.name
    shutil.copy(source, copy)
    static = ["--static"] if "-static" in flags else []
    words = pkg_config(installed, "--cflags", "--libs", *static, package=package)
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
    ):
        assert path.exists(), path
    overview = (prefix / "share" / "man" / "man1" / "wattle.1").read_text()
    named = re.findall(r"wattle\\-(\w+) \(1\)", overview)
    assert {path.name for path in (prefix / "share" / "man" / "man1").iterdir()} == {"wattle.1", *(f"wattle-{name}.1" for name in named)}
    if (prefix / "share" / "man" / "man1" / "wattle-serve.1").exists():
        for folder in ("prometheus", "grafana", "kubernetes"):
            for file in (REPO / "share" / folder).rglob("*.*"):
                assert (prefix / "share" / "wattle" / file.relative_to(REPO / "share")).exists(), file
    # Test doubles and internal headers stay at home.
    names = {path.name for path in prefix.rglob("*")}
    assert not any(name.startswith(("libnvidia-ml", "libfailmalloc", "libwtl_", "example_")) for name in names)
    headers = {"wattle.h"} | ({"wattle-recording.h"} if has_recordings(installed) else set())
    assert {path.name for path in (prefix / "include").rglob("*.h")} == headers


def test_version(installed):
    version = run("pkg-config", "--modversion", "wattle", PKG_CONFIG_PATH=str(installed[2].parent)).strip()
    header = (installed[0] / "include" / "wattle.h").read_text()
    parts = [re.search(rf"#define WATTLE_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")]
    assert version == ".".join(parts)
    assert run(installed[0] / "bin" / "wattle", "--version").split()[-1] == version


def version_nodes(name):
    """The nodes of a version script, with the symbols that each names."""
    text = re.sub(r"/\*.*?\*/", "", (REPO / "src" / f"{name}.map").read_text(), flags=re.DOTALL)
    return {node: set(re.findall(r"^\t(\w+);$", body, re.M)) for node, body in re.findall(r"^(\w[\w.]*) \{(.*?)^\}", text, re.M | re.S)}


def dynamic_symbols(library, which):
    lines = run("nm", "-D", which, library).splitlines()
    return dict(line.split()[-1].replace("@@", "@").split("@") for line in lines if "@" in line and " A " not in line)


def check_exported(installed, name, node, at_least):
    """The header, the version script and the shared library name the same symbols."""
    header = (installed[0] / "include" / f"{name}.h").read_text()
    declared = set(re.findall(r"^WATTLE_API [^;(]*?(wattle_\w+)\(", header, re.M))
    nodes = version_nodes(name)
    assert len(declared) >= at_least
    assert declared == nodes[node]
    assert {symbol: node for node in nodes for symbol in nodes[node]} == dynamic_symbols(
        installed[1] / f"lib{name}.so", "--defined-only"
    )


def test_exported_symbols(installed):
    check_exported(installed, "wattle", "WATTLE_0", 20)


def test_exported_symbols_of_recordings(recordings):
    check_exported(recordings, "wattle-recording", "WATTLE_RECORDING_0", 9)


def test_private_symbols(recordings):
    """They are what libwattle-recording takes from libwattle, of this version alone."""
    version = run("pkg-config", "--modversion", "wattle", PKG_CONFIG_PATH=str(recordings[2].parent)).strip()
    private = f"WATTLE_PRIVATE_{version}"
    nodes = version_nodes("wattle")
    taken = dynamic_symbols(recordings[1] / "libwattle-recording.so", "--undefined-only")
    assert nodes[private] == {symbol for symbol, node in taken.items() if node == private}
    assert {node for symbol, node in taken.items() if symbol.startswith("w")} <= {private, "WATTLE_0"}


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


def record(installed, tmp_path):
    """A short recording by the command as installed, of a machine whose counters stand still but for one step."""
    root = tmp_path / "root"
    shutil.copytree(ROOTS / "xeon-2s-dram", root)
    path = tmp_path / "a.wattle"
    counter = root / "wattle-perf" / "18-2-0"
    move = f"sleep 0.3; echo {int(counter.read_text()) + 5 * 2**32} > {counter}; sleep 0.3"
    run(
        installed[0] / "bin" / "wattle", "record", "--root", root, "-o", path, "--", "sh", "-c", move,
        LD_LIBRARY_PATH=str(installed[1]), XDG_STATE_HOME=str(tmp_path / "state"),
    )
    return path


def test_recording_example(recordings, tmp_path):
    """A table of powers, whose sum is what the counter moved by."""
    path = record(recordings, tmp_path)
    program = compile(recordings, tmp_path, RECORDING_EXAMPLE, "-std=c99", package="wattle-recording")
    out = run(program, path, "0.2", LD_LIBRARY_PATH=str(recordings[1]))
    header, *lines = out.splitlines()
    assert header.split()[:2] == ["time", "[s]"]
    column = header.split().index("package-0") - 2
    assert lines, out
    times = [float(line.split()[0]) for line in lines]
    assert times == sorted(times)
    watts = [float(re.findall(r"([\d.]+) W|-", line)[column] or 0) for line in lines]
    assert max(watts) > 0, out
    # Each line's power over its time, but for the last line, whose end is not told.
    steps = [end - begin for begin, end in zip(times, times[1:])]
    assert sum(w * s for w, s in zip(watts, steps)) == pytest.approx(5.0, rel=0.2), out


def test_recording_example_says_what_went_wrong(recordings, tmp_path):
    program = compile(recordings, tmp_path, RECORDING_EXAMPLE, package="wattle-recording")
    for args, code in (([tmp_path / "none.wattle"], 1), ([], 2), ([tmp_path / "none.wattle", "-1"], 2)):
        done = subprocess.run(
            [program, *args],
            capture_output=True,
            text=True,
            env={**os.environ, "LD_LIBRARY_PATH": str(recordings[1])},
            timeout=60,
        )
        assert done.returncode == code and done.stdout == ""
        assert len(done.stderr.splitlines()) == 1


def test_import_example(recordings, tmp_path):
    """Another tool's log becomes a recording, which `wattle report` tells as any other."""
    program = compile(recordings, tmp_path, IMPORT_EXAMPLE, "-std=c99", package="wattle-recording")
    path = tmp_path / "import.wattle"
    libraries = {"LD_LIBRARY_PATH": str(recordings[1])}
    log = "".join(f"{1700000000 + i},100.5\n" for i in range(61))
    done = subprocess.run(
        [program, path], input=log, capture_output=True, text=True, env={**os.environ, **libraries}, timeout=60
    )
    assert done.returncode == 0, done.stderr
    report = run(recordings[0] / "bin" / "wattle", "report", path, **libraries)
    assert re.search(r"^wall +6030 ", report, re.M), report
    assert "2023-11-14 22:13:20 to 22:14:20 UTC" in report
    for log, line in (("1,2\n1,3\n", "at 1.000000 s: Invalid argument"), ("x\n", 'there is no line "SECONDS,WATTS"')):
        done = subprocess.run(
            [program, tmp_path / f"{len(log)}.wattle"], input=log, capture_output=True, text=True,
            env={**os.environ, **libraries}, timeout=60,
        )
        assert (done.returncode, done.stderr) == (1, line + "\n")


@pytest.mark.parametrize("root", [None, "client-psys"], ids=["here", "root"])
def test_example_of_consumers(installed, tmp_path, root):
    """Its sum is the meter's energy, to the microjoule, and its largest rows are in order."""
    program = compile(installed, tmp_path, CONSUMERS_EXAMPLE)
    out = run(program, "0.5", *([ROOTS / root] if root else []), LD_LIBRARY_PATH=str(installed[1]))
    energies = [int(value.replace(".", "")) for value in re.findall(r" (\d+\.\d{6}) J(?! above)", out)]
    rows, (total, meter) = energies[:-2], energies[-2:]
    assert sum(rows) == total == meter, out
    assert rows[:-1] == sorted(rows[:-1], reverse=True)
    assert root or total > 0


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
    header = "".join((REPO / "include" / name).read_text() for name in ("wattle.h", "wattle-recording.h"))
    for name in re.findall(r"^WATTLE_API [^;(]*?(wattle_\w+)\(", header, re.M):
        assert name in page, f"docs/c-api.md does not mention {name}()"
