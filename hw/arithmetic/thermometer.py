"""Thermometers, in which every bit below the highest set one is set, too. They are made of whole words, which a simulator
handles in one step."""

from __future__ import annotations

from amaranth import Value


def thermometer(value: Value) -> Value:
    """The thermometer of ``value``: bit ``n`` says whether any bit of ``value`` from ``n`` on is set."""
    reach = 1
    while reach < len(value):
        value |= value >> reach
        reach *= 2
    return value


def highest(filled: Value) -> Value:
    """The highest set bit of a thermometer alone."""
    return filled & ~(filled >> 1)
