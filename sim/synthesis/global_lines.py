"""Puts resets on an ECP5's global lines, which nextpnr gives to clocks alone."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

RESETS = 1000
"""The least flip-flops that a net must reset to have a line."""
MOST_LINES = 4
"""The most lines for resets, of a chip's 16. The others are left to clocks."""


def use_global_lines(path: Path) -> list[int]:
    """Changes the netlist of a flattened design that yosys wrote to ``path``; returns how many flip-flops each line resets.

    The widest resets go by a ``DCCA`` each, which nextpnr places at the root of a global line. Logic that reads such a net
    stays where it is. Between slices, the resets of a machine take wires that the router then lacks for everything else.
    """
    netlist = json.loads(path.read_text())
    (top,) = (module for module in netlist["modules"].values() if int(module["attributes"].get("top", "0"), 2))
    registers = [cell for cell in top["cells"].values() if cell["type"] == "TRELLIS_FF" and "LSR" in cell["connections"]]
    resets = Counter(_reset(cell) for cell in registers if isinstance(_reset(cell), int))
    chosen = [(net, count) for net, count in resets.most_common(MOST_LINES) if count >= RESETS]
    unused = 1 + max(bit for net in top["netnames"].values() for bit in net["bits"] if isinstance(bit, int))
    lines = {net: unused + number for number, (net, _) in enumerate(chosen)}
    for cell in registers:
        cell["connections"]["LSR"] = [lines.get(_reset(cell), _reset(cell))]
    for net, line in lines.items():
        top["cells"][f"reset_line_{line}"] = {
            "hide_name": 0,
            "type": "DCCA",
            "parameters": {},
            "attributes": {},
            "port_directions": {"CLKI": "input", "CE": "input", "CLKO": "output"},
            "connections": {"CLKI": [net], "CE": ["1"], "CLKO": [line]},
        }
        top["netnames"][f"reset_line_{line}"] = {"hide_name": 0, "bits": [line], "attributes": {}}
    path.write_text(json.dumps(netlist))
    return [count for _, count in chosen]


def _reset(cell: dict[str, Any]) -> Any:
    """The net, or the constant, at a flip-flop's reset."""
    return cell["connections"]["LSR"][0]
