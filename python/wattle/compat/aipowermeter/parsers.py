# SPDX-License-Identifier: MIT
"""The folder of an experiment in AIPowerMeter's format: written, and read whoever wrote it."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

SEGMENT_END = "END OF RECORDING SEGMENT"

# Of one metric, lists of one length: "dates" (datetime, local), "values", "durations" (s, the time that ends at the date and
# has that value in the mean; None where only the moment is known) and "segments" (numbers from 0).
Series = dict[str, list[Any]]
Metrics = dict[str, Any]  # by metric: a Series, or one a device

RENAMED = {  # names that the reader gives to what stands in the file; the first two stand there since 2026
    "nvidia_power": "nvidia_draw_absolute",
    "per_gpu_nvidia_power": "per_gpu_power_draw",
    "per_gpu_attributable_mem_use": "nvidia_mem_use",
    "per_gpu_absolute_percent_usage": "nvidia_sm_use",
}


def _sum(value: Any) -> Any:
    """Of what stands by pid, or (uncore_power until 2025) in a list of one; None if nothing is known."""
    if not isinstance(value, (dict, list)):
        return value
    known = [v for v in (value.values() if isinstance(value, dict) else value) if v is not None]
    return sum(known) if known else None


def _cpu(metrics: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in metrics.items():
        if name != "psys_power" or value >= 0:  # -1: there is no such sensor
            yield name, _sum(value)


def _gpu(metrics: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in metrics.items():
        if name == "per_gpu_attributable_mem_use":
            value = {gpu: _sum(by_pid) if by_pid else 0 for gpu, by_pid in value.items()}
        if name != "per_gpu_per_pid_utilization_absolute":
            yield RENAMED.get(name, name), value
    if "all" in metrics.get("per_gpu_attributable_power", {}):
        yield "nvidia_attributable_power", metrics["per_gpu_attributable_power"]["all"]


def _add(metrics: Metrics, name: str, value: Any, date: datetime, duration_s: Any = None, segment: int = 0) -> None:
    if isinstance(value, dict):
        for device, one in value.items():
            _add(metrics.setdefault(name, {}), device, one, date, duration_s, segment)
    elif value is not None:
        series = metrics.setdefault(name, {"dates": [], "values": [], "durations": [], "segments": []})
        for key, item in zip(series, (date, value, duration_s, segment)):
            series[key].append(item)


def _lines(path: str) -> Iterator[Any]:
    """The JSON lines of a file, which need not exist. What a disk that was full has torn is left out, with a warning."""
    if os.path.isfile(path):
        with open(path, encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield json.loads(line)
                except ValueError:
                    if line.strip():
                        warnings.warn(f"{path}:{number}: not a whole line of JSON; left out", RuntimeWarning)


class JsonParser:
    """
    A folder of metadata.json, power_metrics.json and, of a model, model_summary.json.

    Parameters
    ----------
    location
        The folder; it is made if it does not exist.
    meta_data
        A description, or a dictionary with one; kept in metadata.json, unless that has a description already.

    Raises
    ------
    OSError
        The folder cannot be made or written.
    """

    def __init__(self, location: str | os.PathLike[str], meta_data: str | Mapping[str, Any] = "") -> None:
        self.folder = os.fspath(location)
        self.metadata_filename = os.path.join(self.folder, "metadata.json")
        self.power_metric_filename = os.path.join(self.folder, "power_metrics.json")
        self.model_card_file = os.path.join(self.folder, "model_summary.json")
        self._metadata = {"description": meta_data} if isinstance(meta_data, str) else dict(meta_data)
        os.makedirs(self.folder, exist_ok=True)
        if meta_data and not self.get_description() or not os.listdir(self.folder):
            self._save_metadata()

    def _save_metadata(self) -> None:
        with open(self.metadata_filename, "w", encoding="utf-8") as file:
            json.dump({**self._metadata, "date": str(datetime.now())}, file)

    def _append(self, path: str, value: object) -> None:
        """A whole line in one write: a program that is killed leaves no half of one."""
        line = f"{json.dumps(value)}\n".encode()
        os.makedirs(self.folder, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            size = os.fstat(fd).st_size
            if size and os.pread(fd, 1, size - 1) != b"\n":
                line = b"\n" + line  # a full disk has torn the last one
            if os.write(fd, line) != len(line):
                raise OSError(f"{path}: the disk is full")
        finally:
            os.close(fd)

    def get_description(self) -> Any:
        """Of metadata.json; None without one."""
        return next((data.get("description") or None for data in _lines(self.metadata_filename)), None)

    def erase(self) -> None:
        """Deletes the recording: the files of this format, and nothing else that lies in the folder."""
        for path in (self.power_metric_filename, self.model_card_file):
            if os.path.exists(path):
                os.remove(path)
        os.makedirs(self.folder, exist_ok=True)
        self._save_metadata()

    def save_model_card(self, model_card: Mapping[str, Any]) -> None:
        with open(self.model_card_file, "w", encoding="utf-8") as file:
            json.dump(model_card, file)

    def get_model_card(self) -> Any:
        """What save_model_card() kept; None without it."""
        return next(_lines(self.model_card_file), None)

    def save_power_metrics(self, metrics: Mapping[str, Any], utc_s: float | None = None, duration_s: float | None = None) -> None:
        """Appends a record: of now, or of the duration_s seconds that end at utc_s (Unix)."""
        record: dict[str, Any] = {"date": str(datetime.now() if utc_s is None else datetime.fromtimestamp(utc_s)), "metrics": metrics}
        if utc_s is not None:
            record.update(utc_s=utc_s, duration_s=duration_s)
        self._append(self.power_metric_filename, record)

    def close_driver(self) -> None:
        """Ends the segment, also one that a killed program left open; no effect where none is open."""
        if os.path.isfile(self.power_metric_filename):
            with open(self.power_metric_filename, "rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 64))
                tail = file.read()
            if tail and not tail.rstrip().endswith(json.dumps(SEGMENT_END).encode()):
                self._append(self.power_metric_filename, SEGMENT_END)

    def records(self) -> Iterator[tuple[datetime, float | None, int, dict[str, Any]]]:
        """The records as date, duration in s (None: not known), segment and metrics."""
        segment = used = 0
        for record in _lines(self.power_metric_filename):
            if isinstance(record, dict) and "metrics" in record:
                utc_s = record.get("utc_s")
                date = datetime.fromtimestamp(utc_s) if utc_s is not None else datetime.fromisoformat(record["date"])
                used = segment + 1
                yield date, record.get("duration_s"), segment, record["metrics"]
            elif record == SEGMENT_END:
                segment = used

    def _load(self) -> tuple[Metrics, Metrics]:
        cpu: Metrics = {}
        gpu: Metrics = {}
        for date, duration_s, segment, metrics in self.records():
            for loaded, pairs in ((cpu, _cpu(metrics.get("cpu", {}))), (gpu, _gpu(metrics.get("gpu", {})))):
                for name, value in pairs:
                    _add(loaded, name, value, date, duration_s, segment)
        return cpu, gpu

    def load_cpu_metrics(self) -> Metrics | None:
        """By metric; what stands by process is added up. None without any."""
        return self._load()[0] or None

    def load_gpu_metrics(self) -> Metrics | None:
        """By metric, those of each GPU by metric and GPU. None without any."""
        return self._load()[1] or None

    def load_metrics(self) -> tuple[Metrics | None, Metrics | None]:
        """Of the CPU and of GPUs; None for what there is not."""
        cpu, gpu = self._load()
        return cpu or None, gpu or None
