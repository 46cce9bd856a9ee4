"""Sums of products along a cascade of DSPs at twice the clock: two sums in a cycle of the machine, one after the other. And
products: those of two lanes by turns, or the halves of a wide one, which a DSP adds up.

One of a DSP's operands stays for a whole cycle, the other is one in the first half and another in the second. They lie in
registers of the machine's clock, and what a cascade's end shows goes back into such registers. Between them all is clocked by
``FAST``, whose every second edge is one of the machine's. In cycles of it, for operands shown in 0 and 1 (1 and 2 if ``late``):

::

    cycle          0       1        2        3         4      5
    operands     shown   shown
    inputs               first and second, held
    turn                          first    second
    product                                first    second
    sum                                             first  second

A DSP further on in its cascade works a cycle of ``FAST`` later: every second one is ``late``, and holds its inputs from the
second half of a cycle to the first of the next.
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
"""The domain of twice the clock."""
FAST_CLOCK = "clk2x"
"""Its port."""


@dataclass(frozen=True)
class Turns:
    """An operand of the first half of a cycle, and one of the second."""

    first: Value
    second: Value


Operand: TypeAlias = Value | Turns


@dataclass(frozen=True)
class Taken:
    """An operand of any number of DSPs, as ``chain`` wants it."""

    operand: Operand
    late: bool


class HalvesOfACycle(Elaboratable):
    """Registers that tell the halves of the machine's cycles apart. Each one is a module of its own, for synthesis takes
    registers of one module that hold the same for one register: who needs them at many places makes several."""

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
    """Those of a new ``HalvesOfACycle``, for at most as many pins as a register may drive at twice the clock."""
    part = HalvesOfACycle()
    m.submodules[f"halves{name and f'_{name}'}"] = part
    return part.halves


@dataclass(frozen=True)
class Running:
    """What becomes of a sum that a DSP keeps, a cycle after the operands were shown: it begins ``anew`` with their products, or
    (with products that are 0) it is ``replaced`` by what is ``shown``."""

    anew: Value
    shown: Value
    replaced: Value


class DoubledCascades:
    """Cascades in plain RTL."""

    def __init__(self, halves: Halves) -> None:
        self.halves = halves

    def operand(self, m: Module, operand: Operand, late: bool, name: str) -> Taken:
        """An operand that is shown for a whole cycle."""
        if isinstance(operand, Turns):
            held = [_held(m, value, 1 + late, f"{name}_{n}") for n, value in enumerate((operand.first, operand.second))]
            # What is chosen is seen a cycle later: the first one's turn ends with the cycle in which it has come.
            turn = Mux(self.halves.first if late else self.halves.second, held[0], held[1])
            return Taken(_fast(m, turn, f"{name}_turn"), late)
        return Taken(_held(m, operand, 2 + late, name), late)

    def chain(self, m: Module, operands: Sequence[tuple[Taken, Taken]], seed: int, bits: int, name: str) -> Value:
        """``seed + sum a * b`` in ``bits`` bits, first and second by turns; DSP ``n`` works ``n`` fast cycles late."""
        total: Value = Const(seed, signed(bits))
        for n, (a, b) in enumerate(operands):
            assert isinstance(a.operand, Value)
            assert isinstance(b.operand, Value)
            product = _fast(m, a.operand * b.operand, f"product_{name}_{n}")
            total = _fast(m, (product + total)[:bits].as_signed(), f"sum_{name}_{n}")
        return total

    def take(self, m: Module, total: Value, name: str) -> tuple[Value, Value]:
        """Both sums in registers of the machine's clock, the first of which was shown in the first half of a cycle."""
        waiting = _fast(m, total, f"waiting_{name}")
        taken = [Signal(total.shape(), name=f"{half}_{name}", reset_less=True) for half in ("first", "second")]
        m.d.sync += [taken[0].eq(waiting), taken[1].eq(total)]
        return taken[0], taken[1]

    def lanes(self, m: Module, lanes: Sequence[Value], shared: Value, bits: int, name: str) -> list[Value]:
        """``bits`` bits of each lane's number times the one that all share, three cycles later; a DSP takes two lanes by turns.
        Numbers are signed and in registers; one kind has 27 bits at most, the other 18."""
        held = self.operand(m, shared, False, f"{name}_shared")
        found: list[Value] = []
        for lane, (first, second) in _pairs(lanes):
            turns = self.operand(m, Turns(first, second), False, f"{name}_{lane}")
            # The operand with more bits comes first.
            operands = (held, turns) if len(shared) > len(first) else (turns, held)
            found += self.take(m, self.chain(m, [operands], 0, bits, f"{name}_{lane}"), f"{name}_{lane}")
        return found[: len(lanes)]

    def wide_product(self, m: Module, a: Value, b: Value, bits: int) -> Value:
        """The ``bits`` lowest bits of ``a * b``, three cycles later; both are in registers, have no sign, and 26 and 34 bits at
        most."""
        parts = Turns(*(Cat(part, Const(0, 1)).as_signed() for part in (b[:SPLIT], b[SPLIT:])))
        low, whole = self.take(m, self._joined(m, Cat(a, Const(0, 1)).as_signed(), parts), "product")
        return Cat(low[:SPLIT], whole[: bits - SPLIT])

    def running_sum(
        self, m: Module, first: Value, second: Value, factor: Value, running: Running, bits: int, enable: Value, name: str
    ) -> Value:
        """A sum to which two products are added in each cycle: it has those of ``first`` and ``second`` at the end of the
        second cycle behind the one that shows them, and no longer. ``factor`` is a register of ``FAST`` that takes the factor
        of ``first`` in the first half of that cycle, and then that of ``second``. In a cycle without ``enable`` nothing
        moves."""

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
        """``held * parts.first``, and then what is above its ``SPLIT`` lowest bits added to ``held * parts.second``."""
        a, b = self.operand(m, held, False, "held"), self.operand(m, parts, False, "part")
        assert isinstance(a.operand, Value)
        assert isinstance(b.operand, Value)
        product = _fast(m, a.operand * b.operand, "joined_product")
        joined = Signal(signed(P_BITS), name="joined", reset_less=True)
        # The second part's product is there in the first half of a cycle.
        m.d[FAST] += joined.eq(product + Mux(self.halves.first, joined >> SPLIT, 0))
        return joined


class Dsp48DoubledCascades(DoubledCascades):
    """The same as instances of DSP48E2: inputs, turn, product and sum are registers of each DSP, and its adder before the
    multiplier, which is told to leave out one of its operands, takes turns without a LUT."""

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
    """The kind that the platform has chosen."""
    return (Dsp48DoubledCascades if isinstance(cascades_of(platform), Dsp48Cascades) else DoubledCascades)(halves)


def _pairs(lanes: Sequence[Value]) -> list[tuple[int, tuple[Value, Value]]]:
    """Two lanes at a time, by the number of the first one; the last one with itself if it is alone."""
    return [(n, (lanes[n], lanes[min(n + 1, len(lanes) - 1)])) for n in range(0, len(lanes), 2)]


def _held(m: Module, value: Value, cycles: int, name: str) -> Value:
    for n in range(cycles):
        value = _fast(m, value, f"{name}_{n}")
    return value


def _fast(m: Module, value: Value, name: str) -> Signal:
    return registered(m, value, name, domain=FAST)
