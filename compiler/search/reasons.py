"""The reasons for a partition: what each group saves, and what would have been second best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.fusion.legal import Mask, bits_of
from compiler.fusion.templates import template_groups
from compiler.search.cost import Cost, Evaluator, Objective
from compiler.search.partition import price_of, price_or_none
from compiler.xgraph.ops import Op


@dataclass(frozen=True)
class Alternative:
    """Another way to run a group's operations."""

    what: str
    dearer: int
    """How much more it costs, by the objective. It is negative if the strategy did not find it, or may not use it."""


@dataclass(frozen=True)
class Reason:
    """The reason for one group."""

    ops: tuple[str, ...]
    cost: Cost
    alone: Cost
    """The cost of its operations, each on its own."""
    shape: str
    """A text with the passes over channels, the column tiles, and the steps over rows in each."""
    stays: tuple[str, ...]
    """The maps that never pass through DRAM."""
    shared: tuple[str, ...]
    """The maps that are loaded once for several of its operations."""
    reloaded: int
    """The bytes of parameters that are loaded again."""
    template: str | None
    """The first fusion template that proposes it."""
    runner_up: Alternative | None

    @property
    def saved_cycles(self) -> int:
        return self.alone.cycles - self.cost.cycles

    @property
    def saved_bytes(self) -> int:
        return self.alone.dram_bytes - self.cost.dram_bytes


def reasons(evaluator: Evaluator, objective: Objective, partition: Sequence[Sequence[Op]]) -> list[Reason]:
    """The reason for each group, in the order of the partition."""
    masks = [evaluator.sets.mask(group) for group in partition]
    templates = template_groups(evaluator.sets)
    found = []
    for mask in masks:
        template = templates.get(mask)
        found.append(_reason(evaluator, objective, mask, masks, template.name if template else None))
    return found


def _reason(evaluator: Evaluator, objective: Objective, mask: Mask, masks: Sequence[Mask], template: str | None) -> Reason:
    price_of(evaluator, objective, mask)
    cost, plan = evaluator.cost_of(mask, objective), evaluator.plan(mask, objective)
    assert cost is not None
    assert plan is not None
    alone = [evaluator.cost_of(1 << n, objective) for n in bits_of(mask)]
    group = plan.group
    made = [layer.output for layer in group.layers]
    readers = {name: sum(name in group.sources(layer) for layer in group.layers) for name in group.inputs}
    return Reason(
        ops=tuple(op.name for op in evaluator.sets.members(mask)),
        cost=cost,
        alone=Cost(sum(c.cycles for c in alone if c), sum(c.dram_bytes for c in alone if c)),
        shape=plan.shape,
        stays=tuple(name for name in made if name not in group.outputs),
        shared=tuple(name for name, count in readers.items() if count > 1),
        reloaded=plan.reloaded,
        template=template,
        runner_up=_runner_up(evaluator, objective, mask, masks),
    )


def _runner_up(evaluator: Evaluator, objective: Objective, mask: Mask, masks: Sequence[Mask]) -> Alternative | None:
    """The cheapest alternative: the same operations in two groups, or together with one more group."""
    return min(
        (*_cut(evaluator, objective, mask), *_joined(evaluator, objective, mask, masks)),
        key=lambda alternative: alternative.dearer, default=None,
    )  # fmt: skip


def _joined(evaluator: Evaluator, objective: Objective, mask: Mask, masks: Sequence[Mask]) -> Iterator[Alternative]:
    sets = evaluator.sets
    for other in masks:
        union = mask | other
        if other == mask or not sets.legal(union):
            continue
        price = price_or_none(evaluator, objective, union)
        if price is not None:
            apart = price_of(evaluator, objective, mask) + price_of(evaluator, objective, other)
            yield Alternative(f"with {_names(evaluator, other)}", price - apart)


def _cut(evaluator: Evaluator, objective: Objective, mask: Mask) -> Iterator[Alternative]:
    """Yields the best cut in two groups: all members before a place in the data flow, and the others."""
    sets = evaluator.sets
    best: tuple[int, Mask] | None = None
    for part in _first_parts(evaluator, mask):
        rest = mask & ~part
        if sets.legal(part) and sets.legal(rest):
            prices = [price_or_none(evaluator, objective, half) for half in (part, rest)]
            if None not in prices:
                price = sum(price for price in prices if price is not None)
                best = min(best, (price, part)) if best else (price, part)
    if best:
        price, part = best
        what = f"{_names(evaluator, part)} | {_names(evaluator, mask & ~part)}"
        yield Alternative(what, price - price_of(evaluator, objective, mask))


def _first_parts(evaluator: Evaluator, mask: Mask) -> Iterator[Mask]:
    """Proper parts of a group. Each holds all operations of the group that its members need."""
    seen: set[Mask] = set()
    stack = [0]
    while stack:
        part = stack.pop()
        for n in bits_of(mask & ~part):
            grown = part | 1 << n
            if evaluator.sets.ancestors[n] & mask & ~part == 0 and grown != mask and grown not in seen:
                seen.add(grown)
                stack.append(grown)
                yield grown


def _names(evaluator: Evaluator, mask: Mask) -> str:
    return "+".join(op.name for op in evaluator.sets.members(mask))
