# SPDX-License-Identifier: MIT
"""The C library's constants, structs and functions. Written by tools/mkabi.py from the public headers: edit those."""

from __future__ import annotations

from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KIND_CPU = 0
KIND_CORE = 1
KIND_UNCORE = 2
KIND_DRAM = 3
KIND_PLATFORM = 4
KIND_GPU = 5
KIND_GPU_MEMORY = 6
KIND_MODULE = 7
KIND_SOC = 8
KIND_BATTERY = 9
KIND_BOARD = 10
KINDS = 11
METHOD_NONE = 0
METHOD_COUNTER = 1
METHOD_INTEGRATED = 2
METHOD_MODELLED = 3
METHOD_MIXED = 4
STATUS_OK = 0
STATUS_STALE = 1
STATUS_GAP = 2
STATUS_DENIED = 3
STATUS_GONE = 4
STATUS_FAILED = 5
STATUS_ASLEEP = 6
STATUS_ABSENT = 7
E_NO_WINDOW = 4101
E_WINDOW_OPEN = 4102
E_TOO_MANY = 4103
WEIGHT_LEARNED = 0
WEIGHT_CPU_TIME = 1
WEIGHT_INSTRUCTIONS = 2
WEIGHT_CYCLES = 3
LOG_WARNING = 0
LOG_INFO = 1
LOG_DEBUG = 2
ENERGY_SHORT = 1
ENERGY_DISAGREES = 2
ENERGY_RESET = 4
ENERGY_INCOMPLETE = 8
WINDOW_EXACT = 1
WINDOW_CONSUMERS = 2
CONSUMER_RUNNING = 0
CONSUMER_ENDED = 1
CONSUMER_KERNEL = 2
CONSUMER_SEVERAL = 3
CONSUMER_INTERRUPTS = 4
CONSUMER_UNSEEN = 5
CONSUMER_NOBODY = 6
SET_SELF = 0
SET_PID = 1
SET_CGROUP = 2
USE_EARLIER = 1
GPU_COMPUTE = 1
GPU_GRAPHICS = 2
GPU_MPS = 4
UNKNOWN = 2**64 - 1


class Error(Structure):
    size: int
    code: int
    source: bytes
    path: bytes
    text: bytes
    _fields_ = [
        ("size", c_size_t),
        ("code", c_int),
        ("source", c_char * 24),
        ("path", c_char * 160),
        ("text", c_char * 256),
    ]


class Sample(Structure):
    size: int
    domain: bytes | None
    source: bytes | None
    channel: int
    channels: int
    method: int
    is_energy: int
    status: int
    value: int
    t_mono_ns: int
    half_ns: int
    _fields_ = [
        ("size", c_size_t),
        ("domain", c_char_p),
        ("source", c_char_p),
        ("channel", c_uint32),
        ("channels", c_uint32),
        ("method", c_int),
        ("is_energy", c_int),
        ("status", c_int),
        ("value", c_uint64),
        ("t_mono_ns", c_int64),
        ("half_ns", c_int64),
    ]


class Options(Structure):
    size: int
    root: bytes | None
    nvml_path: bytes | None
    tape: bytes | None
    interval_ms: int
    max_windows: int
    log: Any
    log_context: int | None
    attribution: int
    weight: int
    idle_file: bytes | None
    on_sample: Any
    sample_context: int | None
    gpus: bytes | None
    log_warnings_only: int
    _fields_ = [
        ("size", c_size_t),
        ("root", c_char_p),
        ("nvml_path", c_char_p),
        ("tape", c_char_p),
        ("interval_ms", c_uint32),
        ("max_windows", c_uint32),
        ("log", CFUNCTYPE(None, c_void_p, c_int, c_char_p)),
        ("log_context", c_void_p),
        ("attribution", c_int),
        ("weight", c_int),
        ("idle_file", c_char_p),
        ("on_sample", CFUNCTYPE(None, c_void_p, POINTER(Sample))),
        ("sample_context", c_void_p),
        ("gpus", c_char_p),
        ("log_warnings_only", c_int),
    ]


class Channel(Structure):
    size: int
    domain: bytes | None
    inside: bytes | None
    device: bytes | None
    source: bytes | None
    kind: int
    is_energy: int
    in_total: int
    unit_num: int
    unit_den: int
    range: int
    max_uw: int
    update_ns: int
    gain_ppm: int
    _fields_ = [
        ("size", c_size_t),
        ("domain", c_char_p),
        ("inside", c_char_p),
        ("device", c_char_p),
        ("source", c_char_p),
        ("kind", c_int),
        ("is_energy", c_int),
        ("in_total", c_int),
        ("unit_num", c_uint64),
        ("unit_den", c_uint64),
        ("range", c_uint64),
        ("max_uw", c_uint64),
        ("update_ns", c_int64),
        ("gain_ppm", c_uint32),
    ]


class Domain(Structure):
    size: int
    name: bytes | None
    inside: bytes | None
    device: bytes | None
    source: bytes | None
    sensor: bytes | None
    check: bytes | None
    reason: bytes | None
    remedy: bytes | None
    kind: int
    method: int
    status: int
    in_total: int
    update_ns: int
    uuid: bytes | None
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("inside", c_char_p),
        ("device", c_char_p),
        ("source", c_char_p),
        ("sensor", c_char_p),
        ("check", c_char_p),
        ("reason", c_char_p),
        ("remedy", c_char_p),
        ("kind", c_int),
        ("method", c_int),
        ("status", c_int),
        ("in_total", c_int),
        ("update_ns", c_int64),
        ("uuid", c_char_p),
    ]


class Energy(Structure):
    size: int
    status: int
    method: int
    has_energy: int
    has_power: int
    energy_uj: int
    uncertainty_uj: int
    mean_uw: int
    max_uw: int
    measured_ns: int
    gap_ns: int
    flags: int
    samples: int
    _fields_ = [
        ("size", c_size_t),
        ("status", c_int),
        ("method", c_int),
        ("has_energy", c_int),
        ("has_power", c_int),
        ("energy_uj", c_uint64),
        ("uncertainty_uj", c_uint64),
        ("mean_uw", c_uint64),
        ("max_uw", c_uint64),
        ("measured_ns", c_int64),
        ("gap_ns", c_int64),
        ("flags", c_uint32),
        ("samples", c_uint32),
    ]


class Window(Structure):
    size: int
    begin_utc_ns: int
    begin_mono_ns: int
    duration_ns: int
    total: Energy
    _fields_ = [
        ("size", c_size_t),
        ("begin_utc_ns", c_int64),
        ("begin_mono_ns", c_int64),
        ("duration_ns", c_int64),
        ("total", Energy),
    ]


class Share(Structure):
    size: int
    has_dynamic: int
    full_uj: int
    dynamic_uj: int
    uncertainty_uj: int
    full_uncertainty_uj: int
    _fields_ = [
        ("size", c_size_t),
        ("has_dynamic", c_int),
        ("full_uj", c_uint64),
        ("dynamic_uj", c_uint64),
        ("uncertainty_uj", c_uint64),
        ("full_uncertainty_uj", c_uint64),
    ]


class Consumer(Structure):
    size: int
    state: int
    pid: int
    parent: int
    start_utc_ns: int
    uid: int
    is_in_command: int
    user: bytes | None
    name: bytes | None
    command: bytes | None
    cgroup: bytes | None
    unit: bytes | None
    container: bytes | None
    pod: bytes | None
    job: bytes | None
    processes: int
    cpu_ns: int
    gpu_ns: int
    rss_bytes: int
    pss_bytes: int
    uss_bytes: int
    gpu_memory_bytes: int
    _fields_ = [
        ("size", c_size_t),
        ("state", c_int),
        ("pid", c_int),
        ("parent", c_int),
        ("start_utc_ns", c_int64),
        ("uid", c_uint32),
        ("is_in_command", c_int),
        ("user", c_char_p),
        ("name", c_char_p),
        ("command", c_char_p),
        ("cgroup", c_char_p),
        ("unit", c_char_p),
        ("container", c_char_p),
        ("pod", c_char_p),
        ("job", c_char_p),
        ("processes", c_uint64),
        ("cpu_ns", c_int64),
        ("gpu_ns", c_int64),
        ("rss_bytes", c_uint64),
        ("pss_bytes", c_uint64),
        ("uss_bytes", c_uint64),
        ("gpu_memory_bytes", c_uint64),
    ]


class Ledger(Structure):
    size: int
    has_idle: int
    live_uj: int
    exited_uj: int
    kernel_uj: int
    idle_uj: int
    unattributed_uj: int
    total_uj: int
    _fields_ = [
        ("size", c_size_t),
        ("has_idle", c_int),
        ("live_uj", c_uint64),
        ("exited_uj", c_uint64),
        ("kernel_uj", c_uint64),
        ("idle_uj", c_uint64),
        ("unattributed_uj", c_uint64),
        ("total_uj", c_uint64),
    ]


class Use(Structure):
    size: int
    cpu_ns: int
    gpu_ns: int
    processes: int
    flags: int
    total: Share
    _fields_ = [
        ("size", c_size_t),
        ("cpu_ns", c_int64),
        ("gpu_ns", c_int64),
        ("processes", c_uint64),
        ("flags", c_uint32),
        ("total", Share),
    ]


class Way(Structure):
    size: int
    name: bytes | None
    text: bytes | None
    remedy: bytes | None
    is_used: int
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("text", c_char_p),
        ("remedy", c_char_p),
        ("is_used", c_int),
    ]


class Gpu(Structure):
    size: int
    status: int
    domain: int
    age_ns: int
    name: bytes
    uuid: bytes
    bus_id: bytes
    use_percent: int
    memory_used_bytes: int
    memory_total_bytes: int
    temperature_c: int
    clock_mhz: int
    memory_clock_mhz: int
    power_limit_uw: int
    fan_percent: int
    processes_status: int
    processes: int
    _fields_ = [
        ("size", c_size_t),
        ("status", c_int),
        ("domain", c_int),
        ("age_ns", c_int64),
        ("name", c_char * 96),
        ("uuid", c_char * 96),
        ("bus_id", c_char * 32),
        ("use_percent", c_uint64),
        ("memory_used_bytes", c_uint64),
        ("memory_total_bytes", c_uint64),
        ("temperature_c", c_uint64),
        ("clock_mhz", c_uint64),
        ("memory_clock_mhz", c_uint64),
        ("power_limit_uw", c_uint64),
        ("fan_percent", c_uint64),
        ("processes_status", c_int),
        ("processes", c_uint32),
    ]


class GpuProcess(Structure):
    size: int
    pid: int
    is_visible: int
    kinds: int
    memory_bytes: int
    use_percent: int
    _fields_ = [
        ("size", c_size_t),
        ("pid", c_int),
        ("is_visible", c_int),
        ("kinds", c_uint32),
        ("memory_bytes", c_uint64),
        ("use_percent", c_uint64),
    ]


class Carbon(Structure):
    size: int
    intensity_mg_per_kwh: int
    year: int
    uncertainty_ppm: int
    location: bytes
    dataset: bytes
    place: bytes
    _fields_ = [
        ("size", c_size_t),
        ("intensity_mg_per_kwh", c_uint64),
        ("year", c_uint32),
        ("uncertainty_ppm", c_uint32),
        ("location", c_char * 40),
        ("dataset", c_char * 96),
        ("place", c_char * 40),
    ]


class Mean(Structure):
    size: int
    n: int
    mean: float
    sd: float
    ci95: float
    _fields_ = [
        ("size", c_size_t),
        ("n", c_size_t),
        ("mean", c_double),
        ("sd", c_double),
        ("ci95", c_double),
    ]


class Self(Structure):
    size: int
    ticks: int
    late_ticks: int
    tick_max_ns: int
    tick_sum_ns: int
    _fields_ = [
        ("size", c_size_t),
        ("ticks", c_uint64),
        ("late_ticks", c_uint64),
        ("tick_max_ns", c_int64),
        ("tick_sum_ns", c_int64),
    ]


class RecordingStep(Structure):
    size: int
    begin_utc_ns: int
    begin_mono_ns: int
    duration_ns: int
    is_lost: int
    text: bytes
    total: Energy
    _fields_ = [
        ("size", c_size_t),
        ("begin_utc_ns", c_int64),
        ("begin_mono_ns", c_int64),
        ("duration_ns", c_int64),
        ("is_lost", c_int),
        ("text", c_char * 256),
        ("total", Energy),
    ]


class RecordingWindow(Structure):
    size: int
    name: bytes
    pid: int
    window: Window
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char * 64),
        ("pid", c_int),
        ("window", Window),
    ]


class RecorderOptions(Structure):
    size: int
    max_bytes: int
    max_age_ns: int
    period_ns: int
    interval_ns: int
    _fields_ = [
        ("size", c_size_t),
        ("max_bytes", c_uint64),
        ("max_age_ns", c_int64),
        ("period_ns", c_int64),
        ("interval_ns", c_int64),
    ]


FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "wattle_version": (c_char_p, ()),
    "wattle_kind_name": (c_char_p, (c_int,)),
    "wattle_method_name": (c_char_p, (c_int,)),
    "wattle_status_name": (c_char_p, (c_int,)),
    "wattle_strerror": (c_char_p, (c_int,)),
    "wattle_meter_open": (c_int, (POINTER(Options), POINTER(c_void_p), POINTER(Error))),
    "wattle_meter_close": (None, (c_void_p,)),
    "wattle_meter_tick": (c_int, (c_void_p,)),
    "wattle_meter_open_fed": (c_int, (POINTER(Channel), c_size_t, POINTER(Options), POINTER(c_void_p), POINTER(Error))),
    "wattle_meter_feed": (c_int, (c_void_p, c_int64, c_int64, POINTER(c_uint64), POINTER(c_int), c_size_t)),
    "wattle_meter_domains": (c_size_t, (c_void_p,)),
    "wattle_meter_domain": (c_int, (c_void_p, c_size_t, POINTER(Domain))),
    "wattle_meter_find": (c_int, (c_void_p, c_char_p)),
    "wattle_window_begin": (c_int, (c_void_p, c_char_p)),
    "wattle_window_begin_with": (c_int, (c_void_p, c_char_p, c_uint32)),
    "wattle_window_end": (c_int, (c_void_p, c_char_p, POINTER(Window), POINTER(Energy), c_size_t)),
    "wattle_window_read": (c_int, (c_void_p, c_char_p, POINTER(Window), POINTER(Energy), c_size_t)),
    "wattle_window_cancel": (c_int, (c_void_p, c_char_p)),
    "wattle_window_push": (c_int, (c_void_p, c_char_p)),
    "wattle_window_pop": (c_int, (c_void_p, POINTER(Window), POINTER(Energy), c_size_t)),
    "wattle_mark_begin": (c_int, (c_char_p, c_char_p, POINTER(Error))),
    "wattle_mark_end": (c_int, (c_char_p, c_char_p, POINTER(Error))),
    "wattle_meter_consumers": (c_int, (c_void_p, c_char_p, POINTER(c_void_p), POINTER(Error))),
    "wattle_consumers_free": (None, (c_void_p,)),
    "wattle_consumers_count": (c_size_t, (c_void_p,)),
    "wattle_consumers_get": (c_int, (c_void_p, c_size_t, POINTER(Consumer))),
    "wattle_consumers_share": (c_int, (c_void_p, c_size_t, c_int, POINTER(Share))),
    "wattle_consumers_ledger": (c_int, (c_void_p, c_int, POINTER(Ledger))),
    "wattle_consumers_window": (c_int, (c_void_p, POINTER(Window))),
    "wattle_set_open": (c_int, (c_void_p, c_int, c_int, c_char_p, POINTER(c_void_p), POINTER(Error))),
    "wattle_set_close": (None, (c_void_p,)),
    "wattle_set_read": (c_int, (c_void_p, c_char_p, POINTER(Use), POINTER(Share), c_size_t)),
    "wattle_set_end": (c_int, (c_void_p, c_char_p, POINTER(Window), POINTER(Energy), POINTER(Use), POINTER(Share), c_size_t)),
    "wattle_meter_way": (c_int, (c_void_p, c_size_t, POINTER(Way))),
    "wattle_meter_gpus": (c_int, (c_void_p,)),
    "wattle_meter_gpu": (c_int, (c_void_p, c_size_t, POINTER(Gpu))),
    "wattle_meter_gpu_process": (c_int, (c_void_p, c_size_t, c_size_t, POINTER(GpuProcess))),
    "wattle_carbon_find": (c_int, (c_char_p, POINTER(Carbon))),
    "wattle_carbon_ug": (c_uint64, (POINTER(Carbon), c_uint64)),
    "wattle_carbon_uncertainty_ug": (c_double, (POINTER(Carbon), c_uint64, c_uint64)),
    "wattle_mean_of": (c_int, (POINTER(c_double), c_size_t, POINTER(Mean))),
    "wattle_meter_self": (c_int, (c_void_p, POINTER(Self))),
    "wattle_recording_open": (c_int, (c_char_p, POINTER(c_void_p), POINTER(Error))),
    "wattle_recording_open_end": (c_int, (c_char_p, POINTER(c_void_p), POINTER(Error))),
    "wattle_recording_close": (None, (c_void_p,)),
    "wattle_recording_fact": (c_char_p, (c_void_p, c_char_p)),
    "wattle_recording_is_whole": (c_int, (c_void_p,)),
    "wattle_recording_domains": (c_size_t, (c_void_p,)),
    "wattle_recording_domain": (c_int, (c_void_p, c_size_t, POINTER(Domain))),
    "wattle_recording_next": (c_int, (c_void_p, c_int64, POINTER(RecordingStep), POINTER(Energy), c_size_t, POINTER(Error))),
    "wattle_recording_window": (c_int, (c_void_p, c_size_t, POINTER(RecordingWindow), POINTER(Energy), c_size_t)),
    "wattle_recording_consumers": (c_int, (c_void_p, POINTER(c_void_p), POINTER(Error))),
    "wattle_recorder_open": (c_int, (c_char_p, c_void_p, POINTER(RecorderOptions), POINTER(c_void_p), POINTER(Error))),
    "wattle_recorder_fact": (c_int, (c_void_p, c_char_p, c_char_p)),
    "wattle_recorder_status": (c_int, (c_void_p, POINTER(Error))),
    "wattle_recorder_close": (c_int, (c_void_p, POINTER(Error))),
}
