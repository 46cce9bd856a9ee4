"""The machine in other people's builds: FuseSoC's core file, and the component in a design in Amaranth."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Fragment

from hw.delivery.fusesoc import core_file
from hw.delivery.style import Style
from isa.config import preset
from tests.conftest import Golden

ROOT = Path(__file__).parents[3]
STYLES = {
    "plain": (Style(), ["tilewright_core.v", "tilewright_core_template.vh", "tilewright_core.vlt", "tilewright_core.lpf"]),
    "asic": (Style("npu", initial=False, split_memories=True), ["npu.sv", "npu_memories.sv", "npu_template.vh", "npu.vlt"]),
}


@pytest.mark.parametrize("name", STYLES)
def test_core_file(name: str, golden: Golden) -> None:
    """The first was taken by FuseSoC 2.4.7, whose target `lint` ran through."""
    style, files = STYLES[name]
    golden(Path(__file__).parent / "golden" / f"{name}.core", core_file(files, preset("nano"), style))


def test_every_source_is_named_once() -> None:
    for style, files in STYLES.values():
        text = core_file(files, preset("base"), style)
        listed = [name for group in re.findall(r"files: \[(.*)\]", text) for name in group.split(", ")]
        assert sorted(listed) == sorted(name for name in files if not name.endswith(".vh"))


def test_the_guide_s_design_in_amaranth_is_connected() -> None:
    page = (ROOT / "docs" / "guides" / "core.md").read_text(encoding="utf-8")
    (source,) = re.findall(r"^```py\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(compile(source, "core.md", "exec", dont_inherit=True), names)
    fragment = Fragment.get(names["Design"](), None)
    assert [name for _, name, _ in fragment.subfragments] == ["npu"]
