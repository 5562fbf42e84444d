#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write scripts/capture-*.nvml from whole outputs of nvidia-smi (shared/data/nvidia-smi/*.txt).

usage: mkscripts.py CAPTURE.txt…

A capture gives two scripts, idle and load: with them the fake answers every number that the capture's --query-gpu and
--query-compute-apps show and that NVML has a public function for, and has the processes of its -q and pmon.
The scripts are committed, the captures are not.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
DEPRECATED = "[Requested functionality has been deprecated]"
ARCHS = {"Turing": "turing", "Ada Lovelace": "ada", "Hopper": "hopper"}
MODES = {"Default": 0, "Exclusive_Thread": 1, "Prohibited": 2, "Exclusive_Process": 3}
RECOVERIES = ["None", "Reset", "Reboot", "Drain P2P", "Drain and Reset"]
VIRTUALIZATIONS = ["None", "Pass-Through"]
PEERS = ["Direct Connected", "Switch Connected"]
STATES = ["N/A", "Not Started", "In Progress", "Completed"]
WORDS = {"Enabled": 1, "Disabled": 0, "Yes": 1, "No": 0, "None": 0, "HMM": 1, "ATS": 2}


def sections(text):
    """{"idle :: pmon": [lines]}"""
    found, lines = {}, text.split("\n")
    for i, line in enumerate(lines):
        match = re.match(r"# (\w+) :: ([\w-]+)", line)
        if match and lines[i - 1].startswith("####"):
            start = i + 1 + next(n for n, x in enumerate(lines[i + 1:]) if x.startswith("####")) + 1
            end = next((n for n in range(start, len(lines)) if lines[n].startswith("####" * 10)), len(lines))
            found[f"{match[1]} :: {match[2]}"] = [x for x in lines[start:end] if x.strip()]
    return found


def tree(lines):
    """One GPU of nvidia-smi -q as {("PCI", "Bus"): [values]}; a name may come several times."""
    path, found = [], {}
    for line in lines:
        depth = (len(line) - len(line.lstrip())) // 4
        name, colon, value = (x.strip() for x in line.partition(" : "))
        path = path[:depth] + [name]
        if colon:
            found.setdefault(tuple(path[1:]), []).append(value)
    return found


class Row(dict):
    """One CSV row by field name, units cut off; a field that is not available is None."""

    def __init__(self, lines):
        names = [re.sub(r" \[.*\]$", "", x) for x in lines[0].split(", ")]
        super().__init__(zip(names, lines[1].split(", ")))

    def get(self, name):
        value = self[name] if name in self else None
        if value is None or value in ("[N/A]", "N/A") or value.startswith("["):
            return None
        return re.sub(r" (W|MiB|%|MHz|us|ms)$", "", value)

    def number(self, name):
        value = self.get(name)
        return None if value is None else WORDS.get(value, value)


def milli(watts):
    return round(float(watts) * 1000)


# Functions with one number of one field: field, function, factor.
PLAIN = [
    ("vbios_version", "nvmlDeviceGetVbiosVersion"), ("inforom.img", "nvmlDeviceGetInforomImageVersion"),
    ("inforom.oem", "nvmlDeviceGetInforomVersion:0"), ("inforom.ecc", "nvmlDeviceGetInforomVersion:1"),
    ("inforom.pwr", "nvmlDeviceGetInforomVersion:2"), ("display_active", "nvmlDeviceGetDisplayActive"),
    ("display_attached", "nvmlDeviceGetDisplayMode"), ("pcie.link.gen.current", "nvmlDeviceGetCurrPcieLinkGeneration"),
    ("pcie.link.gen.max", "nvmlDeviceGetMaxPcieLinkGeneration"),
    ("pcie.link.gen.gpumax", "nvmlDeviceGetGpuMaxPcieLinkGeneration"),
    ("pcie.link.width.current", "nvmlDeviceGetCurrPcieLinkWidth"),
    ("pcie.link.width.max", "nvmlDeviceGetMaxPcieLinkWidth"), ("accounting.mode", "nvmlDeviceGetAccountingMode"),
    ("accounting.buffer_size", "nvmlDeviceGetAccountingBufferSize"), ("platform.module_id", "nvmlDeviceGetModuleId"),
    ("c2c.mode", "nvmlDeviceGetC2cModeInfoV"), ("utilization.jpeg", "nvmlDeviceGetJpgUtilization"),
    ("utilization.ofa", "nvmlDeviceGetOfaUtilization"),
    ("clocks_event_reasons.supported", "nvmlDeviceGetSupportedClocksEventReasons"),
    ("temperature.gpu.tlimit", "nvmlDeviceGetMarginTemperature"), ("addressing_mode", "nvmlDeviceGetAddressingMode"),
    ("clocks.applications.graphics", "nvmlDeviceGetApplicationsClock:0"),
    ("clocks.applications.memory", "nvmlDeviceGetApplicationsClock:2"),
    ("clocks.default_applications.graphics", "nvmlDeviceGetDefaultApplicationsClock:0"),
    ("clocks.default_applications.memory", "nvmlDeviceGetDefaultApplicationsClock:2"),
]
SEVERAL = [
    ("nvmlDeviceGetEccMode", "ecc.mode.current ecc.mode.pending"),
    ("nvmlDeviceGetGspFirmwareMode", "gsp.mode.current gsp.mode.default"),
    ("nvmlDeviceGetEncoderStats", "encoder.stats.sessionCount encoder.stats.averageFps encoder.stats.averageLatency"),
    ("nvmlDeviceGetRemappedRows", "remapped_rows.correctable remapped_rows.uncorrectable remapped_rows.pending"
     " remapped_rows.failure"),
    ("nvmlDeviceGetRowRemapperHistogram", "remapped_rows.histogram.max remapped_rows.histogram.high"
     " remapped_rows.histogram.partial remapped_rows.histogram.low remapped_rows.histogram.none"),
    ("nvmlDeviceGetConfComputeProtectedMemoryUsage",
     "protected_memory.total protected_memory.used protected_memory.free"),
]
COUNTERS = {74: "sw_power_cap", 76: "sync_boost", 269: "sw_thermal_slowdown", 270: "hw_thermal_slowdown",
            271: "hw_power_brake_slowdown"}
DEPRECATIONS = {"clocks.applications.graphics": "nvmlDeviceGetApplicationsClock",
                "clocks.default_applications.graphics": "nvmlDeviceGetDefaultApplicationsClock"}


def identity(row, detail):
    yield f"  uuid {row['uuid']}"
    yield f"  bus {row['pci.bus_id']}"
    yield f"  serial {row.get('serial') or 0}"
    yield f"  arch {ARCHS[detail[('Product Architecture',)][0]]}"
    yield f"  cc {row['compute_cap']}"
    yield f"  pci {row['pci.device_id']} {row['pci.sub_device_id']}"


def power(row, detail):
    """Usage is power.draw; average and instant differ from it, so that they are said word for word."""
    yield f"  power 0 const {row.get('power.draw')}"
    yield "  counter-start 1000"
    yield "  sensor counter gpu 100"
    yield "  sensor usage gpu 100"
    memory = detail.get(("GPU Memory Power Readings", "Average Power Draw"), ["N/A"])[0]
    for field, scope, watts in ((185, 0, row.get("power.draw.average")), (186, 0, row.get("power.draw.instant")),
                                (185, 2, None if memory == "N/A" else memory.removesuffix(" W"))):
        if watts:
            yield f"  value field:{field}:{scope} {milli(watts)}"
    yield "  limit " + " ".join(row.get(f"power.{x}limit") for x in ("", "default_", "min_", "max_"))
    # What a module lacks; the fake would answer with the GPU's.
    yield from (f"  answer field:{x}:1 NOT_SUPPORTED" for x in (187, 188, 189, 190, 192))


def state(row, detail):
    clocks = [row.get(f"clocks.current.{x}") for x in ("graphics", "sm", "memory", "video")]
    most = [row.get(f"clocks.max.{x}") for x in ("graphics", "sm", "memory")]
    most.append(detail[("Max Clocks", "Video")][0].removesuffix(" MHz"))
    yield "  clocks " + " ".join(clocks + most)
    yield f"  temperature {row.get('temperature.gpu')}" + (f" {row.get('temperature.memory')}"
                                                           if row.get("temperature.memory") else "")
    yield f"  state {row['pstate'][1:]} {row.get('fan.speed') or '-'} {row['clocks_event_reasons.active']}"
    yield f"  persistence {'on' if row.number('persistence_mode') else 'off'}"
    if row.get("mig.mode.current"):
        yield f"  mig {'on' if row.number('mig.mode.current') else 'off'}"
    if row.get("compute_mode") != "Default":
        yield f"  value nvmlDeviceGetComputeMode {MODES[row.get('compute_mode')]}"
    use = [row.get(f"utilization.{x}") for x in ("gpu", "memory", "encoder", "decoder")]
    if use[0] is not None:
        yield "  utilization " + " ".join(use)
    else:
        yield "  answer nvmlDeviceGetEncoderUtilization NOT_SUPPORTED"
        yield "  answer nvmlDeviceGetDecoderUtilization NOT_SUPPORTED"
    rates = [detail[("PCI", f"{x} Throughput")][0].split()[0] for x in ("Tx", "Rx")]
    yield "  pcie " + " ".join(rates)


def values(row):
    for field, function in PLAIN:
        if row.number(field) is not None:
            yield f"  value {function} {row.number(field)}"
    for function, fields in SEVERAL:
        several = [row.number(x) for x in fields.split()]
        if None not in several:
            yield f"  value {function} {' '.join(str(x) for x in several)}"
    for field, name in COUNTERS.items():
        if row.get(f"clocks_event_reasons_counters.{name}") is not None:
            yield f"  value field:{field}:0 {int(row.get(f'clocks_event_reasons_counters.{name}')) * 1000}"
    for kind, kind_name in enumerate(("corrected", "uncorrected")):
        for counter, counter_name in enumerate(("volatile", "aggregate")):
            name = f"ecc.errors.{kind_name}.{counter_name}"
            if row.get(f"{name}.total") is not None:
                yield f"  value nvmlDeviceGetTotalEccErrors:{kind}:{counter} {row.get(f'{name}.total')}"
            for place, place_name in ((2, "dram"), (7, "sram")):
                if row.get(f"{name}.{place_name}") is not None:
                    yield (f"  value nvmlDeviceGetMemoryErrorCounter:{kind}:{counter}:{place}"
                           f" {row.get(f'{name}.{place_name}')}")
    for field, function in DEPRECATIONS.items():
        if row[field] == DEPRECATED:
            yield f"  answer {function} DEPRECATED"


# What only -q has: the fake's key, and the titles of its values.
LIMITS = ("GPU Shutdown", "GPU Slowdown", "Memory Max Operating", "GPU Max Operating")
TITLES = [
    ("nvmlDeviceGetBoardId", "Board ID"), ("nvmlDeviceGetPdi", "GPU PDI"),
    ("nvmlDeviceGetMultiGpuBoard", "MultiGPU Board"), ("nvmlDeviceGetBoardPartNumber", "Board Part Number"),
    ("nvmlDeviceGetGspFirmwareVersion", "GSP Firmware Version"), ("nvmlDeviceGetBBXTimeData_v1", "Inforom Time Data/Time Run"),
    ("nvmlDeviceGetPcieReplayCounter", "PCI/Replays Since Reset"), ("field:95:0", "PCI/Replay Number Rollovers"),
    ("nvmlDeviceGetBAR1MemoryInfo", *(f"BAR1 Memory Usage/{x}" for x in ("Total", "Used", "Free"))),
    ("nvmlDeviceGetFBCStats", *(f"FBC Stats/{x}" for x in ("Active Sessions", "Average FPS", "Average Latency"))),
    ("nvmlDeviceGetRepairStatus", *(f"ECC Errors/{x} Repair Pending" for x in ("Channel", "TPC"))),
    ("nvmlDeviceGetMaxCustomerBoostClock:0", "Max Customer Boost Clocks/Graphics"),
    *((f"nvmlDeviceGetTemperatureThreshold:{i}", f"Temperature/{x} Temp") for i, x in enumerate(LIMITS)),
    *((f"field:{193 + i}:0", f"Temperature/{x} T.Limit Temp") for i, x in enumerate(LIMITS)),
    ("nvmlDeviceGetTemperatureThreshold:5", "Temperature/GPU Target Temperature"),
]
BRANDS = {"GeForce": 5, "NVIDIA": 14}


def titles(detail):
    """The values of TITLES, without their units."""
    yield f"  value nvmlDeviceGetBrand {BRANDS[detail[('Product Brand',)][0]]}"
    for key, *names in TITLES:
        found = [(detail.get(tuple(x.split("/"))) or detail.get(tuple(f"{x} Specification".split("/"))) or ["N/A"])[0] for x in names]
        if "N/A" not in found:
            yield f"  value {key} {' '.join(str(WORDS.get(x, x.split()[0])) for x in found)}"


def details(row, detail):
    """What is read on request. Of a healthy fabric the captures tell no health."""
    mode = detail.get(("GPU Virtualization Mode", "Virtualization Mode"), ["N/A"])[0]
    if mode in VIRTUALIZATIONS:
        yield f"  value nvmlDeviceGetVirtualizationMode {VIRTUALIZATIONS.index(mode)}"
    if row.get("gpu_recovery_action") is not None:
        yield f"  value field:230:0 {RECOVERIES.index(row['gpu_recovery_action'])}"
    if row.get("edpp_multiplier") is not None:
        yield f"  value field:274:0 {round(float(row.get('edpp_multiplier')))}"
    if row.get("inforom.checksum_validation") is not None:
        yield f"  value nvmlDeviceValidateInforom {0 if row['inforom.checksum_validation'] == 'valid' else 14}"
    rows = [row.number(f"remapped_rows.{x}") for x in ("correctable", "correctable_inactive", "uncorrectable",
                                                         "uncorrectable_inactive", "pending", "failure")]
    if None not in rows:
        yield "  value nvmlDeviceGetRemappedRows_v2 " + " ".join(str(x) for x in rows)
    uncorrected, volatile, aggregate = "ecc.errors.uncorrected.", "volatile.sram", "aggregate.sram"
    if row.get(f"{uncorrected}{aggregate}.l2") is not None:
        names = [f"{uncorrected}{aggregate}.parity", f"{uncorrected}{aggregate}.secded", f"ecc.errors.corrected.{aggregate}",
                 f"{uncorrected}{volatile}.parity", f"{uncorrected}{volatile}.secded", f"ecc.errors.corrected.{volatile}",
                 *(f"{uncorrected}{aggregate}.{x}" for x in ("l2", "sm", "pcie", "mcu", "other", "thresholdExceeded"))]
        yield "  value nvmlDeviceGetSramEccErrorStatus " + " ".join(str(row.number(x)) for x in names)
    if row["fabric.state"] != "N/A":
        assert row["fabric.status"] == "Success" and row["fabric.health.summary"] == "N/A"
        yield (f"  value nvmlDeviceGetGpuFabricInfoV {STATES.index(row['fabric.state'])} 0 {row['fabric.cliqueId']} 0 0"
               f" {row['fabric.clusterUuid']}")
    place = [row[f"platform.{x}"] for x in ("slot_number", "tray_index", "host_id")]
    yield (f"  value nvmlDeviceGetPlatformInfo {' '.join(place)} {PEERS.index(row['platform.peer_type'])}"
           f" {row['platform.module_id']} {row['platform.gpu_fabric_guid']}"
           f" {row['platform.chassis_serial_number']}".rstrip())


def migs(listed, detail):
    """The MIG devices of `nvidia-smi -L`, with what -q says of them in the same order."""
    def of(*path):
        return detail.get(("MIG Device", *path), [])

    found = [re.match(r"\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (\S+)\)", x) for x in listed]
    for i, match in enumerate(x for x in found if x):
        memory = [of("Shared FB Memory Usage", x)[i].split()[0] for x in ("Total", "Used")]
        yield (f"  mig-device {match[1]} {match[2]} {of('GPU Instance ID')[i]} {of('Compute Instance ID')[i]}"
               f" {' '.join(memory)} {of('Device Attributes', 'Shared', 'Multiprocessor count')[i]}")


def holders(apps, detail):
    """(pid, type, name, MiB): the compute processes in the driver's order, then those of -q that draw alone."""
    found = [(pid, "C", name, held.removesuffix(" MiB")) for pid, name, held in (x.split(", ")[5:8] for x in apps[1:])]
    of = [detail.get(("Processes", "Process ID", *x), []) for x in ((), ("Type",), ("Name",), ("Used GPU Memory",))]
    return found + [(pid, kind, name, held.removesuffix(" MiB")) for pid, kind, name, held in zip(*of) if kind == "G"]


def processes(held, pmon, detail):
    """Their lines, with the use of pmon's first sample."""
    instances = dict(zip(detail.get(("Processes", "Process ID"), []),
                         zip(detail.get(("Processes", "GPU instance ID"), []),
                             detail.get(("Processes", "Compute instance ID"), []))))
    use = {}
    for words in map(str.split, pmon):
        if words[0] == "0" and words[1] not in use:
            is_used = any(x.isdigit() for x in words[3:7])
            use[words[1]] = [x if x.isdigit() else "0" for x in words[3:7]] if is_used else []
    for pid, kind, name, mib in held:
        yield f"process-name {pid} {name}"
        yield " ".join([f"  process {pid} {kind} {mib}", *use.get(pid, [])])
        if instances.get(pid, ("N/A",))[0] != "N/A":
            yield f"  process-instance {pid} {' '.join(instances[pid])}"


def memory(row, processes_held):
    held = sum(int(mib) for _, _, _, mib in processes_held)
    return "  memory " + " ".join((row.get("memory.total"), row.get("memory.reserved"),
                                   str(int(row.get("memory.used")) - held), row.get("memory.free")))


def script(found, when, name):
    row = Row(found[f"{when} :: query-gpu"])
    detail = tree(found[f"{when} :: query"])
    held = holders(found[f"{when} :: query-compute-apps"], detail)
    version = dict(re.split(r"\s*:\s*", x, maxsplit=1) for x in found["capabilities :: version"])
    cuda = version.get("CUDA UMD version", version.get("CUDA Version", "0.0")).split(".")
    yield f"# Made by mkscripts.py from {name}: {when}."
    yield f"driver {row['driver_version']}"
    yield f"nvml {version['NVML version']}"
    yield f"cuda {int(cuda[0]) * 1000 + int(cuda[1]) * 10}"
    yield "may-set"
    yield f"gpu {row['name']}"
    yield from identity(row, detail)
    yield from power(row, detail)
    yield memory(row, held)
    yield from state(row, detail)
    yield from values(row)
    yield from details(row, detail)
    yield from titles(detail)
    yield from migs(found["capabilities :: list"], detail)
    yield from processes(held, found[f"{when} :: pmon"], detail)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for capture in map(Path, sys.argv[1:]):
        found = sections(capture.read_text(errors="replace"))
        short = re.sub(r"^nvidia-(geforce-)?|__.*$|-80gb-hbm3", "", capture.stem).replace("rtx-2080-super", "rtx2080s")
        short += "-610" if "__610." in capture.stem else ""
        for when in ("idle", "load"):
            lines = script(found, when, capture.name)
            (HERE / "scripts" / f"capture-{short}-{when}.nvml").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
