# SPDX-License-Identifier: MIT
"""Waits until the accelerators have done what was queued, so that a window holds the energy of its own work."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Sequence, Union

    Sync = Union[str, Callable[[], object], None]


def _torch(torch: Any, devices: Sequence[int] | None) -> None:
    if not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return
    if devices is None:  # a wait for a GPU that this process does not use would take some of its memory
        here = torch.cuda.current_device()
        devices = [i for i in range(torch.cuda.device_count()) if i == here or torch.cuda.memory_reserved(i) > 0]
    for device in devices:
        torch.cuda.synchronize(device)


def _jax(jax: Any, devices: Sequence[int] | None) -> None:
    jax.effects_barrier()
    for device in jax.local_devices():
        (jax.device_put(0.0, device) + 0).block_until_ready()


def _cupy(cupy: Any, devices: Sequence[int] | None) -> None:
    for device in range(cupy.cuda.runtime.getDeviceCount()) if devices is None else devices:
        cupy.cuda.Device(device).synchronize()


_FRAMEWORKS = {"torch": _torch, "jax": _jax, "cupy": _cupy}


def function(sync: Sync, devices: Sequence[int] | None = None) -> Callable[[], object] | None:
    """
    What a window calls at both edges.

    Parameters
    ----------
    sync : {"torch", "jax", "cupy"}, callable or None
        A framework, which is imported here; a function of your own; or None, to wait for nothing.
    devices : sequence of int or None
        With PyTorch and CuPy, the GPUs to wait for; None: those that PyTorch uses, or all.

    Raises
    ------
    ImportError
        The framework is not installed.
    ValueError
        Another word.
    """
    if sync is None or callable(sync):
        return sync
    if sync not in _FRAMEWORKS:
        raise ValueError(f"sync is {sync!r}: use 'torch', 'jax', 'cupy', a function, or None")
    import importlib

    framework = importlib.import_module(sync)
    wait = _FRAMEWORKS[sync]
    return lambda: wait(framework, devices)


def synchronize(sync: Sync) -> None:
    """Waits once, for a framework's devices or by a function of your own: see `Meter`."""
    wait = function(sync)
    if wait is not None:
        wait()
