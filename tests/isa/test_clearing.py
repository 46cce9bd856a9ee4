"""What earlier programs left on chip is gone after the clearing program, on machines of any shape."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from isa.clearing import clearing_program
from isa.config import PRESETS, MachineConfig, preset
from isa.instructions import Buffer, Region
from sim.functional.machine import FunctionalMachine

CONFIGS = [*map(preset, PRESETS), dataclasses.replace(preset("nano"), name="bare", build_pool=False, build_misc=False)]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_no_word_on_chip_is_left(config: MachineConfig) -> None:
    machine = FunctionalMachine(config)
    state = machine.state
    memories: list[Any] = [state.feature_map, *state.buffers.values(), state.accumulators, state.window_sums]
    for memory in memories:
        memory[...] = 85
    program = clearing_program(config)
    limits = {region: program.region_bytes(region) for region in Region}
    machine.run(program.words, np.frombuffer(program.const, np.uint8).copy(), {}, limits=limits)
    assert [int(memory.any()) for memory in memories] == [0] * len(memories)
    assert len(program.const) <= 64 * max(config.buffer_dram_bytes(buffer.name) for buffer in Buffer)
