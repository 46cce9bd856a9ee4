"""What each effort gives up, and what it tells meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

import compiler.driver
import compiler.programs.timing
from compiler.driver import frugal_steps
from compiler.planning.objective import CYCLES, DRAM
from compiler.planning.plan import Plan
from compiler.programs.timing import forget_programs
from compiler.search.best import best
from compiler.search.cost import Evaluator
from compiler.search.crew import Crew
from compiler.search.effort import EFFORTS, NORMAL, effort_of
from compiler.search.partition import LeftOut
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, EltwiseKind
from isa.config import preset
from isa.errors import TilewrightError
from tests.compiler.graphs import Builder, pointwise_chain

NANO = preset("nano")


def diamonds() -> XGraph:
    b = Builder(0)
    x = b.input(12, 12, 8)
    for _ in range(3):
        x = b.eltwise(EltwiseKind.ADD, b.conv(x, 8), b.conv(x, 8, (1, 1)))
    return b.graph(x)


def test_quick_times_no_program_and_takes_the_least_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = diamonds()
    evaluator = Evaluator(NANO, graph)
    least = best(graph, evaluator, CYCLES)
    forget_programs()
    monkeypatch.setattr(compiler.programs.timing, "CycleModel", None)
    found = frugal_steps(NANO, graph, "best", "cycles", effort=EFFORTS["quick"])
    assert sum(step.cost.cycles for step in found.steps if isinstance(step, Plan)) == least.value
    with pytest.raises(TypeError):
        frugal_steps(NANO, graph, "best", "cycles")


@pytest.mark.parametrize("cores", [1, 2])
def test_a_program_that_is_too_long_is_not_timed_but_put_in_order(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    """The least sum of costs, as with effort quick, in less DRAM."""
    monkeypatch.setattr(compiler.driver, "crew_allowed", lambda: Crew(cores))
    graph = diamonds()
    timed = frugal_steps(NANO, graph, "best", "cycles")
    turns = sum(step.turns for step in timed.steps if isinstance(step, Plan))
    assert NORMAL.times(timed.steps)
    forget_programs()
    monkeypatch.setattr(compiler.programs.timing, "CycleModel", None)
    assert not replace(NORMAL, longest=turns - 1).times(timed.steps)
    quick = frugal_steps(NANO, graph, "best", "cycles", effort=EFFORTS["quick"])
    found = frugal_steps(NANO, graph, "best", "cycles", effort=replace(NORMAL, longest=0))
    assert sorted(map(groups_of, found.steps)) == sorted(map(groups_of, quick.steps))
    assert found.bytes < quick.bytes


def groups_of(step: Plan | Cpu) -> tuple[str, ...]:
    assert isinstance(step, Plan)
    return tuple(layer.output for layer in step.group.layers)


def test_full_weighs_longer_groups() -> None:
    graph = pointwise_chain(13, 16, 12, 8)
    found = {
        name: best(graph, Evaluator(NANO, graph, effort=effort), DRAM) for name, effort in EFFORTS.items()
    }  # fmt: skip
    assert found["quick"] == found["normal"]
    assert max(map(len, found["normal"].groups)) <= 10 < max(map(len, found["full"].groups))
    assert found["full"].value < found["normal"].value
    # What is proved of groups of ten says nothing of longer ones.
    assert found["normal"].exact
    assert found["normal"].bound <= found["full"].value
    assert found["normal"].left_out == LeftOut(0, longer=3, most_ops=10)
    assert (found["full"].left_out.groups, found["full"].gap) == (0, 0)


def test_what_is_being_done_is_told_with_what_is_done() -> None:
    told: list[str] = []
    frugal_steps(NANO, diamonds(), "best", "cycles", effort=EFFORTS["full"], progress=told.append)
    assert told[0].startswith("search: groups that promise most, 0 of at most ")
    assert any(line.startswith("search: ") and line.endswith(" programs are timed") for line in told)
    assert told[-1] == "search: order and places of feature maps"


def test_an_unknown_effort_is_refused() -> None:
    with pytest.raises(TilewrightError, match="effort 'lazy': unknown; known are quick, normal, full"):
        effort_of("lazy")
