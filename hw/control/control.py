"""The control side as one part: registers, fetch, dispatch, receivers, tokens, faults, watchdog and counters."""

from __future__ import annotations

from amaranth import Cat, Const, Elaboratable, Module, Mux, ResetSignal, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.axi.signature import AxiLite, AxiRead
from hw.buffers.fifo import RamFifo
from hw.control.counters import CounterFile, CycleCounter
from hw.control.dispatch import Dispatch
from hw.control.faults import NO_UNIT, Faults
from hw.control.fetch import Fetch
from hw.control.receiver import Receiver
from hw.control.registers import Registers, beat_counters, counter_number
from hw.control.sequencer import Sequencer
from hw.control.tokens import Tokens
from hw.control.unfinished import Unfinished
from hw.control.units import BusActivity, TraceSignature
from hw.control.watchdog import Watchdog
from hw.interfaces import TICKET_BITS, UnitSignature
from hw.reset import ResetTree
from isa.capabilities import built_units
from isa.config import MachineConfig
from isa.depths import IN_FLIGHT
from isa.faults import Fault
from isa.instructions import Region, Unit
from isa.registers import Counter


class Control(wiring.Component):
    """Runs a program. ``bus`` is the driver's AXI4-Lite port. One member for each built unit (``load``, ``save``, ...) goes to
    the unit, and ``trace_<unit>`` tells what the unit does and when.

    ``unit_reset`` is high for one cycle before each program, when nothing is on the bus, and in every cycle of ``rst``. A
    ``ResetTree`` takes it to the units and the AXI engines. So a program always begins from the same state, also after an
    error. ``halt`` is high from a fault until then. An abort is a fault, too.

    Faults are reported one cycle after they show, that of the watchdog two cycles after. Among the faults of one cycle the
    order is dispatch, units (for one unit: the instruction that runs, then the next one), watchdog, abort. A program or base
    that is no multiple of the beat comes before all others, and then nothing is fetched. The completion of a program is known a
    cycle late, so an abort in that cycle stops it.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        self._units = built_units(config)
        members = {
            "bus": Out(AxiLite()),
            "fetch": Out(AxiRead(config)),
            "activity": Out(BusActivity()),
            "bases": Out(data.ArrayLayout(unsigned(config.axi_addr_bits), len(Region))),
            "limits": Out(data.ArrayLayout(unsigned(32), len(Region))),
            "unit_reset": Out(1),
            "halt": Out(1),
            "irq": Out(1),
        }
        for unit in self._units:
            members[unit.name.lower()] = In(UnitSignature(unit, config))
            members[f"trace_{unit.name.lower()}"] = Out(TraceSignature())
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        registers, sequencer = Registers(self.config), Sequencer()
        m.submodules.registers = ResetTree(registers, ResetSignal())
        m.submodules.sequencer = ResetTree(sequencer, ResetSignal())

        def cleared(name: str, part: Elaboratable) -> None:
            """Adds a part that forgets everything before each program."""
            m.submodules[name] = ResetTree(part, self.unit_reset)

        fetch, dispatch, tokens, watchdog = Fetch(self.config), Dispatch(self.config), Tokens(self._units), Watchdog()
        sources = [NO_UNIT, NO_UNIT, *(int(unit) for unit in self._units for _ in range(2)), None, None, NO_UNIT]
        cycles, counters, faults = CycleCounter(), CounterFile(beat_counters(self.config)[-1] + 1), Faults(sources)
        for name, part in {
            "fetch": fetch, "dispatch": dispatch, "tokens": tokens, "watchdog": watchdog,
            "cycles": cycles, "counters": counters, "faults": faults,
        }.items():  # fmt: skip
            cleared(name, part)

        receivers: list[Receiver] = []
        idle = []
        for number, unit in enumerate(self._units):
            name = unit.name.lower()
            receiver = Receiver(unit, self.config)
            queue = RamFifo(self.config, width=32, depth=self.config.queue_words)
            cleared(f"queue_{name}", queue)
            cleared(f"receiver_{name}", receiver)
            wiring.connect(m, dispatch.queues[number], queue.w_stream)
            wiring.connect(m, queue.r_stream, receiver.words)
            self._connect_unit(m, unit, receiver, tokens, counters)
            receivers.append(receiver)
            unfinished = Unfinished(self.config.queue_words // 2 + IN_FLIGHT + 4)
            cleared(f"unfinished_{name}", unfinished)
            m.d.comb += [unfinished.begun.eq(dispatch.begun[number]), unfinished.finished.eq(receiver.trace.finish)]
            idle.append(unfinished.none)

        complete, expired, still = (Signal(name=name) for name in ("complete", "expired", "still"))
        """Registers, a cycle late. They may be, because what was complete stays so, what expired stands still, and a halt waits
        for more cycles than one."""
        m.d.sync += [
            complete.eq(sequencer.running & dispatch.ended & Cat(*idle).all() & fetch.idle & self.activity.drained),
            expired.eq(watchdog.expired),
            still.eq(self.activity.drained & fetch.idle),
        ]
        drained = Signal(init=1)
        """``activity.drained`` for the watchdog, a cycle late like the progress that it sees."""
        m.d.sync += drained.eq(self.activity.drained)
        self._report(m, dispatch, receivers, faults, sequencer, registers, expired, drained)
        self._name(m, dispatch, receivers, faults, registers)
        self._connect_fetch(m, fetch, dispatch, sequencer, registers)
        self._watch(m, watchdog, dispatch, receivers, sequencer, registers, drained)

        beats = self.activity.read_beat, self.activity.write_beat
        m.d.comb += [
            self.halt.eq(faults.valid),
            self.unit_reset.eq(sequencer.clear | ResetSignal()),
            self.irq.eq(registers.irq),
            self.bases.eq(registers.bases),
            self.limits.eq(registers.limits),
            sequencer.start.eq(registers.start),
            sequencer.reset.eq(registers.reset),
            registers.wipe.eq(sequencer.wipe),
            registers.idle.eq(sequencer.idle),
            sequencer.complete.eq(complete),
            sequencer.fault.eq(faults.valid),
            sequencer.drained.eq(still),
            sequencer.expired.eq(expired),
            registers.busy.eq(sequencer.busy),
            registers.done.eq(sequencer.done),
            registers.error.eq(sequencer.error),
            registers.finished.eq(sequencer.finished),
            registers.fault.code.eq(faults.first.code),
            registers.cycles.eq(cycles.cycles),
            cycles.run.eq(sequencer.busy),
            counters.run.eq(sequencer.busy),
            *(counters.events[number].eq(beat) for number, beat in zip(beat_counters(self.config), beats, strict=True)),
            counters.ask.eq(registers.counter_ask),
            counters.index.eq(registers.counter_index),
            registers.counter_value.eq(counters.value),
        ]
        wiring.connect(m, wiring.flipped(self.bus), registers.bus)
        return m

    def _unit(self, unit: Unit) -> wiring.PureInterface:
        return getattr(self, unit.name.lower())

    def _connect_unit(
        self, m: Module, unit: Unit, receiver: Receiver, tokens: Tokens, counters: CounterFile
    ) -> None:
        port = self._unit(unit)
        wiring.connect(m, receiver.instruction, wiring.flipped(port.instruction))
        wiring.connect(m, receiver.trace, wiring.flipped(getattr(self, f"trace_{unit.name.lower()}")))
        m.d.comb += [
            port.halt.eq(self.halt),
            receiver.halt.eq(self.halt),
            receiver.done.eq(port.done),
            receiver.available.eq(tokens.available[unit]),
            receiver.full.eq(tokens.full[unit]),
            tokens.take[unit].eq(receiver.take),
            tokens.give[unit].eq(receiver.give),
        ]
        events = (port.busy, receiver.waiting, port.wait_bank, port.wait_dram, port.active)
        m.d.comb += [counters.events[counter_number(self.config, unit, counter)].eq(events[counter]) for counter in Counter]

    def _report(
        self, m: Module, dispatch: Dispatch, receivers: list[Receiver], faults: Faults, sequencer: Sequencer,
        registers: Registers, expired: Signal, drained: Signal,
    ) -> None:  # fmt: skip
        reports = iter(faults.reports)

        def report(valid: object, code: object, ticket: object = 0, unit: object = 0) -> None:
            target = next(reports)
            m.d.comb += [target.valid.eq(valid), target.p.code.eq(code), target.p.ticket.eq(ticket), target.p.unit.eq(unit)]

        report(sequencer.begin & registers.misaligned, Fault.MISALIGNED)
        report(dispatch.fault, dispatch.code)
        for unit, receiver in zip(self._units, receivers, strict=True):
            running = self._unit(unit).fault
            report(running.valid, running.fault.code, running.fault.ticket)
            report(receiver.illegal, Fault.ILLEGAL_FIELD, receiver.head_ticket)
        stuck: tuple[Value, Value] = (Const(0), Const(NO_UNIT))
        owing = stuck
        for unit, receiver in reversed([*zip(self._units, receivers, strict=True)]):
            is_stuck, stuck_ticket = _later(m, receiver.stuck), _later(m, receiver.stuck_ticket)
            stuck = Mux(is_stuck, stuck_ticket, stuck[0]), Mux(is_stuck, int(unit), stuck[1])
            if unit in (Unit.LOAD, Unit.SAVE):
                owing = Mux(receiver.at_work, receiver.oldest_ticket, owing[0]), Mux(receiver.at_work, int(unit), owing[1])
        stopped = expired & sequencer.running & ~sequencer.complete
        was_drained = _later(m, drained)
        for quiet, code, culprit in ((was_drained, Fault.WATCHDOG, stuck), (~was_drained, Fault.BUS_TIMEOUT, owing)):
            ticket, unit = Signal(TICKET_BITS, name=f"{code.name}_ticket"), Signal(range(NO_UNIT + 1), name=f"{code.name}_unit")
            m.d.sync += [ticket.eq(culprit[0]), unit.eq(culprit[1])]
            report(stopped & quiet, code, ticket, unit)
        report(registers.abort & sequencer.running & ~sequencer.complete, Fault.ABORTED)

    def _name(
        self, m: Module, dispatch: Dispatch, receivers: list[Receiver], faults: Faults, registers: Registers
    ) -> None:
        """Shows the pc of the instruction that the first fault is about. It comes two cycles after the fault, or later while
        the unit in question finishes other instructions and looks up their pcs. It stays until the next program."""
        pc = Signal(32)
        others = Signal()
        m.d.comb += [receiver.look.eq(faults.first.ticket) for receiver in receivers]
        found = [(_later(m, receiver.pc), _later(m, receiver.trace.finish)) for receiver in receivers]
        with m.If(_later(m, faults.valid)), m.Switch(faults.first.unit):
            for unit, (its_pc, finished) in zip(self._units, found, strict=True):
                with m.Case(int(unit)):
                    m.d.comb += [pc.eq(its_pc), others.eq(finished)]
            with m.Default():
                m.d.comb += pc.eq(dispatch.pc)
        with m.If(~others):
            m.d.sync += registers.fault.pc.eq(pc)

    def _connect_fetch(
        self, m: Module, fetch: Fetch, dispatch: Dispatch, sequencer: Sequencer, registers: Registers
    ) -> None:
        wiring.connect(m, fetch.bus, wiring.flipped(self.fetch))
        wiring.connect(m, fetch.words, dispatch.words)
        m.d.comb += [
            fetch.start.eq(sequencer.begin & ~registers.misaligned),
            fetch.program.eq(registers.program),
            fetch.program_words.eq(registers.program_words),
            fetch.stop.eq(self.halt | dispatch.ended),
            dispatch.start.eq(sequencer.begin),
            dispatch.program_words.eq(registers.program_words),
            dispatch.halt.eq(self.halt),
        ]

    def _watch(
        self, m: Module, watchdog: Watchdog, dispatch: Dispatch, receivers: list[Receiver],
        sequencer: Sequencer, registers: Registers, drained: Signal,
    ) -> None:  # fmt: skip
        """Feeds the watchdog. While a program runs, anything that moves is progress; while it halts, only the bus is. As long
        as DRAM owes an answer, the limit is that of the bus."""
        events = [dispatch.moved, *(self._unit(unit).active for unit in self._units)]
        for receiver in receivers:
            events += [receiver.trace.start, receiver.trace.finish]
        moves = Signal(len(events))
        progress = Signal()
        m.d.sync += [moves.eq(Cat(*events)), progress.eq(self.activity.handshake | (sequencer.running & moves.any()))]
        m.d.comb += [
            watchdog.run.eq((sequencer.running & ~self.halt) | sequencer.halting),
            watchdog.progress.eq(progress),
            watchdog.limit.eq(Mux(drained, registers.watchdog, registers.bus_watchdog)),
        ]


def _later(m: Module, value: Value) -> Signal:
    """The same value a cycle later."""
    register = Signal(len(value), name="later", reset_less=True)
    m.d.sync += register.eq(value)
    return register
