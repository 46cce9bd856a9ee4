"""How signals pass through the cells of an FPGA: where paths begin and end, and what they go through on the way.

A path begins at a flip-flop, a block RAM, a registered multiplier or an input of the machine, and ends at the same. It goes
through LUTs, carry chains, reads of LUTs used as memory, and the unregistered parts of multipliers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cache

from sim.synthesis.tools import SynthesisError

Bit = int | str
"""A net of a module, or a constant: ``"0"``, ``"1"``, ``"x"``."""
Pins = Mapping[str, Sequence[Bit]]


class Kind(Enum):
    """What a cell is for a path."""

    LUT = "LUT"
    WIDE = "multiplexer beside LUTs"
    CARRY = "carry"
    MEMORY = "LUT memory"
    DSP = "DSP"
    FF = "FF"
    BRAM = "BRAM"
    CONSTANT = "constant"


LEVELS = {Kind.LUT: 1, Kind.WIDE: 0, Kind.CARRY: 1, Kind.MEMORY: 1, Kind.DSP: 1}
"""The levels of logic of a passage. From one cell of a carry chain to the next it counts none."""

_KINDS = (
    (r"LUT\d|INV", Kind.LUT),
    (r"MUXF[789]|PFUMX|L6MUX21|BUFG|IBUF|OBUF|TRELLIS_IO", Kind.WIDE),
    (r"CARRY[48]|CCU2C", Kind.CARRY),
    (r"RAM\d.*|SRL.*|TRELLIS_DPR16X4", Kind.MEMORY),
    (r"DSP48E[12]|MULT18X18D", Kind.DSP),
    (r"FD[RSCP]E|TRELLIS_FF", Kind.FF),
    (r"RAMB.*|URAM288|DP16KD|PDPW16KD", Kind.BRAM),
    (r"GND|VCC|VLO|VHI|GSR", Kind.CONSTANT),
)


@cache
def kind_of(cell: str) -> Kind:
    """The kind of a cell, by the name of its type."""
    for pattern, kind in _KINDS:
        if re.fullmatch(pattern, cell):
            return kind
    raise SynthesisError(f"levels of logic: cell {cell}: expected one that sim/synthesis/cells.py knows")


def is_clock(cell: str, pin: str) -> bool:
    """Whether a pin takes a clock."""
    return re.fullmatch(r"FD[RSCP]E C|\S+ W?CLK\w*|\S+ WCK", f"{cell} {pin}") is not None


def passages(cell: str, parameters: Mapping[str, str], inputs: Pins, outputs: Pins) -> Iterator[tuple[int, list[int]]]:
    """Every output bit with the input bits that reach it within a clock cycle. A bit that comes from a register has none."""
    for pin, bits in outputs.items():
        through = {name: nets for name, nets in inputs.items() if _reaches(cell, parameters, name, pin)}
        for index, bit in enumerate(bits):
            if isinstance(bit, int):
                above = {"S": index + 1, "DI": index + 1} if cell.startswith("CARRY") else {}
                yield bit, [net for name, nets in through.items() for net in nets[: above.get(name)] if isinstance(net, int)]


def _reaches(cell: str, parameters: Mapping[str, str], source: str, output: str) -> bool:
    kind = kind_of(cell)
    if kind in (Kind.FF, Kind.BRAM, Kind.CONSTANT):
        return False
    if kind is Kind.MEMORY:
        return _is_read(cell, source, output)
    if cell == "CCU2C":
        return output != "S0" or source == "CIN" or source.endswith("0")
    if cell == "MULT18X18D":
        return _through_multiplier(parameters, source)
    return kind is not Kind.DSP or _through_dsp48(parameters, source, output)


def _is_read(cell: str, source: str, output: str) -> bool:
    """Whether an input is the address that an output is read at. All memories of LUTs are written with the clock."""
    if cell == "TRELLIS_DPR16X4":
        return source == "RAD"
    if output == "DPO":
        return source.startswith("DPRA")
    if re.fullmatch(r"DO[A-H]", output):
        return source == f"ADDR{output[-1]}"
    return re.fullmatch(r"A\d*", source) is not None and output != "Q31"


_DSP48_REGISTERS = {
    "A": "AREG", "ACIN": "AREG", "B": "BREG", "BCIN": "BREG", "C": "CREG", "D": "DREG", "CARRYIN": "CARRYINREG",
    "INMODE": "INMODEREG", "OPMODE": "OPMODEREG", "ALUMODE": "ALUMODEREG", "CARRYINSEL": "CARRYINSELREG",
}  # fmt: skip
_DSP48_FACTORS = {"A", "ACIN", "B", "BCIN", "D", "INMODE"}
_DSP48_CASCADES = {"ACOUT": ("A", "ACASCREG"), "BCOUT": ("B", "BCASCREG")}


def _through_dsp48(parameters: Mapping[str, str], source: str, output: str) -> bool:
    """Whether an input reaches an output in a cycle. A register that the parameters do not mention is there, as with Xilinx."""

    def registered(name: str) -> bool:
        return int(parameters.get(name, "1"), 2) > 0

    if output in _DSP48_CASCADES:
        factor, register = _DSP48_CASCADES[output]
        return source in (factor, f"{factor}CIN") and not registered(register)
    if source not in _DSP48_REGISTERS:
        return source in ("PCIN", "CARRYCASCIN", "MULTSIGNIN") and not registered("PREG")
    stops = (_DSP48_REGISTERS[source], "PREG", *(["MREG"] if source in _DSP48_FACTORS else []))
    return not any(registered(name) for name in stops)


def _through_multiplier(parameters: Mapping[str, str], source: str) -> bool:
    """The same for the ECP5. Registers are named by their clock, and there is none unless one is named."""
    if re.fullmatch(r"(CLK|CE|RST)\d", source):
        return False
    stops = ["REG_PIPELINE_CLK", "REG_OUTPUT_CLK", *([f"REG_INPUT{source[0]}_CLK"] if source[0] in "AB" else [])]
    return all(parameters.get(name, "NONE").strip() == "NONE" for name in stops)
