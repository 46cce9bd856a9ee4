"""Sums whose second operand is chosen among others by the LUTs of the sum itself."""

from __future__ import annotations

from amaranth import Cat, Const, Value


def chosen_sum(plain: Value, chosen: Value, carry: Value | int = 0) -> Value:
    """``plain + chosen + carry``, modulo the width of ``plain``.

    A cell of a carry chain takes one operand as it is, besides the LUT that adds it; synthesis takes either operand of an
    addition, and the first one of a subtraction. So this is written as a subtraction: what comes before ``chosen`` costs
    no LUTs of its own.
    """
    if isinstance(carry, int) and carry:
        return (plain - ~chosen)[: len(plain)]
    first = Const(0, 1) if isinstance(carry, int) else carry
    return (Cat(first, plain) - Cat(Const(1, 1), ~chosen))[1 : 1 + len(plain)]


def extended(value: Value, bits: int) -> Value:
    """The bits of a signed value, and its sign for as many as are missing."""
    shape = value.shape()
    assert shape.signed
    assert shape.width <= bits
    return Cat(value, value[-1].replicate(bits - shape.width))
