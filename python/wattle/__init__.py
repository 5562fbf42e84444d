# SPDX-License-Identifier: MIT
"""
Energy of a machine, a program and a piece of code.

>>> import wattle
>>> with wattle.Meter() as meter:
...     with meter.window("epoch") as w:
...         train()
...     print(w.energy_j, w.uncertainty_j, w.own_j, w.domains["gpu-0"].energy_j)

Every number has a source and an uncertainty; what is not known is None, with a reason.
"""

from __future__ import annotations

from ._lib import Error, WattleWarning, WindowError
from ._sync import synchronize
from .figures import Carbon, Consumer, Consumers, Domain, Energy, Gpu, GpuProcess, Ledger, Share, Use, Window
from ._measure import Repeated, default_meter, measure, measure_until
from .meter import Meter, Sample, Sampler, visible_gpus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._estimate import Estimate as Estimate, Summary as Summary, estimate as estimate, summary as summary
    from ._live import Live as Live, live as live
    from ._merge import Merged as Merged, merge as merge
    from ._nir import nir_to_text as nir_to_text
    from ._notebook import load_ipython_extension as load_ipython_extension
    from ._plot import plot as plot
    from ._recorder import Mark as Mark, Recorder as Recorder, mark as mark, record as record
    from ._recording import Recording as Recording, read as read

_LATER = {  # what is imported when it is first used: name to module
    "Estimate": "._estimate",
    "Live": "._live",
    "Mark": "._recorder",
    "Merged": "._merge",
    "Recorder": "._recorder",
    "Recording": "._recording",
    "Summary": "._estimate",
    "estimate": "._estimate",
    "live": "._live",
    "load_ipython_extension": "._notebook",
    "mark": "._recorder",
    "merge": "._merge",
    "nir_to_text": "._nir",
    "plot": "._plot",
    "read": "._recording",
    "record": "._recorder",
    "summary": "._estimate",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        import importlib

        return getattr(importlib.import_module(_LATER[name], __name__), name)
    if name == "__version__":
        from ._lib import load, text

        return text(load().wattle_version())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Carbon",
    "Consumer",
    "Consumers",
    "Domain",
    "Energy",
    "Error",
    "Estimate",
    "Gpu",
    "GpuProcess",
    "Ledger",
    "Live",
    "Mark",
    "Merged",
    "Meter",
    "Recorder",
    "Recording",
    "Repeated",
    "Sample",
    "Sampler",
    "Share",
    "Summary",
    "Use",
    "WattleWarning",
    "Window",
    "WindowError",
    "default_meter",
    "estimate",
    "live",
    "mark",
    "measure",
    "measure_until",
    "merge",
    "nir_to_text",
    "plot",
    "read",
    "record",
    "summary",
    "synchronize",
    "visible_gpus",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


for _class in (Error, WattleWarning, WindowError, Carbon, Consumer, Consumers, Domain, Energy, Gpu, GpuProcess, Ledger, Share, Use, Window):
    _class.__module__ = __name__  # where people find them
