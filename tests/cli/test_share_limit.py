# SPDX-License-Identifier: MIT
"""`wattle limit` of users who may not set limits, through an agent's socket: who may, what stays, and what is put back."""

import contextlib
import grp
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from conftest import Machine, clean_env, command_path, finish, run_wattle, wait_for

pytestmark = pytest.mark.waits

AGENT, GROUP = 1, "users"   # daemon has the files; members of users may set limits
CARD = "sys/class/drm/card0/device/hwmon/hwmon1/power1_cap"
MEMBER = ("setpriv", "--reuid=65534", "--regid=65534", "--groups={}")
STRANGER = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


class Limited:
    """A machine with an AMD GPU whose cap only the agent's user may write."""

    def __init__(self, folder):
        self.folder = folder
        self.root = Machine("amd-gpu", folder / "root").path
        self.cap = self.root / CARD
        self.socket = self.root / "run/wattle/agent/serve.sock"
        self.socket.parent.mkdir(parents=True)
        self.wattle = folder / "wattle"
        shutil.copy(command_path(), self.wattle)
        self.wattle.chmod(0o755)
        self.member = tuple(word.format(grp.getgrnam(GROUP).gr_gid) for word in MEMBER)
        for path in (self.cap, self.socket.parent, folder):
            os.chown(path, AGENT, AGENT)
        self.state = folder / "clients"
        self.state.mkdir()
        self.state.chmod(0o777)
        self.env = clean_env(HOME=folder)
        self.processes = []

    def watts(self):
        return int(self.cap.read_text(encoding="ascii")) / 1e6

    def notes(self):
        return sorted((self.folder / ".local/state/wattle/limits").glob("hold-*"))

    def serve(self, *options, limit_group=GROUP):
        words = ["setpriv", f"--reuid={AGENT}", f"--regid={AGENT}", "--clear-groups", self.wattle, "serve", "--root", self.root,
                 "--nvml", "", "--port", "0", "--no-store", "--socket", self.socket, "--share-with", "everyone", "-i", "50", *options]
        if limit_group:
            words += ["--limit-group", limit_group]
        agent = self.start(words)
        wait_for(lambda: self.is_heard() or agent.poll() is not None, "an agent")
        assert agent.poll() is None, finish(agent)
        return agent

    def is_heard(self):
        with contextlib.suppress(OSError):
            self.connect().close()
            return True
        return False

    def connect(self):
        one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        one.settimeout(20)
        one.connect(os.fspath(self.socket))
        return one

    def start(self, words):
        process = subprocess.Popen([os.fspath(w) for w in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=self.env, cwd="/", start_new_session=True)
        self.processes.append(process)
        return process

    def limit(self, *words, who=None):
        return self.start([*(who or self.member), self.wattle, "limit", "--root", self.root, "--nvml", "", "--state",
                           self.state, "-i", "0", *words])

    def close(self):
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)   # with its commands, and what it started for others
            process.communicate()


@pytest.fixture(name="limited")
def limited_machine():
    if os.geteuid() != 0:
        pytest.skip("needs root, to become other users")
    folder = Path(tempfile.mkdtemp(prefix="wt-", dir="/tmp"))  # others come here, and sockets have short names
    folder.chmod(0o755)
    one = Limited(folder)
    if subprocess.run([*STRANGER, one.wattle, "--version"], capture_output=True, check=False).returncode:
        shutil.rmtree(folder)
        pytest.skip("others cannot run this build")
    yield one
    one.close()
    wait_for(lambda: not subprocess.run(["pgrep", "-f", str(folder)], capture_output=True, check=False).stdout, "all to end")
    shutil.rmtree(folder)


def test_one_shot_stays_and_says_so(limited):
    limited.serve()
    result = finish(limited.limit("--power", "290"))
    assert result.code == 0, result
    assert limited.watts() == 290 and not limited.notes()
    assert result.out.splitlines()[1].split()[-6] == "290.00"   # what is shown was read again
    assert re.search(r"set by \w+'s agent \(source serve\): it stays until", result.err), result
    assert finish(limited.limit("--power", "default")).code == 0
    assert limited.watts() == 315


def test_a_command_has_it_while_it_runs(limited):
    limited.serve()
    result = finish(limited.limit("--power", "290.5", "--", "sh", "-c", f"cat {limited.cap}; exit 7"))
    assert (result.code, result.out.strip()) == (7, "290000000"), result
    assert "agent (source serve), for as long as the command runs" in result.err, result
    assert "GPU 0: the power limit is back at 315.00 W" in result.err, result
    assert limited.watts() == 315 and not limited.notes()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
def test_a_client_that_dies_gets_the_limits_back(limited, number):
    """Killed, it says nothing to anybody: the kernel closes its socket."""
    limited.serve()
    client = limited.limit("--power", "290", "--", "sh", "-c", "echo ready; exec sleep 60")
    assert client.stdout.readline() == b"ready\n"
    assert limited.watts() == 290 and len(limited.notes()) == 1
    client.send_signal(number)
    wait_for(lambda: limited.watts() == 315, "the limit of before")
    wait_for(lambda: not limited.notes(), "the note to go")
    client.wait(20)


def test_an_agent_that_is_killed_loses_nothing(limited):
    """Whoever holds the limits is a process of its own: it goes on. Killed as well, the next agent puts back what it left."""
    agent = limited.serve()
    client = limited.limit("--power", "290", "--", "sh", "-c", "echo ready; exec sleep 60")
    assert client.stdout.readline() == b"ready\n"
    holder = int(limited.notes()[0].name.split("-")[1])
    agent.kill()
    agent.wait(20)
    assert limited.watts() == 290
    os.kill(holder, signal.SIGKILL)
    assert "holds the limits no longer" in client.stderr.readline().decode() + client.stderr.readline().decode()
    assert limited.watts() == 290 and len(limited.notes()) == 1
    second = limited.serve()
    wait_for(lambda: not limited.notes(), "the next agent's look")
    assert limited.watts() == 315 and second.poll() is None


def test_two_clients_cannot_hold_one_gpu(limited):
    limited.serve()
    first = limited.limit("--power", "290", "--", "sh", "-c", "echo ready; exec sleep 60")
    assert first.stdout.readline() == b"ready\n"
    second = finish(limited.limit("--power", "300", "--", "echo", "ran"))
    assert (second.code, second.out) == (125, ""), second
    assert "agent (wattle serve) refuses: wattle limit (process" in second.err and "holds GPU 0 already" in second.err, second
    assert limited.watts() == 290


def test_who_may(limited):
    """Not whoever may connect, and nobody without --limit-group; one line says why, and nothing is set."""
    agent = limited.serve()
    result = finish(limited.limit("--power", "290", who=STRANGER))
    assert result.code == 1 and "refuses: only root and the members of its --limit-group may" in result.err, result
    result = finish(limited.limit("--power", "290", "--", "echo", "ran", who=STRANGER))
    assert (result.code, result.out) == (125, "") and "--limit-group" in result.err, result
    agent.send_signal(signal.SIGTERM)
    finish(agent)
    result = finish(limited.limit("--power", "290"))
    assert result.code == 1 and "needs root, as in: sudo wattle limit" in result.err, result
    limited.serve(limit_group=None)
    result = finish(limited.limit("--power", "290"))
    assert result.code == 1 and "refuses: it was started without --limit-group" in result.err, result
    assert limited.watts() == 315


def test_an_agent_that_may_not_either(limited):
    os.chown(limited.cap, 0, 0)
    limited.serve()
    result = finish(limited.limit("--power", "290"))
    assert result.code == 1 and "refuses: GPU 0: setting the power limit needs root" in result.err, result
    result = finish(limited.limit("--power", "290", "--", "echo", "ran"))
    assert (result.code, result.out) == (125, "") and "refuses: GPU 0" in result.err, result
    assert not limited.notes()


def test_a_socket_that_is_not_for_this_user(limited):
    limited.serve()
    limited.socket.chmod(0o600)
    result = finish(limited.limit("--power", "290"))
    assert result.code == 1 and "needs root" in result.err and "which is not for this user" in result.err, result


def test_questions_that_are_no_limit(limited):
    """From one who may: nothing of them reaches a command line."""
    agent = limited.serve()
    bad = ["limit ", "limit hold", "limit hold gpus 0", "limit set power 0 gpus 0", "limit set power -1 gpus 0", "limit set power 1",
           "limit set power 1 gpus --restore --state=/x", "limit set power 1 gpus $(id)", "limit set power 1 power 2 gpus 0",
           "limit set persistence maybe gpus 0", "limit hold  power 1 gpus 0", "limit hold power 1 gpus 0 ", "limit x power 1 gpus 0",
           "limit set power 1 gpus " + "0," * 3020, "limit set power 18446744073709551616 gpus 0"]
    with limited.connect() as one:
        for question in bad:
            one.send(question.encode())
            assert one.recv(65536).startswith(b"error 22: "), question
        one.send(b"limit set power 1 gpus " + b"0," * 9000)
        assert one.recv(65536).startswith(b"error 22: ")
    for gpus, power, said in (("7", 1, b"there is no GPU '7'"), ("0", 999000000, b"takes"), ("--id", 1, b"there is no GPU '--id'")):
        with limited.connect() as one:   # whoever answers these closes the connection
            one.send(f"limit set power {power} gpus {gpus}".encode())
            answer = one.recv(65536)
            assert answer.startswith(b"error 5: ") and said in answer, answer
            assert one.recv(65536) == b""
    assert limited.watts() == 315 and agent.poll() is None


def test_not_more_than_a_few_at_once(limited):
    """Clients that ask and go are held by nobody, and no process is left over."""
    agent = limited.serve()
    for _ in range(40):
        with limited.connect() as one:
            one.send(b"limit hold power 290000000 gpus 0000:09:00.0")
    wait_for(lambda: limited.watts() == 315 and not limited.notes(), "all to be as before")

    def children():
        return Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text(encoding="ascii").split()
    wait_for(lambda: not children(), "its processes to be reaped")
    assert agent.poll() is None


@pytest.mark.parametrize("words,said", [
    (("--limit-group", "no-such-group"), "there is no group 'no-such-group'"),
    (("--limit-group", "root", "--socket", "none"), "--limit-group: nobody could ask"),
])
def test_bad_options_of_serve(machine, words, said):
    result = run_wattle("serve", "--root", machine("amd-gpu").path, "--no-store", "--port", "0", *words)
    assert result.code in (1, 2) and said in result.err, result


@pytest.mark.parametrize("words", [("--for-client",), ("--hold", "--power", "200"), ("--for-client", "--power", "200", "--", "true")])
def test_bad_options_of_limit(words):
    result = run_wattle("limit", *words)
    assert result.code == 125 and "--for-client is for wattle serve" in result.complaint(), result
