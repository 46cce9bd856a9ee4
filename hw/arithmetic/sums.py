"""Sums whose own LUTs choose the second operand among others."""

from __future__ import annotations

from amaranth import Cat, Const, Value


def chosen_sum(plain: Value, chosen: Value, carry: Value | int = 0) -> Value:
    """``plain + chosen + carry``, modulo the width of ``plain``.

    A cell of a carry chain takes one operand directly, beside the LUT that adds it. For an addition synthesis picks either
    operand, for a subtraction the first one. So this is written as a subtraction, and the logic before ``chosen`` costs no LUTs
    of its own.
    """
    if isinstance(carry, int) and carry:
        return (plain - ~chosen)[: len(plain)]
    first = Const(0, 1) if isinstance(carry, int) else carry
    return (Cat(first, plain) - Cat(Const(1, 1), ~chosen))[1 : 1 + len(plain)]


def extended(value: Value, bits: int) -> Value:
    """The bits of a signed value, extended with its sign to ``bits``."""
    shape = value.shape()
    assert shape.signed
    assert shape.width <= bits
    return Cat(value, value[-1].replicate(bits - shape.width))
