# SPDX-License-Identifier: MIT
"""The machine roots are what their generator makes, hold together, and can be captured again."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
FIXTURES = REPO / "tests" / "fixtures"
ROOTS = FIXTURES / "roots"
MKROOTS = FIXTURES / "mkroots.py"
MKROOT = REPO / "tools" / "mkroot.sh"
NAMES = sorted(path.name for path in ROOTS.iterdir() if path.is_dir())
ERRNO = re.compile(r"!errno E[A-Z]+\n")
# Roots whose powercap tree is in order.
SOUND = [n for n in NAMES if (ROOTS / n / "sys/class/powercap/intel-rapl:0").exists()
         and n not in ("eacces", "rubbish")]
REQUIRED = """amd-epyc amd-gpu arm-server client-psys container-masked eacces grace hex-zones
    intel-gpu jetson laptop-battery nvidia-laptop nvidia-server rubbish vm-nothing xeon-2s-dram
    xeon-multidie zero-counters""".split()


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)


def text(path):
    return path.read_text(encoding="utf-8")


def tree(top):
    """path -> text or ("link", target) of everything below `top`."""
    found = {}
    for folder, names, files in os.walk(top):
        for name in names + files:
            path = Path(folder, name)
            key = str(path.relative_to(top))
            if path.is_symlink():
                found[key] = ("link", os.readlink(path))
            elif name in files:
                found[key] = path.read_bytes()
    return found


def capture(source, dest):
    return run(MKROOT, "-r", source, dest)


@pytest.fixture(name="copy")
def copy_of_roots(tmp_path):
    return shutil.copytree(ROOTS, tmp_path / "roots", symlinks=True)


def test_committed_trees_are_the_generators():
    result = run(sys.executable, MKROOTS, "--check")
    assert result.returncode == 0, result.stdout + result.stderr


def test_check_names_a_changed_file(copy):
    changed = copy / "grace/proc/uptime"
    changed.write_text("1.00 1.00\n")
    result = run(sys.executable, MKROOTS, "--check", copy)
    assert result.returncode == 1
    assert "grace/proc/uptime" in result.stdout


@pytest.mark.parametrize("path", ["grace/proc/extra", "no-such-machine/proc/stat"])
def test_check_names_an_extra_file(copy, path):
    (copy / path).parent.mkdir(parents=True, exist_ok=True)
    (copy / path).write_text("x\n")
    result = run(sys.executable, MKROOTS, "--check", copy)
    assert result.returncode == 1
    assert path.split("/")[-1] in result.stdout or path.split("/", maxsplit=1)[0] in result.stdout


def test_check_sees_a_missing_file_and_a_changed_link(copy):
    (copy / "jetson/proc/stat").unlink()
    link = copy / "jetson/sys/class/dmi/id"
    link.unlink()
    link.symlink_to("../../devices")
    result = run(sys.executable, MKROOTS, "--check", copy)
    assert result.returncode == 1
    assert "stat" in result.stdout and "id" in result.stdout


def test_required_roots_are_there_and_described():
    assert set(REQUIRED) <= set(NAMES)
    readme = text(ROOTS / "README.md")
    assert [n for n in NAMES if f"| {n} |" not in readme] == []


def test_trees_stay_small():
    entries = [p for p in ROOTS.rglob("*") if p.is_symlink() or p.is_file()]
    assert len(entries) < 1500
    assert sum(p.lstat().st_size for p in entries) < 1_000_000


@pytest.mark.parametrize("name", NAMES)
def test_links_are_relative_and_stay_inside(name):
    top = ROOTS / name
    for path, value in tree(top).items():
        if isinstance(value, tuple):
            assert not os.path.isabs(value[1]), path
            target = os.path.normpath(os.path.join(top, os.path.dirname(path), value[1]))
            assert os.path.commonpath([target, top]) == str(top), path
            # The only machine with dangling links is the one whose powercap is masked.
            assert os.path.exists(target) == (name != "container-masked" or "powercap" not in path)


@pytest.mark.parametrize("name", NAMES)
def test_plain_text_and_known_errno_lines(name):
    for path, value in tree(ROOTS / name).items():
        if isinstance(value, bytes):
            assert b"\0" not in value, path
            value.decode("utf-8")
            if b"!errno" in value:
                assert ERRNO.fullmatch(value.decode()), path


@pytest.mark.parametrize("name", NAMES)
def test_every_root_has_what_wattle_reads(name):
    for path in ("proc/cpuinfo", "proc/stat", "proc/meminfo", "proc/uptime", "proc/self/status",
                 "proc/sys/kernel/perf_event_paranoid", "proc/sys/kernel/osrelease",
                 "proc/1/cgroup", "sys/devices/system/cpu/online", "sys/class/dmi/id/sys_vendor"):
        assert (ROOTS / name / path).is_file(), path
    processors = re.findall(r"^processor\t: (\d+)$", text(ROOTS / name / "proc/cpuinfo"), re.M)
    last = text(ROOTS / name / "sys/devices/system/cpu/online").strip().split("-")[1]
    assert [int(p) for p in processors] == list(range(int(last) + 1))


@pytest.mark.parametrize("name", SOUND)
def test_counters_lie_within_their_range(name):
    zones = list((ROOTS / name / "sys/class/powercap").glob("*:*"))
    assert zones
    for zone in zones:
        energy, limit = (int(text(zone / f)) for f in ("energy_uj", "max_energy_range_uj"))
        assert 0 <= energy <= limit
        assert text(zone / "name").strip()


def expand(cpus):
    for part in cpus.strip().split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


@pytest.mark.parametrize("name", [n for n in SOUND
                                  if (ROOTS / n / "sys/bus/event_source/devices/power").exists()])
def test_perf_counters_agree_with_powercap(name):
    """Each CPU of the mask has a place in the topology and a counter within 1 % of its zone."""
    root = ROOTS / name
    pmu = root / "sys/bus/event_source/devices/power"
    zones = {text(z / "name").strip(): int(text(z / "energy_uj")) / 1e6
             for z in (root / "sys/class/powercap").glob("intel-rapl:?")}
    scale = float(text(pmu / "events/energy-pkg.scale"))
    dies = [text(p) for p in root.glob("sys/devices/system/cpu/cpu*/topology/die_id")]
    for lead in expand(text(pmu / "cpumask")):
        topology = root / f"sys/devices/system/cpu/cpu{lead}/topology"
        domain = f"package-{text(topology / 'physical_package_id').strip()}"
        if len(set(dies)) > 1:
            domain += f"-die-{text(topology / 'die_id').strip()}"
        raw = int(text(root / f"wattle-perf/{text(pmu / 'type').strip()}-2-{lead}"))
        assert raw * scale == pytest.approx(zones[domain], rel=0.01)


@pytest.mark.parametrize("name", NAMES)
def test_capture_reproduces_the_root(name, tmp_path):
    """All of a root but its perf counters, which only a running program has."""
    dest = tmp_path / "captured"
    result = capture(ROOTS / name, dest)
    assert result.returncode == 0, result.stderr
    want = {p: v for p, v in tree(ROOTS / name).items() if not p.startswith("wattle-perf/")}
    assert tree(dest) == want


def test_capture_leaves_identities_out(copy, tmp_path):
    root = copy / "container-masked"
    pod = "12345678-9abc-def0-1234-56789abcdef0"
    (root / "proc/1/cgroup").write_text(
        f"0::/kubepods/pod{pod}/pod{pod.replace('-', '_')}/{'0123456789abcdef' * 4}\n")
    with (root / "proc/cpuinfo").open("a") as file:
        file.write("Serial\t\t: 10000000deadbeef\n")
    with (root / "proc/self/status").open("a") as file:
        file.write("Name:\tsecret\n")
    (root / "sys/devices/virtual/dmi/id/product_uuid").write_text("secret\n")
    (root / "sys/devices/virtual/dmi/id/product_serial").write_text("secret\n")
    (root / "proc/sys/kernel/hostname").write_text("secret\n")
    assert capture(root, tmp_path / "captured").returncode == 0
    for path, value in tree(tmp_path / "captured").items():
        if isinstance(value, bytes):
            assert not re.search(rb"secret|deadbeef|12345678|0123456789", value), path
    zeros = "00000000-0000-0000-0000-000000000000"
    assert text(tmp_path / "captured/proc/1/cgroup") == (
        f"0::/kubepods/pod{zeros}/pod{zeros.replace('-', '_')}/{'0' * 64}\n")


def test_capture_leaves_out_serial_numbers_of_sensors_and_batteries(copy, tmp_path):
    for root, path in (("grace", "sys/class/hwmon/hwmon1/device/power1_serial_number"),
                       ("laptop-battery", "sys/class/power_supply/BAT0/serial_number"),
                       ("laptop-battery", "sys/class/power_supply/BAT0/uevent"),
                       ("amd-gpu", "sys/class/drm/card0/device/unique_id")):
        (copy / root / path).write_text("secret\n")
    for root in ("grace", "laptop-battery", "amd-gpu"):
        assert capture(copy / root, tmp_path / root).returncode == 0
        assert b"secret\n" not in tree(tmp_path / root).values()


def test_capture_does_not_read_a_sleeping_device(copy, tmp_path):
    sensor = "sys/class/hwmon/hwmon2/power1_average"
    assert text(copy / "amd-gpu" / sensor) == "!errno EPERM\n"
    (copy / "amd-gpu" / sensor).write_text("87000000\n")
    assert capture(copy / "amd-gpu", tmp_path / "captured").returncode == 0
    assert text(tmp_path / "captured" / sensor) == "!errno EPERM\n"


def test_capture_tells_a_failed_read(copy, tmp_path):
    """/proc/self/mem opens and then fails with EIO at address 0, for root too."""
    energy = "sys/class/powercap/intel-rapl:0/energy_uj"
    (copy / "amd-epyc" / energy).unlink()
    (copy / "amd-epyc" / energy).symlink_to("/proc/self/mem")
    assert capture(copy / "amd-epyc", tmp_path / "captured").returncode == 0
    assert text(tmp_path / "captured" / energy) == "!errno EIO\n"


def test_capture_leaves_absolute_links_out(copy, tmp_path):
    link = copy / "amd-epyc/sys/class/powercap/intel-rapl:9"
    link.symlink_to("/etc")
    assert capture(copy / "amd-epyc", tmp_path / "captured").returncode == 0
    assert not os.path.lexists(tmp_path / "captured/sys/class/powercap/intel-rapl:9")
    assert not os.path.lexists(tmp_path / "captured/etc")


def test_capture_never_writes_over_anything(tmp_path):
    (tmp_path / "mine").mkdir()
    result = capture(ROOTS / "jetson", tmp_path / "mine")
    assert result.returncode == 1 and "exists already" in result.stderr
    assert list((tmp_path / "mine").iterdir()) == []


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["-x", "a"], ["-r"]])
def test_capture_usage(arguments):
    assert run(MKROOT, *arguments).returncode == 2


def test_capture_of_this_machine(tmp_path):
    """The real root: every file is text below the destination, and no link leads out of it."""
    dest = tmp_path / "here"
    result = run(MKROOT, dest)
    assert result.returncode == 0, result.stderr
    captured = tree(dest)
    assert captured["proc/sys/kernel/osrelease"].decode().strip() == os.uname().release
    assert b"CapEff:" in captured["proc/self/status"]
    for path, value in captured.items():
        if isinstance(value, tuple):
            target = os.path.normpath(os.path.join(dest, os.path.dirname(path), value[1]))
            assert os.path.commonpath([target, dest]) == str(dest), path
