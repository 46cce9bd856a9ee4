"""Random programs are legal, free of races and the same every time; their tokens are those that hazards ask for."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, replace

import numpy as np
import pytest

from isa.codec import Op
from isa.config import PRESETS, preset
from isa.instructions import Buffer, MiscMode, PoolMode, Unit
from sim.functional.hazards import find_races
from sim.random.configs import any_config
from sim.random.draw import LONGEST_LOAD, longest_load
from sim.random.engines import functional
from sim.random.footprint import Dram, Footprint, OutOfRange, Space, distinct, footprint
from sim.random.fuzz import run_machines
from sim.random.program import ProgramError, directed_program, random_program
from sim.random.tokens import hazards, serial_needs, with_tokens

NANO = preset("nano")
DRAM = Dram(dict.fromkeys(range(4), 0), 1 << 14)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "count"), [("nano", 40), ("ulx3s", 4), ("pynq", 4), ("base", 4), ("k26", 4), ("zu2", 4), ("zu9", 3)]
)
def test_programs_are_legal_and_without_races(name: str, count: int) -> None:
    for seed in range(count):
        program = random_program(PRESETS[name], seed)
        assert functional(program).fault is None
        assert next(find_races(program.words, program.config, program.bases), None) is None


@pytest.mark.parametrize("shape", [(0,), (1,), (7, 3), (400,)])
def test_distinct_cells_are_those_of_numpy(shape: tuple[int, ...]) -> None:
    cells = np.random.default_rng(sum(shape)).integers(-9, 99, shape)
    assert np.array_equal(distinct(cells), np.unique(cells))


def test_lane_counts_of_all_kinds() -> None:
    for n, lanes in enumerate([(1, 1, 1), (5, 3, 3), (3, 8, 2), (7, 2, 1), (4, 9, 4)]):
        ic_p, oc_p, px_p = lanes
        config = replace(NANO, ic_p=ic_p, oc_p=oc_p, px_p=px_p, fm_banks=8, fm_depth=512, window_bytes=64)
        program = random_program(config, n)
        assert functional(program).fault is None


def test_random_machines_differ_in_every_field() -> None:
    machines = [asdict(any_config(seed)) for seed in range(120)]
    assert [name for name in machines[0] if len({str(machine[name]) for machine in machines}) < 2] == []
    assert {machine["axi_data_bits"] for machine in machines} == {32, 64, 128, 256, 512}
    assert min(machine["ic_p"] for machine in machines) == 1
    assert any_config(3) == any_config(3)


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_programs_on_random_machines_are_legal_and_without_races(first: int) -> None:
    assert run_machines(10, first, 1, "functional").failures == []


def test_a_machine_without_optional_units_gets_no_work_for_them() -> None:
    config = replace(NANO, build_pool=False, build_misc=False)
    names = {op.name for seed in range(10) for op in random_program(config, seed).ops}
    assert names == {"LOAD", "LOADP", "SAVE", "CONV"}


@pytest.mark.parametrize(("reads", "beats", "share"), [(64, 256, 1.0), (1, 64, 0.5), (1, 1, 1 / 9), (4, 4, 16 / 68)])
def test_loads_are_shorter_where_few_bursts_hide_the_latency(reads: int, beats: int, share: float) -> None:
    config = replace(NANO, axi_reads=reads, axi_burst_beats=beats)
    assert longest_load(config) == int(LONGEST_LOAD * NANO.axi_bytes * share)


def test_a_machine_with_one_short_burst_in_flight_does_not_wait_for_ever() -> None:
    slow = replace(preset("base"), axi_reads=1, axi_burst_beats=1, axi_data_bits=32)
    programs = [random_program(slow, seed) for seed in range(40)]
    loads = [op for program in programs for op in program.ops if op.name == "LOAD"]
    weights = [op for program in programs for op in program.ops if op.name == "LOADP" and op["buffer"] == Buffer.WEIGHT]
    assert max(op["valid"] for op in loads if op["rows"] == 1 and op["step"] == op["run"]) == longest_load(slow)
    assert {op["k_h"] for program in programs for op in program.ops if op.name == "CONV"} >= {1, 2, 3}
    assert weights
    assert all(op["count"] * slow.buffer_dram_bytes("WEIGHT") <= longest_load(slow) for op in weights if op["count"] > 12)


def test_a_seed_gives_the_same_program_every_time() -> None:
    one, two, other = random_program(NANO, 5), random_program(NANO, 5), random_program(NANO, 6)
    assert one.words == two.words
    assert np.array_equal(one.memory, two.memory)
    assert one.words != other.words


def test_all_modes_come_up() -> None:
    seen: Counter[str] = Counter()
    for seed in range(60):
        for op in random_program(NANO, seed).ops:
            seen[op.name] += 1
            switches = ("acc_in", "acc_out", "g_chunks", "i_ring", "flip", "lead", "by_count")
            seen.update(f"{op.name} {name}" for name in switches if op[name])
            if op.name == "POOL":
                seen[PoolMode(op["mode"]).name] += 1
            if op.name == "MISC":
                seen[MiscMode(op["mode"]).name] += 1
                seen["in place"] += op["a_addr"] == op["o_addr"]
            if op.name == "LOAD":
                seen["windows" if op["step"] < op["run"] else "gather" if op["step"] > op["run"] else "dense"] += 1
    wanted = {
        "LOAD", "LOADP", "SAVE", "CONV", "POOL", "MISC", "MAX", "AVERAGE", "DEPTHWISE", "ADD", "MUL", "PASS", "in place",
        "windows", "gather", "dense", "CONV acc_in", "CONV acc_out", "CONV g_chunks", "CONV i_ring", "POOL i_ring",
        "LOAD flip", "SAVE flip", "LOAD lead", "POOL by_count",
    }  # fmt: skip
    assert wanted <= set(seen)


def test_most_results_are_neither_saturated_nor_constant() -> None:
    """Otherwise wrong arithmetic would go unseen."""
    values = []
    for seed in range(20):
        program = random_program(NANO, seed, size=8)
        after = functional(program).memory
        assert after is not None
        values.append(after[1 << 15 :].view(np.int8))
    all_values = np.concatenate(values)
    assert np.isin(all_values, (-128, 127)).mean() < 0.3
    assert np.unique(all_values).size == 256


def cells(**spaces: list[int]) -> dict[Space, np.ndarray]:
    return {Space[name]: np.array(numbers) for name, numbers in spaces.items()}


OPS = [Op("LOAD"), Op("CONV"), Op("MISC"), Op("SAVE")]


def tokens_of(ops: list[Op], footprints: list[Footprint]) -> list[tuple[set[Unit], set[Unit]]]:
    made = with_tokens(ops, hazards(ops, footprints, NANO, DRAM))
    return [(set(op.wait), set(op.signal)) for op in made]


def test_a_chain_of_units_needs_one_token_at_each_step() -> None:
    footprints = [
        Footprint({}, cells(FM=[1])),
        Footprint(cells(FM=[1]), cells(FM=[2])),
        Footprint(cells(FM=[2]), cells(FM=[3])),
        Footprint(cells(FM=[1, 3])),
    ]
    assert tokens_of(OPS, footprints) == [
        (set(), {Unit.CONV}),
        ({Unit.LOAD}, {Unit.MISC}),
        ({Unit.CONV}, {Unit.SAVE}),
        ({Unit.MISC}, set()),
    ]


def test_write_after_read_and_write_after_write_need_tokens_between_units_only() -> None:
    reader, writer = Footprint(cells(FM=[1])), Footprint({}, cells(FM=[1]))
    assert tokens_of([Op("CONV"), Op("MISC")], [reader, writer]) == [(set(), {Unit.MISC}), ({Unit.CONV}, set())]
    assert tokens_of([Op("CONV"), Op("MISC")], [writer, writer]) == [(set(), {Unit.MISC}), ({Unit.CONV}, set())]
    assert tokens_of([Op("CONV"), Op("CONV")], [reader, writer]) == [(set(), set())] * 2
    assert tokens_of([Op("CONV"), Op("CONV")], [writer, writer]) == [(set(), set())] * 2


def test_a_unit_waits_for_itself_when_it_reads_what_it_wrote_but_not_for_accumulators() -> None:
    writer, reader = Footprint({}, cells(FM=[1], ACC=[0])), Footprint(cells(FM=[1]))
    assert tokens_of([Op("CONV"), Op("CONV")], [writer, reader]) == [(set(), {Unit.CONV}), ({Unit.CONV}, set())]
    assert tokens_of([Op("CONV"), Op("CONV")], [writer, Footprint(cells(ACC=[0]))]) == [(set(), set())] * 2


def test_a_serial_program_waits_at_every_step() -> None:
    ops = [*OPS, Op("SAVE")]
    assert [set(op.wait) for op in with_tokens(ops, serial_needs(ops))] == [
        set(), {Unit.LOAD}, {Unit.CONV}, {Unit.MISC}, {Unit.SAVE},
    ]  # fmt: skip


def test_footprint_of_a_padded_window() -> None:
    window = {"pad_t": 1, "pad_l": 1, "s_y": 1, "s_x": 1, "d_y": 1, "d_x": 1, "k_h": 3, "k_w": 3, "i_h": 2, "i_w": 2}
    rest = {"i_off": -2 % (1 << 24), "i_ys": 2, "t_ys": 2, "vectors": 1, "o_h": 2, "o_w": 2, "o_xs": 1, "o_ys": 2, "o_addr": 50}
    touched = footprint(Op("POOL", {**window, **rest, "i_addr": 10, "mode": int(PoolMode.MAX)}), NANO, DRAM)
    assert touched.reads[Space.FM].tolist() == [10, 11, 12, 13]
    assert touched.writes[Space.FM].tolist() == [50, 51, 52, 53]
    assert not touched.conflicts


def test_footprint_outside_the_buffer() -> None:
    with pytest.raises(OutOfRange):
        footprint(Op("SAVE", {"rows": 1, "pixels": 2, "run": 4, "step": 4, "s_xs": 1, "s_addr": NANO.fm_words - 1}), NANO, DRAM)


def test_misc_may_work_in_place_and_no_other_way_on_its_operands() -> None:
    loops = {"n0": 1, "n1": 1, "n2": 1, "n3": 1, "n4": 4, "a_s4": 1, "o_s4": 1, "mode": int(MiscMode.PASS)}
    assert not footprint(Op("MISC", {**loops, "o_addr": 0}), NANO, DRAM).conflicts
    assert footprint(Op("MISC", {**loops, "o_addr": 1}), NANO, DRAM).conflicts
    assert not footprint(Op("MISC", {**loops, "o_addr": 4}), NANO, DRAM).conflicts


def test_an_illegal_directed_instruction_is_refused() -> None:
    with pytest.raises(ProgramError, match="not a legal instruction at this place"):
        directed_program(NANO, [Op("SAVE", {"rows": 1, "pixels": 1, "run": 2, "step": 1})])
