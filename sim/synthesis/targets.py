"""FPGA families: how yosys maps to them, and what their cells cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from isa.config import MachineConfig
from sim.synthesis.ecp5 import to_cells, to_gates
from sim.synthesis.tools import SynthesisError

Cells = Mapping[str, float]


@dataclass(frozen=True)
class Target:
    """A family of FPGAs."""

    name: str
    to_gates: str
    """The yosys commands that make gates, carry chains, DSPs and memories of the modules below ``{top}``. None is flattened."""
    to_cells: str
    """The yosys commands that map the gates."""
    resources: Mapping[str, Cells]
    """For each kind of resource how many of it each cell takes."""
    free: frozenset[str]
    """The cells that take no resource: pads, and what stands beside LUTs in any case."""
    seconds: float
    """The seconds of one core that yosys from PyPI is expected to take for each 1 000 characters of Verilog."""
    dsp48e2: bool = False
    """Whether it has DSP48E2, whose registers and cascades yosys does not find by itself."""

    @property
    def script(self) -> str:
        """The commands that map modules one by one. Nothing is optimised across their boundaries."""
        return f"{self.to_gates}; {self.to_cells}"

    @property
    def flat_script(self) -> str:
        """The commands that map all below ``{top}`` as one module. It is flattened after gates are made and before they are
        mapped: yosys 0.23 looks for each multiplexer at each net of its module (``opt_muxtree``), which takes too long in one
        large module."""
        return f"{self.to_gates}; flatten; opt_expr -noclkinv; opt_merge; opt_clean; {self.to_cells}"

    def places_cascades(self, config: MachineConfig) -> bool:
        """Whether the array's cascades are to be instances of the family's DSP."""
        return self.dsp48e2 and config.dsp_packing

    def used(self, cells: Mapping[str, int]) -> dict[str, float]:
        """The resources of each kind; raises ``SynthesisError`` for a cell that is not known."""
        unknown = set(cells).difference(self.free, *self.resources.values())
        if unknown:
            names = ", ".join(sorted(unknown))
            raise SynthesisError(f"synthesis for {self.name}: cells {names}: expected in sim/synthesis/targets.py")
        return {
            kind: sum(count * made[cell] for cell, count in cells.items() if cell in made)
            for kind, made in self.resources.items()
        }


_XILINX_LUTS: Cells = dict.fromkeys(("INV", "LUT1", "LUT2", "LUT3", "LUT4", "LUT5", "LUT6"), 1)
_XILINX_MEMORY: Cells = {
    "SRL16E": 1, "SRLC32E": 1, "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM256X1D": 8, "RAM32M": 4, "RAM64M": 4,
    "RAM32M16": 8, "RAM64M8": 8, "RAM32X16DR8": 8, "RAM64X8SW": 8, "RAM32X1S": 1, "RAM64X1S": 1, "RAM128X1S": 2,
    "RAM256X1S": 4, "RAM512X1S": 8,
}  # fmt: skip
"""The LUTs that one cell of distributed memory takes (Xilinx UG574)."""
_XILINX_FLIP_FLOPS: Cells = dict.fromkeys(("FDRE", "FDSE", "FDCE", "FDPE"), 1)
_XILINX_FREE = frozenset({"BUFG", "IBUF", "OBUF", "CARRY4", "CARRY8", "MUXF7", "MUXF8", "MUXF9"})


def _xilinx(name: str, dsp: str, block: str, half: str) -> Target:
    """A family of ``synth_xilinx``, with the mapper ``abc`` in all its versions, and without wide multiplexers (MUXF7 to
    MUXF9), for which yosys spends as many LUTs again."""
    to_gates = f"synth_xilinx -family {name} -nowidelut -noiopad -noclkbuf -top {{top}} -run begin:map_luts"
    to_cells = (
        "opt_expr -mux_undef -noclkinv; abc -luts 2:2,3,6:5; clean; techmap -map +/xilinx/ff_map.v; "
        "xilinx_srl -fixed -minlen 3; techmap -map +/xilinx/lut_map.v -map +/xilinx/cells_map.v -D LUT_WIDTH=6; "
        "xilinx_dffopt; opt_lut_ins -tech xilinx; clean"
    )
    resources = {
        "LUT": {**_XILINX_LUTS, **_XILINX_MEMORY},
        "LUT as memory": _XILINX_MEMORY,
        "FF": _XILINX_FLIP_FLOPS,
        "DSP": {dsp: 1},
        "BRAM": {block: 1, half: 0.5},
        **({"URAM": {"URAM288": 1}} if name == "xcup" else {}),
    }
    return Target(name, to_gates, to_cells, resources, _XILINX_FREE, 0.085, dsp == "DSP48E2")


_ECP5_MEMORY: Cells = {"TRELLIS_DPR16X4": 6}
"""The LUTs of a cell: four hold the words, and the two beside them become the write port."""
_ECP5 = Target(
    "ecp5",
    to_gates("{top}", "-noflatten "),
    to_cells("{top}", "abc -lut 4"),
    {
        "LUT": {"LUT4": 1, "CCU2C": 2, **_ECP5_MEMORY},
        "LUT as memory": _ECP5_MEMORY,
        "FF": {"TRELLIS_FF": 1},
        "DSP": {"MULT18X18D": 1},
        "BRAM": {"DP16KD": 1, "PDPW16KD": 1},
    },
    frozenset({"PFUMX", "L6MUX21", "GSR", "TRELLIS_IO"}),
    0.05,
)
TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        _xilinx("xcup", "DSP48E2", "RAMB36E2", "RAMB18E2"),
        _xilinx("xc7", "DSP48E1", "RAMB36E1", "RAMB18E1"),
        _ECP5,
    )
}
