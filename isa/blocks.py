"""How deep the memories of a machine could be in the blocks that hold them."""

from __future__ import annotations

from dataclasses import dataclass

from isa.chips import chip_of
from isa.config import MachineConfig

SHAPES = {
    "ultra": ((4096, 72),),
    "block": ((512, 72), (1024, 36), (2048, 18), (4096, 9)),
}
"""The words and bits of one block of UltraScale+ and 7 series, by the style of a memory (``isa/ram.py``)."""
KINDS = {"ultra": "URAM", "block": "BRAM"}
FAMILIES = ("xcup", "xc7")


@dataclass(frozen=True)
class Blocks:
    """The blocks of one buffer."""

    field: str
    """The field of the configuration that says how deep it is."""
    depth: int
    holds: int
    """The words that the blocks could hold."""
    kind: str
    number: int

    def __str__(self) -> str:
        unused = f"{1 - self.depth / self.holds:.0%} of {self.number} {self.kind} unused"
        return f"{self.field} = {self.depth}: {unused}; they hold {self.holds} words"


def blocks(config: MachineConfig) -> list[Blocks]:
    """The blocks of the buffers that are made of blocks, or may be and are as deep as one; empty for chips with other
    blocks."""
    chip = chip_of(config.chip)
    if chip is None or chip.family not in FAMILIES:
        return []
    word = {name: 8 * config.buffer_word_bytes(name) for name in ("WEIGHT", "PARAM", "TAPS", "POOL_PARAM")}
    memories = (
        ("fm_depth", config.fm_ram, 8 * config.ic_p, config.fm_banks),
        ("weight_depth", config.weight_ram, word["WEIGHT"], 1),
        ("param_depth", config.param_ram, word["PARAM"], 1),
        ("taps_depth", config.taps_ram, word["TAPS"], 1),
        ("pool_param_depth", config.pool_param_ram, word["POOL_PARAM"], 1),
        ("acc_depth", config.acc_ram, 32 * config.px_p * config.oc_p, 1),
    )
    found = []
    for field, style, width, banks in memories:
        depth = getattr(config, field)
        kind = "block" if style == "auto" and depth >= SHAPES["block"][0][0] else style
        if kind in SHAPES:
            column = min(width, config.axi_data_bits)
            number, holds = least_blocks(depth, column, SHAPES[kind])
            found.append(Blocks(field, depth, holds, KINDS[kind], number * -(-width // column) * banks))
    return found


def least_blocks(depth: int, width: int, shapes: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    """The fewest blocks for a memory, and the most words that this number of blocks holds."""
    found = [(-(-depth // words) * -(-width // bits), -(-depth // words) * words) for words, bits in shapes]
    number = min(number for number, _ in found)
    return number, max(holds for count, holds in found if count == number)
