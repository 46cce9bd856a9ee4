"""The sizes that ROW, LOADW and activations of 16 bits add to a machine: a formula through machines that were synthesised with
and without.

Block RAMs are counted. The sizes of these machines in docs/results/hardware.md agree with the formula within some percent.
"""

from __future__ import annotations

from isa.blocks import least_blocks
from isa.config import MachineConfig
from isa.stages import ROWS_HELD

HALF_BLOCKS = ((512, 36), (1024, 18), (2048, 9))
"""The words and bits of a block of 18 Kbit."""
ROW = {"LUT": (2338.0, 700.0, 14.0), "FF": (1900.0, 650.0, 0.0)}
"""The LUTs and flip-flops of ROW: of the unit with its lanes at the banks and its receiver, of each lane, and of each element
of a word."""
PRODUCTS = {"LUT": (1235.0, 30.0), "FF": (884.0, 186.0)}
"""The LUTs and flip-flops of LOADW and the weight memory's writes by bytes, and those of each element of a word."""
LONG_SUM = {"xcup": {"LUT": 90.0, "FF": 104.0}, "xc7": {"LUT": 90.0, "FF": 104.0}, "ecp5": {"LUT": 164.0, "FF": 103.0}}
"""The LUTs and flip-flops of ``act16`` for each sum of the array, by family. Those of xc7 are taken from xcup."""
ROW_MULTIPLIERS, PRODUCT_MULTIPLIERS = 4, 1
"""The multipliers of each lane of ROW, and of the records of LOADW."""
NARROW = 2
"""The multipliers of 18 bits that take the place of a wider one."""


def options_size(config: MachineConfig, family: str) -> dict[str, float]:
    """The additional resources of a machine's options, by kind."""
    found = dict.fromkeys(("LUT", "FF", "DSP", "BRAM"), 0.0)
    narrow = family == "ecp5"
    if config.build_rows:
        for kind, (unit, lane, element) in ROW.items():
            found[kind] += unit + lane * config.row_lanes + element * config.ic_p
        found["DSP"] += ROW_MULTIPLIERS * config.row_lanes * (NARROW if narrow else 1)
        found["BRAM"] += _row_halves(config) / (1 if narrow else 2)
    if config.build_products:
        for kind, (unit, element) in PRODUCTS.items():
            found[kind] += unit + element * config.ic_p
        found["DSP"] += PRODUCT_MULTIPLIERS * (NARROW if narrow else 1)
    if config.act16:
        for kind, each in LONG_SUM.get(family, {}).items():
            found[kind] += each * config.oc_p * config.px_p
    return found


def _row_halves(config: MachineConfig) -> int:
    """The blocks of 18 Kbit: two tables a lane, two copies of the row buffer, the records of NORM by slices."""
    parts = config.row_parts
    held = ROWS_HELD << (config.row_words - 1).bit_length() + (parts - 1).bit_length()
    memories = (
        (2 * config.row_lanes, 256, 36), (2, held, 8 * config.row_lanes),
        (1, config.buffer_depth("NORM") * parts, 64 * config.row_lanes),
    )  # fmt: skip
    return sum(copies * least_blocks(depth, width, HALF_BLOCKS)[0] for copies, depth, width in memories)
