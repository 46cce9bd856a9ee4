"""A machine as the cells of an ECP5, in Verilog that simulators take in place of the generated Verilog."""

from __future__ import annotations

from pathlib import Path

from sim.rtl.interrupts import temporary_folder
from sim.synthesis.ecp5 import script
from sim.synthesis.mapping import Report
from sim.synthesis.tools import find_tool

CELLS = Path(__file__).with_name("ecp5_cells.v")
"""Models of the cells for which yosys has no model that it can write out."""
_WRITTEN = (
    "read_verilog -overwrite +/ecp5/cells_sim.v; blackbox TRELLIS_DPR16X4; hierarchy -top {top}; proc; flatten; opt_expr; "
    "opt_clean; write_verilog -noattr netlist.v"
)
"""The commands that replace LUTs, carries and flip-flops by yosys' models; memories and multipliers stay instances."""


def ecp5_netlist(verilog: str, top: str, *, report: Report) -> str:
    """The module ``top``, flattened and mapped as it is placed, with models of its cells. It has the ports of the original.

    Memories and registers begin with the values that the bitstream would give them.
    """
    yosys = find_tool("yosys")
    report(f"{yosys.version}: {top} as a netlist for ecp5, which takes minutes")
    with temporary_folder() as work:
        (work / "design.v").write_text(verilog)
        yosys.run(["-q", "-p", f"read_verilog design.v; {script(top)}; {_WRITTEN.format(top=top)}"], work)
        return (work / "netlist.v").read_text() + CELLS.read_text()
