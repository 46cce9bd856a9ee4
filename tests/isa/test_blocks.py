"""Blocks: as few as hold a memory, and what they could hold besides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from isa.blocks import SHAPES, Blocks, blocks, least_blocks
from isa.config import PRESETS, preset


def test_what_base_pays_for() -> None:
    found = {held.field: held for held in blocks(preset("base"))}
    assert found["weight_depth"] == Blocks("weight_depth", 4096, 4096, "URAM", 32)
    assert found["fm_depth"] == Blocks("fm_depth", 1024, 1024, "BRAM", 64)
    shallow = replace(preset("base"), weight_depth=896)
    told = [str(held) for held in blocks(shallow) if held.field == "weight_depth"]
    assert told == ["weight_depth = 896: 78% of 32 URAM unused; they hold 4096 words"]


@pytest.mark.parametrize("name", ["base", "k26", "zu2", "zu9"])
def test_feature_maps_and_weights_of_presets_fill_their_blocks(name: str) -> None:
    assert all(held.depth == held.holds for held in blocks(PRESETS[name]) if held.field in ("fm_depth", "weight_depth"))


def test_other_chips_have_other_blocks() -> None:
    assert blocks(preset("nano")) == []
    assert blocks(replace(preset("base"), chip="")) == []


@pytest.mark.parametrize("style", SHAPES)
def test_one_more_word_takes_more_blocks(style: str) -> None:
    for depth in (1, 63, 512, 513, 1024, 1025, 4096, 5000):
        for width in (1, 18, 72, 128, 200):
            number, holds = least_blocks(depth, width, SHAPES[style])
            assert holds >= depth
            assert least_blocks(holds, width, SHAPES[style])[0] == number < least_blocks(holds + 1, width, SHAPES[style])[0]
