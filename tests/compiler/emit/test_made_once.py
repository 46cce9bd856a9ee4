"""Instructions of a group's layers are made once for all programs that it stands in: those that each would have made."""

from __future__ import annotations

import pytest

from compiler.emit import group
from compiler.emit.program import emit_program, forget_listings
from compiler.planning.grouping import one_each
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from compiler.xgraph.graph import XGraph
from isa.config import config_from_dict
from tests.compiler.search.partitions import random_graph

SMALL = config_from_dict({"base": "nano", "name": "small", "fm_depth": 64, "weight_depth": 24}, origin="test")


def planned(graph: XGraph) -> list[Plan]:
    return [step for step in plans_of(SMALL, graph, one_each(graph)) if isinstance(step, Plan)]


@pytest.mark.parametrize("seed", range(12))
def test_a_group_behind_others_is_what_it_would_be_if_made_anew(seed: int) -> None:
    """Without the groups before it, its parameters lie elsewhere, and its maps too."""
    graph = random_graph(seed, 6)
    steps = planned(graph)
    for begin in reversed(range(1, len(steps))):
        emit_program(SMALL, graph, steps[begin:])
    forget_listings()
    again = emit_program(SMALL, graph, steps)
    group._computed.clear()
    forget_listings()
    fresh = emit_program(SMALL, graph, steps)
    assert (again.words, again.const, again.debug) == (fresh.words, fresh.const, fresh.debug)


def test_what_is_asked_for_twice_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(1, 6)
    steps = planned(graph)
    emit_program(SMALL, graph, steps)
    forget_listings()
    for layer in {type(layer) for plan in steps for layer in plan.group.layers}:
        monkeypatch.setattr(layer, "emit", lambda *asked: pytest.fail("it was made before"))
    emit_program(SMALL, graph, steps)


def test_what_is_known_of_a_plan_goes_with_it() -> None:
    graph = random_graph(2, 6)
    steps = planned(graph)
    emit_program(SMALL, graph, steps)
    known = len(group._computed)
    assert known >= len(steps)
    forget_listings()
    del steps
    assert len(group._computed) < known
