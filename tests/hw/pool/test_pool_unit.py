"""POOL against a naive reference: windows, averages, depthwise products; its rate, its latency and its faults."""

from __future__ import annotations

import copy
import random
from dataclasses import replace

import numpy as np
import pytest

from isa.codec import Op, broken_rule
from isa.config import MachineConfig, preset
from isa.faults import Fault
from isa.instructions import Activation, PoolMode
from sim.cycle.costs import COSTS, WindowCost
from tests.hw.pool.pool_bench import Run, run_pool
from tests.hw.pool.pool_reference import (
    Fields,
    Machine,
    flatten,
    plain_pool,
    pool,
    random_machine,
    random_pool,
    small_config,
    taps_of,
)
from tests.tables import in_turn, one_in

SHAPES = {
    "one pixel": small_config(4, 1),
    "three pixels": small_config(5, 3),
    "two pixels, finished lane by lane": small_config(3, 2, pool_finish=1),
    "finished in thirds": small_config(6, 2, pool_finish=2),
    "two taps of one pixel": small_config(4, 1, pool_finish=2, taps=2),
    "three taps of two pixels": small_config(3, 2, taps=3),
    "three taps of two pixels, packed": small_config(3, 2, taps=3, packed=True),
    "two taps of three pixels, packed": small_config(2, 3, taps=2, packed=True),
    "four taps of one pixel": small_config(2, 1, taps=4),
    "two taps of two pixels": small_config(4, 2, pool_finish=2, taps=2),
    "two taps of two pixels by turns": small_config(4, 2, pool_finish=2, taps=2, packed=True, clock=2),
    "two taps of one pixel by turns": small_config(3, 1, taps=2, packed=True, clock=2),
    "finished in halves, three taps": small_config(8, 2, pool_finish=4, taps=3, packed=True),
    "two taps of three pixels by turns": small_config(2, 3, pool_finish=1, taps=2, packed=True, clock=2),
}


def expected_words(machine: Machine, program: list[Fields]) -> list[int]:
    after = copy.deepcopy(machine)
    for f in program:
        pool(f, after)
    return flatten(after.words)


def check(machine: Machine, program: list[Fields], **how: float) -> Run:
    for f in program:
        assert broken_rule(Op("POOL", f), machine.config) is None
    run = run_pool(machine, program, **how)  # type: ignore[arg-type]
    assert run.fault is None
    assert run.words == expected_words(machine, program)
    assert not run.busy_after
    return run


@pytest.mark.parametrize(("shape", "mode"), in_turn([*SHAPES], [*PoolMode]))
def test_padded_window_over_two_vectors(mode: PoolMode, shape: str) -> None:
    machine = random_machine(SHAPES[shape], random.Random(1))
    f = plain_pool(mode, pad_t=1, pad_l=1, i_off=(1 << 24) - 6, o_h=6, o_w=6, o_ys=6, o_cs=36, vectors=2, pad_value=-9)
    check(machine, [f])


def test_average_by_count_chooses_the_parameter_word() -> None:
    machine = random_machine(small_config(), random.Random(2))
    padded = {"pad_t": 2, "pad_l": 2, "i_off": (1 << 24) - 12, "o_h": 7, "o_w": 7, "o_ys": 7, "p_step": 10}
    check(machine, [plain_pool(PoolMode.AVERAGE, by_count=1, vectors=2, pad_value=50, **{**padded, "o_cs": 49})])


@pytest.mark.parametrize(
    ("mode", "rows", "columns", "taps_depth", "config", "byte"),
    [
        *((PoolMode.DEPTHWISE, 16, 32, 512, small_config(2, 1, taps=4), byte) for byte in (-128, 127)),
        *((PoolMode.DEPTHWISE, 16, 32, 512, small_config(2, 1, taps=4, packed=True), byte) for byte in (-128, 127)),
        (PoolMode.DEPTHWISE, 16, 32, 512, small_config(2, 1, taps=2, packed=True, clock=2), -128),
        *(
            pytest.param(PoolMode.AVERAGE, 255, 255, 60, small_config(2, 1, taps=4), byte, marks=pytest.mark.slow)
            for byte in (-128, 127)
        ),
    ],
)
def test_the_greatest_sum_that_a_window_can_have(
    mode: PoolMode, rows: int, columns: int, taps_depth: int, config: MachineConfig, byte: int
) -> None:
    """Every word of the taps, or as many bytes as fields can say, all of them as far from zero as they go."""
    config = replace(config, taps_depth=taps_depth)
    machine = random_machine(config, random.Random(4))
    machine.taps = [[-128] * config.ic_p for _ in machine.taps]
    machine.params = [[(0, 1 << 23, 23 + 18)] * config.ic_p for _ in machine.params]
    padding = {"pad_t": 255, "pad_l": 255, "i_off": (1 << 24) - 255 * 6, "i_h": 1, "i_w": 1, "pad_value": byte}
    check(machine, [plain_pool(mode, k_h=rows, k_w=columns, o_h=1, o_w=1, w_zp=127, **padding)], limit=20_000)


def test_a_window_of_padding_alone() -> None:
    machine = random_machine(small_config(), random.Random(3))
    far = {"pad_t": 9, "i_off": (1 << 24) - 54, "o_h": 1}
    ways = [*((mode, 0) for mode in PoolMode), (PoolMode.AVERAGE, 1)]
    check(machine, [plain_pool(mode, pad_value=-5, by_count=by_count, **far) for mode, by_count in ways])


def test_activations() -> None:
    machine = random_machine(small_config(), random.Random(4))
    kinds = [
        {"act": Activation.TABLE.value, "table": 1},
        {"zp": 9, "lo": 0, "hi": 40},
    ]
    check(machine, [plain_pool(PoolMode.DEPTHWISE, o_addr=256 + 16 * n, **kind) for n, kind in enumerate(kinds)])


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("shape", one_in(2, SHAPES))
def test_random_programs_on_a_machine_that_stalls(shape: str, seed: int) -> None:
    rng = random.Random(f"{shape} {seed}")
    machine = random_machine(SHAPES[shape], rng)
    program = [random_pool(rng, machine.config) for _ in range(4)]
    check(machine, program, grant=rng.choice([1.0, 0.7, 0.4]), write_grant=rng.choice([1.0, 0.6, 0.2]), seed=seed)


@pytest.mark.parametrize(
    ("mode", "stride", "px_p"),
    [
        *((PoolMode.DEPTHWISE, *how) for how in [(1, 1), (1, 3), (2, 3), (2, 2), (1, 4)]),
        (PoolMode.MAX, 1, 3),
        (PoolMode.AVERAGE, 2, 3),
    ],
)
def test_one_tap_per_cycle_from_instruction_to_instruction(mode: PoolMode, stride: int, px_p: int) -> None:
    """Rows whose pitch is congruent to their length modulo the phases, times the stride: lanes never collide."""
    machine = random_machine(small_config(5, px_p), random.Random(5))
    if stride == 1:
        f = plain_pool(mode, i_w=18, i_cs=108, i_ys=16, t_ys=16, o_h=3, o_w=16, o_ys=16, o_cs=48)
    else:
        f = plain_pool(mode, i_w=17, i_ys=16, t_ys=16, o_h=2, o_w=8, o_ys=8, o_cs=16, s_y=2, s_x=2)
    program = [f, {**f, "o_addr": 310}, {**f, "o_addr": 400}]
    run = check(machine, program)
    taps = sum(taps_of(f, px_p) for f in program)
    assert len(run.active) == taps
    assert run.active[-1] - run.active[0] + 1 == taps


@pytest.mark.parametrize("name", one_in(4, ["zu2", "base", "k26", "zu9"]))
def test_presets(name: str) -> None:
    machine = random_machine(preset(name), random.Random(11))
    f = plain_pool(PoolMode.DEPTHWISE, s_y=2, s_x=2, i_ys=8, t_ys=8, i_cs=48, vectors=2, o_h=2, o_w=4, i_w=8, o_cs=8)
    run = check(machine, [f])
    assert len(run.active) == cost_of(f, machine).active


def cost_of(f: Fields, machine: Machine) -> WindowCost:
    cost = COSTS["POOL"](machine.config, {name: np.array([value]) for name, value in f.items()})[0]
    assert isinstance(cost, WindowCost)
    return cost


SEVERAL = [name for name, config in SHAPES.items() if config.pool_taps > 1]


@pytest.mark.parametrize("shape", one_in(3, SEVERAL))
def test_several_taps_take_the_steps_that_the_cycle_model_counts(shape: str) -> None:
    """The first step comes when all its words have; the last reduction holds up nobody."""
    rng = random.Random(shape)
    machine = random_machine(SHAPES[shape], rng)
    for _ in range(3):
        f = random_pool(rng, machine.config)
        cost, run = cost_of(f, machine), check(machine, [f])
        assert len(run.active) == cost.active
        assert run.active[-1] - run.active[0] <= cost.cycles


@pytest.mark.parametrize("shape", ["three taps of two pixels", "three taps of two pixels, packed"])
@pytest.mark.parametrize(("stride", "cycles"), [(1, 3), (2, 6)])
def test_a_3x3_window_of_two_pixels(shape: str, stride: int, cycles: int) -> None:
    """A cycle for each kernel row, four neighbouring words in each; at stride 2 twice as many, six words in two cycles."""
    machine = random_machine(SHAPES[shape], random.Random(12))
    f = plain_pool(PoolMode.DEPTHWISE, s_y=stride, s_x=stride, i_w=17, i_ys=20, t_ys=20, o_h=2, o_w=8, o_ys=8, o_cs=16, w_zp=-3)
    run = check(machine, [f, {**f, "o_addr": 300}])
    assert run.active == list(range(run.active[0], run.active[0] + 2 * 8 * cycles))


@pytest.mark.parametrize("px_p", [1, 2, 3])
def test_a_single_pixel_is_written_per_cycle_where_taps_are_few(px_p: int) -> None:
    machine = random_machine(small_config(4, px_p), random.Random(6))
    f = plain_pool(PoolMode.AVERAGE, k_h=1, k_w=1, o_h=1, o_w=60, i_w=60, o_ys=60)
    run = check(machine, [f])
    assert run.write_cycles[-1] - run.write_cycles[0] + 1 == 60


@pytest.mark.parametrize("px_p", [1, 2, 4])
def test_start_and_drain_take_at_most_41_cycles(px_p: int) -> None:
    machine = random_machine(small_config(4, px_p), random.Random(7))
    f = plain_pool(PoolMode.DEPTHWISE)
    run = check(machine, [f])
    start = run.active[0] - run.accepted[0]
    drain = run.done[0] - run.active[-1]
    assert start + drain <= 41, f"{start} to start, {drain} to drain"


def test_done_comes_in_order_after_the_last_write_of_each() -> None:
    machine = random_machine(small_config(), random.Random(8))
    small = {"k_h": 1, "k_w": 1, "o_h": 1}
    widths = [1, 4, 2, 1, 1, 3, 1, 5]
    program = [plain_pool(PoolMode.MAX, o_addr=256 + 8 * n, o_w=w, **small) for n, w in enumerate(widths)]
    run = check(machine, program, grant=0.8, write_grant=0.3)
    assert run.written_at_done == [sum(widths[: n + 1]) for n in range(len(widths))]


def test_a_refused_bank_is_counted() -> None:
    machine = random_machine(small_config(), random.Random(9))
    f = plain_pool(PoolMode.MAX)
    assert check(machine, [f]).wait_bank == 0 < check(machine, [f], grant=0.5).wait_bank


def fault_of(f: Fields, config_px: int = 3) -> tuple[int, int] | None:
    machine = random_machine(small_config(5, config_px), random.Random(10))
    return run_pool(machine, [plain_pool(PoolMode.MAX), f]).fault


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"mode": PoolMode.MAX, "i_addr": 490}, Fault.FM_ADDRESS),
        ({"mode": PoolMode.MAX, "o_addr": 512 - 15}, Fault.FM_ADDRESS),
        ({"mode": PoolMode.MAX, "o_addr": (1 << 20) - 1}, Fault.FM_ADDRESS),
        ({"mode": PoolMode.DEPTHWISE, "t_addr": 60 - 8}, Fault.BUFFER_ADDRESS),
        ({"mode": PoolMode.DEPTHWISE, "t_step": 1 << 15, "vectors": 3}, Fault.BUFFER_ADDRESS),
        ({"mode": PoolMode.DEPTHWISE, "p_addr": 50}, Fault.BUFFER_ADDRESS),
        ({"mode": PoolMode.AVERAGE, "p_addr": 0xFFFF}, Fault.BUFFER_ADDRESS),
        ({"mode": PoolMode.AVERAGE, "p_addr": 1, "p_step": 0xFFFF, "vectors": 2}, Fault.BUFFER_ADDRESS),
        ({"mode": PoolMode.AVERAGE, "p_addr": 50 - 9, "by_count": 1}, Fault.BUFFER_ADDRESS),
    ],
)
def test_words_outside_the_buffers(fields: Fields, fault: Fault) -> None:
    assert fault_of({**plain_pool(PoolMode.MAX), **fields}) == (fault, 2)


@pytest.mark.parametrize(
    "fields",
    [
        {"mode": PoolMode.MAX, "o_addr": 512 - 16, "t_addr": 0xFFFF, "p_addr": 0xFFFF},
        {"mode": PoolMode.AVERAGE, "i_addr": 512 - 36, "t_addr": 0xFFFF, "p_addr": 49},
        {"mode": PoolMode.AVERAGE, "p_addr": 50 - 10, "by_count": 1},
        {"mode": PoolMode.DEPTHWISE, "t_addr": 60 - 9},
    ],
)
def test_the_last_words_are_inside_and_unused_fields_do_not_matter(fields: Fields) -> None:
    assert fault_of({**plain_pool(PoolMode.MAX), **fields}) is None
