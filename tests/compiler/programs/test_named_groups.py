"""Groups by the names of their operations: what cannot run together is refused."""

from __future__ import annotations

import pytest

from compiler.driver import named_groups
from compiler.fusion.legal import OpSets
from compiler.planning.joining import joinable
from compiler.xgraph.ops import Concat
from isa.config import preset
from isa.errors import TilewrightError
from tests.compiler.graphs import Builder

NANO = preset("nano")


def joined_rows() -> OpSets:
    """Two convolutions, whose maps become one, row behind row, for a third."""
    builder = Builder(1)
    x = builder.input(4, 4, 4)
    first, second = builder.conv(x, 4), builder.conv(x, 4)
    both = builder.view(Concat, "rows", (first, second), (1, 8, 4, 4), axis=1)
    graph = builder.graph(builder.conv(both, 4))
    return OpSets(graph, joinable(graph, NANO))


def test_what_is_joined_in_dram_is_not_read_in_the_same_group() -> None:
    sets = joined_rows()
    first, second, third = (op.name for op in sets.ops)
    with pytest.raises(TilewrightError, match=f"groups: {first}, {third}: some lie behind a view.*; put them into two groups"):
        named_groups(sets, [[first, third]])
    assert [[op.name for op in group] for group in named_groups(sets, [[first, second]])] == [[first, second], [third]]


def test_nothing_outside_lies_between_the_operations_of_a_group() -> None:
    builder = Builder(1)
    maps = [builder.input(4, 4, 4)]
    for _ in range(3):
        maps.append(builder.conv(maps[-1], 4))
    sets = OpSets(builder.graph(maps[-1]), {})
    first, between, last = (op.name for op in sets.ops)
    with pytest.raises(TilewrightError, match=f"groups: {first}, {last}: not convex: {between} needs some of them"):
        named_groups(sets, [[first, last]])


def test_names_are_known_and_told_once() -> None:
    sets = joined_rows()
    first = sets.ops[0].name
    with pytest.raises(TilewrightError, match="no operation 'other' on the machine"):
        named_groups(sets, [["other"]])
    with pytest.raises(TilewrightError, match=f"operation '{first}' is in two groups; name it once"):
        named_groups(sets, [[first], [first]])
