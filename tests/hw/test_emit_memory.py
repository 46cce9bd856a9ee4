"""Memories in Verilog: what they are to be made of."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from amaranth.back import verilog as backend

from hw.buffers.parameters import ParameterMemory
from hw.emit_memory import MemoryModules, MemoryShape
from isa.config import preset
from isa.ram import LUT_WORDS
from sim.synthesis.tools import find_tool

NANO = replace(preset("nano"), weight_ram="ultra", taps_ram="distributed")


@pytest.mark.parametrize(("buffer", "style"), [("WEIGHT", "ultra"), ("TAPS", "distributed"), ("PARAM", "")])
def test_a_buffer_is_made_of_what_the_configuration_says(buffer: str, style: str) -> None:
    modules = MemoryModules()
    memory = ParameterMemory.of(NANO, buffer)
    text = backend.convert(memory, platform=modules)
    words = memory.depth << (memory.rows - 1).bit_length()
    told = style or ("distributed" if words <= LUT_WORDS else "block")
    expected = f'  (* no_rw_check, rw_addr_collision = "no", ram_style = "{told}" *) reg ['
    found = re.findall(r"^(.*reg \[)\d+:0\] words", modules.verilog(), re.MULTILINE)
    assert set(found) == {expected}
    assert len(re.findall(rf"^  memory_\d+x\d+{style and '_' + style} ", text, re.MULTILINE)) == memory.columns // memory.rows


def test_memories_of_one_shape_and_two_styles_are_two_modules() -> None:
    names = {MemoryShape(64, 8, 1, True, style).name for style in ("", "block", "ultra")}
    assert names == {"memory_64x8", "memory_64x8_block", "memory_64x8_ultra"}


@pytest.mark.parametrize("style", ["", "block", "ultra"])
def test_ultra_ram_has_no_initial_values_but_in_simulation(style: str, tmp_path: Path) -> None:
    """yosys says, as Vivado does, that it is synthesis that reads."""
    text = MemoryShape(4096, 72, 1, True, style).verilog()
    assert text.count("  initial ") == 2, "words and what is read"
    (tmp_path / "memory.v").write_text(text)
    find_tool("yosys").run(["-q", "-p", "read_verilog memory.v; proc; write_rtlil memory.il"], tmp_path)
    cells = (tmp_path / "memory.il").read_text()
    assert ("cell $meminit" in cells, "attribute \\init" in cells) == (style != "ultra", style != "ultra")


@pytest.mark.parametrize(("words", "told"), [(3, "distributed"), (LUT_WORDS, "distributed"), (LUT_WORDS + 1, "block")])
def test_a_memory_that_nobody_chose_for(words: int, told: str) -> None:
    assert f'ram_style = "{told}"' in MemoryShape(words, 8, 1, True).verilog()
    assert "ram_style" not in MemoryShape(words, 8, 1, False).verilog(), "read within the cycle: only LUTs can"
