# SPDX-License-Identifier: MIT
"""An agent (`wattle serve`) for the tests: started, asked and ended."""

import http.client
import os
import re
import select
import signal
import socket
import subprocess
import threading
import time

from conftest import TIMEOUT, clean_env, command_path


class Agent:
    """`with Agent(args…) as agent:` serves at a free port, and is ended (SIGTERM) with the block.

    What it said on standard error is in `said` up to now, and all of it after the end.
    """

    def __init__(self, *args, env=None, wants_port=True, **popen):
        words = [command_path(), "serve", *(("--port", "0") if not {"--port", "--reader"} & set(args) else ()), *map(str, args)]
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=clean_env(**(env or {})), **popen)
        self.said = ""
        self.port = self.code = None
        if wants_port:
            self.port = int(self.expect(r"serving at https?://\S+:(\d+)/")[1])

    def expect(self, pattern, timeout=TIMEOUT):
        """Waits until that was said; the match."""
        end = time.monotonic() + timeout
        err = self.process.stderr
        while not (found := re.search(pattern, self.said)):
            left = end - time.monotonic()
            assert left > 0, f"'{pattern}' was not said: {self.said}"
            if not select.select([err], [], [], left)[0]:
                continue
            more = err.read1(65536).decode(errors="backslashreplace")
            assert more, f"it ended ({self.process.wait()}) without '{pattern}': {self.said}"
            self.said += more
        return found

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.end()

    def end(self, by=signal.SIGTERM):
        """The exit status; -9 and the like where a signal ended it."""
        if self.code is None:
            if self.process.poll() is None:
                self.process.send_signal(by)
            try:
                self.said += self.process.communicate(timeout=TIMEOUT)[1].decode(errors="backslashreplace")
            finally:
                self.process.kill()
            self.code = self.process.returncode
        return self.code

    def connect(self, address="127.0.0.1"):
        return socket.create_connection((address, self.port), timeout=TIMEOUT)

    def ask(self, path, method="GET", headers=None, **how):
        """Status, headers and body."""
        there = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT, **how)
        try:
            there.request(method, path, headers=headers or {})
            answer = there.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            there.close()

    def scrape(self):
        """The body of /metrics, as soon as there was a measurement."""
        end = time.monotonic() + TIMEOUT
        while True:
            status, _, body = self.ask("/metrics")
            if status == 200:
                return body.decode()
            assert status == 503 and time.monotonic() < end, (status, body)
            time.sleep(0.02)

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def threads(self):
        return os.listdir(f"/proc/{self.process.pid}/task")

    def rss_bytes(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * 4096


class Moving:
    """`with Moving(machine, 20):` moves a machine's counters by 100 W for each, and has so many processes that are busy in turn."""

    TICK_S = 0.05

    def __init__(self, machine, processes=0, name="worker-{}"):
        self.machine, self.n = machine, processes
        self.files = []
        self.thread, self.over = threading.Thread(target=self.move), threading.Event()
        self.busy = [0] * processes  # in clock ticks of 10 ms
        self.stat = (machine.path / "proc/stat").read_text()
        self.perf = {path: int(path.read_text()) for path in (machine.path / "wattle-perf").iterdir()}
        self.digits = {path: path.stat().st_size - 1 for path in self.perf}
        for i in range(processes):
            machine.put(f"proc/{1000 + i}/cgroup", f"0::/system.slice/unit-{i % 70}.service\n")
            machine.put(f"proc/{1000 + i}/status", f"Name:\t{name.format(i)}\nUid:\t{i % 5}\t{i % 5}\t{i % 5}\t{i % 5}\n")
            machine.put(f"proc/{1000 + i}/comm", name.format(i) + "\n")
        self.name = name
        self.write()

    def write(self):
        for i, ticks in enumerate(self.busy):
            zeros = " ".join("0" * 27)
            stat = f"{1000 + i} ({self.name.format(i)}) S 1 1 1 0 -1 0 0 0 0 0 {ticks:012} 0 0 0 20 0 1 0 100 {zeros}\n"
            self.put(self.machine.path / f"proc/{1000 + i}/stat", stat)
        fields = self.stat.split("\n", 1)
        first = fields[0].split()
        first[1] = str(int(first[1]) + sum(self.busy))
        self.put(self.machine.path / "proc/stat", " ".join(["cpu ", *first[1:]]) + "\n" + fields[1])

    @staticmethod
    def put(path, text):
        with open(path, "r+b" if path.exists() else "wb") as file:
            file.write(text.encode())

    def move(self):
        turn = 0
        while not self.over.wait(self.TICK_S):
            for path in self.perf:
                self.perf[path] += int(100 * self.TICK_S * 2 ** 32)
                self.put(path, f"{self.perf[path]:0{self.digits[path]}}\n")
            for _ in range(min(self.n, 20)):
                self.busy[turn % self.n] += 5
                turn += 1
            if self.n:
                self.write()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *what):
        self.over.set()
        self.thread.join()
