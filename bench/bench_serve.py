#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `wattle serve` costs: a scrape, CPU time and memory beside many processes, also where it found a recording of the day before; and
node_exporter and scaphandre in the same run.

Prints ratios and the targets, and never fails for being slow. BESIDE=1000,10000 says how many sleep. The recording needs a build with tests. SCAPHANDRE and
NODE_EXPORTER name the programs; scaphandre is `cargo install scaphandre --no-default-features --features prometheus,json`. It needs RAPL: without it,
run this in the simulated machine (tests/sim), with SCAPHANDRE_PRELOAD as in bench_peers.py.
"""

import http.client
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from bench_top import read_all_stats

REPO = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("WATTLE_BUILD_ROOT", REPO / "build"))
WATTLE = os.environ.get("WATTLE", str(BUILD / "wattle"))
BESIDE = [int(n) for n in os.environ.get("BESIDE", "1000,10000").split(",")]
SECONDS = float(os.environ.get("SECONDS_WATCHED", "20"))
SCRAPES = int(os.environ.get("SCRAPES", "101"))
PAGES = 20
OTHERS = (
    ("node_exporter", os.environ.get("NODE_EXPORTER", "prometheus-node-exporter"), ("--web.listen-address=127.0.0.1:9348",), 9348),
    ("scaphandre", os.environ.get("SCAPHANDRE", "scaphandre"), ("--no-header", "prometheus", "-a", "127.0.0.1", "-p", "9349"), 9349),
)
DAY_BEGAN = 1795219200  # the first second of what bench_report writes
DAY_S, DAY_PROCESSES = 86400, 200
# One program that has so many children asleep: a shell for each would take the memory of the machine.
SLEEPERS = "import os, signal, sys\nfor i in range(int(sys.argv[1])):\n    if os.fork() == 0:\n        signal.pause()\nprint('ready', flush=True)\nsignal.pause()\n"


def cpu_s(pid):
    """Of all threads, to the nanosecond."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text(encoding="utf-8").split()[0]) for task in tasks) / 1e9


def rss_mb(pid, which="VmRSS"):
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith(which + ":")).split()[1]) / 1024


def scrape(port, gzip):
    """Seconds of one, as a client sees it, and bytes."""
    there = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    there.connect()
    begin = time.perf_counter()
    there.request("GET", "/metrics", headers={"Accept-Encoding": "gzip"} if gzip else {"Accept-Encoding": "identity"})
    body = there.getresponse().read()
    took = time.perf_counter() - begin
    there.close()
    return took, len(body)


def page(port, end):
    """What web/wattle.js asks for until then: the stream, and the last minute each five seconds."""
    stream = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    stream.request("GET", "/api/v1/stream", headers={"Accept": "text/event-stream"})
    frames, again, rest = stream.getresponse(), time.monotonic(), http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    while time.monotonic() < end and frames.readline():
        if time.monotonic() < again:
            continue
        again = time.monotonic() + 5
        for path in ("history", "use", "windows"):
            rest.request("GET", f"/api/v1/{path}?from={time.time() - 60:.3f}&to={time.time():.3f}")
            rest.getresponse().read()
    stream.close()
    rest.close()


def pss_mb(pids):
    """Of several together: what they share counts once."""
    rolled = [Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8") for pid in pids]
    return sum(int(re.search(r"^Pss: +(\d+)", text, re.M)[1]) for text in rolled) / 1024


class Server:
    def __init__(self, *command, port=None, preload=None, env=()):
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE if port is None else subprocess.DEVNULL,
                                        env={**os.environ, **({"LD_PRELOAD": preload} if preload else {}), **dict(env)})
        self.port = port or int(re.search(r":(\d+)/", next(line for line in map(bytes.decode, self.process.stderr) if "serving at" in line))[1])
        for _ in range(300):
            try:
                if scrape(self.port, False)[1] > 1000:
                    return
            except OSError:
                pass
            if self.process.poll() is not None:
                raise RuntimeError(f"it ends with {self.process.returncode}")
            time.sleep(0.1)
        self.end()
        raise RuntimeError("it does not answer")

    def watch(self, seconds):
        """Share of a core without scrapes, of the CPU time of a scrape of a snapshot, and of further ones of the same."""
        before = cpu_s(self.process.pid)
        time.sleep(seconds)
        share = (cpu_s(self.process.pid) - before) / seconds
        memory = rss_mb(self.process.pid)
        times = {}
        for gzip in (False, True):
            took, spent = [], []
            for _ in range(SCRAPES):
                before = cpu_s(self.process.pid)
                took.append(scrape(self.port, gzip)[0])
                spent.append(cpu_s(self.process.pid) - before)
            times[gzip] = statistics.median(took), statistics.median(spent), max(spent)
        return share, memory, times, scrape(self.port, False)[1]

    def watch_pages(self, n, seconds):
        """Share of a core, and memory, with so many pages open."""
        threads = [threading.Thread(target=page, args=(self.port, time.monotonic() + seconds + 5)) for _ in range(n)]
        for thread in threads:
            thread.start()
        time.sleep(3)
        before = cpu_s(self.process.pid)
        time.sleep(seconds)
        share, memory = (cpu_s(self.process.pid) - before) / seconds, rss_mb(self.process.pid)
        for thread in threads:
            thread.join()
        return share, memory

    def end(self):
        self.process.terminate()
        self.process.wait()


def tell(name, measured, targets=("", "", "")):
    share, memory, times, size = measured
    print(f"  {name}: {share * 100:.2f} % of a core{targets[0]}, {memory:.1f} MB{targets[1]}, {size / 1024:.0f} KiB a scrape")
    for gzip, (took, spent, most) in times.items():
        print(f"    {'gzip ' if gzip else 'plain'}: {took * 1e3:.2f} ms for the client, {spent * 1e3:.2f} ms (most {most * 1e3:.2f} ms) of CPU time in the "
              f"server{targets[2]}")


def compare(name, program, words, port, ours):
    """Beside another exporter, which reads what it tells in each scrape."""
    if not shutil.which(program):
        print(f"  {name} is not there")
        return
    try:
        other = Server(program, *words, port=port, preload=os.environ.get(f"{name.upper()}_PRELOAD"))
    except RuntimeError as err:
        print(f"  {name} cannot be compared: {err}")
        return
    theirs = other.watch(5)
    other.end()
    tell(name, theirs)
    print(f"  {name}/wattle: {theirs[2][False][0] / ours[2][False][0]:.1f} times as long a scrape, {theirs[1] / ours[1]:.1f} times the memory")


def make_day(folder):
    """A recording of a day in a folder, and the variables by which the clock shows that it has just ended. None: this build has no tests."""
    generator, clock = BUILD / "bench" / "bench_report", BUILD / "tests" / "gate" / "libotherclock.so"
    if not (generator.exists() and clock.exists()):
        return None
    path = Path(folder) / time.strftime("wattle-serve-%Y%m%d-%H%M%S.wattle", time.gmtime(DAY_BEGAN))
    subprocess.run([generator, path, str(DAY_S), str(DAY_PROCESSES)], check=True, stdout=subprocess.DEVNULL)
    os.utime(path, (DAY_BEGAN + DAY_S, DAY_BEGAN + DAY_S))
    return {"LD_PRELOAD": str(clock), "WATTLE_TEST_CLOCK": str(DAY_BEGAN + DAY_S + 5)}


def watch_filled(folder):
    """Memory of an agent that finds a day: at most while it plays that, and then."""
    clock = make_day(folder)
    if not clock:
        print("    this build has no tests: no recording of the day before")
        return
    agent = Server(WATTLE, "serve", "--port", "0", "--store", folder, env=clock)
    there = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=30)
    while True:
        there.request("GET", f"/api/v1/history?from={DAY_BEGAN + 3600}&to={DAY_BEGAN + 3660}")
        if any(json.loads(there.getresponse().read())["domains"][0]["power_w"]):
            break
        time.sleep(1)
    there.close()
    memory = agent.watch(3)[1]
    print(f"    with a recording of the day before: {memory:.1f} MB (target: 12 MB), {rss_mb(agent.process.pid, 'VmHWM'):.1f} MB while it is played")
    agent.end()


def watch_halves(folder):
    """Memory of an agent in two processes."""
    socket = f"{folder}/socket"
    with subprocess.Popen((WATTLE, "serve", "--reader", "--socket", socket, "--store", f"{folder}/store"), stderr=subprocess.DEVNULL) as reader:
        exporter = Server(WATTLE, "serve", "--exporter", "--socket", socket, "--port", "0")
        time.sleep(5)
        exporter.watch(3)
        pids = reader.pid, exporter.process.pid
        print(f"    in two processes: reader {rss_mb(pids[0]):.1f} MB, exporter {rss_mb(pids[1]):.1f} MB, PSS of both {pss_mb(pids):.1f} MB")
        exporter.end()
        reader.terminate()


def beside(n, store):
    with subprocess.Popen(("python3", "-S", "-E", "-c", SLEEPERS, str(n)), stdout=subprocess.PIPE, process_group=0) as sleepers:
        try:
            assert sleepers.stdout.readline() == b"ready\n"
            print(f"beside {n} processes that sleep:")
            reading = statistics.median(read_all_stats() for _ in range(5))
            agent = Server(WATTLE, "serve", "--port", "0", "--store", f"{store}/{n}")
            time.sleep(5)
            ours = agent.watch(SECONDS)
            share, memory = agent.watch_pages(PAGES, SECONDS)
            agent.end()
            print(f"  a pass over every /proc/PID/stat: {reading * 1e3:.2f} ms; wattle serve takes {ours[0] / reading:.1f} times that a second")
            tell("wattle serve", ours, (" (target: 0.3 % beside 1000)", " (target: 12 MB)", " (target: 1 ms beside 10000)"))
            print(f"    with {PAGES} pages open: {share * 100:.2f} % of a core (target: 1 %), {memory:.1f} MB")
            with tempfile.TemporaryDirectory() as folder:
                watch_filled(folder)
            with tempfile.TemporaryDirectory() as folder:
                watch_halves(folder)
            for name, program, words, port in OTHERS:
                compare(name, program, words, port, ours)
        finally:
            os.killpg(sleepers.pid, 9)


def leave_others():
    """Only the processes of the benchmark count where the rights suffice for a PID namespace: the neighbours' come and go."""
    inside = ("unshare", "-mpf", "--mount-proc")
    if "BENCH_INSIDE" in os.environ:
        return
    if subprocess.run((*inside, "true"), capture_output=True, check=False).returncode == 0:
        os.execvpe(inside[0], (*inside, sys.executable, *sys.argv), dict(os.environ, BENCH_INSIDE="1"))
    print("no PID namespace: the processes of others count as well")


def main():
    leave_others()
    with tempfile.TemporaryDirectory() as store:
        for n in BESIDE:
            beside(n, store)


if __name__ == "__main__":
    main()
