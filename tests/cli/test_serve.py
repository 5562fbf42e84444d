# SPDX-License-Identifier: MIT
"""wattle serve: starting, listening, remembering."""

import os
import signal
import socket

import pytest

from conftest import ROOTS, run_wattle
from serving import Agent

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


@pytest.mark.parametrize("address,says", [
    ("192.0.2.1", "cannot listen at port 1 of 192.0.2.1: "),
    ("localhost", "'localhost' is no IP address such as 127.0.0.1 or ::1"),
    ("", "'' is no IP address"),
])
def test_addresses_that_are_not_here(address, says):
    result = run_wattle("serve", *XEON, "--port", "1", "--address", address, "--insecure-listen")
    assert result.code == 1
    assert says in result.complaint()


def test_other_machines_only_if_it_is_meant():
    result = run_wattle("serve", *XEON, "--address", "0.0.0.0")
    assert result.code == 2
    assert "--insecure-listen" in result.complaint()


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
