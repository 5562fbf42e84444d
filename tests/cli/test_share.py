# SPDX-License-Identifier: MIT
"""An agent (wattle serve) and the programs that ask it because they are denied the sensors: source `serve`."""

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from decimal import Decimal
from pathlib import Path

import pytest

from conftest import REPO, Machine, check_sums, clean_env, command_path, domain, finish, run_wattle, start_wattle, wait_for

ZONES = {"package-0": "intel-rapl:0", "package-1": "intel-rapl:1", "dram-0": "intel-rapl:0:0", "dram-1": "intel-rapl:1:0"}
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
STEP_UJ = 10_000


def connect(path):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.settimeout(20)
    one.connect(os.fspath(path))
    return one


def ask(one, question):
    one.send(question.encode())
    return one.recv(65536).decode()


def lines_of(answer):
    """The lines behind "ok", each a key and a value."""
    first, *rest = answer.splitlines()
    assert first == "ok", answer
    return [line.split(" ", 1) for line in rest]


def counts(one):
    """Channel numbers and values, as an agent tells them now."""
    return {int(number): int(rest.split()[3]) for number, rest in lines_of(ask(one, "read"))}


class Shared:
    """A machine that an agent measures (`there`), and the same machine as somebody sees it who is denied its counters."""

    def __init__(self, folder):
        self.folder = folder
        self.there = Machine("xeon-2s-dram", folder / "there").without_perf()
        self.here = Machine("xeon-2s-dram", folder / "here").without_perf()
        for zone in ZONES.values():
            self.here.zone(zone).write_text("!errno EACCES\n")
            self.there.zone(zone).write_text("1000000000      \n")
        (self.here.path / "run/wattle/agent").mkdir(parents=True)
        self.socket = self.here.path / "run/wattle/agent/serve.sock"
        self.agents = []

    def start(self, *options):
        port = () if "--reader" in options else ("--port", "0")
        agent = start_wattle("serve", "--root", self.there.path, *port, "--no-store", "--socket", self.socket, "-i", "20", *options)
        self.agents.append(agent)
        wait_for(lambda: self.is_heard() or agent.poll() is not None, "an agent")
        assert agent.poll() is None, finish(agent)
        return agent

    def is_heard(self):
        with contextlib.suppress(OSError):
            connect(self.socket).close()
            return True
        return False

    def add(self, joules, *zones):
        """Moves counters, and waits until the agent has seen it."""
        with connect(self.socket) as one:
            before = counts(one)
            for name in zones or ZONES:
                with open(self.there.zone(ZONES[name]), "r+b") as counter:  # in place: the agent holds it open
                    text = counter.read()
                    counter.seek(0)
                    counter.write(str(int(text) + int(joules * 10 ** 6)).ljust(len(text) - 1).encode() + b"\n")
            wait_for(lambda: sum(counts(one)[i] != v for i, v in before.items()) >= len(zones or ZONES), "the agent's sample")

    def close(self):
        for agent in self.agents:
            if agent.poll() is None:
                agent.kill()
            agent.communicate()


@pytest.fixture(name="shared")
def shared_machine():
    folder = Path(tempfile.mkdtemp(prefix="wt-", dir="/tmp"))  # sockets have short names, and others come here
    folder.chmod(0o755)
    one = Shared(folder)
    yield one
    one.close()
    shutil.rmtree(folder)


def test_a_folder_whose_owner_is_somebody_else(shared, tmp_path):
    """He puts a link in the socket's place before it is opened to everyone: what it leads to is not."""
    shim = Path(os.environ.get("WATTLE_BUILD_ROOT") or ".") / "tests/gate/libbindgate.so"
    if not shim.exists():
        pytest.skip("WATTLE_BUILD_ROOT does not name a build with the gate")
    victim = tmp_path / "shadow"
    victim.touch(0o600)
    result = finish(start_wattle("serve", "--root", shared.there.path, "--reader", "--no-store", "--socket", shared.socket,
                                 "--share-with", "everyone", env={"LD_PRELOAD": shim, "WATTLE_TEST_VICTIM": victim}))
    assert result.code == 1 and "cannot listen at" in result.err and "there is a file that is no socket" in result.err, result
    assert victim.stat().st_mode & 0o777 == 0o600
    assert not list(shared.socket.parent.iterdir())


class Waiting:
    """`wattle run` of a command that waits: there is time to do things meanwhile."""

    def __init__(self, shared, *options, before=(), wattle=None):
        self.ready, self.go = (shared.folder / name for name in ("ready", "go"))
        for fifo in (self.ready, self.go):
            if not fifo.exists():
                os.mkfifo(fifo)
                fifo.chmod(0o666)
        words = [*before, wattle or command_path(), "run", "--full", "-o", "-", "-f", "json", "-q", "-i", "20", *options,
                 "--", "sh", "-c", f"echo >{self.ready}; cat {self.go}"]
        self.process = subprocess.Popen([os.fspath(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=clean_env(HOME="/nonexistent"), cwd="/")
        with open(self.ready, encoding="ascii") as ready:
            ready.read()

    def finish(self):
        with open(self.go, "w", encoding="ascii"):
            pass
        result = finish(self.process)
        assert result.code == 0, result
        check_sums(result.json)
        return result.json


def seen_joules(shared, waiting, *zones_and_joules):
    """What a run tells, when so much is added while it runs."""
    for joules, *zones in zones_and_joules:
        shared.add(joules, *zones)
    # The client's next sample comes after the agent's, and before its last.
    return waiting.finish()


def test_energy_is_the_agents(shared):
    """Every microjoule that the agent's counters moved by, by domain, and in the sum."""
    shared.start()
    report = seen_joules(shared, Waiting(shared, "--root", shared.here.path), (50,), (7, "package-1"))
    for name in ZONES:
        line = domain(report, name)
        assert line["source"] == "serve" and line["method"] == "counter", line
        assert line["device"].endswith("read by root's agent (rapl-powercap)") or os.geteuid() != 0, line
        assert line["energy_j"] == (57 if name == "package-1" else 50), line
    assert report["total"]["energy_j"] == 207
    assert any("agent" in note for note in report.get("notes", [])), report.get("notes")


def test_doctor_names_the_source_and_the_agent(shared):
    assert "serve" not in run_wattle("doctor", "--root", shared.here.path).out
    shared.start()
    report = run_wattle("doctor", "--root", shared.here.path, "-f", "json").json
    assert {d["source"] for d in report["domains"]} == {"serve"}
    assert all("agent" in d["reason"] for d in report["domains"]), report["domains"]


def test_who_can_read_the_sensors_asks_nobody(shared):
    """The agent's socket is where root's machine would have it, and is left alone."""
    shared.start()
    (shared.there.path / "run/wattle/agent").mkdir(parents=True)
    os.link(shared.socket, shared.there.path / "run/wattle/agent/serve.sock")
    report = run_wattle("doctor", "--root", shared.there.path, "-f", "json").json
    assert {d["source"] for d in report["domains"]} == {"rapl-powercap"}


def test_a_tape_has_what_the_agent_said(shared):
    """A tape that was made beside an agent replays without one, to the same figures."""
    shared.start()
    tape = shared.folder / "x.tape"
    waiting = Waiting(shared, "--root", shared.here.path, "--tape-record", tape)
    live = seen_joules(shared, waiting, (20,))
    shared.close()
    result = run_wattle("run", "--tape", tape, "-f", "json")
    assert result.code == 0, result
    again = result.json
    for name in ZONES:
        assert domain(again, name)["energy_j"] == domain(live, name)["energy_j"] == 20
        assert domain(again, name)["source"] == "serve"


def test_a_recording_has_what_the_agent_told(shared):
    """It is played to the same figures, and is sound."""
    shared.start()
    path = shared.folder / "x.wattle"
    waiting = Waiting(shared, "--root", shared.here.path, "--record", path)
    shared.add(13)
    shared.add(4, "dram-1")
    live = waiting.finish()
    again = run_wattle("report", "-f", "json", path).json
    for name in ZONES:
        line = domain(again, name)
        assert line["source"] == "serve" and line["energy_j"] == domain(live, name)["energy_j"] == (17 if name == "dram-1" else 13)
        assert line["uncertainty_j"] == domain(live, name)["uncertainty_j"]
    checked = run_wattle("report", "--check", path)
    assert checked.code == 0, checked


@contextlib.contextmanager
def moving(shared):
    """The counters move meanwhile."""
    stop = threading.Event()

    def move():
        while not stop.wait(0.05):
            with contextlib.suppress(OSError, AssertionError):
                shared.add(1)
    mover = threading.Thread(target=move, daemon=True)
    mover.start()
    try:
        yield
    finally:
        stop.set()
        mover.join(20)


def test_the_screen_and_query_ask(shared):
    """Measured, and so not marked as modelled."""
    shared.start()
    with moving(shared):
        screen = run_wattle("top", "--once", "--root", shared.here.path)
        assert screen.code == 0 and re.match(r" *[0-9.]+ k?W", screen.out), screen
        query = run_wattle("query", "--root", shared.here.path)
        assert query.code == 0 and re.search(r"package-0 [0-9.]+ (± [0-9.]+ )?k?W", query.out), query


SCRIPT = """
import sys, wattle
meter = wattle.Meter(root=sys.argv[1])
meter.begin("x")
print("begun", flush=True)
sys.stdin.readline()
window = meter.end("x")
for domain in meter.domains:
    print(domain.name, window.domains[domain.name].energy_uj, domain.source)
"""


def test_python_asks(shared):
    """The library, through the package: nothing has to be set."""
    library = Path(os.environ.get("WATTLE_BUILD_ROOT", "/nonexistent")) / "src"
    if not (library / "libwattle.so.0").exists():
        pytest.skip("WATTLE_BUILD_ROOT names no build")
    shutil.copytree(REPO / "python/wattle", shared.folder / "python/wattle", ignore=shutil.ignore_patterns("_lib"))
    (shared.folder / "python/wattle/_lib").symlink_to(library)
    shared.start()
    with subprocess.Popen([sys.executable, "-c", SCRIPT, shared.here.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True, env=clean_env(PYTHONPATH=shared.folder / "python", HOME="/nonexistent")) as program:
        assert program.stdout.readline() == "begun\n"
        shared.add(23)
        out, _ = program.communicate("\n", timeout=60)
    assert {tuple(line.split()) for line in out.splitlines()} == {(name, "23000000", "serve") for name in ZONES}, out


# ---- Who is told what ----

@pytest.fixture(name="stranger")
def another_user(shared):
    """The words with which another user starts a wattle."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")
    path = shared.folder / "wattle"
    shutil.copy(command_path(), path)
    path.chmod(0o755)
    if subprocess.run([*NOBODY, path, "--version"], capture_output=True, check=False).returncode:
        pytest.skip("others cannot run this build")
    return {"before": NOBODY, "wattle": path}


def test_others_get_totals_in_steps(shared, stranger):
    """Asked to share with everyone, the agent tells others only whole steps of 10 mJ, at most once a second."""
    shared.start("--share-with", "everyone")
    assert shared.socket.stat().st_mode & 0o777 == 0o666
    waiting = Waiting(shared, "--root", shared.here.path, **stranger)
    script = "import socket,sys,time\ns=socket.socket(1,5);s.connect(sys.argv[1])\nseen=set()\nend=time.time()+1.5\n" \
             "while time.time()<end:\n s.send(b'read');seen.add(s.recv(65536));time.sleep(.02)\nprint(len(seen))\n" \
             "s.send(b'catalog 0');print(s.recv(65536).decode())"
    shared.add(3, "package-0")
    told = subprocess.run([*NOBODY, "/usr/bin/python3", "-c", script, shared.socket], capture_output=True, text=True, check=True).stdout
    n, catalog = told.split("\n", 1)
    assert int(n) <= 3
    assert "unit 10000\nper 1\n" in catalog and "domain package-0\n" in catalog
    # Wherever the second falls: 3.141592 J are 314 steps.
    shared.add(Decimal("0.141592"), "package-0")
    doctor = subprocess.run([*NOBODY, stranger["wattle"], "doctor", "--root", shared.here.path, "-f", "json"], capture_output=True,
                            text=True, check=False, env=clean_env(HOME="/"))
    assert "in steps of 10 mJ" in doctor.stdout, doctor.stdout
    with connect(shared.socket) as one:
        assert counts(one)[0] % STEP_UJ == 141592 % STEP_UJ   # root is told all of it
    subprocess.run([*NOBODY, "/usr/bin/python3", "-c", script, shared.socket], capture_output=True, check=True)
    energy = domain(waiting.finish(), "package-0")["energy_j"]
    assert energy == Decimal("3.14"), energy


def test_strangers_are_told_how_to_be_let_in(shared, stranger):
    """By the socket's mode; and by the agent, if somebody opened that."""
    shared.start()
    assert shared.socket.stat().st_mode & 0o007 == 0
    doctor = [*NOBODY, stranger["wattle"], "doctor", "--root", shared.here.path, "-f", "json"]
    report = subprocess.run(doctor, capture_output=True, text=True, check=False, env=clean_env(HOME="/"))
    assert "usermod -a -G wattle" in report.stdout and "is not for this user" in report.stdout, report.stdout
    shared.socket.chmod(0o666)
    report = subprocess.run(doctor, capture_output=True, text=True, check=False, env=clean_env(HOME="/"))
    assert "refuses: only root and the members of its group are told" in report.stdout, report.stdout
    assert '"serve"' not in report.stdout.split('"sources"')[0], report.stdout


def test_the_group_is_told_what_was_sampled(shared, stranger):
    """By its primary group or by another one of his: SO_PEERGROUPS. The machine's groups are others here."""
    groups = shared.folder / "group"
    groups.write_text(Path("/etc/group").read_text(encoding="utf-8") + "wattle:x:64321:\n", encoding="utf-8")
    inside = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/group && exec "$@"', groups]
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mount namespace here")
    agent = subprocess.Popen([*map(str, inside), command_path(), "serve", "--root", shared.there.path, "--port", "0", "--no-store",
                              "--socket", shared.socket, "-i", "20"], stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=clean_env())
    shared.agents.append(agent)
    wait_for(shared.is_heard, "an agent")
    status = shared.socket.stat()
    assert (status.st_mode & 0o777, status.st_gid) == (0o660, 64321)
    for words in (("--regid=64321", "--clear-groups"), ("--regid=65534", "--groups=64321")):
        before = ("setpriv", "--reuid=65534", *words)
        waiting = Waiting(shared, "--root", shared.here.path, before=before, wattle=stranger["wattle"])
        shared.add(Decimal("1.000007"), "package-0")
        assert domain(waiting.finish(), "package-0")["energy_j"] == Decimal("1.000007")
    doctor = subprocess.run([*NOBODY, stranger["wattle"], "doctor", "--root", shared.here.path], capture_output=True, text=True,
                            check=False, env=clean_env(HOME="/"))
    assert "usermod -a -G wattle" in doctor.stdout


# ---- Agents that are not as they should be ----

class FakeAgent:
    """Answers as it is told: answers[question] is bytes, a list of them (the last one stays), or None for no answer."""

    CHANNEL = "channel 0\ndomain package-0\nsource rapl\nkind cpu\ntotal yes\nquantity energy\nmethod counter\nunit 1\nper 1\n" \
              "range 0\nmost 900000000\nupdate 1000000\n"

    def __init__(self, path, **answers):
        self.path, self.asked, self.lock = path, [], threading.Lock()
        self.answers = {"hello": self.hello(1), "catalog": "ok\n" + self.CHANNEL, "read": lambda: self.reading(0), **answers}
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self.listener.bind(os.fspath(path))
        self.listener.listen(16)
        self.clients = []
        threading.Thread(target=self.accept, daemon=True).start()

    @staticmethod
    def now():
        return time.monotonic_ns()

    @classmethod
    def hello(cls, agent, channels=1):
        return lambda: f"ok\nagent {agent}\nuser somebody\ntotals no\ninterval 20000000\nnow {cls.now()}\nchannels {channels}\n"

    @classmethod
    def reading(cls, value, epoch=0, status="ok", later_ns=0):
        return f"ok\n0 {status} {cls.now() + later_ns} 100 {value} {epoch}\n"

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.clients.append(client)
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with contextlib.suppress(OSError, ValueError):
            while True:
                question = client.recv(4096).decode()
                if not question:
                    return
                answer = self.answers[question.split()[0]]
                answer = answer() if callable(answer) else answer
                if answer is not None:
                    client.send(answer if isinstance(answer, bytes) else answer.encode())
                self.asked.append(question)

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        for one in [self.listener, *self.clients]:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)


@pytest.fixture(name="fake")
def fake_agents(shared):
    made = []

    def make(**answers):
        made.append(FakeAgent(shared.socket, **answers))
        return made[-1]
    yield make
    for one in made:
        one.close()


def explained(shared):
    """What doctor says of the agent where no domain is its."""
    report = run_wattle("doctor", "--root", shared.here.path, "-f", "json").json
    assert "serve" not in {d.get("source") for d in report["domains"]}, report["domains"]
    return next(s["reason"] for s in report["sources"] if s["source"] == "serve")


@pytest.mark.parametrize("answers,said", [
    ({"hello": "error 93: speak version 2\n"}, "refuses: speak version 2"),
    ({"hello": "ok\nnow x\n"}, "does not answer as an agent does"),
    ({"hello": b"\xff\x00\xfe" * 9000}, "does not answer as an agent does"),
    ({"hello": "ok\nchannels 99999\nnow 5\n"}, "does not answer as an agent does"),
    ({"hello": None}, "does not answer"),
    ({"catalog": "ok\n"}, "does not answer as an agent does"),
    ({"catalog": "ok\nchannel 1\ndomain package-0\n"}, "does not answer as an agent does"),
    ({"catalog": "ok\nchannel 0\ndomain ../x\nkind cpu\nmethod counter\nunit 1\nper 1\n"}, "does not answer as an agent does"),
    ({"catalog": "ok\nchannel 0\ndomain x\nkind cpu\nmethod modelled\nunit 1\nper 1\n"}, "does not answer as an agent does"),
    ({"catalog": "ok\nchannel 0\ndomain x\nkind cpu\nmethod counter\nunit 1\nper 0\n"}, "does not answer as an agent does"),
], ids=["newer", "words", "bytes", "many", "silent", "short", "other", "name", "model", "unit"])
def test_a_strange_agent_is_not_believed(shared, fake, answers, said):
    """The machine is measured as if there were none, and doctor says why."""
    fake(**answers)
    assert said in explained(shared)


def test_a_later_protocols_words_do_no_harm(shared, fake):
    """A later agent may say more than this program knows."""
    fake(catalog="ok\n" + FakeAgent.CHANNEL + "colour green and blue\n",
         read=lambda: FakeAgent.reading(5).replace("\n0", "\n0", 1)[:-1] + " and more\n")
    report = run_wattle("doctor", "--root", shared.here.path, "-f", "json").json
    assert domain(report, "package-0")["source"] == "serve"


def test_a_reading_of_a_time_to_come_is_none(shared, fake):
    fake(read=lambda: FakeAgent.reading(5, later_ns=10 ** 10))
    waiting = Waiting(shared, "--root", shared.here.path)
    line = domain(waiting.finish(), "package-0")
    assert "energy_j" not in line and "time to come" in line["reason"], line


def test_an_agent_that_dies_is_a_gap(shared, fake):
    """What it said up to its end counts. Another one, whose counters are others, goes on, and nothing is made up between."""
    value = [1_000_000]
    first = fake(read=lambda: FakeAgent.reading(value[0]))
    waiting = Waiting(shared, "--root", shared.here.path)

    def hear(agent):
        n = len(agent.asked)
        wait_for(lambda: len(agent.asked) > n + 3 and agent.asked[-1] == "read", "three more questions")
    hear(first)
    value[0] += 5_000_000
    hear(first)
    first.close()
    # Far more than before: taken for the same counter, it would be 900 J more.
    value[0] = 900_000_000
    second = fake(hello=FakeAgent.hello(2), read=lambda: FakeAgent.reading(value[0]))
    hear(second)
    value[0] += 2_000_000
    hear(second)
    line = domain(waiting.finish(), "package-0")
    assert line["energy_j"] == 7 and line["gap_s"] > 0, line


def test_an_agent_that_was_slow_is_no_gap(shared, fake):
    """The same agent, found again, goes on as if nothing had been: a counter that can be read again has lost nothing."""
    value, answers = [1_000_000], [True]
    agent = fake(read=lambda: FakeAgent.reading(value[0]) if answers[0] else None)
    waiting = Waiting(shared, "--root", shared.here.path)

    def hear():
        n = len(agent.asked)
        wait_for(lambda: len(agent.asked) > n + 3 and agent.asked[-1] == "read", "three more questions")
    hear()
    answers[0] = False
    n = len(agent.asked)
    wait_for(lambda: len(agent.asked) > n, "an unanswered question")
    value[0] += 5_000_000
    answers[0] = True
    hear()
    line = domain(waiting.finish(), "package-0")
    assert line["energy_j"] == 5 and line["status"] == "ok", line


def test_an_epoch_is_a_break(shared, fake):
    """The agent opened a counter anew: the difference to what was before is not energy."""
    state = [1_000_000, 0]
    agent = fake(read=lambda: FakeAgent.reading(*state))
    waiting = Waiting(shared, "--root", shared.here.path)

    def hear():
        n = len(agent.asked)
        wait_for(lambda: len(agent.asked) > n + 3, "three more questions")
    for step in ((4_000_000, 0), (90_000_000, 1), (92_000_000, 1)):
        hear()
        state[:] = step
    hear()
    assert domain(waiting.finish(), "package-0")["energy_j"] == 5


# ---- Clients that are not as they should be ----

def test_a_hundred_clients(shared):
    """All are answered, in turn and at once, and each is told the same."""
    agent = shared.start()
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connect(shared.socket)) for _ in range(100)]
        for one in clients:
            one.send(b"hello 1")
        assert len({dict(lines_of(one.recv(65536).decode()))["agent"] for one in clients}) == 1
        shared.add(5)
        for one in clients:
            one.send(b"read")
        assert all(counts_of(one.recv(65536).decode())[0] >= 1_005_000_000 for one in clients)
        # More than there is room for: those who said nothing for longest make room.
        more = [stack.enter_context(connect(shared.socket)) for _ in range(100)]
        assert all(ask(one, "hello 1").startswith("ok") for one in more)
    assert agent.poll() is None


def counts_of(answer):
    return {int(number): int(rest.split()[3]) for number, rest in lines_of(answer)}


def test_a_client_that_never_reads_harms_nobody(shared):
    """It is dropped when its answers do not fit any more. Others are answered meanwhile."""
    agent = shared.start()
    with connect(shared.socket) as rude, connect(shared.socket) as polite:
        rude.settimeout(1)
        gone = False
        for _ in range(200_000):
            try:
                rude.send(b"catalog 0")
            except TimeoutError:
                assert ask(polite, "read").startswith("ok")
            except (BrokenPipeError, ConnectionResetError):
                gone = True
                break
        assert gone
        assert ask(polite, "read").startswith("ok")
    assert agent.poll() is None


def test_questions_that_are_none(shared):
    agent = shared.start()
    with connect(shared.socket) as one:
        for question in (b"hello", b"hello x", b"hello 1 ", b"read 1", b"readx", b"\0" * 30, b"\xff" * 63, b"a" * 4000,
                         b"catalog -1", b"catalog 99999999999999999999", b"limits"):
            one.send(question)
            assert one.recv(65536).startswith(b"error 22: "), question
        assert ask(one, "limit gpu-0 100").startswith("error 13: ")   # for nobody: --limit-group was not given
        assert ask(one, "hello 99").startswith("error 93: ")
        assert ask(one, "catalog 4000000000") == "ok\n"
        assert ask(one, "hello 1").startswith("ok\n")
    assert agent.poll() is None


def test_one_agent_a_socket(shared):
    """A second one says who has it; a dead one's is taken over."""
    first = shared.start()
    args = ("serve", "--root", shared.there.path, "--port", "0", "--no-store", "--socket", shared.socket)
    result = run_wattle(*args)
    assert result.code == 1 and "another agent listens there" in result.err, result
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert shared.socket.exists()
    second = shared.start()
    second.send_signal(signal.SIGTERM)
    assert finish(second).code == 0
    assert not shared.socket.exists()
    shared.socket.write_text("mine")
    result = run_wattle(*args)
    assert result.code == 1 and "no socket" in result.err and shared.socket.read_text() == "mine", result


# ---- An agent in two halves ----

@pytest.fixture(name="halves")
def started_halves(shared):
    """A reader, and an exporter that asks it: the exporter's first line says where it listens."""
    def exporter(*options):
        one = start_wattle("serve", "--exporter", "--socket", shared.socket, "--port", "0", "-i", "20", *options)
        shared.agents.append(one)
        one.said = ""
        for line in iter(one.stderr.readline, b""):
            if b"serving at" in line:
                return one, line.decode().split("serving at ")[1].split()[0]
            one.said += line.decode()
        raise AssertionError(finish(one))
    return exporter


def fetch(url):
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except (ConnectionError, urllib.error.URLError):
        return 0, "it listens anew: another reader is there"


def test_the_exporter_serves_what_the_reader_reads(shared, halves):
    """Before there is a reader it says so; then it answers as an agent of one process does, at the same port; it finds the
    next reader."""
    _, url = halves()
    assert fetch(url + "healthz")[0] == 503
    assert fetch(url + "api/v1/history")[0] in (404, 503)
    for joules in (11, 5):
        reader = shared.start("--reader")
        shared.add(joules)
        wait_for(lambda: fetch(url + "healthz") == (200, "ok\n"), "a snapshot")
        status, metrics = fetch(url + "metrics")
        assert status == 200 and "wattle_domain_energy_joules_total" in metrics, metrics
        assert 'source="rapl-powercap"' in metrics, metrics
        assert fetch(url + "api/v1/history")[0] == 200
        reader.send_signal(signal.SIGINT)
        assert finish(reader).code == 0


def test_an_exporter_knows_what_was_before_it(shared, halves):
    """The page's past is the reader's, who has been there for longer; also once the exporter was started again."""
    shared.start("--reader")
    shared.add(11)
    _, url = halves()
    wait_for(lambda: fetch(url + "healthz") == (200, "ok\n"), "a snapshot")

    def known(url):
        shared.add(1)   # a counter that stands still has no power
        steps = json.loads(fetch(url + "api/v1/history?seconds=60")[1])["total"]["power_w"]
        return sum(watts is not None for watts in steps)
    wait_for(lambda: known(url) > 4, "a past")
    before, begin = known(url), time.monotonic()
    _, later = halves()
    wait_for(lambda: fetch(later + "healthz") == (200, "ok\n"), "a snapshot")
    assert known(later) >= min(before, known(url) - 1)
    assert known(later) > time.monotonic() - begin + 1
    assert json.loads(fetch(later + "api/v1/use?seconds=600")[1])["duration_s"] > 2


def test_the_reader_listens_at_no_port(shared):
    reader = shared.start("--reader")
    files = []
    for fd in os.listdir(f"/proc/{reader.pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed just now
            files.append(os.readlink(f"/proc/{reader.pid}/fd/{fd}"))
    inodes = {name[8:-1] for name in files if name.startswith("socket:[")}
    tcp = [line.split()[9] for name in ("tcp", "tcp6") for line in
           Path(f"/proc/{reader.pid}/net/{name}").read_text(encoding="ascii").splitlines()[1:]]
    assert inodes and not inodes & set(tcp)
    result = run_wattle("serve", "--reader", "--exporter")
    assert result.code == 2 and "exclude each other" in result.err, result
    for option in (("--port", "1"), ("--address", "::1"), ("--web-config", "x"), ("--insecure-listen",), ("--host", "x"), ("--compat", "dcgm")):
        result = run_wattle("serve", "--reader", "--root", shared.there.path, "--socket", shared.socket, *option)
        assert result.code == 2 and f"{option[0]} is for wattle serve --exporter" in result.complaint(), result
    for option in (("--store", "x"), ("--no-store",), ("--max-size", "9M"), ("--share-with", "everyone"), ("--no-processes",), ("--gpus", "0"),
                   ("--root", "/"), ("--location", "DE"), ("--idle-first", "5")):
        result = run_wattle("serve", "--exporter", "--socket", shared.socket, *option)
        assert result.code == 2 and f"{option[0]} is for wattle serve --reader" in result.complaint(), result
    result = run_wattle("serve", "--reader", "--root", shared.there.path, "--no-store")
    assert result.code == 1 and "give --socket PATH" in result.err, result


@pytest.mark.parametrize("blob,seals,said", [
    (b"rubbish" * 1000, True, "its snapshot is damaged"),
    (b"wattle-live\0" + b"\xff" * 60000, True, "of another release"),
    (b"wattle-live\0" + b"\xff" * 60000, False, "its snapshot is damaged"),
    (b"wattle-live\0" + b"\xff" * 60000, None, "its snapshot is damaged"),
    (b"", True, "its snapshot is damaged"),
], ids=["rubbish", "release", "unsealed", "a file", "empty"])
def test_an_exporter_believes_no_reader(shared, halves, tmp_path, blob, seals, said):
    """A snapshot that is none, or that could be changed while it is read, is not served."""
    if seals is None:  # of a kind that has no seals
        memory = os.open(tmp_path / "x", os.O_RDWR | os.O_CREAT)
    else:
        memory = os.memfd_create("x", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(memory, blob)
    if seals:
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    fake = FakeAgent(shared.socket)
    fake.answers["live"] = lambda: socket.send_fds(fake.clients[-1], [b"ok\n"], [memory]) and None
    try:
        one, url = halves()
        assert fetch(url + "healthz")[0] == 503
        assert said in one.said, one.said   # its first look comes before it listens
    finally:
        fake.close()
        os.close(memory)
    one.send_signal(signal.SIGINT)
    assert finish(one).code == 0


def test_an_exporter_says_what_is_wrong(shared, halves):
    fake = FakeAgent(shared.socket, hello="error 13: not for you\n")
    one = start_wattle("serve", "--exporter", "--socket", shared.socket, "--port", "0", "-i", "20")
    shared.agents.append(one)
    first = one.stderr.readline().decode()
    fake.close()
    assert "not for you" in first, first
