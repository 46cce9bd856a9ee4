"""What instructions say of themselves, for order and tokens, beside what they do: words, bytes and cycles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from compiler.emit.group import emit_plan
from compiler.emit.parameters import Parameters, UnpackedImage
from compiler.instructions.pending import Access, Pending, Space
from compiler.memory.storage import storage_of
from compiler.planning.homes import Homes
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Eltwise, EltwiseKind, Finish
from isa.codec import Op
from isa.config import MachineConfig
from isa.instructions import Region
from sim.cycle.costs import COSTS, WindowCost
from sim.functional import footprint as machine
from tests.compiler.emit.test_group_code import CASES, CONFIGS
from tests.compiler.graphs import Builder

BY_NAME = {config.name: config for config in CONFIGS}
SLACK = {"CONV": (4, 4), "LOADP": (4, 4), "MISC": (4, 4), "SAVE": (4, 8), "LOAD": (-16, 8), "POOL": (-8, 4)}
"""Cycles by which the estimate may differ from what the unit takes alone: with what it takes to start; LOAD and POOL, whose
rows or taps may meet in a bank or share a beat, only about."""
STEPS = {"d_ys", "s_ys", "o_s1", "o_s2", "o_s3", "a_s1", "a_s3", "b_s3"}
"""Fields that may be the distance of rows."""


def compared(b: Builder) -> list[str]:
    """Of maps with other widths, and by a pixel for all."""
    x = b.input(9, 7, 20)
    y = b.eltwise(EltwiseKind.MAX, x, b.conv(x, 20, (1, 1)))
    return [b.eltwise(EltwiseKind.MUL, y, b.input(1, 1, 20))]


@cache
def planned(name: str) -> tuple[tuple[XGraph, Plan], ...]:
    """Many graphs, each in one group, on a machine."""
    found = []
    for number, case in enumerate((*CASES, compared)):
        b = Builder(number)
        graph = b.graph(*case(b))
        (plan,) = (step for step in plans_of(BY_NAME[name], graph, [b.ops]) if isinstance(step, Plan))
        found.append((graph, plan))
    return tuple(found)


@cache
def emitted(name: str) -> tuple[Pending, ...]:
    """All instructions of these groups."""
    config = BY_NAME[name]
    found: list[Pending] = []
    for graph, plan in planned(name):
        views = {name: home.view for name, home in storage_of(graph).items()}
        homes = Homes({n: views[n] for n in plan.group.inputs}, {n: (views[n],) for n in plan.group.outputs})
        found += emit_plan(config, plan, homes, Parameters(config, UnpackedImage(config)))
    return tuple(found)


def told(accesses: Iterable[Access]) -> dict[Space, set[int]]:
    found: dict[Space, set[int]] = defaultdict(set)
    for access in accesses:
        for run in range(access.count):
            first = access.start + run * access.stride
            found[access.space].update(range(first, first + access.length))
    return found


def touched(runs: dict[machine.Space, machine.Runs]) -> dict[Space, set[int]]:
    """By the functional simulator; DRAM's bytes are those of WORK."""
    spaces = {machine.Space.FEATURE_MAP: Space.FM, machine.Space.DRAM: Space.WORK}
    return {
        spaces[space] if space in spaces else Space[space.name]: {n for begin, end in pairs.tolist() for n in range(begin, end)}
        for space, pairs in runs.items()
    }


@pytest.mark.parametrize("name", BY_NAME)
def test_what_an_instruction_touches_is_what_it_says(name: str) -> None:
    """And, but for windows, no more than lies between what it touches; parameters in DRAM are never written."""
    for pending in emitted(name):
        real = machine.footprint(Op(pending.name, pending.values), BY_NAME[name], dict.fromkeys(Region, 0))
        for accesses, runs in ((pending.reads, real.reads), (pending.writes, real.writes)):
            said, found = told(accesses), touched(runs)
            said.pop(Space.ACCUMULATOR, None)
            if pending.name == "LOADP":
                found.pop(Space.WORK, None)
            assert said.keys() == found.keys(), f"{pending.name} of {pending.layer}"
            for space, words in found.items():
                assert words <= said[space], f"{pending.name} of {pending.layer}"
                most = pitch(pending) if space is Space.FM else 1
                # A chunk of several words may have some of them beyond the last channel.
                whole = space is not Space.FM or BY_NAME[name].words_per_chunk == 1
                if whole and (pending.name not in ("CONV", "POOL") or space is Space.WEIGHT):
                    assert min(words) - min(said[space]) < most, f"{pending.name} of {pending.layer}"
                    assert max(said[space]) - max(words) < most, f"{pending.name} of {pending.layer}"


def pitch(pending: Pending) -> int:
    """Words from row to row of what is moved or computed on chip, element by element."""
    return max([1, *(words for name, words in pending.values.items() if name in STEPS)])


@pytest.mark.parametrize("name", BY_NAME)
def test_sums_that_stay_take_an_entry_for_each_chunk_and_group_of_pixels(name: str) -> None:
    config, kept = BY_NAME[name], 0
    for pending in emitted(name):
        f = pending.values
        if pending.name == "CONV":
            count = f["chunks"] * -(-f["o_h"] * f["o_w"] // config.px_p)
            entries = Access(Space.ACCUMULATOR, f["a_addr"], count)
            assert (entries in pending.reads, entries in pending.writes) == (bool(f["acc_in"]), bool(f["acc_out"]))
            kept += f["acc_out"]
            said = [access.space for access in (*pending.reads, *pending.writes)]
            assert said.count(Space.ACCUMULATOR) == f["acc_in"] + f["acc_out"]
    assert kept > 0 or name in ("base", "zu2", "zu9")


@pytest.mark.parametrize("name", BY_NAME)
def test_the_estimate_of_cycles_is_that_of_the_cycle_model(name: str) -> None:
    config = BY_NAME[name]
    for pending in emitted(name):
        expected = cycles(config, pending)
        low, high = SLACK[pending.name]
        assert low <= pending.cycles - expected <= high, f"{pending.name} of {pending.layer}: {pending.values}"


@pytest.mark.parametrize("name", BY_NAME)
def test_blocks_pack_as_many_words_as_they_take(name: str) -> None:
    config = BY_NAME[name]
    for _, plan in planned(name):
        for part in plan.passes:
            for block in (block for blocks in part.residence.blocks.values() for block in blocks):
                packed = {buffer: words.shape for buffer, words in block.pack().items()}
                assert packed == {b: (words, config.buffer_dram_bytes(b.name)) for b, words in block.sizes.items()}


def cycles(config: MachineConfig, pending: Pending) -> int:
    """Of the instruction alone; of CONV without what its own lanes wait for each other at banks."""
    values = vars(Op(pending.name, pending.values).namespace())
    (cost,) = COSTS[pending.name](config, {key: np.array([value], np.int64) for key, value in values.items()})
    return cost.groups * cost.group if isinstance(cost, WindowCost) and pending.name == "CONV" else cost.cycles


def test_a_copy_in_its_operand_s_place_takes_no_instruction() -> None:
    """What LOAD brings SAVE takes; where the operand is read again, MISC copies."""
    config = BY_NAME["nano"]
    for again in (False, True):
        b = Builder(1)
        x = b.input(6, 5, 9)
        y = b.eltwise(EltwiseKind.PASS, x)
        graph = b.graph(y, b.conv(x, 8, (1, 1))) if again else b.graph(y)
        copy, *_ = b.ops
        assert isinstance(copy, Eltwise)
        ops = [replace(copy, m_a=1, c=0, shift=0, finish=Finish(copy.a_zp)), *b.ops[1:]]
        graph = graph.with_ops(ops, graph.tensors)
        (plan,) = (step for step in plans_of(config, graph, [ops]) if isinstance(step, Plan))
        views = {name: home.view for name, home in storage_of(graph).items()}
        homes = Homes({n: views[n] for n in plan.group.inputs}, {n: (views[n],) for n in plan.group.outputs})
        names = {each.name for each in emit_plan(config, plan, homes, Parameters(config, UnpackedImage(config)))}
        assert ("MISC" in names) is again
        assert {"LOAD", "SAVE"} <= names
