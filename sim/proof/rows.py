"""Proofs of ROW's root and its reciprocals, digit by digit, against the integers of ``isa/rows.py``.

A square and a product are followed beside the machine. A digit adds to them as in ``(2 r + b)^2 = 4 r^2 + b (4 r + 1)`` and
``(2 q + b) d = 2 q d + b d``. So each step is a sum, which a solver decides for every number.
"""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.rows.layouts import SUM_BITS, TOTAL_BITS
from hw.rows.quotient import (
    DIVISOR_BITS,
    DIVISOR_DROPPED,
    HELD_BITS,
    HELD_DROPPED,
    LEAST_TOTAL,
    POWER,
    RECIPROCAL_BITS,
    WINDOW_STEP,
    divisor_of,
    held_of,
    window_of,
)
from hw.rows.reciprocal import Q_BITS, Reciprocal
from hw.rows.root import STEPS, Root
from isa.rows import D_BITS, D_FRACTION, P_SHIFT, Q_POINT, R_BITS, T_BITS
from sim.proof.engine import Proof
from sim.proof.fault import Fault
from sim.proof.harness import Checks, Inside

NUMBER_BITS = 60
"""The bits of the numbers that are followed: more than any sum or product of a row has."""


class Product:
    """The product so far in the registers of a part, whose multiplier is taken bit by bit from the lowest one."""

    def __init__(self, checks: Checks, multiplier: Value, by: Value, starts: Value, step: Value, sign: int = 0) -> None:
        """``starts`` takes the multiplier, each ``step`` a bit of it, and the last one with its ``sign``."""
        m = checks.m
        self.by, self.count = by, Signal(range(SUM_BITS + 1))
        self.multiplier, self.left = Signal(SUM_BITS), Signal(SUM_BITS)
        self.moved, self.value = Signal(NUMBER_BITS), Signal(signed(NUMBER_BITS))
        with m.Switch(self.count):
            for count in range(SUM_BITS):
                with m.Case(count):
                    m.d.comb += self.moved.eq(by << count)
        term = Mux(self.left[0], self.moved, 0)
        subtracts = (self.count == SUM_BITS - 1) & sign
        with m.If(starts):
            m.d.sync += [self.multiplier.eq(multiplier), self.left.eq(multiplier), self.value.eq(0), self.count.eq(0)]
        with m.Elif(step):
            m.d.sync += [self.left.eq(self.left >> 1), self.count.eq(self.count + 1)]
            m.d.sync += self.value.eq(self.value + Mux(subtracts, -term, term))

    def holds(self, checks: Checks, during: Value, register: Value) -> None:
        """``register`` holds the product so far, above the rest of the multiplier."""
        checks.if_then(during, self.count <= SUM_BITS)
        for count in range(SUM_BITS + 1):
            now = during & (self.count == count)
            checks.if_then(now, self.value == register >> SUM_BITS - count)
            checks.if_then(now, (self.left == register[: SUM_BITS - count]) & (self.left == self.multiplier >> count))


def number_is_exact(checks: Checks, part: Any, inside: Inside) -> None:
    """The number below the root is ``2^14 (n S2 - S S) + K``, modulo 2^56, which holds it."""
    idle, squares, spreading, beginning = range(4)
    state, left = inside.signal("fsm_state"), inside.signal("left")
    sums = part.i.payload
    checks.steady(part.i.valid, part.i.ready, sums.as_value(), part.length, part.k, given=True)
    checks.if_then(state != idle, part.i.valid)
    size = Signal(SUM_BITS)
    checks.m.d.comb += size.eq(Mux(sums.total[-1], -sums.total, sums.total))
    checks.given(~size[-1])
    products = []
    for name, multiplier, by in (("n", part.length, sums.squares), ("s", size, size)):
        product = Product(checks, multiplier, by, state == idle, state == squares)
        high, low = inside.signal(f"{name}_high"), inside.signal(f"{name}_low")
        product.holds(checks, (state == squares) | (state == spreading), (high << SUM_BITS) | low)
        checks.if_then(state == squares, (product.count == SUM_BITS - 1 - left) & (left < SUM_BITS))
        checks.if_then(state == spreading, product.count == SUM_BITS)
        checks.if_then(state != idle, product.multiplier == multiplier)
        products.append(product.value)
    checks.if_then(state == squares, inside.signal("magnitude") == size)
    wanted = ((products[0] - products[1]) << D_FRACTION) + part.k
    spread, addend = inside.signal("spread"), inside.signal("addend")
    checks.if_then(state == beginning, ((spread << D_FRACTION) + addend)[:D_BITS] == wanted[:D_BITS])
    checks.if_then(checks.past(state == beginning), inside.signal("below") == checks.past(wanted[:D_BITS]))


def root_is_whole(checks: Checks, part: Any, inside: Inside) -> None:
    """``R^2 <= 4^e D < (R + 1)^2`` for every ``D`` but 0, and ``R`` has all its bits."""
    m = checks.m
    beginning, rooting, offers, over = 3, 4, 5, 6
    state, left, below, rest, root, fours = (
        inside.signal(name) for name in ("fsm_state", "left", "below", "rest", "root", "fours")
    )
    number, done = Signal(D_BITS), Signal(range(STEPS + 1))
    square, seen = Signal(NUMBER_BITS), Signal(NUMBER_BITS)
    minuend, odd = (rest << 2) + below[-2:], (root << 2) + 1
    rooted = (state == rooting) & ~root[-1]
    with m.If(state == beginning):
        m.d.sync += [done.eq(0), square.eq(0), seen.eq(0)]
        m.d.sync += number.eq((inside.signal("spread") << D_FRACTION) + inside.signal("addend"))
    with m.Elif(rooted):
        m.d.sync += [done.eq(done + 1), seen.eq((seen << 2) + below[-2:])]
        m.d.sync += square.eq((square << 2) + Mux(minuend >= odd, odd, 0))
    begun = (state == rooting) | (state == offers)
    checks.holds(state <= over)
    checks.given(~begun | (number != 0))
    for steps in range(STEPS + 1):
        now = begun & (done == steps)
        if steps <= R_BITS:
            first = D_BITS - 2 * steps
            checks.if_then(now, seen == number[first:])
            checks.if_then(now & rooted, below[D_BITS - first :] == number[:first])
            checks.if_then(now & rooted, below[: D_BITS - first] == 0)
            checks.if_then(now, ~root[steps:].any())
        else:
            fourfold = 2 * (steps - R_BITS)
            checks.if_then(now, (seen == number << fourfold) & (number >> D_BITS - fourfold == 0))
            checks.if_then(now & rooted, below == 0)
            checks.if_then(now, root[steps - R_BITS :].any())
        checks.if_then(now & rooted, left == STEPS - 1 - steps)
        checks.if_then(now & root[-1] & (steps >= R_BITS), fours == steps - R_BITS)
    checks.if_then(begun, (square + rest == seen) & (rest <= root << 1) & (done <= STEPS))
    for bits in range(R_BITS + 1):
        checks.if_then(begun & ~root[bits:].any(), square <= ((1 << bits) - 1) ** 2)
    made = part.o.payload
    checks.if_then(part.o.valid, (state == offers) & made.root[-1] & (made.root == root))
    checks.if_then(part.o.valid, made.total == part.i.payload.total)
    for power in range(R_BITS):
        scaled = number << 2 * power
        now = part.o.valid & (made.fours == power)
        checks.if_then(now, (square <= scaled) & (scaled <= square + (root << 1)))


class Windows(wiring.Component):
    """The window, the divisor and the held numerator of a total and a numerator, without a register."""

    def __init__(self) -> None:
        super().__init__({
            "total": In(TOTAL_BITS), "t": In(T_BITS), "window": Out(2), "divisor": Out(DIVISOR_BITS), "held": Out(HELD_BITS),
            "great": Out(1),
        })  # fmt: skip

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += self.window.eq(window_of(self.total))
        m.d.comb += self.divisor.eq(divisor_of(self.total, self.window))
        held, great = held_of(self.t, self.window)
        m.d.comb += [self.held.eq(held), self.great.eq(great)]
        return m


def windows_hold(checks: Checks, part: Any, inside: Inside) -> None:
    """A total is moved up by whole steps, by no more than it needs. The divisor and the held numerator are the upper bits of
    both."""
    moves = part.window * WINDOW_STEP
    moved = part.total << moves
    numerator = (part.t << moves) >> HELD_DROPPED
    checks.if_then(part.total != 0, (moved >> LEAST_TOTAL) != 0)
    checks.if_then((part.total != 0) & (part.window != 0), (moved >> LEAST_TOTAL + WINDOW_STEP) == 0)
    checks.if_then(part.total != 0, part.divisor == moved >> DIVISOR_DROPPED)
    checks.holds((part.held == numerator[:HELD_BITS]) & (part.great == numerator[HELD_BITS:].any()))


def reciprocal_is_whole(checks: Checks, part: Any, inside: Inside) -> None:
    """``q d <= 2^p < (q + 1) d`` for every divisor of a total and for every root."""
    m = checks.m
    idle, takes, divides, multiplies, offers, shifts = range(6)
    state, left, divisor, rest, quotient = (
        inside.signal(name) for name in ("fsm_state", "left", "divisor", "rest", "quotient")
    )
    totals, total, made = part.totals, part.totals.payload.total, part.o.payload
    softmax = Signal()
    with m.If(state == idle):
        m.d.sync += softmax.eq(part.softmax)
    checks.steady(totals.valid, totals.ready, totals.payload.as_value(), given=True)
    checks.steady(part.roots.valid, part.roots.ready, part.roots.payload.as_value(), given=True)
    checks.given((state == idle) | (part.softmax == softmax))
    checks.given(~part.roots.valid | part.roots.payload.root[-1])
    checks.given(~totals.valid | (total != 0))
    checks.holds(state <= shifts)
    checks.if_then((state != idle) & softmax, totals.valid & (state != multiplies) & (state != shifts))
    checks.if_then((state == takes) & ~softmax, part.roots.valid)
    checks.if_then((state != idle) & softmax, inside.signal("window") == window_of(total))
    done, digits, covered = Signal(range(Q_BITS + 1)), Signal(Q_BITS), Signal(NUMBER_BITS + 4)
    fits = (rest << 1) >= divisor
    with m.If(state == takes):
        m.d.sync += [done.eq(0), digits.eq(0), covered.eq(0)]
    with m.Elif(state == divides):
        m.d.sync += [done.eq(done + 1), digits.eq((digits << 1) + fits), covered.eq((covered << 1) + Mux(fits, divisor, 0))]
    divided = state >= divides
    checks.if_then(divided, rest < divisor)
    checks.if_then(divided & softmax, divisor == divisor_of(total, window_of(total)))
    checks.if_then(divided & ~softmax, divisor[-1])
    for mode, steps, power in ((softmax, RECIPROCAL_BITS, POWER), (~softmax, Q_BITS, Q_POINT)):
        checks.if_then((state == divides) & mode, done == steps - 1 - left)
        checks.if_then((state > divides) & mode, done == steps)
        for count in range(steps + 1):
            now = divided & mode & (done == count)
            checks.if_then(now, (covered + rest == 1 << power - steps + count) & (digits[:count] == quotient[:count]))
            checks.if_then(now, digits[count:] == 0)
        checks.if_then(part.o.valid & mode, (covered <= 1 << power) & (1 << power < covered + divisor))
    checks.if_then(part.o.valid, (state == offers) & (made.most == totals.payload.most))
    checks.if_then(part.o.valid & softmax, (made.slope == total) & (made.offset[:RECIPROCAL_BITS] == digits))
    checks.if_then(part.o.valid & softmax, made.offset[RECIPROCAL_BITS:] == window_of(total))


def numbers_are_products(checks: Checks, part: Any, inside: Inside) -> None:
    """``P`` and ``M`` are ``n Q`` and ``S Q``, shifted down by ``20 - e``."""
    m = checks.m
    takes, divides, multiplies, offers, shifts = range(1, 6)
    state, left, quotient, shift = (inside.signal(name) for name in ("fsm_state", "left", "quotient", "shift"))
    rooted = part.roots.payload
    checks.given(~part.softmax)
    fours, moved = Signal(5), Signal(range(P_SHIFT + 1))
    with m.If(state == takes):
        m.d.sync += [moved.eq(0), fours.eq(rooted.fours)]
    with m.Elif((state == shifts) & (left < shift)):
        m.d.sync += moved.eq(moved + 1)
    checks.holds(state <= shifts)
    checks.if_then(state >= divides, shift == Mux(fours >= P_SHIFT, 0, P_SHIFT - fours))
    checks.if_then((state == divides) | (state == multiplies), moved == 0)
    checks.if_then(state == shifts, (left < P_SHIFT) & (moved == Mux(left + 1 < shift, shift - left - 1, 0)))
    checks.if_then(state == offers, moved == shift)
    for name, multiplier, sign in (("slope", part.length, 0), ("offset", rooted.total, 1)):
        product = Product(checks, multiplier, quotient, state == takes, state == multiplies, sign)
        low, high, result = inside.signal(f"{name}_low"), inside.signal(f"{name}_high"), getattr(part.o.payload, name)
        register = Signal(signed(NUMBER_BITS), name=f"{name}_register")
        m.d.comb += register.eq((high << SUM_BITS) + low)
        checks.if_then(state == divides, (product.count == 0) & (product.value == 0) & (register == product.multiplier))
        product.holds(checks, state == multiplies, register)
        checks.if_then(state == divides, product.left == product.multiplier)
        checks.if_then(state == multiplies, product.count == SUM_BITS - 1 - left)
        checks.if_then(state > multiplies, product.count == SUM_BITS)
        for count in range(P_SHIFT + 1):
            now = moved == count
            checks.if_then((state > multiplies) & now, register == product.value >> count)
            checks.if_then(part.o.valid & now, (result == (product.value >> count)[:TOTAL_BITS]) & (moved == shift))


QUOTIENT, RECIPROCAL, ROOT = "hw.rows.quotient", "hw.rows.reciprocal", "hw.rows.root"
PROOFS = (
    Proof(
        "row-number", ROOT, "of all sums and lengths: what goes below the root is n S2 - S S and K, exactly",
        lambda _: Root(), number_is_exact,
        (
            Fault(ROOT, "Mux(sums.total[-1], -sums.total, sums.total)", "sums.total"),
            Fault(ROOT, "addend.eq(self.k)", "addend.eq(self.k >> 1)"),
        ),
    ),
    Proof(
        "row-root", ROOT, "of every number below it but 0: R R <= 4^e D < (R + 1)(R + 1), and R has 28 bits",
        lambda _: Root(), root_is_whole,
        (
            Fault(ROOT, "Cat(Const(1, 2), root)", "Cat(Const(2, 2), root)"),
            Fault(ROOT, "roots.eq(~root[-1])", "roots.eq(~root[-2])"),
        ),
    ),
    Proof(
        "row-windows", QUOTIENT, "of all totals and numerators: how far both are moved up, and what a divisor and an estimate "
        "take of them",
        lambda _: Windows(), windows_hold,
        (
            Fault(QUOTIENT, "(~beyond[0] & beyond[1]) | ~beyond[2]", "(~beyond[0] & beyond[1])"),
            Fault(QUOTIENT, "t[max(0, HELD_BITS - move) :]", "t[max(0, HELD_BITS - move) + 1 :]"),
        ),
    ),
    Proof(
        "row-reciprocal", RECIPROCAL, "of all totals and roots but 0: q d <= 2^p < (q + 1) d",
        lambda _: Reciprocal(), reciprocal_is_whole,
        (
            Fault(RECIPROCAL, "1 << R_BITS - 2))", "1 << R_BITS - 3))"),
            Fault(RECIPROCAL, "left.eq(Mux(self.softmax, RECIPROCAL_BITS - 1, Q_BITS - 1))", "left.eq(Q_BITS - 1)"),
        ),
    ),
    Proof(
        "row-numbers", RECIPROCAL, "of all lengths, sums, reciprocals and powers of four: P and M are n Q and S Q, moved down",
        lambda _: Reciprocal(), numbers_are_products,
        (
            Fault(RECIPROCAL, "shifts.eq(left < shift)", "shifts.eq(left <= shift)"),
            Fault(RECIPROCAL, "sign.eq(multiplies & (left == 0))", "sign.eq(0)"),
        ),
    ),
)  # fmt: skip
