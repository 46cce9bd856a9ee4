"""The division of softmax: an estimate by a row's reciprocal, which one exact product then rounds.

A total is moved up by ``WINDOW_STEP`` bits at a time until it is at least 2^30. A numerator is moved up by as many bits::

    divisor = total moved >> 15      reciprocal = 2^35 div divisor      n = ((t moved >> 18) * reciprocal) >> 28

With ``v = 16 t / total``, ``n <= v + 2^-7`` and ``v - n < 1.27``, wherever ``n`` is below 256: the error of the reciprocal is
less than 2^-2 there, that of the divisor 2^-7, and that of the numerator 2^-8. So ``v`` rounds to ``n``, or to ``n + 1`` if
``32 t > (2 n + 1) total``, or if both are equal and ``n`` is odd. A numerator that does not fit into the window is more than
255 totals.
"""

from __future__ import annotations

from amaranth import Cat, Const, Value, unsigned
from amaranth.lib import data

from hw.arithmetic.choice import pick
from hw.rows.layouts import TOTAL_BITS
from isa.rows import T_SHIFT

LEAST_TOTAL = 30
WINDOW_STEP = 10
WINDOWS = LEAST_TOTAL // WINDOW_STEP + 1
DIVISOR_DROPPED = 15
DIVISOR_BITS = TOTAL_BITS - DIVISOR_DROPPED
HELD_DROPPED = 18
HELD_BITS = LEAST_TOTAL + WINDOW_STEP + 4 - HELD_DROPPED
"""The bits of a numerator that is less than 16 totals. A total that has been moved is below 2^40."""
POWER = 35
RECIPROCAL_BITS = POWER - (LEAST_TOTAL - DIVISOR_DROPPED) + 1
POINT = POWER - T_SHIFT - HELD_DROPPED + DIVISOR_DROPPED
"""The bits behind the point of the product of both."""

DIVIDES = data.StructLayout({"reciprocal": unsigned(RECIPROCAL_BITS), "window": unsigned(2), "empty": unsigned(1)})
"""The numbers by which a row divides. ``window`` is the number of steps by which its total has been moved. ``empty``: the total
is 0, and each quotient is 255."""


def window_of(total: Value) -> Value:
    """The number of steps by which a total is moved up."""
    beyond = [total[LEAST_TOTAL - WINDOW_STEP * steps :].any() for steps in range(WINDOWS - 1)]
    return Cat((~beyond[0] & beyond[1]) | ~beyond[2], ~beyond[1])


def divisor_of(total: Value, window: Value) -> Value:
    return pick([_moved(total, WINDOW_STEP * steps - DIVISOR_DROPPED, DIVISOR_BITS) for steps in range(WINDOWS)], window)


def held_of(t: Value, window: Value) -> tuple[Value, Value]:
    """The bits of a numerator that the estimate takes, and whether there are others."""
    moves = [WINDOW_STEP * steps - HELD_DROPPED for steps in range(WINDOWS)]
    beyond = [t[max(0, HELD_BITS - move) :] for move in moves]
    return (
        pick([_moved(t, move, HELD_BITS) for move in moves], window),
        pick([part.any() if len(part) else Const(0, 1) for part in beyond], window),
    )


def _moved(value: Value, bits: int, width: int) -> Value:
    """``width`` bits of the value moved up by ``bits`` bits, or down if ``bits`` is negative."""
    moved = Cat(Const(0, bits), value) if bits > 0 else value[-bits:]
    return Cat(moved, Const(0, max(0, width - len(moved))))[:width]
