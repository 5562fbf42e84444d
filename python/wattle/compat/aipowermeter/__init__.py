# SPDX-License-Identifier: MIT
"""AIPowerMeter's names on wattle: ``from wattle.compat.aipowermeter import experiment, parsers``.

What differs, and why: docs/compat-aipowermeter.md.
"""
