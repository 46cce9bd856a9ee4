"""Bands of rows: what column tiles compute, band by band, without races; the bytes moved are those weighed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from compiler.emit.described import schedule_text
from compiler.emit.places import Sharing
from compiler.emit.program import emit_program
from compiler.planning.grouping import make_group
from compiler.planning.objective import DRAM
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from compiler.planning.written_over import leads_in_bands, leads_of
from compiler.programs.decisions import decisions
from compiler.schedule.reading import parse_schedule
from compiler.xgraph.ops import Concat, Upsample
from compiler.xgraph.reference import execute
from isa.config import MachineConfig
from tests.compiler.graphs import Builder, check, run_functional
from tests.compiler.planning.bytes_moved import moved
from tests.compiler.planning.test_columns import CASES, NANO, ODD, TINY, WIDE, residual
from tests.tables import name_of, one_in


def upsampled_and_read_with_a_halo(b: Builder) -> list[str]:
    """One reader of a map asks for more of it than the one that copies its pixels."""
    x = b.conv(b.input(6, 50, 4), 4, (1, 1))
    up = b.view(Upsample, "up", (x,), (1, 12, 100, 4), factor=(2, 2))
    return [b.conv(up, 4, (1, 1)), b.conv(x, 4)]


MORE = (*CASES, upsampled_and_read_with_a_halo)
CONFIGS: tuple[tuple[MachineConfig, int], ...] = ((TINY, 2), (ODD, 100), (WIDE, 3), (ODD, 2))


@pytest.mark.parametrize("case", one_in(2, MORE), ids=name_of)
def test_bands_compute_the_reference(case: Callable[[Builder], list[str]]) -> None:
    b = Builder(MORE.index(case))
    config, bands = CONFIGS[MORE.index(case) % len(CONFIGS)]
    graph = b.graph(*case(b))
    ops = tuple(op for op in b.ops if not isinstance(op, Concat))
    (plan,) = (plan for plan in plans_of(config, graph, [ops], DRAM, bands=bands) if isinstance(plan, Plan))
    height = max(graph.tensors[name].height for name in graph.outputs)
    # Of a transposed convolution, so few rows may lack a phase of the kernel: then there are column tiles alone.
    assert plan.bands == (min(bands, height) if height > 1 else 1) or "transposed" in case.__name__
    emitted = check(config, graph, [ops], objective=DRAM, bands=bands)
    assert moved(config, emitted) == plan.cost.dram_bytes


def narrowing(b: Builder) -> list[str]:
    return [b.conv(b.conv(b.input(24, 80, 4), 8), 4, (3, 3), (2, 2))]


@pytest.mark.parametrize("case", [narrowing, pytest.param(residual, marks=pytest.mark.slow)], ids=lambda case: case.__name__)
def test_what_bands_make_lies_over_what_they_have_read(case: Callable[[Builder], list[str]]) -> None:
    """Column tiles need all of the input to the end; with bands the output begins at most as far below as was told before."""
    b = Builder(2)
    graph = b.graph(*case(b))
    group = make_group(TINY, graph, b.ops)
    needed = []
    for bands in (1, 3, 100):
        steps = plans_of(TINY, graph, [b.ops], DRAM, bands=bands)
        emitted = emit_program(TINY, graph, steps, Sharing(host=True, overlap=True))
        rng = np.random.default_rng(0)
        inputs = {name: rng.integers(-128, 128, graph.tensors[name].shape, np.int8) for name in graph.inputs}
        found = run_functional(TINY, graph, emitted, inputs, rtl=bands == 3 and case is residual)
        assert all(np.array_equal(found[name], value) for name, value in execute(graph, inputs).items() if name in found)
        needed.append(emitted.work_bytes)
        (plan,) = (step for step in steps if isinstance(step, Plan))
        if bands > 1:
            told = leads_in_bands(TINY, graph, group, bands)
            assert all(lead <= told[pair] for pair, lead in leads_of(graph, plan).items())
    apart = sum(graph.tensors[name].bytes for name in (*graph.inputs, *graph.outputs))
    assert needed[0] > needed[1] > needed[2]
    assert needed[2] < 0.85 * apart


def test_one_row_is_no_band() -> None:
    b = Builder(1)
    graph = b.graph(b.conv(b.input(1, 300, 6), 9, (1, 5)))
    (plan,) = plans_of(TINY, graph, [b.ops], DRAM, bands=4)
    assert isinstance(plan, Plan)
    assert (plan.bands, plan.count > 1) == (1, True)


def test_what_fits_by_rows_needs_no_bands() -> None:
    b = Builder(1)
    graph = b.graph(b.conv(b.input(8, 8, 4), 4))
    (plan,) = plans_of(TINY, graph, [b.ops], DRAM, bands=4)
    assert isinstance(plan, Plan)
    assert (plan.bands, plan.count) == (1, 1)


def test_a_schedule_says_how_many_bands() -> None:
    """Written, read and planned again it is the same program; a group that would fit by rows goes in bands, too."""
    b = Builder(2)
    graph = b.graph(*narrowing(b))
    steps = plans_of(TINY, graph, [b.ops], DRAM, bands=3)
    found = decisions(TINY, graph, parse_schedule(schedule_text(TINY, graph, steps)))
    again = plans_of(TINY, graph, found.groups, DRAM, wanted=found.wanted, listed=True)
    assert emit_program(TINY, graph, again).words == emit_program(TINY, graph, steps).words
    asked = decisions(NANO, graph, parse_schedule('[[group]]\noperations = ["conv0", "conv1"]\nbands = 4\nend = "top"\n'))
    (plan,) = plans_of(NANO, graph, [b.ops], wanted=asked.wanted)
    assert isinstance(plan, Plan)
    assert (plan.bands, plan.upwards) == (4, False)
