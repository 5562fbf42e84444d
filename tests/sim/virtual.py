# SPDX-License-Identifier: MIT
"""The simulated machine in virtual time: a scenario becomes a tape (docs/tape.md) and the truth of it.

Real time plays no part: a hundred seeds take minutes, and what else the computer does changes no figure. sim.c adds what a tape
cannot have: real processes, which start and end. Of README.md's scenarios it knows `seed`, `duration`, `socket` (idle=), `others` and
`worker` (watts=, duty=, socket=, start=, stop=, phase=, jitter=), and has GPUs of its own: `gpu idle=W [context=W]
[jumps=N] [late=S]`, which draws so much more while anybody has a context on it, and whose samples of processes' use end so long before
they are told; while several work at once, one of a second divides them by a draw of a Dirichlet distribution with that concentration, as
drivers' lists do (not told: rightly); `gpu-use WORKER watts=W [sm=F] [phase=S] [jitter=F]`: what it would draw if it kept all SMs busy,
and how many it asks for. Who asks for more than there are takes turns.
"""

import functools
import json
import random
import struct
import subprocess
from decimal import Decimal
from pathlib import Path

import trial

STEP_NS = 10_000_000  # in which what everybody does is constant
FRAME_STEPS = 10  # wattle's tick of 100 ms
COUNTER_NS = 1_000_000  # how often the counters move
COUNTS_J = 2 ** 32
CPUS = 8  # a socket
SECOND_NS = 1_000_000_000
START_NS, EPOCH_NS = 25_000 * SECOND_NS, 1_790_000_000 * SECOND_NS
FIRST_PID = 4000
RESTING = 0.05  # of its duty, as sim.c's workers between their phases
NOISE_W = 0.3  # of a socket, from second to second: facts of measured machines
SAMPLES_KEPT = 30  # who asks for what is newer than an older one gets nothing
GPU_NOISE_W = 2.0  # of a GPU, the same
OTHERS_DUTY = 0.02  # of a CPU, half as much again or half as little from second to second


class Worker:
    def __init__(self, name, watts, duty=1, socket=0, start=0, stop=None, phase=0, jitter=0, rests=RESTING, ipc=1):  # ipc: of processors that count, which this one does not
        self.name, self.watts, self.duty, self.socket = name, float(watts), float(duty), int(socket)
        self.start_s, self.stop_s = float(start), float(stop) if stop else float("inf")
        self.phase_s, self.jitter, self.rests = float(phase), float(jitter), float(rests)
        self.used_s = [0.0]  # until each step's begin

    def run(self, source, steps):
        works, left_s, factor = True, self.stretch(source), 1.0
        for step in range(steps):
            at_s = step * STEP_NS / SECOND_NS
            if self.jitter and step * STEP_NS % SECOND_NS == 0:
                factor = max(0.0, source.gauss(1, self.jitter))
            left_s -= STEP_NS / SECOND_NS
            if self.phase_s and left_s <= 0:
                works, left_s = not works, self.stretch(source)
            duty = min(1.0, self.duty * factor) * (1 if works else self.rests)
            self.used_s.append(self.used_s[-1] + (duty * STEP_NS / SECOND_NS if self.start_s <= at_s < self.stop_s else 0))

    def stretch(self, source):
        return self.phase_s * source.uniform(0.25, 1.75)


class GpuUser:
    """The use of the GPU by a worker that is there."""

    def __init__(self, worker, watts, sm=1, phase=0, jitter=0):
        self.worker, self.watts = worker, float(watts)
        self.asks = Worker(worker.name, 0, sm, phase=phase, jitter=jitter, start=worker.start_s, stop=worker.stop_s, rests=0)
        self.used_s = [0.0]  # until each step's begin

    def is_there(self, at_s):
        return self.worker.start_s <= at_s < self.worker.stop_s


class Gpu:
    """An NVIDIA GPU of an older driver: a counter of energy that moves every 100 ms, a list of processes, and once a second a sample of
    the use of each that did anything."""

    HANDLE, BUS, UUID = "7f00", "0000:17:00.0", "GPU-11111111-2222-3333-4444-555555555555"
    CALLS = ("nvmlInit_v2", "nvmlShutdown", "nvmlSystemGetDriverVersion", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2",
             "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByUUID", "nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlDeviceGetPciInfo_v3",
             "nvmlDeviceGetCudaComputeCapability", "nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetComputeRunningProcesses_v3",
             "nvmlDeviceGetProcessUtilization")

    def __init__(self, idle, context=0, jumps=0, late=0.3):
        self.idle_w, self.context_w, self.jumps, self.late_s = float(idle), float(context), float(jumps), float(late)
        self.users = []

    def run(self, source, steps):
        for user in self.users:
            user.asks.run(source, steps)
        self.used_j, noise_w = [0.0], 0.0
        for step in range(steps):
            at_s = step * STEP_NS / SECOND_NS
            if step * STEP_NS % SECOND_NS == 0:
                noise_w = source.gauss(0, GPU_NOISE_W)
            asked = [user.asks.used_s[step + 1] - user.asks.used_s[step] for user in self.users]
            whole = max(1.0, sum(asked) * SECOND_NS / STEP_NS)
            joules = self.idle_w * STEP_NS / SECOND_NS
            if any(user.is_there(at_s) for user in self.users):
                joules += self.context_w * STEP_NS / SECOND_NS
            if sum(asked):
                joules += noise_w * STEP_NS / SECOND_NS
            for user, use_s in zip(self.users, asked):
                user.used_s.append(user.used_s[-1] + use_s / whole)
                joules += user.watts * use_s / whole
            self.used_j.append(self.used_j[-1] + joules)
        self.samples = [self.sample(source, second) for second in range(1, steps * STEP_NS // SECOND_NS + 1)]

    def sample(self, source, second):
        """Of the second before, in percent."""
        to = round((second - self.late_s) * SECOND_NS / STEP_NS)
        since = max(0, to - SECOND_NS // STEP_NS)
        parts = [user.used_s[to] - user.used_s[since] for user in self.users]
        if self.jumps and sum(part > 0.02 for part in parts) > 1:
            draws = [source.gammavariate(self.jumps * part / sum(parts), 1) if part > 0.02 else 0 for part in parts]
            parts = [min(1.0, sum(parts) * draw / sum(draws)) for draw in draws]
        return [round(100 * part) for part in parts]

    def found_once(self):
        name, bus = b"NVIDIA A100-SXM4-80GB".hex(), self.BUS.encode().hex()
        yield '+2 H "libnvidia-ml.so.1" ' + " ".join(f'"{call}"' for call in self.CALLS)
        pci = (self.BUS.encode().ljust(16, b"\0") + struct.pack("<5I", 0, 0x17, 0, 0x20B210DE, 0) + f"0000{self.BUS}".encode()).hex()
        for call in ("nvmlInit_v2 = 0", "nvmlShutdown = 0", f"nvmlSystemGetDriverVersion [80:] 50 = 0 [{b'535.104.05'.hex()}]",
                     "nvmlDeviceGetCount_v2 [4:] = 0 [01]", f"nvmlDeviceGetHandleByIndex_v2 0 [8:] = 0 [{self.handle}]",
                     f"nvmlDeviceGetHandleByPciBusId_v2 [96:{bus}] [8:] = 0 [{bus}] [{self.handle}]",
                     f"nvmlDeviceGetPciInfo_v3 {self.HANDLE} [68:] = 0 [{pci}]",
                     f"nvmlDeviceGetUUID {self.HANDLE} [96:] 60 = 0 [{self.UUID.encode().hex()}]",
                     f"nvmlDeviceGetName {self.HANDLE} [96:] 60 = 0 [{name}]",
                     f"nvmlDeviceGetCudaComputeCapability {self.HANDLE} [4:] [4:] = 0 [08] []"):
            yield f"+3 S {call}"

    @property
    def handle(self):
        return bytes.fromhex(self.HANDLE)[::-1].hex()

    def frame(self, step, pids):
        """pids: of its users, in their order."""
        at_s = step * STEP_NS / SECOND_NS
        yield f"+25000 S nvmlDeviceGetTotalEnergyConsumption {self.HANDLE} [8:] = 0 [{struct.pack('<Q', int(1000 * (1000 + self.used_j[step]))).hex()}]"
        listed = [struct.pack("<IIQII", pid, 0, 1 << 30, 0xFFFFFFFF, 0xFFFFFFFF) for user, pid in zip(self.users, pids) if user.is_there(at_s)]
        yield (f"+60000 S nvmlDeviceGetComputeRunningProcesses_v3 {self.HANDLE} [4:20] [768:] = 0 [{struct.pack('<I', len(listed)).hex()}] "
               f"[{b''.join(listed).hex()}]")
        yield from self.answers(int(at_s), tuple(pids))

    @functools.lru_cache(2)  # the same in all frames of a second
    def answers(self, newest, pids):
        """Of the samples, to whoever asks for those that are newer than a second."""
        found = b"".join(struct.pack("<IIQ4I", pid, 0, self.sampled_us(newest), percent, 0, 0, 0)
                         for percent, pid in zip(self.samples[newest - 1] if newest else [], pids) if percent)
        answers = []
        for second in range(max(0, newest - SAMPLES_KEPT), newest + 1):
            question = f"+61000 S nvmlDeviceGetProcessUtilization {self.HANDLE} [4096:] [4:80] {self.sampled_us(second):x}"
            has_news = found and second < newest
            answers.append(f"{question} = 0 [{found.hex()}] [{struct.pack('<I', len(found) // 32).hex()}]" if has_news else f"{question} = 6 [] []")
        return answers

    def sampled_us(self, second):
        """When; 0: before the first sample."""
        return (EPOCH_NS + second * SECOND_NS) // 1000 - round(self.late_s * 1e6) if second else 0


class Machine:
    def __init__(self, scenario, delay_s=0):
        """delay_s: nobody but the others works before that."""
        self.workers, self.idle_w, self.random = [], [], random.Random(0)
        self.others = [Worker("others", 0, OTHERS_DUTY, jitter=0.5)]
        self.duration_s, self.gpu = 0, None
        for line in scenario.splitlines():
            word, *more = line.split()
            options = dict(option.split("=") for option in more if "=" in option)
            if word == "seed":
                self.random.seed(int(more[0]))
            elif word == "duration":
                self.duration_s = float(more[0]) + delay_s
            elif word == "socket":
                self.idle_w.append(float(options["idle"]))
            elif word == "others":
                self.others[0].watts = float(more[0])
            elif word == "worker":
                options["start"] = float(options.get("start", 0)) + delay_s
                self.workers.append(Worker(more[0], **options))
            elif word == "gpu":
                self.gpu = Gpu(**options)
            elif word == "gpu-use":
                self.gpu.users.append(GpuUser(next(worker for worker in self.workers if worker.name == more[0]), **options))
        self.steps = round(self.duration_s * SECOND_NS / STEP_NS) + FRAME_STEPS
        for worker in self.others + self.workers:
            worker.run(self.random, self.steps)
        if self.gpu:
            self.gpu.run(self.random, self.steps)
        self.energy_j = [self.energy(socket) for socket in range(len(self.idle_w))]

    def energy(self, socket):
        """Of a socket, until each step's begin."""
        used_j, noise_w = [0.0], 0.0
        here = [worker for worker in self.others + self.workers if worker.socket == socket]
        for step in range(self.steps):
            if step * STEP_NS % SECOND_NS == 0:
                noise_w = self.random.gauss(0, NOISE_W)
            dynamic_j = sum(worker.watts * (worker.used_s[step + 1] - worker.used_s[step]) for worker in here)
            used_j.append(used_j[-1] + (self.idle_w[socket] + noise_w) * STEP_NS / SECOND_NS + dynamic_j)
        return used_j

    def tape(self):
        lines = ["wattle-tape 1"]
        for frame in range(self.steps // FRAME_STEPS):
            lines += self.frame(frame)
        return "\n".join(lines) + "\n"

    def frame(self, frame):
        step, late_ns = frame * FRAME_STEPS, self.random.randrange(20_000, 120_000)  # as timers are
        at_ns = step * STEP_NS + late_ns
        yield f"@ {START_NS + at_ns} {START_NS + at_ns} {EPOCH_NS + at_ns}"
        if frame == 0:
            yield from self.found_once()
        for socket, energy_j in enumerate(self.energy_j):
            part = late_ns // COUNTER_NS * COUNTER_NS / STEP_NS
            joules = energy_j[step] + part * (energy_j[step + 1] - energy_j[step])
            yield f"+{20000 + socket} P 9 2 {socket * CPUS} {int((1000 + joules) * COUNTS_J)}"
        pids = [FIRST_PID + i for i in range(len(self.workers))]
        if self.gpu:
            yield from self.gpu.frame(step, [pids[self.workers.index(user.worker)] for user in self.gpu.users])
        yield '+30000 D "/proc" "stat" "self" ' + " ".join(f'"{pid}"' for pid in pids)
        busy = int(100 * sum(worker.used_s[step] for worker in self.others + self.workers))
        idle = int(step * STEP_NS / 1e7) * CPUS * len(self.idle_w) - busy
        cpus = "".join(f"cpu{i} 0 0 0 0 0 0 0 0 0 0\\n" for i in range(CPUS * len(self.idle_w)))
        yield f'+40000 R "/proc/stat" "cpu  {1000 + busy} 0 0 {1000000 + idle} 0 0 0 0 0 0\\n{cpus}btime 1\\n"'
        yield "+50000 C " + " ".join(f"{pid}={int((100 + worker.used_s[step]) * SECOND_NS)}" for pid, worker in zip(pids, self.workers))

    def found_once(self):
        cpus = range(CPUS * len(self.idle_w))
        cpuinfo = "".join(f"processor\\t: {i}\\nvendor_id\\t: GenuineIntel\\ncpu family\\t: 6\\nmodel\\t\\t: 85\\nphysical id\\t: {i // CPUS}\\n"
                          f"core id\\t\\t: {i % CPUS}\\n\\n" for i in cpus)
        files = {"/proc/sys/kernel/perf_event_paranoid": "2\\n", "/sys/devices/system/cpu/online": f"0-{cpus[-1]}\\n",
                 "/proc/cpuinfo": cpuinfo, "/proc/self/status": "CapEff:\\t000001ffffffffff\\n"}
        power = "/sys/bus/event_source/devices/power"
        for name, text in (("type", "9"), ("cpumask", ",".join(map(str, cpus[::CPUS]))), ("events/energy-pkg", "event=0x02"),
                           ("events/energy-pkg.unit", "Joules"), ("events/energy-pkg.scale", "2.3283064365386963e-10")):
            files[f"{power}/{name}"] = text + "\\n"
        for cpu in cpus[::CPUS]:
            files[f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"] = f"{cpu // CPUS}\\n"
        for pid, worker in enumerate(self.workers, FIRST_PID):
            files[f"/proc/{pid}/stat"] = f"{pid} ({worker.name}) S 1 {pid} {pid} 0 -1 4194304{' 0' * 10} 20 0 1 0 {pid} 0 0{' 0' * 28}\\n"
            files[f"/proc/{pid}/status"] = f"Name:\\t{worker.name}\\nTgid:\\t{pid}\\nPid:\\t{pid}\\nPPid:\\t1\\nUid:\\t0\\t0\\t0\\t0\\nThreads:\\t1\\n"
            files[f"/proc/{pid}/cmdline"] = f"/usr/bin/{worker.name}\\x00"
            files[f"/proc/{pid}/cgroup"] = "0::/user.slice\\n"
        yield '+1 D "/sys/bus/event_source/devices" "power"'
        if self.gpu:
            yield from self.gpu.found_once()
        for path, text in files.items():
            yield f'+1 R "{path}" "{text}"'

    def truth(self):
        last = round(self.duration_s * SECOND_NS / STEP_NS)
        found = []
        for pid, worker in enumerate(self.workers, FIRST_PID):
            cpu_s = worker.used_s[last]
            gpu_j = sum(user.watts * user.used_s[last] for user in self.gpu.users if user.worker is worker) if self.gpu else 0
            found.append({"name": worker.name, "pid": pid, "pids": [pid], "cpu_s": cpu_s, "dynamic_j": worker.watts * cpu_s + gpu_j,
                          "gpu_j": gpu_j})
        return {"workers": found}


LIVE, BY_TIME, SMOOTHED = (), ("--policy", "weight=cpu-time"), ("--policy", "weight=smoothed")


def run(wattle, folder, scenario, watts, *, begin_s=0, policies=(LIVE, BY_TIME)):
    """A Trial of one recording by each of the policies. watts: the idle power that wattle is told, by domain; None: what
    it knows from the run before in that folder.
    begin_s: so long it looks on before the workers begin."""
    folder = Path(folder)
    machine = Machine(scenario, begin_s)
    tape, recording = folder / "machine.tape", folder / "machine.wattle"
    tape.write_text(machine.tape(), encoding="utf-8")
    recording.unlink(missing_ok=True)
    idle = folder / "idle"
    if watts is not None:
        trial.idle_file(idle, {name: idle_w for name, idle_w in watts.items() if name.startswith(("package", "gpu"))}, "rapl-perf")
    subprocess.run([wattle, "record", "-q", "--tape", tape, "--idle-file", idle, "--weight", "learned", "-o", recording], check=True)
    reports = (subprocess.run([wattle, "report", "-f", "json", "--top", "65536", *policy, recording], stdout=subprocess.PIPE,
                              check=True, text=True).stdout for policy in policies)
    return [trial.Trial(machine.truth(), json.loads(report, parse_float=Decimal)) for report in reports]
