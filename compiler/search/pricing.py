"""The prices of groups and what they save, and the best partition into groups that have prices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from compiler.fusion.legal import Mask, OpSets, bits_of
from compiler.search.cost import Evaluator, Objective
from compiler.search.cover import cheapest
from compiler.search.naive import naive
from compiler.search.partition import NOTHING_LEFT_OUT, LeftOut, Partition, made_of, price_of, price_or_none
from compiler.tuned import MOST_STATES


def most_of_a_size(sets: OpSets) -> int:
    """The most groups of equal size that are weighed."""
    return max(150, 3 * len(sets.ops) // 2)


def saving_over_alone(evaluator: Evaluator, objective: Objective) -> Callable[[Mask], int | None]:
    """Returns a function that tells what a group saves against its operations alone. None: the group does not fit."""
    alone = [price_of(evaluator, objective, 1 << n) for n in range(len(evaluator.sets.ops))]

    def saving(mask: Mask) -> int | None:
        price = price_or_none(evaluator, objective, mask)
        return None if price is None else sum(alone[n] for n in bits_of(mask)) - price

    return saving


def priced(evaluator: Evaluator, objective: Objective, groups: list[Mask], charge: int = 0) -> dict[Mask, int]:
    """The prices of the groups that fit. ``charge`` is added to each price, which never falls below zero.

    A group is left out if it costs no less than the group without an operation at an end of its data flow, and that operation
    alone. Such a group may be cut there, so no partition gets worse without it.
    """
    prices: dict[Mask, int] = {}
    evaluator.plan_all(groups, objective)
    for mask in sorted(groups, key=int.bit_count):
        price = price_or_none(evaluator, objective, mask)
        charged = None if price is None else max(0, price + charge)
        if charged is not None and not _dearer_than_parts(evaluator.sets, prices, mask, charged):
            prices[mask] = charged
    return prices


def _dearer_than_parts(sets: OpSets, prices: Mapping[Mask, int], mask: Mask, price: int) -> bool:
    for n in bits_of(mask):
        one = 1 << n
        at_an_end = not sets.ancestors[n] & mask or not sets.descendants[n] & mask
        if at_an_end and mask ^ one in prices and one in prices and prices[mask ^ one] + prices[one] <= price:
            return True
    return False


def partition_into(
    evaluator: Evaluator, objective: Objective, prices: Mapping[Mask, int], *, complete: bool = True,
    left_out: LeftOut = NOTHING_LEFT_OUT,
) -> Partition:  # fmt: skip
    """The best partition into the groups in ``prices``, among which are all single operations."""
    count = len(evaluator.sets.ops)
    guide = [float(price_of(evaluator, objective, 1 << n)) for n in range(count)]
    cover = cheapest(evaluator.sets, prices, evaluator.floors, objective, most_states=MOST_STATES, guide=guide)
    left_out = replace(left_out, begun=cover.given_up)
    if cover.groups is None:  # every path was given up
        return replace(naive(evaluator.graph, evaluator, objective), exact=False, left_out=left_out)
    return made_of(evaluator, objective, cover.groups, exact=complete and cover.dropped is None, left_out=left_out)
