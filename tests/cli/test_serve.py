# SPDX-License-Identifier: MIT
"""wattle serve: starting, listening, remembering."""

import contextlib
import json
import os
import signal
import socket
import sqlite3
import time

import pytest

from conftest import ROOTS, run_wattle, wait_for
from serving import Agent, Moving

pytestmark = pytest.mark.waits

XEON = ("--root", ROOTS / "xeon-2s-dram")


@pytest.fixture(autouse=True)
def is_built():
    if "built without a server" in run_wattle("serve", "--help").err:
        pytest.skip("this wattle was built without a server")


def test_a_port_in_use(tmp_path):
    """It says so, and leaves nothing in its store."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run_wattle("serve", *XEON, "--port", str(port), "--store", tmp_path / "store")
    assert result.code == 1
    assert result.complaint() == f"wattle: serve: port {port} of 127.0.0.1 is in use by another program: choose another with --port"
    assert not list((tmp_path / "store").iterdir())


@pytest.mark.parametrize("address,code,says", [
    ("192.0.2.1", 1, "cannot listen at port 1 of 192.0.2.1: "),
    ("localhost", 2, "'localhost' is no IP address such as 127.0.0.1 or ::1"),
    ("", 2, "'' is no IP address"),
])
def test_addresses_that_are_not_here(address, code, says):
    result = run_wattle("serve", *XEON, "--port", "1", "--address", address, "--insecure-listen")
    assert result.code == code
    assert says in result.complaint()
    assert says in run_wattle("serve", *XEON, "--port", "1", "--address", address, "--insecure-listen", "--no-store").complaint()


def test_a_host_has_no_port():
    result = run_wattle("serve", *XEON, "--host", "meter.example:9177")
    assert result.code == 2
    assert "--host takes a name without a port, not 'meter.example:9177'" in result.complaint()


def test_other_machines_only_if_it_is_meant():
    result = run_wattle("serve", *XEON, "--address", "0.0.0.0")
    assert result.code == 2
    assert "--insecure-listen" in result.complaint()


@pytest.mark.parametrize("files, name", [
    ({}, None),
    ({"etc/hostname": "node-7\n", "proc/sys/kernel/hostname": "other\n"}, "node-7"),
    ({"proc/sys/kernel/hostname": "node-8\n"}, "node-8"),
    ({"proc/sys/kernel/hostname": "the-pod\n", "proc/self/comm": "wattle\n"}, None),  # mounted: the kernel tells the reader's own name
])
def test_the_name_of_another_machine(machine, tmp_path, files, name):
    root = machine("xeon-2s-dram").path
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    with Agent("--root", root, "--store", tmp_path / "store") as agent:
        agent.scrape()
        assert json.loads(agent.ask("/api/v1/live")[2]).get("host") == name
    [made] = (tmp_path / "store").glob("*.wattle")
    assert json.loads(run_wattle("report", "-f", "json", made).out)["recording"].get("host") == name


def test_it_ends_with_a_whole_recording(tmp_path):
    with Agent(*XEON, "--store", tmp_path) as agent:
        assert "wattle" in agent.scrape()
    assert agent.code == 0
    [made] = [name for name in os.listdir(tmp_path) if name.endswith(".wattle")]
    assert run_wattle("report", "--check", tmp_path / made).code == 0


def test_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("there is no IPv6 here")
    with Agent(*XEON, "--address", "::1") as agent, agent.connect("::1") as there:
        assert "http://[::1]:" in agent.said
        there.sendall(b"GET /nowhere HTTP/1.0\r\n\r\n")
        assert b" 404 " in there.recv(4096)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it(by):
    with Agent(*XEON) as agent:
        assert agent.end(by) == 0


def counters(path):
    """The counters that a recording keeps: energies of domains and groups, and how many facts they take."""
    with contextlib.closing(sqlite3.connect(path)) as file:
        facts = dict(file.execute("SELECT key, value FROM fact WHERE key GLOB 'served-totals*'"))
    text = facts.pop("served-totals") + "".join(facts[f"served-totals-{i}"] for i in range(1, len(facts) + 1))
    domains, groups = {}, {}
    for entry in text.split(";")[1:-1]:
        what, *fields = entry.split(" ")
        if what == "domain":
            domains[fields[0]] = sum(map(int, fields[1:]))
        elif what == "group":
            groups[(fields[0], fields[4], fields[1])] = int(fields[2])
    return domains, groups, 1 + len(facts)


def test_counters_go_on_after_a_restart(machine, tmp_path):
    """Also where there are more of them than a fact of a recording holds."""
    root = machine("xeon-2s-dram")
    known = []
    with Moving(root, processes=80, name="a-longer-name-{}"):
        for n in range(1, 4):
            with Agent("--root", root.path, "--store", tmp_path / "store") as agent:
                agent.scrape()
                wait_for(lambda: agent.scrape() and len(list((tmp_path / "store").iterdir())) >= n, "a recording")
                time.sleep(1.5)
            assert "damaged" not in agent.said and "begin at 0" not in agent.said
            known.append(counters(sorted((tmp_path / "store").glob("*.wattle"))[-1]))
    for before, after in zip(known, known[1:]):
        for old, new in zip(before[:2], after[:2]):
            assert old and all(new[name] >= uj for name, uj in old.items())
            assert sum(new.values()) > sum(old.values())
    assert all(pieces > 1 for _, _, pieces in known)
