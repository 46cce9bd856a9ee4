"""LOADW equals the scalar reading of docs/reference/semantics.md, and with CONV it is a product of two maps."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest

from isa.codec import Op
from isa.config import MachineConfig, preset
from isa.faults import Fault, MachineFault
from isa.instructions import Region
from isa.requantisation import ONE, ONE_SHIFT, packed
from sim.functional.footprint import footprint
from sim.functional.machine import FunctionalMachine
from tests.sim.functional import random_ops
from tests.sim.functional.naive import NaiveMachine
from tests.sim.functional.test_functional_footprint import expanded
from tests.sim.functional.test_functional_instructions import assert_same_state, run_both

SCALE_ONE = packed(0, ONE, ONE_SHIFT) >> 32
MACHINES = [*random_ops.PRODUCTS, dataclasses.replace(preset("zu2"), build_products=True)]


@pytest.mark.parametrize("config", random_ops.PRODUCTS, ids=lambda c: c.name)
def test_random_instructions(config: MachineConfig) -> None:
    for seed in range(60):
        op = random_ops.random_loadw(random.Random(f"LOADW {config.name} {seed}"), config)
        assert_same_state(*run_both(config, [op], seed))


@pytest.mark.parametrize("config", random_ops.PRODUCTS, ids=lambda c: c.name)
def test_footprint_is_what_the_scalar_machine_touches(config: MachineConfig) -> None:
    for seed in range(20):
        rng = random.Random(f"footprint {seed}")
        op, naive = random_ops.random_loadw(rng, config), NaiveMachine(config)
        naive.execute(op, random_ops.random_memory(rng), random_ops.BASES)
        touched = footprint(op, config, random_ops.BASES)
        assert expanded(touched.writes) == naive.writes
        assert expanded(touched.reads) >= naive.reads


@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize("config", MACHINES, ids=lambda c: c.name)
def test_conv_multiplies_two_maps(config: MachineConfig, turned: int) -> None:
    """``(x - x_zp)(w - w_zp)`` in integers: the second map as it lies in DRAM, or turned."""
    rng = np.random.default_rng(3)
    lanes, x_zp, w_zp = config.ic_p, 3, -5
    rows, inputs, outputs = 3, 2 * lanes - 1, lanes - 1
    x = rng.integers(x_zp - 2, x_zp + 3, (rows, 2 * lanes), dtype=np.int8)
    w = rng.integers(w_zp - 2, w_zp + 3, (inputs, outputs), dtype=np.int8)
    stored = w.T if turned else w
    memory = np.zeros(0x4000, np.uint8)
    memory[0x1000 : 0x1000 + x.size] = x.reshape(-1).view(np.uint8)
    memory[0x2000 : 0x2000 + w.size] = stored.reshape(-1).view(np.uint8)
    pixels, run = stored.shape
    chunks = -(-outputs // config.oc_p)
    load = Op("LOAD", {
        "offset": 0x1000, "rows": 1, "pixels": rows, "step": 2 * lanes, "run": 2 * lanes, "valid": x.size, "d_xs": 1,
        "d_cs": rows,
    })  # fmt: skip
    loadw = Op("LOADW", {
        "offset": 0x2000, "pixels": pixels, "step": run, "run": run, "valid": w.size, "fill": w_zp, "w_zp": w_zp, "x_zp": x_zp,
        "turned": turned, "w_addr": 7, "w_step": 2, "p_addr": 1, "scale": SCALE_ONE,
    })  # fmt: skip
    window = dict.fromkeys(("s_y", "s_x", "d_y", "d_x", "k_h", "k_w", "i_h", "o_h", "o_xs"), 1)
    conv = Op("CONV", window | {
        "i_w": rows, "o_w": rows, "vectors": 2, "i_cs": rows, "chunks": chunks, "o_addr": 100, "o_cs": rows, "lo": -128,
        "hi": 127, "w_addr": 7, "p_addr": 1, "w_zp": w_zp,
    })  # fmt: skip
    machine = FunctionalMachine(config)
    machine.run(random_ops.program(config, load, loadw, conv), memory, dict.fromkeys(Region, 0))
    product = (x[:, :inputs].astype(int) - x_zp) @ (w.astype(int) - w_zp)
    assert abs(product).max() > 4
    np.testing.assert_array_equal(machine.state.feature_map[100 : 100 + rows, :outputs], product.clip(-128, 127))


@pytest.mark.parametrize(
    ("values", "detail"),
    [
        ({"w_addr": 511, "run": 4}, None),
        ({"w_addr": 511, "run": 5, "turned": 1}, "WEIGHT word"),
        ({"w_addr": 510, "run": 1, "pixels": 9}, "WEIGHT word"),
        ({"p_addr": 63, "run": 4}, None),
        ({"p_addr": 63, "run": 1, "pixels": 5, "turned": 1}, "PARAM word"),
    ],
)
def test_words_beyond_a_buffer_stop_the_machine(values: dict[str, int], detail: str | None) -> None:
    op = Op("LOADW", {"pixels": 1, "step": 4, "run": 4, "valid": 4} | values)
    program, memory = random_ops.program(random_ops.SQUARE, op), np.zeros(64, np.uint8)
    if detail is None:
        FunctionalMachine(random_ops.SQUARE).run(program, memory, {})
        return
    with pytest.raises(MachineFault, match=detail) as stopped:
        FunctionalMachine(random_ops.SQUARE).run(program, memory, {})
    assert stopped.value.fault is Fault.BUFFER_ADDRESS


def test_a_machine_without_products_refuses_it() -> None:
    op = Op("LOADW", {"pixels": 1, "step": 4, "run": 4})
    with pytest.raises(MachineFault, match="build_products") as stopped:
        FunctionalMachine(random_ops.NANO).run(random_ops.program(random_ops.NANO, op), np.zeros(64, np.uint8), {})
    assert stopped.value.fault is Fault.ILLEGAL_OPCODE
