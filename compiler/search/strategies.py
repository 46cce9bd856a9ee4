"""All strategies by name. Those that reproduce a paper are loaded when they are asked for."""

from __future__ import annotations

from importlib import import_module

from compiler.search.best import best
from compiler.search.cost import Evaluator, Objective
from compiler.search.naive import naive
from compiler.search.partition import Partition, Strategy
from compiler.tuned import MOST_SEARCHED
from compiler.xgraph.graph import XGraph


def _of_paper(module: str, function: str) -> Strategy:
    def strategy(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
        made: Partition = getattr(import_module(f"compiler.papers.{module}"), function)(graph, evaluator, objective)
        return made

    strategy.__name__ = function
    return strategy


STRATEGIES: dict[str, Strategy] = {
    "naive": naive,
    "best": best,
    "greedy": _of_paper("dnnvm.greedy", "greedy"),
    "dnnvm": _of_paper("dnnvm.shortest_paths", "dnnvm"),
    "efficient-s": _of_paper("optimus.efficient_s", "efficient_s"),
    "fuse-and-shrink": _of_paper("deep_fusion.fuse_and_shrink", "fuse_and_shrink"),
    "optimus": _of_paper("optimus.offline", "optimus"),
    "optimus-online": _of_paper("optimus.online", "optimus_online"),
    "optimus-as-written": _of_paper("as_written", "optimus_as_written"),
    "optimus-online-as-written": _of_paper("as_written", "optimus_online_as_written"),
    "dnnvm-as-written": _of_paper("as_written", "dnnvm_as_written"),
    "neocpu": _of_paper("neocpu.fusion", "neocpu"),
}
"""All strategies that can be asked for."""


def within_reach(strategy: str, evaluator: Evaluator) -> str:
    """The name of the strategy to use: ``greedy`` in place of ``best`` if the graph is too large to be searched."""
    return "greedy" if strategy == "best" and len(evaluator.sets.ops) > MOST_SEARCHED else strategy
