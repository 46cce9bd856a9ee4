"""Proofs of the requantiser's arithmetic against float32 as its definition has it, without the product of two numbers.

Operands: both factors are those of float32. Rounding: whatever the product, its two roundings, to 24 bits and to an integer,
are those of float32 and of the rounding to nearest even.
"""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.asserts import AnySeq

from hw.post.requantise import RequantiseLane
from hw.post.shift import ShiftLane
from isa.config import preset
from isa.requantisation import MANTISSA_BITS
from sim.proof.engine import Proof
from sim.proof.fault import Fault
from sim.proof.harness import Checks, Inside

CONFIG = preset("nano")
PRODUCT_BITS = 58
SIGNIFICANT = 24


class Operands(RequantiseLane):
    """Stages 0 to 2 of a lane, which make the multiplier's operands."""

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        self.magnitude, self.factor, self.nibbles, self.negative = self._operands(m, platform)
        return m


class Rounding(RequantiseLane):
    """Stages 5 to 7 of a lane, behind a product that may be anything."""

    def __init__(self, nibbles: int) -> None:
        self.product = Signal(PRODUCT_BITS)
        self.chosen = Signal()
        self.nibbles = nibbles
        super().__init__(CONFIG)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        self._round(m, *self._window(m, self.product, Const(self.nibbles, 4), self.chosen))
        return m


def to_significant(m: Module, value: Any, bits: int) -> Any:
    """The value rounded to ``bits`` significant bits, ties to even. Its highest one decides how many bits are dropped."""
    rounded = Signal(len(value) + 1)
    m.d.comb += rounded.eq(value)
    for top in range(bits, len(value)):
        drop = top - bits + 1
        with m.If(value[top] & ~value[top + 1 :].any()):
            m.d.comb += rounded.eq(Cat(Const(0, drop), _nearest(value, drop)))
    return rounded


def _nearest(value: Any, drop: int) -> Any:
    """``value / 2^drop`` rounded to an integer, ties to even."""
    if drop == 0:
        return value
    whole = value[drop:] if drop < len(value) else Const(0, 1)
    half = value[drop - 1] if drop <= len(value) else Const(0, 1)
    return whole + (half & (value[: drop - 1].any() | whole[0]))


def rounds_twice(checks: Checks, part: Any, inside: Inside) -> None:
    m = checks.m
    _all_advance(checks, part)
    m.d.comb += [part.product.eq(AnySeq(PRODUCT_BITS)), part.chosen.eq(AnySeq(1))]
    magnitude = _nearest(to_significant(m, part.product, SIGNIFICANT), 4 * part.nibbles)
    most = Mux(part.chosen, 1 << 15, (1 << 15) - 1)
    bounded = Mux(magnitude > most, most, magnitude)[:16]
    expected = Signal(16)
    m.d.comb += expected.eq(Mux(part.chosen, -bounded, bounded))
    flushed = checks.past(checks.past(checks.begun))
    checks.if_then(flushed, part.r == checks.past(checks.past(checks.past(expected))).as_signed())


def operands_are_float32(checks: Checks, part: Any, inside: Inside) -> None:
    """``magnitude * factor / 16^nibbles`` is ``|float32(acc + bias)| * 2^doubled * M / 16^nibbles``."""
    m = checks.m
    _all_advance(checks, part)
    total = Signal(32)
    m.d.comb += total.eq(part.acc + Mux(part.bypass, 0, part.param.bias))
    size = Signal(32)
    m.d.comb += size.eq(Mux(total[31], -total, total))
    rounded = to_significant(m, size, SIGNIFICANT)
    doubled = Mux(part.bypass, 0, part.param.doubled)
    expected = (
        Mux(doubled, rounded << 1, rounded), Mux(part.bypass, 1, part.param.mantissa),
        Mux(part.bypass, 0, part.param.nibbles), total[31],
    )  # fmt: skip
    flushed = checks.past(checks.begun)
    for given, value in zip((part.magnitude, part.factor, part.nibbles, part.negative), expected, strict=True):
        checks.if_then(flushed, given == checks.past(checks.past(value)))


def shifts_and_rounds(checks: Checks, part: Any, inside: Inside) -> None:
    """The whole lane gives ``float32(acc + bias) * 2^doubled * M / 16^nibbles`` rounded to the nearest even integer, saturated.
    M is 2^25 or 2^23."""
    m = checks.m
    _all_advance(checks, part)
    total, size = Signal(32), Signal(32)
    m.d.comb += [total.eq(part.acc + Mux(part.bypass, 0, part.param.bias)), size.eq(Mux(total[31], -total, total))]
    rounded = to_significant(m, size, SIGNIFICANT)
    scaled = Mux(part.param.mantissa[MANTISSA_BITS - 1], rounded << 25, rounded << 23)
    doubled = Mux(part.param.doubled, scaled << 1, scaled)
    # The lowest bit is worth 1/2 where nothing is shifted.
    value, shift = Signal(1 + 32 + MANTISSA_BITS), Mux(part.bypass, 0, part.param.nibbles << 2)
    m.d.comb += value[1:].eq(Mux(part.bypass, rounded, doubled))
    shifted = Signal(len(value))
    m.d.comb += shifted.eq(value >> shift)
    magnitude = shifted[1:] + (shifted[0] & (shifted[1] | (value != (shifted << shift)[: len(value)])))
    most = Mux(total[31], 1 << 15, (1 << 15) - 1)
    bounded = Mux(magnitude > most, most, magnitude)[:16]
    expected, begun = Signal(16), checks.begun
    m.d.comb += expected.eq(Mux(total[31], -bounded, bounded))
    made: Any = expected
    for _ in range(part.latency):
        made, begun = checks.past(made), checks.past(begun)
    checks.if_then(begun, part.r == made.as_signed())


def _all_advance(checks: Checks, part: Any) -> None:
    checks.given(part.advance == (1 << part.latency) - 1)


def _rounding(nibbles: int) -> Any:
    return lambda _: Rounding(nibbles)


REQUANTISE, LANE, SHIFTING = "hw.post.requantise", "hw.post.lane", "hw.post.shift"
SIGN = Fault(LANE, "Mux(sign, ~away,", "Mux(sign, away,")
TIE = Fault(REQUANTISE, "tie.eq(short | half & power)", "tie.eq(short)")
PROOFS = (
    Proof(
        "requantise-operands", REQUANTISE,
        "the product's factors and the shift are those of the sum as a float32 and of the record",
        lambda _: Operands(CONFIG), operands_are_float32,
        (
            Fault(LANE, "carry.eq(even ^ sign)", "carry.eq(even)"),
            Fault(LANE, "up.eq(Mux(sign, tops, lost[1:]))", "up.eq(Mux(sign, tops, lost))"),
            Fault(REQUANTISE, "nibbles.eq(0), doubled.eq(0)]", "nibbles.eq(0)]"),
        ),
        depth=4,
    ),
    Proof(
        "requantise-shift", SHIFTING, "sums, rounded to 24 bits, are shifted, rounded to an integer to even, and saturated",
        lambda _: ShiftLane(CONFIG), shifts_and_rounds,
        (
            Fault(SHIFTING, "~self.param.doubled", "self.param.doubled"),
            Fault(SHIFTING, "half & (sticky | whole[0])", "half"),
            Fault(SHIFTING, "wide[_KEPT + n] & (by_1 <= n)", "wide[_KEPT + n] & (by_1 < n)"),
            Fault(LANE, "carry.eq(even ^ sign)", "carry.eq(even)"),
        ),
        depth=8,
    ),
    *(
        Proof(
            f"requantise-rounding-{4 * nibbles}", REQUANTISE,
            f"of every product, shifted by {4 * nibbles}: rounded to 24 bits, then to an integer, both to even; saturated",
            _rounding(nibbles), rounds_twice, (SIGN, TIE) if nibbles == 8 else (SIGN,), depth=4,
        )
        for nibbles in range(16)
    ),
)  # fmt: skip
