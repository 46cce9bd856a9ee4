"""Bands of rows: what column tiles compute, band by band, without races; the bytes moved are those weighed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compiler.codegen.objective import DRAM
from compiler.codegen.plan import Plan
from compiler.emit.build import plans_of
from compiler.xgraph.ops import Concat, Upsample
from isa.config import MachineConfig
from tests.compiler.codegen.bytes_moved import moved
from tests.compiler.codegen.test_columns import CASES, ODD, TINY, WIDE
from tests.compiler.graphs import Builder, check


def upsampled_and_read_with_a_halo(b: Builder) -> list[str]:
    """One reader of a map asks for more of it than the one that copies its pixels."""
    x = b.conv(b.input(6, 50, 4), 4, (1, 1))
    up = b.view(Upsample, "up", (x,), (1, 12, 100, 4), factor=(2, 2))
    return [b.conv(up, 4, (1, 1)), b.conv(x, 4)]


MORE = (*CASES, upsampled_and_read_with_a_halo)


@pytest.mark.parametrize(("config", "bands"), [(TINY, 2), (WIDE, 3), (ODD, 100)], ids=lambda value: str(value)[:4])
@pytest.mark.parametrize("case", MORE, ids=lambda case: case.__name__)
def test_bands_compute_the_reference(case: Callable[[Builder], list[str]], config: MachineConfig, bands: int) -> None:
    b = Builder(MORE.index(case))
    graph = b.graph(*case(b))
    ops = tuple(op for op in b.ops if not isinstance(op, Concat))
    (plan,) = (plan for plan in plans_of(config, graph, [ops], DRAM, bands=bands) if isinstance(plan, Plan))
    height = max(graph.tensors[name].height for name in graph.outputs)
    # Of a transposed convolution, so few rows may lack a phase of the kernel: then there are column tiles alone.
    assert plan.bands == (min(bands, height) if height > 1 else 1) or "transposed" in case.__name__
    emitted = check(config, graph, [ops], objective=DRAM, bands=bands)
    assert moved(config, emitted) == plan.cost.dram_bytes
