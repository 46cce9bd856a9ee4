"""Every instruction on random small operands equals the scalar reading of docs/reference/semantics.md."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from isa.codec import Op
from isa.config import MachineConfig, preset
from isa.instructions import Buffer
from sim.functional.machine import FunctionalMachine
from tests.sim.functional import random_ops
from tests.sim.functional.naive import NaiveMachine

GENERATORS = {
    "CONV": (random_ops.random_conv, 12),
    "POOL": (random_ops.random_pool, 25),
    "MISC": (random_ops.random_misc, 25),
    "LOAD": (random_ops.random_load, 40),
    "SAVE": (random_ops.random_save, 25),
    "LOADP": (random_ops.random_loadp, 15),
    "ROW": (random_ops.random_row, 15),
}

SMALL_CONV = Op("CONV", {
    "i_addr": 40, "i_off": 2**24 - 4, "i_cs": 16, "i_ys": 8, "t_ys": 4, "i_h": 4, "i_w": 4, "pad_value": -7,
    "pad_t": 1, "pad_l": 1, "s_y": 2, "s_x": 2, "d_y": 1, "d_x": 1, "k_h": 3, "k_w": 3, "vectors": 1,
    "o_addr": 900, "o_h": 2, "o_w": 2, "o_xs": 1, "o_ys": 2, "o_cs": 4, "chunks": 3,
    "p_addr": 1, "w_addr": 2, "zp": 3, "lo": -128, "hi": 127,
})  # fmt: skip
"""Three chunks: whole and partly filled words on every preset."""


def run_both(config: MachineConfig, ops: list[Op], seed: int) -> tuple[FunctionalMachine, NaiveMachine]:
    """The machines after the program, their DRAM images compared."""
    rng = random.Random(seed)
    machine, naive = FunctionalMachine(config), NaiveMachine(config)
    random_ops.fill(machine, naive, rng)
    expected = random_ops.random_memory(rng)
    memory = np.frombuffer(bytes(expected), np.uint8).copy()
    machine.run(random_ops.program(config, *ops), memory, random_ops.BASES)
    for op in ops:
        naive.execute(op, expected, random_ops.BASES)
    assert memory.tobytes() == bytes(expected)
    return machine, naive


def assert_same_state(machine: FunctionalMachine, naive: NaiveMachine) -> None:
    np.testing.assert_array_equal(machine.state.feature_map, np.array(naive.fm))
    for buffer in Buffer:
        assert machine.state.buffers[buffer].tobytes() == b"".join(naive.buffers[buffer])


@pytest.mark.parametrize(
    ("name", "config"),
    [
        *((name, config) for name in GENERATORS for config in random_ops.CONFIGS if config.build_rows or name != "ROW"),
        *(("CONV", config) for config in random_ops.LONG),
    ],
    ids=lambda case: case if isinstance(case, str) else case.name,
)
def test_random_instructions(name: str, config: MachineConfig) -> None:
    generate: Callable[[random.Random, MachineConfig], Op]
    generate, count = GENERATORS[name]
    for seed in range(count):
        op = generate(random.Random(f"{name} {config.name} {seed}"), config)
        machine, naive = run_both(config, [op], seed)
        assert_same_state(machine, naive)
        if op["acc_out"]:
            used = range(op["a_addr"], op["a_addr"] + op["chunks"] * -(-op["o_h"] * op["o_w"] // config.px_p))
            last = op["o_h"] * op["o_w"] % config.px_p or config.px_p
            for number, entry in enumerate(used):
                surplus = (number + 1) % (len(used) // op["chunks"]) == 0
                lanes = last if surplus else config.px_p
                held = np.array(naive.acc[entry][:lanes])
                np.testing.assert_array_equal(machine.state.accumulators[entry, :lanes], held[:, :-1])
                np.testing.assert_array_equal(machine.state.window_sums[entry, :lanes], held[:, -1])


@pytest.mark.parametrize("name", ["base", "zu2", "zu9"])
def test_larger_presets(name: str) -> None:
    config = preset(name)
    rng = random.Random(name)
    generators = [random_ops.random_load, random_ops.random_pool, random_ops.random_misc, random_ops.random_save]
    assert_same_state(*run_both(config, [SMALL_CONV, *(generate(rng, config) for generate in generators)], seed=1))
