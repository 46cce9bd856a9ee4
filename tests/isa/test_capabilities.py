"""What a machine says about itself is what its configuration says."""

from __future__ import annotations

import dataclasses

import pytest

from isa.bounds import BOUNDS
from isa.capabilities import CAPABILITIES, capability_words
from isa.config import PRESETS, MachineConfig, preset
from isa.instructions import Unit


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
def test_every_number_can_be_read_back(config: MachineConfig) -> None:
    words = capability_words(config)
    read = {c.name: words[c.offset] >> c.lsb & (1 << c.bits) - 1 for c in CAPABILITIES}
    assert read.pop("units") == (1 << len(Unit) - 1) - 1
    assert read == {name: getattr(config, name) for name in read}


def test_units_are_those_that_are_built() -> None:
    words = [capability_words(dataclasses.replace(preset("nano"), build_misc=misc, build_rows=True)) for misc in (True, False)]
    unit = next(c for c in CAPABILITIES if c.name == "units")
    assert [word[unit.offset] >> unit.lsb for word in words] == [0b111111, 0b101111]


def test_every_field_holds_its_largest_value() -> None:
    for capability in CAPABILITIES:
        if capability.name in BOUNDS:
            assert BOUNDS[capability.name].high < 1 << capability.bits, capability.name
