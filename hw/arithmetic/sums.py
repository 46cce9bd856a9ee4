"""Sums with a carry, and signed values in more bits."""

from __future__ import annotations

from amaranth import Cat, Const, Value


def sum_with_carry(a: Value, b: Value, carry: Value) -> Value:
    """``a + b + carry``, modulo the width of ``a``, as one carry chain: the lowest cell adds 1 and ``carry``."""
    return (Cat(Const(1, 1), a) + Cat(carry, b))[1 : 1 + len(a)]


def extended(value: Value, bits: int) -> Value:
    """The bits of a signed value, and its sign for as many as are missing."""
    shape = value.shape()
    assert shape.signed
    assert shape.width <= bits
    return Cat(value, value[-1].replicate(bits - shape.width))
