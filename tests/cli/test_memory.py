# SPDX-License-Identifier: MIT
"""How much memory wattle holds: its size is by what is there, not by what there may be."""

import json
import shutil
import time
from pathlib import Path

import pytest

from conftest import ROOTS, run_wattle, wait_for
from serving import Agent, Moving

MOST = 6_000_000
# Pages of libraries that only set themselves up would be 4 MB more.
AGENT_MOST = 9_000_000
# The command's parent is wattle, which has billed once by then.
ASK = "sleep 1.2; grep VmHWM /proc/$PPID/status"


def high_water(result):
    assert result.code == 0, result
    line = next(line for line in result.out.splitlines() if line.startswith("VmHWM:"))
    return 1024 * int(line.split()[1])


@pytest.mark.parametrize("options", ((), ("-i", "1"), ("--no-processes",)))
def test_a_machine_without_sensors(options):
    assert high_water(run_wattle("run", "--root", ROOTS / "vm-nothing", *options, "--", "sh", "-c", ASK)) < MOST


def test_eight_gpus(gpus):
    result = gpus("eight-gpus").run("--root", ROOTS / "xeon-2s-dram", "--", "sh", "-c", ASK)
    assert "gpu-7" in result.out + result.err
    assert high_water(result) < MOST


def test_what_only_an_agents_start_used(tmp_path):
    """It goes back: the first time beside what was measured, and again once what an earlier start recorded was played."""
    if "built without a server" in run_wattle("serve", "--help").err:
        pytest.skip("this wattle was built without a server")
    for _ in range(2):
        with Agent("--root", ROOTS / "xeon-2s-dram", "--store", tmp_path, "--socket", "none") as agent:
            agent.scrape()
            wait_for(lambda a=agent: a.rss_bytes() < AGENT_MOST, "its memory")
            # What is needed comes back.
            assert agent.ask("/healthz")[0] == agent.ask("/api/v1/live")[0] == 200


def test_an_agent_beside_builds(machine, tmp_path):
    """Thousands of processes came and went: those that ended are told by name, so its memory does not grow with them."""
    if "built without a server" in run_wattle("serve", "--help").err:
        pytest.skip("this wattle was built without a server")
    root = machine("xeon-2s-dram")

    def process(pid, busy):
        zeros = " ".join("0" * 27)
        root.put(f"proc/{pid}/stat", f"{pid} (cc1) S 1 1 1 0 -1 0 0 0 0 0 {busy} 0 0 0 20 0 1 0 100 {zeros}\n")
        root.put(f"proc/{pid}/status", "Name:\tcc1\nUid:\t0\t0\t0\t0\n")

    def number(agent):
        return json.loads(agent.ask("/api/v1/live")[2])["number"]

    grown = []
    with Moving(root), Agent("--root", root.path, "--store", tmp_path / "store", "--socket", "none") as agent:
        agent.scrape()
        for turn in range(3):
            pids = range(1000 + 1500 * turn, 2500 + 1500 * turn)
            for running in (True, False):
                for pid in pids:
                    if running:
                        process(pid, 5)
                    else:
                        shutil.rmtree(root.path / f"proc/{pid}")
                seen = number(agent)
                wait_for(lambda n=seen: number(agent) > n + 1, "a look")
            grown.append(agent.rss_bytes())
        last = agent.rss_bytes()
    assert grown[-1] - grown[0] < 1_000_000, grown
    # The next one plays what that one recorded for its page, without all who were in it.
    before = time.time()
    with Agent("--root", root.path, "--store", tmp_path / "store", "--socket", "none") as again:
        again.scrape()
        wait_for(lambda: any(json.loads(again.ask(f"/api/v1/history?from={before - 60:.0f}&to={before:.0f}")[2])["total"]["power_w"]), "the past")
        status = Path(f"/proc/{again.process.pid}/status").read_text(encoding="ascii")
        assert int(status.split("VmHWM:")[1].split()[0]) * 1024 < last + 4_000_000, (status, last)
