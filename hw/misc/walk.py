"""The five nested loops of MISC: one iteration's three addresses per cycle."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.interfaces import TICKET_BITS, unit_layout
from hw.misc.numbers import is_one_of
from hw.misc.operand import TURN
from isa.config import MachineConfig
from isa.instructions import MISC_ALONE, MISC_REDUCTIONS, Unit

LOOPS = 5
OPERANDS = ("a", "b", "o")


def iteration_layout(config: MachineConfig) -> data.StructLayout:
    """Addresses of both operands and the output; a reduction ``writes`` only when loop 4 closes."""
    return data.StructLayout({
        **{operand: unsigned(config.fm_address_bits) for operand in OPERANDS},
        "reads_b": unsigned(1),
        "writes": unsigned(1),
        "turn": TURN,
        "ticket": unsigned(TICKET_BITS),
    })


class Walk(wiring.Component):
    """Turns an instruction into its iterations, in order, one per cycle while ``o`` is taken.

    For every loop the address is kept at which its current iteration began. A step goes to the innermost loop that is
    not at its last iteration: that loop's address plus its stride is the new address of this loop and of all loops
    inside it. So there is one adder per operand, and no multiplier. The addresses of all operands are words of one memory: a
    step writes that of its own loop, and ``source`` says of every loop which loop's word is its address, since the last step
    of a loop outside it.

    The first iteration is offered in the cycle after the instruction was taken, and an instruction is taken while
    the last iteration of the one before leaves: no cycle is lost between them.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "i": In(stream.Signature(unit_layout(Unit.MISC, config))),
            "o": Out(stream.Signature(iteration_layout(config))),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        taken = self.i.payload.op.MISC
        now = Signal(unit_layout(Unit.MISC, self.config))
        fields = now.op.MISC
        walking = Signal()
        left = [Signal(len(taken.n0), name=f"left{loop}") for loop in range(LOOPS)]
        final = Signal(LOOPS)
        final_at_start = Signal(LOOPS)
        bits = self.config.fm_address_bits
        here = {operand: Signal(bits, name=operand) for operand in OPERANDS}
        kept = data.StructLayout(dict.fromkeys(OPERANDS, unsigned(bits)))
        m.submodules.starts = memory = Memory(shape=kept, depth=LOOPS, init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        source = [Signal(range(LOOPS), name=f"source{loop}") for loop in range(LOOPS)]

        opens = Signal()
        alone = Signal()
        reduces = Signal()
        step = Signal()
        finish = Signal()
        m.d.comb += [
            self.o.valid.eq(walking),
            self.o.payload.turn.last.eq(final.all()),
            self.o.payload.turn.opens.eq(opens),
            self.o.payload.turn.closes.eq(final[-1]),
            self.o.payload.reads_b.eq(~alone),
            self.o.payload.writes.eq(~reduces | final[-1]),
            self.o.payload.ticket.eq(now.ticket),
            step.eq(walking & self.o.ready),
            finish.eq(step & final.all()),
            self.i.ready.eq(~walking | finish),
        ]
        moves = Signal(LOOPS)
        m.d.comb += moves.eq(Cat(~final[loop] & final[loop + 1 :].all() for loop in range(LOOPS)))
        with m.If(step):
            m.d.sync += opens.eq(final[-1])
            for loop in range(LOOPS):
                with m.If(moves[loop]):
                    m.d.sync += [left[loop].eq(left[loop] - 1), final[loop].eq(left[loop] == 2)]
                with m.Elif(moves[:loop].any()):
                    m.d.sync += [left[loop].eq(fields[f"n{loop}"]), final[loop].eq(final_at_start[loop])]
        moving = Signal(range(LOOPS))
        begin = Signal()
        m.d.comb += [
            moving.eq(_pick(moves, list(range(LOOPS)))),
            read.addr.eq(_pick(moves, source)),
            begin.eq(self.i.valid & self.i.ready),
            write.en.eq(begin | step),
            write.addr.eq(Mux(begin, 0, moving)),
        ]
        with m.If(step):
            for loop in range(LOOPS):
                with m.If(moves[: loop + 1].any()):
                    m.d.sync += source[loop].eq(moving)
        for operand in OPERANDS:
            following = Signal(bits, name=f"{operand}_following")
            strides = [fields[f"{operand}_s{loop}"] for loop in range(LOOPS)]
            stride = Signal(bits, name=f"{operand}_stride")
            m.d.comb += [
                self.o.payload[operand].eq(here[operand]),
                stride.eq(_pick(moves, strides)),
                following.eq(read.data[operand] + stride),
                write.data[operand].eq(Mux(begin, taken[f"{operand}_addr"], following)),
            ]
            with m.If(begin | step):
                m.d.sync += here[operand].eq(write.data[operand])

        with m.If(begin):
            m.d.sync += [
                walking.eq(1),
                now.eq(self.i.payload),
                opens.eq(1),
                alone.eq(is_one_of(taken.mode, *MISC_ALONE)),
                reduces.eq(is_one_of(taken.mode, *MISC_REDUCTIONS)),
            ]
            for loop in range(LOOPS):
                count = taken[f"n{loop}"]
                m.d.sync += [left[loop].eq(count), final[loop].eq(count == 1), final_at_start[loop].eq(count == 1)]
                m.d.sync += source[loop].eq(0)
        with m.Elif(finish):
            m.d.sync += walking.eq(0)
        return m


def _pick(one_hot: Value, values: list[Any]) -> Value:
    """The value at the set bit; the innermost loop's when there is none."""
    result = values[-1]
    for index in reversed(range(len(values) - 1)):
        result = Mux(one_hot[index], values[index], result)
    return result
