"""The chips that configurations name, and what there is on each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Chip:
    """An FPGA: how much of each kind of resource it has."""

    name: str
    family: str
    """The family as ``tilewright size --target`` names it."""
    capacity: dict[str, int]
    """What the chip has, by kind. LUTs have four inputs on ecp5 and six elsewhere; block RAMs have 18 Kbit on ecp5 and 36
    elsewhere."""


CHIPS: dict[str, Chip] = {
    chip.name: chip
    for chip in (
        Chip("LFE5U-25F", "ecp5", {"LUT": 24_288, "FF": 24_288, "DSP": 28, "BRAM": 56}),
        Chip("LFE5U-85F", "ecp5", {"LUT": 83_640, "FF": 83_640, "DSP": 156, "BRAM": 208}),
        Chip("XC7Z020", "xc7", {"LUT": 53_200, "FF": 106_400, "DSP": 220, "BRAM": 140}),
        Chip("XCZU2EG", "xcup", {"LUT": 47_232, "FF": 94_464, "DSP": 240, "BRAM": 150}),
        Chip("XCK26", "xcup", {"LUT": 117_120, "FF": 234_240, "DSP": 1_248, "BRAM": 144, "URAM": 64}),
        Chip("XCZU9EG", "xcup", {"LUT": 274_080, "FF": 548_160, "DSP": 2_520, "BRAM": 912}),
    )
}
SPARE = 0.2
"""The share of a chip's LUTs that a preset leaves: a chip that is fuller is routed slowly, or not at all."""
