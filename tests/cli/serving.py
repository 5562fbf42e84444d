# SPDX-License-Identifier: MIT
"""An agent (`wattle serve`) for the tests: started, asked and ended."""

import http.client
import re
import select
import signal
import socket
import subprocess
import time

from conftest import TIMEOUT, clean_env, command_path


class Agent:
    """`with Agent(args…) as agent:` serves at a free port, and is ended (SIGTERM) with the block.

    What it said on standard error is in `said` up to now, and all of it after the end.
    """

    def __init__(self, *args, env=None, wants_port=True, **popen):
        words = [command_path(), "serve", *(("--port", "0") if "--port" not in args else ()), *map(str, args)]
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

    def rss_bytes(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * 4096
