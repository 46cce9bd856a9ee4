"""Memories in Verilog: what they are to be made of."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from amaranth.back import verilog as backend

from hw.buffers.parameters import ParameterMemory
from hw.emit_memory import MemoryModules, MemoryShape
from isa.config import preset

NANO = replace(preset("nano"), weight_ram="ultra", taps_ram="distributed")


@pytest.mark.parametrize(("buffer", "style"), [("WEIGHT", "ultra"), ("TAPS", "distributed"), ("PARAM", "")])
def test_a_buffer_is_made_of_what_the_configuration_says(buffer: str, style: str) -> None:
    modules = MemoryModules()
    memory = ParameterMemory.of(NANO, buffer)
    text = backend.convert(memory, platform=modules)
    expected = f'  (* no_rw_check, ram_style = "{style}" *) reg [' if style else "  (* no_rw_check *) reg ["
    words = re.findall(r"^(.*reg \[)\d+:0\] words", modules.verilog(), re.MULTILINE)
    assert set(words) == {expected}
    assert len(re.findall(rf"^  memory_\d+x\d+{style and '_' + style} ", text, re.MULTILINE)) == memory.columns // memory.rows


def test_memories_of_one_shape_and_two_styles_are_two_modules() -> None:
    names = {MemoryShape(64, 8, 1, True, style).name for style in ("", "block", "ultra")}
    assert names == {"memory_64x8", "memory_64x8_block", "memory_64x8_ultra"}
