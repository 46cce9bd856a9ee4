"""Arranges the outermost module for an integrator: the order and attributes of its ports, its reset, and a template for an
instance."""

from __future__ import annotations

import re
from dataclasses import replace

from hw.arithmetic.doubled import FAST_CLOCK
from hw.axi.signature import ID_BITS
from hw.axi.write_engine import OPEN_BURSTS
from hw.delivery.modules import Port, VerilogModule
from hw.delivery.style import ACTIVE_HIGH, ACTIVE_LOW
from isa.config import MachineConfig

_FIRST = ("clk", FAST_CLOCK, ACTIVE_HIGH, "irq")
_CHANNELS = ("aw", "w", "b", "ar", "r")
_BUS = re.compile(r"(?P<bus>(?P<kind>m_axi|s_axil)(?P<number>\d*))_(?P<signal>(?P<channel>aw|ar|w|b|r)\w+)")
REGISTERS = "s_axil"


def outermost(module: VerilogModule, config: MachineConfig, reset: str) -> VerilogModule:
    """The module with its ports in order, channel by channel. The attributes of each tell block designs which bus it belongs
    to."""
    ports = sorted(module.ports, key=_place)
    parameters = _parameters(config, reset, memory_buses(module))
    finished = []
    for port in ports:
        interface, signal = _interface(port.name, reset)
        attributes = [f'X_INTERFACE_INFO = "xilinx.com:{signal}"'] if signal else []
        if (parameter := parameters.pop(interface, None)) is not None:
            attributes.append(f'X_INTERFACE_PARAMETER = "{parameter}"')
        line = f"  (* {', '.join(attributes)} *)\n" if attributes else ""
        name = reset if port.name == ACTIVE_HIGH else port.name
        finished.append(replace(port, name=name, attributes=port.attributes + line))
    inverter = f"  wire {ACTIVE_HIGH} = ~{ACTIVE_LOW};\n" if reset == ACTIVE_LOW else ""
    return replace(module, ports=tuple(finished), body=inverter + module.body)


def memory_buses(module: VerilogModule) -> tuple[str, ...]:
    """The names of the module's AXI managers, those of the first machine first."""
    buses = {found["bus"]: int(found["number"] or 0) for port in module.ports if (found := _memory(port.name))}
    return tuple(sorted(buses, key=buses.__getitem__))


def machines(module: VerilogModule, config: MachineConfig) -> int:
    """The number of machines in the module."""
    return len(memory_buses(module)) // config.axi_ports


def register_bytes(module: VerilogModule) -> int:
    """The bytes of the address space that the module's AXI4-Lite port takes."""
    (address,) = (port for port in module.ports if port.name == f"{REGISTERS}_awaddr")
    return 2 << int(address.range.strip("[]").partition(":")[0])


def template(module: VerilogModule) -> str:
    """The text of an instance of the module. Every port is connected to a wire of its name, but traces are left open."""
    width = max(len(port.name) for port in module.ports)
    lines = []
    for number, port in enumerate(module.ports):
        wire = "" if port.name.startswith("trace_") else port.name
        comma = "," if number + 1 < len(module.ports) else ""
        connection = f"  .{port.name:{width}} ({wire}){comma}"
        lines.append(f"{connection:{2 * width + 8}} // {port.way} {port.range}".rstrip())
    return "\n".join((f"{module.name} {module.name}_i (", *lines, ");", ""))


def _place(port: Port) -> tuple[int, ...]:
    """The place of a port in the order: registers, then memory, bus by bus, then traces. The ports of a channel keep their
    order, with VALID and READY behind them."""
    handshake = next((place for place, end in enumerate(("valid", "ready"), 1) if port.name.endswith(end)), 0)
    if port.name in _FIRST:
        return 0, _FIRST.index(port.name), 0, 0
    if found := _BUS.fullmatch(port.name):
        bus = 0 if found["kind"] == REGISTERS else 1 + int(found["number"] or 0)
        return 1, bus, _CHANNELS.index(found["channel"]), handshake
    return 2, 0, 0, handshake


def _memory(port: str) -> re.Match[str] | None:
    found = _BUS.fullmatch(port)
    return found if found and found["kind"] != REGISTERS else None


def _interface(port: str, reset: str) -> tuple[str, str]:
    """The interface that a port belongs to, and its part in it, as block designs write it."""
    if bus := _BUS.fullmatch(port):
        return bus["bus"], f"interface:aximm:1.0 {bus['bus']} {bus['signal'].upper()}"
    signals = {
        **{name: (name, f"signal:clock:1.0 {name} CLK") for name in ("clk", FAST_CLOCK)},
        ACTIVE_HIGH: (ACTIVE_HIGH, f"signal:reset:1.0 {reset} RST"),
        "irq": ("irq", "signal:interrupt:1.0 irq INTERRUPT"),
    }
    return signals.get(port, ("", ""))


def _parameters(config: MachineConfig, reset: str, memory: tuple[str, ...]) -> dict[str, str]:
    return {
        "clk": f"ASSOCIATED_BUSIF {':'.join(memory)}:s_axil, ASSOCIATED_RESET {reset}",
        ACTIVE_HIGH: f"POLARITY ACTIVE_{'LOW' if reset == ACTIVE_LOW else 'HIGH'}",
        "irq": "SENSITIVITY LEVEL_HIGH",
        "s_axil": "PROTOCOL AXI4LITE",
        **dict.fromkeys(memory, (
            f"PROTOCOL AXI4, DATA_WIDTH {config.axi_port_bits}, ADDR_WIDTH {config.axi_addr_bits}, ID_WIDTH {ID_BITS}, "
            f"MAX_BURST_LENGTH {config.burst_beats * config.axi_ports}, NUM_READ_OUTSTANDING {config.axi_reads}, "
            f"NUM_WRITE_OUTSTANDING {OPEN_BURSTS}, SUPPORTS_NARROW_BURST 0"
        )),
    }  # fmt: skip
