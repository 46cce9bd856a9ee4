"""Footprints, against the accesses that the scalar machine records."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isa.codec import Op
from isa.config import MachineConfig, preset
from isa.faults import Fault, MachineFault
from isa.instructions import MiscMode
from sim.functional.footprint import Runs, Space, footprint, lowest_common, merged, overlaps_itself, runs_of
from sim.functional.machine import FunctionalMachine
from tests.sim.functional import random_ops
from tests.sim.functional.naive import NaiveMachine

GENERATORS = {
    "CONV": random_ops.random_conv,
    "POOL": random_ops.random_pool,
    "MISC": random_ops.random_misc,
    "LOAD": random_ops.random_load,
    "SAVE": random_ops.random_save,
    "LOADP": random_ops.random_loadp,
}
RANGES = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6)), min_size=1, max_size=5)


def expanded(accesses: dict[Space, Runs]) -> set[tuple[str, int]]:
    return {(space.name, n) for space, runs in accesses.items() for first, past in runs for n in range(first, past)}


@pytest.mark.parametrize("config", random_ops.CONFIGS, ids=lambda c: c.name)
@pytest.mark.parametrize("name", GENERATORS)
def test_footprint_is_what_the_scalar_machine_touches(name: str, config: MachineConfig) -> None:
    for seed in range(12):
        rng = random.Random(f"footprint {seed}")
        op = GENERATORS[name](rng, config)
        naive = NaiveMachine(config)
        random_ops.fill(FunctionalMachine(config), naive, rng)
        naive.execute(op, random_ops.random_memory(rng), random_ops.BASES)
        touched = footprint(op, config, random_ops.BASES)
        assert expanded(touched.writes) == naive.writes
        if name != "LOAD":
            assert expanded(touched.reads) == naive.reads
        else:
            # A LOAD fetches whole rows, also bytes that no pixel takes.
            assert expanded(touched.reads) >= naive.reads


def test_load_fetches_every_valid_byte() -> None:
    op = Op("LOAD", {"rows": 2, "pixels": 1, "step": 4, "run": 4, "valid": 10, "row_stride": 100, "offset": 8})
    touched = footprint(op, random_ops.NANO, random_ops.BASES)
    np.testing.assert_array_equal(touched.reads[Space.DRAM], [[8, 18], [108, 118]])


def test_instruction_that_leaves_a_buffer_names_its_place() -> None:
    op = Op("LOADP", {"count": 1, "dst": 60000})
    with pytest.raises(MachineFault) as stopped:
        footprint(op, preset("nano"), random_ops.BASES, pc=17)
    assert (stopped.value.fault, stopped.value.pc) == (Fault.BUFFER_ADDRESS, 17)


@pytest.mark.parametrize(
    ("values", "overlap"),
    [
        ({"a_addr": 100, "o_addr": 100}, False),
        ({"a_addr": 100, "o_addr": 110}, False),
        ({"a_addr": 100, "o_addr": 101}, True),
        ({"a_addr": 101, "o_addr": 100}, True),
        ({"a_addr": 50, "b_addr": 101, "o_addr": 100}, True),
        ({"a_addr": 50, "b_addr": 101, "o_addr": 100, "mode": MiscMode.PASS}, False),
        ({"a_addr": 100, "o_addr": 100, "a_s4": 0}, True),
        ({"a_addr": 100, "o_addr": 100, "a_s4": 0, "o_s4": 0}, True),
    ],
    ids=["in place", "apart", "ahead", "behind", "B behind", "PASS reads no B", "broadcast", "one word"],
)
def test_misc_may_work_in_place_but_not_across_iterations(values: dict[str, int], overlap: bool) -> None:
    op = Op("MISC", {"n0": 1, "n1": 1, "n2": 1, "n3": 1, "n4": 4, "a_s4": 1, "b_s4": 1, "o_s4": 1, **values})
    assert overlaps_itself(op, footprint(op, random_ops.NANO, random_ops.BASES), random_ops.NANO) == overlap


def ranges(pairs: list[tuple[int, int]]) -> Runs:
    return np.array([(first, first + length) for first, length in pairs], dtype=np.int64)


def members(runs: Runs) -> set[int]:
    return {n for first, past in runs for n in range(first, past)}


@given(RANGES)
def test_merged(pairs: list[tuple[int, int]]) -> None:
    result = merged(ranges(pairs))
    assert members(result) == members(ranges(pairs))
    assert (result[1:, 0] > result[:-1, 1]).all()
    np.testing.assert_array_equal(runs_of(np.array(sorted(members(result)))), result)


@given(RANGES, RANGES)
def test_lowest_common(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    common = members(ranges(one)) & members(ranges(other))
    assert lowest_common(merged(ranges(one)), merged(ranges(other))) == min(common, default=None)
