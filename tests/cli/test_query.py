# SPDX-License-Identifier: MIT
"""wattle query: nvidia-smi's formats to the letter, wattle's own, and every way to ask wrongly."""

import os
import re
import shutil
import signal
import stat
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from conftest import ROOTS, SCRIPTS, fake_library, finish, parse_json, run_wattle, start_wattle
from test_top import Screen

NOTHING = ("--root", ROOTS / "vm-nothing")
STAMP = re.compile(r"^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}(?=, |$)")

TWO = """\
driver 550.54.15
cuda 12040
gpu NVIDIA A100-PCIE-40GB
  uuid GPU-aaaaaaaa-0000-0000-0000-000000000001
  bus 00000000:17:00.0
  serial 1320000000001
  power 0 const 100
  counter-start 1000
  memory 40960 600 0
  temperature 31
  utilization 50 10 0 0
  {first}
  sensor counter gpu 20
  sensor usage gpu 20
gpu NVIDIA A100-PCIE-40GB
  uuid GPU-aaaaaaaa-0000-0000-0000-000000000002
  bus 00000000:CA:00.0
  power 0 const 200
  counter-start 1000
  sensor counter gpu 20
  sensor usage gpu 20
"""


@pytest.fixture(name="screen_of")
def screens_of(tmp_path, wattle):
    """screen_of("query", …): wattle in tmux."""
    if not shutil.which("tmux"):
        pytest.skip("tmux is not installed")
    opened = []

    def start(*words, **options):
        folder = tmp_path / f"screen{len(opened)}"
        folder.mkdir()
        opened.append(Screen(folder, wattle, *words, **options))
        return opened[-1]
    yield start
    for screen in opened:
        screen.close()


@pytest.fixture(name="query")
def queries(gpus):
    """query("--query-gpu=…", script="a100" or text="…"): wattle query on the fake NVML."""
    def run(*args, script=None, text=None, env=None, root=NOTHING, **options):
        if script is None and text is None:
            text = TWO.format(first="")
        fake = gpus(script, text)
        return run_wattle("query", *root, *fake.options, *args,
                          env={**fake.env, "TZ": "UTC0", **(env or {})}, **options)
    return run


def unstamped(text):
    """The lines without their time stamp."""
    return [STAMP.sub("", line) for line in text.splitlines()]


# ---- Real outputs ----

def captures():
    """The folder of captured outputs of nvidia-smi, or None."""
    data = os.environ.get("WATTLE_SHARED_DATA")
    folder = Path(data) if data else Path(__file__).resolve().parents[2] / ".." / "shared" / "data"
    return folder / "nvidia-smi" if (folder / "nvidia-smi").is_dir() else None


CAPTURES = {
    "rtx2080s": "nvidia-geforce-rtx-2080-super__595.71.05.txt",
    "h100": "nvidia-h100-80gb-hbm3__590.48.01.txt",
    "h100-mig": "nvidia-h100-mig__590.48.01.txt",
    "l40s": "nvidia-l40s__595.80.txt",
    "rtx2080s-610": "nvidia-geforce-rtx-2080-super__610.57.04.txt",
}
ALL = [(name, phase) for name in CAPTURES for phase in ("idle", "load")]


def sections(name):
    """{title: (command, lines)} of a capture; skips the test where it is not there."""
    folder = captures()
    if not folder or not (folder / CAPTURES[name]).exists():
        pytest.skip(f"the captured output (shared/data/nvidia-smi/{CAPTURES[name]}) is not here")
    found, title, command = {}, None, None
    bar = False
    for line in (folder / CAPTURES[name]).read_text(encoding="utf-8").splitlines():
        if line.startswith("####"):
            bar = not bar
        elif bar and " :: " in line:
            title = line[2:]
            found[title] = [None, []]
        elif bar and line.startswith("# $ ") and title:
            found[title][0] = line[4:].split()
        elif not bar and title:
            found[title][1].append(line)
    for entry in found.values():
        while entry[1] and not entry[1][-1]:
            entry[1].pop()
    return found


def section(name, begin):
    matches = [v for k, v in sections(name).items() if k.startswith(begin)]
    assert len(matches) == 1, begin
    return matches[0]


@pytest.fixture(name="bus")
def bus_root(tmp_path):
    """bus("00000000:0C:00.0", "0x030200"): a root whose sysfs has the device, below a root port of generation 4."""
    def make(bus_id, pci_class):
        port = tmp_path / "bus/sys/devices/pci0000:00/0000:00:03.1"
        device = port / bus_id[4:].lower() if bus_id[9:11] != "00" else port.with_name(bus_id[4:].lower())
        device.mkdir(parents=True)
        port.mkdir(exist_ok=True)
        (port / "max_link_speed").write_text("16.0 GT/s PCIe\n", encoding="ascii")
        (device / "class").write_text(pci_class + "\n", encoding="ascii")
        (device / "vendor").write_text("0x10de\n", encoding="ascii")
        (tmp_path / "bus/proc").mkdir()
        listed = tmp_path / "bus/sys/bus/pci/devices"
        listed.mkdir(parents=True)
        for each in (port, device):
            (listed / each.name).symlink_to(Path("../../..") / each.relative_to(tmp_path / "bus/sys"))
        return ("--root", tmp_path / "bus")
    return make


@pytest.mark.parametrize("name,phase", ALL)
def test_csv_of_a_real_gpu_to_the_letter(query, bus, name, phase):
    command, (head, row) = section(name, phase + " :: query-gpu")
    fields = command[1].split("=", 1)[1].split(",")
    real = dict(zip(fields, row.split(", ")))
    base, sub = (int(real[f"pci.{which}Class"], 16) for which in ("base", "sub"))
    root = bus(real["pci.bus_id"], f"0x{base:02x}{sub:02x}00")
    result = query(*command[1:], script=f"capture-{name}-{phase}", root=root)
    assert result.code == 0 and not result.err, result
    lines = result.out.splitlines()
    assert len(lines) == 2 and lines[0] == head
    ours = dict(zip(fields, lines[1].split(", ")))
    assert len(ours) == len(fields) == len(lines[1].split(", "))
    assert STAMP.match(ours.pop("timestamp")) and STAMP.match(real.pop("timestamp"))
    assert {k: (v, ours[k]) for k, v in real.items() if v != ours[k]} == {}
    assert len(real) > 200


@pytest.mark.parametrize("name,phase", ALL)
def test_compute_apps_of_a_real_gpu_to_the_letter(query, name, phase):
    command, lines = section(name, phase + " :: query-compute-apps")
    result = query(*command[1:], script=f"capture-{name}-{phase}")
    assert result.code == 0, result
    assert unstamped(result.out) == [STAMP.sub("", line) for line in lines]


@pytest.mark.parametrize("name,phase", ALL)
def test_accounted_apps_of_a_real_gpu_to_the_letter(query, name, phase):
    """Accounting mode is off: a header. Where it is on, an account is not denied."""
    command, lines = section(name, phase + " :: query-accounted-apps")
    result = query(*command[1:], script=f"capture-{name}-{phase}")
    if name == "l40s":
        assert len(lines) > 1 and (result.code, result.out) == (1, "")
        return
    assert result.code == 0 and not result.err, result
    assert result.out.splitlines() == lines


def test_accounts_that_there_are_are_not_denied(query):
    words = ("--query-accounted-apps=pid,gpu_util,time", "--format=csv,nounits")
    off = query(*words, script="h100")
    assert (off.code, off.out) == (0, "pid, gpu_utilization [%], time [ms]\n")
    on = query(*words, text=TWO.format(first="value nvmlDeviceGetAccountingMode 1"))
    assert on.code == 1 and not on.out
    assert "GPU 0 keeps accounts" in on.complaint()
    assert query("--query-accounted-apps=bogus", "--format=csv").out == 'Field "bogus" is not a valid field to query.\n'


@pytest.mark.parametrize("name", CAPTURES)
def test_list_of_a_real_machine_to_the_letter(query, name):
    _, lines = section(name, "capabilities :: list (-L)")
    assert query("-L", script=f"capture-{name}-load").out.splitlines() == lines


@pytest.mark.parametrize("name,phase", ALL)
def test_monitors_have_the_real_columns(query, name, phase):
    """Their values were taken at other moments than the CSV's that the script is made from."""
    for monitor in ("dmon", "pmon"):
        _, lines = section(name, f"{phase} :: {monitor}")
        result = query(monitor, "-c", "1", "-d", "1.2", script=f"capture-{name}-{phase}")
        ours = result.out.splitlines()
        assert ours[:2] == lines[:2]
        real = lines[2:]
        assert {len(line) for line in ours[2:]} == {len(line) for line in real}
        dashes = [{i for i, word in enumerate(line.split()) if word == "-"} for line in (ours[2], real[0])]
        if monitor == "dmon":
            assert dashes[0] == dashes[1]


@pytest.mark.parametrize("name,phase", ALL)
def test_pmon_of_a_real_gpu_to_the_letter(query, name, phase):
    """The script has the use of the first of the capture's five samples; who there is is the same in all."""
    _, lines = section(name, phase + " :: pmon")
    result = query("pmon", "-c", "1", "-d", "1.2", script=f"capture-{name}-{phase}")
    assert result.code == 0 and not result.err, result
    ours, rows = result.out.splitlines(), lines[2:]
    assert len(rows) % 5 == 0 and ours == lines[:2 + len(rows) // 5]
    who = [line[:22] + line[64:] for line in ours[2:]]
    assert who * 5 == [line[:22] + line[64:] for line in rows]


@pytest.mark.parametrize("name,phase", ALL)
def test_processes_of_a_real_gpu_in_the_log_to_the_letter(query, name, phase):
    def part(lines):
        begin = next(i for i, line in enumerate(lines) if line.startswith("    Processes"))
        return lines[begin:next(i for i in range(begin + 1, len(lines)) if not lines[i].startswith("        "))]

    _, lines = section(name, phase + " :: query (-q)")
    result = query("-q", script=f"capture-{name}-{phase}")
    assert result.code == 0 and not result.err, result
    # Nothing comes after them where the driver tells of no capabilities.
    ours, theirs = part(result.out.splitlines() + [""]), part(lines + [""])
    assert ours == theirs
    shown = ET.fromstring(query("-q", "-x", script=f"capture-{name}-{phase}").out).findall("gpu/processes/process_info")
    told = [dict(re.split(r"\s+: ", line.strip()) for line in theirs[i:i + 6]) for i in range(1, len(theirs), 6)]
    tags = {"gpu_instance_id": "GPU instance ID", "compute_instance_id": "Compute instance ID", "pid": "Process ID",
            "type": "Type", "process_name": "Name", "used_memory": "Used GPU Memory"}
    assert [{title: info.find(tag).text for tag, title in tags.items()} for info in shown] == told


def test_every_field_of_every_driver_is_taken(query):
    for name in CAPTURES:
        _, lines = section(name, "capabilities :: help-query-gpu")
        titles = [line for line in lines if re.fullmatch(r'"[\w.]+"( or "[\w.]+")*', line)]
        fields = re.findall(r'"([\w.]+)"', " ".join(titles))
        assert len(fields) > 180
        result = query("--query-gpu=" + ",".join(fields), "--format=csv")
        assert result.code == 0, result


# ---- CSV ----

def test_header_units_and_nothing_else(query):
    result = query("--query-gpu=index,gpu_name,power.draw,memory.total", "--format=csv")
    assert result.out == ("index, name, power.draw [W], memory.total [MiB]\n"
                          "0, NVIDIA A100-PCIE-40GB, 100.00 W, 40960 MiB\n"
                          "1, NVIDIA A100-PCIE-40GB, 200.00 W, 81920 MiB\n")
    assert query("--query-gpu=index,power.draw", "--format=csv,noheader").out == "0, 100.00 W\n1, 200.00 W\n"
    assert query("--query-gpu=index,power.draw", "--format=noheader,nounits,csv").out == "0, 100.00\n1, 200.00\n"
    assert query("--query-gpu", "index", "--format", "csv,nounits").out == "index\n0\n1\n"
    assert query("--query-gpu=index,power.draw", "-i", "1").out == "index, power.draw [W]\n1, 200.00 W\n"


def test_timestamp_is_local_time(query):
    words = ("--query-gpu=timestamp", "--format=csv,noheader", "-i", "0")
    utc = query(*words).out
    assert STAMP.fullmatch(utc.strip())
    east = query(*words, env={"TZ": "UTC-9"}).out
    hours = (int(east[11:13]) - int(utc[11:13])) % 24
    assert hours in (9, 10)  # the hour may have turned in between


@pytest.mark.parametrize("spelling", [("-lms", "20"), ("-lms=20",), ("--loop-ms=20",), ("--loop-ms", "20"),
                                      ("-l", "0.02"), ("--loop=0.02",)])
def test_loops(query, spelling):
    result = query("--query-gpu=index", "--format=csv", *spelling, "-c", "3")
    assert result.code == 0, result
    assert result.out == "index\n" + "0\n1\n" * 3  # one header


def test_a_loop_goes_on_until_it_is_ended(gpus):
    fake = gpus(text=TWO.format(first=""))
    process = start_wattle("query", *NOTHING, *fake.options, "--query-gpu=index", "--format=csv,noheader",
                           "-lms", "20", env=fake.env)
    assert process.stdout.read(8) == b"0\n1\n0\n1\n"  # each row is out at once
    process.send_signal(signal.SIGINT)
    assert finish(process).code == -signal.SIGINT


def test_file(query, tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old\n", encoding="ascii")
    result = query("--query-gpu=index", "--format=csv", "-f", path, "-lms", "10", "-c", "2")
    assert (result.code, result.out, result.err) == (0, "", "")
    assert path.read_text(encoding="ascii") == "index\n0\n1\n0\n1\n"
    result = query("--query-gpu=index", "-f", tmp_path / "no/such/folder")
    assert result.code == 1 and "cannot write" in result.complaint()


@pytest.mark.parametrize("field", ["bogus", "POWER.DRAW", "", "index ,, name", "  ,index", "index,", "pid", "\x1b[2J"])
def test_a_field_that_there_is_not(query, field):
    result = query(f"--query-gpu=index,{field}", "--format=csv")
    assert result.code == 2
    assert re.fullmatch(r'Field ".*" is not a valid field to query\.\n', result.out), result
    assert "\x1b" not in result.out and (not result.err or "did you mean power.draw?" in result.err)
    assert query("--query-gpu=bogus", "--format=csv").out == 'Field "bogus" is not a valid field to query.\n'


def test_short_options_of_other_commands(query, tmp_path):
    """-f and -o are nvidia-smi's here: who means a format, or a file, is told, and no file "json" is made."""
    for name in ("json", "csv"):
        result = query("-f", name, cwd=tmp_path)
        assert result.code == 2 and "-f is a file here, as in nvidia-smi: --format takes" in result.complaint()
    assert query("-o", "x.json", cwd=tmp_path).complaint().endswith("-o are for dmon and pmon; -f names a file")
    assert list(tmp_path.iterdir()) == [tmp_path / "script.nvml"]
    assert query("-f", "./json", "-L", cwd=tmp_path).code == 0 and (tmp_path / "json").read_text().startswith("GPU 0: ")


def test_each_table_has_its_fields(query):
    for option, other in (("compute-apps", "power.draw"), ("domain", "pid")):
        result = query(f"--query-{option}={other}", "--format=csv")
        assert (result.code, result.out) == (2, f'Field "{other}" is not a valid field to query.\n')
    many = query("--query-gpu=" + "index," * 1023 + "index", "--format=csv,noheader", "-i", "0")
    assert many.out == ", ".join(["0"] * 1024) + "\n"
    result = query("--query-gpu=" + "index," * 1024 + "index", "--format=csv")
    assert (result.code, result.complaint()) == (2, "wattle: query: --query-gpu takes at most 1024 fields")


def test_one_table_at_once(query):
    two = query("--query-gpu=index", "--query-compute-apps=pid", "--format=csv")
    assert two.code == 2
    assert two.complaint() == "wattle: query: only one --query-... at once: --query-gpu or --query-compute-apps"
    assert query("--query-gpu=index", "--query-gpu=name").complaint() == "wattle: query: one --query-gpu only"


@pytest.mark.parametrize("words", [
    ("--query-gpu=index", "--format=noheader"),
    ("--query-gpu=index", "--format=csv,bogus"),
    ("--query-gpu=index", "--format=text"),
    ("dmon", "-s", "pz", "--format=json"),
    ("dmon", "-o", "X", "--format=json"),
    ("--query-gpu=index", "--query-compute-apps=pid"),
    ("--query-gpu=index", "-L"),
    ("--query-accounted-apps=pid", "-L"),
    ("--format=csv",),
    ("--format=yaml",),
    ("-q", "-L"),
    ("-q", "--query-gpu=index"),
    ("-L", "-x"),
    ("dmon", "-x"),
    ("dmon", "pmon"),
    ("dmon", "-s", "pz"),
    ("pmon", "-s", "p"),
    ("dmon", "-o", "X"),
    ("dmon", "-l", "1"),
    ("-s", "p"),
    ("-d", "1"),
    ("-q", "-d", "1"),
    ("-q", "-d", "POWER,"),
    ("-q", "-x", "-d", "POWER"),
    ("-d", "POWER"),
    ("dmon", "-d", "POWER"),
    ("bogus",),
    ("-lms",),
    ("-lms", "0"),
    ("-lms", "x"),
    ("-l", "0"),
    ("-l", "-1"),
    ("-c", "0"),
    ("--no-such-option",),
])
def test_bad_usage(query, words):
    result = query(*words)
    assert result.code == 2 and not result.out, result
    assert result.complaint().startswith("wattle: query: ")


def test_no_such_gpu(query):
    result = query("--query-gpu=index", "-i", "7")
    assert result.code == 3 and "there is no GPU '7'" in result.complaint()
    for name in ("GPU-aaaaaaaa-0000-0000-0000-000000000002", "00000000:CA:00.0", "0000:ca:00.0", "ca:00.0"):
        assert query("--query-gpu=index", "--format=csv,noheader", "-i", name).out == "1\n"
    assert query("--query-gpu=index", "--format=csv,noheader", "-i=0,1").out == "0\n1\n"


def test_gpus_as_cuda_names_them(query):
    def indices(*words, **script):
        return query("--query-gpu=index", "--format=csv,noheader", *words, **script).out.split()
    assert indices("--gpus", "1") == indices("--gpus", "GPU-aaaaaaaa-0000-0000-0000-000000000002") == ["1"]
    assert indices("--gpus", "1,0") == ["0", "1"]
    for device in ("MIG-00000001-0000-0000-0000-000000000001", "MIG-00000001"):
        assert indices("--gpus", device, script="a100-mig") == ["0"]
    # None is an answer, as it is to CUDA; a name that nobody has is not.
    assert query("--query-gpu=index", "--gpus", "").out == "No devices were found\n"
    unknown = query("--query-gpu=index", "--gpus", "1,MIG-1")
    assert unknown.code == 3 and unknown.complaint() == "wattle: query: there is no GPU 'MIG-1': see wattle query -L"
    both = query("--gpus", "1", "-i", "1")
    assert both.code == 2 and both.complaint() == "wattle: query: -i and --gpus both say which GPUs: use one"


@pytest.mark.parametrize("words", [("--query-gpu=index",), ("--query-compute-apps=pid",), ("-L",), ("dmon",), ("pmon",)])
def test_no_gpu_at_all(words):
    result = run_wattle("query", *NOTHING, "--nvml", "", *words)
    assert (result.code, result.out) == (3, "No devices were found\n"), result


def test_no_gpu_is_no_failure_for_the_rest():
    assert run_wattle("query", *NOTHING, "--nvml", "").code == 0
    report = run_wattle("query", *NOTHING, "--nvml", "", "--format", "json").json
    assert report["gpus"] == [] and report["domains"]
    tree = ET.fromstring(run_wattle("query", *NOTHING, "--nvml", "", "-x").out)
    assert tree.find("attached_gpus").text == "0" and tree.find("gpu") is None


def test_a_lost_gpu_keeps_its_row(query):
    result = query("--query-gpu=index,name,power.draw,temperature.gpu", "--format=csv,noheader",
                   text=TWO.format(first="lost from 0 until -"))
    lost, other = result.out.splitlines()
    assert lost.startswith("0, ") and lost.endswith("[GPU is lost], [GPU is lost]"), lost
    assert other.startswith("1, NVIDIA A100-PCIE-40GB, 200.00 W, ")


def test_no_permission_has_its_word(query):
    result = query("--query-gpu=index,power.draw", "--format=csv,noheader", script="no-permission")
    assert result.out == "0, [Insufficient Permissions]\n"


@pytest.mark.parametrize("root", ["amd-gpu", "intel-gpu"])
def test_gpus_of_other_makers(root):
    result = run_wattle("query", "--root", ROOTS / root, "--nvml", "", "--query-gpu=index,name,pci.bus_id,power.draw,"
                        "temperature.gpu,uuid,compute_cap,power.management", "--format=csv,noheader")
    assert result.code == 0, result
    for line in result.out.splitlines():
        index, name, bus, power, _, uuid, cap, management = line.split(", ")
        assert index.isdigit() and name and re.fullmatch(r"[0-9A-F]{8}:[0-9A-F]{2}:[0-9A-F]{2}\.\d", bus)
        # Counters of a root stand still: that is no power.
        assert power in ("[N/A]", "[Unknown Error]") or power.endswith(" W")
        assert cap == management == "[N/A]" and uuid


# ---- wattle's own fields ----

def test_energy_fields(query):
    rows = [line.split(", ") for line in query(
        "--query-gpu=energy.total,energy.window,energy.window.uncertainty,power.mean,power.uncertainty,total.power.draw",
        "--format=csv,noheader,nounits", "-i", "0", "-lms", "300", "-c", "3").out.splitlines()]
    assert len(rows) == 3
    for row in rows:
        total, window, _, mean, uncertainty, machine = map(float, row)
        assert total >= 1000 and window > 0 and 0 < mean <= 110 and uncertainty > 0 and machine >= mean
    assert [float(row[0]) for row in rows] == sorted(float(row[0]) for row in rows)
    assert [float(row[1]) for row in rows] == sorted(float(row[1]) for row in rows)


def test_domains(query):
    result = query("--query-domain=name,kind,method,in_total,power.draw,energy.window", "--format=csv")
    head, *rows = result.out.splitlines()
    assert head == "name, kind, method, in_total, power.draw [W], energy.window [J]"
    found = {row.split(", ")[0]: row.split(", ") for row in rows}
    assert found["package-0"][1:4] == ["cpu", "modelled", "Yes"]
    assert found["gpu-1"][2] == "counter" and abs(float(found["gpu-1"][4].split()[0]) - 200) < 20


TAPE = ROOTS.parent / "tapes" / "server.tape"


def test_what_needs_no_meter_reads_no_meter(tmp_path, query):
    """Columns of nvidia-smi's own are the GPU's; energies and domains are the meter's."""
    for words, has_meter in ((("-L",), False), (("--query-gpu=name,power.draw,energy.total", "--format=csv"), False),
                             (("--query-gpu=cpu.power.draw", "--format=csv"), True),
                             (("--query-domain=name,power.draw", "--format=csv"), True)):
        tape = tmp_path / "tape"
        result = query(*words, "--tape-record", tape, root=("--root", ROOTS / "nvidia-server"))
        assert result.code == 0, result
        assert ("/sys/class/powercap" in tape.read_text()) == has_meter, words
        assert run_wattle("query", *words, "--tape", tape, env={"TZ": "UTC0"}).out == result.out


def test_a_gpu_that_is_there_has_no_number_that_is_gone():
    """The tape is of a time when less was asked."""
    gpu = run_wattle("query", "--tape", TAPE, "--format", "json").json["gpus"][0]
    assert gpu["status"] == "ok" and gpu["processes_status"] == "absent"
    assert gpu["unknown"]["temperature_c"] == "not supported"
    assert not any("gone" in why or "lost" in why for why in gpu["unknown"].values())


def test_domains_of_a_tape():
    """A tape has its own clock; it is the same every time, and may end before the loop does."""
    words = ("query", "--tape", TAPE, "--query-domain=name,power.draw", "--format=csv,noheader")
    once = run_wattle(*words)
    assert once.code == 0 and once.out == run_wattle(*words).out
    assert re.match(r"package-0, \d+\.\d\d W\n", once.out)
    result = run_wattle(*words, "-l", "1", "-c", "1000")
    assert result.code == 0, result
    assert result.out.startswith(once.out)
    assert 2 * len(once.out.splitlines()) < len(result.out.splitlines()) < 1000


def test_help_has_the_order_of_nvidia_smi(query):
    ours = re.findall(r'^"([\w.]+)"', query("--help-query-gpu").out, re.M)
    assert len(ours) == len(set(ours)) > 230
    for name in CAPTURES:
        _, lines = section(name, "capabilities :: help-query-gpu")
        theirs = [line.split('"')[1] for line in lines if re.fullmatch(r'"[\w.]+"( or "[\w.]+")*', line)]
        assert [field for field in ours if field in theirs] == [field for field in theirs if field in ours]


def test_help_pages(query):
    page = query("--help-query-gpu").out
    for text in ('"power.draw" [W]\n', '"name" or "gpu_name"\n', '"energy.total" [J]\nwattle\'s own'):
        assert text in page
    assert '"used_gpu_memory" or "used_memory" [MiB]\n' in query("--help-query-compute-apps").out
    assert '"power.draw" or "power.mean" [W]\n' in query("--help-query-domain").out


# ---- Other forms ----

def test_xml(query):
    result = query("-q", "-x", script="capture-h100-load")
    assert result.code == 0 and not result.err, result
    assert result.out.startswith('<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n')
    gpu = ET.fromstring(result.out).find("gpu")
    assert gpu.get("id") == "00000000:00:09.0"
    for path, text in (("product_name", "NVIDIA H100 80GB HBM3"), ("gpu_power_readings/power_draw", "631.95 W"),
                       ("gpu_power_readings/instant_power_draw", "625.68 W"), ("temperature/gpu_temp", "59 C"),
                       ("fb_memory_usage/used", "19818 MiB"), ("utilization/gpu_util", "100 %"),
                       ("pci/pci_gpu_link_info/link_widths/current_link_width", "16x"),
                       ("pci/tx_util", "3092 KB/s"), ("mig_devices", "None"), ("fan_speed", "N/A"),
                       ("applications_clocks/graphics_clock", "Requested functionality has been deprecated")):
        assert gpu.find(path).text == text, path
    names = [p.find("process_name").text for p in gpu.iter("process_info")]
    assert names == ["/root/tools/memhog", "/root/tools/memhog", "./gpu_burn"]


def test_xml_matches_the_captured_text_form(query):
    """The captures hold -q as text, which has the same values under other titles."""
    _, lines = section("h100", "load :: query (-q)")
    shown = dict(re.split(r"\s+: ", line.strip(), maxsplit=1) for line in lines if " : " in line)
    gpu = ET.fromstring(query("-x", script="capture-h100-load").out).find("gpu")
    for title, path in (("Product Name", "product_name"), ("VBIOS Version", "vbios_version"), ("Bus Id", "pci/pci_bus_id"),
                        ("Device Id", "pci/pci_device_id"), ("Image Version", "inforom_version/img_version"),
                        ("Performance State", "performance_state"), ("Compute Mode", "compute_mode"),
                        ("Accounting Mode Buffer Size", "accounting_mode_buffer_size"),
                        ("Addressing Mode", "addressing_mode"), ("GPU C2C Mode", "c2c_mode"), ("Fan Speed", "fan_speed"),
                        ("GPU T.Limit Temp", "temperature/gpu_temp_tlimit"), ("Display Mode", "display_mode"),
                        ("Tx Throughput", "pci/tx_util"), ("Rx Throughput", "pci/rx_util")):
        assert gpu.find(path).text == shown[title], title


def without_times(lines):
    return [line for line in lines if not line.startswith("Timestamp")]


# What wattle has no source for, and says so.
UNSERVED_TITLES = re.compile(r"\s+(GPU Part Number|Atomic Caps Outbound|Sparse Operation Mode|Unrepairable Memory|EGM|Video|"
                             r"Total|Used|Free)\s+:")


# What moves between the questions of one capture, of which the script has the CSV's answers.
MOVES = {
    ("h100", "idle"): "",
    ("h100", "load"): "Memory Current Temp|Average Power Draw|Instantaneous Power Draw",
    ("l40s", "idle"): "GPU Current Temp|GPU T.Limit Temp|Average Power Draw|Instantaneous Power Draw",
    ("l40s", "load"): "Encoder|Average FPS|Average Latency|Average Power Draw|Instantaneous Power Draw",
    ("rtx2080s", "idle"): "Idle|SW Power Cap|SW Power Capping|Instantaneous Power Draw|Graphics|SM|Memory|Video",
    ("rtx2080s", "load"): "Instantaneous Power Draw",
    ("rtx2080s-610", "idle"): "SW Power Capping|Instantaneous Power Draw|Graphics|SM|Memory|Video",
    ("rtx2080s-610", "load"): "SW Power Capping|Instantaneous Power Draw",
}


@pytest.mark.parametrize("name,phase", MOVES)
def test_log_of_a_real_gpu(query, bus, name, phase):
    """Title for title as its driver (590, 595, 610) wrote it; a value is that value or, for some titles, not known."""
    _, lines = section(name, phase + " :: query (-q)")
    of = dict(re.split(r"\s+: ", line.strip(), maxsplit=1) for line in lines if " : " in line)
    code = f"0x0{of['Base Classcode'][2:]}0{of['Sub Classcode'][2:]}00"
    result = query("-q", script=f"capture-{name}-{phase}", root=bus(of["Bus Id"], code))
    assert result.code == 0 and not result.err, result
    ours, theirs = without_times(result.out.rstrip("\n").split("\n")), without_times(lines)
    moves = re.compile(rf"( +(?:{MOVES[name, phase] or 'NOTHING'}) +: )(?!N/A).*$")
    ours, theirs = ([moves.sub(r"\1#", line) for line in lines] for lines in (ours, theirs))
    assert [line.split(" : ")[0] for line in ours] == [line.split(" : ")[0] for line in theirs]
    wrong = [(a, b) for a, b in zip(ours, theirs) if a != b and not (UNSERVED_TITLES.match(a) and a.endswith(": N/A"))]
    assert not wrong
    known = sum(a == b and " : " in a and not a.endswith("N/A") for a, b in zip(ours, theirs))
    assert known > (90 if name.startswith("rtx2080s") else 110)


OF_610 = """\
driver 610.43.02
cuda 13030
gpu NVIDIA H200
  arch hopper
  cc 9.0
  power 0 const 83.4
  sensor usage gpu 100
  limit 700 700 200 700
  value nvmlDeviceGetMarginTemperature 49
"""


def test_titles_of_610(query):
    """As nvidia-smi 610.43.02 wrote them of an H200."""
    shown = query("-q", text=OF_610).out
    for lines in ("""
Driver Version                                         : 610.43.02 [Deprecated; will be removed in CUDA 14.0. Use KMD Version instead]
CUDA Version                                           : 13.3 [Deprecated; will be removed in CUDA 14.0. Use CUDA UMD Version instead]
KMD Version                                            : 610.43.02
CUDA UMD Version                                       : 13.3

Attached GPUs """, """
    Inforom Time Data
        Time Run                                       : N/A
    GPU Operation Mode
""", """
        GPU Current T.Limit Temp                       : 49 C
        GPU Shutdown T.Limit Temp Specification        : N/A
""", """
        GPU Target Temperature Specification           : N/A
""", """
        Memory Max Operating T.Limit Temp Specification: N/A
""", """
        GPU Ceiling Power Limit
            Current Power Limit                        : 700.00 W
            Requested Power Limit                      : 700.00 W
            Default Power Limit                        : 700.00 W
        GPU Base Power
            Current Base Power                         : N/A
            Requested Base Power                       : N/A
            Default Base Power                         : N/A
        Min Power Limit                                : 200.00 W
"""):
        assert lines in shown, lines
    xml = ET.fromstring(query("-x", text=OF_610).out)
    assert xml.findtext("driver_version") == "610.43.02" and xml.findtext("gpu/gpu_power_readings/current_power_limit") == "700.00 W"
    fields = "gpu.base.current,bbx.time_run,power_smoothing.curr_profile.ramp_up_rate,power_smoothing.admin_override.percent_tmp_floor"
    assert query(f"--query-gpu={fields}", "--format=csv", text=OF_610).out == (
        "gpu.base.current [W], bbx.time_run [seconds], power_smoothing.curr_profile.ramp_up_rate [W/s], "
        "power_smoothing.admin_override.percent_tmp_floor [%]\n[N/A], [N/A], [N/A], [N/A]\n")


# The XML's names of what the log has under its titles.
XML_OF_TITLES = {
    "Platform Info/Chassis Serial Number": "platformInfo/chassis_serial_number",
    "Platform Info/Slot Number": "platformInfo/slot_number", "Platform Info/Tray Index": "platformInfo/tray_index",
    "Platform Info/Host ID": "platformInfo/host_id", "Platform Info/Peer Type": "platformInfo/peer_type",
    "Platform Info/Module Id": "platformInfo/module_id", "Platform Info/GPU Fabric GUID": "platformInfo/gpu_fabric_guid",
    "GPU Virtualization Mode/Virtualization Mode": "gpu_virtualization_mode/virtualization_mode",
    "GPU Recovery Action": "gpu_recovery_action", "EDPp Multiplier": "edpp_multiplier",
    "PCI/GPU Link Info/PCIe Generation/Host Max": "pci/pci_gpu_link_info/pcie_gen/max_host_link_gen",
    "ECC Errors/Volatile/SRAM Correctable": "ecc_errors/volatile/sram_correctable",
    "ECC Errors/Volatile/SRAM Uncorrectable": "ecc_errors/volatile/sram_uncorrectable",
    "ECC Errors/Volatile/SRAM Uncorrectable Parity": "ecc_errors/volatile/sram_uncorrectable_parity",
    "ECC Errors/Volatile/SRAM Uncorrectable SEC-DED": "ecc_errors/volatile/sram_uncorrectable_secded",
    "ECC Errors/Aggregate/SRAM Uncorrectable": "ecc_errors/aggregate/sram_uncorrectable",
    "ECC Errors/Aggregate/SRAM Uncorrectable Parity": "ecc_errors/aggregate/sram_uncorrectable_parity",
    "ECC Errors/Aggregate/SRAM Uncorrectable SEC-DED": "ecc_errors/aggregate/sram_uncorrectable_secded",
    "ECC Errors/Aggregate/SRAM Threshold Exceeded": "ecc_errors/aggregate/sram_threshold_exceeded",
    "ECC Errors/Aggregate Uncorrectable SRAM Sources/SRAM L2": "ecc_errors/aggregate_uncorrectable_sram_sources/sram_l2",
    "ECC Errors/Aggregate Uncorrectable SRAM Sources/SRAM Other": "ecc_errors/aggregate_uncorrectable_sram_sources/sram_other",
    "Remapped Rows": "remapped_rows", "Remapped Rows/Correctable Error": "remapped_rows/remapped_row_corr",
    "Remapped Rows/Inactive Correctable Error": "remapped_rows/remapped_row_corr_inactive",
    "Fabric/State": "fabric/state", "Fabric/Status": "fabric/status", "Fabric/CliqueId": "fabric/cliqueId",
    "Fabric/ClusterUUID": "fabric/clusterUuid", "Fabric/Health/Summary": "fabric/health/summary",
    "Fabric/Health/Route Recovery in progress": "fabric/health/route_recovery_in_progress",
}


def by_path(lines):
    """{"Fabric/State": "Completed"} of a GPU's part of the log."""
    found, path = {}, []
    for line in lines:
        title, colon, value = line.partition(" : ")
        path = path[:(len(line) - len(line.lstrip())) // 4 - 1] + [title.strip()]
        if colon:
            found.setdefault("/".join(path), value)
    return found


@pytest.mark.parametrize("name,phase", MOVES)
def test_xml_has_what_the_log_of_a_real_gpu_has(query, bus, name, phase):
    _, lines = section(name, phase + " :: query (-q)")
    real = by_path(lines)
    root = bus(real["PCI/Bus Id"], "0x030000")
    gpu = ET.fromstring(query("-x", script=f"capture-{name}-{phase}", root=root).out).find("gpu")
    wrong = {title: (real.get(title), gpu.findtext(path)) for title, path in XML_OF_TITLES.items()
             if title in real and gpu.findtext(path) != real[title]}
    assert not wrong
    extra = [path for title, path in XML_OF_TITLES.items() if title not in real and gpu.find(path) is not None
             and list(gpu.find(path)) == [] and gpu.findtext(path) != "N/A"]
    assert not extra


BLACKWELL = """\
driver 580.173.02
gpu NVIDIA GB300
  cc 10.3
  power 0 const 200
  sensor usage gpu 100
  value nvmlDeviceGetVirtualizationMode 0
  value nvmlDeviceGetPlatformInfo 25 15 1 1 2 0x1 1820000000001
  value nvmlDeviceGetGpuFabricInfoV 3 0 32766 0x1aa 1 00000001-0000-0000-0000-000000000001
"""


def test_fabric_and_platform_of_a_rack(query):
    """As nvidia-smi 580 wrote it of a GB300 (NVIDIA/k8s-test-infra, qx-gb300.xml, numbers scrubbed there)."""
    gpu = ET.fromstring(query("-x", text=BLACKWELL).out).find("gpu")
    assert {e.tag: e.text for e in gpu.find("platformInfo")} == {
        "chassis_serial_number": "1820000000001", "slot_number": "25", "tray_index": "15", "host_id": "1",
        "peer_type": "Switch Connected", "module_id": "N/A", "gpu_fabric_guid": "0x0000000000000001"}
    assert {e.tag: e.text for e in gpu.find("fabric") if e.tag != "health"} == {
        "state": "Completed", "status": "Success", "cliqueId": "32766",
        "clusterUuid": "00000001-0000-0000-0000-000000000001"}
    assert {e.tag: e.text for e in gpu.find("fabric/health")} == {
        "summary": "Healthy", "bandwidth": "Full", "route_recovery_in_progress": "False", "route_unhealthy": "False",
        "access_timeout_recovery": "False", "incorrect_configuration": "None", "partition_assigned": "N/A"}
    shown = query("-q", text=BLACKWELL).out
    for line in ("        Chassis Serial Number                          : 1820000000001\n",
                 "        Peer Type                                      : Switch Connected\n",
                 "            Incorrect Configuration                    : None\n"):
        assert line in shown
    gpu = query("--format", "json", text=BLACKWELL).json["gpus"][0]
    assert (gpu["fabric_state"], gpu["fabric_degraded"], gpu["platform_peer"]) == ("completed", False, "switch")
    assert gpu["platform_chassis_serial"] == "1820000000001" and gpu["virtualization"] == "none"


def test_each_column_alone_is_what_it_is_among_all(query, bus):
    """Parts of a GPU are read only where a column needs them: no column may be forgotten there."""
    command, (_, row) = section("l40s", "load :: query-gpu")
    fields = command[1].split("=", 1)[1].split(",")
    real = dict(zip(fields, row.split(", ")))
    root = bus(real["pci.bus_id"], "0x030200")
    parts = re.compile(r"fabric|platform|sram|edpp|recovery|checksum|hostmax|inactive")
    asked = [field for field in fields if parts.search(field)]
    assert len(asked) > 35
    for field in asked:
        assert query(f"--query-gpu={field}", "--format=csv,noheader", script="capture-l40s-load",
                     root=root).out == real[field] + "\n", field


def test_log_of_mig_and_of_nobody(query):
    shown = query("-q", script="capture-h100-mig-load").out
    assert shown.count("    MIG Device\n") == 4 and "            Used                                       : 11091 MiB\n" in shown
    nobody = query("-q")
    assert nobody.code == 0 and nobody.out.count("\nGPU 0000") == 2
    assert nobody.out.count("    Processes                                          : None\n") == 2


def test_sections_of_the_log(query):
    """-d, with nvidia-smi's words: the head, and of each GPU what they name, in the order of the whole."""
    def shown(*words):
        return query("-q", *words, script="capture-h100-load").out.splitlines()
    whole = shown()

    def titles(lines):
        return [line.partition(" : ")[0].rstrip() for line in lines if re.match("    [A-Z]", line)]
    assert titles(shown("-d", "POWER,UTILIZATION")) == [
        "    Utilization", "    GPU Power Readings", "    GPU Memory Power Readings", "    Module Power Readings"]
    power = shown("--display=power")
    begin, end = whole.index("    GPU Power Readings"), next(i for i, x in enumerate(whole) if "Power Smoothing" in x)
    assert without_times(power) == [*without_times(whole[:9]), *whole[begin:end], ""]
    assert titles(shown("-d", "PIDS")) == ["    Processes"] and any("gpu_burn" in line for line in shown("-d", "PIDS"))
    assert titles(shown("-d", "clock,COMPUTE,row_remapper")) == [
        "    Compute Mode", "    Remapped Rows", "    Clocks", "    Applications Clocks", "    Default Applications Clocks",
        "    Deferred Clocks", "    Max Clocks", "    Max Customer Boost Clocks", "    Clock Policy"]
    every = "MEMORY,UTILIZATION,ECC,TEMPERATURE,POWER,CLOCK,COMPUTE,PIDS,PERFORMANCE,PAGE_RETIREMENT,ACCOUNTING,ENCODER_STATS,FBC_STATS," \
            "ROW_REMAPPER,GSP_FIRMWARE_VERSION,POWER_SMOOTHING,POWER_PROFILES"
    assert set(titles(shown("-d", every))) < set(titles(whole))
    for word in every.split(","):
        assert titles(shown("-d", word)), word
    assert query("-q", "-d", "POWR").complaint() == "wattle: query: -d has no section 'POWR': did you mean POWER?"


def test_what_only_the_log_has(query):
    """Beyond CSV: in the XML under its names, in JSON typed; less is read where dmon needs it."""
    gpu = ET.fromstring(query("-x", script="capture-h100-load").out).find("gpu")
    assert {path: gpu.findtext(path) for path in (
        "product_brand", "product_architecture", "minor_number", "multigpu_board", "board_id", "board_part_number", "gsp_firmware_version",
        "pci/replay_counter", "bar1_memory_usage/used", "fbc_stats/session_count", "temperature/gpu_temp_max_tlimit_threshold",
        "temperature/gpu_temp_max_threshold", "temperature/gpu_target_temperature", "max_customer_boost_clocks/graphics_clock")} == {
            "product_brand": "NVIDIA", "product_architecture": "Hopper", "minor_number": "0", "multigpu_board": "No", "board_id": "0x9",
            "board_part_number": "692-2G520-0200-000", "gsp_firmware_version": "590.48.01", "pci/replay_counter": "9",
            "bar1_memory_usage/used": "19819 MiB", "fbc_stats/session_count": "0", "temperature/gpu_temp_max_tlimit_threshold": "-8 C",
            "temperature/gpu_temp_max_threshold": None, "temperature/gpu_target_temperature": "N/A",
            "max_customer_boost_clocks/graphics_clock": "1980 MHz"}
    assert len(gpu.findall("temperature")) == len(gpu.findall("pci")) == 1
    gpu = query("--format", "json", script="capture-rtx2080s-load").json["gpus"][0]
    assert (gpu["brand"], gpu["architecture"], gpu["slowdown_temperature_c"], gpu["bar1_total_bytes"]) == ("geforce", "turing", 97, 256 << 20)
    assert gpu["unknown"]["slowdown_margin_c"] == "not supported" and gpu["gsp_firmware"] == "595.71.05"
    assert query("dmon", "-s", "me", "-c", "1", script="capture-h100-load").out.splitlines()[-1].split() == [
        "0", "19818", "19819", "0", "0", "0", "9"]


def test_xml_of_mig(query):
    gpu = ET.fromstring(query("-x", script="capture-h100-mig-load").out).find("gpu")
    migs = gpu.findall("mig_devices/mig_device")
    assert [m.find("gpu_instance_id").text for m in migs] == ["2", "3", "9", "10"]
    assert migs[0].find("fb_memory_usage/used").text == "11091 MiB"


def test_monitor_options(query):
    result = query("dmon", "-s", "pt", "-c", "2", "-d", "0.02", "-o", "DT", "-i", "1")
    head, units, *rows = result.out.splitlines()
    assert head.split() == ["#Date", "Time", "gpu", "pwr", "gtemp", "mtemp", "rxpci", "txpci"]
    assert units.split() == ["#YYYYMMDD", "HH:MM:SS", "Idx", "W", "C", "C", "MB/s", "MB/s"]
    assert len(rows) == 2
    for row in rows:
        assert re.match(r" \d{8}   \d\d:\d\d:\d\d    1    200 ", row), row


def test_lines(query):
    result = query(text=TWO.format(first="process 4321 C 2566"))
    first, second, rest = result.out.splitlines()
    assert first.startswith("[0] NVIDIA A100-PCIE-40GB |  31°C,  50 %, 100 / ")
    assert " MiB | " in first and "4321(2566M)" in first
    assert second.startswith("[1] NVIDIA A100-PCIE-40GB | ") and second.endswith("|")
    assert rest.startswith("package-0 ~ ") and "gpu" not in rest
    assert "°" not in query("--ascii").out
    assert "enc" not in first and "dec" not in first
    video = query(text=TWO.format(first="process 4321 C 2566").replace("utilization 50 10 0 0", "utilization 50 10 88 5")).out
    assert " MiB | enc 88 %, dec 5 % | " in video.splitlines()[0]
    video = query(text=TWO.format(first="").replace("utilization 50 10 0 0", "utilization 50 10 0 5")).out
    assert video.splitlines()[0].endswith(" MiB | dec 5 % |")


def test_one_look_is_short(query):
    """What is there in 20 ms is said; what takes a second look has its reason."""
    gpu = TWO.format(first="").replace("sensor counter gpu 20", "sensor counter gpu 100000")
    slow = query("--format", "json", text=gpu).json
    assert slow["gpus"][0]["power_w"] == 100 and slow["gpus"][0]["unknown"]["mean_w"].endswith("see --loop")
    assert "mean_w" not in slow["gpus"][0]
    domains = {domain["name"]: domain for domain in slow["domains"]}
    assert "see --loop" in domains["gpu-0"]["reason"] and domains["package-0"]["mean_uncertainty_w"] > 0
    still = query(root=("--root", ROOTS / "xeon-2s-dram")).out
    assert "dram-0 - W" in still and still.endswith(" (-: its sensor has not moved yet: see --watch)\n")


@pytest.mark.alone
def test_one_look_does_not_wait(query):
    """Twenty milliseconds, in which GPUs are read meanwhile, and not two tenths of a second."""
    def took():
        began = time.monotonic()
        query()
        return time.monotonic() - began
    assert min(took() for _ in range(5)) < 0.15


def test_colours_are_for_terminals(gpus, terminal, wattle):
    fake = gpus(text=TWO.format(first=""))
    words = (wattle, "query", *NOTHING, *fake.options)
    assert b"\x1b[" in terminal(*words, env=fake.env).finish().out_bytes
    assert b"\x1b[" not in terminal(*words, "--no-color", env=fake.env).finish().out_bytes
    assert b"\x1b[" not in terminal(*words, env={**fake.env, "NO_COLOR": "1"}).finish().out_bytes
    assert "\x1b[" not in run_wattle(*words[1:], env=fake.env).out


def test_watch_is_a_loop_in_a_pipe(query):
    words = ("--query-gpu=index,power.draw", "--format=csv", "-c", "3")
    assert query(*words, "--watch", "-l", "0.02").out == query(*words, "-lms", "20").out
    assert query("--watch", "--loop", "20ms", "-c", "2").out.count("[0] NVIDIA") == 2
    result = query("dmon", "--watch")
    assert result.code == 2 and result.complaint() == "wattle: query: dmon and pmon take -d, not --loop or --watch"


def test_watch_redraws_in_place(screen_of, gpus):
    """Nothing above goes, nothing is left below, lines do not wrap, and what does not fit is counted."""
    fake = gpus(text=TWO.format(first="process 4321 C 2566").replace("power 0 const 200", "power 0 const 200\n  power 3 const 210"))
    screen = screen_of("query", *NOTHING, *fake.options, "--watch", "--loop", "0.1", rows=8, columns=60, env=fake.env)
    screen.wait(r"200 / ")
    text = screen.wait(r"210 / ").string
    assert text.startswith("BEFORE\n[0] NVIDIA") and text.count("[0]") == text.count("[1]") == text.count("package-0") == 1
    assert max(map(len, text.splitlines())) <= 60
    screen = screen_of("query", *NOTHING, *fake.options, "-q", "--watch", "--loop", "0.1", "-c", "5", rows=8, columns=60, env=fake.env)
    screen.wait("ENDED 0")
    text = screen.text()
    assert re.search(r"\((\d{3}) more lines\)\nENDED 0", text) and text.count("NVSMI LOG") == 1, text


def test_hostile_names(query):
    text = TWO.format(first="").replace("gpu NVIDIA A100-PCIE-40GB", "gpu evil\x1b[2J\x07<&\">", 1)
    for words in ((), ("-L",), ("-x",), ("-q",), ("--query-gpu=name",), ("--format", "json")):
        result = query(*words, text=text)
        assert result.code == 0 and "\x1b" not in result.out and "\x07" not in result.out, result
    assert ET.fromstring(query("-x", text=text).out).find("gpu/product_name").text.startswith("evil")


def test_json(query):
    report = query("--format", "json").json
    assert report["schema"] == "wattle.query/1" and report["attached_gpus"] == 2
    first, second = report["gpus"]
    assert (first["power_w"], second["power_w"]) == (100, 200)
    assert first["temperature_c"] == 31 and first["status"] == "ok"
    assert first["unknown"]["fan_percent"] == "not supported"
    assert not set(first["unknown"]) & set(first)
    assert first["processes"] == []
    names = {d["name"] for d in report["domains"]}
    assert {"package-0", "gpu-0", "gpu-1"} <= names
    assert "mean_w" in first and first["mean_uncertainty_w"] > 0


def test_json_lines(query):
    lines = query("--format", "json", "-lms", "20", "-c", "3").out.splitlines()
    assert len(lines) == 3
    times = [parse_json(line)["t_utc"] for line in lines]
    assert times == sorted(times) and len(set(times)) == 3


@pytest.mark.parametrize("monitor", ["dmon", "pmon"])
def test_json_of_a_monitor(query, monitor):
    """Everything, as with all that takes --format json; how often is the monitor's."""
    result = query(monitor, "--format", "json", "-c", "2", "-d", "0.02")
    assert result.code == 0, result
    lines = [parse_json(line) for line in result.out.splitlines()]
    assert [line["schema"] for line in lines] == ["wattle.query/1"] * 2
    assert {"package-0", "gpu-0", "gpu-1"} <= {d["name"] for d in lines[1]["domains"]}


@pytest.mark.parametrize("words", [("--query-gpu=index,bogus",), ("--query-domain=name,bogus",)])
def test_json_takes_no_wrong_field(query, words):
    result = query(*words, "--format=json")
    assert (result.code, result.out) == (2, 'Field "bogus" is not a valid field to query.\n')


def test_ids_are_for_domains_too(query):
    """A GPU that was not asked for has no row; processors have theirs, and sums are the machine's."""
    def names(*words):
        return query("--query-domain=name", "--format=csv,noheader", *words).out.splitlines()
    every = names()
    assert {"package-0", "gpu-0", "gpu-1"} <= set(every)
    assert names("-i", "1") == names("--gpus", "1") == [name for name in every if name != "gpu-0"]
    assert names("--gpus", "") == [name for name in every if not name.startswith("gpu")]
    assert names("-i", "0,1") == every
    told = [d["name"] for d in query("--format", "json", "-i", "0").json["domains"]]
    assert told == [name for name in every if name != "gpu-1"]
    total = query("--query-gpu=total.power.draw", "--format=csv,noheader,nounits", "-i", "1").out
    assert float(total) > 299  # 100 W and 200 W


def test_json_of_a_lost_gpu(query):
    gpu = query("--format", "json", text=TWO.format(first="lost from 0 until -")).json["gpus"][0]
    assert gpu["status"] == "gone" and gpu["reason"]
    assert "power_w" not in gpu and "unknown" not in gpu


@pytest.mark.parametrize("script", sorted(p.stem for p in SCRIPTS.glob("*.nvml")))
def test_every_script_in_every_form(query, script):
    for words in ((), ("-x",), ("--format", "json"), ("--query-gpu=index,name,power.draw,energy.total", "--format=csv"),
                  ("dmon", "-c", "1")):
        result = query(*words, script=script)
        assert result.code in (0, 3), result
        if words == ("--format", "json"):
            assert result.json["schema"] == "wattle.query/1"
        if words == ("-x",):
            ET.fromstring(result.out)


def test_a_sleeping_gpu_is_not_woken(gpus):
    """The root of a laptop whose GPU is suspended: nothing but its row."""
    fake = gpus("asleep")
    result = run_wattle("query", "--root", ROOTS / "nvidia-laptop", *fake.options,
                        "--query-gpu=index,power.draw", "--format=csv,noheader", env=fake.env)
    assert result.code in (0, 3), result
    for line in result.out.splitlines():
        assert line.endswith("[N/A]") or line.endswith(" W") or line == "No devices were found"


@pytest.mark.parametrize("fault", ["lib:3", "lib:10:EIO:always", "open:5", "read:2:EIO:always", "write:1:ENOSPC"])
def test_faults(query, fault, tmp_path):
    path = tmp_path / "out"
    result = query("--query-gpu=index,power.draw,memory.used", "--format=csv", "-f", path, "--fault", fault)
    assert result.code in (0, 1, 3), result
    assert result.code == 0 or result.err or "No devices" in result.out
    if result.code == 0:
        assert path.read_text(encoding="utf-8").startswith("index, power.draw [W]")


def test_the_files_are_private_enough(query, tmp_path):
    path = tmp_path / "out.csv"
    query("--query-gpu=index", "-f", path)
    assert not stat.S_IMODE(path.stat().st_mode) & 0o022


def test_library_is_needed():
    """The fake must be there, or every test above would be about nothing."""
    assert fake_library()


# ---- Tapes, pipes, full disks ----

@pytest.mark.parametrize("words", [
    ("--query-gpu=timestamp,index,power.draw,memory.used,energy.total,clocks.sm", "--format=csv", "-lms", "20", "-c", "3"),
    ("--query-compute-apps=timestamp,pid,process_name,used_memory", "--format=csv"),
    ("--query-domain=name,power.draw,energy.window", "--format=csv"),
    ("-x",),
    ("-L",),
    ("dmon", "-c", "2", "-d", "0.02", "-o", "DT"),
])
def test_a_tape_tells_the_same(query, tmp_path, words):
    """A bug report with a tape shows what its sender saw, to the letter."""
    tape = tmp_path / "query.tape"
    live = query(*words, "--tape-record", tape, script="h100")
    assert live.code == 0, live
    again = run_wattle("query", "--tape", tape, *words, env={"TZ": "UTC0"})
    assert again.code == 0, again
    assert again.out == live.out


def test_a_reader_that_goes_away(gpus):
    fake = gpus(text=TWO.format(first=""))
    process = start_wattle("query", *NOTHING, *fake.options, "--query-gpu=index", "--format=csv", "-lms", "10",
                           env=fake.env)
    assert process.stdout.readline() == b"index\n"
    process.stdout.close()
    assert (process.wait(timeout=60), process.stderr.read()) == (1, b"")
    process.stderr.close()


def test_a_full_disk(query):
    result = query("--query-gpu=index", "-lms", "10", "-f", "/dev/full")
    assert result.code == 1 and "No space left" in result.err, result


def test_closed_output(query):
    for words in (("--query-gpu=index",), ("--help-query-gpu",), ("--query-gpu=bogus",)):
        with open("/dev/full", "wb") as full:
            result = query(*words, stdout=full)
        assert result.code in (1, 2) and "cannot write" in result.err, (words, result)


# ---- Options in nvidia-smi's spellings, as scripts have them ----

@pytest.mark.parametrize("line", [
    "--query-gpu=index,name --format=csv,noheader,nounits -lms 200 -c 1",
    "--query-gpu=index,name --format=csv,noheader,nounits --loop-ms=200 -c 1",
    "-i 0,1 --query-gpu=index,name --format=csv,noheader,nounits",
    "--id=0,1 --query-gpu=index,gpu_name --format=csv,noheader",
    "--format=csv,noheader --query-gpu=index,name",
    "--query-gpu index,name --format csv,noheader",
])
def test_spellings(query, line):
    result = query(*line.split())
    assert result.out == "0, NVIDIA A100-PCIE-40GB\n1, NVIDIA A100-PCIE-40GB\n", result


# ---- pmon and compute-apps: who is there ----

PROCESSES = """\
gpu NVIDIA A100-PCIE-40GB
  uuid GPU-aaaaaaaa-0000-0000-0000-000000000001
  bus 00000000:17:00.0
  power 0 const 100
  sensor usage gpu 20
process-name 30 /usr/lib/xorg/Xorg
  process 30 G 100
process-name 20 /opt/app/a-program-with-a-long-name
  process 20 C 200 40 20 0 0
process-name 10 python3
  process 10 C 300 0 0 5 7
"""


def test_processes(query):
    apps = query("--query-compute-apps=pid,name,used_memory", "--format=csv", text=PROCESSES).out.splitlines()
    assert apps[0] == "pid, process_name, used_gpu_memory [MiB]"
    assert sorted(apps[1:]) == ["10, python3, 300 MiB", "20, /opt/app/a-program-with-a-long-name, 200 MiB"]
    rows = query("pmon", "-c", "1", "-d", "1.2", "-s", "um", text=PROCESSES).out.splitlines()[2:]
    assert [row.split() for row in rows] == [
        ["0", "10", "C", "0", "0", "5", "7", "-", "-", "300", "-", "python3"],
        ["0", "20", "C", "40", "20", "-", "-", "-", "-", "200", "-", "a-program-with-"],
        ["0", "30", "G", "-", "-", "-", "-", "-", "-", "100", "-", "Xorg"],
    ]


def test_processes_in_json(query):
    gpu = query("--format", "json", "-lms", "1100", "-c", "2", text=PROCESSES).out.splitlines()[1]
    found = {p["pid"]: p for p in parse_json(gpu)["gpus"][0]["processes"]}
    assert found[20]["types"] == ["compute"] and found[30]["types"] == ["graphics"]
    assert found[20]["memory_bytes"] == 200 << 20
    assert (found[20]["sm_percent"], found[10]["encoder_percent"]) == (40, 5)


def test_own_process_has_its_user(gpus):
    """A process of this machine: found in /proc, with its owner's name or number."""
    fake = gpus(text=PROCESSES.replace("process 10 C", f"process {os.getpid()} C"))
    report = run_wattle("query", *fake.options, "--format", "json", env=fake.env).json
    mine = [p for p in report["gpus"][0]["processes"] if p["pid"] == os.getpid()]
    if mine and mine[0]["visible"]:  # not in a container with a PID namespace of its own
        import pwd
        assert mine[0]["user"] == pwd.getpwuid(os.getuid()).pw_name


# ---- Out of memory ----

@pytest.mark.parametrize("words", [("-x",), ("pmon", "-c", "1", "-d", "0.01"), ("--format", "json"), (),
                                   ("--query-gpu=index,name,cpu.power.draw", "-lms", "1", "-c", "1")])
def test_each_allocation_that_writing_takes(gpus, words, tmp_path):
    """From the sample on: the output is whole, or there is none and a word on standard error."""
    build = os.environ.get("WATTLE_BUILD_ROOT")
    shim = Path(build or ".") / "tests/alloc/libfailmalloc.so"
    if not shim.exists():
        pytest.skip("WATTLE_BUILD_ROOT does not name a build with the shim")
    fake = gpus("capture-h100-load")
    log = tmp_path / "log"

    def run(**env):
        return run_wattle("query", *NOTHING, *fake.options, *words,
                          env={**fake.env, "LD_PRELOAD": shim, "WATTLE_TEST_ALLOC_LOG": log, **env})
    whole = run()
    total = int(log.read_text(encoding="ascii").split()[0])
    if whole.code or total < 20:
        pytest.skip("the shim does not go with this build")
    for n in range(total - 15, total + 1):
        result = run(WATTLE_TEST_FAIL_ALLOC=n)
        assert result.code >= 0, (n, result)
        if result.code == 0 and len(result.out.splitlines()) != len(whole.out.splitlines()):
            assert result.err, (n, result)
