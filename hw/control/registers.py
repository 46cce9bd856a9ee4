"""The register map of ``isa.registers`` behind AXI4-Lite."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.axi.signature import AxiLite
from hw.control.counters import COUNTER_BITS
from hw.control.lite import LiteEndpoint
from isa.capabilities import built_units, capability_words
from isa.config import MachineConfig
from isa.instructions import Region, Unit
from isa.register_rules import SETUP
from isa.registers import DEFAULT_BUS_WATCHDOG, DEFAULT_WATCHDOG, ID_VALUE, NO_LIMIT, Control, Counter, Register, counter_offset
from isa.version import HARDWARE_VERSION, ISA_VERSION


def counter_number(config: MachineConfig, unit: Unit, counter: Counter) -> int:
    """The number of a unit's counter. The counters of the units that were built come first."""
    return built_units(config).index(unit) * len(Counter) + counter


def beat_counters(config: MachineConfig) -> tuple[int, int]:
    """The numbers of the counters of read and write beats, which follow those of the units."""
    first = len(built_units(config)) * len(Counter)
    return first, first + 1


class Registers(wiring.Component):
    """Stores the registers and reads them out. ``LiteEndpoint`` handles the protocol and tells the latencies; nothing else
    stalls.

    ``start`` strobes when START is written alone while ``idle``. ``abort`` is high from a write of ABORT or RESET while
    ``busy`` until the program is stopped. ``reset`` is high from a write of RESET until ``wipe``, which puts all registers
    back. ``finished`` sets the pending bit, and ``irq`` is high while that bit is set and enabled.

    Registers that set up a program keep their values while the machine is not ``idle``, so that nothing changes under a
    program. A write to them is ignored then, and so is START; the status says so until the next start. ``misaligned`` says that
    the program or a base was no multiple of the AXI beat a cycle ago. This is soon enough, because a program begins later than
    that.

    Writes to read-only registers do nothing. Address bits that the machine's AXI does not have read as zero, and so do the
    counters of units that are not built.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        address = unsigned(config.axi_addr_bits)
        super().__init__({
            "bus": Out(AxiLite()),
            "irq": Out(1),
            "start": Out(1),
            "abort": Out(1),
            "reset": Out(1),
            "wipe": In(1),
            "idle": In(1, init=1),
            "busy": In(1),
            "done": In(1),
            "error": In(1),
            "finished": In(1),
            "fault": In(data.StructLayout({"code": 4, "pc": 32})),
            "program": Out(address),
            "program_words": Out(32),
            "watchdog": Out(32, init=DEFAULT_WATCHDOG),
            "bus_watchdog": Out(32, init=DEFAULT_BUS_WATCHDOG),
            "bases": Out(data.ArrayLayout(address, len(Region))),
            "limits": Out(data.ArrayLayout(unsigned(32), len(Region)), init=[NO_LIMIT] * len(Region)),
            "misaligned": Out(1),
            "cycles": In(64),
            "counter_ask": Out(1),
            "counter_index": Out(range(beat_counters(config)[-1] + 1)),
            "counter_value": In(COUNTER_BITS),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.endpoint = endpoint = LiteEndpoint()
        wiring.connect(m, wiring.flipped(self.bus), endpoint.bus)

        irq_enable = Signal()
        irq_pending = Signal()
        refused = Signal()
        cycles_high = Signal(32)
        m.d.comb += self.irq.eq(irq_enable & irq_pending)

        held: dict[int, Any] = {
            Register.PROGRAM_LO: self.program[:32],
            Register.PROGRAM_HI: self.program[32:],
            Register.PROGRAM_WORDS: self.program_words,
            Register.WATCHDOG: self.watchdog,
            Register.BUS_WATCHDOG: self.bus_watchdog,
        }
        for region in Region:
            held[Register[f"BASE_{region.name}_LO"]] = self.bases[region][:32]
            held[Register[f"BASE_{region.name}_HI"]] = self.bases[region][32:]
            held[Register[f"LIMIT_{region.name}"]] = self.limits[region]
        setup: dict[int, Any] = {register: held[register] for register in SETUP}
        readable: dict[int, Any] = {
            Register.ID: Const(ID_VALUE, 32),
            Register.VERSION: Const(ISA_VERSION << 16 | HARDWARE_VERSION, 32),
            Register.CONFIG: Const(self.config.hash, 32),
            Register.CONTROL: Const(0, 32),
            Register.STATUS: Cat(self.busy, self.done, self.error, self.idle, refused),
            Register.IRQ_ENABLE: irq_enable,
            Register.IRQ_PENDING: irq_pending,
            Register.ERROR_CODE: self.fault.code,
            Register.ERROR_PC: self.fault.pc,
            Register.CYCLES_LO: self.cycles[:32],
            Register.CYCLES_HI: cycles_high,
            **setup,
            **{offset: Const(word, 32) for offset, word in capability_words(self.config).items()},
        }
        counted: dict[int, int] = {}
        for unit in Unit:
            offsets = {counter_offset(unit, counter): counter for counter in Counter}
            if unit in built_units(self.config):
                counted |= {offset: counter_number(self.config, unit, counter) for offset, counter in offsets.items()}
            else:
                readable |= dict.fromkeys(offsets, Const(0, 32))
        counted |= zip((Register.READ_BEATS, Register.WRITE_BEATS), beat_counters(self.config), strict=True)
        self._answer_reads(m, endpoint, readable, counted)
        readable |= counted
        with m.If(endpoint.read & (endpoint.read_addr == Register.CYCLES_LO)):
            m.d.sync += cycles_high.eq(self.cycles[32:])
        self._store(m, endpoint, {Register.IRQ_ENABLE: irq_enable}, Const(1))
        self._store(m, endpoint, setup, self.idle)
        with m.If(endpoint.write_addr.matches(*sorted(readable))):
            m.d.comb += endpoint.write_mapped.eq(1)

        lanes = (1 << (self.config.axi_bytes - 1).bit_length()) - 1
        addresses = [self.program, *(self.bases[region] for region in Region)]
        m.d.sync += self.misaligned.eq(Cat(*((address & lanes).any() for address in addresses)).any())

        control = Signal(3)
        byte0 = endpoint.write & endpoint.write_strobe[0]
        m.d.comb += [
            control.eq(Mux(byte0 & (endpoint.write_addr == Register.CONTROL), endpoint.write_data, 0)),
        ]
        # The start comes a cycle after its write. No other write comes so soon.
        m.d.sync += self.start.eq((control == Control.START.value) & self.idle)
        for request, bits in ((self.abort, Control.ABORT | Control.RESET), (self.reset, Control.RESET)):
            with m.If((control & bits.value).any()):
                m.d.sync += request.eq(1)
        with m.If(~self.busy):
            m.d.sync += self.abort.eq(0)
        written = endpoint.write & endpoint.write_addr.matches(*sorted(setup))
        with m.If(self.start):
            m.d.sync += refused.eq(0)
        with m.Elif(control[0] | (written & ~self.idle)):
            m.d.sync += refused.eq(1)
        with m.If(self.finished):
            m.d.sync += irq_pending.eq(1)
        with m.Elif(byte0 & (endpoint.write_addr == Register.IRQ_PENDING) & endpoint.write_data[0]):
            m.d.sync += irq_pending.eq(0)
        arrays = (self.bases.as_value(), self.limits.as_value())
        kept = (self.program, self.program_words, self.watchdog, self.bus_watchdog, *arrays)
        with m.If(self.wipe):
            m.d.sync += [
                register.eq(register.init if isinstance(register, Signal) else 0)
                for register in (*kept, irq_enable, irq_pending, refused, self.reset)
            ]
        return m

    def _answer_reads(
        self, m: Module, endpoint: LiteEndpoint, readable: dict[int, Any], counters: dict[int, int]
    ) -> None:
        """Answers reads. The bits of the address choose the register. Where there is none the word may be any, because the
        address is not mapped. The number of a counter is known when ``look`` strobes, and its value with ``read``."""
        counted = Signal()
        m.d.sync += counted.eq(0)
        with m.Switch(endpoint.read_addr):
            for offset, number in counters.items():
                with m.Case(offset):
                    m.d.sync += [self.counter_index.eq(number), counted.eq(1)]
        word_bits = max(readable).bit_length() - 2
        words = {offset >> 2: value for offset, value in readable.items()}
        m.d.comb += [
            self.counter_ask.eq(endpoint.look & counted),
            endpoint.read_data.eq(Mux(counted, self.counter_value, _chosen(words, endpoint.read_addr[2:], word_bits))),
            endpoint.read_mapped.eq(endpoint.read_addr.matches(*sorted({*readable, *counters}))),
        ]

    def _store(self, m: Module, endpoint: LiteEndpoint, stored: dict[int, Any], allowed: Any) -> None:
        with m.Switch(endpoint.write_addr):
            for offset, target in stored.items():
                with m.Case(offset):
                    for byte in range(-(-len(target) // 8)):
                        lanes = slice(8 * byte, min(8 * byte + 8, len(target)))
                        with m.If(endpoint.write & endpoint.write_strobe[byte] & allowed):
                            m.d.sync += target[lanes].eq(endpoint.write_data[lanes])


def _chosen(words: dict[int, Any], address: Value, bits: int) -> Value:
    """The word of that number, as a tree of multiplexers. Where there is none it is another word."""
    if len(words) == 1:
        (word,) = words.values()
        return Value.cast(word)
    top = 1 << (bits - 1)
    low = {number: word for number, word in words.items() if not number & top}
    high = {number: word for number, word in words.items() if number & top}
    halves = [_chosen(half, address, bits - 1) for half in (low, high) if half]
    return Mux(address[bits - 1], halves[1], halves[0]) if len(halves) == 2 else halves[0]
