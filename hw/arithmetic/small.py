"""Comparisons and counts so small that a LUT or two make them, where synthesis would begin a carry chain."""

from __future__ import annotations

from amaranth import Cat, Const, Mux, Signal, Value
from amaranth.utils import bits_for

from hw.arithmetic.choice import pick

_COUNT_BITS = 4
"""The most bits of a count whose next number is one LUT of six inputs."""


def at_most(value: Value, most: int) -> Value:
    """``value <= most``, for a small ``most``."""
    bits = bits_for(most)
    return ~value[bits:].any() & pick([number <= most for number in range(1 << bits)], value[:bits])


def at_least(value: Value, least: int) -> Value:
    """``value >= least``, for a ``least`` with few bits between its first and its last set bit."""
    low = (least & -least).bit_length() - 1
    high, number = value[low:], least >> low
    bits = number.bit_length()
    if bits > _COUNT_BITS:
        return value >= least
    return high[bits:].any() | pick([some >= number for some in range(1 << bits)], high[:bits])


def stepped(level: Signal, up: Value, down: Value, most: int) -> Value:
    """The level after one more (``up``), one less (``down``), or both. It stays within 0 and ``most``."""
    if len(level) > _COUNT_BITS:
        return Mux(up ^ down, level + Cat(Const(1, 1), down.replicate(len(level) - 1)), level)
    numbers = range(1 << len(level))
    more = pick([min(number + 1, most) for number in numbers], level)
    less = pick([max(number - 1, 0) for number in numbers], level)
    return Mux(up & ~down, more, Mux(down & ~up, less, level))


def summed(value: Value, other: Value, more: int = 0) -> Value:
    """``value + other + more`` modulo the range of ``value``, made of gates. No carry chain is as quick for so few bits."""
    for term in (other, Const(more, len(value))) if more else (other,):
        carry: Value = Const(0)
        bits = []
        for n in range(len(value)):
            right = term[n] if n < len(term) else Const(0)
            bits.append(value[n] ^ right ^ carry)
            carry = (value[n] & right) | (carry & (value[n] ^ right))
        value = Cat(bits)
    return value
