"""Decides which beat enters the array now, and with which weight, parameter and accumulator words."""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fault_latch import latch_fault
from hw.interfaces import TICKET_BITS, FaultSignature, operand_layout
from isa.config import MachineConfig
from isa.faults import Fault

STORE_DISTANCE = 4
"""The beats from one that stores an accumulator entry to the first that may read it back. The entry is read two stages before
it is added, and written one stage after the sum is made."""


def sequence_layout(config: MachineConfig) -> data.StructLayout:
    """The fields of an instruction for weights, parameters and accumulators."""
    return data.StructLayout({
        "ticket": TICKET_BITS,
        "w_addr": 16,
        "p_addr": 16,
        "a_addr": 16,
        "acc_in": 1,
        "acc_out": 1,
        "w_zp": signed(8),
        **({"x16": 1} if config.act16 else {}),
    })


def address_bits(depth: int) -> int:
    """The address bits of a memory of that depth."""
    return max(1, (depth - 1).bit_length())


def array_beat_layout(config: MachineConfig) -> data.StructLayout:
    """The data that travel with a beat through the array. ``last_of_instruction`` marks the last beat of the instruction.
    ``high``: the beat takes the high bytes of inputs of 16 bits."""
    return data.StructLayout({
        "first": unsigned(1),
        "last": unsigned(1),
        "last_of_instruction": unsigned(1),
        "acc_in": unsigned(1),
        "acc_out": unsigned(1),
        "entry": unsigned(address_bits(config.acc_depth)),
        "param": unsigned(address_bits(config.param_depth)),
        "w_zp": signed(8),
        **({"high": unsigned(1)} if config.act16 else {}),
    })


def beat_flags(config: MachineConfig) -> data.StructLayout:
    """A beat on its way, or none."""
    return data.StructLayout({"valid": unsigned(1), "beat": array_beat_layout(config)})


class BeatSequencer(wiring.Component):
    """Lets one beat per cycle into the array. The array never stalls, so all waiting happens here.

    A reduction whose sums are drained takes ``entries`` of the ``results`` entries of the result queue (``retired`` strobes
    when one is free again), and the drain for ``drain_cycles`` cycles. Its last beat waits for both. A first beat waits if its
    accumulator entry was stored less than ``STORE_DISTANCE`` cycles ago. A weight, parameter or accumulator word outside its
    buffer raises ``BUFFER_ADDRESS`` and stops everything. The beat that asks for it may fire as the last one, and ``fault`` is
    raised in the cycle after.

    With ``x16`` beats come in twos, one of low bytes and one of ``high`` ones, which take the same weight word.

    If a ``guest`` waits for the finishing lanes when a drain begins, the next drain waits ``guest_cycles`` longer, and the
    guest gets these cycles.

    The next instruction is loaded with the last beat of the one before, so no cycle is lost. There is no latency: ``fire`` and
    the addresses belong to the operands offered in the same cycle.
    """

    def __init__(self, config: MachineConfig, drain_cycles: int, entries: int, results: int, guest_cycles: int = 0) -> None:
        self.config = config
        self.guest_cycles = guest_cycles
        self.drain_cycles = drain_cycles
        self.entries = entries
        self.results = results
        super().__init__({
            "instruction": In(stream.Signature(sequence_layout(config))),
            "operands": In(stream.Signature(operand_layout(config))),
            "fire": Out(1),
            "weight": Out(address_bits(config.weight_depth)),
            "beat": Out(array_beat_layout(config)),
            "retired": In(1),
            "guest": In(1),
            "fault": Out(FaultSignature()),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        loaded = Signal()
        ticket = Signal(TICKET_BITS)
        acc_in = Signal()
        acc_out = Signal()
        weight = Signal(17)
        chunk = Signal(17)
        param = Signal(17)
        entry = Signal(17)
        w_zp = Signal(signed(8))
        x = self.operands.p
        m.d.comb += [
            self.weight.eq(weight),
            self.beat.first.eq(x.first),
            self.beat.last.eq(x.last),
            self.beat.last_of_instruction.eq(x.last_of_instruction),
            self.beat.acc_in.eq(acc_in),
            self.beat.acc_out.eq(acc_out),
            self.beat.entry.eq(entry),
            self.beat.param.eq(param),
            self.beat.w_zp.eq(w_zp),
            self.operands.ready.eq(self.fire),
        ]

        uses_entry = Signal()
        outside = Signal()
        waits = Signal()
        load = Signal()
        m.d.comb += [
            uses_entry.eq((x.first & acc_in) | (x.last & acc_out)),
            outside.eq(
                (weight >= c.weight_depth)
                | (uses_entry & (entry >= c.acc_depth))
                | (x.last & ~acc_out & (param >= c.param_depth))
            ),
            load.eq(~loaded | (self.fire & x.last_of_instruction)),
            waits.eq(self._room(m, x.last, acc_out) | self._hazard(m, x, acc_in, acc_out, entry, load)),
            self.fire.eq(loaded & self.operands.valid & ~waits & ~self.fault.valid),
        ]
        latch_fault(m, self.fault, [(loaded & self.operands.valid & outside, Fault.BUFFER_ADDRESS, ticket)])

        used_up = self._halves(m, load) if c.act16 else 1
        with m.If(self.fire):
            m.d.sync += [weight.eq(weight + used_up), entry.eq(entry + x.last)]
            with m.If(x.last_of_outer):
                m.d.sync += [chunk.eq(weight + 1), param.eq(param + 1)]
            with m.Elif(x.last):
                m.d.sync += weight.eq(chunk)
        with m.If(load):
            m.d.comb += self.instruction.ready.eq(1)
            m.d.sync += [
                loaded.eq(self.instruction.valid),
                ticket.eq(self.instruction.p.ticket),
                acc_in.eq(self.instruction.p.acc_in),
                acc_out.eq(self.instruction.p.acc_out),
                weight.eq(self.instruction.p.w_addr),
                chunk.eq(self.instruction.p.w_addr),
                param.eq(self.instruction.p.p_addr),
                entry.eq(self.instruction.p.a_addr),
                w_zp.eq(self.instruction.p.w_zp),
            ]
        return m

    def _halves(self, m: Module, load: Signal) -> Signal:
        """Tells low bytes from high ones. The signal returned is high when the weight word is not needed any more."""
        x16 = Signal()
        high = Signal()
        used_up = Signal()
        m.d.comb += [self.beat.high.eq(high), used_up.eq(~x16 | high)]
        with m.If(self.fire):
            m.d.sync += high.eq(x16 & ~high)
        with m.If(load):
            m.d.sync += [x16.eq(self.instruction.p.x16), high.eq(0)]
        with m.If(x16):
            m.d.comb += self.beat.w_zp.eq(0)
        return used_up

    def _room(self, m: Module, last: Signal, acc_out: Signal) -> Signal:
        """High if a last beat would find the drain busy or the result queue full."""
        need = self.entries
        room = self.results - need
        used = Signal(range(self.results + 1))
        spacing = Signal(range(max(2, self.drain_cycles + self.guest_cycles)))
        full, spaced = (Signal(name=name) for name in ("full", "spaced"))
        """``full``: ``used`` is above ``room``. ``spaced``: ``spacing`` is not at its end."""
        drains = Signal()
        following = Mux(self.guest, self.drain_cycles - 1 + self.guest_cycles, self.drain_cycles - 1)
        m.d.comb += drains.eq(self.fire & last & ~acc_out)
        m.d.sync += [
            used.eq(used + Mux(drains, need, 0) - self.retired),
            full.eq(Mux(drains, *(Mux(self.retired, used > most + 1, used > most) for most in (room - need, room)))),
            spaced.eq(Mux(drains, following != 0, spacing > 1)),
        ]
        with m.If(drains):
            m.d.sync += spacing.eq(following)
        with m.Elif(spacing != 0):
            m.d.sync += spacing.eq(spacing - 1)
        blocked = Signal()
        m.d.comb += blocked.eq(last & ~acc_out & (spaced | full))
        return blocked

    def _hazard(self, m: Module, x: data.View, acc_in: Signal, acc_out: Signal, entry: Signal, load: Signal) -> Signal:
        """High if the entry wanted is among those stored in the last cycles.

        The entries are compared a cycle before, when the entry changes to the one behind it or to the first of the instruction
        that is loaded.
        """
        bits = address_bits(self.config.acc_depth)
        stored = data.StructLayout({"valid": unsigned(1), "entry": unsigned(bits), "same": unsigned(1)})
        now = Signal(stored)
        m.d.comb += [now.valid.eq(self.fire & x.last & acc_out), now.entry.eq(entry)]
        following = (entry + 1)[:bits]
        first = self.instruction.p.a_addr[:bits]
        matches = []
        for age in range(1, STORE_DISTANCE):
            older = Signal(stored, name=f"stored{age}")
            m.d.sync += older.eq(now)
            with m.If(load):
                m.d.sync += older.same.eq(now.entry == first)
            with m.Elif(self.fire & x.last):
                m.d.sync += older.same.eq(now.entry == following)
            matches.append(older.valid & older.same)
            now = older
        hazard = Signal()
        m.d.comb += hazard.eq(x.first & acc_in & Cat(matches).any())
        return hazard
