# SPDX-License-Identifier: MIT
"""Who a process belongs to, by the control groups of container engines and batch systems: tests/fixtures/cgroups."""

import pytest

from conftest import REPO, run_wattle, wait_for
from serving import Agent, Moving

TREES = sorted((REPO / "tests" / "fixtures" / "cgroups").glob("*.txt"))
KINDS = ("container", "pod", "job", "step", "unit")


def processes(path):
    """Of each process its name, what is to be known of it, and its /proc/PID/cgroup."""
    found = []
    for line in path.read_text().splitlines():
        if line.startswith("  "):
            found[-1][2].append(line.strip())
        elif not line.startswith("#"):
            name, *known = line.split()
            found.append((name, dict(word.split("=", 1) for word in known), []))
    return found


def test_there_is_a_tree_of_each():
    assert {path.stem for path in TREES} == {f"{engine}-v{version}" for engine in ("containerd", "crio", "docker", "podman", "slurm") for version in (1, 2)}


@pytest.mark.waits
def test_whose_they_are(machine, tmp_path):
    """All of them on one machine: what a recording says of each, and the groups that are served."""
    root, given = machine("xeon-2s-dram"), [(path.stem, *process) for path in TREES for process in processes(path)]
    with Moving(root, processes=len(given)):
        for i, (_, _, _, lines) in enumerate(given):
            root.put(f"proc/{1000 + i}/cgroup", "\n".join(lines) + "\n")
        with Agent("--root", root.path, "--store", tmp_path) as agent:
            wait_for(lambda: agent.scrape().count("wattle_container_power_watts{") >= len({known["container"] for _, _, known, _ in given if "container" in known}),
                     "all containers")
            text = agent.scrape()
            agent.end()
        [recording] = tmp_path.glob("*.wattle")
    told = {process["pid"]: process for process in run_wattle("report", "--top", "65536", "-f", "json", recording).json["processes"] if "pid" in process}
    for i, (tree, name, known, lines) in enumerate(given):
        process = told[1000 + i]
        assert {kind: process[kind] for kind in KINDS if kind in process} == known, (tree, name, lines)
    for kind in ("container", "pod", "job"):
        for name in {known[kind] for _, _, known, _ in given if kind in known}:
            assert f'wattle_{kind}_power_watts{{{kind}_id="{name}"}}' in text, name
