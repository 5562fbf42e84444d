# SPDX-License-Identifier: MIT
"""How far learned watts are from the truth, on simulated machines in virtual time (tests/sim/virtual.py): the same figures on every
computer, however busy it is. bench/bench_attribution.py has more seeds."""

import statistics
import sys

import pytest

from conftest import REPO, command_path

sys.path.insert(0, str(REPO / "tests" / "sim"))
sys.path.insert(0, str(REPO / "bench"))

import bench_attribution  # noqa: E402
import virtual  # noqa: E402

SEEDS = range(1, 11)


def trials(tmp_path, make, is_told=True, begin_s=0):
    """Of each seed, by learned watts and by CPU time."""
    for seed in SEEDS:
        machine = make(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        yield machine, *virtual.run(command_path(), folder, machine.text, machine.idle if is_told else {}, begin_s=begin_s)


def large(found):
    scores = list(found.scores())
    return bench_attribution.share_of(scores, sum(score.true_j for score in scores))


def all_large(tried):
    learned, timed = [], []
    for _, by_learned, by_time in tried:
        learned += large(by_learned)
        timed += large(by_time)
    assert sum(score.is_covered for score in learned) >= 0.95 * len(learned)
    return sorted(abs(score.error) for score in learned), sorted(abs(score.error) for score in timed)


def at(errors, part):
    return errors[int(part * (len(errors) - 1))]


def test_work_in_turns(tmp_path):
    learned, timed = all_large(trials(tmp_path, lambda seed: bench_attribution.turns(seed, 30, bench_attribution.phased)))
    assert at(learned, 0.5) < 0.03 and at(learned, 0.95) < 0.10
    assert at(timed, 0.5) > 0.10  # by CPU time nobody tells them apart


def test_jitter(tmp_path):
    learned, _ = all_large(trials(tmp_path, lambda seed: bench_attribution.turns(seed, 120, lambda source: "jitter=0.2")))
    assert at(learned, 0.5) < 0.04 and at(learned, 0.95) < 0.20


def test_steady_use_is_not_worse_than_by_cpu_time(tmp_path):
    learned, timed = all_large(trials(tmp_path, lambda seed: bench_attribution.turns(seed, 30, lambda source: "")))
    for part in (0.5, 0.95):
        assert at(learned, part) < at(timed, part) + 0.02


@pytest.mark.parametrize("make, begin_s, most", (
    (lambda seed: bench_attribution.turns(seed, 30, bench_attribution.phased, equal=True), 0, 0.01),
    (bench_attribution.watched, 10, 0.03),
))
def test_idle_power_that_nobody_told(tmp_path, make, begin_s, most):
    """All that was used above it, of all workers together."""
    biases, scores = [], []
    for _, by_learned, _ in trials(tmp_path, make, is_told=False, begin_s=begin_s):
        found = list(by_learned.scores())
        biases.append(sum(score.dynamic_j for score in found) / sum(score.true_j for score in found) - 1)
        scores += found
    assert abs(statistics.median(biases)) < most, biases
    assert sum(score.is_covered for score in scores) >= 0.75 * len(scores)


def test_a_background_that_never_rests(tmp_path):
    for machine, found, _ in trials(tmp_path, bench_attribution.restless, is_told=False):
        assert abs(float(found.report["domains"][0]["idle_w"]) / machine.idle["package-0"] - 1) < 0.03
