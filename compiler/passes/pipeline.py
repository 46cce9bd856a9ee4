"""The passes in their order. The graph is verified after each."""

from __future__ import annotations

from collections.abc import Callable

from compiler.passes.cut_taps import cut_taps
from compiler.passes.dead_code import remove_dead
from compiler.passes.fold_channels import fold_channels
from compiler.passes.fold_pads import fold_pads
from compiler.passes.fold_pointwise import fold_pointwise
from compiler.passes.insert_copies import insert_copies
from compiler.passes.nest_concats import nest_concats
from compiler.passes.part_rows import part_rows
from compiler.passes.remove_identities import remove_identities
from compiler.passes.share import share_equal
from compiler.xgraph.graph import GraphError, XGraph
from compiler.xgraph.verify import verify

Pass = Callable[[XGraph], XGraph]

PASSES: tuple[Pass, ...] = (
    remove_identities,
    share_equal,
    part_rows,
    fold_pointwise,
    fold_channels,
    fold_pads,
    cut_taps,
    fold_pointwise,
    remove_dead,
    nest_concats,
    insert_copies,
)


Watch = Callable[[str, XGraph], None]
"""Called with the name of each stage and the graph that it made."""


def optimised(graph: XGraph, watch: Watch | None = None) -> XGraph:
    show = watch or (lambda name, graph: None)
    show("import", verify(graph))
    for step in PASSES:
        try:
            graph = verify(step(graph))
        except GraphError as error:
            raise GraphError(f"pass {step.__name__}: {error}") from None
        show(step.__name__, graph)
    return graph
