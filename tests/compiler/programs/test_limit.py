"""Programs that keep to a limit of DRAM compute the same, and what cannot be is refused with what could."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from compiler.emit.places import APART, Sharing
from compiler.emit.program import emit_program
from compiler.planning.grouping import one_each
from compiler.planning.objective import CYCLES
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from compiler.programs.frugal import Frugal, placed
from compiler.programs.limit import MemoryLimitError, bytes_of, curve, least_memory, limited
from compiler.programs.timing import program_cycles
from compiler.programs.within import Within
from compiler.search.cost import Evaluator
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Op
from compiler.xgraph.reference import execute
from isa.config import preset
from isa.instructions import Region
from tests.compiler.graphs import Builder, run_functional
from tests.compiler.search.partitions import random_graph

CONFIG = preset("nano")


def checked(graph: XGraph, found: Frugal) -> None:
    """The program takes what was said, and computes what the reference does, free of races."""
    emitted = emit_program(CONFIG, graph, found.steps, found.sharing)
    assert emitted.work_bytes + emitted.input_bytes + emitted.output_bytes == found.bytes
    assert (emitted.input_bytes == emitted.output_bytes == 0) == found.sharing.host
    rng = np.random.default_rng(0)
    inputs = {name: rng.integers(-128, 128, graph.tensors[name].shape).astype(np.int8) for name in graph.inputs}
    expected = execute(graph, inputs)
    for name, value in run_functional(CONFIG, graph, emitted, inputs).items():
        assert np.array_equal(value, expected[name]), name


def narrowing() -> XGraph:
    """Wide in the middle: what is not fused there makes the peak."""
    b = Builder(1)
    x = b.conv(b.input(12, 12, 4), 8)
    x = b.conv(b.conv(x, 24, (1, 1)), 4, (1, 1))
    return b.graph(b.conv(x, 4, stride=(2, 2)))


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 12))])
def test_random_graphs_keep_to_their_limits(seed: int) -> None:
    graph = random_graph(seed)
    evaluator = Evaluator(CONFIG, graph)
    given = plans_of(CONFIG, graph, one_each(graph))
    least = least_memory(evaluator, CYCLES)
    assert least.bytes <= placed(graph, given).bytes
    for limit in {least.bytes, (least.bytes + placed(graph, given).bytes) // 2}:
        found = limited(evaluator, CYCLES, given, limit)
        assert found.bytes <= limit
        checked(graph, found)
    with pytest.raises(MemoryLimitError, match=f"memory {least.bytes - 1}: .* the feature maps is {least.bytes} bytes"):
        limited(evaluator, CYCLES, given, least.bytes - 1)


@pytest.mark.parametrize(("seed", "limit"), [(0, 1024), (6, 1280), (14, 1344)])
def test_savings_that_places_do_not_reach_cost_nothing(seed: int, limit: int) -> None:
    """Groups that keep to the limit without overlap are found although others only seem to, and cost less than what is left."""
    graph = random_graph(seed)
    evaluator = Evaluator(CONFIG, graph)
    groups = Within(evaluator, CYCLES, shared=False).apart.cheapest(limit)
    assert groups is not None
    steps = plans_of(CONFIG, graph, groups)
    assert placed(graph, steps).bytes <= limit
    found = limited(evaluator, CYCLES, plans_of(CONFIG, graph, one_each(graph)), limit)
    assert found.bytes <= limit
    cycles, most = (sum(step.cost.cycles for step in each if isinstance(step, Plan)) for each in (found.steps, steps))
    assert cycles <= most


def test_what_fits_stays_as_it_is() -> None:
    graph = narrowing()
    given = plans_of(CONFIG, graph, one_each(graph))
    found = limited(Evaluator(CONFIG, graph), CYCLES, given, placed(graph, given).bytes)
    assert (found.steps, found.sharing) == (given, APART)


def test_inputs_and_outputs_share_only_where_they_must() -> None:
    """A chain of two: nothing can be saved but by letting the last map lie where the input was."""
    b = Builder(2)
    graph = b.graph(b.conv(b.conv(b.input(12, 12, 4), 64), 4))
    given = plans_of(CONFIG, graph, one_each(graph))
    sizes = [12 * 12 * 4, 12 * 12 * 64]
    assert placed(graph, given).bytes == 2 * sizes[0] + sizes[1]
    evaluator = Evaluator(CONFIG, graph)
    fused = limited(evaluator, CYCLES, given, 2 * sizes[0])
    assert (len(fused.steps), fused.bytes, fused.sharing.host) == (1, 2 * sizes[0], False)
    apart = limited(evaluator, CYCLES, given, 2 * sizes[0] + sizes[1], free=False)
    shared = limited(evaluator, CYCLES, given, 2 * sizes[0] + sizes[1] - 1, free=False)
    assert (apart.sharing.host, shared.sharing.host) == (False, True)
    assert (len(shared.steps), shared.bytes) == (2, sizes[0] + sizes[1])
    checked(graph, shared)


def test_the_operations_at_the_peak_are_named() -> None:
    graph = narrowing()
    given = plans_of(CONFIG, graph, one_each(graph))
    with pytest.raises(MemoryLimitError, match=r"the most while conv1 run") as raised:
        limited(Evaluator(CONFIG, graph), CYCLES, given, 1000, free=False)
    assert "\n" not in str(raised.value)


def test_less_memory_costs_more_cycles_along_the_curve() -> None:
    graph = narrowing()
    given = plans_of(CONFIG, graph, one_each(graph))
    points = curve(Evaluator(CONFIG, graph), CYCLES, given, 6)
    assert [point.bytes for point in points] == sorted({point.bytes for point in points}, reverse=True)
    assert points[-1].bytes == least_memory(Evaluator(CONFIG, graph), CYCLES).bytes < placed(graph, given).bytes
    cycles = [program_cycles(CONFIG, graph, point.steps, point.sharing) for point in points]
    assert cycles == sorted(set(cycles))


@pytest.mark.slow
def test_a_curve_has_points_between_its_ends() -> None:
    """A chain of operations whose maps all differ in size; every point is a program that computes the reference."""
    b = Builder(8)
    x = b.input(24, 24, 4)
    for number, channels in enumerate((64, 16, 96, 8, 48, 24, 80, 12)):
        x = b.conv(x, channels, (1, 1) if number % 2 else (3, 3))
    graph = b.graph(x)
    evaluator = Evaluator(CONFIG, graph)
    # Of programs that differ by a thousandth: the fastest one, which needs more than others.
    given = plans_of(CONFIG, graph, [graph.ops[first:past] for first, past in pairwise((0, 1, 2, 4, 5, 6, 8))])
    points = curve(evaluator, CYCLES, given, 12)
    assert len(points) >= 4
    for point in points:
        checked(graph, point)


def test_views_of_an_input_and_one_that_is_an_output_share_too() -> None:
    b = Builder(4)
    x = b.input(8, 8, 4)
    y = b.input(8, 8, 4)
    graph = b.graph(b.conv(x, 8), b.conv(y, 8))
    found = least_memory(Evaluator(CONFIG, graph), CYCLES)
    checked(graph, found)
    emitted = emit_program(CONFIG, graph, found.steps, Sharing(host=True))
    assert {view.region for view in emitted.views.values()} == {Region.WORK}


def test_one_operation() -> None:
    b = Builder(5)
    graph = b.graph(b.conv(b.input(8, 8, 4), 4))
    ops: list[Op] = list(graph.ops)
    found = limited(Evaluator(CONFIG, graph), CYCLES, plans_of(CONFIG, graph, [ops]), 512)
    assert found.bytes == 512
    checked(graph, found)


@pytest.mark.parametrize(
    ("size", "expected"),
    [("192K", 196608), ("196608", 196608), (77, 77), ("1.5M", 3 << 19), ("64 KiB", 65536), ("2kb", 2048), ("1G", 1 << 30)],
)
def test_sizes_in_the_units_of_1024(size: str | int, expected: int) -> None:
    assert bytes_of(size) == expected


@pytest.mark.parametrize("size", ["", "lots", "-5", "0", "0.5", 0, -1, "12Q", "1e5", "K"])
def test_what_is_no_size_is_refused(size: str | int) -> None:
    with pytest.raises(MemoryLimitError, match="expected at least one byte"):
        bytes_of(size)
