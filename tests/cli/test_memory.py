# SPDX-License-Identifier: MIT
"""How much memory wattle holds: its size is by what is there, not by what there may be."""

import pytest

from conftest import ROOTS, run_wattle

MOST = 6_000_000
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
