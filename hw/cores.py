"""Several machines of one configuration as one product."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amaranth import ClockSignal, Instance, Module, ResetSignal, Signal
from amaranth.hdl import Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.doubled import FAST_CLOCK
from hw.axi.signature import Axi4, AxiLite
from hw.control.units import TraceSignature
from hw.control.windows import RegisterWindows, address_bits
from hw.core import axi_names
from isa.capabilities import built_units
from isa.config import MachineConfig


class Cores(wiring.Component):
    """``count`` machines that share the bus of registers, the interrupt, clocks and reset, and nothing else.

    ::

        axi_lite -- RegisterWindows --+-- machine 0 -- axi0 (axi0, axi1)
                                      +-- machine 1 -- axi1 (axi2, axi3)      in brackets: with two ports each
        irq ------- any of ---------------- ...

    Machine ``n`` has its registers from ``0x1000 * n`` on, and its ports are ``n * axi_ports`` and the following ones. ``irq``
    is high while the interrupt of any machine is; IRQ_PENDING says which one. Each machine is an instance of the module
    ``machine``, which is emitted once, as for a single machine. An access to registers takes no more cycles than with a single
    machine.
    """

    def __init__(self, config: MachineConfig, count: int, machine: str) -> None:
        self.config, self.count, self.machine = config, count, machine
        super().__init__({
            **{f"axi{port}": Out(Axi4(config, config.axi_ports)) for port in range(count * config.axi_ports)},
            "axi_lite": Out(AxiLite(address_bits(count))),
            "irq": Out(1),
            **({FAST_CLOCK: In(1)} if config.array_clock > 1 else {}),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.windows = windows = RegisterWindows(self.count)
        wiring.connect(m, wiring.flipped(self.axi_lite), windows.bus)
        interrupts = Signal(self.count)
        m.d.comb += self.irq.eq(interrupts.any())
        ports = axi_names(self.config)
        for number in range(self.count):
            wires = dict(_wires("s_axil", getattr(windows, f"core{number}"), registers=True))
            for port, name in enumerate(ports):
                own = getattr(self, f"axi{number * len(ports) + port}")
                wires |= _wires(f"m_{name}", own, registers=False)
            if self.config.array_clock > 1:
                wires[f"i_{FAST_CLOCK}"] = getattr(self, FAST_CLOCK)
            wires |= {"i_clk": ClockSignal(), "i_rst": ResetSignal(), "o_irq": interrupts[number]}
            for unit in built_units(self.config):
                wires |= _unread(f"trace_{unit.name.lower()}", number)
            m.submodules[f"core{number}"] = Instance(self.machine, **wires)
        return m


def _unread(trace: str, number: int) -> Iterator[tuple[str, Value]]:
    """The ports of a unit's trace, wired to signals that nothing reads."""
    signals = TraceSignature().create(path=(f"core{number}_{trace}",))
    for path, _, value in signals.signature.flatten(signals):
        yield "_".join(("o", trace, *map(str, path))), value


def _wires(prefix: str, bus: Any, *, registers: bool) -> Iterator[tuple[str, Value]]:
    """The ports of a machine's bus under the names that an instance gives them. ``registers``: the bus is seen from the side
    that drives the machine."""
    for path, member, value in bus.signature.flatten(bus):
        out = (member.flow is Out) != registers
        yield f"{'o' if out else 'i'}_{prefix}_{path[0]}", value
