"""NeoCPU's layouts: maps in blocks of a channel vector, on the machine and chosen for a whole program."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from compiler.emit.blocked import Blocked, blockable
from compiler.emit.described import schedule_text
from compiler.emit.places import Sharing, places
from compiler.emit.program import emit_program
from compiler.papers.neocpu.layouts import best_layouts, layout_problem
from compiler.papers.neocpu.problem import Problem
from compiler.papers.neocpu.solving import is_chain, solved
from compiler.planning.grouping import one_each
from compiler.planning.objective import CYCLES
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from compiler.planning.running_order import ordered_groups
from compiler.programs.decisions import decisions
from compiler.programs.frugal import ANY, frugal
from compiler.programs.timing import program_cycles
from compiler.schedule.document import Schedule
from compiler.schedule.reading import parse_schedule
from compiler.search.cost import Evaluator
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, EltwiseKind
from isa.config import preset
from isa.errors import TilewrightError
from tests.compiler.graphs import Builder, check_emitted

NANO = preset("nano")


def residual() -> XGraph:
    """A block whose first map is read twice: its graph of maps has a circle."""
    b = Builder(4)
    first = b.conv(b.input(7, 6, 8), 12)
    return b.graph(b.conv(b.eltwise(EltwiseKind.ADD, b.conv(b.conv(first, 8), 12), first), 16))


def steps(graph: XGraph) -> list[Plan | Cpu]:
    return plans_of(NANO, graph, ordered_groups(graph, one_each(graph)))


def all_blocked(graph: XGraph) -> Blocked:
    return Blocked(frozenset(blockable(graph, steps(graph), NANO.ic_p)), NANO.ic_p)


def test_blocked_maps_compute_what_the_reference_does_on_simulator_and_rtl() -> None:
    graph = residual()
    blocked = all_blocked(graph)
    assert len(blocked.maps) == 4
    check_emitted(NANO, graph, emit_program(NANO, graph, steps(graph), Sharing(blocked=blocked)), rtl=True)


def test_each_byte_of_a_blocked_map_lies_where_its_block_begins() -> None:
    graph = residual()
    blocked = all_blocked(graph)
    views, sizes = places(graph, steps(graph), Sharing(blocked=blocked))
    plain, plain_sizes = places(graph, steps(graph), Sharing())
    assert sizes == plain_sizes
    for name in blocked.maps:
        _, height, width, channels = graph.tensors[name].shape
        lies = np.zeros(height * width * channels, int)
        for number, part in views[name].apart():
            for y, x, c in product(range(height), range(width), range(NANO.ic_p)):
                at = part.row(y, 0) + x * part.step + c - plain[name].offset
                assert at == ((number * height + y) * width + x) * NANO.ic_p + c
                lies[at] += 1
        assert (lies == 1).all()


def test_some_channels_of_a_blocked_map_are_whole_blocks() -> None:
    graph = residual()
    view = places(graph, steps(graph), Sharing(blocked=all_blocked(graph)))[0]["conv0_out"]
    parts = [part for _, part in view.apart()]
    assert [part for _, part in view.channels_from(NANO.ic_p, NANO.ic_p).apart()] == parts[1:2]


@pytest.mark.parametrize(
    ("maps", "overlap", "message"),
    [
        ({"x0"}, False, "'x0': expected a map of several times 4 channels that only groups touch"),
        ({"conv0_out"}, True, "make overlap false"),
    ],
)
def test_what_cannot_be_blocked_is_refused(maps: set[str], overlap: bool, message: str) -> None:
    graph = residual()
    with pytest.raises(TilewrightError, match=message):
        places(graph, steps(graph), Sharing(overlap=overlap, blocked=Blocked(frozenset(maps), NANO.ic_p)))


def test_a_schedule_keeps_what_is_blocked() -> None:
    graph = residual()
    sharing = Sharing(blocked=all_blocked(graph))
    text = schedule_text(NANO, graph, steps(graph), sharing)
    found = decisions(NANO, graph, parse_schedule(text))
    again = plans_of(NANO, graph, found.groups, wanted=found.wanted, listed=True)
    arranged = frugal(NANO, graph, again, CYCLES, found.arrangement)
    assert emit_program(NANO, graph, again, arranged.sharing).words == emit_program(NANO, graph, steps(graph), sharing).words


def test_a_schedule_that_blocks_nothing_leaves_the_arrangement_open() -> None:
    graph = residual()
    assert decisions(NANO, graph, Schedule()).arrangement == ANY
    assert decisions(NANO, graph, Schedule(blocked=("conv0_out",))).arrangement != ANY


def test_the_choice_is_the_best_of_all_by_what_groups_measure() -> None:
    """And the program is no slower: PBQP is asked, for the maps of a residual block are no chain."""
    graph = residual()
    evaluator, made = Evaluator(NANO, graph), steps(graph)
    maps = blockable(graph, made, NANO.ic_p)
    problem = layout_problem(evaluator, made, maps)
    assert not is_chain(problem)
    found = solved(problem)
    assert found.cost == min(problem.cost(choices) for choices in product((0, 1), repeat=len(maps)))
    chosen = best_layouts(evaluator, made)
    assert program_cycles(NANO, graph, made, Sharing(blocked=chosen)) <= program_cycles(NANO, graph, made)


def test_chains_are_known_from_circles_and_forks() -> None:
    def graph(*edges: tuple[int, int]) -> Problem:
        return Problem(tuple(np.zeros(2) for _ in range(4)), {edge: np.ones((2, 2)) for edge in edges})

    assert all(map(is_chain, (graph(), graph((0, 1), (1, 2), (2, 3)), graph((0, 2), (1, 3)), graph((0, 3), (1, 3), (1, 2)))))
    assert not any(map(is_chain, (graph((0, 1), (0, 2), (0, 3)), graph((0, 1), (1, 2), (0, 2)))))
