# SPDX-License-Identifier: MIT
"""
Energy in the logs of training loops.

``wattle.callbacks.lightning``, ``.transformers`` and ``.keras`` each have an `EnergyCallback` for that framework, which is
imported with the module. `Epochs` is what they share, and serves a loop of your own.
"""

from __future__ import annotations

from ._epochs import Epochs, Spent

__all__ = ["Epochs", "Spent"]
