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


def bias(found):
    """Of all workers together."""
    scores = list(found.scores())
    return sum(score.dynamic_j for score in scores) / sum(score.true_j for score in scores) - 1


def covers_idle(machine, found):
    domain = found.report["domains"][0]
    return abs(float(domain["idle_w"]) - machine.idle["package-0"]) <= float(domain["idle_uncertainty_w"])


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
    """What is used and seen of nobody comes in lumps. Nobody else is billed for it."""
    tried = list(trials(tmp_path, lambda seed: bench_attribution.turns(seed, 120, lambda source: "jitter=0.2")))
    learned, _ = all_large(tried)
    assert at(learned, 0.5) < 0.04 and at(learned, 0.95) < 0.20
    assert abs(statistics.median(bias(by_learned) for _, by_learned, _ in tried)) < 0.003


def test_steady_use_is_not_worse_than_by_cpu_time(tmp_path):
    learned, timed = all_large(trials(tmp_path, lambda seed: bench_attribution.turns(seed, 30, lambda source: "")))
    for part in (0.5, 0.95):
        assert at(learned, part) < at(timed, part) + 0.02


def test_a_sum_is_known_better_than_its_parts(tmp_path):
    """Steady use: nobody can tell the workers apart, and all of them together are nearly all that there is."""
    for seed in SEEDS:
        machine = bench_attribution.turns(seed, 30, lambda source: "")
        (found,) = virtual.run(command_path(), tmp_path, machine.text, machine.idle, policies=(("--by", "user"),))
        rows = found.report["by"]["users"]["groups"]
        true_j = sum(score.true_j for score in found.scores())
        assert len(rows) == 1 and sum(score.uncertainty_j for score in found.scores()) > 0.3 * true_j
        assert abs(float(rows[0]["dynamic_j"]) - true_j) < float(rows[0]["uncertainty_j"]) < 0.1 * true_j


def test_two_packages_and_little_time(tmp_path):
    """Who ran on which package is not known. All draw the same: CPU time is right, and four looks do not spoil that."""
    learned, _ = all_large(trials(tmp_path, lambda seed: bench_attribution.workers(seed, 1.0, True)))
    assert at(learned, 0.5) < 0.05 and at(learned, 0.95) < 0.15


@pytest.mark.parametrize("make, begin_s, most", (
    (lambda seed: bench_attribution.turns(seed, 30, bench_attribution.phased, equal=True), 0, 0.01),
    (bench_attribution.watched, 10, 0.03),
))
def test_idle_power_that_nobody_told(tmp_path, make, begin_s, most):
    """All that was used above it, of all workers together."""
    biases, scores, idle_covered = [], [], 0
    for machine, by_learned, _ in trials(tmp_path, make, is_told=False, begin_s=begin_s):
        idle_covered += covers_idle(machine, by_learned)
        biases.append(bias(by_learned))
        scores += by_learned.scores()
    assert abs(statistics.median(biases)) < most, biases
    assert sum(score.is_covered for score in scores) >= 0.75 * len(scores)
    assert idle_covered >= 0.9 * len(SEEDS)


def test_smoothed_backwards(tmp_path):
    """A recording that is gone through twice. What it adds up to stays the same, to the microjoule."""
    scores = []
    for seed in SEEDS:
        machine = bench_attribution.turns(seed, 120, bench_attribution.phased)
        folder = tmp_path / str(seed)
        folder.mkdir()
        live, smoothed = virtual.run(command_path(), folder, machine.text, machine.idle, policies=(virtual.LIVE, virtual.SMOOTHED))
        assert smoothed.report["policy"]["weight"] == "smoothed" and "weight" not in live.report.get("policy", {})
        assert {domain["weight"] for domain in smoothed.report["domains"] if "weight" in domain} == {"learned, smoothed backwards"}
        assert smoothed.report["total"] == live.report["total"]
        for mine, theirs in zip(smoothed.report["ledger"], live.report["ledger"]):
            parts = [mine[f"{account}_j"] for account in ("live", "exited", "kernel", "idle", "unattributed")]
            assert sum(parts) == mine["total_j"] == theirs["total_j"]
        scores += large(smoothed)
    errors = sorted(abs(score.error) for score in scores)
    assert at(errors, 0.5) < 0.01 and at(errors, 0.95) < 0.04
    assert sum(score.is_covered for score in scores) >= 0.95 * len(scores)


def test_programs_that_were_seen_before(tmp_path):
    """What they draw is kept with the idle power: a run of 5 s in which nobody changes has it from the start."""
    learned, timed = [], []
    for seed in SEEDS:
        machine = bench_attribution.turns(seed, 60, bench_attribution.phased)
        folder = tmp_path / str(seed)
        folder.mkdir()
        virtual.run(command_path(), folder, machine.text, machine.idle)
        kept = (folder / "idle").read_text(encoding="utf-8")
        assert "watts:package-0 w0 " in kept and len(kept) < 4000
        steady = machine.text.replace("duration 60", "duration 5")
        steady = "\n".join(line.partition(" phase=")[0] for line in steady.splitlines()) + "\n"
        live, played, by_time = virtual.run(command_path(), folder, steady, None, policies=(
            virtual.LIVE, ("--policy", "weight=learned"), virtual.BY_TIME))
        assert played.report["processes"] == live.report["processes"]
        assert "watts:package-0 w0 " in (folder / "idle").read_text(encoding="utf-8")
        learned += large(live)
        timed += large(by_time)
    assert sum(score.is_covered for score in learned) >= 0.95 * len(learned)
    learned, timed = ([abs(score.error) for score in scores] for scores in (learned, timed))
    assert statistics.median(learned) < 0.05 < 0.10 < statistics.median(timed), (learned, timed)


def test_a_background_that_never_rests(tmp_path):
    for machine, found, _ in trials(tmp_path, bench_attribution.restless, is_told=False):
        assert abs(float(found.report["domains"][0]["idle_w"]) / machine.idle["package-0"] - 1) < 0.03


# ---- GPUs ----

def gpu_trials(tmp_path, make, seeds=SEEDS):
    """Of each seed, by learned watts and by use."""
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        machine = make(seed)
        yield virtual.run(command_path(), folder, machine.text, machine.idle)


def gpu_errors(tried):
    learned, used = [], []
    for by_learned, by_use in tried:
        assert {domain["name"]: domain["weight"] for domain in by_learned.report["domains"]}["gpu-0"] == "learned"
        assert {domain["name"]: domain["weight"] for domain in by_use.report["domains"]}["gpu-0"] == "sm-use"
        learned += bench_attribution.gpu_errors(by_learned)
        used += bench_attribution.gpu_errors(by_use)
    assert sum(covered for _, covered, _ in learned) >= 0.95 * len(learned)
    return sorted(error for error, _, _ in learned), sorted(error for error, _, _ in used)


@pytest.mark.parametrize("jumps", (0, 4))
def test_gpu_users_that_draw_unlike(tmp_path, jumps):
    learned, used = gpu_errors(gpu_trials(tmp_path, lambda seed: bench_attribution.on_gpu(seed, 120, jumps=jumps)))
    assert at(learned, 0.5) < 0.06 and at(learned, 0.95) < 0.25
    assert at(used, 0.5) > 0.10


def test_gpu_users_that_draw_alike(tmp_path):
    learned, used = gpu_errors(gpu_trials(tmp_path, lambda seed: bench_attribution.on_gpu(seed, 120, jumps=4, equal=True)))
    for part in (0.5, 0.95):
        assert at(learned, part) < at(used, part) + 0.02


def test_one_gpu_user_alone_is_billed_as_ever(tmp_path):
    machine = bench_attribution.on_gpu(1, 40, n=1)
    learned, used = virtual.run(command_path(), tmp_path, machine.text, machine.idle)
    assert {domain["name"]: domain["weight"] for domain in learned.report["domains"]}["gpu-0"] == "sm-use"
    assert [row["gpu_dynamic_j"] for row in learned.report["processes"]] == [row["gpu_dynamic_j"] for row in used.report["processes"]]


def test_gpus_learned_watts_are_played_again(tmp_path):
    machine = bench_attribution.on_gpu(2, 120, jumps=4)
    live, played, by_use = virtual.run(command_path(), tmp_path, machine.text, machine.idle,
                                       policies=(virtual.LIVE, ("--policy", "weight=learned"), virtual.BY_TIME))
    assert played.report["processes"] == live.report["processes"] != by_use.report["processes"]
    assert played.report["ledger"] == live.report["ledger"]
    for ledger in live.report["ledger"], by_use.report["ledger"]:
        for line in ledger:
            assert sum(line[f"{account}_j"] for account in ("live", "exited", "kernel", "idle", "unattributed")) == line["total_j"]


def test_gpus_programs_that_were_seen_before(tmp_path, monkeypatch):
    """What they draw is kept by GPU: half a minute in which nobody changes has it from the start. It is none of another GPU's."""
    learned, used, untold = [], [], []
    for seed in range(1, 7):
        machine = bench_attribution.on_gpu(seed, 300)
        folder = tmp_path / str(seed)
        folder.mkdir()
        virtual.run(command_path(), folder, machine.text, machine.idle)
        kept = (folder / "idle").read_text(encoding="utf-8")
        assert "watts:gpu-0 g0 " in kept
        steady = "\n".join(line.partition(" phase=")[0] for line in machine.text.replace("duration 300", "duration 30").splitlines()) + "\n"
        live, played, by_use = virtual.run(command_path(), folder, steady, None, policies=(
            virtual.LIVE, ("--policy", "weight=learned"), virtual.BY_TIME))
        assert played.report["processes"] == live.report["processes"]
        assert played.report["ledger"] == live.report["ledger"]
        learned += bench_attribution.gpu_errors(live)
        used += bench_attribution.gpu_errors(by_use)
        any_gpu = f"gpu-0 nvml {round(1e6 * machine.idle['gpu-0'])} 468750 2026-11-21T00:00:00Z 60000000000\n"
        (folder / "idle").write_text(kept.replace("\n", "\n" + any_gpu, 1), encoding="utf-8")
        with monkeypatch.context() as patch:
            patch.setattr(virtual.Gpu, "UUID", "GPU-99999999-2222-3333-4444-555555555555")
            other, _ = virtual.run(command_path(), folder, steady, None)
        untold += bench_attribution.gpu_errors(other)
        assert "watts:gpu-0 g0 " in (folder / "idle").read_text(encoding="utf-8")
    assert sum(covered for _, covered, _ in learned) >= 0.95 * len(learned)
    learned, used, untold = (statistics.median(error for error, _, _ in errors) for errors in (learned, used, untold))
    assert learned < 0.06 < 0.10 < min(used, untold), (learned, used, untold)
