"""The arguments and the result of every strategy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.fusion.grow import Grown
from compiler.fusion.legal import Mask
from compiler.planning.misfit import misfit
from compiler.search.cost import Evaluator, Objective
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Op
from isa.errors import TilewrightError


@dataclass(frozen=True)
class LeftOut:
    """What a strategy did not weigh because of its limits."""

    others: int = 0
    """Groups that were found but not weighed, because there were too many. Groups that extend them are not counted."""
    longer: int = 0
    """Groups of one operation more than allowed. Larger groups are not counted."""
    most_ops: int = 0
    """The most operations that a group was allowed to have."""
    begun: int = 0
    """Partitions that were given up half-way, because too many others had come as far."""

    @property
    def groups(self) -> int:
        return self.others + self.longer

    def __bool__(self) -> bool:
        return bool(self.groups or self.begun)

    def __str__(self) -> str:
        long = f" ({self.longer:,} of more than {self.most_ops} operations)" if self.longer else ""
        return f"{self.groups:,}{long}" + (f", and {self.begun:,} partitions that were begun" if self.begun else "")


def left_out_of(grown: Grown) -> LeftOut:
    return LeftOut(grown.left_out, grown.longer, grown.most_ops)


NOTHING_LEFT_OUT = LeftOut()


@dataclass(frozen=True)
class Partition:
    """Groups in an order in which they can run."""

    groups: tuple[tuple[Op, ...], ...]
    value: int
    """The value of the objective."""
    exact: bool = False
    """Whether no partition into the groups that the strategy may choose from is better, by the costs used."""
    bound: int = 0
    """A lower bound of the value of every partition of any kind, by the costs used."""
    left_out: LeftOut = NOTHING_LEFT_OUT

    @property
    def gap(self) -> float:
        """The share by which the value may exceed the least one."""
        return self.value / self.bound - 1 if self.bound else float("inf")


Strategy = Callable[[XGraph, Evaluator, Objective], Partition]


def partition_by(strategy: Strategy, graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    """The partition that the strategy finds for the evaluator's graph. It is found once for all callers."""
    key = strategy.__name__, evaluator.planned_for, objective
    if key not in evaluator.partitions:
        evaluator.partitions[key] = strategy(graph, evaluator, objective)
    found = evaluator.partitions[key]
    assert isinstance(found, Partition)
    return found


def made_of(
    evaluator: Evaluator, objective: Objective, masks: Sequence[Mask], *, exact: bool = False, bound: int = 0,
    left_out: LeftOut = NOTHING_LEFT_OUT,
) -> Partition:  # fmt: skip
    """The partition into these groups, in an order in which they can run."""
    order = evaluator.sets.in_order(masks)
    if order is None:
        raise TilewrightError("partition: groups wait for each other in a cycle; this is an error of the strategy")
    value = sum(price_of(evaluator, objective, mask) for mask in order)
    groups = tuple(tuple(evaluator.sets.members(mask)) for mask in order)
    floor = evaluator.floors.of(evaluator.sets.everything, objective)
    return Partition(groups, value, exact, max(bound, floor), left_out)


def price_of(evaluator: Evaluator, objective: Objective, mask: Mask) -> int:
    """The price of a group that must fit."""
    cost = evaluator.cost_of(mask, objective)
    if cost is None:
        group = evaluator.group(mask)
        raise misfit(evaluator.config, group, group.name)
    return objective(cost)


def price_or_none(evaluator: Evaluator, objective: Objective, mask: Mask) -> int | None:
    cost = evaluator.cost_of(mask, objective)
    return None if cost is None else objective(cost)


def measured_dearer(evaluator: Evaluator, objective: Objective, group: Mask, parts: Sequence[Mask]) -> bool:
    """Whether the evaluator's ``measure`` says that a group that fits costs more than its parts.

    Strategies that otherwise fuse by a rule alone ask this.
    """
    if evaluator.measure is None:
        return False
    return price_of(evaluator, objective, group) > sum(price_of(evaluator, objective, part) for part in parts)
