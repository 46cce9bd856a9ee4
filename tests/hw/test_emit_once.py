"""Alike components of an emitted machine are one module; which ones, they say themselves."""

from __future__ import annotations

import re
from typing import Any

import pytest
from amaranth import Module, ResetInserter, Signal
from amaranth.back import rtlil
from amaranth.hdl import Fragment
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.emit import emit
from hw.emit_once import EmissionPlatform, ResetError
from hw.one_module import one_module
from isa.config import config_from_dict


@one_module
class SlowNot(wiring.Component):
    """An inverter of a cycle."""

    elaborated = 0

    def __init__(self, width: int, *, reset_less: bool = True) -> None:
        self.reset_less = reset_less
        super().__init__({"i": In(width), "o": Out(width)})

    def elaborate(self, platform: Any) -> Module:
        type(self).elaborated += 1
        m = Module()
        kept = Signal(len(self.i), reset_less=self.reset_less)
        m.d.sync += kept.eq(~self.i)
        m.d.comb += self.o.eq(kept)
        return m


class Row(wiring.Component):
    """Each of its inverters feeds the next."""

    def __init__(self, widths: tuple[int, ...], *, reset_less: bool = True) -> None:
        self.parts = [SlowNot(width, reset_less=reset_less) for width in widths]
        super().__init__({"i": In(8), "o": Out(8)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        value: Any = self.i
        for number, part in enumerate(self.parts):
            m.submodules[f"part_{number}"] = ResetInserter(self.i[0])(part)
            m.d.comb += part.i.eq(value)
            value = part.o
        m.d.comb += self.o.eq(value)
        return m


@one_module
class ManyClocks(wiring.Component):
    """A register on each of many clocks."""

    clocks = ("f", "b", "g", "a", "d", "c", "e")

    def __init__(self) -> None:
        super().__init__({"i": In(8)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        for clock in self.clocks:
            m.d[clock] += Signal(8, name=f"of_{clock}", reset_less=True).eq(self.i)
        return m


def fragment_of(row: Row, platform: EmissionPlatform | None) -> Fragment:
    SlowNot.elaborated = 0
    top = Module()
    top.submodules.row = row
    return Fragment.get(top, platform)


def test_components_of_one_signature_are_one_module() -> None:
    platform = EmissionPlatform("top")
    row = Row((8, 8, 3, 8))
    fragment = fragment_of(row, platform)
    assert SlowNot.elaborated == 2
    assert list(platform.modules) == ["top.slow_not", "top.slow_not_2"]
    text, _ = rtlil.convert_fragment(fragment, {"i": (row.i, None), "o": (row.o, None)}, "top", emit_src=False)
    used = [line.split()[1:] for line in text.splitlines() if line.lstrip().startswith(r"cell \top.slow_not")]
    kinds = ("slow_not", "slow_not", "slow_not_2", "slow_not")
    assert used == [[rf"\top.{kind}", rf"\part_{n}"] for n, kind in enumerate(kinds)]
    assert platform.modules["top.slow_not"].rtlil.count("\nmodule ") == 1
    assert r"attribute \top" not in platform.modules["top.slow_not"].rtlil


def test_each_place_of_a_module_is_told() -> None:
    platform = EmissionPlatform("top")
    fragment = fragment_of(Row((8, 3, 8)), platform)
    found = [(path, module.rtlil) for path, module in platform.instances(fragment)]
    kinds = ("top.slow_not", "top.slow_not_2", "top.slow_not")
    assert found == [(("row", f"part_{n}"), platform.modules[kind].rtlil) for n, kind in enumerate(kinds)]


def test_a_register_that_its_unit_resets_is_refused() -> None:
    with pytest.raises(ResetError, match=r"module top\.slow_not: register .*kept.* has a reset.*make it reset_less"):
        fragment_of(Row((8,), reset_less=False), EmissionPlatform("top"))


def test_clocks_are_ports_in_the_order_of_their_names_whatever_the_hash_seed() -> None:
    platform = EmissionPlatform("top")
    Fragment.get(ManyClocks(), platform)
    (module,) = platform.modules.values()
    assert [clock.name for clock in module.clocks] == [*"abcdefg"]
    inputs = re.findall(r"wire .*input (\d+)  (\S+)$", module.rtlil, re.MULTILINE)
    assert [name for _, name in sorted(inputs)] == [r"\i", *(rf"\{clock}_clk" for clock in "abcdefg")]


def test_elsewhere_each_is_a_component_like_others() -> None:
    fragment_of(Row((8, 8, 8), reset_less=False), None)
    assert SlowNot.elaborated == 3


def test_the_signals_of_every_finishing_lane_have_their_source() -> None:
    lanes = 2
    config = config_from_dict({"base": "nano", "conv_finish": lanes}, origin="test")
    emitted = emit(config)
    assert emitted.text.count("\nmodule tilewright_core_requantise_lane(") == 1
    assert emitted.text.count("\n  tilewright_core_requantise_lane lane_") == lanes
    of_lanes = {path: source for path, source in emitted.sources.items() if ".lane_" in path and path.endswith(".away")}
    assert len(of_lanes) == lanes
    assert all(source.startswith("hw/post/lane.py:") for source in of_lanes.values())
