# SPDX-License-Identifier: MIT
"""What `wattle serve` tells programs and its page: /api/v1/…"""

import re
import socket
from datetime import datetime, timezone
from decimal import Decimal
from types import SimpleNamespace

import pytest

from api_server import Mover, Server, tape_server
from conftest import REPO, fake_library, run_wattle, wait_for
from test_plot_recording import shifted

STEP = Decimal("0.001")  # each figure is rounded down to whole ones
ACCOUNTS = ("processes_j", "kernel_j", "idle_j", "unattributed_j")
GROUPINGS = {"user", "unit", "container", "pod", "job", "name"}


@pytest.fixture(name="played", scope="module")
def played_tape():
    with tape_server() as server:
        yield server


def seconds(utc):
    return datetime.strptime(utc, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc).timestamp()


def test_uncertainty_of_processes_is_bounded(played):
    """Of learned watts little is known at first: but nobody used more than there was."""
    live = played.live()
    assert live["processes"]
    for process in live["processes"]:
        assert process["uncertainty_j"] < live["total"]["energy_j"], process


def test_ledger_adds_up(played):
    live = played.json("/api/v1/live")
    assert live["schema"] == "wattle.live/1"
    for domain in live["domains"]:
        assert sum(domain["accounts"].values()) == domain["energy_j"], domain
    counted = [d for d in live["domains"] if d["in_total"]]
    assert live["total"]["energy_j"] == sum(d["energy_j"] for d in counted) > 0
    for account in ACCOUNTS:
        assert live["total"]["accounts"][account] == sum(d["accounts"][account] for d in counted)
    assert set(live["groups"]) == GROUPINGS
    for grouping, groups in live["groups"].items():
        rest = live["total"]["accounts"]["processes_j"] - sum(g["dynamic_j"] for g in groups)
        assert 0 <= rest <= STEP * len(groups) * len(counted), grouping
        for group in groups:
            parts = [p for p in group["domains"] if p["name"] in {d["name"] for d in counted}]
            assert sum(p["dynamic_j"] for p in parts) == group["dynamic_j"]
            assert sum(p["idle_j"] for p in parts) == group["idle_j"]


def figures_of(value):
    """All energies and powers."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key.endswith(("_j", "_w")) and isinstance(inner, (Decimal, int)):
                yield key, inner
            yield from figures_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from figures_of(inner)


@pytest.mark.parametrize("path", ["live", "use", "windows"])
def test_steps(played, path):
    """Whoever is on this machine may ask: no figure is finer than a millijoule or a milliwatt."""
    found = list(figures_of(played.json(f"/api/v1/{path}")))
    assert len(found) > 5 or path == "windows"
    assert not [(key, value) for key, value in found if value % STEP]


def test_same_energy_as_metrics(played):
    text = played.text("/metrics")
    for domain in played.json("/api/v1/live")["domains"]:
        value = re.search(rf'^wattle_domain_energy_joules_total{{domain="{domain["name"]}"[^}}]*}} (\S+)$', text, re.M)
        # Counters in /metrics are cut to eighths.
        assert 0 <= domain["energy_j"] - Decimal(value.group(1)) < Decimal("0.125"), domain


def test_missing_as_doctor_says(machine):
    root = machine("eacces").path
    with Server("--no-store", "--root", root) as server:
        missing = server.live()["missing"]
    sources = run_wattle("doctor", "--root", root, "-f", "json").json["sources"]
    whole = {(m["source"], m["status"], m["reason"], m.get("remedy")) for m in missing if "domain" not in m}
    assert whole and whole <= {(s["source"], s["status"], s["reason"], s.get("remedy")) for s in sources}
    assert all("remedy" in m for m in missing if m["status"] == "denied")


def test_history_is_the_energy(played):
    """Power by time adds up to what was measured, and nothing is known of the time before."""
    live = played.json("/api/v1/live")
    end = seconds(live["t_utc"])
    history = played.json("/api/v1/history?seconds=60")
    assert (history["schema"], history["step_s"]) == ("wattle.history/1", 1)
    power = history["total"]["power_w"]
    assert len(power) == history["steps"] == 61
    assert abs(seconds(history["begin_utc"]) + 60 - end) < 1
    known = [p for p in power if p is not None]
    assert 11 <= len(known) <= 14 and power[0] is None
    low, high = history["total"]["least_w"], history["total"]["most_w"]
    assert all(a <= p <= b for a, p, b in zip(low, power, high) if p is not None)
    # The first and the last step are parts of a second.
    energy = sum(known[1:-1])
    assert abs(energy - live["total"]["energy_j"]) < known[0] + known[-1] + 1
    assert [d["name"] for d in history["domains"]] == [d["name"] for d in live["domains"]]
    for step, total in enumerate(power):
        parts = [d["power_w"][step] for d in history["domains"]]
        assert total is None and set(parts) == {None} or abs(sum(parts) - total) < Decimal("0.01")


def test_history_of_a_day_is_reduced(played):
    history = played.json("/api/v1/history?seconds=86400")
    assert history["step_s"] == 120 and history["steps"] <= 1001
    known = [p for p in history["total"]["power_w"] if p is not None]
    assert 1 <= len(known) <= 2
    assert min(history["total"]["least_w"][-2:], key=lambda p: p or 1e9) < known[0] < max(
        p for p in history["total"]["most_w"] if p)


def test_history_of_a_part(played):
    end = seconds(played.json("/api/v1/live")["t_utc"])
    part = played.json(f"/api/v1/history?from={end - 8:.3f}&to={end - 3:.3f}")
    assert part["steps"] == 6 and None not in part["total"]["power_w"]


def test_use_adds_up(played):
    use = played.json("/api/v1/use?seconds=3600")
    assert use["schema"] == "wattle.use/1"
    assert sum(use["accounts"].values()) == use["energy_j"] > 0
    live = played.json("/api/v1/live")
    whole = {g["name"]: g["dynamic_j"] + g["idle_j"] for g in live["groups"]["user"]}
    assert {g["name"] for g in use["groups"]["user"]} <= set(whole)
    for group in use["groups"]["user"]:
        assert group["energy_j"] <= whole[group["name"]] + STEP * 2 * len(live["domains"])
        assert abs(group["power_w"] * use["duration_s"] - group["energy_j"]) < STEP * (1 + use["duration_s"])
    sums = {by: sum(g["energy_j"] for g in groups) for by, groups in use["groups"].items()}
    assert max(sums.values()) - min(sums.values()) <= STEP * max(map(len, use["groups"].values())), sums
    before = played.json(f"/api/v1/use?from=0&to={seconds(use['begin_utc']) - 5:.3f}")
    assert before.get("energy_j", 0) == 0 or before["end_utc"] > before["begin_utc"]


@pytest.mark.parametrize("by_s", [-3600, 3600])
def test_the_clock_is_set(played, tmp_path, by_s):
    """It was set while this was measured: the last minute is the same minute, with everything in it."""
    shifted("set.tape", SimpleNamespace(path=tmp_path), lambda since, clocks: [*clocks[:2], clocks[2] + by_s * 10**9 * (since > 8.05e9), *clocks[3:]])
    def told(server):
        end = seconds(server.live()["t_utc"])
        use, history = server.json("/api/v1/use?seconds=60"), server.json("/api/v1/history?seconds=60")
        begin, power = seconds(history["begin_utc"]), history["total"]["power_w"]
        known = [i for i, watts in enumerate(power) if watts is not None]
        assert known == list(range(known[0], known[-1] + 1)), power
        return (use["energy_j"], use["groups"]["name"], use["duration_s"], round(seconds(use["end_utc"]) - end), round(begin + known[0] - end), len(known))
    with tape_server(tmp_path / "set") as server:
        assert told(server) == told(played)


@pytest.mark.parametrize("query", ["seconds=x", "seconds=-1", "from=2&to=1", "to=1e3", "seconds=99999999999999999999",
                                   "from=%00", "seconds="])
@pytest.mark.parametrize("path", ["history", "use", "windows"])
def test_wrong_times(played, path, query):
    status, headers, body = played.request(f"/api/v1/{path}?{query}")
    assert status == 400 and headers["Content-Type"].startswith("text/plain"), body
    assert body.count(b"\n") == 1


@pytest.mark.parametrize("query", ["seconds=0", "from=0&to=0", "from=9000000000&to=9000000001", "from=0"])
def test_empty_times(played, query):
    history = played.json(f"/api/v1/history?{query}")
    assert len(history["total"]["power_w"]) == history["steps"] <= 1001
    played.json(f"/api/v1/use?{query}")
    assert played.json(f"/api/v1/windows?{query}")["windows"] == []


@pytest.mark.waits
def test_no_total_without_a_part(machine, gpus):
    """A GPU that does not answer for some seconds is not 0 W of the machine."""
    text = (REPO / "tests/fake/scripts/a100.nvml").read_text() + "  answer * 999 from 5 until 9\n"
    root, gpu = machine("nvidia-server").without_perf(), gpus(text=text.replace("00000000:17:00.0", "00000000:31:00.0"))
    with Mover(root, {"intel-rapl:0": 40, "intel-rapl:1": 30}), \
            Server("--no-store", "--root", root.path, *gpu.options, env=gpu.env) as server:
        server.live(lambda live: {d["name"]: d for d in live["domains"]}["gpu-0"].get("power_w"))
        lost = server.live(lambda live: "power_w" not in {d["name"]: d for d in live["domains"]}["gpu-0"])
        assert "power_w" not in lost["total"] and lost["total"]["energy_j"] > 0
        history = server.json("/api/v1/history?seconds=20")
        known = {d["name"]: d["power_w"] for d in history["domains"]}
        assert known["package-0"][-1] is not None and known["gpu-0"][-1] is None and history["total"]["power_w"][-1] is None


def test_uncertainty_of_an_incomplete_total():
    """Of the fixture's two GPUs one has a figure, and its processors have none."""
    with Server("--no-store", "--root", REPO / "tests/fixtures/roots/nvidia-server", "--nvml", fake_library()) as server:
        live = server.live(lambda live: live["total"].get("power_w"))
        [known] = [d for d in live["domains"] if "power_w" in d]
        assert not live["total"]["is_complete"]
        assert live["total"]["power_w"] == known["power_w"]
        assert live["total"]["power_uncertainty_w"] == known["power_uncertainty_w"] > 0


def keys_of(value):
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


def test_every_member_is_documented(played, gpus):
    text = (REPO / "docs" / "api.md").read_text(encoding="utf-8")
    common, *sections = re.sub(r"```.*?```", "", text, flags=re.S).split("\n## ")
    with Server("--no-store", "--root", REPO / "tests/fixtures/roots/nvidia-server", *gpus("a100").options,
                env=gpus("a100").env) as server:
        server.live(lambda live: live["gpus"] and "use_percent" in live["gpus"][0])
        for path in ("live", "history", "use", "windows"):
            [section] = [s for s in sections if s.startswith(f"`/api/v1/{path}`")]
            words = set(re.findall(r"[a-z_0-9]+", " ".join(re.findall(r"`([^`]+)`", common + section))))
            found = keys_of(played.json(f"/api/v1/{path}")) | keys_of(server.json(f"/api/v1/{path}"))
            assert found <= words, (path, found - words)
            assert f"`wattle.{path}/1`" in section


# ---- The stream ----

def events(connection, n, timeout=30):
    """The next n events as (name, fields)."""
    connection.settimeout(timeout)
    seen, found = b"", []
    while len(found) < n:
        more = connection.recv(65536)
        assert more, seen
        seen += more
        text = re.sub(rb"\r\n[0-9a-f]+\r\n", b"", seen)
        found = [dict(line.split(b": ", 1) for line in block.split(b"\n") if b": " in line)
                 for block in text.split(b"\n\n")[:-1]]
    return [e for e in found if b"event" in e][:n]


def listen(server, last=None, source="127.0.0.1"):
    connection = socket.create_connection(("127.0.0.1", server.port), source_address=(source, 0))
    header = f"Last-Event-ID: {last}\r\n" if last else ""
    connection.sendall(f"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n{header}\r\n".encode())
    return connection


def numbers(found):
    return [int(e[b"id"].split(b"-")[1]) for e in found if e[b"event"] == b"live"]


@pytest.mark.waits
def test_stream(machine):
    """Each snapshot once; who comes back gets what is kept; who never reads holds up nobody."""
    root = machine("nvidia-server").without_perf()
    with Mover(root, {"intel-rapl:0": 40, "intel-rapl:1": 30}), Server("--no-store", "--root", root.path) as server:
        server.live()
        stuck = listen(server)
        first = listen(server)
        got = events(first, 3)
        assert numbers(got) == list(range(numbers(got)[0], numbers(got)[0] + 3))
        first.close()
        again = listen(server, got[0][b"id"].decode())
        assert numbers(events(again, 2)) == numbers(got)[1:]
        again.close()
        # An id of another start means nothing.
        other = listen(server, "123-1")
        assert numbers(events(other, 1))[0] >= numbers(got)[-1]
        # One that was told of more than is kept would have lost frames, and is told how many.
        begin = got[0][b"id"].split(b"-")[0].decode()
        server.live(lambda live: live["number"] > numbers(got)[0] + 5)
        events(other, 6)
        lost = listen(server, f"{begin}-1")
        found = events(lost, 2)
        assert found[0][b"event"] == b"lost"
        assert int(re.search(rb'"frames":(\d+)', found[0][b"data"]).group(1)) == numbers(found)[0] - 2
        for connection in (stuck, other, lost):
            connection.close()
        code, err = server.stop()
        assert code == 0, err


def test_streams_are_bounded(played):
    """Who opens as many as may be ends his own oldest one with each more: the page elsewhere stays, and so does the newest."""
    page = listen(played, source="127.0.0.2")
    events(page, 1)
    opened = [listen(played) for _ in range(64)]
    for connection in opened:
        events(connection, 1)
    assert opened[0].recv(65536).endswith(b"0\r\n\r\n")  # the last chunk
    page.settimeout(0.3)
    with pytest.raises(TimeoutError):
        page.recv(1)
    for connection in (page, *opened):
        connection.close()


# ---- Over a restart ----

def mark(*args, store, env):
    """Other tests record at the same time: the file is named."""
    result = run_wattle("mark", *args, "--file", sorted(store.glob("*.wattle"))[-1], env=env)
    assert result.code == 0, result


@pytest.mark.waits
def test_yesterday_comes_from_the_recordings(machine, tmp_path):
    root, store = machine("nvidia-server").without_perf(), tmp_path / "store"
    env = {"XDG_RUNTIME_DIR": tmp_path}
    options = ("--store", store, "--root", root.path)
    with Mover(root, {"intel-rapl:0": 40, "intel-rapl:1": 30}):
        with Server(*options, env=env) as server:
            server.live(lambda live: live["total"].get("power_w"))
            mark("begin", "bake", store=store, env=env)
            before = server.live(lambda live: live["number"] >= 4)
            mark("end", "bake", store=store, env=env)
            [window] = server.json("/api/v1/windows?seconds=60")["windows"]
            assert window["name"] == "bake" and 20 < window["energy_j"] / Decimal(
                seconds(window["end_utc"]) - seconds(window["begin_utc"])) < 200
            code, err = server.stop()
            assert code == 0, err
        end = seconds(before["t_utc"])
        with Server(*options, env=env) as server:
            server.live()
            query = f"from={end - 2.5:.3f}&to={end - 1.5:.3f}"
            wait_for(lambda: (server.json(f"/api/v1/history?{query}")["total"]["power_w"] or [None])[-1], "the past")
            power = server.json(f"/api/v1/history?{query}")["total"]["power_w"][-1]
            assert 60 < power < 80
            wait_for(lambda: server.json("/api/v1/windows?seconds=600")["windows"] == [window], "the window")
            code, err = server.stop()
            assert code == 0, err
