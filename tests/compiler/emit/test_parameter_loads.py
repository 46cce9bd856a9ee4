"""Loads of parameter blocks: what does not fit one piece comes in several, which follow each other on chip and in DRAM."""

from __future__ import annotations

from itertools import pairwise

import pytest

from compiler.emit.parameters import Parameters, UnpackedImage
from compiler.instructions.pending import Access, Space
from compiler.layers.layer import Block
from compiler.tuned import LEAST_LOAD_BYTES as LEAST_BYTES
from compiler.tuned import LOAD_PIECES as PIECES
from isa.config import preset
from isa.instructions import Buffer


@pytest.mark.parametrize("words", [600, 64, 65, 1])
def test_a_large_block_comes_in_pieces(words: int) -> None:
    config = preset("base")
    parameters = Parameters(config, UnpackedImage(config))
    parameters.load(Block({Buffer.WEIGHT: 40}, None), pinned=False)
    at, loads = parameters.load(Block({Buffer.WEIGHT: words}, None), pinned=False)
    most = max(config.weight_depth // PIECES, LEAST_BYTES // config.buffer_dram_bytes("WEIGHT"))
    assert len(loads) == -(-words // most)
    assert sum(load.values["count"] for load in loads) == words
    assert loads[0].values["dst"] == at[Buffer.WEIGHT] == 40
    size = config.buffer_dram_bytes("WEIGHT")
    for one, other in pairwise(loads):
        assert other.values["dst"] - one.values["dst"] == one.values["count"]
        assert other.values["offset"] - one.values["offset"] == one.values["count"] * size
    assert [load.writes for load in loads] == [
        [Access(Space.WEIGHT, load.values["dst"], load.values["count"])] for load in loads
    ]  # fmt: skip


def test_what_a_short_burst_would_make_slower_is_not_cut() -> None:
    config = preset("nano")
    words = config.weight_depth
    assert words * config.buffer_dram_bytes("WEIGHT") <= PIECES * LEAST_BYTES
    _, loads = Parameters(config, UnpackedImage(config)).load(Block({Buffer.WEIGHT: words}, None), pinned=True)
    assert len(loads) == -(-words * config.buffer_dram_bytes("WEIGHT") // LEAST_BYTES)
