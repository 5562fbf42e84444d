#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `wattle serve --push` costs an agent, and what a fleet of agents costs an engine.

Prints figures and the targets, and never fails for being slow. AGENTS=10000, SERIES=124, REQUESTS=2 and ROWS=86400 are the
fleet's agents, series of each, requests of ten rows each, and the rows of a backlog. ONLY=fleet leaves the agent out;
ENGINES=prometheus is for one of the two. A fleet sends for FLEET_SECONDS=240 at most.
"""

import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO / "tests" / "cli"))

from bench_serve import cpu_s, rss_mb  # noqa: E402  pylint: disable=wrong-import-position
from engines import Prometheus, Victoria  # noqa: E402  pylint: disable=wrong-import-position

BUILD = Path(os.environ.get("WATTLE_BUILD_ROOT", REPO / "build"))
WATTLE = os.environ.get("WATTLE", str(BUILD / "wattle"))
AGENTS, SERIES, REQUESTS, ROWS = (int(os.environ.get(name, default)) for name, default in
                                  (("AGENTS", 10000), ("SERIES", 124), ("REQUESTS", 2), ("ROWS", 86400)))
SECONDS = int(os.environ.get("SECONDS_WATCHED", "60"))
PAIRS = int(os.environ.get("PAIRS", "3"))
FLEET_SECONDS = int(os.environ.get("FLEET_SECONDS", "240"))
ENGINES = os.environ.get("ENGINES", "victoria-metrics,prometheus").split(",")
CORES, MEMORY_GB = 16, 64  # of an engine's node


def folder_mb(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def scrape(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        lines = [line.rpartition(" ") for line in answer.read().decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


class Agent:
    def __init__(self, store, *options):
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen([WATTLE, "serve", "--port", "0", "--store", store, *options], stderr=subprocess.PIPE, text=True)
        self.port = int(re.search(r":(\d+)/", next(line for line in self.process.stderr if "serving at" in line))[1])

    def end(self):
        self.process.terminate()
        self.process.communicate()


def watch(folder, *options):
    """CPU seconds a second and resident MB of an agent, and what it says of its pushes."""
    agent = Agent(folder, *options)
    time.sleep(5)
    begin, cpu = time.monotonic(), cpu_s(agent.process.pid)
    time.sleep(SECONDS)
    cost = (cpu_s(agent.process.pid) - cpu) / (time.monotonic() - begin)
    memory, told = [rss_mb(agent.process.pid, which) for which in ("VmRSS", "RssAnon")], scrape(agent.port)
    agent.end()
    return cost, memory, told


def an_agent(folder, url):
    cpus, memories = [], []
    for i in range(PAIRS):
        alone = watch(folder / f"alone-{i}")
        pushing = watch(folder / f"pushing-{i}", "--push", url)
        cpus.append(pushing[0] - alone[0])
        memories.append([with_it - without for with_it, without in zip(pushing[1], alone[1])])
    told = pushing[2]
    sent = told['wattle_push_samples_total{result="sent"}']
    print(f"an agent that pushes every 10 s, median of {PAIRS} pairs of {SECONDS} s: {100 * statistics.median(cpus):+.3f} % of a core (target 0.1), "
          f"{statistics.median(own for _, own in memories):+.1f} MB of its own (target 2) and with the libraries' files {statistics.median(all_of_it for all_of_it, _ in memories):+.1f} MB, {told['wattle_push_bytes_total'] / sent:.1f} bytes a sample on the wire (target 9), "
          f"{sent / told['wattle_push_requests_total']:.0f} samples a request")


def a_backlog(folder, url):
    store = folder / "backlog"
    store.mkdir()
    subprocess.run([BUILD / "bench" / "bench_push", "store", store / "wattle-serve-20200101-000000.wattle", str(SERIES), str(ROWS)], check=True)
    size = folder_mb(store)
    agent = Agent(store, "--push", url, "--push-interval", "1s")
    begin, told = time.monotonic(), {}
    while told.get('wattle_push_samples_total{result="sent"}', 0) < 0.999 * SERIES * ROWS and time.monotonic() - begin < 600:
        time.sleep(0.5)
        try:
            told = scrape(agent.port)
        except OSError:
            pass
    took, late = time.monotonic() - begin, told["wattle_self_late_ticks_total"]
    agent.end()
    sent = told['wattle_push_samples_total{result="sent"}']
    print(f"a backlog of {ROWS} rows of {SERIES} series, {size:.1f} MB ({size * 1e6 / SERIES / ROWS:.2f} bytes a sample): "
          f"{sent / took:,.0f} samples/s (target 100,000), {late:.0f} late ticks")


def sent_to(engine, agents, requests):
    done = subprocess.run([BUILD / "bench" / "bench_push", "fleet", engine.url, str(agents), str(SERIES), str(requests), str(FLEET_SECONDS)],
                          capture_output=True, text=True, check=True)
    return map(float, done.stdout.split())


def on_disk(kind, folder):
    """Bytes a sample of data that is merged: an hour of few agents, for in a short run the index of series is most of it."""
    with kind(folder, *(("--web.enable-admin-api",) if kind is Prometheus else ())) as engine:
        samples, *_ = sent_to(engine, 20, 400)
        if kind is Prometheus:
            urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{engine.port}/api/v1/admin/tsdb/snapshot", method="POST"), timeout=300).close()
            data = engine.folder / "data" / "snapshots"
        else:
            engine.process.terminate()  # what it has in memory goes to the disk
            engine.process.wait()
            engine.process = None
            data = engine.folder / "vm" / "data"
        print(f"{kind.binary}: {folder_mb(data) * 1e6 / samples:.2f} bytes a sample on disk, of {samples / 1e6:.1f} million of {20 * SERIES} series")


def a_fleet(engine):
    cpu = cpu_s(engine.process.pid)
    samples, sent, seconds, own, failed, agents = sent_to(engine, AGENTS, REQUESTS)
    spent = cpu_s(engine.process.pid) - cpu
    memory = rss_mb(engine.process.pid)
    per_core = samples / spent
    print(f"{engine.binary}: {agents:.0f} agents, {agents * SERIES / 1e6:.2f} million series, {samples / 1e6:.1f} million samples in {seconds:.0f} s, {failed:.0f} requests failed: "
          f"{per_core:,.0f} samples/s per core of the engine, {sent / samples:.1f} bytes a sample on the wire, "
          f"{memory:.0f} MB; {samples / own:,.0f} samples/s per core of the sender")
    for period in (1, 10):
        rate = 100000 * SERIES / period
        cores, memory_gb = rate / per_core, 100000 * memory / agents / 1000
        print(f"  100,000 nodes with a sample every {period} s: {rate / 1e6:.2f} million samples/s = {cores:.1f} cores, {memory_gb:.0f} GB of memory: "
              f"{math.ceil(max(cores / (CORES / 2), memory_gb / (MEMORY_GB / 2)))} engine nodes of {CORES} cores and {MEMORY_GB} GB, half of both left free")


def main():
    folder = Path(tempfile.mkdtemp(prefix="wattle-push-"))
    try:
        for kind in (Victoria, Prometheus):
            if kind.binary not in ENGINES:
                continue
            if not shutil.which(kind.binary):
                print(f"{kind.binary} is not there", file=sys.stderr)
                continue
            place = folder / kind.binary
            place.mkdir()
            with kind(place) as engine:
                if kind is Victoria and os.environ.get("ONLY") != "fleet":
                    an_agent(folder, engine.url)
                    a_backlog(folder, engine.url)
                a_fleet(engine)
            (folder / f"{kind.binary}-disk").mkdir()
            on_disk(kind, folder / f"{kind.binary}-disk")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
