# SPDX-License-Identifier: MIT
"""The command as shipped, with each allocation made to fail in turn, and each kind of access to the machine.

The allocator's shim is tests/alloc/failmalloc.c; the other faults are the command's own --fault.
"""

import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from onnx_file import BOOL, Graph, info, node, text

REPO = Path(__file__).resolve().parents[2]
ROOTS = REPO / "tests" / "fixtures" / "roots"
SCRIPTS = REPO / "tests" / "fake" / "scripts"
TIMEOUT = 120
WORKERS = 8
RUN_FAILED = 125
AT_MOST = 3000  # allocations of one run: far beyond what it needs

# Moves package-0 by 5 J and dram-0 by 2 J while wattle measures it (the counters are in 2^-32 J). In place: wattle holds them open.
# It runs a thousand times, and a shell starts in a tenth of Python's time.
MOVER = '''
while [ $# -gt 0 ]; do
	read -r counts <"$1"
	echo $((counts + $2)) 1<>"$1"
	shift 2
done
'''
JOULE = 2**32


def built(name):
    root = os.environ.get("WATTLE_BUILD_ROOT")
    if not root:
        pytest.skip("WATTLE_BUILD_ROOT does not name the build")
    path = Path(root) / name
    assert path.exists(), f"{path} is not built"
    return str(path)


@pytest.fixture(scope="module")
def shim():
    return built("tests/alloc/libfailmalloc.so")


@pytest.fixture(scope="module")
def nvml():
    return built("tests/fake/libnvidia-ml.so.1")


def call(args, **env):
    whole = {**os.environ, "LC_ALL": "C.UTF-8", "WATTLE_FAKE_NVML": str(SCRIPTS / "eight-gpus.nvml"), **env}
    return subprocess.run(args, capture_output=True, text=True, timeout=TIMEOUT, env=whole)


def lines_of(result):
    return [line for line in result.stderr.splitlines() if line]


def complete_json(text):
    """The report, or None if it is not whole."""
    try:
        report = json.loads(text)
    except ValueError:
        return None
    return report if "schema" in report and "domains" in report else None


def check_survived(result, what):
    assert result.returncode >= 0, f"{what}: killed by signal {-result.returncode}\n{result.stderr}"
    assert result.returncode not in (134, 139), f"{what}: crashed\n{result.stderr}"
    assert "AddressSanitizer" not in result.stderr, f"{what}:\n{result.stderr}"
    for line in lines_of(result):
        assert line.startswith(("wattle: ", "fake NVML: ")) or result.returncode == RUN_FAILED, f"{what}: {line}"
        assert not re.fullmatch(r"wattle: (\w+: ?)?", line), f"{what}: a line without a text"


def fail_each(shim, args, whole, always, log):
    """Runs args with the n-th allocation failing, for all n that there are."""

    def once(n):
        path = log / f"{n}"
        result = call(
            args,
            LD_PRELOAD=shim,
            WATTLE_TEST_FAIL_ALLOC=f"{n}:always" if always else str(n),
            WATTLE_TEST_ALLOC_LOG=str(path),
        )
        what = f"allocation {n}"
        check_survived(result, what)
        failed = int(path.read_text().split()[1]) > 0
        if result.returncode == whole.returncode and complete_json(result.stdout) is None:
            # What is left out must be said.
            raise AssertionError(f"{what}: exit {result.returncode} without a whole report\n{result.stderr}")
        if result.returncode != whole.returncode:
            assert failed and lines_of(result), f"{what}: exit {result.returncode} without a word"
        return failed

    count = call(args, LD_PRELOAD=shim, WATTLE_TEST_ALLOC_LOG=str(log / "count"))
    assert count.returncode == whole.returncode
    total = int((log / "count").read_text().split()[0])
    assert 10 < total < AT_MOST
    with ThreadPoolExecutor(WORKERS) as pool:
        # Some more than were counted, for it varies with what else runs on this machine: the last ones pass clean.
        failed = list(pool.map(once, range(1, total)))
        while any(failed[-30:]):
            assert len(failed) < AT_MOST, "it allocates more each time"
            failed += pool.map(once, range(len(failed) + 1, len(failed) + 31))
    assert all(failed[: total * 9 // 10]), "an allocation that should have failed did not"


@pytest.mark.parametrize("always", [False, True], ids=["once", "always"])
def test_run(wattle, shim, nvml, tmp_path, always):
    args = [wattle, "run", "--full", "-o", "-", "--root", str(ROOTS / "xeon-2s-dram"), "--nvml", nvml, "-f", "json", "--", "true"]
    whole = call(args)
    assert whole.returncode == 0 and complete_json(whole.stdout)
    fail_each(shim, args, whole, always, tmp_path)


@pytest.mark.parametrize("command", [("run", "--full", "-o", "-", "-r", "6", "true"),
                                     ("compare", "--until", "1%", "--max-repeat", "4", "-N", "true", "true")], ids=lambda c: c[0])
def test_several_runs(wattle, shim, tmp_path, command):
    args = [wattle, command[0], "--root", str(ROOTS / "vm-nothing"), "-f", "json", *command[1:]]
    whole = call(args)
    assert whole.returncode == 0
    count = call(args, LD_PRELOAD=shim, WATTLE_TEST_ALLOC_LOG=str(tmp_path / "count"))
    total = int((tmp_path / "count").read_text().split()[0])
    assert count.returncode == 0 and 10 < total < AT_MOST

    def once(n):
        result = call(args, LD_PRELOAD=shim, WATTLE_TEST_FAIL_ALLOC=str(n))
        check_survived(result, f"allocation {n}")
        if result.returncode == 0:
            json.loads(result.stdout)
        else:
            assert lines_of(result), f"allocation {n}: exit {result.returncode} without a word"

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(once, range(1, total + 2)))


@pytest.mark.parametrize("format", ["text", "csv"])
def test_run_formats(wattle, shim, tmp_path, format):
    args = [wattle, "run", "--full", "-o", "-", "--root", str(ROOTS / "client-psys"), "-f", format, "--", "true"]
    call(args, LD_PRELOAD=shim, WATTLE_TEST_ALLOC_LOG=str(tmp_path / "count"))
    total = int((tmp_path / "count").read_text().split()[0])
    assert 10 < total < AT_MOST

    def once(n):
        result = call(args, LD_PRELOAD=shim, WATTLE_TEST_FAIL_ALLOC=str(n))
        check_survived(result, f"allocation {n}")
        if result.returncode == 0:
            assert "package-0" in result.stdout, f"allocation {n}: half a report\n{result.stdout}"
        else:
            assert lines_of(result), f"allocation {n}: exit {result.returncode} without a word"

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(once, range(1, total + 2)))


def test_a_line_when_there_is_no_memory_at_all(wattle, shim):
    for n in range(1, 20):
        result = call([wattle, "report", "/no/such/file"], LD_PRELOAD=shim, WATTLE_TEST_FAIL_ALLOC=f"{n}:always")
        check_survived(result, f"allocation {n}")
        assert result.returncode in (1, 2) and len(lines_of(result)) == 1, result


def test_doctor(wattle, shim, tmp_path):
    """It looks for a second each time: only the allocations before that, and a sample of those after."""
    args = [wattle, "doctor", "--root", str(ROOTS / "rubbish")]
    call(args, LD_PRELOAD=shim, WATTLE_TEST_ALLOC_LOG=str(tmp_path / "count"))
    total = int((tmp_path / "count").read_text().split()[0])
    assert 10 < total < AT_MOST

    def once(n):
        result = call(args, LD_PRELOAD=shim, WATTLE_TEST_FAIL_ALLOC=str(n))
        check_survived(result, f"allocation {n}")
        if result.returncode in (0, 3):
            assert "package-4" in result.stdout, f"allocation {n}: half a report"
        else:
            assert lines_of(result), f"allocation {n}: exit {result.returncode} without a word"

    with ThreadPoolExecutor(2 * WORKERS) as pool:
        list(pool.map(once, range(1, total + 2)))


@pytest.mark.parametrize("options", [(), ("--device", "horowitz-45nm", "--rates", "0.1"), ("--device", "horowitz-45nm", "--rates", "0.1,0.2", "--steps", "2,4")],
                         ids=["counts", "joules", "sweep"])
def test_estimate(wattle, shim, tmp_path, options):
    """A network with branches, functions and a node without a rule. What is told is told whole."""
    side = Graph(name="side")
    side.outputs = [side.add("MatMul", "x", side.weights(4, 2))]
    function = text(1, "F") + text(4, "a") + text(5, "z") + text(7, node("Relu", ["a"], ["z"])) + text(10, "my")
    g = Graph(info("x", [3, 4]), info("c", [], BOOL))
    g.add("F", g.add("If", "c", then_branch=side, else_branch=side), domain="my")
    g.add("Strange", "x", domain="my")
    model = tmp_path / "model.onnx"
    model.write_bytes(g.model(functions=[function], domains=["my"]))
    args = [wattle, "estimate", "-f", "json", *options, str(model)]
    whole = call(args, LD_PRELOAD=shim, WATTLE_TEST_ALLOC_LOG=str(tmp_path / "count"))
    total = int((tmp_path / "count").read_text().split()[0])
    assert whole.returncode == 0 and 10 < total < AT_MOST

    def once(n):
        result = call(args, LD_PRELOAD=shim, WATTLE_TEST_FAIL_ALLOC=str(n))
        check_survived(result, f"allocation {n}")
        if result.returncode == 0:
            assert result.stdout == whole.stdout, f"allocation {n}: something else"
        else:
            assert len(lines_of(result)) == 1, f"allocation {n}: exit {result.returncode}: {result.stderr}"

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(once, range(1, total + 2)))


# ---- The machine's faults ----


def figures(report):
    """What is told as good, by domain: energies that are neither a gap nor absent."""
    return {
        d["name"]: d["energy_j"]
        for d in report["domains"]
        if "energy_j" in d and d["status"] == "ok" and d["method"] == "counter"
    }


def move(wattle, nvml, root, fault=None):
    perf = root / "wattle-perf"
    (perf / "18-2-0").write_text(f"{1000 * JOULE}\n")
    (perf / "18-3-0").write_text(f"{2000 * JOULE}\n")
    zones = root / "sys" / "devices" / "virtual" / "powercap" / "intel-rapl"
    (zones / "intel-rapl:0" / "energy_uj").write_text("1000000000\n")
    (zones / "intel-rapl:0" / "intel-rapl:0:0" / "energy_uj").write_text("2000000000\n")
    moved = [perf / "18-2-0", 5 * JOULE, perf / "18-3-0", 2 * JOULE]
    moved += [zones / "intel-rapl:0" / "energy_uj", 5000000]
    moved += [zones / "intel-rapl:0" / "intel-rapl:0:0" / "energy_uj", 2000000]
    args = [wattle, "run", "--full", "-o", "-", "--root", str(root), "--nvml", nvml, "-f", "json"]
    args += ["--fault", fault] if fault else []
    return call(args + ["--", "sh", "-c", MOVER, "sh", *map(str, moved)])


@pytest.mark.parametrize("always", ["", ":always"], ids=["once", "always"])
@pytest.mark.parametrize("op", ["open", "read", "link", "dir", "perf", "lib", "any"])
def test_machine_faults(wattle, nvml, tmp_path, op, always):
    root = tmp_path / "root"
    shutil.copytree(ROOTS / "xeon-2s-dram", root, symlinks=True)
    for _ in range(20):  # on a busy machine some ms at an edge are not seen: then it is a gap
        clean = move(wattle, nvml, root)
        assert clean.returncode == 0, clean.stderr
        truth = figures(json.loads(clean.stdout))
        if {"package-0", "dram-0"} <= truth.keys():
            break
    assert truth["package-0"] == 5 and truth["dram-0"] == 2
    names = {d["name"] for d in json.loads(clean.stdout)["domains"]}
    places = {"any": range(1, 240, 7), "lib": range(1, 90, 3), "read": range(1, 60)}.get(op, range(1, 32))
    seen = 0
    for n in places:
        for errno in ("EIO", "EACCES", "ENODEV")[: 1 if always else 3]:
            fault = f"{op}:{n}:{errno}{always}"
            result = move(wattle, nvml, root, fault)
            check_survived(result, fault)
            assert result.returncode == 0, f"{fault}: {result.stderr}"
            report = complete_json(result.stdout)
            assert report, f"{fault}: no report\n{result.stdout}"
            for name, energy in figures(report).items():
                if name.startswith(("package", "dram")) and name in truth:
                    assert energy == truth[name], f"{fault}: {name}"
            for domain in report["domains"]:
                if "energy_j" not in domain or domain["method"] == "modelled":
                    assert domain.get("reason"), f"{fault}: {domain['name']} has no reason"
            seen += {d["name"] for d in report["domains"]} != names or figures(report).keys() != truth.keys()
    assert seen > 0 or op in ("link", "dir"), "no fault made a difference"
