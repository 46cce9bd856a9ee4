"""Whole programs that cores share: any strategy's groups leave the reference, and phases are as few as they can be."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from compiler.emit.program import Segment, emit_program
from compiler.planning.plan import Plan
from compiler.programs.together import shared_steps
from compiler.search.effort import effort_of
from compiler.search.strategies import STRATEGIES
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import EltwiseKind, PoolKind
from isa.config import preset
from tests.compiler.at_once import check_at_once, steps_of
from tests.compiler.graphs import Builder

NANO = replace(preset("nano"), chip="")
QUICK = effort_of("quick")


def residual(images: int = 1) -> XGraph:
    """Large maps first, many channels last, and between them a block with two ways. The last layers are too small to share, and
    of one shape with other weights."""
    b = Builder(0)
    x = b.conv(b.input(24, 24, 4, n=images), 8, (3, 3), (2, 2))
    y = b.eltwise(EltwiseKind.ADD, b.conv(b.conv(x, 8), 8), x)
    z = b.pool(b.conv(y, 16, (3, 3), (2, 2)), PoolKind.AVERAGE)
    for _ in range(3):
        z = b.conv(z, 16, (1, 1))
    return b.graph(z)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_groups_of_every_strategy_can_be_shared(strategy: str) -> None:
    graph = residual()
    found = shared_steps(NANO, graph, 2, strategy, QUICK)
    emitted = emit_program(NANO, graph, found.steps, found.sharing)
    assert steps_of(NANO, emitted).cores == 2
    check_at_once(NANO, graph, emitted)


@pytest.mark.parametrize(("cores", "images"), [(3, 1), (2, 3)])
def test_more_cores_and_more_images(cores: int, images: int) -> None:
    graph = residual(images)
    found = shared_steps(NANO, graph, cores, "best", QUICK)
    emitted = emit_program(NANO, graph, found.steps, found.sharing)
    assert steps_of(NANO, emitted).cores == cores
    check_at_once(NANO, graph, emitted)


def test_groups_of_one_core_that_follow_one_another_are_one_step() -> None:
    graph = residual()
    steps = shared_steps(NANO, graph, 2, "naive", QUICK).steps
    plans = [step for step in steps if isinstance(step, Plan)]
    kinds = [bool(plan.cores) for plan in plans]
    assert kinds[-2:] == [False, False], "layers of a few pixels"
    emitted = emit_program(NANO, graph, steps)
    stretches = 1 + sum(before or after for before, after in pairwise(kinds))
    assert len(steps_of(NANO, emitted).phases) == stretches < len(plans)
    assert [segment.core for segment in emitted.segments if isinstance(segment, Segment)][-1] == 0
