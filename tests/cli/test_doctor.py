# SPDX-License-Identifier: MIT
"""wattle doctor: each domain of each machine is a value, or a reason with its remedy."""

import os
import re
import shutil
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest

from conftest import REPO, ROOTS, command_path, fake_library, finish, parse_csv, run_wattle, start_wattle

NAMES = sorted(p.name for p in ROOTS.iterdir() if p.is_dir())
# Machines of which something is measured by a sensor that needs no NVML.
# Not those whose only counters are packages' and memory's: in a root they stand still.
MEASURED = {"amd-apu", "amd-gpu", "arm-server", "client-psys", "grace", "intel-gpu", "jetson",
            "laptop-battery", "nvidia-laptop", "rubbish"}
FIELDS = {"schema", "version", "t_utc", "summary", "machine", "domains", "sources"}
RESULTS = {}


def doctor(name):
    """The three formats of one machine. It looks for a second: all of them at once."""
    if not RESULTS:
        running = {(one, form): start_wattle("doctor", "--root", ROOTS / one, "-f", form)
                   for one in NAMES for form in ("text", "json", "csv")}
        for (one, form), process in running.items():
            RESULTS.setdefault(one, {})[form] = finish(process)
    return RESULTS[name]


def everything_said(report):
    """(status, reason, remedy) of all that is not simply measured."""
    for one in (*report["domains"], *report["sources"]):
        if one.get("reason"):
            yield one.get("name") or one["source"], one["status"], one["reason"], one.get("remedy")


@pytest.mark.parametrize("name", NAMES)
def test_a_value_or_a_reason(name):
    result = doctor(name)["json"]
    report = result.json
    assert result.err == ""
    assert FIELDS <= set(report)
    assert report["schema"] == "wattle.doctor/1"
    for line in report["domains"]:
        assert "energy_j" in line or line["reason"], line
        if "energy_j" not in line:
            assert line["status"] != "ok"
            assert not {"mean_w", "uncertainty_j", "measured_s"} & set(line)
        if line.get("method") == "modelled":
            assert line["uncertainty_j"] > 0
    for line in (*report["domains"], *report["sources"]):
        if line["status"] == "denied":
            assert line["remedy"], line
        assert not re.search(r"Success|error 0|\(null\)", line.get("reason") or ""), line


@pytest.mark.parametrize("name", NAMES)
def test_exit_status_tells_whether_something_is_measured(name):
    for result in doctor(name).values():
        assert result.code == (0 if name in MEASURED else 3), result
    report = doctor(name)["json"].json
    measured = [d for d in report["domains"] if "energy_j" in d and d["method"] != "modelled"]
    assert bool(measured) == (name in MEASURED)
    assert report["summary"].startswith(f"{len(measured)} of {len(report['domains'])} domain")


@pytest.mark.parametrize("name", NAMES)
def test_text_and_csv_tell_the_same(name):
    report = doctor(name)["json"].json
    text = re.sub(r"\s+", " ", doctor(name)["text"].out)
    rows = {row["domain"]: row for row in parse_csv(doctor(name)["csv"].out)}
    for line in report["domains"]:
        assert line["name"] in text
        assert rows[line["name"]]["status"] == line["status"]
        for key in ("reason", "remedy"):
            if line.get(key):
                assert line[key] in text, (key, line)
                assert rows[line["name"]][key] == line[key]
    for source in report["sources"]:
        assert source["source"] in text and source["reason"] in text
        assert source.get("remedy", "") in text


@pytest.mark.parametrize("name", NAMES)
def test_nothing_raw_reaches_the_terminal(name):
    for form, result in doctor(name).items():
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]", result.out), (name, form)
        result.out.encode()


def says(name, status, *parts):
    """Some line has this status and all of the parts in its remedy or reason."""
    said = list(everything_said(doctor(name)["json"].json))
    for _, its_status, reason, remedy in said:
        if its_status == status and all(p in f"{reason} | {remedy}" for p in parts):
            return
    raise AssertionError(f"no {status} line of {name} says {parts}: {said}")


def test_remedies_are_exact():
    says("vm-nothing", "absent", "virtual machine", "host")
    says("container-masked", "denied", "masked", "--security-opt systempaths=unconfined")
    says("container-masked", "denied", "--cap-add PERFMON")
    says("eacces", "denied", "perf_event_paranoid is 4",
         "w=$(readlink -f $(command -v wattle)) && sudo chgrp $(id -gn) $w && sudo chmod 750 $w && "
         "sudo setcap cap_perfmon,cap_net_admin+ep $w")
    says("laptop-battery", "absent", "modprobe")
    says("nvidia-laptop", "asleep", "suspended")


def test_perf_that_a_seccomp_profile_denies(machine):
    """What needs a right is EACCES: no capability helps against EPERM."""
    server = machine("eacces")
    for event in (server.path / "wattle-perf").iterdir():
        event.write_text("!errno EPERM\n")
    said = run_wattle("doctor", "--root", server.path, "--nvml", "", "-f", "json").json
    remedies = [entry["remedy"] for entry in said["domains"] if "perf_event_open: Operation not permitted" in entry.get("reason", "")]
    assert remedies and all("seccomp" in remedy and "setcap" not in remedy for remedy in remedies), said


def test_a_remedy_can_be_pasted_line_by_line():
    """The last command of a line ends as a shell knows."""
    lines = [line.strip() for line in doctor("eacces")["text"].out.splitlines()]
    assert "sudo chmod 750 $w && sudo setcap cap_perfmon,cap_net_admin+ep $w; or" in lines, lines


def test_remedies_name_the_file_behind_a_link(tmp_path):
    """setcap takes no symbolic link."""
    link = tmp_path / "wattle"
    link.symlink_to(Path(command_path()).resolve())
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv, to have no rights")
    done = subprocess.run(["setpriv", "--bounding-set=-all", "--inh-caps=-all", link, "doctor", "-f", "json"], capture_output=True, text=True, check=False)
    assert str(link) not in done.stdout and "$(command -v" not in done.stdout
    if "setcap" in done.stdout:
        assert f"w={Path(command_path()).resolve()} && " in done.stdout
    else:
        pytest.skip("nothing is missing here that a capability gives")


def test_counter_files_that_are_for_root_only(machine):
    server = machine("nvidia-server")
    for zone in ("intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1", "intel-rapl:1:0"):
        server.zone(zone).write_text("!errno EACCES\n")
    result = run_wattle("doctor", "--root", server.path, "-f", "json")
    denied = [d for d in result.json["domains"] if d.get("reason") and "energy_uj" in d["reason"]]
    assert len(denied) == 4, result
    for line in denied:
        assert line.get("method") == "modelled" or line["status"] == "denied"
        assert "sudo ch" in line["remedy"] and "energy_uj" in line["remedy"]


def test_a_vm_says_so_and_models():
    report = doctor("vm-nothing")["json"].json
    assert report["machine"]["is_vm"] is True
    assert {d["method"] for d in report["domains"] if "method" in d} == {"modelled"}
    assert all(d["uncertainty_j"] >= d["energy_j"] * Decimal("0.3") for d in report["domains"])


def test_a_container_says_so():
    assert doctor("container-masked")["json"].json["machine"]["is_container"] is True


def test_counters_that_never_move_are_not_called_measured():
    report = doctor("zero-counters")["json"].json
    for line in report["domains"]:
        assert line.get("method") not in ("counter",), line


def test_a_gpu_that_sleeps_is_not_woken(tmp_path):
    """A library that is loaded would be NVML started."""
    tape = tmp_path / "tape"
    result = run_wattle("doctor", "--root", ROOTS / "nvidia-laptop", "--nvml", fake_library(),
                        "--tape-record", tape)
    assert result.code == 0
    assert not [x for x in tape.read_text().splitlines() if " H " in x or " S " in x]


def test_writing_to_a_file(tmp_path):
    path = tmp_path / "state.json"
    result = run_wattle("doctor", "--root", ROOTS / "vm-nothing", "-f", "json", "-o", path)
    assert (result.code, result.out) == (3, "")
    assert '"wattle.doctor/1"' in path.read_text()
    with open("/dev/full", "wb") as full:
        result = run_wattle("doctor", "--root", ROOTS / "vm-nothing", stdout=full)
    assert result.code == 1
    assert "No space left on device" in result.complaint()
    assert run_wattle("doctor", "-o", tmp_path / "no" / "such").code == 1


def test_schema_is_documented():
    """Every key of the formats stands in their document."""
    documents = list((REPO / "docs").glob("format*json*.md"))
    if not documents:
        pytest.skip("docs/format-json.md is not written yet")
    words = set(re.findall(r"[a-z0-9_]+", documents[0].read_text()))
    keys = set()

    def collect(value):
        if isinstance(value, dict):
            keys.update(value)
            for one in value.values():
                collect(one)
        elif isinstance(value, list):
            for one in value:
                collect(one)

    for name in NAMES:
        collect(doctor(name)["json"].json)
    root = ROOTS / "client-psys"
    collect(run_wattle("run", "--root", root, "-r", "2", "--pue", "1.2", "-f", "json", "--", "sh", "-c",
                       "kill -9 $$").json)
    collect(run_wattle("run", "--root", root, "--until", "1", "-f", "json", "--", "true").json)
    assert not keys - words, sorted(keys - words)
