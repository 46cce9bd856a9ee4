"""Sums of products along a cascade of DSPs at twice the clock, so that each cycle of the machine makes two sums, one after the
other. There are also products: those of two lanes by turns, or the halves of a wide one, which a DSP adds up.

One of a DSP's operands stays for a whole cycle. The other is one value in the first half and another in the second. Both lie in
registers of the machine's clock, and the sums at a cascade's end go back into such registers. ``FAST`` clocks all between them;
every second edge of it is an edge of the machine's clock. The table counts cycles of ``FAST``, for operands that are shown in 0
and 1 (in 1 and 2 if ``late``):

::

    cycle          0       1        2        3         4      5
    operands     shown   shown
    inputs               first and second, held
    turn                          first    second
    product                                first    second
    sum                                             first  second

A DSP further on in its cascade works a cycle of ``FAST`` later. Every second DSP is ``late`` and holds its inputs from the
second half of a cycle to the first half of the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from amaranth import Cat, Const, Elaboratable, Module, Mux, Signal, Value, signed

from hw.arithmetic.cascade import SPLIT, Dsp48Cascades, cascades_of, registered
from hw.arithmetic.dsp48e2 import P_BITS, Halves, Sum, dsp48e2_in_turns, dsp48e2_running
from hw.arithmetic.sums import extended

FAST = "fast"
"""The clock domain of twice the clock."""
FAST_CLOCK = "clk2x"
"""The port of that clock."""


@dataclass(frozen=True)
class Turns:
    """An operand that is ``first`` in the first half of a cycle and ``second`` in the second."""

    first: Value
    second: Value


Operand: TypeAlias = Value | Turns


@dataclass(frozen=True)
class Taken:
    """An operand for any number of DSPs, in the form that ``chain`` expects. ``late``: it is for DSPs that work a cycle of
    ``FAST`` later."""

    operand: Operand
    late: bool


class HalvesOfACycle(Elaboratable):
    """Registers that tell the halves of the machine's cycles apart. Each instance is a module of its own, because synthesis
    merges registers of one module that hold the same value. Who needs them at many places makes several instances."""

    def __init__(self) -> None:
        first, second = (Signal(name=name, reset_less=True) for name in ("first_half", "second_half"))
        self.halves = Halves(first, second)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        toggle = Signal(attrs={"keep": "true"})
        before = Signal(name="toggle_before", reset_less=True)
        m.d.sync += toggle.eq(~toggle)
        m.d[FAST] += [
            before.eq(toggle),
            self.halves.second.eq(toggle ^ before),
            self.halves.first.eq(~(toggle ^ before)),
        ]
        return m


def halves_of_a_cycle(m: Module, name: str = "") -> Halves:
    """The halves from a new ``HalvesOfACycle``, for at most as many pins as a register may drive at twice the clock."""
    part = HalvesOfACycle()
    m.submodules[f"halves{name and f'_{name}'}"] = part
    return part.halves


@dataclass(frozen=True)
class Running:
    """Controls a sum that a DSP keeps, a cycle after the operands were shown. The sum begins ``anew`` with their products, or
    it is ``replaced`` by the value that is ``shown``, with products that are 0."""

    anew: Value
    shown: Value
    replaced: Value


class DoubledCascades:
    """Cascades in plain RTL."""

    def __init__(self, halves: Halves) -> None:
        self.halves = halves

    def operand(self, m: Module, operand: Operand, late: bool, name: str) -> Taken:
        """The operand that DSPs take, made from one that is shown for a whole cycle."""
        if isinstance(operand, Turns):
            held = [_held(m, value, 1 + late, f"{name}_{n}") for n, value in enumerate((operand.first, operand.second))]
            # The choice is seen a cycle later, so the turn of the first operand ends with the cycle in which it came.
            turn = Mux(self.halves.first if late else self.halves.second, held[0], held[1])
            return Taken(_fast(m, turn, f"{name}_turn"), late)
        return Taken(_held(m, operand, 2 + late, name), late)

    def chain(self, m: Module, operands: Sequence[tuple[Taken, Taken]], seed: int, bits: int, name: str) -> Value:
        """``seed + sum a * b`` in ``bits`` bits, the first and the second sum by turns. DSP ``n`` works ``n`` fast cycles
        late."""
        total: Value = Const(seed, signed(bits))
        for n, (a, b) in enumerate(operands):
            assert isinstance(a.operand, Value)
            assert isinstance(b.operand, Value)
            product = _fast(m, a.operand * b.operand, f"product_{name}_{n}")
            total = _fast(m, (product + total)[:bits].as_signed(), f"sum_{name}_{n}")
        return total

    def take(self, m: Module, total: Value, name: str) -> tuple[Value, Value]:
        """Both sums in registers of the machine's clock. The first of them was shown in the first half of a cycle."""
        waiting = _fast(m, total, f"waiting_{name}")
        taken = [Signal(total.shape(), name=f"{half}_{name}", reset_less=True) for half in ("first", "second")]
        m.d.sync += [taken[0].eq(waiting), taken[1].eq(total)]
        return taken[0], taken[1]

    def lanes(self, m: Module, lanes: Sequence[Value], shared: Value, bits: int, name: str) -> list[Value]:
        """``bits`` bits of each lane's number times the one that all share, three cycles later. A DSP takes two lanes by turns.
        All numbers are signed and in registers. Either the lanes' numbers or the shared one may have up to 27 bits, the others
        up to 18."""
        held = self.operand(m, shared, False, f"{name}_shared")
        found: list[Value] = []
        for lane, (first, second) in _pairs(lanes):
            turns = self.operand(m, Turns(first, second), False, f"{name}_{lane}")
            # The operand with more bits comes first.
            operands = (held, turns) if len(shared) > len(first) else (turns, held)
            found += self.take(m, self.chain(m, [operands], 0, bits, f"{name}_{lane}"), f"{name}_{lane}")
        return found[: len(lanes)]

    def wide_product(self, m: Module, a: Value, b: Value, bits: int) -> Value:
        """The ``bits`` lowest bits of ``a * b``, three cycles later. Both factors are in registers and have no sign; ``a`` has
        26 bits at most, ``b`` 34."""
        parts = Turns(*(Cat(part, Const(0, 1)).as_signed() for part in (b[:SPLIT], b[SPLIT:])))
        low, whole = self.take(m, self._joined(m, Cat(a, Const(0, 1)).as_signed(), parts), "product")
        return Cat(low[:SPLIT], whole[: bits - SPLIT])

    def running_sum(
        self, m: Module, first: Value, second: Value, factor: Value, running: Running, bits: int, enable: Value, name: str
    ) -> Value:
        """A sum to which two products are added in each cycle. It contains those of ``first`` and ``second`` at the end of the
        second cycle after the one that shows them, and only then. ``factor`` is a register of ``FAST`` that takes the factor of
        ``first`` in the first half of that cycle, and then that of ``second``. In a cycle without ``enable`` nothing moves."""

        def fast(value: Value, kind: str) -> Signal:
            return registered(m, value, f"{kind}_{name}", enable, FAST)

        turn = fast(Mux(self.halves.second, fast(first, "first"), fast(second, "other")), "turn")
        product = fast(turn * fast(factor, "factor"), "product")
        keeps = fast(self.halves.second | ~running.anew, "keeps")
        shown, replaced = fast(running.shown, "shown"), fast(running.replaced, "replaced")
        total = Signal(signed(bits), name=f"running_{name}", reset_less=True)
        with m.If(enable):
            m.d[FAST] += total.eq(product + Mux(replaced, shown, Mux(keeps, total, 0)))
        return total

    def _joined(self, m: Module, held: Value, parts: Turns) -> Value:
        """First ``held * parts.first``. Then ``held * parts.second``, plus the bits of the first product above its ``SPLIT``
        lowest."""
        a, b = self.operand(m, held, False, "held"), self.operand(m, parts, False, "part")
        assert isinstance(a.operand, Value)
        assert isinstance(b.operand, Value)
        product = _fast(m, a.operand * b.operand, "joined_product")
        joined = Signal(signed(P_BITS), name="joined", reset_less=True)
        # The second part's product is there in the first half of a cycle.
        m.d[FAST] += joined.eq(product + Mux(self.halves.first, joined >> SPLIT, 0))
        return joined


class Dsp48DoubledCascades(DoubledCascades):
    """The same cascades as instances of DSP48E2. Inputs, turn, product and sum are registers of each DSP. Its adder before the
    multiplier takes turns without a LUT, because it can be told to leave out one of its operands."""

    def operand(self, m: Module, operand: Operand, late: bool, name: str) -> Taken:
        return Taken(operand, late)

    def chain(self, m: Module, operands: Sequence[tuple[Taken, Taken]], seed: int, bits: int, name: str) -> Value:
        before = Sum(seed)
        total: Value = Const(seed, P_BITS)
        for n, (a, b) in enumerate(operands):
            handed_on = Signal(P_BITS, name=f"cascade_{name}_{n}")
            total = Signal(P_BITS, name=f"sum_{name}_{n}")
            turns = a.operand if isinstance(a.operand, Turns) else b.operand
            assert isinstance(turns, Turns)
            held = b.operand if turns is a.operand else a.operand
            assert isinstance(held, Value)
            m.submodules[f"dsp_{name}_{n}"] = dsp48e2_in_turns(
                held, turns.first, turns.second, before, self.halves, total, handed_on,
                wide_turns=turns is a.operand, late=a.late, domain=FAST,
            )  # fmt: skip
            before = Sum(neighbour=handed_on)
        return total[:bits].as_signed()

    def running_sum(
        self, m: Module, first: Value, second: Value, factor: Value, running: Running, bits: int, enable: Value, name: str
    ) -> Value:
        total = Signal(P_BITS, name=f"running_{name}")
        before = Sum(
            shown=extended(running.shown, P_BITS), kept=self.halves.second | ~running.anew, replaced=running.replaced
        )
        m.submodules[f"dsp_{name}"] = dsp48e2_running(factor, first, second, before, self.halves, enable, total, domain=FAST)
        return total[:bits].as_signed()

    def _joined(self, m: Module, held: Value, parts: Turns) -> Value:
        joined, unused = Signal(P_BITS, name="joined"), Signal(P_BITS, name="unused")
        m.submodules.joined = dsp48e2_in_turns(
            held, parts.first, parts.second, Sum(own=self.halves.second), self.halves, joined, unused,
            wide_turns=False, late=False, domain=FAST,
        )  # fmt: skip
        return joined



def lanes_by_turns(m: Module, platform: Any, lanes: Sequence[Value], shared: Value, bits: int, name: str) -> list[Value]:
    """See ``DoubledCascades.lanes``."""
    return doubled_cascades(platform, halves_of_a_cycle(m)).lanes(m, lanes, shared, bits, name)


def doubled_cascades(platform: Any, halves: Halves) -> DoubledCascades:
    """The kind of cascades that the platform has chosen."""
    return (Dsp48DoubledCascades if isinstance(cascades_of(platform), Dsp48Cascades) else DoubledCascades)(halves)


def _pairs(lanes: Sequence[Value]) -> list[tuple[int, tuple[Value, Value]]]:
    """Two lanes at a time, with the number of the first. A last lane that is alone is paired with itself."""
    return [(n, (lanes[n], lanes[min(n + 1, len(lanes) - 1)])) for n in range(0, len(lanes), 2)]


def _held(m: Module, value: Value, cycles: int, name: str) -> Value:
    for n in range(cycles):
        value = _fast(m, value, f"{name}_{n}")
    return value


def _fast(m: Module, value: Value, name: str) -> Signal:
    return registered(m, value, name, domain=FAST)
