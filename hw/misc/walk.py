"""Walks the five nested loops of MISC: one iteration's three addresses per cycle."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.arithmetic.sums import chosen_sum
from hw.copies import PINS, Spread
from hw.interfaces import TICKET_BITS, unit_layout
from hw.misc.numbers import SETTINGS, is_one_of, settings_of
from hw.misc.operand import TURN
from isa.config import MachineConfig
from isa.instructions import MISC_ALONE, MISC_REDUCTIONS, Unit

LOOPS = 5
OPERANDS = ("a", "b", "o")


def iteration_layout(config: MachineConfig) -> data.StructLayout:
    """The addresses of both operands and the output. A reduction ``writes`` only when loop 4 closes."""
    return data.StructLayout({
        **{operand: unsigned(config.fm_address_bits) for operand in OPERANDS},
        "reads_b": unsigned(1),
        "writes": unsigned(1),
        "turn": TURN,
        "ticket": unsigned(TICKET_BITS),
    })


class Walk(wiring.Component):
    """Turns an instruction into its iterations, in order, one per cycle. It stalls while ``o`` is not taken.

    For every loop it keeps the address at which the loop's current iteration began. A step goes to the innermost loop that is
    not at its last iteration. That loop's address plus its stride is the new address of this loop and of all loops inside it.
    So there is one adder per operand, and no multiplier. The addresses of all operands are words of one memory. A step writes
    the word of its own loop. ``source`` says for every loop which loop's word is its address, since the last step of a loop
    outside it. The loop of a step (``moves``), and that there is none (``last``), are found a step earlier.

    An instruction is taken from the cycle after its predecessor's last iteration left, or later, when nobody ``needs`` the
    predecessor's ``settings`` any more. ``i.ready`` is a register. The first iteration is offered in the cycle after that.
    While no instruction is walked, all registers but that one follow ``i``, so they need not know when an instruction is taken.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "i": In(stream.Signature(unit_layout(Unit.MISC, config))),
            "o": Out(stream.Signature(iteration_layout(config))),
            "needs": In(1),
            "settings": Out(SETTINGS),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        taken = self.i.payload.op.MISC
        now = Signal(unit_layout(Unit.MISC, self.config))
        idle = Signal(init=1)
        walking = Signal()
        """Iterations are left. This is a register, because the requests to the banks depend on it."""
        final = Signal(LOOPS)
        opens = Signal()
        alone = Signal()
        reduces = Signal()
        last = Signal()
        step = Signal()
        moves = Signal(LOOPS)
        m.d.comb += [
            self.o.valid.eq(walking),
            self.o.payload.turn.last.eq(last),
            self.o.payload.turn.opens.eq(opens),
            self.o.payload.turn.closes.eq(final[-1]),
            self.o.payload.reads_b.eq(~alone),
            self.o.payload.writes.eq(~reduces | final[-1]),
            self.o.payload.ticket.eq(now.ticket),
            step.eq(walking & self.o.ready),
            self.i.ready.eq(idle),
            *(self.settings[name].eq(value) for name, value in settings_of(now.op.MISC).items()),
        ]
        after = self._count(m, taken, now.op.MISC, final, moves, idle, step)
        self._addresses(m, taken, now.op.MISC, moves, idle, step)
        with m.If(idle | step):
            m.d.sync += [
                final.eq(after),
                last.eq(after.all()),
                moves.eq(Cat(~after[loop] & after[loop + 1 :].all() for loop in range(LOOPS))),
                opens.eq(idle | final[-1]),
            ]
        over = Signal()
        m.d.comb += over.eq(~walking | (step & last))
        idles = Spread(m, idle, Mux(idle, ~self.i.valid, over & ~self.needs), "sync", elsewhere=PINS)
        idles.enable(now, self.i.payload)
        with m.If(idle):
            m.d.sync += [
                walking.eq(self.i.valid),
                alone.eq(is_one_of(taken.mode, *MISC_ALONE)),
                reduces.eq(is_one_of(taken.mode, *MISC_REDUCTIONS)),
            ]
        with m.Else():
            m.d.sync += walking.eq(~over)
        return m

    def _count(self, m: Module, taken: Any, fields: Any, final: Signal, moves: Signal, idle: Signal, step: Signal) -> Signal:
        """Counts what is left of each loop. Returns which loops are at their last iteration after a step, or at the first
        one."""
        after = Signal(LOOPS)
        for loop in range(LOOPS):
            left = Signal(len(taken.n0), name=f"left{loop}")
            final_at_start = Signal(name=f"final_at_start{loop}")
            first, alike = taken[f"n{loop}"], moves[:loop].any()
            is_one = first == 1
            m.d.comb += after[loop].eq(
                Mux(idle, is_one, Mux(moves[loop], left == 2, Mux(alike, final_at_start, final[loop])))
            )
            with m.If(idle):
                m.d.sync += final_at_start.eq(is_one)
            with m.If(idle | (step & moves[: loop + 1].any())):
                m.d.sync += left.eq(Mux(idle, first, Mux(moves[loop], left - 1, fields[f"n{loop}"])))
        return after

    def _addresses(self, m: Module, taken: Any, fields: Any, moves: Signal, idle: Signal, step: Signal) -> None:
        """Makes the address of each operand, and keeps those of the loops."""
        bits = self.config.fm_address_bits
        kept = data.StructLayout(dict.fromkeys(OPERANDS, unsigned(bits)))
        m.submodules.starts = memory = Memory(shape=kept, depth=LOOPS, init=[])
        write = memory.write_port()
        read = memory.read_port(domain="comb")
        source = [Signal(range(loop + 1), name=f"source{loop}") for loop in range(LOOPS)]
        moving = Signal(range(LOOPS))
        m.d.comb += [
            moving.eq(reduce(or_, (Mux(move, loop, 0) for loop, move in enumerate(moves)))),
            read.addr.eq(reduce(or_, (own & move.replicate(len(own)) for own, move in zip(source, moves, strict=True)))),
            write.en.eq(idle | step),
            write.addr.eq(Mux(idle, 0, moving)),
        ]
        for loop in range(1, LOOPS):
            with m.If(idle | (step & moves[: loop + 1].any())):
                m.d.sync += source[loop].eq(Mux(idle, 0, moving))
        for operand in OPERANDS:
            here = Signal(bits, name=operand)
            strides = [fields[f"{operand}_s{loop}"] for loop in range(LOOPS)]
            added = Mux(idle, taken[f"{operand}_addr"], _pick(moves, strides))[:bits]
            m.d.comb += [
                self.o.payload[operand].eq(here),
                write.data[operand].eq(chosen_sum(added, read.data[operand] & ~idle.replicate(bits))),
            ]
            with m.If(idle | step):
                m.d.sync += here.eq(write.data[operand])


def _pick(one_hot: Value, values: list[Any]) -> Value:
    """The value at the set bit, or the innermost loop's when there is none."""
    result = values[-1]
    for index in reversed(range(len(values) - 1)):
        result = Mux(one_hot[index], values[index], result)
    return result
