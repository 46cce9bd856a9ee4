"""The machine as one Verilog file: the same bytes for the same configuration, every time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from amaranth.back import verilog as backend
from amaranth.hdl import PortDirection, Value, ValueCastable
from amaranth.lib import wiring

from hw.core import Core
from isa.config import MachineConfig

MODULE = "tilewright_core"
PREFIXES = {"axi": "m_axi_", "axi_lite": "s_axil_"}
"""Port names of the bus members: ``m_axi_awaddr`` and so on, as block designs expect them."""


def verilog(config: MachineConfig) -> str:
    """The Verilog of the machine; its ports are ``clk``, ``rst`` (synchronous, active high), ``irq``, the AXI4 manager
    ``m_axi_*``, the AXI4-Lite subordinate ``s_axil_*`` and, for benches, ``trace_<unit>_*``."""
    core = Core(config)
    os.environ.setdefault("AMARANTH_USE_YOSYS", "builtin")
    text = backend.convert(core, name=MODULE, ports=dict(_ports(core)), emit_src=False, strip_internal_attrs=True)
    return _header(config) + _share_modules(_loop_over_memories(_rename_kickstart(text)))


def _ports(core: Core) -> Iterator[tuple[str, tuple[Value, PortDirection]]]:
    for path, member, value in core.signature.flatten(core):
        direction = PortDirection.Input if member.flow == wiring.In else PortDirection.Output
        name = "_".join(str(part) for part in path)
        for bus, prefix in PREFIXES.items():
            if path[0] == bus:
                name = prefix + "_".join(str(part) for part in path[1:])
        yield name, (value.as_value() if isinstance(value, ValueCastable) else value, direction)


def _header(config: MachineConfig) -> str:
    return (
        f"// Tilewright machine {config.name!r}: {config.ic_p} x {config.oc_p} x {config.px_p} array, "
        f"configuration hash {config.hash:08x}.\n// Generated: change the configuration, not this file.\n\n"
    )


def _rename_kickstart(text: str) -> str:
    """The register that wakes ``always @*`` at time 0 is named after a line of the back end's source."""
    return re.sub(r"\\\$auto\$verilog_backend\.cc:\d+:dump_module\$\d+ ", "kickstart", text)


_CLEARED_WORDS = re.compile(r"(?P<first>    (?P<memory>\S+ ?)\[0\] = (?P<zero>\d+'h0+);\n)(?:    (?P=memory)\[\d+\] = (?P=zero);\n)+")


def _loop_over_memories(text: str) -> str:
    """One loop in place of one line for every cleared word of a memory."""

    def loop(match: re.Match[str]) -> str:
        words = match.group(0).count("\n")
        return f"    for (i = 0; i < {words}; i = i + 1) {match['memory']}[i] = {match['zero']};\n"

    looped = _CLEARED_WORDS.sub(loop, text)
    return looped.replace("  initial begin\n    for (i ", "  integer i;\n  initial begin\n    for (i ")


_MODULE_TEXT = re.compile(r"^module (?P<name>\\\S+ |\w+)(?P<body>.*?^endmodule\n)", re.MULTILINE | re.DOTALL)
_INSTANCE = re.compile(rf"^  \\(?P<name>{MODULE}\.\S+)  ", re.MULTILINE)


def _share_modules(text: str) -> str:
    """Modules that differ in name alone become one, under the plain name of the first of them.

    A module's name begins with the name of the module that uses it, and they are sorted by name: going backwards,
    the group of all that a module uses is known when the module is compared.
    """
    group_of: dict[str, int] = {}
    bodies: dict[str, int] = {}
    names: dict[int, str] = {}
    for match in reversed(list(_MODULE_TEXT.finditer(text))):
        name = match["name"].strip().removeprefix("\\")
        body = _INSTANCE.sub(lambda used: f"  <{group_of[used['name']]}> ", match["body"])
        group = bodies.setdefault(body, len(bodies))
        group_of[name] = group
        names[group] = name.replace(".", "_")
    named = (f"module {names[group]}{body}" for body, group in reversed(bodies.items()))
    return re.sub(r"^  <(\d+)> ", lambda used: f"  {names[int(used[1])]} ", "\n".join(named), flags=re.MULTILINE)
