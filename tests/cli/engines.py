# SPDX-License-Identifier: MIT
"""Engines that metrics are pushed to: real ones, and one that answers what a test wants."""

import gzip
import http.server
import json
import shutil
import socket
import struct
import subprocess
import threading
import time
import urllib.parse
import urllib.request

import pytest

from conftest import wait_for

STALE = 0x7FF0000000000002


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def certificate(folder, name):
    """A certificate with its key, of this machine ("here") or of another one."""
    key, pem = folder / f"{name}.key", folder / f"{name}.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext",
                    f"subjectAltName={'IP:127.0.0.1' if name == 'here' else 'DNS:elsewhere.example'}", "-keyout", key, "-out", pem],
                   check=True, capture_output=True)
    both = folder / f"{name}-both.pem"
    both.write_text(pem.read_text() + key.read_text())
    return both


class Engine:
    """A program at a port of its own, with a folder. It can be killed and started again."""

    binary = ready = path = package = None

    def __init__(self, folder, *options):
        if not shutil.which(self.binary):
            pytest.skip(f"{self.binary} (Debian's package {self.package}) is not there")
        self.folder, self.port, self.process = folder, free_port(), None
        self.options = options
        self.url = f"http://127.0.0.1:{self.port}{self.path}"

    def words(self):
        raise NotImplementedError

    def start(self):
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen([self.binary, *self.words(), *self.options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder)
        wait_for(self.is_up, self.binary)
        return self

    def is_up(self):
        try:
            self.get(self.ready)
            return True
        except OSError:
            return False

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *what):
        if self.process:
            self.kill()

    def get(self, path, **arguments):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode(arguments)}", timeout=30) as answer:
            return answer.read().decode()


class Victoria(Engine):
    binary, package, ready, path = "victoria-metrics", "victoria-metrics", "/health", "/api/v1/write"

    def words(self):
        return (f"-storageDataPath={self.folder}/vm", f"-httpListenAddr=127.0.0.1:{self.port}", "-loggerLevel=ERROR", "-memory.allowedPercent=5")

    def series(self, selector):
        """Labels and {ms: value} of each series."""
        lines = self.get("/api/v1/export", **{"match[]": selector}).splitlines()
        return [(row["metric"], dict(zip(row["timestamps"], row["values"]))) for row in map(json.loads, lines)]


class Prometheus(Engine):
    binary, package, ready, path = "prometheus", "prometheus", "/-/ready", "/api/v1/write"
    settings = "global: {scrape_interval: 1h}\n"

    def words(self):
        (self.folder / "prometheus.yml").write_text(self.settings)
        return (f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/data", f"--web.listen-address=127.0.0.1:{self.port}",
                "--web.enable-remote-write-receiver", "--log.level=error")

    def series(self, selector):
        result = json.loads(self.get("/api/v1/query", query=f"{selector}[2h]"))["data"]["result"]
        return [(row["metric"], {round(t * 1000): float(value) for t, value in row["values"]}) for row in result]


class LatePrometheus(Prometheus):
    """One that takes samples which are older than the newest, as docs/fleet.md tells to."""

    settings = Prometheus.settings + "storage: {tsdb: {out_of_order_time_window: 24h}}\n"


class Relay(Engine):
    """vmagent: takes what agents push, and passes it on to an engine that need not be up."""

    binary, package, ready, path = "vmagent", "victoria-metrics", "/health", "/api/v1/write"

    def __init__(self, folder, engine):
        super().__init__(folder)
        self.engine = engine

    def words(self):
        return (f"-remoteWrite.url={self.engine.url}", f"-remoteWrite.tmpDataPath={self.folder}/vmagent", f"-httpListenAddr=127.0.0.1:{self.port}",
                "-remoteWrite.label=rack=r1", "-loggerLevel=ERROR", "-memory.allowedPercent=5")


class Influx(Engine):
    binary, package, ready, path = "influxd", "influxdb", "/ping", "/write?db=wattle&precision=ms"

    def words(self):
        (self.folder / "influx.conf").write_text(f"""reporting-disabled = true
bind-address = "127.0.0.1:{free_port()}"
[meta]
dir = "{self.folder}/meta"
[data]
dir = "{self.folder}/data"
wal-dir = "{self.folder}/wal"
[http]
bind-address = "127.0.0.1:{self.port}"
log-enabled = false
""")
        return ("-config", f"{self.folder}/influx.conf")

    def start(self):
        super().start()
        urllib.request.urlopen(f"http://127.0.0.1:{self.port}/query", data=b"q=CREATE+DATABASE+wattle", timeout=30).close()
        return self

    def series(self, name):
        return [({}, dict(row["values"])) for row in self.query(f"SELECT value FROM {name}").get("series", [])]

    def query(self, query):
        return json.loads(self.get("/query", db="wattle", q=query, epoch="ms"))["results"][0]


# ---- One that answers what a test wants ----

def number(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def unsnap(data):
    """What Snappy's block format made smaller (its format description, v2011-10-05)."""
    size, at = number(data, 0)
    out = bytearray()
    while at < len(data):
        tag = data[at]
        at += 1
        if tag & 3 == 0:
            length = tag >> 2
            if length >= 60:
                extra = length - 59
                length = int.from_bytes(data[at:at + extra], "little")
                at += extra
            out += data[at:at + length + 1]
            at += length + 1
            continue
        if tag & 3 == 1:
            length, offset = 4 + (tag >> 2 & 7), (tag >> 5) << 8 | data[at]
            at += 1
        else:
            wide = 2 if tag & 3 == 2 else 4
            length, offset = 1 + (tag >> 2), int.from_bytes(data[at:at + wide], "little")
            at += wide
        for _ in range(length):
            out.append(out[-offset])
    assert len(out) == size
    return bytes(out)


def fields(data):
    """Number and content of each field of a protobuf message."""
    at = 0
    while at < len(data):
        key, at = number(data, at)
        if key & 7 == 2:
            length, at = number(data, at)
            yield key >> 3, data[at:at + length]
            at += length
        elif key & 7 == 1:
            yield key >> 3, data[at:at + 8]
            at += 8
        else:
            assert key & 7 == 0
            value, at = number(data, at)
            yield key >> 3, value


def remote_write(body):
    """{labels as sorted pairs: [(ms, value, or None for stale)]}; labels must be in order, and times rise."""
    series = {}
    for field, message in fields(unsnap(body)):
        assert field == 1
        labels, samples = [], []
        for kind, part in fields(message):
            parts = dict(fields(part))
            if kind == 1:
                labels.append((parts[1].decode(), parts[2].decode()))
            else:
                bits = struct.unpack("<Q", parts[1])[0]
                samples.append((parts[2], None if bits == STALE else struct.unpack("<d", parts[1])[0]))
        assert labels == sorted(labels) and len({name for name, _ in labels}) == len(labels)
        assert samples == sorted(samples, key=lambda sample: sample[0]) and tuple(labels) not in series
        series[tuple(labels)] = samples
    return series


class Fake:
    """`answer(n, series)` is asked for each request: a status, or status, headers and body. None: the connection is cut.

    `query(path)` is asked what a query finds: the body of the answer.
    """

    def __init__(self, answer, wrap=None, query=None):
        fake = self
        self.requests, self.times, self.headers = [], [], []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                fake.headers.append(dict(self.headers))
                coded = self.headers.get("Content-Encoding")
                series = remote_write(body) if coded == "snappy" else (gzip.decompress(body) if coded == "gzip" else body).decode()
                fake.times.append(time.monotonic())
                said = answer(len(fake.requests), series)
                fake.requests.append((said, series, len(body)))
                if said is None:
                    self.wfile.write(b"HTTP/1.1 2")
                    self.close_connection = True
                    return
                status, headers, text = said if isinstance(said, tuple) else (said, {}, b"")
                self.send_response(status)
                for name, value in {"Content-Length": str(len(text)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self):
                body = query(urllib.parse.unquote(self.path)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if wrap:
            self.server.socket = wrap(self.server.socket)
        self.port = self.server.server_address[1]
        self.url = f"http{'s' if wrap else ''}://127.0.0.1:{self.port}/api/v1/write"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *what):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def rows(self, taken=True):
        """{ms: {labels: value}} of all that was answered with 2xx, or of all."""
        rows = {}
        for said, series, _ in list(self.requests):
            status = said[0] if isinstance(said, tuple) else said
            if taken and (status is None or status // 100 != 2):
                continue
            for labels, samples in series.items():
                for at, value in samples:
                    rows.setdefault(at, {})[labels] = value
        return rows
