"""NeoCPU's global search: Algorithm 2's dynamic programming if the graph is a chain, else PBQP."""

from __future__ import annotations

from compiler.papers.neocpu import dynamic, pbqp
from compiler.papers.neocpu.problem import Problem, Solution


def solved(problem: Problem) -> Solution:
    """The solution. The paper uses dynamic programming for chains; on other graphs tables grow with the open nodes."""
    return (dynamic.solve(problem) if is_chain(problem) else None) or pbqp.solve(problem)


def is_chain(problem: Problem) -> bool:
    """Whether the graph is one or several lines."""
    line = {number: number for number in range(len(problem.nodes))}
    ends = [0] * len(problem.nodes)

    def head(node: int) -> int:
        while line[node] != node:
            node = line[node]
        return node

    for first, second in problem.edges:
        ends[first] += 1
        ends[second] += 1
        if max(ends[first], ends[second]) > 2 or head(first) == head(second):
            return False
        line[head(first)] = head(second)
    return True
