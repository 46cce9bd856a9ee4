"""Sums of products along a cascade of DSPs. Each DSP adds its product to the sum that its neighbour hands on.

A DSP has one register for its operands, one for its product and one for its sum. Two classes make the same sums. ``Cascades``
makes them in plain RTL, for simulators, ASICs and tools that find DSPs by themselves. ``Dsp48Cascades`` makes them as instances
of UltraScale's DSP48E2, whose cascade (PCOUT to PCIN) is wired within a column of DSPs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from amaranth import Cat, Const, Module, Signal, Value, signed

from hw.arithmetic.dsp48e2 import P_BITS, Enables, Sum, dsp48e2
from hw.arithmetic.packing import GAP, pack

NARROW_BITS = 18
"""The bits of a DSP's second factor, which is signed."""
SPLIT = 17
"""The bits of a factor that the first of two DSPs takes."""
_ALWAYS = Const(1, 1)
_EVERY_CYCLE = Enables.all(_ALWAYS)


@dataclass(frozen=True)
class Pair:
    """Two operands that a DSP packs into one word by its own adder."""

    high: Value
    low: Value


Operand: TypeAlias = Value | Pair


class Cascades:
    """Cascades in plain RTL."""

    def operand(self, m: Module, value: Operand, name: str, enable: Value = _ALWAYS) -> Operand:
        """An operand for any number of DSPs, in a register. A pair is packed on the way."""
        return registered(m, pack(value.high, value.low) if isinstance(value, Pair) else value, name, enable)

    def chain(
        self,
        m: Module,
        operands: Sequence[tuple[Operand, Value]],
        seed: int,
        bits: int,
        name: str,
        enables: Sequence[Enables] | None = None,
    ) -> Value:
        """``seed + sum a * b`` in ``bits`` bits. The operands of DSP ``n`` come ``n`` cycles after those of the first.

        ``enables`` has an entry for each DSP, whose ``factors`` is to enable the registers of its operands. Without it all
        registers take something in every cycle.
        """
        total: Value = Const(seed, signed(bits))
        for n, (a, b, enable) in enumerate(_each_dsp(operands, enables)):
            assert isinstance(a, Value)
            product = registered(m, a * b, f"product_{name}_{n}", enable.product)
            total = registered(m, (product + total)[:bits].as_signed(), f"sum_{name}_{n}", enable.total)
        return total

    def product(self, m: Module, a: Value, b: Value, enables: Enables, bits: int) -> Value:
        """The ``bits`` lowest bits of ``a * b``, three cycles later. Both factors have no sign; ``a`` has 26 bits at most,
        ``b`` 34."""
        factor, other = registered(m, a, "factor", enables.factors), registered(m, b, "other", enables.factors)
        low = registered(m, factor * other[:SPLIT], "low", enables.product)
        high = registered(m, factor * other[SPLIT:], "high", enables.product)
        whole = Cat(low[:SPLIT], (high + low[SPLIT:])[: bits - SPLIT])
        return registered(m, whole, "product", enables.total)

    def wide_product(self, m: Module, a: Value, b: Value, name: str) -> Value:
        """``a * b`` of signed numbers, three cycles later. They have 27 and 35 bits at most, or 18 and 44."""
        factor, other = registered(m, a, f"{name}_factor"), registered(m, b, f"{name}_other")
        low, high = (registered(m, factor * part, f"{name}_part{number}") for number, part in enumerate(_signed_parts(other)))
        return registered(m, Cat(low[:SPLIT], high + (low >> SPLIT)), f"{name}_product").as_signed()



class Dsp48Cascades(Cascades):
    """The same cascades as instances of DSP48E2. The operand registers are those of each DSP."""

    def operand(self, m: Module, value: Operand, name: str, enable: Value = _ALWAYS) -> Operand:
        if isinstance(value, Pair):
            return value
        shown = Signal(value.shape(), name=name)
        m.d.comb += shown.eq(value)
        return shown

    def chain(
        self,
        m: Module,
        operands: Sequence[tuple[Operand, Value]],
        seed: int,
        bits: int,
        name: str,
        enables: Sequence[Enables] | None = None,
    ) -> Value:
        before = Sum(seed)
        for n, (a, b, enable) in enumerate(_each_dsp(operands, enables)):
            handed_on = Signal(P_BITS, name=f"cascade_{name}_{n}")
            total = Signal(P_BITS, name=f"sum_{name}_{n}")
            first, added = (a.high.shift_left(GAP), a.low) if isinstance(a, Pair) else (a, None)
            m.submodules[f"dsp_{name}_{n}"] = dsp48e2(first, b, before, enable, total, handed_on, d=added)
            before = Sum(neighbour=handed_on)
        return total[:bits].as_signed()

    def product(self, m: Module, a: Value, b: Value, enables: Enables, bits: int) -> Value:
        """The sum of the first DSP has no register. It goes straight into the second DSP, and its lowest bits are those of the
        result."""
        factor, *parts = (Cat(part, Const(0, 1)).as_signed() for part in (a, b[:SPLIT], b[SPLIT:]))
        low, handed_on, high, unused = (Signal(P_BITS, name=name) for name in ("low", "handed_on", "high", "unused"))
        m.submodules.low = dsp48e2(factor, parts[0], Sum(), enables, low, handed_on, keeps_sum=False)
        m.submodules.high = dsp48e2(factor, parts[1], Sum(neighbour=handed_on, shifted=True), enables, high, unused)
        return Cat(registered(m, low[:SPLIT], "lowest", enables.total), high[: bits - SPLIT])

    def wide_product(self, m: Module, a: Value, b: Value, name: str) -> Value:
        low, handed_on, high, unused = (Signal(P_BITS, name=f"{name}_{of}") for of in ("low", "handed_on", "high", "unused"))
        sums = ((Sum(), low, handed_on), (Sum(neighbour=handed_on, shifted=True), high, unused))
        for part, (before, total, out), half in zip(_signed_parts(b), sums, ("low", "high"), strict=True):
            factors = (a, part) if len(a) > NARROW_BITS else (part, a)
            m.submodules[f"{name}_{half}"] = dsp48e2(*factors, before, _EVERY_CYCLE, total, out, keeps_sum=half == "high")
        lowest = registered(m, low[:SPLIT], f"{name}_lowest")
        return Cat(lowest, high[: len(a) + len(b) - SPLIT]).as_signed()



def cascades_of(platform: Any) -> Cascades:
    """The kind of cascades that the platform has chosen: its ``cascades``, or plain RTL."""
    found = getattr(platform, "cascades", None)
    return found if isinstance(found, Cascades) else Cascades()


def _signed_parts(value: Value) -> tuple[Value, Value]:
    """The ``SPLIT`` lowest bits of a signed number, and the other bits, both as signed numbers."""
    return Cat(value[:SPLIT], Const(0, 1)).as_signed(), value[SPLIT:].as_signed()


def _each_dsp(
    operands: Sequence[tuple[Operand, Value]], enables: Sequence[Enables] | None
) -> Iterator[tuple[Operand, Value, Enables]]:
    """The operands of each DSP, and when its registers take something: in every cycle unless given."""
    for n, (a, b) in enumerate(operands):
        yield a, b, enables[n] if enables else _EVERY_CYCLE


def registered(m: Module, value: Value, name: str, enable: Value = _ALWAYS, domain: str = "sync") -> Signal:
    """The value in a register without a reset, because data need none."""
    found = Signal(value.shape(), name=name, reset_less=True)
    if isinstance(enable, Const):
        m.d[domain] += found.eq(value)
    else:
        with m.If(enable):
            m.d[domain] += found.eq(value)
    return found
