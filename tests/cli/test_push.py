# SPDX-License-Identifier: MIT
"""wattle serve --push: what an engine gets, and that nothing is lost on the way.

Against VictoriaMetrics 1.79.5, Prometheus 2.42.0 and InfluxDB 1.6.7 (Debian 12), and an engine that answers wrongly.
"""

import contextlib
import email.utils
import json
import os
import random
import re
import resource
import signal
import socket
import sqlite3
import ssl
import subprocess
import time
from pathlib import Path

import pytest

from conftest import REPO, ROOTS, run_wattle, wait_for
from engines import Fake, Influx, LatePrometheus, Prometheus, Relay, Victoria, certificate, free_port
from serving import Agent, Moving

pytestmark = pytest.mark.waits
XEON = ("--root", ROOTS / "xeon-2s-dram")
SOON = ("--push-interval", "1s", "--push-label", "instance=here")
TIME = "wattle_snapshot_time_seconds"
SENT = ("wattle_push_samples_total", frozenset({("result", "sent")}))
BENCH = Path(os.environ.get("WATTLE_BUILD_ROOT") or ".") / "bench" / "bench_push"


@pytest.fixture(autouse=True)
def is_built():
    if "built without a server" in run_wattle("serve", "--help").err:
        pytest.skip("this wattle was built without a server")


def place(store):
    """The first row that no engine acknowledged, and the number of the next one."""
    newest = sorted(store.glob("*.wattle"))[-1]
    with contextlib.closing(sqlite3.connect(f"file:{newest}?mode=ro", uri=True)) as file:
        row = file.execute("SELECT value FROM fact WHERE key = 'pushed'").fetchone()
    return tuple(map(int, row[0].split()))[:2] if row else (0, 0)


def rows_of(store):
    return place(store)[1] - 1


def times_at(engine, name=TIME):
    """The rows that an engine has."""
    found = engine.series(name)
    return set().union(*(values for _, values in found)) if found else set()


def flush(engine):
    """VictoriaMetrics answers queries a second or so after it took samples."""
    if isinstance(engine, Victoria):
        engine.get("/internal/force_flush")


def has_rows(engine, n, name=TIME):
    flush(engine)
    return len(times_at(engine, name)) >= n


def push_to(engine, store, *options, root=XEON, **popen):
    form = ("--push-as", "influx") if isinstance(engine, Influx) else ()
    return Agent(*root, "--store", store, "--push", engine.url, *form, *SOON, *options, **popen)


def wait_rows(store, n):
    """Until so many are on the disk."""
    wait_for(lambda: list(store.glob("*.wattle")) and rows_of(store) >= n, f"{n} rows")


# ---- What is pushed ----

def text_of(labels, value):
    labels = dict(labels)
    name = labels.pop("__name__")
    return name, frozenset(labels.items()), value


def parse(text):
    """{(name, labels)}: value of Prometheus' text."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        key, _, value = line.rpartition(" ")
        name, _, rest = key.partition("{")
        labels = {}
        while rest and rest != "}":
            label, _, rest = rest.partition('="')
            inside = ""
            while rest[0] != '"':
                inside += {"n": "\n"}.get(rest[1], rest[1]) if rest[0] == "\\" else rest[0]
                rest = rest[2 if rest[0] == "\\" else 1:]
            rest = rest[1:].lstrip(",")
            if inside:
                labels[label] = inside
        found[name, frozenset(labels.items())] = float(value)
    return found


def test_what_is_pushed_is_what_is_scraped(machine, tmp_path):
    """The same names, labels and values, to the digit."""
    root = machine("xeon-2s-dram")
    root.put("proc/1000/placeholder", "")
    with Moving(root, processes=5, name='a"b\\c {}'), Fake(lambda n, series: 204) as engine, \
            Agent("--root", root.path, "--store", tmp_path, "--push", engine.url, *SOON) as agent:
        scrapes = {}
        wait_for(lambda: len(engine.rows()) > 1, "rows")
        end = time.monotonic() + 5
        while time.monotonic() < end:
            scrape = parse(agent.scrape())
            scrapes[round(scrape[TIME, frozenset()] * 1000)] = scrape
            time.sleep(0.05)
    compared = 0
    for at, row in engine.rows().items():
        if at not in scrapes:
            continue
        told = {(name, labels): value for (name, labels), value in scrapes[at].items()
                if name != "wattle_self_scrape_seconds" and not name.startswith("wattle_push_")}
        given = {}
        for labels, value in row.items():
            labels = dict(labels)
            assert (labels.pop("job"), labels.pop("instance")) == ("wattle", "here")
            name = labels.pop("__name__")
            if name != "wattle_self_scrape_seconds" and not name.startswith("wattle_push_") and value is not None:
                given[name, frozenset(labels.items())] = value
        assert given == told
        compared += 1
    assert compared >= 3
    assert any(dict(labels).get("command") == 'a"b\\c 1' for row in engine.rows().values() for labels in row)
    head = engine.headers[0]
    assert (head["Content-Type"], head["Content-Encoding"], head["X-Prometheus-Remote-Write-Version"]) == \
        ("application/x-protobuf", "snappy", "0.1.0")
    assert head["User-Agent"].startswith("wattle/")


@pytest.mark.parametrize("kind", [Victoria, Prometheus])
def test_an_engine_has_every_row(kind, tmp_path):
    with kind(tmp_path / "engine" if (tmp_path / "engine").mkdir() is None else None) as engine:
        store = tmp_path / "store"
        with push_to(engine, store) as agent:
            wait_rows(store, 4)
            assert agent.end() == 0
        cursor, following = place(store)
        assert cursor == following
        assert wait_for(lambda: has_rows(engine, following - 1), "all rows")
        assert len(times_at(engine)) == following - 1
        [(labels, _)] = engine.series("wattle_host_energy_joules_total")
        assert labels == {"__name__": "wattle_host_energy_joules_total", "job": "wattle", "instance": "here"}


def test_influx(tmp_path):
    """The flow that people script: power into InfluxDB."""
    with Influx(tmp_path) as engine:
        with push_to(engine, tmp_path / "store") as agent:
            wait_rows(tmp_path / "store", 4)
            agent.end()
        n = rows_of(tmp_path / "store")
        answer = engine.query("SELECT count(value) FROM wattle_snapshot_time_seconds")
        assert answer["series"][0]["values"][0][1] == n
        answer = engine.query("SHOW TAG VALUES FROM wattle_domain_info WITH KEY = domain")
        assert {"package-0", "dram-1"} <= {value for _, value in answer["series"][0]["values"]}


STORED = ("wattle_push_stored", frozenset())
NOTHING = '{"status":"success","data":{"resultType":"matrix","result":[]}}'


def test_engines_have_what_they_acknowledged(tmp_path):
    """Each is asked in its own language."""
    asked = {Victoria: "/api/v1/query", Prometheus: "/api/v1/query", Influx: "/query?db=wattle"}
    with contextlib.ExitStack() as running:
        agents = []
        for kind, path in asked.items():
            (tmp_path / kind.binary).mkdir()
            engine = running.enter_context(kind(tmp_path / kind.binary))
            options = (*SOON, "--push-label", "what=a'b\\c\"d", "--push-verify", f"http://127.0.0.1:{engine.port}{path}")
            form = ("--push-as", "influx") if kind is Influx else ()
            agents.append(running.enter_context(Agent(*XEON, "--store", tmp_path / f"store-{kind.binary}", "--push", engine.url, *form, *options)))
        for agent in agents:
            wait_for(lambda agent=agent: parse(agent.scrape()).get(STORED), "a row that is found")
            assert json.loads(agent.ask("/api/v1/live")[2])["push"]["stored"] == "stored"
            agent.end()
            assert "finds none" not in agent.said


def test_an_engine_that_keeps_nothing(tmp_path):
    """It acknowledges everything: only who asks it finds that out."""
    asked, found = [], []

    def query(path):
        asked.append(path)
        return NOTHING.replace("[]", '[{"metric":{}}]') if found else NOTHING
    with Fake(lambda n, series: 204, query=query) as engine, \
            Agent(*XEON, "--store", tmp_path, "--push", engine.url, *SOON, "--push-verify", engine.url.replace("write", "query")) as agent:
        assert STORED not in parse(agent.scrape())
        agent.expect("is acknowledged, but a query .--push-verify. finds none of it")
        wait_for(lambda: parse(agent.scrape()).get(STORED) == 0, "the next snapshot")
        assert json.loads(agent.ask("/api/v1/live")[2])["push"]["stored"] == "missing"
        found.append(True)
        agent.expect("is found by a query again")
        wait_for(lambda: parse(agent.scrape())[STORED] == 1, "a count")
        assert parse(agent.scrape())["wattle_push_samples_total", frozenset({("result", "repeated")})] == 0
    at = re.fullmatch(r'/api/v1/query\?query=wattle_snapshot_time_seconds{instance="here",job="wattle"}\[1s\]&time=([\d.]+)', asked[0])
    assert any(abs(row / 1000 + 0.5 - float(at[1])) < 0.002 for row in engine.rows())


def test_a_query_that_is_none(tmp_path):
    with Fake(lambda n, series: 204, query=lambda path: "<html>") as engine, \
            Agent(*XEON, "--store", tmp_path, "--push", engine.url, *SOON, "--push-verify", engine.url) as agent:
        agent.expect("cannot be verified, and is asked again in an hour: that is no answer to a query")
        assert STORED not in parse(agent.scrape())


# ---- Nothing is lost ----

@pytest.mark.parametrize("kind", [Victoria, Prometheus])
def test_an_engine_that_was_down(kind, tmp_path):
    """Rows of an agent that ended meanwhile come from its recording, and those of the next one follow."""
    store = tmp_path / "store"
    (tmp_path / "engine").mkdir()
    engine = kind(tmp_path / "engine")
    with push_to(engine, store) as agent:
        agent.expect("push to http://127.0.0.1:[0-9]+/api/v1/write fails, and is tried again: ")
        wait_rows(store, 5)
        agent.end()
    assert place(store)[0] == 1
    with engine, push_to(engine, store) as agent:
        before = rows_of(store) if list(store.glob("*.wattle")) else 0
        wait_for(lambda: rows_of(store) > before + 2 and place(store)[0] > before + 1, "rows")
        agent.end()
        n = rows_of(store)
        wait_for(lambda: has_rows(engine, n), "all rows")
        assert len(times_at(engine)) == n


@pytest.mark.parametrize("kind", [Victoria, Prometheus, Influx])
def test_an_engine_that_is_killed_after_its_answer(kind, tmp_path):
    """VictoriaMetrics acknowledges what is not on its disk yet. What it lost is sent again."""
    store = tmp_path / "store"
    (tmp_path / "engine").mkdir()
    engine = kind(tmp_path / "engine")
    with engine, push_to(engine, store) as agent:
        wait_for(lambda: list(store.glob("*.wattle")) and place(store)[0] > 4, "an answer")
        engine.kill()
        agent.expect("fails, and is tried again")
        engine.start()
        agent.expect("works again")
        agent.end()
        n = rows_of(store)
        wait_for(lambda: has_rows(engine, n), "all rows")
        assert len(times_at(engine)) == n


def test_an_engine_without_descriptors(tmp_path):
    """VictoriaMetrics ends when it cannot make a file. What it had in memory is sent again to the next one."""
    store = tmp_path / "store"
    (tmp_path / "engine").mkdir()
    engine = Victoria(tmp_path / "engine")
    with engine, push_to(engine, store) as agent:
        wait_for(lambda: list(store.glob("*.wattle")) and place(store)[0] > 4, "an answer")
        n = len(list(Path(f"/proc/{engine.process.pid}/fd").iterdir()))
        resource.prlimit(engine.process.pid, resource.RLIMIT_NOFILE, (n, n))
        assert wait_for(engine.process.poll, "its end") != 0
        engine.start()
        before = rows_of(store)
        wait_for(lambda: place(store)[0] > before + 1, "later rows")
        agent.end()
        n = rows_of(store)
        wait_for(lambda: has_rows(engine, n), "all rows")
        assert len(times_at(engine)) == n


def after_an_outage(kind, folder, n):
    """The rows of a store that no engine had, and an engine and an agent which have just begun."""
    store = folder / "store"
    for made in (store, folder / "engine"):
        made.mkdir()
    subprocess.run([BENCH, "store", store / "wattle-serve-20200101-000000.wattle", "40", str(n)], check=True)
    engine = kind(folder / "engine")
    return engine, store


@pytest.mark.skipif(not BENCH.exists(), reason="bench_push is not built")
@pytest.mark.parametrize("kind", [Victoria, Prometheus, Influx])
def test_an_hour_without_an_engine(kind, tmp_path):
    """All of it comes: once, and nothing is refused."""
    engine, store = after_an_outage(kind, tmp_path, 3600)
    with engine, push_to(engine, store) as agent:
        wait_for(lambda: parse(agent.scrape())[SENT] >= 40 * 3600, "all answers", timeout=60)
        wait_for(lambda: has_rows(engine, 3600, "wattle_command_power_watts"), "all rows", timeout=60)
        assert len(times_at(engine, "wattle_command_power_watts")) == 3600
        told = parse(agent.scrape())
        agent.end()
    assert told["wattle_push_samples_total", frozenset({("result", "refused")})] == told["wattle_push_dropped_rows_total", frozenset()] == 0


@pytest.mark.skipif(not BENCH.exists(), reason="bench_push is not built")
def test_an_engine_that_is_killed_after_a_backlog(tmp_path):
    """It gets hours in a second: what it took in its last seconds is sent again, however many rows that are."""
    engine, store = after_an_outage(Victoria, tmp_path, 20000)
    with engine, push_to(engine, store) as agent:
        wait_for(lambda: parse(agent.scrape())[SENT] >= 40 * 20000, "all answers")
        engine.kill()
        engine.start()
        wait_for(lambda: has_rows(engine, 20000, "wattle_command_power_watts"), "all rows", timeout=60)
        agent.end()


def test_an_agent_that_is_killed(machine, tmp_path):
    """At any moment: no row is missing, none differs, and no counter falls."""
    store, moment = tmp_path / "store", random.Random(20)
    (tmp_path / "engine").mkdir()
    moved = machine("xeon-2s-dram")
    root = ("--root", moved.path)
    with Prometheus(tmp_path / "engine") as engine, Moving(moved):
        for _ in range(4):
            before = rows_of(store) if store.exists() else 0
            with push_to(engine, store, root=root) as agent:
                wait_rows(store, before + 2)
                time.sleep(moment.random() * 1.5)
                assert agent.end(signal.SIGKILL) == -9
        with push_to(engine, store, root=root) as agent:
            before = rows_of(store)
            wait_for(lambda: place(store)[0] > before + 1, "rows")
            agent.end()
        n = rows_of(store)
        wait_for(lambda: has_rows(engine, n), "all rows")
        assert len(times_at(engine)) == n
        [(_, values)] = engine.series("wattle_host_energy_joules_total")
        joules = [value for _, value in sorted(values.items())]
        assert joules == sorted(joules) and joules[-1] > joules[0]


def test_a_store_that_dropped_rows(tmp_path):
    """What the recordings do not have any more is counted, and said in the metrics."""
    store = tmp_path / "store"
    nobody = f"http://127.0.0.1:{free_port()}/api/v1/write"
    with Agent(*XEON, "--store", store, "--push", nobody, *SOON) as agent:
        wait_rows(store, 3)
        agent.end()
    [old] = store.glob("*.wattle")
    with Agent(*XEON, "--store", store, "--push", nobody, *SOON) as agent:
        n = rows_of(store)
        wait_for(lambda: len(list(store.glob("*.wattle"))) == 2 and rows_of(store) > n, "a second recording")
        agent.end()
    old.unlink()
    with Fake(lambda n, series: 204) as engine, Agent(*XEON, "--store", store, "--push", engine.url, *SOON) as agent:
        dropped = wait_for(lambda: float(parse(agent.scrape()).get(("wattle_push_dropped_rows_total", frozenset()), 0)), "dropped rows")
    assert dropped == n
    assert len(engine.rows()) == rows_of(store) - n


def test_an_exporter_keeps_its_rows(tmp_path):
    """The half that has the network has a recording of its own, of what it is to push."""
    (tmp_path / "engine").mkdir()
    engine, store, path = Victoria(tmp_path / "engine"), tmp_path / "store", tmp_path / "socket"
    half = ("--exporter", "--socket", path, "--store", store, "--push", engine.url, *SOON)
    with Agent(*XEON, "--reader", "--socket", path, "--no-store", wants_port=False):
        wait_for(path.exists, "the reader")
        with Agent(*half) as exporter:
            exporter.expect("fails, and is tried again")
            wait_rows(store, 4)
            exporter.end(signal.SIGKILL)
        before = rows_of(store)
        with engine, Agent(*half) as exporter:
            wait_for(lambda: len(list(store.glob("*.wattle"))) == 2 and place(store)[0] > before + 1, "rows")
            told = parse(exporter.scrape())
            exporter.end()
            assert exporter.code == 0
            n = rows_of(store)
            wait_for(lambda: has_rows(engine, n), "all rows")
            assert len(times_at(engine)) == n
    assert told[SENT] > 0


# ---- Through a relay: docs/fleet.md ----

@pytest.mark.parametrize("kind", [Victoria, LatePrometheus])
@pytest.mark.parametrize("fault", ["none", "the relay is killed", "both are killed"])
def test_a_relay(kind, fault, tmp_path):
    """Its answer says that it has the rows in memory. It keeps what the engine cannot take, and what is lost with it is sent again."""
    store = tmp_path / "store"
    for name in ("engine", "relay"):
        (tmp_path / name).mkdir()
    with kind(tmp_path / "engine") as engine, Relay(tmp_path / "relay", engine) as relay, push_to(relay, store) as agent:
        wait_for(lambda: list(store.glob("*.wattle")) and place(store)[0] > 4, "an answer")
        if fault == "both are killed":
            engine.kill()
            before = place(store)[0]
            wait_for(lambda: place(store)[0] > before + 2, "rows that the relay keeps")
        if fault != "none":
            relay.kill()
            agent.expect("fails, and is tried again")
            if fault == "both are killed":
                engine.start()
            relay.start()
            agent.expect("works again")
        agent.end()
        n = rows_of(store)
        wait_for(lambda: has_rows(engine, n), "all rows", timeout=60)
        assert len(times_at(engine)) == n
        [(labels, _)] = engine.series("wattle_host_energy_joules_total")
        assert (labels["instance"], labels["rack"]) == ("here", "r1")


class Watching(LatePrometheus):
    """It has wattle's rules, and scrapes the relay."""

    relay = 0

    @property
    def settings(self):
        return f"""{LatePrometheus.settings.replace("}", ", evaluation_interval: 500ms}", 1)}
rule_files: [{REPO}/share/prometheus/wattle.rules.yml]
scrape_configs: [{{job_name: vmagent, scrape_interval: 250ms, static_configs: [{{targets: ["127.0.0.1:{self.relay}"]}}]}}]
"""

    def result(self, query):
        return json.loads(self.get("/api/v1/query", query=query))["data"]["result"]


def test_panels_and_rules_of_a_fleet(tmp_path):
    """Each query has an answer: of a real agent behind a real relay."""
    for name in ("engine", "relay"):
        (tmp_path / name).mkdir()
    watching = Watching(tmp_path / "engine")
    relay = Relay(tmp_path / "relay", watching)
    watching.relay = relay.port
    board = json.loads((REPO / "share" / "grafana" / "wattle-push.json").read_text())
    queries = {target["expr"] for panel in board["panels"] for target in panel["targets"]}
    assert len(queries) == len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    with watching, relay, push_to(relay, tmp_path / "store"):
        for query in queries:
            for name, value in {"$__rate_interval": "30s", "$__range": "30s", "$instance": ".*"}.items():
                query = query.replace(name, value)
            if " offset " in query:
                assert watching.result(query) == []
            else:
                wait_for(lambda query=query: watching.result(query), query, timeout=60)
        rules = [rule for group in json.loads(watching.get("/api/v1/rules"))["data"]["groups"] for rule in group["rules"] if "push" in group["name"] or "fleet" in group["name"]]
        assert len(rules) == 15
        for rule in rules:
            assert rule["health"] == "ok", rule
            if rule["type"] == "recording":
                wait_for(lambda name=rule["name"]: watching.result(name), rule["name"], timeout=60)


def test_a_relay_loses_what_prometheus_refuses(tmp_path):
    """Why Prometheus needs out_of_order_time_window behind a relay: one late sample costs a whole block, and the agent is not told."""
    for name in ("engine", "relay"):
        (tmp_path / name).mkdir()
    with Prometheus(tmp_path / "engine") as engine, Relay(tmp_path / "relay", engine) as relay, push_to(relay, tmp_path / "store") as agent:
        wait_for(lambda: list((tmp_path / "store").glob("*.wattle")) and place(tmp_path / "store")[0] > 4, "an answer")
        relay.kill()
        agent.expect("fails, and is tried again")
        relay.start()
        agent.expect("works again")
        wait_for(lambda: parse(relay.get("/metrics"))["vmagent_remotewrite_packets_dropped_total", frozenset({("url", "1:secret-url")})] > 0, "a lost block")


# ---- Engines that answer otherwise ----

def taken_after(answer, tmp_path, n=4, says=None, options=()):
    """An agent pushes to a fake engine until that has n rows; the engine, and the agent's counters."""
    with Fake(answer) as engine, Agent(*XEON, "--store", tmp_path / "store", "--push", engine.url, *SOON, *options) as agent:
        if says:
            agent.expect(says)
        wait_for(lambda: len(engine.rows()) >= n, "rows")
        wait_for(lambda: parse(agent.scrape()).get(("wattle_push_requests_total", frozenset()), 0) >= 1, "a count")
        scrape = parse(agent.scrape())
        agent.end()
    return engine, {name: value for (name, _), value in scrape.items() if name.startswith("wattle_push_")}, agent


@pytest.mark.parametrize("first,says", [
    (503, "it answers 503"),
    ((500, {}, b"out of disk\nmore"), "it answers 500: out of disk"),
    ((401, {}, b"who are you"), "it answers 401: who are you"),
    ((200, {"Content-Type": "text/html"}, b"<h1>Log in</h1>"), "a page for people: is the URL that of an engine"),
    ((204, {"X-Prometheus-Remote-Write-Samples-Written": "0"}, b""), "says that it took no sample"),
    ((302, {"Location": "http://127.0.0.1:1/"}, b""), "it answers 302"),
    (None, "fails, and is tried again: "),
], ids=str)
def test_answers_after_which_it_is_tried_again(first, says, tmp_path):
    engine, counts, agent = taken_after(lambda n, series: first if n == 0 else 204, tmp_path, says=says)
    assert "works again" in agent.said
    assert counts["wattle_push_failures_total"] == 1
    lost = [at for at in engine.rows(taken=False) if at not in engine.rows()]
    assert not lost


@pytest.mark.parametrize("kind,path,options", [
    (Victoria, "/", ()),
    (Victoria, "/api/v1/write", ("--push-as", "influx")),
    (Prometheus, "/api/v1/write", ("--push-as", "influx")),
    (Prometheus, "/", ()),
    (Influx, "/write", ("--push-as", "influx")),
    (Influx, "/write?db=other", ("--push-as", "influx")),
    (Influx, "/write?db=wattle", ()),
], ids=str)
def test_a_wrong_address(kind, path, options, tmp_path):
    """Nothing is given up: what is kept can be sent once it is right."""
    (tmp_path / "engine").mkdir()
    with kind(tmp_path / "engine") as engine:
        url = f"http://127.0.0.1:{engine.port}{path}"
        with Agent(*XEON, "--store", tmp_path / "store", "--push", url, *SOON, *options) as agent:
            agent.expect("fails, and is tried again: (it answers 4[0-9][0-9]: |Weird server reply)")
            wait_rows(tmp_path / "store", 3)
            agent.end()
    assert place(tmp_path / "store")[0] == 1


def test_too_large(tmp_path):
    """Fewer rows at a time, until it takes them."""
    def answer(_n, series):
        return 413 if max(map(len, series.values())) > 1 else 204
    store = tmp_path / "store"
    with Agent(*XEON, "--store", store, "--push", f"http://127.0.0.1:{free_port()}/", *SOON) as agent:
        wait_rows(store, 4)
        agent.end()
    engine, counts, _ = taken_after(answer, tmp_path, n=5)
    assert any(said == 413 for said, _, _ in engine.requests)
    assert not [at for at in engine.rows(taken=False) if at not in engine.rows()]
    assert counts["wattle_push_dropped_rows_total"] == 0


def test_too_large_once_more(tmp_path):
    """Of what is sent again, too, nothing is left out: here by an agent that starts again."""
    engines, lasts = [], []
    for limit in (1000, 1):
        with Fake(lambda n, series, limit=limit: 413 if max(map(len, series.values())) > limit else 204) as engine, \
                Agent(*XEON, "--store", tmp_path, "--push", engine.url, *SOON) as agent:
            before = lasts[-1] if lasts else 0
            wait_for(lambda before=before: list(tmp_path.glob("*.wattle")) and place(tmp_path)[0] > before + 4, "rows")
            agent.end()
        engines.append(engine)
        lasts.append(rows_of(tmp_path))
    assert set(engines[0].rows()) <= set(engines[1].rows())


def test_a_row_that_is_refused(tmp_path):
    """It is counted and named, and the others are taken."""
    bad = []

    def answer(_n, series):
        times = sorted({at for samples in series.values() for at, _ in samples})
        if not bad:
            bad.append(times[0])
        return (400, {}, b"out of bounds") if bad[0] in times else 204
    with Fake(answer) as engine, Agent(*XEON, "--store", tmp_path, "--push", engine.url, *SOON) as agent:
        agent.expect("is refused, and what is refused is not sent again: it answers 400: out of bounds")
        wait_for(lambda: len(engine.rows()) >= 3, "rows")
        agent.end()
    assert [at for at in engine.rows(taken=False) if at not in engine.rows()] == bad


@pytest.mark.parametrize("ending,result", [(signal.SIGTERM, "refused"), (signal.SIGKILL, "repeated")])
def test_rows_that_may_have_been_sent(ending, result, tmp_path):
    """Only those that an engine may have count as known to it where it refuses them as out of order: all of them after a kill."""
    with Agent(*XEON, "--store", tmp_path, "--push", f"http://127.0.0.1:{free_port()}/", *SOON) as agent:
        agent.expect("fails, and is tried again")
        wait_rows(tmp_path, 3)
        agent.end(ending)
    last = rows_of(tmp_path)
    with Fake(lambda n, series: (400, {}, b"out of order sample")) as engine, Agent(*XEON, "--store", tmp_path, "--push", engine.url, *SOON) as agent:
        wait_for(lambda: place(tmp_path)[0] > last, "the next agent's rows")
        told = parse(agent.scrape())
    counts = {name: told["wattle_push_samples_total", frozenset({("result", name)})] for name in ("refused", "repeated")}
    assert counts[result] > 0 and (result == "repeated" or counts["repeated"] == 0), counts


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after(form, tmp_path):
    """It waits as long as it is told to."""
    def answer(n, _series):
        # A date has whole seconds: 5 of them are more than 4.
        after = "4" if form == "seconds" else email.utils.formatdate(time.time() + 5, usegmt=True)
        return (429, {"Retry-After": after}, b"") if n == 0 else 204
    engine, _, _ = taken_after(answer, tmp_path, n=2)
    # The date is compared with a clock of whole seconds, too.
    assert engine.times[1] - engine.times[0] >= (4 if form == "seconds" else 3)


def test_a_slow_engine_delays_no_measurement(tmp_path):
    def answer(_n, _series):
        time.sleep(5)
        return 204
    with Fake(answer) as engine, Agent(*XEON, "--store", tmp_path, "--push", engine.url, *SOON) as agent:
        wait_for(lambda: rows_of(tmp_path) >= 7 if list(tmp_path.glob("*.wattle")) else False, "rows")
        assert len(engine.requests) <= 3


def test_a_stuck_engine_holds_up_no_end(tmp_path):
    """It would be waited for half a minute."""
    with Fake(lambda n, series: time.sleep(20)) as engine, Agent(*XEON, "--store", tmp_path, "--push", engine.url, *SOON) as agent:
        wait_for(lambda: engine.times, "a request")
        begin = time.monotonic()
        assert agent.end() == 0
        assert time.monotonic() - begin < 15


def test_names_that_are_not_found(tmp_path):
    with Agent(*XEON, "--store", tmp_path, "--push", "http://no-such-host.invalid/write", *SOON) as agent:
        agent.expect("push to http://no-such-host.invalid/write fails, and is tried again: Could")
        assert agent.end() == 0


@pytest.mark.parametrize("served,trusted,works", [("here", "here", True), ("here", None, False), ("elsewhere", "elsewhere", False)])
def test_certificates(served, trusted, works, tmp_path):
    both = certificate(tmp_path, served)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    options = ("--push-ca", both) if trusted else ()
    with Fake(lambda n, series: 204, wrap=lambda sock: context.wrap_socket(sock, server_side=True)) as engine, \
            Agent(*XEON, "--store", tmp_path / "store", "--push", engine.url, *SOON, *options) as agent:
        if works:
            wait_for(lambda: engine.rows(), "rows")
        else:
            agent.expect("fails, and is tried again: .*certificate")
            assert not engine.requests


def test_headers_of_a_file(tmp_path):
    """A token may be renewed while the agent runs."""
    headers = tmp_path / "headers"
    headers.write_text("# ours\nAuthorization: Bearer one\n")
    with Fake(lambda n, series: 204) as engine, \
            Agent(*XEON, "--store", tmp_path / "store", "--push", engine.url, "--push-headers", headers, *SOON) as agent:
        wait_for(lambda: engine.headers, "a request")
        headers.write_text("Authorization: Bearer two\n")
        wait_for(lambda: engine.headers[-1].get("Authorization") == "Bearer two", "the new token")
        headers.unlink()
        agent.expect("headers cannot be read")
    assert engine.headers[0]["Authorization"] == "Bearer one"


def test_no_password_is_shown(tmp_path):
    with Fake(lambda n, series: 503) as engine, \
            Agent(*XEON, "--store", tmp_path, "--push", engine.url.replace("//", "//me:secret@") + "?token=hidden", *SOON) as agent:
        agent.expect("fails")
        assert "Basic" in engine.headers[0]["Authorization"]
        agent.end()
    assert "secret" not in agent.said and "hidden" not in agent.said and "/api/v1/write" in agent.said


@pytest.mark.parametrize("kind", [Prometheus, Victoria])
def test_two_agents_of_one_name(tmp_path, kind):
    """Each goes on, and ends well. What the engine has of their start goes back and forth, as the alert wants it."""
    def changes():
        (_, values), = engine.series("wattle_start_time_seconds") or [({}, {})]
        starts = [start for _, start in sorted(values.items())]
        return sum(before != after for before, after in zip(starts, starts[1:]))

    (tmp_path / "engine").mkdir()
    with kind(tmp_path / "engine") as engine, push_to(engine, tmp_path / "a") as one, push_to(engine, tmp_path / "b") as other:
        for agent in (one, other):
            wait_for(lambda agent=agent: parse(agent.scrape())[SENT] > 0, "samples")
        wait_for(lambda: changes() > 2, "changes", timeout=60)
        assert one.end() == 0 and other.end() == 0


# ---- Options ----

@pytest.mark.parametrize("options,says", [
    (("--push", "engine:9090"), "--push takes a URL such as http://127.0.0.1:9090/api/v1/write"),
    (("--push-as", "influx"), "--push-as says how to push: give --push URL, too"),
    (("--push", "http://x/", "--push-verify", "engine:9090"), "--push-verify takes a URL such as http://127.0.0.1:9090/api/v1/query"),
    (("--push", "http://x/", "--push-label", "a-b=c"), "--push-label takes NAME=VALUE, not 'a-b=c'"),
    (("--push", "http://x/", "--push-label", "a=b", "--push-label", "a=c"), "--push-label a is given twice"),
    (("--push", "http://x/", "--push-label", "__name__=c"), "--push-label takes NAME=VALUE"),
    (("--push", "http://x/", "--reader"), "it does not listen to the network: --push is for wattle serve --exporter"),
    (("--exporter", "--store", "/tmp"), "it does not measure: --store is for wattle serve --reader"),
])
def test_wrong_options(options, says):
    result = run_wattle("serve", *options)
    assert result.code == 2
    assert says in result.complaint()


def test_without_a_store(tmp_path):
    with Fake(lambda n, series: 204) as engine, Agent(*XEON, "--no-store", "--push", engine.url, *SOON) as agent:
        agent.expect("without a store, what is not sent within a minute is lost")
        wait_for(lambda: len(engine.rows()) >= 3, "rows")
        agent.end()
    assert not list(tmp_path.iterdir())


def test_an_outage_longer_than_memory(tmp_path):
    """A minute of rows is in memory; those before it come from the recording that is being written."""
    store = tmp_path / "store"
    (tmp_path / "engine").mkdir()
    engine = Victoria(tmp_path / "engine")
    with push_to(engine, store) as agent:
        agent.expect("fails, and is tried again")
        time.sleep(72)  # a row comes each second
        wait_for(lambda: list(store.glob("*.wattle")) and rows_of(store) > 72, "more rows than memory has", timeout=150)
        with engine:
            agent.expect("works again", timeout=120)
            agent.end()
            n = rows_of(store)
            wait_for(lambda: has_rows(engine, n), "all rows")
            assert len(times_at(engine)) == n


SET_BACK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now)
{
	static int (*real)(clockid_t, struct timespec *);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	int rc = real(clock, now);
	if (rc == 0 && clock == CLOCK_REALTIME && access(SET_BACK, F_OK) == 0)
		now->tv_sec -= SECONDS;
	return rc;
}
"""


def slow_clock(folder, mark, seconds):
    """A library to be preloaded: it is so much earlier as long as the file `mark` is there."""
    library = folder / "clock.so"
    (folder / "clock.c").write_text(SET_BACK)
    subprocess.run(["cc", "-shared", "-fPIC", f'-DSET_BACK="{mark}"', f"-DSECONDS={seconds}", "-o", library, folder / "clock.c", "-ldl"], check=True)
    return library


def test_a_clock_that_is_set_back(tmp_path):
    """Prometheus has rows of those times already: they are refused, counted and named, and what follows is taken."""
    mark = tmp_path / "set-back"
    library = slow_clock(tmp_path, mark, 5)
    (tmp_path / "engine").mkdir()
    with Prometheus(tmp_path / "engine") as engine, \
            Agent(*XEON, "--store", tmp_path / "store", "--push", engine.url, *SOON, env={"LD_PRELOAD": str(library)}) as agent:
        wait_for(lambda: has_rows(engine, 3), "rows")
        mark.touch()
        agent.expect("is refused, and what is refused is not sent again: it answers 400: out of order sample")
        n = len(times_at(engine))
        wait_for(lambda: has_rows(engine, n + 2), "rows of later", timeout=60)
        told = parse(agent.scrape())
    assert told["wattle_push_samples_total", frozenset({("result", "refused")})] > 0


def test_a_clock_that_is_set_back_while_it_buffers(tmp_path):
    """Of samples of one request that go back Prometheus drops some, and answers 204: they are in requests of their own."""
    store, mark = tmp_path / "store", tmp_path / "set-back"
    (tmp_path / "engine").mkdir()
    engine = Prometheus(tmp_path / "engine")
    with push_to(engine, store, env={"LD_PRELOAD": str(slow_clock(tmp_path, mark, 3))}) as agent:
        wait_rows(store, 5)
        mark.touch()
        before = rows_of(store)
        wait_rows(store, before + 5)
        with engine:
            agent.expect("is refused, and what is refused is not sent again: it answers 400: ")
            wait_for(lambda: place(store)[0] > before + 5, "later rows")
            wait_for(lambda: parse(agent.scrape())["wattle_push_samples_total", frozenset({("result", "refused")})] > 0, "a count")
            agent.end()


@pytest.mark.parametrize("kind", [Victoria, Prometheus])
def test_an_agent_that_was_off_for_a_week(kind, tmp_path):
    """VictoriaMetrics takes rows of a week ago; Prometheus, as it is set by default, does not: they are counted, and what follows is taken."""
    store, mark = tmp_path / "store", tmp_path / "a-week-ago"
    mark.touch()
    (tmp_path / "engine").mkdir()
    engine = kind(tmp_path / "engine")
    with push_to(engine, store, env={"LD_PRELOAD": str(slow_clock(tmp_path, mark, 7 * 86400))}) as agent:
        agent.expect("fails, and is tried again")
        wait_rows(store, 4)
        agent.end()
    old = rows_of(store)
    with engine:
        # It has something of now, as it would after a week; else Prometheus would begin with what is old.
        with Agent(*XEON, "--store", tmp_path / "other", "--push", engine.url, "--push-interval", "1s", "--push-label", "instance=other") as agent:
            wait_for(lambda: has_rows(engine, 1), "a row of another agent")
            agent.end()
        others = rows_of(tmp_path / "other")
        with push_to(engine, store) as agent:
            if kind is Prometheus:
                agent.expect("is refused, and what is refused is not sent again: it answers 400: ")
            wait_for(lambda: place(store)[0] > old + 2, "rows")
            told = parse(agent.scrape())
            agent.end()
        n = rows_of(store) - (old if kind is Prometheus else 0) + others
        wait_for(lambda: has_rows(engine, n), "all rows")
        assert len(times_at(engine)) == n
    refused = told["wattle_push_samples_total", frozenset({("result", "refused")})]
    assert (refused > 0) == (kind is Prometheus)


def test_an_engine_without_a_free_connection(tmp_path):
    """Prometheus lets whoever comes then wait, without an error."""
    store = tmp_path / "store"
    (tmp_path / "engine").mkdir()
    engine = Prometheus(tmp_path / "engine", "--web.max-connections=2")
    with engine, contextlib.ExitStack() as held:
        for _ in range(2):
            held.enter_context(socket.create_connection(("127.0.0.1", engine.port)))
        with push_to(engine, store) as agent:
            agent.expect("fails, and is tried again: Timeout", timeout=90)
            held.close()
            agent.expect("works again", timeout=90)
            agent.end()
        n = rows_of(store)
        wait_for(lambda: has_rows(engine, n), "all rows")
        assert len(times_at(engine)) == n
