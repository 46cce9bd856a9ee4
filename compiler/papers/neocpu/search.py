"""NeoCPU's global search: chooses the scheme of every group for the whole program, by measured programs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.papers.neocpu.problem import Problem
from compiler.papers.neocpu.solving import solved
from compiler.planning.plan import Plan
from compiler.programs.pair_costs import Choices, Table
from compiler.programs.program_schemes import with_schemes
from compiler.programs.timing import program_cycles
from compiler.search.cost import Evaluator
from compiler.xgraph.ops import Cpu

SCHEMES = 6
"""The schemes of each group, besides its best alone."""


def with_all_schemes(evaluator: Evaluator, steps: Sequence[Plan | Cpu]) -> list[Plan | Cpu]:
    """Chooses among schemes for all groups, waiting or not. The schemes of a group are measured, too (local search)."""
    config, graph = evaluator.config, evaluator.graph
    return with_schemes(evaluator, steps, SCHEMES, solve=choices_of, alone=lambda plan: program_cycles(config, graph, [plan]))


def choices_of(tables: Sequence[Table]) -> Choices:
    return solved(problem_of(tables)).choices


def problem_of(tables: Sequence[Table]) -> Problem:
    """The problem of the schemes. Groups are nodes. The next group is a neighbour, unless the machine rests before it."""
    nodes, edges = [], {}
    for number, table in enumerate(tables):
        alone = len(table) == 1
        nodes.append(table[0] if alone else np.zeros(table.shape[1]))
        if not alone:
            edges[number - 1, number] = table
    return Problem(tuple(nodes), edges)
