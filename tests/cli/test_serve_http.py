# SPDX-License-Identifier: MIT
"""wattle serve under clients that are rude: silent, slow, many, wrong. Others are answered meanwhile, and measuring goes on."""

import concurrent.futures
import errno
import gzip
import http.client
import os
import resource
import select
import signal
import socket
import time

import pytest

from conftest import ROOTS, TIMEOUT, command_path, run_wattle, wait_for
from serving import Agent, Moving

XEON = ("--root", ROOTS / "xeon-2s-dram")


@pytest.fixture(autouse=True)
def is_built():
    if "built without a server" in run_wattle("serve", "--help").err:
        pytest.skip("this wattle was built without a server")


@pytest.fixture(name="agent", scope="module")
def running_agent():
    with Agent(*XEON) as agent:
        agent.scrape()
        yield agent
    assert agent.code == 0


def say(agent, text, wants=True):
    """All that comes back to it, up to the end of the connection."""
    with agent.connect() as there:
        try:
            there.sendall(text)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return there.recv(65536) if wants else b""


def test_answers_of_each_kind(agent):
    assert agent.ask("/healthz")[0::2] == (200, b"ok\n")
    assert agent.ask("/nowhere")[0] == 404
    assert agent.ask("/../etc/passwd")[0] == 404
    assert agent.ask("/metrics/")[0] == 404
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "NONSENSE"):
        code, headers, _ = agent.ask("/metrics", method)
        assert (code, headers["Allow"]) == (405, "GET, HEAD"), method
    code, headers, body = agent.ask("/metrics", "HEAD")
    assert (code, body) == (200, b"")
    assert int(headers["Content-Length"]) > 1000
    for header in ("Content-Security-Policy", "X-Content-Type-Options"):
        assert headers[header]


@pytest.mark.parametrize("name,code", [
    ("127.0.0.1", 404), ("127.0.0.1:9177", 404), ("[::1]:9177", 404), ("localhost", 404), ("LOCALHOST:1", 404), ("192.0.2.7", 404),
    ("evil.example", 421), ("localhost.evil.example", 421), ("127.0.0.1.evil.example", 421), ("::1", 421), ("[::1", 421), ("", 421),
    ("localhost:80@evil.example", 421), ("evil.example:127.0.0.1", 421), ("known.example", 421),
])
def test_names_of_the_server(agent, name, code):
    assert agent.ask("/nowhere", headers={"Host": name})[0] == code


def test_a_name_that_was_given():
    with Agent(*XEON, "--host", "known.example", "--host", "Other") as agent:
        for name, code in (("known.example", 404), ("KNOWN.example:80", 404), ("other", 404), ("known.example.org", 421)):
            assert agent.ask("/nowhere", headers={"Host": name})[0] == code


def test_one_connection_for_many_requests(agent):
    there = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=TIMEOUT)
    there.connect()
    for _ in range(20):
        before = there.sock
        there.request("GET", "/healthz")
        assert there.getresponse().read() == b"ok\n"
        assert there.sock is before
    there.close()


def test_a_request_with_a_body(agent):
    for how in (b"Content-Length: 5\r\n\r\nhello", b"Content-Length: 99999999999\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"):
        assert b" 413 " in say(agent, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n" + how)
        assert b" 405 " in say(agent, b"POST /metrics HTTP/1.1\r\nHost: localhost\r\n" + how)
    assert agent.ask("/healthz")[0] == 200


@pytest.mark.parametrize("text", [
    b"GET /metrics HTTP/1.1\r\nX: " + b"x" * (1 << 20) + b"\r\n\r\n",
    b"GET /" + b"x" * (1 << 20) + b" HTTP/1.1\r\n\r\n",
    b"GET /metrics?" + b"a=b&" * (1 << 18) + b" HTTP/1.1\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * (1 << 17) + b"\r\n",
], ids=["value", "path", "arguments", "headers"])
def test_a_megabyte_of_header(agent, text):
    before = agent.rss_bytes()
    try:
        answer = say(agent, text)
    except ConnectionResetError:
        answer = b""  # what it had not read was thrown away with the connection
    assert not answer or answer.split()[1] in (b"431", b"414", b"413", b"400"), answer[:100]
    assert agent.rss_bytes() < before + ((64 if is_sanitized() else 1) << 20)
    assert agent.ask("/healthz")[0] == 200


@pytest.mark.parametrize("text", [
    b"\r\n\r\n", b"\0\0\0\0\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 600,
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"GET /%00%ff%zz HTTP/1.0\r\n\r\n", b"GET * HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\nAccept: " + b"a/b;q=0.1," * 1000 + b"\r\nHost: localhost\r\n\r\n",
], ids=range(9))
def test_nonsense(agent, text):
    with agent.connect() as there:
        there.sendall(text)
        there.shutdown(socket.SHUT_WR)
    assert agent.ask("/healthz")[0] == 200


def test_gzip(agent):
    plain = agent.ask("/metrics")
    assert plain[1]["Content-Encoding"] is None
    for wanted in ("gzip", "deflate, gzip;q=0.5", "*;q=0, gzip"):
        code, headers, body = agent.ask("/metrics", headers={"Accept-Encoding": wanted})
        assert (code, headers["Content-Encoding"]) == (200, "gzip"), wanted
        assert len(body) < len(gzip.decompress(body)) / 3
        assert gzip.decompress(body).startswith(b"# HELP")
    assert agent.ask("/metrics", headers={"Accept-Encoding": "gzip;q=0"})[1]["Content-Encoding"] is None
    assert agent.ask("/healthz", headers={"Accept-Encoding": "gzip"})[1]["Content-Encoding"] is None  # too short
    # Each is what it asked for, also where both are kept.
    open_metrics = agent.ask("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert open_metrics[2].endswith(b"# EOF\n") and not agent.ask("/metrics")[2].endswith(b"# EOF\n")


def opened(agent, n):
    """So many connections, as far as they come about within a second; non-blocking ones."""
    all_of_them = []
    for _ in range(n):
        there = socket.socket()
        there.setblocking(False)
        try:
            there.connect(("127.0.0.1", agent.port))
        except BlockingIOError:
            pass
        except OSError as error:
            there.close()
            assert error.errno in (errno.EAGAIN, errno.EADDRNOTAVAIL)
            break
        all_of_them.append(there)
    return all_of_them


def is_sanitized():
    with open(command_path(), "rb") as file:
        return b"__asan_init" in file.read()


def close(sockets):
    for there in sockets:
        there.close()


@pytest.mark.parametrize("text", [b"", b"GET /met", b"GET /metrics HTTP/1.1\r\nHost: local"])
def test_silent_clients(agent, text):
    """Who says nothing, or half a request, is let go before there is no place for others."""
    silent = []
    try:
        for _ in range(300):
            silent.append(agent.connect())
            silent[-1].sendall(text)
        for _ in range(5):
            assert agent.ask("/healthz")[0] == 200
        gone = select.select(silent, [], [], 1)[0]
        assert len(gone) > 150
        assert all(not there.recv(1) for there in gone[:50] if not there._closed)  # pylint: disable=protected-access
    finally:
        close(silent)


def test_ten_thousand_connections(machine):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    n = 10000
    files = len(os.listdir("/proc/self/fd")) + n + 200  # this process has some of earlier tests
    if hard < files:
        pytest.skip("fewer files may be open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, files), hard))
    root = machine("xeon-2s-dram")
    crowd = []
    try:
        with Moving(root), Agent("--root", root.path) as agent:
            def joules():
                return next(float(line.split()[1]) for line in agent.scrape().splitlines()
                            if line.startswith("wattle_host_energy_joules_total"))
            before, rss = joules(), agent.rss_bytes()
            crowd = opened(agent, n)
            assert len(crowd) > n / 2
            wait_for(lambda: joules() > before + 100, "measuring that goes on")
            # A sanitizer keeps what was freed.
            assert agent.rss_bytes() < rss + ((256 if is_sanitized() else 8) << 20)
            assert len(agent.threads()) < 8
    finally:
        close(crowd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_slow_readers(agent):
    """They take no answer; others do."""
    slow = []
    try:
        for _ in range(100):
            there = socket.socket()
            there.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            there.connect(("127.0.0.1", agent.port))
            there.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
            slow.append(there)
        assert agent.ask("/metrics")[0] == 200
    finally:
        close(slow)


def test_many_scrapes_at_once(machine):
    """A scrape each millisecond, from several: each is whole, and what was measured is as much."""
    root = machine("xeon-2s-dram")
    with Moving(root), Agent("--root", root.path) as agent:
        agent.scrape()
        end = time.monotonic() + 2

        def scrape():
            there, n = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=TIMEOUT), 0
            while time.monotonic() < end:
                there.request("GET", "/metrics", headers={"Accept": "application/openmetrics-text"})
                assert there.getresponse().read().endswith(b"# EOF\n")
                n += 1
            there.close()
            return n
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            counts = [job.result() for job in [pool.submit(scrape) for _ in range(4)]]
        assert sum(counts) > 100
        assert "late" not in agent.said


def test_it_ends_at_once_with_clients(machine):
    """Silent ones, one in the middle of a request, one with a stream."""
    root = machine("xeon-2s-dram")
    with Agent("--root", root.path) as agent:
        agent.scrape()
        clients = [agent.connect() for _ in range(20)]
        clients[0].sendall(b"GET /met")
        clients[1].sendall(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        clients[1].recv(100)
        begin = time.monotonic()
        assert agent.end(signal.SIGTERM) == 0
        assert time.monotonic() - begin < 5
        close(clients)
