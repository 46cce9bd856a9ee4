"""The outermost module as an integrator meets it: order and attributes of its ports, its reset, how to instantiate it."""

from __future__ import annotations

import re
from dataclasses import replace

from hw.arithmetic.doubled import FAST_CLOCK
from hw.axi.signature import ID_BITS
from hw.axi.write_engine import OPEN_BURSTS
from hw.delivery.modules import Port, VerilogModule
from hw.delivery.style import ACTIVE_HIGH, ACTIVE_LOW
from isa.config import MachineConfig

MEMORY_BUS = "m_axi"
MEMORY_PORTS = ("m_axi0", "m_axi1")
_ORDER = ("clk", FAST_CLOCK, ACTIVE_HIGH, "irq", "s_axil_aw", "s_axil_w", "s_axil_b", "s_axil_ar", "s_axil_r",
          *(f"{bus}_{channel}" for bus in (MEMORY_BUS, *MEMORY_PORTS) for channel in ("aw", "w", "b", "ar", "r")),
          "trace_")  # fmt: skip
_BUS = re.compile(r"(?P<bus>m_axi\d?|s_axil)_(?P<signal>\w+)")


def outermost(module: VerilogModule, config: MachineConfig, reset: str) -> VerilogModule:
    """The module with its ports channel by channel, each telling block designs which bus it belongs to."""
    ports = sorted(module.ports, key=_place)
    parameters = _parameters(config, reset)
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


def memory_buses(config: MachineConfig) -> tuple[str, ...]:
    """The names of its AXI managers."""
    return (MEMORY_BUS,) if config.axi_ports == 1 else MEMORY_PORTS[: config.axi_ports]


def template(module: VerilogModule) -> str:
    """An instance of the module, every port connected to a wire of its name; traces are left open."""
    width = max(len(port.name) for port in module.ports)
    lines = []
    for number, port in enumerate(module.ports):
        wire = "" if port.name.startswith("trace_") else port.name
        comma = "," if number + 1 < len(module.ports) else ""
        connection = f"  .{port.name:{width}} ({wire}){comma}"
        lines.append(f"{connection:{2 * width + 8}} // {port.way} {port.range}".rstrip())
    return "\n".join((f"{module.name} {module.name}_i (", *lines, ");", ""))


def _place(port: Port) -> tuple[int, int]:
    """Where a port comes; those of a channel keep their order, with VALID and READY behind them."""
    starts = [place for place, start in enumerate(_ORDER) if port.name.startswith(start)]
    handshake = next((place for place, end in enumerate(("valid", "ready"), 1) if port.name.endswith(end)), 0)
    return max(starts, key=lambda place: len(_ORDER[place])), handshake


def _interface(port: str, reset: str) -> tuple[str, str]:
    """The interface that a port belongs to, and what it is there, as block designs write it."""
    if bus := _BUS.fullmatch(port):
        return bus["bus"], f"interface:aximm:1.0 {bus['bus']} {bus['signal'].upper()}"
    signals = {
        **{name: (name, f"signal:clock:1.0 {name} CLK") for name in ("clk", FAST_CLOCK)},
        ACTIVE_HIGH: (ACTIVE_HIGH, f"signal:reset:1.0 {reset} RST"),
        "irq": ("irq", "signal:interrupt:1.0 irq INTERRUPT"),
    }
    return signals.get(port, ("", ""))


def _parameters(config: MachineConfig, reset: str) -> dict[str, str]:
    return {
        "clk": f"ASSOCIATED_BUSIF {':'.join(memory_buses(config))}:s_axil, ASSOCIATED_RESET {reset}",
        ACTIVE_HIGH: f"POLARITY ACTIVE_{'LOW' if reset == ACTIVE_LOW else 'HIGH'}",
        "irq": "SENSITIVITY LEVEL_HIGH",
        "s_axil": "PROTOCOL AXI4LITE",
        **dict.fromkeys(memory_buses(config), (
            f"PROTOCOL AXI4, DATA_WIDTH {config.axi_port_bits}, ADDR_WIDTH {config.axi_addr_bits}, ID_WIDTH {ID_BITS}, "
            f"MAX_BURST_LENGTH {config.burst_beats * config.axi_ports}, NUM_READ_OUTSTANDING {config.axi_reads}, "
            f"NUM_WRITE_OUTSTANDING {OPEN_BURSTS}, SUPPORTS_NARROW_BURST 0"
        )),
    }  # fmt: skip
