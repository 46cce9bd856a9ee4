"""Programs as a whole: what is counted, what stays from run to run, and the corners of the fast paths."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

import sim.functional
from isa.codec import Op
from isa.config import preset
from isa.dispatched import instructions
from isa.instructions import Buffer, Region
from sim.functional import conv, pool
from sim.functional.machine import FunctionalMachine
from tests.sim.functional import random_ops
from tests.sim.functional.test_functional_instructions import assert_same_state, run_both
from tests.values import changeable

NANO = preset("nano")
LOAD = Op("LOAD", {"rows": 2, "pixels": 3, "step": 4, "run": 4, "valid": 12, "row_stride": 16, "d_xs": 1, "d_ys": 3})
SAVED = {"rows": 2, "pixels": 3, "step": 5, "run": 3, "row_stride": 32, "s_xs": 1, "s_ys": 3}
SAVE = Op("SAVE", {**SAVED, "offset": 64, "region": Region.OUTPUT})
WINDOW = dict.fromkeys(("s_y", "s_x", "k_h", "k_w", "i_h", "d_y", "d_x", "vectors", "o_h", "o_xs"), 1) | {"i_w": 3, "o_w": 3}


def test_result_counts_instructions_products_and_bytes() -> None:
    loadp = Op("LOADP", {"buffer": Buffer.PARAM, "count": 2})
    products = Op("CONV", WINDOW | {"chunks": 2, "k_w": 2})
    depthwise = Op("POOL", WINDOW | {"mode": 2})
    program = random_ops.program(NANO, LOAD, loadp, products, depthwise, SAVE)
    result = FunctionalMachine(NANO).run(program, np.zeros(256, np.uint8), {})
    assert result.instructions == Counter(["START", "LOAD", "LOADP", "CONV", "POOL", "SAVE", "END"])
    assert result.macs == 3 * 2 * 2 * 16 + 3 * 4
    assert result.dram_read == {"INSTRUCTION": 4 * len(program), "FEATURE_MAP": 24, "PARAM": 64}
    assert result.dram_written == {"FEATURE_MAP": 18}


def test_program_as_bytes() -> None:
    program = np.array(random_ops.program(NANO, LOAD, SAVE), dtype="<u4").tobytes()
    memory = np.arange(256, dtype=np.uint8)
    FunctionalMachine(NANO).run(program, memory, {Region.CONST: 0})
    np.testing.assert_array_equal(memory[64:78], [0, 1, 2, 67, 68, 4, 5, 6, 72, 73, 8, 9, 10, 77])


def test_buffers_keep_their_contents_from_run_to_run() -> None:
    machine = FunctionalMachine(NANO)
    machine.run(random_ops.program(NANO, LOAD), np.arange(256, dtype=np.uint8), {})
    memory = np.zeros(256, np.uint8)
    machine.run(random_ops.program(NANO, SAVE), memory, {})
    np.testing.assert_array_equal(memory[64:67], [0, 1, 2])


def test_progress_is_told_about_twice_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock on which each instruction takes 0.2 seconds; the program runs the same if nobody is told."""
    program = random_ops.program(NANO, *([SAVE] * 20))
    words = {word for _, word in instructions(program, NANO)}
    seconds = iter(range(10**6))
    monkeypatch.setattr("sim.functional.machine.time.monotonic", lambda: 0.2 * next(seconds))
    told: list[int] = []
    result = FunctionalMachine(NANO).run(program, np.zeros(256, np.uint8), {}, progress=told.append)
    assert set(told) <= words
    assert told == sorted(set(told))
    assert 6 <= len(told) <= 8
    seconds = iter(range(10**6))
    assert FunctionalMachine(NANO).run(program, np.zeros(256, np.uint8), {}).instructions == result.instructions


def test_results_are_values() -> None:
    """Only what an instruction collects can be changed."""
    assert changeable(sim.functional) == {"Footprint", "Context"}


def test_sums_of_full_scale_products_wrap_like_int32() -> None:
    """More than 1024 products of (-128)^2: beyond what one float32 sum holds."""
    x = np.full((2, 2600), -128, dtype=np.int8)
    x[1, ::3] = 127
    weights = np.full((3, 2600), -128, dtype=np.int8)
    weights[1] = np.arange(2600) % 256 - 128
    expected = x.astype(np.int64) @ weights.astype(np.int64).T
    np.testing.assert_array_equal(conv.exact_product(x, weights.astype(np.float32)), expected)
    assert np.abs(expected).max() > 2**24


def test_accumulated_sums_wrap() -> None:
    machine = FunctionalMachine(NANO)
    machine.state.feature_map[:3] = 127
    machine.state.buffers[Buffer.WEIGHT][0] = 127
    machine.state.accumulators[:3] = 2**31 - 10
    keep = Op("CONV", WINDOW | {"chunks": 1, "acc_in": 1, "acc_out": 1})
    machine.run(random_ops.program(NANO, keep), np.zeros(64, np.uint8), {})
    assert (machine.state.accumulators[:3] == 2**31 - 10 + 4 * 127**2 - 2**32).all()


@pytest.mark.parametrize("name", ["CONV", "POOL"])
def test_results_do_not_depend_on_the_block_size(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conv, "GATHERED_BYTES", 1)
    monkeypatch.setattr(pool, "GATHERED_WORDS", 1)
    generate = {"CONV": random_ops.random_conv, "POOL": random_ops.random_pool}[name]
    for seed in range(5):
        assert_same_state(*run_both(random_ops.ODD, [generate(random.Random(seed), random_ops.ODD)], seed))


@pytest.mark.parametrize(
    "op",
    [
        Op("LOAD", {**LOAD.values, "d_xs": 0}),
        Op("SAVE", {**SAVE.values, "row_stride": 2}),
        Op("CONV", WINDOW | {"chunks": 5, "o_xs": 0, "o_addr": 900, "lo": -128, "hi": 127}),
        Op("CONV", WINDOW | {"chunks": 5, "o_cs": 1, "o_addr": 900, "lo": -128, "hi": 127}),
        Op("POOL", WINDOW | {"vectors": 3, "i_cs": 7, "o_cs": 1, "o_addr": 900, "lo": -128, "hi": 127}),
        Op("MISC", {"n0": 1, "n1": 1, "n2": 2, "n3": 3, "n4": 4, "a_s3": 4, "a_s4": 1, "o_s2": 1, "o_s3": 1, "m_a": 1 << 20,
                    "shift": 20, "mode": 2, "o_addr": 900, "lo": -128, "hi": 127}),
    ],
    ids=["LOAD", "SAVE", "CONV pixels", "CONV vectors", "POOL", "MISC"],
)  # fmt: skip
def test_of_several_writes_to_one_word_the_last_stays(op: Op) -> None:
    for config in random_ops.CONFIGS:
        assert_same_state(*run_both(config, [op], seed=3))


def test_random_sequences() -> None:
    """State carries over: accumulators, buffers and feature maps, several instructions on end."""
    generators = [
        random_ops.random_load, random_ops.random_loadp, random_ops.random_conv, random_ops.random_pool, random_ops.random_misc,
        random_ops.random_save,
    ]  # fmt: skip
    for seed in range(6):
        rng = random.Random(f"sequence {seed}")
        for config in random_ops.CONFIGS:
            ops = [rng.choice(generators)(rng, config) for _ in range(6)]
            # Where a pixel group ends in surplus lanes, the sums left there are unspecified: single entries only.
            ops = [op for op in ops if not op["acc_out"] or config.px_p == 1]
            assert_same_state(*run_both(config, ops, seed))
