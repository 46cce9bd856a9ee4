"""A machine as the cells of an ECP5, in Verilog that simulators take in place of the generated one."""

from __future__ import annotations

from pathlib import Path

from sim.rtl.interrupts import temporary_folder
from sim.synthesis.mapping import Report
from sim.synthesis.tools import find_tool

CELLS = Path(__file__).with_name("ecp5_cells.v")
"""Models of what yosys has no model of that it can write out."""
_MAPPED = "synth_ecp5 -nowidelut -top {top}"
_WRITTEN = (
    "read_verilog -overwrite +/ecp5/cells_sim.v; blackbox TRELLIS_DPR16X4; hierarchy -top {top}; proc; flatten; opt_expr; "
    "opt_clean; write_verilog -noattr netlist.v"
)
"""LUTs, carries and flip-flops become what yosys' own models say of them; memories and multipliers stay instances."""


def ecp5_netlist(verilog: str, top: str, *, report: Report) -> str:
    """The module ``top``, flattened and mapped by ``synth_ecp5``, with models of its cells: it has the ports of the original.

    Memories and registers begin with the values that the bitstream would give them.
    """
    yosys = find_tool("yosys")
    report(f"{yosys.version}: {top} as a netlist for ecp5, which takes minutes")
    with temporary_folder() as work:
        (work / "design.v").write_text(verilog)
        script = f"read_verilog design.v; {_MAPPED}; {_WRITTEN}".format(top=top)
        yosys.run(["-q", "-p", script], work)
        return (work / "netlist.v").read_text() + CELLS.read_text()
