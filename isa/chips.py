"""The chips that configurations name, and the resources of each. A chip that is not listed can be described."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isa.bounds import ConfigError

FAMILIES = ("xcup", "xc7", "ecp5")
KINDS = ("LUT", "FF", "DSP", "BRAM", "URAM")


@dataclass(frozen=True)
class Chip:
    """An FPGA, and how much of each kind of resource it has."""

    name: str
    family: str
    """The family as ``tilewright size --target`` names it."""
    capacity: dict[str, int]
    """The resources of the chip, by kind. LUTs have four inputs on ecp5 and six elsewhere; block RAMs have 18 Kbit on ecp5 and
    36 elsewhere."""


@dataclass(frozen=True)
class ChipMemory:
    """The DRAM of a chip's processing system, as programmable logic reaches it."""

    ports: int
    bits: int
    """The bits of a port."""
    gigabytes: float
    """The most gigabytes a second."""


MEMORIES = {"xcup": ChipMemory(4, 128, 19.2), "xc7": ChipMemory(4, 64, 4.2)}
"""The DRAM of the known chips, by family: DDR4-2400 of 64 bits, DDR3-1066 of 32 bits."""

CHIPS: dict[str, Chip] = {
    chip.name: chip
    for chip in (
        Chip("LFE5U-25F", "ecp5", {"LUT": 24_288, "FF": 24_288, "DSP": 28, "BRAM": 56}),
        Chip("LFE5U-45F", "ecp5", {"LUT": 43_848, "FF": 43_848, "DSP": 72, "BRAM": 108}),
        Chip("LFE5U-85F", "ecp5", {"LUT": 83_640, "FF": 83_640, "DSP": 156, "BRAM": 208}),
        Chip("XC7Z010", "xc7", {"LUT": 17_600, "FF": 35_200, "DSP": 80, "BRAM": 60}),
        Chip("XC7Z020", "xc7", {"LUT": 53_200, "FF": 106_400, "DSP": 220, "BRAM": 140}),
        Chip("XCZU2EG", "xcup", {"LUT": 47_232, "FF": 94_464, "DSP": 240, "BRAM": 150}),
        Chip("XCZU3EG", "xcup", {"LUT": 70_560, "FF": 141_120, "DSP": 360, "BRAM": 216}),
        Chip("XCZU7EV", "xcup", {"LUT": 230_400, "FF": 460_800, "DSP": 1_728, "BRAM": 312, "URAM": 96}),
        Chip("XCK26", "xcup", {"LUT": 117_120, "FF": 234_240, "DSP": 1_248, "BRAM": 144, "URAM": 64}),
        Chip("XCZU9EG", "xcup", {"LUT": 274_080, "FF": 548_160, "DSP": 2_520, "BRAM": 912}),
    )
}
SPARE = 0.2
"""The share of a chip's LUTs that a preset leaves free: a fuller chip is routed slowly, or not at all."""


@functools.cache
def chip_of(text: str) -> Chip | None:
    """The chip that a configuration's field ``chip`` names or describes, or None if it names none."""
    if not text or text in CHIPS:
        return CHIPS.get(text)
    name, *words = text.split(" ")
    family = words[0] if words else ""
    pairs = [word.partition("=") for word in words[1:]]
    capacity = {kind: int(number) for kind, equals, number in pairs if equals and number.isascii() and number.isdigit()}
    if family not in FAMILIES or len(capacity) != len(pairs) or not {"LUT", "FF", "DSP", "BRAM"} <= capacity.keys() <= {*KINDS}:
        raise ConfigError(
            f"configuration field chip: {text!r} is unknown; known are {', '.join(CHIPS)}; describe another in TOML by a table "
            f"[chip] with name, family ({', '.join(FAMILIES)}) and {', '.join(KINDS)}"
        )
    return Chip(name, family, capacity)


def memory_of(text: str) -> ChipMemory | None:
    """The DRAM of a known chip, or None."""
    return MEMORIES.get(CHIPS[text].family) if text in CHIPS else None


def described(table: Mapping[str, Any]) -> str:
    """A table ``[chip]`` of a TOML file as text, which ``chip_of`` reads."""
    given = dict(table)
    words = [str(given.pop("name", "")), str(given.pop("family", "")), *(f"{kind}={number}" for kind, number in given.items())]
    return " ".join(words)
