"""Groups that are chosen one after another never wait for each other in a circle."""

from __future__ import annotations

import random

from compiler.fusion.legal import Mask, OpSets
from compiler.papers.dnnvm.greedy import closes_circle
from tests.compiler.search.partitions import random_graph


def test_a_circle_is_found_when_its_last_group_is_chosen() -> None:
    """Beside the order of all groups and operations: with a circle there is none. Groups need not be connected here."""
    answers = []
    for seed in range(40):
        sets = OpSets(random_graph(seed, most=10))
        groups = [mask for mask in range(1, 1 << len(sets.ops)) if 2 <= mask.bit_count() <= 3 and sets.convex(mask)]
        random.Random(seed).shuffle(groups)
        chosen: dict[Mask, Mask] = {}
        for group in groups:
            if any(group & other for other in chosen):
                continue
            together = [*chosen, group]
            alone = [1 << n for n in range(len(sets.ops)) if not sum(together) >> n & 1]
            answers.append(closes_circle(sets, group, chosen))
            assert answers[-1] == (sets.in_order([*together, *alone]) is None)
            if not answers[-1]:
                chosen[group] = sets.after(group)
    assert {*answers} == {True, False}
