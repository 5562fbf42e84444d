# SPDX-License-Identifier: MIT
"""`wattle serve` for the tests of its API and its page."""

import http.client
import os
import re
import select
import signal
import threading
import time

from conftest import REPO, parse_json, start_wattle

TAPES = REPO / "tests" / "fixtures" / "tapes"


class Server:
    """One that listens; `with Server(...) as server`."""

    def __init__(self, *options, env=None):
        self.process = start_wattle("serve", "--port", "0", *options, env=env)
        self.port = int(re.search(rb"http://127\.0\.0\.1:(\d+)/", self.line()).group(1))
        self.url = f"http://127.0.0.1:{self.port}"

    def line(self, timeout=60):
        """The first line on standard error that names the address."""
        seen, end = b"", time.monotonic() + timeout
        while b"serving at" not in seen or not seen.endswith(b"\n"):
            assert time.monotonic() < end, seen
            if select.select([self.process.stderr], [], [], 0.1)[0]:
                more = os.read(self.process.stderr.fileno(), 4096)
                assert more, seen
                seen += more
        return seen

    def request(self, path, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def text(self, path):
        status, _, body = self.request(path)
        assert status == 200, (status, body)
        return body.decode()

    def json(self, path):
        status, headers, body = self.request(path)
        assert (status, headers["Content-Type"]) == (200, "application/json"), (status, body)
        return parse_json(body.decode())

    def live(self, condition=lambda live: True, timeout=30):
        """The newest snapshot that meets the condition."""
        end = time.monotonic() + timeout
        while True:
            status, _, body = self.request("/api/v1/live")
            if status == 200:
                live = parse_json(body.decode())
                if condition(live):
                    return live
            assert time.monotonic() < end, body
            time.sleep(0.05)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        _, err = self.process.communicate(timeout=30)
        return self.process.returncode, err

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def tape_server(name="busy-thread", *options):
    """A tape that has been played to its end: its answers stay as they are."""
    server = Server("--no-store", "--tape", TAPES / f"{name}.tape", *options)
    last = {"number": -1}
    while True:
        live = server.live()
        if live["number"] == last["number"]:
            return server
        last = live
        time.sleep(0.3)


class Mover:
    """Counters of a machine root that move on while it is measured: watts by zone."""

    def __init__(self, machine, watts):
        self.machine, self.watts = machine, watts
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.move)

    def move(self):
        begin = time.monotonic()
        first = {zone: int(self.machine.zone(zone).read_text()) for zone in self.watts}
        while not self.over.wait(0.02):
            for zone, watts in self.watts.items():
                path = self.machine.zone(zone)
                now = first[zone] + round(watts * 1e6 * (time.monotonic() - begin))
                fd = os.open(path, os.O_WRONLY)
                os.pwrite(fd, str(now).ljust(path.stat().st_size - 1).encode() + b"\n", 0)
                os.close(fd)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
