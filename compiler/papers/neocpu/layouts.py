"""Chooses layouts of maps in DRAM for a whole program: NHWC, or blocked by channel vector (NeoCPU's NCHW[x]c).

LOAD and SAVE move a map in either layout, block by block if it is blocked. So a transform needs no operation. Its cost is the
time that a group takes longer to read or write a layout that does not suit it. A map has one layout for all groups. The choice
is a problem of a graph of its own: a node is a map that may be blocked, an edge is a group that touches two of them. All costs
are measured by the cycle model, in programs of one group each, with none, one and two of its maps blocked.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from compiler.emit.blocked import NONE_BLOCKED, Blocked, blockable
from compiler.emit.places import Sharing
from compiler.papers.neocpu.problem import Costs, Problem
from compiler.papers.neocpu.solving import solved
from compiler.planning.plan import Plan
from compiler.programs.timing import program_cycles
from compiler.search.cost import Evaluator
from compiler.xgraph.ops import Cpu

Steps = Sequence[Plan | Cpu]


def best_layouts(evaluator: Evaluator, steps: Steps) -> Blocked:
    """The chosen layouts, if the whole program is faster with them; else none is blocked."""
    config, graph = evaluator.config, evaluator.graph
    maps = blockable(graph, steps, config.ic_p)
    if not maps or not evaluator.effort.times(steps):
        return NONE_BLOCKED
    evaluator.told(f"search: layouts of {len(maps)} maps")
    found = solved(layout_problem(evaluator, steps, maps))
    chosen = Blocked(frozenset(name for name, choice in zip(maps, found.choices, strict=True) if choice), config.ic_p)
    if not chosen.maps:
        return NONE_BLOCKED
    before, after = (program_cycles(config, graph, steps, Sharing(blocked=each)) for each in (NONE_BLOCKED, chosen))
    return chosen if after < before else NONE_BLOCKED


def layout_problem(evaluator: Evaluator, steps: Steps, maps: Sequence[str]) -> Problem:
    """The problem of the layouts; choice 1 of a node blocks its map."""
    place = {name: number for number, name in enumerate(maps)}
    nodes = [np.zeros(2) for _ in maps]
    edges: dict[tuple[int, int], Costs] = {}
    known: dict[object, int] = {}
    for step in steps:
        if isinstance(step, Cpu):
            continue
        touched = [name for name in (*step.group.inputs, *step.group.outputs) if name in place]
        shape = evaluator.shapes.key(evaluator.sets.mask([layer.op for layer in step.group.layers])), step.shape
        names = (*step.group.inputs, *step.group.outputs)

        def cycles(*blocked: str, step: Plan = step, shape: object = shape, names: tuple[str, ...] = names) -> int:
            key = shape, tuple(names.index(name) for name in blocked)
            if key not in known:
                sharing = Sharing(blocked=Blocked(frozenset(blocked), evaluator.config.ic_p))
                known[key] = program_cycles(evaluator.config, evaluator.graph, [step], sharing)
            return known[key]

        if not touched:
            continue
        none = cycles()
        alone = {name: cycles(name) - none for name in touched}
        for name, more in alone.items():
            nodes[place[name]][1] += more
        for pair in combinations(touched, 2):
            both = cycles(*pair) - none - alone[pair[0]] - alone[pair[1]]
            first, second = sorted(place[name] for name in pair)
            edges[first, second] = edges.get((first, second), np.zeros((2, 2))) + np.array([[0, 0], [0, both]])
    return Problem(tuple(nodes), edges)
