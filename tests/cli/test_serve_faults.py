# SPDX-License-Identifier: MIT
"""wattle serve when something goes wrong: it is killed, its disk is full, its folder is another's, the clock is set."""

import contextlib
import os
import random
import re
import shutil
import signal
import sqlite3
import time

import pytest

from conftest import ROOTS, run_wattle, wait_for
from serving import Agent, Moving

pytestmark = pytest.mark.waits
XEON = ("--root", ROOTS / "xeon-2s-dram")
KILLS = int(os.environ.get("WATTLE_SERVE_KILLS", "10"))


@pytest.fixture(autouse=True)
def is_built():
    if "built without a server" in run_wattle("serve", "--help").err:
        pytest.skip("this wattle was built without a server")


def counters(text):
    """Every counter of energy in a scrape."""
    return {name: float(value) for name, value in re.findall(r"^(wattle_\w*energy_joules_total(?:{.*?})?) (\S+)$", text, re.M)
            if "self" not in name and "process_energy" not in name}


def recordings(folder):
    return sorted(folder.glob("wattle-serve-*.wattle"))


def test_killed_at_random_moments(machine, tmp_path):
    """No counter that was told goes back, which Prometheus would take for a new beginning; what was cut short is said."""
    root = machine("xeon-2s-dram")
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    known, n_cut = {}, 0
    with Moving(root, processes=30):
        for _ in range(KILLS):
            agent = Agent("--root", root.path, "--store", tmp_path)
            try:
                had_committed = bool(known)
                now = counters(agent.scrape())
                for name, joules in known.items():
                    assert now.get(name, 0) >= joules, (name, seed)
                n_cut += "was not ended: the counters go on" in agent.said
                assert not had_committed or "begin at 0" not in agent.said, (agent.said, seed)
                time.sleep(1 + chance.random())
                known = counters(agent.scrape())
                time.sleep(chance.random() / 10)
            finally:
                agent.end(signal.SIGKILL)
    assert known["wattle_host_energy_joules_total"] > 0
    assert n_cut == KILLS - 1, seed
    for path in recordings(tmp_path):
        assert run_wattle("report", path).code == 0


def test_a_full_disk(machine, tmp_path):
    """It goes on without its memory, and says so once."""
    root = machine("xeon-2s-dram")
    with Moving(root), Agent("--root", root.path, "--store", tmp_path, "--fault", "write:9:ENOSPC:always") as agent:
        agent.expect("No space left on device")
        before = counters(agent.scrape())["wattle_host_energy_joules_total"]
        wait_for(lambda: counters(agent.scrape())["wattle_host_energy_joules_total"] > before + 100, "measuring that goes on")
        status, _, said = agent.ask("/healthz")
        assert status == 200
        assert re.fullmatch(r"ok, but nothing is remembered: since 20\d\d-\d\d-\d\dT[\d:.]+Z: the recording stopped: No space left on device\n", said.decode())
    assert agent.code == 1
    assert agent.said.count("No space left on device") == 1


@pytest.mark.parametrize("n", [1, 9])
def test_a_disk_that_was_full_for_a_moment(machine, tmp_path, n):
    """Another recording is begun, which says what is in none; the counters know everything, also after a restart."""
    root = machine("xeon-2s-dram")
    with Moving(root, processes=30), Agent("--root", root.path, "--store", tmp_path, "--fault", f"write:{n}:ENOSPC") as agent:
        agent.expect("No space left on device")
        agent.expect("it is tried again")
        joules = agent.expect(r"recording goes on in \S+: [\d.]+ s with ([\d.]+) J are in no recording")[1]
        before = counters(agent.scrape())
        wait_for(lambda: counters(agent.scrape())["wattle_host_energy_joules_total"] > before["wattle_host_energy_joules_total"] + 200, "energy")
        known, text = counters(agent.scrape()), agent.scrape()
        assert agent.ask("/healthz")[0::2] == (200, b"ok\n")
        assert 1 < float(re.search(r"^wattle_self_unrecorded_seconds_total (\S+)$", text, re.M)[1]) < 10 and float(joules) > 50
        assert re.search(r"^wattle_self_recording 1$", text, re.M)
    assert agent.code == 0, agent.said
    *first, last = recordings(tmp_path)
    assert len(first) == (n > 1)
    assert all("it was cut off" in run_wattle("report", "--check", path).out for path in first)
    assert run_wattle("report", "--check", last).code == 0
    report = run_wattle("report", "-f", "json", last).json
    assert report["total"]["energy_j"] > 100 and report["processes"]
    with Agent("--root", root.path, "--store", tmp_path) as agent:
        again = counters(agent.scrape())
    assert not [name for name, joules in known.items() if again.get(name, 0) < joules]
    assert "begin at 0" not in agent.said


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_disk_that_was_full(machine, tmp_path, n):
    root = machine("xeon-2s-dram")
    with Moving(root), Agent("--root", root.path, "--store", tmp_path, "--fault", f"write:{n}:ENOSPC:always") as agent:
        agent.expect("No space left on device")
        wait_for(lambda: counters(agent.scrape())["wattle_host_energy_joules_total"] > 100, "measuring that goes on")
        wait_for(lambda: b"nothing is remembered" in agent.ask("/healthz")[2], "it is told")


def test_a_folder_that_cannot_be_written(machine, tmp_path):
    root = machine("xeon-2s-dram")
    if os.geteuid() == 0:
        # Even root makes no folder in a file, nor in /proc.
        (tmp_path / "file").write_text("")
        store, why = tmp_path / "file" / "store", "Not a directory"
    else:
        (tmp_path / "closed").mkdir(mode=0o500)
        store, why = tmp_path / "closed" / "store", "Permission denied"
    with Moving(root), Agent("--root", root.path, "--store", store) as agent:
        assert f"{store}: {why}: nothing is remembered, and counters begin at 0" in agent.said
        wait_for(lambda: counters(agent.scrape())["wattle_host_energy_joules_total"] > 100, "measuring that goes on")
        wait_for(lambda: re.fullmatch(rf"ok, but nothing is remembered: since \S+: {store}: {why}\n", agent.ask("/healthz")[2].decode()), "it is told")
        assert "since " in agent.said or agent.expect("since .* nothing is remembered: it is tried again")
        known = counters(agent.scrape())
        # A disk that was not there yet, say.
        if os.geteuid() == 0:
            (tmp_path / "file").unlink()
        else:
            store.parent.chmod(0o700)
        agent.expect(rf"recording goes on in {store}/\S+: [\d.]+ s with [\d.]+ J are in no recording")
        wait_for(lambda: agent.ask("/healthz")[2] == b"ok\n", "it is told")
        assert not [name for name, joules in counters(agent.scrape()).items() if joules < known.get(name, 0)]
        result = run_wattle("serve", *XEON, "--port", "0", "--store", store)
        assert "another agent has its memory there" in result.complaint()
        known = counters(agent.scrape())
    assert agent.code == 0
    [made] = recordings(store)
    assert run_wattle("report", "--check", made).code == 0
    with Agent("--root", root.path, "--store", store) as agent:
        assert not [name for name, joules in known.items() if counters(agent.scrape()).get(name, 0) < joules]


def test_a_folder_that_another_user_has_made(tmp_path):
    """In one like /tmp: root's counters would go on from what he puts there."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to be another")
    store = tmp_path / "store"
    store.mkdir()
    os.chown(store, 65534, 65534)
    tmp_path.chmod(0o1777)
    for folder in (store, store / "inner"):
        with Agent(*XEON, "--store", folder) as agent:
            agent.expect(f"{folder}: another user has made it, in a folder that others can write to .*: nothing is remembered")
    assert not list(store.iterdir())


def test_two_agents_on_one_folder(tmp_path):
    with Agent(*XEON, "--store", tmp_path) as agent:
        agent.scrape()
        result = run_wattle("serve", *XEON, "--port", "0", "--store", tmp_path)
        assert result.code == 1
        assert f"{tmp_path}: another agent has its memory there" in result.complaint()
        assert len(recordings(tmp_path)) == 1
        assert agent.ask("/healthz")[0] == 200
    with Agent(*XEON, "--store", tmp_path) as agent:
        agent.scrape()


def remembered(tmp_path, root, *args):
    """What a new agent begins with, and what it said."""
    with Agent("--root", root.path, "--store", tmp_path, *args) as agent:
        before = counters(agent.scrape())
        wait_for(lambda: counters(agent.scrape())["wattle_host_energy_joules_total"] > before["wattle_host_energy_joules_total"] + 100, "energy")
    return before["wattle_host_energy_joules_total"], agent.said


def test_recordings_that_do_not_tell(machine, tmp_path):
    """By a newer wattle, damaged, or empty: passed over with a line, for the one before."""
    root = machine("xeon-2s-dram")
    with Moving(root):
        remembered(tmp_path, root)
        first = remembered(tmp_path, root)[0]
        assert first > 100
    [*_, newest] = recordings(tmp_path)
    newer = tmp_path / "wattle-serve-20900101-000000.wattle"
    shutil.copy(newest, newer)
    with contextlib.closing(sqlite3.connect(newer)) as file:
        file.execute("PRAGMA user_version = 99")
    (tmp_path / "wattle-serve-20900101-000001.wattle").write_bytes(b"SQLite format 3\0" + os.urandom(5000))
    (tmp_path / "wattle-serve-20900101-000002.wattle").write_bytes(b"")
    (tmp_path / "wattle-serve-20900101-000003.wattle").mkdir()
    with Moving(root):
        joules, said = remembered(tmp_path, root)
        last = remembered(tmp_path, root)[0]
    assert first <= joules <= last
    assert "20900101-000000.wattle: " in said and "a newer wattle" in said
    assert said.count("the counters in it are passed over") == 3
    # Later by name than what seems to be from the future, also than the folder.
    assert "nothing is remembered" not in said
    assert recordings(tmp_path)[-1].name > "wattle-serve-20900101-000003.wattle"


def test_the_clock_is_set_back(machine, tmp_path):
    """The newest recording is the one that was begun last, not the one with the latest date of its own."""
    root = machine("xeon-2s-dram")
    with Moving(root):
        remembered(tmp_path, root)
        [made] = recordings(tmp_path)
        made.rename(tmp_path / "wattle-serve-20400102-030405.wattle")  # as if the clock had been there
        second = remembered(tmp_path, root)[0]
        third = remembered(tmp_path, root)[0]
    assert [path.name for path in recordings(tmp_path)] == [f"wattle-serve-20400102-03040{i}.wattle" for i in (5, 6, 7)]
    assert 0 < second < third
