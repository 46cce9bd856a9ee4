"""Thermometers: every bit below the highest one set, too. Of whole words, which a simulator takes in one step."""

from __future__ import annotations

from amaranth import Value


def thermometer(value: Value) -> Value:
    """Bit ``n``: whether a bit of ``value`` from ``n`` on is set."""
    reach = 1
    while reach < len(value):
        value |= value >> reach
        reach *= 2
    return value


def highest(filled: Value) -> Value:
    """Of a thermometer the highest bit alone."""
    return filled & ~(filled >> 1)
