# SPDX-License-Identifier: MIT
"""Machines whose counters move under wattle run: what it finds is what moved, or a marked gap."""

import os
from decimal import Decimal

import pytest

from conftest import (UNIT_PERF, check_sums, domain, finish, mover, run_wattle, start_wattle,
                      wait_for)

JOULE = 1_000_000


def joules(report, name):
    return domain(report, name)["energy_j"]


def test_every_zone_has_its_own_energy(machine):
    server = machine("nvidia-server")
    moved = {"package-0": ("intel-rapl:0", 12_345_678), "package-1": ("intel-rapl:1", 1),
             "dram-0": ("intel-rapl:0:0", 999_999), "dram-1": ("intel-rapl:1:0", 2_000_003)}
    steps = [x for zone, uj in moved.values() for x in ("add", server.zone(zone), uj)]
    report = server.measure(*steps)
    for name, (_, uj) in moved.items():
        assert joules(report, name) == Decimal(uj).scaleb(-6)
        assert domain(report, name)["method"] == "counter"
        assert domain(report, name)["source"] == "rapl-powercap"
    assert report["total"]["energy_j"] == Decimal("15.345681")
    assert domain(report, "package-0")["uncertainty_j"] > 0


def test_perf_counters_in_their_unit(machine):
    xeon = machine("xeon-2s-dram")
    counts = 7 * UNIT_PERF + 12_345
    report = xeon.measure("add", xeon.perf("18-2-0"), counts, "add", xeon.perf("18-3-32"), UNIT_PERF)
    assert domain(report, "package-0")["source"] == "rapl-perf"
    assert joules(report, "package-0") == Decimal(counts * JOULE // UNIT_PERF).scaleb(-6)
    assert joules(report, "dram-1") == 1
    assert joules(report, "dram-0") == 0


def test_psys_and_parts_are_shown_but_not_added(machine):
    client = machine("client-psys")
    report = client.measure(
        "add", client.perf("21-2-0"), 10 * UNIT_PERF,  # package
        "add", client.perf("21-1-0"), 4 * UNIT_PERF,   # cores
        "add", client.perf("21-4-0"), 1 * UNIT_PERF,   # uncore
        "add", client.perf("21-3-0"), 2 * UNIT_PERF,   # dram
        "add", client.perf("21-5-0"), 20 * UNIT_PERF)  # psys
    assert {d["name"]: (d["energy_j"], d["inside"], d["in_total"]) for d in report["domains"]} == {
        "package-0": (10, None, True), "core-0": (4, "package-0", False),
        "uncore-0": (1, "package-0", False), "dram-0": (2, None, True), "psys-0": (20, None, False)}
    assert report["total"]["energy_j"] == 12


def test_a_duplicate_zone_is_not_added(machine):
    client = machine("client-psys").without_perf()
    report = client.measure("add", client.zone("intel-rapl:0"), 5 * JOULE,
                            "add", client.zone("intel-rapl-mmio:0"), 5 * JOULE)
    assert joules(report, "package-0") == 5
    assert report["total"]["energy_j"] == 5
    assert len([d for d in report["domains"] if d["kind"] == "cpu"]) == 1


def test_two_sources_of_one_domain_are_one_figure(machine):
    xeon = machine("xeon-2s-dram")
    report = xeon.measure("add", xeon.perf("18-2-0"), 3 * UNIT_PERF,
                          "add", xeon.zone("intel-rapl:0"), 3 * JOULE)
    assert joules(report, "package-0") == 3
    assert domain(report, "package-0")["check"] == "rapl-powercap"
    assert "disagrees" not in domain(report, "package-0")["flags"]
    assert report["total"]["energy_j"] == 3


def test_a_counter_that_wraps_loses_nothing(machine):
    epyc = machine("amd-epyc").without_perf()
    zone, span = epyc.zone("intel-rapl:0"), 65532611002  # its range and one count of 15 µJ
    report = epyc.measure("wrap", zone, 400_000, span, "sleep", "0.1", "wrap", zone, 2_000_001, span,
                          "sleep", "0.1", "wrap", zone, 7, span, options=("-i", "20"))
    assert joules(report, "package-0") == Decimal("2.400008")
    assert domain(report, "package-0")["status"] == "ok"
    assert domain(report, "package-0")["flags"].count("reset") == 0


def test_a_counter_that_jumps_back_is_a_marked_gap(machine):
    server = machine("nvidia-server")
    zone = server.zone("intel-rapl:0")
    report = server.measure("add", zone, 3 * JOULE, "sleep", "0.3", "write", zone, "000001000000",
                            "sleep", "0.3", "add", zone, 2 * JOULE, "sleep", "0.3",
                            options=("-i", "20"))
    line = domain(report, "package-0")
    assert line["status"] == "gap"
    assert "reset" in line["flags"]
    assert line["gap_s"] > 0
    # Only whole certain steps; with a sample between any two of them all 5 J.
    assert line["energy_j"] in (0, 2, 3, 5)
    assert report["total"]["status"] == "gap"
    assert domain(report, "dram-1")["status"] == "ok"


@pytest.mark.parametrize("rest,energy", [("0.2", (0, 3)), ("1.3", (10,))])
def test_a_read_that_fails_for_a_while_is_whole_again_or_a_marked_gap(machine, rest, energy):
    """It is tried again after a second: a counter that comes back by then has lost nothing."""
    server = machine("nvidia-server")
    zone = server.zone("intel-rapl:0")
    report = server.measure("add", zone, 3 * JOULE, "sleep", "0.2", "write", zone, "!errno EIO",
                            "sleep", "0.2", "write", zone, "204609532281",  # 10 J above the start
                            "sleep", rest, options=("-i", "20"))
    line = domain(report, "package-0")
    assert line["energy_j"] in energy or line["energy_j"] == 10
    assert (line["status"] == "ok") == (line["gap_s"] == 0) == (line["energy_j"] == 10)


@pytest.mark.parametrize("content", ["!errno ENODEV", "!errno EIO", "rubbish", "-1", "9" * 12])
def test_a_zone_that_vanishes_keeps_what_it_had(machine, content):
    server = machine("nvidia-server")
    zone = server.zone("intel-rapl:0")
    report = server.measure("add", zone, 3 * JOULE, "sleep", "0.3", "write", zone, content,
                            "sleep", "0.2", "add", server.zone("intel-rapl:1"), 4 * JOULE,
                            options=("-i", "20"))
    line = domain(report, "package-0")
    assert line["status"] != "ok"
    assert line.get("energy_j", 0) in (0, 3)
    assert line["gap_s"] > 0
    assert joules(report, "package-1") == 4
    assert report["total"]["status"] == "gap"
    assert report["total"]["energy_j"] == line.get("energy_j", 0) + 4


def test_the_text_says_that_something_is_missing(machine):
    server = machine("nvidia-server")
    zone = server.zone("intel-rapl:0")
    result = run_wattle("run", "--root", server.path, "-i", "20", "--",
                        *mover("sleep", "0.1", "write", zone, "!errno ENODEV", "sleep", "0.2"))
    assert result.code == 0
    assert "package-0" in result.out
    assert "gap" in result.out or "not measured" in result.out or "gone" in result.out


def test_all_zones_gone_is_still_a_report(machine):
    server = machine("nvidia-server")
    zones = [server.zone(z) for z in ("intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1",
                                      "intel-rapl:1:0")]
    report = server.measure(*[x for z in zones for x in ("write", z, "!errno ENODEV")], "sleep", "0.1")
    assert all(d["status"] != "ok" for d in report["domains"] if d.get("source") == "rapl-powercap")


def test_counters_that_stand_still_are_zero_joules_only_where_that_may_be(machine):
    """Memory may have no sensor, and cores rest; a processor always draws."""
    report = machine("laptop-battery").measure("sleep", "0.3")
    package = domain(report, "package-0")
    assert package["status"] == "failed" and "energy_j" not in package
    assert package["reason"] == "the counter stands still"
    assert joules(report, "core-0") == joules(report, "uncore-0") == 0
    assert "incomplete" in report["total"]["flags"]
    assert joules(machine("nvidia-server").measure("sleep", "0.3"), "dram-0") == 0


def test_power_is_energy_over_time(machine):
    server = machine("nvidia-server")
    zone = server.zone("intel-rapl:0")
    report = server.measure("add", zone, 2 * JOULE, "sleep", "0.4", "add", zone, 6 * JOULE, "sleep",
                            "0.4", options=("-i", "20"))
    line = domain(report, "package-0")
    assert line["energy_j"] == 8
    assert abs(line["mean_w"] - line["energy_j"] / line["measured_s"]) < Decimal("0.00001")
    assert line["max_w"] >= line["mean_w"]


def test_ticks_see_what_moves_between_begin_and_end(machine):
    """What moved while wattle ran, and was taken back before its end, is a reset: never a sum."""
    server = machine("nvidia-server")
    zone = server.zone("intel-rapl:0")
    report = server.measure("add", zone, 50 * JOULE, "sleep", "0.3", "add", zone, -50 * JOULE,
                            options=("-i", "20"))
    line = domain(report, "package-0")
    assert line["energy_j"] in (0, 50)
    assert line["status"] == "gap" or line["energy_j"] == 0


def test_faults_in_every_place_end_in_a_report_or_one_line(machine):
    server = machine("client-psys")
    for op in ("open", "read", "link", "dir", "perf"):
        for n in (1, 2, 3, 5, 8, 13, 21):
            for how in ("", ":EACCES:always"):
                result = run_wattle("run", "--root", server.path, "--fault", f"{op}:{n}{how}", "-f",
                                    "json", "--", "true")
                if result.code == 0:
                    check_sums(result.json)
                else:
                    assert result.code == 125 and result.complaint()


def test_a_fault_while_writing_the_report_is_told(machine, tmp_path):
    server = machine("client-psys")
    result = run_wattle("run", "--root", server.path, "--fault", "write:1:ENOSPC", "-o",
                        tmp_path / "report", "--", "true")
    assert result.code == 125
    assert "No space left on device; here it is instead" in result.err
    assert os.listdir(tmp_path / ".") == ["root"]


def test_a_long_run_that_is_looked_at_from_outside(machine, tmp_path):
    """The counters move by another hand than the command's."""
    server = machine("nvidia-server")
    zone, done = server.zone("intel-rapl:0"), tmp_path / "done"
    began = tmp_path / "began"
    process = start_wattle("run", "--root", server.path, "-f", "json", "-i", "5", "--", "sh", "-c",
                           f"touch {began}; while [ ! -e {done} ]; do sleep 0.02; done")
    wait_for(began.exists, "the command's start")
    value, moved = int(zone.read_text()), 0
    with open(zone, "r+b", buffering=0) as file:
        for step in range(1, 200):
            moved += step * 1001
            os.pwrite(file.fileno(), b"%d\n" % (value + moved), 0)
    done.touch()
    result = finish(process)
    assert result.code == 0
    check_sums(result.json)
    assert joules(result.json, "package-0") == Decimal(moved).scaleb(-6)
