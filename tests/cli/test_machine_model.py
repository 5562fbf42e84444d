# SPDX-License-Identifier: MIT
"""The model of a whole machine at the wall: made from the measured servers, judged by servers that it has not seen."""

import math
import sys

import pytest
from conftest import REPO, run_wattle

sys.path.insert(0, str(REPO / "tools"))
import mkmachine  # noqa: E402

CASES = {case[0]: case for case in mkmachine.CASES}
FILE = REPO / "src" / "sensors" / "machine_fit.c"


@pytest.fixture(scope="module")
def servers():
    return mkmachine.read_servers(REPO / "data" / "servers.csv")


def test_the_table_is_what_the_measured_servers_give(servers):
    assert "\n".join(mkmachine.make(servers)) + "\n" == FILE.read_text(), "run tools/mkmachine.py"


@pytest.mark.parametrize("name", CASES)
def test_intervals_cover_servers_that_the_fit_never_saw(servers, name):
    """Neither the coefficients nor the interval have seen a server with the judged one's processor. In all six
    cases, of 95 % intervals at a load alone not less than 94 % may be right, by chance; of all loads, 95 %."""
    covered = mkmachine.coverage(servers, CASES[name])
    assert sum(covered) / len(covered) >= 0.95 and min(covered) >= 0.94


def test_the_fit_is_as_good_as_was_asked(servers):
    """95 % of unseen servers with a known processor within a factor of 1.82 at no load and 1.35 at full load."""
    pairs = mkmachine.unseen(servers, CASES["KNOWN"])
    factors = [mkmachine.quantile([math.exp(abs(math.log(w[load] / p[load]))) for p, w in pairs], 0.95) for load in (0, 10)]
    assert factors[0] < 1.82 and factors[1] < 1.35


def test_newer_processors_are_judged_where_the_year_is_not_known(servers):
    """Servers after 2018 by a fit to those before."""
    case = CASES["TDP"]
    newer = [s for s in servers if s.processor_year > mkmachine.CUT_YEAR and s.tdp_w]
    fit = mkmachine.Fit([s for s in servers if s.year <= mkmachine.CUT_YEAR], case)
    gain, zero = mkmachine.interval(mkmachine.unseen(servers, case))
    hits = [mkmachine.covers((fit.predict(s), s.power_w), gain, zero, load) for s in newer for load in range(11)]
    assert len(newer) > 100 and sum(hits) / len(hits) >= 0.95


def write(root, path, text):
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def make_root(tmp_path, server, model, is_guest):
    """A machine whose idle time stands still: it is busy."""
    cpus = 8 if is_guest else server.threads
    flags = "flags : hypervisor\n" if is_guest else ""
    write(tmp_path, "/proc/cpuinfo", f"processor : 0\nvendor_id : GenuineIntel\nmodel name : {model}\n{flags}")
    write(tmp_path, "/proc/meminfo", f"MemTotal: {int(server.gib * 1024 * 1024)} kB\n")
    write(tmp_path, "/proc/stat", "cpu  0 0 0 5000 0 0 0 0 0 0\n")
    write(tmp_path, "/sys/devices/system/cpu/online", f"0-{cpus - 1}\n")
    per_socket = max(cpus // server.sockets, 1)
    for cpu in range(cpus):
        first = cpu // per_socket * per_socket
        write(tmp_path, f"/sys/devices/system/cpu/cpu{cpu}/topology/package_cpus_list", f"{first}-{first + per_socket - 1}\n")
    return tmp_path


@pytest.mark.parametrize("key, model, is_guest, name", [
    ("xeon platinum 8180", "Intel(R) Xeon(R) Platinum 8180 CPU @ 2.50GHz", False, "KNOWN"),
    ("xeon gold 6140", "Intel(R) Xeon(R) Gold 6140 CPU @ 2.30GHz", True, "GUEST_KNOWN"),
    ("xeon gold 6140", "Intel(R) Xeon(R) Platinum 8481C CPU", False, "SIZE"),
    ("xeon gold 6140", "Intel(R) Xeon(R) Platinum 8481C CPU", True, "GUEST"),
])
def test_wattle_computes_the_same(tmp_path, servers, key, model, is_guest, name):
    server = next(s for s in servers if s.key == key)
    root = make_root(tmp_path, server, model, is_guest)
    report = run_wattle("run", "--root", root, "--nvml", "", "-f", "json", "-o", "-", "--", "sleep", "0.2").json
    machine = next(d for d in report["domains"] if d["name"] == "machine")
    watts = mkmachine.Fit(servers, CASES[name]).predict(server)[-1] * (8 if is_guest else 1)
    assert float(machine["mean_w"]) == pytest.approx(watts, rel=0.01)
    assert (machine["kind"], machine["in_total"], machine["method"]) == ("platform", False, "modelled")
    total = sum(float(d["energy_j"]) for d in report["domains"] if d["in_total"] and "energy_j" in d)
    assert float(report["total"]["energy_j"]) == pytest.approx(total)


def test_the_tool_says_what_it_wants():
    with pytest.raises(SystemExit, match="usage: mkmachine.py"):
        mkmachine.main(["mkmachine.py"])
