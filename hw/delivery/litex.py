"""The machine as a module for LiteX: a Python file around the Verilog, with the ports of the emitted machine."""

from __future__ import annotations

import re
from typing import NamedTuple

from hw.axi.signature import ID_BITS, LITE_DATA_BITS
from hw.delivery.modules import Port, VerilogModule
from hw.delivery.style import ACTIVE_LOW, Style
from hw.delivery.top import memory_buses, register_bytes
from isa.config import MachineConfig

_BUS = re.compile(r"(?:(?P<registers>s_axil)|m_(?P<memory>axi\d*))_(?P<channel>aw|ar|w|b|r)(?P<signal>\w+)")
_CLOCK = "signal:clock:"
LITEX_FILE = "tilewright_litex.py"


class _Connection(NamedTuple):
    way: str
    """The direction as migen writes it, ``i`` or ``o``."""
    port: str
    to: str


def litex_module(top: VerilogModule, config: MachineConfig, style: Style, sources: list[str]) -> str:
    """The text of the module for the machine with this outermost module."""
    clocks = [port.name for port in top.ports if _CLOCK in port.attributes]
    connections = [found for port in top.ports if (found := _connection(port, clocks))]
    width = max(len(connection.port) for connection in connections) + 2
    lines = [f"            {way}_{port:{width - 2}} = {to}," for way, port, to in connections]
    domains = [f'{_argument(clock)}="sys2x"' for clock in clocks[1:]]
    return _TEXT.format(
        name=config.name, hash=f"{config.hash:#010x}", top=top.name, data_bits=config.axi_port_bits, id_bits=ID_BITS,
        address_bits=config.axi_addr_bits, lite_data_bits=LITE_DATA_BITS, register_bytes=register_bytes(top),
        arguments="".join(f", {domain}" for domain in ["platform=None", *domains]), connections="\n".join(lines),
        memory=_memory(top), domains=_domains(clocks[1:]), sources=", ".join(f'"{name}"' for name in sources),
    )  # fmt: skip


def _memory(top: VerilogModule) -> str:
    """The names of its buses to memory, as the text of a tuple."""
    return repr(tuple(bus.removeprefix("m_") for bus in memory_buses(top))).replace("'", '"')


def _argument(clock: str) -> str:
    return f"{clock}_domain"


def _domains(clocks: list[str]) -> str:
    """The sentences about further clocks for the module's users."""
    return "".join(
        f"    ``{_argument(clock)}`` names the domain of port ``{clock}``, whose edges belong to those of ``sys``.\n"
        for clock in clocks
    )


def _connection(port: Port, clocks: list[str]) -> _Connection | None:
    """The connection of a port, or None if it stays open."""
    way = port.way[0]
    name = port.name
    if name in clocks:
        domain = '"sys"' if name == clocks[0] else _argument(name)
        return _Connection(way, name, f"ClockSignal({domain})")
    if "signal:reset:" in port.attributes:
        return _Connection(way, name, f"{'~' * (name == ACTIVE_LOW)}ResetSignal()")
    if "signal:interrupt:" in port.attributes:
        return _Connection(way, name, "self.ev.irq")
    if (found := _BUS.fullmatch(name)) is None:
        return None
    high = port.range.strip("[]").partition(":")[0]
    part = f"[:{int(high) + 1}]" if found["registers"] and found["signal"] == "addr" else ""
    bus = "axi_lite" if found["registers"] else found["memory"]
    return _Connection(way, name, f"self.{bus}.{found['channel']}.{found['signal']}{part}")


_TEXT = '''"""Tilewright's machine {name!r} as a module for LiteX. Made by `tilewright package --for litex`.

    from tilewright_litex import add_tilewright

    add_tilewright(soc)     # registers on the bus, interrupt, memory through a port of LiteDRAM
"""

from pathlib import Path

from litex.gen import LiteXModule
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import axi
from migen import ClockSignal, Instance, ResetSignal, Signal


class TilewrightInterrupt:
    """A level, high while an enabled interrupt is pending: as LiteX asks for the interrupts of a module."""

    def __init__(self):
        self.irq = Signal()


class Tilewright(LiteXModule):
    """The machine: the buses ``memory``, ``axi_lite`` to its registers, ``ev.irq`` its interrupt.

    With a platform given its Verilog becomes one of the platform's sources.
{domains}    """

    config_hash = {hash}
    register_bytes = {register_bytes}
    memory = {memory}
    sources = ({sources},)

    def __init__(self{arguments}):
        for bus in self.memory:
            made = axi.AXIInterface(data_width={data_bits}, address_width={address_bits}, id_width={id_bits}, bursting=True)
            setattr(self, bus, made)
        self.axi_lite = axi.AXILiteInterface(data_width={lite_data_bits}, address_width=32)
        self.ev = TilewrightInterrupt()
        self.specials += Instance("{top}",
{connections}
        )
        if platform is not None:
            for source in self.sources:
                platform.add_source(str(Path(__file__).parent / source))


def add_tilewright(soc, name="tilewright", origin=None, sdram="sdram", **options):
    """Put a machine into ``soc``: its registers at ``origin`` (None: where there is place), its interrupt, its memory ports.

    ``sdram`` names the controller that they lead to; None: connect ``memory`` of the returned module yourself. The machine's
    addresses are the processor's.
    """
    machine = Tilewright(platform=soc.platform, **options)
    setattr(soc, name, machine)
    soc.bus.add_slave(name, machine.axi_lite, SoCRegion(origin=origin, size=machine.register_bytes, cached=False))
    if soc.irq.enabled:
        soc.irq.add(name, use_loc_if_exists=True)
    if sdram is not None:
        from litedram.frontend.axi import LiteDRAMAXI2Native

        for bus in machine.memory:
            own = getattr(machine, bus)
            port = getattr(soc, sdram).crossbar.get_port(data_width=own.data_width)
            bridge = LiteDRAMAXI2Native(own, port, base_address=soc.bus.regions["main_ram"].origin)
            soc.add_module(name=name + "_memory" + bus.removeprefix("axi"), module=bridge)
    return machine
'''
