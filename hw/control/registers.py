"""The register map of ``isa.registers`` behind AXI4-Lite."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.axi.signature import AxiLite
from hw.control.counters import COUNTER_BITS
from hw.control.lite import LiteEndpoint
from hw.interfaces import FAULT_LAYOUT
from isa.config import MachineConfig
from isa.instructions import Region, Unit
from isa.registers import DEFAULT_WATCHDOG, ID_VALUE, Counter, Register, counter_offset

UNIT_COUNTERS_LAYOUT = data.ArrayLayout(data.ArrayLayout(unsigned(COUNTER_BITS), len(Counter)), len(Unit))


class Registers(wiring.Component):
    """Storage and read-out of the registers; ``LiteEndpoint`` speaks the protocol and tells latencies.

    ``start`` strobes when 1 is written to CONTROL while not ``busy``. ``finished`` sets the pending bit; ``irq`` is
    high while it is set and enabled. Writes to read-only registers do nothing. Registers that set up a program act at
    once: they are to be left alone while busy. Address bits that the machine's AXI does not have read as zero, and so
    do the counters of units that are not built.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        address = unsigned(config.axi_addr_bits)
        super().__init__({
            "bus": Out(AxiLite()),
            "irq": Out(1),
            "start": Out(1),
            "busy": In(1),
            "done": In(1),
            "error": In(1),
            "finished": In(1),
            "fault": In(FAULT_LAYOUT),
            "program": Out(address),
            "program_words": Out(32),
            "watchdog": Out(32, init=DEFAULT_WATCHDOG),
            "bases": Out(data.ArrayLayout(address, len(Region))),
            "cycles": In(64),
            "read_beats": In(COUNTER_BITS),
            "write_beats": In(COUNTER_BITS),
            "counters": In(UNIT_COUNTERS_LAYOUT),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.endpoint = endpoint = LiteEndpoint()
        wiring.connect(m, wiring.flipped(self.bus), endpoint.bus)

        irq_enable = Signal()
        irq_pending = Signal()
        m.d.comb += self.irq.eq(irq_enable & irq_pending)

        stored: dict[int, Any] = {
            Register.IRQ_ENABLE: irq_enable,
            Register.PROGRAM_LO: self.program[:32],
            Register.PROGRAM_HI: self.program[32:],
            Register.PROGRAM_WORDS: self.program_words,
            Register.WATCHDOG: self.watchdog,
        }
        for region in Region:
            stored[Register[f"BASE_{region.name}_LO"]] = self.bases[region][:32]
            stored[Register[f"BASE_{region.name}_HI"]] = self.bases[region][32:]
        readable: dict[int, Any] = {
            Register.ID: Const(ID_VALUE, 32),
            Register.CONFIG: Const(self.config.hash, 32),
            Register.CONTROL: Const(0, 32),
            Register.STATUS: Cat(self.busy, self.done, self.error),
            Register.IRQ_PENDING: irq_pending,
            Register.ERROR_CODE: self.fault.code,
            Register.ERROR_PC: self.fault.pc,
            Register.CYCLES_LO: self.cycles[:32],
            Register.CYCLES_HI: self.cycles[32:],
            Register.READ_BEATS: self.read_beats,
            Register.WRITE_BEATS: self.write_beats,
            **stored,
        }
        for unit in Unit:
            for counter in Counter:
                readable[counter_offset(unit, counter)] = self.counters[unit][counter]

        self._answer_reads(m, endpoint, readable)
        self._store(m, endpoint, stored, set(readable))

        byte0 = endpoint.write & endpoint.write_strobe[0]
        control = byte0 & (endpoint.write_addr == Register.CONTROL) & endpoint.write_data[0]
        m.d.comb += self.start.eq(control & ~self.busy)
        with m.If(self.finished):
            m.d.sync += irq_pending.eq(1)
        with m.Elif(byte0 & (endpoint.write_addr == Register.IRQ_PENDING) & endpoint.write_data[0]):
            m.d.sync += irq_pending.eq(0)
        return m

    def _answer_reads(self, m: Module, endpoint: LiteEndpoint, readable: dict[int, Any]) -> None:
        with m.Switch(endpoint.read_addr):
            for offset, value in readable.items():
                with m.Case(offset):
                    m.d.comb += [endpoint.read_data.eq(value), endpoint.read_mapped.eq(1)]

    def _store(self, m: Module, endpoint: LiteEndpoint, stored: dict[int, Any], mapped: set[int]) -> None:
        with m.If(endpoint.write_addr.matches(*sorted(mapped))):
            m.d.comb += endpoint.write_mapped.eq(1)
        with m.Switch(endpoint.write_addr):
            for offset, target in stored.items():
                with m.Case(offset):
                    for byte in range(-(-len(target) // 8)):
                        lanes = slice(8 * byte, min(8 * byte + 8, len(target)))
                        with m.If(endpoint.write & endpoint.write_strobe[byte]):
                            m.d.sync += target[lanes].eq(endpoint.write_data[lanes])
