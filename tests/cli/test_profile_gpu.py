# SPDX-License-Identifier: MIT
"""wattle profile of a program that uses a GPU, without a trace: its joules go to the stacks that launched work on it or waited for it.

There is no GPU: the fake NVML has the power and the processes, and a library with the driver's name keeps the processor busy.
"""

import os
import subprocess

import pytest

from conftest import parse_json, run_wattle
from test_profile import built_program, check_sums, started  # noqa: F401 (fixtures)

DRIVER = """
#include <time.h>
void cuCtxSynchronize(double s);
void cuCtxSynchronize(double s)
{
	struct timespec t;
	double end;
	clock_gettime(CLOCK_MONOTONIC, &t);
	for (end = t.tv_sec + t.tv_nsec / 1e9 + s; t.tv_sec + t.tv_nsec / 1e9 < end;)
		clock_gettime(CLOCK_MONOTONIC, &t);
}
"""

PROGRAM = """
#include <time.h>
#include <unistd.h>
void cuCtxSynchronize(double s);
__attribute__((noinline)) void trains(void);
__attribute__((noinline)) void loads(void);
static void spins(double s)
{
	struct timespec t;
	double end;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	for (end = t.tv_sec + t.tv_nsec / 1e9 + s; t.tv_sec + t.tv_nsec / 1e9 < end;)
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
}
void trains(void) { %s(0.01); __asm__ volatile(""); }
void loads(void) { spins(0.01); __asm__ volatile(""); }
int main(void)
{
	for (int i = 0; i < 5000; i++) {
		trains();
		loads();
	}
}
"""

GPU = """\
driver 550.54.15
gpu NVIDIA A100-PCIE-40GB
  uuid GPU-7be2d1aa-90c1-4d8e-a9a0-70f1c2d3e4f5
  bus 00000000:17:00.0
  cc 8.0
  power 0 const 200
  counter-start 1000
  sensor counter gpu 20
  sensor instant gpu 20
  sensor usage gpu 100
  memory 40960 500 0
  utilization 90 30 0 0
  sample-period 100
  process {pid} C 30000 90 20 0 0
"""


def build(tmp_path, calls):
    folder = tmp_path / "lib"
    folder.mkdir()
    (tmp_path / "driver.c").write_text(DRIVER)
    (tmp_path / "uses.c").write_text(PROGRAM % calls)
    subprocess.run(["gcc", "-O1", "-g", "-shared", "-fPIC", "-o", folder / "libcuda.so.1", "-Wl,-soname,libcuda.so.1", tmp_path / "driver.c"], check=True)
    subprocess.run(["gcc", "-O1", "-g", "-o", tmp_path / "uses", tmp_path / "uses.c", "-L", folder, "-l:libcuda.so.1", f"-Wl,-rpath,{folder}"], check=True)
    return tmp_path / "uses"


@pytest.fixture(name="take")
def taken(program, running, tmp_path):
    if not os.environ.get("WATTLE_NVML_LIBRARY"):
        pytest.skip("no fake NVML")

    def take(calls, *options):
        process = running(build(tmp_path, calls))
        (tmp_path / "gpu.nvml").write_text(GPU.format(pid=process.pid))
        result = run_wattle("profile", "--nvml", os.environ["WATTLE_NVML_LIBRARY"], "--pid", str(process.pid), "--duration", "3", *options,
                            env={"WATTLE_FAKE_NVML": str(tmp_path / "gpu.nvml")})
        assert result.code == 0, result
        return result
    return take


def gpu_joules(told, function):
    row = next((row for row in told["functions"] if row["function"] == function), None)
    return float(next(domain["energy_j"] for domain in row["domains"] if domain["name"] == "gpu-0")) if row else 0.0


def test_joules_of_who_waits(take, tmp_path):
    said = take("cuCtxSynchronize", "-o", tmp_path / "p.json", "--keep", tmp_path / "p.wprof").err
    told = parse_json((tmp_path / "p.json").read_text())
    check_sums(told)
    whole = gpu_joules(told, "main")
    assert whole > 50 and gpu_joules(told, "trains") > 0.95 * whole and gpu_joules(told, "loads") < 0.05 * whole, told["functions"]
    assert told["gpu_energy_by"] == "launches" and "GPU energy is in the stacks that launched" in said
    run_wattle("profile", "show", tmp_path / "p.wprof", "-o", tmp_path / "p.html")
    assert "energy of gpu-0 (of who launched or waits)" in (tmp_path / "p.html").read_text()


def test_joules_by_cpu_time(take, tmp_path):
    """Where no stack is in a driver, by CPU time, and that is said."""
    said = take("spins", "-o", tmp_path / "p.json").err
    told = parse_json((tmp_path / "p.json").read_text())
    check_sums(told)
    whole = gpu_joules(told, "main")
    assert whole > 50 and 0.3 * whole < gpu_joules(told, "loads") < 0.7 * whole
    assert told["gpu_energy_by"] == "cpu_time" and "divided by CPU time" in said
